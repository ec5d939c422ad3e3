#!/bin/bash
# SPDX-License-Identifier: MIT
#
# settle.sh - bring every installed kernel to the state that its headers and its source allow
#
# Usage: dkms/settle.sh [--triggered | --back | --initramfs]
#
# For each kernel below /lib/modules: where AMD's own driver package (amdgpu-dkms) is installed, the scheduler goes into that (dkms/amd.sh). Where it is
# not, and DKMS knows kfd_gpreempt, it goes into the kernel's own amdgpu. If the module can be built and is not installed, DKMS builds and installs
# it; if not, what is missing is said and the kernel keeps the amdgpu that it has. Then each initramfs whose amdgpu would be another one now is made
# again.
# --triggered: something about kernels or AMD's package changed (triggers of dpkg and rpm); a build that failed before with the same source is not
# tried again, and what was said of a kernel is not said again.
# --back: before a removal; AMD's driver is built as it is, where it has the scheduler.
# --initramfs: only the last step, after a removal.
#
# Exit status 1 if a build failed although everything for it was there, or what makes an initramfs. The initramfs are right in the first case too.
# An initramfs that nothing here makes is said, with what would, and is no failure: no package would be configured any more.
#
# Touches: what DKMS touches, /etc/dkms/amdgpu.conf, /var/lib/kfd_gpreempt, and the images of kernels (dkms/initramfs.sh).
set -euo pipefail
export LC_ALL=C

me=kfd_gpreempt
top=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$top/dkms.conf")
memory=/var/lib/kfd_gpreempt
log=/var/lib/dkms/$me/$version/build/make.log
mode=${1:-}
case $mode in
''|--triggered|--back|--initramfs) ;;
*)	echo "$me: settle.sh: unknown argument '$mode'" >&2; exit 2 ;;
esac

# shellcheck source=dkms/follow.sh
. "$top/dkms/follow.sh"
# shellcheck source=dkms/amd.sh
. "$top/dkms/amd.sh"

say()
{
	echo "$me: $*"
}

# remember FOLDER KVER TEXT, recall FOLDER KVER, forget FOLDER KVER
remember()
{
	mkdir -p "$memory/$1"
	echo "$3" >"$memory/$1/$2"
}

recall()
{
	cat "$memory/$1/$2" 2>/dev/null || true
}

forget()
{
	rm -rf "${memory:?}/$1/$2"
	rmdir --ignore-fail-on-non-empty "$memory/$1" "$memory" 2>/dev/null || true
}

installed()
{
	dkms status -m $me -v "$version" -k "$1" 2>/dev/null | grep -q ': installed'
}

# followed LOG: from now on, once for all builds of it
following=
followed()
{
	[ "$following" != "$1" ] || return 0
	following=$1
	rm -f "$1"
	follow "$1" &
}

# tell KVER WHY [WHOSE]: it gets no module; once until that changes or an administrator asks anew
tell()
{
	if [ "$mode" != --triggered ] || [ "$(recall told "$1")" != "$2" ]; then
		say "$1 keeps ${3:-its stock amdgpu}:"
		echo "$2"
	fi
	remember told "$1" "$2"
}

# lines: those of a message that say what, why and what to do
lines()
{
	sed -n 's/^kfd_gpreempt: error: /  what:   /p; /^  why:/p; /^  remedy:/p; /^          /p'
}

# ours_gone KVER: our build of the kernel's own amdgpu makes way for AMD's, which DKMS has put in its place
ours_gone()
{
	local kept

	if dkms status -m $me -v "$version" -k "$1" 2>/dev/null | grep -E ': (built|installed)' >/dev/null; then
		dkms remove "$me/$version" -k "$1" >/dev/null || true
		[ -e "/var/lib/dkms/$me/$version/source" ] || dkms add "$me/$version" >/dev/null
	fi
	# DKMS 3.2 keeps what it replaced, for the day that AMD's driver is removed.
	for kept in "$amd_dkms/original_module/$1"/*/amdgpu.ko*; do
		case $kept in
		*.origin)	;;
		*)		! has_scheduler "$kept" || rm -f "$kept" "$kept.origin" ;;
		esac
	done
}

# amd KVER VERSION: the same for AMD's driver, which is installed for it
amd()
{
	local kver=$1 v=$2 missing whose="AMD's amdgpu $2 as it is"

	ours_gone "$kver"
	if [ "$(amd_outcome "$kver" "$v")" = with ] && amd_has_scheduler "$kver"; then
		forget told "$kver"
		return 0
	fi
	# What did not compile is tried again where an administrator asks for it.
	if [ "$(amd_outcome "$kver" "$v")" = without ] && ! amd_has_scheduler "$kver" &&
	   { [ "$mode" = --triggered ] || [ ! -e "$amd_logs/$kver" ]; }; then
		tell "$kver" "$(amd_why "$kver")" "$whose"
		return 0
	fi
	if [ ! -e "/lib/modules/$kver/build/include" ]; then
		tell "$kver" "  what:   its headers are not installed
  why:    there is no /lib/modules/$kver/build/include
  remedy: install the headers of $kver" "$whose"
		return 0
	fi
	if ! missing=$("$top/dkms/amd-tree.sh" --check "/usr/src/amdgpu-$v" 2>&1) && ! amd_has_scheduler "$kver"; then
		amd_remember "$kver" without "$v" "  what:   the scheduler does not go into AMD's amdgpu $v
$(echo "$missing" | grep '^  why:')
  remedy: a newer $me, or Documentation/porting.rst"
		tell "$kver" "$(amd_why "$kver")" "$whose"
		return 0
	fi
	if ! missing=$("$top/dkms/secure-boot.sh" --make-key 2>&1); then
		tell "$kver" "$(echo "$missing" | lines)" "the amdgpu that it has"
		return 0
	fi
	if [ "$mode" = --triggered ] && [ "$(recall failed "$kver")" = "AMD $v $(amd_digest)" ]; then
		return 0
	fi
	say "building AMD's amdgpu $v for $kver with the scheduler; this takes minutes"
	followed "$(amd_log "$v")"
	if ! amd_rebuild "$kver" "$v"; then
		say "$kver keeps the amdgpu that it has: AMD's amdgpu $v did not build; see $amd_logs/$kver" >&2
		remember failed "$kver" "AMD $v $(amd_digest)"
		return 1
	fi
	forget failed "$kver"
	if amd_has_scheduler "$kver"; then
		forget told "$kver"
	else
		[ -n "$(amd_outcome "$kver" "$v")" ] || amd_remember "$kver" without "$v" "  what:   DKMS built AMD's amdgpu $v as it is
  why:    it did not do what $amd_conf says
  remedy: a DKMS that reads that file: $(dkms --version 2>/dev/null) does not"
		tell "$kver" "$(amd_why "$kver")" "$whose"
	fi
}

# amd_back KVER VERSION: AMD's driver as it is, if it is not
amd_back()
{
	local kver=$1 v=$2

	amd_has_scheduler "$kver" || return 0
	say "building AMD's amdgpu $v for $kver as it is; this takes minutes"
	followed "$(amd_log "$v")"
	if [ ! -e "/lib/modules/$kver/build/include" ] || ! amd_rebuild "$kver" "$v"; then
		say "$kver keeps AMD's amdgpu with the scheduler, which is off unless it is switched on: it could not be built again" >&2
		echo "  remedy: install the headers of $kver, then dkms remove amdgpu/$v -k $kver && dkms install amdgpu/$v -k $kver" >&2
		return 1
	fi
}

# build KVER: returns 1 if it failed
build()
{
	local kver=$1 missing inputs build

	if build=$(amd_build_of "$kver"); then
		amd "$kver" "${build%%/*}"
		return
	fi
	forget amd "$kver"
	if [ ! -e "/var/lib/dkms/$me/$version/source" ]; then
		tell "$kver" "  what:   AMD's driver (amdgpu-dkms) is not installed for it
  why:    this package puts the scheduler into that driver
  remedy: install amdgpu-dkms and the headers of $kver" "the amdgpu that it has"
		return 0
	fi
	if installed "$kver"; then
		forget told "$kver"
		return 0
	fi
	if ! missing=$("$top/dkms/build.sh" --check --kver "$kver" 2>&1); then
		tell "$kver" "$(echo "$missing" | lines)"
		return 0
	fi
	if ! missing=$("$top/dkms/secure-boot.sh" --make-key 2>&1); then
		tell "$kver" "$missing"
		return 0
	fi
	forget told "$kver"
	inputs="$version $(dpkg-query -W -f '${Package} ${Version} ' "linux-headers-$kver" 'linux-source-*' 2>/dev/null || true)"
	if [ "$mode" = --triggered ] && [ "$(recall failed "$kver")" = "$inputs" ]; then
		say "$kver keeps its stock amdgpu: the build failed before; dpkg-reconfigure amdgpu-gpreempt-dkms tries again"
		return 0
	fi
	say "building amdgpu for $kver; this takes some minutes"
	followed "$log"
	if dkms install "$me/$version" -k "$kver" && installed "$kver"; then
		forget failed "$kver"
		return 0
	fi
	sed -n "/^$me: error/,/^  remedy/p" "$log" >&2 2>/dev/null || true
	say "$kver keeps its stock amdgpu: the build failed" >&2
	remember failed "$kver" "$inputs"
	return 1
}

# initramfs KVER: make it again if the amdgpu that modprobe finds is not the one that it was made with. What could
# not be made is not noted as made, and neither told nor tried at each trigger.
initramfs()
{
	local kver=$1 file now status=0

	file=$(modinfo -k "$kver" -n amdgpu 2>/dev/null || true)
	now=
	case $file in
	*/updates/*|*/extra/*)	! has_scheduler "$file" || now="$file $(sha256sum <"$file")" ;;
	esac
	[ "$(recall initramfs "$kver")$(recall unmade "$kver")" != "$now" ] ||
		{ [ "$mode" != --triggered ] && [ -n "$(recall unmade "$kver")" ]; } || return 0
	"$top/dkms/initramfs.sh" --make "$kver" || status=$?
	[ $status = 0 ] || [ $status = 3 ] || return 1
	forget initramfs "$kver"
	forget unmade "$kver"
	case $status$now in
	0?*)	remember initramfs "$kver" "$now" ;;
	3?*)	remember unmade "$kver" "$now" ;;
	esac
}

status=0
case $mode in
--back)
	amd_off
	for kver in $(amd_kernels); do
		build=$(amd_build_of "$kver")
		amd_back "$kver" "${build%%/*}" || status=1
	done
	rm -rf "$amd_memory" "$amd_logs"
	rmdir --ignore-fail-on-non-empty "$memory" 2>/dev/null || true
	;;
--initramfs)
	;;
*)
	amd_on
	for folder in /lib/modules/*/kernel; do
		[ ! -d "$folder" ] || build "$(basename "$(dirname "$folder")")" || status=1
	done
	;;
esac
for folder in /lib/modules/*/kernel; do
	[ ! -d "$folder" ] || initramfs "$(basename "$(dirname "$folder")")" || status=1
done
# Kernels that are gone
for f in "$memory"/*/*; do
	[ ! -e "$f" ] || [ -d "/lib/modules/$(basename "$f")" ] || forget "$(basename "$(dirname "$f")")" "$(basename "$f")"
done
exit $status

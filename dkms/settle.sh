#!/bin/bash
# SPDX-License-Identifier: MIT
#
# settle.sh - bring every installed kernel to the state that its headers and its source allow
#
# Usage: dkms/settle.sh [--triggered | --initramfs]
#
# For each kernel below /lib/modules: if the module can be built for it and is not installed, DKMS builds and installs it; if not, what
# is missing is said and the kernel keeps its stock amdgpu. Then each initramfs whose amdgpu would be another one now is made again.
# --triggered: something about kernels changed (dpkg trigger); a build that failed before with the same source is not tried again, and what was
# said of a kernel is not said again.
# --initramfs: only the last step, after a removal.
#
# Exit status 1 if a build failed although everything for it was there. The initramfs are right in that case too.
#
# Touches: what DKMS touches, /boot/initrd.img-*, /var/lib/kfd_gpreempt.
set -euo pipefail
export LC_ALL=C

me=kfd_gpreempt
top=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$top/dkms.conf")
memory=/var/lib/kfd_gpreempt
log=/var/lib/dkms/$me/$version/build/make.log
mode=${1:-}
case $mode in
''|--triggered|--initramfs) ;;
*)	echo "$me: settle.sh: unknown argument '$mode'" >&2; exit 2 ;;
esac

# shellcheck source=dkms/follow.sh
. "$top/dkms/follow.sh"

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
	rm -f "$memory/$1/$2"
	rmdir --ignore-fail-on-non-empty "$memory/$1" "$memory" 2>/dev/null || true
}

installed()
{
	dkms status -m $me -v "$version" -k "$1" 2>/dev/null | grep -q ': installed'
}

# followed LOG: from now on, once for all builds
following=
followed()
{
	[ -z "$following" ] || return 0
	following=1
	rm -f "$1"
	follow "$1" &
}

# tell KVER WHY: it gets no module; once until that changes or somebody asks anew
tell()
{
	if [ "$mode" != --triggered ] || [ "$(recall told "$1")" != "$2" ]; then
		say "$1 keeps its stock amdgpu:"
		echo "$2"
	fi
	remember told "$1" "$2"
}

# build KVER: returns 1 if it failed
build()
{
	local kver=$1 missing inputs

	if installed "$kver"; then
		forget told "$kver"
		return 0
	fi
	if ! missing=$("$top/dkms/build.sh" --check --kver "$kver" 2>&1); then
		tell "$kver" "$(echo "$missing" | sed -n 's/^kfd_gpreempt: error: /  what:   /p; /^  why:/p; /^  remedy:/p')"
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

# initramfs KVER: make it again if the amdgpu that modprobe finds is not the one that it was made with
initramfs()
{
	local kver=$1 file now

	[ -e "/boot/initrd.img-$kver" ] && command -v update-initramfs >/dev/null || return 0
	file=$(modinfo -k "$kver" -n amdgpu 2>/dev/null || true)
	now=
	case $file in
	*/updates/*)	now="$file $(sha256sum <"$file")" ;;
	esac
	[ "$(recall initramfs "$kver")" != "$now" ] || return 0
	update-initramfs -u -k "$kver" || return 1
	if [ -n "$now" ]; then
		remember initramfs "$kver" "$now"
	else
		forget initramfs "$kver"
	fi
}

status=0
if [ "$mode" != --initramfs ]; then
	for folder in /lib/modules/*/kernel; do
		[ ! -d "$folder" ] || build "$(basename "$(dirname "$folder")")" || status=1
	done
fi
for folder in /lib/modules/*/kernel; do
	[ ! -d "$folder" ] || initramfs "$(basename "$(dirname "$folder")")" || status=1
done
# Kernels that are gone
for f in "$memory"/*/*; do
	[ ! -e "$f" ] || [ -d "/lib/modules/$(basename "$f")" ] || forget "$(basename "$(dirname "$f")")" "$(basename "$f")"
done
exit $status

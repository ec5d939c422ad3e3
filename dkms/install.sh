#!/bin/bash
# SPDX-License-Identifier: MIT
#
# install.sh - hand kfd_gpreempt to DKMS for one kernel, or take it back
#
# Usage: dkms/install.sh [--driver amd|kernel] [--kver KVER] [--root DIR] [--dry-run]
#        dkms/install.sh --remove [--root DIR] [--dry-run]
#
# There are two drivers that it can go into: the kernel's own amdgpu, and that of AMD's package amdgpu-dkms. Where the latter is there --driver says
# which one is meant, or the answer on a terminal. AMD's is built again under AMD's name and version, for every kernel that it is installed for
# or for KVER alone; later builds of it, and later versions, have the scheduler as well (dkms/amd.sh).
#
# Touches /usr/src/kfd_gpreempt-VERSION, /usr/share/dkms, /var/lib/dkms and /lib/modules/KVER/updates/dkms (below DIR, if given: tests); with AMD's
# driver also /etc/dkms/amdgpu.conf and /var/lib/kfd_gpreempt. Loads and unloads nothing, and leaves the initramfs and the boot configuration alone. What
# changes anything is said before anything is changed, as far as it can be known. --dry-run looks at the same things, as any user, says the
# commands and carries none of them out. --destdir DIR is refused.
set -euo pipefail
export LC_ALL=C

me=kfd_gpreempt
top=$(cd "$(dirname "$0")/.." && pwd)

# shellcheck source=dkms/follow.sh
. "$top/dkms/follow.sh"
# shellcheck source=dkms/amd.sh
. "$top/dkms/amd.sh"

say()
{
	echo "$me: $*"
}

# die WHAT WHY STATE REMEDY
die()
{
	{
		echo "$me: error: $1"
		echo "  why:    $2"
		echo "  state:  $3"
		echo "  remedy: $4"
	} >&2
	exit 1
}
# run COMMAND...: carries it out, or with --dry-run says it
run()
{
	if [ -n "$dry_run" ]; then
		say "would run: $*"
	else
		"$@"
	fi
}

nothing="nothing was installed; the kernel keeps the amdgpu module that it has"

kver=$(uname -r)
named_kver=
driver=
root=
remove=
dry_run=
while [ $# -gt 0 ]; do
	case $1 in
	--driver)	driver=${2:?--driver needs a value}; shift ;;
	--kver)		kver=${2:?--kver needs a value}; named_kver=$kver; shift ;;
	--root)		root=${2:?--root needs a value}; shift ;;
	--remove)	remove=1 ;;
	--dry-run)	dry_run=1 ;;
	--destdir)
		die "the module cannot be installed into DESTDIR=${2:-}" "DKMS builds it for the kernels of this machine" "nothing was changed" \
		    "make deb or make rpm make packages for other machines; make install-tools takes DESTDIR; here: make install without it" ;;
	*)		die "unknown argument '$1'" "it is no option of this script" "$nothing" "see the head of dkms/install.sh" ;;
	esac
	shift
done

[ -z "$dry_run" ] || say "dry run: nothing is changed"
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$top/dkms.conf")
dkms_tree=$root/var/lib/dkms
source_tree=$root/usr/src
args=(--dkmstree "$dkms_tree" --sourcetree "$source_tree" --installtree "$root/lib/modules")
[ -z "$root" ] || args+=(--no-depmod)

[ -n "$root$dry_run" ] || [ "$(id -u)" = 0 ] ||
	die "only root can do this" "modules belong to the system" "$nothing" "run it with sudo"
command -v dkms >/dev/null ||
	die "the program 'dkms' is missing" "it builds the module again after each kernel upgrade" "$nothing" "install the package dkms"

# With this file DKMS does not compare our amdgpu with the stock one, for a later kernel either. Neither has a version,
# which DKMS 3.0 takes for the same. The Debian package has a file of its own.
unlike_stock=/usr/share/dkms/modules_to_force_install/$me-local

# depmod of a tree that is not the system's
depmod_root()
{
	[ -z "$root" ] || run depmod -b "$root" "$1"
}

# take_back: remove every version of the package, for every kernel
take_back()
{
	local v k

	for v in "$dkms_tree/$me"/*/source; do
		[ -L "$v" ] || continue
		v=$(basename "$(dirname "$v")")
		run dkms remove "$me/$v" --all "${args[@]}"
		run rm -rf "${source_tree:?}/$me-$v"
	done
	[ -n "$dry_run" ] || rmdir "$dkms_tree/$me" 2>/dev/null || true
	for k in "$root"/lib/modules/*/; do
		[ ! -d "$k" ] || depmod_root "$(basename "$k")"
	done
}

# copy_source: to where DKMS has sources
copy_source()
{
	run mkdir -p "$source_tree/$me-$version"
	# shellcheck disable=SC2086 # a list
	(cd "$top" && run cp -a $package "$source_tree/$me-$version/")
}

# same_source: what is there is this package
same_source()
{
	local f

	for f in $package; do
		diff -rq "$top/$f" "$source_tree/$me-$version/$f" >/dev/null 2>&1 || return 1
	done
}

# which_driver: sets $driver, if AMD's package is there or was asked for
which_driver()
{
	local there answer

	there=
	[ -n "$root" ] || there=$(amd_versions | tail -n 1)
	case $driver in
	'')
		[ -n "$there" ] || { driver=kernel; return 0; }
		if [ ! -t 0 ]; then
			echo "$me: error: which driver? DRIVER=amd (amdgpu-dkms $there) or DRIVER=kernel (the kernel's own amdgpu)" >&2
			exit 1
		fi
		say "two drivers are here: amd (amdgpu-dkms $there) and kernel (the kernel's own amdgpu)"
		say "amdgpu is now $(modinfo -k "$kver" -n amdgpu 2>/dev/null || echo "in neither")"
		while [ "$driver" != amd ] && [ "$driver" != kernel ]; do
			printf 'Which one gets the scheduler, amd or kernel? '
			read -r answer || { echo; exit 1; }
			driver=$answer
		done
		;;
	amd)
		[ -z "$root" ] || die "AMD's driver cannot be built below '$root'" "DKMS has one configuration, that of the system" "$nothing" \
			"leave out --root"
		[ -n "$there" ] || die "AMD's driver package is not installed" "there is no /usr/src/amdgpu-VERSION with its dkms.conf" "$nothing" \
			"install amdgpu-dkms (ROCm's installation guide), or DRIVER=kernel"
		;;
	kernel)
		;;
	*)
		die "unknown driver '$driver'" "there are two: amd and kernel" "$nothing" "DRIVER=amd or DRIVER=kernel"
		;;
	esac
}

# scheduler_in_amd KVER VERSION: builds AMD's driver for it, unless that was done
scheduler_in_amd()
{
	local kver=$1 v=$2

	if [ "$(amd_outcome "$kver" "$v")" = with ] && amd_has_scheduler "$kver"; then
		say "AMD's amdgpu $v for $kver has the scheduler already"
		return 0
	fi
	say "building AMD's amdgpu $v for $kver with the scheduler; this takes minutes"
	log=$(amd_log "$v")
	rm -f "$log"
	[ -n "${following:-}" ] || follow "$log" &
	following=1
	if ! amd_rebuild "$kver" "$v"; then
		if [ -z "$was_on" ]; then
			amd_off
			rm -rf "${source_tree:?}/$me-$version"
		fi
		die "AMD's amdgpu $v did not build for $kver, nor without the scheduler" "$amd_logs/$kver has what DKMS said" \
		    "the kernel keeps the amdgpu that it has" "make AMD's driver build: dkms build amdgpu/$v -k $kver --force"
	fi
	if amd_has_scheduler "$kver"; then
		"$top/dkms/initramfs.sh" --tell "$kver" || true
		say "AMD's amdgpu $v with $me $version is installed for $kver; scheduling is off until you turn it on"
	else
		say "AMD's amdgpu $v is installed for $kver without the scheduler:" >&2
		amd_why "$kver" >&2
		return 1
	fi
}

# install_amd: into AMD's package
install_amd()
{
	local kvers k v status=0 why was_on

	was_on=$(grep '^# kfd_gpreempt: begin' "$amd_conf" 2>/dev/null || true)
	kvers=${named_kver:-$(amd_kernels)}
	[ -n "$kvers" ] || die "AMD's driver is installed for no kernel" "DKMS has no amdgpu that is installed: dkms status amdgpu" "$nothing" \
		"dkms install amdgpu/$(amd_versions | tail -n 1) -k $kver"
	for k in $kvers; do
		v=$(amd_build_of "$k") ||
			die "AMD's driver is not installed for $k" "DKMS has no amdgpu that is installed for it: dkms status amdgpu" "$nothing" \
			    "dkms install amdgpu/$(amd_versions | tail -n 1) -k $k"
		[ -e "/lib/modules/$k/build/include" ] ||
			die "kernel $k: its headers are not installed" "there is no /lib/modules/$k/build/include" "$nothing" "install the headers of $k"
		v=${v%%/*}
		why=$("$top/dkms/amd-tree.sh" --check "/usr/src/amdgpu-$v" 2>&1) || amd_has_scheduler "$k" ||
			die "the scheduler does not go into AMD's amdgpu $v" "$(echo "$why" | sed -n 's/^  why:    //p')" "$nothing" \
			    "a newer $me, Documentation/porting.rst, or DRIVER=kernel"
	done
	"$top/dkms/secure-boot.sh" "${make_key[@]}"
	take_back
	if ! same_source; then
		run rm -rf "${source_tree:?}/$me-$version"
		copy_source
	fi
	if [ -n "$dry_run" ]; then
		say "would have DKMS build AMD's amdgpu with the scheduler from now on, by lines in $amd_conf, and at once for: ${kvers//$'\n'/ }"
		return 0
	fi
	# The lines in DKMS's configuration name what stays.
	(top=$source_tree/$me-$version && amd_on)
	for k in $kvers; do
		v=$(amd_build_of "$k")
		scheduler_in_amd "$k" "${v%%/*}" || status=1
	done
	say "it is used from the next load of amdgpu on; see README.md for how to turn it on, and 'make uninstall' undoes all this"
	return $status
}

# Without changes there is no key to be made.
make_key=(--make-key)
[ -z "$dry_run" ] || make_key=()
package="dkms.conf Kconfig kfd_gpreempt include dkms"
if [ -n "$remove" ]; then
	if [ ! -e "$dkms_tree/$me" ] && [ ! -e "$source_tree/$me-$version" ]; then
		say "is not installed; nothing to do"
		exit 0
	fi
	take_back
	status=0
	if [ -z "$root" ]; then
		run rm -f "$unlike_stock"
		run "$top/dkms/settle.sh" --back || status=1
	fi
	run rm -rf "${source_tree:?}/$me-$version"
	[ -z "$dry_run" ] || exit 0
	say "removed; the amdgpu without it is what modprobe finds now, from the next load on"
	say "if an initramfs was made in the meantime, make it again: update-initramfs -u -k all (dracut -f --regenerate-all)"
	exit $status
fi

which_driver
if [ "$driver" = amd ]; then
	install_amd
	exit
fi
if [ -z "$root" ] && amd_build_of "$kver" >/dev/null; then
	die "AMD's driver is installed for $kver" "DKMS installs both to the same place, and each new build of AMD's would replace ours" "$nothing" \
	    "DRIVER=amd, or remove amdgpu-dkms first"
fi

# Each says by itself what is missing: a kernel that has hooks, its headers, its source; a key that the firmware knows.
"$top/dkms/build.sh" --check --kver "$kver"
"$top/dkms/secure-boot.sh" "${make_key[@]}"

# same_package: what DKMS has already is this package; then other kernels keep what was built for them
same_package()
{
	[ -L "$dkms_tree/$me/$version/source" ] && same_source
}

fresh=
earlier=
if ! same_package; then
	fresh=1
	[ ! -e "$dkms_tree/$me" ] || earlier=1
	take_back
	run mkdir -p "$dkms_tree"
	copy_source
	run dkms add "$me/$version" "${args[@]}"
fi
log=$dkms_tree/$me/$version/build/make.log

if [ -z "$dry_run" ]; then
	rm -f "$log"
	follow "$log" &
	say "compiling amdgpu takes minutes"
fi
if ! run dkms build "$me/$version" -k "$kver" "${args[@]}"; then
	sed -n "/^$me: error/,/^  remedy/p" "$log" >&2 || true
	if [ -n "$fresh" ]; then
		take_back >/dev/null 2>&1
		rm -rf "${source_tree:?}/$me-$version"
	fi
	[ -z "$earlier" ] || say "an earlier $me was removed before; the kernel has its stock amdgpu" >&2
	exit 1
fi

[ -n "$root" ] || run install -D -m 644 /dev/stdin "$unlike_stock" <<<"${me}_version-override"
run dkms install "$me/$version" -k "$kver" --force-version-override "${args[@]}"
depmod_root "$kver"
[ -z "$dry_run" ] || exit 0
[ -n "$root" ] || "$top/dkms/initramfs.sh" --tell "$kver" || true
say "amdgpu with $me $version is installed for $kver, beside the stock one; scheduling is off until you turn it on"
say "it is used from the next load of amdgpu on; see README.md for how to turn it on, and 'make uninstall' undoes all this"

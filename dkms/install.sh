#!/bin/bash
# SPDX-License-Identifier: MIT
#
# install.sh - hand kfd_gpreempt to DKMS for one kernel, or take it back
#
# Usage: dkms/install.sh [--kver KVER] [--root DIR]
#        dkms/install.sh --remove [--root DIR]
#
# Touches /usr/src/kfd_gpreempt-VERSION, /var/lib/dkms and /lib/modules/KVER/updates/dkms (below DIR, if given: tests). Loads and
# unloads nothing, and leaves the initramfs and the boot configuration alone. What changes anything is said before anything is
# changed, as far as it can be known.
set -euo pipefail
export LC_ALL=C

me=kfd_gpreempt
top=$(cd "$(dirname "$0")/.." && pwd)

# shellcheck source=dkms/follow.sh
. "$top/dkms/follow.sh"

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
nothing="nothing was installed; the kernel keeps the amdgpu module that it has"

kver=$(uname -r)
root=
remove=
while [ $# -gt 0 ]; do
	case $1 in
	--kver)		kver=${2:?--kver needs a value}; shift ;;
	--root)		root=${2:?--root needs a value}; shift ;;
	--remove)	remove=1 ;;
	*)		die "unknown argument '$1'" "it is no option of this script" "$nothing" "see the head of dkms/install.sh" ;;
	esac
	shift
done

version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$top/dkms.conf")
dkms_tree=$root/var/lib/dkms
source_tree=$root/usr/src
args=(--dkmstree "$dkms_tree" --sourcetree "$source_tree" --installtree "$root/lib/modules")
[ -z "$root" ] || args+=(--no-depmod)

[ -n "$root" ] || [ "$(id -u)" = 0 ] ||
	die "only root can do this" "modules belong to the system" "$nothing" "run it with sudo"
command -v dkms >/dev/null ||
	die "the program 'dkms' is missing" "it builds the module again after each kernel upgrade" "$nothing" "apt-get install dkms"

# depmod of a tree that is not the system's
depmod_root()
{
	[ -z "$root" ] || depmod -b "$root" "$1"
}

# take_back: remove every version of the package, for every kernel
take_back()
{
	local v k

	for v in "$dkms_tree/$me"/*/source; do
		[ -L "$v" ] || continue
		v=$(basename "$(dirname "$v")")
		dkms remove "$me/$v" --all "${args[@]}"
		rm -rf "${source_tree:?}/$me-$v"
	done
	rmdir "$dkms_tree/$me" 2>/dev/null || true
	for k in "$root"/lib/modules/*/; do
		depmod_root "$(basename "$k")"
	done
}

if [ -n "$remove" ]; then
	if [ ! -e "$dkms_tree/$me" ] && [ ! -e "$source_tree/$me-$version" ]; then
		say "is not installed; nothing to do"
		exit 0
	fi
	take_back
	rm -rf "${source_tree:?}/$me-$version"
	say "removed; the stock amdgpu is what modprobe finds now, from the next load on"
	say "if an initramfs was made in the meantime, make it again: update-initramfs -u -k all"
	exit 0
fi

# Each says by itself what is missing: a kernel that has hooks, its headers, its source; a key that the firmware knows.
"$top/dkms/build.sh" --check --kver "$kver"
"$top/dkms/secure-boot.sh" --make-key

# same_package: what DKMS has already is this package; then other kernels keep what was built for them
same_package()
{
	local f

	[ -L "$dkms_tree/$me/$version/source" ] || return 1
	for f in $package; do
		diff -rq "$top/$f" "$source_tree/$me-$version/$f" >/dev/null 2>&1 || return 1
	done
}

package="dkms.conf Kconfig kfd_gpreempt include dkms"
fresh=
earlier=
if ! same_package; then
	fresh=1
	[ ! -e "$dkms_tree/$me" ] || earlier=1
	take_back
	mkdir -p "$dkms_tree" "$source_tree/$me-$version"
	# shellcheck disable=SC2086 # a list
	(cd "$top" && cp -a $package "$source_tree/$me-$version/")
	dkms add "$me/$version" "${args[@]}"
fi
log=$dkms_tree/$me/$version/build/make.log

rm -f "$log"
follow "$log" &
say "compiling amdgpu takes minutes"
if ! dkms build "$me/$version" -k "$kver" "${args[@]}"; then
	sed -n "/^$me: error/,/^  remedy/p" "$log" >&2 || true
	if [ -n "$fresh" ]; then
		take_back >/dev/null 2>&1
		rm -rf "${source_tree:?}/$me-$version"
	fi
	[ -z "$earlier" ] || say "an earlier $me was removed before; the kernel has its stock amdgpu" >&2
	exit 1
fi

dkms install "$me/$version" -k "$kver" "${args[@]}"
depmod_root "$kver"
say "amdgpu with $me $version is installed for $kver, beside the stock one; scheduling is off until you turn it on"
say "it is used from the next load of amdgpu on; see README.md for how to turn it on, and 'make uninstall' undoes all this"

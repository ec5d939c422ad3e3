#!/bin/bash
# SPDX-License-Identifier: MIT
#
# amd-tree.sh - put kfd_gpreempt into the source of AMD's own driver package (amdgpu-dkms of ROCm), or take it out
#
# Usage: dkms/amd-tree.sh [--series SERIES] /usr/src/amdgpu-VERSION
#        dkms/amd-tree.sh --remove /usr/src/amdgpu-VERSION
#
# That package has the driver's folders amd/amdkfd and amd/amdgpu at its top, and DKMS builds it under AMD's name and version. The hooks of SERIES
# (the base of hooks.list, without it) are placed in a copy; only if every one has its place is anything in the tree changed. amd/amdkfd
# as it was stays in amd/amdkfd.stock. Then DKMS has to build it again:
#
#     dkms remove amdgpu/VERSION --all && dkms install amdgpu/VERSION
#
# An upgrade of amdgpu-dkms brings a new folder, without kfd_gpreempt.
set -euo pipefail
export LC_ALL=C

me=kfd_gpreempt
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$top/dkms/lib.sh"

# die WHAT WHY REMEDY
die()
{
	{
		echo "$me: error: $1"
		echo "  why:    $2"
		echo "  state:  nothing was changed"
		echo "  remedy: $3"
	} >&2
	exit 1
}

remove=
series=
while [ $# -gt 0 ]; do
	case $1 in
	--remove)	remove=1 ;;
	--series)	series=${2:?--series needs a value}; shift ;;
	-*)		die "unknown argument '$1'" "it is no option of this script" "see the head of dkms/amd-tree.sh" ;;
	*)		break ;;
	esac
	shift
done
tree=${1:-}
[ -n "$tree" ] || die "which source?" "there is no folder on the command line" "dkms/amd-tree.sh /usr/src/amdgpu-VERSION"
[ -d "$tree/amd/amdkfd" ] && [ -d "$tree/amd/amdgpu" ] ||
	die "'$tree' is no source of AMD's driver package" "it lacks amd/amdkfd or amd/amdgpu" "give the folder that amdgpu-dkms installed below /usr/src"
tree=$(cd "$tree" && pwd)

if [ -n "$remove" ]; then
	[ -d "$tree/amd/amdkfd.stock" ] || die "there is nothing to take out of '$tree'" "it has no amd/amdkfd.stock" "nothing"
	rm -rf "$tree/amd/amdkfd" "$tree/amd/kfd_gpreempt"
	mv "$tree/amd/amdkfd.stock" "$tree/amd/amdkfd"
	echo "$me: taken out of $tree; now: dkms remove and dkms install amdgpu/${tree##*/amdgpu-}"
	exit 0
fi

[ ! -e "$tree/amd/amdkfd.stock" ] || die "'$tree' has hooks already" "it has amd/amdkfd.stock" "dkms/amd-tree.sh --remove $tree"
supported=$("$top/dkms/hooks.sh" --supported)
series=${series:-$("$top/dkms/hooks.sh" --base)}
echo "$supported" | grep -qxF "$series" ||
	die "no hooks for the $series series" "there are: $(echo "$supported" | tr '\n' ' ')" "give one of these with --series"

stage=$(mktemp -d "$tree/.gpreempt.XXXXXX")
trap 'rm -rf "$stage"' EXIT
mkdir "$stage/amd"
cp -a "$tree/amd/amdkfd" "$stage/amd/"
if ! "$top/dkms/hooks.sh" --series "$series" "$stage" 2>"$stage/log"; then
	cat "$stage/log" >&2
	die "a hook of the $series series does not fit '$tree'" "$(head -n 1 "$stage/log")" \
	    "Documentation/porting.rst: hooks for this source have to be written; until then use the kernel's own amdgpu"
fi
own_files "$stage/amd/kfd_gpreempt" y ""
mv "$tree/amd/amdkfd" "$tree/amd/amdkfd.stock"
mv "$stage/amd/amdkfd" "$stage/amd/kfd_gpreempt" "$tree/amd/"
echo "$me: hooks of the $series series are in $tree; now: dkms remove and dkms install amdgpu/${tree##*/amdgpu-}"

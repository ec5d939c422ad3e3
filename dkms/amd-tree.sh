#!/bin/bash
# SPDX-License-Identifier: MIT
#
# amd-tree.sh - put kfd_gpreempt into a copy of the source of AMD's own driver package (amdgpu-dkms of ROCm)
#
# Usage: dkms/amd-tree.sh [--series SERIES] [--check] TREE
#
# TREE is laid out as /usr/src/amdgpu-VERSION: the driver's folders amd/amdkfd and amd/amdgpu are at its top. The hooks of its series get their
# places and amd/kfd_gpreempt comes beside amd/amdkfd. If one hook has no place, or the scheduler is not built for that series, TREE stays as it is.
# dkms/hooks.sh finds the series, if --series does not say it. One that the scheduler compiles for, and that it has never run with, has to be said.
# --check changes nothing in any case.
#
# DKMS calls this in its copy (dkms/amd-build.sh). The tree of the package itself is left alone.
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

series=
check=()
while [ $# -gt 0 ]; do
	case $1 in
	--series)	series=${2:?--series needs a value}; shift ;;
	--check)	check=(--check) ;;
	-*)		die "unknown argument '$1'" "it is no option of this script" "see the head of dkms/amd-tree.sh" ;;
	*)		break ;;
	esac
	shift
done
tree=${1:-}
[ -n "$tree" ] || die "which source?" "there is no folder on the command line" "dkms/amd-tree.sh TREE"
[ -d "$tree/amd/amdkfd" ] && [ -d "$tree/amd/amdgpu" ] ||
	die "'$tree' is no source of AMD's driver package" "it lacks amd/amdkfd or amd/amdgpu" "give a copy of what amdgpu-dkms has below /usr/src"
tree=$(cd "$tree" && pwd)
[ ! -e "$tree/amd/kfd_gpreempt" ] || die "'$tree' has hooks already" "it has amd/kfd_gpreempt" "give another copy"

# hooks.sh places hooks of series that are only known as well. A tree that does not say its series it refuses itself.
compiled=$("$top/dkms/hooks.sh" --compiled)
if [ -z "$series" ]; then
	series=$("$top/dkms/hooks.sh" --series-of "$tree" 2>/dev/null || true)
	[ -z "$series" ] || ! echo "$compiled" | grep -xF "$series" >/dev/null ||
		die "the scheduler has never run with '$tree'" "its series is $series: it compiles for that, and no more is known" \
		    "dkms/amd-tree.sh --series $series TREE puts it there all the same; Documentation/porting.rst"
fi
supported=$("$top/dkms/hooks.sh" --supported; "$top/dkms/hooks.sh" --trees 2>/dev/null || true)
[ -z "$series" ] || printf '%s\n' "$supported" "$compiled" | grep -xF "$series" >/dev/null ||
	die "the scheduler is not built for '$tree'" "its series is $series, and these are supported: $(echo "$supported" | paste -sd ' ')" \
	    "a newer $me, or Documentation/porting.rst"

log=$(mktemp)
trap 'rm -rf "$log" "$tree/amd/kfd_gpreempt.new"' EXIT
[ -n "${check[*]-}" ] || own_files "$tree/amd/kfd_gpreempt.new" y ""
if ! "$top/dkms/hooks.sh" ${series:+--series "$series"} ${check[@]+"${check[@]}"} "$tree" >"$log" 2>&1; then
	cat "$log" >&2
	die "the hooks do not fit '$tree'" "$(head -n 1 "$log")" "a newer $me, or Documentation/porting.rst"
fi
[ -z "${check[*]-}" ] || exit 0
mv "$tree/amd/kfd_gpreempt.new" "$tree/amd/kfd_gpreempt"
echo "$me: the hooks are in $tree"

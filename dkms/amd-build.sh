#!/bin/bash
# SPDX-License-Identifier: MIT
#
# amd-build.sh - what DKMS calls to build AMD's own driver package: its commands, on its source with the scheduler inside
#
# Usage: dkms/amd-build.sh KVER PRE_BUILD MAKE [ARGUMENTS]
#
# By /etc/dkms/amdgpu.conf (amd_on of dkms/amd.sh), in the copy of the source that DKMS made for this build. PRE_BUILD (- if there is none) and MAKE are
# those of AMD's dkms.conf, in base64; DKMS may put arguments behind MAKE. The hooks come first, because PRE_BUILD changes names in all files.
#
# The machine shall not be without its driver because of the scheduler. So if a hook has no place, or what came out does not compile, AMD's source is
# built as it is, and $amd_memory/KVER says why.
set -euo pipefail
export LC_ALL=C

me=kfd_gpreempt
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=amd.sh
. "$top/dkms/amd.sh"

kver=$1
pre=
[ "$2" = - ] || pre=$(echo "$2" | base64 -d)
make="$(echo "$3" | base64 -d) ${*:4}"
version=$(sed -nE 's/^PACKAGE_VERSION="?([^"]*)"?[[:space:]]*$/\1/p' dkms.conf)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# commands: as DKMS runs them
commands()
{
	if [ -n "$pre" ] && [ -x "${pre%% *}" ]; then
		bash -c "exec ./$pre" || echo "$me: AMD's PRE_BUILD failed; DKMS goes on as well"
	fi
	bash -c "$make"
}

# counted TOTAL: how far it is, as progress.sh reads it
counted()
{
	local line asked=0 compiled=0

	while IFS= read -r line; do
		case $line in
		"checking "*)		asked=$((asked + 1)); echo "$asked 0 asking kernel $kver what it has (AMD's configure)" ;;
		"  CC "* | "  AS "*)	compiled=$((compiled + 1)); echo "$compiled $1 compiling AMD's amdgpu for $kver" ;;
		esac
	done
}

# shown: what AMD's commands say, and how far they are for dkms/follow.sh
shown()
{
	tee >(counted "$(find . -name '*.c' | wc -l)" | "$top/dkms/progress.sh")
}

# without WHAT WHY REMEDY: as it is
without()
{
	local text

	text=$(printf '  what:   %s\n  why:    %s\n  remedy: %s' "$@")
	printf '%s: AMD'\''s amdgpu %s is built without the scheduler\n%s\n' "$me" "$version" "$text"
	amd_remember "$kver" without "$version" "$text"
	commands 2>&1 | shown
	exit
}

if ! "$top/dkms/amd-tree.sh" . >"$log" 2>&1; then
	cat "$log"
	rm -f "$amd_logs/$kver"
	without "the scheduler does not go into AMD's amdgpu $version" "$(sed -n 's/^  why:    //p' "$log")" "a newer $me, or Documentation/porting.rst"
fi
cat "$log"
if commands 2>&1 | shown; then
	[ ! -e amd/amdgpu/amdgpu.ko ] || has_scheduler amd/amdgpu/amdgpu.ko || why="the module has no parameter gpreempt_enable"
else
	why="the build failed; $amd_logs/$kver has what it said"
fi
if [ -z "${why:-}" ]; then
	amd_remember "$kver" with "$version"
	rm -f "$amd_logs/$kver"
	exit 0
fi
mkdir -p "$amd_logs"
cp make.log "$amd_logs/$kver" 2>/dev/null || true
find . -mindepth 1 -maxdepth 1 ! -name make.log -exec rm -rf {} +
cp -a ../source/. .
without "AMD's amdgpu $version does not compile for $kver with the scheduler" "$why" "report it with that file; until then AMD's driver works as it is"

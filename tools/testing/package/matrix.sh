#!/bin/bash
# SPDX-License-Identifier: MIT
#
# matrix.sh - does the scheduler build for, and run on, the kernels of the supported series that the archive has? (TAP: two tests a release)
#
# Usage: tools/testing/package/matrix.sh [--newest | KVER...]
#
# KVER as 6.12.115+deb12-amd64; without one, all releases of the kernels that tools/testing/vm/kernel.sh has and whose series are supported.
# --newest: of each such kernel the newest release, but not of the machine's own. "builds": the hooks fit (strictly, each where it has to be), and
# what they are in or whose structures they change compiles: amdkfd, and the files of amdgpu that include its header. "runs": these objects
# take the place of amdkfd in the amdgpu.ko of that release's own kernel package (all else in there is what Debian compiled from the same source), and
# that kernel with that module passes the smoke run (tools/testing/vm/smoke.sh) on the virtual GPU. What the scheduler builds on and what is not as in the installed
# source (dist/moved, from the installed source to that of a release of the same series) is printed beside the result. Documentation/porting.rst
# says how to read a failure. What cannot be had from the archive is skipped.
#
# Touches: $GPREEMPT_CACHE/matrix: a work folder (one run at a time; always at the same path, which ccache wants; what failed stays there until
# the next run), and what was found, by release and by the content of what it depends on, so that a second run fetches nothing. What kernel.sh has
# of a release is there for as long as it is needed, with --newest for longer. $BUILD: what `make testbed' makes.
set -euo pipefail
export LC_ALL=C

top=$(cd "$(dirname "$0")/../../.." && pwd)
export BUILD=${BUILD:-$top/build}
export GPREEMPT_CACHE=${GPREEMPT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kfd_gpreempt}
export CCACHE_DIR=${CCACHE_DIR:-$GPREEMPT_CACHE/ccache}
vm=$top/tools/testing/vm/vm
kernel=$top/tools/testing/vm/kernel.sh
cache=$GPREEMPT_CACHE/matrix
stock=$(KVER='' "$vm" kver)
series=$(echo "$stock" | cut -d. -f1,2)
export work=$cache/work
amd=drivers/gpu/drm/amd
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
rm -rf "$work"
mkdir "$work"
new=
failed=0
trap '[ $failed = 1 ] || rm -rf "$work"; [ -z "$new" ] || "$kernel" --drop "$new"' EXIT

# shellcheck source-path=SCRIPTDIR source=../vm/smoke.sh
. "$top/tools/testing/vm/smoke.sh"

# installed: the installed source, as far as dist/moved looks at it; unpacked once
installed()
{
	local tarball=/usr/src/linux-source-$series.tar.xz dest root

	dest=$cache/source-$(stat -c %s-%Y "$tarball")
	if [ ! -e "$dest" ]; then
		rm -rf "$cache"/source-* "$work/source"
		mkdir "$work/source"
		root=$(tar -tf "$tarball" 2>/dev/null | head -n 1 | cut -d/ -f1 || true)
		tar -C "$work/source" --strip-components=1 --exclude=asic_reg --exclude=display --exclude=pm -xf "$tarball" "$root/$amd"
		mv "$work/source" "$dest"
	fi
	echo "$dest"
}

# relative: paths of stdin as they are in the driver's folder, or in that of headers
relative()
{
	sed -E "s|[^ ']*/$amd/(amdgpu/\.\./)?(amdkfd/\.\./)?||g; s|/usr/src/||g"
}

# complaints LOG: the compiler's and make's own, each once
complaints()
{
	sed -nE '/^make.* Error [0-9]/d; /error:|undefined reference|\*\*\*/p' "$1" | relative | awk '!seen[$0]++ && ++n <= 40'
}

# builds KVER: prints what is to be known, or wrong; leaves objects in $work
builds()
{
	local series_of=${1%"${1#*.*.}"} status=0

	[ "$got" = 0 ] || { cat "$work/got"; return 1; }
	rm -rf "$work"/{build,new}
	mkdir -p "$work/new/amd"
	series_of=${series_of%.}
	"$kernel" --in "$1" "$top/dkms/build.sh" --kver "$1" --amdkfd --build-dir "$work/build" \
		--src "/usr/src/linux-source-$series_of.tar.xz" >"$work/build.log" 2>&1 || status=1
	# What is declared otherwise is to be known; whether it matters the compiler says.
	if [ -e "$work/build/stock" ] && [ "$series_of" = "$series" ]; then
		ln -s "$work/build/stock/amdkfd" "$work/build/$amd"/{amdgpu,include} "$work/new/amd/"
		"$top/dist/moved" --series "$series" "$(installed)" "$work/new" || true
	fi
	[ $status != 0 ] || return 0
	{
		sed -n '/^kfd_gpreempt: error:/,/^  state:/{/^  state:/d; p}' "$work/build.log" | relative
		[ ! -e "$work/build/build.log" ] || complaints "$work/build/build.log"
	} >"$work/why"
	# What came before the build has words of its own.
	[ -s "$work/why" ] || tail -n 5 "$work/build.log" | relative >"$work/why"
	cat "$work/why"
	return 1
}

# module KVER: puts what was built in the place of amdkfd, in the module of the release's kernel package: $work/amdgpu.ko. In the system of kernel.sh,
# as the linker of another release of Debian might not know all that is in there.
module()
{
	local ours=$work/build/drivers/gpu/drm/amd/amdgpu/amdgpu.o headers=/lib/modules/$1/build packaged lds ko
	local link=(ld -r -m elf_x86_64 -z noexecstack --no-warn-rwx-segments --build-id=sha1)

	lds=$headers/arch/x86/module.lds
	packaged=$(find "$GPREEMPT_CACHE/kernel/$1/lib/modules" -name 'amdgpu.ko.xz')
	xz -dc "$packaged" >"$work/packaged.ko"
	# The names that both have are ours; amdkfd's code in the package is called by nobody then. What the kernel would set up for it by a list is
	# ours as well, and must not be set up twice.
	for ko in "$ours" "$work/packaged.ko"; do
		nm --defined-only --extern-only "$ko" | awk '{ print $NF }' | sort >"$ko.names"
	done
	comm -12 "$ours.names" "$work/packaged.ko.names" >"$work/both"
	objcopy --weaken-symbols="$work/both" --remove-section=.BTF --remove-section=___srcu_struct_ptrs "$work/packaged.ko" "$work/packaged.o"
	"${link[@]}" -T "$lds" -o "$work/linked.o" "$work/packaged.o" "$ours"
	# What only the scheduler imports is in the release's list of what it exports, and needs its version, if the others have one.
	for ko in "$work/linked.o" "$work/packaged.ko"; do
		nm --undefined-only "$ko" | awk '{ print $NF }' | sort >"$ko.imports"
	done
	comm -23 "$work/linked.o.imports" "$work/packaged.ko.imports" >"$work/imports"
	awk -v versions="$(readelf -SW "$work/packaged.ko" | grep -c ' __versions ')" 'NR == FNR { crc[$2] = $1; next }
	     !($1 in crc) { print $1 ": this kernel exports no such symbol, and amdgpu has none" >"/dev/stderr"; missing = 1; next }
	     versions { printf "\t.section __versions, \"a\"\n1:\t.quad %s\n\t.asciz \"%s\"\n\t.org 1b + 64\n", crc[$1], $1 }
	     END { exit missing }' "$headers/Module.symvers" "$work/imports" >"$work/versions.s"
	as -o "$work/versions.o" "$work/versions.s"
	"${link[@]}" -T "$lds" -o "$work/amdgpu.ko" "$work/linked.o" "$work/versions.o"
	# Looking up each function entry in the list of the kernel's symbols would take most of the time of loading.
	objcopy --remove-section=__mcount_loc --remove-section=.rela__mcount_loc "$work/amdgpu.ko"
}

# runs KVER: after builds; prints how many tests passed, or what is wrong
runs()
{
	local passed

	"$kernel" --in "$1" bash -euo pipefail -c "$(declare -f module); module '$1'"
	"$kernel" --in "$1" make -s --no-print-directory "-j$(nproc)" -C "$top/tools/vgpu" module KVER="$1" O="$work/vgpu" VGPU_CACHE="$GPREEMPT_CACHE" \
		>"$work/vgpu.log" 2>&1 || { echo "vgpu.ko does not build:"; complaints "$work/vgpu.log"; return 1; }
	# A guest that is saved would be used once.
	KVER=$1 VM_BOOT=1 "$vm" run --gpu none --icount --amdgpu "$work/amdgpu.ko" --vgpu "$work/vgpu/vgpu.ko" --timeout 2400 -- "$smoke" \
		>"$work/smoke" 2>"$work/smoke.err" || true
	passed=$(grep -c '^ok ' "$work/smoke" || true)
	if [ -s "$work/smoke.err" ] || [ "$passed" != $smoke_tests ] || grep -q '^not ok' "$work/smoke"; then
		echo "$passed of $smoke_tests tests passed"
		# What a test says stands before its result.
		awk '/^ok / { n = 0; next } { said[n++] = $0 } /^not ok / { for (i = 0; i < n; i++) print said[i]; n = 0 }
		     END { for (i = n > 20 ? n - 20 : 0; i < n; i++) print said[i] }' "$work/smoke"
		cat "$work/smoke.err"
		return 1
	fi
	echo "$passed tests passed"
}

# without_point KVER: 6.12+deb12 of 6.12.115+deb12-amd64
without_point()
{
	echo "$1" | sed -E 's/^([0-9]+\.[0-9]+)\.[0-9]+/\1/; s/-amd64$//'
}

# archive: releases of all kernels of supported series; a kernel of which nothing can be had is named itself
archive()
{
	local name list

	for name in $("$kernel" --list); do
		"$top/dkms/hooks.sh" --supported | grep -qxF "${name%%+*}" || continue
		list=$("$kernel" --list "$name" 2>"$work/list.err") || list=$name
		if [ -n "$newest" ]; then
			list=$(echo "$list" | tail -n 1)
			[ "$(without_point "$list")" != "$(without_point "$stock")" ] || continue
		fi
		echo "$list"
	done
}

# step builds|runs KVER: a test, what it says before its result; 0 if it passed
step()
{
	local status

	n=$((n + 1))
	# Not in a condition, in which no error would end it.
	set +e
	(set -e; "$1" "$2") >"$work/said" 2>&1
	status=$?
	set -e
	sed 's/^/# /' "$work/said"
	if [ $status = 0 ]; then
		{ sed 's/^/# /' "$work/said"; echo "$2: $1"; } >>"$work/found"
		echo "ok $n - $2: $1"
	else
		failed=1
		echo "not ok $n - $2: $1"
		return 1
	fi
}

newest=
if [ "${1:-}" = --newest ]; then
	newest=1
	shift
fi
[ $# -gt 0 ] || mapfile -t releases < <(archive)
[ $# = 0 ] || releases=("$@")
[ ${#releases[@]} -gt 0 ] || { echo "1..0 # SKIP no series has a kernel other than this machine's"; exit 0; }
# What a result depends on, besides the release: hooks, scheduler, how it is built and run, and what of the virtual GPU is kernel code.
state=$(cat "$0" "$top"/dkms/{build.sh,lib.sh,package.c,hooks.sh,hooks.awk,hooks.list} "$top/dist/moved" "$top"/kfd_gpreempt/{Kbuild,*.[ch],*/*.[ch]} \
	"$top"/include/uapi/linux/* "$top"/tools/vgpu/*.[ch] "$top"/tools/vgpu/guest/* "$top/tools/testing/vm/smoke.sh" "$kernel" | sha256sum | cut -c1-16)
echo "1..$((2 * ${#releases[@]}))"
n=0
for kver in "${releases[@]}"; do
	known=$cache/$kver-$state
	if [ -e "$known" ]; then
		while IFS= read -r line; do
			case $line in
			'#'*) echo "$line" ;;
			*) n=$((n + 1)); echo "ok $n - $line" ;;
			esac
		done <"$known"
		continue
	fi
	[ -e "$BUILD/guest/queues" ] || make -s --no-print-directory -C "$top" testbed >&2
	[ -n "$newest" ] || [ -e "$GPREEMPT_CACHE/debian/$kver" ] || new=$kver
	got=0
	"$kernel" "$kver" >"$work/got" 2>&1 || got=$?
	: >"$work/found"
	if [ $got = 3 ]; then
		for test in builds runs; do
			n=$((n + 1))
			echo "ok $n - $kver: $test # SKIP $(tail -n 1 "$work/got")"
		done
	elif step builds "$kver"; then
		! step runs "$kver" || mv "$work/found" "$known"
	else
		n=$((n + 1))
		echo "ok $n - $kver: runs # SKIP it does not build"
	fi
	[ -z "$new" ] || "$kernel" --drop "$new"
	new=
done
exit $failed

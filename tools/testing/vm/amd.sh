#!/bin/bash
# SPDX-License-Identifier: MIT
#
# amd.sh - AMD's own driver package on the virtual GPU: on each kernel that it is built for, untouched and with the scheduler (TAP)
#
# Usage: AMD_TREE=FOLDER tools/testing/vm/amd.sh [KERNEL...]
#
# FOLDER and KERNEL are those of tools/testing/package/amd_tree.sh, which builds the package; without a KERNEL all that it is built for. Each boots in
# a VM with the package's modules in the place of its own. Untouched, they pass the tests that need no scheduler, so that a difference is the
# scheduler's; hooked, the smoke run of the matrix. Register accesses are caught (verbatim front end): the modules are those of a user. On the first
# KERNEL the build for the virtual GPU also passes whole suites, as the table of suites has them, and the demonstration keeps its promises.
#
# Touches: as amd_tree.sh; $BUILD/RELEASE: virtual GPU's module, programs of the demonstration.
# shellcheck disable=SC2317 # tests are called by tap
TOP=${TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
BUILD=${BUILD:-$TOP/build}
export BUILD GPREEMPT_CACHE=${GPREEMPT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kfd_gpreempt}
# shellcheck source-path=SCRIPTDIR source=../tap.sh
. "$TOP/tools/testing/tap.sh"
# shellcheck source-path=SCRIPTDIR source=smoke.sh
. "$TOP/tools/testing/vm/smoke.sh"

kernel_sh=$TOP/tools/testing/vm/kernel.sh
suites=(queues preempt policies lifecycle uapi doorbell)

# modules KERNEL FLAVOUR: builds them; $scratch/KERNEL.FLAVOUR: release, folder
modules()
{
	local status=0

	"$TOP/tools/testing/package/amd_tree.sh" --build "$1" "$2" >"$scratch/said" 2>"$scratch/err" || status=$?
	[ "$status" != 3 ] || skip "$(tail -n 1 "$scratch/err")"
	cat "$scratch/err"
	[ "$status" = 0 ]
	tail -n 2 "$scratch/said" >"$scratch/$1.$2"
}

# got KERNEL FLAVOUR: sets kver and folder, after modules
got()
{
	[ -s "$scratch/$1.$2" ] || skip "it does not build"
	{ read -r kver; read -r folder; } <"$scratch/$1.$2"
}

# device KERNEL: the virtual GPU's module, and what it does without a driver
device()
{
	local kver folder

	got "$1" stock
	"$kernel_sh" "$kver" >/dev/null
	"$kernel_sh" --in "$kver" make -s --no-print-directory "-j$(nproc)" -C "$TOP/tools/vgpu" module KVER="$kver" O="$BUILD/$kver/vgpu" \
		VGPU_CACHE="$GPREEMPT_CACHE" >&2
	KVER=$kver VGPU_KO=$BUILD/$kver/vgpu/vgpu.ko VM=$TOP/tools/testing/vm/vm "$TOP/tools/vgpu/tests/module.sh" >"$scratch/module"
	cat "$scratch/module"
	! grep '^not ok' "$scratch/module"
}

# in_vm KERNEL FLAVOUR COMMAND...: of all tests that it prints none fails, and the kernel has nothing to say; sets passed
in_vm()
{
	local kver folder status=0

	got "$1" "$2"
	env KVER="$kver" VM="$TOP/tools/testing/vm/vm" TOP="$TOP" VGPU_KO="$BUILD/$kver/vgpu/vgpu.ko" AMDGPU_TEST_KO="$folder/amdgpu.ko" \
		"${@:3}" >"$scratch/out" 2>"$scratch/err" || status=$?
	passed=$(grep -v '# SKIP' "$scratch/out" | grep -c '^ok ' || true)
	grep -B 10 '^not ok' "$scratch/out" || true
	cat "$scratch/err"
	echo "$passed tests passed, exit status $status"
	[ "$status" = 0 ] && ! grep -q '^not ok' "$scratch/out" && [ "$passed" -gt 0 ]
}

# run KERNEL FLAVOUR TESTS OPTIONS... -- COMMAND: exactly so many pass
run()
{
	local kver folder passed

	got "$1" "$2"
	in_vm "$1" "$2" "$TOP/tools/testing/vm/vm" run --amdgpu "$folder/amdgpu.ko" --icount --timeout 2400 "${@:4}"
	is "tests that passed" "$passed" "$3"
}

# suite KERNEL NAME: as check.py runs it on the machine's kernel; what it skips is said
suite()
{
	local passed

	"$TOP/tools/testing/check.py" --list "$2" | cut -f 2- >"$scratch/command"
	in_vm "$1" test sh "$scratch/command"
	{ echo "$passed of $2 passed"; grep '# SKIP' "$scratch/out" || true; } >"$scratch/said.$2"
}

# demo KERNEL: two programs without and with the scheduler
demo()
{
	local kver folder

	got "$1" test
	"$TOP/tools/testing/bench/demo/demo.py" --kernel "$kver" --amdgpu "$folder/amdgpu.ko" >"$scratch/out" 2>&1 && return
	tail -n 40 "$scratch/out"
	return 1
}

# It says how to get one.
[ -n "${AMD_TREE:-}" ] || exec "$TOP/tools/testing/package/amd_tree.sh"
[ $# -gt 0 ] || mapfile -t kernels < <("$kernel_sh" --amd)
[ $# = 0 ] || kernels=("$@")
[ -e "$BUILD/guest/queues" ] || make -s --no-print-directory -C "$TOP" testbed >&2
plan $((6 * ${#kernels[@]} + 3 + ${#suites[@]}))
for kernel in "${kernels[@]}"; do
	tap "$kernel: the untouched package builds" modules "$kernel" stock
	tap "$kernel: it builds with the scheduler" modules "$kernel" hooked
	tap "$kernel: the virtual GPU appears and goes" device "$kernel"
	tap "$kernel: the untouched driver runs queues on a gfx90a" run "$kernel" stock 12 --gpu verbatim -- "queues -F no_hws && gpu-down"
	tap "$kernel: the untouched driver runs queues on two XCCs of a gfx942" \
		run "$kernel" stock 12 --gpu verbatim --vgpu-args "asic=gfx942 xccs=2" -- "queues -F no_hws && gpu-down"
	# As in the matrix: it loads amdgpu by itself.
	tap "$kernel: the scheduler passes the smoke run" run "$kernel" hooked "$smoke_tests" --gpu none -- "$smoke"
done
tap "${kernels[0]}: it builds for the virtual GPU" modules "${kernels[0]}" test
for suite in "${suites[@]}"; do
	tap "${kernels[0]}: $suite" suite "${kernels[0]}" "$suite"
	[ ! -e "$scratch/said.$suite" ] || sed 's/^/#: /' "$scratch/said.$suite"
done
tap "${kernels[0]}: with keep_idle_process_evicted the driver alone withdraws doorbells" run "${kernels[0]}" test 3 \
	--gpu fast --vgpu-args vram_mb=64 --amdgpu-args keep_idle_process_evicted=1 -- idle_evicted
tap "${kernels[0]}: the demonstration keeps every promise" demo "${kernels[0]}"
finish

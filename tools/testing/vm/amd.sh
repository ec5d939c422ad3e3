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
# KERNEL the build for the virtual GPU also passes whole suites.
#
# Touches: as amd_tree.sh; $BUILD: virtual GPU's module for each release, logs.
# shellcheck disable=SC2317 # tests are called by tap
TOP=${TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
BUILD=${BUILD:-$TOP/build}
export BUILD GPREEMPT_CACHE=${GPREEMPT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kfd_gpreempt}
# shellcheck source-path=SCRIPTDIR source=../tap.sh
. "$TOP/tools/testing/tap.sh"
# shellcheck source-path=SCRIPTDIR source=smoke.sh
. "$TOP/tools/testing/vm/smoke.sh"

kernel_sh=$TOP/tools/testing/vm/kernel.sh
suites=(queues "preempt" policies "lifecycle -T criu_checkpoint_of_preempted_process" uapi doorbell)

# modules KERNEL FLAVOUR: builds them; $scratch/KERNEL.FLAVOUR: release, folder
modules()
{
	"$TOP/tools/testing/package/amd_tree.sh" --build "$1" "$2" >"$scratch/said"
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
	"$kernel_sh" --in "$kver" make -s --no-print-directory "-j$(nproc)" -C "$TOP/tools/vgpu" module KVER="$kver" O="$BUILD/amd/$kver/vgpu" \
		VGPU_CACHE="$GPREEMPT_CACHE" >&2
	KVER=$kver VGPU_KO=$BUILD/amd/$kver/vgpu/vgpu.ko VM=$TOP/tools/testing/vm/vm "$TOP/tools/vgpu/tests/module.sh" >"$scratch/module"
	cat "$scratch/module"
	! grep '^not ok' "$scratch/module"
}

# run KERNEL FLAVOUR TESTS OPTIONS... -- COMMAND: so many tests pass (0: any number), none fails, and the kernel has nothing to say
run()
{
	local kver folder count=$3 passed status=0

	got "$1" "$2"
	shift 3
	"$TOP/tools/testing/vm/vm" run --kver "$kver" --icount --amdgpu "$folder/amdgpu.ko" --vgpu "$BUILD/amd/$kver/vgpu/vgpu.ko" --timeout 2400 \
		"$@" >"$scratch/out" 2>"$scratch/err" || status=$?
	passed=$(grep -c '^ok ' "$scratch/out" || true)
	grep -B 10 '^not ok' "$scratch/out" || true
	cat "$scratch/err"
	echo "$passed tests passed, exit status $status"
	[ "$status" = 0 ] && ! grep -q '^not ok' "$scratch/out" && [ "$passed" -gt 0 ] && { [ "$count" = 0 ] || [ "$passed" = "$count" ]; }
}

if [ -z "${AMD_TREE:-}" ]; then
	echo "1..0 # SKIP AMD_TREE is not set: the folder of AMD's driver package, which amdgpu-dkms puts to /usr/src/amdgpu-VERSION"
	exit 0
fi
[ $# -gt 0 ] || mapfile -t kernels < <("$kernel_sh" --amd)
[ $# = 0 ] || kernels=("$@")
[ -e "$BUILD/guest/queues" ] || make -s --no-print-directory -C "$TOP" testbed >&2
plan $((6 * ${#kernels[@]} + 1 + ${#suites[@]}))
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
	case $suite in
	doorbell) args=(--vgpu-args vram_mb=64 --amdgpu-args gpu_recovery=1) ;;
	lifecycle*) args=(--amdgpu-args "gpu_recovery=0 queue_preemption_timeout_ms=200") ;;
	preempt) args=(--amdgpu-args hws_max_conc_proc=8) ;;
	queues) args=(--amdgpu-args sched_policy=2) ;;
	*) args=() ;;
	esac
	tap "${kernels[0]}: ${suite%% *}" run "${kernels[0]}" test 0 --gpu fast "${args[@]}" -- "$suite"
done
finish

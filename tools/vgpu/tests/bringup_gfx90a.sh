#!/bin/sh
# SPDX-License-Identifier: MIT
# bringup_gfx90a.sh - the real driver comes up on the virtual GPU, goes away and comes back; TAP on stdout
#
# One boot of $VM with $AMDGPU_TEST_KO, a build of amdgpu for the fast front end. Builds vgpu.ko and firmware into $BUILD if they
# are missing, by $COMPILE_IN if that is set. $BUILD/guest has a program of tests "queues" for KFD.

. "$(dirname "$0")/bringup.sh"

echo 1..14

${COMPILE_IN:-} make -s -C "$TOP/tools/vgpu" > "$OUT/build.log" 2>&1
report $? "vgpu.ko and its firmware build" "$OUT/build.log"

guest <<'GUEST'
named() # PARAMETER BOUND: refused, and the log names the value too
{
	refused "$1" "$2" || return 1
	dmesg | grep -F "${1%% *}" | grep -qF "$2" || { echo "$1: no message with it and '$2':"; dmesg; return 1; }
}
bad_values()
{
	named cus=0 1..128 && named cus=129 1..128 && named se=9 1..8 &&
	named cus=3 "at least one" && named "cus=65 se=4" "at most 16" &&
	named poll_ns=1 1000..10000000 && named vram_mb=2048 64..1024 && named hbm_bytes_per_us=0 1..100000000 &&
	named quantum_ns=1 10000..100000000 && named connect_ns=1000000001 0..1000000000 && named front=magic "intercept, kmmio, none" &&
	named preset=mi99 "small, mi210, mi250, mi300x, mi325x, mi308x" && named tlb=on "checked, cached, off" &&
	named fault=stale_mqd,rust "stale_mqd, stale_ctl_stack, " &&
	named firmware=late-rptr,rust "late-rptr, early-rptr, " && named firmware=early-rptr,late-rptr "exclude each other"
}

units() # PARAMETERS SIMDS ENGINES: the driver finds what they promise, and saves and restores all of it
{
	gpu-up fast --vgpu-args "$1" && is simd_count $2 && is array_count $3 && is simd_arrays_per_engine 1 &&
	queues -t userptr_queue_runs_kernel -t unmap_remap_is_exactly_once && counters && down
}
parameter_wins() # over the preset, for one number
{
	gpu-up fast --vgpu-args "preset=mi210 cus=9 se=4" && is simd_count 36 && is array_count 4 &&
	grep -qx 1638400 /sys/module/vgpu/parameters/hbm_bytes_per_us && down
}
topology() { is simd_count 32 && is gfx_target_version 90010 && is array_count 4 && is max_waves_per_simd 8 && is lds_size_in_kb 64; }
counters()
{
	for counter in runlists unmaps cwsr_saves waves_saved waves_restored waves_done doorbells irqs; do
		grep -q "^$counter [0-9]" /sys/kernel/debug/vgpu/stats || { echo "no $counter"; cat /sys/kernel/debug/vgpu/stats; return 1; }
	done
	clean
}
up() { gpu-up fast && [ -e /dev/kfd ] && [ -e /dev/dri/renderD128 ]; }

name="bad parameter values are refused with value and bound"; check bad_values
dmesg -c > /dev/null
name="driver probes, KFD node and render node appear"; check up
name="all rings pass their tests"; check rings kiq comp sdma
name="topology says 8 CUs of gfx90a"; check topology
name="the model saw no bad packet and no page fault"; check counters
name="both modules unload and leave nothing"; check down
name="they load again"; check up
name="rings pass again"; check rings kiq comp sdma
name="and unload again"; check down
name="preset mi210 is 104 CUs"; check units preset=mi210 416 8
name="38 CUs in four engines are two engines with one less"; check units "cus=38 se=4" 152 4
name="a given number has precedence over the preset's"; check parameter_wins
GUEST

boot 12 "$AMDGPU_TEST_KO"

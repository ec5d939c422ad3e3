#!/bin/sh
# SPDX-License-Identifier: MIT
# bringup_gfx942.sh - the real driver comes up on a gfx942 with 1, 2 and 4 XCCs; TAP on stdout
#
# One boot of $VM with $AMDGPU_TEST_KO, as bringup_gfx90a.sh.

. "$(dirname "$0")/bringup.sh"

echo 1..10

guest <<'GUEST'
bad_values()
{
	refused asic=gfx908 "gfx90a, gfx942" && refused "asic=gfx942 xccs=0" 1..8 && refused "asic=gfx942 xccs=9" 1..8 &&
	refused "asic=gfx942 xccs=3" "power of two" && refused xccs=2 1..1
}

topology() # XCCS
{
	is num_xcc $1 && is simd_count $((32 * $1)) && is array_count $((4 * $1)) && is gfx_target_version 90402 &&
	is device_id 29857 && is max_waves_per_simd 8 && is lds_size_in_kb 64 && is wave_front_size 64
}
up() { gpu-up fast --vgpu-args "asic=gfx942 xccs=$xccs" && topology $xccs; }
rings_pass() # each XCC has its own
{
	# shellcheck disable=SC2046 # a list
	rings $(seq -f kiq_%g. 0 $((xccs - 1))) $(seq -f comp_%g. 0 $((xccs - 1))) && clean
}
work() { queues -t userptr_queue_runs_kernel -t unmap_remap_is_exactly_once -t completion_event_wakes_sleeper && clean; }
preset() # of a whole MI300X's quarter: the XCCs' compute units add up, also those that a fuse switches off
{
	gpu-up fast --vgpu-args "asic=gfx942 xccs=2 preset=mi300x" && is simd_count $((2 * 38 * 4)) && is array_count 8 && work && down
}

name="bad values are refused with the good ones"; check bad_values
for xccs in 1 2 4; do
	name="driver probes and tells of $xccs XCCs"; check up
	[ $xccs = 1 ] || { name="the rings of $xccs XCCs pass their tests"; check rings_pass; }
	[ $xccs = 1 ] || { name="kernels run on $xccs XCCs and are preempted exactly once"; check work; }
	check_down=$(down 2>&1) || { echo "RESULT 1 unload after $xccs XCCs"; echo "$check_down"; }
done
name="preset mi300x is per XCC"; check preset
GUEST

boot 9 "$AMDGPU_TEST_KO"

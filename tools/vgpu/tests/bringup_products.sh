#!/bin/sh
# SPDX-License-Identifier: MIT
# bringup_products.sh - the real driver comes up on devices with the numbers of products; TAP on stdout
#
# One boot of $VM with $AMDGPU_TEST_KO, as bringup_gfx90a.sh.

. "$(dirname "$0")/bringup.sh"

echo 1..10

guest <<'GUEST'
bad_values()
{
	refused preset=mi308 "small, mi210, mi250, mi300x, mi325x, mi308x" &&
	refused "preset=mi308x asic=gfx90a" "asic=gfx90a: a mi308x is a gfx942" &&
	refused "preset=mi308x xccs=8" "xccs=8: a mi308x has 4" && refused "preset=mi308x xccs=3" "power of two" &&
	refused "preset=mi308x cus=65" "at most 16 each" && refused "preset=mi210 xccs=2" 1..1
}

units() # DEVICE XCCS ENGINES CUS: ids and what the topology adds up
{
	is device_id $(($1)) && is num_xcc $2 && is array_count $(($2 * $3)) && is simd_count $(($2 * $4 * 4))
}
mi308x()
{
	gpu-up fast --vgpu-args preset=mi308x && units 0x74a2 4 4 20 && is gfx_target_version 90402 && is max_waves_per_simd 8 &&
	is num_gws 64 && is num_cp_queues 24 && is cwsr_size $((0xba6000)) && is ctl_stack_size $((0x2000)) &&
	is num_sdma_engines 2 && is num_sdma_xgmi_engines 6
}
rings_pass()
{
	# shellcheck disable=SC2046 # a list
	rings $(seq -f kiq_%g. 0 3) $(seq -f comp_%g. 0 3) sdma0.0 sdma0.1 sdma1.2 sdma1.3 sdma2.0 sdma2.1 sdma3.2 sdma3.3 && clean
}
work() { queues -t userptr_queue_runs_kernel -t unmap_remap_is_exactly_once -t completion_event_wakes_sleeper && clean; }
few_kernel_queues()
{
	gpu-up fast --vgpu-args preset=mi308x --amdgpu-args num_kcq=2 && is num_cp_queues 30 && work && down
}
smaller() # what is given has precedence
{
	gpu-up fast --vgpu-args "preset=mi308x xccs=2 cus=8 vram_mb=256 firmware=" && units 0x74a2 2 4 8 && clean && down
}
slow_connects() # what a real one took for a process's first queue, and for each further process
{
	gpu-up fast --vgpu-args "preset=mi308x connect_ns=160000 connect_next_ns=160000" &&
	grep -qx 160000 /sys/module/vgpu/parameters/connect_ns && work && down
}
of_gfx90a() # PRESET DEVICE: its largest device
{
	gpu-up fast --vgpu-args "preset=$1" && units $2 1 8 104 && clean && down
}
of_8_xccs() # PRESET DEVICE
{
	gpu-up fast --vgpu-args "preset=$1" && units $2 8 4 38 && clean && down
}

name="bad values are refused with the reason"; check bad_values
name="driver probes an MI308X and tells of its units"; check mi308x
name="the rings of all its XCCs and I/O dies pass their tests"; check rings_pass
name="kernels run on its four XCCs and are preempted exactly once"; check work
check_down=$(down 2>&1) || { echo "RESULT 1 unload after MI308X"; echo "$check_down"; }
name="with two kernel queues on each XCC processes have 30"; check few_kernel_queues
name="a given parameter has precedence over the preset"; check smaller
name="kernels run and are preempted when connecting is slow"; check slow_connects
name="driver probes an MI250's device"; check of_gfx90a mi250 0x740c
name="driver probes an MI325X"; check of_8_xccs mi325x 0x74a5
GUEST

boot 9 "$AMDGPU_TEST_KO"

#!/bin/sh
# SPDX-License-Identifier: MIT
# bringup_gfx1100.sh [stock] - the real driver comes up on a gfx1100, which MES schedules; TAP on stdout
#
# One boot of $VM with $AMDGPU_TEST_KO, as bringup_gfx90a.sh; with stock, of the kernel package's own module as it is.

. "$(dirname "$0")/bringup.sh"

if [ "${1:-}" = stock ]; then
	front=verbatim amdgpu=stock
else
	front=fast amdgpu=$AMDGPU_TEST_KO
fi
echo 1..6

guest <<GUEST
front=$front
GUEST
cat >> "$OUT/guest.sh" <<'GUEST'
stat() { sed -n "s/^$1 //p" /sys/kernel/debug/vgpu/stats; }
bad_values()
{
	refused "asic=gfx1100 xccs=2" 1..1 && refused "asic=gfx1100 cus=9" "groups of 2" &&
	refused "asic=gfx1100 cus=6" "at least one" && refused "asic=gfx1100 preset=mi210" "a mi210 is a gfx90a"
}
topology()
{
	is num_xcc 1 && is simd_count 16 && is array_count 4 && is gfx_target_version 110000 && is device_id 29772 &&
	is max_waves_per_simd 16 && is lds_size_in_kb 64 && is wave_front_size 32 && is num_cp_queues 8 && is num_sdma_engines 2
}
up() { gpu-up $front --vgpu-args "asic=gfx1100 vram_mb=64" && topology; }	# little of it: filling it costs time
rings_pass() { rings mes gfx comp sdma && clean; }
self_test() # of the driver: a queue of each type in a process of its own, before there is any other
{
	for type in gfx_1 compute_1 sdma_1; do
		dmesg | grep -q "ring $type.* ib test pass" || { echo "$type:"; dmesg | grep 'ib test'; return 1; }
	done
	[ "$(stat mes_adds) $(stat mes_removes) $(stat mes_failures)" = "3 3 0" ] || { cat /sys/kernel/debug/vgpu/stats; return 1; }
}

name="bad values are refused with the good ones"; check bad_values
dmesg -c > /dev/null
name="driver probes, and tells of a gfx1100"; check up
name="the driver's own test of MES passes"; check self_test
name="all rings pass their tests, graphics among them"; check rings_pass
name="both modules unload and leave nothing"; check down
GUEST

boot 5 "$amdgpu"

#!/bin/sh
# SPDX-License-Identifier: MIT
# module.sh - vgpu.ko alone, without a driver: it loads, its device appears and goes, for both devices and front ends; TAP on stdout
#
# One boot of $VM with $KVER, which may be of a series that has no amdgpu for an Instinct: AMD's driver package brings that. $VGPU_KO is
# built for it.

. "$(dirname "$0")/bringup.sh"

echo 1..7

guest <<'GUEST'
device=/sys/bus/pci/devices/1000:00:00.0

appears() # FRONT ASIC XCCS DEVICE REGISTERS: with its id, its BARs, and a thread that runs
{
	insmod /gpu/vgpu.ko front=$1 asic=$2 xccs=$3 || return 1
	for fact in "vendor 0x1002" "device $4" "class 0x038000"; do
		grep -qx "${fact#* }" "$device/${fact% *}" || { echo "${fact% *}: $(cat "$device/${fact% *}")"; return 1; }
	done
	while read -r nr first last; do
		sed -n "$((nr + 1))p" $device/resource | grep -q "^0x0*$first 0x0*$last " || { cat $device/resource; return 1; }
	done <<-END
		0 100000000 13fffffff
		2 a0000000 a01fffff
		5 a0400000 $5
	END
	grep -q "^runlists 0$" /sys/kernel/debug/vgpu/stats && pidof vgpu_cp && [ "$(grep -c . /sys/kernel/debug/vgpu/cus)" -ge $((8 * $3)) ]
}
goes() { rmmod vgpu && [ ! -e $device ] && [ ! -e /sys/kernel/debug/vgpu ] && ! pidof vgpu_cp; }

for front in intercept kmmio; do
	name="a gfx90a appears and goes, $front"
	there() { appears $front gfx90a 1 0x740f a047ffff && goes; }; check there
	name="a gfx942 with two XCCs appears and goes, $front"
	there() { appears $front gfx942 2 0x74a1 a04fffff && goes; }; check there
	name="a gfx1100 appears and goes, $front"
	there() { appears $front gfx1100 1 0x744c a047ffff && goes; }; check there
done
GUEST

boot 6

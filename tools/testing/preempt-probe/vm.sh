#!/bin/sh
# SPDX-License-Identifier: MIT
#
# vm.sh - preempt-probe on the driver as the kernel's package has it, in the VM: what it says of models with different costs. TAP on stdout
#
# Environment: TOP, BUILD, VM as check gives them. One boot, in which amdgpu is loaded once and takes one device after the other. Touches
# $BUILD/preempt-probe.
set -eu

here=$(dirname "$0")
out=$BUILD/preempt-probe/vm
make -s --no-print-directory -C "$TOP/tools/preempt-probe" O="$BUILD/preempt-probe/static" STATIC=1 >&2
rm -rf "$out"
mkdir -p "$out"
cat >"$out/guest.sh" <<'GUEST'
# What is on the device when the machine code of its waves is interpreted is as little as possible: one compute unit. Its costs are large
# beside what interpreting takes.
device="cus=1 se=1 vram_mb=64"
last=

probe() # NAME PARAMETERS ARGUMENTS: on a device with these parameters
{
	if [ -z "$last" ]; then
		gpu-up verbatim --vgpu-args "$device $2" || exit 1
	else
		echo 1000:00:00.0 >/sys/bus/pci/drivers/amdgpu/unbind
		rmmod vgpu
		insmod /gpu/vgpu.ko front=kmmio $device $2 || exit 1
	fi
	last=$1
	preempt-probe --calls 2 $3 --json /out/$1.json >/out/$1.txt 2>/out/$1.err
	echo $? >/out/$1.status
}

costs="trap_ns=20000000 runlist_ns=10000000"
probe base "$costs" "--series occupancy --series processes"
# While another program has queues: not a call.
preempt-probe --calls 8 --series occupancy >/dev/null 2>&1 &
n=0
while ! ls -d /sys/class/kfd/kfd/proc/*/queues/* >/dev/null 2>&1 && [ $n -lt 500 ]; do
	usleep 10000
	n=$((n + 1))
done
preempt-probe --json /out/beside.json >/out/beside.txt 2>/out/beside.err
echo $? >/out/beside.status
kill $!
wait $! 2>/dev/null
probe save "trap_ns=40000000 runlist_ns=10000000" "--series occupancy"
probe runlist "trap_ns=20000000 runlist_ns=20000000" "--series occupancy"
# A full CU is 596 KiB: 20 ms
probe bytes "trap_ns=0 runlist_ns=10000000 hbm_bytes_per_us=30" "--series occupancy --series registers"
GUEST
"$VM" run --amdgpu stock --vgpu "${VGPU_KO:-$BUILD/vgpu/vgpu.ko}" --icount --timeout 900 --out "$out" --add "$out/guest.sh:/guest.sh" \
	--add "$BUILD/preempt-probe/static/preempt-probe:/bin/preempt-probe" -- sh /guest.sh >&2 || echo "# the VM ended with status $?"
exec "$here/judge.py" "$out"

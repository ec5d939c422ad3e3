#!/bin/sh
# SPDX-License-Identifier: MIT
#
# vm.sh fast|stock - preempt-probe in the VM: what it says of devices whose costs are known. TAP on stdout
#
# fast: the test build, whose scheduler is off; a second device costs twice as much. stock: the amdgpu.ko of the kernel's package.
# Environment: TOP, BUILD, VM as check gives them. Touches $BUILD/preempt-probe.
set -eu

mode=$1
out=$BUILD/preempt-probe/$mode
make -s --no-print-directory -C "$TOP/tools/preempt-probe" O="$BUILD/preempt-probe/static" STATIC=1 >&2
rm -rf "$out"
mkdir -p "$out"
cat >"$out/guest.sh" <<'GUEST'
# The waves are machine code, which is interpreted: one compute unit, and costs that are large beside that. All of its registers are
# half a megabyte, and take as long as the trap handler.
device="cus=1 se=1 vram_mb=64"

probe() # NAME ARGUMENTS
{
	name=$1
	shift
	preempt-probe "$@" --json /out/$name.json >/out/$name.txt 2>/out/$name.err
	echo $? >/out/$name.status
}

# beside: while another program has queues
beside()
{
	preempt-probe --calls 8 --series occupancy >/dev/null 2>&1 &
	n=0
	while ! ls -d /sys/class/kfd/kfd/proc/*/queues/* >/dev/null 2>&1 && [ $n -lt 500 ]; do
		usleep 10000
		n=$((n + 1))
	done
	probe beside
	kill $!
	wait $! 2>/dev/null
	# The driver forgets a process a moment after its end.
	n=0
	while ls -d /sys/class/kfd/kfd/proc/[0-9]* >/dev/null 2>&1 && [ $n -lt 500 ]; do
		usleep 10000
		n=$((n + 1))
	done
}

preempt-probe >/out/absent.txt 2>/out/absent.err
echo $? >/out/absent.status
case $1 in
stock)
	gpu-up verbatim --vgpu-args "$device trap_ns=20000000 runlist_ns=10000000 connect_ns=5000000 hbm_bytes_per_us=27"
	probe base --calls 2 --series occupancy --series registers
	;;
fast)
	gpu-up fast --vgpu-args "$device trap_ns=20000000 runlist_ns=10000000 connect_ns=5000000 hbm_bytes_per_us=27"
	probe base --calls 2 --series occupancy
	beside
	probe again --calls 1 --series shared
	gpu-down
	gpu-up fast --vgpu-args "$device trap_ns=40000000 runlist_ns=20000000 connect_ns=10000000 hbm_bytes_per_us=13"
	probe double --calls 2 --series occupancy
	gpu-down
	gpu-up fast --vgpu-args "$device" --amdgpu-args cwsr_enable=0
	probe unsaved
	;;
esac
GUEST
[ "$mode" = stock ] && amdgpu="--amdgpu stock" || amdgpu="--amdgpu $AMDGPU_TEST_KO"
# shellcheck disable=SC2086 # an option and its argument
"$VM" run $amdgpu --vgpu "${VGPU_KO:-$BUILD/vgpu/vgpu.ko}" --icount --timeout 900 --out "$out" --add "$out/guest.sh:/guest.sh" \
	--add "$BUILD/preempt-probe/static/preempt-probe:/bin/preempt-probe" -- sh /guest.sh "$mode" >&2 || echo "# the VM ended with status $?"
exec "$TOP/tools/testing/preempt-probe/judge.py" "$out"

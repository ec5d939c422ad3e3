#!/bin/sh
# SPDX-License-Identifier: MIT
#
# rocm_vm.sh - today's ROCm of Debian and programs that use its libraries, on the virtual GPU, without scheduling and preempted all the time (TAP)
#
#	rocm_vm.sh			all of it
#	rocm_vm.sh one DEVICE WHAT...	`rocm-guest WHAT...' in a guest; it notes how often the device saved waves
#	rocm_vm.sh sum TIMES		whether that is so often, in all guests together
#
# DEVICE is what the program was compiled for. Libraries of Debian have no kernels for gfx942.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
rocm=$top/tools/testing/vm/rocm.sh
noted=$BUILD/rocm/preemptions

one()
{
	device=$1
	shift
	program=
	[ "$1" = tools ] || program="--add $BUILD/rocm/$device/$1:/run/rocm/$1"
	# shellcheck disable=SC2086 # words; more devices than the one that the caller has are not needed
	VM_GPU=$device "${VM:-$top/tools/testing/vm/vm}" run --gpu fast --icount --timeout 5000 --disk "$("$rocm" --image):/mnt" $program \
		--add "$top/tools/testing/vm/guest_lib.sh:/opt/gpreempt/guest-lib" \
		--add "$here/rocm_guest.sh:/opt/gpreempt/rocm-guest" -- rocm-guest "$@" | tee "$BUILD/rocm/out-$1-$device"
	sed -n 's/^# preempted .*; \([0-9]*\) times in waves.*/\1/p' "$BUILD/rocm/out-$1-$device" >>"$noted"
}

sum()
{
	times=$(awk '{ sum += $1 } END { print sum + 0 }' "$noted")
	echo "# $times preemptions in waves altogether"
	[ "$times" -ge "$1" ] || printf 'not '
	echo "ok 1 - preempted in waves at least $1 times altogether"
	echo 1..1
}

case ${1:-} in
one | sum)
	"$@"
	;;
*)
	mkdir -p "$BUILD/rocm"
	: >"$noted"
	status=0
	"$rocm" --image >"$BUILD/rocm/image" 2>"$BUILD/rocm/err" || status=$?
	if [ $status = 3 ]; then
		echo "1..0 # SKIP $(tail -n 1 "$BUILD/rocm/err")"
		exit 0
	fi
	[ $status = 0 ] || { cat "$BUILD/rocm/err" >&2; exit 1; }
	make -s --no-print-directory -C "$here" BUILD="$BUILD" today >&2
	exec "$top/tools/vgpu/guest/tap" "$0 one gfx90a tools" "$0 one gfx90a primitives 3000" "$0 one gfx90a libraries 3000" \
		"$0 one gfx942 primitives 3000" "$0 sum 10000"
	;;
esac

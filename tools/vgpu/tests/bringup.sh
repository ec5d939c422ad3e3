# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# bringup.sh - shared by the tests in which the real driver comes up on the virtual GPU; they source it
#
# Sets TOP, BUILD, VM, OUT (a folder of the test's own); $AMDGPU_TEST_KO is the caller's. A test says its plan, writes its part of
# the guest's script with "guest", and boots: each "check" in the guest is a result.
set -u

TOP=${TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
BUILD=${BUILD:-$TOP/build}
VM=${VM:-$TOP/tools/vgpu/vm.py}
OUT=$BUILD/suites/$(basename "$0")
export TOP BUILD
mkdir -p "$OUT"

n=0
report() # STATUS NAME [FILE]: a test's result, with FILE as diagnostics if it failed
{
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n $2"
	else
		echo "not ok $n $2"
		[ -z "${3:-}" ] || sed 's/^/# /' "$3"
	fi
}

guest() # the rest of the guest's script, on stdin
{
	cat > "$OUT/guest.sh" <<'GUEST'
# Runs in the guest: one line "RESULT STATUS NAME" per test, anything else is diagnostics
check() { if "$@" > /tmp/why 2>&1; then echo "RESULT 0 $name"; else echo "RESULT 1 $name"; cat /tmp/why; fi; }

refused() # PARAMETERS TEXT: vgpu.ko does not load, and the kernel log says why, with the first parameter
{
	dmesg -c > /dev/null
	# shellcheck disable=SC2086 # a list
	if insmod /gpu/vgpu.ko $1 2> /dev/null; then echo "$1 was accepted"; rmmod vgpu; return 1; fi
	dmesg | grep -qF "$2" || { echo "$1: no message with '$2':"; dmesg; return 1; }
}

node() { grep -lsv '^0$' /sys/class/kfd/kfd/topology/nodes/*/gpu_id | head -n 1 | sed 's,/gpu_id,,'; }
property() { sed -n "s/^$1 //p" "$(node)/properties"; }
is() { [ "$(property $1)" = "$2" ] || { echo "$1 is '$(property $1)', not $2"; return 1; }; }
gone() { [ -z "$(node)" ] && [ ! -e /dev/dri/renderD128 ] && [ ! -e /sys/module/vgpu ] && [ ! -e /sys/module/amdgpu ]; }
down() { gpu-down && gone; }

rings() # NAME...: are there; the driver tests each ring when it starts it, here their indirect buffers
{
	for ring; do
		ls /sys/kernel/debug/dri/*/amdgpu_ring_$ring* > /dev/null || { echo "no $ring ring"; return 1; }
	done
	cat /sys/kernel/debug/dri/0/amdgpu_test_ib > /tmp/ib
	grep -q 'ib ring tests passed' /tmp/ib || { cat /tmp/ib; return 1; }
}
clean() # what the model did not understand, and what the driver complained about
{
	for counter in gpuvm_faults bad_packets bad_records stale_translations irqs_lost; do
		grep -q "^$counter 0$" /sys/kernel/debug/vgpu/stats || { cat /sys/kernel/debug/vgpu/stats; return 1; }
	done
	if dmesg | grep -E 'test failed|\*ERROR\*'; then return 1; fi
}

GUEST
	cat >> "$OUT/guest.sh"
}

# In virtual time: the driver waits 100 ms for a ring that it tests, whatever else this machine does.
boot() # TESTS [AMDGPU]: the guest's results, then whether the log was clean
{
	"$VM" run --icount ${2:+--amdgpu "$2"} --vgpu "${VGPU_KO:-$BUILD/vgpu/vgpu.ko}" --add "$OUT/guest.sh:/guest.sh" --out "$OUT/run" --timeout 600 \
		-- "sh /guest.sh" > "$OUT/guest.out" 2> "$OUT/guest.err"
	status=$?
	seen=0
	while read -r word rest; do
		if [ "$word" = RESULT ]; then
			seen=$((seen + 1))
			report "${rest%% *}" "${rest#* }"
		else
			echo "# $word $rest"
		fi
	done < "$OUT/guest.out"
	while [ $seen -lt "$1" ]; do
		seen=$((seen + 1))
		report 1 "test $seen of $1 was reached" "$OUT/guest.err"
	done
	report $status "the kernel log is clean" "$OUT/guest.err"
}

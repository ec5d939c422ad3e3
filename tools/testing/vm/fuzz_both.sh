#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fuzz_both.sh - random calls on both devices and files, with and without the hardware scheduler, as many as wanted (TAP)
#
# FUZZ_COMMANDS=10000000 for so many altogether, by turns with and without it, each time in a fresh guest: a run goes on where the last one with this
# SEED ended.

calls=${FUZZ_COMMANDS:-200000} seed=${SEED:-1} part=100000
cache=${GPREEMPT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kfd_gpreempt}/fuzz
mkdir -p "$cache"
state=$cache/vm-$seed
nr=0
[ -z "${FUZZ_COMMANDS:-}" ] || nr=$(cat "$state" 2>/dev/null || echo 0)
echo "TAP version 13"
echo "1..1"
while [ $((nr * part)) -lt "$calls" ]; do
	policy=$((nr % 2 * 2))
	of_part=$((seed * 1000000 + nr))
	# In the host's time: processes really meet.
	if ! "$VM" run --gpu fast --amdgpu-args "sched_policy=$policy" --timeout 2600 -- "fuzz $part $of_part && gpu-down" >"$BUILD/fuzz-both.log" 2>&1; then
		sed 's/^/# /' "$BUILD/fuzz-both.log"
		echo "# SEED=$seed, part $nr: fuzz $part $of_part, sched_policy=$policy"
		echo "not ok 1 users_of_both_devices_do_no_harm"
		exit 1
	fi
	nr=$((nr + 1))
	echo "$nr" >"$state"
done
echo "# SEED=$seed: $((nr * part)) calls in $nr guests"
echo "ok 1 users_of_both_devices_do_no_harm"

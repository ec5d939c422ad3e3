#!/bin/sh
# SPDX-License-Identifier: MIT
#
# chaos_seeds.sh - run chaos with several seeds, each in a VM of its own (TAP: a test is a seed)
#
#	SEEDS='3 17' SECONDS_EACH=600 tools/testing/vm/chaos_seeds.sh DEFAULT_SEEDS [VM OPTION...]
#
# For suites: wants $VM and $BUILD, and leaves kernel logs in $BUILD/chaos/SEED. SEEDS and SECONDS_EACH (of virtual time, default 600) replace
# what a suite says. A seed that fails prints how to run it again.

seeds=${SEEDS:-$1}
seconds=${SECONDS_EACH:-600}
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
n=0 failed=0
for seed in $seeds; do
	n=$((n + 1))
	"$VM" run --icount "$@" --timeout 2400 --out "$BUILD/chaos/$seed" -- chaos "$seconds" "$seed" 1000 > "$log" 2>&1
	status=$?
	if [ $status = 0 ]; then
		grep "^# seed $seed: \|^# items: " "$log"
		echo "ok $n - seed_$seed"
	else
		sed 's/^\(not ok\|ok\) /# \1 /; s/^[^#]/# &/' "$log"
		echo "# exit status $status; again: tools/testing/vm/vm run --icount $* -- chaos $seconds $seed 1000"
		echo "not ok $n - seed_$seed"
		failed=1
	fi
done
echo "1..$n"
exit $failed

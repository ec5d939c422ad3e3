#!/bin/bash
# SPDX-License-Identifier: MIT
#
# slurm-two.sh - jobs of Debian's Slurm with steps on two machines: two VMs with a virtual GPU each and a cable between them, the driver and the
# plugin of our package in both. TAP
#
# The first machine, one, has slurmctld and prints the tests. The second, two, has a slurmd. It is killed on the way, and boots again. Time is
# counted instructions (--icount), so that a slow host does not lock a kernel up. Each machine counts its own, and two takes its clock from one.
# shellcheck source=tools/testing/integrations/slurm_system.sh
. "$(dirname "$0")/slurm_system.sh"

qemu-system-x86_64 -netdev help 2>/dev/null | grep -qx dgram ||
	{ echo "1..0 # SKIP this QEMU has no network between two machines (-netdev dgram): 7.2 has"; exit 0; }
slurm_system "$@"
# Nothing here is about how soon Slurm sees that a machine is slow: emulated ones are.
slurm_conf "SlurmctldHost=one(10.0.0.1)" "SlurmdTimeout=65000" "MessageTimeout=1000" "TCPTimeout=600" "BatchStartTimeout=3000" "KillWait=5" \
	"UnkillableStepTimeout=3000" "NodeName=one NodeAddr=10.0.0.1 CPUs=2 State=UNKNOWN" "NodeName=two NodeAddr=10.0.0.2 CPUs=2 State=UNKNOWN" \
	"PartitionName=day Nodes=one,two Default=YES OverSubscribe=FORCE:4"
echo "required spank_gpreempt.so" >"$root/etc/slurm/plugstack.conf"
printf '127.0.0.1 localhost\n10.0.0.1 one\n10.0.0.2 two\n' >"$root/etc/hosts"
slurm_tar

# machine NAME OTHER: one run of it
machine()
{
	slurm_vm --net "$scratch/cable.$1:$scratch/cable.$2" --icount --vgpu-args cus=4 --timeout 2400 \
		--add "$TOP/tools/testing/integrations/slurm_two_guest.sh:opt/gpreempt/slurm-two-guest" -- slurm-two-guest "$1"
}

# A killed machine has no result, which is 99. It stays dead for the test that is about this. Otherwise it ends when it finds machine one gone.
two()
{
	machine two one >"$scratch/two.first" 2>&1
	echo $? >"$scratch/two.first.status"
	[ "$(cat "$scratch/two.first.status")" = 99 ] || return
	until grep -q 'ok [0-9]* - a killed machine' "$scratch/one"; do
		sleep 1
	done
	machine two one >"$scratch/two.second" 2>&1
	echo $? >"$scratch/two.second.status"
}

# shellcheck disable=SC2317 # tap calls it
two_was_well()
{
	cat "$scratch"/two.first "$scratch"/two.second
	is "status of machine two, killed" "$(cat "$scratch/two.first.status")" 99
	has "$scratch/two.first" "the guest ended without a result"
	not grep "kernel log:" "$scratch/two.first"
	is "status of machine two, booted again" "$(cat "$scratch/two.second.status")" 0
}

# When this script ends, so does whatever it has started: it is the first process of its namespace (throwaway.sh).
two &
second=$!
machine one two | grep --line-buffered -v '^1\.\.' | tee "$scratch/one"
status=${PIPESTATUS[0]}
[ "$status" = 0 ] || { sed 's/^/machine two: /' "$scratch"/two.first >&2; echo "Bail out! machine one ended with status $status"; exit 1; }
wait $second
count=$(grep -cE '^(not )?ok ' "$scratch/one")
# shellcheck disable=SC2034 # tap.sh's
failed=$(grep -c '^not ok ' "$scratch/one")
tap "machine two was killed once, and its kernel had no complaint" two_was_well
echo "1..$count"
finish

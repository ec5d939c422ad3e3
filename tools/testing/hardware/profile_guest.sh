#!/bin/sh
# SPDX-License-Identifier: MIT
#
# profile_guest.sh - in the VM: hides what only a virtual GPU has, and runs the profile as its owner would, with the arguments of this; what became of
# it goes to /out: refused, interrupted, tap, status, parameters.*, report.*

profile=/opt/tests/hardware
# None of the other tests of this guest is to be found.
PATH=/bin:/sbin:/usr/bin:/usr/sbin

mount -t tmpfs none /sys/kernel/debug/vgpu
mount -t tmpfs none /sys/module/vgpu/parameters

parameters()
{
	for file in /sys/module/amdgpu/parameters/gpreempt_*; do
		echo "$file $(cat "$file")"
	done
}

wait_for()
{
	left=1000
	while ! "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.02
	done
}

there_is_a_user()
{
	ls -d /sys/class/kfd/kfd/proc/[0-9]* >/dev/null 2>&1
}

nobody_is_there()
{
	! there_is_a_user
}

# Not what it would leave behind without giving back
echo 7 >/sys/module/amdgpu/parameters/gpreempt_interval_ms
echo wfq >/sys/module/amdgpu/parameters/gpreempt_policy
echo 1 >/sys/module/amdgpu/parameters/gpreempt_enable
parameters >/out/parameters.before

# Somebody who holds /dev/kfd open
sleep 1000 3<>/dev/kfd &
user=$!
wait_for there_is_a_user
$profile --report /out/none --no-hip >/out/refused
kill $user
wait $user 2>/dev/null
wait_for nobody_is_there

$profile --report /out/interrupted --no-hip --run 'preempt -t preempted_queue_stands_still' >/out/interrupted.tap 2>&1 &
profile_pid=$!
wait_for there_is_a_user
kill -TERM $profile_pid
wait $profile_pid
echo $? >/out/interrupted.status
wait_for nobody_is_there
parameters >/out/parameters.interrupted

$profile --report /out/report "$@" >/out/tap 2>/out/stderr
echo $? >/out/status
parameters >/out/parameters.after

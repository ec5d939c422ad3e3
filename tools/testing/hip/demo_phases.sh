#!/bin/sh
# SPDX-License-Identifier: MIT
#
# demo_phases.sh - in the VM: the phases of the demonstration with HIP programs, or with a language model
#
#	phases <requests> nice|class hip|llm
#
# As demo-phases: inference alone, training beside it with scheduling off, the same with scheduling on; prints what they print with the phase's
# name in front, and the scheduler's numbers. The overhead budget is off. Both programs run from the first phase to the last, because HIP takes longer to start than a
# phase does; training waits while it is not wanted.
set -eu

pids=''
requests=$1
by=$2
programs=$3
sysfs=$(echo /sys/class/kfd/kfd/gpreempt/*)

# command_of PROGRAM
command_of()
{
	case $programs:$1 in
	llm:inference) echo "enter /mnt python3 /run/rocm/llm_inference.py /run/rocm/tiny.gguf" ;;
	llm:training) echo "enter /mnt /run/rocm/blas_training" ;;
	*) echo "hip_$1" ;;
	esac
}

# start PROGRAM NICE CLASS: with pipes to and from it; "ready" is the first that it says
start()
{
	mkfifo "/tmp/$1.in" "/tmp/$1.out"
	command=$(command_of "$1")
	# shellcheck disable=SC2086 # words
	if [ "$by" = class ]; then
		gpreemptctl run --class "$3" -- $command <"/tmp/$1.in" >"/tmp/$1.out" 2>"/tmp/$1.err" &
	else
		$command <"/tmp/$1.in" >"/tmp/$1.out" 2>"/tmp/$1.err" &
		[ "$2" = 0 ] || renice -n "$2" -p $! >/dev/null
	fi
	pids="$pids $!"
}

failed()
{
	cat /tmp/inference.err /tmp/training.err >&2
	echo "$1" >&2
	exit 1
}

# pass_on FD WORD: what comes from there, with the phase's name in front, as far as a line that begins with WORD
pass_on()
{
	while IFS= read -r line <&"$1"; do
		echo "$phase $line"
		case $line in
		"$2"*) return ;;
		esac
	done
	failed "a program ended too soon"
}

# The monitor's CPU time in ns
monitor_ns()
{
	cut -d' ' -f1 "/proc/$(cat "$sysfs/monitor_pid")/schedstat" 2>/dev/null || echo 0
}

# run PHASE TRAINING ENABLE
run()
{
	phase=$1
	echo "$3" >/sys/module/amdgpu/parameters/gpreempt_enable
	if [ "$2" = 1 ]; then
		echo begin >&5
		pass_on 6 going
	fi
	preemptions=$(cat "$sysfs/preemptions")
	resumes=$(cat "$sysfs/resumes")
	failures=$(cat "$sysfs/failures")
	cpu=$(monitor_ns)
	begin=$(cut -d' ' -f1 /proc/uptime | tr -d .)
	echo "$requests" >&3
	pass_on 4 inference
	elapsed=$(($(cut -d' ' -f1 /proc/uptime | tr -d .) - begin))
	cpu=$(($(monitor_ns) - cpu))
	if [ "$2" = 1 ]; then
		echo end >&5
		pass_on 6 training
	fi
	echo "$phase scheduler elapsed_us=$((elapsed * 10000)) preemptions=$(($(cat "$sysfs/preemptions") - preemptions))" \
		"resumes=$(($(cat "$sysfs/resumes") - resumes)) failures=$(($(cat "$sysfs/failures") - failures)) monitor_us=$((cpu / 1000))"
}

# khugepaged moves pages that HIP has pinned for the device: the driver takes all of their process's queues off meanwhile, whoever schedules,
# and its loops take a CPU that the virtual GPU needs: 400 ms, once in three runs.
echo never >/sys/kernel/mm/transparent_hugepage/enabled
# A preemption takes the 9 to 16 ms that the interpreter needs to leave, and to come back is taken to cost as much again: of 250 ms about the
# budget's 10 %, so that now and then a request would rightly wait for it.
echo 0 >/sys/module/amdgpu/parameters/gpreempt_overhead_pct
# One of them prepares the system on the disk, not both at the same time.
[ "$programs" != llm ] || enter /mnt true
start inference 0 latency
start training 10 batch
exec 3>/tmp/inference.in 4</tmp/inference.out 5>/tmp/training.in 6</tmp/training.out
phase=alone
pass_on 4 ready
pass_on 6 ready
run alone 0 0
run off 1 0
run on 1 1
echo 0 >/sys/module/amdgpu/parameters/gpreempt_enable
exec 3>&- 5>&-
for pid in $pids; do
	wait "$pid" || failed "a program failed"
done

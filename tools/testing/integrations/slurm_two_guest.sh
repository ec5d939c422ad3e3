#!/bin/sh
# SPDX-License-Identifier: MIT
#
# slurm_two_guest.sh one|two - a machine of a cluster of two (runs in the guest). One has slurmctld and prints TAP; two does what it is told as
# long as there is one
#
# Expects a GPU and eth0.

# shellcheck source=tools/testing/integrations/slurm_guest_lib.sh
. /opt/gpreempt/slurm-guest-lib

me=$1
# In tenths of a second of this machine's, which an idle one spends faster than a busy one.
patience=6000

network()
{
	hostname "$me"
	case $me in
	one)
		ip address add 10.0.0.1/24 dev eth0
		nc -ll -p 37 -e date +%s &
		;;
	two) ip address add 10.0.0.2/24 dev eth0 ;;
	esac
	ip link set eth0 up
}

# Credentials are good for five minutes of one clock.
take_time()
{
	now=$(nc 10.0.0.1 37 </dev/null) && [ -n "$now" ] && date -s "@$now" >/dev/null
}

if [ "$me" = two ]; then
	network
	soon take_time || exit
	while usleep 500000; do
		take_time
	done 2>/dev/null &
	# slurmd asks slurmctld again until it is there.
	unpack && inside runuser -u munge -- munged && inside slurmd || exit
	while ping -c 5 -W 20 10.0.0.1 >/dev/null; do
		usleep 1000000
	done
	exit 0
fi

on()		# machine, command: runs there
{
	where=$1
	shift
	case $where in
	one) inside "$@" ;;
	two) inside srun -Q -w two -n1 "$@" ;;
	esac
}

on_both()	# test with a machine as its argument...: names the machine where it fails
{
	for machine in one two; do
		"$@" "$machine" || { echo "machine $machine: $*"; on "$machine" gpreemptctl list; return 1; }
	done
}

idle()
{
	[ "$(inside sinfo -h -p day -o %T,%D)" = idle,2 ]
}

# What gpreemptctl says there of queues of the training: PRIORITY SOURCE STATE PLACE, with the last word of the line for the place
queues_on()	# machine
{
	on "$1" gpreemptctl list | awk '$2 == "training" { sub(/\(.*/, "", $5); print $5, $6, $7, $NF }' | sort
}

have()		# priority and source of all queues of the training, machine
{
	[ "$(queues_on "$2" | cut -d' ' -f1,2)" = "$1" ]
}

# Of the Slurm job whose number is in $id
preempted_on()	# machine
{
	queues_on "$1" | grep -q "preempted slurm:$id\.0\$"
}

no_queue_of()	# Slurm job, machine
{
	! queues_on "$2" | grep " slurm:$1\."
}

no_queue_on()	# machine
{
	[ -z "$(queues_on "$1")" ]
}

cgroups_on()	# machine
{
	on "$1" find /sys/fs/cgroup/kfd_gpreempt -mindepth 1 -type d 2>/dev/null
}

no_cgroup_of()	# Slurm job, machine
{
	! cgroups_on "$2" | grep "/job_${1}_"
}

# On two the command that looks is a step of its own, of normal priority, and has none.
no_cgroup_on()	# machine
{
	[ -z "$(cgroups_on "$1")" ]
}

nothing_left()
{
	soon on_both no_queue_on && soon on_both no_cgroup_on
}

preemptions_on()	# machine
{
	on "$1" sh -c "cat /sys/class/kfd/kfd/gpreempt/*/preemptions" | awk '{ sum += $1 } END { print sum }'
}

# Tasks of a job that have begun, by what they have written
ready()		# file, number
{
	[ "$(grep -c 'ready ' "$1")" = "$2" ]
}

# batch NAME TASKS OPTION...: a job whose one step is so many tasks of the training on two machines; its number is $id, what it writes
# $system/tmp/NAME
batch()
{
	name=$1 tasks=$2
	shift 2
	# They are the step's: the script itself has no queue.
	printf '#!/bin/sh\nexec srun -l %s training 300\n' "$*" >$system/tmp/"$name".sh
	rm -f $system/tmp/"$name"
	id=$(inside sbatch --parsable --requeue --open-mode=truncate -N2 -o /tmp/"$name" /tmp/"$name".sh) || return 1
	soon ready $system/tmp/"$name" "$tasks"
}

state()		# Slurm job: what Slurm calls it
{
	inside scontrol -o show job "$1" | sed -n 's/.* JobState=\([A-Z_]*\).*/\1/p'
}

is_over()	# Slurm job
{
	case $(state "$1") in
	COMPLETED|'') ;;
	*) state "$1"; return 1 ;;
	esac
}

# ends NAME NUMBER TASKS: the training of that job is told to end, on all machines
ends()
{
	inside scancel -s TERM "$2" && soon is_over "$2" && whole $system/tmp/"$1" "$3"
}

starts()
{
	network && unpack && inside runuser -u munge -- munged && inside slurmctld && inside slurmd && soon idle
}

both_have_the_class()
{
	batch low 2 --gpu-priority=batch || return 1
	on_both have "-100 cgroup"
	status=$?
	ends low "$id" 2 && nothing_left && return $status
}

# Members and jobs
members_on()	# machine
{
	on "$1" gpreemptctl job list | awk '$3 == "training" { n++; jobs[$1] } END { for (j in jobs) k++; print n + 0, k + 0 }'
}

one_job_of_two()	# machine
{
	[ "$(members_on "$1")" = "2 1" ] || { members_on "$1"; on "$1" gpreemptctl job list; return 1; }
}

no_member_on()	# machine
{
	[ "$(members_on "$1")" = "0 0" ]
}

both_have_the_job()
{
	batch low 4 --gpu-priority=batch --gpu-job=leave --ntasks-per-node=2 -n4 -O || return 1
	on_both one_job_of_two
	status=$?
	ends low "$id" 4 && on_both no_member_on && nothing_left && return $status
}

# The requests come while the other job fills both devices.
one_job_preempts_the_other_on_both()
{
	before_one=$(preemptions_on one) before_two=$(preemptions_on two)
	batch low 2 --gpu-priority=batch || return 1
	inside srun -N2 --gpu-priority=latency inference 10 >/tmp/inference 2>&1
	ends low "$id" 2 && whole /tmp/inference 2 || return 1
	after_one=$(preemptions_on one) after_two=$(preemptions_on two)
	echo "preemptions on machine one: $before_one, then $after_one; on machine two: $before_two, then $after_two"
	[ $((after_one - before_one)) -ge 10 ] && [ $((after_two - before_two)) -ge 10 ] && nothing_left
}

# low_below_high: $low and $high are two jobs on both machines, of which the first is off the devices because of the second
low_below_high()
{
	batch low 2 --gpu-priority=batch --gpu-job=leave || return 1
	low=$id
	batch high 2 --gpu-priority=latency || return 1
	high=$id
	id=$low
	soon on_both preempted_on
}

requeue_leaves_nothing_held()
{
	low_below_high || return 1
	inside scontrol requeue "$low" || return 1
	soon on_both no_queue_of "$low" && soon on_both no_cgroup_of "$low" && on_both no_member_on || return 1
	on_both have "100 cgroup" || return 1
	# Slurm lets a job that is queued again wait for two minutes.
	rm -f $system/tmp/low
	inside scontrol update jobid="$low" starttime=now
	ends high "$high" 2 && soon ready $system/tmp/low 2 && on_both have "-100 cgroup" && ends low "$low" 2 && nothing_left
}

requeue_of_the_upper_one_lets_the_lower_one_go()
{
	low_below_high || return 1
	inside scontrol requeuehold "$high" || return 1
	soon on_both no_queue_of "$high" && soon on_both no_cgroup_of "$high" || return 1
	id=$low
	on_both runs_on || return 1
	inside scancel "$high" && ends low "$low" 2 && nothing_left
}

runs_on()	# machine: the queue of $id is not off the device because of another one
{
	soon not_preempted_on "$1"
}

not_preempted_on()
{
	queues_on "$1" | grep " slurm:$id\.0\$" | grep -v preempted
}

is_dead()
{
	! ping -c 3 10.0.0.2
}

# Nothing of two ends in peace: its kernel stops in the middle. It boots again when the test that wants this has ended (slurm-two.sh).
kill_two()
{
	inside srun -Q -w two -n1 sh -c 'echo b >/proc/sysrq-trigger' >/dev/null 2>&1 &
	killer=$!
	soon is_dead || return 1
	kill $killer
	inside scontrol update nodename=two state=down reason=killed
}

lower_one_is_preempted()
{
	queues_on one | grep '^-100 cgroup preempted'
}

# A job on both is above one of one: two dies, Slurm ends the job on one as well, and queues it again.
killed_machine_leaves_nothing_held()
{
	inside srun -w one -N1 --gpu-priority=batch training 300 >/tmp/training 2>&1 &
	srun=$!
	soon ready /tmp/training 1 || { cat /tmp/training; return 1; }
	batch high 2 --gpu-priority=latency --gpu-job=leave || return 1
	high=$id
	soon lower_one_is_preempted || return 1
	rm -f $system/tmp/high
	kill_two || return 1
	soon no_queue_of "$high" one && soon no_cgroup_of "$high" one && no_member_on one || return 1
	soon have_and_run "-100 cgroup" || { queues_on one; return 1; }
	kill -TERM "$(sed -n 's/^ready \([0-9]*\) .*/\1/p' /tmp/training)"
	wait $srun
	whole /tmp/training 1 && soon no_queue_on one && soon no_cgroup_on one
}

have_and_run()
{
	have "$1" one && ! queues_on one | grep preempted
}

# What was queued again has both machines when the second is back.
machine_comes_back()
{
	soon inside scontrol update jobid="$high" starttime=now
	soon ready $system/tmp/high 2 || { inside sinfo; inside scontrol show job "$high"; return 1; }
	on_both have "100 cgroup" && ends high "$high" 2 && nothing_left
}

tap "munge, slurmctld and a slurmd on each of two machines run beside the driver" starts
tap "a job with a step on both machines has its class on both, and it goes with the job" both_have_the_class
tap "it is a job of the scheduler's on each machine, which ends with it" both_have_the_job
tap "a job on both preempts another one on both at each request, and all do all of their work once" one_job_preempts_the_other_on_both
tap "a job that is queued again while it is preempted leaves nothing held on either machine, and does its work then" requeue_leaves_nothing_held
tap "a job that is queued again gives both devices back to the job below it" requeue_of_the_upper_one_lets_the_lower_one_go
tap "a killed machine leaves nothing held on the other one" killed_machine_leaves_nothing_held
tap "when it is back, the job that it took along has both machines again" machine_comes_back
echo "1..$n"

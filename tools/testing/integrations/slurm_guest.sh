#!/bin/sh
# SPDX-License-Identifier: MIT
#
# slurm_guest.sh - jobs of Debian's Slurm and a container on the scheduler itself: what their queues get, and who goes first (runs in the guest; TAP)
#
# Expects a GPU.

# shellcheck source=tools/testing/integrations/slurm_guest_lib.sh
. /opt/gpreempt/slurm-guest-lib

idle()
{
	[ "$(inside sinfo -h -p day -o %T)" = idle ]
}

preemptions()
{
	cat /sys/class/kfd/kfd/gpreempt/*/preemptions | awk '{ sum += $1 } END { print sum }'
}

# What gpreemptctl says of the queues of a program: "PRIORITY SOURCE", a line each
queues_of()
{
	inside gpreemptctl list | awk -v name="$1" '$2 == name { sub(/\(.*/, "", $5); print $5, $6 }'
}

has()		# program, what
{
	[ "$(queues_of "$1")" = "$2" ] || { echo "queues of $1: $(queues_of "$1")"; inside gpreemptctl list; return 1; }
}

nobody()
{
	[ -z "$(queues_of "$1")" ]
}

no_cgroup()
{
	[ -z "$(find /sys/fs/cgroup/kfd_gpreempt -mindepth 1 -type d 2>/dev/null)" ]
}

trains()	# option...: srun of the training in the background
{
	inside srun "$@" training 60 >/tmp/training 2>&1 &
	srun=$!
	soon grep -q ^ready /tmp/training || { cat /tmp/training; return 1; }
}

ends()		# number of tasks, or one
{
	sed -n 's/^ready \([0-9]*\) .*/\1/p' /tmp/training | xargs kill -TERM
	wait "$srun"
	whole /tmp/training "${1:-1}"
}

ready()		# number
{
	[ "$(grep -c ^ready /tmp/training)" = "$1" ]
}

# Queues of jobs, as gpreemptctl has them: "NUMBER JOBS", all of programs named so
members_of()
{
	inside gpreemptctl job list | awk -v name="$1" '$3 == name { n++; jobs[$1] } END { for (j in jobs) k++; print n + 0, k + 0 }'
}

no_member()
{
	[ "$(members_of training)" = "0 0" ]
}

starts()
{
	hostname node
	# An address that is not the loopback's: without one, getaddrinfo(AI_ADDRCONFIG) knows no address to listen on.
	ip address add 10.0.0.1/32 dev lo
	unpack && inside runuser -u munge -- munged && inside slurmctld && inside slurmd && soon idle
}

a_job_has_what_srun_was_told()
{
	trains --gpu-priority=latency || return 1
	has training "100 cgroup"
	status=$?
	ends && soon nobody training && soon no_cgroup && return $status
}

without_the_option_it_has_what_it_always_had()
{
	trains || return 1
	has training "7 kfd"
	status=$?
	ends && soon nobody training && return $status
}

# The latency job's requests come while the batch job fills the device.
a_latency_job_preempts_a_batch_job()
{
	before=$(preemptions)
	trains --gpu-priority=batch || return 1
	inside srun --gpu-priority=latency inference 10 >/tmp/inference 2>&1
	status=$?
	has training "-100 cgroup" || status=1
	ends || status=1
	cat /tmp/inference
	whole /tmp/inference 1 || status=1
	after=$(preemptions)
	echo "preemptions: $before, then $after"
	[ $((after - before)) -ge 10 ] || status=1
	soon no_cgroup && return $status
}

# Two jobs of one class do not.
equals_do_not()
{
	before=$(preemptions)
	trains --gpu-priority=batch || return 1
	inside srun --gpu-priority=batch inference 3 >/tmp/inference 2>&1
	status=$?
	ends || status=1
	whole /tmp/inference 1 || status=1
	after=$(preemptions)
	echo "preemptions: $before, then $after"
	[ "$after" = "$before" ] || status=1
	return $status
}

# Two steps are two jobs; the cgroup that has the id of each goes with its step.
a_step_is_a_job()
{
	trains -n2 -O --gpu-job=leave && soon ready 2 || return 1
	[ "$(members_of training)" = "2 1" ] || { echo "one step: $(members_of training) are members and jobs"; inside gpreemptctl job list; return 1; }
	inside srun --gpu-job=stay --gpu-priority=latency training 60 >/tmp/another 2>&1 &
	another=$!
	soon grep -q ^ready /tmp/another
	status=$?
	[ "$(members_of training)" = "3 2" ] || { echo "two steps: $(members_of training) are members and jobs"; inside gpreemptctl job list; status=1; }
	kill -TERM "$(sed -n 's/^ready \([0-9]*\) .*/\1/p' /tmp/another)"
	wait $another
	whole /tmp/another 1 || status=1
	ends 2 && soon no_member && soon no_cgroup && return $status
}

without_the_option_a_step_is_no_job()
{
	trains -n2 -O --gpu-priority=latency && soon ready 2 || return 1
	no_member
	status=$?
	inside gpreemptctl job list
	ends 2 && soon nobody training && soon no_cgroup && return $status
}

# The state of the training's queue, and why
is()		# state
{
	inside gpreemptctl list | awk '$2 == "training" { print $7 }' | grep -qx "$1"
}

# scontrol stops the job's processes, and no more.
a_suspended_job_leaves_the_device()
{
	echo 1 >/sys/module/amdgpu/parameters/gpreempt_follow_stop
	trains || return 1
	job=$(inside squeue -h -o %i)
	inside scontrol suspend "$job" && soon is preempted && inside gpreemptctl why | grep "its process is stopped"
	status=$?
	inside gpreemptctl list
	inside scontrol resume "$job" && soon is active || status=1
	ends && soon nobody training || status=1
	echo 0 >/sys/module/amdgpu/parameters/gpreempt_follow_stop
	return $status
}

# The account lags behind, so its last moment may not be in the comment.
a_job_says_what_it_has_used()
{
	echo 1 >/sys/module/amdgpu/parameters/gpreempt_account
	sed -i 's/$/ account=admincomment/' $system/etc/slurm/plugstack.conf
	trains || return 1
	job=$(inside squeue -h -o %i)
	usleep 2000000
	ends
	status=$?
	sed -i 's/ account=admincomment$//' $system/etc/slurm/plugstack.conf
	comment=$(inside scontrol show job "$job" | sed -n 's/.*AdminComment=//p')
	echo "job $job: $comment"
	us=$(echo "$comment" | sed -n 's/^gpreempt:node:busy=\([0-9]*\)\.\([0-9]\{6\}\),waiting=.*,waves=[1-9].*/\1\2/p')
	inside gpreemptctl account cgroup
	[ "$us" -ge 1000000 ] && inside gpreemptctl account cgroup --csv |
		awk -F, -v us="$us" 'NR > 1 && $12 == 0 && $13 / 1000 >= us + 0 && $13 / 1000 <= us + 100000 { n++ } END { exit n != 1 }' &&
		soon nobody training && soon no_cgroup && return $status
}

# Groups with this share, as gpreemptctl has them
groups_with()	# weight, minimum, maximum
{
	inside gpreemptctl share list | awk -v share="$1 $2 $3" '$5 " " $6 " " $7 == share { n++ } END { print n + 0 }'
}

groups_are()	# number, share
{
	[ "$(groups_with "$2" "$3" "$4")" = "$1" ]
}

a_step_has_a_share()
{
	trains --gpu-share-weight=300 --gpu-share-min=20 --gpu-share-max=15000/50000 || return 1
	soon groups_are 1 300 20 15000/50000
	status=$?
	inside gpreemptctl share list
	ends && soon nobody training && soon no_cgroup && soon groups_are 0 300 20 15000/50000 && return $status
}

podman()	# argument...
{
	inside podman --storage-driver=vfs --runtime=crun "$@"
}

container_is_ready()
{
	podman logs trainer >/tmp/training 2>&1 && grep -q "^ready" /tmp/training
}

# Pausing has ended when podman ends: what it took off is off by then.
a_paused_container_leaves_the_device()
{
	echo 1 >/sys/module/amdgpu/parameters/gpreempt_follow_stop
	for d in dev etc opt proc run sys tmp; do
		mkdir -p $system/container/$d
	done
	podman run --detach --privileged --ulimit host --name trainer --cgroup-parent /containers --annotation kfd-gpreempt/share-weight=200 \
		--annotation run.oci.hooks.stderr=/tmp/hook.log -v /opt/gpreempt:/opt/gpreempt -v /sys/kernel/debug:/sys/kernel/debug \
		--rootfs /container /opt/gpreempt/training 60 && soon container_is_ready && soon is active || { cat $system/tmp/hook.log; podman logs trainer; return 1; }
	status=0
	for turn in 1 2 3; do
		podman pause trainer && is preempted && inside gpreemptctl why | grep "its process is stopped" && podman unpause trainer && soon is active || status=1
	done
	inside gpreemptctl list
	soon groups_are 1 200 0 none || status=1
	podman kill --signal TERM trainer && podman wait trainer && podman logs trainer >/tmp/training 2>&1 && whole /tmp/training 1 || status=1
	podman rm -f trainer && soon nobody training && soon groups_are 0 200 0 none || status=1
	echo 0 >/sys/module/amdgpu/parameters/gpreempt_follow_stop
	return $status
}

beyond_the_ceiling_nothing_runs()
{
	! inside srun -p night --gpu-priority=latency touch /tmp/ran >$out 2>&1 || return 1
	cat $out
	grep -q "100 is more than what partition night" $out && [ ! -e $system/tmp/ran ] && nobody touch
}

echo 1 >/sys/module/amdgpu/parameters/gpreempt_enable 2>/dev/null
tap "munge, slurmctld and slurmd run beside the driver" starts
tap "srun --gpu-priority=latency is what gpreemptctl lists for the job's queue, and goes with the job" a_job_has_what_srun_was_told
tap "without the option a job has what it always had" without_the_option_it_has_what_it_always_had
tap "a latency job preempts a batch job at each request, and both do all of their work once" a_latency_job_preempts_a_batch_job
tap "jobs of one class do not preempt each other" equals_do_not
tap "srun --gpu-job makes one job of a step's tasks, which ends with the step" a_step_is_a_job
tap "without the option a step's tasks are no job" without_the_option_a_step_is_no_job
tap "srun --gpu-share-weight, -min and -max are what gpreemptctl lists as a share, and go with the step" a_step_has_a_share
tap "scontrol suspend takes a job off the device with gpreempt_follow_stop, and scontrol resume brings it back" a_suspended_job_leaves_the_device
tap "with account=admincomment a job says what its step has used of the GPU, as the account has it" a_job_says_what_it_has_used
tap "podman pause takes a container off the device with gpreempt_follow_stop, unpause brings it back, and all of its work is done once" a_paused_container_leaves_the_device
tap "beyond the partition's ceiling a job is refused with the reason" beyond_the_ceiling_nothing_runs
echo "1..$n"

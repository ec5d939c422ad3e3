#!/bin/sh
# SPDX-License-Identifier: MIT
#
# slurm_guest.sh - jobs of Debian's Slurm on the scheduler itself: what their queues get, and who goes first (runs in the guest; TAP)
#
# Expects a GPU, and /slurm/system.tar: a Debian system with Slurm, munge, our plugin and gpreemptctl in it (slurm-vm.sh makes it).

n=0
system=/system
out=/tmp/out
sysfs=/sys/class/kfd/kfd/gpreempt

tap()		# name, function: its output is shown when it fails
{
	n=$((n + 1))
	if "$2" >/tmp/log 2>&1; then
		echo "ok $n - $1"
	else
		sed 's/^/# /' /tmp/log
		tail -n 5 $system/var/log/slurm*.log | sed 's/^/# /'
		echo "not ok $n - $1"
	fi
}

inside()	# command: there
{
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin:/opt/gpreempt HOME=/root LC_ALL=C chroot $system "$@" </dev/null
}

soon()		# command: becomes true within 30 s of guest time
{
	i=0
	until "$@" >$out.last 2>&1; do
		i=$((i + 1))
		[ $i -lt 300 ] || { echo "never true: $*"; cat $out.last; return 1; }
		usleep 100000
	done
}

idle()
{
	[ "$(inside sinfo -h -p day -o %T)" = idle ]
}

preemptions()
{
	cat $sysfs/*/preemptions | awk '{ sum += $1 } END { print sum }'
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

whole()		# file: each item of the work was done once
{
	grep -q ' lost=0 twice=0 ' "$1" || { cat "$1"; return 1; }
}

trains()	# option...: srun of the training in the background
{
	inside srun "$@" training 60 >/tmp/training 2>&1 &
	srun=$!
	soon grep -q ^ready /tmp/training || { cat /tmp/training; return 1; }
}

ends()
{
	kill -TERM "$(sed -n 's/^ready \([0-9]*\) .*/\1/p' /tmp/training)"
	wait "$srun"
	whole /tmp/training
}

starts()
{
	mkdir -p $system && tar -C $system -xf /slurm/system.tar || return 1
	hostname node
	# An address that is not the loopback's: without one, getaddrinfo(AI_ADDRCONFIG) knows no address to listen on.
	ip address add 10.0.0.1/32 dev lo
	mkdir -p $system/proc $system/sys $system/dev $system/opt/gpreempt $system/run/munge $system/var/spool/slurmctld $system/var/spool/slurmd
	for d in proc sys dev dev/pts dev/shm sys/fs/cgroup opt/gpreempt; do
		mount -o bind /$d $system/$d || return 1
	done
	inside chown munge:munge /run/munge
	chmod 755 $system/run/munge
	inside runuser -u munge -- munged && inside slurmctld && inside slurmd && soon idle
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
	whole /tmp/inference || status=1
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
	whole /tmp/inference || status=1
	after=$(preemptions)
	echo "preemptions: $before, then $after"
	[ "$after" = "$before" ] || status=1
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
tap "beyond the partition's ceiling a job is refused with the reason" beyond_the_ceiling_nothing_runs
echo "1..$n"

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# refusals.sh - who asks Slurm for too much fails alone: slurmctld, slurmd and munge of one release of
# Debian on one machine, in a throw-away system, with the plugin built there. TAP on stdout
#
# Usage: refusals.sh [RELEASE]; without one, this machine's. Debian 12 has Slurm 22.05, 13 has 24.11,
# sid 26.05. device.c beside this stands for the module. No node is ever resumed by hand.
codename=${1:-}
case $codename in
[0-9]*)
	like=$(mktemp)
	printf '%s\n' ID=debian "VERSION_ID=$codename" >"$like"
	codename=$(OS_RELEASE=$like "$(dirname "$0")/../../../dkms/release.sh" codename) || exit 1
	rm "$like"
	;;
esac
# shellcheck source=tools/testing/integrations/slurm_system.sh
. "$(dirname "$0")/slurm_system.sh"

throwaway "slurmctld slurmd slurm-client munge libslurm-dev libjson-c-dev gcc libc6-dev make procps" "$@"

out=$scratch/out
node=$(hostname -s)
cgroups=$root/sys/fs/cgroup
plugin=/opt/built/spank_gpreempt.so
plugstack="all=-500..500 partition:night=-500..batch share:any=max=30"
forged="_SLURM_SPANK_OPTION_gpreempt_gpu"

prepare()
{
	mkdir -p "$root/opt/tree" "$cgroups" "$root/sys/devices" "$root/var/spool/"{slurmctld,slurmd} "$root/run/munge" "$root/etc/slurm"
	cp -r "$TOP"/{integrations,include,lib} "$root/opt/tree/"
	in_root make -s -C /opt/tree/integrations O=/opt/built CFLAGS="-O2 -g -Werror" "$plugin"
	gcc -O2 -Wall -Wextra -Werror -shared -fPIC -I"$TOP/include/uapi" -I"$TOP/integrations/common" -I"$TOP/lib" -o "$root/opt/device.so" \
		"$TOP/tools/testing/integrations/device.c" "$TOP/integrations/common/place.c" "$TOP/lib/parse.c" "$TOP/lib/gpreempt.c" -ldl
	echo /opt/device.so >"$root/etc/ld.so.preload"
	mount -t cgroup2 cgroup2 "$cgroups"
	mount --bind /sys/devices "$root/sys/devices"
	slurm_conf "SlurmctldHost=$node(127.0.0.1)" "SlurmctldPort=27817" "SlurmdPort=27818" \
		"CommunicationParameters=NoCtldInAddrAny,NoInAddrAny" "SlurmctldPidFile=/run/slurmctld.pid" "SlurmdPidFile=/run/slurmd.pid" \
		"NodeName=$node NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN" \
		"PartitionName=night Nodes=$node Default=YES OverSubscribe=FORCE:4" "PartitionName=day Nodes=$node OverSubscribe=FORCE:4"
	# 22.05 has no word for no cgroups at all.
	if in_root slurmd -V | grep -q ' 22\.'; then
		echo "CgroupPlugin=cgroup/v1"
	else
		echo "CgroupPlugin=disabled"
	fi >"$root/etc/slurm/cgroup.conf"
	printf '127.0.0.1 localhost %s\n' "$node" >"$root/etc/hosts"
	in_root chown munge:munge /run/munge
	in_root useradd -m op
	echo "required $plugin $plugstack" >"$root/etc/slurm/plugstack.conf"
}

is_idle()
{
	[ "$(in_root sinfo -h -p night -o '%T %E')" = "idle none" ]
}

restart_slurmd()
{
	kill "$(cat "$root/run/slurmd.pid")" 2>/dev/null && wait_for 60 not test -e "$root/run/slurmd.pid"
	: >"$root/var/log/slurmd.log"
	in_root slurmd || { tail -n 20 "$root/var/log/slurmd.log"; return 1; }
	wait_for 60 is_idle
}

start()
{
	in_root runuser -u munge -- /usr/sbin/munged
	in_root slurmctld || { tail -n 20 "$root/var/log/slurmctld.log"; return 1; }
	restart_slurmd
}

stop()
{
	local name pid

	for name in slurmd slurmctld munge/munged; do
		pid=$(cat "$root/run/$name.pid" 2>/dev/null) && kill "$pid" 2>/dev/null
	done
	find "$cgroups/kfd_gpreempt" -depth -type d -exec rmdir {} + 2>/dev/null
	umount -l "$cgroups" "$root/sys/devices" 2>/dev/null
	:
}

state_of()
{
	in_root scontrol -o show job "$1" | grep -oE 'JobState=[A-Z_]*' | cut -d= -f2
}

ended()
{
	! state_of "$1" | grep -qE 'PENDING|RUNNING|CONFIGURING|COMPLETING'
}

# becomes STATE ARGUMENTS...: a batch job of a user's; what it says is in $out, and the node is as it was
becomes()
{
	local wanted=$1 id

	shift
	rm -f "$root/home/op/out" "$root/home/op/ran"
	id=$(in_root runuser -u op -- env HOME=/home/op "${environment[@]}" sbatch -D /home/op --parsable -o /home/op/out "$@" --wrap "touch /home/op/ran")
	wait_for 60 ended "$id"
	cat "$root/home/op/out" >"$out" 2>/dev/null || :
	is "$*" "$(state_of "$id") $([ ! -e "$root/home/op/ran" ] || echo ran)" "$wanted $([ "$wanted" != COMPLETED ] || echo ran)"
	wait_for 20 is_idle
}

environment=()

# fails REASON ARGUMENTS...: alone, and says why; what asks for nothing runs, then and later
fails()
{
	local reason=$1

	shift
	becomes FAILED "$@" || { cat "$out"; return 1; }
	has "$out" "$reason"
	becomes COMPLETED
}

too_much()
{
	fails "--gpu-priority: 100 is more than what partition night allows: -500 to -100" --gpu-priority=latency
	fails "--gpu-priority: -501 is less than what partition night" --gpu-priority=-501
	fails "--gpu-share-weight, -min or -max: max=6200/20000 is more than the administrator allows" --gpu-share-max=31
	fails "--gpu-follow-stop: never is not what the administrator allows" --gpu-follow-stop=never
	becomes COMPLETED --gpu-priority=batch
	becomes COMPLETED -p day --gpu-priority=latency
	becomes COMPLETED --gpu-share-max=30 --gpu-job=leave
}

# A user writes what sbatch would have written, past its check.
forged_options()
{
	local option

	for option in "-priority=urgent" "-job=yes" "-share-weight=0" "-follow-stop=1"; do
		environment=("${forged}${option//-/_}")
		becomes FAILED || { environment=(); return 1; }
		has "$out" "gpreempt: --gpu${option%%=*}"
		environment=()
		becomes COMPLETED
	done
}

# srun's own job: the last that there was
last_state()
{
	in_root scontrol -o show job | tail -n 1 | grep -oE 'JobState=[A-Z_]*' | cut -d= -f2
}

by_srun()
{
	rm -f "$root/home/op/ran"
	! in_root runuser -u op -- timeout 60 srun --chdir=/home/op --gpu-priority=latency touch ran >"$out" 2>&1 || { cat "$out"; return 1; }
	has "$out" "--gpu-priority: 100 is more than what partition night"
	is "its job" "$(last_state)" FAILED
	! in_root runuser -u op -- timeout 60 srun --chdir=/home/op -n2 -O --gpu-share-max=31 touch ran >"$out" 2>&1 || { cat "$out"; return 1; }
	has "$out" "max=6200/20000 is more than the administrator allows"
	[ ! -e "$root/home/op/ran" ]
	is_idle
	in_root runuser -u op -- timeout 60 srun --chdir=/home/op touch ran
	[ -e "$root/home/op/ran" ]
}

# Only the kernel knows: 127 groups have a share.
too_late()
{
	echo 28 >"$root/tmp/gpreempt-device.share-errno"
	becomes FAILED --gpu-share-weight=50 || return 1
	rm "$root/tmp/gpreempt-device.share-errno"
	has "$out" "127 groups have a share"
}

without_the_module()
{
	rm "$root/etc/ld.so.preload"
	fails "--gpu-priority: this node has no amdgpu with kfd_gpreempt" --gpu-priority=batch &&
		fails "--gpu-share-weight, -min or -max: this node has no" --gpu-share-weight=5 &&
		fails "--gpu-follow-stop: this node has no" --gpu-follow-stop=always &&
		fails "--gpu-job: this node has no" --gpu-job=leave || return 1
	echo /opt/device.so >"$root/etc/ld.so.preload"
}

# The device is root's: nobody is in its group, as where /dev/kfd is for all.
outside_the_group()
{
	: >"$root/tmp/gpreempt-device.root"
	becomes COMPLETED --gpu-priority=batch --gpu-share-weight=50 --gpu-job=leave || return 1
	rm "$root/tmp/gpreempt-device.root"
}

mistakes()
{
	echo "required $plugin $plugstack partitoin:night=batch..latency" >"$root/etc/slurm/plugstack.conf"
	restart_slurmd
	has "$root/var/log/slurmd.log" "plugstack.conf: partitoin:night=batch..latency: not all=, partition:NAME="
	: >"$root/var/log/slurmd.log"
	becomes COMPLETED
	becomes COMPLETED --gpu-priority=batch
	not grep "partitoin" "$root/var/log/slurmd.log"
	fails "plugstack.conf has a word that says nothing: partitoin:night" -p day --gpu-priority=latency
	echo "required $plugin $plugstack" >"$root/etc/slurm/plugstack.conf"
}

# What the job's cgroup has been given, as "PRIORITY"
given()
{
	sed -n 's|^/kfd_gpreempt/job_[0-9]* ||p' "$root/tmp/gpreempt-device" | tail -n 1
}

optional()
{
	echo "optional $plugin $plugstack" >"$root/etc/slurm/plugstack.conf"
	: >"$root/tmp/gpreempt-device"
	: >"$root/tmp/gpreempt-device.shares"
	becomes COMPLETED --gpu-priority=latency --gpu-share-max=90 || return 1
	is "its job's priority" "$(given)" -100
	is "its job's share" "$(sed 's|^/kfd_gpreempt/job_[0-9]* ||' "$root/tmp/gpreempt-device.shares" | sort -u)" "100 0 6000/20000"
	echo "required $plugin $plugstack" >"$root/etc/slurm/plugstack.conf"
}

plan 10
must "the plugin is built without warnings for this release's Slurm" prepare
trap 'stop; umount -l "$root/ccache" "$root/proc" "$root/dev" "$root" "$scratch/throwaway"; rm -rf "$scratch"' EXIT
must "munge, slurmctld and slurmd run with the plugin" start
tap "who asks for too much fails alone, with the reason in the job's output" too_much
tap "what sbatch would not have taken drains no node either" forged_options
tap "srun says why on stderr, and starts nothing" by_srun
tap "what only the kernel refuses ends the job alone" too_late
tap "without the module who asks fails alone, and others run" without_the_module
tap "where the device is root's alone, jobs have what they ask for" outside_the_group
tap "mistakes in plugstack.conf are told at load, and no job fails by them" mistakes
tap "with \"optional\" who asks for too much runs within the bounds" optional
finish

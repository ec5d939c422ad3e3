#!/bin/bash
# SPDX-License-Identifier: MIT
#
# view.sh - whose queues gpreemptctl says there are, with address and undefined-behaviour sanitizers: jobs, containers, pods, Slurm steps, users,
# pids, devices, slots, on a made-up machine. TAP on stdout
#
# Builds into $BUILD/gpreemptctl-view.
. "$(dirname "$0")/lib.sh"

here=$TOP/tools/testing/gpreemptctl
built=$BUILD/gpreemptctl-view
export MACHINE=$scratch/machine
sanitizers="-g -O1 -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"

id=4f2a0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab
other=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
uid=1b4e28ba-2fa1-11d2-883f-0016d3cca427
slice_uid=1b4e28ba_2fa1_11d2_883f_0016d3cca427
static_uid=9f86d081884c7d659a2feaa0c55ad015

# shellcheck disable=SC2086 # words
builds_without_warnings()
{
	build_ctl "$built" sanitized
	gcc $sanitizers -D_GNU_SOURCE -I"$TOP/tools/gpreemptctl" -o "$built/origins" "$here/origins.c" "$TOP/tools/gpreemptctl/origin.c"
	build_machine $sanitizers
	gcc $sanitizers -o "$built/view" "$scratch/machine.o" "$built"/*.o $wrap -ljson-c -lncurses -ltinfo -lsmartcols
	gcc -O2 -Wall -Wextra -Werror -o "$built/terminal" "$here/terminal.c" -lutil
}

# ---- cgroups ----

# fill: ids for their short names
fill()
{
	sed "s/@I/$id/g; s/@O/$other/g; s/@P/$uid/g; s/@U/$slice_uid/g; s/@S/$static_uid/g"
}

# says: lines "PATH -> WORDS" of stdin; each path is said in these words
says()
{
	fill >"$scratch/table"
	sed 's/ -> .*//' "$scratch/table" | "$built/origins" paths | sed 's/ |.*//' >"$scratch/said"
	sed 's/ -> .*//' "$scratch/table" | paste -d '>' - "$scratch/said" | sed 's/>/ -> /' >"$scratch/out"
	diff -u "$scratch/table" "$scratch/out"
}

cgroups_name_containers()
{
	says <<-'END'
		/docker/@I -> docker:4f2a01234567
		/system.slice/docker-@I.scope -> docker:4f2a01234567
		/system.slice/docker-@I.scope/init.scope -> docker:4f2a01234567
		/batch.slice/docker-@I.scope -> docker:4f2a01234567
		/user.slice/user-1000.slice/user@1000.service/user.slice/docker-@I.scope -> docker:4f2a01234567
		/system.slice:docker:@I -> docker:4f2a01234567
		/machine.slice/libpod-@I.scope -> podman:4f2a01234567
		/machine.slice/libpod-@I.scope/container -> podman:4f2a01234567
		/machine.slice/libpod-@I.scope/container/train -> podman:4f2a01234567
		/machine.slice/machine-libpod_pod_@O.slice/libpod-@I.scope/container -> podman:4f2a01234567
		/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-@I.scope/container -> podman:4f2a01234567
		/system.slice/chat.service/libpod-payload-@I -> podman:4f2a01234567
		/libpod_parent/libpod-@I -> podman:4f2a01234567
		/libpod_parent/@O/libpod-@I -> podman:4f2a01234567
		/system.slice/nerdctl-@I.scope -> containerd:4f2a01234567
		/system.slice/docker-@I.scope (deleted) -> docker:4f2a01234567
		/../docker-@I.scope -> docker:4f2a01234567
		/../../system.slice/docker-@I.scope -> docker:4f2a01234567
	END
}

cgroups_name_pods()
{
	says <<-'END'
		/kubepods/besteffort/pod@P/@I -> pod:1b4e28ba,containerd:4f2a01234567
		/kubepods/burstable/pod@P/@I -> pod:1b4e28ba,containerd:4f2a01234567
		/kubepods/pod@P/@I -> pod:1b4e28ba,containerd:4f2a01234567
		/kubepods/pod@S/@I -> pod:9f86d081,containerd:4f2a01234567
		/kubepods/besteffort/pod@P/crio-@I -> pod:1b4e28ba,crio:4f2a01234567
		/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod@U.slice/cri-containerd-@I.scope -> pod:1b4e28ba,containerd:4f2a01234567
		/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod@U.slice/crio-@I.scope -> pod:1b4e28ba,crio:4f2a01234567
		/kubepods.slice/kubepods-pod@U.slice/crio-@I.scope/container -> pod:1b4e28ba,crio:4f2a01234567
		/kubepods.slice/kubepods-pod@U.slice/docker-@I.scope -> pod:1b4e28ba,docker:4f2a01234567
		/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod@S.slice/cri-containerd-@I.scope -> pod:9f86d081,containerd:4f2a01234567
		/system.slice/containerd.service/kubepods-burstable-pod@U.slice:cri-containerd:@I -> pod:1b4e28ba,containerd:4f2a01234567
		/system.slice/crio.service/kubepods-pod@U.slice:crio:@I -> pod:1b4e28ba,crio:4f2a01234567
		/kubepods.slice/kubepods-pod@U.slice -> pod:1b4e28ba
		/k8s.io/kubepods/pod@P/@I -> pod:1b4e28ba,containerd:4f2a01234567
	END
}

cgroups_name_slurm_steps()
{
	says <<-'END'
		/slurm/uid_1000/job_1234/step_0/task_0 -> slurm:1234.0
		/slurm/uid_1000/job_1234/step_batch -> slurm:1234.batch
		/slurm/uid_1000/job_1234/step_extern/task_special -> slurm:1234.extern
		/slurm/uid_1000/job_1234/step_interactive -> slurm:1234.interactive
		/slurm/uid_1000/job_1234 -> slurm:1234
		/slurm_node7/uid_1000/job_1234/step_2 -> slurm:1234.2
		/system.slice/slurmstepd.scope/job_1234/step_0/user/task_0 -> slurm:1234.0
		/system.slice/slurmstepd.scope/job_1234/step_extern/user/task_special -> slurm:1234.extern
		/system.slice/node7_slurmstepd.scope/job_1234/step_3/user/task_0 -> slurm:1234.3
		/system.slice/slurmstepd.scope/job_12/step_0/user/task_0/libpod-@I.scope -> slurm:12.0,podman:4f2a01234567
		/kfd_gpreempt/job_1234_step_0 -> slurm:1234.0
		/kfd_gpreempt/job_1234_step_12/libpod-@I.scope -> slurm:1234.12,podman:4f2a01234567
		/kfd_gpreempt/job_1234/step_12 -> slurm:1234.12
		/kfd_gpreempt/job_1234/step_12/libpod-@I.scope -> slurm:1234.12,podman:4f2a01234567
		/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user/task_0 -> slurm:sEKNKTV3WPV500.0
		/system.slice/node7_slurmstepd.scope/sEKNKTV3WPV500/step_extern/user/task_special -> slurm:sEKNKTV3WPV500.extern
		/system.slice/slurmstepd.scope/sEKNKTV3WPV500 -> slurm:sEKNKTV3WPV500
		/batch.slice/slurmstepd.scope/sEKNKTV3WPV500/step_batch/user -> slurm:sEKNKTV3WPV500.batch
		/system.slice/slurmstepd.scope/s0123456789ABC/step_1/user/task_0/apptainer-77.scope -> slurm:s0123456789ABC.1,apptainer:77
	END
}

# Other managers' containers and jobs, by the names that they document or show in reports
cgroups_name_what_others_run()
{
	says <<-'END'
		/lxc.payload.web-1 -> lxc:web-1
		/lxc.payload.web-1/system.slice/nginx.service -> lxc:web-1
		/lxc.payload/example/init.scope -> lxc:example
		/lxc/101/ns/init.scope -> lxc:101
		/user.slice/user-1000.slice/user@1000.service/app.slice/lxc.payload.mine -> lxc:mine
		/pbs_jobs.service/jobid/2404743.opbs -> pbs:2404743.opbs
		/pbs_jobs.service/jobs/12345.pbs -> pbs:12345.pbs
		/pbspro.service/jobid/16.centos7/sub -> pbs:16.centos7
		/pbspro.slice/pbspro-16.centos7.slice -> pbs:16.centos7
		/pbspro/0.headnode -> pbs:0.headnode
		/htcondor/condor_var_lib_condor_execute_slot1 -> htcondor:slot1
		/system.slice/htcondor/condor_var_lib_condor_execute_slot1_23@node7.example -> htcondor:slot1_23@node7.example
		/system.slice/condor.service/condor_scratch_slot1@node7 -> htcondor:scratch_slot1@node7
		/user.slice/user-990.slice/user@990.service/app.slice/imp-shell-0-f2tFhKQUnK.service -> flux:f2tFhKQUnK
		/user.slice/user-990.slice/user@990.service/app.slice/shell-12-f2tFhKQUnK.service -> flux:f2tFhKQUnK
		/system.slice/apptainer-4242.scope -> apptainer:4242
		/user.slice/user-1000.slice/user@1000.service/user.slice/apptainer-4242.scope -> apptainer:4242
		/apptainer/4242 -> apptainer:4242
		/singularity/4242 -> singularity:4242
		/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod@U.slice/cri-containerd-@I.scope -> pod:1b4e28ba,containerd:4f2a01234567
		/kubelet/kubepods/burstable/pod@P/@I -> pod:1b4e28ba,containerd:4f2a01234567
		/docker/@O/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod@U.slice/cri-containerd-@I.scope -> docker:001122334455
		/user.slice/user-1001.slice/user@1001.service/k3s-rootless.service/kubepods/pod@P/@I -> pod:1b4e28ba,containerd:4f2a01234567
		/system.slice/k3s.service/kubepods-burstable-pod@U.slice:cri-containerd:@I -> pod:1b4e28ba,containerd:4f2a01234567
		/k8s.io/kubepods/besteffort/pod@P/@I -> pod:1b4e28ba,containerd:4f2a01234567
	END
}

# A process says which number its SLUID stands for.
a_sluid_has_the_number_that_its_processes_say()
{
	busy_machine
	process 4001 "" 65001 train '0::/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user/task_0'
	printf 'A=1\0SLURM_JOB_ID=1234\0SLURM_JOB_ID=9\0' >"$MACHINE/proc/4001/environ"
	process 4002 "" 65001 train '0::/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user/task_1'
	printf 'SLURM_JOB_ID="}\0' >"$MACHINE/proc/4002/environ"
	# Anyone may have the variable: without the path it says nothing.
	process 5000 "" 65001 train '0::/user.slice'
	printf 'SLURM_JOB_ID=1234\0' >"$MACHINE/proc/5000/environ"
	view list --json
	is "places" "$(python3 -c 'import json, sys
print(sorted((q["pid"], q.get("slurm_job", "-")) for q in json.load(open(sys.argv[1]))["queues"] if q["pid"] in (4001, 4002, 5000)))' "$scratch/out")" \
		"[(4001, '1234'), (4001, '1234'), (4002, 'sEKNKTV3WPV500'), (5000, '-')]"
}

# What is in a container is made by those who are in it.
the_outermost_container_counts()
{
	says <<-'END'
		/docker/@I/docker/@O -> docker:4f2a01234567
		/system.slice/docker-@I.scope/kubelet.slice/kubelet-kubepods-pod@U.slice/cri-containerd-@O.scope -> docker:4f2a01234567
		/system.slice/docker-@I.scope/system.slice/slurmstepd.scope/job_1/step_0 -> docker:4f2a01234567
		/kubepods.slice/kubepods-pod@U.slice/crio-@I.scope/kubepods.slice/kubepods-pod@S.slice/crio-@O.scope -> pod:1b4e28ba,crio:4f2a01234567
	END
}

other_cgroups_are_none_of_them()
{
	says <<-'END'
		/ -> -
		 -> -
		// -> -
		:: -> -
		/:: -> -
		relative -> -
		/init.scope -> -
		/user.slice/user-1000.slice/session-3.scope -> -
		/system.slice/docker.service -> -
		/system.slice/containerd.service -> -
		/docker -> -
		/docker/ -> -
		/docker/buildkit/@I -> -
		/docker/4f2a01234567 -> -
		/docker/@Iab -> -
		/docker/@I.slice -> -
		/@I -> -
		/machine.slice/libpod-conmon-@I.scope -> -
		/kubepods.slice/kubepods-besteffort.slice/crio-conmon-@I.scope -> -
		/machine.slice/libpod-@Iab.scope -> -
		/machine.slice/libpod-.scope -> -
		/machine.slice/LIBPOD-@I.scope -> -
		/system.slice/docker-4F2A0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab.scope -> -
		/system.slice/docker-"}4567890123456789abcdef0123456789abcdef0123456789abcdef012345678.scope -> -
		/kubepods/pod -> -
		/kubepods/podx/@I -> -
		/kubepods/pod1b4e28ba-2fa1-11d2-883f-0016d3cca42/@I -> -
		/kubepods/pod1b4e28ba.2fa1-11d2-883f-0016d3cca427 -> -
		/pod@P -> -
		/kubepods-podx.slice -> -
		/kubepods-pod.slice -> -
		/kubepods.slice -> -
		/a:b:c -> -
		/a:b:@O@I -> -
		/@I:@I -> -
		/slurm -> -
		/slurm/uid_1000 -> -
		/slurm/uid_1000/job_ -> -
		/slurm/uid_1000/job_12x4/step_0 -> -
		/slurm/uid_1000/job_1234567890123456 -> -
		/user.slice/user-1000.slice/user@1000.service/slurmstepd.scope/job_1/step_0 -> -
		/user.slice/slurm/uid_0/job_1/step_0 -> -
		/system.slice/slurmd.service -> -
		/kfd_gpreempt -> -
		/kfd_gpreempt/job_1234 -> -
		/kfd_gpreempt/job__step_1 -> -
		/kfd_gpreempt/job_1_step_ -> -
		/kfd_gpreempt/job_1x_step_1 -> -
		/user.slice/kfd_gpreempt/job_1_step_1 -> -
		/system.slice/slurmstepd.scope/system -> -
		/system.slice/slurmstepd.scope/sEKNKTV3WPV50/step_0 -> -
		/system.slice/slurmstepd.scope/seknktv3wpv500/step_0 -> -
		/user.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0 -> -
		/system.slice/slurmd.service/sEKNKTV3WPV500/step_0 -> -
		/kfd_gpreempt/job_1234/step_ -> -
		/kfd_gpreempt/job_/step_1 -> -
		/kfd_gpreempt/x/job_1/step_1 -> -
		/lxc -> -
		/lxc.monitor.web-1 -> -
		/lxc.monitor/example -> -
		/lxc.payload. -> -
		/lxc.payload."} -> -
		/user.slice/lxc/mine -> -
		/user.slice/pbs_jobs.service/jobid/1 -> -
		/pbs_jobs.service/jobid -> -
		/pbs_jobs.service/other/1 -> -
		/system.slice/condor.service -> -
		/user.slice/condor_slot1 -> -
		/system.slice/imp-shell-0-f2tFhKQUnK.service -> -
		/system.slice/apptainer-.scope -> -
		/system.slice/apptainer-1.service -> -
		/user.slice/apptainer/7 -> -
		/k3s -> -
		/slurm/uid_1000/job_5/step_"} -> slurm:5
	END
}

# hierarchies TEXT...: what lines of a process's cgroups say
hierarchies()
{
	printf '%s\n' "$@" | fill | "$built/origins" lines | sed 's/ |.*//'
}

any_hierarchy_says_it()
{
	is "version 1" "$(hierarchies 12:pids:/docker/@I 3:memory:/docker/@I 1:name=systemd:/docker/@I)" docker:4f2a01234567
	is "hybrid" "$(hierarchies 9:devices:/user.slice 1:name=systemd:/system.slice/docker-@I.scope 0::/system.slice/docker-@I.scope)" docker:4f2a01234567
	is "version 2" "$(hierarchies 0::/system.slice/docker-@I.scope)" docker:4f2a01234567
	is "some hierarchies only" "$(hierarchies 4:freezer:/slurm/uid_0/job_7/step_1 3:memory:/ 1:name=systemd:/system.slice/slurmd.service 0::/)" slurm:7.1
	is "job in one, container in another" "$(hierarchies 4:cpuset:/slurm/uid_0/job_7/step_1 0::/docker/@I)" slurm:7.1,docker:4f2a01234567
	# The first one counts: what belongs together is of one hierarchy.
	is "two" "$(hierarchies 4:cpuset:/docker/@I 0::/kubepods/pod@P/@O)" docker:4f2a01234567
	is "a controller's name with a colon in the path" "$(hierarchies '0::/a:b/docker/@I')" docker:4f2a01234567
	is "no cgroups" "$(hierarchies '')" -
	is "bad lines" "$(hierarchies x 0: 1:2 ::: "$(printf '\001\377')")" -
}

ids_are_kept_whole()
{
	echo "/kubepods.slice/kubepods-pod@U.slice/crio-@I.scope" | fill | "$built/origins" paths >"$scratch/out"
	is "all of it" "$(cat "$scratch/out")" "pod:1b4e28ba,crio:4f2a01234567 | crio $id $uid  "
	echo "/slurm/uid_0/job_123456789012345/step_interactive/libpod-@I" | fill | "$built/origins" paths >"$scratch/out"
	is "the longest" "$(cat "$scratch/out")" "slurm:123456789012345.interactive,podman:4f2a01234567 | podman $id  123456789012345 interactive"
}

# Parts of real paths in any order, and bytes of any kind: the sanitizers have nothing to say.
any_text_is_read()
{
	python3 - "$id" "$slice_uid" <<-'END' >"$scratch/any"
		import random, sys
		random.seed(26)
		parts = ["/", "docker", "-", sys.argv[1], "kubepods", "pod", sys.argv[2], ".slice", ".scope", ":", "slurm", "job_", "step_", "7", "crio", "libpod-",
			 "cri-containerd-", " (deleted)", "system.slice", "lxc.payload.", "/lxc", "pbs_jobs.service/jobid", "htcondor/condor_", "execute_", "app.slice/", "shell-", ".service", "apptainer-", "kfd_gpreempt", "sEKNKTV3WPV500", "slurmstepd.scope", "..", "batch", "payload-", "\x7f"]
		for _ in range(20000):
		    print("".join(random.choice(parts) for _ in range(random.randrange(12))))
	END
	head -c 200000 /dev/urandom | tr '\0' x >>"$scratch/any"
	"$built/origins" paths <"$scratch/any" >"$scratch/out"
	"$built/origins" lines <"$scratch/any" >"$scratch/out"
	"$built/origins" status <"$scratch/any" >"$scratch/out"
}

# status_says WANTED TEXT: what is read from a process's status
status_says()
{
	is "$2" "$(printf '%b' "$2" | "$built/origins" status)" "$1"
}

pids_are_those_of_the_innermost_namespace()
{
	status_says "uid 1001 nspid 17" "Name:\tserve\nUid:\t1000\t1001\t0\t0\nNStgid:\t3934101\t17\nNSpid:\t3934101\t17\n"
	status_says "uid 0 nspid 3" "Name:\tserve\nUid:\t0\t0\t0\t0\nNSpid:\t3934101\t157868\t3\n"
	status_says "uid 0 nspid 0" "Name:\tserve\nUid:\t0\t0\t0\t0\nNSpid:\t3934101\n"
	# A kernel without namespaces or before 4.1, and what is no such file
	status_says "uid 0 nspid 0" "Name:\tserve\nUid:\t0\t0\t0\t0\nNSsid:\t1\n"
	status_says "uid -1 nspid 0" "Name:\tUid:\t7\t7\n"
	status_says "uid -1 nspid 0" "Uid:\n\nUid:\nNSpid:\n"
	status_says "uid -1 nspid 0" "\nNSpid:"
	status_says "uid -1 nspid 0" "\nNSpid:\t\t\nUid:\tx\ty\n"
	status_says "uid -1 nspid 0" ""
	# Behind as many groups as a process may have
	status_says "uid 5 nspid 9" "Name:\tserve\nUid:\t5\t5\nGroups:\t$(seq -s ' ' 20000)\nNSpid:\t3934101\t9\n"
}

# ---- a machine ----

# node NUMBER GPU_ID BDF PROPERTIES [ACTIVE]: of KFD's, and how many queues want slots
node()
{
	local kfd=$MACHINE/sys/class/kfd/kfd

	mkdir -p "$kfd/topology/nodes/$1"
	echo "$2" >"$kfd/topology/nodes/$1/gpu_id"
	echo "$4" | tr ' =' '\n ' >"$kfd/topology/nodes/$1/properties"
	[ "$2" != 0 ] || return 0
	mkdir -p "$kfd/gpreempt/$2" "$MACHINE/sys/bus/pci/devices/$3"
	[ -z "${5:-}" ] || echo "$5" >"$kfd/gpreempt/$2/active_queues"
}

# pci BDF FILE TEXT: a file of a PCI device
pci()
{
	echo "$3" >"$MACHINE/sys/bus/pci/devices/$1/$2"
}

# process PID NSPIDS UID COMMAND CGROUPS: one that runs
process()
{
	mkdir -p "$MACHINE/proc/$1"
	echo "$4" >"$MACHINE/proc/$1/comm"
	printf 'Name:\t%s\nUid:\t%s\t%s\t%s\t%s\nNSpid:\t%s\n' "$4" "$3" "$3" "$3" "$3" "$(echo "$1 $2" | tr ' ' '\t')" | sed 's/\t$//' >"$MACHINE/proc/$1/status"
	echo "$5" | fill >"$MACHINE/proc/$1/cgroup"
}

# queue PID GPU QUEUE CONTEXT STATE PRIORITY PENDING PREEMPTIONS OFF_US JOB VERDICT [RING]: one that the scheduler has, with a ring of so many bytes
queue()
{
	local folder=$MACHINE/sys/class/kfd/kfd/proc/$1/queues/$3

	echo "${@:1:11}" >>"$MACHINE/queues"
	[ -n "${12:-}" ] || return 0
	mkdir -p "$folder"
	echo "$2" >"$folder/gpuid"
	echo "${12}" >"$folder/size"
}

new_machine()
{
	rm -rf "$MACHINE"
	mkdir -p "$MACHINE/proc/self/ns" "$MACHINE/usr/share/libdrm"
	ln -s 'pid:[4026531836]' "$MACHINE/proc/self/ns/pid"
	: >"$MACHINE/queues"
	printf '# device_id,\trevision_id,\tproduct_name\n\n1.0.0\n740C,\t01,\tAMD Instinct MI250X / MI250\n740F,\t02,\tAMD Instinct MI210\n' \
		>"$MACHINE/usr/share/libdrm/amdgpu.ids"
}

# Two GPUs; a server in a container, a Slurm step of two processes, a pod, a process without all of that that has just ended
busy_machine()
{
	new_machine
	node 0 0 - "simd_count=0"
	node 1 51234 0000:c1:00.0 "location_id=49408 domain=0 num_cp_queues=24 gfx_target_version=90010" 26
	node 2 51235 0000:c6:00.0 "location_id=50688 domain=0 num_cp_queues=24 gfx_target_version=90402" 2
	pci 0000:c1:00.0 device 0x740f
	pci 0000:c1:00.0 revision 0x02
	process 3934101 157868 0 serve '0::/system.slice/docker-@I.scope'
	process 4001 "" 65001 train '0::/system.slice/slurmstepd.scope/job_1234/step_0/user/task_0'
	process 4002 "" 65001 train '0::/system.slice/slurmstepd.scope/job_1234/step_0/user/task_1'
	process 6000 "17 3" 65002 infer '0::/kubepods.slice/kubepods-pod@U.slice/cri-containerd-@O.scope'
	queue 3934101 51234 0 1 active 100 3 0 0 7 1 1048576
	queue 3934101 51234 1 1 idle 100 0 0 0 7 2 4096
	queue 4001 51234 0 1 preempted -100 5 21 4100500 7 32 1048576
	queue 4002 51234 0 1 preempted -100 2 20 1000000 7 32 16384
	queue 5000 51234 9 1 idle 7 0 0 0 0 2
	queue 4001 51235 4 1 active -50 8 2 1500 7 1
	queue 6000 51235 2 2 active 7 1 0 0 0 1 1048576
}

# view ARGUMENTS: what gpreemptctl shows of it; messages in $err
view()
{
	status 0 "$built/view" "$@" >"$scratch/out"
	is "messages" "$(cat "$err")" ""
}

# shown: it is what stdin says, but for blanks at the end of lines
shown()
{
	fill | diff -u - "$scratch/out"
}

list_says_whose_each_queue_is()
{
	busy_machine
	view list
	shown <<-'END'
		    PID COMMAND   GPU QUEUE PRIO(EFF) SOURCE STATE     FLAG PENDING PREEMPTED OFF_MS BUSY_MS WAIT_MS VERDICT    NSPID RING     JOB PLACE
		3934101 serve   51234     0       100 kfd    active               3         0      0       -       - runs      157868 1M         7 docker:4f2a01234567
		3934101 serve   51234     1       100 kfd    idle                 0         0      0       -       - no_demand 157868 4K:rocr?   7 docker:4f2a01234567
		   4001 train   51234     0      -100 kfd    preempted            5        21   4100       -       - yields         - 1M         7 slurm:1234.0
		   4002 train   51234     0      -100 kfd    preempted            2        20   1000       -       - yields         - 16K        7 slurm:1234.0
		   5000 ?       51234     9         7 kfd    idle                 0         0      0       -       - no_demand      - -          - -
		   4001 train   51235     4       -50 kfd    active               8         2      1       -       - runs           - -          7 slurm:1234.0
		   6000 infer   51235   2@2         7 kfd    active               1         0      0       -       - runs           3 -          - pod:1b4e28ba,containerd:001122334455
	END
}

# Two users may each have a job of the number 7: their queues are not one job's.
jobs_are_added_up_by_user_place_and_gpu()
{
	busy_machine
	view list --by job
	shown <<-'END'
		JOB USER  PLACE                                  GPU PCI          SLOTS PROCS QUEUES ACTIVE OFF  PRIO PENDING PREEMPTED OFF_MS BUSY_MS WAIT_MS DEVICE
		  7 root  docker:4f2a01234567                  51234 0000:c1:00.0 26/24     1      2      1   0   100       3         0      0       -       - AMD Instinct MI210
		  7 65001 slurm:1234.0                         51234 0000:c1:00.0 26/24     2      2      0   2  -100       7        41   5100       -       - AMD Instinct MI210
		  7 65001 slurm:1234.0                         51235 0000:c6:00.0  2/24     1      1      1   0   -50       8         2      1       -       - gfx942
		  - 65002 pod:1b4e28ba,containerd:001122334455 51235 0000:c6:00.0  2/24     1      1      1   0     7       1         0      0       -       - gfx942
		  - ?     -                                    51234 0000:c1:00.0 26/24     1      1      0   0     7       0         0      0       -       - AMD Instinct MI210
	END
	view list --by queue
	cp "$scratch/out" "$scratch/queues"
	view list
	diff -u "$scratch/queues" "$scratch/out"
}

json_has_all_of_it()
{
	busy_machine
	view list --json
	python3 - "$scratch/out" "$id" "$uid" "$other" <<-'END'
		import json, sys
		d = json.load(open(sys.argv[1]))
		ident, pod, other = sys.argv[2:5]
		assert d["schema_version"] == 1 and len(d["queues"]) == 7
		q = d["queues"]
		names = ("bdf", "device_name", "nspid", "uid", "job", "container_engine", "container_id", "pod_uid", "slurm_job", "slurm_step", "ring_bytes", "maybe_rocr")
		parts = [{k: x[k] for k in names if k in x} for x in q]
		mi210 = dict(bdf="0000:c1:00.0", device_name="AMD Instinct MI210")
		step = dict(uid=65001, job=7, slurm_job="1234", slurm_step="0")
		assert parts[0] == dict(mi210, nspid=157868, uid=0, job=7, container_engine="docker", container_id=ident, ring_bytes=1048576, maybe_rocr=False), parts[0]
		assert parts[1] == dict(parts[0], ring_bytes=4096, maybe_rocr=True), parts[1]
		assert parts[2] == dict(mi210, ring_bytes=1048576, maybe_rocr=False, **step), parts[2]
		assert parts[3] == dict(mi210, ring_bytes=16384, maybe_rocr=False, **step), parts[3]
		assert parts[4] == mi210, parts[4]
		assert parts[6] == dict(bdf="0000:c6:00.0", device_name="gfx942", nspid=3, uid=65002, container_engine="containerd", container_id=other, pod_uid=pod), parts[6]
	END
	view list --by job --json
	python3 - "$scratch/out" "$id" <<-'END'
		import json, sys
		d = json.load(open(sys.argv[1]))
		w = d["workloads"]
		assert d["schema_version"] == 1 and len(w) == 5 and "queues" not in d
		assert w[0] == dict(job=7, uid=0, container_engine="docker", container_id=sys.argv[2], gpu_id=51234, bdf="0000:c1:00.0", device_name="AMD Instinct MI210",
				    processes=1, queues=2, active=1, preempted=0, effective_priority=100, pending=3, preempt_count=0, preempted_us=0), w[0]
		assert w[1]["preempted_us"] == 5100500 and w[1]["processes"] == 2 and w[1]["slurm_step"] == "0"
		assert "job" not in w[4] and "uid" not in w[4]
	END
	view status --json
	python3 - "$scratch/out" <<-'END'
		import json, sys
		n = json.load(open(sys.argv[1]))["nodes"]
		assert [(x["gpu_id"], x["bdf"], x["device_name"], x["slots"], x["active_queues"]) for x in n] == [
			(51234, "0000:c1:00.0", "AMD Instinct MI210", 24, 26), (51235, "0000:c6:00.0", "gfx942", 24, 2)], n
	END
}

nothing_to_list_is_a_table_without_lines()
{
	new_machine
	view list --by job
	is "lines" "$(wc -l <"$scratch/out")" 1
	view list --by job --json
	is "object" "$(tr -d ' \n' <"$scratch/out")" '{"schema_version":1,"workloads":[]}'
	view list --json
	is "object" "$(tr -d ' \n' <"$scratch/out")" '{"schema_version":1,"queues":[]}'
}

status_says_slots_and_devices()
{
	busy_machine
	# A partition of a device, of which PCI knows the first
	node 3 51236 0000:c6:00.0 "location_id=50691 domain=0 num_cp_queues=24 gfx_target_version=90402"
	# What says nothing
	node 4 51237 - "simd_count=1"
	view status
	shown <<-'END'
		    GPU STATE   BACKEND POLICY QUEUES PREEMPTED PREEMPTIONS RESUMES FAILURES SLOTS PCI          DEVICE
		  51234 polling hws     hpf         0         0           0       0        0 26/24 0000:c1:00.0 AMD Instinct MI210
		  51235 polling hws     hpf         0         0           0       0        0  2/24 0000:c6:00.0 gfx942
		  51236 polling hws     hpf         0         0           0       0        0  -/24 0000:c6:00.0 gfx942
		  51237 polling hws     hpf         0         0           0       0        0   -/- 0000:00:00.0 -
	END
}

# named NAME: the device of the machine's one node
named()
{
	view status --json
	is "name" "$(python3 -c 'import json, sys; print(json.load(sys.stdin)["nodes"][0].get("device_name", "-"))' <"$scratch/out")" "$1"
}

devices_have_the_names_that_they_are_sold_under()
{
	local table=$MACHINE/usr/share/libdrm/amdgpu.ids

	new_machine
	node 1 51234 0000:c1:00.0 "location_id=49408 num_cp_queues=24 gfx_target_version=90010"
	named gfx90a
	pci 0000:c1:00.0 product_name "Board of ours"
	named "Board of ours"
	pci 0000:c1:00.0 device 0x740f
	named "Board of ours"
	pci 0000:c1:00.0 revision 0x02
	named "AMD Instinct MI210"
	# Another revision is another device.
	pci 0000:c1:00.0 revision 0x01
	named "Board of ours"
	pci 0000:c1:00.0 device 0x740c
	named "AMD Instinct MI250X / MI250"
	# AMD's own libdrm
	mkdir -p "$MACHINE/opt/amdgpu/share/libdrm"
	mv "$table" "$MACHINE/opt/amdgpu/share/libdrm/"
	named "AMD Instinct MI250X / MI250"
	# Lines that are none, one without an end, one that is cut
	printf '740C\n740C,\n740C,01\n740C,\t01,\n,,\nx,\ty,\tz\n740C,\t01,\t%s' "$(head -c 5000 /dev/zero | tr '\0' x)" >"$table"
	named "$(head -c 127 /dev/zero | tr '\0' x)"
	# What would end a label or steer a terminal
	printf '740C,\t01,\tA"}\\ \033[2Jb\303\244\r\n' >"$table"
	named "A} [2Jb"
	rm "$table"
	head -c 300 /dev/urandom >"$MACHINE/opt/amdgpu/share/libdrm/amdgpu.ids"
	pci 0000:c1:00.0 device nonsense
	rm "$MACHINE/sys/bus/pci/devices/0000:c1:00.0/product_name"
	named gfx90a
}

# Nine GPUs: two devices of one kind, of which one has two partitions; five more; the one with the last address is the first node
many_gpus()
{
	local i

	new_machine
	node 0 0 - "simd_count=0"
	node 2 51234 0000:c1:00.0 "location_id=49408 domain=0 drm_render_minor=128 unique_id=14763018195029396870 device_id=29711"
	node 3 51235 0000:c6:00.0 "location_id=50688 domain=0 drm_render_minor=129 unique_id=11 gfx_target_version=90402"
	node 4 51236 0000:c6:00.0 "location_id=50691 domain=0 drm_render_minor=130 unique_id=11 gfx_target_version=90402"
	for i in 0 1 2 3 4; do
		node $((i + 5)) $((51240 + i)) "0000:d$i:00.0" "location_id=$((0xd000 + i * 256)) domain=0 drm_render_minor=$((131 + i)) gfx_target_version=90010"
	done
	node 1 4 0001:01:00.0 "location_id=256 domain=1 drm_render_minor=140 gfx_target_version=110000"
	pci 0000:c1:00.0 device 0x740f
	pci 0000:c1:00.0 revision 0x02
}

# is_gpu GPU_IDS NAME...: each of these names
is_gpu()
{
	local name

	for name in "${@:2}"; do
		view policy -g "$name"
		is "$name" "$(awk '{ print $1 }' "$scratch/out" | xargs)" "$1"
	done
}

gpus_are_found_by_any_name()
{
	many_gpus
	is_gpu 51234 51234 0xc822 0xC822 0 node2 0000:c1:00.0 c1:00.0 C1:00.0 renderD128 /dev/dri/renderD128 cce0c6d49f5b0d86 0xcce0c6d49f5b0d86 \
		GPU-cce0c6d49f5b0d86 ccff740f-0000-1000-80e0-c6d49f5b0d86 MI210 mi210 "AMD Instinct MI210"
	# Partitions: each has the address with its number as the function.
	is_gpu 51235 1 node3 c6:00.0 renderD129
	is_gpu 51236 2 node4 c6:00.3 0000:c6:00.3 renderD130
	# amd-smi's order is that of addresses, not of nodes.
	is_gpu 4 8 node1 0x4 0001:01:00.0 gfx1100
	is_gpu "51234 51241" 0,d1:00.0 d1:00.0,0 0,0,51241
	is_gpu "51234 51240 51241 51242" 0,3-5
	is_gpu "4 51234 51235 51236 51240 51241 51242 51243 51244" all ALL 0-8
	view policy -g 0 -g 3-5
	is "several -g" "$(awk '{ print $1 }' "$scratch/out" | xargs)" "51234 51240 51241 51242"
}

# no_gpu STATUS NAME TEXT...: what is said of it
no_gpu()
{
	local text

	status "$1" "$built/view" policy -g "$2" >"$scratch/out"
	is "output" "$(cat "$scratch/out")" ""
	for text in "${@:3}"; do
		has "$err" "$text"
	done
}

unknown_and_ambiguous_gpus_are_told()
{
	local first="  0: 0xc822 (51234), node2, 0000:c1:00.0, renderD128, ccff740f-0000-1000-80e0-c6d49f5b0d86, AMD Instinct MI210"
	local third="  2: 0xc824 (51236), node4, 0000:c6:00.3, renderD130" last="  8: 0x4 (4), node1, 0001:01:00.0, renderD140, gfx1100" name

	many_gpus
	for name in 9 51237 node10 c2:00.0 c6:00.1 01:00.0 renderD127 0-9 9-10 0,9 MI300 x 42 "" 0,,1; do
		no_gpu 1 "$name" "no such GPU; there are, by index:" "$first" "$third" "$last"
		is "messages of $name" "$(wc -l <"$err")" 10
	done
	no_gpu 2 5-3 "gpu 5-3: 5 is above 3; nothing changed"
	no_gpu 2 gfx942 "gpu gfx942: it may be one of these; nothing changed:" "$third"
	is "messages" "$(wc -l <"$err")" 3
	# Partitions share the chip.
	no_gpu 2 000000000000000b "it may be one of these" "$third"
	# The one's gpu_id is the other's index.
	no_gpu 2 4 "it may be one of these" "$last" "  4: 0xc829 (51241)"
	status 2 "$built/view" probe-hang -p 1 -g 0,1
	has "$err" "probe-hang takes one GPU, not 51234 and 51235"
	rmdir "$MACHINE/sys/class/kfd/kfd/gpreempt/51235"
	no_gpu 1 1 "gpu 51235: kfd_gpreempt does not schedule it: no such GPU"
	# Without any, a number is the kernel's to judge.
	new_machine
	no_gpu 1 renderD128 "gpu renderD128: no such GPU: there is none for compute here, or none is visible"
	no_gpu 1 51234 "gpu 51234: no such GPU"
}

# Each GPU has its own, and one that refuses a value does not keep others from it.
several_gpus_are_tuned()
{
	local gpreempt=$MACHINE/sys/class/kfd/kfd/gpreempt parameters=$MACHINE/sys/module/amdgpu/parameters id

	many_gpus
	mkdir -p "$parameters"
	echo Y >"$parameters/gpreempt_enable"
	echo 1000 >"$parameters/gpreempt_poll_us"
	for id in 51234 51235 51240; do
		mkdir -p "$gpreempt/$id/tunables"
		echo polling >"$gpreempt/$id/state"
		echo 1000 >"$gpreempt/$id/tunables/poll_us"
	done
	view tune -g 0,1,3 poll_us=2000
	is "output" "$(cat "$scratch/out")" ""
	is "values" "$(cat "$gpreempt"/{51234,51235,51240}/tunables/poll_us "$parameters/gpreempt_poll_us" | xargs)" "2000 2000 2000 1000"
	view tune -g 0,3
	is "output" "$(paste -sd, "$scratch/out")" "gpu 51234:,poll_us=2000,,gpu 51240:,poll_us=2000"
	view tune -g 0,3 --json
	is "JSON" "$(tr -d ' \n' <"$scratch/out")" \
		'{"schema_version":1,"nodes":[{"gpu_id":51234,"tunables":{"poll_us":"2000"}},{"gpu_id":51240,"tunables":{"poll_us":"2000"}}]}'
	view tune -g 0 --json
	is "JSON of one" "$(tr -d ' \n' <"$scratch/out")" '{"schema_version":1,"gpu_id":51234,"tunables":{"poll_us":"2000"}}'
	# With a unit, which the file has not
	echo 9999 >"$gpreempt/51234/tunables/poll_us"
	echo 9999 >"$gpreempt/51234/tunables/relief_ms"
	echo 10 >"$gpreempt/51234/tunables/overhead_pct"
	view tune -g 0 poll_us=4ms gpreempt_relief_ms=2s overhead_pct=50%
	is "values" "$(cat "$gpreempt"/51234/tunables/{poll_us,relief_ms,overhead_pct} | xargs)" "4000 2000 50"
	view tune -g 0 relief_ms=5000us
	is "value" "$(head -c 1 "$gpreempt/51234/tunables/relief_ms")" 5
	rm "$gpreempt/51235/tunables/poll_us"
	status 2 "$built/view" tune -g 0,1,3 poll_us=3000
	is "message" "$(cat "$err")" "gpreemptctl: gpu 51235: there is no tunable poll_us; gpreemptctl tune lists them"
	is "values" "$(cat "$gpreempt"/{51234,51240}/tunables/poll_us | xargs)" "3000 3000"
}

# Whoever is in a pid namespace is told other numbers than KFD's files have.
rings_are_those_of_the_process_and_no_other()
{
	busy_machine
	ln -sfn 'pid:[4026532000]' "$MACHINE/proc/self/ns/pid"
	view list
	not grep -E ' (1M|4K:rocr\?|16K) ' "$scratch/out"
	ln -sfn 'pid:[4026531836]' "$MACHINE/proc/self/ns/pid"
	echo nonsense >"$MACHINE/sys/class/kfd/kfd/proc/3934101/queues/1/size"
	echo 51235 >"$MACHINE/sys/class/kfd/kfd/proc/4002/queues/0/gpuid"
	view list
	is "rings" "$(awk 'NR > 1 { print $(NF - 2) }' "$scratch/out" | tr '\n' ' ')" "1M - 1M - - - - "
}

metrics_have_the_labels_of_jobs()
{
	local a='bdf="0000:c1:00.0",device_name="AMD Instinct MI210"' b='bdf="0000:c6:00.0",device_name="gfx942"' none='container_engine="",container_id="",pod_uid=""'
	local step="$none,slurm_job=\"1234\",slurm_step=\"0\"" promtool

	busy_machine
	view stats --prometheus
	grep '^gpreempt_workload_queues' "$scratch/out" >"$scratch/queues"
	is "series" "$(wc -l <"$scratch/queues")" 15
	has "$scratch/queues" "{gpu_id=\"51234\",$a,gpreempt_job=\"7\",uid=\"0\",container_engine=\"docker\",container_id=\"$id\",pod_uid=\"\",slurm_job=\"\",slurm_step=\"\",state=\"idle\"} 1"
	has "$scratch/queues" "{gpu_id=\"51234\",$a,gpreempt_job=\"7\",uid=\"65001\",$step,state=\"preempted\"} 2"
	has "$scratch/queues" "{gpu_id=\"51235\",$b,gpreempt_job=\"7\",uid=\"65001\",$step,state=\"active\"} 1"
	has "$scratch/queues" "gpreempt_job=\"\",uid=\"65002\",container_engine=\"containerd\",container_id=\"$other\",pod_uid=\"$uid\",slurm_job=\"\",slurm_step=\"\",state=\"active\"} 1"
	has "$scratch/queues" "{gpu_id=\"51234\",$a,gpreempt_job=\"\",uid=\"\",$none,slurm_job=\"\",slurm_step=\"\",state=\"idle\"} 1"
	has "$scratch/out" "gpreempt_workload_preempted_seconds{gpu_id=\"51234\",$a,gpreempt_job=\"7\",uid=\"65001\",$step} 5.100500"
	has "$scratch/out" "gpreempt_workload_preemptions{gpu_id=\"51234\",$a,gpreempt_job=\"7\",uid=\"65001\",$step} 41"
	has "$scratch/out" "gpreempt_workload_processes{gpu_id=\"51234\",$a,gpreempt_job=\"7\",uid=\"65001\",$step} 2"
	has "$scratch/out" 'gpreempt_slots{gpu_id="51234"} 24'
	has "$scratch/out" 'gpreempt_active_queues{gpu_id="51234"} 26'
	has "$scratch/out" 'device_name="AMD Instinct MI210"} 1'
	is "twice" "$(grep -v '^#' "$scratch/out" | sed 's/ [^ ]*$//' | sort | uniq -d)" ""
	promtool=$(command -v promtool || echo "$GPREEMPT_CACHE/unpacked/$("$TOP/dkms/release.sh" promtool)/usr/bin/promtool")
	[ ! -x "$promtool" ] || "$promtool" check metrics <"$scratch/out"
}

# As many series as there are jobs, places and users on GPUs, whatever their processes and queues are
more_processes_are_no_more_series()
{
	local pid

	busy_machine
	view stats --prometheus
	is "series" "$(grep -c '^gpreempt_workload_' "$scratch/out")" 30
	for pid in $(seq 7000 7049); do
		process "$pid" "" 65001 "p$pid" "0::/system.slice/slurmstepd.scope/job_1234/step_0/user/task_$pid"
		queue "$pid" 51234 0 1 idle -100 0 0 0 7 2
		queue "$pid" 51235 1 1 idle -100 0 0 0 7 2
	done
	view stats --prometheus
	is "series" "$(grep -c '^gpreempt_workload_' "$scratch/out")" 30
	grep '^gpreempt_workload_processes{gpu_id="51235".*slurm_job="1234"' "$scratch/out" | grep -q ' 51$'
}

# top ROWS COLUMNS KEYS ARGUMENTS...: what it leaves on a terminal
top()
{
	local rows=$1 columns=$2 keys=$3

	shift 3
	TERM=linux timeout 60 "$built/terminal" "$rows" "$columns" "$keys" "$built/view" top "$@" >"$scratch/bytes"
	screen "$scratch/bytes" "$rows" "$columns" | sed 's/ *$//' >"$scratch/out"
}

top_shows_jobs()
{
	busy_machine
	top 8 210 '' --by job -n 1
	cut -c 1-130 "$scratch/out" | sed 's/ *$//' | fill | diff -u - <(
		cat <<-'END'
			JOB USER  PLACE                                  GPU PCI          SLOTS PROCS QUEUES ACTIVE OFF  PRIO PENDING PREEMPTED OFF_MS BUS
			  7 65001 slurm:1234.0                         51234 0000:c1:00.0 26/24     2      2      0   2  -100       7        41   5100
			  7 root  docker:4f2a01234567                  51234 0000:c1:00.0 26/24     1      2      1   0   100       3         0      0
			  - 65002 pod:1b4e28ba,containerd:001122334455 51235 0000:c6:00.0  2/24     1      1      1   0     7       1         0      0
			  - ?     -                                    51234 0000:c1:00.0 26/24     1      1      0   0     7       0         0      0
			  7 65001 slurm:1234.0                         51235 0000:c6:00.0  2/24     1      1      1   0   -50       8         2      1
		END
		printf '\n\n'
	)
	cp "$scratch/out" "$scratch/by_state"
	top 12 210 j -n 2
	is "the same" "$(awk 'NF { print $1, $2, $4, $10 }' "$scratch/out")" "$(awk 'NF { print $1, $2, $4, $10 }' "$scratch/by_state")"
	top 8 210 t --by job -n 2
	is "first by time off" "$(awk 'NR == 2 { print $1, $2, $4 }' "$scratch/out")" "7 65001 51234"
	top 8 210 p --by job -n 2
	is "by priority" "$(awk 'NR > 1 && NF { print $11 }' "$scratch/out" | tr '\n' ' ')" "100 7 7 -50 -100 "
	# Back to queues, whose GPUs stand above them
	top 12 150 j --by job -n 2
	is "first line" "$(head -n 1 "$scratch/out")" "gpu 51234  polling  hws/hpf  used -  queues 0  off 0  preemptions 0  failures 0  slots 26/24  0000:c1:00.0  AMD Instinct MI210"
}

# used_machine: the busy one, whose module tells what each queue uses in a second
used_machine()
{
	busy_machine
	printf '%s\n' '250 0 64' '0 0 0' '0 1000 0' '100 900 8' '0 0 0' '1000 0 416' '333 0 1' >"$MACHINE/usage"
	printf '%s\n' 'node 51234 0 0 0 3 350 1900 1000 72 340' 'node 51235 0 0 0 2 1333 0 0 417 1000' >"$MACHINE/account"
}

list_says_how_much_each_queue_has_used()
{
	used_machine
	view list
	is "busy and waiting" "$(awk '{ print $1, $3, $(NF - 6), $(NF - 5) }' "$scratch/out" | tr '\n' ,)" \
		"PID GPU BUSY_MS WAIT_MS,3934101 51234 250 0,3934101 51234 0 0,4001 51234 0 1000,4002 51234 100 900,5000 51234 0 0,4001 51235 1000 0,6000 51235 333 0,"
	view list --by job
	is "of jobs" "$(awk '{ print $2, $4, $15, $16 }' "$scratch/out" | tr '\n' ,)" \
		"USER GPU BUSY_MS WAIT_MS,root 51234 250 0,65001 51234 100 1900,65001 51235 1000 0,65002 51235 333 0,? 51234 0 0,"
	view list --json
	python3 - "$scratch/out" <<-'END'
		import json, sys
		q = json.load(open(sys.argv[1]))["queues"]
		assert [(x["busy_ns"], x["waiting_ns"], x["wave_us"]) for x in q[2:4]] == [(0, 1000000000, 0), (100000000, 900000000, 8000000)], q
	END
	view list --by job --json
	python3 - "$scratch/out" <<-'END'
		import json, sys
		w = json.load(open(sys.argv[1]))["workloads"][1]
		assert (w["busy_ns"], w["waiting_ns"], w["wave_us"]) == (100000000, 1900000000, 8000000), w
	END
}

# Parts of the time since the look before: 100 is a queue that works all the time.
top_shows_what_was_used_since_the_look_before()
{
	used_machine
	top 12 150 '' -n 1
	is "no look before" "$(awk 'NR > 3 && NF { print $7, $8 }' "$scratch/out" | sort -u)" "- -"
	top 12 150 x -n 2
	is "of nodes" "$(awk 'NR <= 2 { print $2, $5, $6 }' "$scratch/out" | tr '\n' ,)" "51234 used 34%,51235 used 100%,"
	is "of queues" "$(awk 'NR > 2 && NF { print $1, $3, $7, $8 }' "$scratch/out" | tr '\n' ,)" \
		"PID GPU BUSY% WAIT%,4001 51234 0 100,4002 51234 10 90,3934101 51234 25 0,3934101 51234 0 0,5000 51234 0 0,6000 51235 33 0,4001 51235 100 0,"
	top 12 150 bx -n 3
	is "the busiest first" "$(awk 'NR > 3 && NF { print $7 }' "$scratch/out" | tr '\n' ' ')" "100 33 25 10 0 0 0 "
	top 12 230 bx --by job -n 3
	is "of jobs" "$(awk 'NF { print $2, $4, $15, $16 }' "$scratch/out" | tr '\n' ,)" \
		"USER GPU BUSY% WAIT%,65001 51235 100 0,65002 51235 33 0,root 51234 25 0,65001 51234 10 190,? 51234 0 0,"
}

top_cuts_jobs_that_do_not_fit()
{
	busy_machine
	top 3 40 '' --by job -n 1
	is "rows" "$(grep -c . "$scratch/out")" 3
}

# full_machine: a node with eight GPUs and 64 queues, of which 16 are off the device and 8 wait for another process; those are among the last
full_machine()
{
	local gpu pid

	new_machine
	for gpu in 0 1 2 3 4 5 6 7; do
		node $((gpu + 1)) $((51230 + gpu)) "0000:c$gpu:00.0" "location_id=$((49152 + gpu * 256)) domain=0 num_cp_queues=24 gfx_target_version=90010" 8
		for pid in 2001 2002 2003 2004 2005; do
			queue $((pid + gpu * 100)) $((51230 + gpu)) 0 1 active 100 1 0 0 0 1
		done
		queue $((2006 + gpu * 100)) $((51230 + gpu)) 0 1 active/waits 7 1 0 0 0 1
		for pid in 2007 2008; do
			queue $((pid + gpu * 100)) $((51230 + gpu)) 0 1 preempted -100 5 21 4100500 0 36
		done
		for pid in 2001 2002 2003 2004 2005 2006 2007 2008; do
			process $((pid + gpu * 100)) "" $((65001 + gpu)) "p$((pid + gpu * 100))" '0::/user.slice'
		done
	done
}

# states_shown: how many rows in which state, and the last line
states_shown()
{
	awk '$2 ~ /^p2/ { print $6 }' "$scratch/out" | uniq -c | awk '{ print $2, $1 }' | tr '\n' ,
	tail -n 1 "$scratch/out"
}

top_shows_first_what_is_off_and_counts_what_does_not_fit()
{
	full_machine
	top 24 80 '' -n 1
	is "24 rows" "$(states_shown)" "preempted 14,50 more, 2 preempted, 8 waiting  (arrows; ? help)"
	is "GPUs" "$(grep -c '^gpu ' "$scratch/out")" 8
	is "verdicts" "$(awk '$6 == "preempted" { print $NF }' "$scratch/out" | sort -u)" resume_delayed
	top 40 120 '' -n 1
	is "40 rows" "$(states_shown)" "preempted 16,active 14,34 more  (arrows; ? help)"
	is "those that wait" "$(awk '$6 == "active" { print $1 % 100 }' "$scratch/out" | head -n 8 | sort -u)" 6
	is "priorities below them" "$(awk '$6 == "active" { print $5 }' "$scratch/out" | uniq -c | awk '{ print $2, $1 }' | tr '\n' ,)" "7 8,100 6,"
	# One below the other, everything is there once.
	top 24 80 "$(printf '\033[6~')" -n 2
	is "next page" "$(states_shown)" "preempted 2,active 12,50 more, 14 preempted  (arrows; ? help)"
	top 24 80 "$(printf '\033[B\033[B\033[A')" -n 4
	is "one down" "$(states_shown)" "preempted 14,50 more, 2 preempted, 8 waiting  (arrows; ? help)"
	is "first row" "$(awk '$6 == "preempted" { print $1; exit }' "$scratch/out")" 2008
	top 24 80 "$(printf '\033[4~')" -n 2
	is "the end" "$(states_shown)" "active 14,50 more, 16 preempted, 8 waiting  (arrows; ? help)"
	top 80 120 '' -n 1
	not grep 'more' "$scratch/out"
}

# A node of 64 partitions leaves room for queues.
top_leaves_room_below_many_gpus()
{
	full_machine
	top 12 80 '' -n 1
	is "GPUs" "$(grep -c '^gpu ' "$scratch/out")" 5
	has "$scratch/out" "3 more GPUs: gpreemptctl status"
	is "queues" "$(states_shown)" "preempted 4,60 more, 12 preempted, 8 waiting  (arrows; ? help)"
}

top_searches_filters_and_explains_its_keys()
{
	full_machine
	top 24 80 $'/p2103\n' -n 2
	is "found" "$(states_shown)" "active 1,/p2103"
	top 24 80 $'u65002,65003\n' -n 2
	is "of two users" "$(states_shown)" "preempted 4,active 10,  users: 65002,65003  2 more  (arrows; ? help)"
	top 24 80 $'unobody-here\n' -n 2
	has "$scratch/out" "user=nobody-here: there is no such user  50 more"
	top 24 80 '?x' -n 3
	not grep 'any key: back' "$scratch/out"
	has "$scratch/bytes" "any key: back"
	top 24 80 '' -n 1 -u 65002 --state preempted -g 51231
	is "by options" "$(states_shown)" "preempted 2,$(tail -n 1 "$scratch/out")"
	is "GPUs" "$(grep -c '^gpu ' "$scratch/out")" 1
}

top_needs_no_terminal_in_batch_mode()
{
	full_machine
	TERM='' view top -b -n 2 -i 0.001
	is "rows" "$(grep -cE '^ +[0-9]+ p2' "$scratch/out")" 128
	is "widest" "$(grep -c 'resume_delayed$' "$scratch/out")" 32
	view top -b -n 1 --no-headers -o pid,state --sort -pid
	is "first" "$(head -n 1 "$scratch/out" | tr -s ' ')" " 2708 preempted"
	is "rows" "$(wc -l <"$scratch/out")" 64
	status 2 "$built/view" top <"$scratch/out" >/dev/null
	has "$err" "top -b -n 1"
}

# ---- tables: columns, order, width, CSV, filters ----

# on COLUMNS ARGUMENTS...: what gpreemptctl shows on a terminal so wide
on()
{
	local columns=$1

	shift
	"$built/terminal" 24 "$columns" '' "$built/view" "$@" | tr -d '\r' >"$scratch/out"
}

tables_fit_the_terminal_and_are_whole_for_scripts()
{
	local width

	used_machine
	for width in 60 80 100 132 200; do
		on $width list
		is "too wide for $width" "$(awk -v width=$width 'length > width' "$scratch/out")" ""
		is "rows" "$(wc -l <"$scratch/out")" 8
		is "verdicts" "$(grep -cE ' (runs|no_demand|yields)( |$)' "$scratch/out")" 7
		on $width list --by job
		is "jobs too wide for $width" "$(awk -v width=$width 'length > width' "$scratch/out")" ""
		on $width status
		is "nodes too wide for $width" "$(awk -v width=$width 'length > width' "$scratch/out")" ""
	done
	on 80 list
	is "what is there at 80" "$(head -n 1 "$scratch/out" | tr -s ' ')" " PID COMMAND GPU QUEUE PRIO(EFF) STATE FLAG VERDICT JOB PLACE"
	on 80 list -o pid,place,device,why
	is "chosen at 80" "$(head -n 1 "$scratch/out" | tr -s ' ')" " PID PLACE DEVICE WHY"
	is "too wide" "$(awk 'length > 80' "$scratch/out")" ""
	view list
	is "for a script" "$(head -n 1 "$scratch/out" | tr -s ' ')" \
		" PID COMMAND GPU QUEUE PRIO(EFF) SOURCE STATE FLAG PENDING PREEMPTED OFF_MS BUSY_MS WAIT_MS VERDICT NSPID RING JOB PLACE"
	has "$scratch/out" pod:1b4e28ba,containerd:001122334455
}

# table ARGUMENTS...: a table with a blank between the columns and a comma between the rows
table()
{
	view "$@"
	sed 's/^ *//' "$scratch/out" | tr -s ' ' | tr '\n' ,
}

columns_are_chosen_and_rows_sorted()
{
	used_machine
	is "two" "$(table list -o GPU,pid -p 4001)" "GPU PID,51234 4001,51235 4001,"
	is "one more" "$(table status -o +gpu -g 51235)" "$(table status -g 51235)"
	is "one more that is not usual" "$(table list -o +user,prio -p 6000 | grep -oE 'PLACE USER PRIO|[0-9]+ 7,$' | tr '\n' ' ')" "PLACE USER PRIO 65002 7, "
	is "by number" "$(table list -o off_ms --sort off_ms --no-headers)" "0,0,0,0,1,1000,4100,"
	is "the largest first" "$(table list -o off_ms --sort -OFF_MS --no-headers)" "4100,1000,1,0,0,0,0,"
	is "by a column that is not shown" "$(table list -o pid --sort -busy_ms --no-headers)" "4001,6000,3934101,4002,3934101,4001,5000,"
	is "with units" "$(table list -o ring --sort ring --no-headers)" "-,-,-,4K:rocr?,16K,1M,1M,"
	is "words" "$(table list -o command --sort command --no-headers)" "?,infer,serve,serve,train,train,train,"
	is "of jobs" "$(table list --by job -o prio,user --sort prio)" "PRIO USER,-100 65001,-50 65001,7 65002,7 ?,100 root,"
	is "why" "$(table list -o why -p 4002)" "WHY,yields to more urgent work of others,"
	is "nothing" "$(table list -p 1 --no-headers)" ""
}

columns_that_do_not_exist_are_refused()
{
	busy_machine
	status 2 "$built/view" list -o pid,size
	is "message" "$(cat "$err")" "gpreemptctl: list has no column size; it has PID,COMMAND,GPU,QUEUE,PRIO(EFF),SOURCE,STATE,FLAG,PENDING,PREEMPTED,OFF_MS,BUSY_MS,WAIT_MS,VERDICT,NSPID,RING,JOB,PLACE,USER,PCI,DEVICE,SET_PRIO,PRIO,WAVES,WHY"
	for args in 'list --sort size' 'list --by job --sort -nspid' 'status -o +verdict' 'account --sort -pid' 'top -o size' 'list -o '; do
		# shellcheck disable=SC2086 # words
		status 2 "$built/view" $args ''
	done
	status 2 "$built/view" list --sort -size
	has "$err" "list has no column size; it has PID"
	status 2 "$built/view" list -o ''
	has "$err" "list has no column"
	for args in 'list -o pid' 'status --csv' 'account --sort gpu' 'list --no-headers'; do
		# shellcheck disable=SC2086 # words
		status 2 "$built/view" $args --json
	done
}

csv_has_quotes_where_they_are_needed()
{
	used_machine
	process 4001 "" 65001 'a,"b' '0::/user.slice'
	process 4002 "" 65001 'two words' '0::/user.slice'
	view list --csv -p 4001,4002,6000 -o command,gpu,job,place,flag
	shown <<-'END'
		command,gpu,job,place,flag
		"a,""b",51234,7,,
		two words,51234,7,,
		"a,""b",51235,7,,
		infer,51235,,"pod:1b4e28ba,containerd:001122334455",
	END
	view list --csv
	python3 - "$scratch/out" <<-'END'
		import csv, sys
		rows = list(csv.DictReader(open(sys.argv[1])))
		assert len(rows) == 7 and all(None not in r and None not in r.values() for r in rows), rows
		r = rows[2]
		assert (r["command"], r["pid"], r["set_prio"], r["prio"], r["off_ms"], r["nspid"]) == ('a,"b', "4001", "-100", "-100", "4100", ""), r
	END
	view status --csv --no-headers -g 51235
	shown <<-'END'
		51235,polling,hws,hpf,0,0,0,0,0,2/24,0000:c6:00.0,gfx942
	END
}

# left PIDS ARGUMENTS...: the same processes are left in the table, in CSV, in JSON and in sentences
left()
{
	local wanted=$1

	shift
	is "table $*" "$(table list -o pid --no-headers "$@")" "$wanted"
	view list --csv -o pid --no-headers "$@"
	is "csv $*" "$(tr '\n' , <"$scratch/out")" "$wanted"
	view list --json "$@"
	is "json $*" "$(python3 -c 'import json, sys; print("".join("%d," % q["pid"] for q in json.load(sys.stdin)["queues"]))' <"$scratch/out")" "$wanted"
	view why "$@"
	awk '{ print $2 }' "$scratch/out" >"$scratch/pids"
	is "why $*" "$(tr '\n' , <"$scratch/pids")" "$wanted"
	# Those of top are in another order, and it takes no -q.
	[[ " $* " != *" -q "* ]] || return 0
	view top -b -n 1 -o pid --no-headers "$@"
	diff <(sort "$scratch/pids") <(tr -d ' ' <"$scratch/out" | sort)
}

filters_leave_the_same_in_text_csv_and_json()
{
	busy_machine
	left 4001,4001, -p 4001
	left 4001,4002,4001, -p 4002,4001
	left 4001,4002,4001, -p 4002 -p 4001
	left 4001,4002,4001, -p 4002 4001
	left 3934101,3934101, -u root
	left 4001,4002,4001,6000, -u 65001,65002
	left 4001,6000, -g 51235
	left 4001,6000, -g 1
	left 3934101,3934101,4001,4002,5000,4001,6000, -g 51235,0
	left 3934101,3934101,4001,4002,4001, --job 7
	left "" --job 8,9
	left 4001,4002, --state preempted
	left 3934101,3934101,5000,4001,6000, --state idle,active
	mkdir -p "$MACHINE/sys/fs/cgroup"
	touch "$MACHINE/sys/fs/cgroup/cgroup.procs"
	left 4001,4002,4001, --cgroup system.slice/slurmstepd.scope
	left 4001,4001, --cgroup '/sys/fs/cgroup/system.slice/*/job_*/step_0/user/task_0'
	left 3934101,3934101, --cgroup 'system.slice/docker-*'
	left 6000, --cgroup /kubepods.slice
	left 3934101,3934101,6000, --cgroup /kubepods.slice --cgroup 'system.slice/docker-*'
	left 4001, -p 4001 -g 51235 --state active -u 65001 --job 7 --cgroup system.slice
	left 4001, -p 4001 -g 51234 -q 0
	left "" -p 1
	left "" --cgroup none.slice
}

what_fits_nothing_is_a_head_alone()
{
	busy_machine
	view list -p 1
	is "list" "$(cat "$scratch/out")" "PID COMMAND GPU QUEUE PRIO(EFF) SOURCE STATE FLAG PENDING PREEMPTED OFF_MS BUSY_MS WAIT_MS VERDICT NSPID RING JOB PLACE"
	view list --csv -p 1 -o pid,gpu
	is "csv" "$(cat "$scratch/out")" pid,gpu
	view why -p 1
	is "why" "$(cat "$scratch/out")" ""
	view list --json -p 1
	is "json" "$(tr -d ' \n' <"$scratch/out")" '{"schema_version":1,"queues":[]}'
}

# refused MESSAGE ARGUMENTS...
refused()
{
	local message=$1

	shift
	status 2 "$built/view" "$@"
	has "$err" "$message"
}

unknown_users_and_states_are_refused_by_name()
{
	local many

	busy_machine
	refused "user=nobody-here: there is no such user" list -u root,nobody-here
	refused "user=: there is no such user" why -u root,
	refused "state=running is none of idle, active, preempted" top --state active,running
	refused "job=0 is not a number from 1 to 18446744073709551615" account --job 7,0
	refused "pid=x is not a number from 1 to 2147483647" events -p 1,x
	many=$(seq -s , 65)
	refused "job=65 is one more than 64, which may be named" list --job "$many"
	refused "a queue is named by -p PID -g GPU -q QUEUE" list -p 4001 -g 51234,51235 -q 0
	refused "queue 0 is of one process, not of 4001 and 4002" why -p 4001,4002 -g 51234 -q 0
	refused "account does not take --state" account --state idle
}

the_account_is_filtered_as_well()
{
	local step pod args

	accounted_machine
	USAGE=10
	export USAGE
	is "process" "$(table account -o whose,id --no-headers -p 4001,4002)" "process 4001,"
	is "user" "$(table account -o whose,id,user --no-headers -u 65001)" "process 4001 65001,"
	is "job" "$(table account -o whose,id --no-headers --job 7)" "job 7,process 4001,"
	is "cgroup" "$(table account -o whose,name --no-headers --cgroup 'system.slice/slurm*')" \
		"cgroup /system.slice/slurmstepd.scope/job_1234/step_0/user/task_0,process train,"
	is "GPUs" "$(table account node -o gpu --no-headers -g 51235)" "51235,"
	is "several" "$(table account node -o gpu --no-headers -g 1,0)" "51234,51235,"
	is "sorted" "$(table account node -o gpu,busy_s --sort -busy_s)" "GPU BUSY_S,51235 13.330,51234 3.500,"
	view account --csv --job 7 -o kind,job,busy_ns
	is "csv" "$(tr '\n' ' ' <"$scratch/out")" "kind,job,busy_ns job,7,3500000000 process,7,0 "
	view account --json --job 7
	is "json" "$(grep -c '"kind"' "$scratch/out")" 2
	node 9 51236 0000:d1:00.0 "location_id=53504 domain=0"
	echo "node 51236 0 0 0 1 10 0 0 1 10" >>"$MACHINE/account"
	for args in "account node" stats; do
		# shellcheck disable=SC2086 # words
		view $args --prometheus -g 51234,51236
		is "GPUs of $args" "$(sed -n 's/^gpreempt_node_busy_seconds_total{gpu_id="\([0-9]*\)".*/\1/p' "$scratch/out" | sort | xargs)" "51234 51236"
	done
	unset USAGE
}

# As a user without CAP_SYS_ADMIN: the module calls all nodes idle, and counts nothing for him.
what_is_hidden_is_a_dash_and_said_once()
{
	local args

	busy_machine
	touch "$MACHINE/sys/no-rights"
	status 0 "$built/view" status -o gpu,state,queues,preemptions,resumes,failures >"$scratch/out"
	is "said" "$(cat "$err")" "gpreemptctl: own queues alone are counted, and what the scheduler does is not shown; as root (CAP_SYS_ADMIN) all is"
	is "status" "$(tr -s ' ' <"$scratch/out" | tr '\n' ,)" " GPU STATE QUEUES PREEMPTIONS RESUMES FAILURES, 51234 - 0 - - -, 51235 - 0 - - -,"
	status 0 "$built/view" status --json >"$scratch/out"
	python3 - "$scratch/out" <<-'END'
		import json, sys
		n = json.load(open(sys.argv[1]))["nodes"][0]
		assert [n[k] for k in ("state", "preemptions", "resumes", "failures")] == [None] * 4 and n["queues"] == 0, n
	END
	status 0 "$built/view" status --csv --no-headers -g 51234 -o state,preemptions,gpu >"$scratch/out"
	is "csv" "$(cat "$scratch/out")" ",,51234"
	for args in list 'list --json' 'list --by job' why 'top -b -n 1'; do
		# shellcheck disable=SC2086 # words
		status 0 "$built/view" $args >"$scratch/out"
		is "said by $args" "$(cat "$err")" "gpreemptctl: own processes alone are shown; as root (CAP_SYS_ADMIN) all is"
	done
	top 24 120 '' -n 1
	is "top" "$(head -n 2 "$scratch/out" | tail -n 1 | cut -c 1-86)" "gpu 51234  -  hws/hpf  used -  queues 0  off 0  preemptions -  failures -  slots 26/24"
	has "$scratch/out" "own processes alone are shown; as root (CAP_SYS_ADMIN) all is"
	rm "$MACHINE/sys/no-rights"
	view status
}

# cgroup PATH: makes it; its number on stdout
cgroup()
{
	mkdir -p "$MACHINE/sys/fs/cgroup$1"
	touch "$MACHINE/sys/fs/cgroup/cgroup.procs"
	stat -c %i "$MACHINE/sys/fs/cgroup$1"
}

# began PID TICKS: a process began so long after boot
began()
{
	echo "$1 (a ) b) S 1 1 1 0 -1 4194304 1 0 0 0 5 6 0 0 20 0 1 0 $2 1000 20 18446744073709551615" >"$MACHINE/proc/$1/stat"
}

# accounted_machine: the busy one, whose module has an account. $step and $pod are the numbers of cgroups.
accounted_machine()
{
	busy_machine
	mkdir -p "$MACHINE/proc/sys/kernel/random"
	echo 6d3c5a5e-0000-4000-8000-000000000001 >"$MACHINE/proc/sys/kernel/random/boot_id"
	step=$(cgroup /system.slice/slurmstepd.scope/job_1234/step_0/user/task_0)
	pod=$(cgroup "/kubepods.slice/kubepods-pod$slice_uid.slice/cri-containerd-$other.scope")
	began 4001 500
	cat >"$MACHINE/account" <<-END
		node 51235 0 0 0 2 1333 0 0 417 1000
		cgroup 51235 $pod 0 0 1 333 0 0 1 0
		node 51234 0 0 0 3 350 1900 1000 72 340
		cgroup 51234 18446744073709551000 0 0 0 50 1 0 9 0
		cgroup 51234 $step 0 0 1 100 900 800 8 0
		job 51234 0 7 0 2 100 1900 1000 8 0
		job 51234 0 7 0 1 250 0 0 64 0
		process 51234 $step 7 4001 1 0 1000 900 0 0
	END
}

# Two users have set a job of the number 7.
the_account_says_who_used_how_much()
{
	local step pod

	accounted_machine
	USAGE=10 view account
	sed "s/ $step / @STEP /; s/ $pod / @POD /" "$scratch/out" | tr -s ' ' >"$scratch/account"
	diff -u - "$scratch/account" <<-END
		WHOSE GPU ID PROCS USED_S BUSY_S WAIT_S OFF_S WAVE_S PLACE NAME
		node 51234 51234 3 3.400 3.500 19.000 10.000 720.0 - AMD Instinct MI210
		cgroup 51234 @STEP 1 - 1.000 9.000 8.000 80.0 slurm:1234.0 /system.slice/slurmstepd.scope/job_1234/step_0/user/task_0
		cgroup 51234 18446744073709551000 0 - 0.500 0.010 0.000 90.0 - -
		job 51234 7 3 - 3.500 19.000 10.000 720.0 - -
		process 51234 4001 1 - 0.000 10.000 9.000 0.0 slurm:1234.0 train
		node 51235 51235 2 10.000 13.330 0.000 0.000 4170.0 - gfx942
		cgroup 51235 @POD 1 - 3.330 0.000 0.000 10.0 pod:1b4e28ba,containerd:001122334455 /kubepods.slice/kubepods-pod$slice_uid.slice/cri-containerd-$other.scope
	END
	USAGE=10 view account node -g 51235
	is "lines" "$(wc -l <"$scratch/out")" 2
}

list_says_whose_stops_are_followed()
{
	new_machine
	queue 4001 51234 0 1 active/always 7 1 0 0 0 1
	queue 4001 51234 1 1 idle/never 7 0 0 0 0 2
	queue 4002 51234 2 1 idle 7 0 0 0 0 2
	view list
	is "flags" "$(awk 'NR > 1 { print $7, $8 }' "$scratch/out" | tr '\n' ,)" "active F,idle N,idle 0,"
	view list --json
	is "members" "$(grep -o '"follow_stop": *"[a-z]*"' "$scratch/out" | grep -o '[a-z]*"$' | tr -d '"' | tr '\n' ' ')" "always never node "
}

list_says_who_waits_and_who_was_lent()
{
	new_machine
	queue 4001 51234 0 1 active/waits 7 1 0 0 0 1
	queue 4002 51234 1 1 active/lent -3 1 0 0 0 1
	view list
	is "flags" "$(awk 'NR > 1 { print $7, $8 }' "$scratch/out" | tr '\n' ,)" "active W,active L,"
	view list --json
	is "members" "$(grep -oE '"(waits|lent)": *[a-z]+' "$scratch/out" | tr -d ' "' | tr '\n' ' ')" "waits:true lent:false waits:false lent:true "
}

# Of the users 65001 and 65002 there is more than the scheduler remembers, and of users that it does not tell apart.
what_is_not_remembered_is_told_by_user()
{
	local step pod

	accounted_machine
	cat >>"$MACHINE/account" <<-END
		cgroup 51235 0 0 65001 0 100 0 0 3 0
		cgroup 51235 0 0 -1 0 5 0 0 1 0
		job 51235 0 0 65002 0 10 0 0 1 0
		job 51235 0 0 65001 0 10 0 0 1 0
	END
	USAGE=10 view account cgroup job -g 51235
	tr -s ' ' <"$scratch/out" | grep 'older ones' >"$scratch/rests"
	diff -u - "$scratch/rests" <<-END
		cgroup 51235 0 0 - 1.000 0.000 0.000 30.0 - older ones of uid 65001
		cgroup 51235 0 0 - 0.050 0.000 0.000 10.0 - older ones of other users
		job 51235 0 0 - 0.100 0.000 0.000 10.0 - older ones of uid 65001
		job 51235 0 0 - 0.100 0.000 0.000 10.0 - older ones of uid 65002
	END
	USAGE=2 view account -g 51235 --csv
	is "users" "$(awk -F, '$4 == 0 { print $1, $7, $13 }' "$scratch/out" | tr '\n' ,)" \
		"cgroup 65001 200000000,cgroup 4294967295 10000000,job 65001 20000000,job 65002 20000000,"
	USAGE=2 view account --json
	cp "$scratch/out" "$scratch/before"
	python3 - "$scratch/out" <<-'END'
		import json, sys
		rests = [u for u in json.load(open(sys.argv[1]))["usage"] if u["kind"] in ("cgroup", "job") and "cgroup" not in u and "job" not in u]
		assert [(u["kind"], u["uid"], u["busy_ns"]) for u in rests] == [("cgroup", 65001, 200000000), ("cgroup", 4294967295, 10000000),
				("job", 65001, 20000000), ("job", 65002, 20000000)], rests
	END
	sed -i 's/^job 51235 0 0 65002 0 10/job 51235 0 0 65002 0 11/' "$MACHINE/account"
	USAGE=2 view account job -g 51235 --since "$scratch/before"
	is "since" "$(awk '/older ones/ { print $NF, $6 }' "$scratch/out" | tr '\n' ,)" "65002 0.002,65001 0.000,"
	USAGE=2 view account --prometheus
	is "counters" "$(grep -E '_(cgroup|job)_busy.*uid=' "$scratch/out" | sed 's/.*busy_seconds_total//' | tr '\n' ' ')" \
		"$(printf '%s ' '{gpu_id="51235",bdf="0000:c6:00.0",cgroup="0",uid="65001"} 0.200000000' \
			'{gpu_id="51235",bdf="0000:c6:00.0",cgroup="0",uid="4294967295"} 0.010000000' \
			'{gpu_id="51235",bdf="0000:c6:00.0",gpreempt_job="0",uid="65002"} 0.022000000' \
			'{gpu_id="51235",bdf="0000:c6:00.0",gpreempt_job="0",uid="65001"} 0.020000000')"
}

a_node_without_an_account_is_named()
{
	local step pod gpu

	accounted_machine
	for gpu in 51234 51235; do
		mkdir -p "$MACHINE/sys/class/kfd/kfd/gpreempt/$gpu/tunables"
		echo $((gpu % 2)) >"$MACHINE/sys/class/kfd/kfd/gpreempt/$gpu/tunables/account"
	done
	USAGE=10 status 0 "$built/view" account cgroup >"$scratch/out"
	is "said" "$(cat "$err")" "gpreemptctl: gpu 51234 keeps no account now; gpreemptctl tune account=1, or with -g for this GPU alone"
}

the_account_is_for_programs_as_well()
{
	local step pod

	accounted_machine
	USAGE=2 view account --json
	python3 - "$scratch/out" "$step" "$pod" "$uid" "$other" <<-'END'
		import json, sys
		d = json.load(open(sys.argv[1]))
		step, pod = int(sys.argv[2]), int(sys.argv[3])
		assert d["schema_version"] == 1 and d["time_ns"] == 2000000000 and d["boot_id"].endswith("1") and "interval_ns" not in d
		mi210 = dict(gpu_id=51234, bdf="0000:c1:00.0", device_name="AMD Instinct MI210")
		u = d["usage"]
		assert u[0] == dict(mi210, kind="node", processes=3, busy_ns=700000000, waiting_ns=3800000000, wave_us=144000000, preempted_ns=2000000000,
				    used_ns=680000000), u[0]
		assert u[1] == dict(mi210, kind="cgroup", cgroup=step, cgroup_path="/system.slice/slurmstepd.scope/job_1234/step_0/user/task_0", slurm_job="1234",
				    slurm_step="0", processes=1, busy_ns=200000000, waiting_ns=1800000000, wave_us=16000000, preempted_ns=1600000000), u[1]
		assert u[2]["cgroup"] == 18446744073709551000 and "cgroup_path" not in u[2], u[2]
		assert u[3] == dict(mi210, kind="job", job=7, processes=3, busy_ns=700000000, waiting_ns=3800000000, wave_us=144000000, preempted_ns=2000000000), u[3]
		assert u[4] == dict(mi210, kind="process", cgroup=step, job=7, pid=4001, started=500, command="train", uid=65001, slurm_job="1234", slurm_step="0",
				    processes=1, busy_ns=0, waiting_ns=2000000000, wave_us=0, preempted_ns=1800000000), u[4]
		assert u[6]["container_id"] == sys.argv[5] and u[6]["pod_uid"] == sys.argv[4] and u[6]["container_engine"] == "containerd", u[6]
	END
	USAGE=2 view account node cgroup process --csv
	shown <<-END
		kind,gpu_id,bdf,id,cgroup,job,uid,container_id,pod_uid,slurm_job,slurm_step,processes,busy_ns,waiting_ns,preempted_ns,wave_us,used_ns
		node,51234,0000:c1:00.0,51234,0,0,,,,,,3,700000000,3800000000,2000000000,144000000,680000000
		cgroup,51234,0000:c1:00.0,$step,$step,0,,,,1234,0,1,200000000,1800000000,1600000000,16000000,
		cgroup,51234,0000:c1:00.0,18446744073709551000,18446744073709551000,0,,,,,,0,100000000,2000000,0,18000000,
		process,51234,0000:c1:00.0,4001,$step,7,65001,,,1234,0,1,0,2000000000,1800000000,0,
		node,51235,0000:c6:00.0,51235,0,0,,,,,,2,2666000000,0,0,834000000,2000000000
		cgroup,51235,0000:c6:00.0,$pod,$pod,0,,$other,$uid,,,1,666000000,0,0,2000000,
	END
}

# waited: seconds that each has waited, in the order of the table
waited()
{
	awk 'NR > 1 { print $1, $2, $7 }' "$scratch/out" | tr '\n' ,
}

# As who bills by the hour would ask
the_account_is_told_since_an_earlier_one()
{
	local step pod all="node 51234 57.000,cgroup 51234 27.000,cgroup 51234 0.030,job 51234 57.000,process 51234 30.000,node 51235 0.000,cgroup 51235 0.000,"

	accounted_machine
	USAGE=10 view account --json
	cp "$scratch/out" "$scratch/before"
	USAGE=13 view account --since "$scratch/before"
	is "three seconds" "$(waited)" "node 51234 5.700,cgroup 51234 2.700,cgroup 51234 0.003,job 51234 5.700,process 51234 3.000,node 51235 0.000,cgroup 51235 0.000,"
	USAGE=13 view account node --json --since "$scratch/before"
	is "interval and used" "$(tr -d ' ,' <"$scratch/out" | grep -E 'interval_ns|used_ns' | tr '\n' ' ')" '"interval_ns":3000000000 "used_ns":1020000000 "used_ns":3000000000 '
	# Another process of the same number has used what it has used.
	began 4001 600
	USAGE=30 view account process --since "$scratch/before"
	is "another process" "$(waited)" "process 51234 30.000,"
	# The driver was loaded again: what has become less began anew.
	USAGE=5 view account node --since "$scratch/before"
	is "loaded again" "$(waited)" "node 51234 9.500,node 51235 0.000,"
	# The machine was booted again
	echo 6d3c5a5e-0000-4000-8000-000000000002 >"$MACHINE/proc/sys/kernel/random/boot_id"
	USAGE=30 view account --since "$scratch/before"
	is "booted again" "$(waited)" "$all"
	status 1 "$built/view" account --since /dev/null
	is "message" "$(cat "$err")" "gpreemptctl: /dev/null is no output of: gpreemptctl account --json"
	echo '{"usage":3}' >"$scratch/before"
	status 1 "$built/view" account --since "$scratch/before"
}

metrics_have_what_was_used()
{
	local step pod promtool

	accounted_machine
	# On both nodes
	echo "cgroup 51235 $step 0 0 1 5 0 0 1 0" >>"$MACHINE/account"
	USAGE=3 view stats --prometheus
	has "$scratch/out" 'gpreempt_node_used_seconds_total{gpu_id="51234"} 1.020000000'
	has "$scratch/out" 'gpreempt_node_wave_seconds_total{gpu_id="51235"} 1251.000000'
	has "$scratch/out" "gpreempt_cgroup_preempted_seconds_total{gpu_id=\"51234\",bdf=\"0000:c1:00.0\",cgroup=\"$step\"} 2.400000000"
	has "$scratch/out" "gpreempt_cgroup_info{cgroup=\"$step\",container_engine=\"\",container_id=\"\",pod_uid=\"\",slurm_job=\"1234\",slurm_step=\"0\"} 1"
	has "$scratch/out" "gpreempt_cgroup_info{cgroup=\"$pod\",container_engine=\"containerd\",container_id=\"$other\",pod_uid=\"$uid\",slurm_job=\"\",slurm_step=\"\"} 1"
	has "$scratch/out" 'gpreempt_job_waiting_seconds_total{gpu_id="51234",bdf="0000:c1:00.0",gpreempt_job="7"} 5.700000000'
	not grep gpreempt_process_ "$scratch/out"
	is "twice" "$(grep -v '^#' "$scratch/out" | sed 's/ [^ ]*$//' | sort | uniq -d)" ""
	grep -E '^gpreempt_(node_(used|busy|waiting|preempted|wave)_|cgroup_|job_)' "$scratch/out" >"$scratch/in_stats"
	USAGE=3 view account --prometheus
	diff -u "$scratch/in_stats" <(grep -v '^#' "$scratch/out")
	USAGE=3 view account process --prometheus
	is "of a process" "$(grep '^gpreempt_process_waiting' "$scratch/out")" \
		"gpreempt_process_waiting_seconds_total{gpu_id=\"51234\",bdf=\"0000:c1:00.0\",cgroup=\"$step\",gpreempt_job=\"7\",pid=\"4001\",uid=\"65001\",container_engine=\"\",container_id=\"\",pod_uid=\"\",slurm_job=\"1234\",slurm_step=\"0\"} 3.000000000"
	is "series" "$(grep -vc '^#' "$scratch/out")" 4
	promtool=$(command -v promtool || echo "$GPREEMPT_CACHE/unpacked/$("$TOP/dkms/release.sh" promtool)/usr/bin/promtool")
	USAGE=3 view account node cgroup job process --prometheus
	[ ! -x "$promtool" ] || "$promtool" check metrics <"$scratch/out"
}

# As many series as there are cgroups and jobs with processes, and some that have ended: the last of them
what_has_ended_is_a_bounded_number_of_series()
{
	local step pod n

	accounted_machine
	for n in $(seq 1000 1199); do
		echo "cgroup 51234 $n 0 0 0 1 0 0 0 0"
		echo "job 51235 0 $n 0 0 1 0 0 0 0"
	done >>"$MACHINE/account"
	echo "cgroup 51234 2000 0 0 1 1 0 0 0 0" >>"$MACHINE/account"
	USAGE=1 view account --prometheus
	grep '^gpreempt_cgroup_busy.*gpu_id="51234"' "$scratch/out" | sed 's/.*cgroup="//; s/".*//' | grep -v '^1[01]..$' | sort >"$scratch/others"
	is "cgroups with processes" "$(tr '\n' ' ' <"$scratch/others")" "$(printf '%s\n' "$step" 2000 | sort | tr '\n' ' ')"
	is "cgroups without" "$(grep '^gpreempt_cgroup_busy' "$scratch/out" | grep -oE 'cgroup="1[01][0-9]{2}"' | tr -dc '0-9\n' | awk 'NR == 1 { print $1 } END { print NR, $1 }' | tr '\n' ' ')" "1136 64 1199 "
	is "jobs without" "$(grep -c '^gpreempt_job_busy.*gpu_id="51235"' "$scratch/out")" 64
}

without_an_account_that_is_said()
{
	busy_machine
	status 3 "$built/view" account
	is "message" "$(cat "$err")" "gpreemptctl: the module keeps no account; update it"
}

# ---- what a Slurm step has used ----

# step_machine: one whose module has seen a step: with cgroups of two tasks, of a container in one of them, and another step's
step_machine()
{
	local top=/system.slice/slurmstepd.scope/job_5

	new_machine
	mkdir -p "$MACHINE/run" "$MACHINE/proc/4711"
	echo "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0" >"$MACHINE/proc/self/mounts"
	echo "0::$top/step_0/user/task_0" >"$MACHINE/proc/4711/cgroup"
	cat >"$MACHINE/account" <<-END
		cgroup 51234 $(cgroup $top/step_0/user/task_0) 0 0 0 1500 250 200 64 0
		cgroup 51235 $(cgroup $top/step_0/user/task_0) 0 0 0 500 0 0 64 0
		cgroup 51234 $(cgroup $top/step_0/user/task_1/nested) 0 0 0 1000 0 0 0 0
		cgroup 51234 $(cgroup $top/step_1/user/task_0) 0 0 0 7000 0 0 0 0
		node 51234 0 0 0 0 9500 250 200 64 9000
	END
	: >"$scratch/comment"
}

# step STATUS WORD...: of step.c, with tasks that end
step()
{
	local wanted=$1

	shift
	COMMENT=$scratch/comment USAGE=${USAGE:-1} status "$wanted" "$built/step" "$@"
}

a_step_notes_what_it_has_used()
{
	local node

	echo '#include <slurm/spank.h>' | gcc -E - >/dev/null 2>&1 || skip "libslurm-dev is not installed"
	# shellcheck disable=SC2086 # words
	gcc $sanitizers -I"$TOP/include/uapi" -I"$TOP/lib" -I"$TOP/integrations/common" -o "$built/step" "$scratch/machine.o" \
		"$TOP/tools/testing/integrations/step.c" "$TOP"/integrations/slurm/*.c "$TOP"/integrations/common/*.c "$TOP"/lib/{gpreempt,parse}.c $wrap -ljson-c
	node=$(hostname -s)
	step_machine
	step 0 all=-500..500
	is "without the word" "$(cat "$scratch/comment")" ""
	step 0 account=none
	is "with none" "$(cat "$scratch/comment")" ""
	TASKS=2 step 0 account=admincomment
	is "messages" "$(cat "$err")" ""
	is "with it" "$(cat "$scratch/comment")" "gpreempt:$node:busy=3.000000,waiting=0.250000,preempted=0.200000,waves=128.000000"
	# Another step, and what others have written
	echo "site=7 $(cat "$scratch/comment") gpreempt:x$node:busy=1.000000,waiting=0.000000,preempted=0.000000,waves=0.000000 end" | tr -d '\n' >"$scratch/before"
	cp "$scratch/before" "$scratch/comment"
	USAGE=2 step 0 account=admincomment
	is "added" "$(cat "$scratch/comment")" \
		"site=7 gpreempt:$node:busy=9.000000,waiting=0.750000,preempted=0.600000,waves=384.000000 gpreempt:x$node:busy=1.000000,waiting=0.000000,preempted=0.000000,waves=0.000000 end"
	# What is no note of ours
	echo "gpreempt:$node:busy=x gpreempt: gpreempt:$node" | tr -d '\n' >"$scratch/comment"
	step 0 account=admincomment
	is "nonsense" "$(cat "$scratch/comment")" "gpreempt:$node:busy=3.000000,waiting=0.250000,preempted=0.200000,waves=128.000000 gpreempt: gpreempt:$node"
	# One that has used nothing
	: >"$scratch/comment"
	rm "$MACHINE/account"
	step 0 account=admincomment
	is "nothing" "$(cat "$scratch/comment")" ""
}

# noted BEFORE AFTER: what a step's note makes of a comment of others
noted()
{
	printf '%s' "$1" >"$scratch/comment"
	step 0 account=admincomment
	is "of $1" "$(cat "$scratch/comment")" "$2"
}

# What is a JSON object stays one, with all that is in it, to the byte.
notes_leave_json_of_others_alone()
{
	local node numbers twice member before

	[ -x "$built/step" ] || skip "libslurm-dev is not installed"
	node=$(hostname -s)
	step_machine
	numbers='"busy":3.000000,"waiting":0.250000,"preempted":0.200000,"waves":128.000000'
	twice='"busy":6.000000,"waiting":0.500000,"preempted":0.400000,"waves":256.000000'
	member="\"gpreempt\":{\"$node\":{$numbers}}"
	noted '{}' "{$member}"
	noted ' { "a" : 1 } ' " { \"a\" : 1,$member } "
	for before in '"n":123456789012345678901234567890' '"f":1.10,"f":2' '"s":"a\/b } \u00e9 gpreempt:x"' '"l":[1,{"gpreempt":{}}], "t":true' \
		"\"gpreempt2\":{\"$node\":{}}" "$(printf '"d":%s%s' "$(printf '[%.0s' $(seq 100))" "$(printf ']%.0s' $(seq 100))")"; do
		noted "{$before}" "{$before,$member}"
		noted "{$before,$member}" "{$before,\"gpreempt\":{\"$node\":{$twice}}}"
	done
	# Another node's, and ours as somebody else has printed it
	noted "{$member, \"z\":0}" "{\"gpreempt\":{\"$node\":{$twice}}, \"z\":0}"
	noted '{"a":1,"gpreempt":{"x":{"busy":1.000000}}}' "{\"a\":1,\"gpreempt\":{\"x\":{\"busy\":1.000000},\"$node\":{$numbers}}}"
	noted "{ \"gpreempt\" : { \"$node\": { \"busy\": 3, \"waiting\": 0.25, \"preempted\": 0.2, \"waves\": 128 } }, \"a\": \"b/c\" }" \
		"{\"gpreempt\":{\"$node\":{$twice}},\"a\":\"b/c\"}"
	is "messages" "$(cat "$err")" ""
	# No object, or a key of that name that is another's: nothing may be added.
	for before in '[1,2]' '"words"' '{"gpreempt":"other"}' '{"gpreempt":[]}'; do
		noted "$before" "$before"
		is "message" "$(cat "$err")" "gpreempt: AdminComment of job 5 is JSON without room for a key, and stays"
	done
	# Almost JSON, and what only looks like it
	for before in '{"a":1' '{"a":1} site=7' 42 null true 'x {"a":1}'; do
		noted "$before" "$before gpreempt:$node:busy=3.000000,waiting=0.250000,preempted=0.200000,waves=128.000000"
	done
	printf '{"a":1}' >"$scratch/comment"
	NODES=2 OTHER='{"a":1,"gpreempt":{"other":{"busy":1.000000}}}' step 0 account=admincomment
	is "two nodes" "$(cat "$scratch/comment")" "{\"a\":1,\"gpreempt\":{\"other\":{\"busy\":1.000000},\"$node\":{$numbers}}}"
}

# Steps of a node at once, and another node that has read the comment before and writes later
no_note_is_lost()
{
	local node n

	[ -x "$built/step" ] || skip "libslurm-dev is not installed"
	node=$(hostname -s)
	step_machine
	for n in 1 2 3 4 5 6 7 8; do
		step 0 account=admincomment &
	done
	wait
	is "eight steps" "$(cat "$scratch/comment")" "gpreempt:$node:busy=24.000000,waiting=2.000000,preempted=1.600000,waves=1024.000000"
	: >"$scratch/comment"
	NODES=2 OTHER="gpreempt:other:busy=1.000000,waiting=0.000000,preempted=0.000000,waves=0.000000" step 0 account=admincomment
	is "two nodes" "$(tr ' ' '\n' <"$scratch/comment" | cut -d, -f1 | tr '\n' ' ')" "gpreempt:other:busy=1.000000 gpreempt:$node:busy=3.000000 "
	is "messages" "$(cat "$err")" ""
	: >"$scratch/comment"
	REFUSES=1 step 0 account=admincomment
	has "$err" "gpreempt: AdminComment of job 5 does not say what it has used of GPUs here: Operation not permitted"
}

scripts_are_clean()
{
	linted tools/testing/gpreemptctl/view.sh
}

plan 55
must builds_without_warnings builds_without_warnings
tap cgroups_name_containers cgroups_name_containers
tap cgroups_name_pods cgroups_name_pods
tap cgroups_name_slurm_steps cgroups_name_slurm_steps
tap cgroups_name_what_others_run cgroups_name_what_others_run
tap a_sluid_has_the_number_that_its_processes_say a_sluid_has_the_number_that_its_processes_say
tap the_outermost_container_counts the_outermost_container_counts
tap other_cgroups_are_none_of_them other_cgroups_are_none_of_them
tap any_hierarchy_says_it any_hierarchy_says_it
tap ids_are_kept_whole ids_are_kept_whole
tap any_text_is_read any_text_is_read
tap pids_are_those_of_the_innermost_namespace pids_are_those_of_the_innermost_namespace
tap list_says_whose_each_queue_is list_says_whose_each_queue_is
tap jobs_are_added_up_by_user_place_and_gpu jobs_are_added_up_by_user_place_and_gpu
tap json_has_all_of_it json_has_all_of_it
tap nothing_to_list_is_a_table_without_lines nothing_to_list_is_a_table_without_lines
tap status_says_slots_and_devices status_says_slots_and_devices
tap devices_have_the_names_that_they_are_sold_under devices_have_the_names_that_they_are_sold_under
tap gpus_are_found_by_any_name gpus_are_found_by_any_name
tap unknown_and_ambiguous_gpus_are_told unknown_and_ambiguous_gpus_are_told
tap several_gpus_are_tuned several_gpus_are_tuned
tap rings_are_those_of_the_process_and_no_other rings_are_those_of_the_process_and_no_other
tap metrics_have_the_labels_of_jobs metrics_have_the_labels_of_jobs
tap more_processes_are_no_more_series more_processes_are_no_more_series
tap top_shows_jobs top_shows_jobs
tap list_says_how_much_each_queue_has_used list_says_how_much_each_queue_has_used
tap top_shows_what_was_used_since_the_look_before top_shows_what_was_used_since_the_look_before
tap top_cuts_jobs_that_do_not_fit top_cuts_jobs_that_do_not_fit
tap the_account_says_who_used_how_much the_account_says_who_used_how_much
tap list_says_whose_stops_are_followed list_says_whose_stops_are_followed
tap list_says_who_waits_and_who_was_lent list_says_who_waits_and_who_was_lent
tap what_is_not_remembered_is_told_by_user what_is_not_remembered_is_told_by_user
tap a_node_without_an_account_is_named a_node_without_an_account_is_named
tap the_account_is_for_programs_as_well the_account_is_for_programs_as_well
tap the_account_is_told_since_an_earlier_one the_account_is_told_since_an_earlier_one
tap metrics_have_what_was_used metrics_have_what_was_used
tap what_has_ended_is_a_bounded_number_of_series what_has_ended_is_a_bounded_number_of_series
tap without_an_account_that_is_said without_an_account_that_is_said
tap a_step_notes_what_it_has_used a_step_notes_what_it_has_used
tap notes_leave_json_of_others_alone notes_leave_json_of_others_alone
tap no_note_is_lost no_note_is_lost
tap tables_fit_the_terminal_and_are_whole_for_scripts tables_fit_the_terminal_and_are_whole_for_scripts
tap columns_are_chosen_and_rows_sorted columns_are_chosen_and_rows_sorted
tap columns_that_do_not_exist_are_refused columns_that_do_not_exist_are_refused
tap csv_has_quotes_where_they_are_needed csv_has_quotes_where_they_are_needed
tap filters_leave_the_same_in_text_csv_and_json filters_leave_the_same_in_text_csv_and_json
tap what_fits_nothing_is_a_head_alone what_fits_nothing_is_a_head_alone
tap unknown_users_and_states_are_refused_by_name unknown_users_and_states_are_refused_by_name
tap the_account_is_filtered_as_well the_account_is_filtered_as_well
tap what_is_hidden_is_a_dash_and_said_once what_is_hidden_is_a_dash_and_said_once
tap top_shows_first_what_is_off_and_counts_what_does_not_fit top_shows_first_what_is_off_and_counts_what_does_not_fit
tap top_leaves_room_below_many_gpus top_leaves_room_below_many_gpus
tap top_searches_filters_and_explains_its_keys top_searches_filters_and_explains_its_keys
tap top_needs_no_terminal_in_batch_mode top_needs_no_terminal_in_batch_mode
tap scripts_are_clean scripts_are_clean
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# cluster.sh - Slurm's and the container runtimes' way to a priority: Debian's slurmctld, slurmd, slurmdbd with MariaDB, munge, crun, runc, containerd
# and podman on one machine, in a throw-away system
#
# There is no GPU: device.c beside this stands for /dev/kfd_gpreempt, for every program in there. The plugin, the hook and gpreemptctl are the
# real ones, from our packages, and the cgroups are real as well.
# shellcheck source=tools/testing/integrations/slurm_system.sh
. "$(dirname "$0")/slurm_system.sh"

throwaway "slurmctld slurmd slurmdbd slurm-client munge mariadb-server-core mariadb-client-core libjson-c5 libncurses6 crun runc containerd podman procps libprotobuf-c1" "$@"

out=$scratch/out
built=$BUILD/integrations
node=$(hostname -s)
cgroups=$root/sys/fs/cgroup
plugstack="required spank_gpreempt.so all=-500..500 partition:night=batch..-50 partition:other=0..0 qos:low=-500..-10 qos:urgent=latency..500 share:batch=max=30"

# The cgroups are the machine's: a run that was killed leaves its own.
clear_cgroups()
{
	find "$cgroups"/{kfd_gpreempt,test,kubepods,kubepods.slice} -depth -type d -exec rmdir {} + 2>/dev/null || true
}

prepare()
{
	make -s -C "$TOP/integrations" O="$built" CFLAGS="-O2 -g -Werror"
	gcc -O2 -Wall -Wextra -Werror -shared -fPIC -I"$TOP/include/uapi" -I"$TOP/integrations/common" -I"$TOP/lib" -o "$root/opt/device.so" \
		"$TOP/tools/testing/integrations/device.c" "$TOP/integrations/common/place.c" "$TOP/lib/parse.c" "$TOP/lib/gpreempt.c" -ldl
	install_ours slurm-gpreempt-plugin gpreempt-oci-hook gpreempt-tools
	echo /opt/device.so >"$root/etc/ld.so.preload"
	mkdir -p "$cgroups" "$root/sys/devices"
	mount -t cgroup2 cgroup2 "$cgroups"
	clear_cgroups
	# Slurm counts processors there.
	mount --bind /sys/devices "$root/sys/devices"
	slurm_conf "SlurmctldHost=$node(127.0.0.1)" "SlurmctldPort=26817" "SlurmdPort=26818" \
		"CommunicationParameters=NoCtldInAddrAny,NoInAddrAny" "SlurmctldPidFile=/run/slurmctld.pid" "SlurmdPidFile=/run/slurmd.pid" \
		"AccountingStorageType=accounting_storage/slurmdbd" "AccountingStorageHost=127.0.0.1" "AccountingStoragePort=26819" \
		"AccountingStorageEnforce=associations,qos" "GresTypes=gpu,shard" \
		"NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) Gres=gpu:1,shard:4 State=UNKNOWN" \
		"PartitionName=interactive Nodes=$node Default=YES OverSubscribe=FORCE:4" "PartitionName=night Nodes=$node OverSubscribe=FORCE:4"
	cat >"$root/etc/slurm/slurmdbd.conf" <<-END
		AuthType=auth/munge
		DbdHost=localhost
		DbdAddr=127.0.0.1
		DbdPort=26819
		SlurmUser=root
		StorageType=accounting_storage/mysql
		StorageHost=localhost
		StorageUser=root
		StorageLoc=slurm_acct_db
		PidFile=/run/slurmdbd.pid
		LogFile=/var/log/slurmdbd.log
	END
	chmod 600 "$root/etc/slurm/slurmdbd.conf"
	printf 'Name=gpu File=/dev/null\nName=shard Count=4\n' >"$root/etc/slurm/gres.conf"
	# Never used with these plugins, but looked for: a machine with both kinds of cgroups would be refused.
	echo "CgroupPlugin=cgroup/v1" >"$root/etc/slurm/cgroup.conf"
	echo "$plugstack" >"$root/etc/slurm/plugstack.conf"
	printf '127.0.0.1 localhost %s\n' "$node" >"$root/etc/hosts"
	mkdir -p "$root/var/spool/slurmctld" "$root/var/spool/slurmd" "$root/run/munge" "$root/dev/pts"
	in_root chown munge:munge /run/munge
	chmod 755 "$root/run/munge"
}

no_job()
{
	[ -z "$(in_root squeue -h)" ]
}

ready()
{
	[ "$(in_root sinfo -h -p interactive -o %T)" = idle ]
}

# The accounts: without them Slurm knows no QOS. Those of root are there from the beginning.
database()
{
	mkdir -p "$root/run/mysqld" "$root/var/lib/mysql"
	in_root mariadb-install-db --user=root --datadir=/var/lib/mysql --auth-root-authentication-method=normal --skip-test-db >"$out" 2>&1 ||
		{ tail -n 20 "$out"; return 1; }
	in_root mariadbd --user=root --datadir=/var/lib/mysql --socket=/run/mysqld/mysqld.sock --pid-file=/run/mysqld/mysqld.pid --skip-networking \
		--innodb-flush-method=fsync --innodb-use-native-aio=0 --innodb-buffer-pool-size=64M >"$root/var/log/mariadb.log" 2>&1 &
	wait_for 100 test -S "$root/run/mysqld/mysqld.sock"
	# slurmdbd makes it too, when its connection to a missing one has failed. On Debian 13 the client library allows no column in the results
	# of the next connection then (error 5027).
	in_root mariadb -u root -e "create database slurm_acct_db"
	in_root slurmdbd || { tail -n 20 "$root/var/log/slurmdbd.log"; return 1; }
	wait_for 100 in_root sacctmgr -n show cluster
	in_root sacctmgr -i add cluster test
	in_root sacctmgr -i add qos low,urgent
	in_root sacctmgr -i modify user root set qos=normal,low,urgent defaultqos=normal
}

start()
{
	in_root runuser -u munge -- /usr/sbin/munged
	database
	in_root slurmctld || { tail -n 20 "$root/var/log/slurmctld.log"; return 1; }
	in_root slurmd || { tail -n 20 "$root/var/log/slurmd.log"; return 1; }
	wait_for 60 ready
}

stop()
{
	local name pid

	for name in slurmd slurmctld slurmdbd mysqld/mysqld munge/munged; do
		pid=$(cat "$root/run/$name.pid" 2>/dev/null) && kill "$pid" 2>/dev/null
	done
	clear_cgroups
	umount -l "$cgroups" "$root/sys/devices" 2>/dev/null
	:
}

# job ARGUMENTS...: srun in the background, of a program that stands for one with a queue; $job is srun
job()
{
	in_root env GPREEMPT_TEST_QUEUE=1 srun "$@" sleep 1000 >"$scratch/job" 2>&1 &
	job=$!
	wait_for 60 listed || { cat "$scratch/job"; return 1; }
}

end_job()
{
	in_root scancel -u root
	wait "$job" 2>/dev/null || true
	wait_for 60 no_job
	wait_for 60 not listed
}

# priorities: of all queues of programs in jobs, as gpreemptctl lists them
priorities()
{
	in_root gpreemptctl list --json >"$out"
	python3 - "$out" "$root" <<-'END'
		import json, sys
		for q in json.load(open(sys.argv[1]))["queues"]:
		    if open(f"/proc/{q['pid']}/comm").read() == "sleep\n":
		        print(q["logical_priority"], q["source"])
	END
}

listed()
{
	[ -n "$(priorities)" ]
}

nobody_left()
{
	[ -z "$(find "$cgroups/kfd_gpreempt" -mindepth 1 -type d 2>/dev/null)" ]
}

job_has()
{
	local want=$1 got

	shift
	job "$@" || { end_job; return 1; }
	got=$(priorities)
	end_job
	is "queues of srun $*" "$got" "$want"
	wait_for 20 nobody_left
}

a_class()
{
	job_has "100 cgroup" --gpu-priority=latency
	job_has "-100 cgroup" --gpu-priority=batch
}

a_number()
{
	job_has "-42 cgroup" --gpu-priority=-42
	job_has "500 cgroup" --gpu-priority=500
}

nothing_asked()
{
	job_has "7 kfd"
}

moved_into_bounds()
{
	job_has "-50 cgroup" -p night
}

# not_run REASON COMMAND...: fails with that reason, and its program never ran
not_run()
{
	local reason=$1

	shift
	rm -f "$root/tmp/ran"
	! in_root timeout 100 "$@" >"$out" 2>&1 || { echo "it did not fail: $*"; cat "$out"; return 1; }
	has "$out" "$reason"
	[ ! -e "$root/tmp/ran" ] || { echo "it ran all the same: $*"; return 1; }
}

two_listed()
{
	[ "$(priorities | wc -l)" = 2 ]
}

# Two jobs on one GPU at once, which gres/shard gave to both.
shared_gpu()
{
	local first got

	job --gres=shard:2 --gpu-priority=latency || { end_job; return 1; }
	first=$job
	job --gres=shard:2 --gpu-priority=batch || { end_job; return 1; }
	wait_for 60 two_listed || { in_root squeue -l; end_job; return 1; }
	got=$(priorities | sort -n | tr '\n' ,)
	end_job
	wait "$first" 2>/dev/null || true
	is "queues" "$got" "-100 cgroup,100 cgroup,"
	wait_for 20 nobody_left
}

beyond_the_ceiling()
{
	not_run "--gpu-priority: 100 is more than what partition night" srun -p night --gpu-priority=latency touch /tmp/ran
	has "$out" "allows: -100 to -50"
	not_run "--gpu-priority: -200 is less than what partition night" srun -p night --gpu-priority=-200 touch /tmp/ran
	not_run "--gpu-priority: 501 is more than what partition interactive" srun --gpu-priority=501 touch /tmp/ran
}

bounds_of_a_qos()
{
	job_has "-10 cgroup" --qos=low
	job_has "100 cgroup" --qos=urgent
	job_has "300 cgroup" --qos=urgent --gpu-priority=300
	not_run "--gpu-priority: 100 is more than what partition interactive and QOS low allows: -500 to -10" srun --qos=low --gpu-priority=latency touch /tmp/ran
	not_run "--gpu-priority: 7 is less than what partition interactive and QOS urgent allows: 100 to 500" srun --qos=urgent --gpu-priority=normal touch /tmp/ran
}

# Partition and QOS that contradict each other: the lower ceiling.
bounds_that_contradict()
{
	job_has "-50 cgroup" -p night --qos=urgent
	not_run "and QOS urgent allows: -50 to -50" srun -p night --qos=urgent --gpu-priority=latency touch /tmp/ran
}

nonsense()
{
	not_run "--gpu-priority=urgent: not latency, normal, batch or a number from -1023 to 1023" srun --gpu-priority=urgent touch /tmp/ran
	not_run "--gpu-priority=5000: not latency" srun --gpu-priority=5000 touch /tmp/ran
}

# jobs: of all queues of programs named so, "WHOSE STAYS"; WHOSE is step, container or other, by the cgroup that has the id
jobs_of()
{
	in_root gpreemptctl job list --json >"$out"
	python3 - "$out" "$cgroups" "$root/tmp/gpreempt-device.stay" "$1" <<-'END'
		import json, os, sys
		out, cgroups, stay, program = sys.argv[1:]
		ids = {os.stat(at).st_ino: at for at, _, _ in os.walk(cgroups)}
		staying = open(stay).read().split()[1::2] if os.path.exists(stay) else []
		for q in json.load(open(out))["queues"]:
		    if program not in open(f"/proc/{q['pid']}/cmdline").read():
		        continue
		    at = os.path.relpath(ids.get(q["job"], cgroups), cgroups)
		    own = open(f"/proc/{q['pid']}/cgroup").read().split("0::/")[1].strip()
		    print("own" if own == at else f"{at}, not {own}", "stays" if str(q["job"]) in staying else "leaves")
	END
}

# step_has jobs|shares WANTED ARGUMENTS...: what the scheduler was told for a step, with a comma behind each line; of two tasks both are known
step_has()
{
	local of=$1 want=$2 got

	shift 2
	rm -f "$root"/tmp/gpreempt-device.{stay,jobs,shares}
	job "$@" || { end_job; return 1; }
	[ "$of" = shares ] || wait_for 60 two_listed || { end_job; return 1; }
	got=$("${of}_of" sleep | tr '\n' ,)
	end_job
	is "$of of srun $*" "$got" "$want"
	wait_for 20 nobody_left
}

steps_are_jobs()
{
	step_has jobs "own leaves,own leaves," -n2 -O --gpu-job=leave
	step_has jobs "own stays,own stays," -n2 -O --gpu-job=stay --gpu-priority=batch
	step_has jobs "" -n2 -O --gpu-job=none
	step_has jobs "" -n2 -O
	not_run "--gpu-job=together: not leave, stay or none" srun --gpu-job=together touch /tmp/ran
}

# shares_of PROGRAM: what was set for the cgroup that its processes are in, "WEIGHT MIN QUOTA/PERIOD"; any other line as it is
shares_of()
{
	python3 - "$root/tmp/gpreempt-device.shares" "$1" <<-'END'
		import os, sys
		def own(pid):
		    try:
		        return sys.argv[2] in open(f"/proc/{pid}/cmdline").read() and open(f"/proc/{pid}/cgroup").read().split("0::")[1].strip()
		    except OSError:
		        return None
		cgroups = {own(pid) for pid in os.listdir("/proc") if pid.isdigit()} - {None, False}
		lines = open(sys.argv[1]).read().splitlines() if os.path.exists(sys.argv[1]) else []
		for line in sorted(set(lines)):
		    path, share = line.split(" ", 1)
		    print(share if any(c == path or c.startswith(path + "/") for c in cgroups) else line)
	END
}

steps_have_shares()
{
	step_has shares "300 20 5000/50000," --gpu-share-weight=300 --gpu-share-min=20 --gpu-share-max=5000/50000
	step_has shares "40 0 6000/20000," --gpu-priority=batch --gpu-share-weight=40
	step_has shares ""
	not_run "--gpu-share-weight: weight=0 is not in 1..10000" srun --gpu-share-weight=0 touch /tmp/ran
	not_run "max=6200/20000 is more than the administrator allows, which is 6000/20000; no share is in force" \
		srun --gpu-priority=batch --gpu-share-max=31 touch /tmp/ran
	wait_for 60 ready
}

finished()
{
	! in_root scontrol -o show job "$1" | grep -qE 'JobState=(PENDING|RUNNING|CONFIGURING|COMPLETING)'
}

# A batch script does not come through srun, and its environment is its owner's: what counts is what slurmctld says.
batch_beyond_the_ceiling()
{
	local id

	rm -f "$root/tmp/ran"
	printf '#!/bin/sh\ntouch /tmp/ran\n' >"$root/tmp/script"
	id=$(in_root env SLURM_JOB_PARTITION=interactive sbatch --parsable -p night --gpu-priority=latency -o /tmp/said /tmp/script)
	wait_for 60 finished "$id"
	[ ! -e "$root/tmp/ran" ] || { echo "it ran"; return 1; }
	has "$root/tmp/said" "100 is more than what partition night"
	wait_for 60 ready
	id=$(in_root sbatch --parsable -p night --gpu-priority=batch -o /dev/null /tmp/script)
	wait_for 60 finished "$id"
	[ -e "$root/tmp/ran" ] || { echo "one within the bounds did not run"; return 1; }
}

# comment_of ID: AdminComment of a job that has ended, as accounting has it
comment_of()
{
	in_root sacct -n -X -P -j "$1" -o AdminComment
}

has_comment()
{
	[ -n "$(comment_of "$1")" ]
}

# ended_as NAME: number of the last job of this name, once accounting knows its end
ended_as()
{
	in_root sacct -n -X -P --name="$1" --state=COMPLETED -S now-1hour -E now -o JobID | tail -n 1
}

has_ended_as()
{
	[ -n "$(ended_as "$1")" ]
}

# A task uses what its arguments say: busy, waiting and preempted milliseconds, waves
usage_is_noted()
{
	local id

	cat >"$root/tmp/uses" <<-'END'
		#!/bin/sh
		path=$(sed -n 's/^0:://p' /proc/self/cgroup)
		echo "$(stat -c %i "/sys/fs/cgroup$path") $*" >>/tmp/gpreempt-device.usage
	END
	printf '#!/bin/sh\nsrun /tmp/uses 1500 250 200 64\nsrun -n2 -O /tmp/uses 500 0 0 32\n' >"$root/tmp/script"
	chmod 755 "$root/tmp/uses" "$root/tmp/script"
	: >"$root/tmp/gpreempt-device.usage"
	in_root srun -J before /tmp/uses 1000 0 0 0
	is "who has used something" "$(wc -l <"$root/tmp/gpreempt-device.usage")" 1
	echo "$plugstack account=admincomment" >"$root/etc/slurm/plugstack.conf"
	id=$(in_root sbatch --parsable -H -o /dev/null /tmp/script)
	in_root scontrol update job="$id" admincomment="site=7"
	in_root scontrol release "$id"
	wait_for 100 finished "$id"
	wait_for 60 has_comment "$id"
	is "two steps, one of two tasks" "$(comment_of "$id")" "site=7 gpreempt:$node:busy=2.500000,waiting=0.250000,preempted=0.200000,waves=128.000000"
	# One step, right before the end of its job
	: >"$root/tmp/gpreempt-device.usage"
	in_root srun -J one /tmp/uses 42 0 0 0
	wait_for 60 has_ended_as one
	id=$(ended_as one)
	wait_for 60 has_comment "$id"
	is "one step" "$(comment_of "$id")" "gpreempt:$node:busy=0.042000,waiting=0.000000,preempted=0.000000,waves=0.000000"
	# One that uses nothing
	in_root srun -J nothing true
	wait_for 60 has_ended_as nothing
	id=$(ended_as nothing)
	is "nothing" "$(comment_of "$id")" ""
	echo "$plugstack" >"$root/etc/slurm/plugstack.conf"
	wait_for 20 nobody_left
	# And before that there was no word of it.
	wait_for 60 has_ended_as before
	is "without the word" "$(comment_of "$(ended_as before)")" ""
}

without_the_module()
{
	rm "$root/etc/ld.so.preload"
	not_run "this node has no amdgpu with kfd_gpreempt" srun --gpu-priority=latency touch /tmp/ran
	wait_for 60 ready
	in_root srun touch /tmp/ran
	[ -e "$root/tmp/ran" ]
	echo /opt/device.so >"$root/etc/ld.so.preload"
}

#
# Containers
#

# What starts containers: a runtime by itself, containerd, or podman with a runtime. Podman finds the hook in hooks.d, the others in the bundle.
engines=(crun runc containerd podman-crun podman-runc)

# containerd without what takes an image or a network: its plugin for Kubernetes, and what it asks of file systems
start_containerd()
{
	cat >"$root/etc/containerd/config.toml" <<-END
		version = 2
		disabled_plugins = ["io.containerd.grpc.v1.cri"]
	END
	in_root containerd >"$root/var/log/containerd.log" 2>&1 &
	wait_for 100 in_root ctr version || { tail -n 20 "$root/var/log/containerd.log"; return 1; }
	containers_conf
}

podman()
{
	in_root podman --storage-driver=vfs "--runtime=${engine#podman-}" "$@"
}

# bundle NAME CGROUP ANNOTATIONS: what a runtime wants to be told, in /tmp/bundle-NAME
bundle()
{
	local bundle=$root/tmp/bundle-$1 hook

	hook=$(sed -n 's/.*"path": "\([^"]*\)".*/\1/p' "$root/usr/share/containers/oci/hooks.d/gpreempt.json")
	mkdir -p "$bundle/rootfs"/{bin,dev,etc,proc,run,sys,tmp}
	cp /bin/busybox "$bundle/rootfs/bin/busybox"
	cat >"$bundle/config.json" <<-END
		{ "ociVersion": "1.0.0", "root": { "path": "/tmp/bundle-$1/rootfs" },
		  "annotations": { ${3:+$3, }"run.oci.hooks.stderr": "/tmp/hook.log" },
		  "process": { "cwd": "/", "args": ["/bin/busybox", "sleep", "1000"], "env": ["GPREEMPT_TEST_QUEUE=1"], "user": { "uid": 0, "gid": 0 } },
		  "mounts": [ { "destination": "/proc", "type": "proc", "source": "proc" } ],
		  "hooks": { "createRuntime": [ { "path": "$hook" } ] },
		  "linux": { "cgroupsPath": "$2", "namespaces": [ { "type": "mount" }, { "type": "pid" } ] } }
	END
}

# run_container NAME CGROUP ANNOTATIONS: by $engine. Podman's are privileged, which is without a list of devices: crun would want a BPF program.
run_container()
{
	local annotation=()

	case $engine in
	crun)		in_root crun --cgroup-manager=cgroupfs run --no-pivot --detach -b "/tmp/bundle-$1" "$1" ;;
	runc)		in_root runc run --no-pivot --detach -b "/tmp/bundle-$1" "$1" ;;
	containerd)	in_root ctr run --no-pivot --detach --config "/tmp/bundle-$1/config.json" "$1" ;;
	podman-*)
		[ -z "$3" ] || annotation=(--annotation "$(echo "$3" | sed 's/^"\(.*\)": "\(.*\)"$/\1=\2/')")
		podman run --detach --privileged --ulimit host --name "$1" --cgroup-parent "$(dirname "$2")" "${annotation[@]}" \
			--annotation run.oci.hooks.stderr=/tmp/hook.log -e GPREEMPT_TEST_QUEUE=1 --rootfs "/tmp/bundle-$1/rootfs" /bin/busybox sleep 1000 ;;
	esac
}

# remove_container NAME: whatever has become of it
remove_container()
{
	case $engine in
	crun)		in_root crun --cgroup-manager=cgroupfs delete -f "$1" ;;
	runc)		in_root runc delete -f "$1" ;;
	containerd)
		in_root ctr task delete --force "$1" || true
		in_root ctr container delete "$1" ;;
	podman-*)	podman rm -f -t 0 "$1" ;;
	esac >/dev/null 2>&1
}

# container NAME CGROUP ANNOTATIONS [CONFIG]: runs one that waits, with our hook; 0 if it started
container()
{
	bundle "$@"
	printf '%s\n' "${4:-}" >"$root/etc/gpreempt-oci.conf"
	: >"$root/tmp/gpreempt-device"
	: >"$root/tmp/hook.log"
	run_container "$@" >"$out" 2>&1
}

container_priorities()
{
	in_root gpreemptctl list --json | python3 -c 'import json, sys
for q in json.load(sys.stdin)["queues"]:
    if "busybox" in open("/proc/%d/cmdline" % q["pid"]).read():
        print(q["logical_priority"], q["source"])'
}

container_listed()
{
	[ -n "$(container_priorities)" ]
}

container_gone()
{
	! container_listed
}

# container_has WANTED NAME CGROUP ANNOTATIONS [CONFIG]
container_has()
{
	local want=$1 got

	shift
	container "$@" || { cat "$out"; return 1; }
	wait_for 60 container_listed
	got=$(container_priorities)
	remove_container "$1"
	wait_for 60 container_gone
	is "queues of container $1" "$got" "$want"
}

containers()
{
	engine=$1
	container_has "100 cgroup" a1 /test/a1 '"kfd-gpreempt/priority": "latency"'
	container_has "-7 cgroup" a2 /test/a2 '"kfd-gpreempt/priority": "-7"'
	container_has "300 cgroup" a3 /test/a3 '"kfd-gpreempt/priority-class": "urgent"' 'class urgent = 300'
	container_has "-100 cgroup" a4 /kubepods/besteffort/a4 '' 'qos besteffort = batch'
	container_has "7 kfd" a5 /kubepods/burstable/a5 '' 'qos besteffort = batch'
	container_has "7 kfd" a6 /test/a6 ''
	# Podman takes no slices without systemd.
	case $engine in podman-*) return ;; esac
	# As the kubelet names them with systemd, and a class that nobody mapped.
	container_has "-20 cgroup" a7 /kubepods.slice/kubepods-burstable.slice/a7 '"kfd-gpreempt/priority-class": "other"' 'qos burstable = -20'
	container_has "50 cgroup" a8 /kubepods.slice/kubepods-pod1.slice/a8 '' 'qos guaranteed = 50'
}

# container_refused REASON NAME ...: crun gives a hook's words to a file, runc to its caller
container_refused()
{
	local reason=$1

	shift
	! container "$@" || { echo "it runs"; remove_container "$1"; return 1; }
	cat "$out" >>"$root/tmp/hook.log"
	has "$root/tmp/hook.log" "$reason"
	is "containers" "$(container_priorities)" ""
	remove_container "$1" || true
}

# container_gets WHAT WANTED NAME CGROUP ANNOTATIONS [CONFIG]: what the scheduler knows of its job or share; WHAT: job or share
container_gets()
{
	local what=$1 want=$2 got

	shift 2
	rm -f "$root/tmp/gpreempt-device.stay" "$root/tmp/gpreempt-device.${what}s"
	container "$@" || { cat "$out"; return 1; }
	wait_for 60 container_listed
	got=$("${what}s_of" busybox)
	remove_container "$1"
	wait_for 60 container_gone
	is "$what of container $1" "$got" "$want"
}

containers_are_jobs()
{
	engine=$1
	container_gets job "own leaves" c1 /test/c1 '"kfd-gpreempt/job": "leave"'
	container_gets job "own stays" c2 /test/c2 '' 'job stay'
	container_gets job "" c3 /test/c3 '"kfd-gpreempt/job": "none"' 'job leave'
	container_gets job "" c4 /test/c4 ''
	container_refused "annotation kfd-gpreempt/job: yes is not leave, stay or none" c5 /test/c5 '"kfd-gpreempt/job": "yes"'
	# It has not asked.
	container_gets job "" c6 /test/c6 '' 'job yes'
}

containers_have_shares()
{
	engine=$1
	container_gets share "300 0 0/0" d1 /test/d1 '"kfd-gpreempt/share-weight": "300"'
	container_gets share "100 20 5000/50000" d2 /test/d2 '"kfd-gpreempt/share-max": "5000/50000"' 'share any = min=20'
	container_gets share "" d3 /test/d3 '' 'share batch = weight=20'
	container_refused "annotation kfd-gpreempt/share-weight, -min or -max: max=12000/20000 is more than the administrator allows, which is 10000/20000" d4 \
		/test/d4 '"kfd-gpreempt/share-max": "60"' 'share normal = max=50'
}

# pause_container NAME pause|resume
pause_container()
{
	local how=$2

	case $engine in
	crun)		in_root crun --cgroup-manager=cgroupfs "$how" "$1" ;;
	runc)		in_root runc "$how" "$1" ;;
	containerd)	in_root ctr task "$how" "$1" ;;
	podman-*)	podman "${how/resume/unpause}" "$1" ;;
	esac
}

# Of the processes in containers, "PID FROZEN" with what the kernel says of their cgroup or of one above it
frozen()
{
	python3 - "$cgroups" <<-'END'
		import os, sys
		for pid in filter(str.isdigit, os.listdir("/proc")):
		    try:
		        if "busybox\0sleep" not in open(f"/proc/{pid}/cmdline").read():
		            continue
		        at = sys.argv[1] + open(f"/proc/{pid}/cgroup").read().split("0::")[1].strip()
		        print(pid, dict(line.split() for line in open(at + "/cgroup.events"))["frozen"])
		    except OSError:
		        pass
	END
}

is_frozen()
{
	[ "$(frozen | cut -d' ' -f2)" = "$1" ]
}

# What the scheduler looks at (gpreempt_follow_stop): is the process's own cgroup frozen?
pauses_freeze_cgroups()
{
	local status=0

	engine=$1
	container e1 /test/e1 '' || { cat "$out"; return 1; }
	wait_for 60 container_listed
	is_frozen 0 || status=1
	{ pause_container e1 pause && wait_for 20 is_frozen 1 && pause_container e1 resume && wait_for 20 is_frozen 0; } >"$out" 2>&1 || status=1
	[ $status = 0 ] || { cat "$out"; frozen; }
	remove_container e1
	wait_for 60 container_gone
	return $status
}

containers_refused()
{
	engine=$1
	container_refused "annotation kfd-gpreempt/priority: 100 is beyond the bounds of /etc/gpreempt-oci.conf: -1023 to 7" b1 /test/b1 \
		'"kfd-gpreempt/priority": "latency"' 'bounds -1023..normal'
	container_refused "annotation kfd-gpreempt/priority: fast is not latency" b2 /test/b2 '"kfd-gpreempt/priority": "fast"'
	container_refused "/etc/gpreempt-oci.conf:1: not class NAME = PRIORITY" b3 /test/b3 '"kfd-gpreempt/priority-class": "x"' 'class x 3'
	is "state that is none" "$(echo nonsense | chroot "$root" /usr/libexec/gpreempt/gpreempt-oci 2>&1)" "gpreempt-oci: what is on stdin is no container's state"
}

plan 43
must "plugin, hook and stand-in compile without warnings, and their packages install" prepare
trap 'stop; umount -l "$root/ccache" "$root/proc" "$root/dev" "$root" "$scratch/throwaway"; rm -rf "$scratch"' EXIT
must "munge, slurmdbd, slurmctld and slurmd run with the plugin" start
tap "srun --gpu-priority=latency and batch change what gpreemptctl lists, and leave no cgroup" a_class
tap "so does a number" a_number
tap "without the option nothing changes" nothing_asked
tap "but where the partition's bounds leave out normal" moved_into_bounds
tap "two jobs that share a GPU by gres/shard have each its own" shared_gpu
tap "beyond ceiling or floor of the partition: refused with the reason, nothing runs" beyond_the_ceiling
tap "the bounds of a QOS hold as well" bounds_of_a_qos
tap "bounds that contradict each other leave the lower ceiling" bounds_that_contradict
tap "what is no priority is refused" nonsense
tap "srun --gpu-job makes a job of a step's cgroup, which leaves or stays; without it a step is none" steps_are_jobs
tap "srun --gpu-share-weight, -min and -max set the share of a step's cgroup, up to what plugstack.conf gives the class" steps_have_shares
tap "a batch script beyond the ceiling is refused by what slurmctld knows" batch_beyond_the_ceiling
tap "with account=admincomment accounting has what a job's steps have used of GPUs" usage_is_noted
tap "on a node without the module a request fails and others run" without_the_module
must "containerd runs" start_containerd
for engine in "${engines[@]}"; do
	tap "$engine: containers get their place by annotation, PriorityClass or QoS class" containers "$engine"
	tap "$engine: containers are jobs by annotation or configuration" containers_are_jobs "$engine"
	tap "$engine: containers have a share by annotation or configuration" containers_have_shares "$engine"
	tap "$engine: a container that is paused is frozen in its own cgroup until it is resumed" pauses_freeze_cgroups "$engine"
	tap "$engine: beyond the bounds or with nonsense they are not started, and say why" containers_refused "$engine"
done
tap "the packages' own tests pass" packaged_tests slurm oci
finish

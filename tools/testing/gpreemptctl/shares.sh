#!/bin/bash
# SPDX-License-Identifier: MIT
#
# shares.sh - shares that gpreemptctl and the OCI hook set, and whether stops are followed, with address and
# undefined-behaviour sanitizers, on a made-up machine whose cgroups are folders. TAP on stdout
#
# Builds into $BUILD/gpreemptctl-shares.
. "$(dirname "$0")/lib.sh"

built=$BUILD/gpreemptctl-shares
export MACHINE=$scratch/machine
top=$MACHINE/sys/fs/cgroup
sanitizers="-g -O1 -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"
conf=$scratch/gpreempt.conf

# shellcheck disable=SC2086 # words
builds_without_warnings()
{
	build_ctl "$built" sanitized
	build_machine $sanitizers
	gcc $sanitizers -o "$built/ctl" "$scratch/machine.o" "$built"/*.o $wrap -ljson-c -lncurses -ltinfo -lsmartcols
	build_hook "$built/hook" $sanitizers
}

ctl()
{
	"$built/ctl" "$@" 2>"$err"
}

machine()
{
	rm -rf "$MACHINE"
	mkdir -p "$top"/{system.slice/{a,b}.service,batch.slice} "$MACHINE/proc/self" "$MACHINE/sys/class/kfd/kfd/gpreempt/"{1,2}
	touch "$MACHINE/queues" "$top/cgroup.controllers" "$top/cgroup.procs"
}

# apply STATUS: of the file on stdin
apply()
{
	cat >"$conf"
	status "$1" ctl apply "$conf"
}

becomes()
{
	for _ in $(seq 100); do
		[ "$("${@:2}")" != "$1" ] || return 0
		sleep 0.1
	done
	is "${*:2}" "$("${@:2}")" "$1"
}

# hook STATUS ANNOTATIONS CONFIG: of a container in system.slice/a.service
hook()
{
	local wanted=$1

	printf '%b' "$3" >"$conf"
	echo "{ \"pid\": 4711, \"annotations\": { $2 } }" >"$scratch/state"
	status "$wanted" "$built/hook" --config "$conf" <"$scratch/state"
}

container_machine()
{
	machine
	mkdir "$MACHINE/proc/4711"
	echo "0::/system.slice/a.service" >"$MACHINE/proc/4711/cgroup"
	echo "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0" >"$MACHINE/proc/self/mounts"
}

# has_share WANTED: what was set for the container's cgroup, and nothing else
has_share()
{
	is "shares" "$(cat "$MACHINE/shares" 2>/dev/null)" "${1:+system.slice/a.service $1}"
}

containers_have_a_share_by_annotation_or_class()
{
	container_machine
	hook 0 '"kfd-gpreempt/share-weight": "300", "kfd-gpreempt/share-min": "20", "kfd-gpreempt/share-max": "5000/50000"' ''
	has_share "300 20 5000/50000"
	container_machine
	hook 0 '"kfd-gpreempt/share-max": "30"' ''
	has_share "100 0 6000/20000"
	container_machine
	hook 0 '"kfd-gpreempt/priority": "batch"' 'share batch = weight=50\nshare latency = min=80\nshare any = max=25 weight=70\n'
	has_share "50 0 5000/20000"
	container_machine
	hook 0 '"kfd-gpreempt/share-weight": "40"' 'share normal = weight=50, min=10\n'
	has_share "40 10 0/0"
	container_machine
	hook 0 '"kfd-gpreempt/priority": "batch"' 'share normal = weight=50\n'
	has_share ""
	is "messages" "$(cat "$err")" ""
}

# share_refused MESSAGE ANNOTATIONS CONFIG: the container does not start, and has none
share_refused()
{
	hook 1 "$2" "$3"
	is "message" "$(cat "$err")" "gpreempt-oci: $1"
	has_share ""
}

containers_may_not_have_more_than_their_share()
{
	local which="annotation kfd-gpreempt/share-weight, -min or -max"

	container_machine
	share_refused "$which: weight=300 is more than the administrator allows, which is 100; no share is in force" '"kfd-gpreempt/share-weight": "300"' \
		'share any = weight=100\n'
	share_refused "$which: min=30 is more than the administrator allows, which is 0; no share is in force" '"kfd-gpreempt/share-min": "30"' \
		'share any = min=0\n'
	share_refused "$which: max=5000/16000 is more than the administrator allows, which is 6000/20000; no share is in force" \
		'"kfd-gpreempt/share-max": "5000/16000"' 'share any = max=30\n'
	share_refused "$which: max=none is more than the administrator allows, which is 6000/20000; no share is in force" \
		'"kfd-gpreempt/share-max": "none"' 'share any = max=30\n'
	share_refused "annotation kfd-gpreempt/share-weight: weight=0 is not in 1..10000" '"kfd-gpreempt/share-weight": "0"' ''
	share_refused "annotation kfd-gpreempt/share-min: min=101 is not in 0..100 percent" '"kfd-gpreempt/share-min": "101"' ''
	share_refused "annotation kfd-gpreempt/share-max: max=999/10000: a quota of 999 us is not in 1000..10000" '"kfd-gpreempt/share-max": "999/10000"' ''
	share_refused "$conf:2: not share CLASS = weight=N min=PERCENT max=PERCENT: weight=10001 is not in 1..10000" '"kfd-gpreempt/share-weight": "1"' '#\nshare any = weight=10001\n'
	share_refused "$conf:1: not share CLASS = weight=N min=PERCENT max=PERCENT: 5 is neither weight=N nor min=PERCENT nor max=PERCENT" '"kfd-gpreempt/share-weight": "1"' 'share any = 5\n'
	share_refused "$conf:1: not share CLASS = weight=N min=PERCENT max=PERCENT" '"kfd-gpreempt/share-weight": "1"' 'share any weight=5\n'
	share_refused "$conf:1: not share CLASS = weight=N min=PERCENT max=PERCENT" '"kfd-gpreempt/share-weight": "1"' 'share fast = weight=5\n'
	hook 0 '"kfd-gpreempt/share-max": "7500/25000"' 'share any = max=30\n'
	has_share "100 0 7500/25000"
}

# Who asks for nothing starts all the same.
containers_that_ask_need_shares()
{
	local which="annotation kfd-gpreempt/share-weight, -min or -max" none="; no share is in force"

	container_machine
	touch "$MACHINE/sys/no-module"
	hook 0 '' 'share any = weight=50\n'
	is "message" "$(cat "$err")" "gpreempt-oci: share: there is no amdgpu with kfd_gpreempt$none"
	share_refused "$which: there is no amdgpu with kfd_gpreempt$none" '"kfd-gpreempt/share-weight": "50"' ''
	rm "$MACHINE/sys/no-module"
	echo 25 >"$MACHINE/sys/share-errno"
	hook 0 '' 'share any = weight=50\n'
	share_refused "$which: the module knows of no shares$none" '"kfd-gpreempt/share-weight": "50"' ''
	echo 28 >"$MACHINE/sys/share-errno"
	share_refused "$which: 127 groups have a share, and there is room for no more$none" '"kfd-gpreempt/share-weight": "50"' ''
	hook 0 '' 'share any = weight=50\n'
	is "message" "$(cat "$err")" "gpreempt-oci: share: 127 groups have a share, and there is room for no more$none"
	rm "$MACHINE/sys/share-errno"
	: >"$MACHINE/proc/self/mounts"
	hook 0 '' 'share any = weight=50\n'
	share_refused "$which: shares are those of cgroups of version 2, which this machine has not$none" '"kfd-gpreempt/share-weight": "50"' ''
}

# starts MESSAGE STATE CONFIG: a container that asks for nothing, whatever this machine and its configuration are like
starts()
{
	local message=$1

	printf '%b' "$3" >"$conf"
	echo "$2" >"$scratch/state"
	status 0 "$built/hook" --config "$conf" <"$scratch/state"
	has "$err" "$message"
	is "set" "$(cat "$MACHINE"/{set,shares,params} 2>/dev/null || :)" "${set:-}"
}

containers_that_ask_for_nothing_start()
{
	local none='{ "pid": 4711, "annotations": { "other/priority": "latency" } }' line set=

	for line in 'job leave' 'share any = weight=50' 'follow_stop always' 'qos besteffort = batch'; do
		container_machine
		echo "0::/kubepods/besteffort/a" >"$MACHINE/proc/4711/cgroup"
		mkdir -p "$top/kubepods/besteffort/a"
		touch "$MACHINE/sys/no-access"
		starts "Permission denied" "$none" "$line"
		rm "$MACHINE/sys/no-access"
		touch "$MACHINE/sys/no-module"
		starts "there is no amdgpu with kfd_gpreempt" "$none" "$line"
		rm -r "$MACHINE/proc/4711"
		starts "No such process" "$none" "${line/qos besteffort = batch/job stay}"
	done
	container_machine
	for line in 'job yes' 'share any = weight=0' 'share any' 'follow_stop 1'; do
		starts "$conf:1: not" "$none" "$line"
	done
	# Mistakes about priorities concern who has one.
	echo "0::/kubepods/besteffort/a" >"$MACHINE/proc/4711/cgroup"
	starts "$conf:1: not qos NAME = PRIORITY" "$none" 'qos besteffort batch'
	starts "$conf:2: not bounds FLOOR..CEILING" "$none" 'qos besteffort = batch\nbounds 7'
	mkdir -p "$top/kubepods/besteffort/a"
	set="kubepods/besteffort/a priority -50" starts "QoS class besteffort: -100 is beyond the bounds of $conf: -50 to 7" "$none" 'bounds -50..7\nqos besteffort = batch'
	container_machine
	starts "the container's state has no pid" '{ "annotations": null }' 'job leave'
	starts "the container's state has no pid" '{ "pid": 0 }' ''
	starts "no container's state" 'nonsense' 'job leave'
	status 0 "$built/hook" --conf x <<<"$none"
	status 2 "$built/hook" --conf x <<<'{ "pid": 4711, "annotations": { "kfd-gpreempt/job": "none" } }'
	rm -f "$conf"
	mkdir "$conf"
	status 0 "$built/hook" --config "$conf" <<<"$none"
	rmdir "$conf"
}

# What a container asks for it has, or it is told why not.
containers_that_ask_are_told()
{
	container_machine
	touch "$MACHINE/sys/no-access"
	hook 1 '"kfd-gpreempt/priority": "latency"' 'job leave'
	is "message" "$(cat "$err")" "gpreempt-oci: annotation kfd-gpreempt/priority: priority 100 could not be set: Permission denied"
	hook 1 '"kfd-gpreempt/job": "leave"' ''
	is "message" "$(cat "$err")" "gpreempt-oci: annotation kfd-gpreempt/job: the container could not become a job: Permission denied"
	rm "$MACHINE/sys/no-access"
	hook 1 '"kfd-gpreempt/priority": "latency"' 'bounds 7'
	is "message" "$(cat "$err")" "gpreempt-oci: $conf:1: not bounds FLOOR..CEILING"
	hook 1 '"kfd-gpreempt/priority-class": "x"' 'class x'
	is "message" "$(cat "$err")" "gpreempt-oci: $conf:1: not class NAME = PRIORITY"
	hook 1 '"kfd-gpreempt/priority-class": "x"' 'class x = latency\nbounds 0..7\n'
	is "message" "$(cat "$err")" "gpreempt-oci: PriorityClass x: 100 is beyond the bounds of $conf: 0 to 7"
	# What it did not ask for is no reason.
	hook 0 '"kfd-gpreempt/priority": "batch"' 'job yes\nshare any\nfollow_stop 1\n'
	is "set" "$(cat "$MACHINE/set")" "system.slice/a.service priority -100"
}

weights_that_do_not_count_are_told()
{
	local told="under the policy wfq the maxima of groups count, and weights and minima do not; gpreemptctl policy hpf -g"

	machine
	POLICY=wfq status 0 ctl share set --cgroup system.slice/a.service weight=300
	is "messages" "$(cat "$err")" "gpreemptctl: gpu 1: $told 1
gpreemptctl: gpu 2: $told 2"
	POLICY=edf status 0 ctl share set --cgroup system.slice/a.service min=5
	is "lines" "$(grep -c 'under the policy edf' "$err")" 2
	POLICY=wfq status 0 ctl share set --cgroup system.slice/a.service max=30
	is "messages" "$(cat "$err")" ""
	status 0 ctl share set --cgroup system.slice/a.service weight=300 min=20
	is "messages" "$(cat "$err")" ""
}

# stops WANTED: what was set for cgroups: lines "DIRECTORY always|never|node"
stops()
{
	is "stops" "$(awk '$2 == 3 { split("node always never", word, " "); print $1, word[$3 + 1] }' "$MACHINE/params" 2>/dev/null)" "$1"
}

cgroups_follow_stops_by_command_or_configuration()
{
	local pid

	machine
	status 0 ctl set --cgroup system.slice/a.service follow_stop=always
	stops "system.slice/a.service always"
	rm "$MACHINE/params"
	apply 0 <<-'END'
		[stops]
		cgroup system.slice/a.service = always
		cgroup batch.slice=never
	END
	stops "system.slice/a.service always
batch.slice never"
	rm "$MACHINE/params"
	"$built/ctl" apply --follow -i 0.05 "$conf" 2>"$err" &
	pid=$!
	becomes 2 eval 'grep -c . "$MACHINE/params" 2>/dev/null'
	kill $pid
	wait $pid
	is "messages" "$(cat "$err")" ""
	stops "system.slice/a.service always
batch.slice never
system.slice/a.service node
batch.slice node"
}

# applied N: what has been set, once there are so many lines
applied()
{
	becomes "$1" eval 'grep -c . "$MACHINE/params" 2>/dev/null'
	sort "$MACHINE/params" >"$MACHINE/params.sorted"
	mv "$MACHINE/params.sorted" "$MACHINE/params"
}

patterns_name_the_cgroups_that_there_are()
{
	local pid

	machine
	mkdir -p "$top"/system.slice/docker-{12,34}.scope "$top/system.slice/docker-12.scope/docker-56.scope" "$top/user.slice/docker-78.scope"
	apply 0 <<-'END'
		[stops]
		cgroup system.slice/docker-1?.scope = never
		cgroup system.slice/docker-*.scope = always
		cgroup /sys/fs/cgroup/*.slice/[ab].service = never
	END
	applied 4
	stops "system.slice/a.service never
system.slice/b.service never
system.slice/docker-12.scope never
system.slice/docker-34.scope always"
	rm "$MACHINE/params"
	# One that comes later, and one that is gone and comes again.
	"$built/ctl" apply --follow -i 0.05 "$conf" 2>"$err" &
	pid=$!
	applied 4
	mkdir "$top/system.slice/docker-9.scope"
	applied 5
	rmdir "$top/system.slice/docker-9.scope"
	sleep 0.3
	mkdir "$top/system.slice/docker-8.scope"
	applied 6
	kill $pid
	wait $pid
	is "messages" "$(cat "$err")" ""
	is "taken back" "$(grep -c . "$MACHINE/params")" 11
	# Nothing fits: once that is a mistake, and --follow waits.
	apply 1 <<<"[stops]
cgroup system.slice/lxc-*.scope = never"
	has "$err" "$conf:2: system.slice/lxc-*.scope: No such file"
}

# weighed CGROUP NICE IDLE: the kernel says so of its part of the CPUs
weighed()
{
	mkdir -p "$top/$1"
	echo "$2" >"$top/$1/cpu.weight.nice"
	echo "$3" >"$top/$1/cpu.idle"
}

# What is cleared shows as priority 0.
less_of_the_cpus_is_less_of_the_gpus()
{
	local pid

	machine
	weighed system.slice 0 0
	weighed system.slice/a.service 5 0
	weighed system.slice/a.service/inner 19 0
	weighed system.slice/b.service -20 0
	weighed batch.slice 0 1
	weighed batch.slice/kept.service 3 0
	apply 0 <<-'END'
		[classes]
		cgroup batch.slice/kept.service = normal
		cpu.weight = follow
		cgroup system.slice/b.service = -50
		cgroup batch.slice = latency
	END
	is "set" "$(sort "$MACHINE/set")" "batch.slice priority -13
batch.slice/kept.service priority 7
system.slice/a.service priority 2
system.slice/a.service/inner priority -12
system.slice/b.service priority -50"
	rm "$MACHINE/set"
	printf '[classes]\ncpu.weight = follow\n' >"$conf"
	"$built/ctl" apply --follow -i 0.05 "$conf" 2>"$err" &
	pid=$!
	becomes 4 eval 'grep -c . "$MACHINE/set" 2>/dev/null'
	# Other weights, and one that is new
	weighed system.slice/a.service 0 0
	weighed batch.slice/kept.service 0 1
	weighed late.slice 1 0
	becomes 7 eval 'grep -c . "$MACHINE/set"'
	kill $pid
	wait $pid
	is "messages" "$(cat "$err")" ""
	is "while it runs" "$(sed -n 5,7p "$MACHINE/set" | sort)" "batch.slice/kept.service priority -13
late.slice priority 6
system.slice/a.service priority 0"
	is "taken back" "$(sed 1,7d "$MACHINE/set" | sort)" "batch.slice priority 0
batch.slice/kept.service priority 0
late.slice priority 0
system.slice/a.service/inner priority 0"
}

weights_of_cpus_are_followed_or_not()
{
	machine
	printf '[classes]\ncpu.weight = batch\ncpu.weight = follow\ncpu.weight = follow\ncpu.weight x = follow\n' >"$conf"
	status 1 ctl apply --check "$conf" >"$scratch/out"
	is "messages" "$(cat "$err")" "gpreemptctl: $conf:2: not follow: batch; the line is ignored
gpreemptctl: $conf:4: can never fit: line 3 has it already: cpu.weight; the line is ignored
gpreemptctl: $conf:5: neither a priority (-1023..1023) nor a class (latency, normal, batch): follow; the line is ignored"
	is "told" "$(cat "$scratch/out")" "$conf:3: fits nothing now: no cgroup has less than the normal weight"
}

# docker ID NAME IMAGE LABELS: Docker notes it, and has a cgroup for it
docker()
{
	local id=$1$zeros

	mkdir -p "$MACHINE/var/lib/docker/containers/$id" "$top/system.slice/docker-$id.scope/init.scope"
	echo "{ \"ID\": \"$id\", \"Name\": \"/$2\", \"Config\": { \"Image\": \"$3\", \"Labels\": { $4 } } }" \
		>"$MACHINE/var/lib/docker/containers/$id/config.v2.json"
}

zeros=00112233445566778899aabbccddeeff00112233445566778899aabbccddee
pods=kubepods.slice/kubepods-pod1b4e28ba_2fa1_11d2_883f_0016d3cca427.slice
storage=var/lib/containers/storage/overlay-containers
tasks=run/containerd/io.containerd.runtime.v2.task

# One of each engine, and three of Docker's
containers_of_all_engines()
{
	machine
	docker 01 web registry.example.com/chat:1.2 ''
	docker 02 train-7 registry.example.com/train:latest '"tier": "batch", "team": "vision"'
	docker 03 train-8 registry.example.com/train:latest '"tier": "nightly"'
	mkdir -p "$MACHINE/$tasks/k8s.io/04$zeros" "$top/$pods/cri-containerd-04$zeros.scope" "$MACHINE/$storage" \
		"$top/machine.slice/libpod-05$zeros.scope/container"
	echo '{ "annotations": { "io.kubernetes.cri.container-name": "model", "io.kubernetes.cri.image-name": "docker.io/vllm/vllm:9" } }' \
		>"$MACHINE/$tasks/k8s.io/04$zeros/config.json"
	echo "[{ \"id\": \"05$zeros\", \"names\": [\"notebook\"], \"metadata\": \"{\\\"image-name\\\":\\\"localhost/lab:latest\\\"}\" }]" \
		>"$MACHINE/$storage/containers.json"
}

containers_are_found_by_name_image_or_label()
{
	containers_of_all_engines
	apply 0 <<-'END'
		[stops]
		container web = always
		label tier=batch = never
		image registry.example.com/train:* = always
		container model = never
		image *vllm* = always
		container note* = never
	END
	applied 5
	stops "$pods/cri-containerd-04$zeros.scope never
machine.slice/libpod-05$zeros.scope never
system.slice/docker-01$zeros.scope always
system.slice/docker-02$zeros.scope never
system.slice/docker-03$zeros.scope always"
	is "messages" "$(cat "$err")" ""
}

containers_that_come_later_are_found()
{
	local pid

	containers_of_all_engines
	printf '[stops]\ncontainer later = always\nimage other/* = always\n' >"$conf"
	status 0 ctl apply --check "$conf"
	status 1 ctl apply "$conf"
	is "messages" "$(cat "$err")" "gpreemptctl: $conf:2: no container that runs here has the name later
gpreemptctl: $conf:3: no container that runs here has the image other/*"
	"$built/ctl" apply --follow -i 0.05 "$conf" 2>"$err" &
	pid=$!
	sleep 0.2
	docker 06 later a/b ''
	applied 1
	# It is started anew, with another id.
	rm -r "$MACHINE/var/lib/docker/containers/06$zeros" "$top/system.slice/docker-06$zeros.scope"
	sleep 0.3
	docker 07 later a/b ''
	applied 2
	kill $pid
	wait $pid
	is "messages" "$(cat "$err")" ""
	stops "system.slice/docker-06$zeros.scope always
system.slice/docker-07$zeros.scope always
system.slice/docker-07$zeros.scope node"
}

# Files of engines may be half written, or of another engine.
files_of_engines_may_be_anything()
{
	local text

	for text in '' '{' '[]' '5' '"x"' '{ "Name": 5, "Config": [], "annotations": "x", "names": 3, "id": {} }' '[{ "id": "05", "names": [5, null], "metadata": "{" }, 7, null]'; do
		containers_of_all_engines
		echo "$text" | tee "$MACHINE/var/lib/docker/containers/02$zeros/config.v2.json" "$MACHINE/$tasks/k8s.io/04$zeros/config.json" \
			>"$MACHINE/$storage/containers.json"
		mkdir -p "$MACHINE/etc/docker"
		echo "$text" >"$MACHINE/etc/docker/daemon.json"
		printf '[stops]\nlabel *=* = always\ncontainer * = always\n' >"$conf"
		status 0 ctl apply "$conf"
		is "messages" "$(cat "$err")" ""
	done
	# Its folder is elsewhere.
	containers_of_all_engines
	mkdir -p "$MACHINE/etc/docker" "$MACHINE/var/lib/elsewhere"
	mv "$MACHINE/var/lib/docker/containers" "$MACHINE/var/lib/elsewhere/"
	echo '{ "data-root": "/var/lib/elsewhere" }' >"$MACHINE/etc/docker/daemon.json"
	printf '[stops]\ncontainer web = always\n' >"$conf"
	status 0 ctl apply "$conf"
	stops "system.slice/docker-01$zeros.scope always"
}

containers_follow_stops_by_annotation_or_configuration()
{
	local which="annotation kfd-gpreempt/follow-stop" force="; what the GPU's node says is in force"

	container_machine
	hook 0 '"kfd-gpreempt/follow-stop": "always"' ''
	stops "system.slice/a.service always"
	container_machine
	hook 0 '' 'follow_stop always\n'
	stops "system.slice/a.service always"
	container_machine
	hook 0 '"kfd-gpreempt/follow-stop": "node"' 'follow_stop never\n'
	stops "system.slice/a.service node"
	container_machine
	hook 0 '' 'follow_stop node\n'
	stops ""
	is "messages" "$(cat "$err")" ""
	hook 1 '"kfd-gpreempt/follow-stop": "never"' ''
	is "message" "$(cat "$err")" "gpreempt-oci: $which: never is not what the administrator allows, which is always or node$force"
	hook 1 '"kfd-gpreempt/follow-stop": "node"' 'follow_stop always\n'
	is "message" "$(cat "$err")" "gpreempt-oci: $which: node is not what the administrator allows, which is always$force"
	hook 1 '"kfd-gpreempt/follow-stop": "1"' ''
	is "message" "$(cat "$err")" "gpreempt-oci: $which: 1 is not always, never or node"
	hook 0 '' '#\nfollow_stop 1\n'
	is "message" "$(cat "$err")" "gpreempt-oci: $conf:2: not follow_stop always, follow_stop never or follow_stop node"
	hook 1 '"kfd-gpreempt/follow-stop": "always"' '#\nfollow_stop 1\n'
	is "message" "$(cat "$err")" "gpreempt-oci: $conf:2: not follow_stop always, follow_stop never or follow_stop node"
	touch "$MACHINE/sys/no-module"
	hook 0 '' 'follow_stop always\n'
	is "message" "$(cat "$err")" "gpreempt-oci: follow_stop: there is no amdgpu with kfd_gpreempt$force"
	hook 1 '"kfd-gpreempt/follow-stop": "always"' ''
	rm "$MACHINE/sys/no-module"
	: >"$MACHINE/proc/self/mounts"
	hook 0 '' 'follow_stop always\n'
	hook 1 '"kfd-gpreempt/follow-stop": "always"' ''
	is "message" "$(cat "$err")" "gpreempt-oci: $which: this is set for cgroups of version 2, which this machine has not$force"
	stops ""
}

reservations_are_answered_with_figures()
{
	local refused="gpreemptctl: gpu 1: runtime=50000 in period=100000 does not fit: 0.600 of the device is reserved, 0.380 is free, it takes 0.502: 0.122 is missing"

	machine
	printf '1 600000 380400 100\n2 0 980400 100\n' >"$MACHINE/fits"
	status 0 ctl fits >"$scratch/out"
	is "figures" "$(cat "$scratch/out")" "    GPU RESERVED   FREE PROCESSES WAITING SWITCH_US PERIOD_US_MIN
      1    0.600  0.380         2       1     100.0          2000
      2    0.000  0.980         2       1     100.0          2000"
	status 0 ctl fits runtime=30000 period=100000 >"$scratch/out"
	has "$scratch/out" "  TAKES FITS"
	has "$scratch/out" "          2000  0.302 yes"
	is "messages" "$(cat "$err")" ""
	status 1 ctl fits runtime=50000 period=100000 >"$scratch/out"
	has "$scratch/out" "          2000  0.502 no"
	is "message" "$(cat "$err")" "$refused"
	status 0 ctl fits runtime=50000 period=100000 -g 2 >"$scratch/out"
	status 1 ctl fits period=1999 runtime=1 -g 2 >"$scratch/out"
	is "message" "$(cat "$err")" "gpreemptctl: gpu 2: period=1999 is below 2000, 20 times what a switch costs there"
	status 1 ctl fits -g 3 >"$scratch/out"
	has "$err" "no such GPU"
	status 1 ctl fits runtime=50000 period=100000 --json >"$scratch/out"
	python3 -c 'import json, sys; n = json.load(sys.stdin)["nodes"]; assert [(m["gpu_id"], m["fits"], m["missing_ppm"], m["need_ppm"]) for m in n] == \
		[(1, False, 121600, 502000), (2, True, 0, 502000)] and n[0]["reserved_ppm"] == 600000 and n[0]["waiting"] == 1 and n[1]["switch_ns"] == 100000' \
		<"$scratch/out"

	status 0 ctl set -p 4711 period=100000 runtime=30000
	status 0 ctl set -p 4711 runtime=0
	is "messages" "$(cat "$err")" ""
	status 1 ctl set -p 4711 runtime=50000 period=100000
	is "message" "$(cat "$err")" "$refused
gpreemptctl: set runtime=50000 period=100000: does not fit; nothing changed"
	status 1 ctl set -p 4711 runtime=50000
	is "message" "$(cat "$err")" "gpreemptctl: set runtime=50000: the process has no deadline: period=US; nothing changed"
	is "what was set" "$(cat "$MACHINE/runtimes")" "4711 30000/100000
4711 0/0"

	rm "$MACHINE/fits"
	status 3 ctl fits
	is "message" "$(cat "$err")" "gpreemptctl: the module knows of no reservations; update it"
	status 3 ctl set -p 4711 runtime=5 period=10000
	is "message" "$(cat "$err")" "gpreemptctl: set runtime=5: the module knows of no reservations; update it"
}

values_may_have_units()
{
	machine
	printf '1 0 900000 100\n' >"$MACHINE/fits"
	status 0 ctl share set --cgroup batch.slice min=20% max=30%
	status 0 ctl share set --cgroup batch.slice max=5ms/20000us
	status 0 ctl share set --cgroup batch.slice max=500ms/1s
	is "shares" "$(cut -d ' ' -f 2- "$MACHINE/shares" | paste -sd,)" "100 20 6000/20000,100 0 5000/20000,100 0 500000/1000000"
	status 0 ctl set -p 4711 runtime=8ms period=20ms
	is "reservation" "$(cat "$MACHINE/runtimes")" "4711 8000/20000"
	status 0 ctl fits runtime=8ms period=20000us >"$scratch/out"
	does 0 "198 hint 20000" hint -p 198 --for 20ms
	does 0 "198 hint 2000" hint -p 198 --for 2000us
	apply 0 <<<$'[shares]\ncgroup batch.slice = min=10% max=10ms/50ms'
	is "share" "$(tail -1 "$MACHINE/shares")" "batch.slice 100 10 10000/50000"
	apply 1 <<<$'[shares]\ncgroup batch.slice = min=50 max=30'
	has "$err" "min=50 is more than the maximum, which is 6000 of 20000 us, 30 percent; the line is ignored"
}

a_job_without_queues_is_told()
{
	machine
	echo "199 1 0 0 active 7 0 0 0 7 0" >"$MACHINE/queues"
	status 0 ctl share set job=7 max=30
	is "messages" "$(cat "$err")" ""
	status 0 ctl share set job=7 job=99 max=30
	is "messages" "$(cat "$err")" "gpreemptctl: no queue is in the job 99 now; its share counts when one is"
}

# does STATUS WANTED ARGUMENTS: what gpreemptctl has done to processes, in one line
does()
{
	rm -f "$MACHINE/processes"
	status "$1" ctl "${@:3}" >"$scratch/out"
	is "${*:3}" "$(paste -sd, "$MACHINE/processes" 2>/dev/null)" "$2"
}

set_takes_several_processes()
{
	machine
	# What a shell makes of $(pidof training)
	does 0 "199 priority -100,198 priority -100" set -p 199 198 batch
	does 0 "198 priority -100,199 priority -100,200 priority -100" set -p 198 199 200 batch
	does 0 "198 priority 100,199 priority 100" set -p 198 -p 199 latency
	does 0 "198 priority 100,199 priority 100" set --pid=198,199 latency
	does 0 "198 priority 100,199 priority 100" set -p "198 199" latency
	does 0 "198 priority 100,199 priority 100" set latency -p 198 199
	does 0 "198 priority -7,199 priority -7" set -p 198 199 -7
	does 0 "198 priority 5,199 priority 5" set -p 198 199 5
	does 0 "198 priority 5,199 priority 5" set 5 -p 198 199
	does 0 "198 priority 0,199 priority 0" set -p 198 199 0
	does 0 "198 clear,199 clear" set -p 198 199 clear
	does 0 "4711 priority 5,70000 priority 5" set -p 4711 70000 5
	does 0 "198 priority 5,199 priority 5" set -p 198 199 --tree 5
	does 0 "198 priority 5" set -p 198 5
	does 0 "198 priority 1023" set 1023 -p 198
	is "messages" "$(cat "$err")" ""
}

# refuses TEXT ARGUMENTS: nothing is done, and the message has TEXT
refuses()
{
	does 2 "" "${@:2}"
	has "$err" "$1"
}

pids_and_priorities_are_not_mixed_up()
{
	machine
	refuses 'pid=-7 is not a number from 1' set -p -7 199
	refuses '5 and latency: one priority, class or clear, not two' set 5 -p 198 latency
	refuses 'latency and 5: one priority, class or clear, not two' set -p 198 latency 5
	refuses '-5 and -6: one priority' set -p 198 -5 -6
	refuses '5000 is neither a priority' set -p 198 199 5000
	refuses 'set what?' set -p 198 -p 199
	refuses 'queue 3 is of one process, not of 198 and 199; nothing changed' set -p 198 199 -g 1 -q 3 5
	refuses 'its option is given twice' set -p 198 -g 1 -q 3 -q 4 5
	refuses 'waits_for=199: a process does not wait for itself; nothing changed' set -p 198,199 waits_for=199
	refuses 'probe-hang takes one process, not 198 and 199' probe-hang -p 198 199
	# Where no priority is needed, any program may have been meant.
	mkdir "$MACHINE/proc/5" "$MACHINE/proc/6"
	printf 'train\0' >"$MACHINE/proc/5/cmdline"
	touch "$MACHINE/proc/6/cmdline"
	refuses '5 behind -p is the pid of a program as well' set -p 198 5 runtime=0
	does 0 "198 priority 5" set -p 198 5
	does 3 "198 priority 6" set -p 198 6 runtime=0
	# One that has a queue was meant to be changed.
	echo "199 1 0 0 active 7 0 0 0 0 0" >"$MACHINE/queues"
	refuses '199 behind -p is the pid of a program as well: a number for the command stands before -p, pids are -p 198,199; nothing changed' set -p 198 199
	refuses '199 behind -p is the pid of a program as well' job set -p 198 199
	refuses '199 behind -p is the pid of a program as well' set -p 198 199 exempt=0
	does 0 "198 priority 199" set 199 -p 198
	does 0 "198 job 199" job set 199 -p 198
	does 0 "198 priority 5,199 priority 5" set -p 198 199 5
}

others_are_done_when_one_fails()
{
	local gone="gpreemptctl: pid 900001"

	machine
	does 1 "198 priority -100,199 priority -100" set -p 198 900001 199 batch
	is "message" "$(cat "$err")" "$gone: set batch: no such process"
	does 1 "" set -p 900001 batch
	is "message" "$(cat "$err")" "gpreemptctl: set batch: no such process"
	does 1 "198 job 3" job set -p 198 900001 3
	is "message" "$(cat "$err")" "$gone: job set: no such process"
	does 1 "198 resume" resume -p 900001 198
	is "message" "$(cat "$err")" "$gone: resume: no such process"
	is "output" "$(cat "$scratch/out")" "2 queues given back"
	does 1 "198 hold" preempt -p 900001 198 -- true
	is "message" "$(cat "$err")" "$gone: preempt: no such process"
	does 5 "198 hold" preempt -p 900001 198 -- sh -c 'exit 5'
	does 1 "" preempt -p 900001 900002 -- touch "$scratch/ran"
	[ ! -e "$scratch/ran" ] || { echo "the program ran though nothing was held"; return 1; }
	does 1 "" set --cgroup batch.slice --cgroup none.slice --cgroup system.slice batch
	is "message" "$(cat "$err")" "gpreemptctl: cgroup none.slice: none.slice: No such file or directory"
	is "cgroups" "$(paste -sd, "$MACHINE/set")" "batch.slice priority -100,system.slice priority -100"
}

commands_take_several_processes_or_cgroups()
{
	machine
	does 0 "198 hold,199 hold" preempt -p 198 199 --for 0.001
	is "message" "$(cat "$err")" "gpreemptctl: 4 queues off the device"
	does 0 "198 resume,199 resume" resume -p 198,199
	is "output" "$(cat "$scratch/out")" "4 queues given back"
	does 0 "198 hint 20000,199 hint 20000" hint -p 198 199 --for 0.02
	does 0 "198 job 7,199 job 7" job set -p 198 199 7
	does 0 "198 job 99999999999" job set -p 198 99999999999
	does 0 "198 job 0,199 job 0" job clear -p 198 199
	does 0 "" job set --cgroup batch.slice --cgroup system.slice 7
	is "jobs" "$(paste -sd, "$MACHINE/set")" "batch.slice job,system.slice job"
	does 0 "" share set --cgroup batch.slice --cgroup system.slice max=30
	is "shares" "$(paste -sd, "$MACHINE/shares")" "batch.slice 100 0 6000/20000,system.slice 100 0 6000/20000"
	does 0 "" share set job=3 job=4 max=30
	is "shares of jobs" "$(tail -2 "$MACHINE/shares" | paste -sd,)" "job 3 100 0 6000/20000,job 4 100 0 6000/20000"
	echo 3 >"$MACHINE/sys/share-errno"
	does 1 "" share set job=3 job=4 max=30
	is "messages" "$(paste -sd, "$err")" "gpreemptctl: job=3: share set: no such process,gpreemptctl: job=4: share set: no such process"
}

plan 22
must "builds without warnings" builds_without_warnings
for t in containers_have_a_share_by_annotation_or_class containers_may_not_have_more_than_their_share \
	containers_that_ask_need_shares containers_that_ask_for_nothing_start containers_that_ask_are_told \
	weights_that_do_not_count_are_told cgroups_follow_stops_by_command_or_configuration \
	patterns_name_the_cgroups_that_there_are containers_are_found_by_name_image_or_label containers_that_come_later_are_found less_of_the_cpus_is_less_of_the_gpus weights_of_cpus_are_followed_or_not \
	files_of_engines_may_be_anything containers_follow_stops_by_annotation_or_configuration \
	reservations_are_answered_with_figures set_takes_several_processes pids_and_priorities_are_not_mixed_up \
	others_are_done_when_one_fails commands_take_several_processes_or_cgroups values_may_have_units a_job_without_queues_is_told; do
	tap $t $t
done
finish

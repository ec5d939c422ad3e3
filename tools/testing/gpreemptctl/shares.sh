#!/bin/bash
# SPDX-License-Identifier: MIT
#
# shares.sh - shares that gpreemptctl and the OCI hook set, and whether stops are followed, with address and
# undefined-behaviour sanitizers, on a made-up machine whose cgroups are folders. TAP on stdout
#
# Builds into $BUILD/gpreemptctl-shares.
. "$(dirname "$0")/lib.sh"

here=$TOP/tools/testing/gpreemptctl
built=$BUILD/gpreemptctl-shares
export MACHINE=$scratch/machine
top=$MACHINE/sys/fs/cgroup
sanitizers="-g -O1 -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"
wrapped="open fopen opendir scandir access readlink ioctl"
conf=$scratch/gpreempt.conf

# shellcheck disable=SC2046,SC2086 # words
builds_without_warnings()
{
	local wrap

	wrap=$(printf -- '-Wl,--wrap=%s ' $wrapped)
	build_ctl "$built" sanitized
	mkdir -p "$built/fakes"
	gcc $sanitizers -D_GNU_SOURCE -I"$TOP/include/uapi" -c -o "$built/fakes/machine.o" "$here/machine.c"
	gcc $sanitizers -o "$built/ctl" "$built"/fakes/*.o "$built"/*.o $wrap -ljson-c -lncurses -ltinfo -lsmartcols
	gcc $sanitizers -I"$TOP/include/uapi" -I"$TOP/lib" -I"$TOP/integrations/common" -o "$built/hook" "$built"/fakes/*.o \
		"$TOP/integrations/oci/gpreempt-oci.c" "$TOP"/integrations/common/*.c "$TOP/lib/gpreempt.c" "$TOP/lib/parse.c" $wrap -ljson-c
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

plan 14
must "builds without warnings" builds_without_warnings
for t in containers_have_a_share_by_annotation_or_class containers_may_not_have_more_than_their_share \
	containers_that_ask_need_shares containers_that_ask_for_nothing_start containers_that_ask_are_told \
	weights_that_do_not_count_are_told cgroups_follow_stops_by_command_or_configuration \
	patterns_name_the_cgroups_that_there_are containers_are_found_by_name_image_or_label containers_that_come_later_are_found \
	files_of_engines_may_be_anything containers_follow_stops_by_annotation_or_configuration \
	reservations_are_answered_with_figures; do
	tap $t $t
done
finish

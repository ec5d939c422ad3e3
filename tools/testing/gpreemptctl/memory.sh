#!/bin/bash
# SPDX-License-Identifier: MIT
#
# memory.sh - what gpreemptctl, the OCI hook and the Slurm plugin write to dmem.low and dmem.max, what shares hook and plugin set, and whether
# stops are followed, with address and undefined-behaviour sanitizers, on a made-up machine whose cgroups are folders. TAP on stdout
#
# Builds into $BUILD/gpreemptctl-memory.
. "$(dirname "$0")/lib.sh"

here=$TOP/tools/testing/gpreemptctl
built=$BUILD/gpreemptctl-memory
export MACHINE=$scratch/machine
top=$MACHINE/sys/fs/cgroup
sanitizers="-g -O1 -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"
wrapped="open fopen opendir scandir access readlink ioctl realpath write"
first=drm/0000:03:00.0/vram
second=drm/0000:0c:00.0/vram
conf=$scratch/gpreempt.conf

# shellcheck disable=SC2046,SC2086 # words
builds_without_warnings()
{
	local wrap

	wrap=$(printf -- '-Wl,--wrap=%s ' $wrapped)
	build_ctl "$built" sanitized
	mkdir -p "$built/fakes"
	gcc $sanitizers -D_GNU_SOURCE -I"$TOP/include/uapi" -c -o "$built/fakes/machine.o" "$here/machine.c"
	gcc $sanitizers -c -o "$built/fakes/fake_cgroup.o" "$here/fake_cgroup.c"
	gcc $sanitizers -o "$built/ctl" "$built"/fakes/*.o "$built"/*.o $wrap -ljson-c -lncurses -ltinfo
	gcc $sanitizers -I"$TOP/include/uapi" -I"$TOP/lib" -I"$TOP/integrations/common" -o "$built/hook" "$built"/fakes/*.o \
		"$TOP/integrations/oci/gpreempt-oci.c" "$TOP"/integrations/common/*.c "$TOP/lib/gpreempt.c" "$TOP/lib/dmem.c" "$TOP/lib/parse.c" $wrap -ljson-c
}

ctl()
{
	"$built/ctl" "$@" 2>"$err"
}

# cgroup PATH...: new ones, with the controller's files if the one above passes it on
cgroup()
{
	local path

	for path; do
		mkdir "$top/$path"
		echo "cpu memory" >"$top/$path/cgroup.controllers"
		touch "$top/$path/cgroup.subtree_control" "$top/$path/cgroup.procs"
		grep -q dmem "$(dirname "$top/$path")/cgroup.subtree_control" || continue
		echo "cpu memory dmem" >"$top/$path/cgroup.controllers"
		sed 's/ .*/ 0/' "$top/dmem.capacity" >"$top/$path/dmem.low"
		sed 's/ .*/ max/' "$top/dmem.capacity" >"$top/$path/dmem.max"
	done
}

machine()
{
	rm -rf "$MACHINE"
	mkdir -p "$top" "$MACHINE/proc/self" "$MACHINE/sys/class/kfd/kfd/gpreempt/1" "$MACHINE/sys/class/kfd/kfd/gpreempt/2"
	touch "$MACHINE/queues"
	node 1 768 && node 2 3072
	echo "cpu memory dmem" >"$top/cgroup.controllers"
	echo 17 >"$top/cgroup.procs"
	echo cpu >"$top/cgroup.subtree_control"
	printf '%s 68702699520\n%s 34359738368\ndrm/0000:0c:00.0/stolen 67108864\nother/vram 5\n' "$first" "$second" >"$top/dmem.capacity"
	cgroup system.slice system.slice/a.service system.slice/b.service batch.slice
}

# node GPU LOCATION: as KFD's topology names its device
node()
{
	local folder=$MACHINE/sys/class/kfd/kfd/topology/nodes/$1

	mkdir -p "$folder"
	echo "$1" >"$folder/gpu_id"
	printf 'simd_count 4\nlocation_id %s\ndomain 0\n' "$2" >"$folder/properties"
}

# value CGROUP low|max [REGION]
value()
{
	sed -n "s|^${3:-$first} ||p" "$top/$1/dmem.$2"
}

sizes_are_bytes_or_parts_of_each_gpu()
{
	local words low max other

	machine
	while read -r words low max other; do
		status 0 ctl memory --cgroup system.slice/a.service "${words//,/ }"
		is "$words: low" "$(value system.slice/a.service low)" "$low"
		is "$words: max" "$(value system.slice/a.service max)" "$max"
		is "$words: max of the other GPU" "$(value system.slice/a.service max "$second")" "$other"
	done <<-'END'
		max=4096 0 4096 4096
		low=1K 1024 4096 4096
		max=3m,low=0 0 3145728 3145728
		max=8G 0 8589934592 8589934592
		low=25%,max=50% 17175674880 34351349760 17179869184
		max=100% 17175674880 68702699520 34359738368
		max=1% 17175674880 687026995 343597383
		low=0%,max=max 0 max max
		low=max max max max
	END
}

a_cgroup_gets_the_controller_from_all_above()
{
	machine
	status 0 ctl memory --cgroup /sys/fs/cgroup/system.slice/a.service max=1G
	is "top" "$(cat "$top/cgroup.subtree_control")" "cpu dmem"
	is "above" "$(cat "$top/system.slice/cgroup.subtree_control")" "dmem"
	is "its own" "$(cat "$top/system.slice/a.service/cgroup.subtree_control")" ""
	is "beside" "$(value system.slice/b.service max) $(value batch.slice max)" "max max"
	is "of what is no memory of a GPU" "$(value system.slice/a.service max other/vram) $(value system.slice/a.service max drm/0000:0c:00.0/stolen)" "max max"
	status 0 ctl memory --cgroup system.slice/a.service max=2G
	is "top" "$(cat "$top/cgroup.subtree_control")" "cpu dmem"
}

one_gpu_alone()
{
	machine
	status 0 ctl memory --cgroup batch.slice -g 2 max=50%
	is "max" "$(value batch.slice max) $(value batch.slice max "$second")" "max 17179869184"
	status 1 ctl memory --cgroup batch.slice -g 3 max=50%
	has "$err" "gpu 3: no such GPU"
}

what_a_cgroup_has_is_shown()
{
	machine
	status 0 ctl memory --cgroup batch.slice low=10% max=20%
	status 0 ctl memory --cgroup batch.slice >"$scratch/out"
	diff -u - "$scratch/out" <<-'END'
		REGION                                  CAPACITY         CURRENT             LOW             MAX
		drm/0000:03:00.0/vram                68702699520            4096      6870269952     13740539904
		drm/0000:0c:00.0/vram                34359738368            4096      3435973836      6871947673
	END
	status 0 ctl memory --json -g 2 --cgroup batch.slice >"$scratch/out"
	is "JSON" "$(python3 -c 'import json, sys; print(json.load(sys.stdin)["regions"])' <"$scratch/out")" \
		"[{'region': '$second', 'capacity': 34359738368, 'current': 4096, 'low': 3435973836, 'max': 6871947673}]"
	status 0 ctl memory >"$scratch/out"
	has "$scratch/out" "$first                68702699520               -               -               -"
}

# refused STATUS MESSAGE WORDS...: and nothing is in force
refused()
{
	local wanted=$1 message=$2

	shift 2
	status "$wanted" ctl memory --cgroup "$@"
	is "message" "$(cat "$err")" "gpreemptctl: $message"
}

what_cannot_be_says_value_bound_and_what_is_kept()
{
	local path=$top/system.slice

	machine
	refused 1 "memory: max=137438953472 is above the 68702699520 bytes of the largest GPU memory; nothing changed" system.slice/a.service max=128G
	refused 1 "memory: low=60% is above max=34359738368 on $first of 68702699520 bytes; nothing changed" system.slice/a.service low=60% max=32G
	refused 1 "memory: low=max is above max=1024 on $first of 68702699520 bytes; nothing changed" system.slice/a.service low=max max=1K
	is "top" "$(cat "$top/cgroup.subtree_control")" "cpu"
	echo 99 >"$path/cgroup.procs"
	refused 1 "memory: $path/cgroup.subtree_control: +dmem: Device or resource busy; no bound is in force" system.slice/a.service max=1K
	: >"$path/cgroup.procs"
	status 0 ctl memory --cgroup system.slice/a.service max=5K
	refused 1 "nowhere: No such file or directory" nowhere max=1K
	mkdir "$top/folder"
	refused 1 "memory: /sys/fs/cgroup/folder: no cgroup of version 2" folder max=1K
	rm "$path/b.service/dmem.low" && mkdir "$path/b.service/dmem.low"
	refused 1 "memory: /sys/fs/cgroup/system.slice/b.service/dmem.low: $first 1024: Is a directory; kept none" system.slice/b.service low=1K
	: >"$top/dmem.capacity"
	refused 1 "memory: $top/dmem.capacity names no memory of a GPU; no bound is in force" system.slice/a.service max=1K
	rm "$top/dmem.capacity"
	refused 1 "memory: this kernel has no dmem controller (Linux 6.14 and later, CONFIG_CGROUP_DMEM, cgroup v2); no bound is in force" system.slice/a.service max=1K
	is "max" "$(value system.slice/a.service max)" 5120
}

# apply STATUS: of the file on stdin
apply()
{
	cat >"$conf"
	status "$1" ctl apply "$conf"
}

classes_and_cgroups_have_memory()
{
	machine
	apply 0 <<-'END'
		[classes]
		cgroup system.slice/a.service = latency
		cgroup system.slice/b.service = batch
		cgroup batch.slice = batch
		[memory]
		class latency = low=50%
		class batch = low=1M max=25%
		class 3 = max=1K
		cgroup batch.slice = max=4G
		cgroup system.slice = max=60G low=55%
	END
	is "messages" "$(cat "$err")" ""
	is "latency" "$(value system.slice/a.service low) $(value system.slice/a.service max)" "34351349760 max"
	is "batch" "$(value system.slice/b.service low) $(value system.slice/b.service max)" "1048576 17175674880"
	is "its own line" "$(value batch.slice low) $(value batch.slice max)" "0 4294967296"
	is "no class" "$(value system.slice low) $(value system.slice max)" "37786484736 64424509440"
}

lines_that_cannot_be_are_told()
{
	machine
	cgroup "a=b"
	apply 1 <<-'END'
		[memory]
		cgroup batch.slice = 5G
		cgroup batch.slice = max=101%
		cgroup batch.slice = max=5G low=1G max=2G
		cgroup = max=5G
		user root = max=5G
		class fast = max=5G
		cgroup	a=b =max=5G
		cgroup batch.slice = max=999G
		cgroup nowhere = max=5G
	END
	sed "s|^gpreemptctl: $conf:||" "$err" | diff -u - /dev/fd/3 3<<-'END'
		2: not `= low=SIZE max=SIZE` at the end (SIZE: bytes, with K, M, G or T, 0% to 100%, max): cgroup batch.slice = 5G; the line is ignored
		3: not `= low=SIZE max=SIZE` at the end (SIZE: bytes, with K, M, G or T, 0% to 100%, max): cgroup batch.slice = max=101%; the line is ignored
		4: not `= low=SIZE max=SIZE` at the end (SIZE: bytes, with K, M, G or T, 0% to 100%, max): cgroup batch.slice = max=5G low=1G max=2G; the line is ignored
		5: not `cgroup DIR` or `class CLASS`: cgroup; the line is ignored
		6: not `cgroup DIR` or `class CLASS`: user; the line is ignored
		7: neither a priority (-1023..1023) nor a class (latency, normal, batch): fast; the line is ignored
		9: batch.slice; max=1072668082176 is above the 68702699520 bytes of the largest GPU memory; nothing changed
		10: nowhere: No such file or directory
	END
	is "max" "$(value "a=b" max) $(value batch.slice max)" "5368709120 max"
}

protection_that_those_above_do_not_give_is_told()
{
	machine
	status 0 ctl memory --cgroup system.slice/a.service low=2K
	is "message" "$(cat "$err")" \
		"gpreemptctl: memory: low of /sys/fs/cgroup/system.slice/a.service counts up to 0 bytes on $first, which is what $top/system.slice protects"
	status 0 ctl memory --cgroup system.slice low=1K
	is "of the topmost" "$(cat "$err")" ""
	status 0 ctl memory --cgroup system.slice/a.service low=2K
	has "$err" "counts up to 1024 bytes"
	status 0 ctl memory --cgroup system.slice/a.service max=4K
	status 0 ctl memory --cgroup system.slice low=max
	status 0 ctl memory --cgroup system.slice/a.service low=3K
	is "protected" "$(cat "$err")" ""
	machine
	apply 0 <<-'END'
		[classes]
		cgroup system.slice/a.service = latency
		[memory]
		class latency = low=1M
		cgroup system.slice/b.service = low=4M
		cgroup system.slice = low=2M
	END
	is "messages" "$(cat "$err")" \
		"gpreemptctl: $conf:5: low of /sys/fs/cgroup/system.slice/b.service counts up to 2097152 bytes on $first, which is what $top/system.slice protects"
}

becomes()
{
	for _ in $(seq 100); do
		[ "$("${@:2}")" != "$1" ] || return 0
		sleep 0.1
	done
	is "${*:2}" "$("${@:2}")" "$1"
}

# A cgroup that is made anew has nothing; what another process has changed stays changed.
the_service_takes_back_what_it_gave()
{
	local pid

	machine
	cat >"$conf" <<-'END'
		[classes]
		cgroup system.slice/a.service = batch
		[memory]
		class batch = max=2G
		cgroup batch.slice = max=3G low=1G
	END
	status 0 ctl memory --cgroup system.slice/a.service max=40G
	"$built/ctl" apply --follow -i 0.05 "$conf" 2>"$err" &
	pid=$!
	becomes 2147483648 value system.slice/a.service max
	becomes 3221225472 value batch.slice max
	# Not under the number of the old one, which a cgroup never has.
	cgroup new
	rm -r "$top/batch.slice"
	mv "$top/new" "$top/batch.slice"
	becomes 3221225472 value batch.slice max
	sed -i "s|$second .*|$second 77|" "$top/batch.slice/dmem.max"
	kill $pid
	wait $pid
	is "messages" "$(cat "$err")" ""
	is "as before" "$(value system.slice/a.service low) $(value system.slice/a.service max)" "0 42949672960"
	is "batch.slice" "$(value batch.slice max) $(value batch.slice max "$second")" "max 77"
}

without_the_controller_priorities_are_given_all_the_same()
{
	machine
	rm "$top/dmem.capacity" "$top/cgroup.procs"
	printf '[memory]\nclass batch = max=1G\ncgroup x = max=1G\n' | apply 1
	is "messages" "$(grep -c 'memory is bounded by cgroups of version 2, which this machine has not; no bound is in force' "$err")" 2
	touch "$top/cgroup.procs"
	printf '[classes]\ncgroup batch.slice = batch\n[memory]\nclass batch = max=1G\n' | apply 1
	is "message" "$(cat "$err")" "gpreemptctl: $conf:4: batch.slice; this kernel has no dmem controller (Linux 6.14 and later, CONFIG_CGROUP_DMEM, cgroup v2); no bound is in force"
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

# has_memory LOW MAX
has_memory()
{
	is "low and max" "$(value system.slice/a.service low) $(value system.slice/a.service max)" "$1 $2"
}

containers_have_memory_by_annotation_or_class()
{
	container_machine
	hook 0 '"kfd-gpreempt/memory-max": "25%", "kfd-gpreempt/memory-low": "1G"' ''
	has_memory 1073741824 17175674880
	container_machine
	hook 0 '"kfd-gpreempt/priority": "batch"' 'memory batch = max=10%\nmemory any = low=1M max=50%\n'
	has_memory 1048576 6870269952
	container_machine
	hook 0 '"kfd-gpreempt/priority": "latency"' 'memory batch = max=10%\nmemory any = low=1M max=50%\n'
	has_memory 1048576 34351349760
	container_machine
	hook 0 '"kfd-gpreempt/memory-max": "5%"' 'memory normal = low=2M max=10%\n'
	has_memory 2097152 3435134976
	is "messages" "$(cat "$err")" ""
}

containers_may_not_have_more_than_is_allowed()
{
	container_machine
	hook 1 '"kfd-gpreempt/memory-max": "20%"' 'memory any = max=10%\n'
	is "message" "$(cat "$err")" \
		"gpreempt-oci: annotation kfd-gpreempt/memory-low or -max: memory-max=20% is more than the administrator allows, which is 10%, on $first of 68702699520 bytes"
	hook 1 '"kfd-gpreempt/memory-low": "2G"' 'memory normal = low=1G\n'
	has "$err" "memory-low=2147483648 is more than the administrator allows, which is 1073741824, on $first"
	hook 1 '"kfd-gpreempt/memory-low": "much"' ''
	has "$err" "annotation kfd-gpreempt/memory-low: much is not a number of bytes, with K, M, G or T, 0% to 100%"
	hook 1 '' '#\nmemory any max=10%\n'
	has "$err" "$conf:2: not memory CLASS = low=SIZE max=SIZE"
	hook 1 '' 'memory fast = max=10%\n'
	has "$err" "$conf:1: not memory CLASS"
	is "nothing changed" "$(cat "$top/cgroup.subtree_control")" "cpu"
}

# Who asks for nothing starts all the same.
containers_that_ask_need_the_controller()
{
	container_machine
	rm "$top/dmem.capacity"
	hook 0 '' 'memory any = max=10%\n'
	has "$err" "memory: this kernel has no dmem controller"
	hook 1 '"kfd-gpreempt/memory-max": "20%"' ''
	has "$err" "this kernel has no dmem controller (Linux 6.14 and later, CONFIG_CGROUP_DMEM, cgroup v2); no bound is in force"
	: >"$MACHINE/proc/self/mounts"
	hook 0 '' 'memory any = max=10%\n'
	hook 1 '"kfd-gpreempt/memory-max": "20%"' ''
	has "$err" "cgroups of version 2, which this machine has not"
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
	share_refused "$conf:2: not share CLASS = weight=N min=PERCENT max=PERCENT: weight=10001 is not in 1..10000" '' '#\nshare any = weight=10001\n'
	share_refused "$conf:1: not share CLASS = weight=N min=PERCENT max=PERCENT: 5 is neither weight=N nor min=PERCENT nor max=PERCENT" '' 'share any = 5\n'
	share_refused "$conf:1: not share CLASS = weight=N min=PERCENT max=PERCENT" '' 'share any weight=5\n'
	share_refused "$conf:1: not share CLASS = weight=N min=PERCENT max=PERCENT" '' 'share fast = weight=5\n'
	hook 0 '"kfd-gpreempt/share-max": "7500/25000"' 'share any = max=30\n'
	has_share "100 0 7500/25000"
}

# Who asks for nothing starts all the same, but where the administrator's share has no room.
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
	share_refused "share: 127 groups have a share, and there is room for no more$none" '' 'share any = weight=50\n'
	rm "$MACHINE/sys/share-errno"
	: >"$MACHINE/proc/self/mounts"
	hook 0 '' 'share any = weight=50\n'
	share_refused "$which: shares are those of cgroups of version 2, which this machine has not$none" '"kfd-gpreempt/share-weight": "50"' ''
}

# step STATUS ARGUMENTS...: of step.c
step()
{
	local wanted=$1

	shift
	container_machine
	cgroup system.slice/slurmstepd.scope system.slice/slurmstepd.scope/job_5 system.slice/slurmstepd.scope/job_5/step_0
	echo "0::/system.slice/slurmstepd.scope/job_5/step_0/user/task_0" >"$MACHINE/proc/4711/cgroup"
	[ "$without" != controller ] || rm "$top/dmem.capacity"
	[ "$without" != module ] || touch "$MACHINE/sys/no-module"
	status "$wanted" "$built/step" "$@"
}

# step_has LOW MAX
step_has()
{
	is "low and max" "$(value system.slice/slurmstepd.scope/job_5/step_0 low) $(value system.slice/slurmstepd.scope/job_5/step_0 max)" "$1 $2"
}

# With what Slurm gives a plugin
step_builds()
{
	local wrap

	echo '#include <slurm/spank.h>' | gcc -E - >/dev/null 2>&1 || skip "libslurm-dev is not installed"
	wrap=$(printf -- '-Wl,--wrap=%s ' $wrapped)
	# shellcheck disable=SC2086 # words
	gcc $sanitizers -I"$TOP/include/uapi" -I"$TOP/lib" -I"$TOP/integrations/common" -o "$built/step" "$built"/fakes/*.o "$TOP/tools/testing/integrations/step.c" \
		"$TOP"/integrations/slurm/*.c "$TOP"/integrations/common/*.c "$TOP/lib/gpreempt.c" "$TOP/lib/dmem.c" "$TOP/lib/parse.c" $wrap
}

steps_have_memory_by_option_or_class()
{
	local word without=

	step_builds
	step 0 --gpu-memory-low=1G --gpu-memory-max=25%
	step_has 1073741824 17175674880
	step 0 --gpu-priority=batch job=leave memory:batch=max=10% memory:any=low=1M,max=50%
	step_has 1048576 6870269952
	step 0 memory:batch=max=10% memory:any=low=1M,max=50%
	step_has 1048576 34351349760
	is "messages" "$(cat "$err")" ""
	step 3 --gpu-memory-max=60% memory:any=max=50%
	has "$err" "gpreempt: --gpu-memory-low or -max: memory-max=60% is more than the administrator allows, which is 50%, on $first"
	step 1 --gpu-memory-max=much
	has "$err" "gpreempt: --gpu-memory-max=much: not a number of bytes, with K, M, G or T, 0% to 100% of a GPU's memory, or max"
	for word in memory:any memory:any=5G memory:fast=max=5G memory:=max=5G; do
		step 2 "$word"
		has "$err" "gpreempt: plugstack.conf: $word: not memory:CLASS=low=SIZE,max=SIZE"
	done
	without=controller
	step 0 memory:any=max=50%
	is "messages" "$(cat "$err")" ""
	step 3 --gpu-memory-max=50%
	has "$err" "gpreempt: --gpu-memory-low or -max: this kernel has no dmem controller"
}

# step_has_share WANTED
step_has_share()
{
	is "shares" "$(cat "$MACHINE/shares" 2>/dev/null)" "${1:+system.slice/slurmstepd.scope/job_5/step_0 $1}"
}

steps_have_a_share_by_option_or_class()
{
	local word without=

	step_builds
	step 0 --gpu-share-weight=300 --gpu-share-min=20 --gpu-share-max=5000/50000
	step_has_share "300 20 5000/50000"
	step 0 --gpu-priority=batch all=-500..500 memory:any=max=50% share:batch=weight=50 share:latency=min=80 share:any=max=25,weight=70
	step_has_share "50 0 5000/20000"
	step 0 share:batch=weight=50
	step_has_share ""
	is "messages" "$(cat "$err")" ""
	step 3 --gpu-share-max=60 share:any=max=50
	is "message" "$(cat "$err")" \
		"gpreempt: --gpu-share-weight, -min or -max: max=12000/20000 is more than the administrator allows, which is 10000/20000; no share is in force"
	step_has_share ""
	step 1 --gpu-share-weight=much
	is "message" "$(cat "$err")" "gpreempt: --gpu-share-weight: weight=much is not in 1..10000"
	step 1 --gpu-share-min=200
	is "message" "$(cat "$err")" "gpreempt: --gpu-share-min: min=200 is not in 0..100 percent"
	for word in share:any share:fast=weight=5 share:=weight=5; do
		step 2 "$word"
		is "message" "$(cat "$err")" "gpreempt: plugstack.conf: $word: not share:CLASS=weight=N,min=PERCENT,max=PERCENT"
	done
	step 2 share:any=5
	has "$err" "share:any=5: not share:CLASS=weight=N,min=PERCENT,max=PERCENT: 5 is neither weight=N nor min=PERCENT nor max=PERCENT"
	without=module
	step 0 share:any=max=50
	is "messages" "$(cat "$err")" ""
	step 2 --gpu-share-max=50
	is "message" "$(cat "$err")" "gpreempt: --gpu-share-weight, -min or -max: this node has no amdgpu with kfd_gpreempt"
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
	hook 1 '' '#\nfollow_stop 1\n'
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

steps_follow_stops_by_option_or_configuration()
{
	local of=system.slice/slurmstepd.scope/job_5/step_0 without=

	step_builds
	step 0 --gpu-follow-stop=always
	stops "$of always"
	step 0 follow_stop=always all=-500..500
	stops "$of always"
	step 0 --gpu-follow-stop=node follow_stop=never
	stops "$of node"
	is "messages" "$(cat "$err")" ""
	step 3 --gpu-follow-stop=never
	is "message" "$(cat "$err")" \
		"gpreempt: --gpu-follow-stop: never is not what the administrator allows, which is always or node; what the GPU's node says is in force"
	stops ""
	step 1 --gpu-follow-stop=yes
	is "message" "$(cat "$err")" "gpreempt: --gpu-follow-stop=yes: not always, never or node"
	step 2 follow_stop=yes
	is "message" "$(cat "$err")" "gpreempt: plugstack.conf: follow_stop=yes: not follow_stop=always, follow_stop=never or follow_stop=node"
	without=module
	step 0 follow_stop=always
	is "messages" "$(cat "$err")" ""
	step 2 --gpu-follow-stop=always
	is "message" "$(cat "$err")" "gpreempt: --gpu-follow-stop: this node has no amdgpu with kfd_gpreempt"
}

plan 23
must "builds without warnings" builds_without_warnings
for t in sizes_are_bytes_or_parts_of_each_gpu a_cgroup_gets_the_controller_from_all_above one_gpu_alone what_a_cgroup_has_is_shown \
	what_cannot_be_says_value_bound_and_what_is_kept classes_and_cgroups_have_memory lines_that_cannot_be_are_told protection_that_those_above_do_not_give_is_told the_service_takes_back_what_it_gave \
	without_the_controller_priorities_are_given_all_the_same containers_have_memory_by_annotation_or_class containers_may_not_have_more_than_is_allowed \
	containers_that_ask_need_the_controller containers_have_a_share_by_annotation_or_class containers_may_not_have_more_than_their_share \
	containers_that_ask_need_shares steps_have_memory_by_option_or_class steps_have_a_share_by_option_or_class \
	weights_that_do_not_count_are_told cgroups_follow_stops_by_command_or_configuration containers_follow_stops_by_annotation_or_configuration \
	steps_follow_stops_by_option_or_configuration; do
	tap $t $t
done
finish

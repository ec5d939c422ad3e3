#!/bin/bash
# SPDX-License-Identifier: MIT
#
# nri.sh - what the NRI plugin answers a container runtime, and what becomes of that: the hook that
# it names, with the annotations that it names, on a made-up machine. The plugin has address and
# undefined-behaviour sanitizers. TAP on stdout
#
# runtime.py beside this is the runtime. Builds into $BUILD/nri.
. "$(dirname "$0")/../gpreemptctl/lib.sh"

here=$TOP/tools/testing/integrations
built=$BUILD/nri
prefix=$built/prefix
hook=$prefix/libexec/gpreempt/gpreempt-oci
export MACHINE=$scratch/machine
top=$MACHINE/sys/fs/cgroup
sanitizers="-g -O1 -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"

builds_without_warnings()
{
	command -v protoc-c >/dev/null || skip "protobuf-c-compiler is not installed"
	rm -rf "$built"
	make -s -C "$TOP/integrations" O="$built" PREFIX="$prefix" CFLAGS="$sanitizers" nri
	mkdir -p "${hook%/*}"
	build_machine
	build_hook "$hook"
}

# runtime SOCKET ARGUMENTS...: of the plugin; lines of the runtime are on stdin, what it saw is in
# $scratch/saw
runtime()
{
	[ -x "$built/gpreempt-nri" ] || skip "protobuf-c-compiler is not installed"
	timeout 100 "$here/runtime.py" "$1" "$built/gpreempt-nri" "${@:2}" >"$scratch/saw" 2>"$err"
}

# saw NUMBER: that line of what the runtime saw
saw()
{
	sed -n "$1p" "$scratch/saw"
}

# hooked ANNOTATIONS [ARGUMENT, ...]: what the answer to a container's creation is
hooked()
{
	echo "{\"annotations\": {$1}, \"hooks\": [[\"$hook\", \"$hook\"${2:+, $2}]], \"others\": []}"
}

registers_and_subscribes()
{
	runtime "$scratch/nri.sock" --socket "$scratch/nri.sock" </dev/null
	is "registration" "$(saw 1)" "nri.pkg.api.v1alpha1.Runtime RegisterPlugin 1 gpreempt 50"
	is "only creations" "$(saw 2)" "events 8"
	is "synchronization in parts" "$(saw 3)" "more 1 0"
	is "end" "$(saw 4)" "exit status 0"
	is "message" "$(cat "$err")" "gpreempt-nri: the runtime has closed the connection"
}

takes_the_connection_it_is_given()
{
	runtime - </dev/null
	is "registration" "$(saw 1)" "nri.pkg.api.v1alpha1.Runtime RegisterPlugin 1 mine 07"
	is "end" "$(saw 4)" "exit status 0"
}

each_container_gets_the_hook()
{
	runtime - <<-'END'
		{"pod": {}, "container": {}}
		{"pod": {"other": "x"}, "container": {"kfd-gpreemptish": "y"}}
	END
	is "nothing asked" "$(saw 4)" "$(hooked "")"
	is "others' annotations" "$(saw 5)" "$(hooked "")"
	runtime - --config /etc/mine.conf <<<'{"pod": {}, "container": {}}'
	is "with a configuration" "$(saw 4)" "$(hooked "" '"--config", "/etc/mine.conf"')"
}

containers_outrank_pods()
{
	runtime - <<-'END'
		{"pod": {"kfd-gpreempt/priority": "latency", "kfd-gpreempt/job": "leave"}, "container": {"kfd-gpreempt/priority": "batch"}}
	END
	is "answer" "$(saw 4)" "$(hooked '"kfd-gpreempt/job": "leave", "kfd-gpreempt/priority": "batch"')"
}

# The answer takes more than one frame.
long_annotations_come_whole()
{
	local long

	long=$(printf '%09000d' 7)
	runtime - <<<"{\"pod\": {\"kfd-gpreempt/priority\": \"$long\"}, \"container\": {}}"
	is "answer" "$(saw 4)" "$(hooked "\"kfd-gpreempt/priority\": \"$long\"")"
}

# given STATUS WANTED ANNOTATIONS: what the hook of the answer does for a container with the
# annotations of the answer
given()
{
	rm -rf "$MACHINE"
	mkdir -p "$top/kubepods/a" "$MACHINE/proc/"{self,4711}
	echo "0::/kubepods/a" >"$MACHINE/proc/4711/cgroup"
	echo "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0" >"$MACHINE/proc/self/mounts"
	touch "$MACHINE"/{set,shares}
	printf 'bounds -1023..normal\n' >"$scratch/conf"
	runtime - --config "$scratch/conf" <<<"{\"pod\": {$3}, \"container\": {}}"
	saw 4 | python3 -c '
import json, subprocess, sys
answer = json.loads(sys.stdin.read())
path, *args = answer["hooks"][0]
state = json.dumps({"ociVersion": "1.0.0", "id": "x", "pid": 4711, "annotations": answer["annotations"]})
print(subprocess.run(args, executable=path, input=state, text=True).returncode)' >"$scratch/status" 2>"$err"
	is "status" "$(cat "$scratch/status")" "$1"
	is "given" "$(cat "$MACHINE/set" "$MACHINE/shares")" "$2"
}

the_hook_does_what_pods_ask()
{
	given 0 "kubepods/a priority -100" '"kfd-gpreempt/priority": "batch"'
	given 0 "kubepods/a 300 0 0/0" '"kfd-gpreempt/share-weight": "300"'
	given 0 "" ''
	given 1 "" '"kfd-gpreempt/priority": "latency"'
	has "$err" "100 is beyond the bounds of $scratch/conf: -1023 to 7"
}

# A hook that is not there fails whatever the runtime calls it for.
a_missing_hook_harms_who_asks()
{
	local said="annotations kfd-gpreempt/ cannot be followed: $hook cannot be called"

	mv "$hook" "$hook.away"
	runtime - <<-'END' || true
		{"pod": {}, "container": {}}
		{"pod": {"kfd-gpreempt/priority": "batch"}, "container": {}}
	END
	mv "$hook.away" "$hook"
	is "nothing asked" "$(saw 4)" '{"annotations": {}, "hooks": [], "others": []}'
	is "asked" "$(saw 5)" "refused: gpreempt-nri: $said"
	has "$err" "gpreempt-nri: $hook: No such file or directory"
}

other_calls_are_answered()
{
	runtime - <<-'END'
		{"call": "StateChange"}
		{"call": "Shutdown"}
	END
	is "not subscribed" "$(saw 4)" "refused: gpreempt-nri: this was not subscribed to"
	is "shutdown" "$(saw 5)" "b''"
}

refusals_and_nonsense_end_it()
{
	runtime - <<<'{"refuse": "no room"}'
	is "end" "$(tail -n 1 "$scratch/saw")" "exit status 1"
	has "$err" "gpreempt-nri: the runtime refuses the plugin: no room"
	runtime - <<<'{"say": "ffffffff000000010100"}'
	is "end" "$(tail -n 1 "$scratch/saw")" "exit status 1"
	is "message" "$(cat "$err")" "gpreempt-nri: a message of 4294967295 bytes; 4194304 is the most"
	runtime - <<<'{"say": "00000002000000010100ffff"}'
	is "message" "$(cat "$err")" "gpreempt-nri: what the runtime asks is no request"
}

usage_and_sockets_are_checked()
{
	[ -x "$built/gpreempt-nri" ] || skip "protobuf-c-compiler is not installed"
	status 2 "$built/gpreempt-nri" --nonsense
	has "$err" "Usage: gpreempt-nri [--socket SOCKET] [--config FILE]"
	status 2 "$built/gpreempt-nri" more
	status 1 "$built/gpreempt-nri" --socket "$scratch/none"
	is "message" "$(cat "$err")" "gpreempt-nri: $scratch/none: No such file or directory"
	status 1 "$built/gpreempt-nri" --socket "/$(printf '%0200d' 0)"
	has "$err" "a socket's path has 107 bytes at most"
}

plan 11
tap "builds_without_warnings" builds_without_warnings
for t in registers_and_subscribes takes_the_connection_it_is_given each_container_gets_the_hook containers_outrank_pods \
	long_annotations_come_whole the_hook_does_what_pods_ask a_missing_hook_harms_who_asks other_calls_are_answered \
	refusals_and_nonsense_end_it usage_and_sockets_are_checked; do
	tap "$t" "$t"
done
finish

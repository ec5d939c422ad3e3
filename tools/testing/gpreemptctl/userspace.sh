#!/bin/bash
# SPDX-License-Identifier: MIT
#
# userspace.sh - gpreemptctl and libgpreempt as far as they go without a GPU, with address and undefined-behaviour sanitizers: command line,
# errors, configuration file, manual pages, completion, what is installed, what is exported. TAP on stdout
#
# Builds into $BUILD/gpreemptctl-asan and $BUILD/lib; installs into a scratch folder.
. "$(dirname "$0")/lib.sh"

built=$BUILD/gpreemptctl-asan
lib=$BUILD/lib
prefix=$scratch/prefix
conf=$scratch/gpreempt.conf
commands="list why status set job share fits account run preempt resume hint policy tune top events stats report apply doctor probe-hang help"
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$TOP/dkms.conf")

builds_without_warnings()
{
	build_ctl "$built" sanitized
	make -s -C "$TOP/lib" O="$lib" CFLAGS="-O2 -g -Werror"
}

# Two makes that build the same into one folder, with a compiler that notes when it is not the only one
builds_into_one_folder_take_turns()
{
	local out=$scratch/turns first second

	mkdir "$out"
	cat >"$out/cc" <<-EOF
		#!/bin/sh
		mkdir "$out/compiles" 2>/dev/null || echo "\$*" >>"$out/beside"
		gcc "\$@" || exit 1
		rmdir "$out/compiles" 2>/dev/null || true
	EOF
	chmod +x "$out/cc"
	env -u MAKEFLAGS make -s -C "$TOP/lib" O="$out/lib" CC="$out/cc" &
	first=$!
	env -u MAKEFLAGS make -s -C "$TOP/lib" O="$out/lib" CC="$out/cc" &
	second=$!
	wait "$first"
	wait "$second"
	is "compilations beside another one" "$(cat "$out/beside" 2>/dev/null)" ""
}

# ctl ARGUMENTS: its messages in $err
ctl()
{
	"$built/gpreemptctl" "$@" 2>"$err"
}

# wrong TEXT ARGUMENTS: wrong usage, which a message with TEXT says, and nothing else
wrong()
{
	local text=$1

	shift
	status 2 ctl "$@" >"$scratch/out"
	has "$err" "$text"
	is "output of gpreemptctl $*" "$(cat "$scratch/out")" ""
}

wrong_usage_is_told()
{
	wrong 'Usage: '
	wrong 'unknown command lits' lits
	wrong '--nonsense' list --nonsense
	wrong 'pid=0 is not a number from 1' list -p 0
	wrong 'pid=x is not a number' list -p x
	wrong 'pid=1x is not a number' list -p 1x
	wrong 'pid=4294967297 is not a number' list -p 4294967297
	wrong 'queue=-1 is not a number' set -p 1 -g 1 --queue=-1 5
	wrong 'list takes no word more' list more
	wrong 'why takes no word more' why more
	wrong '-g goes with -p' probe-hang -g 1
	wrong 'status takes no word more' status more
	wrong 'policy takes no word b' policy a b
	wrong 'apply takes no word b' apply a b
	wrong 'list does not take --priority' list --class batch
	wrong 'top does not take --json' top --json
	wrong 'status does not take --pid' status -p 1
	wrong 'why does not take --columns' why -o pid
	wrong 'events does not take --state' events --state idle
	wrong 'list does not take --batch' list -b
	wrong 'list has no column size; it has PID,' list --sort size
	wrong 'are for tables; --json has all there is' list --json --no-headers
	wrong 'user=nobody-here: there is no such user' list -u nobody-here
	wrong 'state=busy is none of idle, active, preempted' why --state busy
	wrong 'of options, -g alone goes with --prometheus' account --prometheus --job 5
	wrong 'probe-hang takes one process, not 1 and 2' probe-hang -p 1,2
	wrong 'set does not take --json' set -p 1 5 --json
	wrong 'preempt does not take --interval' preempt -p 1 -i 1
	wrong 'list runs no program' list -- true
	wrong '-p PID -g GPU -q QUEUE' list -q 1
	wrong '-p PID -g GPU -q QUEUE' list -p 1 -q 1
	wrong '--cgroup goes without' set --cgroup / -p 1 5
	wrong 'set what?' set -p 1
	wrong 'set needs -p PID or --cgroup DIR' set 5
	wrong '--tree is for a process' set -p 1 -g 1 -q 1 --tree 5
	wrong '--tree is for a process' set --cgroup / --tree 5
	wrong '--tree goes with a priority or a class, not with clear' set -p 1 --tree clear
	wrong '--tree goes with a priority or a class, not with weight=5' set -p 1 --tree weight=5
	wrong 'list does not take --tree' list --tree
	wrong '-g goes with -q' set -p 1 -g 1 5
	wrong 'job what?' job
	wrong 'job what?' job make
	wrong 'job set needs -p PID or --cgroup DIR' job set 5
	wrong "needs the job's ID" job set -p 1
	wrong "0 is not a job's id" job set -p 1 0
	wrong "five is not a job's id" job set --cgroup / five
	wrong 'without -g and -q' job set -p 1 -g 1 -q 1 5
	wrong '--tree is for a process' job set --cgroup / --tree 5
	wrong 'job clear takes no word five' job clear -p 1 five
	wrong '--tree and --stay go with job set' job clear -p 1 --stay
	wrong '--json goes with job list' job set -p 1 5 --json
	wrong 'share what?' share
	wrong 'share what?' share make
	wrong 'needs --cgroup DIR or job=ID' share set weight=5
	wrong 'needs --cgroup DIR or job=ID' share set --cgroup / job=5 weight=5
	wrong 'needs weight=N, min=PERCENT or max=PERCENT' share set job=5
	wrong "job=0 is not a job's id" share set job=0 weight=5
	wrong 'weight=0 is not in 1..10000; nothing changed' share set job=5 weight=0
	wrong 'weight=10001 is not in 1..10000; nothing changed' share set job=5 weight=10001
	wrong 'min=101 is not in 0..100 percent; nothing changed' share set job=5 min=101
	wrong 'max=101 is neither 5..100 percent nor QUOTA_US/PERIOD_US nor none; nothing changed' share set job=5 max=101
	wrong 'max=4 is neither 5..100 percent' share set job=5 max=4
	wrong 'max=5000/9999: a period of 9999 us is not in 10000..1000000; nothing changed' share set job=5 max=5000/9999
	wrong 'max=999/10000: a quota of 999 us is not in 1000..10000; nothing changed' share set job=5 max=999/10000
	wrong 'max=10001/10000: a quota of 10001 us is not in 1000..10000' share set job=5 max=10001/10000
	wrong 'speed=5 is neither weight=N nor min=PERCENT nor max=PERCENT; nothing changed' share set job=5 speed=5
	wrong 'min=50 is more than the maximum, which is 6000 of 20000 us, 30 percent; nothing changed' share set max=30% min=50% job=5
	wrong 'min=26 is more than the maximum, which is 5000 of 20000 us, 25 percent; nothing changed' share set job=5 min=26 max=5ms/20ms
	wrong 'min=101% is not in 0..100 percent' share set job=5 min=101%
	wrong 'max=30%% is neither 5..100 percent' share set job=5 max=30%%
	wrong 'max=5ms is neither 5..100 percent' share set job=5 max=5ms
	wrong 'max=5ms/9ms: a period of 9000 us is not in 10000..1000000' share set job=5 max=5ms/9ms
	wrong 'max=5h/20ms is neither 5..100 percent' share set job=5 max=5h/20ms
	wrong 'weight=5% is not in 1..10000' share set job=5 weight=5%
	wrong 'runtime=6000 is above period=5000; nothing changed' set -p 1 runtime=6ms period=5000
	wrong 'deadline_us=5h is neither' set -p 1 deadline_us=5h
	wrong 'deadline_us=ms is neither' set -p 1 deadline_us=ms
	wrong 'deadline_us=99999999999999999999s is neither' set -p 1 deadline_us=99999999999999999999s
	wrong 'deadline_us=18446744073709551615s is neither' set -p 1 deadline_us=18446744073709551615s
	wrong 'weight=5ms is neither' set -p 1 weight=5ms
	wrong '1.001 s is above 1 s' hint -p 1 --for 1001ms
	wrong 'for=5m is not from' hint -p 1 --for 5m
	wrong 'share clear takes no word weight=5' share clear job=5 weight=5
	wrong 'share list is of all groups' share list job=5
	wrong '--json goes with share list' share set job=5 weight=5 --json
	wrong 'period=5 goes with a runtime=, from 1; alone it is deadline_us=; nothing changed' set -p 1 period=5
	wrong 'period=5 goes with a runtime=' set -p 1 runtime=0 period=5
	wrong 'runtime=6 is above period=5; nothing changed' set -p 1 runtime=6 period=5
	wrong 'runtime=5 is for a process; nothing changed' set -p 1 -g 1 -q 1 runtime=5
	wrong 'runtime=5 is for a process; nothing changed' set --cgroup / runtime=5
	wrong 'runtime=x is neither' set -p 1 runtime=x
	wrong 'speed=5 is neither runtime=US nor period=US' fits speed=5
	wrong 'a runtime from 1 to the period, not 5 and 0' fits runtime=5
	wrong 'a runtime from 1 to the period, not 0 and 5' fits period=5
	wrong 'a runtime from 1 to the period, not 6 and 5' fits runtime=6 period=5
	wrong 'fits takes no word 7' fits runtime=5 period=6 7
	wrong 'fits does not take --cgroup' fits --cgroup /
	wrong 'queue is none of node, cgroup, job, process' account queue
	wrong '--csv, --json or --prometheus' account --csv --json
	wrong '--csv, --json or --prometheus' account --prometheus --csv
	wrong '--prometheus goes without --since' account --prometheus --since /dev/null
	wrong 'why does not take --csv' why --csv
	wrong 'top does not take --since' top --since /dev/null
	wrong 'set does not take --stay' set -p 1 --stay 5
	wrong 'by=pid is neither job nor queue' list --by pid
	wrong 'by= is neither job nor queue' top --by=
	wrong 'status does not take --by' status --by job
	wrong '1024 is neither a priority (-1023..1023) nor a class' set -p 1 1024
	wrong '-1024 is neither a priority' set -p 1 -1024
	wrong 'fast is neither a priority' set -p 1 fast
	wrong 'weight=x is neither' set -p 1 5 weight=x
	wrong 'wait=5 is neither' set -p 1 wait=5
	wrong 'a cgroup has a priority and follow_stop only' set --cgroup / weight=5
	wrong 'for a process, not for one of its queues' set -p 1 -g 1 -q 1 exempt=1
	wrong 'for a process, not for one of its queues' set -p 1 -g 1 -q 1 follow_stop=never
	wrong 'follow_stop=1 is neither a priority (-1023..1023) nor a class (latency, normal, batch) nor clear, weight=N, deadline_us=N, runtime=US [period=US], exempt=0|1, waits_for=PID|0 or follow_stop=always|never|node; nothing changed' set -p 1 follow_stop=1
	wrong 'for a process, not for one of its queues' set -p 1 -g 1 -q 1 waits_for=2
	wrong 'waits_for=2 is for a process or a queue: a cgroup has a priority and follow_stop only' set --cgroup / waits_for=2
	wrong 'waits_for=x is neither' set -p 1 waits_for=x
	wrong 'waits_for=2147483648 is above 2147483647, which no pid is; nothing changed' set -p 1 waits_for=2147483648
	wrong 'waits_for=1: a process does not wait for itself; nothing changed' set -p 1 waits_for=1
	wrong 'run --priority N|--class C -- COMMAND' run -- true
	wrong 'run --priority N|--class C -- COMMAND' run --class batch
	wrong 'fast is neither a priority' run --class fast -- true
	wrong '5000 is neither a priority' run --priority 5000 -- true
	wrong 'which one?' preempt
	wrong 'which one?' resume
	wrong 'which one?' hint
	wrong '1.001 s is above 1 s' hint -p 1 --for 1.001
	wrong 'for=0 is not from' hint -p 1 --for 0
	wrong 'not both' preempt -p 1 --for 1 -- true
	wrong 'for=0 is not from 0.001' preempt -p 1 --for 0
	wrong 'for=nan is not from' preempt -p 1 --for nan
	wrong 'interval=86401 is not from' top -i 86401
	wrong 'count=0 is not a number from 1' events -n 0
	wrong 'not both' stats --json --prometheus
	wrong 'not both' apply --check --follow
	wrong 'bound-ms=0 is not a number from 1 to 60000' probe-hang --bound-ms 0
	wrong 'probe-hang does not take --cgroup' probe-hang --cgroup /
	wrong 'list does not take --preempt' list --preempt
}

a_missing_module_has_a_status_and_a_remedy()
{
	local args

	without_module
	for args in list "list --json" why "why -p 1" status "set -p 1 -5" "set -p 1 latency" "run --class batch -- true" "run --priority=-5 true" "run --priority -5 true" \
		"preempt -p 1" "preempt -p 1 -- true" "resume -p 1" "hint -p 1" fits "fits runtime=1 period=2" "set -p 1 runtime=1 period=2" probe-hang "probe-hang --preempt -p 1" policy "policy wfq" tune "tune poll_us=200" top "events -n 1" stats "apply $conf"; do
		# shellcheck disable=SC2086 # words
		status 3 ctl $args >"$scratch/out"
		has "$err" "try: gpreemptctl doctor"
		is "output of $args" "$(cat "$scratch/out")" ""
	done
	status 3 ctl doctor >"$scratch/out"
	grep -qE '^BAD  (amdgpu is loaded|there is an AMD GPU): no$' "$scratch/out"
	is "messages" "$(cat "$err")" ""
	status 3 ctl doctor --json >"$scratch/out"
	python3 -c 'import json, sys; d = json.load(sys.stdin); assert d["schema_version"] == 1 and d["checks"][0]["ok"] is False and d["checks"][0]["remedy"]' \
		<"$scratch/out"
}

# What setarch makes of the kernel's name is of no series that there will ever be hooks for.
doctor_knows_kernel_series()
{
	local supported word="BAD "

	without_module
	supported=$("$TOP/dkms/hooks.sh" --supported | tr '\n' ' ')
	case " $supported" in
	*" $(uname -r | cut -d . -f 1,2) "*)	word="ok  " ;;
	esac
	status 3 ctl doctor >"$scratch/out"
	has "$scratch/out" "$word the kernel is of a supported series: $(uname -r)"
	status 3 setarch --uname-2.6 "$built/gpreemptctl" doctor >"$scratch/out"
	has "$scratch/out" "BAD  the kernel is of a supported series: 2.6."
	has "$scratch/out" ", which is none of ${supported% }"
	has "$scratch/out" "-> boot a kernel of one of these series"
}

help_names_everything()
{
	local command

	status 0 ctl --help >"$scratch/help"
	for command in $commands; do
		grep -qE "^  $command( |\$)" "$scratch/help" || { echo "no $command in --help"; return 1; }
	done
	is "commands in --help" "$(sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\).*/\1/p' "$scratch/help" | sort -u | wc -w)" "$(echo "$commands" | wc -w)"
	is "version" "$(ctl --version)" "gpreemptctl $version (kfd_gpreempt)"
	ctl help | cmp - "$scratch/help"
	ctl -h | cmp - "$scratch/help"
	is "lines above 100 columns" "$(awk 'length > 100' "$scratch/help")" ""
	status 2 ctl >"$scratch/out"
	is "output without a command" "$(cat "$scratch/out")" ""
	[ "$(wc -l <"$err")" -le 25 ] || { echo "more than 25 lines"; cat "$err"; return 1; }
	is "commands without one" "$(sed -n 's/^  \([a-z-]*\) .*/\1/p' "$err" | sort | xargs)" "$(echo "$commands" | xargs -n1 | sort | xargs)"
}

# Its options are those that it takes, and no line is about another command.
help_of_a_command_is_about_that_one()
{
	local command

	for command in $commands; do
		status 0 ctl help "$command" >"$scratch/help"
		ctl "$command" --help | cmp - "$scratch/help"
		ctl -h "$command" | cmp - "$scratch/help"
		is "messages" "$(cat "$err")" ""
		is "usage of others in help $command" "$(sed -n '/^Usage:/,/^$/p; /^Example:/,/^$/p' "$scratch/help" | grep '^  ' | grep -v "^  gpreemptctl $command")" ""
		grep -q '^Example:' "$scratch/help"
	done
	ctl help set >"$scratch/help"
	has "$scratch/help" "  gpreemptctl set -p PID... --tree PRIORITY|CLASS"
	has "$scratch/help" "      --tree "
	is "options of set" "$(grep -oE '^ .* --[a-z]+' "$scratch/help" | sed -n 's/^  [- ][a-z ].* --/--/p' | xargs)" "--pid --gpu --queue --cgroup --tree"
	is "options of doctor" "$(ctl help doctor | grep -c -e --pid -e --tree)" 0
	wrong 'unknown command nonsense' help nonsense
	wrong 'help takes no word b' help a b
}

mistyped_commands_are_told_what_was_meant()
{
	local given meant

	while read -r given meant; do
		wrong "unknown command $given; did you mean \`$meant'?" "$given"
	done <<-'END'
		lits list
		polcy policy
		reusme resume
		acount account
		stat status
		probe probe-hang
		tpo top
	END
	wrong "unknown command help2; did you mean \`help'?" help2
	wrong "did you mean \`set'?" help sett
	wrong 'unknown command foo; try: gpreemptctl help' foo
	wrong 'unknown command ; try: gpreemptctl help' ''
}

# config STATUS MESSAGE...: what apply --check says of the file on stdin; all it says, but for rules that fit nothing on this machine
config()
{
	local wanted=$1 message

	shift
	cat >"$conf"
	status "$wanted" ctl apply --check "$conf" >"$scratch/out"
	for message; do
		has "$err" "$conf:$message"
	done
	is "number of messages" "$(grep -c . "$err")" $#
	is "output" "$(grep -v '^[^ ]*:[0-9]*: fits nothing now: ' "$scratch/out")" ""
}

a_good_configuration_is_not_mentioned()
{
	config 0 <"$TOP/dist/gpreempt.conf"
	# With all that it suggests, for a user that is here.
	sed -E 's/^#([a-z])/\1/; s/^user training/user root/' "$TOP/dist/gpreempt.conf" >"$scratch/all"
	is "suggestions" "$(grep -cE '^(poll_us|cgroup|exe|user) ' "$scratch/all")" 8
	config 0 <"$scratch/all"
	config 0 </dev/null
	printf '\t[classes]  \n\n  exe   /opt/a b=c/train =  -5 \n\tuser\t12345 = latency\n#x\n[tunables]\ngpreempt_enable=Y\npolicy = edf' | config 0
}

bad_lines_are_told_one_by_one()
{
	config 1 "1: before the first section: poll_us = 5; the line is ignored" \
		"3: poll_us=5 is not 0 or a number from 50 to 1000000" \
		"4: relief_ms=0 is not a number from 1 to 10000" \
		"5: there is no tunable nonsense" \
		"6: there is no = in: poll_us 200; the line is ignored" \
		"7: policy=best is not one of hpf wfq edf" \
		"8: enable= is not one of 0 1 Y N" \
		"10: neither a priority (-1023..1023) nor a class (latency, normal, batch): 1024; the line is ignored" \
		"11: neither a priority (-1023..1023) nor a class (latency, normal, batch): fast; the line is ignored" \
		"12: there is no user nosuchuser; the line is ignored" \
		"13: not \`exe PATH\`, \`user NAME\`, \`cgroup DIR\`, \`container NAME\`, \`image IMAGE\` or \`label KEY=VALUE\`: group; the line is ignored" \
		"14: not \`exe PATH\`, \`user NAME\`, \`cgroup DIR\`, \`container NAME\`, \`image IMAGE\` or \`label KEY=VALUE\`: exe; the line is ignored" \
		"15: a program is named by its whole path, not: train; the line is ignored" \
		"16: neither [tunables] nor [classes] nor [jobs] nor [shares] nor [stops]: [class]; all of the section is ignored" \
		"19: not \`cgroup DIR\`, \`container NAME\`, \`image IMAGE\` or \`label KEY=VALUE\`: cg; the line is ignored" \
		"20: not \`cgroup DIR\`, \`container NAME\`, \`image IMAGE\` or \`label KEY=VALUE\`: cgroup; the line is ignored" \
		"21: neither leave nor stay: go; the line is ignored" \
		"24: weight=0 is not in 1..10000; the line is ignored" \
		"25: max=2 is neither 5..100 percent nor QUOTA_US/PERIOD_US nor none; the line is ignored" \
		"26: there is no = with spaces beside it in: cgroup a=weight=5; the line is ignored" \
		"27: not \`cgroup DIR\`, \`container NAME\`, \`image IMAGE\` or \`label KEY=VALUE\`: exe; the line is ignored" \
		"28: there is no = with spaces beside it in: cgroup a =; the line is ignored" \
		"31: neither always nor never nor node: 1; the line is ignored" \
		"32: not \`cgroup DIR\`, \`container NAME\`, \`image IMAGE\` or \`label KEY=VALUE\`: exe; the line is ignored" \
		"33: there is no = in: cgroup a; the line is ignored" <<-'END'
		poll_us = 5
		[tunables]
		poll_us = 5
		relief_ms = 0
		nonsense = 1
		poll_us 200
		policy = best
		enable =
		[classes]
		exe /bin/a = 1024
		exe /bin/a = fast
		user nosuchuser = 5
		group video = 5
		exe = 5
		exe train = 5
		[class]
		anything
		[jobs]
		cg a = leave
		cgroup = stay
		cgroup a=b = go
		cgroup a=b = stay
		[shares]
		cgroup a=b = weight=0
		cgroup a = weight=5 max=2
		cgroup a=weight=5
		exe /bin/a = weight=5
		cgroup a =
		cgroup a=b = weight=300 min=20 max=5000/20000
		[stops]
		cgroup a=b = 1
		exe /bin/a = always
		cgroup a
		cgroup a=b = never
	END
	# A line that is longer than any buffer, without an end.
	{ printf '[classes]\nexe /'; head -c 100000 /dev/zero | tr '\0' x; printf ' = 5\n[tunables]\n'; head -c 100000 /dev/zero | tr '\0' =; } >"$scratch/long"
	config 1 "2: can never fit: no program has a path" "4: there is no tunable" <"$scratch/long"
	head -c 20000 /dev/urandom >"$conf"
	status 1 ctl apply --check "$conf"
}

# Names that no cgroup has, and why
rules_that_can_never_fit_are_told()
{
	local name why long messages=() kind

	long=$(head -c 256 /dev/zero | tr '\0' x)
	while IFS='|' read -r name why; do
		echo "cgroup $name = batch"
		messages+=("$((${#messages[@]} + 2)): can never fit: $why: $name; the line is ignored")
	done >"$scratch/rules" <<-END
		/system.slice/a.service|it is not below /sys/fs/cgroup; write system.slice/a.service
		/opt/a|it is not below /sys/fs/cgroup; write opt/a
		/sys/fs/cgroups/a|it is not below /sys/fs/cgroup; write sys/fs/cgroups/a
		system.slice/../a|\`..\` is no part of a cgroup's name
		./a|\`.\` is no part of a cgroup's name
		a//b|there is nothing between two of its slashes
		a /b|\`a \` has a blank at its end
		"a"|write it without quotes
		'system.slice/a.service'|write it without quotes
		$long|\`xxxxxxxxxxxxxxxxxxxx...\` is longer than a name can be, 255
		a/cgroup.procs|\`cgroup.procs\` is a file in a cgroup
		system.slice/inference|\`inference\`: in system.slice names end in .service, .scope, .slice, .socket, .mount or .swap
		user.slice/1000|\`1000\`: in user.slice names end in .service, .scope, .slice, .socket, .mount or .swap
		system.slice/a.timer|\`a.timer\`: in system.slice names end in .service, .scope, .slice, .socket, .mount or .swap
		system.slice/a.Service|\`a.Service\`: in system.slice names end in .service, .scope, .slice, .socket, .mount or .swap
		system.slice/.service|\`.service\`: in system.slice names end in .service, .scope, .slice, .socket, .mount or .swap
		system.slice/docker-*.scopes|\`docker-*.scopes\`: in system.slice names end in .service, .scope, .slice, .socket, .mount or .swap
		system.slice/a b.service|\`a b.service\`: no name of a unit has a blank in it
		system.slice/a+b.service|\`a+b.service\`: no name of a unit has \`+\` in it
		system.slice/%i.service|\`%i.service\`: no name of a unit has \`%\` in it
		system.slice/naïve.service|\`naïve.service\`: no name of a unit has the byte 0xc3 in it
		a\$b.service|\`a\$b.service\`: no name of a unit has \`\$\` in it
		system.slice/a@.service|\`a@.service\` is a template; write a@*.service
		-.slice|\`-.slice\` is what systemd calls the top, /sys/fs/cgroup
		a--b.slice|\`a--b.slice\`: between two - of a slice's name, and beside them, there is something
		-a.slice|\`-a.slice\`: between two - of a slice's name, and beside them, there is something
		user-1000.slice|\`user-1000.slice\` is in user.slice: write user.slice/user-1000.slice
		user-*.slice|\`user-*.slice\` is not at the top: write user.slice/user-*.slice
		system.slice/user-1000.slice|\`user-1000.slice\` is in user.slice: write user.slice/user-1000.slice
		system.slice/machine.slice|\`machine.slice\` is at the top, not in system.slice: systemd has x-y.slice in x.slice
		*.slice/machine.slice|\`machine.slice\` is at the top, not in *.slice: systemd has x-y.slice in x.slice
		**/a.service|** is no pattern here: * stands for what is between two slashes
		system.slice/[a.service|its [ has no ]
		system.slice/{a,b}.service|braces are no pattern here: write a line for each
	END
	{ echo "[classes]"; cat "$scratch/rules"; } | config 1 "${messages[@]}"
	for kind in jobs:stay shares:weight=5 stops:never; do
		printf '[%s]\ncgroup a//b = %s\n' "${kind%%:*}" "${kind#*:}" | config 1 "2: can never fit: there is nothing between"
	done
	printf '[classes]\ncgroup a\001b = 5\n' | config 1 "2: can never fit: it has the byte 0x1 in it"
}

programs_that_can_never_run_are_told()
{
	local real=$scratch/programs/train

	mkdir -p "$scratch/programs"
	cp /bin/true "$real"
	ln -s train "$scratch/programs/link"
	ln -s programs "$scratch/folder"
	printf '#!/bin/sh\n' >"$scratch/programs/script"
	chmod +x "$scratch/programs/script"
	config 1 "3: can never fit: it is a link; write $real: $scratch/programs/link; the line is ignored" \
		"4: can never fit: it is a link; write $real: $scratch/folder/train; the line is ignored" \
		"5: can never fit: its folder is a link; write $scratch/programs/later: $scratch/folder/later; the line is ignored" \
		"6: can never fit: it is a script; write the program of its first line: $scratch/programs/script; the line is ignored" \
		"7: can never fit: it is no file: $scratch/programs; the line is ignored" \
		"8: can never fit: no program has a path with //, /./ or /../ in it" \
		"9: can never fit: no program has a path with //" "10: can never fit: no program has a path with //" <<-END
		[classes]
		exe $real = 5
		exe $scratch/programs/link = 5
		exe $scratch/folder/train = 5
		exe $scratch/folder/later = 5
		exe $scratch/programs/script = 5
		exe $scratch/programs = 5
		exe $scratch/programs/../train = 5
		exe $scratch/programs//train = 5
		exe $scratch/programs/ = 5
	END
}

# The first line that fits counts.
rules_behind_one_that_fits_are_told()
{
	config 1 "3: can never fit: line 2 has it already: a/b; the line is ignored" \
		"5: can never fit: line 4 has it already: system.slice/docker-12.scope; the line is ignored" \
		"8: can never fit: line 7 has it already: 0; the line is ignored" \
		"10: can never fit: line 9 has it already: /opt/train/bin; the line is ignored" <<-END
		[classes]
		cgroup a/b = 5
		cgroup a/b = 6
		cgroup system.slice/docker-*.scope = 5
		cgroup system.slice/docker-12.scope = 6
		cgroup system.slice/*.scope = 6
		user root = 5
		user 0 = 6
		exe /opt/*/bin = 5
		exe /opt/train/bin = 6
		[stops]
		cgroup a/b = never
	END
}

labels_have_a_value_and_words_are_whole()
{
	config 1 "3: a label is KEY=VALUE, not: tier; the line is ignored" \
		"4: can never fit: line 2 has it already: tier=batch; the line is ignored" \
		"5: not \`exe PATH\`, \`user NAME\`, \`cgroup DIR\`, \`container NAME\`, \`image IMAGE\` or \`label KEY=VALUE\`: e; the line is ignored" <<-'END'
		[classes]
		label tier=batch = batch
		label tier = latency
		label tier=batch = 5
		e /bin/a = 5
	END
}

# Whether there are cgroups here depends on the machine: a folder stands for them.
rules_that_fit_nothing_now_are_told()
{
	unshare --mount true 2>/dev/null || skip "no mount namespace can be made here"
	cat >"$conf" <<-'END'
		[classes]
		cgroup system.slice/here.service = 5
		cgroup system.slice/docker-*.scope = 5
		cgroup system.slice/lxc-*.scope = 5
		cgroup /sys/fs/cgroup/system.slice/gone.service = 5
		cgroup a=b = 5
		exe /opt/nowhere/train = 5
		exe /opt/nowhere/* = 5
		exe /usr/bin/ba?h = 5
		[jobs]
		cgroup docker-*x = stay
	END
	cat >"$scratch/wanted" <<-END
		$conf:4: fits nothing now: there is no cgroup system.slice/lxc-*.scope
		$conf:5: fits nothing now: there is no cgroup /sys/fs/cgroup/system.slice/gone.service
		$conf:6: fits nothing now: there is no cgroup a=b
		$conf:7: fits nothing now: there is no program /opt/nowhere/train
		$conf:8: fits nothing now: there is no program /opt/nowhere/*
		$conf:11: fits nothing now: there is no cgroup docker-*x
	END
	unshare --mount sh -ec 'mount -t tmpfs fake /sys/fs/cgroup
		cd /sys/fs/cgroup
		mkdir -p system.slice/here.service system.slice/docker-12.scope
		: >cgroup.procs
		exec "$1" apply --check "$2"' sh "$built/gpreemptctl" "$conf" >"$scratch/out" 2>"$err"
	diff "$scratch/wanted" "$scratch/out"
	is "messages" "$(cat "$err")" ""
	# In a hierarchy of version 1, which has no jobs
	unshare --mount sh -ec 'mount -t tmpfs fake /sys/fs/cgroup
		cd /sys/fs/cgroup
		mkdir -p pids/system.slice/here.service pids/system.slice/docker-12.scope
		exec "$1" apply --check "$2"' sh "$built/gpreemptctl" "$conf" >"$scratch/out" 2>"$err"
	sed -i 's/there is no cgroup docker-\*x$/docker-*x: here cgroups are not of version 2, which it takes/' "$scratch/wanted"
	diff "$scratch/wanted" "$scratch/out"
}

a_configuration_that_cannot_be_read_is_told()
{
	status 1 ctl apply --check "$scratch/nowhere"
	has "$err" "$scratch/nowhere: No such file"
	status 1 ctl apply --check "$scratch"
	has "$err" "$scratch: Is a directory"
}

each_verdict_has_a_sentence()
{
	gcc -g -O1 -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all -I"$TOP/include/uapi" -I"$TOP/lib" \
		-I"$TOP/tools/gpreemptctl" -o "$scratch/sentences" "$TOP/tools/testing/gpreemptctl/sentences.c" \
		"$TOP/tools/gpreemptctl/verdict.c" "$TOP/lib/gpreempt.c"
	"$scratch/sentences" >"$scratch/out"
	diff -u - "$scratch/out" <<-'END'
		none: may run; nothing is decided about it: its node is paused or gave up, or it has just come
		runs: runs since 2.1 ms
		no_demand: has no work since 2.1 ms
		dormant: has had no work for long
		blocked: waits for something else than the device since 2.1 ms, so no queue yields to it; it has its priority again in 997 ms
		driver: the driver has taken it off the device since 2.1 ms
		unseen: may run; its ring pointers cannot be read, so no queue yields to it
		expected: its work was announced, and the device is kept clear for it for 997 ms more
		relief: runs in its relief since 2.1 ms, because it was kept off for the longest time; 997 ms are left
		sibling: runs since 2.1 ms beside a more urgent queue of its own process
		aged: runs since 2.1 ms beside more urgent work, because it waited for long; 997 ms are left
		exempt: stays on the device since 2.1 ms, because its process is exempt; it would yield to pid 4711 queue 2 (priority 100, 3 packets waiting)
		obstacle: stays on the device since 2.1 ms, because the driver does not let it go; it would yield to pid 4711 queue 2 (priority 100, 3 packets waiting)
		min_run: yields to pid 4711 queue 2 (priority 100, 3 packets waiting) in 997 ms, when it has run for its least time
		budget: yields to pid 4711 queue 2 (priority 100, 3 packets waiting) in 997 ms, when the overhead budget allows it
		observed: stays on the device since 2.1 ms, because its node only observes (gpreempt_observe=1); it would yield to pid 4711 queue 2 (priority 100, 3 packets waiting)
		job: its job works on another GPU since 2.1 ms, and the device is kept clear for it
		drains: yields to pid 4711 queue 2 (priority 100, 3 packets waiting) in 997 ms, unless it ends before
		?: verdict 18, which this program does not know
		yields: yields to pid 4711 queue 2 (priority 100, 3 packets waiting) since 2.1 ms; may be held 997 ms more
		own_process: yields to a queue of its own process since 2.1 ms; may be held 997 ms more
		hold: is held on request since 2.1 ms; may be held 997 ms more
		ageing: yields to pid 4711 queue 2 (priority 100, 3 packets waiting) since 2.1 ms; it waited for long, so it runs beside that soon, in 997 ms
		resume_delayed: has the device back soon, in 997 ms, unless more urgent work comes before
		left_off: has no work since 2.1 ms, and comes back when the runlist changes
		job_yields: yields to pid 4711 queue 2 (priority 100, 3 packets waiting) since 2.1 ms, because its job is off another GPU and would wait for that here
		stopped: is off the device since 2.1 ms, because its process is stopped
		share: waits since 2.1 ms for the turn of its group: another one's share comes first
		maximum: is off the device since 2.1 ms, because its group has had its maximum; it may come back in 997 ms
		idle: is off the device since 2.1 ms, because its process is idle and there is no room for all; its next doorbell brings it back
		yields: yields to pid 4711 queue 2 (priority 100)
		own_process: yields to a queue of its own process
		hold: is held on request
		ageing: yields to pid 4711 queue 2 (priority 100); it waited for long, so it runs beside that soon
		resume_delayed: has the device back soon, unless more urgent work comes before
		left_off: has no work, and comes back when the runlist changes
		job_yields: yields to pid 4711 queue 2 (priority 100), because its job is off another GPU and would wait for that here
		stopped: is off the device, because its process is stopped
		share: waits for the turn of its group: another one's share comes first
		maximum: is off the device, because its group has had its maximum
		idle: is off the device, because its process is idle and there is no room for all; its next doorbell brings it back
		relief: runs in its relief, because it was kept off for the longest time
		exempt: stays on the device, because its process is exempt; it would yield to pid 4711 queue 2 (priority 100)
		exempt: stays on the device, because its process is exempt; it would yield to a hold
		yields: yields to more urgent work of others
		obstacle: stays on the device, because a debugger has its process; it would yield to more urgent work of others
		driver: its debugger has taken it off the device
		yields: yields to pid 1 queue 0 (in its relief, 1 packet waiting) since 999 us; may be held 9.9 ms more
		yields: yields to pid 1 queue 0 (in its relief, 1 packet waiting) since 10 ms; may be held 9999 ms more
		yields: yields to pid 1 queue 0 (in its relief, 1 packet waiting) since 10 s; may be held 4294 s more
	END
}

names_and_patterns_fit_processes()
{
	gcc -g -O1 -D_GNU_SOURCE -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all -I"$TOP/lib" -I"$TOP/include/uapi" -o "$scratch/matches" \
		"$TOP/tools/testing/gpreemptctl/matches.c" "$TOP/lib/match.c" "$TOP/lib/parse.c"
	"$scratch/matches"
}

# names and bounds of the module's parameters, as the kernel's table gives them: NAME [MIN MAX NEVER], NEVER: 0 is allowed
module_parameters()
{
	"$TOP/Documentation/tunables.py" --rows | awk -F '\t' '$2 == "NUMBER" {
		zero = sub(/^0, /, "", $4) ? "True" : "False"
		sub(/\.\./, " ", $4)
		print $1, $4, zero
		next
	} { print $1 }'
}

bounds_are_those_of_the_module()
{
	local name min max zero

	module_parameters | sort -u >"$scratch/parameters"
	cat "$scratch/parameters"
	is "parameters" "$(wc -l <"$scratch/parameters")" \
		"$(grep -c '^What:.*/gpreempt_[a-z_]*$' "$TOP/Documentation/ABI/testing/sysfs-module-amdgpu-gpreempt")"
	while read -r name min max zero; do
		printf '[tunables]\n%s = \n' "$name" | config 1 "2: $name= is not"
		[ -n "$min" ] || continue
		printf '[tunables]\n%s = %s\n%s = %s\n' "$name" "$min" "$name" "$max" | config 0
		printf '[tunables]\n%s = %s\n' "$name" $((max + 1)) | config 1 "2: $name=$((max + 1)) is not"
		[ "$min" = 1 ] || printf '[tunables]\n%s = %s\n' "$name" $((min - 1)) | config 1 "2: $name=$((min - 1)) is not"
		printf '[tunables]\n%s = 0\n' "$name" >"$conf"
		status "$([ "$zero" = True ] && echo 0 || echo 1)" ctl apply --check "$conf"
	done <"$scratch/parameters"
	is "numbers that may be 0" "$(($(grep -c True "$scratch/parameters") >= 7))" 1
	is "numbers that may not" "$(($(grep -c False "$scratch/parameters") >= 3))" 1
}

manual_pages_are_clean_and_complete()
{
	local page word

	command -v man >/dev/null || skip "man is not installed"
	for page in "$built/gpreemptctl.1" "$built/gpreempt.conf.5" "$lib/libgpreempt.3" "$lib/libgpreempt-preload.7"; do
		[ -s "$page" ]
		page "$page" >"$scratch/$(basename "$page").txt"
	done
	for word in $commands $(ctl --help | grep -oE -- '--[a-z-]+' | grep -vE -- '--(help|usage|version)' | sort -u); do
		grep -qE -- "(^|[ ,[])$word\>" "$scratch/gpreemptctl.1.txt" || { echo "gpreemptctl(1) does not mention $word"; return 1; }
	done
	for word in $(sed -n 's/^\t\(gpreempt_[a-z_]*\);/\1/p' "$TOP/lib/libgpreempt.map"); do
		grep -q "\<$word\>" "$scratch/libgpreempt.3.txt" || { echo "libgpreempt(3) does not mention $word"; return 1; }
	done
}

# complete WORDS...: what bash would offer for the last of them
complete_words()
{
	PATH=$built:$PATH bash --norc -c '. /usr/share/bash-completion/bash_completion; . "$1"; shift
		COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; _gpreemptctl; printf "%s\n" "${COMPREPLY[@]}"' \
		bash "$TOP/dist/gpreemptctl.bash-completion" gpreemptctl "$@" 2>"$err" | sort
}

completion_offers_what_there_is()
{
	[ -e /usr/share/bash-completion/bash_completion ] || skip "bash-completion is not installed"
	# shellcheck disable=SC2086 # words
	is "commands" "$(complete_words '')" "$(printf '%s\n' $commands | sort)"
	is "st" "$(complete_words st | tr '\n' ' ')" "stats status "
	is "ways to list" "$(complete_words list --by '' | tr '\n' ' ')" "job queue "
	is "classes" "$(complete_words run --class '' | tr '\n' ' ')" "batch latency normal "
	is "policies" "$(complete_words policy '' | tr '\n' ' ')" "edf hpf wfq "
	is "words of set" "$(complete_words set -p 1 '' | tr '\n' ' ')" "batch clear deadline_us= exempt= follow_stop= latency normal period= runtime= waits_for= weight= "
	is "words of fits" "$(complete_words fits '' | tr '\n' ' ')" "period= runtime= "
	is "words of share set" "$(complete_words share set '' | tr '\n' ' ')" "--cgroup job= max= min= weight= "
	is "words of share set behind one" "$(complete_words share set --cgroup a m | tr '\n' ' ')" "max= min= "
	is "words of share clear" "$(complete_words share clear '' | tr '\n' ' ')" "--cgroup job= "
	is "words of job set" "$(complete_words job set '' | tr '\n' ' ')" "--cgroup --pid --stay --tree "
	is "words of job list" "$(complete_words job list '' | tr '\n' ' ')" "--cgroup --pid "
	is "commands to help with" "$(complete_words help po)" "policy"
	is "all options" "$(complete_words -- | tr '\n' ' ')" \
		"$(ctl --help | grep -oE -- '--[a-z-]+' | sort -u | tr '\n' ' ')"
	is "options of share" "$(complete_words share set -- | tr '\n' ' ')" "--cgroup --help --json "
	is "options of policy" "$(complete_words policy hpf --g)" "--gpu"
	is "options of apply" "$(complete_words apply -- | tr '\n' ' ')" "--check --follow --help --interval "
	complete_words -p '' | grep -qx $$
	is "messages" "$(cat "$err")" ""
	! command -v shellcheck >/dev/null || shellcheck -s bash "$TOP/dist/gpreemptctl.bash-completion"
}

installed_files()
{
	(cd "$prefix" && find . ! -type d | sort)
}

install_puts_everything_in_place()
{
	make -s -C "$TOP" install-tools BUILD="$BUILD" DESTDIR="$prefix" PREFIX=/usr
	is "files" "$(installed_files)" "$(sort <<-END
		./etc/gpreempt.conf
		./usr/bin/gpreemptctl
		./usr/include/gpreempt-preload.h
		./usr/include/gpreempt.h
		./usr/include/linux/kfd_gpreempt.h
		./usr/lib/libgpreempt-hsa.so
		./usr/lib/libgpreempt-preload.so
		./usr/lib/libgpreempt.a
		./usr/lib/libgpreempt.so
		./usr/lib/libgpreempt.so.1
		./usr/lib/libgpreempt.so.1.$version
		./usr/lib/pkgconfig/libgpreempt.pc
		./usr/lib/systemd/system/gpreempt-metrics.service
		./usr/lib/systemd/system/gpreempt-metrics.timer
		./usr/lib/systemd/system/gpreempt.service
		./usr/lib/systemd/system/gpreemptd.service
		./usr/lib/udev/rules.d/70-kfd-gpreempt.rules
		./usr/libexec/gpreempt/initramfs
		./usr/libexec/gpreempt/secure-boot
		./usr/sbin/gpreemptd
		./usr/share/bash-completion/completions/gpreemptctl
		./usr/share/doc/kfd_gpreempt/gpreempt-modprobe.conf
		./usr/share/doc/kfd_gpreempt/gpreempt.conf
		./usr/share/man/man1/gpreemptctl.1
		./usr/share/man/man3/libgpreempt.3
		./usr/share/man/man5/gpreempt.conf.5
		./usr/share/man/man7/libgpreempt-preload.7
		./usr/share/man/man8/gpreemptd.8
	END
	)"
	not grep -rlI '@[A-Z]*@' "$prefix"
	grep -qx 'ExecStart=/usr/bin/gpreemptctl apply --follow /etc/gpreempt.conf' "$prefix/usr/lib/systemd/system/gpreempt.service"
	# The administrator's file is left alone, at the next installation too, and is what an uninstallation leaves.
	echo "# mine" >"$prefix/etc/gpreempt.conf"
	make -s -C "$TOP" install-tools BUILD="$BUILD" DESTDIR="$prefix" PREFIX=/usr
	is "configuration" "$(cat "$prefix/etc/gpreempt.conf")" "# mine"
}

# doctor_says ANSWER TEXT...: what doctor says of signatures on the machine in $scratch/machine
doctor_says()
{
	local wanted=$1 text

	shift
	status=0
	PATH=$scratch/firmware:$PATH unshare --mount bash -c '
		set -e
		mount -t tmpfs fake /sys
		mount -t tmpfs fake /var/lib/dkms
		cp -r "$0"/sys/. /sys/
		cp -r "$0"/dkms/. /var/lib/dkms/
		exec "$1" doctor' "$scratch/machine" "$prefix/usr/bin/gpreemptctl" >"$scratch/out" 2>"$err" || status=$?
	is "exit status" "$status" 3
	grep "takes modules that DKMS signs" -A 1 "$scratch/out" | grep -v ' it is the one with' >"$scratch/answer" || true
	has "$scratch/answer" "$wanted the kernel takes modules that DKMS signs: "
	for text; do
		has "$scratch/answer" "$text"
	done
	is "messages" "$(cat "$err")" ""
}

# Firmware that knows no key but those of a list, whatever mokutil is installed here.
doctor_knows_secure_boot()
{
	local sys=$scratch/machine/sys boot=SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c shim=MokSBStateRT-605dab50-e046-4300-abb6-3dd810dd8b23

	unshare --mount true 2>/dev/null && [ -d /var/lib/dkms ] || skip "no mount namespace can be made here, or there is no DKMS"
	mkdir -p "$sys/firmware/efi/efivars" "$sys/kernel/security" "$sys/module/module/parameters" "$scratch/machine/dkms" "$scratch/firmware"
	printf '#!/bin/sh\nw=not\n! grep -qx "$2" "%s" || w=already\necho "$2 is $w enrolled"\n' "$scratch/enrolled" >"$scratch/firmware/mokutil"
	chmod +x "$scratch/firmware/mokutil"
	: >"$scratch/enrolled"

	doctor_says "ok  " "modules need no signature"
	printf '\006\000\000\000\000' >"$sys/firmware/efi/efivars/$boot"
	doctor_says "ok  " "modules need no signature"
	printf '\006\000\000\000\001' >"$sys/firmware/efi/efivars/$boot"
	doctor_says "BAD " "DKMS has no key yet (/var/lib/dkms/mok.pub)" "the kernel would refuse the new amdgpu" "-> apt-get install mokutil"
	echo key >"$scratch/machine/dkms/mok.pub"
	doctor_says "BAD " "DKMS's key /var/lib/dkms/mok.pub is not enrolled" "mokutil --import /var/lib/dkms/mok.pub" "dpkg-reconfigure amdgpu-gpreempt-dkms"
	echo /var/lib/dkms/mok.pub >"$scratch/enrolled"
	doctor_says "ok  " "DKMS's key /var/lib/dkms/mok.pub is enrolled"
	: >"$scratch/enrolled"
	# shim may have been told not to validate; the kernel follows it.
	printf '\006\000\000\000\001' >"$sys/firmware/efi/efivars/$shim"
	doctor_says "ok  " "modules need no signature"
	rm "$sys/firmware/efi/efivars"/*
	echo "none [integrity] confidentiality" >"$sys/kernel/security/lockdown"
	doctor_says "BAD " "is not enrolled"
	echo "[none] integrity confidentiality" >"$sys/kernel/security/lockdown"
	doctor_says "ok  " "modules need no signature"
	echo Y >"$sys/module/module/parameters/sig_enforce"
	doctor_says "BAD " "is not enrolled"
}

# new_machine: a new made-up machine in $scratch/made-up, with a loaded amdgpu of the kernel's own, its modinfo and nothing else
new_machine()
{
	rm -rf "$scratch/made-up"
	mkdir -p "$scratch/made-up/sys/module/amdgpu/parameters" "$scratch/made-up/sys/class/kfd/kfd/topology/nodes" "$scratch/made-up/sys/class/kfd/kfd/proc" \
		"$scratch/made-up/src" "$scratch/made-up/lib" "$scratch/made-up/bin"
	cat >"$scratch/made-up/bin/modinfo" <<-'END'
		#!/bin/sh
		cat "${0%/*}/modinfo.$2"
	END
	chmod +x "$scratch/made-up/bin/modinfo"
	next_module /lib/modules/x/kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko
}

# next_module FILE [PARAMETER]: what would be loaded next
next_module()
{
	echo "$1" >"$scratch/made-up/bin/modinfo.filename"
	echo "vm_size:VM address space size${2:+
$2:what it does}" >"$scratch/made-up/bin/modinfo.parm"
	: >"$scratch/made-up/bin/modinfo.srcversion"
}

# loaded [VERSION] [PARAMETER=VALUE...]: the amdgpu that is. VERSION is AMD's.
loaded()
{
	local module=$scratch/made-up/sys/module/amdgpu parameter

	rm -f "$module/version" "$module"/parameters/*
	[ -z "$1" ] || echo "$1" >"$module/version"
	shift
	for parameter; do
		echo "${parameter#*=}" >"$module/parameters/${parameter%%=*}"
	done
}

# doctor_on STATUS [--report FILE] TEXT...: what doctor says on that machine is in $scratch/out
doctor_on()
{
	local wanted=$1 text arguments=()

	shift
	if [ "${1:-}" = --report ]; then
		arguments=("$1" "$2")
		shift 2
	fi
	status=0
	PATH=$scratch/made-up/bin:$PATH unshare --mount bash -c '
		set -e
		for place in sys usr/src var/lib; do
			mount -t tmpfs fake "/$place"
			cp -a "$0/${place##*/}/." "/$place/"
		done
		LD_PRELOAD=$2 exec "$1" doctor "${@:3}"' "$scratch/made-up" "$prefix/usr/bin/gpreemptctl" "$scratch/device.so" "${arguments[@]}" >"$scratch/out" 2>"$err" || status=$?
	is "messages" "$(cat "$err")" ""
	is "exit status" "$status" "$wanted"
	for text; do
		has "$scratch/out" "$text"
	done
}

can_make_up_a_machine()
{
	unshare --mount true 2>/dev/null || skip "no mount namespace can be made here"
	[ -e "$scratch/device.so" ] || gcc -O2 -Wall -Wextra -Werror -shared -fPIC -I"$TOP/include/uapi" -I"$TOP/integrations/common" -I"$TOP/lib" \
		-o "$scratch/device.so" "$TOP/tools/testing/integrations/device.c" "$TOP/integrations/common/place.c" "$TOP/lib/parse.c" "$TOP/lib/gpreempt.c" -ldl
}

# pci BDF VENDOR CLASS: a device of the machine in $scratch/made-up
pci()
{
	mkdir -p "$scratch/made-up/sys/bus/pci/devices/$1"
	echo "$2" >"$scratch/made-up/sys/bus/pci/devices/$1/vendor"
	echo "$3" >"$scratch/made-up/sys/bus/pci/devices/$1/class"
}

doctor_knows_machines_without_a_gpu()
{
	can_make_up_a_machine
	new_machine
	rm -r "$scratch/made-up/sys/module/amdgpu"
	doctor_on 3 "BAD  there is an AMD GPU: no" "-> nothing can be scheduled on this machine"
	not grep modprobe "$scratch/out"
	# Another maker's, and AMD's sound
	pci 0000:01:00.0 0x10de 0x030200
	pci 0000:02:00.1 0x1002 0x040300
	doctor_on 3 "BAD  there is an AMD GPU: no"
	pci 0000:c1:00.0 0x1002 0x038000
	doctor_on 3 "BAD  amdgpu is loaded: no" "-> modprobe amdgpu"
	rm -r "$scratch/made-up/sys/bus/pci/devices/0000:c1:00.0"
	pci 0000:c2:00.0 0x1002 0x120000
	doctor_on 3 "BAD  amdgpu is loaded: no"
	# What is loaded has found what there is.
	new_machine
	loaded ""
	doctor_on 3 "ok   amdgpu is loaded: yes"
}

# A made-up machine, and a program whose command line and environment are nobody's business
doctor_reports_without_secrets()
{
	local file=$scratch/report.txt program made=$scratch/made-up word

	can_make_up_a_machine
	new_machine
	loaded "" gpreempt_enable=Y kfd_gpreempt_version="$version" num_kcq=8
	kfd_node 1 51234 "simd_count=320 num_cp_queues=24"
	mkdir -p "$made/sys/class/kfd/kfd/gpreempt/51234/tunables" "$made/sys/kernel/debug/kfd"
	echo 12 >"$made/sys/class/kfd/kfd/gpreempt/51234/checks"
	echo 80 >"$made/sys/class/kfd/kfd/gpreempt/51234/tunables/poll_us"
	echo "node 51234 polling" >"$made/sys/kernel/debug/kfd/gpreempt_dump"
	printf '#!/bin/sh\necho "[1.0] amdgpu: made up"\necho "[2.0] usb: other"\n' >"$made/bin/dmesg"
	chmod +x "$made/bin/dmesg"
	PASSWORD=secret1 sleep 600.0 600.2 &
	program=$!
	kfd_queues $program 51234 0 0
	doctor_on 1
	cp "$scratch/out" "$scratch/answers"
	doctor_on 1 --report "$file" "$file has versions, " "Left out: their command lines and environments"
	kill $program
	is "mode" "$(stat -c %a "$file")" 600
	for word in "gpreemptctl $version" "kfd_gpreempt $version" "num_kcq 8" "checks 12" "poll_us 80" "node 51234 polling" "amdgpu: made up" "$program (sleep)"; do
		has "$file" "$word"
	done
	sed -n '/^== doctor/,/^$/p' "$file" | sed '1d;$d' | diff "$scratch/answers" -
	not grep -nE "secret|600\.2|usb" "$file"
	# What is there is not written over.
	status 1 ctl doctor --report "$file" >"$scratch/out"
	has "$err" "$file: File exists"
	wrong 'doctor: --json or --report, not both' doctor --json --report "$file"
	wrong 'list does not take --report' list --report "$file"
}

doctor_knows_whose_driver_it_is()
{
	local dkms=/lib/modules/x/updates/dkms/amdgpu.ko amd=$scratch/made-up/lib/kfd_gpreempt/amd

	can_make_up_a_machine
	new_machine
	loaded ""
	doctor_on 3 "BAD  it is the one with kfd_gpreempt: the kernel's own driver, without kfd_gpreempt; /lib/modules/x/kernel/" \
		"-> install the DKMS package for this kernel" "the kernel is of a supported series: "
	next_module $dkms gpreempt_enable
	doctor_on 3 "BAD  it is the one with kfd_gpreempt: the kernel's own driver, without kfd_gpreempt; $dkms is another one" \
		"-> it is installed: reload amdgpu or restart"
	loaded "" gpreempt_enable=Y kfd_gpreempt_version="$version"
	doctor_on 1 "ok   it is the one with kfd_gpreempt: the kernel's driver with kfd_gpreempt $version; $dkms" \
		"ok   module and gpreemptctl are of one version"
	not grep -q 'another one\|supported series' "$scratch/out"
	loaded "" gpreempt_enable=Y kfd_gpreempt_version=0.0.1
	doctor_on 1 "ok   it is the one with kfd_gpreempt: the kernel's driver with kfd_gpreempt 0.0.1" \
		"BAD  module and gpreemptctl are of one version: module 0.0.1"
	loaded "" gpreempt_enable=Y
	doctor_on 1 "with kfd_gpreempt of unknown version" "BAD  module and gpreemptctl are of one version: module unknown"

	# AMD's source is there, and the kernel's own driver is loaded.
	next_module $dkms
	mkdir -p "$scratch/made-up/src/amdgpu-6.12.12-2164967.24.04"
	: >"$scratch/made-up/src/amdgpu-6.12.12-2164967.24.04/dkms.conf"
	loaded ""
	doctor_on 3 "BAD  it is the one with kfd_gpreempt: the kernel's own driver, without kfd_gpreempt"
	not grep -q 'supported series' "$scratch/out"
	# AMD's, which is for kernels of other series as well
	mkdir "$scratch/made-up/sys/module/amdkcl"
	loaded 6.12.12 vm_size=-1
	doctor_on 3 "BAD  it is the one with kfd_gpreempt: AMD's driver package (amdgpu-dkms) 6.12.12, without kfd_gpreempt" \
		"-> install kfd_gpreempt into AMD's package (make install DRIVER=amd)"
	not grep -q 'supported series' "$scratch/out"
	# Its build has said why.
	mkdir -p "$amd"
	printf 'without 6.12.12-2164967.24.04 digest\n  what:   a hook has no place\n  why:    kfd_open() is another\n  remedy: update kfd_gpreempt\n' >"$amd/$(uname -r)"
	doctor_on 3 "6.12.12, without kfd_gpreempt: a hook has no place" "     -> update kfd_gpreempt"
	echo "with 6.12.12-2164967.24.04 digest" >"$amd/$(uname -r)"
	next_module $dkms gpreempt_enable
	loaded 6.12.12 vm_size=-1 gpreempt_enable=Y
	doctor_on 1 "ok   it is the one with kfd_gpreempt: AMD's driver package (amdgpu-dkms) 6.12.12, with kfd_gpreempt"
	not grep -q 'are of one version' "$scratch/out"
	# It stays AMD's when its source is gone.
	rm -r "$scratch/made-up/src/amdgpu-6.12.12-2164967.24.04"
	doctor_on 1 "ok   it is the one with kfd_gpreempt: AMD's driver package (amdgpu-dkms) 6.12.12, with kfd_gpreempt"
	not grep -q 'are of one version' "$scratch/out"
	loaded 6.12.12 vm_size=-1
	next_module $dkms
	doctor_on 3 "BAD  it is the one with kfd_gpreempt: AMD's driver package (amdgpu-dkms) 6.12.12, without kfd_gpreempt"
	not grep -q 'supported series' "$scratch/out"
}

# udev carries out the rule on a device that is everywhere, in a folder that stands for /dev.
device_node_has_the_rights_of_dev_kfd()
{
	local rules=$TOP/dist/70-kfd-gpreempt.rules

	command -v udevadm >/dev/null || skip "udevadm is not installed"
	unshare --mount true 2>/dev/null && [ -d /sys/devices/virtual/mem/kmsg ] || skip "no mount namespace can be made here"
	# follows MODE GROUP WANTED: of /dev/kfd; - is without
	cat >"$scratch/follows" <<-'END'
		set -e
		mount -t tmpfs fake /dev
		mount -t tmpfs fake /run
		mkdir -p /run/udev/rules.d
		sed 's/^KERNEL=="kfd_gpreempt"/KERNEL=="kmsg"/' "$1" >/run/udev/rules.d/70-kfd-gpreempt.rules
		mknod -m 600 /dev/null c 1 3
		mknod -m 600 /dev/kmsg c 1 11
		if [ "$2" != - ]; then
			: >/dev/kfd
			chmod "$2" /dev/kfd
			chgrp "$3" /dev/kfd
		fi
		udevadm test --action=add /sys/devices/virtual/mem/kmsg >/run/log 2>&1
		[ "$(stat -c '%a %G' /dev/kmsg)" = "$4" ] || grep -E "[Mm]ode.*0?${4% *}\>" /run/log || { cat /run/log; exit 1; }
	END
	unshare --mount sh "$scratch/follows" "$rules" 0666 video "666 video"
	unshare --mount sh "$scratch/follows" "$rules" 0660 video "660 video"
	unshare --mount sh "$scratch/follows" "$rules" 0600 root "600 root"
	grep -q '^render:' /etc/group || skip "there is no group render"
	unshare --mount sh "$scratch/follows" "$rules" - - "660 render"
	# Its rules may be carried out after ours.
	grep -qE '^KERNEL=="kfd", .*RUN\+="/usr/bin/udevadm trigger --action=change --sysname-match=kfd_gpreempt"$' "$rules"
}

# denied MODE OF_KFD: what a user is told who may not open /dev/kfd_gpreempt; both are root's, and group tty's
denied()
{
	status=0
	unshare --mount sh -c '
		set -e
		mount -t tmpfs fake /dev
		cp "$0" /dev/gpreemptctl
		: >/dev/kfd
		: >/dev/kfd_gpreempt
		chgrp tty /dev/kfd /dev/kfd_gpreempt
		chmod "$1" /dev/kfd_gpreempt
		chmod "$2" /dev/kfd
		exec setpriv --reuid=65534 --regid=65534 --clear-groups /dev/gpreemptctl list' "$prefix/usr/bin/gpreemptctl" "$@" 2>"$err" || status=$?
	is "exit status" "$status" 4
}

who_may_not_open_it_is_told_what_does()
{
	unshare --mount true 2>/dev/null || skip "no mount namespace can be made here"
	denied 0660 0660
	has "$err" "it has mode 0660, group tty, and /dev/kfd mode 0660, group tty: members of the group tty may open both"
	denied 0660 0666
	has "$err" "it has mode 0660, group tty, and /dev/kfd mode 0666, group tty: udevadm trigger --action=change --sysname-match=kfd_gpreempt"
}

# boots STATUS LINE...: the program beside gpreemptctl says that of what boots next
boots()
{
	local status=$1

	shift
	{
		echo '#!/bin/sh'
		printf "echo '%s'\n" "$@"
		echo "exit $status"
	} >"$scratch/beside/libexec/gpreempt/initramfs"
	chmod +x "$scratch/beside/libexec/gpreempt/initramfs"
}

doctor_knows_what_boots_next()
{
	local made=$prefix/usr/bin/gpreemptctl prefix=$scratch/beside

	can_make_up_a_machine
	new_machine
	loaded ""
	mkdir -p "$scratch/beside/bin" "$scratch/beside/libexec/gpreempt"
	ln -s . "$scratch/beside/usr"
	cp "$made" "$scratch/beside/bin/"
	boots 0 "6.12: updates/dkms/amdgpu.ko, with kfd_gpreempt"
	doctor_on 3 "ok   the amdgpu that boots next: 6.12: updates/dkms/amdgpu.ko, with kfd_gpreempt"
	boots 3 "6.12: not known: /boot/x cannot be listed"
	doctor_on 3 "note the amdgpu that boots next: 6.12: not known: /boot/x cannot be listed"
	boots 1 "6.12: updates/dkms/amdgpu.ko" "kfd_gpreempt: error: 6.13: the stock one, as it is in /boot/y" "  remedy: make it"
	doctor_on 3 "BAD  the amdgpu that boots next: 6.12: updates/dkms/amdgpu.ko; 6.13: the stock one, as it is in /boot/y" "     -> make it"
	boots 0
	doctor_on 3
	not grep -n "boots next" "$scratch/out"
}

# dkms_has PACKAGE VERSION: DKMS has it for the running kernel
dkms_has()
{
	mkdir -p "$scratch/made-up/lib/dkms/$1/$2/$(uname -r)/x86_64"
	ln -s "$2/$(uname -r)/x86_64" "$scratch/made-up/lib/dkms/$1/kernel-$(uname -r)-x86_64"
}

doctor_knows_what_dkms_has()
{
	can_make_up_a_machine
	new_machine
	loaded "" gpreempt_enable=Y kfd_gpreempt_version="$version"
	doctor_on 1
	not grep -q 'DKMS has' "$scratch/out"
	mkdir -p "$scratch/made-up/lib/dkms/kfd_gpreempt/$version"
	ln -s nowhere "$scratch/made-up/lib/dkms/kfd_gpreempt/kernel-1.2.3-x86_64"
	doctor_on 1 "BAD  DKMS has one amdgpu for this kernel: none for $(uname -r)" "-> install the headers of this kernel"
	dkms_has kfd_gpreempt "$version"
	doctor_on 1 "ok   DKMS has one amdgpu for this kernel: kfd_gpreempt $version"
	dkms_has amdgpu 6.12.12-2164967.24.04
	doctor_on 1 "BAD  DKMS has one amdgpu for this kernel: kfd_gpreempt $version and amdgpu 6.12.12-2164967.24.04, for $(uname -r)" "-> decide for one"
	rm -r "$scratch/made-up/lib/dkms/kfd_gpreempt"
	doctor_on 1 "ok   DKMS has one amdgpu for this kernel: AMD's amdgpu 6.12.12-2164967.24.04"
}

# kfd_node NUMBER GPU_ID PROPERTIES: of the machine in $scratch/made-up
kfd_node()
{
	mkdir -p "$scratch/made-up/sys/class/kfd/kfd/topology/nodes/$1"
	echo "$2" >"$scratch/made-up/sys/class/kfd/kfd/topology/nodes/$1/gpu_id"
	echo "$3" | tr ' =' '\n ' >"$scratch/made-up/sys/class/kfd/kfd/topology/nodes/$1/properties"
}

# kfd_queues PID GPU_ID TYPE IDS...: of a process on it
kfd_queues()
{
	local queues=$scratch/made-up/sys/class/kfd/kfd/proc/$1/queues gpu=$2 type=$3 id

	shift 3
	for id; do
		mkdir -p "$queues/$id"
		echo "$gpu" >"$queues/$id/gpuid"
		echo "$type" >"$queues/$id/type"
	done
}

doctor_counts_queues_against_slots()
{
	local pid

	can_make_up_a_machine
	new_machine
	loaded "" kfd_gpreempt_version="$version" gpreempt_enable=Y num_kcq=8
	kfd_node 0 0 "simd_count=0 num_cp_queues=0"
	kfd_node 1 51234 "simd_count=320 num_cp_queues=24"
	kfd_node 2 51235 "simd_count=320 num_cp_queues=24"
	for pid in 1000001 1000002 1000003 1000004; do
		kfd_queues $pid 51234 0 0 1 2 3 4
		kfd_queues $pid 51234 1 5
	done
	kfd_queues 1000001 51235 0 6
	doctor_on 1 "ok   gpu 51234 has a slot for each queue: 20 compute queues of 4 programs, 24 slots (num_kcq=8)" \
		"ok   gpu 51235 has a slot for each queue: 1 compute queue of 1 program, 24 slots (num_kcq=8)"
	not grep -q 'gpu 0 ' "$scratch/out"
	kfd_queues 1000005 51234 0 0 1 2 3 4
	doctor_on 1 "note gpu 51234 has a slot for each queue: 25 compute queues of 5 programs, 24 slots (num_kcq=8)" \
		"GPU_MAX_HW_QUEUES=2 in the environment of HIP programs (4 by default, and one more of the runtime). More slots: options amdgpu num_kcq=2"
	not grep -q 'idle programs leave' "$scratch/out"
	# What the driver has by default says -1.
	kfd_node 1 51234 "simd_count=320 num_cp_queues=30"
	loaded "" kfd_gpreempt_version="$version" gpreempt_enable=Y num_kcq=2
	doctor_on 1 "ok   gpu 51234 has a slot for each queue: 25 compute queues of 5 programs, 30 slots (num_kcq=2)"
	loaded "" num_kcq=-1
	doctor_on 3 "ok   gpu 51234 has a slot for each queue: 25 compute queues of 5 programs, 30 slots (num_kcq=8)"
}

# It says what it gains, and of which device the figures are.
doctor_recommends_idle_eviction_where_not_all_fit()
{
	local tunables=$scratch/made-up/sys/class/kfd/kfd/gpreempt/51234/tunables pid
	local note="note idle programs leave gpu 51234: no (gpreempt_idle_evict_us=0)"

	can_make_up_a_machine
	new_machine
	loaded "" kfd_gpreempt_version="$version" gpreempt_enable=Y hws_max_conc_proc=-1
	kfd_node 1 51234 "simd_count=320 num_cp_queues=24"
	mkdir -p "$tunables"
	echo 0 >"$tunables/idle_evict_us"
	for pid in 1000001 1000002 1000003 1000004; do
		kfd_queues $pid 51234 0 0 1 2 3 4
	done
	doctor_on 1 "20 compute queues of 4 programs, 24 slots"
	not grep -q 'idle programs leave' "$scratch/out"
	kfd_queues 1000005 51234 0 0 1 2 3 4
	doctor_on 1 "$note" "-> gpreemptctl tune idle_evict_us=20000" "On the virtual GPU "
	echo 20000 >"$tunables/idle_evict_us"
	doctor_on 1 "25 compute queues of 5 programs, 24 slots"
	not grep -q 'idle programs leave' "$scratch/out"
	# More programs than VMIDs, though all queues fit
	echo 0 >"$tunables/idle_evict_us"
	kfd_node 1 51234 "simd_count=320 num_cp_queues=48"
	loaded "" kfd_gpreempt_version="$version" gpreempt_enable=Y hws_max_conc_proc=5
	doctor_on 1 "ok   gpu 51234 has a slot for each queue"
	not grep -q 'idle programs leave' "$scratch/out"
	loaded "" kfd_gpreempt_version="$version" gpreempt_enable=Y hws_max_conc_proc=4
	doctor_on 1 "$note"
}

doctor_reads_environments_and_debuggers()
{
	local few unset traced tracer

	can_make_up_a_machine
	new_machine
	loaded "" gpreempt_enable=Y kfd_gpreempt_version="$version"
	doctor_on 1
	not grep -q 'GPU_MAX_HW_QUEUES\|debugger\|traced' "$scratch/out"
	GPU_MAX_HW_QUEUES=2 sleep 600 &
	few=$!
	GPREEMPT_TEST_QUEUE=1 env -u GPU_MAX_HW_QUEUES sleep 600 &
	unset=$!
	GPREEMPT_TEST_QUEUE=debugged sleep 600 &
	traced=$!
	python3 -c 'import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
assert libc.ptrace(0x4206, int(sys.argv[1]), 0, 0) == 0
print("attached", flush=True)
time.sleep(600)' $traced >"$scratch/tracer" &
	tracer=$!
	# shellcheck disable=SC2064 # now
	trap "kill $few $unset $tracer $traced 2>/dev/null || true" EXIT
	for _ in $(seq 100); do
		[ ! -s "$scratch/tracer" ] || break
		sleep 0.1
	done
	[ -s "$scratch/tracer" ] || { kill $few $unset $tracer $traced; skip "no process can be traced here"; }
	kfd_queues $few 51234 0 0
	kfd_queues $unset 51234 0 0
	doctor_on 1 "$few (sleep) 2" "$unset (sleep) unset"
	is "lines about HIP" "$(grep -c '^ok   GPU_MAX_HW_QUEUES of programs: ' "$scratch/out")" 1
	not grep -q 'debugger\|traced' "$scratch/out"
	kfd_queues $traced 51234 0 0
	doctor_on 1 "note no debugger keeps a program from being scheduled: $traced (sleep) by $tracer (python3)" "-> end the debugger or monitor"
	kill $traced $tracer
	# One that is traced and not left alone; and one that has suspended itself.
	GPREEMPT_TEST_QUEUE=suspended sleep 600 &
	traced=$!
	# shellcheck disable=SC2064 # now
	trap "kill $few $unset $traced 2>/dev/null || true" EXIT
	kfd_queues $traced 51234 0 0
	sleep 0.2
	doctor_on 1 "note no debugger keeps a program from being scheduled: $traced (sleep) queues suspended"
	kill $few $unset $traced
	# Gone meanwhile
	wait $few $unset $traced 2>/dev/null || true
	doctor_on 1 "(?) gone"
}

doctor_knows_amds_own_eviction()
{
	local question="doorbells have one owner (keep_idle_process_evicted)"

	can_make_up_a_machine
	new_machine
	loaded "" kfd_gpreempt_version="$version" gpreempt_enable=Y gpreempt_wakeup=doorbell
	doctor_on 1
	not grep -q keep_idle "$scratch/out"
	loaded 6.12.12 gpreempt_enable=Y gpreempt_wakeup=doorbell keep_idle_process_evicted=N
	doctor_on 1 "ok   $question: kfd_gpreempt"
	loaded 6.12.12 gpreempt_enable=Y gpreempt_wakeup=doorbell keep_idle_process_evicted=Y
	doctor_on 1 "note $question: AMD's driver, so gpreempt_wakeup=doorbell polls" "-> options amdgpu keep_idle_process_evicted=0"
	loaded 6.12.12 gpreempt_enable=Y gpreempt_wakeup=poll keep_idle_process_evicted=1
	doctor_on 1 "ok   $question: AMD's driver"
}

doctor_knows_the_version_of_cgroups()
{
	local question="cgroups are of version 2 (for --cgroup)"

	can_make_up_a_machine
	new_machine
	loaded "" gpreempt_enable=Y kfd_gpreempt_version="$version"
	doctor_on 1 "note $question: no, none are mounted"
	mkdir -p "$scratch/made-up/sys/fs/cgroup/systemd"
	doctor_on 1 "note $question: no, of version 1" "-> run works without; containers and other programs: set -p PID --tree"
	: >"$scratch/made-up/sys/fs/cgroup/cgroup.procs"
	doctor_on 1 "ok   $question: yes"
}

# On a machine with hierarchies of version 1 alone; a hybrid one has another place for version 2.
hook_needs_no_cgroup_v2()
{
	local set=$scratch/set

	can_make_up_a_machine
	make -s -C "$TOP/integrations" O="$scratch/integrations" oci
	printf 'bounds -200..latency\n' >"$scratch/oci.conf"
	for state in '{"pid":4711,"annotations":{"kfd-gpreempt/priority":"batch"}}' '{"pid":4712,"annotations":{}}' \
		'{"pid":4713,"annotations":{"kfd-gpreempt/priority":"-300"}}' '{"pid":4714,"annotations":{"kfd-gpreempt/job":"stay"}}'; do
		echo "$state" | GPREEMPT_DEVICE=$set unshare --mount bash -c '
			umount -l /sys/fs/cgroup 2>/dev/null
			mount -t tmpfs fake /sys
			mkdir -p /sys/fs/cgroup/unified
			mount -t cgroup2 fake /sys/fs/cgroup/unified 2>/dev/null
			LD_PRELOAD=$0 exec "$1" --config "$2"' "$scratch/device.so" "$scratch/integrations/gpreempt-oci" "$scratch/oci.conf" \
			2>>"$scratch/oci.err" || echo failed >>"$set"
	done
	is "what was set" "$(cat "$set")" "$(printf '4711 -100\nfailed')"
	# The number of the job is none that a cgroup has: its highest bit is set.
	is "jobs" "$(cat "$set.jobs")" "4714 $((-9223372036854775807 - 1 + 4714))"
	is "jobs that stay" "$(cat "$set.stay")" "$(cat "$set.jobs")"
	is "messages" "$(wc -l <"$scratch/oci.err")" 1
	has "$scratch/oci.err" "-300 is beyond the bounds of $scratch/oci.conf: -200 to 100"
}

# topology NODE GPU_ID PROPERTIES: a node of KFD's on the machine in $scratch/machine
topology()
{
	local node=$scratch/machine/sys/class/kfd/kfd/topology/nodes/$1

	mkdir -p "$node" "$scratch/machine/sys/class/kfd/kfd/gpreempt"
	echo "$2" >"$node/gpu_id"
	echo "$3" | tr ' =' '\n ' >"$node/properties"
	[ "$2" = 0 ] || mkdir "$scratch/machine/sys/class/kfd/kfd/gpreempt/$2"
}

metrics_name_the_device_as_others_do()
{
	local pci=$scratch/machine/sys/bus/pci/devices host

	unshare --mount true 2>/dev/null || skip "no mount namespace can be made here"
	host=$(hostname)
	mkdir -p "$scratch/machine"
	gcc -O2 -Wall -Wextra -Werror -shared -fPIC -I"$TOP/include/uapi" -I"$TOP/integrations/common" -I"$TOP/lib" -o "$scratch/device.so" \
		"$TOP/tools/testing/integrations/device.c" "$TOP/integrations/common/place.c" "$TOP/lib/parse.c" "$TOP/lib/gpreempt.c" -ldl
	topology 0 0 "simd_count=0"
	# Two partitions of one device; what AMD's exporter says of one with this unique id is known.
	topology 1 51234 "location_id=49408 domain=0 device_id=29857 unique_id=14763018195029396870 gfx_target_version=90402"
	topology 2 51235 "location_id=49411 domain=0 device_id=29857 unique_id=14763018195029396870 gfx_target_version=90402"
	topology 3 7 "device_id=29710 location_id=9 domain=1"
	mkdir -p "$pci/0000:c1:00.0" "$pci/0001:00:01.1"
	echo 692409005408 >"$pci/0000:c1:00.0/serial_number"
	echo 0 >"$pci/0001:00:01.1/serial_number"
	unshare --mount bash -c 'mount -t tmpfs fake /sys; cp -r "$0"/sys/. /sys/; LD_PRELOAD=$1 exec "$2" stats --prometheus' \
		"$scratch/machine" "$scratch/device.so" "$prefix/usr/bin/gpreemptctl" >"$scratch/prom"
	is "devices" "$(grep '^gpreempt_device_info{' "$scratch/prom" | sort)" "$(sort <<-END
		gpreempt_device_info{gpu_id="51234",bdf="0000:c1:00.0",gpu_partition_id="0",gpu_uuid="ccff74a1-0000-1000-80e0-c6d49f5b0d86",hostname="$host",serial_number="692409005408",unique_id="cce0c6d49f5b0d86",device_name="gfx942"} 1
		gpreempt_device_info{gpu_id="51235",bdf="0000:c1:00.0",gpu_partition_id="3",gpu_uuid="ccff74a1-0000-1000-80e0-c6d49f5b0d86",hostname="$host",serial_number="692409005408",unique_id="cce0c6d49f5b0d86",device_name="gfx942"} 1
		gpreempt_device_info{gpu_id="7",bdf="0001:00:01.1",gpu_partition_id="0",gpu_uuid="",hostname="$host",serial_number="",unique_id="",device_name=""} 1
	END
	)"
}

uninstall_takes_it_away_again()
{
	make -s -C "$TOP" uninstall-tools BUILD="$BUILD" DESTDIR="$prefix" PREFIX=/usr
	is "files" "$(installed_files)" ./etc/gpreempt.conf
}

exported()
{
	nm -D --defined-only "$prefix/usr/lib/libgpreempt.so" | sed -n 's/.* T \([^@]*\).*/\1/p' | sort
}

library_exports_what_its_map_and_header_say()
{
	is "symbols" "$(exported)" "$(sed -n 's/^\t\(gpreempt_[a-z_]*\);/\1/p' "$TOP/lib/libgpreempt.map" | sort)"
	is "functions of the header" "$(grep -v '^ \*' "$prefix/usr/include/gpreempt.h" | grep -oE '\<gpreempt_[a-z_]+\(' | tr -d '(' | sort -u)" "$(exported)"
	is "other symbols" "$(nm -D --defined-only "$prefix/usr/lib/libgpreempt.so" | grep -cv -e ' T ' -e ' A ')" 0
	readelf -d "$prefix/usr/lib/libgpreempt.so" | grep -q 'SONAME.*\[libgpreempt.so.1\]'
	is "static library" "$(nm --defined-only -g "$prefix/usr/lib/libgpreempt.a" | sed -n 's/.* T //p' | sort)" "$(exported)"
}

# Nothing that two threads could both write to: neither in the library nor, of that kind, in what it calls.
library_has_no_state()
{
	is "writable data" "$(size -A "$lib/gpreempt.o" | awk '$1 ~ /^\.(data|bss|tdata|tbss)$/ { n += $2 } END { print n + 0 }')" 0
	is "calls" "$(nm -u "$lib/gpreempt.o" | grep -E ' (strerror|strtok|getpwnam|setenv|signal|localtime)$' || true)" ""
}

external_program()
{
	cat <<-'END'
		#include <gpreempt.h>
		#include <stdio.h>
		int main(void)
		{
			struct gpreempt *g;
			int r = gpreempt_open(&g);

			printf("%d %s\n", r, gpreempt_node_state_name(GPREEMPT_NODE_PARKED));
			gpreempt_close(g);
			return 0;
		}
	END
}

# pc ARGUMENTS: pkg-config that knows the installed prefix only
pc()
{
	PKG_CONFIG_LIBDIR=$prefix/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$prefix pkg-config "$@" libgpreempt
}

programs_build_against_what_is_installed()
{
	command -v pkg-config >/dev/null || skip "pkg-config is not installed"
	is "version" "$(pc --modversion)" "$version"
	external_program >"$scratch/program.c"
	cp "$scratch/program.c" "$scratch/program.cc"
	cd "$scratch"
	# shellcheck disable=SC2046 # words
	gcc -std=c99 -pedantic -Wall -Wextra -Werror -o c program.c $(pc --cflags --libs)
	# shellcheck disable=SC2046
	g++ -std=c++11 -pedantic -Wall -Wextra -Werror -o cc program.cc $(pc --cflags --libs)
	# shellcheck disable=SC2046
	gcc -static -o static program.c $(pc --cflags) "$prefix/usr/lib/libgpreempt.a"
	is "needs" "$(readelf -d c | grep -o 'libgpreempt[^]]*')" libgpreempt.so.1
	without_module
	for program in ./c ./cc ./static; do
		is "$program" "$(LD_LIBRARY_PATH=$prefix/usr/lib $program)" "-2 parked"
	done
}

scripts_are_clean()
{
	linted tools/testing/gpreemptctl/*.sh tools/testing/deps.sh
}

plan 42
must builds_without_warnings builds_without_warnings
tap builds_into_one_folder_take_turns builds_into_one_folder_take_turns
tap wrong_usage_is_told wrong_usage_is_told
tap a_missing_module_has_a_status_and_a_remedy a_missing_module_has_a_status_and_a_remedy
tap doctor_knows_kernel_series doctor_knows_kernel_series
tap help_names_everything help_names_everything
tap help_of_a_command_is_about_that_one help_of_a_command_is_about_that_one
tap mistyped_commands_are_told_what_was_meant mistyped_commands_are_told_what_was_meant
tap a_good_configuration_is_not_mentioned a_good_configuration_is_not_mentioned
tap bad_lines_are_told_one_by_one bad_lines_are_told_one_by_one
tap rules_that_can_never_fit_are_told rules_that_can_never_fit_are_told
tap programs_that_can_never_run_are_told programs_that_can_never_run_are_told
tap rules_behind_one_that_fits_are_told rules_behind_one_that_fits_are_told
tap labels_have_a_value_and_words_are_whole labels_have_a_value_and_words_are_whole
tap rules_that_fit_nothing_now_are_told rules_that_fit_nothing_now_are_told
tap names_and_patterns_fit_processes names_and_patterns_fit_processes
tap a_configuration_that_cannot_be_read_is_told a_configuration_that_cannot_be_read_is_told
tap bounds_are_those_of_the_module bounds_are_those_of_the_module
tap each_verdict_has_a_sentence each_verdict_has_a_sentence
tap manual_pages_are_clean_and_complete manual_pages_are_clean_and_complete
tap completion_offers_what_there_is completion_offers_what_there_is
must install_puts_everything_in_place install_puts_everything_in_place
tap doctor_knows_secure_boot doctor_knows_secure_boot
tap doctor_knows_machines_without_a_gpu doctor_knows_machines_without_a_gpu
tap doctor_reports_without_secrets doctor_reports_without_secrets
tap doctor_knows_whose_driver_it_is doctor_knows_whose_driver_it_is
tap device_node_has_the_rights_of_dev_kfd device_node_has_the_rights_of_dev_kfd
tap who_may_not_open_it_is_told_what_does who_may_not_open_it_is_told_what_does
tap doctor_knows_what_boots_next doctor_knows_what_boots_next
tap doctor_knows_what_dkms_has doctor_knows_what_dkms_has
tap doctor_counts_queues_against_slots doctor_counts_queues_against_slots
tap doctor_recommends_idle_eviction_where_not_all_fit doctor_recommends_idle_eviction_where_not_all_fit
tap doctor_reads_environments_and_debuggers doctor_reads_environments_and_debuggers
tap doctor_knows_amds_own_eviction doctor_knows_amds_own_eviction
tap doctor_knows_the_version_of_cgroups doctor_knows_the_version_of_cgroups
tap hook_needs_no_cgroup_v2 hook_needs_no_cgroup_v2
tap metrics_name_the_device_as_others_do metrics_name_the_device_as_others_do
tap library_exports_what_its_map_and_header_say library_exports_what_its_map_and_header_say
tap library_has_no_state library_has_no_state
tap programs_build_against_what_is_installed programs_build_against_what_is_installed
tap uninstall_takes_it_away_again uninstall_takes_it_away_again
tap scripts_are_clean scripts_are_clean
finish

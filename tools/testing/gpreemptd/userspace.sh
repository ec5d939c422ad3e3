#!/bin/bash
# SPDX-License-Identifier: MIT
#
# userspace.sh - gpreemptd as far as it goes without a GPU, with address and undefined-behaviour sanitizers: policies, engine, file (gpreemptd_test.c);
# SIGHUP, with the kernel's side in memory (fake.c); command line, manual page, unit. TAP on stdout
#
# Builds into $BUILD/gpreemptd-asan.
. "$(dirname "$0")/../gpreemptctl/lib.sh"

here=$TOP/tools/testing/gpreemptd
built=$BUILD/gpreemptd-asan
source=$TOP/tools/gpreemptd
conf=$scratch/gpreemptd.conf
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$TOP/dkms.conf")
daemon=

build()
{
	local flags="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -Werror"
	local all=(-std=gnu11 -D_GNU_SOURCE "-DVERSION=\"$version\"" -Wall -Wextra "-I$source" "-I$TOP/lib" "-I$TOP/include/uapi" "-I$here")

	make -s -C "$source" O="$built" CFLAGS="$flags"
	# shellcheck disable=SC2086 # words
	gcc "${all[@]}" $flags -o "$built/gpreemptd_test" "$here/gpreemptd_test.c" "$here/fake.c" "$source/sched.c" "$source/engine.c" \
		"$source/config.c" "$TOP/lib/match.c" "$TOP/lib/parse.c"
	# shellcheck disable=SC2086
	gcc "${all[@]}" $flags -o "$built/gpreemptd-fake" "$here/fake.c" "$source"/*.c "$TOP/lib/match.c" "$TOP/lib/parse.c"
}

run_unit()
{
	mkdir "$scratch/proc"
	"$built/gpreemptd_test" "$scratch/proc" >"$scratch/unit" 2>&1
	echo "exit status $?" >>"$scratch/unit"
	grep -v -e '^1\.\.' -e '^exit status' "$scratch/unit" | sed '/^\(ok\|not ok\|#\) /! s/^/# /'
	count=$(sed -n 's/^1\.\.//p' "$scratch/unit")
	grep -qx 'exit status 0' "$scratch/unit" || failed=1
	[ -n "$count" ] || { echo "Bail out! unit ended early"; exit 1; }
}

wrong()		# text, arguments
{
	local text=$1

	shift
	status 2 "$built/gpreemptd" "$@"
	has "$err" "$text"
}

wrong_usage_is_told()
{
	wrong 'it takes one file, not also b' a b
	wrong 'unrecognized option' --policy=hpf
	wrong "$conf.none: No such file" "$conf.none"
	wrong "$conf.none is not in force: not started" "$conf.none"
	printf '[settings]\nslice_us = 499\n' >"$conf"
	wrong "$conf:2: slice_us=499 is not a number from 500 to 1000000" "$conf"
	is "version" "$("$built/gpreemptd" --version)" "gpreemptd $version (kfd_gpreempt)"
}

a_missing_module_has_a_status_and_a_remedy()
{
	without_module
	: >"$conf"
	status 3 "$built/gpreemptd" "$conf"
	has "$err" "try: gpreemptctl doctor"
}

# What a test that failed has left.
stop_leftover()
{
	[ ! -e "$scratch/pid" ] || kill "$(cat "$scratch/pid")" 2>/dev/null || true
	rm -f "$scratch/pid"
}

# said N TEXT: the log has a line with TEXT N times, in a moment
said()
{
	for _ in $(seq 200); do
		[ "$(grep -cF "$2" "$scratch/log")" != "$1" ] || return 0
		sleep 0.05
	done
	cat "$scratch/log"
	return 1
}

# With what standard input says, until it is in force.
start_daemon()
{
	stop_leftover
	cat >"$conf"
	: >"$scratch/log"
	"$built/gpreemptd-fake" "$conf" 2>"$scratch/log" &
	daemon=$!
	echo "$daemon" >"$scratch/pid"
	said 1 'is in force: policy'
}

stop_daemon()
{
	rm -f "$scratch/pid"
	kill -TERM "$daemon"
	wait "$daemon"
}

policy_is_the_environments_if_the_file_names_none()
{
	XSCHED_SCHED=RR start_daemon </dev/null
	said 1 "$conf is in force: policy rr, lines about processes: 0, processes with queues now: 0"
	stop_daemon
	XSCHED_SCHED=RR start_daemon <<<$'[settings]\npolicy = FIFO'
	said 1 "is in force: policy fifo, lines"
	stop_daemon
	XSCHED_SCHED=LAX start_daemon </dev/null
	said 1 "is in force: policy hpf"
	said 1 "XSCHED_SCHED=LAX is a policy of XSched that gpreemptd has not (hpf fifo rr fair); kept hpf"
	stop_daemon
}

# Two processes with queues, of which the second file names one.
sighup_has_the_file_read_again()
{
	local a b

	sleep 100 &
	a=$!
	tail -f /dev/null &
	b=$!
	FAKE_PIDS="$a $b" start_daemon <<-END
		[processes]
		pid $a = latency
		exe $(readlink -f "$(command -v tail)") = weight=300
	END
	said 1 "policy hpf, lines about processes: 2, processes with queues now: 2"
	printf '[settings]\npolicy = rr\n[processes]\npid %s = weight=10001\n' "$b" >"$conf"
	kill -HUP "$daemon"
	said 1 "$conf:4: weight=10001 is not a number from 1 to 10000"
	said 1 "$conf is not in force: what was read before stays"
	rm "$conf"
	kill -HUP "$daemon"
	said 1 "$conf: No such file"
	said 2 "what was read before stays"
	said 1 "is in force: policy"
	printf '[settings]\npolicy = rr\n[processes]\npid %s = 5\n' "$b" >"$conf"
	kill -HUP "$daemon"
	said 1 "$conf is in force: policy rr, lines about processes: 1, processes with queues now: 1"
	kill "$a" "$b"
	wait "$a" "$b" || true
	stop_daemon
}

manual_page_is_clean_and_complete()
{
	local word

	command -v man >/dev/null || skip "man is not installed"
	page "$built/gpreemptd.8" >"$scratch/text"
	for word in policy settings processes exe user cgroup pid SIGHUP hpf fifo rr fair $(sed -n 's/^\t\[[A-Z_]*\] = { "\([a-z_]*\)",.*/\1/p' "$source/config.c"); do
		grep -qE -- "(^|[ ,[])$word\>" "$scratch/text" || { echo "gpreemptd(8) does not mention $word"; return 1; }
	done
	# Bounds and defaults are the program's.
	sed -n 's/^\t\[[A-Z_]*\] = { "\([a-z_]*\)", \([0-9]*\), \([0-9]*\), \([0-9]*\) },/\1 (\2..\3, \4)/p' "$source/config.c" >"$scratch/settings"
	is "settings" "$(wc -l <"$scratch/settings")" 4
	while read -r word; do
		has "$scratch/text" "$word"
	done <"$scratch/settings"
}

scripts_are_clean()
{
	linted tools/testing/gpreemptd/*.sh
}

echo "TAP version 13"
build >"$scratch/build" 2>&1 || { sed 's/^/# /' "$scratch/build"; echo "Bail out! gpreemptd does not build"; exit 1; }
run_unit
tap wrong_usage_is_told wrong_usage_is_told
tap a_missing_module_has_a_status_and_a_remedy a_missing_module_has_a_status_and_a_remedy
tap policy_is_the_environments_if_the_file_names_none policy_is_the_environments_if_the_file_names_none
tap sighup_has_the_file_read_again sighup_has_the_file_read_again
tap manual_page_is_clean_and_complete manual_page_is_clean_and_complete
tap scripts_are_clean scripts_are_clean
stop_leftover
echo "1..$count"
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# userspace.sh - gpreemptd as far as it goes without a GPU, with address and undefined-behaviour sanitizers: policies, engine, answers (gpreemptd_test.c);
# its socket, with the kernel's side in memory (fake.c); command line, manual page, unit. TAP on stdout
#
# Builds into $BUILD/gpreemptd-asan and $BUILD/gpreemptctl-asan.
. "$(dirname "$0")/../gpreemptctl/lib.sh"

here=$TOP/tools/testing/gpreemptd
built=$BUILD/gpreemptd-asan
ctl_built=$BUILD/gpreemptctl-asan
source=$TOP/tools/gpreemptd
socket=$scratch/socket
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$TOP/dkms.conf")
daemon=

build()
{
	local flags="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -Werror"
	local all=(-std=gnu11 -D_GNU_SOURCE "-DVERSION=\"$version\"" -Wall -Wextra "-I$source" "-I$TOP/lib" "-I$TOP/include/uapi" "-I$here")

	build_ctl "$ctl_built" sanitized
	make -s -C "$source" O="$built" CFLAGS="$flags"
	# shellcheck disable=SC2086 # words
	gcc "${all[@]}" $flags -o "$built/gpreemptd_test" "$here/gpreemptd_test.c" "$here/fake.c" "$source/sched.c" "$source/engine.c" "$source/control.c" -ljson-c
	# shellcheck disable=SC2086
	gcc "${all[@]}" $flags -o "$built/gpreemptd-fake" "$here/fake.c" "$source"/*.c -ljson-c
}

run_unit()
{
	"$built/gpreemptd_test" >"$scratch/unit" 2>&1
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
	wrong 'it takes no word now' now
	wrong 'best is no policy (hpf fifo rr fair)' -p best
	wrong 'KEDF is a policy of XSched that gpreemptd has not (hpf fifo rr fair)' --policy KEDF
	wrong 'slice_us=499 is not a number from 500 to 1000000' -s slice_us=499
	wrong 'poll_us= is not a number from 100' --set poll_us=
	wrong 'there is no setting nonsense' -s nonsense=1
	wrong 'set slice_us to what?' -s slice_us
	is "version" "$("$built/gpreemptd" --version)" "gpreemptd $version (kfd_gpreempt)"
}

a_missing_module_has_a_status_and_a_remedy()
{
	without_module
	status 3 "$built/gpreemptd" -S "$socket"
	has "$err" "try: gpreemptctl doctor"
	[ ! -e "$socket" ]
}

# What a test that failed has left.
stop_leftover()
{
	[ ! -e "$scratch/pid" ] || kill "$(cat "$scratch/pid")" 2>/dev/null || true
	rm -f "$scratch/pid"
}

# Until it listens.
start_daemon()
{
	stop_leftover
	rm -f "$scratch/log"
	"$built/gpreemptd-fake" -S "$socket" "$@" 2>"$scratch/log" &
	daemon=$!
	echo "$daemon" >"$scratch/pid"
	for _ in $(seq 200); do
		! grep -qs 'listens at' "$scratch/log" || return 0
		sleep 0.05
	done
	cat "$scratch/log"
	return 1
}

stop_daemon()
{
	rm -f "$scratch/pid"
	kill -TERM "$daemon"
	wait "$daemon"
	[ ! -e "$socket" ]
}

ask()
{
	"$ctl_built/gpreemptctl" daemon "$@" --socket "$socket"
}

policy_is_the_environments_if_none_is_given()
{
	XSCHED_SCHED=RR start_daemon
	is "policy" "$(ask policy)" rr
	stop_daemon
	XSCHED_SCHED=RR start_daemon -p FIFO
	is "policy" "$(ask policy)" fifo
	stop_daemon
	XSCHED_SCHED=LAX start_daemon
	is "policy" "$(ask policy)" hpf
	has "$scratch/log" "XSCHED_SCHED=LAX is a policy of XSched that gpreemptd has not (hpf fifo rr fair); kept hpf"
	stop_daemon
}

ctl_asks_it_everything()
{
	start_daemon -s slice_us=7000
	status 0 ask add -p $$ -5 weight=300
	status 0 ask status >"$scratch/status"
	has "$scratch/status" "policy hpf  slice_us=7000  poll_us=500  interval_ms=5  timeout_ms=1000"
	grep -qE "^ *$$ .* -5 +300 +- no queue +- +-$" "$scratch/status"
	status 0 ask policy CFS
	is "policy" "$(ask policy)" fair
	status 0 ask tune slice_us=8000 poll_us=300
	ask status --json | python3 -c 'import json, sys
d = json.load(sys.stdin)
assert d["schema_version"] == 1 and d["status"] == 0 and d["policy"] == "fair" and d["settings"]["slice_us"] == 8000, d
assert d["settings"]["poll_us"] == 300 and d["processes"][0]["priority"] == -5 and d["processes"][0]["nodes"] == [], d
assert d["processes"][0]["job"] == 0, d'
	status 1 ask policy best
	has "$err" "gpreemptctl: there is no policy best (hpf fifo rr fair); kept fair"
	status 1 ask tune slice_us=1
	has "$err" "gpreemptctl: slice_us=1 is not a number from 500 to 1000000; kept 8000"
	status 2 ask tune nonsense=1
	has "$err" "there is no setting nonsense"
	status 1 ask add -p $$ weight=10001
	has "$err" "weight=10001 is not a number from 1 to 10000; kept 300"
	status 1 ask add -p 4194305
	has "$err" "pid 4194305: no such process"
	status 0 ask remove -p $$
	status 1 ask remove -p $$
	has "$err" "pid $$: not registered"
	stop_daemon
	status 1 ask status
	has "$err" "gpreemptd does not run: no process listens at $socket"
}

who_ends_is_forgotten()
{
	start_daemon
	sleep 100 &
	status 0 ask add -p $!
	kill $!
	wait $! || true
	for _ in $(seq 100); do
		! ask status | grep -q sleep || { sleep 0.05; continue; }
		break
	done
	is "processes" "$(ask status | wc -l)" 2
	stop_daemon
}

# Half requests, endless ones, more connections than there may be: whoever comes after them is answered.
noise_keeps_nobody_out()
{
	start_daemon
	python3 - "$socket" <<-'END'
		import socket, sys
		open_ones = []
		for i in range(40):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    s.sendall(b'{"command":"sta')
		    open_ones.append(s)
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		s.sendall(b"x" * 4095)
		assert b"longer than 4095 bytes" in s.recv(1000)
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		s.sendall(bytes(range(256)) + b"\n")
		assert b'"status":2' in s.recv(1000)
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		s.sendall(b'{"command":')
		s.sendall(b'"status"}\n')
		assert b'"status":0' in s.recv(10000)
	END
	is "policy" "$(ask policy)" hpf
	stop_daemon
}

one_daemon_at_a_socket()
{
	start_daemon
	status 1 "$built/gpreemptd-fake" -S "$socket"
	has "$err" "$socket: another gpreemptd listens there"
	is "policy" "$(ask policy)" hpf
	# One that was killed leaves its socket, which keeps nobody from starting.
	kill -KILL "$daemon"
	wait "$daemon" || true
	rm "$scratch/pid"
	[ -S "$socket" ]
	start_daemon
	stop_daemon
	status 1 "$built/gpreemptd-fake" -S "$scratch/no/such/folder"
	has "$err" "No such file"
}

manual_page_is_clean_and_complete()
{
	local word

	command -v man >/dev/null || skip "man is not installed"
	page "$built/gpreemptd.8" >"$scratch/text"
	for word in --policy --set --socket hpf fifo rr fair $(sed -n 's/^\t\[[A-Z_]*\] = { "\([a-z_]*\)",.*/\1/p' "$source/engine.c"); do
		grep -qE -- "(^|[ ,[])$word\>" "$scratch/text" || { echo "gpreemptd(8) does not mention $word"; return 1; }
	done
	# Bounds and defaults are the program's.
	sed -n 's/^\t\[[A-Z_]*\] = { "\([a-z_]*\)", \([0-9]*\), \([0-9]*\), \([0-9]*\) },/\1 (\2..\3, \4)/p' "$source/engine.c" >"$scratch/settings"
	is "settings" "$(wc -l <"$scratch/settings")" 4
	while read -r word; do
		has "$scratch/text" "$word"
	done <"$scratch/settings"
}

unit_is_what_systemd_expects()
{
	command -v systemd-analyze >/dev/null || skip "systemd-analyze is not installed"
	sed "s|@PREFIX@/sbin|$built|" "$TOP/dist/gpreemptd.service.in" >"$scratch/gpreemptd.service"
	unit_is_clean "$scratch/gpreemptd.service"
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
tap policy_is_the_environments_if_none_is_given policy_is_the_environments_if_none_is_given
tap ctl_asks_it_everything ctl_asks_it_everything
tap who_ends_is_forgotten who_ends_is_forgotten
tap noise_keeps_nobody_out noise_keeps_nobody_out
tap one_daemon_at_a_socket one_daemon_at_a_socket
tap manual_page_is_clean_and_complete manual_page_is_clean_and_complete
tap unit_is_what_systemd_expects unit_is_what_systemd_expects
tap scripts_are_clean scripts_are_clean
stop_leftover
echo "1..$count"
finish

# SPDX-License-Identifier: MIT
# shellcheck shell=dash
#
# tap.sh - tests in shell: functions whose results are TAP on stdout; scripts of tests source it
#
# "plan N" comes first, "finish" last. "tap NAME FUNCTION [ARGS...]" is a test: what the function prints is
# shown, before the result, when it fails. A function may call "skip REASON", which ends it. $scratch is a
# folder that goes away at the end.

scratch=$(mktemp -d "${TMPDIR:-/tmp}/gpreempt-test.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

count=0
failed=0

plan()
{
	echo "TAP version 13"
	echo "1..$1"
}

skip()
{
	echo "$*" >"$scratch/.skip"
	exit 0
}

tap()
{
	local name="$1" status

	shift
	count=$((count + 1))
	rm -f "$scratch/.skip"
	(set -e; "$@") >"$scratch/.out" 2>&1
	status=$?
	if [ -e "$scratch/.skip" ]; then
		echo "ok $count $name # SKIP $(cat "$scratch/.skip")"
	elif [ $status = 0 ]; then
		echo "ok $count $name"
	else
		failed=$((failed + 1))
		head -n 40 "$scratch/.out" | sed 's/^/# /'
		echo "not ok $count $name"
	fi
}

# The rest needs this one: there is no point in going on without it. (As the left side of || a test would
# not end with its first failing command.)
must()
{
	local before=$failed

	tap "$@"
	[ "$failed" = "$before" ] || { echo "Bail out! the rest needs it"; exit 1; }
}

# not COMMAND...: for the middle of a test, where a command behind an exclamation mark does not end it
not()
{
	! "$@"
}

finish()
{
	[ "$failed" = 0 ]
	exit $?
}

# is WHAT GOT WANTED
is()
{
	[ "$2" = "$3" ] || { echo "$1: got '$2', wanted '$3'"; return 1; }
}

# has FILE TEXT: the text is in the file
has()
{
	grep -qF -- "$2" "$1" || { echo "no '$2' in:"; cat "$1"; return 1; }
}

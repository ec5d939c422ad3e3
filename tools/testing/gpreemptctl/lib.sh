# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# lib.sh - what the suites of gpreemptctl share; sourced by them
. "$(dirname "$0")/../package/lib.sh"

# Messages of what was called last
err=$scratch/err

# build_ctl FOLDER [sanitized]: gpreemptctl and its manual pages
build_ctl()
{
	local flags="-O2 -g"

	[ "${2:-}" != sanitized ] || flags="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
	make -s -C "$TOP/tools/gpreemptctl" O="$1" CFLAGS="$flags -Werror"
}

# What machine.c stands before, for the linker
# shellcheck disable=SC2034 # of who sources this
wrap=$(printf -- '-Wl,--wrap=%s ' open fopen opendir scandir access readlink ioctl)

# build_machine [FLAG...]: the made-up machine, $scratch/machine.o
build_machine()
{
	gcc "$@" -D_GNU_SOURCE -I"$TOP/include/uapi" -c -o "$scratch/machine.o" "$TOP/tools/testing/gpreemptctl/machine.c"
}

# build_hook PROGRAM [FLAG...]: the OCI hook on it
# shellcheck disable=SC2086 # words
build_hook()
{
	gcc "${@:2}" -I"$TOP/include/uapi" -I"$TOP/lib" -I"$TOP/integrations/common" -o "$1" "$scratch/machine.o" \
		"$TOP/integrations/oci/gpreempt-oci.c" "$TOP"/integrations/common/*.c "$TOP"/lib/{gpreempt,parse}.c $wrap -ljson-c
}

# status WANTED PROGRAM ARGUMENTS: the exit status; messages in $err
status()
{
	local wanted=$1 got=0

	shift
	"$@" 2>"$err" || got=$?
	[ "$got" = "$wanted" ] || { { echo "$*: exit status $got, not $wanted"; cat "$err"; } >&2; return 1; }
}

without_module()
{
	[ ! -e /dev/kfd_gpreempt ] && [ ! -e /sys/module/amdgpu ] || skip "this machine has amdgpu loaded"
}

# page FILE: it as text on stdout; man has nothing to say about it
page()
{
	MANWIDTH=100 man --warnings -l "$1" >"$scratch/page" 2>"$err"
	is "warnings of $1" "$(cat "$err")" "" >&2
	col -b <"$scratch/page"
}

# linted FILE...: shellcheck finds nothing in them; relative to $TOP
linted()
{
	command -v shellcheck >/dev/null || skip "shellcheck is not installed"
	cd "$TOP"
	shellcheck -S warning -x -P tools/testing/gpreemptctl -P tools/testing/package "$@"
}

# screen FILE ROWS COLUMNS: what a terminal shows after these bytes. A server of tmux that was told to end may take a moment: each has its own socket.
screen()
{
	local socket shown='' before

	socket=$(mktemp -u "$scratch/tmux-XXXXXX")
	tmux -f /dev/null -S "$socket" new-session -d -x "$3" -y "$2" "cat '$1'; touch '$scratch/shown'; exec sleep 60"
	for _ in $(seq 100); do
		[ ! -e "$scratch/shown" ] || break
		sleep 0.1
	done
	# The bytes are in the terminal's queue when cat has ended, and on the screen a little later.
	for _ in $(seq 100); do
		before=$shown
		sleep 0.3
		shown=$(tmux -S "$socket" capture-pane -p)
		[ -z "$shown" ] || [ "$shown" != "$before" ] || break
	done
	tmux -S "$socket" capture-pane -p
	tmux -S "$socket" kill-server
	rm -f "$scratch/shown"
}

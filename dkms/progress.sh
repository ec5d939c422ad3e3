#!/bin/bash
# SPDX-License-Identifier: MIT
#
# progress.sh - shows how far something is that takes long: a bar on a terminal, a line now and then in a log
#
# Usage: COMMAND | dkms/progress.sh
#        make ... | dkms/progress.sh --kbuild TOTAL WHAT
#        dkms/progress.sh --files TOTAL WHAT PATTERN FOLDER... -- COMMAND...
#
# Reads lines "DONE TOTAL WHAT": two numbers, and what is being done. Another WHAT begins anew. A TOTAL of 0 is one that is not known.
# What apt-get writes to APT::Status-Fd is read as well; other lines are skipped.
#
# --files runs COMMAND and exits with its status. Meanwhile it counts files in the folders: those that match the pattern and are newer
# than the start of COMMAND.
#
# --kbuild counts the lines in which kbuild says what it compiles.
#
# It writes to standard error, and nothing in the first five seconds of each WHAT. If that is no terminal it writes a line each
# 20 seconds, which begins with "... ". PROGRESS=bar: each second such a line with a bar, for a program that has a terminal.
set -eu

FIRST_S=5
EVERY_S=20
WIDTH=30

terminal=
[ ! -t 2 ] || terminal=1
[ -z "$terminal" ] && [ "${PROGRESS:-}" != bar ] || EVERY_S=1

# lasts SECONDS: as one says it
lasts()
{
	if [ "$1" -lt 100 ]; then
		echo "$1 s"
	else
		echo "$((($1 + 30) / 60)) min"
	fi
}

# bar DONE TOTAL
bar()
{
	awk -v n="$1" -v total="$2" -v width=$WIDTH 'BEGIN {
		for (i = 0; i < width; i++)
			bar = bar (i < width * n / total ? "#" : ".")
		print "[" bar "] "
	}'
}

# show DONE TOTAL WHAT SECONDS: the last is how long it has been going on
show()
{
	local text="$3:" drawn=

	if [ "$2" = 0 ]; then
		text="$text $1 so far, $(lasts "$4")"
	else
		[ $EVERY_S != 1 ] || drawn=$(bar "$1" "$2")
		text="$text $drawn$(($1 * 100 / $2)) %"
		[ "$1" = 0 ] || text="$text, about $(lasts $(($4 * ($2 - $1) / $1))) left"
	fi
	if [ -n "$terminal" ]; then
		printf '\r%s\033[K' "$text" >&2
	else
		echo "... $text" >&2
	fi
}

# cleared: the terminal's line is for others
cleared()
{
	[ -z "$terminal" ] || printf '\r\033[K' >&2
}

# parsed: lines "DONE TOTAL WHAT" of what is read
parsed()
{
	sed -unE -e '/^[0-9]+ [0-9]+ ./{p; d}' -e 's/^dlstatus:[^:]*:([0-9]+)([.,][0-9]*)?:.*/\1 100 downloading/p' \
		-e 's/^pmstatus:[^:]*:([^:]*:)?([0-9]+)([.,][0-9]*)?:.*/\2 100 installing/p'
}

shown()
{
	local current='' begun=0 last=0 now n total what

	while read -r n total what; do
		now=$(date +%s)
		if [ "$what" != "$current" ]; then
			current=$what
			begun=$now
			last=$((now - EVERY_S + FIRST_S))
		fi
		[ "$n" -le "$total" ] || [ "$total" = 0 ] || n=$total
		[ $((now - last)) -ge $EVERY_S ] && [ $((now - begun)) -ge $FIRST_S ] || continue
		last=$now
		show "$n" "$total" "$what" $((now - begun))
	done
	cleared
}

# compiles TOTAL WHAT: how far kbuild is
compiles()
{
	local line n=0

	while IFS= read -r line; do
		case $line in
		"  CC "* | "  AS "*)	n=$((n + 1)); echo "$n $1 $2" ;;
		esac
	done
}

case ${1:-} in
--files)
	;;
--kbuild)
	compiles "$2" "$3" | shown
	exit
	;;
*)
	parsed | shown
	exit
	;;
esac

total=$2
what=$3
pattern=$4
shift 4
folders=
while [ "$1" != -- ]; do
	folders="$folders $1"
	shift
done
shift

start=$(mktemp)
trap 'rm -f "$start"' EXIT
trap 'exit 1' HUP INT TERM
# It ends when that file is gone.
while [ -e "$start" ]; do
	# shellcheck disable=SC2086 # words
	echo "$(find $folders -type f -name "$pattern" -newer "$start" | wc -l) $total $what"
	sleep 1
done 2>/dev/null </dev/null | shown &
shown=$!
status=0
"$@" || status=$?
kill $shown 2>/dev/null || true
wait $shown 2>/dev/null || true
cleared
exit $status

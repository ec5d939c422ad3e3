#!/bin/sh
# SPDX-License-Identifier: MIT
#
# progress_test.sh - dkms/progress.sh and follow.sh say how far something is, and disturb nothing (TAP)
#
# Touches: a scratch folder. Time is that of a `date' made up here: STEP seconds more at each look.

TOP=${TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tools/testing/tap.sh
. "$TOP/tools/testing/tap.sh"
log=$scratch/log

mkdir "$scratch/bin"
cat >"$scratch/bin/date" <<END
#!/bin/sh
now=\$(cat "$scratch/now")
echo \$((now + \${STEP:-1})) >"$scratch/now"
echo \$now
END
chmod +x "$scratch/bin/date"

# progress ARGUMENTS...: what it says is in $log
progress()
{
	echo 1000 >"$scratch/now"
	PATH="$scratch/bin:$PATH" "$TOP/dkms/progress.sh" "$@" 2>"$log"
}

# parts FROM TO TOTAL: lines of input
parts()
{
	seq "$1" "$2" | sed "s/\$/ $3 compiling it/"
}

what_is_short_is_not_mentioned()
{
	parts 1 5 10 | progress
	is "what is said in four seconds" "$(cat "$log")" ""
}

a_log_gets_a_line_now_and_then()
{
	parts 1 50 100 | progress
	is "what is said" "$(cat "$log")" "$(printf '%s\n' "... compiling it: 6 %, about 78 s left" \
		"... compiling it: 26 %, about 71 s left" "... compiling it: 46 %, about 52 s left")"
}

a_terminal_gets_a_bar()
{
	parts 1 6 12 | PROGRESS=bar progress
	is "what is said" "$(cat "$log")" "... compiling it: [###############...............] 50 %, about 5 s left"
}

long_times_are_minutes()
{
	parts 1 2 10 | STEP=60 progress
	is "what is said" "$(cat "$log")" "... compiling it: 20 %, about 4 min left"
}

an_unknown_total_has_a_count()
{
	parts 1 6 0 | progress
	is "what is said" "$(cat "$log")" "... compiling it: 6 so far, 5 s"
}

another_thing_begins_anew()
{
	{ parts 1 5 10; parts 1 5 10 | sed 's/it/that/'; parts 6 6 10 | sed 's/it/that/'; } | progress
	is "what is said" "$(cat "$log")" "... compiling that: 60 %, about 3 s left"
}

apt_is_understood()
{
	{
		echo "dlstatus:1:0:Retrieving file 1 of 2"
		echo "dlstatus:1:31.7:Retrieving file 1 of 2 (3min 2s remaining)"
		echo "pmstatus:dpkg-exec:0:Running dpkg"
		echo "pmstatus:libc6-dev:amd64:12.25:Unpacking libc6-dev:amd64 (2.41)"
		echo "nothing of interest"
	} | STEP=6 progress
	is "what is said" "$(cat "$log")" "$(printf '%s\n' "... downloading: 31 %, about 13 s left" "... installing: 12 %, about 44 s left")"
}

kbuild_is_understood()
{
	{
		echo "  SYNC    include/config/auto.conf"
		seq 6 | sed 's/.*/  CC      &.o\n  LD      &.ko/'
	} | progress --kbuild 12 "compiling it"
	is "what is said" "$(cat "$log")" "... compiling it: 50 %, about 5 s left"
}

# What a build's log has of how far it is, and nothing else; with a log that comes later, and comes again.
a_log_is_followed()
{
	cat >"$scratch/follows" <<-END
		. "$TOP/dkms/follow.sh"
		follow "$scratch/make.log" &
		echo "... compiling it: 7 %" >"$scratch/make.log"
		until grep -q '7 %' "$log"; do sleep 0.1; done
		rm "$scratch/make.log"
		printf '%s\n' "CC it.o" "... compiling that: 8 %" >"$scratch/make.log"
		until grep -q '8 %' "$log"; do sleep 0.1; done
	END
	timeout 60 bash "$scratch/follows" 2>"$log"
	is "what is said" "$(grep . "$log")" "$(printf '%s\n' "... compiling it: 7 %" "... compiling that: 8 %")"
}

# It goes on until it was seen to be half done, or fails.
half()
{
	for _ in $(seq 100); do
		# Files of one tick of the clock are of one age: those of the first may not be newer than the start.
		touch "$scratch/made/1.o" "$scratch/made/2.o" "$scratch/made/1.d"
		! grep -q 'making it: 50 %' "$log" || exit 3
		sleep 0.1
	done
	exit 4
}

made_files_are_counted()
{
	mkdir "$scratch/made"
	touch -d '1 hour ago' "$scratch/made/old.o"
	export scratch log
	status=0
	{
		sed -n '/^half()/,/^}/p' "$0"
		echo half
	} >"$scratch/half"
	STEP=10 progress --files 4 "making it" '*.o' "$scratch/made" -- sh "$scratch/half" || status=$?
	is "exit status" "$status" 3
}

plan 10
tap "what is short is not mentioned" what_is_short_is_not_mentioned
tap "a log gets a line now and then" a_log_gets_a_line_now_and_then
tap "a terminal gets a bar" a_terminal_gets_a_bar
tap "long times are minutes" long_times_are_minutes
tap "an unknown total has a count" an_unknown_total_has_a_count
tap "another thing begins anew" another_thing_begins_anew
tap "apt-get is understood" apt_is_understood
tap "kbuild is understood" kbuild_is_understood
tap "of a build's log that is how far it is" a_log_is_followed
tap "made files are counted, and the command's status is kept" made_files_are_counted
finish

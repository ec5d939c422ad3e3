#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_test.sh - tools/testing/check.py sums up what suites say, and no broken suite passes for a good one (TAP)
#
# Touches: a scratch folder. The suites under it are made up here.

TOP=${TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tools/testing/tap.sh
. "$TOP/tools/testing/tap.sh"
table=$scratch/table

# suite NAME [WHEN [AFTER]]: a made-up suite, its text on stdin
suite()
{
	{ echo '#!/bin/sh'; cat; } >"$scratch/suites/$1"
	chmod +x "$scratch/suites/$1"
	echo "$1 | ${2:-check} | ${3:--} | host | $scratch/suites/$1" >>"$table"
}

fresh()
{
	rm -rf "$scratch/suites" "$scratch/out" "$scratch/cache"
	mkdir -p "$scratch/suites"
	echo "budget any 1000 1000" >"$table"
}

# becomes_check ARGS: the aggregator on the made-up suites, in place of this shell; its output in $scratch/log
becomes_check()
{
	exec env SUITES="$table" BUILD="$scratch/build" GPREEMPT_CACHE="$scratch/cache" SUITE_TIMEOUT_S=${limit_s:-60} \
		"$TOP/tools/testing/check.py" --out "$scratch/out" "$@" >"$scratch/log" 2>&1
}

# check ARGS: its status in $status
check()
{
	(becomes_check "$@")
	status=$?
}

# totals STATUS PASSED FAILED SKIPPED: what the last check must have ended with
totals()
{
	[ "$status" = "$1" ] && [ "$(tail -n 1 "$scratch/log")" = "$2 passed, $3 failed, $4 skipped" ]
}

# says NAME: a test of what check.py says, which is shown if it fails
says()
{
	tap "$1" says_of "$1"
}

says_of()
{
	fresh
	"$1" && return
	echo "exit status $status, output:"
	cat "$scratch/log"
	return 1
}

results_are_counted_and_written_down()
{
	suite a <<-'END'
		echo "TAP version 13"; echo "1..3"; echo "ok 1 first"; echo "ok 2 second # SKIP no such thing"; echo "ok 3 - third"
	END
	check
	totals 0 2 0 1 && python3 - "$scratch/out/check.json" <<-'END'
		import json, sys
		data = json.load(open(sys.argv[1]))
		assert [(t["suite"], t["name"], t["status"]) for t in data["tests"]] == [
		    ("a", "first", "pass"), ("a", "second", "skip"), ("a", "third", "pass")], data
		assert all(isinstance(t["seconds"], float) for t in data["tests"]), data
		assert (data["totals"]["passed"], data["totals"]["failed"], data["totals"]["skipped"]) == (2, 0, 1), data
	END
}

a_failing_test_fails_the_run_and_shows_its_output()
{
	suite a <<-'END'
		echo "1..2"; echo "ok 1 good"; echo "# the reason"; echo "not ok 2 bad"
	END
	check
	totals 1 1 1 0 && grep -q 'the reason' "$scratch/log"
}

lines_for_the_reader_are_printed()
{
	suite a <<-'END'
		echo "1..1"; echo "# not this one"; echo "#: this one"; echo "ok 1 good"
	END
	check
	totals 0 1 0 0 && grep -q '^ *this one$' "$scratch/log" && ! grep -q 'not this one' "$scratch/log"
}

a_suite_that_dies_early_fails()
{
	suite a <<-'END'
		echo "1..3"; echo "ok 1 good"; kill -9 $$
	END
	check
	totals 1 1 1 0
}

a_suite_without_a_plan_fails()
{
	suite a <<-'END'
		echo "ok 1 good"
	END
	check
	totals 1 1 1 0
}

a_suite_that_exits_with_an_error_fails()
{
	suite a <<-'END'
		echo "1..1"; echo "ok 1 good"; exit 99
	END
	check
	totals 1 1 1 0
}

a_suite_that_hangs_fails()
{
	suite a <<-'END'
		echo "1..2"; echo "ok 1 good"; sleep 600
	END
	limit_s=5
	check
	limit_s=
	totals 1 1 1 0
}

# A minute: long before it is killed for hanging
for_a_while()
{
	left=600
	while ! "$@" && [ $left -gt 0 ]; do
		left=$((left - 1))
		sleep 0.1
	done
	[ $left -gt 0 ]
}

# The suite's text on stdin, which leaves its process id
is_gone_with_its_run()
{
	suite a
	rm -f "$scratch/build/pid"
	limit_s=600
	becomes_check &
	limit_s=
	for_a_while test -s "$scratch/build/pid" || return 1
	kill $!
	wait $!
	status=$?
	[ $status = 143 ] && ! kill -0 "$(cat "$scratch/build/pid")" 2>/dev/null
}

suites_end_with_their_run()
{
	is_gone_with_its_run <<-'END'
		echo "1..1"; echo $$ >"$BUILD/pid"; exec sleep 600
	END
}

suites_that_do_not_want_to_end_are_killed()
{
	is_gone_with_its_run <<-'END'
		trap '' TERM
		echo "1..1"; echo $$ >"$BUILD/pid"
		while :; do sleep 1; done
	END
}

a_misnumbered_test_fails()
{
	suite a <<-'END'
		echo "1..2"; echo "ok 1 good"; echo "ok 1 again"
	END
	check
	totals 1 2 1 0
}

a_suite_may_skip_as_a_whole()
{
	suite a <<-'END'
		echo "1..0 # SKIP not on this machine"
	END
	suite b <<-'END'
		echo "1..1"; echo "ok 1 good"
	END
	check
	totals 0 1 0 1 && grep -q 'not on this machine' "$scratch/log"
}

nothing_but_skips_is_no_success()
{
	suite a <<-'END'
		echo "1..0 # SKIP not on this machine"
	END
	check
	totals 1 0 0 1
}

named_suites_run_alone()
{
	suite a <<-'END'
		echo "1..1"; echo "ok 1 good"
	END
	suite b <<-'END'
		echo "1..1"; echo "not ok 1 bad"
	END
	check a
	totals 0 1 0 0
}

# Of those that are named, and of no other
a_suite_brings_those_that_belong_to_it()
{
	for name in a b c; do
		suite $name "$(echo $name | sed 's/a/extended/; s/b/extended:a/; s/c/extended:b/')" <<-'END'
			echo "1..1"; echo "ok 1 good"
		END
	done
	check a
	totals 0 2 0 0 && ! grep -q '^c: ' "$scratch/log" || return 1
	check b
	totals 0 2 0 0 && ! grep -q '^a: ' "$scratch/log"
}

a_suite_may_have_longer_than_others()
{
	suite a <<-'END'
		echo "1..1"; sleep 1; echo "ok 1 good"
	END
	sed -i 's/| host |/| host 60s |/' "$table"
	limit_s=0.2
	check
	limit_s=
	totals 0 1 0 0 || return 1
	sed -i 's/| host 60s |/| host |/' "$table"
	limit_s=0.2
	check
	limit_s=
	totals 1 0 1 0 && has "$scratch/log" 'no end after 0.2 s'
}

an_unknown_suite_is_refused_with_the_known_names()
{
	suite known <<-'END'
		echo "1..1"; echo "ok 1 good"
	END
	check nonsense
	[ $status = 2 ] && grep -q 'nonsense.*known' "$scratch/log"
}

# rendezvous NAME: a suite that passes only if two of its kind run at the same time
rendezvous()
{
	suite "$1" <<-END
		echo "1..1"; touch "$scratch/$1.here"
		i=0
		while [ \$i -lt 200 ]; do
			i=\$((i + 1))
			set -- "$scratch"/*.here
			[ \$# = 2 ] && echo "ok 1 met" && sleep 0.5 && exit
			sleep 0.1
		done
		echo "not ok 1 alone"
	END
}

suites_run_side_by_side()
{
	rm -f "$scratch"/*.here
	rendezvous a
	rendezvous b
	check --jobs 2
	totals 0 2 0 0
}

a_suite_waits_for_those_it_names()
{
	suite a check 'b c d' <<-END
		echo "1..1"; set -- "$scratch"/done-*; [ \$# = 3 ] && echo "ok 1 good" || echo "not ok 1 too early"
	END
	for name in b c d; do
		suite $name <<-END
			echo "1..1"; [ $name = d ] || sleep 0.5; touch "$scratch/done-$name"; echo "ok 1 good"
		END
	done
	check --jobs 4
	totals 0 4 0 0
}

# A suite that is there and does not run this time is not waited for.
waiting_for_a_suite_that_is_not_there_is_refused()
{
	suite a check b <<-'END'
		echo "1..1"; echo "ok 1 good"
	END
	suite b extended <<-'END'
		echo "1..1"; echo "ok 1 good"
	END
	check
	totals 0 1 0 0 || return 1
	sed -i '/^b /d' "$table"
	check
	[ $status = 2 ] && grep -q 'a refers to b' "$scratch/log"
}

# refused ROW TEXT: check.py does not run with this row, and says why
refused()
{
	fresh
	echo "$1" >>"$table"
	check
	[ $status = 2 ] && has "$scratch/log" "$2"
}

what_is_no_row_is_refused()
{
	refused 'a | check | - | host' 'not a row: a |' && refused 'a | check | | host | true' 'not a row: a |' &&
	refused 'a | sometimes | - | host | true' 'a: no such time to run: sometimes' &&
	refused 'a | check | - | moon | true' 'a: runs neither on the host nor in a guest: moon' &&
	refused 'a | check | - | guest gpu fast | true' 'a: no such word for a guest: fast' &&
	refused 'a | debug:b | - | host | true' 'a refers to b' &&
	refused 'a | check | - | host | true
a | check | - | host | true' 'a: twice in the table' &&
	refused 'budget poor - 9
a | check | - | host | true' 'a has no budget in poor'
}

lists_say_what_would_run()
{
	cat >>"$table" <<-'END'
		a | check | - | guest gpu icount vgpu.xccs=2 vgpu.asic=x amdgpu.b=1
		  add=dir:/dir 60s |
		  tap 'one -t two' |
		  cat
		# no row
		b | check debug:c | - | guest amdgpu 30s | load none
		c | debug | - | starts-vm | all "$VM"
	END
	check --list
	[ $status = 0 ] || return 1
	cat >"$scratch/wanted" <<-'END'
		a	exec "$VM" run --gpu fast --icount --add "$TOP/dir:/dir" --timeout 60 --vgpu-args 'xccs=2 asic=x' --amdgpu-args b=1 -- tap 'one -t two' | cat
		b	exec "$VM" run --gpu none --amdgpu "$AMDGPU_TEST_KO" --timeout 30 -- load none
	END
	cmp "$scratch/wanted" "$scratch/log" || return 1
	check --list --debug
	[ "$(cat "$scratch/log")" = 'c	exec all "$VM"' ] || return 1
	check --list --debug --in c
	[ "$(cut -f 1 "$scratch/log")" = b ]
}

another_kernel_is_for_what_needs_amdgpu()
{
	cat >>"$table" <<-'END'
		a | check | - | guest gpu | one
		b | check | - | guest amdgpu | two
		c | extended | - | guest gpu | three
		d | check | - | guest gpu vgpu.asic=x | four
		e | check | - | host | echo 1..1; echo ok 1
		f | debug kcsan:g | - | guest gpu | five
		g | debug kcsan | - | starts-vm | six
		h | debug | - | host | seven
	END
	for wanted in '--kernel 9.1:a b d' '--kernel 9.1 --gpu y:a' '--kernel 9.1 c:c' '--kernel 9.1 --debug:f g' '--kernel 9.1 --kcsan:g'; do
		# shellcheck disable=SC2086 # words
		check --list ${wanted%:*}
		[ "$(cut -f 1 "$scratch/log" | paste -sd ' ')" = "${wanted#*:}" ] || return 1
	done
	for wanted in '--kernel 9.1 e:no suite named e' '--kernel 9.1 --all:goes with --gpu, --debug, --kcsan and SUITE' '--kernel 9.1 --debug:no kernel 9.1, no suite was run' '--kernel 9.1:no kernel 9.1, no suite was run'; do
		# shellcheck disable=SC2086
		OTHER_KERNEL=false check ${wanted%:*}
		[ $status = 2 ] && has "$scratch/log" "${wanted#*:}" || return 1
	done
}

# Stand-ins for both programs: the debug kernel's writes down its arguments and prints no version.
a_debug_kernel_is_like_the_other_kernel()
{
	echo 'a | debug kcsan | - | guest gpu | one' >>"$table"
	printf '#!/bin/sh\n[ "$1" = --source ] && echo "source of $2" || echo "$1.2"\n' >"$scratch/other"
	printf '#!/bin/sh\nprintf "<%%s>" "$@" >"%s"\n' "$scratch/asked" >"$scratch/kernel"
	chmod +x "$scratch/other" "$scratch/kernel"
	for wanted in '--debug --kernel 9.1:<--like><9.1.2><--src><source of 9.1.2>' '--kcsan --kernel 9.1:<--kcsan><--like><9.1.2><--src><source of 9.1.2>' \
		'--debug:<>'; do
		# shellcheck disable=SC2086 # words
		OTHER_KERNEL=$scratch/other DEBUG_KERNEL=$scratch/kernel check ${wanted%%:*}
		[ $status = 2 ] && has "$scratch/log" 'no debug kernel, no suite was run' && [ "$(cat "$scratch/asked")" = "${wanted#*:}" ] || return 1
	done
}

# begun: which suites the last check began, in order
begun()
{
	sed -n 's/ \.\.\.$//p' "$scratch/log" | paste -sd ' '
}

suites_that_took_longest_begin_first()
{
	for name in a b c d; do
		suite $name check "$([ $name != d ] && echo - || echo a)" <<-'END'
			echo "1..1"; [ "${0##*/}" != d ] || sleep 0.3; echo "ok 1 good"
		END
	done
	check --jobs 1
	[ "$(begun)" = "a b c d" ] || return 1
	python3 -c 'import json, sys; took = json.load(open(sys.argv[1])); assert took["d"] >= 0.3 and len(took) == 4, took' \
		"$scratch/cache/check-seconds.json" || return 1
	# one that is waited for begins with what waits for it in mind
	echo '{"a": 0.1, "b": 0.1, "c": 2, "d": 5}' >"$scratch/cache/check-seconds.json"
	check --jobs 1
	[ "$(begun)" = "a d c b" ] || return 1
	# one never seen is the first, wherever it is in the table
	suite e <<-'END'
		echo "1..1"; echo "ok 1 good"
	END
	echo '{"a": 0.1, "b": 0.1, "c": 2, "d": 5}' >"$scratch/cache/check-seconds.json"
	check --jobs 1
	[ "$(begun)" = "e a d c b" ] && totals 0 5 0 0
}

extended_suites_run_by_name_or_with_all()
{
	for name in a b c; do
		suite $name "$(echo $name | tr abc '123' | sed 's/1/check/; s/2/extended/; s/3/package/')" <<-'END'
			echo "1..1"; echo "ok 1 ${0##*/}"
		END
	done
	check
	totals 0 1 0 0 || return 1
	check b
	totals 0 1 0 0 || return 1
	check --all
	totals 0 3 0 0 || return 1
	check --package
	totals 0 1 0 0 && [ "$(begun)" = c ]
}

# The kernel of the second stage is one that somebody says is there.
full_means_extended_suites_and_those_for_the_debug_kernel()
{
	suite a <<-'END'
		echo "1..1"; echo "ok 1 good"
	END
	suite b extended <<-'END'
		echo "1..1"; echo "ok 1 good"
	END
	suite c 'check debug' <<-'END'
		echo "1..2"; echo "ok 1 good"; case $KVER in *-debug-*) echo "not ok 2 bad" ;; *) echo "ok 2 good" ;; esac
	END
	suite d debug <<-'END'
		echo "1..1"; echo "ok 1 # SKIP nothing to see"
	END
	printf '#!/bin/sh\necho 6.12.1-debug-1\n' >"$scratch/kernel"
	chmod +x "$scratch/kernel"
	DEBUG_KERNEL=$scratch/kernel check --full
	totals 1 5 1 1 && grep -qx 'without the debug kernel: 4 passed, 0 failed, 0 skipped' "$scratch/log" && grep -q '^FAILED: c: bad' "$scratch/log"
}

what_another_suite_runs_on_the_debug_kernel_runs_once()
{
	suite a 'check debug:b' <<-'END'
		echo "1..1"; echo "ok 1 good"
	END
	suite b debug <<-'END'
		echo "1..2"; echo "ok 1 good"; echo "ok 2 good"
	END
	printf '#!/bin/sh\necho 6.12.1-debug-1\n' >"$scratch/kernel"
	chmod +x "$scratch/kernel"
	DEBUG_KERNEL=$scratch/kernel check --debug
	totals 0 2 0 0 || return 1
	DEBUG_KERNEL=$scratch/kernel check --debug a
	totals 0 1 0 0 || return 1
	check
	totals 0 1 0 0
}

suites_for_data_races_run_on_their_kernel_only()
{
	suite a 'check debug' <<-'END'
		echo "1..1"; echo "ok 1 good"
	END
	suite b kcsan <<-'END'
		echo "1..2"; echo "ok 1 $BUILD"; case $KVER in *-kcsan-*) echo "ok 2 good" ;; *) echo "not ok 2 bad" ;; esac
	END
	printf '#!/bin/sh\n[ "$1" = --kcsan ] && echo 6.12.1-kcsan-1 || echo 6.12.1-debug-1\n' >"$scratch/kernel"
	chmod +x "$scratch/kernel"
	DEBUG_KERNEL=$scratch/kernel check --kcsan
	totals 0 2 0 0 || return 1
	DEBUG_KERNEL=$scratch/kernel check --debug
	totals 0 1 0 0 || return 1
	check
	totals 0 1 0 0
}

full_fails_without_a_debug_kernel()
{
	suite a <<-'END'
		echo "1..1"; echo "ok 1 good"
	END
	DEBUG_KERNEL=false check --full
	totals 1 1 1 0
}

suites_are_summed_up_against_their_budgets()
{
	busy()
	{
		suite "$@" <<-'END'
			echo "1..1"; i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done; echo "ok 1 good"
		END
	}
	echo 'budget fast 60 -' >"$table"
	busy a
	busy c
	echo 'budget slow - 0.001' >>"$table"
	busy b extended
	check a
	! grep -q 'of CPU$' "$scratch/log" || return 1
	check
	grep -q '^fast  *[0-9.]* of *60 s of CPU$' "$scratch/log" && ! grep -q '^slow' "$scratch/log" || return 1
	check --all
	grep -q '^fast .* of CPU$' "$scratch/log" && grep -q '^slow, extended .*OVER ITS BUDGET$' "$scratch/log" && totals 0 3 0 0 &&
		python3 - "$scratch/out/check.json" <<-'END'
			import json, sys
			data = json.load(open(sys.argv[1]))
			cpu = {s["suite"]: s["cpu_seconds"] for s in data["suites"]}
			fast, slow = data["budgets"]
			assert (fast["sort"], fast["extended"], slow["sort"], slow["extended"]) == ("fast", False, "slow", True), data
			assert abs(fast["cpu_seconds"] - cpu["a"] - cpu["c"]) < 0.1 and fast["cpu_seconds"] > 0, data
		END
}

a_layer_runs_what_a_change_of_it_needs()
{
	for name in one two three; do
		suite $name <<-'END'
			echo "1..1"; echo "ok 1 good"
		END
	done
	sed -i 's/^three | check/three | extended/' "$table"
	echo 'layer core two three' >>"$table"
	check --layer core
	totals 0 2 0 0 && ! grep -q '^one' "$scratch/log" || return 1
	"$TOP/tools/testing/check.py" --layer core --kernel 7.3 --list >"$scratch/log" || return 1
	grep -q '^preempt' "$scratch/log" && ! grep -q '^policy' "$scratch/log" || return 1
	check --layer wake
	[ "$status" = 2 ] && grep -qx 'check: no layer named wake; there are: core' "$scratch/log" || return 1
	echo 'layer wake four' >>"$table"
	check --layer core
	[ "$status" = 2 ] && grep -q 'layer wake needs four, and there is no such suite' "$scratch/log"
}

# What all may take together fits into ten minutes of two CPUs, which are not always both busy.
the_budgets_of_a_check_fit()
{
	[ "$(awk '/^budget/ { sum += $3 } END { print sum }' "$TOP/tools/testing/suites")" -le 1200 ]
}

# Every row is one, and refers to what there is: scripts, selftests. Each folder of the kernel part is a layer.
the_table_is_whole()
{
	"$TOP/tools/testing/check.py" --list --all >"$scratch/log" || return 1
	for kernel in debug kcsan; do
		"$TOP/tools/testing/check.py" --list --$kernel >>"$scratch/log" || return 1
	done
	[ "$(wc -l <"$scratch/log")" -gt 80 ] || return 1
	grep -oE '\btools/testing/[A-Za-z0-9_./*-]+' "$scratch/log" | sort -u >"$scratch/paths"
	: >"$scratch/log"
	while read -r path; do
		# shellcheck disable=SC2086 # a pattern
		set -- "$TOP"/$path
		[ -e "$1" ] || { echo "there is no $path"; return 1; }
	done <"$scratch/paths"
	# A description is above each row.
	for folder in "$TOP"/kfd_gpreempt/*/; do
		grep -q "^layer $(basename "$folder") " "$TOP/tools/testing/suites" || { echo "no line \`layer $(basename "$folder")'"; return 1; }
	done
	awk '/^[a-z].* \| / && !/^budget/ && before !~ /^#/ { print "no description: " $1; bad = 1 } /^[^ \t]/ { before = $0 } END { exit bad }' \
		"$TOP/tools/testing/suites"
}

plan 33
says results_are_counted_and_written_down
says a_failing_test_fails_the_run_and_shows_its_output
says lines_for_the_reader_are_printed
says a_suite_that_dies_early_fails
says a_suite_without_a_plan_fails
says a_suite_that_exits_with_an_error_fails
says a_suite_that_hangs_fails
says suites_end_with_their_run
says suites_that_do_not_want_to_end_are_killed
says a_misnumbered_test_fails
says a_suite_may_skip_as_a_whole
says nothing_but_skips_is_no_success
says a_suite_may_have_longer_than_others
says named_suites_run_alone
says a_suite_brings_those_that_belong_to_it
says an_unknown_suite_is_refused_with_the_known_names
says suites_run_side_by_side
says a_suite_waits_for_those_it_names
says waiting_for_a_suite_that_is_not_there_is_refused
says what_is_no_row_is_refused
says lists_say_what_would_run
says another_kernel_is_for_what_needs_amdgpu
says a_debug_kernel_is_like_the_other_kernel
says suites_that_took_longest_begin_first
says extended_suites_run_by_name_or_with_all
says full_means_extended_suites_and_those_for_the_debug_kernel
says what_another_suite_runs_on_the_debug_kernel_runs_once
says suites_for_data_races_run_on_their_kernel_only
says full_fails_without_a_debug_kernel
says suites_are_summed_up_against_their_budgets
says a_layer_runs_what_a_change_of_it_needs
says the_budgets_of_a_check_fit
says the_table_is_whole
finish

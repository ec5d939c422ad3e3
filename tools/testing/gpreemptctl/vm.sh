#!/bin/bash
# SPDX-License-Identifier: MIT
#
# vm.sh [sanitized] - gpreemptctl against the driver in a VM, then what came out of it: JSON, metrics, screens, the demonstration. TAP
#
# Builds gpreemptctl into $BUILD/gpreemptctl, or with address and undefined-behaviour sanitizers into $BUILD/gpreemptctl-asan; what the
# guest gave is left in out below that.
. "$(dirname "$0")/lib.sh"

here=$TOP/tools/testing/gpreemptctl
built=$BUILD/gpreemptctl${1:+-asan}
variant=${1:-}
out=$built/out

# promtool is Debian's, see tools/testing/deps.sh.
promtool=$(command -v promtool || echo "$GPREEMPT_CACHE/unpacked/$("$TOP/dkms/release.sh" promtool)/usr/bin/promtool")

build()
{
	build_ctl "$built" "$variant"
	gcc -O2 -Wall -Wextra -static -o "$built/terminal" "$here/terminal.c" -lutil
}

# The guest's tests come first, under its numbers.
run_guest()
{
	local terminfo

	# ncurses looks in both folders, and its package has it in one of them.
	terminfo=$(find /lib/terminfo/l/linux /usr/share/terminfo/l/linux 2>/dev/null | head -n 1)

	rm -rf "$out"
	"${VM:-$TOP/tools/testing/vm/vm}" run --gpu fast --icount --timeout 600 --out "$out" --add "$built/gpreemptctl" \
		--add "$TOP/dkms/secure-boot.sh:opt/libexec/gpreempt/secure-boot" --add "$built/terminal" --add "$here/gpreemptctl_guest.sh:opt/gpreempt/gpreemptctl-guest" --add "$terminfo:$terminfo" -- \
		gpreemptctl-guest | tee "$scratch/guest" | grep --line-buffered -v '^1\.\.'
	[ "${PIPESTATUS[0]}" = 0 ] || { echo "Bail out! the guest did not end well"; exit 1; }
	count=$(sed -n 's/^1\.\.//p' "$scratch/guest")
	! grep -q '^not ok' "$scratch/guest" || failed=1
}

# json FILE EXPRESSION: each line of the file, or all of it, is an object d of schema version 1 of which the expression holds
json()
{
	python3 - "$out/$1" "$2" <<-'END'
		import json, sys
		text = open(sys.argv[1]).read()
		documents = text.splitlines() if text.startswith('{ "') or text.startswith('{"') else [text]
		assert documents
		for d in map(json.loads, documents):
		    assert d["schema_version"] == 1, d
		    assert eval(sys.argv[2]), (sys.argv[2], d)
	END
}

json_has_what_the_manual_says()
{
	json list.json 'len(d["queues"]) == 1 and {k: type(v) for k, v in d["queues"][0].items() if k not in ("waves", "left_us")} == dict(pid=int,
		command=str, gpu_id=int, queue_id=int, context=int, ring_base=int, state=str, verdict=str, verdict_us=int, logical_priority=int, effective_priority=int, source=str,
		kfd_priority=int, pending=int, preempt_count=int, preempted_us=int, weight=int, deadline_us=int, held=bool, blocked=bool,
		exempt=bool, unscheduled=bool, evicted=bool, debugged=bool, suspended=bool, waits=bool, lent=bool, follow_stop=str, bdf=str, device_name=str, uid=int, ring_bytes=int,
		maybe_rocr=bool, busy_ns=int, waiting_ns=int, wave_us=int) and d["queues"][0]["command"] == "training" and d["queues"][0]["kfd_priority"] == 7'
	json status.json '(d["abi_version"] == 11 and len(d["nodes"]) == 1 and d["nodes"][0]["backend"] == "hws" and d["nodes"][0]["queues"] == 1 and
		d["nodes"][0]["active_queues"] == 1 and d["nodes"][0]["slots"] > 1 and d["nodes"][0]["bdf"].endswith(":00.0"))'
	json doctor.json '(all(c["ok"] is True and c["check"] and c["found"] and "remedy" not in c for c in d["checks"]) and len(d["checks"]) > 5 and
		{c["check"]: c["found"] for c in d["checks"]}["the kernel takes modules that DKMS signs"] == "modules need no signature")'
	json tune.json 'd["tunables"]["interval_ms"] == "5" and d["tunables"]["policy"] == "hpf"'
	json policy.json 'len(d["nodes"]) == 1 and d["nodes"][0]["policy"] == "hpf" and d["nodes"][0]["gpu_id"] > 0'
	json resume.json 'd["resumed"] == 0'
	json report.json '(lambda n: n["observes"] and n["observed_ns"] > 0 and n["would_be_preemptions"] > 0 and n["would_be_passes"] > 0 and n["requests"] > 0 and n["would_help"] in ("yes", "perhaps") and n["cost_estimate"]["source"] in ("firmware", "host", "assumed") and any(q["would_be_preemptions"] for q in n["queues_now"]))(d["nodes"][0])'
	json stats.json 'd["nodes"][0]["preemptions"] > 0 and d["nodes"][0]["latency"]["save_count"] > 0 and d["nodes"][0]["failed_unmap_timeout"] == 0'
	json events.json 'd["event"] in ("inversion", "preempted", "resumed", "priority") and d["time_ns"] > 0 and d["missed"] >= 0'
	is "events" "$(wc -l <"$out/events.json")" 40
}

metrics_are_what_prometheus_expects()
{
	local name

	[ -x "$promtool" ] || skip "promtool is not there: tools/testing/deps.sh"
	"$promtool" check metrics <"$out/stats.prom"
	for name in preemptions_total resumes_total failures_total skipped_total save_seconds_count node_info queues device_info active_queues slots workload_queues workload_processes; do
		grep -qE "^gpreempt_$name\{gpu_id=\"[0-9]+\"" "$out/stats.prom" || { echo "no gpreempt_$name"; return 1; }
	done
	grep -qE '^gpreempt_device_info\{.*,bdf="[0-9a-f]{4}(:[0-9a-f]{2}){2}\.0",gpu_partition_id="0",' "$out/stats.prom" ||
		{ echo "no PCI address:"; grep device_info "$out/stats.prom"; return 1; }
}

metrics_name_a_job_and_its_container()
{
	[ -x "$promtool" ] || skip "promtool is not there: tools/testing/deps.sh"
	"$promtool" check metrics <"$out/jobs.prom"
	is "series of queues" "$(grep -c '^gpreempt_workload_queues{' "$out/jobs.prom")" 6
	grep '^gpreempt_workload_queues{.*,device_name="Instinct of a table",gpreempt_job="77",uid="0",container_engine="docker",container_id="4f2a' "$out/jobs.prom" >"$scratch/job"
	is "states" "$(sed 's/.*state="//; s/"} / /' "$scratch/job" | awk '{ n += $2 } END { print NR, n }')" "3 1"
}

top_adds_up_by_job()
{
	screen "$out/top.jobs" 12 200 >"$scratch/top"
	cat "$scratch/top"
	sed -n 1p "$scratch/top" | grep -qE '^ *JOB USER +PLACE +GPU PCI +SLOTS PROCS QUEUES ACTIVE +OFF +PRIO +PENDING PREEMPTED +OFF_MS +BUSY% +WAIT% DEVICE$'
	is "lines" "$(grep -c '[0-9]/[0-9]' "$scratch/top")" 2
	grep -qE '^ *77 .* docker:4f2a01234567 +.* 2/[0-9]+ +1 +1 .* Instinct of a table$' "$scratch/top"
}

# That the check can fail.
metrics_that_are_wrong_are_refused()
{
	[ -x "$promtool" ] || skip "promtool is not there: tools/testing/deps.sh"
	sed 's/^# TYPE gpreempt_queues gauge/# TYPE gpreempt_queues gage/' "$out/stats.prom" >"$scratch/wrong"
	not "$promtool" check metrics <"$scratch/wrong"
}

why_is_a_sentence()
{
	local first second gpu

	read -r first second gpu <"$out/top.pids"
	cat "$out/why"
	is "sentences" "$(wc -l <"$out/why")" 1
	grep -qE "^pid $first \(training\) gpu $gpu queue 0: yields to pid $second queue 0 \(priority 7(, [0-9]+ packets? waiting)?\) since [0-9.]+ (us|ms); may be held [0-9]+ ms more$" "$out/why"
	json why.json "(len(d['queues']) == 1 and d['queues'][0]['verdict'] == 'yields' and d['queues'][0]['yields_to']['pid'] == $second and
		d['queues'][0]['yields_to']['priority'] == 7 and d['queues'][0]['left_us'] <= 1000000 and 'yields to' in d['queues'][0]['why'])"
}

# The last row is the shell's once the program has ended.
top_is_a_table_sorted_by_priority()
{
	local first second gpu

	read -r first second gpu <"$out/top.pids"
	screen "$out"/top.priority 12 120 >"$built/top.txt"
	cat "$built/top.txt"
	sed -n 1p "$built/top.txt" | grep -qE "^gpu $gpu  (polling|idle)  hws/hpf  used [0-9]+%  queues 2  off 1  preemptions [1-9][0-9]*  failures 0  slots 1/[0-9]+( |$)"
	sed -n 2p "$built/top.txt" | grep -qE '^ +PID COMMAND +GPU QUEUE +PRIO STATE +BUSY% WAIT% +PENDING +WAVES PREEMPTED +OFF_MS VERDICT$'
	sed -n 3p "$built/top.txt" | grep -qE "^ *$second training +$gpu +0 +7 active +[0-9]+ +[0-9]+ +[1-9][0-9]* "
	sed -n 4p "$built/top.txt" | grep -qE "^ *$first training +$gpu +0 +-100 preempted +[0-9]+ +[0-9]+ +[1-9][0-9]* +[0-9-]+ +[1-9][0-9]* +[1-9][0-9]* yields$"
	# Both have work all the time, and one of them the device.
	awk 'NR == 3 { busy = $7 } NR == 4 { waits = $8 } END { exit !(busy >= 50 && waits >= 50) }' "$built/top.txt"
}

top_sorts_by_time_off_on_request()
{
	local first second gpu

	read -r first second gpu <"$out/top.pids"
	screen "$out"/top.time_off 12 100 >"$scratch/top"
	cat "$scratch/top"
	sed -n 3p "$scratch/top" | grep -qE "^ *$first training "
	sed -n 4p "$scratch/top" | grep -qE "^ *$second training "
}

top_cuts_what_does_not_fit()
{
	screen "$out"/top.narrow 12 40 >"$scratch/top"
	cat "$scratch/top"
	is "rows" "$(grep -c . "$scratch/top")" 4
	screen "$out"/top.low 2 100 >"$scratch/top"
	cat "$scratch/top"
	is "rows" "$(grep -c . "$scratch/top")" 2
}

# number VARIANT PHASE PROGRAM NAME: from what demo-phases said
number()
{
	sed -n "s/^$2 $3 .*\<$4=\([0-9]*\).*/\1/p" "$out/demo.$1"
}

classes_give_what_nice_gives()
{
	local by alone off on

	for by in nice class; do
		alone=$(number $by alone inference p99_us) off=$(number $by off inference p99_us) on=$(number $by on inference p99_us)
		echo "$by: p99 of inference in us: alone $alone, off $off, on $on; preemptions $(number $by on scheduler preemptions)"
		[ $((on * 3)) -le "$off" ]
		[ $((on * 2)) -le $((alone * 3)) ]
		[ "$(number $by on scheduler preemptions)" -ge 4 ]
		is "items lost or done twice by $by" "$(grep -cE 'lost=[1-9]|twice=[1-9]' "$out/demo.$by")" 0
		is "results by $by" "$(grep -c 'lost=0 twice=0' "$out/demo.$by")" 5
	done
	# The same within a tenth: by what a priority is set makes no difference to what it does.
	[ $(($(number class on inference p50_us) * 10)) -le $(($(number nice on inference p50_us) * 11)) ]
	[ $(($(number nice on inference p50_us) * 10)) -le $(($(number class on inference p50_us) * 11)) ]
}

echo "TAP version 13"
build >"$scratch/build" 2>&1 || { sed 's/^/# /' "$scratch/build"; echo "Bail out! gpreemptctl does not build"; exit 1; }
run_guest
tap json_has_what_the_manual_says json_has_what_the_manual_says
tap metrics_are_what_prometheus_expects metrics_are_what_prometheus_expects
tap metrics_name_a_job_and_its_container metrics_name_a_job_and_its_container
tap metrics_that_are_wrong_are_refused metrics_that_are_wrong_are_refused
tap why_is_a_sentence why_is_a_sentence
tap top_is_a_table_sorted_by_priority top_is_a_table_sorted_by_priority
tap top_adds_up_by_job top_adds_up_by_job
tap top_sorts_by_time_off_on_request top_sorts_by_time_off_on_request
tap top_cuts_what_does_not_fit top_cuts_what_does_not_fit
tap classes_give_what_nice_gives classes_give_what_nice_gives
echo "1..$count"
finish

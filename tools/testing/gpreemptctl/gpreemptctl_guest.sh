#!/bin/sh
# SPDX-License-Identifier: MIT
#
# gpreemptctl_guest.sh - gpreemptctl against the driver: every command, what it prints, what it changes, its exit status (runs in the guest; TAP)
#
# Expects a GPU, and that nobody uses it. What a host can judge better goes to /out: JSON, metrics, screens.

n=0
work=$(mktemp -d)
err=$work/err
conf=$work/conf
sysfs=/sys/class/kfd/kfd/gpreempt
parameters=/sys/module/amdgpu/parameters

check()		# function: its output is shown when it fails
{
	n=$((n + 1))
	if "$1" >"$work/log" 2>&1; then
		echo "ok $n $1"
	else
		sed 's/^/# /' "$work/log"
		[ ! -s "$err" ] || sed 's/^/# stderr: /' "$err"
		echo "not ok $n $1"
	fi
}

ctl()		# stderr in $err, for says()
{
	gpreemptctl "$@" 2>"$err"
}

status()	# wanted, arguments: the exit status is that
{
	wanted=$1
	shift
	ctl "$@"
	got=$?
	[ "$got" = "$wanted" ] || { echo "gpreemptctl $*: exit status $got, not $wanted"; return 1; }
}

says()
{
	grep -qF -- "$1" "$err" || { echo "stderr does not say: $1"; return 1; }
}

wait_until()	# command: becomes true within 10 s of guest time
{
	for _ in $(seq 500); do
		"$@" >/dev/null && return 0
		usleep 20000
	done
	echo "never true: $*"
	gpreemptctl list
	return 1
}

queue_is()	# pid, pattern of "priority source state flags..."
{
	gpreemptctl list -p "$1" | awk 'NR > 1 { $1 = $2 = $3 = $4 = ""; print }' | grep -qE "^ *$2"
}

gone()
{
	! kill -0 "$1" 2>/dev/null
}

begin()		# command: a training in the background, itself or grandchild of that; its pid in $pid
{
	rm -f "$work/training"
	"$@" >"$work/training" &
	wait_until grep -qs ^ready "$work/training" || return 1
	pid=$(sed -n 's/^ready \([0-9]*\) .*/\1/p' "$work/training")
}

finish()	# pid: it ends, and every item was done once
{
	kill -TERM "$1"
	wait_until gone "$1" && wait_until grep -q ' lost=0 twice=0 ' "$work/training"
}

gpu=$(ls $sysfs)

# ---------------------------------------------------------------------------------------------------- nothing runs yet

doctor_says_what_is_missing_and_how_to_get_it()
{
	status 1 doctor >"$work/doctor" && grep -q '^BAD  scheduling is switched on: no' "$work/doctor" &&
		grep -q -- '-> gpreemptctl tune enable=1' "$work/doctor" && status 0 tune enable=1 &&
		status 0 doctor >"$work/doctor" && ! grep BAD "$work/doctor" && gpreemptctl doctor --json >/out/doctor.json
}

status_shows_the_node()
{
	status 0 status >"$work/status" && grep -qE "^ *$gpu +parked +hws +hpf +0 +0 " "$work/status"
}

tune_shows_what_the_driver_has()
{
	status 0 tune >"$work/tune" || return 1
	for file in "$parameters"/gpreempt_*; do
		grep -qx "${file##*/gpreempt_}=$(cat "$file")" "$work/tune" || { echo "$file"; return 1; }
	done
	[ "$(wc -l <"$work/tune")" = "$(ls -d $parameters/gpreempt_* | wc -l)" ] && gpreemptctl tune --json >/out/tune.json &&
		[ "$(gpreemptctl tune gpreempt_poll_us)" = poll_us=80 ]
}

tune_changes_and_tells_what_is_refused_and_kept()
{
	status 0 tune poll_us=300 interval_ms=6 && [ "$(cat $parameters/gpreempt_poll_us)" = 300 ] &&
		status 1 tune poll_us=5 && says 'poll_us=5 is not 0 or a number from 50 to 1000000; kept 300' &&
		status 1 tune poll_us=x && says 'kept 300' && status 1 tune poll_us= && says 'kept 300' &&
		status 1 tune policy=best && says 'policy=best is not one of hpf wfq edf; kept hpf' &&
		status 2 tune nonsense=1 && says 'there is no tunable nonsense' &&
		status 2 tune nonsense && status 2 tune ../../../x=1 && status 0 tune poll_us=80 interval_ms=5
}

tune_changes_one_node()
{
	[ "$(gpreemptctl tune -g "$gpu" policy)" = policy=hpf ] && status 0 tune -g "$gpu" policy=edf && [ "$(gpreemptctl policy)" = "$gpu edf" ] &&
		[ "$(gpreemptctl tune policy)" = policy=hpf ] && status 0 tune policy=hpf && [ "$(gpreemptctl policy)" = "$gpu hpf" ] &&
		status 1 tune -g 1 poll_us && says 'no such GPU' && status 2 tune -g "$gpu" nonsense=1 && says 'there is no tunable nonsense' &&
		status 0 tune -g "$gpu" poll_us=400 && [ "$(gpreemptctl tune -g "$gpu" poll_us)" = poll_us=400 ] &&
		[ "$(gpreemptctl tune poll_us)" = poll_us=80 ] && status 1 tune -g "$gpu" poll_us=5 && says 'kept 400' &&
		status 0 tune poll_us=80 && [ "$(gpreemptctl tune -g "$gpu" poll_us)" = poll_us=80 ] &&
		[ "$(gpreemptctl tune | grep -vc '^mes=')" = "$(gpreemptctl tune -g "$gpu" | wc -l)" ] && status 0 tune -g "$gpu" enable=0 &&
		gpreemptctl status | grep -qE "^ *$gpu +off " && status 1 doctor >"$work/doctor" && grep -q -- '-> gpreemptctl tune enable=1, or with -g' "$work/doctor" &&
		status 0 tune -g "$gpu" enable=1 && status 0 doctor >"$work/doctor"
}

# What messages say about bounds is what the driver does.
takes()		# name, value
{
	gpreemptctl tune "$1=$2" >/dev/null 2>&1
}

bounds_are_the_drivers()
{
	for file in "$parameters"/gpreempt_*; do
		name=${file##*/gpreempt_}
		was=$(cat "$file")
		gpreemptctl tune "$name=4294967295" 2>"$err" && return 1
		if grep -q 'one of' "$err"; then
			for value in $(sed 's/.* one of \(.*\); kept.*/\1/' "$err"); do
				takes "$name" "$value" || { echo "$name=$value"; return 1; }
			done
		else
			min=$(sed 's/.* from \([0-9]*\) to .*/\1/' "$err") max=$(sed 's/.* to \([0-9]*\); kept.*/\1/' "$err")
			takes "$name" "$min" && takes "$name" "$max" && ! takes "$name" $((max + 1)) || { cat "$err"; return 1; }
			[ "$min" = 1 ] || ! takes "$name" $((min - 1)) || { cat "$err"; return 1; }
			if grep -q '0 or' "$err"; then takes "$name" 0; else ! takes "$name" 0; fi || { cat "$err"; return 1; }
		fi
		gpreemptctl tune "$name=$was"
	done
	[ "$name" = wakeup ]
}

policy_is_shown_and_chosen()
{
	[ "$(gpreemptctl policy)" = "$gpu hpf" ] && status 0 policy wfq && [ "$(cat $sysfs/$gpu/policy)" = wfq ] &&
		status 1 policy best && says "gpu $gpu: there is no policy best (hpf wfq edf); kept wfq" &&
		status 0 policy -g "$gpu" hpf && [ "$(gpreemptctl policy)" = "$gpu hpf" ] &&
		status 1 policy -g 1 hpf && says 'no such GPU' && gpreemptctl policy --json >/out/policy.json
}

a_process_that_is_not_there_is_told()
{
	status 1 set -p 99999 5 && says 'no such process' &&
		status 1 preempt -p 99999 && says 'no such process' && status 1 preempt -p $$ && says 'no such queue' &&
		status 1 resume -p $$ && says 'no such queue' && [ "$(gpreemptctl list -p 99999 | wc -l)" = 1 ]
}

nothing_to_show_is_no_error()
{
	[ "$(gpreemptctl list | wc -l)" = 1 ] && gpreemptctl list --json | tr -d ' \n' | grep -qF '"queues":[]' && terminal 12 100 q gpreemptctl top >/dev/null &&
		printf '[classes]\nuser root = 3\n' >"$conf" && status 0 apply "$conf" && gpreemptctl stats >/dev/null
}

# --------------------------------------------------------------------------------------------------- one program works

list_shows_the_queue()
{
	wait_until queue_is "$pid" '7 kfd' && [ "$(gpreemptctl list | wc -l)" = 2 ] &&
		gpreemptctl list | grep -qE "^ *$pid training +$gpu " && gpreemptctl list --json >/out/list.json &&
		gpreemptctl status --json >/out/status.json && gpreemptctl status | grep -qE "^ *$gpu .* hpf +1 +0 "
}

debugfs_names_its_columns()
{
	awk -v gpu="$gpu" -v pid="$pid" 'NR == 1 { n = NF; ok = $1 == "gpu_id" && $NF == "job" }
		NR == 2 { ok = ok && NF == n && $1 == gpu && $2 == pid } END { exit !(ok && NR == 2) }' /sys/kernel/debug/kfd/gpreempt
}

slots_are()	# pattern of queues that want one: of all there are, for the driver
{
	gpreemptctl status | grep -qE " $1/$slots +$bdf "
}

device_is()	# name
{
	gpreemptctl status | grep -qF " $bdf $1"
}

in_container()	# finds its training: outside its pid is another one
{
	contained=$(gpreemptctl list | awk -v other="$pid" '$2 == "training" && $1 != other { print $1 }')
	[ -n "$contained" ]
}

# As an engine makes it: a cgroup and a pid namespace, in which the program is the second process. Two queues of equal rank have both their slots.
a_queue_is_known_by_container_job_and_device()
{
	container=4f2a0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab
	cgroup=/sys/fs/cgroup/system.slice/docker-$container.scope
	slots=$(cat /sys/class/kfd/kfd/topology/nodes/*/properties | awk '$1 == "num_cp_queues" && $2 { print $2 }')
	bdf=$(cd /sys/bus/pci/drivers/amdgpu && echo *:*)
	mkdir -p "$cgroup" /usr/share/libdrm && wait_until slots_are 1 && device_is gfx &&
		echo "$(sed s/0x// "/sys/bus/pci/devices/$bdf/device"),	$(sed s/0x// "/sys/bus/pci/devices/$bdf/revision"),	Instinct of a table" \
			>/usr/share/libdrm/amdgpu.ids && device_is "Instinct of a table" || return 1
	unshare -p -f sh -c "echo 0 >$cgroup/cgroup.procs; training 8 >/dev/null; true" &
	engine=$!
	wait_until in_container && status 0 job set -p "$contained" 77 && wait_until slots_are 2 && gpreemptctl list -p "$contained" >"$work/list" &&
		grep -qE "^ *$contained training .* 2 +[0-9]+[KM](:rocr\?)? +77 docker:4f2a01234567\$" "$work/list" &&
		gpreemptctl list -p "$contained" --json | tr -d ' \n' >"$work/json" && grep -q '"container_id":"'$container'"' "$work/json" && grep -q '"nspid":2,' "$work/json" &&
		grep -q '"ring_bytes":'"$(cat "/sys/class/kfd/kfd/proc/$contained/queues/0/size")"',' "$work/json" && gpreemptctl list --by job >"$work/jobs" &&
		grep -qE "^ *77 +(root|0) +docker:4f2a01234567 +$gpu +$bdf +2/$slots +1 +1 .* Instinct of a table\$" "$work/jobs" &&
		grep -qE "^ *- +(root|0) +- +$gpu +$bdf +2/$slots +1 +1 " "$work/jobs" && [ "$(wc -l <"$work/jobs")" = 3 ] &&
		gpreemptctl preempt -p "$contained" -- gpreemptctl list --by job >"$work/jobs" 2>"$err" && grep -qE "^ *77 .* 1/$slots +1 +1 +0 +1 " "$work/jobs" &&
		gpreemptctl stats --prometheus >/out/jobs.prom && terminal 12 200 '' gpreemptctl top --by job -n 1 >/out/top.jobs
	result=$?
	cat "$work/list" "$work/jobs" "$work/json"
	kill -TERM "$contained"
	wait $engine
	rm /usr/share/libdrm/amdgpu.ids
	wait_until rmdir "$cgroup" && rmdir "${cgroup%/*}" && return $result
}

set_changes_a_process_and_clear_forgets()
{
	status 0 set -p "$pid" batch && wait_until queue_is "$pid" '-100 process' && status 0 set -p "$pid" -5 &&
		wait_until queue_is "$pid" '-5 process' && status 0 set -p "$pid" clear && wait_until queue_is "$pid" '7 kfd'
}

doctor_sees_programs_and_slots()
{
	slots=$(cat /sys/class/kfd/kfd/topology/nodes/*/properties | awk '$1 == "num_cp_queues" && $2 { print $2 }')
	status 0 doctor >"$work/doctor" && grep -qx "ok   GPU_MAX_HW_QUEUES of programs: $pid (training) unset" "$work/doctor" &&
		grep -q "^ok   it is the one with kfd_gpreempt: the kernel's driver with kfd_gpreempt [0-9]" "$work/doctor" &&
		grep -qx "ok   gpu $gpu has a slot for each queue: 1 compute queue of 1 program, $slots slots (num_kcq=[0-9])" "$work/doctor" &&
		! grep -q 'debugger\|traced\|keep_idle' "$work/doctor" && return
	cat "$work/doctor"
	return 1
}

set_changes_a_queue()
{
	queue=$(gpreemptctl list -p "$pid" | awk 'NR == 2 { print $4 }')
	status 0 set -p "$pid" -g "$gpu" -q "$queue" 50 && wait_until queue_is "$pid" '50 queue' &&
		status 0 set -p "$pid" -g "$gpu" -q "$queue" clear && wait_until queue_is "$pid" '7 kfd' &&
		status 1 set -p "$pid" -g "$gpu" -q 999 5 && says 'no such queue'
}

set_changes_a_cgroup()
{
	mkdir -p /sys/fs/cgroup/some/where && echo "$pid" >/sys/fs/cgroup/some/where/cgroup.procs || return 1
	status 0 set --cgroup some 20 && wait_until queue_is "$pid" '20 cgroup' && [ "$(gpreemptctl list --cgroup some | wc -l)" = 2 ] &&
		status 0 set --cgroup /sys/fs/cgroup/some/where 30 && wait_until queue_is "$pid" '30 cgroup' &&
		status 0 set --cgroup some/where clear && wait_until queue_is "$pid" '20 cgroup' &&
		status 0 set --cgroup some clear && wait_until queue_is "$pid" '7 kfd' &&
		status 1 set --cgroup nowhere 5 && says 'nowhere: No such file' && status 1 set --cgroup /tmp 5 && says 'not a directory of the cgroup v2'
	result=$?
	echo "$pid" >/sys/fs/cgroup/cgroup.procs
	rmdir /sys/fs/cgroup/some/where /sys/fs/cgroup/some
	return $result
}

has_params()	# pid, weight, deadline
{
	gpreemptctl list -p "$1" --json | tr -d ' ,\n' | grep -q "\"weight\":$2\"deadline_us\":$3"
}

set_changes_parameters_of_policies()
{
	status 0 set -p "$pid" weight=300 deadline_us=5000 exempt=1 && wait_until has_params "$pid" 300 5000 &&
		wait_until queue_is "$pid" '7 kfd active *X' && status 0 set -p "$pid" weight=0 deadline_us=0 exempt=0 &&
		wait_until has_params "$pid" '[0-9]*' 0 && status 1 set -p "$pid" weight=10001 && says 'weight=10001: out of bounds'
}

# used KIND ID NUMBER: what the account says of it, by the number of a column
used()
{
	gpreemptctl account "$1" --csv | awk -F, -v id="$2" -v column="$3" 'NR > 1 && $4 == id { print $column }'
}

busy()		# pid: for how long, in ns
{
	used process "$1" 13
}

# The process works all the time, so it has been busy for most of what passes.
account_says_what_is_used()
{
	status 0 account --json >"$work/before" && sleep 1 && status 0 account --json --since "$work/before" >"$work/since" || return 1
	cat "$work/since"
	tr -d ' \n' <"$work/since" | tr '{}' '\n\n' >"$work/entries"
	interval=$(sed -n 's/.*"interval_ns":\([0-9]*\).*/\1/p' "$work/entries")
	ns=$(sed -n "s/.*\"kind\":\"process\".*\"pid\":$pid,.*\"busy_ns\":\([0-9]*\).*/\1/p" "$work/entries")
	[ "$interval" -ge 1000000000 ] && [ "$ns" -gt $((interval / 2)) ] && [ "$ns" -le $((interval * 11 / 10)) ] || return 1
	grep '"kind":"node"' "$work/entries" | grep -q '"used_ns":[1-9]' && grep '"kind":"cgroup"' "$work/entries" | grep -q '"cgroup_path":' &&
		gpreemptctl list -p "$pid" --json | tr -d ' \n' | grep -q '"busy_ns":[1-9]'
}

kfd_file()	# pid: the number of its /dev/kfd
{
	for fd in /proc/"$1"/fd/*; do
		[ "$(readlink "$fd")" != /dev/kfd ] || echo "${fd##*/}"
	done | head -n 1
}

fdinfo_is_in_drms_form()
{
	file=/proc/$pid/fdinfo/$(kfd_file "$pid")
	before=$(busy "$pid")
	cp "$file" "$work/fdinfo"
	after=$(busy "$pid")
	cat "$work/fdinfo"
	value=$(sed -n 's/^drm-engine-compute:\t\([0-9]*\) ns$/\1/p' "$work/fdinfo")
	[ "$before" -le "$value" ] && [ "$value" -le "$after" ] && grep -qx "drm-client-id:	$((2147483648 + pid))" "$work/fdinfo" &&
		grep -qx "drm-driver:	amdgpu" "$work/fdinfo" && grep -qx "gpreempt-pdev-$gpu:	$(sed -n 's/^drm-pdev:\t//p' "$work/fdinfo")" "$work/fdinfo" &&
		[ -e "/sys/bus/pci/devices/$(sed -n 's/^drm-pdev:\t//p' "$work/fdinfo")" ] && [ -z "$(cut -d : -f 1 "$work/fdinfo" | sort | uniq -d)" ]
}

fdinfo_is_not_for_others()
{
	fd=$(kfd_file "$pid")
	su nobody -s /bin/sh -c "cat /proc/$pid/fdinfo/$fd" >"$work/fdinfo" 2>"$err"
	[ $? != 0 ] && says 'Permission denied' && [ ! -s "$work/fdinfo" ]
}

account_keeps_what_has_ended()
{
	[ -z "$(busy "$pid")" ] && ns=$(used node "$gpu" 13) && echo "$ns of the node, $last of the process" && [ "$ns" -ge "$last" ] &&
		[ "$(gpreemptctl account cgroup --csv | awk -F, 'NR > 1 { sum += $13 } END { printf "%.0f", sum }')" = "$ns" ]
}

account_is_for_the_administrator()
{
	chmod 666 /dev/kfd_gpreempt
	su nobody -s /bin/sh -c 'gpreemptctl account --csv' >"$work/account" 2>"$err"
	result=$?
	chmod 660 /dev/kfd_gpreempt
	cat "$work/account"
	[ $result = 0 ] && [ "$(wc -l <"$work/account")" = 1 ]
}

rights_are_the_drivers()
{
	su nobody -s /bin/sh -c 'gpreemptctl list' 2>"$err"
	[ $? = 4 ] && says 'root alone may open both' || return 1
	chmod 666 /dev/kfd_gpreempt
	[ "$(su nobody -s /bin/sh -c 'gpreemptctl list' | wc -l)" = 1 ] &&
		{ su nobody -s /bin/sh -c "gpreemptctl set -p $pid 5" 2>"$err"; [ $? = 4 ]; } && says "another user's" &&
		{ su nobody -s /bin/sh -c 'gpreemptctl set -p $$ 8' 2>"$err"; [ $? = 4 ]; } && says 'CAP_SYS_NICE' &&
		su nobody -s /bin/sh -c 'gpreemptctl set -p $$ 3' &&
		{ su nobody -s /bin/sh -c 'gpreemptctl tune poll_us=300' 2>"$err"; [ $? = 4 ]; } && says 'poll_us=300: Permission denied; kept 80' &&
		{ su nobody -s /bin/sh -c 'gpreemptctl policy wfq' 2>"$err"; [ $? = 4 ]; } &&
		{ su nobody -s /bin/sh -c 'gpreemptctl stats' 2>"$err"; [ $? = 4 ]; } && says 'root with CAP_SYS_ADMIN' &&
		su nobody -s /bin/sh -c 'gpreemptctl run --class batch -- true' 2>"$err" &&
		{ su nobody -s /bin/sh -c 'gpreemptctl run --class latency -- true' 2>"$err"; [ $? = 4 ]; } && says 'run: priority 100: not allowed'
	result=$?
	chmod 660 /dev/kfd_gpreempt
	return $result
}

preempt_holds_while_a_program_runs()
{
	ctl preempt -p "$pid" -- gpreemptctl list -p "$pid" >"$work/list" && grep -q 'preempted *H' "$work/list" &&
		wait_until queue_is "$pid" '7 kfd active ' && status 7 preempt -p "$pid" -- sh -c 'exit 7' &&
		status 127 preempt -p "$pid" -- /no/such/program && says '/no/such/program: No such file' &&
		status 126 preempt -p "$pid" -- /tmp && status 143 preempt -p "$pid" -- sh -c 'kill $$'
}

preempt_holds_for_a_time()
{
	status 0 preempt -p "$pid" --for 0.01 && says '1 queue off the device' && wait_until queue_is "$pid" '7 kfd active '
}

preempt_ends_with_a_signal()
{
	gpreemptctl preempt -p "$pid" --unbounded 2>"$err" &
	holder=$!
	# It is told when it has been done.
	wait_until queue_is "$pid" '7 kfd preempted *H' && wait_until says 'ctrl-C gives them back' && kill -TERM $holder &&
		wait $holder && wait_until queue_is "$pid" '7 kfd active '
}

resume_ends_the_holds_of_others()
{
	gpreemptctl preempt -p "$pid" --unbounded 2>"$err" &
	holder=$!
	wait_until queue_is "$pid" '7 kfd preempted *H' && [ "$(gpreemptctl resume -p "$pid")" = '1 queue given back' ] &&
		wait_until queue_is "$pid" '7 kfd active ' && [ "$(gpreemptctl resume -p "$pid")" = '0 queues given back' ] &&
		gpreemptctl resume -p "$pid" --json >/out/resume.json
	result=$?
	kill -TERM $holder
	wait $holder
	return $result
}

hint_is_given_and_counted()
{
	hints=$(cat "/sys/class/kfd/kfd/gpreempt/$gpu/hints")
	status 0 hint -p "$pid" && status 0 hint -p "$pid" --for 0.01 &&
		[ "$(cat "/sys/class/kfd/kfd/gpreempt/$gpu/hints")" = $((hints + 2)) ] && status 1 hint -p $$ && says 'no such queue'
}

events_tells_what_happens()
{
	gpreemptctl events -n 40 >"$work/events" 2>"$err" &
	text=$!
	gpreemptctl events -n 40 --json >/out/events.json &
	json=$!
	for i in $(seq 500); do
		gone $text && gone $json && break
		gpreemptctl set -p "$pid" $((i % 2 + 1))
		gpreemptctl preempt -p "$pid" -- true
	done
	wait $text && wait $json && gpreemptctl set -p "$pid" clear && [ "$(wc -l <"$work/events")" = 40 ] &&
		grep -qE "^[0-9]+\.[0-9]{6} preempted  gpu $gpu pid $pid queue [0-9]+ priority [12] in [0-9]+\.[0-9]{3} us$" "$work/events" &&
		grep -qE "resumed +gpu $gpu pid $pid queue [0-9]+ priority [12] after [0-9]+\.[0-9]{3} ms$" "$work/events" &&
		grep -qE "priority +gpu $gpu pid $pid queue [0-9]+ priority [12] was [127]$" "$work/events"
}

events_ends_when_nobody_reads()
{
	gpreemptctl events | true &
	for i in $(seq 500); do
		gone $! && break
		gpreemptctl set -p "$pid" $((i % 2 + 1))
	done
	gpreemptctl set -p "$pid" clear
	gone $!
}

stats_are_the_nodes_files()
{
	ctl stats >"$work/stats" && grep -qx "$gpu backend hws" "$work/stats" && grep -qE "^$gpu latency/save_count [1-9]" "$work/stats" &&
		grep -qE "^$gpu preemptions [1-9]" "$work/stats" && gpreemptctl stats --json >/out/stats.json &&
		gpreemptctl stats --prometheus >/out/stats.prom &&
		[ "$(wc -l <"$work/stats")" = "$(find "$sysfs/$gpu" "$sysfs/$gpu/latency" "$sysfs/$gpu/firmware" -maxdepth 1 -type f -perm -400 | wc -l)" ]
}

report_says_what_would_have_been_done()
{
	status 0 report >"$work/report" && grep -q "^gpu $gpu: observed for " "$work/report" && status 1 report -g 1 && says 'no such GPU' &&
		status 0 tune observe=1 && gpreemptctl doctor | grep -q '^note .*only observes' &&
		status 1 preempt -p "$pid" -- true && says 'only observes' && status 0 set -p "$pid" batch && inference 5 >/dev/null &&
		gpreemptctl report -g "$gpu" >"$work/report" && gpreemptctl report --json -g "$gpu" >/out/report.json &&
		grep -qE "would have been preempted [1-9][0-9]* times" "$work/report" && grep -q 'what would it cost? (an estimate)' "$work/report" &&
		grep -qE '^  in a word: (yes|perhaps)$' "$work/report" && status 0 set -p "$pid" clear && status 0 tune observe=0 && return
	cat "$work/report" "$err"
	gpreemptctl tune observe=0
	gpreemptctl set -p "$pid" clear
	return 1
}

output_that_is_lost_is_an_error()
{
	gpreemptctl stats --prometheus >/dev/full 2>"$err"
	[ $? = 1 ] && says 'output: No space left'
}

top_shows_queues()
{
	training 8 >/dev/null &
	second=$!
	gpreemptctl set -p "$pid" batch
	wait_until queue_is "$pid" '-100 process preempted' && wait_until queue_is $second '7 kfd active' &&
		terminal 12 120 p gpreemptctl top -i 0.5 -n 3 >/out/top.priority && terminal 12 100 t gpreemptctl top -n 2 >/out/top.time_off &&
		terminal 12 40 '' gpreemptctl top -n 1 >/out/top.narrow && terminal 2 100 '' gpreemptctl top -n 1 >/out/top.low &&
		terminal 12 100 q gpreemptctl top >/dev/null && gpreemptctl why -p "$pid" >/out/why &&
		gpreemptctl why -p "$pid" --json >/out/why.json && echo "$pid $second $gpu" >/out/top.pids
	result=$?
	kill -TERM $second
	wait $second && gpreemptctl set -p "$pid" clear && return $result
}

top_needs_a_terminal()
{
	status 2 top && says 'top needs a terminal' && TERM=none terminal 12 100 '' gpreemptctl top >"$work/top" 2>&1
	[ $? = 2 ] && grep -q 'TERM' "$work/top"
}

# -------------------------------------------------------------------------------------------------- whole programs: run

run_includes_grandchildren()
{
	begin gpreemptctl run --class batch -- sh -c 'sh -c "training 4; true"; true' && queue_is "$pid" '-100 cgroup' &&
		grep -q '/gpreempt-[0-9]*-0$' "/proc/$pid/cgroup" && finish "$pid" && wait $! && ! ls -d /sys/fs/cgroup/gpreempt-* 2>/dev/null
}

run_passes_the_exit_status_on()
{
	status 7 run --class latency -- sh -c 'exit 7' && status 127 run --class latency -- /no/such/program &&
		says '/no/such/program: No such file' && status 126 run --priority 3 -- /tmp && status 137 run --priority -3 -- sh -c 'kill -9 $$' &&
		! ls -d /sys/fs/cgroup/gpreempt-* 2>/dev/null
}

run_passes_signals_on()
{
	rm -f "$work/started"
	gpreemptctl run --class batch -- sh -c 'trap "exit 5" TERM; touch $0; while :; do usleep 10000; done' "$work/started" &
	runner=$!
	wait_until test -e "$work/started" && kill -TERM $runner
	wait $runner
	[ $? = 5 ]
}

a_cgroup_stays_as_long_as_it_is_needed()
{
	status 0 run --class batch -- sh -c 'sleep 1000 & echo $!' >"$work/sleeper" && ls -d /sys/fs/cgroup/gpreempt-*-0 &&
		status 0 run --class batch -- true && ls -d /sys/fs/cgroup/gpreempt-*-0 || return 1
	kill "$(cat "$work/sleeper")"
	wait_until gone "$(cat "$work/sleeper")"
	wait_until grep -q 'populated 0' /sys/fs/cgroup/gpreempt-*-0/cgroup.events
	status 0 run --class batch -- true && ! ls -d /sys/fs/cgroup/gpreempt-* 2>/dev/null
}

# ------------------------------------------------------------------------------------------------ without cgroups of version 2

# As systemd on EL8 has them
begin_cgroup_v1()
{
	umount /sys/fs/cgroup && mount -t tmpfs tmpfs /sys/fs/cgroup && mkdir /sys/fs/cgroup/systemd /sys/fs/cgroup/pids &&
		mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd && mount -t cgroup -o pids cgroup /sys/fs/cgroup/pids &&
		status 0 doctor >"$work/doctor" && grep -qx 'note cgroups are of version 2 (for --cgroup): no, of version 1' "$work/doctor" &&
		status 1 set --cgroup /sys/fs/cgroup/pids 5 && says 'set -p PID --tree'
}

end_cgroup_v1()
{
	umount /sys/fs/cgroup/systemd /sys/fs/cgroup/pids /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup
}

no_keeper()
{
	! pidof gpreemptctl
}

run_without_cgroups_includes_grandchildren()
{
	begin gpreemptctl run --class batch -- sh -c 'sh -c "training 4; true"; true' && queue_is "$pid" '-100 parent' &&
		finish "$pid" && wait $! && wait_until no_keeper
}

# The program ends at once; what it leaves behind has no parent, and begins with the GPU later.
run_without_cgroups_includes_orphans()
{
	rm -f "$work/training" "$work/go"
	status 3 run --class batch -- sh -c '(while [ ! -e "$0/go" ]; do usleep 10000; done; exec training 4 >"$0/training") & exit 3' "$work" &&
		pidof gpreemptctl && touch "$work/go" && wait_until grep -qs ^ready "$work/training" || return 1
	pid=$(sed -n 's/^ready \([0-9]*\) .*/\1/p' "$work/training")
	queue_is "$pid" '-100 parent' && finish "$pid" && wait_until no_keeper
}

# One that comes before the program runs is not lost either: there is no program afterwards.
run_without_cgroups_keeps_early_signals()
{
	for delay_us in 1000 2000 4000 8000 16000 32000; do
		gpreemptctl run --class batch -- sleep 1000 &
		usleep $delay_us
		kill -TERM $!
		wait $!
		wait_until no_keeper && ! pidof sleep || return 1
	done
}

run_without_cgroups_passes_all_on()
{
	run_passes_the_exit_status_on && run_passes_signals_on && wait_until no_keeper &&
		[ "$(echo in | gpreemptctl run --class batch -- cat)" = in ]
}

run_without_cgroups_takes_no_root()
{
	chmod 666 /dev/kfd_gpreempt
	su nobody -s /bin/sh -c 'gpreemptctl run --class batch -- sh -c "exit 7"' 2>"$err"
	[ $? = 7 ] && { su nobody -s /bin/sh -c 'gpreemptctl run --class latency -- true' 2>"$err"; [ $? = 4 ]; } && says 'not allowed'
	result=$?
	chmod 660 /dev/kfd_gpreempt
	return $result
}

# One child has a queue already, the other makes one later.
set_tree_reaches_what_is_there_and_what_comes()
{
	rm -f "$work/go" "$work/later"
	sh -c 'training 8 >"$0/first" & echo $! >"$0/first.pid"
		(while [ ! -e "$0/go" ]; do usleep 10000; done; exec training 8 >"$0/later") & echo $! >"$0/later.pid"; wait' "$work" &
	parent=$!
	wait_until grep -qs ^ready "$work/first" || return 1
	first=$(cat "$work/first.pid") later=$(cat "$work/later.pid")
	status 0 set -p $parent --tree -60 && wait_until queue_is "$first" '-60 process' && touch "$work/go" &&
		wait_until grep -qs ^ready "$work/later" && queue_is "$later" '-60 parent' &&
		status 0 set -p "$later" 3 && wait_until queue_is "$later" '3 process' && status 0 set -p "$later" clear && wait_until queue_is "$later" '-60 parent'
	result=$?
	kill -TERM "$first" "$later"
	wait $parent
	return $result
}

# As a container engine makes them, in one hierarchy of several
apply_finds_cgroups_of_version_1()
{
	mkdir -p /sys/fs/cgroup/pids/docker/abc /sys/fs/cgroup/systemd/system.slice/chat.service
	training 8 >/dev/null &
	contained=$!
	training 8 >/dev/null &
	served=$!
	training 8 >/dev/null &
	other=$!
	echo $contained >/sys/fs/cgroup/pids/docker/abc/cgroup.procs
	echo $served >/sys/fs/cgroup/systemd/system.slice/chat.service/cgroup.procs
	printf '[classes]\ncgroup nowhere = 1\ncgroup system.slice/chat.service = latency\ncgroup /sys/fs/cgroup/pids/docker/ = -33\n' >"$conf"
	gpreemptctl apply --follow -i 0.02 "$conf" 2>"$err" &
	service=$!
	wait_until queue_is $contained '-33 process' && wait_until queue_is $served '100 process' && queue_is $other '7 kfd' &&
		kill -TERM $service && wait $service && wait_until queue_is $contained '7 kfd' && [ ! -s "$err" ]
	result=$?
	kill -TERM $contained $served $other
	wait $contained $served $other
	wait_until rmdir /sys/fs/cgroup/pids/docker/abc && rmdir /sys/fs/cgroup/pids/docker
	rmdir /sys/fs/cgroup/systemd/system.slice/chat.service /sys/fs/cgroup/systemd/system.slice
	return $result
}

# ---------------------------------------------------------------------------------------------------- the configuration

apply_does_what_the_file_says_and_tells_what_is_wrong()
{
	mkdir /sys/fs/cgroup/service
	cat >"$conf" <<-END
		[tunables]
		poll_us = 300
		relief_ms = 0
		nonsense = 1
		[classes]
		user nosuch = 5
		cgroup service = latency
		cgroup nowhere = 3
		exe /opt/gpreempt/training = -77
	END
	status 1 apply "$conf" && [ "$(cat $parameters/gpreempt_poll_us)" = 300 ] && wait_until queue_is "$pid" '-77 process' &&
		says "$conf:3: relief_ms=0 is not a number from 1 to 10000; kept 20" && says "$conf:4: there is no tunable nonsense" &&
		says "$conf:6: there is no user nosuch; the line is ignored" && says "$conf:8: nowhere: No such file" &&
		[ "$(wc -l <"$err")" = 4 ] || return 1
	# What is set stays: the driver does not tell by whom it was.
	printf '[classes]\nuser root = -55\n' >"$conf"
	status 0 apply "$conf" && gpreemptctl tune poll_us=80 && usleep 50000 && queue_is "$pid" '-77 process' &&
		gpreemptctl set -p "$pid" clear && status 0 apply "$conf" && wait_until queue_is "$pid" '-55 process' && gpreemptctl set -p "$pid" clear &&
		wait_until queue_is "$pid" '7 kfd' && gpreemptctl set --cgroup service clear && rmdir /sys/fs/cgroup/service
}

job_is()	# pid, id; "": none
{
	[ "$(gpreemptctl job list -p "$1" | awk 'NR > 1 { print $1 }')" = "$2" ]
}

apply_follows_what_comes_and_takes_back_what_it_gave()
{
	printf '[classes]\ncgroup service = 33\nexe /opt/gpreempt/training = -77\n[jobs]\ncgroup service = leave\n' >"$conf"
	gpreemptctl apply --follow -i 0.02 "$conf" 2>"$err" &
	service=$!
	mkdir /sys/fs/cgroup/service
	wait_until queue_is "$pid" '-77 process' || return 1
	# A process whose priority somebody sets is left alone, also at the end.
	training 8 >/dev/null &
	other=$!
	wait_until queue_is $other '-77 process' && gpreemptctl set -p $other -20 && wait_until queue_is $other '-20 process' || return 1
	# A cgroup that comes later, and comes again.
	for turn in 1 2; do
		sh -c 'echo $$ >/sys/fs/cgroup/service/cgroup.procs; exec inference 100' >/dev/null &
		served=$!
		wait_until queue_is $served '33 cgroup' && wait_until job_is $served "$(stat -c %i /sys/fs/cgroup/service)" || return 1
		[ $turn = 1 ] || break
		kill $served
		wait $served
		wait_until rmdir /sys/fs/cgroup/service && mkdir /sys/fs/cgroup/service || return 1
	done
	printf '[classes]\nexe /opt/gpreempt/training = -66\n' >"$conf"
	kill -HUP $service && wait_until queue_is "$pid" '-66 process' && wait_until job_is $served '' && wait_until queue_is $served '7 kfd' &&
		kill -TERM $service && wait $service && wait_until queue_is "$pid" '7 kfd' && queue_is $other '-20 process' && [ ! -s "$err" ] || return 1
	kill $served
	wait $served
	kill -TERM $other
	wait $other && wait_until rmdir /sys/fs/cgroup/service
}

every_item_was_done_once()
{
	finish "$pid"
}

demonstration()		# by what
{
	demo-phases 4 "$1" >"/out/demo.$1"
}

demonstration_by_nice() { demonstration nice; }
demonstration_by_class() { demonstration class; }

# Whoever follows does not keep the driver from being unloaded, and ends when it has gone.
apply_lets_the_driver_go()
{
	gpreemptctl tune enable=0
	printf '[classes]\nuser root = 3\n' >"$conf"
	gpreemptctl apply --follow -i 0.02 "$conf" 2>"$err" &
	gpu-down || return 1
	wait $!
	[ $? = 3 ] && says 'no /dev/kfd_gpreempt' && status 3 status && status 3 tune && status 3 doctor
}

check doctor_says_what_is_missing_and_how_to_get_it
check status_shows_the_node
check tune_shows_what_the_driver_has
check tune_changes_and_tells_what_is_refused_and_kept
check tune_changes_one_node
check bounds_are_the_drivers
check policy_is_shown_and_chosen
check a_process_that_is_not_there_is_told
check nothing_to_show_is_no_error
check run_passes_the_exit_status_on
check run_passes_signals_on
check run_includes_grandchildren
check a_cgroup_stays_as_long_as_it_is_needed
echo 1 >/sys/module/amdgpu/parameters/gpreempt_account
begin training 25
check list_shows_the_queue
check account_says_what_is_used
check fdinfo_is_in_drms_form
check fdinfo_is_not_for_others
check account_is_for_the_administrator
check doctor_sees_programs_and_slots
check debugfs_names_its_columns
check a_queue_is_known_by_container_job_and_device
check set_changes_a_process_and_clear_forgets
check set_changes_a_queue
check set_changes_a_cgroup
check set_changes_parameters_of_policies
check rights_are_the_drivers
check preempt_holds_while_a_program_runs
check preempt_holds_for_a_time
check preempt_ends_with_a_signal
check resume_ends_the_holds_of_others
check hint_is_given_and_counted
check events_tells_what_happens
check events_ends_when_nobody_reads
check stats_are_the_nodes_files
check report_says_what_would_have_been_done
check output_that_is_lost_is_an_error
check top_shows_queues
check top_needs_a_terminal
check apply_does_what_the_file_says_and_tells_what_is_wrong
check apply_follows_what_comes_and_takes_back_what_it_gave
last=$(busy "$pid")
check every_item_was_done_once
check account_keeps_what_has_ended
check begin_cgroup_v1
check run_without_cgroups_includes_grandchildren
check run_without_cgroups_includes_orphans
check run_without_cgroups_passes_all_on
check run_without_cgroups_keeps_early_signals
check run_without_cgroups_takes_no_root
check set_tree_reaches_what_is_there_and_what_comes
check apply_finds_cgroups_of_version_1
check end_cgroup_v1
check demonstration_by_nice
check demonstration_by_class
check apply_lets_the_driver_go
echo "1..$n"

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# vm_test.sh - the VM runner brings everything back and no sick kernel passes for a healthy one (TAP)
#
# Touches: a scratch folder, $BUILD/vm.

TOP=${TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
VM=${VM:-$TOP/tools/testing/vm/vm}
# shellcheck source=tools/testing/tap.sh
. "$TOP/tools/testing/tap.sh"

# vm NAME [OPTIONS] -- CMD: one run; everything about it is in $scratch/NAME.*
vm()
{
	name=$1
	shift
	"$VM" run --out "$scratch/$name" "$@" >"$scratch/$name.out" 2>"$scratch/$name.err"
	echo $? >"$scratch/$name.status"
}

status()
{
	[ "$(cat "$scratch/$1.status")" = "$2" ]
}

# told NAME: a test of what the runs have left, which is shown if it fails
told()
{
	tap "$1" told_by "$1"
}

told_by()
{
	"$1" && return
	for f in "$scratch"/*.err; do
		tail -n 15 "$f" | sed "s|^|${f##*/}: |"
	done
	return 1
}

exit_status_passes_through()
{
	status plain 7
}

output_arrives_whole_and_apart()
{
	[ "$(wc -c <"$scratch/plain.out")" = 2000000 ] && [ "$(cat "$scratch/plain.err")" = complaint ]
}

files_of_out_come_back()
{
	[ "$(cat "$scratch/plain/sub/file")" = content ]
}

kernel_log_comes_back()
{
	grep -q 'Run /init as init process' "$scratch/plain/console.log"
}

added_files_are_there_and_run()
{
	grep -qx 'added program: with space' "$scratch/added.out"
}

disk_is_mounted_read_only()
{
	status disk 0 && [ "$(cat "$scratch/disk.out")" = "on the disk, and of the guest" ]
}

file_that_is_no_disk_fails_the_run()
{
	status no_disk 98 && grep -q 'init: no file system of --disk IMAGE:/mnt/second' "$scratch/no_disk.err"
}

one_guest_does_many_runs()
{
	status batch 1 && [ "$(grep -E '^(not )?ok|^1\.\.' "$scratch/batch.out" | tr '\n' ,)" = 'ok 1 with space,not ok 2 bad,ok 3 first,1..3,' ]
}

a_trace_in_the_kernel_log_fails_the_run()
{
	status trace 99 && grep -q 'vm: kernel log: .*Call Trace' "$scratch/trace.err"
}

a_panic_fails_the_run()
{
	status panic 99 && grep -q 'vm: kernel log: ' "$scratch/panic.err"
}

a_hanging_command_is_killed()
{
	status hang 124 && grep -q 'timeout' "$scratch/hang.err" && [ "$(cat "$scratch/hang.out")" = begun ]
}

a_process_left_behind_does_not_hang_the_run()
{
	status added 0
}

two_machines_reach_each_other()
{
	status asks 0 && status answers 0 && [ "$(cat "$scratch/asks.out")" = "from the other one" ]
}

# The same loop in two boots: guest time under -icount is a function of the instructions, whatever this machine does.
guest_time_repeats_within_2_percent()
{
	a=$(cat "$scratch/icount1.out") b=$(cat "$scratch/icount2.out")
	echo "ns of guest time: $a $b"
	[ "$a" -gt 1000000 ] && [ $(((a > b ? a - b : b - a) * 100)) -le $((a * 2)) ]
}

# What the debug kernel says is weighed report by report; here with logs made up.
only_allowed_reports_pass()
{
	python3 - "$TOP/tools/vgpu/vm.py" "$scratch/log" "$scratch/leaks" <<-'END'
		import importlib.machinery, importlib.util, re, sys
		loader = importlib.machinery.SourceFileLoader("vm", sys.argv[1])
		vm = importlib.util.module_from_spec(importlib.util.spec_from_loader("vm", loader))
		loader.exec_module(vm)
		stock = ["WARNING: possible circular locking dependency detected", " stock_function+0x1/0x2", "Call Trace:", " </TASK>"]
		ours = ["BUG: KASAN: slab-use-after-free in gpreempt_function", "Call Trace:", " </TASK>"]
		allowed = [re.compile("circular.*stock_function", re.S)]
		def complaint(lines, allowed):
		    open(sys.argv[2], "w").write("\n".join(["boot"] + lines + ["end"]))
		    return vm.complaint(sys.argv[2], allowed)
		assert complaint([], []) is None
		assert complaint(stock, []) == stock[0]
		assert complaint(stock, allowed) is None
		assert complaint(stock + ours, allowed) == ours[0]
		assert complaint(ours + stock, allowed) == ours[0]
		def leak(text, allowed):
		    open(sys.argv[3], "w").write(text)
		    return vm.leak(sys.argv[3], allowed)
		one = "unreferenced object 0x1 (size 8):\n  backtrace:\n    stock_alloc\n"
		two = "unreferenced object 0x2 (size 8):\n  backtrace:\n    gpreempt_alloc\n"
		assert leak("", []) is None and vm.leak("/nonexistent", []) is None
		assert leak(one, []) == one.strip()
		assert leak(one + two, [re.compile("stock_alloc")]) == two.strip()
		assert vm.allowed_reports("6.12.1+deb12-amd64") == [] and isinstance(vm.allowed_reports("6.12.1-debug-0"), list)
	END
}

# shellcheck disable=SC2016 # for the guest's shell
loop='now() { sed -n "s/^now at \([0-9]*\) nsecs/\1/p" /proc/timer_list; }
t=$(now); i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; echo $(($(now) - t))'

# shellcheck disable=SC2016
printf '#!/bin/sh\necho "added program: $1"\nsleep 1000 &\n' >"$scratch/program"
chmod +x "$scratch/program"

mkdir -p "$scratch/system/usr/bin" "$scratch/system/bin" "$scratch/system/tmp"
cp "$(command -v busybox)" "$scratch/system/bin/sh"
echo "on the disk" >"$scratch/system/usr/file"
mke2fs -q -t ext4 -d "$scratch/system" "$scratch/system.ext4" 8M >/dev/null
head -c 8388608 /dev/zero >"$scratch/empty"

plan 15
told only_allowed_reports_pass
# Two at a time: that also shows that runs do not get in each other's way. One boots, the others go on from a saved guest.
vm plain -- 'mkdir /out/sub; echo content > /out/sub/file; echo complaint >&2
	head -c 2000000 /dev/zero | tr "\0" x; exit 7' &
VM_BOOT=1 vm added --add "$scratch/program" -- program 'with space' &
wait
told exit_status_passes_through
told output_arrives_whole_and_apart
told files_of_out_come_back
told kernel_log_comes_back
told added_files_are_there_and_run
told a_process_left_behind_does_not_hang_the_run
echo "ok 1 with space" >"$scratch/text"
(
	export VM_COLLECT="$scratch/batch"
	VM_NAME=second "$VM" run --add "$scratch/text" -- 'cat /opt/gpreempt/text; echo "not ok 2 bad"; echo 1..2; false'
	VM_NAME=first "$VM" run -- echo "ok 1 first
1..1"
)
"$VM" batch "$scratch/batch" "$scratch/batch.dir" >"$scratch/batch.out" 2>"$scratch/batch.err"
echo $? >"$scratch/batch.status"
told one_guest_does_many_runs
# One goes on from a saved guest, the other one boots; a disk is shared.
# shellcheck disable=SC2016 # of that shell
vm disk --icount --disk "$scratch/system.ext4:/mnt" -- 'echo "of the guest" >/tmp/file
	enter /mnt sh -c "read -r a </usr/file; read -r b </tmp/file; echo \"\$a, and \$b\""; ! touch /mnt/usr/file 2>/dev/null' &
VM_BOOT=1 vm no_disk --disk "$scratch/system.ext4:/mnt/first" --disk "$scratch/empty:/mnt/second" -- true
wait
told disk_is_mounted_read_only
told file_that_is_no_disk_fails_the_run
# A host so slow that the guest has not begun when the time is over gives it more.
for seconds in 4 60; do
	vm hang --timeout $seconds -- 'echo begun; sleep 1000'
	! grep -q begun "$scratch/hang.out" || break
done &
vm trace -- 'echo l > /proc/sysrq-trigger; sleep 1' &
trace=$!
vm panic -- 'echo c > /proc/sysrq-trigger' &
wait $trace $!
told a_trace_in_the_kernel_log_fails_the_run
told a_panic_fails_the_run
net='ip link set eth0 up; ip address add'
vm answers --icount --net "$scratch/a:$scratch/b" -- "$net 10.0.0.1/24 dev eth0; echo from the other one | nc -l -p 99" &
vm asks --icount --net "$scratch/b:$scratch/a" -- "$net 10.0.0.2/24 dev eth0; until nc 10.0.0.1 99 </dev/null; do usleep 100000; done" &
wait
told two_machines_reach_each_other
vm icount1 --icount -- "$loop"
vm icount2 --icount -- "$loop"
wait
told a_hanging_command_is_killed
told guest_time_repeats_within_2_percent
finish

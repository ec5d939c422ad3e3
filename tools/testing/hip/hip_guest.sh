#!/bin/sh
# SPDX-License-Identifier: MIT
#
# hip_guest.sh - in the VM: HIP programs without scheduling, and again while they are taken off the device every few hundred microseconds: by request, and
# now and then by a process that comes first (TAP)

sysfs=/sys/class/kfd/kfd/gpreempt
param=/sys/module/amdgpu/parameters/gpreempt_enable
# shellcheck source=tools/testing/vm/guest_lib.sh
. /opt/gpreempt/guest-lib
# On average, by the kernel's series
turn_us=$(awk -F '|' -v release="$(uname -r)" '
	function number(series, part) { split(series, part, "."); return part[1] * 1000 + part[2] }
	/^[0-9]/ && number($1) <= number(release) { us = $2 + 0 }
	END { print us }' /opt/gpreempt/hip-turns)
# Wave instructions between two times that waves are saved. Most turns find none: the programs are on the CPU.
save_instructions=1000

# pass_on MARK: passes on what the programs print, which is TAP without numbers, as far as the line MARK
pass_on()
{
	while IFS= read -r line <&4; do
		case $line in
		"$1") return 0 ;;
		"ok "* | "not ok "*)
			n=$((n + 1))
			echo "$line" | sed "s/ok -/ok $n -/"
			;;
		*) echo "# $line" ;;
		esac
	done
	return 1
}

if ! grep -qs '^gfx_target_version 90010$' /sys/devices/virtual/kfd/kfd/topology/nodes/*/properties; then
	echo "1..0 # SKIP Debian's ROCr 5.2.3 knows gfx90a only"
	exit 0
fi

rocminfo >/tmp/rocminfo 2>&1
ok "rocminfo lists the GPU with its instruction set" grep -q amdgcn-amd-amdhsa--gfx90a /tmp/rocminfo

# One process for both: HIP compiles its own kernels when it starts, which takes longer than everything here.
echo 0 >$param
mkfifo /tmp/go /tmp/said
hip_programs "scheduling off" "preempted all the time" </tmp/go >/tmp/said 2>/tmp/err &
programs=$!
exec 3>/tmp/go 4</tmp/said
ok "the programs come to their end, scheduling off" pass_on "done 1"

renice -n 10 -p $programs >/dev/null
echo 1 >$param
# The monitor shares a CPU with the programs, not with the virtual GPU, which executes their code
taskset -p 2 "$(cat $sysfs/*/monitor_pid)" >/dev/null
# Nothing runs yet, so no wave is on its way between the two.
saved=$(stat waves_saved)
restored=$(stat waves_restored)
ticker 5000 20 >/tmp/ticker &
ticker=$!
pulse $programs 100 >/tmp/pulse &
pulse=$!
for helper in ticker pulse; do
	while [ ! -s /tmp/$helper ] && kill -0 $pulse && kill -0 $ticker; do
		sleep 0.01
	done
done
saves=$(stat cwsr_saves)
instructions=$(stat instructions)
begin=$(cut -d' ' -f1 /proc/uptime)
echo >&3
ok "the programs come to their end, preempted all the time" pass_on "done 2"
us=$(($(echo "$(cut -d' ' -f1 /proc/uptime) $begin" | awk '{ printf "%d", ($1 - $2) * 1000000 }')))
saves=$(($(stat cwsr_saves) - saves))
instructions=$(($(stat instructions) - instructions))
kill $pulse
wait $pulse
ok "whoever takes them off the device does so to the end" [ $? = 0 ]
wait $programs
ok "all of them are right" [ $? = 0 ]
ok "the one that comes first goes on all the time" kill -0 $ticker
# Its last kernel ends within microseconds. A queue that is destroyed with waves in flight saves them for good.
kill -STOP $ticker
sleep 0.1
saved=$(($(stat waves_saved) - saved))
restored=$(($(stat waves_restored) - restored))
kill $ticker
kill -CONT $ticker
wait $ticker 2>/dev/null
echo 0 >$param
sed 's/^/# /' /tmp/err
echo "# preempted $(tail -n 1 /tmp/pulse); $saves times with waves in flight, in $us us; $saved waves saved, $restored restored," \
	"$instructions instructions"
# shellcheck disable=SC2046 # "times in time us"
set -- $(tail -n 1 /tmp/pulse)
ok "they were taken off the device on average each $turn_us us or more often" [ $(($1 * turn_us)) -ge "$3" ]
ok "in the middle of a kernel on average each $save_instructions instructions or more often" \
	[ $((saves * save_instructions)) -ge "$instructions" ]
ok "many waves were saved" [ "$saved" -ge 1000 ]
ok "every wave that was saved came back" [ "$saved" = "$restored" ]
ok "time stamps of signals are valid" [ "$(grep -c "time stamps" /tmp/err)" = 0 ]
for name in gpuvm_faults stale_translations bad_packets bad_records wave_exceptions; do
	ok "$name: none" [ "$(stat $name)" = 0 ]
done
echo "1..$n"

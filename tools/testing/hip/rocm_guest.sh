#!/bin/sh
# SPDX-License-Identifier: MIT
#
# rocm_guest.sh - in the VM, with today's ROCm on a disk at /mnt: a program round by round, first with scheduling off, then taken off the
# device every few hundred microseconds (TAP)
#
#	rocm-guest PROGRAM SAVES [PART]		until waves of it were saved SAVES times; of its tests those of which PART is in the name
#	rocm-guest tools			what rocminfo, rocm-smi and amd-smi say of the device, beside the scheduler

sysfs=$(echo /sys/class/kfd/kfd/gpreempt/*)
param=/sys/module/amdgpu/parameters/gpreempt_enable
# shellcheck source=tools/testing/vm/guest_lib.sh
. /opt/gpreempt/guest-lib

# The device's number that KFD and all tools know; the scheduler's folder is named after it
tools()
{
	gpu_id=${sysfs##*/}
	for tool in "rocminfo" "rocm-smi --showid --showproductname --showmeminfo vram" "amd-smi list --csv"; do
		# shellcheck disable=SC2086 # options
		enter /mnt $tool >"/tmp/${tool%% *}" 2>&1
		sed "s/^/# ${tool%% *}: /" "/tmp/${tool%% *}"
		case $tool in
		rocminfo) ok "rocminfo lists the device with its instruction set" grep -q "amdgcn-amd-amdhsa--gfx" /tmp/rocminfo ;;
		*showid*) ok "rocm-smi shows the device" grep -q "$(cat /sys/class/drm/card*/device/device)" /tmp/rocm-smi ;;
		amd-smi*) ok "amd-smi lists the device by the number that the scheduler's folder has" grep -q "\\b$gpu_id\\b" /tmp/amd-smi ;;
		esac
	done
	for file in "$sysfs"/*; do
		[ ! -f "$file" ] || echo "# scheduler: ${file##*/} $(head -n 1 "$file" 2>/dev/null)"
	done
	ok "the scheduler has its fields beside them" [ -n "$(cat "$sysfs/preemptions")" ]
	echo "1..$n"
}

# one_round: passes it on as far as its last line, notes the sums in the file $1, sets done, lost and twice
one_round()
{
	: >"$1"
	echo >&3
	while IFS= read -r line <&4; do
		case $line in
		"sum "*) echo "$line" >>"$1" ;;
		"round "*)
			# shellcheck disable=SC2046 # NAME=NUMBER
			export $(echo "$line" | cut -d' ' -f2-)
			return 0
			;;
		"ok - "*) right=$((right + 1)) ;;
		*) echo "# $line" ;;
		esac
		case $line in
		"not ok"*) wrong=$((wrong + 1)) ;;
		esac
	done
	return 1
}

all_right()
{
	[ "$wrong" = 0 ] && [ "$failed" = 0 ] && [ "$right" -gt 0 ]
}

once_each()
{
	[ "$all_done" -gt 0 ] && [ "$all_lost" = 0 ] && [ "$all_twice" = 0 ]
}

if [ "$1" = tools ]; then
	tools
	exit 0
fi
name=$1
wanted=$2
right=0 wrong=0 failed=0 done=0 lost=0 twice=0
echo never >/sys/kernel/mm/transparent_hugepage/enabled
echo 0 >$param
mkfifo /tmp/go /tmp/said
enter /mnt "/run/rocm/$name" "${3:-}" </tmp/go >/tmp/said 2>/tmp/err &
program=$!
exec 3>/tmp/go 4</tmp/said
ok "$name: a round with scheduling off" one_round /tmp/sums.off
all_done=$done all_lost=$lost all_twice=$twice
sed 's/^/# /' /tmp/sums.off
ok "$name: all results are right, scheduling off" all_right

renice -n 10 -p $program >/dev/null
echo 1 >$param
# The monitor shares a CPU with the programs, not with the virtual GPU, which executes their code
taskset -p 2 "$(cat "$sysfs/monitor_pid")" >/dev/null
waves_saved=$(stat waves_saved)
waves_restored=$(stat waves_restored)
saves=$(stat cwsr_saves)
instructions=$(stat instructions)
pulse $program 100 >/tmp/pulse &
pulse=$!
while [ ! -s /tmp/pulse ] && kill -0 $pulse; do
	sleep 0.01
done
rounds=0 different=0
while [ $(($(stat cwsr_saves) - saves)) -lt "$wanted" ] && [ $failed = 0 ]; do
	one_round /tmp/sums.on || failed=1
	cmp -s /tmp/sums.off /tmp/sums.on || different=$((different + 1))
	rounds=$((rounds + 1))
	all_done=$((all_done + done)) all_lost=$((all_lost + lost)) all_twice=$((all_twice + twice))
	echo "# $rounds rounds: preempted $(($(stat cwsr_saves) - saves)) times in waves"
done
kill $pulse
wait $pulse
ok "$name: whoever takes it off the device does so to the end" [ $? = 0 ]
saves=$(($(stat cwsr_saves) - saves))
instructions=$(($(stat instructions) - instructions))
exec 3>&-
wait $program
ok "$name: it comes to its end" [ $? = 0 ]
waves_saved=$(($(stat waves_saved) - waves_saved))
waves_restored=$(($(stat waves_restored) - waves_restored))
echo 0 >$param
sed 's/^/# /' /tmp/err
echo "# preempted $(tail -n 1 /tmp/pulse); $saves times in waves, $rounds rounds; $waves_saved waves saved, $waves_restored restored," \
	"$instructions instructions; done=$all_done lost=$all_lost twice=$all_twice"
ok "$name: all results are right, preempted all the time" all_right
ok "$name: every result is the same in all rounds" [ $different = 0 ]
ok "$name: preempted in waves at least $wanted times" [ "$saves" -ge "$wanted" ]
ok "$name: every wave that was saved came back" [ "$waves_saved" = "$waves_restored" ]
ok "$name: what it counts was done, 0 lost, 0 twice" once_each
for counter in gpuvm_faults stale_translations bad_packets bad_records wave_exceptions; do
	ok "$name: $counter: none" [ "$(stat $counter)" = 0 ]
done
echo "1..$n"

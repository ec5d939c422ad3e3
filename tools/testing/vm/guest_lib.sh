# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# guest_lib.sh - what scripts share that test programs in the VM and print TAP; there it is /opt/gpreempt/guest-lib
#
# "ok TEXT COMMAND..." is a test, $n how many there were. "stat NAME" prints a counter of the virtual GPU.

n=0

ok()
{
	text=$1
	shift
	"$@"
	status=$?
	n=$((n + 1))
	if [ $status = 0 ]; then
		echo "ok $n - $text"
	else
		echo "not ok $n - $text"
	fi
}

stat()
{
	awk -v name="$1" '$1 == name { print $2 }' /sys/kernel/debug/vgpu/stats
}

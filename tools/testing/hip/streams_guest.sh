#!/bin/sh
# SPDX-License-Identifier: MIT
#
# streams_guest.sh - in the VM: two HIP streams of one process, without and with a priority that the normal one was asked to have (TAP)

# shellcheck source=tools/testing/vm/guest_lib.sh
. /opt/gpreempt/guest-lib

preload=/opt/gpreempt/libgpreempt-preload.so

preemptions()
{
	cat /sys/class/kfd/kfd/gpreempt/*/preemptions
}

# streams VARIABLE=VALUE...: how long the urgent kernel took, in percent of the other one, is in $urgent, preemptions meanwhile in $taken
streams()
{
	before=$(preemptions)
	said=$(env LD_PRELOAD=$preload "$@" hip_streams 20 2>/dev/null)
	urgent=${said#urgent=}
	urgent=${urgent%%%*}
	taken=$(($(preemptions) - before))
	echo "# $* $said, $taken preemptions"
}

if ! grep -qs '^gfx_target_version 90010$' /sys/devices/virtual/kfd/kfd/topology/nodes/*/properties; then
	echo "1..0 # SKIP Debian's ROCr 5.2.3 knows gfx90a only"
	exit 0
fi
echo 1 >/sys/module/amdgpu/parameters/gpreempt_enable
streams HSA_QUEUE_PRIORITY=
ok "all is done once" [ "${said#*% }" = right ]
ok "work in a stream of high priority waits for a normal one that nobody gave a priority" [ "$urgent" -gt 50 ]
ok "which is not preempted" [ "$taken" = 0 ]
streams 'GPREEMPT_QUEUE_CLASS=*:normal'
ok "with *:normal all is done once" [ "${said#*% }" = right ]
ok "and the urgent work does not wait" [ "$urgent" -lt 25 ]
ok "because the normal stream's queue was preempted" [ "$taken" -gt 0 ]
echo 0 >/sys/module/amdgpu/parameters/gpreempt_enable
for name in gpuvm_faults stale_translations bad_packets bad_records wave_exceptions; do
	ok "$name: none" [ "$(stat $name)" = 0 ]
done
echo "1..$n"

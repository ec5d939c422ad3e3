#!/bin/sh
# SPDX-License-Identifier: MIT
#
# verbatim.sh - the very module that users get: comes up on both devices, preempts and resumes, goes away; TAP on stdout
#
# What its register accesses do is caught by vgpu.ko (verbatim front end). One boot of $VM in which amdgpu is loaded once: the kernel looks up
# each of its functions in the list of its symbols then, 35 s of CPU. Without a release build of ours the kernel package's own module shows
# that the device is one that it takes.

. "$(dirname "$0")/../../vgpu/tests/bringup.sh"

amdgpu=${AMDGPU_RELEASE_KO:-}
[ -e "$amdgpu" ] || amdgpu=stock

echo 1..8
guest <<'GUEST'
up() { gpu-up verbatim --vgpu-args "$1" && [ -e /dev/kfd ] && [ -e /dev/dri/renderD128 ] && is num_xcc $2; }
leave()
{
	echo 1000:00:00.0 > /sys/bus/pci/drivers/amdgpu/unbind && rmmod vgpu && [ -z "$(node)" ] && [ ! -e /dev/dri/renderD128 ]
}
arrive() # PARAMETERS XCCS
{
	insmod /gpu/vgpu.ko front=kmmio $1 && is num_xcc $2 && [ -e /dev/dri/renderD128 ]
}
rings_pass() { rings "$@" && clean; }

name="driver probes, KFD node and render node appear"; check up "" 1
name="all rings pass their tests"; check rings_pass kiq comp sdma
if [ -e /sys/module/amdgpu/parameters/gpreempt_enable ]; then
	name="low_hog_yields_to_late_high"; check preempt -t low_hog_yields_to_late_high
else
	echo "RESULT 0 low_hog_yields_to_late_high # SKIP no release amdgpu.ko has been built (make modules)"
fi
name="device is taken from the driver, and goes"; check leave
name="one with two XCCs comes, and the driver takes it"; check arrive "asic=gfx942 xccs=2" 2
name="the rings of two XCCs pass their tests"; check rings_pass kiq_0. kiq_1. comp_0. comp_1.
name="both modules unload and leave nothing"; check down
GUEST

result=$(boot 7 "$amdgpu")
# The kernel's kmmio is made for one CPU. Where two meet on a page of registers, one access is lost or the page stays unmapped: the log says what
# came of it, and such a run says nothing of the driver.
if echo "$result" | grep -q '^# vm: kernel log: .*\(WARNING\|BUG\)'; then
	echo "once more: kmmio may have lost an access" >&2
	result=$(boot 7 "$amdgpu")
fi
echo "$result"

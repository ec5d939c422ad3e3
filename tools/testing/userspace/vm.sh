#!/bin/sh
# SPDX-License-Identifier: MIT
#
# vm.sh - what a scheduler in user space relies on: interrupt and restore of units, and their price; XSched's queue class on top; Debian's
# ROCr with the libraries that give it priorities from the environment, and without; classes of the queues of one process (TAP)

lib=$BUILD/lib
make -s -C "$TOP/lib" O="$lib" >/dev/null || { echo "Bail out! lib/ does not build"; exit 1; }
set -- env GPREEMPT_PRIORITY=-5 HSA_QUEUE_PRIORITY=3
# Starting ROCr takes longer than any of the tests: all of them once, elsewhere what differs.
one="rocr_priority -t queue_has_what_the_environment_says"
exec "$VM" run --gpu fast --icount --timeout 900 --add "$lib/libgpreempt-preload.so" --add "$lib/libgpreempt-hsa.so" -- \
	tap userspace xsched "$* $one" \
	"$* LD_PRELOAD=/opt/gpreempt/libgpreempt-preload.so rocr_priority -T queue_has_the_class_of_its_number" \
	"$* HSA_TOOLS_LIB=/opt/gpreempt/libgpreempt-hsa.so $one" \
	"env GPREEMPT_QUEUE_CLASS=0:-7 HSA_TOOLS_LIB=/opt/gpreempt/libgpreempt-hsa.so rocr_priority -t queue_has_the_class_of_its_number" \
	"env LD_PRELOAD=/opt/gpreempt/libgpreempt-preload.so queue_class"

# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034
#
# smoke.sh - $smoke: what a VM does to show that an amdgpu with the scheduler works on its kernel; scripts of tests source it
#
# Register accesses are slow here (each is an instruction that traps), so a few of each kind: the module comes and goes, switched on and off,
# idle, busy and while it is written to; queues with and without anybody to preempt; what is preempted runs on and does everything once.
smoke='module-load verbatim; gpu-up verbatim &&
tap "queues -F no_hws" "preempt -t low_hog_yields_to_late_high -t switching_off_resumes_all -t killing_the_beneficiary_resumes_the_victim" \
    "uapi -t info_names_the_node -t held_queue_stands_still_until_resumed"'
smoke_tests=40

// SPDX-License-Identifier: MIT
/* rooms.c - the layers that are built, in the order in which they are told */
#include "core/node.h"
#include "core/rooms.h"

size_t gpreempt_sizes[GPREEMPT_NR_OBJECTS];

const struct gpreempt_room *const gpreempt_rooms[] = {
#ifdef CONFIG_KFD_GPREEMPT_WAKE
	&gpreempt_room_doorbell,
	&gpreempt_room_pace,
#endif
#ifdef CONFIG_KFD_GPREEMPT_ACCOUNT
	&gpreempt_room_usage,
	&gpreempt_room_stamps,
#endif
#ifdef CONFIG_KFD_GPREEMPT_SHARES
	&gpreempt_room_group,
#endif
#ifdef CONFIG_KFD_GPREEMPT_JOBS
	&gpreempt_room_job,
#endif
#ifdef CONFIG_KFD_GPREEMPT_IDLE
	&gpreempt_room_crowd,
#endif
#ifdef CONFIG_KFD_GPREEMPT_STOPPED
	&gpreempt_room_stopped,
#endif
#ifdef CONFIG_KFD_GPREEMPT_ACCOUNT
	&gpreempt_room_looks,
#endif
#ifdef CONFIG_KFD_GPREEMPT_CONTROL
	&gpreempt_room_hold,
	&gpreempt_room_queue_sysfs,
	&gpreempt_room_debugfs,
	&gpreempt_room_event,
	&gpreempt_room_chardev,
#endif
	NULL
};

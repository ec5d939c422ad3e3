// SPDX-License-Identifier: MIT
/* rooms.c - the layers that are built, in the order in which they are told */
#include "core/node.h"
#include "core/rooms.h"

const struct gpreempt_room *const gpreempt_rooms[] = {
#ifdef CONFIG_KFD_GPREEMPT_WAKE
	&gpreempt_room_doorbell,
	&gpreempt_room_pace,
#endif
	&gpreempt_room_usage,
	&gpreempt_room_stamps,
	&gpreempt_room_group,
	&gpreempt_room_job,
#ifdef CONFIG_KFD_GPREEMPT_WAKE
	&gpreempt_room_crowd,
#endif
	&gpreempt_room_stopped,
	&gpreempt_room_looks,
#ifdef CONFIG_KFD_GPREEMPT_CONTROL
	&gpreempt_room_hold,
	&gpreempt_room_queue_sysfs,
	&gpreempt_room_debugfs,
	&gpreempt_room_event,
	&gpreempt_room_chardev,
#endif
	NULL
};

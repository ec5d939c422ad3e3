/* SPDX-License-Identifier: MIT */
/* pace.h - runlists that programs ask for cost who asks */
#ifndef GPREEMPT_PACE_H
#define GPREEMPT_PACE_H

#include <linux/types.h>
#include <linux/uidgid.h>

/* Users whose budget of a node is not full, at most. Each is full again after 16 s. */
#define GPREEMPT_PACE_USERS	32

/**
 * struct gpreempt_pace_user - the budget of a user
 * @user: see gpreempt_viewer_user_of()
 * @due_ns: when its next runlist would be due without a burst
 * @turn_ns: when the last of its commands that wait has its turn
 */
struct gpreempt_pace_user {
	kuid_t user;
	s64 due_ns;
	s64 turn_ns;
};

/* What pace.c keeps of a node, and writes alone. */
struct gpreempt_node_pace {
	/** @users: some of them, under pace.c's lock; the others owe nothing */
	struct gpreempt_pace_user users[GPREEMPT_PACE_USERS];
};

#endif /* GPREEMPT_PACE_H */

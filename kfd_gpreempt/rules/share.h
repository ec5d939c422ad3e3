/* SPDX-License-Identifier: MIT */
/*
 * share.h - device time by weights, minimum and maximum of groups: whose turn is it?
 *
 * Pure code: see policy.h for what may be used here.
 */
#ifndef GPREEMPT_SHARE_H
#define GPREEMPT_SHARE_H

#include "core/policy.h"

void gpreempt_share_use(struct gpreempt_policy_node *pn, struct gpreempt_policy_entity *entities,
			u32 nr_entities);
void gpreempt_share_forget(struct gpreempt_policy_entity *entities, u32 group);

/* Where the processes are that are directly in a group */
static inline u32 gpreempt_share_members(u32 group)
{
	return 2 * group + 1;
}

#endif /* GPREEMPT_SHARE_H */

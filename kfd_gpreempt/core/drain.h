/* SPDX-License-Identifier: MIT */
/*
 * drain.h - work that is about to end is waited for instead of being preempted
 *
 * Pure code: see policy.h for what may be used here.
 */
#ifndef GPREEMPT_DRAIN_H
#define GPREEMPT_DRAIN_H

#include "level.h"

bool gpreempt_drain_asks(const struct gpreempt_policy_node *pn, u64 now_ns);
void gpreempt_drain_find(const struct gpreempt_policy_node *pn, struct level *level, u64 now_ns,
			 bool assume);
void gpreempt_drain_note(struct gpreempt_policy_node *pn, const struct level *level, u64 now_ns,
			 struct gpreempt_decision *decision);

#endif /* GPREEMPT_DRAIN_H */

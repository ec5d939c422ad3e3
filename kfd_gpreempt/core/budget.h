/* SPDX-License-Identifier: MIT */
/*
 * budget.h - what preempting may cost the device
 *
 * Pure code: see policy.h for what may be used here.
 */
#ifndef GPREEMPT_BUDGET_H
#define GPREEMPT_BUDGET_H

#include "policy.h"

bool gpreempt_budget_exempts(const struct gpreempt_policy_node *pn, s32 priority, u64 now_ns);
u64 gpreempt_budget_wait(const struct gpreempt_policy_node *pn, s32 priority, u64 now_ns);
void gpreempt_budget_spend(struct gpreempt_policy_node *pn, u64 cost_ns, u64 now_ns);

/* The part of the time that may be spent, in percent */
static inline u32 gpreempt_budget_pct(const struct gpreempt_policy_node *pn)
{
	return pn->params.overhead_pct ? pn->params.overhead_pct : GPREEMPT_OVERHEAD_PCT;
}

#endif /* GPREEMPT_BUDGET_H */

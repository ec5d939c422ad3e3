// SPDX-License-Identifier: MIT
/*
 * hpf.c - highest priority first
 *
 * Pure code: see policy.h for what may be used here.
 */
#include "policy.h"

static void hpf_rank(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];

		q->rank = q->priority;
		q->own_rank = q->set.own_priority;
		q->orders = q->set.explicit_priority;
		q->standing = q->priority;
	}
}

const struct gpreempt_policy_ops gpreempt_policy_hpf = {
	.name = "hpf",
	.ages = true,
	.rank = hpf_rank,
};

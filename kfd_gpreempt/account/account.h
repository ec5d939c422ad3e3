/* SPDX-License-Identifier: MIT */
/*
 * account.h - for how long has a queue used the device?
 *
 * Pure code: see policy.h for what may be used here.
 */
#ifndef GPREEMPT_ACCOUNT_H
#define GPREEMPT_ACCOUNT_H

#include "core/policy.h"

/*
 * Looks are so far apart on average: this part of the time for which nothing has changed, between
 * these bounds. A reading of waves is paid for by so many times what it took; if waves cannot be
 * read, it is tried again soon.
 */
#define GPREEMPT_ACCOUNT_LOOK_SHARE	8
#define GPREEMPT_ACCOUNT_LOOK_MIN_NS	5000000ULL
#define GPREEMPT_ACCOUNT_LOOK_MAX_NS	50000000ULL
#define GPREEMPT_ACCOUNT_COST_SHARE	200
#define GPREEMPT_ACCOUNT_RETRY_NS	500000ULL
/*
 * After a doorbell they are so far apart at first, and then this part of how long the work has run.
 * As many as that takes may come at once, if the node has looked no more often on average than
 * otherwise, in so long a time.
 */
#define GPREEMPT_ACCOUNT_TOLD_MIN_NS	500000ULL
#define GPREEMPT_ACCOUNT_TOLD_SHARE	2
#define GPREEMPT_ACCOUNT_SAVED_NS	100000000ULL
/* What a look finds after a longer sleep has not begun before. */
#define GPREEMPT_ACCOUNT_UNKNOWN_NS	1000000000ULL

void gpreempt_account_begin(struct gpreempt_policy_queue *q, u64 now_ns);
void gpreempt_account_expect(struct gpreempt_policy_node *pn, u64 now_ns);
void gpreempt_account_interrupted(struct gpreempt_policy_queue *q, u64 from_ns, u64 until_ns);
void gpreempt_account_made_room(struct gpreempt_policy_queue *q, u64 until_ns);
void gpreempt_account_end(struct gpreempt_policy_queue *q, u64 now_ns);
void gpreempt_account_passed(struct gpreempt_policy_node *pn, u64 took_ns, u64 now_ns);
void gpreempt_account_look(struct gpreempt_policy_node *pn, bool asked, u64 now_ns);
void gpreempt_account_decided(struct gpreempt_policy_node *pn, u64 told_ns, bool makes_room,
			      u64 now_ns);
void gpreempt_account_stop(struct gpreempt_policy_node *pn, u64 now_ns);
u64 gpreempt_account_nap(const struct gpreempt_policy_node *pn, bool told, u64 now_ns);

#endif /* GPREEMPT_ACCOUNT_H */

/* SPDX-License-Identifier: MIT */
/*
 * beside.h - lower work that takes nothing from higher work
 *
 * Pure code: see policy.h for what may be used here.
 */
#ifndef GPREEMPT_BESIDE_H
#define GPREEMPT_BESIDE_H

#include "demand.h"

/* A kernel that works for so long is a long one: as long as what is below may starve. */
#define GPREEMPT_LONG_KERNEL_NS		1000000000ULL

void gpreempt_beside_account(struct gpreempt_policy_node *pn, u64 now_ns);
void gpreempt_beside_seen(struct gpreempt_policy_node *pn, u64 now_ns);
bool gpreempt_beside_allowed(const struct gpreempt_policy_node *pn,
			     const struct gpreempt_policy_process *p);
bool gpreempt_beside_asks(const struct gpreempt_policy_node *pn, u64 now_ns);
void gpreempt_beside_launched(struct gpreempt_policy_node *pn, struct gpreempt_policy_process *p,
			      u64 now_ns);
void gpreempt_beside_decided(struct gpreempt_policy_node *pn, struct gpreempt_policy_process *first,
			     bool lower_runs, bool acts, u64 now_ns);
u64 gpreempt_beside_until(const struct gpreempt_policy_node *pn,
			  const struct gpreempt_policy_process *p, u64 now_ns);

/* When it is to be told whether the last launch of a process has ended; ~0: at no time */
static inline u64 gpreempt_beside_silent_until(const struct gpreempt_policy_process *p)
{
	const struct gpreempt_policy_beside *b = &p->beside;
	bool doubted = b->doubted == p->launches && b->shown != p->launches;

	return b->silent_ns && doubted ? b->silent_ns : GPREEMPT_FOREVER_NS;
}

/* Another kernel begins, if one did not end with the last launch. How long did that work? */
static inline void beside_ends_kernel(struct gpreempt_policy_beside *b)
{
	if (!b->long_shared && b->kernel_ns >= GPREEMPT_LONG_KERNEL_NS &&
	    (!b->least_ns || b->kernel_ns < b->least_ns))
		b->least_ns = b->kernel_ns;
	b->kernel_ns = 0;
	b->slots = 0;
	b->long_allowed = false;
	b->long_shared = false;
}

/* What it launched since the last decision at which it worked, at each such */
static inline void gpreempt_beside_note(struct gpreempt_policy_process *p, u64 now_ns)
{
	struct gpreempt_policy_beside *b = &p->beside;

	if (b->noted_ns == now_ns)
		return;
	b->launched = p->launches - b->seen;
	if (b->launched)
		beside_ends_kernel(b);
	b->seen = p->launches;
	b->noted_ns = now_ns;
}

#endif /* GPREEMPT_BESIDE_H */

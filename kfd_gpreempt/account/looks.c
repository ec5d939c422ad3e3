// SPDX-License-Identifier: MIT
/* looks.c - when the accounts of a node look, and when they rest; account.c has the rules */
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "core/node.h"
#include "core/rooms.h"
#include "account.h"

/* What the monitor keeps of a node between looks. No lock: it alone uses this. */
struct looks_node {
	/** @nr: how many queues there were when priorities were derived last */
	u32 nr;
	/** @kept_out: the account is off, and none of the queues that were sampled is in it */
	bool kept_out;
};

GPREEMPT_PART(looks_node, struct gpreempt_node, struct looks_node)

/* If something has changed, queues may have come, and the tunable may be another. */
static void looks_sampled(struct gpreempt_node *gn, bool all, u64 now_ns)
{
	u32 nr = gn->monitor.nr_sampled + gn->monitor.nr_dormant;
	struct looks_node *node = looks_node(gn);

	node->kept_out &= !all;
	if (gn->monitor.derived_ns != now_ns)
		return;
	if (!gn->tun.account && !node->kept_out)
		gpreempt_account_stop(&gn->policy, now_ns);
	else if (gn->tun.account && nr > node->nr)
		gpreempt_account_expect(&gn->policy, now_ns);
	node->kept_out = !gn->tun.account;
	node->nr = nr;
}

static void looks_acted(struct gpreempt_node *gn, u64 elapsed_ns)
{
	gpreempt_account_passed(&gn->policy, elapsed_ns, ktime_get_ns());
}

static void looks_nap(struct gpreempt_node *gn, struct gpreempt_nap *nap)
{
	bool told = nap->told && min(nap->ns, nap->limit_ns) == U64_MAX;
	u64 ns;

	if (!gn->tun.account)
		return;
	/* Counters that have shown no wave yet are asked without telling decisions. */
	if (gn->policy.account.nr_open && !gn->policy.account.tells)
		gpreempt_waves_see(gn);
	ns = gpreempt_account_nap(&gn->policy, told, ktime_get_ns());
	/* Awake before it, a program that sees the monitor run would know that a look comes. */
	if (ns != U64_MAX)
		nap->ns = min(nap->ns, ns + GPREEMPT_SLACK_MAX_NS);
}

static void looks_halted(struct gpreempt_node *gn, u64 now_ns)
{
	gpreempt_account_stop(&gn->policy, now_ns);
}

const struct gpreempt_room gpreempt_room_looks = {
	.sampled = looks_sampled,
	.acted = looks_acted,
	.nap = looks_nap,
	.halted = looks_halted,
	.parts = { [GPREEMPT_OF_NODE] = &looks_node_part },
};

// SPDX-License-Identifier: MIT
/*
 * node.c - the node under test and the caller's side of policy.h
 *
 * look() and act() follow the pass described in policy.h to the letter. What a caller may rely on is
 * checked at every pass.
 */
#include <string.h>

#include "node.h"
#include "tap.h"

struct node node;
const bool tap_forks;

void tap_reset(void)
{
	memset(&node, 0, sizeof(node));
	/* An uptime of 50 days: whatever computes in 32 bits breaks. */
	node.now_ns = 50ULL * 86400 * SEC;
	node.params = (struct gpreempt_policy_params){
		.interval_ns = 5 * MS,
		.poll_ns = 200 * US,
		.max_hold_ns = SEC,
		.relief_ns = 20 * MS,
		.blocked_ns = 2 * MS,
		.slice_ns = 5 * MS,
		.overhead_pct = 10,
		.waves_known = true,
	};
	gpreempt_policy_use(&node.policy, gpreempt_policies[0]);
}

struct process *new_process(void)
{
	CHECK(node.nr_processes < NR_QUEUES_MAX);
	return &node.processes[node.nr_processes++];
}

struct queue *new_queue(struct process *process, s32 priority)
{
	struct queue *q;

	CHECK(node.nr_created < NR_QUEUES_MAX);
	q = &node.queues[node.nr_created++];
	q->process = process;
	q->policy.process = &process->policy;
	q->policy.priority = priority;
	q->policy.own_priority = priority;
	node.policies[node.nr_queues++] = &q->policy;
	return q;
}

struct queue *new_explicit_queue(struct process *process, s32 priority)
{
	struct queue *q = new_queue(process, priority);

	q->policy.explicit_priority = true;
	return q;
}

/* The caller unregisters a queue: the policy does not see it any more. */
void drop_queue(struct queue *q)
{
	u32 i;

	for (i = 0; node.policies[i] != &q->policy; i++)
		CHECK(i + 1 < node.nr_queues);
	node.nr_queues--;
	memmove(&node.policies[i], &node.policies[i + 1], (node.nr_queues - i) * sizeof(node.policies[0]));
}

static struct queue *queue_of(struct gpreempt_policy_queue *policy)
{
	return (struct queue *)((char *)policy - offsetof(struct queue, policy));
}

void submit(struct queue *q, u32 packets)
{
	q->wptr += packets;
}

void launch(struct queue *q, u32 packets, u32 waves)
{
	CHECK(on_device(q) && pending(q) >= packets);
	q->rptr += packets;
	q->waves += waves;
}

void finish(struct queue *q)
{
	CHECK(on_device(q));
	q->waves = 0;
}

/* Work without end: a kernel on the device, and more than enough behind it. */
void start_hog(struct queue *q)
{
	submit(q, 1000);
	launch(q, 1, 64);
}

/* Have queues come, gone or got another priority since the last look? */
static bool order_changed(void)
{
	u64 sum = node.nr_queues;
	bool changed;
	u32 i;

	for (i = 0; i < node.nr_queues; i++) {
		const struct gpreempt_policy_queue *q = node.policies[i];

		sum = sum * 1000003 + (u64)((const char *)q - (const char *)&node);
		sum = sum * 1000003 + (u32)q->priority;
		sum = sum * 1000003 + (u32)q->own_priority;
		sum = sum * 1000003 + q->explicit_priority;
	}
	changed = sum != node.order;
	node.order = sum;
	return changed;
}

void look(void)
{
	struct gpreempt_decision *d = &node.decision;
	u32 i, nr_preempt = 0, nr_resume = 0;
	bool held = false;

	for (i = 0; i < node.nr_queues; i++) {
		struct queue *q = queue_of(node.policies[i]);

		gpreempt_policy_sample(&q->policy, q->rptr, q->wptr, pending(q), node.now_ns);
	}
	node.policy.queues = node.policies;
	node.policy.nr = node.nr_queues;
	node.policy.params = node.params;
	node.policy.changed |= order_changed();
	if (node.use && node.use != node.policy.ops)
		gpreempt_policy_use(&node.policy, node.use);
	if (node.disturbed)
		gpreempt_policy_disturbed(&node.policy, node.now_ns);
	node.disturbed = false;
	node.asked = gpreempt_policy_needs_waves(&node.policy, node.now_ns);
	for (i = 0; node.asked && i < node.nr_queues; i++) {
		struct queue *q = queue_of(node.policies[i]);

		if (on_device(q))
			gpreempt_policy_set_waves(&q->policy, q->invisible ? 0 : q->waves, node.now_ns);
	}
	gpreempt_policy_decide(&node.policy, node.now_ns, d);

	node.nr_passes++;
	node.nr_asked += node.asked;
	node.nr_relief += d->nr_relief;

	for (i = 0; i < node.nr_queues; i++) {
		const struct gpreempt_policy_queue *q = node.policies[i];

		CHECK(q->action != GPREEMPT_PREEMPT || (!q->preempted && !q->immovable && !q->process->opt_out));
		held |= q->hold;
		CHECK(q->action != GPREEMPT_RESUME || q->preempted);
		nr_preempt += q->action == GPREEMPT_PREEMPT;
		nr_resume += q->action == GPREEMPT_RESUME;
	}
	CHECK_EQ(d->nr_preempt, nr_preempt);
	CHECK_EQ(d->nr_resume, nr_resume);
	CHECK(!d->nr_preempt || d->inversion || held);
	CHECK(!(d->park && d->nr_preempt));
	CHECK(d->next_ns >= 10 * US);
	CHECK(d->next_ns <= node.params.interval_ns);
}

void act(void)
{
	u32 i;

	for (i = 0; i < node.nr_queues; i++) {
		struct queue *q = queue_of(node.policies[i]);

		switch (q->policy.action) {
		case GPREEMPT_PREEMPT:
			gpreempt_policy_preempted(&q->policy, q->waves != 0, node.now_ns);
			q->preempted++;
			node.nr_preempted++;
			break;
		case GPREEMPT_RESUME:
			gpreempt_policy_resumed(&q->policy, node.now_ns);
			break;
		case GPREEMPT_KEEP:
			break;
		}
	}
	if (!node.decision.nr_preempt && !node.decision.nr_resume)
		return;
	node.nr_acting++;
	gpreempt_policy_overhead(&node.policy, node.pass_takes_ns, node.decision.nr_preempt, node.now_ns);
}

void pass(void)
{
	look();
	act();
}

void pass_after(u64 ns)
{
	node.now_ns += ns;
	pass();
}

void passes_for(u64 ns, u64 every_ns)
{
	u64 end_ns = node.now_ns + ns;

	while (node.now_ns + every_ns <= end_ns)
		pass_after(every_ns);
}

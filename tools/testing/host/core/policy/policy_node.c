// SPDX-License-Identifier: MIT
/*
 * policy_node.c - the node under test and the caller's side of policy.h
 *
 * look() and act() follow the pass described in policy.h to the letter. What a caller may rely on is
 * checked at every pass.
 */
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "demand.h"
#include "level.h"
#include "pass.h"
#include "debt.h"
#include "policy_node.h"
#ifdef CONFIG_KFD_GPREEMPT_SHARES
#include "share.h"
#endif
#include "tap.h"

/* KUnit has its own. */
#ifndef between_passes
#define between_passes()
#endif

struct node node;
struct queue *low, *middle, *high;
const bool tap_forks;

/* Each test begins with the same numbers. */
static u64 random_state;

static u32 policy_random(void)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return random_state >> 32;
}

/* As another machine would have them */
void other_numbers(void)
{
	random_state++;
}

void tap_reset(void)
{
	memset(&node, 0, sizeof(node));
	random_state = tap_setting("SEED", 1);
	node.policy.account.random = policy_random;
	/* An uptime of 50 days: whatever computes in 32 bits breaks. */
	node.now_ns = 50ULL * 86400 * SEC;
	node.params = (struct gpreempt_policy_params){
		.interval_ns = 5 * MS,
		.poll_ns = 80 * US,
		.max_hold_ns = SEC,
		.relief_ns = 20 * MS,
		.blocked_ns = 2 * MS,
		.drain_ns = 200 * US,
		.slice_ns = 5 * MS,
		.overhead_pct = 10,
	};
	node.device.waves_known = true;
	/* Something has run before. */
	node.policy.waves_seen = true;
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
	q->policy.time.since_ns = node.now_ns;
	q->policy.time.sure_ns = node.now_ns;
	q->policy.set.priority = priority;
	q->policy.set.own_priority = priority;
	node.policies[node.nr_queues++] = &q->policy;
	return q;
}

#ifdef CONFIG_KFD_GPREEMPT_SHARES
static void make_group_at(u32 number, u16 parent, u32 weight)
{
	u32 at = 2 * number;

	node.entities[at] = (struct gpreempt_policy_entity){ .used = true, .parent = 2 * parent, .weight = weight };
	node.entities[at + 1] = (struct gpreempt_policy_entity){ .used = true, .parent = at, .weight = GPREEMPT_WEIGHT_NORMAL };
}

static void make_group(u16 parent, u32 weight)
{
	CHECK(node.nr_groups < NR_GROUPS_MAX);
	make_group_at(node.nr_groups++, parent, weight);
}

/* Below another one, by number; the root group is 0, and the first one made is 1. */
struct gpreempt_policy_entity *new_group(u16 parent, u32 weight)
{
	if (!node.nr_groups)
		make_group(0, GPREEMPT_WEIGHT_NORMAL);
	make_group(parent, weight);
	gpreempt_share_use(&node.policy, node.entities, 2 * node.nr_groups);
	return &node.entities[2 * node.nr_groups - 2];
}

/* It goes, and one like it comes. */
void remake_group(u32 number)
{
	struct gpreempt_policy_entity was = node.entities[2 * number];

	gpreempt_share_forget(node.entities, number);
	make_group_at(number, was.parent / 2, was.weight);
	gpreempt_share_use(&node.policy, node.entities, node.policy.nr_entities);
}
#else
struct gpreempt_policy_entity *new_group(u16 parent, u32 weight)
{
	tap_skip("no shares");
}
#endif

/* Of a process of its own, in this group. */
struct queue *new_queue_in(u16 group, s32 priority)
{
	struct queue *q = new_queue(new_process(), priority);

	q->process->policy.group = group;
	return q;
}

struct queue *new_explicit_queue(struct process *process, s32 priority)
{
	struct queue *q = new_queue(process, priority);

	q->policy.set.explicit_priority = true;
	return q;
}

/* So long one that starves alone waits until it is worth the class above it. */
u64 owed_ns(void)
{
	return gpreempt_debt_turn_ns(&node.policy) * (node.params.max_hold_ns + node.params.relief_ns) /
	       node.params.relief_ns;
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

/* All packets launched, all waves done. */
void drain(struct queue *q)
{
	launch(q, pending(q), 0);
	finish(q);
}

/* All of its work is done, and "no waves" has been seen for as long as it takes to be believed. */
void drain_and_settle(struct queue *q)
{
	drain(q);
	passes_for(GPREEMPT_WAVES_SETTLE_NS + POLL, POLL);
}

/* Its saved waves were its last: nothing is left to do when it comes back. */
void finish_saved(struct queue *q)
{
	CHECK(!on_device(q));
	q->rptr = q->wptr;
	q->waves = 0;
	gpreempt_policy_saved(&q->policy, false);
}

/* Work without end: a kernel on the device, and more than enough behind it. */
void start_hog(struct queue *q)
{
	submit(q, 1000);
	launch(q, 1, 64);
}

/* A kernel and a packet behind it, which the device begins with when the queue is there. */
void begin_kernel(struct queue *q)
{
	submit(q, 2);
	q->rptr++;
	q->waves = 64;
}

/* The device works on a kernel that needs @left_ns of it for the time of a look. Returns whether it ends with that. */
bool ends_with_this_look(struct queue *q, u64 *left_ns)
{
	if (!*left_ns || !on_device(q))
		return false;
	*left_ns = *left_ns > POLL ? *left_ns - POLL : 0;
	if (!*left_ns)
		drain(q);
	return !*left_ns;
}

/* It runs, and the ring is empty: only the device knows. */
void last_kernel(struct queue *q)
{
	submit(q, 1);
	launch(q, 1, 8);
}

/* It has had a kernel, and is idle; nobody has looked yet whether it has waves. */
void past_kernel(struct queue *q)
{
	submit(q, 1);
	drain(q);
}

static u64 hashed(u64 sum, u64 value)
{
	return (sum ^ value) * 0x9e3779b97f4a7c15ULL + 1;
}

/* Has one of these sums changed since it was last asked for? */
static bool moved(u64 *last, u64 sum)
{
	bool changed = sum != *last;

	*last = sum;
	return changed;
}

/* Have queues come, gone or got another priority, or what lends one, since the last look? In which order they are does not count. */
static bool order_changed(void)
{
	u64 sum = node.nr_queues;
	u32 i;

	for (i = 0; i < node.nr_queues; i++) {
		const struct gpreempt_policy_queue *q = node.policies[i];
		u64 one = (u64)((const char *)q - (const char *)&node);

		one = hashed(one, (u32)q->set.priority);
		one = hashed(one, (u32)q->set.lent_max);
		one = hashed(one, (u64)q->process->waits_for + q->process->lends_all);
		one = hashed(one, (u32)q->set.own_priority);
		sum += hashed(one, q->set.explicit_priority);
	}
	return moved(&node.order, sum);
}

/* What else makes a caller look at all queues: whatever it sets, but for what the driver allows. */
static bool kicked(void)
{
	const unsigned char *params = (const unsigned char *)&node.params;
	u64 sum = 0;
	size_t n;
	u32 i;

	for (i = 0; i < node.nr_queues; i++) {
		const struct gpreempt_policy_queue *q = node.policies[i];
		u64 one = (u64)((const char *)q - (const char *)&node);

		one = hashed(one, q->set.hold + 2 * q->set.hold_unbounded + 4 * q->process->opt_out + 8 * q->set.unseen);
		one = hashed(one, q->set.expected_until_ns);
		one = hashed(one, q->set.weight + ((u64)q->process->weight << 32));
		one = hashed(one, q->set.deadline_ns);
		sum += hashed(one, q->process->deadline_ns);
	}
	for (n = 0; n < sizeof(node.params); n++)
		sum = hashed(sum, params[n]);
	sum = hashed(sum, node.device.waves_known + 2 * node.device.waves_saved);
	sum = hashed(sum, node.device.waves_lag_ns);
	return moved(&node.kicks, sum);
}

static void sample(struct queue *q)
{
	gpreempt_demand_sample(&q->policy, q->rptr, q->wptr, pending(q), node.now_ns);
}

static void sample_all(u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		sample(queue_of(node.policies[i]));
}

/* Only a runlist tells who has waves: the decision was put off, and is begun anew when it has. */
static void send_runlist(void)
{
	u32 i;

	for (i = 0; i < node.nr_queues; i++) {
		struct queue *q = queue_of(node.policies[i]);

		if (on_device(q))
			gpreempt_demand_saw(&q->policy, &node.device, q->waves != 0, node.now_ns);
	}
	node.nr_runlists++;
	gpreempt_policy_overhead(&node.policy, node.pass_takes_ns, false, node.now_ns);
}

/* As if they had been read, if they cannot be: what is unknown is taken for waves then. */
static bool read_waves(struct gpreempt_policy_node *pn, struct gpreempt_pass *pass)
{
	u32 i;

	for (i = 0; !node.silent && i < pn->nr; i++) {
		struct queue *q = queue_of(node.policies[i]);

		if (on_device(q))
			gpreempt_demand_counted(pn, &q->policy, q->invisible || node.zero_waves ? 0 : q->waves,
						q->invisible ? q->waves : node.stack_kept, pass->now_ns);
	}
	return true;
}

/* The nr first ones are looked at, the others are dormant. */
static void decide(u32 nr)
{
	struct gpreempt_pass pass = {
		.now_ns = node.now_ns,
		.policy = node.use ? node.use : node.policy.ops,
		.turns_ns = node.turns_ns,
		.waves_saved = node.device.waves_saved,
		.checks = node.device.waves_saved,
		.accounts = node.accounts,
		.told_ns = node.told_ns,
	};

	node.policy.queues = node.policies;
	node.policy.nr = nr;
	node.policy.nr_dormant = node.nr_queues - nr;
	node.policy.device.waves_known = node.device.waves_known;
	node.policy.device.waves_lag_ns = node.device.waves_lag_ns;
	sample_all(nr);
	if (node.runlist_changed)
		gpreempt_demand_runlist_changed(&node.policy, node.now_ns);
	while (!gpreempt_pass_look(&node.policy, &pass, read_waves)) {
		CHECK(pass.asks_runlist);
		send_runlist();
		sample_all(nr);
	}
	gpreempt_pass_decide(&node.policy, &pass);
	node.asked = pass.needs_waves;
	node.decision = pass.decision;
	if (node.accounts)
		node.told_ns = 0;
}

static void swap_places(u32 a, u32 b)
{
	struct gpreempt_policy_queue *q = node.policies[a];

	node.policies[a] = node.policies[b];
	node.policies[b] = q;
}

/* How many are to be looked at: those whose pointers moved join them. */
static u32 nr_awake(bool all)
{
	u32 i, nr = node.nr_awake;

	if (all || node.now_ns >= node.all_due_ns) {
		node.all_due_ns = node.now_ns + SEC;
		return node.nr_queues;
	}
	for (i = nr; i < node.nr_queues; i++) {
		const struct queue *q = queue_of(node.policies[i]);

		if (q->rptr != q->policy.seen.rptr || q->wptr != q->policy.seen.wptr)
			swap_places(i, nr++);
	}
	return nr;
}

static void make_dormant(u32 nr)
{
	const struct gpreempt_decision *d = &node.decision;
	u32 i = 0;

	if (d->nr_preempt || d->nr_resume || d->nr_would_preempt || d->nr_would_resume)
		node.all_due_ns = 0;
	while (node.all_due_ns && i < nr) {
		if (gpreempt_policy_dormant(&node.policy, node.policies[i], node.now_ns, &node.all_due_ns))
			swap_places(i, --nr);
		else
			i++;
	}
	node.nr_awake = nr;
	node.nr_spared += node.nr_queues - nr;
}

/* Would looking at all queues have decided otherwise than looking at those that are not dormant? */
static void check_dormant(const struct node *before)
{
	static struct node decided;
	u32 i;

	decided = node;
	node = *before;
	decide(node.nr_queues);
	for (i = 0; i < node.nr_created; i++)
		CHECK_EQ(node.queues[i].policy.action, decided.queues[i].policy.action);
	for (i = 0; i < node.nr_created; i++)
		CHECK_EQ(node.queues[i].policy.verdict, decided.queues[i].policy.verdict);
	CHECK_EQ(node.asked, decided.asked);
	CHECK_EQ(node.decision.next_ns, decided.decision.next_ns);
	CHECK_EQ(node.decision.contended, decided.decision.contended);
	CHECK_EQ(node.decision.park, decided.decision.park);
	CHECK_EQ(node.decision.nr_preempted, decided.decision.nr_preempted);
	node = decided;
}

void look(void)
{
	static struct node before;
	struct gpreempt_decision *d = &node.decision;
	u32 i, nr, nr_preempt = 0, nr_resume = 0, nr_leading = 0;
	bool held = false, all;

	between_passes();
	node.policy.params = node.params;
	all = kicked();
	if (order_changed()) {
		node.policy.changed = true;
		all = true;
	}
	nr = nr_awake(all || (node.use && node.use != node.policy.ops));
	if (nr < node.nr_queues)
		before = node;
	decide(nr);
	if (nr < node.nr_queues)
		check_dormant(&before);

	node.nr_passes++;
	node.nr_asked += node.asked;
	node.nr_relief += d->nr_relief;

	for (i = 0; i < node.nr_queues; i++) {
		const struct gpreempt_policy_queue *q = node.policies[i];

		CHECK(q->action != GPREEMPT_PREEMPT || (!q->preempted && !q->set.immovable && !q->process->opt_out));
		held |= q->set.hold || q->kept_off;
		CHECK(q->action != GPREEMPT_RESUME || q->preempted);
		CHECK(q->verdict != GPREEMPT_VERDICT_NONE);
		CHECK_EQ(q->verdict < GPREEMPT_VERDICT_OFF && q->verdict != GPREEMPT_VERDICT_OBSERVED, level_stays(q));
		nr_leading += q->leads;
		nr_preempt += q->action == GPREEMPT_PREEMPT;
		nr_resume += q->action == GPREEMPT_RESUME;
	}
	CHECK_EQ(d->nr_preempt, nr_preempt);
	CHECK_EQ(d->nr_resume, nr_resume);
	CHECK_EQ(d->level_valid, nr_leading);
	CHECK(!d->nr_preempt || d->inversion || held);
	CHECK(!d->nr_would_preempt || d->inversion || held);
	CHECK(!node.params.observe || !d->nr_preempt);
	CHECK(node.params.observe || (!d->nr_would_preempt && !d->nr_would_resume && !d->nr_requests));
	CHECK(!(d->park && d->nr_preempt));
	CHECK(d->next_ns >= 10 * US);
	CHECK(d->next_ns <= node.params.interval_ns);
	CHECK(!node.policy.changed);
	node.runlist_changed = false;
	make_dormant(nr);
}

void act(void)
{
	u32 i;

	for (i = 0; i < node.nr_queues; i++) {
		struct queue *q = queue_of(node.policies[i]);

		switch (q->policy.action) {
		case GPREEMPT_PREEMPT:
			gpreempt_policy_preempted(&q->policy, q->waves != 0 || (node.stack_kept && q->rptr), node.now_ns);
			if (node.device.waves_saved && !q->waves)
				gpreempt_demand_saw(&q->policy, &node.device, false, node.now_ns);
			q->preempted++;
			node.nr_preempted++;
			break;
		case GPREEMPT_RESUME:
			gpreempt_policy_resumed(&q->policy, node.now_ns);
			break;
		case GPREEMPT_KEEP:
			gpreempt_demand_mapped(&q->policy, q->rptr);
			break;
		}
	}
	/* It would have cost so much. */
	if (node.decision.nr_would_preempt || node.decision.nr_would_resume)
		gpreempt_policy_overhead(&node.policy, node.pass_takes_ns, node.decision.nr_would_preempt, node.now_ns);
	node.nr_would_preempt += node.decision.nr_would_preempt;
	node.nr_would_resume += node.decision.nr_would_resume;
	node.nr_would_act += node.decision.nr_would_preempt || node.decision.nr_would_resume;
	node.nr_requests += node.decision.nr_requests;
	if (!node.decision.nr_preempt && !node.decision.nr_resume)
		return;
	node.nr_acting++;
	for (i = 0; i < node.nr_queues; i++) {
		struct queue *q = queue_of(node.policies[i]);

		if (on_device(q) && q->policy.seen.in_doubt && !node.untold)
			gpreempt_demand_saw(&q->policy, &node.device, q->waves, node.now_ns);
	}
	gpreempt_policy_overhead(&node.policy, node.pass_takes_ns, node.decision.nr_preempt, node.now_ns);
}

void spend(struct queue *q, u64 ns)
{
	node.policy.payer = q->policy.set.priority;
	node.policy.pays = !gpreempt_budget_exempts(&node.policy, node.policy.payer, node.now_ns);
	gpreempt_policy_overhead(&node.policy, ns, false, node.now_ns);
}

u64 spent_ns(void)
{
	return node.policy.nr_buckets ? node.policy.buckets[node.policy.nr_buckets - 1].spent_ns : 0;
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

/* Passes until @q has the device, or until it has not; returns how long that took. */
u64 time_until(const struct queue *q, bool there, u64 at_most_ns)
{
	u64 start_ns = node.now_ns;

	while (on_device(q) != there && node.now_ns - start_ns < at_most_ns)
		pass_after(POLL);
	CHECK_EQ(on_device(q), there);
	return node.now_ns - start_ns;
}

u32 nr_policies(void)
{
	u32 nr = 0;

	while (gpreempt_policies[nr])
		nr++;
	return nr;
}

const struct gpreempt_policy_ops *policy_named(const char *name)
{
	u32 i;

	for (i = 0; gpreempt_policies[i]; i++)
		if (!strcmp(gpreempt_policies[i]->name, name))
			return gpreempt_policies[i];
#ifndef CONFIG_KFD_GPREEMPT_POLICIES
	tap_skip(name);
#endif
	tap_fail(__FILE__, __LINE__, "no policy is called %s", name);
}

/* From the next pass on this policy decides. */
void use(const char *name)
{
	node.use = policy_named(name);
}

void two_processes(void)
{
	low = new_queue(new_process(), LOW);
	high = new_queue(new_process(), HIGH);
}

void three_processes(void)
{
	two_processes();
	middle = new_queue(new_process(), MIDDLE);
}

/* Without end, and nobody else does. */
void low_works(void)
{
	two_processes();
	start_hog(low);
	pass();
}

/* Work without end for both */
void start_both(void)
{
	start_hog(low);
	start_hog(high);
}

void both_work(void)
{
	two_processes();
	start_both();
	pass();
}

/* In the middle of a kernel, for a packet of high. */
void low_is_preempted(void)
{
	low_works();
	submit(high, 1);
	CHECK_AFTER(POLL, !on_device(low));
}

/* The same, for work without end. */
void hog_preempts_low(void)
{
	low_works();
	start_hog(high);
	CHECK_AFTER(POLL, !on_device(low));
}

/* On request, in the middle of its work. */
void high_is_held(void)
{
	high = new_queue(new_process(), HIGH);
	start_hog(high);
	high->policy.set.hold = true;
	CHECK_AFTER(0, !on_device(high));
}

/* Under edf, three processes: of one that is idle, work would be due before a new one of high. */
struct queue *idle_beside_deadlines(void)
{
	struct queue *idle = new_queue(new_process(), HIGH);

	use("edf");
	two_processes();
	idle->process->policy.deadline_ns = 10 * MS;
	high->process->policy.deadline_ns = 20 * MS;
	return idle;
}

/* Low is taken off for high, and idle, which could not be due before high, goes along. */
struct queue *idle_goes_along_by_deadline(void)
{
	struct queue *idle = idle_beside_deadlines();

	start_hog(high);
	pass();
	/* High is due in 5 ms: idle could be due in 10 at the earliest. */
	pass_after(15 * MS);
	start_hog(low);
	CHECK_AFTER(POLL, !on_device(low) && !on_device(idle));
	return idle;
}

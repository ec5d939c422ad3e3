// SPDX-License-Identifier: MIT
/*
 * policies_test.c - what holds whichever policy ranks
 *
 * The list of policies, the change from one to another, and idle queues where ranks move by
 * themselves.
 */
#include <string.h>

#include "policy_node.h"
#include "tap.h"

TEST(policies_have_names, "hpf comes first, every policy has a name and ranks")
{
	u32 i;

	CHECK(!strcmp(gpreempt_policies[0]->name, "hpf"));
	for (i = 0; gpreempt_policies[i]; i++)
		CHECK(gpreempt_policies[i]->name && gpreempt_policies[i]->rank);
#ifdef CONFIG_KFD_GPREEMPT_POLICIES
	CHECK_EQ(i, 3);
#else
	CHECK_EQ(i, 1);
#endif
}

TEST(switching_resumes_what_should_run, "what the new policy does not hold is resumed by the first pass under it, and back again")
{
	hog_preempts_low();
	use("edf");
	CHECK_AFTER(POLL, on_device(low) && on_device(high));
	CHECK_AFTER(POLL, node.decision.park);
	use("hpf");
	CHECK_AFTER(POLL, !on_device(low));
	use("wfq");
	CHECK_LATER(50 * MS, on_device(low) != on_device(high));
	CHECK(low->preempted + high->preempted >= 3);
}

TEST(another_policy_begins_anew, "whoever decides from now on finds no accounts, deadlines or ages, in any queue")
{
	struct queue *queues[3];
	u32 i;

	for (i = 0; i < 3; i++) {
		queues[i] = new_queue(new_process(), LOW);
		queues[i]->policy.share.server.vtime_ns = queues[i]->process->policy.share.server.vtime_ns = 5;
		queues[i]->policy.due_ns = 5;
		queues[i]->policy.aged_until_ns = node.now_ns + SEC;
	}
	pass();
	gpreempt_policy_use(&node.policy, gpreempt_policies[0]);
	CHECK(node.policy.changed);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(queues[i]->policy.share.server.vtime_ns + queues[i]->process->policy.share.server.vtime_ns, 0);
		CHECK_EQ(queues[i]->policy.due_ns, 0);
		CHECK_EQ(queues[i]->policy.aged_until_ns, 0);
	}
}

TEST(idle_queues_do_not_come_and_go, "where ranks move by themselves, a preempted queue without work is no reason for a runlist")
{
	struct queue *idle = idle_goes_along_by_deadline();

	node.params.max_hold_ns = 0;
	/* High is due again in 20. */
	CHECK_LATER(500 * MS, !on_device(idle));
	CHECK_EQ(node.nr_acting, 1);
	/* When it has work, it has its place. */
	idle->process->policy.deadline_ns = 1 * MS;
	submit(idle, 1);
	CHECK_AFTER(POLL, on_device(idle));
}

/* An idle queue that has never worked, taken off as if it had gone along with others. */
static void take_along(struct queue *q)
{
	pass();
	gpreempt_policy_preempted(&q->policy, false, node.now_ns);
}

TEST(idle_queues_return_with_others, "where ranks move by themselves, a preempted queue without work comes back with the next runlist that is sent for another reason")
{
	struct queue *idle;

	use("edf");
	idle = new_queue(new_process(), HIGH);
	two_processes();
	idle->process->policy.deadline_ns = MS;
	high->process->policy.deadline_ns = 20 * MS;
	start_hog(low);
	take_along(idle);
	CHECK(on_device(low));
	CHECK_AFTER(POLL, !on_device(idle));
	start_hog(high);
	CHECK_AFTER(POLL, !on_device(low) && on_device(idle));
}

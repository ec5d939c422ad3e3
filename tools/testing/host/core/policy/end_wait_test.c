// SPDX-License-Identifier: MIT
/*
 * end_wait_test.c - when to look for the end of what others are off the device for, if other work announces itself
 */
#include "policy_node.h"
#include "tap.h"

static u64 wait_now(void)
{
	return gpreempt_policy_end_wait(&node.policy, node.now_ns);
}

/* High works for so long, low has work all the time. */
static void high_works_for(u64 ns)
{
	start_hog(high);
	passes_for(ns, POLL);
	drain_and_settle(high);
	passes_for(20 * MS, POLL);
}

/* It did so several times, and begins once more. */
static void high_begins_after(u32 times, u64 ns)
{
	node.params.poll_ns = POLL;
	two_processes();
	start_hog(low);
	pass();
	while (times--)
		high_works_for(ns);
	start_hog(high);
	CHECK_AFTER(POLL, !on_device(low));
	pass_after(POLL);
}

TEST(ends_are_looked_for_when_they_are_due, "after half of what is left of the time that work took before, at most a millisecond later; near it, as often as ever")
{
	u64 wait_ns;

	high_begins_after(5, 10 * MS);
	CHECK_EQ(wait_now(), GPREEMPT_BRIEF_NS);
	passes_for(8 * MS + 200 * US, POLL);
	wait_ns = wait_now();
	CHECK(wait_ns > POLL && wait_ns < GPREEMPT_BRIEF_NS);
	pass_after(wait_ns);
	CHECK(wait_now() < wait_ns);
	passes_for(2 * MS, POLL);
	CHECK_EQ(wait_now(), 0);
}

TEST(nothing_is_known_of_new_work, "without a time from before, the end is looked for as ever")
{
	high_begins_after(0, 0);
	CHECK_EQ(wait_now(), 0);
}

TEST(short_work_counts_at_once, "a shorter work makes looks as frequent as it was short, longer ones make them rarer by and by")
{
	high_begins_after(5, 10 * MS);
	drain_and_settle(high);
	passes_for(20 * MS, POLL);
	start_hog(high);
	passes_for(2 * POLL, POLL);
	CHECK_EQ(wait_now(), 0);
	drain_and_settle(high);
	passes_for(20 * MS, POLL);
	high_works_for(20 * MS);
	CHECK_WITHIN(high->policy.work_ns, 2 * MS, 6 * MS);
}

TEST(equals_work_on_after_each_other, "of several queues at the level the one that works longest counts, whatever is known of others")
{
	struct queue *equal;

	high_begins_after(5, 10 * MS);
	equal = new_queue(new_process(), HIGH);
	submit(equal, 1);
	pass_after(POLL);
	CHECK_EQ(wait_now(), GPREEMPT_BRIEF_NS);
}

TEST(who_comes_without_a_word_is_looked_for, "while a process could get work that changes anything, without telling, work is looked for as ever")
{
	struct queue *other;

	high_begins_after(5, 10 * MS);
	other = new_queue(new_process(), HIGH + 1);
	pass_after(POLL);
	CHECK_EQ(wait_now(), 0);
	other->process->policy.armed = true;
	CHECK_EQ(wait_now(), GPREEMPT_BRIEF_NS);
	other->process->policy.armed = false;
	/* An equal one would only work along; one below would be in the way. */
	other->policy.set.priority = HIGH;
	node.policy.changed = true;
	pass_after(POLL);
	CHECK_EQ(wait_now(), GPREEMPT_BRIEF_NS);
	other->policy.set.priority = MIDDLE;
	node.policy.changed = true;
	pass_after(POLL);
	CHECK_EQ(wait_now(), 0);
}

TEST(queues_of_the_one_that_works, "another queue of the process that works matters only if it is higher, or was given its place")
{
	struct queue *sibling;

	high_begins_after(5, 10 * MS);
	sibling = new_queue(high->process, HIGH);
	pass_after(POLL);
	CHECK_EQ(wait_now(), GPREEMPT_BRIEF_NS);
	sibling->policy.set.priority = LOW;
	node.policy.changed = true;
	pass_after(POLL);
	CHECK_EQ(wait_now(), GPREEMPT_BRIEF_NS);
	sibling->policy.set.priority = HIGH + 1;
	node.policy.changed = true;
	pass_after(POLL);
	CHECK_EQ(wait_now(), 0);
}

TEST(turns_end_by_themselves, "where ranks move the end of a turn counts, and where looks are rare they stay as they are")
{
	high_begins_after(5, 10 * MS);
	node.params.poll_ns = 0;
	pass_after(POLL);
	CHECK_EQ(wait_now(), 0);
	node.params.poll_ns = POLL;
	pass_after(POLL);
	CHECK_EQ(wait_now(), GPREEMPT_BRIEF_NS);
	node.policy.ops = policy_named("wfq");
	CHECK_EQ(wait_now(), 0);
	node.policy.ops = policy_named("hpf");
}

TEST(deadlines_do_not_wait_for_ends, "when nothing has to be looked for, the first deadline is told all the same")
{
	high_begins_after(5, 10 * MS);
	CHECK(node.decision.next_ns <= POLL);
	CHECK(node.decision.until_ns > POLL && node.decision.until_ns <= node.params.interval_ns);
	node.params.interval_ns = SEC;
	node.params.max_hold_ns = 4 * MS;
	pass_after(POLL);
	CHECK(node.decision.until_ns < 4 * MS);
}

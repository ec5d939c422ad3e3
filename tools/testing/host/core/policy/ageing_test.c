// SPDX-License-Identifier: MIT
/* ageing_test.c - what is preempted gains rank, until it runs beside the level */
#include <string.h>

#include "victims.h"
#include "demand.h"
#include "tap.h"

TEST(aging_raises_to_equality_at_most,
     "a preempted queue that ages comes to run beside the level, never instead of it, and is young again afterwards")
{
	node.params.aging_ns = 5 * MS;
	hog_preempts_low();
	CHECK_EQ(low->policy.effective_priority, LOW);
	CHECK_EQ_LATER(25 * MS, low->policy.effective_priority, LOW + 5);
	CHECK(!on_device(low));
	/* Ten steps. */
	CHECK_EQ_LATER(25 * MS, low->policy.effective_priority, HIGH);
	CHECK(on_device(low) && on_device(high));
	CHECK_EQ(node.decision.level, HIGH);
	CHECK_EQ(node.nr_relief, 0);
	CHECK_LATER(node.params.relief_ns - POLL, on_device(low));
	CHECK_LATER(2 * POLL, !on_device(low));
	CHECK_EQ(low->policy.effective_priority, LOW);
	CHECK_EQ(high->preempted, 0);
}

TEST(age_outranks_nobody, "an aged queue is no reason to take off one that it was below when it was young")
{
	middle = new_queue(new_process(), MIDDLE);
	node.params.aging_ns = 5 * MS;
	hog_preempts_low();
	CHECK_LATER(40 * MS, low->policy.effective_priority > MIDDLE);
	submit(middle, 1000);
	drain(high);
	time_until(middle, true, 10 * MS);
	CHECK_EQ(node.decision.level, MIDDLE);
	CHECK_EQ(low->policy.effective_priority, MIDDLE);
	CHECK_LATER(15 * MS, on_device(middle));
}

TEST(age_is_for_work, "a preempted queue without work does not age")
{
	struct queue *idle = new_queue(new_process(), LOW);

	node.params.aging_ns = 5 * MS;
	hog_preempts_low();
	CHECK_LATER(55 * MS, on_device(low) && !on_device(idle));
	CHECK_EQ(idle->policy.effective_priority, LOW);
}

TEST(age_is_seen_in_time, "the end of the wait for equality, and of the time beside the level, shorten the sleep")
{
	node.params.aging_ns = 1 * MS;
	node.params.interval_ns = 100 * MS;
	node.params.poll_ns = 0;
	hog_preempts_low();
	CHECK_EQ(node.decision.next_ns, 10 * MS);
	CHECK_AFTER(node.decision.next_ns, on_device(low));
	CHECK_EQ(node.decision.next_ns, node.params.relief_ns);
	CHECK_AFTER(node.decision.next_ns, !on_device(low));
}

TEST(aging_orders_a_process_too, "ageing counts between queues of one process whose priorities were asked for")
{
	node.params.aging_ns = 5 * MS;
	low = new_explicit_queue(new_process(), LOW);
	high = new_explicit_queue(low->process, HIGH);
	start_both();
	CHECK_AFTER(0, !on_device(low));
	CHECK_LATER(51 * MS, on_device(low) && on_device(high));
}

TEST(age_does_not_wait_for_a_resume_delay, "a queue that comes to run beside the level by its age has waited for long enough")
{
	node.params.aging_ns = 1 * MS;
	node.params.resume_delay_ns = 500 * MS;
	hog_preempts_low();
	CHECK_EQ(time_until(low, true, 100 * MS), 10 * MS);
}

TEST(staggered_ages_do_not_add_up, "what ages lets in queues for the length of a relief each time that one of them needs to get as old, however many they are")
{
	static const u32 counts[] = { 1, 10, NR_VICTIMS };
	u32 k;

	EACH_ANEW(i, ARRAY_SIZE(counts), "%u queues: ", counts[i]) {
		memset(&crowd, 0, sizeof(crowd));
		/* Ten steps. */
		node.params.aging_ns = 10 * MS;
		high = new_queue(new_process(), HIGH);
		start_hog(high);
		for (k = 0; k < counts[i]; k++)
			victims[k] = new_queue(new_process(), LOW);
		pass();
		for (k = 0; k < counts[i]; k++) {
			submit(victims[k], 100000);
			crowd_step(counts[i]);
			crowd_step(counts[i]);
		}
		while (crowd.total_ns < SEC)
			crowd_step(counts[i]);
		CHECK_EQ(high->preempted, 0);
		if (crowd.high_ns * 120 < crowd.total_ns * 99)
			tap_fail(__FILE__, __LINE__, "the higher queue is alone for %llu %% of the time",
				 (unsigned long long)(crowd.high_ns * 100 / crowd.total_ns));
		/* Each had its part. */
		CHECK(crowd.longest_ns < 2 * 120 * MS);
	}
}

TEST(age_waits_in_time, "a queue that is old enough, and has to wait for its time beside the level, is let in when that begins")
{
	node.params.aging_ns = MS;
	hog_preempts_low();
	passes_for(5 * MS, POLL);
	victims[0] = new_queue(new_process(), LOW);
	submit(victims[0], 10);
	pass_after(0);
	node.params.interval_ns = SEC;
	node.params.poll_ns = 0;
	time_until(low, true, 20 * MS);
	CHECK(!on_device(victims[0]));
	/* It gets old in the middle of the other's time, which it may use. */
	CHECK_EQ_AFTER(0, node.decision.next_ns, 5 * MS);
	CHECK_AFTER(node.decision.next_ns, on_device(victims[0]));
	CHECK_EQ(node.decision.next_ns, 15 * MS);
	/* But not what is left when too little is. */
	victims[1] = new_queue(new_process(), LOW);
	submit(victims[1], 10);
	pass_after(0);
	CHECK_AFTER(14 * MS + 500 * US, !on_device(victims[1]));
	CHECK_EQ(node.decision.next_ns, 500 * US);
	drain(low);
	drain(victims[0]);
	CHECK_AFTER(500 * US, !on_device(victims[1]));
	CHECK_EQ(node.decision.next_ns, 10 * MS);
	CHECK_AFTER(10 * MS, on_device(victims[1]));
}

TEST(aging_is_off_by_default, "without gpreempt_aging_ms the effective priority is the logical one")
{
	hog_preempts_low();
	CHECK_LATER_EVERY(900 * MS, MS, !on_device(low));
	CHECK_EQ(low->policy.effective_priority, LOW);
}

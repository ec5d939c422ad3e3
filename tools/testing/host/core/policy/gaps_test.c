// SPDX-License-Identifier: MIT
/*
 * gaps_test.c - gaps in the work of a higher queue
 *
 * In a short one the queues that it took off stay off: short ones are learned, and
 * gpreempt_resume_delay_us spans them.
 */
#include "policy_node.h"
#include "tap.h"

/* A kernel of high, and the time until its next one. */
static void high_works(u64 work_ns, u64 gap_ns)
{
	submit(high, 1);
	pass_after(POLL);
	if (!on_device(high))
		return;
	launch(high, 1, 8);
	passes_for(work_ns, POLL);
	finish(high);
	passes_for(gap_ns, POLL);
}

static void high_and_hog(void)
{
	node.pass_takes_ns = 100 * US;
	node.params.poll_ns = POLL;
	node.params.max_hold_ns = 0;
	low_works();
}

TEST(short_gaps_bring_nobody_back, "after two short gaps of a higher queue what it holds stays off in those that follow, and comes back soon after the last")
{
	u32 before;

	high_and_hog();
	TIMES(3)
		high_works(MS, 400 * US);
	CHECK(low->preempted >= 2);
	before = node.nr_acting;
	TIMES(1000)
		high_works(MS, 400 * US);
	CHECK_EQ(node.nr_acting, before);
	CHECK(!on_device(low));
	CHECK(time_until(low, true, 10 * MS) <= GPREEMPT_GAP_SHARE * GPREEMPT_BRIEF_NS);
}

TEST(a_gap_that_ends_within_the_pass_is_short, "where bringing lower work back takes longer than a gap, the gap counts up to the decision to bring it back")
{
	/* As far as firmware says of a restore */
	static const u64 says_ns[] = { 0, 10 * US };

	EACH_ANEW(i, ARRAY_SIZE(says_ns), "case %u: ", i) {
		high_and_hog();
		node.policy.device.restore_ns = says_ns[i];
		node.pass_takes_ns = 2 * MS;
		TIMES(GPREEMPT_GAPS_LEAST + 1) {
			high_works(MS, 0);
			time_until(low, true, 10 * MS);
			node.now_ns += 2 * MS;
		}
		CHECK(low->policy.gaps.nr >= GPREEMPT_GAPS_LEAST);
		CHECK(low->policy.gaps.longest_ns <= 2 * POLL);
	}
}

TEST(long_gaps_bring_back_at_once, "where gaps are long, none is waited out; after short ones three waits are in vain at most")
{
	high_and_hog();
	TIMES(20) {
		high_works(MS, 0);
		CHECK(time_until(low, true, 10 * MS) <= 2 * POLL);
		passes_for(20 * MS, POLL);
	}
	TIMES(20)
		high_works(MS, 400 * US);
	CHECK_EQ(low->policy.gaps.nr, GPREEMPT_GAPS_MOST);
	EACH(i, 10, "case %u: ", i) {
		u64 waited_ns;

		high_works(MS, 0);
		waited_ns = time_until(low, true, 10 * MS);
		CHECK(waited_ns <= GPREEMPT_GAP_SHARE * GPREEMPT_BRIEF_NS + POLL);
		CHECK(i < 4 || waited_ns <= 2 * POLL);
		passes_for(20 * MS, POLL);
	}
}

TEST(gaps_that_are_worth_a_switch_are_used, "a gap that is longer than switching takes is no short one, nor is any longer than a millisecond")
{
	node.params.overhead_pct = 0;
	high_and_hog();
	TIMES(20) {
		high_works(MS, 800 * US);
		CHECK(on_device(low));
	}
	tap_reset();
	node.params.overhead_pct = 0;
	high_and_hog();
	node.pass_takes_ns = 500 * US;
	TIMES(20)
		high_works(10 * MS, 1400 * US);
	CHECK_EQ(low->policy.gaps.nr, 0);
}

TEST(requests_wait_behind_nobody_for_the_budget,
     "whatever gaps a higher queue leaves, its kernels do not wait for a budget that nobody set; what is below has those gaps that are worth a switch")
{
	static const u64 gaps_ns[] = { 200 * US, 400 * US, 600 * US, MS, 2 * MS, 4 * MS };
	u32 k, back;

	EACH_CASE_ANEW(i, gaps_ns) {
		high_and_hog();
		node.params.overhead_pct = 0;
		/* Nothing is tried beside high. */
		node.params.drain_ns = 0;
		back = 0;
		for (k = 0; k < 2000; k++) {
			submit(high, 1);
			pass_after(POLL);
			if (on_device(low))
				tap_fail(__FILE__, __LINE__, "kernel %u waits", k);
			launch(high, 1, 8);
			passes_for(400 * US, POLL);
			finish(high);
			passes_for(gaps_ns[i], POLL);
			back += on_device(low);
		}
		CHECK(gaps_ns[i] < MS || back > 500);
	}
}

/* ---- resume delay ---- */

TEST(resume_delay_spans_a_gap, "with a resume delay a short gap of the high queue costs no resume and no second preemption")
{
	node.params.resume_delay_ns = 5 * MS;
	hog_preempts_low();
	drain(high);
	CHECK_LATER(3 * MS, !on_device(low));
	start_hog(high);
	CHECK_EQ_LATER(10 * MS, node.nr_acting, 1);
}

TEST(resume_delay_ends, "a gap longer than the resume delay gives the device back, no later than it says")
{
	u64 waited_ns;

	node.params.resume_delay_ns = 5 * MS;
	hog_preempts_low();
	passes_for(20 * MS, POLL);
	drain(high);
	waited_ns = time_until(low, true, 20 * MS);
	CHECK_WITHIN(waited_ns, 5 * MS, 5 * MS + 2 * POLL);
	CHECK_EQ(node.nr_acting, 2);
}

TEST(resume_delay_is_seen_in_time, "the end of a resume delay shortens the sleep, and the node does not park before")
{
	node.params.resume_delay_ns = 3 * MS;
	node.params.poll_ns = 0;
	hog_preempts_low();
	drop_queue(high);
	CHECK_AFTER(MS, !on_device(low));
	CHECK(!node.decision.park);
	CHECK_EQ(node.decision.next_ns, 2 * MS);
	CHECK_AFTER(2 * MS, on_device(low));
}

TEST(safety_does_not_wait_for_a_resume_delay, "relief, and what the driver asks for, resume at once")
{
	struct queue *fixed = new_queue(new_process(), LOW);

	node.params.resume_delay_ns = 500 * MS;
	hog_preempts_low();
	drain(high);
	CHECK_LATER(10 * MS, !on_device(fixed));
	fixed->policy.set.immovable = true;
	CHECK_AFTER(POLL, on_device(fixed) && !on_device(low));
	node.params.resume_delay_ns = 2 * SEC;
	CHECK(time_until(low, true, 2 * SEC) <= node.params.max_hold_ns);
}

TEST(what_looking_costs_makes_no_gap_long, "where looks are rarer than asked for, as they cost too much, a gap is not taken for a long one because its ends are seen late")
{
	u32 before;

	high_and_hog();
	node.params.poll_ns = 80 * US;
	TIMES(3) {
		node.policy.cost_ns = node.policy.last_cost_ns = POLL;
		high_works(MS, 400 * US);
	}
	before = node.nr_acting;
	TIMES(100) {
		node.policy.cost_ns = node.policy.last_cost_ns = POLL;
		high_works(MS, 400 * US);
	}
	CHECK_EQ(node.nr_acting, before);
}

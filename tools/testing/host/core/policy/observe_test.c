// SPDX-License-Identifier: MIT
/*
 * observe_test.c - a node that only observes (gpreempt_observe)
 *
 * It decides as ever and takes nothing off. So what it would have done has to be told from what is
 * on the device: an inversion that nothing ends is one preemption, not one for each look, and what
 * is done late because lower work runs beside it would be done earlier.
 */
#include "policy_node.h"
#include "tap.h"

static void low_and_high(void)
{
	node.params.observe = true;
	low_works();
}

/* Work of high that the device takes after a while, and that has waves until its end. */
static void request(u64 waits_ns, u64 works_ns)
{
	submit(high, 1);
	passes_for(waits_ns, POLL);
	launch(high, 1, 8);
	passes_for(works_ns, POLL);
	finish(high);
}

TEST(observing_preempts_nobody, "a low hog stays on the device for as long as high work waits, and has the verdict that says so")
{
	low_and_high();
	start_hog(high);
	CHECK_LATER(10 * SEC, on_device(low));
	CHECK_EQ(low->preempted, 0);
	CHECK_EQ(node.nr_acting, 0);
	CHECK_EQ(low->policy.verdict, GPREEMPT_VERDICT_OBSERVED);
	CHECK_EQ(high->policy.verdict, GPREEMPT_VERDICT_RUNS);
}

TEST(an_inversion_is_one_preemption, "however often it is seen, an inversion counts as one preemption, and as one resume when it ends")
{
	node.params.max_hold_ns = 0;
	low_and_high();
	start_hog(high);
	CHECK_AFTER(POLL, node.decision.inversion);
	CHECK_AFTER(POLL, !node.decision.inversion);
	CHECK_EQ_LATER(5 * SEC, node.nr_would_preempt, 1);
	CHECK_EQ(node.nr_would_resume, 0);
	drain(high);
	CHECK_EQ_LATER(5 * MS, node.nr_would_resume, 1);
	CHECK_EQ(low->policy.verdict, GPREEMPT_VERDICT_RUNS);
	CHECK_EQ(node.nr_would_preempt, 1);
}

TEST(an_observed_request_is_timed, "of work that comes it is known how long it waited for the device, and how long lower work ran beside it")
{
	low_and_high();
	request(20 * MS, 30 * MS);
	CHECK_EQ_LATER(5 * MS, node.nr_requests, 1);
	CHECK(high->policy.request.came);
	CHECK_WITHIN(high->policy.request.waited_ns, 19 * MS, 20 * MS + 2 * POLL);
	CHECK_WITHIN(high->policy.request.ended_ns - high->policy.request.since_ns, 49 * MS, 51 * MS + 2 * POLL);
}

TEST(what_ran_before_did_not_wait, "of work that had the device before lower work came it is not said that it waited")
{
	node.params.observe = true;
	two_processes();
	submit(high, 2);
	launch(high, 1, 8);
	passes_for(5 * MS, POLL);
	start_hog(low);
	passes_for(20 * MS, POLL);
	launch(high, 1, 8);
	passes_for(MS, POLL);
	finish(high);
	CHECK_EQ_LATER(5 * MS, node.nr_requests, 1);
	CHECK(!high->policy.request.came);
	CHECK_EQ(high->policy.request.waited_ns, 0);
	CHECK(high->policy.request.ended_ns - high->policy.request.since_ns >= 20 * MS);
}

TEST(as_many_as_would_have_been, "over a hundred requests a node that observes counts what one that acts does")
{
	u32 acted;

	low_works();
	node.params.drain_ns = 0;
	TIMES(100) {
		request(POLL, 5 * MS);
		passes_for(20 * MS, POLL);
	}
	acted = node.nr_acting;
	CHECK_EQ(low->preempted, 100);
	tap_reset();
	low_and_high();
	TIMES(100) {
		request(POLL, 5 * MS);
		passes_for(20 * MS, POLL);
	}
	CHECK_EQ(node.nr_would_preempt, 100);
	CHECK_EQ(node.nr_would_resume, 100);
	CHECK_EQ(node.nr_would_act, acted);
	CHECK_EQ(node.nr_requests, 100);
	CHECK_EQ(node.nr_acting, 0);
}

TEST(short_gaps_are_observed_too, "gaps that would bring nobody back are not counted as resumes and preemptions")
{
	u32 before;

	node.params.max_hold_ns = 0;
	low_and_high();
	node.pass_takes_ns = 100 * US;
	node.params.poll_ns = POLL;
	TIMES(3) {
		request(POLL, MS);
		passes_for(400 * US, POLL);
	}
	before = node.nr_would_act;
	TIMES(1000) {
		request(POLL, MS);
		passes_for(400 * US, POLL);
	}
	CHECK_EQ(node.nr_would_act, before);
	CHECK_EQ_LATER(5 * MS, node.nr_would_resume, node.nr_would_preempt);
}

TEST(idle_ones_go_along_unseen, "an idle lower queue that would go along comes back with the others, under every policy")
{
	EACH_ANEW(i, nr_policies(), "%s: ", gpreempt_policies[i]->name) {
		struct queue *idle;

		node.use = gpreempt_policies[i];
		node.params.observe = true;
		two_processes();
		low->process->policy.deadline_ns = SEC;
		high->process->policy.deadline_ns = 10 * MS;
		idle = new_queue(new_process(), LOW);
		start_hog(low);
		passes_for(50 * MS, POLL);
		TIMES(10) {
			start_hog(high);
			passes_for(40 * MS, POLL);
			drain(high);
			passes_for(40 * MS, POLL);
		}
		drain(low);
		passes_for(50 * MS, POLL);
		CHECK(node.nr_would_preempt >= 10);
		CHECK_EQ(node.nr_would_resume, node.nr_would_preempt);
		CHECK(!low->policy.spared && !high->policy.spared && !idle->policy.spared);
		CHECK_EQ(node.nr_acting, 0);
	}
}

TEST(a_resume_delay_is_observed, "the end of a resume delay shortens the sleep, and until then work that waits for it is no request")
{
	node.params.resume_delay_ns = 3 * MS;
	node.params.poll_ns = 0;
	low_and_high();
	start_hog(high);
	pass_after(POLL);
	drop_queue(high);
	CHECK_AFTER(MS, low->policy.spared);
	CHECK_EQ(node.decision.next_ns, 2 * MS);
	CHECK_EQ(low->policy.request.since_ns, 0);
	CHECK_AFTER(2 * MS, !low->policy.spared);
}

/* How often a low hog below a high one is taken off, or either would be, in five seconds. */
static u32 turns_for_debts(bool observe)
{
	tap_renew();
	node.params.observe = observe;
	low_works();
	start_hog(high);
	passes_for(5 * SEC, POLL);
	return observe ? node.nr_would_preempt : node.nr_preempted;
}

TEST(debts_are_observed, "work that would starve earns while it runs, and would have as many turns as where the node acts")
{
	u32 acted = turns_for_debts(false), observed = turns_for_debts(true);

	CHECK(acted > 20);
	CHECK_WITHIN(observed, acted * 9 / 10, acted * 11 / 10);
}

/*
 * Each 10 ms high gets as many packets as this, while there are fewer than @most. Each waits for low
 * for 10 ms, and then has waves for 5 ms, so that not all are done that come. Returns for how many
 * milliseconds low would have been off.
 */
static u32 high_is_slow(u32 nr, u32 packets, u32 most)
{
	u32 ms, off_ms = 0;

	for (ms = 0; ms < 10 * nr; ms++) {
		if (ms % 10 == 0 && pending(high) < most)
			submit(high, packets);
		if (ms % 15 == 0)
			finish(high);
		if (ms % 15 == 10 && pending(high))
			launch(high, 1, 8);
		passes_for(MS, POLL);
		off_ms += low->policy.spared;
	}
	return off_ms;
}

TEST(work_that_piles_up_ends_when_it_would, "requests that come faster than they are done beside lower work are done at once where the node acts: each counts")
{
	node.params.max_hold_ns = 0;
	node.params.blocked_ns = 2 * MS;
	low_and_high();
	CHECK_WITHIN(high_is_slow(100, 1, ~0U), 450, 650);
	CHECK_WITHIN(node.nr_would_preempt, 80, 100);
	CHECK(!high->policy.request.came);
	CHECK_WITHIN(node.nr_would_resume, 80, 100);
	CHECK(high->policy.backlog.piles);
	CHECK(pending(high) > 20);
}

TEST(work_that_waits_for_its_end_does_not_pile_up, "a program that has so much work at most has it all the time, and what it does beside lower work ends when it does")
{
	node.params.max_hold_ns = 0;
	low_and_high();
	high_is_slow(100, 2, 3);
	CHECK(!high->policy.backlog.piles);
	CHECK_WITHIN(node.nr_would_preempt, 1, 2);
}

TEST(work_piles_up_no_more, "a program whose work has piled up, and that has so much at most from then on, has it all the time")
{
	node.params.max_hold_ns = 0;
	low_and_high();
	high_is_slow(30, 1, ~0U);
	CHECK(high->policy.backlog.piles);
	high_is_slow(100, 1, pending(high));
	CHECK(!high->policy.backlog.piles);
	CHECK_EQ(high_is_slow(20, 1, pending(high)), 200);
}

TEST(who_waits_for_slots_is_not_blocked, "what stands still while work runs that would be off the device is not found blocked, be it that work or what it is in the way of")
{
	low_and_high();
	start_hog(high);
	passes_for(5 * MS, POLL);
	finish(low);
	CHECK_LATER(20 * MS, low->policy.spared && !low->policy.seen.blocked);
	low->waves = 64;
	finish(high);
	CHECK_LATER(20 * MS, !high->policy.seen.blocked);
}

TEST(a_victim_is_waited_for_again, "what was waited for in vain is waited for again after as many preemptions as would have been")
{
	node.params.max_hold_ns = 0;
	low_and_high();
	low->policy.drain_skip = 3;
	TIMES(3) {
		request(POLL, MS);
		passes_for(20 * MS, POLL);
	}
	CHECK_EQ(node.nr_would_preempt, 3);
	CHECK_EQ(low->policy.drain_skip, 0);
}

/* How often one of two hogs is taken off, or would be, in a second. */
static u32 turns(bool observe)
{
	tap_renew();
	use("wfq");
	node.params.observe = observe;
	node.params.overhead_pct = 0;
	both_work();
	passes_for(SEC, POLL);
	return observe ? node.nr_would_preempt : node.nr_preempted;
}

TEST(turns_are_observed, "under wfq two hogs would take as many turns as they do where the node acts")
{
	u32 acted = turns(false), observed = turns(true);

	CHECK(acted > 20);
	CHECK_WITHIN(observed, acted - 2, acted + 2);
}

TEST(idle_ones_stay_where_they_were_put, "where ranks move with time, an idle queue would not come and go with them")
{
	struct queue *idle;
	u32 moves = 0, i;

	node.params.observe = true;
	idle = idle_beside_deadlines();
	for (i = 0; i < 2000; i++) {
		/* High has new work while low has some, so that there always is a level. */
		if (i % 200 == 0) {
			start_hog(high);
			drain(low);
		}
		/* Idle could be due before high for 10 ms, and then not any more. */
		if (i % 200 == 75)
			start_hog(low);
		if (i % 200 == 100)
			drain(high);
		pass_after(POLL);
		moves += idle->policy.would != GPREEMPT_KEEP;
	}
	CHECK_EQ(moves, 1);
	CHECK(node.nr_would_resume > 5);
}

TEST(observing_gives_all_back, "a node that begins to observe resumes everything at once, whatever kept it off, and what it kept off for its age or a hold too")
{
	hog_preempts_low();
	high_is_held();
	node.params.observe = true;
	CHECK_AFTER(POLL, on_device(low) && on_device(high));
	CHECK_EQ_LATER(SEC, node.nr_preempted, 2);
	node.params.observe = false;
	CHECK_AFTER(POLL, !on_device(high));
}

TEST(acting_begins_anew, "a node that acts again preempts what it would have had off the device, once, and nothing is left of what it observed")
{
	low_and_high();
	start_hog(high);
	CHECK_LATER(MS, low->policy.spared);
	node.params.observe = false;
	CHECK_AFTER(POLL, !on_device(low));
	CHECK(!low->policy.spared);
	CHECK_EQ(high->policy.request.since_ns, 0);
	drain(high);
	CHECK_LATER(5 * MS, on_device(low));
	CHECK_EQ(node.nr_acting, 2);
}

TEST(who_would_not_yield_is_not_counted, "exempt and immovable queues, and equals, would not have been preempted")
{
	struct queue *exempt, *immovable, *equal;

	node.params.observe = true;
	two_processes();
	exempt = new_queue(new_process(), LOW);
	exempt->process->policy.opt_out = true;
	immovable = new_queue(new_process(), LOW);
	immovable->policy.set.immovable = true;
	equal = new_queue(new_process(), HIGH);
	start_hog(exempt);
	start_hog(immovable);
	start_hog(equal);
	passes_for(10 * MS, POLL);
	start_hog(high);
	CHECK_EQ_LATER(100 * MS, node.nr_would_preempt, 0);
	CHECK_EQ(node.nr_requests, 0);
	CHECK_EQ(exempt->policy.verdict, GPREEMPT_VERDICT_EXEMPT);
	CHECK_EQ(immovable->policy.verdict, GPREEMPT_VERDICT_OBSTACLE);
}

TEST(the_budget_counts_what_it_would, "preemptions that the overhead budget would not have had room for are not counted")
{
	low_and_high();
	node.pass_takes_ns = 10 * MS;
	TIMES(100) {
		request(POLL, MS);
		passes_for(5 * MS, POLL);
	}
	CHECK(node.nr_would_preempt >= 2);
	CHECK(node.nr_would_preempt <= 20);
}

TEST(observing_sends_no_runlist, "where only runlists tell waves in flight, none is sent in order to know")
{
	node.device.waves_saved = true;
	low_and_high();
	TIMES(20) {
		last_kernel(high);
		passes_for(20 * MS, POLL);
		finish(high);
		passes_for(20 * MS, POLL);
	}
	CHECK_EQ(node.nr_runlists, 0);
	CHECK_EQ(node.nr_acting, 0);
}

TEST(the_end_of_a_request_is_seen, "the last kernel of a request ends what runs beside it, though nothing was moved that could have brought its waves back")
{
	low_and_high();
	last_kernel(high);
	passes_for(10 * MS, POLL);
	CHECK(low->policy.spared);
	finish(high);
	CHECK_LATER(3 * MS, !low->policy.spared);
	CHECK_EQ(node.nr_requests, 1);
}

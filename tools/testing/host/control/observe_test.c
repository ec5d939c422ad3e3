// SPDX-License-Identifier: MIT
/* observe_test.c - gpreempt_observe: what a node would do is told, and nothing is done to the device or to programs */
#include "rivals.h"

/* What a program or the device could feel of a scheduler. */
static void check_untouched(void)
{
	CHECK_EQ(preemptions() + resumes(), 0);
	CHECK_EQ(atomic64_read(&stats()->runlists), 0);
	CHECK_EQ(node_of(0)->mqd.nr_altered, 0);
	CHECK_EQ(world.nodes[0].grace_packets, 0);
	CHECK_EQ(atomic64_read(&stats()->doorbell_arms), 0);
	CHECK_EQ(atomic64_read(&stats()->paced), 0);
}

static void world_observed(bool hws)
{
	world_make(hws, 1, 1);
	set("gpreempt_observe", "1");
	set("gpreempt_enable", "1");
}

/* Low fills the device for 50 ms with each of its kernels. */
static void rivals_begin(void)
{
	add_rivals(10, 0);
	low->kernel_ns = 50 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit_and_run(low, 10, 2 * MS);
	CHECK(low->in_slot);
}

static void low_is_observed(bool hws)
{
	world_observed(hws);
	rivals_begin();
	high_comes();
	CHECK(on_device(low) && !preempted(low));
}

static void all_is_done(void)
{
	CHECK(run_until_idle(high, SEC));
	CHECK(run_until_idle(low, SEC));
	run(10 * MS);
	CHECK_EQ(low->done, low->submitted);
	CHECK_EQ(high->done, high->submitted);
	CHECK_EQ(gpreempt_stats_failures(stats()), 0);
}

BOTH(observing_touches_nothing, "while a high queue waits for a low one the device is left alone, and who would have been preempted and for how long the other waited is told")
{
	const struct gpreempt_histogram *wait, *beside;

	/* Low owes nothing while high waits for it. */
	set("gpreempt_max_hold_ms", "0");
	low_is_observed(hws);
	CHECK_STATE("polling");
	CHECK_EQ(low->q.gpreempt->policy.verdict, GPREEMPT_VERDICT_OBSERVED);
	all_is_done();
	check_untouched();
	CHECK_EQ(atomic64_read(&stats()->would_be_preemptions), 1);
	CHECK_EQ(atomic64_read(&stats()->would_be_resumes), 1);
	CHECK_EQ(atomic64_read(&stats()->would_be_runlists), 2);
	CHECK_EQ(atomic64_read(&stats()->inversions), 1);
	CHECK_EQ(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_DETECT].count), 1);
	CHECK_EQ(low->q.gpreempt->account.would_be_preempted, 1);
	CHECK_EQ(high->q.gpreempt->account.would_be_preempted, 0);
	CHECK_EQ(atomic64_read(&stats()->observed_requests), 1);
	CHECK_EQ(high->q.gpreempt->account.requests, 1);
	CHECK_EQ(atomic64_read(&stats()->observed_unclear), 0);
	wait = &stats()->latency[GPREEMPT_LATENCY_OBSERVED_WAIT];
	beside = &stats()->latency[GPREEMPT_LATENCY_OBSERVED_BESIDE];
	CHECK_EQ(atomic64_read(&wait->count), 1);
	CHECK_EQ(atomic64_read(&wait->sum_ns), high->q.gpreempt->account.waited_ns);
	CHECK_EQ(atomic64_read(&beside->count), 1);
	CHECK(atomic64_read(&beside->max_ns) >= atomic64_read(&wait->max_ns));
}

BOTH(begins_to_observe, "a node that begins to observe gives back at once all that it has: queues, hardware priorities and the grace period")
{
	world_make(hws, 1, 1);
	set("gpreempt_hw_priority", "follow");
	set("gpreempt_enable", "1");
	rivals_begin();
	high_preempts_low();
	CHECK(mqd_priority(low) != NORMAL);
	CHECK(!hws || world.nodes[0].grace_period != USE_DEFAULT_GRACE_PERIOD);
	set("gpreempt_observe", "1");
	CHECK_AFTER(2 * MS, !preempted(low));
	CHECK_EQ(resumes(), 1);
	CHECK_EQ(mqd_priority(low), NORMAL);
	CHECK_EQ(node_of(0)->mqd.nr_altered, 0);
	CHECK(!hws || world.nodes[0].grace_period == USE_DEFAULT_GRACE_PERIOD);
	all_is_done();
	CHECK_EQ(preemptions(), 1);
}

BOTH(priorities_alone_are_given_back, "a node with nothing to resume gives hardware priorities back as well")
{
	world_on(hws);
	set("gpreempt_hw_priority", "follow");
	add_rivals(10, 3);
	run(20 * MS);
	evict_and_restore(low);
	CHECK(mqd_priority(low) != NORMAL);
	set("gpreempt_observe", "1");
	CHECK_EQ_AFTER(20 * MS, mqd_priority(low), NORMAL);
	CHECK_EQ(node_of(0)->mqd.nr_altered, 0);
}

BOTH(acts_again, "a node that acts again preempts what is in the way with its next pass, and counts no more as observed")
{
	low_is_observed(hws);
	set("gpreempt_observe", "0");
	CHECK_AFTER(2 * MS, preempted(low));
	low_resumes_after_high(10 * MS);
	CHECK_EQ(preemptions(), 1);
	CHECK_EQ(resumes(), 1);
	CHECK_EQ(atomic64_read(&stats()->would_be_preemptions), 1);
	CHECK_EQ(atomic64_read(&stats()->would_be_resumes), 0);
	all_is_done();
}

BOTH(to_and_fro, "whatever is preempted when a node begins to observe or to act, no work is lost or done twice")
{
	world_on(hws);
	add_rivals(10, 0);
	world.nodes[0].nr_wave_slots = 1;
	EACH(i, 40, "time %u: ", i) {
		run_kernels(low, 2, 5 * MS, MS * (i % 3));
		run_kernels(high, 1, 3 * MS, 300 * US * (i % 7));
		set("gpreempt_observe", i % 2 ? "0" : "1");
		CHECK_AFTER(MS, i % 2 || !preempted(low));
	}
	CHECK(preemptions() > 5);
	all_is_done();
	CHECK_EQ(preemptions(), resumes());
}

static struct gpreempt_holder holder;

static int hold(struct sim_queue *sq)
{
	struct gpreempt_target_match match = { .scope = GPREEMPT_SCOPE_PROCESS, .pid = &process_of(sq)->pid, .viewer.sees_all = true };
	u32 nr;

	return gpreempt_hold(&holder, &match, false, 50, &nr);
}

BOTH(holds_are_refused, "a node that observes refuses to hold a queue; one that was held comes back, and stays when the node acts again")
{
	low_runs(hws);
	gpreempt_holder_init(&holder);
	CHECK_EQ(hold(low), 0);
	CHECK(preempted(low));
	set("gpreempt_observe", "1");
	CHECK_AFTER(2 * MS, !preempted(low));
	CHECK_EQ(hold(high), -EOPNOTSUPP);
	CHECK_AFTER(20 * MS, !preempted(low) && !preempted(high));
	set("gpreempt_observe", "0");
	CHECK_AFTER(20 * MS, !preempted(low) && !preempted(high));
	CHECK_EQ(hold(low), 0);
	CHECK(preempted(low));
	gpreempt_holder_release(&holder);
	CHECK_AFTER(20 * MS, !preempted(low));
}

BOTH(observing_withdraws_no_doorbell, "under gpreempt_wakeup=doorbell a node that observes looks as under poll, and programs write their doorbells as ever")
{
	NEEDS(WAKE);
	world_make(hws, 1, 1);
	set("gpreempt_wakeup", "doorbell");
	set("gpreempt_observe", "1");
	set("gpreempt_enable", "1");
	add_rivals(10, 0);
	/* The first write of all faults, as the entries are made by it. */
	submit_and_run(high, 1, 20 * MS);
	CHECK_EQ(process_of(high)->nr_faults, 1);
	CHECK_AFTER(3 * SEC, !state_is("armed"));
	submit_and_run(high, 1, 20 * MS);
	CHECK_EQ(process_of(high)->nr_faults, 1);
	check_untouched();
}

TEST(observing_paces_no_command, "commands of outranked programs do not wait on a node that observes")
{
	struct task_struct *leader = current->group_leader;

	low_is_observed(true);
	current->group_leader = &process_of(low)->task;
	TIMES(200)
		kfd_gpreempt_pace(&process_of(low)->p, AMDKFD_IOC_UPDATE_QUEUE);
	current->group_leader = leader;
	check_untouched();
}

TEST(observing_asks_no_runlist, "where waves are not counted, or that is not known, a node that observes does without runlists (hws)")
{
	u64 runlists;

	low_is_observed(true);
	all_is_done();
	world.nodes[0].zero_waves = true;
	runlists = world.nodes[0].runlists;
	EACH(i, 2, "case %u: ", i) {
		node_of(0)->waves.counted = false;
		node_of(0)->policy.waves_seen = false;
		node_of(0)->waves.saved = i;
		low->kernel_ns = 20 * MS;
		submit(low, 20);
		TIMES(20)
			run_kernels(high, 1, 5 * MS, 20 * MS);
		all_is_done();
	}
	CHECK_EQ(world.nodes[0].runlists, runlists);
	check_untouched();
}

TEST(time_observed_is_counted, "for how long a node has observed is known, whether it was switched off between or not")
{
	u64 before_ns;

	world_observed(true);
	rivals_begin();
	CHECK_WITHIN(gpreempt_stats_observed_ns(node_of(0)), MS, 10 * MS);
	run(100 * MS);
	CHECK_WITHIN(gpreempt_stats_observed_ns(node_of(0)), 100 * MS, 110 * MS);
	set("gpreempt_enable", "0");
	before_ns = gpreempt_stats_observed_ns(node_of(0));
	CHECK_EQ_AFTER(100 * MS, gpreempt_stats_observed_ns(node_of(0)), before_ns);
	set("gpreempt_enable", "1");
	run(100 * MS);
	CHECK_WITHIN(gpreempt_stats_observed_ns(node_of(0)), before_ns + 90 * MS, before_ns + 101 * MS);
	set("gpreempt_observe", "0");
	run(MS);
	before_ns = gpreempt_stats_observed_ns(node_of(0));
	CHECK_EQ_AFTER(100 * MS, gpreempt_stats_observed_ns(node_of(0)), before_ns);
}

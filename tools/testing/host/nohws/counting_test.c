// SPDX-License-Identifier: MIT
/* counting_test.c - counters, histograms and what stands in them */
#include "own_file.h"

TEST(times_are_counted_where_they_belong, "each bucket of a histogram is twice as long as the one before; sum and maximum are those of the times")
{
	static const struct { u64 ns; u32 bucket; } times[] = {
		{ 0, 0 }, { 999, 0 }, { 1000, 1 }, { 1999, 1 }, { 2000, 2 }, { 3999, 2 }, { 4000, 3 }, { 7999, 3 }, { 8000, 4 }, { 1000 * MS, 20 },
		{ 500 * SEC, 29 }, { 600 * SEC, 30 }, { 3600 * SEC, 30 }, { 5 * MS, 13 },
	};
	const struct gpreempt_histogram *h;
	u64 sum_ns = 0, max_ns = 0;
	u32 i;

	low_runs(true);
	h = &stats()->latency[GPREEMPT_LATENCY_HOLD];
	mutex_lock(&node_of(0)->pass_lock);
	for (i = 0; i < ARRAY_SIZE(times); i++) {
		u64 before = atomic64_read(&h->bucket[times[i].bucket]), now_ns = ktime_get_ns();

		tap_at("%llu ns: ", (unsigned long long)times[i].ns);
		low->q.gpreempt->policy.preempted_at_ns = now_ns - times[i].ns;
		gpreempt_stats_resumed(low->q.gpreempt, now_ns);
		sum_ns += times[i].ns;
		max_ns = times[i].ns > max_ns ? times[i].ns : max_ns;
		CHECK_EQ(atomic64_read(&h->bucket[times[i].bucket]), before + 1);
		CHECK_EQ(atomic64_read(&h->sum_ns), sum_ns);
		CHECK_EQ(atomic64_read(&h->max_ns), max_ns);
		CHECK_EQ(atomic64_read(&h->count), i + 1);
	}
	node_of(0)->marks.resuming_ns = 0;
	mutex_unlock(&node_of(0)->pass_lock);
}

static u64 shown_ns;
static bool went_back, shows;

/* Whoever reads does so at any moment, also when a lock is taken, and time passes. */
static void shows_time_off(const struct mutex *lock)
{
	u64 ns;

	if (shows)
		return;
	shows = true;
	shim_spin(100);
	ns = gpreempt_stats_preempted_ns(low->q.gpreempt);
	went_back |= ns < shown_ns;
	shown_ns = ns;
	shows = false;
}

TEST(time_off_never_goes_back, "the time that a queue has been off the device never becomes less, whenever it is read, also while the queue leaves and comes back")
{
	low_is_preempted(true);
	open_own_file();
	/* It listens: telling of events takes locks. */
	CHECK_EQ(shim_miscdevice->fops->poll(&file, NULL), 0);
	shown_ns = 0;
	went_back = false;
	shim_at_lock = shows_time_off;
	run(200 * MS);
	submit_and_run(high, 2, 200 * MS);
	CHECK(resumes() > 0 && shown_ns > MS);
	CHECK(!went_back);
	shim_at_lock = NULL;
}

TEST(quantiles_of_histograms, "a quantile is the end of the bucket in which that many have been seen")
{
	struct gpreempt_histogram h = { 0 };

	CHECK_EQ(gpreempt_stats_quantile_us(&h, 50), 0);
	atomic64_set(&h.bucket[1], 507);
	atomic64_set(&h.bucket[3], 400);
	atomic64_set(&h.bucket[4], 93);
	CHECK_EQ(gpreempt_stats_quantile_us(&h, 1), 2);
	CHECK_EQ(gpreempt_stats_quantile_us(&h, 50), 2);
	CHECK_EQ(gpreempt_stats_quantile_us(&h, 51), 8);
	CHECK_EQ(gpreempt_stats_quantile_us(&h, 90), 8);
	CHECK_EQ(gpreempt_stats_quantile_us(&h, 91), 16);
	CHECK_EQ(gpreempt_stats_quantile_us(&h, 100), 16);
	CHECK_EQ(gpreempt_stats_quantile_us(&h, 0), 0);
	memset(&h, 0, sizeof(h));
	atomic64_set(&h.bucket[GPREEMPT_NR_BUCKETS - 1], 1);
	CHECK_EQ(gpreempt_stats_quantile_us(&h, 100), 1ULL << (GPREEMPT_NR_BUCKETS - 1));
}

TEST(failures_are_added_up, "the number of failures is the sum of those of each cause")
{
	static struct gpreempt_stats stats;
	u64 sum = 0;
	u32 i;

	for (i = 0; i < GPREEMPT_NR_FAILURES; i++) {
		atomic64_set(&stats.failed[i], 1 << i);
		sum += 1 << i;
	}
	CHECK_EQ(gpreempt_stats_failures(&stats), sum);
}

BOTH(durations_are_differences, "no duration that was counted is longer than the time that has passed")
{
	u64 began_ns = ktime_get_ns();

	NEEDS(WAKE);
	low_is_preempted(hws);
	CHECK(run_until_idle(high, SEC));
	run(10 * MS);
	EACH(i, GPREEMPT_NR_LATENCIES, "latency %u: ", i) {
		const struct gpreempt_histogram *h = &stats()->latency[i];

		/* A node that acts does not only observe. */
		CHECK_EQ(atomic64_read(&h->count) > 0, i != GPREEMPT_LATENCY_OBSERVED_WAIT && i != GPREEMPT_LATENCY_OBSERVED_BESIDE);
		CHECK(atomic64_read(&h->max_ns) <= ktime_get_ns() - began_ns);
		CHECK(atomic64_read(&h->sum_ns) <= atomic64_read(&h->count) * (ktime_get_ns() - began_ns));
	}
	/* A pass found none a poll before. */
	CHECK(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_DETECT].max_ns) <= 6 * MS);
	CHECK(atomic64_read(&stats()->pass_ns_last) <= MS);
	CHECK(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_RESUME].max_ns) <= 20 * MS);
}

TEST(passes_are_counted, "of each pass it is known how long it took, how old the doorbell was that it took in, and since when an inversion can have been there")
{
	struct gpreempt_decision clear = { .level_valid = true, .level = 5 }, inverted = { .inversion = true, .nr_preempt = 1 };
	u64 now_ns;

	low_runs(true);
	mutex_lock(&node_of(0)->pass_lock);
	now_ns = ktime_get_ns();
	node_of(0)->monitor.doorbell_ns = now_ns - 700;
	gpreempt_stats_pass(node_of(0), &clear, now_ns - 300, now_ns);
	CHECK_EQ(atomic64_read(&stats()->pass_ns_last), 300);
	CHECK_EQ(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_NOTICE].max_ns), 700);
	/* As the monitor does after each pass */
	node_of(0)->monitor.doorbell_ns = 0;
	node_of(0)->monitor.clear_ns = now_ns - 300;
	gpreempt_stats_pass(node_of(0), &inverted, now_ns + 1000, now_ns + 1500);
	CHECK_EQ(atomic64_read(&stats()->pass_ns_last), 500);
	CHECK_EQ(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_NOTICE].count), 1);
	CHECK_EQ(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_DETECT].max_ns), 1800);
	mutex_unlock(&node_of(0)->pass_lock);
}

TEST(skips_mark_their_queue, "a skip that is about a queue marks it and its node, so that it is taken back once it is over; others mark nobody")
{
	low_runs(true);
	mutex_lock(&node_of(0)->pass_lock);
	WRITE_ONCE(node_of(0)->marks.skipped, false);
	gpreempt_stats_skip(node_of(0), NULL, GPREEMPT_SKIP_RESETTING);
	CHECK(!node_of(0)->marks.skipped && !low->q.gpreempt->account.skipped);
	gpreempt_stats_skip(node_of(0), low->q.gpreempt, GPREEMPT_SKIP_RESET);
	CHECK(node_of(0)->marks.skipped && low->q.gpreempt->account.skipped && !high->q.gpreempt->account.skipped);
	mutex_unlock(&node_of(0)->pass_lock);
	gpreempt_node_kick_all();
	CHECK_AFTER(10 * MS, !node_of(0)->marks.skipped && !low->q.gpreempt->account.skipped);
}

TEST(slots_are_watched_for_a_moment, "a slot that was asked is looked at each 5 to 10 us, until it is left, for 200 us at most (mqd)")
{
	u64 began_ns, took_ns;

	low_runs(false);
	dqm_lock(&world.nodes[0].dqm);
	began_ns = ktime_get_ns();
	gpreempt_hqd_ask(&world.nodes[0].node, low->q.pipe, low->q.queue);
	took_ns = ktime_get_ns() - began_ns;
	CHECK(low->asked_closely);
	CHECK_EQ(low->close_looks, 2);
	CHECK_WITHIN(took_ns, 5 * US, 10 * US);
	low->stuck_ns = SEC;
	began_ns = ktime_get_ns();
	gpreempt_hqd_ask(&world.nodes[0].node, low->q.pipe, low->q.queue);
	took_ns = ktime_get_ns() - began_ns;
	CHECK_WITHIN(took_ns, 200 * US, 210 * US);
	low->stuck_ns = 0;
	low->asked_closely = false;
	dqm_unlock(&world.nodes[0].dqm);
}

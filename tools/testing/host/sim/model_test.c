// SPDX-License-Identifier: MIT
/* model_test.c - is what the simulator models, and what it measures, what it says? */
#include "scenario.h"
#include "tap.h"

static struct sim_class *add_periodic(u64 period_ns, u32 kernels, u64 kernel_ns)
{
	struct sim_class *class = add_requests(HIGH, period_ns, kernels, kernel_ns);

	class->arrivals = PERIODIC;
	return class;
}

static u64 median_us(u32 class)
{
	return sim_quantile_ns(&result.classes[class].latency, .5) / US;
}

TEST(service_switches_and_idle_time_add_up,
     "with endless work, what queues had slots for, runlists and idle time are all of the time")
{
	u64 sum_ns, idle_ns = 0;
	u32 i;

	begin(20 * SEC);
	config.device.runlist_ns = 160 * US;
	config.classes[0] = sim_inference;
	config.classes[1] = sim_training;
	simulate();
	CHECK(result.idle_ns > 0 && result.overhead_ns > 0);
	for (i = 0; i < NR_IDLE; i++)
		idle_ns += result.idle_by_ns[i];
	CHECK_EQ(idle_ns, result.idle_ns);
	CHECK_EQ(result.idle_by_ns[IDLE_MAXIMUM], 0);
	sum_ns = (result.classes[0].served + result.classes[1].served) / 100 + result.overhead_ns +
		 result.idle_ns;
	/* Time begins at 1, and the last runlist may not be over. */
	CHECK_WITHIN(sum_ns, config.duration_ns - 1, config.duration_ns + MS);
}

TEST(time_without_service_is_the_others_kernels,
     "of two equals each is without service for as long as the other's kernel takes, and no longer")
{
	begin(SEC);
	add_endless(HIGH, 1, 2 * MS);
	add_endless(HIGH, 1, 5 * MS);
	simulate();
	CHECK_EQ(result.classes[0].unserved_ns_max, 5 * MS);
	CHECK_EQ(result.classes[1].unserved_ns_max, 2 * MS);
	CHECK_WITHIN(pct(0), 28, 29);
	CHECK_WITHIN(result.classes[0].unserved_ns, 710 * MS, 720 * MS);
	CHECK_EQ(result.idle_ns, 0);
}

TEST(free_slots_take_turns,
     "what higher work leaves goes to three lower queues by turns; else to the first of them alone")
{
	u64 least_ns[2];
	u32 turns;

	for (turns = 0; turns < 2; turns++) {
		begin(30 * SEC);
		config.params.max_hold_ns = 0;
		config.device.by_turns = turns;
		add_periodic(500 * MS, 495, MS);
		add_endless(LOW, 3, 200 * MS);
		simulate();
		least_ns[turns] = result.classes[1].ran_ns_min;
	}
	CHECK_EQ(least_ns[0], 0);
	CHECK(least_ns[1] > 50 * MS);
}

TEST(what_fits_runs_beside_what_waits,
     "a device that fills gives free slots to a narrow queue while a wide one waits before it")
{
	double narrow[2];
	u32 fills;

	for (fills = 0; fills < 2; fills++) {
		begin(SEC);
		config.policy = NULL;
		config.device.fills = fills;
		add_endless(HIGH, 2, 2 * MS)->units = 60;
		add_endless(HIGH, 1, 3 * MS)->units = 30;
		simulate();
		narrow[fills] = pct(1);
	}
	CHECK_WITHIN(narrow[1], 29.9, 30);
	CHECK(narrow[0] < 25);
}

TEST(a_kernel_that_splits_uses_what_is_free,
     "a wide kernel runs in the slots that are free, as much slower, and in more when they are")
{
	u64 work;

	begin(SEC);
	config.policy = NULL;
	config.device.splits = true;
	add_endless(HIGH, 1, 10 * SEC)->units = 75;
	add_endless(HIGH, 1, MS);
	simulate();
	CHECK_WITHIN(result.classes[1].nr_done, 249, 250);
	CHECK_WITHIN(pct(1), 24.9, 25);
	CHECK(result.classes[1].latency.max_ns < 801 * MS);
	/* Each time that the first one ends, the second one grows. */
	config.classes[0].kernel_ns = 2 * MS;
	simulate();
	work = result.classes[0].work + result.classes[1].work;
	CHECK_WITHIN(pct(0) + pct(1), 99.9, 100);
	CHECK_WITHIN(work / config.device.slots, SEC / 1000 * 995, SEC);
}

TEST(rounds_give_others_their_turn,
     "a kernel of a hundred rounds shares the device with short kernels, one without keeps it")
{
	u64 longest_ns[2];
	u32 rounds;

	for (rounds = 0; rounds < 2; rounds++) {
		begin(2 * SEC);
		config.policy = NULL;
		add_endless(HIGH, 1, 200 * MS)->rounds = 100 * rounds;
		add_periodic(50 * MS, 1, MS);
		simulate();
		CHECK_EQ(result.classes[0].nr_done > 8, 1);
		longest_ns[rounds] = result.classes[1].unserved_ns_max;
	}
	CHECK(longest_ns[0] > 100 * MS);
	CHECK(longest_ns[1] <= 2 * MS + US);
}

TEST(barriers_are_met_off_the_device_as_well,
     "20 kernels take the time of their barriers, alone and beside lower work, and no other")
{
	begin(10 * SEC);
	config.device.moves_past_barriers = true;
	config.device.runlists_tell = true;
	add_periodic(200 * MS, 20, 100 * US)->barrier_ns = 5 * MS;
	simulate();
	/* Times are known to a thirty-second. */
	CHECK_WITHIN(median_us(0), 97000, 100100);
	CHECK_EQ(result.classes[0].unserved_ns_max, 0);
	CHECK_EQ(result.idle_ns, 0);
	add_endless(LOW, 1, 2 * MS);
	simulate();
	CHECK(pct(1) > 50);
	CHECK(median_us(0) < 110000);
	CHECK(result.classes[0].unserved_ns_max < 3 * MS);
}

TEST(a_request_waits_for_the_work_that_it_needs,
     "a request that needs five kernels of another queue begins when they have ended")
{
	begin(10 * SEC);
	config.policy = NULL;
	add_periodic(100 * MS, 1, MS)->needs = 2;
	config.classes[0].needs_kernels = 5;
	config.classes[0].units = 50;
	add_endless(LOW, 1, 4 * MS)->units = 50;
	simulate();
	CHECK(result.classes[0].nr_requests > 90);
	CHECK_WITHIN(median_us(0), 17000, 21700);
	CHECK_EQ(result.classes[0].unserved_ns_max, 0);
}

TEST(a_dear_victim_costs_what_it_says,
     "a runlist takes as long as the waves of its victim say that saving them does")
{
	u64 switches_ns;

	begin(10 * SEC);
	config.params.overhead_pct = 0;
	add_periodic(100 * MS, 20, 500 * US);
	add_endless(LOW, 1, 2 * MS)->save_ns = 3 * MS;
	simulate();
	switches_ns = result.overhead_ns / result.nr_preempted;
	/* Off and back: the waves twice, unless it is between two kernels, and two runlists */
	CHECK_WITHIN(switches_ns, 5900 * US, 6300 * US);
}

TEST(a_doorbell_replaces_looks,
     "a monitor that doorbells wake looks less, and requests wait no longer than with looks")
{
	u64 p50_us, passes;

	begin(20 * SEC);
	config.classes[0] = sim_inference;
	config.classes[1] = sim_training;
	simulate();
	p50_us = median_us(0);
	passes = result.nr_passes;
	config.doorbells = true;
	simulate();
	CHECK(result.nr_told > result.classes[0].nr_requests / 2);
	CHECK(result.nr_passes < passes / 3);
	CHECK(median_us(0) <= p50_us);
	CHECK_EQ(sim_quantile_ns(&result.noticed, .5), 20 * US);
}

TEST(runlists_tell_where_counters_do_not,
     "without counters of waves, runlists that change nothing tell that work has ended")
{
	begin(20 * SEC);
	config.device.runlists_tell = true;
	config.device.no_counters = true;
	config.classes[0] = sim_inference;
	config.classes[0].kernels = 1;
	config.classes[0].kernel_ns = 8 * MS;
	config.classes[0].period_ns = 40 * MS;
	config.classes[1] = sim_training;
	simulate();
	CHECK(result.nr_acting > result.nr_preempted * 2);
	CHECK(pct(0) > 15 && pct(1) > 50);
}

/* What looks saw of the higher queue */
static u64 last_rptr, nr_waves_seen;

static void see_high(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];

		if (q->set.priority != HIGH)
			continue;
		last_rptr = q->seen.rptr;
		nr_waves_seen += q->seen.waves && q->seen.waves_ns == now_ns;
	}
}

static void simulate_seen(void)
{
	last_rptr = 0;
	nr_waves_seen = 0;
	sim_passed = see_high;
	simulate();
	sim_passed = NULL;
}

TEST(the_read_pointer_moves_past_barriers, "if the device does so, it counts barriers that are met")
{
	u32 moves;

	for (moves = 0; moves < 2; moves++) {
		begin(SEC);
		config.device.moves_past_barriers = moves;
		add_periodic(200 * MS, 20, 100 * US)->barrier_ns = 5 * MS;
		add_endless(LOW, 1, 2 * MS);
		simulate_seen();
		CHECK(last_rptr > 40);
		CHECK_WITHIN(last_rptr, result.classes[0].nr_done * (1 + moves) - 1,
			     result.classes[0].nr_done * (1 + moves) + 1);
	}
}

TEST(counters_that_lag_hide_waves, "kernels shorter than the lag of counters show no waves")
{
	begin(SEC);
	add_periodic(10 * MS, 1, 500 * US);
	add_endless(LOW, 1, 2 * MS);
	simulate_seen();
	CHECK(nr_waves_seen > 10);
	config.device.counters_lag_ns = MS;
	simulate_seen();
	CHECK_EQ(nr_waves_seen, 0);
}

TEST(a_stamp_is_what_the_policy_believes,
     "stamps change what is decided, and not what runlists take")
{
	u64 per_runlist_ns, sum;

	begin(5 * SEC);
	config.classes[0] = sim_inference;
	config.classes[1] = sim_training;
	simulate();
	sum = result.sum;
	per_runlist_ns = result.overhead_ns / result.nr_acting;
	config.device.says_connect_ns = 20 * MS;
	simulate();
	CHECK(result.sum != sum);
	CHECK_WITHIN(result.overhead_ns / result.nr_acting, per_runlist_ns * .9,
		     per_runlist_ns * 1.1);
}

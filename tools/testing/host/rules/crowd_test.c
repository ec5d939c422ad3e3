// SPDX-License-Identifier: MIT
/*
 * crowd_test.c - gpreempt_idle_evict_us: idle processes leave a device that is too small for all queues, and come back by their doorbell
 *
 * The device has 24 slots and 8 VMIDs.
 */
#include "rivals.h"

#define OTHERS		5	/* with as many queues each as a program of HIP has */
#define QUEUES_EACH	5
/* Work is gone when all turns of firmware have shown no waves; then a process is idle for 20 ms. */
#define LEFT_WITHIN	(200 * MS)
#define BACK_WITHIN	(500 * US)

static struct sim_queue *busy, *of_others[OTHERS][QUEUES_EACH];

static u32 nr_off(void)
{
	return PART(struct gpreempt_node_crowd, crowd, NODE, node_of(0))->nr_off;
}

static enum gpreempt_verdict verdict(const struct sim_queue *sq)
{
	return sq->q.gpreempt->policy.verdict;
}

static bool all_of(u32 other, bool on)
{
	u32 i;

	for (i = 0; i < QUEUES_EACH; i++)
		if (on_device(of_others[other][i]) != on)
			return false;
	return true;
}

/* Firmware takes no turns, because some have left. */
static bool there_is_room(void)
{
	u32 i, n = 0;

	for (i = 0; i < OTHERS; i++)
		n += all_of(i, false);
	return n && n == nr_off() && !READ_ONCE(node_of(0)->hw.turns);
}

static bool there_is_room_but_for(const struct sim_queue *lower)
{
	return preempted(lower) && nr_off() > 1 && !READ_ONCE(node_of(0)->hw.turns);
}

static void add_others(u32 nr)
{
	u32 i, k;

	for (i = 0; i < nr; i++) {
		of_others[i][0] = add_queue(0);
		for (k = 1; k < QUEUES_EACH; k++)
			of_others[i][k] = add_queue_to(process_of(of_others[i][0]), 0, NORMAL);
		for (k = 0; k < QUEUES_EACH; k++) {
			of_others[i][k]->kernel_ns = MS;
			submit(of_others[i][k], 1);
		}
	}
}

static void crowd(const char *idle_us, u32 others)
{
	world_make(true, 1, 1);
	set("gpreempt_idle_evict_us", idle_us);
	set("gpreempt_enable", "1");
	busy = add_queue(0);
	busy->kernel_ns = 10 * MS;
	submit(busy, 1000);
	add_others(others);
}

/* What the busy one has is more than there are slots. */
static void crowd_that_stays(const char *idle_us)
{
	crowd(idle_us, OTHERS);
	add_queue_to(process_of(busy), 0, NORMAL);
	world.nodes[0].nr_queue_slots = 1;
	run(3 * SEC);
	CHECK_EQ(nr_off(), OTHERS);
}

static void nothing_lost(void)
{
	EACH_QUEUE(sq)
		if (sq != busy && !sq->gone)
			CHECK(run_until_idle(sq, SEC));
	CHECK_EQ(gpreempt_stats_failures(stats()), 0);
}

TEST(idle_processes_leave_a_crowded_device, "idle processes leave the device when not all queues fit, the busy one stays, and when the rest fits looks are rare")
{
	u64 wakeups;
	u32 i;

	crowd("20000", OTHERS);
	run(LEFT_WITHIN);
	CHECK(there_is_room());
	CHECK(on_device(busy));
	for (i = 0; i < OTHERS; i++)
		if (all_of(i, false))
			CHECK_EQ(verdict(of_others[i][0]), GPREEMPT_VERDICT_IDLE);
	CHECK_EQ(world.nodes[0].listed, 1 + OTHERS - nr_off());
	CHECK_EQ(preemptions(), nr_off() * QUEUES_EACH);
	/* One second later they are dormant. The busy one may become idle. */
	run(5 * SEC);
	CHECK_EQ(nr_off(), OTHERS);
	wakeups = atomic64_read(&stats()->wakeups);
	run(SEC);
	CHECK_WITHIN(atomic64_read(&stats()->wakeups), wakeups + 1, wakeups + 2);
	CHECK_EQ(resumes(), 0);
	nothing_lost();
}

TEST(idle_process_comes_back_by_its_doorbell, "the queues of a process that left for idleness are back soon after its doorbell, with one runlist with which others leave if there is no room, and do their work once")
{
	u32 i, k, nr_back = 0;

	crowd("20000", OTHERS);
	run(3 * SEC);
	CHECK(there_is_room());
	for (i = 0; i < 4 * OTHERS; i++) {
		u64 before = resumes(), runlists = world.nodes[0].runlists, done = of_others[i % OTHERS][1]->done;

		if (!all_of(i % OTHERS, false))
			continue;
		nr_back++;
		submit(of_others[i % OTHERS][1], 4);
		run(BACK_WITHIN);
		CHECK_EQ(resumes(), before + QUEUES_EACH);
		CHECK(all_of(i % OTHERS, true) && there_is_room());
		CHECK_EQ(world.nodes[0].runlists, runlists + 1);
		run(300 * MS);
		CHECK_EQ(of_others[i % OTHERS][1]->done, done + 4);
		for (k = 0; k < OTHERS; k++)
			CHECK(all_of(k, true) || all_of(k, false));
	}
	CHECK(nr_back >= 4);
	nothing_lost();
}

TEST(idle_processes_stay_where_all_fit, "idle processes stay on the device as long as there are slots and VMIDs for all, and come back when there are again")
{
	u32 i, k;

	crowd("20000", 4);
	run(SEC);
	CHECK_EQ(preemptions(), 0);
	CHECK_STATE("parked");
	/* 26 queues */
	of_others[4][0] = add_queue(0);
	for (k = 1; k < QUEUES_EACH; k++)
		of_others[4][k] = add_queue_to(process_of(of_others[4][0]), 0, NORMAL);
	run(LEFT_WITHIN);
	CHECK(there_is_room());
	for (k = 0; k < QUEUES_EACH; k++)
		destroy_queue(of_others[4][k]);
	run(10 * MS);
	CHECK_EQ(nr_off(), 0);
	for (i = 0; i < 4; i++)
		CHECK(all_of(i, true));
	nothing_lost();
}

TEST(idle_processes_leave_for_vmids, "idle processes leave a device with more processes than VMIDs, though all queues fit")
{
	u32 i;

	crowd("20000", 0);
	for (i = 0; i < 7; i++)
		add_queue(0);
	run(SEC);
	CHECK_EQ(nr_off(), 0);
	add_queue(0);
	run(LEFT_WITHIN);
	CHECK_EQ(nr_off(), 8);
	CHECK_EQ(world.nodes[0].listed, 1);
	nothing_lost();
}

TEST(idle_processes_that_are_not_told_of_stay, "with gpreempt_idle_evict_us=0, in the mode poll, and while the node only observes no idle process leaves, and each of them gives back what left")
{
	static const struct {
		const char *name, *off, *on;
	} ways[] = {
		{ "gpreempt_idle_evict_us", "0", "20000" },
		{ "gpreempt_wakeup", "poll", "auto" },
		{ "gpreempt_observe", "1", "0" },
	};

	EACH_ANEW(i, ARRAY_SIZE(ways), "%s: ", ways[i].name) {
		crowd("20000", OTHERS);
		/* Doorbells that are mapped while it observes cannot be withdrawn later. */
		if (i < 2)
			set(ways[i].name, ways[i].off);
		run(i < 2 ? SEC : 1);
		CHECK_EQ(preemptions(), 0);
		set(ways[i].name, ways[i].on);
		run(2 * SEC);
		CHECK(there_is_room());
		set(ways[i].name, ways[i].off);
		run(10 * MS);
		CHECK_EQ(nr_off(), 0);
		CHECK_EQ(nr_preempted(), 0);
		nothing_lost();
		set(ways[i].name, ways[i].on);
	}
}

TEST(waves_are_no_idleness, "a process whose last kernel runs on with an empty ring stays on the device until the kernel has ended")
{
	crowd("20000", OTHERS);
	CHECK(run_until_idle(of_others[3][0], SEC));
	of_others[3][0]->kernel_ns = 2 * SEC;
	submit(of_others[3][0], 1);
	run(SEC);
	CHECK_EQ(of_others[3][0]->pointers[0], of_others[3][0]->pointers[1]);
	CHECK(there_is_room() && all_of(3, true));
	run(8 * SEC);
	CHECK_EQ(of_others[3][0]->done, 2);
	CHECK(all_of(3, false));
	nothing_lost();
}

TEST(announced_work_brings_it_back, "a process that left for idleness is back before its doorbell when its work is announced")
{
	u32 i;

	crowd("20000", OTHERS);
	run(2 * SEC);
	CHECK(there_is_room());
	for (i = 0; !all_of(i, false); i++)
		;
	mutex_lock(&gpreempt_lock);
	WRITE_ONCE(of_others[i][0]->q.gpreempt->expected_until_ns, ktime_get_ns() + 100 * MS);
	gpreempt_node_kick(node_of(0));
	mutex_unlock(&gpreempt_lock);
	run(MS);
	CHECK(all_of(i, true));
	nothing_lost();
}


TEST(rings_cost_few_runlists, "a process that writes its doorbell whenever it has left causes two runlists, after twice the time each time, up to a second")
{
	u64 before, i;

	crowd_that_stays("20000");
	before = world.nodes[0].runlists;
	for (i = 0; i < 10000; i++) {
		if (all_of(2, false))
			write_doorbell(of_others[2][0]);
		run(MS);
	}
	/* After 40, 80, 160, 320 and 640 ms, and then ten times */
	CHECK_WITHIN(world.nodes[0].runlists - before, 2 * 8, 2 * 16);
	nothing_lost();
}

TEST(rings_of_many_cost_little, "all processes of a node that write their doorbells whenever they have left take 2 % of its time at most")
{
	u64 before, spent, i, k;

	crowd_that_stays("1000");
	world.nodes[0].unmap_us = 400;
	before = world.nodes[0].runlists;
	for (i = 0; i < 5000; i++) {
		for (k = 0; k < OTHERS; k++)
			if (all_of(k, false))
				write_doorbell(of_others[k][0]);
		run(MS);
	}
	spent = (world.nodes[0].runlists - before) * 400 * US;
	/* And what was saved in the second before */
	CHECK(spent <= 6 * SEC * 2 / 100);
	nothing_lost();
}

TEST(lower_ones_leave_first, "of idle processes those of lower priority leave first, and one that outranks another leaves after a second, whatever gpreempt_idle_evict_us is")
{
	struct sim_queue *lower;
	u32 i;

	crowd("20000", OTHERS);
	process_of(busy)->task.nice = 10;
	lower = add_queue(10);
	submit(lower, 1);
	run(LEFT_WITHIN);
	/* In the order in which they came, others would have left long ago. */
	CHECK(preempted(lower));
	CHECK_EQ(verdict(lower), GPREEMPT_VERDICT_IDLE);
	for (i = 0; i < OTHERS; i++)
		CHECK(all_of(i, true));
	run(500 * MS);
	CHECK_EQ(nr_off(), 1);
	run(3 * SEC);
	CHECK(there_is_room_but_for(lower));
	CHECK(on_device(busy));
	nothing_lost();
}

TEST(low_one_keeps_no_other_on_the_device, "a low process that works, or whose doorbells cannot be withdrawn, does not keep idle ones above it on the device for more than a second")
{
	EACH_ANEW(i, 2, "%u: ", i) {
		struct sim_queue *lower;

		crowd("20000", OTHERS);
		process_of(busy)->task.nice = 10;
		lower = add_queue(10);
		if (i)
			process_of(lower)->p.gpreempt_fixed = true;
		lower->kernel_ns = 10 * MS;
		submit(lower, i ? 1 : 1000);
		run(1500 * MS);
		CHECK(nr_off() > 0);
		CHECK(on_device(busy));
		kill_process(process_of(lower));
		nothing_lost();
	}
}

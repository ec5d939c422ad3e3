// SPDX-License-Identifier: MIT
/*
 * core_neighbours.c - what a neighbour does in a loop, or holds, and what it must not cost the others
 *
 * A neighbour is a task of its own. It gives up the processor after each call, as a system call does; the rest of its time it is at it.
 */
#include "stories.h"

static struct sim_queue *own;
static bool at_it;

/* Until @at_it says that it is over; @once is what the neighbour does in its loop. */
static int keep_doing(void *once)
{
	u32 n = 0;

	while (READ_ONCE(at_it)) {
		((void (*)(u32 n))once)(n++);
		fsleep(1);
	}
	return 0;
}

static struct task_struct *neighbours[8];
static u32 nr_neighbours;

static void begin_storm(void (*once)(u32 n), u32 nr)
{
	WRITE_ONCE(at_it, true);
	for (nr_neighbours = 0; nr_neighbours < nr; nr_neighbours++) {
		neighbours[nr_neighbours] = kthread_create(keep_doing, once, "neighbour");
		wake_up_process(neighbours[nr_neighbours]);
	}
}

static void end_storm(void)
{
	WRITE_ONCE(at_it, false);
	while (nr_neighbours)
		kthread_stop(neighbours[--nr_neighbours]);
}

static void updates_its_queue(u32 n)
{
	update_queue(own, n & 1 ? NORMAL : NORMAL - 1);
}

/* ---- UPDATE_QUEUE in a loop: the driver takes its lock, and everything off the device, each time ---- */

/* Nobody's work depends on it. */
static void storm_of_updates(bool hws)
{
	world_on(hws);
	set("gpreempt_max_hold_ms", "40");
	set("gpreempt_relief_ms", "5");
	low = add_queue(10);
	high = add_queue(0);
	own = add_queue(10);
	low->kernel_ns = 200 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit(low, 100);
	run(20 * MS);
	CHECK(low->in_slot);
	begin_storm(updates_its_queue, 2);
	run(5 * MS);
}

BOTH(update_storm_stops_no_decision, "while neighbours change their queues in a loop, a higher queue gets the device as soon as otherwise, a hold ends when it is due, and who asked for one gets it and is given back")
{
	struct gpreempt_histogram *detect;
	u64 checks;

	storm_of_updates(hws);
	checks = atomic64_read(&node_of(0)->stats.checks);
	run(50 * MS);
	CHECK(atomic64_read(&node_of(0)->stats.checks) >= checks + 8);
	high->kernel_ns = 300 * MS;
	submit(high, 3);
	run(10 * MS);
	CHECK(preempted(low));
	detect = &node_of(0)->stats.latency[GPREEMPT_LATENCY_DETECT];
	CHECK_EQ(atomic64_read(&detect->count), 1);
	CHECK(atomic64_read(&detect->max_ns) <= 6 * MS);
	/* The longest hold. */
	CHECK_EQ(atomic64_read(&node_of(0)->stats.relief_slices), 0);
	run(45 * MS);
	CHECK(atomic64_read(&node_of(0)->stats.relief_slices) >= 1);
	/* And the end of the relief. */
	run(10 * MS);
	CHECK(preempted(low));
	end_storm();
	kill_process(process_of(high));
	world_end();
}

/* ---- decisions that depend on waves in flight ---- */

/* The driver sends runlists, in a loop, so that waves can never be read. */
static void runlist_changes_each_time(void)
{
	node_of(0)->runlists_built++;
}

BOTH(unknown_waves_put_off_once, "a decision that depends on waves which cannot be read is put off by 200 us, once, and then made as if there were some")
{
	u64 checks, began_ns, before;

	low_is_held(hws);
	run(50 * MS);
	CHECK(high->in_slot && !gpreempt_queue_pending(high->q.gpreempt) && preempted(low));
	before = skipped(GPREEMPT_SKIP_UNSETTLED);
	checks = atomic64_read(&node_of(0)->stats.checks);
	world.while_asking = runlist_changes_each_time;
	while (skipped(GPREEMPT_SKIP_UNSETTLED) == before)
		fsleep(5);
	began_ns = ktime_get_ns();
	while (atomic64_read(&node_of(0)->stats.checks) <= checks + 1)
		fsleep(5);
	CHECK(ktime_get_ns() - began_ns <= 320 * US);
	CHECK(ktime_get_ns() - began_ns >= 150 * US);
	/* From then on every look decides. */
	before = skipped(GPREEMPT_SKIP_UNSETTLED);
	checks = atomic64_read(&node_of(0)->stats.checks);
	run(10 * MS);
	CHECK(atomic64_read(&node_of(0)->stats.checks) >= checks + 90);
	CHECK(skipped(GPREEMPT_SKIP_UNSETTLED) - before <= atomic64_read(&node_of(0)->stats.checks) - checks + 1);
	CHECK(preempted(low));
	world.while_asking = NULL;
	CHECK(run_until_idle(high, SEC));
	run(10 * MS);
	CHECK(!preempted(low));
	world_end();
}

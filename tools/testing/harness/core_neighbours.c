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

/* ---- doorbells whose entries do not go: an MMU notifier of their process waits for a job that only a reset ends ---- */

static bool job_hangs;
static struct sim_process *hangs;

static void waits_for_the_job(void)
{
	world.nr_notified++;
	while (READ_ONCE(job_hangs))
		fsleep(100);
}

/* Own is idle, and about to be armed; low works, high is idle. */
static void notifier_hangs(bool hws, u32 nr_nodes)
{
	world_make(hws, 1, nr_nodes);
	set("gpreempt_enable", "1");
	set("gpreempt_wakeup", "doorbell");
	world.nodes[0].nr_wave_slots = 1;
	low = add_queue(10);
	high = add_queue(0);
	own = add_queue(5);
	hangs = process_of(own);
	low->kernel_ns = 50 * MS;
	submit(low, 1000);
	WRITE_ONCE(job_hangs, true);
	world.before_unmapping = waits_for_the_job;
	run(20 * MS);
	CHECK(world.nr_notified >= 1);
}

static bool reset_done;

static int resets(void *unused)
{
	reset_gpu();
	WRITE_ONCE(reset_done, true);
	return 0;
}

BOTH(reset_never_waits_for_a_notifier, "a program whose doorbells cannot be withdrawn before the GPU is reset delays neither the reset, nor the end of anybody's queue, nor any decision")
{
	struct sim_queue *other;
	struct task_struct *task;

	notifier_hangs(hws, 1);
	/* The node goes on. */
	other = add_queue(10);
	high_comes();
	CHECK(preempted(low));
	/* Queues come and go, its own too. */
	destroy_queue(other);
	destroy_queue(own);
	CHECK(READ_ONCE(job_hangs));
	task = kthread_create(resets, NULL, "reset");
	wake_up_process(task);
	run(100 * MS);
	CHECK(READ_ONCE(reset_done));
	/* That is what ends the job. */
	WRITE_ONCE(job_hangs, false);
	kthread_stop(task);
	world.before_unmapping = NULL;
	run(20 * MS);
	/* The device works. */
	submit(low, 5);
	submit(high, 5);
	run(10 * MS);
	CHECK(preempted(low));
	world_end();
}

static int switches_off(void *unused)
{
	set("gpreempt_enable", "0");
	return 0;
}

BOTH(switching_off_waits_for_no_notifier, "switching off, and a reset while that is under way, do not wait for a program whose doorbells cannot be withdrawn")
{
	struct task_struct *task;

	notifier_hangs(hws, 1);
	high_comes();
	CHECK(preempted(low));
	task = kthread_create(switches_off, NULL, "switch");
	wake_up_process(task);
	run(50 * MS);
	CHECK_STATE("off");
	CHECK(!preempted(low));
	kthread_stop(task);
	reset_gpu();
	WRITE_ONCE(job_hangs, false);
	world.before_unmapping = NULL;
	set("gpreempt_enable", "1");
	run(20 * MS);
	submit(low, 5);
	submit(high, 5);
	run(10 * MS);
	CHECK(preempted(low));
	world_end();
}

static void frees_memory(void)
{
	/* What reclaim does on its way: shrinkers, notifiers. */
	shim_while_allocating = NULL;
	while (READ_ONCE(job_hangs))
		fsleep(100);
}

BOTH(reset_never_waits_for_memory, "a monitor that needs memory, of which there is none before the GPU is reset, delays no reset")
{
	struct gpreempt_node *gn;
	struct task_struct *task;

	low_is_held(hws);
	gn = node_of(0);
	WRITE_ONCE(job_hangs, true);
	mutex_lock(&gn->pass_lock);
	gn->max_sampled = 1;
	mutex_unlock(&gn->pass_lock);
	shim_while_allocating = frees_memory;
	gpreempt_core_kick_all();
	run(MS);
	CHECK(!shim_while_allocating);
	task = kthread_create(resets, NULL, "reset");
	wake_up_process(task);
	run(100 * MS);
	CHECK(READ_ONCE(reset_done));
	WRITE_ONCE(job_hangs, false);
	kthread_stop(task);
	run(MS);
	world_end();
}

TEST(switching_off_delays_no_reset, "a reset that comes while switching off waits for a queue that does not leave its slot does not wait for it as well (mqd)")
{
	struct task_struct *switches, *task;
	u64 began_ns;

	low_runs(false);
	low->stuck_ns = U64_MAX;
	low->immortal = true;
	submit(high, 1000);
	run(300 * MS);
	CHECK(low->q.gpreempt->leaving);
	switches = kthread_create(switches_off, NULL, "switch");
	wake_up_process(switches);
	run(20 * MS);
	CHECK(low->q.gpreempt && low->q.gpreempt->leaving);
	began_ns = ktime_get_ns();
	WRITE_ONCE(reset_done, false);
	task = kthread_create(resets, NULL, "reset");
	wake_up_process(task);
	while (!READ_ONCE(reset_done))
		fsleep(1000);
	/* A look at the slots that was under way. */
	CHECK(ktime_get_ns() - began_ns <= 110 * MS);
	kthread_stop(task);
	low->immortal = false;
	low->stuck_ns = 0;
	run(20 * MS);
	CHECK_STATE("off");
	kthread_stop(switches);
	CHECK(!preempted(low));
	set("gpreempt_enable", "1");
	world_end();
}

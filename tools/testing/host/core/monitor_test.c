// SPDX-License-Identifier: MIT
/* monitor_test.c - what single passes of the monitor look at, keep and ask for */
#include "rivals.h"

static struct sim_queue *first, *last;

/* First's and last's work is long done, low's never: two are dormant, and where the one that does not is among them. */
static void two_dormant_beside(bool hws, u32 place)
{
	world_polled(hws);
	low = place == 0 ? add_queue(10) : NULL;
	first = add_queue(0);
	low = place == 1 ? add_queue(10) : low;
	last = add_queue(0);
	low = place == 2 ? add_queue(10) : low;
	high = first;
	world.nodes[0].nr_wave_slots = 1;
	submit(first, 1);
	submit_and_run(last, 1, MS);
	run_kernels(low, 1, 30 * SEC, 1500 * MS);
	CHECK(low->in_slot);
	CHECK_STATE("idle");
}

static void two_dormant(bool hws)
{
	two_dormant_beside(hws, 1);
}

static bool is_sampled(const struct sim_queue *sq)
{
	struct gpreempt_node *gn = node_of(0);
	u32 i;

	for (i = 0; i < gn->monitor.nr_sampled; i++)
		if (gn->monitor.sampled[i] == &sq->q.gpreempt->policy)
			return true;
	return false;
}

/* ---- what it runs as ---- */

BOTH(looks_wait_for_no_program, "the monitor is a real-time thread, and whoever resets stays what he is")
{
	struct task_struct *thread;

	low_runs(hws);
	thread = node_of(0)->life.thread;
	CHECK(thread->fifo);
	high_preempts_low();
	CHECK(thread->fifo);
	CHECK_EQ(thread->nice, 0);
	reset_gpu();
	CHECK(!current->fifo && !current->nice);
	CHECK_AFTER(5 * MS, thread->fifo);
}

static u64 monitor_cpus(void)
{
	u64 cpus;

	switch_off_and_on();
	run(MS);
	cpus = node_of(0)->life.thread->cpus.bits;
	/* Nor does a pass change what was set by hand. */
	node_of(0)->life.thread->cpus.bits = 1;
	run(20 * MS);
	CHECK_EQ(node_of(0)->life.thread->cpus.bits, 1);
	return cpus;
}

BOTH(monitors_are_near_their_device,
     "the monitor of a device with a NUMA node may use the CPUs of that but for isolated ones and those without a tick, or those of other nodes where there is none; set by hand it stays there")
{
	low_runs(hws);
	CHECK_EQ(monitor_cpus(), ~0ULL);
	world.dev.numa_node = 1;
	CHECK_EQ(monitor_cpus(), 0xff00);
	shim_not_isolated.bits = ~0x0f00ULL;
	CHECK_EQ(monitor_cpus(), 0xf000);
	shim_for_kthreads.bits = ~0x3000ULL;
	CHECK_EQ(monitor_cpus(), 0xc000);
	shim_not_isolated.bits = ~0xff00ULL;
	CHECK_EQ(monitor_cpus(), ~0xff00ULL);
}

BOTH(monitors_come_back_to_their_device, "a monitor goes back to the CPUs of its device's NUMA node a second after they have come back, and is on no isolated one meanwhile")
{
	struct task_struct *thread;

	low_is_preempted_polled(hws);
	run_kernels(high, 1, 10 * SEC, MS);
	world.dev.numa_node = 1;
	shim_not_isolated.bits = ~0xffULL;
	shim_cpus_online.bits = ~0xff00ULL;
	switch_off_and_on();
	run(MS);
	thread = node_of(0)->life.thread;
	CHECK_EQ(thread->cpus.bits, ~0xffULL);
	shim_cpus_online.bits = ~0ULL;
	CHECK_EQ_AFTER(1100 * MS, thread->cpus.bits, 0xff00);
	/* The kernel moves it anywhere when the last one goes. */
	shim_cpus_online.bits = ~0xff00ULL;
	thread->cpus.bits = ~0ULL;
	CHECK_EQ_AFTER(1100 * MS, thread->cpus.bits, ~0xffULL);
	kill_process(process_of(high));
	kill_process(process_of(low));
}

/* The fake refuses a real-time thread that yields for longer and does not sleep. */
TEST(long_waits_yield_the_cpu, "while a runlist takes long the monitor sleeps, and stays a real-time thread: no program's time slice comes before the queues")
{
	struct task_struct *thread;

	low_runs(true);
	thread = node_of(0)->life.thread;
	world.nodes[0].unmap_us = 150;
	high_preempts_low();
	CHECK(thread->fifo);
	CHECK_EQ(thread->nice, 0);
	low_resumes_after_high(5 * MS);
	world.nodes[0].unmap_us = 2000;
	submit(high, 1);
	CHECK_AFTER(5 * MS, preempted(low));
	CHECK(thread->fifo);
	CHECK_EQ(thread->nice, 0);
}

TEST(its_last_pass_waits_for_no_program, "switched off, a node gives queues back by its real-time thread, which sleeps where that takes long")
{
	low_runs(true);
	high_preempts_low();
	world.nodes[0].unmap_us = 2000;
	set("gpreempt_enable", "0");
	CHECK(on_device(low));
	CHECK(world.nodes[0].real_time);
}

/* ---- who is looked at ---- */

BOTH(idle_queues_are_dormant, "of queues that have been idle for long two words are read, and nothing else for a second")
{
	EACH_ANEW(place, 3, "place %u: ", place) {
		two_dormant_beside(hws, place);
		CHECK_EQ(node_of(0)->monitor.nr_sampled, 1);
		CHECK_EQ(node_of(0)->monitor.nr_dormant, 2);
		CHECK(is_sampled(low));
		CHECK_EQ(node_of(0)->policy.nr, 1);
		CHECK_EQ(node_of(0)->policy.nr_dormant, 2);
		CHECK(node_of(0)->monitor.all_due_ns > ktime_get_ns() && node_of(0)->monitor.all_due_ns <= ktime_get_ns() + SEC);
		kill_process(process_of(low));
	}
}

BOTH(dormant_queues_are_not_left_behind, "a queue that was dormant and went along with a preemption comes back with it, not a second later")
{
	struct sim_queue *along;

	world_on(hws);
	low = add_queue(10);
	along = add_queue(10);
	high = add_queue(0);
	world.nodes[0].nr_wave_slots = 1;
	run_kernels(low, 1, 30 * SEC, 1500 * MS);
	CHECK(!is_sampled(along) && !is_sampled(high));
	run_kernels(high, 1, 10 * MS, 8 * MS);
	CHECK(preempted(low) && preempted(along));
	CHECK(run_until_idle(high, SEC));
	CHECK_AFTER(2 * MS, !preempted(low) && !preempted(along));
	CHECK_AFTER(20 * MS, !is_sampled(along));
	kill_process(process_of(low));
}

BOTH(arrays_are_made_anew, "larger arrays are filled before they are looked at; a queue of which nothing is known is asked first")
{
	two_dormant(hws);
	mutex_lock(&node_of(0)->pass_lock);
	node_of(0)->monitor.max_sampled = 1;
	mutex_unlock(&node_of(0)->pass_lock);
	CHECK_EQ_AFTER(6 * MS, node_of(0)->monitor.max_sampled, 16);
	CHECK_EQ(node_of(0)->monitor.nr_sampled + node_of(0)->monitor.nr_dormant, 3);
	set("gpreempt_interval_ms", "10000");
	run(MS);
	mutex_lock(&node_of(0)->pass_lock);
	node_of(0)->monitor.all_due_ns = 0;
	low->q.gpreempt->priority.derived = false;
	low->q.gpreempt->policy.set.priority = 99;
	last->q.gpreempt->policy.set.priority = 99;
	mutex_unlock(&node_of(0)->pass_lock);
	CHECK_EQ_AFTER(10 * MS, low->q.gpreempt->policy.set.priority, NORMAL - 10);
	CHECK_EQ(last->q.gpreempt->policy.set.priority, 99);
	kill_process(process_of(low));
}

BOTH(either_pointer_wakes, "a queue that is dormant is looked at as soon as either of its pointers moves, and the others are not")
{
	static const struct { u32 r, w; bool last; } cases[] = { { 1, 1, false }, { 0, 1, true }, { 0, 1, false } };
	u64 due_ns;

	EACH_CASE_ANEW(i, cases) {
		struct sim_queue *sq;

		two_dormant(hws);
		sq = cases[i].last ? last : first;
		due_ns = node_of(0)->monitor.all_due_ns;
		sq->pointers[1] += cases[i].w;
		sq->pointers[0] += cases[i].r;
		sq->submitted += cases[i].w;
		sq->done += cases[i].r;
		CHECK(!is_sampled(sq));
		run(6 * MS);
		if (cases[i].r) {
			CHECK(is_sampled(sq) && is_sampled(low) && !is_sampled(last));
			CHECK_EQ(node_of(0)->monitor.nr_sampled, 2);
			CHECK_EQ(node_of(0)->monitor.nr_dormant, 1);
			CHECK_EQ(node_of(0)->monitor.all_due_ns, due_ns);
		} else {
			CHECK(sq->done == 2 || sq->in_slot);
		}
		low->kernel_ns = MS;
		kill_process(process_of(low));
	}
}

BOTH(who_wakes_is_looked_at_anew, "a queue that was dormant competes with the nice value that its process has now")
{
	two_dormant(hws);
	set("gpreempt_interval_ms", "10000");
	CHECK_AFTER(2 * MS, !is_sampled(high));
	process_of(high)->task.nice = 10;
	submit_and_run(high, 1, 12 * MS);
	CHECK_EQ(high->q.gpreempt->policy.set.priority, NORMAL - 10);
	CHECK(!preempted(low));
	kill_process(process_of(low));
}

BOTH(nice_values_are_looked_at_every_interval, "those that are not dormant are asked for their nice value every gpreempt_interval_ms, not at every look")
{
	low_is_preempted(hws);
	set("gpreempt_interval_ms", "20");
	run(MS);
	process_of(high)->task.nice = 2;
	CHECK_EQ_AFTER(15 * MS, high->q.gpreempt->policy.set.priority, NORMAL);
	CHECK_EQ_AFTER(6 * MS, high->q.gpreempt->policy.set.priority, NORMAL - 2);
	CHECK_EQ(high->q.gpreempt->process->priority.nice, 2);
	CHECK_EQ(high->q.gpreempt->process->derived_ns, node_of(0)->monitor.derived_ns);
	set("gpreempt_nice", "0");
	CHECK_EQ_AFTER(MS, high->q.gpreempt->policy.set.priority, NORMAL);
	CHECK_EQ(low->q.gpreempt->policy.set.priority, NORMAL);
}

BOTH(the_policy_of_the_cpu_counts_as_a_nice_value, "SCHED_IDLE is one below nice 19, whatever the nice value; SCHED_BATCH is one below the nice value")
{
	static const struct { unsigned int policy; int nice; s32 priority; } cases[] = {
		{ SCHED_IDLE, 0, NORMAL - 20 }, { SCHED_IDLE, -5, NORMAL - 20 }, { SCHED_IDLE, 19, NORMAL - 20 },
		{ SCHED_BATCH, 0, NORMAL - 1 }, { SCHED_BATCH, 5, NORMAL - 6 },
		{ SCHED_FIFO, 3, NORMAL - 3 }, { SCHED_OTHER, 0, NORMAL },
	};
	size_t i;

	low_is_preempted(hws);
	set("gpreempt_interval_ms", "20");
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		process_of(high)->task.policy = cases[i].policy;
		process_of(high)->task.nice = cases[i].nice;
		CHECK_EQ_AFTER(40 * MS, high->q.gpreempt->policy.set.priority, cases[i].priority);
		CHECK_EQ(gpreempt_priority_of_program(node_of(0), &process_of(high)->task), cases[i].priority);
	}
	process_of(high)->task.policy = SCHED_IDLE;
	set("gpreempt_nice", "0");
	CHECK_EQ_AFTER(MS, high->q.gpreempt->policy.set.priority, NORMAL);
}

BOTH(evicted_queues_have_no_work, "packets of a queue that the driver keeps off the device hold nobody; those of one that is preempted count")
{
	low_is_preempted(hws);
	CHECK(low->q.gpreempt->policy.seen.pending > 0);
	evict_queue(high, true);
	CHECK_EQ_AFTER(MS, high->q.gpreempt->policy.seen.pending, 0);
	CHECK_AFTER(10 * MS, !preempted(low) && low->in_slot);
	evict_queue(high, false);
	CHECK_AFTER(10 * MS, preempted(low));
}

BOTH(who_returns_from_an_eviction_is_seen, "packets that waited through a long eviction are seen soon after it ends, though no pointer has moved for seconds")
{
	low_is_preempted(hws);
	low->kernel_ns = 10 * SEC;
	evict_queue(high, true);
	submit_and_run(high, 1, 3 * SEC);
	CHECK(!preempted(low) && low->in_slot);
	evict_queue(high, false);
	CHECK_AFTER(12 * MS, preempted(low));
	kill_process(process_of(low));
}

BOTH(kernels_return_from_an_eviction, "the last kernel of a request, evicted in its midst, gets its slot back from whoever took it meanwhile")
{
	low_is_preempted(hws);
	low->kernel_ns = SEC;
	high->kernel_ns = 500 * MS;
	CHECK_AFTER(60 * MS, high->in_slot && high->pointers[0] == high->pointers[1]);
	evict_queue(high, true);
	CHECK_AFTER(100 * MS, !preempted(low) && low->in_slot);
	evict_queue(high, false);
	CHECK_AFTER(12 * MS, preempted(low) && high->in_slot);
}

/* The room that there is seems too small, and allocation @n fails. */
static void room_is_missing(int n)
{
	struct gpreempt_node *gn = node_of(0);

	mutex_lock(&gn->pass_lock);
	gn->monitor.max_sampled = 1;
	mutex_unlock(&gn->pass_lock);
	gpreempt_node_kick_all();
	shim_fail_alloc = n;
	run(20 * US);
	shim_fail_alloc = 0;
}

BOTH(room_for_queues, "without memory for more, as many queues are looked at as there is room for, and it is tried again")
{
	int n;
	u32 i;

	world_polled(hws);
	add_queue(3);
	TIMES(7)
		add_queue(0);
	CHECK_EQ_AFTER(10 * MS, node_of(0)->monitor.max_sampled, 16);
	for (n = 1; n <= 2; n++) {
		tap_at("allocation %d: ", n);
		room_is_missing(n);
		CHECK_EQ(skipped(GPREEMPT_SKIP_NO_MEMORY), n);
		CHECK_EQ(node_of(0)->monitor.max_sampled, 1);
		CHECK_EQ(node_of(0)->monitor.nr_sampled + node_of(0)->monitor.nr_dormant, 1);
		CHECK_EQ(node_of(0)->monitor.all_due_ns, 0);
		CHECK_EQ_AFTER(6 * MS, node_of(0)->monitor.max_sampled, 16);
		CHECK_EQ(node_of(0)->monitor.nr_sampled + node_of(0)->monitor.nr_dormant, 8);
	}
	process_of(world.queues[0])->task.nice = 0;
	for (i = 8; i < 16; i++)
		add_queue(0);
	CHECK_AFTER(6 * MS, state_is("parked"));
	CHECK_EQ(node_of(0)->monitor.max_sampled, 16);
	CHECK_EQ(node_of(0)->monitor.nr_sampled + node_of(0)->monitor.nr_dormant, 16);
	add_queue(0);
	CHECK_EQ_AFTER(6 * MS, node_of(0)->monitor.max_sampled, 32);
}

BOTH(dead_processes_are_left_out, "a process that was taken off the device is looked at no more, wherever its queues stand, and others are")
{
	two_dormant(hws);
	submit_and_run(last, 100, MS);
	WRITE_ONCE(process_of(low)->p.pdds[0].already_dequeued, true);
	CHECK_AFTER(6 * MS, low->q.gpreempt->priority.dead && !is_sampled(low));
	CHECK(is_sampled(last));
	WRITE_ONCE(process_of(low)->p.pdds[0].already_dequeued, false);
	gpreempt_node_kick_all();
	CHECK_AFTER(6 * MS, !low->q.gpreempt->priority.dead);
	CHECK_EQ(node_of(0)->monitor.nr_sampled + node_of(0)->monitor.nr_dormant, 3);
	kill_process(process_of(low));
}

/* ---- waves in flight ---- */

static void see(void)
{
	gpreempt_waves_see(node_of(0));
}

/* As soon as nobody needs an answer any more. */
static void see_later(void)
{
	fsleep(2 * GPREEMPT_WAVES_SEE_NS / US);
	see();
}

/* Somebody else's entry: the same queue in another place. */
static void more_waves(void)
{
	u32 last = node_of(0)->waves.nr_slots - 1;

	node_of(0)->waves.occupancy[last] = (struct kfd_cu_occupancy){ .wave_cnt = 5, .doorbell_off = low->q.properties.doorbell_off };
	node_of(0)->waves.see_buffer[last] = node_of(0)->waves.occupancy[last];
}

BOTH(waves_are_added_up, "a queue's waves are those of all its places on all XCCs, and of no other queue")
{
	world_on_xccs(hws, 2);
	add_rivals(10, 0);
	world.nodes[0].nr_wave_slots = 1;
	run_kernels(low, 1, 50 * MS, 10 * MS);
	world.while_asking = more_waves;
	see();
	CHECK_EQ(low->q.gpreempt->waves.seen, 11);
	CHECK_EQ(high->q.gpreempt->waves.seen, 0);
	/* Now it decides. */
	run_kernels(high, 1, 50 * MS, 6 * MS);
	CHECK(preempted(low));
	CHECK_EQ(low->q.gpreempt->policy.seen.waves, 11);
	world.while_asking = NULL;
}

static void driver_is_busy(void)
{
	mutex_lock(&world.nodes[0].dqm.lock_hidden);
	world.while_asking = NULL;
}

BOTH(seeing_waves, "who wants to see gets the waves of each queue, on all XCCs, as of now, and once in a while only")
{
	u32 looks;

	EACH_ANEW(xcc, 2, "XCC %u: ", xcc) {
		world_on_xccs(hws, 2);
		see();
		add_rivals(0, 0);
		low->done = low->submitted = low->pointers[0] = low->pointers[1] = xcc;
		run_kernels(low, 1, 50 * MS, 10 * MS);
		CHECK(low->in_slot);
		low->q.gpreempt->waves.sum = high->q.gpreempt->waves.sum = 7;
		looks = world.nr_looks;
		see();
		CHECK_EQ(low->q.gpreempt->waves.seen_ns, ktime_get_ns());
		CHECK_EQ(low->q.gpreempt->waves.seen, 1);
		CHECK_EQ(high->q.gpreempt->waves.seen, 0);
		CHECK_EQ(world.nr_looks, looks + 2);
		fsleep(GPREEMPT_WAVES_SEE_NS / US - 1);
		see();
		CHECK_EQ(world.nr_looks, looks + 2);
		fsleep(1);
		see();
		CHECK_EQ(world.nr_looks, looks + 4);
		CHECK_EQ(low->q.gpreempt->waves.seen_ns, ktime_get_ns());
	}
}

static void runlist_changes(void)
{
	world.while_asking = NULL;
	node_of(0)->waves.epoch++;
}

BOTH(waves_that_cannot_be_seen, "there is no answer while the node is paused, somebody else asks, the GPU is reset, or the driver is about to change what runs")
{
	u64 seen_ns;

	low_runs(hws);
	see();
	seen_ns = low->q.gpreempt->waves.seen_ns;
	CHECK(seen_ns && low->q.gpreempt->waves.seen);
	low->q.gpreempt->waves.seen = 55;

	WRITE_ONCE(node_of(0)->life.paused, true);
	see_later();
	WRITE_ONCE(node_of(0)->life.paused, false);
	dqm_lock(&world.nodes[0].dqm);
	see_later();
	dqm_unlock(&world.nodes[0].dqm);
	world.reset_domain.sem.writer = true;
	see_later();
	world.reset_domain.sem.writer = false;
	mutex_lock(&node_of(0)->waves.see_lock);
	mutex_unlock(&node_of(0)->waves.see_lock);
	WRITE_ONCE(node_of(0)->waves.asking, true);
	see_later();
	WRITE_ONCE(node_of(0)->waves.asking, false);
	world.while_asking = driver_is_busy;
	see_later();
	dqm_unlock(&world.nodes[0].dqm);
	world.while_asking = runlist_changes;
	see_later();
	CHECK_EQ(low->q.gpreempt->waves.seen_ns, seen_ns);
	CHECK_EQ(low->q.gpreempt->waves.seen, 55);
	CHECK(!mutex_is_locked(&node_of(0)->waves.see_lock));
	CHECK_EQ(world.reset_domain.sem.readers, 0);
	see_later();
	CHECK_EQ(low->q.gpreempt->waves.seen, 1);
}

/* Some XCCs are still at it when the driver holds it for done. */
BOTH(waves_on_the_move_are_not_shown, "what registers show a moment after a runlist may be another queue's: LIST does not look then, and of a queue that is off the device it keeps what it had")
{
	u64 seen_ns;

	low_is_preempted(hws);
	CHECK(!low->q.gpreempt->waves.seen);
	CHECK_EQ(gpreempt_waves_shown(low->q.gpreempt), 0);
	low->q.gpreempt->waves.seen = 77;
	fsleep(MS / US);
	see();
	CHECK(high->q.gpreempt->waves.seen_ns);
	CHECK_EQ(low->q.gpreempt->waves.seen, 77);
	CHECK_EQ(gpreempt_waves_shown(low->q.gpreempt), 0);
	seen_ns = high->q.gpreempt->waves.seen_ns;
	fsleep(GPREEMPT_WAVES_SEE_NS / US);
	dqm_lock(&world.nodes[0].dqm);
	gpreempt_waves_moved(node_of(0));
	dqm_unlock(&world.nodes[0].dqm);
	fsleep(GPREEMPT_WAVES_RESTORE_NS / US - 1);
	see();
	CHECK_EQ(high->q.gpreempt->waves.seen_ns, seen_ns);
	fsleep(1);
	see();
	CHECK_EQ(high->q.gpreempt->waves.seen_ns, ktime_get_ns());
}

static struct task_struct somebody;

static void driver_takes_its_lock(void)
{
	world.while_asking = NULL;
	world.nodes[0].dqm.lock_hidden.owner = &somebody;
}

/* High's last kernel runs, its ring is empty: each pass asks. */
static void waves_decide(bool hws)
{
	low_is_preempted_polled(hws);
	CHECK_AFTER(50 * MS, high->in_slot && !gpreempt_node_pending(high->q.gpreempt) && preempted(low));
}

BOTH(waves_while_the_runlist_changes, "what was read of waves while the driver changed the runlist is not believed, and the pass is tried again soon")
{
	u64 before, checks;

	waves_decide(hws);
	before = skipped(GPREEMPT_SKIP_UNSETTLED);
	world.while_asking = runlist_changes;
	checks = atomic64_read(&stats()->checks);
	while (world.while_asking)
		fsleep(5);
	CHECK_EQ(skipped(GPREEMPT_SKIP_UNSETTLED), before + 1);
	CHECK_EQ(atomic64_read(&stats()->checks), checks);
	fsleep(60);
	CHECK_EQ(atomic64_read(&stats()->checks), checks + 1);
	CHECK_AFTER(MS, preempted(low));
	before = skipped(GPREEMPT_SKIP_UNSETTLED);
	world.while_asking = driver_takes_its_lock;
	fsleep(200);
	CHECK(skipped(GPREEMPT_SKIP_UNSETTLED) > before);
	CHECK(!world.while_asking);
	world.nodes[0].dqm.lock_hidden.owner = NULL;
	CHECK(preempted(low));
}

BOTH(waves_during_a_reset, "waves are not asked for while the GPU is reset: it is counted, and nothing is decided")
{
	u64 before, checks;

	waves_decide(hws);
	before = skipped(GPREEMPT_SKIP_RESETTING);
	checks = atomic64_read(&stats()->checks);
	world.reset_domain.sem.writer = true;
	fsleep(300);
	CHECK(skipped(GPREEMPT_SKIP_RESETTING) >= before + 4);
	CHECK_EQ(atomic64_read(&stats()->checks), checks);
	CHECK(preempted(low));
	world.reset_domain.sem.writer = false;
}

BOTH(waves_on_the_second_xcc_count, "a low queue whose last waves are on the second XCC is in the way of a high one")
{
	world_on_xccs(hws, 2);
	add_rivals(10, 0);
	low->kernel_ns = 50 * MS;
	low->done = low->submitted = low->pointers[0] = low->pointers[1] = 1;
	submit_and_run(low, 1, 20 * MS);
	submit_and_run(high, 1000, 6 * MS);
	CHECK(preempted(low));
	kill_process(process_of(high));
}

BOTH(unsettled_for_long, "a runlist that does not become quiescent puts the next decision off by 200 us, and none after that until waves could be read again")
{
	u64 before, checks, looks;

	waves_decide(hws);
	checks = atomic64_read(&stats()->checks);
	before = skipped(GPREEMPT_SKIP_UNSETTLED);
	looks = world.nr_looks;
	world.nodes[0].dqm.lock_hidden.owner = &somebody;
	fsleep(4800);
	CHECK(node_of(0)->waves.unread_ns != 0);
	checks = atomic64_read(&stats()->checks) - checks;
	before = skipped(GPREEMPT_SKIP_UNSETTLED) - before;
	CHECK(checks >= 40);
	CHECK_WITHIN(before, checks, checks + 4);
	/* Registers are not read for an answer that could not be believed. */
	CHECK(world.nr_looks <= looks + 1);
	CHECK(preempted(low));
	world.nodes[0].dqm.lock_hidden.owner = NULL;
	CHECK_EQ_AFTER(MS, node_of(0)->waves.unread_ns, 0);
}

BOTH(asking_has_a_cost, "what asking for waves took counts for the pass that asked, not for the next")
{
	u32 i;

	waves_decide(hws);
	world.nodes[0].ask_us = 20;
	run(MS);
	/* Not while it is being asked. */
	for (i = 0; i < 50 && !node_of(0)->waves.asked_ns; i++)
		fsleep(3);
	CHECK_EQ(node_of(0)->waves.asked_ns, 20 * US);
	CHECK(run_until_idle(high, SEC));
	CHECK_EQ_AFTER(50 * MS, node_of(0)->waves.asked_ns, 0);
}

BOTH(the_drivers_runlists_are_known, "a runlist that the driver sends by itself is taken in by the next look: who works waits for its waves")
{
	u64 before_ns;

	low_is_preempted_polled(hws);
	/* Nobody has to ask for waves, which would end the wait for them. */
	submit(high, 2);
	before_ns = ktime_get_ns();
	CHECK(high->q.gpreempt->policy.seen.restore_since_ns < before_ns);
	node_of(0)->waves.epoch++;
	CHECK_AFTER(GPREEMPT_WAVES_RESTORE_NS / 2, high->q.gpreempt->policy.seen.restore_since_ns >= before_ns);
	CHECK_EQ(node_of(0)->waves.epoch_seen, node_of(0)->waves.epoch);
	before_ns = ktime_get_ns();
	CHECK_AFTER(MS, high->q.gpreempt->policy.seen.restore_since_ns < before_ns);
}

/* ---- cost and failure ---- */

static u64 spent_ns(u32 node)
{
	const struct gpreempt_policy_node *pn = &node_of(node)->policy;

	return pn->nr_buckets ? pn->buckets[pn->nr_buckets - 1].spent_ns : 0;
}

BOTH(the_budget_is_counted, "what a pass took is held against the budget, twice if it saved; a preemption that has to wait is counted once")
{
	low_runs(hws);
	set("gpreempt_overhead_pct", "10");
	set("gpreempt_max_hold_ms", "0");
	high_preempts_low();
	CHECK_EQ(spent_ns(0), 2 * atomic64_read(&stats()->preempt_ns_last));
	CHECK_EQ(skipped(GPREEMPT_SKIP_BUDGET), 0);
	low_resumes_after_high(10 * MS);
	mutex_lock(&node_of(0)->pass_lock);
	gpreempt_policy_overhead(&node_of(0)->policy, 50 * MS, false, ktime_get_ns());
	mutex_unlock(&node_of(0)->pass_lock);
	high_comes();
	CHECK(!preempted(low));
	CHECK_EQ(skipped(GPREEMPT_SKIP_BUDGET), 1);
	kill_process(process_of(high));
}

TEST(what_ends_by_itself_is_counted, "a request that waits for a lower kernel that ends by itself, or for none that has begun, preempts nothing, and is counted once; with gpreempt_drain_us=0 each preempts")
{
	low_is_preempted(true);
	low_resumes_after_high(10 * MS);
	CHECK(run_until_idle(low, SEC));
	run(MS);
	low->kernel_ns = 30 * US;
	high->kernel_ns = 500 * US;
	EACH(i, 2, "gpreempt_drain_us %s: ", i ? "0" : "200") {
		u64 before = preemptions(), counted = skipped(GPREEMPT_SKIP_DRAINED);

		set("gpreempt_drain_us", i ? "0" : "200");
		TIMES(5) {
			submit_and_run(high, 1, 100 * US);
			submit_and_run(low, 1, 10 * MS);
			CHECK(low->done == low->submitted && !preempted(low));
		}
		CHECK_EQ(preemptions() - before, i ? 5 : 0);
		CHECK_EQ(skipped(GPREEMPT_SKIP_DRAINED) - counted, i ? 0 : 5);
	}
}

TEST(failures_cost_nothing, "what a device in trouble took is not held against the budget")
{
	low_runs(true);
	set("gpreempt_overhead_pct", "10");
	world.nodes[0].nr_send_fails = 1;
	CHECK_EQ(spent_ns(0), 0);
	submit(high, 300);
	while (world.nodes[0].nr_send_fails)
		fsleep(10);
	CHECK_EQ(spent_ns(0), 0);
	CHECK_AFTER(10 * MS, spent_ns(0) > 0);
}

TEST(giving_up_is_told_once, "a node that gives up says so once, however long it goes on failing, and begins without errors when it is asked to")
{
	u64 wakeups;

	low_runs(true);
	world.nodes[0].nr_map_fails = 30;
	submit_and_run(high, 3000, 300 * MS);
	CHECK_STATE("failed");
	CHECK_EQ(shim_info_printers, IS_ENABLED(CONFIG_KFD_GPREEMPT_CONTROL));
	CHECK_EQ(atomic64_read(&stats()->disabled), 1);
	/* Nobody spins because of what changes meanwhile. */
	wakeups = atomic64_read(&stats()->wakeups);
	gpreempt_node_kick_all();
	CHECK_AFTER(20 * MS, atomic64_read(&stats()->wakeups) <= wakeups + 1);
	CHECK_STATE("failed");
	kill_process(process_of(high));
	set("gpreempt_enable", "1");
	CHECK_EQ_AFTER(MS, node_of(0)->monitor.errors, 0);
	CHECK(strcmp(state(), "failed") != 0);
}

TEST(a_late_read_pointer_settles, "a HIQ whose read pointer is reported by blocks of 64 dwords is settled a millisecond after its runlist: who has ended is seen")
{
	low_runs(true);
	world.nodes[0].hiq_late = 63;
	run_kernels(high, 1, 5 * MS, 4 * MS);
	CHECK(preempted(low) && high->in_slot);
	CHECK(run_until_idle(high, 20 * MS));
	CHECK_AFTER(10 * MS, !preempted(low));
	CHECK(run_until_idle(low, SEC));
}

/* High has three kernels; 200 us after the last one was launched. Is low still held? */
static bool held_for_the_last_kernel(void)
{
	u64 done = high->done + 2;

	submit(high, 3);
	while (high->done < done || !high->in_slot)
		run(20 * US);
	run(200 * US);
	return preempted(low);
}

TEST(lagging_counters_are_found_out, "where waves are counted 100 us late, a kernel that has just been launched looks finished once, and then no more (hws)")
{
	u32 held = 0;

	low_runs(true);
	world.nodes[0].waves_lag_ns = 100 * US;
	high->kernel_ns = 3 * MS;
	TIMES(10) {
		held += held_for_the_last_kernel();
		CHECK(run_until_idle(high, 100 * MS));
		CHECK_AFTER(10 * MS, !preempted(low));
	}
	CHECK(held >= 9);
	CHECK_EQ(node_of(0)->waves.lag_ns, GPREEMPT_WAVES_LAG_NS);
	CHECK(strstr(shim_log, "waves are counted late") != NULL);
}

TEST(exact_counters_are_believed, "where waves are counted at once, no time is waited for that: the end of a kernel is its end (hws)")
{
	low_runs(true);
	high->kernel_ns = 3 * MS;
	TIMES(10) {
		CHECK(held_for_the_last_kernel());
		CHECK(run_until_idle(high, 100 * MS));
		CHECK_AFTER(10 * MS, !preempted(low));
	}
	CHECK_EQ(node_of(0)->waves.lag_ns, 0);
}

/* Low runs one long kernel behind an empty ring, high has no work yet. */
static void low_kernel_is_not_counted(u64 kernel_ns)
{
	world_on_xccs(true, 2);
	world.nodes[0].nr_wave_slots = 1;
	world.nodes[0].zero_waves = true;
	add_rivals(10, 0);
	low->kernel_ns = kernel_ns;
	submit(low, 1);
	CHECK_AFTER(20 * MS, low->in_slot && !preempted(low));
}

TEST(counters_that_do_not_count_are_found_out, "where waves are not counted, what a runlist saves says so, and registers are read every 10 ms at most from then on (hws)")
{
	u64 looks, runlists, found_ns;

	low_kernel_is_not_counted(100 * MS);
	CHECK(!node_of(0)->waves.saved);
	submit(high, 100);
	CHECK_AFTER(3 * MS, preempted(low));
	CHECK(node_of(0)->waves.saved);
	CHECK(strstr(shim_log, "waves in flight are not counted") != NULL);
	looks = world.nr_looks;
	found_ns = ktime_get_ns();
	CHECK(run_until_idle(high, SEC));
	CHECK(run_until_idle(low, SEC));
	/* From now on low yields at once. */
	low->kernel_ns = 50 * MS;
	submit(low, 1);
	CHECK_AFTER(20 * MS, low->in_slot && !preempted(low));
	runlists = world.nodes[0].runlists;
	submit(high, 100);
	CHECK_AFTER(500 * US, preempted(low));
	CHECK_EQ(world.nodes[0].runlists, runlists + 1);
	CHECK(run_until_idle(low, SEC));
	/* XCCs */
	CHECK(world.nr_looks - looks <= 2 * ((ktime_get_ns() - found_ns) / (10 * MS) + 1));
}

TEST(saved_waves_hold_the_level, "where only runlists tell, the last kernel of a request holds those below, and for a quarter of its length after its end at most (hws)")
{
	u64 ended_ns;

	low_kernel_is_not_counted(SEC);
	set("gpreempt_max_hold_ms", "0");
	submit(high, 1);
	CHECK_AFTER(3 * MS, node_of(0)->waves.saved);
	CHECK_AFTER(50 * MS, !preempted(low));
	high->kernel_ns = 100 * MS;
	submit(high, 1);
	run(3 * MS);
	while (high->in_slot || high->left_ns) {
		CHECK(preempted(low));
		run(MS);
	}
	ended_ns = ktime_get_ns();
	while (preempted(low))
		run(100 * US);
	CHECK(ktime_get_ns() - ended_ns <= 100 * MS / 4 + 3 * MS);
}

TEST(a_runlist_is_asked_ever_more_rarely, "where only runlists tell, a kernel of 100 ms costs no more than 24 of them (hws)")
{
	u64 runlists;

	low_kernel_is_not_counted(SEC);
	set("gpreempt_max_hold_ms", "0");
	submit(high, 1);
	CHECK_AFTER(50 * MS, node_of(0)->waves.saved && !preempted(low));
	high->kernel_ns = 100 * MS;
	runlists = world.nodes[0].runlists;
	submit(high, 1);
	CHECK_AFTER(150 * MS, !preempted(low));
	CHECK_WITHIN(world.nodes[0].runlists - runlists, 8, 24);
}

TEST(what_has_ended_is_taken_off_once, "where only runlists tell, a lower queue whose end nobody saw is taken off once after each launch, and holds nobody (hws)")
{
	u64 taken;

	low_kernel_is_not_counted(100 * MS);
	submit(high, 100);
	CHECK(run_until_idle(low, SEC));
	CHECK(node_of(0)->waves.saved);
	TIMES(4) {
		low->kernel_ns = MS;
		submit(low, 1);
		CHECK(run_until_idle(low, SEC));
		run(50 * MS);
		taken = low->q.gpreempt->account.preempt_count;
		TIMES(5) {
			submit(high, 10);
			low_resumes_after_high(50 * MS);
		}
		CHECK(low->q.gpreempt->account.preempt_count <= taken + 1);
	}
}

TEST(counters_that_count_cost_no_runlist, "where waves are counted, the first look shows that, and no runlist is sent to know (hws)")
{
	u64 runlists;

	world_on_xccs(true, 2);
	world.nodes[0].nr_wave_slots = 1;
	add_rivals(10, 0);
	runlists = world.nodes[0].runlists;
	low->kernel_ns = 20 * MS;
	submit(low, 1);
	CHECK_AFTER(50 * MS, node_of(0)->policy.waves_seen);
	CHECK_EQ(world.nr_looks, 2); /* XCCs */
	high->kernel_ns = 20 * MS;
	submit(high, 1);
	CHECK_EQ_AFTER(50 * MS, world.nodes[0].runlists, runlists);
}

/*
 * Kernels too short to be seen, of a high queue whose end decides whether low may come back. Returns
 * how many runlists neither took low off nor gave it back.
 */
static u64 short_kernels(u64 for_ns)
{
	struct gpreempt_queue_account *account = &low->q.gpreempt->account;
	u64 end_ns = ktime_get_ns() + for_ns, runlists = world.nodes[0].runlists,
	    taken = account->preempt_count;

	while (ktime_get_ns() < end_ns) {
		submit(high, 1);
		CHECK(run_until_idle(high, SEC));
		submit(low, 1);
		CHECK(run_until_idle(low, SEC));
		CHECK_AFTER(3 * MS, !preempted(low));
	}
	return world.nodes[0].runlists - runlists - 2 * (account->preempt_count - taken);
}

TEST(doubt_about_counters_is_bounded, "where no kernel is long enough to be seen, 10 runlists in the first second and one in each later one check whether waves are counted (hws)")
{
	u64 checks;

	world_on_xccs(true, 2);
	set("gpreempt_wakeup", "poll");
	/* As if all looks came between kernels. */
	world.nodes[0].waves_lag_ns = SEC;
	add_rivals(10, 0);
	low->kernel_ns = 20 * US;
	high->kernel_ns = 20 * US;
	checks = short_kernels(SEC);
	CHECK_WITHIN(checks, 5, 10);
	checks = short_kernels(4 * SEC);
	CHECK_WITHIN(checks, 3, 5);
	CHECK(!node_of(0)->waves.saved);
	CHECK(strstr(shim_log, "are not counted") == NULL);
}

TEST(late_counters_are_no_dead_ones, "counters that lag are not taken for some that do not count, whenever the first wave is looked for (hws)")
{
	u64 after_ns;

	for (after_ns = 20 * US; after_ns <= 400 * US; after_ns += 20 * US) {
		world_on_xccs(true, 2);
		world.nodes[0].nr_wave_slots = 1;
		world.nodes[0].waves_lag_ns = 100 * US;
		add_rivals(10, 0);
		low->kernel_ns = 10 * MS;
		high->kernel_ns = MS;
		submit(low, 1);
		run(after_ns);
		submit(high, 1);
		CHECK(run_until_idle(low, SEC) && run_until_idle(high, SEC));
		CHECK(!node_of(0)->waves.saved && node_of(0)->waves.counted);
		CHECK(strstr(shim_log, "are not counted") == NULL);
		world_end();
	}
}

TEST(counters_that_count_after_all, "where a runlist seemed to tell that waves are not counted, the first wave that a counter shows ends that for good (hws)")
{
	low_kernel_is_not_counted(100 * MS);
	submit(high, 100);
	CHECK_AFTER(3 * MS, node_of(0)->waves.saved);
	world.nodes[0].zero_waves = false;
	CHECK(run_until_idle(high, SEC));
	CHECK_AFTER(20 * MS, !node_of(0)->waves.saved);
	CHECK(strstr(shim_log, "are counted after all") != NULL);
	CHECK(run_until_idle(low, SEC));
	CHECK(!node_of(0)->waves.saved);
}

TEST(a_full_ring_is_waited_for, "a runlist for which the device has no room yet is sent again when it has, for 100 ms: the node is not given up for it")
{
	low_runs(true);
	high->kernel_ns = 50 * MS;
	world.nodes[0].hiq.pending_wptr += 1023;
	world.nodes[0].full_until_ns = ktime_get_ns() + 20 * MS;
	submit_and_run(high, 5, 15 * MS);
	CHECK_EQ(failed(GPREEMPT_FAILURE_MAP), 1);
	CHECK(skipped(GPREEMPT_SKIP_UNSETTLED) > 100);
	CHECK_EQ_AFTER(15 * MS, failed(GPREEMPT_FAILURE_MAP), 1);
	CHECK(preempted(low) && high->in_slot);
	/* Not for ever. */
	world.nodes[0].nr_map_fails = 1;
	CHECK(run_until_idle(high, SEC));
	while (world.nodes[0].nr_map_fails)
		run(100 * US);
	world.nodes[0].full_until_ns = ktime_get_ns() + 350 * MS;
	world.nodes[0].hiq.pending_wptr += 1023;
	CHECK_AFTER(330 * MS, state_is("failed"));
}

TEST(switching_off_tries_three_times, "a runlist that is not taken when everything is to be resumed is sent three times, not for ever")
{
	low_is_preempted(true);
	world.nodes[0].nr_map_fails = 1000;
	set("gpreempt_enable", "0");
	CHECK_EQ(1000 - world.nodes[0].nr_map_fails, 3);
	CHECK_EQ(nr_preempted(), 0);
	world.nodes[0].nr_map_fails = 0;
	evict_and_restore(high);
	set("gpreempt_enable", "1");
}

TEST(suspending_nothing_sends_nothing, "before a suspend a runlist is sent only for what is preempted; MQDs keep the scheduler's priorities (hws)")
{
	u64 runlists;

	world_on(true);
	set("gpreempt_hw_priority", "follow");
	low = add_queue(3);
	run(20 * MS);
	evict_and_restore(low);
	CHECK_EQ_AFTER(20 * MS, node_of(0)->mqd.nr_altered, 1);
	runlists = world.nodes[0].runlists;
	suspend();
	CHECK_EQ(world.nodes[0].runlists, runlists);
	resume();
	set("gpreempt_hw_priority", "normal");
	update_queue(low, LOW);
	CHECK_EQ_AFTER(20 * MS, node_of(0)->mqd.nr_altered, 0);
	runlists = world.nodes[0].runlists;
	set("gpreempt_enable", "0");
	CHECK_EQ(world.nodes[0].runlists, runlists);
}

BOTH(several_obstacles, "of several queues that are in the way and cannot be moved each is counted, wherever it stands")
{
	struct sim_queue *others[3];
	u32 i;

	world_on(hws);
	for (i = 0; i < 3; i++) {
		others[i] = add_queue(10);
		others[i]->kernel_ns = 30 * MS;
		submit(others[i], 10);
		if (i != 1)
			debug_process(process_of(others[i]), true);
	}
	high = add_queue(0);
	high->kernel_ns = MS;
	run(MS);
	submit_and_run(high, 100, 10 * MS);
	CHECK(!preempted(others[0]) && preempted(others[1]) && !preempted(others[2]));
	CHECK_EQ(skipped(GPREEMPT_SKIP_DEBUGGED), 2);
	CHECK(others[0]->q.gpreempt->account.skipped && others[2]->q.gpreempt->account.skipped);
}

/* ---- the end of a hold ---- */

BOTH(no_level_while_nobody_decides, "a node that is paused or switched off has no level")
{
	low_is_preempted(hws);
	CHECK_EQ(node_of(0)->monitor.level, NORMAL);
	suspend();
	CHECK_EQ(node_of(0)->monitor.level, GPREEMPT_LEVEL_NONE);
	/* What it takes to resume is counted from then on. */
	CHECK(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_REQUEST].max_ns) < 100 * US);
	resume();
	CHECK_EQ_AFTER(10 * MS, node_of(0)->monitor.level, NORMAL);
	set("gpreempt_enable", "0");
	CHECK_EQ(node_of(0)->monitor.level, GPREEMPT_LEVEL_NONE);
	set("gpreempt_enable", "1");
}

static int set_exempt(struct gpreempt_setting *setting, void *exempt)
{
	setting->exempt = exempt;
	return 0;
}

static void exempts(bool on)
{
	CHECK_EQ(gpreempt_priority_change_process(&process_of(low)->pid, set_exempt, on ? (void *)1 : NULL), 0);
}

static void dies(bool on) { WRITE_ONCE(process_of(low)->p.pdds[0].already_dequeued, on); }
static void is_debugged(bool on) { debug_process(process_of(low), on); }

TEST(who_is_not_interrupted_for_a_priority, "for the hardware's priority alone no queue is taken off that may not be: exempt, dead, or the driver's (mqd)")
{
	static void (*const reasons[])(bool on) = { exempts, dies, is_debugged };

	EACH_ANEW(i, ARRAY_SIZE(reasons), "reason %u: ", i) {
		world_make(false, 1, 1);
		set("gpreempt_hw_priority", "follow");
		low = add_queue(3);
		reasons[i](true);
		set("gpreempt_enable", "1");
		CHECK_AFTER(30 * MS, low->q.gpreempt != NULL);
		CHECK_EQ(low->asked_ms, 0);
		CHECK_EQ(mqd_priority(low), NORMAL);
		CHECK(!node_of(0)->monitor.reprioritize);
		reasons[i](false);
		gpreempt_node_kick_all();
		CHECK_EQ_AFTER(6 * MS, mqd_priority(low), NORMAL - 3);
		CHECK_AFTER(6 * MS, !node_of(0)->monitor.reprioritize);
	}
}

/* ---- sleeping ---- */

BOTH(sleeps_have_little_slack, "a sleep may be late by a 16th of it, and by 50 us at most")
{
	low_runs(hws);
	CHECK_EQ_AFTER(20 * MS, shim_slack_ns, 50 * US);
	set("gpreempt_poll_us", "160");
	run_kernels(high, 100, MS, 20 * MS);
	CHECK_STATE("polling");
	CHECK(shim_slack_ns <= 10 * US && shim_slack_ns >= 9 * US);
}

static void somebody_kicks(void)
{
	world.while_asking = NULL;
	process_of(high)->task.nice = 2;
	gpreempt_node_kick_all();
}

BOTH(kicks_are_not_slept_over, "what changes while a pass is under way is looked at by another one right after it")
{
	waves_decide(hws);
	world.nodes[0].ask_us = 10;
	world.while_asking = somebody_kicks;
	while (world.while_asking)
		fsleep(1);
	fsleep(30);
	CHECK_EQ(high->q.gpreempt->policy.set.priority, NORMAL - 2);
}

BOTH(resumes_are_seen, "how long a resume took is known at once where the slot is loaded, and from the HIQ otherwise")
{
	const struct gpreempt_histogram *h;

	low_is_preempted(hws);
	set("gpreempt_max_hold_ms", "0");
	h = &stats()->latency[GPREEMPT_LATENCY_RESUME];
	low_resumes_after_high(MS);
	CHECK_EQ(atomic64_read(&h->count), 1);
	if (hws)
		CHECK(atomic64_read(&h->max_ns) >= 60 * US && atomic64_read(&h->max_ns) <= 300 * US);
	else
		CHECK(atomic64_read(&h->max_ns) <= 20 * US);
}

BOTH(parked_time_is_nobodys, "an inversion that wakes a parked node began when it was woken, not when it was parked")
{
	world_on(hws);
	low = add_queue(0);
	low->kernel_ns = 10 * SEC;
	world.nodes[0].nr_wave_slots = 1;
	submit_and_run(low, 1, 3 * SEC);
	CHECK_STATE("parked");
	high = add_queue(-5);
	submit_and_run(high, 1, 10 * MS);
	CHECK_EQ(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_DETECT].count), 1);
	CHECK(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_DETECT].max_ns) <= 6 * MS);
	kill_process(process_of(low));
}

TEST(policies_are_chosen_of_those_built, "a policy that is not built is refused, and the node goes on with the one that it has")
{
	low_runs(true);
	CHECK_EQ(shim_param_set("gpreempt_policy", "edf"), IS_ENABLED(CONFIG_KFD_GPREEMPT_POLICIES) ? 0 : -EINVAL);
	CHECK_EQ(shim_param_set("gpreempt_policy", "hpf"), 0);
	high_preempts_low();
}

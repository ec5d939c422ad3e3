// SPDX-License-Identifier: MIT
/*
 * neighbours_test.c - what a neighbour does in a loop, or holds, and what it must not cost the others
 *
 * A neighbour is a task of its own. It gives up the processor after each call, as a system call does; the rest of its time it is at it.
 */
#include "rivals.h"

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
	add_rivals(10, 0);
	own = add_queue(10);
	low->kernel_ns = 200 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit_and_run(low, 100, 20 * MS);
	CHECK(low->in_slot);
	begin_storm(updates_its_queue, 2);
	run(5 * MS);
}

static struct gpreempt_holder holder;

static struct gpreempt_target_match match_of(struct sim_queue *sq)
{
	return (struct gpreempt_target_match){ .scope = GPREEMPT_SCOPE_PROCESS, .pid = &process_of(sq)->pid, .sees_all = true };
}

static void begin_hold(struct sim_queue *sq)
{
	struct gpreempt_target_match match = match_of(sq);
	u32 nr;

	gpreempt_holder_init(&holder);
	CHECK_EQ(gpreempt_hold(&holder, &match, false, 5, &nr), 0);
	CHECK_EQ(nr, 1);
}

static void end_hold(struct sim_queue *sq)
{
	struct gpreempt_target_match match = match_of(sq);
	u32 nr, nr_off;

	CHECK_EQ(gpreempt_unhold(&holder, &match, 0, &nr, &nr_off), 0);
	CHECK_EQ(nr, 1);
}

BOTH(update_storm_stops_no_decision, "while neighbours change their queues in a loop, a higher queue gets the device as soon as otherwise, a hold ends when it is due, and who asked for one gets it and is given back")
{
	struct gpreempt_histogram *detect;
	u64 checks;

	storm_of_updates(hws);
	checks = atomic64_read(&stats()->checks);
	CHECK_AFTER(50 * MS, atomic64_read(&stats()->checks) >= checks + 8);
	run_kernels(high, 3, 300 * MS, 10 * MS);
	CHECK(preempted(low));
	detect = &stats()->latency[GPREEMPT_LATENCY_DETECT];
	CHECK_EQ(atomic64_read(&detect->count), 1);
	CHECK(atomic64_read(&detect->max_ns) <= 6 * MS);
	/* The longest hold. */
	CHECK_EQ(atomic64_read(&stats()->relief_slices), 0);
	CHECK_AFTER(45 * MS, atomic64_read(&stats()->relief_slices) >= 1);
	/* And the end of the relief. */
	CHECK_AFTER(10 * MS, preempted(low));
	kill_process(process_of(high));
	/* On request. */
	CHECK_AFTER(50 * MS, !preempted(low));
	begin_hold(low);
	CHECK_AFTER(2 * MS, preempted(low));
	end_hold(low);
	CHECK_AFTER(2 * MS, !preempted(low));
	end_storm();
	kill_process(process_of(low));
}

BOTH(update_storm_stops_no_resume, "while neighbours change their queues in a loop, what is held comes back soon after the end of higher work, not with the longest hold")
{
	storm_of_updates(hws);
	set("gpreempt_max_hold_ms", "1000");
	EACH(i, 5, "case %u: ", i) {
		run_kernels(high, 2, (10 + i) * MS, 10 * MS);
		CHECK(preempted(low));
		low_resumes_after_high(40 * MS);
		run(20 * MS);
	}
	CHECK_EQ(atomic64_read(&stats()->relief_slices), 0);
	end_storm();
	kill_process(process_of(low));
}

BOTH(update_storm_makes_no_work, "while neighbours change their queues in a loop, a higher queue without work is not taken for one with work: nobody is preempted for it")
{
	u64 before;

	world_on(hws);
	add_rivals(10, 0);
	own = add_queue(10);
	world.nodes[0].nr_wave_slots = 1;
	/* It has had work, so it might have waves. */
	submit(high, 1);
	CHECK(run_until_idle(high, SEC));
	run(3 * SEC);
	run_kernels(low, 1000, 50 * MS, 20 * MS);
	CHECK(low->in_slot);
	before = preemptions();
	begin_storm(updates_its_queue, 2);
	TIMES(20) {
		CHECK_EQ_AFTER(50 * MS, preemptions(), before);
	}
	end_storm();
	kill_process(process_of(low));
}

BOTH(own_runlists_are_no_storm, "a node that preempts and resumes a thousand times a second does not keep the driver from its lock for it")
{
	u64 before;

	low_runs(hws);
	set("gpreempt_overhead_pct", "0");
	high->kernel_ns = 200 * US;
	low->kernel_ns = 5 * SEC;
	before = preemptions();
	TIMES(200)
		submit_and_run(high, 1, 700 * US);
	CHECK(preemptions() >= before + 100);
	CHECK_EQ(node_of(0)->waves.quiesce_due_ns, 0);
	kill_process(process_of(low));
}

/* ---- decisions that depend on waves in flight ---- */

/* The driver sends runlists, in a loop, so that waves can never be read. */
static void runlist_changes_each_time(void)
{
	node_of(0)->waves.epoch++;
}

BOTH(unknown_waves_put_off_once, "a decision that depends on waves which cannot be read is put off by 200 us, once, and then made as if there were some")
{
	u64 checks, began_ns, before;

	low_is_preempted(hws);
	CHECK_AFTER(50 * MS, high->in_slot && !gpreempt_node_pending(high->q.gpreempt) && preempted(low));
	before = skipped(GPREEMPT_SKIP_UNSETTLED);
	checks = atomic64_read(&stats()->checks);
	world.while_asking = runlist_changes_each_time;
	while (skipped(GPREEMPT_SKIP_UNSETTLED) == before)
		fsleep(5);
	began_ns = ktime_get_ns();
	while (atomic64_read(&stats()->checks) <= checks + 1)
		fsleep(5);
	CHECK_WITHIN(ktime_get_ns() - began_ns, 150 * US, 320 * US);
	/* From then on every look decides. */
	before = skipped(GPREEMPT_SKIP_UNSETTLED);
	checks = atomic64_read(&stats()->checks);
	CHECK_AFTER(4 * MS, atomic64_read(&stats()->checks) >= checks + 35);
	CHECK(skipped(GPREEMPT_SKIP_UNSETTLED) - before <= atomic64_read(&stats()->checks) - checks + 1);
	CHECK(preempted(low));
	world.while_asking = NULL;
	low_resumes_after_high(10 * MS);
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
	world_on_nodes(hws, nr_nodes);
	set("gpreempt_wakeup", "doorbell");
	world.nodes[0].nr_wave_slots = 1;
	add_rivals(10, 0);
	own = add_queue(5);
	hangs = process_of(own);
	low->kernel_ns = 50 * MS;
	submit(low, 1000);
	WRITE_ONCE(job_hangs, true);
	world.before_unmapping = waits_for_the_job;
	CHECK_AFTER(20 * MS, world.nr_notified >= 1);
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
	high_preempts_low();
	/* Queues come and go, its own too. */
	destroy_queue(other);
	destroy_queue(own);
	CHECK(READ_ONCE(job_hangs));
	task = kthread_create(resets, NULL, "reset");
	wake_up_process(task);
	CHECK_AFTER(100 * MS, READ_ONCE(reset_done));
	/* That is what ends the job. */
	WRITE_ONCE(job_hangs, false);
	kthread_stop(task);
	world.before_unmapping = NULL;
	run(20 * MS);
	/* The device works. */
	submit(low, 5);
	submit_and_run(high, 5, 10 * MS);
	CHECK(preempted(low));
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
	high_preempts_low();
	task = kthread_create(switches_off, NULL, "switch");
	wake_up_process(task);
	CHECK_AFTER(50 * MS, state_is("off"));
	CHECK(!preempted(low));
	kthread_stop(task);
	reset_gpu();
	WRITE_ONCE(job_hangs, false);
	world.before_unmapping = NULL;
	set("gpreempt_enable", "1");
	run(20 * MS);
	submit(low, 5);
	submit_and_run(high, 5, 10 * MS);
	CHECK(preempted(low));
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
	struct task_struct *task;

	low_is_preempted(hws);
	WRITE_ONCE(job_hangs, true);
	mutex_lock(&node_of(0)->pass_lock);
	node_of(0)->monitor.max_sampled = 1;
	mutex_unlock(&node_of(0)->pass_lock);
	shim_while_allocating = frees_memory;
	gpreempt_node_kick_all();
	CHECK_AFTER(MS, !shim_while_allocating);
	task = kthread_create(resets, NULL, "reset");
	wake_up_process(task);
	CHECK_AFTER(100 * MS, READ_ONCE(reset_done));
	WRITE_ONCE(job_hangs, false);
	kthread_stop(task);
	run(MS);
}

TEST(switching_off_delays_no_reset, "a reset that comes while switching off waits for a queue that does not leave its slot does not wait for it as well (mqd)")
{
	struct task_struct *switches, *task;
	u64 began_ns;

	low_never_leaves();
	low->immortal = true;
	submit_and_run(high, 1000, 300 * MS);
	CHECK(low->q.gpreempt->hw.leaving);
	switches = kthread_create(switches_off, NULL, "switch");
	wake_up_process(switches);
	CHECK_AFTER(20 * MS, low->q.gpreempt && low->q.gpreempt->hw.leaving);
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
	CHECK_AFTER(20 * MS, state_is("off"));
	kthread_stop(switches);
	CHECK(!preempted(low));
	set("gpreempt_enable", "1");
}

/* ---- SET_PRIORITY and other commands in a loop, without any right ---- */

static struct file file;

static long command(unsigned int cmd, void *argument)
{
	return shim_miscdevice->fops->unlocked_ioctl(&file, cmd, (unsigned long)argument);
}

static struct gpreempt_target own_process(void)
{
	return (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_PROCESS, .pid = process_of(own)->pid.nr };
}

static void set_own_priority(u32 n)
{
	struct gpreempt_priority priority = { .target = own_process(), .priority = n & 1 ? 3 : 2 };

	CHECK_EQ(command(GPREEMPT_IOC_SET_PRIORITY, &priority), 0);
}

static void set_queue_priority(u32 n)
{
	struct gpreempt_priority priority = { .target = own_process(), .priority = n & 1 ? 3 : 2 };

	priority.target.scope = GPREEMPT_SCOPE_QUEUE;
	priority.target.gpu_id = 1000;
	priority.target.queue_id = own->q.properties.queue_id;
	CHECK_EQ(command(GPREEMPT_IOC_SET_PRIORITY, &priority), 0);
}

static void announces_work(u32 n)
{
	struct gpreempt_hint hint = { .target = own_process(), .within_us = 1 + n % 1000 };

	CHECK_EQ(command(GPREEMPT_IOC_HINT, &hint), 0);
}

static void holds_itself(u32 n)
{
	struct gpreempt_hold hold = { .target = own_process(), .timeout_ms = 1 };

	/* One that ends and begins a hold waits for a runlist each time. */
	command(GPREEMPT_IOC_PREEMPT, &hold);
}

static void close_file(void)
{
	CHECK_EQ(shim_miscdevice->fops->release(NULL, &file), 0);
}

static void open_file(void)
{
	CHECK_EQ(shim_miscdevice->fops->open(NULL, &file), 0);
	world.before_end = close_file;
}

static void two_nodes(bool hws)
{
	world_on_nodes(hws, 2);
	own = add_queue(10);
	low = add_queue_to(add_process(10), 1, NORMAL);
	high = add_queue_to(add_process(0), 1, NORMAL);
	open_file();
	CHECK_AFTER(3 * SEC, state_is("parked"));
}

static u64 wakeups(u32 node)
{
	return atomic64_read(&node_of(node)->stats.wakeups);
}

TEST(priority_storm_wakes_only_own_nodes, "neighbours without any right who set their priority in a loop wake no monitor of a node on which they have no queue")
{
	u64 before;

	two_nodes(true);
	set("gpreempt_interval_ms", "10000");
	run(10 * MS);
	before = wakeups(1);
	begin_storm(set_own_priority, 8);
	run(20 * MS);
	end_storm();
	CHECK_EQ(wakeups(1), before);
	/* What it is about is known there. */
	CHECK_EQ_AFTER(MS, own->q.gpreempt->priority.source, GPREEMPT_SOURCE_PROCESS);
}

TEST(priority_storm_costs_one_look_per_poll, "whatever a neighbour without any right calls in a loop costs his nodes a look per gpreempt_poll_us, and the last call counts")
{
	static void (*const storms[])(u32 n) = { set_own_priority, set_queue_priority, announces_work, holds_itself, updates_its_queue };
	u64 before, checks, polls = 20 * MS / (80 * US);

	EACH_ANEW(i, ARRAY_SIZE(storms), "storm %u: ", i) {
		two_nodes(true);
		before = wakeups(0);
		checks = atomic64_read(&stats()->checks);
		begin_storm(storms[i], storms[i] == updates_its_queue ? 1 : 8);
		run(20 * MS);
		end_storm();
		CHECK(atomic64_read(&stats()->checks) - checks <= polls + 10);
		/* It is woken to learn when it has to look, and then looks. */
		CHECK(wakeups(0) - before <= 2 * polls + 10);
		run_kernels(own, 1, MS, MS);
	}
}

BOTH(first_call_is_looked_at_at_once, "a call that comes alone is not delayed: nobody waits for a poll to get his own queue off the device")
{
	struct gpreempt_hold hold = { .timeout_ms = 100 };
	u64 began_ns;
	s64 checks;

	low_runs(hws);
	own = low;
	hold.target = own_process();
	open_file();
	current->caps = 0;
	run(MS);
	began_ns = ktime_get_ns();
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), 0);
	CHECK(preempted(low));
	CHECK(ktime_get_ns() - began_ns <= 60 * US);
	/* The same once more changes nothing, so there is nothing to look at. */
	hold = (struct gpreempt_hold){ .target = own_process(), .timeout_ms = 100 };
	checks = atomic64_read(&stats()->checks);
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), 0);
	fsleep(60);
	CHECK_EQ(atomic64_read(&stats()->checks), checks);
	/* One right after it does not wait for the rest of a poll. */
	CHECK_EQ(command(GPREEMPT_IOC_RESUME, &(struct gpreempt_hold){ .target = own_process() }), 0);
	fsleep(60);
	CHECK(!preempted(low));
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
}

static int any_setting(struct gpreempt_setting *setting, void *arg)
{
	setting->has_priority = true;
	setting->priority = 1;
	return 0;
}

TEST(settings_of_others_cost_nothing, "who sets his priority in a loop does not walk what others have set, also not in the background each time")
{
	struct gpreempt_target target;
	u64 looked_up;

	two_nodes(true);
	TIMES(40)
		CHECK_EQ(gpreempt_priority_change_process(&add_process(0)->pid, any_setting, NULL), 0);
	run(3 * SEC);
	target = own_process();
	looked_up = shim_pids_looked_up;
	EACH(i, 1000, "case %u: ", i) {
		struct gpreempt_priority priority = { .target = target, .priority = i & 1 };

		CHECK_EQ(command(GPREEMPT_IOC_SET_PRIORITY, &priority), 0);
		fsleep(10);
	}
	CHECK(shim_pids_looked_up - looked_up <= 2 * 1000 + 2 * 41);
}

TEST(settings_in_a_loop_leave_nothing_behind, "who sets and clears his priority in a loop leaves nothing for interrupts to free")
{
	struct gpreempt_priority priority = { .target = { 0 } };
	u64 callbacks;

	two_nodes(true);
	priority.target = own_process();
	callbacks = shim_rcu_callbacks;
	EACH(i, 1000, "case %u: ", i) {
		priority.flags = i % 3 == 2 ? GPREEMPT_PRIORITY_CLEAR : 0;
		priority.priority = i % 3 == 2 ? 0 : 2 + i % 3;
		CHECK_EQ(command(GPREEMPT_IOC_SET_PRIORITY, &priority), 0);
		CHECK_EQ_AFTER(2 * MS, own->q.gpreempt->priority.source, i % 3 == 2 ? GPREEMPT_SOURCE_KFD : GPREEMPT_SOURCE_PROCESS);
	}
	CHECK_EQ(shim_rcu_callbacks, callbacks);
}

/* ---- LIST in a loop ---- */

static u32 nr_seen;

/* Who reads registers for a list holds nothing that a pass, or whoever makes or ends a queue, waits for. */
static void look_at_locks(void)
{
	u32 i;

	/* Every reader holds it, a neighbour or not: the lock lends it the monitor's priority. */
	CHECK(lockdep_is_held(&node_of(0)->waves.index_lock.lock));
	for (i = 0; i < nr_neighbours; i++)
		if (neighbours[i] == current)
			break;
	if (i == nr_neighbours)
		return;
	nr_seen++;
	CHECK(!lockdep_is_held(&node_of(0)->pass_lock) && !lockdep_is_held(&gpreempt_lock));
	CHECK(!srcu_read_lock_held(&node_of(0)->queues.srcu));
}

static void lists_queues(u32 n)
{
	struct gpreempt_queue_info infos[8];
	struct gpreempt_list list = { .target = { .scope = GPREEMPT_SCOPE_ALL }, .nr_queues = 8, .queues = (unsigned long)infos };

	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), 0);
	CHECK(list.nr_queues >= 2);
}

/* The longest of some detections, while both sides have work now and then. */
static u64 longest_detection(void)
{
	struct gpreempt_histogram *h = &stats()->latency[GPREEMPT_LATENCY_DETECT];

	EACH(i, 30, "case %u: ", i) {
		/* The first one makes the node look often. */
		if (i == 1)
			atomic64_set(&h->max_ns, 0);
		submit(high, 1);
		CHECK(run_until_idle(high, SEC));
		run(3 * MS + i * 137 * US);
	}
	CHECK(atomic64_read(&h->max_ns) > 0);
	return atomic64_read(&h->max_ns);
}

BOTH(list_storm_delays_no_preemption, "neighbours who list queues in a loop hold no lock that a pass or a new queue waits for, and have registers read for a 256th of the time at most")
{
	u64 quiet_ns, loud_ns, began_ns;
	u32 looks;

	low_runs_polled(hws);
	open_file();
	world.nodes[0].ask_us = 20;
	high->kernel_ns = MS;
	low->kernel_ns = 5 * SEC;
	quiet_ns = longest_detection();
	world.while_asking = look_at_locks;
	begin_storm(lists_queues, 8);
	loud_ns = longest_detection();
	CHECK(nr_seen > 5);
	CHECK(loud_ns <= quiet_ns + quiet_ns / 2);
	/* Of what the monitor itself reads there is nothing while the node is parked. */
	began_ns = ktime_get_ns();
	looks = nr_seen;
	CHECK_AFTER(50 * MS, (u64)(nr_seen - looks) * 20 * US <= (ktime_get_ns() - began_ns) / 256 + 100 * US);
	began_ns = ktime_get_ns();
	destroy_queue(add_queue(0));
	CHECK(ktime_get_ns() - began_ns <= 150 * US);
	end_storm();
	world.while_asking = NULL;
	kill_process(process_of(low));
}

BOTH(lists_end_before_a_pause, "when a suspend goes on, nobody reads registers for a list, and nobody begins to")
{
	low_runs(hws);
	open_file();
	world.nodes[0].ask_us = 20;
	world.while_asking = look_at_locks;
	begin_storm(lists_queues, 8);
	CHECK_AFTER(5 * MS, nr_seen);
	kfd_gpreempt_pause(&world.kfd);
	CHECK(!mutex_is_locked(&world.index_lock));
	nr_seen = 0;
	CHECK_EQ_AFTER(5 * MS, nr_seen, 0);
	kfd_gpreempt_unpause(&world.kfd);
	CHECK_AFTER(5 * MS, nr_seen);
	end_storm();
	world.while_asking = NULL;
}

/* ---- exec() ---- */

TEST(adoption_pins_no_page_of_another_program, "a queue is adopted with the pages of the memory that KFD knows its process by, not of what its leader has become by exec()")
{
	struct mm_struct after_exec = { .pages[0] = { 0 } };

	world_make(true, 1, 1);
	low = add_queue(0);
	low->ttm.usermm = &process_of(low)->mm;
	low->ttm.userptr = (unsigned long)low->pointers;
	process_of(low)->mm.pages[0].address = low->pointers;
	after_exec.pages[0].address = low->pointers;
	process_of(low)->task.mm = &after_exec;
	set("gpreempt_enable", "1");
	CHECK_AFTER(20 * MS, low->q.gpreempt && !seen(low));
	CHECK(!after_exec.pages[0].pins && !after_exec.users);
	process_of(low)->task.mm = &process_of(low)->mm;
	switch_off_and_on();
	CHECK_AFTER(20 * MS, seen(low));
}

/* ---- listeners ---- */

TEST(listeners_cost_a_pass_nothing, "however many listen, a pass tells an event once, and does not look who hears it; all of them hear it, in order")
{
	static struct file files[64];
	static const struct cred cred;
	struct gpreempt_event events[8];
	u64 last_ns;
	ssize_t got;
	u32 k;

	low_runs(true);
	EACH_CASE(i, files) {
		files[i] = (struct file){ .f_flags = O_NONBLOCK, .f_cred = &cred, .opener_is_admin = true };
		CHECK_EQ(shim_miscdevice->fops->open(NULL, &files[i]), 0);
		CHECK_EQ(shim_miscdevice->fops->poll(&files[i], NULL), 0);
	}
	shim_watched = node_of(0)->life.thread;
	high_preempts_low();
	CHECK_EQ(shim_named_by_watched, 0);
	EACH_CASE(i, files) {
		got = shim_miscdevice->fops->read(&files[i], (char *)events, sizeof(events), NULL);
		CHECK(got >= (ssize_t)(2 * sizeof(*events)));
		for (k = 0, last_ns = 0; k < got / sizeof(*events); k++) {
			CHECK(events[k].time_ns >= last_ns && !events[k].missed);
			last_ns = events[k].time_ns;
		}
		CHECK_EQ(events[0].type, GPREEMPT_EVENT_INVERSION);
		CHECK_EQ(events[1].type, GPREEMPT_EVENT_PREEMPTED);
		CHECK_EQ(events[1].pid, process_of(low)->pid.nr);
		CHECK_EQ(shim_miscdevice->fops->release(NULL, &files[i]), 0);
	}
}

static int sleeps_over_it(void *unused)
{
	u32 i;

	/* Faster than anybody hands on: all in one go. */
	for (i = 0; i < 5000; i++)
		gpreempt_event(node_of(0), NULL, GPREEMPT_EVENT_FAILED, i);
	return 0;
}

TEST(events_that_nobody_hands_on_are_counted, "of more events than are kept until they are handed on the newest are lost, and every listener is told how many")
{
	static const struct cred cred;
	static struct gpreempt_event events[1100];
	struct file reader = { .f_flags = O_NONBLOCK, .f_cred = &cred, .opener_is_admin = true };
	ssize_t got;

	low_runs(true);
	CHECK_EQ(shim_miscdevice->fops->open(NULL, &reader), 0);
	CHECK_EQ(shim_miscdevice->fops->poll(&reader, NULL), 0);
	sleeps_over_it(NULL);
	got = shim_miscdevice->fops->read(&reader, (char *)events, sizeof(events), NULL);
	CHECK_EQ(got, 1024 * sizeof(*events));
	CHECK(events[0].value == 0 && events[1023].value == 1023);
	gpreempt_event(node_of(0), NULL, GPREEMPT_EVENT_FAILED, 7);
	got = shim_miscdevice->fops->read(&reader, (char *)events, sizeof(events), NULL);
	CHECK_EQ(got, sizeof(*events));
	CHECK_EQ(events[0].missed, 5000 - 1024);
	CHECK_EQ(shim_miscdevice->fops->release(NULL, &reader), 0);
}

/* ---- commands that make the driver build a runlist ---- */

#define PACE_NS		(500 * MS)
#define PACE_BURST	32

static const unsigned int runlist_commands[] = {
	AMDKFD_IOC_UPDATE_QUEUE, AMDKFD_IOC_CREATE_QUEUE, AMDKFD_IOC_DESTROY_QUEUE, AMDKFD_IOC_SET_CU_MASK, AMDKFD_IOC_ALLOC_QUEUE_GWS,
};

static u64 paced(void)
{
	return atomic64_read(&stats()->paced);
}

/* How long a command waits before the driver sees it. */
static u64 waits_ns(struct sim_process *process, unsigned int cmd)
{
	struct task_struct *leader = current->group_leader;
	u64 began_ns = ktime_get_ns();

	current->group_leader = &process->task;
	kfd_gpreempt_pace(&process->p, cmd);
	current->group_leader = leader;
	return ktime_get_ns() - began_ns;
}

static u32 waiting_commands(struct sim_queue *sq, u32 nr)
{
	u32 i, n = 0;

	for (i = 0; i < nr; i++)
		n += waits_ns(process_of(sq), runlist_commands[i % ARRAY_SIZE(runlist_commands)]) > 0;
	return n;
}

static void kill_rivals(void)
{
	kill_process(process_of(high));
	kill_process(process_of(low));
}

/* High and low work for a minute, own never. */
static void high_works_for_long(int own_nice)
{
	low_is_preempted(true);
	own = add_queue(own_nice);
	run_kernels(high, 2000, 30 * MS, 10 * MS);
	world.before_end = kill_rivals;
}

TEST(outranked_runlists_are_paced, "commands that make a runlist wait if a program below another that works gives too many of them, whoever below gives them")
{
	high_works_for_long(10);
	CHECK_EQ(waiting_commands(own, PACE_BURST), 0);
	CHECK_EQ(paced(), 0);
	EACH(i, 10, "case %u: ", i) {
		u64 wait_ns = waits_ns(process_of(i & 1 ? low : own), runlist_commands[i % ARRAY_SIZE(runlist_commands)]);

		CHECK_WITHIN(wait_ns, PACE_NS - 10 * MS, PACE_NS + 10 * MS);
	}
	CHECK_EQ(paced(), 10);
	/* What it does not use comes back. */
	run(5 * PACE_NS);
	CHECK_EQ(waiting_commands(own, 4), 0);
	CHECK(waiting_commands(own, 2));
}

TEST(no_other_command_is_paced, "neither the commands of who is on top wait, nor those without a runlist, nor through a descriptor that is another's")
{
	high_works_for_long(10);
	CHECK_EQ(waiting_commands(high, 200), 0);
	CHECK_EQ(waiting_commands(own, PACE_BURST), 0);
	CHECK_EQ(waiting_commands(high, 200), 0);
	CHECK_EQ(waits_ns(process_of(own), _IO('K', 0x05)), 0);
	kfd_gpreempt_pace(&process_of(own)->p, AMDKFD_IOC_UPDATE_QUEUE);
	CHECK_EQ(waits_ns(add_process(10), AMDKFD_IOC_CREATE_QUEUE), 0);
	CHECK_EQ(paced(), 0);
	/* The driver goes by the number alone. */
	CHECK(waits_ns(process_of(own), _IOC(_IOC_READ, 'X', 0x07, 100)));
}

TEST(idle_equals_are_paced, "a program as high as the one that works waits as well while it has no work itself, and not while it has")
{
	high_works_for_long(0);
	CHECK_EQ(waiting_commands(own, PACE_BURST), 0);
	CHECK_EQ(waiting_commands(own, 5), 5);
	run_kernels(own, 1, MS, 50 * MS);
	CHECK_EQ(waiting_commands(own, 200), 0);
}

TEST(pacing_needs_higher_work, "without a higher program that has worked lately no command waits, nor on a node that is not scheduled")
{
	low_runs(true);
	own = add_queue(10);
	CHECK_EQ(waiting_commands(own, 200), 0);
	CHECK_EQ(waiting_commands(low, 200), 0);
	CHECK(run_until_idle(low, SEC));
	high_comes();
	CHECK(waiting_commands(own, PACE_BURST + 1));
	CHECK(run_until_idle(high, SEC));
	run(2 * SEC);
	CHECK_EQ(waiting_commands(own, 200), 0);
	high_comes();
	CHECK(waiting_commands(own, PACE_BURST + 1));
	set("gpreempt_enable", "0");
	CHECK_EQ(waiting_commands(own, 200), 0);
}

static u32 nr_commands;

static void gives_commands(u32 n)
{
	u64 began_ns = ktime_get_ns();
	struct task_struct *self = current;

	self->group_leader = &process_of(own)->task;
	kfd_gpreempt_pace(&process_of(own)->p, AMDKFD_IOC_UPDATE_QUEUE);
	self->group_leader = self;
	nr_commands++;
	CHECK(ktime_get_ns() - began_ns <= 5 * SEC + 10 * MS);
}

TEST(loops_share_one_budget, "eight loops that give commands get as many through as one")
{
	high_works_for_long(10);
	nr_commands = 0;
	begin_storm(gives_commands, 8);
	CHECK_AFTER(10 * SEC, nr_commands >= PACE_BURST + 10 * SEC / PACE_NS - 1);
	CHECK(nr_commands <= PACE_BURST + 10 * SEC / PACE_NS + 1);
	end_storm();
}

TEST(no_command_waits_for_long, "however many commands wait, each waits for five seconds at most")
{
	high_works_for_long(10);
	node_of(0)->pace.due_ns = ktime_get_ns() + 100 * SEC;
	CHECK(waits_ns(process_of(own), AMDKFD_IOC_UPDATE_QUEUE) <= 5 * SEC + 2 * MS);
	CHECK(waits_ns(process_of(own), AMDKFD_IOC_UPDATE_QUEUE) <= PACE_NS + 2 * MS);
}

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

static struct task_struct *neighbours[24];
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
	return (struct gpreempt_target_match){ .scope = GPREEMPT_SCOPE_PROCESS, .pid = &process_of(sq)->pid, .viewer.sees_all = true };
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
	rivals_begin_anew();
	submit(low, 5);
	submit_and_run(high, 5, 10 * MS);
	CHECK(preempted(low));
}

static int switches_off(void *unused)
{
	current->caps = CAP_SYS_ADMIN;
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
	rivals_begin_anew();
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

/* ---- what others set, and where they nest ---- */

/* Twenty programs in the same cgroup, of which what is set for the cgroups above it and its share hold */
static struct sim_queue *programs[20];

static void twenty_programs(void)
{
	low_is_preempted_polled(true);
	EACH_CASE(i, programs)
		programs[i] = add_queue(10);
	CHECK_EQ(gpreempt_priority_change_process(&process_of(high)->pid, any_setting, NULL), 0);
	CHECK_EQ(gpreempt_priority_change_cgroup(1, any_setting, NULL), 0);
#ifdef CONFIG_KFD_GPREEMPT_SHARES
	CHECK_EQ(gpreempt_group_set(&(struct gpreempt_group){ .cgroup_id = 2, .weight = 100 }), 0);
#endif
	run(20 * MS);
}

/* What is compared and walked in a hundred looks for which a program has called */
static u64 steps_of_looks(void)
{
	s64 checks;

	run(20 * MS);
	shim_entries_compared = 0;
	shim_cgroups_looked_at = 0;
	checks = atomic64_read(&stats()->checks);
	TIMES(100) {
		gpreempt_node_nudge(node_of(0));
		fsleep(200);
	}
	CHECK(atomic64_read(&stats()->checks) >= checks + 100);
	return shim_entries_compared + shim_cgroups_looked_at;
}

static struct pid strangers[3000];
static struct task_struct their_tasks[ARRAY_SIZE(strangers)];

static void strangers_have_settings(void)
{
	EACH_CASE(i, strangers) {
		strangers[i] = (struct pid){ .nr = 100000 + i, .task = &their_tasks[i], .references = 1 };
		CHECK_EQ(gpreempt_priority_change_process(&strangers[i], any_setting, NULL), 0);
	}
}

static int sets(u32 i)
{
	return gpreempt_priority_change_process(&strangers[i], any_setting, NULL);
}

static int clears_all(struct gpreempt_setting *setting, void *arg)
{
	*setting = (struct gpreempt_setting){ 0 };
	return 0;
}

static void becomes(u32 uid, const struct user_namespace *ns, unsigned int caps)
{
	current->euid.val = uid;
	current->user_ns = ns;
	current->caps = caps;
}

TEST(settings_of_a_user_are_limited, "a user without privileges has settings for 1024 processes at most, in all its user namespaces; with privileges it has more, and what has ended does not count for long")
{
	struct user_namespace container = { .parent = &init_user_ns, .owner = { 7 } };
	u32 i;

	low_runs(true);
	EACH_CASE(k, strangers)
		strangers[k] = (struct pid){ .nr = 100000 + k, .task = &their_tasks[k], .references = 1 };
	for (i = 0; i < GPREEMPT_SETTINGS_OF_USER; i++) {
		becomes(i % 2 ? 7 : 100000 + i, i % 2 ? &init_user_ns : &container, 0);
		CHECK_EQ(sets(i), 0);
	}
	becomes(7, &init_user_ns, 0);
	CHECK_EQ(sets(i), -EUSERS);
	becomes(100007, &container, 0);
	CHECK_EQ(sets(i), -EUSERS);
	/* What is there is changed, and others are not concerned. */
	CHECK_EQ(sets(i - 1), 0);
	becomes(8, &init_user_ns, 0);
	CHECK_EQ(sets(i + 1), 0);
	becomes(7, &init_user_ns, CAP_SYS_NICE);
	CHECK_EQ(sets(i + 2), 0);
	/* One less, by its own word or because it has ended */
	becomes(7, &init_user_ns, 0);
	CHECK_EQ(gpreempt_priority_change_process(&strangers[0], clears_all, NULL), 0);
	CHECK_EQ(sets(i), 0);
	CHECK_EQ(sets(0), -EUSERS);
	strangers[1].task = NULL;
	CHECK_EQ_AFTER(2 * SEC, sets(0), 0);
	/* What fails leaves nothing. */
	becomes(9, &init_user_ns, 0);
	EACH(k, 2, "try %u: ", k) {
		shim_fail_insert = 1;
		CHECK_EQ(sets(2000), -ENOMEM);
	}
	EACH(k, 2, "allocation %u: ", k) {
		shim_fail_alloc = 1 + k;
		CHECK_EQ(sets(2000), -ENOMEM);
	}
	becomes(0, &init_user_ns, CAP_SYS_NICE | CAP_SYS_ADMIN);
}

static struct cgroup nested[4000];

/* They are below each other, the last one below all. */
static struct cgroup *nest(void)
{
	EACH_CASE(i, nested)
		nested[i] = (struct cgroup){ .id = 1000 + i, .parent = i ? &nested[i - 1] : world_cgroup(3), .level = 3 + i };
	return &nested[ARRAY_SIZE(nested) - 1];
}

TEST(settings_and_cgroups_of_others_cost_a_look_nothing, "a look compares and walks no more when others have thousands of settings, and when programs are in cgroups that are nested thousands deep")
{
	u64 quiet, loud;

	twenty_programs();
	quiet = steps_of_looks();
	CHECK(quiet > 0);
	strangers_have_settings();
	loud = steps_of_looks();
	/* A chain of a hash table is not always as long. A walk of all settings is hundreds of times as long. */
	CHECK(loud <= quiet * 4);
	EACH_CASE(i, programs)
		process_of(programs[i])->task.cgroup = nest();
	CHECK(steps_of_looks() <= loud * 6 / 5);
	kill_process(process_of(high));
	kill_process(process_of(low));
}

static void moves_its_programs(u32 n)
{
	process_of(programs[n % ARRAY_SIZE(programs)])->task.cgroup = &nested[n * 7 % ARRAY_SIZE(nested)];
}

TEST(moves_between_cgroups_cost_few_steps, "a program that moves between deep cgroups in a loop has as many of them looked at as can have settings, twice for each move, not all that are above it")
{
	u64 looked_at;

	twenty_programs();
	nest();
	run(20 * MS);
	shim_cgroups_looked_at = 0;
	EACH(i, 100, "move %u: ", i) {
		moves_its_programs(i);
		run(20 * MS);
	}
	looked_at = shim_cgroups_looked_at;
	CHECK_WITHIN(looked_at, 100, 100 * 2 * (GPREEMPT_CGROUP_LEVELS + 1));
	kill_process(process_of(high));
	kill_process(process_of(low));
}

TEST(nesting_escapes_no_setting, "a program that nests cgroups thousands deep keeps what is set for those above it: its priority, its job, and what becomes of it when it is stopped")
{
	struct gpreempt_overrides overrides;

	low_runs(true);
	process_of(low)->task.nice = 0;
	CHECK_EQ(gpreempt_priority_change_cgroup(3, any_setting, NULL), 0);
	process_of(low)->task.cgroup = nest();
	CHECK_EQ_AFTER(20 * MS, low->q.gpreempt->policy.set.priority, 1);
	CHECK_EQ(low->q.gpreempt->priority.source, GPREEMPT_SOURCE_CGROUP);
	/* The last that can have a setting, and the first that cannot */
	CHECK_EQ(gpreempt_priority_change_cgroup(nested[GPREEMPT_CGROUP_LEVELS - 3].id, any_setting, NULL), 0);
	gpreempt_priority_overrides(&process_of(low)->task, &overrides);
	CHECK(overrides.cgroup.has_priority && overrides.cgroup.priority == 1);
}

static u32 nr_changed;

static void changes_a_setting(void)
{
	shim_at_ancestor = NULL;
	CHECK_EQ(gpreempt_priority_change_process(&process_of(low)->pid, any_setting, NULL), 0);
	nr_changed++;
}

static int any_inherited_setting(struct gpreempt_setting *setting, void *arg)
{
	setting->inherit = true;
	return any_setting(setting, arg);
}

TEST(ancestors_of_others_delay_no_call, "while it is looked what a process with many ancestors inherits, settings are changed, and looked up for others")
{
	struct gpreempt_setting inherited;

	low_runs(true);
	CHECK_EQ(gpreempt_priority_change_process(&process_of(high)->pid, any_inherited_setting, NULL), 0);
	shim_at_ancestor = changes_a_setting;
	gpreempt_priority_inherited(&process_of(low)->task, &inherited);
	CHECK_EQ(nr_changed, 1);
}

/* ---- calls in a loop, and the limits of looks ---- */

static u64 asked_ns;

static void count_asking(void)
{
	asked_ns += world.nodes[0].ask_us * US;
}

static u32 share_of_asking(u64 ns)
{
	u64 began_ns = ktime_get_ns();

	asked_ns = 0;
	run(ns);
	return asked_ns * 100 / (ktime_get_ns() - began_ns);
}

static void joins_and_leaves_a_job(u32 n)
{
	struct gpreempt_set_job job = { .target = own_process(), .job = n & 1 ? 7 : 0, .flags = n & 1 ? 0 : GPREEMPT_JOB_CLEAR };

	CHECK_EQ(command(GPREEMPT_IOC_SET_JOB, &job), 0);
}

/* Those that wait for passes are not faster for being more. */
TEST(no_loop_lifts_the_limit_of_asking, "registers are read for a quarter of the time at most, also while neighbours make any call in a loop")
{
	static const struct {
		void (*once)(u32 n);
		u32 nr;
		u32 least;
	} storms[] = {
		{ set_own_priority, 8, 20 }, { set_queue_priority, 8, 20 }, { announces_work, 8, 20 }, { holds_itself, 8, 10 },
		{ joins_and_leaves_a_job, 1, 20 }, { updates_its_queue, 1, 0 },
	};

	NEEDS(JOBS);
	EACH_ANEW(i, ARRAY_SIZE(storms), "storm %u: ", i) {
		low_is_preempted_polled(true);
		own = add_queue(10);
		open_file();
		/* The last kernel of a request runs: only waves tell when it ends. */
		CHECK(run_until_idle(high, SEC));
		run(5 * MS);
		world.nodes[0].ask_us = 200;
		world.while_asking = count_asking;
		run_kernels(high, 1, 400 * MS, 20 * MS);
		begin_storm(storms[i].once, storms[i].nr);
		run(4 * MS);
		CHECK_WITHIN(share_of_asking(40 * MS), storms[i].least, 26);
		end_storm();
		world.while_asking = NULL;
	}
}

static u64 derived_ns;

/* A look at a process takes long. */
static void derives_for_long(void)
{
	if (current != node_of(0)->life.thread)
		return;
	derived_ns += 2 * US;
	shim_spin(2 * US);
}

static u64 looks_of(u64 ns)
{
	s64 checks = atomic64_read(&stats()->checks);

	run(ns);
	return atomic64_read(&stats()->checks) - checks;
}

TEST(deriving_makes_looks_no_rarer, "neighbours who set their priority in a loop have priorities derived for a 24th of the time or so, and work is looked for as often as without them")
{
	u64 quiet, loud;

	twenty_programs();
	own = programs[0];
	open_file();
	run_kernels(high, 2000, 30 * MS, 20 * MS);
	quiet = looks_of(50 * MS);
	shim_at_cgroup = derives_for_long;
	begin_storm(set_own_priority, 8);
	run(10 * MS);
	derived_ns = 0;
	loud = looks_of(50 * MS);
	end_storm();
	shim_at_cgroup = NULL;
	CHECK(quiet >= 100);
	CHECK(loud >= quiet * 9 / 10);
	CHECK_WITHIN(derived_ns, 1, 50 * MS / 20);
	kill_process(process_of(high));
	kill_process(process_of(low));
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
	static const struct cred cred = { .user_ns = &init_user_ns };
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
		gpreempt_rooms_tell(event, node_of(0), NULL, GPREEMPT_EVENT_FAILED, i);
	return 0;
}

TEST(events_that_nobody_hands_on_are_counted, "of more events than are kept until they are handed on the newest are lost, and every listener is told how many")
{
	static const struct cred cred = { .user_ns = &init_user_ns };
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
	gpreempt_rooms_tell(event, node_of(0), NULL, GPREEMPT_EVENT_FAILED, 7);
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

/* How long a command waits before the driver sees it, which refuses it. */
static u64 refused_ns(struct sim_process *process, unsigned int cmd)
{
	struct task_struct *self = current, *leader = self->group_leader;
	u64 began_ns = ktime_get_ns();

	self->group_leader = &process->task;
	kfd_gpreempt_pace(&process->p, cmd);
	self->group_leader = leader;
	return ktime_get_ns() - began_ns;
}

/* The driver writes the MQD of a queue, on behalf of a program or, with NULL, of its debugger. */
static void changes_queue(struct sim_process *caller, struct sim_queue *sq)
{
	struct task_struct *self = current, *leader = self->group_leader;

	if (caller)
		self->group_leader = &caller->task;
	dqm_lock(sq->q.device->dqm);
	kfd_gpreempt_mqd_updated(&sq->q, NULL);
	dqm_unlock(sq->q.device->dqm);
	self->group_leader = leader;
}

/* The same, and the driver carries it out. */
static u64 waits_ns(struct sim_queue *sq, unsigned int cmd)
{
	u64 wait_ns = refused_ns(process_of(sq), cmd);

	changes_queue(process_of(sq), sq);
	return wait_ns;
}

static u32 waiting_commands(struct sim_queue *sq, u32 nr)
{
	u32 i, n = 0;

	for (i = 0; i < nr; i++)
		n += waits_ns(sq, runlist_commands[i % ARRAY_SIZE(runlist_commands)]) > 0;
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

static struct sim_queue *add_queue_of_user(int nice, u32 uid)
{
	struct sim_process *process = add_process(nice);

	process->task.euid.val = uid;
	return add_queue_to(process, 0, NORMAL);
}

TEST(outranked_runlists_are_paced, "commands that make a runlist wait if programs of a user below another that works give too many of them, whichever of these gives them")
{
	high_works_for_long(10);
	CHECK_EQ(waiting_commands(own, PACE_BURST), 0);
	CHECK_EQ(paced(), 0);
	EACH(i, 10, "case %u: ", i) {
		u64 wait_ns = waits_ns(i & 1 ? low : own, runlist_commands[i % ARRAY_SIZE(runlist_commands)]);

		CHECK_WITHIN(wait_ns, PACE_NS - 10 * MS, PACE_NS + 10 * MS);
	}
	CHECK_EQ(paced(), 10);
	/* What it does not use comes back. */
	run(5 * PACE_NS);
	CHECK_EQ(waiting_commands(own, 4), 0);
	CHECK(waiting_commands(own, 2));
}

TEST(no_other_command_is_paced, "neither the commands of the program on top wait, nor those without a runlist, nor through a descriptor that is another's")
{
	high_works_for_long(10);
	CHECK_EQ(waiting_commands(high, 200), 0);
	CHECK_EQ(waiting_commands(own, PACE_BURST), 0);
	CHECK_EQ(waiting_commands(high, 200), 0);
	CHECK_EQ(refused_ns(process_of(own), _IO('K', 0x05)), 0);
	kfd_gpreempt_pace(&process_of(own)->p, AMDKFD_IOC_UPDATE_QUEUE);
	CHECK_EQ(refused_ns(add_process(10), AMDKFD_IOC_CREATE_QUEUE), 0);
	CHECK_EQ(paced(), 0);
	/* The driver goes by the number alone. */
	CHECK(refused_ns(process_of(own), _IOC(_IOC_READ, 'X', 0x07, 100)));
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
	CHECK(waits_ns(own, AMDKFD_IOC_UPDATE_QUEUE) <= 5 * SEC + 10 * MS);
	nr_commands++;
}

static void gives_refused_commands(u32 n)
{
	CHECK(refused_ns(process_of(own), AMDKFD_IOC_UPDATE_QUEUE) <= PACE_NS + 10 * MS);
}

TEST(loops_share_one_budget, "eight loops of a process that give commands get as many through as one")
{
	high_works_for_long(10);
	nr_commands = 0;
	begin_storm(gives_commands, 8);
	/* All eight may be under way when the budget is used up. */
	CHECK_AFTER(10 * SEC, nr_commands >= PACE_BURST + 10 * SEC / PACE_NS - 1);
	CHECK(nr_commands <= PACE_BURST + 10 * SEC / PACE_NS + 8);
	end_storm();
}

static struct sim_queue *of_programs[8];

static void gives_commands_of_many(u32 n)
{
	struct sim_queue *sq = of_programs[current->pid % ARRAY_SIZE(of_programs)];

	CHECK(waits_ns(sq, AMDKFD_IOC_UPDATE_QUEUE) <= 5 * SEC + 10 * MS);
	nr_commands++;
}

TEST(programs_share_one_budget, "eight programs of a user that give commands in loops get as many through as one")
{
	u32 i;

	high_works_for_long(10);
	for (i = 0; i < ARRAY_SIZE(of_programs); i++)
		of_programs[i] = add_queue(10);
	nr_commands = 0;
	begin_storm(gives_commands_of_many, 8);
	/* All eight may be under way when the budget is used up. */
	CHECK_AFTER(10 * SEC, nr_commands >= PACE_BURST + 10 * SEC / PACE_NS - 1);
	CHECK(nr_commands <= PACE_BURST + 10 * SEC / PACE_NS + 8);
	end_storm();
}

TEST(a_user_waits_for_no_other, "however many commands one user's programs give in loops, those of another user's program that starts below the same work do not wait")
{
	struct sim_queue *starts;

	high_works_for_long(10);
	process_of(own)->task.euid.val = 1;
	nr_commands = 0;
	begin_storm(gives_commands, 24);
	run(10 * SEC);
	CHECK(nr_commands > PACE_BURST);
	starts = add_queue_of_user(10, 2);
	CHECK_EQ(waiting_commands(starts, PACE_BURST), 0);
	CHECK(waiting_commands(starts, 1));
	end_storm();
}

TEST(refused_commands_cost_their_process, "however many commands a process gives that the driver refuses, no other one's command waits for them, and its own do")
{
	high_works_for_long(10);
	begin_storm(gives_refused_commands, 24);
	run(10 * SEC);
	CHECK_EQ(waiting_commands(low, PACE_BURST - 1), 0);
	CHECK(refused_ns(process_of(own), AMDKFD_IOC_CREATE_QUEUE));
	end_storm();
}

TEST(refused_changes_cost_after_a_reset, "of a process one of whose queues was reset refused commands cost its user, since the driver takes all queues off before it refuses them")
{
	high_works_for_long(10);
	process_of(own)->p.pdds[0].has_reset_queue = true;
	TIMES(PACE_BURST)
		CHECK_EQ(refused_ns(process_of(own), AMDKFD_IOC_UPDATE_QUEUE), 0);
	process_of(own)->p.pdds[0].has_reset_queue = false;
	CHECK(waiting_commands(low, 1));
}

TEST(runlists_cost_where_they_are_built, "a program on two nodes pays for a runlist on that node alone where the driver builds it, and its debugger's are not its own")
{
	struct sim_queue *there;

	world_on_nodes(true, 2);
	add_rivals(10, 0);
	own = add_queue_to(process_of(low), 0, NORMAL);
	there = add_queue_to(process_of(low), 1, NORMAL);
	run_kernels(high, 2000, 30 * MS, 10 * MS);
	TIMES(200)
		changes_queue(process_of(low), there);
	TIMES(200)
		changes_queue(NULL, own);
	CHECK_EQ(waiting_commands(own, PACE_BURST), 0);
	CHECK(waiting_commands(own, 1));
	kill_rivals();
}

/* A program that has an SDMA queue, and no compute queue yet */
static struct queue sdma;

static struct sim_process *has_sdma(int nice)
{
	struct sim_process *process = add_process(nice);

	sdma = (struct queue){ .process = &process->p };
	list_add_tail(&sdma.list, &process->p.pdds[0].qpd.queues_list);
	return process;
}

static bool first_queue_waits(int nice)
{
	struct sim_process *process = has_sdma(nice);
	bool waits = refused_ns(process, AMDKFD_IOC_CREATE_QUEUE);

	list_del(&sdma.list);
	return waits;
}

TEST(programs_begin_by_their_settings, "the first compute queue of a program waits as its settings have it: not at the highest priority, though its user owes runlists")
{
	high_works_for_long(10);
	CHECK(waiting_commands(own, PACE_BURST + 1));
	CHECK(first_queue_waits(10));
	CHECK(!first_queue_waits(-5));
	/* Nor does the next one, of which no pass knows yet. */
	CHECK_EQ(refused_ns(process_of(add_queue(-5)), AMDKFD_IOC_CREATE_QUEUE), 0);
	run(20 * SEC);
	/* What it does before it has a compute queue costs. */
	CHECK(!first_queue_waits(10));
	has_sdma(10);
	sdma.device = own->q.device;
	TIMES(PACE_BURST) {
		struct task_struct *self = current, *leader = self->group_leader;

		self->group_leader = sdma.process->lead_thread;
		kfd_gpreempt_mqd_updated(&sdma, NULL);
		self->group_leader = leader;
	}
	list_del(&sdma.list);
	CHECK(first_queue_waits(10));
}

TEST(nice_values_may_not_count, "the first compute queue of a nice program does not wait where nice values do not count")
{
	world_on(true);
	set("gpreempt_nice", "0");
	add_rivals(10, 0);
	own = add_queue(10);
	run_kernels(high, 2000, 30 * MS, 10 * MS);
	TIMES(200)
		changes_queue(process_of(own), own);
	CHECK(!first_queue_waits(10));
	kill_rivals();
}

TEST(turns_have_no_highest, "where programs take turns, the first compute queue of a program waits as those of the others do")
{
	high_works_for_long(10);
	set("gpreempt_policy", "wfq");
	run(5 * MS);
	CHECK(waiting_commands(own, PACE_BURST + 1));
	CHECK(first_queue_waits(0));
}

TEST(many_users_owe, "of more users than there are accounts for, the one that owes least is forgotten")
{
	u32 uid;

	high_works_for_long(10);
	process_of(own)->task.euid.val = 1;
	CHECK(waiting_commands(own, PACE_BURST + 1));
	/* One account is left to them. */
	for (uid = 2; uid < 2 + 2 * GPREEMPT_PACE_USERS; uid++) {
		process_of(low)->task.euid.val = uid;
		changes_queue(process_of(low), low);
	}
	CHECK(waiting_commands(own, 1));
	process_of(low)->task.euid.val = 2;
	CHECK_EQ(waiting_commands(low, PACE_BURST), 0);
	CHECK(waiting_commands(low, 1));
}

TEST(comings_and_goings_cost, "a queue that a program makes or ends costs a runlist, and the end of a program does not")
{
	struct task_struct *self = current, *leader = self->group_leader;
	struct sim_process *process;

	high_works_for_long(10);
	process = process_of(own);
	self->group_leader = &process->task;
	TIMES(PACE_BURST / 2)
		destroy_queue(add_queue_to(process, 0, NORMAL));
	self->group_leader = leader;
	CHECK(waiting_commands(own, 1));
	run(20 * SEC);
	TIMES(PACE_BURST)
		kill_process(process_of(add_queue(10)));
	CHECK_EQ(waiting_commands(own, PACE_BURST), 0);
}

TEST(no_command_waits_for_long, "however many commands wait, each waits for five seconds at most")
{
	high_works_for_long(10);
	TIMES(200)
		changes_queue(process_of(own), own);
	nr_commands = 0;
	begin_storm(gives_commands, 24);
	run(20 * SEC);
	end_storm();
	CHECK(nr_commands);
}

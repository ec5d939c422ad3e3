// SPDX-License-Identifier: MIT
/* jobs_test.c - processes that belong together: who says so, and what the nodes make of it */
#include "news.h"
#include "own_file.h"
#include "rivals.h"

#define NR_NODES	8
#define JOB		4711

/* One low and one high process per node. */
static struct sim_queue *lows[NR_NODES], *highs[NR_NODES];

static long set_job_of(struct gpreempt_target target, u64 job, u32 flags)
{
	return command(GPREEMPT_IOC_SET_JOB, &(struct gpreempt_set_job){ .target = target, .job = job, .flags = flags });
}

static struct gpreempt_target target_of(const struct sim_process *process)
{
	return (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_PROCESS, .pid = process->pid.nr };
}

static long set_job(const struct sim_queue *sq, u64 job, u32 flags)
{
	return set_job_of(target_of(process_of(sq)), job, flags);
}

static u64 job_of(const struct sim_queue *sq)
{
	return sq->q.gpreempt->process->job;
}

static const struct gpreempt_job_place *place_of(const struct gpreempt_process *process)
{
	return PART(struct gpreempt_process_job, job, PROCESS, process)->place;
}

static bool same_job(const struct sim_queue *a, const struct sim_queue *b)
{
	struct gpreempt_process *p = a->q.gpreempt->process, *q = b->q.gpreempt->process;

	return place_of(p) && p->gn == q->gn ? place_of(p) == place_of(q) : job_of(a) && job_of(a) == job_of(b);
}

/* Whoever is without rights from now on */
static void become(u32 uid, u32 caps)
{
	current->euid.val = uid;
	current->caps = caps;
}

/* ---- who may say so ---- */

static void three_processes(void)
{
	world_on(true);
	add_rivals(10, 0);
	open_own_file();
}

TEST(set_job_is_checked, "SET_JOB refuses what it does not know: no id, an id that is cleared, a queue, unknown flags, anything reserved")
{
	struct gpreempt_set_job cmd;
	struct gpreempt_target queue, cgroup = { .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 1 };

	three_processes();
	queue = (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_QUEUE, .pid = process_of(low)->pid.nr, .gpu_id = 1000 };
	CHECK_EQ(set_job(low, 0, 0), -EINVAL);
	CHECK_EQ(set_job(low, JOB, GPREEMPT_JOB_CLEAR), -EINVAL);
	CHECK_EQ(set_job(low, 0, GPREEMPT_JOB_CLEAR | GPREEMPT_JOB_STAY), -EINVAL);
	CHECK_EQ(set_job(low, JOB, 8), -EINVAL);
	CHECK_EQ(set_job_of(queue, JOB, 0), -EINVAL);
	CHECK_EQ(set_job_of((struct gpreempt_target){ .scope = GPREEMPT_SCOPE_ALL }, JOB, 0), -EINVAL);
	CHECK_EQ(set_job_of(cgroup, JOB, GPREEMPT_JOB_INHERIT), -EINVAL);
	cmd = (struct gpreempt_set_job){ .target = target_of(process_of(low)), .job = JOB, .reserved1 = 1 };
	CHECK_EQ(command(GPREEMPT_IOC_SET_JOB, &cmd), -EINVAL);
	cmd = (struct gpreempt_set_job){ .target = target_of(process_of(low)), .job = JOB, .reserved = { 0, 1 } };
	CHECK_EQ(command(GPREEMPT_IOC_SET_JOB, &cmd), -EINVAL);
	CHECK_EQ(set_job_of((struct gpreempt_target){ .scope = GPREEMPT_SCOPE_PROCESS, .pid = 99999 }, JOB, 0), -ESRCH);
	CHECK_EQ(job_of(low), 0);
	CHECK_EQ(set_job(low, JOB, GPREEMPT_JOB_INHERIT | GPREEMPT_JOB_STAY), 0);
	CHECK_EQ(job_of(low), JOB);
	CHECK_EQ(set_job(low, 0, GPREEMPT_JOB_CLEAR), 0);
	CHECK_EQ(job_of(low), 0);
}

TEST(jobs_are_listed, "LIST tells the job of each queue to those who ask for it, and refuses what is reserved")
{
	struct gpreempt_queue_info infos[4];
	u64 jobs[4] = { 7, 7, 7, 7 };
	struct gpreempt_list list = { .target = { .scope = GPREEMPT_SCOPE_ALL }, .nr_queues = 4, .queues = (unsigned long)infos,
				      .jobs = (unsigned long)jobs };

	three_processes();
	CHECK_EQ(set_job(high, JOB, 0), 0);
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), 0);
	CHECK_EQ(list.nr_queues, 2);
	CHECK_EQ(jobs[0], 0);
	CHECK_EQ(jobs[1], JOB);
	CHECK_EQ(jobs[2], 7);
	list.jobs = 8;
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), -EFAULT);
	list.jobs = (unsigned long)jobs;
	shim_fail_alloc = 2;
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), -ENOMEM);
	shim_fail_alloc = 0;
	list.flags = 1;
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), -EINVAL);
}

TEST(no_way_into_a_job_of_others, "knowing an id is no way into a job: the administrator's and another user's are other jobs, and no answer tells of them; another user's process is not the caller's to move")
{
	struct sim_queue *mine, *another;

	three_processes();
	mine = add_queue(19);
	another = add_queue(0);
	process_of(mine)->task.euid.val = 1000;
	process_of(another)->task.euid.val = 2000;
	CHECK_EQ(set_job(high, JOB, 0), 0);
	become(1000, 0);
	/* No answer tells which ids the administrator uses. */
	CHECK_EQ(set_job(mine, JOB, 0), 0);
	CHECK(job_of(mine) == JOB && !same_job(mine, high));
	CHECK_EQ(set_job(another, JOB, 0), -EACCES);
	CHECK_EQ(set_job(high, 5, 0), -EACCES);
	CHECK_EQ(set_job(mine, 5, 0), 0);
	/* Neither does CAP_SYS_NICE do. */
	become(2000, CAP_SYS_NICE);
	CHECK_EQ(set_job(another, JOB, 0), 0);
	CHECK(!same_job(another, high) && !same_job(another, mine));
	become(2000, 0);
	CHECK_EQ(set_job(another, 5, 0), 0);
	CHECK(job_of(another) == 5 && job_of(mine) == 5 && !same_job(another, mine));
	/* The administrator's id comes later: who was there before is not in it. */
	become(0, CAP_SYS_ADMIN);
	CHECK_EQ(set_job(low, 5, 0), 0);
	CHECK(!same_job(low, mine) && !same_job(low, another));
	/* And may put any process into one. */
	CHECK_EQ(set_job(another, JOB, 0), 0);
	CHECK(same_job(another, high));
	/* Which that one does not leave. */
	become(2000, 0);
	CHECK_EQ(set_job(another, 6, 0), -EPERM);
	CHECK_EQ(set_job(another, 0, GPREEMPT_JOB_CLEAR), -EPERM);
	CHECK(same_job(another, high));
	become(0, CAP_SYS_ADMIN | CAP_SYS_NICE);
}

static struct sim_queue *add_child_of(const struct sim_queue *parent, u32 uid)
{
	struct sim_process *process = add_process(0);

	process->task.real_parent = &process_of(parent)->task;
	process->task.euid.val = uid;
	return add_queue_to(process, 0, NORMAL);
}

TEST(jobs_are_inherited, "processes below one whose job is to be inherited are in it from their first queue on; one with another user is not, unless the administrator said so")
{
	struct sim_queue *child;

	three_processes();
	process_of(low)->task.euid.val = 1000;
	become(1000, 0);
	process_of(high)->task.euid.val = 1000;
	CHECK_EQ(set_job(high, 9, GPREEMPT_JOB_INHERIT), 0);
	CHECK_EQ(set_job(low, JOB, 0), 0);
	CHECK_EQ(job_of(add_child_of(low, 1000)), 0);
	CHECK_EQ(set_job(low, JOB, GPREEMPT_JOB_INHERIT), 0);
	child = add_child_of(low, 1000);
	CHECK(same_job(child, low));
	CHECK_EQ(job_of(add_child_of(low, 0)), 0);
	CHECK_EQ(job_of(add_child_of(low, 2000)), 0);
	/* One that changes its user later leaves. */
	process_of(child)->task.euid.val = 2000;
	run(3 * SEC);
	CHECK_EQ(job_of(child), 0);
	become(0, CAP_SYS_ADMIN | CAP_SYS_NICE);
	CHECK_EQ(set_job(low, 6, GPREEMPT_JOB_INHERIT), 0);
	CHECK(same_job(add_child_of(low, 2000), low));
	CHECK_EQ(job_of(low), 6);
}

TEST(cgroups_are_jobs, "a cgroup's job is that of all processes in it and below it, and the administrator's to set; one that moves there is in it a second later")
{
	struct gpreempt_target cgroup = { .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 3 };

	three_processes();
	process_of(low)->task.cgroup = world_cgroup(3);
	process_of(high)->task.cgroup = world_cgroup(2);
	process_of(high)->task.euid.val = 1000;
	become(1000, CAP_SYS_NICE);
	CHECK_EQ(set_job_of(cgroup, JOB, 0), -EPERM);
	become(0, CAP_SYS_ADMIN);
	CHECK_EQ(set_job_of(cgroup, JOB, 0), 0);
	CHECK(job_of(low) == JOB && !job_of(high));
	process_of(high)->task.cgroup = world_cgroup(3);
	run(2 * SEC);
	CHECK(same_job(low, high));
	/* Its own user does not take it out. */
	become(1000, 0);
	CHECK_EQ(set_job(high, 5, 0), 0);
	CHECK(same_job(low, high));
	become(0, CAP_SYS_ADMIN | CAP_SYS_NICE);
	CHECK_EQ(set_job_of(cgroup, 0, GPREEMPT_JOB_CLEAR), 0);
	CHECK(!job_of(low) && job_of(high) == 5);
}

TEST(jobs_come_and_go, "processes change their job at work, die, and are switched off in every job; what there was no memory for has none")
{
	u32 i;

	world_on_nodes(true, 2);
	open_own_file();
	low = add_queue_to(add_process(10), 0, NORMAL);
	high = add_queue_to(add_process(0), 0, NORMAL);
	world.nodes[0].nr_wave_slots = 1;
	run_kernels(low, 200, MS, MS);
	for (i = 0; i < 40; i++) {
		CHECK_EQ(set_job(low, 1 + i % 3, 0), 0);
		CHECK_EQ(set_job(high, 1 + i % 2, i % 5 ? 0 : GPREEMPT_JOB_STAY), 0);
		run_kernels(high, 1, 300 * US, MS);
		CHECK(job_of(low) == 1 + i % 3 && job_of(high) == 1 + i % 2);
	}
	for (i = 1; i <= 2; i++) {
		CHECK_EQ(set_job(low, 0, GPREEMPT_JOB_CLEAR), 0);
		/* The setting, the place, the job. */
		shim_fail_alloc = 1 + i;
		CHECK_EQ(set_job(low, 90 + i, 0), 0);
		shim_fail_alloc = 0;
		CHECK_EQ(job_of(low), 0);
		CHECK_EQ(skipped(GPREEMPT_SKIP_NO_MEMORY), i);
	}
	shim_fail_alloc = 1;
	CHECK_EQ(set_job(low, 95, 0), -ENOMEM);
	shim_fail_alloc = 0;
	CHECK_EQ(set_job(low, 1, 0), 0);
	kill_process(process_of(low));
	run(MS);
	switch_off_and_on();
	run(20 * MS);
	CHECK_EQ(job_of(high), 2);
	CHECK_EQ(set_job(high, 0, GPREEMPT_JOB_CLEAR), 0);
}

static u32 *slot_of(struct gpreempt_node *gn)
{
	return &PART(struct gpreempt_node_job, job, NODE, gn)->slot;
}

TEST(nodes_beyond_those_of_jobs, "of more nodes than jobs have room for, the last ones say so, and their processes are in no job")
{
	struct gpreempt_node *more[GPREEMPT_NEWS_NODES];
	u32 i, slot;

	three_processes();
	slot = *slot_of(node_of(0));
	mutex_lock(&gpreempt_lifecycle);
	for (i = 0; i < GPREEMPT_NEWS_NODES; i++) {
		more[i] = kzalloc(gpreempt_sizes[GPREEMPT_OF_NODE], GFP_KERNEL);
		more[i]->node = node_of(0)->node;
		gpreempt_room_job.start_node(more[i]);
	}
	CHECK_EQ(*slot_of(more[GPREEMPT_NEWS_NODES - 2]), GPREEMPT_NEWS_NODES - 1);
	CHECK_EQ(*slot_of(more[GPREEMPT_NEWS_NODES - 1]), GPREEMPT_NEWS_NODES);
	CHECK(strstr(shim_log, "one more than jobs can use") != NULL);
	for (i = 0; i < GPREEMPT_NEWS_NODES; i++)
		gpreempt_room_job.stop_node(more[i]);
	/* What was given back is given again. */
	gpreempt_room_job.start_node(more[0]);
	CHECK_EQ(*slot_of(more[0]), 1);
	gpreempt_room_job.stop_node(more[0]);
	for (i = 0; i < GPREEMPT_NEWS_NODES; i++)
		kfree(more[i]);
	mutex_unlock(&gpreempt_lifecycle);
	*slot_of(node_of(0)) = GPREEMPT_NEWS_NODES;
	CHECK_EQ(set_job(low, JOB, 0), 0);
	CHECK_EQ(job_of(low), 0);
	run(10 * MS);
	*slot_of(node_of(0)) = slot;
	CHECK_EQ(set_job(low, JOB, 0), 0);
	CHECK_EQ(job_of(low), JOB);
}

/* ---- nodes ---- */

/* Each node has a low process with endless work. */
static void add_programs(void)
{
	u32 i;

	for (i = 0; i < NR_NODES; i++) {
		lows[i] = add_queue_to(add_process(10), i, NORMAL);
		highs[i] = add_queue_to(add_process(0), i, NORMAL);
		world.nodes[i].nr_wave_slots = 1;
		lows[i]->kernel_ns = 20 * MS;
		highs[i]->kernel_ns = 20 * MS;
		submit(lows[i], 20);
	}
	low = lows[0];
	high = highs[0];
}

static void eight_nodes(bool hws)
{
	world_on_nodes(hws, NR_NODES);
	open_own_file();
	add_programs();
}

static void highs_are_a_job(void)
{
	u32 i;

	for (i = 0; i < NR_NODES; i++)
		CHECK_EQ(set_job(highs[i], JOB, 0), 0);
}

static void lows_are_a_job(u32 flags)
{
	u32 i;

	for (i = 0; i < NR_NODES; i++)
		CHECK_EQ(set_job(lows[i], 5, flags), 0);
}

static u32 nr_off(struct sim_queue *const *queues)
{
	u32 i, nr = 0;

	for (i = 0; i < NR_NODES; i++)
		nr += preempted(queues[i]);
	return nr;
}

/* A look of each at gpreempt_poll_us, and a runlist or, without one, up to 200 us for a slot. */
static u64 bound_ns(void)
{
	return node_of(0)->backend->reprioritizes ? 600 * US : 200 * US;
}

/* From the first of these that leaves the device, or comes back, to the last one; ~0: not all do. */
static u64 skew(struct sim_queue *const *queues, u32 nr, bool off, u64 at_most_ns)
{
	u64 end_ns = ktime_get_ns() + at_most_ns, first_ns = 0;

	while (ktime_get_ns() < end_ns) {
		u32 n = off ? nr_off(queues) : NR_NODES - nr_off(queues);

		if (!first_ns && n)
			first_ns = ktime_get_ns();
		if (n == nr)
			return ktime_get_ns() - first_ns;
		run(TICK_NS);
	}
	return ~0ULL;
}

BOTH(victims_of_a_job_leave_together, "work of a job on one of eight nodes takes its victims off all eight within a look of the first, and its end gives them back")
{
	u64 skew_ns;

	eight_nodes(hws);
	highs_are_a_job();
	/* Somebody above and below works: all nodes poll. */
	TIMES(3) {
		submit(highs[2], 1);
		run(30 * MS);
	}
	CHECK_EQ(nr_off(lows), 0);
	submit(highs[5], 1);
	skew_ns = skew(lows, NR_NODES, true, 10 * MS);
	CHECK_WITHIN(skew_ns, 0, bound_ns());
	CHECK_EQ(highs[1]->q.gpreempt->policy.verdict, GPREEMPT_VERDICT_JOB);
	CHECK(run_until_idle(highs[5], SEC));
	skew_ns = skew(lows, NR_NODES, false, 20 * MS);
	CHECK_WITHIN(skew_ns, 0, bound_ns());
}

TEST(monitors_on_one_cpu_send_before_they_wait, "where the monitors of all nodes share a CPU, all have sent their requests before one waits for its device, not each when the one before it is done")
{
	u32 i;

	eight_nodes(true);
	highs_are_a_job();
	for (i = 0; i < NR_NODES; i++)
		world.nodes[i].unmap_us = 150;
	shim_one_cpu = true;
	submit(highs[2], 1);
	run(30 * MS);
	CHECK_EQ(nr_off(lows), 0);
	TIMES(3) {
		submit(highs[5], 1);
		CHECK_WITHIN(skew(lows, NR_NODES, true, 10 * MS), 0, bound_ns());
		CHECK(run_until_idle(highs[5], SEC));
		CHECK_WITHIN(skew(lows, NR_NODES, false, 20 * MS), 0, bound_ns());
	}
	shim_one_cpu = false;
}

BOTH(a_doorbell_on_one_node_clears_all, "with doorbells instead of looks, the first work of an idle job on one of eight nodes takes its victims off all eight, though no doorbell is written on the others; and all sleep again after it")
{
	u64 skew_ns;
	u32 i;

	NEEDS(WAKE);
	shim_param_set("gpreempt_wakeup", "doorbell");
	eight_nodes(hws);
	highs_are_a_job();
	run(3 * SEC);
	CHECK_EQ(nr_off(lows), 0);
	for (i = 0; i < NR_NODES; i++)
		submit(lows[i], 20);
	run(100 * MS);
	submit(highs[5], 1);
	skew_ns = skew(lows, NR_NODES, true, 10 * MS);
	CHECK_WITHIN(skew_ns, 0, bound_ns());
	CHECK(run_until_idle(highs[5], SEC));
	skew_ns = skew(lows, NR_NODES, false, 20 * MS);
	CHECK_WITHIN(skew_ns, 0, bound_ns());
	for (i = 0; i < NR_NODES; i++)
		CHECK(run_until_idle(lows[i], 2 * SEC));
	run(3 * SEC);
	for (i = 0; i < NR_NODES; i++)
		CHECK(!strcmp(gpreempt_node_state_name(node_of(i)), "armed"));
	shim_param_set("gpreempt_wakeup", "poll");
}

BOTH(without_a_job_nodes_decide_alone, "without a job the same takes victims off one node")
{
	eight_nodes(hws);
	run(30 * MS);
	submit(highs[5], 1);
	run(10 * MS);
	CHECK_EQ(nr_off(lows), 1);
}

BOTH(a_job_leaves_all_nodes, "a job that is outranked on one of eight nodes gives all to lower work within a look, and gets all back together; one that is told to stay does not")
{
	struct sim_queue *others[NR_NODES];
	u64 skew_ns;
	u32 i;

	EACH_ANEW(stay, 2, "stay %u: ", stay) {
		eight_nodes(hws);
		for (i = 0; i < NR_NODES; i++) {
			others[i] = add_queue_to(add_process(19), i, NORMAL);
			others[i]->kernel_ns = 20 * MS;
			submit(others[i], 20);
		}
		lows_are_a_job(stay ? GPREEMPT_JOB_STAY : 0);
		run(50 * MS);
		CHECK_EQ(nr_off(lows), 0);
		CHECK_EQ(nr_off(others), NR_NODES);
		highs[3]->kernel_ns = 50 * MS;
		submit(highs[3], 1);
		skew_ns = skew(lows, stay ? 1 : NR_NODES, true, 10 * MS);
		CHECK_WITHIN(skew_ns, 0, bound_ns());
		run(10 * MS);
		CHECK_EQ(nr_off(lows), stay ? 1 : NR_NODES);
		CHECK_EQ(nr_off(others), stay ? NR_NODES : 1);
		CHECK(run_until_idle(highs[3], SEC));
		skew_ns = skew(lows, NR_NODES, false, 20 * MS);
		CHECK(stay || skew_ns <= bound_ns());
		run(2 * MS);
		CHECK_EQ(nr_off(others), NR_NODES);
	}
}

BOTH(a_removed_node_delays_no_other, "a node that goes in the middle of a job's work leaves the others to themselves within the time that its word holds")
{
	eight_nodes(hws);
	highs_are_a_job();
	submit(highs[7], 20);
	run(20 * MS);
	CHECK_EQ(nr_off(lows), NR_NODES);
	kill_process(process_of(highs[7]));
	kill_process(process_of(lows[7]));
	kfd_gpreempt_node_fini(&world.nodes[7].node);
	run(GPREEMPT_LATE_NS + MS);
	lows[7] = lows[0];
	CHECK_EQ(nr_off(lows), 0);
	/* And one that comes has its place. */
	kfd_gpreempt_node_init(&world.nodes[7].node);
	lows[7] = add_queue_to(add_process(10), 7, NORMAL);
	submit(highs[0], 2);
	run(10 * MS);
	CHECK_EQ(nr_off(lows), NR_NODES - 1);
}

TEST(a_failed_node_delays_no_other, "a node that gives up in the middle of a decision delays none of the others, and says nothing any more")
{
	u64 skew_ns;
	u32 i;

	eight_nodes(true);
	highs_are_a_job();
	run(30 * MS);
	world.nodes[4].nr_unmap_timeouts = 1;
	submit(highs[1], 1);
	skew_ns = skew(lows, NR_NODES - 1, true, 10 * MS);
	CHECK_WITHIN(skew_ns, 0, bound_ns());
	CHECK(!strcmp(gpreempt_node_state_name(node_of(4)), "failed"));
	CHECK(!preempted(lows[4]));
	/* What works there is nobody else's matter. */
	CHECK(run_until_idle(highs[1], SEC));
	submit(highs[4], 1);
	run(10 * MS);
	CHECK_EQ(nr_off(lows), 0);
	/* The driver resets it, and programs begin anew. */
	reset_gpu();
	kill_all();
	add_programs();
	highs_are_a_job();
	for (i = 0; i < NR_NODES; i++)
		submit(lows[i], 20);
	run(10 * MS);
	submit(highs[0], 2);
	run(10 * MS);
	CHECK_EQ(nr_off(lows), NR_NODES);
	for (i = 0; i < NR_NODES; i++)
		CHECK(strcmp(gpreempt_node_state_name(node_of(i)), "failed"));
}

TEST(what_a_failed_node_said_ends, "a node that gives up while a job works there tells the others, and they do not wait until its word ends")
{
	eight_nodes(true);
	highs_are_a_job();
	submit(highs[4], 20);
	run(30 * MS);
	CHECK_EQ(nr_off(lows), NR_NODES);
	world.nodes[4].nr_unmap_timeouts = 1;
	low = add_queue_to(add_process(10), 4, NORMAL);
	low->kernel_ns = 20 * MS;
	submit(low, 20);
	TIMES(1000) {
		run(TICK_NS);
		if (!strcmp(gpreempt_node_state_name(node_of(4)), "failed"))
			break;
	}
	run(2 * MS);
	CHECK_EQ(nr_off(lows), 0);
	reset_gpu();
}

static void tell_last_node(bool begins)
{
	rcu_read_lock();
	gpreempt_node_tell(node_of(7), begins);
	rcu_read_unlock();
}

TEST(news_causes_no_more_looks_than_polling, "a node that others tell something new all the time looks no more often than it would poll, and twice as often if jobs begin all the time")
{
	bool begins[] = { false, true };
	u64 checks;

	eight_nodes(true);
	highs_are_a_job();
	run(10 * MS);
	EACH_CASE(k, begins) {
		checks = atomic64_read(&node_of(7)->stats.checks);
		TIMES(5000) {
			tell_last_node(begins[k]);
			run(TICK_NS);
		}
		CHECK_WITHIN(atomic64_read(&node_of(7)->stats.checks) - checks, 500, (1 + k) * 5000 * TICK_NS / (80 * US) + 10);
	}
}

TEST(a_begin_elsewhere_is_looked_at_at_once, "a node that has just looked looks at once when a job begins elsewhere, if it did not for the same reason within gpreempt_poll_us")
{
	u64 checks;
	u32 i;

	eight_nodes(true);
	highs_are_a_job();
	submit(highs[7], 20);
	run(10 * MS);
	for (i = 0; i < 100; i++) {
		checks = atomic64_read(&node_of(7)->stats.checks);
		while (atomic64_read(&node_of(7)->stats.checks) == checks)
			run(TICK_NS);
		tell_last_node(true);
		run(2 * TICK_NS);
		CHECK(!node_of(7)->begins);
		run(100 * US);
	}
}

BOTH(a_slow_node_delays_no_other, "a node whose device does not answer for long holds the others for no longer than what it said")
{
	u64 since_ns;

	eight_nodes(hws);
	highs_are_a_job();
	run(30 * MS);
	/* The monitor of this one stands still. */
	mutex_lock(&node_of(6)->pass_lock);
	submit(highs[1], 1);
	since_ns = skew(lows, NR_NODES - 1, true, 10 * MS);
	CHECK(since_ns <= bound_ns());
	CHECK(run_until_idle(highs[1], SEC));
	run(20 * MS);
	CHECK_EQ(nr_off(lows), 0);
	mutex_unlock(&node_of(6)->pass_lock);
	submit(highs[6], 1);
	run(5 * MS);
	CHECK_EQ(nr_off(lows), NR_NODES);
	mutex_lock(&node_of(6)->pass_lock);
	run(GPREEMPT_LATE_NS + MS);
	CHECK_EQ(nr_off(lows), 1);
	mutex_unlock(&node_of(6)->pass_lock);
}

BOTH(a_pause_ends_what_was_said, "what a node has said of a job ends with a suspend and with switching it off")
{
	eight_nodes(hws);
	highs_are_a_job();
	submit(highs[0], 20);
	run(20 * MS);
	CHECK_EQ(nr_off(lows), NR_NODES);
	CHECK_EQ(gpreempt_life_enable_node(node_of(0), false), 0);
	run(MS);
	CHECK_EQ(nr_off(lows), 0);
	CHECK_EQ(gpreempt_life_enable_node(node_of(0), true), 0);
	run(20 * MS);
	CHECK_EQ(nr_off(lows), NR_NODES);
	suspend();
	CHECK_EQ(nr_off(lows), 0);
	resume();
	run(20 * MS);
	CHECK_EQ(nr_off(lows), NR_NODES);
}

BOTH(a_job_has_its_relief_everywhere, "a job that starves on all nodes has its relief on all of them at the same time, within a look")
{
	u64 skew_ns;
	u32 i;

	NEEDS(WAKE);
	eight_nodes(hws);
	lows_are_a_job(0);
	set("gpreempt_max_hold_ms", "100");
	set("gpreempt_relief_ms", "10");
	run(10 * MS);
	for (i = 0; i < NR_NODES; i++) {
		submit(highs[i], 30);
		run(3 * MS);
	}
	run(10 * MS);
	CHECK_EQ(nr_off(lows), NR_NODES);
	TIMES(3) {
		skew_ns = skew(lows, NR_NODES, false, 300 * MS);
		CHECK_WITHIN(skew_ns, 0, 2 * bound_ns());
		skew_ns = skew(lows, NR_NODES, true, 20 * MS);
		CHECK_WITHIN(skew_ns, 0, bound_ns());
	}
}

BOTH(jobs_without_work_wake_no_node, "eight nodes of a job on which none is above another, and none works, do not look")
{
	u64 checks[NR_NODES];
	u32 i;

	world_on_nodes(hws, NR_NODES);
	open_own_file();
	for (i = 0; i < NR_NODES; i++) {
		highs[i] = add_queue_to(add_process(0), i, NORMAL);
		highs[i]->kernel_ns = MS;
		submit(highs[i], 1);
	}
	highs_are_a_job();
	run(3 * SEC);
	for (i = 0; i < NR_NODES; i++)
		checks[i] = atomic64_read(&node_of(i)->stats.checks);
	run(2 * SEC);
	for (i = 0; i < NR_NODES; i++)
		CHECK_EQ(atomic64_read(&node_of(i)->stats.checks), checks[i]);
}

TEST(a_loop_of_jobs_costs_no_more_looks_than_polling, "a program that changes its job in a loop causes no more looks than polling does")
{
	u64 checks;
	u32 i;

	three_processes();
	run(3 * SEC);
	checks = atomic64_read(&stats()->checks);
	for (i = 0; i < 5000; i++) {
		CHECK_EQ(set_job(low, 1 + i % 7, 0), 0);
		run(TICK_NS);
	}
	CHECK(atomic64_read(&stats()->checks) - checks <= 5000 * TICK_NS / (80 * US) + 30);
}

/* ---- chance ---- */

static u64 random_state;

static u32 random_below(u32 n)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % n;
}

static u64 held_since_ns[NR_QUEUES_MAX];

/* Four reliefs that had to wait for others, and then some */
#define STARVED_NS	(800 * MS)

static void nobody_starves(void)
{
	u32 i;

	for (i = 0; i < world.nr_queues; i++) {
		struct sim_queue *sq = world.queues[i];

		if (sq->gone || !preempted(sq) || idle(sq))
			held_since_ns[i] = ktime_get_ns();
		if (ktime_get_ns() - held_since_ns[i] > STARVED_NS)
			tap_fail(__FILE__, __LINE__, "queue %u (node %u, nice %d, job %llu, verdict %d) is held with work for %llu us", i,
				 sq->q.device->node_id, process_of(sq)->task.nice, (unsigned long long)job_of(sq), sq->q.gpreempt->policy.verdict,
				 (unsigned long long)(ktime_get_ns() - held_since_ns[i]) / US);
	}
}

static void any_change(struct sim_queue *sq, bool calm)
{
	switch (random_below(calm ? 3 : 9)) {
	case 0:
		set_job(sq, 1 + random_below(3), random_below(2) ? GPREEMPT_JOB_STAY : 0);
		break;
	case 1:
		set_job(sq, 0, GPREEMPT_JOB_CLEAR);
		break;
	case 2:
		set_user_nice(&process_of(sq)->task, random_below(5) * 5 - 10);
		break;
	case 3:
		if (world.nr_queues < 30)
			add_queue_to(random_below(2) ? process_of(sq) : add_process(random_below(5) * 5 - 10), random_below(4), NORMAL);
		break;
	case 4:
		destroy_queue(sq);
		break;
	case 5:
		suspend();
		resume();
		break;
	case 6:
		CHECK_EQ(gpreempt_life_enable_node(node_of(random_below(4)), random_below(2)), 0);
		break;
	case 7:
		shim_fail_alloc = random_below(6);
		break;
	case 8:
		CHECK_EQ(shim_param_set("gpreempt_policy", random_below(2) && IS_ENABLED(CONFIG_KFD_GPREEMPT_POLICIES) ? "wfq" : "hpf"), 0);
		break;
	}
}

static void simulate(bool hws, u64 seed)
{
	bool calm = seed % 2;
	u32 i;

	tap_at("SEED=%llu COUNT=1: ", (unsigned long long)seed);
	random_state = seed * 7919 + hws;
	memset(held_since_ns, 0, sizeof(held_since_ns));
	world_make(hws, 1, 4);
	set("gpreempt_max_hold_ms", "40");
	set("gpreempt_relief_ms", "5");
	set("gpreempt_enable", "1");
	open_own_file();
	for (i = 0; i < 4; i++)
		world.nodes[i].nr_wave_slots = 1;
	for (i = 0; i < 10; i++)
		set_job(add_queue_to(add_process(random_below(5) * 5 - 10), i % 4, NORMAL), 1 + random_below(3), 0);
	TIMES(60) {
		struct sim_queue *sq = world.queues[random_below(world.nr_queues)];

		if (!sq->gone && sq->submitted - sq->done < 20) {
			sq->kernel_ns = (1 + random_below(30)) * 100 * US;
			submit(sq, 1 + random_below(8));
		}
		sq = world.queues[random_below(world.nr_queues)];
		if (!sq->gone && !random_below(3))
			any_change(sq, calm);
		for (i = random_below(400); i; i--) {
			run(TICK_NS);
			if (calm)
				nobody_starves();
		}
	}
	shim_fail_alloc = 0;
	set("gpreempt_policy", "hpf");
	set("gpreempt_enable", "1");
	run(20 * MS);
	world_end();
	shim_log[0] = 0;
}

BOTH(random_jobs, "whatever processes join and leave jobs on four nodes, their work is done once, none starves, and nothing stays behind")
{
	u64 seed, end = tap_setting("SEED", 1) + tap_setting("COUNT", 12);

	for (seed = tap_setting("SEED", 1); seed < end; seed++)
		simulate(hws, seed);
}

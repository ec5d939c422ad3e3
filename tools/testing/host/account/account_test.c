// SPDX-License-Identifier: MIT
/* account_test.c - who has used how much of a device: as the device counts it, and kept when programs end */
#include "rivals.h"

#define JOB	4711

static const struct cred own_cred = { .user_ns = &init_user_ns };
static struct file file;

static void close_own_file(void)
{
	CHECK_EQ(shim_miscdevice->fops->release(NULL, &file), 0);
}

static void open_own_file(void)
{
	file = (struct file){ .f_cred = &own_cred };
	CHECK_EQ(shim_miscdevice->fops->open(NULL, &file), 0);
	world.before_end = close_own_file;
}

static long command(unsigned int cmd, void *argument)
{
	return shim_miscdevice->fops->unlocked_ioctl(&file, cmd, (unsigned long)argument);
}

static void world_accounts(bool hws)
{
	world_make(hws, 1, 1);
	set("gpreempt_account", "1");
	set("gpreempt_enable", "1");
	open_own_file();
}

static struct gpreempt_usage_info infos[8192];
static u32 nr_infos;

static void ask_for(u32 kinds)
{
	struct gpreempt_usage usage = { .entries = (uintptr_t)infos, .nr_entries = ARRAY_SIZE(infos), .kinds = kinds };

	memset(infos, 0, sizeof(infos));
	CHECK_EQ(command(GPREEMPT_IOC_USAGE, &usage), 0);
	CHECK(usage.nr_entries <= ARRAY_SIZE(infos));
	CHECK_EQ(usage.time_ns, ktime_get_ns());
	nr_infos = usage.nr_entries;
}

/* Of all of a kind */
static struct gpreempt_queue_usage sum_of(u32 kind)
{
	struct gpreempt_queue_usage sum = { 0 };
	u32 i;

	ask_for(1U << kind);
	for (i = 0; i < nr_infos; i++) {
		CHECK_EQ(infos[i].kind, kind);
		sum.busy_ns += infos[i].usage.busy_ns;
		sum.waiting_ns += infos[i].usage.waiting_ns;
		sum.preempted_ns += infos[i].usage.preempted_ns;
		sum.wave_us += infos[i].usage.wave_us;
	}
	return sum;
}

static u64 busy_of(const struct sim_queue *sq)
{
	return sq->q.gpreempt->policy.time.busy_ns;
}

static u64 true_busy(void)
{
	u64 sum_ns = 0;

	EACH_QUEUE(sq)
		sum_ns += sq->busy_ns;
	return sum_ns;
}

static u32 drawn(u32 below)
{
	static u64 state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 20) % below;
}

/*
 * For so long each of them has work now and then: kernels of 8 to 72 ms. Shorter ones are a matter
 * of chance in so short a time; account/policy/account_test.c has them.
 */
static void all_work_for(u64 ns)
{
	u64 end_ns = ktime_get_ns() + ns;

	while (ktime_get_ns() < end_ns) {
		EACH_QUEUE(sq) {
			if (sq->gone || sq->reset || !idle(sq) || drawn(8))
				continue;
			sq->kernel_ns = 8 * (1000 + drawn(1 + 1000 * (sq->q.properties.queue_id % 8 + 1))) * US;
			submit(sq, 1 + drawn(3));
		}
		run((100 + drawn(30000)) * US);
	}
}

static void four_programs(void)
{
	u32 i;

	world.nodes[0].nr_wave_slots = 2;
	for (i = 0; i < 4; i++)
		add_queue(10 - 3 * (int)i);
}

static void check_each_queue(void)
{
	EACH_QUEUE(sq) {
		if (sq->gone)
			continue;
		tap_at("queue %u, %llu of %llu us: ", sq->q.properties.queue_id, busy_of(sq) / US, sq->busy_ns / US);
		CHECK_WITHIN(busy_of(sq) * 1000 / sq->busy_ns, 980, 1020);
	}
	tap_at("%s", "");
}

static void check_sums_within(u32 permille)
{
	struct gpreempt_queue_usage node = sum_of(GPREEMPT_USAGE_NODE), cgroups = sum_of(GPREEMPT_USAGE_CGROUP);

	tap_at("%llu of %llu us: ", node.busy_ns / US, true_busy() / US);
	CHECK_WITHIN(node.busy_ns * 1000 / true_busy(), 1000 - permille, 1000 + permille);
	tap_at("%s", "");
	CHECK_EQ(node.busy_ns, cgroups.busy_ns);
	CHECK_EQ(node.waiting_ns, cgroups.waiting_ns);
	CHECK_EQ(node.preempted_ns, cgroups.preempted_ns);
	CHECK_EQ(node.wave_us, cgroups.wave_us);
}

static void check_sums(void)
{
	check_sums_within(10);
}

BOTH(each_queue_is_accounted, "each queue is accounted within 2 % of what the device counts, and all together within 1 %, while they preempt each other")
{
	world_accounts(hws);
	four_programs();
	all_work_for(160 * SEC);
	check_each_queue();
	check_sums();
	CHECK(preemptions() > 500);
}

TEST(saving_is_not_accounted, "what a pass takes is no time on the device, neither of who leaves nor of who stays or comes")
{
	u32 i;

	NEEDS(WAKE);
	world_accounts(true);
	world.nodes[0].unmap_us = 2000;
	set("gpreempt_overhead_pct", "0");
	add_rivals(10, 0);
	low->kernel_ns = 3 * SEC;
	high->kernel_ns = 8 * MS;
	submit(low, 1);
	run(100 * MS);
	for (i = 0; i < 50; i++) {
		submit(high, 1);
		CHECK(run_until_idle(high, SEC));
		run(30 * MS);
	}
	CHECK(preemptions() >= 50);
	check_each_queue();
	check_sums();
}

BOTH(observing_accounts, "a node that only observes accounts as one that acts, under each policy")
{
	EACH_ANEW(i, 3, "policy %u: ", i) {
		world_accounts(hws);
		set("gpreempt_observe", "1");
		set("gpreempt_policy", i == 0 ? "hpf" : i == 1 ? "wfq" : "edf");
		four_programs();
		all_work_for(90 * SEC);
		check_each_queue();
		check_sums();
		CHECK_EQ(preemptions(), 0);
	}
}

TEST(one_program_alone_is_accounted, "a program that has the node for itself is accounted, though no decision needs a look, and an idle one costs a few looks a second")
{
	u64 looks;

	world_accounts(true);
	low = add_queue(0);
	all_work_for(160 * SEC);
	CHECK(run_until_idle(low, SEC));
	run(10 * SEC);
	CHECK_STATE("parked");
	looks = atomic64_read(&stats()->checks);
	run(20 * SEC);
	CHECK(atomic64_read(&stats()->checks) < looks + 20 * SEC / GPREEMPT_ACCOUNT_LOOK_MIN_NS / 5);
	/* Looks that find no change are rare, so less is found of short kernels. */
	check_sums_within(50);
}

TEST(a_pause_pays_nothing, "a program alone on a node that was idle for seconds is accounted when it works again, though no doorbell tells of that")
{
	u32 i;

	world_accounts(true);
	low = add_queue(0);
	for (i = 0; i < 20; i++) {
		all_work_for(3 * SEC);
		CHECK(run_until_idle(low, SEC));
		run(3 * SEC);
	}
	check_sums_within(100);
}

/* In the middle of their work */
BOTH(nothing_is_lost, "what a queue or a program used that ends in the middle of its work stays in the sums, which never become less, also over a suspend and a reset")
{
	u64 shown_ns = 0;
	u32 round;

	world_accounts(hws);
	world.nodes[0].nr_wave_slots = 2;
	for (round = 0; round < 30; round++) {
		struct sim_process *process = add_process(0);
		struct sim_queue *first = add_queue_to(process, 0, NORMAL), *second = add_queue_to(process, 0, NORMAL);
		u64 busy_ns;

		all_work_for(SEC);
		if (round == 7 || round == 15) {
			suspend();
			resume();
		} else if (round == 19) {
			reset_gpu();
		} else if (round % 3 == 0) {
			destroy_queue(first);
		}
		busy_ns = sum_of(GPREEMPT_USAGE_NODE).busy_ns;
		CHECK(busy_ns >= shown_ns);
		if (round % 3)
			kill_process(process);
		else
			destroy_queue(second);
		CHECK(sum_of(GPREEMPT_USAGE_NODE).busy_ns >= busy_ns);
		shown_ns = sum_of(GPREEMPT_USAGE_NODE).busy_ns;
	}
	run(10 * MS);
	/* Three times the spread over seeds of chance, for twenty seconds of work in sixty queues that end */
	check_sums_within(30);
}

TEST(a_program_keeps_its_sum, "a program without queues keeps what it used until it ends, and its cgroup after that")
{
	struct gpreempt_usage_info before;

	world_accounts(true);
	low = add_queue(0);
	all_work_for(SEC);
	ask_for(1U << GPREEMPT_USAGE_PROCESS);
	CHECK_EQ(nr_infos, 1);
	CHECK_EQ(infos[0].pid, process_of(low)->pid.nr);
	CHECK_EQ(infos[0].cgroup, 3);
	CHECK_EQ(infos[0].nr_processes, 1);
	destroy_queue(low);
	ask_for(1U << GPREEMPT_USAGE_PROCESS);
	CHECK_EQ(nr_infos, 1);
	before = infos[0];
	CHECK_EQ(before.nr_processes, 0);
	CHECK(before.usage.busy_ns > 100 * MS);
	low = add_queue_to(process_of(low), 0, NORMAL);
	all_work_for(SEC);
	ask_for(1U << GPREEMPT_USAGE_PROCESS);
	CHECK_EQ(nr_infos, 1);
	CHECK(infos[0].usage.busy_ns > before.usage.busy_ns + 100 * MS);
	before = infos[0];
	kill_process(process_of(low));
	ask_for(1U << GPREEMPT_USAGE_PROCESS);
	CHECK_EQ(nr_infos, 0);
	CHECK(sum_of(GPREEMPT_USAGE_CGROUP).busy_ns >= before.usage.busy_ns);
}

TEST(a_job_has_what_was_used_in_it, "a job is told what its processes used while they were in it, also when they have left or ended")
{
	struct gpreempt_set_job in = { .target = { .scope = GPREEMPT_SCOPE_PROCESS }, .job = JOB },
				out = { .target = { .scope = GPREEMPT_SCOPE_PROCESS }, .flags = GPREEMPT_JOB_CLEAR };
	u64 before_ns, joined_ns, left_ns;

	NEEDS(JOBS);
	world_accounts(true);
	low = add_queue(0);
	in.target.pid = out.target.pid = process_of(low)->pid.nr;
	all_work_for(SEC);
	before_ns = sum_of(GPREEMPT_USAGE_NODE).busy_ns;
	CHECK_EQ(command(GPREEMPT_IOC_SET_JOB, &in), 0);
	all_work_for(SEC);
	joined_ns = sum_of(GPREEMPT_USAGE_JOB).busy_ns;
	CHECK_EQ(nr_infos, 1);
	CHECK_EQ(infos[0].job, JOB);
	CHECK_EQ(sum_of(GPREEMPT_USAGE_NODE).busy_ns, before_ns + joined_ns);
	CHECK_EQ(command(GPREEMPT_IOC_SET_JOB, &out), 0);
	left_ns = sum_of(GPREEMPT_USAGE_JOB).busy_ns;
	all_work_for(3 * SEC);
	CHECK_EQ(sum_of(GPREEMPT_USAGE_JOB).busy_ns, left_ns);
	CHECK(sum_of(GPREEMPT_USAGE_NODE).busy_ns > before_ns + joined_ns + 100 * MS);
	CHECK_EQ(command(GPREEMPT_IOC_SET_JOB, &in), 0);
	all_work_for(3 * SEC);
	kill_process(process_of(low));
	CHECK(sum_of(GPREEMPT_USAGE_JOB).busy_ns > left_ns + 100 * MS);
}

static struct sim_process *visitor;

/* A program of this user makes its first queue in this cgroup, and ends. */
static void visit(u32 uid, u64 id)
{
	struct cgroup cgroup = { .id = id };
	struct gpreempt_process *process = kzalloc(gpreempt_sizes[GPREEMPT_OF_PROCESS], GFP_KERNEL);

	*process = (struct gpreempt_process){ .gn = node_of(0), .pid = &visitor->pid, .p = &visitor->p };
	visitor->task.euid.val = uid;
	visitor->task.cgroup = &cgroup;
	mutex_lock(&gpreempt_lock);
	gpreempt_usage_join(process);
	visitor->pid.task = NULL;
	gpreempt_usage_leave(process);
	visitor->pid.task = &visitor->task;
	mutex_unlock(&gpreempt_lock);
	visitor->task.cgroup = world_cgroup(3);
	kfree(process);
}

/* A user's program works in cgroup 3 for a second, and ends. Return: what it has used */
static u64 work_and_end(u32 uid)
{
	struct sim_process *process = add_process(0);
	u64 busy_ns;

	process->task.euid.val = uid;
	add_queue_to(process, 0, NORMAL);
	all_work_for(SEC);
	busy_ns = sum_of(GPREEMPT_USAGE_NODE).busy_ns;
	kill_process(process);
	visitor = add_process(0);
	CHECK(sum_of(GPREEMPT_USAGE_NODE).busy_ns >= busy_ns && busy_ns > 100 * MS);
	return sum_of(GPREEMPT_USAGE_NODE).busy_ns;
}

static u32 remembered_below(u32 kind, u64 first, u64 behind)
{
	u32 i, nr = 0;

	ask_for(1U << kind);
	for (i = 0; i < nr_infos; i++) {
		u64 id = kind == GPREEMPT_USAGE_JOB ? infos[i].job : infos[i].cgroup;

		nr += id >= first && id < behind;
	}
	return nr;
}

/* What a user's cgroups or jobs have used that are not remembered; 0 as well: there is no such sum */
static u64 rest_of(u32 kind, u32 uid)
{
	u64 sum_ns = 0;
	u32 i;

	ask_for(1U << kind);
	for (i = 0; i < nr_infos; i++)
		if (infos[i].uid == uid && !infos[i].cgroup && !infos[i].job)
			sum_ns += infos[i].usage.busy_ns;
	return sum_ns;
}

#define OF_USER		GPREEMPT_USAGE_ENDED_OF_USER_MAX
#define OF_ALL		GPREEMPT_USAGE_ENDED_MAX

static void call_as(u32 uid)
{
	current->euid.val = uid;
	current->caps = uid ? 0 : ~0U;
}

static void set_job(struct sim_queue *sq, u64 id)
{
	struct gpreempt_set_job in = { .target = { .scope = GPREEMPT_SCOPE_PROCESS, .pid = process_of(sq)->pid.nr }, .job = id };

	CHECK_EQ(command(GPREEMPT_IOC_SET_JOB, &in), 0);
}

TEST(a_user_with_many_jobs_forgets_its_own, "a user who makes ever new jobs pushes out its own oldest ones alone, and what they used stays in the sums of that user and of the node")
{
	u64 others_ns, before_ns, used_ns;
	u32 i;

	NEEDS(JOBS);
	world_accounts(true);
	low = add_queue(0);
	set_job(low, JOB);
	all_work_for(SEC);
	kill_process(process_of(low));
	others_ns = sum_of(GPREEMPT_USAGE_JOB).busy_ns;
	CHECK(others_ns > 100 * MS);
	low = add_queue(0);
	process_of(low)->task.euid.val = 1000;
	before_ns = sum_of(GPREEMPT_USAGE_NODE).busy_ns;
	for (i = 0; i < OF_USER + 40; i++) {
		call_as(1000);
		set_job(low, 10000 + i);
		call_as(0);
		all_work_for(5 * MS);
		used_ns = sum_of(GPREEMPT_USAGE_NODE).busy_ns;
		CHECK_EQ(sum_of(GPREEMPT_USAGE_JOB).busy_ns, others_ns + used_ns - before_ns);
	}
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_JOB, JOB, JOB + 1), 1);
	/* One has a process. */
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_JOB, 10000, 20000), OF_USER + 1);
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_JOB, 10000, 10039), 0);
	CHECK(rest_of(GPREEMPT_USAGE_JOB, 1000) > 10 * MS);
	CHECK_EQ(rest_of(GPREEMPT_USAGE_JOB, 0), 0);
	call_as(1000);
	/* In the rest may be jobs of the administrator's. */
	CHECK_EQ(rest_of(GPREEMPT_USAGE_JOB, 1000), 0);
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_JOB, 0, ~0ULL), OF_USER + 1);
	call_as(0);
	/* Three seconds are a small sample. */
	check_sums_within(120);
}

TEST(a_user_with_many_cgroups_forgets_its_own, "a user whose programs come in ever new cgroups pushes out its own oldest ones alone, and all cgroups together are the node")
{
	u64 used_ns;
	u32 i;

	world_accounts(true);
	used_ns = work_and_end(1000);
	for (i = 0; i < OF_USER; i++)
		visit(1001, 100 + i);
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_CGROUP, 1, ~0ULL), OF_USER + 1);
	for (i = 0; i < OF_USER; i++)
		visit(1001, 5000 + i);
	/* The one of user 1000 is older than all of these. */
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_CGROUP, 3, 4), 1);
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_CGROUP, 100, 5000), 0);
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_CGROUP, 5000, ~0ULL), OF_USER);
	CHECK_EQ(rest_of(GPREEMPT_USAGE_CGROUP, 1000), 0);
	for (i = 0; i < OF_USER; i++)
		visit(1000, 100 + i);
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_CGROUP, 3, 4), 0);
	CHECK_EQ(rest_of(GPREEMPT_USAGE_CGROUP, 1000), used_ns);
	CHECK_EQ(sum_of(GPREEMPT_USAGE_CGROUP).busy_ns, used_ns);
	CHECK_EQ(sum_of(GPREEMPT_USAGE_NODE).busy_ns, used_ns);
}

TEST(who_has_most_makes_room, "when all users together have too many cgroups, those with most give up their oldest, and one with a few keeps them")
{
	u32 uid, i;

	world_accounts(true);
	work_and_end(1000);
	for (uid = 1001; uid < 1001 + OF_ALL / OF_USER; uid++)
		for (i = 0; i < OF_USER; i++)
			visit(uid, uid * 10000 + i);
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_CGROUP, 1, ~0ULL), OF_ALL);
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_CGROUP, 3, 4), 1);
	for (i = 0; i < 40; i++)
		visit(uid, uid * 10000 + i);
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_CGROUP, 1, ~0ULL), OF_ALL);
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_CGROUP, uid * 10000, ~0ULL), 40);
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_CGROUP, 3, 4), 1);
}

TEST(ids_of_a_user_namespace_are_one_user, "programs in user namespaces count for who has made the first of them, whatever users they have there")
{
	struct user_namespace container = { .parent = &init_user_ns, .owner = { 1001 } }, inner = { .parent = &container, .owner = { 100007 } };
	u32 i;

	world_accounts(true);
	work_and_end(1000);
	visitor->task.user_ns = &inner;
	for (i = 0; i < OF_USER + 40; i++)
		visit(100000 + i, 5000 + i);
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_CGROUP, 3, 4), 1);
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_CGROUP, 5000, ~0ULL), OF_USER);
}

TEST(containers_of_a_user_push_out_their_own, "a container with many cgroups pushes out its own oldest ones alone, however many pid namespaces it makes, and none of another container of its user")
{
	struct pid_namespace quiet = { .parent = &init_pid_ns }, loud = { .parent = &init_pid_ns }, inner[OF_USER];
	u32 i;

	world_accounts(true);
	work_and_end(1000);
	visitor->task.ns = &quiet;
	for (i = 0; i < 10; i++)
		visit(0, 100 + i);
	visitor->task.ns = &loud;
	for (i = 0; i < OF_USER; i++)
		visit(0, 5000 + i);
	for (i = 0; i < OF_USER; i++) {
		inner[i] = (struct pid_namespace){ .parent = &loud };
		visitor->task.ns = &inner[i];
		visit(0, 9000 + i);
	}
	visitor->task.ns = NULL;
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_CGROUP, 100, 110), 10);
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_CGROUP, 5000, ~0ULL), OF_USER - 10);
	CHECK_EQ(remembered_below(GPREEMPT_USAGE_CGROUP, 3, 4), 1);
}

TEST(rests_of_many_users_become_one, "the rests of very many users become one, of no user, and the cgroups together are the node still")
{
	u64 used_ns;
	u32 i;

	world_accounts(true);
	used_ns = work_and_end(1000);
	for (i = 0; i < OF_ALL; i++)
		visit(2000 + i, 5000 + i);
	CHECK_EQ(rest_of(GPREEMPT_USAGE_CGROUP, 1000), used_ns);
	for (i = 0; i <= GPREEMPT_USAGE_RESTS_MAX; i++)
		visit(8000 + i, 15000 + i);
	CHECK_EQ(rest_of(GPREEMPT_USAGE_CGROUP, 1000), 0);
	CHECK_EQ(rest_of(GPREEMPT_USAGE_CGROUP, ~0U), used_ns);
	ask_for(1U << GPREEMPT_USAGE_CGROUP);
	CHECK(nr_infos <= OF_ALL + GPREEMPT_USAGE_RESTS_MAX + 1);
	CHECK_EQ(sum_of(GPREEMPT_USAGE_NODE).busy_ns, used_ns);
}

TEST(others_usage_is_the_administrators, "without CAP_SYS_ADMIN the caller's own processes and jobs are told, and neither nodes nor cgroups")
{
	u32 i;

	NEEDS(JOBS);
	world_accounts(true);
	add_rivals(10, 0);
	process_of(low)->task.euid.val = 1000;
	process_of(high)->task.euid.val = 1001;
	all_work_for(SEC);
	ask_for(0);
	CHECK_EQ(nr_infos, 4);
	call_as(1000);
	set_job(low, JOB);
	ask_for(0);
	CHECK_EQ(nr_infos, 2);
	for (i = 0; i < nr_infos; i++)
		CHECK(infos[i].kind == GPREEMPT_USAGE_JOB || infos[i].pid == process_of(low)->pid.nr);
	call_as(1002);
	ask_for(0);
	CHECK_EQ(nr_infos, 0);
	call_as(0);
}

TEST(usage_is_listed_by_queue, "LIST tells what each queue has used, if it is asked for, and bad questions about usage are refused")
{
	struct gpreempt_queue_info queues[4];
	struct gpreempt_queue_usage usage[4];
	struct gpreempt_list list = { .target.scope = GPREEMPT_SCOPE_ALL, .queues = (uintptr_t)queues, .nr_queues = 4, .usage = (uintptr_t)usage };

	world_accounts(true);
	low = add_queue(0);
	all_work_for(SEC);
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), 0);
	CHECK_EQ(list.nr_queues, 1);
	CHECK_EQ(usage[0].busy_ns, busy_of(low));
	CHECK(usage[0].wave_us >= usage[0].busy_ns / 1000 * 9 / 10);
	list.nr_queues = 4;
	list.usage = 1;
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), -EFAULT);
	CHECK_EQ(command(GPREEMPT_IOC_USAGE, &(struct gpreempt_usage){ .kinds = 16 }), -EINVAL);
	CHECK_EQ(command(GPREEMPT_IOC_USAGE, &(struct gpreempt_usage){ .flags = 1 }), -EINVAL);
	CHECK_EQ(command(GPREEMPT_IOC_USAGE, &(struct gpreempt_usage){ .reserved = { 0, 1 } }), -EINVAL);
	CHECK_EQ(command(GPREEMPT_IOC_USAGE, &(struct gpreempt_usage){ .gpu_id = 7 }), -ENODEV);
	CHECK_EQ(command(GPREEMPT_IOC_USAGE, &(struct gpreempt_usage){ .entries = 1, .nr_entries = 1 }), -EFAULT);
}

TEST(an_account_stands_still_while_it_is_off, "with gpreempt_account=0 nothing is accounted and no look is made for it")
{
	u64 shown_ns;

	world_accounts(true);
	low = add_queue(0);
	all_work_for(SEC);
	set("gpreempt_account", "0");
	run(10 * MS);
	shown_ns = sum_of(GPREEMPT_USAGE_NODE).busy_ns;
	all_work_for(SEC);
	CHECK_EQ(sum_of(GPREEMPT_USAGE_NODE).busy_ns, shown_ns);
	/* Also one that comes meanwhile, and while another one goes */
	destroy_queue(low);
	low = add_queue(0);
	all_work_for(SEC);
	CHECK_EQ(sum_of(GPREEMPT_USAGE_NODE).busy_ns, shown_ns);
	set("gpreempt_account", "1");
	all_work_for(SEC);
	CHECK(sum_of(GPREEMPT_USAGE_NODE).busy_ns > shown_ns + 100 * MS);
}

TEST(an_account_that_is_off_costs_passes_nothing, "while gpreempt_account is 0 passes take no queue out of the account a second time, but the new ones")
{
	struct sim_queue *idle;

	world_make(true, 1, 1);
	set("gpreempt_enable", "1");
	set("gpreempt_max_hold_ms", "0");
	add_rivals(10, 0);
	idle = add_queue(0);
	submit(low, 100);
	submit(high, 1000);
	run(50 * MS);
	CHECK(idle->q.gpreempt->policy.time.stopped);
	idle->q.gpreempt->policy.time.sure_ns = 7;
	run(50 * MS);
	CHECK_EQ(idle->q.gpreempt->policy.time.sure_ns, 7);
	CHECK_STATE("polling");
	idle = add_queue(0);
	CHECK_EQ_AFTER(20 * MS, idle->q.gpreempt->policy.time.stopped, true);
}

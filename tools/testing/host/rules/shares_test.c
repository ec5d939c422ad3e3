// SPDX-License-Identifier: MIT
/* shares_test.c - shares of cgroups and jobs: who sets them, which processes they are for, and what comes of them */
#include "own_file.h"
#include "rivals.h"

#define JOB		4711

static struct gpreempt_share_info infos[8];

/* Of a cgroup by its number, a share without minimum and maximum */
static struct gpreempt_set_share share_of(int cgroup, u32 weight)
{
	return (struct gpreempt_set_share){ .target = { .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = cgroup }, .weight = weight };
}

static long set_share(struct gpreempt_set_share share)
{
	return command(GPREEMPT_IOC_SET_SHARE, &share);
}

static long clear_share(int cgroup)
{
	struct gpreempt_set_share share = share_of(cgroup, 0);

	share.flags = GPREEMPT_SHARE_CLEAR;
	return set_share(share);
}

static u32 list_shares(void)
{
	struct gpreempt_list_shares list = { .shares = (unsigned long)infos, .nr_shares = ARRAY_SIZE(infos) };

	CHECK_EQ(command(GPREEMPT_IOC_LIST_SHARES, &list), 0);
	return list.nr_shares;
}

static const struct gpreempt_share_info *info_of(u64 cgroup, u64 job)
{
	u32 i, nr = list_shares();

	for (i = 0; i < nr; i++)
		if (infos[i].cgroup_id == cgroup && infos[i].job == job)
			return &infos[i];
	tap_fail(__FILE__, __LINE__, "no group of cgroup %llu and job %llu", (unsigned long long)cgroup, (unsigned long long)job);
}

static u32 group_of(const struct sim_queue *sq)
{
	return sq->q.gpreempt->process->policy.group;
}

/* Two programs with work without end, in cgroup 3, which is in 2, which is in 1 */
static void two_programs(bool hws)
{
	world_on(hws);
	open_own_file();
	add_rivals(0, 0);
	world.nodes[0].nr_wave_slots = 1;
	low->kernel_ns = 3 * MS;
	high->kernel_ns = 700 * US;
}

static void both_work(void)
{
	submit(low, 2000);
	submit(high, 6000);
}

/* In so much time: how much of it had the device one, in percent, while nothing is on it beside it? */
static double part_of(const struct sim_queue *sq, const struct sim_queue *other, u64 ns)
{
	u64 step_ns = 100 * US, had_ns = 0, i;

	for (i = 0; i < ns / step_ns; i++) {
		run(step_ns);
		had_ns += sq->in_slot ? step_ns : 0;
		CHECK(!sq->in_slot || !other || !other->in_slot);
	}
	return 100.0 * had_ns / ns;
}

TEST(set_share_is_checked, "SET_SHARE refuses what it does not know and what is out of its bounds, and what was set before stays")
{
	struct gpreempt_set_share share, before = share_of(3, 300);
	struct gpreempt_list_shares list = { .nr_shares = 1 };

	two_programs(true);
	before.quota_us = 5000;
	before.period_us = 20000;
	CHECK_EQ(set_share(before), 0);
	CHECK_EQ(set_share(share_of(3, 0)), -ERANGE);
	CHECK_EQ(set_share(share_of(3, 10001)), -ERANGE);
	share = share_of(3, 100);
	share.min_pct = 101;
	CHECK_EQ(set_share(share), -ERANGE);
	share = share_of(3, 100);
	share.quota_us = 5000;
	CHECK_EQ(set_share(share), -EINVAL);
	share.period_us = 9999;
	CHECK_EQ(set_share(share), -ERANGE);
	share.period_us = 1000001;
	CHECK_EQ(set_share(share), -ERANGE);
	share.period_us = 10000;
	share.quota_us = 10001;
	CHECK_EQ(set_share(share), -ERANGE);
	share.quota_us = 999;
	CHECK_EQ(set_share(share), -ERANGE);
	share.quota_us = 0;
	CHECK_EQ(set_share(share), -EINVAL);
	share = share_of(3, 100);
	share.flags = 2;
	CHECK_EQ(set_share(share), -EINVAL);
	share.flags = GPREEMPT_SHARE_CLEAR;
	CHECK_EQ(set_share(share), -EINVAL);
	share = share_of(3, 100);
	share.reserved[1] = 1;
	CHECK_EQ(set_share(share), -EINVAL);
	share = share_of(3, 100);
	share.job = JOB;
	CHECK_EQ(set_share(share), -EINVAL);
	share.target = (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_PROCESS };
	share.job = 0;
	CHECK_EQ(set_share(share), -EINVAL);
	CHECK_EQ(set_share(share_of(77, 100)), -EBADF);
	run(20 * MS);
	CHECK_EQ(info_of(3, 0)->weight, 300);
	CHECK_EQ(info_of(3, 0)->quota_us, 5000);
	CHECK_EQ(info_of(3, 0)->period_us, 20000);
	CHECK_EQ(list_shares(), 2);

	current->caps = CAP_SYS_NICE;
	CHECK_EQ(set_share(share_of(3, 100)), -EPERM);
	CHECK_EQ(command(GPREEMPT_IOC_LIST_SHARES, &list), -EPERM);
	current->caps = CAP_SYS_ADMIN | CAP_SYS_NICE;
	list.flags = 1;
	CHECK_EQ(command(GPREEMPT_IOC_LIST_SHARES, &list), -EINVAL);
	list = (struct gpreempt_list_shares){ .nr_shares = 1, .shares = 8 };
	CHECK_EQ(command(GPREEMPT_IOC_LIST_SHARES, &list), -EFAULT);
	list = (struct gpreempt_list_shares){ .nr_shares = 0 };
	CHECK_EQ(command(GPREEMPT_IOC_LIST_SHARES, &list), 0);
	CHECK_EQ(list.nr_shares, 2);
	shim_fail_alloc = 2;
	list = (struct gpreempt_list_shares){ .nr_shares = 1 };
	CHECK_EQ(command(GPREEMPT_IOC_LIST_SHARES, &list), -ENOMEM);
	shim_fail_alloc = 0;
	CHECK_EQ(clear_share(3), 0);
	run(20 * MS);
	CHECK_EQ(list_shares(), 0);
}

BOTH(weights_of_cgroups, "weights of two cgroups give three quarters and one quarter of the device, each kernel runs once, and LIST_SHARES says what each had")
{
	double part;

	two_programs(hws);
	process_of(high)->task.cgroup = world_cgroup(2);
	CHECK_EQ(set_share(share_of(3, 300)), 0);
	both_work();
	run(20 * MS);
	part = part_of(low, high, 2 * SEC);
	CHECK_WITHIN(part, 72, 77);
	CHECK_WITHIN(100.0 * info_of(3, 0)->served_us / info_of(0, 0)->served_us, 73, 77);
	CHECK_EQ(high->q.gpreempt->process->policy.group, 0);
	CHECK(state_is("polling"));
}

BOTH(maximum_of_a_cgroup, "a cgroup with 5 of each 20 ms has no more, though nothing else works")
{
	struct gpreempt_set_share share = share_of(3, 100);

	two_programs(hws);
	share.quota_us = 5000;
	share.period_us = 20000;
	CHECK_EQ(set_share(share), 0);
	submit(low, 1500);
	run(20 * MS);
	CHECK_WITHIN(part_of(low, NULL, 2 * SEC), 23, 26);
	CHECK_EQ(clear_share(3), 0);
	run(5 * MS);
	CHECK(part_of(low, NULL, 100 * MS) > 95);
}

TEST(groups_above, "the group above a cgroup's is that of the next cgroup above it that has a share, whatever was set first")
{
	two_programs(true);
	CHECK_EQ(set_share(share_of(3, 300)), 0);
	both_work();
	run(20 * MS);
	CHECK_EQ(info_of(3, 0)->parent_id, 0);
	CHECK_EQ(set_share(share_of(1, 200)), 0);
	run(20 * MS);
	CHECK_EQ(info_of(3, 0)->parent_id, 1);
	CHECK_EQ(set_share(share_of(2, 200)), 0);
	run(20 * MS);
	CHECK_EQ(info_of(3, 0)->parent_id, 2);
	CHECK_EQ(info_of(2, 0)->parent_id, 1);
	CHECK_EQ(clear_share(2), 0);
	run(20 * MS);
	CHECK_EQ(info_of(3, 0)->parent_id, 1);
	CHECK(info_of(3, 0)->served_us >= 60000);
	CHECK_EQ(clear_share(1), 0);
	CHECK_EQ(clear_share(3), 0);
	CHECK_EQ(clear_share(3), 0);
	run(20 * MS);
	CHECK_EQ(group_of(low), 0);
	CHECK_EQ(list_shares(), 0);
}

TEST(process_moves_to_another_group, "a process that moves to a cgroup with a maximum is bound by it within two seconds, also where the monitor sleeps")
{
	struct gpreempt_set_share share = share_of(3, 100);

	two_programs(true);
	process_of(low)->task.cgroup = world_cgroup(1);
	process_of(high)->task.cgroup = world_cgroup(1);
	share.quota_us = 5000;
	share.period_us = 20000;
	CHECK_EQ(set_share(share), 0);
	submit(low, 1500);
	run(20 * MS);
	CHECK_STATE("parked");
	process_of(low)->task.cgroup = world_cgroup(3);
	run(2 * SEC);
	CHECK_WITHIN(part_of(low, NULL, SEC), 23, 26);
}

TEST(share_of_a_job, "a job that an administrator has set has its share, and not that of the cgroup of its processes; a user's job of the same id has none")
{
	struct gpreempt_set_share share = { .target = { .scope = GPREEMPT_SCOPE_ALL }, .job = JOB, .weight = 300 };
	struct gpreempt_set_job job = { .target = { .scope = GPREEMPT_SCOPE_PROCESS }, .job = JOB };

	NEEDS(JOBS);
	two_programs(true);
	CHECK_EQ(set_share(share_of(3, 100)), 0);
	CHECK_EQ(set_share(share), 0);
	job.target.pid = process_of(low)->pid.nr;
	CHECK_EQ(command(GPREEMPT_IOC_SET_JOB, &job), 0);
	both_work();
	run(20 * MS);
	CHECK_WITHIN(part_of(low, high, 2 * SEC), 72, 77);
	CHECK(info_of(0, JOB)->served_us > info_of(3, 0)->served_us);
	job = (struct gpreempt_set_job){ .target = job.target, .flags = GPREEMPT_JOB_CLEAR };
	CHECK_EQ(command(GPREEMPT_IOC_SET_JOB, &job), 0);
	process_of(low)->task.euid.val = 1000;
	current->euid.val = 1000;
	current->caps = 0;
	job = (struct gpreempt_set_job){ .target = job.target, .job = JOB };
	CHECK_EQ(command(GPREEMPT_IOC_SET_JOB, &job), 0);
	current->euid.val = 0;
	current->caps = CAP_SYS_ADMIN | CAP_SYS_NICE;
	run(20 * MS);
	CHECK_EQ(group_of(low), group_of(high));
}

TEST(groups_come_and_go, "groups are set, cleared and set again at work, processes die in them, and nothing stays off the device")
{
	u32 i;

	two_programs(true);
	process_of(high)->task.cgroup = world_cgroup(2);
	both_work();
	for (i = 0; i < 30; i++) {
		CHECK_EQ(i % 3 ? set_share(share_of(3, 100 + i)) : clear_share(3), 0);
		CHECK_EQ(i % 4 ? set_share(share_of(2, 100 + i)) : clear_share(2), 0);
		run(7 * MS);
	}
	kill_process(process_of(low));
	run(20 * MS);
	CHECK(on_device(high));
	switch_off_and_on();
	run(20 * MS);
	CHECK(on_device(high));
	clear_share(3);
	clear_share(2);
	run(20 * MS);
	CHECK_EQ(high->q.gpreempt->policy.kept_off, 0);
}

TEST(no_memory_for_groups, "a node that has no memory for groups says so, and divides nothing until it has")
{
	two_programs(true);
	process_of(high)->task.cgroup = world_cgroup(2);
	both_work();
	run(20 * MS);
	shim_fail_alloc = 1;
	CHECK_EQ(set_share(share_of(3, 300)), 0);
	run(MS);
	shim_fail_alloc = 0;
	CHECK_EQ(skipped(GPREEMPT_SKIP_NO_MEMORY), 1);
	run(20 * MS);
	CHECK_WITHIN(part_of(low, high, 2 * SEC), 72, 78);
}

TEST(as_many_groups_as_there_may_be, "the 128th group is refused, and one that is there can be changed and cleared")
{
	struct gpreempt_set_share share = { .target = { .scope = GPREEMPT_SCOPE_ALL }, .weight = 100 };

	two_programs(true);
	for (share.job = 1; share.job < GPREEMPT_GROUPS_MAX; share.job++)
		CHECK_EQ(set_share(share), 0);
	CHECK_EQ(set_share(share), -ENOSPC);
	share.job = 5;
	share.weight = 200;
	CHECK_EQ(set_share(share), 0);
	share = (struct gpreempt_set_share){ .target = share.target, .job = 5, .flags = GPREEMPT_SHARE_CLEAR };
	CHECK_EQ(set_share(share), 0);
	CHECK_EQ(set_share(share_of(3, 100)), 0);
	run(20 * MS);
	CHECK_EQ(list_shares(), GPREEMPT_GROUPS_MAX);
}

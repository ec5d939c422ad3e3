// SPDX-License-Identifier: MIT
/* fits_test.c - reservations: what may be set, what is refused and what the log says of it, and what GPREEMPT_IOC_FITS answers */
#include "core/debt.h"
#include "own_file.h"
#include "rivals.h"

static struct gpreempt_fits_info info;

static struct gpreempt_target process_target(const struct sim_queue *sq)
{
	return (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_PROCESS, .pid = process_of(sq)->pid.nr };
}

static long set_param(const struct sim_queue *sq, u32 which, u64 value, u64 period_us)
{
	struct gpreempt_set_param param = { .target = process_target(sq), .param = which, .value = value, .period_us = period_us };

	shim_log[0] = 0;
	return command(GPREEMPT_IOC_SET_PARAM, &param);
}

static long reserve(const struct sim_queue *sq, u64 runtime_us, u64 period_us)
{
	return set_param(sq, GPREEMPT_PARAM_RUNTIME_US, runtime_us, period_us);
}

static const struct gpreempt_policy_process *policy_of(const struct sim_queue *sq)
{
	return &sq->q.gpreempt->process->policy;
}

/* @sq: in place of what it has; NULL: of another process. Returns whether it fits. */
static bool fits(const struct sim_queue *sq, u64 runtime_us, u64 period_us)
{
	struct gpreempt_fits ask = { .target = { .scope = GPREEMPT_SCOPE_ALL }, .runtime_us = runtime_us, .period_us = period_us,
				     .nodes = (unsigned long)&info, .nr_nodes = 1 };

	if (sq)
		ask.target = process_target(sq);
	CHECK_EQ(command(GPREEMPT_IOC_FITS, &ask), 0);
	CHECK_EQ(ask.nr_nodes, 1);
	CHECK_EQ(info.gpu_id, 1000);
	return info.flags & GPREEMPT_FITS_YES;
}

/* Two programs under edf. No switch was timed yet: one is taken to cost 320 us. */
static void begin(void)
{
	world_on(true);
	open_own_file();
	add_rivals(10, 0);
	set("gpreempt_policy", "edf");
	set("gpreempt_max_hold_ms", "0");
	run(20 * MS);
}

TEST(what_does_not_fit_is_refused, "a runtime that does not fit beside what others have is refused, the log tells what is reserved, what is free and what stays in force, and that does")
{
	begin();
	CHECK_EQ(reserve(low, 89360, 100000), 0);
	run(20 * MS);
	CHECK(policy_of(low)->runtime_ns == 89360 * US && policy_of(low)->deadline_ns == 100 * MS && policy_of(low)->admitted_ns);
	CHECK_EQ(reserve(high, 20000, 100000), -ENOSPC);
	CHECK(strstr(shim_log, "gpu 1000: runtime_us=20000 in period_us=100000 does not fit: 0.90 of the device is reserved, 0.09 is free, it takes 0.21; kept 0"));
	run(20 * MS);
	CHECK(!policy_of(high)->runtime_ns && !policy_of(high)->deadline_ns);
	CHECK_EQ(reserve(high, 9000, 100000), 0);
	CHECK_EQ(reserve(high, 9800, 100000), -ENOSPC);
	CHECK(strstr(shim_log, "kept 9000"));
	/* What is set counts, before the monitor has taken it in. */
	CHECK_EQ(reserve(low, 90100, 100000), -ENOSPC);
	/* In place of what it has */
	CHECK_EQ(reserve(low, 50000, 100000), 0);
	CHECK_EQ(reserve(high, 48000, 100000), 0);
	/* The deadline is the period. */
	CHECK_EQ(set_param(high, GPREEMPT_PARAM_DEADLINE_US, 90000, 0), -ENOSPC);
	CHECK_EQ(set_param(high, GPREEMPT_PARAM_DEADLINE_US, 110000, 0), 0);
	CHECK_EQ(reserve(high, 50000, 0), 0);
	run(20 * MS);
	CHECK(policy_of(high)->runtime_ns == 50 * MS && policy_of(high)->deadline_ns == 110 * MS && policy_of(high)->admitted_ns);
	/* Without a period there is no runtime, without a runtime there is an equal part. */
	CHECK_EQ(set_param(high, GPREEMPT_PARAM_DEADLINE_US, 0, 0), 0);
	CHECK_EQ(reserve(low, 0, 0), 0);
	run(20 * MS);
	CHECK(!policy_of(high)->runtime_ns && !policy_of(high)->deadline_ns);
	CHECK(!policy_of(low)->runtime_ns && !policy_of(low)->admitted_ns && policy_of(low)->deadline_ns == 100 * MS);
}

TEST(what_grew_too_large_may_shrink, "where more is reserved than there is, since switches cost more than they did, one may be made less and none more")
{
	begin();
	CHECK_EQ(reserve(low, 48000, 100000), 0);
	CHECK_EQ(reserve(high, 48000, 100000), 0);
	run(20 * MS);
	node_of(0)->policy.pass_ns = 2 * MS;
	CHECK(!fits(NULL, 1, 1000000));
	CHECK_WITHIN(info.reserved_ppm, 1200000, 1200002);
	CHECK_EQ(info.free_ppm, 0);
	CHECK_EQ(info.nr_waiting, 0);
	CHECK_EQ(reserve(low, 49000, 100000), -ENOSPC);
	CHECK_EQ(reserve(low, 47000, 100000), 0);
	CHECK_EQ(reserve(low, 46000, 99000), -ENOSPC);
	CHECK_EQ(reserve(low, 47000, 120000), 0);
}

TEST(a_newcomer_waits_for_room, "what a process has reserved before it comes to a node it gets there when it fits, and counts as waiting until then")
{
	struct sim_process *newcomer;
	struct gpreempt_set_param param = { .param = GPREEMPT_PARAM_RUNTIME_US, .value = 60000, .period_us = 100000 };
	struct sim_queue *late;

	begin();
	newcomer = add_process(0);
	param.target = (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_PROCESS, .pid = newcomer->pid.nr };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &param), 0);
	CHECK_EQ(reserve(low, 50000, 100000), 0);
	late = add_queue_to(newcomer, 0, NORMAL);
	run(20 * MS);
	CHECK(policy_of(low)->admitted_ns && policy_of(late)->runtime_ns && !policy_of(late)->admitted_ns);
	CHECK(!fits(NULL, 1, 100000));
	CHECK_EQ(info.nr_reservations, 2);
	CHECK_EQ(info.nr_waiting, 1);
	CHECK_EQ(reserve(low, 30000, 100000), 0);
	run(20 * MS);
	CHECK(policy_of(low)->admitted_ns && policy_of(late)->admitted_ns);
	CHECK(!fits(NULL, 1000, 10000));
	CHECK_EQ(info.nr_waiting, 0);
}

TEST(contexts_reserve_nothing, "a program has its runtime on a node once: a context that it makes has none")
{
	begin();
	process_of(high)->p.lead_thread = &process_of(low)->task;
	high->q.gpreempt->process->context = 2;
	CHECK_EQ(reserve(low, 60000, 100000), 0);
	run(20 * MS);
	CHECK(policy_of(low)->runtime_ns && !policy_of(high)->runtime_ns);
	CHECK(fits(NULL, 30000, 100000));
	CHECK_EQ(info.nr_reservations, 1);
}

TEST(fits_answers, "FITS tells what is reserved and free, what another reservation takes and whether it fits, and what a switch costs; asking changes nothing")
{
	begin();
	CHECK(fits(NULL, 0, 0) == false);
	CHECK(!info.flags && !info.need_ppm && !info.reserved_ppm && !info.nr_reservations);
	CHECK_EQ(info.free_ppm, 1000000);
	CHECK_EQ(info.switch_ns, 320 * US);
	CHECK_EQ(info.least_period_us, 6400);
	CHECK_EQ(reserve(low, 59360, 100000), 0);
	CHECK_EQ(info.free_ppm, 1000000);
	CHECK(fits(NULL, 39350, 100000));
	CHECK_WITHIN(info.reserved_ppm, 600000, 600001);
	CHECK_WITHIN(info.free_ppm, 399998, 400000);
	CHECK_WITHIN(info.need_ppm, 399900, 399901);
	CHECK_EQ(info.nr_reservations, 1);
	/* None waits that the monitor has taken in. */
	run(20 * MS);
	CHECK(!fits(NULL, 39370, 100000));
	CHECK_EQ(info.flags, 0);
	CHECK_EQ(info.nr_waiting, 0);
	CHECK(fits(low, 99000, 100000));
	CHECK_EQ(info.flags, GPREEMPT_FITS_YES | GPREEMPT_FITS_HERE);
	CHECK_EQ(info.reserved_ppm, 0);
	CHECK(fits(NULL, 1, 6400));
	CHECK(!fits(NULL, 1, 6399));
	CHECK_EQ(info.flags, GPREEMPT_FITS_SHORT);
	CHECK_EQ(reserve(high, 1, 6399), -ENOSPC);
	CHECK(strstr(shim_log, "period_us=6399 is below 6400, 20 times what a switch costs; kept 0"));
	CHECK_EQ(policy_of(high)->runtime_ns, 0);
}

TEST(fits_checks_its_input, "FITS and a runtime refuse what is out of their bounds, name it in the log, and take a right")
{
	struct gpreempt_fits ask = { .target = { .scope = GPREEMPT_SCOPE_ALL } };
	struct gpreempt_set_param param;

	begin();
	CHECK_EQ(reserve(low, 5000, 0), -EINVAL);
	CHECK(strstr(shim_log, "runtime_us=5000 has no period: deadline_us is 0; kept 0"));
	CHECK_EQ(reserve(low, 10001, 10000), -ERANGE);
	CHECK(strstr(shim_log, "runtime_us=10001 is above period_us=10000; kept 0"));
	CHECK_EQ(reserve(low, 3600000001, 0), -ERANGE);
	CHECK_EQ(reserve(low, 1, 3600000001), -ERANGE);
	CHECK_EQ(reserve(low, 0, 10000), -EINVAL);
	CHECK_EQ(set_param(low, GPREEMPT_PARAM_DEADLINE_US, 5, 5), -EINVAL);
	param = (struct gpreempt_set_param){ .target = { .scope = GPREEMPT_SCOPE_QUEUE, .pid = process_of(low)->pid.nr, .gpu_id = 1000,
							 .queue_id = low->q.properties.queue_id },
					     .param = GPREEMPT_PARAM_RUNTIME_US, .value = 1, .period_us = 10000 };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &param), -EINVAL);
	param = (struct gpreempt_set_param){ .target = process_target(low), .param = GPREEMPT_PARAM_RUNTIME_US, .reserved = { 1 } };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &param), -EINVAL);

	ask.runtime_us = 1;
	CHECK_EQ(command(GPREEMPT_IOC_FITS, &ask), -EINVAL);
	ask.period_us = 3600000001;
	CHECK_EQ(command(GPREEMPT_IOC_FITS, &ask), -ERANGE);
	ask.period_us = 3600000000;
	CHECK_EQ(command(GPREEMPT_IOC_FITS, &ask), 0);
	CHECK_EQ(ask.nr_nodes, 1);
	ask.runtime_us = 3600000001;
	CHECK_EQ(command(GPREEMPT_IOC_FITS, &ask), -ERANGE);
	ask.runtime_us = 0;
	CHECK_EQ(command(GPREEMPT_IOC_FITS, &ask), -EINVAL);
	ask.period_us = 0;
	ask.flags = 1;
	CHECK_EQ(command(GPREEMPT_IOC_FITS, &ask), -EINVAL);
	ask.flags = 0;
	ask.reserved[1] = 1;
	CHECK_EQ(command(GPREEMPT_IOC_FITS, &ask), -EINVAL);
	ask.reserved[1] = 0;
	ask.nr_nodes = 1;
	ask.nodes = 8;
	CHECK_EQ(command(GPREEMPT_IOC_FITS, &ask), -EFAULT);
	shim_fail_alloc = 1;
	CHECK_EQ(command(GPREEMPT_IOC_FITS, &ask), -ENOMEM);
	shim_fail_alloc = 0;
	ask.target = (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 2 };
	CHECK_EQ(command(GPREEMPT_IOC_FITS, &ask), -EINVAL);
	ask.target = process_target(low);
	ask.target.gpu_id = 1000;
	CHECK_EQ(command(GPREEMPT_IOC_FITS, &ask), -EINVAL);
	ask.target = (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_PROCESS, .pid = 4242 };
	CHECK_EQ(command(GPREEMPT_IOC_FITS, &ask), -ESRCH);
	current->caps = CAP_SYS_ADMIN;
	CHECK_EQ(reserve(low, 1000, 10000), -EPERM);
	ask = (struct gpreempt_fits){ .target = { .scope = GPREEMPT_SCOPE_ALL } };
	CHECK_EQ(command(GPREEMPT_IOC_FITS, &ask), -EPERM);
}

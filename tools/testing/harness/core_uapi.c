// SPDX-License-Identifier: MIT
/*
 * core_uapi.c - tunables and commands, each with what it may be given and what comes of it
 */
#include <limits.h>

#include "world.h"
#include "tap.h"

/* ---- tunables ---- */

static const struct {
	const char *name;
	const char *good[4];
	const char *bad[6];
} tunables[] = {
	{ "gpreempt_interval_ms", { "1", "10000", "0x10\n", "+7" }, { "0", "10001", "", "five", "-1", "4294967296" } },
	{ "gpreempt_poll_us", { "0", "50", "1000000" }, { "49", "1000001", "1 2" } },
	{ "gpreempt_max_hold_ms", { "0", "1", "3600000" }, { "3600001" } },
	{ "gpreempt_relief_ms", { "1", "10000" }, { "0", "10001" } },
	{ "gpreempt_blocked_us", { "0", "100", "10000000" }, { "99", "10000001" } },
	{ "gpreempt_overhead_pct", { "0", "1", "50" }, { "51" } },
	{ "gpreempt_aging_ms", { "0", "1", "3600000" }, { "3600001" } },
	{ "gpreempt_min_run_us", { "0", "10", "1000000" }, { "9", "1000001" } },
	{ "gpreempt_resume_delay_us", { "0", "10", "1000000" }, { "9", "1000001" } },
	{ "gpreempt_slice_us", { "500", "1000000" }, { "0", "499", "1000001" } },
	{ "gpreempt_nice", { "0", "1", "Y\n", "off" }, { "2", "maybe", "" } },
	{ "gpreempt_trust_kfd_priority", { "1", "0" }, { "x" } },
	{ "gpreempt_verify", { "1", "0" }, { "x" } },
	{ "gpreempt_hw_priority", { "follow", "normal\n" }, { "", "Normal", "normally" } },
	{ "gpreempt_wakeup", { "doorbell", "poll\n" }, { "", "Poll", "doorbells" } },
	{ "gpreempt_policy", { "wfq", "edf\n", "hpf" }, { "", "fifo", "hpf " } },
	{ "gpreempt_enable", { "0", "1", "N", "Y" }, { "2", "" } },
};

TEST(tunables_have_bounds, "each parameter takes what is within its bounds, refuses what is not, says so, and keeps what it had")
{
	char before[64], after[64];
	u32 i, k;

	world_on(true);
	for (i = 0; i < ARRAY_SIZE(tunables); i++) {
		for (k = 0; k < ARRAY_SIZE(tunables[i].good) && tunables[i].good[k]; k++) {
			snprintf(tap_case, sizeof(tap_case), "%s=%.10s: ", tunables[i].name, tunables[i].good[k]);
			CHECK_EQ(shim_param_set(tunables[i].name, tunables[i].good[k]), 0);
			CHECK(shim_param_get(tunables[i].name, after) > 1);
			CHECK_EQ(shim_param_set(tunables[i].name, after), 0);
		}
		for (k = 0; k < ARRAY_SIZE(tunables[i].bad) && tunables[i].bad[k]; k++) {
			snprintf(tap_case, sizeof(tap_case), "%s=%.10s: ", tunables[i].name, tunables[i].bad[k]);
			shim_param_get(tunables[i].name, before);
			shim_log[0] = 0;
			CHECK_EQ(shim_param_set(tunables[i].name, tunables[i].bad[k]), -EINVAL);
			CHECK(strstr(shim_log, "; kept ") != NULL);
			shim_param_get(tunables[i].name, after);
			CHECK(!strcmp(before, after));
		}
	}
	CHECK_EQ(shim_param_set("gpreempt_nice", NULL), 0);
	CHECK_EQ(shim_param_set("gpreempt_enable", NULL), 0);
	world_end();
}

TEST(bad_parameters_do_not_cost_the_driver, "while the module loads a bad value is told, not refused")
{
	CHECK_EQ(shim_param_set("gpreempt_interval_ms", "0"), 0);
	CHECK_EQ(shim_param_set("gpreempt_policy", "none"), 0);
	CHECK_EQ(shim_param_set("gpreempt_enable", "perhaps"), 0);
	CHECK(strstr(shim_log, "below 1; kept 5") != NULL);
	CHECK_EQ(shim_param_set("gpreempt_enable", "1"), 0);
	world_make(true, 1, 1);
	CHECK(gpreempt_core_enabled(0));
	world_end();
}

TEST(nodes_have_values_of_their_own, "a node's file is for this node until the parameter is written; default takes that one's over")
{
	struct gpreempt_node *a, *b;
	char text[64];
	bool on;

	world_make(true, 1, 2);
	CHECK_EQ(shim_param_set("gpreempt_enable", "1"), 0);
	a = node_of(0);
	b = node_of(1);
	CHECK_EQ(gpreempt_params_store(a, GPREEMPT_TUNABLE_INTERVAL_MS, "9\n"), 0);
	CHECK_EQ(gpreempt_params_store(a, GPREEMPT_TUNABLE_INTERVAL_MS, "0\n"), -EINVAL);
	CHECK(gpreempt_params_show(a, GPREEMPT_TUNABLE_INTERVAL_MS, text) == 2 && !strcmp(text, "9\n"));
	CHECK(gpreempt_params_show(b, GPREEMPT_TUNABLE_INTERVAL_MS, text) == 2 && !strcmp(text, "5\n"));
	CHECK_EQ(gpreempt_params_store(a, GPREEMPT_TUNABLE_INTERVAL_MS, "default\n"), 0);
	CHECK_EQ(a->tuned[GPREEMPT_TUNABLE_INTERVAL_MS], 5);
	CHECK_EQ(gpreempt_params_store(a, GPREEMPT_TUNABLE_INTERVAL_MS, "9\n"), 0);
	CHECK_EQ(shim_param_set("gpreempt_interval_ms", "7"), 0);
	CHECK_EQ(a->tuned[GPREEMPT_TUNABLE_INTERVAL_MS], 7);
	CHECK_EQ(b->tuned[GPREEMPT_TUNABLE_INTERVAL_MS], 7);
	run(20 * MS);
	CHECK_EQ(a->tun.params.interval_ns, 7 * MS);

	CHECK_EQ(gpreempt_params_store(a, GPREEMPT_TUNABLE_HW_PRIORITY, "follow"), 0);
	gpreempt_params_show(a, GPREEMPT_TUNABLE_HW_PRIORITY, text);
	CHECK(!strcmp(text, "follow\n"));
	CHECK_EQ(gpreempt_params_store_policy(a, "edf\n"), 0);
	CHECK_EQ(gpreempt_params_store_policy(a, "edit\n"), -EINVAL);
	CHECK(!strcmp(a->policy_wanted->name, "edf"));
	CHECK(!strcmp(b->policy_wanted->name, "hpf"));
	CHECK_EQ(gpreempt_params_store_policy(a, "default\n"), 0);
	CHECK(!strcmp(a->policy_wanted->name, "hpf"));
	CHECK_EQ(shim_param_set("gpreempt_policy", "wfq"), 0);
	CHECK(!strcmp(a->policy_wanted->name, "wfq") && !strcmp(b->policy_wanted->name, "wfq"));
	shim_param_get("gpreempt_policy", text);
	CHECK(!strcmp(text, "wfq\n"));

	CHECK_EQ(gpreempt_params_parse_switch("0\n", true, &on), 0);
	CHECK(!on);
	CHECK_EQ(gpreempt_params_parse_switch("default\n", true, &on), 0);
	CHECK(on);
	CHECK_EQ(gpreempt_params_parse_switch("2\n", true, &on), -EINVAL);
	world_end();
}

/* ---- commands ---- */

static const struct cred own_cred;
static struct file file, other;
static struct sim_queue *low, *high;

static void open_file(struct file *f)
{
	*f = (struct file){ .f_flags = O_NONBLOCK, .f_cred = &own_cred, .opener_is_admin = capable(CAP_SYS_ADMIN) };
	CHECK_EQ(shim_miscdevice->fops->open(NULL, f), 0);
}

static void close_file(struct file *f)
{
	CHECK_EQ(shim_miscdevice->fops->release(NULL, f), 0);
}

static long command(unsigned int cmd, void *argument)
{
	return shim_miscdevice->fops->unlocked_ioctl(&file, cmd, (unsigned long)argument);
}

static void begin(void)
{
	world_on(true);
	low = add_queue(10);
	high = add_queue(0);
	low->kernel_ns = high->kernel_ns = MS;
	run(20 * MS);
	open_file(&file);
}

static void end(void)
{
	close_file(&file);
	world_end();
}

static struct gpreempt_target queue_target(const struct sim_queue *sq)
{
	return (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_QUEUE, .pid = process_of(sq)->pid.nr, .gpu_id = 1000,
					 .queue_id = sq->q.properties.queue_id };
}

static struct gpreempt_target process_target(const struct sim_queue *sq)
{
	return (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_PROCESS, .pid = process_of(sq)->pid.nr };
}

static const struct gpreempt_target everything = { .scope = GPREEMPT_SCOPE_ALL };

static u32 nr_listed(struct gpreempt_target target)
{
	struct gpreempt_queue_info infos[4];
	struct gpreempt_list list = { .target = target, .nr_queues = 4, .queues = (unsigned long)infos };

	memset(infos, 0, sizeof(infos));
	return command(GPREEMPT_IOC_LIST, &list) ? ~0U : list.nr_queues;
}

TEST(targets_are_checked, "what a scope does not use has to be 0, what it names has to be there and the caller's")
{
	const struct {
		struct gpreempt_target target;
		long error;
	} cases[] = {
		{ { .scope = 77 }, -EINVAL },
		{ { .scope = GPREEMPT_SCOPE_ALL, .pid = 100 }, -EINVAL },
		{ { .scope = GPREEMPT_SCOPE_ALL, .cgroup_fd = 1 }, -EINVAL },
		{ { .scope = GPREEMPT_SCOPE_ALL, .queue_id = 1 }, -EINVAL },
		{ { .scope = GPREEMPT_SCOPE_PROCESS, .pid = -1 }, -EINVAL },
		{ { .scope = GPREEMPT_SCOPE_PROCESS, .pid = 4711 }, -ESRCH },
		{ { .scope = GPREEMPT_SCOPE_PROCESS, .pid = 100, .queue_id = 1 }, -EINVAL },
		{ { .scope = GPREEMPT_SCOPE_PROCESS, .pid = 100, .gpu_id = 5 }, -ENODEV },
		{ { .scope = GPREEMPT_SCOPE_QUEUE, .pid = 100 }, -EINVAL },
		{ { .scope = GPREEMPT_SCOPE_QUEUE, .pid = 100, .gpu_id = 1000, .queue_id = 9 }, -ENOENT },
		{ { .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 99 }, -EBADF },
		{ { .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 1, .pid = 3 }, -EINVAL },
	};
	struct gpreempt_list list;
	u32 i;

	begin();
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(tap_case, sizeof(tap_case), "case %u: ", i);
		list = (struct gpreempt_list){ .target = cases[i].target };
		CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), cases[i].error);
	}
	CHECK_EQ(nr_listed(everything), 2);
	CHECK_EQ(nr_listed(queue_target(low)), 1);
	CHECK_EQ(nr_listed(process_target(low)), 1);
	CHECK_EQ(nr_listed((struct gpreempt_target){ .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 1 }), 2);
	CHECK_EQ(nr_listed((struct gpreempt_target){ .scope = GPREEMPT_SCOPE_PROCESS }), 0);
	/* Other users' do not exist for who may not see them, and cannot be named. */
	current->caps = 0;
	current->euid.val = 5;
	CHECK_EQ(nr_listed(everything), 0);
	CHECK_EQ(nr_listed((struct gpreempt_target){ .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 1 }), 0);
	list = (struct gpreempt_list){ .target = process_target(low) };
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), -EACCES);
	process_of(low)->task.euid.val = 5;
	CHECK_EQ(nr_listed(everything), 1);
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
	end();
}

TEST(commands_are_checked, "unknown commands, flags, reserved members and values are refused, and so are pointers that are none")
{
	struct gpreempt_priority priority;
	struct gpreempt_set_param param;
	struct gpreempt_info info;
	struct gpreempt_list list;
	struct gpreempt_hold hold;
	struct gpreempt_hint hint;

	begin();
	CHECK_EQ(command(GPREEMPT_IOC_INFO ^ 0x40, &info), -ENOTTY);
	CHECK_EQ(command(GPREEMPT_IOC_INFO, (void *)8), -EFAULT);
	info = (struct gpreempt_info){ .flags = 1 };
	CHECK_EQ(command(GPREEMPT_IOC_INFO, &info), -EINVAL);
	info = (struct gpreempt_info){ .abi_version = 1 };
	CHECK_EQ(command(GPREEMPT_IOC_INFO, &info), -EINVAL);
	info = (struct gpreempt_info){ .nr_nodes = 4 };
	CHECK_EQ(command(GPREEMPT_IOC_INFO, &info), -EFAULT);
	list = (struct gpreempt_list){ .target = everything, .flags = 1 };
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), -EINVAL);
	list = (struct gpreempt_list){ .target = everything, .nr_queues = 5 };
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), -EFAULT);
	priority = (struct gpreempt_priority){ .target = process_target(low), .flags = 2 };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PRIORITY, &priority), -EINVAL);
	priority = (struct gpreempt_priority){ .target = process_target(low), .flags = GPREEMPT_PRIORITY_CLEAR, .priority = 1 };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PRIORITY, &priority), -EINVAL);
	priority = (struct gpreempt_priority){ .target = process_target(low), .priority = 1024 };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PRIORITY, &priority), -ERANGE);
	priority.priority = -1024;
	CHECK_EQ(command(GPREEMPT_IOC_SET_PRIORITY, &priority), -ERANGE);
	priority = (struct gpreempt_priority){ .target = everything };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PRIORITY, &priority), -EINVAL);
	priority = (struct gpreempt_priority){ .target = process_target(low) };
	priority.target.gpu_id = 1000;
	CHECK_EQ(command(GPREEMPT_IOC_SET_PRIORITY, &priority), -EINVAL);
	priority = (struct gpreempt_priority){ .target = queue_target(low) };
	priority.target.queue_id = 44;
	CHECK_EQ(command(GPREEMPT_IOC_SET_PRIORITY, &priority), -ENOENT);
	param = (struct gpreempt_set_param){ .target = process_target(low), .param = 99 };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &param), -EINVAL);
	param = (struct gpreempt_set_param){ .target = process_target(low), .param = GPREEMPT_PARAM_WEIGHT, .value = 10001 };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &param), -ERANGE);
	param = (struct gpreempt_set_param){ .target = process_target(low), .param = GPREEMPT_PARAM_DEADLINE_US, .value = 3600000001ULL };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &param), -ERANGE);
	param = (struct gpreempt_set_param){ .target = process_target(low), .param = GPREEMPT_PARAM_EXEMPT, .value = 2 };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &param), -ERANGE);
	param = (struct gpreempt_set_param){ .target = queue_target(low), .param = GPREEMPT_PARAM_EXEMPT, .value = 1 };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &param), -EINVAL);
	param = (struct gpreempt_set_param){ .target = { .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 2 }, .param = GPREEMPT_PARAM_WEIGHT, .value = 3 };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &param), -EINVAL);
	param = (struct gpreempt_set_param){ .target = process_target(low), .param = GPREEMPT_PARAM_WEIGHT, .flags = 1 };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &param), -EINVAL);
	hold = (struct gpreempt_hold){ .target = everything };
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), -EINVAL);
	hold = (struct gpreempt_hold){ .target = queue_target(low), .nr_queues = 1 };
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), -EINVAL);
	hold = (struct gpreempt_hold){ .target = queue_target(low), .flags = 0x80 };
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), -EINVAL);
	CHECK_EQ(command(GPREEMPT_IOC_RESUME, &hold), -EINVAL);
	hold = (struct gpreempt_hold){ .target = queue_target(low), .timeout_ms = 1 };
	CHECK_EQ(command(GPREEMPT_IOC_RESUME, &hold), -EINVAL);
	hint = (struct gpreempt_hint){ .target = process_target(low) };
	CHECK_EQ(command(GPREEMPT_IOC_HINT, &hint), -ERANGE);
	hint.within_us = 1000001;
	CHECK_EQ(command(GPREEMPT_IOC_HINT, &hint), -ERANGE);
	hint = (struct gpreempt_hint){ .target = everything, .within_us = 5 };
	CHECK_EQ(command(GPREEMPT_IOC_HINT, &hint), -EINVAL);
	hint = (struct gpreempt_hint){ .target = process_target(low), .within_us = 5, .flags = 1 };
	CHECK_EQ(command(GPREEMPT_IOC_HINT, &hint), -EINVAL);
	end();
}

TEST(info_and_list_tell, "INFO tells nodes and features, LIST tells queues")
{
	struct gpreempt_queue_info infos[2] = { 0 };
	struct gpreempt_list list;
	struct gpreempt_node_info nodes[2] = { 0 };
	struct gpreempt_info info = { .nr_nodes = 2, .nodes = (unsigned long)nodes };

	begin();
	CHECK_EQ(command(GPREEMPT_IOC_INFO, &info), 0);
	CHECK_EQ(info.abi_version, GPREEMPT_ABI_VERSION);
	CHECK_EQ(info.nr_nodes, 1);
	CHECK_EQ(info.event_size, sizeof(struct gpreempt_event));
	CHECK_EQ(nodes[0].gpu_id, 1000);
	CHECK_EQ(nodes[0].nr_queues, 2);
	CHECK(!strcmp(nodes[0].backend, "hws") && !strcmp(nodes[0].policy, "hpf"));
	submit(low, 50);
	submit(high, 50);
	run(10 * MS);
	list = (struct gpreempt_list){ .target = everything, .nr_queues = 2, .queues = (unsigned long)infos };
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), 0);
	CHECK_EQ(list.nr_queues, 2);
	CHECK_EQ(infos[0].pid, 100);
	CHECK_EQ(infos[0].state, GPREEMPT_QUEUE_PREEMPTED);
	CHECK_EQ(infos[0].logical_priority, -3);
	CHECK_EQ(infos[0].source, GPREEMPT_SOURCE_KFD);
	CHECK_EQ(infos[0].preempt_count, 1);
	CHECK(infos[0].preempted_us > 0);
	CHECK_EQ(infos[1].state, GPREEMPT_QUEUE_ACTIVE);
	CHECK(infos[1].pending > 0);
	end();
}

static long set_priority(struct gpreempt_target target, s32 value, u32 flags)
{
	struct gpreempt_priority priority = { .target = target, .priority = value, .flags = flags };

	return command(GPREEMPT_IOC_SET_PRIORITY, &priority);
}

static s32 priority_of(const struct sim_queue *sq)
{
	run(6 * MS);
	return sq->q.gpreempt->policy.priority;
}

TEST(priorities_from_outside, "a queue's setting outranks its process's, that one its cgroup's; what the privileged set is not got around")
{
	const struct gpreempt_target cgroup = { .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 2 };

	begin();
	CHECK_EQ(set_priority(cgroup, 3, 0), 0);
	CHECK_EQ(priority_of(low), 3);
	CHECK_EQ(low->q.gpreempt->source, GPREEMPT_SOURCE_CGROUP);
	CHECK_EQ(set_priority(process_target(low), 5, 0), 0);
	CHECK_EQ(priority_of(low), 5);
	CHECK_EQ(low->q.gpreempt->source, GPREEMPT_SOURCE_PROCESS);
	CHECK_EQ(set_priority(queue_target(low), 9, 0), 0);
	CHECK_EQ(priority_of(low), 9);
	CHECK_EQ(low->q.gpreempt->source, GPREEMPT_SOURCE_QUEUE);
	CHECK_EQ(priority_of(high), 3);

	current->caps = 0;
	CHECK_EQ(set_priority(queue_target(low), 8, 0), -EPERM);
	CHECK_EQ(set_priority(queue_target(low), 1, 0), -EPERM);
	CHECK_EQ(set_priority(process_target(low), 1, 0), -EPERM);
	CHECK_EQ(set_priority(cgroup, 1, 0), -EPERM);
	CHECK_EQ(set_priority(queue_target(high), 7, 0), 0);
	CHECK_EQ(priority_of(high), 3);
	CHECK_EQ(set_priority(queue_target(high), -5, 0), 0);
	CHECK_EQ(priority_of(high), -5);
	CHECK_EQ(set_priority(queue_target(high), 0, GPREEMPT_PRIORITY_CLEAR), 0);
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;

	CHECK_EQ(set_priority(queue_target(low), 0, GPREEMPT_PRIORITY_CLEAR), 0);
	CHECK_EQ(priority_of(low), 5);
	CHECK_EQ(set_priority(process_target(low), 0, GPREEMPT_PRIORITY_CLEAR), 0);
	CHECK_EQ(priority_of(low), 3);
	CHECK_EQ(set_priority(cgroup, 0, GPREEMPT_PRIORITY_CLEAR), 0);
	CHECK_EQ(priority_of(low), -3);
	/* What belongs to those who are gone is dropped. */
	CHECK_EQ(set_priority(process_target(high), 1, 0), 0);
	CHECK_EQ(process_of(high)->pid.references, 2);
	kill_process(process_of(high));
	CHECK_EQ(set_priority(process_target(low), 1, 0), 0);
	run(MS);
	CHECK_EQ(process_of(high)->pid.references, 1);
	end();
}

TEST(parameters_from_outside, "weights, deadlines and exemptions reach the policy, of a queue or of its process; they take a right")
{
	struct gpreempt_set_param param;

	begin();
	param = (struct gpreempt_set_param){ .target = process_target(low), .param = GPREEMPT_PARAM_WEIGHT, .value = 300 };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &param), 0);
	param = (struct gpreempt_set_param){ .target = process_target(low), .param = GPREEMPT_PARAM_DEADLINE_US, .value = 500 };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &param), 0);
	param = (struct gpreempt_set_param){ .target = process_target(low), .param = GPREEMPT_PARAM_EXEMPT, .value = 1 };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &param), 0);
	param = (struct gpreempt_set_param){ .target = queue_target(high), .param = GPREEMPT_PARAM_WEIGHT, .value = 7 };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &param), 0);
	current->caps = CAP_SYS_ADMIN;
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &param), -EPERM);
	current->caps |= CAP_SYS_NICE;
	run(6 * MS);
	CHECK_EQ(low->q.gpreempt->process->policy.weight, 300);
	CHECK_EQ(low->q.gpreempt->process->policy.deadline_ns, 500 * US);
	CHECK(low->q.gpreempt->process->policy.opt_out);
	CHECK_EQ(high->q.gpreempt->policy.weight, 7);
	submit(low, 20);
	submit(high, 20);
	run(10 * MS);
	CHECK(!preempted(low));
	end();
}

TEST(holds, "a held queue is off the device until everybody who holds it lets it go, or his file is closed")
{
	struct gpreempt_hold hold;

	begin();
	submit(low, 200);
	run(MS);
	hold = (struct gpreempt_hold){ .target = queue_target(low), .timeout_ms = 100 };
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), 0);
	CHECK_EQ(hold.nr_queues, 1);
	CHECK(preempted(low));
	open_file(&other);
	hold = (struct gpreempt_hold){ .target = process_target(low), .flags = GPREEMPT_HOLD_UNBOUNDED };
	CHECK_EQ(shim_miscdevice->fops->unlocked_ioctl(&other, GPREEMPT_IOC_PREEMPT, (unsigned long)&hold), 0);
	CHECK(low->q.gpreempt->held_unbounded);
	hold = (struct gpreempt_hold){ .target = queue_target(low) };
	CHECK_EQ(command(GPREEMPT_IOC_RESUME, &hold), 0);
	CHECK_EQ(hold.nr_queues, 1);
	run(10 * MS);
	CHECK(preempted(low));
	close_file(&other);
	run(10 * MS);
	CHECK(!preempted(low));

	/* Somebody without rights ends neither what others hold nor asks for what lasts. */
	hold = (struct gpreempt_hold){ .target = queue_target(low) };
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), 0);
	current->caps = 0;
	open_file(&other);
	hold = (struct gpreempt_hold){ .target = queue_target(low), .flags = GPREEMPT_HOLD_EVERYBODYS };
	CHECK_EQ(shim_miscdevice->fops->unlocked_ioctl(&other, GPREEMPT_IOC_RESUME, (unsigned long)&hold), -EPERM);
	hold = (struct gpreempt_hold){ .target = queue_target(low), .flags = GPREEMPT_HOLD_UNBOUNDED };
	CHECK_EQ(shim_miscdevice->fops->unlocked_ioctl(&other, GPREEMPT_IOC_PREEMPT, (unsigned long)&hold), -EPERM);
	close_file(&other);
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
	hold = (struct gpreempt_hold){ .target = queue_target(low), .flags = GPREEMPT_HOLD_EVERYBODYS };
	CHECK_EQ(command(GPREEMPT_IOC_RESUME, &hold), 0);
	CHECK_EQ(hold.nr_queues, 1);

	/* What the driver does not let go cannot be held; what nobody schedules neither. */
	debug_process(process_of(low), true);
	hold = (struct gpreempt_hold){ .target = queue_target(low) };
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), -EBUSY);
	debug_process(process_of(low), false);
	suspend();
	hold = (struct gpreempt_hold){ .target = queue_target(low) };
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), -EIO);
	resume();
	shim_fail_alloc = 1;
	hold = (struct gpreempt_hold){ .target = queue_target(low) };
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), -ENOMEM);
	shim_fail_alloc = 0;
	hold = (struct gpreempt_hold){ .target = { .scope = GPREEMPT_SCOPE_PROCESS } };
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), -ENOENT);
	CHECK_EQ(shim_param_set("gpreempt_enable", "0"), 0);
	hold = (struct gpreempt_hold){ .target = process_target(low) };
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), -EOPNOTSUPP);
	CHECK_EQ(shim_param_set("gpreempt_enable", "1"), 0);
	end();
}

static int destroy_low(void *unused)
{
	fsleep(20000);
	destroy_queue(low);
	return 0;
}

TEST(a_held_queue_goes, "whoever waits for a queue to leave is told when it goes instead, and nothing is left of his hold")
{
	struct gpreempt_hold hold;
	struct task_struct *task;
	u64 began_ns;

	begin();
	submit(low, 200);
	run(MS);
	hold = (struct gpreempt_hold){ .target = queue_target(low), .timeout_ms = 100 };
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), 0);
	destroy_queue(low);
	close_file(&file);

	/* One that cannot be carried out before. */
	open_file(&file);
	low = add_queue(10);
	run(10 * MS);
	world.nodes[0].error = -EIO;
	hold = (struct gpreempt_hold){ .target = queue_target(low), .timeout_ms = 5000 };
	task = kthread_create(destroy_low, NULL, "destroyer");
	wake_up_process(task);
	began_ns = ktime_get_ns();
	command(GPREEMPT_IOC_PREEMPT, &hold);
	CHECK(ktime_get_ns() - began_ns < SEC);
	kthread_stop(task);
	world.nodes[0].error = 0;
	evict_queue(high, true);
	evict_queue(high, false);
	end();
}

TEST(a_hold_times_out, "a hold that is not carried out in time says so, and stays")
{
	struct gpreempt_hold hold;

	begin();
	submit(low, 50);
	run(MS);
	hold = (struct gpreempt_hold){ .target = queue_target(low), .timeout_ms = 5 };
	dqm_lock(&world.nodes[0].dqm);
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), -ETIME);
	dqm_unlock(&world.nodes[0].dqm);
	run(10 * MS);
	CHECK(preempted(low));
	/* The queue goes, and its holds with it. */
	destroy_queue(low);
	end();
}

TEST(own_holds, "a program preempts and resumes its own queues through /dev/kfd")
{
	struct kfd_ioctl_preempt_queue_args args;
	struct kfd_ioctl_resume_queue_args back;
	struct task_struct *self = current;

	begin();
	submit(low, 50);
	run(MS);
	CHECK(kfd_gpreempt_owns_ioctl(AMDKFD_IOC_PREEMPT_QUEUE) && kfd_gpreempt_owns_ioctl(AMDKFD_IOC_RESUME_QUEUE));
	CHECK(!kfd_gpreempt_owns_ioctl(AMDKFD_IOC_RESUME_QUEUE + 1));
	args = (struct kfd_ioctl_preempt_queue_args){ .queue_id = 0, .preempt_type = 2, .timeout_ms = 100 };
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(low)->p, AMDKFD_IOC_PREEMPT_QUEUE, (unsigned long)&args), -EBADF);
	self->group_leader = &process_of(low)->task;
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(low)->p, AMDKFD_IOC_PREEMPT_QUEUE, (unsigned long)&args), 0);
	CHECK(preempted(low));
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(low)->p, AMDKFD_IOC_PREEMPT_QUEUE, 8), -EFAULT);
	args.preempt_type = 1;
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(low)->p, AMDKFD_IOC_PREEMPT_QUEUE, (unsigned long)&args), -EOPNOTSUPP);
	args.preempt_type = 3;
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(low)->p, AMDKFD_IOC_PREEMPT_QUEUE, (unsigned long)&args), -EINVAL);
	back = (struct kfd_ioctl_resume_queue_args){ .queue_id = 0, .pad = 1 };
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(low)->p, AMDKFD_IOC_RESUME_QUEUE, (unsigned long)&back), -EINVAL);
	back.pad = 0;
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(low)->p, AMDKFD_IOC_RESUME_QUEUE, (unsigned long)&back), 0);
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(low)->p, AMDKFD_IOC_RESUME_QUEUE, 8), -EFAULT);
	self->group_leader = self;
	run(10 * MS);
	CHECK(!preempted(low));
	end();
}

static bool hints_are(s64 all, s64 used, s64 expired)
{
	struct gpreempt_stats *stats = &node_of(0)->stats;

	return atomic64_read(&stats->hints) == all && atomic64_read(&stats->hints_used) == used &&
	       atomic64_read(&stats->hints_expired) == expired;
}

TEST(hints, "announced work keeps others off before it comes, for as long as was said")
{
	struct gpreempt_hint hint;

	begin();
	submit(low, 100);
	run(MS);
	hint = (struct gpreempt_hint){ .target = process_target(high), .within_us = 20000 };
	CHECK_EQ(command(GPREEMPT_IOC_HINT, &hint), 0);
	run(5 * MS);
	CHECK(preempted(low));
	CHECK(hints_are(1, 0, 0));
	run(25 * MS);
	CHECK(!preempted(low));
	CHECK(hints_are(1, 0, 1));
	/* It comes while the next one is open, and the device is its own. */
	hint.target = queue_target(high);
	CHECK_EQ(command(GPREEMPT_IOC_HINT, &hint), 0);
	run(5 * MS);
	submit(high, 1);
	CHECK(run_until_idle(high, 100 * MS));
	CHECK(hints_are(2, 1, 1));
	run(50 * MS);
	CHECK(hints_are(2, 1, 1));
	/* One that follows another takes its place. */
	CHECK_EQ(command(GPREEMPT_IOC_HINT, &hint), 0);
	run(5 * MS);
	CHECK_EQ(command(GPREEMPT_IOC_HINT, &hint), 0);
	run(50 * MS);
	CHECK(hints_are(4, 1, 2));
	hint.target.queue_id = 33;
	CHECK_EQ(command(GPREEMPT_IOC_HINT, &hint), -ENOENT);
	CHECK_EQ(shim_param_set("gpreempt_enable", "0"), 0);
	hint = (struct gpreempt_hint){ .target = process_target(high), .within_us = 20000 };
	CHECK_EQ(command(GPREEMPT_IOC_HINT, &hint), -EOPNOTSUPP);
	CHECK_EQ(shim_param_set("gpreempt_enable", "1"), 0);
	end();
}

TEST(events, "who listens hears what happens to what he may see; who is slow is told how many he missed")
{
	const struct file_operations *fops;
	struct gpreempt_event got[64];
	bool seen[64] = { 0 };
	struct gpreempt_hold hold;
	ssize_t n;
	u32 i;

	begin();
	fops = shim_miscdevice->fops;
	CHECK_EQ(fops->read(&file, (char *)got, 8, NULL), -EINVAL);
	CHECK_EQ(fops->read(&file, (char *)got, sizeof(got), NULL), -EAGAIN);
	CHECK_EQ(fops->poll(&file, NULL), 0);
	submit(low, 200);
	run(MS);
	submit(high, 20);
	run(50 * MS);
	CHECK_EQ(fops->poll(&file, NULL), EPOLLIN | EPOLLRDNORM);
	n = fops->read(&file, (char *)got, sizeof(got), NULL);
	CHECK(n > 0 && n % sizeof(got[0]) == 0);
	for (i = 0; i < n / sizeof(got[0]); i++) {
		CHECK(got[i].type < 64 && got[i].gpu_id == 1000);
		seen[got[i].type] = true;
	}
	CHECK(seen[GPREEMPT_EVENT_INVERSION] && seen[GPREEMPT_EVENT_PREEMPTED] && seen[GPREEMPT_EVENT_RESUMED]);
	CHECK_EQ(fops->read(&file, (char *)got, sizeof(got), NULL), -EAGAIN);
	/* Blocking: the event is there before the wait, or wakes it. */
	file.f_flags = 0;
	hold = (struct gpreempt_hold){ .target = queue_target(low) };
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), 0);
	CHECK(fops->read(&file, (char *)got, sizeof(got[0]), NULL) == sizeof(got[0]));
	CHECK_EQ(got[0].type, GPREEMPT_EVENT_PREEMPTED);
	CHECK_EQ(got[0].pid, 100);
	file.f_flags = O_NONBLOCK;
	CHECK_EQ(set_priority(process_target(high), 2, 0), 0);
	CHECK_EQ(fops->read(&file, (char *)8, sizeof(got), NULL), -EAGAIN);
	run(10 * MS);
	CHECK_EQ(fops->read(&file, (char *)8, sizeof(got), NULL), -EFAULT);
	/* More than fit. */
	for (i = 0; i < 1100; i++)
		gpreempt_event(node_of(0), NULL, GPREEMPT_EVENT_FAILED, i);
	while ((n = fops->read(&file, (char *)got, sizeof(got), NULL)) > 0)
		CHECK_EQ(got[0].missed, 0);
	gpreempt_event(node_of(0), NULL, GPREEMPT_EVENT_FAILED, 0);
	CHECK_EQ(fops->read(&file, (char *)got, sizeof(got), NULL), sizeof(got[0]));
	CHECK(got[0].missed >= 76);
	end();
}

TEST(listeners_are_limited, "a user without rights hears of his own processes, and cannot make listeners without end")
{
	static const struct cred stranger = { .euid = { 5 } };
	struct gpreempt_event got[8];
	struct file files[66];
	ssize_t n;
	u32 i, refused = 0;

	begin();
	current->caps = 0;
	for (i = 0; i < 66; i++) {
		open_file(&files[i]);
		files[i].f_cred = &stranger;
		n = shim_miscdevice->fops->read(&files[i], (char *)got, sizeof(got), NULL);
		refused += n == -EMFILE;
		CHECK_EQ(shim_miscdevice->fops->poll(&files[i], NULL), n == -EMFILE ? EPOLLERR : 0);
	}
	CHECK_EQ(refused, 2);
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
	process_of(low)->task.euid.val = 5;
	submit(low, 20);
	submit(high, 5);
	run(10 * MS);
	n = shim_miscdevice->fops->read(&files[0], (char *)got, sizeof(got), NULL);
	CHECK(n > 0);
	for (i = 0; i < n / sizeof(got[0]); i++)
		CHECK(!got[i].pid || got[i].pid == process_of(low)->pid.nr);
	for (i = 0; i < 66; i++)
		close_file(&files[i]);
	shim_fail_alloc = 1;
	CHECK_EQ(shim_miscdevice->fops->open(NULL, &files[0]), -ENOMEM);
	open_file(&files[0]);
	shim_fail_alloc = 1;
	CHECK_EQ(shim_miscdevice->fops->read(&files[0], (char *)got, sizeof(got), NULL), -ENOMEM);
	close_file(&files[0]);
	end();
}

TEST(commands_without_memory, "a command for which there is no memory says so, and changes nothing")
{
	struct gpreempt_node_info nodes[2];
	struct gpreempt_info info = { .nr_nodes = 2, .nodes = (unsigned long)nodes };
	struct gpreempt_queue_info infos[2];
	struct gpreempt_list list = { .target = everything, .nr_queues = 2, .queues = (unsigned long)infos };

	begin();
	shim_fail_alloc = 1;
	CHECK_EQ(command(GPREEMPT_IOC_INFO, &info), -ENOMEM);
	shim_fail_alloc = 1;
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), -ENOMEM);
	shim_fail_alloc = 1;
	CHECK_EQ(set_priority(process_target(low), 3, 0), -ENOMEM);
	CHECK_EQ(priority_of(low), -3);
	end();
}

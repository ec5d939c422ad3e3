// SPDX-License-Identifier: MIT
/* uapi_test.c - tunables and commands, each with what it may be given and what comes of it */
#include <limits.h>

#include "rivals.h"

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
	{ "gpreempt_drain_us", { "0", "10", "1000000" }, { "9", "1000001" } },
	{ "gpreempt_idle_evict_us", { "0", "1000", "10000000" }, { "999", "10000001" } },
	{ "gpreempt_slice_us", { "500", "1000000" }, { "0", "499", "1000001" } },
	{ "gpreempt_nice", { "0", "1", "Y\n", "off" }, { "2", "maybe", "" } },
	{ "gpreempt_trust_kfd_priority", { "1", "0" }, { "x" } },
	{ "gpreempt_verify", { "1", "0" }, { "x" } },
	{ "gpreempt_hw_priority", { "follow", "normal\n" }, { "", "Normal", "normally" } },
	{ "gpreempt_wakeup", { "doorbell", "poll", "auto\n" }, { "", "Poll", "doorbells" } },
	{ "gpreempt_unmap", { "named", "all\n" }, { "", "none", "Named" } },
	{ "gpreempt_policy", { "wfq", "edf\n", "hpf" }, { "", "fifo", "hpf " } },
	{ "gpreempt_enable", { "0", "1", "N", "Y" }, { "2", "" } },
};

TEST(tunables_have_bounds, "each parameter takes what is within its bounds, refuses what is not, says so, and keeps what it had")
{
	char before[64], after[64];
	u32 i, k;

	NEEDS(POLICIES);
	world_on(true);
	for (i = 0; i < ARRAY_SIZE(tunables); i++) {
		for (k = 0; k < ARRAY_SIZE(tunables[i].good) && tunables[i].good[k]; k++) {
			tap_at("%s=%.10s: ", tunables[i].name, tunables[i].good[k]);
			CHECK_EQ(shim_param_set(tunables[i].name, tunables[i].good[k]), 0);
			CHECK(shim_param_get(tunables[i].name, after) > 1);
			CHECK_EQ(shim_param_set(tunables[i].name, after), 0);
		}
		for (k = 0; k < ARRAY_SIZE(tunables[i].bad) && tunables[i].bad[k]; k++) {
			tap_at("%s=%.10s: ", tunables[i].name, tunables[i].bad[k]);
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
}

TEST(bad_parameters_do_not_cost_the_driver, "while the module loads a bad value is told, not refused")
{
	set("gpreempt_interval_ms", "0");
	set("gpreempt_policy", "none");
	CHECK_EQ(shim_param_set("gpreempt_poll_us", NULL), 0);
	CHECK(strstr(shim_log, "poll_us= is not a number; kept 80") != NULL);
	CHECK_EQ(shim_param_set("gpreempt_wakeup", NULL), 0);
	CHECK(strstr(shim_log, "wakeup= is none of auto, poll, doorbell; kept auto") != NULL);
	set("gpreempt_enable", "perhaps");
	CHECK(strstr(shim_log, "below 1; kept 5") != NULL);
	set("gpreempt_enable", "1");
	world_make(true, 1, 1);
	CHECK(gpreempt_node_enabled(0));
}

TEST(nodes_have_values_of_their_own, "a node's file is for this node until the parameter is written; default takes that one's over")
{
	struct gpreempt_node *a, *b;
	char text[64];
	bool on;

	NEEDS(POLICIES);
	world_on_nodes(true, 2);
	a = node_of(0);
	b = node_of(1);
	CHECK_EQ(gpreempt_params_store(a, GPREEMPT_TUNABLE_INTERVAL_MS, "9\n"), 0);
	CHECK_EQ(gpreempt_params_store(a, GPREEMPT_TUNABLE_INTERVAL_MS, "0\n"), -EINVAL);
	CHECK(gpreempt_tunables_show(a, GPREEMPT_TUNABLE_INTERVAL_MS, text) == 2 && !strcmp(text, "9\n"));
	CHECK(gpreempt_tunables_show(b, GPREEMPT_TUNABLE_INTERVAL_MS, text) == 2 && !strcmp(text, "5\n"));
	CHECK_EQ(gpreempt_params_store(a, GPREEMPT_TUNABLE_INTERVAL_MS, "default\n"), 0);
	CHECK_EQ(a->tunables.tuned[GPREEMPT_TUNABLE_INTERVAL_MS], 5);
	CHECK_EQ(gpreempt_params_store(a, GPREEMPT_TUNABLE_INTERVAL_MS, "9\n"), 0);
	set("gpreempt_interval_ms", "7");
	CHECK_EQ(a->tunables.tuned[GPREEMPT_TUNABLE_INTERVAL_MS], 7);
	CHECK_EQ(b->tunables.tuned[GPREEMPT_TUNABLE_INTERVAL_MS], 7);
	CHECK_EQ_AFTER(20 * MS, a->tun.params.interval_ns, 7 * MS);

	CHECK_EQ(gpreempt_params_store(a, GPREEMPT_TUNABLE_HW_PRIORITY, "follow"), 0);
	gpreempt_tunables_show(a, GPREEMPT_TUNABLE_HW_PRIORITY, text);
	CHECK(!strcmp(text, "follow\n"));
	CHECK_EQ(gpreempt_params_store(a, GPREEMPT_TUNABLE_POLICY, "edf\n"), 0);
	CHECK_EQ(gpreempt_params_store(a, GPREEMPT_TUNABLE_POLICY, "edit\n"), -EINVAL);
	CHECK(!strcmp(gpreempt_tunables_policy(a)->name, "edf"));
	CHECK(!strcmp(gpreempt_tunables_policy(b)->name, "hpf"));
	CHECK_EQ(gpreempt_params_store(a, GPREEMPT_TUNABLE_POLICY, "default\n"), 0);
	CHECK(!strcmp(gpreempt_tunables_policy(a)->name, "hpf"));
	set("gpreempt_policy", "wfq");
	CHECK(!strcmp(gpreempt_tunables_policy(a)->name, "wfq") && !strcmp(gpreempt_tunables_policy(b)->name, "wfq"));
	shim_param_get("gpreempt_policy", text);
	CHECK(!strcmp(text, "wfq\n"));

	CHECK_EQ(gpreempt_params_parse_switch("0\n", true, &on), 0);
	CHECK(!on);
	CHECK_EQ(gpreempt_params_parse_switch("default\n", true, &on), 0);
	CHECK(on);
	CHECK_EQ(gpreempt_params_parse_switch("2\n", true, &on), -EINVAL);
}

TEST(words_name_the_policies, "each policy has a word in the table of tunables, in the place that it has among policies")
{
	u32 i;

	NEEDS(POLICIES);
	world_on(true);
	for (i = 0; gpreempt_policies[i]; i++) {
		tap_at("%s: ", gpreempt_policies[i]->name);
		CHECK_EQ(shim_param_set("gpreempt_policy", gpreempt_policies[i]->name), 0);
		CHECK(gpreempt_tunables_policy(node_of(0)) == gpreempt_policies[i]);
		CHECK_AFTER(10 * MS, node_of(0)->policy.ops == gpreempt_policies[i]);
	}
	CHECK(i > 2);
}

/* ---- commands ---- */

static const struct cred own_cred = { .user_ns = &init_user_ns };
static struct file file, other;

static void open_file(struct file *f)
{
	*f = (struct file){ .f_flags = O_NONBLOCK, .f_cred = &own_cred, .opener_is_admin = capable(CAP_SYS_ADMIN) };
	CHECK_EQ(shim_miscdevice->fops->open(NULL, f), 0);
}

static void close_file(struct file *f)
{
	CHECK_EQ(shim_miscdevice->fops->release(NULL, f), 0);
}

/* A hold of which it does not matter how many queues it is of */
#define HOLD(...)	(&(struct gpreempt_hold){ __VA_ARGS__ })

static long file_command(struct file *f, unsigned int cmd, void *argument)
{
	return shim_miscdevice->fops->unlocked_ioctl(f, cmd, (unsigned long)argument);
}

static long command(unsigned int cmd, void *argument)
{
	return file_command(&file, cmd, argument);
}

/* How many queues a command of a hold was about, or its error. */
static long nr_of(unsigned int cmd, struct gpreempt_hold *hold)
{
	return command(cmd, hold) ?: hold->nr_queues;
}

static long set_priority(struct gpreempt_target target, s32 value, u32 flags)
{
	struct gpreempt_priority priority = { .target = target, .priority = value, .flags = flags };

	return command(GPREEMPT_IOC_SET_PRIORITY, &priority);
}

static long set_param(struct gpreempt_target target, u32 which, u64 value)
{
	struct gpreempt_set_param param = { .target = target, .param = which, .value = value };

	return command(GPREEMPT_IOC_SET_PARAM, &param);
}

static long announce(struct gpreempt_target target, u32 within_us)
{
	return command(GPREEMPT_IOC_HINT, &(struct gpreempt_hint){ .target = target, .within_us = within_us });
}

static void close_own_file(void)
{
	close_file(&file);
}

static void open_own_file(void)
{
	open_file(&file);
	world.before_end = close_own_file;
}

static void begin(void)
{
	world_on(true);
	add_rivals(10, 0);
	low->kernel_ns = high->kernel_ns = MS;
	run(20 * MS);
	open_own_file();
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
		{ { .scope = GPREEMPT_SCOPE_PROCESS, .pid = 100, .cgroup_fd = 1 }, -EINVAL },
		{ { .scope = GPREEMPT_SCOPE_QUEUE, .pid = 100, .gpu_id = 1000, .cgroup_fd = 1 }, -EINVAL },
		{ { .scope = GPREEMPT_SCOPE_PROCESS, .pid = 100, .gpu_id = 5 }, -ENODEV },
		{ { .scope = GPREEMPT_SCOPE_QUEUE, .pid = 100 }, -EINVAL },
		{ { .scope = GPREEMPT_SCOPE_QUEUE, .pid = 100, .gpu_id = 1000, .queue_id = 9 }, -ENOENT },
		{ { .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 99 }, -EBADF },
		{ { .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 1, .pid = 3 }, -EINVAL },
	};

	begin();
	EACH_CASE(i, cases) {
		CHECK_EQ(command(GPREEMPT_IOC_LIST, &(struct gpreempt_list){ .target = cases[i].target }), cases[i].error);
	}
	CHECK_EQ(nr_listed(everything), 2);
	CHECK_EQ(nr_listed(queue_target(low)), 1);
	CHECK_EQ(nr_listed(process_target(low)), 1);
	CHECK_EQ(nr_listed((struct gpreempt_target){ .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 1 }), 2);
	CHECK_EQ(nr_listed((struct gpreempt_target){ .scope = GPREEMPT_SCOPE_PROCESS }), 0);
	process_of(low)->task.cgroup = world_cgroup(2);
	CHECK_EQ(nr_listed((struct gpreempt_target){ .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 1 }), 2);
	CHECK_EQ(nr_listed((struct gpreempt_target){ .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 2 }), 2);
	CHECK_EQ(nr_listed((struct gpreempt_target){ .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 3 }), 1);
	/* Other users' do not exist for who may not see them, and cannot be named. */
	current->caps = 0;
	current->euid.val = 5;
	CHECK_EQ(nr_listed(everything), 0);
	CHECK_EQ(nr_listed((struct gpreempt_target){ .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 1 }), 0);
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &(struct gpreempt_list){ .target = process_target(low) }), -EACCES);
	process_of(low)->task.euid.val = 5;
	CHECK_EQ(nr_listed(everything), 1);
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
}

TEST(commands_are_checked, "unknown commands, flags, reserved members and values are refused, and so are pointers that are none")
{
	struct gpreempt_priority priority;
	struct gpreempt_set_param param;
	struct gpreempt_info info;

	begin();
	CHECK_EQ(command(GPREEMPT_IOC_INFO ^ 0x40, &info), -ENOTTY);
	CHECK_EQ(command(GPREEMPT_IOC_INFO, (void *)8), -EFAULT);
	CHECK_EQ(command(GPREEMPT_IOC_INFO, &(struct gpreempt_info){ .flags = 1 }), -EINVAL);
	CHECK_EQ(command(GPREEMPT_IOC_INFO, &(struct gpreempt_info){ .abi_version = 1 }), -EINVAL);
	CHECK_EQ(command(GPREEMPT_IOC_INFO, &(struct gpreempt_info){ .nr_nodes = 4 }), -EFAULT);
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &(struct gpreempt_list){ .target = everything, .flags = 1 }), -EINVAL);
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &(struct gpreempt_list){ .target = everything, .nr_queues = 5 }), -EFAULT);
	CHECK_EQ(command(GPREEMPT_IOC_SET_PRIORITY, &(struct gpreempt_priority){ .target = process_target(low), .flags = 4 }), -EINVAL);
	CHECK_EQ(set_priority(process_target(low), 0, GPREEMPT_PRIORITY_CLEAR | GPREEMPT_PRIORITY_INHERIT), -EINVAL);
	CHECK_EQ(set_priority(queue_target(low), 1, GPREEMPT_PRIORITY_INHERIT), -EINVAL);
	CHECK_EQ(set_priority((struct gpreempt_target){ .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 2 }, 1, GPREEMPT_PRIORITY_INHERIT), -EINVAL);
	CHECK_EQ(set_priority(process_target(low), 1, GPREEMPT_PRIORITY_CLEAR), -EINVAL);
	CHECK_EQ(set_priority(process_target(low), 1024, 0), -ERANGE);
	CHECK_EQ(set_priority(process_target(low), -1024, 0), -ERANGE);
	CHECK_EQ(command(GPREEMPT_IOC_SET_PRIORITY, &(struct gpreempt_priority){ .target = everything }), -EINVAL);
	priority = (struct gpreempt_priority){ .target = process_target(low) };
	priority.target.gpu_id = 1000;
	CHECK_EQ(command(GPREEMPT_IOC_SET_PRIORITY, &priority), -EINVAL);
	priority = (struct gpreempt_priority){ .target = queue_target(low) };
	priority.target.queue_id = 44;
	CHECK_EQ(command(GPREEMPT_IOC_SET_PRIORITY, &priority), -ENOENT);
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &(struct gpreempt_set_param){ .target = process_target(low), .param = 99 }), -EINVAL);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_WEIGHT, 10001), -ERANGE);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_DEADLINE_US, 3600000001ULL), -ERANGE);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_EXEMPT, 2), -ERANGE);
	CHECK_EQ(set_param(queue_target(low), GPREEMPT_PARAM_EXEMPT, 1), -EINVAL);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_FOLLOW_STOP, GPREEMPT_FOLLOW_STOP_NEVER + 1), -ERANGE);
	CHECK_EQ(set_param(queue_target(low), GPREEMPT_PARAM_FOLLOW_STOP, GPREEMPT_FOLLOW_STOP_ALWAYS), -EINVAL);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_WAITS_FOR, 1ULL << 31), -ERANGE);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_WAITS_FOR, INT_MAX), -ESRCH);
	CHECK_EQ(set_param(queue_target(low), GPREEMPT_PARAM_WAITS_FOR, 0), -EINVAL);
	CHECK_EQ(set_param((struct gpreempt_target){ .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 2 }, GPREEMPT_PARAM_WAITS_FOR, 0), -EINVAL);
	CHECK_EQ(set_param((struct gpreempt_target){ .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 2 }, GPREEMPT_PARAM_WEIGHT, 3), -EINVAL);
	param = (struct gpreempt_set_param){ .target = process_target(low), .param = GPREEMPT_PARAM_WEIGHT, .flags = 1 };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &param), -EINVAL);
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = everything)), -EINVAL);
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .nr_queues = 1)), -EINVAL);
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .flags = 0x80)), -EINVAL);
	CHECK_EQ(command(GPREEMPT_IOC_RESUME, HOLD(.target = queue_target(low), .flags = 0x80)), -EINVAL);
	CHECK_EQ(announce(process_target(low), 0), -ERANGE);
	CHECK_EQ(announce(process_target(low), 1000001), -ERANGE);
	CHECK_EQ(announce(everything, 5), -EINVAL);
	CHECK_EQ(command(GPREEMPT_IOC_HINT, &(struct gpreempt_hint){ .target = process_target(low), .within_us = 5, .flags = 1 }), -EINVAL);
}

TEST(info_does_not_tell_of_others, "without CAP_SYS_ADMIN INFO counts the caller's own queues, has no counters, and calls a node idle that is on")
{
	struct gpreempt_node_info node = { 0 };
	struct gpreempt_info info = { .nr_nodes = 1, .nodes = (unsigned long)&node }, again = info;

	begin();
	submit(low, 50);
	submit_and_run(high, 500, 10 * MS);
	CHECK(preempted(low));
	process_of(low)->task.euid = (kuid_t){ 1234 };
	process_of(high)->task.euid = (kuid_t){ 4321 };
	CHECK_EQ(command(GPREEMPT_IOC_INFO, &info), 0);
	CHECK(node.nr_queues == 2 && node.nr_preempted == 1 && node.preemptions == 1 && node.state == GPREEMPT_NODE_POLLING);
	current->caps = 0;
	current->euid = (kuid_t){ 4321 };
	node = (struct gpreempt_node_info){ 0 };
	info = again;
	CHECK_EQ(command(GPREEMPT_IOC_INFO, &info), 0);
	CHECK_EQ(node.nr_queues, 1);
	CHECK(!node.nr_preempted && !node.preemptions && !node.resumes && !node.failures);
	CHECK_EQ(node.state, GPREEMPT_NODE_IDLE);
	CHECK(!strcmp(node.backend, "hws") && !strcmp(node.policy, "hpf"));
	current->euid = (kuid_t){ 1234 };
	info = again;
	CHECK_EQ(command(GPREEMPT_IOC_INFO, &info), 0);
	CHECK(node.nr_queues == 1 && node.nr_preempted == 1);
	current->caps = CAP_SYS_ADMIN | CAP_SYS_NICE;
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
	submit_and_run(high, 50, 10 * MS);
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
}

static s32 priority_of(const struct sim_queue *sq)
{
	run(6 * MS);
	return sq->q.gpreempt->policy.set.priority;
}

TEST(priorities_from_outside, "a queue's setting outranks its process's, that one its cgroup's; what the privileged set is not got around")
{
	const struct gpreempt_target cgroup = { .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 2 };

	NEEDS(ACCOUNT);
	begin();
	CHECK_EQ(set_priority(cgroup, 3, 0), 0);
	CHECK_EQ(priority_of(low), 3);
	CHECK_EQ(low->q.gpreempt->priority.source, GPREEMPT_SOURCE_CGROUP);
	CHECK_EQ(set_priority(process_target(low), 5, 0), 0);
	CHECK_EQ(priority_of(low), 5);
	CHECK_EQ(low->q.gpreempt->priority.source, GPREEMPT_SOURCE_PROCESS);
	CHECK_EQ(set_priority(queue_target(low), 9, 0), 0);
	CHECK_EQ(priority_of(low), 9);
	CHECK_EQ(low->q.gpreempt->priority.source, GPREEMPT_SOURCE_QUEUE);
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
	CHECK_EQ(process_of(high)->pid.references, 4);
	kill_process(process_of(high));
	/* What it used is forgotten when another program comes. */
	add_queue(0);
	CHECK_EQ(set_priority(process_target(low), 1, 0), 0);
	CHECK_EQ_AFTER(1100 * MS, process_of(high)->pid.references, 1);
}

static struct gpreempt_target target_of(const struct sim_process *process)
{
	return (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_PROCESS, .pid = process->task.pid };
}

/* A new process below another, with a queue */
static struct sim_queue *add_child(struct task_struct *parent)
{
	struct sim_process *child = add_process(0);

	child->task.real_parent = parent;
	return add_queue_to(child, 0, NORMAL);
}

static bool inherited(struct sim_queue *sq, s32 priority)
{
	return priority_of(sq) == priority && sq->q.gpreempt->priority.source == GPREEMPT_SOURCE_PARENT;
}

TEST(priorities_are_inherited, "processes below one whose priority is to be inherited have it, from their first queue on, unless theirs was set")
{
	struct sim_process *parent, *between;
	struct sim_queue *before, *child;

	begin();
	parent = add_process(0);
	between = add_process(0);
	between->task.real_parent = &parent->task;
	before = add_child(&between->task);
	CHECK_EQ(set_priority(target_of(parent), -100, 0), 0);
	CHECK_EQ(priority_of(add_child(&between->task)), NORMAL);
	CHECK_EQ(set_priority(target_of(parent), -100, GPREEMPT_PRIORITY_INHERIT), 0);
	child = add_child(&between->task);
	CHECK(inherited(child, -100));
	/* What has queues is not changed, whatever becomes of the parent's. */
	CHECK_EQ(priority_of(before), NORMAL);
	CHECK_EQ(set_priority(target_of(parent), -50, GPREEMPT_PRIORITY_INHERIT), 0);
	CHECK(inherited(child, -100));
	/* The nearest counts, and what was set for the process itself before that. */
	CHECK_EQ(set_priority(target_of(between), 20, GPREEMPT_PRIORITY_INHERIT), 0);
	CHECK(inherited(add_child(&between->task), 20));
	CHECK(inherited(add_child(&parent->task), -50));
	CHECK_EQ(set_priority(process_target(child), 3, 0), 0);
	CHECK_EQ(priority_of(child), 3);
	CHECK_EQ(child->q.gpreempt->priority.source, GPREEMPT_SOURCE_PROCESS);
	CHECK_EQ(set_priority(process_target(child), 0, GPREEMPT_PRIORITY_CLEAR), 0);
	CHECK(inherited(child, -100));
	/* It outranks a cgroup's. */
	CHECK_EQ(set_priority((struct gpreempt_target){ .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 2 }, 9, 0), 0);
	CHECK(inherited(child, -100));
	CHECK_EQ(priority_of(before), 9);
	/* No more, and nothing is looked for then. */
	CHECK_EQ(set_priority(target_of(between), 20, 0), 0);
	CHECK_EQ(set_priority(target_of(parent), 0, GPREEMPT_PRIORITY_CLEAR), 0);
	shim_ancestors_looked_at = 0;
	CHECK_EQ(priority_of(add_child(&between->task)), 9);
	CHECK_EQ(shim_ancestors_looked_at, 0);
}

TEST(inheriting_across_namespaces, "who is put into a container from outside is below its init; what has been reaped leads nowhere")
{
	struct pid_namespace ns = { .parent = &init_pid_ns };
	struct sim_process *manager, *init, *other;
	struct sim_queue *inside;

	begin();
	manager = add_process(0);
	init = add_process(0);
	init->task.real_parent = &manager->task;
	init->task.ns = &ns;
	ns.child_reaper = &init->task;
	other = add_process(0);
	CHECK_EQ(set_priority(target_of(init), -70, GPREEMPT_PRIORITY_INHERIT), 0);
	other->task.ns = &ns;
	other->task.real_parent = &manager->task;
	inside = add_queue_to(other, 0, NORMAL);
	CHECK(inherited(inside, -70));
	CHECK_EQ(priority_of(add_child(&manager->task)), NORMAL);
	/* Above the init is what made it. */
	CHECK_EQ(set_priority(target_of(init), 0, GPREEMPT_PRIORITY_CLEAR), 0);
	CHECK_EQ(set_priority(target_of(manager), 60, GPREEMPT_PRIORITY_INHERIT), 0);
	other = add_process(0);
	other->task.ns = &ns;
	other->task.real_parent = &init->task;
	CHECK(inherited(add_queue_to(other, 0, NORMAL), 60));
	other = add_process(0);
	other->task.ns = &ns;
	other->task.real_parent = &manager->task;
	CHECK(inherited(add_queue_to(other, 0, NORMAL), 60));
	/* Nothing leads further from one that is gone. */
	other = add_process(0);
	other->task.ns = &ns;
	other->task.real_parent = &init->task;
	init->task.tgid = NULL;
	CHECK_EQ(priority_of(add_queue_to(other, 0, NORMAL)), NORMAL);
	init->task.tgid = &init->pid;
}

TEST(inheriting_and_rights, "what the privileged let others inherit bounds what those set, nearer to the process or for it")
{
	struct sim_process *parent, *between;
	struct sim_queue *child;
	kuid_t euid = current->euid;

	begin();
	parent = add_process(0);
	between = add_process(0);
	between->task.real_parent = &parent->task;
	CHECK_EQ(set_priority(target_of(parent), -100, GPREEMPT_PRIORITY_INHERIT), 0);
	current->caps = 0;
	current->euid = between->task.euid;
	CHECK_EQ(set_priority(target_of(between), 8, GPREEMPT_PRIORITY_INHERIT), -EPERM);
	CHECK_EQ(set_priority(target_of(between), 5, GPREEMPT_PRIORITY_INHERIT), 0);
	child = add_child(&between->task);
	CHECK(inherited(child, -100));
	CHECK_EQ(set_priority(process_target(child), 6, 0), 0);
	CHECK_EQ(priority_of(child), -100);
	CHECK_EQ(set_priority(process_target(child), -300, 0), 0);
	CHECK_EQ(priority_of(child), -300);
	CHECK_EQ(set_priority(target_of(between), -200, GPREEMPT_PRIORITY_INHERIT), 0);
	CHECK(inherited(add_child(&between->task), -200));
	/* Without a privileged one above, the nice value bounds it. */
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
	CHECK_EQ(set_priority(target_of(parent), 0, GPREEMPT_PRIORITY_CLEAR), 0);
	current->caps = 0;
	CHECK_EQ(set_priority(target_of(between), NORMAL, GPREEMPT_PRIORITY_INHERIT), 0);
	child = add_child(&between->task);
	process_of(child)->task.nice = 5;
	CHECK(inherited(child, NORMAL - 5));
	CHECK_EQ(set_priority(process_target(child), 6, 0), 0);
	CHECK_EQ(priority_of(child), NORMAL - 5);
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
	current->euid = euid;
	/* Those of two users without rights: the nearer one. */
	CHECK_EQ(set_priority(target_of(between), 0, GPREEMPT_PRIORITY_CLEAR), 0);
	current->caps = 0;
	CHECK_EQ(set_priority(target_of(parent), -30, GPREEMPT_PRIORITY_INHERIT), 0);
	CHECK_EQ(set_priority(target_of(between), -10, GPREEMPT_PRIORITY_INHERIT), 0);
	CHECK(inherited(add_child(&between->task), -10));
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
}

TEST(settings_of_the_unprivileged_are_capped, "what somebody without rights sets for his process is worth no more than its nice value leaves")
{
	begin();
	process_of(low)->task.nice = 5;
	current->caps = 0;
	CHECK_EQ(set_priority(process_target(low), NORMAL, 0), 0);
	CHECK_EQ(priority_of(low), NORMAL - 5);
	CHECK_EQ(set_priority(process_target(low), -8, 0), 0);
	CHECK_EQ(priority_of(low), -8);
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
	CHECK_EQ(set_priority(process_target(low), NORMAL, 0), 0);
	CHECK_EQ(priority_of(low), NORMAL);
}

TEST(moves_between_cgroups_count, "a process that moves to another cgroup has its priority within a second, also while the node is parked")
{
	const struct gpreempt_target cgroup = { .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 3 };

	begin();
	process_of(low)->task.nice = 0;
	process_of(low)->task.cgroup = world_cgroup(1);
	CHECK_EQ(set_priority(cgroup, NORMAL, 0), 0);
	CHECK_AFTER(1500 * MS, state_is("parked"));
	CHECK_EQ(low->q.gpreempt->priority.source, GPREEMPT_SOURCE_KFD);
	CHECK_EQ(high->q.gpreempt->priority.source, GPREEMPT_SOURCE_CGROUP);
	process_of(low)->task.cgroup = world_cgroup(3);
	CHECK_EQ_AFTER(1100 * MS, low->q.gpreempt->priority.source, GPREEMPT_SOURCE_CGROUP);
}

TEST(deep_cgroups_have_no_settings, "a cgroup below level 32 has no setting and no share of its own, and its processes have those of the nearest above")
{
	const struct gpreempt_target cgroup = { .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 3 };
	struct gpreempt_set_share share = { .target = cgroup, .weight = 100 };

	NEEDS(SHARES);
	begin();
	world_cgroup(3)->level = GPREEMPT_CGROUP_LEVELS;
	CHECK_EQ(set_priority(cgroup, 3, 0), 0);
	CHECK_EQ(command(GPREEMPT_IOC_SET_SHARE, &share), 0);
	world_cgroup(3)->level++;
	CHECK_EQ(set_priority(cgroup, 3, 0), -ERANGE);
	CHECK_EQ(set_param(cgroup, GPREEMPT_PARAM_FOLLOW_STOP, 1), -ERANGE);
	share.target = cgroup;
	CHECK_EQ(command(GPREEMPT_IOC_SET_SHARE, &share), -ERANGE);
	world_cgroup(3)->level = 2;
}

TEST(parameters_from_outside, "weights, deadlines and exemptions reach the policy, of a queue or of its process; they take a right")
{
	begin();
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_WEIGHT, 300), 0);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_DEADLINE_US, 500), 0);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_EXEMPT, 1), 0);
	CHECK_EQ(set_param(queue_target(high), GPREEMPT_PARAM_WEIGHT, 7), 0);
	current->caps = CAP_SYS_ADMIN;
	CHECK_EQ(set_param(queue_target(high), GPREEMPT_PARAM_WEIGHT, 7), -EPERM);
	current->caps |= CAP_SYS_NICE;
	CHECK_EQ_AFTER(6 * MS, low->q.gpreempt->process->policy.weight, 300);
	CHECK_EQ(low->q.gpreempt->process->policy.deadline_ns, 500 * US);
	CHECK(low->q.gpreempt->process->policy.opt_out);
	CHECK_EQ(high->q.gpreempt->policy.set.weight, 7);
	CHECK_EQ(set_param(queue_target(high), GPREEMPT_PARAM_DEADLINE_US, 30), 0);
	CHECK_EQ_AFTER(6 * MS, high->q.gpreempt->policy.set.deadline_ns, 30 * US);
	CHECK_EQ(low->q.gpreempt->policy.set.deadline_ns, 0);
	submit(low, 20);
	submit_and_run(high, 20, 10 * MS);
	CHECK(!preempted(low));
}

TEST(stops_are_followed_by_command, "a process is told to leave or to stay when it is stopped, which takes a right")
{
	NEEDS(STOPPED);
	begin();
	submit_and_run(low, 200, MS);
	current->caps = CAP_SYS_ADMIN;
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_FOLLOW_STOP, GPREEMPT_FOLLOW_STOP_ALWAYS), -EPERM);
	current->caps |= CAP_SYS_NICE;
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_FOLLOW_STOP, GPREEMPT_FOLLOW_STOP_ALWAYS), 0);
	WRITE_ONCE(process_of(low)->signal.flags, SIGNAL_STOP_STOPPED);
	CHECK_EQ_AFTER(20 * MS, preempted(low), true);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_FOLLOW_STOP, GPREEMPT_FOLLOW_STOP_NEVER), 0);
	CHECK_EQ_AFTER(20 * MS, preempted(low), false);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_FOLLOW_STOP, GPREEMPT_FOLLOW_STOP_NODE), 0);
	set("gpreempt_follow_stop", "1");
	CHECK_EQ_AFTER(20 * MS, preempted(low), true);
	WRITE_ONCE(process_of(low)->signal.flags, 0);
	CHECK_EQ_AFTER(20 * MS, preempted(low), false);
}

TEST(holds, "a held queue is off the device until everybody who holds it lets it go, or his file is closed")
{
	begin();
	submit_and_run(low, 200, MS);
	CHECK_EQ(nr_of(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .timeout_ms = 100)), 1);
	CHECK(preempted(low));
	open_file(&other);
	CHECK_EQ(file_command(&other, GPREEMPT_IOC_PREEMPT, HOLD(.target = process_target(low), .flags = GPREEMPT_HOLD_UNBOUNDED)), 0);
	CHECK(low->q.gpreempt->hold.unbounded);
	CHECK_AFTER(6 * MS, low->q.gpreempt->policy.set.hold_unbounded);
	CHECK_EQ(nr_of(GPREEMPT_IOC_RESUME, HOLD(.target = queue_target(low))), 1);
	CHECK_AFTER(10 * MS, preempted(low));
	close_file(&other);
	CHECK_AFTER(10 * MS, !preempted(low));

	/* Somebody without rights ends neither what others hold nor asks for what lasts. */
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low))), 0);
	current->caps = 0;
	open_file(&other);
	CHECK_EQ(file_command(&other, GPREEMPT_IOC_RESUME, HOLD(.target = queue_target(low), .flags = GPREEMPT_HOLD_EVERYBODYS)), -EPERM);
	CHECK_EQ(file_command(&other, GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .flags = GPREEMPT_HOLD_UNBOUNDED)), -EPERM);
	close_file(&other);
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
	CHECK_EQ(nr_of(GPREEMPT_IOC_RESUME, HOLD(.target = queue_target(low), .flags = GPREEMPT_HOLD_EVERYBODYS)), 1);

	/* What the driver does not let go cannot be held; what nobody schedules neither. */
	debug_process(process_of(low), true);
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low))), -EBUSY);
	debug_process(process_of(low), false);
	suspend();
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low))), -EIO);
	resume();
	shim_fail_alloc = 1;
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low))), -ENOMEM);
	shim_fail_alloc = 0;
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = { .scope = GPREEMPT_SCOPE_PROCESS })), -ENOENT);
	set("gpreempt_enable", "0");
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = process_target(low))), -EOPNOTSUPP);
	set("gpreempt_enable", "1");
}

static int destroy_low(void *unused)
{
	fsleep(20000);
	destroy_queue(low);
	return 0;
}

TEST(a_held_queue_goes, "whoever waits for a queue to leave is told when it goes instead, and nothing is left of his hold")
{
	struct task_struct *task;
	u64 began_ns;

	begin();
	submit_and_run(low, 200, MS);
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .timeout_ms = 100)), 0);
	destroy_queue(low);
	close_file(&file);

	/* One that cannot be carried out before. */
	open_file(&file);
	low = add_queue(10);
	run(10 * MS);
	world.nodes[0].error = -EIO;
	task = kthread_create(destroy_low, NULL, "destroyer");
	wake_up_process(task);
	began_ns = ktime_get_ns();
	command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .timeout_ms = 5000));
	CHECK(ktime_get_ns() - began_ns < SEC);
	kthread_stop(task);
	world.nodes[0].error = 0;
	evict_and_restore(high);
}

TEST(a_hold_times_out, "a hold that is not carried out in time says so, and stays")
{
	begin();
	submit_and_run(low, 50, MS);
	dqm_lock(&world.nodes[0].dqm);
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .timeout_ms = 5)), -ETIME);
	dqm_unlock(&world.nodes[0].dqm);
	CHECK_AFTER(10 * MS, preempted(low));
	/* The queue goes, and its holds with it. */
	destroy_queue(low);
}

static int hold_high_again_and_again(void *unused)
{
	struct file other;

	open_file(&other);
	while (!kthread_should_stop()) {
		file_command(&other, GPREEMPT_IOC_PREEMPT, HOLD(.target = process_target(high), .timeout_ms = 1));
		file_command(&other, GPREEMPT_IOC_RESUME, HOLD(.target = process_target(high)));
		fsleep(10);
	}
	close_file(&other);
	return 0;
}

#define MAX_WAITS	64

static struct task_struct *waiters[MAX_WAITS];
static u32 nr_refused;

static int waits_for_a_hold(void *unused)
{
	current->euid.val = 1;
	nr_refused += command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .timeout_ms = 1000)) == -EUSERS;
	while (!kthread_should_stop())
		fsleep(1000);
	return 0;
}

static long hold_of(u32 uid, u32 caps)
{
	struct task_struct *self = current;
	kuid_t euid = self->euid;
	u32 had = self->caps;
	long r;

	self->euid.val = uid;
	self->caps = caps;
	r = command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .timeout_ms = 5));
	self->euid = euid;
	self->caps = had;
	return r;
}

TEST(so_many_calls_of_a_user_wait, "64 calls of a user wait for queues to leave, and a further one is refused and holds nothing; others wait as ever")
{
	struct sim_queue *own;
	u32 i;

	begin();
	process_of(low)->task.euid.val = 1;
	submit_and_run(low, 50, MS);
	dqm_lock(&world.nodes[0].dqm);
	for (i = 0; i < MAX_WAITS; i++) {
		waiters[i] = kthread_create(waits_for_a_hold, NULL, "waiter");
		wake_up_process(waiters[i]);
	}
	run(5 * MS);
	CHECK_EQ(nr_refused, 0);
	CHECK_EQ(hold_of(1, 0), -EUSERS);
	CHECK_EQ(hold_of(1, CAP_SYS_ADMIN), -ETIME);
	own = low;
	low = high;
	process_of(low)->task.euid.val = 2;
	CHECK_EQ(hold_of(1, CAP_SYS_ADMIN), -ETIME);
	CHECK_EQ(hold_of(2, 0), -ETIME);
	low = own;
	dqm_unlock(&world.nodes[0].dqm);
	CHECK_AFTER(10 * MS, preempted(low));
	CHECK_EQ(hold_of(1, 0), 0);
	for (i = 0; i < MAX_WAITS; i++)
		kthread_stop(waiters[i]);
	CHECK_EQ(nr_refused, 0);
}

TEST(a_hold_times_out_on_a_busy_node, "a hold that cannot be carried out ends in time, however often others are preempted meanwhile")
{
	struct task_struct *task;
	unsigned int passes;
	u64 began_ns;

	/* High is on another node: what wakes those who wait is of all nodes. */
	world_on_nodes(true, 2);
	low = add_queue_to(add_process(0), 0, NORMAL);
	high = add_queue_to(add_process(0), 1, NORMAL);
	low->kernel_ns = high->kernel_ns = MS;
	run(20 * MS);
	open_own_file();
	submit(low, 50);
	submit(high, 100);
	dqm_lock(&world.nodes[0].dqm);
	task = kthread_create(hold_high_again_and_again, NULL, "neighbour");
	wake_up_process(task);
	run(5 * MS);
	began_ns = ktime_get_ns();
	passes = gpreempt_node_passes();
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .timeout_ms = 5)), -ETIME);
	CHECK(ktime_get_ns() - began_ns < 10 * MS);
	/* Each ends the sleep of the one who waits, before the clock of its wait has advanced. */
	CHECK(gpreempt_node_passes() - passes > 20);
	kthread_stop(task);
	dqm_unlock(&world.nodes[0].dqm);
}

TEST(a_hold_finds_a_queue_off, "a queue that the driver keeps off is held at once, and leaves when the driver gives it back")
{
	begin();
	submit_and_run(low, 50, MS);
	evict_queue(low, true);
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .timeout_ms = 5)), 0);
	evict_queue(low, false);
	CHECK_AFTER(10 * MS, preempted(low));
	CHECK_EQ(command(GPREEMPT_IOC_RESUME, HOLD(.target = queue_target(low))), 0);
}

TEST(own_holds, "a program preempts and resumes its own queues through /dev/kfd")
{
	struct kfd_ioctl_preempt_queue_args args;
	struct kfd_ioctl_resume_queue_args back;
	struct task_struct *self = current;

	begin();
	submit_and_run(low, 50, MS);
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
	CHECK_AFTER(10 * MS, !preempted(low));
}

TEST(kfd_command_words, "on /dev/kfd, whole command words are ours, and no other word with the same number is")
{
	/* Numbers that programs were built with. */
	CHECK_EQ(AMDKFD_IOC_PREEMPT_QUEUE, 0xc0104b87);
	CHECK_EQ(AMDKFD_IOC_RESUME_QUEUE, 0xc0084b88);
	CHECK_EQ(AMDKFD_IOC_RESUME_QUEUE_LONG, 0xc0104b88);
	EACH(size, 256, "size %u: ", size) {
		CHECK_EQ(kfd_gpreempt_owns_ioctl(_IOC(_IOC_READ | _IOC_WRITE, 'K', 0x87, size)), size == 16);
		CHECK_EQ(kfd_gpreempt_owns_ioctl(_IOC(_IOC_READ | _IOC_WRITE, 'K', 0x88, size)), size == 8 || size == 16);
		CHECK(!kfd_gpreempt_owns_ioctl(_IOC(_IOC_WRITE, 'K', 0x87, size)) && !kfd_gpreempt_owns_ioctl(_IOC(_IOC_READ, 'K', 0x88, size)));
	}
	CHECK(!kfd_gpreempt_owns_ioctl(AMDKFD_IOC_RESUME_QUEUE + 1) && !kfd_gpreempt_owns_ioctl(AMDKFD_IOC_RESUME_QUEUE_LONG + 1));
	CHECK(!kfd_gpreempt_owns_ioctl(AMDKFD_IOC_PREEMPT_QUEUE - 1));
}

TEST(resume_in_its_long_form, "RESUME_QUEUE with 16 bytes does what it does with 8, and a pad that is not 0 leaves the hold")
{
	struct kfd_ioctl_preempt_queue_args args = { .preempt_type = 2, .timeout_ms = 100 };
	struct kfd_ioctl_resume_queue_long_args back = { 0 };
	struct task_struct *self = current;

	begin();
	submit_and_run(low, 50, MS);
	self->group_leader = &process_of(low)->task;
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(low)->p, AMDKFD_IOC_PREEMPT_QUEUE, (unsigned long)&args), 0);
	EACH(i, 3, "pad %u: ", i) {
		back = (struct kfd_ioctl_resume_queue_long_args){ 0 };
		back.pad[i] = 1;
		CHECK_EQ(kfd_gpreempt_ioctl(&process_of(low)->p, AMDKFD_IOC_RESUME_QUEUE_LONG, (unsigned long)&back), -EINVAL);
		CHECK(preempted(low) && low->q.gpreempt->hold.any);
	}
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(low)->p, AMDKFD_IOC_RESUME_QUEUE_LONG, 8), -EFAULT);
	back = (struct kfd_ioctl_resume_queue_long_args){ .queue_id = 77 };
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(low)->p, AMDKFD_IOC_RESUME_QUEUE_LONG, (unsigned long)&back), -ENOENT);
	CHECK(low->q.gpreempt->hold.any);
	back.queue_id = 0;
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(low)->p, AMDKFD_IOC_RESUME_QUEUE_LONG, (unsigned long)&back), 0);
	self->group_leader = self;
	CHECK_AFTER(10 * MS, !preempted(low));
}

static bool hints_are(s64 all, s64 used, s64 expired)
{
	struct gpreempt_stats *stats = &node_of(0)->stats;

	return atomic64_read(&stats->hints) == all && atomic64_read(&stats->hints_used) == used &&
	       atomic64_read(&stats->hints_expired) == expired;
}

TEST(hints, "announced work keeps others off before it comes, for as long as was said")
{
	struct gpreempt_target target;

	begin();
	submit_and_run(low, 100, MS);
	CHECK_EQ(announce(process_target(high), 20000), 0);
	CHECK_AFTER(5 * MS, preempted(low));
	CHECK(hints_are(1, 0, 0));
	CHECK_AFTER(25 * MS, !preempted(low));
	CHECK(hints_are(1, 0, 1));
	/* It comes while the next one is open, and the device is its own. */
	CHECK_EQ(announce(queue_target(high), 20000), 0);
	run(5 * MS);
	submit(high, 1);
	CHECK(run_until_idle(high, 100 * MS));
	CHECK(hints_are(2, 1, 1));
	CHECK_AFTER(50 * MS, hints_are(2, 1, 1));
	/* One that follows another takes its place. */
	CHECK_EQ(announce(queue_target(high), 20000), 0);
	run(5 * MS);
	CHECK_EQ(announce(queue_target(high), 20000), 0);
	CHECK_AFTER(50 * MS, hints_are(4, 1, 2));
	CHECK(!node_of(0)->monitor.hinted);
	/* Each is counted once, whichever queue it is of. */
	CHECK_EQ(announce(queue_target(low), 20000), 0);
	CHECK_AFTER(6 * MS, !node_of(0)->monitor.hinted);
	CHECK_EQ(announce(queue_target(high), 20000), 0);
	CHECK_AFTER(MS, node_of(0)->monitor.hinted);
	CHECK_AFTER(50 * MS, hints_are(6, 2, 3));
	CHECK(!node_of(0)->monitor.hinted);
	target = queue_target(high);
	target.queue_id = 33;
	CHECK_EQ(announce(target, 20000), -ENOENT);
	set("gpreempt_enable", "0");
	CHECK_EQ(announce(process_target(high), 20000), -EOPNOTSUPP);
	set("gpreempt_enable", "1");
}

TEST(events, "who listens hears what happens to what he may see; who is slow is told how many he missed")
{
	const struct file_operations *fops;
	struct gpreempt_event got[64];
	bool seen[64] = { 0 };
	ssize_t n;
	u32 i;

	begin();
	fops = shim_miscdevice->fops;
	CHECK_EQ(fops->read(&file, (char *)got, 8, NULL), -EINVAL);
	CHECK_EQ(fops->read(&file, (char *)got, sizeof(got), NULL), -EAGAIN);
	CHECK_EQ(fops->poll(&file, NULL), 0);
	submit_and_run(low, 200, MS);
	submit_and_run(high, 20, 50 * MS);
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
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low))), 0);
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
		gpreempt_rooms_tell(event, node_of(0), NULL, GPREEMPT_EVENT_FAILED, i);
	while ((n = fops->read(&file, (char *)got, sizeof(got), NULL)) > 0)
		CHECK_EQ(got[0].missed, 0);
	gpreempt_rooms_tell(event, node_of(0), NULL, GPREEMPT_EVENT_FAILED, 0);
	CHECK_EQ(fops->read(&file, (char *)got, sizeof(got), NULL), sizeof(got[0]));
	CHECK(got[0].missed >= 76);
}

TEST(listeners_are_limited, "a user without rights hears of his own processes, and cannot make listeners without end")
{
	static const struct cred stranger = { .euid = { 5 }, .user_ns = &init_user_ns };
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
	submit_and_run(high, 5, 10 * MS);
	n = shim_miscdevice->fops->read(&files[0], (char *)got, sizeof(got), NULL);
	CHECK(n > 0);
	for (i = 0; i < n / sizeof(got[0]); i++)
		CHECK(got[i].pid == process_of(low)->pid.nr && got[i].type != GPREEMPT_EVENT_INVERSION);
	for (i = 0; i < 66; i++)
		close_file(&files[i]);
	shim_fail_alloc = 1;
	CHECK_EQ(shim_miscdevice->fops->open(NULL, &files[0]), -ENOMEM);
	open_file(&files[0]);
	shim_fail_alloc = 1;
	CHECK_EQ(shim_miscdevice->fops->read(&files[0], (char *)got, sizeof(got), NULL), -ENOMEM);
	close_file(&files[0]);
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
}

/* ---- what commands say and keep ---- */

static struct gpreempt_queue_info info_of(const struct sim_queue *sq)
{
	struct gpreempt_queue_info info = { 0 };
	struct gpreempt_list list = { .target = queue_target(sq), .nr_queues = 1, .queues = (unsigned long)&info };

	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), 0);
	CHECK_EQ(list.nr_queues, 1);
	return info;
}

TEST(stops_of_a_cgroup_are_followed_by_command, "all processes in a cgroup and below it are told to leave or to stay when they are stopped, which takes the administrator's rights")
{
	const struct gpreempt_target cgroup = { .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 2 };

	NEEDS(STOPPED);
	begin();
	submit_and_run(low, 200, MS);
	current->caps = CAP_SYS_NICE;
	CHECK_EQ(set_param(cgroup, GPREEMPT_PARAM_FOLLOW_STOP, GPREEMPT_FOLLOW_STOP_ALWAYS), -EPERM);
	current->caps |= CAP_SYS_ADMIN;
	CHECK_EQ(set_param(cgroup, GPREEMPT_PARAM_FOLLOW_STOP, GPREEMPT_FOLLOW_STOP_ALWAYS), 0);
	WRITE_ONCE(process_of(low)->signal.flags, SIGNAL_STOP_STOPPED);
	CHECK_EQ_AFTER(20 * MS, preempted(low), true);
	CHECK_EQ(info_of(low).flags, GPREEMPT_QUEUE_STOPS_ALWAYS);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_FOLLOW_STOP, GPREEMPT_FOLLOW_STOP_NEVER), 0);
	CHECK_EQ_AFTER(20 * MS, preempted(low), false);
	CHECK_EQ(info_of(low).flags, GPREEMPT_QUEUE_STOPS_NEVER);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_FOLLOW_STOP, GPREEMPT_FOLLOW_STOP_NODE), 0);
	CHECK_EQ_AFTER(20 * MS, preempted(low), true);
	CHECK_EQ(set_param(cgroup, GPREEMPT_PARAM_FOLLOW_STOP, GPREEMPT_FOLLOW_STOP_NODE), 0);
	CHECK_EQ_AFTER(20 * MS, preempted(low), false);
	CHECK_EQ(info_of(low).flags, 0);
}

/* What the process of one is told to wait for: that of the other, or none */
static long wait_for(const struct sim_queue *sq, const struct sim_queue *waited_for)
{
	return set_param(process_target(sq), GPREEMPT_PARAM_WAITS_FOR, waited_for ? process_target(waited_for).pid : 0);
}

/* Between low and high; keeps the low one off the device. */
static struct sim_queue *add_working_between(void)
{
	struct sim_queue *between = add_queue(5);

	between->kernel_ns = MS;
	submit_and_run(low, 200, 5 * MS);
	submit_and_run(between, 400, 10 * MS);
	CHECK(preempted(low) && !preempted(between));
	return between;
}

TEST(a_wait_is_declared, "work that a higher program says that it waits for comes before what is between the two, until that is taken back")
{
	struct sim_queue *between;

	begin();
	between = add_working_between();
	CHECK_EQ(wait_for(high, low), 0);
	CHECK_AFTER(10 * MS, !preempted(low) && preempted(between));
	CHECK_EQ(info_of(low).flags, GPREEMPT_QUEUE_LENT);
	CHECK_EQ(info_of(low).effective_priority, NORMAL);
	CHECK_EQ(info_of(low).logical_priority, NORMAL - 10);
	CHECK_EQ(info_of(high).flags, GPREEMPT_QUEUE_WAITS);
	CHECK_EQ(wait_for(high, NULL), 0);
	CHECK_AFTER(10 * MS, preempted(low) && !preempted(between));
	CHECK_EQ(info_of(low).flags | info_of(high).flags, 0);
	CHECK_EQ(info_of(low).effective_priority, NORMAL - 10);
	/* One that was lent a priority passes it on, and one that waits for itself gets none. */
	CHECK_EQ(wait_for(between, low), 0);
	CHECK_EQ(wait_for(high, between), 0);
	CHECK_EQ_AFTER(10 * MS, info_of(low).effective_priority, NORMAL);
	CHECK_EQ(wait_for(between, between), 0);
	CHECK_EQ_AFTER(10 * MS, info_of(low).effective_priority, NORMAL - 10);
}

TEST(a_wait_ends_with_either, "what a program lends ends when its queues, or those that it waits for, go, and when either program has ended; queues made later have it")
{
	struct sim_process *waited_for;
	struct sim_queue *between;

	begin();
	set("gpreempt_drain_us", "0");
	waited_for = process_of(low);
	between = add_working_between();
	CHECK_EQ(wait_for(high, low), 0);
	CHECK_AFTER(10 * MS, !preempted(low) && preempted(between));
	destroy_queue(low);
	CHECK_AFTER(10 * MS, !preempted(between));
	CHECK_EQ(info_of(high).flags, 0);
	low = add_queue_to(waited_for, 0, NORMAL);
	submit_and_run(low, 200, 10 * MS);
	CHECK(!preempted(low) && preempted(between));
	destroy_queue(high);
	CHECK_AFTER(10 * MS, preempted(low) && !preempted(between));

	/* Its settings are dropped with it. */
	high = add_queue(0);
	CHECK_EQ(wait_for(high, low), 0);
	CHECK_EQ_AFTER(10 * MS, info_of(low).flags, GPREEMPT_QUEUE_LENT);
	kill_process(process_of(high));
	CHECK_AFTER(10 * MS, preempted(low));
	CHECK_EQ(info_of(low).flags, 0);
}

TEST(who_may_declare_a_wait, "a user says it of own processes alone, lends no more than such a user may set, and does not take back what was said with rights")
{
	struct sim_queue *between;

	begin();
	between = add_working_between();
	process_of(high)->task.euid = process_of(low)->task.euid = (kuid_t){ 5 };
	process_of(between)->task.euid = (kuid_t){ 6 };
	current->caps = 0;
	current->euid = (kuid_t){ 5 };
	CHECK_EQ(wait_for(between, low), -EACCES);
	CHECK_EQ(wait_for(high, between), -EACCES);
	CHECK_EQ(set_param(process_target(high), GPREEMPT_PARAM_WAITS_FOR, 4711), -ESRCH);
	/* Its nice value leaves as much as it has. */
	CHECK_EQ(wait_for(high, low), 0);
	CHECK_AFTER(10 * MS, preempted(low));
	CHECK_EQ(info_of(low).flags, 0);
	CHECK_EQ(info_of(high).flags, GPREEMPT_QUEUE_WAITS);
	/* With a priority that a user set in place of that it is up to what the user may. */
	process_of(low)->task.nice = 3;
	CHECK_EQ(set_priority(process_target(low), -50, 0), 0);
	CHECK_EQ_AFTER(1100 * MS, info_of(low).effective_priority, NORMAL - 3);
	CHECK_EQ(info_of(low).logical_priority, -50);
	/* What the privileged set for it is a bound. */
	current->caps = CAP_SYS_NICE;
	CHECK_EQ(set_priority(process_target(low), -40, 0), 0);
	CHECK_EQ_AFTER(10 * MS, info_of(low).effective_priority, -40);
	/* Each of the two rights lends all. */
	CHECK_EQ(wait_for(high, low), 0);
	CHECK_EQ_AFTER(10 * MS, info_of(low).effective_priority, NORMAL);
	current->caps = 0;
	CHECK_EQ(wait_for(high, NULL), -EPERM);
	CHECK_EQ(wait_for(high, high), -EPERM);
	current->caps = CAP_SYS_ADMIN;
	CHECK_EQ(wait_for(high, NULL), 0);
	CHECK_EQ_AFTER(10 * MS, info_of(low).effective_priority, -40);
	CHECK_EQ(wait_for(between, low), 0);
	CHECK_EQ_AFTER(10 * MS, info_of(low).effective_priority, NORMAL - 5);
	current->euid = (kuid_t){ 0 };
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
}

TEST(an_exempt_queue_is_refused_at_once, "a hold on a queue of an exempt process does not wait for what never comes, also before a pass has taken that in")
{
	u64 began_ns;

	begin();
	submit_and_run(low, 50, 10 * MS);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_EXEMPT, 1), 0);
	began_ns = ktime_get_ns();
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .timeout_ms = 500)), -EPERM);
	CHECK(ktime_get_ns() - began_ns < 10 * MS);
	CHECK(!low->q.gpreempt->hold.any);
	run(20 * MS);
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = process_target(low), .timeout_ms = 500)), -EPERM);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_EXEMPT, 0), 0);
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .timeout_ms = 500)), 0);
	CHECK(preempted(low));
	CHECK_EQ(command(GPREEMPT_IOC_RESUME, HOLD(.target = queue_target(low))), 0);
}

/* Has a pass under way. */
static struct task_struct somebody;

TEST(list_tells_all, "each member of a listed queue says what it is documented to say")
{
	struct gpreempt_queue_info info;

	begin();
	high->q.properties.queue_address = 0x7700000;
	update_queue(high, 5);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_WEIGHT, 300), 0);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_DEADLINE_US, 500), 0);
	CHECK_EQ(set_param(queue_target(high), GPREEMPT_PARAM_WEIGHT, 7), 0);
	CHECK_EQ(set_param(queue_target(high), GPREEMPT_PARAM_DEADLINE_US, 30), 0);
	CHECK_EQ(set_priority(queue_target(high), 6, 0), 0);
	run(6 * MS);
	info = info_of(high);
	CHECK(info.pid == 101 && info.gpu_id == 1000 && info.queue_id == 1);
	CHECK_EQ(info.flags, 0);
	CHECK(info.logical_priority == 6 && info.effective_priority == 6 && info.kfd_priority == 5);
	CHECK_EQ(info.source, GPREEMPT_SOURCE_QUEUE);
	CHECK_EQ(info.ring_base, 0x7700000);
	CHECK(info.weight == 7 && info.deadline_us == 30);
	CHECK(info.preempt_count == 0 && info.preempted_us == 0);
	CHECK_EQ(info.state, GPREEMPT_QUEUE_IDLE);
	info = info_of(low);
	CHECK(info.weight == 300 && info.deadline_us == 500);
	CHECK(!low->q.gpreempt->policy.set.explicit_priority);
	CHECK_EQ(set_priority(queue_target(low), NORMAL - 10, 0), 0);
	CHECK_AFTER(6 * MS, low->q.gpreempt->policy.set.explicit_priority);
	CHECK(high->q.gpreempt->policy.set.own_priority == 6 && high->q.gpreempt->policy.set.explicit_priority);

	/* Flags, one by one and all together. */
	EACH(i, 512, "flags %x: ", i) {
		struct gpreempt_queue *gq = high->q.gpreempt;

		CHECK(!mutex_is_locked(&node_of(0)->pass_lock));
		node_of(0)->pass_lock.owner = &somebody;
		gq->hold.any = i & GPREEMPT_QUEUE_HELD;
		gq->policy.seen.blocked = i & GPREEMPT_QUEUE_BLOCKED;
		gq->policy.process->opt_out = i & GPREEMPT_QUEUE_EXEMPT;
		blind(high, i & GPREEMPT_QUEUE_UNSCHEDULED);
		high->q.properties.is_evicted = i & GPREEMPT_QUEUE_EVICTED;
		debug_process(process_of(high), i & GPREEMPT_QUEUE_DEBUGGED);
		high->q.properties.is_suspended = i & GPREEMPT_QUEUE_SUSPENDED;
		gq->process->priority.follow_stop = i >> 7;
		info = info_of(high);
		gq->hold.any = gq->policy.seen.blocked = gq->policy.process->opt_out = false;
		blind(high, false);
		high->q.properties.is_evicted = false;
		high->q.properties.is_suspended = false;
		debug_process(process_of(high), false);
		node_of(0)->pass_lock.owner = current;
		mutex_unlock(&node_of(0)->pass_lock);
		CHECK_EQ(info.flags, i >> 7 == 3 ? i & 127 : i);
	}

	submit_and_run(low, 200, MS);
	run_kernels(high, 2, 20 * MS, 12 * MS);
	info = info_of(low);
	CHECK_EQ(info.state, GPREEMPT_QUEUE_PREEMPTED);
	CHECK_EQ(info.preempt_count, 1);
	CHECK_EQ(info.preempted_us, gpreempt_stats_preempted_ns(low->q.gpreempt) / 1000);
	CHECK(info.pending > 100);
	info = info_of(high);
	CHECK(info.state == GPREEMPT_QUEUE_ACTIVE && info.pending == 1 && info.waves == 1);
}

/* Low's verdict as a pass might have left it; the monitor does not change it before the end. */
static struct gpreempt_queue_info judged(enum gpreempt_verdict verdict, u64 until_ns)
{
	struct gpreempt_policy_queue *pq = &low->q.gpreempt->policy;
	struct gpreempt_queue_info info;

	CHECK(!mutex_is_locked(&node_of(0)->pass_lock));
	node_of(0)->pass_lock.owner = &somebody;
	pq->verdict = verdict;
	pq->verdict_ns = ktime_get_ns() - 3 * MS;
	pq->until_ns = until_ns;
	info = info_of(low);
	node_of(0)->pass_lock.owner = current;
	mutex_unlock(&node_of(0)->pass_lock);
	return info;
}

TEST(list_tells_why, "a listed queue has its verdict, since when, for how much longer at most, and to whom it yields")
{
	static const enum gpreempt_verdict yielding[] = {
		GPREEMPT_VERDICT_EXEMPT, GPREEMPT_VERDICT_OBSTACLE, GPREEMPT_VERDICT_MIN_RUN, GPREEMPT_VERDICT_BUDGET, GPREEMPT_VERDICT_OBSERVED,
		GPREEMPT_VERDICT_DRAINS, GPREEMPT_VERDICT_YIELDS, GPREEMPT_VERDICT_AGEING,
	};
	struct gpreempt_policy_queue *pq;
	struct gpreempt_queue_info info;

	begin();
	info = info_of(low);
	CHECK(info.verdict == GPREEMPT_VERDICT_DORMANT && info.verdict_us > 0 && info.left_us == ~0U && !info.to_pid);
	submit_and_run(low, 200, MS);
	run_kernels(high, 4, 20 * MS, 12 * MS);
	info = info_of(low);
	CHECK_EQ(info.verdict, GPREEMPT_VERDICT_YIELDS);
	CHECK(info.verdict_us > 6000 && info.verdict_us <= 12000);
	/* Until it is owed a turn */
	CHECK(info.left_us > 1000 && info.left_us + info.verdict_us < 1001000);
	CHECK(info.to_pid == 101 && info.to_queue_id == 1 && info.to_priority == NORMAL && info.to_pending == 3);
	info = info_of(high);
	CHECK(info.verdict == GPREEMPT_VERDICT_RUNS && info.left_us == ~0U);
	CHECK(!info.to_pid && !info.to_queue_id && !info.to_priority && !info.to_pending);

	pq = &high->q.gpreempt->policy;
	EACH(i, ARRAY_SIZE(yielding), "verdict %u: ", yielding[i]) {
		info = judged(yielding[i], ~0ULL);
		CHECK(info.verdict == yielding[i] && info.to_pid == 101 && info.to_pending == 3);
	}
	CHECK_EQ(judged(GPREEMPT_VERDICT_RESUME_DELAYED, 0).to_pid, 0);
	/* It is held, and would not have to yield. */
	low->q.gpreempt->policy.missing = 0;
	CHECK_EQ(judged(GPREEMPT_VERDICT_OBSTACLE, 0).to_pid, 0);
	low->q.gpreempt->policy.missing = 10;
	info = judged(GPREEMPT_VERDICT_OWN_PROCESS, 0);
	CHECK(info.to_pid == 100 && info.to_queue_id == ~0U);
	pq->verdict = GPREEMPT_VERDICT_RELIEF;
	CHECK_EQ(judged(GPREEMPT_VERDICT_YIELDS, 0).to_priority, GPREEMPT_PRIORITY_MAX + 1);
	pq->verdict = GPREEMPT_VERDICT_RUNS;
	pq->leads = false;
	CHECK_EQ(judged(GPREEMPT_VERDICT_YIELDS, 0).to_pid, 0);
	/* Between two passes it may be read as what it just was. */
	low->q.gpreempt->policy.leads = true;
	CHECK_EQ(judged(GPREEMPT_VERDICT_YIELDS, 0).to_pid, 0);

	/* Times. */
	info = judged(GPREEMPT_VERDICT_HOLD, ktime_get_ns() + 7 * MS);
	CHECK(info.verdict_us == 3000 && info.left_us == 7000);
	CHECK_EQ(judged(GPREEMPT_VERDICT_HOLD, ktime_get_ns() - MS).left_us, 0);
	CHECK_EQ(judged(GPREEMPT_VERDICT_HOLD, ~0ULL).left_us, ~0U);
	CHECK_EQ(judged(GPREEMPT_VERDICT_HOLD, ~0ULL - 1).left_us, ~0U - 1);
	node_of(0)->policy.paid_ns = ktime_get_ns() + 5 * MS;
	CHECK_EQ(judged(GPREEMPT_VERDICT_BUDGET, ~0ULL).left_us, 5000);
	info = judged(GPREEMPT_VERDICT_NONE, 0);
	CHECK(info.verdict == GPREEMPT_VERDICT_NONE && !info.verdict_us && info.left_us == ~0U);
}

TEST(list_knows_better_than_the_last_look, "whether a queue that may run has work is looked at for the list, and whether the driver lets it")
{
	static const enum gpreempt_verdict free[] = {
		GPREEMPT_VERDICT_RUNS, GPREEMPT_VERDICT_NO_DEMAND, GPREEMPT_VERDICT_DORMANT, GPREEMPT_VERDICT_DRIVER,
	};
	struct gpreempt_queue_info info;

	begin();
	EACH(i, ARRAY_SIZE(free), "verdict %u: ", free[i]) {
		info = judged(free[i], ~0ULL);
		CHECK_EQ(info.state, GPREEMPT_QUEUE_IDLE);
		CHECK_EQ(info.verdict, free[i] == GPREEMPT_VERDICT_DORMANT ? free[i] : GPREEMPT_VERDICT_NO_DEMAND);
		CHECK_EQ(info.verdict_us, info.verdict == free[i] ? 3000 : 0);
		low->q.properties.is_active = false;
		info = judged(free[i], ~0ULL);
		low->q.properties.is_active = true;
		CHECK_EQ(info.verdict, GPREEMPT_VERDICT_DRIVER);
	}
	submit_and_run(low, 20, MS);
	for (u32 i = 0; i < ARRAY_SIZE(free); i++)
		CHECK_EQ(judged(free[i], ~0ULL).verdict, GPREEMPT_VERDICT_RUNS);
	CHECK_EQ(judged(GPREEMPT_VERDICT_BLOCKED, ~0ULL).verdict, GPREEMPT_VERDICT_BLOCKED);
}

TEST(verdicts_do_not_tell_of_others, "without CAP_SYS_ADMIN a queue's verdict does not say to whom else's it yields; to one's own it does")
{
	struct gpreempt_queue_info info;

	begin();
	submit_and_run(low, 200, MS);
	run_kernels(high, 4, 20 * MS, 12 * MS);
	CHECK_EQ(info_of(low).to_pid, 101);
	current->caps = CAP_SYS_NICE;
	current->euid.val = 5;
	process_of(low)->task.euid.val = 5;
	info = info_of(low);
	CHECK(info.verdict == GPREEMPT_VERDICT_YIELDS && info.verdict_us && info.left_us);
	CHECK(!info.to_pid && !info.to_queue_id && !info.to_priority && !info.to_pending);
	process_of(high)->task.euid.val = 5;
	info = info_of(low);
	CHECK(info.to_pid == 101 && info.to_queue_id == 1 && info.to_priority == NORMAL && info.to_pending == 3);
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
}

TEST(list_looks_at_waves, "whether an empty ring's last kernel runs is looked at for the list, on the node that is asked about; the youngest answer is shown")
{
	struct gpreempt_list list = { .target = everything };
	struct gpreempt_queue_info infos[4], info;
	struct gpreempt_queue *gq;

	world_on_nodes(true, 2);
	low = add_queue(0);
	high = add_queue_to(process_of(low), 1, NORMAL);
	low->kernel_ns = high->kernel_ns = 100 * MS;
	submit(low, 1);
	submit_and_run(high, 1, 20 * MS);
	open_own_file();
	CHECK(!low->q.gpreempt->waves.seen_ns && !high->q.gpreempt->waves.seen_ns);
	/* Nobody wants to see a queue: nobody looks. */
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), 0);
	CHECK_EQ(list.nr_queues, 2);
	CHECK(!low->q.gpreempt->waves.seen_ns && !high->q.gpreempt->waves.seen_ns);
	info = info_of(low);
	CHECK(info.waves == 1 && info.pending == 0 && info.state == GPREEMPT_QUEUE_ACTIVE);
	CHECK_EQ(low->q.gpreempt->waves.seen_ns, ktime_get_ns());
	CHECK(!high->q.gpreempt->waves.seen_ns);
	list = (struct gpreempt_list){ .target = everything, .nr_queues = 4, .queues = (unsigned long)infos };
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), 0);
	CHECK_EQ(list.nr_queues, 2);
	CHECK_EQ(high->q.gpreempt->waves.seen_ns, ktime_get_ns());
	CHECK(infos[1].waves == 1 && infos[1].gpu_id == 1001);

	/* While nobody may look: what was seen before, or what the monitor knows, if that is younger. */
	gq = low->q.gpreempt;
	gq->waves.seen = 5;
	CHECK(!mutex_is_locked(&node_of(0)->waves.see_lock));
	node_of(0)->waves.see_lock.owner = &somebody;
	gq->policy.seen.waves_ns = 1;
	gq->policy.seen.waves = 3;
	fsleep(2 * GPREEMPT_WAVES_SEE_NS / US);
	CHECK_EQ(info_of(low).waves, 5);
	gq->policy.seen.waves_ns = gq->waves.seen_ns + 1;
	CHECK_EQ(info_of(low).waves, 3);
	gq->policy.seen.waves_ns = 0;
	CHECK_EQ(info_of(low).waves, 5);
	gq->waves.seen_ns = 0;
	info = info_of(low);
	CHECK(info.waves == ~0U && info.state == GPREEMPT_QUEUE_IDLE);
	gq->policy.seen.waves_ns = 1;
	gq->policy.seen.waves = 0;
	CHECK_EQ(info_of(low).state, GPREEMPT_QUEUE_IDLE);
	node_of(0)->waves.see_lock.owner = current;
	mutex_unlock(&node_of(0)->waves.see_lock);
}

TEST(lists_are_as_long_as_asked, "no more is written than there is room for, and how many there are is told all the same")
{
	struct gpreempt_queue_info infos[3];
	struct gpreempt_list list;
	struct gpreempt_node_info nodes[3];
	struct gpreempt_info info;

	NEEDS(ACCOUNT);
	NEEDS(SHARES);
	NEEDS(JOBS);
	NEEDS(POLICIES);
	world_on_nodes(true, 2);
	add_rivals(10, 0);
	add_queue(0);
	low->kernel_ns = high->kernel_ns = 20 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit_and_run(low, 1, MS);
	submit_and_run(high, 3, 10 * MS);
	CHECK(preempted(low));
	open_own_file();
	EACH(i, 4, "room for %u: ", i) {
		memset(infos, 0x55, sizeof(infos));
		list = (struct gpreempt_list){ .target = everything, .nr_queues = i, .queues = (unsigned long)infos };
		CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), 0);
		CHECK_EQ(list.nr_queues, 3);
		CHECK(i == 3 || infos[i].gpu_id == 0x55555555);
		CHECK(!i || infos[i - 1].gpu_id == 1000);
		memset(nodes, 0x55, sizeof(nodes));
		info = (struct gpreempt_info){ .nr_nodes = i, .nodes = (unsigned long)nodes };
		CHECK_EQ(command(GPREEMPT_IOC_INFO, &info), 0);
		CHECK_EQ(info.nr_nodes, 2);
		CHECK(i >= 2 || nodes[i].gpu_id == 0x55555555);
		CHECK(!i || nodes[0].gpu_id == 1000);
	}
	CHECK_EQ(info.abi_version, GPREEMPT_ABI_VERSION);
	CHECK_EQ(info.features, GPREEMPT_FEATURE_PREEMPT | GPREEMPT_FEATURE_CGROUP | GPREEMPT_FEATURE_EVENTS | GPREEMPT_FEATURE_HINT |
				GPREEMPT_FEATURE_INHERIT | GPREEMPT_FEATURE_JOB | GPREEMPT_FEATURE_SHARE |
				GPREEMPT_FEATURE_USAGE | GPREEMPT_FEATURE_WAITS_FOR | GPREEMPT_FEATURE_FITS);
	CHECK_EQ(nodes[0].state, gpreempt_node_state(node_of(0)));
	CHECK(nodes[0].nr_queues == 3 && nodes[0].nr_preempted == 1 && nodes[0].preemptions == 1 && nodes[0].resumes == 0);
	CHECK_EQ(nodes[0].failures, 0);
	CHECK(nodes[1].nr_queues == 0 && nodes[1].nr_preempted == 0 && nodes[1].gpu_id == 1001);
	set("gpreempt_max_hold_ms", "0");
	CHECK(run_until_idle(low, SEC));
	atomic64_set(&stats()->failed[GPREEMPT_FAILURE_MAP], 3);
	CHECK_EQ(command(GPREEMPT_IOC_INFO, &(struct gpreempt_info){ .nr_nodes = 1, .nodes = (unsigned long)nodes }), 0);
	CHECK(nodes[0].nr_preempted == 0 && nodes[0].resumes == 1 && nodes[0].failures == 3);
	/* Each member that is only told has to be 0. */
	CHECK_EQ(command(GPREEMPT_IOC_INFO, &(struct gpreempt_info){ .features = 1 }), -EINVAL);
	CHECK_EQ(command(GPREEMPT_IOC_INFO, &(struct gpreempt_info){ .event_size = 1 }), -EINVAL);
	CHECK_EQ(command(GPREEMPT_IOC_INFO, &(struct gpreempt_info){ .reserved = { 1 } }), -EINVAL);
	/* What cannot be told is an error, unless there is another one. */
	shim_read_only = true;
	CHECK_EQ(command(GPREEMPT_IOC_INFO, &(struct gpreempt_info){ 0 }), -EFAULT);
	CHECK_EQ(command(GPREEMPT_IOC_INFO, &(struct gpreempt_info){ .flags = 1 }), -EINVAL);
	/* Nothing comes back from this one. */
	CHECK_EQ(set_priority(process_target(low), 3, 0), 0);
	shim_read_only = false;
}

TEST(bounds_are_within, "the largest and the smallest value of each bound are allowed")
{
	begin();
	CHECK_EQ(set_priority(process_target(low), 1023, 0), 0);
	CHECK_EQ(priority_of(low), 1023);
	CHECK_EQ(set_priority(process_target(low), -1023, 0), 0);
	CHECK_EQ(priority_of(low), -1023);
	CHECK_EQ(set_param(queue_target(low), GPREEMPT_PARAM_WEIGHT, 10000), 0);
	CHECK_EQ(set_param(queue_target(low), GPREEMPT_PARAM_DEADLINE_US, 3600000000ULL), 0);
	CHECK_EQ(announce(process_target(low), 1000000), 0);
	CHECK_EQ(command(GPREEMPT_IOC_RESUME, HOLD(.target = queue_target(low), .nr_off = 1)), -EINVAL);
	CHECK_EQ(command(GPREEMPT_IOC_RESUME, HOLD(.target = queue_target(low), .reserved = { 0, 1 })), -EINVAL);
}

TEST(each_parameter_is_one, "a parameter changes nothing but itself, and each alone is remembered until it is cleared")
{
	const struct gpreempt_policy_process *pp;
	int allocated;

	begin();
	pp = &low->q.gpreempt->process->policy;
	allocated = shim_allocated;
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_DEADLINE_US, 77), 0);
	CHECK_AFTER(6 * MS, pp->deadline_ns == 77 * US && !pp->weight && !pp->opt_out);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_DEADLINE_US, 0), 0);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_WEIGHT, 55), 0);
	CHECK_AFTER(6 * MS, !pp->deadline_ns && pp->weight == 55 && !pp->opt_out);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_WEIGHT, 0), 0);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_EXEMPT, 1), 0);
	CHECK_AFTER(6 * MS, !pp->deadline_ns && !pp->weight && pp->opt_out);
	CHECK_EQ(set_param(process_target(low), GPREEMPT_PARAM_EXEMPT, 0), 0);
	CHECK_AFTER(6 * MS, !pp->opt_out);
	/* Nothing is remembered of who has nothing set. */
	CHECK_EQ(shim_allocated, allocated);
	CHECK_EQ(set_priority(process_target(low), 5, 0), 0);
	run(6 * MS);
	allocated = shim_allocated;
	current->caps = 0;
	current->euid.val = process_of(low)->task.euid.val;
	CHECK_EQ(set_priority(process_target(low), 3, 0), -EPERM);
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
	CHECK_EQ_AFTER(6 * MS, shim_allocated, allocated);
	CHECK_EQ(priority_of(low), 5);
}

TEST(either_right_is_a_privilege, "what was set with either right is not changed by somebody without, who may set what nobody did")
{
	begin();
	EACH(i, 3, "rights %u: ", i) {
		current->caps = i == 0 ? CAP_SYS_ADMIN : i == 1 ? CAP_SYS_NICE : 0;
		CHECK_EQ(set_priority(process_target(low), 3, 0), 0);
		current->caps = 0;
		CHECK_EQ(set_priority(process_target(low), 2, 0), i == 2 ? 0 : -EPERM);
		current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
		CHECK_EQ(set_priority(process_target(low), 0, GPREEMPT_PRIORITY_CLEAR), 0);
	}
}

TEST(each_process_has_its_own, "of many processes with settings each has its own, and of a cgroup that is gone nothing is left")
{
	struct sim_queue *queues[40];

	begin();
	EACH(i, 28, "case %u: ", i) {
		queues[i] = add_queue(0);
		CHECK_EQ(set_priority(process_target(queues[i]), -(s32)i - 20, 0), 0);
	}
	run(6 * MS);
	EACH(i, 28, "case %u: ", i)
		CHECK_EQ(queues[i]->q.gpreempt->policy.set.priority, -(s32)i - 20);
	CHECK_EQ(set_priority((struct gpreempt_target){ .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 2 }, 4, 0), 0);
	CHECK_EQ(priority_of(low), 4);
	/* It is there: whatever else is changed, it stays. */
	CHECK_EQ(set_priority(process_target(high), 3, 0), 0);
	CHECK_EQ(priority_of(low), 4);
	world_cgroup(2)->gone = true;
	CHECK_EQ(set_priority(process_target(high), 2, 0), 0);
	run(1100 * MS);
	world_cgroup(2)->gone = false;
	gpreempt_node_kick_all();
	CHECK_EQ(priority_of(low), NORMAL - 10);
	CHECK_EQ(priority_of(high), 2);
}

/* ---- holds ---- */

static struct sim_queue *second;

/* Low's process has another queue. */
static void begin_with_two(void)
{
	begin();
	second = add_queue_to(process_of(low), 0, NORMAL);
	submit(low, 200);
	submit_and_run(second, 200, 2 * MS);
}

TEST(holds_of_several_queues, "a hold of a process is one of each of its queues, whichever of them was held before; so is its end")
{
	struct sim_queue *before;
	u64 began_ns;

	EACH_ANEW(i, 2, "queue %u: ", i) {
		begin_with_two();
		before = i ? second : low;
		began_ns = ktime_get_ns();
		CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(before), .timeout_ms = 100)), 0);
		/* At once, not with the next look. */
		CHECK(ktime_get_ns() - began_ns < MS);
		CHECK(preempted(before) && preempted(low) != preempted(second));
		run(MS);
		/* Of the one that is asked for, whatever else the caller holds. */
		CHECK_EQ(nr_of(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(high), .timeout_ms = 100)), 1);
		run(MS);
		CHECK_EQ(nr_of(GPREEMPT_IOC_PREEMPT, HOLD(.target = process_target(low), .timeout_ms = 100)), 2);
		CHECK(preempted(low) && preempted(second));
		CHECK_EQ(nr_of(GPREEMPT_IOC_RESUME, HOLD(.target = queue_target(before))), 1);
		CHECK_AFTER(MS, !preempted(before) && preempted(low) != preempted(second));
		/* One of the two is held. */
		CHECK_EQ(nr_of(GPREEMPT_IOC_RESUME, HOLD(.target = process_target(low))), 1);
		CHECK_EQ(nr_of(GPREEMPT_IOC_RESUME, HOLD(.target = process_target(low))), 0);
		run(MS);
		CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = process_target(low), .timeout_ms = 100)), 0);
		CHECK_EQ(nr_of(GPREEMPT_IOC_RESUME, HOLD(.target = process_target(low))), 2);
		CHECK_AFTER(MS, !preempted(low) && !preempted(second));
	}
}

TEST(holds_are_all_or_nothing, "where one queue cannot be held none is, be it for memory or for the driver; that its pointers cannot be read is no reason")
{
	begin_with_two();
	shim_fail_alloc = 2;
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = process_target(low), .timeout_ms = 100)), -ENOMEM);
	shim_fail_alloc = 0;
	CHECK(!low->q.gpreempt->hold.any && !second->q.gpreempt->hold.any);
	node_of(0)->monitor.state = GPREEMPT_STATE_FAILED;
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = process_target(low), .timeout_ms = 100)), -EOPNOTSUPP);
	CHECK(!low->q.gpreempt->hold.any);
	node_of(0)->monitor.state = GPREEMPT_STATE_PARKED;
	blind(second, true);
	CHECK_EQ(nr_of(GPREEMPT_IOC_PREEMPT, HOLD(.target = process_target(low), .timeout_ms = 100)), 2);
	CHECK(preempted(low) && preempted(second));
	blind(second, false);
}

TEST(a_hold_of_a_process_is_one_runlist, "a hold of a process is one runlist on each of its devices, however many queues work there, and so is its end")
{
	u64 runlists[2];

	/* The monitor runs the moment that it is woken up, whatever its caller is about to do. */
	EACH_ANEW(i, 16, "%u: ", i) {
		u32 nr_nodes = 1 + i / 8, nr_queues = 1 + i % 8, n;

		world_on_nodes(true, nr_nodes);
		low = add_queue_to(add_process(10), 0, NORMAL);
		for (n = 1; n < nr_queues * nr_nodes; n++)
			add_queue_to(process_of(low), n % nr_nodes, NORMAL);
		EACH_QUEUE(sq) {
			sq->kernel_ns = MS;
			submit(sq, 200);
		}
		/* The driver builds no runlist for a device without queues. */
		for (n = 0; n < nr_nodes; n++)
			add_queue_to(add_process(10), n, NORMAL);
		run(20 * MS);
		open_own_file();
		shim_wakes_at_once = true;
		for (n = 0; n < nr_nodes; n++)
			runlists[n] = world.nodes[n].runlists;
		CHECK_EQ(nr_of(GPREEMPT_IOC_PREEMPT, HOLD(.target = process_target(low), .timeout_ms = 100)), nr_queues * nr_nodes);
		run(5 * MS);
		for (n = 0; n < nr_nodes; n++)
			CHECK_EQ(world.nodes[n].runlists, runlists[n] + 1);
		if (i & 1)
			CHECK_EQ(nr_of(GPREEMPT_IOC_RESUME, HOLD(.target = process_target(low))), nr_queues * nr_nodes);
		else
			close_file(&file);
		CHECK_AFTER(5 * MS, !preempted(low));
		for (n = 0; n < nr_nodes; n++)
			CHECK_EQ(world.nodes[n].runlists, runlists[n] + 2);
		shim_wakes_at_once = false;
		if (!(i & 1))
			open_file(&file);
	}
}

TEST(an_announcement_is_one_look, "work that is announced for all queues of a process is looked at when all of it is announced")
{
	u64 checks;

	begin_with_two();
	run(400 * MS);
	checks = atomic64_read(&stats()->checks);
	shim_wakes_at_once = true;
	CHECK_EQ(announce(process_target(low), 20000), 0);
	shim_wakes_at_once = false;
	CHECK_EQ(atomic64_read(&stats()->checks), checks + 1);
	CHECK_EQ(second->q.gpreempt->policy.set.expected_until_ns, second->q.gpreempt->expected_until_ns);
}

static u32 nr_locks;

static void count_locks(const struct mutex *lock)
{
	nr_locks += lock == &gpreempt_lock;
}

TEST(an_announcement_takes_no_lock, "who announces work in a loop keeps no new queue waiting")
{
	begin_with_two();
	nr_locks = 0;
	shim_at_lock = count_locks;
	CHECK_EQ(announce(process_target(low), 20000), 0);
	shim_at_lock = NULL;
	CHECK_EQ(nr_locks, 0);
	CHECK(second->q.gpreempt->expected_until_ns);
}

/* ---- memory of holds ---- */

static bool asked_under_lock, late_queue;
static u32 nr_asked;

static void looks_at_lock(void)
{
	nr_asked++;
	asked_under_lock |= lockdep_is_held(&gpreempt_lock);
	if (!late_queue)
		return;
	late_queue = false;
	add_queue_to(process_of(low), 0, NORMAL);
}

static int holds_low(void *unused)
{
	CHECK_EQ(nr_of(GPREEMPT_IOC_PREEMPT, HOLD(.target = process_target(low), .timeout_ms = 100)), world.nr_queues - 1);
	return 0;
}

TEST(memory_of_holds_is_waited_for_without_the_lock, "while a hold waits for memory of its caller, queues come and go, and one that comes meanwhile is held as well")
{
	struct task_struct *task;

	EACH_ANEW(i, 2, "late %u: ", i) {
		begin_with_two();
		late_queue = i;
		nr_asked = 0;
		asked_under_lock = false;
		task = kthread_create(holds_low, NULL, "holder");
		shim_while_allocating = looks_at_lock;
		wake_up_process(task);
		run(20 * MS);
		shim_while_allocating = NULL;
		kthread_stop(task);
		CHECK(nr_asked >= 2);
		/* A new queue's own memory may be. */
		CHECK(i || !asked_under_lock);
		EACH_QUEUE(sq)
			CHECK_EQ(sq->q.gpreempt->hold.any, sq != high);
	}
}

/* ---- a resume that waits ---- */

static bool device_has_read(u32 node)
{
	return node_of(node)->backend->taken_in(node_of(node));
}

static struct gpreempt_hold resume_low;
static long resumed_low;
static bool is_mapped, has_returned;

static int gives_low_back(void *unused)
{
	resume_low = (struct gpreempt_hold){ .target = process_target(low), .timeout_ms = 20 };
	resumed_low = command(GPREEMPT_IOC_RESUME, &resume_low);
	is_mapped = !preempted(low) && !preempted(second) && device_has_read(0);
	has_returned = true;
	return 0;
}

/* Waits until low is back, while the device goes on. */
static long give_low_back(void)
{
	struct task_struct *task = kthread_create(gives_low_back, NULL, "client");

	task->caps = current->caps;
	has_returned = false;
	wake_up_process(task);
	while (!has_returned)
		run(20 * US);
	kthread_stop(task);
	return resumed_low;
}

static void low_is_held(void)
{
	CHECK_EQ(nr_of(GPREEMPT_IOC_PREEMPT, HOLD(.target = process_target(low), .timeout_ms = 100)), 2);
	CHECK(preempted(low) && preempted(second));
}

TEST(a_resume_waits_until_queues_are_mapped, "a resume with a timeout returns when the device has read the runlist with all queues, one without at once")
{
	begin_with_two();
	world.nodes[0].read_us = 700;
	low_is_held();
	CHECK_EQ(nr_of(GPREEMPT_IOC_RESUME, HOLD(.target = process_target(low))), 2);
	CHECK(preempted(low));
	CHECK_EQ(give_low_back(), 0);
	/* Another has ended the hold. */
	CHECK_EQ(resume_low.nr_queues, 0);
	CHECK_EQ(resume_low.nr_off, 0);
	CHECK(is_mapped);

	low_is_held();
	CHECK_EQ(give_low_back(), 0);
	CHECK_EQ(resume_low.nr_queues, 2);
	CHECK_EQ(resume_low.nr_off, 0);
	CHECK(is_mapped);
	/* On the device already. */
	CHECK_EQ(give_low_back(), 0);
	CHECK_EQ(resume_low.nr_off, 0);
}

TEST(a_resume_waits_for_no_other, "a resume does not wait for what another holds, the scheduler outranks or the driver keeps off, and says how many that are")
{
	begin_with_two();
	open_file(&other);
	low_is_held();
	CHECK_EQ(file_command(&other, GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(second), .timeout_ms = 100)), 0);
	CHECK_EQ(give_low_back(), 0);
	CHECK_EQ(resume_low.nr_queues, 2);
	CHECK_EQ(resume_low.nr_off, 1);
	CHECK(!preempted(low) && preempted(second));
	close_file(&other);
	CHECK_EQ(give_low_back(), 0);
	CHECK_EQ(resume_low.nr_off, 0);

	low_is_held();
	run_kernels(high, 40, MS, MS);
	CHECK_EQ(give_low_back(), 0);
	CHECK_EQ(resume_low.nr_off, 2);
	CHECK(preempted(low) && preempted(second) && !low->q.gpreempt->hold.any);
	CHECK_AFTER(100 * MS, !preempted(low));

	/* One queue, then all of the process. */
	suspend_queue(second, true);
	CHECK_EQ(nr_of(GPREEMPT_IOC_PREEMPT, HOLD(.target = process_target(low), .timeout_ms = 100)), 2);
	CHECK_EQ(give_low_back(), 0);
	CHECK_EQ(resume_low.nr_off, 1);
	suspend_queue(second, false);

	evict_queue(second, true);
	CHECK_EQ(nr_of(GPREEMPT_IOC_PREEMPT, HOLD(.target = process_target(low), .timeout_ms = 100)), 2);
	CHECK_EQ(give_low_back(), 0);
	CHECK_EQ(resume_low.nr_off, 2);
	evict_queue(second, false);
}

TEST(a_resume_times_out, "a resume that cannot be carried out in time says so, its holds have ended all the same, and a second one waits for the same")
{
	begin_with_two();
	low_is_held();
	dqm_lock(&world.nodes[0].dqm);
	CHECK_EQ(give_low_back(), -ETIME);
	CHECK_EQ(resume_low.nr_queues, 2);
	CHECK_EQ(resume_low.nr_off, 2);
	CHECK(!low->q.gpreempt->hold.any);
	dqm_unlock(&world.nodes[0].dqm);
	CHECK_EQ(give_low_back(), 0);
	CHECK(is_mapped);

	/* The device is told, and does not read. */
	low_is_held();
	world.nodes[0].read_us = 50000;
	world.nodes[0].unread_until_ns = ktime_get_ns() + 50 * MS;
	world.nodes[0].hiq.pending_wptr += 64;
	CHECK_EQ(give_low_back(), -ETIME);
	CHECK_EQ(resume_low.nr_off, 2);
	CHECK(!preempted(low));
	world.nodes[0].read_us = 0;
	run(50 * MS);

	/* It is suspended, and so it is not known. */
	low_is_held();
	suspend();
	CHECK_EQ(give_low_back(), -ETIME);
	resume();
	CHECK_EQ(give_low_back(), 0);
}

TEST(a_resume_of_what_goes, "a resume waits for no queue that ends, and for no node that has failed and given back all")
{
	struct task_struct *task;
	u64 began_ns;

	begin_with_two();
	kill_process(process_of(high));
	CHECK_EQ(nr_of(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .timeout_ms = 100)), 1);
	world.nodes[0].error = -EIO;
	task = kthread_create(destroy_low, NULL, "destroyer");
	wake_up_process(task);
	began_ns = ktime_get_ns();
	CHECK_EQ(command(GPREEMPT_IOC_RESUME, HOLD(.target = queue_target(low), .timeout_ms = 5000)), 0);
	CHECK(ktime_get_ns() - began_ns < SEC);
	kthread_stop(task);
	world.nodes[0].error = 0;
	evict_and_restore(second);
	run(20 * MS);

	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(second), .timeout_ms = 100)), 0);
	world.nodes[0].error = -ENOMEM;
	CHECK_AFTER(SEC, state_is("failed") || preempted(second));
	world.nodes[0].error = 0;
	CHECK_EQ(command(GPREEMPT_IOC_RESUME, HOLD(.target = queue_target(second), .timeout_ms = 1000)), 0);
	CHECK(!preempted(second));
}

TEST(holds_add_up, "a hold is without end if any of them is, whoever asked first; what somebody asked for twice he ends once")
{
	EACH_ANEW(i, 3, "case %u: ", i) {
		begin_with_two();
		open_file(&other);
		CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .timeout_ms = 100, .flags = i == 0 ? GPREEMPT_HOLD_UNBOUNDED : 0)), 0);
		CHECK_EQ(low->q.gpreempt->hold.unbounded, i == 0);
		CHECK_EQ(file_command(&other, GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .timeout_ms = 100, .flags = i == 1 ? GPREEMPT_HOLD_UNBOUNDED : 0)), 0);
		CHECK_EQ(low->q.gpreempt->hold.unbounded, i < 2);
		/* Again, without: that is no end of what was asked for. */
		CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .timeout_ms = 100)), 0);
		CHECK_EQ(low->q.gpreempt->hold.unbounded, i < 2);
		CHECK_EQ(list_count_nodes(&PART(struct gpreempt_queue_holds, hold, QUEUE, low->q.gpreempt)->list), 2);
		/* Nor does it lose the rights that it was asked for with. */
		current->caps = 0;
		current->euid = process_of(low)->task.euid;
		CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .timeout_ms = 100)), 0);
		CHECK_EQ(command(GPREEMPT_IOC_RESUME, HOLD(.target = queue_target(low), .flags = GPREEMPT_HOLD_EVERYBODYS)), -EPERM);
		current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
		CHECK_EQ(list_count_nodes(&PART(struct gpreempt_queue_holds, hold, QUEUE, low->q.gpreempt)->list), 2);
		close_file(&other);
	}
}

TEST(holds_have_a_limit, "without rights a queue is held 64 times at most; who holds it already is not one more")
{
	static struct file files[66];

	begin();
	current->caps = 0;
	current->euid = process_of(low)->task.euid;
	EACH(i, 66, "hold %u: ", i) {
		open_file(&files[i]);
		current->caps = i == 65 ? CAP_SYS_NICE | CAP_SYS_ADMIN : 0;
		CHECK_EQ(file_command(&files[i], GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .timeout_ms = 100)), i == 64 ? -EUSERS : 0);
		CHECK(!low->q.gpreempt->hold.unbounded);
	}
	current->caps = 0;
	CHECK_EQ(file_command(&files[5], GPREEMPT_IOC_PREEMPT, HOLD(.target = queue_target(low), .timeout_ms = 100)), 0);
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
	for (u32 i = 0; i < 66; i++)
		close_file(&files[i]);
}

TEST(own_holds_end_with_the_queue, "what a program holds of its own is bounded, named by its number, and forgotten with the queue")
{
	struct kfd_ioctl_preempt_queue_args args = { .preempt_type = 2, .timeout_ms = 100 };
	struct kfd_ioctl_resume_queue_args back = { .queue_id = 77 };
	struct task_struct *self = current;

	begin();
	self->group_leader = &process_of(low)->task;
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(low)->p, AMDKFD_IOC_PREEMPT_QUEUE, (unsigned long)&args), 0);
	CHECK(preempted(low) && !low->q.gpreempt->hold.unbounded);
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(low)->p, AMDKFD_IOC_RESUME_QUEUE, (unsigned long)&back), -ENOENT);
	CHECK(low->q.gpreempt->hold.any);
	self->group_leader = self;
	CHECK(!list_empty(&gpreempt_own_holder.holds));
	destroy_queue(low);
	CHECK(list_empty(&gpreempt_own_holder.holds));
}

TEST(hints_of_several_queues, "work that is announced for a process is announced for each of its queues")
{
	begin_with_two();
	CHECK_EQ(announce(process_target(low), 20000), 0);
	CHECK(low->q.gpreempt->expected_until_ns && low->q.gpreempt->expected_until_ns == second->q.gpreempt->expected_until_ns);
	CHECK_EQ(high->q.gpreempt->expected_until_ns, 0);
}

/* ---- events ---- */

static struct gpreempt_event got[1100];

static u32 nr_read(struct file *f)
{
	ssize_t n = shim_miscdevice->fops->read(f, (char *)got, sizeof(got), NULL);

	return n < 0 ? 0 : n / sizeof(got[0]);
}

TEST(events_say_what_happened, "an event has the node, the queue, its priority, the time and a value; of a node alone it has no queue")
{
	u64 began_ns;

	begin();
	CHECK_EQ(nr_read(&file), 0);
	began_ns = ktime_get_ns();
	gpreempt_rooms_tell(event, node_of(0), high->q.gpreempt, GPREEMPT_EVENT_PREEMPTED, -5);
	gpreempt_rooms_tell(event, node_of(0), NULL, GPREEMPT_EVENT_FAILED, 3);
	CHECK_EQ(nr_read(&file), 2);
	CHECK(got[0].type == GPREEMPT_EVENT_PREEMPTED && got[0].gpu_id == 1000 && got[0].queue_id == 1 && got[0].pid == 101);
	CHECK(got[0].priority == NORMAL && got[0].value == -5 && got[0].missed == 0);
	CHECK_EQ(got[0].time_ns, began_ns);
	CHECK(got[1].type == GPREEMPT_EVENT_FAILED && got[1].queue_id == ~0U && got[1].pid == 0 && got[1].priority == 0 && got[1].value == 3);
	gpreempt_stats_failure(node_of(0), high->q.gpreempt, GPREEMPT_FAILURE_SEND, -7);
	CHECK_EQ(nr_read(&file), 1);
	CHECK(got[0].type == GPREEMPT_EVENT_FAILED && got[0].pid == 101 && got[0].value == 7);
	/* A new priority tells the one before. */
	CHECK_EQ(set_priority(process_target(high), 2, 0), 0);
	CHECK_EQ_AFTER(6 * MS, nr_read(&file), 1);
	CHECK(got[0].type == GPREEMPT_EVENT_PRIORITY && got[0].priority == 2 && got[0].value == NORMAL);
}

/* High's process is a context of low's program, and has numbered its queue as that has. */
static void begin_with_context(void)
{
	begin();
	process_of(high)->p.lead_thread = &process_of(low)->task;
	high->q.properties.queue_id = low->q.properties.queue_id;
	high->q.gpreempt->process->context = 2;
	gpreempt_node_kick_all();
	run(6 * MS);
}

static struct gpreempt_target context_of(struct gpreempt_target target, u32 context)
{
	target.context = context;
	return target;
}

TEST(contexts_are_told_apart, "LIST tells a program's contexts apart; a command is about all of them, or about the one that it names; events have it")
{
	struct gpreempt_queue_info infos[2] = { 0 };
	struct gpreempt_list list = { .nr_queues = 2, .queues = (unsigned long)infos };
	struct gpreempt_target one;
	struct gpreempt_set_param param;

	begin_with_context();
	one = queue_target(low);
	list.target = process_target(low);
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), 0);
	CHECK_EQ(list.nr_queues, 2);
	CHECK(infos[0].pid == infos[1].pid && infos[0].queue_id == infos[1].queue_id);
	CHECK(infos[0].context == 1 && infos[1].context == 2);
	CHECK_EQ(nr_listed(one), 2);
	CHECK_EQ(nr_listed(context_of(one, 1)), 1);
	CHECK_EQ(nr_listed(context_of(process_target(low), 2)), 1);
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &(struct gpreempt_list){ .target = context_of(one, 3) }), -ENOENT);
	CHECK_EQ(nr_listed(context_of(process_target(low), 3)), 0);
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &(struct gpreempt_list){ .target = context_of(everything, 1) }), -EINVAL);
	one = (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 1 };
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &(struct gpreempt_list){ .target = context_of(one, 1) }), -EINVAL);
	/* A priority is of the queue that is named, or of the whole program. */
	CHECK_EQ(set_priority(context_of(queue_target(low), 2), 30, 0), 0);
	CHECK(priority_of(high) == 30 && priority_of(low) == NORMAL - 10);
	CHECK_EQ(set_priority(process_target(low), 20, 0), 0);
	CHECK(priority_of(high) == 30 && priority_of(low) == 20);
	CHECK_EQ(set_priority(context_of(queue_target(low), 2), 0, GPREEMPT_PRIORITY_CLEAR), 0);
	CHECK(priority_of(high) == 20 && priority_of(low) == 20);
	CHECK_EQ(set_priority(context_of(process_target(low), 2), 20, 0), -EINVAL);
	param = (struct gpreempt_set_param){ .target = context_of(process_target(low), 1), .param = GPREEMPT_PARAM_WEIGHT, .value = 3 };
	CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &param), -EINVAL);
	/* So is a hold. */
	CHECK_EQ(nr_read(&file), 0);
	CHECK_EQ(nr_of(GPREEMPT_IOC_PREEMPT, HOLD(.target = context_of(queue_target(low), 2))), 1);
	CHECK(preempted(high) && !preempted(low));
	CHECK_EQ(nr_read(&file), 1);
	CHECK(got[0].type == GPREEMPT_EVENT_PREEMPTED && got[0].context == 2 && got[0].pid == 100);
	CHECK_EQ(nr_of(GPREEMPT_IOC_RESUME, HOLD(.target = context_of(queue_target(low), 1))), 0);
	CHECK_EQ(nr_of(GPREEMPT_IOC_PREEMPT, HOLD(.target = process_target(low))), 2);
	CHECK(preempted(high) && preempted(low));
	CHECK_EQ(nr_of(GPREEMPT_IOC_RESUME, HOLD(.target = queue_target(low))), 2);
	CHECK_AFTER(10 * MS, !preempted(high) && !preempted(low));
	/* Which one it is that low yields to. */
	CHECK_EQ(set_priority(context_of(queue_target(low), 2), 30, 0), 0);
	low->kernel_ns = high->kernel_ns = 20 * MS;
	submit_and_run(low, 1, MS);
	submit_and_run(high, 3, 10 * MS);
	CHECK(preempted(low));
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), 0);
	CHECK(infos[0].to_pid == 100 && infos[0].to_context == 2 && infos[1].to_context == 0);
	gpreempt_rooms_tell(event, node_of(0), NULL, GPREEMPT_EVENT_FAILED, 3);
	while (nr_read(&file) > 1)
		;
	process_of(high)->p.lead_thread = &process_of(high)->task;
}

TEST(contexts_outlive_programs, "a context that lives on without its program has no PID; what was set for the program holds, and root alone sees it")
{
	struct gpreempt_queue_info infos[2] = { 0 };
	struct gpreempt_list list = { .target = everything, .nr_queues = 2, .queues = (unsigned long)infos };
	struct pid *pid;

	begin_with_context();
	pid = process_of(low)->task.tgid;
	CHECK_EQ(set_priority(process_target(low), -500, 0), 0);
	CHECK_EQ(priority_of(high), -500);
	destroy_queue(low);
	process_of(low)->task.tgid = NULL;
	pid->task = NULL;
	/* What was set for a PID is forgotten with it, some time later. */
	run(12 * SEC);
	gpreempt_node_kick_all();
	CHECK_EQ(priority_of(high), -500);
	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), 0);
	CHECK_EQ(list.nr_queues, 1);
	CHECK(infos[0].pid == 0 && infos[0].context == 2 && infos[0].logical_priority == -500);
	CHECK_EQ(nr_listed((struct gpreempt_target){ .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 1 }), 1);
	high->q.gpreempt->process->context = 1;
	CHECK_EQ(nr_listed(everything), 0);
	high->q.gpreempt->process->context = 2;
	current->caps = CAP_SYS_NICE;
	CHECK_EQ(nr_listed(everything), 0);
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
	pid->task = &process_of(low)->task;
	process_of(low)->task.tgid = pid;
	process_of(high)->p.lead_thread = &process_of(high)->task;
}

TEST(own_holds_are_of_the_file, "a program holds through /dev/kfd the queue of the process or context that the file is of, and no other with its number")
{
	struct kfd_ioctl_preempt_queue_args args = { .preempt_type = 2, .timeout_ms = 100 };
	struct kfd_ioctl_resume_queue_args back = { 0 };
	struct task_struct *self = current;

	begin_with_context();
	args.queue_id = back.queue_id = low->q.properties.queue_id;
	self->group_leader = &process_of(low)->task;
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(high)->p, AMDKFD_IOC_PREEMPT_QUEUE, (unsigned long)&args), 0);
	CHECK(preempted(high) && !preempted(low));
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(low)->p, AMDKFD_IOC_RESUME_QUEUE, (unsigned long)&back), 0);
	CHECK_AFTER(10 * MS, preempted(high));
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(low)->p, AMDKFD_IOC_PREEMPT_QUEUE, (unsigned long)&args), 0);
	CHECK(preempted(high) && preempted(low));
	CHECK_EQ(kfd_gpreempt_ioctl(&process_of(high)->p, AMDKFD_IOC_RESUME_QUEUE, (unsigned long)&back), 0);
	CHECK_AFTER(10 * MS, !preempted(high) && preempted(low));
	self->group_leader = self;
	process_of(high)->p.lead_thread = &process_of(high)->task;
}

TEST(missed_events_are_counted, "how many were lost is told with the next event, and only with that one")
{
	u32 i;

	begin();
	CHECK_EQ(nr_read(&file), 0);
	for (i = 0; i < 1024 + 7; i++)
		gpreempt_rooms_tell(event, node_of(0), NULL, GPREEMPT_EVENT_FAILED, i);
	CHECK_EQ(nr_read(&file), 1024);
	for (i = 0; i < 1024; i++)
		CHECK(got[i].value == i && !got[i].missed);
	gpreempt_rooms_tell(event, node_of(0), NULL, GPREEMPT_EVENT_FAILED, 1);
	gpreempt_rooms_tell(event, node_of(0), NULL, GPREEMPT_EVENT_FAILED, 2);
	CHECK_EQ(nr_read(&file), 2);
	CHECK_EQ(got[0].missed, 7);
	CHECK_EQ(got[1].missed, 0);
}

static ssize_t reader_got;

static int reads(void *unused)
{
	reader_got = shim_miscdevice->fops->read(&file, (char *)got, sizeof(got), NULL);
	return 0;
}

TEST(readers_wait, "whoever reads and does not want to be told that there is nothing waits for the first event")
{
	struct task_struct *task;

	begin();
	file.f_flags = 0;
	reader_got = 0;
	task = kthread_create(reads, NULL, "reader");
	wake_up_process(task);
	CHECK_EQ_AFTER(10 * MS, reader_got, 0);
	gpreempt_rooms_tell(event, node_of(0), NULL, GPREEMPT_EVENT_FAILED, 1);
	fsleep(10);
	CHECK_EQ(reader_got, sizeof(got[0]));
	kthread_stop(task);
}

TEST(listeners_of_others, "each user has his own number of listeners, those who see all are not counted, and who has gone neither")
{
	static const struct cred stranger = { .euid = { 5 }, .user_ns = &init_user_ns }, neighbour = { .euid = { 6 }, .user_ns = &init_user_ns };
	static struct file files[80], theirs[64];
	u32 i;

	begin();
	for (i = 0; i < 70; i++) {
		open_file(&files[i]);
		CHECK_EQ(nr_read(&files[i]), 0);
	}
	current->caps = 0;
	TIMES(130) {
		open_file(&other);
		other.f_cred = &stranger;
		CHECK_EQ(shim_miscdevice->fops->read(&other, (char *)got, sizeof(got), NULL), -EAGAIN);
		close_file(&other);
	}
	for (i = 0; i < 64; i++) {
		open_file(&theirs[i]);
		theirs[i].f_cred = &neighbour;
		CHECK_EQ(shim_miscdevice->fops->read(&theirs[i], (char *)got, sizeof(got), NULL), -EAGAIN);
	}
	open_file(&other);
	other.f_cred = &stranger;
	CHECK_EQ(shim_miscdevice->fops->read(&other, (char *)got, sizeof(got), NULL), -EAGAIN);
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
	/* Neither of them is the stranger's; what a node does everybody may know. Who sees all hears of all. */
	process_of(low)->task.euid.val = 9;
	gpreempt_rooms_tell(event, node_of(0), low->q.gpreempt, GPREEMPT_EVENT_PREEMPTED, 0);
	gpreempt_rooms_tell(event, node_of(0), high->q.gpreempt, GPREEMPT_EVENT_PREEMPTED, 0);
	gpreempt_rooms_tell(event, node_of(0), NULL, GPREEMPT_EVENT_FAILED, 0);
	CHECK_EQ(nr_read(&other), 1);
	CHECK_EQ(got[0].type, GPREEMPT_EVENT_FAILED);
	for (i = 0; i < 70; i++) {
		CHECK_EQ(nr_read(&files[i]), 3);
		close_file(&files[i]);
	}
	for (i = 0; i < 64; i++)
		close_file(&theirs[i]);
	close_file(&other);
}

/* ---- tunables ---- */

TEST(tunables_reach_the_monitor, "each parameter is what the next pass works with, in its unit, and what a node that comes later has")
{
	static const struct { const char *name, *value, *text; u64 expected; size_t offset, size; } cases[] = {
#define IS(name, value, expected, member) \
	{ name, value, value "\n", expected, offsetof(struct gpreempt_tunables, member), sizeof(((struct gpreempt_tunables *)0)->member) }
		IS("gpreempt_interval_ms", "3", 3 * MS, params.interval_ns),
		IS("gpreempt_poll_us", "70", 70 * US, params.poll_ns),
		IS("gpreempt_max_hold_ms", "11", 11 * MS, params.max_hold_ns),
		IS("gpreempt_relief_ms", "12", 12 * MS, params.relief_ns),
		IS("gpreempt_blocked_us", "130", 130 * US, params.blocked_ns),
		IS("gpreempt_overhead_pct", "14", 14, params.overhead_pct),
		IS("gpreempt_aging_ms", "15", 15 * MS, params.aging_ns),
		IS("gpreempt_min_run_us", "16", 16 * US, params.min_run_ns),
		IS("gpreempt_resume_delay_us", "17", 17 * US, params.resume_delay_ns),
		IS("gpreempt_drain_us", "19", 19 * US, params.drain_ns),
		IS("gpreempt_slice_us", "1800", 1800 * US, params.slice_ns),
		IS("gpreempt_idle_evict_us", "1900", 1900 * US, idle_ns),
		IS("gpreempt_hw_priority", "follow", GPREEMPT_HW_PRIORITY_FOLLOW, hw_priority),
		IS("gpreempt_wakeup", "doorbell", GPREEMPT_WAKEUP_DOORBELL, wakeup),
		IS("gpreempt_unmap", "named", GPREEMPT_UNMAP_NAMED, unmap),
#undef IS
#define IS(name, value, text, expected, member) \
	{ name, value, text, expected, offsetof(struct gpreempt_tunables, member), sizeof(((struct gpreempt_tunables *)0)->member) }
		IS("gpreempt_nice", "0", "N\n", 0, nice),
		IS("gpreempt_trust_kfd_priority", "1", "Y\n", 1, trust),
		IS("gpreempt_verify", "1", "Y\n", 1, verify),
		IS("gpreempt_follow_stop", "1", "Y\n", 1, follow_stop),
		IS("gpreempt_account", "1", "Y\n", 1, account),
		IS("gpreempt_observe", "1", "Y\n", 1, params.observe),
#undef IS
	};
	char text[64];
	u32 k;

	world_on(true);
	/* Awake: somebody could outrank another. */
	add_queue(10);
	add_queue(0);
	run(6 * MS);
	EACH(i, ARRAY_SIZE(cases), "%s: ", cases[i].name) {
		const u8 *tun = (const u8 *)&node_of(0)->tun;
		u64 is = 0;

		memcpy(&is, tun + cases[i].offset, cases[i].size);
		CHECK(is != cases[i].expected);
		CHECK_EQ(shim_param_set(cases[i].name, cases[i].value), 0);
		run(MS);
		memcpy(&is, tun + cases[i].offset, cases[i].size);
		CHECK_EQ(is, cases[i].expected);
		shim_param_get(cases[i].name, text);
		CHECK(!strcmp(text, cases[i].text));
	}
	kfd_gpreempt_node_fini(&world.nodes[0].node);
	kfd_gpreempt_node_init(&world.nodes[0].node);
	for (k = 0; k < GPREEMPT_NR_TUNABLES; k++) {
		gpreempt_tunables_show(node_of(0), k, text);
		tap_at("tunable %u: ", k);
		if (k == GPREEMPT_TUNABLE_MES)
			continue;
		CHECK(strcmp(text, k == GPREEMPT_TUNABLE_NICE ? "1\n" : "0\n") != 0);
	}
}

TEST(policies_are_used_at_once, "a policy, and verification, of one node or of all is in force with the next pass, which comes at once")
{
	NEEDS(POLICIES);
	begin();
	set("gpreempt_interval_ms", "10000");
	run(6 * MS);
	set("gpreempt_policy", "wfq");
	CHECK_AFTER(MS, !strcmp(node_of(0)->policy.ops->name, "wfq"));
	CHECK_EQ(gpreempt_params_store(node_of(0), GPREEMPT_TUNABLE_POLICY, "edf"), 0);
	CHECK_AFTER(MS, !strcmp(node_of(0)->policy.ops->name, "edf"));
	shim_log[0] = 0;
	CHECK_EQ(gpreempt_params_store(node_of(0), GPREEMPT_TUNABLE_POLICY, "fifo"), -EINVAL);
	CHECK(strstr(shim_log, "fifo is none of hpf, wfq, edf; kept edf") != NULL);
	CHECK(!low->q.gpreempt->mqd.snapshot);
	CHECK_EQ(gpreempt_params_store(node_of(0), GPREEMPT_TUNABLE_RELIEF_MS, "7"), 0);
	CHECK_EQ(gpreempt_params_store(node_of(0), GPREEMPT_TUNABLE_VERIFY, "0"), 0);
	CHECK(!low->q.gpreempt->mqd.snapshot);
	CHECK_EQ(gpreempt_params_store(node_of(0), GPREEMPT_TUNABLE_VERIFY, "1"), 0);
	CHECK(low->q.gpreempt->mqd.snapshot != NULL);
}

TEST(switches_take_what_flags_take, "a node's switch knows the words that a parameter's does, and no numbers")
{
	static const struct { const char *text; bool on; } good[] = { { "1", true }, { "Y\n", true }, { "on", true }, { "0\n", false }, { "off\n", false } };
	bool on;

	begin();
	EACH(i, ARRAY_SIZE(good), "%.3s: ", good[i].text) {
		on = !good[i].on;
		CHECK_EQ(gpreempt_params_parse_switch(good[i].text, false, &on), 0);
		CHECK_EQ(on, good[i].on);
	}
	CHECK_EQ(gpreempt_params_parse_switch("2", true, &on), -EINVAL);
	CHECK(strstr(shim_log, "enabled=2 is neither 0 nor 1; kept 1") != NULL);
}

TEST(one_node_wants_doorbells, "doorbells can be withdrawn of whoever opens /dev/kfd while any node wants that, or the parameter says so")
{
	NEEDS(WAKE);
	world_make(true, 1, 2);
	add_process(0);
	CHECK(!world.processes[0]->p.gpreempt);
	CHECK_EQ(gpreempt_params_store(node_of(1), GPREEMPT_TUNABLE_WAKEUP, "doorbell"), 0);
	add_process(0);
	CHECK(world.processes[1]->p.gpreempt != NULL);
	CHECK_EQ(gpreempt_params_store(node_of(1), GPREEMPT_TUNABLE_WAKEUP, "poll"), 0);
	add_process(0);
	CHECK(!world.processes[2]->p.gpreempt);
}

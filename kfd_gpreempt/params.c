// SPDX-License-Identifier: MIT
/*
 * params.c - module parameters gpreempt_* of amdgpu: ranges, reading, writing at run time
 *
 * A value out of range is refused with one line that says what was wrong and what stays. While the module loads it
 * is only reported: a bad tunable must not cost the user the GPU driver.
 */
#include <linux/moduleparam.h>
#include <linux/string.h>

#include "core.h"

/**
 * struct uint_param - a number with a range
 * @value: current value
 * @min: smallest value
 * @max: largest value
 * @zero: 0 is allowed as well and means "never" or "not at all"
 */
struct uint_param {
	unsigned int value;
	unsigned int min;
	unsigned int max;
	bool zero;
};

static bool ready;
static bool enable;
static bool nice = true;
static bool trust_kfd_priority;
static int hw_priority = GPREEMPT_HW_PRIORITY_NORMAL;
static bool verify;

static const char *short_name(const struct kernel_param *kp)
{
	const char *name = strstr(kp->name, "gpreempt_");

	return name ? name + strlen("gpreempt_") : kp->name;
}

static int refused(void)
{
	return ready ? -EINVAL : 0;
}

static int uint_set(const char *val, const struct kernel_param *kp)
{
	struct uint_param *u = kp->arg;
	int len = strcspn(val, "\n");
	unsigned int value;

	if (kstrtouint(val, 0, &value)) {
		pr_err("gpreempt: %s=%.*s is not a number; kept %u\n", short_name(kp), len, val, u->value);
		return refused();
	}
	if (value < u->min && !(u->zero && !value)) {
		pr_err("gpreempt: %s=%u is below %u; kept %u\n", short_name(kp), value, u->min, u->value);
		return refused();
	}
	if (value > u->max) {
		pr_err("gpreempt: %s=%u is above %u; kept %u\n", short_name(kp), value, u->max, u->value);
		return refused();
	}
	WRITE_ONCE(u->value, value);
	gpreempt_core_kick_all();
	return 0;
}

static int uint_get(char *buffer, const struct kernel_param *kp)
{
	const struct uint_param *u = kp->arg;

	return sysfs_emit(buffer, "%u\n", READ_ONCE(u->value));
}

static const struct kernel_param_ops uint_ops = {
	.set = uint_set,
	.get = uint_get,
};

static int parse_bool(const char *val, const struct kernel_param *kp, bool *value)
{
	/* As for every other parameter of a module, the name alone means yes. */
	if (!val) {
		*value = true;
		return 0;
	}
	if (!kstrtobool(val, value))
		return 0;
	pr_err("gpreempt: %s=%.*s is neither 0 nor 1; kept %d\n", short_name(kp), (int)strcspn(val, "\n"), val,
	       *(bool *)kp->arg);
	return -EINVAL;
}

static int bool_set(const char *val, const struct kernel_param *kp)
{
	bool value;

	if (parse_bool(val, kp, &value))
		return refused();
	WRITE_ONCE(*(bool *)kp->arg, value);
	gpreempt_core_kick_all();
	return 0;
}

static const struct kernel_param_ops bool_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = bool_set,
	.get = param_get_bool,
};

static void add_snapshots(struct gpreempt_node *gn, void *arg)
{
	gpreempt_queue_add_snapshots(gn);
}

static int verify_set(const char *val, const struct kernel_param *kp)
{
	int r = bool_set(val, kp);

	if (!r && verify)
		gpreempt_core_for_each(add_snapshots, NULL);
	return r;
}

static const struct kernel_param_ops verify_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = verify_set,
	.get = param_get_bool,
};

static int enable_set(const char *val, const struct kernel_param *kp)
{
	bool value;

	if (parse_bool(val, kp, &value))
		return refused();
	if (ready)
		gpreempt_core_enable(value);
	enable = value;
	return 0;
}

static const struct gpreempt_policy_ops *policy;

/**
 * gpreempt_params_find_policy() - the policy with this name
 * @name: the name; a newline may follow
 * @kept: what stays in place if there is none; for the message
 *
 * Context: any that may print.
 *
 * Return: the policy; NULL: there is none, and the kernel log says so, with the names that there are.
 */
const struct gpreempt_policy_ops *gpreempt_params_find_policy(const char *name, const struct gpreempt_policy_ops *kept)
{
	char known[64] = "";
	int i;

	for (i = 0; gpreempt_policies[i]; i++) {
		if (sysfs_streq(name, gpreempt_policies[i]->name))
			return gpreempt_policies[i];
		if (i)
			strlcat(known, ", ", sizeof(known));
		strlcat(known, gpreempt_policies[i]->name, sizeof(known));
	}
	pr_err("gpreempt: policy=%.*s is none of %s; kept %s\n", (int)strcspn(name, "\n"), name, known, kept->name);
	return NULL;
}

/**
 * gpreempt_params_policy() - the policy of nodes that have not been given one of their own
 *
 * Context: any.
 *
 * Return: the policy
 */
const struct gpreempt_policy_ops *gpreempt_params_policy(void)
{
	const struct gpreempt_policy_ops *chosen = READ_ONCE(policy);

	return chosen ? chosen : gpreempt_policies[0];
}

static void use_policy(struct gpreempt_node *gn, void *arg)
{
	WRITE_ONCE(gn->policy_wanted, arg);
}

static int policy_set(const char *val, const struct kernel_param *kp)
{
	const struct gpreempt_policy_ops *chosen = gpreempt_params_find_policy(val, gpreempt_params_policy());

	if (!chosen)
		return refused();
	WRITE_ONCE(policy, chosen);
	gpreempt_core_for_each(use_policy, (void *)chosen);
	gpreempt_core_kick_all();
	return 0;
}

static int policy_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", gpreempt_params_policy()->name);
}

static const struct kernel_param_ops policy_ops = {
	.set = policy_set,
	.get = policy_get,
};

static const struct kernel_param_ops enable_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = enable_set,
	.get = param_get_bool,
};

static const char *const hw_priority_names[] = {
	[GPREEMPT_HW_PRIORITY_NORMAL] = "normal",
	[GPREEMPT_HW_PRIORITY_FOLLOW] = "follow",
};

static int hw_priority_set(const char *val, const struct kernel_param *kp)
{
	int value = sysfs_match_string(hw_priority_names, val);

	if (value < 0) {
		pr_err("gpreempt: %s=%.*s is neither normal nor follow; kept %s\n", short_name(kp),
		       (int)strcspn(val, "\n"), val, hw_priority_names[hw_priority]);
		return refused();
	}
	WRITE_ONCE(hw_priority, value);
	gpreempt_core_kick_all();
	return 0;
}

static int hw_priority_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", hw_priority_names[READ_ONCE(hw_priority)]);
}

static const struct kernel_param_ops hw_priority_ops = {
	.set = hw_priority_set,
	.get = hw_priority_get,
};

#define UINT_PARAM(_name, _value, _min, _max, _zero, _desc)						\
	static struct uint_param _name = { .value = _value, .min = _min, .max = _max, .zero = _zero };	\
	module_param_cb(gpreempt_##_name, &uint_ops, &_name, 0644);					\
	__MODULE_PARM_TYPE(gpreempt_##_name, "uint");							\
	MODULE_PARM_DESC(gpreempt_##_name, _desc)

#define BOOL_PARAM(_name, _ops, _desc)									\
	module_param_cb(gpreempt_##_name, _ops, &_name, 0644);						\
	__MODULE_PARM_TYPE(gpreempt_##_name, "bool");							\
	MODULE_PARM_DESC(gpreempt_##_name, _desc)

BOOL_PARAM(enable, &enable_ops, "Preempt compute queues by software priority (0 = off, default; 1 = on)");
UINT_PARAM(interval_ms, 5, 1, 10000, false,
	   "Milliseconds between looks at the queues while nothing is contended (1..10000, default 5)");
UINT_PARAM(poll_us, 200, 50, 1000000, true,
	   "Microseconds between looks while a lower and a higher process both had work within the last second (50..1000000, default 200; 0 = gpreempt_interval_ms rules alone)");
UINT_PARAM(max_hold_ms, 1000, 1, 3600000, true,
	   "Milliseconds after which a preempted queue with work runs although a higher one has work (1..3600000, default 1000; 0 = never)");
UINT_PARAM(relief_ms, 20, 1, 10000, false,
	   "Milliseconds that such a queue runs before it may be preempted again (1..10000, default 20)");
UINT_PARAM(blocked_us, 2000, 100, 10000000, true,
	   "Microseconds without progress and without waves after which a queue is taken to wait for something else than the GPU (100..10000000, default 2000; 0 = never)");
UINT_PARAM(overhead_pct, 10, 1, 50, true,
	   "Percent of time that saving and restoring may take before preemptions are spaced out (1..50, default 10; 0 = any)");
UINT_PARAM(aging_ms, 0, 1, 3600000, true,
	   "Milliseconds after which a preempted queue with work gains a step of priority, up to equality with those above (1..3600000, default 0 = never)");
UINT_PARAM(min_run_us, 0, 10, 1000000, true,
	   "Microseconds that a queue runs at least before it may be preempted (10..1000000, default 0 = it may be at once)");
UINT_PARAM(resume_delay_us, 0, 10, 1000000, true,
	   "Microseconds between the end of higher work and the return of what it preempted (10..1000000, default 0)");
UINT_PARAM(slice_us, 5000, 500, 1000000, false,
	   "Microseconds that a process has the device under the policy wfq before one that is behind gets it (500..1000000, default 5000)");
module_param_cb(gpreempt_policy, &policy_ops, NULL, 0644);
__MODULE_PARM_TYPE(gpreempt_policy, "string");
MODULE_PARM_DESC(gpreempt_policy, "Who comes first: hpf = highest priority (default), wfq = by weights, edf = earliest deadline");
BOOL_PARAM(nice, &bool_ops, "A process's nice value lowers the priority of its queues (default 1)");
BOOL_PARAM(trust_kfd_priority, &bool_ops,
	   "Queue priorities above 7 count against other processes even if their owner has no CAP_SYS_NICE (default 0)");
module_param_cb(gpreempt_hw_priority, &hw_priority_ops, &hw_priority, 0644);
__MODULE_PARM_TYPE(gpreempt_hw_priority, "charp");
MODULE_PARM_DESC(gpreempt_hw_priority,
		 "Hardware priority of scheduled queues: normal (default), or follow the logical priority");
BOOL_PARAM(verify, &verify_ops,
	   "Look whether anything writes to the MQDs of preempted queues, and report it (default 0; without the hardware scheduler always on)");

/**
 * gpreempt_params_get() - take a copy of the tunables
 * @tun: receives it; params.waves_known is left alone
 *
 * Context: any.
 */
void gpreempt_params_get(struct gpreempt_tunables *tun)
{
	tun->params.interval_ns = (u64)READ_ONCE(interval_ms.value) * NSEC_PER_MSEC;
	tun->params.poll_ns = (u64)READ_ONCE(poll_us.value) * NSEC_PER_USEC;
	tun->params.max_hold_ns = (u64)READ_ONCE(max_hold_ms.value) * NSEC_PER_MSEC;
	tun->params.relief_ns = (u64)READ_ONCE(relief_ms.value) * NSEC_PER_MSEC;
	tun->params.blocked_ns = (u64)READ_ONCE(blocked_us.value) * NSEC_PER_USEC;
	tun->params.aging_ns = (u64)READ_ONCE(aging_ms.value) * NSEC_PER_MSEC;
	tun->params.min_run_ns = (u64)READ_ONCE(min_run_us.value) * NSEC_PER_USEC;
	tun->params.resume_delay_ns = (u64)READ_ONCE(resume_delay_us.value) * NSEC_PER_USEC;
	tun->params.slice_ns = (u64)READ_ONCE(slice_us.value) * NSEC_PER_USEC;
	tun->params.overhead_pct = READ_ONCE(overhead_pct.value);
	tun->nice = READ_ONCE(nice);
	tun->trust = READ_ONCE(trust_kfd_priority);
	tun->hw_priority = READ_ONCE(hw_priority);
	tun->verify = READ_ONCE(verify);
}

/**
 * gpreempt_params_verify() - are preempted queues to be verified?
 *
 * Context: any.
 *
 * Return: gpreempt_verify
 */
bool gpreempt_params_verify(void)
{
	return READ_ONCE(verify);
}

/**
 * gpreempt_params_ready() - from now on a write to gpreempt_enable acts at once, or no more
 * @is_ready: the core can be switched; it is, to what the parameter says
 *
 * Context: module init and exit; may sleep.
 */
void gpreempt_params_ready(bool is_ready)
{
	/* Under the lock that a write holds: parameter and core always agree. */
	kernel_param_lock(THIS_MODULE);
	ready = is_ready;
	gpreempt_core_enable(is_ready && enable);
	kernel_param_unlock(THIS_MODULE);
}

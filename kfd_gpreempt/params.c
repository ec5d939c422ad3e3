// SPDX-License-Identifier: MIT
/*
 * params.c - module parameters gpreempt_* of amdgpu: ranges, reading, writing at run time
 *
 * A value out of range is refused with one line that says what was wrong and what stays. While the module loads it
 * is only reported: a bad tunable must not cost the user the GPU driver.
 *
 * Each node has values of its own. Writing a parameter writes them all.
 */
#include <linux/moduleparam.h>
#include <linux/string.h>

#include "core.h"

/**
 * struct tunable - a number or a word, for all nodes as a module parameter, for one as a file of its folder
 * @name: as in messages and in the folder
 * @words: what is written for 0, 1, ...; NULL: numbers
 * @value: of nodes that have been given none of their own; written under kernel_param_lock()
 * @min: smallest value
 * @max: largest value
 * @zero: 0 is allowed as well and means "never" or "not at all"
 * @flag: 0 or 1
 */
struct tunable {
	const char *name;
	const char *const *words;
	u32 value;
	u32 min;
	u32 max;
	bool zero;
	bool flag;
};

static const char *const hw_priority_words[] = {
	[GPREEMPT_HW_PRIORITY_NORMAL] = "normal",
	[GPREEMPT_HW_PRIORITY_FOLLOW] = "follow",
};

static const char *const wakeup_words[] = {
	[GPREEMPT_WAKEUP_POLL] = "poll",
	[GPREEMPT_WAKEUP_DOORBELL] = "doorbell",
};

#define NUMBER(_which, _name, _value, _min, _max, _zero)	\
	[GPREEMPT_TUNABLE_##_which] = { .name = _name, .value = _value, .min = _min, .max = _max, .zero = _zero }
#define FLAG(_which, _name, _value)				\
	[GPREEMPT_TUNABLE_##_which] = { .name = _name, .value = _value, .max = 1, .flag = true }
static struct tunable tunables[GPREEMPT_NR_TUNABLES] = {
	NUMBER(INTERVAL_MS, "interval_ms", 5, 1, 10000, false),
	NUMBER(POLL_US, "poll_us", 80, 50, 1000000, true),
	NUMBER(MAX_HOLD_MS, "max_hold_ms", 1000, 1, 3600000, true),
	NUMBER(RELIEF_MS, "relief_ms", 20, 1, 10000, false),
	NUMBER(BLOCKED_US, "blocked_us", 2000, 100, 10000000, true),
	NUMBER(OVERHEAD_PCT, "overhead_pct", 10, 1, 50, true),
	NUMBER(AGING_MS, "aging_ms", 0, 1, 3600000, true),
	NUMBER(MIN_RUN_US, "min_run_us", 0, 10, 1000000, true),
	NUMBER(RESUME_DELAY_US, "resume_delay_us", 0, 10, 1000000, true),
	NUMBER(SLICE_US, "slice_us", 5000, 500, 1000000, false),
	FLAG(NICE, "nice", 1),
	FLAG(TRUST_KFD_PRIORITY, "trust_kfd_priority", 0),
	FLAG(VERIFY, "verify", 0),
	[GPREEMPT_TUNABLE_HW_PRIORITY] = {
		.name = "hw_priority", .words = hw_priority_words, .value = GPREEMPT_HW_PRIORITY_NORMAL,
		.max = ARRAY_SIZE(hw_priority_words) - 1,
	},
	[GPREEMPT_TUNABLE_WAKEUP] = {
		.name = "wakeup", .words = wakeup_words, .value = GPREEMPT_WAKEUP_POLL, .max = ARRAY_SIZE(wakeup_words) - 1,
	},
};

static bool ready;
static bool enable;

/* While the module loads, what is wrong is only told. */
static int refused(void)
{
	return ready ? -EINVAL : 0;
}

static int to_text(const struct tunable *t, u32 value, char *text, size_t size)
{
	return t->words ? scnprintf(text, size, "%s", t->words[value]) : scnprintf(text, size, "%u", value);
}

/* @kept: what stays in force otherwise; for the message. */
static int parse(const struct tunable *t, const char *text, u32 kept, u32 *value)
{
	int len = strcspn(text, "\n");
	char kept_text[16];
	bool flag;
	int word;

	to_text(t, kept, kept_text, sizeof(kept_text));
	if (t->flag) {
		if (!kstrtobool(text, &flag)) {
			*value = flag;
			return 0;
		}
		pr_err("gpreempt: %s=%.*s is neither 0 nor 1; kept %s\n", t->name, len, text, kept_text);
	} else if (t->words) {
		word = __sysfs_match_string(t->words, t->max + 1, text);
		if (word >= 0) {
			*value = word;
			return 0;
		}
		pr_err("gpreempt: %s=%.*s is neither %s nor %s; kept %s\n", t->name, len, text, t->words[0], t->words[1],
		       kept_text);
	} else if (kstrtouint(text, 0, value)) {
		pr_err("gpreempt: %s=%.*s is not a number; kept %s\n", t->name, len, text, kept_text);
	} else if (*value < t->min && !(t->zero && !*value)) {
		pr_err("gpreempt: %s=%u is below %u; kept %s\n", t->name, *value, t->min, kept_text);
	} else if (*value > t->max) {
		pr_err("gpreempt: %s=%u is above %u; kept %s\n", t->name, *value, t->max, kept_text);
	} else {
		return 0;
	}
	return -EINVAL;
}

/**
 * struct new_value - what a node gets
 * @which: index of the tunable
 * @value: its value
 */
struct new_value {
	enum gpreempt_tunable which;
	u32 value;
};

/* A write counts from the next pass. gpreempt_lock held. */
static void tune_locked(struct gpreempt_node *gn, struct new_value new)
{
	WRITE_ONCE(gn->tuned[new.which], new.value);
	gpreempt_core_kick(gn);
}

/* What was not needed when queues were registered. */
static void prepare(struct gpreempt_node *gn, struct new_value new)
{
	if (new.which == GPREEMPT_TUNABLE_VERIFY && new.value)
		gpreempt_queue_add_snapshots(gn);
}

static void tune(struct gpreempt_node *gn, void *arg)
{
	const struct new_value *new = arg;

	mutex_lock(&gpreempt_lock);
	tune_locked(gn, *new);
	mutex_unlock(&gpreempt_lock);
	prepare(gn, *new);
}

static int tunable_set(const char *val, const struct kernel_param *kp)
{
	struct tunable *t = kp->arg;
	struct new_value new = { .which = t - tunables };

	/* As for every other parameter of a module, the name alone means yes. */
	if (parse(t, val ? val : "1", t->value, &new.value))
		return refused();
	/* In this order: a node that appears now has it, one that was there gets it. */
	WRITE_ONCE(t->value, new.value);
	gpreempt_core_for_each(tune, &new);
	return 0;
}

static int tunable_get(char *buffer, const struct kernel_param *kp)
{
	const struct tunable *t = kp->arg;
	u32 value = READ_ONCE(t->value);
	char text[16];

	/* Of a module's parameters, flags read like this. */
	if (t->flag)
		return sysfs_emit(buffer, "%c\n", value ? 'Y' : 'N');
	to_text(t, value, text, sizeof(text));
	return sysfs_emit(buffer, "%s\n", text);
}

static const struct kernel_param_ops tunable_ops = {
	.set = tunable_set,
	.get = tunable_get,
};

static const struct kernel_param_ops flag_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = tunable_set,
	.get = tunable_get,
};

static const struct gpreempt_policy_ops *policy;

/* NULL: there is none, and the kernel log says so, with the names that there are and the one that stays. */
static const struct gpreempt_policy_ops *find_policy(const char *name, const struct gpreempt_policy_ops *kept)
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

/* Of nodes that have not been given one of their own. */
static const struct gpreempt_policy_ops *default_policy(void)
{
	const struct gpreempt_policy_ops *chosen = READ_ONCE(policy);

	return chosen ? chosen : gpreempt_policies[0];
}

/**
 * gpreempt_params_init_node() - give a new node what holds for all
 * @gn: the node
 *
 * Context: gpreempt_lifecycle held, the node not yet in the list of nodes.
 */
void gpreempt_params_init_node(struct gpreempt_node *gn)
{
	unsigned int i;

	for (i = 0; i < GPREEMPT_NR_TUNABLES; i++)
		WRITE_ONCE(gn->tuned[i], READ_ONCE(tunables[i].value));
	WRITE_ONCE(gn->policy_wanted, default_policy());
}

/**
 * gpreempt_params_show() - print a node's value of a tunable
 * @gn: the node
 * @which: the tunable
 * @buf: a page
 *
 * Context: sysfs.
 *
 * Return: length
 */
ssize_t gpreempt_params_show(const struct gpreempt_node *gn, enum gpreempt_tunable which, char *buf)
{
	char text[16];

	to_text(&tunables[which], READ_ONCE(gn->tuned[which]), text, sizeof(text));
	return sysfs_emit(buf, "%s\n", text);
}

/**
 * gpreempt_params_store() - give a node a value of its own
 * @gn: the node
 * @which: the tunable
 * @buf: the value, or "default": that of the module parameter
 *
 * It holds until the module parameter is written, which is for all nodes.
 *
 * Context: sysfs, which keeps the node; gpreempt_lifecycle may be held by somebody who waits for us. May sleep.
 *
 * Return: 0; -EINVAL: not a value of this tunable; the kernel log says so
 */
int gpreempt_params_store(struct gpreempt_node *gn, enum gpreempt_tunable which, const char *buf)
{
	struct new_value new = { .which = which };
	bool clear = sysfs_streq(buf, "default");

	if (!clear && parse(&tunables[which], buf, READ_ONCE(gn->tuned[which]), &new.value))
		return -EINVAL;
	mutex_lock(&gpreempt_lock);
	/* Under the lock: a parameter that is being written comes after this, or has been read. */
	if (clear)
		new.value = READ_ONCE(tunables[which].value);
	tune_locked(gn, new);
	mutex_unlock(&gpreempt_lock);
	prepare(gn, new);
	return 0;
}

/**
 * gpreempt_params_parse_switch() - read what was written to a node's switch
 * @buf: 0, 1, or "default": what the module parameter says
 * @kept: what stays otherwise; for the message
 * @on: receives it
 *
 * Context: sysfs.
 *
 * Return: 0; -EINVAL: it is neither; the kernel log says so
 */
int gpreempt_params_parse_switch(const char *buf, bool kept, bool *on)
{
	static const struct tunable t = { .name = "enabled", .max = 1, .flag = true };
	u32 value = READ_ONCE(enable);

	if (!sysfs_streq(buf, "default") && parse(&t, buf, kept, &value))
		return -EINVAL;
	*on = value;
	return 0;
}

static int enable_set(const char *val, const struct kernel_param *kp)
{
	static const struct tunable t = { .name = "enable", .max = 1, .flag = true };
	u32 value;

	if (parse(&t, val ? val : "1", enable, &value))
		return refused();
	if (ready)
		gpreempt_core_enable(value);
	WRITE_ONCE(enable, value);
	return 0;
}

static void use_policy(struct gpreempt_node *gn, void *arg)
{
	mutex_lock(&gpreempt_lock);
	WRITE_ONCE(gn->policy_wanted, arg);
	gpreempt_core_kick(gn);
	mutex_unlock(&gpreempt_lock);
}

/**
 * gpreempt_params_store_policy() - give a node a policy of its own
 * @gn: the node
 * @buf: its name, or "default": that of the module parameter
 *
 * From the next pass on; what is held and need not be under the new policy is resumed by it. It holds until the module parameter is
 * written, which is for all nodes.
 *
 * Context: as gpreempt_params_store()
 *
 * Return: 0; -EINVAL: there is no such policy; the kernel log says so
 */
int gpreempt_params_store_policy(struct gpreempt_node *gn, const char *buf)
{
	const struct gpreempt_policy_ops *ops = NULL;

	if (!sysfs_streq(buf, "default")) {
		ops = find_policy(buf, READ_ONCE(gn->policy_wanted));
		if (!ops)
			return -EINVAL;
	}
	mutex_lock(&gpreempt_lock);
	WRITE_ONCE(gn->policy_wanted, ops ? ops : default_policy());
	gpreempt_core_kick(gn);
	mutex_unlock(&gpreempt_lock);
	return 0;
}

static int policy_set(const char *val, const struct kernel_param *kp)
{
	const struct gpreempt_policy_ops *chosen = find_policy(val, default_policy());

	if (!chosen)
		return refused();
	WRITE_ONCE(policy, chosen);
	gpreempt_core_for_each(use_policy, (void *)chosen);
	return 0;
}

static int policy_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", default_policy()->name);
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

#define PARAM(_name, _ops, _arg, _type, _desc)								\
	module_param_cb(gpreempt_##_name, _ops, _arg, 0644);						\
	__MODULE_PARM_TYPE(gpreempt_##_name, _type);							\
	MODULE_PARM_DESC(gpreempt_##_name, _desc)
#define UINT_PARAM(_which, _name, _desc)	\
	PARAM(_name, &tunable_ops, &tunables[GPREEMPT_TUNABLE_##_which], "uint", _desc)
#define FLAG_PARAM(_which, _name, _desc)	\
	PARAM(_name, &flag_ops, &tunables[GPREEMPT_TUNABLE_##_which], "bool", _desc)

PARAM(enable, &enable_ops, &enable, "bool", "Preempt compute queues by software priority (0 = off, default; 1 = on)");
UINT_PARAM(INTERVAL_MS, interval_ms,
	   "Milliseconds between looks at the queues while nothing is contended (1..10000, default 5)");
UINT_PARAM(POLL_US, poll_us,
	   "Microseconds between looks while a lower and a higher process both had work within the last second, more where looking costs more than 4 percent of a core (50..1000000, default 80; 0 = gpreempt_interval_ms rules alone)");
UINT_PARAM(MAX_HOLD_MS, max_hold_ms,
	   "Milliseconds after which a preempted queue with work is due for a relief, and between two reliefs of a node (1..3600000, default 1000; 0 = never)");
UINT_PARAM(RELIEF_MS, relief_ms,
	   "Milliseconds of a relief, in which the processes that are due take turns of at least 1 ms before all others (1..10000, default 20)");
UINT_PARAM(BLOCKED_US, blocked_us,
	   "Microseconds without progress and without waves after which a queue is taken to wait for something else than the GPU (100..10000000, default 2000; 0 = never)");
UINT_PARAM(OVERHEAD_PCT, overhead_pct,
	   "Percent of time that saving and restoring may take before preemptions are spaced out (1..50, default 10; 0 = any)");
UINT_PARAM(AGING_MS, aging_ms,
	   "Milliseconds after which a preempted queue with work gains a step of priority, up to equality with those above (1..3600000, default 0 = never)");
UINT_PARAM(MIN_RUN_US, min_run_us,
	   "Microseconds that a queue runs at least before it may be preempted (10..1000000, default 0 = it may be at once)");
UINT_PARAM(RESUME_DELAY_US, resume_delay_us,
	   "Microseconds between the end of higher work and the return of what it preempted (10..1000000, default 0)");
UINT_PARAM(SLICE_US, slice_us,
	   "Microseconds that a process has the device under the policy wfq before one that is behind gets it (500..1000000, default 5000)");
PARAM(policy, &policy_ops, NULL, "string",
	"Who comes first: hpf = highest priority (default), wfq = by weights, edf = earliest deadline");
FLAG_PARAM(NICE, nice, "A process's nice value lowers the priority of its queues (default 1)");
FLAG_PARAM(TRUST_KFD_PRIORITY, trust_kfd_priority,
	   "Queue priorities above 7 count against other processes even if their owner has no CAP_SYS_NICE (default 0)");
PARAM(hw_priority, &tunable_ops, &tunables[GPREEMPT_TUNABLE_HW_PRIORITY], "charp",
	"Hardware priority of scheduled queues: normal (default), or follow the logical priority");
FLAG_PARAM(VERIFY, verify,
	   "Look whether anything writes to the MQDs of preempted queues, and report it (default 0; without the hardware scheduler always on)");
PARAM(wakeup, &tunable_ops, &tunables[GPREEMPT_TUNABLE_WAKEUP], "charp",
	"How new work is noticed: poll = by looking for it (default), doorbell = by withdrawing the doorbells of idle processes");

static u64 tuned(const struct gpreempt_node *gn, enum gpreempt_tunable which)
{
	return READ_ONCE(gn->tuned[which]);
}

/**
 * gpreempt_params_get() - take a copy of a node's tunables
 * @gn: the node, whose @gn->tun receives it; tun.params.waves_known and .waves_lag_ns are left alone
 *
 * Context: the node's monitor.
 */
void gpreempt_params_get(struct gpreempt_node *gn)
{
	struct gpreempt_policy_params *params = &gn->tun.params;

	params->interval_ns = tuned(gn, GPREEMPT_TUNABLE_INTERVAL_MS) * NSEC_PER_MSEC;
	params->poll_ns = tuned(gn, GPREEMPT_TUNABLE_POLL_US) * NSEC_PER_USEC;
	params->max_hold_ns = tuned(gn, GPREEMPT_TUNABLE_MAX_HOLD_MS) * NSEC_PER_MSEC;
	params->relief_ns = tuned(gn, GPREEMPT_TUNABLE_RELIEF_MS) * NSEC_PER_MSEC;
	params->blocked_ns = tuned(gn, GPREEMPT_TUNABLE_BLOCKED_US) * NSEC_PER_USEC;
	params->aging_ns = tuned(gn, GPREEMPT_TUNABLE_AGING_MS) * NSEC_PER_MSEC;
	params->min_run_ns = tuned(gn, GPREEMPT_TUNABLE_MIN_RUN_US) * NSEC_PER_USEC;
	params->resume_delay_ns = tuned(gn, GPREEMPT_TUNABLE_RESUME_DELAY_US) * NSEC_PER_USEC;
	params->slice_ns = tuned(gn, GPREEMPT_TUNABLE_SLICE_US) * NSEC_PER_USEC;
	params->overhead_pct = tuned(gn, GPREEMPT_TUNABLE_OVERHEAD_PCT);
	gn->tun.nice = tuned(gn, GPREEMPT_TUNABLE_NICE);
	gn->tun.trust = tuned(gn, GPREEMPT_TUNABLE_TRUST_KFD_PRIORITY);
	WRITE_ONCE(gn->tun.hw_priority, tuned(gn, GPREEMPT_TUNABLE_HW_PRIORITY));
	gn->tun.verify = tuned(gn, GPREEMPT_TUNABLE_VERIFY);
	WRITE_ONCE(gn->tun.wakeup, tuned(gn, GPREEMPT_TUNABLE_WAKEUP));
}

/**
 * gpreempt_params_verify() - are a node's preempted queues to be verified?
 * @gn: the node
 *
 * Context: any.
 *
 * Return: its gpreempt_verify
 */
bool gpreempt_params_verify(const struct gpreempt_node *gn)
{
	return tuned(gn, GPREEMPT_TUNABLE_VERIFY);
}

static int wants_doorbells(struct gpreempt_node *gn, void *arg)
{
	return tuned(gn, GPREEMPT_TUNABLE_WAKEUP) == GPREEMPT_WAKEUP_DOORBELL;
}

/**
 * gpreempt_params_wants_doorbells() - does any node want to be told of doorbell writes, or would a new one?
 *
 * Context: gpreempt_lifecycle and gpreempt_lock not held; may sleep.
 *
 * Return: true if one does
 */
bool gpreempt_params_wants_doorbells(void)
{
	return READ_ONCE(tunables[GPREEMPT_TUNABLE_WAKEUP].value) == GPREEMPT_WAKEUP_DOORBELL ||
	       gpreempt_core_find_locked(wants_doorbells, NULL);
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

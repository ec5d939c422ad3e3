// SPDX-License-Identifier: MIT
/*
 * params.c - module parameters gpreempt_* of amdgpu, one for each row of tunables_table.h, and what
 * follows from a write
 *
 * A value out of range is refused with one line that says what was wrong and what stays. While the
 * module loads it is only reported: a bad tunable must not cost the user the GPU driver.
 *
 * The files are root's by their mode. A container's root may have been left without rights, so to
 * write them takes CAP_SYS_ADMIN as well.
 */
#include <linux/capability.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <linux/stringify.h>

#include "node.h"
#include "params.h"
#include "rooms.h"

static bool ready;

/**
 * struct params_value - what a node gets
 * @which: the tunable
 * @value: its value
 */
struct params_value {
	enum gpreempt_tunable which;
	u32 value;
};

/* A write counts from the next pass. gpreempt_lock held. */
static void params_tune_locked(struct gpreempt_node *gn, struct params_value new)
{
	gpreempt_tunables_set(gn, new.which, new.value);
	gpreempt_rooms_tell(tuned, gn, new.which, new.value);
	gpreempt_node_kick(gn);
}

/* What was not needed when queues were registered. */
static void params_prepare(struct gpreempt_node *gn, struct params_value new)
{
	if (new.which == GPREEMPT_TUNABLE_VERIFY && new.value)
		gpreempt_mqd_add_snapshots(gn);
}

static void params_tune(struct gpreempt_node *gn, void *arg)
{
	const struct params_value *new = arg;

	mutex_lock(&gpreempt_lock);
	params_tune_locked(gn, *new);
	mutex_unlock(&gpreempt_lock);
	params_prepare(gn, *new);
}

static int params_set(const char *val, const struct kernel_param *kp)
{
	struct params_value new = { .which = (uintptr_t)kp->arg };

	if (ready && !capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (gpreempt_tunables_parse(new.which, NULL, val, gpreempt_tunables_default(new.which),
				    &new.value))
		return ready ? -EINVAL : 0;
	/* In this order: a node that appears now has it, one that was there gets it. */
	gpreempt_tunables_set_default(new.which, new.value);
	if (new.which != GPREEMPT_TUNABLE_ENABLE)
		gpreempt_node_for_each(params_tune, &new);
	else if (ready)
		gpreempt_life_enable(new.value);
	return 0;
}

static int params_get(char *buffer, const struct kernel_param *kp)
{
	return gpreempt_tunables_show_default((uintptr_t)kp->arg, buffer);
}

/*
 * A parameter without a value comes here as well: what it means is said by us, and does not cost
 * the driver either.
 */
static const struct kernel_param_ops gpreempt_params_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = params_set,
	.get = params_get,
};

GPREEMPT_TUNABLES(GPREEMPT_PARAM_GLOBAL, GPREEMPT_PARAM_SWITCH, GPREEMPT_PARAM_NUMBER,
		  GPREEMPT_PARAM_WORDS)

/**
 * gpreempt_params_store() - give a node a value of its own
 * @gn: the node
 * @which: the tunable
 * @buf: the value, or "default": that of the module parameter
 *
 * It holds until the module parameter is written, which is for all nodes. Another policy resumes
 * what it need not keep off the device.
 *
 * Context: sysfs, which keeps the node. The holder of gpreempt_lifecycle may wait for this file.
 * May sleep.
 *
 * Return: 0; -EINVAL: not a value of this tunable; the kernel log says so
 */
int gpreempt_params_store(struct gpreempt_node *gn, enum gpreempt_tunable which, const char *buf)
{
	struct params_value new = { .which = which };
	bool clear = sysfs_streq(buf, "default");

	if (!clear && gpreempt_tunables_parse(which, NULL, buf,
					      READ_ONCE(gn->tunables.tuned[which]), &new.value))
		return -EINVAL;
	mutex_lock(&gpreempt_lock);
	/* Under the lock: a parameter that is being written comes after this, or has been read. */
	if (clear)
		new.value = gpreempt_tunables_default(which);
	params_tune_locked(gn, new);
	mutex_unlock(&gpreempt_lock);
	params_prepare(gn, new);
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
	u32 value = gpreempt_tunables_default(GPREEMPT_TUNABLE_ENABLE);

	if (!sysfs_streq(buf, "default") && gpreempt_tunables_parse(GPREEMPT_TUNABLE_ENABLE, "enabled", buf, kept, &value))
		return -EINVAL;
	*on = value;
	return 0;
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
	gpreempt_life_enable(is_ready && gpreempt_tunables_default(GPREEMPT_TUNABLE_ENABLE));
	kernel_param_unlock(THIS_MODULE);
}

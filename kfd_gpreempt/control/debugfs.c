// SPDX-License-Identifier: MIT
/*
 * debugfs.c - /sys/kernel/debug/kfd/gpreempt and gpreempt_dump
 *
 * gpreempt_dump is all that is known of each node, see dump.c. gpreempt is a line with the names of
 * its columns, and one per registered queue.
 *
 * prio is the logical priority against other processes, effective_prio the same with ageing.
 * context: 1 in the first process that a program has of KFD's, from 2 on in its contexts. job: the
 * id of its job; 0: it has none. state: see gpreempt_queue_sysfs_state(). The pointers are read
 * now, everything else is from the monitor's last pass.
 *
 * Both tell what all programs do, so they are for CAP_SYS_ADMIN. The folder's mode alone does not
 * keep a container's root out, which may have no rights.
 */
#include <linux/capability.h>
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include <drm/drm_print.h>

#include "core/node.h"
#include "core/rooms.h"
#include "dump.h"
#include "queue_sysfs.h"

#ifdef CONFIG_DEBUG_FS

static struct dentry *queues_file;
static struct dentry *dump_file;

static void debugfs_show_queue(struct seq_file *m, const struct gpreempt_queue *gq)
{
	u64 rptr, wptr, pending;

	gpreempt_node_read(gq, &rptr, &wptr, &pending);
	seq_printf(m, "%u %d %u %d %s %llu %llu %u %llu %llu %d %u %llu\n", gq->gn->node->id,
		   gpreempt_queue_pid(gq), gq->q->properties.queue_id,
		   gpreempt_policy_read(gq->policy.set.priority),
		   gpreempt_queue_sysfs_state(gq, pending), rptr, wptr,
		   gpreempt_policy_read(gq->policy.seen.waves),
		   READ_ONCE(gq->account.preempt_count), gpreempt_stats_preempted_ns(gq),
		   gpreempt_policy_read(gq->policy.effective_priority), gq->process->context,
		   READ_ONCE(gq->process->job));
}

static void debugfs_show_node(struct gpreempt_node *gn, void *arg)
{
	struct gpreempt_queue *gq;
	int idx;

	idx = srcu_read_lock(&gn->queues.srcu);
	list_for_each_entry_srcu(gq, &gn->queues.list, link, srcu_read_lock_held(&gn->queues.srcu))
		debugfs_show_queue(arg, gq);
	srcu_read_unlock(&gn->queues.srcu, idx);
}

static int debugfs_queues_show(struct seq_file *m, void *unused)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	seq_puts(m, "gpu_id pid qid prio state rptr wptr waves preempt_count preempted_ns ");
	seq_puts(m, "effective_prio context job\n");
	gpreempt_node_for_each(debugfs_show_node, m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(debugfs_queues);

static void debugfs_dump_node(struct gpreempt_node *gn, void *arg)
{
	gpreempt_dump(gn, arg, U32_MAX);
}

static int debugfs_dump_show(struct seq_file *m, void *unused)
{
	struct drm_printer p = drm_seq_file_printer(m);

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	gpreempt_node_for_each(debugfs_dump_node, &p);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(debugfs_dump);

/* The files are in KFD's directory. */
static void debugfs_init(void)
{
	struct dentry *dir = debugfs_lookup("kfd", NULL);

	if (!dir)
		return;
	queues_file = debugfs_create_file("gpreempt", 0444, dir, NULL, &debugfs_queues_fops);
	dump_file = debugfs_create_file("gpreempt_dump", 0444, dir, NULL, &debugfs_dump_fops);
	dput(dir);
}

/* Before amdkfd removes its directory */
static void debugfs_exit(void)
{
	debugfs_remove(dump_file);
	debugfs_remove(queues_file);
	dump_file = NULL;
	queues_file = NULL;
}

#else

#define debugfs_init	NULL
#define debugfs_exit	NULL

#endif /* CONFIG_DEBUG_FS */

const struct gpreempt_room gpreempt_room_debugfs = {
	.init = debugfs_init,
	.exit = debugfs_exit,
	.failed = gpreempt_dump_log,
};

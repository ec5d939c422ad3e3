// SPDX-License-Identifier: MIT
/*
 * debugfs.c - /sys/kernel/debug/kfd/gpreempt and gpreempt_dump
 *
 * gpreempt_dump is all that is known of each node, see dump.c. gpreempt is a line per registered queue:
 *
 * gpu_id pid qid prio state rptr wptr waves preempt_count preempted_ns effective_prio
 *
 * prio is the logical priority against other processes, effective_prio the same with ageing. state: see
 * gpreempt_queue_state(). The pointers are read now, everything else is from the monitor's last pass.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include <drm/drm_print.h>

#include "core.h"

#ifdef CONFIG_DEBUG_FS

static struct dentry *queues_file;
static struct dentry *dump_file;

static void show_queue(struct seq_file *m, const struct gpreempt_queue *gq)
{
	u64 rptr, wptr, pending;

	gpreempt_queue_read(gq, &rptr, &wptr, &pending);
	seq_printf(m, "%u %d %u %d %s %llu %llu %u %llu %llu %d\n", gq->gn->node->id,
		   gpreempt_queue_pid(gq), gq->q->properties.queue_id, gpreempt_peek(gq->policy.priority),
		   gpreempt_queue_state(gq, pending), rptr, wptr, gpreempt_peek(gq->policy.waves), READ_ONCE(gq->preempt_count),
		   gpreempt_queue_preempted_ns(gq), gpreempt_peek(gq->policy.effective_priority));
}

static void show_node(struct gpreempt_node *gn, void *arg)
{
	struct gpreempt_queue *gq;
	int idx;

	idx = srcu_read_lock(&gn->srcu);
	list_for_each_entry_srcu(gq, &gn->queues, link, srcu_read_lock_held(&gn->srcu))
		show_queue(arg, gq);
	srcu_read_unlock(&gn->srcu, idx);
}

static int gpreempt_show(struct seq_file *m, void *unused)
{
	gpreempt_core_for_each(show_node, m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(gpreempt);

static void dump_node(struct gpreempt_node *gn, void *arg)
{
	gpreempt_dump(gn, arg, U32_MAX);
}

static int gpreempt_dump_show(struct seq_file *m, void *unused)
{
	struct drm_printer p = drm_seq_file_printer(m);

	gpreempt_core_for_each(dump_node, &p);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(gpreempt_dump);

/**
 * gpreempt_debugfs_init() - add the files to KFD's directory
 *
 * Context: module init.
 */
void gpreempt_debugfs_init(void)
{
	struct dentry *dir = debugfs_lookup("kfd", NULL);

	if (!dir)
		return;
	queues_file = debugfs_create_file("gpreempt", 0444, dir, NULL, &gpreempt_fops);
	dump_file = debugfs_create_file("gpreempt_dump", 0444, dir, NULL, &gpreempt_dump_fops);
	dput(dir);
}

/**
 * gpreempt_debugfs_exit() - remove the files
 *
 * Context: module exit, before amdkfd removes its directory.
 */
void gpreempt_debugfs_exit(void)
{
	debugfs_remove(dump_file);
	debugfs_remove(queues_file);
	dump_file = NULL;
	queues_file = NULL;
}

#else

void gpreempt_debugfs_init(void)
{
}

void gpreempt_debugfs_exit(void)
{
}

#endif /* CONFIG_DEBUG_FS */

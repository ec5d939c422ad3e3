// SPDX-License-Identifier: MIT
/*
 * debugfs.c - /sys/kernel/debug/kfd/gpreempt, gpreempt_dump and gpreempt_processes
 *
 * gpreempt_dump is all that is known of each node, see dump.c. gpreempt is a line per registered queue:
 *
 * gpu_id pid qid prio state rptr wptr waves preempt_count preempted_ns effective_prio
 *
 * prio is the logical priority against other processes, effective_prio the same with ageing. state: see
 * gpreempt_queue_state(). The pointers are read now, everything else is from the monitor's last pass.
 *
 * gpreempt_processes is a line per process with registered queues, for each node:
 *
 * gpu_id pid opt_out weight deadline_us
 *
 * and takes "<pid> opt_out=<0|1> weight=<0..10000> deadline_us=<0..1000000000>", any of the three, for all nodes. 0 is
 * not set. Settings go with the process's last queue.
 */
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <drm/drm_print.h>

#include "core.h"

#ifdef CONFIG_DEBUG_FS

static struct dentry *queues_file;
static struct dentry *dump_file;
static struct dentry *processes_file;

#define MAX_DEADLINE_US	1000000000

static void show_queue(struct seq_file *m, const struct gpreempt_queue *gq)
{
	u64 rptr = 0, wptr = 0, pending = 0;
	u64 preempted_ns = READ_ONCE(gq->preempted_ns);

	if (gq->sampled)
		gpreempt_queue_read(gq, &rptr, &wptr, &pending);
	if (READ_ONCE(gq->policy.preempted))
		preempted_ns += ktime_get_ns() - READ_ONCE(gq->policy.held_ns);
	seq_printf(m, "%u %d %u %d %s %llu %llu %u %llu %llu %d\n", gq->gn->node->id,
		   gpreempt_queue_pid(gq), gq->q->properties.queue_id, READ_ONCE(gq->policy.priority),
		   gpreempt_queue_state(gq, pending), rptr, wptr, READ_ONCE(gq->policy.waves), READ_ONCE(gq->preempt_count),
		   preempted_ns, READ_ONCE(gq->policy.effective_priority));
}

static void show_node(struct gpreempt_node *gn, void *arg)
{
	struct gpreempt_queue *gq;
	int idx;

	idx = srcu_read_lock(&gpreempt_srcu);
	list_for_each_entry_srcu(gq, &gn->queues, link, srcu_read_lock_held(&gpreempt_srcu))
		show_queue(arg, gq);
	srcu_read_unlock(&gpreempt_srcu, idx);
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

static void show_processes(struct gpreempt_node *gn, void *arg)
{
	struct gpreempt_process *process;

	mutex_lock(&gpreempt_lock);
	list_for_each_entry(process, &gn->processes, link)
		seq_printf(arg, "%u %d %d %u %u\n", gn->node->id, process->p->lead_thread->pid, process->opt_out,
			   process->weight, process->deadline_us);
	mutex_unlock(&gpreempt_lock);
}

static int gpreempt_processes_show(struct seq_file *m, void *unused)
{
	gpreempt_core_for_each(show_processes, m);
	return 0;
}

/**
 * struct settings - a line written to gpreempt_processes
 * @pid: whose settings
 * @found: a node knows the process
 * @opt_out: new value; negative: as before
 * @weight: new value; negative: as before
 * @deadline_us: new value; negative: as before
 */
struct settings {
	int pid;
	bool found;
	int opt_out;
	int weight;
	int deadline_us;
};

static void apply_settings(struct gpreempt_node *gn, void *arg)
{
	struct gpreempt_process *process;
	struct settings *new = arg;

	mutex_lock(&gpreempt_lock);
	list_for_each_entry(process, &gn->processes, link) {
		if (process->p->lead_thread->pid != new->pid)
			continue;
		new->found = true;
		if (new->opt_out >= 0)
			WRITE_ONCE(process->opt_out, new->opt_out);
		if (new->weight >= 0)
			WRITE_ONCE(process->weight, new->weight);
		if (new->deadline_us >= 0)
			WRITE_ONCE(process->deadline_us, new->deadline_us);
		gpreempt_core_kick_locked(gn);
	}
	mutex_unlock(&gpreempt_lock);
}

/* "name=value"; false: it is none of ours or out of range. */
static bool parse_setting(char *word, struct settings *new)
{
	char *value = strchr(word, '=');
	unsigned int number;

	if (!value)
		return false;
	*value++ = '\0';
	if (kstrtouint(value, 0, &number))
		return false;
	if (!strcmp(word, "opt_out") && number <= 1)
		new->opt_out = number;
	else if (!strcmp(word, "weight") && number <= GPREEMPT_WEIGHT_MAX)
		new->weight = number;
	else if (!strcmp(word, "deadline_us") && number <= MAX_DEADLINE_US)
		new->deadline_us = number;
	else
		return false;
	return true;
}

static int parse_settings(char *line, struct settings *new)
{
	char *word = strsep(&line, " ");

	if (kstrtoint(word, 0, &new->pid))
		return -EINVAL;
	while ((word = strsep(&line, " ")))
		if (*word && !parse_setting(word, new)) {
			pr_err("gpreempt: a process has opt_out=0..1, weight=0..%u, deadline_us=0..%u, but not %s\n",
			       GPREEMPT_WEIGHT_MAX, MAX_DEADLINE_US, word);
			return -EINVAL;
		}
	return 0;
}

static ssize_t gpreempt_processes_write(struct file *f, const char __user *buf, size_t count, loff_t *ppos)
{
	struct settings new = { .opt_out = -1, .weight = -1, .deadline_us = -1 };
	char *line;
	int r;

	if (count > PAGE_SIZE)
		return -EINVAL;
	line = memdup_user_nul(buf, count);
	if (IS_ERR(line))
		return PTR_ERR(line);
	r = parse_settings(strim(line), &new);
	kfree(line);
	if (r)
		return r;
	gpreempt_core_for_each(apply_settings, &new);
	return new.found ? count : -ESRCH;
}
DEFINE_SHOW_STORE_ATTRIBUTE(gpreempt_processes);

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
	processes_file = debugfs_create_file("gpreempt_processes", 0600, dir, NULL, &gpreempt_processes_fops);
	dput(dir);
}

/**
 * gpreempt_debugfs_exit() - remove the files
 *
 * Context: module exit, before amdkfd removes its directory.
 */
void gpreempt_debugfs_exit(void)
{
	debugfs_remove(processes_file);
	debugfs_remove(dump_file);
	debugfs_remove(queues_file);
	processes_file = NULL;
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

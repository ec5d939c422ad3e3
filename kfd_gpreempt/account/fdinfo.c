// SPDX-License-Identifier: MIT
/*
 * fdinfo.c - what a program has used, in /proc/PID/fdinfo of /dev/kfd, in the form of DRM's files
 *
 * A file of DRM is one device's. /dev/kfd is one for all of them, so it has one client with one
 * engine: the compute engine of each node that the program has used. While that is one device, it
 * is named as DRM's files name theirs. With several there is no such name. The engine's time is the
 * sum, and its capacity is the number of nodes, so no device gets the time of another. What each
 * node is worth stands in lines of our own. No key is there twice.
 *
 * Who may read that is the kernel's to decide, as for all files of a process.
 */
#include <linux/fs.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/srcu.h>

#include "core/node.h"
#include "usage.h"

/*
 * DRM counts its clients from 1 on. Programs hold such numbers in 32 bits. Ours are the program's
 * PIDs beyond this one.
 */
#define FIRST_CLIENT	(1U << 31)

/**
 * struct fdinfo - what a program has used
 * @m: the file
 * @pid: the program
 * @nr: nodes that it has used
 * @device: the PCI device of the last of them
 * @several: there are others
 * @accounted: every node that is switched on keeps an account, and one is
 * @stands: some node is not
 * @busy_ns: time that it was busy, on all of them
 */
struct fdinfo {
	struct seq_file *m;
	struct pid *pid;
	u32 nr;
	struct device *device;
	bool several;
	bool accounted;
	bool stands;
	u64 busy_ns;
};

static int fdinfo_add_node(struct gpreempt_node *gn, void *arg)
{
	struct gpreempt_queue_usage usage;
	struct fdinfo *info = arg;

	if (READ_ONCE(gn->life.accepting) && gpreempt_tunables_accounts(gn))
		info->accounted = true;
	else if (gn->backend)
		info->stands = true;
	if (!gpreempt_usage_of_program(gn, info->pid, &usage))
		return 0;
	info->several |= info->nr && info->device != gn->node->adev->dev;
	info->device = gn->node->adev->dev;
	info->nr++;
	info->busy_ns += usage.busy_ns;
	return 0;
}

static int fdinfo_show_node(struct gpreempt_node *gn, void *arg)
{
	struct gpreempt_queue_usage usage;
	struct fdinfo *info = arg;
	u32 id = gn->node->id;

	if (!gpreempt_usage_of_program(gn, info->pid, &usage))
		return 0;
	seq_printf(info->m, "gpreempt-pdev-%u:\t%s\n", id, dev_name(gn->node->adev->dev));
	seq_printf(info->m, "gpreempt-busy-%u:\t%llu ns\n", id, usage.busy_ns);
	seq_printf(info->m, "gpreempt-waiting-%u:\t%llu ns\n", id, usage.waiting_ns);
	seq_printf(info->m, "gpreempt-preempted-%u:\t%llu ns\n", id, usage.preempted_ns);
	return 0;
}

/* Time that is not accounted is no time without work: then there is no engine. */
static void fdinfo_show(struct fdinfo *info, pid_t pid)
{
	gpreempt_node_find(fdinfo_add_node, info);
	seq_puts(info->m, "drm-driver:\tamdgpu\n");
	seq_printf(info->m, "drm-client-id:\t%u\n", FIRST_CLIENT + pid);
	if (info->nr && !info->several)
		seq_printf(info->m, "drm-pdev:\t%s\n", dev_name(info->device));
	if (info->accounted && !info->stands) {
		seq_printf(info->m, "drm-engine-compute:\t%llu ns\n", info->busy_ns);
		if (info->nr > 1)
			seq_printf(info->m, "drm-engine-capacity-compute:\t%u\n", info->nr);
	}
	gpreempt_node_find(fdinfo_show_node, info);
}

/*
 * Whose file is it? A file that the driver gives another process meanwhile had one that lives as
 * long as its program, so that it ends after kfd_processes_srcu.
 */
static struct pid *fdinfo_program(const struct file *filp)
{
	const struct kfd_process *p;
	struct pid *pid = NULL;
	int idx;

	idx = srcu_read_lock(&kfd_processes_srcu);
	p = READ_ONCE(filp->private_data);
	if (p) {
		rcu_read_lock();
		pid = get_pid(task_tgid(p->lead_thread));
		rcu_read_unlock();
	}
	srcu_read_unlock(&kfd_processes_srcu, idx);
	return pid;
}

/**
 * kfd_gpreempt_show_fdinfo() - lines of /proc/PID/fdinfo for a file of /dev/kfd
 * @m: the file in procfs
 * @filp: the file. All files of a program say the same, and so do those that others got from it:
 *	the client's number says so
 *
 * Nothing is said of a program that has ended, or that the reader's PID namespace does not know.
 *
 * Context: the file is held; no lock held; may sleep.
 */
void kfd_gpreempt_show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct fdinfo info = { .m = m, .pid = fdinfo_program(filp) };
	pid_t pid = pid_nr_ns(info.pid, task_active_pid_ns(current));

	if (pid)
		fdinfo_show(&info, pid);
	put_pid(info.pid);
}

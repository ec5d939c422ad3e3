/* SPDX-License-Identifier: MIT */
/*
 * compat.h - what the series of kernels name, type or do differently
 *
 * No other file of the scheduler asks for the kernel's version. A difference is one function here,
 * with a body for each kind of driver. Only files that know the device include this.
 */
#ifndef GPREEMPT_COMPAT_H
#define GPREEMPT_COMPAT_H

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/version.h>

#include "kfd_priv.h"
#include "kfd_device_queue_manager.h"
#include "kfd_mqd_manager.h"
#include "v9_structs.h"

/*
 * gpreempt_compat_set_grace() - so long waves may go on before they are saved, in 1000 clocks; not
 * 0. dqm_lock held.
 * gpreempt_compat_reset_grace() - as long as the driver chose. dqm_lock held.
 * gpreempt_compat_isolates() - is one process at a time on the device?
 * gpreempt_compat_hw_priority() - what MQDs say of a priority of KFD's, as a number to compare
 * gpreempt_compat_mqd_priority() - what one says
 * gpreempt_compat_set_mqd_priority() - make it say so
 * gpreempt_compat_mqds_written() - MQDs have been written, and are about to be read by the device
 * gpreempt_compat_context() - which of a program's processes of KFD's is it? 1: the first one
 * gpreempt_compat_has_capability() - has a task, which is not the caller, a capability? Does not
 * sleep.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)

static inline int gpreempt_compat_set_grace(struct packet_manager *pm, u32 grace_period)
{
	return pm_config_dequeue_wait_counts(pm, KFD_DEQUEUE_WAIT_SET_SCH_WAVE, grace_period);
}

static inline int gpreempt_compat_reset_grace(struct packet_manager *pm)
{
	return pm_config_dequeue_wait_counts(pm, KFD_DEQUEUE_WAIT_RESET, 0);
}

static inline bool gpreempt_compat_isolates(const struct kfd_node *node)
{
	return node->adev->enforce_isolation[node->node_id] == AMDGPU_ENFORCE_ISOLATION_ENABLE;
}

/* The driver writes the pipe's, which knows three, and leaves the queue's alone. */
static inline u32 gpreempt_compat_hw_priority(u32 priority)
{
	return pipe_priority_map[priority];
}

static inline u32 gpreempt_compat_mqd_priority(const struct v9_mqd *m)
{
	return m->cp_hqd_pipe_priority;
}

static inline void gpreempt_compat_set_mqd_priority(struct v9_mqd *m, u32 hw_priority)
{
	m->cp_hqd_pipe_priority = hw_priority;
}

/* They are memory of the device, if it has any: what waits on the way there has to arrive first. */
static inline void gpreempt_compat_mqds_written(const struct kfd_node *node)
{
	if (!node->adev->apu_prefer_gtt)
		amdgpu_device_flush_hdp(node->adev, NULL);
}

/* KFD numbers contexts from 0; the first process has the highest number. */
static inline u16 gpreempt_compat_context(const struct kfd_process *p)
{
	return p->context_id == KFD_CONTEXT_ID_PRIMARY ? 1 : min(p->context_id + 2U, U16_MAX);
}

/* All these kernels export the question for the caller, who takes the task's place. */
static inline bool gpreempt_compat_has_capability(struct task_struct *task, int capability)
{
	const struct cred *theirs = get_task_cred(task), *ours = override_creds(theirs);
	bool has = ns_capable_noaudit(&init_user_ns, capability);

	revert_creds(ours);
	put_cred(theirs);
	return has;
}

#else

static inline int gpreempt_compat_set_grace(struct packet_manager *pm, u32 grace_period)
{
	return pm_update_grace_period(pm, grace_period);
}

static inline int gpreempt_compat_reset_grace(struct packet_manager *pm)
{
	return pm_update_grace_period(pm, USE_DEFAULT_GRACE_PERIOD);
}

static inline bool gpreempt_compat_isolates(const struct kfd_node *node)
{
	return node->adev->enforce_isolation[node->node_id];
}

static inline u32 gpreempt_compat_hw_priority(u32 priority)
{
	return priority;
}

static inline u32 gpreempt_compat_mqd_priority(const struct v9_mqd *m)
{
	return m->cp_hqd_queue_priority;
}

static inline void gpreempt_compat_set_mqd_priority(struct v9_mqd *m, u32 hw_priority)
{
	m->cp_hqd_pipe_priority = pipe_priority_map[hw_priority];
	m->cp_hqd_queue_priority = hw_priority;
}

static inline void gpreempt_compat_mqds_written(const struct kfd_node *node)
{
}

static inline u16 gpreempt_compat_context(const struct kfd_process *p)
{
	return 1;
}

static inline bool gpreempt_compat_has_capability(struct task_struct *task, int capability)
{
	return has_capability_noaudit(task, capability);
}

#endif

#endif /* GPREEMPT_COMPAT_H */

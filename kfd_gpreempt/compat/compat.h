/* SPDX-License-Identifier: MIT */
/*
 * compat.h - what kernels and drivers name, type or do differently
 *
 * No other file of the scheduler asks for a version. A difference is one function here, with a body
 * for each kind. There are two axes. What amdkfd differs in depends on whose driver it is: the
 * kernel's own is of the kernel's version, AMD's package is built for many kernels. What the rest
 * of the kernel differs in depends on its version alone. Only files that know the device include
 * this.
 */
#ifndef GPREEMPT_COMPAT_H
#define GPREEMPT_COMPAT_H

#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kobject.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/numa.h>
#include <linux/sched/isolation.h>
#include <linux/seq_buf.h>
#include <linux/topology.h>
#include <linux/version.h>

#include "kfd_priv.h"
#include "kfd_device_queue_manager.h"
#include "kfd_kernel_queue.h"
#include "kfd_mqd_manager.h"
#include "v9_structs.h"

/*
 * The driver. The build of AMD's package includes its config.h first, which has AMDGPU_VERSION; the
 * kernel's amdgpu has no such name. It is a string: what tells packages apart is the version of
 * KFD's interface, 1.15 in 6.7, 1.17 in 6.12 and 1.20 in 6.14.
 *
 * gpreempt_compat_set_grace() - so long waves may go on before they are saved, in 1000 clocks; not
 * 0. dqm_lock held.
 * gpreempt_compat_reset_grace() - as long as the driver chose. dqm_lock held.
 * gpreempt_compat_hw_priority() - what MQDs say of a priority of KFD's, as a number to compare
 * gpreempt_compat_mqd_priority() - what one says
 * gpreempt_compat_set_mqd_priority() - make it say so
 * gpreempt_compat_mqds_written() - MQDs have been written, and are about to be read by the device
 * gpreempt_compat_context() - which of a program's processes of KFD's is it? 1: the first one
 * gpreempt_compat_withdraws() - does the driver withdraw doorbells of idle processes itself?
 * gpreempt_compat_isolates() - is one process at a time on the device?
 * gpreempt_compat_names() - can we tell firmware which queues are to leave and to return?
 * gpreempt_compat_abandoned() - did firmware give up on a queue at the last unmap? Asked once.
 * dqm_lock held
 * gpreempt_compat_is_halted() - has the driver halted its scheduler? dqm_lock held, or as a hint
 * gpreempt_compat_counts_waves() - does the driver count waves in flight of each queue?
 * gpreempt_compat_count_waves() - those of one XCC, an entry of the buffer for each HQD
 * gpreempt_compat_resets_queues() - can a queue be reset alone, and its process be told?
 * gpreempt_compat_was_reset() - was a queue of the process on this node ever reset?
 * gpreempt_compat_tell_reset() - tell the process whose queue was reset. dqm_lock held
 * gpreempt_compat_pointer_bo() - what the GPU has at a ring pointer of a queue, with a reference to
 * it; NULL: nothing, or not at this page alone. p->mutex held; may sleep
 * gpreempt_compat_cpu_sees() - is a BO of one page, reserved, where the CPU reaches it?
 * GPREEMPT_COMPAT_SET_AS_RESET() - the driver's mark of a queue that was reset, for files that have
 * its static function. dqm_lock held
 */
#if (defined(AMDGPU_VERSION) && KFD_IOCTL_MINOR_VERSION >= 20) || \
	(!defined(AMDGPU_VERSION) && LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0))

static inline int gpreempt_compat_set_grace(struct packet_manager *pm, u32 grace_period)
{
	return pm_config_dequeue_wait_counts(pm, KFD_DEQUEUE_WAIT_SET_SCH_WAVE, grace_period);
}

static inline int gpreempt_compat_reset_grace(struct packet_manager *pm)
{
	return pm_config_dequeue_wait_counts(pm, KFD_DEQUEUE_WAIT_RESET, 0);
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

#endif

#if !defined(AMDGPU_VERSION) && LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)

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

#else

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

#endif

#ifdef AMDGPU_VERSION

static inline bool gpreempt_compat_withdraws(void)
{
	return keep_idle_process_evicted;
}

/* How firmware is asked whether it gave up differs between its releases. */
static inline bool gpreempt_compat_names(void)
{
	return false;
}

static inline bool gpreempt_compat_abandoned(struct device_queue_manager *dqm)
{
	return true;
}

#else

static inline bool gpreempt_compat_withdraws(void)
{
	return false;
}

static inline bool gpreempt_compat_names(void)
{
	return true;
}

static inline bool gpreempt_compat_abandoned(struct device_queue_manager *dqm)
{
	struct mqd_manager *mm = dqm->mqd_mgrs[KFD_MQD_TYPE_HIQ];

	return mm->check_preemption_failed(mm, dqm->packet_mgr.priv_queue->queue->mqd);
}

#endif

#if defined(AMDGPU_VERSION) && KFD_IOCTL_MINOR_VERSION < 17

/* It isolates graphics from compute, not processes from each other. */
static inline bool gpreempt_compat_isolates(const struct kfd_node *node)
{
	return false;
}

static inline bool gpreempt_compat_is_halted(const struct device_queue_manager *dqm)
{
	return false;
}

/* It has those of all queues of a process in one number, which does not say whose they are. */
struct kfd_cu_occupancy {
	u32 wave_cnt;
	u32 doorbell_off;
};

static inline bool gpreempt_compat_counts_waves(const struct kfd_node *node)
{
	return false;
}

static inline void gpreempt_compat_count_waves(const struct kfd_node *node,
					       struct kfd_cu_occupancy *buffer, int xcc)
{
}

/* Only the device is reset, and then every process is told. */
static inline bool gpreempt_compat_resets_queues(void)
{
	return false;
}

static inline bool gpreempt_compat_was_reset(const struct kfd_process_device *pdd)
{
	return false;
}

static inline void gpreempt_compat_tell_reset(struct device_queue_manager *dqm)
{
}

#define GPREEMPT_COMPAT_SET_AS_RESET(dqm, q, qpd)	do { } while (0)

/* Queues do not keep theirs. If the program unmaps it, the reference keeps its memory. */
static inline struct amdgpu_bo *gpreempt_compat_pointer_bo(const struct queue *q, bool write)
{
	const u32 *pointer = write ? q->properties.write_ptr : q->properties.read_ptr;
	struct kfd_process_device *pdd = kfd_get_process_device_data(q->device, q->process);
	u64 page = (unsigned long)pointer >> AMDGPU_GPU_PAGE_SHIFT;
	struct amdgpu_bo_va_mapping *mapping;
	struct amdgpu_bo *bo = NULL;
	struct amdgpu_vm *vm;

	if (!pdd || !pdd->drm_priv)
		return NULL;
	vm = drm_priv_to_vm(pdd->drm_priv);
	if (amdgpu_bo_reserve(vm->root.bo, true))
		return NULL;
	mapping = amdgpu_vm_bo_lookup_mapping(vm, page);
	if (mapping && mapping->start == page && mapping->last == page && mapping->bo_va)
		bo = amdgpu_bo_ref(mapping->bo_va->base.bo);
	amdgpu_bo_unreserve(vm->root.bo);
	return bo;
}

static inline bool gpreempt_compat_cpu_sees(struct amdgpu_bo *bo)
{
	const struct ttm_resource *resource = bo->tbo.resource;

	return resource &&
	       (resource->mem_type == TTM_PL_SYSTEM || resource->mem_type == TTM_PL_TT ||
		resource->mem_type == AMDGPU_PL_PREEMPT || amdgpu_bo_in_cpu_visible_vram(bo));
}

#else

static inline bool gpreempt_compat_isolates(const struct kfd_node *node)
{
#if !defined(AMDGPU_VERSION) && LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
	return node->adev->enforce_isolation[node->node_id];
#else
	/* There are more modes than on and off. */
	return node->adev->enforce_isolation[node->node_id] == AMDGPU_ENFORCE_ISOLATION_ENABLE;
#endif
}

static inline bool gpreempt_compat_is_halted(const struct device_queue_manager *dqm)
{
	return dqm->sched_halt;
}

static inline bool gpreempt_compat_counts_waves(const struct kfd_node *node)
{
	return node->kfd2kgd->get_cu_occupancy;
}

static inline void gpreempt_compat_count_waves(const struct kfd_node *node,
					       struct kfd_cu_occupancy *buffer, int xcc)
{
	int max_waves_per_cu;

	node->kfd2kgd->get_cu_occupancy(node->adev, buffer, &max_waves_per_cu, xcc);
}

static inline bool gpreempt_compat_resets_queues(void)
{
	return true;
}

static inline bool gpreempt_compat_was_reset(const struct kfd_process_device *pdd)
{
	return READ_ONCE(pdd->has_reset_queue);
}

/* With a count the driver tells only processes with has_reset_queue. */
static inline void gpreempt_compat_tell_reset(struct device_queue_manager *dqm)
{
	dqm->detect_hang_count++;
	kfd_signal_reset_event(dqm->dev);
	dqm->detect_hang_count--;
}

#define GPREEMPT_COMPAT_SET_AS_RESET(dqm, q, qpd)	set_queue_as_reset(dqm, q, qpd)

static inline struct amdgpu_bo *gpreempt_compat_pointer_bo(const struct queue *q, bool write)
{
	return amdgpu_bo_ref(write ? q->properties.wptr_bo : q->properties.rptr_bo);
}

static inline bool gpreempt_compat_cpu_sees(struct amdgpu_bo *bo)
{
	return amdgpu_res_cpu_visible(amdgpu_ttm_adev(bo->tbo.bdev), bo->tbo.resource);
}

#endif

/*
 * The rest of the kernel
 *
 * gpreempt_compat_has_capability() - has a task, which is not the caller, a capability? Does not
 * sleep.
 * gpreempt_compat_new_inode() - an inode that nothing else has, or NULL; iput() frees it
 * gpreempt_compat_unmaps() - does gpreempt_compat_unmap_pages() find pages of doorbells?
 * gpreempt_compat_unmap_pages() - take pages of an address space away from all programs
 * gpreempt_compat_pin_page() - pin a page of a program for long, to read it. mmap lock held
 * gpreempt_compat_pin_present_page() - the same, if it is there: waits for no program. mmap lock
 * held, by a thread that has no memory of its own
 * gpreempt_compat_map_no_pages() - what maps nothing around a fault
 * gpreempt_compat_cgroup_is_gone() - is there no cgroup of this id any more?
 * gpreempt_compat_is_frozen() - is a task frozen, by a cgroup of version 1 or with the machine?
 * gpreempt_compat_text() - what was written to a buffer, as a string
 * gpreempt_compat_count() - how many there are on a list
 * gpreempt_compat_keep_near() - a thread that was made for a NUMA node (or for NUMA_NO_NODE) is to
 * run on CPUs of that node. Called again now and then with what it returned, because CPUs come and
 * go; NULL at first. May sleep
 * gpreempt_compat_add_kobject() - make an object of the type, and its folder
 * GPREEMPT_COMPAT_ASSIGN_STR() - __assign_str(), of what __string() has been told
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0) && LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)

static inline bool gpreempt_compat_has_capability(struct task_struct *task, int capability)
{
	return has_capability_noaudit(task, capability);
}

#else

/* All kernels export the question for the caller, who takes the task's place. */
static inline bool gpreempt_compat_has_capability(struct task_struct *task, int capability)
{
	const struct cred *theirs = get_task_cred(task), *ours = override_creds(theirs);
	bool has = ns_capable_noaudit(&init_user_ns, capability);

	revert_creds(ours);
	put_cred(theirs);
	return has;
}

#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)

static inline struct inode *gpreempt_compat_new_inode(const char *name,
						      const struct file_operations *operations)
{
	struct file *file = anon_inode_create_getfile(name, operations, NULL, O_RDWR, NULL);
	struct inode *inode;

	if (IS_ERR(file))
		return NULL;
	inode = file_inode(file);
	ihold(inode);
	fput(file);
	return inode;
}

#else

/* Where files share an inode, there is one more to be had from where that is. */
static inline struct inode *gpreempt_compat_new_inode(const char *name,
						      const struct file_operations *operations)
{
	struct file *file = anon_inode_getfile(name, operations, NULL, O_RDWR);
	struct inode *inode;

	if (IS_ERR(file))
		return NULL;
	inode = alloc_anon_inode(file_inode(file)->i_sb);
	fput(file);
	return IS_ERR(inode) ? NULL : inode;
}

#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 12, 0)

static inline bool gpreempt_compat_unmaps(void)
{
	return true;
}

static inline void gpreempt_compat_unmap_pages(struct address_space *mapping, pgoff_t first,
					       pgoff_t nr)
{
	unmap_mapping_pages(mapping, first, nr, true);
}

#else

/* Before that it took offsets for signed, and those of doorbells have the highest bit. */
static inline bool gpreempt_compat_unmaps(void)
{
	return LINUX_VERSION_CODE >= KERNEL_VERSION(5, 10, 207);
}

static inline void gpreempt_compat_unmap_pages(struct address_space *mapping, pgoff_t first,
					       pgoff_t nr)
{
	unmap_mapping_range(mapping, (loff_t)first << PAGE_SHIFT, (loff_t)nr << PAGE_SHIFT, 1);
}

#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)

static inline long gpreempt_compat_pin(struct mm_struct *mm, unsigned long addr,
				       unsigned int flags, struct page **page)
{
	return pin_user_pages_remote(mm, addr, 1, FOLL_LONGTERM | flags, page, NULL);
}

#else

static inline long gpreempt_compat_pin(struct mm_struct *mm, unsigned long addr,
				       unsigned int flags, struct page **page)
{
	return pin_user_pages_remote(mm, addr, 1, FOLL_LONGTERM | flags, page, NULL, NULL);
}

#endif

static inline long gpreempt_compat_pin_page(struct mm_struct *mm, unsigned long addr,
					    struct page **page)
{
	return gpreempt_compat_pin(mm, addr, 0, page);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 16, 0)

static inline long gpreempt_compat_pin_present_page(struct mm_struct *mm, unsigned long addr,
						    struct page **page)
{
	return gpreempt_compat_pin(mm, addr, FOLL_NOFAULT, page);
}

#else

/* What never faults looks at the memory of the thread that calls it. */
static inline long gpreempt_compat_pin_present_page(struct mm_struct *mm, unsigned long addr,
						    struct page **page)
{
	int n;

	if (!(current->flags & PF_KTHREAD) || current->mm)
		return -EAGAIN;
	kthread_use_mm(mm);
	n = pin_user_pages_fast_only(addr, 1, FOLL_LONGTERM, page);
	kthread_unuse_mm(mm);
	return n;
}

#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 12, 0)

static inline vm_fault_t gpreempt_compat_map_no_pages(struct vm_fault *vmf, pgoff_t first,
						      pgoff_t last)
{
	return 0;
}

#else

static inline void gpreempt_compat_map_no_pages(struct vm_fault *vmf, pgoff_t first, pgoff_t last)
{
}

#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)

static inline bool gpreempt_compat_cgroup_is_gone(u64 id)
{
	struct cgroup *cgroup = cgroup_get_from_id(id);

	if (IS_ERR(cgroup))
		return PTR_ERR(cgroup) == -ENOENT;
	cgroup_put(cgroup);
	return false;
}

#else

static inline bool gpreempt_compat_cgroup_is_gone(u64 id)
{
	struct cgroup_subsys_state *css;
	bool gone = true;

	rcu_read_lock();
	css_for_each_descendant_pre(css, &cgrp_dfl_root.cgrp.self)
		gone &= !(css->flags & CSS_ONLINE) || cgroup_id(css->cgroup) != id;
	rcu_read_unlock();
	return gone;
}

#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)

static inline bool gpreempt_compat_is_frozen(struct task_struct *task)
{
	return READ_ONCE(task->__state) & TASK_FROZEN;
}

#else

static inline bool gpreempt_compat_is_frozen(struct task_struct *task)
{
	return READ_ONCE(task->flags) & PF_FROZEN;
}

#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)

static inline const char *gpreempt_compat_text(struct seq_buf *s)
{
	return seq_buf_str(s);
}

static inline size_t gpreempt_compat_count(struct list_head *list)
{
	return list_count_nodes(list);
}

#else

static inline const char *gpreempt_compat_text(struct seq_buf *s)
{
	s->buffer[min_t(size_t, s->len, s->size - 1)] = 0;
	return s->buffer;
}

static inline size_t gpreempt_compat_count(struct list_head *list)
{
	struct list_head *node;
	size_t n = 0;

	list_for_each(node, list)
		n++;
	return n;
}

#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)

/* The kernel keeps it there by itself, also when CPUs come and go. */
static inline bool gpreempt_compat_keep_near(struct task_struct *thread, int nid, const bool *was)
{
	return true;
}

#elif LINUX_VERSION_CODE < KERNEL_VERSION(5, 18, 0) && defined(RHEL_RELEASE_CODE)

/* What tells which CPUs are isolated has one name or the other there. */
static inline bool gpreempt_compat_keep_near(struct task_struct *thread, int nid, const bool *was)
{
	return true;
}

#else

#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 18, 0)
#define GPREEMPT_COMPAT_NOT_ISOLATED	HK_TYPE_DOMAIN
#define GPREEMPT_COMPAT_FOR_KTHREADS	HK_TYPE_KTHREAD
#else
#define GPREEMPT_COMPAT_NOT_ISOLATED	HK_FLAG_DOMAIN
#define GPREEMPT_COMPAT_FOR_KTHREADS	HK_FLAG_KTHREAD
#endif

/*
 * Not on CPUs that are isolated, or are kept free of kernel threads (nohz_full). Where no other one
 * is near, it runs on any of the others. What an administrator has set stays until one of the node
 * comes, or the last one goes: then the kernel has moved the thread anywhere.
 */
static inline bool gpreempt_compat_keep_near(struct task_struct *thread, int nid, const bool *was)
{
	cpumask_var_t cpus, far;
	bool near = was && *was;

	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return near;
	if (!alloc_cpumask_var(&far, GFP_KERNEL))
		goto free_cpus;
	cpumask_and(far, housekeeping_cpumask(GPREEMPT_COMPAT_NOT_ISOLATED),
		    housekeeping_cpumask(GPREEMPT_COMPAT_FOR_KTHREADS));
	near = nid != NUMA_NO_NODE && cpumask_and(cpus, cpumask_of_node(nid), far);
	if (!was || *was != near)
		set_cpus_allowed_ptr(thread, near ? cpus : far);
	free_cpumask_var(far);
free_cpus:
	free_cpumask_var(cpus);
	return near;
}

#endif

/* Until 6.2 the type was not declared const. It is not written to. */
static inline int gpreempt_compat_add_kobject(struct kobject *kobj, const struct kobj_type *type,
					      struct kobject *parent, u32 name)
{
	return kobject_init_and_add(kobj, (void *)type, parent, "%u", name);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define GPREEMPT_COMPAT_ASSIGN_STR(to, from)	__assign_str(to)
#else
#define GPREEMPT_COMPAT_ASSIGN_STR(to, from)	__assign_str(to, from)
#endif

#ifndef __counted_by
#define __counted_by(member)
#endif

#endif /* GPREEMPT_COMPAT_H */

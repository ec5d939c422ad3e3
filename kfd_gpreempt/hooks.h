/* SPDX-License-Identifier: MIT */
/*
 * hooks.h - the hooks that amdkfd calls, and nothing else
 *
 * Included by kfd_priv.h. Every hook is one line where it is called; without CONFIG_KFD_GPREEMPT
 * each expands to nothing and the objects of amdkfd are those of the stock driver. With it, and
 * gpreempt_enable=0, a hook is a static branch not taken.
 */
#ifndef KFD_GPREEMPT_H_INCLUDED
#define KFD_GPREEMPT_H_INCLUDED

#include "gpreempt_config.h"	/* written by the build: CONFIG_KFD_GPREEMPT*, HAVE_* */

struct attribute;
struct kfd_dev;
struct kfd_node;
struct kfd_process;
struct kobject;
struct queue;
struct file;
struct seq_file;
struct kfd_process_device;
struct vm_area_struct;
struct device_queue_manager;
struct qcm_process_device;
struct mqd_update_info;

#ifdef CONFIG_KFD_GPREEMPT

#include <linux/jump_label.h>

struct gpreempt_doorbells;
struct gpreempt_node;
struct gpreempt_queue;

/*
 * Members of amdkfd's structures. is_preempted: under dqm_lock; gpreempt_files: under p->mutex;
 * gpreempt_fixed: some mapping of the process's doorbells cannot be withdrawn, for ever;
 * gpreempt_due_ns: pace.c's; the pointers: see node.h, and doorbell.c for that of the process,
 * which is set once.
 */
#define KFD_GPREEMPT_PROPERTIES		bool is_preempted;
#define KFD_GPREEMPT_QUEUE		struct gpreempt_queue *gpreempt; bool gpreempt_files;
#define KFD_GPREEMPT_NODE		struct gpreempt_node *gpreempt;
#define KFD_GPREEMPT_PROCESS		struct gpreempt_doorbells *gpreempt; bool gpreempt_fixed; \
					s64 gpreempt_due_ns;
#define KFD_GPREEMPT_RUNNABLE(q)	&& !(q).is_preempted

DECLARE_STATIC_KEY_FALSE(kfd_gpreempt_key);

void __kfd_gpreempt_queue_created(struct queue *q);
void __kfd_gpreempt_queue_destroyed(struct queue *q);
void __kfd_gpreempt_queue_updated(struct queue *q);
void __kfd_gpreempt_mqd_updated(struct queue *q, struct mqd_update_info *minfo);
bool __kfd_gpreempt_maps_again(const struct device_queue_manager *dqm);

#ifdef CONFIG_KFD_GPREEMPT_WAKE
void __kfd_gpreempt_runlist_asked(struct queue *q);
void __kfd_gpreempt_pace(struct kfd_process *process, unsigned int cmd);
#else
static inline void __kfd_gpreempt_runlist_asked(struct queue *q) { }
static inline void __kfd_gpreempt_pace(struct kfd_process *process, unsigned int cmd) { }
#endif

/* Context: p->mutex held; may sleep. @q is on its dqm and visible in procfs. */
static inline void kfd_gpreempt_queue_created(struct queue *q)
{
	if (static_branch_unlikely(&kfd_gpreempt_key)) {
		__kfd_gpreempt_runlist_asked(q);
		__kfd_gpreempt_queue_created(q);
	}
}

/*
 * Context: p->mutex held, or the process is being torn down; may sleep. @q has left its dqm; its
 * buffers are still referenced. No static branch: what was registered while enabled must go also
 * after disabling.
 */
static inline void kfd_gpreempt_queue_destroyed(struct queue *q)
{
	if (static_branch_unlikely(&kfd_gpreempt_key))
		__kfd_gpreempt_runlist_asked(q);
	__kfd_gpreempt_queue_destroyed(q);
}

/* Context: p->mutex held; may sleep. */
static inline void kfd_gpreempt_queue_updated(struct queue *q)
{
	if (static_branch_unlikely(&kfd_gpreempt_key))
		__kfd_gpreempt_queue_updated(q);
}

/*
 * Context: dqm_lock held; p->mutex as well, but where a profiler of AMD's package begins or ends.
 * The MQDs of @q, which is not on the device, have been written.
 */
static inline void kfd_gpreempt_mqd_updated(struct queue *q, struct mqd_update_info *minfo)
{
	if (static_branch_unlikely(&kfd_gpreempt_key)) {
		__kfd_gpreempt_runlist_asked(q);
		__kfd_gpreempt_mqd_updated(q, minfo);
	}
}

/* Context: dqm_lock held; all queues are off, for an update that is refused. */
static inline bool kfd_gpreempt_maps_again(const struct device_queue_manager *dqm)
{
	return static_branch_unlikely(&kfd_gpreempt_key) && __kfd_gpreempt_maps_again(dqm);
}

/*
 * Context: init and fini of a node; no queue exists on it yet, or new ones are locked out. May
 * sleep.
 */
void kfd_gpreempt_node_init(struct kfd_node *node);
void kfd_gpreempt_node_fini(struct kfd_node *node);

/*
 * Context: suspend, reset and back; may sleep, waits for at most one pass of the monitor. Not
 * counted: the last call rules.
 */
void kfd_gpreempt_pause(struct kfd_dev *kfd);
void kfd_gpreempt_unpause(struct kfd_dev *kfd);

/* Context: module init and exit; may sleep. */
void kfd_gpreempt_init(void);
void kfd_gpreempt_exit(void);

/*
 * Context: dqm_lock held. Both look at the same state: no key in between, or a runlist might be
 * built with two answers.
 */
bool kfd_gpreempt_leaves_out(struct qcm_process_device *qpd);
unsigned int kfd_gpreempt_left_out(struct device_queue_manager *dqm);
/* Context: the same, once for each list; no queue is mapped. */
void kfd_gpreempt_runlist_built(struct device_queue_manager *dqm, bool over_subscribed);

/* Context: dqm_lock held; in a loop, before the CPU is yielded. */
void kfd_gpreempt_waits(struct device_queue_manager *dqm);

/* Context: dqm_lock held. */
bool kfd_gpreempt_may_return(const struct queue *q);
/* Context: the same. */
bool kfd_gpreempt_has_work(const struct queue *q);
/* Context: p->mutex held; takes dqm_lock. */
bool kfd_gpreempt_is_full(struct device_queue_manager *dqm);

/* Context: an ioctl on /dev/kfd, before its number is looked at; no lock held; may sleep. */
static inline void kfd_gpreempt_pace(struct kfd_process *process, unsigned int cmd)
{
	if (static_branch_unlikely(&kfd_gpreempt_key))
		__kfd_gpreempt_pace(process, cmd);
}

#else

#define KFD_GPREEMPT_PROPERTIES
#define KFD_GPREEMPT_QUEUE
#define KFD_GPREEMPT_NODE
#define KFD_GPREEMPT_PROCESS
#define KFD_GPREEMPT_RUNNABLE(q)

static inline void kfd_gpreempt_queue_created(struct queue *q) { }
static inline void kfd_gpreempt_queue_destroyed(struct queue *q) { }
static inline void kfd_gpreempt_queue_updated(struct queue *q) { }
static inline void kfd_gpreempt_mqd_updated(struct queue *q, struct mqd_update_info *minfo) { }
static inline bool kfd_gpreempt_maps_again(const struct device_queue_manager *dqm)
{
	return false;
}
static inline void kfd_gpreempt_node_init(struct kfd_node *node) { }
static inline void kfd_gpreempt_node_fini(struct kfd_node *node) { }
static inline void kfd_gpreempt_pause(struct kfd_dev *kfd) { }
static inline void kfd_gpreempt_unpause(struct kfd_dev *kfd) { }
static inline void kfd_gpreempt_init(void) { }
static inline void kfd_gpreempt_exit(void) { }
static inline bool kfd_gpreempt_leaves_out(struct qcm_process_device *qpd) { return false; }
static inline unsigned int kfd_gpreempt_left_out(struct device_queue_manager *dqm) { return 0; }
static inline void kfd_gpreempt_runlist_built(struct device_queue_manager *dqm,
					      bool over_subscribed)
{
}
static inline void kfd_gpreempt_waits(struct device_queue_manager *dqm) { }
static inline bool kfd_gpreempt_may_return(const struct queue *q) { return false; }
static inline bool kfd_gpreempt_has_work(const struct queue *q) { return false; }
static inline bool kfd_gpreempt_is_full(struct device_queue_manager *dqm) { return false; }
static inline void kfd_gpreempt_pace(struct kfd_process *process, unsigned int cmd) { }

#endif /* CONFIG_KFD_GPREEMPT */

#ifdef CONFIG_KFD_GPREEMPT_ACCOUNT

#define KFD_GPREEMPT_FDINFO		.show_fdinfo = kfd_gpreempt_show_fdinfo,

/* Context: a read of /proc/PID/fdinfo, with the file held; no lock held; may sleep. */
void kfd_gpreempt_show_fdinfo(struct seq_file *m, struct file *filp);

#else

#define KFD_GPREEMPT_FDINFO

#endif /* CONFIG_KFD_GPREEMPT_ACCOUNT */

#ifdef CONFIG_KFD_GPREEMPT_CONTROL

#define KFD_GPREEMPT_QUEUE_STORE	.store = kfd_gpreempt_queue_store,

/*
 * Context: sysfs, no lock held; may sleep. The folder of a queue goes under p->mutex, so none of
 * them takes that.
 */
bool kfd_gpreempt_owns(const struct attribute *attr);
ssize_t kfd_gpreempt_queue_show(struct queue *q, struct attribute *attr, char *buf);
ssize_t kfd_gpreempt_queue_store(struct kobject *kobj, struct attribute *attr, const char *buf,
				 size_t size);

/* Context: an ioctl on /dev/kfd, before its number is looked at; no lock held; may sleep. */
bool kfd_gpreempt_owns_ioctl(unsigned int cmd);
long kfd_gpreempt_ioctl(struct kfd_process *process, unsigned int cmd, unsigned long arg);

#else

#define KFD_GPREEMPT_QUEUE_STORE

static inline bool kfd_gpreempt_owns(const struct attribute *attr) { return false; }
static inline ssize_t kfd_gpreempt_queue_show(struct queue *q, struct attribute *attr, char *buf)
{
	return 0;
}
static inline bool kfd_gpreempt_owns_ioctl(unsigned int cmd) { return false; }
static inline long kfd_gpreempt_ioctl(struct kfd_process *process, unsigned int cmd,
				      unsigned long arg)
{
	return 0;
}

#endif /* CONFIG_KFD_GPREEMPT_CONTROL */

#ifdef CONFIG_KFD_GPREEMPT_WAKE

/* Context: open() of /dev/kfd, before anything is mapped through the file; may sleep. */
void kfd_gpreempt_opened(struct kfd_process *p, struct file *filp);
/*
 * Context: AMDKFD_IOC_CREATE_PROCESS, before the file has @context in the place of @p; KFD's lock
 * of processes held; may sleep.
 */
void kfd_gpreempt_replaced(struct kfd_process *p, struct kfd_process *context);
/* Context: mmap() of doorbells, all checks done; may sleep. True: mapped. */
bool kfd_gpreempt_maps_doorbells(struct kfd_process_device *pdd, struct vm_area_struct *vma,
				 phys_addr_t address);
/* Context: a reset of the GPU, before it begins; may sleep, for a bounded time. */
void kfd_gpreempt_revoked(u64 offset);
/* Context: work item that frees the process; may sleep. No file has a reference to it any more. */
void kfd_gpreempt_released(struct kfd_process *p);

#else

static inline void kfd_gpreempt_opened(struct kfd_process *p, struct file *filp) { }
static inline void kfd_gpreempt_replaced(struct kfd_process *p, struct kfd_process *context) { }
static inline bool kfd_gpreempt_maps_doorbells(struct kfd_process_device *pdd,
					       struct vm_area_struct *vma, phys_addr_t address)
{
	return false;
}
static inline void kfd_gpreempt_revoked(u64 offset) { }
static inline void kfd_gpreempt_released(struct kfd_process *p) { }

#endif /* CONFIG_KFD_GPREEMPT_WAKE */

#endif /* KFD_GPREEMPT_H_INCLUDED */

// SPDX-License-Identifier: MIT
/*
 * queue.c - registration of compute queues and the kernel's view of their ring pointers
 *
 * rptr and wptr are user memory that the application and the GPU write. They are pinned and mapped once, when the
 * queue is registered, so that reading them later is a load. Both always lie in a buffer object of the process's
 * GPU address space: either an ordinary one (pinned where it is), or a wrapper of user pages (the page itself is
 * pinned).
 *
 * The mapping goes before the driver drops its buffers: unlink, wait for the readers, unmap.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "core.h"
#include "amdgpu.h"
#include "amdgpu_object.h"
#include "amdgpu_ttm.h"
#include "kfd_device_queue_manager.h"

static void map_release(struct gpreempt_map *map)
{
	if (map->page)
		unpin_user_page(map->page);
	if (map->bo) {
		/* Uninterruptible, and nobody holds it for long: KFD's own unpinning does the same. */
		if (!WARN_ON_ONCE(amdgpu_bo_reserve(map->bo, true))) {
			ttm_bo_kunmap(&map->kmap);
			amdgpu_bo_unpin(map->bo);
			amdgpu_bo_unreserve(map->bo);
		}
		amdgpu_bo_unref(&map->bo);
	}
	memset(map, 0, sizeof(*map));
}

/*
 * A page that the GPU reaches through an MMU notifier. If the owner replaces it, what we read stands still; that
 * hurts only him.
 */
static int map_user_page(struct gpreempt_map *map, struct mm_struct *mm, unsigned long addr)
{
	struct page *page;
	long n;

	if (!mm)
		return -ESRCH;
	mmap_read_lock(mm);
	/* Reading only: no reason to dirty it or to fail on pages that must not be written through a long-term pin. */
	n = pin_user_pages_remote(mm, addr & PAGE_MASK, 1, FOLL_LONGTERM, &page, NULL);
	mmap_read_unlock(mm);
	if (n != 1)
		return n < 0 ? n : -EFAULT;
	map->page = page;
	map->addr = page_address(page) + offset_in_page(addr);
	return map->addr ? 0 : -ENOMEM;
}

/* BO reserved. A mapping of our own: other queues may have their pointers in the same BO and go at other times. */
static int map_reserved_bo(struct gpreempt_map *map, struct amdgpu_bo *bo, unsigned long addr)
{
	u32 domain = bo->preferred_domains & (AMDGPU_GEM_DOMAIN_GTT | AMDGPU_GEM_DOMAIN_VRAM);
	bool iomem;
	int r;

	if (domain != AMDGPU_GEM_DOMAIN_GTT && !(bo->flags & AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED))
		return -EOPNOTSUPP;
	r = amdgpu_bo_pin(bo, domain);
	if (r)
		return r;
	if (dma_resv_wait_timeout(bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL, false, MAX_SCHEDULE_TIMEOUT) < 0)
		r = -EIO;
	if (!r)
		r = ttm_bo_kmap(&bo->tbo, 0, PFN_UP(bo->tbo.base.size), &map->kmap);
	if (r) {
		amdgpu_bo_unpin(bo);
		return r;
	}
	map->bo = amdgpu_bo_ref(bo);
	map->addr = ttm_kmap_obj_virtual(&map->kmap, &iomem) + offset_in_page(addr);
	return 0;
}

/*
 * Context: p->mutex held, which keeps @bo. @ptr: the pointer's address for the GPU; the BO is mapped there at
 * exactly one page.
 * @mm: the owner's, where user pages are; NULL if it is gone.
 */
static int map_pointer(struct gpreempt_map *map, struct amdgpu_bo *bo, const void __user *ptr, struct mm_struct *mm)
{
	unsigned long addr = (unsigned long)ptr;
	uint64_t user_addr;
	int r;

	if (!bo)
		return -EINVAL;

	r = amdgpu_bo_reserve(bo, true);
	if (r)
		return r;
	if (!amdgpu_ttm_tt_get_usermm(bo->tbo.ttm)) {
		r = map_reserved_bo(map, bo, addr);
		amdgpu_bo_unreserve(bo);
		return r;
	}
	r = amdgpu_ttm_tt_get_userptr(&bo->tbo, &user_addr);
	amdgpu_bo_unreserve(bo);
	if (r)
		return r;
	return map_user_page(map, mm, user_addr + offset_in_page(addr));
}

static void map_pointers(struct gpreempt_queue *gq, struct mm_struct *mm)
{
	const struct queue_properties *properties = &gq->q->properties;
	/* AQL counts in 64 bits; a pointer that is not aligned to that would cross cache lines. */
	unsigned long align = gq->aql ? sizeof(u64) - 1 : sizeof(u32) - 1;
	int r = -EINVAL;

	if (((unsigned long)properties->read_ptr | (unsigned long)properties->write_ptr) & align)
		goto out;
	r = map_pointer(&gq->rptr, properties->rptr_bo, properties->read_ptr, mm);
	if (r)
		goto out;
	r = map_pointer(&gq->wptr, properties->wptr_bo, properties->write_ptr, mm);
	if (r)
		map_release(&gq->rptr);
out:
	gq->sampled = !r;
	if (r)
		dev_dbg(gq->gn->node->adev->dev, "gpreempt: pid %d queue %u is not scheduled: ring pointers (%d)\n",
			gq->q->process->lead_thread->pid, properties->queue_id, r);
}

static void read_properties(struct gpreempt_queue *gq, bool trusted)
{
	const struct queue_properties *properties = &gq->q->properties;

	WRITE_ONCE(gq->kfd_priority, properties->priority);
	WRITE_ONCE(gq->trusted, trusted);
	WRITE_ONCE(gq->ring_mask, properties->queue_size / sizeof(u32) - 1);
}

static struct gpreempt_process *get_process(struct gpreempt_node *gn, struct kfd_process *p)
{
	struct gpreempt_process *process;
	struct kfd_process_device *pdd;

	list_for_each_entry(process, &gn->processes, link)
		if (process->p == p)
			goto found;

	pdd = kfd_get_process_device_data(gn->node, p);
	process = pdd ? kzalloc(sizeof(*process), GFP_KERNEL) : NULL;
	if (!process)
		return NULL;
	process->gn = gn;
	process->p = p;
	process->pdd = pdd;
	INIT_LIST_HEAD(&process->queues);
	gpreempt_doorbell_add(process);
	list_add_tail(&process->link, &gn->processes);
	WRITE_ONCE(gn->nr_processes, gn->nr_processes + 1);
	gpreempt_core_watch_nice(gn);
found:
	process->nr_queues++;
	return process;
}

/* gpreempt_lock held. The process's last queue takes it along when it is freed. */
static void unlink_queue(struct gpreempt_queue *gq)
{
	struct gpreempt_node *gn = gq->gn;

	/* It has left the driver's lists, or the monitor is gone: nobody resumes it any more. */
	if (gq->policy.preempted)
		atomic64_inc(&gn->stats.destroyed_preempted);
	list_del_rcu(&gq->link);
	gpreempt_doorbell_del_queue(gq);
	WRITE_ONCE(gn->nr_queues, gn->nr_queues - 1);
	gpreempt_hold_forget_locked(gq);
	gpreempt_core_acted();
	if (!--gq->process->nr_queues) {
		list_del(&gq->process->link);
		gpreempt_doorbell_del(gq->process);
		WRITE_ONCE(gn->nr_processes, gn->nr_processes - 1);
	}
	gpreempt_core_nudge(gn);
}

static void free_queue(struct gpreempt_queue *gq, bool last)
{
	map_release(&gq->rptr);
	map_release(&gq->wptr);
	if (last)
		kfree(gq->process);
	kvfree(gq->snapshot);
	kfree(gq);
}

/* Context: p->mutex held; @mm: the owner's or NULL. */
static void register_queue(struct gpreempt_node *gn, struct queue *q, struct mm_struct *mm, bool trusted)
{
	struct gpreempt_queue *gq;
	bool linked = false;

	if (q->properties.type != KFD_QUEUE_TYPE_COMPUTE || READ_ONCE(q->gpreempt))
		return;
	gq = kzalloc(sizeof(*gq), GFP_KERNEL);
	if (!gq) {
		gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_NO_MEMORY);
		return;
	}
	gq->gn = gn;
	gq->q = q;
	gq->aql = q->properties.format == KFD_QUEUE_FORMAT_AQL;
	/* That flag is left over only where nothing may load the queue any more. */
	gq->lost = q->properties.is_preempted;
	gpreempt_hw_priority_forget(gq);
	INIT_LIST_HEAD(&gq->holds);
	read_properties(gq, trusted);
	/* To be shown until the monitor has derived it. */
	gq->policy.priority = gq->kfd_priority;
	gq->policy.effective_priority = gq->kfd_priority;
	map_pointers(gq, mm);
	if (gpreempt_params_verify(gn))
		gq->snapshot = gpreempt_snapshot_alloc(q);
	gpreempt_procfs_add(q);

	mutex_lock(&gpreempt_lock);
	if (gn->accepting && !q->gpreempt) {
		gq->process = get_process(gn, q->process);
		if (gq->process) {
			gq->policy.process = &gq->process->policy;
			list_add_tail_rcu(&gq->link, &gn->queues);
			gpreempt_doorbell_add_queue(gq);
			WRITE_ONCE(gn->nr_queues, gn->nr_queues + 1);
			/* Pairs with the backend's smp_load_acquire(). */
			smp_store_release(&q->gpreempt, gq);
			if (!gq->sampled)
				gpreempt_stats_skip(gn, gq, GPREEMPT_SKIP_UNMAPPED);
			gpreempt_core_nudge(gn);
			linked = true;
		} else {
			gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_NO_MEMORY);
		}
	}
	mutex_unlock(&gpreempt_lock);
	if (!linked)
		free_queue(gq, false);
}

/*
 * KFD takes any priority from anybody. Above normal it counts against others only with the right that nice(2) asks
 * for.
 */
static bool caller_is_trusted(const struct queue *q)
{
	return q->properties.priority > GPREEMPT_PRIORITY_NORMAL && capable(CAP_SYS_NICE);
}

/**
 * __kfd_gpreempt_queue_created() - register a new queue
 * @q: the queue
 *
 * Context: p->mutex held; may sleep. Runs in the process that owns the queue.
 */
void __kfd_gpreempt_queue_created(struct queue *q)
{
	struct gpreempt_node *gn = q->device->gpreempt;

	if (!gn || !READ_ONCE(gn->accepting))
		return;
	register_queue(gn, q, q->process->mm == current->mm ? current->mm : NULL, caller_is_trusted(q));
}

/**
 * __kfd_gpreempt_queue_destroyed() - unregister a queue that is about to lose its buffers
 * @q: the queue
 *
 * Context: p->mutex held, or the process is being released; may sleep, for a grace period of the readers: microseconds.
 */
void __kfd_gpreempt_queue_destroyed(struct queue *q)
{
	struct gpreempt_queue *gq;
	bool last = false;

	/* Nobody registers it any more, so NULL stays NULL. */
	if (!READ_ONCE(q->gpreempt))
		return;
	mutex_lock(&gpreempt_lock);
	gq = q->gpreempt;
	if (gq) {
		unlink_queue(gq);
		last = !gq->process->nr_queues;
		WRITE_ONCE(q->gpreempt, NULL);
	}
	mutex_unlock(&gpreempt_lock);
	if (!gq)
		return;
	synchronize_srcu_expedited(&gq->gn->srcu);
	free_queue(gq, last);
}

/**
 * __kfd_gpreempt_queue_updated() - take in a queue's new priority and size
 * @q: the queue
 *
 * Context: p->mutex held; may sleep. Runs in the process that owns the queue.
 */
void __kfd_gpreempt_queue_updated(struct queue *q)
{
	bool trusted = caller_is_trusted(q);

	mutex_lock(&gpreempt_lock);
	if (q->gpreempt) {
		read_properties(q->gpreempt, trusted);
		gpreempt_core_nudge(q->gpreempt->gn);
	}
	mutex_unlock(&gpreempt_lock);
}

/**
 * struct queue_walk - a walk over all queues
 * @fn: called for each
 * @arg: passed through
 */
struct queue_walk {
	gpreempt_queue_fn fn;
	void *arg;
};

static int walk_node(struct gpreempt_node *gn, void *arg)
{
	const struct queue_walk *walk = arg;
	struct gpreempt_queue *gq;
	int r;

	list_for_each_entry(gq, &gn->queues, link) {
		r = walk->fn(gq, walk->arg);
		if (r)
			return r;
	}
	return 0;
}

/**
 * gpreempt_queue_walk() - call a function for each registered queue until it returns something
 * @fn: the function; gpreempt_lock is held while it runs
 * @arg: passed through
 *
 * Context: no lock of the scheduler held; may sleep.
 *
 * Return: what @fn returned last; 0 without queues
 */
int gpreempt_queue_walk(gpreempt_queue_fn fn, void *arg)
{
	struct queue_walk walk = { .fn = fn, .arg = arg };

	return gpreempt_core_find_locked(walk_node, &walk);
}

static int view_node(struct gpreempt_node *gn, void *arg)
{
	const struct queue_walk *walk = arg;
	struct gpreempt_queue *gq;
	int idx, r = 0;

	idx = srcu_read_lock(&gn->srcu);
	list_for_each_entry_srcu(gq, &gn->queues, link, srcu_read_lock_held(&gn->srcu)) {
		r = walk->fn(gq, walk->arg);
		if (r)
			break;
	}
	srcu_read_unlock(&gn->srcu, idx);
	return r;
}

/**
 * gpreempt_queue_view() - as gpreempt_queue_walk(), for those who only want to see
 * @fn: the function; the queue stays while it runs, nothing else does. It does not sleep.
 * @arg: passed through
 *
 * Nobody who makes or changes a queue waits for it, who ends one only for as long as @fn takes.
 *
 * Context: as gpreempt_core_find().
 *
 * Return: what @fn returned last; 0 without queues
 */
int gpreempt_queue_view(gpreempt_queue_fn fn, void *arg)
{
	struct queue_walk walk = { .fn = fn, .arg = arg };

	return gpreempt_core_find(view_node, &walk);
}

/**
 * gpreempt_queue_pending() - what is between a queue's pointers now: a parked monitor does not look
 * @gq: the queue
 *
 * Context: gpreempt_lock or srcu of its node held.
 *
 * Return: packets (AQL) or dwords (PM4); 0 if the pointers cannot be read
 */
u64 gpreempt_queue_pending(const struct gpreempt_queue *gq)
{
	u64 rptr, wptr, pending = 0;

	if (gq->sampled)
		gpreempt_queue_read(gq, &rptr, &wptr, &pending);
	return pending;
}

/**
 * gpreempt_queue_preempted_ns() - how long a queue has been off the device in its life
 * @gq: the queue
 *
 * Context: gpreempt_lock or srcu of its node held.
 *
 * Return: nanoseconds, with the current hold
 */
u64 gpreempt_queue_preempted_ns(const struct gpreempt_queue *gq)
{
	u64 ns = READ_ONCE(gq->preempted_ns);

	if (gpreempt_peek(gq->policy.preempted))
		ns += ktime_get_ns() - gpreempt_peek(gq->policy.held_ns);
	return ns;
}

/**
 * gpreempt_queue_state() - what a queue does, in a word
 * @gq: the queue
 * @pending: packets or dwords between its pointers
 *
 * Context: the queue is on its list.
 *
 * Return: active (has work), idle, preempted, leaving (preempted, but the device still holds it), lost (had to be reset
 * to make it leave, never runs again), evicted (by the driver, and not preempted), blocked (waits for something else than
 * the GPU) or unmapped (cannot be scheduled)
 */
const char *gpreempt_queue_state(const struct gpreempt_queue *gq, u64 pending)
{
	if (!gq->sampled)
		return "unmapped";
	if (READ_ONCE(gq->lost))
		return "lost";
	if (gpreempt_peek(gq->policy.preempted))
		return READ_ONCE(gq->leaving) ? "leaving" : "preempted";
	if (READ_ONCE(gq->q->properties.is_evicted))
		return "evicted";
	if (gpreempt_peek(gq->policy.blocked))
		return "blocked";
	return pending || gpreempt_queue_waves(gq) > 0 ? "active" : "idle";
}

/* p->mutex held. */
static void adopt_queues(struct gpreempt_node *gn, struct kfd_process *p, struct mm_struct *mm)
{
	struct process_queue_node *pqn;

	list_for_each_entry(pqn, &p->pqm.queues, process_queue_list) {
		struct queue *q = pqn->q;
		bool trusted;

		if (!q || q->device != gn->node)
			continue;
		/* Who set the priority is not known any more: the owner's rights now have to do. */
		trusted = q->properties.priority > GPREEMPT_PRIORITY_NORMAL &&
			  has_capability_noaudit(p->lead_thread, CAP_SYS_NICE);
		register_queue(gn, q, mm, trusted);
	}
}

/* Take references to all processes. Returns how many, or a negative error code. */
static int get_processes(struct kfd_process ***processes)
{
	struct kfd_process *p;
	int idx, bucket, max = 0, n = 0;

	*processes = NULL;
	idx = srcu_read_lock(&kfd_processes_srcu);
	hash_for_each_rcu(kfd_processes_table, bucket, p, kfd_processes)
		max++;
	if (max)
		*processes = kvmalloc_array(max, sizeof(**processes), GFP_KERNEL);
	if (*processes) {
		/* One that is added between the two walks has seen the key: its hook registers. */
		hash_for_each_rcu(kfd_processes_table, bucket, p, kfd_processes)
			if (n < max && kref_get_unless_zero(&p->ref))
				(*processes)[n++] = p;
	}
	srcu_read_unlock(&kfd_processes_srcu, idx);
	return max && !*processes ? -ENOMEM : n;
}

/**
 * gpreempt_queue_adopt() - register the queues that existed before switching on
 * @gn: the node
 *
 * Takes p->mutex of each process by trylock only: a process may hold it while it waits for something that waits for us.
 *
 * Context: work item; no lock held; may sleep.
 *
 * Return: true if every process was looked at; false: try again later
 */
bool gpreempt_queue_adopt(struct gpreempt_node *gn)
{
	struct kfd_process **processes;
	bool complete = true;
	int i, n;

	n = get_processes(&processes);
	if (n < 0)
		return false;
	for (i = 0; i < n; i++) {
		struct kfd_process *p = processes[i];
		struct mm_struct *mm = get_task_mm(p->lead_thread);

		/* A leader that has called exec() has another one, with other pages at the same addresses. */
		if (mm && mm != p->mm) {
			mmput(mm);
			mm = NULL;
		}
		if (mutex_trylock(&p->mutex)) {
			adopt_queues(gn, p, mm);
			mutex_unlock(&p->mutex);
		} else {
			complete = false;
		}
		/* Last, and without the lock: it may be the end of the mm, and KFD's notifier with it. */
		if (mm)
			mmput(mm);
		kfd_unref_process(p);
	}
	kvfree(processes);
	return complete;
}

/**
 * gpreempt_queue_unregister_all() - unregister every queue of a node
 * @gn: the node; its monitor has stopped, nothing is registered any more
 *
 * Context: gpreempt_lifecycle held; may sleep.
 */
void gpreempt_queue_unregister_all(struct gpreempt_node *gn)
{
	struct gpreempt_queue *gq;
	bool last;

	do {
		mutex_lock(&gpreempt_lock);
		gq = list_first_entry_or_null(&gn->queues, struct gpreempt_queue, link);
		if (gq) {
			unlink_queue(gq);
			last = !gq->process->nr_queues;
			synchronize_srcu_expedited(&gn->srcu);
			/* Unmap first: a hook that finds q->gpreempt empty goes on to release the buffers. */
			map_release(&gq->rptr);
			map_release(&gq->wptr);
			/* Hooks under dqm_lock have finished with it after this. */
			dqm_lock(gn->node->dqm);
			WRITE_ONCE(gq->q->gpreempt, NULL);
			dqm_unlock(gn->node->dqm);
			free_queue(gq, last);
		}
		mutex_unlock(&gpreempt_lock);
	} while (gq);
}

/**
 * gpreempt_queue_add_snapshots() - give each queue room for a snapshot: it was not needed when it was registered
 * @gn: the node
 *
 * Context: the node is kept by gpreempt_lifecycle or by a user of one of its files; may sleep.
 */
void gpreempt_queue_add_snapshots(struct gpreempt_node *gn)
{
	struct gpreempt_snapshot *snapshot;
	struct gpreempt_queue *gq;

	mutex_lock(&gpreempt_lock);
	list_for_each_entry(gq, &gn->queues, link) {
		snapshot = gq->snapshot ? NULL : gpreempt_snapshot_alloc(gq->q);
		if (!snapshot)
			continue;
		dqm_lock(gn->node->dqm);
		gq->snapshot = snapshot;
		dqm_unlock(gn->node->dqm);
	}
	mutex_unlock(&gpreempt_lock);
}

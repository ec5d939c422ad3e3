// SPDX-License-Identifier: MIT
/*
 * queue.c - registration of compute queues and the kernel's view of their ring pointers
 *
 * rptr and wptr are user memory that the application and the GPU write. Their pages are pinned and mapped when the queue is registered, so that
 * reading them later is a load. Each lies in a buffer object of one page: either memory that the kernel has given out (pinned where it is), or a
 * wrapper of a user page (the page itself is pinned). Nothing else is mapped, and each page counts in the owner's RLIMIT_MEMLOCK: a queue
 * whose pointers are elsewhere is *unseen*. It yields, and no queue yields to it.
 *
 * The mapping goes before the driver drops its buffers: unlink, wait for the readers, unmap. What forbade a view may be over later, and a
 * user page may be replaced by another one: that is looked for once a second, where it can matter.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "core.h"
#include "amdgpu.h"
#include "amdgpu_object.h"
#include "amdgpu_reset.h"
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
	if (map->mm) {
		atomic64_dec(&map->mm->pinned_vm);
		mmdrop(map->mm);
	}
	memset(map, 0, sizeof(*map));
}

/*
 * @owner: the caller is the owner, who may wait for pages of its own. Others may not: behind an address may be userfaultfd or FUSE, and
 * whoever answers for these need never answer.
 */
static int pin_user_page(struct mm_struct *mm, unsigned long addr, bool owner, struct page **page)
{
	/* Reading only: no reason to dirty it or to fail on pages that must not be written through a long-term pin. */
	unsigned int flags = FOLL_LONGTERM;
	long n;

	if (owner) {
		mmap_read_lock(mm);
	} else {
		flags |= FOLL_NOFAULT;
		if (!mmap_read_trylock(mm))
			return -EAGAIN;
	}
	n = pin_user_pages_remote(mm, addr, 1, flags, page, NULL);
	mmap_read_unlock(mm);
	if (n != 1)
		return n < 0 ? n : -EFAULT;
	return 0;
}

/**
 * struct mapper - who maps pointers, and for whom
 * @gn: the node
 * @q: the queue; p->mutex keeps its buffer objects
 * @mm: the owner's, where user pages are and pages are counted; NULL: it is gone
 * @owner: the caller is the owner
 */
struct mapper {
	const struct gpreempt_node *gn;
	const struct queue *q;
	struct mm_struct *mm;
	bool owner;
};

/* Too few pages to fill the memory of anybody, too many queues to have no limit: what is pinned counts as the owner's other long-term pins do. */
static int charge(struct gpreempt_map *map, const struct mapper *m)
{
	struct task_struct *owner = m->q->process->lead_thread;

	if (!m->mm)
		return -ESRCH;
	if (atomic64_inc_return(&m->mm->pinned_vm) > task_rlimit(owner, RLIMIT_MEMLOCK) >> PAGE_SHIFT &&
	    !has_capability_noaudit(owner, CAP_IPC_LOCK)) {
		atomic64_dec(&m->mm->pinned_vm);
		return -EDQUOT;
	}
	mmgrab(m->mm);
	map->mm = m->mm;
	return 0;
}

/* A page that the GPU reaches through an MMU notifier. If the owner replaces it, what is read stands still until view_is_stale() finds out. */
static int map_user_page(struct gpreempt_map *map, const struct mapper *m, unsigned long addr)
{
	int r = charge(map, m);

	if (r)
		return r;
	map->user_addr = addr;
	r = pin_user_page(m->mm, addr, m->owner, &map->page);
	if (r)
		return r;
	map->base = page_address(map->page);
	return map->base ? 0 : -ENOMEM;
}

/*
 * Is it memory that the kernel may map and read at any time? An imported BO and one made of DMA addresses have no pages. Memory of another
 * device may be gone while this one works.
 */
static bool may_be_mapped(const struct gpreempt_node *gn, const struct amdgpu_bo *bo, u32 domain)
{
	struct amdgpu_device *adev = gn->node->adev;

	if (bo->tbo.type != ttm_bo_type_device || bo->tbo.base.import_attach || !domain || bo->flags & AMDGPU_GEM_CREATE_NO_CPU_ACCESS)
		return false;
	if (domain == AMDGPU_GEM_DOMAIN_GTT)
		return true;
	/*
	 * The flag says that the CPU has used it since it came to where it is. Without, it may be there all the same. Where it is not, pinning
	 * would move it, for which the program's queues would have to leave the device.
	 */
	return amdgpu_ttm_adev(bo->tbo.bdev) == adev &&
	       (bo->flags & AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED || amdgpu_res_cpu_visible(adev, bo->tbo.resource));
}

/* BO reserved and pinned. A mapping of our own: other queues may have their pointers in the same BO and go at other times. */
static int map_pinned_bo(struct gpreempt_map *map, struct amdgpu_bo *bo, bool *vram)
{
	bool iomem;
	int r;

	/* Somebody else may have pinned it before, where the CPU does not reach. */
	if (!amdgpu_res_cpu_visible(amdgpu_ttm_adev(bo->tbo.bdev), bo->tbo.resource))
		return -EOPNOTSUPP;
	if (dma_resv_wait_timeout(bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL, false, MAX_SCHEDULE_TIMEOUT) < 0)
		return -EIO;
	r = ttm_bo_kmap(&bo->tbo, 0, 1, &map->kmap);
	if (r)
		return r;
	map->base = ttm_kmap_obj_virtual(&map->kmap, &iomem);
	*vram |= bo->tbo.resource->mem_type == TTM_PL_VRAM;
	return 0;
}

/* BO reserved. */
static int map_reserved_bo(struct gpreempt_map *map, const struct mapper *m, struct amdgpu_bo *bo, bool *vram)
{
	u32 domain = bo->preferred_domains & (AMDGPU_GEM_DOMAIN_GTT | AMDGPU_GEM_DOMAIN_VRAM);
	int r;

	if (!may_be_mapped(m->gn, bo, domain))
		return -EOPNOTSUPP;
	if (domain != AMDGPU_GEM_DOMAIN_GTT && READ_ONCE(m->gn->paused))
		return -EAGAIN;
	r = charge(map, m);
	if (r)
		return r;
	/* The driver says loudly that it failed: that is not tried again. */
	if (amdgpu_bo_pin(bo, domain))
		return -EOPNOTSUPP;
	if (map_pinned_bo(map, bo, vram)) {
		amdgpu_bo_unpin(bo);
		return -EOPNOTSUPP;
	}
	map->bo = amdgpu_bo_ref(bo);
	return 0;
}

/* @bo: mapped for the GPU at exactly one page; NULL where nothing is behind the address (PRT). */
static int map_bo(struct gpreempt_map *map, const struct mapper *m, struct amdgpu_bo *bo, bool *vram)
{
	uint64_t user_addr = 0;
	int r;

	/* A larger one may be mapped for the GPU from somewhere in its middle: which page is meant is not to be seen from here. */
	if (!bo || amdgpu_bo_size(bo) != PAGE_SIZE)
		return -EOPNOTSUPP;
	r = amdgpu_bo_reserve(bo, true);
	if (r)
		return r;
	/* Not by its mm, which is gone once the thread that made it has ended: without pages of its own there is nothing to be mapped. */
	if (!amdgpu_ttm_tt_is_userptr(bo->tbo.ttm))
		r = map_reserved_bo(map, m, bo, vram);
	else if (!m->mm || amdgpu_ttm_tt_get_usermm(bo->tbo.ttm) != m->mm)
		r = -ESRCH;
	else
		r = amdgpu_ttm_tt_get_userptr(&bo->tbo, &user_addr);
	amdgpu_bo_unreserve(bo);
	return user_addr ? map_user_page(map, m, user_addr) : r;
}

static void view_free(struct gpreempt_view *view)
{
	if (!view)
		return;
	map_release(&view->maps[0]);
	map_release(&view->maps[1]);
	kfree(view);
}

static bool is_aql(const struct queue *q)
{
	return q->properties.format == KFD_QUEUE_FORMAT_AQL;
}

static int map_pointers(struct gpreempt_view *view, const struct mapper *m)
{
	const struct queue_properties *properties = &m->q->properties;
	unsigned long rptr = (unsigned long)properties->read_ptr, wptr = (unsigned long)properties->write_ptr;
	/* AQL counts in 64 bits; a pointer that is not aligned to that would cross cache lines. */
	unsigned long align = is_aql(m->q) ? sizeof(u64) - 1 : sizeof(u32) - 1;
	bool apart = properties->wptr_bo != properties->rptr_bo;
	int r;

	if ((rptr | wptr) & align)
		return -EOPNOTSUPP;
	r = map_bo(&view->maps[0], m, properties->rptr_bo, &view->vram);
	if (!r && apart)
		r = map_bo(&view->maps[1], m, properties->wptr_bo, &view->vram);
	if (r)
		return r;
	view->rptr = view->maps[0].base + offset_in_page(rptr);
	view->wptr = view->maps[apart].base + offset_in_page(wptr);
	return 0;
}

/* Returns NULL if there is none; @again receives whether there may be one later. */
static struct gpreempt_view *view_make(const struct mapper *m, bool *again)
{
	struct gpreempt_view *view = kzalloc(sizeof(*view), GFP_KERNEL);
	int r = view ? map_pointers(view, m) : -ENOMEM;

	*again = r && r != -EOPNOTSUPP;
	if (!r)
		return view;
	view_free(view);
	dev_dbg(m->gn->node->adev->dev, "gpreempt: pid %d queue %u is not seen: ring pointers (%d)\n",
		m->q->process->lead_thread->pid, m->q->properties.queue_id, r);
	return NULL;
}

/* Has the owner another page there by now, or none? */
static bool map_is_stale(const struct gpreempt_map *map)
{
	struct page *page;
	int r;

	if (!map->page)
		return false;
	r = pin_user_page(map->mm, map->user_addr, false, &page);
	if (!r)
		unpin_user_page(page);
	return r ? r != -EAGAIN : page != map->page;
}

/* Does it have to be looked after? What is in user pages may be replaced. gpreempt_lock held. */
static bool wants_tending(const struct gpreempt_queue *gq)
{
	return gq->view ? gq->view->maps[0].page || gq->view->maps[1].page : gq->maps_again;
}

/* Returns what retire() frees. The kick drops what the monitor keeps of the old one. */
static struct gpreempt_view *publish_locked(struct gpreempt_queue *gq, struct gpreempt_view *view, bool again)
{
	struct gpreempt_view *old = gq->view;

	lockdep_assert_held(&gpreempt_lock);
	gq->maps_again = again;
	/* Pairs with the acquire of readers. */
	smp_store_release(&gq->view, view);
	if (wants_tending(gq))
		WRITE_ONCE(gq->gn->tends, true);
	gpreempt_core_nudge(gq->gn);
	return old;
}

/* Does the view of a registered queue show a page that is not there any more? @mm is kept, and is the one of the view. */
static bool view_is_stale(const struct gpreempt_queue *gq, const struct mm_struct *mm)
{
	const struct gpreempt_view *view;

	mutex_lock(&gpreempt_lock);
	view = gq->view;
	/* One with memory of the device may be taken away at any time. */
	if (view && (view->vram || view->maps[0].mm != mm))
		view = NULL;
	mutex_unlock(&gpreempt_lock);
	return view && (map_is_stale(&view->maps[0]) || map_is_stale(&view->maps[1]));
}

/* Frees a view that a registered queue had, after those who may be reading by it. */
static void retire(struct gpreempt_queue *gq, struct gpreempt_view *view)
{
	synchronize_srcu_expedited(&gq->gn->srcu);
	gpreempt_doorbell_wait_readers(gq);
	view_free(view);
}

static void hide(struct gpreempt_queue *gq)
{
	struct gpreempt_view *old;

	mutex_lock(&gpreempt_lock);
	old = publish_locked(gq, NULL, true);
	mutex_unlock(&gpreempt_lock);
	retire(gq, old);
}

/* Gives a queue a view, if it has none and may have one by now. p->mutex held. */
static void map_again(const struct mapper *m)
{
	struct gpreempt_queue *gq;
	struct gpreempt_view *view;
	bool again;

	mutex_lock(&gpreempt_lock);
	gq = m->q->gpreempt;
	again = gq && !gq->view && gq->maps_again;
	mutex_unlock(&gpreempt_lock);
	if (!again)
		return;
	view = view_make(m, &again);
	mutex_lock(&gpreempt_lock);
	/* Switched off and on meanwhile, it may have another one. */
	gq = m->q->gpreempt;
	if (gq && !gq->view)
		view = publish_locked(gq, view, again);
	mutex_unlock(&gpreempt_lock);
	view_free(view);
}

/* p->mutex held, and the work item's context, which ends before queues are unregistered. */
static void tend(const struct mapper *m)
{
	struct gpreempt_queue *gq = READ_ONCE(m->q->gpreempt);

	if (!gq)
		return;
	if (view_is_stale(gq, m->mm))
		hide(gq);
	map_again(m);
	mutex_lock(&gpreempt_lock);
	if (wants_tending(gq))
		WRITE_ONCE(gq->gn->tends, true);
	mutex_unlock(&gpreempt_lock);
}

/**
 * gpreempt_queue_read_vram() - read ring pointers in memory of the device
 * @gq: the queue
 * @view: its view
 * @rptr: receives the read pointer
 * @wptr: receives the write pointer
 *
 * Context: as gpreempt_queue_read().
 *
 * Return: false while the device is reset: nothing answers then
 */
bool gpreempt_queue_read_vram(const struct gpreempt_queue *gq, const struct gpreempt_view *view, u64 *rptr, u64 *wptr)
{
	struct rw_semaphore *sem = &gq->gn->node->adev->reset_domain->sem;

	if (!down_read_trylock(sem))
		return false;
	gpreempt_view_read(gq, view, rptr, wptr);
	up_read(sem);
	return true;
}

/**
 * gpreempt_queue_hide_vram() - let go of all memory of a device that is about to be suspended
 * @gn: the node, paused
 *
 * What is pinned there would not be saved. gpreempt_queue_adopt() maps it again.
 *
 * Context: suspend; takes gpreempt_lock; may sleep.
 */
void gpreempt_queue_hide_vram(struct gpreempt_node *gn)
{
	struct gpreempt_view *old;
	struct gpreempt_queue *gq;

	mutex_lock(&gpreempt_lock);
	list_for_each_entry(gq, &gn->queues, link) {
		if (!gq->view || !gq->view->vram)
			continue;
		old = publish_locked(gq, NULL, true);
		retire(gq, old);
	}
	mutex_unlock(&gpreempt_lock);
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
	view_free(gq->view);
	if (last)
		kfree(gq->process);
	kvfree(gq->snapshot);
	kfree(gq);
}

/* Context: p->mutex held. */
static void register_queue(const struct mapper *m, struct queue *q, bool trusted)
{
	struct gpreempt_node *gn = q->device->gpreempt;
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
	gq->aql = is_aql(q);
	/* That flag is left over only where nothing may load the queue any more. */
	gq->lost = q->properties.is_preempted;
	gpreempt_hw_priority_forget(gq);
	INIT_LIST_HEAD(&gq->holds);
	read_properties(gq, trusted);
	/* To be shown until the monitor has derived it. */
	gq->policy.priority = gq->kfd_priority;
	gq->policy.effective_priority = gq->kfd_priority;
	gq->view = view_make(m, &gq->maps_again);
	if (gpreempt_tunables_verify(gn))
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
			if (!gq->view)
				gpreempt_stats_skip(gn, gq, GPREEMPT_SKIP_UNMAPPED);
			if (wants_tending(gq))
				WRITE_ONCE(gn->tends, true);
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

static struct mapper mapper_of_caller(const struct queue *q)
{
	bool owner = q->process->mm == current->mm;

	return (struct mapper){ .gn = q->device->gpreempt, .q = q, .mm = owner ? current->mm : NULL, .owner = owner };
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
	struct mapper m = mapper_of_caller(q);

	if (!gn || !READ_ONCE(gn->accepting))
		return;
	register_queue(&m, q, caller_is_trusted(q));
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

	/* Nobody registers it any more, so NULL stays NULL. Pairs with the release where all are unregistered: its pages are unmapped then. */
	if (!smp_load_acquire(&q->gpreempt))
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
 * __kfd_gpreempt_queue_updated() - take in a queue's new priority and size, and its pointers if they could not be read so far
 * @q: the queue
 *
 * Context: p->mutex held; may sleep. Runs in the process that owns the queue.
 */
void __kfd_gpreempt_queue_updated(struct queue *q)
{
	struct mapper m = mapper_of_caller(q);
	bool trusted = caller_is_trusted(q);

	mutex_lock(&gpreempt_lock);
	if (q->gpreempt) {
		read_properties(q->gpreempt, trusted);
		gpreempt_core_nudge(q->gpreempt->gn);
	}
	mutex_unlock(&gpreempt_lock);
	map_again(&m);
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
	u64 rptr, wptr, pending;

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
 * the GPU) or, on the device, unmapped (its pointers cannot be read: whether it has work is not known)
 */
const char *gpreempt_queue_state(const struct gpreempt_queue *gq, u64 pending)
{
	if (READ_ONCE(gq->lost))
		return "lost";
	if (gpreempt_peek(gq->policy.preempted))
		return READ_ONCE(gq->leaving) ? "leaving" : "preempted";
	if (READ_ONCE(gq->q->properties.is_evicted))
		return "evicted";
	if (!READ_ONCE(gq->view))
		return "unmapped";
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
		struct mapper m = { .gn = gn, .q = q, .mm = mm };
		bool trusted;

		if (!q || q->device != gn->node)
			continue;
		/* Who set the priority is not known any more: the owner's rights now have to do. */
		trusted = q->properties.priority > GPREEMPT_PRIORITY_NORMAL &&
			  has_capability_noaudit(p->lead_thread, CAP_SYS_NICE);
		register_queue(&m, q, trusted);
		tend(&m);
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

/* The mm of the process, kept; NULL if it is gone: the thread that opened /dev/kfd may have ended, or have executed another program. */
static struct mm_struct *get_mm(const struct kfd_process *p)
{
	struct mm_struct *mm = get_task_mm(p->lead_thread);

	if (mm && mm != READ_ONCE(p->mm)) {
		mmput(mm);
		mm = NULL;
	}
	return mm;
}

/**
 * gpreempt_queue_adopt() - register the queues that existed before switching on, and look after the pointers of those that are registered
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

	/* Whoever wants to be looked after says so again. */
	WRITE_ONCE(gn->tends, false);
	n = get_processes(&processes);
	if (n < 0)
		return false;
	for (i = 0; i < n; i++) {
		struct kfd_process *p = processes[i];
		struct mm_struct *mm = get_mm(p);

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
			view_free(gq->view);
			gq->view = NULL;
			/* Hooks under dqm_lock have finished with it after this. */
			dqm_lock(gn->node->dqm);
			/* Pairs with the acquire where one is unregistered. */
			smp_store_release(&gq->q->gpreempt, NULL);
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

// SPDX-License-Identifier: MIT
/*
 * view.c - the kernel's view of the ring pointers of a queue
 *
 * rptr and wptr are user memory that the program and the GPU write. Their pages are pinned and
 * mapped when the queue is registered, so reading them later is a load. Each pointer lies in a
 * buffer object of one page: either memory that the kernel has given out (pinned where it is), or a
 * wrapper of a user page (the page itself is pinned). No other page is mapped, and each page counts
 * in the owner's RLIMIT_MEMLOCK. A queue whose pointers are elsewhere is *unseen*: it yields, and
 * no queue yields to it.
 *
 * The mapping goes before the driver drops its buffers: unlink, wait for the readers, unmap. What
 * forbade a view may be over later, and the owner may replace a user page: a work item looks for
 * both once a second, where it can matter.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "node.h"
#include "rooms.h"
#include "compat/compat.h"
#include "amdgpu.h"
#include "amdgpu_object.h"
#include "amdgpu_ttm.h"

static void view_map_release(struct gpreempt_map *map)
{
	if (map->page)
		unpin_user_page(map->page);
	if (map->bo) {
		/* Uninterruptible, and never held for long: KFD's own unpinning does the same. */
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
 * @owner: the caller is the owner, which may wait for its own pages. Others may not: behind an
 *	address may be userfaultfd or FUSE, whose server need never answer.
 */
static int view_pin_user_page(struct mm_struct *mm, unsigned long addr, bool owner,
			      struct page **page)
{
	long n;

	/*
	 * Reading only: no reason to dirty it or to fail on pages that must not be written through
	 * a long-term pin.
	 */
	if (owner)
		mmap_read_lock(mm);
	else if (!mmap_read_trylock(mm))
		return -EAGAIN;
	n = owner ? gpreempt_compat_pin_page(mm, addr, page) :
		    gpreempt_compat_pin_present_page(mm, addr, page);
	mmap_read_unlock(mm);
	if (n != 1)
		return n < 0 ? n : -EFAULT;
	return 0;
}

/*
 * A page per queue does not fill memory, but the number of queues has no limit: so what is pinned
 * counts as the owner's other long-term pins do.
 */
static int view_charge(struct gpreempt_map *map, const struct gpreempt_mapper *m)
{
	struct task_struct *owner = m->q->process->lead_thread;

	if (!m->mm)
		return -ESRCH;
	if (atomic64_inc_return(&m->mm->pinned_vm) > task_rlimit(owner, RLIMIT_MEMLOCK) >>
		    PAGE_SHIFT &&
	    !gpreempt_compat_has_capability(owner, CAP_IPC_LOCK)) {
		atomic64_dec(&m->mm->pinned_vm);
		return -EDQUOT;
	}
	mmgrab(m->mm);
	map->mm = m->mm;
	return 0;
}

/*
 * A page that the GPU reaches through an MMU notifier. If the owner replaces it, what is read
 * stands still until view_is_stale() finds out.
 */
static int view_map_user_page(struct gpreempt_map *map, const struct gpreempt_mapper *m,
			      unsigned long addr)
{
	int r = view_charge(map, m);

	if (r)
		return r;
	map->user_addr = addr;
	r = view_pin_user_page(m->mm, addr, m->owner, &map->page);
	if (r)
		return r;
	map->base = page_address(map->page);
	return map->base ? 0 : -ENOMEM;
}

/*
 * Is it memory that the kernel may map and read at any time? An imported BO and one made of DMA
 * addresses have no pages. Memory of another device may be gone while this one works.
 */
static bool view_may_be_mapped(const struct gpreempt_node *gn, struct amdgpu_bo *bo, u32 domain)
{
	struct amdgpu_device *adev = gn->node->adev;

	if (bo->tbo.type != ttm_bo_type_device || bo->tbo.base.import_attach || !domain ||
	    bo->flags & AMDGPU_GEM_CREATE_NO_CPU_ACCESS)
		return false;
	if (domain == AMDGPU_GEM_DOMAIN_GTT)
		return true;
	/*
	 * The flag says that the CPU has used it since it came to where it is. Without, it may be
	 * there all the same. Where it is not, pinning would move it, for which the program's
	 * queues would have to leave the device.
	 */
	return amdgpu_ttm_adev(bo->tbo.bdev) == adev &&
	       (bo->flags & AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED ||
		gpreempt_compat_cpu_sees(bo));
}

/*
 * BO reserved and pinned. A mapping of our own: other queues may have their pointers in the same BO
 * and go at other times.
 */
static int view_map_pinned_bo(struct gpreempt_map *map, struct amdgpu_bo *bo, bool *vram)
{
	bool iomem;
	int r;

	/* It may have been pinned before, where the CPU does not reach. */
	if (!gpreempt_compat_cpu_sees(bo))
		return -EOPNOTSUPP;
	if (dma_resv_wait_timeout(bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL, false,
				  MAX_SCHEDULE_TIMEOUT) < 0)
		return -EIO;
	r = ttm_bo_kmap(&bo->tbo, 0, 1, &map->kmap);
	if (r)
		return r;
	map->base = ttm_kmap_obj_virtual(&map->kmap, &iomem);
	*vram |= bo->tbo.resource->mem_type == TTM_PL_VRAM;
	return 0;
}

/* BO reserved. */
static int view_map_reserved_bo(struct gpreempt_map *map, const struct gpreempt_mapper *m,
				struct amdgpu_bo *bo, bool *vram)
{
	u32 domain = bo->preferred_domains & (AMDGPU_GEM_DOMAIN_GTT | AMDGPU_GEM_DOMAIN_VRAM);
	int r;

	if (!view_may_be_mapped(m->gn, bo, domain))
		return -EOPNOTSUPP;
	if (domain != AMDGPU_GEM_DOMAIN_GTT && READ_ONCE(m->gn->life.paused))
		return -EAGAIN;
	r = view_charge(map, m);
	if (r)
		return r;
	/* The driver says loudly that it failed: that is not tried again. */
	if (amdgpu_bo_pin(bo, domain))
		return -EOPNOTSUPP;
	if (view_map_pinned_bo(map, bo, vram)) {
		amdgpu_bo_unpin(bo);
		return -EOPNOTSUPP;
	}
	map->bo = amdgpu_bo_ref(bo);
	return 0;
}

/* @bo: mapped for the GPU at exactly one page; NULL where nothing is behind the address (PRT). */
static int view_map_bo(struct gpreempt_map *map, const struct gpreempt_mapper *m,
		       struct amdgpu_bo *bo, bool *vram)
{
	uint64_t user_addr = 0;
	int r;

	/*
	 * A larger one may be mapped for the GPU from somewhere in its middle: which page is meant
	 * is not to be seen from here.
	 */
	if (!bo || amdgpu_bo_size(bo) != PAGE_SIZE)
		return -EOPNOTSUPP;
	r = amdgpu_bo_reserve(bo, true);
	if (r)
		return r;
	/*
	 * Not by its mm, which is gone once the thread that made it has ended: without pages of its
	 * own there is nothing to be mapped.
	 */
	if (!amdgpu_ttm_tt_is_userptr(bo->tbo.ttm))
		r = view_map_reserved_bo(map, m, bo, vram);
	else if (!m->mm || amdgpu_ttm_tt_get_usermm(bo->tbo.ttm) != m->mm)
		r = -ESRCH;
	else
		r = amdgpu_ttm_tt_get_userptr(&bo->tbo, &user_addr);
	amdgpu_bo_unreserve(bo);
	return user_addr ? view_map_user_page(map, m, user_addr) : r;
}

static void view_free(struct gpreempt_view *view)
{
	if (!view)
		return;
	view_map_release(&view->maps[0]);
	view_map_release(&view->maps[1]);
	kfree(view);
}

static bool view_is_aql(const struct queue *q)
{
	return q->properties.format == KFD_QUEUE_FORMAT_AQL;
}

static int view_map_bos(struct gpreempt_view *view, const struct gpreempt_mapper *m,
			struct amdgpu_bo *rptr_bo, struct amdgpu_bo *wptr_bo)
{
	const struct queue_properties *properties = &m->q->properties;
	unsigned long rptr = (unsigned long)properties->read_ptr,
		      wptr = (unsigned long)properties->write_ptr;
	/* AQL counts in 64 bits; a pointer that is not aligned to that would cross cache lines. */
	unsigned long align = view_is_aql(m->q) ? sizeof(u64) - 1 : sizeof(u32) - 1;
	bool apart = wptr_bo != rptr_bo;
	int r;

	if ((rptr | wptr) & align)
		return -EOPNOTSUPP;
	r = view_map_bo(&view->maps[0], m, rptr_bo, &view->vram);
	if (!r && apart)
		r = view_map_bo(&view->maps[1], m, wptr_bo, &view->vram);
	if (r)
		return r;
	view->rptr = view->maps[0].base + offset_in_page(rptr);
	view->wptr = view->maps[apart].base + offset_in_page(wptr);
	return 0;
}

static int view_map_pointers(struct gpreempt_view *view, const struct gpreempt_mapper *m)
{
	struct amdgpu_bo *rptr_bo = gpreempt_compat_pointer_bo(m->q, false),
			 *wptr_bo = gpreempt_compat_pointer_bo(m->q, true);
	int r = view_map_bos(view, m, rptr_bo, wptr_bo);

	amdgpu_bo_unref(&rptr_bo);
	amdgpu_bo_unref(&wptr_bo);
	return r;
}

/* Returns NULL if there is none; @again receives whether there may be one later. */
static struct gpreempt_view *view_make(const struct gpreempt_mapper *m, bool *again)
{
	struct gpreempt_view *view = kzalloc(sizeof(*view), GFP_KERNEL);
	int r = view ? view_map_pointers(view, m) : -ENOMEM;

	*again = r && r != -EOPNOTSUPP;
	if (!r)
		return view;
	view_free(view);
	dev_dbg(m->gn->node->adev->dev, "gpreempt: pid %d queue %u is not seen: ring pointers (%d)\n",
		m->q->process->lead_thread->pid, m->q->properties.queue_id, r);
	return NULL;
}

/* Has the owner another page there by now, or none? */
static bool view_map_is_stale(const struct gpreempt_map *map)
{
	struct page *page;
	int r;

	if (!map->page)
		return false;
	r = view_pin_user_page(map->mm, map->user_addr, false, &page);
	if (!r)
		unpin_user_page(page);
	return r ? r != -EAGAIN : page != map->page;
}

/**
 * gpreempt_view_wants_tending() - do the pointers of a queue have to be looked after?
 * @gq: the queue
 *
 * What is in user pages may be replaced, and what could not be mapped may be mapped later.
 *
 * Context: gpreempt_lock held.
 *
 * Return: true if they do
 */
bool gpreempt_view_wants_tending(const struct gpreempt_queue *gq)
{
	return gq->view.pointers ?
		       gq->view.pointers->maps[0].page || gq->view.pointers->maps[1].page :
		       gq->view.maps_again;
}

/* Returns what view_retire() frees. The kick drops what the monitor keeps of the old one. */
static struct gpreempt_view *view_publish_locked(struct gpreempt_queue *gq,
						 struct gpreempt_view *view, bool again)
{
	struct gpreempt_view *old = gq->view.pointers;

	lockdep_assert_held(&gpreempt_lock);
	gq->view.maps_again = again;
	/* Pairs with the acquire of readers. */
	smp_store_release(&gq->view.pointers, view);
	if (gpreempt_view_wants_tending(gq))
		WRITE_ONCE(gq->gn->queues.tends, true);
	gpreempt_node_nudge(gq->gn);
	return old;
}

/*
 * Does the view of a registered queue show a page that is not there any more? @mm is kept, and is
 * the one of the view.
 */
static bool view_is_stale(const struct gpreempt_queue *gq, const struct mm_struct *mm)
{
	const struct gpreempt_view *view;

	mutex_lock(&gpreempt_lock);
	view = gq->view.pointers;
	/* One with memory of the device may be taken away at any time. */
	if (view && (view->vram || view->maps[0].mm != mm))
		view = NULL;
	mutex_unlock(&gpreempt_lock);
	return view && (view_map_is_stale(&view->maps[0]) || view_map_is_stale(&view->maps[1]));
}

/* Frees a view that a registered queue had, after its last reader. */
static void view_retire(struct gpreempt_queue *gq, struct gpreempt_view *view)
{
	synchronize_srcu_expedited(&gq->gn->queues.srcu);
	gpreempt_rooms_tell(wait_readers, gq);
	view_free(view);
}

static void view_hide(struct gpreempt_queue *gq)
{
	struct gpreempt_view *old;

	mutex_lock(&gpreempt_lock);
	old = view_publish_locked(gq, NULL, true);
	mutex_unlock(&gpreempt_lock);
	view_retire(gq, old);
}

/**
 * gpreempt_view_map_again() - map the pointers of a queue if they are not, and may be by now
 * @m: the caller that maps them, and the queue
 *
 * Context: p->mutex held; may sleep.
 */
void gpreempt_view_map_again(const struct gpreempt_mapper *m)
{
	struct gpreempt_queue *gq;
	struct gpreempt_view *view;
	bool again;

	mutex_lock(&gpreempt_lock);
	gq = m->q->gpreempt;
	again = gq && !gq->view.pointers && gq->view.maps_again;
	mutex_unlock(&gpreempt_lock);
	if (!again)
		return;
	view = view_make(m, &again);
	mutex_lock(&gpreempt_lock);
	/* Switched off and on meanwhile, it may have another one. */
	gq = m->q->gpreempt;
	if (gq && !gq->view.pointers)
		view = view_publish_locked(gq, view, again);
	mutex_unlock(&gpreempt_lock);
	view_free(view);
}

/**
 * gpreempt_view_tend() - look after the pointers of a queue
 * @m: the caller that looks, and the queue
 *
 * Context: p->mutex held; the work item of the node, which ends before queues are unregistered; may
 * sleep.
 */
void gpreempt_view_tend(const struct gpreempt_mapper *m)
{
	struct gpreempt_queue *gq = READ_ONCE(m->q->gpreempt);

	if (!gq)
		return;
	if (view_is_stale(gq, m->mm))
		view_hide(gq);
	gpreempt_view_map_again(m);
	mutex_lock(&gpreempt_lock);
	if (gpreempt_view_wants_tending(gq))
		WRITE_ONCE(gq->gn->queues.tends, true);
	mutex_unlock(&gpreempt_lock);
}

/**
 * gpreempt_view_hide_vram() - let go of all memory of a device that is about to be suspended
 * @gn: the node, paused
 *
 * What is pinned there would not be saved. gpreempt_queue_adopt() maps it again.
 *
 * Context: suspend; takes gpreempt_lock; may sleep.
 */
void gpreempt_view_hide_vram(struct gpreempt_node *gn)
{
	struct gpreempt_view *old;
	struct gpreempt_queue *gq;

	mutex_lock(&gpreempt_lock);
	list_for_each_entry(gq, &gn->queues.list, link) {
		if (!gq->view.pointers || !gq->view.pointers->vram)
			continue;
		old = view_publish_locked(gq, NULL, true);
		view_retire(gq, old);
	}
	mutex_unlock(&gpreempt_lock);
}

/**
 * gpreempt_view_mapper() - the caller maps the pointers of a queue
 * @q: the queue
 *
 * Context: p->mutex held.
 *
 * Return: the caller as a mapper, with the queue
 */
struct gpreempt_mapper gpreempt_view_mapper(const struct queue *q)
{
	bool owner = q->process->mm == current->mm;

	return (struct gpreempt_mapper){
		.gn = q->device->gpreempt, .q = q, .mm = owner ? current->mm : NULL, .owner = owner
	};
}

/**
 * gpreempt_view_resized() - take in the size of a queue's ring
 * @gq: the queue
 *
 * Context: p->mutex held, or the queue is being registered.
 */
void gpreempt_view_resized(struct gpreempt_queue *gq)
{
	WRITE_ONCE(gq->view.ring_mask, gq->q->properties.queue_size / sizeof(u32) - 1);
}

/**
 * gpreempt_view_init_queue() - map the ring pointers of a queue that is being registered
 * @gq: the queue; it is unseen if they cannot be mapped
 * @m: the caller that maps them
 *
 * Context: p->mutex held; may sleep.
 */
void gpreempt_view_init_queue(struct gpreempt_queue *gq, const struct gpreempt_mapper *m)
{
	gq->view.aql = view_is_aql(gq->q);
	gpreempt_view_resized(gq);
	gq->view.pointers = view_make(m, &gq->view.maps_again);
}

/**
 * gpreempt_view_drop() - unmap the ring pointers of a queue that goes
 * @gq: the queue; nothing reads them any more
 *
 * Context: may sleep.
 */
void gpreempt_view_drop(struct gpreempt_queue *gq)
{
	view_free(gq->view.pointers);
	gq->view.pointers = NULL;
}

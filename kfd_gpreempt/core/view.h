/* SPDX-License-Identifier: MIT */
/* view.h - the kernel's view of the ring pointers of a queue */
#ifndef GPREEMPT_VIEW_H
#define GPREEMPT_VIEW_H

#include <linux/types.h>
#include <drm/ttm/ttm_bo.h>

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;

/**
 * struct gpreempt_map - a page with ring pointers, pinned and mapped
 * @bo: buffer object that was pinned and mapped (GTT, visible VRAM); NULL for user pages
 * @kmap: its mapping
 * @page: user page under a long-term pin (USERPTR); NULL for buffer objects
 * @user_addr: its address in @mm
 * @mm: in whose pinned_vm the page counts, kept by mmgrab(); NULL: nothing is mapped
 * @base: where the page is in the kernel
 */
struct gpreempt_map {
	struct amdgpu_bo *bo;
	struct ttm_bo_kmap_obj kmap;
	struct page *page;
	unsigned long user_addr;
	struct mm_struct *mm;
	const void *base;
};

/**
 * struct gpreempt_view - the kernel's view of a queue's ring pointers
 * @rptr: the read pointer
 * @wptr: the write pointer
 * @vram: one of them is memory of the device: not to be read while the device is reset,
 *	nothing while it is suspended
 * @maps: their pages; the second is empty if both are in the same one
 *
 * It does not change while readers may have it: another one takes its place.
 */
struct gpreempt_view {
	const void *rptr;
	const void *wptr;
	bool vram;
	struct gpreempt_map maps[2];
};

struct queue;

/**
 * struct gpreempt_mapper - a caller that maps pointers, and the queue that it maps them for
 * @gn: the node
 * @q: the queue; p->mutex keeps its buffer objects
 * @mm: the owner's, where user pages are and pages are counted; NULL: it is gone
 * @owner: the caller is the owner
 */
struct gpreempt_mapper {
	const struct gpreempt_node *gn;
	const struct queue *q;
	struct mm_struct *mm;
	bool owner;
};

/* What view.c keeps of a queue, and writes alone. */
struct gpreempt_queue_view {
	/** @ring_mask: PM4: ring size in dwords, less one; written under p->mutex */
	u32 ring_mask;
	/**
	 * @aql: pointers count packets in 64 bits; otherwise dwords, the read pointer wrapping in
	 * the ring
	 */
	bool aql;
	/** @maps_again: without @view: what forbade it may be over; written under gpreempt_lock */
	bool maps_again;
	/**
	 * @pointers: its ring pointers; NULL: they cannot be read, it is *unseen*: it yields, and
	 * no queue yields to it. Written under gpreempt_lock, read as gpreempt_node_read() says;
	 * what was there is freed after all of these. What takes one away kicks before it waits for
	 * readers.
	 */
	struct gpreempt_view *pointers;
};

void gpreempt_view_resized(struct gpreempt_queue *gq);
void gpreempt_view_init_queue(struct gpreempt_queue *gq, const struct gpreempt_mapper *m);
void gpreempt_view_drop(struct gpreempt_queue *gq);
bool gpreempt_view_wants_tending(const struct gpreempt_queue *gq);
void gpreempt_view_map_again(const struct gpreempt_mapper *m);
void gpreempt_view_tend(const struct gpreempt_mapper *m);
void gpreempt_view_hide_vram(struct gpreempt_node *gn);
struct gpreempt_mapper gpreempt_view_mapper(const struct queue *q);

#endif /* GPREEMPT_VIEW_H */

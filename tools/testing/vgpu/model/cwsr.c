// SPDX-License-Identifier: MIT
/*
 * cwsr.c - compute wave save and restore
 *
 * At dequeue everything that is in flight goes to memory, and nothing else survives: the control stack one page behind the MQD, which
 * grows down from its size and has an entry of eight bytes per saved dispatch or wave; the save area in the process, where the
 * records lie behind the space of the control stack, each as large as what it stands for (registers and LDS of a wave) although
 * only its head is written, unless they execute machine code (isa_waves.c); and the MQD with read pointer and the ends of both. At map the
 * queue continues with what is there.
 *
 * Entries are pushed in the order dispatch, its waves, next dispatch, ...
 */
#include "model.h"

#define HQD_IN_MQD		0x200
#define ENTRY_BYTES		8
#define ENTRY_DISPATCH		0xd15b0000u	/* a dispatch record at that offset of the save area */
#define ENTRY_WAVE		0x3a7e0000u	/* a wave record */
#define ENTRY_CODE_WAVE		0x3a7e0001u	/* a wave that executes machine code */
#define ENTRY_ENDED_WAVE	0x3a7e0002u	/* one that has ended, while others of its workgroup have not */
#define RECORD_MAGIC		0x72737763u	/* "cwsr" */
#define WAVE_WAITS		1u
#define WAVE_HALTED		2u
#define WAVE_SGPR_BYTES		512
#define WAVE_HWREG_BYTES	128
#define BYTES_PER_VGPR		256

/* Sizes are a multiple of eight: records may cross pages but their words do not. */
struct saved_dispatch {
	u32 magic;
	u32 inflight_index;
	u64 index;
	u64 signal;
	u64 counters;
	u64 flag;
	u64 step_ns;
	u64 start_ns;
	u32 steps;
	u32 vgprs;
	u32 lds_bytes;
	u32 xccs;
	u32 xcc;
	u32 chunk;
	u32 workgroups;
	u32 wg_waves;
	u32 last_wg_waves;
	u32 next_wg;
	u32 waves_done;
	u32 halted;
	u32 machine_code;
	u32 scratch_waves;
	u32 scratch_wave_bytes;
	struct vgpu_kernel_code code;
	struct vgpu_isa_launch launch;
};

struct saved_wave {
	u32 magic;
	u32 inflight_index;	/* of its dispatch */
	u32 wave;
	u32 step;
	u64 left_ns;
	u32 state;
	u32 bytes;
};

/* Where saving or restoring has arrived */
struct cursor {
	u32 as;
	u64 stack;		/* address of the control stack */
	u32 stack_size;
	u32 stack_offset;
	u64 area;		/* address of the save area */
	u32 area_size;
	u32 area_offset;
	bool stale_stack;
	bool failed;
};

static u32 hqd(struct vgpu_model *m, const struct vgpu_queue *q, enum vgpu_hqd_reg reg)
{
	return vgpu_hqd_get(m, q->xcc, q->me, q->pipe, q->slot, reg);
}

static struct cursor cursor_of(struct vgpu_model *m, const struct vgpu_queue *q)
{
	return (struct cursor) {
		.as = vgpu_queue_as(q),
		.stack = q->mqd + VGPU_PAGE,
		.stack_size = hqd(m, q, VGPU_HQD_CNTL_STACK_SIZE),
		.area = hqd(m, q, VGPU_HQD_CTX_SAVE_LO) | (u64)hqd(m, q, VGPU_HQD_CTX_SAVE_HI) << 32,
		.area_size = hqd(m, q, VGPU_HQD_CTX_SAVE_SIZE),
	};
}

/* An entry of the control stack for @bytes of the save area. Return: where they are, 0: there is no room. */
static u64 reserve(struct vgpu_model *m, struct cursor *c, u32 kind, u32 bytes)
{
	u32 entry[2] = { kind, c->area_offset };

	if (c->failed || c->stack_offset < ENTRY_BYTES || c->area_size - c->area_offset < bytes) {
		c->failed = true;
		return 0;
	}
	c->stack_offset -= ENTRY_BYTES;
	if (!c->stale_stack &&
	    !vgpu_vm_write(m, VGPU_AS_KERNEL, c->stack + c->stack_offset, entry, sizeof(entry)))
		c->failed = true;
	c->area_offset += bytes;
	return c->area + entry[1];
}

static void push(struct vgpu_model *m, struct cursor *c, u32 kind, const void *record, u32 record_bytes, u32 bytes)
{
	u64 va = reserve(m, c, kind, bytes);

	if (va && !vgpu_vm_write(m, c->as, va, record, record_bytes))
		c->failed = true;
}

static void push_workgroup(struct vgpu_model *m, struct cursor *c, const struct vgpu_group *g, u32 inflight_index)
{
	u32 i, kind;
	u64 va;

	for (i = 0; i < g->waves; i++) {
		kind = g->wg->wave[i].state == VGPU_WAVE_ENDED ? ENTRY_ENDED_WAVE : ENTRY_CODE_WAVE;
		va = reserve(m, c, kind, vgpu_wave_saved_bytes(g->d, g->wg, i));
		if (va && !vgpu_wave_save(m, c->as, va, g, i, inflight_index))
			c->failed = true;
	}
}

static u64 left_of_step(struct vgpu_model *m, const struct vgpu_group *g, bool resident)
{
	if (!resident || g->waiting || g->halted)
		return g->left_ns;
	return g->end_ns > m->now_ns ? g->end_ns - m->now_ns : 0;
}

static void save_groups(struct vgpu_model *m, struct cursor *c, const struct vgpu_dispatch *d, u32 inflight_index,
			struct vgpu_list *list, bool resident)
{
	struct vgpu_list *l;
	u32 i;

	for (l = list->next; l != list; l = l->next) {
		const struct vgpu_group *g = container_of(l, struct vgpu_group, link);
		struct saved_wave r = {
			.magic = RECORD_MAGIC,
			.inflight_index = inflight_index,
			.step = g->step,
			.left_ns = left_of_step(m, g, resident),
			.state = (g->waiting ? WAVE_WAITS : 0) | (g->halted ? WAVE_HALTED : 0),
		};

		if (g->d != d)
			continue;
		if (g->wg)
			push_workgroup(m, c, g, inflight_index);
		for (i = 0; i < g->waves && !g->wg; i++) {
			r.wave = g->first + i;
			r.bytes = d->vgprs * BYTES_PER_VGPR + WAVE_SGPR_BYTES + WAVE_HWREG_BYTES;
			if (!(r.wave % d->wg_waves))
				r.bytes += (d->lds_bytes + 7) & ~7u;
			push(m, c, ENTRY_WAVE, &r, sizeof(r), r.bytes);
		}
		if (resident)			/* the others never got their slots back: saved again, counted once */
			m->stats.waves_saved += g->waves;
	}
}

static void write_mqd(struct vgpu_model *m, const struct vgpu_queue *q, enum vgpu_hqd_reg reg, u32 value)
{
	vgpu_hqd_set(m, q->xcc, q->me, q->pipe, q->slot, reg, value);
	vgpu_vm_write32(m, VGPU_AS_KERNEL, q->mqd + HQD_IN_MQD + reg * 4, value);
}

/* Device time of moving @bytes of wave state in or out */
u64 vgpu_cwsr_ns(struct vgpu_model *m, u64 bytes)
{
	return bytes ? m->config.trap_ns + bytes * 1000 / m->config.hbm_bytes_per_us : 0;
}

/* The waves of a queue are lost: the MQD must not lead to those that were saved at an earlier time. */
void vgpu_cwsr_discard(struct vgpu_model *m, struct vgpu_queue *q)
{
	u32 empty = hqd(m, q, VGPU_HQD_CNTL_STACK_SIZE);

	write_mqd(m, q, VGPU_HQD_CNTL_STACK_OFFSET, empty);
	write_mqd(m, q, VGPU_HQD_WG_STATE_OFFSET, empty);
}

/* Words that look like anything, the same ones in each run */
static u32 garbage(u32 *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state ^ *state >> 16;
}

/*
 * All that the MQD says about the queue, except what bounds the control stack: that one lies in the kernel's memory, and hardware that
 * writes where it wants is not what is tested.
 */
static void scribble_mqd(struct vgpu_model *m, u64 mqd)
{
	u32 state = (u32)(mqd >> 12), reg;

	for (reg = VGPU_HQD_PQ_BASE_LO; reg < VGPU_HQD_REGS; reg++)
		if (reg != VGPU_HQD_CNTL_STACK_SIZE)
			vgpu_vm_write32(m, VGPU_AS_KERNEL, mqd + HQD_IN_MQD + reg * 4, garbage(&state));
}

/* See vgpu_model.h. */
bool vgpu_model_scribble(struct vgpu_model *m)
{
	if (!m->saved_mqd)
		return false;
	m->stats.faults++;
	scribble_mqd(m, m->saved_mqd);
	return true;
}

static void scribble_stack(struct vgpu_model *m, const struct vgpu_queue *q, const struct cursor *c)
{
	u32 state = q->doorbell, at;

	for (at = c->stack_offset; at < c->stack_size; at += 4)
		vgpu_vm_write32(m, VGPU_AS_KERNEL, c->stack + at, garbage(&state));
}

/**
 * vgpu_cwsr_save() - write the state of a queue to memory, at dequeue
 * @m: the device
 * @q: a compute queue of a process; the caller frees it and its waves afterwards
 *
 * Return: bytes of resident state that were saved.
 */
u64 vgpu_cwsr_save(struct vgpu_model *m, struct vgpu_queue *q)
{
	struct cursor c = cursor_of(m, q);
	bool busy = q->waves || !vgpu_list_empty(&q->pending);
	struct vgpu_list *l;
	u64 bytes, wptr;
	u32 i = 0;

	vgpu_aql_unread(m, q);
	c.stack_offset = c.stack_size;
	c.area_offset = c.stack_size;
	c.stale_stack = busy && vgpu_fault(m, VGPU_FAULT_STALE_CTL_STACK);
	for (l = q->inflight.next; l != &q->inflight; l = l->next, i++) {
		const struct vgpu_dispatch *d = container_of(l, struct vgpu_dispatch, link);
		struct saved_dispatch r = {
			.magic = RECORD_MAGIC,
			.inflight_index = i,
			.index = d->index,
			.signal = d->signal,
			.counters = d->counters,
			.flag = d->flag,
			.step_ns = d->step_ns,
			.start_ns = d->start_ns,
			.steps = d->steps,
			.vgprs = d->vgprs,
			.lds_bytes = d->lds_bytes,
			.xccs = d->xccs,
			.xcc = d->xcc,
			.chunk = d->chunk,
			.workgroups = d->workgroups,
			.wg_waves = d->wg_waves,
			.last_wg_waves = d->last_wg_waves,
			.next_wg = d->next_wg,
			.waves_done = d->waves_done,
			.halted = d->halted,
			.machine_code = d->machine_code,
			.scratch_waves = d->scratch_waves,
			.scratch_wave_bytes = d->scratch_wave_bytes,
			.code = d->code,
			.launch = d->launch,
		};

		push(m, &c, ENTRY_DISPATCH, &r, sizeof(r), sizeof(r));
		save_groups(m, &c, d, i, &m->groups, true);
		save_groups(m, &c, d, i, &m->waiting, true);
		save_groups(m, &c, d, i, &m->halted, true);
		save_groups(m, &c, d, i, &q->pending, false);
	}
	if (c.failed)
		vgpu_err("save area of queue %#x (pasid %u) is too small or not mapped: %u of %u, stack %u of %u", q->doorbell,
			 q->pasid, c.area_offset, c.area_size, c.stack_size - c.stack_offset, c.stack_size);
	wptr = q->kind == VGPU_QUEUE_AQL ? q->wptr * 16 : q->wptr;
	if (!busy || !vgpu_fault(m, VGPU_FAULT_STALE_MQD)) {
		write_mqd(m, q, VGPU_HQD_PQ_RPTR, vgpu_queue_rptr_dwords(q));
		write_mqd(m, q, VGPU_HQD_PQ_WPTR_LO, (u32)wptr);
		write_mqd(m, q, VGPU_HQD_PQ_WPTR_HI, (u32)(wptr >> 32));
		write_mqd(m, q, VGPU_HQD_ERROR, hqd(m, q, VGPU_HQD_ERROR));
		write_mqd(m, q, VGPU_HQD_CNTL_STACK_OFFSET, c.stack_offset);
		write_mqd(m, q, VGPU_HQD_WG_STATE_OFFSET, c.area_offset);
		vgpu_pm4_save(m, q);
	}
	m->saved_mqd = q->mqd;
	if (busy && vgpu_fault(m, VGPU_FAULT_MQD_GARBAGE))
		scribble_mqd(m, q->mqd);
	if (c.stack_offset < c.stack_size && vgpu_fault(m, VGPU_FAULT_CTL_STACK_GARBAGE))
		scribble_stack(m, q, &c);

	bytes = (c.stack_size - c.stack_offset) + (c.area_offset - c.stack_size);
	if (bytes)
		m->stats.cwsr_saves++;
	m->stats.saved_bytes += bytes;
	return bytes;
}

static bool bad_launch(const struct saved_dispatch *r)
{
	u32 i;

	for (i = 0; i < 3; i++)
		if (!r->launch.workgroup[i] || !r->launch.grid[i])
			return true;
	return vgpu_isa_vgpr_count(&r->code) > r->vgprs;
}

static struct vgpu_dispatch *restore_dispatch(struct vgpu_model *m, struct vgpu_queue *q, const struct saved_dispatch *r)
{
	struct vgpu_dispatch *d;

	if (r->magic != RECORD_MAGIC || !r->steps || !r->xccs || !r->chunk || !r->workgroups || !r->wg_waves || !r->last_wg_waves ||
	    r->last_wg_waves > r->wg_waves || !r->vgprs || (r->machine_code && bad_launch(r)) || !vgpu_workgroup_fits(m, r->wg_waves, r->vgprs, r->lds_bytes))
		return NULL;
	d = vgpu_zalloc(sizeof(*d));
	if (!d)
		return NULL;
	d->q = q;
	d->index = r->index;
	d->signal = r->signal;
	d->counters = r->counters;
	d->flag = r->flag;
	d->step_ns = r->step_ns;
	d->start_ns = r->start_ns;
	d->steps = r->steps;
	d->vgprs = r->vgprs;
	d->lds_bytes = r->lds_bytes;
	d->xccs = r->xccs;
	d->xcc = r->xcc;
	d->chunk = r->chunk;
	d->workgroups = r->workgroups;
	d->wg_waves = r->wg_waves;
	d->last_wg_waves = r->last_wg_waves;
	d->next_wg = r->next_wg;
	d->waves_done = r->waves_done;
	d->halted = r->halted;
	d->machine_code = r->machine_code;
	d->scratch_waves = r->scratch_waves;
	d->scratch_wave_bytes = r->scratch_wave_bytes;
	d->code = r->code;
	d->launch = r->launch;
	vgpu_list_add(&d->link, &q->inflight);
	q->inflight_count++;
	if ((d->index == q->rptr || d->index == VGPU_NO_INDEX) && d->next_wg < d->workgroups)
		q->head = d;
	return d;
}

/* Waves of a workgroup were saved one behind the other: they become one group again. */
static bool restore_wave(struct vgpu_model *m, struct vgpu_queue *q, struct vgpu_dispatch *d, const struct saved_wave *r)
{
	u32 waves = d ? (d->workgroups - 1) * d->wg_waves + d->last_wg_waves : 0;
	bool waiting = r->state & WAVE_WAITS, halted = r->state & WAVE_HALTED;
	struct vgpu_group *g;

	if (r->magic != RECORD_MAGIC || !d || d->machine_code || r->wave >= waves || r->step >= d->steps)
		return false;
	if (!vgpu_list_empty(&q->pending)) {
		g = container_of(q->pending.prev, struct vgpu_group, link);
		if (g->d == d && g->first + g->waves == r->wave && g->step == r->step && g->left_ns == r->left_ns &&
		    g->waiting == waiting && g->halted == halted) {
			g->waves++;
			return true;
		}
	}
	if (r->wave % d->wg_waves)			/* its workgroup's first wave is missing */
		return false;
	g = vgpu_group_get(m);
	if (!g)
		return false;
	g->d = d;
	g->first = r->wave;
	g->waves = 1;
	g->step = r->step;
	g->left_ns = r->left_ns;
	g->waiting = waiting;
	g->halted = halted;
	vgpu_list_add(&g->link, &q->pending);
	return true;
}

/* The same of waves that execute machine code: those of a workgroup make up a group. */
static bool restore_code_wave(struct vgpu_model *m, struct vgpu_queue *q, const struct cursor *c, struct vgpu_dispatch *d, u32 inflight_index,
			      const u32 entry[2])
{
	struct vgpu_group *last = NULL, *g;

	if (!d || !d->machine_code)
		return false;
	if (!vgpu_list_empty(&q->pending))
		last = container_of(q->pending.prev, struct vgpu_group, link);
	g = vgpu_wave_restore(m, c->as, c->area + entry[1], d, inflight_index, entry[0] == ENTRY_ENDED_WAVE, last);
	if (g && g != last)
		vgpu_list_add(&g->link, &q->pending);
	return g;
}

/* A workgroup that is not all there */
static void drop_incomplete(struct vgpu_model *m, struct vgpu_queue *q)
{
	struct vgpu_list *l, *next;

	for (l = q->pending.next; l != &q->pending; l = next) {
		struct vgpu_group *g = container_of(l, struct vgpu_group, link);

		next = l->next;
		if (!g->wg || g->waves == g->wg->waves)
			continue;
		m->stats.bad_records++;
		vgpu_list_del(&g->link);
		vgpu_group_put(m, g);
	}
}

/**
 * vgpu_cwsr_restore() - continue with what memory says, at map
 * @m: the device
 * @q: a compute queue of a process that was just mapped
 *
 * The waves get their slots from q->ready_ns on.
 *
 * Return: bytes to be restored.
 */
u64 vgpu_cwsr_restore(struct vgpu_model *m, struct vgpu_queue *q)
{
	struct cursor c = cursor_of(m, q);
	struct vgpu_dispatch *d = NULL;
	u32 at, inflight_index = 0;
	u64 bytes;

	if (m->saved_mqd == q->mqd)
		m->saved_mqd = 0;
	c.stack_offset = hqd(m, q, VGPU_HQD_CNTL_STACK_OFFSET);
	c.area_offset = hqd(m, q, VGPU_HQD_WG_STATE_OFFSET);
	if (!c.stack_size || c.stack_offset >= c.stack_size || c.area_offset < c.stack_size ||
	    c.area_offset > c.area_size)
		return 0;
	bytes = (c.stack_size - c.stack_offset) + (c.area_offset - c.stack_size);
	for (at = c.stack_size; at >= c.stack_offset + ENTRY_BYTES; at -= ENTRY_BYTES) {
		struct saved_dispatch sd;
		struct saved_wave sw;
		u32 entry[2];
		bool ok = false;

		if (!vgpu_vm_read(m, VGPU_AS_KERNEL, c.stack + at - ENTRY_BYTES, entry, sizeof(entry)))
			break;
		if (entry[0] == ENTRY_DISPATCH && entry[1] < c.area_size &&
		    vgpu_vm_read(m, c.as, c.area + entry[1], &sd, sizeof(sd))) {
			d = restore_dispatch(m, q, &sd);
			inflight_index = sd.inflight_index;
			ok = d;
		} else if (entry[0] == ENTRY_WAVE && entry[1] < c.area_size &&
			   vgpu_vm_read(m, c.as, c.area + entry[1], &sw, sizeof(sw))) {
			ok = sw.inflight_index == inflight_index && restore_wave(m, q, d, &sw);
		} else if ((entry[0] == ENTRY_CODE_WAVE || entry[0] == ENTRY_ENDED_WAVE) && entry[1] < c.area_size) {
			ok = restore_code_wave(m, q, &c, d, inflight_index, entry);
		}
		if (!ok && !m->stats.bad_records++)
			vgpu_err("bad control stack entry %#x %#x of queue %#x (pasid %u)", entry[0], entry[1], q->doorbell,
				 q->pasid);
	}
	drop_incomplete(m, q);
	m->stats.cwsr_restores++;
	m->place = true;
	return bytes;
}

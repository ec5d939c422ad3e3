// SPDX-License-Identifier: MIT
/*
 * cwsr.c - compute wave save and restore
 *
 * At dequeue everything that is in flight goes to memory, and nothing else survives: the control
 * stack one page behind the MQD (gfx11: in the save area, before the waves), the save area in the
 * process, both as save_area.h says, and the MQD with read pointer and the ends of both. At map the
 * queue continues with what is there.
 *
 * What the CP notes of dispatches is published nowhere. Here it is in the part of the control
 * stack's space that the stack does not use, from its beginning: a record for each dispatch in
 * flight, and what its waves will begin with behind the last one, if one of them has not launched
 * them all. The control stack refers to the records by events.
 *
 * Waves that execute nothing (vgpu_kernel.h) look the same, but only the hardware registers are
 * written, and the four words before them, which are those of scalar registers that have no number.
 */
#include "model.h"
#include "save_area.h"

#define HQD_IN_MQD		0x200
#define HQD_IB_VMID_SHIFT	8
#define HQD_DOORBELL_EN		0x40000000u
#define HQD_DOORBELL_SCHD_HIT	0x20000000u
#define HQD_NO_UPDATE_RPTR	0x08000000u	/* of CP_HQD_PQ_CONTROL */
#define HQD_EOP_RPTR		0x40000000u	/* what these two hold when there is no end-of-pipe ring */
#define HQD_EOP_WPTR		0x007f8000u
#define HQD_STATUS0_WRITTEN	0x40000000u
#define MQD_CONNECT_TIME	(0x58 * 4)	/* cp_mqd_connect_start_time_lo, and what follows it: byte offsets in an MQD */
#define MQD_SAVE_TIME		(0x62 * 4)	/* cp_mqd_save_start_time_lo */
#define MQD_RESTORE_TIME	(0x66 * 4)	/* cp_mqd_restore_start_time_lo */
#define STACK_HEADER		0xc0001000u	/* a PM4 packet without meaning, with one more word: how many dispatches there are */
#define RECORD_MAGIC		0x72737763u	/* "cwsr" */
#define RECORD_HALTED		1u
#define RECORD_MACHINE_CODE	2u
#define WAVE_WAITS		1u

/* A dispatch; sizes are a multiple of eight */
struct saved_dispatch {
	u32 magic;
	u32 flags;
	u64 index;
	u64 signal;
	u64 start_ns;
	u32 workgroups;
	u32 next_wg;
	u32 waves_done;
	u32 lds_bytes;
	u32 groups[2];
	u16 vgprs;
	u16 acc;
	u8 wg_waves;
	u8 last_wg_waves;
	u8 xccs;
	u8 xcc;
	u32 chunk;
	u32 packet_dwords;
	union {
		struct {
			u64 counters;
			u64 flag;
			u64 step_ns;
			u32 steps;
			u32 reserved_steps;
		};
		struct {
			u32 scratch_waves;
			u32 scratch_wave_bytes;
			u32 start[3];
		};
	};
};

/* What the waves of the one that has not launched all of them begin with */
struct saved_launch {
	struct vgpu_kernel_code code;
	struct vgpu_isa_launch launch;
};

/* A wave that executes nothing, before its hardware registers */
struct saved_step {
	u32 step;
	u32 flags;
	u64 left_ns;
	struct vgpu_saved_hwregs r;
};

#define STEP_BYTES		(sizeof(struct saved_step) - sizeof(struct vgpu_saved_hwregs))

/* Where saving or restoring has arrived */
struct cursor {
	u32 as;
	u32 stack_as;
	u64 stack;		/* address of the control stack */
	u32 stack_size;
	u32 stack_offset;
	u32 records_end;
	u64 area;		/* address of the save area */
	u32 area_size;
	u32 area_offset;
	bool stale_stack;
	bool failed;
};

/* A workgroup whose waves are being restored */
struct restored {
	struct vgpu_dispatch *d;
	struct vgpu_group *g;
	u32 workgroup;
	u32 waves;		/* of it that are there; of a workgroup that executes machine code, the number of the next one */
};

static u32 cwsr_hqd(struct vgpu_model *m, const struct vgpu_queue *q, enum vgpu_hqd_reg reg)
{
	return vgpu_hqd_get(m, q->xcc, q->me, q->pipe, q->slot, reg);
}

static struct cursor cwsr_cursor_of(struct vgpu_model *m, const struct vgpu_queue *q)
{
	u64 area = cwsr_hqd(m, q, VGPU_HQD_CTX_SAVE_LO) | (u64)cwsr_hqd(m, q, VGPU_HQD_CTX_SAVE_HI) << 32;
	bool in_area = m->config.asic->stack_in_area;

	return (struct cursor) {
		.as = vgpu_queue_as(q),
		.stack_as = in_area ? vgpu_queue_as(q) : VGPU_AS_KERNEL,
		.stack = in_area ? area : q->mqd + VGPU_PAGE,
		.stack_size = cwsr_hqd(m, q, VGPU_HQD_CNTL_STACK_SIZE),
		.area = area,
		.area_size = cwsr_hqd(m, q, VGPU_HQD_CTX_SAVE_SIZE),
	};
}

static void cwsr_push_word(struct vgpu_model *m, struct cursor *c, u32 word)
{
	if (c->failed || c->stack_offset < c->records_end + sizeof(word)) {
		c->failed = true;
		return;
	}
	c->stack_offset -= sizeof(word);
	if (!c->stale_stack && !vgpu_vm_write32(m, c->stack_as, c->stack + c->stack_offset, word))
		c->failed = true;
}

/* Scratch memory is divided among shader engines. */
static u32 cwsr_scratch_per_se(const struct vgpu_model *m, const struct vgpu_dispatch *d)
{
	return (d->scratch_waves / d->xccs + m->config.se - 1) / m->config.se;
}

/* The word of the control stack that stands for wave @i of a group */
static u32 cwsr_relaunch_word(const struct vgpu_model *m, const struct vgpu_group *g, u32 i,
			      bool resident)
{
	u32 slot = g->wg ? g->wg->wave[i].scratch_slot : VGPU_NO_SLOT;

	if (slot == VGPU_NO_SLOT)
		return resident ? g->simd[i] / m->config.simds_per_cu % m->config.se << VGPU_WAVE_SE_SHIFT : 0;
	slot -= g->d->scratch_waves / g->d->xccs * g->d->xcc;
	return VGPU_WAVE_SCRATCH_EN | slot / cwsr_scratch_per_se(m,
								 g->d) << VGPU_WAVE_SE_SHIFT | slot % cwsr_scratch_per_se(m, g->d);
}

/* Return: false if there is no such part of the scratch memory */
static bool cwsr_scratch_slot_of(const struct vgpu_model *m, const struct vgpu_dispatch *d,
				 u32 word, u32 *slot)
{
	*slot = VGPU_NO_SLOT;
	if (!(word & VGPU_WAVE_SCRATCH_EN))
		return true;
	*slot = d->scratch_waves / d->xccs * d->xcc + VGPU_WAVE_SE(word) * cwsr_scratch_per_se(m, d) + VGPU_WAVE_SCRATCH_ID(word);
	return VGPU_WAVE_SE(word) < m->config.se && VGPU_WAVE_SCRATCH_ID(word) < cwsr_scratch_per_se(m, d) && *slot < VGPU_SCRATCH_SLOTS;
}

/* A wave that executes nothing */
static bool cwsr_save_step(struct vgpu_model *m, const struct cursor *c, u64 va,
			   const struct vgpu_group *g, u32 wave, u64 left_ns)
{
	const struct vgpu_dispatch *d = g->d;
	struct saved_step r = {
		.step = g->step,
		.flags = g->waiting ? WAVE_WAITS : 0,
		.left_ns = left_ns,
		.r.exec = { U32_MAX, U32_MAX },
		.r.status = VGPU_STATUS_VALID | (g->halted ? VGPU_STATUS_HALT : 0),
		.r.trapsts = g->halted ? VGPU_TRAPSTS_MEM_VIOL : 0,
	};
	u32 workgroup[3];

	vgpu_dispatch_workgroup(d, wave / d->wg_waves, workgroup);
	vgpu_isa_ttmps(r.r.ttmp, m->config.asic->gfx942, vgpu_dispatch_slot(d, d->q), workgroup, wave % d->wg_waves);
	return vgpu_vm_write(m, c->as, va + vgpu_saved_hwregs_at(d->vgprs) - STEP_BYTES, &r, sizeof(r));
}

/* Wave @i of a group, the LDS with the first one of a workgroup */
static void cwsr_save_wave(struct vgpu_model *m, struct cursor *c, const struct vgpu_group *g,
			   u32 i, u32 flags, u64 left_ns, bool resident)
{
	const struct vgpu_dispatch *d = g->d;
	u32 lds_bytes = flags & VGPU_WAVE_FIRST ? d->lds_bytes : 0, bytes = vgpu_saved_wave_bytes(d->vgprs, lds_bytes);
	u64 va = c->area + c->area_offset;
	bool ok;

	if (c->area_size - c->area_offset < bytes)
		c->failed = true;
	cwsr_push_word(m, c, cwsr_relaunch_word(m, g, i, resident) | flags);
	if (c->failed)
		return;
	c->area_offset += bytes;
	if (!g->wg)
		ok = cwsr_save_step(m, c, va, g, g->first + i, left_ns);
	else
		ok = vgpu_wave_save(m, c->as, va, d, &g->wg->wave[i]) &&
		     (!lds_bytes || vgpu_vm_write(m, c->as, va + bytes - VGPU_SAVED_GAP_BYTES - lds_bytes, g->wg->lds, lds_bytes));
	c->failed = !ok;
}

static u64 cwsr_left_of_step(struct vgpu_model *m, const struct vgpu_group *g, bool resident)
{
	if (!resident || g->waiting || g->halted)
		return g->left_ns;
	return g->end_ns > m->now_ns ? g->end_ns - m->now_ns : 0;
}

static bool cwsr_is_there(const struct vgpu_group *g, u32 i)
{
	return !g->wg || g->wg->wave[i].state != VGPU_WAVE_ENDED;
}

/* Workgroups and waves from the last to the first: readers begin at the end */
static void cwsr_save_group(struct vgpu_model *m, struct cursor *c, const struct vgpu_group *g,
			    bool resident)
{
	u64 left_ns = cwsr_left_of_step(m, g, resident);
	u32 i = g->waves, n, first, last, flags;

	while (i) {
		first = (i - 1) / g->d->wg_waves * g->d->wg_waves;
		for (n = first; !cwsr_is_there(g, n);)
			n++;
		for (last = i - 1; !cwsr_is_there(g, last);)
			last--;
		for (i = last + 1; i-- > n;) {
			flags = (i == n ? VGPU_WAVE_FIRST : 0) | (i == last ? VGPU_WAVE_LAST : 0);
			if (cwsr_is_there(g, i))
				cwsr_save_wave(m, c, g, i, flags, left_ns, resident);
		}
		i = first;
	}
}

/* Return: was there any? */
static bool cwsr_save_groups(struct vgpu_model *m, struct cursor *c, const struct vgpu_dispatch *d,
			     struct vgpu_list *list, bool resident)
{
	struct vgpu_list *l;
	bool any = false;

	for (l = list->prev; l != list; l = l->prev) {
		const struct vgpu_group *g = container_of(l, struct vgpu_group, link);

		if (g->d != d)
			continue;
		cwsr_save_group(m, c, g, resident);
		any = true;
		if (resident)			/* the others never got their slots back: saved again, counted once */
			m->stats.waves_saved += g->waves;
	}
	return any;
}

/* The waves of a dispatch, and what the control stack says of them */
static void cwsr_save_waves(struct vgpu_model *m, struct cursor *c, struct vgpu_queue *q,
			    const struct vgpu_dispatch *d, u32 number)
{
	bool any = cwsr_save_groups(m, c, d, &q->pending, false);

	any |= cwsr_save_groups(m, c, d, &m->halted, true);
	any |= cwsr_save_groups(m, c, d, &m->waiting, true);
	any |= cwsr_save_groups(m, c, d, &m->groups, true);
	if (any)
		cwsr_push_word(m, c, VGPU_STATE(d->vgprs, d->lds_bytes, d->acc));
	cwsr_push_word(m, c, VGPU_RELAUNCH_EVENT | number);
}

static void cwsr_save_record(struct vgpu_model *m, struct cursor *c, const void *record, u32 bytes)
{
	if (c->records_end + bytes > c->stack_size)
		c->failed = true;
	else if (!c->stale_stack && !vgpu_vm_write(m, c->stack_as, c->stack + c->records_end, record, bytes))
		c->failed = true;
	c->records_end += bytes;
}

static void cwsr_save_dispatches(struct vgpu_model *m, struct cursor *c, const struct vgpu_queue *q)
{
	const struct vgpu_dispatch *head = NULL;
	struct vgpu_list *l;

	for (l = q->inflight.next; l != &q->inflight; l = l->next) {
		const struct vgpu_dispatch *d = container_of(l, struct vgpu_dispatch, link);
		struct saved_dispatch r = {
			.magic = RECORD_MAGIC,
			.flags = (d->halted ? RECORD_HALTED : 0) | (d->machine_code ? RECORD_MACHINE_CODE : 0),
			.index = d->index,
			.signal = d->signal,
			.start_ns = d->start_ns,
			.workgroups = d->workgroups,
			.next_wg = d->next_wg,
			.waves_done = d->waves_done,
			.lds_bytes = d->lds_bytes,
			.groups = { d->groups[0], d->groups[1] },
			.vgprs = (u16)d->vgprs,
			.acc = (u16)d->acc,
			.wg_waves = (u8)d->wg_waves,
			.last_wg_waves = (u8)d->last_wg_waves,
			.xccs = (u8)d->xccs,
			.xcc = (u8)d->xcc,
			.chunk = d->chunk,
			.packet_dwords = d->packet_dwords,
		};

		if (d->machine_code) {
			r.scratch_waves = d->scratch_waves;
			r.scratch_wave_bytes = d->scratch_wave_bytes;
			memcpy(r.start, d->start, sizeof(r.start));
		} else {
			r.counters = d->counters;
			r.flag = d->flag;
			r.step_ns = d->step_ns;
			r.steps = d->steps;
		}
		cwsr_save_record(m, c, &r, sizeof(r));
		if (d->machine_code && d->next_wg < d->workgroups)
			head = d;
	}
	if (head) {
		struct saved_launch r = { .code = head->code, .launch = head->launch };

		cwsr_save_record(m, c, &r, sizeof(r));
	}
}

static void cwsr_write_mqd(struct vgpu_model *m, const struct vgpu_queue *q, enum vgpu_hqd_reg reg,
			   u32 value)
{
	vgpu_hqd_set(m, q->xcc, q->me, q->pipe, q->slot, reg, value);
	vgpu_vm_write32(m, VGPU_AS_KERNEL, q->mqd + HQD_IN_MQD + reg * 4, value);
}

/*
 * All registers of the slot as they are at the end: the process's VMID for the queue and its
 * buffers, a doorbell that has been heard, and on all XCCs but the first one a read pointer that is
 * not to be reported. A request to leave is over then. Active it is for the scheduler only, whose
 * runlist does not read that: a driver that loads these registers one by one, in their order, would
 * have a queue with half of them.
 */
static void cwsr_write_whole_hqd(struct vgpu_model *m, const struct vgpu_queue *q)
{
	u32 written[VGPU_HQD_REGS], reg, value;

	for (reg = 0; reg < VGPU_HQD_REGS; reg++) {
		value = cwsr_hqd(m, q, reg);
		switch (reg) {
		case VGPU_HQD_ACTIVE:
			value = q->from_runlist;
			break;
		case VGPU_HQD_DEQUEUE_REQUEST:
			value = 0;
			break;
		case VGPU_HQD_VMID:
			value = q->vmid | q->vmid << HQD_IB_VMID_SHIFT;
			break;
		case VGPU_HQD_PQ_DOORBELL:
			value |= HQD_DOORBELL_EN | HQD_DOORBELL_SCHD_HIT;
			break;
		case VGPU_HQD_PQ_CONTROL:
			value |= VGPU_PQ_EMPTY | (q->part ? HQD_NO_UPDATE_RPTR : 0);
			break;
		case VGPU_HQD_HQ_STATUS0:
			value |= HQD_STATUS0_WRITTEN;
			break;
		case VGPU_HQD_EOP_RPTR:
			value = HQD_EOP_RPTR;
			break;
		case VGPU_HQD_EOP_WPTR:
			value = HQD_EOP_WPTR;
			break;
		}
		written[reg] = value;
	}
	vgpu_vm_write(m, VGPU_AS_KERNEL, q->mqd + HQD_IN_MQD, written, sizeof(written));
}

/* Device time of moving @bytes of wave state in or out */
u64 vgpu_cwsr_ns(struct vgpu_model *m, u64 bytes)
{
	return bytes ? m->config.trap_ns + bytes * 1000 / m->config.hbm_bytes_per_us : 0;
}

/**
 * vgpu_stamp() - firmware's note of when something began and ended
 * @m: the device
 * @mqd: of a compute queue of a process, on the XCC where it happened
 * @what: happened
 * @start_ns: device time; what is noted is ticks of the reference clock
 * @end_ns: the same, perhaps in the future: nobody is told before then that it is over
 */
void vgpu_stamp(struct vgpu_model *m, u64 mqd, enum vgpu_stamp what, u64 start_ns, u64 end_ns)
{
	static const u32 at[] = {
		[VGPU_STAMP_CONNECT] = MQD_CONNECT_TIME, [VGPU_STAMP_SAVE] = MQD_SAVE_TIME, [VGPU_STAMP_RESTORE] = MQD_RESTORE_TIME,
	};
	u64 ticks[2] = { start_ns / VGPU_REFERENCE_NS, end_ns / VGPU_REFERENCE_NS };

	if (!vgpu_firmware(m, VGPU_FIRMWARE_NO_STAMPS))
		vgpu_vm_write(m, VGPU_AS_KERNEL, mqd + at[what], ticks, sizeof(ticks));
}

/**
 * vgpu_cwsr_saved() - all that vgpu_cwsr_save() has saved since the last call is in memory at
 * @end_ns
 */
void vgpu_cwsr_saved(struct vgpu_model *m, u64 end_ns)
{
	while (m->saving_count)
		vgpu_stamp(m, m->saving[--m->saving_count], VGPU_STAMP_SAVE, m->now_ns, end_ns);
}

/*
 * The waves of a queue are lost: the MQD must not lead to those that were saved at an earlier time.
 */
void vgpu_cwsr_discard(struct vgpu_model *m, struct vgpu_queue *q)
{
	u32 empty = cwsr_hqd(m, q, VGPU_HQD_CNTL_STACK_SIZE);

	cwsr_write_mqd(m, q, VGPU_HQD_CNTL_STACK_OFFSET, empty);
	cwsr_write_mqd(m, q, VGPU_HQD_WG_STATE_OFFSET, empty);
}

/* Words that look like anything, the same ones in each run */
static u32 cwsr_garbage(u32 *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state ^ *state >> 16;
}

/*
 * The driver that loads an MQD takes 2 to the power of this and of one more: UBSAN complains of more
 * than 30.
 */
#define HQD_PQ_SIZE_BEYOND	0x22u

/*
 * All that the MQD says about the queue, except what bounds the control stack: that one lies in the
 * kernel's memory, and hardware that writes where it wants is not what is tested.
 */
static void cwsr_scribble_mqd(struct vgpu_model *m, u64 mqd)
{
	u32 state = (u32)(mqd >> 12), reg, value;

	for (reg = VGPU_HQD_PQ_BASE_LO; reg < VGPU_HQD_REGS; reg++) {
		value = cwsr_garbage(&state);
		if (reg == VGPU_HQD_PQ_CONTROL)
			value &= ~HQD_PQ_SIZE_BEYOND;
		if (reg != VGPU_HQD_CNTL_STACK_SIZE)
			vgpu_vm_write32(m, VGPU_AS_KERNEL, mqd + HQD_IN_MQD + reg * 4, value);
	}
}

/* See vgpu_model.h. */
bool vgpu_model_scribble(struct vgpu_model *m)
{
	if (!m->saved_mqd)
		return false;
	m->stats.faults++;
	cwsr_scribble_mqd(m, m->saved_mqd);
	return true;
}

static void cwsr_scribble_stack(struct vgpu_model *m, const struct vgpu_queue *q,
				const struct cursor *c)
{
	u32 state = q->doorbell, at;

	for (at = c->stack_offset; at < c->stack_size; at += 4)
		vgpu_vm_write32(m, c->stack_as, c->stack + at, cwsr_garbage(&state));
}

/*
 * Nothing is in flight, and the offsets stay what they were when something was: a header without
 * dispatches is what tells the one who maps the queue. Return: false if that cannot be, and the
 * offsets say it.
 */
static bool cwsr_keep_offsets(struct vgpu_model *m, const struct vgpu_queue *q, const struct cursor *c)
{
	u32 offset = cwsr_hqd(m, q, VGPU_HQD_CNTL_STACK_OFFSET), header[2] = { STACK_HEADER, 0 };

	return vgpu_firmware(m, VGPU_FIRMWARE_STACK_OFFSET_KEPT) && offset % 4 == 0 &&
	       offset + sizeof(header) <= cwsr_hqd(m, q, VGPU_HQD_CNTL_STACK_SIZE) &&
	       vgpu_vm_write(m, c->stack_as, c->stack + offset, header, sizeof(header));
}

/**
 * vgpu_cwsr_save() - write the state of a queue to memory, at dequeue
 * @m: the device
 * @q: a compute queue of a process; the caller frees it and its waves afterwards, and calls
 *	vgpu_cwsr_saved()
 *
 * Return: bytes of resident state that were saved.
 */
u64 vgpu_cwsr_save(struct vgpu_model *m, struct vgpu_queue *q)
{
	struct cursor c = cwsr_cursor_of(m, q);
	bool busy = q->waves || !vgpu_list_empty(&q->pending);
	struct vgpu_list *l;
	u64 bytes, wptr;
	u32 i;

	vgpu_ring_unread(m, q);
	c.stack_offset = c.stack_size;
	c.area_offset = c.stack_size;
	c.stale_stack = busy && vgpu_fault(m, VGPU_FAULT_STALE_CTL_STACK);
	cwsr_save_dispatches(m, &c, q);
	for (l = q->inflight.prev, i = q->inflight_count; l != &q->inflight; l = l->prev)
		cwsr_save_waves(m, &c, q, container_of(l, struct vgpu_dispatch, link), --i);
	if (q->inflight_count) {
		cwsr_push_word(m, &c, q->inflight_count);
		cwsr_push_word(m, &c, STACK_HEADER);
	}
	if (c.failed)
		vgpu_err("save area of queue %#x (pasid %u) is too small or not mapped: %u of %u, stack %u of %u", q->doorbell,
			 q->pasid, c.area_offset, c.area_size, c.stack_size - c.stack_offset, c.stack_size);
	wptr = q->kind == VGPU_QUEUE_AQL ? q->wptr * 16 : q->wptr;
	if (!busy || !vgpu_fault(m, VGPU_FAULT_STALE_MQD)) {
		if (q->inflight_count && m->saving_count < ARRAY_SIZE(m->saving))
			m->saving[m->saving_count++] = q->mqd;
		if (vgpu_firmware(m, VGPU_FIRMWARE_WHOLE_HQD_WRITEBACK))
			cwsr_write_whole_hqd(m, q);
		cwsr_write_mqd(m, q, VGPU_HQD_PQ_RPTR, vgpu_queue_rptr_dwords(q));
		cwsr_write_mqd(m, q, VGPU_HQD_PQ_WPTR_LO, (u32)wptr);
		cwsr_write_mqd(m, q, VGPU_HQD_PQ_WPTR_HI, (u32)(wptr >> 32));
		cwsr_write_mqd(m, q, VGPU_HQD_ERROR, cwsr_hqd(m, q, VGPU_HQD_ERROR));
		if (q->inflight_count || !cwsr_keep_offsets(m, q, &c)) {
			cwsr_write_mqd(m, q, VGPU_HQD_CNTL_STACK_OFFSET, c.stack_offset);
			cwsr_write_mqd(m, q, VGPU_HQD_WG_STATE_OFFSET, c.area_offset);
		}
		vgpu_mqd_save(m, q);
	}
	m->saved_before = m->saved_mqd;
	m->saved_mqd = q->mqd;
	if (busy && vgpu_fault(m, VGPU_FAULT_MQD_GARBAGE))
		cwsr_scribble_mqd(m, q->mqd);
	if (c.stack_offset < c.stack_size && vgpu_fault(m, VGPU_FAULT_CTL_STACK_GARBAGE))
		cwsr_scribble_stack(m, q, &c);

	bytes = (c.stack_size - c.stack_offset) + (c.area_offset - c.stack_size);
	if (bytes)
		m->stats.cwsr_saves++;
	m->stats.saved_bytes += bytes;
	return bytes;
}

static bool cwsr_bad_dispatch(struct vgpu_model *m, const struct saved_dispatch *r)
{
	if (r->magic != RECORD_MAGIC || !r->xccs || r->xccs > VGPU_MAX_XCCS || r->xcc >= r->xccs || !r->chunk || !r->workgroups ||
	    !r->groups[0] || !r->groups[1] || !r->wg_waves || r->wg_waves > VGPU_MAX_WG_WAVES || !r->last_wg_waves ||
	    r->last_wg_waves > r->wg_waves || r->packet_dwords > VGPU_DISPATCH_DWORDS || !r->vgprs || r->vgprs % 8 || r->acc % 4 ||
	    r->lds_bytes % 512 || !vgpu_dispatch_fits(m, r->wg_waves, r->vgprs, r->lds_bytes))
		return true;
	return !(r->flags & RECORD_MACHINE_CODE) && !r->steps;
}

static bool cwsr_bad_launch(const struct saved_launch *r, const struct vgpu_dispatch *d)
{
	u32 i;

	for (i = 0; i < 3; i++)
		if (!r->launch.workgroup[i] || !r->launch.grid[i])
			return true;
	return vgpu_isa_vgpr_count(&r->code) > d->vgprs || r->launch.user_sgprs > VGPU_USER_SGPRS;
}

/* Return: NULL if that is no record of a dispatch. Its launch is at @launch, if it needs one. */
static struct vgpu_dispatch *cwsr_restore_dispatch(struct vgpu_model *m, struct vgpu_queue *q,
						   const struct cursor *c, const struct saved_dispatch *r, u64 launch)
{
	struct saved_launch l;
	struct vgpu_dispatch *d;

	if (cwsr_bad_dispatch(m, r))
		return NULL;
	d = vgpu_zalloc(sizeof(*d));
	if (!d)
		return NULL;
	d->q = q;
	d->halted = r->flags & RECORD_HALTED;
	d->machine_code = r->flags & RECORD_MACHINE_CODE;
	d->index = r->index;
	d->signal = r->signal;
	d->start_ns = r->start_ns;
	d->workgroups = r->workgroups;
	d->next_wg = r->next_wg;
	d->waves_done = r->waves_done;
	d->lds_bytes = r->lds_bytes;
	d->groups[0] = r->groups[0];
	d->groups[1] = r->groups[1];
	d->vgprs = r->vgprs;
	d->acc = r->acc;
	d->wg_waves = r->wg_waves;
	d->last_wg_waves = r->last_wg_waves;
	d->xccs = r->xccs;
	d->xcc = r->xcc;
	d->chunk = r->chunk;
	d->packet_dwords = r->packet_dwords;
	if (d->machine_code) {
		d->steps = 1;
		d->scratch_waves = r->scratch_waves;
		d->scratch_wave_bytes = r->scratch_wave_bytes;
		memcpy(d->start, r->start, sizeof(d->start));
	} else {
		d->counters = r->counters;
		d->flag = r->flag;
		d->step_ns = r->step_ns;
		d->steps = r->steps;
	}
	if (d->machine_code && d->next_wg < d->workgroups) {
		if (!vgpu_vm_read(m, c->stack_as, launch, &l, sizeof(l)) ||
		    cwsr_bad_launch(&l, d)) {
			vgpu_free(d);
			return NULL;
		}
		d->code = l.code;
		d->launch = l.launch;
	}
	vgpu_list_add(&d->link, &q->inflight);
	q->inflight_count++;
	if ((d->index == q->rptr || d->index == VGPU_NO_INDEX) && d->next_wg < d->workgroups)
		q->head = d;
	return d;
}

/* Memory says something that was never saved */
static void cwsr_bad_record(struct vgpu_model *m, const struct vgpu_queue *q, u32 word)
{
	if (!m->stats.bad_records++)
		vgpu_err("bad control stack of queue %#x (pasid %u): %#x", q->doorbell, q->pasid, word);
}

static struct vgpu_group *cwsr_new_group(struct vgpu_model *m, const struct restored *w)
{
	struct vgpu_dispatch *d = w->d;
	struct vgpu_group *g = vgpu_group_get(m);
	u32 i;

	if (!g)
		return NULL;
	g->d = d;
	g->first = w->workgroup * d->wg_waves;
	g->waves = vgpu_dispatch_waves_of(d, w->workgroup);
	g->step = 0;
	g->left_ns = 0;
	g->waiting = false;
	g->halted = false;
	g->wg = NULL;
	if (!d->machine_code)
		return g;
	g->wg = vgpu_workgroup_alloc(m, d, g->waves);
	if (!g->wg) {
		vgpu_group_put(m, g);
		return NULL;
	}
	for (i = 0; i < g->waves; i++)
		g->wg->wave[i].state = VGPU_WAVE_ENDED;
	return g;
}

/* What began with a first wave and has no last one */
static void cwsr_drop_incomplete(struct vgpu_model *m, const struct vgpu_queue *q,
				 struct restored *w)
{
	if (!w->g)
		return;
	cwsr_bad_record(m, q, w->workgroup);
	vgpu_group_put(m, w->g);
	w->g = NULL;
}

/* A workgroup is complete: neighbours in the same state become one group, as they were. */
static void cwsr_add_workgroup(struct vgpu_model *m, struct vgpu_queue *q, struct restored *w)
{
	struct vgpu_group *g = w->g, *last;

	w->g = NULL;
	if (!g->wg && !vgpu_list_empty(&q->pending)) {
		last = container_of(q->pending.prev, struct vgpu_group, link);
		if (!last->wg && last->d == g->d && last->first + last->waves == g->first && last->step == g->step &&
		    last->left_ns == g->left_ns && last->waiting == g->waiting && last->halted == g->halted) {
			last->waves += g->waves;
			vgpu_group_put(m, g);
			return;
		}
	}
	vgpu_list_add(&g->link, &q->pending);
}

/* Reads wave @i of w->g, all of whose state is at @va. */
static bool cwsr_restore_registers(struct vgpu_model *m, const struct cursor *c, u64 va, u32 word,
				   struct restored *w, u32 i,
				   const struct saved_step *s)
{
	struct vgpu_dispatch *d = w->d;
	u64 lds = va + vgpu_saved_hwregs_at(d->vgprs) + sizeof(s->r);
	struct vgpu_group *g = w->g;
	u32 slot;

	if (d->machine_code) {
		if ((word & VGPU_WAVE_FIRST) && d->lds_bytes && !vgpu_vm_read(m, c->as, lds, g->wg->lds, d->lds_bytes))
			return false;
		if (!cwsr_scratch_slot_of(m, d, word, &slot))
			return false;
		if (slot != VGPU_NO_SLOT) {
			if (d->q->scratch_used[slot / 64] >> slot % 64 & 1)
				return false;
			d->q->scratch_used[slot / 64] |= 1ULL << slot % 64;
			g->wg->wave[i].scratch_slot = slot;
		}
		if (!vgpu_wave_restore(m, c->as, va, d, &s->r, &g->wg->wave[i]))
			return false;
	} else if (word & VGPU_WAVE_FIRST) {
		g->step = s->step;
		g->left_ns = s->left_ns;
		g->waiting = s->flags & WAVE_WAITS;
		if (g->step >= d->steps)
			return false;
	} else if (g->step != s->step || g->left_ns != s->left_ns) {
		return false;
	}
	g->halted |= (s->r.status & (VGPU_STATUS_HALT | VGPU_STATUS_PRIV)) == VGPU_STATUS_HALT;
	return true;
}

/* Return: false if what is at @va is not the wave that the control stack says it is */
static bool cwsr_restore_wave(struct vgpu_model *m, struct vgpu_queue *q, const struct cursor *c,
			      u64 va, u32 word, struct restored *w)
{
	struct vgpu_dispatch *d = w->d;
	struct saved_step s;
	u32 workgroup, i;

	if (!vgpu_vm_read(m, c->as, va + vgpu_saved_hwregs_at(d->vgprs) - STEP_BYTES, &s, sizeof(s)) ||
	    !vgpu_dispatch_own_workgroup(d, s.r.ttmp + VGPU_TTMP_WORKGROUP, &workgroup))
		return false;
	i = s.r.ttmp[VGPU_TTMP_WAVE] & VGPU_TTMP_WAVE_MASK;
	if (word & VGPU_WAVE_FIRST) {
		cwsr_drop_incomplete(m, q, w);
		w->workgroup = workgroup;
		w->waves = 0;
		w->g = cwsr_new_group(m, w);
	}
	if (!w->g || w->workgroup != workgroup || i < w->waves || i >= w->g->waves || (!d->machine_code && i > w->waves) ||
	    !cwsr_restore_registers(m, c, va, word, w, i, &s))
		return false;
	w->waves = i + 1;
	if (word & VGPU_WAVE_LAST) {
		if (!d->machine_code && w->waves < w->g->waves)
			return false;
		cwsr_add_workgroup(m, q, w);
	}
	return true;
}

/*
 * The dispatches, in order. Return: how many, 0 if the control stack says nothing that makes sense.
 */
static u32 cwsr_restore_dispatches(struct vgpu_model *m, struct vgpu_queue *q,
				   const struct cursor *c,
				   struct vgpu_dispatch *dispatch[VGPU_MAX_INFLIGHT])
{
	struct saved_dispatch r;
	u32 header[2], i;

	if (!vgpu_vm_read(m, c->stack_as, c->stack + c->stack_offset, header, sizeof(header)))
		return 0;
	if (header[0] != STACK_HEADER || !header[1] || header[1] > VGPU_MAX_INFLIGHT || header[1] * sizeof(r) > c->stack_offset) {
		cwsr_bad_record(m, q, header[0]);
		return 0;
	}
	for (i = 0; i < header[1]; i++) {
		dispatch[i] = NULL;
		if (vgpu_vm_read(m, c->stack_as, c->stack + i * sizeof(r), &r, sizeof(r)))
			dispatch[i] = cwsr_restore_dispatch(m, q, c, &r, c->stack +
							    header[1] * sizeof(r));
		if (!dispatch[i])
			cwsr_bad_record(m, q, VGPU_RELAUNCH_EVENT | i);
	}
	return header[1];
}

static void cwsr_restore_waves(struct vgpu_model *m, struct vgpu_queue *q, const struct cursor *c)
{
	u32 at = c->stack_offset + VGPU_STACK_HEADER_BYTES, area = c->area_offset, state = 0, count, number, bytes, word;
	struct vgpu_dispatch *dispatch[VGPU_MAX_INFLIGHT];
	struct restored w = { NULL };

	count = cwsr_restore_dispatches(m, q, c, dispatch);
	for (; count && at + sizeof(word) <= c->stack_size; at += sizeof(word)) {
		if (!vgpu_vm_read(m, c->stack_as, c->stack + at, &word, sizeof(word)))
			break;
		if (word & (VGPU_RELAUNCH_EVENT | VGPU_RELAUNCH_STATE))
			cwsr_drop_incomplete(m, q, &w);
		if (word & VGPU_RELAUNCH_EVENT) {
			number = word & ~VGPU_RELAUNCH_EVENT;
			w.d = number < count ? dispatch[number] : NULL;
			state = 0;
			continue;
		}
		if (word & VGPU_RELAUNCH_STATE) {
			state = word;
			if (w.d && state != VGPU_STATE(w.d->vgprs, w.d->lds_bytes, w.d->acc))
				w.d = NULL;
			continue;
		}
		bytes = vgpu_saved_wave_bytes(VGPU_STATE_VGPRS(state), word & VGPU_WAVE_FIRST ? VGPU_STATE_LDS_BYTES(state) : 0);
		if (!state || area - c->stack_size < bytes) {
			cwsr_bad_record(m, q, word);
			break;
		}
		area -= bytes;
		if (!w.d || !cwsr_restore_wave(m, q, c, c->area + area, word, &w)) {
			cwsr_bad_record(m, q, word);
			cwsr_drop_incomplete(m, q, &w);
		}
	}
	cwsr_drop_incomplete(m, q, &w);
	if (count && area != c->stack_size)
		cwsr_bad_record(m, q, area);
}

/* Offsets that were kept: see cwsr_keep_offsets(). */
static bool cwsr_nothing_saved(struct vgpu_model *m, const struct cursor *c)
{
	u32 header[2];

	return vgpu_firmware(m, VGPU_FIRMWARE_STACK_OFFSET_KEPT) && c->stack_size - c->stack_offset >= sizeof(header) &&
	       vgpu_vm_read(m, c->stack_as, c->stack + c->stack_offset, header, sizeof(header)) &&
	       header[0] == STACK_HEADER && !header[1];
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
	struct cursor c = cwsr_cursor_of(m, q);

	if (m->saved_before == q->mqd)
		m->saved_before = 0;
	if (m->saved_mqd == q->mqd) {
		m->saved_mqd = m->saved_before;
		m->saved_before = 0;
	}
	c.stack_offset = cwsr_hqd(m, q, VGPU_HQD_CNTL_STACK_OFFSET);
	c.area_offset = cwsr_hqd(m, q, VGPU_HQD_WG_STATE_OFFSET);
	if (!c.stack_size || c.stack_offset % 4 || c.stack_offset >= c.stack_size || c.area_offset < c.stack_size ||
	    c.area_offset > c.area_size || cwsr_nothing_saved(m, &c))
		return 0;
	cwsr_restore_waves(m, q, &c);
	m->stats.cwsr_restores++;
	m->place = true;
	return (c.stack_size - c.stack_offset) + (c.area_offset - c.stack_size);
}

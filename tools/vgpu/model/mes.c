// SPDX-License-Identifier: MIT
/*
 * mes.c - MES, the scheduler of gfx11: what the frames in its ring ask for
 *
 * A frame has 64 dwords, and says where its fence is to be written when it has been carried out.
 * What fails gets no fence, and MES goes on with the next frame; so the driver, which sends
 * QUERY_SCHEDULER_STATUS behind each frame, learns of it at once. Numbers are those of the driver's
 * mes_v11_api_def.h, which is packed to four bytes.
 *
 * Queues come and go one by one. They are in the list that a HIQ's runlist fills on other devices
 * (hws.c), and go round in the same way if there is no room for all of them at the same time: how
 * firmware chooses is published nowhere.
 */
#include "model.h"

#define FRAME_DWORDS		64u
#define FRAME_KIND(h)		((h) & 0xf)
#define FRAME_OP(h)		((h) >> 4 & 0xff)
#define FRAME_LENGTH(h)		((h) >> 12 & 0xff)
#define TYPE_SCHEDULER		1
#define QUANTUM_NS		100u		/* unit of quanta in frames */
#define NS_OF_QUANTUM		1000000u	/* as amdkfd counts with a HIQ */
#define PIPES_IN_MASK		4u		/* of those in SET_HW_RSRC that there are */
#define ALL_GANGS		1u		/* of SUSPEND and RESUME */
#define PT_VALID		1u		/* of PAGE_TABLE_BASE; frames have it or not */

enum {
	SET_HW_RSRC	= 0,
	ADD_QUEUE	= 2,
	REMOVE_QUEUE	= 3,
	SUSPEND		= 6,
	RESUME		= 7,
	RESET		= 8,
	QUERY_STATUS	= 11,
	MISC		= 14,
	SET_HW_RSRC_1	= 19,
};

enum {
	MISC_WRITE_REG	= 0,
	MISC_INV_GART	= 1,
	MISC_QUERY	= 2,
	MISC_READ_REG	= 3,
	MISC_WAIT_REG	= 4,
	MISC_DEBUGGER	= 5,
};

enum {
	TYPE_GFX	= 0,
	TYPE_COMPUTE	= 1,
	TYPE_SDMA	= 2,
};

/* Dwords of frames. Addresses have two. */
#define RSRC_VMIDS		2
#define RSRC_COMPUTE		5		/* + pipe: queues of MEC1 */
#define RSRC_GFX		13		/* + pipe */
#define ADD_PASID		1
#define ADD_PAGE_TABLE		2
#define ADD_QUANTUM		8
#define ADD_GANG		14
#define ADD_DOORBELL		18		/* in dwords, as everywhere in frames */
#define ADD_MQD			19
#define ADD_WPTR		21		/* address in the kernel's address space */
#define ADD_TYPE		27
#define ADD_FLAGS		36
#define ADD_TMA			41
#define ADD_PIPE		48		/* and queue: of the kernel's rings */
#define ADD_LEGACY		(1u << 13)
#define ADD_EXCLUSIVE		(1u << 14)	/* one process at a time: amdkfd's word for GWS */
#define REMOVE_DOORBELL		1
#define REMOVE_FLAGS		4
#define REMOVE_PIPE		9
#define REMOVE_TYPE		14
#define REMOVE_LEGACY		(1u << 3)
#define GANG_FLAGS		1		/* of SUSPEND, RESUME and RESET */
#define GANG			2
#define SUSPEND_FENCE		4		/* and value */
#define RESET_QUEUE_ONLY	1u
#define RESET_DOORBELL		4
#define MISC_OPCODE		1
#define MISC_DATA		6

/* What becomes of a frame */
enum outcome {
	DONE,
	WAITS,			/* it is looked at again */
	FAILS,			/* no fence */
};

static u64 mes_addr(const u32 *f)
{
	return f[0] | (u64)f[1] << 32;
}

/* Where a frame has the address and value of its fence; 0: there is no such frame */
static u32 mes_status_at(u32 opcode)
{
	static const u8 at[] = {
		[SET_HW_RSRC] = 50, [ADD_QUEUE] = 37, [REMOVE_QUEUE] = 5, [SUSPEND] = 7, [RESUME] = 4, [RESET] = 24,
		[QUERY_STATUS] = 2, [MISC] = 2, [SET_HW_RSRC_1] = 1,
	};

	return opcode < ARRAY_SIZE(at) ? at[opcode] : 0;
}

static void mes_busy_for(struct vgpu_model *m, struct vgpu_queue *mes, u64 ns)
{
	mes->busy_until_ns = m->now_ns + ns;
}

static void mes_set_resources(struct vgpu_model *m, const struct vgpu_queue *mes, const u32 *f)
{
	u64 compute = 0;
	u32 pipe;

	for (pipe = 0; pipe < PIPES_IN_MASK; pipe++)
		compute |= (u64)(f[RSRC_COMPUTE + pipe] & 0xff) << pipe * VGPU_QUEUES;
	vgpu_hws_set_resources(m, mes->xcc, f[RSRC_VMIDS] & 0xfffe, compute);
	m->xcc[mes->xcc].gfx_queue_mask = f[RSRC_GFX] & 0xff;
	m->xcc[mes->xcc].runlist.chained = true;
}

/* The kernel's rings have slots of their own. Return: NULL if none is there */
static struct vgpu_queue *mes_legacy_queue(struct vgpu_model *m, u32 type, const u32 *pipe_and_queue)
{
	u32 me = type == TYPE_GFX ? VGPU_ME_GFX : VGPU_ME_COMPUTE;
	struct vgpu_list *l;

	for (l = m->queues.next; l != &m->queues; l = l->next) {
		struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		if (q->kind == VGPU_QUEUE_PM4 && !q->from_runlist && q->me == me && q->pipe == pipe_and_queue[0] &&
		    q->slot == pipe_and_queue[1])
			return q;
	}
	return NULL;
}

static enum outcome mes_add_legacy(struct vgpu_model *m, struct vgpu_queue *mes, const u32 *f)
{
	const struct vgpu_map_request request = {
		.xcc = mes->xcc,
		.me = f[ADD_TYPE] == TYPE_GFX ? VGPU_ME_GFX : VGPU_ME_COMPUTE,
		.pipe = (u8)f[ADD_PIPE],
		.slot = (u8)f[ADD_PIPE + 1],
		.mqd = mes_addr(f + ADD_MQD),
		.wptr_addr = mes_addr(f + ADD_WPTR),
		.doorbell = f[ADD_DOORBELL] * 4,
	};

	if (f[ADD_TYPE] > TYPE_COMPUTE || f[ADD_PIPE] >= VGPU_PIPES || f[ADD_PIPE + 1] >= VGPU_QUEUES)
		return FAILS;
	mes_busy_for(m, mes, m->config.connect_ns);
	return vgpu_queue_map(m, &request) ? DONE : FAILS;
}

/* The number of a process in the list, where it stays while MES has queues of it */
static u32 mes_process(struct vgpu_runlist *rl, u32 pasid)
{
	u32 i, e, free = rl->processes;

	for (i = 0; i < rl->processes; i++) {
		for (e = 0; e < rl->entries && rl->entry[e].process != i; e++)
			;
		if (e == rl->entries)
			free = i;
		else if (rl->process[i].pasid == pasid)
			return i;
	}
	if (free == VGPU_RL_PROCESSES)
		return free;
	rl->process[free] = (struct vgpu_rl_process) { .pasid = (u16)pasid };
	if (free == rl->processes)
		rl->processes++;
	return free;
}

static enum outcome mes_add(struct vgpu_model *m, struct vgpu_queue *mes, const u32 *f)
{
	struct vgpu_runlist *rl = &m->xcc[mes->xcc].runlist;
	u64 quantum = mes_addr(f + ADD_QUANTUM) * QUANTUM_NS / NS_OF_QUANTUM, tma = mes_addr(f + ADD_TMA) >> 8;
	struct vgpu_rl_process *p;
	u32 process;

	if (f[ADD_FLAGS] & ADD_LEGACY)
		return mes_add_legacy(m, mes, f);
	process = f[ADD_TYPE] <= TYPE_SDMA ? mes_process(rl, f[ADD_PASID]) : VGPU_RL_PROCESSES;
	if (rl->entries == VGPU_RL_ENTRIES || process == VGPU_RL_PROCESSES)
		return FAILS;
	p = &rl->process[process];
	p->pt_base = mes_addr(f + ADD_PAGE_TABLE) | PT_VALID;
	p->quantum = quantum < 0xff ? (u8)quantum : 0xff;
	p->tma[0] = (u32)tma;
	p->tma[1] = (u32)(tma >> 32);
	rl->entry[rl->entries++] = (struct vgpu_rl_entry) {
		.process = process,
		.is_queue = true,
		.sdma = f[ADD_TYPE] == TYPE_SDMA,
		.gfx = f[ADD_TYPE] == TYPE_GFX,
		.gws = f[ADD_FLAGS] & ADD_EXCLUSIVE,
		.gang = mes_addr(f + ADD_GANG),
		.mqd = mes_addr(f + ADD_MQD),
		.wptr_addr = mes_addr(f + ADD_WPTR),
		.doorbell = f[ADD_DOORBELL] * 4,
	};
	rl->queues = rl->entries;
	m->stats.mes_adds++;
	mes->busy_until_ns = vgpu_hws_map_list(m, mes->xcc, m->now_ns);
	return DONE;
}

/* Which queues a frame is about: those of a gang, or one by its doorbell */
struct which {
	u64 gang;
	u32 doorbell;
	bool all;
	bool by_doorbell;
};

static bool mes_is_meant(const struct vgpu_rl_entry *e, const struct which *which)
{
	return which->all || (which->by_doorbell ? e->doorbell == which->doorbell : e->gang == which->gang);
}

/* An entry leaves the list, and the place where the next turn begins stays what it is. */
static void mes_forget(struct vgpu_runlist *rl, u32 entry)
{
	rl->entries--;
	memmove(&rl->entry[entry], &rl->entry[entry + 1], (rl->entries - entry) * sizeof(rl->entry[0]));
	rl->pos -= entry < rl->pos;
	if (rl->pos >= rl->entries)
		rl->pos = 0;
	rl->queues = rl->entries;
}

/*
 * Takes queues off the device and out of the list; others have their room. Those of which the
 * waves do not let themselves be saved stay. @ns: what it takes
 */
static enum outcome mes_remove_queues(struct vgpu_model *m, u32 xcc, const struct which *which, bool save, u64 *ns)
{
	struct vgpu_runlist *rl = &m->xcc[xcc].runlist;
	enum outcome outcome = FAILS;
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < rl->entries;) {
		if (!mes_is_meant(&rl->entry[i], which)) {
			i++;
			continue;
		}
		if (!vgpu_hws_take_off(m, xcc, &rl->entry[i], save, &bytes, ns))
			return FAILS;
		mes_forget(rl, i);
		outcome = DONE;
	}
	*ns += vgpu_cwsr_ns(m, bytes);
	vgpu_cwsr_saved(m, m->now_ns + *ns);
	vgpu_hws_map_list(m, xcc, m->now_ns + *ns);
	return outcome;
}

static enum outcome mes_remove(struct vgpu_model *m, struct vgpu_queue *mes, const u32 *f)
{
	const struct which which = { .doorbell = f[REMOVE_DOORBELL] * 4, .by_doorbell = true };
	u64 ns = m->config.runlist_ns, waves = m->stats.waves_saved, asked = m->ops->now_ns(m->ctx);
	struct vgpu_queue *q;
	enum outcome outcome;

	if (f[REMOVE_FLAGS] & REMOVE_LEGACY) {
		q = mes_legacy_queue(m, f[REMOVE_TYPE], f + REMOVE_PIPE);
		if (!q)
			return FAILS;
		vgpu_queue_unmap(m, q, false);
		mes_busy_for(m, mes, ns);
		return DONE;
	}
	m->stats.mes_removes++;
	outcome = mes_remove_queues(m, mes->xcc, &which, true, &ns);
	mes_busy_for(m, mes, ns);
	if (m->stats.waves_saved != waves)
		mes->save_asked_ns = asked;
	return outcome;
}

/* Their waves are killed. The driver adds what it wants to have again. */
static enum outcome mes_reset(struct vgpu_model *m, struct vgpu_queue *mes, const u32 *f)
{
	const struct which which = {
		.gang = mes_addr(f + GANG),
		.doorbell = f[RESET_DOORBELL] * 4,
		.by_doorbell = f[GANG_FLAGS] & RESET_QUEUE_ONLY,
	};
	u64 ns = m->config.runlist_ns;
	enum outcome outcome = mes_remove_queues(m, mes->xcc, &which, false, &ns);

	m->stats.queue_resets += outcome == DONE;
	mes_busy_for(m, mes, ns);
	return outcome;
}

static bool mes_fence_later(struct vgpu_model *m, u64 at_ns, u64 addr, u64 value)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(m->mes.fence) && m->mes.fence[i].at_ns; i++)
		;
	if (i == ARRAY_SIZE(m->mes.fence))
		return false;
	m->mes.fence[i].at_ns = at_ns;
	m->mes.fence[i].addr = addr;
	m->mes.fence[i].value = value;
	return true;
}

/*
 * With a fence of its own, SUSPEND is answered when it has begun, and that fence tells when all is
 * saved.
 */
static enum outcome mes_suspend(struct vgpu_model *m, struct vgpu_queue *mes, const u32 *f)
{
	const struct which which = { .gang = mes_addr(f + GANG), .all = f[GANG_FLAGS] & ALL_GANGS };
	struct vgpu_runlist *rl = &m->xcc[mes->xcc].runlist;
	u64 bytes = 0, ns = m->config.runlist_ns, fence = mes_addr(f + SUSPEND_FENCE);
	bool early = vgpu_firmware(m, VGPU_FIRMWARE_EARLY_SUSPEND_FENCE);
	u32 i, found = 0;

	for (i = 0; i < rl->entries; i++) {
		if (!mes_is_meant(&rl->entry[i], &which))
			continue;
		if (!vgpu_hws_take_off(m, mes->xcc, &rl->entry[i], true, &bytes, &ns))
			return FAILS;
		if (!rl->entry[i].suspended)
			rl->entry[i].suspended = which.all ? VGPU_SUSPENDED_WITH_ALL : VGPU_SUSPENDED;
		found++;
	}
	if (!found && !which.all)
		return FAILS;
	mes_busy_for(m, mes, ns);
	ns += vgpu_cwsr_ns(m, bytes);
	vgpu_cwsr_saved(m, m->now_ns + ns);
	m->mes.saved_ns = m->now_ns + ns;
	vgpu_hws_map_list(m, mes->xcc, m->mes.saved_ns);
	if (!fence)
		mes_busy_for(m, mes, ns);
	else if (!mes_fence_later(m, early ? mes->busy_until_ns : m->mes.saved_ns, fence, f[SUSPEND_FENCE + 2]))
		return FAILS;
	return DONE;
}

static enum outcome mes_resume(struct vgpu_model *m, struct vgpu_queue *mes, const u32 *f)
{
	const struct which which = { .gang = mes_addr(f + GANG), .all = f[GANG_FLAGS] & ALL_GANGS };
	struct vgpu_runlist *rl = &m->xcc[mes->xcc].runlist;
	bool every = !which.all || vgpu_firmware(m, VGPU_FIRMWARE_RESUME_ALL_RESUMES);
	u32 i, found = 0;

	for (i = 0; i < rl->entries; i++) {
		struct vgpu_rl_entry *e = &rl->entry[i];

		if (!mes_is_meant(e, &which))
			continue;
		if (every || e->suspended == VGPU_SUSPENDED_WITH_ALL)
			e->suspended = VGPU_NOT_SUSPENDED;
		found++;
	}
	if (!found && !which.all)
		return FAILS;
	mes->busy_until_ns = vgpu_hws_map_list(m, mes->xcc, m->mes.saved_ns > m->now_ns ? m->mes.saved_ns : m->now_ns);
	return DONE;
}

/* Write the first register, if there are two, and wait for the other one */
static enum outcome mes_wait_register(struct vgpu_model *m, const u32 *d)
{
	u32 reference = d[1], mask = d[2];
	bool writes = d[0] == 1;

	if (d[0] > 1)
		return FAILS;
	if (!writes)
		return (vgpu_model_reg_read(m, d[3]) & mask) == reference ? DONE : WAITS;
	vgpu_model_reg_write(m, d[3], reference);
	return (vgpu_model_reg_read(m, d[4]) & mask) == mask ? DONE : WAITS;
}

static enum outcome mes_misc(struct vgpu_model *m, const u32 *f)
{
	const u32 *d = f + MISC_DATA;

	switch (f[MISC_OPCODE]) {
	case MISC_WRITE_REG:
		vgpu_model_reg_write(m, d[0], d[1]);
		return DONE;
	case MISC_READ_REG:
		return vgpu_vm_write32(m, VGPU_AS_KERNEL, mes_addr(d + 1), vgpu_model_reg_read(m, d[0])) ? DONE : FAILS;
	case MISC_WAIT_REG:
		return mes_wait_register(m, d);
	case MISC_INV_GART:
		vgpu_tlb_invalidate(m, VGPU_HUB_GFX, 1);
		return DONE;
	case MISC_QUERY:
	case MISC_DEBUGGER:		/* there are no shader cores that it could set */
		return DONE;
	default:
		return FAILS;
	}
}

static enum outcome mes_execute(struct vgpu_model *m, struct vgpu_queue *mes, const u32 *f)
{
	switch (FRAME_OP(f[0])) {
	case SET_HW_RSRC:
		mes_set_resources(m, mes, f);
		return DONE;
	case ADD_QUEUE:
		return mes_add(m, mes, f);
	case REMOVE_QUEUE:
		if (!(f[REMOVE_FLAGS] & REMOVE_LEGACY) && vgpu_fault(m, VGPU_FAULT_MES_REMOVE_FAILS))
			return FAILS;
		return mes_remove(m, mes, f);
	case SUSPEND:
		return mes_suspend(m, mes, f);
	case RESUME:
		return mes_resume(m, mes, f);
	case RESET:
		return mes_reset(m, mes, f);
	case MISC:
		return mes_misc(m, f);
	default:
		return DONE;
	}
}

/* The frame at the head; false if it is not complete */
static bool mes_read(struct vgpu_model *m, struct vgpu_queue *mes, u32 *f)
{
	const struct vgpu_stream s = {
		.as = vgpu_queue_as(mes),
		.base = mes->ring,
		.mask = mes->ring_bytes / 4 - 1,
		.pos = mes->rptr,
		.end = mes->wptr,
	};

	if (mes->wptr - mes->rptr < FRAME_DWORDS)
		return false;
	if (vgpu_stream_read(m, &s, 0, f, FRAME_DWORDS) && FRAME_KIND(f[0]) == TYPE_SCHEDULER && FRAME_LENGTH(f[0]) == FRAME_DWORDS &&
	    mes_status_at(FRAME_OP(f[0])))
		return true;
	vgpu_queue_error(m, mes, VGPU_EC_NONE, "not a frame that MES knows", f[0]);
	return false;
}

/* Return: false if it has to wait */
static bool mes_begin(struct vgpu_model *m, struct vgpu_queue *mes, const u32 *f)
{
	bool asks = FRAME_OP(f[0]) != QUERY_STATUS;
	enum outcome outcome;

	if (asks && vgpu_fault(m, VGPU_FAULT_MES_SILENT)) {
		mes->stuck = true;
		return false;
	}
	outcome = mes_execute(m, mes, f);
	if (outcome == WAITS)
		return false;
	m->mes.begun = true;
	m->mes.answers = outcome == DONE;
	if (asks && vgpu_fault(m, VGPU_FAULT_MES_LATE))
		mes->busy_until_ns = (mes->busy_until_ns > m->now_ns ? mes->busy_until_ns : m->now_ns) +
				     m->fault_value[VGPU_FAULT_MES_LATE] * 1000;
	return true;
}

static void mes_end(struct vgpu_model *m, struct vgpu_queue *mes, const u32 *f)
{
	const u32 *status = f + mes_status_at(FRAME_OP(f[0]));

	m->mes.begun = false;
	m->stats.mes_frames++;
	if (!m->mes.answers)
		m->stats.mes_failures++;
	else if (mes_addr(status))
		vgpu_vm_write64(m, VGPU_AS_KERNEL, mes_addr(status), mes_addr(status + 2));
	mes->rptr += FRAME_DWORDS;
	vgpu_ring_report(m, mes);
	vgpu_save_reported(m, mes->save_asked_ns);
	mes->save_asked_ns = 0;
}

/**
 * vgpu_mes_run() - carry out what is due of the frames of MES's ring
 * @m: the device
 * @mes: the ring
 *
 * Return: true if there was anything.
 */
bool vgpu_mes_run(struct vgpu_model *m, struct vgpu_queue *mes)
{
	u32 f[FRAME_DWORDS];
	bool progress = false;

	while (!mes->stuck && !m->reported && m->now_ns >= mes->busy_until_ns && mes_read(m, mes, f)) {
		if (m->mes.begun)
			mes_end(m, mes, f);
		else if (!mes_begin(m, mes, f))
			break;
		progress = true;
	}
	return progress;
}

/** vgpu_mes_fences() - write the fences of SUSPEND that are due. Return: true if there was one. */
bool vgpu_mes_fences(struct vgpu_model *m)
{
	bool progress = false;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(m->mes.fence); i++) {
		if (!m->mes.fence[i].at_ns || m->now_ns < m->mes.fence[i].at_ns)
			continue;
		m->mes.fence[i].at_ns = 0;
		vgpu_vm_write64(m, VGPU_AS_KERNEL, m->mes.fence[i].addr, m->mes.fence[i].value);
		progress = true;
	}
	return progress;
}

/** vgpu_mes_next_event() - when the next one is due, U64_MAX: there is none */
u64 vgpu_mes_next_event(const struct vgpu_model *m)
{
	u64 next = U64_MAX;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(m->mes.fence); i++)
		if (m->mes.fence[i].at_ns && m->mes.fence[i].at_ns < next)
			next = m->mes.fence[i].at_ns;
	return next;
}

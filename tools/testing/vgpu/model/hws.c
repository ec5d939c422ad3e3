// SPDX-License-Identifier: MIT
/*
 * hws.c - the hardware scheduler: what HIQ's packets ask for
 *
 * A runlist names processes and their queues. As many as there are VMIDs and slots for are mapped together; if that is not all, the
 * window of mapped queues moves on every quantum, with wave save and restore as for any other unmap.
 */
#include "model.h"

#define IT_MAP_PROCESS		0xa1
#define IT_MAP_QUEUES		0xa2
#define IT_RUN_LIST		0xa5
#define PACKET_DWORDS(h)	((((h) >> 16) & 0x3fff) + 2)
#define PACKET_OPCODE(h)	(((h) >> 8) & 0xff)
#define HWS_ME			1
#define ATC_PASID_VALID		0x80000000u
#define MAP_DWORDS		7

void vgpu_hws_set_resources(struct vgpu_model *m, u32 xcc, u32 vmid_mask, u64 queue_mask)
{
	m->xcc[xcc].hws_vmid_mask = vmid_mask;
	m->xcc[xcc].hws_queue_mask = queue_mask;
}

static void set_vmid(struct vgpu_model *m, u32 xcc, u32 vmid, const struct vgpu_rl_process *p)
{
	const u32 hubs[] = { VGPU_HUB_GFX + xcc, VGPU_HUB_MM };
	u32 i, base;

	m->xcc[xcc].vmid[vmid].used = true;
	m->xcc[xcc].vmid[vmid].pasid = p->pasid;
	for (i = 0; i < ARRAY_SIZE(hubs); i++) {
		base = vgpu_hub_reg(m, hubs[i], VGPU_VM_PT_BASE_LO) + 2 * vmid;
		vgpu_reg_set(m, base, (u32)p->pt_base);
		vgpu_reg_set(m, base + 1, (u32)(p->pt_base >> 32));
	}
	vgpu_reg_set(m, VGPU_ATC_VMID0_PASID + vmid, ATC_PASID_VALID | p->pasid);
	vgpu_reg_set(m, VGPU_IH_VMID_0_LUT + vmid, p->pasid);
	vgpu_reg_set(m, VGPU_IH_VMID_0_LUT_MM + vmid, p->pasid);
}

/* VMID of a process of the runlist, a free one if it has none. Return: 0 if there is none left. */
static u32 vmid_of(struct vgpu_model *m, u32 xcc, const struct vgpu_rl_process *p)
{
	const struct vgpu_xcc *x = &m->xcc[xcc];
	u32 vmid, used = 0, free = 0;

	for (vmid = 1; vmid < VGPU_VMIDS; vmid++) {
		if (!(x->hws_vmid_mask & (1u << vmid)))
			continue;
		if (x->vmid[vmid].used && x->vmid[vmid].pasid == p->pasid)
			return vmid;
		if (x->vmid[vmid].used)
			used++;
		else if (!free)
			free = vmid;
	}
	if (!free || (x->runlist.max_processes && used >= x->runlist.max_processes))
		return 0;
	set_vmid(m, xcc, free, p);
	return free;
}

/* A free slot, on the pipe with the fewest queues. Return: false if there is none. */
static bool find_slot(struct vgpu_model *m, u32 xcc, u8 *pipe, u8 *slot)
{
	u32 used[VGPU_PIPES] = { 0 }, p, s, best = VGPU_QUEUES + 1;
	u32 taken = 0;
	struct vgpu_list *l;

	for (l = m->queues.next; l != &m->queues; l = l->next) {
		const struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		if (q->kind == VGPU_QUEUE_SDMA || q->xcc != xcc || q->me != HWS_ME)
			continue;
		taken |= 1u << (q->pipe * VGPU_QUEUES + q->slot);
		used[q->pipe]++;
	}
	for (p = 0; p < VGPU_PIPES; p++)
		for (s = 0; s < VGPU_QUEUES; s++) {
			u32 bit = p * VGPU_QUEUES + s;

			if (!(m->xcc[xcc].hws_queue_mask >> bit & 1) || taken >> bit & 1 || used[p] >= best)
				continue;
			best = used[p];
			*pipe = p;
			*slot = s;
		}
	return best <= VGPU_QUEUES;
}

/*
 * Maps queues of the runlist from its position on, until VMIDs or slots run out. They run from @start_ns on, those that have state to
 * restore later by what that takes.
 */
static void map_window(struct vgpu_model *m, u32 xcc, u64 start_ns)
{
	struct vgpu_runlist *rl = &m->xcc[xcc].runlist;
	struct vgpu_list *l;
	u64 restored = 0;

	for (rl->mapped = 0; rl->mapped < rl->queues; rl->mapped++) {
		const struct vgpu_rl_queue *e = &rl->queue[(rl->pos + rl->mapped) % rl->queues];
		const struct vgpu_rl_process *p = &rl->process[e->process];
		struct vgpu_map_request request = {
			.xcc = (u8)xcc,
			.me = HWS_ME,
			.from_runlist = true,
			.is_static = e->is_static,
			.pasid = p->pasid,
			.mqd = e->mqd,
			.wptr_addr = e->wptr_addr,
			.doorbell = e->doorbell,
			.engine = e->engine,
		};
		struct vgpu_queue *q;

		if (!e->sdma && !find_slot(m, xcc, &request.pipe, &request.slot))
			break;
		request.vmid = vmid_of(m, xcc, p);
		if (!request.vmid)
			break;
		q = e->sdma ? vgpu_sdma_map(m, &request) : vgpu_queue_map(m, &request);
		if (!q) {
			m->stats.bad_packets++;
			vgpu_err("queue with MQD %#llx cannot be mapped", (unsigned long long)e->mqd);
			continue;
		}
		q->ready_ns = start_ns;
		if (q->kind == VGPU_QUEUE_AQL)
			restored += vgpu_cwsr_restore(m, q);
	}
	/* They are restored side by side and share the slots: none has its waves back long before another. */
	for (l = m->queues.next; restored && l != &m->queues; l = l->next) {
		struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		if (q->xcc != xcc)
			continue;
		if (q->inflight_count && q->ready_ns == start_ns)
			q->ready_ns += vgpu_cwsr_ns(m, restored);
		if (q->head)
			q->head_ready_ns = q->ready_ns;
	}
	rl->oversubscribed = rl->mapped < rl->queues;
	rl->quantum_end_ns = start_ns + m->config.quantum_ns;
}

/* Unmaps queues that the scheduler of an XCC mapped. Return: bytes saved. */
static u64 unmap_queues(struct vgpu_model *m, u32 xcc, bool statics_too, bool by_pasid, u16 pasid, bool save)
{
	struct vgpu_list *l, *next;
	u64 bytes = 0;

	for (l = m->queues.next; l != &m->queues; l = next) {
		struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		next = l->next;
		if (!q->from_runlist || q->xcc != xcc || (by_pasid ? q->pasid != pasid : q->is_static && !statics_too))
			continue;
		bytes += vgpu_queue_unmap(m, q, save);
	}
	return bytes;
}

static void free_vmids(struct vgpu_xcc *x)
{
	u32 vmid;

	for (vmid = 1; vmid < VGPU_VMIDS; vmid++)
		x->vmid[vmid].used = false;
}

/**
 * vgpu_hws_unmap() - UNMAP_QUEUES with a filter
 * @m: the device
 * @hiq: queue that the packet came from; it is busy until the waves are saved
 * @statics_too: static queues as well
 * @by_pasid: only queues of process @pasid
 * @pasid: process
 * @save: preempt; otherwise reset
 */
void vgpu_hws_unmap(struct vgpu_model *m, struct vgpu_queue *hiq, bool statics_too, bool by_pasid, u16 pasid, bool save)
{
	struct vgpu_runlist *rl = &m->xcc[hiq->xcc].runlist;
	u64 bytes = unmap_queues(m, hiq->xcc, statics_too, by_pasid, pasid, save);
	u32 i, kept = 0;

	m->stats.unmaps++;
	/* What was unmapped is not to come back by rotation. */
	if (by_pasid) {
		for (i = 0; i < rl->queues; i++)
			if (rl->process[rl->queue[i].process].pasid != pasid)
				rl->queue[kept++] = rl->queue[i];
		rl->pos = 0;
	}
	rl->queues = kept;
	rl->oversubscribed &= kept > 0;
	hiq->busy_until_ns = m->now_ns + m->config.runlist_ns + vgpu_cwsr_ns(m, bytes);
}

static bool parse_runlist(struct vgpu_model *m, struct vgpu_runlist *rl, u64 ib, u32 dwords)
{
	struct vgpu_stream s = { .as = VGPU_AS_KERNEL, .base = ib, .mask = ~0ULL, .end = dwords };
	u32 p[MAP_DWORDS], n;

	for (s.pos = 0; s.pos < dwords; s.pos += n) {
		if (!vgpu_stream_read(m, &s, 0, p, 1))
			return false;
		n = PACKET_DWORDS(p[0]);
		if (n > dwords - s.pos || !vgpu_stream_read(m, &s, 0, p, n < MAP_DWORDS ? n : MAP_DWORDS))
			return false;
		switch (PACKET_OPCODE(p[0])) {
		case IT_MAP_PROCESS:
			if (n < 4 || rl->processes == VGPU_RL_PROCESSES)
				return false;
			rl->process[rl->processes++] = (struct vgpu_rl_process) {
				.pasid = (u16)p[1],
				.pt_base = p[2] | (u64)p[3] << 32,
			};
			break;
		case IT_MAP_QUEUES: {
			u32 engine = (p[1] >> 26) & 7, extended = (p[1] >> 2) & 3, type = (p[1] >> 21) & 7;

			if (n < MAP_DWORDS || rl->queues == VGPU_RL_QUEUES || !rl->processes)
				return false;
			rl->queue[rl->queues++] = (struct vgpu_rl_queue) {
				.process = rl->processes - 1,
				.sdma = extended || engine,
				.engine = extended ? engine : engine - 2,
				.is_static = type == 2 || type == 3,
				.doorbell = p[2] & 0x0ffffffc,
				.mqd = p[3] | (u64)p[4] << 32,
				.wptr_addr = p[5] | (u64)p[6] << 32,
			};
			break;
		}
		case IT_RUN_LIST:		/* chained to itself: the driver knows that it is oversubscribed */
			return true;
		default:
			break;
		}
	}
	return true;
}

/**
 * vgpu_hws_runlist() - RUN_LIST
 * @m: the device
 * @hiq: queue that the packet came from
 * @ib: address of the list
 * @dwords: its size
 * @process_count: how many processes may be mapped together, 0: no limit
 *
 * Return: false if the list cannot be read.
 */
bool vgpu_hws_runlist(struct vgpu_model *m, struct vgpu_queue *hiq, u64 ib, u32 dwords, u32 process_count)
{
	struct vgpu_xcc *x = &m->xcc[hiq->xcc];
	struct vgpu_runlist *rl = &x->runlist;
	u64 bytes = unmap_queues(m, hiq->xcc, true, false, 0, true);	/* the driver did that already */
	u64 start;

	m->stats.runlists++;
	free_vmids(x);
	rl->processes = 0;
	rl->queues = 0;
	rl->pos = 0;
	rl->mapped = 0;
	rl->oversubscribed = false;
	rl->max_processes = process_count;
	if (!parse_runlist(m, rl, ib, dwords)) {
		rl->queues = 0;
		return false;
	}
	start = m->now_ns + m->config.runlist_ns + vgpu_cwsr_ns(m, bytes);
	if (rl->queues)
		map_window(m, hiq->xcc, start);
	hiq->busy_until_ns = start;
	return true;
}

/* Moves the window of mapped queues of an XCC on */
static void rotate(struct vgpu_model *m, u32 xcc)
{
	struct vgpu_runlist *rl = &m->xcc[xcc].runlist;
	u64 bytes = unmap_queues(m, xcc, true, false, 0, true);

	m->stats.rotations++;
	free_vmids(&m->xcc[xcc]);
	rl->pos = (rl->pos + (rl->mapped ? rl->mapped : 1)) % rl->queues;
	map_window(m, xcc, m->now_ns + m->config.runlist_ns + vgpu_cwsr_ns(m, bytes));
}

/** vgpu_hws_next_event() - when a quantum ends, U64_MAX if nothing has to take turns */
u64 vgpu_hws_next_event(const struct vgpu_model *m)
{
	u64 next = U64_MAX;
	u32 xcc;

	for (xcc = 0; xcc < m->config.xccs; xcc++) {
		const struct vgpu_runlist *rl = &m->xcc[xcc].runlist;

		if (rl->oversubscribed && rl->quantum_end_ns < next)
			next = rl->quantum_end_ns;
	}
	return next;
}

/** vgpu_hws_quantum() - move the windows of mapped queues whose time is over */
void vgpu_hws_quantum(struct vgpu_model *m)
{
	u32 xcc;

	for (xcc = 0; xcc < m->config.xccs; xcc++)
		if (m->xcc[xcc].runlist.oversubscribed && m->now_ns >= m->xcc[xcc].runlist.quantum_end_ns)
			rotate(m, xcc);
}

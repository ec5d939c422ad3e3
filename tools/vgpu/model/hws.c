// SPDX-License-Identifier: MIT
/*
 * hws.c - the hardware scheduler: what HIQ's packets ask for
 *
 * A runlist names processes and their queues. As many as there are VMIDs, slots and GWS for are
 * mapped together, in the order of the list. A list that leads back to its beginning (RUN_LIST with
 * the chain bit at its end) goes round: the window of mapped entries moves on every quantum, with
 * wave save and restore as for any other unmap. Of a list that ends, what does not fit is never
 * mapped; no driver wants that, so it is reported.
 *
 * Queues of a list that does not go round can also be unmapped by their doorbells, and mapped by
 * MAP_PROCESS and MAP_QUEUES in the HIQ itself. All others keep their slots and their waves.
 */
#include "model.h"

#define IT_MAP_PROCESS		0xa1
#define IT_MAP_QUEUES		0xa2
#define IT_RUN_LIST		0xa5
#define PACKET_TYPE(h)		((h) >> 30)
#define PACKET_DWORDS(h)	((((h) >> 16) & 0x3fff) + 2)
#define PACKET_OPCODE(h)	(((h) >> 8) & 0xff)
#define RUN_LIST_DWORDS		4
#define RUN_LIST_SIZE(p)	((p)[3] & 0xfffff)
#define RUN_LIST_CHAIN		(1u << 20)
#define RUN_LIST_PROCESSES(p)	((p)[3] >> 24 & 0xf)	/* that are to be mapped together */
#define MAX_CHAINED		16		/* lists in a chain before it is taken for an endless one */
#define SH_MEM_CONFIG		5		/* in MAP_PROCESS */
#define SHADER_TMA		8
#define GDBG_CNTL		14
#define WATCH_CNTL		15
#define PROCESS_DWORDS		21
#define RETRY_DISABLE		(1u << 12)	/* in SH_MEM_CONFIG */
#define MAP_DWORDS		7
#define DOORBELL_MASK		0x0ffffffcu
#define FAILED_DOORBELL_IN_MQD	0x3c0		/* queue_doorbell_id0 in the MQD of the HIQ */
#define CRUMB_UNMAP		0xa1a2a3a4u	/* what firmware leaves in CP_HQD_ATOMIC0_PREOP_LO of the HIQ's slot: how far it has come */
#define CRUMB_RUNLIST		0xa2a2a2a2u
#define PREEMPTION_TIMEOUT_NS	10000000ull	/* then the scheduler gives up on a queue */
#define MAPPED_AGAIN_NS		2000000ull	/* after so long firmware maps again what was unmapped by its name, if it does */

void vgpu_hws_set_resources(struct vgpu_model *m, u32 xcc, u32 vmid_mask, u64 queue_mask)
{
	m->xcc[xcc].hws_vmid_mask = vmid_mask;
	m->xcc[xcc].hws_queue_mask = queue_mask;
}

/*
 * MES leaves translations to the driver when queues come and go. What another process has left in
 * a VMID it cannot leave to it: the driver does not know who has which.
 */
static void hws_clean_vmid(struct vgpu_model *m, u32 xcc, u32 vmid, const struct vgpu_rl_process *p)
{
	u32 hub = VGPU_HUB_GFX + xcc, base = vgpu_hub_reg(m, hub, VGPU_VM_PT_BASE_LO) + 2 * vmid;
	u64 pt_base = vgpu_reg(m, base) | (u64)vgpu_reg(m, base + 1) << 32;

	if (!m->config.asic->mes || (vgpu_ih_pasid(m, hub, vmid) == p->pasid && pt_base == p->pt_base))
		return;
	vgpu_tlb_invalidate(m, hub, 1u << vmid);
	vgpu_tlb_invalidate_mm(m, 1u << vmid);
}

static void hws_set_vmid(struct vgpu_model *m, u32 xcc, u32 vmid, const struct vgpu_rl_process *p)
{
	u32 hub, base, n;

	hws_clean_vmid(m, xcc, vmid, p);
	m->xcc[xcc].vmid[vmid].used = true;
	m->xcc[xcc].vmid[vmid].pasid = p->pasid;
	m->xcc[xcc].vmid[vmid].retry = p->retry;
	m->xcc[xcc].vmid[vmid].traps = p->traps;
	m->xcc[xcc].vmid[vmid].watched = false;
	for (n = 0; n < VGPU_WATCHES; n++) {
		m->xcc[xcc].vmid[vmid].watch[n] = p->watch[n];
		m->xcc[xcc].vmid[vmid].watched |= (p->watch[n] & VGPU_WATCH_VALID) != 0;
	}
	vgpu_regs_set_tma(m, xcc, vmid, p->tma);
	for (hub = 0; hub < VGPU_HUBS; hub++) {
		if (!vgpu_hub_exists(m, hub) || (hub < VGPU_HUB_MM && hub != VGPU_HUB_GFX + xcc))
			continue;
		base = vgpu_hub_reg(m, hub, VGPU_VM_PT_BASE_LO) + 2 * vmid;
		vgpu_reg_set(m, base, (u32)p->pt_base);
		vgpu_reg_set(m, base + 1, (u32)(p->pt_base >> 32));
		WRITE_ONCE(*vgpu_hub_lut(m, hub, vmid), p->pasid);
	}
	if (m->config.asic->atc_mapping)
		vgpu_reg_set(m, m->config.asic->atc_mapping + vmid, VGPU_ATC_PASID_VALID | p->pasid);
}

/* VMID of a process of the runlist, a free one if it has none. Return: 0 if there is none left. */
static u32 hws_vmid_of(struct vgpu_model *m, u32 xcc, const struct vgpu_rl_process *p)
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
	hws_set_vmid(m, xcc, free, p);
	return free;
}

/* The queue of an entry if it is in a slot, otherwise NULL */
static struct vgpu_queue *hws_mapped_queue(struct vgpu_model *m, u32 xcc,
					   const struct vgpu_rl_entry *e)
{
	struct vgpu_list *l;

	for (l = m->queues.next; l != &m->queues; l = l->next) {
		struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		if (q->from_runlist && q->xcc == xcc && (e->sdma ? q->mqd : q->group) == e->mqd)
			return q;
	}
	return NULL;
}

/* What was unmapped by its name is not in the list any more. */
static void hws_forget_entry(struct vgpu_runlist *rl, const struct vgpu_queue *q)
{
	u32 i, kept = 0;

	for (i = 0; i < rl->entries; i++)
		if (!rl->entry[i].is_queue || rl->entry[i].mqd != (q->kind == VGPU_QUEUE_SDMA ? q->mqd : q->group))
			rl->entry[kept++] = rl->entry[i];
	rl->entries = kept;
	rl->mapped = kept;
}

/*
 * A free slot of a micro engine, on the pipe with the fewest queues. Return: false if there is
 * none.
 */
static bool hws_find_slot(struct vgpu_model *m, u32 xcc, u8 me, u8 *pipe, u8 *slot)
{
	u64 mask = me == VGPU_ME_GFX ? m->xcc[xcc].gfx_queue_mask : m->xcc[xcc].hws_queue_mask;
	u32 used[VGPU_PIPES] = { 0 }, p, s, best = VGPU_QUEUES + 1;
	u32 taken = 0;
	struct vgpu_list *l;

	for (l = m->queues.next; l != &m->queues; l = l->next) {
		const struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		if (q->kind == VGPU_QUEUE_SDMA || q->xcc != xcc || q->me != me)
			continue;
		taken |= 1u << (q->pipe * VGPU_QUEUES + q->slot);
		used[q->pipe]++;
	}
	for (p = 0; p < VGPU_PIPES; p++)
		for (s = 0; s < VGPU_QUEUES; s++) {
			u32 bit = p * VGPU_QUEUES + s;

			if (!(mask >> bit & 1) || taken >> bit & 1 || used[p] >= best)
				continue;
			best = used[p];
			*pipe = p;
			*slot = s;
		}
	return best <= VGPU_QUEUES;
}

/* Is the global wave sync another process's? */
static bool hws_gws_taken(struct vgpu_model *m, u32 xcc, u16 pasid)
{
	struct vgpu_list *l;

	for (l = m->queues.next; l != &m->queues; l = l->next) {
		const struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		if (q->gws && q->xcc == xcc && q->pasid != pasid)
			return true;
	}
	return false;
}

/*
 * What is mapped together: firmware connects the queues of a process side by side, and process by
 * process. How long the first one takes is known of one device, and that of a further one of none.
 */
struct window {
	u64 start_ns;		/* firmware begins with the process */
	u64 connected_ns;	/* and its queues run */
	u64 restored;		/* bytes that all of them restore */
	u32 process;		/* in the runlist */
	bool any;		/* there was one with queues */
};

static void hws_next_process(const struct vgpu_model *m, struct window *w, u32 process)
{
	if (w->any && w->process != process)
		w->start_ns += m->config.connect_next_ns;
	w->any = true;
	w->process = process;
	w->connected_ns = w->start_ns + m->config.connect_ns;
}

/* MES is not told an engine: the one that has the fewest queues */
static u32 hws_sdma_engine(const struct vgpu_model *m)
{
	u32 queues[VGPU_SDMA_ENGINES] = { 0 }, e, best = 0;
	const struct vgpu_list *l;

	for (l = m->queues.next; l != &m->queues; l = l->next) {
		const struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		if (q->kind == VGPU_QUEUE_SDMA)
			queues[q->engine]++;
	}
	for (e = 1; e < vgpu_sdma_engines(m); e++)
		if (queues[e] < queues[best])
			best = e;
	return best;
}

/* Return: false if there is no room for the entry now. */
static bool hws_map_entry(struct vgpu_model *m, u32 xcc, const struct vgpu_rl_entry *e,
			  struct window *w)
{
	const struct vgpu_rl_process *p = &m->xcc[xcc].runlist.process[e->process];
	struct vgpu_map_request request = {
		.xcc = (u8)xcc,
		.me = e->gfx ? VGPU_ME_GFX : VGPU_ME_COMPUTE,
		.from_runlist = true,
		.is_static = e->is_static,
		.pasid = p->pasid,
		.mqd = e->mqd,
		.wptr_addr = e->wptr_addr,
		.doorbell = e->doorbell,
		.engine = m->config.asic->mes ? hws_sdma_engine(m) : e->engine,
	};
	struct vgpu_queue *q;

	/* It could not be preempted, or is one of those that MES has not moved. */
	if (e->suspended || (e->is_queue && hws_mapped_queue(m, xcc, e)))
		return true;
	if (e->is_queue && !e->sdma && !hws_find_slot(m, xcc, request.me, &request.pipe, &request.slot))
		return false;
	if (e->gws && hws_gws_taken(m, xcc, p->pasid))
		return false;
	request.vmid = hws_vmid_of(m, xcc, p);
	if (!request.vmid)
		return false;
	if (!e->is_queue || (e->sdma && vgpu_xcc_in_partition(m, xcc)))	/* the first XCC has the SDMA queues */
		return true;
	q = e->sdma ? vgpu_sdma_map(m, &request) : vgpu_queue_map(m, &request);
	if (!q) {
		m->stats.bad_packets++;
		vgpu_err("queue with MQD %#llx cannot be mapped", (unsigned long long)e->mqd);
		return true;
	}
	q->gws = e->gws;
	hws_next_process(m, w, e->process);
	q->connected_ns = w->connected_ns;
	q->ready_ns = w->connected_ns;
	if (vgpu_queue_is_user_compute(q)) {
		vgpu_stamp(m, q->mqd, VGPU_STAMP_CONNECT, w->start_ns, w->connected_ns);
		w->restored += vgpu_cwsr_restore(m, q);
	}
	return true;
}

/*
 * Maps entries of the runlist from its position on, until VMIDs, slots or GWS run out, from
 * @start_ns on. Queues that have state to restore run later by what that takes. The longest quantum
 * of the processes counts for all. Return: when all of them are connected
 */
static u64 hws_map_window(struct vgpu_model *m, u32 xcc, u64 start_ns)
{
	struct window w = { .start_ns = start_ns, .connected_ns = start_ns + m->config.connect_ns };
	struct vgpu_runlist *rl = &m->xcc[xcc].runlist;
	struct vgpu_list *l;
	u64 quantum = 1;

	for (rl->mapped = 0; rl->mapped < rl->entries; rl->mapped++) {
		const struct vgpu_rl_entry *e = &rl->entry[(rl->pos + rl->mapped) % rl->entries];

		if (!hws_map_entry(m, xcc, e, &w))
			break;
		if (rl->process[e->process].quantum > quantum)
			quantum = rl->process[e->process].quantum;
	}
	/*
	 * Processes that are connected together are restored side by side and share the slots: none
	 * has its waves back long before another.
	 */
	for (l = m->queues.next; l != &m->queues; l = l->next) {
		struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		if (q->xcc != xcc)
			continue;
		if (q->inflight_count && q->connected_ns) {
			q->ready_ns += vgpu_cwsr_ns(m, w.restored);
			vgpu_stamp(m, q->mqd, VGPU_STAMP_RESTORE, q->connected_ns, q->ready_ns);
		}
		q->connected_ns = 0;
		if (w.restored && q->head)
			q->head_ready_ns = q->ready_ns;
	}
	for (l = m->queues.next; l != &m->queues; l = l->next) {
		struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		if (q->kind == VGPU_QUEUE_AQL && q->xcc == xcc)
			vgpu_ring_joined(m, q);
	}
	rl->oversubscribed = rl->chained && rl->mapped < rl->entries;
	rl->quantum_end_ns = w.connected_ns + quantum * m->config.quantum_ns;
	if (rl->mapped < rl->entries && !rl->chained) {
		m->stats.bad_packets++;
		vgpu_err("runlist of %u processes and %u queues does not fit and is not chained: entry %u has no room",
			 rl->processes, rl->queues, rl->mapped);
	}
	return w.connected_ns;
}

/* Why queues are unmapped */
enum cause {
	BY_REQUEST,
	BY_RUNLIST,		/* what the driver left mapped */
	BY_QUANTUM,
};

/*
 * Does a queue that is to be saved stay? Its doorbell is what the driver finds in the MQD of the
 * HIQ.
 */
static bool hws_fails(struct vgpu_model *m, struct vgpu_queue *q, enum cause cause)
{
	if (!vgpu_queue_is_user_compute(q))
		return false;
	if (!vgpu_queue_hung(q) && (cause != BY_REQUEST || !q->waves || !vgpu_fault_on(m, VGPU_FAULT_PREEMPT_FAIL, q->xcc)))
		return false;
	q->abandoned = true;
	if (cause != BY_RUNLIST && m->xcc[q->xcc].runlist.hiq_mqd)
		vgpu_vm_write32(m, VGPU_AS_KERNEL, m->xcc[q->xcc].runlist.hiq_mqd + FAILED_DOORBELL_IN_MQD, q->doorbell / 4);
	return true;
}

/*
 * Unmaps queues that the scheduler of an XCC mapped, and forgets the translations of their
 * processes. The driver leaves that to the scheduler: it may move the memory of the process now,
 * and it does not know when the VMID becomes another's. Return: device time that it takes.
 */
static u64 hws_unmap_queues(struct vgpu_model *m, u32 xcc, bool statics_too, bool by_pasid,
			    u16 pasid, bool save,
			    enum cause cause)
{
	struct vgpu_list *l, *next;
	u64 bytes = 0, ns = 0;
	u32 vmids = 0;

	for (l = m->queues.next; l != &m->queues; l = next) {
		struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		next = l->next;
		if (!q->from_runlist || q->xcc != xcc || (by_pasid ? q->pasid != pasid : q->is_static && !statics_too))
			continue;
		if (save && hws_fails(m, q, cause)) {
			ns += PREEMPTION_TIMEOUT_NS;
			continue;
		}
		vmids |= 1u << q->vmid;
		bytes += vgpu_queue_unmap(m, q, save);
	}
	if (!m->config.asic->mes) {
		vgpu_tlb_invalidate(m, VGPU_HUB_GFX + xcc, vmids);
		vgpu_tlb_invalidate_mm(m, vmids);
	}
	vgpu_cwsr_saved(m, m->now_ns + vgpu_cwsr_ns(m, bytes));
	return ns + vgpu_cwsr_ns(m, bytes);
}

static void hws_drop_crumb(struct vgpu_model *m, const struct vgpu_queue *hiq, u32 crumb)
{
	vgpu_hqd_set(m, hiq->xcc, hiq->me, hiq->pipe, hiq->slot, VGPU_HQD_ATOMIC0_PREOP_LO, crumb);
}

static void hws_free_vmids(struct vgpu_model *m, u32 xcc)
{
	struct vgpu_xcc *x = &m->xcc[xcc];
	struct vgpu_list *l;
	u32 vmid;

	for (vmid = 1; vmid < VGPU_VMIDS; vmid++)
		x->vmid[vmid].used = false;
	for (l = m->queues.next; l != &m->queues; l = l->next) {
		const struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		if (q->from_runlist && q->xcc == xcc)
			x->vmid[q->vmid].used = true;
	}
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
	u64 waves = m->stats.waves_saved;
	u64 ns = hws_unmap_queues(m, hiq->xcc, statics_too, by_pasid, pasid, save, BY_REQUEST);
	u32 i, kept = 0;

	m->stats.unmaps++;
	hws_drop_crumb(m, hiq, CRUMB_UNMAP);
	hiq->save_asked_ns = m->stats.waves_saved != waves ? hiq->rung_ns : 0;
	/* What was unmapped is not to come back by rotation. */
	if (by_pasid) {
		for (i = 0; i < rl->entries; i++)
			if (rl->process[rl->entry[i].process].pasid != pasid)
				rl->entry[kept++] = rl->entry[i];
		rl->pos = 0;
	}
	rl->entries = kept;
	rl->again_ns = 0;
	rl->oversubscribed &= kept > 0;
	if (vgpu_fault_on(m, VGPU_FAULT_UNMAP_LATE, hiq->xcc))
		ns += m->fault_value[VGPU_FAULT_UNMAP_LATE] * 1000;
	hiq->busy_until_ns = m->now_ns + m->config.runlist_ns + ns;
}

/**
 * vgpu_hws_unmap_named() - UNMAP_QUEUES with doorbells, for queues that the scheduler mapped
 * @m: the device
 * @hiq: queue that the packet came from; it is busy until the waves are saved
 * @doorbells: as the packet has them, byte offsets
 * @count: how many
 * @save: preempt; otherwise reset
 *
 * An unmap request takes its time however many queues it names. What was unmapped is no longer in
 * the list, unless firmware maps it again.
 */
void vgpu_hws_unmap_named(struct vgpu_model *m, struct vgpu_queue *hiq, const u32 *doorbells, u32 count, bool save)
{
	struct vgpu_runlist *rl = &m->xcc[hiq->xcc].runlist;
	u64 bytes = 0, ns = 0, waves = m->stats.waves_saved;
	struct vgpu_list *l, *next;
	u32 vmids = 0, i;

	m->stats.unmaps_named++;
	for (l = m->queues.next; l != &m->queues; l = next) {
		struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		next = l->next;
		for (i = 0; i < count && q->doorbell != (doorbells[i] & DOORBELL_MASK); i++)
			;
		if (i == count || !q->from_runlist || q->xcc != hiq->xcc || !q->has_doorbell)
			continue;
		if (save && hws_fails(m, q, BY_REQUEST)) {
			ns += PREEMPTION_TIMEOUT_NS;
			continue;
		}
		vmids |= 1u << q->vmid;
		if (vgpu_firmware(m, VGPU_FIRMWARE_MAPPED_AGAIN))
			rl->again_ns = m->now_ns + MAPPED_AGAIN_NS;
		else
			hws_forget_entry(rl, q);
		bytes += vgpu_queue_unmap(m, q, save);
	}
	vgpu_tlb_invalidate(m, VGPU_HUB_GFX + hiq->xcc, vmids);
	vgpu_tlb_invalidate_mm(m, vmids);
	hws_drop_crumb(m, hiq, CRUMB_UNMAP);
	if (m->stats.waves_saved != waves)
		hiq->save_asked_ns = hiq->rung_ns;
	ns += vgpu_cwsr_ns(m, bytes);
	vgpu_cwsr_saved(m, m->now_ns + ns);
	if (vgpu_fault_on(m, VGPU_FAULT_UNMAP_LATE, hiq->xcc))
		ns += m->fault_value[VGPU_FAULT_UNMAP_LATE] * 1000;
	hiq->busy_until_ns = m->now_ns + m->config.runlist_ns + ns;
}

/* Return: false if that is no process, or there are too many. */
static bool hws_parse_process(struct vgpu_runlist *rl, const u32 *p, u32 dwords)
{
	struct vgpu_rl_process *process;

	if (dwords < 4 || rl->processes == VGPU_RL_PROCESSES || rl->entries == VGPU_RL_ENTRIES)
		return false;
	rl->entry[rl->entries++] = (struct vgpu_rl_entry) { .process = rl->processes };
	process = &rl->process[rl->processes++];
	*process = (struct vgpu_rl_process) {
		.pasid = (u16)p[1],
		.quantum = p[1] >> 25,
		.pt_base = p[2] | (u64)p[3] << 32,
		.retry = dwords > SH_MEM_CONFIG && !(p[SH_MEM_CONFIG] & RETRY_DISABLE),
	};
	if (dwords >= PROCESS_DWORDS) {
		memcpy(process->tma, p + SHADER_TMA, sizeof(process->tma));
		process->traps = p[GDBG_CNTL];
		memcpy(process->watch, p + WATCH_CNTL, sizeof(process->watch));
	}
	return true;
}

static bool hws_parse_queue(struct vgpu_runlist *rl, const u32 *p, u32 dwords)
{
	u32 engine = (p[1] >> 26) & 7, extended = (p[1] >> 2) & 3, type = (p[1] >> 21) & 7;

	if (dwords < MAP_DWORDS || rl->entries == VGPU_RL_ENTRIES || !rl->processes)
		return false;
	rl->queues++;
	rl->entry[rl->entries++] = (struct vgpu_rl_entry) {
		.process = rl->processes - 1,
		.is_queue = true,
		.sdma = extended || engine,
		.engine = extended ? engine + 8 * (extended - 1) : engine - 2,
		.is_static = type == 2 || type == 3,
		.gws = p[1] >> 12 & 1,
		.doorbell = p[2] & DOORBELL_MASK,
		.mqd = p[3] | (u64)p[4] << 32,
		.wptr_addr = p[5] | (u64)p[6] << 32,
	};
	return true;
}

/*
 * Firmware maps as many processes together as RUN_LIST announces, and a chain leads it back to the
 * first one: of a list with fewer it would map a process twice. More is what over-subscription is:
 * amdkfd announces no more than the scheduler has VMIDs. Return: false if @announced is more than
 * the list has
 */
static bool hws_lists_enough(const struct vgpu_runlist *rl, u32 announced)
{
	if (rl->processes >= announced)
		return true;
	vgpu_err("RUN_LIST announces %u processes, and its list has %u", announced, rl->processes);
	return false;
}

/*
 * Packets follow each other without a gap: a driver that counts processes and queues otherwise than
 * it writes them is found out. A chained RUN_LIST is the last packet: the list goes on there, or
 * begins anew.
 */
static bool hws_parse_runlist(struct vgpu_model *m, struct vgpu_runlist *rl, u64 ib, u32 dwords)
{
	struct vgpu_stream s = { .as = VGPU_AS_KERNEL, .base = ib, .mask = ~0ULL, .end = dwords };
	u32 p[PROCESS_DWORDS], n, chained = 0, most = rl->max_processes;

	for (s.pos = 0; s.pos < s.end; s.pos += n) {
		if (!vgpu_stream_read(m, &s, 0, p, 1))
			return false;
		n = PACKET_DWORDS(p[0]);
		if (PACKET_TYPE(p[0]) != 3 || n > s.end - s.pos || !vgpu_stream_read(m, &s, 0, p, n < PROCESS_DWORDS ? n : PROCESS_DWORDS))
			return false;
		switch (PACKET_OPCODE(p[0])) {
		case IT_MAP_PROCESS:
			if (!hws_parse_process(rl, p, n))
				return false;
			break;
		case IT_MAP_QUEUES:
			if (!hws_parse_queue(rl, p, n))
				return false;
			break;
		case IT_RUN_LIST:
			if (n != RUN_LIST_DWORDS || !(p[3] & RUN_LIST_CHAIN) || s.pos + n != s.end || chained++ == MAX_CHAINED)
				return false;
			if (RUN_LIST_PROCESSES(p) > most)
				most = RUN_LIST_PROCESSES(p);
			s.base = (p[1] & ~3u) | (u64)p[2] << 32;
			if (s.base == ib) {
				rl->chained = true;
				return hws_lists_enough(rl, most);
			}
			s.end = RUN_LIST_SIZE(p);
			s.pos = 0;
			n = 0;
			break;
		default:
			return false;
		}
	}
	return hws_lists_enough(rl, most);
}

/**
 * vgpu_hws_runlist() - RUN_LIST
 * @m: the device
 * @hiq: queue that the packet came from
 * @ib: address of the list
 * @dwords: its size
 * @process_count: how many processes may be mapped together, 0: no limit
 *
 * Return: false if the list cannot be read, or has fewer processes than @process_count.
 */
bool vgpu_hws_runlist(struct vgpu_model *m, struct vgpu_queue *hiq, u64 ib, u32 dwords, u32 process_count)
{
	struct vgpu_xcc *x = &m->xcc[hiq->xcc];
	struct vgpu_runlist *rl = &x->runlist;
	u64 ns = hws_unmap_queues(m, hiq->xcc, true, false, 0, true, BY_RUNLIST);	/* the driver did that already */

	m->stats.runlists++;
	hws_free_vmids(m, hiq->xcc);
	rl->processes = 0;
	rl->entries = 0;
	rl->queues = 0;
	rl->pos = 0;
	rl->mapped = 0;
	rl->chained = false;
	rl->oversubscribed = false;
	rl->added = VGPU_RL_PROCESSES;
	rl->again_ns = 0;
	rl->max_processes = process_count;
	rl->hiq_mqd = hiq->mqd;
	if (!hws_parse_runlist(m, rl, ib, dwords)) {
		rl->entries = 0;
		return false;
	}
	hiq->busy_until_ns = m->now_ns + ns + m->config.connect_ns;
	if (rl->entries)
		hiq->busy_until_ns = hws_map_window(m, hiq->xcc, m->now_ns + ns);
	hws_drop_crumb(m, hiq, CRUMB_RUNLIST);
	return true;
}

/**
 * vgpu_hws_map_process() - MAP_PROCESS in the HIQ: of the MAP_QUEUES that follow
 * @m: the device
 * @hiq: queue that the packet came from; it is busy until the process is connected
 * @p: the packet
 * @dwords: its size
 *
 * A process that is in the list already stays the same one. No driver knows what comes of a list
 * that goes round, so that is refused.
 *
 * Return: false if it is no process, or there is no room
 */
bool vgpu_hws_map_process(struct vgpu_model *m, struct vgpu_queue *hiq, const u32 *p, u32 dwords)
{
	struct vgpu_runlist *rl = &m->xcc[hiq->xcc].runlist;
	u32 i;

	if (rl->chained)
		return false;
	for (i = 0; i < rl->processes && rl->process[i].pasid != (u16)p[1]; i++)
		;
	if (i == rl->processes && !hws_parse_process(rl, p, dwords))
		return false;
	rl->added = i;
	rl->added_bytes = 0;
	rl->added_ns = m->now_ns;
	hiq->busy_until_ns = m->now_ns + m->config.connect_ns;
	return true;
}

/**
 * vgpu_hws_map_queue() - MAP_QUEUES in the HIQ, for a slot that the scheduler chooses
 * @m: the device
 * @hiq: queue that the packet came from
 * @p: the packet
 * @dwords: its size
 *
 * The queue belongs to the process of the last MAP_PROCESS, and is connected already. It becomes
 * the last one of the list.
 *
 * Return: false if there was no process, or there is no room
 */
bool vgpu_hws_map_queue(struct vgpu_model *m, struct vgpu_queue *hiq, const u32 *p, u32 dwords)
{
	struct vgpu_runlist *rl = &m->xcc[hiq->xcc].runlist;
	struct window w = { .start_ns = rl->added_ns };
	struct vgpu_queue *q;

	if (rl->chained || rl->added >= rl->processes || !hws_parse_queue(rl, p, dwords))
		return false;
	rl->entry[rl->entries - 1].process = rl->added;
	if (!hws_map_entry(m, hiq->xcc, &rl->entry[rl->entries - 1], &w)) {
		vgpu_err("no room for a queue that is added to the runlist");
		return false;
	}
	rl->mapped = rl->entries;
	m->stats.maps_named++;
	q = hws_mapped_queue(m, hiq->xcc, &rl->entry[rl->entries - 1]);
	if (!q || !q->connected_ns)
		return true;
	rl->added_bytes += w.restored;
	if (q->inflight_count) {
		q->ready_ns += vgpu_cwsr_ns(m, rl->added_bytes);
		vgpu_stamp(m, q->mqd, VGPU_STAMP_RESTORE, q->connected_ns, q->ready_ns);
	}
	q->connected_ns = 0;
	if (w.restored && q->head)
		q->head_ready_ns = q->ready_ns;
	if (q->kind == VGPU_QUEUE_AQL)
		vgpu_ring_joined(m, q);
	return true;
}

/**
 * vgpu_hws_map_list() - map what has become able to be mapped, of a list that MES keeps
 * @m: the device
 * @xcc: whose
 * @start_ns: from when on
 *
 * A turn that is going on ends when it would have ended.
 *
 * Return: when all of it is connected
 */
u64 vgpu_hws_map_list(struct vgpu_model *m, u32 xcc, u64 start_ns)
{
	struct vgpu_runlist *rl = &m->xcc[xcc].runlist;
	bool turn = rl->oversubscribed;
	u64 end_ns = rl->quantum_end_ns, connected_ns = start_ns;

	hws_free_vmids(m, xcc);
	rl->oversubscribed = false;
	if (rl->entries)
		connected_ns = hws_map_window(m, xcc, start_ns);
	if (turn)
		rl->quantum_end_ns = end_ns;
	return connected_ns;
}

/**
 * vgpu_hws_take_off() - unmap the queue of an entry of the list that MES keeps
 * @m: the device
 * @xcc: whose list
 * @e: the entry; nothing is done if its queue is not mapped
 * @save: preempt; otherwise reset
 * @bytes: what was saved is added
 * @ns: what it takes beside that is added
 *
 * Return: false if its waves do not let themselves be saved; it stays mapped then.
 */
bool vgpu_hws_take_off(struct vgpu_model *m, u32 xcc, const struct vgpu_rl_entry *e, bool save, u64 *bytes, u64 *ns)
{
	struct vgpu_queue *q = hws_mapped_queue(m, xcc, e);

	if (!q)
		return true;
	if (save && hws_fails(m, q, BY_REQUEST)) {
		*ns += PREEMPTION_TIMEOUT_NS;
		return false;
	}
	*bytes += vgpu_queue_unmap(m, q, save);
	return true;
}

/* Moves the window of mapped entries of an XCC on */
static void hws_rotate(struct vgpu_model *m, u32 xcc)
{
	struct vgpu_runlist *rl = &m->xcc[xcc].runlist;
	u64 ns = hws_unmap_queues(m, xcc, true, false, 0, true, BY_QUANTUM);

	m->stats.rotations++;
	hws_free_vmids(m, xcc);
	rl->pos = (rl->pos + (rl->mapped ? rl->mapped : 1)) % rl->entries;
	hws_map_window(m, xcc, m->now_ns + ns);
}

/* Firmware that does not know what was unmapped by its name goes through its list. */
static void hws_map_again(struct vgpu_model *m, u32 xcc)
{
	struct vgpu_runlist *rl = &m->xcc[xcc].runlist;

	rl->again_ns = 0;
	if (rl->entries)
		hws_map_window(m, xcc, m->now_ns);
}

/*
 * The XCCs of a partition take turns together, when the last one's quantum is over. Return: when,
 * U64_MAX: never
 */
static u64 hws_partition_quantum_end(const struct vgpu_model *m, u32 first, u32 xccs)
{
	u64 end = U64_MAX;
	u32 xcc;

	for (xcc = first; xcc < first + xccs && xcc < m->config.xccs; xcc++) {
		const struct vgpu_runlist *rl = &m->xcc[xcc].runlist;

		if (rl->oversubscribed && (end == U64_MAX || rl->quantum_end_ns > end))
			end = rl->quantum_end_ns;
	}
	return end;
}

/** vgpu_hws_next_event() - when a quantum ends, U64_MAX if nothing has to take turns */
u64 vgpu_hws_next_event(struct vgpu_model *m)
{
	u64 next = U64_MAX, end;
	u32 xcc, n;

	for (xcc = 0; xcc < m->config.xccs; xcc += n) {
		n = vgpu_xccs_in_partition(m, xcc);
		end = hws_partition_quantum_end(m, xcc, n);
		if (end < next)
			next = end;
	}
	for (xcc = 0; xcc < m->config.xccs; xcc++)
		if (m->xcc[xcc].runlist.again_ns && m->xcc[xcc].runlist.again_ns < next)
			next = m->xcc[xcc].runlist.again_ns;
	return next;
}

/*
 * Are there waves whose steps ended by then, and the model has not come to it? On a slow CPU going
 * on to the next window takes it longer than a turn, so turns would be over before any wave got
 * anywhere. Device time slips for turns as it does for waves.
 */
static bool hws_waves_are_late(const struct vgpu_model *m, u64 end)
{
	return !vgpu_list_empty(&m->groups) && container_of(m->groups.next, struct vgpu_group, link)->end_ns <= end;
}

/** vgpu_hws_quantum() - move the windows of mapped entries whose time is over */
void vgpu_hws_quantum(struct vgpu_model *m)
{
	u32 first, xcc, n;
	u64 end;

	for (xcc = 0; xcc < m->config.xccs; xcc++)
		if (m->xcc[xcc].runlist.again_ns && m->now_ns >= m->xcc[xcc].runlist.again_ns)
			hws_map_again(m, xcc);
	for (first = 0; first < m->config.xccs; first += n) {
		n = vgpu_xccs_in_partition(m, first);
		end = hws_partition_quantum_end(m, first, n);
		if (m->now_ns < end || hws_waves_are_late(m, end))
			continue;
		for (xcc = first; xcc < first + n && xcc < m->config.xccs; xcc++)
			if (m->xcc[xcc].runlist.oversubscribed)
				hws_rotate(m, xcc);
	}
}

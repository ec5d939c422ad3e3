// SPDX-License-Identifier: MIT
/*
 * isa_waves.c - workgroups that execute machine code on a compute unit, and how they are saved
 *
 * A workgroup runs a slice at a time, a few instructions of each of its waves; the next slice is
 * due when the device would have executed this one, or now, if the model is slower than that.
 * Between two slices a workgroup may be saved. One that is due at once follows immediately, in the
 * same event: events, and looking for a page, cost more than instructions.
 */
#include "model.h"
#include "isa.h"
#include "save_area.h"

#define SLICE			4u		/* instructions of a wave; interpreting them takes longer than they do, and none is saved meanwhile */
#define LATE_SLICE		16u		/* the same of slices that follow immediately */
#define LATE_SLICES		16u		/* how many of them; then it is another workgroup's turn */
#define LATE_NS			4096u		/* when many are late, as many as can be are due at the same time: each time costs an event */
#define SHARED_BASE		(1ULL << 48)	/* apertures as amdkfd sets them up */
#define PRIVATE_BASE		(2ULL << 48)
#define VGPR_BYTES		(VGPU_LANES * 4)
#define POISON			0x6b

/* The interrupt of s_sendmsg: 24 bits of data in two words, and where the wave is */
#define SRC_SQ_INTERRUPT_MSG	239
#define MESSAGE_WORD0(data)	(((data) & 0xfff) | ((data) >> 12 & 0xf) << 28)
#define MESSAGE_WORD1(data)	((data) >> 16)
#define MESSAGE_PRIVILEGED	(1u << 13)	/* from a trap handler */
#define MESSAGE_SIMD(simd)	((simd) << 18)
#define MESSAGE_CU(cu)		(((cu) & 0xf) << 20)
#define MESSAGE_SE(se)		(((se) & 3) << 24)
#define MESSAGE_INSTRUCTION	(1u << 26)
#define MESSAGE_EXCEPTION(e)	(1u << ((e) - 1 + 10))	/* as trap handlers do it, above the index of the doorbell */

static void *waves_ptr(void *ctx, u64 va, u32 len, u32 access)
{
	const struct vgpu_group *g = ctx;
	struct vgpu_model *m = g->wg->m;
	void *p;

	m->client = access == VGPU_EXECUTE ? VGPU_UTCL2_SQC_INST : VGPU_UTCL2_TCP;
	m->retry = vgpu_queue_retries(m, g->d->q);
	m->retried = false;
	if (access == VGPU_EXECUTE)
		p = vgpu_vm_fetch(m, vgpu_queue_as(g->d->q), va, len);
	else
		p = vgpu_vm_ptr(m, vgpu_queue_as(g->d->q), va, len, access == VGPU_WRITE);
	m->client = VGPU_UTCL2_CPC;
	m->retry = false;
	return m->retried ? VGPU_ISA_AGAIN : p;
}

/**
 * vgpu_workgroup_alloc() - room for the waves of a workgroup
 * @m: the device
 * @d: their dispatch
 * @waves: how many
 *
 * Return: all zero but for what leads from one to the other; NULL without memory.
 */
struct vgpu_workgroup *vgpu_workgroup_alloc(struct vgpu_model *m, const struct vgpu_dispatch *d, u32 waves)
{
	u64 bytes = sizeof(struct vgpu_workgroup) + (u64)waves * (sizeof(struct vgpu_wave) + d->vgprs * VGPR_BYTES) + d->lds_bytes;
	struct vgpu_workgroup *wg = vgpu_zalloc(bytes);
	u32 i;

	if (!wg)
		return NULL;
	wg->m = m;
	wg->bytes = bytes;
	wg->waves = waves;
	wg->lds = (u8 *)(wg->wave + waves);
	for (i = 0; i < waves; i++) {
		wg->wave[i].v = (u32 *)(wg->lds + d->lds_bytes + (u64)i * d->vgprs * VGPR_BYTES);
		wg->wave[i].scratch_slot = VGPU_NO_SLOT;
	}
	return wg;
}

static void waves_free_slots(struct vgpu_queue *q, const struct vgpu_workgroup *wg)
{
	u32 i, slot;

	for (i = 0; i < wg->waves; i++) {
		slot = wg->wave[i].scratch_slot;
		if (slot != VGPU_NO_SLOT)
			q->scratch_used[slot / 64] &= ~(1ULL << slot % 64);
	}
}

/*
 * Scratch memory belongs to a wave from its start to its end, wherever it runs. Return: false if
 * all of it is in use.
 */
static bool waves_take_slot(const struct vgpu_model *m, struct vgpu_queue *q,
			    const struct vgpu_dispatch *d, struct vgpu_wave *w)
{
	u32 slots = d->scratch_waves / d->xccs, first = slots * d->xcc, slot;

	if (slots > m->config.se * VGPU_WAVE_SCRATCH_IDS)
		slots = m->config.se * VGPU_WAVE_SCRATCH_IDS;
	for (slot = first; slot < first + slots && slot < VGPU_SCRATCH_SLOTS; slot++)
		if (!(q->scratch_used[slot / 64] >> slot % 64 & 1)) {
			q->scratch_used[slot / 64] |= 1ULL << slot % 64;
			w->scratch_slot = slot;
			return true;
		}
	return false;
}

/**
 * vgpu_workgroup_start() - the waves of a workgroup, before their first instruction
 * @m: the device
 * @d: their dispatch
 * @own: number of the workgroup among those of this XCC
 * @waves: how many it has
 *
 * Return: NULL without memory, or scratch memory for them.
 */
struct vgpu_workgroup *vgpu_workgroup_start(struct vgpu_model *m, struct vgpu_dispatch *d, u32 own, u32 waves)
{
	struct vgpu_workgroup *wg = vgpu_workgroup_alloc(m, d, waves);
	u32 workgroup[3], i;

	if (!wg)
		return NULL;
	vgpu_dispatch_workgroup(d, own, workgroup);
	for (i = 0; i < waves; i++) {
		struct vgpu_wave *w = &wg->wave[i];

		if (d->scratch_waves && !waves_take_slot(m, d->q, d, w)) {
			vgpu_workgroup_free(d->q, wg);
			return NULL;
		}
		vgpu_isa_start(w, &d->code, &d->launch, workgroup, i, d->scratch_waves ? w->scratch_slot * d->scratch_wave_bytes : 0);
		w->mode |= vgpu_isa_exceptions(&d->code, m->xcc[d->q->xcc].vmid[d->q->vmid].traps);
	}
	return wg;
}

/**
 * vgpu_workgroup_free() - a workgroup has ended, or its state is elsewhere; nothing of it can be
 * used any more
 */
void vgpu_workgroup_free(struct vgpu_queue *q, struct vgpu_workgroup *wg)
{
	waves_free_slots(q, wg);
	memset(wg, POISON, wg->bytes);
	vgpu_free(wg);
}

static u32 waves_resident(struct vgpu_model *m, const struct vgpu_group *g, u32 wave)
{
	return m->config.waves_per_simd - m->xcc[g->d->q->xcc].simd[g->simd[wave]].waves;
}

/* From a trap handler */
static void waves_send_message(void *ctx, const struct vgpu_wave *w, u32 data)
{
	const struct vgpu_group *g = ctx;
	const struct vgpu_queue *q = g->d->q;
	struct vgpu_model *m = g->wg->m;
	u32 simd = g->simd[w - g->wg->wave], cu = simd / m->config.simds_per_cu, se = cu % m->config.se, iv[VGPU_IV_DWORDS];

	vgpu_iv_fill(iv, VGPU_CLIENT_SE0SH + (se & 3), SRC_SQ_INTERRUPT_MSG, 0, q->vmid, vgpu_ih_pasid(m, q->hub, q->vmid));
	iv[3] |= vgpu_hub_node(m, q->hub) << 16;
	iv[4] = MESSAGE_WORD0(data) | MESSAGE_PRIVILEGED | MESSAGE_SIMD(simd % m->config.simds_per_cu) | MESSAGE_CU(cu / m->config.se) |
		MESSAGE_SE(se) | MESSAGE_INSTRUCTION;
	iv[5] = MESSAGE_WORD1(data);
	vgpu_ih_push(m, iv);
}

static void waves_log_exception(struct vgpu_model *m, const struct vgpu_group *g,
				const struct vgpu_wave *w, const struct vgpu_isa *x)
{
	m->stats.wave_exceptions++;
	vgpu_err("wave at pc %#llx of pasid %u: %s: %#010x %#010x", (unsigned long long)w->pc, g->d->q->pasid, x->why, x->words[0],
		 x->words[1]);
}

/*
 * The first level is the driver's, which does the same for each process: its memory says where the
 * second level is. Without the place for saved waves the driver has no first level.
 */
static bool waves_trap_handler(void *ctx, const struct vgpu_isa *x, const struct vgpu_wave *w,
			       struct vgpu_handler *h)
{
	const struct vgpu_group *g = ctx;
	const struct vgpu_queue *q = g->d->q;
	struct vgpu_model *m = g->wg->m;
	u64 memory = vgpu_regs_tma(m, q->xcc, q->vmid), words[3];
	u32 as = vgpu_queue_as(q);

	if (!memory || !vgpu_hqd_get(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_CNTL_STACK_SIZE) || !vgpu_vm_mapped(m, as, memory) ||
	    !vgpu_vm_read(m, as, memory, words, sizeof(words)) || !words[0])
		return false;
	if (w->exception)
		waves_log_exception(m, g, w, x);
	h->code = words[0];
	h->memory = words[1];
	h->debugged = words[2] & 1;
	return true;
}

/*
 * A wave has halted after an exception, or because its trap handler wants that. What no trap handler
 * has seen is told as the runtime's would: memory has been reported as a GPUVM fault; the rest stops
 * the queue.
 */
static void waves_report(struct vgpu_model *m, struct vgpu_group *g, const struct vgpu_wave *w,
			 const struct vgpu_isa *x)
{
	if (!w->exception)
		return;
	waves_log_exception(m, g, w, x);
	if (w->exception == VGPU_WAVE_MEMORY_VIOLATION)
		return;
	waves_send_message(g, w, x->doorbell | MESSAGE_EXCEPTION(w->exception));
	vgpu_queue_error(m, g->d->q, (enum vgpu_exception)w->exception, x->why, x->words[0] | (u64)x->words[1] << 32);
}

/*
 * A slice of @count instructions of each wave. Return: the wave that halted, or NULL; the next
 * slice is due at g->end_ns then.
 */
static struct vgpu_wave *waves_slice(struct vgpu_model *m, struct vgpu_group *g,
				     struct vgpu_isa *x, u32 count, u32 *ended)
{
	u64 cost = 0, wake = U64_MAX, ns;
	struct vgpu_workgroup *wg = g->wg;
	u32 i, done;

	*ended = 0;
	x->now_ns = vgpu_now_ns(m);
	x->clock = x->now_ns * m->config.sclk_mhz / 1000;
	for (i = 0; i < wg->waves; i++) {
		struct vgpu_wave *w = &wg->wave[i];

		x->cycles = 0;
		done = vgpu_isa_run(x, w, count);
		m->stats.instructions += done;
		m->executed += done;
		m->budget -= m->budget < done * VGPU_INSTRUCTION_STEPS ? m->budget : done * VGPU_INSTRUCTION_STEPS;
		if (w->state == VGPU_WAVE_HALTED)
			return w;
		*ended += w->state == VGPU_WAVE_ENDED;
		ns = x->cycles * waves_resident(m, g, i) * 1000 / m->config.sclk_mhz;
		cost = ns > cost ? ns : cost;
	}
	vgpu_isa_barrier(wg->wave, wg->waves);
	for (i = 0; i < wg->waves; i++)
		if (wg->wave[i].state == VGPU_WAVE_RUNS && wg->wave[i].wake_ns < wake)
			wake = wg->wave[i].wake_ns;
	g->end_ns = x->now_ns + (cost ? cost : 1);
	if (wake != U64_MAX && wake > g->end_ns)
		g->end_ns = wake;
	return NULL;
}

/* Watch points of a queue's process */
static void waves_find_watches(struct vgpu_model *m, const struct vgpu_queue *q, struct vgpu_isa *x)
{
	const struct vgpu_vmid *v = &m->xcc[q->xcc].vmid[q->vmid];
	u32 reg = vgpu_xcc_regs(&m->config, q->xcc) + VGPU_TCP_WATCH0_ADDR_HI, n;

	for (n = 0; n < VGPU_WATCHES; n++, reg += VGPU_TCP_WATCH_REGS)
		if (v->watch[n] & VGPU_WATCH_VALID)
			x->watch[x->watches++] = (struct vgpu_watch) {
				.va = (u64)(vgpu_reg(m, reg) & 0xffff) << 32 | vgpu_reg(m, reg + 1),
				.mask = VGPU_WATCH_MASK(v->watch[n], m->config.asic->watch_shift),
				.mode = VGPU_WATCH_MODE(v->watch[n]),
				.trapsts = VGPU_TRAPSTS_WATCH(n),
			};
}

/* Is another slice of it due, and is there time for that? */
static bool waves_follows(struct vgpu_model *m, const struct vgpu_group *g)
{
	u64 now = vgpu_now_ns(m);

	return g->end_ns <= now && now < m->run_until_ns && m->budget;
}

/**
 * vgpu_workgroup_run() - execute a slice of a workgroup, or more if they are due
 * @m: the device
 * @g: the group that it is; its next slice is due at g->end_ns then
 *
 * Return: what became of it.
 */
enum vgpu_workgroup_state vgpu_workgroup_run(struct vgpu_model *m, struct vgpu_group *g)
{
	u32 as = vgpu_queue_as(g->d->q), n = 0, ended, generation = vgpu_tlb_generation(m, VGPU_AS_HUB(as), VGPU_AS_VMID(as)), now;
	struct vgpu_workgroup *wg = g->wg;
	struct vgpu_isa x = {
		.ctx = g, .gfx942 = m->config.asic->gfx942, .ptr = waves_ptr, .retry = vgpu_queue_retries(m, g->d->q),
		.lds = wg->lds, .lds_bytes = g->d->lds_bytes,
		.shared_base = SHARED_BASE, .private_base = PRIVATE_BASE, .unkept = m->nothing,
		.gws = g->d->q->gws ? m->xcc[g->d->q->xcc].gws : NULL, .simd = vgpu_simd_begin(),
		.handler = waves_trap_handler, .message = waves_send_message, .doorbell = vgpu_queue_doorbell_index(g->d->q),
	};
	struct vgpu_wave *halted;

	if (m->xcc[g->d->q->xcc].vmid[g->d->q->vmid].watched)
		waves_find_watches(m, g->d->q, &x);
	do {
		halted = waves_slice(m, g, &x, n ? LATE_SLICE : SLICE, &ended);
		now = vgpu_tlb_generation(m, VGPU_AS_HUB(as), VGPU_AS_VMID(as));
		if (now != generation)
			memset(x.page, 0, sizeof(x.page));
		generation = now;
	} while (!halted && ended < wg->waves && n++ < LATE_SLICES && waves_follows(m, g));
	if (x.simd)
		vgpu_simd_end();
	if (n > 1)
		g->end_ns = (g->end_ns + LATE_NS - 1) & ~(u64)(LATE_NS - 1);
	if (halted) {
		waves_report(m, g, halted, &x);
		return VGPU_WORKGROUP_HALTED;
	}
	return ended == wg->waves ? VGPU_WORKGROUP_ENDED : VGPU_WORKGROUP_RUNS;
}

/**
 * vgpu_wave_save() - write a wave to the save area, but for the LDS
 * @m: the device
 * @as: address space
 * @va: where vgpu_saved_wave_bytes() of it are free
 * @d: its dispatch
 * @w: the wave
 *
 * A wave that sleeps wakes up for that. One at a barrier will come there again: the others of its
 * workgroup cannot have left it. One in a trap handler is saved there.
 *
 * Return: false if that is not mapped.
 */
bool vgpu_wave_save(struct vgpu_model *m, u32 as, u64 va, const struct vgpu_dispatch *d, struct vgpu_wave *w)
{
	u64 pc = w->state == VGPU_WAVE_BARRIER ? w->pc - 4 : w->pc;
	struct vgpu_saved_hwregs r = {
		.m0 = w->s[VGPU_S_M0], .pc = { (u32)pc, (u32)(pc >> 32) }, .exec = { w->s[VGPU_S_EXEC], w->s[VGPU_S_EXEC + 1] },
		.status = vgpu_wave_status(w), .trapsts = w->trapsts, .xnack_mask = { w->s[VGPU_S_XNACK_MASK], w->s[VGPU_S_XNACK_MASK + 1] },
		.mode = w->mode,
	};
	u32 s[VGPU_SAVED_SGPRS] = { 0 };

	if (w->state == VGPU_WAVE_HALTED)
		r.status |= VGPU_STATUS_HALT;
	memcpy(r.ttmp, w->s + VGPU_S_TTMP, sizeof(r.ttmp));
	memcpy(s, w->s, VGPU_NUMBERED_SGPRS * 4);
	return vgpu_vm_write(m, as, va, w->v, (u64)d->vgprs * VGPU_SAVED_VGPR_BYTES) &&
	       vgpu_vm_write(m, as, va + d->vgprs * VGPU_SAVED_VGPR_BYTES, s, sizeof(s)) &&
	       vgpu_vm_write(m, as, va + vgpu_saved_hwregs_at(d->vgprs), &r, sizeof(r));
}

/**
 * vgpu_wave_restore() - read a wave from the save area, but for the LDS
 * @m: the device
 * @as: address space
 * @va: where it was saved
 * @d: its dispatch
 * @r: its hardware registers, which are there, too
 * @w: the wave
 *
 * Return: false if that is not mapped.
 */
bool vgpu_wave_restore(struct vgpu_model *m, u32 as, u64 va, const struct vgpu_dispatch *d, const struct vgpu_saved_hwregs *r,
		       struct vgpu_wave *w)
{
	u32 s[VGPU_SAVED_SGPRS];

	if (!vgpu_vm_read(m, as, va, w->v, (u64)d->vgprs * VGPU_SAVED_VGPR_BYTES) ||
	    !vgpu_vm_read(m, as, va + d->vgprs * VGPU_SAVED_VGPR_BYTES, s, sizeof(s)))
		return false;
	memcpy(w->s, s, VGPU_NUMBERED_SGPRS * 4);
	memcpy(w->s + VGPU_S_TTMP, r->ttmp, sizeof(r->ttmp));
	memcpy(w->s + VGPU_S_XNACK_MASK, r->xnack_mask, sizeof(r->xnack_mask));
	memcpy(w->s + VGPU_S_EXEC, r->exec, sizeof(r->exec));
	w->s[VGPU_S_M0] = r->m0;
	w->pc = r->pc[0] | (u64)r->pc[1] << 32;
	w->status = r->status & ~VGPU_STATUS_DERIVED;
	w->trapsts = r->trapsts;
	w->mode = r->mode;
	w->state = VGPU_WAVE_RUNS;
	w->exception = VGPU_WAVE_OK;
	if ((w->status & VGPU_STATUS_HALT) && !(w->status & VGPU_STATUS_PRIV)) {
		w->status &= ~VGPU_STATUS_HALT;
		w->state = VGPU_WAVE_HALTED;
	}
	w->vgprs = d->vgprs;
	w->acc = d->acc;
	return true;
}

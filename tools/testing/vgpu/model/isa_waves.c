// SPDX-License-Identifier: MIT
/*
 * isa_waves.c - workgroups that execute machine code on a compute unit, and how they are saved
 *
 * A workgroup runs a slice at a time, a few instructions of each of its waves; the next slice is due when the device would have executed
 * this one, or now, if the model is slower than that. Between two slices a workgroup may be saved. What is saved of a wave lies in its
 * part of the save area as the trap handler of the driver places it: vector registers, scalar registers, hardware registers, and behind
 * those of a workgroup's first wave the LDS. The hardware registers have room for more than the handler writes; what the model needs to
 * find its way back is there.
 */
#include "model.h"
#include "isa.h"

#define SLICE			8u		/* instructions of a wave; interpreting them takes longer than they do, and nobody is saved meanwhile */
#define SHARED_BASE		(1ULL << 48)	/* apertures as amdkfd sets them up */
#define PRIVATE_BASE		(2ULL << 48)
#define CLOCKS(ns)		((ns) * 17 / 10)	/* 1.7 GHz, MI210's peak engine clock */
#define NANOSECONDS(clocks)	((clocks) * 10 / 17)
#define VGPR_BYTES		(VGPU_LANES * 4)
#define POISON			0x6b
#define RECORD_MAGIC		0x65766177u	/* "wave" */

/* Hardware registers of a saved wave */
struct saved_wave {
	u32 m0;
	u32 pc[2];
	u32 exec[2];
	u32 status;
	u32 exception;
	u32 xnack_mask[2];
	u32 mode;
	u32 magic;
	u32 state;
	u32 vgprs;
	u32 acc;
	u32 scratch_slot;
	u32 dispatch;
	u32 wave;
	u32 reserved;
	u64 sleep_ns;
};

static void *wave_ptr(void *ctx, u64 va, u32 len, u32 access)
{
	const struct vgpu_group *g = ctx;
	struct vgpu_model *m = g->wg->m;
	void *p;

	m->client = access == VGPU_EXECUTE ? VGPU_UTCL2_SQC_INST : VGPU_UTCL2_TCP;
	if (access == VGPU_EXECUTE)
		p = vgpu_vm_fetch(m, vgpu_queue_as(g->d->q), va, len);
	else
		p = vgpu_vm_ptr(m, vgpu_queue_as(g->d->q), va, len, access == VGPU_WRITE);
	m->client = VGPU_UTCL2_CPC;
	return p;
}

static struct vgpu_workgroup *allocate(struct vgpu_model *m, const struct vgpu_dispatch *d, u32 waves)
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

static void free_slots(struct vgpu_queue *q, const struct vgpu_workgroup *wg)
{
	u32 i, slot;

	for (i = 0; i < wg->waves; i++) {
		slot = wg->wave[i].scratch_slot;
		if (slot != VGPU_NO_SLOT)
			q->scratch_used[slot / 64] &= ~(1ULL << slot % 64);
	}
}

/* Scratch memory belongs to a wave from its start to its end, wherever it runs. Return: false if all of it is in use. */
static bool take_slot(struct vgpu_queue *q, const struct vgpu_dispatch *d, struct vgpu_wave *w)
{
	u32 slots = d->scratch_waves / d->xccs, first = slots * d->xcc, slot;

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
 * @workgroup: number of the workgroup in the whole grid
 * @waves: how many it has
 *
 * Return: NULL without memory, or scratch memory for them.
 */
struct vgpu_workgroup *vgpu_workgroup_start(struct vgpu_model *m, struct vgpu_dispatch *d, u32 workgroup, u32 waves)
{
	const struct vgpu_isa_launch *l = &d->launch;
	struct vgpu_workgroup *wg = allocate(m, d, waves);
	u32 n[3], id[3], i;

	if (!wg)
		return NULL;
	for (i = 0; i < 3; i++)
		n[i] = (l->grid[i] + l->workgroup[i] - 1) / l->workgroup[i];
	id[0] = workgroup % n[0];
	id[1] = workgroup / n[0] % n[1];
	id[2] = workgroup / n[0] / n[1];
	for (i = 0; i < waves; i++) {
		struct vgpu_wave *w = &wg->wave[i];

		if (d->scratch_waves && !take_slot(d->q, d, w)) {
			vgpu_workgroup_free(d->q, wg);
			return NULL;
		}
		vgpu_isa_start(w, &d->code, l, id, i, d->scratch_waves ? w->scratch_slot * d->scratch_wave_bytes : 0);
	}
	return wg;
}

/** vgpu_workgroup_free() - a workgroup has ended, or its state is elsewhere; nothing of it can be used any more */
void vgpu_workgroup_free(struct vgpu_queue *q, struct vgpu_workgroup *wg)
{
	free_slots(q, wg);
	memset(wg, POISON, wg->bytes);
	vgpu_free(wg);
}

static u32 resident(struct vgpu_model *m, const struct vgpu_group *g, u32 wave)
{
	return m->config.waves_per_simd - m->xcc[g->d->q->xcc].simd[g->simd[wave]].waves;
}

/* A wave raised an exception. Memory has been reported as a GPUVM fault; the rest stops the queue. */
static void report(struct vgpu_model *m, const struct vgpu_group *g, const struct vgpu_wave *w, const struct vgpu_isa *x)
{
	m->stats.wave_exceptions++;
	vgpu_err("wave at pc %#llx of pasid %u: %s: %#010x %#010x", (unsigned long long)w->pc, g->d->q->pasid, x->why, x->words[0],
		 x->words[1]);
	if (w->exception != VGPU_WAVE_MEMORY_VIOLATION)
		vgpu_queue_error(m, g->d->q, (enum vgpu_exception)w->exception, x->why, x->words[0] | (u64)x->words[1] << 32);
}

/**
 * vgpu_workgroup_run() - execute a slice of a workgroup
 * @m: the device
 * @g: the group that it is; its next slice is due at g->end_ns then
 *
 * Return: what became of it.
 */
enum vgpu_workgroup_state vgpu_workgroup_run(struct vgpu_model *m, struct vgpu_group *g)
{
	u64 now = vgpu_now_ns(m), cost = 0, wake = U64_MAX, ns;
	struct vgpu_workgroup *wg = g->wg;
	struct vgpu_isa x = {
		.ctx = g, .gfx942 = m->config.asic->gfx942, .ptr = wave_ptr, .clock = 0, .lds = wg->lds, .lds_bytes = g->d->lds_bytes,
		.shared_base = SHARED_BASE, .private_base = PRIVATE_BASE,
	};
	u32 i, done, ended = 0;

	x.now_ns = now;
	for (i = 0; i < wg->waves; i++) {
		struct vgpu_wave *w = &wg->wave[i];

		x.cycles = 0;
		x.clock = CLOCKS(now);
		done = vgpu_isa_run(&x, w, SLICE);
		m->stats.instructions += done;
		m->executed += done;
		m->budget -= m->budget < done * VGPU_INSTRUCTION_STEPS ? m->budget : done * VGPU_INSTRUCTION_STEPS;
		if (w->state == VGPU_WAVE_HALTED) {
			report(m, g, w, &x);
			return VGPU_WORKGROUP_HALTED;
		}
		ended += w->state == VGPU_WAVE_ENDED;
		ns = NANOSECONDS(x.cycles * resident(m, g, i));
		cost = ns > cost ? ns : cost;
	}
	if (ended == wg->waves)
		return VGPU_WORKGROUP_ENDED;
	vgpu_isa_barrier(wg->wave, wg->waves);
	for (i = 0; i < wg->waves; i++)
		if (wg->wave[i].state == VGPU_WAVE_RUNS && wg->wave[i].wake_ns < wake)
			wake = wg->wave[i].wake_ns;
	g->end_ns = now + (cost ? cost : 1);
	if (wake != U64_MAX && wake > g->end_ns)
		g->end_ns = wake;
	return VGPU_WORKGROUP_RUNS;
}

static u32 lds_bytes(const struct vgpu_dispatch *d, u32 wave)
{
	return wave % d->wg_waves ? 0 : d->lds_bytes;
}

/**
 * vgpu_wave_saved_bytes() - what a wave of a workgroup takes in the save area
 * @d: its dispatch
 * @wg: its workgroup
 * @i: which wave of it
 *
 * Of one that has ended only the hardware registers remain, and the LDS if it was the first.
 */
u32 vgpu_wave_saved_bytes(const struct vgpu_dispatch *d, const struct vgpu_workgroup *wg, u32 i)
{
	u32 registers = wg->wave[i].state == VGPU_WAVE_ENDED ? 0 : d->vgprs * VGPR_BYTES + VGPU_WAVE_SGPRS * 4;

	return registers + VGPU_WAVE_HWREG_BYTES + lds_bytes(d, i);
}

/**
 * vgpu_wave_save() - write a wave to the save area
 * @m: the device
 * @as: address space
 * @va: where vgpu_wave_saved_bytes() of it are free
 * @g: its group
 * @i: which wave of the group
 * @dispatch: number of its dispatch among those in flight
 *
 * Return: false if that is not mapped.
 */
bool vgpu_wave_save(struct vgpu_model *m, u32 as, u64 va, const struct vgpu_group *g, u32 i, u32 dispatch)
{
	const struct vgpu_wave *w = &g->wg->wave[i];
	struct saved_wave r = {
		.m0 = w->s[VGPU_S_M0], .pc = { (u32)w->pc, (u32)(w->pc >> 32) },
		.exec = { w->s[VGPU_S_EXEC], w->s[VGPU_S_EXEC + 1] }, .status = w->status, .exception = w->exception, .mode = w->mode,
		.magic = RECORD_MAGIC, .state = w->state, .vgprs = w->vgprs, .acc = w->acc, .scratch_slot = w->scratch_slot,
		.dispatch = dispatch, .wave = g->first + i, .sleep_ns = w->wake_ns > m->now_ns ? w->wake_ns - m->now_ns : 0,
	};
	bool ok = true;

	if (w->state != VGPU_WAVE_ENDED) {
		ok = vgpu_vm_write(m, as, va, w->v, (u64)g->d->vgprs * VGPR_BYTES);
		va += g->d->vgprs * VGPR_BYTES;
		ok = ok && vgpu_vm_write(m, as, va, w->s, sizeof(w->s));
		va += sizeof(w->s);
	}
	ok = ok && vgpu_vm_write(m, as, va, &r, sizeof(r));
	va += VGPU_WAVE_HWREG_BYTES;
	return ok && (!lds_bytes(g->d, i) || vgpu_vm_write(m, as, va, g->wg->lds, g->d->lds_bytes));
}

/* What memory says of a wave that has registers, or of one that has ended. Return: false if it says nothing that makes sense */
static bool read_record(struct vgpu_model *m, u32 as, u64 va, const struct vgpu_dispatch *d, u32 dispatch, struct saved_wave *r)
{
	return vgpu_vm_read(m, as, va, r, sizeof(*r)) && r->magic == RECORD_MAGIC && r->dispatch == dispatch &&
	       r->wave < (d->workgroups - 1) * d->wg_waves + d->last_wg_waves && r->state <= VGPU_WAVE_HALTED &&
	       r->vgprs <= d->vgprs && r->acc <= 512 &&
	       (r->scratch_slot == VGPU_NO_SLOT || r->scratch_slot < VGPU_SCRATCH_SLOTS);
}

/**
 * vgpu_wave_restore() - read a wave from the save area
 * @m: the device
 * @as: address space
 * @va: where vgpu_wave_save() put it
 * @d: its dispatch
 * @dispatch: number of that among those in flight
 * @ended: it had ended
 * @last: group of the workgroup that the wave before it was of, NULL: none
 *
 * Return: its group, which is new if the wave is the first of a workgroup; NULL if memory does not hold such a wave.
 */
struct vgpu_group *vgpu_wave_restore(struct vgpu_model *m, u32 as, u64 va, struct vgpu_dispatch *d, u32 dispatch, bool ended,
				     struct vgpu_group *last)
{
	u32 registers = ended ? 0 : d->vgprs * VGPR_BYTES, slot;
	u64 record = va + registers + (ended ? 0 : VGPU_WAVE_SGPRS * 4);
	struct vgpu_group *g = last;
	struct vgpu_wave *w;
	struct saved_wave r;
	bool ok = true;

	if (!read_record(m, as, record, d, dispatch, &r) || ended != (r.state == VGPU_WAVE_ENDED))
		return NULL;
	if (!(r.wave % d->wg_waves)) {
		g = vgpu_group_get(m);
		if (!g)
			return NULL;
		g->d = d;
		g->first = r.wave;
		g->waves = 0;
		g->step = 0;
		g->left_ns = 0;
		g->waiting = false;
		g->halted = false;
		g->wg = allocate(m, d, r.wave / d->wg_waves + 1 == d->workgroups ? d->last_wg_waves : d->wg_waves);
		ok = g->wg && (!d->lds_bytes || vgpu_vm_read(m, as, record + VGPU_WAVE_HWREG_BYTES, g->wg->lds, d->lds_bytes));
	} else if (!g || g->d != d || !g->wg || g->first + g->waves != r.wave || g->waves == g->wg->waves) {
		return NULL;
	}
	if (ok) {
		w = &g->wg->wave[r.wave - g->first];
		w->pc = r.pc[0] | (u64)r.pc[1] << 32;
		w->wake_ns = r.sleep_ns ? m->now_ns + r.sleep_ns : 0;
		w->status = r.status;
		w->mode = r.mode;
		w->state = r.state;
		w->exception = r.exception;
		w->vgprs = r.vgprs;
		w->acc = r.acc;
		slot = r.scratch_slot;
		if (slot != VGPU_NO_SLOT) {
			w->scratch_slot = slot;
			d->q->scratch_used[slot / 64] |= 1ULL << slot % 64;
		}
		if (!ended)
			ok = vgpu_vm_read(m, as, va, w->v, registers) && vgpu_vm_read(m, as, va + registers, w->s, sizeof(w->s));
		g->halted |= w->state == VGPU_WAVE_HALTED;
		g->waves++;
	}
	if (!ok && g != last) {
		vgpu_group_put(m, g);
		return NULL;
	}
	return ok ? g : NULL;
}

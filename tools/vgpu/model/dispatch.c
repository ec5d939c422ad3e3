// SPDX-License-Identifier: MIT
/*
 * dispatch.c - what dispatches have in common, whichever packet they come from
 *
 * The queue's head dispatch is launched workgroup by workgroup as slots become free. Its packet is
 * consumed when the last one has started, possibly long before the dispatch is complete.
 */
#include "model.h"
#include "aql.h"
#include "../vgpu_kernel.h"

#define MAX_WORKGROUPS		(1ULL << 32)
#define MAX_WORKGROUP_ITEMS	1024u
#define DEFAULT_VGPRS		32u
#define VGPR_GRANULE		8u
#define MAX_ARCH_VGPRS		256u
#define LDS_GRANULE		512u
#define PACKET_BYTES		64u
#define RSRC2_SCRATCH_EN	1u

/**
 * vgpu_dispatch_slot() - where the packet of a dispatch is in the ring, in packets; a PM4 packet is
 * nowhere
 */
u32 vgpu_dispatch_slot(const struct vgpu_dispatch *d, const struct vgpu_queue *q)
{
	return d->index == VGPU_NO_INDEX ? 0 : (u32)(d->index % (q->ring_bytes / PACKET_BYTES));
}

/** vgpu_dispatch_number() - number in the whole grid of workgroup @own of this XCC's share */
u64 vgpu_dispatch_number(const struct vgpu_dispatch *d, u32 own)
{
	return d->xccs == 1 ? own : (u64)own / d->chunk * d->chunk * d->xccs + (u64)d->xcc * d->chunk + own % d->chunk;
}

/** vgpu_dispatch_workgroup() - the same in each dimension */
void vgpu_dispatch_workgroup(const struct vgpu_dispatch *d, u32 own, u32 workgroup[3])
{
	u64 number = vgpu_dispatch_number(d, own);

	workgroup[0] = d->start[0] + (u32)(number % d->groups[0]);
	workgroup[1] = d->start[1] + (u32)(number / d->groups[0] % d->groups[1]);
	workgroup[2] = d->start[2] + (u32)(number / d->groups[0] / d->groups[1]);
}

/** vgpu_dispatch_own_workgroup() - the reverse; Return: false if it is none of this XCC's */
bool vgpu_dispatch_own_workgroup(const struct vgpu_dispatch *d, const u32 workgroup[3], u32 *own)
{
	u32 x = workgroup[0] - d->start[0], y = workgroup[1] - d->start[1], z = workgroup[2] - d->start[2];
	u64 number = x + d->groups[0] * (y + (u64)d->groups[1] * z), n;

	if (x >= d->groups[0] || y >= d->groups[1] || z >= MAX_WORKGROUPS / d->groups[0] / d->groups[1])
		return false;
	n = d->xccs == 1 ? number : number / d->chunk / d->xccs * d->chunk + number % d->chunk;
	*own = (u32)n;
	return n < d->workgroups && vgpu_dispatch_number(d, *own) == number;
}

/*
 * A launch by registers: they say what the scalar registers of its waves begin with, and where
 * their scratch memory is
 */
static void dispatch_parse_registers(const u32 *r, struct vgpu_dispatch *d)
{
	u32 i;

	d->launch.user_sgprs = vgpu_isa_user_sgprs(&d->code);
	for (i = 0; i < d->launch.user_sgprs; i++)
		d->launch.user[i] = r[VGPU_COMPUTE_USER_DATA_0 + i];
	if (!(d->code.rsrc2 & RSRC2_SCRATCH_EN))
		return;
	d->scratch_waves = VGPU_TMPRING_WAVES(r[VGPU_COMPUTE_TMPRING_SIZE]);
	d->scratch_wave_bytes = VGPU_TMPRING_WAVE_BYTES(r[VGPU_COMPUTE_TMPRING_SIZE]);
	d->launch.scratch = (u64)r[VGPU_COMPUTE_SCRATCH_BASE_LO] << 8 | (u64)(r[VGPU_COMPUTE_SCRATCH_BASE_HI] & 0xff) << 40;
}

static void dispatch_parse_machine_code(const struct vgpu_model *m, const struct vgpu_queue *q,
					const struct vgpu_launch *launch, struct vgpu_dispatch *d)
{
	u32 i;

	d->launch = (struct vgpu_isa_launch) {
		.packet = launch->packet,
		.queue = q->rptr_addr - VGPU_QUEUE_RPTR,
		.kernargs = launch->kernargs,
		.dispatch_id = d->index,
		.slot = vgpu_dispatch_slot(d, q),
		.gfx942 = m->config.asic->gfx942,
	};
	for (i = 0; i < 3; i++) {
		d->launch.grid[i] = (u32)launch->grid[i];
		d->launch.workgroup[i] = launch->workgroup[i];
		d->start[i] = launch->start[i];
	}
	if (launch->registers)
		dispatch_parse_registers(launch->registers, d);
}

/*
 * What is at the kernel's address. Code that is launched by registers is not read before its waves
 * fetch it: if it is not there, it is they who find out. A model kernel is it only by its first
 * eight bytes, which make two dot products as instructions. Return: false if that is no kernel, and
 * the queue is in error.
 */
static bool dispatch_find_kernel(struct vgpu_model *m, struct vgpu_queue *q,
				 const struct vgpu_launch *launch, struct vgpu_kernel *k,
				 struct vgpu_dispatch *d)
{
	const u32 *r = launch->registers;
	u32 as = vgpu_queue_as(q);

	if ((!r || vgpu_vm_mapped(m, as, launch->kernel)) && !vgpu_vm_read(m, as, launch->kernel, k, sizeof(*k))) {
		vgpu_queue_error(m, q, VGPU_EC_NONE, "kernel is not mapped", launch->kernel);
		return false;
	}
	/* As a kernel descriptor, a model kernel would want 1.8 GB of LDS. */
	if (k->magic != VGPU_KERNEL_MAGIC && r) {
		d->code = (struct vgpu_kernel_code) {
			.entry = launch->kernel, .rsrc1 = r[VGPU_COMPUTE_PGM_RSRC1], .rsrc2 = r[VGPU_COMPUTE_PGM_RSRC2],
			.rsrc3 = r[VGPU_COMPUTE_PGM_RSRC3],
		};
		d->machine_code = true;
	} else if (k->magic != VGPU_KERNEL_MAGIC) {
		d->machine_code = vgpu_isa_descriptor(k, launch->kernel, &d->code);
	}
	if (d->machine_code) {
		memset(k, 0, sizeof(*k));
		k->vgprs = vgpu_isa_vgpr_count(&d->code);
		k->steps = 1;
		d->acc = vgpu_isa_acc_offset(&d->code);
	} else if (k->magic != VGPU_KERNEL_MAGIC || k->version != VGPU_KERNEL_VERSION || !k->steps) {
		vgpu_queue_error(m, q, VGPU_EC_DISPATCH_CODE, "no kernel", launch->kernel);
		return false;
	}
	return true;
}

/* Return: does a workgroup fit on an empty compute unit? */
bool vgpu_dispatch_fits(struct vgpu_model *m, u32 waves, u32 vgprs, u32 lds_bytes)
{
	u32 per_simd = vgprs > VGPU_SIMD_VGPRS ? 0 : VGPU_SIMD_VGPRS / vgprs;

	if (per_simd > m->config.waves_per_simd)
		per_simd = m->config.waves_per_simd;
	return lds_bytes <= VGPU_CU_LDS_BYTES && waves <= per_simd * m->config.simds_per_cu;
}

/*
 * Finds the scratch memory for a dispatch, of which each lane needs @bytes. The runtime is asked for
 * more if the queue has too little; the packet stays at the head until it has answered. Return:
 * false if there is not enough now.
 */
static bool dispatch_scratch(struct vgpu_model *m, struct vgpu_queue *q, struct vgpu_dispatch *d, u32 bytes)
{
	u64 signal, value;
	u32 tmpring;

	if (q->scratch_asked) {
		if (!vgpu_queue_runtime_read(m, q, QUEUE_INACTIVE, &signal, sizeof(signal)) || !signal ||
		    !vgpu_vm_read64(m, vgpu_queue_as(q), signal + SIGNAL_VALUE, &value) || value)
			return false;
		q->scratch_asked = false;
	}
	if (!vgpu_queue_runtime_read(m, q, QUEUE_TMPRING, &tmpring, sizeof(tmpring)) ||
	    !vgpu_queue_runtime_read(m, q, QUEUE_SCRATCH_SEGMENT, d->launch.segment, sizeof(d->launch.segment)) ||
	    !vgpu_queue_runtime_read(m, q, QUEUE_SCRATCH, &d->launch.scratch, sizeof(d->launch.scratch))) {
		vgpu_queue_error(m, q, VGPU_EC_DISPATCH_REGISTER, "no scratch memory", bytes);
		return false;
	}
	d->launch.scratch_bytes = bytes;
	d->scratch_waves = VGPU_TMPRING_WAVES(tmpring);
	d->scratch_wave_bytes = VGPU_TMPRING_WAVE_BYTES(tmpring);
	if (d->scratch_waves && d->scratch_wave_bytes >= (u64)bytes * VGPU_LANES)
		return true;
	q->scratch_asked = vgpu_queue_runtime_tell(m, q, INACTIVE_SCRATCH);
	if (!q->scratch_asked)
		vgpu_queue_error(m, q, VGPU_EC_DISPATCH_REGISTER, "no scratch memory", bytes);
	return false;
}

/**
 * vgpu_dispatch_parse() - what a packet says of a dispatch
 * @m: the device
 * @q: its queue
 * @launch: the packet's fields
 * @d: filled in, but for what depends on the queue
 *
 * Return: false if the packet describes no dispatch, and the queue is in error; or if it waits for
 * scratch memory.
 */
bool vgpu_dispatch_parse(struct vgpu_model *m, struct vgpu_queue *q, const struct vgpu_launch *launch, struct vgpu_dispatch *d)
{
	u32 as = vgpu_queue_as(q), i, workgroup = 1, last = 1, vgprs;
	struct vgpu_kernargs args = { 0 };
	struct vgpu_kernel k = { 0 };
	u64 groups = 1, count;

	if (!dispatch_find_kernel(m, q, launch, &k, d))
		return false;
	for (i = 0; i < 3; i++) {
		u64 grid = launch->grid[i];
		u32 wg = launch->workgroup[i];

		if (!grid) {
			vgpu_queue_error(m, q, VGPU_EC_DISPATCH_DIM, "empty grid, dimension", i);
			return false;
		}
		if (!wg || wg > MAX_WORKGROUP_ITEMS || workgroup * wg > MAX_WORKGROUP_ITEMS) {
			vgpu_queue_error(m, q, VGPU_EC_DISPATCH_WORK_GROUP, "size of workgroup", wg);
			return false;
		}
		workgroup *= wg;
		last *= !i && grid % wg ? (u32)(grid % wg) : wg;
		count = (grid + wg - 1) / wg - launch->start[i];
		if (i < 2)
			d->groups[i] = (u32)count;
		groups *= count;
		if (grid > U32_MAX || groups >= MAX_WORKGROUPS) {
			vgpu_queue_error(m, q, VGPU_EC_DISPATCH_DIM, "grid is too large", grid);
			return false;
		}
	}
	vgprs = k.vgprs ? k.vgprs : DEFAULT_VGPRS;
	if (vgprs < launch->vgprs)
		vgprs = launch->vgprs;

	d->signal = launch->signal;
	if (d->machine_code) {
		/* Faults are the waves' own. */
		dispatch_parse_machine_code(m, q, launch, d);
		if (launch->private_bytes && !dispatch_scratch(m, q, d, launch->private_bytes))
			return false;
		goto place;
	}
	/* It is the waves that fetch instructions and read arguments. */
	m->client = VGPU_UTCL2_SQC_INST;
	d->halted = !vgpu_vm_executable(m, as, launch->kernel);
	m->client = VGPU_UTCL2_SQC_DATA;
	if (!d->halted && launch->kernargs)
		d->halted = !vgpu_vm_read(m, as, launch->kernargs, &args, sizeof(args));
	m->client = VGPU_UTCL2_CPC;
	d->counters = args.counters;
	d->flag = args.flag;
place:
	d->step_ns = k.step_ns;
	d->steps = k.steps;
	d->vgprs = (vgprs + VGPR_GRANULE - 1) & ~(VGPR_GRANULE - 1);
	if (!d->machine_code)
		d->acc = d->vgprs < MAX_ARCH_VGPRS ? d->vgprs : MAX_ARCH_VGPRS;
	d->lds_bytes = k.lds_bytes > launch->lds_bytes ? k.lds_bytes : launch->lds_bytes;
	d->lds_bytes = (d->lds_bytes + LDS_GRANULE - 1) & ~(LDS_GRANULE - 1);
	d->workgroups = (u32)groups;
	d->wg_waves = (workgroup + VGPU_WAVE_LANES - 1) / VGPU_WAVE_LANES;
	/*
	 * Waves are numbered through; only the last workgroup of a grid in one dimension may be
	 * smaller.
	 */
	d->last_wg_waves = launch->grid[1] == 1 && launch->grid[2] == 1 ?
			   (last + VGPU_WAVE_LANES - 1) / VGPU_WAVE_LANES : d->wg_waves;
	if (!vgpu_dispatch_fits(m, d->wg_waves, d->vgprs, d->lds_bytes)) {
		bool lds = vgpu_dispatch_fits(m, d->wg_waves, d->vgprs, 0);

		vgpu_queue_error(m, q, lds ? VGPU_EC_DISPATCH_GROUP_SEGMENT : VGPU_EC_DISPATCH_REGISTER,
				 "workgroup does not fit on a compute unit", lds ? d->lds_bytes : d->vgprs);
		return false;
	}
	d->hung = vgpu_fault(m, VGPU_FAULT_HUNG_WAVE);
	return true;
}

/**
 * vgpu_dispatch_put() - put a dispatch at the head of its queue
 * @m: the device
 * @q: a queue with no head and room for another dispatch in flight
 * @from: what it is a copy of
 *
 * Return: false without memory.
 */
bool vgpu_dispatch_put(struct vgpu_model *m, struct vgpu_queue *q, const struct vgpu_dispatch *from)
{
	struct vgpu_dispatch *d = vgpu_zalloc(sizeof(*d));

	if (!d)
		return false;
	*d = *from;
	d->q = q;
	vgpu_list_add(&d->link, &q->inflight);
	q->inflight_count++;
	q->head = d;
	/*
	 * A look is dated to its begin, and what it finds may have been rung since: nothing starts
	 * before its doorbell.
	 */
	q->head_ready_ns = (m->now_ns > q->rung_ns ? m->now_ns : q->rung_ns) + m->config.dispatch_ns;
	m->place = true;
	return true;
}

/** vgpu_dispatch_drop() - forget a dispatch that has no waves */
void vgpu_dispatch_drop(struct vgpu_dispatch *d)
{
	struct vgpu_queue *q = d->q;

	vgpu_list_del(&d->link);
	q->inflight_count--;
	if (q->head == d)
		q->head = NULL;
	vgpu_free(d);
}

/** vgpu_dispatch_waves_of() - waves of a workgroup */
u32 vgpu_dispatch_waves_of(const struct vgpu_dispatch *d, u32 workgroup)
{
	return workgroup + 1 == d->workgroups ? d->last_wg_waves : d->wg_waves;
}

/* All waves of @d, a dispatch or an XCC's share of one, have ended */
bool vgpu_dispatch_complete(const struct vgpu_dispatch *d)
{
	return d->waves_done == (d->workgroups - 1) * d->wg_waves + d->last_wg_waves;
}

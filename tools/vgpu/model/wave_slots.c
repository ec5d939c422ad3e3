// SPDX-License-Identifier: MIT
/*
 * wave_slots.c - wave slots and the progress of waves
 *
 * A workgroup needs slots and registers for all its waves, and its LDS, on one compute unit that
 * its queue may use. Pipes with a higher priority start theirs first, and within a pipe queues with
 * a higher priority; equal ones take turns, a workgroup each. A queue whose saved waves wait for
 * slots gives these precedence. Neighbouring waves that start together stay together: a group costs
 * one event per step, whatever its size.
 */
#include "model.h"

#define PIPE_PRIORITIES		3

bool vgpu_waves_init(struct vgpu_model *m)
{
	const struct vgpu_config *c = &m->config;
	struct vgpu_xcc *x;
	u32 i;

	vgpu_list_init(&m->groups);
	vgpu_list_init(&m->waiting);
	vgpu_list_init(&m->halted);
	vgpu_list_init(&m->free_groups);
	if (!c->cus || c->cus > VGPU_MAX_CUS || !c->simds_per_cu || c->cus * c->simds_per_cu > VGPU_MAX_SIMDS || !c->se ||
	    c->se > VGPU_MAX_SE || !c->waves_per_simd || !c->hbm_bytes_per_us)
		return false;
	for (x = m->xcc; x < m->xcc + c->xccs; x++) {
		for (i = 0; i < c->cus * c->simds_per_cu; i++) {
			x->simd[i].waves = (u16)c->waves_per_simd;
			x->simd[i].vgprs = VGPU_SIMD_VGPRS;
		}
		for (i = 0; i < c->cus; i++)
			x->lds_free[i] = VGPU_CU_LDS_BYTES;
	}
	m->slots = c->cus * c->simds_per_cu * c->waves_per_simd;
	return true;
}

void vgpu_waves_fini(struct vgpu_model *m)
{
	while (m->free_groups.next && !vgpu_list_empty(&m->free_groups)) {
		struct vgpu_group *g = container_of(m->free_groups.next, struct vgpu_group, link);

		vgpu_list_del(&g->link);
		vgpu_free(g);
	}
}

/* An unlinked group object, NULL without memory */
struct vgpu_group *vgpu_group_get(struct vgpu_model *m)
{
	struct vgpu_group *g;

	if (vgpu_list_empty(&m->free_groups))
		return vgpu_zalloc(sizeof(*g) + m->slots * sizeof(g->simd[0]));
	g = container_of(m->free_groups.next, struct vgpu_group, link);
	vgpu_list_del(&g->link);
	return g;
}

void vgpu_group_put(struct vgpu_model *m, struct vgpu_group *g)
{
	if (g->wg)
		vgpu_workgroup_free(g->d->q, g->wg);
	g->wg = NULL;
	vgpu_list_add(&g->link, &m->free_groups);
}

static void waves_show_waves(struct vgpu_model *m, struct vgpu_queue *q)
{
	if (q->me == 1)
		vgpu_regs_set_waves(m, q->xcc, q->pipe, q->slot, true, q->waves);
}

/*
 * Takes slots for a workgroup on compute unit @cu. Return: false, and nothing is taken, if there is
 * no room.
 */
static bool waves_take_slots(struct vgpu_model *m, struct vgpu_xcc *x, u32 cu, u32 waves,
			     u32 vgprs, u32 lds_bytes, u16 *simd)
{
	u32 per_cu = m->config.simds_per_cu, first = cu * per_cu, i, s, tries;

	if (x->lds_free[cu] < lds_bytes)
		return false;
	for (i = 0, s = 0; i < waves; i++) {
		for (tries = 0; tries < per_cu; tries++, s = (s + 1) % per_cu)
			if (x->simd[first + s].waves && x->simd[first + s].vgprs >= vgprs)
				break;
		if (tries == per_cu)
			break;
		x->simd[first + s].waves--;
		x->simd[first + s].vgprs -= (u16)vgprs;
		simd[i] = (u16)(first + s);
		s = (s + 1) % per_cu;
	}
	if (i == waves) {
		x->lds_free[cu] -= lds_bytes;
		x->slots_busy += waves;
		x->cu_started[cu] += waves;
		return true;
	}
	while (i--) {
		x->simd[simd[i]].waves++;
		x->simd[simd[i]].vgprs += (u16)vgprs;
	}
	return false;
}

/* Its last wave has gone, or it goes with all of them. */
static void waves_add_busy(struct vgpu_model *m, const struct vgpu_queue *q)
{
	u64 ns = m->now_ns - q->works_ns;

	if (!vgpu_queue_is_user_compute(q))
		return;
	m->stats.busy_ns += ns;
	m->busy_ns[q->pasid < VGPU_PASIDS ? q->pasid : 0] += ns;
}

/* See vgpu_model.h */
u32 vgpu_model_print_busy(struct vgpu_model *m, char *buf, u32 size)
{
	u32 n = 0, pasid;
	struct vgpu_list *l;

	/* What runs now is counted as far as it has come. */
	for (l = m->queues.next; l != &m->queues; l = l->next) {
		struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		if (!q->waves)
			continue;
		waves_add_busy(m, q);
		q->works_ns = m->now_ns;
	}
	for (pasid = 0; pasid < VGPU_PASIDS; pasid++)
		if (m->busy_ns[pasid])
			n += vgpu_snprintf(buf + n, size - n, "%u %llu\n", pasid, (unsigned long long)m->busy_ns[pasid]);
	return n;
}

/** vgpu_waves_release() - give back the slots of a group */
void vgpu_waves_release(struct vgpu_model *m, struct vgpu_group *g)
{
	const struct vgpu_dispatch *d = g->d;
	struct vgpu_xcc *x = &m->xcc[d->q->xcc];
	u32 i;

	for (i = 0; i < g->waves; i++) {
		x->simd[g->simd[i]].waves++;
		x->simd[g->simd[i]].vgprs += (u16)d->vgprs;
		if (!((g->first + i) % d->wg_waves))		/* a group begins with a whole workgroup */
			x->lds_free[g->simd[i] / m->config.simds_per_cu] += d->lds_bytes;
	}
	x->slots_busy -= g->waves;
	d->q->waves -= g->waves;
	if (!d->q->waves)
		waves_add_busy(m, d->q);
	waves_show_waves(m, d->q);
	m->place = true;
}

/** vgpu_waves_slots_busy() - wave slots of the device that are in use */
u32 vgpu_waves_slots_busy(const struct vgpu_model *m)
{
	u32 xcc, busy = 0;

	for (xcc = 0; xcc < m->config.xccs; xcc++)
		busy += m->xcc[xcc].slots_busy;
	return busy;
}

/* Into the list by end of the step; new ends are mostly the latest */
static void waves_insert_by_end(struct vgpu_model *m, struct vgpu_group *g)
{
	struct vgpu_list *l = m->groups.prev;

	while (l != &m->groups && container_of(l, struct vgpu_group, link)->end_ns > g->end_ns)
		l = l->prev;
	vgpu_list_add(&g->link, l->next);
}

/* Compute units are numbered round the shader engines, as the bits of KFD's CU masks are */
static bool waves_may_use(struct vgpu_model *m, const struct vgpu_queue *q, u32 cu)
{
	return q->cu_mask[cu % m->config.se] >> (cu / m->config.se) & 1;
}

/* Number in the whole grid of a wave of this XCC's part */
static u32 waves_wave_in_grid(const struct vgpu_dispatch *d, u32 wave)
{
	return d->xccs == 1 ? wave : (u32)vgpu_dispatch_number(d, wave / d->wg_waves) * d->wg_waves + wave % d->wg_waves;
}

/*
 * Starts workgroup @workgroup of @d somewhere, in step @step with @left_ns of it left, or with the
 * state @wg if it executes machine code and is not new. Return: false if there is no room.
 */
static bool waves_start_workgroup(struct vgpu_model *m, struct vgpu_dispatch *d, u32 workgroup,
				  u32 step, u64 left_ns, bool waiting,
				  bool halted, struct vgpu_workgroup *wg)
{
	u32 waves = vgpu_dispatch_waves_of(d, workgroup), first = workgroup * d->wg_waves, i, cu = 0;
	struct vgpu_group *g = d->open_pass == m->pass ? d->open : NULL;
	struct vgpu_xcc *x = &m->xcc[d->q->xcc];
	bool fresh;

	if (m->slots - x->slots_busy < waves)
		return false;
	if (g && (g->first + g->waves != first || g->step != step || g->left_ns != left_ns || g->waiting != waiting ||
		  g->halted != halted))
		g = NULL;
	fresh = !g;
	if (fresh) {
		g = vgpu_group_get(m);
		if (!g)
			return false;
		g->waves = 0;
		g->d = d;
	}
	for (i = 0; i < m->config.cus; i++) {
		cu = (x->next_cu + i) % m->config.cus;
		if (waves_may_use(m, d->q, cu) &&
		    waves_take_slots(m, x, cu, waves, d->vgprs, d->lds_bytes, g->simd + g->waves))
			break;
	}
	if (i == m->config.cus) {
		if (fresh)
			vgpu_group_put(m, g);
		return false;
	}
	g->waves += waves;
	if (!d->q->waves)
		d->q->works_ns = m->now_ns;
	d->q->waves += waves;
	if (d->machine_code) {
		g->wg = wg ? wg : vgpu_workgroup_start(m, d, workgroup, waves);
		if (!g->wg) {
			g->first = first;
			vgpu_waves_release(m, g);
			vgpu_group_put(m, g);
			return false;
		}
	}
	x->next_cu = (cu + 1) % m->config.cus;
	if (fresh) {
		g->first = first;
		g->step = step;
		g->left_ns = left_ns;
		g->end_ns = m->now_ns + left_ns;
		g->waiting = waiting;
		g->halted = halted;
		if (halted)
			vgpu_list_add(&g->link, &m->halted);
		else if (waiting)
			vgpu_list_add(&g->link, &m->waiting);
		else
			waves_insert_by_end(m, g);
		d->open = d->machine_code ? NULL : g;
		d->open_pass = m->pass;
	}
	return true;
}

/* Has it a workgroup to start, if there were room? */
static bool waves_wants_slots(const struct vgpu_model *m, const struct vgpu_queue *q)
{
	if (m->now_ns < q->ready_ns)
		return false;
	return !vgpu_list_empty(&q->pending) || (q->head && m->now_ns >= q->head_ready_ns);
}

/* The dispatch at the head of @q, or an XCC's share of it, has launched all its waves */
static void waves_all_launched(struct vgpu_model *m, struct vgpu_queue *q)
{
	if (q->head->index == VGPU_NO_INDEX)
		vgpu_ring_pm4_launched(m, q);
	else
		vgpu_ring_launched(m, q);
}

/*
 * One workgroup of a queue that wants slots, saved ones first. Return: false if there is no room.
 */
static bool waves_place_one(struct vgpu_model *m, struct vgpu_queue *q)
{
	struct vgpu_dispatch *d = q->head;

	if (!vgpu_list_empty(&q->pending)) {
		struct vgpu_group *g = container_of(q->pending.next, struct vgpu_group, link);
		u32 workgroup = g->first / g->d->wg_waves, waves = vgpu_dispatch_waves_of(g->d, workgroup);

		if (!waves_start_workgroup(m, g->d, workgroup, g->step, g->left_ns, g->waiting,
					   g->halted, g->wg))
			return false;
		g->wg = NULL;
		m->stats.waves_restored += waves;
		g->first += waves;
		g->waves -= waves;
		if (!g->waves) {
			vgpu_list_del(&g->link);
			vgpu_group_put(m, g);
		}
		return true;
	}
	if (!waves_start_workgroup(m, d, d->next_wg, 0, d->step_ns, d->flag || d->hung, d->halted,
				   NULL))
		return false;
	if (!d->next_wg)
		d->start_ns = vgpu_begin_ns(m);
	m->stats.waves_launched += vgpu_dispatch_waves_of(d, d->next_wg);
	if (++d->next_wg == d->workgroups)
		waves_all_launched(m, q);
	return true;
}

/*
 * One workgroup of each queue on pipes of @priority, unless another queue of its pipe wants slots
 * more. Return: false if there is none, or no room.
 */
static bool waves_place_round(struct vgpu_model *m, u32 priority)
{
	struct vgpu_list *l, *next, *last = m->queues.prev;
	int highest[VGPU_PIPES] = { -1, -1, -1, -1 };
	bool served = false;

	for (l = m->queues.next; l != &m->queues; l = l->next) {
		const struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		if (q->pipe_priority == priority && waves_wants_slots(m, q) &&
		    q->queue_priority > highest[q->pipe])
			highest[q->pipe] = q->queue_priority;
	}
	for (l = m->queues.next; l != &m->queues; l = next) {
		struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		next = l == last ? &m->queues : l->next;
		if (q->pipe_priority != priority || q->queue_priority < highest[q->pipe] ||
		    !waves_wants_slots(m, q) || !waves_place_one(m, q))
			continue;
		/* A queue that was served waits for the others. */
		vgpu_list_del(&q->link);
		vgpu_list_add(&q->link, &m->queues);
		served = true;
	}
	return served;
}

/**
 * vgpu_waves_place() - start what there is room for
 * @m: the device
 *
 * Return: true if anything was started.
 */
bool vgpu_waves_place(struct vgpu_model *m)
{
	u32 priority = PIPE_PRIORITIES;
	bool progress = false;
	struct vgpu_list *l;

	m->pass++;
	while (priority--)
		while (waves_place_round(m, priority))
			progress = true;
	m->place = false;
	if (progress)
		for (l = m->queues.next; l != &m->queues; l = l->next)
			waves_show_waves(m, container_of(l, struct vgpu_queue, link));
	return progress;
}

/*
 * The waves of a group finished a step: each adds one to its counter. Return: the first that could
 * not, @g->waves if all could.
 */
static u32 waves_count(struct vgpu_model *m, const struct vgpu_group *g)
{
	const struct vgpu_dispatch *d = g->d;
	u64 va, page = U64_MAX;
	u8 *base = NULL;
	u32 i, *p;

	if (!d->counters)
		return g->waves;
	m->client = VGPU_UTCL2_TCP;
	for (i = 0; i < g->waves; i++) {
		va = (d->counters & ~3ULL) + ((u64)waves_wave_in_grid(d, g->first + i) * d->steps +
					      g->step) * 4;
		if (va / VGPU_PAGE != page) {
			page = va / VGPU_PAGE;
			base = vgpu_vm_ptr(m, vgpu_queue_as(d->q), page * VGPU_PAGE, VGPU_PAGE, true);
		}
		if (!base)
			break;
		p = (u32 *)(base + (va & (VGPU_PAGE - 1)));
		WRITE_ONCE(*p, READ_ONCE(*p) + 1);
	}
	m->client = VGPU_UTCL2_CPC;
	return i;
}

/*
 * Divides a group before its wave @at, the first of a workgroup. Return: the second part, in no
 * list; NULL without memory.
 */
static struct vgpu_group *waves_split(struct vgpu_model *m, struct vgpu_group *g, u32 at)
{
	struct vgpu_group *rest = vgpu_group_get(m);

	if (!rest)
		return NULL;
	rest->d = g->d;
	rest->first = g->first + at;
	rest->waves = g->waves - at;
	rest->step = g->step;
	rest->waiting = g->waiting;
	rest->halted = g->halted;
	rest->left_ns = g->left_ns;
	rest->end_ns = g->end_ns;
	memcpy(rest->simd, g->simd + at, rest->waves * sizeof(g->simd[0]));
	g->waves = at;
	if (g->d->open == g)
		g->d->open = NULL;
	return rest;
}

/*
 * A memory violation without a debugger: the trap handler halts the wave. The group is in no list.
 */
static void waves_halt_group(struct vgpu_model *m, struct vgpu_group *g)
{
	g->halted = true;
	g->left_ns = 0;
	vgpu_list_add(&g->link, &m->halted);
}

/*
 * Wave @bad of a group could not do its step: its workgroup halts, those before it go on, those
 * behind it are yet to try. Return: what goes on, NULL if that is nothing.
 */
static struct vgpu_group *waves_halt_workgroup(struct vgpu_model *m, struct vgpu_group *g, u32 bad)
{
	u32 first = bad - bad % g->d->wg_waves, last = first + g->d->wg_waves;
	struct vgpu_group *tail = last < g->waves ? waves_split(m, g, last) : NULL;
	struct vgpu_group *wg = first ? waves_split(m, g, first) : NULL;

	if (tail)
		waves_insert_by_end(m, tail);
	if (wg)
		waves_halt_group(m, wg);
	else
		waves_halt_group(m, g);
	return wg ? g : NULL;
}

/* All waves of @d, a dispatch or an XCC's share of one, have ended; it may be gone afterwards */
static void waves_dispatch_done(struct vgpu_model *m, struct vgpu_dispatch *d)
{
	if (d->index != VGPU_NO_INDEX) {
		vgpu_ring_part_done(m, d);
		return;
	}
	vgpu_dispatch_drop(d);
	m->stats.dispatches_done++;
}

/* All waves of a group, which is in no list, have ended */
static void waves_group_done(struct vgpu_model *m, struct vgpu_group *g)
{
	struct vgpu_dispatch *d = g->d;

	m->stats.waves_done += g->waves;
	d->waves_done += g->waves;
	vgpu_waves_release(m, g);
	if (d->open == g)
		d->open = NULL;
	vgpu_group_put(m, g);
	if (vgpu_dispatch_complete(d))
		waves_dispatch_done(m, d);
}

static void waves_slice_due(struct vgpu_model *m, struct vgpu_group *g)
{
	vgpu_list_del(&g->link);
	if (m->now_ns < m->execute_ns) {
		g->end_ns = m->execute_ns;
		waves_insert_by_end(m, g);
		return;
	}
	switch (vgpu_workgroup_run(m, g)) {
	case VGPU_WORKGROUP_ENDED:
		waves_group_done(m, g);
		break;
	case VGPU_WORKGROUP_HALTED:
		waves_halt_group(m, g);
		break;
	default:
		waves_insert_by_end(m, g);
	}
}

static void waves_step_done(struct vgpu_model *m, struct vgpu_group *g)
{
	u32 counted;

	vgpu_list_del(&g->link);
	counted = waves_count(m, g);
	if (counted < g->waves) {
		g = waves_halt_workgroup(m, g, counted);
		if (!g)
			return;
	}
	if (++g->step < g->d->steps) {
		g->end_ns += g->d->step_ns;
		waves_insert_by_end(m, g);
		return;
	}
	waves_group_done(m, g);
}

/* A group that waits for its flag leaves the list when it is set, or cannot be read. */
static void waves_poll_flag(struct vgpu_model *m, struct vgpu_group *g)
{
	u64 value;
	bool ok;

	if (g->d->hung)
		return;
	m->client = VGPU_UTCL2_TCP;
	ok = vgpu_vm_read64(m, vgpu_queue_as(g->d->q), g->d->flag, &value);
	m->client = VGPU_UTCL2_CPC;
	if (ok && !value)
		return;
	vgpu_list_del(&g->link);
	if (!ok) {
		waves_halt_group(m, g);
		return;
	}
	g->waiting = false;
	g->end_ns = m->now_ns + g->left_ns;
	waves_insert_by_end(m, g);
}

/**
 * vgpu_waves_expire() - end the steps that are over, start the waves whose flag was set
 * @m: the device
 *
 * Return: true if slots became free.
 */
bool vgpu_waves_expire(struct vgpu_model *m)
{
	struct vgpu_list *l, *next;
	bool progress = false;

	for (l = m->waiting.next; l != &m->waiting; l = next) {
		next = l->next;
		waves_poll_flag(m, container_of(l, struct vgpu_group, link));
	}
	while (!vgpu_list_empty(&m->groups) && m->budget) {
		struct vgpu_group *g = container_of(m->groups.next, struct vgpu_group, link);

		if (g->end_ns > m->now_ns)
			break;
		m->budget = m->budget > g->waves ? m->budget - g->waves : 0;
		if (g->wg)
			waves_slice_due(m, g);
		else
			waves_step_done(m, g);
		if (m->ops->now_ns(m->ctx) >= m->run_until_ns)
			m->budget = 0;
		progress = true;
	}
	return progress;
}

static void waves_kill_list(struct vgpu_model *m, struct vgpu_queue *q, struct vgpu_list *list,
			    bool resident)
{
	struct vgpu_list *l, *next;

	for (l = list->next; l != list; l = next) {
		struct vgpu_group *g = container_of(l, struct vgpu_group, link);

		next = l->next;
		if (g->d->q != q)
			continue;
		vgpu_list_del(&g->link);
		if (resident)
			vgpu_waves_release(m, g);
		vgpu_group_put(m, g);
	}
}

static void waves_freeze_list(struct vgpu_queue *q, struct vgpu_list *list)
{
	struct vgpu_list *l, *next;

	for (l = list->next; l != list; l = next) {
		next = l->next;
		if (container_of(l, struct vgpu_group, link)->d->q != q)
			continue;
		vgpu_list_del(l);
		vgpu_list_add(l, &q->frozen);
	}
}

/**
 * vgpu_waves_freeze() - stop the waves of a queue where they are; they keep their slots, and
 * nothing new is started
 */
void vgpu_waves_freeze(struct vgpu_model *m, struct vgpu_queue *q)
{
	waves_freeze_list(q, &m->groups);
	waves_freeze_list(q, &m->waiting);
	waves_freeze_list(q, &m->halted);
	waves_kill_list(m, q, &q->pending, false);
	q->head = NULL;
}

/** vgpu_waves_kill() - forget the waves and dispatches of a queue */
void vgpu_waves_kill(struct vgpu_model *m, struct vgpu_queue *q)
{
	waves_kill_list(m, q, &m->groups, true);
	waves_kill_list(m, q, &m->waiting, true);
	waves_kill_list(m, q, &m->halted, true);
	waves_kill_list(m, q, &q->frozen, true);
	waves_kill_list(m, q, &q->pending, false);
	while (!vgpu_list_empty(&q->inflight)) {
		struct vgpu_dispatch *d = container_of(q->inflight.next, struct vgpu_dispatch, link);

		vgpu_list_del(&d->link);
		vgpu_free(d);
	}
	q->inflight_count = 0;
	q->head = NULL;
}

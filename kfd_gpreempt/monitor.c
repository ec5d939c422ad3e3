// SPDX-License-Identifier: MIT
/*
 * monitor.c - the thread of a node: sample, decide, act, sleep
 *
 * The common pass reads two user cache lines per queue and takes no lock. dqm_lock is taken only to act, registers
 * are read only when the policy says that waves in flight would change its decision.
 */
#include <linux/capability.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "core.h"
#include "amdgpu.h"
#include "amdgpu_reset.h"
#include "kfd_device_queue_manager.h"

/* After so many failed hardware passes in a row, the node is left alone. */
#define MAX_ERRORS	3
/* Slack of a sleep: its last 16th, but no more than this. */
#define MAX_SLACK_NS	50000ULL
/* A pass that wants waves in flight and finds the runlist in motion is tried again after this. */
#define RETRY_NS	50000ULL
/*
 * So long does a decision wait for waves in flight: most runlists of the driver are through by
 * then. Neighbours may send one after the other, so this begins anew only after waves have been
 * read.
 */
#define MAX_PUT_OFF_NS	200000ULL
/*
 * If none could be read for so long, the driver is kept from changing the runlist until they are
 * back and read, for this part of the time at most. The device has so long to read what it was
 * sent.
 */
#define REST_AFTER_NS	5000000ULL
#define REST_SHARE	10
#define REST_READ_NS	2000000ULL
/* Queues that rest are looked at so often all the same: nice values and the driver's own obstacles change without a word. */
#define MAX_REST_NS		1000000000ULL
/*
 * After a request that failed the next one waits for so long for a device that has not read what it
 * was sent before: it has no room for more.
 */
#define MAX_FULL_NS		100000000ULL
/* Who changes something need not wait longer for a look, however rare looks are. */
#define MAX_NUDGE_NS		1000000ULL
/* When everything has to be resumed, queues that the device still holds are waited for, for so long. */
#define MAX_LEAVING_NS		10000000000ULL

/**
 * gpreempt_monitor_reniced() - has a process changed its nice value or its cgroup since priorities were derived?
 * @gn: the node
 *
 * Context: gpreempt_lock held.
 *
 * Return: true if one has
 */
bool gpreempt_monitor_reniced(struct gpreempt_node *gn)
{
	struct gpreempt_process *process;
	struct gpreempt_outside outside;

	list_for_each_entry(process, &gn->processes, link) {
		if (READ_ONCE(process->nice) != task_nice(process->p->lead_thread))
			return true;
		gpreempt_settings_get(process->p->lead_thread, &outside);
		/* The monitor may be writing: then it looks right now. */
		if (data_race(memcmp(&outside, &process->outside, sizeof(outside))))
			return true;
	}
	return false;
}

/**
 * gpreempt_monitor_debugged() - is a process left alone because of its debugger?
 * @p: the process
 *
 * A program may enable the debug trap on itself, and may have a child do it: neither takes a right. What is left alone is a share of others, so it
 * takes the right that an exemption takes, CAP_SYS_NICE of whoever traces it. Any other debugged process is preempted like the rest: its waves are
 * saved where its debugger finds them, and a queue that the debugger has suspended stays suspended.
 *
 * Context: any.
 *
 * Return: true if it is
 */
bool gpreempt_monitor_debugged(const struct kfd_process *p)
{
	struct task_struct *tracer;
	bool debugged;

	if (!READ_ONCE(p->debug_trap_enabled))
		return false;
	rcu_read_lock();
	tracer = ptrace_parent(p->lead_thread);
	debugged = tracer && has_capability_noaudit(tracer, CAP_SYS_NICE);
	rcu_read_unlock();
	return debugged;
}

/**
 * gpreempt_monitor_obstacle() - why the driver does not let a queue go
 * @gq: the queue
 *
 * Only a hint: the backend looks again, under dqm_lock.
 *
 * Context: the queue is on its list.
 *
 * Return: the reason; GPREEMPT_NR_SKIPS: it does
 */
enum gpreempt_skip gpreempt_monitor_obstacle(const struct gpreempt_queue *gq)
{
	const struct queue_properties *properties = &gq->q->properties;

	if (READ_ONCE(properties->is_being_destroyed))
		return GPREEMPT_SKIP_DESTROYED;
	/* The second: the driver's own queue for debuggers is there, which no ioctl makes. */
	if (gpreempt_monitor_debugged(gq->process->p) || READ_ONCE(gq->process->pdd->qpd.is_debug))
		return GPREEMPT_SKIP_DEBUGGED;
	if (READ_ONCE(gq->process->pdd->has_reset_queue))
		return GPREEMPT_SKIP_RESET;
	if (!properties->ctx_save_restore_area_address)
		return GPREEMPT_SKIP_SAVE_AREA;
	return GPREEMPT_NR_SKIPS;
}

/* What is the same for all queues of a process. */
static void derive_process(struct gpreempt_process *process)
{
	struct gpreempt_policy_process *pp = &process->policy;

	WRITE_ONCE(process->nice, task_nice(process->p->lead_thread));
	gpreempt_settings_get(process->p->lead_thread, &process->outside);
	WRITE_ONCE(pp->opt_out, process->outside.process.exempt);
	WRITE_ONCE(pp->weight, process->outside.process.weight);
	WRITE_ONCE(pp->deadline_ns, process->outside.process.deadline_us * NSEC_PER_USEC);
}

/* What was set from outside; what was set for a queue may be changed meanwhile, and is then derived anew. */
static void derive_outside(const struct gpreempt_process *process, struct gpreempt_queue *gq, int nice,
			   struct gpreempt_policy_queue *derived)
{
	const struct gpreempt_setting *setting = &gq->setting;
	struct gpreempt_policy_queue *pq = &gq->policy;
	s32 before;

	WRITE_ONCE(gq->source,
		   gpreempt_settings_apply(&process->outside, setting, GPREEMPT_PRIORITY_NORMAL - nice, &derived->priority,
					   &derived->own_priority, &derived->explicit_priority));
	before = pq->priority;
	WRITE_ONCE(pq->priority, derived->priority);
	pq->own_priority = derived->own_priority;
	pq->explicit_priority = derived->explicit_priority;
	if (gq->derived && before != pq->priority)
		gpreempt_event(gq->gn, gq, GPREEMPT_EVENT_PRIORITY, before);
	gq->derived = true;
	WRITE_ONCE(pq->weight, READ_ONCE(setting->weight));
	WRITE_ONCE(pq->deadline_ns, READ_ONCE(setting->deadline_us) * NSEC_PER_USEC);
	pq->hold = READ_ONCE(gq->held);
	pq->hold_unbounded = READ_ONCE(gq->held_unbounded);
	gq->gn->hinted |= pq->expected_until_ns != READ_ONCE(gq->expected_until_ns);
	pq->expected_until_ns = READ_ONCE(gq->expected_until_ns);
}

static void derive(struct gpreempt_node *gn, struct gpreempt_queue *gq, u64 now_ns)
{
	struct gpreempt_process *process = gq->process;
	/* Others read priorities meanwhile: they see the old one or the new one. */
	struct gpreempt_policy_queue derived = { 0 };
	int nice;

	if (process->derived_ns != now_ns)
		derive_process(process);
	process->derived_ns = now_ns;
	gn->policy.changed = true;
	nice = gn->tun.nice ? process->nice : 0;
	gpreempt_policy_priority(READ_ONCE(gq->kfd_priority), nice, READ_ONCE(gq->trusted) || gn->tun.trust, &derived);
	derive_outside(process, gq, nice, &derived);
	gq->policy.immovable = gpreempt_monitor_obstacle(gq) != GPREEMPT_NR_SKIPS;
	/* Its queues stay registered until the process is released, which other references may delay. */
	gq->dead = READ_ONCE(process->pdd->already_dequeued);
	/* It takes an interruption: not of those that must have none. */
	if (gn->backend->reprioritizes && !gq->dead && !gq->policy.immovable && !process->policy.opt_out &&
	    gpreempt_hw_priority_stale(gq))
		gn->reprioritize = true;
}

/*
 * Make room for all queues. Getting memory may mean to wait for anything, also for what waits for a
 * pass: so no lock is held. What is preempted has its place: the first ones of the list have, and
 * queues come at its end.
 */
static void make_room(struct gpreempt_node *gn)
{
	u32 want = READ_ONCE(gn->nr_queues);
	struct gpreempt_policy_queue **sampled;
	struct gpreempt_watch *watches;

	if (want <= gn->max_sampled)
		return;
	want = roundup_pow_of_two(want + 8);
	sampled = kvmalloc_array(want, sizeof(*sampled), GFP_KERNEL);
	watches = kvmalloc_array(want, sizeof(*watches), GFP_KERNEL);
	if (!sampled || !watches) {
		kvfree(sampled);
		kvfree(watches);
		gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_NO_MEMORY);
		return;
	}
	mutex_lock(&gn->pass_lock);
	swap(gn->sampled, sampled);
	swap(gn->watches, watches);
	gn->max_sampled = want;
	/* Nothing is in there yet. */
	gn->nr_sampled = 0;
	gn->nr_resting = 0;
	gn->policy.queues = gn->sampled;
	gn->policy.nr = 0;
	gn->policy.nr_resting = 0;
	gn->all_due_ns = 0;
	mutex_unlock(&gn->pass_lock);
	kvfree(sampled);
	kvfree(watches);
}

static inline void sample_one(struct gpreempt_queue *gq, u64 now_ns)
{
	bool taken = !gq->policy.preempted && !READ_ONCE(gq->q->properties.is_active);
	u64 rptr, wptr, pending;

	gq->policy.unseen = !gpreempt_queue_read(gq, &rptr, &wptr, &pending);
	/* Evicted, suspended or disabled: it cannot use the device, whatever its ring holds. */
	if (unlikely(taken || gq->policy.taken)) {
		gpreempt_policy_taken(&gq->policy, taken, pending, now_ns);
		pending = taken ? 0 : pending;
	}
	gpreempt_policy_sample(&gq->policy, rptr, wptr, pending, now_ns);
}

/* Read section held. Queues that do not fit are looked at in the next pass. */
static void sample_all(struct gpreempt_node *gn, bool anew, u64 now_ns)
{
	struct gpreempt_queue *gq;
	u32 n = 0;

	gn->all_due_ns = now_ns + MAX_REST_NS;
	list_for_each_entry_srcu(gq, &gn->queues, link, srcu_read_lock_held(&gn->srcu)) {
		if (n == gn->max_sampled) {
			gn->all_due_ns = 0;
			break;
		}
		/* One that has just been registered, too: whoever registers it kicks a moment later. */
		if (anew || !gq->derived)
			derive(gn, gq, now_ns);
		if (gq->dead)
			continue;
		sample_one(gq, now_ns);
		gn->sampled[n++] = &gq->policy;
	}
	gn->nr_sampled = n;
	gn->nr_resting = 0;
}

static void swap_places(struct gpreempt_node *gn, u32 a, u32 b)
{
	swap(gn->sampled[a], gn->sampled[b]);
	swap(gn->watches[a], gn->watches[b]);
}

/* Read section held. Only those that do not rest, and of the others those whose pointers moved. False: not possible this time. */
static bool sample_awake(struct gpreempt_node *gn, bool anew, u64 now_ns)
{
	u32 i, nr = gn->nr_sampled + gn->nr_resting;

	for (i = gn->nr_sampled; i < nr; i++) {
		const struct gpreempt_watch *watch = &gn->watches[i];

		if (likely(READ_ONCE(*watch->rptr) == watch->seen_rptr && READ_ONCE(*watch->wptr) == watch->seen_wptr))
			continue;
		derive(gn, gpreempt_queue_of(gn->sampled[i]), now_ns);
		swap_places(gn, i, gn->nr_sampled++);
		gn->nr_resting--;
	}
	for (i = 0; i < gn->nr_sampled; i++) {
		struct gpreempt_queue *gq = gpreempt_queue_of(gn->sampled[i]);

		if (anew)
			derive(gn, gq, now_ns);
		if (gq->dead)
			return false;
		sample_one(gq, now_ns);
	}
	return true;
}

/* Read section held. */
static void sample(struct gpreempt_node *gn, bool anew, u64 now_ns)
{
	/*
	 * Whoever takes a queue off the list kicks before he waits for readers: without a kick to be seen from here, what the arrays point
	 * to stays there.
	 */
	if (READ_ONCE(gn->kick) || now_ns >= gn->all_due_ns || !sample_awake(gn, anew, now_ns))
		sample_all(gn, anew, now_ns);
	gn->policy.queues = gn->sampled;
	gn->policy.nr = gn->nr_sampled;
	gn->policy.nr_resting = gn->nr_resting;
	gpreempt_stats_samples(gn);
}

/* Read section held. Those that need not be looked at go behind the others. */
static void let_rest(struct gpreempt_node *gn, u64 now_ns)
{
	u32 i = 0;

	while (i < gn->nr_sampled) {
		struct gpreempt_queue *gq = gpreempt_queue_of(gn->sampled[i]);
		/* Pairs with the release where it is published. */
		const struct gpreempt_view *view = smp_load_acquire(&gq->view);

		/* Memory of the device is not read without a look at whether it answers. */
		if (gq->policy.had_demand || !view || view->vram ||
		    !gpreempt_policy_rests(&gn->policy, &gq->policy, now_ns, &gn->all_due_ns)) {
			i++;
			continue;
		}
		gn->watches[i] = (struct gpreempt_watch){
			.rptr = view->rptr,
			.wptr = view->wptr,
			.seen_rptr = gq->policy.rptr,
			.seen_wptr = gq->policy.wptr,
		};
		swap_places(gn, i, --gn->nr_sampled);
		gn->nr_resting++;
	}
}

static void add_waves(struct gpreempt_node *gn, const struct kfd_cu_occupancy *occupancy)
{
	u32 i;

	for (i = 0; i < gn->nr_sampled; i++) {
		struct gpreempt_queue *gq = gpreempt_queue_of(gn->sampled[i]);

		if (gq->q->properties.doorbell_off == occupancy->doorbell_off)
			gq->waves_sum += occupancy->wave_cnt;
	}
}

/*
 * Is no runlist being changed, by us or by the driver, and has none been since the pass began?
 * Otherwise waves in flight say nothing.
 */
static bool at_rest(struct gpreempt_node *gn)
{
	return gn->backend->settled(gn) && READ_ONCE(gn->runlists_built) == gn->runlists_seen;
}

/*
 * Waves in flight could not be read. True: they are waited for no longer, the decision takes it
 * that there are some.
 */
static bool waited_enough(struct gpreempt_node *gn, u64 now_ns)
{
	gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_UNSETTLED);
	if (!gn->unsettled_ns)
		gn->unsettled_ns = now_ns;
	if (now_ns - gn->unsettled_ns < MAX_PUT_OFF_NS)
		return false;
	gpreempt_policy_waves_unread(&gn->policy, now_ns);
	return true;
}

/*
 * Have waves not been readable for long, or has the runlist been changed again and again before
 * they could be back?
 */
static bool wants_rest(const struct gpreempt_node *gn, u64 now_ns)
{
	if (gn->unsettled_ns && now_ns - gn->unsettled_ns >= REST_AFTER_NS)
		return true;
	return now_ns - gn->changed_ns < gpreempt_policy_restore_ns(&gn->policy) && gn->changed_ns - gn->changing_ns >= REST_AFTER_NS;
}

/*
 * Keep the driver from changing the runlist for as long as it takes to bring waves back, if nothing
 * else has helped: neighbours may have it changed in a loop. True: dqm_lock is held, and waves in
 * flight can be read.
 */
static bool take_rest(struct gpreempt_node *gn)
{
	struct device_queue_manager *dqm = gn->node->dqm;
	u64 began_ns = ktime_get_ns(), ended_ns;
	bool rest;

	if (!gn->wants_rest || began_ns < gn->rest_due_ns || READ_ONCE(gn->paused))
		return false;
	gn->wants_rest = false;
	dqm_lock(dqm);
	began_ns = ktime_get_ns();
	while (!gn->backend->taken_in(gn) && ktime_get_ns() - began_ns < REST_READ_NS)
		usleep_range(20, 40);
	fsleep(gpreempt_policy_restore_ns(&gn->policy) / NSEC_PER_USEC);
	rest = gn->backend->taken_in(gn);
	ended_ns = ktime_get_ns();
	gn->rest_due_ns = ended_ns + REST_SHARE * (ended_ns - began_ns);
	if (!rest)
		dqm_unlock(dqm);
	return rest;
}

/*
 * Takes the srbm and grbm mutexes for a few register accesses. The reset semaphore is held for
 * reading.
 */
static void ask_xcc(struct gpreempt_node *gn, int xcc, struct kfd_cu_occupancy *buffer,
		    void (*add)(struct gpreempt_node *gn, const struct kfd_cu_occupancy *occupancy))
{
	struct kfd_node *node = gn->node;
	int max_waves_per_cu;
	u32 i;

	memset(buffer, 0, AMDGPU_MAX_QUEUES * sizeof(*buffer));
	node->kfd2kgd->get_cu_occupancy(node->adev, buffer, &max_waves_per_cu, xcc);
	for (i = 0; i < AMDGPU_MAX_QUEUES; i++)
		if (buffer[i].wave_cnt)
			add(gn, &buffer[i]);
}

/* pass_lock held. False: the GPU is being reset. */
static bool ask_waves(struct gpreempt_node *gn)
{
	struct rw_semaphore *reset_sem = &gn->node->adev->reset_domain->sem;
	u32 xcc_mask = gn->node->xcc_mask;
	int xcc;

	/* Registers are out of bounds then. */
	if (!down_read_trylock(reset_sem))
		return false;
	WRITE_ONCE(gn->asking, true);
	for_each_inst(xcc, xcc_mask)
		ask_xcc(gn, xcc, gn->occupancy, add_waves);
	WRITE_ONCE(gn->asking, false);
	up_read(reset_sem);
	return true;
}

/* Read section held. False: the decision is put off. */
static bool read_waves(struct gpreempt_node *gn, bool rest, u64 now_ns)
{
	u32 i;

	if (!rest && !at_rest(gn))
		return waited_enough(gn, now_ns);
	for (i = 0; i < gn->nr_sampled; i++)
		gpreempt_queue_of(gn->sampled[i])->waves_sum = 0;
	if (!ask_waves(gn)) {
		gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_RESETTING);
		return false;
	}
	/* In case a change began while registers were read. */
	if (!rest && !at_rest(gn))
		return waited_enough(gn, now_ns);
	gn->unsettled_ns = 0;
	for (i = 0; i < gn->nr_sampled; i++)
		if (!gn->sampled[i]->preempted)
			gpreempt_policy_set_waves(gn->sampled[i], gpreempt_queue_of(gn->sampled[i])->waves_sum,
						  now_ns);
	if (rest)
		gpreempt_policy_waves_at_rest(&gn->policy, now_ns);
	return true;
}

/* see_lock held. */
static void add_seen(struct gpreempt_node *gn, const struct kfd_cu_occupancy *occupancy)
{
	u32 i;

	for (i = 0; i < gn->nr_seen; i++)
		if (gn->seen[i].doorbell_off == occupancy->doorbell_off)
			break;
	if (i == AMDGPU_MAX_QUEUES)
		return;
	if (i == gn->nr_seen)
		gn->seen[gn->nr_seen++] = (struct kfd_cu_occupancy){ .doorbell_off = occupancy->doorbell_off };
	gn->seen[i].wave_cnt += occupancy->wave_cnt;
}

/* see_lock held. False: not while the GPU is reset, or while the monitor asks. */
static bool ask_seen(struct gpreempt_node *gn)
{
	struct rw_semaphore *reset_sem = &gn->node->adev->reset_domain->sem;
	u32 xcc_mask = gn->node->xcc_mask;
	bool gives_way = false;
	int xcc;

	if (!down_read_trylock(reset_sem))
		return false;
	gn->nr_seen = 0;
	for_each_inst(xcc, xcc_mask) {
		gives_way |= READ_ONCE(gn->asking);
		if (!gives_way)
			ask_xcc(gn, xcc, gn->see_buffer, add_seen);
	}
	up_read(reset_sem);
	return !gives_way;
}

static u32 seen_of(const struct gpreempt_node *gn, const struct gpreempt_queue *gq)
{
	u32 i;

	for (i = 0; i < gn->nr_seen; i++)
		if (gn->seen[i].doorbell_off == gq->q->properties.doorbell_off)
			return gn->seen[i].wave_cnt;
	return 0;
}

/* see_lock held. */
static void see_waves(struct gpreempt_node *gn)
{
	u64 began_ns = ktime_get_ns(), took_ns;
	struct gpreempt_queue *gq;
	bool seen;
	int idx;

	/* While a runlist is on its way they are not to be believed. */
	if (READ_ONCE(gn->paused) || began_ns < gn->see_due_ns || !gn->backend->settled(gn))
		return;
	seen = ask_seen(gn);
	took_ns = ktime_get_ns() - began_ns;
	WRITE_ONCE(gn->see_due_ns, began_ns + took_ns + max(GPREEMPT_SEE_NS, GPREEMPT_SEE_SHARE * took_ns));
	if (!seen || !gn->backend->settled(gn))
		return;
	idx = srcu_read_lock(&gn->srcu);
	list_for_each_entry_srcu(gq, &gn->queues, link, srcu_read_lock_held(&gn->srcu))
		WRITE_ONCE(gq->seen_waves, seen_of(gn, gq));
	srcu_read_unlock(&gn->srcu, idx);
	/* Now: on a slow device reading takes longer than an answer is good for. */
	WRITE_ONCE(gn->seen_ns, ktime_get_ns());
}

/**
 * gpreempt_monitor_see() - ask the device for waves in flight, for somebody who wants to see who works
 * @gn: the node
 *
 * The monitor asks only when it matters to a decision, and not at all while it is parked. @seen_waves of its queues receives the answer;
 * not while the monitor asks or a runlist is under way, no more often than every GPREEMPT_SEE_NS,
 * and for one part in GPREEMPT_SEE_SHARE of the time: anybody may want to see. Decisions do not
 * know of it, and no pass waits for it but for the index locks while the registers of one XCC are
 * read.
 *
 * Context: the node is kept by gpreempt_core_find(); may sleep.
 */
void gpreempt_monitor_see(struct gpreempt_node *gn)
{
	if (!gn->backend || !gn->occupancy || !READ_ONCE(gn->nr_queues) || ktime_get_ns() < READ_ONCE(gn->see_due_ns))
		return;
	/* Somebody else is about to know. */
	if (!mutex_trylock(&gn->see_lock))
		return;
	see_waves(gn);
	mutex_unlock(&gn->see_lock);
}

static void set_state(struct gpreempt_node *gn, enum gpreempt_state state)
{
	if (gn->state == state)
		return;
	WRITE_ONCE(gn->state, state);
	gpreempt_stats_state(gn);
}

static void give_up(struct gpreempt_node *gn, int error)
{
	/* Resuming what is left may fail as well. */
	if (gn->state == GPREEMPT_STATE_FAILED)
		return;
	atomic64_inc(&gn->stats.disabled);
	set_state(gn, GPREEMPT_STATE_FAILED);
	dev_err(gn->node->adev->dev,
		"gpreempt: gpu %u is no longer scheduled: preempting failed (%d). It is again after a reset of the GPU, or after writing 1 to gpreempt_enable\n",
		gn->node->id, error);
	WRITE_ONCE(gn->dump, true);
}

/* What was asked for before it began is what is on the device. */
static void end_look(struct gpreempt_node *gn)
{
	WRITE_ONCE(gn->ended, gn->begun);
	gpreempt_core_acted();
}

/* No read section: this waits for the hardware. */
static int act(struct gpreempt_node *gn)
{
	struct gpreempt_outcome outcome = { 0 };

	gn->reprioritize = false;
	gn->acted = true;
	gn->backend->apply(gn, &outcome);
	/* A device that does not answer has wasted time, not spent it on preempting. */
	if (!outcome.error)
		gpreempt_policy_overhead(&gn->policy, outcome.elapsed_ns, outcome.preempted, ktime_get_ns());
	/* Otherwise the next look finds it so. One that is switched off while paused must not look: the driver's side is down. */
	if (!READ_ONCE(gn->paused) && gn->backend->settled(gn))
		gpreempt_stats_running(gn, ktime_get_ns());
	gn->again = outcome.again;
	if (outcome.stop)
		gn->errors = MAX_ERRORS;
	else if (outcome.error)
		gn->errors++;
	if (outcome.error)
		gn->failed_ns = ktime_get_ns();
	else if (!outcome.again)
		gn->errors = 0;
	if (gn->errors >= MAX_ERRORS)
		give_up(gn, outcome.error);
	end_look(gn);
	return outcome.error;
}

/* Also what an earlier try took off or could not give back. Returns how many are to be resumed. */
static u32 decide_resumes(struct gpreempt_node *gn)
{
	struct gpreempt_decision decision;
	int idx;

	gn->all_due_ns = 0;
	idx = srcu_read_lock(&gn->srcu);
	sample(gn, true, ktime_get_ns());
	gpreempt_policy_resume_all(&gn->policy, &decision);
	srcu_read_unlock(&gn->srcu, idx);
	gn->decided_ns = ktime_get_ns();
	return decision.nr_resume;
}

/* pass_lock held. */
static void resume_all(struct gpreempt_node *gn)
{
	u32 nr_resume = decide_resumes(gn);
	u64 deadline_ns;
	int tries;

	gn->level = GPREEMPT_LEVEL_NONE;
	/* Switched off for good, not for a reset: MQDs get back what their programs asked for. */
	if (!gn->backend->reprioritizes && !READ_ONCE(gn->thread) && !READ_ONCE(gn->paused) && READ_ONCE(gn->hw_priorities))
		gn->again = true;

	if (!nr_resume && !gn->again && !gn->reprioritize)
		return;
	/* Errors are not waited for, queues that are on their way off the device are: the backend sees to their end. */
	deadline_ns = ktime_get_ns() + MAX_LEAVING_NS;
	for (tries = 0; tries < MAX_ERRORS; tries++) {
		bool paused = READ_ONCE(gn->paused);

		while (!act(gn) && gn->again && !READ_ONCE(gn->paused) && ktime_get_ns() < deadline_ns) {
			fsleep(1000);
			decide_resumes(gn);
		}
		/*
		 * Whoever suspends or resets waits for this. Flags are enough then, and that is not
		 * a try but the end.
		 */
		if (!paused && READ_ONCE(gn->paused))
			tries = MAX_ERRORS - 2;
		if (!gn->again)
			break;
		decide_resumes(gn);
	}
}

/* Read section held. False: try again soon. */
static bool decide(struct gpreempt_node *gn, bool rest, u64 now_ns, struct gpreempt_decision *decision)
{
	const struct gpreempt_policy_ops *ops = gpreempt_policies[gn->tun.policy];
	u32 built = READ_ONCE(gn->runlists_built);

	gn->policy.params = gn->tun.params;
	gn->policy.turns = READ_ONCE(gn->turns);
	if (gn->policy.ops != ops)
		gpreempt_policy_use(&gn->policy, ops);
	if (gn->runlists_seen != built) {
		/* The driver's first one for a while? */
		if (!gn->acted && now_ns - gn->changed_ns >= gpreempt_policy_restore_ns(&gn->policy))
			gn->changing_ns = now_ns;
		if (!gn->acted)
			gn->changed_ns = now_ns;
		gpreempt_policy_disturbed(&gn->policy, now_ns);
		gn->runlists_seen = built;
	}
	gn->acted = false;
	gn->asked_ns = 0;
	if (gpreempt_policy_needs_waves(&gn->policy, now_ns)) {
		u64 began_ns = ktime_get_ns();

		if (!read_waves(gn, rest, now_ns)) {
			gpreempt_policy_put_off(&gn->policy);
			return false;
		}
		gn->wants_rest = !rest && wants_rest(gn, now_ns);
		gn->asked_ns = ktime_get_ns() - began_ns;
	}
	gpreempt_policy_decide(&gn->policy, now_ns, decision);
	if (decision->over_budget)
		gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_BUDGET);
	return true;
}

/* Read section held. What was in the way and could not be moved, once for as long as it lasts. */
static void count_immovable(struct gpreempt_node *gn, const struct gpreempt_decision *decision)
{
	u32 i;

	/* Nothing is, and nothing was. */
	if (!decision->nr_in_the_way && !READ_ONCE(gn->skipped))
		return;
	WRITE_ONCE(gn->skipped, decision->nr_in_the_way);
	for (i = 0; i < gn->nr_sampled; i++) {
		struct gpreempt_queue *gq = gpreempt_queue_of(gn->sampled[i]);
		enum gpreempt_skip reason;

		if (!gq->policy.in_the_way) {
			gq->skipped = false;
		} else if (!gq->skipped) {
			reason = gpreempt_monitor_obstacle(gq);
			if (reason != GPREEMPT_NR_SKIPS)
				gpreempt_stats_skip(gn, gq, reason);
		}
	}
}

/* Read section held. What became of announced work, once per announcement and queue. */
static void count_hints(struct gpreempt_node *gn, u64 now_ns)
{
	bool open = false;
	u32 i;

	/* Nobody has announced anything that is not settled. */
	if (!gn->hinted)
		return;
	for (i = 0; i < gn->nr_sampled; i++) {
		struct gpreempt_queue *gq = gpreempt_queue_of(gn->sampled[i]);
		u64 until_ns = gq->policy.expected_until_ns;

		if (until_ns == gq->hint_settled_ns)
			continue;
		if (!gpreempt_policy_work_came(&gq->policy) && now_ns < until_ns) {
			open = true;
			continue;
		}
		gq->hint_settled_ns = until_ns;
		gpreempt_stats_hint(gq, gpreempt_policy_work_came(&gq->policy));
	}
	gn->hinted = open;
}

/* One pass. Receives in @decision when to look again. False: it could not decide, try again soon. */
static bool pass(struct gpreempt_node *gn, struct gpreempt_decision *decision)
{
	u64 now_ns = ktime_get_ns(), derive_ns = 0, took_ns;
	bool anew, decided, rest;
	int idx;

	/* Whoever changes something kicks, except for nice values and the driver's own obstacles. */
	if (xchg(&gn->kick, false) || gn->policy.ops != gpreempt_tunables_policy(gn))
		gn->derived_ns = 0;
	if (!gn->derived_ns)
		gn->all_due_ns = 0;
	if (gn->errors && now_ns - gn->failed_ns < MAX_FULL_NS && !gn->backend->settled(gn)) {
		gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_UNSETTLED);
		return false;
	}
	if (gn->resuming_ns && gn->backend->settled(gn))
		gpreempt_stats_running(gn, now_ns);
	rest = take_rest(gn);
	if (rest)
		now_ns = ktime_get_ns();
	gpreempt_tunables_copy(gn);
	/* Who rings waits for this pass. The next one is soon enough to look at nice values. */
	anew = (!gn->rang_ns || !gn->derived_ns) && now_ns - gn->derived_ns >= gn->tun.params.interval_ns;
	if (anew) {
		gn->derived_ns = now_ns;
		/* Pairs with a new hold: either it is seen from here on, or it waits for the next one. */
		smp_store_mb(gn->begun, gn->begun + 1);
	}

	idx = srcu_read_lock(&gn->srcu);
	sample(gn, anew, now_ns);
	/* Programs can ask for this in a loop: it makes looks no rarer, or work would be noticed later for it. */
	if (anew)
		derive_ns = ktime_get_ns() - now_ns;
	count_hints(gn, now_ns);
	decided = decide(gn, rest, now_ns, decision);
	if (decided) {
		count_immovable(gn, decision);
		if (gpreempt_hw_priority_decided(gn, decision->contended, now_ns)) {
			gn->reprioritize |= gn->backend->reprioritizes;
			gn->again |= !gn->backend->reprioritizes;
		}
		/* Those for which there was no room have not been heard. */
		if (READ_ONCE(gn->nr_queues) > gn->max_sampled)
			decision->park = false;
		/* What is preempted takes those that rest along. */
		if (decision->nr_preempt || decision->nr_resume || gn->again)
			gn->all_due_ns = 0;
		else
			let_rest(gn, now_ns);
		gpreempt_stats_verdicts(gn, decision, now_ns);
	}
	srcu_read_unlock(&gn->srcu, idx);
	if (rest)
		dqm_unlock(gn->node->dqm);
	if (!decided)
		return false;

	gn->decided_ns = ktime_get_ns();
	took_ns = gn->decided_ns - now_ns;
	gpreempt_policy_cost(&gn->policy, took_ns - derive_ns - gn->asked_ns, gn->asked_ns);
	gpreempt_stats_pass(gn, decision, now_ns, gn->decided_ns);
	/* From here on: counted from when the pass began, looks would be that much rarer. */
	decision->next_ns = max(decision->next_ns, took_ns + GPREEMPT_SLEEP_MIN_NS) - took_ns;
	if (decision->nr_preempt || decision->nr_resume || gn->again || gn->reprioritize)
		act(gn);
	else if (gn->ended != gn->begun)
		end_look(gn);
	return true;
}

/* For how long may the monitor sleep still? 0: it has to look. */
static u64 sleep_left(const struct gpreempt_node *gn, u64 until_ns)
{
	u64 now_ns;

	if (kthread_should_stop())
		return 0;
	/* The end of a pause wakes it. */
	if (READ_ONCE(gn->paused))
		return U64_MAX;
	if (READ_ONCE(gn->urgent) || READ_ONCE(gn->rung_ns))
		return 0;
	if (READ_ONCE(gn->kick))
		until_ns = min(until_ns, gn->looked_ns + min(gn->tun.params.poll_ns ?: MAX_NUDGE_NS, MAX_NUDGE_NS));
	if (until_ns == U64_MAX)
		return U64_MAX;
	now_ns = ktime_get_ns();
	return until_ns > now_ns ? until_ns - now_ns : 0;
}

/* False: it was woken before that. */
static bool sleep_for(u64 ns)
{
	u64 slack_ns = min(ns / 16, MAX_SLACK_NS);
	ktime_t expires = ns_to_ktime(ns - slack_ns);

	if (ns != U64_MAX)
		return !schedule_hrtimeout_range(&expires, slack_ns, HRTIMER_MODE_REL);
	schedule();
	return false;
}

/* @ns: U64_MAX sleeps until there is a reason to look. No lock held. */
static void nap(struct gpreempt_node *gn, u64 ns)
{
	u64 left_ns, until_ns = ns == U64_MAX ? U64_MAX : ktime_get_ns() + ns;
	bool over = false;

	while (!over) {
		/* Idle, not interruptible: a sleeping monitor is no load. */
		set_current_state(TASK_IDLE);
		left_ns = sleep_left(gn, until_ns);
		if (!left_ns)
			break;
		over = sleep_for(left_ns);
		atomic64_inc(&gn->stats.wakeups);
	}
	__set_current_state(TASK_RUNNING);
}

/* Somebody who was armed has work. If that is what this slept for, nobody outranked anybody before. */
static void take_ring(struct gpreempt_node *gn)
{
	u64 rung_ns = READ_ONCE(gn->rung_ns) ? xchg(&gn->rung_ns, 0ULL) : 0;

	if (!gn->rang_ns)
		gn->rang_ns = rung_ns;
	if (rung_ns && gn->state == GPREEMPT_STATE_ARMED)
		gn->clear_ns = rung_ns;
}

static u64 look(struct gpreempt_node *gn)
{
	struct gpreempt_decision decision;
	bool waits = false;
	u64 nap_ns;

	gn->looked_ns = ktime_get_ns();
	/*
	 * Before anything is looked at. Pairs with gpreempt_core_look(): who writes it has written
	 * the reason before.
	 */
	smp_store_mb(gn->urgent, false);
	take_ring(gn);
	if (gn->state == GPREEMPT_STATE_FAILED) {
		/* In this order: who asks sets them in the other. */
		WRITE_ONCE(gn->kick, false);
		if (xchg(&gn->revive, false)) {
			gn->errors = 0;
			gn->derived_ns = 0;
			set_state(gn, GPREEMPT_STATE_IDLE);
		} else {
			gn->decided_ns = ktime_get_ns();
			if (gn->again)
				act(gn);
			gn->rang_ns = 0;
			return gn->again ? gn->tun.params.interval_ns : U64_MAX;
		}
	}

	if (!pass(gn, &decision))
		return RETRY_NS;
	if (gn->state == GPREEMPT_STATE_FAILED) {
		resume_all(gn);
		return gn->again ? gn->tun.params.interval_ns : U64_MAX;
	}
	nap_ns = decision.park ? U64_MAX : decision.next_ns;
	if (!decision.park && gn->tun.wakeup == GPREEMPT_WAKEUP_DOORBELL)
		nap_ns = gpreempt_doorbell_wait(gn, &decision, &waits);
	/* The end of a rivalry is the end of what it took from programs. */
	if (gn->rivalry)
		nap_ns = min(nap_ns, GPREEMPT_CONTENDED_NS);
	set_state(gn, decision.park ? GPREEMPT_STATE_PARKED : waits ? GPREEMPT_STATE_ARMED :
		  decision.contended && gn->tun.params.poll_ns ? GPREEMPT_STATE_POLLING : GPREEMPT_STATE_IDLE);
	if (gn->again)
		return decision.park ? gn->tun.params.interval_ns :
		       min(decision.next_ns, gn->tun.params.interval_ns);
	return nap_ns;
}

/**
 * gpreempt_monitor_last_pass() - resume everything, and leave the device as it was found
 * @gn: the node; from now on no pass is made, it is paused or its monitor ends
 *
 * Context: pass_lock held; the monitor, or whoever suspends or resets the device. Allocates nothing
 * and waits for the backend alone: while paused as long as flags take, otherwise also for queues on
 * their way off the device.
 */
void gpreempt_monitor_last_pass(struct gpreempt_node *gn)
{
	lockdep_assert_held(&gn->pass_lock);
	resume_all(gn);
	if (gn->backend->leave)
		gn->backend->leave(gn);
}

/* No lock held. What happened in a pass is told after it. */
static void tell(struct gpreempt_node *gn)
{
	if (!READ_ONCE(gn->dump))
		return;
	WRITE_ONCE(gn->dump, false);
	gpreempt_dump_log(gn);
}

/**
 * gpreempt_monitor() - the thread of a node
 * @data: struct gpreempt_node
 *
 * Between its passes it may wait for memory, and so for anything: nothing but its own end waits for
 * it there.
 *
 * Return: 0
 */
int gpreempt_monitor(void *data)
{
	struct gpreempt_node *gn = data;
	u64 woken_ns, nap_ns = 0;

	while (!kthread_should_stop()) {
		woken_ns = ktime_get_ns();
		make_room(gn);
		mutex_lock(&gn->pass_lock);
		/* While it was parked nobody could have outranked anybody. */
		if (nap_ns == U64_MAX)
			gn->clear_ns = woken_ns;
		nap_ns = READ_ONCE(gn->paused) ? U64_MAX : look(gn);
		mutex_unlock(&gn->pass_lock);
		tell(gn);
		nap(gn, nap_ns);
	}
	mutex_lock(&gn->pass_lock);
	gpreempt_monitor_last_pass(gn);
	mutex_unlock(&gn->pass_lock);
	tell(gn);
	return 0;
}

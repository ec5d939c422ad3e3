// SPDX-License-Identifier: MIT
/* monitor.c - the thread of a node: sample, decide, act, sleep */

/**
 * DOC: one pass
 *
 * ::
 *
 *     copy the tunables                   a write counts from the next pass
 *     read rptr, wptr of each queue       two cache lines; no lock, no register access
 *     would waves in flight decide?       only then read them from the device
 *     decide                              policy.c
 *     anything to preempt or resume?      all of it in one hardware pass, under dqm_lock
 *     sleep                               poll, interval, or until something changes
 *
 * The thread has three speeds. *Parked*: no queue could outrank another, and there is no timer.
 * Such a node is left alone: no register is read, and no doorbell withdrawn. *Interval*
 * (``gpreempt_interval_ms``): one could, but not both sides have had work within the last second.
 * *Polling* (``gpreempt_poll_us``): both have. The end of a hold, a relief, a turn, or of any
 * other time that the rules of policy.c know shortens a sleep.
 *
 * Polling counts from pass to pass, with these limits:
 *
 * * A pass may take 1/24 of the time. Of two passes in a row the shorter one counts, because an
 *   interrupt may have made the other one longer.
 * * Asking for waves may take a quarter of the time, while the last kernel of a request runs and
 *   lower queues wait for its end. A late end leaves the device idle, which costs more than CPU
 *   time.
 * * With no queue busy, a new arrival runs at once, and only the one after it could need a
 *   decision. The next pass comes after a 16th of the idle time, but at least a tenth as often as
 *   usual.
 *
 * Without contention the time between passes grows slowly while a queue works that a silent one
 * could outrank. It is 1/2000 of the silence: a request after two seconds is noticed within a
 * millisecond, and ``gpreempt_interval_ms`` is reached after ten.
 *
 * The thread looks with the lowest real-time priority. A look is short and must not wait for a
 * program that keeps the CPU: a normal thread that wakes up waits until that program has used up
 * its time slice, some milliseconds, at any nice value. The driver waits for a runlist in a loop
 * that yields the CPU, and a real-time thread yields to no normal one. Monitors that share a CPU
 * yield to each other, so that their devices work side by side. After 200 us of it the thread
 * sleeps 20 us between two rounds, so that a device that does not answer keeps no CPU from others.
 * It stays a real-time thread, also in its last pass: it maps the queues again, and until it has
 * the CPU the device is idle. Where monitors of many nodes keep a CPU busy, a normal thread could
 * wait there for a second.
 *
 * A change of a priority, announced work or a queue causes a pass: at once if the last one was
 * ``gpreempt_poll_us`` ago (a millisecond if that is longer or 0) and the limits above allow it,
 * otherwise when they do. A loop of such calls takes no privilege, but costs no more passes than
 * polling, and only on nodes on which the process has queues. News of a job causes a pass in the
 * same way. That it begins elsewhere, or is taken off, does so at once if the last pass for such
 * news was so long ago. Holds and their ends, writes of parameters, switching and the end of a
 * reset cause a pass at once, and so does any time that the rules know. Passes may be ahead of the
 * limits by two milliseconds in all for that. In a loop of holds or hints they are, and then the
 * limits hold again. No limit makes passes rarer than ``gpreempt_interval_ms``.
 *
 * Everything that a pass does counts, deriving priorities as well. Programs can have priorities
 * derived in a loop, but that makes passes no rarer: it takes 1/24 of the time on top at most, and
 * for that a pass leaves changes to a later one if it would have to derive too often. Then of two
 * passes in a row one derives nothing, and that one counts. What a process derives its priorities
 * from is kept with it: nothing that other users set or nest makes it dearer.
 *
 * A node on which processes of different priority have queues is not parked, even if none of them
 * works: a higher one may begin at any moment, and writes no more than its ring and its doorbell.
 * Where doorbells are not withdrawn that is 200 passes a second. A node with one process, or with
 * processes of one priority, has no wake-ups.
 *
 * A queue is *dormant* when it has had no work for a second, is neither preempted nor held, and is
 * believed to have no waves. No decision depends on it. The monitor only compares its two pointers
 * with their last values, in a compact array. It samples the queue again when they move, when
 * anything changes, and after a second at the latest. Ranks that move by themselves (``wfq``,
 * ``edf``) make no queue dormant.
 *
 * In every state a program submits by writing its ring and its doorbell, and nothing is copied. The
 * first doorbell after a pause may trap (doorbell.c), never with ``gpreempt_wakeup=poll``.
 *
 * Locks: the common pass takes none. It reads the list of queues and their pointers under SRCU of
 * the node, and holds ``pass_lock``, for which nothing but a suspend, a reset and readers of its
 * state wait. ``dqm_lock`` is taken to act, registers are read only when the policy asks for waves.
 * A pass allocates no memory and changes no page tables; what may wait for either happens between
 * passes, without a lock. node.h has the order of all locks.
 */

#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "node.h"
#include "compat/compat.h"
#include "demand.h"
#include "pass.h"
#include "rooms.h"
#include "amdgpu.h"
#include "kfd_device_queue_manager.h"

/* After so many failed hardware passes in a row, the node is left alone. */
#define MAX_ERRORS	3
/* A pass that wants waves in flight and finds the runlist in motion is tried again after this. */
#define RETRY_NS	50000ULL
/*
 * Queues that are dormant are looked at so often all the same: nice values and the driver's own
 * obstacles change without a word.
 */
#define MAX_DORMANT_NS		1000000000ULL
/*
 * After a request that failed the next one waits for so long for a device that has not read what it
 * was sent before: it has no room for more.
 */
#define MAX_FULL_NS		100000000ULL
/* A change is looked at after this time, or when looks may be as often as that. */
#define MAX_NUDGE_NS		1000000ULL
/* By so much looks that cannot wait may be ahead of their limits. */
#define MAX_AHEAD_NS		2000000ULL
/*
 * When everything has to be resumed, queues that the device still holds are waited for, for so
 * long.
 */
#define MAX_LEAVING_NS		10000000000ULL

/*
 * Make room for all queues. Getting memory may mean to wait for anything, also for what waits for a
 * pass: so no lock is held. What is preempted has its place: the first ones of the list have, and
 * queues come at its end.
 */
static void monitor_make_room(struct gpreempt_node *gn)
{
	u32 want = READ_ONCE(gn->queues.nr);
	struct gpreempt_policy_queue **sampled;
	struct gpreempt_watch *watches;

	if (want <= gn->monitor.max_sampled)
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
	swap(gn->monitor.sampled, sampled);
	swap(gn->monitor.watches, watches);
	gn->monitor.max_sampled = want;
	/* Nothing is in there yet. */
	gn->monitor.nr_sampled = 0;
	gn->monitor.nr_dormant = 0;
	gn->policy.queues = gn->monitor.sampled;
	gn->policy.nr = 0;
	gn->policy.nr_dormant = 0;
	gn->monitor.all_due_ns = 0;
	mutex_unlock(&gn->pass_lock);
	kvfree(sampled);
	kvfree(watches);
}

static void monitor_derive(struct gpreempt_node *gn, struct gpreempt_queue *gq, u64 now_ns)
{
	struct gpreempt_process *process = gq->process;
	u32 found;

	if (process->derived_ns != now_ns) {
		process->derived_ns = now_ns;
		gpreempt_priority_derive_process(process);
		gpreempt_rooms_tell(derive, process);
	}
	found = gpreempt_priority_derive(gn, gq);
	if (found & GPREEMPT_DERIVED_HINT)
		gn->monitor.hinted = true;
	if (found & GPREEMPT_DERIVED_MQD)
		gn->monitor.reprioritize = true;
}

static inline void monitor_sample_one(struct gpreempt_queue *gq, u64 now_ns)
{
	bool driver_off = !gq->policy.preempted && !READ_ONCE(gq->q->properties.is_active);
	u64 rptr, wptr, pending;

	gq->policy.set.unseen = !gpreempt_node_read(gq, &rptr, &wptr, &pending);
	/* Evicted, suspended or disabled: it cannot use the device, whatever its ring holds. */
	if (unlikely(driver_off || gq->policy.seen.driver_off)) {
		gpreempt_demand_driver_off(&gq->policy, driver_off, pending, now_ns);
		pending = driver_off ? 0 : pending;
	}
	gpreempt_demand_sample(&gq->policy, rptr, wptr, pending, now_ns);
}

/*
 * Read section held. Queues that do not fit are looked at in the next pass. What was kept of the
 * job of a process may be gone, also if priorities are derived later.
 */
static void monitor_sample_all(struct gpreempt_node *gn, bool anew, u64 now_ns)
{
	struct gpreempt_queue *gq;
	u32 n = 0;

	gn->monitor.all_due_ns = now_ns + MAX_DORMANT_NS;
	/* Derived anew as well: one that goes, and each change, kicks. */
	if (anew)
		gn->monitor.within_ns = U64_MAX;
	list_for_each_entry_srcu(gq, &gn->queues.list, link,
				 srcu_read_lock_held(&gn->queues.srcu)) {
		if (n == gn->monitor.max_sampled) {
			gn->monitor.all_due_ns = 0;
			break;
		}
		/* One that has just been registered, too: its registration kicks a moment later. */
		if (anew || !gq->priority.derived)
			monitor_derive(gn, gq, now_ns);
		else
			gpreempt_rooms_tell(refresh, gq->process);
		if (gq->priority.dead)
			continue;
		monitor_sample_one(gq, now_ns);
		gn->monitor.sampled[n++] = &gq->policy;
	}
	gn->monitor.nr_sampled = n;
	gn->monitor.nr_dormant = 0;
}

static void monitor_swap_places(struct gpreempt_node *gn, u32 a, u32 b)
{
	swap(gn->monitor.sampled[a], gn->monitor.sampled[b]);
	swap(gn->monitor.watches[a], gn->monitor.watches[b]);
}

/*
 * Read section held. Only those that are not dormant, and of the others those whose pointers moved.
 * False: not possible this time.
 */
static bool monitor_sample_awake(struct gpreempt_node *gn, bool anew, u64 now_ns)
{
	u32 i, nr = gn->monitor.nr_sampled + gn->monitor.nr_dormant;

	for (i = gn->monitor.nr_sampled; i < nr; i++) {
		const struct gpreempt_watch *watch = &gn->monitor.watches[i];

		if (likely(READ_ONCE(*watch->rptr) == watch->seen_rptr &&
			   READ_ONCE(*watch->wptr) == watch->seen_wptr))
			continue;
		monitor_derive(gn, gpreempt_queue_of(gn->monitor.sampled[i]), now_ns);
		monitor_swap_places(gn, i, gn->monitor.nr_sampled++);
		gn->monitor.nr_dormant--;
	}
	for (i = 0; i < gn->monitor.nr_sampled; i++) {
		struct gpreempt_queue *gq = gpreempt_queue_of(gn->monitor.sampled[i]);

		if (anew)
			monitor_derive(gn, gq, now_ns);
		if (gq->priority.dead)
			return false;
		monitor_sample_one(gq, now_ns);
	}
	return true;
}

/* Read section held. */
static void monitor_sample(struct gpreempt_node *gn, bool anew, u64 now_ns)
{
	/*
	 * What takes a queue off the list kicks before it waits for readers. So while no kick is to
	 * be seen from here, what the arrays point to stays there. The same goes for the job of a
	 * process.
	 */
	bool kicked = READ_ONCE(gn->kick);
	u8 heard = gpreempt_rooms_ask(hear, gn, now_ns);
	bool all;

	if (heard)
		gn->monitor.all_due_ns = 0;
	anew |= heard == GPREEMPT_HEARD_CHANGE;
	all = kicked || now_ns >= gn->monitor.all_due_ns || !monitor_sample_awake(gn, anew, now_ns);
	if (all)
		monitor_sample_all(gn, anew, now_ns);
	if (all || anew)
		gpreempt_priority_find_waits(gn);
	gn->policy.queues = gn->monitor.sampled;
	gn->policy.nr = gn->monitor.nr_sampled;
	gn->policy.nr_dormant = gn->monitor.nr_dormant;
	gpreempt_rooms_tell(sampled, gn, all, now_ns);
	gpreempt_stats_samples(gn);
}

/* Read section held. Those that need not be looked at go behind the others. */
static void monitor_make_dormant(struct gpreempt_node *gn, u64 now_ns)
{
	u32 i = 0;

	while (i < gn->monitor.nr_sampled) {
		struct gpreempt_queue *gq = gpreempt_queue_of(gn->monitor.sampled[i]);
		const struct gpreempt_view *view;

		/* Pairs with the release where it is published. */
		view = gq->policy.had_demand ? NULL : smp_load_acquire(&gq->view.pointers);
		/* Memory of the device is not read without a look at whether it answers. */
		if (!view || view->vram ||
		    !gpreempt_policy_dormant(&gn->policy, &gq->policy, now_ns,
					   &gn->monitor.all_due_ns)) {
			i++;
			continue;
		}
		gn->monitor.watches[i] = (struct gpreempt_watch){
			.rptr = view->rptr,
			.wptr = view->wptr,
			.seen_rptr = gq->policy.seen.rptr,
			.seen_wptr = gq->policy.seen.wptr,
		};
		monitor_swap_places(gn, i, --gn->monitor.nr_sampled);
		gn->monitor.nr_dormant++;
	}
}

static void monitor_set_state(struct gpreempt_node *gn, enum gpreempt_state state)
{
	if (gn->monitor.state == state)
		return;
	WRITE_ONCE(gn->monitor.state, state);
	gpreempt_stats_state(gn);
}

static void monitor_give_up(struct gpreempt_node *gn, int error)
{
	/* Resuming what is left may fail as well. */
	if (gn->monitor.state == GPREEMPT_STATE_FAILED)
		return;
	atomic64_inc(&gn->stats.disabled);
	monitor_set_state(gn, GPREEMPT_STATE_FAILED);
	dev_err(gn->node->adev->dev,
		"gpreempt: gpu %u is no longer scheduled: preempting failed (%d). It is again after a reset of the GPU, or after writing 1 to gpreempt_enable\n",
		gn->node->id, error);
	WRITE_ONCE(gn->monitor.failed, true);
}

/* What was asked for before it began is what is on the device. */
static void monitor_end_look(struct gpreempt_node *gn)
{
	WRITE_ONCE(gn->monitor.ended, gn->monitor.begun);
	gpreempt_node_acted();
}

/*
 * For so long the monitor does not sleep while the driver waits for a fence. The longest step of a
 * runlist that was timed on hardware, the connect of a queue on an MI308X, took 171 us.
 */
#define MONITOR_SPIN_NS	(200 * NSEC_PER_USEC)
/* So long it sleeps then: a tenth of that */
#define MONITOR_WAIT_US	20

/**
 * kfd_gpreempt_waits() - the driver waits for a fence, and is about to yield the CPU
 * @dqm: the queue manager
 *
 * Of real-time threads the driver's way of yielding lets none run, not even monitors of other
 * nodes, which then would wait one after the other for what devices do side by side. This one does:
 * where monitors share a CPU, all have sent their request before one is waited for. To normal
 * threads no real-time thread yields, so after some time the monitor sleeps.
 *
 * Context: dqm_lock held; any thread; may sleep.
 */
void kfd_gpreempt_waits(struct device_queue_manager *dqm)
{
	struct gpreempt_node *gn = dqm->dev->gpreempt;
	u64 now_ns;

	/* Others that suspend or reset wait as they always do. */
	if (!gn || READ_ONCE(gn->monitor.task) != current)
		return;
	now_ns = ktime_get_ns();
	if (!gn->monitor.waits_ns)
		gn->monitor.waits_ns = now_ns;
	if (now_ns - gn->monitor.waits_ns < MONITOR_SPIN_NS)
		yield();
	else
		usleep_range(MONITOR_WAIT_US, 2 * MONITOR_WAIT_US);
}

/* No read section: this waits for the hardware. */
static int monitor_carry_out(struct gpreempt_node *gn)
{
	struct gpreempt_outcome outcome = { 0 };

	gn->monitor.reprioritize = false;
	gpreempt_waves_acted(gn);
	gn->monitor.waits_ns = 0;
	gn->backend->apply(gn, &outcome);
	gpreempt_rooms_tell(acted, gn, outcome.elapsed_ns);
	/* A device that does not answer has wasted time, not spent it on preempting. */
	if (!outcome.error)
		gpreempt_policy_overhead(&gn->policy, outcome.elapsed_ns, outcome.preempted,
					 ktime_get_ns());
	/*
	 * Otherwise the next look finds it so. One that is switched off while paused must not look:
	 * the driver's side is down.
	 */
	if (!READ_ONCE(gn->life.paused) && gn->backend->runlist_quiescent(gn))
		gpreempt_stats_running(gn, ktime_get_ns());
	gn->monitor.again = outcome.again;
	if (outcome.stop)
		gn->monitor.errors = MAX_ERRORS;
	else if (outcome.error)
		gn->monitor.errors++;
	if (outcome.error)
		gn->monitor.failed_ns = ktime_get_ns();
	else if (!outcome.again)
		gn->monitor.errors = 0;
	if (gn->monitor.errors >= MAX_ERRORS)
		monitor_give_up(gn, outcome.error);
	return outcome.error;
}

static int monitor_act(struct gpreempt_node *gn)
{
	int error = monitor_carry_out(gn);

	monitor_end_look(gn);
	return error;
}

/* Also what an earlier try took off or could not give back. Returns how many are to be resumed. */
static u32 monitor_decide_resumes(struct gpreempt_node *gn)
{
	struct gpreempt_decision decision;
	int idx;

	gn->monitor.all_due_ns = 0;
	idx = srcu_read_lock(&gn->queues.srcu);
	monitor_sample(gn, true, ktime_get_ns());
	gpreempt_policy_resume_all(&gn->policy, &decision);
	srcu_read_unlock(&gn->queues.srcu, idx);
	gn->monitor.decided_ns = ktime_get_ns();
	return decision.nr_resume;
}

/* pass_lock held. */
static void monitor_try_to_resume_all(struct gpreempt_node *gn)
{
	u32 nr_resume = monitor_decide_resumes(gn);
	u64 deadline_ns;
	int tries;

	gpreempt_rooms_tell(ended, gn);
	gn->monitor.level = GPREEMPT_LEVEL_NONE;
	/* Switched off for good, not for a reset: MQDs get back what their programs asked for. */
	if (!gn->backend->reprioritizes && !READ_ONCE(gn->life.thread) &&
	    !READ_ONCE(gn->life.paused) && READ_ONCE(gn->mqd.nr_altered))
		gn->monitor.again = true;

	if (!nr_resume && !gn->monitor.again && !gn->monitor.reprioritize)
		return;
	/*
	 * Errors are not waited for, queues that are on their way off the device are: the backend
	 * sees to their end.
	 */
	deadline_ns = ktime_get_ns() + MAX_LEAVING_NS;
	for (tries = 0; tries < MAX_ERRORS; tries++) {
		bool paused = READ_ONCE(gn->life.paused);

		while (!monitor_act(gn) && gn->monitor.again && !READ_ONCE(gn->life.paused) &&
		       ktime_get_ns() < deadline_ns) {
			fsleep(1000);
			monitor_decide_resumes(gn);
		}
		/*
		 * A suspend or a reset waits for this. It sets flags alone, and there is no further
		 * try.
		 */
		if (!paused && READ_ONCE(gn->life.paused))
			tries = MAX_ERRORS - 2;
		if (!gn->monitor.again)
			break;
		monitor_decide_resumes(gn);
	}
}

/* pass_lock held. From then on nothing is looked at. */
static void monitor_resume_all(struct gpreempt_node *gn)
{
	u64 now_ns;
	int idx;

	monitor_try_to_resume_all(gn);
	idx = srcu_read_lock(&gn->queues.srcu);
	now_ns = ktime_get_ns();
	gn->monitor.all_due_ns = 0;
	monitor_sample(gn, true, now_ns);
	gpreempt_rooms_tell(halted, gn, now_ns);
	srcu_read_unlock(&gn->queues.srcu, idx);
}

/* Read section held. What no decision waits for is read only while the runlist is at rest. */
static bool monitor_read_waves(struct gpreempt_policy_node *pn, struct gpreempt_pass *pass)
{
	struct gpreempt_node *gn = container_of(pn, struct gpreempt_node, policy);

	if (!pass->needs_waves && !gpreempt_waves_quiescent(gn))
		return false;
	if (!gpreempt_waves_read(gn, gn->monitor.quiescent, pass->now_ns))
		return false;
	pass->read_cost_ns = gn->waves.asked_ns;
	return true;
}

/* Read section held. Return: false: try again soon. */
static bool monitor_decide(struct gpreempt_node *gn, struct gpreempt_pass *pass)
{
	bool saved, observe = gn->tun.params.observe;

	gpreempt_waves_begin(gn, pass->now_ns);
	saved = !gpreempt_waves_count(gn, pass->now_ns);
	pass->policy = gpreempt_policies[gn->tun.policy];
	pass->turns_ns = READ_ONCE(gn->hw.turns) * GPREEMPT_TURN_NS;
	/* A node that observes sends no runlist in order to know. */
	pass->waves_saved = saved && !observe;
	pass->checks = gn->backend->tells;
	pass->accounts = gpreempt_accounts && gn->tun.account;
	pass->told_ns = gn->monitor.doorbell_ns;
	gn->policy.device.waves_known = gn->waves.known && !(saved && observe);
	gn->policy.device.waves_counted = READ_ONCE(gn->waves.counted);
	gn->policy.device.waves_lag_ns = gn->waves.lag_ns;
	if (!gpreempt_pass_look(&gn->policy, pass, monitor_read_waves))
		return false;
	gpreempt_pass_decide(&gn->policy, pass);
	if (pass->decision.over_budget)
		gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_BUDGET);
	if (pass->decision.drained)
		gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_DRAINED);
	return true;
}

/* Read section held. What became of announced work, once per announcement and queue. */
static void monitor_count_hints(struct gpreempt_node *gn, u64 now_ns)
{
	bool open = false;
	u32 i;

	/* No announcement of work is open. */
	if (!gn->monitor.hinted)
		return;
	for (i = 0; i < gn->monitor.nr_sampled; i++) {
		struct gpreempt_queue *gq = gpreempt_queue_of(gn->monitor.sampled[i]);
		u64 until_ns = gq->policy.set.expected_until_ns;

		if (until_ns == gq->hint_closed_ns)
			continue;
		if (!gpreempt_demand_came(&gq->policy) && now_ns < until_ns) {
			open = true;
			continue;
		}
		gq->hint_closed_ns = until_ns;
		gpreempt_stats_hint(gq, gpreempt_demand_came(&gq->policy));
	}
	gn->monitor.hinted = open;
}

/* Where waves are not counted, and a decision depends on them, what a runlist saves tells. */
static bool monitor_put_off(struct gpreempt_node *gn, const struct gpreempt_pass *pass)
{
	if (pass->asks_runlist) {
		gn->monitor.again = true;
		monitor_carry_out(gn);
	}
	return false;
}

/*
 * Read section held. A node that only observes has decided. What would have been done counts in the
 * overhead budget, so that no more is counted than would have been done. Until a pass was timed on
 * this node it takes a third of a switch: two of them, and the way back.
 */
static void monitor_observed(struct gpreempt_node *gn, const struct gpreempt_decision *decision,
			     u64 now_ns)
{
	u64 pass_ns = atomic64_read(&gn->stats.preempt_ns_last) ?: GPREEMPT_SWITCH_NS / 3;

	gpreempt_stats_observed(gn, decision, now_ns);
	if (decision->nr_would_preempt || decision->nr_would_resume)
		gpreempt_policy_overhead(&gn->policy, pass_ns, decision->nr_would_preempt, now_ns);
}

/*
 * The node begins to observe. Its decision gives back what was off the device. What else it has
 * left there goes with the same runlist, or with one for that alone. A queue on its way off comes
 * back when it has left.
 */
static void monitor_begin_to_observe(struct gpreempt_node *gn)
{
	if (!READ_ONCE(gn->mqd.nr_altered))
		return;
	gn->monitor.reprioritize |= gn->backend->reprioritizes;
	gn->monitor.again |= !gn->backend->reprioritizes;
}

/* Read section held. What follows from a decision before it is carried out. */
static void monitor_decided(struct gpreempt_node *gn, struct gpreempt_decision *decision,
			    u64 now_ns)
{
	/* Some queue is, or was. */
	if (decision->nr_in_the_way || READ_ONCE(gn->marks.skipped))
		gpreempt_stats_immovable(gn, decision);
	if (gpreempt_mqd_priority_decided(gn, decision->rivals && !gn->tun.params.observe)) {
		gn->monitor.reprioritize |= gn->backend->reprioritizes;
		gn->monitor.again |= !gn->backend->reprioritizes;
	}
	/* Those for which there was no room have not been heard. */
	if (READ_ONCE(gn->queues.nr) > gn->monitor.max_sampled || gpreempt_rooms_ask(waits, gn))
		decision->park = false;
	gn->monitor.parks = decision->park;
	if (gn->policy.idle_ns)
		decision->park = false;
	/* What is preempted takes those that are dormant along. */
	if (decision->nr_preempt || decision->nr_resume || decision->nr_would_preempt ||
	    decision->nr_would_resume || gn->monitor.again)
		gn->monitor.all_due_ns = 0;
	else
		monitor_make_dormant(gn, now_ns);
	gpreempt_stats_verdicts(gn, decision, now_ns);
	if (gn->tun.params.observe)
		monitor_observed(gn, decision, now_ns);
	gpreempt_rooms_tell(decided, gn, now_ns);
}

/* Carries the decision out, if it asks for anything. */
static void monitor_act_on(struct gpreempt_node *gn, const struct gpreempt_decision *decision)
{
	if (decision->nr_preempt || decision->nr_resume || gn->monitor.again ||
	    gn->monitor.reprioritize)
		monitor_act(gn);
	else if (gn->monitor.ended != gn->monitor.begun)
		monitor_end_look(gn);
}

/* Carries the decision out. A node that begins to observe takes back all that it left. */
static void monitor_end_decision(struct gpreempt_node *gn, const struct gpreempt_decision *decision)
{
	bool observes = gn->tun.params.observe, begins = observes && !gn->monitor.observes;

	if (begins)
		monitor_begin_to_observe(gn);
	monitor_act_on(gn, decision);
	if (begins && gn->backend->leave)
		gn->backend->leave(gn);
	gn->monitor.observes = observes;
	gpreempt_stats_observing(gn, observes);
}

/*
 * Every change kicks, except for nice values and the driver's own obstacles. What programs change
 * in a loop may be left to a later look.
 */
static bool monitor_takes_changes(struct gpreempt_node *gn, u64 now_ns)
{
	if (gn->policy.ops != gpreempt_tunables_policy(gn))
		return true;
	if (!gn->monitor.hurries && now_ns < gn->monitor.derive_due_ns)
		return false;
	return READ_ONCE(gn->kick) && xchg(&gn->kick, false);
}

/* Priorities are derived anew where something has changed them, and once in every interval. */
static bool monitor_derives_anew(struct gpreempt_node *gn, u64 now_ns)
{
	/*
	 * The work behind a doorbell waits for this pass. The next one is soon enough to look at
	 * nice values.
	 */
	if (gn->monitor.doorbell_ns && gn->monitor.derived_ns)
		return false;
	if (now_ns - gn->monitor.derived_ns < min(gn->monitor.within_ns, gn->tun.params.interval_ns))
		return false;
	gn->monitor.derived_ns = now_ns;
	/* Pairs with a new hold: either it is seen from here on, or it waits for the next one. */
	smp_store_mb(gn->monitor.begun, gn->monitor.begun + 1);
	return true;
}

/*
 * What passes that derive priorities take has its own share of the time. As with the cost of a pass
 * of two in a row the shorter one counts.
 */
static void monitor_pay_for_deriving(struct gpreempt_node *gn, u64 now_ns, u64 took_ns)
{
	gn->monitor.derive_due_ns =
		now_ns + GPREEMPT_LOOK_SHARE * min(took_ns, gn->monitor.derive_took_ns);
	gn->monitor.derive_took_ns = took_ns;
}

/* The decision is made. @derived: priorities were derived. */
static void monitor_end_pass(struct gpreempt_node *gn, struct gpreempt_pass *pass, bool derived)
{
	struct gpreempt_decision *decision = &pass->decision;
	u64 took_ns, look_ns;

	gn->monitor.decided_ns = ktime_get_ns();
	took_ns = gn->monitor.decided_ns - pass->now_ns;
	/* Waves that no decision asked for are paid for by those who want them. */
	look_ns = took_ns - gn->waves.asked_ns + gn->monitor.arming_ns;
	gpreempt_policy_cost(&gn->policy, look_ns, pass->needs_waves ? gn->waves.asked_ns : 0);
	if (derived)
		monitor_pay_for_deriving(gn, pass->now_ns, look_ns);
	gn->monitor.paid_ns = clamp(gn->monitor.paid_ns, pass->now_ns,
				    pass->now_ns + MAX_AHEAD_NS) + gn->policy.cost_ns;
	gn->monitor.arming_ns = 0;
	gn->monitor.level = decision->level_valid ? decision->level : GPREEMPT_LEVEL_NONE;
	gpreempt_stats_pass(gn, decision, pass->now_ns, gn->monitor.decided_ns);
	gn->monitor.doorbell_ns = 0;
	if (!decision->inversion)
		gn->monitor.clear_ns = pass->now_ns;
	/* From here on: counted from when the pass began, looks would be that much rarer. */
	decision->next_ns = max(decision->next_ns, took_ns + GPREEMPT_SLEEP_MIN_NS) - took_ns;
}

/* @pass: receives all about it. False: it could not decide, try again soon. */
static bool monitor_pass(struct gpreempt_node *gn, struct gpreempt_pass *pass)
{
	struct gpreempt_decision *decision = &pass->decision;
	bool anew, decided;
	int idx;

	pass->now_ns = ktime_get_ns();
	pass->asks_runlist = false;
	pass->needs_waves = false;
	gn->monitor.looked_ns = pass->now_ns;
	if (monitor_takes_changes(gn, pass->now_ns))
		gn->monitor.derived_ns = 0;
	if (!gn->monitor.derived_ns)
		gn->monitor.all_due_ns = 0;
	if (gn->monitor.errors && pass->now_ns - gn->monitor.failed_ns < MAX_FULL_NS &&
	    !gn->backend->runlist_quiescent(gn)) {
		gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_UNSETTLED);
		return false;
	}
	if (gn->marks.resuming_ns && gn->backend->runlist_quiescent(gn))
		gpreempt_stats_running(gn, pass->now_ns);
	gn->monitor.quiescent = gn->waves.wants_quiescence && gpreempt_waves_quiesce(gn);
	if (gn->monitor.quiescent)
		pass->now_ns = ktime_get_ns();
	if (gpreempt_tunables_copy(gn))
		gn->policy.params = gn->tun.params;
	anew = monitor_derives_anew(gn, pass->now_ns);

	idx = srcu_read_lock(&gn->queues.srcu);
	monitor_sample(gn, anew, pass->now_ns);
	monitor_count_hints(gn, pass->now_ns);
	decided = monitor_decide(gn, pass);
	if (decided)
		monitor_decided(gn, decision, pass->now_ns);
	srcu_read_unlock(&gn->queues.srcu, idx);
	if (gn->monitor.quiescent)
		dqm_unlock(gn->node->dqm);
	if (!decided)
		return monitor_put_off(gn, pass);

	monitor_end_pass(gn, pass, anew);
	monitor_end_decision(gn, decision);
	return true;
}

/* No look comes before that, whatever asks for it: looks would have been too many. */
static u64 monitor_earliest(const struct gpreempt_node *gn)
{
	return gn->monitor.paid_ns - min(gn->monitor.paid_ns, MAX_AHEAD_NS);
}

/*
 * For how long may the monitor sleep still? 0: it has to look. Programs can make calls in a loop:
 * they do not lift the limits that polling has.
 */
static u64 monitor_sleep_left(const struct gpreempt_node *gn, u64 until_ns, u64 now_ns)
{
	u64 nudge_ns = max(min(gn->tun.params.poll_ns ?: MAX_NUDGE_NS, MAX_NUDGE_NS),
			   gn->policy.cost_ns);

	if (kthread_should_stop())
		return 0;
	/* The end of a pause wakes it. */
	if (READ_ONCE(gn->life.paused))
		return U64_MAX;
	/* These have limits of their own. */
	if (READ_ONCE(gn->doorbell_ns))
		return 0;
	if (READ_ONCE(gn->urgent))
		until_ns = now_ns;
	if (READ_ONCE(gn->told))
		until_ns = min(until_ns, gn->monitor.looked_ns + nudge_ns);
	if (READ_ONCE(gn->kick))
		until_ns = min(until_ns, max(gn->monitor.looked_ns + nudge_ns,
					     gn->monitor.derive_due_ns));
	if (READ_ONCE(gn->begins))
		until_ns = min(until_ns, gn->monitor.begins_ns + nudge_ns);
	if (until_ns == U64_MAX)
		return U64_MAX;
	until_ns = max(until_ns, monitor_earliest(gn));
	return until_ns > now_ns ? until_ns - now_ns : 0;
}

/* False: it was woken before that. */
static bool monitor_sleep_for(u64 ns)
{
	u64 slack_ns = min(ns / 16, GPREEMPT_SLACK_MAX_NS);
	ktime_t expires = ns_to_ktime(ns - slack_ns);

	if (ns != U64_MAX)
		return !schedule_hrtimeout_range(&expires, slack_ns, HRTIMER_MODE_REL);
	schedule();
	return false;
}

/* @ns: U64_MAX sleeps until there is a reason to look. No lock held. */
static void monitor_nap(struct gpreempt_node *gn, u64 ns)
{
	u64 left_ns, now_ns = ktime_get_ns(), until_ns = ns == U64_MAX ? U64_MAX : now_ns + ns;
	bool over = false;

	while (!over) {
		/* Idle, not interruptible: a sleeping monitor is no load. */
		set_current_state(TASK_IDLE);
		left_ns = monitor_sleep_left(gn, until_ns, now_ns);
		if (!left_ns)
			break;
		over = monitor_sleep_for(left_ns);
		atomic64_inc(&gn->stats.wakeups);
		if (!over)
			now_ns = ktime_get_ns();
	}
	__set_current_state(TASK_RUNNING);
}

/* A process that was armed has work. If this slept for that, no queue outranked another before. */
static void monitor_take_doorbell(struct gpreempt_node *gn)
{
	u64 doorbell_ns = READ_ONCE(gn->doorbell_ns) ? xchg(&gn->doorbell_ns, 0ULL) : 0;

	if (!gn->monitor.doorbell_ns)
		gn->monitor.doorbell_ns = doorbell_ns;
	if (doorbell_ns && gn->monitor.state == GPREEMPT_STATE_ARMED)
		gn->monitor.clear_ns = doorbell_ns;
}

/* How long may the monitor sleep after this decision, which has been carried out? */
static u64 monitor_nap_after(struct gpreempt_node *gn, struct gpreempt_nap *nap)
{
	/* No work is urgent on a node that parks but for what a layer waits for. */
	nap->ns = nap->decision->park || gn->monitor.parks ? U64_MAX : nap->decision->next_ns;
	nap->limit_ns = gn->monitor.within_ns;
	/* The end of a rivalry is the end of what it took from programs. */
	if (gn->mqd.rivalry)
		nap->limit_ns = min(nap->limit_ns, GPREEMPT_CONTENDED_NS);
	gpreempt_rooms_tell(nap, gn, nap);
	gn->monitor.arming_ns = nap->took_ns;
	return min(nap->ns, nap->limit_ns);
}

static u64 monitor_look(struct gpreempt_node *gn)
{
	struct gpreempt_pass pass;
	const struct gpreempt_decision *decision = &pass.decision;
	struct gpreempt_nap nap = { .decision = decision };
	u64 nap_ns;

	WRITE_ONCE(gn->told, false);
	if (READ_ONCE(gn->begins)) {
		WRITE_ONCE(gn->begins, false);
		gn->monitor.begins_ns = ktime_get_ns();
	}
	gn->monitor.hurries = READ_ONCE(gn->urgent) &&
			      gn->monitor.paid_ns < gn->monitor.looked_ns + MAX_AHEAD_NS;
	/*
	 * Before anything is looked at. Pairs with gpreempt_node_look() and gpreempt_node_tell(),
	 * which are called after the reason was written.
	 */
	smp_store_mb(gn->urgent, false);
	monitor_take_doorbell(gn);
	if (gn->monitor.state == GPREEMPT_STATE_FAILED) {
		/* In this order: gpreempt_node_nudge() sets them in the other. */
		WRITE_ONCE(gn->kick, false);
		if (xchg(&gn->revive, false)) {
			gn->monitor.errors = 0;
			gn->monitor.derived_ns = 0;
			monitor_set_state(gn, GPREEMPT_STATE_IDLE);
		} else {
			gn->monitor.decided_ns = ktime_get_ns();
			gn->monitor.looked_ns = gn->monitor.decided_ns;
			if (gn->monitor.again)
				monitor_act(gn);
			gn->monitor.doorbell_ns = 0;
			return gn->monitor.again ? gn->tun.params.interval_ns : U64_MAX;
		}
	}

	if (!monitor_pass(gn, &pass) && gn->monitor.state != GPREEMPT_STATE_FAILED)
		return pass.asks_runlist ? GPREEMPT_SLEEP_MIN_NS : RETRY_NS;
	if (gn->monitor.state == GPREEMPT_STATE_FAILED) {
		monitor_resume_all(gn);
		return gn->monitor.again ? gn->tun.params.interval_ns : U64_MAX;
	}
	nap_ns = monitor_nap_after(gn, &nap);
	monitor_set_state(gn, decision->park ? GPREEMPT_STATE_PARKED :
			      nap.told	     ? GPREEMPT_STATE_ARMED :
			      decision->contended && gn->tun.params.poll_ns ?
				      GPREEMPT_STATE_POLLING :
				      GPREEMPT_STATE_IDLE);
	if (gn->monitor.again)
		return decision->park ? gn->tun.params.interval_ns :
					min(decision->next_ns, gn->tun.params.interval_ns);
	return nap_ns;
}

/**
 * gpreempt_monitor_derive_within() - have priorities derived anew that soon, and again and again
 * @gn: the node
 * @ns: the time; until a pass derives all of them
 *
 * For what changes without a word.
 *
 * Context: the monitor, while it derives.
 */
void gpreempt_monitor_derive_within(struct gpreempt_node *gn, u64 ns)
{
	gn->monitor.within_ns = min(gn->monitor.within_ns, ns);
}

/**
 * gpreempt_monitor_last_pass() - resume everything, and leave the device as it was found
 * @gn: the node; from now on no pass is made, it is paused or its monitor ends
 *
 * Context: pass_lock held; the monitor, or a suspend or reset of the device. Allocates nothing and
 * waits for the backend alone: while paused as long as flags take, otherwise also for queues on
 * their way off the device.
 */
void gpreempt_monitor_last_pass(struct gpreempt_node *gn)
{
	lockdep_assert_held(&gn->pass_lock);
	monitor_resume_all(gn);
	if (gn->backend->leave)
		gn->backend->leave(gn);
	gpreempt_stats_observing(gn, false);
}

/* No lock held. What happened in a pass is told after it. */
static void monitor_tell_failure(struct gpreempt_node *gn)
{
	if (!READ_ONCE(gn->monitor.failed))
		return;
	WRITE_ONCE(gn->monitor.failed, false);
	gpreempt_rooms_tell(failed, gn);
}

/* So often it is looked whether CPUs of the device's NUMA node have come or gone. */
#define MONITOR_PLACE_NS	1000000000ULL

/*
 * No lock held. Registers are nearest to the CPUs of the device's NUMA node, as are programs that
 * feed it. These may go and come.
 */
static void monitor_keep_near(struct gpreempt_node *gn)
{
	u64 now_ns = ktime_get_ns();
	bool first = !gn->monitor.placed_ns;

	if (!first && now_ns - gn->monitor.placed_ns < MONITOR_PLACE_NS)
		return;
	gn->monitor.is_near =
		gpreempt_compat_keep_near(current, dev_to_node(gn->node->adev->dev),
					  first ? NULL : &gn->monitor.is_near);
	gn->monitor.placed_ns = now_ns;
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
	u64 woken_ns = 0, nap_ns = 0;

	/*
	 * A look is short. Whatever its nice value, a normal thread that wakes up waits until a
	 * program that keeps its CPU has used up its slice, milliseconds.
	 */
	WRITE_ONCE(gn->monitor.task, current);
	sched_set_fifo_low(current);
	gn->monitor.placed_ns = 0;
	while (!kthread_should_stop()) {
		monitor_keep_near(gn);
		if (nap_ns == U64_MAX)
			woken_ns = ktime_get_ns();
		monitor_make_room(gn);
		gpreempt_rooms_tell(make_room, gn);
		mutex_lock(&gn->pass_lock);
		/* While it was parked no queue could have outranked another. */
		if (nap_ns == U64_MAX)
			gn->monitor.clear_ns = woken_ns;
		nap_ns = READ_ONCE(gn->life.paused) ? U64_MAX : monitor_look(gn);
		mutex_unlock(&gn->pass_lock);
		monitor_tell_failure(gn);
		monitor_nap(gn, nap_ns);
	}
	mutex_lock(&gn->pass_lock);
	gn->monitor.waits_ns = 0;
	gpreempt_monitor_last_pass(gn);
	mutex_unlock(&gn->pass_lock);
	WRITE_ONCE(gn->monitor.task, NULL);
	monitor_tell_failure(gn);
	return 0;
}

/**
 * gpreempt_monitor_begin() - a node is switched on, or its device has been set up anew: forget what
 * went wrong before
 * @gn: the node
 * @set_up: its device has been set up anew: the driver has mapped what is active, and nothing is
 *	left unfinished. Otherwise what switching off could not map is still to be mapped.
 *
 * Context: pass_lock held.
 */
void gpreempt_monitor_begin(struct gpreempt_node *gn, bool set_up)
{
	lockdep_assert_held(&gn->pass_lock);
	gn->monitor.errors = 0;
	gn->monitor.again &= !set_up;
	gn->monitor.observes = false;
	gn->monitor.within_ns = U64_MAX;
	gn->monitor.clear_ns = ktime_get_ns();
	WRITE_ONCE(gn->monitor.state, GPREEMPT_STATE_IDLE);
}

/**
 * gpreempt_monitor_free_node() - free what passes have allocated
 * @gn: the node; its monitor has ended
 *
 * Context: may sleep.
 */
void gpreempt_monitor_free_node(struct gpreempt_node *gn)
{
	kvfree(gn->monitor.sampled);
	kvfree(gn->monitor.watches);
}

// SPDX-License-Identifier: MIT
/*
 * random_nodes_test.c - random nodes with random work, and what must hold on all of them
 *
 * A device with a few wave slots, queues with kernels and barriers, a virtual clock, and the monitor's passes around
 * policy.c. A runlist change takes all waves off and brings them back a little later, as the hardware does. Nothing
 * here knows how the policy decides; the properties look at what is true on the device.
 *
 * Each seed is one node. Seeds SEED..SEED+COUNT-1 run (1..500 unless set); a violated property names its seed:
 *
 *	make -s check SEED=17 COUNT=1 TESTS=no_lasting_inversion
 *
 * The same seeds run a second time as wild nodes: any policy, changed at any time, with random weights, deadlines and tunables, queues that
 * are asked to hold, processes that opt out, announcements, firmware that takes turns. What must hold there does not depend on who comes first.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "policy_node.h"
#include "tap.h"

#define TICK_NS		(50 * US)
#define HORIZON_NS	(10 * SEC)
/* What restoring takes at most, if it is not much slower than the passes are */
#define RESTORE_NS	(300 * US)
#define RESTORE_SHARE	3

#define NR_SLOTS	8
#define NR_PACKETS	12
#define NR_WAVES	12

enum property {
	ALL_WORK_IS_DONE_ONCE,
	ALL_IS_RESUMED,
	PREEMPTED_FOR_SOMEBODY,
	NO_LASTING_INVERSION,
	NO_STARVATION,
	RELIEF_IS_BOUNDED,
	PASSES_HAVE_A_CAUSE,
	LOOKS_ARE_BOUNDED,
	EQUALS_ARE_LEFT_ALONE,
	OWN_PROCESS_IS_SPARED,
	OPT_OUT_IS_KEPT,
	NR_PROPERTIES,
};

/**
 * struct packet - one AQL packet
 * @after: barrier: waits for this packet, and has no waves itself; NULL: a kernel
 * @submit_ns: when the program writes it, after the start
 * @wave_ns: length of a wave
 * @waves: waves of the grid
 * @launched: of these, how many have been dispatched
 * @done: of these, how many have ended
 * @completed: how often it completed
 * @alone: does not start before the packet in front of it has completed
 */
struct packet {
	const struct packet *after;
	u64 submit_ns;
	s64 wave_ns;
	u32 waves;
	u32 launched;
	u32 done;
	u32 completed;
	bool alone;
};

struct wave {
	struct packet *packet;
	s64 left_ns;
	bool in_slot;
};

/**
 * struct program - what uses one queue
 * @q: the queue
 * @packets: all that it will ever submit, in order
 * @waves: launched, not done; in a slot, or saved
 * @preempted_since_ns: since when work has waited while the queue was preempted; 0: it does not
 * @relief_end_ns: until when it has its turn at the level, because it starved
 * @inverted_since_ns: since when its waves run though higher work waits; 0: they do not
 * @worked_ns: when it last had work
 * @had_work: at the last look
 * @seemed_busy: at the last look
 * @was_invisible: at the last look
 * @was_blocked: the policy thought so at the last look
 * @was_in_relief: at the last look
 */
struct program {
	struct queue *q;
	struct packet packets[NR_PACKETS];
	struct wave waves[NR_SLOTS];
	u64 preempted_since_ns;
	u64 relief_end_ns;
	u64 inverted_since_ns;
	u64 worked_ns;
	bool had_work;
	bool seemed_busy;
	bool was_invisible;
	bool was_blocked;
	bool was_in_relief;
};

static struct {
	u64 seed;
	u64 random;
	u64 start_ns;
	u64 next_pass_ns;
	u64 restored_ns;
	u64 relief_ns;
	u32 nr_turns;
	u32 turn;
	u32 free_slots;
	bool cause;
	u32 kicks;
	bool equal;
	bool wild;
	bool calm;
	struct program programs[NR_QUEUES_MAX];
} sim;

/* First violation of each property, over all seeds; [1] of wild nodes. */
static char violations[2][NR_PROPERTIES][200];

static void __attribute__((format(printf, 2, 3))) violated(enum property property, const char *format, ...)
{
	char *text = violations[sim.wild][property];
	va_list args;
	int n;

	if (text[0])
		return;
	n = snprintf(text, sizeof(violations[0][0]), "SEED=%llu COUNT=1, at %llu us: ", (unsigned long long)sim.seed,
		     (unsigned long long)((node.now_ns - sim.start_ns) / US));
	va_start(args, format);
	vsnprintf(text + n, sizeof(violations[0][0]) - n, format, args);
	va_end(args);
}

/* splitmix64 */
static u64 random_below(u64 n)
{
	u64 z = sim.random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) % n;
}

static bool one_in(u32 n)
{
	return !random_below(n);
}

static struct program *program_of(u32 i)
{
	return &sim.programs[i];
}

#define EACH_PROGRAM(p)	for (struct program *p = sim.programs; p < sim.programs + node.nr_queues; p++)

static int number(const struct program *p)
{
	return (int)(p - sim.programs);
}

/* ---- the node ---- */

static s32 random_priority(void)
{
	static const s32 some[] = { LOW, MIDDLE, HIGH };

	return some[sim.equal ? 0 : random_below(3)];
}

static void make_queues(void)
{
	u32 i, nr_processes = 2 + random_below(3), nr_queues = nr_processes + random_below(3);

	for (i = 0; i < nr_processes; i++)
		new_process();
	for (i = 0; i < nr_queues; i++) {
		struct program *p = program_of(i);

		p->q = new_queue(&node.processes[i % nr_processes], random_priority());
		p->q->policy.set.explicit_priority = !sim.equal && one_in(3);
		p->q->policy.set.immovable = one_in(12);
	}
}

/* On a quarter of the nodes every other process says that it waits for another one, and none orders its queues. */
static void make_waits(void)
{
	u32 i, n = node.nr_processes;

	if (sim.seed % 4 != 1)
		return;
	EACH_PROGRAM(p)
		p->q->policy.set.explicit_priority = false;
	for (i = 0; i < n; i += 2) {
		node.processes[i].policy.waits_for = &node.processes[(i + 1 + sim.seed / 4) % n].policy;
		node.processes[i].policy.lends_all = true;
	}
}

/* A barrier waits for an earlier packet of the whole node, so that all work can be done, whatever the order. */
static void make_packets(void)
{
	bool hog[NR_QUEUES_MAX];
	u64 submit_ns = 0;
	u32 i, n;

	for (i = 0; i < node.nr_queues; i++)
		hog[i] = one_in(2);
	for (n = 0; n < NR_PACKETS; n++) {
		for (i = 0; i < node.nr_queues; i++) {
			struct packet *packet = &program_of(i)->packets[n];

			if (one_in(8))
				submit_ns += random_below(40 * MS);
			packet->submit_ns = submit_ns;
			packet->alone = one_in(2);
			if (n && one_in(5)) {
				packet->after = &program_of(random_below(node.nr_queues))->packets[random_below(n)];
				continue;
			}
			packet->waves = hog[i] ? NR_SLOTS + random_below(NR_WAVES) : 1 + random_below(4);
			packet->wave_ns = 100 * US + random_below(hog[i] ? 8 * MS : 2 * MS);
		}
	}
}

static const struct gpreempt_policy_ops *random_policy(void)
{
	return gpreempt_policies[random_below(nr_policies())];
}

static void make_wild(void)
{
	u32 i;

	node.use = random_policy();
	node.params.aging_ns = one_in(2) ? random_below(3 * MS) : 0;
	node.params.min_run_ns = one_in(2) ? random_below(3 * MS) : 0;
	node.params.resume_delay_ns = one_in(2) ? random_below(3 * MS) : 0;
	node.params.drain_ns = one_in(2) ? random_below(MS) : 0;
	node.params.slice_ns = 500 * US + random_below(5 * MS);
	node.params.overhead_pct = one_in(3) ? 0 : 1 + random_below(50);
	node.device.waves_known = !one_in(5);
	node.device.waves_saved = one_in(8);
	node.params.observe = one_in(8);
	node.turns_ns = one_in(4) ? random_below(5) * GPREEMPT_TURN_NS : 0;
	node.pass_takes_ns = random_below(MS);
	for (i = 0; i < node.nr_processes; i++) {
		node.processes[i].policy.beside.episodes = 1023;
		node.processes[i].policy.weight = one_in(2) ? 0 : 1 + random_below(300);
		node.processes[i].policy.deadline_ns = one_in(2) ? 0 : 1 + random_below(50 * MS);
		node.processes[i].policy.opt_out = one_in(8);
	}
	EACH_PROGRAM(p) {
		p->q->policy.set.weight = one_in(5) ? 1 + random_below(300) : 0;
		p->q->policy.set.deadline_ns = one_in(5) ? 1 + random_below(50 * MS) : 0;
	}
}

static void make_node(u64 seed, bool wild)
{
	memset(&sim, 0, sizeof(sim));
	sim.wild = wild;
	sim.seed = seed;
	sim.random = seed;
	sim.free_slots = NR_SLOTS;
	sim.equal = seed % 10 == 0;

	tap_reset();
	node.params.max_hold_ns = (10 + random_below(40)) * MS;
	node.params.relief_ns = (2 + random_below(6)) * MS;
	node.params.blocked_ns = (1 + random_below(3)) * MS;
	if (one_in(5))
		node.params.poll_ns = 0;
	sim.start_ns = node.now_ns;
	sim.next_pass_ns = node.now_ns;
	make_queues();
	make_waits();
	make_packets();
	if (wild)
		make_wild();
}

/* ---- the device ---- */

static void complete(struct packet *packet)
{
	packet->completed++;
}

static void run_waves(struct program *p)
{
	struct wave *w;

	for (w = p->waves; w < p->waves + NR_SLOTS; w++) {
		if (!w->packet || !w->in_slot)
			continue;
		w->left_ns -= TICK_NS;
		if (w->left_ns > 0)
			continue;
		if (++w->packet->done == w->packet->waves)
			complete(w->packet);
		*w = (struct wave){ 0 };
		sim.free_slots++;
		p->q->waves--;
	}
}

static void take_slot(struct wave *w)
{
	w->in_slot = true;
	sim.free_slots--;
}

static bool place_saved_wave(struct program *p)
{
	struct wave *w;

	for (w = p->waves; w < p->waves + NR_SLOTS; w++) {
		if (w->packet && !w->in_slot) {
			take_slot(w);
			return true;
		}
	}
	return false;
}

static bool place_new_wave(struct program *p, struct packet *packet)
{
	struct wave *w;

	for (w = p->waves; w < p->waves + NR_SLOTS; w++) {
		if (!w->packet) {
			*w = (struct wave){ .packet = packet, .left_ns = packet->wave_ns };
			take_slot(w);
			packet->launched++;
			p->q->waves++;
			return true;
		}
	}
	return false;
}

/* The queue's next step, at most one wave. Return: false if it can do nothing now. */
static bool step(struct program *p)
{
	struct packet *packet = &p->packets[p->q->rptr];

	if (sim.free_slots && place_saved_wave(p))
		return true;
	if (!pending(p->q))
		return false;
	if (packet->alone && p->q->rptr && !packet[-1].completed)
		return false;
	if (packet->after) {
		if (!packet->after->completed)
			return false;
		complete(packet);
		p->q->rptr++;
		return true;
	}
	if (!sim.free_slots || !place_new_wave(p, packet))
		return false;
	if (packet->launched == packet->waves)
		p->q->rptr++;
	return true;
}

/* Free slots go round the mapped queues, one wave each. */
static void fill_slots(void)
{
	u32 idle = 0;

	if (node.now_ns < sim.restored_ns)
		return;
	while (idle < node.nr_queues) {
		struct program *p = program_of(sim.turn++ % node.nr_queues);

		idle = on_device(p->q) && step(p) ? 0 : idle + 1;
	}
}

static void write_packets(struct program *p)
{
	while (p->q->wptr < NR_PACKETS && node.now_ns - sim.start_ns >= p->packets[p->q->wptr].submit_ns)
		submit(p->q, 1);
}

static u64 restore_ns(void)
{
	return RESTORE_SHARE * node.pass_takes_ns > RESTORE_NS ? RESTORE_SHARE * node.pass_takes_ns : RESTORE_NS;
}

/* For how long the policy may wait for them. */
static u64 awaited_ns(void)
{
	u64 long_ns = GPREEMPT_PASS_SHARE * node.pass_takes_ns;

	return long_ns > GPREEMPT_WAVES_RESTORE_NS ? long_ns : GPREEMPT_WAVES_RESTORE_NS;
}

/* All waves go off the device and come back, those of mapped queues, when the new runlist has been taken in. */
static void change_runlist(void)
{
	struct wave *w;

	EACH_PROGRAM(p)
		for (w = p->waves; w < p->waves + NR_SLOTS; w++)
			w->in_slot = false;
	sim.free_slots = NR_SLOTS;
	sim.restored_ns = node.now_ns + random_below(restore_ns());
}

static void show_waves(struct program *p)
{
	struct wave *w;

	p->q->invisible = p->q->waves;
	for (w = p->waves; w < p->waves + NR_SLOTS; w++)
		if (w->packet && w->in_slot)
			p->q->invisible = false;
}

/* ---- what is true ---- */

/* A queue that the policy has found blocked may be passed over; that it is found rightly is the rules' business. */
static bool demands(const struct program *p)
{
	return has_work(p->q) && !p->q->policy.seen.blocked;
}

/* While waves may be hidden by a runlist change, nobody can tell that they have ended. */
static bool seems_busy(const struct program *p)
{
	return demands(p) || (p->worked_ns && node.now_ns - p->worked_ns <= awaited_ns());
}

/* A queue in relief is above all others as long as it has work. */
static s32 rank_of(const struct program *p)
{
	return node.now_ns < p->relief_end_ns ? GPREEMPT_PRIORITY_RELIEF : p->q->policy.priority;
}

static bool may_order(const struct program *above, const struct program *below)
{
	const struct gpreempt_policy_queue *a = &above->q->policy, *b = &below->q->policy;

	if (a->process != b->process)
		return rank_of(above) > rank_of(below);
	return a->set.explicit_priority && b->set.explicit_priority && a->set.own_priority > b->set.own_priority;
}

static bool yields_to_somebody(const struct program *victim)
{
	EACH_PROGRAM(p)
		if (seems_busy(p) && may_order(p, victim))
			return true;
	return false;
}

static s32 true_level(void)
{
	s32 level = GPREEMPT_PRIORITY_MIN;

	EACH_PROGRAM(p)
		if (demands(p) && rank_of(p) > level)
			level = rank_of(p);
	return level;
}

/* @seen: not by waves alone that wait for their slots after a runlist change. */
static bool process_works_at(const struct program *p, s32 level, bool seen)
{
	EACH_PROGRAM(other) {
		if (other->q->process == p->q->process && rank_of(other) == level && demands(other) &&
		    (!seen || pending(other->q) || !other->q->invisible))
			return true;
	}
	return false;
}

/* ---- properties ---- */

/* The longest turn: that of one that starves alone. */
static u64 turn_ns(void)
{
	u64 switch_ns = node.pass_takes_ns ? 3 * node.pass_takes_ns : 320 * US, turn_ns = node.params.relief_ns / 2;

	turn_ns = turn_ns > 4 * switch_ns ? turn_ns : 4 * switch_ns;
	return turn_ns < 10 * switch_ns ? turn_ns : 10 * switch_ns;
}

/* So long a queue with work may be preempted: see debt.c. */
static u64 most_preempted_ns(void)
{
	u64 phi_inverse = (node.params.max_hold_ns + node.params.relief_ns) / node.params.relief_ns + 1;

	return 2 * turn_ns() * node.nr_processes * phi_inverse +
	       node.nr_processes * (turn_ns() + 6 * node.pass_takes_ns + restore_ns() + 4 * TICK_NS + node.params.interval_ns);
}

static void watch_reliefs(void)
{
	bool relief = node.decision.level_valid && node.decision.level == GPREEMPT_PRIORITY_RELIEF;

	sim.nr_turns += node.decision.nr_relief != 0;
	sim.relief_ns += relief ? node.decision.next_ns : 0;
	EACH_PROGRAM(p) {
		const struct gpreempt_policy_process *process = p->q->policy.process;

		p->relief_end_ns = relief && process->turn ? node.now_ns + SEC : 0;
	}
}

/* What may change a decision: work comes, ends or hides, a queue is found blocked or not, a relief begins or ends. */
static void find_cause(void)
{
	sim.cause |= node.decision.nr_relief != 0;
	EACH_PROGRAM(p) {
		bool in_relief = node.now_ns < p->relief_end_ns;

		sim.cause |= has_work(p->q) != p->had_work || seems_busy(p) != p->seemed_busy ||
			     p->q->invisible != p->was_invisible || p->q->policy.seen.blocked != p->was_blocked ||
			     in_relief != p->was_in_relief;
		p->had_work = has_work(p->q);
		p->seemed_busy = seems_busy(p);
		p->was_invisible = p->q->invisible;
		p->was_blocked = p->q->policy.seen.blocked;
		p->was_in_relief = in_relief;
	}
}

/* Of wild nodes: what no policy and no tunable may change. */
static void check_safety(void)
{
	EACH_PROGRAM(p) {
		const struct gpreempt_policy_queue *q = &p->q->policy;

		if (q->action == GPREEMPT_PREEMPT && q->process->opt_out)
			violated(OPT_OUT_IS_KEPT, "queue %d of a process that opted out is preempted", number(p));
		if (q->preempted && q->process->opt_out && q->action != GPREEMPT_RESUME)
			violated(OPT_OUT_IS_KEPT, "queue %d of a process that opted out stays off", number(p));
	}
}

static void check_decision(void)
{
	s32 level = node.decision.level;
	bool inversion = false;

	if (sim.wild) {
		check_safety();
		return;
	}
	EACH_PROGRAM(p) {
		const struct gpreempt_policy_queue *q = &p->q->policy;
		bool spared = process_works_at(p, level, true) && !q->set.explicit_priority;

		if (q->action != GPREEMPT_PREEMPT)
			continue;
		inversion |= (has_work(p->q) || seems_busy(p)) && yields_to_somebody(p);
		if (!yields_to_somebody(p))
			violated(PREEMPTED_FOR_SOMEBODY, "queue %d is preempted for nobody", number(p));
		if (spared)
			violated(OWN_PROCESS_IS_SPARED, "queue %d is preempted while its process works at level %d",
				 number(p), level);
	}
	if (node.decision.nr_preempt && !inversion)
		violated(PREEMPTED_FOR_SOMEBODY, "only queues without work are preempted");
}

static void check_queue(struct program *p, s32 level)
{
	/* A pass more, and the time that the policy takes to see that a queue is not blocked any more. */
	u64 late_ns = node.params.interval_ns + TICK_NS;
	u64 inverted_ns = late_ns + 2 * node.params.blocked_ns + node.params.interval_ns + restore_ns();
	const struct gpreempt_policy_queue *q = &p->q->policy;
	bool inverted;

	/* How long one waits among others that take turns is a matter of weights. */
	if (on_device(p->q) || !has_work(p->q) || q->set.hold || (node.policy.ops->rotates && q->standing))
		p->preempted_since_ns = 0;
	else if (!p->preempted_since_ns)
		p->preempted_since_ns = node.now_ns;
	else if (node.now_ns - p->preempted_since_ns > most_preempted_ns() + late_ns)
		violated(NO_STARVATION, "queue %d has been preempted with work since %llu us", number(p),
			 (unsigned long long)((p->preempted_since_ns - sim.start_ns) / US));
	if (sim.wild)
		return;

	inverted = on_device(p->q) && p->q->waves && rank_of(p) < level && !q->set.immovable &&
		   !process_works_at(p, level, false);
	if (!inverted)
		p->inverted_since_ns = 0;
	else if (!p->inverted_since_ns)
		p->inverted_since_ns = node.now_ns;
	else if (node.now_ns - p->inverted_since_ns > inverted_ns)
		violated(NO_LASTING_INVERSION, "queue %d runs since %llu us though level %d waits", number(p),
			 (unsigned long long)((p->inverted_since_ns - sim.start_ns) / US), level);

}

static void check_end(void)
{
	u64 shortest_ns = node.params.poll_ns ? node.params.poll_ns : node.params.interval_ns;
	u64 lost_ns;
	u32 n, looks;

	EACH_PROGRAM(p) {
		for (n = 0; n < NR_PACKETS; n++) {
			const struct packet *packet = &p->packets[n];

			if (packet->completed != 1 || packet->done != packet->waves)
				violated(ALL_WORK_IS_DONE_ONCE, "packet %u of queue %d: %u times, %u of %u waves",
					 n, number(p), packet->completed, packet->done, packet->waves);
		}
		if (!on_device(p->q))
			violated(ALL_IS_RESUMED, "queue %d is still preempted", number(p));
	}
	/* What debts of the time before the first switch was timed were worth is paid by then at the latest. */
	lost_ns = (node.now_ns - sim.start_ns) / ((node.params.max_hold_ns + node.params.relief_ns) / node.params.relief_ns) +
		  sim.nr_turns * (2 * node.params.interval_ns + restore_ns()) + node.nr_processes * 8 * turn_ns();
	if (sim.relief_ns > lost_ns)
		violated(RELIEF_IS_BOUNDED, "%llu us in %u turns", (unsigned long long)(sim.relief_ns / US), sim.nr_turns);
	if (sim.wild)
		return;
	looks = (node.now_ns - sim.start_ns) / shortest_ns + 2 * node.nr_preempted + 2 * node.nr_relief + sim.kicks + 2;
	if (node.nr_passes > looks)
		violated(LOOKS_ARE_BOUNDED, "%u looks, at most %u expected", node.nr_passes, looks);
	if (sim.equal && node.nr_preempted)
		violated(EQUALS_ARE_LEFT_ALONE, "%u preemptions", node.nr_preempted);
}

/* ---- one seed ---- */

static void monitor(void)
{
	if (node.now_ns < sim.next_pass_ns)
		return;
	look();
	watch_reliefs();
	find_cause();
	check_decision();
	act();
	if (node.decision.nr_preempt || node.decision.nr_resume) {
		if (!sim.cause && !sim.wild)
			violated(PASSES_HAVE_A_CAUSE, "nothing has changed since the last hardware pass");
		sim.cause = false;
		change_runlist();
	}
	sim.next_pass_ns = node.decision.park ? ~0ULL : node.now_ns + node.decision.next_ns;
}

static void disturb_wild(struct program *p)
{
	if (one_in(8))
		node.turns_ns = random_below(5) * GPREEMPT_TURN_NS;
	switch (random_below(5)) {
	case 0:
		node.use = random_policy();
		break;
	case 1:
		p->q->process->policy.opt_out = !p->q->process->policy.opt_out;
		break;
	case 2:
		p->q->policy.set.expected_until_ns = node.now_ns + random_below(20 * MS);
		break;
	default:
		p->q->policy.set.hold = !p->q->policy.set.hold;
		break;
	}
}

/* renice, or the driver takes or leaves its hold on a queue: the caller starts a pass. */
static void disturb(void)
{
	struct program *p;

	if (sim.equal || sim.calm || !one_in(2000))
		return;
	p = program_of(random_below(node.nr_queues));
	if (sim.wild && one_in(2))
		disturb_wild(p);
	else if (one_in(3))
		p->q->policy.set.immovable = !p->q->policy.set.immovable;
	else
		p->q->policy.set.priority = p->q->policy.set.own_priority = random_priority();
	sim.next_pass_ns = node.now_ns;
	sim.cause = true;
	sim.kicks++;
}

static bool work_left(void)
{
	EACH_PROGRAM(p)
		if (!p->packets[NR_PACKETS - 1].completed || has_work(p->q))
			return true;
	return false;
}

static void tick(void)
{
	s32 level;

	node.now_ns += TICK_NS;
	EACH_PROGRAM(p) {
		if (on_device(p->q))
			run_waves(p);
		write_packets(p);
	}
	fill_slots();
	EACH_PROGRAM(p) {
		show_waves(p);
		if (has_work(p->q))
			p->worked_ns = node.now_ns;
	}
	disturb();
	monitor();
	level = true_level();
	EACH_PROGRAM(p)
		check_queue(p, level);
}

static void simulate(u64 seed, bool wild)
{
	u64 end_ns;

	make_node(seed, wild);
	tap_at("SEED=%llu COUNT=1: ", (unsigned long long)seed);
	while (work_left() && node.now_ns - sim.start_ns < HORIZON_NS)
		tick();
	/* Nobody asks for a hold any more, announcements and delays end. */
	EACH_PROGRAM(p)
		p->q->policy.set.hold = false;
	sim.calm = true;
	if (wild)
		sim.next_pass_ns = node.now_ns;
	end_ns = node.now_ns + 10 * node.params.interval_ns + node.turns_ns;
	while (node.now_ns < end_ns)
		tick();
	check_end();
}

/* All seeds run once, whichever property asks first. */
static void must_hold(bool wild, enum property property)
{
	/* Once for each mutant, where there are mutants. */
	static int done_for[2] = { -1, -1 };
	u64 seed = tap_setting("SEED", 1), end = seed + tap_setting("COUNT", 500);

	if (done_for[wild] != mutant) {
		memset(violations[wild], 0, sizeof(violations[wild]));
		printf("# %sseeds %llu..%llu\n", wild ? "wild nodes, " : "", (unsigned long long)seed,
		       (unsigned long long)end - 1);
		for (; seed < end; seed++)
			simulate(seed, wild);
		done_for[wild] = mutant;
		tap_at("%s", "");
	}
	if (violations[wild][property][0])
		tap_fail(__FILE__, __LINE__, "%s", violations[wild][property]);
}

/* First: is it of wild nodes? */
TEST(all_work_is_done_once, "every packet completes, once, with all its waves, whoever was preempted meanwhile") { must_hold(false, ALL_WORK_IS_DONE_ONCE); }
TEST(all_is_resumed, "when the work is done, nobody is preempted any more") { must_hold(false, ALL_IS_RESUMED); }
TEST(preempted_for_somebody, "a preemption has a beneficiary with work, and a victim with work in the same pass") { must_hold(false, PREEMPTED_FOR_SOMEBODY); }
TEST(no_lasting_inversion, "lower waves do not run on beside waiting higher work") { must_hold(false, NO_LASTING_INVERSION); }
TEST(no_starvation, "no queue with work is preempted for longer than debts allow, and a pass") { must_hold(false, NO_STARVATION); }
TEST(relief_is_bounded, "those above lose no more than phi of the time to debts, and a look at each end of a turn") { must_hold(false, RELIEF_IS_BOUNDED); }
TEST(passes_have_a_cause, "the hardware is disturbed only after work came or ended, a queue got blocked, or a relief began or ended") { must_hold(false, PASSES_HAVE_A_CAUSE); }
TEST(looks_are_bounded, "the monitor wakes no more often than the poll time and the deadlines say") { must_hold(false, LOOKS_ARE_BOUNDED); }
TEST(equals_are_left_alone, "where all priorities are equal, nothing is preempted") { must_hold(false, EQUALS_ARE_LEFT_ALONE); }
TEST(own_process_is_spared, "no queue is preempted while its own process works at the level, unless it was given its priority") { must_hold(false, OWN_PROCESS_IS_SPARED); }
TEST(wild_work_is_done_once, "every packet completes, once, with all its waves, whatever policies and tunables do meanwhile") { must_hold(true, ALL_WORK_IS_DONE_ONCE); }
TEST(wild_nodes_end_with_nobody_held, "when the work is done and nobody asks for a hold, nobody is held, under every policy") { must_hold(true, ALL_IS_RESUMED); }
TEST(wild_nodes_starve_nobody, "under every policy no queue with work is preempted for its rank for longer than debts allow") { must_hold(true, NO_STARVATION); }
TEST(wild_nodes_bound_reliefs, "under every policy reliefs do not add up") { must_hold(true, RELIEF_IS_BOUNDED); }
TEST(wild_nodes_keep_opt_outs, "under every policy a process that opted out keeps its queues on the device") { must_hold(true, OPT_OUT_IS_KEPT); }

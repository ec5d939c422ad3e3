// SPDX-License-Identifier: MIT
/* sim.c - the simulator; see sim.h */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "demand.h"
#include "news.h"
#include "pass.h"
#include "share.h"
#include "sim.h"

/* As in the monitor: all queues are looked at so often. */
#define MAX_DORMANT_NS	SEC

/*
 * What a pass takes, which the policy wants to know: at one instruction per nanosecond what is counted of the driver (design.rst, Cost), and some
 * register accesses for each XCC where waves are asked for.
 */
#define LOOK_NS		2000
#define LOOK_AWAKE_NS	300
#define LOOK_RESTING_NS	8
#define ASK_NS		10000
/* From the word of another node to the look at it: a CPU leaves its sleep state and comes to the monitor. Assumed. */
#define WAKE_NS		20000

/* As in doorbell.c: so long after its last work a process is armed, and a node that waits looks. */
#define ARM_AFTER_NS		(100 * US)
#define ARM_LATE_AFTER_NS	GPREEMPT_CONTENDED_NS
#define BACKSTOP_NS		(50 * MS)

#define NONE		(~0U)

const struct sim_device sim_mi300x = { .slots = 100, .runlist_ns = 20 * US, .trap_ns = 10 * US, .full_save_ns = 44 * US };

const struct sim_class sim_inference = {
	.name = "inference", .nr_queues = 1, .priority = HIGH, .arrivals = POISSON, .period_ns = 10 * MS, .kernels = 20, .kernel_ns = 100 * US,
	.units = 100,
};
const struct sim_class sim_training = {
	.name = "training", .nr_queues = 1, .priority = LOW, .arrivals = CONTINUOUS, .kernels = 100, .kernel_ns = 2 * MS, .units = 100,
};

const struct sim_class sim_decode = {
	.name = "decode", .nr_queues = 1, .priority = HIGH, .arrivals = PERIODIC, .period_ns = 250 * MS, .kernels = 100, .kernel_ns = 200 * US,
	.units = 100, .gap_ns = 50 * US, .gap_most_ns = 200 * US,
};

/* Each basic block of policy.c and policies.c calls this; see the Makefile. */
u64 sim_steps;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	sim_steps++;
}

void (*sim_passed)(const struct gpreempt_policy_node *pn, u64 now_ns);
void (*sim_ran)(u32 class, u64 from_ns, u64 to_ns);

/**
 * struct queue - a queue, its program, and what the policy knows
 * @policy: what the policy knows
 * @process: its process; nobody shares it
 * @class: what it does
 * @number: of the class
 * @rptr: kernels that were launched
 * @wptr: kernels that were submitted
 * @left_ns: of the kernel in flight, with all its slots; 0: there is none
 * @length_ns: of that kernel as a whole
 * @ran_ns: so long it has had its slots
 * @all_ran_ns: so long all its kernels have had theirs
 * @started_ns: since when it has had them, while @in_slots
 * @has: so many it has, or had when it left them
 * @counted_ns: until when what it did there is counted, while @in_slots
 * @in_slots: it runs
 * @launching: generation of the event that ends it; others are void
 * @listed: in the list of ready queues
 * @next_ready: the next one there
 * @running_at: place in the list of running queues
 * @preempted_at_ns: since when it has been preempted with work; 0: it is not
 * @working: it has work, at no barrier
 * @unserved_ns: since when it has had work and not its slots; 0: it has either both or no work
 * @starved_ns: since when higher work has come meanwhile; 0: none has
 * @dormant: the monitor does not look at it
 * @tells: its next work wakes the monitor
 * @place: where the monitor has it
 * @arrivals: when the requests came that have not ended: a ring
 * @first: the oldest one
 * @nr_waiting: how many there are
 * @max_waiting: size of the ring, a power of two
 * @kernels_left: of the oldest one, that have not ended
 * @arrived: of a collective: the number of the kernel whose own part is done
 * @met_ns: when the barrier before its next kernel is met
 * @at_barrier: it stands at that one, as far as the device has seen
 * @passed: barriers that the read pointer has moved past
 * @done: kernels that ended
 * @needed: of the queue that it needs: its next request begins when so many have ended there
 */
struct queue {
	struct gpreempt_policy_queue policy;
	struct gpreempt_policy_process process;
	const struct sim_class *class;
	u32 number;
	u64 rptr;
	u64 wptr;
	u64 left_ns;
	u64 length_ns;
	u64 ran_ns;
	u64 all_ran_ns;
	u64 started_ns;
	u32 has;
	u64 counted_ns;
	bool in_slots;
	bool listed;
	bool working;
	bool dormant;
	bool tells;
	u32 launching;
	u32 next_ready;
	u32 running_at;
	u32 place;
	u64 preempted_at_ns;
	u64 unserved_ns;
	u64 starved_ns;
	u64 *arrivals;
	u32 first;
	u32 nr_waiting;
	u32 max_waiting;
	u32 kernels_left;
	u64 arrived;
	u64 met_ns;
	bool at_barrier;
	u64 passed;
	u64 done;
	u64 needed;
	u64 arrival_chance;
	u64 work_chance;
};

enum kind { BEGINNING, ARRIVAL, SUBMISSION, BARRIER_MET, END, REMAKE, PASS, CARRY_OUT, CONTINUE };

struct event {
	u64 at_ns;
	u64 order;
	u32 queue;
	u32 launching;
	enum kind kind;
};

/* The nodes that are simulated, and the one whose turn it is. */
static struct state {
	const struct sim_config *config;
	struct sim_result *result;
	u64 now_ns;
	u64 random;
	u64 *chance;
	u64 order;

	struct event *events;
	u32 nr_events;
	u32 max_events;

	struct queue *queues;
	u32 nr_queues;
	u32 ready;
	u32 last_ready;
	u32 *running;
	u32 nr_running;
	u32 *coming;
	u32 nr_coming;
	u32 free;
	bool stalled;
	bool needs;
	u32 nr_working;
	u32 class_works[NR_CLASSES_MAX];
	u64 idle_since_ns;
	u64 idle_from_ns;
	enum sim_idle idle_for;

	struct gpreempt_policy_node policy;
	struct gpreempt_policy_queue **sampled;
	struct gpreempt_decision decision;
	u32 nr_awake;
	/* Of the last preemption, and the highest that there is */
	s32 payer;
	s32 top;
	u64 all_due_ns;
	u64 inverted_ns;
	bool inverted;

	struct gpreempt_policy_job jobs[NR_JOBS_MAX];
	struct gpreempt_policy_entity entities[2 * NR_GROUPS_MAX];
	u32 generation;
	u64 looked_ns;
	u64 next_look_ns;
	bool begins;
	u64 begins_ns;
	u64 busy_until_ns;
	bool off;
} nodes[GPREEMPT_NEWS_NODES], *current = nodes;
#define sim	(*current)
static u32 nr_nodes;
/* What each node says of each job, and which have processes of it */
static struct gpreempt_news news[NR_JOBS_MAX][GPREEMPT_NEWS_NODES];
static u64 places[NR_JOBS_MAX];
/* Since when some node has preempted, and how long it took until all had */
static u64 first_off_ns;
static struct sim_times *skew_times;

static void __attribute__((format(printf, 1, 2))) wrong(const char *format, ...)
{
	char *text = sim.result->wrong;
	va_list args;
	int n;

	if (text[0])
		return;
	n = snprintf(text, sizeof(sim.result->wrong), "at %llu us: ", (unsigned long long)(sim.now_ns / US));
	va_start(args, format);
	vsnprintf(text + n, sizeof(sim.result->wrong) - n, format, args);
	va_end(args);
}

static struct queue *queue_of(struct gpreempt_policy_queue *policy)
{
	return (struct queue *)((char *)policy - offsetof(struct queue, policy));
}

static void *allocate(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (!memory)
		abort();
	return memory;
}

/* ---- chance ---- */

static void draw_from(u64 *own)
{
	sim.chance = sim.config->own_chance ? own : &sim.random;
}

/* A 64-bit generator of Marsaglia's xorshift family, multiplied. */
static u64 random_bits(void)
{
	*sim.chance ^= *sim.chance >> 12;
	*sim.chance ^= *sim.chance << 25;
	*sim.chance ^= *sim.chance >> 27;
	return *sim.chance * 2685821657736338717ULL;
}

/* Above 0, at most 1. */
static double fraction(void)
{
	return ((random_bits() >> 11) + 1) / 9007199254740992.0;
}

static u64 exponential_ns(u64 mean_ns)
{
	return 1 + (u64)(-log(fraction()) * mean_ns);
}

#define SIGMA	2.0

/* With this mean. */
static u64 lognormal_ns(u64 mean_ns)
{
	double normal = sqrt(-2 * log(fraction())) * cos(2 * M_PI * fraction());

	return 1 + (u64)(mean_ns * exp(SIGMA * normal - SIGMA * SIGMA / 2));
}

static u64 next_arrival_ns(struct queue *q)
{
	const struct sim_class *c = q->class;

	draw_from(&q->arrival_chance);
	switch (c->arrivals) {
	case POISSON:
		return exponential_ns(c->period_ns);
	case LOGNORMAL:
		return lognormal_ns(c->period_ns);
	default:
		return c->period_ns;
	}
}

/* ---- times ---- */

static u32 bucket_of(u64 ns)
{
	u32 power;

	if (ns < 32)
		return ns;
	power = 63 - __builtin_clzll(ns);
	return (power - 4) * 32 + (ns >> (power - 5)) % 32;
}

static void count_time(struct sim_times *times, u64 ns)
{
	times->buckets[bucket_of(ns)]++;
	times->count++;
	if (ns > times->max_ns)
		times->max_ns = ns;
}

/**
 * sim_quantile_ns() - a quantile of times
 * @times: the times
 * @quantile: which, from 0 to 1
 *
 * Return: the upper end of the bucket that it is in; 0 without times
 */
u64 sim_quantile_ns(const struct sim_times *times, double quantile)
{
	u64 before = 0, wanted = quantile * times->count;
	u32 i;

	for (i = 0; i < SIM_BUCKETS; i++) {
		before += times->buckets[i];
		if (before > wanted) {
			u64 end_ns = i < 32 ? i : ((i % 32 + 33ULL) << (i / 32 - 1)) - 1;

			return end_ns < times->max_ns ? end_ns : times->max_ns;
		}
	}
	return times->max_ns;
}

/* ---- events: a heap, the first one at the top ---- */

static bool before(const struct event *a, const struct event *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->order < b->order);
}

static void push(u64 at_ns, enum kind kind, u32 queue, u32 launching)
{
	struct event event = { .at_ns = at_ns, .order = sim.order++, .queue = queue, .launching = launching, .kind = kind };
	u32 i;

	if (sim.nr_events == sim.max_events) {
		sim.max_events = sim.max_events ? 2 * sim.max_events : 64;
		sim.events = realloc(sim.events, sim.max_events * sizeof(event));
		if (!sim.events)
			abort();
	}
	for (i = sim.nr_events++; i && before(&event, &sim.events[(i - 1) / 2]); i = (i - 1) / 2)
		sim.events[i] = sim.events[(i - 1) / 2];
	sim.events[i] = event;
}

static struct event pop(void)
{
	struct event first = sim.events[0], last = sim.events[--sim.nr_events];
	u32 i = 0, child;

	while ((child = 2 * i + 1) < sim.nr_events) {
		if (child + 1 < sim.nr_events && before(&sim.events[child + 1], &sim.events[child]))
			child++;
		if (!before(&sim.events[child], &last))
			break;
		sim.events[i] = sim.events[child];
		i = child;
	}
	sim.events[i] = last;
	return first;
}

/* ---- the device ---- */

static bool mapped(const struct queue *q)
{
	return !q->policy.preempted;
}

/* What the read pointer says: of packets that were launched, and barriers */
static u64 read_pointer(const struct queue *q)
{
	return q->rptr + q->passed;
}

static u64 write_pointer(const struct queue *q)
{
	return q->wptr + q->passed;
}

/* On the device, the read pointer moves past a barrier that is met, with or without slots. */
static void move_past_barrier(struct queue *q)
{
	if (!q->at_barrier || !mapped(q) || sim.now_ns < q->met_ns)
		return;
	q->at_barrier = false;
	q->passed += sim.config->device.moves_past_barriers;
}

static bool has_work(const struct queue *q)
{
	return q->left_ns || q->rptr != q->wptr;
}

static void note_unserved(const struct queue *q)
{
	struct sim_class_result *result = &sim.result->classes[q->number];
	u64 ns = q->unserved_ns ? sim.now_ns - q->unserved_ns : 0;

	result->unserved_ns += ns;
	if (ns > result->unserved_ns_max)
		result->unserved_ns_max = ns;
	if (q->starved_ns && sim.now_ns - q->starved_ns > result->starved_ns_max)
		result->starved_ns_max = sim.now_ns - q->starved_ns;
}

static struct queue *needed_by(const struct queue *q)
{
	u32 i;

	for (i = 0; sim.queues[i].number != q->class->needs - 1; i++)
		;
	return &sim.queues[i];
}

/* Has it work that could run now, if it had slots? */
static bool can_run(const struct queue *q)
{
	if (q->left_ns || q->rptr == q->wptr)
		return q->left_ns;
	return sim.now_ns >= q->met_ns && (!q->class->needs || needed_by(q)->done >= q->needed);
}

static bool higher_works(const struct queue *q)
{
	u32 i;

	for (i = 0; i < NR_CLASSES_MAX; i++)
		if (sim.class_works[i] && sim.config->classes[i].priority > q->class->priority)
			return true;
	return false;
}

/* The device alone made those below it wait until now. */
static void note_higher_work(const struct queue *first)
{
	u32 i;

	for (i = 0; i < sim.nr_queues; i++) {
		struct queue *q = &sim.queues[i];

		if (q->unserved_ns && !q->starved_ns &&
		    q->class->priority < first->class->priority)
			q->starved_ns = sim.now_ns;
	}
}

/* After each change of its work or its slots */
static void note_service(struct queue *q)
{
	bool working = can_run(q), unserved = working && !q->in_slots;

	sim.nr_working += working - q->working;
	sim.result->classes[q->number].nr_begun += working && !q->working;
	sim.class_works[q->number] += working - q->working;
	if (working && !q->working)
		note_higher_work(q);
	q->working = working;
	if (unserved == !!q->unserved_ns)
		return;
	note_unserved(q);
	q->unserved_ns = unserved ? sim.now_ns : 0;
	q->starved_ns = unserved && higher_works(q) ? sim.now_ns : 0;
}

static enum sim_idle idle_of(enum gpreempt_verdict verdict)
{
	switch (verdict) {
	case GPREEMPT_VERDICT_YIELDS:
	case GPREEMPT_VERDICT_OWN_PROCESS:
	case GPREEMPT_VERDICT_JOB_YIELDS:
		return IDLE_LOOK;
	case GPREEMPT_VERDICT_RESUME_DELAYED:
	case GPREEMPT_VERDICT_LEFT_OFF:
		return IDLE_RETURN;
	case GPREEMPT_VERDICT_SHARE:
		return IDLE_TURN;
	case GPREEMPT_VERDICT_MAXIMUM:
		return IDLE_MAXIMUM;
	default:
		return verdict < GPREEMPT_VERDICT_OFF ? IDLE_ON : IDLE_OTHER;
	}
}

static enum sim_idle idle_reason(void)
{
	const struct queue *first = NULL;
	u32 i;

	for (i = 0; i < sim.nr_queues; i++) {
		const struct queue *q = &sim.queues[i];

		if (q->working && (!first || q->class->priority > first->class->priority))
			first = q;
	}
	return mapped(first) ? IDLE_ON : idle_of(first->policy.verdict);
}

static void end_idle(void)
{
	u64 ns = sim.now_ns - sim.idle_since_ns;

	if (!sim.idle_since_ns)
		return;
	sim.result->idle_by_ns[sim.idle_for] += sim.now_ns - sim.idle_from_ns;
	sim.result->idle_ns += ns;
	if (ns > sim.result->idle_ns_max)
		sim.result->idle_ns_max = ns;
	sim.idle_since_ns = 0;
}

/* After each event */
static void note_idle(void)
{
	if (sim.nr_running || !sim.nr_working || sim.stalled) {
		end_idle();
		return;
	}
	if (!sim.idle_since_ns)
		sim.idle_since_ns = sim.now_ns;
	else
		sim.result->idle_by_ns[sim.idle_for] += sim.now_ns - sim.idle_from_ns;
	sim.idle_from_ns = sim.now_ns;
	sim.idle_for = idle_reason();
}

static void make_ready(struct queue *q)
{
	u32 number = q - sim.queues;

	if (q->listed || q->in_slots || !mapped(q) || !can_run(q))
		return;
	q->listed = true;
	q->next_ready = NONE;
	if (sim.ready == NONE)
		sim.ready = number;
	else
		sim.queues[sim.last_ready].next_ready = number;
	sim.last_ready = number;
}

/* When it will have done what is left of it, or of this round, with the slots that it has */
static void expect_end(struct queue *q)
{
	u64 round_ns = q->class->rounds ? q->length_ns / q->class->rounds + 1 : q->left_ns;
	u64 left_ns = q->left_ns % round_ns ? q->left_ns % round_ns : round_ns;

	left_ns = (left_ns * q->class->units + q->has - 1) / q->has;
	push(sim.now_ns + left_ns, END, q - sim.queues, ++q->launching);
}

static void run_kernel(struct queue *q)
{
	u32 number = q - sim.queues;

	q->has = q->class->units;
	if (sim.config->device.splits && q->has > sim.free)
		q->has = sim.free;
	if (sim.free < q->has)
		wrong("queue %u has slots that somebody else has", number);
	if (!mapped(q))
		wrong("queue %u runs while it is preempted", number);
	q->in_slots = true;
	q->started_ns = sim.now_ns;
	q->counted_ns = sim.now_ns;
	q->running_at = sim.nr_running;
	sim.running[sim.nr_running++] = number;
	sim.free -= q->has;
	expect_end(q);
	note_service(q);
}

/* What it has done with its slots until now */
static void count_run(struct queue *q)
{
	u64 ns = sim.now_ns - q->counted_ns, done_ns = ns * q->has / q->class->units;
	bool polls = q->arrived == q->rptr && q->class->collective;

	q->counted_ns = sim.now_ns;
	q->all_ran_ns += ns;
	sim.result->classes[q->number].served += ns * q->has;
	if (done_ns > q->left_ns)
		done_ns = q->left_ns;
	q->ran_ns += done_ns;
	/* Its own part is done: it comes back to see whether the others' are. */
	q->left_ns = polls ? 1 : q->left_ns - done_ns;
}

static void leave_slots(struct queue *q)
{
	if (sim_ran)
		sim_ran(q->number, q->started_ns, sim.now_ns);
	count_run(q);
	q->in_slots = false;
	q->launching++;
	sim.free += q->has;
	sim.running[q->running_at] = sim.running[--sim.nr_running];
	sim.queues[sim.running[q->running_at]].running_at = q->running_at;
	note_service(q);
}

/* Those that began with less than all their slots get what is free before others do. */
static void grow(void)
{
	u32 i;

	for (i = 0; sim.config->device.splits && sim.free && i < sim.nr_running; i++) {
		struct queue *q = &sim.queues[sim.running[i]];
		u32 more = q->class->units - q->has;

		if (!more)
			continue;
		count_run(q);
		more = more < sim.free ? more : sim.free;
		q->has += more;
		sim.free -= more;
		expect_end(q);
	}
}

static void launch(struct queue *q)
{
	q->rptr++;
	draw_from(&q->work_chance);
	q->length_ns = q->class->exponential ? exponential_ns(q->class->kernel_ns) : q->class->kernel_ns;
	q->left_ns = q->length_ns;
	q->ran_ns = 0;
}

static bool fits(const struct queue *q)
{
	return sim.config->device.splits ? sim.free > 0 : q->class->units <= sim.free;
}

/*
 * Which of those that are ready gets slots next? Unless the device fills, the first of them keeps
 * the others waiting if it does not fit.
 */
static u32 next_ready(u32 *before)
{
	u32 i, last = NONE, next = NONE;

	*before = NONE;
	for (i = sim.ready; i != NONE; last = i, i = sim.queues[i].next_ready) {
		const struct queue *q = &sim.queues[i];

		if (sim.config->device.fills && !fits(q))
			continue;
		if (next != NONE && q->started_ns >= sim.queues[next].started_ns)
			continue;
		next = i;
		*before = last;
		if (!sim.config->device.by_turns)
			break;
	}
	return next != NONE && fits(&sim.queues[next]) ? next : NONE;
}

static void take_from_ready(struct queue *q, u32 before)
{
	if (before == NONE)
		sim.ready = q->next_ready;
	else
		sim.queues[before].next_ready = q->next_ready;
	if (q->next_ready == NONE)
		sim.last_ready = before;
	q->listed = false;
}

/* Those that were taken off meanwhile are not ready any more. */
static void drop_unmapped(void)
{
	u32 i, before = NONE;

	for (i = sim.ready; i != NONE; i = sim.queues[i].next_ready) {
		if (mapped(&sim.queues[i]))
			before = i;
		else
			take_from_ready(&sim.queues[i], before);
	}
}

static void give_slots(void)
{
	u32 next, before;

	if (!sim.stalled)
		grow();
	while (!sim.stalled && (next = next_ready(&before)) != NONE) {
		struct queue *q = &sim.queues[next];

		take_from_ready(q, before);
		if (!q->left_ns)
			launch(q);
		run_kernel(q);
	}
}

static void dispatch(void)
{
	give_slots();
	note_idle();
}

/* What there is to save of kernels, or to bring back */
struct moved {
	u32 units;
	u64 other_ns;
};

static void move(struct moved *moved, const struct queue *q)
{
	if (q->class->save_ns)
		moved->other_ns += q->class->save_ns;
	else
		moved->units += q->has;
}

/* No more than what there are slots for: what does not fit waits. */
static u64 moved_ns(const struct moved *moved)
{
	const struct sim_device *device = &sim.config->device;
	u32 units = moved->units < device->slots ? moved->units : device->slots;
	u64 ns = moved->other_ns + device->full_save_ns * units / device->slots;

	return moved->units || moved->other_ns ? device->trap_ns + ns : 0;
}

/* ---- programs ---- */

/* And not at what was the next time before. */
static void look_at(u64 at_ns)
{
	sim.next_look_ns = at_ns;
	push(at_ns, PASS, NONE, ++sim.generation);
}

/* A doorbell that was withdrawn is written. */
static void ring(struct queue *q)
{
	u64 at_ns = gpreempt_later(sim.now_ns + WAKE_NS, sim.busy_until_ns);

	if (!q->tells)
		return;
	q->tells = false;
	sim.result->nr_told++;
	if (sim.looked_ns >= sim.next_look_ns || at_ns < sim.next_look_ns)
		look_at(at_ns);
}

static void wake(struct queue *q)
{
	struct gpreempt_policy_queue *other;

	if (!q->dormant)
		return;
	q->dormant = false;
	other = sim.sampled[sim.nr_awake];
	sim.sampled[q->place] = other;
	queue_of(other)->place = q->place;
	q->place = sim.nr_awake;
	sim.sampled[sim.nr_awake++] = &q->policy;
}

/* Somebody lower is in its way from now on. */
static void note_inversion(const struct queue *q)
{
	u32 i;

	if (!can_run(q))
		return;
	for (i = 0; !sim.inverted && i < sim.nr_running; i++) {
		if (sim.queues[sim.running[i]].class->priority < q->class->priority) {
			sim.inverted = true;
			sim.inverted_ns = sim.now_ns;
		}
	}
}

static u64 next_gap_ns(struct queue *q)
{
	const struct sim_class *class = q->class;

	draw_from(&q->work_chance);
	return class->gap_most_ns ? class->gap_ns + random_bits() % (class->gap_most_ns - class->gap_ns) : class->gap_ns;
}

static void submit(struct queue *q, u32 kernels)
{
	q->wptr += kernels;
	sim.result->classes[q->number].nr_submitted += kernels;
	wake(q);
	ring(q);
	if (!mapped(q) && !q->preempted_at_ns)
		q->preempted_at_ns = sim.now_ns;
	note_inversion(q);
	make_ready(q);
	note_service(q);
}

static void look_soon(u64 now_ns, bool begins);

/* Its program says whether it waits for what it needs: a change of a setting. */
static void declare(struct queue *q, bool waits)
{
	if (!q->class->declares || !q->process.waits_for == !waits)
		return;
	q->process.waits_for = waits ? &needed_by(q)->process : NULL;
	q->process.lends_all = true;
	sim.policy.changed = true;
	sim.all_due_ns = 0;
	if (sim.config->policy)
		look_soon(sim.now_ns, false);
}

static void begin_request(struct queue *q)
{
	q->kernels_left = q->class->kernels;
	if (q->class->needs)
		q->needed = needed_by(q)->done + q->class->needs_kernels;
	declare(q, true);
	if (q->class->gap_ns)
		submit(q, 1);
}

static void add_request(struct queue *q)
{
	if (q->nr_waiting == q->max_waiting) {
		u64 *ring = allocate(2 * q->max_waiting, sizeof(*ring));
		u32 i;

		for (i = 0; i < q->nr_waiting; i++)
			ring[i] = q->arrivals[(q->first + i) % q->max_waiting];
		free(q->arrivals);
		q->arrivals = ring;
		q->first = 0;
		q->max_waiting *= 2;
	}
	q->arrivals[(q->first + q->nr_waiting++) % q->max_waiting] = sim.now_ns;
	if (q->nr_waiting == 1)
		begin_request(q);
	if (!q->class->gap_ns)
		submit(q, q->class->kernels);
}

static void arrive(struct queue *q)
{
	struct state *own = current;
	u32 i;

	add_request(q);
	for (i = 1; q->class->collective && i < nr_nodes; i++) {
		current = &nodes[i];
		sim.now_ns = own->now_ns;
		add_request(&sim.queues[q - own->queues]);
		dispatch();
	}
	current = own;
	push(sim.now_ns + next_arrival_ns(q), ARRIVAL, q - sim.queues, 0);
}

/* One that always has two requests. */
static void begin_work(struct queue *q)
{
	add_request(q);
	add_request(q);
}

static void end_request(struct queue *q)
{
	struct sim_class_result *result = &sim.result->classes[q->number];
	u64 took_ns = sim.now_ns - q->arrivals[q->first];

	count_time(&result->latency, took_ns);
	result->nr_late += q->class->deadline_ns && took_ns > q->class->deadline_ns;
	result->nr_requests++;
	q->first = (q->first + 1) % q->max_waiting;
	q->nr_waiting--;
	if (q->nr_waiting)
		begin_request(q);
	if (q->class->arrivals == CONTINUOUS)
		add_request(q);
}

/* Its barrier is met. */
static void pass_barrier(struct queue *q)
{
	move_past_barrier(q);
	note_inversion(q);
	make_ready(q);
	note_service(q);
}

/* Others may have waited for what it has done. */
static void tell_those_that_need(const struct queue *done)
{
	u32 i;

	for (i = 0; i < sim.nr_queues; i++)
		if (sim.queues[i].class->needs == done->number + 1) {
			if (can_run(&sim.queues[i]))
				declare(&sim.queues[i], false);
			pass_barrier(&sim.queues[i]);
		}
}

/* It has left its slots. */
static void end_kernel(struct queue *q)
{
	struct sim_class_result *result = &sim.result->classes[q->number];

	if (!q->class->collective && (q->left_ns || q->ran_ns != q->length_ns))
		wrong("a kernel of queue %zu ran for %llu ns instead of %llu", q - sim.queues, (unsigned long long)q->ran_ns,
		      (unsigned long long)q->length_ns);
	q->done++;
	result->nr_done++;
	result->work += q->length_ns * q->class->units;
	sim.result->sum = (sim.result->sum ^ (sim.now_ns + (q - sim.queues))) * 0x100000001b3ULL;
	if (!--q->kernels_left)
		end_request(q);
	else if (q->class->gap_ns)
		push(sim.now_ns + next_gap_ns(q), SUBMISSION, q - sim.queues, 0);
	if (q->class->barrier_ns) {
		q->met_ns = sim.now_ns + q->class->barrier_ns;
		q->at_barrier = true;
		push(q->met_ns, BARRIER_MET, q - sim.queues, 0);
	}
	make_ready(q);
	note_service(q);
	if (sim.needs)
		tell_those_that_need(q);
}

/* It has done its own part. Returns whether all have. */
static bool all_arrived(struct queue *q)
{
	u32 i, number = q - sim.queues;

	q->arrived = q->rptr;
	for (i = 0; i < nr_nodes; i++)
		if (nodes[i].queues[number].arrived < q->rptr)
			return false;
	return true;
}

/* The last one has come: those that wait for it on the device go on. The others do when they are back. */
static void release_all(u32 number)
{
	struct state *own = current;
	u32 i;

	for (i = 0; i < nr_nodes; i++) {
		struct queue *q;

		current = &nodes[i];
		sim.now_ns = own->now_ns;
		q = &sim.queues[number];
		if (!q->in_slots || q->arrived != q->rptr)
			continue;
		leave_slots(q);
		q->left_ns = 0;
		end_kernel(q);
		dispatch();
	}
	current = own;
}

/* ---- the monitor ---- */

/*
 * Another node has said something new of a job: no sooner than gpreempt_poll_us after the last look, or the last one for a job that begins, nor while
 * it is busy.
 */
static void look_soon(u64 now_ns, bool begins)
{
	u64 last_ns = begins ? sim.begins_ns : sim.looked_ns;
	u64 at_ns = gpreempt_later(now_ns + WAKE_NS, last_ns + sim.config->params.poll_ns);

	sim.begins |= begins;
	at_ns = gpreempt_later(at_ns, sim.busy_until_ns);
	if (sim.looked_ns >= sim.next_look_ns || at_ns < sim.next_look_ns)
		look_at(at_ns);
}

static void hear(void)
{
	u32 k, own = current - nodes;

	sim.policy.jobs = NULL;
	for (k = 1; k < NR_JOBS_MAX; k++) {
		struct gpreempt_policy_job *job = &sim.jobs[k];

		if (!(places[k] & 1ULL << own))
			continue;
		if (gpreempt_news_hear(job, news[k], places[k], own, sim.now_ns))
			sim.all_due_ns = 0;
		job->next = sim.policy.jobs;
		sim.policy.jobs = job;
	}
}

static void tell(void)
{
	struct state *own = current;
	enum gpreempt_news_change change;
	u32 i, k;

	for (k = 1; k < NR_JOBS_MAX; k++) {
		if (!(places[k] & 1ULL << (own - nodes)))
			continue;
		change = gpreempt_news_tell(&news[k][own - nodes], &own->jobs[k], own->now_ns);
		if (change == GPREEMPT_NEWS_SAME)
			continue;
		for (i = 0; i < nr_nodes; i++) {
			current = &nodes[i];
			if (current != own && places[k] & 1ULL << i)
				look_soon(own->now_ns, change == GPREEMPT_NEWS_BEGINS);
		}
		current = own;
	}
}

static void note_skew(void)
{
	u32 i, before = 0, after = 0;

	for (i = 0; i < nr_nodes; i++)
		before += nodes[i].off;
	if (sim.decision.nr_preempt)
		sim.off = true;
	else if (sim.decision.nr_resume)
		sim.off = false;
	for (i = 0; i < nr_nodes; i++)
		after += nodes[i].off;
	if (!before && after)
		first_off_ns = sim.now_ns;
	if (skew_times && before < after && after == nr_nodes)
		count_time(skew_times, sim.now_ns - first_off_ns);
}

static void sample(void)
{
	u32 i;

	if (sim.now_ns >= sim.all_due_ns) {
		sim.all_due_ns = sim.now_ns + MAX_DORMANT_NS;
		for (i = sim.nr_awake; i < sim.nr_queues; i++)
			queue_of(sim.sampled[i])->dormant = false;
		sim.nr_awake = sim.nr_queues;
	}
	for (i = 0; i < sim.nr_awake; i++) {
		struct queue *q = queue_of(sim.sampled[i]);

		gpreempt_demand_sample(&q->policy, read_pointer(q), write_pointer(q),
				       q->wptr - q->rptr, sim.now_ns);
	}
	sim.result->nr_sampled += sim.nr_awake;
	sim.policy.queues = sim.sampled;
	sim.policy.nr = sim.nr_awake;
	sim.policy.nr_dormant = sim.nr_queues - sim.nr_awake;
}

static u32 counted(const struct queue *q)
{
	bool shown = q->in_slots && sim.now_ns - q->started_ns >= sim.config->device.counters_lag_ns;

	return shown ? q->has : 0;
}

static bool read_waves(struct gpreempt_policy_node *pn, struct gpreempt_pass *pass)
{
	u32 i;

	sim.result->nr_asked++;
	for (i = 0; i < sim.nr_awake; i++) {
		struct queue *q = queue_of(sim.sampled[i]);

		if (mapped(q))
			gpreempt_demand_set_waves(&q->policy, counted(q), sim.now_ns);
	}
	return true;
}

static void make_dormant(void)
{
	u32 i = 0;

	while (i < sim.nr_awake) {
		struct queue *q = queue_of(sim.sampled[i]);
		struct gpreempt_policy_queue *last;

		if (q->policy.had_demand || !gpreempt_policy_dormant(&sim.policy, &q->policy, sim.now_ns, &sim.all_due_ns)) {
			i++;
			continue;
		}
		last = sim.sampled[--sim.nr_awake];
		sim.sampled[i] = last;
		queue_of(last)->place = i;
		sim.sampled[sim.nr_awake] = &q->policy;
		q->place = sim.nr_awake;
		q->dormant = true;
	}
}

static bool idle(const struct queue *q)
{
	return !q->policy.had_demand && !q->policy.preempted && !q->policy.seen.pending;
}

/* Arms those that have been idle for long enough. Returns when the next one may be. */
static u64 arm(u64 now_ns)
{
	u64 due_ns, next_ns = GPREEMPT_FOREVER_NS;
	s32 lowest = GPREEMPT_PRIORITY_MAX;
	u32 i;

	for (i = 0; i < sim.nr_queues; i++)
		if (sim.queues[i].policy.standing < lowest)
			lowest = sim.queues[i].policy.standing;
	for (i = 0; i < sim.nr_queues; i++) {
		struct queue *q = &sim.queues[i];
		bool outranks = sim.policy.ops->rotates || q->policy.standing > lowest;

		if (!q->tells && idle(q)) {
			due_ns = q->policy.seen.active_ns +
				 (outranks ? ARM_AFTER_NS : ARM_LATE_AFTER_NS);
			q->tells = now_ns >= due_ns && write_pointer(q) == q->policy.seen.wptr;
			due_ns = gpreempt_later(due_ns, now_ns + US);
			next_ns = q->tells ? next_ns : gpreempt_earlier(next_ns, due_ns);
		}
		q->process.armed = q->tells && idle(q);
	}
	return next_ns;
}

/* For how long does the monitor sleep, if it is told of doorbells? As gpreempt_doorbell_wait() */
static u64 nap_ns(u64 from_ns)
{
	const struct gpreempt_decision *d = &sim.decision;
	u64 armed_ns, end_ns;

	if (d->nr_preempt || (d->nr_resume && d->nr_preempted > d->nr_resume))
		return d->next_ns;
	if (d->nr_resume)
		return gpreempt_earlier(d->next_ns, ARM_AFTER_NS);
	armed_ns = arm(from_ns);
	armed_ns = armed_ns == GPREEMPT_FOREVER_NS ? armed_ns : armed_ns - from_ns;
	if (d->nr_preempted) {
		end_ns = gpreempt_policy_end_wait(&sim.policy, from_ns);
		end_ns = end_ns ? gpreempt_earlier(end_ns, d->until_ns) : d->next_ns;
		return gpreempt_earlier(end_ns, armed_ns);
	}
	if (gpreempt_policy_can_outrank(&sim.policy))
		return gpreempt_earlier(d->next_ns, armed_ns);
	return gpreempt_earlier(BACKSTOP_NS, armed_ns);
}

static void sleep_until_next_pass(u64 from_ns)
{
	bool told = sim.config->doorbells && !sim.decision.park;
	u64 next_ns = told ? nap_ns(from_ns) : sim.decision.next_ns, quiet_until_ns, passes;

	if (sim.decision.park) {
		sim.result->parked = true;
		return;
	}
	/* Where everybody is dormant, passes find nothing until something happens: they are counted, not made. */
	quiet_until_ns = sim.nr_events && sim.events[0].at_ns < sim.all_due_ns ? sim.events[0].at_ns : sim.all_due_ns;
	if (!sim.nr_awake && !sim.decision.nr_preempted && quiet_until_ns > from_ns) {
		passes = (quiet_until_ns - from_ns) / next_ns;
		sim.result->nr_passes += passes;
		sim.result->nr_skipped_passes += passes;
		from_ns += passes * next_ns;
	}
	/* The monitor does not look while the device works on a runlist. */
	look_at(gpreempt_later(from_ns + next_ns, sim.busy_until_ns));
}

/*
 * All waves leave the device. Those that come back do so in this order, before any new ones. Returns
 * for how long they are saved.
 */
static u64 take_off(void)
{
	struct moved saved = { 0 };

	if (sim.nr_coming)
		wrong("a runlist begins before the one before it is over");
	sim.stalled = true;
	while (sim.nr_running) {
		struct queue *q = &sim.queues[sim.running[sim.nr_running - 1]];

		leave_slots(q);
		if (!q->left_ns) {
			end_kernel(q);
			continue;
		}
		move(&saved, q);
		if (q->policy.action != GPREEMPT_PREEMPT)
			sim.coming[sim.nr_coming++] = q - sim.queues;
	}
	return moved_ns(&saved);
}

static void note_hold(const struct queue *q)
{
	u64 *longest_ns = &sim.result->classes[q->number].preempted_ns_max;

	if (q->preempted_at_ns && sim.now_ns - q->preempted_at_ns > *longest_ns)
		*longest_ns = sim.now_ns - q->preempted_at_ns;
}

/* The hardware is done with it at @done_ns. */
static void confirm(struct queue *q, u64 done_ns)
{
	if (q->policy.action == GPREEMPT_PREEMPT) {
		sim.result->nr_preempted++;
		gpreempt_policy_preempted(&q->policy, q->left_ns, done_ns);
		q->preempted_at_ns = has_work(q) ? sim.now_ns : 0;
	} else if (q->policy.action == GPREEMPT_RESUME) {
		sim.result->nr_resumed++;
		gpreempt_policy_resumed(&q->policy, done_ns);
		note_hold(q);
		q->preempted_at_ns = 0;
		if (has_work(q))
			sim.coming[sim.nr_coming++] = q - sim.queues;
	} else {
		gpreempt_demand_mapped(&q->policy, q->rptr);
	}
}

static u64 coming_ns(void)
{
	struct moved coming = { 0 };
	u32 i;

	for (i = 0; i < sim.nr_coming; i++)
		if (sim.queues[sim.coming[i]].left_ns)
			move(&coming, &sim.queues[sim.coming[i]]);
	return moved_ns(&coming);
}

/* What a runlist saved of the queues that stay, and that those that were taken off have no waves */
static void see_saved(u64 done_ns)
{
	u32 i;

	for (i = 0; i < sim.nr_awake; i++) {
		struct queue *q = queue_of(sim.sampled[i]);

		if (!sim.config->device.runlists_tell && !q->policy.seen.in_doubt)
			continue;
		if (mapped(q) || (q->policy.action == GPREEMPT_PREEMPT && !q->left_ns))
			gpreempt_demand_saw(&q->policy, &sim.policy.device, q->left_ns, done_ns);
	}
}

/* One that only tells who has waves */
static void send_runlist(void)
{
	u64 save_ns = sim.config->device.runlist_ns + take_off(), restore_ns;
	u64 done_ns = sim.now_ns + save_ns;

	see_saved(done_ns);
	restore_ns = sim.config->device.runlist_ns + coming_ns();
	gpreempt_policy_overhead(&sim.policy, save_ns, false, done_ns);
	sim.result->nr_acting++;
	sim.result->overhead_ns += save_ns + restore_ns;
	sim.busy_until_ns = done_ns + restore_ns;
	push(done_ns + restore_ns, CONTINUE, NONE, 0);
	look_at(gpreempt_later(done_ns + GPREEMPT_SLEEP_MIN_NS, sim.busy_until_ns));
}

/*
 * As host and firmware say it. What returns goes back to where the last preemption took it from.
 */
static void count_budgeted(u64 save_ns)
{
	const struct sim_device *device = &sim.config->device;
	u64 restore_ns = gpreempt_earlier(device->says_restore_ns ?: save_ns, 4 * save_ns);
	bool preempts = sim.decision.nr_preempt;

	if (preempts)
		sim.payer = sim.decision.level;
	if (sim.payer <= sim.top && (sim.config->params.overhead_pct || sim.payer < sim.top))
		sim.result->budgeted_ns += save_ns + preempts * restore_ns +
					   gpreempt_earlier(device->says_connect_ns, 4 * save_ns);
}

/* One runlist: everybody is taken off, and those that stay come back. */
static void carry_out(void)
{
	u64 save_ns = sim.config->device.runlist_ns + take_off(), done_ns = sim.now_ns + save_ns, restore_ns;
	u32 i;

	for (i = 0; i < sim.nr_queues; i++)
		confirm(&sim.queues[i], done_ns);
	see_saved(done_ns);
	drop_unmapped();
	restore_ns = sim.config->device.runlist_ns + coming_ns();
	gpreempt_policy_overhead(&sim.policy, save_ns, sim.decision.nr_preempt, done_ns);
	sim.result->nr_acting++;
	sim.result->overhead_ns += save_ns + restore_ns;
	count_budgeted(save_ns);
	sim.all_due_ns = 0;
	sim.busy_until_ns = done_ns + restore_ns;
	push(done_ns + restore_ns, CONTINUE, NONE, 0);
	sleep_until_next_pass(done_ns);
}

/* In front of those that became ready before. */
static void go_on(void)
{
	u32 i, behind = sim.ready, last = sim.last_ready;

	sim.stalled = false;
	sim.ready = NONE;
	for (i = 0; i < sim.nr_coming; i++) {
		move_past_barrier(&sim.queues[sim.coming[i]]);
		make_ready(&sim.queues[sim.coming[i]]);
	}
	sim.nr_coming = 0;
	if (behind == NONE)
		return;
	if (sim.ready == NONE)
		sim.ready = behind;
	else
		sim.queues[sim.last_ready].next_ready = behind;
	sim.last_ready = last;
}

/* Is anybody to be waited for, that may end before its waves have to be saved? */
static u64 grace_ns(void)
{
	u64 longest_ns = 0;
	u32 i;

	if (!sim.decision.nr_preempt)
		return 0;
	for (i = 0; i < sim.nr_running; i++) {
		const struct queue *q = &sim.queues[sim.running[i]];
		u64 left_ns = q->left_ns - (sim.now_ns - q->counted_ns) * q->has / q->class->units;

		if (left_ns > longest_ns)
			longest_ns = left_ns;
	}
	return longest_ns < sim.config->device.grace_ns ? longest_ns : sim.config->device.grace_ns;
}

/* What a node would have done that only observes; as monitor_observed() */
static void note_observed(void)
{
	const struct gpreempt_decision *d = &sim.decision;

	sim.result->nr_preempted += d->nr_would_preempt;
	sim.result->nr_resumed += d->nr_would_resume;
	if (!d->nr_would_preempt && !d->nr_would_resume)
		return;
	sim.result->nr_acting++;
	gpreempt_policy_overhead(&sim.policy, sim.policy.pass_ns, d->nr_would_preempt, sim.now_ns);
}

static void note_noticed(void)
{
	if (sim.inverted && sim.decision.nr_preempt)
		count_time(&sim.result->noticed, sim.now_ns - sim.inverted_ns);
	if (sim.decision.nr_preempt || !sim.decision.inversion)
		sim.inverted = false;
}

static void pass(void)
{
	struct gpreempt_pass pass = { .now_ns = sim.now_ns, .policy = sim.policy.ops };
	u64 wait_ns;

	pass.checks = sim.config->device.runlists_tell;
	/* A node that only observes sends no runlist in order to know. */
	sim.policy.device.waves_known = !sim.config->device.no_counters || !sim.config->params.observe;
	pass.waves_saved = sim.config->device.no_counters && sim.policy.device.waves_known;

	sim.result->nr_passes++;
	sim.result->parked = false;
	sim.looked_ns = sim.now_ns;
	if (sim.begins)
		sim.begins_ns = sim.now_ns;
	sim.begins = false;
	sim.policy.params = sim.config->params;
	hear();
	sample();
	if (!gpreempt_pass_look(&sim.policy, &pass, read_waves)) {
		send_runlist();
		return;
	}
	gpreempt_policy_cost(&sim.policy, LOOK_NS + LOOK_AWAKE_NS * sim.nr_awake + LOOK_RESTING_NS * (sim.nr_queues - sim.nr_awake),
			     pass.read ? ASK_NS : 0);
	gpreempt_pass_decide(&sim.policy, &pass);
	sim.decision = pass.decision;
	sim.result->nr_reliefs += sim.decision.nr_relief;
	note_noticed();
	note_skew();
	tell();
	if (sim_passed)
		sim_passed(&sim.policy, sim.now_ns);
	note_observed();
	if (!sim.decision.nr_preempt && !sim.decision.nr_resume) {
		make_dormant();
		sleep_until_next_pass(sim.now_ns);
		return;
	}
	wait_ns = grace_ns();
	if (!wait_ns) {
		carry_out();
		return;
	}
	/* Nothing new begins meanwhile, and no other look. */
	sim.stalled = true;
	sim.busy_until_ns = sim.now_ns + wait_ns + 1;
	push(sim.now_ns + wait_ns, CARRY_OUT, NONE, 0);
}

/* ---- the whole ---- */

static const struct gpreempt_policy_ops *policy_named(const char *name)
{
	u32 i;

	for (i = 0; gpreempt_policies[i]; i++)
		if (!strcmp(gpreempt_policies[i]->name, name))
			return gpreempt_policies[i];
	abort();
}

static void make_process(struct queue *q)
{
	q->process = (struct gpreempt_policy_process){
		.job = q->process.job, .group = q->class->group, .weight = q->class->weight,
		.deadline_ns = q->class->deadline_ns, .runtime_ns = q->class->runtime_ns,
	};
}

/* The @nth queue of the class with this @number. */
static void make_queue(struct queue *q, const struct sim_class *class, u32 number, u32 nth)
{
	q->class = class;
	q->number = number;
	q->place = q - sim.queues;
	q->arrival_chance = sim.config->seed * 0x9e3779b97f4a7c15ULL + 2 * q->place + 1;
	q->work_chance = q->arrival_chance + 1;
	draw_from(&q->arrival_chance);
	q->policy.process = &q->process;
	q->policy.set.priority = class->priority;
	q->policy.set.own_priority = class->priority;
	if (class->priority > sim.top)
		sim.top = class->priority;
	if (class->job) {
		q->process.job = &sim.jobs[class->job];
		q->process.job->gang = !class->stay;
		places[class->job] |= 1ULL << (current - nodes);
	}
	make_process(q);
	sim.needs |= class->needs;
	q->max_waiting = 4;
	q->arrivals = allocate(q->max_waiting, sizeof(*q->arrivals));
	sim.sampled[q->place] = &q->policy;
	if (class->arrivals == CONTINUOUS && !nth) {
		begin_work(q);
	} else if (class->arrivals == CONTINUOUS) {
		push(1 + nth * class->apart_ns, BEGINNING, q->place, 0);
	} else if (!class->collective || current == nodes) {
		push(1 + (u64)(fraction() * class->period_ns), ARRIVAL, q->place, 0);
	}
}

static void make_group(u32 number)
{
	const struct sim_group *g = &sim.config->groups[number];
	struct gpreempt_policy_entity *e = &sim.entities[2 * number], *members = e + 1;

	gpreempt_share_forget(sim.entities, number);
	e->used = true;
	e->parent = 2 * g->parent;
	e->weight = g->weight;
	e->min_pct = g->min_pct;
	e->quota_ns = g->quota_ns;
	e->period_ns = g->period_ns;
	members->used = true;
	members->parent = 2 * number;
	members->weight = GPREEMPT_WEIGHT_NORMAL;
	if (g->remade_ns)
		push(sim.now_ns + g->remade_ns, REMAKE, NONE, number);
}

static void make_groups(const struct sim_config *config)
{
	u32 i;

	for (i = 0; i < NR_GROUPS_MAX && (!i || config->groups[i].weight); i++)
		make_group(i);
	gpreempt_share_use(&sim.policy, sim.entities, i > 1 ? 2 * i : 0);
}

/* The work goes on in new processes. */
static void remake_group(u32 number)
{
	u32 i;

	make_group(number);
	for (i = 0; i < sim.nr_queues; i++)
		if (sim.queues[i].class->group == number)
			make_process(&sim.queues[i]);
	sim.policy.changed = true;
	gpreempt_share_use(&sim.policy, sim.entities, sim.policy.nr_entities);
}

static void make_node(const struct sim_config *config, struct sim_result *result)
{
	u32 i, k, n = 0;

	memset(&sim, 0, sizeof(sim));
	memset(result, 0, sizeof(*result));
	sim.config = config;
	sim.top = GPREEMPT_PRIORITY_MIN;
	sim.result = result;
	sim.random = config->seed * 0x9e3779b97f4a7c15ULL + 1;
	sim.now_ns = 1;
	sim.ready = NONE;
	sim.free = config->device.slots;
	for (i = 0; i < NR_CLASSES_MAX && config->classes[i].nr_queues; i++)
		sim.nr_queues += config->classes[i].nr_queues;
	sim.queues = allocate(sim.nr_queues, sizeof(*sim.queues));
	sim.sampled = allocate(sim.nr_queues, sizeof(*sim.sampled));
	sim.running = allocate(sim.nr_queues, sizeof(*sim.running));
	sim.coming = allocate(sim.nr_queues, sizeof(*sim.coming));
	sim.nr_awake = sim.nr_queues;
	for (i = 0; i < NR_CLASSES_MAX && config->classes[i].nr_queues; i++)
		for (k = 0; k < config->classes[i].nr_queues; k++)
			make_queue(&sim.queues[n++], &config->classes[i], i, config->classes[i].apart_ns ? k : 0);
	if (!config->policy)
		return;
	sim.policy.queues = sim.sampled;
	sim.policy.nr = sim.nr_queues;
	sim.policy.device.connect_ns = config->device.says_connect_ns;
	sim.policy.device.restore_ns = config->device.says_restore_ns;
	sim.policy.device.waves_lag_ns = config->device.counters_lag_ns ? GPREEMPT_WAVES_LAG_NS : 0;
	/* One that only observes has acted before, so it knows what a pass takes. */
	if (config->params.observe)
		sim.policy.pass_ns = config->device.runlist_ns + config->device.trap_ns +
				     config->device.full_save_ns;
	gpreempt_policy_use(&sim.policy, policy_named(config->policy));
	make_groups(config);
	look_at(sim.now_ns);
}

static void happen(const struct event *event)
{
	struct queue *q = event->queue == NONE ? NULL : &sim.queues[event->queue];

	switch (event->kind) {
	case BEGINNING:
		begin_work(q);
		break;
	case ARRIVAL:
		arrive(q);
		break;
	case SUBMISSION:
		submit(q, 1);
		break;
	case BARRIER_MET:
		pass_barrier(q);
		break;
	case REMAKE:
		remake_group(event->launching);
		break;
	case END:
		if (event->launching != q->launching)
			break;
		if (q->class->collective) {
			if (all_arrived(q))
				release_all(q - sim.queues);
			break;
		}
		leave_slots(q);
		if (q->left_ns)
			make_ready(q);
		else
			end_kernel(q);
		break;
	case PASS:
		/* A later one has taken its place. */
		if (event->launching == sim.generation)
			pass();
		break;
	case CARRY_OUT:
		carry_out();
		break;
	case CONTINUE:
		go_on();
		break;
	}
}

/* The node at which something happens next; NULL: nothing does until then. */
static struct state *next_node(u64 end_ns)
{
	struct state *next = NULL;
	u32 i;

	for (i = 0; i < nr_nodes; i++)
		if (nodes[i].nr_events && nodes[i].events[0].at_ns <= end_ns && (!next || nodes[i].events[0].at_ns < next->events[0].at_ns))
			next = &nodes[i];
	return next;
}

static void end_node(const struct sim_config *config, struct sim_result *result)
{
	u32 i;

	sim.now_ns = config->duration_ns;
	for (i = 0; i < sim.nr_queues; i++) {
		struct queue *q = &sim.queues[i];
		struct sim_class_result *r = &result->classes[q->number];
		u64 *least_ns = &r->ran_ns_min;

		note_hold(q);
		note_unserved(q);
		r->served += q->in_slots ? (sim.now_ns - q->counted_ns) * q->has : 0;
		r->missed += q->policy.missed;
		r->nr_refused += q->process.runtime_ns && !q->process.admitted_ns;
		/* The queues of a class follow each other. */
		if (!i || q[-1].number != q->number || q->all_ran_ns < *least_ns)
			*least_ns = q->all_ran_ns;
		free(sim.queues[i].arrivals);
	}
	end_idle();
	free(sim.queues);
	free(sim.sampled);
	free(sim.running);
	free(sim.coming);
	free(sim.events);
}

/**
 * sim_run_nodes() - simulate nodes
 * @configs: of each; all have the same duration, and the same classes at least as far as a collective one
 * @results: receives what came of each
 * @nr: how many
 * @skew: added to: from the first to the last node that preempts; NULL: not asked for
 */
void sim_run_nodes(const struct sim_config *configs, struct sim_result *results, u32 nr, struct sim_times *skew)
{
	u32 i;

	memset(news, 0, sizeof(news));
	memset(places, 0, sizeof(places));
	nr_nodes = nr;
	skew_times = skew;
	for (i = 0; i < nr; i++) {
		current = &nodes[i];
		make_node(&configs[i], &results[i]);
	}
	for (i = 0; i < nr; i++) {
		current = &nodes[i];
		dispatch();
	}
	while ((current = next_node(configs[0].duration_ns))) {
		struct event event = pop();

		sim.now_ns = event.at_ns;
		sim.result->nr_events++;
		happen(&event);
		dispatch();
	}
	for (i = 0; i < nr; i++) {
		current = &nodes[i];
		end_node(&configs[i], &results[i]);
	}
	current = nodes;
}

/**
 * sim_run() - simulate a node
 * @config: the node
 * @result: receives what came of it
 */
void sim_run(const struct sim_config *config, struct sim_result *result)
{
	sim_run_nodes(config, result, 1, NULL);
}

/**
 * sim_defaults() - a device and tunables
 * @config: receives them; classes, duration and seed are left alone
 */
void sim_defaults(struct sim_config *config)
{
	config->device = sim_mi300x;
	config->policy = "hpf";
	config->params = (struct gpreempt_policy_params){
		.interval_ns = 5 * MS,
		.poll_ns = 100 * US,
		.max_hold_ns = SEC,
		.relief_ns = 20 * MS,
		.blocked_ns = 2 * MS,
		.drain_ns = 200 * US,
		.slice_ns = 5 * MS,
		.overhead_pct = 0,
	};
}

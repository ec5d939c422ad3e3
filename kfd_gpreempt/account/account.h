/* SPDX-License-Identifier: MIT */
/*
 * account.h - for how long has a queue used the device?
 *
 * Every moment of a queue is one of three: it *runs* (it has work and the device), it *waits* (it
 * has work and no device, or no wave of it gets a slot), or it has no work. policy.h includes this
 * for what it embeds; account.c alone writes it.
 *
 * Pure code: see policy.h for what may be used here.
 */
#ifndef GPREEMPT_ACCOUNT_H
#define GPREEMPT_ACCOUNT_H

#include <linux/types.h>

struct gpreempt_policy_node;
struct gpreempt_policy_queue;

/*
 * The account looks once in a span. A span is this part of the time for which nothing has changed,
 * between these bounds; while no queue works, up to another one, until the node has been silent for
 * so long. A reading of waves is paid for by so many times what it took; if waves cannot be read,
 * it is tried again soon.
 */
#define GPREEMPT_ACCOUNT_LOOK_SHARE	8
#define GPREEMPT_ACCOUNT_LOOK_MIN_NS	5000000ULL
#define GPREEMPT_ACCOUNT_LOOK_MAX_NS	60000000ULL
#define GPREEMPT_ACCOUNT_QUIET_MAX_NS	25000000ULL
#define GPREEMPT_ACCOUNT_SILENCE_NS	1000000000ULL
#define GPREEMPT_ACCOUNT_COST_SHARE	200
#define GPREEMPT_ACCOUNT_RETRY_NS	500000ULL
/*
 * Work that a doorbell told of is looked at in spans of this length at first, and then of this part
 * of how long it has run. As many looks as that takes may come at once, if the node has looked no
 * more often on average than otherwise, in so long a time.
 */
#define GPREEMPT_ACCOUNT_SPAN_MIN_NS	500000ULL
#define GPREEMPT_ACCOUNT_SPAN_SHARE	2
#define GPREEMPT_ACCOUNT_SAVED_NS	100000000ULL
/* Looks for decisions that follow each other so closely see what happens between them. */
#define GPREEMPT_ACCOUNT_CLOSE_NS	1000000ULL
/* What a look finds after a longer sleep has not begun before. */
#define GPREEMPT_ACCOUNT_UNKNOWN_NS	1000000000ULL

/**
 * enum gpreempt_account_state - what a queue does
 * @GPREEMPT_ACCOUNT_IDLE: it has no work, or its packets wait for something else than the device
 * @GPREEMPT_ACCOUNT_RUNS: it has work and the device
 * @GPREEMPT_ACCOUNT_WAITS: it has work, and is off the device or has no wave there
 */
enum gpreempt_account_state {
	GPREEMPT_ACCOUNT_IDLE,
	GPREEMPT_ACCOUNT_RUNS,
	GPREEMPT_ACCOUNT_WAITS,
};

/**
 * struct gpreempt_account - what a queue has used so far, in nanoseconds of the caller's clock
 * @state: &enum gpreempt_account_state, as of the last look
 * @counts: the state that counts for the next @left_ns
 * @known: @state is what looks have seen that followed each other closely
 * @told: a doorbell told of its work
 * @came: its work came to a pass that makes room for it, and is not known to have that yet
 * @stopped: nothing is known since then
 * @waves: in flight when they were last read, but no more than 65535
 * @ran_ns: of @busy_ns, what was added since then, but no more than 4 s
 * @since_ns: until when time has been accounted
 * @sure_ns: when @state was last seen to be so
 * @left_ns: so much is left after @since_ns of the span of the last look, if @gap_ns is not 0
 * @gap_ns: what the last look has found counts for so long instead of @counts
 * @owes_busy_ns: of @busy_ns, what counted too much. What comes next pays for it
 * @owes_waiting_ns: of @waiting_ns, the same
 * @busy_ns: time that it ran, until @since_ns
 * @waiting_ns: time that it waited, until @since_ns
 * @wave_us: waves in flight times microseconds, until @waves were read
 *
 * Read it by the functions below, in any context: what they say never becomes less. Each is one
 * word, so that readers need no lock.
 */
struct gpreempt_account {
	u8 state;
	u8 counts:2;
	u8 known:1;
	u8 told:1;
	u8 came:1;
	u8 stopped:1;
	u16 waves;
	u32 ran_ns;
	u64 since_ns;
	u64 sure_ns;
	u32 left_ns;
	u32 gap_ns;
	u32 owes_busy_ns;
	u32 owes_waiting_ns;
	u64 busy_ns;
	u64 waiting_ns;
	u64 wave_us;
};

/**
 * struct gpreempt_account_node - what all queues of a node together need for that
 * @look_ns: time of the last look
 * @asked_ns: time of the last one for which a decision had asked
 * @due_ns: time of the next one that is made for the account
 * @from_ns: beginning of the span of which that is
 * @gap_ns: length of that span
 * @told_ns: when a doorbell last told of work
 * @paid_ns: until then looks have used what they may cost
 * @pass_ns: the last pass
 * @before_ns: the one before it
 * @changed_ns: when a queue was last found to do something else than before
 * @worked_ns: when one was last found at work; 0: never
 * @used_ns: time that some queue ran, until @look_ns
 * @nr_busy: queues that ran at the last look
 * @nr_open: of that look: queues with work
 * @made_room: the last pass was to make room for work of which a doorbell told
 * @random: spreads looks, so that they do not follow the rhythm of what they look at
 * @tells: waves in flight can be read. Set by the caller
 * @read_cost_ns: what reading them took the last time. Set by the caller
 */
struct gpreempt_account_node {
	u64 look_ns;
	u64 asked_ns;
	u64 due_ns;
	u64 from_ns;
	u64 gap_ns;
	u64 told_ns;
	u64 paid_ns;
	u64 pass_ns;
	u64 before_ns;
	u64 changed_ns;
	u64 worked_ns;
	u64 used_ns;
	u32 nr_busy;
	u32 nr_open;
	u32 random;
	bool made_room;
	bool tells;
	u64 read_cost_ns;
};

/**
 * gpreempt_account_busy_ns() - for how long has a queue had work and the device?
 * @a: its account
 *
 * Lags behind by two looks of the account at most.
 *
 * Return: nanoseconds since it was created, never less than before
 */
static inline u64 gpreempt_account_busy_ns(const struct gpreempt_account *a)
{
	return a->busy_ns;
}

/**
 * gpreempt_account_waiting_ns() - for how long has a queue had work and not the device?
 * @a: its account
 *
 * Return: as gpreempt_account_busy_ns()
 */
static inline u64 gpreempt_account_waiting_ns(const struct gpreempt_account *a)
{
	return a->waiting_ns;
}

void gpreempt_account_begin(struct gpreempt_policy_queue *q, u64 now_ns);
void gpreempt_account_expect(struct gpreempt_policy_node *pn, u64 now_ns);
void gpreempt_account_moved(struct gpreempt_policy_queue *q, bool ran, u64 now_ns);
void gpreempt_account_interrupted(struct gpreempt_policy_queue *q, u64 from_ns, u64 until_ns);
void gpreempt_account_made_room(struct gpreempt_policy_queue *q, u64 until_ns);
void gpreempt_account_end(struct gpreempt_policy_queue *q, u64 now_ns);
bool gpreempt_account_due(const struct gpreempt_policy_node *pn, u64 now_ns);
bool gpreempt_account_wants_waves(const struct gpreempt_policy_node *pn);
void gpreempt_account_look(struct gpreempt_policy_node *pn, bool asked, u64 now_ns);
void gpreempt_account_decided(struct gpreempt_policy_node *pn, u64 told_ns, bool makes_room,
			      u64 now_ns);
void gpreempt_account_stop(struct gpreempt_policy_node *pn, u64 now_ns);
u64 gpreempt_account_nap(const struct gpreempt_policy_node *pn, bool told, u64 now_ns);

#endif /* GPREEMPT_ACCOUNT_H */

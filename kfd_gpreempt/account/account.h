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
 * Looks are so far apart on average: this part of the time for which nothing has changed, between
 * these bounds. A reading of waves is paid for by so many times what it took; if waves cannot be
 * read, it is tried again soon.
 */
#define GPREEMPT_ACCOUNT_LOOK_SHARE	8
#define GPREEMPT_ACCOUNT_LOOK_MIN_NS	5000000ULL
#define GPREEMPT_ACCOUNT_LOOK_MAX_NS	50000000ULL
#define GPREEMPT_ACCOUNT_COST_SHARE	200
#define GPREEMPT_ACCOUNT_RETRY_NS	500000ULL
/*
 * After a doorbell they are so far apart at first, and then this part of how long the work has run.
 * As many as that takes may come at once, if the node has looked no more often on average than
 * otherwise, in so long a time.
 */
#define GPREEMPT_ACCOUNT_TOLD_MIN_NS	500000ULL
#define GPREEMPT_ACCOUNT_TOLD_SHARE	2
#define GPREEMPT_ACCOUNT_SAVED_NS	100000000ULL
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
 * @told: a doorbell told of its work
 * @came: its work came to a pass that makes room for it, and is not known to have that yet
 * @stopped: nothing is known since then
 * @waves: in flight when they were last read, but no more than 65535
 * @ran_ns: of @busy_ns, what was added since then, but no more than 4 s
 * @since_ns: until when time has been accounted
 * @sure_ns: when @state was last seen to be so
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
	u8 told:1;
	u8 came:1;
	u8 stopped:1;
	u16 waves;
	u32 ran_ns;
	u64 since_ns;
	u64 sure_ns;
	u32 owes_busy_ns;
	u32 owes_waiting_ns;
	u64 busy_ns;
	u64 waiting_ns;
	u64 wave_us;
};

/**
 * struct gpreempt_account_node - what all queues of a node together need for that
 * @look_ns: time of the last look
 * @due_ns: time of the next one that is made for the account
 * @gap_ns: so far looks are apart on average
 * @told_ns: when a doorbell last told of work
 * @paid_ns: until then looks have used what they may cost
 * @changed_ns: when a queue was last found to do something else than before
 * @any: the account of whether any queue runs
 * @nr_open: queues with work, as of the last look
 * @made_room: the last pass was to make room for work of which a doorbell told
 * @tells: waves in flight can be read. Set by the caller
 * @random: a random number that no program can know. Set by the caller, once
 * @read_cost_ns: what reading them took the last time. Set by the caller
 */
struct gpreempt_account_node {
	u64 look_ns;
	u64 due_ns;
	u64 gap_ns;
	u64 told_ns;
	u64 paid_ns;
	u64 changed_ns;
	struct gpreempt_account any;
	u32 nr_open;
	bool made_room;
	bool tells;
	u32 (*random)(void);
	u64 read_cost_ns;
};

void gpreempt_account_begin(struct gpreempt_policy_queue *q, u64 now_ns);
void gpreempt_account_expect(struct gpreempt_policy_node *pn, u64 now_ns);
void gpreempt_account_moved(struct gpreempt_policy_queue *q, bool ran, u64 now_ns);
void gpreempt_account_interrupted(struct gpreempt_policy_queue *q, u64 from_ns, u64 until_ns);
void gpreempt_account_made_room(struct gpreempt_policy_queue *q, u64 until_ns);
void gpreempt_account_end(struct gpreempt_policy_queue *q, u64 now_ns);
void gpreempt_account_passed(struct gpreempt_policy_node *pn, u64 took_ns, u64 now_ns);
bool gpreempt_account_due(const struct gpreempt_policy_node *pn, u64 now_ns);
bool gpreempt_account_wants_waves(const struct gpreempt_policy_node *pn);
void gpreempt_account_look(struct gpreempt_policy_node *pn, bool asked, u64 now_ns);
void gpreempt_account_decided(struct gpreempt_policy_node *pn, u64 told_ns, bool makes_room,
			      u64 now_ns);
void gpreempt_account_stop(struct gpreempt_policy_node *pn, u64 now_ns);
u64 gpreempt_account_nap(const struct gpreempt_policy_node *pn, bool told, u64 now_ns);

#endif /* GPREEMPT_ACCOUNT_H */

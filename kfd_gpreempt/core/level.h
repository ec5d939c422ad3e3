/* SPDX-License-Identifier: MIT */
/*
 * level.h - which queues work, and what the highest rank among them is
 *
 * Pure code: see policy.h for what may be used here.
 */
#ifndef GPREEMPT_LEVEL_H
#define GPREEMPT_LEVEL_H

#include "policy.h"

/* More steps than there are between two priorities: as old as can be. */
#define GPREEMPT_AGE_MAX	(2 * (GPREEMPT_PRIORITY_MAX + 1))

/**
 * struct level - what the queues together say
 * @valid: some queue has demand
 * @rank: highest rank with demand
 * @relief: that is a debtor in its turn, which comes before all others of this rank
 * @priority: of the queues that have both, the highest priority
 * @leader: one of these queues
 * @sole: the only process that it is of; NULL: there are several, or that is a debtor
 * @above: it works above the level, and lower work may run beside it; NULL: none does
 * @inversion: a queue below has demand and the device
 * @preempts: one of these may be taken off now
 * @drains: one may, and all that may are about to end by themselves
 * @unstarted: with @drains: none of them has waves yet
 */
struct level {
	bool valid;
	bool relief;
	s64 rank;
	s32 priority;
	struct gpreempt_policy_queue *leader;
	struct gpreempt_policy_process *sole;
	struct gpreempt_policy_process *above;
	bool inversion;
	bool preempts;
	bool drains;
	bool unstarted;
};

/**
 * struct level_doubt - what is not known about waves in a pass
 * @matters: of a queue it is not known whether it has any, and it has no packets
 * @unknown: that has been so for long
 * @first: of each such queue nothing has been known before
 * @preempted: a queue is off the device, or to be taken off on request
 * @told: a decision of another node may depend on it
 */
struct level_doubt {
	bool matters;
	bool unknown;
	bool first;
	bool preempted;
	bool told;
};

void gpreempt_level_lend(struct gpreempt_policy_node *pn);
struct level_doubt gpreempt_level_look(struct gpreempt_policy_node *pn, u64 now_ns);
void gpreempt_level_look_again(struct gpreempt_policy_node *pn, u64 now_ns);
void gpreempt_level_find_busy(struct gpreempt_policy_node *pn, u64 now_ns);
struct level gpreempt_level_find(struct gpreempt_policy_node *pn, bool assume);
void gpreempt_level_mark(struct gpreempt_policy_node *pn, const struct level *level, bool assume);
bool gpreempt_level_lower_runs(const struct gpreempt_policy_node *pn, const struct level *level,
			       bool assume);

/* Neither by the driver nor by its owner's leave may it be taken off. */
static inline bool level_fixed(const struct gpreempt_policy_queue *q)
{
	return q->set.immovable || q->process->opt_out;
}

/*
 * It waits for another node: a turn on this node alone is none. One of the nodes on which it is off
 * for its rank begins.
 */
static inline bool level_relief_is_elsewhere(const struct gpreempt_policy_queue *q)
{
	const struct gpreempt_policy_job *job = q->process->job;

	return job && (q->out ? !job->begins_relief : q->pass.spins);
}

/* It has no demand: those below it need not wait for what may not run. */
static inline bool level_kept_off(const struct gpreempt_policy_queue *q)
{
	return q->kept_off && !q->pass.relieved;
}

/* A debtor in its turn has the rank of the last class that it comes before. */
static inline s64 level_rank(const struct gpreempt_policy_queue *q)
{
	if (!(q->pass.relieved | q->pass.spins))
		return q->rank;
	return q->pass.relieved ? q->process->turn_rank : GPREEMPT_RANK_SPINS;
}

static inline bool level_at(const struct gpreempt_policy_queue *q, const struct level *level)
{
	return level_rank(q) == level->rank && q->pass.relieved == level->relief;
}

/*
 * May others have to yield to it? Not to an unseen queue: there would be no telling when they may
 * come back. But in its relief it has to run.
 */
static inline bool level_makes(const struct gpreempt_policy_queue *q, bool assume)
{
	return q->pass.demand[assume] && (!q->set.unseen || q->pass.relieved);
}

/*
 * How much rank it lacks to run while this level lasts, if it may be taken off at all; 0 or less:
 * nothing.
 */
static inline s64 level_missing_rank(const struct gpreempt_policy_node *pn,
				     const struct gpreempt_policy_queue *q,
				     const struct level *level)
{
	const struct gpreempt_policy_process *p = q->process;

	if (!level->valid || (q->pass.relieved && level->relief))
		return 0;
	/*
	 * A process must not freeze its own copy or utility queue: both sides have to have asked
	 * for it.
	 */
	if (p->level_mark == pn->mark)
		return q->orders && p->top_mark == pn->mark ? p->own_top - q->own_rank : 0;
	if (q->pass.relieved)
		return level->rank > level_rank(q) ? level->rank - level_rank(q) : 0;
	if (pn->jobs) {
		if (q->pass.spins)
			return level->rank > GPREEMPT_RANK_SPINS ? GPREEMPT_RANK_RELIEF : 0;
		if (level->rank == GPREEMPT_RANK_SPINS)
			return 0;
	}
	if (level->rank == GPREEMPT_RANK_RELIEF)
		return GPREEMPT_RANK_RELIEF;
	return level->rank - q->rank + level->relief;
}

/*
 * Has it to stay off the device while the level lasts? Age counts up to equality: the level is that
 * of ranks without.
 */
static inline bool level_outranked(const struct gpreempt_policy_queue *q)
{
	return q->missing > q->pass.age && !level_fixed(q);
}

/* It has not had the device for the time that it was promised. A relief does not wait for that. */
static inline bool level_in_min_run(const struct gpreempt_policy_queue *q,
				    const struct gpreempt_policy_params *params,
				    const struct level *level, u64 now_ns)
{
	return params->min_run_ns && q->pass.demand[1] && !level->relief &&
	       now_ns - q->seen.run_ns < params->min_run_ns;
}

/*
 * The queues that a decision is about: those that are dormant have no work, and only go along with
 * others that are preempted.
 */
static inline u32 level_nr_concerned(const struct gpreempt_policy_node *pn,
				     const struct level *level)
{
	return level->preempts ? pn->nr + pn->nr_dormant : pn->nr;
}

/*
 * Does it matter to decisions which queues work? Among equals it does only for jobs that are ranked
 * elsewhere as well, and where the caller wants to know who is idle. Otherwise the node is left
 * alone.
 */
static inline bool level_matters(const struct gpreempt_policy_node *pn)
{
	return pn->differs || pn->jobs || pn->idle_ns;
}

/*
 * Does it run, once the actions of the decision have been carried out, or would it if its node did
 * not only observe?
 */
static inline bool level_stays(const struct gpreempt_policy_queue *q)
{
	return q->preempted ? q->action == GPREEMPT_RESUME :
			      q->action != GPREEMPT_PREEMPT && !q->spared;
}

/* The same of one with work */
static inline bool level_runs(const struct gpreempt_policy_queue *q)
{
	return q->pass.demand[1] && level_stays(q);
}

/* Ranks that do not move by themselves are good until what they come from changes. */
static inline void level_rank_all(struct gpreempt_policy_node *pn, u64 now_ns)
{
	if (pn->changed || pn->ops->rotates)
		pn->ops->rank(pn, now_ns);
}

#endif /* GPREEMPT_LEVEL_H */

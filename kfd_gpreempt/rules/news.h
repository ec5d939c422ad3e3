/* SPDX-License-Identifier: MIT */
/*
 * news.h - what the nodes of a job tell each other
 *
 * A node writes its own words after a decision, and only when they change or have to be renewed;
 * the others read them before theirs. There is no lock: each word is true by itself, and what it
 * says ends by itself, so that no node waits for one that says nothing any more.
 *
 * Pure code: see policy.h for what may be used here.
 */
#ifndef GPREEMPT_NEWS_H
#define GPREEMPT_NEWS_H

#include <linux/compiler.h>

#include "core/policy.h"

/* So many nodes can have processes of one job: eight devices in eight partitions each. */
#define GPREEMPT_NEWS_NODES	64

/* The lowest bits of gpreempt_news.wants have the priority: that is how exact its time is. */
#define GPREEMPT_NEWS_PRIORITY_MASK	2047ULL

/**
 * struct gpreempt_news - what one node says of a job
 * @wants: the job works there: until when that holds, in nanoseconds, and in the lowest 11 bits
 *	with which priority, counted from GPREEMPT_PRIORITY_MIN; 0: it does not
 * @out_ns: it is off the device there because of its rank, which holds until then; 0: it is not
 * @leaves: with @out_ns: it leaves the other nodes as long as that holds
 * @left_ns: what leaving them has cost it so far
 * @relief_ns: it has its turn in a relief there until then; 0: it has none
 * @shut_ns: the overhead budget there has no room to preempt for it until then; 0: it has
 * @due_ns: the first of its work there is due then (edf); 0: none is
 * @due_until_ns: @due_ns holds until then
 * @top: the highest priority of its queues there
 * @asks: decisions there may depend on whether it works elsewhere
 * @dated: a process of it has a deadline there (edf)
 */
struct gpreempt_news {
	u64 wants;
	u64 out_ns;
	u64 left_ns;
	u64 relief_ns;
	u64 shut_ns;
	u64 due_ns;
	u64 due_until_ns;
	u32 leaves;
	s32 top;
	u32 asks;
	u32 dated;
};

/* What was said lasts for more than half of its time still. */
static inline bool news_fresh(const struct gpreempt_policy_job *job, u64 until_ns, u64 now_ns)
{
	return until_ns > now_ns && until_ns - now_ns > job->holds_ns / 2;
}

static inline s32 news_priority(u64 wants)
{
	return (s32)(wants & GPREEMPT_NEWS_PRIORITY_MASK) + GPREEMPT_PRIORITY_MIN;
}

static inline u64 news_until(u64 wants)
{
	return wants & ~GPREEMPT_NEWS_PRIORITY_MASK;
}

static inline bool news_tell_wants(struct gpreempt_news *news,
				   const struct gpreempt_policy_job *job, u64 now_ns)
{
	u64 old = news->wants, until_ns = news_until(now_ns + job->holds_ns);
	bool held = news_until(old) > now_ns,
	     same = held && news_priority(old) == job->works_priority;

	if (!job->works) {
		if (old)
			WRITE_ONCE(news->wants, 0);
		return held;
	}
	if (!same || !news_fresh(job, news_until(old), now_ns))
		WRITE_ONCE(news->wants, until_ns | (u64)(job->works_priority - GPREEMPT_PRIORITY_MIN));
	return !same;
}

static inline bool news_tell_out(struct gpreempt_news *news, const struct gpreempt_policy_job *job,
				 u64 now_ns)
{
	bool held = news->out_ns > now_ns;

	if (!job->out) {
		if (news->out_ns)
			WRITE_ONCE(news->out_ns, 0);
		return held;
	}
	/* Before that which it belongs to */
	WRITE_ONCE(news->left_ns, job->left_ns);
	WRITE_ONCE(news->leaves, job->leaves);
	if (!news_fresh(job, news->out_ns, now_ns))
		WRITE_ONCE(news->out_ns, now_ns + job->holds_ns);
	return !held;
}

static inline bool news_tell_shut(struct gpreempt_news *news, const struct gpreempt_policy_job *job,
				  u64 now_ns)
{
	u64 until_ns = now_ns + job->holds_ns;
	bool held = news->shut_ns > now_ns;

	if (job->shut_until_ns < until_ns)
		until_ns = job->shut_until_ns;
	if (news->shut_ns != until_ns &&
	    (until_ns < news->shut_ns || !news_fresh(job, news->shut_ns, now_ns)))
		WRITE_ONCE(news->shut_ns, until_ns);
	return held != (until_ns > now_ns);
}

static inline bool news_tell_due(struct gpreempt_news *news, const struct gpreempt_policy_job *job,
				 u64 now_ns)
{
	u64 due_ns = job->due_ns;
	bool same = due_ns == news->due_ns && (!due_ns || news->due_until_ns > now_ns);

	if (due_ns && !news_fresh(job, news->due_until_ns, now_ns))
		WRITE_ONCE(news->due_until_ns, now_ns + job->holds_ns);
	if (due_ns != news->due_ns)
		WRITE_ONCE(news->due_ns, due_ns);
	return !same;
}

/**
 * enum gpreempt_news_change - what is new in what a node says
 * @GPREEMPT_NEWS_SAME: at most, what holds was renewed
 * @GPREEMPT_NEWS_OTHER: something else
 * @GPREEMPT_NEWS_BEGINS: the job begins to work there, or to be off the device
 */
enum gpreempt_news_change {
	GPREEMPT_NEWS_SAME,
	GPREEMPT_NEWS_OTHER,
	GPREEMPT_NEWS_BEGINS,
};

/**
 * gpreempt_news_tell() - say what a decision means for the other nodes of a job
 * @news: what this node has said
 * @job: the job on this node, after gpreempt_policy_decide()
 * @now_ns: time of the decision
 *
 * Return: what is new; the other nodes have to look if anything is
 */
static inline enum gpreempt_news_change gpreempt_news_tell(struct gpreempt_news *news,
							   const struct gpreempt_policy_job *job,
							   u64 now_ns)
{
	bool begins = (job->works && news_until(news->wants) <= now_ns) ||
		      (job->out && news->out_ns <= now_ns);
	bool look = news_tell_wants(news, job, now_ns);

	look |= news_tell_out(news, job, now_ns);
	look |= news_tell_shut(news, job, now_ns);
	look |= news_tell_due(news, job, now_ns);
	if (news->relief_ns != job->turn_until_ns) {
		look |= job->turn_until_ns > now_ns;
		WRITE_ONCE(news->relief_ns, job->turn_until_ns);
	}
	if (news->top != job->top) {
		look = true;
		WRITE_ONCE(news->top, job->top);
	}
	if (news->asks != job->asks) {
		look |= job->asks;
		WRITE_ONCE(news->asks, job->asks);
	}
	if (news->dated != job->dated) {
		look = true;
		WRITE_ONCE(news->dated, job->dated);
	}
	if (begins)
		return GPREEMPT_NEWS_BEGINS;
	return look ? GPREEMPT_NEWS_OTHER : GPREEMPT_NEWS_SAME;
}

/**
 * gpreempt_news_end() - this node says nothing more of a job: it resumes everything
 * @news: what it has said
 *
 * Return: true if the other nodes have to look at once
 */
static inline bool gpreempt_news_end(struct gpreempt_news *news)
{
	bool look = READ_ONCE(news->wants) || READ_ONCE(news->out_ns) ||
		    READ_ONCE(news->relief_ns) || READ_ONCE(news->shut_ns) ||
		    READ_ONCE(news->due_ns);

	WRITE_ONCE(news->wants, 0);
	WRITE_ONCE(news->out_ns, 0);
	WRITE_ONCE(news->relief_ns, 0);
	WRITE_ONCE(news->shut_ns, 0);
	WRITE_ONCE(news->due_ns, 0);
	WRITE_ONCE(news->asks, 0);
	WRITE_ONCE(news->dated, 0);
	return look;
}

/* Of the budget, and of deadlines */
static inline void news_hear_times(struct gpreempt_policy_job *job,
				   const struct gpreempt_news *news, u64 now_ns)
{
	u64 shut_ns = READ_ONCE(news->shut_ns), due_ns = READ_ONCE(news->due_ns),
	    until_ns = READ_ONCE(news->due_until_ns);

	if (shut_ns > now_ns && shut_ns > job->shut_elsewhere_ns)
		job->shut_elsewhere_ns = shut_ns;
	job->dated_elsewhere |= READ_ONCE(news->dated);
	if (!due_ns || until_ns <= now_ns)
		return;
	if (!job->due_elsewhere_ns || due_ns < job->due_elsewhere_ns) {
		job->due_elsewhere_ns = due_ns;
		job->due_elsewhere_until_ns = until_ns;
	}
}

/* @before: it comes before this node. */
static inline void news_hear_one(struct gpreempt_policy_job *job, const struct gpreempt_news *news,
				 bool before, u64 now_ns)
{
	u64 wants = READ_ONCE(news->wants), until_ns = news_until(wants),
	    out_ns = READ_ONCE(news->out_ns), relief_ns = READ_ONCE(news->relief_ns);
	s32 top = READ_ONCE(news->top), priority = news_priority(wants);

	if (until_ns > now_ns && (!job->wanted_until_ns || priority > job->wanted_priority ||
				  (priority == job->wanted_priority &&
				   until_ns > job->wanted_until_ns))) {
		job->wanted_until_ns = until_ns;
		job->wanted_priority = priority;
	}
	if (out_ns > now_ns && out_ns > job->out_until_ns)
		job->out_until_ns = out_ns;
	if (READ_ONCE(news->leaves) && out_ns > now_ns && out_ns > job->leave_until_ns)
		job->leave_until_ns = out_ns;
	job->left_elsewhere_ns += READ_ONCE(news->left_ns);
	if (before && out_ns > now_ns && out_ns > job->out_before_until_ns)
		job->out_before_until_ns = out_ns;
	job->begins_relief &= out_ns <= now_ns || !before;
	if (relief_ns > now_ns && relief_ns > job->relief_until_ns)
		job->relief_until_ns = relief_ns;
	if (top > job->top_elsewhere)
		job->top_elsewhere = top;
	job->asked_elsewhere |= READ_ONCE(news->asks);
	news_hear_times(job, news, now_ns);
}

/**
 * gpreempt_news_hear() - take in what the other nodes say of a job
 * @job: the job on this node
 * @news: what each node has said, of GPREEMPT_NEWS_NODES
 * @nodes: a bit for each that has processes of the job
 * @own: which of them this one is
 * @now_ns: time of the pass
 *
 * Return: true if that is something else than at the last time, other than for how long
 */
static inline bool gpreempt_news_hear(struct gpreempt_policy_job *job,
				      const struct gpreempt_news *news, u64 nodes, u32 own,
				      u64 now_ns)
{
	const struct gpreempt_policy_job old = *job;

	job->wanted_until_ns = 0;
	job->wanted_priority = GPREEMPT_PRIORITY_MIN;
	job->out_until_ns = 0;
	job->leave_until_ns = 0;
	job->out_before_until_ns = 0;
	job->left_elsewhere_ns = 0;
	job->begins_relief = true;
	job->relief_until_ns = 0;
	job->top_elsewhere = GPREEMPT_PRIORITY_MIN;
	job->asked_elsewhere = false;
	job->shut_elsewhere_ns = 0;
	job->dated_elsewhere = false;
	job->due_elsewhere_ns = 0;
	job->due_elsewhere_until_ns = 0;
	for (nodes &= ~(1ULL << own); nodes; nodes &= nodes - 1) {
		u32 node = __builtin_ctzll(nodes);

		news_hear_one(job, &news[node], node < own, now_ns);
	}
	return !old.wanted_until_ns != !job->wanted_until_ns ||
	       old.wanted_priority != job->wanted_priority ||
	       !old.out_until_ns != !job->out_until_ns ||
	       !old.leave_until_ns != !job->leave_until_ns ||
	       !old.out_before_until_ns != !job->out_before_until_ns ||
	       old.begins_relief != job->begins_relief ||
	       !old.relief_until_ns != !job->relief_until_ns ||
	       old.top_elsewhere != job->top_elsewhere ||
	       !old.shut_elsewhere_ns != !job->shut_elsewhere_ns ||
	       old.dated_elsewhere != job->dated_elsewhere ||
	       old.due_elsewhere_ns != job->due_elsewhere_ns;
}

#endif /* GPREEMPT_NEWS_H */

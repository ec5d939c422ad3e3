/* SPDX-License-Identifier: MIT */
/*
 * server.h - turns: how share.c and wfq.c decide who has the device next, and for how long
 *
 * Pure code: see policy.h for what may be used here.
 */
#ifndef GPREEMPT_SERVER_H
#define GPREEMPT_SERVER_H

#include "core/demand.h"

static inline u64 server_slice_ns(const struct gpreempt_policy_node *pn)
{
	return gpreempt_later(pn->params.slice_ns, GPREEMPT_SHARE_TURN_SHARE * pn->pass_ns);
}

/* It has had the device for so long, which counts as @virtual_ns. */
static inline void server_charge(struct gpreempt_policy_server *s, u64 ns, u64 virtual_ns)
{
	s->served_ns += ns;
	s->turn_ns += ns;
	s->vtime_ns += virtual_ns;
}

/*
 * What it had since it last came is its burst; more than two slices count as two. Nothing is learnt
 * twice in a pass.
 */
static inline void server_learn_burst(struct gpreempt_policy_server *s, u64 slice_ns)
{
	u64 had_ns = gpreempt_earlier(s->served_ns - s->begun_ns, 2 * slice_ns);

	s->woke = true;
	s->begun_ns = s->served_ns;
	if (!had_ns)
		return;
	s->burst_ns = s->burst_ns ? s->burst_ns + had_ns / GPREEMPT_FOLLOW_SHARE -
					    s->burst_ns / GPREEMPT_FOLLOW_SHARE :
				    had_ns;
}

static inline bool server_is_new(const struct gpreempt_policy_server *s)
{
	return !s->served_ns && !s->vtime_ns;
}

/*
 * It comes: a slice behind or ahead of the least of the others at most. A new one begins half a
 * slice ahead: to be made anew is no way to come before others. @most_ns: what a slice counts as
 */
static inline void server_come(struct gpreempt_policy_server *s, u64 floor_ns, u64 slice_ns,
			       s64 most_ns)
{
	s64 ahead_ns = (s64)(s->vtime_ns - floor_ns);

	server_learn_burst(s, slice_ns);
	if (ahead_ns > most_ns)
		s->vtime_ns = floor_ns + most_ns;
	else if (server_is_new(s) && ahead_ns < most_ns / 2)
		s->vtime_ns = floor_ns + most_ns / 2;
	else if (ahead_ns < -most_ns)
		s->vtime_ns = floor_ns - most_ns;
}

/* So long it keeps its turn without work. */
static inline u64 server_grace_ns(const struct gpreempt_policy_node *pn,
				  const struct gpreempt_policy_server *s)
{
	u64 short_ns = demand_short_gap_ns(pn);

	return gpreempt_earlier(demand_gap_wait_ns(&s->gaps, short_ns), short_ns);
}

static inline bool server_in_grace(const struct gpreempt_policy_node *pn,
				   const struct gpreempt_policy_server *s, u64 now_ns)
{
	u64 grace_ns = server_grace_ns(pn, s);

	return grace_ns && (!s->idle_at_ns || now_ns - s->idle_at_ns < grace_ns);
}

/* What it needs when it comes, a slice at most */
static inline u64 server_burst_ns(const struct gpreempt_policy_node *pn,
				  const struct gpreempt_policy_server *s)
{
	u64 slice_ns = server_slice_ns(pn);

	return gpreempt_earlier(s->burst_ns ? s->burst_ns : slice_ns, slice_ns);
}

/*
 * One has come since the turn began. Does it come before who has the turn? Only if it is still no
 * further than that one when it has had what it has had of late, and if that is worth the switch.
 * @counts_ns: what that counts as
 */
static inline bool server_comes_before(const struct gpreempt_policy_node *pn,
				       const struct gpreempt_policy_server *s, u64 counts_ns,
				       const struct gpreempt_policy_server *holder)
{
	return s->woke && 2 * server_burst_ns(pn, s) >= demand_switch_ns(pn) &&
	       (s64)(holder->vtime_ns - s->vtime_ns - counts_ns) >= 0;
}

/* A turn lasts for a slice, or for what one needs from coming to going if that is little more. */
static inline u64 server_turn_ns(const struct gpreempt_policy_node *pn,
				 const struct gpreempt_policy_server *s)
{
	return gpreempt_later(server_slice_ns(pn),
			      s->burst_ns + s->burst_ns / GPREEMPT_FOLLOW_SHARE);
}

static inline void server_begin_turn(struct gpreempt_policy_server *s)
{
	s->turn_ns = 0;
	s->idle_at_ns = 0;
}

/* Has it work, and had it before? */
static inline void server_note(const struct gpreempt_policy_node *pn,
			       struct gpreempt_policy_server *s, bool wants, bool wanted,
			       u64 now_ns)
{
	if (wants) {
		if (s->idle_at_ns)
			gpreempt_demand_learn_gap(&s->gaps, now_ns - s->idle_at_ns,
						  demand_short_gap_ns(pn));
		s->idle_at_ns = 0;
	} else if (wanted && !s->idle_at_ns) {
		s->idle_at_ns = now_ns;
	}
}

#endif /* GPREEMPT_SERVER_H */

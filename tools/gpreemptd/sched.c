// SPDX-License-Identifier: MIT
/*
 * sched.c - the policies of gpreemptd
 *
 * Under all of them but SCHED_HPF one client has a node at a time: time is then what it gets, whatever its kernels occupy. A client without
 * work is never told to leave: nothing is gained by it, and its next packet would find it gone. A client on several nodes has all of them or
 * none: on some of them its kernels would only wait for those on the others.
 */
#include "sched.h"

#include <strings.h>

/* Time since the last look, to those who had their nodes. */
static void account(const struct sched *s, struct sched_client *const *clients, size_t nr, uint64_t now_ns)
{
	size_t i;

	for (i = 0; i < nr && s->looked_ns; i++)
		if (clients[i]->ran)
			clients[i]->virtual_ns += (now_ns - s->looked_ns) * SCHED_WEIGHT_NORMAL / clients[i]->weight;
}

static unsigned int first_of(uint64_t nodes)
{
	return (unsigned int)__builtin_ctzll(nodes);
}

/* Nodes that clients with work connect: @group: of each node, all of those. */
static void find_groups(struct sched_client *const *clients, size_t nr, uint64_t group[SCHED_MAX_NODES])
{
	uint64_t left, all;
	size_t i;

	for (i = 0; i < SCHED_MAX_NODES; i++)
		group[i] = 1ull << i;
	for (i = 0; i < nr; i++) {
		/* One bit connects nothing. */
		if (!clients[i]->wants || !(clients[i]->nodes & (clients[i]->nodes - 1)))
			continue;
		for (all = 0, left = clients[i]->nodes; left; left &= left - 1)
			all |= group[first_of(left)];
		for (left = all; left; left &= left - 1)
			group[first_of(left)] = all;
	}
}

/*
 * Of neighbours that want their nodes one has had the least, and that counts as nothing: so time without work earns no credit, and nodes
 * that a job begins to connect count from the same.
 */
static void level(struct sched_client *const *clients, size_t nr)
{
	uint64_t group[SCHED_MAX_NODES], least_ns[SCHED_MAX_NODES];
	size_t i;

	find_groups(clients, nr, group);
	for (i = 0; i < SCHED_MAX_NODES; i++)
		least_ns[i] = SCHED_NEVER;
	for (i = 0; i < nr; i++) {
		uint64_t *least = &least_ns[first_of(group[first_of(clients[i]->nodes)])];

		if (clients[i]->wants && clients[i]->virtual_ns < *least)
			*least = clients[i]->virtual_ns;
	}
	for (i = 0; i < nr; i++) {
		uint64_t least = least_ns[first_of(group[first_of(clients[i]->nodes)])];

		/* None wants: nobody gets ahead. */
		if (least != SCHED_NEVER)
			clients[i]->virtual_ns -= clients[i]->virtual_ns < least ? clients[i]->virtual_ns : least;
	}
}

static bool comes_before(enum sched_policy policy, const struct sched_client *a, const struct sched_client *b)
{
	switch (policy) {
	case SCHED_HPF:
		return a->priority > b->priority;
	case SCHED_FIFO:
		return a->since_ns < b->since_ns;
	case SCHED_FAIR:
		if (a->virtual_ns != b->virtual_ns)
			return a->virtual_ns < b->virtual_ns;
		break;
	default:
		break;
	}
	return a->waits_ns < b->waits_ns;
}

/* The order changes little from one look to the next. Equals stay as they were. */
static void sort(enum sched_policy policy, struct sched_client **clients, size_t nr)
{
	size_t i, k;

	for (i = 1; i < nr; i++) {
		struct sched_client *c = clients[i];

		for (k = i; k && comes_before(policy, c, clients[k - 1]); k--)
			clients[k] = clients[k - 1];
		clients[k] = c;
	}
}

static bool has_turns(enum sched_policy policy)
{
	return policy == SCHED_RR || policy == SCHED_FAIR;
}

/* Turns that are over; a client that begins to want waits from then on. */
static void end_turns(const struct sched *s, struct sched_client *const *clients, size_t nr, uint64_t now_ns)
{
	uint64_t taken = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		struct sched_client *c = clients[i];

		if (c->wants && !c->wanted)
			c->since_ns = c->waits_ns = now_ns;
		if (!c->ends_ns)
			continue;
		/* Two have turns on one node when a job got there: one of them goes on. */
		if (has_turns(s->policy) && c->wants && now_ns < c->ends_ns && !(c->nodes & taken)) {
			taken |= c->nodes;
			continue;
		}
		c->ends_ns = 0;
		c->waits_ns = now_ns;
	}
}

/**
 * struct plan - nodes while turns are given
 * @taken: those that a client has
 * @ends_ns: when its turn ends, of each; of the others, what it may last at most
 */
struct plan {
	uint64_t taken;
	uint64_t ends_ns[SCHED_MAX_NODES];
};

static void take(struct plan *plan, uint64_t nodes, uint64_t ends_ns)
{
	plan->taken |= nodes;
	for (; nodes; nodes &= nodes - 1)
		plan->ends_ns[first_of(nodes)] = ends_ns;
}

/* When all of these nodes are free, or if they are, until when. */
static uint64_t ends_of(const struct plan *plan, uint64_t nodes, bool taken)
{
	uint64_t ends_ns = taken ? 0 : SCHED_NEVER;

	for (; nodes; nodes &= nodes - 1) {
		uint64_t one_ns = plan->ends_ns[first_of(nodes)];

		if (taken ? one_ns > ends_ns : one_ns < ends_ns)
			ends_ns = one_ns;
	}
	return ends_ns;
}

/* A job waits until the last of its nodes is free: until then the others may be had, and no longer. */
static void reserve(struct plan *plan, uint64_t nodes)
{
	uint64_t when_ns = ends_of(plan, nodes & plan->taken, true);

	for (nodes &= ~plan->taken; nodes; nodes &= nodes - 1)
		if (plan->ends_ns[first_of(nodes)] > when_ns)
			plan->ends_ns[first_of(nodes)] = when_ns;
}

/* Returns when the first turn ends for which another client waits. */
static uint64_t take_turns(struct sched *s, struct sched_client **clients, size_t nr, uint64_t now_ns)
{
	struct plan plan = { 0 };
	uint64_t next_ns = SCHED_NEVER, ends_ns;
	size_t i;

	for (i = 0; i < SCHED_MAX_NODES; i++)
		plan.ends_ns[i] = SCHED_NEVER;
	for (i = 0; i < nr; i++)
		if (clients[i]->ends_ns)
			take(&plan, clients[i]->nodes, clients[i]->ends_ns);
	for (i = 0; i < nr; i++) {
		struct sched_client *c = clients[i];

		c->off = c->wants && !c->ends_ns && (c->nodes & plan.taken);
		if (c->off) {
			reserve(&plan, c->nodes);
		} else if (c->wants && !c->ends_ns) {
			ends_ns = ends_of(&plan, c->nodes, false);
			if (has_turns(s->policy))
				c->ends_ns = ends_ns < now_ns + s->slice_ns ? ends_ns : now_ns + s->slice_ns;
			take(&plan, c->nodes, has_turns(s->policy) ? c->ends_ns : SCHED_NEVER);
		}
	}
	for (i = 0; i < nr; i++) {
		ends_ns = clients[i]->off ? ends_of(&plan, clients[i]->nodes & plan.taken, true) : SCHED_NEVER;
		next_ns = ends_ns < next_ns ? ends_ns : next_ns;
	}
	return next_ns == SCHED_NEVER ? SCHED_NEVER : next_ns - now_ns;
}

/* Whoever is off because of a higher one keeps no lower one off its other nodes. */
static void highest_first(struct sched_client *const *clients, size_t nr)
{
	uint64_t higher = 0, equal = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (i && clients[i]->priority < clients[i - 1]->priority)
			higher |= equal;
		clients[i]->off = clients[i]->wants && (clients[i]->nodes & higher);
		if (clients[i]->wants && !clients[i]->off)
			equal |= clients[i]->nodes;
	}
}

/**
 * sched_look() - who has to be off the device from now on
 * @s: the nodes
 * @clients: all clients; what is marked as in is up to date. They are brought into the order in which they come first, and are to stay in it
 *	until the next look
 * @nr: their number
 * @now_ns: the time, which never goes back
 *
 * Sets @off of each client.
 *
 * Return: after how many nanoseconds to look again although nothing has changed; SCHED_NEVER
 */
uint64_t sched_look(struct sched *s, struct sched_client **clients, size_t nr, uint64_t now_ns)
{
	uint64_t next_ns = SCHED_NEVER;
	size_t i;

	account(s, clients, nr, now_ns);
	level(clients, nr);
	end_turns(s, clients, nr, now_ns);
	sort(s->policy, clients, nr);
	if (s->policy == SCHED_HPF)
		highest_first(clients, nr);
	else
		next_ns = take_turns(s, clients, nr, now_ns);
	for (i = 0; i < nr; i++) {
		clients[i]->wanted = clients[i]->wants;
		clients[i]->ran = clients[i]->wants && (!clients[i]->off || clients[i]->relief);
	}
	s->looked_ns = now_ns;
	return next_ns;
}

static const char *const names[] = {
	[SCHED_HPF] = "hpf",
	[SCHED_FIFO] = "fifo",
	[SCHED_RR] = "rr",
	[SCHED_FAIR] = "fair",
};

/** sched_policy_name() - a policy's name, as it is shown */
const char *sched_policy_name(enum sched_policy policy)
{
	return names[policy];
}

/**
 * sched_policy_find() - a policy by its name, ours or XSched's, in letters of any size
 * @name: the name
 *
 * Return: &enum sched_policy; -1: there is none
 */
int sched_policy_find(const char *name)
{
	/* What XSched calls partition of processes and completely fair is one thing here: time in proportion to weights. */
	static const struct {
		const char *name;
		enum sched_policy policy;
	} others[] = {
		{ "round-robin", SCHED_RR }, { "pup", SCHED_FAIR }, { "cfs", SCHED_FAIR },
	};
	size_t i;

	for (i = 0; i < SCHED_NR_POLICIES; i++)
		if (!strcasecmp(name, names[i]))
			return (int)i;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcasecmp(name, others[i].name))
			return (int)others[i].policy;
	return -1;
}

/** sched_policy_is_xscheds() - is it a policy of XSched 1.2 that is not here? For messages. */
bool sched_policy_is_xscheds(const char *name)
{
	static const char *const theirs[] = { "hhpf", "chpf", "up", "spup", "kedf", "lax", "awf", "mlfq" };
	size_t i;

	for (i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
		if (!strcasecmp(name, theirs[i]))
			return true;
	return false;
}

// SPDX-License-Identifier: MIT
/*
 * sched.c - the policies of gpreemptd
 *
 * Under all of them but SCHED_HPF one client has the device at a time: time is then what it gets, whatever its kernels occupy. A client
 * without work is never told to leave: nothing is gained by it, and its next packet would find it gone.
 */
#include "sched.h"

#include <strings.h>

/* Time since the last look, to those who had the device. */
static void account(const struct sched *s, struct sched_client *const *clients, size_t nr, uint64_t now_ns)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		struct sched_client *c = clients[i];

		if (!c->ran || !s->looked_ns)
			continue;
		c->ran_ns += now_ns - s->looked_ns;
		c->virtual_ns += (now_ns - s->looked_ns) * SCHED_WEIGHT_NORMAL / c->weight;
	}
}

/*
 * Time without work is no credit: a client that comes back starts where the one is that is furthest
 * behind.
 */
static void begin(struct sched_client *client, struct sched_client *const *clients, size_t nr, uint64_t now_ns)
{
	uint64_t least_ns = SCHED_NEVER;
	size_t i;

	client->since_ns = now_ns;
	for (i = 0; i < nr; i++)
		if (clients[i]->wants && clients[i]->wanted && clients[i]->virtual_ns < least_ns)
			least_ns = clients[i]->virtual_ns;
	if (least_ns != SCHED_NEVER && client->virtual_ns < least_ns)
		client->virtual_ns = least_ns;
}

static bool comes_before(const struct sched *s, const struct sched_client *a, const struct sched_client *b)
{
	switch (s->policy) {
	case SCHED_FIFO:
		return a->since_ns < b->since_ns;
	case SCHED_FAIR:
		return a->virtual_ns < b->virtual_ns;
	default:
		return false;
	}
}

/* From the one after whose turn it was, so that it is the last to be chosen among equals. */
static const struct sched_client *choose(const struct sched *s, struct sched_client *const *clients, size_t nr)
{
	const struct sched_client *best = NULL;
	size_t i, first = 0;

	if (s->policy != SCHED_FIFO)
		for (i = 0; i < nr; i++)
			if (clients[i] == s->turn)
				first = i + 1;
	for (i = 0; i < nr; i++) {
		const struct sched_client *c = clients[(first + i) % nr];

		if (c->wants && (!best || comes_before(s, c, best)))
			best = c;
	}
	return best;
}

static bool turn_is_over(const struct sched *s, uint64_t now_ns)
{
	return !s->turn || !s->turn->wants || s->policy == SCHED_FIFO || now_ns - s->turn_began_ns >= s->slice_ns;
}

/* Returns when the turn ends. */
static uint64_t take_turns(struct sched *s, struct sched_client *const *clients, size_t nr, uint64_t now_ns)
{
	bool others = false;
	size_t i;

	if (turn_is_over(s, now_ns)) {
		s->turn = choose(s, clients, nr);
		s->turn_began_ns = now_ns;
	}
	for (i = 0; i < nr; i++) {
		clients[i]->off = clients[i]->wants && clients[i] != s->turn;
		others |= clients[i]->off;
	}
	return others && s->policy != SCHED_FIFO ? s->turn_began_ns + s->slice_ns - now_ns : SCHED_NEVER;
}

static void highest_first(struct sched *s, struct sched_client *const *clients, size_t nr)
{
	const struct sched_client *highest = NULL;
	size_t i;

	s->turn = NULL;
	for (i = 0; i < nr; i++)
		if (clients[i]->wants && (!highest || clients[i]->priority > highest->priority))
			highest = clients[i];
	for (i = 0; i < nr; i++)
		clients[i]->off = clients[i]->wants && clients[i]->priority < highest->priority;
}

/**
 * sched_look() - who has to be off the device from now on
 * @s: the node
 * @clients: all of them, always in the same order; what is marked as in is up to date
 * @nr: their number
 * @now_ns: the time, which never goes back
 *
 * Sets @off of each client.
 *
 * Return: after how many nanoseconds to look again although nothing has changed; SCHED_NEVER
 */
uint64_t sched_look(struct sched *s, struct sched_client *const *clients, size_t nr, uint64_t now_ns)
{
	uint64_t next_ns = SCHED_NEVER;
	size_t i;

	account(s, clients, nr, now_ns);
	for (i = 0; i < nr; i++)
		if (clients[i]->wants && !clients[i]->wanted)
			begin(clients[i], clients, nr, now_ns);
	if (s->policy == SCHED_HPF)
		highest_first(s, clients, nr);
	else
		next_ns = take_turns(s, clients, nr, now_ns);
	for (i = 0; i < nr; i++) {
		clients[i]->wanted = clients[i]->wants;
		clients[i]->ran = clients[i]->wants && (!clients[i]->off || clients[i]->relief);
	}
	s->looked_ns = now_ns;
	return next_ns;
}

/**
 * sched_forget() - a client goes
 * @s: the node
 * @client: not in the next look any more
 */
void sched_forget(struct sched *s, const struct sched_client *client)
{
	if (s->turn == client)
		s->turn = NULL;
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

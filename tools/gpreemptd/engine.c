// SPDX-License-Identifier: MIT
/*
 * engine.c - looks at the queues of the processes that the file names, lets the policy decide, holds and gives back
 *
 * The kernel tells what becomes of queues, not that work comes or is done: that is looked for, as often as it can matter. A process that is
 * held counts as one with work, since only one with work is ever taken off. A hold is of a process on a node, so that it costs one pass of
 * the hardware, whatever number of queues it has. What is decided about is a party: that, or a job. A job has work while one of its processes
 * has some, for the others wait for that one; off the device are those that work.
 */
#include "gpreemptd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Two that have worked within this time may meet again at any moment. */
#define RECENT_NS	NS_PER_S
/* While no two processes have queues. */
#define SCAN_NS		(50 * NS_PER_MS)
/*
 * One that worked is believed to for so long: a runlist takes all waves off and brings them back a moment later, and the host needs one to
 * submit the next kernel. The kernel's scheduler is as patient with queues of which it cannot know.
 */
#define LINGER_NS	(2 * NS_PER_MS)
/* A process that the file names is noticed within this time. */
#define SEARCH_NS	NS_PER_S
/* A process that could not be held is tried again after this. */
#define RETRY_NS	NS_PER_S

static struct process *engine_find(const struct engine *e, pid_t pid)
{
	size_t i;

	for (i = 0; i < e->nr_processes; i++)
		if (e->processes[i]->pid == pid)
			return e->processes[i];
	return NULL;
}

static int connect_kernel(struct engine *e)
{
	int error, flags;

	if (e->g)
		return 0;
	error = gpreempt_open(&e->g);
	if (error)
		return error;
	flags = fcntl(gpreempt_fd(e->g), F_GETFL);
	if (flags < 0 || fcntl(gpreempt_fd(e->g), F_SETFL, flags | O_NONBLOCK)) {
		error = -errno;
		gpreempt_close(e->g);
		e->g = NULL;
	}
	return error;
}

/* What is held ends with the descriptor. */
static void disconnect_kernel(struct engine *e)
{
	gpreempt_close(e->g);
	e->g = NULL;
}

static void give_back(struct engine *e, struct client *c)
{
	struct gpreempt_target target = gpreempt_target_process(c->process->pid, c->gpu_id);
	int nr;

	if (!c->held)
		return;
	nr = gpreempt_resume(e->g, &target);
	/* Whose queues are gone is held no more. */
	if (nr < 0 && nr != -ESRCH && nr != -ENOENT)
		say("pid %d gpu %u: resume: %s", c->process->pid, c->gpu_id, strerror(-nr));
	c->held = false;
}

static void drop_client(struct node *node, size_t i)
{
	free(node->clients[i]);
	node->nr_clients--;
	memmove(&node->clients[i], &node->clients[i + 1], (node->nr_clients - i) * sizeof(node->clients[0]));
}

static void drop_node(struct engine *e, size_t i)
{
	free(e->nodes[i]);
	e->nr_nodes--;
	memmove(&e->nodes[i], &e->nodes[i + 1], (e->nr_nodes - i) * sizeof(e->nodes[0]));
}

/* The policy's part comes first in it. */
static struct party *party_at(const struct engine *e, size_t i)
{
	return (struct party *)e->parties[i];
}

static void drop_party(struct engine *e, size_t i)
{
	free(party_at(e, i));
	e->nr_parties--;
	memmove(&e->parties[i], &e->parties[i + 1], (e->nr_parties - i) * sizeof(e->parties[0]));
}

/* It is scheduled no more: what is held of it is given back. */
static void remove_process(struct engine *e, size_t nr)
{
	struct process *process = e->processes[nr];
	size_t i, k;

	for (i = 0; i < e->nr_nodes; i++) {
		struct node *node = e->nodes[i];

		for (k = node->nr_clients; k-- > 0;) {
			if (node->clients[k]->process != process)
				continue;
			give_back(e, node->clients[k]);
			drop_client(node, k);
		}
	}
	e->nr_processes--;
	memmove(&e->processes[nr], &e->processes[nr + 1], (e->nr_processes - nr) * sizeof(e->processes[0]));
	free(process);
}

/* A process that fits, or what the file says of it now. */
static void take_process(struct engine *e, const struct process *found)
{
	struct process *process = engine_find(e, found->pid);

	if (!process) {
		if (e->nr_processes == MAX_PROCESSES) {
			if (!e->full)
				say("more than %d processes fit; the others are left alone", MAX_PROCESSES);
			e->full = true;
			return;
		}
		process = calloc(1, sizeof(*process));
		if (!process)
			return;
		e->processes[e->nr_processes++] = process;
	}
	*process = *found;
	process->named = true;
}

/* Which processes have queues and are named? Another one may have come, or have a pid that an ended one had. */
static void search(struct engine *e, const struct gpreempt_queue_info *queues, int nr)
{
	struct process found;
	size_t n;
	int i;

	for (n = 0; n < e->nr_processes; n++)
		e->processes[n]->named = false;
	for (i = 0; i < nr; i++)
		if ((!i || queues[i].pid != queues[i - 1].pid) && config_match(e->config, queues[i].pid, &found))
			take_process(e, &found);
	for (n = e->nr_processes; n-- > 0;)
		if (!e->processes[n]->named)
			remove_process(e, n);
}

/** engine_exit() - give back all that is held, and forget the rest */
void engine_exit(struct engine *e)
{
	while (e->nr_processes)
		remove_process(e, 0);
	while (e->nr_nodes)
		drop_node(e, 0);
	while (e->nr_parties)
		drop_party(e, 0);
	free(e->nodes);
	free(e->parties);
	e->nodes = NULL;
	e->parties = NULL;
	disconnect_kernel(e);
}

static struct node *node_of(struct engine *e, uint32_t gpu_id)
{
	struct node **grown, *node;
	size_t i;

	for (i = 0; i < e->nr_nodes; i++)
		if (e->nodes[i]->gpu_id == gpu_id)
			return e->nodes[i];
	if (e->nr_nodes == SCHED_MAX_NODES)
		return NULL;
	grown = realloc(e->nodes, (e->nr_nodes + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	e->nodes = grown;
	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	node->gpu_id = gpu_id;
	e->nodes[e->nr_nodes++] = node;
	return node;
}

static struct client *client_of(struct node *node, struct process *process)
{
	struct client *c;
	size_t i;

	for (i = 0; i < node->nr_clients; i++)
		if (node->clients[i]->process == process)
			return node->clients[i];
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->process = process;
	c->gpu_id = node->gpu_id;
	node->clients[node->nr_clients++] = c;
	return c;
}

static void take_in(struct seen *seen, const struct gpreempt_queue_info *q)
{
	bool held = q->flags & GPREEMPT_QUEUE_HELD;

	seen->queues++;
	seen->held |= held;
	/* The kernel would wait for it in vain. */
	seen->fixed |= q->flags & (GPREEMPT_QUEUE_EXEMPT | GPREEMPT_QUEUE_DEBUGGED);
	if (q->state == GPREEMPT_QUEUE_PREEMPTED) {
		seen->off = true;
	} else if (q->state == GPREEMPT_QUEUE_ACTIVE && !(q->flags & (GPREEMPT_QUEUE_BLOCKED | GPREEMPT_QUEUE_EVICTED))) {
		seen->works = true;
		seen->relieved |= held;
		seen->loose |= !held;
	}
}

/* NULL: no memory. */
static struct party *party_of(struct engine *e, const struct process *process)
{
	struct sched_client **grown;
	struct party *party;
	size_t i;

	for (i = 0; process->job && i < e->nr_parties; i++)
		if (party_at(e, i)->job == process->job && party_at(e, i)->uid == process->uid)
			return party_at(e, i);
	grown = realloc(e->parties, (e->nr_parties + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	e->parties = grown;
	party = calloc(1, sizeof(*party));
	if (!party)
		return NULL;
	party->job = process->job;
	party->uid = process->uid;
	e->parties[e->nr_parties++] = &party->sched;
	return party;
}

/* Into its job, or out of it. */
static void join(struct engine *e, struct client *c)
{
	struct party *party;

	if (c->party && c->party->job == c->process->job && c->party->uid == c->process->uid)
		return;
	party = party_of(e, c->process);
	if (party)
		c->party = party;
}

/* What was found. */
static void conclude(struct client *c, uint64_t now_ns)
{
	bool was_idle = c->idle;

	/* Another process has ended it, or scheduling was switched off. */
	if (!c->seen.held)
		c->held = false;
	/*
	 * A process that only another holder keeps off need not be waited for. One that was given
	 * back is off until the kernel's next pass.
	 */
	c->idle = !c->seen.works && !(c->held && c->seen.off);
	if (!c->idle)
		c->active_ns = now_ns;
	/* Looks may be further apart than that: one that falls into a runlist proves nothing. */
	c->wants = c->active_ns && (now_ns - c->active_ns < LINGER_NS || (!was_idle && !c->seen.off));
	c->relief = c->held && c->seen.relieved;
}

/*
 * A client's part in what the policy is told of its party. The least of the processes' priorities and weights: a user may put a process
 * beside one to which an administrator has given more.
 */
static void contribute(const struct client *c, size_t node)
{
	struct party *party = c->party;
	struct sched_client *s = &party->sched;
	bool first = !s->nodes;

	s->nodes |= 1ull << node;
	s->wants |= c->wants;
	s->relief |= c->relief;
	if (first || c->process->priority < s->priority)
		s->priority = c->process->priority;
	if (first || c->process->weight < s->weight)
		s->weight = c->process->weight;
	if (c->active_ns > party->active_ns)
		party->active_ns = c->active_ns;
}

/* Those without a client go. */
static void sum_up(struct engine *e)
{
	size_t i, k;

	for (i = 0; i < e->nr_parties; i++) {
		e->parties[i]->nodes = 0;
		e->parties[i]->wants = false;
		e->parties[i]->relief = false;
	}
	for (i = 0; i < e->nr_nodes; i++)
		for (k = 0; k < e->nodes[i]->nr_clients; k++)
			contribute(e->nodes[i]->clients[k], i);
	for (i = e->nr_parties; i-- > 0;)
		if (!e->parties[i]->nodes)
			drop_party(e, i);
}

static void take_in_all(struct engine *e, const struct gpreempt_queue_info *queues, const uint64_t *jobs, int nr)
{
	size_t n, k;
	int i;

	for (n = 0; n < e->nr_processes; n++)
		e->processes[n]->job = 0;
	for (n = 0; n < e->nr_nodes; n++)
		for (k = 0; k < e->nodes[n]->nr_clients; k++)
			e->nodes[n]->clients[k]->seen = (struct seen){ 0 };
	for (i = 0; i < nr; i++) {
		struct process *process = engine_find(e, queues[i].pid);
		struct node *node = process ? node_of(e, queues[i].gpu_id) : NULL;
		struct client *c = node ? client_of(node, process) : NULL;

		if (!c)
			continue;
		process->job = jobs[i];
		join(e, c);
		take_in(&c->seen, &queues[i]);
	}
}

static int look_at_queues(struct engine *e, uint64_t now_ns)
{
	struct gpreempt_target all = gpreempt_target_all();
	struct gpreempt_queue_info *queues;
	uint64_t *jobs;
	size_t n, k;
	int nr = gpreempt_list_jobs(e->g, &all, &queues, &jobs);

	if (nr < 0)
		return nr;
	if (now_ns >= e->search_ns) {
		search(e, queues, nr);
		e->search_ns = now_ns + SEARCH_NS;
	}
	take_in_all(e, queues, jobs, nr);
	free(queues);
	free(jobs);
	for (n = e->nr_nodes; n-- > 0;) {
		struct node *node = e->nodes[n];

		for (k = node->nr_clients; k-- > 0;) {
			if (node->clients[k]->seen.queues && node->clients[k]->party)
				conclude(node->clients[k], now_ns);
			else
				drop_client(node, k);
		}
		if (!node->nr_clients)
			drop_node(e, n);
	}
	sum_up(e);
	return 0;
}

/* Has it work, and is its party to be off? */
static bool is_to_leave(const struct client *c)
{
	return c->party->sched.off && c->wants;
}

/* It is to be off the device and is not, or not with all queues that work. */
static bool has_to_be_held(const struct client *c, uint64_t now_ns)
{
	return is_to_leave(c) && !c->seen.fixed && (!c->held || c->seen.loose) && now_ns >= c->retry_ns;
}

static void hold(struct engine *e, struct client *c, uint64_t now_ns)
{
	struct gpreempt_target target = gpreempt_target_process(c->process->pid, c->gpu_id);
	int nr = gpreempt_preempt(e->g, &target, (unsigned int)e->config->values[TIMEOUT_MS], 0);
	int error = nr < 0 ? nr : 0;

	/* Late: the hold stays, and counts when the queues are saved. */
	if (nr >= 0 || nr == -ETIME || nr == -EINTR)
		c->held = true;
	/* It ended, or its last queue did. */
	if (error == -ESRCH || error == -ENOENT || error == -EINTR)
		error = 0;
	if (error) {
		c->retry_ns = now_ns + RETRY_NS;
		if (error != c->error)
			say("pid %d gpu %u: it cannot be taken off the device: %s; it runs beside the others", c->process->pid, c->gpu_id,
			    error == -ETIME ? "not saved in time" : strerror(-error));
	}
	c->error = error;
}

/* First off, then on, on all nodes: otherwise two would be on a device for a moment, or a job on one and not yet on another. */
static void act(struct engine *e, uint64_t now_ns)
{
	size_t n, i;

	for (n = 0; n < e->nr_nodes; n++)
		for (i = 0; i < e->nodes[n]->nr_clients; i++)
			if (has_to_be_held(e->nodes[n]->clients[i], now_ns))
				hold(e, e->nodes[n]->clients[i], now_ns);
	for (n = 0; n < e->nr_nodes; n++)
		for (i = 0; i < e->nodes[n]->nr_clients; i++)
			if (!is_to_leave(e->nodes[n]->clients[i]))
				give_back(e, e->nodes[n]->clients[i]);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* How soon a change can matter: is there a node with two parties, or with two that have worked? */
static uint64_t pace(const struct engine *e, uint64_t now_ns)
{
	uint64_t all = 0, shared = 0, recent = 0, contested = 0;
	size_t i;

	for (i = 0; i < e->nr_parties; i++) {
		const struct party *party = party_at(e, i);

		shared |= all & party->sched.nodes;
		all |= party->sched.nodes;
		if (!party->active_ns || now_ns - party->active_ns >= RECENT_NS)
			continue;
		contested |= recent & party->sched.nodes;
		recent |= party->sched.nodes;
	}
	if (contested)
		return e->config->values[POLL_US] * NS_PER_US;
	return shared ? e->config->values[INTERVAL_MS] * NS_PER_MS : SCHED_NEVER;
}

static uint64_t decide(struct engine *e, uint64_t now_ns)
{
	uint64_t next_ns;

	e->sched.policy = e->config->policy;
	e->sched.slice_ns = e->config->values[SLICE_US] * NS_PER_US;
	next_ns = sched_look(&e->sched, e->parties, e->nr_parties, now_ns);
	act(e, now_ns);
	return earlier(next_ns, pace(e, now_ns));
}

/**
 * engine_look() - see which processes work, decide, act
 * @e: the engine
 * @now_ns: CLOCK_MONOTONIC
 *
 * Return: after how many nanoseconds to look again; SCHED_NEVER: not before the file names a process
 */
uint64_t engine_look(struct engine *e, uint64_t now_ns)
{
	uint64_t next_ns = SCHED_NEVER;
	int error;

	if (!e->config->nr_rules && !e->nr_processes)
		return SCHED_NEVER;
	e->looked_ns = now_ns;
	error = connect_kernel(e);
	if (!error)
		error = look_at_queues(e, now_ns);
	if (error && error != e->error)
		say("queues cannot be listed: %s", strerror(-error));
	e->error = error;
	if (!error)
		next_ns = decide(e, now_ns);
	if (!e->nr_processes)
		disconnect_kernel(e);
	/* A process that is alone is in no other's way, and need not be looked for. */
	return earlier(next_ns, e->nr_processes < 2 ? SEARCH_NS : SCAN_NS);
}

/**
 * engine_events() - take what the kernel has told
 * @e: the engine
 *
 * Return: is it worth a look?
 */
bool engine_events(struct engine *e)
{
	struct gpreempt_event events[64];
	bool look = false;
	int nr, i;

	while (e->g && (nr = gpreempt_read_events(e->g, events, 64)) > 0) {
		for (i = 0; i < nr; i++) {
			bool ours = events[i].pid && engine_find(e, events[i].pid);

			look |= ours || events[i].missed;
			if (events[i].type != GPREEMPT_EVENT_FAILED)
				continue;
			look = true;
			say("gpu %u: preempting failed: %s", events[i].gpu_id, strerror((int)(events[i].value < 0 ? -events[i].value : events[i].value)));
		}
	}
	return look;
}

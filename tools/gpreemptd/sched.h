/* SPDX-License-Identifier: MIT */
/*
 * sched.h - the policies of gpreemptd: who has to be off the device
 *
 * Pure logic: no system calls, no allocation, time is an argument. One struct sched for all nodes. A client is a process on a node, or all
 * processes of a job on all of its nodes: it has all of them or none.
 */
#ifndef SCHED_H
#define SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHED_WEIGHT_NORMAL	100
#define SCHED_WEIGHT_MAX	10000
#define SCHED_NEVER		UINT64_MAX
#define SCHED_MAX_NODES		64	/* a bit each */

/**
 * enum sched_policy - who has a node
 * @SCHED_HPF: highest priority first; equals share the device
 * @SCHED_FIFO: the client that began to work first has the device until it has no work
 * @SCHED_RR: by turns of a slice each
 * @SCHED_FAIR: by turns, time in proportion to weights
 */
enum sched_policy {
	SCHED_HPF,
	SCHED_FIFO,
	SCHED_RR,
	SCHED_FAIR,
	SCHED_NR_POLICIES,
};

/**
 * struct sched_client - a process on a node, or a job
 * @nodes: in: a bit for each of its nodes, of which the caller says what it means in one look
 * @priority: in: larger is more urgent
 * @weight: in: 1..SCHED_WEIGHT_MAX
 * @wants: in: it has work, on a device or held
 * @relief: in: it runs although it was to be off
 * @off: out: it has to be off its nodes
 * @since_ns: when it began to want, the last time
 * @waits_ns: since when it has waited for its turn, under SCHED_RR and SCHED_FAIR
 * @ends_ns: end of its turn; 0: it has none
 * @virtual_ns: time that it had its nodes, over its weight, less that of whoever of its neighbours has had least: under SCHED_FAIR
 * @wanted: @wants of the last look
 * @ran: it had its nodes since the last look
 */
struct sched_client {
	uint64_t nodes;
	int priority;
	unsigned int weight;
	bool wants;
	bool relief;
	bool off;
	uint64_t since_ns;
	uint64_t waits_ns;
	uint64_t ends_ns;
	uint64_t virtual_ns;
	bool wanted;
	bool ran;
};

/**
 * struct sched - all nodes
 * @policy: how it decides; may be changed between two looks
 * @slice_ns: a turn of SCHED_RR and SCHED_FAIR
 * @looked_ns: time of the last look; 0: none yet
 */
struct sched {
	enum sched_policy policy;
	uint64_t slice_ns;
	uint64_t looked_ns;
};

uint64_t sched_look(struct sched *s, struct sched_client **clients, size_t nr, uint64_t now_ns);

const char *sched_policy_name(enum sched_policy policy);
int sched_policy_find(const char *name);
bool sched_policy_is_xscheds(const char *name);

#endif /* SCHED_H */

/* SPDX-License-Identifier: MIT */
/*
 * sched.h - the policies of gpreemptd: who has to be off the device
 *
 * Pure logic: no system calls, no allocation, time is an argument. One struct sched per node; its clients are the processes that have queues
 * there.
 */
#ifndef SCHED_H
#define SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHED_WEIGHT_NORMAL	100
#define SCHED_WEIGHT_MAX	10000
#define SCHED_NEVER		UINT64_MAX

/**
 * enum sched_policy - how a node decides
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
 * struct sched_client - a process on a node
 * @priority: in: larger is more urgent
 * @weight: in: 1..SCHED_WEIGHT_MAX
 * @wants: in: it has work, on the device or held
 * @relief: in: it runs although it was to be off
 * @off: out: it has to be off the device
 * @since_ns: when it began to want, the last time
 * @ran_ns: time on the device with work
 * @virtual_ns: the same over its weight, under SCHED_FAIR
 * @wanted: @wants of the last look
 * @ran: it had the device since the last look
 */
struct sched_client {
	int priority;
	unsigned int weight;
	bool wants;
	bool relief;
	bool off;
	uint64_t since_ns;
	uint64_t ran_ns;
	uint64_t virtual_ns;
	bool wanted;
	bool ran;
};

/**
 * struct sched - a node
 * @policy: how it decides; may be changed between two looks
 * @slice_ns: a turn of SCHED_RR and SCHED_FAIR
 * @looked_ns: time of the last look; 0: none yet
 * @turn: whose turn it is; NULL: none's
 * @turn_began_ns: since when
 */
struct sched {
	enum sched_policy policy;
	uint64_t slice_ns;
	uint64_t looked_ns;
	const struct sched_client *turn;
	uint64_t turn_began_ns;
};

uint64_t sched_look(struct sched *s, struct sched_client *const *clients, size_t nr, uint64_t now_ns);
void sched_forget(struct sched *s, const struct sched_client *client);

const char *sched_policy_name(enum sched_policy policy);
int sched_policy_find(const char *name);
bool sched_policy_is_xscheds(const char *name);

#endif /* SCHED_H */

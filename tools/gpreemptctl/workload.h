/* SPDX-License-Identifier: MIT */
/* workload.h - queues as an operator counts them: by job, user and place, on each node */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <json-c/json.h>

#include "gpreempt.h"
#include "gpreemptctl.h"
#include "origin.h"
#include "table.h"

/**
 * struct member - a queue, and whose it is
 * @queue: what the scheduler knows of it
 * @job: id of its job; 0: it has none
 * @usage: what it has used; NULL: the module does not tell
 * @since: of it, what came since a look before; NULL: not known
 * @origin: where its process comes from
 */
struct member {
	const struct gpreempt_queue_info *queue;
	uint64_t job;
	const struct gpreempt_queue_usage *usage;
	const struct gpreempt_queue_usage *since;
	struct origin origin;
};

/**
 * struct workload - queues of one job, user and place on one node
 *
 * Two users may have jobs of one id, and the scheduler does not tell whose a job is. Queues of different users are therefore not added up.
 *
 * @job: id; 0: queues without a job
 * @uid: effective user of the processes; ~0: not known
 * @place: container, pod and Slurm step of the processes
 * @gpu_id: the node
 * @processes: how many have queues here
 * @queues: how many
 * @active: of them, those that may run and have work
 * @preempted: of them, those off the device
 * @priority: the highest effective priority
 * @pending: AQL packets or PM4 dwords that they have not read
 * @preempt_count: preemptions of these queues so far
 * @preempted_us: time that they spent off the device
 * @told: @usage is known
 * @usage: what these queues have used, added up
 */
struct workload {
	uint64_t job;
	uid_t uid;
	struct place place;
	uint32_t gpu_id;
	unsigned int processes;
	unsigned int queues;
	unsigned int active;
	unsigned int preempted;
	int priority;
	uint64_t pending;
	uint64_t preempt_count;
	uint64_t preempted_us;
	bool told;
	struct gpreempt_queue_usage usage;
};

struct member *find_members(const struct queue_list *list);
int find_workloads(const struct queue_list *list, struct workload **workloads);
int compare_workloads(const struct workload *a, const struct workload *b);
int new_workload_table(const struct options *o, const char *command, bool live, struct table **table);
void add_workload_row(struct table *t, const struct workload *w, int kind, uint64_t over_ns);
int new_queue_table(const struct options *o, const char *command, bool live, struct table **table);
void add_queue_row(struct table *t, const struct member *m, int kind, uint64_t over_ns);
uint64_t counted_since(uint64_t now, uint64_t before);
void add_usage(json_object *o, const struct gpreempt_queue_usage *usage);
json_object *json_of_workload(const struct workload *w);
void add_place(json_object *o, const struct place *place);
const char *slots_of(unsigned int gpu_id, char *buffer, size_t size);

#endif /* WORKLOAD_H */

/* SPDX-License-Identifier: MIT */
/* filter.h - what -p, -u, -g, -q, --job, --cgroup and --state leave of queues and events */
#ifndef FILTER_H
#define FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct gpreempt_node_info;
struct options;
struct queue_list;

/* So many may be named in one of these options. */
#define MOST_FILTERED	64

/**
 * struct filter - words of -u, --job and --state; of which none is named all pass
 * @uids: users
 * @nr_uids: their number
 * @jobs: ids of jobs
 * @nr_jobs: their number
 * @states: bits 1 << &enum gpreempt_queue_state
 */
struct filter {
	uid_t uids[MOST_FILTERED];
	unsigned int nr_uids;
	uint64_t jobs[MOST_FILTERED];
	unsigned int nr_jobs;
	unsigned int states;
};

/**
 * struct subject - what is shown or not
 * @pid: its process; 0: it has none
 * @uid: its user; ~0: not known
 * @gpu_id: its node
 * @queue_id: its queue
 * @job: its job; 0: none
 * @state: of its queue
 * @cgroup: its cgroup's path, if it is one; NULL: its process's counts
 */
struct subject {
	pid_t pid;
	uid_t uid;
	uint32_t gpu_id;
	uint32_t queue_id;
	uint64_t job;
	uint32_t state;
	const char *cgroup;
};

/* Room for what add_to_filter() says */
#define FILTER_WHY	256

bool add_to_filter(struct filter *f, unsigned int option, const char *words, char *why);
bool passes(const struct options *o, const struct subject *s);
void filter_queues(const struct options *o, struct queue_list *list);
/* Of lists, to who may not see all; what is said behind it */
#define OWN_ALONE	"own processes alone are shown"
#define ROOT_SEES_ALL	"as root (CAP_SYS_ADMIN) all is"

bool sees_all(void);
bool tell_what_is_hidden(const char *what);
bool node_state_is_told(const struct gpreempt_node_info *n, bool all);

#endif /* FILTER_H */

/* SPDX-License-Identifier: MIT */
/* gpreemptd.h - what the parts of gpreemptd share */
#ifndef GPREEMPTD_H
#define GPREEMPTD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpreempt.h"
#include "sched.h"

#define NS_PER_US	1000ull
#define NS_PER_MS	1000000ull
#define NS_PER_S	1000000000ull

/* Exit statuses, as those of gpreemptctl. */
enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NO_MODULE = 3,
	EXIT_DENIED = 4,
};

/* A user starts as many as it likes, and each is walked at each look. */
#define MAX_PROCESSES	256

/**
 * enum setting - numbers of the file; see @settings in config.c
 * @SLICE_US: a turn
 * @POLL_US: between two looks while two processes of a node have worked within the last second
 * @INTERVAL_MS: the same while two processes have queues on a node
 * @TIMEOUT_MS: how long to wait until a process is off the device
 */
enum setting {
	SLICE_US,
	POLL_US,
	INTERVAL_MS,
	TIMEOUT_MS,
	NR_SETTINGS,
};

/**
 * struct setting_range - what a setting may be
 * @name: its name
 * @least: lower bound
 * @most: upper bound
 * @normal: what it is at first
 */
struct setting_range {
	const char *name;
	uint64_t least;
	uint64_t most;
	uint64_t normal;
};

extern const struct setting_range settings[NR_SETTINGS];

/**
 * enum rule_kind - by what a line names processes
 * @RULE_EXE: the path of their program
 * @RULE_USER: their user
 * @RULE_CGROUP: a cgroup that they are in, or below
 * @RULE_PID: the one with this pid
 */
enum rule_kind {
	RULE_EXE,
	RULE_USER,
	RULE_CGROUP,
	RULE_PID,
};

/**
 * struct rule - a line about processes
 * @kind: by what it names them
 * @name: what the line has there. Allocated
 * @uid: of RULE_USER
 * @pid: of RULE_PID
 * @priority: of these processes
 * @weight: of these processes
 */
struct rule {
	enum rule_kind kind;
	char *name;
	uid_t uid;
	pid_t pid;
	int priority;
	unsigned int weight;
};

/**
 * struct config - what the file says
 * @proc: /proc, unless a test has one of its own
 * @normal_policy: when the file names none
 * @policy: of all nodes
 * @values: of the settings
 * @rules: in the order of the file: the first that fits counts
 * @nr_rules: their number
 */
struct config {
	const char *proc;
	enum sched_policy normal_policy;
	enum sched_policy policy;
	uint64_t values[NR_SETTINGS];
	struct rule *rules;
	size_t nr_rules;
};

struct process;

/**
 * struct seen - what a look found of a process on a node
 * @queues: queues it has there
 * @works: one of them works on the device
 * @relieved: one of them does although it is held
 * @loose: one of them does and is not held
 * @off: one of them is off the device
 * @held: one of them is held, by us or by another process
 * @fixed: one of them cannot be held: its process is exempt
 */
struct seen {
	unsigned int queues;
	bool works;
	bool relieved;
	bool loose;
	bool off;
	bool held;
	bool fixed;
};

/**
 * struct party - what is decided about as one: a process on a node, or a job on all of its nodes
 * @sched: what the policy knows of it
 * @job: id of the job; 0: it is none
 * @uid: the job's processes are this user's, for each user has ids of its own
 * @active_ns: when one of its processes was last seen to have work; 0: never
 */
struct party {
	struct sched_client sched;
	uint64_t job;
	uid_t uid;
	uint64_t active_ns;
};

/**
 * struct client - a process on a node
 * @party: what it belongs to
 * @process: the process
 * @gpu_id: the node
 * @seen: what the last look found
 * @active_ns: when it was last seen to have work; 0: never
 * @idle: the last look found none
 * @wants: it has work, on the device or held
 * @relief: it runs although we hold it
 * @held: we hold it
 * @retry_ns: it could not be held; not to be tried again before this
 * @error: why, negative errno; 0: it could
 */
struct client {
	struct party *party;
	struct process *process;
	uint32_t gpu_id;
	struct seen seen;
	uint64_t active_ns;
	bool idle;
	bool wants;
	bool relief;
	bool held;
	uint64_t retry_ns;
	int error;
};

/**
 * struct process - a process that is scheduled
 * @pid: its pid
 * @uid: its effective user
 * @priority: larger is more urgent
 * @weight: share under SCHED_FAIR
 * @job: id of its job, as the last look found it; 0: none, or it has no queue
 * @named: the last search found that it has queues and that the file names it
 */
struct process {
	pid_t pid;
	uid_t uid;
	int priority;
	unsigned int weight;
	uint64_t job;
	bool named;
};

/**
 * struct node - a node on which a scheduled process has queues
 * @gpu_id: which
 * @clients: by the order in which they were first seen
 * @nr_clients: their number
 */
struct node {
	uint32_t gpu_id;
	struct client *clients[MAX_PROCESSES];
	size_t nr_clients;
};

/**
 * struct engine - the scheduler
 * @config: what the file says
 * @sched: when it last decided
 * @g: the kernel's side; NULL while no process is scheduled: an open device keeps the driver loaded
 * @processes: those that have queues and that the file names
 * @nr_processes: their number
 * @nodes: where they have queues
 * @nr_nodes: their number
 * @parties: their clients', in the order in which the policy has brought them
 * @nr_parties: their number
 * @looked_ns: time of the last look
 * @search_ns: when to search for processes again; 0: at the next look
 * @full: that there are more processes than it schedules has been said
 * @error: of the last look, negative errno; 0
 */
struct engine {
	const struct config *config;
	struct sched sched;
	struct gpreempt *g;
	struct process *processes[MAX_PROCESSES];
	size_t nr_processes;
	struct node **nodes;
	size_t nr_nodes;
	struct sched_client **parties;
	size_t nr_parties;
	uint64_t looked_ns;
	uint64_t search_ns;
	bool full;
	int error;
};

/* engine.c */
void engine_exit(struct engine *e);
uint64_t engine_look(struct engine *e, uint64_t now_ns);
bool engine_events(struct engine *e);

/* config.c */
void config_init(struct config *c, const char *xsched);
void config_free(struct config *c);
bool config_read(struct config *c, const char *path, bool first);
bool config_match(const struct config *c, pid_t pid, struct process *process);

/* main.c */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* GPREEMPTD_H */

/* SPDX-License-Identifier: MIT */
/* gpreemptd.h - what the parts of gpreemptd share */
#ifndef GPREEMPTD_H
#define GPREEMPTD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <json-c/json.h>

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

/* Each has a descriptor and an entry in what poll() walks. */
#define MAX_PROCESSES	256

/**
 * enum setting - numbers that can be changed while it runs; see @settings in engine.c
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
 * @ran: it had the device since the last look
 * @ran_ns: time on the device with work
 * @held: we hold it
 * @retry_ns: it could not be held; not to be tried again before this
 * @error: why, negative errno; 0: it could
 * @holds: how often it was taken off the device
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
	bool ran;
	uint64_t ran_ns;
	bool held;
	uint64_t retry_ns;
	int error;
	uint64_t holds;
};

/**
 * struct process - a process that was registered
 * @pid: its pid
 * @pidfd: readable when it has ended
 * @uid: whose it is
 * @privileged: an administrator registered it
 * @priority: larger is more urgent
 * @weight: share under SCHED_FAIR
 * @job: id of its job, as the last look found it; 0: none, or it has no queue
 */
struct process {
	pid_t pid;
	int pidfd;
	uid_t uid;
	bool privileged;
	int priority;
	unsigned int weight;
	uint64_t job;
};

/**
 * struct node - a node on which a registered process has queues
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
 * @policy: of all nodes
 * @sched: when it last decided
 * @values: of the settings
 * @g: the kernel's side; NULL as long as no process is registered: an open device keeps the driver
 *	loaded
 * @processes: those registered
 * @nr_processes: their number
 * @nodes: where they have queues
 * @nr_nodes: their number
 * @parties: their clients', in the order in which the policy has brought them
 * @nr_parties: their number
 * @looked_ns: time of the last look
 * @looks: how many there were
 * @failures: FAILED events
 * @list_error: of the last look, negative errno; 0
 */
struct engine {
	enum sched_policy policy;
	struct sched sched;
	uint64_t values[NR_SETTINGS];
	struct gpreempt *g;
	struct process *processes[MAX_PROCESSES];
	size_t nr_processes;
	struct node **nodes;
	size_t nr_nodes;
	struct sched_client **parties;
	size_t nr_parties;
	uint64_t looked_ns;
	uint64_t looks;
	uint64_t failures;
	int list_error;
};

/* engine.c */
void engine_init(struct engine *e);
void engine_exit(struct engine *e);
struct process *engine_find(const struct engine *e, pid_t pid);
int engine_add(struct engine *e, const struct process *new);
void engine_remove(struct engine *e, struct process *process);
uint64_t engine_look(struct engine *e, uint64_t now_ns);
bool engine_events(struct engine *e);
int setting_find(const char *name);
bool setting_parse(enum setting setting, const char *text, uint64_t *value);

/* control.c */
#define MAX_CONNECTIONS	16
#define MAX_REQUEST	4096

/**
 * struct connection - a client of the socket
 * @fd: -1: none
 * @uid: the client's
 * @pid: who
 * @text: what has come so far
 * @length: of that
 */
struct connection {
	int fd;
	uid_t uid;
	pid_t pid;
	char text[MAX_REQUEST];
	size_t length;
};

int control_listen(const char *path);
void control_accept(int listener, struct connection *connections);
bool control_read(struct engine *e, struct connection *c);
json_object *control_answer(struct engine *e, uid_t uid, pid_t pid, const char *request);

/* main.c */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* GPREEMPTD_H */

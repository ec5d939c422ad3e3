/* SPDX-License-Identifier: MIT */
/* gpreemptctl.h - what the commands of gpreemptctl share */
#ifndef GPREEMPTCTL_H
#define GPREEMPTCTL_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include <json-c/json.h>

#include "filter.h"
#include "gpreempt.h"
#include "parse.h"
#include "verdict.h"

/* Exit statuses, as the manual page lists them. */
enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NO_MODULE = 3,
	EXIT_DENIED = 4,
	EXIT_UNRESPONSIVE = 5,
	EXIT_UNKNOWN = 6,
	EXIT_NOT_RUNNABLE = 126,
	EXIT_NO_PROGRAM = 127,
};

/* Of the JSON output; counts incompatible changes. */
#define SCHEMA_VERSION	1

/* Options, as bits: which were given, which a command takes. */
enum {
	GIVEN_PID		= 1 << 0,
	GIVEN_GPU		= 1 << 1,
	GIVEN_QUEUE		= 1 << 2,
	GIVEN_CGROUP		= 1 << 3,
	GIVEN_PRIORITY		= 1 << 4,
	GIVEN_FOR		= 1 << 5,
	GIVEN_INTERVAL		= 1 << 6,
	GIVEN_UNBOUNDED		= 1 << 7,
	GIVEN_FOLLOW		= 1 << 8,
	GIVEN_CHECK		= 1 << 9,
	GIVEN_COUNT		= 1 << 10,
	GIVEN_JSON		= 1 << 11,
	GIVEN_PROMETHEUS	= 1 << 12,
	GIVEN_BOUND		= 1 << 13,
	GIVEN_PREEMPT		= 1 << 14,
	GIVEN_TREE		= 1 << 15,
	GIVEN_STAY		= 1 << 16,
	GIVEN_BY		= 1 << 17,
	GIVEN_CSV		= 1 << 18,
	GIVEN_SINCE		= 1 << 19,
	GIVEN_REPORT		= 1 << 20,
	GIVEN_USER		= 1 << 21,
	GIVEN_JOB		= 1 << 22,
	GIVEN_STATE		= 1 << 23,
	GIVEN_COLUMNS		= 1 << 24,
	GIVEN_SORT		= 1 << 25,
	GIVEN_NO_HEADERS	= 1 << 26,
	GIVEN_BATCH		= 1 << 27,
};

/**
 * struct options - what the command line says beside the command's own words
 * @given: bits GIVEN_*; what was not given is 0
 * @json: --json
 * @prometheus: --prometheus
 * @pid: -p, the first
 * @pids: all of them
 * @nr_pids: their number
 * @taken: a number behind them that was taken for a word of the command's; 0: none was
 * @gpu_id: -g, the first
 * @gpu_ids: all of them
 * @nr_gpus: their number
 * @queue_id: -q
 * @cgroup: --cgroup, the first
 * @cgroups: all of them
 * @nr_cgroups: their number
 * @priority: --priority, --class
 * @for_s: --for
 * @interval_s: --interval
 * @unbounded: --unbounded
 * @follow: --follow
 * @check: --check
 * @count: --count; 0: without end
 * @bound_ms: --bound-ms
 * @preempt: --preempt
 * @tree: --tree
 * @stay: --stay
 * @by_job: --by job
 * @csv: --csv
 * @since: --since
 * @report: --report
 * @filter: all that -u, --job and --state name
 * @columns: -o; NULL: as usual
 * @sort: --sort; NULL: as usual
 * @no_headers: --no-headers
 * @batch: --batch
 * @help: --help
 * @version: --version
 * @args: the command's words
 * @nr_args: their number
 */
struct options {
	unsigned int given;
	bool json;
	bool prometheus;
	pid_t pid;
	pid_t *pids;
	int nr_pids;
	pid_t taken;
	unsigned int gpu_id;
	unsigned int *gpu_ids;
	int nr_gpus;
	unsigned int queue_id;
	const char *cgroup;
	const char **cgroups;
	int nr_cgroups;
	int priority;
	double for_s;
	double interval_s;
	bool unbounded;
	bool follow;
	bool check;
	unsigned long count;
	unsigned int bound_ms;
	bool preempt;
	bool tree;
	bool stay;
	bool by_job;
	bool csv;
	const char *since;
	const char *report;
	struct filter filter;
	const char *columns;
	const char *sort;
	bool no_headers;
	bool batch;
	bool help;
	bool version;
	char **args;
	int nr_args;
};

/**
 * struct queue_list - queues, each with what is known of it
 * @queues: what the scheduler knows of them
 * @jobs: ids of their jobs; 0: none
 * @usage: what they have used; NULL: the module does not tell
 * @nr: how many
 */
struct queue_list {
	struct gpreempt_queue_info *queues;
	uint64_t *jobs;
	struct gpreempt_queue_usage *usage;
	int nr;
};

/* fail.c: messages go to stderr with the program's name in front; the functions return what they were given or found */
int fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
int fail_errno(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
int fail_system(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
int open_scheduler(struct gpreempt **g);
void name_target(const char *name);

/* target.c: the queues that -p, -g, -q and --cgroup name */
typedef int (*target_fn)(struct gpreempt *g, const struct options *o, const struct gpreempt_target *target, void *data);
int each_target(struct gpreempt *g, const struct options *o, target_fn fn, void *data);
int refuse_ambiguous(struct gpreempt *g, const struct options *o);
int open_cgroup(const char *name);
bool cgroups_are_v2(void);
int get_target(const struct options *o, struct gpreempt_target *target);
void put_target(const struct gpreempt_target *target);
const char *command_of(pid_t pid, char *buffer, size_t size);

/* tree.c: a process and those below it, as the kernel lets them inherit */
bool is_below(pid_t pid, pid_t above);
int set_tree(struct gpreempt *g, pid_t pid, int priority);
int run_tree(struct gpreempt *g, int priority, char **args);

/* fits.c: reservations */
bool parse_reserved(const char *word, const char *name, unsigned long long *us);
bool knows_reservations(struct gpreempt *g);
int say_what_is_missing(struct gpreempt *g, const struct gpreempt_target *target, unsigned long long runtime_us, unsigned long long period_us);

/* list.c */
int list_queues(const struct options *o, const char *command, struct queue_list *list);
void free_queues(struct queue_list *list);
int list_nodes(const char *command, struct gpreempt_info *info, struct gpreempt_node_info **nodes, int *nr);

/* process.c */
pid_t start_child(char **args, const int *gate);
void pass_signals_to(pid_t pid);
int wait_for_child(pid_t pid);
void block_signals(void);
int wait_for_signal(double seconds);

/* sysfs.c: text is without its newline; sizes include the terminating NUL */
#define NODES		"/sys/class/kfd/kfd/gpreempt"
/* KFD's own of each process, by its pid in the first namespace */
#define PROCESSES	"/sys/class/kfd/kfd/proc"
typedef int (*attribute_fn)(const char *name, const char *value, void *arg);
void how_to_open(char *text, size_t size);
int read_text(const char *path, char *buffer, size_t size);
int write_text(const char *path, const char *text);
int node_attribute(unsigned int gpu_id, const char *name, char *buffer, size_t size);
int node_attributes(unsigned int gpu_id, const char *directory, attribute_fn fn, void *arg);
uint64_t ring_bytes(const struct gpreempt_queue_info *q);

/**
 * struct identity - names of a node's device outside of KFD; what is not known is empty
 * @node: number of the node in KFD's topology; -1: not known
 * @render_minor: N of /dev/dri/renderDN; 0: not known
 * @bdf: PCI address, as in /sys/bus/pci/devices
 * @partition: number of the partition, where a device has more than one
 * @unique_id: of the chip, as in amdgpu's file of that name
 * @uuid: the same as AMD SMI writes it
 * @serial_number: of the board
 * @name: what it is sold as, by libdrm's table or the board; else the name of its instruction set
 * @slots: compute queues that may be mapped at a time, on each XCC
 */
struct identity {
	int node;
	unsigned int render_minor;
	char bdf[32];
	unsigned int partition;
	char unique_id[32];
	char uuid[48];
	char serial_number[128];
	char name[128];
	unsigned int slots;
};

/* identity.c */
#define TOPOLOGY	"/sys/class/kfd/kfd/topology/nodes"
bool topology_of(const char *node, unsigned int *gpu_id, unsigned int *slots);
void identify(unsigned int gpu_id, struct identity *id);
const struct identity *identity_of(unsigned int gpu_id);

/* gpu.c: a GPU has names that operators know, see there */
int find_gpus(const char *names, unsigned int **gpu_ids, int *nr);
bool gpu_is_chosen(const struct options *o, unsigned int gpu_id);

/* tune.c: true, or false and in @why, which takes a line, what is wrong */
bool check_tunable(const char *name, const char *value, char *why, size_t size);
int change_tunable(unsigned int gpu_id, const char *name, const char *value, char *why, size_t size);

/* stats.c */
void print_metric_head(const char *name, const char *help, const char *type);

/* output.c */
void print_json(json_object *object);
json_object *new_document(void);
void add_number(json_object *o, const char *name, uint64_t value);
void add_signed(json_object *o, const char *name, int64_t value);
void add_text(json_object *o, const char *name, const char *value);
void add_flag(json_object *o, const char *name, bool value);
void add_device(json_object *o, unsigned int gpu_id);
json_object *json_of_queue(const struct gpreempt_queue_info *q);
json_object *json_of_node(const struct gpreempt_node_info *n, bool all);

/* set.c, job.c: would the command take this number, which stands behind -p PID, as its own word? */
bool set_takes_number(const struct options *o, const char *word);
bool job_takes_number(const struct options *o, const char *word);

/* the commands: return the exit status */
int cmd_list(const struct options *o);
int cmd_job(const struct options *o);
int cmd_share(const struct options *o);
int cmd_fits(const struct options *o);
int cmd_account(const struct options *o);
int cmd_why(const struct options *o);
int cmd_status(const struct options *o);
int cmd_set(const struct options *o);
int cmd_run(const struct options *o);
int cmd_preempt(const struct options *o);
int cmd_resume(const struct options *o);
int cmd_hint(const struct options *o);
int cmd_policy(const struct options *o);
int cmd_tune(const struct options *o);
int cmd_top(const struct options *o);
int cmd_events(const struct options *o);
int cmd_stats(const struct options *o);
int cmd_report(const struct options *o);
int cmd_apply(const struct options *o);
int cmd_doctor(const struct options *o);
int cmd_probe_hang(const struct options *o);

#endif /* GPREEMPTCTL_H */

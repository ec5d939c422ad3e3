/* SPDX-License-Identifier: MIT */
/*
 * gpreemptctl.h - what the commands of gpreemptctl share
 */
#ifndef GPREEMPTCTL_H
#define GPREEMPTCTL_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include <json-c/json.h>

#include "gpreempt.h"

/* Exit statuses, as the manual page lists them. */
enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NO_MODULE = 3,
	EXIT_DENIED = 4,
};

/* Of the JSON output; counts incompatible changes. */
#define SCHEMA_VERSION	1

/* Priorities of the classes. Far enough from normal that nice values do not reach them. */
#define CLASS_LATENCY	100
#define CLASS_BATCH	(-100)

/**
 * struct options - what the command line says beside the command's own words
 * @json: print JSON
 * @prometheus: print Prometheus' text format
 * @pid: -p; 0: not given
 * @gpu_id: -g; 0: not given
 * @queue_id: -q
 * @have_queue: -q was given
 * @cgroup: --cgroup; NULL: not given
 * @priority: --priority, --class
 * @have_priority: one of them was given
 * @seconds: --for, --interval; 0: not given
 * @unbounded: --unbounded
 * @follow: --follow
 * @count: --count; 0: without end
 * @args: the command's words
 * @nr_args: their number
 */
struct options {
	bool json;
	bool prometheus;
	pid_t pid;
	unsigned int gpu_id;
	unsigned int queue_id;
	bool have_queue;
	const char *cgroup;
	int priority;
	bool have_priority;
	double seconds;
	bool unbounded;
	bool follow;
	unsigned long count;
	char **args;
	int nr_args;
};

/* main.c: messages go to stderr with the program's name in front; the functions return what they were given or found */
int fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
int fail_errno(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
int open_scheduler(struct gpreempt **g);
bool parse_priority(const char *text, int *priority);
bool parse_number(const char *text, unsigned long long max, unsigned long long *value);

/* target.c: the queues that -p, -g, -q and --cgroup name; a cgroup's descriptor stays open until the program ends */
int get_target(const struct options *o, struct gpreempt_target *target);
const char *command_of(pid_t pid, char *buffer, size_t size);

/* sysfs.c: text is without its newline; sizes include the terminating NUL */
int read_text(const char *path, char *buffer, size_t size);
int write_text(const char *path, const char *text);
int node_attribute(unsigned int gpu_id, const char *name, char *buffer, size_t size);
int node_attributes(unsigned int gpu_id, int (*fn)(const char *name, const char *value, void *arg), void *arg);

/* tune.c: 0, or the exit status, said */
int change_tunable(const char *name, const char *value);

/* output.c */
void print_json(json_object *object);
json_object *new_document(void);
json_object *json_of_queue(const struct gpreempt_queue_info *q);
json_object *json_of_node(const struct gpreempt_node_info *n);

/* the commands: return the exit status */
int cmd_list(const struct options *o);
int cmd_status(const struct options *o);
int cmd_set(const struct options *o);
int cmd_run(const struct options *o);
int cmd_preempt(const struct options *o);
int cmd_resume(const struct options *o);
int cmd_policy(const struct options *o);
int cmd_tune(const struct options *o);
int cmd_top(const struct options *o);
int cmd_events(const struct options *o);
int cmd_stats(const struct options *o);
int cmd_apply(const struct options *o);
int cmd_doctor(const struct options *o);

#endif /* GPREEMPTCTL_H */

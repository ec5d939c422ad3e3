// SPDX-License-Identifier: MIT
/*
 * programs.c - gpreemptctl doctor: what running programs do to the device: queues against slots, debuggers, AMD's eviction of idle ones
 *
 * From KFD's files, which every amdgpu has.
 */
#include "doctor.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARAMETERS	"/sys/module/amdgpu/parameters"
/* KFD's number of compute queues of either format */
#define TYPE_COMPUTE	"0"
/* As HIP does without the variable */
#define DEFAULT_HIP_QUEUES	4
#define HIP_VARIABLE	"GPU_MAX_HW_QUEUES="
/* In a line of the output */
#define MOST_NAMED	8
#define VMIDS		8

typedef void (*process_fn)(pid_t pid, void *arg);

/* Processes that use KFD, by their files there */
static void each_process(process_fn fn, void *arg)
{
	DIR *folder = opendir(PROCESSES);
	unsigned long long pid;
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (parse_number(entry->d_name, INT32_MAX, &pid) && pid)
			fn(pid, arg);
	if (folder)
		closedir(folder);
}

/**
 * struct node - queues of a node
 * @gpu_id: which
 * @slots: queues that may be mapped at a time, on each XCC
 * @queues: compute queues there are
 * @programs: processes that have them
 */
struct node {
	unsigned int gpu_id;
	unsigned int slots;
	unsigned int queues;
	unsigned int programs;
};

static void count_queues(pid_t pid, void *arg)
{
	struct node *node = arg;
	unsigned long long gpu_id;
	struct dirent *entry;
	unsigned int own = 0;
	char path[512], text[64];
	DIR *folder;

	snprintf(path, sizeof(path), PROCESSES "/%d/queues", (int)pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), PROCESSES "/%d/queues/%s/gpuid", (int)pid, entry->d_name);
		if (read_text(path, text, sizeof(text)) < 0 || !parse_number(text, UINT32_MAX, &gpu_id) || gpu_id != node->gpu_id)
			continue;
		snprintf(path, sizeof(path), PROCESSES "/%d/queues/%s/type", (int)pid, entry->d_name);
		own += read_text(path, text, sizeof(text)) >= 0 && !strcmp(text, TYPE_COMPUTE);
	}
	if (folder)
		closedir(folder);
	node->queues += own;
	node->programs += !!own;
}

/* Figures of the virtual GPU: the p99 of 10 ms requests in the suite idle, eight idle programs beside a busy one. */
static void advise_idle_eviction(struct report *r, const struct node *node)
{
	char question[64], us[32] = "";

	if (node_attribute(node->gpu_id, "tunables/idle_evict_us", us, sizeof(us)) < 0 || strcmp(us, "0"))
		return;
	snprintf(question, sizeof(question), "idle programs leave gpu %u", node->gpu_id);
	advise(r, question, "no (gpreempt_idle_evict_us=0), and firmware gives turns to idle queues as well",
	       "gpreemptctl tune idle_evict_us=20000: idle programs leave until their next doorbell. On the virtual GPU requests beside eight idle programs then take as long as alone to 1 %, and more than 1.5 times as long without");
}

/* So many programs have a VMID at a time; KFD has 8 of them. */
static unsigned int nr_vmids(void)
{
	char text[16];
	int nr = 0;

	if (read_text(PARAMETERS "/hws_max_conc_proc", text, sizeof(text)) >= 0)
		nr = atoi(text);
	return nr > 0 && nr < VMIDS ? nr : VMIDS;
}

static void check_slots_of(struct report *r, struct node *node, int kernel_queues)
{
	char question[64], found[256], advice[512];

	each_process(count_queues, node);
	snprintf(question, sizeof(question), "gpu %u has a slot for each queue", node->gpu_id);
	snprintf(found, sizeof(found), "%u compute queue%s of %u program%s, %u slots (num_kcq=%d)", node->queues, node->queues == 1 ? "" : "s",
		 node->programs, node->programs == 1 ? "" : "s", node->slots, kernel_queues);
	if (node->queues <= node->slots) {
		answer(r, true, question, found, "");
		return;
	}
	snprintf(advice, sizeof(advice),
		 "queues take turns, of milliseconds, so that urgent work waits for its turn. Fewer queues: " HIP_VARIABLE
		 "2 in the environment of HIP programs (%d by default, and one more of the runtime). More slots: options amdgpu num_kcq=2",
		 DEFAULT_HIP_QUEUES);
	advise(r, question, found, advice);
}

/** check_slots() - does each node have as many slots as there are queues? */
void check_slots(struct report *r)
{
	struct dirent *entry;
	int kernel_queues = 8;
	char text[64];
	DIR *nodes;

	if (read_text(PARAMETERS "/num_kcq", text, sizeof(text)) >= 0 && atoi(text) >= 0 && atoi(text) <= kernel_queues)
		kernel_queues = atoi(text);
	nodes = opendir(TOPOLOGY);
	while (nodes && (entry = readdir(nodes))) {
		struct node node = { 0 };

		/* CPUs have none. */
		if (entry->d_name[0] == '.' || !topology_of(entry->d_name, &node.gpu_id, &node.slots) || !node.slots)
			continue;
		check_slots_of(r, &node, kernel_queues);
		if (node.queues > node.slots || node.programs > nr_vmids())
			advise_idle_eviction(r, &node);
	}
	if (nodes)
		closedir(nodes);
}

/**
 * struct names - a text that names processes
 * @text: so far
 * @nr: how many
 */
struct names {
	char text[640];
	unsigned int nr;
};

static void add_name(struct names *names, pid_t pid, const char *what)
{
	size_t length = strlen(names->text);
	char command[64];

	if (names->nr++ >= MOST_NAMED)
		return;
	snprintf(names->text + length, sizeof(names->text) - length, "%s%d (%s) %s", length ? ", " : "", (int)pid,
		 command_of(pid, command, sizeof(command)), what);
}

static const char *end_names(struct names *names)
{
	size_t length = strlen(names->text);

	if (names->nr > MOST_NAMED)
		snprintf(names->text + length, sizeof(names->text) - length, " and %u more", names->nr - MOST_NAMED);
	return names->text;
}

static void tell_hip(pid_t pid, void *arg)
{
	struct names *names = arg;
	char path[64], what[32], *environment = NULL, *value = NULL;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	file = fopen(path, "re");
	if (!file) {
		add_name(names, pid, errno == ENOENT ? "gone" : "not readable");
		return;
	}
	/* A program's own change of its environment does not show here. */
	while (!value && getdelim(&environment, &room, '\0', file) > 0)
		if (!strncmp(environment, HIP_VARIABLE, strlen(HIP_VARIABLE)))
			value = environment + strlen(HIP_VARIABLE);
	if (value)
		snprintf(what, sizeof(what), "%.*s", (int)strspn(value, "0123456789"), value);
	else
		snprintf(what, sizeof(what), "unset");
	add_name(names, pid, what);
	free(environment);
	fclose(file);
}

/** check_hip() - how many queues HIP programs may have; nothing while none runs */
void check_hip(struct report *r)
{
	struct names names = { "", 0 };

	each_process(tell_hip, &names);
	if (names.nr)
		answer(r, true, "GPU_MAX_HW_QUEUES of programs", end_names(&names), "");
}

/* 0: none, or not known */
static pid_t tracer_of(pid_t pid)
{
	char path[64], text[4096];
	const char *line;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (read_text(path, text, sizeof(text)) < 0)
		return 0;
	line = strstr(text, "\nTracerPid:");
	return line ? atoi(line + strlen("\nTracerPid:")) : 0;
}

/**
 * struct debugged - processes with a debugger
 * @queues: all that may be listed
 * @nr_queues: their number; negative: there is no list
 * @alone: processes that are left alone
 * @traced: others that are traced
 */
struct debugged {
	struct gpreempt_queue_info *queues;
	int nr_queues;
	struct names alone;
	struct names traced;
};

static void tell_debugged(pid_t pid, void *arg)
{
	struct debugged *d = arg;
	char what[128] = "", command[64];
	pid_t tracer = tracer_of(pid);
	unsigned int flags = 0;
	int i;

	for (i = 0; i < d->nr_queues; i++)
		if (d->queues[i].pid == pid)
			flags |= d->queues[i].flags;
	if (!tracer && !(flags & (GPREEMPT_QUEUE_DEBUGGED | GPREEMPT_QUEUE_SUSPENDED)))
		return;
	if (tracer)
		snprintf(what, sizeof(what), "by %d (%s)", (int)tracer, command_of(tracer, command, sizeof(command)));
	if (flags & GPREEMPT_QUEUE_SUSPENDED)
		snprintf(what + strlen(what), sizeof(what) - strlen(what), "%squeues suspended", what[0] ? ", " : "");
	add_name(flags & (GPREEMPT_QUEUE_DEBUGGED | GPREEMPT_QUEUE_SUSPENDED) ? &d->alone : &d->traced, pid, what);
}

/** check_debuggers() - is a process left alone because of its debugger? Nothing while none has one. */
void check_debuggers(struct report *r)
{
	struct gpreempt_target all = gpreempt_target_all();
	struct debugged d = { .nr_queues = -1 };
	struct gpreempt *g;

	if (!gpreempt_open(&g)) {
		d.nr_queues = gpreempt_list_queues(g, &all, &d.queues);
		gpreempt_close(g);
	}
	each_process(tell_debugged, &d);
	free(d.queues);
	if (d.alone.nr)
		advise(r, "no debugger keeps a program from being scheduled", end_names(&d.alone),
		       "end the debugger or monitor; a debugger without CAP_SYS_NICE leaves its program to the scheduler, except for queues that it suspends");
	if (d.traced.nr)
		answer(r, true, "traced programs are scheduled", end_names(&d.traced), "");
}

/** check_idle_eviction() - does AMD's driver take doorbells of idle processes away? Only its package can. */
void check_idle_eviction(struct report *r)
{
	char text[16], wakeup[32] = "";
	bool on;

	if (read_text(PARAMETERS "/keep_idle_process_evicted", text, sizeof(text)) < 0)
		return;
	on = strcmp(text, "N") && strcmp(text, "0");
	read_text(PARAMETERS "/gpreempt_wakeup", wakeup, sizeof(wakeup));
	if (on && !strcmp(wakeup, "doorbell"))
		advise(r, "doorbells have one owner (keep_idle_process_evicted)", "AMD's driver, so gpreempt_wakeup=doorbell polls",
		       "options amdgpu keep_idle_process_evicted=0, or gpreemptctl tune wakeup=poll");
	else
		answer(r, true, "doorbells have one owner (keep_idle_process_evicted)", on ? "AMD's driver" : "kfd_gpreempt", "");
}

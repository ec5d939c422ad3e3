// SPDX-License-Identifier: MIT
/* account.c - gpreemptctl account: who has used how much of each GPU, as a table, CSV or JSON */
#include "gpreemptctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "usage.h"
#include "workload.h"

/* The words of the command: which kinds; none: all. */
static int find_kinds(const struct options *o, unsigned int *bits)
{
	unsigned int k;
	int i;

	*bits = 0;
	for (i = 0; i < o->nr_args; i++) {
		for (k = 0; usage_kind_name(k) && strcmp(o->args[i], usage_kind_name(k)); k++)
			;
		if (!usage_kind_name(k))
			return fail(EXIT_USAGE, "account of what? %s is none of node, cgroup, job, process", o->args[i]);
		*bits |= 1U << k;
	}
	return 0;
}

/* Nodes in their order, and of each what it is made of: who has used most comes first. */
static int by_node_and_kind(const void *a, const void *b)
{
	const struct gpreempt_usage_info *x = &((const struct usage_entry *)a)->info, *y = &((const struct usage_entry *)b)->info;
	uint64_t i = usage_id(x), j = usage_id(y);

	if (x->gpu_id != y->gpu_id)
		return x->gpu_id < y->gpu_id ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->usage.busy_ns != y->usage.busy_ns)
		return x->usage.busy_ns > y->usage.busy_ns ? -1 : 1;
	if (i != j)
		return i < j ? -1 : 1;
	return x->uid < y->uid ? -1 : x->uid > y->uid;
}

/* By its text: numbers of 64 bits without a sign are not in every json-c. */
static uint64_t number_of(json_object *o, const char *name)
{
	json_object *member;

	return json_object_object_get_ex(o, name, &member) ? strtoull(json_object_get_string(member), NULL, 10) : 0;
}

static bool is_text(json_object *o, const char *name, const char *text)
{
	json_object *member;

	return json_object_object_get_ex(o, name, &member) && !strcmp(json_object_get_string(member), text);
}

static bool is_same(json_object *before, const struct usage_entry *e)
{
	const struct gpreempt_usage_info *u = &e->info;

	return is_text(before, "kind", usage_kind_name(u->kind)) && number_of(before, "gpu_id") == u->gpu_id &&
	       (!usage_is_rest(u) || number_of(before, "uid") == u->uid) &&
	       (u->kind != GPREEMPT_USAGE_CGROUP || number_of(before, "cgroup") == u->cgroup) &&
	       (u->kind != GPREEMPT_USAGE_JOB || number_of(before, "job") == u->job) &&
	       (u->kind != GPREEMPT_USAGE_PROCESS || ((pid_t)number_of(before, "pid") == u->pid && number_of(before, "started") == e->started));
}

/* What came since; unless it began anew, as when the driver was loaded again. */
static void subtract_entry(struct gpreempt_usage_info *u, json_object *before)
{
	struct gpreempt_queue_usage then = {
		.busy_ns = number_of(before, "busy_ns"),
		.waiting_ns = number_of(before, "waiting_ns"),
		.preempted_ns = number_of(before, "preempted_ns"),
		.wave_us = number_of(before, "wave_us"),
	};
	uint64_t used_ns = number_of(before, "used_ns");

	if (u->usage.busy_ns < then.busy_ns || u->usage.waiting_ns < then.waiting_ns || u->usage.preempted_ns < then.preempted_ns ||
	    u->usage.wave_us < then.wave_us || u->used_ns < used_ns)
		return;
	u->usage.busy_ns -= then.busy_ns;
	u->usage.waiting_ns -= then.waiting_ns;
	u->usage.preempted_ns -= then.preempted_ns;
	u->usage.wave_us -= then.wave_us;
	u->used_ns -= used_ns;
}

static const char *this_boot(char *buffer, size_t size)
{
	if (read_text("/proc/sys/kernel/random/boot_id", buffer, size) < 0)
		buffer[0] = '\0';
	return buffer;
}

/* Only what came since an earlier answer of --json; @over_ns: out: time since then, 0: the machine has booted since. Return: the exit status, said. */
static int subtract(const char *path, struct usage *usage, uint64_t *over_ns)
{
	json_object *document = json_object_from_file(path), *array = NULL;
	char boot[64];
	size_t k, nr;
	int i;

	if (!document || !json_object_object_get_ex(document, "usage", &array) || !json_object_is_type(array, json_type_array)) {
		json_object_put(document);
		return fail(EXIT_FAILED, "%s is no output of: gpreemptctl account --json", path);
	}
	nr = is_text(document, "boot_id", this_boot(boot, sizeof(boot))) ? json_object_array_length(array) : 0;
	*over_ns = nr ? counted_since(usage->time_ns, number_of(document, "time_ns")) : 0;
	for (i = 0; i < usage->nr; i++) {
		for (k = 0; k < nr && !is_same(json_object_array_get_idx(array, k), &usage->entries[i]); k++)
			;
		if (k < nr)
			subtract_entry(&usage->entries[i].info, json_object_array_get_idx(array, k));
	}
	json_object_put(document);
	return 0;
}

/* A rest always has, though it may be that of no user. */
static bool usage_has_uid(const struct usage_entry *e)
{
	return usage_is_rest(&e->info) || e->origin.uid != (uid_t)-1;
}

static const char *name_of(const struct usage_entry *e, char *buffer, size_t size)
{
	if (!usage_is_rest(&e->info))
		return e->name[0] ? e->name : "-";
	if (e->origin.uid == (uid_t)-1)
		return "older ones of other users";
	snprintf(buffer, size, "older ones of uid %lu", (unsigned long)e->origin.uid);
	return buffer;
}

static json_object *json_of_entry(const struct usage_entry *e)
{
	const struct gpreempt_usage_info *u = &e->info;
	json_object *o = json_object_new_object();

	add_text(o, "kind", usage_kind_name(u->kind));
	add_number(o, "gpu_id", u->gpu_id);
	add_device(o, u->gpu_id);
	if (u->cgroup)
		add_number(o, "cgroup", u->cgroup);
	if (u->kind == GPREEMPT_USAGE_CGROUP && e->name[0])
		add_text(o, "cgroup_path", e->name);
	if (u->job)
		add_number(o, "job", u->job);
	if (u->kind == GPREEMPT_USAGE_PROCESS) {
		add_signed(o, "pid", u->pid);
		add_number(o, "started", e->started);
		add_text(o, "command", e->name);
	}
	if (usage_has_uid(e))
		add_number(o, "uid", e->origin.uid);
	add_place(o, &e->origin.place);
	add_number(o, "processes", u->nr_processes);
	add_usage(o, &u->usage);
	add_number(o, "preempted_ns", u->usage.preempted_ns);
	if (u->kind == GPREEMPT_USAGE_NODE)
		add_number(o, "used_ns", u->used_ns);
	return o;
}

static void print_document(const struct usage *usage, uint64_t over_ns)
{
	json_object *document = new_document(), *array = json_object_new_array();
	char boot[64];
	int i;

	for (i = 0; i < usage->nr; i++)
		json_object_array_add(array, json_of_entry(&usage->entries[i]));
	add_text(document, "boot_id", this_boot(boot, sizeof(boot)));
	add_number(document, "time_ns", usage->time_ns);
	if (over_ns)
		add_number(document, "interval_ns", over_ns);
	json_object_object_add(document, "usage", array);
	print_json(document);
}

/* What the text shows comes first; the others are those of CSV, with the names of --json. */
enum {
	USED_WHOSE, USED_GPU, USED_ID, USED_PROCS, USED_USED_S, USED_BUSY_S, USED_WAIT_S, USED_OFF_S, USED_WAVE_S, USED_PLACE, USED_NAME, USED_USER,
	USED_KIND, USED_GPU_ID, USED_BDF, USED_CGROUP, USED_JOB, USED_UID, USED_CONTAINER, USED_POD, USED_SLURM_JOB, USED_SLURM_STEP,
	USED_PROCESSES, USED_BUSY_NS, USED_WAITING_NS, USED_PREEMPTED_NS, USED_WAVE_US, USED_USED_NS, NR_USED_COLUMNS
};

static const struct column used_columns[] = {
	[USED_WHOSE] = { "WHOSE", 0, 0, 0 },
	[USED_GPU] = { "GPU", COLUMN_RIGHT, 0, 0 },
	[USED_ID] = { "ID", COLUMN_RIGHT, 0, 0 },
	[USED_PROCS] = { "PROCS", COLUMN_RIGHT, 5, 0 },
	[USED_USED_S] = { "USED_S", COLUMN_RIGHT, 1, 0 },
	[USED_BUSY_S] = { "BUSY_S", COLUMN_RIGHT, 0, 0 },
	[USED_WAIT_S] = { "WAIT_S", COLUMN_RIGHT, 2, 0 },
	[USED_OFF_S] = { "OFF_S", COLUMN_RIGHT, 3, 0 },
	[USED_WAVE_S] = { "WAVE_S", COLUMN_RIGHT, 6, 0 },
	[USED_PLACE] = { "PLACE", COLUMN_CUT, 4, 0 },
	[USED_NAME] = { "NAME", COLUMN_CUT, 0, 0 },
	[USED_USER] = { "USER", COLUMN_CUT, 0, 0 },
	[USED_KIND] = { "KIND", 0, 0, 0 },
	[USED_GPU_ID] = { "GPU_ID", COLUMN_RIGHT, 0, 0 },
	[USED_BDF] = { "BDF", 0, 0, 0 },
	[USED_CGROUP] = { "CGROUP", COLUMN_RIGHT, 0, 0 },
	[USED_JOB] = { "JOB", COLUMN_RIGHT, 0, 0 },
	[USED_UID] = { "UID", COLUMN_RIGHT, 0, 0 },
	[USED_CONTAINER] = { "CONTAINER_ID", COLUMN_CUT, 0, 0 },
	[USED_POD] = { "POD_UID", COLUMN_CUT, 0, 0 },
	[USED_SLURM_JOB] = { "SLURM_JOB", COLUMN_RIGHT, 0, 0 },
	[USED_SLURM_STEP] = { "SLURM_STEP", COLUMN_RIGHT, 0, 0 },
	[USED_PROCESSES] = { "PROCESSES", COLUMN_RIGHT, 0, 0 },
	[USED_BUSY_NS] = { "BUSY_NS", COLUMN_RIGHT, 0, 0 },
	[USED_WAITING_NS] = { "WAITING_NS", COLUMN_RIGHT, 0, 0 },
	[USED_PREEMPTED_NS] = { "PREEMPTED_NS", COLUMN_RIGHT, 0, 0 },
	[USED_WAVE_US] = { "WAVE_US", COLUMN_RIGHT, 0, 0 },
	[USED_USED_NS] = { "USED_NS", COLUMN_RIGHT, 0, 0 },
};

static const struct columns used_all = {
	.all = used_columns,
	.nr = NR_USED_COLUMNS,
	.text = "WHOSE,GPU,ID,PROCS,USED_S,BUSY_S,WAIT_S,OFF_S,WAVE_S,PLACE,NAME",
	.csv = "KIND,GPU_ID,BDF,ID,CGROUP,JOB,UID,CONTAINER_ID,POD_UID,SLURM_JOB,SLURM_STEP,PROCESSES,BUSY_NS,WAITING_NS,PREEMPTED_NS,WAVE_US,USED_NS",
};

static void account_put_times(struct table *t, const struct gpreempt_usage_info *u)
{
	put(t, USED_BUSY_S, "%.3f", u->usage.busy_ns / 1e9);
	put(t, USED_WAIT_S, "%.3f", u->usage.waiting_ns / 1e9);
	put(t, USED_OFF_S, "%.3f", u->usage.preempted_ns / 1e9);
	put(t, USED_WAVE_S, "%.1f", u->usage.wave_us / 1e6);
	put(t, USED_BUSY_NS, "%" PRIu64, (uint64_t)u->usage.busy_ns);
	put(t, USED_WAITING_NS, "%" PRIu64, (uint64_t)u->usage.waiting_ns);
	put(t, USED_PREEMPTED_NS, "%" PRIu64, (uint64_t)u->usage.preempted_ns);
	put(t, USED_WAVE_US, "%" PRIu64, (uint64_t)u->usage.wave_us);
	if (u->kind != GPREEMPT_USAGE_NODE)
		return;
	put(t, USED_USED_S, "%.3f", u->used_ns / 1e9);
	put(t, USED_USED_NS, "%" PRIu64, (uint64_t)u->used_ns);
}

static void account_put_owner(struct table *t, const struct usage_entry *e)
{
	const struct place *place = &e->origin.place;
	char text[PLACE_WORDS];

	put_word(t, USED_PLACE, place_words(place, text, sizeof(text)));
	put_word(t, USED_NAME, name_of(e, text, sizeof(text)));
	put_word(t, USED_CONTAINER, place->container);
	put_word(t, USED_POD, place->pod);
	put_word(t, USED_SLURM_JOB, place->slurm_job);
	put_word(t, USED_SLURM_STEP, place->slurm_step);
	if (!usage_has_uid(e))
		return;
	put(t, USED_UID, "%lu", (unsigned long)e->origin.uid);
	put(t, USED_USER, "%s", user_of(e->origin.uid, text, sizeof(text)));
}

static void account_add_entry_row(struct table *t, const struct usage_entry *e)
{
	const struct gpreempt_usage_info *u = &e->info;

	add_row(t, 0);
	put(t, USED_WHOSE, "%s", usage_kind_name(u->kind));
	put(t, USED_KIND, "%s", usage_kind_name(u->kind));
	put(t, USED_GPU, "%u", u->gpu_id);
	put(t, USED_GPU_ID, "%u", u->gpu_id);
	put_word(t, USED_BDF, identity_of(u->gpu_id)->bdf);
	put(t, USED_ID, "%" PRIu64, usage_id(u));
	put(t, USED_CGROUP, "%" PRIu64, (uint64_t)u->cgroup);
	put(t, USED_JOB, "%" PRIu64, (uint64_t)u->job);
	put(t, USED_PROCS, "%u", u->nr_processes);
	put(t, USED_PROCESSES, "%u", u->nr_processes);
	account_put_times(t, u);
	account_put_owner(t, e);
}

/* Return: 0 or a negative errno. */
static int account_print_rows(struct table *t, const struct usage *usage)
{
	int i;

	for (i = 0; i < usage->nr; i++)
		account_add_entry_row(t, &usage->entries[i]);
	return print_table(t);
}

/* Leave what passes. A cgroup is in itself and in those above. Nodes have no owner. */
static void account_filter_usage(const struct options *o, struct usage *usage)
{
	int i, n = 0;

	for (i = 0; i < usage->nr; i++) {
		struct usage_entry *e = &usage->entries[i];
		struct subject s = { .pid = e->info.kind == GPREEMPT_USAGE_PROCESS ? e->info.pid : 0, .uid = e->origin.uid, .gpu_id = e->info.gpu_id,
				     .job = e->info.job, .cgroup = e->info.kind == GPREEMPT_USAGE_CGROUP ? e->name : NULL };

		if (passes(o, &s))
			usage->entries[n++] = *e;
		else
			free(e->name);
	}
	usage->nr = n;
}

/* Numbers that stand still look like those of programs that do nothing. @usage: by node. */
static void tell_who_keeps_none(const struct usage *usage)
{
	char value[8];
	int i;

	for (i = 0; i < usage->nr; i++) {
		uint32_t gpu_id = usage->entries[i].info.gpu_id;

		if (i && gpu_id == usage->entries[i - 1].info.gpu_id)
			continue;
		if (node_attribute(gpu_id, "tunables/account", value, sizeof(value)) > 0 && !strcmp(value, "0"))
			fprintf(stderr, "gpreemptctl: gpu %u keeps no account now; gpreemptctl tune account=1, or with -g for this GPU alone\n", gpu_id);
	}
}

static int account_print_usage(const struct options *o, struct table *t, struct usage *usage, unsigned int bits)
{
	uint64_t over_ns = 0;
	int error = 0, status = o->since ? subtract(o->since, usage, &over_ns) : 0;

	if (status)
		return status;
	if (o->prometheus) {
		print_usage_metrics(usage, bits);
		return EXIT_DONE;
	}
	if (usage->nr)
		qsort(usage->entries, usage->nr, sizeof(*usage->entries), by_node_and_kind);
	tell_who_keeps_none(usage);
	tell_what_is_hidden("own processes and jobs alone are shown");
	account_filter_usage(o, usage);
	if (o->json)
		print_document(usage, over_ns);
	else
		error = account_print_rows(t, usage);
	return error ? fail_system(error, "account") : EXIT_DONE;
}

int cmd_account(const struct options *o)
{
	struct usage usage;
	struct gpreempt *g;
	struct table *t;
	unsigned int bits;
	int error, status = find_kinds(o, &bits);

	if (!status && o->csv + o->json + o->prometheus > 1)
		status = fail(EXIT_USAGE, "account: --csv, --json or --prometheus");
	if (!status && o->since && o->prometheus)
		status = fail(EXIT_USAGE, "account: counters for Prometheus are not since a time: --prometheus goes without --since");
	if (!status && o->prometheus && o->given & ~(GIVEN_PROMETHEUS | GIVEN_GPU))
		status = fail(EXIT_USAGE, "account: of options, -g alone goes with --prometheus");
	if (status)
		return status;
	status = new_table(o, "account", &used_all, &t);
	if (status)
		return status;
	status = open_scheduler(&g);
	if (!status) {
		if (o->prometheus && !bits)
			bits = USAGE_OF_GROUPS;
		error = read_usage(g, bits, o, &usage);
		gpreempt_close(g);
		if (error)
			status = error == -ENOTTY ? fail(EXIT_NO_MODULE, "the module keeps no account; update it") : fail_errno(error, "account");
		else
			status = account_print_usage(o, t, &usage, bits);
		if (!error)
			free_usage(&usage);
	}
	free_table(t);
	return status;
}

// SPDX-License-Identifier: MIT
/* stats.c - gpreemptctl stats: every counter of every node, for people, programs and Prometheus */
#include "gpreemptctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "usage.h"
#include "workload.h"

#define LATENCY	"latency"
#define FIRMWARE	"firmware"

/**
 * struct sink - where an attribute goes
 * @object: JSON; NULL: to stdout
 * @gpu_id: the node
 * @directory: of the attribute, with a slash if there is any
 */
struct sink {
	json_object *object;
	unsigned int gpu_id;
	const char *directory;
};

static int add(const char *name, const char *value, void *arg)
{
	const struct sink *sink = arg;
	unsigned long long number;

	if (!sink->object)
		printf("%u %s%s %s\n", sink->gpu_id, sink->directory, name, value);
	else if (parse_number(value, ~0ULL, &number))
		add_number(sink->object, name, number);
	else
		add_text(sink->object, name, value);
	return 0;
}

static void print_text(const struct gpreempt_node_info *node)
{
	struct sink sink = { .gpu_id = node->gpu_id, .directory = "" };

	node_attributes(node->gpu_id, "", add, &sink);
	sink.directory = FIRMWARE "/";
	node_attributes(node->gpu_id, FIRMWARE, add, &sink);
	sink.directory = LATENCY "/";
	node_attributes(node->gpu_id, LATENCY, add, &sink);
}

static json_object *make_json(const struct gpreempt_node_info *node)
{
	struct sink sink = { .object = json_of_node(node, true), .gpu_id = node->gpu_id };
	json_object *all = sink.object;

	node_attributes(node->gpu_id, "", add, &sink);
	sink.object = json_object_new_object();
	node_attributes(node->gpu_id, FIRMWARE, add, &sink);
	json_object_object_add(all, FIRMWARE, sink.object);
	sink.object = json_object_new_object();
	node_attributes(node->gpu_id, LATENCY, add, &sink);
	json_object_object_add(all, LATENCY, sink.object);
	return all;
}

/**
 * struct metric - an attribute as Prometheus is to see it
 * @attribute: file of the node's directory
 * @name: stable name, with the unit and "total" as its conventions ask
 * @type: counter or gauge
 * @help: what it is
 */
static const struct metric {
	const char *attribute;
	const char *name;
	const char *type;
	const char *help;
} metrics[] = {
	{ "queues", "gpreempt_queues", "gauge", "Compute queues under scheduling." },
	{ "active_queues", "gpreempt_active_queues", "gauge", "Compute queues that the device is given, each of which wants a slot." },
	{ "checks", "gpreempt_checks_total", "counter", "Passes of the scheduler." },
	{ "wakeups", "gpreempt_wakeups_total", "counter", "Wake-ups of the scheduler's thread." },
	{ "inversions", "gpreempt_inversions_total", "counter", "Passes that found a lower queue in the way of a higher one." },
	{ "preemptions", "gpreempt_preemptions_total", "counter", "Queues preempted." },
	{ "resumes", "gpreempt_resumes_total", "counter", "Queues resumed." },
	{ "destroyed_preempted", "gpreempt_destroyed_preempted_total", "counter", "Queues destroyed while they were preempted." },
	{ "runlists", "gpreempt_runlists_total", "counter", "Hardware passes caused by the scheduler." },
	{ "relief_slices", "gpreempt_relief_slices_total", "counter", "Reliefs given to queues held for too long." },
	{ "paced", "gpreempt_paced_total", "counter", "Commands of outranked programs that waited, for the runlist that they ask for." },
	{ "hints", "gpreempt_hints_total", "counter", "Announcements of work, per queue." },
	{ "hints_used", "gpreempt_hints_used_total", "counter", "Announcements of work that came in time." },
	{ "hints_expired", "gpreempt_hints_expired_total", "counter", "Announcements of work that did not come." },
	{ "doorbell_arms", "gpreempt_doorbell_arms_total", "counter", "Times that doorbells of an idle process were withdrawn." },
	{ "doorbell_late", "gpreempt_doorbell_late_total", "counter", "Times that this came too late." },
	{ "doorbell_faults", "gpreempt_doorbell_faults_total", "counter", "Writes to withdrawn doorbells." },
	{ "would_be_preemptions", "gpreempt_would_be_preemptions_total", "counter", "While nodes only observed: queues that would have been preempted." },
	{ "would_be_resumes", "gpreempt_would_be_resumes_total", "counter", "Of these, those that would have been resumed." },
	{ "would_be_runlists", "gpreempt_would_be_runlists_total", "counter", "Hardware passes that would have done so." },
	{ "observed_requests", "gpreempt_observed_requests_total", "counter", "Work beside which a queue ran that would have been preempted." },
	{ "observed_unclear", "gpreempt_observed_unclear_total", "counter", "Of it, what waited for a second or longer, or to no end." },
	{ "disabled", "gpreempt_disabled_total", "counter", "Times that the node was given up after failures." },
};

/**
 * struct family - attributes with a common prefix, which become one metric with a label
 * @prefix: of the attributes; the rest of the name is the label's value
 * @name: of the metric
 * @label: name of the label
 * @help: what it is
 */
static const struct family {
	const char *prefix;
	const char *name;
	const char *label;
	const char *help;
} families[] = {
	{ "skipped_", "gpreempt_skipped_total", "reason", "What was wanted and not done, by reason." },
	{ "failed_", "gpreempt_failures_total", "cause", "Failures, by cause." },
};

/* Summaries: how long each step of a preemption takes. */
static const struct {
	const char *kind;
	const char *help;
} latencies[] = {
	{ "detect", "From an inversion to the decision, at most." },
	{ "request", "From the decision to the request to the device." },
	{ "save", "From the decision to the saved state." },
	{ "resume", "From the decision to resume to the device having taken it in." },
	{ "hold", "Time that queues were held." },
	{ "pass", "Reading the queues and deciding." },
	{ "notice", "From a write to withdrawn doorbells to the decision." },
	{ "observed_wait", "While a node only observed: until the device took the first packet of work that came." },
	{ "observed_beside", "While a node only observed: time that work shared the device with a queue that would have been preempted." },
};

/* What firmware noted, by step. */
static const struct {
	const char *what;
	const char *name;
	const char *type;
	const char *help;
} stamps[] = {
	{ "count", "gpreempt_firmware_stamps_total", "counter", "Times that firmware noted and that were read, by step." },
	{ "ns_p50", "gpreempt_firmware_median_seconds", "gauge", "Median of the last 31 of them; 0: firmware notes none." },
	{ "ns_max", "gpreempt_firmware_max_seconds", "gauge", "The longest." },
};

/**
 * struct samples - where a family's attributes go
 * @family: the family
 * @gpu_id: the node
 */
struct samples {
	const struct family *family;
	unsigned int gpu_id;
};

static int print_sample(const char *name, const char *value, void *arg)
{
	const struct samples *s = arg;
	size_t length = strlen(s->family->prefix);

	if (!strncmp(name, s->family->prefix, length))
		printf("%s{gpu_id=\"%u\",%s=\"%s\"} %s\n", s->family->name, s->gpu_id, s->family->label, name + length, value);
	return 0;
}

/** print_metric_head() - what Prometheus is told of a metric before its numbers */
void print_metric_head(const char *name, const char *help, const char *type)
{
	printf("# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static bool latency_value(unsigned int gpu_id, const char *kind, const char *what, unsigned long long *value)
{
	char name[64], text[64];

	snprintf(name, sizeof(name), LATENCY "/%s_%s", kind, what);
	return node_attribute(gpu_id, name, text, sizeof(text)) > 0 && parse_number(text, ~0ULL, value);
}

static void print_latency(unsigned int gpu_id, const char *kind)
{
	unsigned long long p50, p99, sum, count;

	if (!latency_value(gpu_id, kind, "us_p50", &p50) || !latency_value(gpu_id, kind, "us_p99", &p99) ||
	    !latency_value(gpu_id, kind, "ns_sum", &sum) || !latency_value(gpu_id, kind, "count", &count))
		return;
	printf("gpreempt_%s_seconds{gpu_id=\"%u\",quantile=\"0.5\"} %llu.%06llu\n", kind, gpu_id, p50 / 1000000, p50 % 1000000);
	printf("gpreempt_%s_seconds{gpu_id=\"%u\",quantile=\"0.99\"} %llu.%06llu\n", kind, gpu_id, p99 / 1000000, p99 % 1000000);
	printf("gpreempt_%s_seconds_sum{gpu_id=\"%u\"} %llu.%09llu\n", kind, gpu_id, sum / 1000000000, sum % 1000000000);
	printf("gpreempt_%s_seconds_count{gpu_id=\"%u\"} %llu\n", kind, gpu_id, count);
}

static void print_stamp(unsigned int gpu_id, size_t which)
{
	static const char *const steps[] = { "connect", "save", "restore" };
	unsigned long long value;
	char name[64], text[64];
	size_t i;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		snprintf(name, sizeof(name), FIRMWARE "/%s_%s", steps[i], stamps[which].what);
		if (node_attribute(gpu_id, name, text, sizeof(text)) <= 0 || !parse_number(text, ~0ULL, &value))
			continue;
		printf("%s{gpu_id=\"%u\",step=\"%s\"} ", stamps[which].name, gpu_id, steps[i]);
		if (which)
			printf("%llu.%09llu\n", value / 1000000000, value % 1000000000);
		else
			printf("%llu\n", value);
	}
}

/* The labels by which AMD's exporter names a device, under its names for them, so that one can be joined with the other. */
static void print_device(unsigned int gpu_id)
{
	const struct identity *id = identity_of(gpu_id);
	char hostname[256] = "";

	if (gethostname(hostname, sizeof(hostname) - 1))
		hostname[0] = '\0';
	printf("gpreempt_device_info{gpu_id=\"%u\",bdf=\"%s\",gpu_partition_id=\"%u\",gpu_uuid=\"%s\",hostname=\"%s\",serial_number=\"%s\",unique_id=\"%s\",device_name=\"%s\"} 1\n",
	       gpu_id, id->bdf, id->partition, id->uuid, hostname, id->serial_number, id->unique_id, id->name);
}

/* Labels of a workload, without the last brace. Nothing in them is of a program's choice but the ids of cgroups, which are digits. */
static void print_workload_labels(const char *name, const struct workload *w)
{
	const struct identity *id = identity_of(w->gpu_id);

	printf("%s{gpu_id=\"%u\",bdf=\"%s\",device_name=\"%s\",gpreempt_job=\"", name, w->gpu_id, id->bdf, id->name);
	if (w->job)
		printf("%" PRIu64, w->job);
	printf("\",uid=\"");
	if (w->uid != (uid_t)-1)
		printf("%lu", (unsigned long)w->uid);
	printf("\",container_engine=\"%s\",container_id=\"%s\",pod_uid=\"%s\",slurm_job=\"%s\",slurm_step=\"%s\"", w->place.engine, w->place.container,
	       w->place.pod, w->place.slurm_job, w->place.slurm_step);
}

static void print_workload_processes(const char *name, const struct workload *w)
{
	print_workload_labels(name, w);
	printf("} %u\n", w->processes);
}

static void print_workload_queues(const char *name, const struct workload *w)
{
	const struct {
		const char *state;
		unsigned int nr;
	} states[] = {
		{ "active", w->active }, { "idle", w->queues - w->active - w->preempted }, { "preempted", w->preempted },
	};
	size_t i;

	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		print_workload_labels(name, w);
		printf(",state=\"%s\"} %u\n", states[i].state, states[i].nr);
	}
}

static void print_workload_preemptions(const char *name, const struct workload *w)
{
	print_workload_labels(name, w);
	printf("} %" PRIu64 "\n", w->preempt_count);
}

static void print_workload_time_off(const char *name, const struct workload *w)
{
	print_workload_labels(name, w);
	printf("} %" PRIu64 ".%06" PRIu64 "\n", w->preempted_us / 1000000, w->preempted_us % 1000000);
}

/* Of jobs, by what their queues do now. Queues come and go, so these fall as well as rise: none is a counter. */
static const struct {
	const char *name;
	const char *help;
	void (*print)(const char *name, const struct workload *w);
} of_workloads[] = {
	{ "gpreempt_workload_processes", "Processes of a job, user and place that have queues on the node.", print_workload_processes },
	{ "gpreempt_workload_queues", "Their queues on the node, by state.", print_workload_queues },
	{ "gpreempt_workload_preemptions", "Preemptions of the queues that they have now.", print_workload_preemptions },
	{ "gpreempt_workload_preempted_seconds", "Time that the queues that they have now spent off the device.", print_workload_time_off },
};

/* Return: 0, or the exit status, said. */
static int print_workloads(const struct options *o)
{
	struct workload *workloads;
	struct queue_list list;
	size_t m;
	int i, n, status = list_queues(o, "stats", &list);

	if (status)
		return status;
	n = find_workloads(&list, &workloads);
	for (m = 0; m < sizeof(of_workloads) / sizeof(of_workloads[0]) && n >= 0; m++) {
		print_metric_head(of_workloads[m].name, of_workloads[m].help, "gauge");
		for (i = 0; i < n; i++)
			of_workloads[m].print(of_workloads[m].name, &workloads[i]);
	}
	free(workloads);
	free_queues(&list);
	return n < 0 ? fail_system(n, "stats") : 0;
}

/* Return: 0, or the exit status, said. */
static int print_account(const struct options *o)
{
	struct usage usage;
	struct gpreempt *g;
	int error, status = open_scheduler(&g);

	if (status)
		return status;
	error = read_usage(g, USAGE_OF_GROUPS, o, &usage);
	gpreempt_close(g);
	/* A module before version 8 keeps none. */
	if (error)
		return error == -ENOTTY ? 0 : fail_errno(error, "stats");
	print_usage_metrics(&usage, USAGE_OF_GROUPS);
	free_usage(&usage);
	return 0;
}

static void print_prometheus(const struct gpreempt_node_info *nodes, int nr)
{
	char value[64], name[64];
	size_t m;
	int i;

	for (m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++) {
		print_metric_head(metrics[m].name, metrics[m].help, metrics[m].type);
		for (i = 0; i < nr; i++)
			if (node_attribute(nodes[i].gpu_id, metrics[m].attribute, value, sizeof(value)) > 0)
				printf("%s{gpu_id=\"%u\"} %s\n", metrics[m].name, nodes[i].gpu_id, value);
	}
	for (m = 0; m < sizeof(families) / sizeof(families[0]); m++) {
		print_metric_head(families[m].name, families[m].help, "counter");
		for (i = 0; i < nr; i++)
			node_attributes(nodes[i].gpu_id, "", print_sample,
					&(struct samples){ .family = &families[m], .gpu_id = nodes[i].gpu_id });
	}
	for (m = 0; m < sizeof(latencies) / sizeof(latencies[0]); m++) {
		snprintf(name, sizeof(name), "gpreempt_%s_seconds", latencies[m].kind);
		print_metric_head(name, latencies[m].help, "summary");
		for (i = 0; i < nr; i++)
			print_latency(nodes[i].gpu_id, latencies[m].kind);
	}
	for (m = 0; m < sizeof(stamps) / sizeof(stamps[0]); m++) {
		print_metric_head(stamps[m].name, stamps[m].help, stamps[m].type);
		for (i = 0; i < nr; i++)
			print_stamp(nodes[i].gpu_id, m);
	}
	print_metric_head("gpreempt_preempted_queues", "Queues off the device.", "gauge");
	for (i = 0; i < nr; i++)
		printf("gpreempt_preempted_queues{gpu_id=\"%u\"} %u\n", nodes[i].gpu_id, nodes[i].nr_preempted);
	print_metric_head("gpreempt_slots", "Slots for compute queues, on each XCC.", "gauge");
	for (i = 0; i < nr; i++)
		printf("gpreempt_slots{gpu_id=\"%u\"} %u\n", nodes[i].gpu_id, identity_of(nodes[i].gpu_id)->slots);
	print_metric_head("gpreempt_node_info", "State, backend and policy of a node.", "gauge");
	for (i = 0; i < nr; i++)
		printf("gpreempt_node_info{gpu_id=\"%u\",state=\"%s\",backend=\"%s\",policy=\"%s\"} 1\n", nodes[i].gpu_id,
		       gpreempt_node_state_name(nodes[i].state), nodes[i].backend, nodes[i].policy);
	print_metric_head("gpreempt_device_info", "What the device of a node is called elsewhere.", "gauge");
	for (i = 0; i < nr; i++)
		print_device(nodes[i].gpu_id);
}

int cmd_stats(const struct options *o)
{
	struct gpreempt_node_info *nodes;
	json_object *document, *list;
	char text[64];
	int i, all, nr, status;

	if (o->json && o->prometheus)
		return fail(EXIT_USAGE, "stats: --json or --prometheus, not both");
	status = list_nodes("stats", NULL, &nodes, &nr);
	if (status)
		return status;
	for (i = 0, all = nr, nr = 0; i < all; i++)
		if (gpu_is_chosen(o, nodes[i].gpu_id))
			nodes[nr++] = nodes[i];
	status = nr ? node_attribute(nodes[0].gpu_id, "checks", text, sizeof(text)) : 0;
	if (status == -EACCES || status == -EPERM) {
		free(nodes);
		return fail(EXIT_DENIED, "stats: counters tell when other users work: they are for root with CAP_SYS_ADMIN");
	}
	status = EXIT_DONE;
	if (o->prometheus) {
		print_prometheus(nodes, nr);
		status = print_workloads(o);
		if (!status)
			status = print_account(o);
	} else if (o->json) {
		document = new_document();
		list = json_object_new_array();
		json_object_object_add(document, "nodes", list);
		for (i = 0; i < nr; i++)
			json_object_array_add(list, make_json(&nodes[i]));
		print_json(document);
	} else {
		for (i = 0; i < nr; i++)
			print_text(&nodes[i]);
	}
	free(nodes);
	return status;
}

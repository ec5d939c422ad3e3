// SPDX-License-Identifier: MIT
/*
 * stats.c - gpreemptctl stats: every counter of every node, for people, programs and Prometheus
 */
#include "gpreemptctl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/**
 * struct sink - where an attribute goes
 * @object: JSON; NULL: to stdout
 * @gpu_id: the node
 * @want: print this attribute only, as a sample; NULL: all, as lines
 */
struct sink {
	json_object *object;
	unsigned int gpu_id;
	const char *want;
};

static int add(const char *name, const char *value, void *arg)
{
	struct sink *sink = arg;
	unsigned long long number;

	if (sink->object) {
		if (parse_number(value, ~0ULL, &number))
			json_object_object_add(sink->object, name, json_object_new_uint64(number));
		else
			json_object_object_add(sink->object, name, json_object_new_string(value));
	} else {
		printf("%u %s %s\n", sink->gpu_id, name, value);
	}
	return 0;
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
	{ "checks", "gpreempt_checks_total", "counter", "Passes of the scheduler." },
	{ "inversions", "gpreempt_inversions_total", "counter", "Passes that found a lower queue in the way of a higher one." },
	{ "preemptions", "gpreempt_preemptions_total", "counter", "Queues preempted." },
	{ "resumes", "gpreempt_resumes_total", "counter", "Queues resumed." },
	{ "failures", "gpreempt_failures_total", "counter", "Hardware passes that failed." },
	{ "runlists", "gpreempt_runlists_total", "counter", "Hardware passes caused by the scheduler." },
	{ "relief_slices", "gpreempt_relief_slices_total", "counter", "Reliefs given to queues held for too long." },
};

#define SKIPPED	"skipped_"

static int skipped_sample(const char *name, const char *value, void *arg)
{
	const struct sink *sink = arg;

	if (!strncmp(name, SKIPPED, strlen(SKIPPED)))
		printf("gpreempt_skipped_total{gpu_id=\"%u\",reason=\"%s\"} %s\n", sink->gpu_id, name + strlen(SKIPPED), value);
	return 0;
}

static void print_prometheus(const struct gpreempt_node_info *nodes, int nr)
{
	struct sink sink = { 0 };
	char value[64];
	size_t m;
	int i;

	for (m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++) {
		printf("# HELP %s %s\n# TYPE %s %s\n", metrics[m].name, metrics[m].help, metrics[m].name, metrics[m].type);
		for (i = 0; i < nr; i++)
			if (node_attribute(nodes[i].gpu_id, metrics[m].attribute, value, sizeof(value)) > 0)
				printf("%s{gpu_id=\"%u\"} %s\n", metrics[m].name, nodes[i].gpu_id, value);
	}
	puts("# HELP gpreempt_skipped_total What was wanted and not done, by reason.\n# TYPE gpreempt_skipped_total counter");
	for (i = 0; i < nr; i++) {
		sink.gpu_id = nodes[i].gpu_id;
		node_attributes(nodes[i].gpu_id, skipped_sample, &sink);
	}
	puts("# HELP gpreempt_preempted_queues Queues off the device.\n# TYPE gpreempt_preempted_queues gauge");
	for (i = 0; i < nr; i++)
		printf("gpreempt_preempted_queues{gpu_id=\"%u\"} %u\n", nodes[i].gpu_id, nodes[i].nr_preempted);
	puts("# HELP gpreempt_node_info State, backend and policy of a node.\n# TYPE gpreempt_node_info gauge");
	for (i = 0; i < nr; i++)
		printf("gpreempt_node_info{gpu_id=\"%u\",state=\"%s\",backend=\"%s\",policy=\"%s\"} 1\n", nodes[i].gpu_id,
		       gpreempt_node_state_name(nodes[i].state), nodes[i].backend, nodes[i].policy);
}

int cmd_stats(const struct options *o)
{
	struct gpreempt_node_info *nodes;
	json_object *document, *list;
	struct sink sink = { 0 };
	struct gpreempt *g;
	int i, nr, status;

	if (o->json && o->prometheus)
		return fail(EXIT_USAGE, "stats: --json or --prometheus, not both");
	status = open_scheduler(&g);
	if (status)
		return status;
	nr = gpreempt_list_nodes(g, NULL, &nodes);
	gpreempt_close(g);
	if (nr < 0)
		return fail_errno(nr, "stats");
	if (o->prometheus) {
		print_prometheus(nodes, nr);
	} else if (o->json) {
		document = new_document();
		list = json_object_new_array();
		json_object_object_add(document, "nodes", list);
		for (i = 0; i < nr; i++) {
			sink.object = json_of_node(&nodes[i]);
			node_attributes(nodes[i].gpu_id, add, &sink);
			json_object_array_add(list, sink.object);
		}
		print_json(document);
	} else {
		for (i = 0; i < nr; i++) {
			sink.gpu_id = nodes[i].gpu_id;
			node_attributes(nodes[i].gpu_id, add, &sink);
		}
	}
	free(nodes);
	return EXIT_DONE;
}

// SPDX-License-Identifier: MIT
/*
 * report.c - gpreemptctl report: what a node would have done that only observes, as a page
 *
 * Would it help here? Work that waited for the device while lower work had it. What would it cost?
 * That is an estimate: so many hardware passes, times what one takes, which is read from firmware's
 * time stamps, or was timed when the node acted, or is assumed. The text says which of them.
 */
#include "gpreemptctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What an MI308X took to connect a queue, from one that was connected already to the first of a process. */
#define ASSUMED_LEAST_NS	20000ULL
#define ASSUMED_MOST_NS		160000ULL

/* A page is for people: so many queues of each kind. */
#define MOST_QUEUES	10

/**
 * struct cost - what a hardware pass takes
 * @source: where that comes from, in a word: firmware, host or assumed
 * @least_ns: at least
 * @most_ns: at most; the same if it was measured
 */
struct cost {
	const char *source;
	uint64_t least_ns;
	uint64_t most_ns;
};

/**
 * struct page - what is known of a node
 * @gpu_id: the node
 * @observes: it still does
 * @observed_ns: for so long it has
 * @preemptions: queues that it would have preempted
 * @passes: hardware passes that it would have made
 * @requests: work beside which such a queue ran
 * @unclear: of these: it is not clear what they waited for
 * @waited: of the others, and of these those whose beginning was seen: how many
 * @waited_ns: together
 * @waited_ns_max: the longest
 * @waited_us_p50: half of them, at most
 * @waited_us_p99: 99 of 100, at most
 * @beside_ns: for so long lower work ran beside the requests
 * @queues: that are there now
 * @cost: of a pass
 */
struct page {
	unsigned int gpu_id;
	bool observes;
	unsigned long long observed_ns, preemptions, passes, requests, unclear, waited, waited_ns, waited_ns_max, waited_us_p50, waited_us_p99,
		beside_ns, queues;
	struct cost cost;
};

/* 0 if the file is not there, or not for the caller: an older module has no such file. */
static unsigned long long number_of(unsigned int gpu_id, const char *name)
{
	unsigned long long value;
	char text[64];

	return node_attribute(gpu_id, name, text, sizeof(text)) > 0 && parse_number(text, ~0ULL, &value) ? value : 0;
}

/* From the best source that there is. A preemption and its resume are two passes, one of which saves and the other restores. */
static struct cost cost_of(unsigned int gpu_id, unsigned long long queues)
{
	unsigned long long firmware_ns = number_of(gpu_id, "firmware/connect_ns_p50") +
					 (number_of(gpu_id, "firmware/save_ns_p50") + number_of(gpu_id, "firmware/restore_ns_p50")) / 2;
	unsigned long long saves = number_of(gpu_id, "latency/save_count"), saved_ns = number_of(gpu_id, "latency/save_ns_sum");

	if (number_of(gpu_id, "firmware/save_count") && number_of(gpu_id, "firmware/restore_count"))
		return (struct cost){ "firmware", firmware_ns, firmware_ns };
	if (saves)
		return (struct cost){ "host", saved_ns / saves, saved_ns / saves };
	queues = queues ? queues : 1;
	return (struct cost){ "assumed", queues * ASSUMED_LEAST_NS, queues * ASSUMED_MOST_NS };
}

static struct page read_page(unsigned int gpu_id)
{
	struct page p = { .gpu_id = gpu_id };

	p.observes = number_of(gpu_id, "tunables/observe");
	p.observed_ns = number_of(gpu_id, "observed_ns");
	p.preemptions = number_of(gpu_id, "would_be_preemptions");
	p.passes = number_of(gpu_id, "would_be_runlists");
	p.requests = number_of(gpu_id, "observed_requests");
	p.unclear = number_of(gpu_id, "observed_unclear");
	p.waited = number_of(gpu_id, "latency/observed_wait_count");
	p.waited_ns = number_of(gpu_id, "latency/observed_wait_ns_sum");
	p.waited_ns_max = number_of(gpu_id, "latency/observed_wait_ns_max");
	p.waited_us_p50 = number_of(gpu_id, "latency/observed_wait_us_p50");
	p.waited_us_p99 = number_of(gpu_id, "latency/observed_wait_us_p99");
	p.beside_ns = number_of(gpu_id, "latency/observed_beside_ns_sum");
	p.queues = number_of(gpu_id, "queues");
	p.cost = cost_of(gpu_id, p.queues);
	return p;
}

/* In a word: no (there is nothing to gain), yes (work of others ran beside requests for longer than it costs at most), perhaps. */
static const char *word_of(const struct page *p)
{
	if (!p->preemptions)
		return "no";
	return p->beside_ns > p->passes * p->cost.most_ns ? "yes" : "perhaps";
}

static const char *duration(unsigned long long ns, char *buffer, size_t size)
{
	if (ns < 10000)
		snprintf(buffer, size, "%llu ns", ns);
	else if (ns < 10000000)
		snprintf(buffer, size, "%llu us", ns / 1000);
	else if (ns < 10000000000)
		snprintf(buffer, size, "%llu ms", ns / 1000000);
	else if (ns < 7200000000000)
		snprintf(buffer, size, "%llu s", ns / 1000000000);
	else
		snprintf(buffer, size, "%llu h %llu min", ns / 3600000000000, ns / 60000000000 % 60);
	return buffer;
}

#define DURATION(ns)	duration(ns, (char[32]){ 0 }, 32)

static double percent(const struct page *p, unsigned long long ns)
{
	return p->observed_ns ? 100.0 * ns / p->observed_ns : 0;
}

/* A file of a queue, which its process's end takes away; -1: there is none */
static long long of_queue(const struct gpreempt_queue_info *q, const char *file)
{
	unsigned long long value;
	char path[128], text[32];

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%u/%s", q->pid, q->queue_id, file);
	if (q->context > 1 || read_text(path, text, sizeof(text)) <= 0 || !parse_number(text, INT64_MAX, &value))
		return -1;
	return value;
}

/**
 * struct observed - what was seen of a queue; each below 0: its file is not there
 * @requests: times that lower work ran beside its own
 * @waited_us: together, for the device
 * @preempted: times that it would have been preempted
 */
struct observed {
	long long requests;
	long long waited_us;
	long long preempted;
};

/* Of a queue of another node: nothing. */
static struct observed observed_of(const struct page *p, const struct gpreempt_queue_info *q)
{
	if (q->gpu_id != p->gpu_id)
		return (struct observed){ -1, -1, -1 };
	return (struct observed){ of_queue(q, "observed_requests"), of_queue(q, "observed_wait_us"), of_queue(q, "would_be_preempt_count") };
}

static void print_queues(const struct page *p, const struct gpreempt_queue_info *queues, int nr)
{
	char command[64];
	int i, said = 0;

	for (i = 0; i < nr && said < MOST_QUEUES; i++) {
		struct observed seen = observed_of(p, &queues[i]);

		if (seen.requests <= 0 && seen.preempted <= 0)
			continue;
		if (!said++)
			printf("  who, of those that are still there\n");
		printf("    pid %d (%s) queue %u, priority %d:", queues[i].pid, command_of(queues[i].pid, command, sizeof(command)),
		       queues[i].queue_id, queues[i].logical_priority);
		if (seen.requests > 0)
			printf(" %lld times beside lower work, waited %s", seen.requests, DURATION(seen.waited_us * 1000ULL));
		printf("%s", seen.requests > 0 && seen.preempted > 0 ? ";" : "");
		if (seen.preempted > 0)
			printf(" would have been preempted %lld times", seen.preempted);
		putchar('\n');
	}
}

static void print_help(const struct page *p)
{
	printf("  would it help?\n");
	if (!p->preemptions) {
		printf("    no work was seen that had to share the device with work of lower priority\n");
		return;
	}
	printf("    %llu times work of higher priority shared the device with such as would have been preempted: %s in all\n", p->requests,
	       DURATION(p->beside_ns));
	if (p->waited)
		printf("    %llu of them came meanwhile, and waited for the device: half of them %s at most, 99 of 100 %s, the longest %s; "
		       "%s in all\n",
		       p->waited, DURATION(p->waited_us_p50 * 1000), DURATION(p->waited_us_p99 * 1000), DURATION(p->waited_ns_max),
		       DURATION(p->waited_ns));
	if (p->unclear)
		printf("    %llu waited for a second or longer, or to no end: not counted, as they may have waited for something else\n",
		       p->unclear);
}

static const char *source_text(const char *source)
{
	if (!strcmp(source, "firmware"))
		return "as firmware's time stamps say";
	return strcmp(source, "host") ? "ASSUMED: 20 to 160 us for each queue that is there now; nothing was ever preempted on this node" :
					"as it took on average when this node acted";
}

static void print_cost(const struct page *p)
{
	uint64_t least_ns = p->passes * p->cost.least_ns, most_ns = p->passes * p->cost.most_ns;

	if (!p->preemptions)
		return;
	printf("  what would it cost? (an estimate)\n");
	printf("    %llu preemptions, with the resumes in %llu hardware passes\n", p->preemptions, p->passes);
	if (least_ns == most_ns)
		printf("    of %s each, %s: %s of the device in all, %.2f %%\n", DURATION(p->cost.most_ns), source_text(p->cost.source),
		       DURATION(most_ns), percent(p, most_ns));
	else
		printf("    of %s to %s each, %s: %s to %s of the device in all, %.2f to %.2f %%\n", DURATION(p->cost.least_ns),
		       DURATION(p->cost.most_ns), source_text(p->cost.source), DURATION(least_ns), DURATION(most_ns), percent(p, least_ns),
		       percent(p, most_ns));
}

static void print_page(const struct page *p, const struct gpreempt_queue_info *queues, int nr)
{
	printf("gpu %u: observed for %s%s\n", p->gpu_id, DURATION(p->observed_ns),
	       p->observes ? "" : p->observed_ns ? ", not now" : "; try: gpreemptctl tune observe=1, and ask again after a day");
	if (!p->observed_ns)
		return;
	print_help(p);
	print_cost(p);
	print_queues(p, queues, nr);
	printf("  in a word: %s\n", word_of(p));
}

static json_object *json_of_cost(const struct page *p)
{
	json_object *o = json_object_new_object();

	add_text(o, "source", p->cost.source);
	add_number(o, "pass_ns_least", p->cost.least_ns);
	add_number(o, "pass_ns_most", p->cost.most_ns);
	add_number(o, "ns_least", p->passes * p->cost.least_ns);
	add_number(o, "ns_most", p->passes * p->cost.most_ns);
	return o;
}

static json_object *json_of_queues(const struct page *p, const struct gpreempt_queue_info *queues, int nr)
{
	json_object *list = json_object_new_array(), *o;
	char command[64];
	int i;

	for (i = 0; i < nr; i++) {
		struct observed seen = observed_of(p, &queues[i]);

		if (seen.requests < 0)
			continue;
		o = json_object_new_object();
		add_signed(o, "pid", queues[i].pid);
		add_text(o, "command", command_of(queues[i].pid, command, sizeof(command)));
		add_number(o, "queue_id", queues[i].queue_id);
		add_signed(o, "logical_priority", queues[i].logical_priority);
		add_signed(o, "requests", seen.requests);
		add_signed(o, "waited_us", seen.waited_us);
		add_signed(o, "would_be_preemptions", seen.preempted);
		json_object_array_add(list, o);
	}
	return list;
}

static json_object *json_of_page(const struct page *p, const struct gpreempt_queue_info *queues, int nr)
{
	json_object *o = json_object_new_object();

	add_number(o, "gpu_id", p->gpu_id);
	add_flag(o, "observes", p->observes);
	add_number(o, "observed_ns", p->observed_ns);
	add_text(o, "would_help", word_of(p));
	add_number(o, "requests", p->requests);
	add_number(o, "unclear", p->unclear);
	add_number(o, "waited", p->waited);
	add_number(o, "waited_ns", p->waited_ns);
	add_number(o, "waited_ns_max", p->waited_ns_max);
	add_number(o, "waited_us_p50", p->waited_us_p50);
	add_number(o, "waited_us_p99", p->waited_us_p99);
	add_number(o, "beside_ns", p->beside_ns);
	add_number(o, "would_be_preemptions", p->preemptions);
	add_number(o, "would_be_passes", p->passes);
	json_object_object_add(o, "cost_estimate", json_of_cost(p));
	json_object_object_add(o, "queues_now", json_of_queues(p, queues, nr));
	return o;
}

int cmd_report(const struct options *o)
{
	json_object *document = NULL, *list = NULL;
	struct gpreempt_node_info *nodes;
	struct queue_list queues;
	int i, nr, status = list_nodes("report", NULL, &nodes, &nr);
	bool found = false;
	struct page page;
	char text[64];

	if (status)
		return status;
	status = nr ? node_attribute(nodes[0].gpu_id, "observed_ns", text, sizeof(text)) : 0;
	if (status < 0) {
		free(nodes);
		return status == -ENOENT ? fail(EXIT_NO_MODULE, "report: the module is older than this program, and cannot observe") :
					   fail(EXIT_DENIED, "report: counters tell when other users work: they are for root with CAP_SYS_ADMIN");
	}
	status = list_queues(&(struct options){ 0 }, "report", &queues);
	if (o->json) {
		document = new_document();
		list = json_object_new_array();
		json_object_object_add(document, "nodes", list);
	}
	for (i = 0; !status && i < nr; i++) {
		if (!gpu_is_chosen(o, nodes[i].gpu_id))
			continue;
		found = true;
		page = read_page(nodes[i].gpu_id);
		if (o->json)
			json_object_array_add(list, json_of_page(&page, queues.queues, queues.nr));
		else
			print_page(&page, queues.queues, queues.nr);
	}
	free_queues(&queues);
	free(nodes);
	if (!status && !found && o->given & GIVEN_GPU)
		status = fail_errno(-ENODEV, "report: gpu %u", o->gpu_id);
	if (o->json && !status)
		print_json(document);
	else if (o->json)
		json_object_put(document);
	return status;
}

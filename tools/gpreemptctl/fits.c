// SPDX-License-Identifier: MIT
/* fits.c - gpreemptctl fits: what is reserved on each GPU, and would another reservation fit? */
#include "gpreemptctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Parts of a million, as of a thousand. What is free is rounded down, and what is taken up. */
static unsigned int fits_down(unsigned int ppm)
{
	return ppm / 1000;
}

static unsigned int fits_up(unsigned int ppm)
{
	return (ppm + 999) / 1000;
}

#define PART		"%u.%03u"
#define OF_PART(p)	(p) / 1000, (p) % 1000

/**
 * parse_reserved() - read a time behind a name, in microseconds if it has no unit
 * @word: NAME=US
 * @name: with its sign
 * @us: receives the time, in microseconds; stays without
 *
 * Return: whether it is one.
 */
bool parse_reserved(const char *word, const char *name, unsigned long long *us)
{
	unsigned long long value;

	if (strncmp(word, name, strlen(name)) || !parse_time(word + strlen(name), 1, ~0ULL, &value))
		return false;
	*us = value;
	return true;
}

/**
 * knows_reservations() - does the module know what a runtime is?
 * @g: the handle
 *
 * Return: false before version 11 of the ABI.
 */
bool knows_reservations(struct gpreempt *g)
{
	struct gpreempt_info info = { 0 };
	struct gpreempt_node_info *nodes;

	if (gpreempt_list_nodes(g, &info, &nodes) < 0)
		return false;
	free(nodes);
	return info.features & GPREEMPT_FEATURE_FITS;
}

static unsigned int fits_missing_ppm(const struct gpreempt_fits_info *n)
{
	return n->need_ppm > n->free_ppm ? n->need_ppm - n->free_ppm : 0;
}

static void fits_say_missing(const struct gpreempt_fits_info *n, unsigned long long runtime_us, unsigned long long period_us)
{
	if (n->flags & GPREEMPT_FITS_SHORT)
		fail(EXIT_FAILED, "gpu %u: period=%llu is below %" PRIu64 ", 20 times what a switch costs there", n->gpu_id, period_us,
		     (uint64_t)n->least_period_us);
	else
		fail(EXIT_FAILED, "gpu %u: runtime=%llu in period=%llu does not fit: " PART " of the device is reserved, " PART " is free, it takes " PART
		     ": " PART " is missing", n->gpu_id, runtime_us, period_us, OF_PART(fits_up(n->reserved_ppm)), OF_PART(fits_down(n->free_ppm)),
		     OF_PART(fits_up(n->need_ppm)), OF_PART(fits_up(fits_missing_ppm(n))));
}

/**
 * say_what_is_missing() - why was a reservation refused?
 * @g: the handle
 * @target: the process
 * @runtime_us: what it was to have
 * @period_us: of each of these
 *
 * Return: the exit status.
 */
int say_what_is_missing(struct gpreempt *g, const struct gpreempt_target *target, unsigned long long runtime_us, unsigned long long period_us)
{
	struct gpreempt_fits_info *nodes;
	int i, nr = gpreempt_list_fits(g, target, runtime_us, period_us, &nodes);

	for (i = 0; i < nr; i++)
		if (nodes[i].flags & GPREEMPT_FITS_HERE && !(nodes[i].flags & GPREEMPT_FITS_YES))
			fits_say_missing(&nodes[i], runtime_us, period_us);
	free(nodes);
	return fail(EXIT_FAILED, "set runtime=%llu period=%llu: does not fit; nothing changed", runtime_us, period_us);
}

static json_object *fits_json(const struct gpreempt_fits_info *n, bool asked)
{
	json_object *object = json_object_new_object();

	add_number(object, "gpu_id", n->gpu_id);
	add_number(object, "reserved_ppm", n->reserved_ppm);
	add_number(object, "free_ppm", n->free_ppm);
	add_number(object, "processes", n->nr_reservations);
	add_number(object, "waiting", n->nr_waiting);
	add_number(object, "switch_ns", n->switch_ns);
	add_number(object, "least_period_us", n->least_period_us);
	if (!asked)
		return object;
	add_number(object, "need_ppm", n->need_ppm);
	add_number(object, "missing_ppm", fits_missing_ppm(n));
	json_object_object_add(object, "fits", json_object_new_boolean(n->flags & GPREEMPT_FITS_YES));
	return object;
}

static void fits_print_node(const struct gpreempt_fits_info *n, bool asked)
{
	printf("%7u    " PART "  " PART " %9u %7u %9.1f %13" PRIu64, n->gpu_id, OF_PART(fits_up(n->reserved_ppm)), OF_PART(fits_down(n->free_ppm)),
	       n->nr_reservations, n->nr_waiting, n->switch_ns / 1e3, (uint64_t)n->least_period_us);
	if (asked)
		printf("  " PART " %s", OF_PART(fits_up(n->need_ppm)), n->flags & GPREEMPT_FITS_YES ? "yes" : "no");
	printf("\n");
}

/* Return: the exit status. */
static int fits_print_nodes(const struct options *o, const struct gpreempt_fits_info *nodes, int nr, unsigned long long runtime_us,
		       unsigned long long period_us)
{
	json_object *document = o->json ? new_document() : NULL, *array = o->json ? json_object_new_array() : NULL;
	int i, nr_shown = 0, status = 0;

	if (!o->json)
		printf("%7s %8s %6s %9s %7s %9s %13s%s\n", "GPU", "RESERVED", "FREE", "PROCESSES", "WAITING", "SWITCH_US", "PERIOD_US_MIN",
		       runtime_us ? "  TAKES FITS" : "");
	for (i = 0; i < nr; i++) {
		if (!gpu_is_chosen(o, nodes[i].gpu_id))
			continue;
		nr_shown++;
		if (o->json)
			json_object_array_add(array, fits_json(&nodes[i], runtime_us));
		else
			fits_print_node(&nodes[i], runtime_us);
		if (!runtime_us || nodes[i].flags & GPREEMPT_FITS_YES)
			continue;
		fits_say_missing(&nodes[i], runtime_us, period_us);
		status = EXIT_FAILED;
	}
	if (o->json) {
		json_object_object_add(document, "nodes", array);
		print_json(document);
	}
	if (o->given & GIVEN_GPU && !nr_shown)
		return fail_errno(-ENODEV, "gpu %u", o->gpu_id);
	return status;
}

int cmd_fits(const struct options *o)
{
	struct gpreempt_target target = o->given & GIVEN_PID ? gpreempt_target_process(o->pid, 0) : gpreempt_target_all();
	unsigned long long runtime_us = 0, period_us = 0;
	struct gpreempt_fits_info *nodes;
	struct gpreempt *g;
	int i, nr, status;

	for (i = 0; i < o->nr_args; i++)
		if (!parse_reserved(o->args[i], "runtime=", &runtime_us) && !parse_reserved(o->args[i], "period=", &period_us))
			return fail(EXIT_USAGE, "%s is neither runtime=US nor period=US", o->args[i]);
	if (o->nr_args && (!runtime_us || runtime_us > period_us))
		return fail(EXIT_USAGE, "fits needs runtime=US and period=US, a runtime from 1 to the period, not %llu and %llu", runtime_us, period_us);
	status = open_scheduler(&g);
	if (status)
		return status;
	nr = gpreempt_list_fits(g, &target, runtime_us, period_us, &nodes);
	gpreempt_close(g);
	if (nr == -ENOTTY)
		return fail(EXIT_NO_MODULE, "the module knows of no reservations; update it");
	if (nr == -EPERM)
		return fail(EXIT_DENIED, "fits: not allowed; what is reserved takes CAP_SYS_NICE");
	if (nr < 0)
		return fail_errno(nr, "fits");
	status = fits_print_nodes(o, nodes, nr, runtime_us, period_us);
	free(nodes);
	return status;
}

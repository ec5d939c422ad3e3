// SPDX-License-Identifier: MIT
/* report.c - the report as text and as JSON */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "probe.h"

#define BOUNDS_MAX	12u

/**
 * struct bound - a figure that follows from rows
 * @name: in JSON
 * @text: for people
 * @us: value
 * @known: there is one
 */
struct bound {
	const char *name;
	const char *text;
	double us;
	bool known;
};

/* ---- what follows from rows ---- */

/* Of series "occupancy": the row of an idle queue, or the one with most waves. NULL if that was not measured */
static const struct probe_row *find(const struct probe_row *row, uint32_t rows, bool in_vram, bool idle)
{
	const struct probe_row *found = NULL;
	uint32_t i;

	for (i = 0; i < rows; i++) {
		if (strcmp(row[i].series, "occupancy") || row[i].in_vram != in_vram || (idle && row[i].waves))
			continue;
		if (!found || row[i].waves > found->waves)
			found = &row[i];
	}
	return found && !found->why[0] ? found : NULL;
}

/* By which the time off the device grows with each one more, from the first row of a series to its last */
static bool slope(const struct probe_row *row, uint32_t rows, const char *series, double *us)
{
	const struct probe_row *first = NULL, *last = NULL;
	uint32_t i;

	for (i = 0; i < rows; i++) {
		if (strcmp(row[i].series, series) || row[i].why[0] || !row[i].off_us.count)
			continue;
		if (!first)
			first = &row[i];
		last = &row[i];
	}
	if (!first || first->queues == last->queues)
		return false;
	*us = (last->off_us.median - first->off_us.median) / (last->queues - first->queues);
	return true;
}

/* Its waves noted that they were away. */
static bool seen(const struct probe_row *r)
{
	return r && r->off_us.count;
}

static uint32_t bounds_of(const struct probe_row *row, uint32_t rows, struct bound *b)
{
	const struct probe_row *idle = find(row, rows, false, true);
	const struct probe_row *host = find(row, rows, false, false);
	const struct probe_row *vram = find(row, rows, true, false);
	uint32_t n = 0;
	double us = 0;

	b[n++] = (struct bound){ "unmap_us", "taking idle queues off takes at most", idle ? idle->call_us.median : 0, idle };
	b[n++] = (struct bound){ "save_host_us", "saving a full device to the host's memory takes at most", host ? host->call_us.median : 0, host };
	b[n++] = (struct bound){ "save_vram_us", "saving it to the GPU's memory takes at most", vram ? vram->call_us.median : 0, vram };
	b[n++] = (struct bound){ "restore_host_us", "runlist and restoring it from the host's memory take at most", seen(host) ? host->back_us.median : 0, seen(host) };
	b[n++] = (struct bound){ "restore_vram_us", "runlist and restoring it from the GPU's memory take at most", seen(vram) ? vram->back_us.median : 0, seen(vram) };
	b[n++] = (struct bound){ "off_host_us", "save, runlist and restore (host's memory) take at most", seen(host) ? host->off_us.median : 0, seen(host) };
	b[n++] = (struct bound){ "off_vram_us", "save, runlist and restore (GPU's memory) take at most", seen(vram) ? vram->off_us.median : 0, seen(vram) };
	b[n].known = slope(row, rows, "queues", &us);
	b[n].name = "per_queue_us";
	b[n].text = "each further idle queue of a process adds about";
	b[n++].us = us;
	b[n].known = slope(row, rows, "processes", &us);
	b[n].name = "per_process_us";
	b[n].text = "each further process with an idle queue adds about";
	b[n++].us = us;
	return n;
}

/* ---- text ---- */

static void print_spread(const struct probe_spread *s)
{
	if (s->count)
		printf(" %9.1f %9.1f", s->median, s->most);
	else
		printf(" %9s %9s", "-", "-");
}

static void print_row(const struct probe_row *r)
{
	printf("%-10s %4u %6u %6u %6u %5u %-5s", r->series, r->processes, r->queues, r->busy, r->waves, r->vgprs, r->in_vram ? "GPU" : "host");
	if (r->why[0]) {
		printf("  not measured: %s\n", r->why);
		return;
	}
	print_spread(&r->call_us);
	print_spread(&r->off_us);
	print_spread(&r->stop_us);
	print_spread(&r->back_us);
	printf(" %4u\n", r->call_us.count);
}

static const char *const stamp_names[PROBE_STAMPS] = {
	[PROBE_CONNECT] = "connect", [PROBE_SAVE] = "save", [PROBE_RESTORE] = "restore",
};

/* What firmware noted, of each row whose MQDs could be read */
static void print_stamps(const struct probe_row *row, uint32_t rows)
{
	bool readable = false;
	uint32_t i, k;

	for (i = 0; i < rows; i++)
		readable |= row[i].stamps;
	if (!readable) {
		printf("\nFirmware's own times cannot be read: that takes root, and debugfs at /sys/kernel/debug.\n");
		return;
	}
	printf("\nWhat firmware noted of the first queue, in us: its slowest XCC, median and most; -: nothing\n\n");
	printf("%-10s %4s %6s %6s %6s %5s %-5s", "series", "proc", "queues", "busy", "waves", "VGPRs", "area");
	for (k = 0; k < PROBE_STAMPS; k++)
		printf(" %9s %9s", stamp_names[k], "most");
	printf("\n");
	for (i = 0; i < rows; i++) {
		if (!row[i].stamps || row[i].why[0])
			continue;
		printf("%-10s %4u %6u %6u %6u %5u %-5s", row[i].series, row[i].processes, row[i].queues, row[i].busy, row[i].waves, row[i].vgprs,
		       row[i].in_vram ? "GPU" : "host");
		for (k = 0; k < PROBE_STAMPS; k++)
			print_spread(&row[i].stamp_us[k]);
		printf("\n");
	}
}

static void print_head(void)
{
	printf("%-10s %4s %6s %6s %6s %5s %-5s %-19s %-19s %-19s %-19s %s\n", "", "", "", "", "", "", "save", "  call", "  off the device",
	       "  call to stop", "  return to back", "");
	printf("%-10s %4s %6s %6s %6s %5s %-5s", "series", "proc", "queues", "busy", "waves", "VGPRs", "area");
	printf(" %9s %9s %9s %9s %9s %9s %9s %9s %4s\n", "median", "most", "median", "most", "median", "most", "median", "most", "n");
}

void report_text(const struct probe_machine *m, const struct probe_plan *plan, const struct probe_row *row, uint32_t rows)
{
	struct bound bound[BOUNDS_MAX];
	uint32_t n, i;

	if (m->virtual)
		printf("VIRTUAL GPU: this is about a program that stands for a GPU. Its times are those of a model.\n\n");
	printf("Machine\n");
	for (i = 0; i < m->nr_facts; i++)
		printf("  %-28s %s\n", m->fact[i].name, m->fact[i].value);
	printf("\nCalls, in us (Documentation/preempt-probe.rst says what each column is)\n\n");
	print_head();
	for (i = 0; i < rows; i++)
		if (!row[i].quiet)
			print_row(&row[i]);
	printf("\nWithout a call no wave was away for longer than %.2f us. What is longer than %.2f us counts as off the device; -: it was not.\n",
	       row[0].quiet_us, plan->threshold_us);
	print_stamps(row, rows);
	printf("\nIn short (medians; upper bounds unless it says about)\n");
	n = bounds_of(row, rows, bound);
	for (i = 0; i < n; i++)
		if (bound[i].known)
			printf("  %-64s %9.1f us\n", bound[i].text, bound[i].us);
}

/* ---- JSON ---- */

static void add_us(json_object *to, const char *name, double us)
{
	char text[32];

	snprintf(text, sizeof(text), "%.2f", us);
	json_object_object_add(to, name, json_object_new_double_s(us, text));
}

static void add_spread(json_object *to, const char *name, const struct probe_spread *s)
{
	json_object *o = s->count ? json_object_new_object() : NULL;

	if (o) {
		add_us(o, "least", s->least);
		add_us(o, "median", s->median);
		add_us(o, "most", s->most);
		json_object_object_add(o, "count", json_object_new_int64(s->count));
	}
	json_object_object_add(to, name, o);
}

static json_object *of_row(const struct probe_row *r)
{
	json_object *o = json_object_new_object();
	char name[32];
	uint32_t k;

	json_object_object_add(o, "series", json_object_new_string(r->series));
	json_object_object_add(o, "processes", json_object_new_int64(r->processes));
	json_object_object_add(o, "queues", json_object_new_int64(r->queues));
	json_object_object_add(o, "busy", json_object_new_int64(r->busy));
	json_object_object_add(o, "waves", json_object_new_int64(r->waves));
	json_object_object_add(o, "vgprs", json_object_new_int64(r->vgprs));
	json_object_object_add(o, "save_area", json_object_new_string(r->in_vram ? "vram" : "host"));
	json_object_object_add(o, "not_measured", r->why[0] ? json_object_new_string(r->why) : NULL);
	add_us(o, "quiet_us", r->quiet_us);
	if (r->quiet || r->why[0])
		return o;
	add_spread(o, "call_us", &r->call_us);
	add_spread(o, "off_us", &r->off_us);
	add_spread(o, "off_median_us", &r->off_median_us);
	add_spread(o, "stop_us", &r->stop_us);
	add_spread(o, "back_us", &r->back_us);
	for (k = 0; k < PROBE_STAMPS && r->stamps; k++) {
		snprintf(name, sizeof(name), "firmware_%s_us", stamp_names[k]);
		add_spread(o, name, &r->stamp_us[k]);
		snprintf(name, sizeof(name), "firmware_notes_%s", stamp_names[k]);
		json_object_object_add(o, name, json_object_new_boolean(r->filled[k]));
	}
	add_us(o, "clock_error_us", r->clock_error_us);
	json_object_object_add(o, "uncounted", json_object_new_int64(r->uncounted));
	return o;
}

int report_json(const char *path, const struct probe_machine *m, const struct probe_plan *plan, const struct probe_row *row,
		uint32_t rows)
{
	json_object *top = json_object_new_object(), *facts = json_object_new_object(), *list = json_object_new_array();
	json_object *bounds = json_object_new_object();
	struct bound bound[BOUNDS_MAX];
	uint32_t n, i;
	int err = 0;
	FILE *f;

	for (i = 0; i < m->nr_facts; i++)
		json_object_object_add(facts, m->fact[i].name, json_object_new_string(m->fact[i].value));
	for (i = 0; i < rows; i++)
		json_object_array_add(list, of_row(&row[i]));
	n = bounds_of(row, rows, bound);
	for (i = 0; i < n; i++)
		if (bound[i].known)
			add_us(bounds, bound[i].name, bound[i].us);
	json_object_object_add(top, "schema_version", json_object_new_int(PROBE_SCHEMA));
	json_object_object_add(top, "program", json_object_new_string("preempt-probe " VERSION));
	json_object_object_add(top, "virtual_gpu", json_object_new_boolean(m->virtual));
	json_object_object_add(top, "machine", facts);
	json_object_object_add(top, "calls", json_object_new_int64(plan->calls));
	add_us(top, "threshold_us", plan->threshold_us);
	json_object_object_add(top, "bounds", bounds);
	json_object_object_add(top, "rows", list);
	f = strcmp(path, "-") ? fopen(path, "w") : stdout;
	if (!f || fprintf(f, "%s\n", json_object_to_json_string_ext(top, JSON_C_TO_STRING_PRETTY)) < 0)
		err = -errno;
	if (f && f != stdout && fclose(f))
		err = -errno;
	json_object_put(top);
	return err;
}

// SPDX-License-Identifier: MIT
/*
 * preempt-probe - what it costs on this GPU to take queues off it and to bring them back, with the driver as it is
 *
 * No root, no patch. See Documentation/preempt-probe.rst for what the figures mean.
 */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfdlib.h"
#include "probe.h"
#include "wave.h"

#define MAX_SECONDS		120u
#define DEFAULT_CALLS		20u
#define LEAST_THRESHOLD_US	3.0
#define FIRST_CALL_MS		8u
#define MOST_CALL_MS		512u
#define QUIET_FACTOR		1.5
#define VGPRS			64u	/* eight such waves fill the registers of a SIMD, and have all of its slots */
#define MOST_PROCESSES		8u	/* as many have a VMID on each of these devices */
#define MEMORY_PART		4	/* of what is free is not taken for save areas */
#define LEAVE_NS		(2000 * KFD_NS_PER_MS)	/* until the driver has forgotten a process that was killed */

static const char *const series_names[] = { "occupancy", "registers", "queues", "processes", "shared" };

#define SERIES		(sizeof(series_names) / sizeof(series_names[0]))

/**
 * struct options - what the user asked for
 * @gpu: number of the GPU
 * @calls: in each row
 * @json: file, "-" for stdout, or NULL
 * @series: bit for each of series_names[]
 */
struct options {
	unsigned int gpu;
	unsigned int calls;
	const char *json;
	unsigned int series;
};

static struct probe_row row[PROBE_MAX_ROWS];
static uint32_t rows;

/* ---- arguments ---- */

const char *argp_program_version = "preempt-probe " VERSION;

static const struct argp_option options_table[] = {
	{ "gpu", 'g', "N", 0, "GPU number N, in the order of KFD's topology (0)", 0 },
	{ "calls", 'c', "N", 0, "so many calls for each row, 1 to 64 (20)", 0 },
	{ "json", 'j', "FILE", 0, "write the report to FILE as JSON, too; -: to stdout, instead of text", 0 },
	{ "series", 's', "NAME", 0, "only this series: occupancy, registers, queues, processes, shared; may be given several times", 0 },
	{ 0 },
};

static unsigned int number(struct argp_state *state, const char *what, const char *text, unsigned long least, unsigned long most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end || value < least || value > most)
		argp_error(state, "%s: '%s' is no number from %lu to %lu; nothing was measured", what, text, least, most);
	return (unsigned int)value;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct options *o = state->input;
	size_t i;

	switch (key) {
	case 'g':
		o->gpu = number(state, "--gpu", text, 0, 127);
		return 0;
	case 'c':
		o->calls = number(state, "--calls", text, 1, PROBE_MAX_CALLS);
		return 0;
	case 'j':
		o->json = text;
		return 0;
	case 's':
		for (i = 0; i < SERIES; i++)
			if (!strcmp(text, series_names[i]))
				break;
		if (i == SERIES)
			argp_error(state, "--series: there is no '%s'; nothing was measured", text);
		o->series |= 1u << i;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is no option; nothing was measured", text);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options_table,
	.parser = parse,
	.doc = "Measures what it costs to take busy queues off an AMD Instinct GPU and to bring them back: with kernels of its own, and calls of "
	       "AMDKFD_IOC_SET_CU_MASK, which make the driver unmap and map all queues of the GPU. Needs no root and no patch."
	       "\vIt runs only while no other program has queues on the GPU, takes some ten seconds, and ends itself after 120. "
	       "Status: 0 done, 1 something went wrong, 2 usage, 4 it cannot run here, and says why.",
};

/* ---- which rows there are ---- */

static struct probe_row *add(const char *series, uint32_t processes, uint32_t queues, uint32_t busy, uint32_t waves, uint32_t vgprs,
			     bool in_vram)
{
	struct probe_row *r = &row[rows++];

	*r = (struct probe_row){
		.series = series, .processes = processes, .queues = queues, .busy = waves ? busy : 0, .waves = waves, .vgprs = vgprs,
		.in_vram = in_vram,
	};
	return r;
}

static void add_occupancy(uint32_t full, bool in_vram)
{
	const uint32_t waves[] = { 0, 1, full / 4, full / 2, full };
	size_t i;

	for (i = 0; i < sizeof(waves) / sizeof(waves[0]); i++)
		add("occupancy", 1, 1, 1, waves[i], VGPRS, in_vram);
}

static void add_rows(const struct probe_machine *m, unsigned int series)
{
	uint32_t full = m->simds * (m->waves_per_simd < WAVE_MAX_VGPRS / VGPRS ? m->waves_per_simd : WAVE_MAX_VGPRS / VGPRS), n;

	add("quiet", 1, 1, 1, full, VGPRS, false)->quiet = true;
	if (series & 1) {
		add_occupancy(full, false);
		add_occupancy(full, true);
	}
	if (series & 2) {
		add("registers", 1, 1, 1, full, WAVE_MIN_VGPRS, false);
		add("registers", 1, 1, 1, m->simds, WAVE_MAX_VGPRS, false);
	}
	for (n = 1; n <= PROBE_MAX_QUEUES && series & 4; n *= 2)
		add("queues", 1, n, 1, full, VGPRS, false);
	for (n = 1; n <= MOST_PROCESSES && series & 8; n *= 2)
		add("processes", n, n, 1, full, VGPRS, false);
	for (n = 2; n <= MOST_PROCESSES && series & 16; n *= 2) {
		add("shared", 1, n, n, full, VGPRS, false);
		add("shared", n, n, n, full, VGPRS, false);
	}
}

/* ---- safety ---- */

static void too_late(int number)
{
	static const char text[] = "preempt-probe: 120 s are over: ended, without a report\n";

	(void)number;
	measure_kill();
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(PROBE_WRONG);
	_exit(PROBE_WRONG);
}

static void interrupted(int number)
{
	measure_kill();
	while (wait(NULL) > 0)
		;
	_exit(128 + number);
}

/* Bytes of the host's memory that are free */
static uint64_t memory_free(void)
{
	char text[4096], *line;

	if (kfd_file_read("/proc/meminfo", text, sizeof(text)) <= 0 || !(line = strstr(text, "MemAvailable:")))
		return UINT64_MAX;
	return strtoull(line + strlen("MemAvailable:"), NULL, 10) * 1024;
}

/* False: *@r says why it may not be measured */
static bool may_run(const struct probe_machine *m, struct probe_row *r)
{
	uint64_t deadline = kfd_now_ns() + LEAVE_NS;
	int foreign;

	while ((foreign = machine_foreign_queues(m, 0)) && kfd_now_ns() < deadline)
		kfd_sleep_ns(10 * KFD_NS_PER_MS);
	if (foreign)
		snprintf(r->why, sizeof(r->why), "queues of other programs are on the GPU");
	else if (!r->in_vram && r->queues * m->save_bytes > memory_free() / MEMORY_PART)
		snprintf(r->why, sizeof(r->why), "its save areas would take over 1/%d of the free memory", MEMORY_PART);
	return !r->why[0];
}

/* ---- */

/* Again with more time, until all calls find room while the waves run */
static void measure_long_enough(const struct probe_machine *m, struct probe_plan *plan, struct probe_row *r)
{
	const struct probe_row fresh = *r;

	while (may_run(m, r)) {
		measure_row(m, plan, r);
		if (!r->out_of_time || r->wrong || plan->call_ms >= MOST_CALL_MS)
			break;
		plan->call_ms *= 4;
		*r = fresh;
	}
}

static bool measure_all(const struct probe_machine *m, struct probe_plan *plan)
{
	bool good = true;
	uint32_t i;

	for (i = 0; i < rows; i++) {
		struct probe_row *r = &row[i];

		fprintf(stderr, "preempt-probe: row %u of %u: %s, %u queues of %u processes, %u waves\n", i + 1, rows, r->series, r->queues,
			r->processes, r->waves);
		measure_long_enough(m, plan, r);
		good &= !r->wrong;
		if (r->quiet && QUIET_FACTOR * r->quiet_us > plan->threshold_us)
			plan->threshold_us = QUIET_FACTOR * r->quiet_us;
	}
	return good;
}

int main(int argc, char **argv)
{
	struct options o = { .calls = DEFAULT_CALLS };
	static struct probe_machine machine;
	struct probe_plan plan = { .threshold_us = LEAST_THRESHOLD_US, .call_ms = FIRST_CALL_MS };
	const char *why;
	bool good;
	int err = 0;

	argp_err_exit_status = PROBE_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (!o.series)
		o.series = (1u << SERIES) - 1;
	plan.calls = o.calls;
	why = machine_look(&machine, o.gpu);
	if (why) {
		fprintf(stderr, "preempt-probe: %s\n", why);
		return PROBE_SKIPPED;
	}
	signal(SIGALRM, too_late);
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	alarm(MAX_SECONDS);
	add_rows(&machine, o.series);
	good = measure_all(&machine, &plan);
	alarm(0);
	if (o.json)
		err = report_json(o.json, &machine, &plan, row, rows);
	if (!o.json || strcmp(o.json, "-"))
		report_text(&machine, &plan, row, rows);
	if (err)
		fprintf(stderr, "preempt-probe: %s: %s; the report is above\n", o.json, strerror(-err));
	return good && !err ? PROBE_DONE : PROBE_WRONG;
}

/* SPDX-License-Identifier: MIT */
/* probe.h - what the parts of preempt-probe have in common */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_SCHEMA		1
#define PROBE_MAX_CALLS		64u
#define PROBE_MAX_QUEUES	16u	/* of all processes together: fewer than there are slots on any of these devices */
#define PROBE_MAX_ROWS		48u
#define PROBE_MAX_FACTS		64u
#define PROBE_WHY_BYTES		160u

/* Exit statuses */
#define PROBE_DONE		0
#define PROBE_WRONG		1
#define PROBE_USAGE		2
#define PROBE_SKIPPED		4

/* ---- machine.c ---- */

/**
 * struct probe_fact - something about the machine
 * @name: of it
 * @value: text
 */
struct probe_fact {
	char name[40];
	char value[128];
};

/**
 * struct probe_machine - where it runs
 * @gpu_id: KFD's number of the GPU
 * @gfx_target_version: 90010 for gfx90a
 * @simds: SIMDs of the node
 * @cus: compute units
 * @xccs: compute dies
 * @waves_per_simd: wave slots of a SIMD
 * @save_bytes: of a queue's save areas, of all XCCs
 * @virtual: a virtual GPU of this project
 * @nr_facts: how many there are
 * @fact: for the report
 */
struct probe_machine {
	uint32_t gpu_id;
	uint32_t gfx_target_version;
	uint32_t simds;
	uint32_t cus;
	uint32_t xccs;
	uint32_t waves_per_simd;
	uint64_t save_bytes;
	bool virtual;
	uint32_t nr_facts;
	struct probe_fact fact[PROBE_MAX_FACTS];
};

/* @which: the GPU's place among those of topology, from 0. Return: NULL, or why the probe cannot run here */
const char *machine_look(struct probe_machine *m, unsigned int which);
/* Queues on the GPU that are not of the processes of @ours, whose queues are not counted. -1: the driver does not tell */
int machine_foreign_queues(const struct probe_machine *m, unsigned int ours);

/* ---- stamps.c ---- */

enum { PROBE_CONNECT, PROBE_SAVE, PROBE_RESTORE, PROBE_STAMPS };

/**
 * struct probe_stamps - times that firmware noted for a queue
 * @begin: of each XCC, when it was looked at last, in ticks
 * @us: how long the slowest XCC took, since then; -1: nothing new
 * @filled: not 0: firmware has ever noted it
 */
struct probe_stamps {
	uint64_t begin[8][PROBE_STAMPS];
	double us[PROBE_STAMPS];
	uint64_t filled[PROBE_STAMPS];
};

/* Return: false if they cannot be read, which takes root and debugfs */
bool stamps_read(uint32_t gpu_id, int pid, struct probe_stamps *s);

/* ---- measure.c ---- */

/**
 * struct probe_spread - some values of one figure
 * @least: the smallest; us, as the others
 * @median: nearest rank
 * @most: the largest
 * @count: how many there are; 0: none, and the others mean nothing
 */
struct probe_spread {
	double least;
	double median;
	double most;
	uint32_t count;
};

/**
 * struct probe_row - a state of the device, and what calls took then
 * @series: which question it belongs to
 * @processes: that have queues
 * @queues: of all of them, each with its share
 * @busy: queues that execute waves, the first ones
 * @waves: on the device, of all queues
 * @vgprs: that each wave takes
 * @in_vram: save areas lie in the GPU's memory; otherwise in the host's
 * @quiet: no call is made
 * @call_us: how long a call took
 * @off_us: how long the wave that was away the longest was off the device, for each call after which every wave noted a gap, as the next three
 * @off_median_us: the same of the wave in the middle
 * @stop_us: from the beginning of a call until the last wave had stopped
 * @back_us: from the end of a call until the last wave went on
 * @stamp_us: what firmware noted: how long it took to connect, save and restore the first queue
 * @stamps: they could be read
 * @filled: firmware notes them
 * @clock_error_us: so far the two clocks, and with them @stop_us and @back_us, may be apart
 * @quiet_us: longest time between two looks of a wave that no call explains
 * @uncounted: calls that did not find all waves at work
 * @out_of_time: the waves' time was over before all calls were made: @call_ms is too short
 * @why: it was not measured, because; empty: it was
 * @wrong: a wave did not come to its end, or a process failed
 */
struct probe_row {
	const char *series;
	uint32_t processes;
	uint32_t queues;
	uint32_t busy;
	uint32_t waves;
	uint32_t vgprs;
	bool in_vram;
	bool quiet;
	struct probe_spread call_us;
	struct probe_spread off_us;
	struct probe_spread off_median_us;
	struct probe_spread stop_us;
	struct probe_spread back_us;
	struct probe_spread stamp_us[PROBE_STAMPS];
	bool stamps;
	bool filled[PROBE_STAMPS];
	double clock_error_us;
	double quiet_us;
	uint32_t uncounted;
	bool out_of_time;
	char why[PROBE_WHY_BYTES];
	bool wrong;
};

/**
 * struct probe_plan - what is asked for
 * @calls: of each row
 * @threshold_us: longer than this a wave was off the device
 * @call_ms: time that a call has in the mean, with the pause after it
 */
struct probe_plan {
	uint32_t calls;
	double threshold_us;
	uint32_t call_ms;
};

/* Fills in the figures of a row. Forks; nothing of what it forked is left when it returns. */
void measure_row(const struct probe_machine *m, const struct probe_plan *plan, struct probe_row *row);
/* Called in a signal handler: ends the processes of a row. */
void measure_kill(void);

/* ---- report.c ---- */

void report_text(const struct probe_machine *m, const struct probe_plan *plan, const struct probe_row *row, uint32_t rows);
/* Return: 0 or negative errno */
int report_json(const char *path, const struct probe_machine *m, const struct probe_plan *plan, const struct probe_row *row,
		uint32_t rows);

#endif /* PROBE_H */

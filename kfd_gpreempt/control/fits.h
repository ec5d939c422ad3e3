/* SPDX-License-Identifier: MIT */
/* fits.h - reservations: what is reserved on each node, and does another one fit? */
#ifndef GPREEMPT_FITS_H
#define GPREEMPT_FITS_H

#include "core/priority.h"

struct pid;

/**
 * struct gpreempt_fits_list - nodes being listed
 * @except: the process whose runtime does not count; NULL: all do
 * @runtime_us: what is asked about; 0: nothing is
 * @period_us: its period
 * @nodes: array
 * @max: its length
 * @nr: nodes there are
 */
struct gpreempt_fits_list {
	const struct pid *except;
	u64 runtime_us;
	u64 period_us;
	struct gpreempt_fits_info *nodes;
	u32 max;
	u32 nr;
};

int gpreempt_fits_change_process(struct pid *pid, gpreempt_setting_fn fn, void *arg);
void gpreempt_fits_list_nodes(struct gpreempt_fits_list *list);

#endif /* GPREEMPT_FITS_H */

/* SPDX-License-Identifier: MIT */
/* crowd.h - many victims beside endless work of a higher queue, and what came of them */
#ifndef POLICY_CROWD_H
#define POLICY_CROWD_H

#include "policy_node.h"

#define STEP		(500 * US)
#define NR_VICTIMS	50

static struct queue *victims[NR_VICTIMS];

/* What came of a crowd of victims beside endless work of a higher queue. */
static struct {
	u64 high_ns;
	u64 total_ns;
	u64 waited_ns[NR_VICTIMS];
	u64 longest_ns;
} crowd;

/* A pass, and what the device does until the next one: a process at a time, so that it says who could fill the device. */
static void crowd_step(u32 nr)
{
	bool alone = on_device(high);
	u32 i;

	pass_after(STEP);
	for (i = 0; i < nr; i++) {
		bool runs = on_device(victims[i]) && has_work(victims[i]);

		if (runs)
			launch(victims[i], 1, 8);
		alone &= !runs;
		crowd.waited_ns[i] = runs || !has_work(victims[i]) ? 0 : crowd.waited_ns[i] + STEP;
		if (crowd.waited_ns[i] > crowd.longest_ns)
			crowd.longest_ns = crowd.waited_ns[i];
	}
	/* Shares count from when all work. */
	if (!has_work(victims[nr - 1]))
		return;
	crowd.total_ns += STEP;
	crowd.high_ns += alone ? STEP : 0;
}

#endif /* POLICY_CROWD_H */

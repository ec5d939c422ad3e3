/* SPDX-License-Identifier: MIT */
/*
 * pass.h - one look at a node, from its samples to its decision
 *
 * Pure code: see policy.h for what may be used here.
 */
#ifndef GPREEMPT_PASS_H
#define GPREEMPT_PASS_H

#include "policy.h"

/**
 * struct gpreempt_pass - what one pass knows
 * @now_ns: time of the samples
 * @policy: by which it decides
 * @turns_ns: firmware takes turns: so long may a queue wait for its turn; 0: it does not
 * @waves_saved: counters of waves do not count, only what runlists save tells
 * @checks: a runlist without any action tells what has waves
 * @accounts: device time is accounted; only where that is built
 * @told_ns: when a doorbell told of the work that this pass is about; 0: none did
 * @read_cost_ns: what reading waves took; written by the reader
 *
 * @needs_waves: the decision depends on waves in flight
 * @read: waves were read
 * @asks_runlist: the decision is put off until a runlist has told what has waves
 * @decision: what was decided
 *
 * The caller writes what is before @needs_waves.
 */
struct gpreempt_pass {
	u64 now_ns;
	const struct gpreempt_policy_ops *policy;
	u64 turns_ns;
	bool waves_saved;
	bool checks;
	bool accounts;
	u64 told_ns;
	u64 read_cost_ns;

	bool needs_waves;
	bool read;
	bool asks_runlist;
	struct gpreempt_decision decision;
};

/*
 * Reads waves in flight: gpreempt_demand_counted() for each mapped queue that is sampled. Returns
 * false if they cannot be read now. Nothing waits for the answer unless &gpreempt_pass.needs_waves.
 */
typedef bool (*gpreempt_pass_read_fn)(struct gpreempt_policy_node *pn, struct gpreempt_pass *pass);

bool gpreempt_pass_look(struct gpreempt_policy_node *pn, struct gpreempt_pass *pass,
			gpreempt_pass_read_fn read);
void gpreempt_pass_decide(struct gpreempt_policy_node *pn, struct gpreempt_pass *pass);

#endif /* GPREEMPT_PASS_H */

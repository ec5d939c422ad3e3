// SPDX-License-Identifier: MIT
/*
 * pass.c - one look at a node, from its samples to its decision
 *
 * The monitor, the tests of the policy, the simulator and the fuzzer call the same functions: so
 * what is tested is what runs.
 *
 * Pure code: see policy.h for what may be used here.
 */
#include "demand.h"
#include "pass.h"

/* Waves in flight matter to no decision, and yet they are worth to be known. */
static bool pass_welcomes_waves(const struct gpreempt_policy_node *pn,
				const struct gpreempt_pass *pass)
{
	/* The work that a doorbell has just told of need not be looked at. */
	return (pn->unproven && pass->checks) || pn->piles ||
	       (pass->accounts && !pass->told_ns &&
		gpreempt_accounts->welcomes_waves(pn, pass->now_ns));
}

/* Returns false if the decision is put off until waves are known. */
static bool pass_know_waves(struct gpreempt_policy_node *pn, struct gpreempt_pass *pass,
			    gpreempt_pass_read_fn read)
{
	bool reads = pn->device.waves_known && !pass->waves_saved;

	pass->needs_waves = gpreempt_policy_needs_waves(pn, pass->now_ns);
	if (reads && (pass->needs_waves || pass_welcomes_waves(pn, pass)))
		pass->read = read(pn, pass);
	if (!pass->needs_waves)
		return true;
	if (reads && !pass->read)
		return false;
	pass->asks_runlist = pass->checks && gpreempt_policy_needs_runlist(pn, pass->now_ns);
	return !pass->asks_runlist;
}

/**
 * gpreempt_pass_look() - can it be decided now?
 * @pn: the node, sampled; its tunables and what is known of its device are those of this pass
 * @pass: receives what is known of waves
 * @read: reads them
 *
 * Return: true: gpreempt_pass_decide() is to follow. False: there is no decision this time, and all
 * queues are as before. If @pass asks for a runlist, that is to be sent before the next pass
 */
bool gpreempt_pass_look(struct gpreempt_policy_node *pn, struct gpreempt_pass *pass,
			gpreempt_pass_read_fn read)
{
	pass->read = false;
	pass->asks_runlist = false;
	if (pn->ops != pass->policy)
		gpreempt_policy_use(pn, pass->policy);
	gpreempt_demand_turns(pn, pass->turns_ns);
	if (pass->waves_saved && !pn->device.waves_saved)
		gpreempt_demand_miscounted(pn, pass->now_ns);
	pn->device.waves_saved = pass->waves_saved;
	/* Counters that have never shown a wave may not count at all. */
	pn->account.tells = pn->device.waves_known && !pass->waves_saved &&
			    gpreempt_policy_counters_count(pn);
	if (pass_know_waves(pn, pass, read))
		return true;
	gpreempt_policy_put_off(pn);
	return false;
}

/**
 * gpreempt_pass_decide() - who yields, who returns, when to look again
 * @pn: the node, after gpreempt_pass_look() of this pass
 * @pass: receives the decision; each queue's action is in the queue
 */
void gpreempt_pass_decide(struct gpreempt_policy_node *pn, struct gpreempt_pass *pass)
{
	gpreempt_policy_decide(pn, pass->now_ns, &pass->decision);
	if (pass->accounts)
		gpreempt_accounts->decided(pn, pass);
}

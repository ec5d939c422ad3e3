// SPDX-License-Identifier: MIT
/*
 * decision_test.c - a decision as a whole
 *
 * What it counts, what is left of it when it was put off or not carried out, what confirming
 * changes, and the last one, which resumes everything.
 */
#include <string.h>

#include "demand.h"
#include "policy_node.h"
#include "tap.h"

TEST(counts_of_a_decision, "how many are preempted and how many are in the way is counted, and no longer than it lasts")
{
	struct queue *second, *immovable[2];
	u32 i;

	for (i = 0; i < 2; i++) {
		immovable[i] = new_queue(new_process(), LOW);
		immovable[i]->policy.set.immovable = true;
		start_hog(immovable[i]);
	}
	second = new_queue(new_process(), LOW);
	start_hog(second);
	hog_preempts_low();
	CHECK_AFTER(POLL, node.decision.level_valid);
	CHECK_EQ(node.decision.nr_preempted, 2);
	CHECK_EQ(node.decision.nr_in_the_way, 2);
	drain(immovable[0]);
	/* Nobody hurries to ask it. */
	CHECK_LATER(250 * MS, !immovable[0]->policy.in_the_way);
	CHECK_EQ(node.decision.nr_in_the_way, 1);
	drain(high);
	CHECK_EQ_LATER(5 * MS, node.decision.nr_in_the_way, 0);
	CHECK_EQ(node.decision.nr_preempted, 0);
	CHECK(!immovable[1]->policy.in_the_way);
}

TEST(a_decision_is_made_anew, "what was decided and not carried out means nothing to the next decision")
{
	two_processes();
	last_kernel(low);
	submit(high, 1);
	look();
	CHECK_EQ(low->policy.action, GPREEMPT_PREEMPT);
	finish(low);
	drain(high);
	node.now_ns += MS;
	look();
	CHECK_EQ(low->policy.action, GPREEMPT_KEEP);
	CHECK_EQ(node.decision.nr_preempt, 0);
}

TEST(an_unconfirmed_action_is_decided_again,
     "what the backend did not carry out and confirm is asked for by the next pass")
{
	two_processes();
	start_hog(low);
	submit(high, 1);
	look();
	CHECK_EQ(low->policy.action, GPREEMPT_PREEMPT);
	CHECK(on_device(low));
	node.now_ns += POLL;
	look();
	CHECK_EQ(low->policy.action, GPREEMPT_PREEMPT);
}

TEST(what_was_put_off_is_forgotten, "a decision that was put off touches nothing that has gone by the next one")
{
	struct gpreempt_decision decision;

	two_processes();
	start_hog(low);
	passes_for(20 * MS, MS);
	/* Its only packet was launched between two looks: whether it has waves is the question. */
	submit(high, 1);
	launch(high, 1, 4);
	node.now_ns += MS;
	gpreempt_demand_sample(&low->policy, low->rptr, low->wptr, pending(low), node.now_ns);
	gpreempt_demand_sample(&high->policy, high->rptr, high->wptr, pending(high), node.now_ns);
	node.policy.nr = 2;
	node.policy.nr_dormant = 0;
	CHECK(gpreempt_policy_needs_waves(&node.policy, node.now_ns));
	gpreempt_policy_put_off(&node.policy);
	CHECK_EQ(low->policy.action, GPREEMPT_KEEP);
	CHECK_EQ(high->policy.action, GPREEMPT_KEEP);

	node.policies[0] = &high->policy;
	node.policies[1] = NULL;
	node.policy.nr = 1;
	node.now_ns += MS;
	gpreempt_demand_sample(&high->policy, high->rptr, high->wptr, pending(high), node.now_ns);
	CHECK(!gpreempt_policy_needs_waves(&node.policy, node.now_ns));
	gpreempt_policy_decide(&node.policy, node.now_ns, &decision);
	CHECK_EQ(decision.nr_preempt + decision.nr_resume, 0);
}

TEST(confirming_makes_a_queue_new, "what is confirmed as preempted or resumed has nothing left of the state before")
{
	struct gpreempt_policy_queue *pq;
	u64 now_ns;

	low_works();
	pq = &low->policy;
	now_ns = node.now_ns + MS;
	pq->aged_until_ns = pq->seen.stalled_ns = pq->seen.zero_ns = pq->seen.waves_ns = now_ns;
	pq->seen.blocked = true;
	pq->action = GPREEMPT_PREEMPT;
	gpreempt_policy_preempted(pq, true, now_ns);
	CHECK(pq->preempted && pq->saved_waves && !pq->seen.blocked);
	CHECK_EQ(pq->aged_until_ns + pq->seen.stalled_ns + pq->seen.zero_ns + pq->seen.waves_ns, 0);
	CHECK(pq->preempted_at_ns == now_ns && pq->seen.starved_ns == now_ns && pq->outranked_ns == now_ns && pq->seen.moved_ns == now_ns);
	CHECK_EQ(pq->action, GPREEMPT_KEEP);
	gpreempt_policy_saved(pq, false);
	CHECK(!pq->saved_waves);
	gpreempt_policy_saved(pq, true);

	now_ns += MS;
	pq->seen.zero_ns = pq->seen.waves_ns = now_ns;
	pq->action = GPREEMPT_RESUME;
	gpreempt_policy_resumed(pq, now_ns);
	CHECK(!pq->preempted && !pq->saved_waves);
	CHECK_EQ(pq->seen.zero_ns + pq->seen.waves_ns, 0);
	CHECK(pq->seen.launched_ns == now_ns && pq->seen.active_ns == now_ns && pq->seen.run_ns == now_ns && pq->seen.moved_ns == now_ns);
	CHECK_EQ(pq->seen.stalled_ns, now_ns);
	CHECK_EQ(pq->action, GPREEMPT_KEEP);
	pq->seen.pending = 0;
	gpreempt_policy_resumed(pq, now_ns);
	CHECK_EQ(pq->seen.stalled_ns, 0);
}

TEST(what_confirming_keeps, "that there were no waves is known on after a preemption and a resume of a queue that had neither waves nor packets")
{
	EACH(i, 8, "case %u: ", i) {
		bool saved = i & 1, pending = i & 2, zero = i & 4, keeps = !saved && !pending && zero;
		struct gpreempt_policy_queue q = { .seen.pending = pending, .seen.zero_ns = zero ? 100 : 0, .seen.waves_ns = 200, .seen.moved_ns = 50 };

		gpreempt_policy_preempted(&q, saved, 300);
		CHECK_EQ(q.seen.waves_ns, keeps ? 200 : 0);
		CHECK_EQ(q.seen.moved_ns, keeps ? 50 : 300);
		q = (struct gpreempt_policy_queue){ .preempted = true, .saved_waves = saved, .seen.pending = pending, .seen.zero_ns = zero ? 100 : 0,
						    .seen.waves_ns = 200, .seen.moved_ns = 50 };
		gpreempt_policy_resumed(&q, 300);
		CHECK_EQ(q.seen.waves_ns, keeps ? 300 : 0);
		CHECK_EQ(q.seen.zero_ns, keeps ? 100 : 0);
		CHECK_EQ(q.seen.moved_ns, keeps ? 50 : 300);
		CHECK_EQ(q.seen.active_ns, saved || pending ? 300 : 0);
	}
}

TEST(resume_all, "switching off resumes every preempted queue and nothing else, whatever the level")
{
	struct gpreempt_decision d;
	struct queue *immovable = new_queue(new_process(), LOW);

	low_is_preempted();
	immovable->policy.set.immovable = true;
	gpreempt_policy_resume_all(&node.policy, &d);
	CHECK_EQ(d.nr_resume, 2);
	CHECK_EQ(d.nr_preempt, 0);
	CHECK(d.park);
	CHECK_EQ(low->policy.action, GPREEMPT_RESUME);
	CHECK_EQ(immovable->policy.action, GPREEMPT_RESUME);
	CHECK_EQ(high->policy.action, GPREEMPT_KEEP);
	node.decision = d;
	act();
	CHECK(on_device(low));
}

TEST(resuming_all_says_so, "the decision that switches off asks for nothing but resumes, and nobody stands still from then on")
{
	struct gpreempt_decision d;

	hog_preempts_low();
	submit(high, 1);
	CHECK_AFTER(POLL, high->policy.seen.stalled_ns != 0);
	memset(&d, 0x55, sizeof(d));
	gpreempt_policy_resume_all(&node.policy, &d);
	CHECK_EQ(d.nr_resume, 1);
	CHECK_EQ(d.nr_preempt + d.nr_preempted + d.nr_in_the_way + d.nr_relief, 0);
	CHECK(d.park && !d.inversion && !d.contended && !d.over_budget && !d.level_valid);
	CHECK_EQ(high->policy.seen.stalled_ns, 0);
	CHECK_EQ(low->policy.seen.stalled_ns, 0);
}

// SPDX-License-Identifier: MIT
/*
 * turns_test.c - firmware that takes turns
 *
 * With more queues than it has slots, what does not show may wait for its turn.
 */
#include "policy_node.h"
#include "tap.h"

/* What firmware needs until it has come to each of a few queues */
#define TURNS_NS	(4 * GPREEMPT_TURN_NS)

TEST(firmware_turns_block_nobody,
     "while firmware takes turns a queue that stands still is not blocked; that time does not count, and who was blocked is not any more")
{
	node.params.max_hold_ns = 0;
	low_is_preempted();
	node.turns_ns = TURNS_NS;
	CHECK_LATER(500 * MS, !on_device(low));
	CHECK(!high->policy.seen.blocked);
	CHECK_EQ(node.nr_asked, 0);
	node.turns_ns = 0;
	CHECK_LATER(node.params.blocked_ns - 2 * POLL, !on_device(low));
	CHECK_LATER(GPREEMPT_WAVES_SETTLE_NS + 4 * POLL, high->policy.seen.blocked && on_device(low));
	node.turns_ns = TURNS_NS;
	CHECK_AFTER(POLL, !high->policy.seen.blocked);
	CHECK(!on_device(low));
}

TEST(firmware_turns_hide_waves, "while firmware takes turns an empty ring without counted waves may be a kernel that waits for its turn: nothing below comes back before all have had theirs")
{
	u64 end_ns;

	low_is_preempted();
	node.turns_ns = TURNS_NS;
	node.params.max_hold_ns = 0;
	launch(high, 1, 8);
	end_ns = node.now_ns + SEC;
	while (node.now_ns < end_ns) {
		high->invisible = true;
		CHECK_LATER(TURNS_NS - GPREEMPT_TURN_NS, !on_device(low));
		high->invisible = false;
		CHECK_LATER(GPREEMPT_TURN_NS, !on_device(low));
	}
	finish(high);
	high->invisible = true;
	CHECK_LATER(GPREEMPT_WAVES_SETTLE_NS + 3 * POLL, on_device(low));
}

TEST(firmware_turns_end, "a queue whose MQD says that waves were saved is idle once no waves have been counted for as long as all turns take")
{
	low_is_preempted();
	node.turns_ns = TURNS_NS;
	node.stack_kept = true;
	drain(high);
	CHECK_LATER(TURNS_NS - POLL, !on_device(low));
	CHECK_LATER(4 * POLL, on_device(low));
}

TEST(firmware_turns_are_looked_for_closely, "looks that miss turns between them do not add up to having seen all of them")
{
	low_is_preempted();
	node.turns_ns = TURNS_NS;
	node.params.max_hold_ns = 0;
	launch(high, 1, 8);
	high->invisible = true;
	TIMES(20) {
		CHECK_AFTER(GPREEMPT_TURN_NS + 2 * MS, !on_device(low));
	}
	/* Where passes may be so far apart, that is as close as it gets. */
	node.params.interval_ns = GPREEMPT_TURN_NS + 2 * MS;
	CHECK_LATER_EVERY(TURNS_NS + 2 * node.params.interval_ns, node.params.interval_ns, on_device(low));
	submit(high, 1);
	CHECK_AFTER(POLL, !on_device(low));
	launch(high, 1, 8);
	node.params.interval_ns = MS;
	node.params.poll_ns = GPREEMPT_TURN_NS + 2 * MS;
	CHECK_LATER_EVERY(TURNS_NS + 2 * node.params.poll_ns, node.params.poll_ns, on_device(low));
	/* So it is where looks are that far apart for what they cost. */
	submit(high, 1);
	CHECK_AFTER(POLL, !on_device(low));
	launch(high, 1, 8);
	node.params.poll_ns = POLL;
	TIMES(2)
		gpreempt_policy_cost(&node.policy, 10 * MS, 0);
	CHECK_LATER_EVERY(TURNS_NS, 240 * MS, !on_device(low));
	CHECK_LATER_EVERY(SEC, 240 * MS, on_device(low));
}

TEST(firmware_turns_begin_beside_idle_queues, "a queue that was known to have no waves has none when turns begin, or when there are more of them")
{
	low_is_preempted();
	drain(high);
	CHECK_LATER(2 * GPREEMPT_WAVES_SETTLE_NS, on_device(low));
	node.turns_ns = TURNS_NS;
	passes_for(2 * TURNS_NS, POLL);
	node.turns_ns = 4 * TURNS_NS;
	CHECK_LATER(2 * TURNS_NS, on_device(low));
	CHECK_EQ(low->preempted, 1);
}

TEST(firmware_turns_begin_with_a_runlist, "waves that a runlist had not brought back when firmware began to take turns may wait for a turn")
{
	low_is_preempted();
	node.params.max_hold_ns = 0;
	launch(high, 1, 8);
	pass_after(POLL);
	node.runlist_changed = true;
	high->invisible = true;
	pass_after(POLL);
	node.turns_ns = TURNS_NS;
	CHECK_LATER(TURNS_NS / 2, !on_device(low));
}

TEST(firmware_turns_ask_nobody, "while firmware takes turns no queue is asked for waves to find another one blocked")
{
	two_processes();
	low->policy.set.immovable = true;
	last_kernel(low);
	submit(high, 1);
	node.turns_ns = TURNS_NS;
	CHECK_EQ_LATER(GPREEMPT_WAVES_UNKNOWN_NS / 2, node.nr_asked, 0);
	node.turns_ns = 0;
	CHECK_EQ_AFTER(POLL, node.nr_asked, 1);
}

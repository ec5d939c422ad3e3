// SPDX-License-Identifier: MIT
/* stamps_test.c - what firmware notes in MQDs: read of what comes back to the device, on all XCCs, and what the budget makes of it */
#include "demand.h"
#include "rivals.h"

static struct gpreempt_stamps *stamps_of(enum gpreempt_stamp kind)
{
	return &PART(struct gpreempt_node_stamps, stamps, NODE, node_of(0))->kind[kind];
}

static u64 median_us(enum gpreempt_stamp kind)
{
	return stamps_of(kind)->median_ns / US;
}

/* A pass in which the queue comes back. Returns true if its MQDs were read. */
static bool read_stamps(struct gpreempt_queue *gq)
{
	bool read;

	gq->policy.saved_waves = true;
	gpreempt_room_stamps.resumed(gq);
	read = PART(struct gpreempt_node_stamps, stamps, NODE, node_of(0))->nr_read;
	gpreempt_room_stamps.acted(node_of(0), 0);
	return read;
}

static void world_with_stamps(bool hws, u32 nr_xcc)
{
	world_make(hws, nr_xcc, 1);
	world.nodes[0].stamps = true;
	world.nodes[0].connect_us = 160;
	world.nodes[0].save_us = 20;
	world.nodes[0].restore_us = 30;
	set("gpreempt_enable", "1");
	add_rivals(10, 0);
	world.nodes[0].nr_wave_slots = 1;
}

/* Low is taken off in the middle of its kernel, and comes back. */
static void switch_once(void)
{
	submit_and_run(low, 1, 2 * MS);
	run_kernels(high, 1, 2 * MS, 10 * MS);
	CHECK(preempted(low) || preemptions());
	CHECK(run_until_idle(high, SEC));
	run(10 * MS);
}

BOTH(stamps_are_read, "what connecting, saving and restoring a victim took, as firmware noted it, is known when it comes back; the device of this test is back at once")
{
	world_with_stamps(hws, 1);
	low->kernel_ns = 200 * MS;
	switch_once();
	CHECK_EQ(stamps_of(GPREEMPT_STAMP_SAVE)->count, 1);
	CHECK_EQ(median_us(GPREEMPT_STAMP_SAVE), 20);
	CHECK_EQ(median_us(GPREEMPT_STAMP_CONNECT), 160);
	CHECK_EQ(median_us(GPREEMPT_STAMP_RESTORE), 30);
	world.nodes[0].save_us = 50;
	switch_once();
	CHECK_EQ(stamps_of(GPREEMPT_STAMP_SAVE)->count, 2);
	CHECK_EQ(stamps_of(GPREEMPT_STAMP_SAVE)->max_ns, 50 * US);
	CHECK_EQ(stamps_of(GPREEMPT_STAMP_CONNECT)->count, 2);
	CHECK_EQ(stamps_of(GPREEMPT_STAMP_RESTORE)->count, 2);
	CHECK_EQ(median_us(GPREEMPT_STAMP_RESTORE), 30);
	CHECK(run_until_idle(low, SEC));
}

BOTH(the_slowest_xcc_counts, "of a queue on several XCCs the one that took longest counts; one without waves has saved nothing")
{
	world_with_stamps(hws, 3);
	low->kernel_ns = 200 * MS;
	low->done = low->submitted = low->pointers[0] = low->pointers[1] = 1;
	switch_once();
	CHECK_EQ(median_us(GPREEMPT_STAMP_CONNECT), 3 * 160);
	/* Its waves are on the second one. */
	CHECK_EQ(median_us(GPREEMPT_STAMP_SAVE), 2 * 20);
	CHECK(run_until_idle(low, SEC));
}

BOTH(medians_are_of_the_last, "a median is of the last 31, a maximum of all")
{
	struct gpreempt_queue *gq;
	u32 i;

	world_with_stamps(hws, 1);
	gq = low->q.gpreempt;
	mutex_lock(&node_of(0)->pass_lock);
	for (i = 1; i <= 100; i++) {
		u64 ticks[2] = { i * 1000, i * 1000 + 100 * (i > 60 ? i : 1000 - i) };

		memcpy(&mqd_on(low, 0)->cp_mqd_save_start_time_lo, ticks, sizeof(ticks));
		CHECK(read_stamps(gq));
	}
	mutex_unlock(&node_of(0)->pass_lock);
	CHECK_EQ(stamps_of(GPREEMPT_STAMP_SAVE)->count, 100);
	CHECK_EQ(median_us(GPREEMPT_STAMP_SAVE), 85);
	CHECK_EQ(stamps_of(GPREEMPT_STAMP_SAVE)->max_ns, 999 * US);
}

BOTH(what_is_no_stamp_is_left_out, "an end before its beginning, more than 20 ms, and what was read before are no stamps")
{
	static const u64 ticks[][2] = { { 0, 0 }, { 0, 100 }, { 500, 400 }, { 500, 500 + 2000001 }, { 500, 500 + 2000000 }, { 500, 600 }, { 400, 900 } };
	static const u64 counts[] = { 0, 0, 0, 0, 1, 1, 1 };
	struct gpreempt_queue *gq;

	world_with_stamps(hws, 1);
	gq = low->q.gpreempt;
	mutex_lock(&node_of(0)->pass_lock);
	EACH_CASE(i, ticks) {
		memcpy(&mqd_on(low, 0)->cp_mqd_restore_start_time_lo, ticks[i], sizeof(ticks[i]));
		read_stamps(gq);
		CHECK_EQ(stamps_of(GPREEMPT_STAMP_RESTORE)->count, counts[i]);
	}
	mutex_unlock(&node_of(0)->pass_lock);
}

/* The queue is connected again, 10 ms after the last time. */
static void connects_meanwhile(void)
{
	static const u64 ticks[2] = { 1001000, 1002000 };

	shim_at_dma_rmb = NULL;
	memcpy(&mqd_on(low, 0)->cp_mqd_connect_start_time_lo, ticks, sizeof(ticks));
}

BOTH(what_is_noted_meanwhile_makes_no_pair, "a beginning and the end of a later time are not taken for one that lasted as long as the queue worked; the later time counts when it is read the next time")
{
	static const u64 ticks[2] = { 1000, 3000 };
	struct gpreempt_queue *gq;

	world_with_stamps(hws, 1);
	gq = low->q.gpreempt;
	mutex_lock(&node_of(0)->pass_lock);
	memcpy(&mqd_on(low, 0)->cp_mqd_connect_start_time_lo, ticks, sizeof(ticks));
	shim_at_dma_rmb = connects_meanwhile;
	read_stamps(gq);
	CHECK(!shim_at_dma_rmb);
	CHECK_EQ(stamps_of(GPREEMPT_STAMP_CONNECT)->count, 0);
	read_stamps(gq);
	CHECK_EQ(stamps_of(GPREEMPT_STAMP_CONNECT)->count, 1);
	CHECK_EQ(stamps_of(GPREEMPT_STAMP_CONNECT)->max_ns, 10 * US);
	mutex_unlock(&node_of(0)->pass_lock);
}

BOTH(without_stamps_few_are_looked_at, "where firmware notes nothing, MQDs of one in 64 victims are read after the first 16, and all again when there is something")
{
	u32 i, nr_read = 0;

	world_with_stamps(hws, 1);
	world.nodes[0].stamps = false;
	memset(&mqd_on(low, 0)->cp_mqd_connect_start_time_lo, 0, 12 * sizeof(u32));
	mutex_lock(&node_of(0)->pass_lock);
	for (i = 0; i < 16 + 640; i++)
		nr_read += read_stamps(low->q.gpreempt);
	CHECK_WITHIN(nr_read, 16 + 10, 16 + 11);
	memset(&mqd_on(low, 0)->cp_mqd_connect_start_time_lo, 1, 4 * sizeof(u32));
	for (i = 0; i < 64; i++)
		read_stamps(low->q.gpreempt);
	CHECK(read_stamps(low->q.gpreempt));
	CHECK(read_stamps(low->q.gpreempt));
	mutex_unlock(&node_of(0)->pass_lock);
	memset(&mqd_on(low, 0)->cp_mqd_connect_start_time_lo, 0, 4 * sizeof(u32));
}

TEST(the_budget_counts_stamps, "what firmware noted of connecting and restoring is held against the budget, and how long waves may take to come back follows it (hws)")
{
	struct gpreempt_policy_node *pn;

	world_with_stamps(true, 1);
	set("gpreempt_overhead_pct", "10");
	world.nodes[0].unmap_us = 600;
	world.nodes[0].connect_us = 2000;
	world.nodes[0].restore_us = 500;
	low->kernel_ns = 200 * MS;
	switch_once();
	switch_once();
	pn = &node_of(0)->policy;
	CHECK_EQ(pn->device.connect_ns, 2000 * US);
	CHECK_EQ(pn->device.restore_ns, 500 * US);
	CHECK_EQ(pn->nr_buckets, 1);
	CHECK(pn->buckets[0].spent_ns >= 2000 * US);
	CHECK_EQ(gpreempt_demand_restore_ns(pn), GPREEMPT_WAVES_RESTORE_MAX_NS);
	CHECK(run_until_idle(low, SEC));
}

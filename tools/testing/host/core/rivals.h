/* SPDX-License-Identifier: MIT */
/*
 * rivals.h - a low and a high queue, how most tests of the core begin, and what is asked of it in them
 */
#ifndef HOST_RIVALS_H
#define HOST_RIVALS_H

#include "fake_amdkfd.h"
#include "tap.h"

static struct sim_queue *low, *high;

static inline u64 skipped(enum gpreempt_skip reason)
{
	return atomic64_read(&node_of(0)->stats.skipped[reason]);
}

static inline u64 failed(enum gpreempt_failure cause)
{
	return atomic64_read(&node_of(0)->stats.failed[cause]);
}

static inline u64 preemptions(void)
{
	return atomic64_read(&node_of(0)->stats.preemptions);
}

static inline u64 resumes(void)
{
	return atomic64_read(&node_of(0)->stats.resumes);
}

static inline const char *state(void)
{
	return gpreempt_node_state_name(node_of(0));
}

#define CHECK_STATE(word)	CHECK(!strcmp(state(), word))

static inline void set(const char *name, const char *value)
{
	CHECK_EQ(shim_param_set(name, value), 0);
}

/* Low fills the device for 50 ms; high is idle. */
static inline void low_runs(bool hws)
{
	world_on(hws);
	low = add_queue(10);
	high = add_queue(0);
	low->kernel_ns = 50 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit(low, 10);
	run(2 * MS);
	CHECK(low->in_slot);
	CHECK_STATE("idle");
}

/* High has work for 100 ms, which is seen within 5 ms. */
static inline void high_comes(void)
{
	high->kernel_ns = 50 * MS;
	submit(high, 2);
	run(10 * MS);
}

static inline void low_is_preempted(bool hws)
{
	low_runs(hws);
	high_comes();
	CHECK(preempted(low) && !on_device(low));
	CHECK(high->in_slot);
}

#define BOTH(name, what)							\
	static void name(bool hws);						\
	TEST(hws_##name, what " (hws)") { name(true); }				\
	TEST(mqd_##name, what " (mqd)") { name(false); }			\
	static void name(bool hws)

/* One pass of the backend, for low alone. */
static inline struct gpreempt_outcome apply(enum gpreempt_action action)
{
	struct gpreempt_outcome outcome = { 0 };
	struct gpreempt_node *gn = node_of(0);

	mutex_lock(&gn->pass_lock);
	low->q.gpreempt->policy.action = action;
	gn->backend->apply(gn, &outcome);
	mutex_unlock(&gn->pass_lock);
	return outcome;
}

static inline u32 mqd_priority(const struct sim_queue *sq)
{
	return ((const struct v9_mqd *)sq->mqds)->cp_hqd_queue_priority;
}

static inline struct v9_mqd *mqd_on(struct sim_queue *sq, u32 xcc)
{
	return (void *)(sq->mqds + (PAGE_SIZE + CTL_STACK_BYTES) * xcc);
}

/* A device with two XCCs, one slot for waves, and a low queue whose kernel is on the XCC of that number. */
static inline void low_runs_on(bool hws, u32 xcc)
{
	world_make(hws, 2, 1);
	set("gpreempt_enable", "1");
	low = add_queue(10);
	high = add_queue(0);
	low->kernel_ns = 50 * MS;
	world.nodes[0].nr_wave_slots = 1;
	low->done = low->submitted = low->pointers[0] = low->pointers[1] = xcc;
	submit(low, 1);
	run(2 * MS);
	CHECK(low->in_slot);
}

#endif /* HOST_RIVALS_H */

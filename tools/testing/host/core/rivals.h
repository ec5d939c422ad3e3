/* SPDX-License-Identifier: MIT */
/*
 * rivals.h - a low and a high queue, how most tests of the core begin, and what is asked of it in them
 */
#ifndef HOST_RIVALS_H
#define HOST_RIVALS_H

#include "fake_amdkfd.h"
#include "tap.h"

static struct sim_queue *low, *high;

static inline struct gpreempt_stats *stats(void)
{
	return &node_of(0)->stats;
}

static inline u64 skipped(enum gpreempt_skip reason)
{
	return atomic64_read(&stats()->skipped[reason]);
}

static inline u64 failed(enum gpreempt_failure cause)
{
	return atomic64_read(&stats()->failed[cause]);
}

static inline u64 preemptions(void)
{
	return atomic64_read(&stats()->preemptions);
}

static inline u64 resumes(void)
{
	return atomic64_read(&stats()->resumes);
}

static inline const char *state(void)
{
	return gpreempt_node_state_name(node_of(0));
}

/* Without doorbells a node that would be armed is looked at. */
static inline bool state_is(const char *word)
{
	if (!IS_ENABLED(CONFIG_KFD_GPREEMPT_WAKE) && !strcmp(word, "armed"))
		word = "idle";
	return !strcmp(state(), word);
}

#define CHECK_STATE(word)	CHECK(state_is(word))

/* So long everybody works: then it must hold. */
#define CHECK_AFTER(ns, condition)						\
	do {									\
		run(ns);							\
		CHECK(condition);						\
	} while (0)
#define CHECK_EQ_AFTER(ns, left, right)						\
	do {									\
		run(ns);							\
		CHECK_EQ(left, right);						\
	} while (0)

/* A test that is about more than what its file is about */
#define NEEDS(option)								\
	do {									\
		if (!IS_ENABLED(CONFIG_KFD_GPREEMPT_##option))			\
			tap_skip("without " #option);				\
	} while (0)

static inline void set(const char *name, const char *value)
{
	if (!strcmp(name, "gpreempt_policy") && strcmp(value, "hpf"))
		NEEDS(POLICIES);
	CHECK_EQ(shim_param_set(name, value), 0);
}

static inline void switch_off_and_on(void)
{
	set("gpreempt_enable", "0");
	set("gpreempt_enable", "1");
}

static inline void submit_and_run(struct sim_queue *sq, u32 packets, u64 ns)
{
	submit(sq, packets);
	run(ns);
}

/* Kernels of this length each, and what happens in the next @ns. */
static inline void run_kernels(struct sim_queue *sq, u32 kernels, u64 length_ns, u64 ns)
{
	sq->kernel_ns = length_ns;
	submit_and_run(sq, kernels, ns);
}

/* The driver makes new runlists by itself. */
static inline void evict_and_restore(struct sim_queue *sq)
{
	evict_queue(sq, true);
	evict_queue(sq, false);
}

static inline void add_rivals(int low_nice, int high_nice)
{
	low = add_queue(low_nice);
	high = add_queue(high_nice);
}

static inline void world_on_xccs(bool hws, u32 nr_xcc)
{
	world_make(hws, nr_xcc, 1);
	set("gpreempt_enable", "1");
}

static inline void world_on_nodes(bool hws, u32 nr_nodes)
{
	world_make(hws, 1, nr_nodes);
	set("gpreempt_enable", "1");
}

/* After a reset of the GPU programs have to be started again. */
static inline void rivals_begin_anew(void)
{
	int nice[] = { process_of(low)->task.nice, process_of(high)->task.nice };

	kill_process(process_of(low));
	kill_process(process_of(high));
	add_rivals(nice[0], nice[1]);
	low->kernel_ns = high->kernel_ns = 50 * MS;
}

/* Every node looks for work. */
static inline void world_polled(bool hws)
{
	world_on(hws);
	set("gpreempt_wakeup", "poll");
}

/* Low fills the device for 50 ms; high is idle. */
static inline void low_runs_in(void)
{
	add_rivals(10, 0);
	/* Once high has taken it off, it stays off. */
	set("gpreempt_drain_us", "0");
	low->kernel_ns = 50 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit_and_run(low, 10, 2 * MS);
	CHECK(low->in_slot);
}

static inline void low_runs(bool hws)
{
	world_on(hws);
	low_runs_in();
	CHECK_STATE("armed");
}

static inline void low_runs_polled(bool hws)
{
	world_polled(hws);
	low_runs_in();
	CHECK_STATE("idle");
}

/* Nor will it, when it is asked to: without the hardware scheduler. */
static inline void low_never_leaves(void)
{
	low_runs(false);
	low->stuck_ns = U64_MAX;
}

/* High has work for 100 ms, which is seen within 5 ms. */
static inline void high_comes(void)
{
	run_kernels(high, 2, 50 * MS, 10 * MS);
}

static inline void high_preempts_low(void)
{
	high_comes();
	CHECK(preempted(low));
}

static inline void low_resumes_after_high(u64 ns)
{
	CHECK(run_until_idle(high, SEC));
	run(ns);
	CHECK(!preempted(low));
}

static inline void high_comes_before_low(void)
{
	high_comes();
	CHECK(preempted(low) && !on_device(low));
	CHECK(high->in_slot);
}

static inline void low_is_preempted(bool hws)
{
	low_runs(hws);
	high_comes_before_low();
}

static inline void low_is_preempted_polled(bool hws)
{
	low_runs_polled(hws);
	high_comes_before_low();
}

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
	world_on_xccs(hws, 2);
	add_rivals(10, 0);
	low->kernel_ns = 50 * MS;
	world.nodes[0].nr_wave_slots = 1;
	low->done = low->submitted = low->pointers[0] = low->pointers[1] = xcc;
	submit_and_run(low, 1, 2 * MS);
	CHECK(low->in_slot);
}

#endif /* HOST_RIVALS_H */

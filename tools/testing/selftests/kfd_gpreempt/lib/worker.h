/* SPDX-License-Identifier: MIT */
/*
 * worker.h - the processes that most tests begin with
 *
 * Include after fixture.h.
 */
#ifndef WORKER_H
#define WORKER_H

/* A process with one queue, as it is born or with this KFD priority */
static inline struct actor *with_queue_of(struct __test_metadata *_metadata, int nice, uint32_t priority)
{
	struct actor *a = actor_start(nice, ARENA);

	ASSERT_ACTOR(a);
	ASSERT_EQ(0, actor_queue(a, KFD_BACKING_USERPTR, priority));
	return a;
}

static inline struct actor *with_queue(struct __test_metadata *_metadata, int nice)
{
	return with_queue_of(_metadata, nice, KFD_PRIORITY_NORMAL);
}

/* And with one work: @launches grids of @waves waves that each run @steps of @step_ns */
static inline struct actor *worker(struct __test_metadata *_metadata, int nice, uint32_t launches, uint32_t waves, uint32_t steps,
				   uint64_t step_ns)
{
	struct actor *a = with_queue(_metadata, nice);

	ASSERT_EQ(0, actor_work(a, launches, waves, steps, step_ns));
	return a;
}

#endif /* WORKER_H */

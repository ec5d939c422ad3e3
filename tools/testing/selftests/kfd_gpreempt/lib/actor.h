/* SPDX-License-Identifier: MIT */
/*
 * actor.h - real processes with GPU queues, directed step by step from a test
 *
 * An actor is a fork()ed child that opens KFD by itself and then does what the test asks, one call at a time.
 * Kernels, counters and signals lie in memory that test and actor share (user pages to the GPU), so a test sees
 * progress and completion without asking, and also after the actor was killed. Queue pages are private to the actor,
 * as those of a ROCm program are.
 */
#ifndef ACTOR_H
#define ACTOR_H

#include <semaphore.h>
#include <sys/types.h>

#include "kfdlib.h"

#define ACTOR_QUEUES	40
#define ACTOR_WORKS	40
#define ACTOR_CALL_NS	(60 * 1000 * KFD_NS_PER_MS)	/* a call that takes longer means that something hangs */

struct actor;
typedef int64_t actor_fn(struct actor *a, const int64_t *args);

/**
 * struct actor - lives in shared memory
 * @pid: the process
 * @nice: its nice value
 * @request: posted by the test: a call is ready
 * @reply: posted by the actor: @result is valid
 * @fn: what to do (the actor is a fork: function addresses agree)
 * @args: its arguments
 * @result: what it returned
 * @client: the actor's connection
 * @queue: its queues; @id and @priority may be read by the test
 * @work: its work; the memory behind it is shared
 * @done: one signal per work, counts launches down
 * @works: used entries of @work
 * @arena: shared memory that the GPU sees
 * @arena_used: bytes given out
 * @status: of waitpid(), when @reaped
 * @reaped: waitpid() has seen its end
 */
struct actor {
	pid_t pid;
	int nice;
	sem_t request;
	sem_t reply;
	actor_fn *fn;
	int64_t args[8];
	int64_t result;
	struct kfd_client client;
	struct kfd_queue queue[ACTOR_QUEUES];
	struct kfd_work work[ACTOR_WORKS];
	struct kfd_signal *done[ACTOR_WORKS];
	uint32_t works;
	uint8_t *arena;
	size_t arena_used;
	int status;
	bool reaped;
};

/* NULL when the process could not be made or could not open KFD; actor_why() says why. */
struct actor *actor_start(int nice, size_t arena_bytes);
const char *actor_why(void);

/* Ends the process in an orderly way (queues destroyed, KFD closed); 0, or what went wrong. */
int actor_stop(struct actor *a);
/* SIGKILL and reap. */
void actor_kill(struct actor *a);
/* Ends whatever is left of all actors: for teardown. */
void actor_kill_all(void);
/* Ends one, forgets it and unmaps its memory. */
void actor_forget(struct actor *a);
/* The same with all. */
void actor_forget_all(void);

/* Calls: begin and end may lie apart, so that several actors work at the same time. */
void actor_begin(struct actor *a, actor_fn *fn, int64_t a0, int64_t a1, int64_t a2, int64_t a3);
int64_t actor_end(struct actor *a);			/* -ETIME, -ESRCH, or what the function returned */
int64_t actor_call(struct actor *a, actor_fn *fn, int64_t a0, int64_t a1, int64_t a2, int64_t a3);
bool actor_answered(struct actor *a);			/* without waiting; once, and then a->result holds */
bool actor_gone(struct actor *a);			/* the process has ended */

/* The usual calls; queue and work are small indices chosen here. */
int actor_queue(struct actor *a, enum kfd_backing backing, uint32_t priority);		/* index or -errno */
int actor_queue_update(struct actor *a, int queue, uint32_t priority, uint32_t percentage);
int actor_queue_destroy(struct actor *a, int queue);
int actor_queue_cu_mask(struct actor *a, int queue, uint32_t mask);			/* of the first 32 CUs */
int actor_queue_gws(struct actor *a, int queue, bool on);
int actor_pointers(struct actor *a, int queue, uint64_t *rptr, uint64_t *wptr);
int actor_work(struct actor *a, uint32_t launches, uint32_t waves, uint32_t steps, uint64_t step_ns);	/* index */
int actor_submit(struct actor *a, int queue, int work, uint32_t launches, uint32_t flags);
int actor_barrier(struct actor *a, int queue, struct kfd_signal *dep);

/* What some of these call, for actor_begin(); arguments as above, with the index of a free queue before those of a new one. */
actor_fn actor_do_queue, actor_do_update, actor_do_destroy, actor_do_submit, actor_do_barrier;

/* Without a call, also on dead actors. */
bool actor_done(const struct actor *a, int work);
int actor_wait(const struct actor *a, int work, uint64_t timeout_ns);
int actor_wait_all(const struct actor *a, uint64_t timeout_ns);
int actor_wait_progress(const struct actor *a, int work, uint64_t items, uint64_t timeout_ns);
struct kfd_tally actor_tally(const struct actor *a);	/* of all its work */

/* A signal in memory that every actor started later maps. */
struct kfd_signal *actor_common_signal(int index, int64_t value);
volatile uint64_t *actor_common_flag(void);

#endif /* ACTOR_H */

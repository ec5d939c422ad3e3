// SPDX-License-Identifier: MIT
/*
 * actor.c - real processes with GPU queues, directed step by step from a test (see actor.h)
 *
 * Touches only processes that it started itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "actor.h"

#define MAX_ACTORS	32
#define COMMON_BYTES	KFD_PAGE_BYTES
#define COMMON_FLAG	(COMMON_BYTES - 64u)
#define RING_PACKETS	256u
#define WATCH_NS	(200 * KFD_NS_PER_MS)	/* how often a waiting test looks whether the actor still lives */

static struct actor *actors[MAX_ACTORS];
static size_t arena_sizes[MAX_ACTORS];
static int nr_actors;
static uint8_t *common;
static char why[200];

const char *actor_why(void)
{
	return why;
}

static uint8_t *common_memory(void)
{
	if (!common) {
		common = mmap(NULL, COMMON_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (common == MAP_FAILED)
			common = NULL;
	}
	return common;
}

struct kfd_signal *actor_common_signal(int index, int64_t value)
{
	struct kfd_signal *s = (struct kfd_signal *)common_memory() + index;

	kfd_signal_init(s, value);
	return s;
}

volatile uint64_t *actor_common_flag(void)
{
	return (volatile uint64_t *)(common_memory() + COMMON_FLAG);
}

/* ---- inside the actor ---- */

static int64_t do_open(struct actor *a, const int64_t *args)
{
	struct kfd_buffer b;
	int err = kfd_client_open(&a->client);

	if (err)
		return err;
	err = kfd_buffer_import(&a->client, a->arena, (size_t)args[0], &b);
	if (!err)
		err = kfd_buffer_import(&a->client, common, COMMON_BYTES, &b);
	if (err)
		snprintf(a->client.why, sizeof(a->client.why), "registering shared memory: %s", strerror(-err));
	return err;
}

static int64_t do_exit(struct actor *a, const int64_t *args)
{
	int i, err = 0;

	for (i = 0; i < ACTOR_QUEUES; i++) {
		if (a->queue[i].client) {
			int e = kfd_queue_destroy(&a->queue[i]);

			if (e)
				err = e;
			a->queue[i].client = NULL;
		}
	}
	return err;
}

static void actor_main(struct actor *a)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpriority(PRIO_PROCESS, 0, a->nice);
	for (;;) {
		actor_fn *fn;

		while (sem_wait(&a->request) && errno == EINTR)
			;
		fn = a->fn;
		a->result = fn(a, a->args);
		sem_post(&a->reply);	/* from here on the test may write its next call */
		if (fn == do_exit) {
			kfd_client_close(&a->client);
			_exit(0);
		}
	}
}

/* ---- directing ---- */

struct actor *actor_start(int nice, size_t arena_bytes)
{
	struct actor *a;
	int64_t err;
	pid_t pid;

	if (nr_actors == MAX_ACTORS || !common_memory()) {
		snprintf(why, sizeof(why), "too many actors");
		return NULL;
	}
	a = mmap(NULL, sizeof(*a), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (a == MAP_FAILED)
		goto fail_errno;
	/* Counters are as many as waves: a device of hundreds of compute units has more of them than callers think of. */
	arena_bytes *= 1 + kfd_wave_slots() / 1024;
	arena_bytes = (arena_bytes + KFD_PAGE_BYTES - 1) & ~(size_t)(KFD_PAGE_BYTES - 1);
	a->arena = mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (a->arena == MAP_FAILED)
		goto fail_errno;
	a->nice = nice;
	sem_init(&a->request, 1, 0);
	sem_init(&a->reply, 1, 0);
	/* Not straight into the shared structure: the child would store its 0 there. */
	pid = fork();
	if (pid < 0)
		goto fail_errno;
	if (pid == 0)
		actor_main(a);
	a->pid = pid;
	arena_sizes[nr_actors] = arena_bytes;
	actors[nr_actors++] = a;

	err = actor_call(a, do_open, (int64_t)arena_bytes, 0, 0, 0);
	if (err) {
		snprintf(why, sizeof(why), "%s (%s)", a->client.why, strerror((int)-err));
		actor_kill(a);
		return NULL;
	}
	return a;

fail_errno:
	snprintf(why, sizeof(why), "%s", strerror(errno));
	return NULL;
}

void actor_begin(struct actor *a, actor_fn *fn, int64_t a0, int64_t a1, int64_t a2, int64_t a3)
{
	a->fn = fn;
	a->args[0] = a0;
	a->args[1] = a1;
	a->args[2] = a2;
	a->args[3] = a3;
	sem_post(&a->request);
}

bool actor_gone(struct actor *a)
{
	if (!a->reaped && waitpid(a->pid, &a->status, WNOHANG) == a->pid)
		a->reaped = true;
	return a->reaped;
}

int64_t actor_end(struct actor *a)
{
	uint64_t deadline = kfd_now_ns() + ACTOR_CALL_NS;

	while (kfd_now_ns() < deadline) {
		uint64_t until = kfd_now_ns() + WATCH_NS;
		struct timespec ts = {
			.tv_sec = (time_t)(until / 1000000000ull),
			.tv_nsec = (long)(until % 1000000000ull),
		};

		if (!sem_clockwait(&a->reply, CLOCK_MONOTONIC, &ts))
			return a->result;
		if (actor_gone(a)) {
			if (!sem_trywait(&a->reply))
				return a->result;
			fprintf(stderr, "# actor %d ended in the middle of a call, wait status %#x\n", a->pid,
				a->status);
			return -ESRCH;
		}
	}
	return -ETIME;
}

int64_t actor_call(struct actor *a, actor_fn *fn, int64_t a0, int64_t a1, int64_t a2, int64_t a3)
{
	actor_begin(a, fn, a0, a1, a2, a3);
	return actor_end(a);
}

bool actor_answered(struct actor *a)
{
	return !sem_trywait(&a->reply);
}

void actor_kill(struct actor *a)
{
	if (a->reaped)
		return;
	kill(a->pid, SIGKILL);
	waitpid(a->pid, NULL, 0);
	a->reaped = true;
}

int actor_stop(struct actor *a)
{
	int64_t err;

	if (a->reaped)
		return -ESRCH;
	err = actor_call(a, do_exit, 0, 0, 0, 0);
	if (err) {
		actor_kill(a);
		return (int)err;
	}
	if (!a->reaped && waitpid(a->pid, &a->status, 0) != a->pid)
		return -errno;
	a->reaped = true;
	return WIFEXITED(a->status) && !WEXITSTATUS(a->status) ? 0 : -ECHILD;
}

void actor_kill_all(void)
{
	int i;

	for (i = 0; i < nr_actors; i++)
		actor_kill(actors[i]);
}

void actor_forget(struct actor *a)
{
	int i;

	actor_kill(a);
	for (i = 0; actors[i] != a; i++)
		;
	munmap(a->arena, arena_sizes[i]);
	munmap(a, sizeof(*a));
	nr_actors--;
	actors[i] = actors[nr_actors];
	arena_sizes[i] = arena_sizes[nr_actors];
}

void actor_forget_all(void)
{
	actor_kill_all();
	while (nr_actors)
		actor_forget(actors[nr_actors - 1]);
}

/* ---- the usual calls ---- */

int64_t actor_do_queue(struct actor *a, const int64_t *args)
{
	return kfd_queue_create(&a->client, &a->queue[args[0]], (enum kfd_backing)args[1], (uint32_t)args[2],
				RING_PACKETS);
}

int actor_queue(struct actor *a, enum kfd_backing backing, uint32_t priority)
{
	int64_t err;
	int i;

	for (i = 0; i < ACTOR_QUEUES && a->queue[i].client; i++)
		;
	if (i == ACTOR_QUEUES)
		return -ENOSPC;
	err = actor_call(a, actor_do_queue, i, backing, priority, 0);
	if (err)
		a->queue[i].client = NULL;
	return err ? (int)err : i;
}

int64_t actor_do_update(struct actor *a, const int64_t *args)
{
	return kfd_queue_update(&a->queue[args[0]], (uint32_t)args[1], (uint32_t)args[2]);
}

int actor_queue_update(struct actor *a, int queue, uint32_t priority, uint32_t percentage)
{
	return (int)actor_call(a, actor_do_update, queue, priority, percentage, 0);
}

static int64_t do_cu_mask(struct actor *a, const int64_t *args)
{
	uint32_t mask = (uint32_t)args[1];

	return kfd_queue_set_cu_mask(&a->queue[args[0]], &mask, 32);
}

int actor_queue_cu_mask(struct actor *a, int queue, uint32_t mask)
{
	return (int)actor_call(a, do_cu_mask, queue, mask, 0, 0);
}

static int64_t do_gws(struct actor *a, const int64_t *args)
{
	return kfd_queue_set_gws(&a->queue[args[0]], args[1]);
}

int actor_queue_gws(struct actor *a, int queue, bool on)
{
	return (int)actor_call(a, do_gws, queue, on, 0, 0);
}

int64_t actor_do_destroy(struct actor *a, const int64_t *args)
{
	return kfd_queue_destroy(&a->queue[args[0]]);
}

int actor_queue_destroy(struct actor *a, int queue)
{
	int err = (int)actor_call(a, actor_do_destroy, queue, 0, 0, 0);

	if (!err)
		a->queue[queue].client = NULL;
	return err;
}

static int64_t do_pointers(struct actor *a, const int64_t *args)
{
	a->args[4] = (int64_t)kfd_queue_rptr(&a->queue[args[0]]);
	a->args[5] = (int64_t)kfd_queue_wptr(&a->queue[args[0]]);
	return 0;
}

int actor_pointers(struct actor *a, int queue, uint64_t *rptr, uint64_t *wptr)
{
	int err = (int)actor_call(a, do_pointers, queue, 0, 0, 0);

	*rptr = (uint64_t)a->args[4];
	*wptr = (uint64_t)a->args[5];
	return err;
}

static void *arena_alloc(struct actor *a, size_t bytes)
{
	void *p = a->arena + a->arena_used;
	int i;

	bytes = (bytes + 63) & ~(size_t)63;
	for (i = 0; actors[i] != a; i++)
		;
	if (a->arena_used + bytes > arena_sizes[i])
		return NULL;
	a->arena_used += bytes;
	return p;
}

int actor_work(struct actor *a, uint32_t launches, uint32_t waves, uint32_t steps, uint64_t step_ns)
{
	int i = (int)a->works;
	void *mem;

	if (i == ACTOR_WORKS)
		return -ENOSPC;
	a->done[i] = arena_alloc(a, sizeof(struct kfd_signal));
	mem = arena_alloc(a, kfd_work_bytes(launches, waves, steps));
	if (!a->done[i] || !mem)
		return -ENOMEM;
	kfd_signal_init(a->done[i], 0);
	kfd_work_init(&a->work[i], mem, launches, waves, steps, step_ns);
	a->works++;
	return i;
}

int64_t actor_do_submit(struct actor *a, const int64_t *args)
{
	int64_t i;
	int err = 0;

	for (i = 0; i < args[2] && !err; i++)
		err = kfd_work_submit(&a->queue[args[0]], &a->work[args[1]], a->done[args[1]], (uint32_t)args[3]);
	return err;
}

int actor_submit(struct actor *a, int queue, int work, uint32_t launches, uint32_t flags)
{
	__atomic_fetch_add(&a->done[work]->value, (int64_t)launches, __ATOMIC_SEQ_CST);
	return (int)actor_call(a, actor_do_submit, queue, work, launches, flags);
}

int64_t actor_do_barrier(struct actor *a, const int64_t *args)
{
	struct kfd_signal *dep = (struct kfd_signal *)(uintptr_t)args[1];

	return kfd_barrier_submit(&a->queue[args[0]], &dep, 1, NULL, 0);
}

int actor_barrier(struct actor *a, int queue, struct kfd_signal *dep)
{
	return (int)actor_call(a, actor_do_barrier, queue, (int64_t)(uintptr_t)dep, 0, 0);
}

/* ---- looking on ---- */

bool actor_done(const struct actor *a, int work)
{
	return __atomic_load_n(&a->done[work]->value, __ATOMIC_ACQUIRE) <= 0;
}

int actor_wait(const struct actor *a, int work, uint64_t timeout_ns)
{
	return kfd_signal_poll(a->done[work], timeout_ns);
}

int actor_wait_all(const struct actor *a, uint64_t timeout_ns)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < a->works && !err; i++)
		err = actor_wait(a, (int)i, timeout_ns);
	return err;
}

int actor_wait_progress(const struct actor *a, int work, uint64_t items, uint64_t timeout_ns)
{
	return KFD_WAIT(kfd_work_progress(&a->work[work]) >= items, KFD_NS_PER_MS, timeout_ns);
}

struct kfd_tally actor_tally(const struct actor *a)
{
	struct kfd_tally t = { 0 };
	uint32_t i;

	for (i = 0; i < a->works; i++)
		kfd_work_tally(&a->work[i], &t);
	return t;
}

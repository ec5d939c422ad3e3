// SPDX-License-Identifier: MIT
/*
 * unit.c - libgpreempt: queues and processes that a scheduler in user space stops and lets go on
 *
 * Units with the same target share a stop, and a stop has a descriptor of its own. In the kernel a hold is one per descriptor and queue: so
 * the first unit's interrupt makes it, the last one's restore ends it, and the stop of a queue does not touch that of its process.
 */
#include "gpreempt.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_US		1000L
#define NS_PER_MS		1000000L
#define NS_PER_SECOND		1000000000L
/* Between two looks of gpreempt_synchronize(): short for work that is nearly done, cheap for work that is long. */
#define FIRST_PAUSE_NS		(10 * NS_PER_US)
#define LONGEST_PAUSE_NS	(200 * NS_PER_US)

/**
 * struct stop - what units with one target share
 * @next: in @stops
 * @target: which queues
 * @flags: GPREEMPT_HOLD_UNBOUNDED or 0
 * @handle: its holds are these units' alone
 * @units: how many share it; under @registry
 * @command: taken across a command and what it changes: of an interrupt and a restore at the same time, one comes first
 * @lock: for @interrupted and the units'; never held for long
 * @changed: @interrupted did
 * @interrupted: how many of its units are
 */
struct stop {
	struct stop *next;
	struct gpreempt_target target;
	unsigned int flags;
	struct gpreempt *handle;
	unsigned int units;
	pthread_mutex_t command;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int interrupted;
};

/**
 * struct gpreempt_unit - a unit
 * @stop: what it shares with others
 * @interrupted: it is; under the stop's lock
 * @forks: @forks when it was made
 */
struct gpreempt_unit {
	struct stop *stop;
	bool interrupted;
	unsigned int forks;
};

/* All stops, in order to find them by target, and to close their descriptors in a child. */
static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static struct stop *stops;
/* How many fork() lie between this process and the first: units of another generation are not ours. */
static unsigned int forks;

static void before_fork(void)
{
	pthread_mutex_lock(&registry);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&registry);
}

/* A hold ends with the last close of its descriptor: a copy here would keep queues stopped after the parent has died. */
static void after_fork_in_child(void)
{
	struct stop *stop;

	for (stop = stops; stop; stop = stop->next) {
		gpreempt_close(stop->handle);
		stop->handle = NULL;
	}
	/* Their locks may be held by threads that are not here: they are left to themselves. */
	stops = NULL;
	__atomic_add_fetch(&forks, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&registry);
}

/* When the library is loaded: what a fork() that has begun does not know of would not be done in its child. */
__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static bool is_ours(const struct gpreempt_unit *unit)
{
	return unit->forks == __atomic_load_n(&forks, __ATOMIC_RELAXED);
}

static void free_stop(struct stop *stop)
{
	gpreempt_close(stop->handle);
	pthread_cond_destroy(&stop->changed);
	pthread_mutex_destroy(&stop->lock);
	pthread_mutex_destroy(&stop->command);
	free(stop);
}

static int new_stop(const struct gpreempt_target *target, unsigned int flags, struct stop **result)
{
	struct stop *stop = calloc(1, sizeof(*stop));
	pthread_condattr_t attributes;
	int error;

	if (!stop)
		return -ENOMEM;
	stop->target = *target;
	stop->flags = flags;
	pthread_mutex_init(&stop->command, NULL);
	pthread_mutex_init(&stop->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&stop->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	error = gpreempt_open(&stop->handle);
	if (error) {
		free_stop(stop);
		return error;
	}
	*result = stop;
	return 0;
}

/* 0 and pid 0 both name the caller: one spelling, so that units of one queue find each other. */
static struct gpreempt_target spelled_out(const struct gpreempt_target *target)
{
	struct gpreempt_target result = *target;

	if (result.pid == getpid())
		result.pid = 0;
	return result;
}

static int get_stop(const struct gpreempt_target *target, unsigned int flags, struct stop **result)
{
	struct gpreempt_queue_info *queues;
	struct stop *stop = stops, *fresh = NULL;
	int error = 0;

	while (stop && (stop->flags != flags || memcmp(&stop->target, target, sizeof(*target))))
		stop = stop->next;
	if (!stop) {
		error = new_stop(target, flags, &fresh);
		if (error)
			return error;
		stop = fresh;
	}
	error = gpreempt_list_queues(stop->handle, target, &queues);
	free(queues);
	if (error < 0) {
		if (fresh)
			free_stop(fresh);
		return error;
	}
	if (fresh) {
		fresh->next = stops;
		stops = fresh;
	}
	stop->units++;
	*result = stop;
	return 0;
}

static void put_stop(struct stop *stop)
{
	struct stop **link = &stops;
	bool last;

	pthread_mutex_lock(&registry);
	last = !--stop->units;
	if (last) {
		while (*link != stop)
			link = &(*link)->next;
		*link = stop->next;
	}
	pthread_mutex_unlock(&registry);
	if (last)
		free_stop(stop);
}

int gpreempt_unit_open(const struct gpreempt_target *target, unsigned int flags, struct gpreempt_unit **result)
{
	struct gpreempt_target wanted = spelled_out(target);
	struct gpreempt_unit *unit;
	int error;

	*result = NULL;
	if (flags & ~GPREEMPT_HOLD_UNBOUNDED || (target->scope != GPREEMPT_SCOPE_QUEUE && target->scope != GPREEMPT_SCOPE_PROCESS))
		return -EINVAL;
	unit = calloc(1, sizeof(*unit));
	if (!unit)
		return -ENOMEM;
	pthread_mutex_lock(&registry);
	unit->forks = forks;
	error = get_stop(&wanted, flags, &unit->stop);
	pthread_mutex_unlock(&registry);
	if (error) {
		free(unit);
		return error;
	}
	*result = unit;
	return 0;
}

void gpreempt_unit_close(struct gpreempt_unit *unit)
{
	if (!unit)
		return;
	if (is_ours(unit)) {
		gpreempt_restore(unit);
		put_stop(unit->stop);
	}
	free(unit);
}

/* Returns whether that was a change; *left: how many units are interrupted now. */
static bool mark(struct gpreempt_unit *unit, bool interrupted, unsigned int *left)
{
	struct stop *stop = unit->stop;
	bool change;

	pthread_mutex_lock(&stop->lock);
	change = unit->interrupted != interrupted;
	if (change) {
		unit->interrupted = interrupted;
		stop->interrupted += interrupted ? 1 : -1;
		pthread_cond_broadcast(&stop->changed);
	}
	*left = stop->interrupted;
	pthread_mutex_unlock(&stop->lock);
	return change;
}

/* What the kernel says when nothing is held any more, whatever was before */
static bool ends_hold(int error)
{
	return error == -ENOENT || error == -ESRCH || error == -EOPNOTSUPP || error == -ENOMEM || error == -EUSERS;
}

int gpreempt_interrupt(struct gpreempt_unit *unit)
{
	struct stop *stop = unit->stop;
	unsigned int left;
	bool change;
	int error;

	if (!is_ours(unit))
		return -EBADF;
	pthread_mutex_lock(&stop->command);
	change = mark(unit, true, &left);
	/* Also when it is stopped already: then this is who waits until it is saved, and who takes new queues of a process along. */
	error = gpreempt_preempt(stop->handle, &stop->target, 0, stop->flags);
	if (error < 0 && error != -ETIME && error != -EINTR && (change || ends_hold(error)))
		mark(unit, false, &left);
	pthread_mutex_unlock(&stop->command);
	return error < 0 ? error : 0;
}

int gpreempt_restore(struct gpreempt_unit *unit)
{
	struct stop *stop = unit->stop;
	unsigned int left;
	int error = 0;

	if (!is_ours(unit))
		return -EBADF;
	pthread_mutex_lock(&stop->command);
	if (mark(unit, false, &left) && !left)
		error = gpreempt_resume(stop->handle, &stop->target);
	pthread_mutex_unlock(&stop->command);
	return error < 0 ? error : 0;
}

int gpreempt_query(struct gpreempt_unit *unit, struct gpreempt_unit_status *status)
{
	struct stop *stop = unit->stop;
	struct gpreempt_queue_info *queues;
	unsigned int active = 0;
	int i, nr;

	if (!is_ours(unit))
		return -EBADF;
	memset(status, 0, sizeof(*status));
	nr = gpreempt_list_queues(stop->handle, &stop->target, &queues);
	if (nr < 0 && nr != -ENOENT && nr != -ESRCH)
		return nr;
	for (i = 0; i < nr; i++) {
		status->nr_off += queues[i].state == GPREEMPT_QUEUE_PREEMPTED;
		status->nr_held += queues[i].flags & GPREEMPT_QUEUE_HELD ? 1 : 0;
		status->pending += queues[i].pending;
		status->preempt_count += queues[i].preempt_count;
		status->preempted_us += queues[i].preempted_us;
		active += queues[i].state == GPREEMPT_QUEUE_ACTIVE;
	}
	free(queues);
	pthread_mutex_lock(&stop->lock);
	status->interrupted = unit->interrupted;
	status->nr_units = stop->interrupted;
	pthread_mutex_unlock(&stop->lock);

	if (nr < 0) {
		status->state = GPREEMPT_UNIT_GONE;
		return 0;
	}
	status->nr_queues = nr;
	if (status->nr_units)
		status->state = status->nr_off == status->nr_queues && status->nr_held == status->nr_queues ?
				GPREEMPT_UNIT_INTERRUPTED : GPREEMPT_UNIT_STOPPING;
	else if (active)
		status->state = GPREEMPT_UNIT_ACTIVE;
	else
		status->state = status->nr_off ? GPREEMPT_UNIT_PREEMPTED : GPREEMPT_UNIT_IDLE;
	return 0;
}

static struct timespec later(struct timespec t, long ns)
{
	t.tv_sec += ns / NS_PER_SECOND;
	t.tv_nsec += ns % NS_PER_SECOND;
	if (t.tv_nsec >= NS_PER_SECOND) {
		t.tv_sec++;
		t.tv_nsec -= NS_PER_SECOND;
	}
	return t;
}

static bool is_after(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

int gpreempt_synchronize(struct gpreempt_unit *unit, bool (*done)(void *arg), void *arg, unsigned int timeout_ms)
{
	struct stop *stop = unit->stop;
	struct timespec now, until, deadline;
	long pause_ns = FIRST_PAUSE_NS;
	bool interrupted;

	if (!is_ours(unit))
		return -EBADF;
	clock_gettime(CLOCK_MONOTONIC, &now);
	deadline = later(now, timeout_ms * NS_PER_MS);
	while (!done(arg)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (timeout_ms && is_after(now, deadline))
			return -ETIME;
		until = later(now, pause_ns);
		pthread_mutex_lock(&stop->lock);
		/* Woken for another reason, it looks whether the work is done, which does no harm. */
		if (!stop->interrupted)
			pthread_cond_timedwait(&stop->changed, &stop->lock, &until);
		interrupted = stop->interrupted;
		pthread_mutex_unlock(&stop->lock);
		if (interrupted)
			return done(arg) ? GPREEMPT_SYNC_DONE : GPREEMPT_SYNC_INTERRUPTED;
		pause_ns = 2 * pause_ns < LONGEST_PAUSE_NS ? 2 * pause_ns : LONGEST_PAUSE_NS;
	}
	return GPREEMPT_SYNC_DONE;
}

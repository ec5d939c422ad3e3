// SPDX-License-Identifier: MIT
/*
 * bench.c - workloads beside each other on one device, under one scheduler after the other (runs in the guest)
 *
 *	bench [-c COMPETITOR[,...]] SCENARIO...
 *
 * A scenario is a text file, see scenarios/README; a competitor is what decides who has the device, see competitors[]. Prints what was
 * measured as lines that tools/testing/bench/bench.py reads, one record each, and judges nothing but this: every item of work is done exactly
 * once, or the exit status is 1.
 *
 * A tenant is one program with one queue. It is a process of its own unless its scenario says that it is a thread beside others. The
 * competitor "suspend-ioctl" by its nature knows the queues of one process only: it has all tenants as threads of one.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpreempt.h"
#include "kfdlib.h"

#define MS		KFD_NS_PER_MS
#define US		KFD_NS_PER_US
#define SECOND		(1000 * MS)
#define PATIENCE_NS	(60 * SECOND)
#define MAX_TENANTS	40
#define LEVELS		3
#define CLASSES		20		/* durations that a tenant's kernels can have */
#define FULL_VGPRS	512		/* one wave of them fills a SIMD */
#define BATCHES		2		/* in flight of continuous work: 16 kernels in batches of 8, as XSched's level 1 has it by default */
#define RING_PACKETS	1024
#define MAX_REQUESTS	8192
#define MAX_SAMPLES	4096
#define GAP_LOOK_NS	(50 * US)	/* launch-gap: time between looks of a program that must not launch */
#define POLLER_LOOK_NS	(20 * US)	/* suspend-ioctl: see poller() */
#define MAX_SUSPENDS	16384
#define STUCK_NS	(30 * MS)

enum arrival { ARRIVAL_PERIODIC, ARRIVAL_POISSON, ARRIVAL_LOGNORMAL, ARRIVAL_THINK, ARRIVAL_CONTINUOUS, ARRIVAL_ONCE, ARRIVAL_NEWCOMER };

static const char *const arrival_names[] = {
	[ARRIVAL_PERIODIC] = "periodic", [ARRIVAL_POISSON] = "poisson", [ARRIVAL_LOGNORMAL] = "lognormal",
	[ARRIVAL_THINK] = "think", [ARRIVAL_CONTINUOUS] = "continuous", [ARRIVAL_ONCE] = "once",
	[ARRIVAL_NEWCOMER] = "newcomer",
};

static const char *const level_names[LEVELS] = { "low", "mid", "high" };
static const int level_nice[LEVELS] = { 10, 5, 0 };
static const uint32_t level_kfd_priority[LEVELS] = { 0, 7, 15 };

/**
 * struct spec - a tenant as its scenario describes it
 * @name: in results
 * @level: who matters more: 2 outranks 1 outranks 0
 * @arrival: &enum arrival
 * @period_ns: mean time between requests; ARRIVAL_THINK: longest pause after one, beyond @least_ns
 * @least_ns: ARRIVAL_THINK: shortest pause
 * @sigma: ARRIVAL_LOGNORMAL
 * @burst: requests that arrive at once
 * @kernels: of a request, one after the other; of a batch of continuous work
 * @kernel_min_ns: shortest kernel
 * @kernel_max_ns: longest; each is drawn from CLASSES durations in between
 * @gap_min_ns: the host submits the next kernel of a request so long after the end of the one before, at least; 0 with
 *	@gap_max_ns: all at once
 * @gap_max_ns: and at most
 * @steps: of a kernel: what is counted
 * @percent: of the device that a kernel fills
 * @generations: of waves, one after the other, that a kernel has
 * @requests: at most so many; 0: as many as arrive
 * @warm: requests arrive before the window, too; those are not counted
 * @joins: it is a thread of the process of the tenant before it
 * @bystander: the scheduler does not preempt it (it is exempt)
 */
struct spec {
	char name[32];
	int level;
	enum arrival arrival;
	uint64_t period_ns;
	uint64_t least_ns;
	double sigma;
	uint32_t burst;
	uint32_t kernels;
	uint64_t kernel_min_ns;
	uint64_t kernel_max_ns;
	uint64_t gap_min_ns;
	uint64_t gap_max_ns;
	uint32_t steps;
	uint32_t percent;
	uint32_t generations;
	uint32_t requests;
	bool warm;
	bool joins;
	bool bystander;
};

struct scenario {
	char name[64];
	uint64_t settle_ns;		/* before anything is counted */
	uint64_t window_ns;
	uint64_t sample_ns;		/* who has the device is sampled at such a distance; 0: it is not */
	char only[256];			/* names of competitors; empty: all */
	uint32_t count;
	struct spec tenant[MAX_TENANTS];
};

struct request {
	uint64_t arrival_ns;
	uint64_t submit_ns;
	uint64_t ring_ns;		/* before the doorbell is written */
	uint64_t done_ns;		/* 0: not served */
};

struct suspend {
	uint64_t begin_ns;
	uint64_t end_ns;
	int tenant;
	bool off;
};

/**
 * struct tenant - in shared memory; only its process uses client, queue and done
 */
struct tenant {
	struct spec spec;
	struct kfd_client *client;
	struct kfd_queue queue;
	struct kfd_work work[CLASSES];
	uint32_t classes;
	struct kfd_signal *done;
	uint8_t *arena;
	size_t arena_bytes;
	uint32_t kfd_priority;
	uint64_t draw;
	pid_t pid;
	int err;
	const char *what;
	uint32_t nr_requests;
	struct request request[MAX_REQUESTS];
};

struct sample {
	uint64_t ns;
	int tenant;
	uint32_t waves;
};

enum who { WHO_ALL, WHO_HIGHEST, WHO_LOWEST };

/**
 * struct competitor - what decides who has the device
 * @name: in results
 * @who: which tenants are there at all
 * @kfd_priority: queues have KFD priorities by level
 * @launch_gap: programs hold back their launches
 * @suspend: a thread suspends queues
 * @enable: gpreempt_enable
 * @named: runs where a scenario or the command line names it
 * @param: parameters of amdgpu that differ from what it was loaded with
 */
struct competitor {
	const char *name;
	enum who who;
	bool kfd_priority;
	bool launch_gap;
	bool suspend;
	bool enable;
	bool named;
	struct {
		const char *name;
		const char *value;
	} param[3];
};

static const struct competitor competitors[] = {
	{ .name = "alone", .who = WHO_HIGHEST },
	{ .name = "background", .who = WHO_LOWEST },
	{ .name = "stock" },
	{ .name = "kfd-priority", .kfd_priority = true },
	{ .name = "launch-gap", .launch_gap = true },
	{ .name = "suspend-ioctl", .suspend = true },
	{ .name = "poll-5ms", .enable = true, .param = { { "gpreempt_wakeup", "poll" }, { "gpreempt_poll_us", "0" }, { "gpreempt_interval_ms", "5" } } },
	{ .name = "poll", .enable = true, .param = { { "gpreempt_wakeup", "poll" } } },
	{ .name = "gpreempt", .enable = true },
	{ .name = "delay-300us", .enable = true, .named = true, .param = { { "gpreempt_resume_delay_us", "300" } } },
	{ .name = "delay-1ms", .enable = true, .named = true, .param = { { "gpreempt_resume_delay_us", "1000" } } },
	{ .name = "always-save", .enable = true, .named = true, .param = { { "gpreempt_drain_us", "0" } } },
	{ .name = "doorbell", .enable = true, .param = { { "gpreempt_wakeup", "doorbell" } } },
	{ .name = "named", .enable = true, .param = { { "gpreempt_unmap", "named" } } },
};

#define COMPETITORS	(sizeof(competitors) / sizeof(competitors[0]))

/**
 * struct shared - what the processes of a run have in common
 */
struct shared {
	volatile bool go;
	volatile bool stop;
	uint64_t begin_ns;		/* of the window */
	uint64_t end_ns;
	uint32_t slots;			/* waves of FULL_VGPRS that fill the device */
	uint32_t ready;
	uint32_t pending[LEVELS];	/* tenants with a request under way */
	uint32_t gap_looks;
	uint64_t poller_cpu_ns;
	uint64_t poller_looks;
	uint32_t nr_suspends;
	struct suspend suspend[MAX_SUSPENDS];
	uint32_t nr_samples;
	struct sample sample[MAX_SAMPLES];
	uint32_t nr_tenants;
	struct tenant tenant[MAX_TENANTS];
};

static struct shared *shared;
static const struct competitor *competitor;

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void die(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	va_start(args, format);
	fputs("bench: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

/* ---- scenarios ---- */

static int index_of(const char *const *names, int count, const char *name)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

static void set(struct spec *s, uint32_t *count, bool *together, const char *key, const char *value, const char *path)
{
	double number = atof(value);
	int i;

	if (!strcmp(key, "name")) {
		snprintf(s->name, sizeof(s->name), "%s", value);
	} else if (!strcmp(key, "level")) {
		i = index_of(level_names, LEVELS, value);
		if (i < 0)
			die("%s: level=%s", path, value);
		s->level = i;
	} else if (!strcmp(key, "arrival")) {
		i = index_of(arrival_names, sizeof(arrival_names) / sizeof(arrival_names[0]), value);
		if (i < 0)
			die("%s: arrival=%s", path, value);
		s->arrival = i;
	} else if (!strcmp(key, "period_us")) {
		s->period_ns = number * US;
	} else if (!strcmp(key, "least_us")) {
		s->least_ns = number * US;
	} else if (!strcmp(key, "sigma")) {
		s->sigma = number;
	} else if (!strcmp(key, "burst")) {
		s->burst = number;
	} else if (!strcmp(key, "kernels")) {
		s->kernels = number;
	} else if (!strcmp(key, "kernel_us")) {
		s->kernel_min_ns = number * US;
		s->kernel_max_ns = strchr(value, '-') ? atof(strchr(value, '-') + 1) * US : s->kernel_min_ns;
	} else if (!strcmp(key, "gap_us")) {
		s->gap_min_ns = number * US;
		s->gap_max_ns = strchr(value, '-') ? atof(strchr(value, '-') + 1) * US : s->gap_min_ns;
	} else if (!strcmp(key, "steps")) {
		s->steps = number;
	} else if (!strcmp(key, "percent")) {
		s->percent = number;
	} else if (!strcmp(key, "generations")) {
		s->generations = number;
	} else if (!strcmp(key, "requests")) {
		s->requests = number;
	} else if (!strcmp(key, "warm")) {
		s->warm = number;
	} else if (!strcmp(key, "count")) {
		*count = number;
	} else if (!strcmp(key, "bystander")) {
		s->bystander = number;
	} else if (!strcmp(key, "together")) {
		*together = number;
	} else {
		die("%s: %s is unknown", path, key);
	}
}

static void read_tenant(struct scenario *sc, char *words, const char *path)
{
	struct spec s = { .level = -1, .burst = 1, .kernels = 1, .steps = 1, .percent = 100, .generations = 1 };
	char *word, *save = NULL;
	bool together = false;
	uint32_t count = 1;

	for (word = strtok_r(words, " \t\n", &save); word; word = strtok_r(NULL, " \t\n", &save)) {
		char *equal = strchr(word, '=');

		if (!equal)
			die("%s: '%s' is no KEY=VALUE", path, word);
		*equal = '\0';
		set(&s, &count, &together, word, equal + 1, path);
	}
	if (s.level < 0 || !s.kernel_min_ns || !s.kernels || !s.steps || !s.burst || !s.generations || s.kernel_max_ns < s.kernel_min_ns ||
	    s.gap_max_ns < s.gap_min_ns)
		die("%s: tenant %s lacks something", path, s.name);
	if ((s.arrival < ARRIVAL_CONTINUOUS || s.arrival == ARRIVAL_NEWCOMER) && !s.period_ns)
		die("%s: tenant %s has no period_us", path, s.name);
	for (; count; count--) {
		if (sc->count == MAX_TENANTS)
			die("%s: more than %d tenants", path, MAX_TENANTS);
		sc->tenant[sc->count++] = s;
		s.joins = together;
	}
}

static void read_scenario(const char *path, struct scenario *sc)
{
	const char *base = strrchr(path, '/');
	/* What is for others */
	static const char *const words[] = { "title", "what", "amdgpu", "vgpu", "long", "criteria" };
	char line[512];
	FILE *f = fopen(path, "r");

	if (!f)
		die("%s: %s", path, strerror(errno));
	*sc = (struct scenario){ .settle_ns = 100 * MS };
	snprintf(sc->name, sizeof(sc->name), "%s", base ? base + 1 : path);
	while (fgets(line, sizeof(line), f)) {
		char *rest = line + strcspn(line, " \t\n");

		if (*rest)
			*rest++ = '\0';
		if (!*line || *line == '#' || index_of(words, sizeof(words) / sizeof(words[0]), line) >= 0)
			continue;
		if (!strcmp(line, "window_ms"))
			sc->window_ns = atof(rest) * MS;
		else if (!strcmp(line, "settle_ms"))
			sc->settle_ns = atof(rest) * MS;
		else if (!strcmp(line, "sample_us"))
			sc->sample_ns = atof(rest) * US;
		else if (!strcmp(line, "only"))
			snprintf(sc->only, sizeof(sc->only), " %.*s ", (int)strcspn(rest, "\n"), rest);
		else if (!strcmp(line, "tenant"))
			read_tenant(sc, rest, path);
		else
			die("%s: '%s' is unknown", path, line);
	}
	fclose(f);
	if (!sc->window_ns || !sc->count)
		die("%s: no window_ms or no tenant", path);
}

/* ---- tenants ---- */

/* xorshift64*, one state a tenant: the same requests under every competitor */
static double draw(struct tenant *t)
{
	t->draw ^= t->draw >> 12;
	t->draw ^= t->draw << 25;
	t->draw ^= t->draw >> 27;
	return (double)((t->draw * 0x2545f4914f6cdd1dull) >> 11) / (1ull << 53);
}

static double draw_normal(struct tenant *t)
{
	double u = 1 - draw(t), v = draw(t);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static uint64_t next_gap(struct tenant *t)
{
	const struct spec *s = &t->spec;

	switch (s->arrival) {
	case ARRIVAL_POISSON:
		return (uint64_t)(-log(1 - draw(t)) * (double)s->period_ns);
	case ARRIVAL_LOGNORMAL:
		/* Of that mean */
		return (uint64_t)(exp(draw_normal(t) * s->sigma - s->sigma * s->sigma / 2) * (double)s->period_ns);
	case ARRIVAL_THINK:
		return s->least_ns + (uint64_t)(draw(t) * (double)s->period_ns);
	default:
		return s->period_ns;
	}
}

static uint64_t class_ns(const struct spec *s, uint32_t i)
{
	return s->kernel_min_ns + (s->kernel_max_ns - s->kernel_min_ns) * i / (CLASSES - 1);
}

static bool outranked(int level)
{
	for (level++; level < LEVELS; level++)
		if (__atomic_load_n(&shared->pending[level], __ATOMIC_ACQUIRE))
			return true;
	return false;
}

static int launch(struct tenant *t, struct kfd_signal *done, uint32_t flags)
{
	uint32_t class = t->classes > 1 ? (uint32_t)(draw(t) * t->classes) : 0;

	while (competitor->launch_gap && outranked(t->spec.level)) {
		__atomic_add_fetch(&shared->gap_looks, 1, __ATOMIC_RELAXED);
		kfd_sleep_ns(GAP_LOOK_NS);
	}
	/* What is held back later must not be held back with its doorbell. */
	if (competitor->launch_gap && t->spec.level < LEVELS - 1)
		flags &= ~KFD_PACKET_SILENT;
	return kfd_work_submit(&t->queue, &t->work[class], done, flags);
}

/* The time right before it rings for all of them goes to @ring_ns. */
static int launch_all(struct tenant *t, struct kfd_signal *done, uint64_t *ring_ns)
{
	uint32_t k;
	int err = 0;

	kfd_signal_reset(done, 1);
	for (k = 0; k < t->spec.kernels && !err; k++)
		err = launch(t, k == t->spec.kernels - 1 ? done : NULL, KFD_PACKET_BARRIER | KFD_PACKET_SILENT);
	*ring_ns = kfd_now_ns();
	kfd_queue_ring(&t->queue);
	return err;
}

/* The same of a host that waits for each kernel, and takes its time until the next one. */
static int launch_apart(struct tenant *t, struct kfd_signal *done, uint64_t *ring_ns)
{
	const struct spec *s = &t->spec;
	uint32_t k;
	int err = 0;

	for (k = 0; k < s->kernels && !err; k++) {
		if (k)
			err = kfd_signal_wait(t->client, done, PATIENCE_NS);
		if (k && !err)
			kfd_sleep_ns(s->gap_min_ns + (uint64_t)(draw(t) * (double)(s->gap_max_ns - s->gap_min_ns)));
		kfd_signal_reset(done, 1);
		if (!err)
			err = launch(t, done, KFD_PACKET_BARRIER | KFD_PACKET_SILENT);
		if (!k)
			*ring_ns = kfd_now_ns();
		kfd_queue_ring(&t->queue);
	}
	return err;
}

static int serve(struct tenant *t, uint64_t arrival_ns)
{
	struct request warming, *r = &warming;
	int err;

	if (arrival_ns >= shared->begin_ns) {
		if (t->nr_requests == MAX_REQUESTS)
			return -ENOBUFS;
		r = &t->request[t->nr_requests++];
	}
	r->arrival_ns = arrival_ns;
	__atomic_add_fetch(&shared->pending[t->spec.level], 1, __ATOMIC_ACQ_REL);
	r->submit_ns = kfd_now_ns();
	err = t->spec.gap_max_ns ? launch_apart(t, t->done, &r->ring_ns) : launch_all(t, t->done, &r->ring_ns);
	if (!err)
		err = kfd_signal_wait(t->client, t->done, PATIENCE_NS);
	r->done_ns = kfd_now_ns();
	__atomic_sub_fetch(&shared->pending[t->spec.level], 1, __ATOMIC_ACQ_REL);
	return err;
}

/* Requests that arrived before the end and were not begun: how old they are then is the least that their latency would be. */
static int requests(struct tenant *t)
{
	uint64_t arrival = (t->spec.warm ? kfd_now_ns() : shared->begin_ns) + (uint64_t)(draw(t) * (double)t->spec.period_ns);
	uint32_t left = t->spec.requests ? t->spec.requests : UINT32_MAX, i;
	int err = 0;

	while (arrival < shared->end_ns && left && !err) {
		for (i = 0; i < t->spec.burst && left && !err; i++, left--) {
			if (kfd_now_ns() < arrival)
				kfd_sleep_until_ns(arrival);
			if (kfd_now_ns() < shared->end_ns)
				err = serve(t, arrival);
			else if (t->nr_requests < MAX_REQUESTS)
				t->request[t->nr_requests++].arrival_ns = arrival;
		}
		arrival = (t->spec.arrival == ARRIVAL_THINK ? kfd_now_ns() : arrival) + next_gap(t);
	}
	return err;
}

static int continuous(struct tenant *t)
{
	uint32_t begun = 0, ended = 0;
	uint64_t ring_ns;
	int err = 0;

	while (!err && (!shared->stop || ended < begun)) {
		while (!err && !shared->stop && begun - ended < BATCHES)
			err = launch_all(t, &t->done[begun++ % BATCHES], &ring_ns);
		if (!err && ended < begun)
			err = kfd_signal_wait(t->client, &t->done[ended++ % BATCHES], PATIENCE_NS);
	}
	return err;
}

/*
 * A queue that comes while a request of a higher level is under way, and replaces the one before. It has one batch each time.
 */
static int newcomer(struct tenant *t)
{
	uint64_t next = shared->begin_ns;
	int err = 0;

	while (!err && !shared->stop) {
		if (kfd_now_ns() < next || !outranked(t->spec.level) || kfd_now_ns() >= shared->end_ns) {
			kfd_sleep_ns(100 * US);
			continue;
		}
		err = kfd_queue_destroy(&t->queue);
		if (!err)
			err = kfd_queue_create(t->client, &t->queue, KFD_BACKING_USERPTR, t->kfd_priority, RING_PACKETS);
		if (!err)
			err = serve(t, kfd_now_ns());
		next = kfd_now_ns() + next_gap(t);
	}
	return err;
}

/* What could be submitted at most */
static uint32_t room(const struct spec *s, uint64_t span_ns)
{
	uint64_t busy = span_ns / s->kernel_min_ns * 100 / s->percent + 4 * BATCHES * s->kernels;
	uint64_t arriving = s->period_ns ? (span_ns * 4 / s->period_ns + 16) * s->burst * s->kernels : UINT64_MAX;

	if (s->requests)
		arriving = (uint64_t)s->requests * s->kernels;
	if (s->arrival == ARRIVAL_ONCE)
		arriving = s->kernels;
	return (uint32_t)(busy < arriving ? busy : arriving);
}

static size_t class_bytes(const struct tenant *t, uint32_t launches, uint32_t waves)
{
	return (kfd_work_bytes(launches, waves, t->spec.steps) + 127) & ~(size_t)127;
}

/* In the parent, so that it can look while the tenants run and afterwards */
static void make_work(struct tenant *t, uint64_t span_ns)
{
	uint32_t launches = room(&t->spec, span_ns), waves = shared->slots * t->spec.percent / 100, i;
	uint8_t *memory;
	size_t bytes;

	t->classes = t->spec.kernel_min_ns == t->spec.kernel_max_ns ? 1 : CLASSES;
	if (!waves)
		waves = 1;
	waves *= t->spec.generations;
	bytes = class_bytes(t, launches, waves);
	t->arena_bytes = (KFD_PAGE_BYTES + t->classes * bytes + KFD_PAGE_BYTES - 1) & ~(size_t)(KFD_PAGE_BYTES - 1);
	t->arena = mmap(NULL, t->arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t->arena == MAP_FAILED)
		die("no memory: %zu bytes", t->arena_bytes);
	t->done = (struct kfd_signal *)t->arena;
	memory = t->arena + KFD_PAGE_BYTES;
	for (i = 0; i < t->classes; i++, memory += bytes) {
		uint64_t ns = t->classes == 1 ? t->spec.kernel_min_ns : class_ns(&t->spec, i);

		kfd_work_init(&t->work[i], memory, launches, waves, t->spec.steps, ns / t->spec.steps / t->spec.generations);
		t->work[i].kernel->vgprs = FULL_VGPRS;
	}
}

#define TRY(call) do { t->err = (call); if (t->err) { t->what = #call; return NULL; } } while (0)

static void *open_tenant(struct tenant *t)
{
	struct kfd_buffer buffer;
	int i;

	TRY(kfd_buffer_import(t->client, t->arena, t->arena_bytes, &buffer));
	TRY(kfd_queue_create(t->client, &t->queue, KFD_BACKING_USERPTR, t->kfd_priority, RING_PACKETS));
	for (i = 0; i < BATCHES; i++)
		TRY(kfd_signal_init_event(t->client, &t->done[i], 0));
	return t;
}

static void *run_tenant(void *arg)
{
	struct sched_param first = { .sched_priority = 1 };
	struct tenant *t = arg;

	/* A host has a CPU for who wakes up to submit a request; here it would wait for that of the others for a time slice. */
	if (t->spec.level == LEVELS - 1 && t->spec.arrival != ARRIVAL_CONTINUOUS)
		pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_ACQ_REL);
	while (!shared->go)
		kfd_sleep_ns(MS);
	switch (t->spec.arrival) {
	case ARRIVAL_CONTINUOUS:
		TRY(continuous(t));
		break;
	case ARRIVAL_ONCE:
		TRY(serve(t, kfd_now_ns()));
		break;
	case ARRIVAL_NEWCOMER:
		TRY(newcomer(t));
		break;
	default:
		TRY(requests(t));
	}
	/* Queues of those that are done stay, as those of programs that have nothing to do. */
	while (!shared->stop)
		kfd_sleep_ns(5 * MS);
	return t;
}

static void note_suspend(int tenant, bool off, uint64_t begin_ns)
{
	if (shared->nr_suspends < MAX_SUSPENDS)
		shared->suspend[shared->nr_suspends++] = (struct suspend){
			.begin_ns = begin_ns, .end_ns = kfd_now_ns(), .tenant = tenant, .off = off,
		};
}

/*
 * GPreempt's way with AMD: a thread looks all the time whether somebody who matters more has work, and suspends the queues of the others, in
 * one process. Its own ioctl is not published. Of what an unchanged driver has, UPDATE_QUEUE with a percentage of 0 does the
 * same: the queue's waves are saved, it leaves the runlist, the call returns when that is done.
 *
 * It has no CPU of its own here: where time is counted instructions, a loop on another CPU takes half of everybody's. So it sleeps between
 * looks, and comes before everybody else when it wakes up.
 */
static void *poller(void *arg)
{
	struct sched_param first = { .sched_priority = 10 };
	bool off[MAX_TENANTS] = { false };
	struct timespec cpu;
	uint32_t i;

	pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	while (!shared->stop) {
		shared->poller_looks++;
		for (i = 0; i < shared->nr_tenants; i++) {
			struct tenant *t = &shared->tenant[i];
			bool want = !t->spec.bystander && outranked(t->spec.level);
			uint64_t begin_ns;

			if (off[i] == want)
				continue;
			begin_ns = kfd_now_ns();
			TRY(kfd_queue_update(&t->queue, t->kfd_priority, want ? 0 : 100));
			off[i] = want;
			note_suspend(i, want, begin_ns);
		}
		kfd_sleep_ns(POLLER_LOOK_NS);
	}
	for (i = 0; i < shared->nr_tenants; i++)
		if (off[i])
			kfd_queue_update(&shared->tenant[i].queue, shared->tenant[i].kfd_priority, 100);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	shared->poller_cpu_ns = (uint64_t)cpu.tv_sec * SECOND + (uint64_t)cpu.tv_nsec;
	return arg;
}

/* @count tenants in this process, which ends here */
static void process(struct tenant *first, uint32_t count)
{
	struct kfd_client client = { 0 };
	pthread_t thread[MAX_TENANTS], poll;
	uint32_t i;
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpriority(PRIO_PROCESS, 0, competitor->suspend ? 0 : level_nice[first->spec.level]);
	err = kfd_client_open(&client);
	for (i = 0; i < count; i++) {
		first[i].client = &client;
		first[i].pid = getpid();
		first[i].err = err;
		first[i].what = "kfd_client_open";
		if (err || !open_tenant(&first[i]))
			_exit(1);
	}
	if (competitor->suspend)
		pthread_create(&poll, NULL, poller, first);
	for (i = 1; i < count; i++)
		pthread_create(&thread[i], NULL, run_tenant, &first[i]);
	run_tenant(first);
	for (i = 1; i < count; i++)
		pthread_join(thread[i], NULL);
	if (competitor->suspend)
		pthread_join(poll, NULL);
	for (i = 0; i < count; i++) {
		kfd_queue_destroy(&first[i].queue);
		if (first[i].err)
			_exit(1);
	}
	_exit(0);
}

/* ---- what is measured from outside ---- */

/* The virtual GPU's: where time is counted instructions, what it takes nobody else has. 0: not found */
static int64_t device_pid(void)
{
	struct dirent *entry;
	char path[300], name[32];
	DIR *dir = opendir("/proc");
	int64_t pid = 0;

	while (dir && !pid && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		if (kfd_file_read(path, name, sizeof(name)) > 0 && !strcmp(name, "vgpu_cp\n"))
			pid = atoll(entry->d_name);
	}
	if (dir)
		closedir(dir);
	return pid;
}

struct numbers {
	int64_t wakeups;
	int64_t checks;
	int64_t preemptions;
	int64_t resumes;
	int64_t failures;
	int64_t runlists;
	int64_t resume_count;
	int64_t resume_ns;
	int64_t saves;			/* by the device */
	int64_t save_ns;
	uint64_t cpu_ns;
	uint64_t device_cpu_ns;
};

/*
 * A kernel thread starts on any CPU, and stays there. On that of the programs its own CPU time would count what the device takes in between, where time is
 * counted instructions; on the device's it comes after the device, and that is all.
 */
static void place_monitor(uint32_t gpu)
{
	cpu_set_t mine, others;
	int cpu;

	CPU_ZERO(&others);
	if (sched_getaffinity(0, sizeof(mine), &mine))
		return;
	for (cpu = 0; cpu < get_nprocs_conf(); cpu++)
		if (!CPU_ISSET(cpu, &mine))
			CPU_SET(cpu, &others);
	sched_setaffinity((pid_t)kfd_gpreempt_get(gpu, "monitor_pid"), sizeof(others), &others);
}

static struct numbers numbers_now(uint32_t gpu, int64_t device)
{
	return (struct numbers){
		.wakeups = kfd_gpreempt_get(gpu, "wakeups"),
		.checks = kfd_gpreempt_get(gpu, "checks"),
		.preemptions = kfd_gpreempt_get(gpu, "preemptions"),
		.resumes = kfd_gpreempt_get(gpu, "resumes"),
		.failures = kfd_gpreempt_get(gpu, "failures"),
		.runlists = kfd_gpreempt_get(gpu, "runlists"),
		.resume_count = kfd_gpreempt_get(gpu, "latency/resume_count"),
		.resume_ns = kfd_gpreempt_get(gpu, "latency/resume_ns_sum"),
		.saves = kfd_vgpu_stat("save_requests"),
		.save_ns = kfd_vgpu_stat("save_device_ns"),
		.cpu_ns = (uint64_t)kfd_cpu_ns(kfd_gpreempt_get(gpu, "monitor_pid")),
		.device_cpu_ns = (uint64_t)kfd_cpu_ns(device),
	};
}

/* Wave nanoseconds done so far; a whole device does @slots of them in a nanosecond. */
static uint64_t wave_ns(const struct tenant *t)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < t->classes; i++)
		sum += kfd_work_progress(&t->work[i]) * t->work[i].kernel->step_ns;
	return sum;
}

/* What the device took for each of the requests from @first up to @end that took waves off it */
static void print_saves(int64_t first, int64_t end)
{
	FILE *f = fopen("/sys/kernel/debug/vgpu/saves", "r");
	long long number, ns;

	while (f && fscanf(f, "%lld %lld", &number, &ns) == 2)
		if (number >= first && number < end)
			printf("saved %lld\n", ns);
	if (f)
		fclose(f);
}

static void print_file(const char *path)
{
	char line[512];
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		printf("stuck %s: %s", path, line);
	if (f)
		fclose(f);
}

/* What the scheduler is at when somebody it should help has waited for so long at the window's end, for whoever looks into it */
static void print_if_stuck(uint32_t gpu)
{
	uint64_t now = kfd_now_ns();
	static const char *const of_monitor[] = { "stack", "wchan", "schedstat" };
	int64_t pid = kfd_gpreempt_get(gpu, "monitor_pid");
	char path[96];
	uint32_t i;

	for (i = 0; i < shared->nr_tenants; i++) {
		const struct tenant *t = &shared->tenant[i];
		const struct request *r = t->nr_requests ? &t->request[t->nr_requests - 1] : NULL;

		if (t->spec.level == LEVELS - 1 && r && r->submit_ns && !r->done_ns && now - r->submit_ns > STUCK_NS)
			break;
	}
	if (i == shared->nr_tenants)
		return;
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/gpreempt/%u/state", gpu);
	print_file(path);
	for (i = 0; i < sizeof(of_monitor) / sizeof(of_monitor[0]); i++) {
		snprintf(path, sizeof(path), "/proc/%lld/%s", (long long)pid, of_monitor[i]);
		print_file(path);
	}
	print_file("/sys/kernel/debug/kfd/gpreempt");
	print_file("/sys/kernel/debug/kfd/gpreempt_dump");
	print_file("/sys/kernel/debug/vgpu/queues");
}

#define TRACING "/sys/kernel/tracing/"
#define TRACE_KB "8192"			/* 100 bytes an event, four events a request and some more, MAX_REQUESTS of these */
static const char *const events[] = { "gpreempt_inversion", "gpreempt_preempt_end", "gpreempt_resume", "gpreempt_running" };

static void trace(bool on)
{
	char path[128];
	size_t i;

	if (on) {
		kfd_file_empty(TRACING "trace");
		kfd_file_write(TRACING "buffer_size_kb", TRACE_KB);
		/* kfd_now_ns() is the same clock. */
		kfd_file_write(TRACING "trace_clock", "mono");
	}
	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		snprintf(path, sizeof(path), TRACING "events/gpreempt/%s/enable", events[i]);
		/* A scheduler that does not tell of something has no figure for it. */
		if (!access(path, F_OK) && kfd_file_write(path, on ? "1" : "0") && on)
			die("%s: %s", path, strerror(errno));
	}
}

static void print_trace(void)
{
	char line[512];
	FILE *f = fopen(TRACING "trace", "r");

	while (f && fgets(line, sizeof(line), f)) {
		char *event = strstr(line, ": gpreempt_"), *time = event;

		if (!event)
			continue;
		*event = '\0';
		while (time > line && time[-1] != ' ')
			time--;
		printf("event %s %s", time, event + 2);
	}
	if (f)
		fclose(f);
}

/* A line of debugfs vgpu/queues: pasid, vmid, doorbell, MQD, read and write index, waves in slots */
static void sample_waves(const uint32_t *pasid)
{
	FILE *f = fopen("/sys/kernel/debug/vgpu/queues", "r");
	uint64_t now = kfd_now_ns();
	unsigned int of, waves;
	char line[256];
	uint32_t i;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%u %*u %*x %*x %*u %*u %u", &of, &waves) != 2)
			continue;
		for (i = 0; i < shared->nr_tenants; i++)
			if (pasid[i] == of && shared->nr_samples < MAX_SAMPLES)
				shared->sample[shared->nr_samples++] = (struct sample){ .ns = now, .tenant = (int)i, .waves = waves };
	}
	if (f)
		fclose(f);
}

/* Who has how much of the device, until the window ends */
static void sample(uint64_t distance_ns)
{
	uint32_t pasid[MAX_TENANTS], i;

	for (i = 0; i < shared->nr_tenants; i++)
		pasid[i] = (uint32_t)kfd_pasid(shared->tenant[i].pid);
	while (kfd_now_ns() + distance_ns < shared->end_ns) {
		sample_waves(pasid);
		kfd_sleep_ns(distance_ns);
	}
}

/* ---- a run ---- */

/* What amdgpu was loaded with is what counts as the default. */
struct saved {
	char name[64];
	char value[64];
};

static struct saved saved[COMPETITORS * 3];
static uint32_t nr_saved;

static void save_params(void)
{
	size_t i, k;

	for (i = 0; i < COMPETITORS; i++)
		for (k = 0; k < 3 && competitors[i].param[k].name; k++) {
			struct saved *s = &saved[nr_saved];

			snprintf(s->name, sizeof(s->name), "%s", competitors[i].param[k].name);
			if (!kfd_param_get_text(s->name, s->value, sizeof(s->value)))
				nr_saved++;
		}
}

static bool has_param(const char *name)
{
	uint32_t i;

	for (i = 0; i < nr_saved; i++)
		if (!strcmp(saved[i].name, name))
			return true;
	return false;
}

static bool set_scheduler(void)
{
	uint32_t i;
	int err;

	err = kfd_param_set("gpreempt_enable", 0);
	for (i = 0; i < nr_saved && !err; i++)
		err = kfd_param_set_text(saved[i].name, saved[i].value);
	for (i = 0; i < 3 && competitor->param[i].name; i++) {
		if (!has_param(competitor->param[i].name))
			return false;
		if (!err)
			err = kfd_param_set_text(competitor->param[i].name, competitor->param[i].value);
	}
	if (!err && competitor->enable)
		err = kfd_param_set("gpreempt_enable", 1);
	if (err)
		die("%s: setting the scheduler's parameters: error %d", competitor->name, -err);
	return true;
}

static void forget_run(void)
{
	uint32_t i;

	for (i = 0; i < shared->nr_tenants; i++)
		munmap(shared->tenant[i].arena, shared->tenant[i].arena_bytes);
	munmap(shared, sizeof(*shared));
	shared = NULL;
}

static void make_run(const struct scenario *sc, uint32_t slots)
{
	int highest = 0, lowest = LEVELS;
	uint32_t i;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("no memory for a run");
	shared->slots = slots;
	for (i = 0; i < sc->count; i++) {
		if (sc->tenant[i].level > highest)
			highest = sc->tenant[i].level;
		if (sc->tenant[i].level < lowest)
			lowest = sc->tenant[i].level;
	}
	for (i = 0; i < sc->count; i++) {
		struct tenant *t = &shared->tenant[shared->nr_tenants];

		if ((competitor->who == WHO_HIGHEST && sc->tenant[i].level != highest) ||
		    (competitor->who == WHO_LOWEST && sc->tenant[i].level != lowest))
			continue;
		shared->nr_tenants++;
		t->spec = sc->tenant[i];
		/* By its place in the scenario, whoever else is there */
		t->draw = 0x9e3779b97f4a7c15ull * (i + 1);
		t->kfd_priority = competitor->kfd_priority ? level_kfd_priority[t->spec.level] : KFD_PRIORITY_NORMAL;
		make_work(t, sc->settle_ns + sc->window_ns);
	}
}

static void start_processes(void)
{
	uint64_t deadline = kfd_now_ns() + PATIENCE_NS;
	uint32_t each, i;

	fflush(stdout);
	for (i = 0; i < shared->nr_tenants; i += each) {
		for (each = 1; i + each < shared->nr_tenants && (competitor->suspend || shared->tenant[i + each].spec.joins); each++)
			;
		if (!fork())
			process(&shared->tenant[i], each);
	}
	while (__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE) < shared->nr_tenants) {
		for (i = 0; i < shared->nr_tenants; i++)
			if (shared->tenant[i].err)
				die("%s: %s: error %d", shared->tenant[i].spec.name, shared->tenant[i].what, -shared->tenant[i].err);
		if (kfd_now_ns() > deadline)
			die("the programs do not come up");
		kfd_sleep_ns(MS);
	}
}

/* Bystanders to the scheduler are what their scenario says. */
static void exempt_bystanders(void)
{
	struct gpreempt *g = NULL;
	uint32_t i;
	int err;

	for (i = 0; i < shared->nr_tenants; i++) {
		const struct tenant *t = &shared->tenant[i];
		struct gpreempt_target target = gpreempt_target_process(t->pid, 0);

		if (!t->spec.bystander)
			continue;
		err = g ? 0 : gpreempt_open(&g);
		if (!err)
			err = gpreempt_set_param(g, &target, GPREEMPT_PARAM_EXEMPT, 1);
		if (err)
			die("%s: exempting it: error %d", t->spec.name, -err);
	}
	if (g)
		gpreempt_close(g);
}

static bool wait_processes(void)
{
	bool good = true;
	int status;

	while (wait(&status) > 0)
		good &= WIFEXITED(status) && !WEXITSTATUS(status);
	return good;
}

static void print_tenant(const struct tenant *t, uint32_t index, uint64_t in_window)
{
	struct kfd_tally tally = { 0 };
	uint32_t i;

	for (i = 0; i < t->classes; i++)
		kfd_work_tally(&t->work[i], &tally);
	printf("tenant %u name=%s level=%d bystander=%d arrival=%s done=%llu lost=%llu twice=%llu wave_ns=%llu\n", index, t->spec.name, t->spec.level,
	       t->spec.bystander, arrival_names[t->spec.arrival], (unsigned long long)tally.done, (unsigned long long)tally.lost,
	       (unsigned long long)tally.twice, (unsigned long long)in_window);
	for (i = 0; i < t->nr_requests; i++)
		printf("request %u %llu %llu %llu %llu\n", index, (unsigned long long)t->request[i].arrival_ns,
		       (unsigned long long)t->request[i].submit_ns, (unsigned long long)t->request[i].done_ns,
		       (unsigned long long)t->request[i].ring_ns);
}

static bool exactly_once(const struct tenant *t)
{
	struct kfd_tally tally = { 0 };
	uint32_t i;

	for (i = 0; i < t->classes; i++)
		kfd_work_tally(&t->work[i], &tally);
	return !tally.lost && !tally.twice;
}

/* False: something went wrong */
static bool run(const struct scenario *sc, uint32_t gpu, uint32_t slots)
{
	uint64_t before[MAX_TENANTS], after[MAX_TENANTS];
	int64_t poll_us, device = device_pid();
	struct numbers n0, n1;
	bool good;
	uint32_t i;

	printf("run %s %s\n", sc->name, competitor->name);
	if (!set_scheduler()) {
		printf("absent %s %s\n", sc->name, competitor->name);
		return true;
	}
	make_run(sc, slots);
	if (competitor->enable)
		place_monitor(gpu);
	start_processes();
	if (competitor->enable)
		exempt_bystanders();
	/* Before times are set: the first time it takes longer than programs settle. */
	if (competitor->enable)
		trace(true);
	shared->begin_ns = kfd_now_ns() + sc->settle_ns;
	shared->end_ns = shared->begin_ns + sc->window_ns;
	shared->go = true;

	/* Once for nothing: what is read for the first time costs more. */
	numbers_now(gpu, device);
	kfd_sleep_until_ns(shared->begin_ns);
	n0 = numbers_now(gpu, device);
	for (i = 0; i < shared->nr_tenants; i++)
		before[i] = wave_ns(&shared->tenant[i]);
	if (sc->sample_ns)
		sample(sc->sample_ns);
	kfd_sleep_until_ns(shared->end_ns);
	n1 = numbers_now(gpu, device);
	for (i = 0; i < shared->nr_tenants; i++)
		after[i] = wave_ns(&shared->tenant[i]);
	if (competitor->enable)
		print_if_stuck(gpu);
	poll_us = kfd_param_get("gpreempt_poll_us");
	shared->stop = true;
	good = wait_processes();
	if (competitor->enable)
		trace(false);
	kfd_param_set("gpreempt_enable", 0);

	printf("window begin=%llu end=%llu slots=%u poll_us=%lld\n", (unsigned long long)shared->begin_ns,
	       (unsigned long long)shared->end_ns, slots, (long long)poll_us);
	printf("scheduler wakeups=%lld checks=%lld preemptions=%lld resumes=%lld failures=%lld runlists=%lld resume_count=%lld resume_ns=%lld "
	       "saves=%lld save_ns=%lld cpu_ns=%llu device_cpu_ns=%llu gap_looks=%u poller_looks=%llu poller_cpu_ns=%llu\n",
	       (long long)(n1.wakeups - n0.wakeups), (long long)(n1.checks - n0.checks), (long long)(n1.preemptions - n0.preemptions),
	       (long long)(n1.resumes - n0.resumes), (long long)(n1.failures - n0.failures), (long long)(n1.runlists - n0.runlists),
	       (long long)(n1.resume_count - n0.resume_count), (long long)(n1.resume_ns - n0.resume_ns),
	       (long long)(n1.saves - n0.saves), (long long)(n1.save_ns - n0.save_ns), (unsigned long long)(n1.cpu_ns - n0.cpu_ns),
	       (unsigned long long)(n1.device_cpu_ns - n0.device_cpu_ns), shared->gap_looks, (unsigned long long)shared->poller_looks,
	       (unsigned long long)shared->poller_cpu_ns);
	for (i = 0; i < shared->nr_tenants; i++) {
		struct tenant *t = &shared->tenant[i];

		print_tenant(t, i, after[i] - before[i]);
		if (t->err) {
			printf("problem %s: %s: error %d\n", t->spec.name, t->what, -t->err);
			good = false;
		}
		good &= exactly_once(t);
	}
	for (i = 0; i < shared->nr_suspends; i++)
		printf("suspend %d %d %llu %llu\n", shared->suspend[i].tenant, shared->suspend[i].off,
		       (unsigned long long)shared->suspend[i].begin_ns, (unsigned long long)shared->suspend[i].end_ns);
	for (i = 0; i < shared->nr_samples; i++)
		printf("sample %d %llu %u\n", shared->sample[i].tenant, (unsigned long long)shared->sample[i].ns, shared->sample[i].waves);
	print_saves(n0.saves, n1.saves);
	if (competitor->enable)
		print_trace();
	printf("end %s %s %s\n", sc->name, competitor->name, good ? "good" : "bad");
	forget_run();
	return good;
}

/* A process of its own: the device's connection must not be inherited. */
static uint32_t device_slots(void)
{
	uint32_t *slots = mmap(NULL, KFD_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), n;
	pid_t pid;

	if (slots == MAP_FAILED)
		die("no memory");
	pid = fork();
	if (!pid) {
		struct kfd_client c = { 0 };

		if (!kfd_client_open(&c))
			*slots = c.simd_count;
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	n = *slots;
	munmap(slots, KFD_PAGE_BYTES);
	return n;
}

static bool chosen(const char *list, const char *name)
{
	size_t length = strlen(name);
	const char *at;

	for (at = strstr(list, name); at; at = strstr(at + 1, name))
		if ((at == list || strchr(", ", at[-1])) && (!at[length] || strchr(", ", at[length])))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	uint32_t gpu = kfd_first_gpu_id(), slots;
	const char *list = NULL;
	struct scenario sc;
	bool good = true;
	size_t i;
	int opt;

	while ((opt = getopt(argc, argv, "c:")) != -1) {
		if (opt != 'c')
			return 2;
		list = optarg;
	}
	if (!kfd_client_is_virtual() || kfd_param_get("gpreempt_enable") < 0)
		die("needs the virtual GPU and an amdgpu with gpreempt_enable");
	slots = device_slots();
	if (!slots)
		die("no device");
	save_params();
	/* The shortest there is: a host's programs do not wait for each other's time slices. */
	kfd_file_write("/sys/kernel/debug/sched/base_slice_ns", "100000");
	for (; optind < argc; optind++) {
		read_scenario(argv[optind], &sc);
		for (i = 0; i < COMPETITORS; i++) {
			competitor = &competitors[i];
			if (list ? !chosen(list, competitor->name) : sc.only[0] ? !chosen(sc.only, competitor->name) : competitor->named)
				continue;
			good &= run(&sc, gpu, slots);
			fflush(stdout);
		}
	}
	return good ? 0 : 1;
}

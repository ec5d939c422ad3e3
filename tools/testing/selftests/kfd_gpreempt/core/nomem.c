// SPDX-License-Identifier: MIT
/*
 * nomem.c - each allocation of the scheduler fails once
 *
 * By the kernel's fault injection, which only kernels for debugging have (elsewhere all of it is skipped). Only what is allocated by our
 * functions, or by what they call, is counted and fails: the first in a first attempt, the second in a second, until an attempt gets by
 * without. What failed has to say so and leave nothing behind; what went on without has to work.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "gpreempt.h"
#include "worker.h"

#define FAULTS		"/sys/kernel/debug/failslab/"
#define PAGE_FAULTS	"/sys/kernel/debug/fail_page_alloc/"
#define NO_ORDER	32	/* that of no allocation */
#define MOST		60	/* allocations of one attempt: more means that nothing ends the loop */

static int put_number(const char *path, unsigned long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lu", value);
	return kfd_file_write(path, text);
}

/*
 * Where the code of the scheduler is: from its first function to the one after its last. All of it lies together, in the order of its Kbuild, but for
 * what is in kfd_device_queue_manager.o, which is before it: that is backend.c, and what the compiler did not put inline there.
 */
#define FIRST_OF_OURS	"kfd_gpreempt_node_init"	/* in main.o */
#define NOT_OURS	"create_queue_cpsch"		/* in kfd_device_queue_manager.o */

static bool is_ours(const char *name)
{
	return (!strncmp(name, "gpreempt_", 9) || !strncmp(name, "kfd_gpreempt_", 13)) && !strstr(name, ".cold");
}

static int find_code(unsigned long *start, unsigned long *end)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long address, first = 0, last = 0, next = ~0ul, others = 0;
	char line[512], type, name[256];
	int pass;

	if (!f)
		return -errno;
	for (pass = 0; pass < 3; pass++) {
		rewind(f);
		while (fgets(line, sizeof(line), f)) {
			if (!strstr(line, "[amdgpu]") || sscanf(line, "%lx %c %255s", &address, &type, name) != 3 ||
			    (type != 't' && type != 'T'))
				continue;
			if (pass == 0 && !strcmp(name, FIRST_OF_OURS))
				first = address;
			else if (pass == 0 && !strcmp(name, NOT_OURS))
				others = address;
			else if (pass == 1 && is_ours(name) && address > last)
				last = address;
			else if (pass == 2 && address > last && address < next)
				next = address;
		}
	}
	fclose(f);
	*start = first;
	*end = next;
	return first && last > first && others && (others < first || others > last) ? 0 : -ENOENT;
}

/*
 * What the kernel allocates only in order to watch (kmemleak, debug objects) comes from caches of its own; when that fails it stops
 * watching, and nobody else hears of it. Of all other caches an allocation may fail.
 */
static bool watches(const char *cache)
{
	return strstr(cache, "/kmemleak_") || strstr(cache, "/debug_objects_");
}

static int choose_caches(void)
{
	glob_t found;
	size_t i;
	int err = glob("/sys/kernel/slab/*/failslab", 0, NULL, &found);

	if (err)
		return -ENOENT;
	for (i = 0; i < found.gl_pathc && !err; i++)
		err = put_number(found.gl_pathv[i], !watches(found.gl_pathv[i]));
	globfree(&found);
	return err ? err : put_number(FAULTS "cache-filter", 1);
}

/* For allocations of objects and of pages */
static int put_both(const char *name, unsigned long value)
{
	char objects[64], pages[64];
	int err;

	snprintf(objects, sizeof(objects), FAULTS "%s", name);
	snprintf(pages, sizeof(pages), PAGE_FAULTS "%s", name);
	err = put_number(objects, value);
	return err ? err : put_number(pages, value);
}

/* Nothing fails yet, but what will is ours. */
static int choose_ours(void)
{
	unsigned long start, end;
	int err = find_code(&start, &end);

	if (!err)
		err = choose_caches();
	/* fail_nth() would count pages too, and when a cache gets no large ones it takes small ones instead. */
	if (!err)
		err = put_number(PAGE_FAULTS "min-order", NO_ORDER);
	if (err)
		return err;
	if (put_both("probability", 0) || put_both("verbose", 0) || put_both("stacktrace-depth", 32) || put_both("require-start", start) ||
	    put_both("require-end", end) || put_both("ignore-gfp-wait", 0) || put_both("task-filter", 0) ||
	    put_number(PAGE_FAULTS "ignore-gfp-highmem", 0))
		return -EIO;
	return 0;
}

/* The @nth allocation of ours by the calling thread fails; 0: none. Lasts until it has. */
static int fail_nth(unsigned int nth)
{
	return put_number("/proc/thread-self/fail-nth", nth);
}

/* Did it? Otherwise it will not any more. */
static bool has_failed(void)
{
	bool failed = !kfd_file_number("/proc/thread-self/fail-nth");

	fail_nth(0);
	return failed;
}

#define MANY		1000	/* failures: more than one command can have */

/* All allocations of ours by the calling thread fail, objects and pages, until @on is false. */
static int fail_all(bool on)
{
	if (put_both("probability", 0) || put_both("task-filter", on) || put_number("/proc/thread-self/make-it-fail", on) ||
	    put_number(PAGE_FAULTS "min-order", on ? 0 : NO_ORDER))
		return -EIO;
	return on && (put_both("times", MANY) || put_both("interval", 1) || put_both("probability", 100)) ? -EIO : 0;
}

/* How many have failed since fail_all(true) */
static int failures(void)
{
	return 2 * MANY - kfd_file_number(FAULTS "times") - kfd_file_number(PAGE_FAULTS "times");
}

/* The @nth allocation of ours from now on fails, whoever's it is; 0: none. */
static int fail_once(unsigned int nth)
{
	if (nth && (put_number(FAULTS "times", 1) || put_number(FAULTS "interval", nth)))
		return -EIO;
	return put_number(FAULTS "probability", nth ? 100 : 0);
}

FIXTURE(nomem) {
	BEFORE_TEST;
	struct gpreempt *g;
};

FIXTURE_SETUP(nomem)
{
	if (access("/proc/thread-self/fail-nth", F_OK) || access(FAULTS "require-start", F_OK))
		SKIP(return, "this kernel cannot make allocations of one module fail (CONFIG_FAILSLAB, FAULT_INJECTION_STACKTRACE_FILTER)");
	SETUP_SCHEDULER(NULL, 0);
	ASSERT_EQ(0, choose_ours());
	ASSERT_EQ(0, gpreempt_open(&self->g));
}

FIXTURE_TEARDOWN(nomem)
{
	fail_all(false);
	fail_nth(0);
	gpreempt_close(self->g);
	TEARDOWN_SCHEDULER();
}

/* @low is preempted for another, and both do their work once and end. */
static void expect_preemption_of(struct __test_metadata *_metadata, struct actor *low, uint32_t slots)
{
	struct actor *high = with_queue(_metadata, 0);

	ASSERT_EQ(0, actor_work(low, 1, slots, 50, 5 * MS));
	ASSERT_EQ(0, actor_work(high, 1, slots, 4, 5 * MS));
	ASSERT_EQ(0, actor_submit(low, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(low, 0, slots, LONG));
	ASSERT_EQ(0, launch_completes(high));
	EXPECT_FALSE(actor_done(low, 0));
	EXPECT_LE(1, preempt_count(low, 0));
	ASSERT_DONE_ONCE(low, high);
	EXPECT_STOPPED(low, high);
}

static void expect_preemption(struct __test_metadata *_metadata, uint32_t slots)
{
	expect_preemption_of(_metadata, with_queue(_metadata, LOW_NICE), slots);
}

/* A command: 0 or a negative error code */
typedef int (*command_fn)(struct gpreempt *g, const struct gpreempt_target *target);

static int open_and_close(struct gpreempt *g, const struct gpreempt_target *target)
{
	int fd = open("/dev/kfd_gpreempt", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int list_nodes(struct gpreempt *g, const struct gpreempt_target *target)
{
	struct gpreempt_node_info nodes[4] = { 0 };
	struct gpreempt_info info = { .nodes = (uintptr_t)nodes, .nr_nodes = 4 };

	return ioctl(gpreempt_fd(g), GPREEMPT_IOC_INFO, &info) ? -errno : 0;
}

static int list_queues(struct gpreempt *g, const struct gpreempt_target *target)
{
	struct gpreempt_queue_info queues[4] = { 0 };
	struct gpreempt_list list = { .target = *target, .queues = (uintptr_t)queues, .nr_queues = 4 };

	return ioctl(gpreempt_fd(g), GPREEMPT_IOC_LIST, &list) ? -errno : 0;
}

static int set_priority(struct gpreempt *g, const struct gpreempt_target *target)
{
	return gpreempt_set_priority(g, target, 3);
}

static int set_weight(struct gpreempt *g, const struct gpreempt_target *target)
{
	return gpreempt_set_param(g, target, GPREEMPT_PARAM_WEIGHT, 200);
}

static int hold(struct gpreempt *g, const struct gpreempt_target *target)
{
	int nr = gpreempt_preempt(g, target, 0, 0);

	return nr < 0 ? nr : nr != 1;
}

static int listen_to_events(struct gpreempt *g, const struct gpreempt_target *target)
{
	struct gpreempt_event event;
	int fd = open("/dev/kfd_gpreempt", O_RDWR | O_CLOEXEC | O_NONBLOCK), r;

	if (fd < 0)
		return -errno;
	r = read(fd, &event, sizeof(event)) < 0 ? -errno : 0;
	close(fd);
	return r == -EAGAIN ? 0 : r;
}

TEST_F(nomem, each_command_says_that_memory_is_missing)
{
	static const struct {
		const char *name;
		command_fn fn;
	} commands[] = {
		{ "open", open_and_close },
		{ "list nodes", list_nodes },
		{ "list queues", list_queues },
		{ "set priority", set_priority },
		{ "set weight", set_weight },
		{ "listen", listen_to_events },
		{ "hold", hold },
	};
	struct actor *a = with_queue(_metadata, 0);
	struct gpreempt_target target = gpreempt_target_process(a->pid, 0);
	unsigned int i, n;
	int r;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		ASSERT_EQ(0, fail_all(true));
		r = commands[i].fn(self->g, &target);
		ASSERT_EQ(0, fail_all(false));
		EXPECT_EQ(-ENOMEM, r) TH_LOG("%s, all allocations", commands[i].name);
		for (n = 1; n < MOST; n++) {
			ASSERT_EQ(0, fail_nth(n));
			r = commands[i].fn(self->g, &target);
			if (!has_failed())
				break;
			/* A listener is large: when the first place has no room for it there is a second one. */
			if (!r && commands[i].fn == listen_to_events)
				continue;
			EXPECT_EQ(-ENOMEM, r) TH_LOG("%s, allocation %u", commands[i].name, n);
			EXPECT_FALSE(state_is(a, 0, "preempted"));
		}
		EXPECT_EQ(0, r) TH_LOG("%s", commands[i].name);
		EXPECT_LT(1, n) TH_LOG("%s: nothing failed", commands[i].name);
		EXPECT_GT(MOST, n) TH_LOG("%s", commands[i].name);
	}
	EXPECT_EQ(0, wait_state(a, 0, "preempted", LONG));
	EXPECT_EQ(1, gpreempt_resume(self->g, &target));
	EXPECT_EQ(0, gpreempt_clear_priority(self->g, &target));
}

static int64_t call_fail_nth(struct actor *a, const int64_t *args)
{
	return fail_nth((unsigned int)args[0]);
}

static int64_t call_has_failed(struct actor *a, const int64_t *args)
{
	return has_failed();
}

TEST_F(nomem, a_queue_works_without_the_scheduler_knowing_it)
{
	struct actor *a = actor_start(0, ARENA);
	uint64_t done = 0;
	unsigned int n;
	bool failed;
	int w;

	ASSERT_ACTOR(a);
	for (n = 1; n < MOST; n++) {
		ASSERT_EQ(0, actor_call(a, call_fail_nth, n, 0, 0, 0));
		ASSERT_EQ(0, actor_queue(a, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL)) TH_LOG("allocation %u", n);
		failed = actor_call(a, call_has_failed, 0, 0, 0, 0);
		w = actor_work(a, 1, 4, 2, 10 * US);
		/* There is room for so many only; each has run the first kernel. */
		if (w >= 0) {
			ASSERT_EQ(0, actor_submit(a, 0, w, 1, 0));
			ASSERT_EQ(0, actor_wait(a, w, LONG));
			done += 4 * 2;
		}
		ASSERT_EQ(0, actor_queue_destroy(a, 0));
		if (!failed)
			break;
	}
	TH_LOG("%u allocations failed, one after the other", n - 1);
	EXPECT_LT(1, n);
	EXPECT_GT(MOST, n);
	EXPECT_EXACTLY_ONCE(a);
	EXPECT_EQ(0, actor_stop(a));
	expect_preemption(_metadata, self->slots);
}

TEST_F(nomem, without_a_thread_the_node_stays_off)
{
	char state[32];
	unsigned int n;

	for (n = 1; n < MOST; n++) {
		ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
		ASSERT_EQ(0, fail_nth(n));
		ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
		if (!has_failed())
			break;
		ASSERT_EQ(0, kfd_gpreempt_text(kfd_first_gpu_id(), "state", state, sizeof(state)));
		EXPECT_STREQ("off", state) TH_LOG("allocation %u", n);
	}
	EXPECT_LT(1, n);
	EXPECT_GT(MOST, n);
	expect_preemption(_metadata, self->slots);
}

TEST_F_TIMEOUT(nomem, the_monitor_goes_on_with_the_queues_it_has_room_for, 120)
{
	int64_t skipped = counter("skipped_no_memory"), monitor = counter("monitor_pid");
	enum { ACTORS = 4 };
	struct actor *a[ACTORS];
	int i, queues = 0;
	char path[64];

	for (; queues < ACTORS; queues++)
		a[queues] = with_queue(_metadata, 0);
	ASSERT_LT(0, monitor);
	snprintf(path, sizeof(path), "/proc/%d/make-it-fail", (int)monitor);
	ASSERT_EQ(0, put_number(path, 1));
	ASSERT_EQ(0, put_number(FAULTS "task-filter", 1));
	ASSERT_EQ(0, fail_once(1));
	/* Room for 16 is what it begins with; what tests needed before, it keeps: 128 at most. */
	for (; queues < ACTORS * ACTOR_QUEUES && counter("skipped_no_memory") == skipped; queues++)
		ASSERT_EQ(queues / ACTORS, actor_queue(a[queues % ACTORS], KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	EXPECT_EQ(0, wait_counter("skipped_no_memory", skipped + 1, LONG));
	ASSERT_EQ(0, fail_once(0));
	ASSERT_EQ(0, put_number(FAULTS "task-filter", 0));
	for (i = 0; i < queues; i++)
		ASSERT_EQ(0, wait_state(a[i % ACTORS], i / ACTORS, "idle", LONG));
	EXPECT_STOPPED(a[0], a[1], a[2], a[3]);
	expect_preemption(_metadata, self->slots);
}

TEST_F(nomem, what_cannot_be_verified_is_preempted_all_the_same)
{
	struct actor *a = with_queue(_metadata, LOW_NICE);

	/* What is copied is large: it would find room elsewhere if only the first place had none. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_verify", 0));
	ASSERT_EQ(0, fail_all(true));
	ASSERT_EQ(0, kfd_param_set("gpreempt_verify", 1));
	ASSERT_EQ(0, fail_all(false));
	EXPECT_LE(1, failures());
	expect_preemption_of(_metadata, a, self->slots);
}

/* Whoever of the threads involved is the one: the counter of attempts is the kernel's and goes on. */
TEST_F(nomem, adoption_loses_queues_and_nothing_else)
{
	struct actor *a = with_queue(_metadata, 0), *b = with_queue(_metadata, 0);
	unsigned int n;

	ASSERT_EQ(0, actor_work(a, 1, 4, 2, 10 * US));
	for (n = 1; n <= 12; n++) {
		ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
		ASSERT_EQ(0, fail_once(n));
		ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
		kfd_sleep_ns(30 * MS);
		ASSERT_EQ(0, fail_once(0));
	}
	ASSERT_EQ(0, scheduler_fresh(NULL, 0));
	EXPECT_EQ(0, wait_state(a, 0, "idle", LONG));
	EXPECT_EQ(0, wait_state(b, 0, "idle", LONG));
	ASSERT_EQ(0, launch_completes(a));
	EXPECT_EXACTLY_ONCE(a);
	EXPECT_STOPPED(a, b);
	expect_preemption(_metadata, self->slots);
}

TEST_HARNESS_MAIN

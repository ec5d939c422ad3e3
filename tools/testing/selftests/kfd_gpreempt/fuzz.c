// SPDX-License-Identifier: MIT
/*
 * fuzz.c - structured fuzzing of /dev/kfd_gpreempt and of our commands on /dev/kfd
 *
 *	fuzz [CALLS [SEED]]	default: 1000000 calls, seed 1; the same seed makes the same calls
 *
 * Members of each structure are drawn from values that mean something (ids that exist, bounds and their neighbours, pointers good and bad)
 * and from noise. Two processes with work on the device are there to be listed, changed, held and resumed; at the end both must have done all
 * of it exactly once. What the kernel complains of is found by whoever reads its log. Prints TAP.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "kselftest.h"

#include "fixture.h"
#include "gpreempt.h"

#define DEFAULT_CALLS	1000000ul
#define DESCRIPTORS	8

static uint64_t state;

/* xorshift64*: repeatable, and good enough to draw lots. */
static uint64_t any(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1dull;
}

static bool one_in(unsigned int n)
{
	return any() % n == 0;
}

static struct actor *actors[2];
static int fds[DESCRIPTORS];
static int cgroup_fd, kfd_fd;
static uint32_t gpu_id;
static void *good, *readonly;

static uint32_t some_u32(void)
{
	static const uint32_t values[] = { 0, 1, 2, 7, 8, 15, 255, 1023, 1024, 10000, 10001, 0x7fffffff, 0x80000000, ~0u };

	return one_in(4) ? (uint32_t)any() : values[any() % (sizeof(values) / sizeof(values[0]))];
}

static uint64_t some_pointer(void)
{
	switch (any() % 6) {
	case 0:
		return 0;
	case 1:
		return (uintptr_t)readonly;
	case 2:
		return ~0ull - any() % 4096;
	case 3:
		return any();
	default:
		return (uintptr_t)good;
	}
}

static struct gpreempt_target some_target(void)
{
	const struct actor *a = actors[any() % 2];
	struct gpreempt_target t = { .scope = any() % 4 };

	if (one_in(50))
		t.scope = some_u32();
	if (t.scope <= GPREEMPT_SCOPE_PROCESS)
		t.pid = one_in(4) ? (int32_t)some_u32() : one_in(8) ? 0 : a->pid;
	if (t.scope == GPREEMPT_SCOPE_QUEUE || (t.scope == GPREEMPT_SCOPE_PROCESS && one_in(4)))
		t.gpu_id = one_in(8) ? some_u32() : gpu_id;
	if (t.scope == GPREEMPT_SCOPE_QUEUE)
		t.queue_id = one_in(4) ? some_u32() : a->queue[0].id;
	if (t.scope == GPREEMPT_SCOPE_CGROUP)
		t.cgroup_fd = one_in(4) ? (int32_t)some_u32() : cgroup_fd;
	if (one_in(50))
		t.reserved = some_u32();
	return t;
}

/*
 * One in 50: a byte anywhere, reserved members and flags included. Not in the pointers through which the kernel writes: a good one that
 * is off by a byte may hit the memory that tells whether work was done exactly once.
 */
static void dirty(unsigned long command, void *argument, size_t size)
{
	size_t at = any() % size, pointer = size;

	if (command == GPREEMPT_IOC_INFO)
		pointer = offsetof(struct gpreempt_info, nodes);
	else if (command == GPREEMPT_IOC_LIST)
		pointer = offsetof(struct gpreempt_list, queues);
	if (one_in(50) && (at < pointer || at >= pointer + sizeof(uint64_t)))
		((uint8_t *)argument)[at] ^= (uint8_t)any();
}

/* Returns the command, its structure in @argument. */
static unsigned long some_command(void *argument, size_t *size)
{
	switch (any() % 9) {
	case 0: {
		struct gpreempt_info *info = argument;

		*info = (struct gpreempt_info){ .nodes = some_pointer(), .nr_nodes = some_u32() };
		*size = sizeof(*info);
		return GPREEMPT_IOC_INFO;
	}
	case 1:
	case 2: {
		struct gpreempt_list *list = argument;

		*list = (struct gpreempt_list){ .target = some_target(), .queues = some_pointer(), .nr_queues = some_u32() };
		*size = sizeof(*list);
		return GPREEMPT_IOC_LIST;
	}
	case 3:
	case 4: {
		struct gpreempt_priority *p = argument;

		*p = (struct gpreempt_priority){ .target = some_target(), .flags = any() % 2 };
		p->priority = p->flags ? 0 : one_in(4) ? (int32_t)some_u32() : (int32_t)(any() % 20) - 10;
		*size = sizeof(*p);
		return GPREEMPT_IOC_SET_PRIORITY;
	}
	case 5: {
		struct gpreempt_set_param *p = argument;

		*p = (struct gpreempt_set_param){ .target = some_target(), .param = any() % 4, .value = some_u32() };
		*size = sizeof(*p);
		return GPREEMPT_IOC_SET_PARAM;
	}
	case 6: {
		struct gpreempt_hold *h = argument;

		/* Costs a runlist when it succeeds, so not too often. */
		*h = (struct gpreempt_hold){ .target = some_target(), .timeout_ms = 1 + any() % 3, .flags = any() % 3 };
		if (!one_in(100))
			h->target.queue_id = 0x10000000u | some_u32();
		*size = sizeof(*h);
		return GPREEMPT_IOC_PREEMPT;
	}
	case 7: {
		struct gpreempt_hint *h = argument;

		*h = (struct gpreempt_hint){ .target = some_target(), .within_us = one_in(20) ? some_u32() : 0 };
		*size = sizeof(*h);
		return GPREEMPT_IOC_HINT;
	}
	default: {
		struct gpreempt_hold *h = argument;

		*h = (struct gpreempt_hold){ .target = some_target(), .flags = any() % 4 };
		*size = sizeof(*h);
		return GPREEMPT_IOC_RESUME;
	}
	}
}

static void call_ours(int fd)
{
	uint8_t argument[256];
	unsigned long command;
	size_t size;

	command = some_command(argument, &size);
	dirty(command, argument, size);
	if (one_in(50))
		command ^= 1ul << (any() % 32);
	ioctl(fd, command, one_in(100) ? (void *)(uintptr_t)some_pointer() : argument);
}

static void call_kfd(void)
{
	struct kfd_ioctl_preempt_queue_args args = {
		.queue_id = some_u32(), .preempt_type = any() % 4, .timeout_ms = 1, .pad = one_in(10),
	};
	unsigned long command = any() % 2 ? AMDKFD_IOC_PREEMPT_QUEUE : AMDKFD_IOC_RESUME_QUEUE;

	/* Its size, not its number: the driver has commands of its own. */
	if (one_in(10))
		command ^= 1ul << (_IOC_SIZESHIFT + any() % 6);
	ioctl(kfd_fd, command, one_in(50) ? (void *)(uintptr_t)some_pointer() : &args);
}

static void reopen(int i)
{
	close(fds[i]);
	fds[i] = open("/dev/kfd_gpreempt", O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

static void one_call(void)
{
	int i = any() % DESCRIPTORS;
	struct pollfd pfd = { .fd = fds[i], .events = POLLIN };

	switch (any() % 64) {
	case 0:
		reopen(i);
		break;
	case 1:
		poll(&pfd, 1, 0);
		break;
	case 2:
		if (read(fds[i], (void *)(uintptr_t)some_pointer(), any() % 4096) < 0)
			break;
		break;
	case 3 ... 10:
		call_kfd();
		break;
	default:
		call_ours(fds[i]);
	}
}

static struct actor *start_work(uint32_t slots)
{
	struct actor *a = actor_start(0, ARENA);

	if (!a || actor_queue(a, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL) < 0 || actor_work(a, 4, slots, 100, 10 * MS) < 0 ||
	    actor_submit(a, 0, 0, 4, 0))
		ksft_exit_fail_msg("no process with work: %s\n", actor_why());
	return a;
}

static bool done_once(const struct actor *a, uint64_t items)
{
	struct kfd_tally tally = actor_tally(a);

	ksft_print_msg("done %llu of %llu, lost %llu, twice %llu\n", (unsigned long long)tally.done, (unsigned long long)items,
		       (unsigned long long)tally.lost, (unsigned long long)tally.twice);
	return tally.done == items && !tally.lost && !tally.twice;
}

int main(int argc, char **argv)
{
	unsigned long i, calls = argc > 1 ? strtoul(argv[1], NULL, 0) : DEFAULT_CALLS;
	const char *missing = scheduler_missing();
	uint32_t slots;

	state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	ksft_print_header();
	if (missing)
		ksft_exit_skip("%s\n", missing);
	ksft_set_plan(2);
	if (kfd_param_set("gpreempt_enable", 0) || scheduler_defaults() || kfd_param_set("gpreempt_enable", 1))
		ksft_exit_fail_msg("the scheduler cannot be switched on\n");
	slots = (uint32_t)kfd_vgpu_stat("wave_slots");
	gpu_id = kfd_first_gpu_id();
	actors[0] = start_work(slots);
	actors[1] = start_work(slots);
	cgroup_fd = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY);
	kfd_fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	good = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	readonly = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < DESCRIPTORS; i++) {
		fds[i] = -1;
		reopen(i);
	}

	ksft_print_msg("seed %llu\n", (unsigned long long)state);
	for (i = 0; i < calls; i++)
		one_call();
	ksft_test_result_pass("%lu_calls_return\n", calls);

	/* With the descriptors their holds go; what was set for the processes goes with these. */
	for (i = 0; i < DESCRIPTORS; i++)
		close(fds[i]);
	if (kfd_param_set("gpreempt_enable", 0) || actor_wait(actors[0], 0, LONG) || actor_wait(actors[1], 0, LONG))
		ksft_test_result_fail("work_ends_exactly_once_after_all_that: it does not end\n");
	else
		ksft_test_result(done_once(actors[0], 4ull * slots * 100) & done_once(actors[1], 4ull * slots * 100),
				 "work_ends_exactly_once_after_all_that\n");
	actor_forget_all();
	ksft_finished();
}

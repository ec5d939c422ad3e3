// SPDX-License-Identifier: MIT
/*
 * fuzz.c - structured fuzzing of /dev/kfd_gpreempt and of our commands on /dev/kfd
 *
 *	fuzz [CALLS [SEED [WORKERS]]]	default: 1000000 calls, seed 1, 5 workers; a worker makes the same calls with the same seed
 *
 * Members of each structure are drawn from values that mean something (ids that exist, bounds and their neighbours, pointers good and bad)
 * and from noise. Workers run at the same time: root, two other users, root in a pid namespace of its own, each with a queue that it changes and
 * replaces now and then, and one without; each tries files of nodes and queues, and debugfs, with the rights that it has. Meanwhile
 * processes with queues come and go, the scheduler is switched, files of the node are written. Two processes with work on the device
 * are there to be listed, changed, held and resumed; at the end both must have done all of it exactly once, and the kernel must have about
 * as much memory as before. What it complains of is found by whoever reads its log. Prints TAP.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "kselftest.h"

#include "draw.h"
#include "fixture.h"
#include "gpreempt.h"

#define DEFAULT_CALLS	1000000ul
#define DEFAULT_WORKERS	5
#define MAX_WORKERS	16
#define DESCRIPTORS	8
#define NOBODY		65534
#define SOMEBODY	1
#define DEVICE		"/dev/kfd_gpreempt"
/* The same device for everybody */
#define OPEN_DEVICE	"/tmp/kfd_gpreempt"
#define LAUNCHES	32
#define STEPS		100
/* What caches may have grown by that are not ours to empty; a byte lost per call would be more in a long run. */
#define GROWTH_KB	8192

/**
 * struct common - what all workers and their parent see
 * @guest: a process with a queue that comes and goes
 */
struct common {
	volatile pid_t guest;
};

static struct common *common;
static struct actor *actors[2];
static int fds[DESCRIPTORS];
static int cgroup_fd, kfd_fd;
static uint32_t gpu_id;
static void *good, *readonly, *low;

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
		t.pid = one_in(4) ? (int32_t)some_u32() : one_in(4) ? 0 : one_in(4) ? common->guest : a->pid;
	if (t.scope == GPREEMPT_SCOPE_QUEUE || (t.scope == GPREEMPT_SCOPE_PROCESS && one_in(4)))
		t.gpu_id = one_in(8) ? some_u32() : gpu_id;
	if (t.scope == GPREEMPT_SCOPE_QUEUE)
		t.queue_id = one_in(4) ? some_u32() : a->queue[0].id;
	if (t.scope == GPREEMPT_SCOPE_CGROUP)
		t.cgroup_fd = one_in(4) ? (int32_t)some_u32() : cgroup_fd;
	if (one_in(50))
		t.context = some_u32();
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

		*p = (struct gpreempt_priority){ .target = some_target(), .flags = any() % 4 };
		p->priority = p->flags & GPREEMPT_PRIORITY_CLEAR ? 0 : one_in(4) ? (int32_t)some_u32() : (int32_t)(any() % 20) - 10;
		*size = sizeof(*p);
		return GPREEMPT_IOC_SET_PRIORITY;
	}
	case 5: {
		struct gpreempt_set_param *p = argument;

		*p = (struct gpreempt_set_param){ .target = some_target(), .param = any() % 6, .value = some_u32() };
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
	size_t size;
	unsigned long command = some_command(argument, &size);

	dirty(command, argument, size);
	if (one_in(50))
		command ^= 1ul << (any() % 32);
	if (one_in(16))
		kfd_ioctl_32bit(fd, (unsigned int)command, memcpy(low, argument, size));
	else
		ioctl(fd, command, one_in(100) ? (void *)(uintptr_t)some_pointer() : argument);
}

static void call_kfd(void)
{
	struct kfd_ioctl_preempt_queue_args args = {
		.queue_id = some_u32(), .preempt_type = any() % 4, .timeout_ms = 1, .pad = one_in(10),
	};
	static const unsigned long commands[] = {
		AMDKFD_IOC_PREEMPT_QUEUE, AMDKFD_IOC_PREEMPT_QUEUE, AMDKFD_IOC_RESUME_QUEUE, AMDKFD_IOC_RESUME_QUEUE_LONG,
	};
	unsigned long command = commands[any() % 4];

	/* A resume has only zeroes behind the number. */
	if (command != AMDKFD_IOC_PREEMPT_QUEUE && !one_in(8))
		args.preempt_type = args.timeout_ms = args.pad = 0;

	/* Its size, not its number: the driver has commands of its own. */
	if (one_in(10))
		command ^= 1ul << (_IOC_SIZESHIFT + any() % 6);
	ioctl(kfd_fd, command, one_in(50) ? (void *)(uintptr_t)some_pointer() : &args);
}

static void reopen(int i)
{
	close(fds[i]);
	fds[i] = open(OPEN_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

/* A worker's own; NULL: it has none. */
static struct kfd_client *own_client;
static struct kfd_queue own_queue;

/* Whatever comes of it, there is a queue afterwards or there is none. */
static void change_own_queue(void)
{
	if (!own_client)
		return;
	if (!own_queue.client) {
		if (kfd_queue_create(own_client, &own_queue, one_in(2) ? KFD_BACKING_GTT : KFD_BACKING_USERPTR, any() % 16, 256))
			own_queue.client = NULL;
	} else if (one_in(4)) {
		if (!kfd_queue_destroy(&own_queue))
			own_queue.client = NULL;
	} else {
		kfd_queue_update(&own_queue, any() % 16, one_in(4) ? any() % 101 : 100);
	}
}

/* With the rights of whoever asks. Nothing that takes away what the others need: that is for the parent. */
static void use_files(void)
{
	static const char *const names[] = {
		"/sys/class/kfd/kfd/gpreempt/%u/tunables/poll_us", "/sys/class/kfd/kfd/gpreempt/%u/tunables/wakeup",
		"/sys/class/kfd/kfd/gpreempt/%u/tunables/max_hold_ms", "/sys/class/kfd/kfd/gpreempt/%u/tunables/aging_ms",
		"/sys/class/kfd/kfd/gpreempt/%u/policy", "/sys/class/kfd/kfd/gpreempt/%u/state",
		"/sys/class/kfd/kfd/gpreempt/%u/latency/detect_count", "/sys/module/amdgpu/parameters/gpreempt_relief_ms",
		"/sys/module/amdgpu/parameters/gpreempt_resume_delay_us", "/sys/kernel/debug/kfd/gpreempt_dump", "/sys/kernel/debug/kfd/gpreempt",
	};
	static const char *const values[] = { "0", "1", "80", "200", "1000", "40", "poll", "doorbell", "hpf", "wfq", "edf", "default", "-1", "x", "" };
	const char *value = values[any() % (sizeof(values) / sizeof(values[0]))];
	char path[128], text[512];
	int fd;

	snprintf(path, sizeof(path), names[any() % (sizeof(names) / sizeof(names[0]))], gpu_id);
	fd = open(path, (one_in(2) ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (fd < 0)
		return;
	if (one_in(2) && write(fd, value, strlen(value)) < 0)
		errno = 0;
	if (read(fd, text, sizeof(text)) < 0)
		errno = 0;
	close(fd);
}

static void one_call(void)
{
	int i = any() % DESCRIPTORS;
	struct pollfd pfd = { .fd = fds[i], .events = POLLIN };

	if (one_in(256)) {
		change_own_queue();
		return;
	}
	if (one_in(128)) {
		use_files();
		return;
	}
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

/* A queue of its own makes what it says about itself meaningful. Does not return. */
static void worker(unsigned long calls, uint64_t seed, int nr)
{
	static struct kfd_client client;
	uid_t uid = nr % 4 == 1 ? NOBODY : nr % 8 == 4 ? SOMEBODY : 0;
	unsigned long i;

	draw_seed(seed * 1000003 + nr + 1);
	if (nr % 4 == 2) {
		pid_t first = unshare(CLONE_NEWPID) ? -1 : fork();

		if (first > 0) {
			int status = 1;

			waitpid(first, &status, 0);
			_exit(!!status);
		}
	}
	/* Without a GPU process the commands on /dev/kfd are refused, which is worth a worker. */
	if (nr % 4 != 3 && (kfd_client_open(&client) || kfd_queue_create(&client, &own_queue, KFD_BACKING_GTT, KFD_PRIORITY_NORMAL, 256)))
		_exit(1);
	kfd_fd = nr % 4 != 3 ? client.kfd_fd : open("/dev/kfd", O_RDWR | O_CLOEXEC);
	if (nr % 4 != 3)
		own_client = &client;
	if (uid && (setgroups(0, NULL) || setgid(uid) || setuid(uid)))
		_exit(1);
	for (i = 0; i < DESCRIPTORS; i++) {
		fds[i] = -1;
		reopen(i);
	}
	for (i = 0; i < calls; i++)
		one_call();
	_exit(0);
}

static struct actor *start_work(uint32_t slots)
{
	struct actor *a = actor_start(0, ARENA + kfd_work_bytes(LAUNCHES, slots, STEPS));

	if (!a || actor_queue(a, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL) < 0 || actor_work(a, LAUNCHES, slots, STEPS, 20 * MS) < 0)
		ksft_exit_fail_msg("no process with work: %s\n", actor_why());
	return a;
}

/* There is always some on the device, as long as there is room for it. */
static void keep_busy(struct actor *a, uint32_t slots)
{
	struct kfd_work *w = &a->work[0];

	if (w->submitted < LAUNCHES && kfd_work_progress(w) == (uint64_t)w->submitted * slots * STEPS &&
	    actor_submit(a, 0, 0, 1, KFD_PACKET_BARRIER))
		ksft_exit_fail_msg("no more work\n");
}

static bool done_once(const struct actor *a, uint32_t slots)
{
	uint64_t items = (uint64_t)a->work[0].submitted * slots * STEPS;
	struct kfd_tally tally = actor_tally(a);

	ksft_print_msg("done %llu of %llu, lost %llu, twice %llu\n", (unsigned long long)tally.done, (unsigned long long)items,
		       (unsigned long long)tally.lost, (unsigned long long)tally.twice);
	return tally.done == items && !tally.lost && !tally.twice;
}

static int wait_all(const struct actor *a, uint32_t slots)
{
	return actor_wait_progress(a, 0, (uint64_t)a->work[0].submitted * slots * STEPS, 10 * LONG);
}

static void write_node_file(void)
{
	static const char *const files[] = {
		"tunables/interval_ms", "tunables/poll_us", "tunables/max_hold_ms", "tunables/aging_ms", "tunables/min_run_us",
		"tunables/wakeup", "tunables/unmap", "tunables/nice", "tunables/verify", "tunables/hw_priority", "policy", "enabled",
	};
	static const char *const values[] = { "0", "1", "10", "200", "1000", "follow", "normal", "doorbell", "poll", "wfq", "edf", "hpf", "default", "" };

	kfd_gpreempt_set_text(gpu_id, files[any() % (sizeof(files) / sizeof(files[0]))],
			      values[any() % (sizeof(values) / sizeof(values[0]))]);
}

static void set_queue_file(const struct actor *a)
{
	static const char *const values[] = { "0", "-1023", "1023", "1024", "clear", "x" };
	const char *value = values[any() % (sizeof(values) / sizeof(values[0]))];
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%u/logical_priority", a->pid, a->queue[0].id);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, value, strlen(value)) < 0)
		errno = 0;
	close(fd);
}

/* Returns how many of them went wrong. Those that have ended become 0. */
static int reap(pid_t *pids, int workers, int *running)
{
	int i, status, bad = 0;

	*running = 0;
	for (i = 0; i < workers; i++) {
		if (pids[i] && waitpid(pids[i], &status, WNOHANG) == pids[i]) {
			pids[i] = 0;
			bad += !!status;
		}
		*running += !!pids[i];
	}
	return bad;
}

/* Until all workers have ended. Returns how many went wrong. */
static int stir(uint32_t slots, pid_t *pids, int workers)
{
	struct actor *guest = NULL;
	int running, bad = 0;

	for (;;) {
		bad += reap(pids, workers, &running);
		if (!running)
			break;
		keep_busy(actors[0], slots);
		keep_busy(actors[1], slots);
		if (guest)
			actor_forget(guest);
		guest = actor_start(0, 1u << 20);
		if (!guest || actor_queue(guest, KFD_BACKING_GTT, KFD_PRIORITY_NORMAL) < 0 || actor_work(guest, 1, slots, 20, MS) < 0 ||
		    actor_submit(guest, 0, 0, 1, 0))
			ksft_exit_fail_msg("no guest: %s\n", actor_why());
		common->guest = guest->pid;
		if (one_in(2))
			set_queue_file(guest);
		write_node_file();
		if (one_in(16)) {
			kfd_param_set("gpreempt_enable", 0);
			kfd_param_set("gpreempt_enable", 1);
		}
		kfd_sleep_ns((1 + any() % 20) * MS);
		if (one_in(2))
			actor_queue_destroy(guest, 0);
	}
	if (guest)
		actor_kill(guest);
	return bad;
}

static long meminfo_kb(const char *name)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128];
	long kb = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
			kb = strtol(line + strlen(name) + 1, NULL, 10);
	if (f)
		fclose(f);
	return kb;
}

/* What the kernel has allocated and does not give back when asked. */
static long kernel_memory_kb(void)
{
	sync();
	if (kfd_file_write("/proc/sys/vm/drop_caches", "3"))
		ksft_print_msg("caches stay\n");
	return meminfo_kb("SUnreclaim") + meminfo_kb("VmallocUsed") + meminfo_kb("KernelStack") + meminfo_kb("PageTables");
}

int main(int argc, char **argv)
{
	unsigned long calls = argc > 1 ? strtoul(argv[1], NULL, 0) : DEFAULT_CALLS;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	int i, tries, workers = argc > 3 ? atoi(argv[3]) : DEFAULT_WORKERS;
	pid_t pids[MAX_WORKERS];
	const char *missing = unless_virtual(scheduler_missing());
	long before, after;
	uint32_t slots;
	struct stat st;

	ksft_print_header();
	if (missing)
		ksft_exit_skip("%s\n", missing);
	if (workers < 1 || workers > MAX_WORKERS)
		ksft_exit_fail_msg("1 to %d workers\n", MAX_WORKERS);
	ksft_set_plan(3);
	/* The first switching on also fills caches that stay. */
	if (scheduler_fresh(NULL, 0) || stat(DEVICE, &st))
		ksft_exit_fail_msg("the scheduler cannot be switched on\n");
	unlink(OPEN_DEVICE);
	if (mknod(OPEN_DEVICE, S_IFCHR | 0666, st.st_rdev) || chmod(OPEN_DEVICE, 0666))
		ksft_exit_fail_msg("no device for everybody\n");
	slots = (uint32_t)kfd_vgpu_stat("wave_slots");
	gpu_id = kfd_first_gpu_id();
	draw_seed(seed);
	common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	actors[0] = start_work(slots);
	actors[1] = start_work(slots);
	cgroup_fd = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY);
	good = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	readonly = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	before = kernel_memory_kb();

	ksft_print_msg("seed %llu, %d workers\n", (unsigned long long)seed, workers);
	fflush(stdout);
	for (i = 0; i < workers; i++) {
		pids[i] = fork();
		if (!pids[i])
			worker(calls / workers, seed, i);
	}
	i = stir(slots, pids, workers);
	ksft_test_result(!i, "%lu_calls_return\n", calls);

	/* Holds have gone with their descriptors. */
	if (kfd_param_set("gpreempt_enable", 0) || wait_all(actors[0], slots) || wait_all(actors[1], slots))
		ksft_test_result_fail("work_ends_exactly_once_after_all_that: it does not end\n");
	else
		ksft_test_result(done_once(actors[0], slots) & done_once(actors[1], slots), "work_ends_exactly_once_after_all_that\n");
	/* Processes that have ended are taken apart a little later. */
	for (tries = 0; tries < 50; tries++) {
		after = kernel_memory_kb();
		if (after - before < GROWTH_KB)
			break;
		kfd_sleep_ns(200 * MS);
	}
	ksft_print_msg("kernel memory: %ld kB before, %ld kB after\n", before, after);
	ksft_test_result(after - before < GROWTH_KB, "no_memory_is_lost\n");
	actor_forget_all();
	unlink(OPEN_DEVICE);
	ksft_finished();
}

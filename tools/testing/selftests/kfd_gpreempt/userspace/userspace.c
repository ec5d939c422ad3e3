// SPDX-License-Identifier: MIT
/*
 * userspace.c - what a scheduler in user space relies on: units of libgpreempt, their interrupt and restore
 *
 * Needs the scheduler and, for work on the device, the virtual GPU.
 */
#define _GNU_SOURCE
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "outside.h"
#include "../../../bench/demo/percentile.h"

#define NOBODY	65534
#define STEPS	50
#define STEP_NS	(5 * MS)

OUTSIDE_FIXTURE(userspace)

/* A queue that fills the device for a while, and runs. Its second packet waits: that it has work is to be seen without asking the device. */
static struct actor *running(struct __test_metadata *_metadata, uint32_t slots)
{
	struct actor *a = worker(_metadata, 0, 2, slots, STEPS / 2, STEP_NS);

	ASSERT_EQ(0, launches_begin(a, 2, KFD_PACKET_BARRIER));
	return a;
}

static struct gpreempt_unit *unit_of(struct __test_metadata *_metadata, struct gpreempt_target target)
{
	struct gpreempt_unit *unit;

	ASSERT_EQ(0, gpreempt_unit_open(&target, 0, &unit));
	return unit;
}

static int unit_state(struct gpreempt_unit *unit)
{
	struct gpreempt_unit_status status;
	int error = gpreempt_query(unit, &status);

	return error ? error : (int)status.state;
}

TEST_F(userspace, interrupted_queue_goes_on_where_it_stopped)
{
	struct actor *a = running(_metadata, self->slots);
	struct gpreempt_unit *unit = unit_of(_metadata, queue_of(a));
	struct gpreempt_unit_status status;
	int i;

	EXPECT_EQ(GPREEMPT_UNIT_ACTIVE, unit_state(unit));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, gpreempt_interrupt(unit));
		ASSERT_EQ(0, gpreempt_query(unit, &status));
		EXPECT_EQ(GPREEMPT_UNIT_INTERRUPTED, status.state);
		EXPECT_TRUE(status.interrupted);
		EXPECT_EQ(1, status.nr_units);
		EXPECT_EQ(1, status.nr_queues);
		EXPECT_EQ(1, status.nr_off);
		EXPECT_EQ(1, status.nr_held);
		EXPECT_EQ(i + 1, status.preempt_count);
		EXPECT_TRUE(stands_still(&a->work[0], 4 * STEP_NS));
		ASSERT_EQ(0, gpreempt_restore(unit));
		ASSERT_EQ(0, goes_on(&a->work[0]));
	}
	ASSERT_DONE_ONCE(a);
	EXPECT_EQ(0, gpreempt_interrupt(unit));
	ASSERT_EQ(0, actor_stop(a));
	EXPECT_EQ(-ESRCH, gpreempt_restore(unit));
	EXPECT_EQ(0, gpreempt_restore(unit));
	EXPECT_EQ(-ESRCH, gpreempt_interrupt(unit));
	EXPECT_EQ(GPREEMPT_UNIT_GONE, unit_state(unit));
	gpreempt_unit_close(unit);
}

TEST_F(userspace, second_interrupt_is_no_second_one)
{
	struct actor *a = running(_metadata, self->slots);
	struct gpreempt_unit *unit = unit_of(_metadata, queue_of(a));

	ASSERT_EQ(0, gpreempt_interrupt(unit));
	ASSERT_EQ(0, gpreempt_interrupt(unit));
	EXPECT_EQ(1, preempt_count(a, 0));
	ASSERT_EQ(0, gpreempt_restore(unit));
	EXPECT_EQ(0, goes_on(&a->work[0]));
	EXPECT_EQ(0, gpreempt_restore(unit));
	ASSERT_DONE_ONCE(a);
	gpreempt_unit_close(unit);
}

/* Of two that stop it, one who lets go is not enough; one who never stopped it lets nothing go. */
TEST_F(userspace, queue_runs_when_its_last_unit_is_restored)
{
	struct actor *a = running(_metadata, self->slots);
	struct gpreempt_unit *first = unit_of(_metadata, queue_of(a)), *second = unit_of(_metadata, queue_of(a));
	struct gpreempt_unit *bystander = unit_of(_metadata, queue_of(a)), *process = unit_of(_metadata, process_of(a));
	struct gpreempt_unit_status status;

	ASSERT_EQ(0, gpreempt_interrupt(first));
	ASSERT_EQ(0, gpreempt_interrupt(second));
	EXPECT_EQ(1, preempt_count(a, 0));
	EXPECT_EQ(0, gpreempt_restore(bystander));
	EXPECT_EQ(0, gpreempt_restore(first));
	EXPECT_EQ(0, gpreempt_restore(first));
	ASSERT_EQ(0, gpreempt_query(first, &status));
	EXPECT_FALSE(status.interrupted);
	EXPECT_EQ(1, status.nr_units);
	EXPECT_EQ(GPREEMPT_UNIT_INTERRUPTED, status.state);
	EXPECT_EQ(1, status.nr_held);
	EXPECT_TRUE(stands_still(&a->work[0], 4 * STEP_NS));
	ASSERT_EQ(0, gpreempt_interrupt(process));
	EXPECT_EQ(1, preempt_count(a, 0));
	/* The process's stop is another than the queue's. */
	gpreempt_unit_close(second);
	EXPECT_TRUE(stands_still(&a->work[0], 4 * STEP_NS));
	EXPECT_EQ(GPREEMPT_UNIT_PREEMPTED, unit_state(bystander));
	EXPECT_EQ(GPREEMPT_UNIT_INTERRUPTED, unit_state(process));
	EXPECT_EQ(0, gpreempt_restore(process));
	EXPECT_EQ(0, goes_on(&a->work[0]));
	ASSERT_DONE_ONCE(a);
	gpreempt_unit_close(first);
	gpreempt_unit_close(bystander);
	gpreempt_unit_close(process);
}

TEST_F(userspace, process_is_stopped_with_queues_made_since)
{
	struct actor *a = running(_metadata, self->slots);
	struct gpreempt_unit *process = unit_of(_metadata, process_of(a));
	struct gpreempt_unit_status status;

	ASSERT_EQ(0, gpreempt_interrupt(process));
	ASSERT_EQ(1, actor_queue(a, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, gpreempt_query(process, &status));
	EXPECT_EQ(GPREEMPT_UNIT_STOPPING, status.state);
	EXPECT_EQ(2, status.nr_queues);
	EXPECT_EQ(1, status.nr_held);
	ASSERT_EQ(0, gpreempt_interrupt(process));
	ASSERT_EQ(0, gpreempt_query(process, &status));
	EXPECT_EQ(GPREEMPT_UNIT_INTERRUPTED, status.state);
	EXPECT_EQ(2, status.nr_held);
	ASSERT_EQ(0, gpreempt_restore(process));
	ASSERT_DONE_ONCE(a);
	gpreempt_unit_close(process);
}

/* A queue without work is stopped as well: what is submitted meanwhile does not begin. */
TEST_F(userspace, finished_queue_is_stopped_before_its_next_work)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, STEPS, STEP_NS);
	struct gpreempt_unit *unit = unit_of(_metadata, queue_of(a));

	EXPECT_EQ(GPREEMPT_UNIT_IDLE, unit_state(unit));
	ASSERT_EQ(0, gpreempt_interrupt(unit));
	EXPECT_EQ(GPREEMPT_UNIT_INTERRUPTED, unit_state(unit));
	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	EXPECT_TRUE(stands_still(&a->work[0], 4 * STEP_NS));
	EXPECT_EQ(0, kfd_work_progress(&a->work[0]));
	ASSERT_EQ(0, gpreempt_restore(unit));
	ASSERT_DONE_ONCE(a);
	gpreempt_unit_close(unit);
}

TEST_F(userspace, destroyed_queue_is_gone)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, STEPS, STEP_NS);
	struct gpreempt_target target = queue_of(a), all = gpreempt_target_all();
	struct gpreempt_unit *unit = unit_of(_metadata, target), *none;

	ASSERT_EQ(0, gpreempt_interrupt(unit));
	ASSERT_EQ(0, actor_queue_destroy(a, 0));
	EXPECT_EQ(GPREEMPT_UNIT_GONE, unit_state(unit));
	EXPECT_EQ(-ENOENT, gpreempt_restore(unit));
	EXPECT_EQ(-ENOENT, gpreempt_interrupt(unit));
	EXPECT_EQ(0, gpreempt_restore(unit));
	EXPECT_EQ(-ENOENT, gpreempt_unit_open(&target, 0, &none));
	EXPECT_EQ(NULL, none);
	EXPECT_EQ(-EINVAL, gpreempt_unit_open(&all, 0, &none));
	target = process_of(a);
	EXPECT_EQ(-EINVAL, gpreempt_unit_open(&target, GPREEMPT_HOLD_EVERYBODYS, &none));
	gpreempt_unit_close(unit);
	gpreempt_unit_close(NULL);
}

TEST_F(userspace, foreign_queue_is_refused)
{
	struct actor *a = running(_metadata, self->slots);
	struct gpreempt_unit *unit;
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
			_exit(1);
		_exit(gpreempt_unit_open(AT(queue_of(a)), 0, &unit) == -EACCES ? 0 : 2);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, preempt_count(a, 0));
	ASSERT_DONE_ONCE(a);
}

/* A client that is killed while it stops a queue, and leaves a child behind that had no exec() */
TEST_F(userspace, killed_client_lets_go_although_its_child_lives)
{
	struct actor *a = running(_metadata, self->slots);
	struct gpreempt_target target = queue_of(a);
	struct gpreempt_unit *unit = unit_of(_metadata, target);
	volatile pid_t *child = mmap(NULL, sizeof(*child), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct gpreempt_unit_status after;
	pid_t client, pid;
	int status;

	ASSERT_NE(MAP_FAILED, child);
	client = fork();
	if (!client) {
		/* The parent's unit is not this process's. */
		if (gpreempt_interrupt(unit) != -EBADF || gpreempt_restore(unit) != -EBADF || unit_state(unit) != -EBADF)
			_exit(1);
		gpreempt_unit_close(unit);
		if (gpreempt_unit_open(&target, 0, &unit) || gpreempt_interrupt(unit))
			_exit(2);
		pid = fork();
		if (!pid)
			for (;;)
				pause();
		*child = pid;
		raise(SIGSTOP);
		_exit(3);
	}
	ASSERT_EQ(client, waitpid(client, &status, WUNTRACED));
	ASSERT_TRUE(WIFSTOPPED(status)) { TH_LOG("status 0x%x", status); }
	EXPECT_TRUE(stands_still(&a->work[0], 4 * STEP_NS));
	kill(client, SIGKILL);
	ASSERT_EQ(client, waitpid(client, &status, 0));
	EXPECT_EQ(0, kill(*child, 0));
	/* Not only now and then, as a queue that is held for long. */
	ASSERT_EQ(0, gpreempt_query(unit, &after));
	EXPECT_EQ(0, after.nr_held);
	ASSERT_DONE_ONCE(a);
	kill(*child, SIGKILL);
	gpreempt_unit_close(unit);
}

static bool work_is_done(void *arg)
{
	return actor_done(arg, 0);
}

struct waiter {
	pthread_t thread;
	struct gpreempt_unit *unit;
	struct actor *actor;
	int result;
};

static void *synchronize(void *arg)
{
	struct waiter *w = arg;

	w->result = gpreempt_synchronize(w->unit, work_is_done, w->actor, 0);
	return NULL;
}

TEST_F(userspace, synchronize_does_not_wait_for_what_is_interrupted)
{
	struct actor *a = running(_metadata, self->slots);
	/* Whoever stops it need not be who waits for it. */
	struct gpreempt_unit *unit = unit_of(_metadata, queue_of(a)), *other = unit_of(_metadata, queue_of(a));
	struct waiter w = { .unit = unit, .actor = a };

	EXPECT_EQ(-ETIME, gpreempt_synchronize(unit, work_is_done, a, 1));
	ASSERT_EQ(0, pthread_create(&w.thread, NULL, synchronize, &w));
	ASSERT_EQ(0, goes_on(&a->work[0]));
	ASSERT_EQ(0, gpreempt_interrupt(other));
	ASSERT_EQ(0, pthread_join(w.thread, NULL));
	EXPECT_EQ(GPREEMPT_SYNC_INTERRUPTED, w.result);
	EXPECT_FALSE(actor_done(a, 0));
	EXPECT_EQ(GPREEMPT_SYNC_INTERRUPTED, gpreempt_synchronize(unit, work_is_done, a, 0));
	ASSERT_EQ(0, gpreempt_restore(other));
	EXPECT_EQ(GPREEMPT_SYNC_DONE, gpreempt_synchronize(unit, work_is_done, a, 0));
	EXPECT_TRUE(actor_done(a, 0));
	ASSERT_DONE_ONCE(a);
	ASSERT_EQ(0, gpreempt_interrupt(other));
	EXPECT_EQ(GPREEMPT_SYNC_DONE, gpreempt_synchronize(unit, work_is_done, a, 0));
	gpreempt_unit_close(unit);
	gpreempt_unit_close(other);
}

/* What both stop runs when both let it go, in whatever order; what neither stops is not touched by the other. */
TEST_F(userspace, both_schedulers_stop_and_let_go)
{
	struct actor *high = worker(_metadata, 0, 1, self->slots, STEPS, STEP_NS), *other = worker(_metadata, 0, 1, self->slots, STEPS, STEP_NS);
	/* The last one: its work begins here. */
	struct actor *low = running(_metadata, self->slots);
	struct gpreempt_unit *unit = unit_of(_metadata, queue_of(low)), *others = unit_of(_metadata, queue_of(other));

	ASSERT_STRICT_ORDER();
	/* The in-kernel scheduler, for the high one; then the one in user space, which lets go first. */
	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(process_of(low)), -100));
	ASSERT_EQ(0, gpreempt_interrupt(others));
	ASSERT_EQ(0, actor_submit(other, 0, 0, 1, 0));
	ASSERT_EQ(0, launch_preempts(high, low));
	EXPECT_EQ(GPREEMPT_UNIT_PREEMPTED, unit_state(unit));
	ASSERT_EQ(0, gpreempt_interrupt(unit));
	EXPECT_EQ(GPREEMPT_UNIT_INTERRUPTED, unit_state(unit));
	EXPECT_EQ(1, preempt_count(low, 0));
	ASSERT_EQ(0, gpreempt_restore(unit));
	if (!actor_done(high, 0))
		EXPECT_TRUE(state_is(low, 0, "preempted") || actor_done(high, 0));
	/* And once more, and this time the in-kernel scheduler lets go first. */
	ASSERT_EQ(0, gpreempt_interrupt(unit));
	ASSERT_DONE_ONCE(high);
	EXPECT_TRUE(stands_still(&low->work[0], 4 * STEP_NS));
	EXPECT_EQ(0, kfd_work_progress(&other->work[0]));
	ASSERT_EQ(0, gpreempt_restore(unit));
	ASSERT_DONE_ONCE(low);
	EXPECT_EQ(0, kfd_work_progress(&other->work[0]));
	ASSERT_EQ(0, gpreempt_restore(others));
	ASSERT_DONE_ONCE(other);
	gpreempt_unit_close(unit);
	gpreempt_unit_close(others);
}

TEST_F(userspace, level_says_what_can_be_done)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, STEPS, STEP_NS);
	struct gpreempt_unit *unit = unit_of(_metadata, queue_of(a));

	EXPECT_EQ(GPREEMPT_LEVEL_BLOCK, gpreempt_level(NULL, 0));
	EXPECT_EQ(GPREEMPT_LEVEL_INTERRUPT, gpreempt_level(self->g, 0));
	EXPECT_EQ(GPREEMPT_LEVEL_INTERRUPT, gpreempt_level(self->g, self->gpu_id));
	EXPECT_EQ(GPREEMPT_LEVEL_BLOCK, gpreempt_level(self->g, self->gpu_id + 1));
	ASSERT_EQ(0, gpreempt_interrupt(unit));
	ASSERT_EQ(0, scheduler_off());
	EXPECT_EQ(GPREEMPT_LEVEL_BLOCK, gpreempt_level(self->g, 0));
	EXPECT_EQ(-EOPNOTSUPP, gpreempt_interrupt(unit));
	EXPECT_EQ(0, gpreempt_restore(unit));
	gpreempt_unit_close(unit);
}

/* What the scheduler has measured: sum and number since the last call, of latency/@name_* */
struct measure {
	int64_t count;
	int64_t sum_ns;
};

static int64_t mean_since(const char *name, struct measure *last)
{
	char file[64];
	int64_t count, sum_ns, mean_ns;

	snprintf(file, sizeof(file), "latency/%s_count", name);
	count = counter(file);
	snprintf(file, sizeof(file), "latency/%s_ns_sum", name);
	sum_ns = counter(file);
	mean_ns = count > last->count ? (sum_ns - last->sum_ns) / (count - last->count) : -1;
	last->count = count;
	last->sum_ns = sum_ns;
	return mean_ns;
}

/* Reads events until the queue was given back to the device: when that was, by CLOCK_MONOTONIC, and how long saving it had taken before */
static uint64_t resumed_ns(struct gpreempt *g, uint32_t queue_id, int64_t *save_ns)
{
	struct gpreempt_event event;

	while (gpreempt_read_events(g, &event, 1) == 1) {
		if (event.queue_id == queue_id && event.type == GPREEMPT_EVENT_PREEMPTED)
			*save_ns = event.value;
		if (event.queue_id == queue_id && event.type == GPREEMPT_EVENT_RESUMED)
			return event.time_ns;
	}
	return 0;
}

/* The thread whose name begins so; 0: there is none */
static int thread_named(const char *begins)
{
	char path[32], comm[32] = "";
	int pid;

	for (pid = 2; pid < 32768; pid++) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		if (kfd_file_read(path, comm, sizeof(comm)) > 0 && !strncmp(comm, begins, strlen(begins)))
			return pid;
	}
	return 0;
}

/* The caller runs on one CPU and the scheduler's thread on another, or on the same. */
static int place(int caller_cpu, int scheduler_cpu)
{
	int pid = thread_named("kfd_gpreempt");
	cpu_set_t set;

	if (!pid)
		return -ENOENT;
	CPU_ZERO(&set);
	CPU_SET(caller_cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return -errno;
	CPU_ZERO(&set);
	CPU_SET(scheduler_cpu, &set);
	return sched_setaffinity(pid, sizeof(set), &set) ? -errno : 0;
}

#define DEVICE		"vgpu_cp"	/* the thread that is the virtual GPU */
#define PRICE_ROUNDS	15
/*
 * On 7.3 time passes there in which no CPU executes anything: one arms its timer, and QEMU's -icount gives the turn to the other, which is idle.
 */
#define MOST_ADDED_NS	((kfd_kernel_since(7, 0) ? 120 : 40) * US)
#define SETTLE_NS	(300 * US)

/**
 * struct price - what an interrupt and a restore took, in nanoseconds; medians, for now and then the device's emulation comes in between
 * @save: of an interrupt, from the scheduler's decision on
 * @added: all of the interrupt without what the virtual GPU's thread used of a CPU meanwhile
 * @restore: call to given back to the device
 * @call: of that, until the call returned
 */
struct price {
	int64_t save;
	int64_t added;
	int64_t restore;
	int64_t call;
};

static int64_t median(int64_t *values)
{
	return (int64_t)demo_percentile((uint64_t *)values, PRICE_ROUNDS, 50);
}

static struct price price_of_ioctl_path(struct __test_metadata *_metadata, struct gpreempt *g, struct actor *a, struct gpreempt_unit *unit)
{
	int64_t save[PRICE_ROUNDS] = { 0 }, added[PRICE_ROUNDS], restore[PRICE_ROUNDS], call[PRICE_ROUNDS];
	int device = thread_named(DEVICE), i;
	struct price p;
	int64_t device_ns;
	uint64_t begin;

	ASSERT_LT(0, device);
	for (i = 0; i < PRICE_ROUNDS; i++) {
		device_ns = kfd_cpu_ns(device);
		begin = kfd_now_ns();
		ASSERT_EQ(0, gpreempt_interrupt(unit));
		added[i] = kfd_now_ns() - begin;
		added[i] -= kfd_cpu_ns(device) - device_ns;
		/* The device is still busy with the others' return, whose emulation would count as the call's time. */
		kfd_sleep_ns(SETTLE_NS);
		begin = kfd_now_ns();
		ASSERT_EQ(0, gpreempt_restore(unit));
		call[i] = kfd_now_ns() - begin;
		restore[i] = resumed_ns(g, a->queue[0].id, &save[i]) - begin;
		ASSERT_LT(0, save[i]);
		ASSERT_EQ(0, goes_on(&a->work[0]));
	}
	p = (struct price){ .save = median(save), .added = median(added), .restore = median(restore), .call = median(call) };
	TH_LOG("interrupt: saving %lld ns, without the device %lld..%lld..%lld; restore %lld ns, of which the call %lld", (long long)p.save,
	       (long long)added[0], (long long)p.added, (long long)added[PRICE_ROUNDS - 1], (long long)p.restore, (long long)p.call);
	return p;
}

/*
 * In virtual time: what a caller in user space waits, against what the scheduler needs by itself from its decision on. Virtual time counts
 * instructions, of all CPUs: it says what the way through the call adds, and nothing about hardware. CPU 0 is where the virtual GPU is emulated. Beside
 * another CPU that is busy an instruction takes longer, and how much longer depends on QEMU's version. So the way to the decision and back is bounded
 * with all threads on CPU 0, one after the other: there the emulation's share is known. The caller of a restore waits on that CPU until the others
 * sleep, so that call is bounded on another one.
 */
TEST_F(userspace, ioctl_path_adds_little)
{
	struct actor *a = worker(_metadata, 0, 2, 1, 300, STEP_NS), *high = worker(_metadata, 0, PRICE_ROUNDS, 1, 1, STEP_NS);
	struct gpreempt_unit *unit = unit_of(_metadata, queue_of(a));
	struct pollfd listen = { .fd = self->fd, .events = POLLIN };
	struct measure save = { 0 };
	uint32_t ids[2];
	struct price price;
	int64_t save_ns;
	int i;

	/* As in the endurance test, and not on a kernel that makes several instructions of one. */
	if (kfd_vgpu_look_every(0) || !access("/sys/kernel/debug/kmemleak", F_OK))
		SKIP(return, "needs time that counts instructions: the virtual GPU under --icount, and the stock kernel");
	if (kfd_gpu_ids(ids, 2) > 1)
		SKIP(return, "the bound is that of one virtual GPU: several share a thread, which one of them waits for");
	if (kfd_param_get("sched_policy") == NO_HWS)
		SKIP(return, "the bound is the default mode's: without HWS the scheduler's thread looks after each queue itself");
	ASSERT_EQ(0, poll(&listen, 1, 0));
	ASSERT_EQ(0, launches_begin(a, 2, KFD_PACKET_BARRIER));
	ASSERT_EQ(0, place(0, 0));
	TH_LOG("caller and scheduler's thread on the virtual GPU's CPU:");
	price = price_of_ioctl_path(_metadata, self->g, a, unit);
	EXPECT_LT(0, price.added);
	EXPECT_LT(price.added, (int64_t)MOST_ADDED_NS);
	ASSERT_EQ(0, place(1, 0));
	TH_LOG("the caller on another one:");
	price = price_of_ioctl_path(_metadata, self->g, a, unit);
	EXPECT_LT(price.call, (int64_t)MOST_ADDED_NS);

	/* The same by itself, for work of a higher priority. */
	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(process_of(a)), -100));
	mean_since("save", &save);
	for (i = 0; i < PRICE_ROUNDS; i++) {
		ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
		ASSERT_EQ(0, actor_wait_progress(high, 0, i + 1, LONG));
		ASSERT_EQ(0, goes_on(&a->work[0]));
	}
	save_ns = mean_since("save", &save);
	TH_LOG("the scheduler by itself: saving %lld ns", (long long)save_ns);
	EXPECT_LT(0, save_ns);
	ASSERT_DONE_ONCE(a, high);
	gpreempt_unit_close(unit);
}

TEST_HARNESS_MAIN

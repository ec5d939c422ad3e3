// SPDX-License-Identifier: MIT
/*
 * debugger.c - a monitor that uses the driver's debugger on a scheduled process: what it sees, and that the process is scheduled afterwards
 *
 * It attaches, takes a snapshot of queues, suspends and resumes them. Needs the scheduler, root, and a driver with the debugger's interface.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/kfd_ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "outside.h"
#include "gpus.h"

FIXTURE(debugger) {
	OUTSIDE;
	struct actor *low;
	struct actor *high;
	int kfd;
	int events[2];
};

static bool switch_nice(bool on)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return false;
	if (on)
		data[0].effective |= 1U << CAP_SYS_NICE;
	else
		data[0].effective &= ~(1U << CAP_SYS_NICE);
	return !syscall(SYS_capset, &header, data);
}

static int64_t do_enable_runtime(struct actor *a, const int64_t *args)
{
	return kfd_runtime_enable(&a->client);
}

/* The debugger stops only queues of a process whose runtime takes part; that begins before its first queue. */
static struct actor *worker_with_runtime(struct __test_metadata *_metadata, int nice, uint32_t launches, uint32_t waves, uint32_t steps)
{
	struct actor *a = actor_start(nice, ARENA);

	ASSERT_ACTOR(a);
	ASSERT_EQ(0, uses_all_devices(a));
	ASSERT_EQ(0, actor_call(a, do_enable_runtime, 0, 0, 0, 0));
	ASSERT_EQ(0, actor_queue(a, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_work(a, launches, waves, steps, 5 * MS));
	return a;
}

FIXTURE_SETUP(debugger)
{
	SETUP_OUTSIDE();
	ASSERT_EQ(0, pipe(self->events));
	self->kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->kfd, 0);
	/* What one preemption has cost shall not put off the next. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	/* Nor shall high seem to be done while a runlist brings its waves back, on a large device for longer than the policy thinks possible. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_resume_delay_us", 50000));
	self->low = worker_with_runtime(_metadata, LOW_NICE, 2, self->slots / 4, 100);
	self->high = worker(_metadata, 0, 2, self->slots / 2, 60, 5 * MS);
}

FIXTURE_TEARDOWN(debugger)
{
	close(self->kfd);
	TEARDOWN_OUTSIDE();
}

static int trap(int kfd, struct kfd_ioctl_dbg_trap_args *args)
{
	int r = ioctl(kfd, AMDKFD_IOC_DBG_TRAP, args);

	return r < 0 ? -errno : r;
}

static int attach(int kfd, pid_t pid, int event_fd)
{
	uint8_t runtime[256];
	struct kfd_ioctl_dbg_trap_args args = {
		.pid = (uint32_t)pid, .op = KFD_IOC_DBG_TRAP_ENABLE,
		.enable = { .rinfo_ptr = (uintptr_t)runtime, .rinfo_size = sizeof(runtime), .dbg_fd = (uint32_t)event_fd },
	};

	if (ptrace(PTRACE_SEIZE, pid, 0, 0))
		return -errno;
	return trap(kfd, &args);
}

static int detach(int kfd, pid_t pid)
{
	return trap(kfd, &(struct kfd_ioctl_dbg_trap_args){ .pid = (uint32_t)pid, .op = KFD_IOC_DBG_TRAP_DISABLE });
}

/* Of the only queue. Return: its number in the process */
static int snapshot(int kfd, pid_t pid, struct kfd_queue_snapshot_entry *entry)
{
	struct kfd_ioctl_dbg_trap_args args = {
		.pid = (uint32_t)pid, .op = KFD_IOC_DBG_TRAP_GET_QUEUE_SNAPSHOT,
		.queue_snapshot = {
			/* A queue is new until a debugger has seen it, and cannot be suspended before. */
			.exception_mask = KFD_EC_MASK(EC_QUEUE_NEW),
			.snapshot_buf_ptr = (uintptr_t)entry, .num_queues = 1, .entry_size = sizeof(*entry),
		},
	};
	int r = trap(kfd, &args);

	return r ? r : (int)entry->queue_id;
}

/* Return: how many queues, which is no more than 1 */
static int suspend(int kfd, pid_t pid, uint32_t id)
{
	return trap(kfd, &(struct kfd_ioctl_dbg_trap_args){
		.pid = (uint32_t)pid, .op = KFD_IOC_DBG_TRAP_SUSPEND_QUEUES,
		.suspend_queues = { .queue_array_ptr = (uintptr_t)&id, .num_queues = 1 },
	});
}

static int resume(int kfd, pid_t pid, uint32_t id)
{
	return trap(kfd, &(struct kfd_ioctl_dbg_trap_args){
		.pid = (uint32_t)pid, .op = KFD_IOC_DBG_TRAP_RESUME_QUEUES,
		.resume_queues = { .queue_array_ptr = (uintptr_t)&id, .num_queues = 1 },
	});
}

static uint32_t flags_of(struct gpreempt *g, const struct actor *a)
{
	struct gpreempt_queue_info info;

	return one_queue(g, a, &info) == 1 ? info.flags : ~0U;
}

static bool verdict_is(struct gpreempt *g, const struct actor *a, uint32_t verdict)
{
	struct gpreempt_queue_info info;

	return one_queue(g, a, &info) == 1 && info.verdict == verdict;
}

/* As the queue's own file says it */
static bool file_says(const struct actor *a, const char *state)
{
	char path[128], text[32] = "";

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%u/gpreempt_state", a->pid, a->queue[0].id);
	return kfd_file_read(path, text, sizeof(text)) > 0 && !strncmp(text, state, strlen(state));
}

#define ATTACH_OR_SKIP(pid) do { \
	int err_ = attach(self->kfd, pid, self->events[1]); \
	if (err_) { \
		actor_kill(self->low); \
		switch_nice(true); \
		SKIP(return, "AMDKFD_IOC_DBG_TRAP: %s", strerror(-err_)); \
	} \
} while (0)

/* With the right to exempt, a monitor has the process to itself; what it does is visible, and when it has gone nothing of it is left. */
TEST_F_TIMEOUT(debugger, monitored_process_is_left_alone_and_scheduled_again, 120)
{
	struct kfd_queue_snapshot_entry entry;
	pid_t pid = self->low->pid;
	uint32_t id = self->low->queue[0].id;

	ASSERT_EQ(0, launch_interrupts(self->high, self->low));
	EXPECT_EQ(0, flags_of(self->g, self->low));
	ATTACH_OR_SKIP(pid);
	/* It was preempted, and has the device back. */
	EXPECT_EQ(0, wait_state(self->low, 0, "active", LONG));
	EXPECT_EQ(0, goes_on(&self->low->work[0]));
	EXPECT_EQ(GPREEMPT_QUEUE_DEBUGGED, flags_of(self->g, self->low));
	EXPECT_EQ(0, KFD_WAIT(verdict_is(self->g, self->low, GPREEMPT_VERDICT_OBSTACLE), MS, LONG));
	ASSERT_EQ((int)id, snapshot(self->kfd, pid, &entry));
	EXPECT_EQ((uintptr_t)self->low->queue[0].ring.ptr, entry.ring_base_address);

	ASSERT_EQ(1, suspend(self->kfd, pid, id));
	EXPECT_TRUE(stands_still(&self->low->work[0], 20 * MS));
	EXPECT_EQ(GPREEMPT_QUEUE_DEBUGGED | GPREEMPT_QUEUE_SUSPENDED, flags_of(self->g, self->low));
	EXPECT_EQ(0, KFD_WAIT(verdict_is(self->g, self->low, GPREEMPT_VERDICT_DRIVER), MS, LONG));
	EXPECT_TRUE(file_says(self->low, "suspended"));
	ASSERT_EQ(1, resume(self->kfd, pid, id));
	EXPECT_EQ(0, goes_on(&self->low->work[0]));
	EXPECT_EQ(GPREEMPT_QUEUE_DEBUGGED, flags_of(self->g, self->low));
	EXPECT_FALSE(actor_done(self->high, 0));

	ASSERT_EQ(0, detach(self->kfd, pid));
	EXPECT_EQ(0, wait_state(self->low, 0, "preempted", LONG));
	EXPECT_TRUE(file_says(self->low, "preempted"));
	EXPECT_EQ(0, flags_of(self->g, self->low));
	EXPECT_FALSE(actor_done(self->high, 0));
	ASSERT_DONE_ONCE(self->high, self->low);
}

/* Without that right a monitored process is preempted as any other, and a queue may be both. */
TEST_F_TIMEOUT(debugger, suspended_while_preempted_stays_off_until_both_let_it_go, 120)
{
	struct kfd_queue_snapshot_entry entry;
	pid_t pid = self->low->pid;
	uint32_t id = self->low->queue[0].id;

	ASSERT_EQ(0, launch_interrupts(self->high, self->low));
	ASSERT_TRUE(switch_nice(false));
	ATTACH_OR_SKIP(pid);
	ASSERT_EQ((int)id, snapshot(self->kfd, pid, &entry));
	EXPECT_TRUE(state_is(self->low, 0, "preempted"));
	EXPECT_EQ(0, flags_of(self->g, self->low));

	ASSERT_EQ(1, suspend(self->kfd, pid, id));
	EXPECT_EQ(GPREEMPT_QUEUE_SUSPENDED, flags_of(self->g, self->low));
	EXPECT_TRUE(file_says(self->low, "preempted"));
	EXPECT_FALSE(actor_done(self->high, 0));
	/* Its debugger keeps it off when the more urgent work is done. */
	ASSERT_EQ(0, actor_wait(self->high, 0, LONG));
	EXPECT_EQ(0, KFD_WAIT(file_says(self->low, "suspended"), MS, LONG));
	EXPECT_TRUE(stands_still(&self->low->work[0], 20 * MS));
	EXPECT_EQ(0, KFD_WAIT(verdict_is(self->g, self->low, GPREEMPT_VERDICT_DRIVER), MS, LONG));
	ASSERT_EQ(1, resume(self->kfd, pid, id));
	EXPECT_EQ(0, goes_on(&self->low->work[0]));

	/* Let go while it is preempted, it stays preempted. */
	ASSERT_EQ(1, suspend(self->kfd, pid, id));
	ASSERT_EQ(0, launch_begins(self->high));
	ASSERT_EQ(1, resume(self->kfd, pid, id));
	EXPECT_EQ(0, wait_state(self->low, 0, "preempted", LONG));
	EXPECT_TRUE(stands_still(&self->low->work[0], 20 * MS));
	EXPECT_FALSE(actor_done(self->high, 0));
	ASSERT_EQ(0, detach(self->kfd, pid));
	ASSERT_TRUE(switch_nice(true));
	ASSERT_DONE_ONCE(self->high, self->low);
}

/* A monitor that goes without resuming leaves no queue behind, and one that was suspended is preempted later as before. */
TEST_F_TIMEOUT(debugger, detaching_gives_suspended_queues_back, 120)
{
	struct kfd_queue_snapshot_entry entry;
	pid_t pid = self->low->pid;
	uint32_t id = self->low->queue[0].id;

	ASSERT_EQ(0, launch_begins(self->low));
	ATTACH_OR_SKIP(pid);
	ASSERT_EQ((int)id, snapshot(self->kfd, pid, &entry));
	ASSERT_EQ(1, suspend(self->kfd, pid, id));
	EXPECT_TRUE(stands_still(&self->low->work[0], 20 * MS));
	ASSERT_EQ(0, detach(self->kfd, pid));
	EXPECT_EQ(0, goes_on(&self->low->work[0]));
	EXPECT_EQ(0, flags_of(self->g, self->low));
	ASSERT_EQ(0, launch_preempts(self->high, self->low));
	ASSERT_DONE_ONCE(self->high, self->low);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: MIT
/*
 * lifecycle.c - what else happens to processes, queues and devices while something is preempted
 *
 * Whatever happens, afterwards no queue is stuck and the counters add up: what was preempted was resumed or destroyed.
 * The tests of errors come last: they leave a device behind that was reset.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <linux/kfd_ioctl.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "disturb.h"
#include "gpus.h"
#include "worker.h"

#define FAULTS		"/sys/kernel/debug/vgpu/fault"
#define EVENTS		"/sys/kernel/tracing/events/gpreempt"
#define TRACE		"/sys/kernel/tracing/trace"
#define BLOB_BYTES	(1u << 20)

/* What does not add up from before the test. */
static int64_t held_before;

/* Preempted, and neither resumed nor destroyed since. */
static int64_t held_now(void)
{
	return counter("preemptions") - counter("resumes") - counter("destroyed_preempted") - held_before;
}

static void begin_books(void)
{
	held_before = 0;
	held_before = held_now();
}

static int wait_none_held(void)
{
	return KFD_WAIT(!held_now(), MS, LONG);
}

FIXTURE(lifecycle) {
	BEFORE_TEST;
};

FIXTURE_SETUP(lifecycle)
{
	SETUP_SCHEDULER(NULL, 0);
	begin_books();
}

FIXTURE_TEARDOWN(lifecycle)
{
	TEARDOWN_SCHEDULER();
	EXPECT_EQ(0, held_now());
}

/* A low grid of a quarter of the device, preempted by a high one of half of it. */
struct pair {
	struct actor *low;
	struct actor *high;
};

/* Of the high grid: longer than a slow machine takes for what happens meanwhile */
#define MEANWHILE_STEPS	160

static struct pair preempted_pair(struct __test_metadata *_metadata, uint32_t slots, uint32_t low_steps, uint32_t high_steps)
{
	struct pair p = {
		.low = worker(_metadata, LOW_NICE, 2, slots / 4, low_steps, 5 * MS),
		.high = worker(_metadata, 0, 1, slots / 2, high_steps, 5 * MS),
	};

	ASSERT_STRICT_ORDER();
	ASSERT_EQ(0, launch_interrupts(p.high, p.low));
	return p;
}

static void finish_pair(struct __test_metadata *_metadata, const struct pair *p)
{
	ASSERT_DONE_ONCE(p->high, p->low);
	EXPECT_EQ(0, wait_none_held());
	EXPECT_STOPPED(p->low, p->high);
}

/* Off means off at any moment: nothing held, nothing registered; and what was interrupted goes on. */
TEST_F_TIMEOUT(lifecycle, enable_disable_storm, 120)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 80, 2 * MS);
	struct actor *high = worker(_metadata, 0, 30, self->slots / 2, 1, 2 * MS);
	int64_t preemptions = counter("preemptions");
	int i;

	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	ASSERT_EQ(0, launch_begins(low));
	for (i = 0; i < 30; i++) {
		ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
		/* From before it is noticed until after it is over. */
		kfd_sleep_ns((uint64_t)i * 300 * US);
		ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
		ASSERT_EQ(0, held_now());
		ASSERT_EQ(0, counter("queues"));
		ASSERT_EQ(0, counter("monitor_pid"));
		ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	}
	EXPECT_GT(counter("preemptions"), preemptions);
	ASSERT_DONE_ONCE(high, low);
}

/* All its queues go, preempted or not; the others do not notice; the books are balanced. */
TEST_F(lifecycle, kill_of_preempted_process)
{
	struct pair p = preempted_pair(_metadata, self->slots, 20, MEANWHILE_STEPS);
	int64_t destroyed = counter("destroyed_preempted");

	ASSERT_EQ(0, actor_queue(p.low, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL) - 1);
	actor_kill(p.low);
	ASSERT_DONE_ONCE(p.high);
	EXPECT_EQ(0, actor_stop(p.high));
	EXPECT_EQ(0, wait_no_queues());
	EXPECT_EQ(destroyed + 1, counter("destroyed_preempted"));
	EXPECT_EQ(0, held_now());
}

static int64_t do_fork_exec(struct actor *a, const int64_t *args)
{
	int status;
	pid_t pid;

	signal(SIGCHLD, SIG_DFL);
	pid = fork();
	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

/* A child of a preempted process shares pages with it for a while; the scheduler goes on seeing the parent's pointers. */
TEST_F(lifecycle, fork_exec_keeps_work)
{
	struct pair p = preempted_pair(_metadata, self->slots, 20, MEANWHILE_STEPS);

	EXPECT_EQ(0, actor_call(p.low, do_fork_exec, 0, 0, 0, 0));
	ASSERT_EQ(0, actor_submit(p.low, 0, 0, 1, 0));
	EXPECT_TRUE(state_is(p.low, 0, "preempted"));
	/* The new packet is seen: its write pointer is. */
	{
		struct kfd_gpreempt_queue q;

		ASSERT_EQ(0, kfd_gpreempt_queue_get(kfd_first_gpu_id(), p.low->pid, p.low->queue[0].id, &q));
		EXPECT_EQ(2, q.wptr);
	}
	finish_pair(_metadata, &p);
}

static int64_t do_exec(struct actor *a, const int64_t *args)
{
	execl("/bin/sleep", "sleep", "1000", NULL);
	return -errno;
}

/* The program that had the queues is gone, its process is not. */
TEST_F(lifecycle, exec_ends_a_preempted_program)
{
	struct pair p = preempted_pair(_metadata, self->slots, 20, MEANWHILE_STEPS);
	int64_t destroyed = counter("destroyed_preempted");

	actor_begin(p.low, do_exec, 0, 0, 0, 0);
	EXPECT_EQ(0, KFD_WAIT(counter("queues") == 1, 2 * MS, LONG));
	EXPECT_EQ(destroyed + 1, counter("destroyed_preempted"));
	ASSERT_DONE_ONCE(p.high);
	actor_kill(p.low);
	EXPECT_EQ(0, actor_stop(p.high));
}

/* ---- debugger ---- */

/* A debugger has the queues to itself: they are given back, left alone, and scheduled again when it has gone. */
TEST_F(lifecycle, debugger_attach_resumes)
{
	struct pair p = preempted_pair(_metadata, self->slots, 100, MEANWHILE_STEPS);
	int64_t debugged = counter("skipped_debugged"), taken;
	int pipes[2], kfd, err;
	uint64_t progress;

	/* What the first preemption has cost shall not put off the second. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	ASSERT_EQ(0, pipe(pipes));
	kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	ASSERT_GE(kfd, 0);
	ASSERT_EQ(0, ptrace(PTRACE_SEIZE, p.low->pid, 0, 0));
	err = debug_trap(kfd, p.low->pid, KFD_IOC_DBG_TRAP_ENABLE, pipes[1]);
	if (err) {
		actor_kill(p.low);
		SKIP(return, "AMDKFD_IOC_DBG_TRAP: %s", strerror(-err));
	}
	EXPECT_EQ(0, wait_none_held());
	EXPECT_FALSE(state_is(p.low, 0, "preempted"));
	taken = preempt_count(p.low, 0);
	progress = kfd_work_progress(&p.low->work[0]);
	EXPECT_EQ(0, actor_wait_progress(p.low, 0, progress + self->slots / 4, LONG));
	EXPECT_EQ(0, wait_counter("skipped_debugged", debugged + 1, LONG));
	EXPECT_FALSE(actor_done(p.high, 0));
	EXPECT_EQ(debugged + 1, counter("skipped_debugged"));
	EXPECT_EQ(taken, preempt_count(p.low, 0));

	EXPECT_EQ(0, debug_trap(kfd, p.low->pid, KFD_IOC_DBG_TRAP_DISABLE, -1));
	EXPECT_EQ(0, wait_state(p.low, 0, "preempted", LONG));
	EXPECT_FALSE(actor_done(p.high, 0));
	close(kfd);
	finish_pair(_metadata, &p);
}

/* ---- checkpoint and restore in user space ---- */

/* args[0]: where to put the private data, BLOB_BYTES long. Returns its size or -errno. */
static int64_t do_checkpoint(struct actor *a, const int64_t *args)
{
	struct kfd_ioctl_criu_args c = { .op = KFD_CRIU_OP_PROCESS_INFO };
	static struct kfd_criu_device_bucket devices[8];
	static struct kfd_criu_bo_bucket bos[256];
	uint32_t i;
	int err = 0;

	if (ioctl(a->client.kfd_fd, AMDKFD_IOC_CRIU_OP, &c))
		return -errno;
	if (c.num_devices > 8 || c.num_bos > 256 || c.priv_data_size > BLOB_BYTES) {
		err = -E2BIG;
	} else {
		for (i = 0; i < 8; i++)
			devices[i].drm_fd = (uint32_t)a->client.drm_fd;
		c.devices = (uint64_t)(uintptr_t)devices;
		c.bos = (uint64_t)(uintptr_t)bos;
		c.priv_data = (uint64_t)args[0];
		c.op = KFD_CRIU_OP_CHECKPOINT;
		if (ioctl(a->client.kfd_fd, AMDKFD_IOC_CRIU_OP, &c))
			err = -errno;
		for (i = 0; !err && i < c.num_bos; i++)
			if ((int)bos[i].dmabuf_fd > 0)
				close((int)bos[i].dmabuf_fd);
	}
	c.op = KFD_CRIU_OP_UNPAUSE;
	if (ioctl(a->client.kfd_fd, AMDKFD_IOC_CRIU_OP, &c) && !err)
		err = -errno;
	return err ? err : (int64_t)c.priv_data_size;
}

#define MQD_HEADER	0xc0310800u
#define MQD_BYTES	2048

/*
 * What firmware notes in an MQD: when the queue was connected, saved and restored; and where it
 * writes the whole HQD back, the process's VMID. Each runlist gives another one.
 */
static unsigned int clear_notes(uint8_t *blob, size_t bytes)
{
	unsigned int found = 0;
	size_t at;

	for (at = 0; at + MQD_BYTES <= bytes; at += sizeof(uint32_t)) {
		if (*(const uint32_t *)(blob + at) != MQD_HEADER)
			continue;
		memset(blob + at + 0x160, 0, 0x10);
		memset(blob + at + 0x188, 0, 0x20);
		memset(blob + at + 0x20c, 0, 4);
		found++;
	}
	return found;
}

/*
 * A checkpoint does not say that a queue was preempted: restored, it has to run. Taken of an idle queue, it is the same to
 * the byte as without, but for firmware's notes. The queue stays preempted, and a busy one goes on afterwards where it was.
 */
TEST_F(lifecycle, criu_checkpoint_of_preempted_process)
{
	struct actor *idle = worker(_metadata, LOW_NICE, 1, 1, 1, MS);
	uint8_t *blob = mmap(NULL, 2 * BLOB_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int64_t before, during;
	struct pair p;
	size_t i;

	ASSERT_NE(MAP_FAILED, blob);
	actor_kill(idle);	/* its memory did not have the mapping of @blob */
	idle = worker(_metadata, LOW_NICE, 1, 1, 1, MS);
	ASSERT_EQ(0, uses_all_devices(idle));
	ASSERT_EQ(0, launch_completes(idle));
	before = actor_call(idle, do_checkpoint, (int64_t)(uintptr_t)blob, 0, 0, 0);
	if (before == -ENOTTY || before == -EPERM)
		SKIP(return, "AMDKFD_IOC_CRIU_OP: %s", strerror((int)-before));
	ASSERT_GT(before, 0) TH_LOG("checkpoint: %s", strerror((int)-before));

	p = preempted_pair(_metadata, self->slots, 20, MEANWHILE_STEPS);
	ASSERT_EQ(0, wait_state(idle, 0, "preempted", LONG));
	during = actor_call(idle, do_checkpoint, (int64_t)(uintptr_t)(blob + BLOB_BYTES), 0, 0, 0);
	EXPECT_EQ(before, during);
	EXPECT_LE(1, clear_notes(blob, (size_t)before));
	EXPECT_LE(1, clear_notes(blob + BLOB_BYTES, (size_t)before));
	for (i = 0; i < (size_t)before && blob[i] == blob[BLOB_BYTES + i]; i++)
		;
	EXPECT_EQ(before, (int64_t)i) TH_LOG("byte %zu is %#x, was %#x", i, blob[BLOB_BYTES + i], blob[i]);
	EXPECT_TRUE(state_is(idle, 0, "preempted"));

	/* The one with saved waves. */
	ASSERT_EQ(0, uses_all_devices(p.low));
	EXPECT_GT(actor_call(p.low, do_checkpoint, (int64_t)(uintptr_t)blob, 0, 0, 0), 0);
	EXPECT_TRUE(state_is(p.low, 0, "preempted"));
	EXPECT_FALSE(actor_done(p.high, 0));
	finish_pair(_metadata, &p);
}

/* ---- profiler ---- */

static int64_t do_profile(struct actor *a, const int64_t *args)
{
	return kfd_profiler_lock(&a->client, args[0], args[1]);
}

/*
 * A program that has the device for its profiling has no queue in its hand. It takes and leaves it without queues on the device: the driver
 * would wait for its own lock otherwise (driver-notes.rst).
 */
TEST_F(lifecycle, profiler_keeps_no_queue_from_yielding)
{
	struct actor *profiler = actor_start(0, ARENA);
	struct pair p;
	int64_t err;

	ASSERT_ACTOR(profiler);
	err = actor_call(profiler, do_profile, true, 0, 0, 0);
	if (err == -ENOTTY)
		SKIP(return, "KFD of this kernel has no profiler (AMDKFD_IOC_PROFILER)");
	ASSERT_EQ(0, err);
	p = preempted_pair(_metadata, self->slots, 20, 40);
	EXPECT_EQ(-EALREADY, actor_call(profiler, do_profile, true, 0, 0, 0));
	EXPECT_EQ(-EBUSY, actor_call(p.low, do_profile, true, 0, 0, 0));
	EXPECT_EQ(-EINVAL, actor_call(p.low, do_profile, false, 0, 0, 0));
	EXPECT_TRUE(state_is(p.low, 0, "preempted"));
	finish_pair(_metadata, &p);
	ASSERT_EQ(0, wait_no_queues());
	EXPECT_EQ(0, actor_call(profiler, do_profile, false, 0, 0, 0));
	EXPECT_STOPPED(profiler);
}

/* Switching counters changes the MQDs of all queues, also of those that are off the device. */
TEST_F(lifecycle, counters_of_a_profiler_put_no_queue_back)
{
	struct actor *profiler;
	struct pair p;

	NEEDS(kfd_driver_is_amds() ? NULL : "with queues the kernel's own driver would wait for its own lock (driver-notes.rst)");
	profiler = actor_start(0, ARENA);
	ASSERT_ACTOR(profiler);
	p = preempted_pair(_metadata, self->slots, 20, 40);
	EXPECT_EQ(0, actor_call(profiler, do_profile, true, true, 0, 0));
	EXPECT_TRUE(stands_still(&p.low->work[0], 10 * MS));
	EXPECT_TRUE(state_is(p.low, 0, "preempted"));
	EXPECT_EQ(0, actor_call(profiler, do_profile, false, false, 0, 0));
	EXPECT_TRUE(stands_still(&p.low->work[0], 10 * MS));
	EXPECT_FALSE(actor_done(p.high, 0));
	finish_pair(_metadata, &p);
	EXPECT_STOPPED(profiler);
}

/* ---- metadata ---- */

static int64_t do_interface(struct actor *a, const int64_t *args)
{
	return kfd_interface(&a->client);
}

/* Metadata of a packet has up to four times its size. */
static int64_t do_queue_with_metadata(struct actor *a, const int64_t *args)
{
	return kfd_queue_create_with_metadata(&a->client, &a->queue[0], KFD_PRIORITY_NORMAL, 64, 4 * 64 * 64);
}

/* Memory for metadata behind a ring is no part of it: the queue is sampled, preempted and changed like any other. */
TEST_F(lifecycle, queue_with_metadata_yields)
{
	struct actor *high = worker(_metadata, 0, 1, self->slots / 2, MEANWHILE_STEPS, 5 * MS);
	struct actor *low = actor_start(LOW_NICE, ARENA);
	struct kfd_gpreempt_queue q;

	ASSERT_ACTOR(low);
	if (actor_call(low, do_interface, 0, 0, 0, 0) < KFD_METADATA)
		SKIP(return, "KFD of this kernel has no metadata rings");
	ASSERT_EQ(0, actor_call(low, do_queue_with_metadata, 0, 0, 0, 0));
	ASSERT_EQ(0, actor_work(low, 100, 1, 1, MS));
	ASSERT_EQ(0, actor_work(low, 1, self->slots / 4, 20, 5 * MS) - 1);
	/* More than the ring has room for at a time */
	ASSERT_EQ(0, launches_complete(low, 60, 0));
	ASSERT_EQ(0, launches_complete(low, 39, 0));
	ASSERT_EQ(0, actor_submit(low, 0, 1, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(low, 1, 1, LONG));
	ASSERT_EQ(0, launch_preempts(high, low));
	ASSERT_EQ(0, actor_submit(low, 0, 0, 1, 0));
	ASSERT_EQ(0, kfd_gpreempt_queue_get(kfd_first_gpu_id(), low->pid, low->queue[0].id, &q));
	EXPECT_EQ(101, q.wptr);
	ASSERT_EQ(0, actor_queue_update(low, 0, KFD_PRIORITY_NORMAL - 1, 100));
	EXPECT_TRUE(state_is(low, 0, "preempted"));
	EXPECT_FALSE(actor_done(high, 0));
	ASSERT_DONE_ONCE(high, low);
	EXPECT_EQ(0, wait_none_held());
	EXPECT_STOPPED(low, high);
}

/* ---- XNACK ---- */

static int64_t do_xnack(struct actor *a, const int64_t *args)
{
	struct kfd_ioctl_set_xnack_mode_args mode = { .xnack_enabled = (int32_t)args[0] };

	return ioctl(a->client.kfd_fd, AMDKFD_IOC_SET_XNACK_MODE, &mode) ? -errno : 0;
}

/*
 * The driver may put processes of the two modes into two parts of a runlist. What is preempted is in none, so that a list may have one mode, the
 * other, or both.
 */
TEST_F(lifecycle, both_modes_of_xnack_yield)
{
	struct actor *a[3];
	int64_t err;
	int i;

	for (i = 0; i < 3; i++) {
		a[i] = actor_start(i == 2 ? 0 : LOW_NICE, ARENA);
		ASSERT_ACTOR(a[i]);
		err = actor_call(a[i], do_xnack, i == 1, 0, 0, 0);
		if (err == -EPERM)
			SKIP(return, "AMDKFD_IOC_SET_XNACK_MODE: %s", strerror((int)-err));
		ASSERT_EQ(0, err);
		ASSERT_EQ(0, actor_queue(a[i], KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
		ASSERT_EQ(0, actor_work(a[i], 2, self->slots / 4, i == 2 ? 20 : 40, 5 * MS));
	}
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, launch_begins(a[i]));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, actor_submit(a[2], 0, 0, 1, 0));
		ASSERT_EQ(0, wait_state(a[0], 0, "preempted", LONG));
		EXPECT_EQ(0, wait_state(a[1], 0, "preempted", LONG));
		ASSERT_EQ(0, actor_wait(a[2], 0, LONG));
		EXPECT_FALSE(actor_done(a[0], 0));
		EXPECT_FALSE(actor_done(a[1], 0));
		ASSERT_EQ(0, wait_none_held());
	}
	ASSERT_DONE_ONCE(a[0], a[1], a[2]);
	EXPECT_STOPPED(a[0], a[1], a[2]);
}

/* ---- suspend ---- */

/* Before the device is suspended everything is resumed, whoever is busy; afterwards it is preempted anew. */
TEST_F_TIMEOUT(lifecycle, suspend_resume, 120)
{
	static char trace[1 << 16];
	const char *resumed, *paused;
	struct pair p;
	char state[32];

	/* All devices of the machine are suspended, and it is not ours. */
	NEEDS_VGPU();
	NEEDS_SUSPEND();
	/* Seconds of work: a slow machine takes long from the device's resumption to that of its programs. */
	p = preempted_pair(_metadata, self->slots, 20, 600);
	kfd_file_write(EVENTS "/gpreempt_resume/enable", "1");
	kfd_file_write(EVENTS "/gpreempt_state/enable", "1");
	ASSERT_EQ(0, suspend_devices());
	ASSERT_EQ(0, kfd_gpreempt_text(kfd_first_gpu_id(), "state", state, sizeof(state)));
	EXPECT_STRNE("paused", state);
	EXPECT_EQ(0, wait_state(p.low, 0, "preempted", LONG));
	EXPECT_EQ(2, preempt_count(p.low, 0));
	kfd_file_write(EVENTS "/enable", "0");
	ASSERT_GT(kfd_file_read(TRACE, trace, sizeof(trace)), 0);
	kfd_file_empty(TRACE);
	resumed = strstr(trace, "gpreempt_resume:");
	paused = strstr(trace, " state=paused");
	ASSERT_NE(NULL, resumed);
	ASSERT_NE(NULL, paused);
	EXPECT_LT((uintptr_t)resumed, (uintptr_t)paused);
	finish_pair(_metadata, &p);
}

/* ---- errors ---- */

static int arm_fault(const char *name, const char *times)
{
	char path[96];

	snprintf(path, sizeof(path), FAULTS "/%s", name);
	return kfd_file_write(path, times);
}

/* Lines of the kernel log after the first @since bytes that have @word in them. */
static int logged(size_t since, const char *word)
{
	const char *at;
	int n = 0;

	for (at = strstr(kfd_log_since(since), word); at; at = strstr(at + 1, word))
		n++;
	return n;
}

FIXTURE(errors) {
	BEFORE_TEST;
	size_t log;
};

FIXTURE_SETUP(errors)
{
	NEEDS(scheduler_missing());
	if (access(FAULTS, W_OK))
		SKIP(return, "no " FAULTS);
	if (kfd_param_get("gpu_recovery") != 0 || kfd_param_get("queue_preemption_timeout_ms") > 1000)
		SKIP(return, "amdgpu was not loaded with gpu_recovery=0 queue_preemption_timeout_ms=200");
	SETUP_SCHEDULER(NULL, 0);
	self->log = kfd_log_size();
	begin_books();
}

FIXTURE_TEARDOWN(errors)
{
	actor_forget_all();
	EXPECT_EQ(0, wait_no_queues());
	EXPECT_EQ(0, held_now());
	kfd_param_set("gpreempt_enable", 0);
}

/* The device works, and so does the scheduler. */
static void works_again(struct __test_metadata *_metadata, uint32_t slots)
{
	struct pair p = looks_rarely() ? preempted_pair(_metadata, slots, 200, 200) : preempted_pair(_metadata, slots, 20, 10);

	finish_pair(_metadata, &p);
}

/*
 * The ring through which the device is asked takes nothing: victims run on as if nobody had wanted them. Tried again and again, until the
 * node is given up; with room in the ring again, another try is all that it takes.
 */
TEST_F_TIMEOUT(errors, request_that_cannot_be_sent_changes_nothing, 120)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots / 4, 30, 100 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots / 2, 30, 100 * MS);
	int64_t sends = counter("failed_send"), disabled = counter("disabled"), sent, failures;
	struct actor *other = actor_start(0, ARENA);

	ASSERT_ACTOR(other);
	ASSERT_STRICT_ORDER();
	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, arm_fault("full_after_runlist_us", "500000"));
	ASSERT_EQ(0, arm_fault("full_after_runlist", "1"));
	ASSERT_EQ(0, actor_queue(other, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
	ASSERT_EQ(0, wait_counter("disabled", disabled + 1, LONG));
	EXPECT_TRUE(node_state_is("failed"));
	EXPECT_GE(counter("failed_send"), sends + 3);
	/* They are no others, and may go on for a while: the node goes on trying to map everybody. */
	do {
		sent = counter("failed_send");
		failures = counter("failures");
	} while (sent != counter("failed_send"));
	EXPECT_EQ(self->failures + sent - sends, failures);
	EXPECT_EQ(0, held_now());
	EXPECT_EQ(0, preempt_count(low, 0));
	EXPECT_EQ(0, goes_on(&low->work[0]));

	kfd_sleep_ns(500 * MS);
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	ASSERT_EQ(0, wait_state(low, 0, "preempted", LONG));
	EXPECT_FALSE(actor_done(high, 0));
	ASSERT_DONE_ONCE(low, high);
	EXPECT_EQ(1, preempt_count(low, 0));
	EXPECT_EQ(disabled + 1, counter("disabled"));
}

/* Everybody is off the device and saved, and the runlist cannot be sent: the next pass that can sends it. */
TEST_F_TIMEOUT(errors, mapping_is_tried_again, 120)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots / 4, 20, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots / 2, 20, 10 * MS);
	int64_t maps = counter("failed_map"), disabled = counter("disabled");

	ASSERT_STRICT_ORDER();
	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, arm_fault("full_after_unmap_us", "20000"));
	ASSERT_EQ(0, arm_fault("full_after_unmap", "1"));
	ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
	ASSERT_EQ(0, wait_counter("failed_map", maps + 1, LONG));
	ASSERT_EQ(0, wait_state(low, 0, "preempted", LONG));
	ASSERT_ENDS_BEFORE(high, low);
	ASSERT_DONE_ONCE(low, high);
	EXPECT_EQ(1, preempt_count(low, 0));
	EXPECT_EQ(maps + 1, counter("failed_map"));
	EXPECT_EQ(self->failures + 1, counter("failures"));
	EXPECT_EQ(disabled, counter("disabled"));
}

/*
 * Nothing may be preempted on a device that does not answer: the node is given up, with all that is known of it in the
 * kernel log. Asking for another try does not make it answer; a reset does.
 */
TEST_F_TIMEOUT(errors, device_that_does_not_answer_ends_scheduling_until_it_is_reset, 120)
{
	int64_t timeouts = counter("failed_unmap_timeout"), disabled = counter("disabled"), runlists;
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots / 4, 20, 5 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots / 2, 10, 5 * MS);
	struct actor *crowd[5];
	char name[64];
	int i, n;

	/* More queues than a dump may have in the log. */
	for (i = 0; i < 5; i++) {
		crowd[i] = actor_start(0, ARENA);
		ASSERT_ACTOR(crowd[i]);
		for (n = 0; n < 4; n++)
			ASSERT_EQ(n, actor_queue(crowd[i], KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	}
	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, arm_fault("unmap_lost", "1"));
	ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
	ASSERT_EQ(0, wait_counter("disabled", disabled + 1, LONG));
	EXPECT_TRUE(node_state_is("failed"));
	EXPECT_EQ(timeouts + 1, counter("failed_unmap_timeout"));
	/* Its last words, and the last queue of the dump. */
	kfd_sleep_ns(50 * MS);
	EXPECT_EQ(1, logged(self->log, "is no longer scheduled"));
	EXPECT_EQ(1, logged(self->log, "node: gpu_id="));
	EXPECT_EQ(1, logged(self->log, "tunables: "));
	snprintf(name, sizeof(name), "queue: pid=%d ", low->pid);
	EXPECT_EQ(1, logged(self->log, name));
	EXPECT_EQ(16, logged(self->log, "] queue: pid=") + logged(self->log, "amdgpu: queue: pid=") +
		  logged(self->log, ": queue: pid="));
	EXPECT_EQ(1, logged(self->log, "queues not shown: 6"));
	snprintf(name, sizeof(name), "gpreempt: gpu %u pid %d queue %u: ", kfd_first_gpu_id(), low->pid, low->queue[0].id);
	EXPECT_EQ(1, logged(self->log, name));

	runlists = counter("runlists");
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	kfd_sleep_ns(50 * MS);
	EXPECT_FALSE(node_state_is("failed"));
	EXPECT_EQ(runlists, counter("runlists"));
	EXPECT_EQ(disabled + 1, counter("disabled"));

	ASSERT_EQ(0, recover());
	actor_forget_all();
	ASSERT_EQ(0, wait_no_queues());
	works_again(_metadata, self->slots);
	EXPECT_EQ(disabled + 1, counter("disabled"));
}

TEST_HARNESS_MAIN

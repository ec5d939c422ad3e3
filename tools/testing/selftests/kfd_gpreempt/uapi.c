// SPDX-License-Identifier: MIT
/*
 * uapi.c - /dev/kfd_gpreempt and the two commands on /dev/kfd: each good use, each refusal
 *
 * Through the library where that is what is tested, by plain ioctls where what is sent is wrong on purpose. Needs the scheduler; what
 * needs work on the device needs the virtual GPU.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "gpreempt.h"

#define NOBODY	65534

FIXTURE(uapi) {
	BEFORE_TEST;
	struct gpreempt *g;
	uint32_t gpu_id;
	int fd;
};

FIXTURE_SETUP(uapi)
{
	SETUP_SCHEDULER(NULL, 0);
	ASSERT_EQ(0, gpreempt_open(&self->g));
	self->fd = gpreempt_fd(self->g);
	self->gpu_id = kfd_first_gpu_id();
}

FIXTURE_TEARDOWN(uapi)
{
	gpreempt_close(self->g);
	actor_forget_all();
	EXPECT_NOTHING_LEFT();
	scheduler_off();
}

/* A process with one queue and @launches grids of @waves waves that each run @steps of @step_ns. */
static struct actor *worker(struct __test_metadata *_metadata, uint32_t launches, uint32_t waves, uint32_t steps, uint64_t step_ns)
{
	struct actor *a = actor_start(0, ARENA);

	ASSERT_ACTOR(a);
	ASSERT_EQ(0, actor_queue(a, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_work(a, launches, waves, steps, step_ns));
	return a;
}

static struct gpreempt_target process_of(const struct actor *a)
{
	return gpreempt_target_process(a->pid, 0);
}

static struct gpreempt_target queue_of(const struct actor *a)
{
	return gpreempt_target_queue(a->pid, a->client.gpu_id, a->queue[0].id);
}

static int one_queue(struct gpreempt *g, const struct actor *a, struct gpreempt_queue_info *info)
{
	struct gpreempt_target target = queue_of(a);
	struct gpreempt_queue_info *queues;
	int nr = gpreempt_list_queues(g, &target, &queues);

	if (nr > 0)
		*info = queues[0];
	free(queues);
	return nr;
}

/* A change counts from the next pass. */
static int wait_priority(struct gpreempt *g, const struct actor *a, int priority)
{
	uint64_t deadline = kfd_now_ns() + LONG;
	struct gpreempt_queue_info info;

	do {
		if (one_queue(g, a, &info) == 1 && info.logical_priority == priority)
			return 0;
		kfd_sleep_ns(MS);
	} while (kfd_now_ns() < deadline);
	return -ETIME;
}

static int raw(int fd, unsigned long request, void *argument)
{
	return ioctl(fd, request, argument) < 0 ? -errno : 0;
}

TEST_F(uapi, info_names_the_node)
{
	struct gpreempt_node_info *nodes;
	struct gpreempt_info info;

	ASSERT_LE(1, gpreempt_list_nodes(self->g, &info, &nodes));
	EXPECT_EQ(GPREEMPT_ABI_VERSION, info.abi_version);
	EXPECT_EQ(sizeof(struct gpreempt_event), info.event_size);
	EXPECT_EQ(self->gpu_id, nodes[0].gpu_id);
	EXPECT_NE(GPREEMPT_NODE_OFF, nodes[0].state);
	EXPECT_NE('\0', nodes[0].backend[0]);
	EXPECT_STREQ("hpf", nodes[0].policy);
	free(nodes);
}

TEST_F(uapi, dirty_input_is_refused_everywhere)
{
	static const struct {
		unsigned long request;
		size_t size;
	} commands[] = {
		{ GPREEMPT_IOC_INFO, sizeof(struct gpreempt_info) },
		{ GPREEMPT_IOC_LIST, sizeof(struct gpreempt_list) },
		{ GPREEMPT_IOC_SET_PRIORITY, sizeof(struct gpreempt_priority) },
		{ GPREEMPT_IOC_SET_PARAM, sizeof(struct gpreempt_set_param) },
		{ GPREEMPT_IOC_PREEMPT, sizeof(struct gpreempt_hold) },
		{ GPREEMPT_IOC_RESUME, sizeof(struct gpreempt_hold) },
		{ GPREEMPT_IOC_HINT, sizeof(struct gpreempt_hint) },
	};
	uint8_t buffer[256];
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		/* The last members of each structure are reserved. */
		memset(buffer, 0, sizeof(buffer));
		buffer[commands[i].size - 1] = 1;
		EXPECT_EQ(-EINVAL, raw(self->fd, commands[i].request, buffer)) TH_LOG("command %zu", i);
		EXPECT_EQ(-EFAULT, raw(self->fd, commands[i].request, NULL)) TH_LOG("command %zu", i);
		/* Another size is another command. */
		EXPECT_EQ(-ENOTTY, raw(self->fd, commands[i].request + (8 << _IOC_SIZESHIFT), buffer)) TH_LOG("command %zu", i);
	}
}

TEST_F(uapi, targets_are_checked)
{
	struct gpreempt_target target;
	struct gpreempt_queue_info *queues;
	struct actor *a = worker(_metadata, 1, 1, 1, MS);
	int fd = open("/tmp", O_RDONLY | O_DIRECTORY);

	target = gpreempt_target_process(0x3fffff, 0);
	EXPECT_EQ(-ESRCH, gpreempt_list_queues(self->g, &target, &queues));
	target = gpreempt_target_process(a->pid, 1);
	EXPECT_EQ(-ENODEV, gpreempt_list_queues(self->g, &target, &queues));
	target = gpreempt_target_queue(a->pid, self->gpu_id, 4711);
	EXPECT_EQ(-ENOENT, gpreempt_list_queues(self->g, &target, &queues));
	target = gpreempt_target_queue(a->pid, 0, 0);
	EXPECT_EQ(-EINVAL, gpreempt_list_queues(self->g, &target, &queues));
	target = gpreempt_target_cgroup(fd);
	EXPECT_EQ(-EBADF, gpreempt_list_queues(self->g, &target, &queues));
	target = gpreempt_target_cgroup(-1);
	EXPECT_EQ(-EBADF, gpreempt_list_queues(self->g, &target, &queues));
	target = gpreempt_target_all();
	target.pid = a->pid;
	EXPECT_EQ(-EINVAL, gpreempt_list_queues(self->g, &target, &queues));
	target = gpreempt_target_all();
	target.scope = 4;
	EXPECT_EQ(-EINVAL, gpreempt_list_queues(self->g, &target, &queues));
	target = gpreempt_target_process(-1, 0);
	EXPECT_EQ(-EINVAL, gpreempt_list_queues(self->g, &target, &queues));
	close(fd);
}

TEST_F(uapi, list_shows_queues_and_finds_them_by_ring)
{
	struct gpreempt_target all = gpreempt_target_all();
	struct actor *a = worker(_metadata, 1, 1, 1, MS);
	struct gpreempt_queue_info *queues, info;
	struct gpreempt_list cmd;

	ASSERT_EQ(0, actor_queue(a, KFD_BACKING_GTT, 3) < 0);
	ASSERT_EQ(2, gpreempt_list_queues(self->g, &all, &queues));
	EXPECT_EQ(a->pid, queues[0].pid);
	EXPECT_EQ(self->gpu_id, queues[0].gpu_id);
	EXPECT_EQ(0, queues[0].flags);
	free(queues);
	ASSERT_EQ(0, gpreempt_find_queue(self->g, a->pid, (uintptr_t)a->queue[1].ring.ptr, &info));
	EXPECT_EQ(a->queue[1].id, info.queue_id);
	EXPECT_EQ(3, info.kfd_priority);
	EXPECT_EQ(-ENOENT, gpreempt_find_queue(self->g, a->pid, 0x1000, &info));

	/* A length is no promise: too small is told, absurd does no harm. */
	cmd = (struct gpreempt_list){ .target = all, .queues = (uintptr_t)&info, .nr_queues = 1 };
	EXPECT_EQ(0, raw(self->fd, GPREEMPT_IOC_LIST, &cmd));
	EXPECT_EQ(2, cmd.nr_queues);
	cmd = (struct gpreempt_list){ .target = all, .queues = 0, .nr_queues = ~0U };
	EXPECT_EQ(-EFAULT, raw(self->fd, GPREEMPT_IOC_LIST, &cmd));
}

TEST_F(uapi, priority_of_higher_rank_wins)
{
	struct actor *a = worker(_metadata, 1, 1, 1, MS);
	struct gpreempt_target process = process_of(a), queue = queue_of(a);
	struct gpreempt_queue_info info;

	ASSERT_EQ(1, one_queue(self->g, a, &info));
	EXPECT_EQ(7, info.logical_priority);
	EXPECT_EQ(GPREEMPT_SOURCE_KFD, info.source);
	ASSERT_EQ(0, gpreempt_set_priority(self->g, &process, -100));
	ASSERT_EQ(0, wait_priority(self->g, a, -100));
	ASSERT_EQ(0, gpreempt_set_priority(self->g, &queue, 50));
	ASSERT_EQ(0, wait_priority(self->g, a, 50));
	ASSERT_EQ(1, one_queue(self->g, a, &info));
	EXPECT_EQ(GPREEMPT_SOURCE_QUEUE, info.source);
	ASSERT_EQ(0, gpreempt_clear_priority(self->g, &queue));
	ASSERT_EQ(0, wait_priority(self->g, a, -100));
	ASSERT_EQ(0, gpreempt_clear_priority(self->g, &process));
	ASSERT_EQ(0, wait_priority(self->g, a, 7));

	EXPECT_EQ(-ERANGE, gpreempt_set_priority(self->g, &process, 1024));
	EXPECT_EQ(-ERANGE, gpreempt_set_priority(self->g, &process, -1024));
}

/* What a cgroup has, its processes have, children that come later included, until it is cleared. */
TEST_F(uapi, cgroup_priority_is_inherited)
{
	struct gpreempt_target target;
	struct actor *a, *b;
	char text[32];
	int fd, procs;

	mkdir("/sys/fs/cgroup", 0755);
	if (mkdir("/sys/fs/cgroup/gpreempt-test", 0755))
		SKIP(return, "no cgroup v2 file system at /sys/fs/cgroup");
	fd = open("/sys/fs/cgroup/gpreempt-test", O_RDONLY | O_DIRECTORY);
	ASSERT_LE(0, fd);
	procs = open("/sys/fs/cgroup/gpreempt-test/cgroup.procs", O_WRONLY);
	ASSERT_LE(0, procs);
	target = gpreempt_target_cgroup(fd);
	ASSERT_EQ(0, gpreempt_set_priority(self->g, &target, 33));
	a = worker(_metadata, 1, 1, 1, MS);
	snprintf(text, sizeof(text), "%d", a->pid);
	ASSERT_LT(0, write(procs, text, strlen(text)));
	ASSERT_EQ(0, wait_priority(self->g, a, 33));
	/* A child of a process in the cgroup is born there. */
	ASSERT_LT(0, write(procs, "0", 1));
	b = worker(_metadata, 1, 1, 1, MS);
	ASSERT_EQ(0, wait_priority(self->g, b, 33));
	ASSERT_EQ(0, gpreempt_clear_priority(self->g, &target));
	ASSERT_EQ(0, wait_priority(self->g, a, 7));
	ASSERT_EQ(0, wait_priority(self->g, b, 7));
	close(procs);
	close(fd);
	actor_forget_all();
	procs = open("/sys/fs/cgroup/cgroup.procs", O_WRONLY);
	EXPECT_LT(0, write(procs, "0", 1));
	close(procs);
	EXPECT_EQ(0, rmdir("/sys/fs/cgroup/gpreempt-test"));
}

/* All at KFD priority 7 and nice 0: what is set from outside makes the difference. */
TEST_F(uapi, priority_from_outside_preempts)
{
	struct actor *low = worker(_metadata, 1, self->slots, 200, 10 * MS);
	struct actor *high = worker(_metadata, 5, self->slots, 1, 4 * MS);
	struct gpreempt_target target = process_of(low);

	ASSERT_EQ(0, gpreempt_set_priority(self->g, &target, -100));
	ASSERT_EQ(0, actor_submit(low, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(low, 0, 1, LONG));
	ASSERT_EQ(0, actor_submit(high, 0, 0, 5, KFD_PACKET_BARRIER));
	ASSERT_EQ(0, actor_wait(high, 0, LONG));
	EXPECT_FALSE(actor_done(low, 0));
	EXPECT_GE(preempt_count(low, 0), 1);
	ASSERT_EQ(0, actor_wait(low, 0, LONG));
	EXPECT_EXACTLY_ONCE(high, 5 * self->slots);
	EXPECT_EXACTLY_ONCE(low, self->slots * 200);
}

TEST_F(uapi, held_queue_stands_still_until_resumed)
{
	struct actor *a = worker(_metadata, 1, self->slots, 100, 5 * MS);
	struct gpreempt_target target = queue_of(a);
	struct gpreempt_queue_info info;
	uint64_t progress;

	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(a, 0, 1, LONG));
	ASSERT_EQ(1, gpreempt_preempt(self->g, &target, 0, 0));
	/* Saved when it returns: nothing moves any more. */
	progress = kfd_work_progress(&a->work[0]);
	ASSERT_EQ(1, one_queue(self->g, a, &info));
	EXPECT_EQ(GPREEMPT_QUEUE_PREEMPTED, info.state);
	EXPECT_EQ(GPREEMPT_QUEUE_HELD, info.flags);
	ASSERT_EQ(1, gpreempt_preempt(self->g, &target, 0, 0));
	kfd_sleep_ns(100 * MS);
	EXPECT_EQ(progress, kfd_work_progress(&a->work[0]));
	ASSERT_EQ(1, gpreempt_resume(self->g, &target));
	ASSERT_EQ(0, gpreempt_resume(self->g, &target));
	ASSERT_EQ(0, actor_wait(a, 0, LONG));
	EXPECT_EXACTLY_ONCE(a, self->slots * 100);
}

TEST_F(uapi, holds_end_with_their_descriptor)
{
	struct actor *a = worker(_metadata, 1, self->slots, 50, 5 * MS);
	struct gpreempt_target target = process_of(a);
	struct gpreempt *other;
	pid_t killed;

	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	ASSERT_EQ(0, gpreempt_open(&other));
	ASSERT_EQ(1, gpreempt_preempt(other, &target, 0, 0));
	ASSERT_EQ(1, gpreempt_preempt(self->g, &target, 0, 0));
	/* Two hold it: one of them letting go is not enough. */
	gpreempt_close(other);
	kfd_sleep_ns(20 * MS);
	EXPECT_TRUE(state_is(a, 0, "preempted"));
	ASSERT_EQ(1, gpreempt_resume(self->g, &target));

	killed = fork();
	if (!killed) {
		if (!gpreempt_open(&other) && gpreempt_preempt(other, &target, 0, 0) == 1)
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	ASSERT_EQ(killed, waitpid(killed, NULL, 0));
	ASSERT_EQ(0, actor_wait(a, 0, LONG));
	EXPECT_EXACTLY_ONCE(a, self->slots * 50);
}

TEST_F(uapi, everybodys_holds_can_be_ended)
{
	struct actor *a = worker(_metadata, 1, self->slots, 20, 5 * MS);
	struct gpreempt_target target = process_of(a);
	struct gpreempt *other;

	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	ASSERT_EQ(0, gpreempt_open(&other));
	ASSERT_EQ(1, gpreempt_preempt(other, &target, 0, GPREEMPT_HOLD_UNBOUNDED));
	ASSERT_EQ(1, gpreempt_resume_all(self->g, &target));
	ASSERT_EQ(0, actor_wait(a, 0, LONG));
	EXPECT_EXACTLY_ONCE(a, self->slots * 20);
	gpreempt_close(other);
}

/* A queue that is destroyed, and a process that dies, take the holds along. */
TEST_F(uapi, held_queues_may_go)
{
	struct actor *a = worker(_metadata, 1, self->slots, 100, 5 * MS), *b = worker(_metadata, 1, 1, 1, MS);
	struct gpreempt_target target;

	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	target = process_of(a);
	ASSERT_EQ(1, gpreempt_preempt(self->g, &target, 0, 0));
	actor_kill(a);
	target = queue_of(b);
	ASSERT_EQ(1, gpreempt_preempt(self->g, &target, 0, 0));
	ASSERT_EQ(0, actor_queue_destroy(b, 0));
	EXPECT_EQ(-ENOENT, gpreempt_resume(self->g, &target));
}

TEST_F(uapi, holds_are_refused_where_they_cannot_be)
{
	struct actor *a = worker(_metadata, 1, 1, 1, MS);
	struct gpreempt_target target = process_of(a), all = gpreempt_target_all(), missing = queue_of(a);

	EXPECT_EQ(-EINVAL, gpreempt_preempt(self->g, &all, 0, 0));
	EXPECT_EQ(-EINVAL, gpreempt_preempt(self->g, &target, 0, GPREEMPT_HOLD_EVERYBODYS));
	missing.queue_id = 4711;
	EXPECT_EQ(-ENOENT, gpreempt_preempt(self->g, &missing, 0, 0));
	EXPECT_EQ(-ENOENT, gpreempt_resume(self->g, &missing));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_EQ(-EOPNOTSUPP, gpreempt_preempt(self->g, &target, 0, 0));
}

/* Nobody sees the work that was announced; the device is free all the same, and only for as long as was said. */
TEST_F(uapi, hint_frees_the_device_for_work_to_come)
{
	struct actor *low = worker(_metadata, 1, self->slots, 100, 10 * MS);
	struct actor *high = worker(_metadata, 1, self->slots, 1, MS);
	struct gpreempt_target target = process_of(low);

	ASSERT_EQ(0, gpreempt_set_priority(self->g, &target, -100));
	ASSERT_EQ(0, actor_submit(low, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(low, 0, 1, LONG));
	target = process_of(high);
	EXPECT_EQ(-ERANGE, gpreempt_hint(self->g, &target, 0));
	EXPECT_EQ(-ERANGE, gpreempt_hint(self->g, &target, 1000001));
	ASSERT_EQ(0, gpreempt_hint(self->g, &target, 100000));
	ASSERT_EQ(0, wait_state(low, 0, "preempted", LONG));
	/* It does not come: the device is given back. */
	ASSERT_EQ(0, wait_state(low, 0, "active", LONG));
	ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait(high, 0, LONG));
	ASSERT_EQ(0, actor_wait(low, 0, LONG));
	EXPECT_EXACTLY_ONCE(low, self->slots * 100);
	EXPECT_EXACTLY_ONCE(high, self->slots);
}

static int64_t actor_kfd_ioctl(struct actor *a, const int64_t *args)
{
	struct kfd_ioctl_preempt_queue_args preempt = {
		.queue_id = args[1], .preempt_type = args[2], .pad = args[3],
	};
	struct kfd_ioctl_resume_queue_args resume = { .queue_id = args[1], .pad = args[3] };

	return args[0] ? raw(a->client.kfd_fd, AMDKFD_IOC_RESUME_QUEUE, &resume) :
			 raw(a->client.kfd_fd, AMDKFD_IOC_PREEMPT_QUEUE, &preempt);
}

TEST_F(uapi, kfd_commands_hold_ones_own_queues)
{
	struct actor *a = worker(_metadata, 1, self->slots, 50, 5 * MS);
	uint32_t id = a->queue[0].id;
	uint64_t progress;

	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(a, 0, 1, LONG));
	EXPECT_EQ(-EOPNOTSUPP, actor_call(a, actor_kfd_ioctl, 0, id, 0, 0));
	EXPECT_EQ(-EOPNOTSUPP, actor_call(a, actor_kfd_ioctl, 0, id, 1, 0));
	EXPECT_EQ(-EINVAL, actor_call(a, actor_kfd_ioctl, 0, id, 3, 0));
	EXPECT_EQ(-EINVAL, actor_call(a, actor_kfd_ioctl, 0, id, 2, 1));
	EXPECT_EQ(-ENOENT, actor_call(a, actor_kfd_ioctl, 0, 4711, 2, 0));
	ASSERT_EQ(0, actor_call(a, actor_kfd_ioctl, 0, id, 2, 0));
	progress = kfd_work_progress(&a->work[0]);
	kfd_sleep_ns(50 * MS);
	EXPECT_EQ(progress, kfd_work_progress(&a->work[0]));
	EXPECT_EQ(-EINVAL, actor_call(a, actor_kfd_ioctl, 1, id, 0, 1));
	ASSERT_EQ(0, actor_call(a, actor_kfd_ioctl, 1, id, 0, 0));
	ASSERT_EQ(0, actor_wait(a, 0, LONG));
	EXPECT_EXACTLY_ONCE(a, self->slots * 50);
}

/* The same number with another size is another driver's command. */
TEST_F(uapi, kfd_numbers_of_others_are_left_alone)
{
	uint8_t buffer[64] = { 0 };
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOTTY, raw(fd, _IOWR('K', 0x87, char[24]), buffer));
	EXPECT_EQ(-ENOTTY, raw(fd, _IOWR('K', 0x88, char[16]), buffer));
	close(fd);
}

/* Runs @fn in a process of another user without any rights; its result is an errno. */
static int as_nobody(int (*fn)(const struct actor *a), const struct actor *a)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(255);
		_exit(-fn(a));
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

static struct gpreempt *shared;

static int nobody_lists(const struct actor *a)
{
	struct gpreempt_target target = gpreempt_target_all();
	struct gpreempt_queue_info *queues;

	return gpreempt_list_queues(shared, &target, &queues) ? -E2BIG : 0;
}

static int nobody_sets(const struct actor *a)
{
	struct gpreempt_target target = process_of(a);

	return gpreempt_set_priority(shared, &target, 0);
}

static int nobody_preempts(const struct actor *a)
{
	struct gpreempt_target target = process_of(a);

	return gpreempt_preempt(shared, &target, 0, 0);
}

static int nobody_raises_itself(const struct actor *a)
{
	struct gpreempt_target target = gpreempt_target_process(0, 0);
	int r;

	r = gpreempt_set_priority(shared, &target, -5);
	if (r)
		return r == -EPERM ? -EDOM : r;
	/* Its own setting it may take back, up to normal. */
	r = gpreempt_set_priority(shared, &target, 7);
	return r ? -EDOM : gpreempt_set_priority(shared, &target, 8);
}

static int nobody_sets_a_cgroup(const struct actor *a)
{
	int fd = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY);
	struct gpreempt_target target = gpreempt_target_cgroup(fd);

	return gpreempt_set_priority(shared, &target, 0);
}

static int nobody_asks_for_a_weight(const struct actor *a)
{
	struct gpreempt_target target = gpreempt_target_process(0, 0);

	return gpreempt_set_param(shared, &target, GPREEMPT_PARAM_WEIGHT, 1000);
}

TEST_F(uapi, other_users_processes_are_out_of_reach)
{
	struct actor *a = worker(_metadata, 1, 1, 1, MS);

	shared = self->g;
	EXPECT_EQ(0, as_nobody(nobody_lists, a));
	EXPECT_EQ(-EACCES, as_nobody(nobody_sets, a));
	EXPECT_EQ(-EACCES, as_nobody(nobody_preempts, a));
	EXPECT_EQ(-EPERM, as_nobody(nobody_raises_itself, a));
	EXPECT_EQ(-EPERM, as_nobody(nobody_asks_for_a_weight, a));
	if (access("/sys/fs/cgroup/cgroup.procs", F_OK) == 0)
		EXPECT_EQ(-EPERM, as_nobody(nobody_sets_a_cgroup, a));
}

TEST_F(uapi, params_are_checked)
{
	struct actor *a = worker(_metadata, 1, 1, 1, MS);
	struct gpreempt_target process = process_of(a), queue = queue_of(a), all = gpreempt_target_all();

	EXPECT_EQ(0, gpreempt_set_param(self->g, &process, GPREEMPT_PARAM_WEIGHT, 10000));
	EXPECT_EQ(0, gpreempt_set_param(self->g, &queue, GPREEMPT_PARAM_WEIGHT, 0));
	EXPECT_EQ(-ERANGE, gpreempt_set_param(self->g, &process, GPREEMPT_PARAM_WEIGHT, 10001));
	EXPECT_EQ(0, gpreempt_set_param(self->g, &process, GPREEMPT_PARAM_DEADLINE_US, 40000));
	EXPECT_EQ(-ERANGE, gpreempt_set_param(self->g, &process, GPREEMPT_PARAM_DEADLINE_US, 3600000001ull));
	EXPECT_EQ(0, gpreempt_set_param(self->g, &process, GPREEMPT_PARAM_EXEMPT, 1));
	EXPECT_EQ(-ERANGE, gpreempt_set_param(self->g, &process, GPREEMPT_PARAM_EXEMPT, 2));
	EXPECT_EQ(-EINVAL, gpreempt_set_param(self->g, &queue, GPREEMPT_PARAM_EXEMPT, 1));
	EXPECT_EQ(-EINVAL, gpreempt_set_param(self->g, &process, 99, 1));
	EXPECT_EQ(-EINVAL, gpreempt_set_param(self->g, &all, GPREEMPT_PARAM_WEIGHT, 1));
}

TEST_F(uapi, events_tell_what_happens)
{
	struct actor *a = worker(_metadata, 1, self->slots, 20, 5 * MS);
	struct gpreempt_target target = queue_of(a);
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	struct gpreempt_event events[16];
	int nr;

	/* From the first poll on. */
	ASSERT_EQ(0, poll(&pfd, 1, 0));
	EXPECT_EQ(-EINVAL, gpreempt_read_events(self->g, events, 0));
	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(a, 0, 1, LONG));
	ASSERT_EQ(1, gpreempt_preempt(self->g, &target, 0, 0));
	ASSERT_EQ(1, gpreempt_resume(self->g, &target));
	ASSERT_EQ(0, actor_wait(a, 0, LONG));
	ASSERT_EQ(1, poll(&pfd, 1, 0));
	nr = gpreempt_read_events(self->g, events, 16);
	ASSERT_EQ(2, nr);
	EXPECT_EQ(GPREEMPT_EVENT_PREEMPTED, events[0].type);
	EXPECT_EQ(GPREEMPT_EVENT_RESUMED, events[1].type);
	EXPECT_EQ(a->pid, events[0].pid);
	EXPECT_EQ(self->gpu_id, events[0].gpu_id);
	EXPECT_EQ(a->queue[0].id, events[0].queue_id);
	EXPECT_EQ(0, events[0].missed);
	EXPECT_LE(events[0].time_ns, events[1].time_ns);
	EXPECT_EXACTLY_ONCE(a, self->slots * 20);
}

static void read_queue_file(const struct actor *a, const char *name, char *buffer, size_t size)
{
	char path[160];
	int fd, got;

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%u/%s", a->pid, a->queue[0].id, name);
	fd = open(path, O_RDONLY);
	got = read(fd, buffer, size - 1);
	buffer[got < 0 ? 0 : got] = '\0';
	buffer[strcspn(buffer, "\n")] = '\0';
	close(fd);
}

TEST_F(uapi, sysfs_shows_and_sets_a_queues_priority)
{
	struct actor *a = worker(_metadata, 1, 1, 1, MS);
	char path[160], text[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%u/logical_priority", a->pid, a->queue[0].id);
	fd = open(path, O_WRONLY);
	ASSERT_LE(0, fd);
	ASSERT_EQ(3, write(fd, "-42", 3));
	ASSERT_EQ(0, wait_priority(self->g, a, -42));
	read_queue_file(a, "logical_priority", text, sizeof(text));
	EXPECT_STREQ("-42", text);
	read_queue_file(a, "gpreempt_state", text, sizeof(text));
	EXPECT_STREQ("idle", text);
	read_queue_file(a, "preempt_count", text, sizeof(text));
	EXPECT_STREQ("0", text);
	read_queue_file(a, "preempted_ms", text, sizeof(text));
	EXPECT_STREQ("0", text);
	/* The driver's own files are as ever. */
	read_queue_file(a, "type", text, sizeof(text));
	EXPECT_STREQ("0", text);
	EXPECT_EQ(-1, write(fd, "1024", 4));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(5, write(fd, "clear", 5));
	ASSERT_EQ(0, wait_priority(self->g, a, 7));
	close(fd);
}

TEST_HARNESS_MAIN

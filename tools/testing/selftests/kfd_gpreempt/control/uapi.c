// SPDX-License-Identifier: MIT
/*
 * uapi.c - /dev/kfd_gpreempt and our commands on /dev/kfd: each good use, each refusal
 *
 * Through the library where that is what is tested, by plain ioctls where what is sent is wrong on purpose. Needs the scheduler.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "outside.h"
#include "disturb.h"

#define MORE_THAN_VMIDS	20

OUTSIDE_FIXTURE(uapi)

/* The end of a page of zeroes; nothing is mapped after it. */
static void *page_end(void)
{
	static uint8_t *pages;

	if (!pages) {
		pages = mmap(NULL, 2 * KFD_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(pages + KFD_PAGE_BYTES, KFD_PAGE_BYTES);
	}
	memset(pages, 0, KFD_PAGE_BYTES);
	return pages + KFD_PAGE_BYTES;
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
	size_t i, at;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		/* The last 16 bytes of each structure are reserved. */
		for (at = commands[i].size - 16; at < commands[i].size; at++) {
			memset(buffer, 0, sizeof(buffer));
			buffer[at] = 1;
			EXPECT_EQ(-EINVAL, raw(self->fd, commands[i].request, buffer)) TH_LOG("command %zu, byte %zu", i, at);
		}
		memset(buffer, 0, sizeof(buffer));
		EXPECT_EQ(-EFAULT, raw(self->fd, commands[i].request, NULL)) TH_LOG("command %zu", i);
		/* Another size is another command. */
		EXPECT_EQ(-ENOTTY, raw(self->fd, commands[i].request + (8 << _IOC_SIZESHIFT), buffer)) TH_LOG("command %zu", i);
		EXPECT_EQ(-ENOTTY, raw(self->fd, commands[i].request - (8 << _IOC_SIZESHIFT), buffer)) TH_LOG("command %zu", i);
		/* The end of the structure where nothing is mapped. */
		EXPECT_EQ(-EFAULT, raw(self->fd, commands[i].request, page_end() - commands[i].size + 1)) TH_LOG("command %zu", i);
	}
	EXPECT_EQ(-ENOTTY, raw(self->fd, _IOWR('Y', 0x07, struct gpreempt_hint), buffer));
}

#define EXPECT_UNDEFINED(command, type, ...) \
	EXPECT_EQ(-EINVAL, raw(self->fd, command, &(struct type){ __VA_ARGS__ })) TH_LOG(#command ": " #__VA_ARGS__)

/* Flags that are not defined, and members that are the kernel's to fill. */
TEST_F(uapi, what_is_not_defined_is_refused)
{
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);
	struct gpreempt_target process = process_of(a), there = process, all = gpreempt_target_all();

	there.gpu_id = self->gpu_id;
	EXPECT_UNDEFINED(GPREEMPT_IOC_INFO, gpreempt_info, .flags = 1);
	EXPECT_UNDEFINED(GPREEMPT_IOC_INFO, gpreempt_info, .abi_version = 1);
	EXPECT_UNDEFINED(GPREEMPT_IOC_INFO, gpreempt_info, .features = 1);
	EXPECT_UNDEFINED(GPREEMPT_IOC_LIST, gpreempt_list, .target = process, .flags = 1);
	EXPECT_UNDEFINED(GPREEMPT_IOC_SET_PARAM, gpreempt_set_param, .target = process, .flags = 1);
	EXPECT_UNDEFINED(GPREEMPT_IOC_HINT, gpreempt_hint, .target = process, .within_us = 1000, .flags = 1);
	EXPECT_UNDEFINED(GPREEMPT_IOC_HINT, gpreempt_hint, .target = all, .within_us = 1000);
	EXPECT_UNDEFINED(GPREEMPT_IOC_SET_PRIORITY, gpreempt_priority, .target = process, .flags = 4);
	EXPECT_UNDEFINED(GPREEMPT_IOC_SET_PRIORITY, gpreempt_priority, .target = process,
			 .flags = GPREEMPT_PRIORITY_CLEAR | GPREEMPT_PRIORITY_INHERIT);
	/* Only a process has others below it. */
	EXPECT_UNDEFINED(GPREEMPT_IOC_SET_PRIORITY, gpreempt_priority, .target = queue_of(a), .flags = GPREEMPT_PRIORITY_INHERIT);
	/* To clear is not to set. */
	EXPECT_UNDEFINED(GPREEMPT_IOC_SET_PRIORITY, gpreempt_priority, .target = process, .flags = GPREEMPT_PRIORITY_CLEAR, .priority = 1);
	/* A process's priority is the same on all nodes; everybody has none. */
	EXPECT_UNDEFINED(GPREEMPT_IOC_SET_PRIORITY, gpreempt_priority, .target = there);
	EXPECT_UNDEFINED(GPREEMPT_IOC_SET_PRIORITY, gpreempt_priority, .target = all);
	EXPECT_UNDEFINED(GPREEMPT_IOC_PREEMPT, gpreempt_hold, .target = process, .flags = 4);
	EXPECT_UNDEFINED(GPREEMPT_IOC_RESUME, gpreempt_hold, .target = process, .flags = 4);
	EXPECT_UNDEFINED(GPREEMPT_IOC_PREEMPT, gpreempt_hold, .target = process, .nr_queues = 1);
	EXPECT_UNDEFINED(GPREEMPT_IOC_RESUME, gpreempt_hold, .target = process, .nr_queues = 1);
	EXPECT_UNDEFINED(GPREEMPT_IOC_PREEMPT, gpreempt_hold, .target = process, .nr_off = 1);
	EXPECT_UNDEFINED(GPREEMPT_IOC_RESUME, gpreempt_hold, .target = process, .nr_off = 1);
}

/* A length is no promise, and no reason to allocate. */
TEST_F(uapi, huge_counts_do_no_harm)
{
	uint32_t ids[64];
	int nr_gpus = kfd_gpu_ids(ids, 64);
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);
	struct gpreempt_node_info *nodes = page_end() - nr_gpus * sizeof(*nodes);
	struct gpreempt_queue_info *queue = page_end() - sizeof(*queue);
	struct gpreempt_info info = { .nodes = (uintptr_t)nodes, .nr_nodes = ~0U };
	struct gpreempt_list list = { .target = process_of(a), .queues = (uintptr_t)queue, .nr_queues = ~0U };

	EXPECT_EQ(0, raw(self->fd, GPREEMPT_IOC_INFO, &info));
	EXPECT_EQ(nr_gpus, (int)info.nr_nodes);
	EXPECT_EQ(self->gpu_id, nodes->gpu_id);
	EXPECT_EQ(0, raw(self->fd, GPREEMPT_IOC_LIST, &list));
	EXPECT_EQ(1, list.nr_queues);
	EXPECT_EQ(a->queue[0].id, queue->queue_id);
	/* What does not fit is not written. */
	list.queues = (uintptr_t)queue + 8;
	EXPECT_EQ(-EFAULT, raw(self->fd, GPREEMPT_IOC_LIST, &list));
	list.queues = ~0ull;
	list.nr_queues = 1;
	EXPECT_EQ(-EFAULT, raw(self->fd, GPREEMPT_IOC_LIST, &list));
	list.queues = 0;
	list.nr_queues = 0;
	EXPECT_EQ(0, raw(self->fd, GPREEMPT_IOC_LIST, &list));
	EXPECT_EQ(1, list.nr_queues);
}

TEST_F(uapi, targets_are_checked)
{
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);
	int fd = open("/tmp", O_RDONLY | O_DIRECTORY);
	const struct {
		int err;
		struct gpreempt_target target;
	} refused[] = {
		{ -ESRCH, gpreempt_target_process(0x3fffff, 0) },
		{ -ENODEV, gpreempt_target_process(a->pid, 1) },
		{ -ENOENT, gpreempt_target_queue(a->pid, self->gpu_id, 4711) },
		{ -EINVAL, gpreempt_target_queue(a->pid, 0, 0) },
		{ -EBADF, gpreempt_target_cgroup(fd) },
		{ -EBADF, gpreempt_target_cgroup(-1) },
		{ -EINVAL, { .scope = GPREEMPT_SCOPE_ALL, .pid = a->pid } },
		{ -EINVAL, { .scope = 4 } },
		{ -EINVAL, gpreempt_target_process(-1, 0) },
	};
	struct gpreempt_queue_info *queues;
	size_t i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		EXPECT_EQ(refused[i].err, gpreempt_list_queues(self->g, &refused[i].target, &queues)) TH_LOG("target %zu", i);
	}
	close(fd);
}

TEST_F(uapi, list_shows_queues_and_finds_them_by_ring)
{
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);
	struct gpreempt_queue_info *queues, info;
	struct gpreempt_list cmd;

	ASSERT_EQ(0, actor_queue(a, KFD_BACKING_GTT, 3) < 0);
	ASSERT_EQ(2, gpreempt_list_queues(self->g, AT(gpreempt_target_all()), &queues));
	EXPECT_EQ(a->pid, queues[0].pid);
	EXPECT_EQ(self->gpu_id, queues[0].gpu_id);
	EXPECT_EQ(0, queues[0].flags);
	free(queues);
	ASSERT_EQ(0, gpreempt_find_queue(self->g, a->pid, (uintptr_t)a->queue[1].ring.ptr, &info));
	EXPECT_EQ(a->queue[1].id, info.queue_id);
	EXPECT_EQ(3, info.kfd_priority);
	EXPECT_EQ(-ENOENT, gpreempt_find_queue(self->g, a->pid, 0x1000, &info));

	/* A length is no promise: too small is told, absurd does no harm. */
	cmd = (struct gpreempt_list){ .target = gpreempt_target_all(), .queues = (uintptr_t)&info, .nr_queues = 1 };
	EXPECT_EQ(0, raw(self->fd, GPREEMPT_IOC_LIST, &cmd));
	EXPECT_EQ(2, cmd.nr_queues);
	cmd = (struct gpreempt_list){ .target = gpreempt_target_all(), .queues = 0, .nr_queues = ~0U };
	EXPECT_EQ(-EFAULT, raw(self->fd, GPREEMPT_IOC_LIST, &cmd));
}

/* Nobody could outrank it, so the monitor is parked and has not seen its work. */
TEST_F(uapi, a_lone_busy_queue_is_seen_at_work)
{
	struct actor *a = worker(_metadata, 0, 3, self->slots, 20, 5 * MS);
	struct gpreempt_queue_info info;

	ASSERT_EQ(0, wait_node_state("parked"));
	ASSERT_EQ(0, launches_begin(a, 3, KFD_PACKET_BARRIER));
	ASSERT_EQ(1, one_queue(self->g, a, &info));
	EXPECT_EQ(GPREEMPT_QUEUE_ACTIVE, info.state);
	EXPECT_LE(1, info.pending);
	EXPECT_GE(3, info.pending);
	ASSERT_DONE_ONCE(a);
}

/* Its ring is empty as soon as the kernel has begun. */
TEST_F(uapi, a_last_kernel_is_seen_at_work)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 40, 5 * MS);
	struct gpreempt_queue_info info;

	/* While the device takes in the runlist with the new queue nobody asks it for waves. */
	ASSERT_EQ(0, KFD_WAIT(one_queue(self->g, a, &info) == 1 && info.waves != UINT32_MAX, MS, LONG));
	EXPECT_EQ(GPREEMPT_QUEUE_IDLE, info.state);
	EXPECT_EQ(0, info.waves);
	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(a, 0, self->slots, LONG));
	ASSERT_EQ(1, one_queue(self->g, a, &info));
	EXPECT_EQ(0, info.pending);
	EXPECT_EQ(GPREEMPT_QUEUE_ACTIVE, info.state);
	EXPECT_EQ(self->slots, info.waves);
	ASSERT_EQ(0, actor_wait(a, 0, LONG));
	kfd_sleep_ns(5 * MS);
	ASSERT_EQ(1, one_queue(self->g, a, &info));
	EXPECT_EQ(GPREEMPT_QUEUE_IDLE, info.state);
	EXPECT_EQ(0, info.waves);
	EXPECT_EXACTLY_ONCE(a);
}

TEST_F(uapi, priority_of_higher_rank_wins)
{
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);
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

/* All at KFD priority 7 and nice 0: what is set from outside makes the difference. */
TEST_F(uapi, priority_from_outside_preempts)
{
	struct actor *low = worker(_metadata, 0, 1, self->slots, 200, 10 * MS);
	struct actor *high = worker(_metadata, 0, 5, self->slots, 1, 4 * MS);

	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(process_of(low)), -100));
	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, launches_complete(high, 5, KFD_PACKET_BARRIER));
	EXPECT_FALSE(actor_done(low, 0));
	EXPECT_GE(preempt_count(low, 0), 1);
	ASSERT_DONE_ONCE(high, low);
}

/* Of each queue the reason, and of one that yields to whom it does. */
TEST_F(uapi, list_says_why_a_queue_does_not_run)
{
	struct actor *low = worker(_metadata, 0, 1, self->slots, 200, 10 * MS);
	struct actor *high = worker(_metadata, 0, 5, self->slots, 10, 4 * MS);
	struct gpreempt_target process = process_of(low), queue = queue_of(high);
	struct gpreempt_queue_info info;

	ASSERT_EQ(0, gpreempt_set_priority(self->g, &process, -100));
	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(1, one_queue(self->g, low, &info));
	EXPECT_EQ(GPREEMPT_VERDICT_RUNS, info.verdict);
	EXPECT_EQ(0, info.to_pid);
	ASSERT_EQ(0, actor_submit(high, 0, 0, 5, KFD_PACKET_BARRIER));
	ASSERT_EQ(0, wait_state(low, 0, "preempted", LONG));
	ASSERT_EQ(1, one_queue(self->g, low, &info));
	EXPECT_EQ(GPREEMPT_VERDICT_YIELDS, info.verdict);
	EXPECT_EQ(high->pid, info.to_pid);
	EXPECT_EQ(high->queue[0].id, info.to_queue_id);
	EXPECT_EQ(7, info.to_priority);
	EXPECT_GE(5, info.to_pending);
	EXPECT_LT(0, info.left_us);
	EXPECT_GE(looks_rarely() ? 10000000 : 1000000, info.left_us);
	ASSERT_EQ(1, gpreempt_preempt(self->g, &queue, 0, 0));
	ASSERT_EQ(1, one_queue(self->g, high, &info));
	EXPECT_EQ(GPREEMPT_VERDICT_HOLD, info.verdict);
	EXPECT_EQ(0, info.to_pid);
	ASSERT_EQ(1, gpreempt_resume(self->g, &queue));
	ASSERT_DONE_ONCE(high, low);
}

TEST_F(uapi, held_queue_stands_still_until_resumed)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 100, 5 * MS);
	struct gpreempt_queue_info info;
	uint64_t progress;

	ASSERT_EQ(0, launch_begins(a));
	ASSERT_EQ(1, gpreempt_preempt(self->g, AT(queue_of(a)), 0, 0));
	/* Saved when it returns: nothing moves any more. */
	progress = kfd_work_progress(&a->work[0]);
	ASSERT_EQ(1, one_queue(self->g, a, &info));
	EXPECT_EQ(GPREEMPT_QUEUE_PREEMPTED, info.state);
	EXPECT_EQ(GPREEMPT_QUEUE_HELD, info.flags);
	ASSERT_EQ(1, gpreempt_preempt(self->g, AT(queue_of(a)), 0, 0));
	kfd_sleep_ns(100 * MS);
	EXPECT_EQ(progress, kfd_work_progress(&a->work[0]));
	ASSERT_EQ(1, gpreempt_resume(self->g, AT(queue_of(a))));
	ASSERT_EQ(0, gpreempt_resume(self->g, AT(queue_of(a))));
	ASSERT_DONE_ONCE(a);
}

/* What the device has done of a kind, when it has done all. */
static int64_t settled(const char *stat)
{
	kfd_sleep_ns(looks_rarely() ? 500 * MS : 20 * MS);
	return kfd_vgpu_stat(stat);
}

/* However many queues work: a scheduler in user space pays for one runlist at each end of a slice, and so do the others. */
TEST_F_TIMEOUT(uapi, hold_of_a_process_is_one_runlist, 120)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 100, 2 * MS);
	struct actor *bystander = worker(_metadata, 0, 1, 1, 100, 2 * MS);
	int64_t runlists, nr;
	int i, queue, work;

	/* A device without any queue has no runlist. */
	ASSERT_EQ(0, launch_begins(bystander));
	for (nr = 1; nr <= 8; nr++) {
		if (nr > 1) {
			queue = actor_queue(a, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL);
			work = actor_work(a, 1, self->slots, 100, 2 * MS);
			ASSERT_LE(0, queue);
			ASSERT_LE(0, work);
			ASSERT_EQ(0, actor_submit(a, queue, work, 1, 0));
		} else {
			ASSERT_EQ(0, launch_begins(a));
		}
		for (i = 0; i < 3; i++) {
			runlists = settled("runlists");
			ASSERT_EQ(nr, gpreempt_preempt(self->g, AT(process_of(a)), 0, 0));
			EXPECT_EQ(runlists + 1, settled("runlists"));
			ASSERT_EQ(nr, gpreempt_resume(self->g, AT(process_of(a))));
			EXPECT_EQ(runlists + 2, settled("runlists"));
		}
	}
}

/* Order, not time: the device has the list when the call returns, and had not when it began. What it restores comes after that. */
TEST_F(uapi, resume_that_waits_returns_when_waves_may_move)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 100, 5 * MS);
	int64_t runlists, restored;
	unsigned int nr_off;
	int i;

	ASSERT_EQ(0, launch_begins(a));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(1, gpreempt_preempt(self->g, AT(queue_of(a)), 0, 0));
		runlists = settled("runlists");
		restored = kfd_vgpu_stat("waves_restored");
		ASSERT_EQ(1, gpreempt_resume_wait(self->g, AT(queue_of(a)), 1000, 0, &nr_off));
		EXPECT_EQ(0, KFD_WAIT(restored < kfd_vgpu_stat("waves_restored"), 200 * US, LONG));
		EXPECT_EQ(runlists + 1, kfd_vgpu_stat("runlists"));
		EXPECT_EQ(0, nr_off);
	}
	ASSERT_DONE_ONCE(a);
}

/* Disabled by its program, it has left already; given back while it is held, it leaves again. */
TEST_F(uapi, queue_that_the_driver_keeps_off_is_held_at_once)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 50, 5 * MS);

	ASSERT_EQ(0, launch_begins(a));
	ASSERT_EQ(0, actor_queue_update(a, 0, KFD_PRIORITY_NORMAL, 0));
	ASSERT_EQ(1, gpreempt_preempt(self->g, AT(queue_of(a)), 1000, 0));
	ASSERT_EQ(0, actor_queue_update(a, 0, KFD_PRIORITY_NORMAL, 100));
	ASSERT_EQ(0, wait_state(a, 0, "preempted", LONG));
	EXPECT_TRUE(stands_still(&a->work[0], 100 * MS));
	ASSERT_EQ(1, gpreempt_resume(self->g, AT(queue_of(a))));
	ASSERT_DONE_ONCE(a);
}

/* Holds it and lets it go, over and over, until one of the others has done this work. Returns how long a time took. */
static uint64_t hold_until_one_is_done(struct __test_metadata *_metadata, FIXTURE_DATA(uapi) *self, const struct actor *held, struct actor **a, int work)
{
	uint64_t began_ns = kfd_now_ns();
	uint32_t i, done = 0, times = 0;

	for (i = 0; i < MORE_THAN_VMIDS; i++)
		ASSERT_EQ(0, actor_submit(a[i], 0, work, 1, 0));
	for (; !done; times++) {
		ASSERT_EQ(1, gpreempt_preempt(self->g, AT(queue_of(held)), 0, 0));
		ASSERT_EQ(1, gpreempt_resume(self->g, AT(queue_of(held))));
		kfd_sleep_ns(MS);
		for (i = 0; i < MORE_THAN_VMIDS; i++)
			done += actor_done(a[i], work);
	}
	return (kfd_now_ns() - began_ns) / times;
}

/*
 * More processes than VMIDs, and a new runlist, twice, in much less than a turn of theirs. Each list begins with the next process: it takes many of them,
 * however long one takes, until what each has got can be compared.
 */
TEST_F_TIMEOUT(uapi, short_holds_leave_each_process_its_turn, 120)
{
	struct actor *held = worker(_metadata, 0, 1, 1, 1, MS), *a[MORE_THAN_VMIDS];
	uint32_t waves = self->slots / 16, i;
	uint64_t step_ns;

	for (i = 0; i < MORE_THAN_VMIDS; i++)
		a[i] = worker(_metadata, 0, 1, waves, 4, 5 * MS);
	step_ns = 4 * hold_until_one_is_done(_metadata, self, held, a, 0);
	step_ns = step_ns > 5 * MS ? step_ns : 5 * MS;
	for (i = 0; i < MORE_THAN_VMIDS; i++) {
		ASSERT_EQ(0, actor_wait(a[i], 0, LONG));
		ASSERT_EQ(1, actor_work(a[i], 1, waves, 20, step_ns));
	}
	hold_until_one_is_done(_metadata, self, held, a, 1);
	for (i = 0; i < MORE_THAN_VMIDS; i++) {
		EXPECT_GE(kfd_work_progress(&a[i]->work[1]), waves * 20 / 3)
			TH_LOG("number %u, steps of %llu us", i, (unsigned long long)step_ns / 1000);
	}
	EXPECT_EQ(1, kfd_vgpu_stat("runlist_chained"));
	for (i = 0; i < MORE_THAN_VMIDS; i++)
		ASSERT_DONE_ONCE(a[i]);
}

TEST_F(uapi, holds_end_with_their_descriptor)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 50, 5 * MS);
	struct gpreempt *other;
	pid_t killed;

	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	ASSERT_EQ(0, gpreempt_open(&other));
	ASSERT_EQ(1, gpreempt_preempt(other, AT(process_of(a)), 0, 0));
	ASSERT_EQ(1, gpreempt_preempt(self->g, AT(process_of(a)), 0, 0));
	/* Two hold it: one of them letting go is not enough. */
	gpreempt_close(other);
	kfd_sleep_ns(20 * MS);
	EXPECT_TRUE(state_is(a, 0, "preempted"));
	ASSERT_EQ(1, gpreempt_resume(self->g, AT(process_of(a))));

	killed = fork();
	if (!killed) {
		if (!gpreempt_open(&other) && gpreempt_preempt(other, AT(process_of(a)), 0, 0) == 1)
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	ASSERT_EQ(killed, waitpid(killed, NULL, 0));
	ASSERT_DONE_ONCE(a);
}

TEST_F(uapi, everybodys_holds_can_be_ended)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 20, 5 * MS);
	struct gpreempt *other;

	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	ASSERT_EQ(0, gpreempt_open(&other));
	ASSERT_EQ(1, gpreempt_preempt(other, AT(process_of(a)), 0, GPREEMPT_HOLD_UNBOUNDED));
	ASSERT_EQ(1, gpreempt_resume_all(self->g, AT(process_of(a))));
	ASSERT_DONE_ONCE(a);
	gpreempt_close(other);
}

/* A queue that is destroyed, and a process that dies, take the holds along. */
TEST_F(uapi, held_queues_may_go)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 100, 5 * MS), *b = worker(_metadata, 0, 1, 1, 1, MS);

	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	ASSERT_EQ(1, gpreempt_preempt(self->g, AT(process_of(a)), 0, 0));
	actor_kill(a);
	ASSERT_EQ(1, gpreempt_preempt(self->g, AT(queue_of(b)), 0, 0));
	ASSERT_EQ(0, actor_queue_destroy(b, 0));
	EXPECT_EQ(-ENOENT, gpreempt_resume(self->g, AT(queue_of(b))));
}

TEST_F(uapi, holds_are_refused_where_they_cannot_be)
{
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);
	struct gpreempt_target target = process_of(a), all = gpreempt_target_all(), missing = queue_of(a);

	EXPECT_EQ(-EINVAL, gpreempt_preempt(self->g, &all, 0, 0));
	EXPECT_EQ(-EINVAL, gpreempt_preempt(self->g, &target, 0, GPREEMPT_HOLD_EVERYBODYS));
	missing.queue_id = 4711;
	EXPECT_EQ(-ENOENT, gpreempt_preempt(self->g, &missing, 0, 0));
	EXPECT_EQ(-ENOENT, gpreempt_resume(self->g, &missing));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_EQ(-EOPNOTSUPP, gpreempt_preempt(self->g, &target, 0, 0));
}

/* A queue whose process has a debugger is left alone. */
TEST_F(uapi, immovable_queue_is_busy)
{
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);

	struct gpreempt_queue_info info;
	int pipes[2], kfd;

	ASSERT_EQ(0, pipe(pipes));
	kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	ASSERT_GE(kfd, 0);
	ASSERT_EQ(0, ptrace(PTRACE_SEIZE, a->pid, 0, 0));
	if (debug_trap(kfd, a->pid, KFD_IOC_DBG_TRAP_ENABLE, pipes[1])) {
		actor_kill(a);
		SKIP(return, "this driver has no debugger interface");
	}
	EXPECT_EQ(-EBUSY, gpreempt_preempt(self->g, AT(queue_of(a)), 0, 0));
	ASSERT_EQ(1, one_queue(self->g, a, &info));
	EXPECT_EQ(GPREEMPT_QUEUE_DEBUGGED, info.flags);
	EXPECT_EQ(0, gpreempt_resume(self->g, AT(queue_of(a))));
	ASSERT_EQ(0, debug_trap(kfd, a->pid, KFD_IOC_DBG_TRAP_DISABLE, -1));
	EXPECT_EQ(1, gpreempt_preempt(self->g, AT(queue_of(a)), 0, 0));
	close(kfd);
}

/* Who holds too long is passed over now and then, unless it may hold without bound. */
TEST_F(uapi, maximum_hold_bounds_explicit_ones)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 100, 5 * MS);

	ASSERT_EQ(0, kfd_param_set("gpreempt_max_hold_ms", 50));
	ASSERT_EQ(0, launch_begins(a));
	ASSERT_EQ(1, gpreempt_preempt(self->g, AT(queue_of(a)), 0, 0));
	EXPECT_EQ(0, goes_on(&a->work[0]));
	EXPECT_FALSE(actor_done(a, 0));
	ASSERT_EQ(1, gpreempt_preempt(self->g, AT(queue_of(a)), 0, GPREEMPT_HOLD_UNBOUNDED));
	EXPECT_TRUE(stands_still(&a->work[0], 300 * MS));
	EXPECT_EQ(1, gpreempt_resume(self->g, AT(queue_of(a))));
	ASSERT_DONE_ONCE(a);
}

TEST_F(uapi, hints_are_refused_where_they_cannot_be)
{
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);
	struct gpreempt_target process = process_of(a), queue = queue_of(a), nobody = gpreempt_target_process(0, 0);

	EXPECT_EQ(0, gpreempt_hint(self->g, &queue, 1));
	EXPECT_EQ(0, gpreempt_hint(self->g, &process, 1000000));
	queue.queue_id = 4711;
	EXPECT_EQ(-ENOENT, gpreempt_hint(self->g, &queue, 1));
	EXPECT_EQ(-ENOENT, gpreempt_hint(self->g, &nobody, 1));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_EQ(-EOPNOTSUPP, gpreempt_hint(self->g, &process, 1));
}

/* Nobody sees the work that was announced; the device is free all the same, and only for as long as was said. */
TEST_F(uapi, hint_frees_the_device_for_work_to_come)
{
	struct actor *low = worker(_metadata, 0, 1, self->slots, 100, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 1, MS);
	int64_t hints = counter("hints"), used = counter("hints_used"), expired = counter("hints_expired");

	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(process_of(low)), -100));
	ASSERT_EQ(0, launch_begins(low));
	EXPECT_EQ(-ERANGE, gpreempt_hint(self->g, AT(process_of(high)), 0));
	EXPECT_EQ(-ERANGE, gpreempt_hint(self->g, AT(process_of(high)), 1000001));
	ASSERT_EQ(0, gpreempt_hint(self->g, AT(process_of(high)), 100000));
	ASSERT_EQ(0, wait_state(low, 0, "preempted", LONG));
	/* It does not come: the device is given back. */
	ASSERT_EQ(0, wait_state(low, 0, "active", LONG));
	EXPECT_EQ(hints + 1, counter("hints"));
	EXPECT_EQ(expired + 1, counter("hints_expired"));
	/* It comes long before the end, and that is the end. */
	ASSERT_EQ(0, gpreempt_hint(self->g, AT(process_of(high)), 1000000));
	ASSERT_EQ(0, wait_state(low, 0, "preempted", LONG));
	ASSERT_EQ(0, launch_completes(high));
	ASSERT_EQ(0, wait_state(low, 0, "active", 500 * MS));
	EXPECT_EQ(hints + 2, counter("hints"));
	EXPECT_EQ(used + 1, counter("hints_used"));
	EXPECT_EQ(expired + 1, counter("hints_expired"));
	ASSERT_DONE_ONCE(low, high);
}

static int64_t actor_kfd_ioctl(struct actor *a, const int64_t *args)
{
	struct kfd_ioctl_preempt_queue_args preempt = {
		.queue_id = args[1], .preempt_type = args[2], .pad = args[3],
	};
	struct kfd_ioctl_resume_queue_args resume = { .queue_id = args[1], .pad = args[3] };
	struct kfd_ioctl_resume_queue_long_args long_resume = { .queue_id = args[1] };

	if (args[0] == 2) {
		/* Of the pad, the word that args[3] counts. */
		if (args[3])
			long_resume.pad[args[3] - 1] = 1;
		return raw(a->client.kfd_fd, AMDKFD_IOC_RESUME_QUEUE_LONG, &long_resume);
	}
	return args[0] ? raw(a->client.kfd_fd, AMDKFD_IOC_RESUME_QUEUE, &resume) :
			 raw(a->client.kfd_fd, AMDKFD_IOC_PREEMPT_QUEUE, &preempt);
}

TEST_F(uapi, kfd_commands_hold_ones_own_queues)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 50, 5 * MS);
	uint32_t id = a->queue[0].id;

	ASSERT_EQ(0, launch_begins(a));
	EXPECT_EQ(-EOPNOTSUPP, actor_call(a, actor_kfd_ioctl, 0, id, 0, 0));
	EXPECT_EQ(-EOPNOTSUPP, actor_call(a, actor_kfd_ioctl, 0, id, 1, 0));
	EXPECT_EQ(-EINVAL, actor_call(a, actor_kfd_ioctl, 0, id, 3, 0));
	EXPECT_EQ(-EINVAL, actor_call(a, actor_kfd_ioctl, 0, id, 2, 1));
	EXPECT_EQ(-ENOENT, actor_call(a, actor_kfd_ioctl, 0, 4711, 2, 0));
	ASSERT_EQ(0, actor_call(a, actor_kfd_ioctl, 0, id, 2, 0));
	EXPECT_TRUE(stands_still(&a->work[0], 50 * MS));
	EXPECT_EQ(-EINVAL, actor_call(a, actor_kfd_ioctl, 1, id, 0, 1));
	ASSERT_EQ(0, actor_call(a, actor_kfd_ioctl, 1, id, 0, 0));
	ASSERT_DONE_ONCE(a);
}

/* As programs send it that were written for 16 bytes: a refusal leaves the hold, and what is accepted ends it. */
TEST_F(uapi, resume_takes_sixteen_bytes_as_well)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 50, 5 * MS);
	uint32_t id = a->queue[0].id;
	int i;

	EXPECT_EQ(0xc0104b88, AMDKFD_IOC_RESUME_QUEUE_LONG);
	EXPECT_EQ(0xc0104b87, AMDKFD_IOC_PREEMPT_QUEUE);
	ASSERT_EQ(0, launch_begins(a));
	ASSERT_EQ(0, actor_call(a, actor_kfd_ioctl, 0, id, 2, 0));
	for (i = 1; i <= 3; i++)
		EXPECT_EQ(-EINVAL, actor_call(a, actor_kfd_ioctl, 2, id, 0, i)) TH_LOG("word %d of the pad", i);
	EXPECT_EQ(-ENOENT, actor_call(a, actor_kfd_ioctl, 2, 4711, 0, 0));
	EXPECT_TRUE(state_is(a, 0, "preempted"));
	EXPECT_TRUE(stands_still(&a->work[0], 50 * MS));
	ASSERT_EQ(0, actor_call(a, actor_kfd_ioctl, 2, id, 0, 0));
	ASSERT_DONE_ONCE(a);
}

static int64_t actor_childs_ioctl(struct actor *a, const int64_t *args)
{
	int status, r;
	pid_t pid = fork();

	if (!pid) {
		r = actor_kfd_ioctl(a, args);
		_exit(r > 0 ? 255 : -r);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

TEST_F(uapi, kfd_commands_are_not_for_whoever_inherits_the_descriptor)
{
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);

	EXPECT_EQ(-EBADF, actor_call(a, actor_childs_ioctl, 0, a->queue[0].id, 2, 0));
	EXPECT_EQ(-EBADF, actor_call(a, actor_childs_ioctl, 1, a->queue[0].id, 0, 0));
	EXPECT_EQ(-EBADF, actor_call(a, actor_childs_ioctl, 2, a->queue[0].id, 0, 0));
	/* The driver evicts queues of one that forks, for a moment. */
	EXPECT_EQ(0, wait_state(a, 0, "idle", LONG));
}

/* Whoever holds its own queue by /dev/kfd may be overruled through the other device. */
TEST_F(uapi, both_devices_hold_the_same_queue)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 20, 5 * MS);

	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_call(a, actor_kfd_ioctl, 0, a->queue[0].id, 2, 0));
	ASSERT_EQ(1, gpreempt_preempt(self->g, AT(queue_of(a)), 0, 0));
	ASSERT_EQ(0, actor_call(a, actor_kfd_ioctl, 1, a->queue[0].id, 0, 0));
	EXPECT_TRUE(state_is(a, 0, "preempted"));
	ASSERT_EQ(0, actor_call(a, actor_kfd_ioctl, 0, a->queue[0].id, 2, 0));
	EXPECT_EQ(1, gpreempt_resume_all(self->g, AT(queue_of(a))));
	ASSERT_DONE_ONCE(a);
}

TEST_F(uapi, callers_with_32_bits_say_the_same)
{
	struct {
		struct gpreempt_info info;
		struct gpreempt_node_info node;
		struct gpreempt_list list;
		struct gpreempt_queue_info queue;
		struct gpreempt_priority priority;
		struct gpreempt_hold hold;
	} *low = mmap(NULL, KFD_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);
	int status;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, (void *)low);
	low->info = (struct gpreempt_info){ .nodes = (uintptr_t)&low->node, .nr_nodes = 1 };
	pid = fork();
	if (!pid)
		_exit(kfd_ioctl_32bit(self->fd, GPREEMPT_IOC_INFO, &low->info) ? 1 : 0);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (!WIFEXITED(status))
		SKIP(return, "this kernel runs no 32-bit programs");
	ASSERT_EQ(0, kfd_ioctl_32bit(self->fd, GPREEMPT_IOC_INFO, &low->info));
	EXPECT_EQ(GPREEMPT_ABI_VERSION, low->info.abi_version);
	EXPECT_EQ(self->gpu_id, low->node.gpu_id);
	low->list = (struct gpreempt_list){ .target = process_of(a), .queues = (uintptr_t)&low->queue, .nr_queues = 1 };
	ASSERT_EQ(0, kfd_ioctl_32bit(self->fd, GPREEMPT_IOC_LIST, &low->list));
	EXPECT_EQ(1, low->list.nr_queues);
	EXPECT_EQ(a->queue[0].id, low->queue.queue_id);
	EXPECT_EQ((uintptr_t)a->queue[0].ring.ptr, low->queue.ring_base);
	low->priority = (struct gpreempt_priority){ .target = process_of(a), .priority = -77 };
	EXPECT_EQ(0, kfd_ioctl_32bit(self->fd, GPREEMPT_IOC_SET_PRIORITY, &low->priority));
	EXPECT_EQ(0, wait_priority(self->g, a, -77));
	low->hold = (struct gpreempt_hold){ .target = process_of(a) };
	EXPECT_EQ(0, kfd_ioctl_32bit(self->fd, GPREEMPT_IOC_PREEMPT, &low->hold));
	EXPECT_EQ(1, low->hold.nr_queues);
	low->hold.reserved[1] = 1;
	EXPECT_EQ(-EINVAL, kfd_ioctl_32bit(self->fd, GPREEMPT_IOC_RESUME, &low->hold));
	low->hold = (struct gpreempt_hold){ .target = process_of(a) };
	EXPECT_EQ(0, kfd_ioctl_32bit(self->fd, GPREEMPT_IOC_RESUME, &low->hold));
	EXPECT_EQ(1, low->hold.nr_queues);
	munmap(low, KFD_PAGE_BYTES);
}

/* The same number with another size is another driver's command. */
TEST_F(uapi, kfd_numbers_of_others_are_left_alone)
{
	uint8_t buffer[64] = { 0 };
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC), unknown;

	ASSERT_LE(0, fd);
	/* What the driver says of a number that is in no table: AMD's own says -EINVAL. */
	unknown = raw(fd, _IOWR('K', 0xff, char[8]), buffer);
	EXPECT_TRUE(unknown == -ENOTTY || unknown == -EINVAL);
	/* 40 bytes is one of AMD's own. */
	EXPECT_EQ(unknown, raw(fd, _IOWR('K', 0x87, char[40]), buffer));
	EXPECT_EQ(unknown, raw(fd, _IOWR('K', 0x87, char[24]), buffer));
	EXPECT_EQ(unknown, raw(fd, _IOWR('K', 0x87, char[8]), buffer));
	EXPECT_EQ(unknown, raw(fd, _IOWR('K', 0x88, char[12]), buffer));
	EXPECT_EQ(unknown, raw(fd, _IOWR('K', 0x88, char[24]), buffer));
	EXPECT_EQ(unknown, raw(fd, _IOW('K', 0x88, char[16]), buffer));
	close(fd);
}

TEST_F(uapi, params_are_checked)
{
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);
	struct gpreempt_target process = process_of(a), queue = queue_of(a), all = gpreempt_target_all();

	EXPECT_EQ(0, gpreempt_set_param(self->g, &process, GPREEMPT_PARAM_WEIGHT, 10000));
	EXPECT_EQ(0, gpreempt_set_param(self->g, &queue, GPREEMPT_PARAM_WEIGHT, 0));
	EXPECT_EQ(-ERANGE, gpreempt_set_param(self->g, &process, GPREEMPT_PARAM_WEIGHT, 10001));
	EXPECT_EQ(0, gpreempt_set_param(self->g, &process, GPREEMPT_PARAM_DEADLINE_US, 40000));
	EXPECT_EQ(-ERANGE, gpreempt_set_param(self->g, &process, GPREEMPT_PARAM_DEADLINE_US, 3600000001ull));
	EXPECT_EQ(0, gpreempt_set_param(self->g, &process, GPREEMPT_PARAM_EXEMPT, 1));
	EXPECT_EQ(-ERANGE, gpreempt_set_param(self->g, &process, GPREEMPT_PARAM_EXEMPT, 2));
	EXPECT_EQ(-EINVAL, gpreempt_set_param(self->g, &queue, GPREEMPT_PARAM_EXEMPT, 1));
	EXPECT_EQ(0, gpreempt_set_param(self->g, &process, GPREEMPT_PARAM_FOLLOW_STOP, GPREEMPT_FOLLOW_STOP_NEVER));
	EXPECT_EQ(0, gpreempt_set_param(self->g, &process, GPREEMPT_PARAM_FOLLOW_STOP, GPREEMPT_FOLLOW_STOP_NODE));
	EXPECT_EQ(-ERANGE, gpreempt_set_param(self->g, &process, GPREEMPT_PARAM_FOLLOW_STOP, GPREEMPT_FOLLOW_STOP_NEVER + 1));
	EXPECT_EQ(-EINVAL, gpreempt_set_param(self->g, &queue, GPREEMPT_PARAM_FOLLOW_STOP, GPREEMPT_FOLLOW_STOP_ALWAYS));
	EXPECT_EQ(-EINVAL, gpreempt_set_param(self->g, &process, 99, 1));
	EXPECT_EQ(-EINVAL, gpreempt_set_param(self->g, &all, GPREEMPT_PARAM_WEIGHT, 1));
}

TEST_F(uapi, events_tell_what_happens)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 20, 5 * MS);
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	struct gpreempt_event events[16];
	int nr;

	/* From the first poll on. */
	ASSERT_EQ(0, poll(&pfd, 1, 0));
	EXPECT_EQ(-EINVAL, gpreempt_read_events(self->g, events, 0));
	ASSERT_EQ(0, launch_begins(a));
	ASSERT_EQ(1, gpreempt_preempt(self->g, AT(queue_of(a)), 0, 0));
	ASSERT_EQ(1, gpreempt_resume(self->g, AT(queue_of(a))));
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
	EXPECT_EXACTLY_ONCE(a);
}

/* That the last priority is known does not mean that all have been told: the pass counts when they have, or another one after it. */
static void wait_told(struct __test_metadata *_metadata, struct gpreempt *g, const struct gpreempt_target *target, int priority)
{
	int64_t checks = counter("checks");

	ASSERT_EQ(0, gpreempt_set_priority(g, target, priority));
	ASSERT_EQ(0, wait_counter("checks", checks + 1, LONG));
}

TEST_F(uapi, slow_readers_are_told_what_they_missed)
{
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);
	struct gpreempt_event *events = calloc(1100, sizeof(*events));
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	int i, queues = 1;

	ASSERT_NE(NULL, events);
	/* More queues than slots: an idle process would leave, which are events. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_idle_evict_us", 0));
	while (queues < 32 && actor_queue(a, KFD_BACKING_GTT, KFD_PRIORITY_NORMAL) >= 0)
		queues++;
	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(process_of(a)), -1));
	ASSERT_EQ(0, wait_priority(self->g, a, -1));
	wait_told(_metadata, self->g, AT(process_of(a)), -1);
	ASSERT_EQ(0, poll(&pfd, 1, 0));
	/* One event per queue and change. */
	for (i = 0; i * queues < 1100; i++) {
		ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(process_of(a)), i));
		ASSERT_EQ(0, wait_priority(self->g, a, i));
	}
	wait_told(_metadata, self->g, AT(process_of(a)), i - 1);
	EXPECT_EQ(1024, gpreempt_read_events(self->g, events, 1100));
	EXPECT_EQ(0, events[0].missed);
	EXPECT_EQ(0, events[1023].missed);
	EXPECT_EQ(0, poll(&pfd, 1, 0));
	/* They are told with the next one. */
	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(process_of(a)), -2));
	ASSERT_EQ(1, poll(&pfd, 1, LONG / MS));
	ASSERT_LE(1, gpreempt_read_events(self->g, events, 1100));
	EXPECT_EQ(i * queues - 1024, events[0].missed);
	free(events);
}

TEST_F(uapi, reading_is_refused_as_documented)
{
	struct gpreempt_event event;
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(-EAGAIN, gpreempt_read_events(self->g, &event, 1));
	EXPECT_EQ(-1, read(self->fd, &event, sizeof(event) - 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(self->fd, &event, sizeof(event)));
	ASSERT_EQ(1, gpreempt_preempt(self->g, AT(process_of(a)), 0, 0));
	ASSERT_EQ(1, poll(&pfd, 1, LONG / MS));
	EXPECT_EQ(-1, read(self->fd, page_end(), sizeof(event)));
	EXPECT_EQ(EFAULT, errno);
}

static void read_queue_file(const struct actor *a, const char *name, char *buffer, size_t size)
{
	char path[160];

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%u/%s", a->pid, a->queue[0].id, name);
	if (kfd_file_read(path, buffer, size) < 0)
		buffer[0] = '\0';
	buffer[strcspn(buffer, "\n")] = '\0';
}

#define EXPECT_QUEUE_FILE(a, name, value) do { \
	char text_[64]; \
	read_queue_file(a, name, text_, sizeof(text_)); \
	EXPECT_STREQ(value, text_) TH_LOG("%s", name); \
} while (0)

TEST_F(uapi, sysfs_shows_and_sets_a_queues_priority)
{
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);
	char path[160];
	int64_t checks;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%u/logical_priority", a->pid, a->queue[0].id);
	fd = open(path, O_WRONLY);
	ASSERT_LE(0, fd);
	ASSERT_EQ(3, write(fd, "-42", 3));
	ASSERT_EQ(0, wait_priority(self->g, a, -42));
	/* The effective one follows at the end of the pass: of this one, or of that for the same once more. */
	checks = counter("checks");
	ASSERT_EQ(3, write(fd, "-42", 3));
	ASSERT_EQ(0, wait_counter("checks", checks + 1, LONG));
	EXPECT_QUEUE_FILE(a, "logical_priority", "-42");
	EXPECT_QUEUE_FILE(a, "effective_priority", "-42");
	EXPECT_QUEUE_FILE(a, "gpreempt_state", "idle");
	EXPECT_QUEUE_FILE(a, "preempt_count", "0");
	EXPECT_QUEUE_FILE(a, "preempted_ms", "0");
	/* The driver's own files are as ever. */
	EXPECT_QUEUE_FILE(a, "type", "0");
	EXPECT_EQ(-1, write(fd, "1024", 4));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(5, write(fd, "clear", 5));
	ASSERT_EQ(0, wait_priority(self->g, a, 7));
	EXPECT_EQ(-1, write(fd, "high", 4));
	EXPECT_EQ(EINVAL, errno);
	/* Switched off, they know nothing. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_EQ(-1, write(fd, "1", 1));
	EXPECT_EQ(ENODATA, errno);
	close(fd);
}

TEST_F(uapi, sysfs_counts_a_queues_preemptions)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 20, 5 * MS);
	char text[64];

	ASSERT_EQ(0, launch_begins(a));
	read_queue_file(a, "gpreempt_state", text, sizeof(text));
	ASSERT_EQ(1, gpreempt_preempt(self->g, AT(queue_of(a)), 0, 0));
	EXPECT_QUEUE_FILE(a, "gpreempt_state", "preempted");
	kfd_sleep_ns(20 * MS);
	ASSERT_EQ(1, gpreempt_resume(self->g, AT(queue_of(a))));
	ASSERT_EQ(0, actor_wait(a, 0, LONG));
	EXPECT_QUEUE_FILE(a, "preempt_count", "1");
	read_queue_file(a, "preempted_ms", text, sizeof(text));
	EXPECT_LE(20, atoi(text));
	EXPECT_EXACTLY_ONCE(a);
}

TEST_HARNESS_MAIN

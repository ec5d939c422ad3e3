// SPDX-License-Identifier: MIT
/*
 * rights.c - who may do what through /dev/kfd_gpreempt: users, capabilities, containers, cgroups, pids that are used again
 *
 * Needs the scheduler and root. Processes of the user nobody get the descriptor from their parent, as udev's group rights would give it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "outside.h"

#define NOBODY	65534

OUTSIDE_FIXTURE(rights)

/* What children and actors use; opened by root. */
static struct gpreempt *shared;

/* ---- other users ---- */

static bool become_nobody(void)
{
	return !setgroups(0, NULL) && !setgid(NOBODY) && !setuid(NOBODY);
}

/* What a call returns, which is no more than 0, in a process of another user without any rights */
#define AS_NOBODY(call) ({ \
	pid_t pid_ = fork(); \
	int status_; \
	if (!pid_) \
		_exit(become_nobody() ? -(call) : 255); \
	waitpid(pid_, &status_, 0); \
	WIFEXITED(status_) ? -WEXITSTATUS(status_) : -ECHILD; \
})

TEST_F(rights, other_users_processes_are_out_of_reach)
{
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);
	struct gpreempt_queue_info *queues;

	EXPECT_EQ(0, AS_NOBODY(gpreempt_list_queues(self->g, AT(gpreempt_target_all()), &queues) ? -E2BIG : 0));
	EXPECT_EQ(-EACCES, AS_NOBODY(gpreempt_list_queues(self->g, AT(queue_of(a)), &queues)));
	EXPECT_EQ(-EACCES, AS_NOBODY(gpreempt_set_priority(self->g, AT(process_of(a)), 0)));
	EXPECT_EQ(-EACCES, AS_NOBODY(gpreempt_set_priority(self->g, AT(queue_of(a)), 0)));
	EXPECT_EQ(-EACCES, AS_NOBODY(gpreempt_preempt(self->g, AT(process_of(a)), 0, 0)));
	EXPECT_EQ(-EACCES, AS_NOBODY(gpreempt_resume_all(self->g, AT(process_of(a)))));
	EXPECT_EQ(-EACCES, AS_NOBODY(gpreempt_hint(self->g, AT(process_of(a)), 1000)));
}

static int raises_itself(struct gpreempt *g, struct gpreempt_target itself)
{
	int r = gpreempt_set_priority(g, &itself, -5);

	if (r)
		return r == -EPERM ? -EDOM : r;
	/* Its own setting it may take back, up to normal. */
	r = gpreempt_set_priority(g, &itself, 7);
	return r ? -EDOM : gpreempt_set_priority(g, &itself, 8);
}

TEST_F(rights, privileges_are_asked_for)
{
	struct gpreempt_target itself = gpreempt_target_process(0, 0);
	int cgroup = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY);

	worker(_metadata, 0, 1, 1, 1, MS);
	EXPECT_EQ(-EPERM, AS_NOBODY(raises_itself(self->g, itself)));
	EXPECT_EQ(-EPERM, AS_NOBODY(gpreempt_set_param(self->g, &itself, GPREEMPT_PARAM_WEIGHT, 1000)));
	/* A small weight may have been given to it as a limit. */
	EXPECT_EQ(-EPERM, AS_NOBODY(gpreempt_set_param(self->g, &itself, GPREEMPT_PARAM_WEIGHT, 0)));
	EXPECT_EQ(-EPERM, AS_NOBODY(gpreempt_set_param(self->g, &itself, GPREEMPT_PARAM_EXEMPT, 1)));
	EXPECT_EQ(-EPERM, AS_NOBODY(gpreempt_set_param(self->g, &itself, GPREEMPT_PARAM_FOLLOW_STOP, GPREEMPT_FOLLOW_STOP_NEVER)));
	EXPECT_EQ(-EPERM, AS_NOBODY(gpreempt_preempt(self->g, &itself, 0, GPREEMPT_HOLD_UNBOUNDED)));
	if (access("/sys/fs/cgroup/cgroup.procs", F_OK) == 0)
		EXPECT_EQ(-EPERM, AS_NOBODY(gpreempt_set_priority(self->g, AT(gpreempt_target_cgroup(cgroup)), 0)));
	close(cgroup);
}

static int64_t actor_becomes_nobody(struct actor *a, const int64_t *args)
{
	return become_nobody() ? 0 : -EPERM;
}

/* errno of reading a file, 0 if it can be read */
static int reads(const char *path)
{
	char text[64];
	int n = kfd_file_read(path, text, sizeof(text));

	return n < 0 ? n : 0;
}

static const char *node_file(const struct actor *a, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/gpreempt/%u/%s", a->client.gpu_id, name);
	return path;
}

static int reads_queue_file(const struct actor *a, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%u/%s", a->pid, a->queue[0].id, name);
	return reads(path);
}

/* What tells when programs work is for their own user and the administrator. */
TEST_F(rights, activity_is_not_everybodys)
{
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);

	EXPECT_EQ(-EACCES, AS_NOBODY(reads(node_file(a, "preemptions"))));
	EXPECT_EQ(-EACCES, AS_NOBODY(reads(node_file(a, "latency/save_count"))));
	EXPECT_EQ(-EACCES, AS_NOBODY(reads_queue_file(a, "gpreempt_state")));
	EXPECT_EQ(-EACCES, AS_NOBODY(reads_queue_file(a, "preempt_count")));
	EXPECT_EQ(0, AS_NOBODY(reads(node_file(a, "policy"))));
	EXPECT_EQ(0, AS_NOBODY(reads(node_file(a, "tunables/poll_us"))));
	EXPECT_EQ(0, AS_NOBODY(reads(node_file(a, "state"))));
	EXPECT_EQ(0, reads(node_file(a, "preemptions")));
	EXPECT_EQ(0, reads_queue_file(a, "gpreempt_state"));
	ASSERT_EQ(0, actor_call(a, actor_becomes_nobody, 0, 0, 0, 0));
	EXPECT_EQ(0, AS_NOBODY(reads_queue_file(a, "gpreempt_state")));
	EXPECT_EQ(0, AS_NOBODY(reads_queue_file(a, "preempt_count")));
}

/* Calls of an actor about itself; INT64_MIN: clear. */
static int set_or_clear(const struct gpreempt_target *target, int64_t priority)
{
	return priority == INT64_MIN ? gpreempt_clear_priority(shared, target) : gpreempt_set_priority(shared, target, priority);
}

static int64_t actor_sets_itself(struct actor *a, const int64_t *args)
{
	return set_or_clear(AT(gpreempt_target_process(0, 0)), args[0]);
}

static int64_t actor_sets_its_queue(struct actor *a, const int64_t *args)
{
	return set_or_clear(AT(gpreempt_target_queue(0, a->client.gpu_id, a->queue[0].id)), args[0]);
}

static int wait_source(struct gpreempt *g, const struct actor *a, uint32_t source)
{
	struct gpreempt_queue_info info;
	int late = KFD_WAIT(one_queue(g, a, &info) == 1 && info.source == source, MS, LONG);

	return late ? GPREEMPT_PRIORITY_MAX + 1 : info.logical_priority;
}

/* A process whose nice value is 10, of the user nobody, with a queue. */
static struct actor *nice_nobody(struct __test_metadata *_metadata)
{
	struct actor *a = with_queue(_metadata, LOW_NICE);

	ASSERT_EQ(0, actor_call(a, actor_becomes_nobody, 0, 0, 0, 0));
	return a;
}

TEST_F(rights, unprivileged_setting_does_not_undo_nice)
{
	struct actor *a;

	shared = self->g;
	a = nice_nobody(_metadata);
	ASSERT_EQ(0, wait_priority(self->g, a, 7 - LOW_NICE));
	EXPECT_EQ(0, actor_call(a, actor_sets_itself, -50, 0, 0, 0));
	EXPECT_EQ(0, wait_priority(self->g, a, -50));
	EXPECT_EQ(0, actor_call(a, actor_sets_itself, 7, 0, 0, 0));
	EXPECT_EQ(0, wait_priority(self->g, a, 7 - LOW_NICE));
	EXPECT_EQ(0, actor_call(a, actor_sets_its_queue, 7, 0, 0, 0));
	EXPECT_EQ(7 - LOW_NICE, wait_source(self->g, a, GPREEMPT_SOURCE_QUEUE));
	/* Where the nice value does not count, it is no limit either. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_nice", 0));
	EXPECT_EQ(0, wait_priority(self->g, a, 7));
}

TEST_F(rights, owner_does_not_undo_what_an_administrator_set)
{
	struct actor *a;

	shared = self->g;
	a = nice_nobody(_metadata);
	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(process_of(a)), 6));
	ASSERT_EQ(0, wait_priority(self->g, a, 6));
	EXPECT_EQ(-EPERM, actor_call(a, actor_sets_itself, 5, 0, 0, 0));
	EXPECT_EQ(-EPERM, actor_call(a, actor_sets_itself, INT64_MIN, 0, 0, 0));
	/* A queue's setting outranks its process's, but is worth no more. */
	EXPECT_EQ(0, actor_call(a, actor_sets_its_queue, 7, 0, 0, 0));
	EXPECT_EQ(6, wait_source(self->g, a, GPREEMPT_SOURCE_QUEUE));
	EXPECT_EQ(0, actor_call(a, actor_sets_its_queue, -8, 0, 0, 0));
	EXPECT_EQ(0, wait_priority(self->g, a, -8));
	EXPECT_EQ(0, actor_call(a, actor_sets_its_queue, INT64_MIN, 0, 0, 0));
	EXPECT_EQ(6, wait_source(self->g, a, GPREEMPT_SOURCE_PROCESS));
	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(queue_of(a)), 900));
	EXPECT_EQ(0, wait_priority(self->g, a, 900));
	EXPECT_EQ(-EPERM, actor_call(a, actor_sets_its_queue, 0, 0, 0, 0));
}

static int64_t actor_ends_everybodys_holds(struct actor *a, const int64_t *args)
{
	return gpreempt_resume_all(shared, AT(gpreempt_target_process(0, 0)));
}

static int64_t actor_holds_itself(struct actor *a, const int64_t *args)
{
	return gpreempt_preempt(shared, AT(gpreempt_target_process(0, 0)), 0, 0);
}

TEST_F(rights, owner_does_not_end_an_administrators_hold)
{
	struct gpreempt_queue_info info;
	struct actor *a;

	ASSERT_EQ(0, gpreempt_open(&shared));
	a = nice_nobody(_metadata);
	/* Its own it may hold and give back. */
	EXPECT_EQ(1, actor_call(a, actor_holds_itself, 0, 0, 0, 0));
	EXPECT_EQ(1, actor_call(a, actor_ends_everybodys_holds, 0, 0, 0, 0));
	ASSERT_EQ(1, gpreempt_preempt(self->g, AT(process_of(a)), 0, 0));
	EXPECT_EQ(1, actor_call(a, actor_holds_itself, 0, 0, 0, 0));
	EXPECT_EQ(-EPERM, actor_call(a, actor_ends_everybodys_holds, 0, 0, 0, 0));
	ASSERT_EQ(1, one_queue(self->g, a, &info));
	EXPECT_TRUE(info.flags & GPREEMPT_QUEUE_HELD);
	/* Only that one is left. */
	EXPECT_EQ(1, gpreempt_resume(self->g, AT(process_of(a))));
	ASSERT_EQ(1, one_queue(self->g, a, &info));
	EXPECT_FALSE(info.flags & GPREEMPT_QUEUE_HELD);
	gpreempt_close(shared);
}

/* A copy of the device that everybody may open, opened by nobody; -1. */
#define OPEN_DEVICE	"/tmp/kfd_gpreempt"

static bool make_open_device(int fd)
{
	struct stat st;

	unlink(OPEN_DEVICE);
	return !fstat(fd, &st) && !mknod(OPEN_DEVICE, S_IFCHR | 0666, st.st_rdev) && !chmod(OPEN_DEVICE, 0666);
}

static int open_as_nobody(void)
{
	int fd;

	if (seteuid(NOBODY))
		return -1;
	fd = open(OPEN_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return seteuid(0) ? -1 : fd;
}

#define MANY	64	/* descriptors of a user that may listen, or hold a queue */

TEST_F(rights, a_user_listens_through_so_many_descriptors)
{
	struct pollfd pfd[MANY + 2];
	char byte[128];
	int i;

	ASSERT_TRUE(make_open_device(self->fd));
	for (i = 0; i < MANY + 2; i++) {
		pfd[i] = (struct pollfd){ .fd = open_as_nobody(), .events = POLLIN };
		ASSERT_LE(0, pfd[i].fd);
		EXPECT_EQ(i < MANY ? 0 : 1, poll(&pfd[i], 1, 0)) TH_LOG("descriptor %d", i);
	}
	EXPECT_EQ(POLLERR, pfd[MANY].revents);
	EXPECT_EQ(-1, read(pfd[MANY].fd, byte, sizeof(byte)));
	EXPECT_EQ(EMFILE, errno);
	/* One who sees all is not concerned, nor is whoever comes when one has gone. */
	EXPECT_EQ(0, poll(&(struct pollfd){ .fd = self->fd, .events = POLLIN }, 1, 0));
	close(pfd[0].fd);
	EXPECT_EQ(0, poll(&pfd[MANY], 1, 0));
	for (i = 1; i < MANY + 2; i++)
		close(pfd[i].fd);
	unlink(OPEN_DEVICE);
}

/* Returns how many descriptors hold the process, and closes them. */
static int64_t actor_holds_itself_often(struct actor *a, const int64_t *args)
{
	struct gpreempt_hold hold;
	int fds[MANY + 2], i, r = 0, held;

	for (i = 0; i < MANY + 2 && !r; i++) {
		hold = (struct gpreempt_hold){ .target = gpreempt_target_process(0, 0) };
		fds[i] = open(OPEN_DEVICE, O_RDWR | O_CLOEXEC);
		r = raw(fds[i], GPREEMPT_IOC_PREEMPT, &hold);
	}
	held = r ? i - 1 : i;
	while (i)
		close(fds[--i]);
	return r == -EUSERS ? held : r;
}

TEST_F(rights, a_queue_is_held_by_so_many_descriptors)
{
	struct gpreempt_queue_info info;
	struct actor *a;

	ASSERT_TRUE(make_open_device(self->fd));
	a = nice_nobody(_metadata);
	EXPECT_EQ(MANY, actor_call(a, actor_holds_itself_often, 0, 0, 0, 0));
	ASSERT_EQ(1, one_queue(self->g, a, &info));
	EXPECT_FALSE(info.flags & GPREEMPT_QUEUE_HELD);
	EXPECT_EQ(1, gpreempt_preempt(self->g, AT(process_of(a)), 0, 0));
	unlink(OPEN_DEVICE);
}

/* What is heard is what the opener may hear, whoever reads. */
TEST_F(rights, events_are_those_that_the_opener_may_see)
{
	struct gpreempt_event events[16];
	struct pollfd pfd = { .events = POLLIN };
	struct actor *a, *mine;
	int i, nr;

	shared = self->g;
	a = worker(_metadata, 0, 1, 1, 1, MS);
	mine = nice_nobody(_metadata);
	ASSERT_EQ(0, wait_priority(self->g, mine, 7 - LOW_NICE));
	ASSERT_TRUE(make_open_device(self->fd));
	pfd.fd = open_as_nobody();
	unlink(OPEN_DEVICE);
	ASSERT_LE(0, pfd.fd);
	ASSERT_EQ(0, poll(&pfd, 1, 0));

	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(process_of(a)), -10));
	ASSERT_EQ(0, wait_priority(self->g, a, -10));
	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(process_of(mine)), -20));
	ASSERT_EQ(0, wait_priority(self->g, mine, -20));
	ASSERT_EQ(1, poll(&pfd, 1, LONG / MS));
	nr = read(pfd.fd, events, sizeof(events)) / (int)sizeof(events[0]);
	ASSERT_LE(1, nr);
	for (i = 0; i < nr; i++)
		EXPECT_EQ(mine->pid, events[i].pid);
	close(pfd.fd);
}

/* It stays permitted: whoever drops it may have it again. */
static bool have_capability(int which, bool on)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return false;
	data[which / 32].effective &= ~(1u << (which % 32));
	data[which / 32].effective |= (uint32_t)on << (which % 32);
	return !syscall(SYS_capset, &header, data);
}

TEST_F(rights, a_root_without_capabilities_is_a_user)
{
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);
	struct gpreempt_queue_info *queues;
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%u/logical_priority", a->pid, a->queue[0].id);
	ASSERT_TRUE(have_capability(CAP_SYS_NICE, false));
	fd = open(path, O_WRONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, write(fd, "9", 1));
	EXPECT_EQ(EPERM, errno);
	close(fd);
	EXPECT_EQ(-EPERM, gpreempt_set_priority(self->g, AT(process_of(a)), 8));
	ASSERT_TRUE(have_capability(CAP_SYS_ADMIN, false));
	/* A counter's file is root's to open, and not its to read. */
	EXPECT_EQ(-EPERM, reads(node_file(a, "preemptions")));
	EXPECT_EQ(0, reads_queue_file(a, "gpreempt_state"));
	EXPECT_EQ(0, gpreempt_set_priority(self->g, AT(process_of(a)), 5));
	EXPECT_EQ(1, gpreempt_list_queues(self->g, AT(gpreempt_target_all()), &queues));
	free(queues);
	ASSERT_TRUE(have_capability(CAP_SYS_ADMIN, true));
}

/* ---- containers ---- */

static int report[2], go_on[2];

static void say(char c)
{
	if (write(report[1], &c, 1) != 1)
		_exit(254);
}

static char hear(int fd)
{
	char c = 0;

	return read(fd, &c, 1) == 1 ? c : 0;
}

/* First process of a pid namespace. What it sees and does not see; 0, or where it went wrong. */
static int container(pid_t outside)
{
	struct gpreempt_target all = gpreempt_target_all(), target;
	struct gpreempt_queue_info *queues;
	struct gpreempt_event event;
	struct pollfd pfd = { .events = POLLIN };
	struct gpreempt *g;
	struct actor *a;

	if (gpreempt_open(&g))
		return 1;
	if (gpreempt_list_queues(g, &all, &queues))
		return 2;
	target = gpreempt_target_cgroup(open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY));
	if (target.cgroup_fd >= 0 && gpreempt_list_queues(g, &target, &queues))
		return 3;
	target = gpreempt_target_process(outside, 0);
	if (gpreempt_set_priority(g, &target, 0) != -ESRCH || gpreempt_preempt(g, &target, 0, 0) != -ESRCH)
		return 4;

	a = actor_start(0, ARENA);
	if (!a || actor_queue(a, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL))
		return 5;
	if (gpreempt_list_queues(g, &all, &queues) != 1 || queues[0].pid != a->pid)
		return 6;
	free(queues);
	pfd.fd = gpreempt_fd(g);
	if (poll(&pfd, 1, 0))
		return 7;
	target = process_of(a);
	if (gpreempt_preempt(g, &target, 0, 0) != 1 || gpreempt_resume(g, &target) != 1)
		return 8;
	if (gpreempt_read_events(g, &event, 1) != 1 || event.pid != a->pid)
		return 9;
	say('r');
	hear(go_on[0]);
	/* Something happens outside meanwhile. The rest of what happened to its own queue, and nothing else: */
	while (poll(&pfd, 1, 0) == 1)
		if (gpreempt_read_events(g, &event, 1) != 1 || event.pid != a->pid)
			return 10;
	actor_kill(a);
	return 0;
}

TEST_F(rights, a_container_sees_and_touches_its_own_only)
{
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);
	struct gpreempt_target all = gpreempt_target_all(), target = process_of(a);
	struct gpreempt_queue_info *queues;
	pid_t pid;
	int status;

	ASSERT_EQ(0, pipe(report));
	ASSERT_EQ(0, pipe(go_on));
	pid = fork();
	if (!pid) {
		pid_t first;

		if (unshare(CLONE_NEWPID))
			_exit(253);
		first = fork();
		if (!first)
			_exit(container(a->pid));
		waitpid(first, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 252);
	}
	close(report[1]);
	close(go_on[0]);
	if (hear(report[0]) == 'r') {
		/* From outside both are seen, with pids of here. */
		EXPECT_EQ(2, gpreempt_list_queues(self->g, &all, &queues));
		EXPECT_NE(queues[0].pid, queues[1].pid);
		EXPECT_TRUE(queues[0].pid == a->pid || queues[1].pid == a->pid);
		EXPECT_LT(1, queues[0].pid);
		EXPECT_LT(1, queues[1].pid);
		free(queues);
		EXPECT_EQ(0, gpreempt_set_priority(self->g, &target, -9));
		EXPECT_EQ(0, wait_priority(self->g, a, -9));
		EXPECT_EQ(1, write(go_on[1], "g", 1));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 253)
		SKIP(return, "no pid namespaces");
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	close(report[0]);
	close(go_on[1]);
}

/* All capabilities of a user namespace are none here. */
TEST_F(rights, root_of_a_container_is_a_user)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (unshare(CLONE_NEWUSER))
			_exit(253);
		if (gpreempt_set_priority(self->g, AT(gpreempt_target_process(0, 0)), 8) != -EPERM)
			_exit(1);
		if (gpreempt_set_param(self->g, AT(gpreempt_target_process(0, 0)), GPREEMPT_PARAM_EXEMPT, 1) != -EPERM)
			_exit(2);
		_exit(gpreempt_set_priority(self->g, AT(gpreempt_target_process(0, 0)), 3) ? 3 : 0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 253)
		SKIP(return, "no user namespaces");
	EXPECT_EQ(0, status);
}

/* ---- pids ---- */

static int wait_forgotten(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d", pid);
	return KFD_WAIT(access(path, F_OK), 2 * MS, LONG);
}

static bool next_pid(pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid - 1);
	return !kfd_file_write("/proc/sys/kernel/ns_last_pid", text);
}

/* What a process has when nothing is set for it, which a pass has to have found; a queue's own setting shows that one has. */
static void expect_nothing_set(struct __test_metadata *_metadata, struct gpreempt *g, const struct actor *a)
{
	ASSERT_EQ(0, gpreempt_set_priority(g, AT(queue_of(a)), 3));
	ASSERT_EQ(3, wait_source(g, a, GPREEMPT_SOURCE_QUEUE));
	ASSERT_EQ(0, gpreempt_clear_priority(g, AT(queue_of(a))));
	EXPECT_EQ(7, wait_source(g, a, GPREEMPT_SOURCE_KFD));
}

TEST_F(rights, a_pid_that_is_used_again_inherits_nothing)
{
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);
	pid_t pid = a->pid;
	int tries;

	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(process_of(a)), -100));
	ASSERT_EQ(0, wait_priority(self->g, a, -100));
	actor_kill(a);
	ASSERT_EQ(0, wait_forgotten(pid));
	EXPECT_EQ(-ESRCH, gpreempt_set_priority(self->g, AT(process_of(a)), -100));
	for (tries = 0; tries < 20 && a->reaped; tries++) {
		if (!next_pid(pid))
			SKIP(return, "the next pid cannot be chosen");
		a = worker(_metadata, 0, 1, 1, 1, MS);
		if (a->pid != pid)
			actor_kill(a);
	}
	if (a->reaped)
		SKIP(return, "somebody else gets the pid");
	expect_nothing_set(_metadata, self->g, a);
}

/* ---- cgroups ---- */

#define CGROUPS	"/sys/fs/cgroup/"

static bool cgroup_make(const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), CGROUPS "%s", name);
	return !access(CGROUPS "cgroup.procs", F_OK) && !mkdir(path, 0755);
}

static int cgroup_remove(const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), CGROUPS "%s", name);
	/* Whoever was killed in it leaves it a little later. */
	return KFD_WAIT(!rmdir(path), MS, LONG);
}

static int cgroup_move(const char *name, pid_t pid)
{
	char path[96], text[16];

	snprintf(path, sizeof(path), CGROUPS "%s/cgroup.procs", name);
	snprintf(text, sizeof(text), "%d", pid);
	return kfd_file_write(path, text);
}

/* INT64_MIN clears. */
static int cgroup_set(struct gpreempt *g, const char *name, int64_t priority)
{
	struct gpreempt_target target;
	char path[96];
	int r;

	snprintf(path, sizeof(path), CGROUPS "%s", name);
	target = gpreempt_target_cgroup(open(path, O_RDONLY | O_DIRECTORY));
	shared = g;
	r = set_or_clear(&target, priority);
	close(target.cgroup_fd);
	return r;
}

/* What a cgroup has, its processes have, children that come later included, until it is cleared. */
TEST_F(rights, cgroup_priority_is_inherited)
{
	struct gpreempt_target target;
	struct gpreempt_queue_info *queues;
	struct actor *a, *b;

	if (!cgroup_make("gpreempt-test"))
		SKIP(return, "no cgroup v2 file system at " CGROUPS);
	ASSERT_EQ(0, cgroup_set(self->g, "gpreempt-test", 33));
	a = worker(_metadata, 0, 1, 1, 1, MS);
	ASSERT_EQ(0, cgroup_move("gpreempt-test", a->pid));
	EXPECT_EQ(0, wait_priority(self->g, a, 33));
	/* A child of a process in the cgroup is born there. */
	ASSERT_EQ(0, cgroup_move("gpreempt-test", 0));
	b = worker(_metadata, 0, 1, 1, 1, MS);
	ASSERT_EQ(0, cgroup_move("", 0));
	EXPECT_EQ(0, wait_priority(self->g, b, 33));
	EXPECT_EQ(33, wait_source(self->g, b, GPREEMPT_SOURCE_CGROUP));
	target = gpreempt_target_cgroup(open(CGROUPS "gpreempt-test", O_RDONLY | O_DIRECTORY));
	EXPECT_EQ(2, gpreempt_list_queues(self->g, &target, &queues));
	free(queues);
	/* Whoever is moved out has it no more. */
	ASSERT_EQ(0, cgroup_move("", a->pid));
	EXPECT_EQ(0, wait_priority(self->g, a, 7));
	EXPECT_EQ(1, gpreempt_list_queues(self->g, &target, &queues));
	free(queues);
	/* A process's own setting outranks it. */
	target = process_of(b);
	ASSERT_EQ(0, gpreempt_set_priority(self->g, &target, 1));
	EXPECT_EQ(0, wait_priority(self->g, b, 1));
	ASSERT_EQ(0, gpreempt_clear_priority(self->g, &target));
	EXPECT_EQ(0, wait_priority(self->g, b, 33));
	ASSERT_EQ(0, cgroup_set(self->g, "gpreempt-test", INT64_MIN));
	EXPECT_EQ(0, wait_priority(self->g, b, 7));
	actor_forget_all();
	EXPECT_EQ(0, cgroup_remove("gpreempt-test"));
}

/* ---- processes below others, with or without cgroups ---- */

/* The tests are below the process that runs them. */
TEST_F(rights, processes_below_inherit_from_their_first_queue_on)
{
	struct gpreempt_target above = gpreempt_target_process(getppid(), 0), self_target = gpreempt_target_process(0, 0);
	struct actor *before = worker(_metadata, 0, 1, 1, 1, MS), *a, *b;

	ASSERT_EQ(0, gpreempt_set_tree_priority(self->g, &above, -100));
	a = worker(_metadata, 0, 1, 1, 1, MS);
	EXPECT_EQ(-100, wait_source(self->g, a, GPREEMPT_SOURCE_PARENT));
	EXPECT_EQ(7, wait_source(self->g, before, GPREEMPT_SOURCE_KFD));
	/* The nearest counts, and before it what is the process's own. */
	ASSERT_EQ(0, gpreempt_set_tree_priority(self->g, &self_target, -50));
	b = worker(_metadata, 0, 1, 1, 1, MS);
	EXPECT_EQ(-50, wait_source(self->g, b, GPREEMPT_SOURCE_PARENT));
	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(process_of(b)), 3));
	EXPECT_EQ(3, wait_source(self->g, b, GPREEMPT_SOURCE_PROCESS));
	ASSERT_EQ(0, gpreempt_clear_priority(self->g, AT(process_of(b))));
	EXPECT_EQ(-50, wait_source(self->g, b, GPREEMPT_SOURCE_PARENT));
	ASSERT_EQ(0, gpreempt_clear_priority(self->g, &self_target));
	ASSERT_EQ(0, gpreempt_clear_priority(self->g, &above));
	a = worker(_metadata, 0, 1, 1, 1, MS);
	EXPECT_EQ(7, wait_source(self->g, a, GPREEMPT_SOURCE_KFD));
	EXPECT_EQ(-50, wait_source(self->g, b, GPREEMPT_SOURCE_PARENT));
}

/* A process of another user may lower itself, and what it starts inherits no more than that. */
TEST_F(rights, what_is_inherited_takes_the_same_rights)
{
	struct gpreempt_target self_target = gpreempt_target_process(0, 0);

	EXPECT_EQ(-EPERM, AS_NOBODY(gpreempt_set_tree_priority(self->g, &self_target, 8)));
	EXPECT_EQ(-EACCES, AS_NOBODY(gpreempt_set_tree_priority(self->g, AT(gpreempt_target_process(getppid(), 0)), 5)));
	EXPECT_EQ(0, AS_NOBODY(gpreempt_set_tree_priority(self->g, &self_target, -5)));
}

/* As a container's runtime makes the init, and puts a process beside it later (docker exec) */
TEST_F(rights, processes_put_into_a_container_are_below_its_init)
{
	int ours = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC), theirs, end[2];
	struct actor *inside, *outside;
	char path[64];
	pid_t init;

	ASSERT_LE(0, ours);
	ASSERT_EQ(0, pipe(end));
	if (unshare(CLONE_NEWPID))
		SKIP(return, "no pid namespaces");
	init = fork();
	if (!init) {
		close(end[1]);
		_exit(read(end[0], path, 1));
	}
	close(end[0]);
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", init);
	theirs = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, theirs);
	ASSERT_EQ(0, gpreempt_set_tree_priority(self->g, AT(gpreempt_target_process(init, 0)), -70));
	ASSERT_EQ(0, setns(theirs, CLONE_NEWPID));
	inside = worker(_metadata, 0, 1, 1, 1, MS);
	ASSERT_EQ(0, setns(ours, CLONE_NEWPID));
	outside = worker(_metadata, 0, 1, 1, 1, MS);
	EXPECT_EQ(-70, wait_source(self->g, inside, GPREEMPT_SOURCE_PARENT));
	EXPECT_EQ(7, wait_source(self->g, outside, GPREEMPT_SOURCE_KFD));
	actor_forget_all();
	close(end[1]);
	EXPECT_EQ(init, waitpid(init, NULL, 0));
	close(theirs);
	close(ours);
}

/* ---- cgroups again ---- */

TEST_F(rights, nearest_cgroup_counts_and_goes_with_its_setting)
{
	struct actor *a;

	if (!cgroup_make("gpreempt-outer"))
		SKIP(return, "no cgroup v2 file system at " CGROUPS);
	ASSERT_TRUE(cgroup_make("gpreempt-outer/inner"));
	ASSERT_EQ(0, cgroup_set(self->g, "gpreempt-outer", 20));
	a = worker(_metadata, 0, 1, 1, 1, MS);
	ASSERT_EQ(0, cgroup_move("gpreempt-outer/inner", a->pid));
	EXPECT_EQ(0, wait_priority(self->g, a, 20));
	ASSERT_EQ(0, cgroup_set(self->g, "gpreempt-outer/inner", -30));
	EXPECT_EQ(0, wait_priority(self->g, a, -30));
	/* It goes while it has a setting; its process has gone up before. */
	ASSERT_EQ(0, cgroup_move("gpreempt-outer", a->pid));
	ASSERT_EQ(0, cgroup_remove("gpreempt-outer/inner"));
	EXPECT_EQ(0, wait_priority(self->g, a, 20));
	/* One of the same name is another one. */
	ASSERT_TRUE(cgroup_make("gpreempt-outer/inner"));
	ASSERT_EQ(0, cgroup_move("gpreempt-outer/inner", a->pid));
	ASSERT_EQ(0, cgroup_set(self->g, "gpreempt-outer", INT64_MIN));
	EXPECT_EQ(0, wait_priority(self->g, a, 7));
	expect_nothing_set(_metadata, self->g, a);
	actor_forget_all();
	EXPECT_EQ(0, cgroup_remove("gpreempt-outer/inner"));
	EXPECT_EQ(0, cgroup_remove("gpreempt-outer"));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: MIT
/*
 * client.c - a program that makes queues, for the tests of libgpreempt-preload.so
 *
 *	client queues | fork | threads | classes | thread
 *
 * Says nothing and returns 0 if what it sees of its own calls is as if nobody stood between; else a line, and 1.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpreempt-preload.h"
#include "kfd.h"

#define THREADS		8
#define ROUNDS		200
#define FORKS		50
/* Not what any call leaves there */
#define NO_ERROR	1234

#define EXPECT(condition) do { \
	if (!(condition)) { \
		printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
		exit(1); \
	} \
} while (0)

/* What the kernel's structure has behind the part that is looked at; an older libhsakmt's is shorter. */
struct create {
	struct kfd_create_queue begin;
	uint64_t rest[6];
};
#define CREATE(bytes)	_IOC(_IOC_READ | _IOC_WRITE, KFD_IOCTL_TYPE, KFD_CREATE_QUEUE_NR, bytes)
#define DESTROY		_IOWR(KFD_IOCTL_TYPE, KFD_DESTROY_QUEUE_NR, uint64_t)
#define SET_CU_MASK	_IOC(_IOC_WRITE, KFD_IOCTL_TYPE, KFD_SET_CU_MASK_NR, 16)

static typeof(gpreempt_seen_mark) *seen_mark;
static typeof(gpreempt_seen_queues) *seen_queues;
static typeof(gpreempt_queue_class) *queue_class;
static int fd;
static uint32_t gpu = 77;

static uint32_t create(uint32_t type, uint32_t priority, uint64_t ring, size_t bytes)
{
	struct create args, before;
	int result;

	memset(&args, 0x5a, sizeof(args));
	args.begin = (struct kfd_create_queue){
		.ring_base = ring, .ring_bytes = 4096, .gpu_id = gpu, .type = type, .percentage = 100, .priority = priority,
	};
	before = args;
	errno = NO_ERROR;
	result = ioctl(fd, CREATE(bytes), &args);
	EXPECT(!result);
	EXPECT(errno == NO_ERROR);
	before.begin.queue_id = args.begin.queue_id;
	EXPECT(!memcmp(&args, &before, sizeof(args)));
	return args.begin.queue_id;
}

static void update(uint32_t queue_id, uint32_t priority)
{
	struct kfd_update_queue args = { .queue_id = queue_id, .ring_bytes = 4096, .percentage = 100, .priority = priority }, before = args;

	EXPECT(!ioctl(fd, KFD_UPDATE_QUEUE, &args));
	EXPECT(!memcmp(&args, &before, sizeof(args)));
}

static void of_queue(unsigned long request, uint32_t queue_id)
{
	struct { struct kfd_of_queue of; uint32_t rest[3]; } args = { .of.queue_id = queue_id };

	EXPECT(!ioctl(fd, request, &args));
}

static void queues(void)
{
	struct gpreempt_seen seen[4] = { 0 };
	struct create bad = { 0 };
	uint64_t mark = seen_mark ? seen_mark() : 0;
	uint32_t id[4];
	int null = open("/dev/null", O_RDWR);

	id[0] = create(KFD_QUEUE_COMPUTE_AQL, KFD_PRIORITY_NORMAL, 0x1000, sizeof(struct create));
	id[1] = create(KFD_QUEUE_COMPUTE, 11, 0x2000, sizeof(struct create) - 8);
	id[2] = create(1 /* SDMA */, KFD_PRIORITY_NORMAL, 0x3000, sizeof(struct create));
	/* A structure that ends too early is not looked into. */
	id[3] = create(KFD_QUEUE_COMPUTE, KFD_PRIORITY_NORMAL, 0x4000, sizeof(struct kfd_create_queue) - 8);
	of_queue(SET_CU_MASK, id[0]);
	update(id[0], KFD_PRIORITY_NORMAL);
	update(id[1], 15);
	if (seen_queues) {
		EXPECT(seen_queues(mark, 0, NULL, 0) == 2);
		EXPECT(seen_queues(mark, gettid(), seen, 4) == 2);
		EXPECT(seen_queues(mark, gettid() + 1, seen, 4) == 0);
		EXPECT(seen[0].ring_base == 0x1000 && seen[0].queue_id == id[0] && seen[0].gpu_id == 77);
		EXPECT(seen[0].flags == GPREEMPT_SEEN_CU_MASK && seen[0].tid == gettid());
		EXPECT(seen[1].ring_base == 0x2000 && seen[1].flags == 0 && seen[1].kfd_priority == 15);
		EXPECT(seen_queues(seen[0].sequence, 0, seen, 4) == 1 && seen[0].queue_id == id[1]);
		EXPECT(seen_mark() == seen[0].sequence);
	}
	of_queue(DESTROY, id[0]);
	if (seen_queues)
		EXPECT(seen_queues(mark, 0, seen, 4) == 1 && seen[0].queue_id == id[1]);

	/* What is refused is refused in the same way. */
	EXPECT(ioctl(fd, CREATE(sizeof(bad)), &bad) == -1 && errno == EINVAL);
	EXPECT(ioctl(fd, CREATE(sizeof(bad)), NULL) == -1 && errno == EFAULT);
	EXPECT(ioctl(null, CREATE(sizeof(bad)), &bad) == -1 && errno == ENOTTY);
	EXPECT(ioctl(-1, CREATE(sizeof(bad)), &bad) == -1 && errno == EBADF);
	if (seen_queues)
		EXPECT(seen_queues(mark, 0, NULL, 0) == 1);
}

static void in_child(void)
{
	pid_t pid = fork();
	int status;

	EXPECT(pid >= 0);
	if (!pid) {
		alarm(60);
		if (seen_queues)
			EXPECT(seen_queues(0, 0, NULL, 0) == 0);
		create(KFD_QUEUE_COMPUTE_AQL, KFD_PRIORITY_NORMAL, 0x9000, sizeof(struct create));
		if (seen_queues)
			EXPECT(seen_queues(0, 0, NULL, 0) == 1);
		_exit(0);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && !status);
}

static void *churn(void *arg)
{
	uintptr_t base = (uintptr_t)arg;
	struct gpreempt_seen seen;
	uint64_t mark;
	uint32_t id;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		mark = seen_mark ? seen_mark() : 0;
		id = create(KFD_QUEUE_COMPUTE_AQL, KFD_PRIORITY_NORMAL, base + i, sizeof(struct create));
		if (seen_queues)
			EXPECT(seen_queues(mark, gettid(), &seen, 1) == 1 && seen.queue_id == id && seen.ring_base == base + i);
		of_queue(DESTROY, id);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		EXPECT(!pthread_create(&thread[i], NULL, churn, (void *)((i + 1ul) << 32)));
	for (i = 0; i < FORKS; i++)
		in_child();
	for (i = 0; i < THREADS; i++)
		EXPECT(!pthread_join(thread[i], NULL));
	if (seen_queues)
		EXPECT(seen_queues(0, 0, NULL, 0) == 0);
}

/* Queues 0 to 3 of one GPU, of which number 2 asks for something; two of another GPU, one of which is refused first */
static void classes(void)
{
	struct create bad = { .begin = { .gpu_id = 78, .type = KFD_QUEUE_COMPUTE_AQL, .priority = KFD_PRIORITY_NORMAL } };
	uint32_t id[5], i;

	for (i = 0; i < 4; i++)
		id[i] = create(KFD_QUEUE_COMPUTE_AQL, i == 2 ? 11 : KFD_PRIORITY_NORMAL, 0x1000 * (i + 1), sizeof(struct create));
	for (i = 0; i < 4; i++)
		update(id[i], KFD_PRIORITY_NORMAL);
	update(id[0], 15);
	update(id[3], 15);
	update(id[3], KFD_PRIORITY_NORMAL);
	gpu = 78;
	EXPECT(ioctl(fd, CREATE(sizeof(bad)), &bad) == -1 && errno == EINVAL);
	create(1 /* SDMA */, KFD_PRIORITY_NORMAL, 0x8000, sizeof(struct create));
	id[4] = create(KFD_QUEUE_COMPUTE_AQL, KFD_PRIORITY_NORMAL, 0x9000, sizeof(struct create));
	of_queue(DESTROY, id[4]);
	update(id[4], KFD_PRIORITY_NORMAL);
}

/* One queue while the thread has a class, and one after it */
static void of_a_thread(void)
{
	uint32_t id;

	EXPECT(queue_class && queue_class("fast") == -EINVAL && queue_class("1024") == -EINVAL && queue_class("") == -EINVAL);
	create(KFD_QUEUE_COMPUTE_AQL, KFD_PRIORITY_NORMAL, 0x1000, sizeof(struct create));
	EXPECT(!queue_class("latency"));
	EXPECT(queue_class("fast") == -EINVAL);
	id = create(KFD_QUEUE_COMPUTE_AQL, KFD_PRIORITY_NORMAL, 0x2000, sizeof(struct create));
	EXPECT(!queue_class(NULL));
	update(id, 3);
	create(KFD_QUEUE_COMPUTE_AQL, KFD_PRIORITY_NORMAL, 0x3000, sizeof(struct create));
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	alarm(120);
	seen_mark = dlsym(RTLD_DEFAULT, "gpreempt_seen_mark");
	seen_queues = dlsym(RTLD_DEFAULT, "gpreempt_seen_queues");
	queue_class = dlsym(RTLD_DEFAULT, "gpreempt_queue_class");
	fd = open("/dev/kfd", O_RDWR);
	EXPECT(fd >= 0);
	if (!strcmp(what, "queues")) {
		queues();
	} else if (!strcmp(what, "fork")) {
		create(KFD_QUEUE_COMPUTE_AQL, KFD_PRIORITY_NORMAL, 0x1000, sizeof(struct create));
		in_child();
	} else if (!strcmp(what, "threads")) {
		threads();
	} else if (!strcmp(what, "classes")) {
		classes();
	} else if (!strcmp(what, "thread")) {
		of_a_thread();
	} else {
		printf("usage: client queues|fork|threads|classes|thread\n");
		return 2;
	}
	return 0;
}

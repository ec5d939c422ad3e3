// SPDX-License-Identifier: MIT
/*
 * preload.c - libgpreempt-preload.so: priorities from the environment, and which queues there are, for a program as it is
 *
 * For LD_PRELOAD. Stands before ioctl(2) of the C library, through which every build of libhsakmt talks to /dev/kfd, and looks at those few
 * calls that make, change and destroy queues. What the caller gave is as it was when the call returns, errno included.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "classes.h"
#include "environment.h"
#include "kfd.h"
#include "seen.h"

/* That this library is loaded: libgpreempt-hsa.so leaves it all to it then. */
extern const char gpreempt_preload[];
__attribute__((visibility("default"))) const char gpreempt_preload[] = "libgpreempt-preload";

typedef int ioctl_fn(int fd, unsigned long request, ...);

static int next_ioctl(int fd, unsigned long request, void *argument)
{
	static ioctl_fn *next;
	ioctl_fn *fn = __atomic_load_n(&next, __ATOMIC_ACQUIRE);

	if (!fn) {
		fn = (ioctl_fn *)dlsym(RTLD_NEXT, "ioctl");
		__atomic_store_n(&next, fn, __ATOMIC_RELEASE);
	}
	return fn ? fn(fd, request, argument) : (int)syscall(SYS_ioctl, fd, request, argument);
}

/* By the device, not by its name: the program may have opened it anywhere, and a number of an ioctl is many drivers'. */
static bool is_kfd(int fd)
{
	struct stat opened, device;

	if (fstat(fd, &opened) || stat("/dev/kfd", &device))
		return false;
	if (S_ISCHR(opened.st_mode) && S_ISCHR(device.st_mode))
		return opened.st_rdev == device.st_rdev;
	return opened.st_dev == device.st_dev && opened.st_ino == device.st_ino;
}

/* SDMA queues are not scheduled. */
static bool is_compute(uint32_t type)
{
	return type == KFD_QUEUE_COMPUTE || type == KFD_QUEUE_COMPUTE_AQL;
}

/* What KFD is told: a class, or else HSA_QUEUE_PRIORITY where the program asks for nothing. */
static uint32_t priority_of(uint32_t asked, const struct queue_class *class)
{
	uint32_t priority;
	bool from_environment = environment_apply(&priority);

	if (class->has && (class->named || asked == KFD_PRIORITY_NORMAL))
		return classes_kfd_priority(class);
	return from_environment && asked == KFD_PRIORITY_NORMAL ? priority : asked;
}

static int create_queue(int fd, unsigned long request, struct kfd_create_queue *args)
{
	uint32_t asked = args->priority, priority;
	struct queue_class class;
	int result, saved;

	if (!is_compute(args->type))
		return next_ioctl(fd, request, args);
	class = environment_class(args->gpu_id);
	class.has &= class.named || asked == KFD_PRIORITY_NORMAL;
	priority = priority_of(asked, &class);
	args->priority = priority;
	result = next_ioctl(fd, request, args);
	saved = errno;
	args->priority = asked;
	if (result)
		classes_not_made(args->gpu_id);
	else
		seen_add(args->gpu_id, args->queue_id, args->ring_base, priority);
	if (!result && class.has)
		classes_give(args->gpu_id, args->queue_id, &class);
	errno = saved;
	return result;
}

/* ROCr says the normal priority again when it only changes something else. */
static int update_queue(int fd, unsigned long request, struct kfd_update_queue *args)
{
	struct queue_class class = classes_of(args->queue_id);
	uint32_t asked = args->priority, priority = priority_of(asked, &class);
	int result, saved;

	args->priority = priority;
	result = next_ioctl(fd, request, args);
	saved = errno;
	args->priority = asked;
	if (!result)
		seen_priority(args->queue_id, priority);
	if (!result && class.has && !class.named && asked != KFD_PRIORITY_NORMAL)
		classes_take_back(args->queue_id);
	errno = saved;
	return result;
}

static int destroy_queue(int fd, unsigned long request, struct kfd_of_queue *args)
{
	/* Before: KFD may give the number to another thread's queue at once. */
	seen_remove(args->queue_id);
	classes_forget(args->queue_id);
	return next_ioctl(fd, request, args);
}

static int set_cu_mask(int fd, unsigned long request, struct kfd_of_queue *args)
{
	int result = next_ioctl(fd, request, args);
	int saved = errno;

	if (!result)
		seen_cu_mask(args->queue_id);
	errno = saved;
	return result;
}

/* Which command about a queue, if its structure has what is looked at; 0: none (that is KFD's version) */
static unsigned int queue_command(unsigned long request)
{
	static const size_t least[] = {
		[KFD_CREATE_QUEUE_NR] = sizeof(struct kfd_create_queue),
		[KFD_DESTROY_QUEUE_NR] = sizeof(struct kfd_of_queue),
		[KFD_UPDATE_QUEUE_NR] = sizeof(struct kfd_update_queue),
		[KFD_SET_CU_MASK_NR] = sizeof(struct kfd_of_queue),
	};
	unsigned int nr = _IOC_NR(request);

	if (_IOC_TYPE(request) != KFD_IOCTL_TYPE || nr >= sizeof(least) / sizeof(least[0]) || !least[nr] || _IOC_SIZE(request) < least[nr])
		return 0;
	return nr;
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	unsigned int command = queue_command(request);
	int saved = errno;
	void *argument;
	va_list args;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	if (command && (!argument || !is_kfd(fd)))
		command = 0;
	errno = saved;
	switch (command) {
	case KFD_CREATE_QUEUE_NR:
		return create_queue(fd, request, argument);
	case KFD_UPDATE_QUEUE_NR:
		return update_queue(fd, request, argument);
	case KFD_DESTROY_QUEUE_NR:
		return destroy_queue(fd, request, argument);
	case KFD_SET_CU_MASK_NR:
		return set_cu_mask(fd, request, argument);
	}
	return next_ioctl(fd, request, argument);
}

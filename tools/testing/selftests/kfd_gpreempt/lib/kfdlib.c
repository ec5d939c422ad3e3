// SPDX-License-Identifier: MIT
/*
 * kfdlib.c - a small KFD client for tests and demonstrations (see kfdlib.h)
 *
 * Touches /dev/kfd, the node's render device, and reads sysfs and debugfs; writes module parameters only when asked
 * to.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <linux/kfd_ioctl.h>

#include "kfdlib.h"
#include "../../../../vgpu/tests/isa/object.h"

#define TOPOLOGY	"/sys/devices/virtual/kfd/kfd/topology/nodes"
#define VGPU_DEBUGFS	"/sys/kernel/debug/vgpu"
#define GPREEMPT_SYSFS	"/sys/class/kfd/kfd/gpreempt"
#define GPREEMPT_QUEUES	"/sys/kernel/debug/kfd/gpreempt"
#define PARAMETERS	"/sys/module/amdgpu/parameters"
#define MAX_NODES	128	/* of the topology, with those that are no GPU */
#define VGPU_POLL_NS	"/sys/module/vgpu/parameters/poll_ns"

/* Newer than 6.12, whose interface this is built with on most machines */
#ifndef AMDKFD_IOC_CREATE_PROCESS
#define AMDKFD_IOC_CREATE_PROCESS	AMDKFD_IO(0x27)
#endif
#ifndef AMDKFD_IOC_PROFILER
#define KFD_IOC_PROFILER_PMC		0
struct kfd_ioctl_profiler_args {
	__u32 op;
	struct {
		__u32 gpu_id;
		__u32 lock;
		__u32 perfcount_enable;
	} pmc;
};
#define AMDKFD_IOC_PROFILER		AMDKFD_IOWR(0x28, struct kfd_ioctl_profiler_args)
#endif
/* AMD's own driver has a number of its own for it, and something with 64-bit numbers in the same place. */
struct amds_profiler_args {
	__u32 op;
	__u32 pad;
	__u32 gpu_id;
	__u32 lock;
	__u32 perfcount_enable;
	__u32 rest[7];
};
#define AMDS_IOC_PROFILER		AMDKFD_IOWR(0x86, struct amds_profiler_args)

#define DOORBELL_BYTES		8192ull		/* a process's slice on gfx9 and later */
#define EOP_BYTES		4096u
#define EVENT_PAGE_BYTES	(KFD_MAX_SIGNALS * 8u)
#define DEBUGGER_BYTES_PER_WAVE	32u
#define DEBUGGER_BYTES_ALIGN	64u

#define AQL_PACKET_BYTES	64u
#define AQL_TYPE_INVALID	1u
#define AQL_TYPE_DISPATCH	2u
#define AQL_TYPE_BARRIER_AND	3u
#define AQL_BARRIER_BIT		(1u << 8)
#define AQL_SYSTEM_FENCES	((2u << 9) | (2u << 11))	/* acquire and release at system scope */
#define AQL_BARRIER_DEPS	5u

#define AMD_QUEUE_WPTR		56u		/* write_dispatch_id in amd_queue_t */
#define AMD_QUEUE_RPTR		128u		/* read_dispatch_id */
#define AMD_QUEUE_RPTR_OFFSET	136u		/* where the line above is said */
#define AMD_QUEUE_PROPERTIES	180u
#define AMD_QUEUE_PROFILING	0x8u
#define AMD_SIGNAL_KIND_USER	1
#define POLL_NS			(100 * KFD_NS_PER_US)
#define GUARD_COUNTERS		16u
#define NS_PER_TICK		10u		/* of the 100 MHz clock that s_memrealtime reads */

struct aql_dispatch {
	uint16_t header;
	uint16_t setup;
	uint16_t workgroup_size[3];
	uint16_t reserved0;
	uint32_t grid_size[3];
	uint32_t private_segment_bytes;
	uint32_t group_segment_bytes;
	uint64_t kernel_object;
	uint64_t kernarg_address;
	uint64_t reserved2;
	uint64_t completion_signal;
};

struct aql_barrier {
	uint16_t header;
	uint16_t reserved0;
	uint32_t reserved1;
	uint64_t dep_signal[AQL_BARRIER_DEPS];
	uint64_t reserved2;
	uint64_t completion_signal;
};

_Static_assert(sizeof(struct aql_dispatch) == AQL_PACKET_BYTES, "AQL packets have 64 bytes");
_Static_assert(sizeof(struct aql_barrier) == AQL_PACKET_BYTES, "AQL packets have 64 bytes");
_Static_assert(sizeof(struct kfd_signal) == 64, "amd_signal_t has 64 bytes");

/* ---- time ---- */

uint64_t kfd_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

void kfd_sleep_until_ns(uint64_t deadline_ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(deadline_ns / 1000000000ull),
		.tv_nsec = (long)(deadline_ns % 1000000000ull),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

void kfd_sleep_ns(uint64_t ns)
{
	kfd_sleep_until_ns(kfd_now_ns() + ns);
}

/* ---- small files ---- */

int kfd_file_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n = 0;

	if (fd < 0)
		return -errno;
	while (used + 1 < size && (n = read(fd, buf + used, size - 1 - used)) > 0)
		used += (size_t)n;
	n = n < 0 ? -errno : (ssize_t)used;
	close(fd);
	buf[used] = '\0';
	return (int)n;
}

int64_t kfd_file_number(const char *path)
{
	char text[64], *end;
	int64_t value;

	if (kfd_file_read(path, text, sizeof(text)) < 0)
		return -1;
	if (text[0] == 'Y')
		return 1;
	if (text[0] == 'N')
		return 0;
	value = strtoll(text, &end, 0);
	return end == text ? -1 : value;
}

void kfd_file_empty(const char *path)
{
	close(open(path, O_WRONLY | O_TRUNC | O_CLOEXEC));
}

int64_t kfd_cpu_ns(int64_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRId64 "/schedstat", pid);
	return kfd_file_read(path, path, sizeof(path)) < 0 ? 0 : strtoll(path, NULL, 10);
}

/* The file of that name in a folder; until the thread asks for another one */
static const char *in(const char *folder, const char *name)
{
	static _Thread_local char path[160];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static const char *of_node(uint32_t gpu_id, const char *name)
{
	char folder[64];

	snprintf(folder, sizeof(folder), GPREEMPT_SYSFS "/%u", gpu_id);
	return in(folder, name);
}

/* The first line. Return: 0 or negative errno */
static int read_line(const char *path, char *buf, size_t size)
{
	int n = kfd_file_read(path, buf, size);

	if (n < 0)
		return n;
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

static int write_number(const char *path, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, value);
	return kfd_file_write(path, text);
}

bool kfd_kernel_since(unsigned int version, unsigned int patchlevel)
{
	unsigned int v, p;
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u", &v, &p) != 2)
		return false;
	return v > version || (v == version && p >= patchlevel);
}

int64_t kfd_param_get(const char *name)
{
	return kfd_file_number(in(PARAMETERS, name));
}

int kfd_file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

int kfd_param_set_text(const char *name, const char *value)
{
	return kfd_file_write(in(PARAMETERS, name), value);
}

int kfd_param_get_text(const char *name, char *buf, size_t size)
{
	return read_line(in(PARAMETERS, name), buf, size);
}

/* What it was loaded with is what the machine can do. */
static int64_t poll_ns_at_first;

__attribute__((constructor)) static void remember_poll_ns(void)
{
	poll_ns_at_first = kfd_file_number(VGPU_POLL_NS);
}

int kfd_vgpu_look_every(int64_t ns)
{
	return write_number(VGPU_POLL_NS, ns > poll_ns_at_first ? ns : poll_ns_at_first);
}

int kfd_param_set(const char *name, int64_t value)
{
	return write_number(in(PARAMETERS, name), value);
}

int kfd_gpreempt_text(uint32_t gpu_id, const char *name, char *buf, size_t size)
{
	return read_line(of_node(gpu_id, name), buf, size);
}

int kfd_gpreempt_set_text(uint32_t gpu_id, const char *name, const char *value)
{
	return kfd_file_write(of_node(gpu_id, name), value);
}

int64_t kfd_gpreempt_get(uint32_t gpu_id, const char *name)
{
	return kfd_file_number(of_node(gpu_id, name));
}

static size_t page_align(size_t bytes)
{
	return (bytes + KFD_PAGE_BYTES - 1) & ~(size_t)(KFD_PAGE_BYTES - 1);
}

/* Finds "name value" at the start of a line. */
static int64_t number_in_lines(const char *text, const char *name)
{
	size_t len = strlen(name);

	while (text && *text) {
		if (!strncmp(text, name, len) && text[len] == ' ')
			return strtoll(text + len + 1, NULL, 0);
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return -1;
}

uint32_t kfd_wanted_gpu_id;

/* Properties of the GPU that a node is. Return: its id; 0: none */
static uint32_t read_node(int node, char *properties, size_t size)
{
	char path[160], text[32];
	uint32_t gpu_id;

	snprintf(path, sizeof(path), TOPOLOGY "/%d/gpu_id", node);
	if (kfd_file_read(path, text, sizeof(text)) < 0)
		return 0;
	gpu_id = (uint32_t)strtoul(text, NULL, 10);
	snprintf(path, sizeof(path), TOPOLOGY "/%d/properties", node);
	return gpu_id && kfd_file_read(path, properties, size) >= 0 ? gpu_id : 0;
}

static int find_gpu(uint32_t *gpu_id, char *properties, size_t size)
{
	int node;

	for (node = 0; node < MAX_NODES; node++) {
		*gpu_id = read_node(node, properties, size);
		if (*gpu_id && (!kfd_wanted_gpu_id || *gpu_id == kfd_wanted_gpu_id))
			return 0;
	}
	return -ENODEV;
}

int kfd_gpu_ids(uint32_t *ids, int max)
{
	char properties[4096];
	int node, n = 0;

	for (node = 0; node < MAX_NODES && n < max; node++) {
		ids[n] = read_node(node, properties, sizeof(properties));
		n += ids[n] != 0;
	}
	return n;
}

int kfd_pci_name(char *buf, size_t size)
{
	char properties[4096];
	unsigned int domain, location;
	uint32_t gpu_id;
	int err = find_gpu(&gpu_id, properties, sizeof(properties));

	if (err)
		return err;
	domain = (unsigned int)number_in_lines(properties, "domain");
	location = (unsigned int)number_in_lines(properties, "location_id");	/* the upper half: which partition */
	snprintf(buf, size, "%04x:%02x:%02x.%x", domain, location >> 8 & 0xff, location >> 3 & 0x1f, location & 7);
	return 0;
}

/* A file of the virtual GPU that is meant */
static const char *of_vgpu(const char *name)
{
	static char folder[96];
	static uint32_t of;
	char pci[32];

	if (!kfd_wanted_gpu_id)
		return in(VGPU_DEBUGFS, name);
	if (of != kfd_wanted_gpu_id && !kfd_pci_name(pci, sizeof(pci))) {
		snprintf(folder, sizeof(folder), VGPU_DEBUGFS "/%s", pci);
		of = kfd_wanted_gpu_id;
	}
	return in(folder, name);
}

int64_t kfd_vgpu_stat(const char *name)
{
	char text[8192];

	if (kfd_file_read(of_vgpu("stats"), text, sizeof(text)) < 0)
		return -1;
	return number_in_lines(text, name);
}

/* From its render node: KFD's own file has 0 on kernels where each device has another one. */
int64_t kfd_pasid(pid_t pid)
{
	char path[64], text[8192], *line;
	int64_t pasid = 0;
	int fd;

	for (fd = 0; fd < 64 && pasid <= 0; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
		if (kfd_file_read(path, text, sizeof(text)) < 0)
			continue;
		line = strstr(text, "pasid:\t");
		pasid = line ? atoll(line + strlen("pasid:\t")) : 0;
	}
	return pasid;
}

int64_t kfd_vgpu_waves(int64_t pasid)
{
	char text[32768], *line, *save = NULL;
	long long owner, waves, sum = 0;

	if (kfd_file_read(of_vgpu("queues"), text, sizeof(text)) < 0)
		return -1;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (sscanf(line, "%lld %*s %*s %*s %*s %*s %lld", &owner, &waves) == 2 && owner == pasid)
			sum += waves;
	return sum;
}

int64_t kfd_vgpu_busy_ns(int64_t pasid)
{
	char text[32768], name[32];
	int64_t ns;

	if (kfd_file_read(of_vgpu("busy"), text, sizeof(text)) < 0)
		return -1;
	snprintf(name, sizeof(name), "%lld", (long long)pasid);
	ns = number_in_lines(text, name);
	return ns < 0 ? 0 : ns;
}

int kfd_vgpu_cus(struct kfd_vgpu_cu *cu, int max)
{
	static char text[65536];
	char *line, *save = NULL;
	int n = 0, err = kfd_file_read(of_vgpu("cus"), text, sizeof(text));

	if (err < 0)
		return err;
	for (line = strtok_r(text, "\n", &save); line && n < max; line = strtok_r(NULL, "\n", &save))
		if (sscanf(line, "%u %u %u %u %llu", &cu[n].xcc, &cu[n].number, &cu[n].engine, &cu[n].waves,
			   &cu[n].started) == 5)
			n++;
	return n;
}

int64_t kfd_vgpu_get(const char *name)
{
	return kfd_file_number(of_vgpu(name));
}

int kfd_vgpu_set(const char *name, int64_t value)
{
	return write_number(of_vgpu(name), value);
}

bool kfd_driver_is_amds(void)
{
	return !access("/sys/module/amdkcl", F_OK);
}

bool kfd_client_is_virtual(void)
{
	/* A process that gives up its rights does not see it any more. */
	static bool seen;

	seen |= access(VGPU_DEBUGFS "/stats", R_OK) == 0;
	return seen;
}

int kfd_gpreempt_queue_get(uint32_t gpu_id, int pid, uint32_t qid, struct kfd_gpreempt_queue *q)
{
	static char text[65536];
	char *line, *save = NULL;
	int found, err = kfd_file_read(GPREEMPT_QUEUES, text, sizeof(text));

	if (err < 0)
		return err;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned int gpu, line_qid, waves;
		int line_pid;

		found = sscanf(line, "%u %d %u %d %15s %" SCNu64 " %" SCNu64 " %u %" SCNu64 " %" SCNu64 " %d", &gpu, &line_pid,
			       &line_qid, &q->prio, q->state, &q->rptr, &q->wptr, &waves, &q->preempt_count,
			       &q->preempted_ns, &q->effective_prio);
		if (found != 11)
			continue;
		if (gpu != gpu_id || line_pid != pid || line_qid != qid)
			continue;
		q->qid = qid;
		return 0;
	}
	return -ENOENT;
}

/* ---- topology ---- */

int kfd_first_render_minor(void)
{
	char properties[4096];
	uint32_t gpu_id;

	return find_gpu(&gpu_id, properties, sizeof(properties)) ? -1 : (int)number_in_lines(properties, "drm_render_minor");
}

int64_t kfd_proc_stat(int pid, uint32_t gpu_id, const char *name)
{
	char path[160], text[32];

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/stats_%u/%s", pid, gpu_id, name);
	return kfd_file_read(path, text, sizeof(text)) < 0 ? -1 : strtoll(text, NULL, 10);
}

long kfd_ioctl_32bit(int fd, unsigned int request, void *argument)
{
#ifdef __x86_64__
	long r = 54;	/* __NR_ioctl of i386 */

	__asm__ volatile("int $0x80" : "+a"(r) : "b"((long)fd), "c"((unsigned long)request), "d"(argument)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)r;
#else
	return -ENOSYS;
#endif
}

static char kernel_log[1 << 20];

size_t kfd_log_size(void)
{
	int n = klogctl(3 /* read all */, kernel_log, sizeof(kernel_log) - 1);

	kernel_log[n < 0 ? 0 : n] = '\0';
	return n < 0 ? 0 : (size_t)n;
}

const char *kfd_log_since(size_t since)
{
	return kfd_log_size() > since ? kernel_log + since : "";
}

uint32_t kfd_first_gpu_id(void)
{
	char properties[4096];
	uint32_t gpu_id;

	return find_gpu(&gpu_id, properties, sizeof(properties)) ? 0 : gpu_id;
}

/*
 * What the save area of a queue has to hold on each XCC, where topology does not tell it, as in AMD's
 * own driver. The driver refuses any other size.
 */
static void save_area_sizes(struct kfd_client *c)
{
	const uint32_t cu_bytes = 0x80000 /* VGPRs */ + 0x4000 /* SGPRs */ + 0x1000 /* registers */ + 0x10000 /* LDS */;
	uint32_t cus = c->simd_count / c->simd_per_cu / c->num_xcc, waves = c->array_count / c->simd_arrays_per_engine * 512;

	if (waves > cus * 40)
		waves = cus * 40;
	c->ctl_stack_size = (uint32_t)page_align(40 /* header */ + 8 * waves + 8);
	c->cwsr_size = c->ctl_stack_size + (uint32_t)page_align((size_t)cus * cu_bytes);
}

static int read_topology(struct kfd_client *c, int *render_minor)
{
	static const struct {
		const char *name;
		size_t offset;
	} wanted[] = {
		{ "simd_count", offsetof(struct kfd_client, simd_count) },
		{ "simd_per_cu", offsetof(struct kfd_client, simd_per_cu) },
		{ "array_count", offsetof(struct kfd_client, array_count) },
		{ "simd_arrays_per_engine", offsetof(struct kfd_client, simd_arrays_per_engine) },
		{ "max_waves_per_simd", offsetof(struct kfd_client, max_waves_per_simd) },
		{ "gfx_target_version", offsetof(struct kfd_client, gfx_target_version) },
		{ "num_xcc", offsetof(struct kfd_client, num_xcc) },
	};
	int64_t cwsr_size, ctl_stack_size;
	char properties[4096];
	size_t i;
	int err;

	err = find_gpu(&c->gpu_id, properties, sizeof(properties));
	if (err) {
		snprintf(c->why, sizeof(c->why), "no GPU node below " TOPOLOGY);
		return err;
	}
	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		int64_t value = number_in_lines(properties, wanted[i].name);

		if (value <= 0) {
			snprintf(c->why, sizeof(c->why), "topology does not tell %s (a kernel older than 6.12?)",
				 wanted[i].name);
			return -ENODEV;
		}
		*(uint32_t *)((char *)c + wanted[i].offset) = (uint32_t)value;
	}
	cwsr_size = number_in_lines(properties, "cwsr_size");
	ctl_stack_size = number_in_lines(properties, "ctl_stack_size");
	save_area_sizes(c);
	if (cwsr_size > 0 && ctl_stack_size > 0) {
		c->cwsr_size = (uint32_t)cwsr_size;
		c->ctl_stack_size = (uint32_t)ctl_stack_size;
	}
	*render_minor = (int)number_in_lines(properties, "drm_render_minor");
	return 0;
}

int kfd_client_sizes(struct kfd_client *c)
{
	int minor;

	return read_topology(c, &minor);
}

uint32_t kfd_client_wave_slots(const struct kfd_client *c)
{
	int64_t slots = kfd_vgpu_stat("wave_slots");

	return slots > 0 ? (uint32_t)slots : c->simd_count * c->max_waves_per_simd;
}

uint32_t kfd_wave_slots(void)
{
	struct kfd_client c = { 0 };
	int minor;

	return read_topology(&c, &minor) ? 0 : kfd_client_wave_slots(&c);
}

uint32_t kfd_gfx_target_version(void)
{
	struct kfd_client c = { 0 };
	int minor;

	return read_topology(&c, &minor) ? 0 : c.gfx_target_version;
}

/* ---- machine code for work ---- */

void kfd_code_path(const char *name, uint32_t gfx_target_version, char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	path[n < 0 ? 0 : n] = '\0';
	slash = strrchr(path, '/');
	slash = slash ? slash + 1 : path;
	snprintf(slash, size - (size_t)(slash - path), "%s-gfx%u%u%x.co", name, gfx_target_version / 10000, gfx_target_version / 100 % 100,
		 gfx_target_version % 100);
}

const char *kfd_work_missing(void)
{
	static char why[PATH_MAX + 128];
	struct kfd_client c = { 0 };
	char path[PATH_MAX];
	int minor;

	if (kfd_client_is_virtual())
		return NULL;
	if (read_topology(&c, &minor))
		return "topology tells too little of the GPU";
	kfd_code_path("work", c.gfx_target_version, path, sizeof(path));
	if (!access(path, R_OK))
		return NULL;
	snprintf(why, sizeof(why), "%s is absent, and so is " VGPU_DEBUGFS ", where model kernels can run", path);
	return why;
}

/* Without machine code there are model kernels only, which no hardware must be given: kfd_work_submit(). */
static int load_work(struct kfd_client *c)
{
	char path[PATH_MAX];
	const void *file;
	size_t bytes;
	u64 kernel;
	int err;

	if (kfd_client_is_virtual())
		return 0;
	kfd_code_path("work", c->gfx_target_version, path, sizeof(path));
	if (access(path, R_OK))
		return 0;
	file = object_file(path, &bytes);
	if (!object_symbol(file, "work.kd", &kernel))
		return -ENOEXEC;
	err = kfd_buffer_gtt(c, object_memory(file), &c->work_code);
	if (err)
		return err;
	object_load(file, c->work_code.ptr);
	c->work_kernel = (uintptr_t)c->work_code.ptr + kernel;
	munmap((void *)file, bytes);
	return 0;
}

/* ---- connection ---- */

static int kfd_call(struct kfd_client *c, unsigned long request, void *args)
{
	int ret;

	do {
		ret = ioctl(c->kfd_fd, request, args);
	} while (ret < 0 && (errno == EINTR || errno == EAGAIN));
	return ret < 0 ? -errno : 0;
}

/* Ends an open that failed at what; returns err. */
static int open_failed(struct kfd_client *c, const char *what, int err)
{
	snprintf(c->why, sizeof(c->why), "%s: %s", what, strerror(-err));
	kfd_client_close(c);
	return err;
}

static int open_client(struct kfd_client *c, bool context)
{
	struct kfd_ioctl_acquire_vm_args vm = { 0 };
	struct kfd_ioctl_set_memory_policy_args policy = {
		.default_policy = KFD_IOC_CACHE_POLICY_COHERENT,
		.alternate_policy = KFD_IOC_CACHE_POLICY_COHERENT,
	};
	struct kfd_buffer events;
	int err, minor = -1;
	char path[64];

	memset(c, 0, sizeof(*c));
	c->drm_fd = -1;
	c->kfd_fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	if (c->kfd_fd < 0)
		return open_failed(c, "/dev/kfd", -errno);
	err = context ? kfd_call(c, AMDKFD_IOC_CREATE_PROCESS, NULL) : 0;
	if (err)
		return open_failed(c, "CREATE_PROCESS", err);
	err = read_topology(c, &minor);
	if (err) {
		kfd_client_close(c);
		return err;
	}
	snprintf(path, sizeof(path), "/dev/dri/renderD%d", minor);
	c->drm_fd = open(path, O_RDWR | O_CLOEXEC);
	if (c->drm_fd < 0)
		return open_failed(c, path, -errno);
	vm.drm_fd = (uint32_t)c->drm_fd;
	vm.gpu_id = c->gpu_id;
	err = kfd_call(c, AMDKFD_IOC_ACQUIRE_VM, &vm);
	if (err)
		return open_failed(c, "ACQUIRE_VM", err);
	policy.gpu_id = c->gpu_id;
	err = kfd_call(c, AMDKFD_IOC_SET_MEMORY_POLICY, &policy);
	if (err)
		return open_failed(c, "SET_MEMORY_POLICY", err);
	/* KFD keeps the event page until the process ends: it is never freed here. */
	err = kfd_buffer_gtt(c, EVENT_PAGE_BYTES, &events);
	if (err)
		return open_failed(c, "event page", err);
	c->event_page = events.ptr;
	c->event_page_handle = events.handle;
	err = load_work(c);
	return err ? open_failed(c, "machine code", err) : 0;
}

int kfd_client_open(struct kfd_client *c)
{
	return open_client(c, false);
}

int kfd_client_open_context(struct kfd_client *c)
{
	return open_client(c, true);
}

int kfd_interface(struct kfd_client *c)
{
	struct kfd_ioctl_get_version_args args = { 0 };
	int err = kfd_call(c, AMDKFD_IOC_GET_VERSION, &args);

	return err ? err : (int)args.minor_version;
}

void kfd_client_close(struct kfd_client *c)
{
	if (c->doorbells)
		munmap((void *)c->doorbells, DOORBELL_BYTES);
	c->doorbells = NULL;
	if (c->drm_fd >= 0)
		close(c->drm_fd);
	if (c->kfd_fd >= 0)
		close(c->kfd_fd);
	c->drm_fd = -1;
	c->kfd_fd = -1;
}

/* ---- memory ---- */

static int map_to_gpu(struct kfd_client *c, uint64_t handle)
{
	struct kfd_ioctl_map_memory_to_gpu_args args = {
		.handle = handle,
		.device_ids_array_ptr = (uintptr_t)&c->gpu_id,
		.n_devices = 1,
	};

	return kfd_call(c, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &args);
}

static void free_handle(struct kfd_client *c, uint64_t handle)
{
	struct kfd_ioctl_free_memory_of_gpu_args args = { .handle = handle };

	kfd_call(c, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args);
}

static int alloc_and_map(struct kfd_client *c, struct kfd_buffer *b, uint32_t flags, uint32_t access)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args args = {
		.va_addr = (uintptr_t)b->ptr,
		.size = b->bytes,
		.mmap_offset = (uintptr_t)b->ptr,	/* only looked at for user pages */
		.gpu_id = c->gpu_id,
		.flags = flags | KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE |
			 (access & KFD_ACCESS_WRITE ? KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE : 0) |
			 (access & KFD_ACCESS_EXECUTE ? KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE : 0),
	};
	int err;

	err = kfd_call(c, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args);
	if (err)
		return err;
	b->handle = args.handle;
	if (!(flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR)) {
		void *ptr = mmap(b->ptr, b->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, c->drm_fd,
				 (off_t)args.mmap_offset);

		if (ptr == MAP_FAILED) {
			err = -errno;
			goto fail;
		}
		/* A child of fork() has no business with it, and could keep the render node's VM alive. */
		madvise(b->ptr, b->bytes, MADV_DONTFORK);
	}
	err = map_to_gpu(c, args.handle);
	if (err)
		goto fail;
	return 0;
fail:
	free_handle(c, args.handle);
	return err;
}

int kfd_buffer_place(struct kfd_client *c, enum kfd_domain domain, void *at, size_t bytes, uint32_t access,
		     struct kfd_buffer *b)
{
	uint32_t flags = domain == KFD_IN_VRAM ? KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC :
						 KFD_IOC_ALLOC_MEM_FLAGS_GTT;
	int err;

	b->bytes = page_align(bytes);
	b->owned = true;
	b->ptr = mmap(at, b->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);
	if (b->ptr == MAP_FAILED)
		return -errno;
	err = alloc_and_map(c, b, flags, access);
	if (err)
		munmap(b->ptr, b->bytes);
	return err;
}

int kfd_buffer_gtt(struct kfd_client *c, size_t bytes, struct kfd_buffer *b)
{
	return kfd_buffer_place(c, KFD_IN_GTT, NULL, bytes, KFD_ACCESS_ALL, b);
}

int kfd_buffer_import(struct kfd_client *c, void *ptr, size_t bytes, struct kfd_buffer *b)
{
	b->ptr = ptr;
	b->bytes = page_align(bytes);
	b->owned = false;
	return alloc_and_map(c, b, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR, KFD_ACCESS_ALL);
}

int kfd_buffer_userptr(struct kfd_client *c, size_t bytes, struct kfd_buffer *b)
{
	size_t size = page_align(bytes);
	int err;
	void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (ptr == MAP_FAILED)
		return -errno;
	/* Without this a fork() would write-protect the pages, and KFD would evict the process's queues. */
	madvise(ptr, size, MADV_DONTFORK);
	memset(ptr, 0, size);
	err = kfd_buffer_import(c, ptr, size, b);
	if (err) {
		munmap(ptr, size);
		return err;
	}
	b->owned = true;
	return 0;
}

int kfd_buffer_alloc(struct kfd_client *c, enum kfd_backing backing, size_t bytes, struct kfd_buffer *b)
{
	return backing == KFD_BACKING_GTT ? kfd_buffer_gtt(c, bytes, b) : kfd_buffer_userptr(c, bytes, b);
}

int kfd_buffer_unmap(struct kfd_client *c, struct kfd_buffer *b)
{
	struct kfd_ioctl_unmap_memory_from_gpu_args unmap = {
		.handle = b->handle,
		.device_ids_array_ptr = (uintptr_t)&c->gpu_id,
		.n_devices = 1,
	};

	return kfd_call(c, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &unmap);
}

int kfd_buffer_free(struct kfd_client *c, struct kfd_buffer *b)
{
	struct kfd_ioctl_free_memory_of_gpu_args args = { .handle = b->handle };
	int err;

	if (!b->ptr)
		return 0;
	err = kfd_buffer_unmap(c, b);
	if (!err)
		err = kfd_call(c, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args);
	if (b->owned)
		munmap(b->ptr, b->bytes);
	memset(b, 0, sizeof(*b));
	return err;
}

/* ---- queues ---- */

static volatile uint64_t *queue_word(const struct kfd_queue *q, size_t offset)
{
	return (volatile uint64_t *)((uint8_t *)q->page.ptr + offset);
}

uint64_t kfd_queue_rptr(const struct kfd_queue *q)
{
	return q->hidden_rptr ? 0 : __atomic_load_n(queue_word(q, AMD_QUEUE_RPTR), __ATOMIC_ACQUIRE);
}

uint64_t kfd_queue_wptr(const struct kfd_queue *q)
{
	return __atomic_load_n(queue_word(q, AMD_QUEUE_WPTR), __ATOMIC_ACQUIRE);
}

/* The kernel compares the size of the mapping exactly: (save area + debugger memory) for each XCC, in pages. */
static size_t cwsr_mapping_bytes(const struct kfd_client *c)
{
	uint32_t cus = c->simd_count / c->simd_per_cu / c->num_xcc;
	uint32_t engines = c->array_count / c->num_xcc / c->simd_arrays_per_engine;
	uint32_t gfx9 = cus * 40 < engines * 512 ? cus * 40 : engines * 512;
	uint32_t waves = c->gfx_target_version < KFD_GFX11 ? gfx9 : cus * 32;
	uint32_t debugger = (waves * DEBUGGER_BYTES_PER_WAVE + DEBUGGER_BYTES_ALIGN - 1) & ~(DEBUGGER_BYTES_ALIGN - 1);

	return page_align(((size_t)c->cwsr_size + debugger) * c->num_xcc);
}

static void free_queue_buffers(struct kfd_queue *q)
{
	kfd_buffer_free(q->client, &q->cwsr);
	kfd_buffer_free(q->client, &q->eop);
	kfd_buffer_free(q->client, &q->ring);
	kfd_buffer_free(q->client, &q->page);
}

static int map_doorbells(struct kfd_client *c, uint64_t doorbell_offset)
{
	void *ptr;

	if (c->doorbells)
		return 0;
	ptr = mmap(NULL, DOORBELL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, c->kfd_fd,
		   (off_t)(doorbell_offset & ~(DOORBELL_BYTES - 1)));
	if (ptr == MAP_FAILED)
		return -errno;
	c->doorbells = ptr;
	return 0;
}

static bool is_compute(const struct kfd_queue *q)
{
	return q->kind == KFD_QUEUE_AQL || q->kind == KFD_QUEUE_PM4;
}

/* Such a device has no end-of-pipe buffers: the runtime gives it none. */
static bool is_gfx942(const struct kfd_client *c)
{
	return c->gfx_target_version >= KFD_GFX942 && c->gfx_target_version < KFD_GFX11;
}

/* MES reads the write pointer where the kernel sees it: the driver pins that memory, and no process's own. */
static enum kfd_backing page_backing(const struct kfd_client *c, enum kfd_backing backing)
{
	return c->gfx_target_version < KFD_GFX11 ? backing : KFD_BACKING_GTT;
}

/* @rptr_va, @wptr_va: 0: in the queue's page */
static int create_queue(struct kfd_client *c, struct kfd_queue *q, enum kfd_queue_kind kind, enum kfd_backing backing, uint32_t priority,
			uint32_t ring_bytes, uint32_t metadata_bytes, uint64_t rptr_va, uint64_t wptr_va)
{
	static const uint32_t types[] = {
		[KFD_QUEUE_AQL] = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL,
		[KFD_QUEUE_PM4] = KFD_IOC_QUEUE_TYPE_COMPUTE,
		[KFD_QUEUE_SDMA] = KFD_IOC_QUEUE_TYPE_SDMA,
		[KFD_QUEUE_SDMA_XGMI] = KFD_IOC_QUEUE_TYPE_SDMA_XGMI,
	};
	struct kfd_ioctl_create_queue_args args = { 0 };
	uint32_t i;
	int err;

	memset(q, 0, sizeof(*q));
	q->client = c;
	q->kind = kind;
	q->packets = ring_bytes / AQL_PACKET_BYTES;
	q->priority = priority;
	q->metadata_bytes = metadata_bytes;
	q->hidden_rptr = rptr_va;

	err = kfd_buffer_alloc(c, page_backing(c, backing), KFD_PAGE_BYTES, &q->page);
	if (!err)
		err = kfd_buffer_alloc(c, backing, ring_bytes + metadata_bytes, &q->ring);
	if (!err && is_compute(q) && !is_gfx942(c))
		err = kfd_buffer_gtt(c, EOP_BYTES, &q->eop);
	if (!err && is_compute(q))
		err = kfd_buffer_place(c, c->save_areas, NULL, cwsr_mapping_bytes(c), KFD_ACCESS_ALL, &q->cwsr);
	if (err)
		goto fail;

	memset(q->page.ptr, 0, q->page.bytes);
	memset(q->ring.ptr, 0, q->ring.bytes);
	for (i = 0; kind == KFD_QUEUE_AQL && i < q->packets; i++)
		*(volatile uint16_t *)((uint8_t *)q->ring.ptr + (size_t)i * AQL_PACKET_BYTES) = AQL_TYPE_INVALID;

	args.ring_base_address = (uintptr_t)q->ring.ptr;
	args.ring_size = ring_bytes;
	args.write_pointer_address = wptr_va ? wptr_va : (uintptr_t)queue_word(q, AMD_QUEUE_WPTR);
	args.read_pointer_address = rptr_va ? rptr_va : (uintptr_t)queue_word(q, AMD_QUEUE_RPTR);
	args.gpu_id = c->gpu_id;
	args.queue_type = types[kind];
	args.queue_percentage = KFD_MAX_QUEUE_PERCENTAGE;
	args.queue_priority = priority;
	/* The last member: padding until 7.2 */
	((__u32 *)&args)[sizeof(args) / sizeof(__u32) - 1] = metadata_bytes;
	if (is_compute(q)) {
		args.eop_buffer_address = (uintptr_t)q->eop.ptr;
		args.eop_buffer_size = q->eop.bytes;
		args.ctx_save_restore_address = (uintptr_t)q->cwsr.ptr;
		args.ctx_save_restore_size = c->cwsr_size;
		args.ctl_stack_size = c->ctl_stack_size;
	}
	err = kfd_call(c, AMDKFD_IOC_CREATE_QUEUE, &args);
	if (err)
		goto fail;
	q->id = args.queue_id;

	err = map_doorbells(c, args.doorbell_offset);
	if (err) {
		kfd_queue_destroy(q);
		return err;
	}
	q->doorbell = (volatile uint64_t *)(c->doorbells + (args.doorbell_offset & (DOORBELL_BYTES - 1)));
	return 0;
fail:
	free_queue_buffers(q);
	return err;
}

int kfd_queue_create_kind(struct kfd_client *c, struct kfd_queue *q, enum kfd_queue_kind kind, enum kfd_backing backing,
			  uint32_t priority, uint32_t ring_bytes)
{
	return create_queue(c, q, kind, backing, priority, ring_bytes, 0, 0, 0);
}

int kfd_queue_create_at(struct kfd_client *c, struct kfd_queue *q, uint64_t rptr_va, uint64_t wptr_va, uint32_t priority,
			uint32_t packets)
{
	return create_queue(c, q, KFD_QUEUE_AQL, KFD_BACKING_USERPTR, priority, packets * AQL_PACKET_BYTES, 0, rptr_va, wptr_va);
}

int kfd_queue_create_with_metadata(struct kfd_client *c, struct kfd_queue *q, uint32_t priority, uint32_t packets, uint32_t metadata_bytes)
{
	return create_queue(c, q, KFD_QUEUE_AQL, KFD_BACKING_GTT, priority, packets * AQL_PACKET_BYTES, metadata_bytes, 0, 0);
}

int kfd_queue_create(struct kfd_client *c, struct kfd_queue *q, enum kfd_backing backing, uint32_t priority,
		     uint32_t packets)
{
	return kfd_queue_create_kind(c, q, KFD_QUEUE_AQL, backing, priority, packets * AQL_PACKET_BYTES);
}

int kfd_queue_update(struct kfd_queue *q, uint32_t priority, uint32_t percentage)
{
	struct kfd_ioctl_update_queue_args args = {
		.ring_base_address = (uintptr_t)q->ring.ptr,
		.queue_id = q->id,
		.ring_size = q->packets * AQL_PACKET_BYTES,
		.queue_percentage = percentage,
		.queue_priority = priority,
	};
	int err;

	err = kfd_call(q->client, AMDKFD_IOC_UPDATE_QUEUE, &args);
	if (!err)
		q->priority = priority;
	return err;
}

int kfd_queue_set_cu_mask(struct kfd_queue *q, const uint32_t *mask, uint32_t bits)
{
	struct kfd_ioctl_set_cu_mask_args args = {
		.queue_id = q->id,
		.num_cu_mask = bits,
		.cu_mask_ptr = (uintptr_t)mask,
	};

	return kfd_call(q->client, AMDKFD_IOC_SET_CU_MASK, &args);
}

int kfd_queue_set_gws(struct kfd_queue *q, bool on)
{
	struct kfd_ioctl_alloc_queue_gws_args args = { .queue_id = q->id, .num_gws = on };

	return kfd_call(q->client, AMDKFD_IOC_ALLOC_QUEUE_GWS, &args);
}

int kfd_queue_destroy(struct kfd_queue *q)
{
	struct kfd_ioctl_destroy_queue_args args = { .queue_id = q->id };
	int err = kfd_call(q->client, AMDKFD_IOC_DESTROY_QUEUE, &args);

	/* Buffers of a queue that still exists cannot go; the process's end takes them. */
	if (!err)
		free_queue_buffers(q);
	return err;
}

/* Copies a packet into the ring; its header goes last, because it is what the GPU waits for. */
int kfd_packet_submit(struct kfd_queue *q, const void *packet, uint32_t flags)
{
	uint64_t index = kfd_queue_wptr(q);
	uint8_t *slot = (uint8_t *)q->ring.ptr + (index % q->packets) * AQL_PACKET_BYTES;
	uint32_t first_word;

	if (index - kfd_queue_rptr(q) >= q->packets)
		return -EAGAIN;
	memcpy(slot + 4, (const uint8_t *)packet + 4, AQL_PACKET_BYTES - 4);
	memcpy(&first_word, packet, 4);
	__atomic_store_n((uint32_t *)slot, first_word, __ATOMIC_RELEASE);
	__atomic_store_n(queue_word(q, AMD_QUEUE_WPTR), index + 1, __ATOMIC_RELEASE);
	if (!(flags & KFD_PACKET_SILENT))
		__atomic_store_n(q->doorbell, index, __ATOMIC_RELEASE);
	return 0;
}

void kfd_queue_ring(struct kfd_queue *q)
{
	__atomic_store_n(q->doorbell, kfd_queue_wptr(q) - 1, __ATOMIC_RELEASE);
}

uint32_t kfd_ring_space(const struct kfd_queue *q)
{
	uint32_t dwords = q->packets * (AQL_PACKET_BYTES / 4);

	/* A PM4 ring whose pointers are equal is empty: one dword stays free. */
	if (q->kind == KFD_QUEUE_PM4)
		return dwords - 1 - (uint32_t)((kfd_queue_wptr(q) - kfd_queue_rptr(q)) % dwords);
	return dwords - (uint32_t)(kfd_queue_wptr(q) - kfd_queue_rptr(q)) / 4;
}

int kfd_ring_submit(struct kfd_queue *q, const uint32_t *words, uint32_t count, uint32_t flags)
{
	uint32_t unit = q->kind == KFD_QUEUE_PM4 ? 1 : 4, dwords = q->packets * (AQL_PACKET_BYTES / 4), i;
	uint64_t wptr = kfd_queue_wptr(q);

	if (count > kfd_ring_space(q))
		return -EAGAIN;
	for (i = 0; i < count; i++)
		((volatile uint32_t *)q->ring.ptr)[(wptr / unit + i) % dwords] = words[i];
	wptr += (uint64_t)count * unit;
	__atomic_store_n(queue_word(q, AMD_QUEUE_WPTR), wptr, __ATOMIC_RELEASE);
	if (!(flags & KFD_PACKET_SILENT))
		__atomic_store_n(q->doorbell, wptr, __ATOMIC_RELEASE);
	return 0;
}

/* ---- exceptions ---- */

int kfd_runtime_enable(struct kfd_client *c)
{
	struct kfd_ioctl_runtime_enable_args args = { .mode_mask = KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK };

	return kfd_call(c, AMDKFD_IOC_RUNTIME_ENABLE, &args);
}

void kfd_queue_catch(struct kfd_queue *q, uint64_t *status, uint32_t event_id)
{
	struct kfd_context_save_area_header *header = q->cwsr.ptr;

	*status = 0;
	header->err_payload_addr = (uintptr_t)status;
	header->err_event_id = event_id;
}

void kfd_queue_stamp(struct kfd_queue *q)
{
	*(uint32_t *)((char *)q->page.ptr + AMD_QUEUE_RPTR_OFFSET) = AMD_QUEUE_RPTR;
	*(uint32_t *)((char *)q->page.ptr + AMD_QUEUE_PROPERTIES) |= AMD_QUEUE_PROFILING;
}

int64_t kfd_clock_offset_ns(const struct kfd_client *c)
{
	struct kfd_ioctl_get_clock_counters_args args = { .gpu_id = c->gpu_id };
	int64_t before_ns = (int64_t)kfd_now_ns();

	if (ioctl(c->kfd_fd, AMDKFD_IOC_GET_CLOCK_COUNTERS, &args))
		return -1;
	return before_ns + ((int64_t)kfd_now_ns() - before_ns) / 2 - (int64_t)args.gpu_clock_counter * KFD_TICK_NS;
}

/* ---- profiling ---- */

int kfd_profiler_lock(struct kfd_client *c, bool lock, bool counters)
{
	struct kfd_ioctl_profiler_args args = {
		.op = KFD_IOC_PROFILER_PMC,
		.pmc = { .gpu_id = c->gpu_id, .lock = lock, .perfcount_enable = counters },
	};
	struct amds_profiler_args amds = { .gpu_id = c->gpu_id, .lock = lock, .perfcount_enable = counters };

	return kfd_driver_is_amds() ? kfd_call(c, AMDS_IOC_PROFILER, &amds) : kfd_call(c, AMDKFD_IOC_PROFILER, &args);
}

/* ---- signals ---- */

void kfd_signal_init(struct kfd_signal *s, int64_t value)
{
	memset((void *)s, 0, sizeof(*s));
	s->kind = AMD_SIGNAL_KIND_USER;
	__atomic_store_n(&s->value, value, __ATOMIC_RELEASE);
}

int kfd_signal_init_event(struct kfd_client *c, struct kfd_signal *s, int64_t value)
{
	struct kfd_ioctl_create_event_args args = {
		.event_page_offset = c->event_page_known ? 0 : c->event_page_handle,
		.event_type = KFD_IOC_EVENT_SIGNAL,
		.auto_reset = 1,
	};
	int tries, err = 0;

	kfd_signal_init(s, value);
	/* Event 0 cannot be told from "no event" in the interrupt: gfx9 drops it. */
	for (tries = 0; tries < 2; tries++) {
		err = kfd_call(c, AMDKFD_IOC_CREATE_EVENT, &args);
		if (err)
			return err;
		c->event_page_known = true;
		if (args.event_id)
			break;
		args.event_page_offset = 0;
	}
	s->event_mailbox_ptr = (uintptr_t)&c->event_page[args.event_slot_index];
	s->event_id = args.event_id;
	return 0;
}

void kfd_signal_reset(struct kfd_signal *s, int64_t value)
{
	__atomic_store_n(&s->value, value, __ATOMIC_RELEASE);
}

uint64_t kfd_longest_poll_ns = POLL_NS;

int kfd_signal_poll(const struct kfd_signal *s, uint64_t timeout_ns)
{
	uint64_t begun = kfd_now_ns(), now = begun, gap;

	while (__atomic_load_n(&s->value, __ATOMIC_ACQUIRE) > 0) {
		if (now - begun >= timeout_ns)
			return -ETIME;
		/* Who has waited for long is late by a small part of that. */
		gap = (now - begun) / 32;
		if (gap > kfd_longest_poll_ns)
			gap = kfd_longest_poll_ns;
		kfd_sleep_ns(gap < POLL_NS ? POLL_NS : gap);
		now = kfd_now_ns();
	}
	return 0;
}

static int wait_event(struct kfd_client *c, struct kfd_event_data *data, uint64_t timeout_ns)
{
	struct kfd_ioctl_wait_events_args args = {
		.events_ptr = (uintptr_t)data,
		.num_events = 1,
		.timeout = (uint32_t)((timeout_ns + KFD_NS_PER_MS - 1) / KFD_NS_PER_MS),
	};
	int err = kfd_call(c, AMDKFD_IOC_WAIT_EVENTS, &args);

	return !err && args.wait_result != KFD_IOC_WAIT_RESULT_COMPLETE ? -ETIME : err;
}

int kfd_event_wait(struct kfd_client *c, uint32_t event_id, uint64_t timeout_ns)
{
	struct kfd_event_data data = { .event_id = event_id };

	return wait_event(c, &data, timeout_ns);
}

int kfd_signal_wait(struct kfd_client *c, struct kfd_signal *s, uint64_t timeout_ns)
{
	uint64_t deadline = kfd_now_ns() + timeout_ns;

	while (__atomic_load_n(&s->value, __ATOMIC_ACQUIRE) > 0) {
		uint64_t now = kfd_now_ns();
		int err;

		if (now >= deadline)
			return -ETIME;
		err = kfd_event_wait(c, s->event_id, deadline - now);
		if (err && err != -ETIME)
			return err;
	}
	return 0;
}

/* ---- memory violations ---- */

int kfd_fault_event(struct kfd_client *c, uint32_t *event_id)
{
	struct kfd_ioctl_create_event_args args = { .event_type = KFD_IOC_EVENT_MEMORY };
	int err = kfd_call(c, AMDKFD_IOC_CREATE_EVENT, &args);

	*event_id = args.event_id;
	return err;
}

int kfd_fault_wait(struct kfd_client *c, uint32_t event_id, uint64_t timeout_ns, struct kfd_memory_fault *f)
{
	struct kfd_event_data data = { .event_id = event_id };
	int err = wait_event(c, &data, timeout_ns);

	if (err)
		return err;
	*f = (struct kfd_memory_fault){
		.va = data.memory_exception_data.va,
		.gpu_id = data.memory_exception_data.gpu_id,
		.not_present = data.memory_exception_data.failure.NotPresent,
		.read_only = data.memory_exception_data.failure.ReadOnly,
		.no_execute = data.memory_exception_data.failure.NoExecute,
	};
	return 0;
}

/* ---- evictions ---- */

int kfd_evictions_watch(struct kfd_client *c, struct kfd_evictions *e)
{
	struct kfd_ioctl_smi_events_args args = { .gpuid = c->gpu_id };
	uint64_t mask = KFD_SMI_EVENT_MASK_FROM_INDEX(KFD_SMI_EVENT_QUEUE_EVICTION) |
			KFD_SMI_EVENT_MASK_FROM_INDEX(KFD_SMI_EVENT_QUEUE_RESTORE);
	int err = kfd_call(c, AMDKFD_IOC_SMI_EVENTS, &args);

	*e = (struct kfd_evictions){ .fd = err ? -1 : (int)args.anon_fd };
	if (!err && write(e->fd, &mask, sizeof(mask)) != sizeof(mask))
		err = -errno;
	return err;
}

/*
 * The line is "event time -pid node reason". In 7.x a privileged program hears of all processes, and
 * the PID is that of the process's own namespace. In 6.12 a program hears of itself alone.
 */
static bool evictions_ours(const char *line)
{
	const char *pid = strstr(line, " -");

	return !kfd_kernel_since(7, 0) || (pid && strtol(pid + 2, NULL, 10) == getpid());
}

/*
 * Events are in hexadecimal; a restore for the reason R is one that is put off. All that the driver
 * keeps (8 KiB in 7.x) fits, so that no line is cut in two.
 */
int kfd_evictions_update(struct kfd_evictions *e)
{
	char text[8192 + 1], *line, *save = NULL;
	ssize_t n;

	while ((n = read(e->fd, text, sizeof(text) - 1)) > 0) {
		text[n] = 0;
		for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
			unsigned long event = strtoul(line, NULL, 16);

			if (!evictions_ours(line))
				continue;
			if (event == KFD_SMI_EVENT_QUEUE_EVICTION)
				e->evictions++;
			else if (event == KFD_SMI_EVENT_QUEUE_RESTORE && line[strlen(line) - 1] == 'R')
				e->retries++;
			else if (event == KFD_SMI_EVENT_QUEUE_RESTORE)
				e->restores++;
		}
	}
	return n < 0 && errno != EAGAIN ? -errno : 0;
}

/* ---- work ---- */

size_t kfd_work_bytes(uint32_t launches, uint32_t waves, uint32_t steps)
{
	return sizeof(struct vgpu_kernel) + launches * sizeof(struct vgpu_kernargs) +
	       ((size_t)launches * waves * steps + GUARD_COUNTERS) * sizeof(uint32_t);
}

uint64_t kfd_step_at_least_ns(uint64_t step_ns)
{
	const char *text = getenv("KFD_STEP_DIVISOR");
	uint64_t n = text ? strtoull(text, NULL, 10) : 0;

	return n ? step_ns / n : step_ns;
}

void kfd_work_init(struct kfd_work *w, void *mem, uint32_t launches, uint32_t waves, uint32_t steps, uint64_t step_ns)
{
	uint32_t i;

	memset(mem, 0, kfd_work_bytes(launches, waves, steps));
	memset(w, 0, sizeof(*w));
	w->kernel = mem;
	w->args = (struct vgpu_kernargs *)(w->kernel + 1);
	w->counters = (volatile uint32_t *)(w->args + launches);
	w->guard = w->counters + (size_t)launches * waves * steps;
	w->waves = waves;
	w->steps = steps;
	w->launches = launches;

	w->kernel->magic = VGPU_KERNEL_MAGIC;
	w->kernel->version = VGPU_KERNEL_VERSION;
	w->kernel->steps = steps;
	w->kernel->step_ns = step_ns;
	for (i = 0; i < launches; i++) {
		w->args[i].counters = (uintptr_t)(w->counters + (size_t)i * waves * steps);
		w->args[i].steps = steps;
		w->args[i].step_ticks = kfd_step_at_least_ns(step_ns) / NS_PER_TICK;
	}
}

void kfd_work_wait_for(struct kfd_work *w, const volatile uint64_t *flag)
{
	uint32_t i;

	for (i = w->submitted; i < w->launches; i++)
		w->args[i].flag = (uintptr_t)flag;
}

int kfd_work_submit(struct kfd_queue *q, struct kfd_work *w, struct kfd_signal *done, uint32_t flags)
{
	struct aql_dispatch packet = {
		.header = AQL_TYPE_DISPATCH | AQL_SYSTEM_FENCES | (flags & KFD_PACKET_BARRIER ? AQL_BARRIER_BIT : 0),
		.setup = 1,	/* one dimension */
		.workgroup_size = { VGPU_WAVE_LANES, 1, 1 },
		.grid_size = { w->waves * VGPU_WAVE_LANES, 1, 1 },
		.kernel_object = q->client->work_kernel ? q->client->work_kernel : (uintptr_t)w->kernel,
		.completion_signal = (uintptr_t)done,
	};
	int err;

	if (!q->client->work_kernel && !kfd_client_is_virtual())
		return -ENOEXEC;
	if (w->submitted >= w->launches)
		return -ENOSPC;
	packet.kernarg_address = (uintptr_t)&w->args[w->submitted];
	err = kfd_packet_submit(q, &packet, flags);
	if (!err)
		w->submitted++;
	return err;
}

int kfd_barrier_submit(struct kfd_queue *q, struct kfd_signal *const *deps, uint32_t ndeps, struct kfd_signal *done,
		       uint32_t flags)
{
	struct aql_barrier packet = {
		.header = AQL_TYPE_BARRIER_AND | AQL_SYSTEM_FENCES | (flags & KFD_PACKET_BARRIER ? AQL_BARRIER_BIT : 0),
		.completion_signal = (uintptr_t)done,
	};
	uint32_t i;

	if (ndeps > AQL_BARRIER_DEPS)
		return -EINVAL;
	for (i = 0; i < ndeps; i++)
		packet.dep_signal[i] = (uintptr_t)deps[i];
	return kfd_packet_submit(q, &packet, flags);
}

void kfd_work_tally(const struct kfd_work *w, struct kfd_tally *t)
{
	size_t due = (size_t)w->submitted * w->waves * w->steps;
	size_t all = (size_t)w->launches * w->waves * w->steps + GUARD_COUNTERS;
	size_t i;

	for (i = 0; i < due; i++) {
		uint32_t n = w->counters[i];

		if (n == 1)
			t->done++;
		else if (n == 0)
			t->lost++;
		else
			t->twice++;
	}
	for (; i < all; i++)
		if (w->counters[i])
			t->twice++;
}

uint64_t kfd_work_progress(const struct kfd_work *w)
{
	size_t due = (size_t)w->submitted * w->waves * w->steps;
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < due; i++)
		sum += w->counters[i];
	return sum;
}

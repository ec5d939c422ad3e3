// SPDX-License-Identifier: MIT
/* machine.c - which GPU, driver and firmware it is, and who else has queues there; reads sysfs and opens nothing else */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <linux/kfd_ioctl.h>

#include "kfdlib.h"
#include "probe.h"
#include "wave.h"

#define NODES		"/sys/devices/virtual/kfd/kfd/topology/nodes"
#define PROCESSES	"/sys/class/kfd/kfd/proc"
#define PARAMETERS	"/sys/module/amdgpu/parameters"
#define DEVICE		"/sys/class/drm/renderD%d/device"
#define MAX_NODES	128

static char why[PROBE_WHY_BYTES];

static const char *because(const char *format, ...) __attribute__((format(printf, 1, 2)));

static const char *because(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	return why;
}

static void fact(struct probe_machine *m, const char *name, const char *value)
{
	struct probe_fact *f = &m->fact[m->nr_facts];

	if (m->nr_facts == PROBE_MAX_FACTS)
		return;
	m->nr_facts++;
	snprintf(f->name, sizeof(f->name), "%s", name);
	snprintf(f->value, sizeof(f->value), "%.*s", (int)strcspn(value, "\n"), value);
}

static void fact_number(struct probe_machine *m, const char *name, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	fact(m, name, text);
}

/* The file's first line; nothing if there is none */
static void fact_file(struct probe_machine *m, const char *name, const char *path)
{
	char text[4096];

	if (kfd_file_read(path, text, sizeof(text)) > 0)
		fact(m, name, text);
}

/* A line "NAME VALUE" of a node's properties. Return: -1 if there is none */
static int64_t property(const char *properties, const char *name)
{
	size_t length = strlen(name);
	const char *line;

	for (line = properties; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (!strncmp(line, name, length) && line[length] == ' ')
			return strtoll(line + length, NULL, 0);
	return -1;
}

/* Finds the node of the GPU number @which. Return: false if there are not so many */
static bool find_node(unsigned int which, uint32_t *gpu_id, char *properties, size_t size)
{
	char path[160];
	int node;

	for (node = 0; node < MAX_NODES; node++) {
		snprintf(path, sizeof(path), NODES "/%d/gpu_id", node);
		*gpu_id = (uint32_t)kfd_file_number(path);
		if (!*gpu_id || *gpu_id == UINT32_MAX || which--)
			continue;
		snprintf(path, sizeof(path), NODES "/%d/properties", node);
		return kfd_file_read(path, properties, size) > 0;
	}
	return false;
}

static void look_at_firmware(struct probe_machine *m, int minor)
{
	struct dirent *entry;
	char path[PATH_MAX], name[64];
	DIR *dir;

	snprintf(path, sizeof(path), DEVICE "/fw_version", minor);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		size_t length = strcspn(entry->d_name, "_");

		if (!strstr(entry->d_name, "_fw_version"))
			continue;
		snprintf(path, sizeof(path), DEVICE "/fw_version/%s", minor, entry->d_name);
		snprintf(name, sizeof(name), "firmware %.*s", (int)(length > 32 ? 32 : length), entry->d_name);
		fact_file(m, name, path);
	}
	if (dir)
		closedir(dir);
}

static void look_at_kernel(struct probe_machine *m)
{
	static const char *const names[] = { "sched_policy", "cwsr_enable", "hws_max_conc_proc", "num_kcq", "mes",
					     "queue_preemption_timeout_ms", "gpreempt_enable" };
	struct utsname uts;
	char text[8192], path[160], *line;
	size_t i;

	if (!uname(&uts)) {
		fact(m, "kernel", uts.release);
		fact(m, "kernel build", uts.version);
		fact(m, "processor", uts.machine);
	}
	if (kfd_file_read("/proc/cpuinfo", text, sizeof(text)) > 0 && (line = strstr(text, "model name")) && (line = strchr(line, ':')))
		fact(m, "processor model", line + 2);
	if (kfd_file_read("/etc/os-release", text, sizeof(text)) > 0 && (line = strstr(text, "PRETTY_NAME=")))
		fact(m, "system", line + strlen("PRETTY_NAME="));
	fact_file(m, "ROCm", "/opt/rocm/.info/version");
	fact_file(m, "amdgpu version", "/sys/module/amdgpu/version");
	fact_file(m, "amdgpu srcversion", "/sys/module/amdgpu/srcversion");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char name[48];

		snprintf(path, sizeof(path), PARAMETERS "/%s", names[i]);
		snprintf(name, sizeof(name), "amdgpu.%s", names[i]);
		fact_file(m, name, path);
	}
}

static void look_at_device(struct probe_machine *m, const char *properties)
{
	int minor = (int)property(properties, "drm_render_minor");
	char path[96], name[32];

	snprintf(name, sizeof(name), "gfx%u%u%x", m->gfx_target_version / 10000, m->gfx_target_version / 100 % 100,
		 m->gfx_target_version % 100);
	fact(m, "device", name);
	snprintf(name, sizeof(name), "%#" PRIx64, (uint64_t)property(properties, "device_id"));
	fact(m, "PCI device", name);
	fact_number(m, "compute units", m->cus);
	fact_number(m, "XCCs", m->xccs);
	fact_number(m, "SIMDs", m->simds);
	fact_number(m, "wave slots of a SIMD", m->waves_per_simd);
	fact_number(m, "save area of a queue, bytes", m->save_bytes);
	fact_number(m, "MEC firmware (topology)", (uint64_t)property(properties, "fw_version"));
	fact_number(m, "SDMA firmware (topology)", (uint64_t)property(properties, "sdma_fw_version"));
	snprintf(path, sizeof(path), DEVICE "/current_compute_partition", minor);
	fact_file(m, "partition", path);
	snprintf(path, sizeof(path), DEVICE "/vbios_version", minor);
	fact_file(m, "VBIOS", path);
	look_at_firmware(m, minor);
}

/* What KFD says of itself, and whether this user may open it */
static const char *look_at_kfd(struct probe_machine *m)
{
	struct kfd_ioctl_get_version_args version = { 0 };
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC), err = errno;
	char text[32];

	if (fd < 0)
		return because("/dev/kfd: %s%s", strerror(err),
			       err == EACCES ? ": be in the group that owns it (render), or root" :
			       err == ENOENT ? ": no amdgpu with a GPU for compute is loaded" : "");
	if (!ioctl(fd, AMDKFD_IOC_GET_VERSION, &version)) {
		snprintf(text, sizeof(text), "%u.%u", version.major_version, version.minor_version);
		fact(m, "KFD interface", text);
	}
	close(fd);
	return NULL;
}

/* Without save and restore a busy queue is waited for, and the driver resets the device if it does not end. */
static const char *cannot_save(void)
{
	return kfd_file_number(PARAMETERS "/cwsr_enable") == 0 ? "amdgpu.cwsr_enable is 0: this driver saves no waves" : NULL;
}

const char *machine_look(struct probe_machine *m, unsigned int which)
{
	struct kfd_client sizes = { 0 };
	char properties[4096];
	int64_t simds_per_cu;
	const char *no;
	int foreign;

	memset(m, 0, sizeof(*m));
	m->virtual = !access("/sys/module/vgpu", F_OK);
	look_at_kernel(m);
	no = look_at_kfd(m);
	if (no)
		return no;
	if (!find_node(which, &m->gpu_id, properties, sizeof(properties)))
		return because("there is no GPU number %u below " NODES, which);
	m->gfx_target_version = (uint32_t)property(properties, "gfx_target_version");
	if (!wave_runs_on(m->gfx_target_version))
		return because("GPU number %u has gfx_target_version %u; the probe has code for 90010 (MI200), 90402 (MI300) and 90500 (MI350)",
			       which, m->gfx_target_version);
	simds_per_cu = property(properties, "simd_per_cu");
	m->simds = (uint32_t)property(properties, "simd_count");
	m->xccs = (uint32_t)property(properties, "num_xcc");
	m->waves_per_simd = (uint32_t)property(properties, "max_waves_per_simd");
	kfd_wanted_gpu_id = m->gpu_id;
	if (simds_per_cu <= 0 || !m->waves_per_simd || kfd_client_sizes(&sizes))
		return because("topology tells too little of GPU number %u: %s", which, sizes.why);
	m->cus = m->simds / (uint32_t)simds_per_cu;
	m->save_bytes = (uint64_t)sizes.cwsr_size * sizes.num_xcc;
	look_at_device(m, properties);
	no = cannot_save();
	if (no)
		return no;
	foreign = machine_foreign_queues(m, 0);
	if (foreign < 0)
		return "the driver does not tell whose queues are on the GPU (" PROCESSES "): a call would take them off the device as well";
	if (foreign > 0)
		return because("%d queues of other programs are on GPU number %u, and each call would take them off the device: end them first",
			       foreign, which);
	return NULL;
}

int machine_foreign_queues(const struct probe_machine *m, unsigned int ours)
{
	struct dirent *process, *queue;
	DIR *processes = opendir(PROCESSES), *queues;
	char path[PATH_MAX];
	unsigned int n = 0;

	if (!processes)
		return -1;
	while ((process = readdir(processes))) {
		snprintf(path, sizeof(path), PROCESSES "/%s/queues", process->d_name);
		queues = process->d_name[0] == '.' ? NULL : opendir(path);
		while (queues && (queue = readdir(queues))) {
			snprintf(path, sizeof(path), PROCESSES "/%s/queues/%s/gpuid", process->d_name, queue->d_name);
			n += queue->d_name[0] != '.' && kfd_file_number(path) == m->gpu_id;
		}
		if (queues)
			closedir(queues);
	}
	closedir(processes);
	return n > ours ? (int)(n - ours) : 0;
}

// SPDX-License-Identifier: MIT
/*
 * machine.c - a made-up machine for gpreemptctl, linked to it with --wrap: /proc, /sys and /run are below $MACHINE, and so is libdrm's table
 *
 * Queues are lines of $MACHINE/queues: PID GPU QUEUE CONTEXT STATE(idle|active|preempted) PRIORITY PENDING PREEMPTIONS OFF_US JOB VERDICT. Behind
 * the state may be /always or /never: are stops of its process followed? Or /waits or /lent
 * Nodes are the folders of /sys/class/kfd/kfd/gpreempt. Priorities and jobs may be set, and change nothing; of cgroups they
 * become lines of $MACHINE/set: DIRECTORY priority N|job, of processes lines of $MACHINE/processes: PID priority N|clear|job N|hold|resume|hint N.
 * There is no process from 900000 on. Shares of cgroups that are set become
 * lines of $MACHINE/shares: DIRECTORY|job ID WEIGHT MIN QUOTA/PERIOD; or fail with the errno in /sys/share-errno. Parameters of cgroups that are set become
 * lines of $MACHINE/params: DIRECTORY PARAMETER VALUE. With /sys/no-module there is none, and
 * with /sys/no-access it is another's. With /sys/no-rights the caller is a user without rights: nodes are idle, and their counters are not for him.
 *
 * The policy of all nodes is $POLICY, or hpf.
 *
 * With $MACHINE/usage the module tells what was used: a line for each line of queues, BUSY_MS WAITING_MS WAVES, is what its queue uses in a second.
 * A look at the queues takes a second. Lines of $MACHINE/account are what is told of users: KIND GPU CGROUP JOB PID PROCESSES BUSY_MS WAITING_MS
 * PREEMPTED_MS WAVES USED_MS, in each of so many seconds as there were looks, or $USAGE. Of a cgroup or job without a number PID is its user.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/kfd_gpreempt.h>

#define DEVICE	"/dev/kfd_gpreempt"

int __real_open(const char *path, int flags, ...);
FILE *__real_fopen(const char *path, const char *mode);
DIR *__real_opendir(const char *path);
int __real_scandir(const char *path, struct dirent ***entries, int (*filter)(const struct dirent *), int (*compare)(const struct dirent **, const struct dirent **));
int __real_access(const char *path, int mode);
ssize_t __real_readlink(const char *path, char *buffer, size_t size);

static int scheduler = -1;

/* The file of the machine that stands for one of the system's */
static const char *at(const char *path, char *buffer)
{
	static const char *const places[] = { "/proc/", "/sys/", "/run/", "/usr/share/libdrm/", "/opt/amdgpu/", "/var/lib/", "/etc/docker/" };
	const char *machine = getenv("MACHINE");
	size_t i;

	for (i = 0; machine && i < sizeof(places) / sizeof(places[0]); i++)
		if (!strncmp(path, places[i], strlen(places[i])) && snprintf(buffer, PATH_MAX, "%s%s", machine, path) < PATH_MAX)
			return buffer;
	return path;
}

static bool has_no_rights(void)
{
	char buffer[PATH_MAX];

	return !__real_access(at("/sys/no-rights", buffer), F_OK);
}

int __wrap_open(const char *path, int flags, ...)
{
	char buffer[PATH_MAX];
	mode_t mode = 0;
	va_list list;

	if (flags & (O_CREAT | __O_TMPFILE)) {
		va_start(list, flags);
		mode = va_arg(list, mode_t);
		va_end(list);
	}
	if (strlen(path) > 7 && !strcmp(path + strlen(path) - 7, "/checks") && has_no_rights()) {
		errno = EACCES;
		return -1;
	}
	if (strcmp(path, DEVICE))
		return __real_open(at(path, buffer), flags, mode);
	if (!__real_access(at("/sys/no-module", buffer), F_OK)) {
		errno = ENOENT;
		return -1;
	}
	if (!__real_access(at("/sys/no-access", buffer), F_OK)) {
		errno = EACCES;
		return -1;
	}
	scheduler = memfd_create("scheduler", MFD_CLOEXEC);
	return scheduler;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	char buffer[PATH_MAX];

	return __real_fopen(at(path, buffer), mode);
}

DIR *__wrap_opendir(const char *path)
{
	char buffer[PATH_MAX];

	return __real_opendir(at(path, buffer));
}

int __wrap_scandir(const char *path, struct dirent ***entries, int (*filter)(const struct dirent *), int (*compare)(const struct dirent **, const struct dirent **))
{
	char buffer[PATH_MAX];

	return __real_scandir(at(path, buffer), entries, filter, compare);
}

int __wrap_access(const char *path, int mode)
{
	char buffer[PATH_MAX];

	return __real_access(at(path, buffer), mode);
}

ssize_t __wrap_readlink(const char *path, char *buffer, size_t size)
{
	char there[PATH_MAX];

	return __real_readlink(at(path, there), buffer, size);
}

static uint32_t state_of(const char *word)
{
	return !strcmp(word, "preempted") ? GPREEMPT_QUEUE_PREEMPTED : !strcmp(word, "active") ? GPREEMPT_QUEUE_ACTIVE : GPREEMPT_QUEUE_IDLE;
}

static uint32_t flag_of(const char *word)
{
	return !strcmp(word, "always") ? GPREEMPT_QUEUE_STOPS_ALWAYS :
	       !strcmp(word, "waits")  ? GPREEMPT_QUEUE_WAITS :
	       !strcmp(word, "lent")   ? GPREEMPT_QUEUE_LENT :
					 GPREEMPT_QUEUE_STOPS_NEVER;
}

static FILE *usage_file(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/usage", getenv("MACHINE"));
	return __real_fopen(path, "re");
}

/* Looks so far, and seconds */
static unsigned int looks;

static bool next_usage(FILE *file, struct gpreempt_queue_usage *usage)
{
	unsigned long long busy, waiting, waves;

	if (!file || fscanf(file, "%llu %llu %llu", &busy, &waiting, &waves) != 3)
		return false;
	*usage = (struct gpreempt_queue_usage){ .busy_ns = looks * busy * 1000000, .waiting_ns = looks * waiting * 1000000, .wave_us = looks * waves * 1000000 };
	return true;
}

static int list(struct gpreempt_list *l)
{
	struct gpreempt_queue_info *queues = (struct gpreempt_queue_info *)(uintptr_t)l->queues;
	struct gpreempt_queue_usage *usage = (struct gpreempt_queue_usage *)(uintptr_t)l->usage, used = { 0 };
	uint64_t *jobs = (uint64_t *)(uintptr_t)l->jobs;
	FILE *usages = usage_file();
	struct gpreempt_queue_info q = { 0 };
	unsigned long long job;
	char path[PATH_MAX], word[24], *stops;
	unsigned int n = 0;
	FILE *file;

	/* A module before version 8 refuses it. */
	if (usage && !usages) {
		errno = EINVAL;
		return -1;
	}
	looks++;
	snprintf(path, sizeof(path), "%s/queues", getenv("MACHINE"));
	file = __real_fopen(path, "re");
	while (file && fscanf(file, "%d %u %u %hu %23s %d %llu %llu %llu %llu %hu", &q.pid, &q.gpu_id, &q.queue_id, &q.context, word, &q.logical_priority,
			      (unsigned long long *)&q.pending, (unsigned long long *)&q.preempt_count, (unsigned long long *)&q.preempted_us, &job,
			      &q.verdict) == 11) {
		stops = strchr(word, '/');
		q.flags = !stops ? 0 : flag_of(stops + 1);
		if (stops)
			*stops = '\0';
		q.state = state_of(word);
		q.effective_priority = q.logical_priority;
		q.waves = ~0U;
		q.left_us = ~0U;
		next_usage(usages, &used);
		if (n < l->nr_queues) {
			queues[n] = q;
			if (jobs)
				jobs[n] = job;
			if (usage)
				usage[n] = used;
		}
		n++;
	}
	if (file)
		fclose(file);
	if (usages)
		fclose(usages);
	l->nr_queues = n;
	return 0;
}

static int info(struct gpreempt_info *i)
{
	struct gpreempt_node_info *nodes = (struct gpreempt_node_info *)(uintptr_t)i->nodes;
	DIR *folder = __wrap_opendir("/sys/class/kfd/kfd/gpreempt");
	char path[PATH_MAX];
	unsigned int n = 0;
	struct dirent *d;
	FILE *usages;

	while (folder && (d = readdir(folder))) {
		if (atoi(d->d_name) <= 0)
			continue;
		if (n < i->nr_nodes) {
			nodes[n] = (struct gpreempt_node_info){ .gpu_id = atoi(d->d_name), .state = GPREEMPT_NODE_POLLING, .backend = "hws", .policy = "hpf" };
			if (has_no_rights())
				nodes[n].state = GPREEMPT_NODE_IDLE;
			if (getenv("POLICY"))
				snprintf(nodes[n].policy, sizeof(nodes[n].policy), "%s", getenv("POLICY"));
			/* The folder is in no order. */
			for (unsigned int k = n; k && nodes[k].gpu_id < nodes[k - 1].gpu_id; k--) {
				struct gpreempt_node_info other = nodes[k];

				nodes[k] = nodes[k - 1];
				nodes[k - 1] = other;
			}
		}
		n++;
	}
	if (folder)
		closedir(folder);
	i->abi_version = GPREEMPT_ABI_VERSION;
	i->features = GPREEMPT_FEATURE_JOB;
	usages = usage_file();
	if (usages) {
		i->features |= GPREEMPT_FEATURE_USAGE;
		fclose(usages);
	}
	snprintf(path, sizeof(path), "%s/fits", getenv("MACHINE"));
	if (!__real_access(path, F_OK))
		i->features |= GPREEMPT_FEATURE_FITS;
	i->nr_nodes = n;
	return 0;
}

/* $MACHINE/NAME, to which a line is added */
static FILE *open_notes(const char *name)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", getenv("MACHINE"), name);
	file = __real_fopen(path, "ae");
	if (!file)
		abort();
	return file;
}

static int set_share(const struct gpreempt_set_share *s)
{
	char link[64], directory[PATH_MAX] = "";
	FILE *file = __wrap_fopen("/sys/share-errno", "re");
	int error = 0;

	if (file) {
		if (fscanf(file, "%d", &error) != 1)
			abort();
		fclose(file);
		errno = error;
		return -1;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", s->target.cgroup_fd);
	if (s->job && s->target.scope == GPREEMPT_SCOPE_ALL && !s->flags)
		snprintf(directory, sizeof(directory), "/cgroup/job %llu", (unsigned long long)s->job);
	else if (s->target.scope != GPREEMPT_SCOPE_CGROUP || s->job || s->flags || __real_readlink(link, directory, sizeof(directory) - 1) < 0)
		abort();
	file = open_notes("shares");
	fprintf(file, "%s %u %u %llu/%llu\n", strstr(directory, "/cgroup/") + 8, s->weight, s->min_pct, (unsigned long long)s->quota_us,
		(unsigned long long)s->period_us);
	fclose(file);
	return 0;
}

static int note_process(const struct gpreempt_target *target, const char *format, ...)
{
	va_list list;
	FILE *file;

	if (target->pid >= 900000) {
		errno = ESRCH;
		return -1;
	}
	file = open_notes("processes");
	fprintf(file, "%d ", target->pid);
	va_start(list, format);
	vfprintf(file, format, list);
	va_end(list);
	fputc('\n', file);
	fclose(file);
	return 0;
}

static int set_priority(const struct gpreempt_priority *p)
{
	if (p->flags & GPREEMPT_PRIORITY_CLEAR)
		return note_process(&p->target, "clear");
	return note_process(&p->target, "priority %d", p->priority);
}

static int hold(struct gpreempt_hold *h, const char *word)
{
	h->nr_queues = 2;
	h->nr_off = 0;
	return note_process(&h->target, "%s", word);
}

/* @value: NULL: of a job */
static int note_set(const struct gpreempt_target *target, const int32_t *value)
{
	char link[64], directory[PATH_MAX] = "";
	FILE *file;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", target->cgroup_fd);
	if (target->scope != GPREEMPT_SCOPE_CGROUP || __real_readlink(link, directory, sizeof(directory) - 1) < 0)
		return 0;
	if (!strstr(directory, "/cgroup/"))
		abort();
	file = open_notes("set");
	fprintf(file, "%s ", strstr(directory, "/cgroup/") + 8);
	fprintf(file, value ? "priority %d\n" : "job\n", value ? *value : 0);
	fclose(file);
	return 0;
}

/* $MACHINE/fits: a line for each node: gpu_id, reserved, free (both in millionths), a switch in microseconds; without the file the module is one before version 11 */
static int fits(struct gpreempt_fits *f)
{
	struct gpreempt_fits_info *to = (struct gpreempt_fits_info *)(uintptr_t)f->nodes, n = { .nr_reservations = 2, .nr_waiting = 1 };
	char path[PATH_MAX];
	unsigned int nr = 0, switch_us;
	FILE *file;

	snprintf(path, sizeof(path), "%s/fits", getenv("MACHINE"));
	file = __real_fopen(path, "re");
	if (!file) {
		errno = ENOTTY;
		return -1;
	}
	while (fscanf(file, "%u %u %u %u", &n.gpu_id, &n.reserved_ppm, &n.free_ppm, &switch_us) == 4) {
		n.switch_ns = switch_us * 1000;
		n.least_period_us = 20 * switch_us;
		n.need_ppm = f->period_us ? (f->runtime_us + 2 * switch_us) * 1000000 / f->period_us : 0;
		n.flags = f->target.scope == GPREEMPT_SCOPE_PROCESS ? GPREEMPT_FITS_HERE : 0;
		if (f->runtime_us && f->period_us < n.least_period_us)
			n.flags |= GPREEMPT_FITS_SHORT;
		else if (f->runtime_us && n.need_ppm <= n.free_ppm)
			n.flags |= GPREEMPT_FITS_YES;
		if (nr < f->nr_nodes)
			to[nr] = n;
		nr++;
	}
	fclose(file);
	f->nr_nodes = nr;
	return 0;
}

/* Of a process: what fits is taken, into $MACHINE/runtimes. */
static int set_runtime(const struct gpreempt_set_param *s)
{
	struct gpreempt_fits_info infos[8];
	struct gpreempt_fits ask = { .target = s->target, .runtime_us = s->value, .period_us = s->period_us, .nodes = (uintptr_t)infos, .nr_nodes = 8 };
	FILE *file;

	if (fits(&ask) || (s->value && !s->period_us)) {
		errno = EINVAL;
		return -1;
	}
	for (unsigned int i = 0; s->value && i < ask.nr_nodes; i++) {
		if (!(infos[i].flags & GPREEMPT_FITS_YES)) {
			errno = ENOSPC;
			return -1;
		}
	}
	file = open_notes("runtimes");
	fprintf(file, "%d %llu/%llu\n", s->target.pid, (unsigned long long)s->value, (unsigned long long)s->period_us);
	fclose(file);
	return 0;
}

static int set_param(const struct gpreempt_set_param *s)
{
	char directory[PATH_MAX] = "", link[32];
	FILE *file;

	if (s->param == GPREEMPT_PARAM_RUNTIME_US)
		return set_runtime(s);
	if (s->target.scope != GPREEMPT_SCOPE_CGROUP) {
		errno = EINVAL;
		return -1;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", s->target.cgroup_fd);
	if (__real_readlink(link, directory, sizeof(directory) - 1) < 0)
		return -1;
	file = open_notes("params");
	fprintf(file, "%s %u %llu\n", strstr(directory, "/cgroup/") + 8, s->param, (unsigned long long)s->value);
	fclose(file);
	return 0;
}

static int usage(struct gpreempt_usage *u)
{
	struct gpreempt_usage_info *to = (struct gpreempt_usage_info *)(uintptr_t)u->entries, e = { 0 };
	unsigned long long seconds = getenv("USAGE") ? strtoull(getenv("USAGE"), NULL, 10) : looks, busy, waiting, preempted, waves, used;
	static const char *const kinds[] = { "node", "cgroup", "job", "process" };
	char path[PATH_MAX], kind[16];
	unsigned int n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/account", getenv("MACHINE"));
	file = __real_fopen(path, "re");
	if (!file) {
		errno = ENOTTY;
		return -1;
	}
	while (fscanf(file, "%15s %u %llu %llu %d %u %llu %llu %llu %llu %llu", kind, &e.gpu_id, (unsigned long long *)&e.cgroup, (unsigned long long *)&e.job,
		      &e.pid, &e.nr_processes, &busy, &waiting, &preempted, &waves, &used) == 11) {
		for (e.kind = 0; e.kind < 3 && strcmp(kind, kinds[e.kind]); e.kind++)
			;
		if ((u->kinds && !(u->kinds & 1U << e.kind)) || (u->gpu_id && u->gpu_id != e.gpu_id))
			continue;
		e.usage = (struct gpreempt_queue_usage){ seconds * busy * 1000000, seconds * waiting * 1000000, seconds * preempted * 1000000,
							 seconds * waves * 1000000 };
		e.uid = (e.kind == 1 && !e.cgroup) || (e.kind == 2 && !e.job) ? e.pid : 0;
		e.pid = e.uid ? 0 : e.pid;
		e.used_ns = seconds * used * 1000000;
		if (n < u->nr_entries)
			to[n] = e;
		n++;
	}
	fclose(file);
	u->nr_entries = n;
	u->time_ns = seconds * 1000000000;
	return 0;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	void *argument;
	va_list all;

	va_start(all, request);
	argument = va_arg(all, void *);
	va_end(all);
	if (fd == scheduler && request == GPREEMPT_IOC_LIST)
		return list(argument);
	if (fd == scheduler && request == GPREEMPT_IOC_INFO)
		return info(argument);
	if (fd == scheduler && request == GPREEMPT_IOC_PREEMPT)
		return hold(argument, "hold");
	if (fd == scheduler && request == GPREEMPT_IOC_RESUME)
		return hold(argument, "resume");
	if (fd == scheduler && request == GPREEMPT_IOC_HINT)
		return note_process(&((struct gpreempt_hint *)argument)->target, "hint %u", ((struct gpreempt_hint *)argument)->within_us);
	if (fd == scheduler && request == GPREEMPT_IOC_SET_PRIORITY && ((struct gpreempt_priority *)argument)->target.scope == GPREEMPT_SCOPE_PROCESS)
		return set_priority(argument);
	if (fd == scheduler && request == GPREEMPT_IOC_SET_JOB && ((struct gpreempt_set_job *)argument)->target.scope == GPREEMPT_SCOPE_PROCESS)
		return note_process(argument, "job %llu", (unsigned long long)((struct gpreempt_set_job *)argument)->job);
	if (fd == scheduler && request == GPREEMPT_IOC_SET_PRIORITY)
		return note_set(&((struct gpreempt_priority *)argument)->target, &((struct gpreempt_priority *)argument)->priority);
	if (fd == scheduler && request == GPREEMPT_IOC_SET_JOB)
		return note_set(&((struct gpreempt_set_job *)argument)->target, NULL);
	if (fd == scheduler && request == GPREEMPT_IOC_SET_SHARE)
		return set_share(argument);
	if (fd == scheduler && request == GPREEMPT_IOC_SET_PARAM)
		return set_param(argument);
	if (fd == scheduler && request == GPREEMPT_IOC_USAGE)
		return usage(argument);
	if (fd == scheduler && request == GPREEMPT_IOC_FITS)
		return fits(argument);
	errno = ENOTTY;
	return -1;
}

// SPDX-License-Identifier: MIT
/* usage.c - who has used how much of each GPU, with names for what the scheduler knows by numbers */
#include "usage.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gpreemptctl.h"

#define CGROUPS		"/sys/fs/cgroup"
/* Where version 1 is mounted as well */
#define UNIFIED		CGROUPS "/unified"

static const char *const kinds[] = {
	[GPREEMPT_USAGE_NODE] = "node",
	[GPREEMPT_USAGE_CGROUP] = "cgroup",
	[GPREEMPT_USAGE_JOB] = "job",
	[GPREEMPT_USAGE_PROCESS] = "process",
};

/** usage_kind_name() - name of a &enum gpreempt_usage_kind; NULL: there is none of this number */
const char *usage_kind_name(unsigned int kind)
{
	return kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[kind] : NULL;
}

/** usage_id() - the number by which the scheduler knows whose it is */
uint64_t usage_id(const struct gpreempt_usage_info *info)
{
	switch (info->kind) {
	case GPREEMPT_USAGE_CGROUP:
		return info->cgroup;
	case GPREEMPT_USAGE_JOB:
		return info->job;
	case GPREEMPT_USAGE_PROCESS:
		return info->pid;
	default:
		return info->gpu_id;
	}
}

/** usage_is_rest() - is it what a user's cgroups or jobs have used together that the scheduler does not remember? */
bool usage_is_rest(const struct gpreempt_usage_info *info)
{
	return (info->kind == GPREEMPT_USAGE_CGROUP || info->kind == GPREEMPT_USAGE_JOB) && !usage_id(info);
}

/* Jobs of one id that several users have set are one here: the scheduler does not say whose they are. */
static bool add_to_same_job(struct usage *usage, const struct gpreempt_usage_info *info)
{
	struct gpreempt_usage_info *same;
	int i;

	for (i = 0; i < usage->nr; i++) {
		same = &usage->entries[i].info;
		if (same->kind != GPREEMPT_USAGE_JOB || same->gpu_id != info->gpu_id || same->job != info->job || same->uid != info->uid)
			continue;
		same->nr_processes += info->nr_processes;
		same->usage.busy_ns += info->usage.busy_ns;
		same->usage.waiting_ns += info->usage.waiting_ns;
		same->usage.preempted_ns += info->usage.preempted_ns;
		same->usage.wave_us += info->usage.wave_us;
		return true;
	}
	return false;
}

/* Who made a cgroup chose its name: what could steer a terminal becomes a question mark. */
static char *printable(const char *text)
{
	char *copy = strdup(text), *c;

	for (c = copy; c && *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return copy;
}

/* Any process of a cgroup; 0: there is none */
static pid_t usage_process_in(const char *root, const char *path)
{
	char name[PATH_MAX];
	int pid = 0;
	FILE *file;

	if ((size_t)snprintf(name, sizeof(name), "%s%s/cgroup.procs", root, path) >= sizeof(name))
		return 0;
	file = fopen(name, "re");
	if (file && fscanf(file, "%d", &pid) != 1)
		pid = 0;
	if (file)
		fclose(file);
	return pid;
}

static void name_cgroup(struct usage *usage, uint64_t id, const char *root, const char *path)
{
	int i;

	for (i = 0; i < usage->nr; i++) {
		struct usage_entry *e = &usage->entries[i];

		if (e->info.kind != GPREEMPT_USAGE_CGROUP || e->info.cgroup != id || e->name)
			continue;
		place_add_path(&e->origin.place, path);
		place_number_job(&e->origin.place, usage_process_in(root, path));
		e->name = printable(path);
	}
}

/* A cgroup's number is the inode of its directory, so all have to be looked at. */
static void name_cgroups_below(struct usage *usage, const char *root, const char *path)
{
	char name[PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	if ((size_t)snprintf(name, sizeof(name), "%s%s", root, path) >= sizeof(name))
		return;
	folder = opendir(name);
	while (folder && (entry = readdir(folder))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if ((size_t)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name) >= sizeof(name))
			continue;
		name_cgroup(usage, entry->d_ino, root, name);
		name_cgroups_below(usage, root, name);
	}
	if (folder)
		closedir(folder);
}

static void name_cgroups(struct usage *usage)
{
	const char *root = cgroups_are_v2() ? CGROUPS : UNIFIED;
	struct stat stat;
	DIR *folder = opendir(root);

	if (!folder)
		return;
	if (!fstat(dirfd(folder), &stat))
		name_cgroup(usage, stat.st_ino, root, "/");
	closedir(folder);
	name_cgroups_below(usage, root, "");
}

/* The number behind the program's name in /proc/PID/stat, counted from 3 on as proc(5) does */
static uint64_t stat_number(pid_t pid, int wanted)
{
	char path[64], text[1024], *word;
	int i;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (read_text(path, text, sizeof(text)) < 0)
		return 0;
	word = strrchr(text, ')');
	for (i = 2; word && i < wanted; i++) {
		word = strchr(word, ' ');
		word = word ? word + 1 : NULL;
	}
	return word ? strtoull(word, NULL, 10) : 0;
}

#define STARTED	22

static void name_entry(struct usage_entry *e)
{
	char command[64];

	if (e->info.kind == GPREEMPT_USAGE_PROCESS) {
		find_origin(e->info.pid, &e->origin);
		e->started = stat_number(e->info.pid, STARTED);
		e->name = strdup(command_of(e->info.pid, command, sizeof(command)));
	} else if (e->info.kind == GPREEMPT_USAGE_NODE) {
		e->name = printable(identity_of(e->info.gpu_id)->name);
	}
}

/**
 * read_usage() - ask the scheduler, and find names
 * @g: the scheduler
 * @wanted: bits 1 << &enum gpreempt_usage_kind; 0: all
 * @o: -g names the nodes; without it, all
 * @usage: out: to be given to free_usage(), unless it failed
 *
 * Return: 0 or a negative errno, as gpreempt_list_usage().
 */
int read_usage(struct gpreempt *g, unsigned int wanted, const struct options *o, struct usage *usage)
{
	struct gpreempt_usage_info *infos;
	int i, nr;

	*usage = (struct usage){ 0 };
	nr = gpreempt_list_usage(g, wanted, o->nr_gpus == 1 ? o->gpu_id : 0, &infos, &usage->time_ns);
	if (nr <= 0)
		return nr;
	usage->entries = calloc(nr, sizeof(*usage->entries));
	if (!usage->entries) {
		free(infos);
		return -ENOMEM;
	}
	for (i = 0; i < nr; i++)
		if (gpu_is_chosen(o, infos[i].gpu_id) && (infos[i].kind != GPREEMPT_USAGE_JOB || !add_to_same_job(usage, &infos[i])))
			usage->entries[usage->nr++] = (struct usage_entry){
				.info = infos[i], .origin.uid = usage_is_rest(&infos[i]) ? infos[i].uid : (uid_t)-1,
			};
	free(infos);
	if (!wanted || wanted & 1U << GPREEMPT_USAGE_CGROUP)
		name_cgroups(usage);
	for (i = 0; i < usage->nr; i++) {
		name_entry(&usage->entries[i]);
		if (!usage->entries[i].name)
			usage->entries[i].name = strdup("");
		if (!usage->entries[i].name) {
			free_usage(usage);
			return -ENOMEM;
		}
	}
	return 0;
}

/** free_usage() - what read_usage() gave */
void free_usage(struct usage *usage)
{
	int i;

	for (i = 0; i < usage->nr; i++)
		free(usage->entries[i].name);
	free(usage->entries);
	*usage = (struct usage){ 0 };
}

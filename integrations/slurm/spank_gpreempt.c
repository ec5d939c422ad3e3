// SPDX-License-Identifier: MIT
/*
 * spank_gpreempt.c - Slurm plugin: srun --gpu-priority=latency|normal|batch|N --gpu-job=leave|stay|none
 *	--gpu-share-weight=N --gpu-share-min=PERCENT --gpu-share-max=PERCENT|QUOTA_US/PERIOD_US --gpu-follow-stop=always|never|node
 *
 * In srun: refuses what cannot be, before anything is started, with the reason. On the node, as root: asks slurmctld for the job's partition and
 * QOS (the environment is the user's to write), looks at the administrator's bounds, and gives the step's cgroup its priority once its tasks are
 * in it. Without --gpu-priority a step has normal priority, moved into the bounds. With --gpu-job the tasks of a step are, on each node, a job of
 * the scheduler's. With --gpu-share-weight, -min and -max it has this share of each GPU's time.
 * --gpu-follow-stop says whether it leaves the GPUs while it is suspended.
 *
 * With Slurm's cgroup v2 plugin that cgroup is the step's own, and the setting goes with it. Elsewhere the plugin makes a cgroup v2 for the
 * step below kfd_gpreempt/, moves the tasks there, and removes it when the step ends.
 *
 * With account=admincomment what the tasks of a step have used of GPUs is added to the job's AdminComment when the last of them on the node ends. It
 * is asked for by cgroup, so each step has one, and what its processes have used is known when they are gone.
 *
 * plugstack.conf: required spank_gpreempt.so [all=FLOOR..CEILING] [partition:NAME=FLOOR..CEILING] [qos:NAME=FLOOR..CEILING] [job=leave|stay|none]
 *	[share:CLASS=weight=N,min=PERCENT,max=PERCENT]
 *	[follow_stop=always|never|node] [account=admincomment|none]
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "gpreempt.h"
#include "note.h"
#include "parse.h"
#include "place.h"
#include "share.h"
#include "stop.h"

SPANK_PLUGIN(gpreempt, 1);

#define ME		"gpreempt: "
#define SHARE_OPTIONS	"--gpu-share-weight, -min or -max"
#define NO_MODULE	"this node has no amdgpu with kfd_gpreempt"

/* Tasks that were killed leave their cgroup a moment later. */
#define LEAVE_TRIES	500
#define LEAVE_WAIT_US	10000

/* Steps of a node add to a comment one after the other. Nodes cannot, so each looks whether another one has written over it meanwhile. */
#define NOTE_LOCK	"/run/gpreempt-slurm.lock"
#define NOTE_TRIES	5
#define NOTE_WAIT_US	300000

/* Cgroups of a step that are looked for: of its tasks, and what these have made below */
#define CGROUPS_MAX	1024

/* What was asked for; one step per process in srun and in slurmstepd. */
static bool requested;
static int request;
static bool job_requested;
static enum place_job job_request;
/* Of both sides; what is allowed is known on the node alone. */
static struct share share;
static struct stop stop;
/* On the node: may the step run, what it gets, and our own cgroup for it; "" is Slurm's, or none. */
static bool allowed;
static bool placed;
static int placing;
static enum place_job placing_job;
static char own_cgroup[PATH_MAX];
/* What the step's cgroups have used is added to the job's comment; what has been, and how many tasks have not ended yet. */
static bool accounting;
static char step_directory[PATH_MAX];
static uint64_t cgroups[CGROUPS_MAX];
static int nr_cgroups;
static struct gpreempt_queue_usage noted;
static uint32_t nr_tasks;

static int job_option(int value, const char *text, int remote)
{
	(void)value;
	(void)remote;
	if (!text || !place_parse_job(text, &job_request)) {
		slurm_error(ME "--gpu-job=%s: not leave, stay or none", text ? text : "");
		return -1;
	}
	job_requested = true;
	return 0;
}

static int share_option(const char *name, const char *text)
{
	char why[PARSE_WHY];

	if (share_ask(&share, name, text ? text : "", why))
		return 0;
	slurm_error(ME "--gpu-share-%s: %s", name, why);
	return -1;
}

static int weight_option(int value, const char *text, int remote)
{
	(void)value;
	(void)remote;
	return share_option("weight", text);
}

static int least_option(int value, const char *text, int remote)
{
	(void)value;
	(void)remote;
	return share_option("min", text);
}

static int most_option(int value, const char *text, int remote)
{
	(void)value;
	(void)remote;
	return share_option("max", text);
}

static int stop_option(int value, const char *text, int remote)
{
	(void)value;
	(void)remote;
	if (text && stop_ask(&stop, text))
		return 0;
	slurm_error(ME "--gpu-follow-stop=%s: not always, never or node", text ? text : "");
	return -1;
}

static int option(int value, const char *text, int remote)
{
	(void)value;
	(void)remote;
	if (!text || !parse_priority(text, &request)) {
		slurm_error(ME "--gpu-priority=%s: not latency, normal, batch or a number from %d to %d", text ? text : "",
			    GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX);
		return -1;
	}
	requested = true;
	return 0;
}

static struct spank_option options[] = {
	{
		.name = "gpu-priority",
		.arginfo = "latency|normal|batch|N",
		.usage = "place of the job's compute queues on GPUs with kfd_gpreempt: -1023..1023, 7 is normal",
		.has_arg = 1,
		.cb = option,
	},
	{
		.name = "gpu-job",
		.arginfo = "leave|stay|none",
		.usage = "tasks of a step wait for each other: they leave GPUs with kfd_gpreempt and come back together",
		.has_arg = 1,
		.cb = job_option,
	},
	{
		.name = "gpu-share-weight",
		.arginfo = "N",
		.usage = "a step's part of each GPU's time beside other groups: 1..10000, 100 is normal",
		.has_arg = 1,
		.cb = weight_option,
	},
	{
		.name = "gpu-share-min",
		.arginfo = "PERCENT",
		.usage = "so much of each GPU's time a step with work has at least: 20",
		.has_arg = 1,
		.cb = least_option,
	},
	{
		.name = "gpu-share-max",
		.arginfo = "PERCENT|QUOTA_US/PERIOD_US|none",
		.usage = "so much of each GPU's time a step has at most: 30, 5000/50000",
		.has_arg = 1,
		.cb = most_option,
	},
	{
		.name = "gpu-follow-stop",
		.arginfo = "always|never|node",
		.usage = "does a step leave the GPUs while it is suspended, or as their nodes are told?",
		.has_arg = 1,
		.cb = stop_option,
	},
	SPANK_OPTIONS_TABLE_END
};

int slurm_spank_init(spank_t sp, int ac, char **av)
{
	size_t i;

	(void)ac;
	(void)av;
	for (i = 0; options[i].name; i++)
		if (spank_option_register(sp, &options[i]) != ESPANK_SUCCESS)
			return -1;
	return 0;
}

/* Does a word of plugstack.conf speak of this: "partition:" and its name? Return: what follows "=", or NULL. */
static const char *about(const char *word, const char *kind, const char *name)
{
	size_t length = strlen(kind);

	if (!name || strncmp(word, kind, length) || strncmp(word + length, name, strlen(name)) || word[length + strlen(name)] != '=')
		return NULL;
	return word + length + strlen(name) + 1;
}

/* Bounds for a job. Return: false if plugstack.conf is wrong, which has been said. */
static bool bounds_of(const char *partition, const char *qos, int ac, char **av, struct place_bounds *bounds)
{
	struct place_bounds these;
	const char *text;
	int i;

	*bounds = (struct place_bounds){ GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX };
	for (i = 0; i < ac; i++) {
		text = strchr(av[i], '=');
		if (!strncmp(av[i], "job=", 4) || !strncmp(av[i], "share:", 6) ||
		    !strncmp(av[i], "follow_stop=", 12) || !strncmp(av[i], "account=", 8))
			continue;
		if ((strncmp(av[i], "all=", 4) && strncmp(av[i], "partition:", 10) && strncmp(av[i], "qos:", 4)) || !text ||
		    !place_parse_bounds(text + 1, &these)) {
			slurm_error(ME "plugstack.conf: %s: not all=, partition:NAME= or qos:NAME= with FLOOR..CEILING, job=, share:CLASS=, follow_stop= or account=", av[i]);
			return false;
		}
		if (about(av[i], "all", "") || about(av[i], "partition:", partition) || about(av[i], "qos:", qos))
			*bounds = place_narrow(*bounds, these);
	}
	return true;
}

/* Are the tasks of a step a job, if nothing else was asked for? Return: false if plugstack.conf is wrong, which has been said. */
static bool job_of(int ac, char **av, enum place_job *job)
{
	int i;

	*job = PLACE_JOB_NONE;
	for (i = 0; i < ac; i++) {
		if (!strncmp(av[i], "job=", 4) && !place_parse_job(av[i] + 4, job)) {
			slurm_error(ME "plugstack.conf: %s: not job=leave, job=stay or job=none", av[i]);
			return false;
		}
	}
	return true;
}

/* Return: false if plugstack.conf is wrong, which has been said. */
static bool stops_of(int ac, char **av, unsigned int *follow_stop)
{
	int i;

	*follow_stop = GPREEMPT_FOLLOW_STOP_NODE;
	for (i = 0; i < ac; i++) {
		if (!strncmp(av[i], "follow_stop=", 12) && !parse_follow_stop(av[i] + 12, follow_stop)) {
			slurm_error(ME "plugstack.conf: %s: not follow_stop=always, follow_stop=never or follow_stop=node", av[i]);
			return false;
		}
	}
	return true;
}

/* Is it noted what a step uses? Return: false if plugstack.conf is wrong, which has been said. */
static bool accounting_of(int ac, char **av, bool *on)
{
	int i;

	*on = false;
	for (i = 0; i < ac; i++) {
		if (strncmp(av[i], "account=", 8))
			continue;
		*on = !strcmp(av[i] + 8, "admincomment");
		if (!*on && strcmp(av[i] + 8, "none")) {
			slurm_error(ME "plugstack.conf: %s: not account=admincomment or account=none", av[i]);
			return false;
		}
	}
	return true;
}

/* Words share:CLASS=weight=N,min=PERCENT,max=PERCENT. Return: false if one is wrong, which has been said. */
static bool by_class(int ac, char **av, int priority)
{
	char class[64], why[PARSE_WHY];
	const char *words;
	int i;

	memset(&share.given, 0, sizeof(share.given));
	for (i = 0; i < ac; i++) {
		if (strncmp(av[i], "share:", 6))
			continue;
		words = strchr(av[i], '=');
		words = words && sscanf(av[i], "%*[^:]:%63[^=]=", class) == 1 && place_is_class(class) ? words + 1 : NULL;
		why[0] = '\0';
		if (!words || !share_give(&share, words, place_is_of(priority, class), why)) {
			slurm_error(ME "plugstack.conf: %s: not share:CLASS=weight=N,min=PERCENT,max=PERCENT%s%s", av[i], why[0] ? ": " : "", why);
			return false;
		}
	}
	return true;
}

/* What the job's step is to have. Return: 0, or -1 after the reason was said. */
static int decide(spank_t sp, int ac, char **av, int *priority)
{
	struct place_bounds bounds;
	job_info_msg_t *jobs;
	const char *partition, *qos;
	uint32_t job;
	int status = -1;

	if (!job_of(ac, av, &placing_job) || !accounting_of(ac, av, &accounting) || !stops_of(ac, av, &stop.given) || spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS)
		return -1;
	if (job_requested)
		placing_job = job_request;
	if (slurm_load_job(&jobs, job, SHOW_ALL) || !jobs->record_count) {
		slurm_error(ME "slurmctld does not tell what job %u is", job);
		return -1;
	}
	partition = jobs->job_array[0].partition;
	qos = jobs->job_array[0].qos;
	if (!bounds_of(partition, qos, ac, av, &bounds))
		goto out;
	*priority = requested ? request : GPREEMPT_PRIORITY_NORMAL;
	if (requested && request != place_clamp(bounds, request)) {
		slurm_error(ME "--gpu-priority: %d is %s than what partition %s%s%s allows: %d to %d", request,
			    request > bounds.ceiling ? "more" : "less", partition ? partition : "(none)", qos ? " and QOS " : "",
			    qos ? qos : "", bounds.floor, bounds.ceiling);
		goto out;
	}
	*priority = place_clamp(bounds, *priority);
	status = by_class(ac, av, *priority) ? 0 : -1;
out:
	slurm_free_job_info_msg(jobs);
	return status;
}

/* In srun, once there is a job. */
int slurm_spank_local_user_init(spank_t sp, int ac, char **av)
{
	int priority;

	return decide(sp, ac, av, &priority);
}

/*
 * In slurmstepd, as root, before the tasks. A batch script has not been through srun. From Slurm 24.11
 * on slurmstepd ends when a plugin asks slurmctld later, while it has dropped its privileges.
 */
int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	if (spank_remote(sp))
		allowed = !decide(sp, ac, av, &placing);
	return 0;
}

static const char *reason(int error)
{
	return error == -ENOENT ? NO_MODULE : error == -ENOTTY ? "this node's module knows of no jobs" : strerror(-error);
}

/* For something that takes the module */
static bool asked(void)
{
	return requested || (job_requested && placing_job != PLACE_JOB_NONE) || share_is_asked_for(&share) || stop.is_asked;
}

/* In slurmstepd, where a refusal ends the step alone. */
int slurm_spank_user_init(spank_t sp, int ac, char **av)
{
	const char *what = requested ? "--gpu-priority" : share_is_asked_for(&share) ? SHARE_OPTIONS : stop.is_asked ? "--gpu-follow-stop" : "--gpu-job";
	int error;

	(void)ac;
	(void)av;
	if (!spank_remote(sp))
		return 0;
	if (!allowed)
		return -1;
	placed = requested || placing != GPREEMPT_PRIORITY_NORMAL;
	error = asked() ? place_available() : 0;
	if (error)
		slurm_error(ME "%s: %s", what, reason(error));
	return error ? -1 : 0;
}

static bool write_pid(const char *directory, pid_t pid)
{
	char name[PATH_MAX + 16];
	bool good;
	FILE *f;

	snprintf(name, sizeof(name), "%s/cgroup.procs", directory);
	f = fopen(name, "we");
	if (!f)
		return false;
	good = fprintf(f, "%d\n", pid) > 0;
	return !fclose(f) && good;
}

/* The cgroup of the step that the task is in, or one of ours. Return: 0 or a negative errno. */
static int step_cgroup(spank_t sp, pid_t pid, char *directory, size_t size)
{
	char root[PATH_MAX / 2], path[PATH_MAX / 2], *step, *end;
	uint32_t job, number;
	int error = place_cgroup_root(root, sizeof(root));

	if (!error)
		error = place_cgroup_of(pid, path, sizeof(path));
	if (error)
		return error;
	/* .../job_5/step_0/user/task_0 */
	step = strstr(path, "/job_") ? strstr(strstr(path, "/job_"), "/step_") : NULL;
	if (step) {
		end = strchr(step + 1, '/');
		if (end)
			*end = '\0';
		return (size_t)snprintf(directory, size, "%s%s", root, path) < size ? 0 : -ENAMETOOLONG;
	}
	if (spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS || spank_get_item(sp, S_JOB_STEPID, &number) != ESPANK_SUCCESS)
		return -EINVAL;
	snprintf(own_cgroup, sizeof(own_cgroup), "%s/kfd_gpreempt", root);
	if (mkdir(own_cgroup, 0755) && errno != EEXIST)
		return -errno;
	snprintf(own_cgroup, sizeof(own_cgroup), "%s/kfd_gpreempt/job_%u_step_%u", root, job, number);
	if (mkdir(own_cgroup, 0755) && errno != EEXIST)
		return -errno;
	if (!write_pid(own_cgroup, pid))
		return -errno;
	return (size_t)snprintf(directory, size, "%s", own_cgroup) < size ? 0 : -ENAMETOOLONG;
}

/* Without cgroup v2, what is below the task inherits its job, which has the step's number. */
static int set_tree_job(spank_t sp, pid_t pid)
{
	uint32_t job, step;

	if (spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS || spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
		return -EINVAL;
	return place_set_tree_job(pid, ((uint64_t)job << 32 | step) & (PLACE_NUMBERS - 1), placing_job);
}

/* @what: out: what could not be set, if it could not. Return: 0 or a negative errno. */
static int give_place(spank_t sp, pid_t pid, const char **what)
{
	char directory[PATH_MAX];
	int no_cgroup = step_cgroup(sp, pid, directory, sizeof(directory)), error = no_cgroup == -ENOENT ? 0 : no_cgroup;

	*what = "the priority";
	/* Without cgroup v2, what is below the task inherits it. */
	if (!error && placed)
		error = no_cgroup ? place_set_tree(pid, placing) : place_set(directory, placing);
	if (error)
		return error;
	*what = "the step's job";
	error = no_cgroup ? set_tree_job(sp, pid) : place_set_job(directory, placing_job);
	/* A module that is older than jobs: what plugstack.conf says is no condition. */
	return error == -ENOTTY && !job_requested ? 0 : error;
}

/* Return: 0; -1: the step asked for it, and does not get it, which has been said. */
static int give_time(const char *directory)
{
	char why[SHARE_WHY];
	int error = share_set(directory, &share, why);

	if (share_matters(&share, error))
		slurm_error(ME "%s: %s", share_is_asked_for(&share) ? SHARE_OPTIONS : "share", why);
	return error && share_is_asked_for(&share) ? -1 : 0;
}

/* As give_time() */
static int tell_stops(const char *directory)
{
	char why[STOP_WHY];
	int error = stop_set(directory, &stop, why);

	if (stop_matters(&stop, error))
		slurm_error(ME "%s: %s", stop.is_asked ? "--gpu-follow-stop" : "follow_stop", why);
	return error && stop.is_asked ? -1 : 0;
}

/* What its cgroup has of the GPUs beside a priority. Return: as give_time(). */
static int give_parts(spank_t sp, pid_t pid)
{
	char directory[PATH_MAX];
	int no_cgroup = step_cgroup(sp, pid, directory, sizeof(directory));
	const char *of = no_cgroup ? NULL : directory;

	if (no_cgroup && no_cgroup != -ENOENT) {
		slurm_error(ME "the step's cgroup: %s", strerror(-no_cgroup));
		return share_is_asked_for(&share) || stop.is_asked ? -1 : 0;
	}
	return give_time(of) || tell_stops(of) ? -1 : 0;
}

static void know_cgroup(uint64_t id)
{
	int i;

	for (i = 0; i < nr_cgroups && cgroups[i] != id; i++)
		;
	if (i == nr_cgroups && nr_cgroups < CGROUPS_MAX)
		cgroups[nr_cgroups++] = id;
}

/* A cgroup's number is the inode of its directory. */
static void know_cgroups_below(const char *directory)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *folder = opendir(directory);
	struct stat stat;

	if (folder && !fstat(dirfd(folder), &stat))
		know_cgroup(stat.st_ino);
	while (folder && (entry = readdir(folder)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) < sizeof(path))
			know_cgroups_below(path);
	if (folder)
		closedir(folder);
}

/* A task's cgroup may be gone when the task is. */
static void account_for(spank_t sp, pid_t pid)
{
	int error = step_cgroup(sp, pid, step_directory, sizeof(step_directory));

	nr_tasks++;
	if (error) {
		slurm_error(ME "account=: this node has no cgroup for the step: %s", strerror(-error));
		accounting = false;
		return;
	}
	know_cgroups_below(step_directory);
}

static void add_usage(struct gpreempt_queue_usage *sum, const struct gpreempt_queue_usage *usage)
{
	sum->busy_ns += usage->busy_ns;
	sum->waiting_ns += usage->waiting_ns;
	sum->preempted_ns += usage->preempted_ns;
	sum->wave_us += usage->wave_us;
}

/* What the step has used of all GPUs since that was noted last. Return: is it anything? */
static bool unnoted(struct gpreempt_queue_usage *used)
{
	struct gpreempt_usage_info *entries = NULL;
	struct gpreempt *g;
	int i, k, nr;

	*used = (struct gpreempt_queue_usage){ 0 };
	/* A node without the module has no GPU to account for. */
	if (gpreempt_open(&g))
		return false;
	nr = gpreempt_list_usage(g, 1U << GPREEMPT_USAGE_CGROUP, 0, &entries, NULL);
	gpreempt_close(g);
	for (i = 0; i < nr; i++) {
		for (k = 0; k < nr_cgroups && cgroups[k] != entries[i].cgroup; k++)
			;
		if (k < nr_cgroups)
			add_usage(used, &entries[i].usage);
	}
	free(entries);
	used->busy_ns -= noted.busy_ns;
	used->waiting_ns -= noted.waiting_ns;
	used->preempted_ns -= noted.preempted_ns;
	used->wave_us -= noted.wave_us;
	return used->busy_ns || used->waiting_ns;
}

/* A job's comment, to be freed; NULL: slurmctld does not tell. */
static char *comment_of(uint32_t job)
{
	job_info_msg_t *jobs;
	char *comment;

	if (slurm_load_job(&jobs, job, SHOW_ALL))
		return NULL;
	comment = strdup(jobs->record_count && jobs->job_array[0].admin_comment ? jobs->job_array[0].admin_comment : "");
	slurm_free_job_info_msg(jobs);
	return comment;
}

static bool set_comment(uint32_t job, char *comment)
{
	job_desc_msg_t change;

	slurm_init_job_desc_msg(&change);
	change.job_id = job;
	change.admin_comment = comment;
	return !slurm_update_job(&change);
}

/* Has another node, which had read the comment before, written over ours? @text: what was written */
static bool written_over(uint32_t job, const char *node, const char *text)
{
	char *comment;
	bool there;

	usleep(NOTE_WAIT_US);
	comment = comment_of(job);
	there = !comment || note_has(comment, node, text);
	free(comment);
	return !there;
}

/* Return: was it added? */
static bool add_note(uint32_t job, const char *node, bool alone, const struct gpreempt_queue_usage *used)
{
	bool good = true, lost = true;
	char *comment, *text;
	int tries;

	for (tries = 0; good && lost && tries < NOTE_TRIES; tries++) {
		comment = comment_of(job);
		text = comment ? note_add(comment, node, used) : NULL;
		good = text && set_comment(job, text);
		lost = good && !alone && written_over(job, node, text);
		free(comment);
		free(text);
	}
	return good && !lost;
}

/* Before slurmctld is told that the tasks have ended: a job that has is not changed any more. */
static void note_usage(spank_t sp)
{
	struct gpreempt_queue_usage used;
	uint32_t job, nr_nodes = 1;
	char node[HOST_NAME_MAX + 1];
	int lock;

	if (!accounting || !unnoted(&used) || spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS || gethostname(node, sizeof(node)))
		return;
	node[strcspn(node, ".: ")] = '\0';
	spank_get_item(sp, S_JOB_NNODES, &nr_nodes);
	lock = open(NOTE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock >= 0)
		flock(lock, LOCK_EX);
	if (add_note(job, node, nr_nodes == 1, &used))
		add_usage(&noted, &used);
	else
		slurm_error(ME "AdminComment of job %u does not say what it has used of GPUs here: %s", job, slurm_strerror(errno));
	if (lock >= 0)
		close(lock);
}

/* Still root, and the task waits until this returns. */
int slurm_spank_task_post_fork(spank_t sp, int ac, char **av)
{
	const char *what;
	pid_t pid;
	int error;

	(void)ac;
	(void)av;
	if (spank_get_item(sp, S_TASK_PID, &pid) != ESPANK_SUCCESS)
		return 0;
	if (accounting)
		account_for(sp, pid);
	if ((share.asked.named || share.given.named || stop_is_for(&stop)) && give_parts(sp, pid))
		return -1;
	if (!placed && placing_job == PLACE_JOB_NONE)
		return 0;
	error = give_place(sp, pid, &what);
	/* A node without the module: who asked for nothing is not to suffer. */
	if (!error || (error == -ENOENT && !asked()))
		return 0;
	slurm_error(ME "%s could not be set: %s", what, reason(error));
	return asked() ? -1 : 0;
}

/* In slurmstepd, as root; a task has ended. */
int slurm_spank_task_exit(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (!accounting || !nr_tasks || --nr_tasks)
		return 0;
	know_cgroups_below(step_directory);
	note_usage(sp);
	return 0;
}

int slurm_spank_exit(spank_t sp, int ac, char **av)
{
	int tries;

	(void)ac;
	(void)av;
	if (!spank_remote(sp) || !own_cgroup[0])
		return 0;
	for (tries = 0; tries < LEAVE_TRIES; tries++) {
		if (!rmdir(own_cgroup) || errno != EBUSY)
			return 0;
		usleep(LEAVE_WAIT_US);
	}
	slurm_error(ME "%s stays: a process is in it", own_cgroup);
	return 0;
}

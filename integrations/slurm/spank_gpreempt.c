// SPDX-License-Identifier: MIT
/*
 * spank_gpreempt.c - Slurm plugin: srun --gpu-priority=latency|normal|batch|N
 *	--gpu-job=leave|stay|none --gpu-share-weight=N --gpu-share-min=PERCENT
 *	--gpu-share-max=PERCENT|QUOTA_US/PERIOD_US --gpu-follow-stop=always|never|node
 *
 * In srun, sbatch and salloc: refuses what is no value of an option. On the node, as root: asks
 * slurmctld for the job's partition and QOS (the environment is the user's to write), looks at the
 * administrator's bounds, and gives the job's cgroup its place once a task is in it.
 *
 * What is refused on the node is decided before the tasks and said in task_init_privileged: there
 * it ends the step alone. A failure of init, init_post_opt, user_init or task_post_fork ends more:
 * slurmctld takes it for the node's and drains that, so these never fail. What turns out only after
 * that, when the kernel is told, ends the task before it starts.
 *
 * The job's directory, which all of its steps are below, has the class and what the administrator
 * gives; steps that ask for nothing (extern, what ssh brings) are in it. The first step that asks
 * speaks for its job on the node, and so does a batch script. Another step that asks for something
 * else has that on its own directory. With --gpu-job the tasks of a step are a job of the
 * scheduler's.
 *
 * plugstack.conf: required spank_gpreempt.so [all=FLOOR..CEILING] [partition:NAME=FLOOR..CEILING]
 *	[qos:NAME=FLOOR..CEILING] [job=leave|stay|none]
 *	[share:CLASS=weight=N,min=PERCENT,max=PERCENT]
 *	[follow_stop=always|never|node] [account=admincomment|none]
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "ctld.h"
#include "gpreempt.h"
#include "note.h"
#include "parse.h"
#include "place.h"
#include "plugstack.h"
#include "share.h"
#include "stop.h"
#include "where.h"

SPANK_PLUGIN(gpreempt, 1);

/* A function that stand-ins for Slurm need not have */
#pragma weak spank_context

#define ME		"gpreempt: "
#define SHARE_OPTIONS	"--gpu-share-weight, -min or -max"
#define NO_MODULE	"this node has no amdgpu with kfd_gpreempt"

/*
 * Steps of a node add to a comment one after the other. Nodes cannot, so each looks whether another
 * one has written over it meanwhile.
 */
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
/* What the administrator gives is known on the node alone. */
static struct share share;
static struct stop stop;
/* Why the step does not get what it asked for; "": it does. */
static char refusal[1024];
/* On the node: what plugstack.conf says, and what the step gets. */
static struct plugstack conf;
static int placing = GPREEMPT_PRIORITY_NORMAL;
static enum place_job placing_job;
/* Our own cgroups for it, if there are any */
static struct where own;
/*
 * What the step's cgroups have used is added to the job's comment; what has been, and how many
 * tasks have not ended yet.
 */
static bool accounting;
static char step_directory[PATH_MAX];
static uint64_t cgroups[CGROUPS_MAX];
static int nr_cgroups;
static struct gpreempt_queue_usage noted;
static uint32_t nr_tasks;

/* Keep why: the first reason counts. */
__attribute__((format(printf, 1, 2)))
static void spank_refuse(const char *format, ...)
{
	va_list args;

	if (refusal[0])
		return;
	va_start(args, format);
	vsnprintf(refusal, sizeof(refusal), format, args);
	va_end(args);
}

/* What an option's callback returns. On the node nothing fails before task_init_privileged. */
static int spank_option_status(int remote)
{
	if (!refusal[0] || remote)
		return 0;
	slurm_error(ME "%s", refusal);
	return -1;
}

static int spank_job_option(int value, const char *text, int remote)
{
	(void)value;
	job_requested = text && place_parse_job(text, &job_request);
	if (!job_requested)
		spank_refuse("--gpu-job=%s: not leave, stay or none", text ? text : "");
	return spank_option_status(remote);
}

static int spank_share_option(const char *name, const char *text, int remote)
{
	char why[PARSE_WHY];

	if (!share_ask(&share, name, text ? text : "", why))
		spank_refuse("--gpu-share-%s: %s", name, why);
	return spank_option_status(remote);
}

static int spank_weight_option(int value, const char *text, int remote)
{
	(void)value;
	return spank_share_option("weight", text, remote);
}

static int spank_least_option(int value, const char *text, int remote)
{
	(void)value;
	return spank_share_option("min", text, remote);
}

static int spank_most_option(int value, const char *text, int remote)
{
	(void)value;
	return spank_share_option("max", text, remote);
}

static int spank_stop_option(int value, const char *text, int remote)
{
	(void)value;
	if (!text || !stop_ask(&stop, text))
		spank_refuse("--gpu-follow-stop=%s: not always, never or node", text ? text : "");
	return spank_option_status(remote);
}

static int spank_priority_option(int value, const char *text, int remote)
{
	(void)value;
	requested = text && parse_priority(text, &request);
	if (!requested)
		spank_refuse("--gpu-priority=%s: not latency, normal, batch or a number from %d to %d",
			     text ? text : "", GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX);
	return spank_option_status(remote);
}

static struct spank_option options[] = {
	{
		.name = "gpu-priority",
		.arginfo = "latency|normal|batch|N",
		.usage = "place of the job's compute queues on GPUs with kfd_gpreempt: -1023..1023, 7 is normal",
		.has_arg = 1,
		.cb = spank_priority_option,
	},
	{
		.name = "gpu-job",
		.arginfo = "leave|stay|none",
		.usage = "tasks of a step wait for each other: they leave GPUs with kfd_gpreempt and come back together",
		.has_arg = 1,
		.cb = spank_job_option,
	},
	{
		.name = "gpu-share-weight",
		.arginfo = "N",
		.usage = "a step's part of each GPU's time beside other groups: 1..10000, 100 is normal",
		.has_arg = 1,
		.cb = spank_weight_option,
	},
	{
		.name = "gpu-share-min",
		.arginfo = "PERCENT",
		.usage = "so much of each GPU's time a step with work has at least: 20",
		.has_arg = 1,
		.cb = spank_least_option,
	},
	{
		.name = "gpu-share-max",
		.arginfo = "PERCENT|QUOTA_US/PERIOD_US|none",
		.usage = "so much of each GPU's time a step has at most: 30, 5000/50000",
		.has_arg = 1,
		.cb = spank_most_option,
	},
	{
		.name = "gpu-follow-stop",
		.arginfo = "always|never|node",
		.usage = "does a step leave the GPUs while it is suspended, or as their nodes are told?",
		.has_arg = 1,
		.cb = spank_stop_option,
	},
	SPANK_OPTIONS_TABLE_END
};

/* In srun, sbatch, salloc, slurmd and slurmstepd */
int slurm_spank_init(spank_t sp, int ac, char **av)
{
	size_t i;

	for (i = 0; options[i].name; i++)
		if (spank_option_register(sp, &options[i]) != ESPANK_SUCCESS)
			slurm_error(ME "--%s: another plugin has it", options[i].name);
	/* Mistakes are the administrator's: users are not told, and no job fails by one. */
	if (spank_context && spank_context() == S_CTX_SLURMD)
		plugstack_check(ac, av);
	return 0;
}

/* For something that takes the module. Return: what, for messages; NULL: for nothing. */
static const char *spank_asked(void)
{
	return requested ? "--gpu-priority" :
	       share_is_asked_for(&share) ? SHARE_OPTIONS :
	       stop.is_asked ? "--gpu-follow-stop" :
	       job_requested && job_request != PLACE_JOB_NONE ? "--gpu-job" : NULL;
}

static void spank_refuse_priority(const char *partition, const char *qos)
{
	if (!requested || request == place_clamp(conf.bounds, request))
		return;
	spank_refuse("--gpu-priority: %d is %s than what partition %s%s%s allows: %d to %d%s%s",
		     request, request > conf.bounds.ceiling ? "more" : "less",
		     partition ? partition : "(none)", qos ? " and QOS " : "", qos ? qos : "",
		     conf.bounds.floor, conf.bounds.ceiling,
		     conf.wrong[0] ? "; plugstack.conf has a word that says nothing: " : "",
		     conf.wrong);
}

/* What it asks for beside a priority, against what the administrator gives */
static void spank_refuse_parts(void)
{
	char why[SHARE_WHY];

	if (share_is_asked_for(&share) && conf.wrong[0])
		spank_refuse(SHARE_OPTIONS ": plugstack.conf has a word that says nothing, so that "
			     "their bounds are not known: %s; no share is in force", conf.wrong);
	if (share_check(&share, why))
		spank_refuse(SHARE_OPTIONS ": %s", why);
	if (stop_check(&stop, why))
		spank_refuse("--gpu-follow-stop: %s", why);
}

/* What the job's step is to have, and whether it may */
static void spank_decide(spank_t sp, int ac, char **av)
{
	const char *what = spank_asked(), *partition = NULL, *qos = NULL;
	job_info_msg_t *jobs = NULL;
	uint32_t job = 0;

	if (spank_get_item(sp, S_JOB_ID, &job) == ESPANK_SUCCESS)
		jobs = ctld_load_job(job);
	if (jobs) {
		partition = jobs->job_array[0].partition;
		qos = jobs->job_array[0].qos;
	} else if (what) {
		spank_refuse("%s: slurmctld does not tell what job %u is, so that its bounds are not "
			     "known", what, job);
	}
	plugstack_read(ac, av, partition, qos, &conf);
	placing = place_clamp(conf.bounds, requested ? request : GPREEMPT_PRIORITY_NORMAL);
	placing_job = job_requested ? job_request : conf.job;
	plugstack_shares(ac, av, placing, &share);
	stop.given = conf.follow_stop;
	accounting = conf.accounting;
	spank_refuse_priority(partition, qos);
	spank_refuse_parts();
	if (jobs)
		slurm_free_job_info_msg(jobs);
}

static const char *spank_reason(int error)
{
	return error == -ENOENT ? NO_MODULE :
	       error == -ENOTTY ? "this node's module knows of no jobs" : strerror(-error);
}

/* Does this node have what the step asks for? Asked as root: the step's user need not reach it. */
static void spank_refuse_node(void)
{
	const char *what = spank_asked();
	int error = what ? place_available() : 0;
	char root[PATH_MAX], why[SHARE_WHY];

	if (error)
		spank_refuse("%s: %s", what, spank_reason(error));
	if (!place_cgroup_root(root, sizeof(root)))
		return;
	if (share_is_asked_for(&share) && share_set(NULL, &share, why))
		spank_refuse(SHARE_OPTIONS ": %s", why);
	if (stop.is_asked && stop_set(NULL, &stop, why))
		spank_refuse("--gpu-follow-stop: %s", why);
}

/*
 * In slurmstepd, as root, before the tasks. From Slurm 24.11 on slurmstepd ends when a plugin asks
 * slurmctld later, while it has dropped its privileges.
 */
int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	if (!spank_remote(sp))
		return 0;
	spank_decide(sp, ac, av);
	spank_refuse_node();
	if (!refusal[0])
		return 0;
	/* Where plugstack.conf says "optional" it runs all the same: as if it had not asked. */
	requested = job_requested = stop.is_asked = false;
	memset(&share.asked, 0, sizeof(share.asked));
	placing_job = conf.job;
	return 0;
}

/* Nothing: it may not open the device, and failing drains the node. Stand-ins for Slurm call it. */
int slurm_spank_user_init(spank_t sp, int ac, char **av)
{
	(void)sp;
	(void)ac;
	(void)av;
	return 0;
}

/* In a task, as root, before its program: what fails here is the task, and its output says why. */
int slurm_spank_task_init_privileged(spank_t sp, int ac, char **av)
{
	int task;

	(void)ac;
	(void)av;
	if (!refusal[0])
		return 0;
	/* Once a node */
	if (spank_get_item(sp, S_TASK_ID, &task) != ESPANK_SUCCESS || !task)
		slurm_error(ME "%s", refusal);
	return -1;
}

/* Its cgroups. Return: as where_find(). */
static int spank_where(spank_t sp, pid_t pid, bool move, struct where *where)
{
	uint32_t job, step;
	int error;

	if (spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
		return -EINVAL;
	error = where_find(pid, job, step, move, where);
	if (!error && where->own)
		own = *where;
	return error;
}

/* Without cgroup v2, what is below the task inherits its job, which has the step's number. */
static int spank_set_tree_job(spank_t sp, pid_t pid)
{
	uint32_t job, step;

	if (spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
		return -EINVAL;
	return place_set_tree_job(pid, ((uint64_t)job << 32 | step) & (PLACE_NUMBERS - 1),
				  placing_job);
}

/* Return: false: the step asked for it, and does not get it. What is wrong has been said. */
static bool spank_give_priority(const char *directory, pid_t pid)
{
	int error;

	if (!requested && placing == GPREEMPT_PRIORITY_NORMAL)
		return true;
	/* Without cgroup v2, what is below the task inherits it. */
	error = directory ? place_set(directory, placing) : place_set_tree(pid, placing);
	/* A node without the module: who asked for nothing is not to suffer. */
	if (!error || (error == -ENOENT && !requested))
		return true;
	slurm_error(ME "the priority could not be set: %s", spank_reason(error));
	return !requested;
}

/* As spank_give_priority() */
static bool spank_give_job(spank_t sp, const char *directory, pid_t pid)
{
	int error = directory ? place_set_job(directory, placing_job) : spank_set_tree_job(sp, pid);

	/* A module that is older than jobs: what plugstack.conf says is no condition. */
	if (!error || ((error == -ENOENT || error == -ENOTTY) && !job_requested))
		return true;
	slurm_error(ME "the step's job could not be set: %s", spank_reason(error));
	return !job_requested;
}

/* As spank_give_priority() */
static bool spank_give_time(const char *directory)
{
	char why[SHARE_WHY];
	int error = share_set(directory, &share, why);

	if (share_matters(&share, error))
		slurm_error(ME "%s: %s", share_is_asked_for(&share) ? SHARE_OPTIONS : "share", why);
	return !error || !share_is_asked_for(&share);
}

/* As spank_give_priority() */
static bool spank_tell_stops(const char *directory)
{
	char why[STOP_WHY];
	int error = stop_set(directory, &stop, why);

	if (stop_matters(&stop, error))
		slurm_error(ME "%s: %s", stop.is_asked ? "--gpu-follow-stop" : "follow_stop", why);
	return !error || !stop.is_asked;
}

/* Where it stands what the step gets; NULL: it asks for nothing, and another speaks for the job. */
static const char *spank_directory(const struct where *where, uint32_t step)
{
	if (spank_asked() || step == SLURM_BATCH_SCRIPT || step == SLURM_INTERACTIVE_STEP)
		return where_speaks(where, step) ? where->job : where->step;
	return where_is_spoken_for(where) ? NULL : where->job;
}

/* Is there anything for the step or its job? */
static bool spank_gives(void)
{
	return spank_asked() || placing != GPREEMPT_PRIORITY_NORMAL || placing_job != PLACE_JOB_NONE ||
	       share.given.named || stop_is_for(&stop);
}

/* Return: as spank_give_priority(). */
static bool spank_give(spank_t sp, pid_t pid, bool is_task)
{
	const char *directory = NULL;
	struct where where;
	uint32_t step = 0;
	int error;
	bool good;

	error = spank_where(sp, pid, is_task && spank_gives(), &where);
	/* What is below the extern step's slurmstepd is not of the job: that takes a cgroup. */
	if (error && (!is_task || !spank_gives()))
		return true;
	if (error && error != -ENOENT) {
		slurm_error(ME "the step's cgroup: %s", strerror(-error));
		return !spank_asked();
	}
	spank_get_item(sp, S_JOB_STEPID, &step);
	if (!error)
		directory = spank_directory(&where, step);
	good = !is_task || spank_give_job(sp, error ? NULL : where.step, pid);
	if (!error && !directory)
		return good;
	return spank_give_priority(directory, pid) && spank_give_time(directory) &&
	       spank_tell_stops(directory) && good;
}

static void spank_know_cgroup(uint64_t id)
{
	int i;

	for (i = 0; i < nr_cgroups && cgroups[i] != id; i++)
		;
	if (i == nr_cgroups && nr_cgroups < CGROUPS_MAX)
		cgroups[nr_cgroups++] = id;
}

/* A cgroup's number is the inode of its directory. */
static void spank_know_cgroups_below(const char *directory)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *folder = opendir(directory);
	struct stat stat;

	if (folder && !fstat(dirfd(folder), &stat))
		spank_know_cgroup(stat.st_ino);
	while (folder && (entry = readdir(folder)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) < sizeof(path))
			spank_know_cgroups_below(path);
	if (folder)
		closedir(folder);
}

/* A task's cgroup may be gone when the task is. */
static void spank_account_for(spank_t sp, pid_t pid)
{
	struct where where;
	int error = spank_where(sp, pid, true, &where);

	nr_tasks++;
	if (error) {
		slurm_error(ME "account=: this node has no cgroup for the step: %s", strerror(-error));
		accounting = false;
		return;
	}
	snprintf(step_directory, sizeof(step_directory), "%s", where.step);
	spank_know_cgroups_below(step_directory);
}

static void spank_add_usage(struct gpreempt_queue_usage *sum,
			    const struct gpreempt_queue_usage *usage)
{
	sum->busy_ns += usage->busy_ns;
	sum->waiting_ns += usage->waiting_ns;
	sum->preempted_ns += usage->preempted_ns;
	sum->wave_us += usage->wave_us;
}

/* What the step has used of all GPUs since that was noted last. Return: is it anything? */
static bool spank_unnoted(struct gpreempt_queue_usage *used)
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
			spank_add_usage(used, &entries[i].usage);
	}
	free(entries);
	used->busy_ns -= noted.busy_ns;
	used->waiting_ns -= noted.waiting_ns;
	used->preempted_ns -= noted.preempted_ns;
	used->wave_us -= noted.wave_us;
	return used->busy_ns || used->waiting_ns;
}

/* A job's comment, to be freed; NULL: slurmctld does not tell. */
static char *spank_comment_of(uint32_t job)
{
	job_info_msg_t *jobs = ctld_load_job(job);
	char *comment;

	if (!jobs)
		return NULL;
	comment = jobs->job_array[0].admin_comment;
	comment = strdup(comment ? comment : "");
	slurm_free_job_info_msg(jobs);
	return comment;
}

/* Has another node, which had read the comment before, written over ours? @text: what we wrote */
static bool spank_written_over(uint32_t job, const char *node, const char *text)
{
	char *comment;
	bool there;

	usleep(NOTE_WAIT_US);
	comment = spank_comment_of(job);
	there = !comment || note_has(comment, node, text);
	free(comment);
	return !there;
}

/* Return: was it added? */
static bool spank_add_note(uint32_t job, const char *node, bool alone,
			   const struct gpreempt_queue_usage *used)
{
	bool good = true, lost = true;
	char *comment, *text;
	int tries;

	for (tries = 0; good && lost && tries < NOTE_TRIES; tries++) {
		comment = spank_comment_of(job);
		if (comment && !note_has_room(comment)) {
			slurm_error(ME "AdminComment of job %u is JSON without room for a key, and stays", job);
			free(comment);
			return true;
		}
		text = comment ? note_add(comment, node, used) : NULL;
		good = text && ctld_set_comment(job, text);
		lost = good && !alone && spank_written_over(job, node, text);
		free(comment);
		free(text);
	}
	return good && !lost;
}

/* Before slurmctld is told that the tasks have ended: a job that has is not changed any more. */
static void spank_note_usage(spank_t sp)
{
	struct gpreempt_queue_usage used;
	uint32_t job, nr_nodes = 1;
	char node[HOST_NAME_MAX + 1];
	int lock;

	if (!accounting || !spank_unnoted(&used) ||
	    spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS || gethostname(node, sizeof(node)))
		return;
	node[strcspn(node, ".: ")] = '\0';
	spank_get_item(sp, S_JOB_NNODES, &nr_nodes);
	lock = open(NOTE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock >= 0)
		flock(lock, LOCK_EX);
	if (spank_add_note(job, node, nr_nodes == 1, &used))
		spank_add_usage(&noted, &used);
	else
		slurm_error(ME "AdminComment of job %u does not say what it has used of GPUs here: %s", job, slurm_strerror(errno));
	if (lock >= 0)
		close(lock);
}

/* In slurmstepd, as root; the task waits until this returns. The extern step has no task. */
int slurm_spank_task_post_fork(spank_t sp, int ac, char **av)
{
	bool is_task;
	pid_t pid;

	(void)ac;
	(void)av;
	is_task = spank_get_item(sp, S_TASK_PID, &pid) == ESPANK_SUCCESS;
	if (!is_task)
		pid = getpid();
	if (is_task && accounting)
		spank_account_for(sp, pid);
	/* A failure of this function would drain the node. */
	if (!spank_give(sp, pid, is_task) && is_task)
		kill(pid, SIGKILL);
	return 0;
}

/* In slurmstepd, as root; a task has ended. */
int slurm_spank_task_exit(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (!accounting || !nr_tasks || --nr_tasks)
		return 0;
	spank_know_cgroups_below(step_directory);
	spank_note_usage(sp);
	return 0;
}

int slurm_spank_exit(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (spank_remote(sp) && own.own && !where_leave(&own))
		slurm_error(ME "%s stays: a process is in it", own.step);
	return 0;
}

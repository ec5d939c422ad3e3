// SPDX-License-Identifier: MIT
/*
 * step.c - a step as Slurm's plugin sees it, without Slurm: for tests of what the plugin does on a node
 *
 *	step [--OPTION=VALUE...] [WORD...]
 *
 * Options are srun's, words those of plugstack.conf. The step is number $STEP or 0 of job 5, its task process 4711, in partition main. With $EXTERN it
 * is the extern step, which has no task; slurmstepd itself is process 4711 then. With $SILENT slurmctld does not answer. With $SLURMD the plugin is
 * loaded by slurmd, and no more. What the plugin says goes to stderr. Exit status: 0, or what became of it: 1 the task is refused, 2 it is killed
 * before it starts, 3 more than the task fails, which would drain the node.
 *
 * Marks of cgroups are lines of $MACHINE/marks: DIRECTORY NUMBER.
 *
 * With $COMMENT, a file that is the job's AdminComment, the step has $TASKS tasks, which end. It is on $NODES nodes. What $OTHER says another node
 * writes over the first note. slurmctld takes its time, and with $REFUSES changes nothing.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

int slurm_spank_init(spank_t sp, int ac, char **av);
int slurm_spank_init_post_opt(spank_t sp, int ac, char **av);
int slurm_spank_user_init(spank_t sp, int ac, char **av);
int slurm_spank_task_init_privileged(spank_t sp, int ac, char **av);
int slurm_spank_task_post_fork(spank_t sp, int ac, char **av);
int slurm_spank_task_exit(spank_t sp, int ac, char **av);
int slurm_spank_exit(spank_t sp, int ac, char **av);

static struct spank_option *registered[16];
static int nr_registered;
static bool killed;

/* Of libc: the task is no process of this machine. */
int kill(pid_t pid, int signal)
{
	killed = pid == 4711 && signal == SIGKILL;
	return 0;
}

pid_t getpid(void)
{
	return getenv("EXTERN") ? 4711 : 4710;
}

/* Of a cgroup's mark; "r+" with lines to be read, "a" to add one */
static FILE *marks(const char *mode)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s/marks", getenv("MACHINE"));
	return fopen(name, mode);
}

ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
	char marked[PATH_MAX];
	uint32_t number;
	FILE *file = marks("r");
	bool found = false;

	(void)name;
	while (file && !found && fscanf(file, "%4095s %u", marked, &number) == 2)
		found = !strcmp(marked, path);
	if (file)
		fclose(file);
	if (found && size)
		memcpy(value, &number, sizeof(number));
	errno = ENODATA;
	return found ? (ssize_t)sizeof(number) : -1;
}

int setxattr(const char *path, const char *name, const void *value, size_t size, int flags)
{
	FILE *file;

	(void)flags;
	if (getxattr(path, name, NULL, 0) > 0) {
		errno = EEXIST;
		return -1;
	}
	file = marks("a");
	if (!file || size != sizeof(uint32_t))
		abort();
	fprintf(file, "%s %u\n", path, *(const uint32_t *)value);
	return fclose(file);
}

spank_context_t spank_context(void)
{
	return getenv("SLURMD") ? S_CTX_SLURMD : S_CTX_REMOTE;
}

void slurm_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

spank_err_t spank_option_register(spank_t sp, struct spank_option *option)
{
	(void)sp;
	registered[nr_registered++] = option;
	return ESPANK_SUCCESS;
}

int spank_remote(spank_t sp)
{
	(void)sp;
	return 1;
}

spank_err_t spank_get_item(spank_t sp, spank_item_t item, ...)
{
	va_list args;

	(void)sp;
	if (item == S_TASK_PID && getenv("EXTERN"))
		return ESPANK_NOT_TASK;
	va_start(args, item);
	if (item == S_TASK_PID)
		*va_arg(args, pid_t *) = 4711;
	else if (item == S_JOB_NNODES)
		*va_arg(args, uint32_t *) = getenv("NODES") ? atoi(getenv("NODES")) : 1;
	else if (item == S_JOB_STEPID)
		*va_arg(args, uint32_t *) = getenv("EXTERN") ? SLURM_EXTERN_CONT : getenv("STEP") ? strtoul(getenv("STEP"), NULL, 0) : 0;
	else
		*va_arg(args, uint32_t *) = item == S_JOB_ID ? 5 : 0;
	va_end(args);
	return ESPANK_SUCCESS;
}

static char *read_comment(char *text, size_t size)
{
	FILE *file = getenv("COMMENT") ? fopen(getenv("COMMENT"), "re") : NULL;

	if (!file)
		return NULL;
	text[fread(text, 1, size - 1, file)] = '\0';
	fclose(file);
	return text;
}

/* From 26.05 on Slurm names jobs by a structure. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
#define JOB_ID		slurm_step_id_t
#define number_of(id)	((id).job_id)
#define changed(change)	((change)->step_id.job_id)
#else
#define JOB_ID		uint32_t
#define number_of(id)	(id)
#define changed(change)	((change)->job_id)
#endif

int slurm_load_job(job_info_msg_t **answer, JOB_ID job_id, uint16_t flags)
{
	static char partition[] = "main", text[4096];

	(void)flags;
	if (getenv("SILENT") || number_of(job_id) != 5)
		return -1;
	*answer = calloc(1, sizeof(**answer));
	(*answer)->record_count = 1;
	(*answer)->job_array = calloc(1, sizeof(*(*answer)->job_array));
	(*answer)->job_array[0].partition = partition;
	(*answer)->job_array[0].admin_comment = read_comment(text, sizeof(text));
	return 0;
}

void slurm_init_job_desc_msg(job_desc_msg_t *change)
{
	memset(change, 0, sizeof(*change));
}

static void write_comment(const char *text)
{
	FILE *file = fopen(getenv("COMMENT"), "we");

	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

int slurm_update_job(job_desc_msg_t *change)
{
	static bool done;

	usleep(20000);
	if (changed(change) != 5 || getenv("REFUSES")) {
		errno = EPERM;
		return -1;
	}
	write_comment(!done && getenv("OTHER") ? getenv("OTHER") : change->admin_comment);
	done = true;
	return 0;
}

char *slurm_strerror(int error)
{
	return strerror(error);
}

void slurm_free_job_info_msg(job_info_msg_t *answer)
{
	free(answer->job_array);
	free(answer);
}

/* As slurmstepd has it from the job's launch */
static int give_option(char *text)
{
	char *value = strchr(text, '=');
	int i;

	*value++ = '\0';
	for (i = 0; i < nr_registered; i++)
		if (!strcmp(registered[i]->name, text + 2))
			return registered[i]->cb(0, value, 1);
	abort();
}

/* In the order of slurmstepd; functions that drain a node by a failure are in @drain. Return: as the exit status. */
static int run(int argc, char **argv)
{
	int task, nr_tasks = getenv("TASKS") ? atoi(getenv("TASKS")) : 1, drain, refused = 0;

	drain = slurm_spank_init_post_opt(NULL, argc, argv) | slurm_spank_user_init(NULL, argc, argv);
	if (!getenv("EXTERN"))
		refused = slurm_spank_task_init_privileged(NULL, argc, argv);
	/* slurmstepd does not wait for what the task says, and goes on with "optional". */
	for (task = 0; task < nr_tasks; task++)
		drain |= slurm_spank_task_post_fork(NULL, argc, argv);
	for (task = 0; getenv("COMMENT") && task < nr_tasks; task++)
		drain |= slurm_spank_task_exit(NULL, argc, argv);
	drain |= slurm_spank_exit(NULL, argc, argv);
	return drain ? 3 : killed ? 2 : refused ? 1 : 0;
}

int main(int argc, char **argv)
{
	int i, words = 1, drain;

	while (words < argc && argv[words][0] == '-')
		words++;
	drain = slurm_spank_init(NULL, argc - words, argv + words);
	for (i = 1; i < words; i++)
		drain |= give_option(argv[i]);
	if (drain || getenv("SLURMD"))
		return drain ? 3 : 0;
	return run(argc - words, argv + words);
}

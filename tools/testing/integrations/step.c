// SPDX-License-Identifier: MIT
/*
 * step.c - a step as Slurm's plugin sees it, without Slurm: for tests of what the plugin does on a node
 *
 *	step [--OPTION=VALUE...] [WORD...]
 *
 * Options are srun's, words those of plugstack.conf. The step is number 0 of job 5, its task process 4711, in partition main. What the plugin
 * says goes to stderr. Exit status: 0, or which of its functions refused: 1 an option, 2 before the tasks, 3 a task.
 *
 * With $COMMENT, a file that is the job's AdminComment, the step has $TASKS tasks, which end. It is on $NODES nodes. What $OTHER says another node
 * writes over the first note. slurmctld takes its time, and with $REFUSES changes nothing.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

int slurm_spank_init(spank_t sp, int ac, char **av);
int slurm_spank_init_post_opt(spank_t sp, int ac, char **av);
int slurm_spank_user_init(spank_t sp, int ac, char **av);
int slurm_spank_task_post_fork(spank_t sp, int ac, char **av);
int slurm_spank_task_exit(spank_t sp, int ac, char **av);
int slurm_spank_exit(spank_t sp, int ac, char **av);

static struct spank_option *registered[16];
static int nr_registered;

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
	va_start(args, item);
	if (item == S_TASK_PID)
		*va_arg(args, pid_t *) = 4711;
	else if (item == S_JOB_NNODES)
		*va_arg(args, uint32_t *) = getenv("NODES") ? atoi(getenv("NODES")) : 1;
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

int slurm_load_job(job_info_msg_t **answer, uint32_t job_id, uint16_t flags)
{
	static char partition[] = "main", text[4096];

	(void)job_id;
	(void)flags;
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
	if (change->job_id != 5 || getenv("REFUSES")) {
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

int main(int argc, char **argv)
{
	int i, task, nr_tasks = getenv("TASKS") ? atoi(getenv("TASKS")) : 1;

	if (slurm_spank_init(NULL, 0, NULL))
		return 1;
	for (i = 1; i < argc && argv[i][0] == '-'; i++)
		if (give_option(argv[i]))
			return 1;
	if (slurm_spank_init_post_opt(NULL, argc - i, argv + i) || slurm_spank_user_init(NULL, argc - i, argv + i))
		return 2;
	for (task = 0; task < nr_tasks; task++)
		if (slurm_spank_task_post_fork(NULL, argc - i, argv + i))
			return 3;
	for (task = 0; getenv("COMMENT") && task < nr_tasks; task++)
		slurm_spank_task_exit(NULL, argc - i, argv + i);
	return getenv("COMMENT") && slurm_spank_exit(NULL, argc - i, argv + i) ? 3 : 0;
}

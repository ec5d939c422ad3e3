// SPDX-License-Identifier: MIT
/* main.c - gpreemptctl: command line, errors, exit statuses */
#include "gpreemptctl.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *argp_program_version = "gpreemptctl " VERSION " (kfd_gpreempt)";

static const char doc[] =
	"Shows and steers the preemptive scheduling of GPU compute queues.\v"
	"Commands:\n"
	"  list [-p PID [-g GPU -q QUEUE]|--cgroup DIR] [--by job]\n"
	"                                  queues: whose, how urgent, what they do; or jobs\n"
	"  why [-p PID [-g GPU -q QUEUE]|--cgroup DIR]\n"
	"                                  a sentence per queue: why it runs or does not\n"
	"  status                          nodes: what the scheduler does\n"
	"  set -p PID [-g GPU -q QUEUE] PRIORITY|CLASS|clear\n"
	"  set -p PID --tree PRIORITY|CLASS      and what is below it: a container's init\n"
	"  set --cgroup DIR PRIORITY|CLASS|clear\n"
	"  set -p PID [-g GPU -q QUEUE] weight=N|deadline_us=N|exempt=0|1|waits_for=PID|follow_stop=always|never|node...\n"
	"  set -p PID runtime=US [period=US]     reserve device time under edf; period= is the deadline\n"
	"  set --cgroup DIR follow_stop=always|never|node\n"
	"  job set -p PID [--tree] [--stay] ID         processes of one ID are decided about as one\n"
	"  job set --cgroup DIR [--stay] [ID]          those of a cgroup; ID: otherwise its inode\n"
	"  job clear -p PID|--cgroup DIR\n"
	"  job list [-p PID|--cgroup DIR]  queues of jobs\n"
	"  share set --cgroup DIR|job=ID weight=N|min=PERCENT|max=PERCENT...   of each device's time\n"
	"  share clear --cgroup DIR|job=ID\n"
	"  share list                      groups: what is set, and what they have had\n"
	"  fits [runtime=US period=US] [-p PID] [-g GPU]   what is reserved, and would that fit as well?\n"
	"  account [node|cgroup|job|process]... [-g GPU] [--csv|--prometheus] [--since FILE]\n"
	"                                  who has used how much, those that have ended included\n"
	"  run --priority N|--class C -- COMMAND...   with all its children\n"
	"  preempt -p PID [-g GPU -q QUEUE] [--unbounded] [--for SECONDS | -- COMMAND...]\n"
	"  resume -p PID [-g GPU -q QUEUE] whoever holds it\n"
	"  hint -p PID [-g GPU -q QUEUE] [--for SECONDS]    its work comes soon: clear the device\n"
	"  policy [NAME] [-g GPU]          show or choose how nodes decide\n"
	"  tune [NAME[=VALUE]...] [-g GPU] show or change tunables\n"
	"  top [--by job]                  live view (keys: q, p priority, w work, t time off, j jobs)\n"
	"  events [-n N]                   what happens, line by line\n"
	"  stats                           counters of all nodes\n"
	"  report [-g GPU]                 of nodes that observe: would it help here, what would it cost?\n"
	"  apply [FILE] [--follow|--check] do what /etc/gpreempt.conf says\n"
	"  doctor                          is everything in place? what to do?\n"
	"  probe-hang [-p PID [-g GPU -q QUEUE]] [--bound-ms N] [--preempt]\n"
	"                                  can what is busy be preempted?\n"
	"\n"
	"PRIORITY is -1023..1023, larger is more urgent, 7 is normal. CLASS is latency (100), normal (7) or batch (-100).\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 wrong usage, 3 the module is missing or not ours, 4 not allowed; run: that of COMMAND;\n"
	"probe-hang: 5 a queue does not respond, 6 of one it is not known.";

enum {
	OPT_CGROUP = 256,
	OPT_JSON,
	OPT_PROMETHEUS,
	OPT_PRIORITY,
	OPT_CLASS,
	OPT_FOR,
	OPT_UNBOUNDED,
	OPT_FOLLOW,
	OPT_CHECK,
	OPT_BOUND_MS,
	OPT_PREEMPT,
	OPT_TREE,
	OPT_STAY,
	OPT_BY,
	OPT_CSV,
	OPT_SINCE,
	OPT_JOB,
	OPT_STATE,
	OPT_SORT,
	OPT_NO_HEADERS,
};

static const struct argp_option argp_options[] = {
	{ "pid", 'p', "PID", 0, "The process; list, why, top, account, events: PID[,PID...]", 0 },
	{ "gpu", 'g', "GPU", 0, "The node, by its gpu_id", 0 },
	{ "queue", 'q', "QUEUE", 0, "The queue, by its number within the process", 0 },
	{ "cgroup", OPT_CGROUP, "DIR", 0, "The cgroup: its directory, or its path below /sys/fs/cgroup; list, why, top, account, events: or a pattern", 0 },
	{ "priority", OPT_PRIORITY, "N", 0, "run: the priority", 0 },
	{ "class", OPT_CLASS, "C", 0, "run: the class", 0 },
	{ "for", OPT_FOR, "SECONDS", 0, "preempt: how long; hint: within which time, 1 at most", 0 },
	{ "interval", 'i', "SECONDS", 0, "top, apply --follow: between two looks", 0 },
	{ "unbounded", OPT_UNBOUNDED, NULL, 0, "preempt: longer than gpreempt_max_hold_ms", 0 },
	{ "follow", OPT_FOLLOW, NULL, 0, "apply: go on for processes to come", 0 },
	{ "check", OPT_CHECK, NULL, 0, "apply: only say what is wrong with the file", 0 },
	{ "count", 'n', "N", 0, "top, events: stop after N", 0 },
	{ "bound-ms", OPT_BOUND_MS, "N", 0, "probe-hang: how long to watch, and how long a preemption may take", 0 },
	{ "preempt", OPT_PREEMPT, NULL, 0, "probe-hang: preempt what shows nothing; if it hangs, the driver resets it or the GPU", 0 },
	{ "tree", OPT_TREE, NULL, 0, "set, job set: with all processes below it", 0 },
	{ "stay", OPT_STAY, NULL, 0, "job set: off one GPU, the job stays on the others", 0 },
	{ "by", OPT_BY, "KEY", 0, "list, top: a line for each job, user and place on each GPU (job), or for each queue (queue)", 0 },
	{ "csv", OPT_CSV, NULL, 0, "list, account, status: a table for programs", 0 },
	{ "since", OPT_SINCE, "FILE", 0, "account: only what came after this output of account --json", 0 },
	{ "user", 'u', "USER", 0, "list, why, top, account, events: of these users alone, USER[,USER...]", 0 },
	{ "job", OPT_JOB, "ID", 0, "list, why, top, account: of these jobs alone, ID[,ID...]", 0 },
	{ "state", OPT_STATE, "STATE", 0, "list, why, top: in these states alone: idle, active, preempted", 0 },
	{ "columns", 'o', "COLUMNS", 0, "list, top, account, status: these columns; +COLUMN: one more", 0 },
	{ "sort", OPT_SORT, "COLUMN", 0, "the same: the least first; -COLUMN: the largest", 0 },
	{ "no-headers", OPT_NO_HEADERS, NULL, 0, "the same: rows alone", 0 },
	{ "batch", 'b', NULL, 0, "top: to no terminal", 0 },
	{ "json", OPT_JSON, NULL, 0, "For programs; schema_version counts incompatible changes", 0 },
	{ "prometheus", OPT_PROMETHEUS, NULL, 0, "stats, account: for Prometheus' textfile collector", 0 },
	{ 0 }
};

/* Names of the bits GIVEN_*, in their order. */
static const char *const option_names[] = {
	"--pid", "--gpu", "--queue", "--cgroup", "--priority or --class", "--for", "--interval", "--unbounded", "--follow", "--check",
	"--count", "--json", "--prometheus", "--bound-ms", "--preempt", "--tree", "--stay", "--by",
	"--csv", "--since", "--user", "--job", "--state", "--columns", "--sort", "--no-headers", "--batch",
};

#define TARGET	(GIVEN_PID | GIVEN_GPU | GIVEN_QUEUE)
/* Of commands that show some of all processes, and of those whose rows are tables */
#define FILTER	(GIVEN_PID | GIVEN_GPU | GIVEN_USER | GIVEN_CGROUP)
#define TABLE	(GIVEN_COLUMNS | GIVEN_SORT | GIVEN_NO_HEADERS)

/**
 * struct command - a command
 * @name: its name
 * @run: carries it out
 * @takes: options, bits GIVEN_*
 * @most: words that it takes at most
 * @program: its words are another program's command line, which may stand after "--"
 */
static const struct command {
	const char *name;
	int (*run)(const struct options *o);
	unsigned int takes;
	int most;
	bool program;
} commands[] = {
	{ "list", cmd_list, FILTER | GIVEN_QUEUE | GIVEN_JOB | GIVEN_STATE | GIVEN_BY | GIVEN_JSON | GIVEN_CSV | TABLE, 0, false },
	{ "why", cmd_why, FILTER | GIVEN_QUEUE | GIVEN_JOB | GIVEN_STATE | GIVEN_JSON, 0, false },
	{ "status", cmd_status, GIVEN_GPU | GIVEN_JSON | GIVEN_CSV | TABLE, 0, false },
	{ "set", cmd_set, TARGET | GIVEN_CGROUP | GIVEN_TREE, INT_MAX, false },
	{ "job", cmd_job, TARGET | GIVEN_CGROUP | GIVEN_TREE | GIVEN_STAY | GIVEN_JSON, 2, false },
	{ "fits", cmd_fits, GIVEN_PID | GIVEN_GPU | GIVEN_JSON, 2, false },
	{ "share", cmd_share, GIVEN_CGROUP | GIVEN_JSON, INT_MAX, false },
	{ "account", cmd_account, FILTER | GIVEN_JOB | GIVEN_CSV | GIVEN_SINCE | GIVEN_JSON | GIVEN_PROMETHEUS | TABLE, 4, false },
	{ "run", cmd_run, GIVEN_PRIORITY, INT_MAX, true },
	{ "preempt", cmd_preempt, TARGET | GIVEN_FOR | GIVEN_UNBOUNDED, INT_MAX, true },
	{ "resume", cmd_resume, TARGET | GIVEN_JSON, 0, false },
	{ "hint", cmd_hint, TARGET | GIVEN_FOR, 0, false },
	{ "policy", cmd_policy, GIVEN_GPU | GIVEN_JSON, 1, false },
	{ "tune", cmd_tune, GIVEN_GPU | GIVEN_JSON, INT_MAX, false },
	{ "top", cmd_top, FILTER | GIVEN_JOB | GIVEN_STATE | GIVEN_INTERVAL | GIVEN_COUNT | GIVEN_BY | GIVEN_BATCH | TABLE, 0, false },
	{ "events", cmd_events, FILTER | GIVEN_COUNT | GIVEN_JSON, 0, false },
	{ "stats", cmd_stats, GIVEN_GPU | GIVEN_JSON | GIVEN_PROMETHEUS, 0, false },
	{ "report", cmd_report, GIVEN_GPU | GIVEN_JSON, 0, false },
	{ "apply", cmd_apply, GIVEN_FOLLOW | GIVEN_CHECK | GIVEN_INTERVAL, 1, false },
	{ "doctor", cmd_doctor, GIVEN_JSON, 0, false },
	{ "probe-hang", cmd_probe_hang, TARGET | GIVEN_BOUND | GIVEN_PREEMPT | GIVEN_JSON, 0, false },
};

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

/**
 * fail() - say what went wrong
 * @status: exit status
 *
 * Return: @status.
 */
int fail(int status, const char *format, ...)
{
	va_list args;

	fputs("gpreemptctl: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return status;
}

static int fail_because(int error, const char *why, const char *format, va_list args)
{
	fputs("gpreemptctl: ", stderr);
	vfprintf(stderr, format, args);
	fprintf(stderr, ": %s\n", why);
	return error == -EPERM || error == -EACCES ? EXIT_DENIED : EXIT_FAILED;
}

/**
 * fail_errno() - say what went wrong with the scheduler and why
 * @error: negative errno, as libgpreempt gives it
 *
 * Return: the exit status that belongs to @error.
 */
int fail_errno(int error, const char *format, ...)
{
	static const struct {
		int error;
		const char *why;
	} reasons[] = {
		{ -ESRCH, "no such process" },
		{ -ENOENT, "no such queue" },
		{ -ENODEV, "no such GPU; gpreemptctl status lists them" },
		{ -EBADF, "not a directory of the cgroup v2 file system; without one: set -p PID --tree, or a line `cgroup' of /etc/gpreempt.conf" },
		{ -EACCES, "another user's; this takes CAP_SYS_ADMIN" },
		{ -EPERM, "not allowed; raising above 7 or above what an administrator set, weights, deadlines, runtimes, exemptions and follow_stop take CAP_SYS_NICE, cgroups and unbounded holds CAP_SYS_ADMIN" },
		{ -ERANGE, "out of bounds" },
		{ -EBUSY, "the driver does not let it go now (debugger, cooperative groups or a reset)" },
		{ -EOPNOTSUPP, "scheduling is switched off, only observes (observe=1) or is not possible on this node; try: gpreemptctl doctor" },
		{ -ETIME, "not saved in time" },
		{ -ENOSPC, "what the process has reserved does not fit then; nothing changed; gpreemptctl fits tells what is free" },
		{ -EIO, "the GPU is being reset, or a queue that was held has been: it stays off" },
	};
	const char *why = strerror(-error);
	va_list args;
	unsigned int i;
	int status;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].error == error)
			why = reasons[i].why;
	va_start(args, format);
	status = fail_because(error, why, format, args);
	va_end(args);
	return status;
}

/**
 * fail_system() - say what went wrong with a file or a process and why
 * @error: negative errno, of the system
 *
 * Return: the exit status that belongs to @error.
 */
int fail_system(int error, const char *format, ...)
{
	va_list args;
	int status;

	va_start(args, format);
	status = fail_because(error, strerror(-error), format, args);
	va_end(args);
	return status;
}

/**
 * open_scheduler() - connect, or say why not
 * @g: out: to be closed by the caller
 *
 * Return: 0, or the exit status.
 */
int open_scheduler(struct gpreempt **g)
{
	int error = gpreempt_open(g);
	char how[512];

	switch (error) {
	case 0:
		return 0;
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
		return fail(EXIT_NO_MODULE, "no /dev/kfd_gpreempt: amdgpu is not loaded, or without kfd_gpreempt; try: gpreemptctl doctor");
	case -EPROTO:
		return fail(EXIT_NO_MODULE, "/dev/kfd_gpreempt speaks an older ABI than this program; update the module");
	case -EACCES:
	case -EPERM:
		how_to_open(how, sizeof(how));
		return fail(EXIT_DENIED, "/dev/kfd_gpreempt: %s; %s", strerror(-error), how);
	}
	return fail(EXIT_FAILED, "/dev/kfd_gpreempt: %s", strerror(-error));
}

static unsigned long long need_number(struct argp_state *state, const char *what, const char *text, unsigned long long min,
				      unsigned long long max)
{
	unsigned long long value;

	if (!parse_number(text, max, &value) || value < min)
		argp_error(state, "%s=%s is not a number from %llu to %llu", what, text, min, max);
	return value;
}

static double need_seconds(struct argp_state *state, const char *what, const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0.001 && value <= 86400))
		argp_error(state, "%s=%s is not from 0.001 to 86400 seconds", what, text);
	return value;
}

static void main_filter_by(struct argp_state *state, unsigned int option, const char *words)
{
	struct options *o = state->input;
	char why[FILTER_WHY];

	o->given |= option;
	if (!add_to_filter(&o->filter, option, words, why))
		argp_error(state, "%s", why);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'p':
		main_filter_by(state, GIVEN_PID, arg);
		o->pid = o->filter.pids[o->filter.nr_pids - 1];
		break;
	case 'u':
		main_filter_by(state, GIVEN_USER, arg);
		break;
	case OPT_JOB:
		main_filter_by(state, GIVEN_JOB, arg);
		break;
	case OPT_STATE:
		main_filter_by(state, GIVEN_STATE, arg);
		break;
	case 'o':
		o->given |= GIVEN_COLUMNS;
		o->columns = arg;
		break;
	case OPT_SORT:
		o->given |= GIVEN_SORT;
		o->sort = arg;
		break;
	case OPT_NO_HEADERS:
		o->given |= GIVEN_NO_HEADERS;
		o->no_headers = true;
		break;
	case 'b':
		o->given |= GIVEN_BATCH;
		o->batch = true;
		break;
	case 'g':
		o->given |= GIVEN_GPU;
		o->gpu_id = need_number(state, "gpu", arg, 1, UINT_MAX);
		break;
	case 'q':
		o->given |= GIVEN_QUEUE;
		o->queue_id = need_number(state, "queue", arg, 0, UINT_MAX);
		break;
	case OPT_CGROUP:
		o->given |= GIVEN_CGROUP;
		o->cgroup = arg;
		break;
	case OPT_PRIORITY:
	case OPT_CLASS:
		o->given |= GIVEN_PRIORITY;
		if (!parse_priority(arg, &o->priority))
			argp_error(state, "%s is neither a priority (%d..%d) nor a class (latency, normal, batch)", arg,
				   GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX);
		break;
	case OPT_FOR:
		o->given |= GIVEN_FOR;
		o->for_s = need_seconds(state, "for", arg);
		break;
	case 'i':
		o->given |= GIVEN_INTERVAL;
		o->interval_s = need_seconds(state, "interval", arg);
		break;
	case OPT_UNBOUNDED:
		o->given |= GIVEN_UNBOUNDED;
		o->unbounded = true;
		break;
	case OPT_FOLLOW:
		o->given |= GIVEN_FOLLOW;
		o->follow = true;
		break;
	case OPT_BOUND_MS:
		o->given |= GIVEN_BOUND;
		o->bound_ms = need_number(state, "bound-ms", arg, 1, 60000);
		break;
	case OPT_PREEMPT:
		o->given |= GIVEN_PREEMPT;
		o->preempt = true;
		break;
	case OPT_TREE:
		o->given |= GIVEN_TREE;
		o->tree = true;
		break;
	case OPT_STAY:
		o->given |= GIVEN_STAY;
		o->stay = true;
		break;
	case OPT_BY:
		o->given |= GIVEN_BY;
		o->by_job = !strcmp(arg, "job");
		if (!o->by_job && strcmp(arg, "queue"))
			argp_error(state, "by=%s is neither job nor queue", arg);
		break;
	case OPT_CSV:
		o->given |= GIVEN_CSV;
		o->csv = true;
		break;
	case OPT_SINCE:
		o->given |= GIVEN_SINCE;
		o->since = arg;
		break;
	case OPT_CHECK:
		o->given |= GIVEN_CHECK;
		o->check = true;
		break;
	case 'n':
		o->given |= GIVEN_COUNT;
		o->count = need_number(state, "count", arg, 1, ULONG_MAX);
		break;
	case OPT_JSON:
		o->given |= GIVEN_JSON;
		o->json = true;
		break;
	case OPT_PROMETHEUS:
		o->given |= GIVEN_PROMETHEUS;
		o->prometheus = true;
		break;
	case ARGP_KEY_ARGS:
		o->args = state->argv + state->next;
		o->nr_args = state->argc - state->next;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* An option that is not for the command is a mistake somewhere: it is not passed over. */
static int run_command(const struct options *o, const char *name, bool with_program)
{
	const struct command *command = find_command(name);
	unsigned int bad;
	size_t i;
	int status;

	if (!command)
		return fail(EXIT_USAGE, "unknown command %s; try: gpreemptctl --help", name);
	bad = o->given & ~command->takes;
	for (i = 0; i < sizeof(option_names) / sizeof(option_names[0]); i++)
		if (bad & 1U << i)
			return fail(EXIT_USAGE, "%s does not take %s; try: gpreemptctl --help", name, option_names[i]);
	if (o->filter.nr_pids > 1 && !(command->takes & GIVEN_USER))
		return fail(EXIT_USAGE, "%s takes one process, and %u are named", name, o->filter.nr_pids);
	if (with_program && !command->program)
		return fail(EXIT_USAGE, "%s runs no program: nothing may follow --", name);
	if (o->nr_args > command->most)
		return fail(EXIT_USAGE, "%s takes no word %s; try: gpreemptctl --help", name, o->args[command->most]);
	status = command->run(o);
	if ((fflush(stdout) || ferror(stdout)) && !status)
		return fail(EXIT_FAILED, "output: %s", strerror(errno));
	return status;
}

int main(int argc, char **argv)
{
	static const struct argp argp = { argp_options, parse_option, "COMMAND", doc, NULL, NULL, NULL };
	struct options o = { 0 };
	char *words[argc + 1];
	int i, nr = 0, split = argc, argc_options;
	char *negative = NULL;

	argp_err_exit_status = EXIT_USAGE;
	/* What follows "--" is another program's command line. Before it, options and words mix freely. */
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--")) {
			split = i;
			break;
		}
	}
	argv[split] = NULL;
	argc_options = split;
	/* A negative priority is no option; the one after --priority is that option's own. */
	for (i = 1; i < split; i++) {
		if (argv[i][0] == '-' && argv[i][1] >= '0' && argv[i][1] <= '9' && strcmp(argv[i - 1], "--priority")) {
			negative = argv[i];
			memmove(&argv[i], &argv[i + 1], (split - i) * sizeof(*argv));
			argc_options--;
			break;
		}
	}
	if (argp_parse(&argp, argc_options, argv, 0, NULL, &o))
		return EXIT_USAGE;
	for (i = 0; i < o.nr_args; i++)
		words[nr++] = o.args[i];
	if (!nr) {
		argp_help(&argp, stderr, ARGP_HELP_STD_USAGE, argv[0]);
		return EXIT_USAGE;
	}
	if (negative)
		words[nr++] = negative;
	for (i = split + 1; i < argc; i++)
		words[nr++] = argv[i];
	words[nr] = NULL;
	o.args = words + 1;
	o.nr_args = nr - 1;
	return run_command(&o, words[0], split < argc);
}

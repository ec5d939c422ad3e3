// SPDX-License-Identifier: MIT
/* main.c - gpreemptctl: commands, command line, help */
#include "gpreemptctl.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

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
	OPT_REPORT,
	OPT_JOB,
	OPT_STATE,
	OPT_SORT,
	OPT_NO_HEADERS,
	OPT_USAGE,
	OPT_VERSION,
};

/* In the order of the bits GIVEN_*, of which --priority and --class share one. */
static const struct argp_option argp_options[] = {
	{ "pid", 'p', "PID", 0, "A process; several: PID,PID, or PID PID, as $(pidof x) gives them", 0 },
	{ "gpu", 'g', "GPU", 0, "A GPU: index, gpu_id, PCI address, renderD128, UUID, name; 0,3-5; all", 0 },
	{ "queue", 'q', "QUEUE", 0, "The queue, by its number within the process", 0 },
	{ "cgroup", OPT_CGROUP, "DIR", 0, "A cgroup: its directory, its path below /sys/fs/cgroup; filter: a pattern", 0 },
	{ "priority", OPT_PRIORITY, "N", 0, "run: the priority", 0 },
	{ "class", OPT_CLASS, "C", 0, "run: the class", 0 },
	{ "for", OPT_FOR, "SECONDS", 0, "preempt: how long; hint: within which time, 1 at most", 0 },
	{ "interval", 'i', "SECONDS", 0, "top, apply --follow: between two looks", 0 },
	{ "unbounded", OPT_UNBOUNDED, NULL, 0, "preempt: longer than gpreempt_max_hold_ms", 0 },
	{ "follow", OPT_FOLLOW, NULL, 0, "apply: go on for processes to come", 0 },
	{ "check", OPT_CHECK, NULL, 0, "apply: only say what is wrong with the file", 0 },
	{ "count", 'n', "N", 0, "top, events: stop after N", 0 },
	{ "json", OPT_JSON, NULL, 0, "For programs; schema_version counts incompatible changes", 0 },
	{ "prometheus", OPT_PROMETHEUS, NULL, 0, "stats, account: for Prometheus' textfile collector", 0 },
	{ "bound-ms", OPT_BOUND_MS, "N", 0, "probe-hang: how long to watch, and how long a preemption may take", 0 },
	{ "preempt", OPT_PREEMPT, NULL, 0, "probe-hang: preempt what is silent; if it hangs, it is reset, or the GPU is", 0 },
	{ "tree", OPT_TREE, NULL, 0, "set, job set: with all processes below it", 0 },
	{ "stay", OPT_STAY, NULL, 0, "job set: off one GPU, the job stays on the others", 0 },
	{ "by", OPT_BY, "KEY", 0, "list, top: a line for each queue (queue), or job, user and place (job)", 0 },
	{ "csv", OPT_CSV, NULL, 0, "list, account, status: a table for programs", 0 },
	{ "since", OPT_SINCE, "FILE", 0, "account: only what came after this output of account --json", 0 },
	{ "report", OPT_REPORT, "FILE", 0, "doctor: a file to attach to a report about this machine", 0 },
	{ "user", 'u', "USER", 0, "Of these users alone: USER,USER", 0 },
	{ "job", OPT_JOB, "ID", 0, "Of these jobs alone: ID,ID", 0 },
	{ "state", OPT_STATE, "STATE", 0, "In these states alone: idle, active, preempted", 0 },
	{ "columns", 'o', "COLUMNS", 0, "These columns: COLUMN,COLUMN; +COLUMN: one more", 0 },
	{ "sort", OPT_SORT, "COLUMN", 0, "By this column, the least first; -COLUMN: the largest", 0 },
	{ "no-headers", OPT_NO_HEADERS, NULL, 0, "Rows alone", 0 },
	{ "batch", 'b', NULL, 0, "top: print, to no terminal as well", 0 },
	{ "help", 'h', NULL, OPTION_HIDDEN, NULL, 0 },
	{ "usage", OPT_USAGE, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "version", OPT_VERSION, NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 }
};

#define TARGET	(GIVEN_PID | GIVEN_GPU | GIVEN_QUEUE)
/* Of commands that show some of all processes, and of those whose rows are tables */
#define FILTER	(GIVEN_PID | GIVEN_GPU | GIVEN_CGROUP | GIVEN_USER)
#define TABLE	(GIVEN_COLUMNS | GIVEN_SORT | GIVEN_NO_HEADERS)
#define MANY	(GIVEN_PID | GIVEN_GPU)
/* May stand on a command line again and again */
#define REPEATED	(FILTER | GIVEN_JOB | GIVEN_STATE)

static int main_help(const struct options *o);

/**
 * struct command - a command
 * @name: its name
 * @run: carries it out
 * @takes: options, bits GIVEN_*
 * @many: those of -p and -g that may name several; --cgroup always may
 * @most: words that it takes at most
 * @program: its words are another program's command line, which may stand after "--"
 * @number: would it take this number as its own word, which stands behind -p PID? NULL: never
 * @summary: what it does
 * @usage: how it is called, line by line
 * @example: one
 */
static const struct command {
	const char *name;
	int (*run)(const struct options *o);
	unsigned int takes;
	unsigned int many;
	int most;
	bool program;
	bool (*number)(const struct options *o, const char *word);
	const char *summary;
	const char *usage;
	const char *example;
} commands[] = {
	{ "list", cmd_list, FILTER | GIVEN_QUEUE | GIVEN_JOB | GIVEN_STATE | GIVEN_BY | GIVEN_JSON | GIVEN_CSV | TABLE, MANY, 0, false, NULL,
	  "queues: whose, how urgent, what they do; or jobs",
	  "list [-p PID...] [-u USER] [-g GPU] [--job ID] [--cgroup GLOB] [--state STATE]\n"
	  "list -p PID -g GPU -q QUEUE\n"
	  "list --by job [-o COLUMNS] [--sort COLUMN] [--csv]",
	  "list --by job" },
	{ "why", cmd_why, FILTER | GIVEN_QUEUE | GIVEN_JOB | GIVEN_STATE | GIVEN_JSON, MANY, 0, false, NULL,
	  "a sentence per queue: why it runs or does not",
	  "why [-p PID...] [-u USER] [-g GPU] [--job ID] [--cgroup GLOB] [--state STATE]\n"
	  "why -p PID -g GPU -q QUEUE",
	  "why -p $(pidof training)" },
	{ "status", cmd_status, GIVEN_GPU | GIVEN_JSON | GIVEN_CSV | TABLE, GIVEN_GPU, 0, false, NULL,
	  "nodes: what the scheduler does",
	  "status [-g GPU] [-o COLUMNS] [--sort COLUMN] [--csv]",
	  "status --json" },
	{ "set", cmd_set, TARGET | GIVEN_CGROUP | GIVEN_TREE, GIVEN_PID, INT_MAX, false, set_takes_number,
	  "how urgent processes, queues and cgroups are; parameters of policies",
	  "set -p PID... PRIORITY|CLASS|clear\n"
	  "set -p PID -g GPU -q QUEUE PRIORITY|CLASS|clear\n"
	  "set -p PID... --tree PRIORITY|CLASS        with all below it: a container's init\n"
	  "set --cgroup DIR... PRIORITY|CLASS|clear\n"
	  "set -p PID... [-g GPU -q QUEUE] weight=N|deadline_us=N\n"
	  "set -p PID... exempt=0|1|waits_for=PID|follow_stop=always|never|node\n"
	  "set -p PID... runtime=US [period=US]       reserve device time under edf\n"
	  "set --cgroup DIR... follow_stop=always|never|node",
	  "set -p $(pidof training) batch" },
	{ "job", cmd_job, TARGET | GIVEN_CGROUP | GIVEN_TREE | GIVEN_STAY | GIVEN_JSON, GIVEN_PID, 2, false, job_takes_number,
	  "processes that are decided about as one",
	  "job set -p PID... [--tree] [--stay] ID     processes of one ID\n"
	  "job set --cgroup DIR... [--stay] [ID]      those of a cgroup; ID: otherwise its inode\n"
	  "job clear -p PID...|--cgroup DIR...\n"
	  "job list [-p PID|--cgroup DIR]             queues of jobs",
	  "job set -p $$ --tree 1" },
	{ "share", cmd_share, GIVEN_CGROUP | GIVEN_JSON, 0, INT_MAX, false, NULL,
	  "how groups divide each GPU's time",
	  "share set --cgroup DIR...|job=ID... weight=N|min=PERCENT|max=PERCENT|max=QUOTA/PERIOD|max=none...\n"
	  "share clear --cgroup DIR...|job=ID...\n"
	  "share list                                 what is set, and what they have had",
	  "share set --cgroup web.slice min=20% max=5ms/20ms" },
	{ "fits", cmd_fits, GIVEN_PID | GIVEN_GPU | GIVEN_JSON, GIVEN_GPU, 2, false, NULL,
	  "what is reserved, and would that fit as well?",
	  "fits [runtime=US period=US] [-p PID] [-g GPU]",
	  "fits runtime=8ms period=20ms" },
	{ "account", cmd_account, FILTER | GIVEN_JOB | GIVEN_CSV | GIVEN_SINCE | GIVEN_JSON | GIVEN_PROMETHEUS | TABLE, MANY, 4, false, NULL,
	  "who has used how much, those that have ended included",
	  "account [node|cgroup|job|process]... [--csv] [--since FILE]\n"
	  "account [node|cgroup|job|process]... --prometheus [-g GPU]\n"
	  "account [-p PID...] [-u USER] [-g GPU] [--job ID] [--cgroup GLOB]",
	  "account cgroup --csv" },
	{ "run", cmd_run, GIVEN_PRIORITY, 0, INT_MAX, true, NULL,
	  "run a program, with all its children, at a priority",
	  "run --priority N|--class C -- COMMAND...",
	  "run --class batch -- python train.py" },
	{ "preempt", cmd_preempt, TARGET | GIVEN_FOR | GIVEN_UNBOUNDED, GIVEN_PID, INT_MAX, true, NULL,
	  "take queues off the device and keep them off",
	  "preempt -p PID... [-g GPU -q QUEUE] [--unbounded] [--for SECONDS | -- COMMAND...]",
	  "preempt -p $(pidof training) --for 500ms" },
	{ "resume", cmd_resume, TARGET | GIVEN_JSON, GIVEN_PID, 0, false, NULL,
	  "end all holds, whoever has them",
	  "resume -p PID... [-g GPU -q QUEUE]",
	  "resume -p $(pidof training)" },
	{ "hint", cmd_hint, TARGET | GIVEN_FOR, GIVEN_PID, 0, false, NULL,
	  "work comes soon: clear the device",
	  "hint -p PID... [-g GPU -q QUEUE] [--for SECONDS]",
	  "hint -p $(pidof inference) --for 20ms" },
	{ "policy", cmd_policy, GIVEN_GPU | GIVEN_JSON, GIVEN_GPU, 1, false, NULL,
	  "show or choose how nodes decide: hpf, wfq, edf",
	  "policy [NAME] [-g GPU]",
	  "policy wfq -g 0,3-5" },
	{ "tune", cmd_tune, GIVEN_GPU | GIVEN_JSON, GIVEN_GPU, INT_MAX, false, NULL,
	  "show or change tunables",
	  "tune [NAME[=VALUE]...] [-g GPU]",
	  "tune idle_evict_us=20ms -g renderD128" },
	{ "top", cmd_top, FILTER | GIVEN_JOB | GIVEN_STATE | GIVEN_INTERVAL | GIVEN_COUNT | GIVEN_BY | GIVEN_BATCH | TABLE, MANY, 0, false, NULL,
	  "live view (? lists its keys)",
	  "top [--by job] [-i SECONDS] [-n N] [-b] [-o COLUMNS] [--sort COLUMN]\n"
	  "top [-p PID...] [-u USER] [-g GPU] [--job ID] [--cgroup GLOB] [--state STATE]",
	  "top -i 500ms" },
	{ "events", cmd_events, FILTER | GIVEN_COUNT | GIVEN_JSON, MANY, 0, false, NULL,
	  "what happens, line by line",
	  "events [-p PID...] [-u USER] [-g GPU] [--cgroup GLOB] [-n N]",
	  "events -n 20" },
	{ "stats", cmd_stats, GIVEN_GPU | GIVEN_JSON | GIVEN_PROMETHEUS, GIVEN_GPU, 0, false, NULL,
	  "counters of all nodes",
	  "stats [-g GPU] [--prometheus]",
	  "stats --json" },
	{ "report", cmd_report, GIVEN_GPU | GIVEN_JSON, GIVEN_GPU, 0, false, NULL,
	  "of nodes that observe: would it help here, what would it cost?",
	  "report [-g GPU]",
	  "report -g 0" },
	{ "apply", cmd_apply, GIVEN_FOLLOW | GIVEN_CHECK | GIVEN_INTERVAL, 0, 1, false, NULL,
	  "do what /etc/gpreempt.conf says",
	  "apply [FILE] [--follow [-i SECONDS] | --check]",
	  "apply --check" },
	{ "doctor", cmd_doctor, GIVEN_JSON | GIVEN_REPORT, 0, 0, false, NULL,
	  "is everything in place? what to do?",
	  "doctor [--report FILE]",
	  "doctor --report report.txt" },
	{ "probe-hang", cmd_probe_hang, TARGET | GIVEN_BOUND | GIVEN_PREEMPT | GIVEN_JSON, 0, 0, false, NULL,
	  "can what is busy be preempted?",
	  "probe-hang [-p PID [-g GPU -q QUEUE]] [--bound-ms N] [--preempt]",
	  "probe-hang --bound-ms 500" },
	{ "help", main_help, 0, 0, 1, false, NULL,
	  "all of this, or one command",
	  "help [COMMAND]",
	  "help set" },
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

/* Is it the other one but for so many letters that are changed, left out, put in or swapped? */
static bool main_is_near(const char *a, const char *b, int changes)
{
	for (; *a && *a == *b; a++)
		b++;
	if (!*a || !*b)
		return strlen(a) + strlen(b) <= (size_t)changes;
	if (!changes)
		return false;
	return main_is_near(a + 1, b + 1, changes - 1) || main_is_near(a + 1, b, changes - 1) || main_is_near(a, b + 1, changes - 1) ||
	       (a[1] && a[0] == b[1] && a[1] == b[0] && main_is_near(a + 2, b + 2, changes - 1));
}

static int main_fail_unknown(const char *name)
{
	int changes, most = strlen(name) > 3 ? 2 : 1;
	size_t i;

	for (changes = 0; changes <= most; changes++)
		for (i = 0; i < NR_COMMANDS; i++)
			if (changes ? main_is_near(name, commands[i].name, changes) : *name && !strncmp(name, commands[i].name, strlen(name)))
				return fail(EXIT_USAGE, "unknown command %s; did you mean `%s'?", name, commands[i].name);
	return fail(EXIT_USAGE, "unknown command %s; try: gpreemptctl help", name);
}

/* A bit GIVEN_*; 0: of none, as --help */
static unsigned int main_bit_of(int key)
{
	const struct argp_option *option;
	unsigned int bit = 1;

	for (option = argp_options; option->doc; option++) {
		if (option->key == key)
			return bit;
		if (option->key != OPT_PRIORITY)
			bit <<= 1;
	}
	return 0;
}

/* @takes: options, bits */
static void main_print_options(unsigned int takes)
{
	const struct argp_option *option;
	char words[64];

	for (option = argp_options; option->doc; option++) {
		if (!(main_bit_of(option->key) & takes))
			continue;
		snprintf(words, sizeof(words), "--%s%s%s", option->name, option->arg ? " " : "", option->arg ? option->arg : "");
		if (option->key < OPT_CGROUP)
			printf("  -%c, %-18s %s\n", option->key, words, option->doc);
		else
			printf("      %-18s %s\n", words, option->doc);
	}
}

/* Lines, each behind so many blanks and a word */
static void main_print_lines(const char *lines, int blanks, const char *word)
{
	int length;

	for (; *lines; lines += length + (lines[length] == '\n')) {
		length = strcspn(lines, "\n");
		printf("%*s%s%.*s\n", blanks, "", word, length, lines);
	}
}

static void main_help_on(const struct command *command)
{
	printf("gpreemptctl %s: %s\n\nUsage:\n", command->name, command->summary);
	main_print_lines(command->usage, 2, "gpreemptctl ");
	if (command->takes)
		printf("\nOptions:\n");
	main_print_options(command->takes);
	printf("\nExample:\n  gpreemptctl %s\n\ngpreemptctl(1) has the rest.\n", command->example);
}

static void main_help_on_all(void)
{
	size_t i;

	printf("Usage: gpreemptctl COMMAND [WORD...] [OPTION...]\n"
	       "Shows and steers the preemptive scheduling of GPU compute queues.\n\nCommands:\n");
	for (i = 0; i < NR_COMMANDS; i++) {
		main_print_lines(commands[i].usage, 2, "");
		printf("%8s%s\n", "", commands[i].summary);
	}
	printf("\nOptions:\n");
	main_print_options(~0U);
	printf("  -h, --help             this, or the help of the command\n"
	       "      --version          the version\n\n"
	       "PRIORITY is %d..%d, larger is more urgent, %d is normal. CLASS is latency (%d), normal (%d) or\nbatch (%d).\n\n"
	       "Exit status: 0 done, 1 failed, 2 wrong usage, 3 the module is missing or not ours, 4 not allowed;\n"
	       "run: that of COMMAND; probe-hang: 5 a queue does not respond, 6 of one it is not known.\n",
	       GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX, GPREEMPT_PRIORITY_NORMAL, CLASS_LATENCY, GPREEMPT_PRIORITY_NORMAL, CLASS_BATCH);
}

static int main_help(const struct options *o)
{
	const struct command *command = o->nr_args ? find_command(o->args[0]) : NULL;

	if (o->nr_args && !command)
		return main_fail_unknown(o->args[0]);
	if (command)
		main_help_on(command);
	else
		main_help_on_all();
	return EXIT_DONE;
}

/* A screen of 25 lines has room for it. */
static int main_tell_commands(void)
{
	size_t i;

	fprintf(stderr, "Usage: gpreemptctl COMMAND [WORD...] [OPTION...]\n");
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(stderr, "  %-11s %s\n", commands[i].name, commands[i].summary);
	fprintf(stderr, "gpreemptctl help COMMAND tells more\n");
	return EXIT_USAGE;
}

static unsigned long long need_number(struct argp_state *state, const char *what, const char *text, unsigned long long min,
				      unsigned long long max)
{
	unsigned long long value;

	if (!parse_number(text, max, &value) || value < min)
		argp_error(state, "%s=%s is not a number from %llu to %llu", what, text, min, max);
	return value;
}

/* With ms or us behind it, these. */
static double need_seconds(struct argp_state *state, const char *what, const char *text)
{
	char *end;
	double value = strtod(text, &end);
	bool ms = !strcmp(end, "ms"), us = !strcmp(end, "us");

	value = ms ? value / 1e3 : us ? value / 1e6 : value;
	if (end == text || (*end && !ms && !us && strcmp(end, "s")) || !(value >= 0.001 && value <= 86400))
		argp_error(state, "%s=%s is not from 0.001 to 86400 seconds", what, text);
	return value;
}

/**
 * struct line - the command line while it is read
 * @o: what it says
 * @gpus: names of -g, with commas; NULL: there are none
 * @negatives: words that are negative numbers, in their order; in their place is @minus
 * @number: the last of the numbers right behind -p PID, all taken for pids; NULL: there is none
 * @place: words that stand before it
 * @behind_pid: is the next word right behind -p PID, or behind such a number?
 */
struct line {
	struct options o;
	char *gpus;
	char **negatives;
	char *number;
	int place;
	bool behind_pid;
};

/* No memory is left for more. */
static void *main_need_room(void *array, size_t size)
{
	array = realloc(array, size);
	if (!array)
		exit(fail_system(-ENOMEM, "command line"));
	return array;
}

static void main_add_pid(struct options *o, pid_t pid)
{
	o->pids = main_need_room(o->pids, (o->nr_pids + 1) * sizeof(*o->pids));
	o->pids[o->nr_pids++] = pid;
	o->pid = o->pids[0];
}

/* One, or several with commas or blanks between them, as a shell's "$(pidof x)" has. */
static void main_add_pids(struct options *o, struct argp_state *state, char *text)
{
	char *rest = NULL, *one = strtok_r(text, ", \t\n", &rest);

	if (!one)
		need_number(state, "pid", text, 1, INT_MAX);
	for (; one; one = strtok_r(NULL, ", \t\n", &rest))
		main_add_pid(o, need_number(state, "pid", one, 1, INT_MAX));
}

/* They are looked for when the command is known to take them. */
static void main_add_gpus(struct line *line, const char *names)
{
	size_t length = line->gpus ? strlen(line->gpus) : 0, size = length + strlen(names) + 2;

	line->gpus = main_need_room(line->gpus, size);
	snprintf(line->gpus + length, size - length, "%s%s", length ? "," : "", names);
}

static void main_add_cgroup(struct options *o, const char *name)
{
	o->cgroups = main_need_room(o->cgroups, (o->nr_cgroups + 1) * sizeof(*o->cgroups));
	o->cgroups[o->nr_cgroups++] = name;
	o->cgroup = o->cgroups[0];
}

/* To argp a negative number would be an option. */
static char minus[] = "negative number";

/* Numbers behind -p PID are pids; the last may be the command's own: main_give_number(). */
static void main_take_word(struct line *line, char *word)
{
	unsigned long long pid;

	if (word == minus)
		word = *line->negatives++;
	line->behind_pid = line->behind_pid && strspn(word, "0123456789") == strlen(word) && parse_number(word, INT_MAX, &pid) && pid;
	if (line->behind_pid) {
		main_add_pid(&line->o, pid);
		line->number = word;
		line->place = line->o.nr_args;
	} else {
		line->o.args[line->o.nr_args++] = word;
	}
}

static void main_filter_by(struct argp_state *state, unsigned int option, const char *words)
{
	struct line *line = state->input;
	char why[FILTER_WHY];

	if (!add_to_filter(&line->o.filter, option, words, why))
		argp_error(state, "%s", why);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct line *line = state->input;
	struct options *o = &line->o;

	if (key == ARGP_KEY_ARG) {
		main_take_word(line, arg);
		return 0;
	}
	if (arg && main_bit_of(key) & o->given & ~REPEATED)
		argp_error(state, "%s is one too many: its option is given twice", arg);
	o->given |= main_bit_of(key);
	if (main_bit_of(key))
		line->behind_pid = key == 'p';
	switch (key) {
	case 'h':
	case OPT_USAGE:
		o->help = true;
		break;
	case OPT_VERSION:
		o->version = true;
		break;
	case 'p':
		main_add_pids(o, state, arg);
		line->number = NULL;
		break;
	case 'g':
		main_add_gpus(line, arg);
		break;
	case 'q':
		o->queue_id = need_number(state, "queue", arg, 0, UINT_MAX);
		break;
	case OPT_CGROUP:
		main_add_cgroup(o, arg);
		break;
	case OPT_PRIORITY:
	case OPT_CLASS:
		if (!parse_priority(arg, &o->priority))
			argp_error(state, "%s is neither a priority (%d..%d) nor a class (latency, normal, batch)", arg,
				   GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX);
		break;
	case OPT_FOR:
		o->for_s = need_seconds(state, "for", arg);
		break;
	case 'i':
		o->interval_s = need_seconds(state, "interval", arg);
		break;
	case OPT_UNBOUNDED:
		o->unbounded = true;
		break;
	case OPT_FOLLOW:
		o->follow = true;
		break;
	case OPT_BOUND_MS:
		o->bound_ms = need_number(state, "bound-ms", arg, 1, 60000);
		break;
	case OPT_PREEMPT:
		o->preempt = true;
		break;
	case OPT_TREE:
		o->tree = true;
		break;
	case OPT_STAY:
		o->stay = true;
		break;
	case OPT_BY:
		o->by_job = !strcmp(arg, "job");
		if (!o->by_job && strcmp(arg, "queue"))
			argp_error(state, "by=%s is neither job nor queue", arg);
		break;
	case OPT_CSV:
		o->csv = true;
		break;
	case OPT_SINCE:
		o->since = arg;
		break;
	case OPT_REPORT:
		o->report = arg;
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
		o->columns = arg;
		break;
	case OPT_SORT:
		o->sort = arg;
		break;
	case OPT_NO_HEADERS:
		o->no_headers = true;
		break;
	case 'b':
		o->batch = true;
		break;
	case OPT_CHECK:
		o->check = true;
		break;
	case 'n':
		o->count = need_number(state, "count", arg, 1, ULONG_MAX);
		break;
	case OPT_JSON:
		o->json = true;
		break;
	case OPT_PROMETHEUS:
		o->prometheus = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* An option that is not for the command is a mistake somewhere: it is not passed over. */
static int main_check_options(const struct command *command, const struct options *o)
{
	const struct argp_option *option;

	for (option = argp_options; option->doc; option++)
		if (main_bit_of(option->key) & o->given & ~command->takes)
			return fail(EXIT_USAGE, "%s does not take --%s; try: gpreemptctl help %s", command->name, option->name, command->name);
	if (o->nr_pids > 1 && !(command->many & GIVEN_PID))
		return fail(EXIT_USAGE, "%s takes one process, not %d and %d", command->name, o->pids[0], o->pids[1]);
	if (o->nr_pids > 1 && o->given & GIVEN_QUEUE)
		return fail(EXIT_USAGE, "%s: queue %u is of one process, not of %d and %d; nothing changed", command->name, o->queue_id, o->pids[0],
			    o->pids[1]);
	/* What fits all filters is shown. */
	if (o->given & GIVEN_CGROUP && o->given & TARGET && !(command->takes & GIVEN_USER))
		return fail(EXIT_USAGE, "--cgroup goes without -p, -g and -q");
	return 0;
}

/* The last number behind -p is the command's own, where it stands. */
static void main_give_number(struct line *line)
{
	struct options *o = &line->o;
	/* The name of the command is no word any more. */
	int place = line->place ? line->place - 1 : 0;

	o->taken = o->pids[--o->nr_pids];
	memmove(&o->args[place + 1], &o->args[place], (o->nr_args++ - place) * sizeof(*o->args));
	o->args[place] = line->number;
}

/* Return: 0, or the exit status, said. */
static int main_choose_gpus(struct line *line, const struct command *command)
{
	struct options *o = &line->o;
	int status = line->gpus ? find_gpus(line->gpus, &o->gpu_ids, &o->nr_gpus) : 0;

	if (status || !o->nr_gpus)
		return status;
	o->gpu_id = o->gpu_ids[0];
	if (o->nr_gpus > 1 && !(command->many & GIVEN_GPU))
		return fail(EXIT_USAGE, "%s takes one GPU, not %u and %u", command->name, o->gpu_ids[0], o->gpu_ids[1]);
	return 0;
}

static int run_command(struct line *line, const char *name, bool with_program)
{
	const struct command *command = find_command(name);
	struct options *o = &line->o;
	int status;

	if (!command)
		return main_fail_unknown(name);
	if (line->number && command->number && command->number(o, line->number))
		main_give_number(line);
	status = main_check_options(command, o);
	if (status)
		return status;
	if (with_program && !command->program)
		return fail(EXIT_USAGE, "%s runs no program: nothing may follow --", name);
	if (o->nr_args > command->most)
		return fail(EXIT_USAGE, "%s takes no word %s; try: gpreemptctl help %s", name, o->args[command->most], name);
	status = main_choose_gpus(line, command);
	if (status)
		return status;
	status = command->run(o);
	if ((fflush(stdout) || ferror(stdout)) && !status)
		return fail(EXIT_FAILED, "output: %s", strerror(errno));
	return status;
}

/* Has this option its value in the next word? */
static bool main_takes_next(const char *word)
{
	const struct argp_option *option;
	size_t length = strlen(word);

	for (option = argp_options; option->doc; option++)
		if (option->arg && ((word[0] == '-' && word[1] == option->key && length == 2) ||
				    (length > 2 && !strncmp(word, "--", 2) && !strncmp(option->name, word + 2, length - 2))))
			return true;
	return false;
}

/* Hide negative numbers from argp. @negatives: out. */
static void main_hide_negatives(char **argv, int argc, char **negatives)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (argv[i][0] != '-' || argv[i][1] < '0' || argv[i][1] > '9' || main_takes_next(argv[i - 1]))
			continue;
		*negatives++ = argv[i];
		argv[i] = minus;
	}
}

/* @nr_before: words before "--", or all. Return: the exit status. */
static int main_carry_out(struct line *line, char **argv, int nr_before, int argc)
{
	static const struct argp argp = { argp_options, parse_option, NULL, NULL, NULL, NULL, NULL };
	struct options *o = &line->o;
	char *name;
	int i;

	if (argp_parse(&argp, nr_before, argv, ARGP_NO_HELP | ARGP_IN_ORDER, NULL, line))
		return EXIT_USAGE;
	if (o->version) {
		printf("gpreemptctl " VERSION " (kfd_gpreempt)\n");
		return EXIT_DONE;
	}
	if (o->help) {
		o->nr_args = o->nr_args > 0;
		return main_help(o);
	}
	if (!o->nr_args)
		return main_tell_commands();
	name = *o->args++;
	o->nr_args--;
	if (nr_before == argc)
		return run_command(line, name, false);
	for (i = nr_before + 1; i < argc; i++)
		o->args[o->nr_args++] = argv[i];
	return run_command(line, name, true);
}

int main(int argc, char **argv)
{
	char *words[argc + 1], *negatives[argc + 1];
	struct line line = { .o.args = words, .negatives = negatives };
	int status, nr_before;

	memset(words, 0, sizeof(words));
	argp_err_exit_status = EXIT_USAGE;
	/* What follows "--" is another program's command line. Before it, options and words mix freely. */
	for (nr_before = 1; nr_before < argc && strcmp(argv[nr_before], "--"); nr_before++)
		;
	if (nr_before < argc)
		argv[nr_before] = NULL;
	main_hide_negatives(argv, nr_before < argc ? nr_before : argc, negatives);
	status = main_carry_out(&line, argv, nr_before < argc ? nr_before : argc, argc);
	free(line.gpus);
	free(line.o.gpu_ids);
	free(line.o.pids);
	free(line.o.cgroups);
	return status;
}

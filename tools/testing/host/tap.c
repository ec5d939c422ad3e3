// SPDX-License-Identifier: MIT
/*
 * tap.c - runs the registered tests and prints TAP
 *
 *	policytest		all tests, in the order of the source
 *	policytest NAME...	these tests
 *	policytest --list	names and what they say
 *	policytest --mutants FILE [NAME...]	for each mutant in FILE, a line with its number, those of the functions that it changes, and the test that
 *				noticed it the last time, if one did: which test notices it; see mutate
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

enum outcome { PASSED, FAILED, SKIPPED };

/* One that sleeps for ever is ended. */
#define HANGS_S	60

/* Which mutant runs, where there are any; 0: none. */
int mutant;
/* Which functions with mutants have been called, by the number that mutate gave each; NULL: nobody wants to know. */
unsigned char *mutant_calls;
#define NR_FUNCTIONS	4096

static struct test *first, **last = &first;
static jmp_buf out;
static char at[64];
static const char *skipped;

void tap_register(struct test *test)
{
	*last = test;
	last = &test->next;
}

bool tap_at(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(at, sizeof(at), format, args);
	va_end(args);
	return true;
}

void tap_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	printf("# %s:%d: %s", file, line, at);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	longjmp(out, FAILED);
}

unsigned long long tap_setting(const char *name, unsigned long long otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

void tap_skip(const char *reason)
{
	skipped = reason;
	longjmp(out, SKIPPED);
}

void __attribute__((weak)) tap_end(void)
{
}

/* Where each test has a process of its own, tap_end() leaves nothing behind. */
void tap_renew(void)
{
	tap_end();
	if (!tap_forks)
		tap_reset();
}

static bool wanted(const struct test *test, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], test->name))
			return true;
	return argc == 1;
}

static enum outcome run_here(const struct test *test)
{
	enum outcome reason = setjmp(out);

	if (reason == PASSED) {
		at[0] = 0;
		tap_reset();
		test->run();
		tap_end();
	}
	return reason;
}

/*
 * A mutant may loop for ever: each test may use ten times the CPU time that it uses without one, and a little more.
 */
#define LIMIT_MIN_US	200000

static void limit(long us)
{
	struct itimerval timer = { .it_value = { us / 1000000, us % 1000000 } };

	setitimer(ITIMER_PROF, &timer, NULL);
	alarm(us ? HANGS_S : 0);
}

/* A test with threads leaves more behind than can be made new: it has a process of its own. One that dies has failed. */
static enum outcome outcome(const struct test *test)
{
	enum outcome reason;
	int status;
	pid_t pid;

	if (!tap_forks)
		return run_here(test);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		/* A clock is not inherited. */
		if (test->limit_us)
			limit(test->limit_us);
		else
			alarm(HANGS_S);
		reason = run_here(test);
		if (reason == SKIPPED)
			printf("# %s\n", skipped);
		fflush(stdout);
		/* With exit(): what looks for leaks does so at the end. */
		if (reason == PASSED)
			exit(PASSED);
		_exit(reason);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return FAILED;
	if (WIFSIGNALED(status))
		printf("# died of signal %d\n", WTERMSIG(status));
	else if (WEXITSTATUS(status) == SKIPPED)
		skipped = "see above";
	return WIFSIGNALED(status) || WEXITSTATUS(status) > SKIPPED ? FAILED : WEXITSTATUS(status);
}

/* CPU time of this process, or of its children if these run the tests. */
static long used_us(void)
{
	struct rusage usage;

	getrusage(tap_forks ? RUSAGE_CHILDREN : RUSAGE_SELF, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

/* What notices nothing costs all tests, what is noticed only those before. */
static void cheap_first(void)
{
	struct test *rest = first, *test, **link;

	for (first = NULL; rest;) {
		test = rest;
		rest = rest->next;
		for (link = &first; *link && (*link)->limit_us <= test->limit_us; link = &(*link)->next)
			;
		test->next = *link;
		*link = test;
	}
}

/* Measures each test without a mutant, and looks what it calls; those that fail say nothing. */
static void measure(int argc, char **argv)
{
	struct test *test;

	mutant_calls = mmap(NULL, NR_FUNCTIONS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (test = first; test; test = test->next) {
		long began_us = used_us();

		memset(mutant_calls, 0, NR_FUNCTIONS);
		test->fails = !wanted(test, argc, argv) || outcome(test) != PASSED;
		test->limit_us = LIMIT_MIN_US + 10 * (used_us() - began_us);
		test->calls = malloc(NR_FUNCTIONS);
		memcpy(test->calls, mutant_calls, NR_FUNCTIONS);
	}
	mutant_calls = NULL;
	cheap_first();
}

/* A mutant: its number, the functions that it changes, who noticed it the last time. */
struct change {
	int number;
	int nr_functions;
	int functions[8];
	char noticed[64];
};

/* The numbers on a line of mutate's list. */
static struct change read_change(char *line)
{
	struct change change = { .number = strtol(line, &line, 10) };

	while (change.nr_functions < 8 && *line == ' ') {
		if (sscanf(line, " %63[a-z]", change.noticed) == 1) {
			sscanf(line, " %63s", change.noticed);
			break;
		}
		change.functions[change.nr_functions++] = strtol(line, &line, 10) % NR_FUNCTIONS;
	}
	return change;
}

static bool calls_any(const struct test *test, const struct change *change)
{
	int i;

	for (i = 0; i < change->nr_functions; i++)
		if (test->calls[change->functions[i]])
			return true;
	return false;
}

/* The mutants of a function follow each other, and who noticed one is likely to notice the next. */
static void move_to_front(const char *name)
{
	struct test **link, *test;

	for (link = &first; *link; link = &(*link)->next) {
		test = *link;
		if (strcmp(test->name, name))
			continue;
		*link = test->next;
		test->next = first;
		first = test;
		return;
	}
}

/*
 * In a process of its own: @noticed receives the name of the first test that fails; it names the one that died if one does. A test that never
 * called what is changed goes as it went without.
 */
static void try_mutant(const struct change *change, char *noticed, size_t size)
{
	struct test *test;

	mutant = change->number;
	move_to_front(change->noticed);
	for (test = first; test; test = test->next) {
		if (test->fails || !calls_any(test, change))
			continue;
		snprintf(noticed, size, "%s", test->name);
		if (!tap_forks)
			limit(test->limit_us);
		if (outcome(test) == FAILED)
			_exit(1);
	}
	_exit(0);
}

static int try_mutants(const char *file, int argc, char **argv)
{
	char *noticed = mmap(NULL, 256, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	FILE *list = fopen(file, "r"), *report = fdopen(dup(STDOUT_FILENO), "w");
	int null = open("/dev/null", O_WRONLY), status;
	static struct change changes[10000];
	unsigned int i, nr = 0;
	char *line = NULL;
	size_t size = 0;
	pid_t pid;

	if (!list || !report || noticed == MAP_FAILED || null < 0)
		return 2;
	fflush(stdout);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	/* All at once: whoever exits with a file half read turns it back, for everybody who has it. */
	while (nr < 10000 && getline(&line, &size, list) > 0)
		changes[nr++] = read_change(line);
	free(line);
	fclose(list);
	measure(argc, argv);
	for (i = 0; i < nr; i++) {
		pid = fork();
		if (!pid)
			try_mutant(&changes[i], noticed, 256);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 2;
		if (status) {
			fprintf(report, "mutant %d noticed by %s%s\n", changes[i].number, noticed, WIFSIGNALED(status) ? ", which died" : "");
			move_to_front(noticed);
		} else {
			fprintf(report, "mutant %d survived\n", changes[i].number);
		}
		fflush(report);
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool list = argc == 2 && !strcmp(argv[1], "--list");
	int number = 0, failed = 0, count = 0;
	struct test *test;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc >= 3 && !strcmp(argv[1], "--mutants"))
		return try_mutants(argv[2], argc - 2, argv + 2);
	for (test = first; test; test = test->next) {
		if (list)
			printf("%-50s %s\n", test->name, test->what);
		count += wanted(test, argc, argv);
	}
	if (list)
		return 0;
	if (!count) {
		fprintf(stderr, "%s: no such test; --list shows all\n", argv[0]);
		return 2;
	}

	printf("TAP version 13\n1..%d\n", count);
	for (test = first; test; test = test->next) {
		if (!wanted(test, argc, argv))
			continue;
		number++;
		switch (outcome(test)) {
		case PASSED:
			printf("ok %d %s\n", number, test->name);
			break;
		case SKIPPED:
			printf("ok %d %s # SKIP %s\n", number, test->name, skipped);
			break;
		case FAILED:
			printf("# must hold: %s\n", test->what);
			printf("not ok %d %s\n", number, test->name);
			failed++;
		}
	}
	return failed != 0;
}

// SPDX-License-Identifier: MIT
/*
 * tap.c - runs the registered tests and prints TAP
 *
 *	policytest		all tests, in the order of the source
 *	policytest NAME...	these tests
 *	policytest --list	names and what they say
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "node.h"
#include "tap.h"

enum outcome { PASSED, FAILED, SKIPPED };

static struct test *first, **last = &first;
static jmp_buf out;
char tap_case[64];
static const char *skipped;

void tap_register(struct test *test)
{
	*last = test;
	last = &test->next;
}

void tap_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	printf("# %s:%d: %s", file, line, tap_case);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	longjmp(out, FAILED);
}

void tap_skip(const char *reason)
{
	skipped = reason;
	longjmp(out, SKIPPED);
}

static bool wanted(const struct test *test, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], test->name))
			return true;
	return argc == 1;
}

static enum outcome outcome(const struct test *test)
{
	enum outcome reason = setjmp(out);

	if (reason == PASSED)
		test->run();
	return reason;
}

int main(int argc, char **argv)
{
	bool list = argc == 2 && !strcmp(argv[1], "--list");
	int number = 0, failed = 0, count = 0;
	struct test *test;

	setvbuf(stdout, NULL, _IOLBF, 0);
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
		node_reset();
		tap_case[0] = 0;
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

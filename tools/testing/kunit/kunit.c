// SPDX-License-Identifier: MIT
/*
 * kunit.c - the tests of the policy, as KUnit cases: in the kernel, by its compiler options, under its sanitizers
 *
 * The tests are those of tools/testing/host, unchanged; in user space tap.c runs them, here KUnit does. Each is one parameter of one
 * case, so that its name is in the report. They register themselves by constructors, hence CONFIG_CONSTRUCTORS.
 */
#include <kunit/test-bug.h>
#include <kunit/test.h>
#include <linux/module.h>

#include "stdlib.h"
#include "tap.h"

/* A run in user space has 500; under emulation a few have to do. */
static char *seed = "1";
module_param(seed, charp, 0444);
MODULE_PARM_DESC(seed, "first seed of the random nodes");

static char *count = "10";
module_param(count, charp, 0444);
MODULE_PARM_DESC(count, "how many random nodes");

static struct test *first, **last = &first;

int mutant;
static char at[64];

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

void tap_renew(void)
{
	tap_reset();
}

unsigned long long tap_setting(const char *name, unsigned long long otherwise)
{
	unsigned long long value;

	if (strcmp(name, "SEED") && strcmp(name, "COUNT"))
		return otherwise;
	return kstrtoull(strcmp(name, "SEED") ? count : seed, 0, &value) ? otherwise : value;
}

/* Ends the test: it does not return. */
void tap_fail(const char *file, int line, const char *format, ...)
{
	struct kunit *test = kunit_get_current_test();
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	KUNIT_FAIL_AND_ABORT(test, "%s:%d: %s%s", kbasename(file), line, at, text);
	unreachable();
}

void tap_skip(const char *reason)
{
	struct kunit *test = kunit_get_current_test();

	kunit_skip(test, "%s", reason);
	unreachable();
}

static const void *next_test(const void *previous, char *name)
{
	const struct test *test = previous ? ((const struct test *)previous)->next : first;

	if (test)
		strscpy(name, test->name, KUNIT_PARAM_DESC_SIZE);
	return test;
}

/* 7.3 hands its case to a generator of parameters, 6.12 does not. */
static const void *next_test_of(struct kunit *kunit, const void *previous, char *name)
{
	return next_test(previous, name);
}

#define NEXT_TEST _Generic(((struct kunit_case *)NULL)->generate_params, \
			   typeof(&next_test): next_test, default: next_test_of)

static void holds(struct kunit *kunit)
{
	const struct test *test = kunit->param_value;

	at[0] = 0;
	tap_reset();
	test->run();
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(holds, NEXT_TEST),
	{ }
};

static struct kunit_suite suite = {
	.name = "gpreempt_policy",
	.test_cases = cases,
};
kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit tests of the policy of kfd_gpreempt");
MODULE_LICENSE("Dual MIT/GPL");

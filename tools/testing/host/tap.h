/* SPDX-License-Identifier: MIT */
/*
 * tap.h - tests with a name and a sentence, reported as TAP
 *
 *	TEST(name, "what must hold")
 *	{
 *		CHECK(condition);
 *	}
 *
 * A failed CHECK() ends its test. Before each test tap_reset() makes the world new; each program of tests has its own. tap_end() looks at what a test
 * leaves behind, in programs that have one.
 */
#ifndef HOST_TAP_H
#define HOST_TAP_H

#include <stdbool.h>
#include <stdio.h>

struct test {
	const char *name;
	const char *what;
	void (*run)(void);
	struct test *next;
	bool fails;
	long limit_us;
	unsigned char *calls;
};

/* Says where it is in a test with many cases; printed with a failure. */
bool tap_at(const char *format, ...) __attribute__((format(printf, 1, 2)));

extern int mutant;

/* Each program of tests says whether each of them needs a process of its own, and how the world is made new before it. */
extern const bool tap_forks;
void tap_reset(void);
void tap_end(void);
/* Within a test: ends what it has made, and begins anew. */
void tap_renew(void);
void tap_register(struct test *test);
void tap_fail(const char *file, int line, const char *format, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
/* A number from the environment */
unsigned long long tap_setting(const char *name, unsigned long long otherwise);
void tap_skip(const char *reason) __attribute__((noreturn));

#define TEST(_name, _what)							\
	static void _name(void);						\
	static struct test _name##_test = { .name = #_name, .what = _what, .run = _name };	\
	static void __attribute__((constructor)) _name##_register(void)	\
	{									\
		tap_register(&_name##_test);					\
	}									\
	static void _name(void)

#define CHECK(condition)							\
	do {									\
		if (!(condition))						\
			tap_fail(__FILE__, __LINE__, "%s", #condition);		\
	} while (0)

#define CHECK_EQ(left, right)							\
	do {									\
		long long _l = (left), _r = (right);				\
		if (_l != _r)							\
			tap_fail(__FILE__, __LINE__, "%s is %lld, not %s (%lld)", #left, _l, #right, _r);	\
	} while (0)

#define CHECK_WITHIN(value, least, most)						\
	do {									\
		long long _v = (value), _l = (least), _m = (most);		\
		if (_v < _l || _v > _m)						\
			tap_fail(__FILE__, __LINE__, "%s is %lld, not from %lld to %lld", #value, _v, _l, _m);	\
	} while (0)

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#endif

/* @count cases, numbered from 0; @... says what a failure of each is named. */
#define EACH(i, count, ...)							\
	for (unsigned int i = 0; i < (count) ? tap_at(__VA_ARGS__) : !tap_at("%s", ""); i++)

/* Each in a world of its own */
#define EACH_ANEW(i, count, ...)						\
	for (unsigned int i = 0; i < (count) ? (tap_renew(), tap_at(__VA_ARGS__)) : !tap_at("%s", ""); i++)

/* The rows of a table */
#define EACH_CASE(i, table)		EACH(i, ARRAY_SIZE(table), "case %u: ", i)
#define EACH_CASE_ANEW(i, table)	EACH_ANEW(i, ARRAY_SIZE(table), "case %u: ", i)

#define TIMES(count)	for (unsigned int _times = 0; _times < (count); _times++)

#endif /* HOST_TAP_H */

// SPDX-License-Identifier: MIT
/*
 * fuzz_count.c - so many commands of users who mean harm, drawn by a seed, in as many sessions as it takes (TAP)
 *
 *	FUZZ_COMMANDS	how many (default 100000)
 *	SEED		of the lots (default 1); a session depends on it and on its number alone
 *	FUZZ_STATE	file that says how far this seed has come: the next run with it goes on from there, until FUZZ_COMMANDS are done altogether
 *	FUZZ_SESSION	this session only, to look at what went wrong in it
 */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"
#include "tap.h"

/* Each is a fresh device; what happens there is found by whoever runs this number again. */
#define SESSION_COMMANDS	4000
/* Of CPU. A session takes a fraction of a second: no end in this time means that something waits for ever. */
#define SESSION_SECONDS		120

static u64 state;

static u64 draw(unsigned int bytes)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state * 0x2545f4914f6cdd1dULL) >> (64 - 8 * bytes);
}

static bool left(void)
{
	return true;
}

static u64 seed, session, done;

/* What they find ends in a signal, too. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "abort_on_error=1";
}

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
	return "abort_on_error=1";
}

/* Said as it happens: whoever finds something ends the program. */
static void say_where(void)
{
	char text[96];
	int n = snprintf(text, sizeof(text), "# SEED=%llu FUZZ_SESSION=%llu ended the program\nnot ok 1 users_do_no_harm\n", seed, session);

	if (write(1, text, n) != n)
		_exit(3);
}

static void ends(int number)
{
	say_where();
	signal(number, SIG_DFL);
	raise(number);
}

void tap_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s:%d: ", file, line);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	say_where();
	_exit(1);
}

static u64 setting(const char *name, u64 otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

/* How far this seed has come */
static void recall(const char *path)
{
	unsigned long long of_seed, at_session, at_done;
	FILE *f = path ? fopen(path, "r") : NULL;

	if (!f)
		return;
	if (fscanf(f, "%llu %llu %llu", &of_seed, &at_session, &at_done) == 3 && of_seed == seed) {
		session = at_session;
		done = at_done;
	}
	fclose(f);
}

static void remember(const char *path)
{
	char fresh[512];
	FILE *f;

	if (!path)
		return;
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	f = fopen(fresh, "w");
	if (!f || fprintf(f, "%llu %llu %llu\n", seed, session, done) < 0 || fclose(f) || rename(fresh, path)) {
		perror(fresh);
		exit(2);
	}
}

static void one_session(void)
{
	static const struct fuzz_lots lots = { .draw = draw, .left = left };

	state = (seed * 0x9e3779b97f4a7c15ULL) ^ ((session + 1) * 0xbf58476d1ce4e5b9ULL);
	state = state ? state : 1;
	setitimer(ITIMER_PROF, &(struct itimerval){ .it_value.tv_sec = SESSION_SECONDS }, NULL);
	done += fuzz_session(&lots, SESSION_COMMANDS);
	session++;
}

int main(void)
{
	u64 commands = setting("FUZZ_COMMANDS", 100000), before;
	const char *path = getenv("FUZZ_STATE");
	time_t began = time(NULL);

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..1\n");
	seed = setting("SEED", 1);
	if (getenv("FUZZ_SESSION")) {
		session = setting("FUZZ_SESSION", 0);
		commands = 1;
		path = NULL;
	} else {
		recall(path);
	}
	before = done;
	signal(SIGPROF, ends);
	signal(SIGABRT, ends);
	shim_init();
	while (done < commands) {
		one_session();
		if (session % 64 == 0)
			remember(path);
	}
	remember(path);
	printf("# SEED=%llu: %llu commands in %llu sessions, %llu of them in this run, in %lld s\n", seed, done, session, done - before,
	       (long long)(time(NULL) - began));
	printf("ok 1 users_do_no_harm\n");
	return 0;
}

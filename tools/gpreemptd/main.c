// SPDX-License-Identifier: MIT
/* main.c - gpreemptd: command line, and what it waits for */
#include "gpreemptd.h"

#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_FILE	"/etc/gpreemptd.conf"

const char *argp_program_version = "gpreemptd " VERSION " (kfd_gpreempt)";

static const char doc[] =
	"Schedules GPU compute queues from user space, of the processes that FILE names, as it says; " DEFAULT_FILE ", see gpreemptd(8).\v"
	"SIGHUP has it read FILE again.\n"
	"\n"
	"Exit status: 0 ended by a signal, 1 failed, 2 wrong usage or a file that is wrong, 3 the module is missing or not ours, 4 not allowed.";

/**
 * struct daemon - everything
 * @config: what the file says
 * @engine: the scheduler
 * @path: of the file
 * @signals: signalfd
 * @timer: timerfd, for the next look
 * @deaf: the kernel does not tell events, and why has been said
 */
struct daemon {
	struct config config;
	struct engine engine;
	const char *path;
	int signals;
	int timer;
	bool deaf;
};

/** say() - a line for the log */
void say(const char *format, ...)
{
	va_list args;

	fputs("gpreemptd: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct daemon *d = state->input;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (state->arg_num)
		argp_error(state, "it takes one file, not also %s", arg);
	d->path = arg;
	return 0;
}

/* Without the driver there is nothing to schedule: better said now. */
static int check_module(void)
{
	struct gpreempt *g;
	int error = gpreempt_open(&g);

	gpreempt_close(g);
	switch (error) {
	case 0:
		return EXIT_DONE;
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
		say("no /dev/kfd_gpreempt: amdgpu is not loaded, or without kfd_gpreempt; try: gpreemptctl doctor");
		return EXIT_NO_MODULE;
	case -EPROTO:
		say("/dev/kfd_gpreempt speaks an older ABI than this program; update the module");
		return EXIT_NO_MODULE;
	}
	say("/dev/kfd_gpreempt: %s", strerror(-error));
	return error == -EACCES || error == -EPERM ? EXIT_DENIED : EXIT_FAILED;
}

static int open_all(struct daemon *d)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	d->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	d->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (d->signals >= 0 && d->timer >= 0)
		return EXIT_DONE;
	say("signalfd, timerfd: %s", strerror(errno));
	return EXIT_FAILED;
}

/* @ns: SCHED_NEVER: not at all */
static void set_timer(const struct daemon *d, uint64_t ns)
{
	struct itimerspec when = { 0 };

	if (ns != SCHED_NEVER) {
		/* 0 would switch it off. */
		ns = ns ? ns : 1;
		when.it_value.tv_sec = (time_t)(ns / NS_PER_S);
		when.it_value.tv_nsec = (long)(ns % NS_PER_S);
	}
	timerfd_settime(d->timer, 0, &when, NULL);
}

static void look(struct daemon *d)
{
	set_timer(d, engine_look(&d->engine, now()));
}

/* Events may come faster than one can look: not more often than it would anyway. */
static void look_soon(struct daemon *d)
{
	uint64_t gap_ns = d->config.values[POLL_US] * NS_PER_US, passed_ns = now() - d->engine.looked_ns;

	if (passed_ns >= gap_ns)
		look(d);
	else
		set_timer(d, gap_ns - passed_ns);
}

/* What has been read is in force, and the processes that it names are scheduled. */
static void begin(struct daemon *d)
{
	d->engine.search_ns = 0;
	look(d);
	say("%s is in force: policy %s, lines about processes: %zu, processes with queues now: %zu", d->path, sched_policy_name(d->config.policy),
	    d->config.nr_rules, d->engine.nr_processes);
}

/* Return: it goes on. */
static bool obey(struct daemon *d)
{
	struct signalfd_siginfo signal;

	if (read(d->signals, &signal, sizeof(signal)) != sizeof(signal))
		return true;
	if (signal.ssi_signo != SIGHUP)
		return false;
	if (config_read(&d->config, d->path, false))
		begin(d);
	else
		say("%s is not in force: what was read before stays", d->path);
	return true;
}

static void hear(struct daemon *d, short revents)
{
	/* The user listens through too many descriptors: it goes on by its timer alone. */
	if (revents & (POLLERR | POLLHUP) && !(revents & POLLIN)) {
		d->deaf = true;
		say("the kernel tells no events: too many listeners of this user");
		return;
	}
	if (engine_events(&d->engine))
		look_soon(d);
}

static void run(struct daemon *d)
{
	enum { SIGNALS, TIMER, EVENTS, NR_FDS };
	struct pollfd fds[NR_FDS] = { { .fd = d->signals, .events = POLLIN }, { .fd = d->timer, .events = POLLIN }, { .events = POLLIN } };
	uint64_t expirations;

	for (;;) {
		if (!d->engine.g)
			d->deaf = false;
		fds[EVENTS].fd = d->engine.g && !d->deaf ? gpreempt_fd(d->engine.g) : -1;
		if (poll(fds, NR_FDS, -1) < 0) {
			if (errno == EINTR)
				continue;
			say("poll: %s", strerror(errno));
			return;
		}
		if (fds[EVENTS].revents)
			hear(d, fds[EVENTS].revents);
		if (fds[TIMER].revents && read(d->timer, &expirations, sizeof(expirations)) > 0)
			look(d);
		if (fds[SIGNALS].revents && !obey(d))
			return;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = { NULL, parse_option, "[FILE]", doc, NULL, NULL, NULL };
	static struct daemon d = { .path = DEFAULT_FILE };
	int status;

	argp_err_exit_status = EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &d))
		return EXIT_USAGE;
	config_init(&d.config, getenv("XSCHED_SCHED"));
	d.engine.config = &d.config;
	if (!config_read(&d.config, d.path, true)) {
		say("%s is not in force: not started", d.path);
		return EXIT_USAGE;
	}
	status = check_module();
	if (!status)
		status = open_all(&d);
	if (!status) {
		begin(&d);
		run(&d);
	}
	engine_exit(&d.engine);
	config_free(&d.config);
	return status;
}

// SPDX-License-Identifier: MIT
/* main.c - gpreemptd: command line, and what it waits for */
#include "gpreemptd.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SOCKET	"/run/gpreemptd/socket"

const char *argp_program_version = "gpreemptd " VERSION " (kfd_gpreempt)";

static const char doc[] =
	"Schedules GPU compute queues of registered processes from user space.\v"
	"POLICY is hpf (highest priority first), fifo, rr (round robin) or fair (by weights); without -p it is what XSCHED_SCHED says, or hpf.\n"
	"NAME is slice_us, poll_us, interval_ms or timeout_ms. Processes are registered by: gpreemptctl daemon add\n"
	"\n"
	"Exit status: 0 ended by a signal, 1 failed, 2 wrong usage, 3 the module is missing or not ours, 4 not allowed.";

static const struct argp_option argp_options[] = {
	{ "policy", 'p', "POLICY", 0, "How to decide", 0 },
	{ "set", 's', "NAME=VALUE", 0, "Change a setting", 0 },
	{ "socket", 'S', "PATH", 0, "Where gpreemptctl finds it; " SOCKET, 0 },
	{ 0 }
};

/**
 * struct daemon - everything
 * @engine: the scheduler
 * @path: of the socket
 * @has_policy: the command line names one
 * @listener: the socket
 * @signals: signalfd
 * @timer: timerfd, for the next look
 * @deaf: the kernel does not tell events, and why has been said
 * @connections: who asks
 */
struct daemon {
	struct engine engine;
	const char *path;
	bool has_policy;
	int listener;
	int signals;
	int timer;
	bool deaf;
	struct connection connections[MAX_CONNECTIONS];
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

/* Return: is there such a policy? */
static bool choose_policy(struct engine *e, const char *name)
{
	int policy = sched_policy_find(name);

	if (policy >= 0)
		e->policy = (enum sched_policy)policy;
	return policy >= 0;
}

static const char *what_is_wrong(const char *name)
{
	return sched_policy_is_xscheds(name) ? "is a policy of XSched that gpreemptd has not" : "is no policy";
}

static void change_setting(struct engine *e, struct argp_state *state, char *text)
{
	char *value = strchr(text, '=');
	int setting;

	if (!value)
		argp_error(state, "set %s to what? NAME=VALUE", text);
	*value++ = '\0';
	setting = setting_find(text);
	if (setting < 0)
		argp_error(state, "there is no setting %s", text);
	if (!setting_parse((enum setting)setting, value, &e->values[setting]))
		argp_error(state, "%s=%s is not a number from %" PRIu64 " to %" PRIu64, text, value, settings[setting].least, settings[setting].most);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct daemon *d = state->input;

	switch (key) {
	case 'p':
		if (!choose_policy(&d->engine, arg))
			argp_error(state, "%s %s (hpf fifo rr fair)", arg, what_is_wrong(arg));
		d->has_policy = true;
		break;
	case 's':
		change_setting(&d->engine, state, arg);
		break;
	case 'S':
		d->path = arg;
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "it takes no word %s", arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Without the driver there is nothing to schedule: better said now than to the first who asks. */
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
	int i;

	for (i = 0; i < MAX_CONNECTIONS; i++)
		d->connections[i].fd = -1;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	d->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	d->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (d->signals < 0 || d->timer < 0) {
		say("signalfd, timerfd: %s", strerror(errno));
		return EXIT_FAILED;
	}
	/* systemd makes the folder; a daemon started by hand makes it itself. */
	if (!strcmp(d->path, SOCKET))
		mkdir("/run/gpreemptd", 0755);
	d->listener = control_listen(d->path);
	if (d->listener >= 0)
		return EXIT_DONE;
	say("%s: %s", d->path, d->listener == -EADDRINUSE ? "another gpreemptd listens there" : strerror(-d->listener));
	return d->listener == -EACCES || d->listener == -EPERM ? EXIT_DENIED : EXIT_FAILED;
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
	uint64_t gap_ns = d->engine.values[POLL_US] * NS_PER_US, passed_ns = now() - d->engine.looked_ns;

	if (passed_ns >= gap_ns)
		look(d);
	else
		set_timer(d, gap_ns - passed_ns);
}

/* In the order in which they are polled. */
enum { SIGNALS, TIMER, LISTENER, EVENTS, CONNECTIONS, PIDFDS = CONNECTIONS + MAX_CONNECTIONS, NR_FDS = PIDFDS + MAX_PROCESSES };

static nfds_t what_to_wait_for(const struct daemon *d, struct pollfd *fds)
{
	size_t i;

	fds[SIGNALS].fd = d->signals;
	fds[TIMER].fd = d->timer;
	fds[LISTENER].fd = d->listener;
	fds[EVENTS].fd = d->engine.g && !d->deaf ? gpreempt_fd(d->engine.g) : -1;
	for (i = 0; i < MAX_CONNECTIONS; i++)
		fds[CONNECTIONS + i].fd = d->connections[i].fd;
	for (i = 0; i < d->engine.nr_processes; i++)
		fds[PIDFDS + i].fd = d->engine.processes[i]->pidfd;
	for (i = 0; i < PIDFDS + d->engine.nr_processes; i++)
		fds[i].events = POLLIN;
	return PIDFDS + d->engine.nr_processes;
}

/* Processes that have ended; from the last one on, since removing one moves those behind it. */
static bool bury(struct daemon *d, const struct pollfd *fds, size_t nr)
{
	bool gone = false;

	while (nr-- > 0) {
		if (!fds[PIDFDS + nr].revents)
			continue;
		engine_remove(&d->engine, d->engine.processes[nr]);
		gone = true;
	}
	return gone;
}

static bool answer_all(struct daemon *d, const struct pollfd *fds)
{
	bool changed = false;
	int i;

	for (i = 0; i < MAX_CONNECTIONS; i++)
		if (fds[CONNECTIONS + i].revents)
			changed |= control_read(&d->engine, &d->connections[i]);
	return changed;
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
	struct pollfd fds[NR_FDS];
	uint64_t expirations;
	size_t processes;
	nfds_t nr;

	for (;;) {
		processes = d->engine.nr_processes;
		nr = what_to_wait_for(d, fds);
		if (poll(fds, nr, -1) < 0) {
			if (errno == EINTR)
				continue;
			say("poll: %s", strerror(errno));
			return;
		}
		if (fds[SIGNALS].revents)
			return;
		if (fds[EVENTS].revents)
			hear(d, fds[EVENTS].revents);
		/* A status is of now: the timer goes first. */
		if (bury(d, fds, processes) || (fds[TIMER].revents && read(d->timer, &expirations, sizeof(expirations)) > 0))
			look(d);
		if (answer_all(d, fds))
			look(d);
		if (!d->engine.g)
			d->deaf = false;
		if (fds[LISTENER].revents)
			control_accept(d->listener, d->connections);
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = { argp_options, parse_option, NULL, doc, NULL, NULL, NULL };
	static struct daemon d = { .path = SOCKET };
	const char *xsched = getenv("XSCHED_SCHED");
	int status;

	argp_err_exit_status = EXIT_USAGE;
	engine_init(&d.engine);
	if (argp_parse(&argp, argc, argv, 0, NULL, &d))
		return EXIT_USAGE;
	/* It may be meant for XSched itself: no reason not to start. */
	if (!d.has_policy && xsched && *xsched && !choose_policy(&d.engine, xsched))
		say("XSCHED_SCHED=%s %s (hpf fifo rr fair); kept %s", xsched, what_is_wrong(xsched), sched_policy_name(d.engine.policy));
	status = check_module();
	if (!status)
		status = open_all(&d);
	if (status)
		return status;
	say("policy %s, listens at %s", sched_policy_name(d.engine.policy), d.path);
	run(&d);
	engine_exit(&d.engine);
	unlink(d.path);
	return EXIT_DONE;
}

// SPDX-License-Identifier: MIT
/*
 * demo-phases.c - runs the three phases of the demonstration inside the guest
 *
 *	demo-phases <requests> [nice|class]
 *
 * alone: inference by itself. off: training beside it, scheduling off. on: the same with gpreempt_enable=1. Starts
 * both programs as ordinary processes, passes on what they print with the phase's name in front, and adds a line with
 * the scheduler's numbers. Sets gpreempt_enable and nothing else.
 *
 * nice: training has nice value 10. class: both have nice value 0 and are grandchildren of `gpreemptctl run --class`,
 * batch the one, latency the other.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "demo.h"

#define TRAINING_NICE		10
#define PERIOD_MS		100
#define REGISTER_NS		(50 * KFD_NS_PER_MS)

/**
 * struct child - a program that was started
 * @pid: what was started: the program, or what runs it
 * @out: its output
 */
struct child {
	pid_t pid;
	FILE *out;
};

static bool by_class;

static struct child start(char *const *argv, int nice_value)
{
	struct child c;
	int fds[2];

	if (pipe(fds))
		exit(1);
	c.pid = fork();
	if (c.pid < 0)
		exit(1);
	if (!c.pid) {
		setpriority(PRIO_PROCESS, 0, nice_value);
		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		close(fds[1]);
		execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	close(fds[1]);
	c.out = fdopen(fds[0], "r");
	return c;
}

/* The program, told to be urgent or not. What a shell runs before its last command is a child of that shell. */
static struct child launch(char *const *argv, bool urgent)
{
	char *const with_class[] = {
		"gpreemptctl", "run", "--class", urgent ? "latency" : "batch", "--", "sh", "-c", "sh -c '\"$@\"; exit $?' sh \"$@\"; exit $?",
		"sh", argv[0], argv[1], argv[1] ? argv[2] : NULL, argv[1] && argv[2] ? argv[3] : NULL, NULL,
	};

	return by_class ? start(with_class, 0) : start(argv, urgent ? 0 : TRAINING_NICE);
}

/* Passes on the rest of its output; true if it ended well. */
static bool finish(const char *phase, struct child *c)
{
	char line[512];
	int status;

	while (fgets(line, sizeof(line), c->out))
		printf("%s %s", phase, line);
	fclose(c->out);
	return waitpid(c->pid, &status, 0) == c->pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

static int64_t counter(const char *name)
{
	int64_t value = kfd_gpreempt_get(kfd_first_gpu_id(), name);

	return value < 0 ? 0 : value;
}

static bool run_phase(const char *phase, const char *requests, bool with_training, bool enable)
{
	char seconds[16], pid[16] = "", page[32] = "", line[512];
	char *inference[] = { "inference", (char *)requests, with_training ? pid : NULL, page, NULL };
	char *training[] = { "training", seconds, NULL };
	int64_t preemptions, resumes, failures;
	uint64_t start, cpu, elapsed;
	struct child t = { 0 }, i;
	bool good = true;
	int err;

	err = kfd_param_set("gpreempt_enable", enable);
	if (err) {
		fprintf(stderr, "gpreempt_enable=%d: error %d\n", enable, -err);
		return false;
	}
	snprintf(seconds, sizeof(seconds), "%d", atoi(requests) * PERIOD_MS / 1000 * 3 / 2 + 5);
	if (with_training) {
		t = launch(training, false);
		if (!fgets(line, sizeof(line), t.out) || sscanf(line, "ready %15s %31s", pid, page) != 2) {
			fprintf(stderr, "training did not start\n");
			finish(phase, &t);
			return false;
		}
	}
	kfd_sleep_ns(REGISTER_NS);
	preemptions = counter("preemptions");
	resumes = counter("resumes");
	failures = counter("failures");
	cpu = (uint64_t)kfd_cpu_ns(counter("monitor_pid"));
	start = kfd_now_ns();
	i = launch(inference, true);
	good &= finish(phase, &i);
	elapsed = kfd_now_ns() - start;
	cpu = (uint64_t)kfd_cpu_ns(counter("monitor_pid")) - cpu;
	if (with_training) {
		kill(atoi(pid), SIGTERM);
		good &= finish(phase, &t);
	}
	printf("%s scheduler elapsed_us=%llu preemptions=%lld resumes=%lld failures=%lld monitor_us=%llu\n", phase,
	       (unsigned long long)elapsed / KFD_NS_PER_US, (long long)(counter("preemptions") - preemptions),
	       (long long)(counter("resumes") - resumes), (long long)(counter("failures") - failures),
	       (unsigned long long)cpu / KFD_NS_PER_US);
	return good;
}

int main(int argc, char **argv)
{
	const char *requests = argc > 1 ? argv[1] : "200";
	bool good;

	by_class = argc > 2 && !strcmp(argv[2], "class");
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!kfd_client_is_virtual() || kfd_param_get("gpreempt_enable") < 0) {
		fprintf(stderr, "needs the virtual GPU and an amdgpu with gpreempt_enable\n");
		return 1;
	}
	good = run_phase("alone", requests, false, false) && run_phase("off", requests, true, false) &&
	       run_phase("on", requests, true, true);
	kfd_param_set("gpreempt_enable", 0);
	return good ? 0 : 1;
}

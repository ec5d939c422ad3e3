// SPDX-License-Identifier: MIT
/*
 * daemon.c - the scheduler in user space, and preemption as a test for hangs
 *
 * Fixture gpreemptd: processes of one priority, which the kernel's scheduler leaves alone, scheduled by the program gpreemptd. Fixture probe:
 * gpreemptctl probe-hang, of which some tests need the virtual GPU's faults, amdgpu.gpu_recovery=1 and reset_method=5. Both programs have to be
 * on the PATH. Where times are compared, then within one run: meaningful in virtual time (the VM's --icount).
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "reset.h"
#include "gpreempt.h"
#include "worker.h"
#include "../../../bench/demo/percentile.h"

#define FILE_PATH	"/tmp/gpreemptd.conf"
#define LOG_PATH	"/tmp/gpreemptd.log"
#define IN_FORCE	"is in force: "
#define NOT_IN_FORCE	"is not in force: "
#define STEPS		40

static bool is_on_path(const char *program)
{
	char command[128];

	snprintf(command, sizeof(command), "command -v %s >/dev/null", program);
	return !system(command);
}

/* ---- the daemon ---- */

/* The section [processes] */
static char processes[512];

static void name(const struct actor *a, int priority, unsigned int weight)
{
	size_t length = strlen(processes);

	snprintf(processes + length, sizeof(processes) - length, "pid %d = %d weight=%u\n", a->pid, priority, weight);
}

static int write_file(const char *settings)
{
	FILE *f = fopen(FILE_PATH, "w");

	if (!f)
		return -errno;
	fprintf(f, "[settings]\n%s\n[processes]\n%s", settings, processes);
	return fclose(f) ? -errno : 0;
}

static int count_in_log(const char *text)
{
	char line[512];
	FILE *f = fopen(LOG_PATH, "r");
	int nr = 0;

	while (f && fgets(line, sizeof(line), f))
		nr += !!strstr(line, text);
	if (f)
		fclose(f);
	return nr;
}

/* Until it has said this so often; negative errno. */
static int wait_log(pid_t daemon, const char *text, int nr)
{
	uint64_t deadline = kfd_now_ns() + LONG;

	while (count_in_log(text) < nr) {
		if (waitpid(daemon, NULL, WNOHANG) || kfd_now_ns() >= deadline)
			return -ESRCH;
		kfd_sleep_ns(5 * MS);
	}
	return 0;
}

/* Until the processes that have been named are scheduled; negative errno. */
static pid_t start_daemon(const char *settings)
{
	int err = write_file(settings);
	pid_t pid;

	if (err)
		return err;
	unlink(LOG_PATH);
	pid = fork();
	if (!pid) {
		if (freopen(LOG_PATH, "w", stderr))
			execlp("gpreemptd", "gpreemptd", FILE_PATH, NULL);
		_exit(127);
	}
	err = wait_log(pid, IN_FORCE, 1);
	return err ? err : pid;
}

/* It has read the file anew, and said this once more; negative errno. */
static int reload(pid_t daemon, const char *settings, const char *says)
{
	int err = write_file(settings), nr = count_in_log(says);

	if (err || kill(daemon, SIGHUP))
		return err ? err : -errno;
	return wait_log(daemon, says, nr + 1);
}

FIXTURE(gpreemptd) {
	BEFORE_TEST;
	pid_t daemon;
};

FIXTURE_SETUP(gpreemptd)
{
	SETUP_SCHEDULER(NULL, 0);
	if (!is_on_path("gpreemptd"))
		SKIP(return, "there is no program gpreemptd");
}

static int end_daemon(FIXTURE_DATA(gpreemptd) *self, int signal)
{
	int status;

	if (self->daemon <= 0)
		return 0;
	kill(self->daemon, signal);
	waitpid(self->daemon, &status, 0);
	self->daemon = 0;
	return status;
}

FIXTURE_TEARDOWN(gpreemptd)
{
	end_daemon(self, SIGKILL);
	TEARDOWN_SCHEDULER();
}

#define DAEMON(settings) do { \
	self->daemon = start_daemon(settings); \
	ASSERT_GT(self->daemon, 0); \
} while (0)

static int wait_runs(const struct actor *a)
{
	uint64_t progress = kfd_work_progress(&a->work[0]);

	return actor_wait_progress(a, 0, progress + 1, LONG);
}

TEST_F(gpreemptd, hpf_lower_yields_and_continues)
{
	struct actor *low = worker(_metadata, 0, 1, self->slots, STEPS, 5 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 10, 5 * MS);

	name(low, -5, 100);
	name(high, 5, 100);
	DAEMON("policy = HPF");
	ASSERT_EQ(0, launch_interrupts(high, low));
	EXPECT_FALSE(actor_done(high, 0));
	ASSERT_ENDS_BEFORE(high, low);
	ASSERT_DONE_ONCE(low, high);
	EXPECT_LE(1, preempt_count(low, 0));
	EXPECT_EQ(0, preempt_count(high, 0));
	EXPECT_EQ(0, end_daemon(self, SIGTERM));
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

TEST_F(gpreemptd, fifo_first_come_is_done_first)
{
	struct actor *a[3];
	int i;

	for (i = 0; i < 3; i++) {
		a[i] = worker(_metadata, 0, 1, self->slots / 2, 20, 5 * MS);
		/* What does not count here says the opposite. */
		name(a[i], i, 100);
	}
	DAEMON("policy = fifo");
	ASSERT_EQ(0, launch_begins(a[0]));
	for (i = 1; i < 3; i++) {
		ASSERT_EQ(0, launch_preempts(a[i], a[i]));
	}
	EXPECT_FALSE(actor_done(a[0], 0));
	ASSERT_ENDS_BEFORE(a[0], a[1]);
	ASSERT_ENDS_BEFORE(a[1], a[2]);
	ASSERT_EQ(0, actor_wait(a[2], 0, LONG));
	EXPECT_EQ(0, preempt_count(a[0], 0));
	for (i = 0; i < 3; i++)
		EXPECT_EXACTLY_ONCE(a[i]);
}

/*
 * Two with the same waves: how many of a hundred steps were the first one's, from when both had begun until that had done nine tenths of its own? Each is a
 * slice off its part at most, at the beginning and at the end: with SHARED_STEPS of half a slice or more that is five of a hundred, and a switch is no step.
 */
#define SHARED_STEPS	100
#define SHARED_OFF	7
static uint64_t share(struct __test_metadata *_metadata, const FIXTURE_DATA(gpreemptd) *self, struct actor *a, struct actor *b)
{
	uint64_t first, second;

	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_submit(b, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(a, 0, 1, LONG));
	ASSERT_EQ(0, actor_wait_progress(b, 0, 1, LONG));
	first = kfd_work_progress(&a->work[0]);
	second = kfd_work_progress(&b->work[0]);
	ASSERT_EQ(0, actor_wait_progress(a, 0, few_waves(self->slots) * SHARED_STEPS * 9 / 10, LONG));
	first = kfd_work_progress(&a->work[0]) - first;
	second = kfd_work_progress(&b->work[0]) - second;
	TH_LOG("%llu : %llu steps", (unsigned long long)(first / few_waves(self->slots)),
	       (unsigned long long)(second / few_waves(self->slots)));
	EXPECT_GE(preempt_count(a, 0), 3);
	EXPECT_GE(preempt_count(b, 0), 3);
	ASSERT_DONE_ONCE(a, b);
	return first * 100 / (first + second);
}

TEST_F_TIMEOUT(gpreemptd, rr_gives_everybody_the_same, 120)
{
	struct actor *a = worker(_metadata, 0, 1, few_waves(self->slots), SHARED_STEPS, 10 * MS);
	struct actor *b = worker(_metadata, 0, 1, few_waves(self->slots), SHARED_STEPS, 10 * MS);
	uint64_t percent;

	name(a, 100, 300);
	name(b, 0, 100);
	DAEMON("policy = RR\nslice_us = 20000");
	percent = share(_metadata, self, a, b);
	EXPECT_GE(percent, 50 - SHARED_OFF);
	EXPECT_LE(percent, 50 + SHARED_OFF);
}

TEST_F_TIMEOUT(gpreemptd, fair_follows_weights, 120)
{
	struct actor *heavy = worker(_metadata, 0, 1, few_waves(self->slots), SHARED_STEPS, 10 * MS);
	struct actor *light = worker(_metadata, 0, 1, few_waves(self->slots), SHARED_STEPS, 10 * MS);
	uint64_t percent;

	name(heavy, 0, 300);
	name(light, 0, 100);
	DAEMON("policy = fair\nslice_us = 15000");
	percent = share(_metadata, self, heavy, light);
	EXPECT_GE(percent, 75 - SHARED_OFF);
	EXPECT_LE(percent, 75 + SHARED_OFF);
}

/* Half of the device each, so that the one runs beside the other once nobody holds it. */
TEST_F(gpreemptd, killed_daemon_holds_nobody)
{
	struct actor *low = worker(_metadata, 0, 1, self->slots / 2, STEPS, 5 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots / 2, 2 * STEPS, 5 * MS);

	name(low, 0, 100);
	name(high, 1, 100);
	DAEMON("policy = hpf");
	ASSERT_EQ(0, launch_interrupts(high, low));
	EXPECT_EQ(SIGKILL, end_daemon(self, SIGKILL));
	EXPECT_EQ(0, wait_runs(low));
	EXPECT_FALSE(actor_done(high, 0));
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
	ASSERT_DONE_ONCE(low, high);
}

TEST_F(gpreemptd, killed_client_holds_nobody)
{
	struct actor *low = worker(_metadata, 0, 1, self->slots, STEPS, 5 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 2 * STEPS, 5 * MS);
	struct actor *held = worker(_metadata, 0, 1, self->slots, STEPS, 5 * MS);

	name(low, 0, 100);
	name(high, 1, 100);
	name(held, 0, 100);
	DAEMON("policy = hpf");
	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, actor_submit(held, 0, 0, 1, 0));
	ASSERT_EQ(0, launch_preempts(high, low));
	ASSERT_EQ(0, wait_state(held, 0, "preempted", LONG));
	actor_kill(held);
	actor_kill(high);
	ASSERT_DONE_ONCE(low);
	EXPECT_EQ(0, actor_tally(high).twice);
	EXPECT_EQ(0, actor_tally(held).twice);
	/* The file still names all three. */
	EXPECT_EQ(0, reload(self->daemon, "", "processes with queues now: 1"));
}

TEST_F(gpreemptd, client_that_is_taken_out_runs_and_a_wrong_file_moves_nobody)
{
	struct actor *low = worker(_metadata, 0, 1, self->slots / 2, STEPS, 5 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots / 2, 2 * STEPS, 5 * MS);

	name(low, 0, 100);
	name(high, 1, 100);
	DAEMON("policy = hpf");
	ASSERT_EQ(0, launch_interrupts(high, low));
	/* A wrong line, and low would come first. */
	processes[0] = '\0';
	name(low, 2, 100);
	name(high, 1, 0);
	ASSERT_EQ(0, reload(self->daemon, "policy = hpf", NOT_IN_FORCE));
	EXPECT_EQ(0, wait_state(low, 0, "preempted", LONG));
	EXPECT_EQ(0, preempt_count(high, 0));
	processes[0] = '\0';
	name(high, 1, 100);
	ASSERT_EQ(0, reload(self->daemon, "policy = hpf", IN_FORCE));
	EXPECT_EQ(0, wait_runs(low));
	EXPECT_FALSE(actor_done(high, 0));
	ASSERT_DONE_ONCE(low, high);
}

/* A quarter of the device each. The kernel knows of a nice value, gpreemptd of two processes that are equals to the kernel. */
TEST_F_TIMEOUT(gpreemptd, both_schedulers_at_once, 120)
{
	struct actor *nice = worker(_metadata, LOW_NICE, 1, self->slots / 4, STEPS, 5 * MS);
	struct actor *other = worker(_metadata, 0, 1, self->slots / 4, 2 * STEPS, 5 * MS);
	struct actor *low = worker(_metadata, 0, 1, self->slots / 4, STEPS, 5 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots / 4, 20, 5 * MS);

	name(low, -5, 100);
	name(high, 5, 100);
	DAEMON("policy = hpf");
	ASSERT_STRICT_ORDER();
	ASSERT_EQ(0, launch_begins(nice));
	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, wait_state(nice, 0, "preempted", LONG));
	ASSERT_EQ(0, launch_preempts(high, low));
	ASSERT_EQ(0, actor_submit(other, 0, 0, 1, 0));
	ASSERT_ENDS_BEFORE(high, low);
	/* Beside other, which has more to do, and before nice, for which there would be room. */
	ASSERT_ENDS_BEFORE(low, other);
	EXPECT_FALSE(actor_done(nice, 0));
	ASSERT_ENDS_BEFORE(other, nice);
	ASSERT_EQ(0, actor_wait(nice, 0, LONG));
	EXPECT_EQ(0, preempt_count(high, 0));
	EXPECT_EQ(0, preempt_count(other, 0));
	ASSERT_DONE_ONCE(nice, low, other, high);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/* ---- a request beside training: what launches held back, gpreemptd and the kernel make of it ---- */

#define KERNELS		12		/* of a request, in order, 20 ms together */
#define KERNEL_NS	(20 * MS / KERNELS)
#define PERIOD_NS	(100 * MS)
#define REQUESTS	5
#define GRIDS		8		/* of an iteration of training */
#define GRID_NS		(5 * MS)
/*
 * XSched's level 1 by default: 16 commands are in flight at most; then it waits for the first 8 of them. Two iterations of 8 are just that.
 */
#define IN_FLIGHT	2
#define MAX_ITERATIONS	64
#define MODES		4

/**
 * struct scene - what requests and training share
 * @urgent: a request is under way
 * @hold_back: training launches nothing meanwhile
 * @stop: training comes to its end
 * @iterations: that training has done
 * @latency_ns: of the requests
 * @iteration_ns: of the iterations: from when the program has it ready until it is done
 */
struct scene {
	volatile bool urgent;
	volatile bool hold_back;
	volatile bool stop;
	volatile uint32_t iterations;
	uint64_t latency_ns[REQUESTS];
	uint64_t iteration_ns[MAX_ITERATIONS];
};

static struct scene *scene;

static int64_t requests(struct actor *a, const int64_t *args)
{
	uint64_t arrival = kfd_now_ns() + PERIOD_NS / 2;
	int work = (int)args[0], i, k, err = 0;

	for (i = 0; i < REQUESTS && !err; i++, arrival += PERIOD_NS) {
		if (kfd_now_ns() < arrival)
			kfd_sleep_until_ns(arrival);
		scene->urgent = true;
		kfd_signal_reset(a->done[work], KERNELS);
		for (k = 0; k < KERNELS && !err; k++)
			err = kfd_work_submit(&a->queue[0], &a->work[work], a->done[work],
					      KFD_PACKET_BARRIER | (k == KERNELS - 1 ? 0 : KFD_PACKET_SILENT));
		if (!err)
			err = kfd_signal_poll(a->done[work], LONG);
		scene->urgent = false;
		scene->latency_ns[i] = kfd_now_ns() - arrival;
	}
	return err;
}

static int64_t training(struct actor *a, const int64_t *args)
{
	uint64_t ready_ns[IN_FLIGHT];
	uint32_t begun = 0, ended = 0, k;
	int err = 0;

	while (!err && (!scene->stop || ended < begun)) {
		while (!err && !scene->stop && begun < MAX_ITERATIONS && begun - ended < IN_FLIGHT) {
			uint32_t w = begun % IN_FLIGHT;

			ready_ns[w] = kfd_now_ns();
			kfd_signal_reset(a->done[args[0] + w], GRIDS);
			for (k = 0; k < GRIDS && !err; k++) {
				while (scene->hold_back && scene->urgent)
					kfd_sleep_ns(100 * US);
				err = kfd_work_submit(&a->queue[0], &a->work[args[0] + w], a->done[args[0] + w], KFD_PACKET_BARRIER);
			}
			begun++;
		}
		if (err || ended == begun)
			break;
		err = kfd_signal_poll(a->done[args[0] + ended % IN_FLIGHT], LONG);
		scene->iteration_ns[ended] = kfd_now_ns() - ready_ns[ended % IN_FLIGHT];
		scene->iterations = ++ended;
	}
	return err;
}

static const char *const mode_names[MODES] = { "nothing", "launches held back", "gpreemptd, hpf", "kernel, hpf" };

/* Medians of one mode in @low_ns and @high_ns. The actors have work of their own for each. */
static void play(struct __test_metadata *_metadata, struct actor *low, struct actor *high, int mode, uint64_t *low_ns, uint64_t *high_ns)
{
	*scene = (struct scene){ .hold_back = mode == 1 };
	actor_begin(low, training, mode * IN_FLIGHT, 0, 0, 0);
	while (!scene->iterations)
		kfd_sleep_ns(MS);
	ASSERT_EQ(0, actor_call(high, requests, mode, 0, 0, 0));
	scene->stop = true;
	ASSERT_EQ(0, actor_end(low));
	ASSERT_LT(scene->iterations, MAX_ITERATIONS);
	*high_ns = demo_percentile(scene->latency_ns, REQUESTS, 50);
	/* The last ones had the device alone. */
	*low_ns = demo_percentile(scene->iteration_ns, scene->iterations - IN_FLIGHT, 50);
	TH_LOG("%-18s request %6llu us, iteration of training %6llu us, ratio %llu.%02llu", mode_names[mode],
	       (unsigned long long)(*high_ns / US), (unsigned long long)(*low_ns / US), (unsigned long long)(*low_ns / *high_ns),
	       (unsigned long long)(*low_ns * 100 / *high_ns % 100));
}

TEST_F_TIMEOUT(gpreemptd, requests_gain_what_held_back_launches_do_not_give, 240)
{
	uint64_t low_ns[MODES], high_ns[MODES], items = 0;
	struct gpreempt_target target;
	struct actor *low, *high;
	struct gpreempt *g;
	int mode, i;

	scene = mmap(NULL, sizeof(*scene), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, scene);
	low = actor_start(0, 2 * MODES * IN_FLIGHT * kfd_work_bytes(MAX_ITERATIONS / IN_FLIGHT * GRIDS, self->slots, 1));
	high = actor_start(0, ARENA);
	ASSERT_ACTOR(low);
	ASSERT_ACTOR(high);
	ASSERT_EQ(0, actor_queue(low, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_queue(high, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	for (mode = 0; mode < MODES; mode++) {
		for (i = 0; i < IN_FLIGHT; i++)
			ASSERT_EQ(mode * IN_FLIGHT + i, actor_work(low, MAX_ITERATIONS / IN_FLIGHT * GRIDS, self->slots, 1, GRID_NS));
		ASSERT_EQ(mode, actor_work(high, REQUESTS * KERNELS, self->slots, 1, KERNEL_NS));
	}

	play(_metadata, low, high, 0, &low_ns[0], &high_ns[0]);
	play(_metadata, low, high, 1, &low_ns[1], &high_ns[1]);
	EXPECT_EQ(self->preemptions, counter("preemptions"));

	name(low, -5, 100);
	name(high, 5, 100);
	DAEMON("policy = hpf");
	play(_metadata, low, high, 2, &low_ns[2], &high_ns[2]);
	EXPECT_LE(REQUESTS, preempt_count(low, 0));
	EXPECT_EQ(0, end_daemon(self, SIGTERM));

	target = gpreempt_target_process(low->pid, 0);
	ASSERT_EQ(0, gpreempt_open(&g));
	ASSERT_EQ(0, gpreempt_set_priority(g, &target, -5));
	gpreempt_close(g);
	play(_metadata, low, high, 3, &low_ns[3], &high_ns[3]);

	/* Latency of the low task over that of the high one. */
	EXPECT_LT(low_ns[1] * 2, high_ns[1] * 3);
	EXPECT_GT(low_ns[2], high_ns[2] * 3);
	EXPECT_GT(low_ns[3], high_ns[3] * 3);
	EXPECT_EQ(0, preempt_count(high, 0));
	for (i = 0; i < (int)low->works; i++)
		items += low->work[i].submitted;
	EXPECT_LT(0, items);
	ASSERT_DONE_ONCE(low, high);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/* ---- probe-hang ---- */

FIXTURE(probe) {
	BEFORE_TEST;
	int64_t resets;
	int64_t queue_resets;
	bool hangs;
};

FIXTURE_SETUP(probe)
{
	SETUP_SCHEDULER(NULL, 0);
	NEEDS_VGPU();
	if (!is_on_path("gpreemptctl"))
		SKIP(return, "there is no program gpreemptctl");
	self->resets = kfd_vgpu_stat("resets");
	self->queue_resets = kfd_vgpu_stat("queue_resets");
}

FIXTURE_TEARDOWN(probe)
{
	kfd_vgpu_set("fault/hung_wave", 0);
	kfd_vgpu_set("fault/unmap_lost", 0);
	kfd_param_set("queue_preemption_timeout_ms", 9000);
	actor_forget_all();
	if (!self->hangs)
		EXPECT_NOTHING_LEFT();
	else
		EXPECT_EQ(0, wait_no_queues());
	scheduler_off();
}

static char answer[65536];

/* Exit status; what it says is in @answer. */
static int probe(const char *arguments)
{
	char command[256];
	FILE *f;

	snprintf(command, sizeof(command), "gpreemptctl probe-hang --json %s >/tmp/probe; s=$?; sed 's/^ *//' /tmp/probe | tr -d '\\n'; exit $s", arguments);
	f = popen(command, "r");
	if (!f)
		return -errno;
	answer[fread(answer, 1, sizeof(answer) - 1, f)] = '\0';
	return WEXITSTATUS(pclose(f));
}

/* What it says of a process's only queue. */
static bool says(const struct actor *a, const char *result, const char *how)
{
	char start[32], text[160], *found;

	snprintf(start, sizeof(start), "\"pid\":%d,", a->pid);
	snprintf(text, sizeof(text), "\"result\":\"%s\",\"how\":\"%s\"", result, how);
	found = strstr(answer, start);
	return found && strstr(found, text) && strstr(found, text) < strchr(found, '}');
}

#define EXPECT_SAYS(a, result, how) EXPECT_TRUE(says(a, result, how)) TH_LOG("it says: %s", answer)
#define EXPECT_NO_RESETS() do { \
	EXPECT_EQ(self->resets, kfd_vgpu_stat("resets")); \
	EXPECT_EQ(self->queue_resets, kfd_vgpu_stat("queue_resets")); \
} while (0)

static void fault(struct __test_metadata *_metadata, FIXTURE_DATA(probe) *self, const char *name)
{
	ASSERT_EQ(0, kfd_vgpu_set(name, 1));
	self->hangs = true;
}

/* What is shown here is the hardware scheduler's. */
static const char *hang_missing(void)
{
	const char *missing = recovery_missing();

	if (!missing && kfd_param_get("sched_policy") == NO_HWS)
		missing = "the hardware scheduler is off (sched_policy=2)";
	return missing;
}

TEST_F(probe, what_goes_on_is_responsive_and_left_alone)
{
	struct actor *idle = worker(_metadata, 0, 1, 1, 1, MS);
	/* For seconds: the program has to be started and to have looked before the end. */
	struct actor *a = worker(_metadata, 0, 250, self->slots, 1, 20 * MS);

	ASSERT_EQ(0, actor_submit(a, 0, 0, 250, KFD_PACKET_BARRIER));
	EXPECT_EQ(0, probe("--bound-ms 400"));
	EXPECT_SAYS(a, "responsive", "goes on");
	EXPECT_NE(NULL, strstr(answer, "\"responsive\":1,"));
	EXPECT_FALSE(says(idle, "responsive", "goes on"));
	EXPECT_FALSE(actor_done(a, 0));
	EXPECT_EQ(0, preempt_count(a, 0));
	ASSERT_DONE_ONCE(a);
	EXPECT_EQ(0, probe(""));
	EXPECT_NE(NULL, strstr(answer, "\"queues\":[]"));
	ASSERT_EQ(0, scheduler_off());
	EXPECT_EQ(1, probe(""));
}

TEST_F(probe, long_kernel_is_silent_until_it_is_preempted)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 400, 10 * MS);

	ASSERT_EQ(0, launch_begins(a));
	EXPECT_EQ(6, probe("--bound-ms 50"));
	EXPECT_SAYS(a, "silent", "shows nothing");
	EXPECT_EQ(0, preempt_count(a, 0));
	EXPECT_EQ(0, probe("--bound-ms 50 --preempt"));
	EXPECT_SAYS(a, "responsive", "was preempted for the test");
	EXPECT_EQ(1, preempt_count(a, 0));
	EXPECT_FALSE(actor_done(a, 0));
	ASSERT_DONE_ONCE(a);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
	EXPECT_NO_RESETS();
}

/* Beside it somebody works who is not to notice. */
TEST_F(probe, hung_queue_is_not_reset_by_looking)
{
	struct actor *well = worker(_metadata, 0, 200, self->slots / 2, 1, 20 * MS);
	struct actor *hung = worker(_metadata, 0, 1, self->slots / 2, 10, 5 * MS);

	NEEDS(hang_missing());
	fault(_metadata, self, "fault/hung_wave");
	ASSERT_EQ(0, actor_submit(hung, 0, 0, 1, 0));
	while (kfd_vgpu_get("fault/hung_wave"))
		kfd_sleep_ns(MS);
	ASSERT_EQ(0, actor_submit(well, 0, 0, 200, KFD_PACKET_BARRIER));
	EXPECT_EQ(6, probe("--bound-ms 200"));
	EXPECT_SAYS(well, "responsive", "goes on");
	EXPECT_SAYS(hung, "silent", "shows nothing");
	EXPECT_FALSE(actor_done(well, 0));
	ASSERT_DONE_ONCE(well);
	EXPECT_NO_RESETS();
	EXPECT_EQ(self->preemptions, counter("preemptions"));
}

/* The truth about --preempt. */
TEST_F(probe, hung_queue_is_unresponsive_and_reset_by_trying)
{
	struct actor *hung = worker(_metadata, 0, 1, self->slots, 10, 5 * MS);
	char arguments[64];

	NEEDS(hang_missing());
	fault(_metadata, self, "fault/hung_wave");
	ASSERT_EQ(0, actor_submit(hung, 0, 0, 1, 0));
	while (kfd_vgpu_get("fault/hung_wave"))
		kfd_sleep_ns(MS);
	snprintf(arguments, sizeof(arguments), "-p %d --bound-ms 100 --preempt", hung->pid);
	EXPECT_EQ(5, probe(arguments));
	EXPECT_SAYS(hung, "unresponsive", "preempting failed");
	EXPECT_EQ(self->resets, kfd_vgpu_stat("resets"));
	EXPECT_EQ(self->queue_resets + hung->client.num_xcc, kfd_vgpu_stat("queue_resets"));
	EXPECT_EQ(0, actor_tally(hung).twice);
}

TEST_F(probe, unmap_that_is_lost_is_unresponsive)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 400, 5 * MS);

	NEEDS(hang_missing());
	ASSERT_EQ(0, launch_begins(a));
	ASSERT_EQ(0, kfd_param_set("queue_preemption_timeout_ms", 20));
	fault(_metadata, self, "fault/unmap_lost");
	EXPECT_EQ(6, probe("--bound-ms 50"));
	EXPECT_SAYS(a, "silent", "shows nothing");
	EXPECT_EQ(1, kfd_vgpu_get("fault/unmap_lost"));
	EXPECT_NO_RESETS();
	EXPECT_EQ(5, probe("--bound-ms 50 --preempt"));
	EXPECT_TRUE(strstr(answer, "\"unresponsive\":1,") != NULL) TH_LOG("it says: %s", answer);
	/* The driver's recovery, which nobody can call off. */
	EXPECT_EQ(0, wait_reset(self->resets + 1));
	EXPECT_EQ(self->resets + 1, kfd_vgpu_stat("resets"));
	EXPECT_EQ(0, actor_tally(a).twice);
}

TEST_HARNESS_MAIN

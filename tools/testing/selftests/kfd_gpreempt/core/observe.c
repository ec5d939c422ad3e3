// SPDX-License-Identifier: MIT
/*
 * observe.c - what the scheduler tells: tracepoints, histograms, dump, scripts
 *
 * Order, counts and fields are asserted, durations only against each other.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "worker.h"

#define TRACING		"/sys/kernel/tracing"
#define EVENTS		TRACING "/events/gpreempt"
#define DUMP		"/sys/kernel/debug/kfd/gpreempt_dump"
#define MQDS		"/sys/kernel/debug/kfd/mqds"
#define HQDS		"/sys/kernel/debug/kfd/hqds"
#define SCRIPTS		"/opt/gpreempt/*.bt"
#define TRACE_KB	"4096"

static char text[4 << 20];

static int trace_on(const char *event)
{
	char path[128];

	snprintf(path, sizeof(path), EVENTS "/%s/enable", event);
	return kfd_file_write(path, "1");
}

static void trace_off(void)
{
	kfd_file_write(EVENTS "/enable", "0");
	kfd_file_empty(TRACING "/trace");
}

/**
 * struct event - a line of the trace
 * @name: without "gpreempt_"
 * @fields: "name=value name=value ..."
 */
struct event {
	char name[32];
	const char *fields;
};

/* Reads TRACING/trace and cuts it into events; returns how many. */
static int read_trace(struct event *events, int max)
{
	char *line, *save = NULL;
	int n = 0;

	if (kfd_file_read(TRACING "/trace", text, sizeof(text)) <= 0)
		return 0;
	for (line = strtok_r(text, "\n", &save); line && n < max; line = strtok_r(NULL, "\n", &save)) {
		char *at = strstr(line, ": gpreempt_");

		if (*line == '#' || !at || sscanf(at, ": gpreempt_%31[a-z_]:", events[n].name) != 1)
			continue;
		events[n++].fields = strchr(at + 2, ':') + 1;
	}
	return n;
}

/* Value of "name=" among fields; INT64_MIN: there is none. */
static int64_t field(const char *fields, const char *name)
{
	char key[48];
	const char *at;

	snprintf(key, sizeof(key), " %s=", name);
	at = strstr(fields, key);
	return at ? strtoll(at + strlen(key), NULL, 0) : INT64_MIN;
}

static bool field_is(const char *fields, const char *name, const char *value)
{
	char pair[96];
	const char *at;

	snprintf(pair, sizeof(pair), " %s=%s", name, value);
	at = strstr(fields, pair);
	return at && (at[strlen(pair)] == ' ' || at[strlen(pair)] == '\0' || at[strlen(pair)] == '\n');
}

static int64_t latency(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "latency/%s", name);
	return counter(path);
}

FIXTURE(observe) {
	BEFORE_TEST;
};

FIXTURE_SETUP(observe)
{
	SETUP_SCHEDULER(NULL, 0);
	if (access(EVENTS, F_OK))
		SKIP(return, "no tracepoints in " EVENTS);
	ASSERT_EQ(0, kfd_file_write(TRACING "/buffer_size_kb", TRACE_KB));
	trace_off();
}

FIXTURE_TEARDOWN(observe)
{
	trace_off();
	TEARDOWN_SCHEDULER();
	kfd_param_set_text("gpreempt_hw_priority", "normal");
}

/* One preemption and one resume: a grid that fills the device, and one of a process that comes before it. */
static void preempt_once(struct __test_metadata *_metadata, uint32_t slots, struct actor **low, struct actor **high)
{
	*low = worker(_metadata, LOW_NICE, 1, slots, 20, 5 * MS);
	*high = worker(_metadata, 0, 1, slots, 4, 5 * MS);
	ASSERT_EQ(0, launch_begins(*low));
	ASSERT_EQ(0, actor_submit(*high, 0, 0, 1, 0));
	ASSERT_DONE_ONCE(*low, *high);
}

TEST_F(observe, events_of_a_preemption_come_in_order)
{
	static struct event events[256];
	struct actor *low, *high;
	int i, n, inversion = -1, begin = -1, end = -1, resume = -1, running = -1, runlist = -1;
	struct kfd_gpreempt_queue q;
	const char *f;

	ASSERT_EQ(0, trace_on("gpreempt_inversion"));
	ASSERT_EQ(0, trace_on("gpreempt_preempt_begin"));
	ASSERT_EQ(0, trace_on("gpreempt_preempt_end"));
	ASSERT_EQ(0, trace_on("gpreempt_resume"));
	ASSERT_EQ(0, trace_on("gpreempt_runlist"));
	ASSERT_EQ(0, trace_on("gpreempt_running"));
	preempt_once(_metadata, self->slots, &low, &high);
	ASSERT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
	ASSERT_EQ(self->preemptions + 1, counter("preemptions"));

	n = read_trace(events, 256);
	ASSERT_GT(n, 0);
	for (i = 0; i < n; i++) {
		if (!strcmp(events[i].name, "inversion") && inversion < 0)
			inversion = i;
		else if (!strcmp(events[i].name, "preempt_begin"))
			begin = i;
		else if (!strcmp(events[i].name, "preempt_end"))
			end = i;
		else if (!strcmp(events[i].name, "resume"))
			resume = i;
		else if (!strcmp(events[i].name, "running"))
			running = i;
		else if (!strcmp(events[i].name, "runlist") && field(events[i].fields, "preempted"))
			runlist = i;
	}
	EXPECT_GE(inversion, 0);
	ASSERT_LT(inversion, begin);
	ASSERT_LT(begin, end);
	ASSERT_LT(end, resume);
	EXPECT_LT(resume, running);
	EXPECT_LT(begin, runlist);

	f = events[inversion].fields;
	EXPECT_EQ(kfd_first_gpu_id(), field(f, "gpu_id"));
	EXPECT_EQ(KFD_PRIORITY_NORMAL, field(f, "level"));
	EXPECT_EQ(1, field(f, "nr_preempt"));
	EXPECT_GT(field(f, "since_ns"), 0);
	f = events[begin].fields;
	EXPECT_EQ(low->pid, field(f, "pid"));
	EXPECT_EQ(low->queue[0].id, field(f, "qid"));
	EXPECT_EQ(KFD_PRIORITY_NORMAL - LOW_NICE, field(f, "priority"));
	EXPECT_EQ(KFD_PRIORITY_NORMAL, field(f, "level"));
	EXPECT_EQ(0, field(f, "pending"));
	EXPECT_EQ(self->slots, field(f, "waves"));
	f = events[end].fields;
	EXPECT_EQ(low->pid, field(f, "pid"));
	EXPECT_EQ(1, field(f, "saved_waves"));
	EXPECT_GT(field(f, "elapsed_ns"), 0);
	/* Its phases: to the request, until it was saved; where there is a new runlist, it comes after that. */
	EXPECT_GT(field(events[runlist].fields, "wait_ns"), 0);
	EXPECT_EQ(field(events[runlist].fields, "wait_ns") + field(events[runlist].fields, "saved_ns"), field(f, "elapsed_ns"));
	EXPECT_LE(field(events[runlist].fields, "saved_ns"), field(events[runlist].fields, "elapsed_ns"));
	EXPECT_GT(field(events[running].fields, "elapsed_ns"), field(events[resume].fields, "elapsed_ns"));
	f = events[resume].fields;
	EXPECT_EQ(low->pid, field(f, "pid"));
	EXPECT_EQ(low->queue[0].id, field(f, "qid"));
	/* The hold lasted as long as the other's grid at least, whose steps take virtual time. */
	EXPECT_GE(field(f, "held_ns"), (int64_t)(20 * MS));
	ASSERT_EQ(0, kfd_gpreempt_queue_get(kfd_first_gpu_id(), low->pid, low->queue[0].id, &q));
	EXPECT_EQ((int64_t)q.preempted_ns, field(f, "held_ns"));
}

/* Each counter has its event: with everything traced, both say the same. */
TEST_F(observe, traces_and_counters_agree)
{
	static struct event events[65536];
	static const char *const traced[][3] = {
		{ "pass", "checks" },
		{ "inversion", "inversions" },
		{ "runlist", "runlists" },
		{ "preempt_end", "preemptions" },
		{ "resume", "resumes" },
		{ "skip", "skipped_unsettled", "unsettled" },
	};
	int64_t before[ARRAY_SIZE(traced)], seen, preemptions;
	struct actor *low, *high;
	char name[48];
	size_t k;
	int i, n;

	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	preemptions = counter("preemptions");
	for (k = 0; k < ARRAY_SIZE(traced); k++) {
		before[k] = counter(traced[k][1]);
		snprintf(name, sizeof(name), "gpreempt_%s", traced[k][0]);
		ASSERT_EQ(0, trace_on(name));
	}
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	preempt_once(_metadata, self->slots, &low, &high);
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	n = read_trace(events, 65536);
	ASSERT_GT(n, 0);
	for (k = 0; k < ARRAY_SIZE(traced); k++) {
		seen = 0;
		for (i = 0; i < n; i++)
			seen += !strcmp(events[i].name, traced[k][0]) && field(events[i].fields, "gpu_id") == kfd_first_gpu_id() &&
				(!traced[k][2] || field_is(events[i].fields, "reason", traced[k][2]));
		EXPECT_EQ(counter(traced[k][1]) - before[k], seen)
			TH_LOG("%s", traced[k][0]);
	}
	EXPECT_GT(counter("preemptions"), preemptions);
}

/* A sample shows what the queue is like, and is there for each queue and pass. */
TEST_F(observe, samples_show_each_queue)
{
	static struct event events[65536];
	int i, n, of_low = 0, held = 0, waves = 0;
	struct actor *low, *high;

	ASSERT_EQ(0, trace_on("gpreempt_sample"));
	preempt_once(_metadata, self->slots, &low, &high);
	n = read_trace(events, 65536);
	ASSERT_GT(n, 0);
	for (i = 0; i < n; i++) {
		const char *f = events[i].fields;

		if (field(f, "pid") != low->pid)
			continue;
		of_low++;
		held += field(f, "preempted") == 1;
		waves += field(f, "waves") == (int64_t)self->slots;
		EXPECT_EQ(KFD_PRIORITY_NORMAL - LOW_NICE, field(f, "priority"));
		EXPECT_EQ(field(f, "wptr") - field(f, "rptr"), field(f, "pending"));
	}
	EXPECT_GT(held, 0);
	EXPECT_GT(of_low, held);
	EXPECT_GT(waves, 0);
}

/* The state is told when it changes, and is the one in sysfs. */
TEST_F(observe, state_changes_are_traced)
{
	static const char *const expected[] = { "off", "idle", "parked", "polling", "off" };
	static struct event events[256];
	struct actor *low, *high;
	int i, n, at = 0;

	ASSERT_EQ(0, trace_on("gpreempt_state"));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	low = worker(_metadata, LOW_NICE, 1, self->slots, 4, 5 * MS);
	high = worker(_metadata, 0, 1, self->slots, 4, 5 * MS);
	ASSERT_EQ(0, actor_submit(low, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait(low, 0, LONG));
	ASSERT_EQ(0, actor_wait(high, 0, LONG));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	n = read_trace(events, 256);
	ASSERT_GT(n, 0);
	for (i = 0; i < n && at < 5; i++)
		if (field_is(events[i].fields, "state", expected[at]))
			at++;
	EXPECT_EQ(5, at) TH_LOG("of %d changes of state, this did not come: %s", n, at < 5 ? expected[at] : "");
}

/* Each preemption is in the histograms once, with durations that are those of the work. */
TEST_F(observe, histograms_count_what_happened)
{
	int64_t detect = latency("detect_count"), save = latency("save_count"), hold = latency("hold_count");
	int64_t request = latency("request_count"), request_sum = latency("request_ns_sum"), save_sum = latency("save_ns_sum");
	int64_t resume = latency("resume_count"), hold_sum = latency("hold_ns_sum"), resumes = counter("resumes");
	struct actor *low, *high;

	ASSERT_GE(detect, 0);
	preempt_once(_metadata, self->slots, &low, &high);
	ASSERT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
	EXPECT_EQ(detect + 1, latency("detect_count"));
	EXPECT_EQ(request + 1, latency("request_count"));
	EXPECT_EQ(save + 1, latency("save_count"));
	/* What comes before the request is a part of it. */
	EXPECT_LT(latency("request_ns_sum") - request_sum, latency("save_ns_sum") - save_sum);
	EXPECT_EQ(hold + counter("resumes") - resumes, latency("hold_count"));
	EXPECT_EQ(resume + 1, latency("resume_count"));
	EXPECT_GE(latency("hold_ns_sum") - hold_sum, (int64_t)(20 * MS));
	EXPECT_GE(latency("hold_ns_max"), (int64_t)(20 * MS));
	/* Of hundreds, the longest is not among the 99 %. */
	if (latency("hold_count") < 100)
		EXPECT_GE(latency("hold_us_p99") * 1000, latency("hold_ns_max"));
	EXPECT_LT(latency("save_ns_max"), latency("hold_ns_max"));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_EQ(counter("checks"), latency("pass_count"));
	EXPECT_EQ(counter("pass_ns_max"), latency("pass_ns_max"));
	EXPECT_LE(counter("pass_ns_last"), counter("pass_ns_max"));
	EXPECT_LE(latency("pass_us_p50"), latency("pass_us_p99"));
	EXPECT_GE(counter("wakeups"), counter("inversions"));
}

/* What firmware notes in MQDs is read when a queue has been preempted: of its first mapping, and of its save. */
TEST_F(observe, firmware_stamps_are_read)
{
	bool silent = firmware_is("no-stamps");
	int64_t save = counter("firmware/save_count"), restore = counter("firmware/restore_count");
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 60, 5 * MS);
	struct actor *high = worker(_metadata, 0, 2, self->slots, 4, 5 * MS);

	ASSERT_GE(save, 0);
	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, launch_completes(high));
	ASSERT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
	/* The second save tells how low came back from the first. */
	ASSERT_EQ(0, goes_on(&low->work[0]));
	ASSERT_EQ(0, launch_completes(high));
	ASSERT_DONE_ONCE(low, high);
	EXPECT_EQ(!silent, counter("firmware/connect_count") > 0);
	EXPECT_EQ(!silent, counter("firmware/save_count") > save);
	EXPECT_EQ(!silent, counter("firmware/save_ns_p50") > 0);
	EXPECT_GE(counter("firmware/save_ns_max"), counter("firmware/save_ns_p50"));
	EXPECT_EQ(!silent, counter("firmware/restore_count") > restore);
	/* Saving the whole device takes a part of what its request takes as a whole. */
	EXPECT_LE(counter("firmware/save_ns_max"), latency("save_ns_max"));
}

/* Ten seconds of work that nobody competes with: the monitor is not there. */
TEST_F_TIMEOUT(observe, busy_queue_alone_wakes_nobody, 120)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 101, 100 * MS);
	int64_t wakeups;

	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, wait_node_state("parked"));
	/* The device's own looking around is most of what this costs. */
	kfd_vgpu_look_every(5 * MS);
	wakeups = counter("wakeups");
	kfd_sleep_ns(10 * SECOND);
	kfd_vgpu_look_every(0);
	EXPECT_EQ(wakeups, counter("wakeups"));
	EXPECT_EQ(self->preemptions, counter("preemptions"));
	EXPECT_EQ(0, actor_wait(low, 0, LONG));
	EXPECT_EQ(wakeups, counter("wakeups"));
	EXPECT_EXACTLY_ONCE(low);
}

/* Programs of one level, idle or at work: nobody is ahead of anybody. */
TEST_F(observe, one_level_wakes_nobody)
{
	struct actor *a = worker(_metadata, LOW_NICE, 1, self->slots / 2, 10, 100 * MS);
	struct actor *b = worker(_metadata, LOW_NICE, 1, self->slots / 2, 10, 100 * MS);
	int64_t wakeups;

	ASSERT_EQ(0, wait_node_state("parked"));
	wakeups = counter("wakeups");
	kfd_vgpu_look_every(5 * MS);
	kfd_sleep_ns(SECOND);
	EXPECT_EQ(wakeups, counter("wakeups"));
	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_submit(b, 0, 0, 1, 0));
	EXPECT_EQ(0, actor_wait(a, 0, LONG));
	EXPECT_EQ(0, actor_wait(b, 0, LONG));
	kfd_vgpu_look_every(0);
	EXPECT_EQ(wakeups, counter("wakeups"));
	EXPECT_EQ(self->preemptions, counter("preemptions"));
	ASSERT_DONE_ONCE(a, b);
}

/* How many lines of the dump begin with @start and have @pair in them. */
static int dump_lines(const char *dump, const char *start, const char *pair)
{
	const char *line;
	int n = 0;

	for (line = dump; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		size_t len = strcspn(line, "\n");
		const char *at = memmem(line, len, pair, strlen(pair));

		n += !strncmp(line, start, strlen(start)) && at;
	}
	return n;
}

/*
 * Taken at any moment while queues are preempted and resumed, a dump fits together: it is a state that existed, not
 * pieces of several.
 */
TEST_F_TIMEOUT(observe, dumps_are_consistent, 120)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 30, 5 * MS);
	struct actor *high = worker(_metadata, 0, 25, self->slots / 2, 1, 2 * MS);
	int64_t base = self->preemptions - self->resumes;
	int held_seen = 0, free_seen = 0, dumps = 0, i;

	/* As often as it can. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	ASSERT_EQ(0, launch_begins(low));
	for (i = 0; i < 25; i++) {
		uint64_t until = kfd_now_ns() + 5 * MS;

		ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
		while (kfd_now_ns() < until) {
			int held;

			ASSERT_GT(kfd_file_read(DUMP, text, sizeof(text)), 0);
			held = dump_lines(text, "queue:", " is_preempted=1 ");
			dumps++;
			held_seen += held;
			free_seen += !held;
			ASSERT_EQ(held, dump_lines(text, "  policy:", " preempted=1 "));
			ASSERT_EQ(held, dump_lines(text, "queue:", " state=preempted "));
			ASSERT_EQ(dump_lines(text, "  policy:", ""), dump_lines(text, "  policy:", " action=keep "));
			ASSERT_EQ(2, dump_lines(text, "queue:", ""));
			ASSERT_EQ(held, field(strstr(text, "counters:"), "preemptions") -
				  field(strstr(text, "counters:"), "resumes") - base);
			ASSERT_EQ(2 - held, field(strstr(text, "driver:"), "queues"));
		}
	}
	ASSERT_EQ(0, actor_wait(high, 0, LONG));
	ASSERT_EQ(0, actor_wait(low, 0, LONG));
	TH_LOG("%d dumps, %d with a held queue", dumps, held_seen);
	EXPECT_GT(held_seen, 0);
	EXPECT_GT(free_seen, 0);
	ASSERT_DONE_ONCE(low, high);
}

TEST_F(observe, dump_has_tunables_and_queues)
{
	struct actor *a = actor_start(0, ARENA);
	uint32_t ids[64];
	char pid[32];

	ASSERT_ACTOR(a);
	ASSERT_EQ(0, actor_queue(a, KFD_BACKING_USERPTR, 9));
	ASSERT_EQ(0, kfd_param_set("gpreempt_interval_ms", 7));
	kfd_sleep_ns(20 * MS);
	ASSERT_GT(kfd_file_read(DUMP, text, sizeof(text)), 0);
	snprintf(pid, sizeof(pid), "queue: pid=%d ", a->pid);
	EXPECT_EQ(kfd_gpu_ids(ids, ARRAY_SIZE(ids)), dump_lines(text, "tunables:", " interval_us=7000 "));
	EXPECT_EQ(1, dump_lines(text, pid, " kfd_priority=9 "));
	EXPECT_EQ(1, dump_lines(text, pid, " state=idle "));
	EXPECT_EQ(kfd_first_gpu_id(), field(strstr(text, "node:"), "gpu_id"));
}

/* Does the event's format have the field? */
static bool format_has(const char *event, const char *name)
{
	static char format[8192];
	char path[160], key[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), EVENTS "/%s/format", event);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, format, sizeof(format) - 1);
	close(fd);
	format[n < 0 ? 0 : n] = '\0';
	snprintf(key, sizeof(key), " %s;", name);
	return strstr(format, key);
}

/* Every tracepoint and field that the scripts use exists. */
TEST_F(observe, scripts_use_fields_that_exist)
{
	glob_t scripts;
	size_t i;

	if (glob(SCRIPTS, 0, NULL, &scripts))
		SKIP(return, "no scripts in the guest");
	for (i = 0; i < scripts.gl_pathc; i++) {
		char event[64] = "", name[64];
		int events = 0, fields = 0;
		const char *at;

		ASSERT_GT(kfd_file_read(scripts.gl_pathv[i], text, sizeof(text)), 0);
		for (at = text; *at; at++) {
			if (sscanf(at, "tracepoint:gpreempt:%63[a-z_]", event) == 1) {
				events++;
				EXPECT_TRUE(format_has(event, "gpu_id"))
					TH_LOG("%s: no tracepoint %s", scripts.gl_pathv[i], event);
			} else if (sscanf(at, "args->%63[a-z_]", name) == 1) {
				fields++;
				EXPECT_TRUE(format_has(event, name))
					TH_LOG("%s: %s has no %s", scripts.gl_pathv[i], event, name);
			}
		}
		EXPECT_GE(events, 3);
		EXPECT_GE(fields, 5);
	}
	EXPECT_GE(scripts.gl_pathc, 2);
	globfree(&scripts);
}

/* ---- the priority that the hardware is told ---- */

/* Dwords of a gfx9 MQD, as KFD's debugfs file dumps them. */
#define MQD_PIPE_PRIORITY	133
#define MQD_QUEUE_PRIORITY	134
/* CP_HQD_PIPE_PRIORITY */
#define PIPE_LOW		0
#define PIPE_MEDIUM		1
#define PIPE_HIGH		2

/* A dword of the MQD of a process's first compute queue, on an XCC; -1: not found. */
static int64_t mqd_dword(pid_t pid, unsigned int xcc, unsigned int dword)
{
	char start[32], line[16];
	unsigned int words[8];
	char *at;

	if (kfd_file_read(MQDS, text, sizeof(text)) <= 0)
		return -1;
	snprintf(start, sizeof(start), "Process %d ", pid);
	snprintf(line, sizeof(line), "    %08x: ", dword / 8 * 32);
	at = strstr(text, start);
	at = at ? strstr(at, "  Compute queue") : NULL;
	at = at ? strstr(at, line) : NULL;
	while (at && xcc--)
		at = strstr(at + 1, line);
	if (!at || sscanf(at + strlen(line), "%x %x %x %x %x %x %x %x", &words[0], &words[1], &words[2], &words[3],
			  &words[4], &words[5], &words[6], &words[7]) != 8)
		return -1;
	return words[dword % 8];
}

/* What a queue of this priority has for that in CP_HQD_QUEUE_PRIORITY: since 7.0 the driver leaves it alone. */
static unsigned int queue_priority(unsigned int priority)
{
	return kfd_kernel_since(7, 0) ? 0 : priority;
}

#define EXPECT_HW_PRIORITY(_a, _priority, _pipe) do { \
	for (unsigned int xcc_ = 0; xcc_ < (_a)->client.num_xcc; xcc_++) { \
		EXPECT_EQ(queue_priority(_priority), mqd_dword((_a)->pid, xcc_, MQD_QUEUE_PRIORITY)); \
		EXPECT_EQ(_pipe, mqd_dword((_a)->pid, xcc_, MQD_PIPE_PRIORITY)); \
	} \
} while (0)

static const char *mqds_missing(void)
{
	return access(MQDS, R_OK) || access(HQDS, R_OK) ? "no " MQDS : NULL;
}

/* Until its MQDs say so, on the first XCC. */
static int wait_mqd_priority(const struct actor *a, unsigned int priority, unsigned int pipe_priority)
{
	return KFD_WAIT(mqd_dword(a->pid, 0, MQD_QUEUE_PRIORITY) == queue_priority(priority) &&
			mqd_dword(a->pid, 0, MQD_PIPE_PRIORITY) == pipe_priority, 20 * MS, LONG);
}

/* What it asks for counts when it asks, whether it is scheduled or not, and also beside others of its rank. */
TEST_F(observe, hardware_priority_is_the_programs_while_it_is_alone)
{
	struct actor *a;
	int64_t runlists;

	if (kfd_param_get("sched_policy") == NO_HWS)
		SKIP(return, "without HWS a change counts at once: no_hws.hardware_priority_is_the_programs_while_it_is_alone");
	NEEDS(mqds_missing());
	runlists = counter("runlists");
	a = with_queue_of(_metadata, 0, 15);
	EXPECT_HW_PRIORITY(a, 15, PIPE_HIGH);
	ASSERT_EQ(0, actor_queue_update(a, 0, 2, 100));
	EXPECT_HW_PRIORITY(a, 2, PIPE_LOW);
	with_queue(_metadata, 0);
	EXPECT_HW_PRIORITY(a, 2, PIPE_LOW);
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_HW_PRIORITY(a, 2, PIPE_LOW);
	EXPECT_EQ(runlists, counter("runlists"));
}

/* Two programs of different rank that both work are equals for the hardware, and get back what they asked for a second after the end of that. */
TEST_F_TIMEOUT(observe, hardware_priority_is_normal_among_rivals, 120)
{
	struct actor *low, *high;

	NEEDS(mqds_missing());
	low = worker(_metadata, LOW_NICE, 1, self->slots, 20, 5 * MS);
	high = worker(_metadata, 0, 1, self->slots, 10, 5 * MS);
	ASSERT_EQ(0, actor_queue_update(low, 0, 15, 100));
	ASSERT_EQ(0, actor_queue_update(high, 0, 12, 100));
	EXPECT_EQ(0, wait_mqd_priority(low, 15, PIPE_HIGH));
	EXPECT_HW_PRIORITY(high, 12, PIPE_HIGH);
	ASSERT_EQ(0, launch_interrupts(high, low));
	EXPECT_EQ(0, wait_mqd_priority(high, KFD_PRIORITY_NORMAL, PIPE_MEDIUM));
	EXPECT_HW_PRIORITY(low, KFD_PRIORITY_NORMAL, PIPE_MEDIUM);
	ASSERT_EQ(0, actor_wait(high, 0, LONG));
	ASSERT_EQ(0, actor_wait(low, 0, LONG));
	EXPECT_EQ(0, wait_mqd_priority(low, 15, PIPE_HIGH));
	EXPECT_HW_PRIORITY(low, 15, PIPE_HIGH);
	EXPECT_HW_PRIORITY(high, 12, PIPE_HIGH);
	ASSERT_DONE_ONCE(low, high);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

TEST_F(observe, hardware_priority_can_follow_the_logical_one)
{
	struct actor *low, *normal, *high;

	if (kfd_param_get("sched_policy") == NO_HWS)
		SKIP(return, "without HWS a change counts at once: no_hws.hardware_priority_can_follow_the_logical_one");
	NEEDS(mqds_missing());
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_hw_priority", "follow"));
	low = with_queue(_metadata, LOW_NICE);
	normal = with_queue(_metadata, 0);
	high = with_queue_of(_metadata, 0, 13);
	/* Priorities have been derived; now a runlist. */
	kfd_sleep_ns(20 * MS);
	with_queue(_metadata, 0);
	EXPECT_HW_PRIORITY(low, 0, PIPE_LOW);
	EXPECT_HW_PRIORITY(normal, KFD_PRIORITY_NORMAL, PIPE_MEDIUM);
	EXPECT_HW_PRIORITY(high, 13, PIPE_HIGH);
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_HW_PRIORITY(low, KFD_PRIORITY_NORMAL, PIPE_MEDIUM);
}

TEST_F(observe, unknown_hardware_priority_is_refused)
{
	EXPECT_GT(0, kfd_param_set_text("gpreempt_hw_priority", "highest"));
	EXPECT_EQ(0, kfd_param_set_text("gpreempt_hw_priority", "follow\n"));
	EXPECT_EQ(0, kfd_param_set_text("gpreempt_hw_priority", "normal"));
}

/* Without the hardware scheduler */
FIXTURE(no_hws) {
	BEFORE_TEST;
	int64_t mismatches;
};

FIXTURE_SETUP(no_hws)
{
	SETUP_SCHEDULER(NULL, 0);
	NEEDS_NO_HWS();
	self->mismatches = counter("verify_mismatches");
	ASSERT_EQ(0, kfd_param_set("gpreempt_verify", 1));
}

FIXTURE_TEARDOWN(no_hws)
{
	TEARDOWN_SCHEDULER();
	kfd_param_set("gpreempt_verify", 0);
	kfd_param_set_text("gpreempt_hw_priority", "normal");
}

/* How many slots, of all XCCs, have an active queue with these priorities in the device's own registers? -1: not known. */
static int slots_with(unsigned int priority, unsigned int pipe_priority)
{
	/* The first line of a slot has CP_MQD_BASE_ADDR and what follows it. */
	enum { ACTIVE = 2, PIPE_PRIORITY = 5, QUEUE_PRIORITY = 6, REGISTERS = 8 };
	static const char slot[] = "CP Pipe";
	unsigned int r[REGISTERS];
	const char *at = text;
	int n = 0;

	if (kfd_file_read(HQDS, text, sizeof(text)) <= 0)
		return -1;
	while ((at = strstr(at, slot))) {
		at += sizeof(slot) - 1;
		if (sscanf(at, "%*u, Queue %*u %*x: %x %x %x %x %x %x %x %x", &r[0], &r[1], &r[2], &r[3], &r[4], &r[5], &r[6],
			   &r[7]) != REGISTERS)
			return -1;
		n += r[ACTIVE] && r[QUEUE_PRIORITY] == queue_priority(priority) && r[PIPE_PRIORITY] == pipe_priority;
	}
	return n;
}

/* The only process with such a queue on the device: what its MQDs say and what the slots have, when the scheduler has come to it. */
static int wait_hw_priority(const struct actor *a, unsigned int priority, unsigned int pipe_priority)
{
	return KFD_WAIT(slots_with(priority, pipe_priority) == (int)a->client.num_xcc, MS, LONG);
}

/* What it asks for counts when it asks, whether it is scheduled or not. */
TEST_F(no_hws, hardware_priority_is_the_programs_while_it_is_alone)
{
	struct actor *a;

	NEEDS(mqds_missing());
	a = with_queue_of(_metadata, 0, 15);
	kfd_sleep_ns(20 * MS);
	EXPECT_HW_PRIORITY(a, 15, PIPE_HIGH);
	EXPECT_EQ((int)a->client.num_xcc, slots_with(15, PIPE_HIGH));
	/* The driver takes it off and loads it, with its own at once. */
	ASSERT_EQ(0, actor_queue_update(a, 0, 2, 100));
	EXPECT_EQ((int)a->client.num_xcc, slots_with(2, PIPE_LOW));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_HW_PRIORITY(a, 2, PIPE_LOW);
	EXPECT_EQ((int)a->client.num_xcc, slots_with(2, PIPE_LOW));
	EXPECT_EQ(self->preemptions, counter("preemptions"));
}

/* While it is scheduled; and what it asked for is back when the scheduler is switched off. No preemption is counted for it. */
TEST_F(no_hws, hardware_priority_follows_without_a_preemption)
{
	struct actor *a;

	NEEDS(mqds_missing());
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_hw_priority", "follow"));
	a = with_queue_of(_metadata, 3, 15);
	EXPECT_EQ(0, wait_hw_priority(a, 12, PIPE_HIGH));
	EXPECT_HW_PRIORITY(a, 12, PIPE_HIGH);
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_HW_PRIORITY(a, 15, PIPE_HIGH);
	EXPECT_EQ((int)a->client.num_xcc, slots_with(15, PIPE_HIGH));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	EXPECT_EQ(0, wait_hw_priority(a, 12, PIPE_HIGH));
	EXPECT_EQ(self->preemptions, counter("preemptions"));
}

/* While it works, and while it is preempted: nothing is lost, done twice, or taken for somebody else's writing. */
TEST_F_TIMEOUT(no_hws, hardware_priority_can_follow_the_logical_one, 120)
{
	struct actor *low, *high;
	uint64_t look_ns;
	uint32_t steps;
	int64_t saves;

	NEEDS_VGPU();
	NEEDS(mqds_missing());
	ASSERT_STRICT_ORDER();
	/* Both work for as long as slots are looked at, which takes a second on a slow machine. */
	look_ns = kfd_now_ns();
	ASSERT_EQ(0, slots_with(0, PIPE_LOW));
	look_ns = kfd_now_ns() - look_ns;
	steps = 40 + (uint32_t)(8 * look_ns / (10 * MS));
	low = worker(_metadata, LOW_NICE, 1, self->slots, steps, 10 * MS);
	high = worker(_metadata, 0, 1, self->slots, steps, 10 * MS);
	ASSERT_EQ(0, launch_begins(low));
	saves = kfd_vgpu_stat("cwsr_saves");
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_hw_priority", "follow"));
	EXPECT_EQ(0, wait_hw_priority(low, 0, PIPE_LOW));
	EXPECT_HW_PRIORITY(low, 0, PIPE_LOW);
	EXPECT_EQ(saves + low->client.num_xcc, kfd_vgpu_stat("cwsr_saves"));
	EXPECT_EQ(self->preemptions, counter("preemptions"));
	EXPECT_FALSE(actor_done(low, 0));

	ASSERT_EQ(0, actor_queue_update(high, 0, 13, 100));
	ASSERT_EQ(0, launch_preempts(high, low));
	EXPECT_EQ(0, wait_hw_priority(high, 13, PIPE_HIGH));
	EXPECT_EQ(0, slots_with(0, PIPE_LOW));
	EXPECT_HW_PRIORITY(low, 0, PIPE_LOW);
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_hw_priority", "normal"));
	EXPECT_EQ(0, wait_hw_priority(high, KFD_PRIORITY_NORMAL, PIPE_MEDIUM));
	EXPECT_TRUE(state_is(low, 0, "preempted"));
	EXPECT_HW_PRIORITY(low, KFD_PRIORITY_NORMAL, PIPE_MEDIUM);
	ASSERT_EQ(0, actor_wait(high, 0, LONG));
	ASSERT_EQ(0, actor_wait(low, 0, LONG));
	/* A second later they are no rivals any more. */
	EXPECT_EQ(0, wait_hw_priority(high, 13, PIPE_HIGH));
	EXPECT_EQ((int)low->client.num_xcc, slots_with(KFD_PRIORITY_NORMAL, PIPE_MEDIUM));
	ASSERT_DONE_ONCE(low, high);
	EXPECT_EQ(1, preempt_count(low, 0));
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
	EXPECT_EQ(self->mismatches, counter("verify_mismatches"));
}

/* It takes its time to leave for it: then that is a preemption that is late, and ends like one. */
TEST_F(no_hws, hardware_priority_of_a_queue_that_leaves_late)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 40, 10 * MS);

	NEEDS_VGPU();
	NEEDS(mqds_missing());
	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, kfd_vgpu_set("fault/dequeue_late_us", 300000));
	ASSERT_EQ(0, kfd_vgpu_set("fault/xcc", low->client.num_xcc - 1));
	ASSERT_EQ(0, kfd_vgpu_set("fault/dequeue_late", 1));
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_hw_priority", "follow"));
	ASSERT_EQ(0, wait_state(low, 0, "leaving", LONG));
	ASSERT_EQ(0, kfd_vgpu_set("fault/xcc", 0));
	EXPECT_EQ(0, wait_hw_priority(low, 0, PIPE_LOW));
	ASSERT_DONE_ONCE(low);
	EXPECT_EQ(1, preempt_count(low, 0));
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
	EXPECT_EQ(++self->failures, counter("failures"));
}

TEST_HARNESS_MAIN

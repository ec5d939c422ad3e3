/* SPDX-License-Identifier: MIT */
/*
 * jobs.h - what tests of jobs on several GPUs begin with and leave behind, and what the nodes of a job did at what time
 *
 * Include after worker.h and gpus.h. Needs libgpreempt.
 */
#ifndef JOBS_H
#define JOBS_H

#include <sched.h>
#include <sys/sysinfo.h>

#include <gpreempt.h>

#include "../../../bench/demo/percentile.h"

#define JOB_GPUS	8
#define TRACING		"/sys/kernel/tracing"

/* Members of a fixture. @nr: so many of the GPUs take part. */
#define BEFORE_JOBS \
	struct gpreempt *g; \
	struct side node[JOB_GPUS]; \
	int nr

static inline int set_job(struct gpreempt *g, const struct actor *a, uint64_t job, unsigned int flags)
{
	struct gpreempt_target target = gpreempt_target_process(a->pid, 0);

	return gpreempt_set_job(g, &target, job, flags);
}

static inline int clear_job(struct gpreempt *g, const struct actor *a)
{
	return set_job(g, a, 0, GPREEMPT_JOB_CLEAR);
}

static inline const char *jobs_missing(void)
{
	const char *missing = gpus_missing();
	struct gpreempt_info info = { 0 };
	struct gpreempt_node_info *nodes;
	struct gpreempt *g;

	if (missing)
		return missing;
	if (gpreempt_open(&g))
		return "/dev/kfd_gpreempt cannot be opened";
	if (gpreempt_list_nodes(g, &info, &nodes) > 0)
		free(nodes);
	gpreempt_close(g);
	return info.features & GPREEMPT_FEATURE_JOB ? NULL : "the module knows of no jobs";
}

/*
 * CPU 0 is the virtual GPU's own, of which no GPU takes a part. A real-time thread goes there all the same when another CPU is busy, and then waits
 * for what the device does in the time of the model: so the monitor of the GPU that at() has chosen stays away from it.
 */
static inline int keep_monitor_off_the_device(void)
{
	cpu_set_t cpus;
	int cpu;

	if (!kfd_client_is_virtual())
		return 0;
	CPU_ZERO(&cpus);
	for (cpu = 1; cpu < get_nprocs(); cpu++)
		CPU_SET(cpu, &cpus);
	return sched_setaffinity((pid_t)counter("monitor_pid"), sizeof(cpus), &cpus) ? -errno : 0;
}

/*
 * All virtual devices and all monitors of a guest share the time of one CPU (icount). A pass and the wake-up before it take ten of its microseconds:
 * those of eight nodes, each every 80 us, would leave programs nothing. So with more than two devices everything else is slower by this factor:
 * kernels, pauses, and how often nodes look.
 */
static inline uint64_t jobs_slower(void)
{
	return nr_gpus > 2 && kfd_client_is_virtual() ? (uint64_t)nr_gpus / 2 : 1;
}

#define SETUP_JOBS() do { \
	int gpu_; \
	kfd_wanted_gpu_id = 0; \
	NEEDS(jobs_missing()); \
	ASSERT_EQ(0, scheduler_fresh(NULL, 0)); \
	/* Preemptions wait for the CPU, too, where many processes keep it. */ \
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0)); \
	ASSERT_EQ(0, gpreempt_open(&self->g)); \
	ASSERT_STRICT_ORDER(); \
	if (jobs_slower() > 1) \
		ASSERT_EQ(0, kfd_param_set("gpreempt_poll_us", 80 * (int64_t)jobs_slower())); \
	kfd_longest_poll_ns = MS; \
	self->nr = nr_gpus < JOB_GPUS ? nr_gpus : JOB_GPUS; \
	for (gpu_ = 0; gpu_ < self->nr; gpu_++) { \
		struct side *n_ = &self->node[gpu_]; \
		at(gpu_); \
		ASSERT_EQ(0, keep_monitor_off_the_device()); \
		remember_side(n_, gpu_); \
		ASSERT_GT((int)n_->slots, 0); \
		ASSERT_LE(0, n_->failures); \
	} \
} while (0)

/* No queue is left, and none that was preempted was forgotten. */
#define EXPECT_NO_NODE_HOLDS() do { \
	int gpu_; \
	for (gpu_ = 0; gpu_ < self->nr; gpu_++) { \
		const struct side *n_ = &self->node[gpu_]; \
		at(gpu_); \
		EXPECT_EQ(0, wait_no_queues()) TH_LOG("node %d", gpu_); \
		EXPECT_EQ(counter("preemptions") - n_->preemptions, counter("resumes") - n_->resumes + \
			  counter("destroyed_preempted") - n_->destroyed) TH_LOG("node %d", gpu_); \
	} \
} while (0)

#define TEARDOWN_JOBS() do { \
	int gpu_; \
	actor_forget_all(); \
	EXPECT_NO_NODE_HOLDS(); \
	for (gpu_ = 0; gpu_ < self->nr; gpu_++) \
		EXPECT_SIDE_UNHARMED(self->node[gpu_], gpu_); \
	trace_off(); \
	scheduler_off(); \
	gpreempt_close(self->g); \
	kfd_wanted_gpu_id = 0; \
} while (0)

/* ---- when did which node do it? ---- */

/* As much of the trace as is read at once */
#define TRACE_BYTES	(4u << 20)

static inline void trace_off(void)
{
	kfd_file_write(TRACING "/events/gpreempt/enable", "0");
	kfd_file_empty(TRACING "/trace");
}

/* From here on: runlists, and what they took off and gave back */
static inline int trace_moves(void)
{
	static const char *const events[] = { "gpreempt_runlist", "gpreempt_preempt_end", "gpreempt_resume" };
	char path[128];
	size_t i;
	int err = 0;

	trace_off();
	for (i = 0; i < sizeof(events) / sizeof(events[0]) && !err; i++) {
		snprintf(path, sizeof(path), TRACING "/events/gpreempt/%s/enable", events[i]);
		err = kfd_file_write(path, "1");
	}
	return err;
}

/* What is measured of a move: when its node decided, when it sent its request, and when the queue was off the device, or mapped again */
enum moment { DECIDED, SENT, DONE, NR_MOMENTS };

#define MOMENT_NAMES	{ "decided", "sent", "done" }

/**
 * struct move - a queue leaves the device, or comes back
 * @pid: its process
 * @at_us: by the clock of the trace
 */
struct move {
	int pid;
	int64_t at_us[NR_MOMENTS];
};

static inline int64_t move_field(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at ? strtoll(at + strlen(name), NULL, 10) : -1;
}

/* "THREAD-PID [CPU] FLAGS SECONDS.MICROSECONDS: EVENT: ..." */
static inline int64_t move_us(const char *line)
{
	const char *at = strstr(line, ": gpreempt_");
	long long seconds, us;

	while (at > line && at[-1] != ' ')
		at--;
	return sscanf(at, "%lld.%lld", &seconds, &us) == 2 ? seconds * 1000000 + us : -1;
}

/* The runlist is traced once it has been sent and the device has answered. */
static inline struct move move_by(const char *runlist)
{
	int64_t sent_us = move_us(runlist) - move_field(runlist, " elapsed_ns=") / 1000;
	bool off = move_field(runlist, " preempted=");

	return (struct move){ .at_us = {
		[DECIDED] = sent_us - move_field(runlist, " wait_ns=") / 1000,
		[SENT] = sent_us,
		[DONE] = off ? sent_us + move_field(runlist, " saved_ns=") / 1000 : move_us(runlist),
	} };
}

/* Without the hardware scheduler there is no runlist: each queue is a request of its own. */
static inline struct move move_alone(const char *line)
{
	int64_t done_us = move_us(line), decided_us = done_us - move_field(line, " elapsed_ns=") / 1000;

	return (struct move){ .at_us = { [DECIDED] = decided_us, [SENT] = decided_us, [DONE] = done_us } };
}

static inline bool move_is_of(const struct move *m, struct actor *const *a, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (a[i] && a[i]->pid == m->pid)
			return true;
	return false;
}

/**
 * moves_of() - the moves of some processes' queues, in their order
 * @event: "gpreempt_preempt_end" or "gpreempt_resume"
 *
 * Return: how many, at most @max
 */
static inline int moves_of(const char *event, struct actor *const *a, int nr, struct move *moves, int max)
{
	static char text[TRACE_BYTES];
	static struct move runlists[JOB_GPUS];
	int64_t gpus[JOB_GPUS] = { 0 };
	char *line, *save = NULL;
	int n = 0, gpu;

	if (kfd_file_read(TRACING "/trace", text, sizeof(text)) <= 0)
		return 0;
	for (line = strtok_r(text, "\n", &save); line && n < max; line = strtok_r(NULL, "\n", &save)) {
		int64_t gpu_id = *line == '#' ? -1 : move_field(line, " gpu_id=");

		if (gpu_id < 0)
			continue;
		for (gpu = 0; gpu < JOB_GPUS - 1 && gpus[gpu] && gpus[gpu] != gpu_id; gpu++)
			;
		if (strstr(line, ": gpreempt_runlist:")) {
			gpus[gpu] = gpu_id;
			runlists[gpu] = move_by(line);
			continue;
		}
		if (!strstr(line, event))
			continue;
		moves[n] = gpus[gpu] ? runlists[gpu] : move_alone(line);
		moves[n].pid = (int)move_field(line, " pid=");
		n += move_is_of(&moves[n], a, nr);
	}
	return n;
}

/* Of decisions that each moved a queue on @nr nodes: how far the first and the last node are apart. Returns how many decisions. */
static inline int skews_of(const struct move *moves, int nr_moves, int nr, enum moment moment, uint64_t *skews_us)
{
	int i, k;

	for (i = 0; i + nr <= nr_moves; i += nr) {
		int64_t first = INT64_MAX, last = INT64_MIN;

		for (k = i; k < i + nr; k++) {
			first = moves[k].at_us[moment] < first ? moves[k].at_us[moment] : first;
			last = moves[k].at_us[moment] > last ? moves[k].at_us[moment] : last;
		}
		skews_us[i / nr] = (uint64_t)(last - first);
	}
	return i / nr;
}

/*
 * From a node of a decision to the next one: the monitors of all nodes share a CPU of the guest, and what each does takes time of all (icount). With a
 * CPU for each it is from the first one to the last. And of so many decisions at most
 */
#define SKEW_US		200
#define DECISIONS	64

/* Prints how far the nodes of so many decisions are apart. @bound: it holds for decisions and requests; what devices make of them takes its own time. */
#define PRINT_MOVES(event, who, decisions, bound) do { \
	static const char *const names_[] = MOMENT_NAMES; \
	static struct move moves_[DECISIONS * JOB_GPUS + 1]; \
	static uint64_t skews_[DECISIONS]; \
	int nr_moves_ = moves_of(event, who, self->nr, moves_, DECISIONS * JOB_GPUS + 1), moment_, nr_; \
	EXPECT_EQ((decisions) * self->nr, nr_moves_) TH_LOG("%s", event); \
	for (moment_ = DECIDED; moment_ < NR_MOMENTS && nr_moves_ == (decisions) * self->nr; moment_++) { \
		nr_ = skews_of(moves_, nr_moves_, self->nr, moment_, skews_); \
		TH_LOG("virtual GPU: %s on %d nodes, %d times, %s: the last node after the first %llu us at p50, %llu us at p99, %llu us at most", \
		       event, self->nr, nr_, names_[moment_], (unsigned long long)demo_percentile(skews_, nr_, 50), \
		       (unsigned long long)demo_percentile(skews_, nr_, 99), (unsigned long long)demo_percentile(skews_, nr_, 100)); \
		if ((bound) && moment_ != DONE) \
			EXPECT_LE(demo_percentile(skews_, nr_, 99), SKEW_US * jobs_slower() * (uint64_t)(self->nr - 1)) TH_LOG("%s: %s", event, names_[moment_]); \
	} \
} while (0)

#define EXPECT_MOVED_TOGETHER(event, who, decisions)	PRINT_MOVES(event, who, decisions, true)
/* Of one decision: each moved once. */
#define EXPECT_MOVED_ONCE(event, who)			PRINT_MOVES(event, who, 1, false)

#endif /* JOBS_H */

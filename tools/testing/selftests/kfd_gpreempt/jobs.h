/* SPDX-License-Identifier: MIT */
/*
 * jobs.h - what tests of jobs on several GPUs begin with and leave behind, and what the nodes of a job did at what time
 *
 * Include after worker.h and gpus.h. Needs libgpreempt.
 */
#ifndef JOBS_H
#define JOBS_H

#include <gpreempt.h>

#define JOB_GPUS	8
#define TRACING		"/sys/kernel/tracing"

/**
 * struct job_node - what is true of a node before a test
 * @slots: waves that fill it
 * @health: what the device complained about
 * @failures: of the scheduler, as all that follows
 * @preemptions: of queues
 * @resumes: of queues
 * @destroyed: queues that ended while they were preempted
 */
struct job_node {
	uint32_t slots;
	struct device_health health;
	int64_t failures, preemptions, resumes, destroyed;
};

/* Members of a fixture. @nr: so many of the GPUs take part. */
#define BEFORE_JOBS \
	struct gpreempt *g; \
	struct job_node node[JOB_GPUS]; \
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

#define SETUP_JOBS() do { \
	int gpu_; \
	kfd_wanted_gpu_id = 0; \
	NEEDS(jobs_missing()); \
	ASSERT_EQ(0, scheduler_fresh(NULL, 0)); \
	/* Preemptions wait for the CPU, too, where many processes keep it. */ \
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0)); \
	ASSERT_EQ(0, gpreempt_open(&self->g)); \
	kfd_longest_poll_ns = MS; \
	self->nr = nr_gpus < JOB_GPUS ? nr_gpus : JOB_GPUS; \
	for (gpu_ = 0; gpu_ < self->nr; gpu_++) { \
		struct job_node *n_ = &self->node[gpu_]; \
		at(gpu_); \
		n_->slots = node_slots(); \
		n_->health = device_health(); \
		n_->failures = counter("failures"); \
		n_->preemptions = counter("preemptions"); \
		n_->resumes = counter("resumes"); \
		n_->destroyed = counter("destroyed_preempted"); \
		ASSERT_GT((int)n_->slots, 0); \
		ASSERT_LE(0, n_->failures); \
	} \
} while (0)

/* No queue is left, and none that was preempted was forgotten. */
#define EXPECT_NO_NODE_HOLDS() do { \
	int gpu_; \
	for (gpu_ = 0; gpu_ < self->nr; gpu_++) { \
		const struct job_node *n_ = &self->node[gpu_]; \
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
	for (gpu_ = 0; gpu_ < self->nr; gpu_++) { \
		struct device_health health_; \
		at(gpu_); \
		health_ = device_health(); \
		EXPECT_EQ(self->node[gpu_].failures, counter("failures")) TH_LOG("node %d", gpu_); \
		EXPECT_EQ(self->node[gpu_].health.gpuvm_faults, health_.gpuvm_faults) TH_LOG("node %d", gpu_); \
		EXPECT_EQ(self->node[gpu_].health.bad_packets, health_.bad_packets) TH_LOG("node %d", gpu_); \
		EXPECT_EQ(self->node[gpu_].health.stale_translations, health_.stale_translations) TH_LOG("node %d", gpu_); \
	} \
	trace_off(); \
	scheduler_off(); \
	gpreempt_close(self->g); \
	kfd_wanted_gpu_id = 0; \
} while (0)

/* ---- when did which node do it? ---- */

static inline void trace_off(void)
{
	kfd_file_write(TRACING "/events/gpreempt/enable", "0");
	kfd_file_empty(TRACING "/trace");
}

/* From here on, preemptions and resumes */
static inline int trace_moves(void)
{
	int err;

	trace_off();
	err = kfd_file_write(TRACING "/events/gpreempt/gpreempt_preempt_end/enable", "1");
	return err ? err : kfd_file_write(TRACING "/events/gpreempt/gpreempt_resume/enable", "1");
}

/**
 * struct moves - the events of one kind that some processes had
 * @nr: how many
 * @first_us: time of the first one, by the clock of the trace
 * @last_us: and of the last one
 */
struct moves {
	int nr;
	int64_t first_us, last_us;
};

static inline bool move_is(const char *line, const char *event, struct actor *const *a, int nr)
{
	const char *at = strstr(line, event), *pid = at ? strstr(at, " pid=") : NULL;
	int i;

	for (i = 0; pid && i < nr; i++)
		if (a[i] && strtol(pid + 5, NULL, 10) == a[i]->pid)
			return true;
	return false;
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

/* @event: "gpreempt_preempt_end" or "gpreempt_resume" */
static inline struct moves moves_of(const char *event, struct actor *const *a, int nr)
{
	static char text[1 << 20];
	struct moves m = { 0 };
	char *line, *save = NULL;

	if (kfd_file_read(TRACING "/trace", text, sizeof(text)) <= 0)
		return m;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (*line == '#' || !move_is(line, event, a, nr))
			continue;
		m.last_us = move_us(line);
		if (!m.nr++)
			m.first_us = m.last_us;
	}
	return m;
}

#endif /* JOBS_H */

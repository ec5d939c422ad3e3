// SPDX-License-Identifier: MIT
/*
 * policies.c - who comes first under each policy, and what is fair
 *
 * Assertions are about order, counters and work items. Where shares or times are compared, then within one run on the
 * same device: meaningful in virtual time (the VM's --icount).
 */

#include "kselftest_harness.h"

#include "fixture.h"
#include "gpreempt.h"
#include "worker.h"
#include "../../../bench/demo/percentile.h"

SCHEDULER_FIXTURE(policies, kfd_longest_poll_ns = MS)

static void set(struct __test_metadata *_metadata, const struct actor *a, enum gpreempt_param param, uint64_t value)
{
	struct gpreempt_target target = gpreempt_target_process(a->pid, 0);
	struct gpreempt *g;

	ASSERT_EQ(0, gpreempt_open(&g));
	ASSERT_EQ(0, gpreempt_set_param(g, &target, param, value));
	gpreempt_close(g);
}

TEST_F_TIMEOUT(policies, weights_share_the_device, 120)
{
	/* A turn is as long as 20 passes, which take tens of milliseconds on a kernel that checks itself. */
	const unsigned int steps = looks_rarely() ? 640 : 160;
	struct actor *heavy = worker(_metadata, 0, 1, self->slots, steps, 10 * MS);
	struct actor *light = worker(_metadata, 0, 1, self->slots, steps, 10 * MS);
	uint64_t done[2], before[2];

	ASSERT_EQ(0, kfd_param_set_text("gpreempt_policy", "wfq"));
	/* Several times what a change of turns takes on a slow machine */
	ASSERT_EQ(0, kfd_param_set("gpreempt_slice_us", 20000));
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	set(_metadata, heavy, GPREEMPT_PARAM_WEIGHT, 75);
	set(_metadata, light, GPREEMPT_PARAM_WEIGHT, 25);
	ASSERT_EQ(0, actor_submit(heavy, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_submit(light, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(heavy, 0, 1, LONG));
	ASSERT_EQ(0, actor_wait_progress(light, 0, 1, LONG));
	before[0] = kfd_work_progress(&heavy->work[0]);
	before[1] = kfd_work_progress(&light->work[0]);
	/*
	 * Each is a slice off its part at most when this begins and when it ends: of 70 or more that is 3 %. A turn pays for saving and restoring, which
	 * takes a larger part of the shorter one.
	 */
	ASSERT_EQ(0, actor_wait_progress(heavy, 0, self->slots * steps * 3 / 4, LONG));
	done[0] = kfd_work_progress(&heavy->work[0]) - before[0];
	done[1] = kfd_work_progress(&light->work[0]) - before[1];
	TH_LOG("%llu : %llu steps", (unsigned long long)done[0] / self->slots, (unsigned long long)done[1] / self->slots);
	EXPECT_GE(done[1] * 100, (done[0] + done[1]) * 20);
	EXPECT_LE(done[1] * 100, (done[0] + done[1]) * 29);
	EXPECT_GE(preempt_count(heavy, 0), 4);
	EXPECT_GE(preempt_count(light, 0), 4);
	ASSERT_DONE_ONCE(heavy, light);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

TEST_F_TIMEOUT(policies, earliest_deadline_first, 120)
{
	struct actor *none = worker(_metadata, 0, 1, self->slots, 20, 10 * MS);
	struct actor *later = worker(_metadata, LOW_NICE, 1, self->slots, 20, 10 * MS);
	struct actor *sooner = worker(_metadata, LOW_NICE, 1, self->slots, 20, 10 * MS);

	ASSERT_STRICT_ORDER();
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_policy", "edf"));
	set(_metadata, later, GPREEMPT_PARAM_DEADLINE_US, 5000000);
	set(_metadata, sooner, GPREEMPT_PARAM_DEADLINE_US, 1000000);
	ASSERT_EQ(0, launch_begins(none));
	ASSERT_EQ(0, launch_begins(later));
	ASSERT_EQ(0, launch_begins(sooner));
	ASSERT_ENDS_BEFORE(sooner, later);
	EXPECT_FALSE(actor_done(none, 0));
	ASSERT_ENDS_BEFORE(later, none);
	ASSERT_EQ(0, actor_wait(none, 0, LONG));
	EXPECT_EQ(0, preempt_count(sooner, 0));
	ASSERT_DONE_ONCE(none, later, sooner);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

TEST_F_TIMEOUT(policies, a_reserved_part_is_had_beside_endless_short_deadlines, 120)
{
	struct actor *rival = worker(_metadata, 0, 1, self->slots, 60, 10 * MS);
	struct actor *reserved = worker(_metadata, 0, 1, self->slots, 2, 10 * MS);
	/* Two switches have to fit into each period as well. */
	const uint64_t period_us = looks_rarely() ? 500000 : 200000;
	struct gpreempt_target both[2];
	struct gpreempt *g;
	size_t said;

	ASSERT_STRICT_ORDER();
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_policy", "edf"));
	set(_metadata, rival, GPREEMPT_PARAM_DEADLINE_US, 10000);
	ASSERT_EQ(0, gpreempt_open(&g));
	both[0] = gpreempt_target_process(reserved->pid, 0);
	both[1] = gpreempt_target_process(rival->pid, 0);
	ASSERT_EQ(0, gpreempt_set_runtime(g, &both[0], period_us * 2 / 5, period_us));
	/* What does not fit beside it is refused, and takes nothing from it. */
	said = kfd_log_size();
	EXPECT_EQ(-ENOSPC, gpreempt_set_runtime(g, &both[1], period_us * 13 / 20, period_us));
	EXPECT_TRUE(strstr(kfd_log_since(said), "does not fit"));
	ASSERT_EQ(0, launch_interrupts(reserved, rival));
	ASSERT_EQ(0, actor_wait(reserved, 0, LONG));
	EXPECT_FALSE(actor_done(rival, 0));
	ASSERT_EQ(0, gpreempt_set_runtime(g, &both[0], 0, 0));
	EXPECT_EQ(0, gpreempt_set_runtime(g, &both[1], period_us * 13 / 20, period_us));
	gpreempt_close(g);
	ASSERT_DONE_ONCE(rival, reserved);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/* High waits for what low does, for example for a lock that it has. */
TEST_F_TIMEOUT(policies, a_declared_wait_lends_the_rank, 120)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 40, 10 * MS);
	struct actor *middle = worker(_metadata, LOW_NICE / 2, 1, self->slots, 100, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 2, 10 * MS);

	ASSERT_STRICT_ORDER();
	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, launch_begins(middle));
	ASSERT_EQ(0, wait_state(low, 0, "preempted", LONG));
	set(_metadata, high, GPREEMPT_PARAM_WAITS_FOR, low->pid);
	ASSERT_EQ(0, wait_state(middle, 0, "preempted", LONG));
	/* It waits no longer: low has its own rank again. */
	set(_metadata, high, GPREEMPT_PARAM_WAITS_FOR, 0);
	ASSERT_EQ(0, wait_state(low, 0, "preempted", LONG));
	set(_metadata, high, GPREEMPT_PARAM_WAITS_FOR, low->pid);
	ASSERT_ENDS_BEFORE(low, middle);
	ASSERT_EQ(0, launch_preempts(high, middle));
	ASSERT_DONE_ONCE(low, middle, high);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/* Whoever is held when the policy changes and need not be under the new one runs; nothing is lost. */
TEST_F_TIMEOUT(policies, switching_policies_loses_nothing, 120)
{
	enum { STEPS = 150 };
	static const char *const names[] = { "wfq", "edf", "hpf" };
	struct actor *a[3];
	int i;

	for (i = 0; i < 3; i++) {
		a[i] = worker(_metadata, 5 * i, 1, self->slots / 2, STEPS, 10 * MS);
		ASSERT_EQ(0, actor_submit(a[i], 0, 0, 1, 0));
	}
	set(_metadata, a[2], GPREEMPT_PARAM_DEADLINE_US, 50000);
	set(_metadata, a[2], GPREEMPT_PARAM_WEIGHT, 300);
	/* So many preemptions are not what the budget is for. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	for (i = 0; i < 15; i++) {
		ASSERT_EQ(0, kfd_gpreempt_set_text(kfd_first_gpu_id(), "policy", names[i % 3]));
		kfd_sleep_ns(17 * MS);
	}
	EXPECT_GT(counter("preemptions"), self->preemptions);
	/* Without deadlines edf holds nobody. */
	ASSERT_EQ(0, kfd_gpreempt_set_text(kfd_first_gpu_id(), "policy", "hpf"));
	ASSERT_EQ(0, wait_state(a[1], 0, "preempted", LONG));
	set(_metadata, a[2], GPREEMPT_PARAM_DEADLINE_US, 0);
	ASSERT_EQ(0, kfd_gpreempt_set_text(kfd_first_gpu_id(), "policy", "edf"));
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
	EXPECT_FALSE(actor_done(a[1], 0));
	for (i = 0; i < 3; i++)
		ASSERT_DONE_ONCE(a[i]);
}

/* @n short requests of high beside low, each after the last one's end and @gap_ns more. Returns how long they took. */
static uint64_t requests(struct __test_metadata *_metadata, struct actor *high, int work, uint32_t n, uint64_t gap_ns)
{
	uint64_t began = kfd_now_ns();
	uint32_t i;

	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, actor_submit(high, 0, work, 1, 0));
		ASSERT_EQ(0, actor_wait(high, work, LONG));
		kfd_sleep_ns(gap_ns);
	}
	return kfd_now_ns() - began;
}

/* Four of them, each when low is back on the device, however long that takes */
static uint64_t four_requests(struct __test_metadata *_metadata, const FIXTURE_DATA(policies) *self, struct actor *high, int work)
{
	uint64_t sum_ns = 0;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		sum_ns += requests(_metadata, high, work, 1, 5 * MS);
		ASSERT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
	}
	return sum_ns;
}

TEST_F_TIMEOUT(policies, overhead_budget_stretches_preemptions, 120)
{
	/* Where a preemption costs ten milliseconds, a hundredth of the time is a second for each. */
	enum { STEPS = 60 };
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, STEPS, 250 * MS);
	struct actor *high = worker(_metadata, 0, 4, self->slots, 1, MS);
	uint64_t free_ns, budget_ns;
	int64_t waits;

	ASSERT_EQ(1, actor_work(high, 4, self->slots, 1, MS));
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	ASSERT_EQ(0, launch_begins(low));
	waits = counter("skipped_budget");
	free_ns = four_requests(_metadata, self, high, 0);
	EXPECT_EQ(waits, counter("skipped_budget"));
	EXPECT_GE(preempt_count(low, 0), 4);
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 1));
	budget_ns = four_requests(_metadata, self, high, 1);
	EXPECT_GT(counter("skipped_budget"), waits);
	TH_LOG("4 requests: %llu us, with a budget of 1 %%: %llu us", (unsigned long long)free_ns / 1000,
	       (unsigned long long)budget_ns / 1000);
	EXPECT_GE(2 * budget_ns, 3 * free_ns);
	EXPECT_FALSE(actor_done(low, 0));
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 10));
	ASSERT_DONE_ONCE(low, high);
}

/* Half of the device each: equality means progress for both. */
TEST_F_TIMEOUT(policies, aging_raises_to_equality_at_most, 120)
{
	enum { STEPS = 24 };
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots / 2, STEPS, 20 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots / 2, 4 * STEPS, 40 * MS);
	int64_t reliefs = counter("relief_slices");
	struct kfd_gpreempt_queue q;
	bool aged = false;

	ASSERT_EQ(0, kfd_param_set("gpreempt_aging_ms", 3));
	ASSERT_STRICT_ORDER();
	ASSERT_EQ(0, launch_interrupts(high, low));
	while (!actor_done(low, 0) && !actor_done(high, 0)) {
		ASSERT_EQ(0, kfd_gpreempt_queue_get(low->client.gpu_id, low->pid, low->queue[0].id, &q));
		EXPECT_GE(q.effective_prio, q.prio);
		EXPECT_LE(q.effective_prio, KFD_PRIORITY_NORMAL);
		aged |= q.effective_prio > q.prio;
		kfd_sleep_ns(MS);
	}
	EXPECT_TRUE(aged);
	/* By turns of a relief's length beside high, after 30 ms off the device each. */
	EXPECT_TRUE(actor_done(low, 0));
	EXPECT_FALSE(actor_done(high, 0));
	EXPECT_GE(preempt_count(low, 0), 2);
	EXPECT_EQ(0, preempt_count(high, 0));
	EXPECT_EQ(reliefs, counter("relief_slices"));
	ASSERT_DONE_ONCE(low, high);
}

TEST_F(policies, minimum_run_comes_before_a_preemption)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 40, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 5, 10 * MS);

	ASSERT_EQ(0, kfd_param_set("gpreempt_min_run_us", 100000));
	ASSERT_EQ(0, launch_interrupts(high, low));
	/* Ten steps in 100 ms, less what the monitor saw late. */
	EXPECT_GE(kfd_work_progress(&low->work[0]), self->slots * 8);
	EXPECT_FALSE(actor_done(low, 0));
	ASSERT_DONE_ONCE(low, high);
}

TEST_F_TIMEOUT(policies, resume_delay_spans_gaps, 120)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 120, 10 * MS);
	struct actor *high = worker(_metadata, 0, 6, self->slots, 1, MS);
	int64_t before;

	ASSERT_EQ(1, actor_work(high, 6, self->slots, 1, MS));
	ASSERT_EQ(0, launch_begins(low));
	requests(_metadata, high, 0, 6, 10 * MS);
	before = preempt_count(low, 0);
	EXPECT_GE(before, 4);
	ASSERT_EQ(0, kfd_param_set("gpreempt_resume_delay_us", 100000));
	requests(_metadata, high, 1, 6, 10 * MS);
	EXPECT_LE(preempt_count(low, 0), before + 1);
	EXPECT_FALSE(actor_done(low, 0));
	ASSERT_DONE_ONCE(low, high);
}

/* A single kernel of low comes while a request has the device, and is over soon after that: there is nothing to save. */
TEST_F_TIMEOUT(policies, what_ends_soon_is_waited_for, 120)
{
	enum { ROUNDS = 10 };
	struct actor *low = worker(_metadata, LOW_NICE, 3 * ROUNDS, self->slots, 1, 50 * US);
	struct actor *high = worker(_metadata, 0, 3 * ROUNDS, self->slots, 1, 3 * MS / 2);
	static const int drain_us[] = { 0, 200, 0 };
	int64_t preempted[3], drained[3];
	uint32_t i, k;

	if (looks_rarely())
		SKIP(return, "a look takes long on this kernel");
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, kfd_param_set("gpreempt_drain_us", drain_us[i]));
		preempted[i] = preempt_count(low, 0);
		drained[i] = counter("skipped_drained");
		for (k = 0; k < ROUNDS; k++) {
			ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
			ASSERT_EQ(0, actor_submit(low, 0, 0, 1, 0));
			ASSERT_EQ(0, actor_wait(high, 0, LONG));
			ASSERT_EQ(0, actor_wait(low, 0, LONG));
			ASSERT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
			kfd_sleep_ns(5 * MS);
		}
		preempted[i] = preempt_count(low, 0) - preempted[i];
		drained[i] = counter("skipped_drained") - drained[i];
		TH_LOG("gpreempt_drain_us=%d: %d requests, %lld preemptions, %lld waited", drain_us[i], ROUNDS, (long long)preempted[i],
		       (long long)drained[i]);
	}
	EXPECT_GE(preempted[0], ROUNDS / 2);
	EXPECT_EQ(0, drained[0]);
	EXPECT_LE(preempted[1], ROUNDS / 5);
	EXPECT_GE(drained[1], ROUNDS / 2);
	EXPECT_GE(preempted[2], ROUNDS / 2);
	EXPECT_EQ(0, drained[2]);
	ASSERT_DONE_ONCE(low, high);
}

TEST_F_TIMEOUT(policies, opt_out_process_is_never_a_victim, 120)
{
	struct actor *out = worker(_metadata, LOW_NICE, 1, self->slots / 4, 60, 10 * MS);
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots / 4, 60, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots / 2, 40, 10 * MS);
	uint64_t progress;

	set(_metadata, out, GPREEMPT_PARAM_EXEMPT, 1);
	ASSERT_EQ(0, launch_begins(out));
	ASSERT_EQ(0, launch_interrupts(high, low));
	progress = kfd_work_progress(&out->work[0]);
	EXPECT_EQ(0, actor_wait_progress(out, 0, progress + self->slots / 2, LONG));
	EXPECT_FALSE(actor_done(high, 0));
	/* A held process that opts out gets its queues back while higher work goes on. */
	set(_metadata, low, GPREEMPT_PARAM_EXEMPT, 1);
	progress = kfd_work_progress(&low->work[0]);
	EXPECT_EQ(0, actor_wait_progress(low, 0, progress + self->slots / 4, LONG));
	EXPECT_FALSE(actor_done(high, 0));
	ASSERT_DONE_ONCE(out, low, high);
	EXPECT_EQ(0, preempt_count(out, 0));
	EXPECT_EQ(1, preempt_count(low, 0));
}

/* ---- settings ---- */

static bool is_logged(const char *text, size_t since)
{
	return strstr(kfd_log_since(since), text);
}

static bool node_policy_is(const char *name)
{
	char text[32];

	return !kfd_gpreempt_text(kfd_first_gpu_id(), "policy", text, sizeof(text)) && !strcmp(text, name);
}

static bool default_policy_is(const char *name)
{
	char text[32];

	return !kfd_param_get_text("gpreempt_policy", text, sizeof(text)) && !strcmp(text, name);
}

enum { REQUESTS = 10 };

/*
 * args: how many requests, REQUESTS at most, how many ns before it each is announced (0: not at all), preemptions and resumes while nobody was preempted.
 * Returns the median of what they took, from the doorbell to their end on the device, in ns: now and then one waits for a time slice of the guest's
 * CPU. Who waits for them may see the end later: the interrupt that wakes it up can wake the monitor up first, which resumes the hog on the same CPU.
 */
static int64_t timed_requests(struct actor *a, const int64_t *args)
{
	struct gpreempt_target self = gpreempt_target_process(0, 0);
	int64_t offset_ns = kfd_clock_offset_ns(&a->client), took_ns[REQUESTS], i;
	struct gpreempt *g;
	int err = gpreempt_open(&g);

	kfd_queue_stamp(&a->queue[0]);
	for (i = 0; !err && i < args[0]; i++) {
		uint64_t start;

		kfd_sleep_ns(4 * MS);
		err = wait_all_resumed(args[2], args[3]);
		if (!err && args[1])
			err = gpreempt_hint(g, &self, (uint64_t)args[1] * 20 / US);
		kfd_sleep_ns(args[1] ? (uint64_t)args[1] : 500 * US);
		kfd_signal_init(a->done[0], 1);
		start = kfd_now_ns();
		if (!err)
			err = kfd_work_submit(&a->queue[0], &a->work[0], a->done[0], 0);
		while (!err && kfd_signal_poll(a->done[0], 0)) {
			if (kfd_now_ns() - start > LONG)
				err = -ETIME;
			kfd_sleep_ns(2 * US);
		}
		took_ns[i] = (int64_t)a->done[0]->end_ts * KFD_TICK_NS + offset_ns - (int64_t)start;
	}
	gpreempt_close(g);
	return err ? err : (int64_t)demo_percentile((uint64_t *)took_ns, args[0], 50);
}

static int64_t average(const char *what)
{
	char sum[64], count[64];

	snprintf(sum, sizeof(sum), "latency/%s_ns_sum", what);
	snprintf(count, sizeof(count), "latency/%s_count", what);
	return counter(sum) / (counter(count) ? counter(count) : 1);
}

/* With an announcement the preemption is over when the request comes: what it adds to the request is what remains of noticing and saving. */
TEST_F_TIMEOUT(policies, hints_take_the_preemption_off_the_request, 120)
{
	enum { STEPS = 1000 };
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, STEPS, 5 * MS);
	struct actor *high = worker(_metadata, 0, 3 * REQUESTS, self->slots, 1, 500 * US);
	int64_t used = counter("hints_used"), expired = counter("hints_expired"), alone, plain, hinted, lead;

	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	alone = actor_call(high, timed_requests, REQUESTS, 0, self->preemptions, self->resumes);
	ASSERT_GT(alone, 0);
	ASSERT_EQ(0, launch_begins(low));
	/* The first one is seen later: see gpreempt_interval_ms. */
	ASSERT_GT(actor_call(high, timed_requests, 1, 0, self->preemptions, self->resumes), 0);
	plain = actor_call(high, timed_requests, REQUESTS - 1, 0, self->preemptions, self->resumes);
	ASSERT_GT(plain, alone);
	/* Early enough for a preemption on this machine, after a look that the limits of looks allow. */
	lead = plain - alone > 250 * (int64_t)US ? 4 * (plain - alone) : 1000 * (int64_t)US;
	hinted = actor_call(high, timed_requests, REQUESTS, lead, self->preemptions, self->resumes);
	ASSERT_GT(hinted, 0);
	TH_LOG("alone %lld us, beside a hog %lld us more, announced %lld us more", (long long)alone / 1000, (long long)(plain - alone) / 1000,
	       (long long)(hinted - alone) / 1000);
	TH_LOG("decision to request %lld ns, to saved %lld ns, on average", (long long)average("request"), (long long)average("save"));
	EXPECT_LT(hinted, plain);
	/* A kernel that makes several instructions of one keeps the CPU of whoever asks busy with looks, which is most of what is left there. */
	if (access("/sys/kernel/debug/kmemleak", F_OK))
		EXPECT_LT(hinted, alone + (plain - alone) / 4);
	EXPECT_EQ(0, wait_counter("hints_used", used + REQUESTS, LONG));
	EXPECT_EQ(expired, counter("hints_expired"));
	EXPECT_LE(self->preemptions + 2 * REQUESTS - 2, counter("preemptions"));
	EXPECT_FALSE(actor_done(low, 0));
	ASSERT_DONE_ONCE(low, high);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

TEST_F(policies, unknown_policy_is_refused)
{
	size_t said = kfd_log_size();

	EXPECT_EQ(-EINVAL, kfd_param_set_text("gpreempt_policy", "cfs"));
	EXPECT_TRUE(is_logged("gpreempt: policy=cfs is none of hpf, wfq, edf; kept hpf", said));
	EXPECT_TRUE(default_policy_is("hpf"));
	EXPECT_EQ(0, kfd_gpreempt_set_text(kfd_first_gpu_id(), "policy", "wfq\n"));
	said = kfd_log_size();
	EXPECT_EQ(-EINVAL, kfd_gpreempt_set_text(kfd_first_gpu_id(), "policy", "lottery\n"));
	EXPECT_TRUE(is_logged("gpreempt: policy=lottery is none of hpf, wfq, edf; kept wfq", said));
	EXPECT_TRUE(node_policy_is("wfq"));
	EXPECT_TRUE(default_policy_is("hpf"));
	/* The parameter is for all nodes. */
	EXPECT_EQ(0, kfd_param_set_text("gpreempt_policy", "edf"));
	EXPECT_TRUE(node_policy_is("edf"));
	EXPECT_TRUE(default_policy_is("edf"));
}

TEST_F(policies, new_tunables_have_ranges)
{
	static const struct {
		const char *name;
		const char *bad;
		const char *message;
		int64_t good;
	} tunables[] = {
		{ "gpreempt_overhead_pct", "51", "gpreempt: overhead_pct=51 is above 50; kept 0", 50 },
		{ "gpreempt_aging_ms", "3600001", "gpreempt: aging_ms=3600001 is above 3600000; kept 0", 1 },
		{ "gpreempt_min_run_us", "5", "gpreempt: min_run_us=5 is below 10; kept 0", 1000000 },
		{ "gpreempt_resume_delay_us", "1000001", "gpreempt: resume_delay_us=1000001 is above 1000000; kept 0", 10 },
		{ "gpreempt_slice_us", "0", "gpreempt: slice_us=0 is below 500; kept 5000", 500 },
	};
	size_t i, said;

	for (i = 0; i < sizeof(tunables) / sizeof(tunables[0]); i++) {
		said = kfd_log_size();
		EXPECT_EQ(-EINVAL, kfd_param_set_text(tunables[i].name, tunables[i].bad))
			TH_LOG("%s accepted %s", tunables[i].name, tunables[i].bad);
		EXPECT_TRUE(is_logged(tunables[i].message, said)) TH_LOG("not said: %s", tunables[i].message);
		EXPECT_EQ(0, kfd_param_set(tunables[i].name, tunables[i].good));
		EXPECT_EQ(tunables[i].good, kfd_param_get(tunables[i].name));
	}
}

TEST_HARNESS_MAIN

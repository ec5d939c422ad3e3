// SPDX-License-Identifier: MIT
/*
 * contexts.c - several processes of KFD's in one program: its first one and contexts
 *
 * They have one PID, and each numbers its queues by itself. Needs a KFD that makes contexts.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "outside.h"

/* Of LIST and of targets */
#define FIRST_PROCESS	1
#define CONTEXT(i)	((uint32_t)(i) + 2)

#define CONTEXTS	3
#define LAUNCHES	2

/* What a program has in a context. A context has no user pages: nothing of it is shared with the test, which asks for it by calls. */
struct context {
	struct kfd_client client;
	struct kfd_queue queue;
	struct kfd_buffer memory;
	struct kfd_work work;
	struct kfd_signal *done;
};

static struct context contexts[CONTEXTS];	/* in the program */

/* ---- in the program: args[0] is the number of a context ---- */

static int64_t do_open(struct actor *a, const int64_t *args)
{
	return kfd_client_open_context(&contexts[args[0]].client);
}

static int64_t do_queue(struct actor *a, const int64_t *args)
{
	struct context *c = &contexts[args[0]];

	return kfd_queue_create(&c->client, &c->queue, KFD_BACKING_GTT, KFD_PRIORITY_NORMAL, 64);
}

/* args[1]: waves, args[2]: steps, args[3]: of so many ns */
static int64_t do_work(struct actor *a, const int64_t *args)
{
	size_t bytes = kfd_work_bytes(LAUNCHES, (uint32_t)args[1], (uint32_t)args[2]);
	struct context *c = &contexts[args[0]];
	int err = kfd_buffer_gtt(&c->client, sizeof(*c->done) + bytes, &c->memory);

	if (err)
		return err;
	c->done = c->memory.ptr;
	kfd_signal_init(c->done, 0);
	kfd_work_init(&c->work, c->done + 1, LAUNCHES, (uint32_t)args[1], (uint32_t)args[2], (uint64_t)args[3]);
	return 0;
}

static int64_t do_submit(struct actor *a, const int64_t *args)
{
	struct context *c = &contexts[args[0]];

	__atomic_fetch_add(&c->done->value, 1, __ATOMIC_SEQ_CST);
	return kfd_work_submit(&c->queue, &c->work, c->done, 0);
}

static int64_t do_progress(struct actor *a, const int64_t *args)
{
	return (int64_t)kfd_work_progress(&contexts[args[0]].work);
}

static int64_t do_done(struct actor *a, const int64_t *args)
{
	return !kfd_signal_poll(contexts[args[0]].done, 0);
}

/* Items that were done once; -EILSEQ: one was lost or done twice */
static int64_t do_tally(struct actor *a, const int64_t *args)
{
	struct kfd_tally t = { 0 };

	kfd_work_tally(&contexts[args[0]].work, &t);
	return t.lost || t.twice ? -EILSEQ : (int64_t)t.done;
}

/* args[1]: AMDKFD_IOC_PREEMPT_QUEUE instead of AMDKFD_IOC_RESUME_QUEUE */
static int64_t do_hold(struct actor *a, const int64_t *args)
{
	struct context *c = &contexts[args[0]];
	struct kfd_ioctl_preempt_queue_args hold = { .queue_id = c->queue.id, .preempt_type = 2 };
	struct kfd_ioctl_resume_queue_args resume = { .queue_id = c->queue.id };

	return args[1] ? raw(c->client.kfd_fd, AMDKFD_IOC_PREEMPT_QUEUE, &hold) : raw(c->client.kfd_fd, AMDKFD_IOC_RESUME_QUEUE, &resume);
}

/* With queue and all. What it had mapped of the render node stays mapped, and is not used any more. */
static int64_t do_close(struct actor *a, const int64_t *args)
{
	kfd_client_close(&contexts[args[0]].client);
	return 0;
}

/* A child that has all files of the program, and lives on */
static int64_t do_leave_child(struct actor *a, const int64_t *args)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	return pid < 0 ? -errno : pid;
}

/* ---- in the test ---- */

static int64_t ask(struct actor *a, actor_fn *fn, int context)
{
	return actor_call(a, fn, context, 0, 0, 0);
}

FIXTURE(contexts) {
	OUTSIDE;
	struct actor *program;
	int64_t child;			/* that has its files; 0: none */
};

/* With a queue in the program's first process */
static struct actor *program_of(struct __test_metadata *_metadata, int nice)
{
	struct actor *a = worker(_metadata, nice, LAUNCHES, kfd_wave_slots() / 4, 20, 5 * MS);

	ASSERT_EQ(0, a->queue[0].id);
	return a;
}

static const char *contexts_missing(void)
{
	struct actor *a = actor_start(0, ARENA);
	int64_t err = a ? ask(a, do_open, 0) : 0;

	actor_forget_all();
	return err == -ENOTTY ? "KFD of this kernel makes no contexts (AMDKFD_IOC_CREATE_PROCESS)" : NULL;
}

FIXTURE_SETUP(contexts)
{
	NEEDS(scheduler_missing());
	NEEDS(contexts_missing());
	SETUP_OUTSIDE();
	/* Preemptions follow each other closely here. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	self->program = program_of(_metadata, LOW_NICE);
}

FIXTURE_TEARDOWN(contexts)
{
	if (self->child > 0)
		kill((pid_t)self->child, SIGKILL);
	TEARDOWN_OUTSIDE();
}

/* A context with a queue and with work: grids of a quarter of the device */
static void add_context(struct __test_metadata *_metadata, struct actor *a, int i, uint32_t steps)
{
	ASSERT_EQ(0, ask(a, do_open, i));
	ASSERT_EQ(0, ask(a, do_queue, i));
	ASSERT_EQ(0, actor_call(a, do_work, i, kfd_wave_slots() / 4, steps, 5 * MS));
}

/* @context: 0: of all */
static struct gpreempt_target queue_in(const struct actor *a, uint32_t context)
{
	struct gpreempt_target target = queue_of(a);

	target.context = context;
	return target;
}

static struct gpreempt_queue_info info_of(struct gpreempt *g, const struct actor *a, uint32_t context)
{
	struct gpreempt_queue_info info = { .context = UINT16_MAX }, *queues;

	if (gpreempt_list_queues(g, AT(queue_in(a, context)), &queues) == 1)
		info = queues[0];
	free(queues);
	return info;
}

static bool is_preempted(struct gpreempt *g, const struct actor *a, uint32_t context)
{
	return info_of(g, a, context).state == GPREEMPT_QUEUE_PREEMPTED;
}

static int wait_preempted(struct gpreempt *g, const struct actor *a, uint32_t context, bool preempted)
{
	return KFD_WAIT(is_preempted(g, a, context) == preempted, MS, LONG);
}

static int wait_own_priority(struct gpreempt *g, const struct actor *a, uint32_t context, int priority)
{
	return KFD_WAIT(info_of(g, a, context).logical_priority == priority, MS, LONG);
}

/* A launch that has begun */
static int launch_in(struct actor *a, int context)
{
	int64_t before = ask(a, do_progress, context), err = ask(a, do_submit, context);

	return err ? (int)err : KFD_WAIT(ask(a, do_progress, context) > before, MS, LONG);
}

static int goes_on_in(struct actor *a, int context)
{
	int64_t before = ask(a, do_progress, context);

	return KFD_WAIT(ask(a, do_progress, context) > before, MS, LONG);
}

static bool stands_still_in(struct actor *a, int context)
{
	int64_t before = ask(a, do_progress, context);

	kfd_sleep_ns(20 * MS);
	return before == ask(a, do_progress, context);
}

/* All work of a context ends, and each item of it was done once. */
#define ASSERT_CONTEXT_DONE_ONCE(a, i) do { \
	ASSERT_EQ(0, KFD_WAIT(ask(a, do_done, i) == 1, MS, LONG)) TH_LOG("context %d", i); \
	EXPECT_GT(ask(a, do_tally, i), 0) TH_LOG("context %d: items were lost or done twice", i); \
} while (0)

/* Its two contexts have work for long, the second is the higher. */
static void two_contexts(struct __test_metadata *_metadata, struct gpreempt *g, struct actor *a)
{
	int i;

	for (i = 0; i < 2; i++)
		add_context(_metadata, a, i, 40);
	ASSERT_EQ(0, gpreempt_set_priority(g, AT(queue_in(a, CONTEXT(1))), 50));
	ASSERT_EQ(0, wait_own_priority(g, a, CONTEXT(1), 50));
}

TEST_F(contexts, are_told_apart)
{
	struct gpreempt_queue_info *queues;
	bool seen[CONTEXT(CONTEXTS)] = { false };
	int i, nr;

	for (i = 0; i < CONTEXTS; i++)
		add_context(_metadata, self->program, i, 1);
	nr = gpreempt_list_queues(self->g, AT(process_of(self->program)), &queues);
	ASSERT_EQ(1 + CONTEXTS, nr);
	for (i = 0; i < nr; i++) {
		/* All that did tell queues apart is the same. */
		EXPECT_EQ(self->program->pid, queues[i].pid);
		EXPECT_EQ(self->gpu_id, queues[i].gpu_id);
		EXPECT_EQ(self->program->queue[0].id, queues[i].queue_id);
		ASSERT_LT(queues[i].context, CONTEXT(CONTEXTS));
		EXPECT_FALSE(seen[queues[i].context]);
		seen[queues[i].context] = true;
	}
	free(queues);
	EXPECT_TRUE(seen[FIRST_PROCESS]);
	for (i = 0; i < CONTEXTS; i++)
		EXPECT_TRUE(seen[CONTEXT(i)]);
	EXPECT_EQ(1 + CONTEXTS, gpreempt_list_queues(self->g, AT(queue_in(self->program, 0)), &queues));
	free(queues);
	EXPECT_EQ(-ENOENT, gpreempt_list_queues(self->g, AT(queue_in(self->program, CONTEXT(CONTEXTS))), &queues));
	/* Each of them is seen: its ring pointers can be read. */
	for (i = 0; i < CONTEXTS; i++) {
		EXPECT_FALSE(info_of(self->g, self->program, CONTEXT(i)).flags & GPREEMPT_QUEUE_UNSCHEDULED);
		ASSERT_EQ(0, launch_in(self->program, i));
		ASSERT_CONTEXT_DONE_ONCE(self->program, i);
	}
}

TEST_F(contexts, priority_of_a_program_is_that_of_its_contexts)
{
	struct gpreempt_target process = process_of(self->program), one = process;
	int i;

	for (i = 0; i < 2; i++)
		add_context(_metadata, self->program, i, 1);
	ASSERT_EQ(0, gpreempt_set_priority(self->g, &process, 100));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, wait_own_priority(self->g, self->program, FIRST_PROCESS + (uint32_t)i, 100));
	/* Of one queue alone, and of all that have its number */
	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(queue_in(self->program, CONTEXT(0))), 200));
	EXPECT_EQ(0, wait_own_priority(self->g, self->program, CONTEXT(0), 200));
	EXPECT_EQ(100, info_of(self->g, self->program, CONTEXT(1)).logical_priority);
	EXPECT_EQ(100, info_of(self->g, self->program, FIRST_PROCESS).logical_priority);
	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(queue_in(self->program, 0)), 300));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, wait_own_priority(self->g, self->program, FIRST_PROCESS + (uint32_t)i, 300));
	/* What is set for a process is set for the program. */
	one.context = CONTEXT(0);
	EXPECT_EQ(-EINVAL, gpreempt_set_priority(self->g, &one, 1));
	ASSERT_EQ(0, gpreempt_clear_priority(self->g, AT(queue_in(self->program, 0))));
	ASSERT_EQ(0, gpreempt_clear_priority(self->g, &process));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, wait_own_priority(self->g, self->program, FIRST_PROCESS + (uint32_t)i, KFD_PRIORITY_NORMAL - LOW_NICE));
	/* One that comes later has what was set before. */
	ASSERT_EQ(0, gpreempt_set_priority(self->g, &process, 100));
	add_context(_metadata, self->program, 2, 1);
	EXPECT_EQ(0, wait_own_priority(self->g, self->program, CONTEXT(2), 100));
}

/* A context yields to another one of its program, and the first process to both. */
TEST_F_TIMEOUT(contexts, yield_to_each_other, 120)
{
	struct actor *a = self->program;

	ASSERT_STRICT_ORDER();
	two_contexts(_metadata, self->g, a);
	ASSERT_EQ(0, launch_begins(a));
	ASSERT_EQ(0, launch_in(a, 0));
	ASSERT_EQ(0, launch_in(a, 1));
	ASSERT_EQ(0, wait_preempted(self->g, a, CONTEXT(0), true));
	EXPECT_EQ(0, wait_preempted(self->g, a, FIRST_PROCESS, true));
	EXPECT_FALSE(is_preempted(self->g, a, CONTEXT(1)));
	EXPECT_TRUE(stands_still_in(a, 0));
	EXPECT_EQ(CONTEXT(1), info_of(self->g, a, CONTEXT(0)).to_context);
	EXPECT_EQ(0, ask(a, do_done, 1));
	ASSERT_CONTEXT_DONE_ONCE(a, 1);
	EXPECT_EQ(0, ask(a, do_done, 0));
	ASSERT_CONTEXT_DONE_ONCE(a, 0);
	ASSERT_DONE_ONCE(a);
	EXPECT_GE(info_of(self->g, a, CONTEXT(0)).preempt_count, 1);
	EXPECT_EQ(0, info_of(self->g, a, CONTEXT(1)).preempt_count);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/* All that a program has yields to another program, and comes back. */
TEST_F_TIMEOUT(contexts, yield_to_other_programs, 120)
{
	struct actor *high = worker(_metadata, 0, 1, self->slots / 2, 40, 5 * MS);
	uint32_t i;

	two_contexts(_metadata, self->g, self->program);
	ASSERT_EQ(0, gpreempt_clear_priority(self->g, AT(queue_in(self->program, CONTEXT(1)))));
	ASSERT_EQ(0, launch_begins(self->program));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, launch_in(self->program, (int)i));
	ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
	for (i = FIRST_PROCESS; i <= CONTEXT(1); i++)
		EXPECT_EQ(0, wait_preempted(self->g, self->program, i, true));
	EXPECT_FALSE(actor_done(high, 0));
	ASSERT_DONE_ONCE(high, self->program);
	for (i = 0; i < 2; i++)
		ASSERT_CONTEXT_DONE_ONCE(self->program, (int)i);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/* From outside a context is named; through /dev/kfd it is that of the file. */
TEST_F_TIMEOUT(contexts, are_held_one_by_one, 120)
{
	struct actor *a = self->program;
	int i;

	for (i = 0; i < 2; i++)
		add_context(_metadata, a, i, 80);
	ASSERT_EQ(0, launch_in(a, 0));
	ASSERT_EQ(0, launch_in(a, 1));
	for (i = 0; i < 2; i++) {
		if (i) {
			ASSERT_EQ(0, actor_call(a, do_hold, 0, true, 0, 0));
		} else {
			ASSERT_EQ(1, gpreempt_preempt(self->g, AT(queue_in(a, CONTEXT(0))), 0, 0));
		}
		EXPECT_TRUE(is_preempted(self->g, a, CONTEXT(0)));
		EXPECT_TRUE(info_of(self->g, a, CONTEXT(0)).flags & GPREEMPT_QUEUE_HELD);
		EXPECT_FALSE(info_of(self->g, a, CONTEXT(1)).flags & GPREEMPT_QUEUE_HELD);
		EXPECT_FALSE(info_of(self->g, a, FIRST_PROCESS).flags & GPREEMPT_QUEUE_HELD);
		EXPECT_EQ(0, goes_on_in(a, 1));
		EXPECT_TRUE(stands_still_in(a, 0));
		/* The other's number is the same, and its end of the hold is none of this. */
		EXPECT_EQ(0, actor_call(a, do_hold, 1, false, 0, 0));
		EXPECT_TRUE(info_of(self->g, a, CONTEXT(0)).flags & GPREEMPT_QUEUE_HELD);
		if (i) {
			ASSERT_EQ(0, actor_call(a, do_hold, 0, false, 0, 0));
		} else {
			ASSERT_EQ(1, gpreempt_resume(self->g, AT(queue_in(a, CONTEXT(0)))));
		}
		EXPECT_EQ(0, goes_on_in(a, 0));
	}
	/* The program as a whole */
	EXPECT_EQ(3, gpreempt_preempt(self->g, AT(process_of(a)), 0, 0));
	EXPECT_TRUE(is_preempted(self->g, a, CONTEXT(0)) && is_preempted(self->g, a, CONTEXT(1)));
	EXPECT_EQ(3, gpreempt_resume(self->g, AT(process_of(a))));
	for (i = 0; i < 2; i++)
		ASSERT_CONTEXT_DONE_ONCE(a, i);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/* Preempted, or held: it takes its queue along and nothing else, and another one may have its place. */
TEST_F_TIMEOUT(contexts, that_end_while_preempted_leave_nothing, 120)
{
	int64_t destroyed = counter("destroyed_preempted");
	struct actor *a = self->program;
	int i;

	for (i = 0; i < 2; i++) {
		add_context(_metadata, a, 0, 40);
		ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(queue_in(a, CONTEXT(0))), -50));
		ASSERT_EQ(0, launch_in(a, 0));
		if (i) {
			ASSERT_EQ(1, gpreempt_preempt(self->g, AT(queue_in(a, CONTEXT(0))), 0, 0));
		} else {
			ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
		}
		ASSERT_EQ(0, wait_preempted(self->g, a, CONTEXT(0), true));
		EXPECT_EQ(2, counter("queues"));
		ASSERT_EQ(0, ask(a, do_close, 0));
		ASSERT_EQ(0, KFD_WAIT(counter("queues") == 1, MS, LONG));
		EXPECT_EQ(++destroyed, counter("destroyed_preempted"));
		ASSERT_EQ(0, actor_submit(a, 0, 0, !!i, 0));
		ASSERT_DONE_ONCE(a);
	}
	/* What was set for its queue, and the hold, went with it. */
	add_context(_metadata, a, 0, 10);
	EXPECT_EQ(0, wait_own_priority(self->g, a, CONTEXT(0), KFD_PRIORITY_NORMAL - LOW_NICE));
	EXPECT_FALSE(info_of(self->g, a, CONTEXT(0)).flags & GPREEMPT_QUEUE_HELD);
	ASSERT_EQ(0, launch_in(a, 0));
	ASSERT_CONTEXT_DONE_ONCE(a, 0);
}

TEST_F_TIMEOUT(contexts, of_a_killed_program_leave_nothing, 120)
{
	int64_t destroyed = counter("destroyed_preempted");
	struct actor *a = self->program, *other = worker(_metadata, LOW_NICE, 1, self->slots / 4, 60, 5 * MS);
	int i;

	for (i = 0; i < CONTEXTS; i++) {
		add_context(_metadata, a, i, 200);
		ASSERT_EQ(0, launch_in(a, i));
	}
	ASSERT_EQ(0, launch_begins(a));
	ASSERT_EQ(0, launch_begins(other));
	/* One runs, one is held, one has to yield; the first process as well, and so has another program. */
	ASSERT_EQ(1, gpreempt_preempt(self->g, AT(queue_in(a, CONTEXT(0))), 0, GPREEMPT_HOLD_UNBOUNDED));
	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(queue_in(a, CONTEXT(1))), 50));
	ASSERT_EQ(0, wait_preempted(self->g, a, CONTEXT(2), true));
	ASSERT_EQ(0, wait_preempted(self->g, a, FIRST_PROCESS, true));
	ASSERT_EQ(0, wait_state(other, 0, "preempted", LONG));
	EXPECT_EQ(5, counter("queues"));
	actor_kill(a);
	ASSERT_EQ(0, KFD_WAIT(counter("queues") == 1, MS, LONG));
	/* If that of the context which ran went first, the others were on their way back. */
	EXPECT_GE(counter("destroyed_preempted"), destroyed + 1);
	ASSERT_DONE_ONCE(other);
	EXPECT_EQ(0, KFD_WAIT(counter("preemptions") - self->preemptions ==
			      counter("resumes") - self->resumes + counter("destroyed_preempted") - destroyed, MS, LONG));
}

/* A child may keep a context's file: the context goes on without its program, below others as before, until the child ends. */
TEST_F_TIMEOUT(contexts, outlive_their_program_in_a_child, 120)
{
	struct gpreempt_queue_info *queues;
	struct actor *high, *a = self->program;

	ASSERT_EQ(0, ask(a, do_open, 0));
	ASSERT_EQ(0, ask(a, do_queue, 0));
	ASSERT_EQ(0, actor_call(a, do_work, 0, self->slots / 4, 1000, 100 * MS));
	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(process_of(a)), -500));
	ASSERT_EQ(0, launch_in(a, 0));
	self->child = ask(a, do_leave_child, 0);
	ASSERT_GT(self->child, 0);
	actor_kill(a);
	ASSERT_EQ(0, KFD_WAIT(counter("queues") == 1, MS, LONG));
	/* A change of what is set has all priorities derived anew, and drops a second later what was set for PIDs that are gone. */
	high = worker(_metadata, 0, 1, self->slots / 2, 10, 5 * MS);
	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(process_of(high)), -400));
	ASSERT_EQ(0, wait_priority(self->g, high, -400));
	kfd_sleep_ns(2 * SECOND);
	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(process_of(high)), -300));
	ASSERT_EQ(0, wait_priority(self->g, high, -300));
	ASSERT_EQ(2, gpreempt_list_queues(self->g, AT(gpreempt_target_all()), &queues));
	EXPECT_EQ(0, queues[0].pid);
	EXPECT_EQ(CONTEXT(0), queues[0].context);
	EXPECT_EQ(-500, queues[0].logical_priority);
	free(queues);
	ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
	ASSERT_EQ(0, wait_counter("preemptions", self->preemptions + 1, LONG));
	ASSERT_DONE_ONCE(high);
	EXPECT_STOPPED(high);
	kill((pid_t)self->child, SIGKILL);
	self->child = 0;
	EXPECT_EQ(0, wait_no_queues());
}

/* The doorbells of all of them are withdrawn together, and a write to any wakes the monitor. */
TEST_F_TIMEOUT(contexts, write_doorbells_that_are_noticed, 120)
{
	struct actor *low, *high;
	int64_t faults;
	int i;

	actor_forget_all();
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_wakeup", "doorbell"));
	low = worker(_metadata, LOW_NICE, 1, self->slots, 600, 10 * MS);
	high = program_of(_metadata, 0);
	for (i = 0; i < 2; i++)
		add_context(_metadata, high, i, 2);
	ASSERT_EQ(0, launch_begins(low));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, wait_node_state("armed"));
		/* From now on 10 s pass between two looks, 1 s while two sides work. */
		ASSERT_EQ(0, kfd_param_set("gpreempt_interval_ms", 10000));
		ASSERT_EQ(0, kfd_param_set("gpreempt_poll_us", 1000000));
		kfd_sleep_ns(50 * MS);
		ASSERT_EQ(0, wait_node_state("armed"));
		faults = counter("doorbell_faults");
		if (i < 2) {
			ASSERT_EQ(0, ask(high, do_submit, i));
		} else {
			ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
		}
		ASSERT_EQ(0, wait_state(low, 0, "preempted", LONG));
		EXPECT_LT(faults, counter("doorbell_faults"));
		if (i < 2) {
			ASSERT_CONTEXT_DONE_ONCE(high, i);
		} else {
			ASSERT_EQ(0, actor_wait(high, 0, LONG));
		}
		EXPECT_FALSE(actor_done(low, 0));
		ASSERT_EQ(0, kfd_param_set("gpreempt_interval_ms", 5));
		ASSERT_EQ(0, kfd_param_set("gpreempt_poll_us", 200));
		ASSERT_EQ(0, KFD_WAIT(!state_is(low, 0, "preempted"), MS, LONG));
	}
	ASSERT_DONE_ONCE(low, high);
	actor_forget_all();
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_wakeup", "auto"));
}

/* Under wfq each context has a share, as each program has: a program gets no less by contexts than by processes. */
TEST_F_TIMEOUT(contexts, have_shares_of_their_own, 120)
{
	enum { STEPS = 60 };
	struct actor *a = self->program, *other = worker(_metadata, LOW_NICE, 1, self->slots, STEPS, 10 * MS);
	uint64_t done[3], all;
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, ask(a, do_open, i));
		ASSERT_EQ(0, ask(a, do_queue, i));
		ASSERT_EQ(0, actor_call(a, do_work, i, self->slots, STEPS, 10 * MS));
	}
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_policy", "wfq"));
	ASSERT_EQ(0, kfd_param_set("gpreempt_slice_us", 20000));
	ASSERT_EQ(0, actor_submit(other, 0, 0, 1, 0));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, ask(a, do_submit, i));
	ASSERT_EQ(0, actor_wait_progress(other, 0, self->slots * STEPS * 3 / 4, LONG));
	done[2] = kfd_work_progress(&other->work[0]);
	for (i = 0; i < 2; i++)
		done[i] = (uint64_t)ask(a, do_progress, i);
	all = done[0] + done[1] + done[2];
	TH_LOG("%llu : %llu : %llu steps", (unsigned long long)done[0] / self->slots, (unsigned long long)done[1] / self->slots,
	       (unsigned long long)done[2] / self->slots);
	for (i = 0; i < 3; i++) {
		EXPECT_GE(done[i] * 100, all * 25);
		EXPECT_LE(done[i] * 100, all * 42);
	}
	ASSERT_DONE_ONCE(other);
	for (i = 0; i < 2; i++)
		ASSERT_CONTEXT_DONE_ONCE(a, i);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

TEST_HARNESS_MAIN

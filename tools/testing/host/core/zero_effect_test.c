// SPDX-License-Identifier: MIT
/*
 * zero_effect_test.c - a node on which no two processes differ in rank, share or cap is left alone
 *
 * Three equal programs come, work, pause and go. Then the same with one of them niced: what was zero is not zero, so that the
 * tests can fail.
 */
#include "rivals.h"

#define PROGRAMS	3
#define QUEUES_EACH	3
#define ASKED_FOR	9	/* by programs, of the hardware: above normal, but not against other processes */
#define COMMANDS	100

/* What the scheduler did to programs and to the device */
struct effects {
	u32 withdrawals;
	u32 register_reads;
	u32 mqds_written;
	u32 queues_taken_off;
	u64 runlists;
	u64 commands_delayed;
};

static struct sim_queue *of_programs[PROGRAMS][QUEUES_EACH];
/* The lists that the driver sends for programs */
static u64 own_runlists;
static u32 withdrawals;

static void count_withdrawal(void)
{
	withdrawals++;
}

static u64 waits_ns(struct sim_queue *sq)
{
	struct task_struct *leader = current->group_leader;
	u64 began_ns = ktime_get_ns();

	current->group_leader = &process_of(sq)->task;
	kfd_gpreempt_pace(&process_of(sq)->p, AMDKFD_IOC_UPDATE_QUEUE);
	current->group_leader = leader;
	return ktime_get_ns() - began_ns;
}

static void start(u32 i, int nice)
{
	u64 before = world.nodes[0].runlists;
	u32 k;

	of_programs[i][0] = add_queue_to(add_process(nice), 0, ASKED_FOR);
	for (k = 1; k < QUEUES_EACH; k++)
		of_programs[i][k] = add_queue_to(process_of(of_programs[i][0]), 0, ASKED_FOR);
	own_runlists += world.nodes[0].runlists - before;
}

static void stop(u32 i)
{
	u64 before = world.nodes[0].runlists;

	kill_process(process_of(of_programs[i][0]));
	own_runlists += world.nodes[0].runlists - before;
}

static void work(u32 i, u32 packets)
{
	u32 k;

	for (k = 0; k < QUEUES_EACH; k++) {
		of_programs[i][k]->kernel_ns = 3 * MS + k * MS;
		submit(of_programs[i][k], packets);
	}
}

static void look_at_mqds(struct effects *seen)
{
	EACH_QUEUE(sq) {
		if (sq->gone)
			continue;
		seen->mqds_written += mqd_priority(sq) != ASKED_FOR;
		seen->queues_taken_off += sq->asked_ms;
	}
}

/* Some seconds of programs that come, work, pause and go. The last one has @nice. */
static struct effects live(int nice)
{
	u32 looks = world.nr_looks, turn, i;
	u64 runlists = world.nodes[0].runlists, delayed = atomic64_read(&stats()->paced);
	struct effects seen = { 0 };

	own_runlists = 0;
	withdrawals = 0;
	world.before_unmapping = count_withdrawal;
	for (i = 0; i < PROGRAMS; i++)
		start(i, i == PROGRAMS - 1 ? nice : 0);
	for (turn = 0; turn < 6; turn++) {
		for (i = 0; i < PROGRAMS; i++) {
			work(i, 10);
			run((i + 1) * 3 * MS);
			look_at_mqds(&seen);
		}
		for (i = 0; i < COMMANDS; i++)
			waits_ns(of_programs[PROGRAMS - 1][0]);
		/* From no gap at all to one after which queues are dormant */
		run(turn * 400 * MS);
		stop(turn % PROGRAMS);
		run(10 * MS);
		start(turn % PROGRAMS, turn % PROGRAMS == PROGRAMS - 1 ? nice : 0);
		/* It is told nothing of its predecessor, and asks at once. */
		for (i = 0; i < COMMANDS; i++)
			waits_ns(of_programs[turn % PROGRAMS][0]);
	}
	EACH_QUEUE(sq)
		CHECK(sq->gone || run_until_idle(sq, 10 * SEC));
	seen.withdrawals = withdrawals;
	seen.register_reads = world.nr_looks - looks;
	seen.runlists = world.nodes[0].runlists - runlists - own_runlists;
	seen.commands_delayed = atomic64_read(&stats()->paced) - delayed;
	return seen;
}

static void nothing(struct effects seen)
{
	CHECK_EQ(seen.withdrawals, 0);
	CHECK_EQ(seen.register_reads, 0);
	CHECK_EQ(seen.mqds_written, 0);
	CHECK_EQ(seen.queues_taken_off, 0);
	CHECK_EQ(seen.runlists, 0);
	CHECK_EQ(seen.commands_delayed, 0);
	CHECK_EQ(preemptions(), 0);
	CHECK_STATE("parked");
}

static void something(struct effects seen, bool hws, const char *wakeup)
{
	CHECK(seen.withdrawals || !strcmp(wakeup, "poll") || !IS_ENABLED(CONFIG_KFD_GPREEMPT_WAKE));
	CHECK(seen.register_reads);
	CHECK(seen.mqds_written);
	CHECK(hws ? seen.runlists : seen.queues_taken_off);
	CHECK(seen.commands_delayed || !IS_ENABLED(CONFIG_KFD_GPREEMPT_WAKE));
	CHECK(preemptions());
}

BOTH(equals_are_left_alone, "beside equals no doorbell is withdrawn, no register read, no MQD written, no queue taken off, no runlist sent and no command delayed, though programs come, pause and go; with one niced program all of that happens")
{
	static const char *const wakeups[] = { "auto", "doorbell", "poll" };

	EACH_ANEW(i, ARRAY_SIZE(wakeups), "%s: ", wakeups[i]) {
		world_make(hws, 1, 1);
		set("gpreempt_wakeup", wakeups[i]);
		set("gpreempt_enable", "1");
		nothing(live(0));
		something(live(10), hws, wakeups[i]);
	}
}

// SPDX-License-Identifier: MIT
/*
 * hooks_test.c - how many instructions the driver's calls into the scheduler take, as Documentation/design.rst says (Cost)
 *
 * Compiled as the kernel is, without sanitizers. What is measured runs in a child, one instruction after the other. The fakes of kernel and driver are part
 * of it where a hook calls them, and are no cheaper than what they stand for. Other compilers make some instructions more of it: budgets have room for that.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_amdkfd.h"
#include "tap.h"

/* A runlist: once, for each process, and for each queue */
#define LIST_BUDGET		200
#define LIST_PROCESS_BUDGET	100
#define LIST_QUEUE_BUDGET	80
/* The same while the scheduler is off */
#define OFF_QUEUE_BUDGET	45
/* A queue whose MQDs the driver has changed */
#define MQD_BUDGET		80

static struct sim_queue *queues[NR_SLOTS];

static struct device_queue_manager *the_dqm(void)
{
	return &world.nodes[0].dqm;
}

/* What the driver asks while it builds a list, in its order */
static void build_list(void)
{
	struct device_queue_manager *dqm = the_dqm();
	struct device_process_node *cur;

	kfd_gpreempt_left_out(dqm);
	kfd_gpreempt_runlist_built(dqm, false);
	list_for_each_entry(cur, &dqm->queues, list)
		kfd_gpreempt_leaves_out(cur->qpd);
}

static void change_mqd(void)
{
	kfd_gpreempt_mqd_updated(&queues[0]->q, NULL);
}

static void do_nothing(void)
{
}

/* From the first stop of a child to its second */
static u64 steps_of(void (*call)(void))
{
	u64 steps = 0;
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(1);
		raise(SIGSTOP);
		call();
		raise(SIGSTOP);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (!WIFSTOPPED(status))
		tap_skip("a child cannot be traced here");
	do {
		CHECK(!ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL));
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFSTOPPED(status));
		steps++;
	} while (WSTOPSIG(status) == SIGTRAP);
	ptrace(PTRACE_KILL, pid, NULL, NULL);
	waitpid(pid, &status, 0);
	return steps;
}

/* dqm_lock held, as by whoever calls a hook */
static u64 instructions(void (*call)(void))
{
	u64 nothing, all;

	dqm_lock(the_dqm());
	call();
	nothing = steps_of(do_nothing);
	all = steps_of(call);
	dqm_unlock(the_dqm());
	return all - nothing;
}

/* The first process is the least important one, and preempted if @preempted. */
static u64 list_of(u32 processes, u32 each, bool on, bool preempted)
{
	u32 i, k, n = 0;

	tap_renew();
	world_make(true, 1, 1);
	/* There is room for all. */
	world.nodes[0].node.max_proc_per_quantum = NR_SLOTS;
	world.nodes[0].nr_queue_slots = NR_SLOTS;
	if (on)
		CHECK_EQ(shim_param_set("gpreempt_enable", "1"), 0);
	for (i = 0; i < processes; i++) {
		struct sim_process *process = add_process(preempted && !i ? 10 : 0);

		for (k = 0; k < each; k++)
			queues[n++] = add_queue_to(process, 0, NORMAL);
	}
	if (preempted)
		for (i = 0; i < n; i++)
			submit(queues[i], 4);
	run(2 * MS);
	CHECK_EQ(nr_preempted() > 0, preempted);
	return instructions(build_list);
}

TEST(runlists_cost_little, "building a runlist takes the driver few instructions more than without the scheduler, for each process and for each queue")
{
	u64 one = list_of(1, 1, true, false), processes = list_of(32, 1, true, false), mine = list_of(1, 32, true, false), held = list_of(4, 8, true, true);

	printf("# instructions of a runlist: %llu for a queue, %llu for 32 processes, %llu for 32 queues of one, %llu for 32 of 4 processes, one of them preempted\n",
	       (unsigned long long)one, (unsigned long long)processes, (unsigned long long)mine, (unsigned long long)held);
	CHECK(one <= LIST_BUDGET + LIST_PROCESS_BUDGET + LIST_QUEUE_BUDGET);
	CHECK(processes - one <= 31 * (LIST_PROCESS_BUDGET + LIST_QUEUE_BUDGET));
	CHECK(mine - one <= 31 * LIST_QUEUE_BUDGET);
	CHECK(held <= LIST_BUDGET + 4 * LIST_PROCESS_BUDGET + 32 * LIST_QUEUE_BUDGET);
}

TEST(runlists_without_the_scheduler_cost_less, "while the scheduler is off a runlist takes fewer instructions for each queue")
{
	u64 on = list_of(4, 8, true, false), off = list_of(4, 8, false, false);

	printf("# instructions of a runlist of 32 queues of 4 processes: %llu, %llu while it is off\n", (unsigned long long)on, (unsigned long long)off);
	CHECK(off < on);
	CHECK(off <= LIST_BUDGET + 4 * LIST_PROCESS_BUDGET + 32 * OFF_QUEUE_BUDGET);
}

TEST(changes_of_mqds_cost_little, "a change of a queue's MQDs takes the driver few instructions more than without the scheduler")
{
	u64 change;

	list_of(1, 1, true, false);
	change = instructions(change_mqd);
	printf("# instructions of a change of MQDs: %llu\n", (unsigned long long)change);
	CHECK(change <= MQD_BUDGET);
}

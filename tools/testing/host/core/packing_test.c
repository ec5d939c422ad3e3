// SPDX-License-Identifier: MIT
/* packing_test.c - one user with many programs, contexts or cgroups has what it has with one of each */
#include "own_file.h"
#include "rivals.h"

#define ALICE	1000
#define BOB	1001
#define MANY	8

static const u32 numbers[] = { 1, 2, MANY };
static struct user_namespace own_ns = { .parent = &init_user_ns, .owner = { ALICE } };
static struct sim_queue *hers[MANY], *his;
static struct cgroup below[MANY];

static void begin(const char *policy)
{
	world_on(true);
	open_own_file();
	world.nodes[0].nr_wave_slots = 1;
	set("gpreempt_policy", policy);
}

static struct sim_queue *queue_of(struct sim_process *process)
{
	struct sim_queue *sq = add_queue_to(process, 0, NORMAL);

	sq->kernel_ns = 2 * MS;
	return sq;
}

static struct sim_queue *program_of(u32 uid, struct user_namespace *ns, struct cgroup *cgroup)
{
	struct sim_process *process = add_process(0);

	process->task.euid.val = uid;
	process->task.user_ns = ns;
	process->task.cgroup = cgroup;
	return queue_of(process);
}

/* What all of hers have together of so much time, while they and his have work, in percent */
static u64 her_part(u32 nr, u64 ns)
{
	u64 had = 0, steps;
	u32 i;

	for (i = 0; i < nr; i++)
		submit(hers[i], 700 / nr);
	if (his)
		submit(his, 700);
	run(50 * MS);
	for (steps = 0; steps < ns / (100 * US); steps++) {
		run(100 * US);
		for (i = 0; i < nr; i++)
			had += hers[i]->in_slot;
	}
	return had * 100 / steps;
}

TEST(a_user_is_one_under_wfq, "under wfq a user with 2 or 8 programs has the half of the device that it has with one, also with other ids in user namespaces of its own")
{
	u32 j;

	NEEDS(ACCOUNT);
	EACH_ANEW(i, 2 * ARRAY_SIZE(numbers), "case %u: ", i) {
		u32 nr = numbers[i / 2];

		begin("wfq");
		for (j = 0; j < nr; j++)
			hers[j] = i % 2 ? program_of(100000 + j, &own_ns, world_cgroup(3)) : program_of(ALICE, &init_user_ns, world_cgroup(3));
		his = program_of(BOB, &init_user_ns, world_cgroup(3));
		CHECK_WITHIN(her_part(nr, SEC), 45, 55);
	}
}

TEST(a_program_is_one_with_its_contexts, "under wfq a program with 2 or 8 contexts has the half of the device that it has with one, also where an administrator gave it a weight")
{
	struct gpreempt_set_param weight = { .target = { .scope = GPREEMPT_SCOPE_PROCESS }, .param = GPREEMPT_PARAM_WEIGHT, .value = 100 };
	u32 j;

	NEEDS(ACCOUNT);
	EACH_ANEW(i, 2 * ARRAY_SIZE(numbers), "case %u: ", i) {
		u32 nr = numbers[i / 2];

		begin("wfq");
		hers[0] = program_of(ALICE, &init_user_ns, world_cgroup(3));
		for (j = 1; j < nr; j++) {
			struct sim_process *context = add_process(0);

			context->p.lead_thread = process_of(hers[0])->p.lead_thread;
			hers[j] = queue_of(context);
		}
		his = program_of(BOB, &init_user_ns, world_cgroup(3));
		weight.target.pid = process_of(hers[0])->pid.nr;
		if (i % 2)
			CHECK_EQ(command(GPREEMPT_IOC_SET_PARAM, &weight), 0);
		CHECK_WITHIN(her_part(nr, SEC), 45, 55);
	}
}

TEST(a_maximum_holds_for_all_that_is_forked, "a cgroup with a maximum of 30 percent has no more with 2 or 8 programs, of several users, in cgroups below it or in it, under each policy")
{
	static const char *const policies[] = { "hpf", "wfq", "edf" };
	struct gpreempt_set_share share = {
		.target = { .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 2 }, .weight = 100, .quota_us = 6000, .period_us = 20000,
	};
	u32 j;

	NEEDS(SHARES);
	EACH_ANEW(i, ARRAY_SIZE(policies) * ARRAY_SIZE(numbers), "case %u: ", i) {
		u32 nr = numbers[i / ARRAY_SIZE(policies)];

		begin(policies[i % ARRAY_SIZE(policies)]);
		CHECK_EQ(command(GPREEMPT_IOC_SET_SHARE, &share), 0);
		for (j = 0; j < nr; j++) {
			/* Ever deeper, but for each third one */
			below[j] = (struct cgroup){ .id = 100 + j, .parent = j ? &below[j - 1] : world_cgroup(2) };
			hers[j] = program_of(ALICE + j, &init_user_ns, j % 3 == 2 ? world_cgroup(2) : &below[j]);
		}
		his = i % 2 ? program_of(BOB, &init_user_ns, world_cgroup(1)) : NULL;
		CHECK_WITHIN(her_part(nr, SEC), 28, 31);
	}
}

TEST(own_cgroups_have_no_turns, "cgroups that a user makes below one with a share, or in none, divide nothing: 2 or 8 have what one has")
{
	struct gpreempt_set_share share = { .target = { .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 2 }, .weight = 100 };
	u32 j;

	NEEDS(SHARES);
	EACH_ANEW(i, 2 * ARRAY_SIZE(numbers), "case %u: ", i) {
		u32 nr = numbers[i / 2];

		begin("hpf");
		CHECK_EQ(command(GPREEMPT_IOC_SET_SHARE, &share), 0);
		for (j = 0; j < nr; j++) {
			below[j] = (struct cgroup){ .id = 100 + j, .parent = world_cgroup(i % 2 ? 1 : 2) };
			hers[j] = program_of(ALICE, &init_user_ns, &below[j]);
		}
		/* Where hers are below the group his is in none, and the other way round. */
		his = program_of(BOB, &init_user_ns, world_cgroup(i % 2 ? 2 : 1));
		CHECK_WITHIN(her_part(nr, SEC), 45, 55);
	}
}

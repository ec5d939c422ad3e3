// SPDX-License-Identifier: MIT
/* scale_test.c - 64 nodes with 128 queues each: what a pass costs, and how soon a decision about a job is everywhere */
#include <string.h>

#include "news.h"
#include "sim.h"
#include "tap.h"

#define NODES		GPREEMPT_NEWS_NODES
#define BUSY_QUEUES	63
#define DORMANT_QUEUES	64

/* Kernels of a model that wait for each other on all nodes: with two more kinds of queues there are 128 on each node. */
static const struct sim_class model = {
	.name = "model", .nr_queues = 1, .priority = HIGH, .arrivals = POISSON, .period_ns = 20 * MS, .kernels = 50, .kernel_ns = 100 * US,
	.units = 100, .collective = true,
};

static struct sim_config fleet[NODES];
static struct sim_result results[NODES];
static struct sim_times skew;

static void make_node(struct sim_config *config, u32 job)
{
	memset(config, 0, sizeof(*config));
	sim_defaults(config);
	config->duration_ns = 400 * MS;
	config->params.poll_ns = 80 * US;
	config->classes[0] = model;
	config->classes[0].job = job;
	config->classes[1] = sim_training;
	config->classes[1].nr_queues = BUSY_QUEUES;
	config->classes[2] = sim_training;
	config->classes[2].priority = HIGH;
	config->classes[2].arrivals = POISSON;
	config->classes[2].period_ns = DAY;
	config->classes[2].nr_queues = DORMANT_QUEUES;
}

/* Basic blocks of the policy in a pass, with so many nodes */
static double simulate(u32 nr, u32 job)
{
	u64 passes = 0;
	u32 i;

	memset(&skew, 0, sizeof(skew));
	for (i = 0; i < nr; i++) {
		make_node(&fleet[i], job);
		/* Not in step: passes take their time, and so come as often as that allows. */
		fleet[i].seed = 1 + 100 * i;
		fleet[i].classes[1].nr_queues += i % 4;
		fleet[i].classes[2].nr_queues -= i % 4;
	}
	sim_steps = 0;
	sim_run_nodes(fleet, results, nr, &skew);
	for (i = 0; i < nr; i++) {
		if (results[i].wrong[0])
			tap_fail(__FILE__, __LINE__, "node %u: %s", i, results[i].wrong);
		CHECK(results[i].nr_passes > 100);
		passes += results[i].nr_passes;
	}
	return (double)sim_steps / passes;
}

TEST(a_pass_costs_the_same_beside_63_other_nodes, "a pass over 128 queues, of which 64 work, costs the same on a node alone and on one of 64, and as one of a job not half as much again")
{
	double alone, eight, all, job;

	alone = simulate(1, 0);
	eight = simulate(8, 0);
	all = simulate(NODES, 0);
	job = simulate(NODES, 1);
	printf("# steps of a pass over 128 queues: %.0f on a node alone, %.0f on one of eight, %.0f on one of 64, %.0f where a job is on all 64\n",
	       alone, eight, all, job);
	CHECK_WITHIN(eight, alone * .95, alone * 1.05);
	CHECK_WITHIN(all, alone * .95, alone * 1.05);
	CHECK(job < alone * 1.5);
}

TEST(a_decision_is_on_64_nodes_soon, "where a job has queues on 64 nodes, the last one preempts within 200 us of the first one, and each kernel that all take part in is done once")
{
	u64 p99_us;
	u32 i;

	simulate(NODES, 1);
	p99_us = sim_quantile_ns(&skew, .99) / US;
	printf("# a job on 64 nodes, of 128 queues each: from the first to the last that preempts p50 %llu us, p99 %llu us of %llu\n",
	       (unsigned long long)sim_quantile_ns(&skew, .5) / US, (unsigned long long)p99_us, (unsigned long long)skew.count);
	CHECK(skew.count > 5);
	CHECK(p99_us <= 200);
	for (i = 0; i < NODES; i++) {
		CHECK(results[i].classes[0].nr_done > 200);
		CHECK_EQ(results[i].classes[0].nr_done, results[0].classes[0].nr_done);
	}
}

/* Blocks that news.h takes to hear what so many nodes say of a job: that it works there. This file is compiled as the policy is. */
static u64 steps_to_hear(u32 nr)
{
	struct gpreempt_policy_job job = { .works = true, .works_priority = HIGH,
					   .holds_ns = GPREEMPT_LATE_NS };
	struct gpreempt_news news[NODES] = { 0 };
	u64 steps;
	u32 i;

	for (i = 0; i < nr; i++)
		gpreempt_news_tell(&news[i], &job, SEC);
	WRITE_ONCE(sim_steps, 0);
	gpreempt_news_hear(&job, news, nr < 64 ? (1ULL << nr) - 1 : ~0ULL, 0, SEC);
	/* The compiler does not know that blocks count. */
	steps = READ_ONCE(sim_steps);
	CHECK_EQ(job.wanted_until_ns > SEC, nr > 1);
	return steps;
}

TEST(hearing_costs_what_a_job_has_nodes, "what a pass has to hear of a job grows with the nodes that the job is on, not with those that there are, and is a tenth of a pass at most")
{
	u64 none = steps_to_hear(1), half = steps_to_hear(1 + (NODES - 2) / 2), all = steps_to_hear(NODES - 1);
	double pass = simulate(1, 0);

	printf("# steps to hear of a job: %llu on one node, %llu on 32, %llu on 63\n", (unsigned long long)none, (unsigned long long)half,
	       (unsigned long long)all);
	CHECK(half > none);
	CHECK(all <= 2 * half + 4);
	CHECK(all < pass / 10);
}

// SPDX-License-Identifier: MIT
/*
 * gpreemptd_test.c - gpreemptd's policies, engine and file, without a GPU: time is an argument, the kernel's side is fake.c, /proc a folder.
 * TAP on stdout
 *
 *	gpreemptd_test FOLDER [NAME...]	FOLDER: an empty one; these tests only
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake.h"
#include "gpreemptd.h"

#define STEP_NS		(500 * NS_PER_US)
#define SLICE_NS	(5 * NS_PER_MS)
#define MAX_CLIENTS	6

static const char *running = "";
static int failed;
static char said[2048];
static const char *folder;

/* In place of main.c's: kept for the tests, line by line. */
void say(const char *format, ...)
{
	size_t length = strlen(said);
	va_list args;

	va_start(args, format);
	vsnprintf(said + length, sizeof(said) - length, format, args);
	va_end(args);
	length = strlen(said);
	snprintf(said + length, sizeof(said) - length, "\n");
}

#define CHECK(condition) check(condition, #condition, __LINE__)

static void check(bool good, const char *text, int line)
{
	if (good)
		return;
	failed = 1;
	printf("# %s, line %d: not so: %s\n", running, line, text);
}

#define MAX_TESTS	96

static struct test {
	const char *name;
	void (*run)(void);
} tests[MAX_TESTS];
static size_t nr_tests;

/* In the order of their definition */
#define TEST(name) \
	static void name(void); \
	__attribute__((constructor)) static void name##_registers(void) { tests[nr_tests++] = (struct test){ #name, name }; } \
	static void name(void)

/* ---- policies: clients with work on devices that whoever is not off shares ---- */

/**
 * struct world - nodes and their clients
 * @sched: the nodes
 * @c: the clients; each is on the first node alone, unless the test says otherwise
 * @list: pointers to them
 * @work_ns: what each has left to do
 * @ran_ns: time that each had its nodes with work
 * @nr: their number
 * @now_ns: the time
 */
struct world {
	struct sched sched;
	struct sched_client c[MAX_CLIENTS];
	struct sched_client *list[MAX_CLIENTS];
	uint64_t work_ns[MAX_CLIENTS];
	uint64_t ran_ns[MAX_CLIENTS];
	size_t nr;
	uint64_t now_ns;
};

static struct world world(enum sched_policy policy, size_t nr)
{
	struct world w = { .sched = { .policy = policy, .slice_ns = SLICE_NS }, .nr = nr, .now_ns = NS_PER_S };
	size_t i;

	for (i = 0; i < nr; i++) {
		w.c[i].nodes = 1;
		w.c[i].weight = SCHED_WEIGHT_NORMAL;
	}
	return w;
}

static bool is_on(const struct world *w, size_t i)
{
	return w->c[i].wants && !w->c[i].off;
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* One look, then the devices work until the next one. Who shares a device is slower. */
static void step(struct world *w)
{
	size_t i, k;

	for (i = 0; i < w->nr; i++) {
		if (!w->list[i])
			w->list[i] = &w->c[i];
		w->c[i].wants = w->work_ns[i];
	}
	sched_look(&w->sched, w->list, w->nr, w->now_ns);
	for (i = 0; i < w->nr; i++) {
		uint64_t sharing = 0;

		if (!is_on(w, i))
			continue;
		for (k = 0; k < w->nr; k++)
			sharing += is_on(w, k) && w->c[k].nodes & w->c[i].nodes;
		w->ran_ns[i] += STEP_NS;
		w->work_ns[i] -= at_most(w->work_ns[i], STEP_NS / sharing);
	}
	w->now_ns += STEP_NS;
}

static void run_for(struct world *w, uint64_t ns)
{
	uint64_t end_ns = w->now_ns + ns;

	while (w->now_ns < end_ns)
		step(w);
}

TEST(hpf_lower_yields_and_comes_back)
{
	struct world w = world(SCHED_HPF, 2);

	w.c[1].priority = 1;
	w.work_ns[0] = NS_PER_S;
	step(&w);
	CHECK(!w.c[0].off);
	w.work_ns[1] = 10 * NS_PER_MS;
	step(&w);
	CHECK(w.c[0].off && !w.c[1].off);
	run_for(&w, 10 * NS_PER_MS);
	CHECK(!w.work_ns[1] && !w.c[0].off);
	CHECK(w.ran_ns[1] == 10 * NS_PER_MS);
}

TEST(hpf_equals_share)
{
	struct world w = world(SCHED_HPF, 3);

	w.c[2].priority = -1;
	w.work_ns[0] = w.work_ns[1] = w.work_ns[2] = NS_PER_S;
	step(&w);
	CHECK(!w.c[0].off && !w.c[1].off && w.c[2].off);
}

TEST(one_without_work_neither_holds_nor_is_held)
{
	int policy;

	for (policy = 0; policy < SCHED_NR_POLICIES; policy++) {
		struct world w = world((enum sched_policy)policy, 3);

		w.c[0].priority = 5;
		w.c[2].priority = -5;
		w.work_ns[1] = NS_PER_S;
		run_for(&w, 20 * NS_PER_MS);
		CHECK(!w.c[0].off && !w.c[1].off && !w.c[2].off);
	}
}

TEST(fifo_first_come_is_done_first)
{
	struct world w = world(SCHED_FIFO, 3);

	w.c[0].priority = 100;
	w.work_ns[2] = 30 * NS_PER_MS;
	step(&w);
	w.work_ns[1] = 30 * NS_PER_MS;
	step(&w);
	w.work_ns[0] = 30 * NS_PER_MS;
	run_for(&w, 29 * NS_PER_MS);
	CHECK(!w.work_ns[2] && w.work_ns[1] == 30 * NS_PER_MS && w.work_ns[0] == 30 * NS_PER_MS);
	run_for(&w, 30 * NS_PER_MS);
	CHECK(!w.work_ns[1] && w.work_ns[0] == 30 * NS_PER_MS);
	/* Whoever comes back is the last again. */
	w.work_ns[2] = 10 * NS_PER_MS;
	run_for(&w, 30 * NS_PER_MS);
	CHECK(!w.work_ns[0] && w.work_ns[2] == 10 * NS_PER_MS);
}

TEST(rr_gives_everybody_the_same)
{
	struct world w = world(SCHED_RR, 3);
	size_t i;

	for (i = 0; i < 3; i++)
		w.work_ns[i] = NS_PER_S;
	step(&w);
	CHECK(w.c[0].off + w.c[1].off + w.c[2].off == 2);
	run_for(&w, 300 * NS_PER_MS);
	for (i = 0; i < 3; i++)
		CHECK(w.ran_ns[i] >= 95 * NS_PER_MS && w.ran_ns[i] <= 106 * NS_PER_MS);
}

TEST(rr_turns_are_of_a_slice)
{
	struct world w = world(SCHED_RR, 2);
	int turns = 0;
	uint64_t end_ns;
	bool off;

	w.work_ns[0] = w.work_ns[1] = NS_PER_S;
	step(&w);
	off = w.c[0].off;
	for (end_ns = w.now_ns + 100 * NS_PER_MS; w.now_ns < end_ns; step(&w)) {
		turns += w.c[0].off != off;
		off = w.c[0].off;
	}
	CHECK(turns >= 19 && turns <= 20);
}

TEST(a_turn_without_work_is_the_next_ones)
{
	struct world w = world(SCHED_RR, 2);

	w.work_ns[0] = NS_PER_MS;
	w.work_ns[1] = NS_PER_S;
	run_for(&w, 2 * NS_PER_MS);
	CHECK(!w.work_ns[0] && !w.c[1].off);
	CHECK(w.ran_ns[1] > 0);
}

TEST(fair_follows_weights)
{
	struct world w = world(SCHED_FAIR, 2);

	w.c[0].weight = 300;
	w.work_ns[0] = w.work_ns[1] = 10 * NS_PER_S;
	run_for(&w, 2 * NS_PER_S);
	CHECK(w.ran_ns[0] * 100 >= 2 * NS_PER_S * 74 && w.ran_ns[0] * 100 <= 2 * NS_PER_S * 76);
	CHECK(w.ran_ns[1] * 100 >= 2 * NS_PER_S * 24 && w.ran_ns[1] * 100 <= 2 * NS_PER_S * 26);
}

TEST(time_without_work_is_no_credit)
{
	struct world w = world(SCHED_FAIR, 2);
	uint64_t before_ns;

	w.work_ns[0] = 10 * NS_PER_S;
	run_for(&w, NS_PER_S);
	w.work_ns[1] = NS_PER_S;
	step(&w);
	before_ns = w.ran_ns[0];
	run_for(&w, 200 * NS_PER_MS);
	CHECK(w.ran_ns[0] - before_ns >= 90 * NS_PER_MS);
	CHECK(w.ran_ns[1] >= 90 * NS_PER_MS);
}

static uint64_t seed;

static unsigned int random_below(unsigned int n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned int)(seed >> 33) % n;
}

/* ---- jobs: clients on several nodes ---- */

#define BOTH	3	/* the first node and the second */

TEST(job_has_all_of_its_nodes_or_none)
{
	int policy;

	for (policy = 0; policy < SCHED_NR_POLICIES; policy++) {
		struct world w = world((enum sched_policy)policy, 3);
		unsigned int i;

		w.c[0].nodes = BOTH;
		w.c[0].priority = 1;
		w.c[2].nodes = 2;
		w.work_ns[0] = w.work_ns[1] = w.work_ns[2] = 50 * NS_PER_MS;
		for (i = 0; i < 300; i++) {
			step(&w);
			CHECK(!is_on(&w, 0) || (!is_on(&w, 1) && !is_on(&w, 2)));
			/* Who is not in each other's way runs beside each other. */
			CHECK(is_on(&w, 0) || is_on(&w, 1) == w.c[1].wants);
			CHECK(is_on(&w, 0) || is_on(&w, 2) == w.c[2].wants);
		}
		CHECK(!w.work_ns[0] && !w.work_ns[1] && !w.work_ns[2]);
	}
}

TEST(hpf_job_that_yields_on_one_node_leaves_the_others_to_lower_ones)
{
	struct world w = world(SCHED_HPF, 3);

	w.c[0].nodes = BOTH;
	w.c[1].priority = 1;
	w.c[2].nodes = 2;
	w.c[2].priority = -1;
	w.work_ns[0] = w.work_ns[2] = NS_PER_S;
	step(&w);
	CHECK(is_on(&w, 0) && w.c[2].off);
	w.work_ns[1] = NS_PER_MS;
	step(&w);
	CHECK(w.c[0].off && is_on(&w, 1) && is_on(&w, 2));
	run_for(&w, 5 * NS_PER_MS);
	CHECK(is_on(&w, 0) && w.c[2].off);
}

TEST(fifo_job_that_came_first_is_done_first_on_all_nodes)
{
	struct world w = world(SCHED_FIFO, 3);

	w.work_ns[1] = 10 * NS_PER_MS;
	step(&w);
	w.c[0].nodes = BOTH;
	w.work_ns[0] = 10 * NS_PER_MS;
	step(&w);
	w.c[2].nodes = 2;
	w.work_ns[2] = 50 * NS_PER_MS;
	step(&w);
	CHECK(is_on(&w, 1) && w.c[0].off && is_on(&w, 2));
	run_for(&w, 10 * NS_PER_MS);
	CHECK(is_on(&w, 0) && w.c[2].off);
	run_for(&w, 10 * NS_PER_MS);
	CHECK(!w.work_ns[0] && is_on(&w, 2));
}

/* Its nodes' turns end at different times: none of them is had again and again while it waits for another one. */
TEST(rr_job_comes_to_its_turn_among_those_on_one_node)
{
	struct world w = world(SCHED_RR, 5);
	size_t i;

	w.c[2].nodes = w.c[3].nodes = 2;
	w.c[4].nodes = BOTH;
	w.work_ns[0] = w.work_ns[1] = NS_PER_S;
	run_for(&w, 2 * NS_PER_MS);
	w.work_ns[2] = w.work_ns[3] = NS_PER_S;
	run_for(&w, 11 * NS_PER_MS);
	w.work_ns[4] = NS_PER_S;
	for (i = 0; i < w.nr; i++)
		w.ran_ns[i] = 0;
	run_for(&w, 300 * NS_PER_MS);
	for (i = 0; i < w.nr; i++)
		CHECK(w.ran_ns[i] >= 90 * NS_PER_MS && w.ran_ns[i] <= 110 * NS_PER_MS);
}

/* One node's time has gone to two, the other's to nobody. */
TEST(fair_nodes_that_a_job_connects_count_from_the_same)
{
	struct world w = world(SCHED_FAIR, 4);
	size_t i;

	w.work_ns[0] = w.work_ns[1] = 10 * NS_PER_S;
	run_for(&w, NS_PER_S);
	w.c[2].nodes = 2;
	w.c[3].nodes = BOTH;
	w.work_ns[2] = 10 * NS_PER_S;
	run_for(&w, 100 * NS_PER_MS);
	w.work_ns[3] = 10 * NS_PER_S;
	for (i = 0; i < w.nr; i++)
		w.ran_ns[i] = 0;
	run_for(&w, 300 * NS_PER_MS);
	CHECK(w.ran_ns[0] >= 80 * NS_PER_MS && w.ran_ns[1] >= 80 * NS_PER_MS && w.ran_ns[3] >= 80 * NS_PER_MS);
	CHECK(w.ran_ns[2] >= 160 * NS_PER_MS && w.ran_ns[2] + w.ran_ns[3] == 300 * NS_PER_MS);
}

TEST(fair_job_has_its_share_once_whatever_its_nodes)
{
	struct world w = world(SCHED_FAIR, 3);

	w.c[0].nodes = BOTH;
	w.c[0].weight = 300;
	w.c[2].nodes = 2;
	w.work_ns[0] = w.work_ns[1] = w.work_ns[2] = 10 * NS_PER_S;
	run_for(&w, 2 * NS_PER_S);
	CHECK(w.ran_ns[0] * 100 >= 2 * NS_PER_S * 74 && w.ran_ns[0] * 100 <= 2 * NS_PER_S * 76);
}

TEST(nodes_without_a_job_do_not_concern_each_other)
{
	int policy;

	for (policy = 0; policy < SCHED_NR_POLICIES; policy++) {
		struct world one = world((enum sched_policy)policy, 2), both = world((enum sched_policy)policy, 4);
		size_t i, k;

		both.c[1].nodes = both.c[3].nodes = 2;
		for (i = 0; i < 2; i++) {
			one.c[i].priority = both.c[2 * i].priority = (int)i;
			both.c[2 * i + 1].priority = 5 - (int)i;
			one.work_ns[i] = both.work_ns[2 * i] = 40 * NS_PER_MS;
			both.work_ns[2 * i + 1] = (7 + i) * NS_PER_MS;
		}
		for (k = 0; k < 200; k++) {
			step(&one);
			step(&both);
			CHECK(one.c[0].off == both.c[0].off && one.c[1].off == both.c[2].off);
			/* One of them ends early, in the middle of the others' turn. */
			if (k % 13 == 7)
				both.work_ns[1] += 3 * NS_PER_MS;
		}
	}
}

/* Is it off for a reason: does a client that counts for more have one of its nodes? */
static bool has_to_wait(const struct world *w, size_t i)
{
	size_t k;

	for (k = 0; k < w->nr; k++)
		if (is_on(w, k) && w->c[k].nodes & w->c[i].nodes && (w->sched.policy != SCHED_HPF || w->c[k].priority > w->c[i].priority))
			return true;
	return false;
}

/* Does another one have one of its nodes that must not at the same time? */
static bool is_disturbed(const struct world *w, size_t i)
{
	size_t k;

	for (k = 0; k < w->nr; k++)
		if (k != i && is_on(w, k) && w->c[k].nodes & w->c[i].nodes && (w->sched.policy != SCHED_HPF || w->c[k].priority != w->c[i].priority))
			return true;
	return false;
}

static uint64_t random_nodes(unsigned int nodes)
{
	return 1 + random_below((1u << nodes) - 1);
}

/* What has to hold whatever happens: nobody is off for nothing, one without work never is, and nobody waits for ever. */
TEST(any_history_leaves_nobody_behind)
{
	unsigned int round, i, steps;

	for (round = 0; round < 300; round++) {
		struct world w = world(SCHED_HPF, 2 + random_below(MAX_CLIENTS - 1));
		unsigned int nodes = 1 + round % 3;
		bool left = true;

		for (i = 0; i < w.nr; i++) {
			w.c[i].nodes = random_nodes(nodes);
			w.c[i].priority = (int)random_below(3);
			w.c[i].weight = 1 + random_below(300);
		}
		for (steps = 0; left && steps < 4000; steps++) {
			if (steps < 400 && !random_below(10))
				w.work_ns[random_below((unsigned int)w.nr)] += random_below(20) * NS_PER_MS;
			if (!random_below(50))
				w.sched.policy = (enum sched_policy)random_below(SCHED_NR_POLICIES);
			if (!random_below(100))
				w.c[random_below((unsigned int)w.nr)].nodes = random_nodes(nodes);
			step(&w);
			left = steps < 400;
			for (i = 0; i < w.nr; i++) {
				left |= w.work_ns[i];
				CHECK(w.c[i].wants || !w.c[i].off);
				CHECK(!w.c[i].off || has_to_wait(&w, i));
				CHECK(!is_on(&w, i) || !is_disturbed(&w, i));
			}
		}
		CHECK(!left);
	}
}

TEST(names_are_ours_and_xscheds)
{
	CHECK(sched_policy_find("HPF") == SCHED_HPF && sched_policy_find("hpf") == SCHED_HPF);
	CHECK(sched_policy_find("FIFO") == SCHED_FIFO && sched_policy_find("RR") == SCHED_RR);
	CHECK(sched_policy_find("CFS") == SCHED_FAIR && sched_policy_find("PUP") == SCHED_FAIR && sched_policy_find("fair") == SCHED_FAIR);
	CHECK(sched_policy_find("KEDF") == -1 && sched_policy_is_xscheds("KEDF"));
	CHECK(sched_policy_find("best") == -1 && !sched_policy_is_xscheds("best") && sched_policy_find("") == -1);
}

/* ---- engine ---- */

static struct config config;
static struct engine e;
static uint64_t now_ns;

static void begin(void)
{
	char proc[256];

	fake = (struct fake){ 0 };
	config_init(&config, NULL);
	snprintf(proc, sizeof(proc), "%s/%s", folder, running);
	mkdir(proc, 0777);
	config.proc = strdup(proc);
	e = (struct engine){ .config = &config };
	now_ns = NS_PER_S;
	said[0] = '\0';
}

/* Each test begins with an engine, and its end is that of the engine. */
static void end(void)
{
	engine_exit(&e);
	CHECK(!fake.opened);
	config_free(&config);
	free((char *)config.proc);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

/* A process of a user; what a rule may see of it besides is in files of the test. */
static const char *process_of(pid_t pid, uid_t uid)
{
	static char path[300];
	char text[128], file[400];

	snprintf(path, sizeof(path), "%s/%d", config.proc, (int)pid);
	mkdir(path, 0777);
	snprintf(text, sizeof(text), "Name:\tx\nUid:\t7\t%u\t7\t7\n", uid);
	snprintf(file, sizeof(file), "%s/status", path);
	write_file(file, text);
	return path;
}

static struct rule *rule_of(pid_t pid)
{
	size_t i;

	for (i = 0; i < config.nr_rules && config.rules[i].pid != pid; i++)
		;
	return i < config.nr_rules ? &config.rules[i] : NULL;
}

/* The file names the process, or says something else of it, from the next look on. */
static void names(pid_t pid, int priority, unsigned int weight)
{
	struct rule *rule = rule_of(pid);

	if (!rule) {
		config.rules = realloc(config.rules, (config.nr_rules + 1) * sizeof(*rule));
		rule = &config.rules[config.nr_rules++];
	}
	*rule = (struct rule){ .kind = RULE_PID, .pid = pid, .priority = priority, .weight = weight };
	e.search_ns = 0;
}

static void add(pid_t pid, int priority)
{
	process_of(pid, 0);
	names(pid, priority, SCHED_WEIGHT_NORMAL);
}

/* It names the process no more. */
static void take_out(pid_t pid)
{
	struct rule *rule = rule_of(pid);

	*rule = config.rules[--config.nr_rules];
	e.search_ns = 0;
}

/* A queue with work. */
static struct gpreempt_queue_info *works(pid_t pid, uint32_t queue_id)
{
	struct gpreempt_queue_info *q = fake_queue(pid, 1, queue_id);

	q->state = GPREEMPT_QUEUE_ACTIVE;
	q->pending = 1;
	return q;
}

static void idles(struct gpreempt_queue_info *q)
{
	q->state = GPREEMPT_QUEUE_IDLE;
	q->pending = 0;
}

static uint64_t look(void)
{
	now_ns += NS_PER_MS;
	return engine_look(&e, now_ns);
}

/* When nobody is believed to work any more who does not. */
static uint64_t look_later(void)
{
	now_ns += 2 * NS_PER_MS;
	look();
	return look();
}

static bool off(const struct gpreempt_queue_info *q)
{
	return q->state == GPREEMPT_QUEUE_PREEMPTED;
}

/* Low of priority 0 with two queues, high of priority 1 with one; both work. */
static struct gpreempt_queue_info *low, *high;

static void low_and_high(void)
{
	add(10, 0);
	add(20, 1);
	works(10, 1);
	low = works(10, 0);
	high = works(20, 0);
}

TEST(lower_is_held_while_higher_works)
{
	low_and_high();
	look();
	CHECK(off(low) && off(fake_queue(10, 1, 1)) && !off(high));
	CHECK(fake.holds == 1 && !fake.flags && fake.timeout_ms == settings[TIMEOUT_MS].normal);
	look();
	CHECK(fake.holds == 1 && !fake.resumes);
	idles(high);
	look();
	CHECK(off(low));
	works(20, 0);
	look();
	idles(high);
	look();
	CHECK(off(low) && !fake.resumes);
	look();
	CHECK(!off(low) && fake.resumes == 1);
}

/* A look long after the last one may fall into a runlist, which has taken all waves off. */
TEST(one_look_without_work_loses_no_turn)
{
	low_and_high();
	config.policy = SCHED_FIFO;
	idles(high);
	look();
	now_ns += 10 * NS_PER_MS;
	idles(low);
	idles(fake_queue(10, 1, 1));
	works(20, 0);
	look();
	CHECK(off(high));
	works(10, 0);
	look();
	CHECK(off(high) && !off(low));
}

/* Its last kernel may have been taken off in the middle, with nothing left in the ring. */
TEST(held_one_has_work_even_with_an_empty_ring)
{
	low_and_high();
	config.policy = SCHED_FIFO;
	idles(high);
	look();
	works(20, 0);
	look();
	CHECK(off(high));
	high->pending = 0;
	look();
	CHECK(off(high));
	idles(low);
	idles(fake_queue(10, 1, 1));
	look_later();
	CHECK(!off(high));
}

TEST(whom_somebody_else_keeps_off_is_not_waited_for)
{
	low_and_high();
	high->state = GPREEMPT_QUEUE_PREEMPTED;
	look();
	CHECK(!off(low) && !fake.holds);
}

/* Given back is not yet back: the other one's turn is not to end for that. */
TEST(who_is_on_the_way_back_is_waited_for)
{
	low_and_high();
	config.policy = SCHED_RR;
	look();
	CHECK(off(high) && !off(low));
	now_ns += SLICE_NS;
	look();
	CHECK(off(low) && !off(high));
	high->state = GPREEMPT_QUEUE_PREEMPTED;
	look();
	CHECK(off(low) && fake.holds == 2);
	high->state = GPREEMPT_QUEUE_ACTIVE;
	look();
	CHECK(off(low) && fake.holds == 2);
}

TEST(strangers_are_left_alone)
{
	low_and_high();
	works(30, 0);
	look();
	CHECK(!off(fake_queue(30, 1, 0)) && off(low));
}

TEST(exempt_one_is_left_alone)
{
	low_and_high();
	low->flags = GPREEMPT_QUEUE_EXEMPT;
	look();
	CHECK(!fake.holds && !off(low));
	/* That its pointers cannot be read is no such reason: the kernel holds it. */
	low->flags = GPREEMPT_QUEUE_UNSCHEDULED;
	look();
	CHECK(fake.holds && off(low));
}

TEST(blocked_one_holds_nobody)
{
	low_and_high();
	high->flags = GPREEMPT_QUEUE_BLOCKED;
	look();
	CHECK(!off(low));
}

TEST(refusal_is_told_once_and_tried_again_a_second_later)
{
	low_and_high();
	fake.hold_error = -EBUSY;
	look();
	CHECK(strstr(said, "pid 10 gpu 1: it cannot be taken off the device: Device or resource busy; it runs beside the others"));
	said[0] = '\0';
	look();
	CHECK(fake.holds == 1);
	now_ns += NS_PER_S;
	look();
	CHECK(fake.holds == 2 && !said[0]);
	fake.hold_error = 0;
	now_ns += NS_PER_S;
	look();
	CHECK(off(low));
}

TEST(late_hold_is_a_hold)
{
	low_and_high();
	fake.hold_error = -ETIME;
	look();
	look();
	CHECK(fake.holds == 1);
	idles(high);
	look_later();
	CHECK(fake.resumes == 1 && !off(low));
}

TEST(hold_that_somebody_ended_is_made_again)
{
	low_and_high();
	look();
	low->flags = fake_queue(10, 1, 1)->flags = 0;
	low->state = fake_queue(10, 1, 1)->state = GPREEMPT_QUEUE_ACTIVE;
	look();
	CHECK(off(low) && fake.holds == 2);
}

/* It is the kernel's victim now, and ours no more. */
TEST(hold_that_somebody_ended_says_nothing_of_work)
{
	low_and_high();
	config.policy = SCHED_FIFO;
	idles(high);
	look();
	works(20, 0);
	look();
	CHECK(off(high));
	high->flags = 0;
	look_later();
	idles(low);
	idles(fake_queue(10, 1, 1));
	works(10, 2);
	look_later();
	CHECK(!off(low) && fake.holds == 1);
	CHECK(!e.nodes[0]->clients[1]->wants);
}

TEST(new_queue_of_a_held_process_is_held)
{
	low_and_high();
	look();
	works(10, 2);
	look();
	CHECK(off(fake_queue(10, 1, 2)) && fake.holds == 2);
}

/* The kernel lets it run for a while: no reason to hold it again, and time that it has had. */
TEST(relief_is_left_alone_and_counts)
{
	low_and_high();
	look();
	low->state = fake_queue(10, 1, 1)->state = GPREEMPT_QUEUE_ACTIVE;
	look();
	look();
	CHECK(fake.holds == 1 && !fake.resumes);
	CHECK(e.nodes[0]->clients[0]->party->sched.ran);
}

TEST(process_that_is_taken_out_gets_its_queues_back)
{
	low_and_high();
	look();
	CHECK(off(low));
	take_out(10);
	look();
	CHECK(!off(low) && e.nr_processes == 1 && fake.opened == 1);
	take_out(20);
	look();
	CHECK(!e.nr_processes && !fake.opened);
	CHECK(look() == SCHED_NEVER);
}

TEST(process_that_is_taken_out_has_no_turn_any_more)
{
	low_and_high();
	config.policy = SCHED_RR;
	look();
	CHECK(off(high));
	take_out(10);
	add(30, 0);
	works(30, 0);
	look();
	CHECK(off(high) != off(fake_queue(30, 1, 0)));
}

TEST(process_that_remains_gets_its_queues_back)
{
	low_and_high();
	look();
	take_out(20);
	CHECK(look() == NS_PER_S);
	CHECK(!off(low));
}

/* A process is searched for each second, which is when a new one is seen. */
TEST(new_process_is_seen_within_a_second)
{
	process_of(20, 0);
	add(10, 0);
	low = works(10, 0);
	CHECK(look() == NS_PER_S && e.nr_processes == 1);
	names(20, 1, SCHED_WEIGHT_NORMAL);
	high = works(20, 0);
	e.search_ns = now_ns + NS_PER_S;
	look();
	CHECK(e.nr_processes == 1 && !off(low));
	now_ns += NS_PER_S;
	look();
	CHECK(e.nr_processes == 2 && off(low));
}

/* Its pid is another process's by now, which the file does not name. */
TEST(process_that_has_ended_is_forgotten)
{
	char exe[400];

	low_and_high();
	look();
	*rule_of(20) = (struct rule){ .kind = RULE_EXE, .name = strdup("/bin/high"), .priority = 1, .weight = 100 };
	snprintf(exe, sizeof(exe), "%s/20/exe", config.proc);
	CHECK(!symlink("/bin/high", exe));
	now_ns += NS_PER_S;
	look();
	CHECK(off(low) && e.nr_processes == 2);
	CHECK(!unlink(exe) && !symlink("/bin/other", exe));
	now_ns += NS_PER_S;
	look();
	CHECK(!off(low) && e.nr_processes == 1);
	snprintf(exe, sizeof(exe), "%s/10/status", config.proc);
	CHECK(!unlink(exe));
	now_ns += NS_PER_S;
	look();
	CHECK(!e.nr_processes && !fake.opened);
}

TEST(looks_are_as_frequent_as_they_can_matter)
{
	CHECK(look() == SCHED_NEVER);
	add(10, 0);
	low = works(10, 0);
	CHECK(look() == NS_PER_S);
	add(20, 0);
	high = fake_queue(20, 2, 0);
	CHECK(look() == 50 * NS_PER_MS);
	high->gpu_id = 1;
	CHECK(look() == 5 * NS_PER_MS);
	works(20, 0);
	CHECK(look() == 500 * NS_PER_US);
	idles(low);
	idles(high);
	CHECK(look() == 500 * NS_PER_US);
	now_ns += NS_PER_S;
	CHECK(look() == 5 * NS_PER_MS);
	fake.nr = 0;
	CHECK(look() == 50 * NS_PER_MS && !e.nr_nodes);
	now_ns += NS_PER_S;
	CHECK(look() == NS_PER_S && !e.nr_processes && !fake.opened);
}

TEST(a_turn_ends_in_time)
{
	low_and_high();
	config.policy = SCHED_RR;
	config.values[POLL_US] = 1000000;
	CHECK(look() == SLICE_NS);
	CHECK(look() == SLICE_NS - NS_PER_MS);
}

TEST(failed_list_moves_nobody_and_is_told_once)
{
	low_and_high();
	look();
	fake.list_error = -ENOMEM;
	CHECK(look() == 50 * NS_PER_MS);
	CHECK(off(low) && fake.holds == 1 && !fake.resumes && strstr(said, "queues cannot be listed: Cannot allocate memory"));
	said[0] = '\0';
	look();
	CHECK(!said[0]);
}

TEST(nodes_do_not_concern_each_other)
{
	add(10, 0);
	add(20, 1);
	low = works(10, 0);
	high = fake_queue(20, 2, 0);
	high->state = GPREEMPT_QUEUE_ACTIVE;
	look();
	CHECK(!fake.holds);
}

/* ---- jobs ---- */

/* A queue with work on any node, of a process in a job; 0: in none. */
static struct gpreempt_queue_info *works_in(uint64_t job, pid_t pid, uint32_t gpu_id)
{
	struct gpreempt_queue_info *q = fake_queue(pid, gpu_id, 0);

	fake.jobs[q - fake.queues] = job;
	q->state = GPREEMPT_QUEUE_ACTIVE;
	q->pending = 1;
	return q;
}

/* Processes 10 and 11 of job 5, one on each of two nodes; 20 on the first. */
static struct gpreempt_queue_info *member, *other_member, *single;

static void job_and_single(int priority)
{
	add(10, 0);
	add(11, 0);
	add(20, priority);
	member = works_in(5, 10, 1);
	other_member = works_in(5, 11, 2);
	single = works_in(0, 20, 1);
}

TEST(turn_is_a_jobs)
{
	job_and_single(0);
	config.policy = SCHED_RR;
	look();
	CHECK(!off(member) && !off(other_member) && off(single));
	now_ns += SLICE_NS;
	look();
	CHECK(off(member) && off(other_member) && !off(single));
	/* Nobody came before all had left. */
	CHECK(fake.holds == 3 && fake.resumes == 1 && fake.holds_at_resume == 3);
	now_ns += SLICE_NS;
	look();
	CHECK(!off(member) && !off(other_member) && off(single));
}

TEST(job_comes_first_in_first_out_as_one)
{
	job_and_single(0);
	config.policy = SCHED_FIFO;
	idles(other_member);
	idles(single);
	look();
	works_in(0, 20, 1);
	look();
	CHECK(off(single));
	/* The one that began has nothing left, the other one has. */
	idles(member);
	works_in(5, 11, 2);
	look_later();
	CHECK(off(single) && !off(other_member));
	idles(other_member);
	look_later();
	CHECK(!off(single));
}

TEST(job_yields_on_all_nodes_and_leaves_them_to_others)
{
	struct gpreempt_queue_info *lowest;

	job_and_single(1);
	add(30, -1);
	lowest = works_in(0, 30, 2);
	look();
	CHECK(off(member) && off(other_member) && !off(single) && !off(lowest));
	idles(single);
	look_later();
	CHECK(!off(member) && !off(other_member) && off(lowest));
}

TEST(job_works_while_one_of_its_processes_does)
{
	job_and_single(-1);
	idles(member);
	look();
	CHECK(off(single));
	idles(other_member);
	look_later();
	CHECK(!off(single));
}

/* There is nothing to take off, and it is when there is. */
TEST(idle_process_of_a_job_is_not_held_until_it_works)
{
	job_and_single(1);
	idles(other_member);
	look();
	CHECK(off(member) && fake.holds == 1);
	works_in(5, 11, 2);
	look();
	CHECK(off(other_member) && fake.holds == 2);
}

TEST(the_same_job_of_two_users_is_two)
{
	add(10, 0);
	add(11, 0);
	process_of(11, 1000);
	add(20, 1);
	member = works_in(5, 10, 1);
	other_member = works_in(5, 11, 2);
	single = works_in(0, 20, 1);
	look();
	CHECK(off(member) && !off(other_member));
}

TEST(who_leaves_a_job_is_decided_about_alone)
{
	job_and_single(1);
	look();
	CHECK(off(other_member));
	works_in(0, 11, 2);
	other_member->state = GPREEMPT_QUEUE_PREEMPTED;
	look();
	CHECK(!off(other_member) && off(member));
	works_in(6, 11, 2);
	look();
	works_in(0, 10, 1);
	member->state = GPREEMPT_QUEUE_PREEMPTED;
	look();
	CHECK(!off(other_member) && off(member));
	/* And who comes back. */
	works_in(6, 10, 1);
	member->state = GPREEMPT_QUEUE_PREEMPTED;
	look();
	CHECK(off(other_member) && off(member));
	CHECK(e.nr_parties == 2);
}

/* Two of one job on one node are not in each other's way, and need not be looked after as if they were. */
TEST(processes_of_a_job_share_a_node)
{
	int policy;

	for (policy = 0; policy < SCHED_NR_POLICIES; policy++) {
		if (policy) {
			end();
			begin();
		}
		add(10, 0);
		add(11, 5);
		config.policy = (enum sched_policy)policy;
		member = works_in(5, 10, 1);
		other_member = works_in(5, 11, 1);
		CHECK(look() == 50 * NS_PER_MS);
		now_ns += SLICE_NS;
		look();
		CHECK(!off(member) && !off(other_member) && !fake.holds);
	}
}

/* A process beside one that the file names with more gains nothing by it. */
TEST(job_is_as_urgent_as_the_least_of_it)
{
	job_and_single(3);
	names(10, 5, 400);
	names(11, 0, 50);
	look();
	CHECK(off(member) && off(other_member));
	CHECK(e.nodes[0]->clients[0]->party->sched.weight == 50);
	names(11, 4, 50);
	look();
	CHECK(!off(member) && !off(other_member) && off(single));
}

TEST(job_whose_process_ends_goes_on)
{
	job_and_single(1);
	look();
	fake.jobs[member - fake.queues] = 0;
	member->pid = 99;
	now_ns += NS_PER_S;
	look();
	CHECK(e.nr_processes == 2 && !off(other_member) && !off(single));
}

/* What cannot be held runs beside the others, and the rest of the job is held all the same. */
TEST(exempt_process_of_a_job_is_left_alone)
{
	job_and_single(1);
	member->flags = GPREEMPT_QUEUE_EXEMPT;
	look();
	CHECK(!off(member) && off(other_member) && !off(single));
}

/* As many as the policy has bits for. */
TEST(so_many_nodes_and_no_more)
{
	uint32_t gpu_id;

	add(10, 0);
	add(20, 1);
	for (gpu_id = 1; gpu_id <= SCHED_MAX_NODES + 1; gpu_id++)
		works_in(0, 10, gpu_id);
	works_in(0, 20, SCHED_MAX_NODES);
	works_in(0, 20, SCHED_MAX_NODES + 1);
	look();
	CHECK(e.nr_nodes == SCHED_MAX_NODES && fake.holds == 1);
	CHECK(off(fake_queue(10, SCHED_MAX_NODES, 0)) && !off(fake_queue(10, SCHED_MAX_NODES + 1, 0)));
}

/* ---- events, bounds ---- */

TEST(failures_are_told_and_looked_after)
{
	low_and_high();
	look();
	fake.event = (struct gpreempt_event){ .type = GPREEMPT_EVENT_RESUMED, .pid = 30, .gpu_id = 1 };
	fake.nr_events = 3;
	CHECK(!engine_events(&e));
	fake.event.pid = 20;
	fake.nr_events = 1;
	CHECK(engine_events(&e));
	fake.event = (struct gpreempt_event){ .type = GPREEMPT_EVENT_FAILED, .gpu_id = 1, .queue_id = ~0U, .value = ETIME };
	fake.nr_events = 2;
	CHECK(engine_events(&e) && strstr(said, "gpu 1: preempting failed: Timer expired"));
}

TEST(so_many_processes_and_no_more)
{
	pid_t pid;

	for (pid = 1; pid <= MAX_PROCESSES + 2; pid++) {
		add(pid, 0);
		works(pid, 0);
	}
	look();
	CHECK(e.nr_processes == MAX_PROCESSES && !strcmp(said, "more than 256 processes fit; the others are left alone\n"));
	said[0] = '\0';
	now_ns += NS_PER_S;
	look();
	CHECK(!said[0]);
}

TEST(missing_device_is_told_once_and_tried_again)
{
	low_and_high();
	fake.open_error = -ENOENT;
	CHECK(look() == NS_PER_S && strstr(said, "queues cannot be listed: No such file"));
	said[0] = '\0';
	look();
	CHECK(!said[0]);
	fake.open_error = 0;
	look();
	CHECK(off(low));
}

/* ---- the file ---- */

static char file_path[300];

/* Is all of it right? */
static bool reads(const char *text, bool first)
{
	snprintf(file_path, sizeof(file_path), "%s/conf", folder);
	write_file(file_path, text);
	said[0] = '\0';
	e.search_ns = 0;
	return config_read(&config, file_path, first);
}

/* It is refused, and this is what is said, after the path. */
static bool refused(const char *text, const char *why)
{
	struct config before = config;

	return !reads(text, false) && !strncmp(said, file_path, strlen(file_path)) && strstr(said + strlen(file_path), why) == said + strlen(file_path) &&
	       !memcmp(&before, &config, sizeof(config));
}

TEST(file_says_policy_settings_and_processes)
{
	CHECK(reads("# one\n\n [settings] \npolicy = CFS\nslice_us=7000\n poll_us = 100 \n[processes]\n"
		    "exe /bin/x=y = weight=300\nuser 1000 = batch weight=50\n cgroup  a.slice = -5 \npid 77 =\tweight=1 1023\n# end", true));
	CHECK(!said[0] && config.policy == SCHED_FAIR && config.values[SLICE_US] == 7000 && config.values[POLL_US] == 100);
	CHECK(config.values[INTERVAL_MS] == 5 && config.nr_rules == 4);
	CHECK(config.rules[0].kind == RULE_EXE && !strcmp(config.rules[0].name, "/bin/x=y") && config.rules[0].weight == 300 &&
	      config.rules[0].priority == GPREEMPT_PRIORITY_NORMAL);
	CHECK(config.rules[1].kind == RULE_USER && config.rules[1].uid == 1000 && config.rules[1].priority == -100 && config.rules[1].weight == 50);
	CHECK(config.rules[2].kind == RULE_CGROUP && !strcmp(config.rules[2].name, "a.slice") && config.rules[2].priority == -5);
	CHECK(config.rules[3].kind == RULE_PID && config.rules[3].pid == 77 && config.rules[3].priority == 1023 && config.rules[3].weight == 1);
	/* What the next one does not name is as without a file. */
	CHECK(reads("", false) && config.policy == SCHED_HPF && config.values[SLICE_US] == 5000 && !config.nr_rules);
}

TEST(mistakes_are_told_with_line_value_bound_and_what_stays)
{
	CHECK(reads("[settings]\npolicy = rr\nslice_us = 8000\n[processes]\npid 10 = 5\n", true));
	CHECK(refused("[settings]\n\nslice_us = 499\n", ":3: slice_us=499 is not a number from 500 to 1000000; kept 8000\n"));
	CHECK(refused("[settings]\npoll_us = 1x\n", ":2: poll_us=1x is not a number from 100 to 1000000; kept 500\n"));
	CHECK(refused("[settings]\ntimeout_ms =\n", ":2: timeout_ms= is not a number from 1 to 60000; kept 1000\n"));
	CHECK(refused("[settings]\ninterval_ms = 18446744073709551617\n", ":2: interval_ms=18446744073709551617 is not a number from 1 to 10000; kept 5\n"));
	CHECK(refused("[settings]\nnonsense = 1\n", ":2: there is no setting nonsense (policy slice_us poll_us interval_ms timeout_ms)\n"));
	CHECK(refused("[settings]\nslice_us\n", ":2: there is no = in: slice_us\n"));
	CHECK(refused("[settings]\npolicy = best\n", ":2: policy=best is no policy (hpf fifo rr fair); kept rr\n"));
	CHECK(refused("[settings]\npolicy = KEDF\n", ":2: policy=KEDF is a policy of XSched that gpreemptd has not (hpf fifo rr fair); kept rr\n"));
	CHECK(refused("slice_us = 5000\n", ":1: before the first section: slice_us = 5000\n"));
	CHECK(refused("[tunables]\nslice_us = 1\n", ":1: neither [settings] nor [processes]: [tunables]\n"));
	CHECK(refused("[processes]\npid 10 = 1024\n",
		      ":2: 1024 is neither a priority (-1023..1023) nor a class (latency, normal, batch) nor weight=N\n"));
	CHECK(refused("[processes]\npid 10 = weight=0\n", ":2: weight=0 is not a number from 1 to 10000\n"));
	CHECK(refused("[processes]\npid 10 = weight=10001\n", ":2: weight=10001 is not a number from 1 to 10000\n"));
	CHECK(refused("[processes]\npid 10 =\n", ":2: there is neither a priority nor a class nor weight=N behind the =\n"));
	CHECK(refused("[processes]\npid 10=5\n", ":2: there is no = with spaces beside it in: pid 10=5\n"));
	CHECK(refused("[processes]\npid 0 = 5\n", ":2: pid 0 is not a number from 1 to 2147483647\n"));
	CHECK(refused("[processes]\npid = 5\n", ":2: not `exe PATH`, `user NAME`, `cgroup DIR` or `pid PID`: pid\n"));
	CHECK(refused("[processes]\nexe train = 5\n", ":2: a program is named by its whole path, not: train\n"));
	CHECK(refused("[processes]\nuser trainig = 5\n", ":2: there is no user trainig\n"));
	CHECK(refused("[processes]\ncgroup /system.slice/a.service = 5\n",
		      ":2: can never fit: it is not below /sys/fs/cgroup; write system.slice/a.service: /system.slice/a.service\n"));
	CHECK(refused("[processes]\njob 5 = 5\n", ":2: neither exe nor user nor cgroup nor pid: job\n"));
	/* All of them at once, and the lines that are right are not in force. */
	CHECK(refused("[settings]\npolicy = fifo\nslice_us = 1\n[processes]\npid 20 = 5\npid x = 5\n", ":3: slice_us=1 is not"));
	CHECK(strstr(said, ":6: pid x is not a number") && config.policy == SCHED_RR && config.rules[0].pid == 10);
	CHECK(!config_read(&config, "/no/such/file", false) && strstr(said, "/no/such/file: No such file") && config.nr_rules == 1);
	/* Nothing is kept where nothing was. */
	CHECK(!reads("[settings]\nslice_us = 1\npolicy = best\n", true) && !strstr(said, "kept"));
}

TEST(settings_have_their_bounds)
{
	char text[64];
	int i;

	for (i = 0; i < NR_SETTINGS; i++) {
		uint64_t least = settings[i].least, most = settings[i].most;
		const struct { uint64_t value; bool good; } tries[] = { { least, true }, { most, true }, { least - 1, false }, { most + 1, false } };
		size_t k;

		CHECK(settings[i].normal >= least && settings[i].normal <= most);
		for (k = 0; k < 4; k++) {
			snprintf(text, sizeof(text), "[settings]\n%s = %llu\n", settings[i].name, (unsigned long long)tries[k].value);
			CHECK(reads(text, true) == tries[k].good && (!tries[k].good || config.values[i] == tries[k].value));
		}
	}
}

TEST(environment_names_the_policy_if_the_file_does_not)
{
	const char *proc = config.proc;

	config_init(&config, "RR");
	CHECK(reads("", true) && config.policy == SCHED_RR);
	CHECK(reads("[settings]\npolicy = fifo\n", false) && config.policy == SCHED_FIFO);
	CHECK(reads("", false) && config.policy == SCHED_RR);
	config_init(&config, "LAX");
	CHECK(strstr(said, "XSCHED_SCHED=LAX is a policy of XSched that gpreemptd has not (hpf fifo rr fair); kept hpf") && config.policy == SCHED_HPF);
	config_init(&config, "");
	CHECK(config.policy == SCHED_HPF);
	config.proc = proc;
}

/* The first line that fits says what the process is. */
TEST(processes_are_known_by_program_user_cgroup_or_pid)
{
	char path[400];
	const char *of = process_of(10, 1000);
	struct process found = { 0 };

	snprintf(path, sizeof(path), "%s/exe", of);
	CHECK(!symlink("/opt/train", path));
	snprintf(path, sizeof(path), "%s/cgroup", of);
	write_file(path, "0::/a.slice/b.service\n");
	CHECK(reads("[processes]\nuser 7 = 1\nexe /opt/train2 = 2\ncgroup a.slic = 3\npid 11 = 4\n", true) && !config_match(&config, 10, &found));
	CHECK(reads("[processes]\nexe /opt/train = 5 weight=9\nuser 1000 = 6\n", true) && config_match(&config, 10, &found));
	CHECK(found.pid == 10 && found.uid == 1000 && found.priority == 5 && found.weight == 9);
	CHECK(reads("[processes]\nuser 1000 = 6\npid 10 = 8\n", true) && config_match(&config, 10, &found) && found.priority == 6);
	CHECK(reads("[processes]\ncgroup a.slice = 7\n", true) && config_match(&config, 10, &found) && found.priority == 7);
	CHECK(reads("[processes]\npid 10 = 8\n", true) && config_match(&config, 10, &found) && found.priority == 8);
	/* It has ended. */
	CHECK(!config_match(&config, 11, &found));
}

TEST(wrong_file_moves_nothing_and_a_right_one_gives_back)
{
	process_of(10, 0);
	process_of(20, 0);
	low = works(10, 0);
	high = works(20, 0);
	CHECK(reads("[processes]\npid 10 = 0\npid 20 = 1\n", true));
	look();
	CHECK(off(low) && !off(high));
	CHECK(!reads("[processes]\npid 10 = 0\npid 20 = 1024\n", false));
	look();
	CHECK(off(low) && !off(high) && fake.holds == 1 && !fake.resumes);
	CHECK(reads("[processes]\npid 10 = 2\npid 20 = 1\n", false));
	look();
	CHECK(!off(low) && off(high));
	CHECK(reads("[processes]\npid 10 = 2\n", false));
	look();
	CHECK(!off(low) && !off(high));
}

static bool wanted(const char *name, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	size_t i;
	int n = 0, bad = 0;

	if (argc < 2)
		return 2;
	folder = argv[1];
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < nr_tests; i++) {
		if (!wanted(tests[i].name, argv + 2))
			continue;
		running = tests[i].name;
		failed = 0;
		begin();
		tests[i].run();
		end();
		bad += failed;
		printf("%sok %d %s\n", failed ? "not " : "", ++n, running);
	}
	printf("1..%d\n", n);
	return bad ? 1 : 0;
}

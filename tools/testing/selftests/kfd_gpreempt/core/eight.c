// SPDX-License-Identifier: MIT
/*
 * eight.c - all devices of a machine at work, and what happens to one of them: the others decide as if it had not happened
 *
 * Takes all nodes that there are, up to eight where each gets processes of its own (vgpu.gpus=8). For resets amdgpu.gpu_recovery=1. The test
 * that unplugs a device comes last: it leaves KFD locked up to 6.12.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "disturb.h"
#include "gpus.h"
#include "worker.h"
#include "jobs.h"

#define MAX_WORKING	8
#define TURNS		3
#define FEW_WAVES	4
#define POLL_NS		200000		/* nothing here depends on how soon the device looks */
#define PCI		"/sys/bus/pci"

FIXTURE(eight) {
	struct side side[MAX_WORKING];
	int nr;
};

#define EACH(i)		for (i = 0; i < self->nr; i++)

FIXTURE_SETUP(eight)
{
	int i;

	kfd_wanted_gpu_id = 0;
	NEEDS(gpus_missing());
	ASSERT_EQ(0, scheduler_fresh(NULL, 0));
	ASSERT_STRICT_ORDER();
	/* Preemptions wait for the CPU, too, where resets and many processes keep it. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	/* The monitors of all nodes share a CPU of the virtual machine with the programs, to which those of eight nodes would leave little of it. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_poll_us", 1000));
	kfd_longest_poll_ns = MS;
	kfd_vgpu_look_every(POLL_NS);
	self->nr = nr_gpus < MAX_WORKING ? nr_gpus : MAX_WORKING;
	EACH(i) {
		remember_side(&self->side[i], i);
		ASSERT_GT((int)self->side[i].slots, 0);
		ASSERT_LE(0, self->side[i].failures);
		ASSERT_LT(0, self->side[i].monitor_pid);
	}
}

FIXTURE_TEARDOWN(eight)
{
	int i;

	actor_forget_all();
	EACH(i) {
		const struct side *s = &self->side[i];

		at(i);
		EXPECT_EQ(0, wait_no_queues()) TH_LOG("node %d", i);
		EXPECT_EQ(counter("preemptions") - s->preemptions, counter("resumes") - s->resumes + counter("destroyed_preempted") - s->destroyed)
			TH_LOG("node %d holds a queue that has ended", i);
		EXPECT_SIDE_UNHARMED(*s, i);
	}
	scheduler_off();
	kfd_vgpu_look_every(0);
	kfd_param_set_text("gpreempt_wakeup", "auto");
	kfd_wanted_gpu_id = 0;
}

/* On each node: a low process at work, which fills it, and a high one with so many launches to do; steps are of 10 ms */
#define ASSERT_ALL_HOGGED(low_steps, high_steps, launches) do { \
	int hogged_; \
	EACH(hogged_) { \
		struct side *s_ = &self->side[hogged_]; \
		at(hogged_); \
		s_->low = worker(_metadata, LOW_NICE, 1, s_->slots, low_steps, 10 * MS); \
		s_->high = worker(_metadata, 0, launches, s_->slots, high_steps, 10 * MS); \
		ASSERT_EQ(0, launch_begins(s_->low)); \
	} \
} while (0)

static bool all_are(const struct side *sides, int nr, const char *state)
{
	bool are = true;
	int i;

	for (i = 0; i < nr && are; i++)
		are = state_is(sides[i].low, 0, state);
	return are;
}

/* Each node's high process does one launch, all at the same time: all low ones leave, for the @nth time. */
#define ASSERT_ALL_PREEMPT(nth) do { \
	int preempt_; \
	EACH(preempt_) \
		ASSERT_EQ(0, actor_submit(self->side[preempt_].high, 0, 0, 1, 0)); \
	EACH(preempt_) { \
		ASSERT_EQ(0, KFD_WAIT(preempt_count(self->side[preempt_].low, 0) == (nth), 200 * US, SECOND)) TH_LOG("node %d", preempt_); \
	} \
} while (0)

/* New processes find all nodes scheduled. */
#define ASSERT_ALL_SCHEDULED() do { \
	int scheduled_; \
	ASSERT_ALL_HOGGED(60, 4, 1); \
	ASSERT_ALL_PREEMPT(1); \
	EACH(scheduled_) { \
		ASSERT_DONE_ONCE(self->side[scheduled_].low, self->side[scheduled_].high); \
		EXPECT_STOPPED(self->side[scheduled_].low, self->side[scheduled_].high); \
	} \
} while (0)

TEST_F_TIMEOUT(eight, all_are_preempted_at_the_same_time_and_each_for_its_own_high_one, 300)
{
	int i, turn;

	ASSERT_ALL_HOGGED(60, 4, TURNS + 1);
	for (turn = 0; turn < TURNS; turn++) {
		ASSERT_ALL_PREEMPT(turn + 1);
		EACH(i) {
			ASSERT_EQ(0, actor_wait(self->side[i].high, 0, LONG)) TH_LOG("node %d", i);
		}
		ASSERT_EQ(0, KFD_WAIT(all_are(self->side, self->nr, "active"), 200 * US, SECOND));
	}
	EACH(i) {
		at(i);
		EXPECT_EQ(self->side[i].preemptions + TURNS, counter("preemptions")) TH_LOG("node %d", i);
	}
	/* One after the other: what happens on one is no decision of another. */
	for (turn = 0; turn < self->nr; turn++) {
		ASSERT_EQ(0, launch_preempts(self->side[turn].high, self->side[turn].low)) TH_LOG("node %d", turn);
		EACH(i) {
			at(i);
			EXPECT_EQ(self->side[i].preemptions + TURNS + (i <= turn), counter("preemptions")) TH_LOG("node %d, as %d preempts", i, turn);
		}
		ASSERT_EQ(0, actor_wait(self->side[turn].high, 0, LONG));
	}
	EACH(i) {
		EXPECT_EQ(0, preempt_count(self->side[i].high, 0)) TH_LOG("node %d", i);
		ASSERT_DONE_ONCE(self->side[i].low, self->side[i].high);
		EXPECT_EQ(TURNS + 1, preempt_count(self->side[i].low, 0)) TH_LOG("node %d", i);
	}
}

/* Switching off gives back what all nodes hold before it returns; switched on again, all of it is taken again. */
TEST_F_TIMEOUT(eight, all_are_switched_off_and_on, 300)
{
	uint64_t one_ns, all_ns, on_ns;
	int i;

	ASSERT_ALL_HOGGED(60, 200, 1);
	ASSERT_ALL_PREEMPT(1);
	one_ns = kfd_now_ns();
	ASSERT_EQ(0, kfd_gpreempt_set_text(ids[0], "enabled", "0"));
	one_ns = kfd_now_ns() - one_ns;
	EACH(i) {
		at(i);
		EXPECT_EQ(self->side[i].resumes + !i, counter("resumes")) TH_LOG("node %d, as the first one is switched off", i);
	}

	all_ns = kfd_now_ns();
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	all_ns = kfd_now_ns() - all_ns;
	EACH(i) {
		at(i);
		EXPECT_EQ(self->side[i].resumes + 1, counter("resumes")) TH_LOG("node %d", i);
		EXPECT_EQ(0, counter("queues")) TH_LOG("node %d", i);
	}

	on_ns = kfd_now_ns();
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	on_ns = kfd_now_ns() - on_ns;
	EACH(i) {
		ASSERT_EQ(0, wait_state(self->side[i].low, 0, "preempted", LONG)) TH_LOG("node %d", i);
		EXPECT_FALSE(actor_done(self->side[i].high, 0)) TH_LOG("node %d had nothing to preempt for any more", i);
	}
	EACH(i)
		ASSERT_DONE_ONCE(self->side[i].high, self->side[i].low);
	TH_LOG("virtual GPUs: switching off takes %llu us for one node and %llu us for the other %d, on %llu us for %d",
	       (unsigned long long)(one_ns / US), (unsigned long long)(all_ns / US), self->nr - 1, (unsigned long long)(on_ns / US), self->nr);
}

/* ---- what many nodes cost: of virtual GPUs, in guest time, which both CPUs' instructions are (icount) ---- */

/* Median of the last passes of so many nodes, looked at every millisecond. Meanwhile devices look at their doorbells less often. */
static int64_t pass_median_ns(struct __test_metadata *_metadata, int nr)
{
	enum { SAMPLES = 21 };
	uint64_t ns[SAMPLES * MAX_WORKING];
	int i, gpu;

	ASSERT_EQ(0, kfd_vgpu_look_every(10 * MS));
	for (i = 0; i < SAMPLES; i++) {
		kfd_sleep_ns(MS);
		for (gpu = 0; gpu < nr; gpu++) {
			at(gpu);
			ns[i * nr + gpu] = (uint64_t)counter("pass_ns_last");
		}
	}
	ASSERT_EQ(0, kfd_vgpu_look_every(POLL_NS));
	return (int64_t)demo_percentile(ns, SAMPLES * (size_t)nr, 50);
}

/* A process fills each node, and one that comes first has worked there: monitors poll. First that is so on one node alone. */
TEST_F_TIMEOUT(eight, passes_of_others_make_one_no_dearer, 300)
{
	int64_t alone_ns, all_ns;
	int i;

	NEEDS_VGPU();
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_wakeup", "poll"));
	EACH(i) {
		at(i);
		self->side[i].low = worker(_metadata, LOW_NICE, 1, self->side[i].slots, 40, 10 * MS);
		self->side[i].high = worker(_metadata, 0, 1, self->side[i].slots, 1, MS);
		ASSERT_EQ(0, launch_completes(self->side[i].high));
	}
	ASSERT_EQ(0, launch_begins(self->side[0].low));
	alone_ns = pass_median_ns(_metadata, 1);
	for (i = 1; i < self->nr; i++)
		ASSERT_EQ(0, launch_begins(self->side[i].low));
	all_ns = pass_median_ns(_metadata, self->nr);
	EACH(i) {
		EXPECT_FALSE(actor_done(self->side[i].low, 0)) TH_LOG("node %d had nothing to look at any more", i);
		ASSERT_DONE_ONCE(self->side[i].low, self->side[i].high);
	}
	TH_LOG("virtual GPUs: a pass over 2 queues takes %lld ns on one node, %lld ns while %d nodes look", (long long)alone_ns, (long long)all_ns, self->nr);
	EXPECT_LT(all_ns, 3 * alone_ns);
}

/* Programs that are one job: when one of them works on its node, the low processes leave all nodes. */
TEST_F_TIMEOUT(eight, a_job_has_all_nodes_when_one_of_it_works, 300)
{
	struct actor *lows[MAX_WORKING];
	struct gpreempt *g;
	int i, turn;

	NEEDS(jobs_missing());
	ASSERT_EQ(0, gpreempt_open(&g));
	/* Before there is work: to switch traces on takes hundreds of milliseconds while devices keep a CPU. */
	ASSERT_EQ(0, trace_moves());
	/* To save and to bring back all that fit takes the virtual GPU hundreds of microseconds, of each node. */
	EACH(i)
		self->side[i].slots = FEW_WAVES;
	ASSERT_EQ(0, kfd_param_set("gpreempt_poll_us", 80));
	ASSERT_ALL_HOGGED(200, 4, 1);
	EACH(i) {
		lows[i] = self->side[i].low;
		ASSERT_EQ(0, set_job(g, self->side[i].high, 1, 0));
	}
	for (turn = 0; turn < self->nr; turn++) {
		ASSERT_EQ(0, actor_submit(self->side[turn].high, 0, 0, 1, 0));
		EACH(i) {
			ASSERT_EQ(0, KFD_WAIT(preempt_count(lows[i], 0) == turn + 1, 200 * US, SECOND)) TH_LOG("node %d, as %d has work", i, turn);
		}
		ASSERT_EQ(0, actor_wait(self->side[turn].high, 0, LONG));
		ASSERT_EQ(0, KFD_WAIT(all_are(self->side, self->nr, "active"), 200 * US, SECOND));
	}
	PRINT_MOVES("gpreempt_preempt_end", lows, self->nr, false);
	PRINT_MOVES("gpreempt_resume", lows, self->nr, false);
	trace_off();
	EACH(i)
		ASSERT_DONE_ONCE(self->side[i].low, self->side[i].high);
	gpreempt_close(g);
}

#define ALLOCATIONS	"/sys/kernel/tracing/events/kmem/kmalloc"
#define BY_CALLER	"hist:keys=call_site.sym:vals=bytes_alloc:size=2048"

/* What the kernel's allocator has given to amdgpu, as it rounds it, since there is a histogram of it; -1: there is none */
static int64_t allocated_by_driver(void)
{
	static char text[256 << 10];
	char *line, *save = NULL;
	const char *bytes;
	int64_t sum = 0;

	if (kfd_file_read(ALLOCATIONS "/hist", text, sizeof(text)) <= 0)
		return -1;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		bytes = strstr(line, "bytes_alloc:");
		if (bytes && strstr(line, "[amdgpu]"))
			sum += strtoll(bytes + strlen("bytes_alloc:"), NULL, 10);
	}
	return sum;
}

/* Switched off, the scheduler knows of no queue. Switched on, it takes memory for those that there are, and the driver does nothing else. */
TEST_F_TIMEOUT(eight, memory_goes_by_the_queues_that_there_are, 300)
{
	enum { QUEUES = 16 };
	int64_t bytes[2];
	int i, q, turn;

	NEEDS(access(ALLOCATIONS "/trigger", W_OK) ? "this kernel has no histograms of its allocations" : NULL);
	EACH(i) {
		at(i);
		self->side[i].low = actor_start(0, ARENA);
		ASSERT_ACTOR(self->side[i].low);
	}
	for (turn = 0; turn < 2; turn++) {
		EACH(i) {
			for (q = turn * QUEUES; q < (turn + 1) * QUEUES; q++)
				ASSERT_EQ(q, actor_queue(self->side[i].low, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
		}
		ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
		ASSERT_EQ(0, kfd_file_write(ALLOCATIONS "/trigger", BY_CALLER));
		ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
		EACH(i) {
			at(i);
			EXPECT_EQ(0, wait_counter("queues", (turn + 1) * QUEUES, LONG));
		}
		bytes[turn] = allocated_by_driver();
		ASSERT_EQ(0, kfd_file_write(ALLOCATIONS "/trigger", "!" BY_CALLER));
		EXPECT_LT(0, bytes[turn]);
	}
	TH_LOG("virtual GPUs: %d nodes with a process of %d queues each take %lld bytes more when they are switched on, with %d queues each %lld",
	       self->nr, QUEUES, (long long)bytes[0], 2 * QUEUES, (long long)bytes[1]);
	EXPECT_LE(bytes[1], 2 * bytes[0]);
}

/* ---- resets ---- */

/* All processes are killed; no node holds anything of them, and none has done an item twice. */
#define ASSERT_ALL_LEAVE() do { \
	int leave_; \
	EACH(leave_) { \
		actor_kill(self->side[leave_].low); \
		actor_kill(self->side[leave_].high); \
	} \
	EACH(leave_) { \
		at(leave_); \
		ASSERT_EQ(0, wait_no_queues()) TH_LOG("node %d", leave_); \
		EXPECT_EQ(0, actor_tally(self->side[leave_].low).twice) TH_LOG("node %d", leave_); \
		EXPECT_EQ(0, actor_tally(self->side[leave_].high).twice) TH_LOG("node %d", leave_); \
	} \
	actor_forget_all(); \
} while (0)

/*
 * The driver suspends all processes of KFD for a reset of one device, and lets them be (driver-notes.rst). Their queues are off all devices
 * from then on; the scheduler of the other devices goes on, takes no queue off for it, and has forgotten nothing.
 */
TEST_F_TIMEOUT(eight, reset_of_one_while_all_work_is_no_decision_of_the_others, 300)
{
	int i, reset = self->nr / 2;
	int64_t passes[MAX_WORKING];

	NEEDS(unless_virtual(recovery_missing()));
	ASSERT_ALL_HOGGED(60, 60, 1);
	ASSERT_ALL_PREEMPT(1);
	EACH(i) {
		at(i);
		passes[i] = counter("checks");
	}
	at(reset);
	ASSERT_EQ(0, reset_device());
	EACH(i) {
		const struct side *s = &self->side[i];

		at(i);
		EXPECT_EQ(s->resets + (i == reset), kfd_vgpu_stat("resets")) TH_LOG("node %d", i);
		EXPECT_EQ(s->monitor_pid, counter("monitor_pid")) TH_LOG("node %d", i);
		EXPECT_EQ(s->preemptions + 1, counter("preemptions")) TH_LOG("node %d", i);
		EXPECT_EQ(s->failures, counter("failures")) TH_LOG("node %d", i);
		EXPECT_FALSE(node_state_is("paused")) TH_LOG("node %d", i);
		EXPECT_FALSE(node_state_is("failed")) TH_LOG("node %d", i);
		EXPECT_EQ(0, wait_counter("checks", passes[i] + 2, SECOND)) TH_LOG("node %d looks no more", i);
	}
	ASSERT_ALL_LEAVE();
	ASSERT_ALL_SCHEDULED();
}

/* ---- nodes that sleep: all that there are, which may be more than eight ---- */

/* Of a process: what it has on each node but that which it was born on */
static struct {
	struct kfd_client client;
	struct kfd_queue queue;
} places[MAX_GPUS];

#define SMALL_ARENA	(256u << 10)

static struct kfd_queue *queue_at(struct actor *a, int gpu)
{
	return gpu ? &places[gpu].queue : &a->queue[0];
}

static int64_t actor_goes_everywhere(struct actor *a, const int64_t *args)
{
	struct kfd_buffer b;
	int gpu, err = 0;

	for (gpu = 1; gpu < nr_gpus && !err; gpu++) {
		kfd_wanted_gpu_id = ids[gpu];
		err = kfd_client_open(&places[gpu].client);
		if (!err)
			err = kfd_buffer_import(&places[gpu].client, a->arena, SMALL_ARENA, &b);
		if (!err)
			err = kfd_queue_create(&places[gpu].client, &places[gpu].queue, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL, 64);
	}
	return err;
}

static int64_t actor_submits_at(struct actor *a, const int64_t *args)
{
	return kfd_work_submit(queue_at(a, (int)args[0]), &a->work[0], a->done[0], 0);
}

static int works_at(struct actor *a, int gpu)
{
	int64_t err;

	__atomic_fetch_add(&a->done[0]->value, 1, __ATOMIC_SEQ_CST);
	err = actor_call(a, actor_submits_at, gpu, 0, 0, 0);
	return err ? (int)err : actor_wait(a, 0, LONG);
}

/* A process with a queue on each node, which has worked on all of them, and does nothing more */
static struct actor *everywhere(struct __test_metadata *_metadata, int nice)
{
	struct actor *a;
	int gpu;

	at(0);
	a = actor_start(nice, SMALL_ARENA);
	ASSERT_ACTOR(a);
	ASSERT_EQ(0, actor_queue(a, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_work(a, (uint32_t)nr_gpus + 1, 1, 1, MS));
	ASSERT_EQ(0, actor_call(a, actor_goes_everywhere, 0, 0, 0, 0));
	for (gpu = 0; gpu < nr_gpus; gpu++) {
		ASSERT_EQ(0, works_at(a, gpu)) TH_LOG("node %d", gpu);
	}
	return a;
}

/* By their ids: of 64 nodes it would take a second to find each one by its number first. */
static void wakeups_of_all(int64_t *wakeups)
{
	int gpu;

	for (gpu = 0; gpu < nr_gpus; gpu++)
		wakeups[gpu] = kfd_gpreempt_get(ids[gpu], "wakeups");
}

/* How many nodes wake in so long a time? */
static int nr_that_wake(uint64_t ns)
{
	int64_t before[MAX_GPUS], after[MAX_GPUS];
	int gpu, n = 0;

	wakeups_of_all(before);
	kfd_sleep_ns(ns);
	wakeups_of_all(after);
	for (gpu = 0; gpu < nr_gpus; gpu++)
		n += after[gpu] != before[gpu];
	return n;
}

static int nr_in_state(const char *state)
{
	char text[32];
	int gpu, n = 0;

	for (gpu = 0; gpu < nr_gpus; gpu++)
		n += !kfd_gpreempt_text(ids[gpu], "state", text, sizeof(text)) && !strcmp(text, state);
	return n;
}

/* Two processes of different priority on all nodes; a doorbell of theirs wakes all nodes that its process uses (design.rst). */
TEST_F_TIMEOUT(eight, nodes_sleep_until_there_is_work, 600)
{
	int64_t before[MAX_GPUS], after[MAX_GPUS];
	int gpu, worked = nr_gpus - 1;
	struct actor *low, *high;

	/* What sleeps is counted here. Until all do, the monitors of 64 nodes would keep the guest's CPU busy. */
	kfd_vgpu_look_every(5 * MS);
	ASSERT_EQ(0, kfd_param_set("gpreempt_poll_us", 20000));
	ASSERT_EQ(0, kfd_param_set("gpreempt_interval_ms", 20));
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_wakeup", "doorbell"));
	low = everywhere(_metadata, LOW_NICE);
	high = everywhere(_metadata, 0);
	kfd_sleep_ns(2 * SECOND);
	EXPECT_EQ(nr_gpus, nr_in_state("armed"));
	EXPECT_EQ(0, nr_that_wake(SECOND));
	wakeups_of_all(before);
	ASSERT_EQ(0, works_at(high, worked));
	wakeups_of_all(after);
	EXPECT_LT(before[worked], after[worked]);
	EXPECT_EXACTLY_ONCE(low);
	EXPECT_EXACTLY_ONCE(high);

	ASSERT_EQ(0, kfd_param_set_text("gpreempt_wakeup", "poll"));
	kfd_sleep_ns(10 * MS);
	EXPECT_EQ(nr_gpus, nr_that_wake(SECOND / 10)) TH_LOG("without doorbells all nodes look");
	EXPECT_STOPPED(low, high);
	for (gpu = 0; gpu < nr_gpus; gpu++)
		ASSERT_EQ(0, KFD_WAIT(kfd_gpreempt_get(ids[gpu], "queues") == 0, 5 * MS, LONG));
	kfd_sleep_ns(2 * SECOND);
	EXPECT_EQ(nr_gpus, nr_in_state("parked"));
	EXPECT_EQ(0, nr_that_wake(SECOND));
}

/* ---- a device goes and comes back ---- */

static int processes_of_kfd(void)
{
	glob_t found;
	int n = glob("/sys/class/kfd/kfd/proc/*", 0, NULL, &found) ? 0 : (int)found.gl_pathc;

	globfree(&found);
	return n;
}

/* Without processes of KFD: those have to do with all devices, and up to 6.12 do not survive that one goes (driver-notes.rst). */
TEST_F_TIMEOUT(eight, one_is_unplugged_and_the_others_stay_as_they_are, 300)
{
	int i, gone = self->nr / 2;
	char pci[32], path[96], text[32];

	NEEDS_VGPU();
	ASSERT_ALL_SCHEDULED();
	EACH(i) {
		at(i);
		ASSERT_EQ(0, wait_no_queues());
		ASSERT_EQ(0, kfd_gpreempt_set_text(ids[i], "tunables/interval_ms", "7"));
		remember_side(&self->side[i], i);
	}
	at(gone);
	ASSERT_EQ(0, kfd_pci_name(pci, sizeof(pci)));
	ASSERT_EQ(0, KFD_WAIT(!processes_of_kfd(), 5 * MS, LONG));

	snprintf(path, sizeof(path), PCI "/devices/%s/remove", pci);
	ASSERT_EQ(0, kfd_file_write(path, "1"));
	EXPECT_NE(0, kfd_gpreempt_text(ids[gone], "state", text, sizeof(text))) TH_LOG("what has gone has a folder");
	EACH(i) {
		if (i == gone)
			continue;
		at(i);
		EXPECT_EQ(self->side[i].monitor_pid, counter("monitor_pid")) TH_LOG("node %d", i);
		EXPECT_EQ(self->side[i].preemptions, counter("preemptions")) TH_LOG("node %d", i);
		EXPECT_EQ(7, counter("tunables/interval_ms")) TH_LOG("node %d", i);
		EXPECT_FALSE(node_state_is("paused")) TH_LOG("node %d", i);
	}

	ASSERT_EQ(0, kfd_file_write(PCI "/rescan", "1"));
	at(gone);
	EXPECT_LT(0, counter("monitor_pid"));
	EXPECT_EQ(5, counter("tunables/interval_ms"));
	/* Its counts begin anew. */
	remember_side(&self->side[gone], gone);
	EXPECT_EQ(0, self->side[gone].preemptions);
	if (kfd_kernel_since(7, 0))
		ASSERT_ALL_SCHEDULED();
}

TEST_HARNESS_MAIN

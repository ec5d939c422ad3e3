// SPDX-License-Identifier: MIT
/*
 * chaos.c - everything at once, in an order that a seed decides, and every work item is counted
 *
 *	chaos [SECONDS [SEED [GAP_MS]]]		default: 20 s, seed 1, at most 100 ms between two events
 *
 * Up to a dozen processes come, create queues, submit, change and destroy them, fork, are stopped, traced, killed, lose their pages and
 * their VRAM; settings, policies, priorities and holds change from outside; the scheduler is switched, the device reset, suspended and
 * made to go wrong, the driver unloaded and loaded again. Every process that ends in peace must have had all of its work done exactly
 * once. Of one that was killed, or that was there when the device was reset or went wrong, no item may have been done twice.
 *
 * Whoever ends in peace has time until STUCK_NS to do so. From time to time everybody has to end: then nothing is left, the scheduler's
 * books balance and the device has nothing to complain about. What the kernel complains of is found by whoever reads its log.
 *
 * With VERBOSE=1 in the environment each event is printed, before it happens.
 *
 * Under --icount a seed is a run; otherwise it decides what happens, but not the moment. Prints TAP.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "kselftest.h"

#include "fixture.h"
#include "disturb.h"
#include "draw.h"
#include "gpreempt.h"

#define MAX_PROCESSES	12
#define QUEUES		4
#define MAX_LAUNCHES	4
#define MAX_STEPS	8
#define MAX_OPEN	4			/* works of a process that have not ended */
#define MIN_GAP_NS	(50 * US)
#define STUCK_NS	(240 * SECOND)
#define POLL_US		2000			/* gpreempt_poll_us: a look costs the same whether anything comes of it or not */
#define HWS_TIMEOUT_MS	300			/* what the driver waits for a device that does not answer */
#define RECALL_NS	(20 * SECOND)		/* everybody ends that often */
#define VRAM_PART	16			/* of VRAM: what a process or a hog's buffer takes */
#define VRAM_LIMIT	(256ull << 20)		/* more is not moved about */

enum op { NOTHING, CREATE, UPDATE, DESTROY, SUBMIT, BARRIER, FORK, PAGES, VRAM };

/**
 * struct process - somebody on the device
 * @a: NULL: nobody
 * @ending: no more work; when it is done, the process ends
 * @since: when that began
 * @spoilt: the device was reset or went wrong in its time: what it has not got it will not get
 * @stopped: by SIGSTOP
 * @trace_fd: of /dev/kfd, while it is debugged; -1
 * @held: somebody asked for its preemption
 * @op: what it has been told to do and has not answered yet
 * @op_queue: the queue of that
 * @op_work: its work
 * @exists: queues that it has
 * @inactive: those that run nothing
 * @cut: works whose queue was destroyed before they ended
 * @queue_of: queue of each work
 * @vram: it has a buffer there
 * @signal: what its barriers wait for; NULL: nothing
 */
struct process {
	struct actor *a;
	bool ending;
	uint64_t since;
	bool spoilt;
	bool stopped;
	int trace_fd;
	bool held;
	enum op op;
	int op_queue;
	int op_work;
	bool exists[QUEUES];
	bool inactive[QUEUES];
	uint64_t cut;
	int queue_of[ACTOR_WORKS];
	bool vram;
	struct kfd_signal *signal;
};

static struct process processes[MAX_PROCESSES];
static struct gpreempt *outside;
static uint32_t gpu_id, slots, gfx_target_version;
static uint64_t end_ns, max_gap_ns, vram;
static bool no_hws, in_fault, everybody_ends, verbose;
static uint64_t fault_until, next_recall;
static char fault_path[64];
static struct hog hog;
static bool hogging, hog_spoilt;
static struct device_health health;
static int64_t failures;

/* What the verdict is about */
static uint64_t items, done, lost, twice, stuck, unexpected, unbalanced, unhealthy;
/* What is only told */
static uint64_t ended, killed, refused, resets, reloads, recalls, preemptions;

static uint64_t between(uint64_t least, uint64_t most)
{
	return least + any() % (most - least + 1);
}

/* Each order of magnitude as often as any other */
static uint64_t magnitude(uint64_t least, uint64_t most)
{
	uint64_t top = least;

	while (top * 2 < most && !one_in(8))
		top = one_in(3) ? most : top * 2;
	return between(least, top < most ? top : most);
}

/* A line for each thing that is wrong, but not for thousands */
#define WRONG(counter, ...) do { \
	if ((counter)++ < 10) { \
		ksft_print_msg("%llu ms: ", (unsigned long long)(kfd_now_ns() / MS)); \
		printf(__VA_ARGS__); \
		printf("\n"); \
		fflush(stdout); \
	} \
} while (0)

/* ---- inside a process ---- */

static struct kfd_buffer vram_buffer;

/* args: how long the child lives */
static int64_t do_fork(struct actor *a, const int64_t *args)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		kfd_sleep_ns((uint64_t)args[0]);
		if (args[0] & 1)
			execl("/bin/true", "true", NULL);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) != pid)
		if (errno != EINTR)
			return -errno;
	return status ? -ECHILD : 0;
}

/* The GPU's pages change under it: args: bytes, how long they stay protected or 0: they are dropped, and found again in memory */
static int64_t do_pages(struct actor *a, const int64_t *args)
{
	size_t bytes = (size_t)args[0];

	if (!args[1])
		return madvise(a->arena, bytes, MADV_DONTNEED) ? -errno : 0;
	if (mprotect(a->arena, bytes, PROT_READ))
		return -errno;
	kfd_sleep_ns((uint64_t)args[1]);
	return mprotect(a->arena, bytes, PROT_READ | PROT_WRITE) ? -errno : 0;
}

/* args: bytes or 0: how many pages of it do not hold what was written into them */
static int64_t do_vram(struct actor *a, const int64_t *args)
{
	int64_t wrong = 0;
	size_t at;
	int err;

	if (args[0]) {
		err = kfd_buffer_place(&a->client, KFD_IN_VRAM, NULL, (size_t)args[0], KFD_ACCESS_ALL, &vram_buffer);
		if (err)
			return err;
	}
	for (at = 0; at < vram_buffer.bytes; at += KFD_PAGE_BYTES) {
		volatile uint64_t *word = (volatile uint64_t *)((uint8_t *)vram_buffer.ptr + at);

		if (args[0])
			*word = at + (uint64_t)a->pid;
		else
			wrong += *word != at + (uint64_t)a->pid;
	}
	return wrong;
}

/* ---- a process, from outside ---- */

static size_t arena_bytes(void)
{
	return ACTOR_WORKS * (kfd_work_bytes(MAX_LAUNCHES, slots, MAX_STEPS) + 128);
}

static uint64_t work_items(const struct process *p, uint32_t i)
{
	const struct kfd_work *w = &p->a->work[i];

	return (uint64_t)w->submitted * w->waves * w->steps;
}

static bool work_ended(const struct process *p, uint32_t i)
{
	return kfd_work_progress(&p->a->work[i]) >= work_items(p, i);
}

static int open_works(const struct process *p)
{
	uint32_t i;
	int n = 0;

	for (i = 0; i < p->a->works; i++)
		n += !(p->cut >> i & 1) && !work_ended(p, i);
	return n;
}

static void count(struct process *p, bool complete)
{
	uint32_t i;

	for (i = 0; i < p->a->works; i++) {
		struct kfd_tally t = { 0 };

		kfd_work_tally(&p->a->work[i], &t);
		items += work_items(p, i);
		done += t.done;
		if (complete && !(p->cut >> i & 1) && t.lost)
			WRONG(lost, "process %d, work %u: %llu of %llu items lost", p->a->pid, i, (unsigned long long)t.lost,
			      (unsigned long long)work_items(p, i));
		if (t.twice)
			WRONG(twice, "process %d, work %u: %llu of %llu items done twice", p->a->pid, i,
			      (unsigned long long)t.twice, (unsigned long long)work_items(p, i));
	}
}

static void begin(struct process *p, enum op op, actor_fn *fn, int64_t a0, int64_t a1, int64_t a2, int64_t a3)
{
	p->op = op;
	actor_begin(p->a, fn, a0, a1, a2, a3);
}

static void stop_debugging(struct process *p)
{
	if (p->trace_fd < 0)
		return;
	if (p->a && !p->a->reaped) {
		debug_trap(p->trace_fd, p->a->pid, KFD_IOC_DBG_TRAP_DISABLE, -1);
		if (!ptrace(PTRACE_INTERRUPT, p->a->pid, 0, 0) && waitpid(p->a->pid, NULL, __WALL) == p->a->pid)
			ptrace(PTRACE_DETACH, p->a->pid, 0, 0);
	}
	close(p->trace_fd);
	p->trace_fd = -1;
}

static void forget(struct process *p)
{
	int fd = p->trace_fd;

	actor_forget(p->a);
	if (fd >= 0)
		close(fd);
	*p = (struct process){ .trace_fd = -1 };
}

static void kill_process(struct process *p)
{
	actor_kill(p->a);
	killed++;
	count(p, false);
	forget(p);
}

/* Calls on which nothing was done wrong must succeed, unless the device is, or was, in trouble. */
static bool may_fail(const struct process *p, int64_t result)
{
	if (p->spoilt || in_fault)
		return true;
	/* Without HWS there are as many queues as slots; a debugger keeps some things to itself. */
	return (p->op == CREATE && no_hws && result == -ENOMEM) || p->trace_fd >= 0;
}

static void answered(struct process *p)
{
	int64_t result = p->a->result;
	uint32_t i;

	if (result && !may_fail(p, result))
		WRONG(unexpected, "process %d, queue %d, call %d: %lld", p->a->pid, p->op_queue, p->op, (long long)result);
	refused += !!result;
	switch (p->op) {
	case CREATE:
		p->exists[p->op_queue] = !result;
		if (result)
			p->a->queue[p->op_queue].client = NULL;
		break;
	case DESTROY:
		if (!result) {
			p->exists[p->op_queue] = false;
			p->a->queue[p->op_queue].client = NULL;
		}
		for (i = 0; i < p->a->works; i++)
			if (p->queue_of[i] == p->op_queue && !work_ended(p, i))
				p->cut |= 1ull << i;
		break;
	case VRAM:
		p->vram = !result && !p->ending;
		break;
	default:
		break;
	}
	p->op = NOTHING;
}

static void look_for_answers(void)
{
	struct process *p;

	for (p = processes; p < processes + MAX_PROCESSES; p++) {
		if (p->a && p->op && actor_answered(p->a))
			answered(p);
		/* Of one that is debugged waitpid() tells more than its end. */
		if (p->a && p->trace_fd < 0 && actor_gone(p->a)) {
			WRONG(unexpected, "process %d died by itself: %#x", p->a->pid, p->a->status);
			count(p, false);
			forget(p);
		}
	}
}

static void end_process(struct process *p)
{
	if (!p->ending)
		p->since = kfd_now_ns();
	p->ending = true;
}

/* Gets out of the way whatever keeps its work from being done; then, when it is, it ends. */
static void step_towards_end(struct process *p)
{
	struct gpreempt_target target = gpreempt_target_process(p->a->pid, 0);
	int q;

	if (p->stopped && p->trace_fd < 0) {
		kill(p->a->pid, SIGCONT);
		p->stopped = false;
	}
	stop_debugging(p);
	if (p->signal)
		p->signal->value = 0;
	if (p->held) {
		gpreempt_resume_all(outside, &target);
		p->held = false;
	}
	if (p->op)
		goto wait;
	if (p->spoilt) {
		if (one_in(2)) {
			kill_process(p);
			return;
		}
		/* Its queues can be destroyed all the same. */
		actor_stop(p->a);
		killed++;
		count(p, false);
		forget(p);
		return;
	}
	for (q = 0; q < QUEUES; q++) {
		if (p->inactive[q] && p->exists[q]) {
			p->inactive[q] = false;
			p->op_queue = q;
			begin(p, UPDATE, actor_do_update, q, KFD_PRIORITY_NORMAL, 100, 0);
			return;
		}
	}
	if (p->vram) {
		p->vram = false;
		begin(p, VRAM, do_vram, 0, 0, 0, 0);
		return;
	}
	if (!open_works(p)) {
		int err = actor_stop(p->a);

		if (err && !in_fault)
			WRONG(unexpected, "process %d: its end: %d", p->a->pid, err);
		ended++;
		count(p, true);
		forget(p);
		return;
	}
wait:
	if (kfd_now_ns() - p->since > STUCK_NS && !in_fault) {
		WRONG(stuck, "process %d is stuck: call %d, %d works", p->a->pid, p->op, open_works(p));
		for (q = 0; q < QUEUES; q++) {
			struct kfd_gpreempt_queue info;

			if (p->exists[q] && !kfd_gpreempt_queue_get(gpu_id, p->a->pid, p->a->queue[q].id, &info))
				ksft_print_msg("queue %d: %s, priority %d, %llu of %llu packets\n", q, info.state, info.prio,
					       (unsigned long long)info.rptr, (unsigned long long)info.wptr);
		}
		kill_process(p);
	}
}

static void step_endings(void)
{
	struct process *p;

	for (p = processes; p < processes + MAX_PROCESSES; p++)
		if (p->a && p->ending)
			step_towards_end(p);
}

static int population(void)
{
	struct process *p;
	int n = 0;

	for (p = processes; p < processes + MAX_PROCESSES; p++)
		n += !!p->a;
	return n;
}

/* Whoever is there may not get what it is still to get. */
static void spoil_all(void)
{
	struct process *p;

	for (p = processes; p < processes + MAX_PROCESSES; p++)
		if (p->a)
			p->spoilt = true;
	hog_spoilt = true;
}

static void new_baseline(void)
{
	failures = counter("failures");
	health = device_health();
}

static void stop_hogging(void)
{
	uint64_t wrong;

	if (!hogging)
		return;
	hogging = false;
	wrong = hog_close(&hog);
	if (wrong && !hog_spoilt)
		WRONG(unexpected, "VRAM of somebody else: %llu pages changed", (unsigned long long)wrong);
}

/* ---- events: of a process ---- */

static void begin_process(struct process *p)
{
	static int number;

	if (everybody_ends)
		return;
	*p = (struct process){ .trace_fd = -1 };
	p->a = actor_start((int)between(0, 39) - 20, arena_bytes());
	if (!p->a) {
		if (!in_fault)
			WRONG(unexpected, "no process: %s", actor_why());
		return;
	}
	p->spoilt = in_fault;
	/* A place of its own in the common page, and not that of the one before */
	p->signal = actor_common_signal(number++ % (2 * MAX_PROCESSES), 0);
	if (vram && one_in(3)) {
		begin(p, VRAM, do_vram, (int64_t)(vram / VRAM_PART), 0, 0, 0);
		return;
	}
	p->op_queue = 0;
	begin(p, CREATE, actor_do_queue, 0, (int64_t)between(0, 1), (int64_t)between(0, 15), 0);
}

static bool some_queue(struct process *p)
{
	int tries;

	for (tries = 0; tries < 4; tries++) {
		p->op_queue = (int)between(0, QUEUES - 1);
		if (p->exists[p->op_queue])
			return true;
	}
	return false;
}

static void submit(struct process *p)
{
	uint32_t launches = (uint32_t)between(1, MAX_LAUNCHES), steps = (uint32_t)between(1, MAX_STEPS);
	/* Some longer than the time between two events: there is nearly always work on the device. */
	uint64_t longest = 8 * max_gap_ns < SECOND ? 8 * max_gap_ns : SECOND;
	int w;

	if (p->a->works == ACTOR_WORKS) {
		end_process(p);
		return;
	}
	if (open_works(p) >= MAX_OPEN || !some_queue(p))
		return;
	w = actor_work(p->a, launches, (uint32_t)between(1, slots), steps, magnitude(100 * US, longest) / launches / steps);
	if (w < 0) {
		WRONG(unexpected, "process %d: no work: %d", p->a->pid, w);
		return;
	}
	p->op_work = w;
	p->queue_of[w] = p->op_queue;
	p->a->done[w]->value = launches;
	begin(p, SUBMIT, actor_do_submit, p->op_queue, w, launches, one_in(2) ? KFD_PACKET_BARRIER : 0);
}

static void create(struct process *p)
{
	p->op_queue = (int)between(0, QUEUES - 1);
	if (p->exists[p->op_queue])
		return;
	p->inactive[p->op_queue] = false;
	begin(p, CREATE, actor_do_queue, p->op_queue, (int64_t)between(0, 1), (int64_t)between(0, 15), 0);
}

static void update(struct process *p)
{
	if (!some_queue(p))
		return;
	p->inactive[p->op_queue] = one_in(4);
	begin(p, UPDATE, actor_do_update, p->op_queue, (int64_t)between(0, 15), p->inactive[p->op_queue] ? 0 : 100, 0);
}

static void destroy(struct process *p)
{
	if (some_queue(p))
		begin(p, DESTROY, actor_do_destroy, p->op_queue, 0, 0, 0);
}

/* The queue waits until somebody takes this away, at the latest when the process has to end. */
static void barrier(struct process *p)
{
	if (p->signal->value) {
		p->signal->value = 0;
		return;
	}
	if (!some_queue(p))
		return;
	p->signal->value = 1;
	begin(p, BARRIER, actor_do_barrier, p->op_queue, (int64_t)(uintptr_t)p->signal, 0, 0);
}

/* A child that ends would stop a parent that is debugged. */
static void fork_it(struct process *p)
{
	if (p->trace_fd < 0)
		begin(p, FORK, do_fork, (int64_t)magnitude(10 * US, 20 * MS), 0, 0, 0);
}

static void change_pages(struct process *p)
{
	begin(p, PAGES, do_pages, (int64_t)arena_bytes() & -(int64_t)KFD_PAGE_BYTES, one_in(2) ? (int64_t)magnitude(10 * US, 5 * MS) : 0,
	      0, 0);
}

/* ---- events that come whatever a process is doing ---- */

static void begin_or_end(struct process *p)
{
	if (one_in(3))
		end_process(p);
}

static void kill_it(struct process *p)
{
	kill_process(p);
}

static void stop_or_continue(struct process *p)
{
	if (p->trace_fd >= 0)
		return;
	p->stopped = !p->stopped;
	kill(p->a->pid, p->stopped ? SIGSTOP : SIGCONT);
}

static void debug(struct process *p)
{
	int pipes[2];

	if (p->trace_fd >= 0) {
		stop_debugging(p);
		return;
	}
	/*
	 * Without HWS the driver debugs nobody, and whoever has opened /dev/kfd and has no VM, as a debugger, is the kernel's end in the next
	 * suspend (driver-notes.rst).
	 */
	if (no_hws)
		return;
	/* Signals and children of somebody who is debugged are the debugger's business. */
	if (p->stopped || p->op == FORK || pipe(pipes))
		return;
	p->trace_fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	if (p->trace_fd >= 0) {
		if (ptrace(PTRACE_SEIZE, p->a->pid, 0, 0))
			WRONG(unexpected, "process %d: PTRACE_SEIZE: %s", p->a->pid, strerror(errno));
		refused += !!debug_trap(p->trace_fd, p->a->pid, KFD_IOC_DBG_TRAP_ENABLE, pipes[1]);
	}
	close(pipes[0]);
	close(pipes[1]);
}

static struct gpreempt_target target_of(struct process *p)
{
	int q = (int)between(0, QUEUES - 1);

	return p->exists[q] && one_in(2) ? gpreempt_target_queue(p->a->pid, gpu_id, p->a->queue[q].id) :
	       gpreempt_target_process(p->a->pid, 0);
}

/* Bounded holds are ended by relief or by nobody: all end with the process's. */
static void hold(struct process *p)
{
	struct gpreempt_target target = target_of(p);

	if (one_in(3)) {
		refused += gpreempt_resume(outside, &target) < 0;
		return;
	}
	p->held = true;
	refused += gpreempt_preempt(outside, &target, (unsigned int)between(1, 50), one_in(4) ? GPREEMPT_HOLD_UNBOUNDED : 0) < 0;
}

static void prioritise(struct process *p)
{
	struct gpreempt_target target = target_of(p);
	int err;

	switch (between(0, 5)) {
	case 0:
		err = gpreempt_clear_priority(outside, &target);
		break;
	case 1:
		err = gpreempt_set_param(outside, &target, GPREEMPT_PARAM_WEIGHT, between(0, 1000));
		break;
	case 2:
		err = gpreempt_set_param(outside, &target, GPREEMPT_PARAM_DEADLINE_US, magnitude(100, 1000000));
		break;
	case 3:
		target = gpreempt_target_process(p->a->pid, 0);
		err = gpreempt_set_param(outside, &target, GPREEMPT_PARAM_EXEMPT, between(0, 1));
		break;
	case 4:
		err = gpreempt_hint(outside, &target, (unsigned int)magnitude(100, 100000));
		break;
	default:
		err = gpreempt_set_priority(outside, &target, (int)between(0, 60) - 30);
	}
	refused += err < 0;
}

/* ---- events of the scheduler ---- */

static void tune(void)
{
	static const struct {
		const char *name;
		int values[4];
	} tunables[] = {
		{ "gpreempt_interval_ms", { 5, 5, 20, 200 } },
		{ "gpreempt_poll_us", { 0, POLL_US, POLL_US, 10000 } },
		{ "gpreempt_max_hold_ms", { 0, 5, 100, 1000 } },
		{ "gpreempt_relief_ms", { 1, 5, 20, 100 } },
		{ "gpreempt_blocked_us", { 0, 100, 2000, 20000 } },
		{ "gpreempt_overhead_pct", { 0, 1, 10, 50 } },
		{ "gpreempt_aging_ms", { 0, 1, 20, 500 } },
		{ "gpreempt_min_run_us", { 0, 100, 5000, 50000 } },
		{ "gpreempt_resume_delay_us", { 0, 100, 5000, 50000 } },
		{ "gpreempt_drain_us", { 0, 100, 200, 50000 } },
		{ "gpreempt_slice_us", { 500, 2000, 5000, 50000 } },
		{ "gpreempt_nice", { 0, 1, 1, 1 } },
		{ "gpreempt_trust_kfd_priority", { 0, 0, 1, 1 } },
		{ "gpreempt_verify", { 0, 0, 1, 1 } },
		{ "gpreempt_observe", { 0, 0, 0, 1 } },
	};
	size_t i = any() % (sizeof(tunables) / sizeof(tunables[0]));

	if (kfd_param_set(tunables[i].name, tunables[i].values[any() % 4]))
		WRONG(unexpected, "%s cannot be set", tunables[i].name);
	if (one_in(8))
		kfd_param_set_text("gpreempt_hw_priority", one_in(2) ? "follow" : "normal");
	kfd_param_set_text("gpreempt_unmap", one_in(2) ? "named" : "all");
}

static void choose_policy(void)
{
	static const char *const policies[] = { "hpf", "hpf", "wfq", "edf" };

	if (one_in(2))
		kfd_param_set_text("gpreempt_policy", policies[any() % 4]);
	else
		kfd_gpreempt_set_text(gpu_id, "policy", policies[any() % 4]);
}

static void toggle(void)
{
	if (one_in(2)) {
		kfd_gpreempt_set_text(gpu_id, "enabled", "0");
		kfd_sleep_ns(magnitude(10 * US, 10 * MS));
		kfd_gpreempt_set_text(gpu_id, "enabled", "1");
		return;
	}
	kfd_param_set("gpreempt_enable", 0);
	if (counter("queues"))
		WRONG(unbalanced, "switched off, with %lld queues", (long long)counter("queues"));
	kfd_sleep_ns(magnitude(10 * US, 10 * MS));
	kfd_param_set("gpreempt_enable", 1);
}

static void look(void)
{
	static char text[1 << 16];
	struct gpreempt_queue_info *queues = NULL;
	struct gpreempt_target all = gpreempt_target_all();

	switch (between(0, 2)) {
	case 0:
		kfd_file_read("/sys/kernel/debug/kfd/gpreempt_dump", text, sizeof(text));
		break;
	case 1:
		kfd_file_read("/sys/kernel/debug/kfd/gpreempt", text, sizeof(text));
		break;
	default:
		gpreempt_list_queues(outside, &all, &queues);
		free(queues);
	}
}

/* ---- events of the device ---- */

static void take_vram(void)
{
	if (!vram || everybody_ends)
		return;
	if (hogging) {
		stop_hogging();
		return;
	}
	hog_spoilt = false;
	if (hog_open(&hog, vram / VRAM_PART))
		return;
	hogging = true;
	while (hog.chunks < VRAM_PART * 3 / 4 && !hog_more(&hog))
		;
}

/*
 * Without HWS the driver cannot destroy a queue while it resets the device: it frees it and leaves it in its list
 * (destroy_queue_nocpsch_locked()), with or without a scheduler. Processes that have ended are taken apart a moment later.
 */
static void let_the_dead_go(void)
{
	if (no_hws)
		kfd_sleep_ns(500 * MS);
}

static void reset_device(void)
{
	if (one_in(4))
		kfd_vgpu_set("fault/vram_lost", 1);
	let_the_dead_go();
	if (recover())
		WRONG(unexpected, "the device cannot be reset");
	kfd_vgpu_set("fault/vram_lost", 0);
	resets++;
	spoil_all();
	new_baseline();
}

/* Slow, but nothing is lost */
static void hinder(void)
{
	static const char *const faults[] = { "fault/unmap_late", "fault/dequeue_late", "fault/irq_lost" };

	kfd_vgpu_set("fault/unmap_late_us", (int64_t)magnitude(100, HWS_TIMEOUT_MS * 1000 / 4));
	/* The scheduler lets a queue leave for so long, without HWS. */
	kfd_vgpu_set("fault/dequeue_late_us", (int64_t)magnitude(100, 50000));
	/* There, a debugger that leaves after a lost interrupt waits until the next one comes, and without limit (driver notes). */
	kfd_vgpu_set(faults[any() % (gfx_target_version == KFD_GFX942 ? 2 : 3)], (int64_t)between(1, 3));
}

/* From here to the end of a fault nobody is promised anything. Without HWS: see let_the_dead_go(), suites faults-no-hws do that in order. */
static void go_wrong(void)
{
	static const char *const hws[] = {
		"unmap_lost", "fence_lost", "preempt_fail", "state_lost", "hung_wave", "full_after_unmap", "full_after_runlist",
	};

	if (in_fault || no_hws)
		return;
	in_fault = true;
	spoil_all();
	kfd_vgpu_set("fault/full_after_unmap_us", (int64_t)magnitude(100, 20000));
	kfd_vgpu_set("fault/full_after_runlist_us", (int64_t)magnitude(100, 20000));
	if (one_in(3))
		kfd_vgpu_set("fault/queue_reset_fail", 1);
	snprintf(fault_path, sizeof(fault_path), "fault/%s", hws[any() % 7]);
	kfd_vgpu_set(fault_path, 1);
	fault_until = kfd_now_ns() + magnitude(MS, 300 * MS);
}

/* Whatever became of the device: the ones that were there go, a reset makes it as new. */
static void end_fault(void)
{
	struct process *p;

	no_faults();
	for (p = processes; p < processes + MAX_PROCESSES; p++)
		if (p->a)
			kill_process(p);
	stop_hogging();
	if (recover())
		WRONG(unexpected, "the device cannot be reset after %s", fault_path);
	resets++;
	if (wait_no_queues())
		WRONG(stuck, "queues stay after %s", fault_path);
	in_fault = false;
	kfd_param_set("gpreempt_enable", 1);
	new_baseline();
}

/* It takes the driver a second in loops. */
static void suspend(void)
{
	if (in_fault || !one_in(4) || !can_suspend())
		return;
	if (suspend_devices())
		WRONG(unexpected, "the machine cannot be suspended");
}

/* ---- everybody ends; then the books are looked at ---- */

static void begin_life(void)
{
	const char *missing = scheduler_missing();
	int err = gpreempt_open(&outside);

	if (missing || err)
		ksft_exit_fail_msg("%s\n", missing ? missing : strerror(-err));
	gpu_id = kfd_first_gpu_id();
	slots = (uint32_t)kfd_vgpu_stat("wave_slots");
	no_hws = kfd_param_get("sched_policy") == NO_HWS;
	gfx_target_version = kfd_gfx_target_version();
	vram = vram_bytes() <= VRAM_LIMIT ? vram_bytes() : 0;
	kfd_param_set("queue_preemption_timeout_ms", HWS_TIMEOUT_MS);
	/* The device looks less often than it could: idle time costs what looks cost. */
	kfd_vgpu_look_every(2 * MS);
	if (scheduler_fresh("gpreempt_poll_us", POLL_US))
		ksft_exit_fail_msg("the scheduler cannot be switched on\n");
	new_baseline();
}

static void balance(void)
{
	struct device_health now = device_health();
	int64_t held;

	if (wait_no_queues())
		WRONG(unbalanced, "%lld queues are left", (long long)counter("queues"));
	held = counter("preemptions") - counter("resumes") - counter("destroyed_preempted");
	if (held)
		WRONG(unbalanced, "%lld queues were preempted and neither resumed nor destroyed", (long long)held);
	if (kfd_vgpu_stat("slots_busy"))
		WRONG(unbalanced, "%lld slots are busy", (long long)kfd_vgpu_stat("slots_busy"));
	if (counter("failures") != failures)
		WRONG(unhealthy, "%lld failures of the scheduler", (long long)(counter("failures") - failures));
	/* Without HWS a process that has lost its VMID with its last queue finds old translations in the next (driver notes). */
	if (now.gpuvm_faults != health.gpuvm_faults || now.bad_packets != health.bad_packets ||
	    (!no_hws && now.stale_translations != health.stale_translations))
		WRONG(unhealthy, "the device saw %lld faults, %lld bad packets, %lld stale translations",
		      (long long)(now.gpuvm_faults - health.gpuvm_faults), (long long)(now.bad_packets - health.bad_packets),
		      (long long)(now.stale_translations - health.stale_translations));
	new_baseline();
}

static void reload(void)
{
	preemptions += counter("preemptions");
	gpreempt_close(outside);
	if (system("gpu-reload >&2"))
		ksft_exit_fail_msg("the driver cannot be loaded again\n");
	reloads++;
	begin_life();
}

static void recall(void)
{
	struct process *p;
	bool in_peace = one_in(4);

	if (in_fault)
		end_fault();
	everybody_ends = true;
	stop_hogging();
	for (p = processes; p < processes + MAX_PROCESSES; p++) {
		if (p->a && !in_peace && one_in(3))
			kill_process(p);
		else if (p->a)
			end_process(p);
	}
	while (population()) {
		look_for_answers();
		step_endings();
		kfd_sleep_ns(5 * MS);
	}
	no_faults();
	balance();
	recalls++;
	everybody_ends = false;
	if (!access("/opt/gpreempt/gpu-reload", X_OK) && one_in(2))
		reload();
}

/* ---- */

static const struct {
	const char *name;
	unsigned int weight;
	void (*idle)(struct process *p);	/* to be told to one that has answered */
	void (*any)(struct process *p);		/* to anyone */
	void (*world)(void);
} events[] = {
	{ "submit", 120, .idle = submit },
	{ "create", 20, .idle = create },
	{ "update", 12, .idle = update },
	{ "destroy", 6, .idle = destroy },
	{ "barrier", 8, .idle = barrier },
	{ "fork", 4, .idle = fork_it },
	{ "pages", 8, .idle = change_pages },
	{ "end", 8, .any = begin_or_end },
	{ "kill", 3, .any = kill_it },
	{ "stop", 8, .any = stop_or_continue },
	{ "debug", 3, .any = debug },
	{ "hold", 8, .any = hold },
	{ "priority", 12, .any = prioritise },
	{ "tunable", 8, .world = tune },
	{ "policy", 4, .world = choose_policy },
	{ "toggle", 3, .world = toggle },
	{ "look", 4, .world = look },
	{ "vram", 1, .world = take_vram },
	{ "reset", 1, .world = reset_device },
	{ "slow", 4, .world = hinder },
	{ "fault", 1, .world = go_wrong },
	{ "suspend", 1, .world = suspend },
};

#define NR_EVENTS	(sizeof(events) / sizeof(events[0]))

static uint64_t happened[NR_EVENTS];

static void one_event(void)
{
	struct process *p = &processes[any() % MAX_PROCESSES];
	unsigned int sum = 0, at;
	size_t i;

	for (i = 0; i < NR_EVENTS; i++)
		sum += events[i].weight;
	at = (unsigned int)(any() % sum);
	for (i = 0; at >= events[i].weight; i++)
		at -= events[i].weight;
	happened[i]++;
	if (verbose) {
		ksft_print_msg("%llu us: %s, process %d\n", (unsigned long long)(kfd_now_ns() / US), events[i].name,
			       p->a ? p->a->pid : 0);
		fflush(stdout);
	}
	if (events[i].world)
		events[i].world();
	else if (!p->a)
		begin_process(p);
	else if (p->ending)
		return;
	else if (events[i].any)
		events[i].any(p);
	else if (!p->op)
		events[i].idle(p);
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 0) : 20;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	const char *missing = unless_virtual(scheduler_missing());
	size_t i;
	int n;

	verbose = getenv("VERBOSE");
	max_gap_ns = (argc > 3 ? strtoull(argv[3], NULL, 0) : 100) * MS;
	ksft_print_header();
	if (!missing && kfd_vgpu_get("fault/xcc") < 0)
		missing = "this virtual GPU has no faults";
	if (missing)
		ksft_exit_skip("%s\n", missing);
	ksft_set_plan(6);
	draw_seed(seed);
	for (n = 0; n < 16; n++)	/* the first lots of small seeds are alike */
		any();
	for (i = 0; i < MAX_PROCESSES; i++)
		processes[i].trace_fd = -1;
	begin_life();
	ksft_print_msg("seed %llu, %llu s\n", (unsigned long long)seed, (unsigned long long)seconds);
	fflush(stdout);
	end_ns = kfd_now_ns() + seconds * SECOND;
	next_recall = kfd_now_ns() + RECALL_NS;
	while (kfd_now_ns() < end_ns) {
		look_for_answers();
		step_endings();
		if (in_fault && kfd_now_ns() >= fault_until)
			end_fault();
		if (kfd_now_ns() >= next_recall) {
			recall();
			next_recall = kfd_now_ns() + RECALL_NS;
		}
		one_event();
		kfd_sleep_ns(magnitude(MIN_GAP_NS, max_gap_ns));
	}
	recall();
	preemptions += counter("preemptions");

	for (i = 0; i < NR_EVENTS; i++)
		ksft_print_msg("%s: %llu\n", events[i].name, (unsigned long long)happened[i]);
	ksft_print_msg("seed %llu: %llu processes ended, %llu were killed; %llu preemptions, %llu resets, %llu reloads, %llu recalls\n",
		       (unsigned long long)seed, (unsigned long long)ended, (unsigned long long)killed, (unsigned long long)preemptions,
		       (unsigned long long)resets, (unsigned long long)reloads, (unsigned long long)recalls);
	ksft_print_msg("items: %llu, done %llu; works with lost ones %llu, with ones done twice %llu; stuck %llu; %llu calls refused\n",
		       (unsigned long long)items, (unsigned long long)done, (unsigned long long)lost, (unsigned long long)twice,
		       (unsigned long long)stuck, (unsigned long long)refused);
	ksft_test_result(done && !lost, "nothing_is_lost\n");
	ksft_test_result(done && !twice, "nothing_is_done_twice\n");
	ksft_test_result(!stuck, "nobody_is_stuck\n");
	ksft_test_result(!unexpected, "calls_fail_only_where_they_may\n");
	ksft_test_result(recalls && !unbalanced, "books_balance\n");
	ksft_test_result(!unhealthy, "device_and_scheduler_have_nothing_to_complain_about\n");
	gpreempt_close(outside);
	scheduler_off();
	ksft_finished();
}

// SPDX-License-Identifier: MIT
/*
 * random_test.c - random programs and random trouble around the core, and what must hold all the same
 *
 * Each seed is one device; SEED and COUNT are as in core/policy/random_nodes_test.c. fake_amdkfd.c
 * checks what holds at every moment, and the tests here what holds over time.
 */
#include "fake_amdkfd.h"
#include "tap.h"

#define HOLD_MS		40
/* A relief may have to wait for another one, and for passes that fail. */
#define STARVED_NS	(400 * MS)

static u64 seed, random_state;

static u32 random_below(u32 n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 16) % n;
}

static bool one_in(u32 n)
{
	return !random_below(n);
}

/**
 * struct watch - what is watched of a queue
 * @preempted: it was at the last look
 * @held_ns: since when it has been held with work
 * @worked_ns: when it last had work
 */
static struct watch {
	bool preempted;
	u64 held_ns;
	u64 worked_ns;
} watches[NR_QUEUES_MAX];

static bool calm;

static s32 priority_of(const struct sim_queue *sq)
{
	return NORMAL - process_of(sq)->task.nice;
}

/* Somebody of a higher priority has work, or had for all that is known: whether waves are left is not asked before it matters. */
static bool has_beneficiary(const struct sim_queue *sq)
{
	u32 i;

	for (i = 0; i < world.nr_queues; i++) {
		const struct sim_queue *other = world.queues[i];

		if (other->q.process != sq->q.process && (priority_of(other) > priority_of(sq) || other->q.gpreempt == NULL ||
							  other->q.gpreempt->policy.pass.relieved) &&
		    ktime_get_ns() - watches[i].worked_ns < GPREEMPT_WAVES_UNKNOWN_NS + 10 * MS)
			return true;
	}
	return false;
}

static void watch(void)
{
	u64 now_ns = ktime_get_ns();
	u32 i;

	for (i = 0; i < world.nr_queues; i++) {
		struct sim_queue *sq = world.queues[i];

		if (!sq->gone && !idle(sq))
			watches[i].worked_ns = now_ns;
	}
	for (i = 0; i < world.nr_queues; i++) {
		struct sim_queue *sq = world.queues[i];
		struct watch *w = &watches[i];
		bool was = w->preempted;

		w->preempted = !sq->gone && preempted(sq) && !sq->reset;
		if (!w->preempted || !was || idle(sq) || sq->q.properties.is_evicted)
			w->held_ns = now_ns;
		if (w->preempted && !was && !has_beneficiary(sq))
			tap_fail(__FILE__, __LINE__, "queue %u was preempted for nobody", i);
		if (calm && w->preempted && now_ns - w->held_ns > STARVED_NS)
			tap_fail(__FILE__, __LINE__, "queue %u has been held with work for %llu us", i, (now_ns - w->held_ns) / US);
	}
}

static struct sim_queue *any_queue(void)
{
	u32 tries;

	for (tries = 0; tries < 10; tries++) {
		struct sim_queue *sq = world.queues[random_below(world.nr_queues)];

		if (!sq->gone)
			return sq;
	}
	return NULL;
}

static void any_work(void)
{
	struct sim_queue *sq = any_queue();

	if (!sq || sq->reset || sq->submitted - sq->done > 20)
		return;
	sq->kernel_ns = (1 + random_below(40)) * 100 * US;
	submit(sq, 1 + random_below(5));
}

static void any_trouble(bool hws)
{
	struct sim_node *sn = &world.nodes[0];
	struct sim_queue *sq = any_queue();
	u32 i;

	if (!sq)
		return;
	switch (random_below(19)) {
	case 0:
		if (world.nr_queues < 24)
			add_queue_to(one_in(2) ? process_of(sq) : add_process(random_below(5) * 5 - 10), 0, NORMAL);
		break;
	case 1:
		destroy_queue(sq);
		break;
	case 2:
		update_queue(sq, one_in(2) ? NORMAL : NORMAL - 1);
		update_queue(sq, NORMAL);
		break;
	case 3:
		evict_queue(sq, !sq->q.properties.is_evicted);
		break;
	case 4:
		debug_process(process_of(sq), !process_of(sq)->p.debug_trap_enabled);
		break;
	case 5:
		/* Three in a row end it: see hws_failures_test.c. */
		if (hws)
			sn->nr_send_fails += one_in(2);
		else if (!sn->nr_refusals)
			sn->nr_load_fails = random_below(3);
		break;
	case 6:
		if (hws)
			sn->nr_map_fails += one_in(2);
		else if (!sn->nr_load_fails)	/* a slot refuses when a reset begins, and that loses all queues */
			sn->nr_refusals++;
		break;
	case 7:
		if (!hws && !sq->stays_until_ns)
			sq->stuck_ns = one_in(2) ? 0 : random_below(300) * MS;
		break;
	case 8:
		set_user_nice(&process_of(sq)->task, random_below(5) * 5 - 10);
		break;
	case 9:
		CHECK_EQ(shim_param_set("gpreempt_enable", "0"), 0);
		for (i = 0; i < world.nr_queues; i++)
			if (!world.queues[i]->gone && !world.queues[i]->reset && preempted(world.queues[i]))
				tap_fail(__FILE__, __LINE__, "queue %u is preempted after switching off: mapped %x, active %d, evicted %d", i,
					 world.queues[i]->mapped, world.queues[i]->q.properties.is_active, world.queues[i]->q.properties.is_evicted);
		CHECK_EQ(shim_param_set("gpreempt_enable", "1"), 0);
		break;
	case 10:
		suspend();
		resume();
		break;
	case 11:
		if (!one_in(4))
			break;
		reset_gpu();
		kill_all();
		for (i = 0; i < 3 && world.nr_queues < 48; i++)
			add_queue(random_below(5) * 5 - 10);
		break;
	case 12:
		CHECK_EQ(shim_param_set("gpreempt_policy", one_in(2) || !IS_ENABLED(CONFIG_KFD_GPREEMPT_POLICIES) ? "hpf" : "wfq"), 0);
		CHECK_EQ(shim_param_set("gpreempt_policy", "hpf"), 0);
		break;
	case 13:
		CHECK_EQ(shim_param_set("gpreempt_verify", one_in(2) ? "1" : "0"), 0);
		if (!calm)
			CHECK_EQ(shim_param_set("gpreempt_observe", one_in(3) ? "1" : "0"), 0);
		break;
	case 14:
		CHECK_EQ(shim_param_set("gpreempt_hw_priority", one_in(2) ? "normal" : "follow"), 0);
		break;
	case 16:
		CHECK_EQ(shim_param_set("gpreempt_wakeup", one_in(3) ? "poll" : "doorbell"), 0);
		break;
	case 17:
		CHECK_EQ(shim_param_set("gpreempt_unmap", one_in(3) ? "all" : "named"), 0);
		sn->nr_deaf = hws && one_in(4);
		break;
	case 18:
		/* It is reset, and what it had to do is lost. */
		sq->abandoned = hws && one_in(3);
		break;
	case 15:
		shim_fail_alloc = random_below(6);
		break;
	}
}

static void calm_down(void)
{
	struct sim_node *sn = &world.nodes[0];

	shim_fail_alloc = 0;
	CHECK_EQ(shim_param_set("gpreempt_observe", "0"), 0);
	sn->nr_send_fails = sn->nr_map_fails = sn->nr_load_fails = sn->nr_refusals = sn->nr_deaf = 0;
	EACH_QUEUE(sq) {
		if (sq->gone)
			continue;
		sq->stuck_ns = 0;
		if (sq->q.properties.is_evicted)
			evict_queue(sq, false);
		debug_process(process_of(sq), false);
	}
}

static void simulate(bool hws)
{
	u32 events = 60;

	random_state = seed * 2654435761U + hws + 1;
	memset(watches, 0, sizeof(watches));
	calm = one_in(3);
	tap_at("SEED=%llu COUNT=1: ", seed);
	world_make(hws, 1 + random_below(2), 1);
	world.nodes[0].nr_wave_slots = 1 + random_below(3);
	CHECK_EQ(shim_param_set("gpreempt_max_hold_ms", "40"), 0);
	CHECK_EQ(shim_param_set("gpreempt_relief_ms", "5"), 0);
	CHECK_EQ(shim_param_set("gpreempt_enable", "1"), 0);
	if (one_in(2))
		CHECK_EQ(shim_param_set("gpreempt_unmap", "named"), 0);
	TIMES(3 + random_below(5))
		add_queue(random_below(5) * 5 - 10);
	TIMES(events) {
		u32 steps = random_below(400);

		any_work();
		if (!calm && one_in(2))
			any_trouble(hws);
		TIMES(steps) {
			run(TICK_NS);
			if (calm)
				watch();
		}
	}
	calm_down();
	/* One that gave up gets another try. */
	CHECK_EQ(shim_param_set("gpreempt_enable", "1"), 0);
	run(50 * MS);
	world_end();
	shim_log[0] = 0;
}

BOTH(random, "whatever happens, everybody's work is done once and nobody stays held; without trouble nobody is preempted for nothing or starves")
{
	u64 end = tap_setting("SEED", 1) + tap_setting("COUNT", 140);

	for (seed = tap_setting("SEED", 1); seed < end; seed++)
		simulate(hws);
}

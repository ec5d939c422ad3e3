// SPDX-License-Identifier: MIT
/* devices_test.c - which devices are scheduled, and what of them is read */
#include "rivals.h"

/* ---- what is not supported ---- */

static void mes(void)
{
	world.kfd.shared_resources.enable_mes = true;
	world.adev.gc_version = IP_VERSION(11, 0, 0);
}

/* gfx12.1, the first Instincts that MES schedules */
static void newest_instinct(void)
{
	mes();
	world.adev.gc_version = IP_VERSION(12, 1, 0);
}

static void no_cwsr(void) { world.kfd.cwsr_enabled = false; }
static void old(void) { world.adev.gc_version = IP_VERSION(8, 0, 0); }
static void new(void) { world.adev.gc_version = IP_VERSION(10, 0, 0); }
static void virtual_function(void) { world.adev.virtual_function = true; }

TEST(unsupported_devices, "what cannot be scheduled says why, and is left alone")
{
	static void (*const changes[])(void) = { mes, newest_instinct, no_cwsr, old, new, virtual_function };

	EACH_CASE(i, changes) {
		world_make(false, 1, 1);
		kfd_gpreempt_node_fini(&world.nodes[0].node);
		CHECK(!node_of(0));
		changes[i]();
		kfd_gpreempt_node_init(&world.nodes[0].node);
		CHECK(!node_of(0)->backend);
		CHECK(strlen(node_of(0)->life.reason) > 10);
		CHECK_EQ(strstr(node_of(0)->life.reason, "MES") != NULL, world.kfd.shared_resources.enable_mes);
		CHECK_STATE("unsupported");
		set("gpreempt_enable", "1");
		CHECK(strstr(shim_log, node_of(0)->life.reason) != NULL);
		CHECK_EQ(gpreempt_life_enable_node(node_of(0), true), -EOPNOTSUPP);
		CHECK_STATE("unsupported");
		CHECK(!gpreempt_node_enabled(0));
		set("gpreempt_enable", "0");
		world_down();
		shim_log[0] = 0;
	}
	world_make(false, 1, 1);
	CHECK(!strcmp(node_of(0)->backend->name, "mqd"));
	world_down();
	world_make(true, 1, 1);
	CHECK(!strcmp(node_of(0)->backend->name, "hws"));
	world_down();
}

/* ---- nodes ---- */

BOTH(nodes_come_and_go, "a node that comes up while the scheduler is on is on; one that goes lets its queues go; each has its folder meanwhile")
{
	struct kobject *root;

	CHECK(!gpreempt_node_enabled(0));
	world_make(hws, 1, 2);
	root = node_of(0)->sysfs.kobj.parent;
	CHECK_EQ(shim_debugfs_files(), 2 * IS_ENABLED(CONFIG_KFD_GPREEMPT_CONTROL));
	CHECK_EQ(root->nr_folders, 2);
	CHECK(!strcmp(node_of(0)->life.reason, "-"));
	CHECK(!gpreempt_node_enabled(0));
	set("gpreempt_enable", "1");
	kfd_gpreempt_node_fini(&world.nodes[1].node);
	CHECK_EQ(root->nr_folders, 1);
	CHECK(gpreempt_node_enabled(0) && !gpreempt_node_enabled(1001));
	kfd_gpreempt_node_init(&world.nodes[1].node);
	CHECK_EQ(root->nr_folders, 2);
	CHECK(gpreempt_node_enabled(1001));
	low = add_queue_to(add_process(10), 1, NORMAL);
	CHECK(low->q.gpreempt->gn == node_of(1));
	set("gpreempt_enable", "0");
	kfd_gpreempt_node_fini(&world.nodes[1].node);
	kfd_gpreempt_node_init(&world.nodes[1].node);
	CHECK(!gpreempt_node_enabled(1001));
	set("gpreempt_enable", "1");
	kill_process(process_of(low));
	/* With both still on. */
	world_down();
}

BOTH(one_node_of_two, "what one node is told is not what the other one does, and the hooks stay on as long as one is scheduled")
{
	u64 checks[2];
	u32 i;

	world_on_nodes(hws, 2);
	for (i = 0; i < 2; i++) {
		add_queue_to(add_process(0), i, NORMAL);
		high = add_queue_to(add_process(0), i, NORMAL);
	}
	CHECK_AFTER(2500 * MS, !strcmp(gpreempt_node_state_name(node_of(0)), "parked") && !strcmp(gpreempt_node_state_name(node_of(1)), "parked"));
	for (i = 0; i < 2; i++)
		checks[i] = atomic64_read(&node_of(i)->stats.checks);
	/* Nothing happens, so nobody looks: not even those who look for nice values. */
	run(5 * SEC);
	for (i = 0; i < 2; i++)
		CHECK_EQ(atomic64_read(&node_of(i)->stats.checks), checks[i]);
	gpreempt_node_kick_all();
	run(MS);
	for (i = 0; i < 2; i++)
		CHECK(atomic64_read(&node_of(i)->stats.checks) > checks[i]);
	suspend();
	CHECK(!strcmp(gpreempt_node_state_name(node_of(0)), "paused") && !strcmp(gpreempt_node_state_name(node_of(1)), "paused"));
	resume();
	CHECK(strcmp(gpreempt_node_state_name(node_of(0)), "paused") && strcmp(gpreempt_node_state_name(node_of(1)), "paused"));
	/* High is on the second. */
	CHECK_EQ(gpreempt_life_enable_node(node_of(1), false), 0);
	CHECK(gpreempt_node_enabled(0) && gpreempt_node_enabled(1000) && !gpreempt_node_enabled(1001));
	CHECK(static_branch_unlikely(&kfd_gpreempt_key));
	CHECK(!high->q.gpreempt);
	low = add_queue_to(process_of(high), 1, NORMAL);
	CHECK(!low->q.gpreempt);
	low = add_queue_to(process_of(high), 0, NORMAL);
	CHECK(low->q.gpreempt != NULL);
	CHECK_EQ(gpreempt_life_enable_node(node_of(0), false), 0);
	CHECK(!static_branch_unlikely(&kfd_gpreempt_key));
}

/* On each of two nodes with room for one wave: a low queue with work, and a high one */
static void rivals_on_two_nodes(bool hws, struct sim_queue **lows, struct sim_queue **highs, u64 low_ns, u64 high_ns)
{
	u32 i;

	world_on_nodes(hws, 2);
	for (i = 0; i < 2; i++) {
		world.nodes[i].nr_wave_slots = 1;
		lows[i] = add_queue_to(add_process(10), i, NORMAL);
		highs[i] = add_queue_to(add_process(0), i, NORMAL);
		lows[i]->kernel_ns = low_ns;
		highs[i]->kernel_ns = high_ns;
		submit(lows[i], 40);
	}
}

BOTH(slow_device_delays_its_own_node, "while a pass waits for one device, the other node decides, acts, and takes new queues and lets them go")
{
	struct sim_queue *lows[2], *highs[2], *late;

	rivals_on_two_nodes(hws, lows, highs, 50 * MS, 50 * MS);
	set("gpreempt_max_hold_ms", "0");
	run(2 * MS);
	world.nodes[0].unmap_us = 500000;
	lows[0]->stuck_ns = 500 * MS;
	submit_and_run(highs[0], 20, 10 * MS);
	CHECK(!preempted(lows[0]) || on_device(lows[0]));
	submit_and_run(highs[1], 20, 10 * MS);
	CHECK(preempted(lows[1]) && !on_device(lows[1]) && on_device(highs[1]));
	CHECK_EQ(atomic64_read(&node_of(1)->stats.preemptions), 1);
	late = add_queue_to(add_process(0), 1, NORMAL);
	CHECK(late->q.gpreempt->gn == node_of(1));
	destroy_queue(late);
	CHECK_EQ(preemptions(), 0);
	CHECK_AFTER(600 * MS, preempted(lows[0]) && !on_device(lows[0]));
}

#define MAX_LOCKS	64
static const struct mutex *taken[2][MAX_LOCKS];
static u32 nr_taken[2];

/* What a monitor takes, but for what RCU is made of here */
static void note_lock(const struct mutex *lock)
{
	u32 i, k;

	if (lock == &shim_rcu.lock)
		return;
	for (i = 0; i < 2; i++) {
		if (current != READ_ONCE(node_of(i)->life.thread))
			continue;
		for (k = 0; k < nr_taken[i] && taken[i][k] != lock; k++)
			;
		if (k < nr_taken[i])
			continue;
		CHECK(nr_taken[i] < MAX_LOCKS);
		taken[i][nr_taken[i]++] = lock;
	}
}

/* Of which these two are nodes: locks of the driver's */
static bool is_of_the_device(const struct mutex *lock)
{
	return lock == &world.slot_lock || lock == &world.index_lock || lock == &world.reset_domain.sem.lock;
}

BOTH(passes_share_no_lock, "monitors of two nodes that sample, derive priorities, decide, preempt and resume take no lock in common, and wake nobody where nobody waits")
{
	struct sim_queue *lows[2], *highs[2];
	unsigned int passes;
	u32 i;

	rivals_on_two_nodes(hws, lows, highs, 30 * MS, 3 * MS);
	set("gpreempt_overhead_pct", "0");
	passes = gpreempt_node_passes();
	shim_at_lock = note_lock;
	EACH(k, 4, "request %u: ", k) {
		run(40 * MS);
		submit(highs[0], 1);
		submit(highs[1], 1);
		run(40 * MS);
	}
	shim_at_lock = NULL;
	for (i = 0; i < 2; i++) {
		CHECK(atomic64_read(&node_of(i)->stats.preemptions) >= 2);
		CHECK(atomic64_read(&node_of(i)->stats.resumes) >= 2);
	}
	CHECK(nr_taken[0] > 2 && nr_taken[1] > 2);
	EACH(k, nr_taken[0], "lock %u of %u: ", k, nr_taken[0])
		for (i = 0; i < nr_taken[1]; i++)
			CHECK(taken[0][k] != taken[1][i] || is_of_the_device(taken[0][k]));
	CHECK_EQ(gpreempt_node_passes(), passes);
}

TEST(a_node_less, "where there was no memory for one node, the other one is scheduled, and queues of the first are left alone")
{
	world_make(true, 1, 2);
	kfd_gpreempt_node_fini(&world.nodes[1].node);
	shim_fail_alloc = 1;
	kfd_gpreempt_node_init(&world.nodes[1].node);
	shim_fail_alloc = 2;
	kfd_gpreempt_node_init(&world.nodes[1].node);
	shim_fail_alloc = 0;
	CHECK(!node_of(1));
	set("gpreempt_enable", "1");
	low = add_queue_to(add_process(0), 1, NORMAL);
	CHECK(!low->q.gpreempt);
	suspend();
	resume();
}

BOTH(parked_nodes_see_nice_values_for_ever, "also after seconds without anything a parked node sees a new nice value, and wakes for nothing else")
{
	world_on(hws);
	add_rivals(0, 0);
	low->kernel_ns = high->kernel_ns = 100 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit(low, 100);
	submit_and_run(high, 100, 3500 * MS);
	CHECK_STATE("parked");
	process_of(low)->task.nice = 5;
	CHECK_AFTER(1100 * MS, preempted(low));
	kill_process(process_of(low));
	kill_process(process_of(high));
}

BOTH(adoption_is_soon, "what could not be adopted is tried again every 10 ms")
{
	world_make(hws, 1, 1);
	low = add_queue(0);
	mutex_lock(&process_of(low)->p.mutex);
	set("gpreempt_enable", "1");
	run(5 * MS);
	mutex_unlock(&process_of(low)->p.mutex);
	CHECK(!low->q.gpreempt);
	CHECK_AFTER(6 * MS, low->q.gpreempt != NULL);
}

BOTH(what_was_wrong_is_over, "after a suspend, and after switching off and on, a node begins without the errors that it had; what switching off left unfinished is not one")
{
	world_on(hws);
	EACH(i, 2, "case %u: ", i) {
		if (i)
			set("gpreempt_enable", "0");
		else
			suspend();
		node_of(0)->monitor.errors = 2;
		node_of(0)->monitor.again = true;
		node_of(0)->revive = true;
		node_of(0)->marks.resuming_ns = 5;
		node_of(0)->monitor.clear_ns = 5;
		node_of(0)->kick = false;
		node_of(0)->monitor.state = GPREEMPT_STATE_PARKED;
		if (i)
			set("gpreempt_enable", "1");
		else
			resume();
		CHECK(!node_of(0)->monitor.errors && !node_of(0)->marks.resuming_ns);
		CHECK_EQ(node_of(0)->monitor.again, i);
		CHECK_EQ(node_of(0)->monitor.clear_ns, ktime_get_ns());
		CHECK_EQ(node_of(0)->monitor.state, GPREEMPT_STATE_IDLE);
		CHECK(i ? !node_of(0)->revive : node_of(0)->kick);
		node_of(0)->revive = false;
		run(10 * MS);
	}
}

TEST(generations, "of GPUs Instincts are scheduled, from 9.0.1 to 9.5.0 and the APU of 9.4.3; the others say why, once")
{
	static const struct { u32 gc; bool apu, works; const char *reason; } versions[] = {
		{ IP_VERSION(9, 0, 0), false, false, "generation" }, { IP_VERSION(9, 0, 1), false, true, NULL },
		{ IP_VERSION(9, 0, 2), false, false, "Instinct" },
		{ IP_VERSION(9, 1, 0), true, false, "GFXOFF" }, { IP_VERSION(9, 2, 1), false, false, "Instinct" },
		{ IP_VERSION(9, 2, 2), true, false, "GFXOFF" }, { IP_VERSION(9, 3, 0), true, false, "GFXOFF" },
		{ IP_VERSION(9, 4, 0), false, true, NULL }, { IP_VERSION(9, 4, 1), false, true, NULL }, { IP_VERSION(9, 4, 2), false, true, NULL },
		{ IP_VERSION(9, 4, 3), false, true, NULL }, { IP_VERSION(9, 4, 3), true, true, NULL }, { IP_VERSION(9, 4, 4), false, true, NULL },
		{ IP_VERSION(9, 4, 5), false, false, "Instinct" }, { IP_VERSION(9, 5, 0), false, true, NULL },
		{ IP_VERSION(8, 0, 0), false, false, "generation" }, { IP_VERSION(10, 0, 0), false, false, "generation" },
		{ IP_VERSION(10, 0, 1), true, false, "generation" },
	};
	const char *told;

	EACH(i, ARRAY_SIZE(versions), "version %x: ", versions[i].gc) {
		world_make(true, 1, 1);
		kfd_gpreempt_node_fini(&world.nodes[0].node);
		world.adev.gc_version = versions[i].gc;
		world.adev.flags = versions[i].apu ? AMD_IS_APU : 0;
		kfd_gpreempt_node_init(&world.nodes[0].node);
		CHECK_EQ(node_of(0)->backend != NULL, versions[i].works);
		CHECK(versions[i].reason ? strstr(node_of(0)->life.reason, versions[i].reason) != NULL : !strcmp(node_of(0)->life.reason, "-"));
		set("gpreempt_enable", "1");
		switch_off_and_on();
		set("gpreempt_enable", "0");
		if (!versions[i].works) {
			told = strstr(shim_log, "is not scheduled");
			CHECK(told && !strstr(told + 1, "is not scheduled"));
		}
		world_down();
		shim_log[0] = 0;
	}
}

/* The node has just come up: nothing but launches says what works. */
static void low_yields_without_waves(void)
{
	set("gpreempt_enable", "1");
	add_rivals(10, 0);
	run_kernels(low, 20, 5 * MS, 2 * MS);
	submit_and_run(high, 300, 10 * MS);
	CHECK(preempted(low));
}

BOTH(waves_cannot_be_seen, "where the device does not tell its waves, launches count, and nobody asks")
{
	static struct kfd2kgd_calls blind;

	world_make(hws, 1, 1);
	kfd_gpreempt_node_fini(&world.nodes[0].node);
	blind = *world.nodes[0].node.kfd2kgd;
	blind.get_cu_occupancy = NULL;
	world.nodes[0].node.kfd2kgd = &blind;
	kfd_gpreempt_node_init(&world.nodes[0].node);
	CHECK(!node_of(0)->waves.occupancy && !node_of(0)->waves.known);
	CHECK(strstr(shim_log, "does not count them by queue") != NULL);
	low_yields_without_waves();
	mutex_lock(&gpreempt_lock);
	gpreempt_waves_see(node_of(0));
	mutex_unlock(&gpreempt_lock);
	CHECK_EQ(low->q.gpreempt->waves.seen_ns, 0);
}

TEST(virtual_function_reads_no_waves, "a virtual function is scheduled by what its queues launch: its registers are not read for waves")
{
	world_make(true, 1, 1);
	kfd_gpreempt_node_fini(&world.nodes[0].node);
	world.adev.virtual_function = true;
	kfd_gpreempt_node_init(&world.nodes[0].node);
	CHECK(node_of(0)->backend && !node_of(0)->waves.occupancy && !node_of(0)->waves.known);
	CHECK(strstr(shim_log, "virtual function") != NULL);
	low_yields_without_waves();
	CHECK_EQ(world.nr_looks, 0);
}

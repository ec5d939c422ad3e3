// SPDX-License-Identifier: MIT
/*
 * doorbell_test.c - gpreempt_wakeup=doorbell on a device in user space, one story each; see fake_amdkfd.h
 */
#include "rivals.h"

/* Nobody looks within the time of a test; whatever happens, a doorbell did it. */
static void looks_are_rare(void)
{
	set("gpreempt_interval_ms", "10000");
	set("gpreempt_poll_us", "1000000");
}

/* Low fills the device for seconds, high is idle and armed. */
static void high_is_armed(bool hws)
{
	world_on(hws);
	set("gpreempt_wakeup", "doorbell");
	add_rivals(10, 0);
	low->kernel_ns = 2 * SEC;
	high->kernel_ns = 20 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit(low, 1);
	looks_are_rare();
	CHECK_AFTER(20 * MS, low->in_slot);
	CHECK_STATE("armed");
	CHECK_EQ(process_of(high)->doorbell_pages[0], 0);
	CHECK(process_of(low)->doorbell_pages[0]);
	CHECK_EQ(atomic64_read(&stats()->doorbell_late), 0);
	CHECK(atomic64_read(&stats()->doorbell_arms) > 0);
	process_of(high)->nr_faults = process_of(low)->nr_faults = 0;
	atomic64_set(&stats()->doorbell_faults, 0);
}

BOTH(a_doorbell_is_noticed, "the first doorbell of an armed process takes the device from a lower one, without a look; later ones do not fault")
{
	u64 wakeups;

	high_is_armed(hws);
	wakeups = atomic64_read(&stats()->wakeups);
	CHECK_EQ_AFTER(SEC, atomic64_read(&stats()->wakeups), wakeups);
	CHECK(low->in_slot);
	submit(high, 1);
	CHECK_EQ(process_of(high)->nr_faults, 1);
	CHECK_AFTER(MS, preempted(low) && high->in_slot);
	CHECK_EQ(atomic64_read(&stats()->doorbell_faults), 1);
	CHECK_EQ(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_NOTICE].count), 1);
	CHECK(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_NOTICE].max_ns) < 50 * US);
	/* The inversion is as old as the doorbell, not as the last look. */
	CHECK(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_DETECT].max_ns) < 50 * US);
	submit(high, 1);
	write_doorbell(high);
	CHECK_EQ(process_of(high)->nr_faults, 1);
	set("gpreempt_poll_us", "200");
	CHECK(run_until_idle(high, SEC));
	CHECK_EQ(high->done, 2);
	CHECK_EQ(low->done, 0);
	/* And once more. */
	CHECK_AFTER(20 * MS, !preempted(low));
	CHECK_STATE("armed");
	submit_and_run(high, 1, MS);
	CHECK_EQ(process_of(high)->nr_faults, 2);
	CHECK(preempted(low));
	CHECK_EQ(process_of(low)->nr_faults, 0);
}

TEST(contexts_keep_doorbells, "a context of a program shares its doorbells: a file that has the context is told of the first, and who goes last frees them")
{
	static struct kfd_process context;

	high_is_armed(true);
	context = (struct kfd_process){};
	kfd_gpreempt_replaced(&process_of(high)->p, &context);
	process_of(high)->kfd.private_data = &context;
	submit(high, 1);
	CHECK_EQ(process_of(high)->nr_faults, 1);
	CHECK_AFTER(MS, preempted(low) && high->in_slot);
	kfd_gpreempt_released(&context);
	submit(high, 1);
	CHECK_EQ(process_of(high)->nr_faults, 1);
}

TEST(contexts_without_doorbells, "a context of a program that is polled is polled")
{
	static struct kfd_process context;

	world_polled(true);
	add_rivals(10, 0);
	context = (struct kfd_process){};
	kfd_gpreempt_replaced(&process_of(high)->p, &context);
	CHECK(!context.gpreempt);
	kfd_gpreempt_released(&context);
}

static void high_gets_work(void)
{
	world.before_unmapping = NULL;
	submit(high, 1);
}

BOTH(a_doorbell_before_the_entries_go_is_noticed, "work that comes while a process is being armed is found: its doorbell did not fault")
{
	world_on(hws);
	set("gpreempt_wakeup", "doorbell");
	add_rivals(10, 0);
	/* It has seen both before. */
	submit(high, 1);
	CHECK(run_until_idle(high, SEC));
	low->kernel_ns = 2 * SEC;
	high->kernel_ns = 20 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit(low, 1);
	looks_are_rare();
	process_of(high)->nr_faults = 0;
	/* Idle, and looked at: so it is about to be armed. */
	set("gpreempt_wakeup", "poll");
	process_of(high)->p.gpreempt_fixed = false;
	write_doorbell(high);
	run(2 * MS);
	process_of(high)->nr_faults = 0;
	world.before_unmapping = high_gets_work;
	set("gpreempt_wakeup", "doorbell");
	CHECK_AFTER(2 * MS, !world.before_unmapping);
	CHECK_EQ(process_of(high)->nr_faults, 0);
	CHECK_EQ(atomic64_read(&stats()->doorbell_late), 1);
	CHECK(preempted(low) && high->in_slot);
}

static void monitor_is_faster(void)
{
	world.before_mapping = NULL;
	CHECK_AFTER(2 * MS, !process_of(high)->doorbell_pages[0]);
	CHECK_STATE("armed");
}

BOTH(armed_again_before_the_entries_are_back, "a handler that is slow does not leave a process armed that has its entries")
{
	high_is_armed(hws);
	world.before_mapping = monitor_is_faster;
	/* The packets come only after this: nothing tells the monitor but the handler. */
	write_doorbell(high);
	CHECK(process_of(high)->doorbell_pages[0]);
	write_packets(high, 1);
	CHECK_AFTER(MS, preempted(low) && high->in_slot);
	CHECK_EQ(process_of(high)->nr_faults, 1);
}

BOTH(work_without_a_doorbell_waits_for_the_backstop, "work that no doorbell tells of is found within 50 ms")
{
	high_is_armed(hws);
	set("gpreempt_interval_ms", "5");
	CHECK_AFTER(MS, state_is("armed"));
	write_packets(high, 1);
	CHECK_AFTER(55 * MS, preempted(low) || high->done);
	CHECK_EQ(process_of(high)->nr_faults, 0);
}

BOTH(armed_nodes_see_nice_values, "an armed node that no doorbell tells of sees a new nice value within a second")
{
	high_is_armed(hws);
	process_of(high)->task.nice = 3;
	CHECK_EQ_AFTER(1100 * MS, high->q.gpreempt->policy.set.priority, NORMAL - 3);
}

TEST(idle_nodes_sleep, "a node without work does not wake up at all, until a doorbell is written, be it the lowest")
{
	u64 wakeups;

	high_is_armed(true);
	set("gpreempt_poll_us", "200");
	set("gpreempt_interval_ms", "5");
	submit(high, 1);
	CHECK(run_until_idle(low, 10 * SEC));
	CHECK_AFTER(5 * SEC, state_is("armed"));
	wakeups = atomic64_read(&stats()->wakeups);
	CHECK_EQ_AFTER(20 * SEC, atomic64_read(&stats()->wakeups), wakeups);
	CHECK(!process_of(low)->doorbell_pages[0]);
	/* Low runs: looks are rare. High comes: it is noticed at once. */
	submit_and_run(low, 1, SEC);
	CHECK(atomic64_read(&stats()->wakeups) - wakeups < 30);
	CHECK(low->in_slot);
	submit_and_run(high, 1, MS);
	CHECK(preempted(low) && high->in_slot);
}

BOTH(processes_of_the_mode_poll_are_looked_at, "who opened /dev/kfd while nobody wanted doorbells withdrawn is looked at, which is counted once")
{
	u64 skips;

	world_polled(hws);
	add_rivals(10, 0);
	low->kernel_ns = 2 * SEC;
	high->kernel_ns = 20 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit_and_run(low, 1, 20 * MS);
	CHECK_EQ(atomic64_read(&stats()->skipped[GPREEMPT_SKIP_DOORBELL]), 0);
	CHECK(process_of(high)->kfd.f_mapping == process_of(high)->kfd_inode.i_mapping);
	CHECK(!process_of(high)->doorbells[0].vm_ops);
	set("gpreempt_wakeup", "doorbell");
	CHECK_AFTER(20 * MS, state_is("idle"));
	skips = atomic64_read(&stats()->skipped[GPREEMPT_SKIP_DOORBELL]);
	CHECK_EQ(skips, 1);
	CHECK(!strcmp(gpreempt_doorbell_state(high->q.gpreempt->process), "fixed"));
	submit_and_run(high, 1, 10 * MS);
	CHECK(preempted(low) && high->in_slot);
	CHECK_EQ(process_of(high)->nr_faults, 0);
	CHECK(run_until_idle(high, SEC));
	CHECK_EQ_AFTER(100 * MS, atomic64_read(&stats()->skipped[GPREEMPT_SKIP_DOORBELL]), skips);
	CHECK_EQ(atomic64_read(&stats()->doorbell_arms), 0);
}

BOTH(back_to_poll_while_armed, "an armed process of a node that is told to poll is looked at; its next write faults once more, and then never again")
{
	high_is_armed(hws);
	set("gpreempt_wakeup", "poll");
	set("gpreempt_interval_ms", "5");
	CHECK_AFTER(20 * MS, state_is("idle"));
	submit_and_run(high, 1, 10 * MS);
	CHECK_EQ(process_of(high)->nr_faults, 1);
	CHECK(preempted(low) && high->in_slot);
	CHECK(run_until_idle(high, SEC));
	run(100 * MS);
	submit_and_run(high, 1, 20 * MS);
	CHECK_EQ(process_of(high)->nr_faults, 1);
}

BOTH(fixed_mappings_disarm, "a mapping that cannot be withdrawn, made while its process is armed, makes the monitors look")
{
	struct vm_area_struct second;
	struct kfd_process_device *pdd;

	high_is_armed(hws);
	set("gpreempt_interval_ms", "5");
	CHECK_AFTER(MS, state_is("armed"));
	pdd = &process_of(high)->p.pdds[0];
	second = process_of(high)->doorbells[0];
	second.vm_flags = 0;
	CHECK(!kfd_gpreempt_maps_doorbells(pdd, &second, 0xd0000000));
	CHECK_EQ(second.vm_pgoff, ((KFD_MMAP_TYPE_MMIO | KFD_MMAP_GPU_ID(pdd->dev->id)) >> PAGE_SHIFT) + 1);
	CHECK_AFTER(MS, state_is("idle"));
	write_packets(high, 1);
	CHECK_AFTER(10 * MS, preempted(low) && high->in_slot);
}

TEST(foreign_files_map_as_ever, "doorbells that a process maps through another's file are not withdrawn with the other's")
{
	struct vm_area_struct vma;

	high_is_armed(true);
	vma = process_of(high)->doorbells[0];
	CHECK(!kfd_gpreempt_maps_doorbells(&process_of(low)->p.pdds[0], &vma, 0xd0000000));
	CHECK(!strcmp(gpreempt_doorbell_state(high->q.gpreempt->process), "armed"));
	CHECK(!strcmp(gpreempt_doorbell_state(low->q.gpreempt->process), "fixed"));
	CHECK_EQ(vma.vm_pgoff, ((KFD_MMAP_TYPE_MMIO | KFD_MMAP_GPU_ID(world.nodes[0].node.id)) >> PAGE_SHIFT) + 1);
}

TEST(work_elsewhere_keeps_from_arming, "a process is armed on no GPU while it has work on one, and a doorbell of either tells both")
{
	struct sim_queue *other, *other_low;

	world_on_nodes(true, 2);
	set("gpreempt_wakeup", "doorbell");
	world.nodes[0].nr_wave_slots = world.nodes[1].nr_wave_slots = 1;
	add_rivals(10, 0);
	other = add_queue_to(process_of(high), 1, NORMAL);
	other_low = add_queue_to(process_of(low), 1, NORMAL);
	low->kernel_ns = other_low->kernel_ns = SEC;
	high->kernel_ns = other->kernel_ns = 50 * MS;
	submit(low, 1);
	submit_and_run(other_low, 1, 20 * MS);
	CHECK(!process_of(high)->doorbell_pages[0] && !process_of(high)->doorbell_pages[1]);
	submit_and_run(other, 1, 30 * MS);
	CHECK(process_of(high)->doorbell_pages[1]);
	CHECK(!strcmp(gpreempt_doorbell_state(high->q.gpreempt->process), "mapped"));
	CHECK(run_until_idle(other, SEC));
	CHECK_AFTER(20 * MS, !process_of(high)->doorbell_pages[0] && !process_of(high)->doorbell_pages[1]);
	looks_are_rare();
	CHECK_AFTER(20 * MS, state_is("armed"));
	CHECK(!strcmp(gpreempt_node_state_name(node_of(1)), "armed"));
	submit_and_run(other, 1, MS);
	CHECK(preempted(other_low) && !preempted(low));
	/* It has work: so it is looked at, here as well. */
	CHECK(strcmp(gpreempt_node_state_name(node_of(0)), "armed"));
	set("gpreempt_interval_ms", "5");
	set("gpreempt_poll_us", "200");
	write_packets(high, 1);
	CHECK_AFTER(10 * MS, preempted(low));
}

TEST(evicted_work_is_not_idle, "a process with packets that may not run now is not armed: no doorbell tells when it may")
{
	high_is_armed(true);
	submit_and_run(high, 2, MS);
	CHECK(preempted(low));
	evict_queue(high, true);
	set("gpreempt_poll_us", "200");
	set("gpreempt_interval_ms", "5");
	CHECK_AFTER(50 * MS, process_of(high)->doorbell_pages[0]);
	CHECK(!preempted(low));
	evict_queue(high, false);
	CHECK_AFTER(10 * MS, preempted(low) && high->in_slot);
}

TEST(evicted_kernels_are_not_idle, "nor is one that was evicted in the middle of its last kernel")
{
	high_is_armed(true);
	submit_and_run(high, 1, MS);
	CHECK(preempted(low) && high->in_slot);
	CHECK_EQ(high->pointers[0], high->pointers[1]);
	evict_queue(high, true);
	set("gpreempt_poll_us", "200");
	set("gpreempt_interval_ms", "5");
	CHECK_AFTER(50 * MS, process_of(high)->doorbell_pages[0]);
	evict_queue(high, false);
}

TEST(doorbells_without_memory, "without memory for an address space a process is looked at")
{
	world_on(true);
	set("gpreempt_wakeup", "doorbell");
	shim_fail_alloc = 1;
	add_process(0);
	shim_fail_alloc = 2;
	add_process(0);
	shim_fail_alloc = 0;
	CHECK(!world.processes[0]->p.gpreempt);
	CHECK(!world.processes[1]->p.gpreempt);
	high = add_queue_to(world.processes[0], 0, NORMAL);
	CHECK(!strcmp(gpreempt_doorbell_state(high->q.gpreempt->process), "fixed"));
}

BOTH(failed_nodes_do_not_spin, "a doorbell does not keep the monitor of a node awake that was given up")
{
	u64 wakeups;

	high_is_armed(hws);
	world.nodes[0].node.gpreempt->monitor.errors = 3;
	WRITE_ONCE(world.nodes[0].node.gpreempt->monitor.state, GPREEMPT_STATE_FAILED);
	wakeups = atomic64_read(&stats()->wakeups);
	write_doorbell(high);
	CHECK_AFTER(20 * MS, atomic64_read(&stats()->wakeups) - wakeups < 3);
	set("gpreempt_enable", "1");
	CHECK_AFTER(20 * MS, state_is("armed"));
}

/* ---- revoked ---- */

static struct sim_process *program_with_doorbells(u32 nr_nodes)
{
	u32 i;

	world_on_nodes(true, nr_nodes);
	set("gpreempt_wakeup", "doorbell");
	add_rivals(10, 0);
	for (i = 1; i < nr_nodes; i++)
		add_queue_to(process_of(high), i, NORMAL);
	for (i = 0; i < nr_nodes; i++)
		CHECK_EQ(touch_doorbells(process_of(high), i), VM_FAULT_NOPAGE);
	return process_of(high);
}

TEST(revoked_doorbells_stay_away, "doorbells that the driver takes away are gone when it goes on, for good; what is mapped afterwards is there")
{
	struct sim_process *p = program_with_doorbells(1);
	u32 round;

	for (round = 0; round < 3; round++) {
		CHECK(p->doorbell_pages[0]);
		revoke_mappings(0);
		CHECK_EQ(p->doorbell_pages[0], 0);
		CHECK_EQ(touch_doorbells(p, 0), VM_FAULT_SIGBUS);
		run(SEC);
		CHECK_EQ(touch_doorbells(p, 0), VM_FAULT_SIGBUS);
		CHECK_EQ(p->doorbell_pages[0], 0);
		map_doorbells_anew(p, 0);
		CHECK_EQ(touch_doorbells(p, 0), VM_FAULT_NOPAGE);
	}
	/* Others are no exception, and nothing keeps them from working. */
	CHECK_EQ(touch_doorbells(process_of(low), 0), VM_FAULT_SIGBUS);
	map_doorbells_anew(process_of(low), 0);
	low->kernel_ns = SEC;
	world.nodes[0].nr_wave_slots = 1;
	submit_and_run(low, 1, 20 * MS);
	submit_and_run(high, 1, 20 * MS);
	CHECK(preempted(low) || high->done == 1);
}

TEST(revoked_on_one_gpu, "a reset of one GPU leaves the doorbells of the others, and fixed ones go with their GPU's")
{
	struct sim_process *p = program_with_doorbells(2), *fixed;

	set("gpreempt_wakeup", "poll");
	fixed = process_of(add_queue(5));
	CHECK(!fixed->doorbells[0].vm_ops && fixed->doorbell_pages[0]);
	/* It opened /dev/kfd in the other mode. */
	CHECK(p->kfd.f_mapping != &p->kfd_inode.i_data);
	map_doorbells_anew(p, 1);
	CHECK(p->doorbell_pages[1]);
	revoke_mappings(0);
	CHECK_EQ(p->doorbell_pages[0], 0);
	CHECK(p->doorbell_pages[1]);
	/* Its address space is the driver's, who looks after that. */
	CHECK(fixed->doorbell_pages[0]);
	revoke_mappings(1);
	CHECK_EQ(p->doorbell_pages[1], 0);
}

TEST(revoked_on_gone_gpus, "what is left of a GPU that is gone has no entries any more; taking it away does nothing")
{
	struct sim_process *p = program_with_doorbells(1);
	u32 id = world.nodes[0].node.id;

	world.nodes[0].node.id = id + 1;
	CHECK_EQ(touch_doorbells(p, 0), VM_FAULT_SIGBUS);
	kfd_gpreempt_revoked(KFD_MMAP_TYPE_DOORBELL | KFD_MMAP_GPU_ID(id));
	CHECK(p->doorbell_pages[0]);
	world.nodes[0].node.id = id;
	CHECK_EQ(touch_doorbells(p, 0), VM_FAULT_NOPAGE);
}

static void is_revoked_now(void)
{
	world.before_mapping = NULL;
	revoke_mappings(0);
	CHECK_EQ(process_of(high)->doorbell_pages[0], 0);
}

TEST(revoked_in_a_fault, "a fault that was under way when its doorbells were taken away leaves nothing behind")
{
	struct sim_process *p = program_with_doorbells(1);

	revoke_mappings(0);
	map_doorbells_anew(p, 0);
	/* The scheduler withdraws none. */
	set("gpreempt_wakeup", "poll");
	world.before_mapping = is_revoked_now;
	CHECK_EQ(touch_doorbells(p, 0), VM_FAULT_SIGBUS);
	CHECK_AFTER(MS, !p->doorbell_pages[0]);
	CHECK_EQ(touch_doorbells(p, 0), VM_FAULT_SIGBUS);
}

static bool may_go;

static void waits_until_it_may_go(void)
{
	while (!READ_ONCE(may_go))
		fsleep(100);
}

TEST(revoking_waits_for_a_moment, "a reset waits for a tenth of a second, and no longer, for doorbells that do not go; they go later, once")
{
	struct sim_process *p = program_with_doorbells(1);
	u64 begun_ns;

	WRITE_ONCE(may_go, false);
	world.before_unmapping = waits_until_it_may_go;
	begun_ns = ktime_get_ns();
	revoke_mappings(0);
	CHECK(ktime_get_ns() - begun_ns >= 100 * MS && ktime_get_ns() - begun_ns < 110 * MS);
	/* Nothing comes back meanwhile. */
	CHECK_EQ(touch_doorbells(p, 0), VM_FAULT_SIGBUS);
	revoke_mappings(0);
	WRITE_ONCE(may_go, true);
	CHECK_AFTER(MS, !p->doorbell_pages[0] && !process_of(low)->doorbell_pages[0]);
	world.before_unmapping = NULL;
	begun_ns = ktime_get_ns();
	revoke_mappings(0);
	CHECK(ktime_get_ns() - begun_ns < 10 * MS);
}

static u64 revoking_ns(void)
{
	u64 begun_ns = ktime_get_ns();

	revoke_mappings(0);
	return ktime_get_ns() - begun_ns;
}

TEST(resets_wait_once_for_who_is_slow, "doorbells for which a reset has waited in vain delay no later one, until they have gone in time again")
{
	struct sim_process *p = program_with_doorbells(1);

	WRITE_ONCE(may_go, false);
	world.before_unmapping = waits_until_it_may_go;
	CHECK(revoking_ns() >= 100 * MS);
	/* Under way still */
	CHECK(revoking_ns() < 10 * MS);
	WRITE_ONCE(may_go, true);
	CHECK_AFTER(MS, !p->doorbell_pages[0]);
	/* Those that are mapped anew may be as slow: they are taken away, and not waited for. */
	WRITE_ONCE(may_go, false);
	map_doorbells_anew(p, 0);
	CHECK(revoking_ns() < 10 * MS);
	WRITE_ONCE(may_go, true);
	CHECK_AFTER(MS, !p->doorbell_pages[0]);
	run(SEC);
	CHECK(revoking_ns() < 10 * MS);
	run(MS);
	WRITE_ONCE(may_go, false);
	CHECK(revoking_ns() >= 100 * MS);
	WRITE_ONCE(may_go, true);
	run(MS);
	world.before_unmapping = NULL;
}

static u32 nr_stuck;
static bool others_turn;

static void is_stuck_before_others(void)
{
	if (READ_ONCE(others_turn))
		return;
	nr_stuck++;
	waits_until_it_may_go();
}

static struct sim_process *program_of_user(u32 uid)
{
	struct sim_process *process;

	current->euid.val = uid;
	process = process_of(add_queue(5));
	current->euid.val = 0;
	return process;
}

TEST(stuck_doorbells_are_their_users, "however many doorbells of one user do not go, those of others are withdrawn, and taken away in time for a reset")
{
	struct sim_process *other;
	u32 i;

	shim_nr_workers = NR_WORKERS_MAX;
	world_on(true);
	set("gpreempt_wakeup", "doorbell");
	add_rivals(10, 0);
	low->kernel_ns = SEC;
	submit(low, 1);
	WRITE_ONCE(may_go, false);
	WRITE_ONCE(others_turn, false);
	world.before_unmapping = is_stuck_before_others;
	for (i = 0; i < NR_WORKERS_MAX + 4; i++)
		program_of_user(1);
	run(50 * MS);
	/* High is of another user. */
	CHECK_EQ(nr_stuck, 16 + 1);
	WRITE_ONCE(others_turn, true);
	other = program_of_user(2);
	CHECK_EQ(touch_doorbells(other, 0), VM_FAULT_NOPAGE);
	CHECK_AFTER(50 * MS, !other->doorbell_pages[0]);
	CHECK_EQ(touch_doorbells(other, 0), VM_FAULT_NOPAGE);
	CHECK(revoking_ns() < 10 * MS);
	CHECK(!other->doorbell_pages[0]);
	WRITE_ONCE(may_go, true);
	run(MS);
	world.before_unmapping = NULL;
}

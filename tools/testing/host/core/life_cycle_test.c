// SPDX-License-Identifier: MIT
/*
 * life_cycle_test.c - nodes, processes and queues come and go, are suspended, reset and switched off
 */
#include "rivals.h"

BOTH(a_preempted_queue_goes, "a preempted queue can be destroyed; it counts as such")
{
	low_is_preempted(hws);
	destroy_queue(low);
	CHECK_EQ(atomic64_read(&stats()->destroyed_preempted), 1);
	CHECK_EQ(node_of(0)->queues.nr, 1);
	CHECK_EQ(node_of(0)->queues.nr_processes, 1);
	CHECK(run_until_idle(high, SEC));
}

BOTH(the_beneficiary_dies, "when whoever it was held for dies, a queue is resumed")
{
	low_is_preempted(hws);
	kill_process(process_of(high));
	CHECK_AFTER(10 * MS, !preempted(low));
}

BOTH(eviction_while_preempted, "evicted while preempted it stays preempted; resumed while evicted it stays off the device")
{
	low_is_preempted(hws);
	evict_queue(low, true);
	CHECK(preempted(low));
	low_resumes_after_high(10 * MS);
	CHECK(!on_device(low));
	evict_queue(low, false);
	CHECK(on_device(low));
	CHECK(run_until_idle(low, SEC));
}

BOTH(restored_while_preempted, "a restore by the driver does not bring a preempted queue back")
{
	low_is_preempted(hws);
	evict_and_restore(low);
	CHECK(preempted(low) && !on_device(low));
	update_queue(low, LOW);
	CHECK(preempted(low) && !on_device(low));
}

BOTH(switched_off_and_on, "switching off resumes everything before it returns; what is there is adopted when it is switched on")
{
	low_is_preempted(hws);
	set("gpreempt_enable", "0");
	CHECK_EQ(nr_preempted(), 0);
	CHECK(on_device(low) && !low->q.gpreempt);
	CHECK_EQ(node_of(0)->queues.nr, 0);
	CHECK_EQ(low->bo.pins, 0);
	set("gpreempt_enable", "1");
	CHECK_AFTER(20 * MS, preempted(low));
	CHECK_EQ(node_of(0)->queues.nr, 2);
}

BOTH(adoption_waits_for_processes, "a process whose lock is taken is adopted later")
{
	world_make(hws, 1, 1);
	add_rivals(0, 0);
	CHECK(!low->q.gpreempt);
	mutex_lock(&process_of(low)->p.mutex);
	set("gpreempt_enable", "1");
	CHECK_AFTER(25 * MS, !low->q.gpreempt);
	CHECK(high->q.gpreempt != NULL);
	mutex_unlock(&process_of(low)->p.mutex);
	CHECK_AFTER(25 * MS, low->q.gpreempt != NULL);
}

BOTH(adoption_knows_rights, "an adopted queue's priority counts above normal only if its owner has the right now")
{
	world_make(hws, 1, 1);
	low = add_queue_to(add_process(0), 0, HIGH);
	high = add_queue_to(add_process(0), 0, HIGH);
	process_of(high)->task.caps = CAP_SYS_NICE;
	set("gpreempt_enable", "1");
	CHECK_AFTER(25 * MS, !low->q.gpreempt->priority.trusted);
	CHECK(high->q.gpreempt->priority.trusted);
}

BOTH(suspend_and_resume, "before a suspend everything is resumed; afterwards it is preempted anew")
{
	low_is_preempted(hws);
	suspend();
	CHECK_STATE("paused");
	CHECK_EQ(nr_preempted(), 0);
	kfd_gpreempt_pause(&world.kfd);
	CHECK_EQ_AFTER(MS, nr_preempted(), 0);
	resume();
	CHECK_STATE("idle");
	CHECK_AFTER(10 * MS, preempted(low));
	kfd_gpreempt_unpause(&world.kfd);
}

BOTH(switched_on_while_suspended, "switched on while suspended, a node begins when the device is back; switched off, it ends")
{
	world_make(hws, 1, 1);
	add_rivals(10, 0);
	suspend();
	set("gpreempt_enable", "1");
	set("gpreempt_drain_us", "0");
	CHECK_STATE("paused");
	low->kernel_ns = 100 * MS;
	submit(low, 1);
	submit_and_run(high, 1000, 10 * MS);
	CHECK_EQ(nr_preempted(), 0);
	resume();
	CHECK_AFTER(10 * MS, preempted(low));
	suspend();
	set("gpreempt_enable", "0");
	resume();
	CHECK_STATE("off");
}

BOTH(reset_of_the_gpu, "a reset finds nothing preempted, and the node goes on after it")
{
	low_is_preempted(hws);
	reset_gpu();
	CHECK(!preempted(low));
	rivals_begin_anew();
	run(2 * MS);
	submit(low, 2);
	submit_and_run(high, 2, 20 * MS);
	CHECK(preempted(low));
}

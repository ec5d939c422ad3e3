// SPDX-License-Identifier: MIT
/*
 * arming_test.c - gpreempt_wakeup=doorbell, step by step: who is armed, when, and how long the monitor sleeps; doorbell_test.c has stories
 *
 * The tables ask the doorbells' row of rooms[] in the monitor's place, of a node whose queues were put into a state by hand.
 */
#include "rivals.h"

#define FIRST_AFTER	(100 * US)
#define REST_AFTER	SEC
#define FOR_EVER	U64_MAX
#define LOOK_NS		(5 * MS)
#define INTERVAL_NS	(10 * SEC)

/* Low has one queue, high has high and second, which are asked before low's. */
static struct sim_queue *second, *peer;

static struct gpreempt_policy_queue *of(struct sim_queue *sq)
{
	return &sq->q.gpreempt->policy;
}

static bool doorbells_are(const struct sim_queue *sq, const char *word)
{
	return !strcmp(gpreempt_doorbell_state(sq->q.gpreempt->process), word);
}

static bool told(const struct sim_queue *sq)
{
	return sq->q.gpreempt->process->policy.armed;
}

/* The order in which the monitor has them depends on who is dormant. */
static void arrange(void)
{
	struct gpreempt_node *gn = node_of(0);

	gn->monitor.sampled[0] = of(high);
	gn->monitor.sampled[1] = of(second);
	gn->monitor.sampled[2] = of(low);
	gn->monitor.nr_sampled = gn->policy.nr = 3;
	gn->monitor.nr_dormant = gn->policy.nr_dormant = 0;
	gn->monitor.all_due_ns = 0;
}

static void let_go(void)
{
	mutex_unlock(&node_of(0)->pass_lock);
	gpreempt_node_kick_all();
	run(10 * MS);
}

/* Everybody has been idle for long, and is armed; no pass begins before the test's end. */
static void hold_still(u32 nodes)
{
	world_on_nodes(true, nodes);
	set("gpreempt_wakeup", "doorbell");
	set("gpreempt_interval_ms", "10000");
	add_rivals(10, 0);
	second = add_queue_to(process_of(high), 0, NORMAL);
	peer = nodes > 1 ? add_queue_to(process_of(high), 1, NORMAL) : NULL;
	run(3 * SEC);
	mutex_lock(&node_of(0)->pass_lock);
	world.before_end = let_go;
	CHECK_EQ(node_of(0)->monitor.nr_sampled + node_of(0)->monitor.nr_dormant, 3);
	arrange();
	CHECK(doorbells_are(high, "armed") && doorbells_are(low, "armed"));
}

/* Since then its doorbells have entries. */
static void work_comes(struct sim_queue *sq)
{
	write_doorbell(sq);
	CHECK(doorbells_are(sq, "mapped"));
}

static u64 ask_once(bool *waits)
{
	struct gpreempt_decision decision = { .next_ns = LOOK_NS };
	struct gpreempt_nap nap = { .decision = &decision, .told = true };

	gpreempt_room_doorbell.nap(node_of(0), &nap);
	*waits = nap.told;
	return nap.ns;
}

/* What it says at the pass after those are armed that can be. */
static u64 ask(bool *waits)
{
	ask_once(waits);
	shim_yield();
	return ask_once(waits);
}

static u64 ago(u64 ns)
{
	return ktime_get_ns() - ns;
}

TEST(how_long_until_armed, "whoever outranks somebody is armed 100 us after his last work or doorbell, a lowest one after a second")
{
	static const struct {
		const char *what;
		u64 doorbell_ns, active_ns, second_active_ns;
		s32 standing, second_standing, low_standing;
		u64 next_ns;
	} cases[] = {
		{ "doorbell", 40 * US, 2 * SEC, 2 * SEC, 7, 7, -3, 60 * US },
		{ "worked", 2 * SEC, 40 * US, 2 * SEC, 7, 7, -3, 60 * US },
		{ "the second one worked", 2 * SEC, 2 * SEC, 30 * US, 7, 7, -3, 70 * US },
		{ "both worked", 2 * SEC, 40 * US, 30 * US, 7, 7, -3, 70 * US },
		{ "almost", 2 * SEC, FIRST_AFTER - 1, 2 * SEC, 7, 7, -3, 1 },
		{ "due", 2 * SEC, FIRST_AFTER, 2 * SEC, 7, 7, -3, 0 },
		{ "only the second one outranks", 2 * SEC, 40 * US, 2 * SEC, -3, 7, -3, 60 * US },
		{ "only the first one outranks", 2 * SEC, 40 * US, 2 * SEC, 7, -3, -3, 60 * US },
		{ "outranks no more", 2 * SEC, 40 * US, 2 * SEC, -3, -3, -3, REST_AFTER - 40 * US },
		{ "below everybody", 2 * SEC, 40 * US, 2 * SEC, -5, -5, -3, REST_AFTER - 40 * US },
		{ "lowest, almost", 2 * SEC, REST_AFTER - 1, 2 * SEC, -3, -3, -3, 1 },
		{ "lowest, due", 2 * SEC, REST_AFTER, 2 * SEC, -3, -3, -3, 0 },
	};
	bool waits;
	u64 next_ns;

	hold_still(1);
	EACH(i, ARRAY_SIZE(cases), "%s: ", cases[i].what) {
		work_comes(high);
		fsleep(cases[i].doorbell_ns / US);
		of(high)->seen.active_ns = ago(cases[i].active_ns);
		of(second)->seen.active_ns = ago(cases[i].second_active_ns);
		of(high)->standing = cases[i].standing;
		of(second)->standing = cases[i].second_standing;
		of(low)->standing = cases[i].low_standing;
		next_ns = ask(&waits);
		CHECK_EQ(next_ns, cases[i].next_ns ?: FOR_EVER);
		CHECK(waits);
		CHECK(told(low));
		CHECK_EQ(told(high), !cases[i].next_ns);
		CHECK(doorbells_are(high, cases[i].next_ns ? "mapped" : "armed"));
	}
	NEEDS(POLICIES);
	/* Of those that take turns nobody is the lowest. */
	gpreempt_params_store(node_of(0), GPREEMPT_TUNABLE_POLICY, "wfq");
	node_of(0)->policy.ops = gpreempt_tunables_policy(node_of(0));
	WRITE_ONCE(node_of(0)->kick, false);
	work_comes(high);
	CHECK_EQ(ask(&waits), FIRST_AFTER);
}

TEST(who_has_work_is_not_armed, "a process is not idle while one of its queues has work, waits off the device, or is kept off it, and no time is set for it")
{
	bool waits;
	u32 i;

	hold_still(1);
	work_comes(high);
	fsleep(2 * SEC / US);
	for (i = 0; i < 4; i++) {
		EACH(j, 2, "reason %u of queue %u: ", i, j) {
			struct gpreempt_policy_queue *q = of(j ? second : high);

			q->had_demand = i == 0;
			q->preempted = i == 1;
			q->set.hold = i == 2;
			q->seen.pending = i == 3;
			of(high)->seen.active_ns = of(second)->seen.active_ns = ago(40 * US);
			CHECK_EQ(ask(&waits), INTERVAL_NS);
			CHECK(waits && !told(high) && told(low));
			of(high)->seen.active_ns = of(second)->seen.active_ns = ago(REST_AFTER);
			CHECK_EQ(ask(&waits), INTERVAL_NS);
			CHECK(doorbells_are(high, "mapped"));
			q->had_demand = q->preempted = q->set.hold = false;
			q->seen.pending = 0;
		}
	}
	CHECK_EQ(atomic64_read(&stats()->doorbell_late), 0);
	/* With two who are looked at, one may outrank the other: it is looked for work. */
	work_comes(low);
	of(low)->seen.active_ns = ago(40 * US);
	of(high)->had_demand = true;
	CHECK_EQ(ask(&waits), LOOK_NS);
	CHECK(!waits && !told(high) && !told(low));
	of(high)->had_demand = false;
	of(high)->seen.active_ns = ago(40 * US);
	CHECK_EQ(ask(&waits), 60 * US);
	CHECK(!waits);
	CHECK_EQ(node_of(0)->monitor.nr_sampled, 3);
}

static void nothing(struct sim_queue *sq, bool on) { }
static void is_not_sampled(struct sim_queue *sq, bool on) { blind(sq, on); }
static void got_packets(struct sim_queue *sq, bool on) { sq->pointers[1] += on ? 1 : -1; }
static void was_preempted(struct sim_queue *sq, bool on) { of(sq)->preempted = on; }
static void was_evicted(struct sim_queue *sq, bool on) { sq->q.properties.is_active = !on; }
static void had_work(struct sim_queue *sq, bool on) { of(sq)->had_demand = on; }
static void was_judged_by_less(struct sim_queue *sq, bool on) { of(sq)->seen.rptr -= on ? 1 : -1; of(sq)->seen.wptr -= on ? 1 : -1; }
static void had_read_less(struct sim_queue *sq, bool on) { of(sq)->seen.rptr -= on ? 1 : -1; }
static void had_written_less(struct sim_queue *sq, bool on) { of(sq)->seen.wptr -= on ? 1 : -1; }

TEST(all_queues_have_to_be_idle, "of all GPUs, as of now: no work, nothing kept off, and nothing moved since it was judged, by a monitor that judges")
{
	static const struct {
		void (*change)(struct sim_queue *sq, bool on);
		/* What comes of it on a queue of this node, of another, and of another whose monitor is parked. */
		bool here, there, parked;
	} cases[] = {
		{ nothing, true, true, true },
		{ is_not_sampled, false, false, false },
		{ got_packets, false, false, false },
		{ was_preempted, false, false, false },
		{ was_evicted, false, false, false },
		{ had_work, false, false, true },
		{ was_judged_by_less, false, false, true },
		{ had_read_less, false, false, true },
		{ had_written_less, false, false, true },
	};
	static const enum gpreempt_state states[] = { GPREEMPT_STATE_ARMED, GPREEMPT_STATE_PARKED, GPREEMPT_STATE_IDLE };
	bool waits;
	u32 i, j;

	hold_still(2);
	mutex_lock(&node_of(1)->pass_lock);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		EACH(place, 6, "case %u, place %u: ", i, place) {
			struct sim_queue *sq = place < 2 ? second : place < 4 ? peer : high;
			bool arms = sq == peer ? (place == 3 ? cases[i].parked : cases[i].there) : cases[i].here;

			work_comes(high);
			fsleep(2 * SEC / US);
			arrange();
			/* It says where this node was before this pass, or where the other is. */
			for (j = 0; j < 2; j++)
				WRITE_ONCE(node_of(j)->monitor.state, j == (sq == peer) && place & 1 ? GPREEMPT_STATE_PARKED : states[place == 4 ? 2 : 0]);
			cases[i].change(sq, true);
			of(high)->seen.active_ns = of(second)->seen.active_ns = ago(REST_AFTER);
			CHECK_EQ(ask(&waits), arms ? FOR_EVER : INTERVAL_NS);
			CHECK(doorbells_are(high, arms ? "armed" : "mapped"));
			cases[i].change(sq, false);
			WRITE_ONCE(node_of(0)->monitor.state, GPREEMPT_STATE_ARMED);
			WRITE_ONCE(node_of(1)->monitor.state, GPREEMPT_STATE_ARMED);
			if (!arms)
				ask(&waits);
		}
	}
	CHECK_EQ(atomic64_read(&stats()->doorbell_late), 0);
	mutex_unlock(&node_of(1)->pass_lock);
}

/* ---- what happens between the two looks ---- */

static void high_gets_packets(void) { got_packets(high, true); }
static void second_gets_packets(void) { got_packets(second, true); }

/* Another monitor has looked at it meanwhile, or the queue would not seem idle. */
static void worked_meanwhile(struct sim_queue *sq)
{
	of(sq)->seen.rptr = ++sq->pointers[0];
	of(sq)->seen.wptr = ++sq->pointers[1];
	sq->submitted++;
	sq->done++;
}

static void high_worked(void) { worked_meanwhile(high); }
static void second_worked(void) { worked_meanwhile(second); }
static void high_is_fixed(void) { process_of(high)->p.gpreempt_fixed = true; }
static void (*meanwhile)(void);

static void once(void)
{
	world.before_unmapping = NULL;
	meanwhile();
}

TEST(work_that_came_meanwhile, "who got work, did some, or was given a fixed mapping while his entries went, is not armed: everybody is looked at at once")
{
	static void (*const cases[])(void) = { high_gets_packets, second_gets_packets, high_worked, second_worked, high_is_fixed };
	bool waits;
	u64 arms;

	hold_still(1);
	EACH_CASE(i, cases) {
		work_comes(high);
		work_comes(low);
		fsleep(2 * SEC / US);
		arms = atomic64_read(&stats()->doorbell_arms);
		atomic64_set(&stats()->doorbell_faults, 0);
		atomic64_set(&stats()->doorbell_late, 0);
		meanwhile = cases[i];
		world.before_unmapping = once;
		WRITE_ONCE(node_of(0)->doorbell_ns, 0);
		ask_once(&waits);
		shim_yield();
		/* The monitor is woken for it. */
		CHECK(node_of(0)->doorbell_ns && !world.before_unmapping);
		CHECK(!told(high) && doorbells_are(low, "armed"));
		CHECK(doorbells_are(high, i == 4 ? "fixed" : "mapped"));
		/* High once, low once. */
		CHECK_EQ(atomic64_read(&stats()->doorbell_arms), arms + 2);
		CHECK_EQ(atomic64_read(&stats()->doorbell_late), 1);
		CHECK_EQ(atomic64_read(&stats()->doorbell_faults), 0);
		process_of(high)->p.gpreempt_fixed = false;
		/* No entry is there, but nobody counts on a fault: this one only brings the entries back. */
		CHECK(doorbells_are(high, "mapped"));
		CHECK_EQ(process_of(high)->doorbell_pages[0], 0);
		write_doorbell(high);
		CHECK_EQ(atomic64_read(&stats()->doorbell_faults), 0);
		if (i < 2)
			got_packets(i ? second : high, false);
		fsleep(2 * SEC / US);
		CHECK_EQ(ask(&waits), FOR_EVER);
		CHECK(waits && told(high));
	}
}

TEST(nobody_is_armed_then, "while something is being done or undone, or has to be done again, the next look is when the policy wants it, or soon")
{
	static const struct {
		u32 nr_preempt, nr_preempted, nr_resume;
		bool again, kick;
		u64 next_ns;
	} cases[] = {
		{ .nr_preempt = 1, .next_ns = LOOK_NS },
		{ .again = true, .next_ns = LOOK_NS },
		{ .nr_preempted = 1, .next_ns = LOOK_NS },
		{ .nr_preempted = 2, .nr_resume = 1, .next_ns = LOOK_NS },
		{ .nr_preempted = 1, .nr_resume = 1, .next_ns = FIRST_AFTER },
		{ .kick = true, .next_ns = LOOK_NS },
	};
	bool waits;

	hold_still(1);
	work_comes(high);
	fsleep(2 * SEC / US);
	EACH_CASE(i, cases) {
		struct gpreempt_decision decision = {
			.nr_preempt = cases[i].nr_preempt, .nr_preempted = cases[i].nr_preempted, .nr_resume = cases[i].nr_resume, .next_ns = LOOK_NS,
		};
		struct gpreempt_nap nap = { .decision = &decision, .told = true };

		node_of(0)->monitor.again = cases[i].again;
		WRITE_ONCE(node_of(0)->kick, cases[i].kick);
		gpreempt_room_doorbell.nap(node_of(0), &nap);
		CHECK_EQ(nap.ns, cases[i].next_ns);
		CHECK(!nap.told);
		CHECK(!srcu_read_lock_held(&node_of(0)->queues.srcu));
		CHECK(doorbells_are(high, "mapped"));
		node_of(0)->monitor.again = false;
		WRITE_ONCE(node_of(0)->kick, false);
	}
	CHECK_EQ(ask(&waits), FOR_EVER);
	CHECK(waits);
}

/* ---- opening, mapping, faulting ---- */

static struct file also;

static void opens_too(void)
{
	shim_while_making_file = NULL;
	kfd_gpreempt_opened(&world.processes[0]->p, &also);
}

TEST(two_threads_open, "of two threads that open /dev/kfd at once both get the doorbells of the one that was faster, and nothing is left of the other's")
{
	world_on(true);
	set("gpreempt_wakeup", "doorbell");
	shim_while_making_file = opens_too;
	add_process(0);
	CHECK(also.f_mapping && also.f_mapping == world.processes[0]->kfd.f_mapping);
}

TEST(mappings_are_counted_in_pages, "a mapping of doorbells counts its pages from the first of its GPU, so that what is left of it after munmap() gets the same doorbells")
{
	struct kfd_process_device *pdd;
	struct vm_area_struct *vma, fresh;
	struct vm_fault fault = { 0 };

	world_on(true);
	set("gpreempt_wakeup", "doorbell");
	high = add_queue(0);
	run(10 * MS);
	pdd = &process_of(high)->p.pdds[0];
	vma = &process_of(high)->doorbells[0];
	fresh = *vma;
	fresh.vm_ops = NULL;
	fresh.vm_private_data = NULL;
	fresh.vm_page_prot.bits = 0;
	/* KFD looks at no other bits. */
	fresh.vm_pgoff += 5;
	CHECK(kfd_gpreempt_maps_doorbells(pdd, &fresh, 0xd0003000));
	CHECK_EQ(fresh.vm_pgoff, (KFD_MMAP_TYPE_DOORBELL | KFD_MMAP_GPU_ID(pdd->dev->id)) >> PAGE_SHIFT);
	CHECK_EQ((unsigned long)fresh.vm_private_data, 0xd0003);
	CHECK_EQ(fresh.vm_page_prot.bits, PGPROT_DECRYPTED);
	CHECK(fresh.vm_ops == vma->vm_ops);
	/* Nobody faults pages in around another. */
	CHECK_EQ(fresh.vm_ops->map_pages(&fault, 0, 1), 0);

	write_doorbell(high);
	process_of(high)->doorbell_pages[0] = 0;
	vma->vm_start += PAGE_SIZE;
	vma->vm_pgoff++;
	fault = (struct vm_fault){ .vma = vma, .address = vma->vm_start };
	CHECK_EQ(vma->vm_ops->fault(&fault), VM_FAULT_NOPAGE);
	CHECK_EQ(process_of(high)->doorbell_pages[0], 1);
}

static void is_told_already(void)
{
	world.before_mapping = NULL;
	CHECK(doorbells_are(high, "mapped"));
	CHECK_EQ(atomic64_read(&stats()->doorbell_faults), 1);
}

static void is_armed_again(void)
{
	bool waits;

	world.before_mapping = NULL;
	of(high)->seen.active_ns = of(second)->seen.active_ns = 0;
	fsleep(2 * SEC / US);
	CHECK_EQ(ask(&waits), FOR_EVER);
	CHECK(doorbells_are(high, "armed"));
}

TEST(faults_tell_first, "a fault wakes the monitors before it puts entries back, and counts once more if the process has been armed meanwhile")
{
	hold_still(1);
	atomic64_set(&stats()->doorbell_faults, 0);
	world.before_mapping = is_told_already;
	work_comes(high);
	CHECK_EQ(atomic64_read(&stats()->doorbell_faults), 1);
	is_armed_again();
	world.before_mapping = is_armed_again;
	work_comes(high);
	CHECK_EQ(atomic64_read(&stats()->doorbell_faults), 3);
}

TEST(fixed_mappings_are_no_doorbells, "that a process is armed no more because of a fixed mapping is not counted as a write")
{
	struct vm_area_struct fixed;

	hold_still(1);
	atomic64_set(&stats()->doorbell_faults, 0);
	fixed = process_of(high)->doorbells[0];
	fixed.vm_flags = 0;
	CHECK(!kfd_gpreempt_maps_doorbells(&process_of(high)->p.pdds[0], &fixed, 0xd0000000));
	CHECK(doorbells_are(high, "fixed"));
	CHECK_EQ(atomic64_read(&stats()->doorbell_faults), 0);
}

// SPDX-License-Identifier: MIT
/*
 * pointers_test.c - where programs may have their ring pointers, and what comes of it for them and for others; see fake_amdkfd.h
 */
#include <sys/mman.h>

#include "rivals.h"

static struct sim_queue *queue_with(void (*change)(struct sim_queue *sq), int nice, u32 priority)
{
	struct sim_queue *sq;

	world_prepares = change;
	sq = add_queue_to(add_process(nice), 0, priority);
	world_prepares = NULL;
	return sq;
}

/* ---- what cannot be read ---- */

static void no_bo(struct sim_queue *sq) { sq->q.properties.rptr_bo = NULL; }
static void no_wptr_bo(struct sim_queue *sq) { sq->q.properties.wptr_bo = NULL; }
static void crooked_rptr(struct sim_queue *sq) { sq->q.properties.read_ptr += 4; }
static void crooked_wptr(struct sim_queue *sq) { sq->q.properties.write_ptr += 4; }
static void bo_reserve_fails(struct sim_queue *sq) { sq->bo.fails_reserve = true; }
static void bo_pin_fails(struct sim_queue *sq) { sq->bo.fails_pin = true; }
static void bo_kmap_fails(struct sim_queue *sq) { sq->bo.fails_kmap = true; }
static void bo_hangs(struct sim_queue *sq) { sq->bo.resv.hangs = true; }
static void no_domain(struct sim_queue *sq) { sq->bo.preferred_domains = 0; }
static void two_pages(struct sim_queue *sq) { sq->bo.tbo.base.size = 2 * PAGE_SIZE; }
static void many_pages(struct sim_queue *sq) { sq->bo.tbo.base.size = 1ULL << 32; }
static void less_than_a_page(struct sim_queue *sq) { sq->bo.tbo.base.size = PAGE_SIZE / 2; }
static void dma_addresses(struct sim_queue *sq) { sq->bo.tbo.type = ttm_bo_type_sg; }
static void imported(struct sim_queue *sq) { sq->bo.tbo.base.import_attach = sq; }

static void visible_vram(struct sim_queue *sq)
{
	sq->bo.preferred_domains = AMDGPU_GEM_DOMAIN_VRAM;
	sq->bo.flags = AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED;
}

/* The CPU has not used it yet, but could. */
static void unused_vram(struct sim_queue *sq) { sq->bo.preferred_domains = AMDGPU_GEM_DOMAIN_VRAM; }

static void private_vram(struct sim_queue *sq)
{
	unused_vram(sq);
	sq->bo.resource.hidden = true;
}

static void no_cpu_access(struct sim_queue *sq)
{
	visible_vram(sq);
	sq->bo.flags |= AMDGPU_GEM_CREATE_NO_CPU_ACCESS;
}

/* Somebody has pinned it before, where the CPU does not reach. */
static void hidden_vram(struct sim_queue *sq)
{
	private_vram(sq);
	visible_vram(sq);
}

static struct amdgpu_device other_adev;
static struct ttm_device other_bdev = { .adev = &other_adev };

static void vram_of_another_device(struct sim_queue *sq)
{
	visible_vram(sq);
	sq->bo.tbo.bdev = &other_bdev;
}

static void large_vram(struct sim_queue *sq)
{
	visible_vram(sq);
	many_pages(sq);
}

static void user_pages(struct sim_queue *sq)
{
	sq->ttm.usermm = &process_of(sq)->mm;
	sq->ttm.userptr = (unsigned long)sq->pointers;
	process_of(sq)->mm.pages[0].address = sq->pointers;
}

static void many_user_pages(struct sim_queue *sq)
{
	user_pages(sq);
	many_pages(sq);
}

/* The thread that made it has ended: the pages have no mm any more, and are no less user pages. */
static void thread_ended(struct sim_queue *sq)
{
	user_pages(sq);
	sq->ttm.usermm = NULL;
}

static struct mm_struct other_mm;

static void pages_of_another(struct sim_queue *sq)
{
	user_pages(sq);
	sq->ttm.usermm = &other_mm;
}

static void no_page(struct sim_queue *sq)
{
	user_pages(sq);
	process_of(sq)->mm.pages[0].address = NULL;
}

static void pinning_fails(struct sim_queue *sq)
{
	user_pages(sq);
	process_of(sq)->mm.refuses = true;
}

/* It is created by somebody else for it. */
static void no_mm(struct sim_queue *sq)
{
	user_pages(sq);
	current->mm = NULL;
}

static void no_mm_to_charge(struct sim_queue *sq) { current->mm = NULL; }

static void (*const unmappable[])(struct sim_queue *sq) = {
	no_bo, no_wptr_bo, crooked_rptr, crooked_wptr, bo_reserve_fails, bo_pin_fails, bo_kmap_fails, bo_hangs, no_domain, two_pages, many_pages,
	less_than_a_page, dma_addresses, imported, private_vram, no_cpu_access, hidden_vram, vram_of_another_device, large_vram, many_user_pages,
	thread_ended, pages_of_another, no_page, pinning_fails, no_mm, no_mm_to_charge,
};

BOTH(unmappable_pointers, "a queue whose pointers cannot be mapped is registered, said so, and leaves nothing pinned")
{
	world_on(hws);
	EACH_CASE(i, unmappable) {
		struct sim_queue *sq = queue_with(unmappable[i], 0, NORMAL);

		CHECK(sq->q.gpreempt && !seen(sq));
		CHECK_AFTER(MS, !strcmp(gpreempt_queue_sysfs_state(sq->q.gpreempt, 0), "unmapped"));
		CHECK_EQ(gpreempt_node_pending(sq->q.gpreempt), 0);
		CHECK_EQ(skipped(GPREEMPT_SKIP_UNMAPPED), i + 1);
		CHECK_EQ(sq->bo.pins + sq->bo.kmaps + sq->bo.references, 0);
		CHECK_EQ(atomic64_read(&process_of(sq)->mm.pinned_vm), 0);
		CHECK_EQ(process_of(sq)->mm.pages[0].pins, 0);
		sq->bo.fails_reserve = false;
		kill_process(process_of(sq));
	}
}

TEST(only_one_page_is_ever_mapped, "a buffer object of another size than a page, imported, of DMA addresses or of nobody's user pages is not mapped at all")
{
	static void (*const refused[])(struct sim_queue *sq) = {
		two_pages, many_pages, less_than_a_page, large_vram, many_user_pages, dma_addresses, imported, thread_ended, pages_of_another,
		hidden_vram, vram_of_another_device,
	};

	world_on(true);
	EACH_CASE(i, refused) {
		struct sim_queue *sq = queue_with(refused[i], 0, NORMAL);

		CHECK(!seen(sq));
		/* Nor later, when it is looked at again. */
		submit_and_run(sq, 3, 2500 * MS);
		update_queue(sq, LOW);
		CHECK(!seen(sq));
		CHECK_EQ(gpreempt_node_pending(sq->q.gpreempt), 0);
		CHECK(idle(sq));
		kill_process(process_of(sq));
	}
}

/* Ways that need no right, nor anybody's mistake. */
static void (*const ways[])(struct sim_queue *sq) = { private_vram, no_cpu_access, no_bo, crooked_rptr, crooked_wptr, two_pages };

BOTH(pointer_in_private_vram_is_no_exemption,
     "a low queue whose pointers cannot be read yields to a high one, gets its relief, and does all of its work once; its hardware priority is the normal one")
{
	u32 preempted_before, reliefs;

	world_on(hws);
	world.nodes[0].nr_wave_slots = 1;
	high = add_queue(0);
	high->kernel_ns = MS;
	EACH(i, ARRAY_SIZE(ways), "way %u: ", i) {
		set("gpreempt_max_hold_ms", "0");
		low = queue_with(ways[i], 10, HIGH);
		run_kernels(low, 3, 50 * MS, 10 * MS);
		CHECK(low->in_slot);
		preempted_before = preemptions();
		submit_and_run(high, 100, 10 * MS);
		CHECK(preempted(low) && high->in_slot);
		CHECK(!strcmp(gpreempt_queue_sysfs_state(low->q.gpreempt, 0), "preempted"));
		CHECK_EQ(mqd_priority(low), NORMAL);
		CHECK_EQ(preemptions(), preempted_before + 1);
		CHECK(run_until_idle(high, SEC));
		CHECK(run_until_idle(low, SEC));
		CHECK_EQ(preemptions(), preempted_before + 1);

		/* Held for longer than anybody may be. */
		set("gpreempt_max_hold_ms", "200");
		reliefs = atomic64_read(&stats()->relief_slices);
		submit_and_run(low, 1, 2 * MS);
		submit_and_run(high, 600, 300 * MS);
		CHECK(atomic64_read(&stats()->relief_slices) > reliefs);
		CHECK(run_until_idle(high, 2 * SEC));
		CHECK(run_until_idle(low, SEC));
		kill_process(process_of(low));
	}
}

BOTH(unseen_queues_are_no_reason, "nobody is preempted for a queue whose pointers cannot be read, however high, and idle it holds up nobody")
{
	world_on(hws);
	low = add_queue(10);
	low->kernel_ns = 5 * MS;
	EACH(i, ARRAY_SIZE(ways), "way %u: ", i) {
		high = queue_with(ways[i], -10, NORMAL);
		high->kernel_ns = 5 * MS;
		submit(low, 10);
		submit(high, 10);
		CHECK(run_until_idle(low, SEC));
		CHECK(run_until_idle(high, SEC));
		CHECK_EQ(preemptions(), 0);
		kill_process(process_of(high));
	}
}

BOTH(unseen_queues_are_held_on_request, "a queue whose pointers cannot be read is held and let go like any other")
{
	world_on(hws);
	low = queue_with(no_bo, 0, NORMAL);
	run_kernels(low, 2, 20 * MS, 2 * MS);
	mutex_lock(&gpreempt_lock);
	low->q.gpreempt->hold.any = true;
	gpreempt_node_kick(node_of(0));
	mutex_unlock(&gpreempt_lock);
	CHECK_AFTER(10 * MS, preempted(low));
	CHECK_EQ(low->done, 0);
	mutex_lock(&gpreempt_lock);
	low->q.gpreempt->hold.any = false;
	gpreempt_node_kick(node_of(0));
	mutex_unlock(&gpreempt_lock);
	CHECK(run_until_idle(low, SEC));
}

/* ---- what can ---- */

TEST(mapped_pointers, "pointers in user pages and in visible memory of the device are read, and let go; a page for both counts once")
{
	struct sim_queue *sq;

	world_on(true);
	sq = queue_with(user_pages, 0, NORMAL);
	CHECK(seen(sq) && !sq->q.gpreempt->view.pointers->vram);
	CHECK_EQ(process_of(sq)->mm.pages[0].pins, 1);
	CHECK_EQ(atomic64_read(&process_of(sq)->mm.pinned_vm), 1);
	submit(sq, 3);
	CHECK_EQ(gpreempt_node_pending(sq->q.gpreempt), 3);
	run(MS);
	destroy_queue(sq);
	CHECK_EQ(atomic64_read(&process_of(sq)->mm.pinned_vm), 0);
	sq = queue_with(visible_vram, 0, NORMAL);
	CHECK(seen(sq) && sq->q.gpreempt->view.pointers->vram);
	CHECK_EQ(sq->bo.pins, 1);
	CHECK_EQ(atomic64_read(&process_of(sq)->mm.pinned_vm), 1);
	submit(sq, 3);
	CHECK_EQ(gpreempt_node_pending(sq->q.gpreempt), 3);
	destroy_queue(sq);
	sq = queue_with(unused_vram, 0, NORMAL);
	CHECK(seen(sq) && sq->q.gpreempt->view.pointers->vram);
}

/* The write pointer has a BO of its own. */
static struct amdgpu_bo apart;
static u64 apart_page[PAGE_SIZE / sizeof(u64)] __attribute__((aligned(PAGE_SIZE)));

static void wptr_apart(struct sim_queue *sq)
{
	apart = sq->bo;
	apart.tbo.base.resv = &apart.resv;
	apart.tbo.resource = &apart.resource;
	apart.tbo.memory = apart_page;
	sq->q.properties.wptr_bo = &apart;
	sq->q.properties.write_ptr = (void *)&apart_page[100];
}

static void wptr_apart_in_vram(struct sim_queue *sq)
{
	wptr_apart(sq);
	visible_vram(sq);
	sq->bo.preferred_domains = AMDGPU_GEM_DOMAIN_GTT;
	apart.preferred_domains = AMDGPU_GEM_DOMAIN_VRAM;
	apart.flags = AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED;
}

static void wptr_apart_unmappable(struct sim_queue *sq)
{
	wptr_apart(sq);
	two_pages(sq);
	sq->bo.tbo.base.size = PAGE_SIZE;
	apart.tbo.base.size = 2 * PAGE_SIZE;
}

TEST(pointers_may_be_apart, "pointers in two pages are both mapped and both counted, or neither")
{
	world_on(true);
	low = queue_with(wptr_apart, 0, NORMAL);
	CHECK(seen(low) && !low->q.gpreempt->view.pointers->vram);
	CHECK_EQ(low->bo.pins, 1);
	CHECK_EQ(apart.pins, 1);
	CHECK_EQ(atomic64_read(&process_of(low)->mm.pinned_vm), 2);
	apart_page[100] = 7;
	CHECK_EQ(gpreempt_node_pending(low->q.gpreempt), 7);
	apart_page[100] = 0;
	kill_process(process_of(low));
	CHECK_EQ(apart.pins, 0);
	low = queue_with(wptr_apart_in_vram, 0, NORMAL);
	CHECK(seen(low) && low->q.gpreempt->view.pointers->vram);
	kill_process(process_of(low));
	low = queue_with(wptr_apart_unmappable, 0, NORMAL);
	CHECK(!seen(low));
	CHECK_EQ(low->bo.pins + apart.pins, 0);
	kill_process(process_of(low));
}

/* ---- memory of the device ---- */

BOTH(suspend_takes_no_pinned_vram, "memory of the device is let go before it is suspended, and mapped again when it is back; other memory stays")
{
	struct sim_queue *gtt;

	world_on(hws);
	high = queue_with(visible_vram, 0, NORMAL);
	gtt = add_queue(10);
	low = add_queue(10);
	run_kernels(low, 2, 50 * MS, 5 * MS);
	suspend();
	CHECK_EQ(high->bo.pins + high->bo.kmaps + high->bo.references, 0);
	CHECK_EQ(atomic64_read(&process_of(high)->mm.pinned_vm), 0);
	CHECK(!seen(high));
	CHECK(seen(gtt) && gtt->bo.pins == 1);
	fsleep(3 * SEC / US);
	CHECK(!seen(high));
	resume();
	CHECK_AFTER(5 * MS, seen(high));
	CHECK_EQ(high->bo.pins, 1);
	world.nodes[0].nr_wave_slots = 1;
	high_preempts_low();
}

BOTH(vram_stays_where_it_is, "where the driver takes all queues off and programs go on, no memory of the device is touched; a device that goes is let go")
{
	world_on(hws);
	high = queue_with(visible_vram, 0, NORMAL);
	low = add_queue(10);
	world.nodes[0].nr_wave_slots = 1;
	high->kernel_ns = 100 * MS;
	run_kernels(low, 20, 50 * MS, 10 * MS);
	submit_and_run(high, 1, 20 * MS);
	CHECK(preempted(low));
	/* Its holder may wait for the job that made the driver do this. */
	high->bo.reserved = true;
	mutex_lock(&gpreempt_lock);
	take_all_off();
	CHECK(!preempted(low));
	CHECK_STATE("paused");
	mutex_unlock(&gpreempt_lock);
	high->bo.reserved = false;
	CHECK(seen(high) && high->bo.pins == 1);
	resume();
	submit(low, 20);
	run(5 * MS);
	high_preempts_low();
	world.adev.shutdown = true;
	take_all_off();
	CHECK(!seen(high) && high->bo.pins == 0);
	resume();
	world.adev.shutdown = false;
}

TEST(reset_reads_nothing_of_the_device, "while the device is being reset nobody reads pointers in its memory, which stays mapped")
{
	char text[4096];

	world_on(true);
	high = queue_with(visible_vram, 0, NORMAL);
	low = queue_with(visible_vram, 10, NORMAL);
	submit_and_run(low, 1, 2 * MS);
	submit(high, 1);
	CHECK_EQ(gpreempt_node_pending(high->q.gpreempt), 1);
	world.reset_domain.sem.writer = true;
	mprotect(high->pointers, PAGE_SIZE, PROT_NONE);
	mprotect(low->pointers, PAGE_SIZE, PROT_NONE);
	fsleep(20 * MS / US);
	CHECK_EQ(gpreempt_node_pending(high->q.gpreempt), 0);
	CHECK(strstr(shim_debugfs_read("gpreempt"), " 0 0 ") != NULL);
	CHECK(shim_debugfs_read("gpreempt_dump") != NULL);
	CHECK(shim_file_show(&high->q.kobj, "gpreempt_state", text) > 0);
	mprotect(high->pointers, PAGE_SIZE, PROT_READ | PROT_WRITE);
	mprotect(low->pointers, PAGE_SIZE, PROT_READ | PROT_WRITE);
	world.reset_domain.sem.writer = false;
	CHECK_EQ(gpreempt_node_pending(high->q.gpreempt), 1);
	CHECK_EQ(high->bo.pins, 1);
	run(MS);
	reset_gpu();
	CHECK_EQ(high->bo.pins, 1);
}

/* ---- what is pinned counts ---- */

TEST(pinned_pages_count_as_the_owners, "what is pinned counts in the owner's RLIMIT_MEMLOCK; beyond it a queue is not seen, until there is room")
{
	struct sim_process *process;
	struct sim_queue *sq[4];
	u32 i;

	world_on(true);
	process = add_process(0);
	process->task.memlock_pages = 3;
	for (i = 0; i < 4; i++)
		sq[i] = add_queue_to(process, 0, NORMAL);
	CHECK_EQ(atomic64_read(&process->mm.pinned_vm), 3);
	CHECK(seen(sq[2]) && !seen(sq[3]));
	CHECK_EQ(sq[3]->bo.pins, 0);
	CHECK_AFTER(2500 * MS, !seen(sq[3]));
	destroy_queue(sq[0]);
	CHECK_EQ(atomic64_read(&process->mm.pinned_vm), 2);
	CHECK_AFTER(2500 * MS, seen(sq[3]));
	CHECK_EQ(atomic64_read(&process->mm.pinned_vm), 3);
	/* Who may lock any memory may have this, too. */
	process->task.caps = CAP_IPC_LOCK;
	sq[0] = add_queue_to(process, 0, NORMAL);
	CHECK(seen(sq[0]));
	CHECK_EQ(atomic64_read(&process->mm.pinned_vm), 4);
}

/* ---- pages that come, go and change ---- */

BOTH(pages_may_come_later, "a queue that is restored before its pages is seen as soon as they are there, and has its rank from then on")
{
	world_on(hws);
	world.nodes[0].nr_wave_slots = 1;
	low = add_queue(10);
	low->kernel_ns = 50 * MS;
	high = queue_with(no_page, 0, NORMAL);
	high->kernel_ns = 50 * MS;
	submit_and_run(low, 10, 2500 * MS);
	CHECK(!seen(high));
	process_of(high)->mm.pages[0].address = high->pointers;
	CHECK_AFTER(2500 * MS, seen(high));
	submit_and_run(low, 10, 2 * MS);
	CHECK(low->in_slot);
	submit_and_run(high, 2, 10 * MS);
	CHECK(preempted(low) && high->in_slot);
}

TEST(update_looks_for_pages_at_once, "a queue that was not seen is looked at again with UPDATE_QUEUE, in its program's own context")
{
	world_on(true);
	high = queue_with(no_page, 0, NORMAL);
	CHECK(!seen(high));
	process_of(high)->mm.pages[0].address = high->pointers;
	process_of(high)->mm.pages[0].absent = true;
	current->mm = &process_of(high)->mm;
	update_queue(high, HIGH);
	current->mm = NULL;
	CHECK(seen(high));
	CHECK_EQ(process_of(high)->mm.faults, 1);
}

TEST(nobody_waits_for_anothers_pages, "a work item waits neither for a page of a program nor for its mm: what answers for them need never answer")
{
	struct mm_struct *mm;

	world_on(true);
	high = queue_with(no_page, 0, NORMAL);
	mm = &process_of(high)->mm;
	mm->pages[0].address = high->pointers;
	mm->pages[0].absent = true;
	CHECK_AFTER(2500 * MS, !seen(high));
	CHECK_EQ(mm->faults, 0);
	mm->pages[0].absent = false;
	mm->locked = true;
	CHECK_AFTER(2500 * MS, !seen(high));
	mm->locked = false;
	CHECK_AFTER(2500 * MS, seen(high));
	/* Not to know is no reason to let go. */
	mm->locked = true;
	CHECK_AFTER(2500 * MS, seen(high));
	mm->locked = false;
	/* The same when what there was before is adopted. */
	set("gpreempt_enable", "0");
	mm->pages[0].absent = true;
	set("gpreempt_enable", "1");
	CHECK_AFTER(20 * MS, high->q.gpreempt && !seen(high));
	CHECK_EQ(mm->faults, 0);
}

BOTH(replaced_pages_are_found, "a program that replaces the page of its pointers is seen there within two seconds, and the old page is let go")
{
	struct mm_struct *mm;
	u64 *before, *after;

	world_on(hws);
	world.nodes[0].nr_wave_slots = 1;
	low = add_queue(10);
	low->kernel_ns = 50 * MS;
	high = queue_with(user_pages, 0, NORMAL);
	high->kernel_ns = 10 * MS;
	mm = &process_of(high)->mm;
	CHECK_EQ_AFTER(2500 * MS, mm->pages[0].pins, 1);
	before = high->pointers;
	after = aligned_alloc(PAGE_SIZE, PAGE_SIZE);
	memset(after, 0, PAGE_SIZE);
	/* Another page at the same address: the device reaches it by then, the kernel does not. */
	mm->pages[1] = (struct page){ .address = after, .user = (unsigned long)before };
	mm->pages[0].user = PAGE_SIZE;
	high->pointers = after;
	submit_and_run(low, 10, 2500 * MS);
	CHECK(seen(high));
	CHECK_EQ(mm->pages[0].pins, 0);
	CHECK_EQ(mm->pages[1].pins, 1);
	CHECK_EQ(atomic64_read(&mm->pinned_vm), 1);
	submit_and_run(low, 2, 2 * MS);
	submit_and_run(high, 2, 5 * MS);
	CHECK(preempted(low) && high->in_slot);
	CHECK(run_until_idle(high, SEC));
	/* Gone altogether: not seen, and no exemption. */
	mm->pages[1].user = PAGE_SIZE;
	CHECK_AFTER(2500 * MS, !seen(high));
	CHECK_EQ(mm->pages[1].pins, 0);
	free(before);
}

/* ---- whose memory it is ---- */

TEST(adoption_knows_whose_memory, "a process whose thread has executed another program has no memory of that one mapped for its queues")
{
	static struct mm_struct next;

	world_on(true);
	set("gpreempt_enable", "0");
	low = queue_with(user_pages, 0, NORMAL);
	next.pages[0].address = low->pointers;
	process_of(low)->task.mm = &next;
	set("gpreempt_enable", "1");
	CHECK_AFTER(20 * MS, low->q.gpreempt && !seen(low));
	CHECK_EQ(next.pages[0].pins + process_of(low)->mm.pages[0].pins, 0);
	CHECK_EQ(next.users, 0);
	/* Also later. */
	CHECK_AFTER(2500 * MS, !seen(low));
	CHECK_EQ(next.users, 0);
	process_of(low)->task.mm = &process_of(low)->mm;
	CHECK_AFTER(2500 * MS, seen(low));
}

/* ---- pointers that stand still ---- */

/*
 * Low's pointers stand still for the kernel from now on: it writes them back, or has another page there. Nothing of that is found out: somebody has its
 * mm all the time.
 */
static void freeze(struct sim_queue *sq)
{
	struct mm_struct *mm = &process_of(sq)->mm;
	u64 *shown = sq->pointers;

	sq->pointers = aligned_alloc(PAGE_SIZE, PAGE_SIZE);
	memcpy(sq->pointers, shown, PAGE_SIZE);
	mm->locked = true;
}

/* High has work for a part of each 10 ms. */
static void requests(u64 ns)
{
	u64 end_ns = ktime_get_ns() + ns;

	while (ktime_get_ns() < end_ns)
		submit_and_run(high, 1, 10 * MS);
}

BOTH(frozen_pointers_hide_no_work, "of a program whose pointers stand still for the kernel waves in flight tell: it hides for 100 ms at most, and for no longer than it was idle")
{
	static const u64 idle_ns[] = { 50 * MS, 500 * MS, 2 * SEC, 8 * SEC };
	u64 began_ns, hidden_ns, *shown;

	world_on(hws);
	world.nodes[0].nr_wave_slots = 1;
	low = queue_with(user_pages, 10, NORMAL);
	high = add_queue(0);
	high->kernel_ns = 3 * MS;
	low->kernel_ns = 2 * SEC;
	submit(low, 1);
	write_packets(low, 0);
	CHECK(run_until_idle(low, 3 * SEC));
	shown = low->pointers;
	freeze(low);
	EACH(i, ARRAY_SIZE(idle_ns), "idle for %llu ms: ", idle_ns[i] / MS) {
		requests(idle_ns[i]);
		CHECK(run_until_idle(high, SEC));
		submit(low, 1);
		began_ns = ktime_get_ns();
		while (!preempted(low) && ktime_get_ns() - began_ns < 2 * SEC)
			submit_and_run(high, 1, MS);
		hidden_ns = ktime_get_ns() - began_ns;
		CHECK(preempted(low));
		/* And what the device takes to be asked, and the queue to be taken. */
		CHECK(hidden_ns <= min(idle_ns[i], 100 * MS) + 10 * MS);
		CHECK(run_until_idle(high, 20 * SEC));
		CHECK(run_until_idle(low, 20 * SEC));
	}
	process_of(low)->mm.locked = false;
	world_end();
	free(shown);
}

// SPDX-License-Identifier: MIT
/*
 * oversub_test.c - more than fits: runlists that go round, VMIDs, slots, GWS; hardware priorities
 * and CU masks
 */
#include "model_test.h"

#define PIPE_PRIORITY(q)	((q)->mqd_words[0x80 + VGPU_HQD_PIPE_PRIORITY])
#define QUEUE_PRIORITY(q)	((q)->mqd_words[0x80 + VGPU_HQD_QUEUE_PRIORITY])

/* A device whose scheduler has these VMIDs and slots (MEC1, pipe * 8 + queue) */
static void up_with(u32 vmids, u32 slots)
{
	up_as(short_quantum);
	bed_hiq(b, (u32[]) { PM4(0xa0, 8), vmids | 1u << 29, slots, 0, 0, 0, 0, 0 }, 8);
}

/* Each of a process of its own */
static void add_idle_queues(struct bed_queue **q, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		q[i] = bed_queue(b, bed_process(b));
}

static u32 items_done(const struct bed_work *w)
{
	return w->waves * w->steps - bed_work_lost(w);
}

TEST(more_processes_than_vmids)
{
	enum { N = 20 };
	struct bed_queue *q[N];
	struct bed_work *w[N];
	u32 i;

	up_as(short_quantum);
	add_queues(q, w, N, 64, 2, 10, 100 * US);
	run_all(q, w, N);
	CHECK_ALL_DONE(w, N);
	CHECK(bed_stat(b, "rotations") > 2);
	CHECK(bed_stat(b, "waves_saved") > 0);
	/* a process that was unmapped does not come back when the others go round */
	w[3] = bed_work(b, q[3]->p, 64, 2, 10, 100 * US);
	CHECK(bed_unmap_pasid(b, q[3]->p->pasid));
	bed_submit(b, q[3], w[3], false);
	CHECK(!bed_run_until(b, bed_work_done, w[3], 20 * MS));
	CHECK_EQ(*q[3]->read_index, 1);
	CHECK_REMAP(q, N);
	CHECK_DONE(w[3]);
	/* after the unmap nothing comes back by itself */
	CHECK(bed_unmap(b, false));
	i = (u32)bed_stat(b, "rotations");
	bed_run_for(b, 10 * MS);
	CHECK_EQ(bed_stat(b, "rotations"), i);
}

TEST(more_queues_than_slots)
{
	enum { N = 60 };
	struct bed_queue *q[N];
	struct bed_work *w[N];
	struct bed_process *p = NULL;
	u32 i;

	up_as(short_quantum);
	for (i = 0; i < N; i++) {
		if (!(i % 40))
			p = bed_process(b);
		q[i] = bed_queue(b, p);
		w[i] = bed_work(b, p, 16, 2, 3, 100 * US);
	}
	run_all(q, w, N);
	CHECK_ALL_DONE(w, N);
	CHECK(bed_stat(b, "rotations") > 1);
}

TEST(what_fits_does_not_rotate)
{
	enum { N = 12 };
	struct bed_queue *q[N];
	struct bed_work *w[N];

	up();
	add_queues(q, w, N, 64, 2, 10, 100 * US);
	run_all(q, w, N);
	CHECK_ALL_DONE(w, N);
	CHECK_EQ(bed_stat(b, "rotations"), 0);
	CHECK_EQ(bed_stat(b, "waves_saved"), 0);
	CHECK_EQ(bed_stat(b, "runlist_chained"), 0);
	CHECK_EQ(bed_stat(b, "runlist_processes"), N);
	CHECK_EQ(bed_stat(b, "runlist_queues"), N);
}

/* Seven processes with endless work on three VMIDs: after a while all have got about the same. */
TEST(turns_are_fair)
{
	enum { N = 7 };
	struct bed_queue *q[N];
	struct bed_work *w[N];
	u32 i, least = ~0u, most = 0;

	up_with(0x38, 0xfcfcfcfc);
	add_queues(q, w, N, 8, 1, 1000, 20 * US);
	run_all(q, w, N);
	bed_run_for(b, 20 * MS);
	for (i = 0; i < N; i++) {
		u32 done = items_done(w[i]);

		least = done < least ? done : least;
		most = done > most ? done : most;
	}
	CHECK(least * 5 >= most * 4);
	CHECK(bed_stat(b, "rotations") > 50);
}

/* A turn costs the model more than it lasts: waves get what is theirs all the same, later. */
TEST(a_slow_model_ends_no_turn_before_its_waves)
{
	enum { N = 7, TOGETHER = 3, WAVES = 8, TURN_STEPS = 10 };
	struct bed_queue *q[N];
	struct bed_work *w[N];
	u64 rotations, done = 0;
	u32 i;

	up_with(0x38, 0xfcfcfcfc);
	add_queues(q, w, N, WAVES, 1, 1000, 20 * US);
	run_all(q, w, N);
	b->access_ns = 2 * US;
	bed_run_for(b, 100 * MS);
	b->access_ns = 0;
	rotations = bed_stat(b, "rotations");
	for (i = 0; i < N; i++)
		done += items_done(w[i]);
	CHECK(rotations > N);
	CHECK(done >= rotations * TOGETHER * WAVES * TURN_STEPS / 2);
}

/* A list that ends is not gone round: what does not fit is never mapped, and the device says so. */
TEST(only_a_chained_list_goes_round)
{
	struct bed_queue *q[3];
	struct bed_work *w[3];

	up_with(0x18, 0xfcfcfcfc);
	vgpu_quiet = true;
	b->never_chain = true;
	add_queues(q, w, 3, 8, 1, 10, 100 * US);
	CHECK(bed_runlist(b, q, 3));
	CHECK_EQ(bed_stat(b, "bad_packets"), 1);
	submit_all(q, w, 3);
	CHECK_ALL_DONE(w, 2);
	CHECK(!bed_run_until(b, bed_work_done, w[2], 20 * MS));
	CHECK_EQ(bed_stat(b, "rotations"), 0);
	b->never_chain = false;
	CHECK_REMAP(q, 3);
	CHECK_DONE(w[2]);
}

/* The chain bit leads to another list first, and from there back. */
TEST(a_chain_may_lead_through_other_lists)
{
	struct bed_queue *q[4];
	struct bed_work *w[4];
	u32 list[BED_LIST_DWORDS], n;
	u64 first, second;

	up_with(0x18, 0xfcfcfcfc);
	add_queues(q, w, 4, 8, 1, 10, 100 * US);
	first = bed_kernel_va(b, bed_vram(b, 4096));
	second = bed_kernel_va(b, bed_vram(b, 4096));
	n = bed_list(q + 2, 2, list);
	n += bed_chain(list + n, first, 2 * (21 + 7) + 4);
	memcpy(b->vram + (second - VGPU_FB_BASE), list, n * 4);
	n = bed_list(q, 2, list);
	n += bed_chain(list + n, second, n + 4);
	bed_send_runlist(b, first, list, n);
	CHECK(bed_hiq_fence(b));
	CHECK_EQ(bed_stat(b, "runlist_processes"), 4);
	CHECK_EQ(bed_stat(b, "runlist_chained"), 1);
	submit_all(q, w, 4);
	CHECK_ALL_DONE(w, 4);
	CHECK(bed_stat(b, "rotations") > 1);
}

/* Lists that no firmware could follow. */
TEST(malformed_lists_are_refused)
{
	u32 list[BED_LIST_DWORDS] = { 0 }, n, kind;
	struct bed_queue *q;
	u64 va;

	for (kind = 0; kind < 4; kind++) {
		up();
		vgpu_quiet = true;
		q = bed_queue(b, bed_process(b));
		va = bed_kernel_va(b, bed_vram(b, 4096));
		n = bed_list(&q, 1, list);
		switch (kind) {
		case 0:			/* longer than what was written: zeroes are no packet */
			memset(list + n, 0, 84);
			n += 21;
			break;
		case 1:			/* RUN_LIST that does not say that it is chained */
			n += bed_chain(list + n, va, n + 4);
			list[n - 1] &= ~(1u << 20);
			break;
		case 2:			/* something behind the end */
			n += bed_chain(list + n, va, n + 4);
			n += bed_list(&q, 1, list + n);
			break;
		case 3:			/* two lists that lead to each other, but never back */
			n = bed_chain(list, va, 4);
			memcpy(b->vram + (va - VGPU_FB_BASE), list, n * 4);
			n = bed_chain(list, va, 4);
			va = bed_kernel_va(b, bed_vram(b, 4096));
			break;
		}
		bed_send_runlist(b, va, list, n);
		CHECK(!bed_hiq_fence(b));
		CHECK_EQ(bed_stat(b, "bad_packets"), 1);
	}
}

/*
 * One process, with as many queues as fit and with more of them, which is a list that goes round:
 * announced as two it is refused, because firmware would map the process a second time. One that is
 * announced as what it is runs, and so does one that has more processes than are announced.
 */
TEST(fewer_processes_than_announced_are_refused)
{
	enum { SLOTS = 24 };
	struct bed_queue *q[SLOTS + 1];
	u32 i, many, slots[] = { 1, SLOTS + 1 };
	struct bed_process *p;
	struct bed_work *w;

	for (many = 0; many < 2; many++) {
		p = up_process();
		for (i = 0; i < slots[many]; i++)
			q[i] = bed_queue(b, p);
		CHECK(bed_runlist(b, q, slots[many]));
		CHECK_EQ(bed_stat(b, "runlist_announced"), 1);
		CHECK_EQ(bed_stat(b, "runlist_chained"), many);
		w = submit_work(q[0], 8, 1, 1, US);
		CHECK_DONE(w);
		CHECK(bed_unmap(b, false));
		vgpu_quiet = true;
		b->announces_more = 1;
		CHECK(!bed_runlist(b, q, slots[many]));
		CHECK_EQ(bed_stat(b, "bad_packets"), 1);
		CHECK_EQ(bed_stat(b, "runlist_announced"), 2);
		w = submit_work(q[0], 8, 1, 1, US);
		CHECK(!bed_run_until(b, bed_work_done, w, 20 * MS));
	}
	up_with(0x18, 0xfcfcfcfc);
	add_idle_queues(q, 3);
	CHECK(bed_runlist(b, q, 3));
	CHECK_EQ(bed_stat(b, "runlist_announced"), 2);
	CHECK_EQ(bed_stat(b, "runlist_processes"), 3);
	w = submit_work(q[2], 8, 1, 1, US);
	CHECK_DONE(w);
	CHECK_EQ(bed_stat(b, "bad_packets"), 0);
}

/* A process in the list takes a VMID even if it has no queue there: the others wait for it. */
TEST(processes_without_queues_take_vmids)
{
	struct bed_queue *q[5];
	struct bed_work *w;
	u32 i;

	up_with(0x18, 0xfcfcfcfc);
	for (i = 0; i < 5; i++) {
		q[i] = bed_queue(b, bed_process(b));
		q[i]->inactive = i < 4;
	}
	w = bed_work(b, q[4]->p, 8, 1, 10, 100 * US);
	CHECK(bed_runlist(b, q, 5));
	CHECK_EQ(bed_stat(b, "runlist_queues"), 1);
	bed_submit(b, q[4], w, false);
	/* two turns of the others, then its own */
	bed_run_for(b, 350 * US);
	CHECK_EQ(bed_waves_by_register(b, q[4]->doorbell), 0);
	bed_run_for(b, 150 * US);
	CHECK_EQ(bed_waves_by_register(b, q[4]->doorbell), 8);
	CHECK_DONE(w);
	CHECK(bed_stat(b, "rotations") > 4);
	/* alone in the list it keeps the device */
	w = bed_work(b, q[4]->p, 8, 1, 10, 100 * US);
	CHECK_REMAP(q + 4, 1);
	i = (u32)bed_stat(b, "rotations");
	bed_submit(b, q[4], w, false);
	CHECK_DONE(w);
	CHECK_EQ(bed_stat(b, "rotations"), i);
}

/* MAP_PROCESS names the time slice; of those that are mapped together the longest counts. */
TEST(the_quantum_is_the_processes)
{
	struct bed_queue *q[3];
	u32 i, rotations[2];

	up_with(0x08, 0xfcfcfcfc);
	add_idle_queues(q, 3);
	CHECK(bed_runlist(b, q, 3));
	bed_run_for(b, 10 * MS);
	rotations[0] = (u32)bed_stat(b, "rotations");
	for (i = 0; i < 3; i++)
		q[i]->p->quantum = 40;
	CHECK_REMAP(q, 3);
	bed_run_for(b, 10 * MS);
	rotations[1] = (u32)bed_stat(b, "rotations") - rotations[0];
	/* 200 us and 800 us, and 20 us for each new window */
	CHECK(rotations[0] >= 40 && rotations[0] <= 50);
	CHECK(rotations[1] >= 11 && rotations[1] <= 13);
}

/* The global wave sync has one owner: queues of two processes that use it are never on the device together. */
TEST(gws_has_one_owner)
{
	struct bed_queue *q[4];
	struct bed_work *w[4];
	bool alone[2] = { false, false };
	u32 i, a, c;

	up_as(short_quantum);
	for (i = 0; i < 4; i++) {
		q[i] = bed_queue(b, bed_process(b));
		q[i]->gws = i == 1 || i == 2;
		w[i] = bed_work(b, q[i]->p, 16, 1, 20, 100 * US);
	}
	run_all(q, w, 4);
	while (!bed_work_done(w[1]) || !bed_work_done(w[2])) {
		bed_run_for(b, 50 * US);
		a = bed_waves_by_register(b, q[1]->doorbell);
		c = bed_waves_by_register(b, q[2]->doorbell);
		CHECK(!a || !c);
		alone[0] |= a;
		alone[1] |= c;
		CHECK(b->now < LONG);
	}
	CHECK(alone[0] && alone[1]);
	CHECK_ALL_DONE(w, 4);
	CHECK(bed_stat(b, "rotations") > 1);
}

/* Two queues whose grids are eight times the device: what each has done when the first of them is through */
static void race(struct bed_queue **q, u32 done[2])
{
	struct bed_work *w[2];
	u32 i;

	for (i = 0; i < 2; i++)
		w[i] = bed_work(b, q[i]->p, 2048, 1, 1, 100 * US);
	CHECK(bed_runlist(b, q, 2));
	bed_run_for(b, 50 * US);
	submit_all(q, w, 2);
	for (i = 0; !bed_work_done(w[0]) && !bed_work_done(w[1]) && i < 10000; i++)
		bed_run_for(b, 10 * US);
	done[0] = items_done(w[0]);
	done[1] = items_done(w[1]);
	CHECK_ALL_DONE(w, 2);
	CHECK(bed_unmap(b, false));
}

TEST(pipes_of_higher_priority_dispatch_first)
{
	struct bed_queue *q[2];
	u32 done[2], i;

	up();
	add_idle_queues(q, 2);
	for (i = 0; i < 2; i++) {
		PIPE_PRIORITY(q[i]) = 2;
		PIPE_PRIORITY(q[!i]) = 1;
		race(q, done);
		CHECK_EQ(done[i], 2048);
		CHECK_EQ(done[!i], 0);
		PIPE_PRIORITY(q[i]) = 1;
		PIPE_PRIORITY(q[!i]) = 0;
		race(q, done);
		CHECK_EQ(done[i], 2048);
		CHECK_EQ(done[!i], 0);
	}
	/* equal ones share */
	PIPE_PRIORITY(q[0]) = PIPE_PRIORITY(q[1]) = 2;
	race(q, done);
	CHECK(done[0] > 1500 && done[1] > 1500);
}

/* CP_HQD_QUEUE_PRIORITY orders the queues of one pipe, and says nothing to other pipes. */
TEST(queue_priority_counts_within_a_pipe)
{
	struct bed_queue *q[2];
	u32 done[2], i;

	up_with(0x18, 0xfc);
	for (i = 0; i < 2; i++) {
		q[i] = bed_queue(b, bed_process(b));
		QUEUE_PRIORITY(q[i]) = i ? 10 : 7;
	}
	race(q, done);
	CHECK_EQ(done[0], 0);
	CHECK_EQ(done[1], 2048);
	QUEUE_PRIORITY(q[0]) = 11;
	race(q, done);
	CHECK_EQ(done[0], 2048);
	CHECK_EQ(done[1], 0);
	bed_hiq(b, (u32[]) { PM4(0xa0, 8), 0x18 | 1u << 29, 0xfcfc, 0, 0, 0, 0, 0 }, 8);
	race(q, done);
	CHECK(done[0] > 1500 && done[1] > 1500);
}

/* New ones count, and those that were written while their queue was unmapped: not for what the device has saved there. */
TEST(written_mqds_are_counted)
{
	struct bed_queue *q[2];
	struct bed_work *w[2];
	u64 reads;

	up();
	add_queues(q, w, 2, 64, 2, 10, 100 * US);
	CHECK(bed_runlist(b, q, 2));
	CHECK_EQ(bed_stat(b, "mqds_written"), 2);
	submit_all(q, w, 2);
	bed_run_for(b, 300 * US);
	CHECK_REMAP(q, 2);
	CHECK_REMAP(q, 2);
	CHECK(bed_stat(b, "waves_saved") > 0);
	CHECK_EQ(bed_stat(b, "mqds_written"), 2);
	CHECK(bed_unmap(b, false));
	QUEUE_PRIORITY(q[1]) = 11;
	CHECK(bed_runlist(b, q, 2));
	CHECK_EQ(bed_stat(b, "mqds_written"), 3);
	CHECK_REMAP(q, 2);
	CHECK_EQ(bed_stat(b, "mqds_written"), 3);
	CHECK_ALL_DONE(w, 2);
	reads = bed_stat(b, "reg_reads");
	vgpu_model_reg_read(b->m, VGPU_GRBM_GFX_CNTL);
	vgpu_model_reg_read(b->m, VGPU_RCC_CONFIG_MEMSIZE);
	CHECK_EQ(bed_stat(b, "reg_reads"), reads + 1);
}

/* Waves that CUs were given since the last call, as a bit for each CU */
static u32 cus_used(void)
{
	static u64 before[VGPU_MAX_CUS];
	char text[4096], *at = text;
	u32 xcc, cu, engine, busy, used = 0;
	unsigned long long started;

	vgpu_model_print_cus(b->m, text, sizeof(text));
	for (; sscanf(at, "%u %u %u %u %llu\n", &xcc, &cu, &engine, &busy, &started) == 5; at = strchr(at, '\n') + 1) {
		CHECK_EQ(engine, cu % b->config.se);
		used |= started > before[cu] ? 1u << cu : 0;
		before[cu] = started;
	}
	return used;
}

TEST(cu_masks_confine_waves)
{
	struct bed_queue *q[2];
	struct bed_work *w[2];
	struct bed_process *p = up_process();

	q[0] = bed_queue(b, p);
	q[1] = bed_queue(b, p);
	bed_cu_mask(q[0], (u32[]) { 1, 0, 2, 0 }, 4);	/* first CU of engine 0, second one of engine 2 */
	w[0] = bed_work(b, p, 256, 4, 10, 100 * US);
	w[1] = bed_work(b, p, 6 * 32, 4, 10, 100 * US);
	CHECK(bed_runlist(b, q, 2));
	cus_used();
	bed_submit(b, q[0], w[0], false);
	bed_run_for(b, 300 * US);
	CHECK_EQ(bed_stat(b, "slots_busy"), 2 * 32);
	CHECK_EQ(cus_used(), 1u << 0 | 1u << 6);
	/* the others are free for queues that may use them */
	bed_submit(b, q[1], w[1], false);
	bed_run_for(b, 300 * US);
	CHECK_EQ(bed_stat(b, "slots_busy"), 256);
	CHECK_EQ(cus_used(), 0xff & ~(1u << 0 | 1u << 6));
	/* what was saved comes back to where the mask then points, without what it ran on before */
	CHECK(bed_unmap(b, false));
	bed_cu_mask(q[0], (u32[]) { 0, 3, 0, 0 }, 4);
	CHECK(bed_runlist(b, q, 1));
	CHECK_DONE(w[0]);
	CHECK_EQ(cus_used(), 1u << 1 | 1u << 5);
	CHECK_REMAP(q, 2);
	CHECK_DONE(w[1]);
	/* no CU at all: the queue hangs, no other does */
	bed_cu_mask(q[0], (u32[]) { 0, 0, 0, 0 }, 4);
	w[0] = bed_work(b, p, 4, 4, 1, 100 * US);
	w[1] = bed_work(b, p, 4, 4, 1, 100 * US);
	CHECK_REMAP(q, 2);
	bed_submit(b, q[0], w[0], false);
	bed_submit(b, q[1], w[1], false);
	CHECK_DONE(w[1]);
	CHECK(!bed_run_until(b, bed_work_done, w[0], 10 * MS));
}

static void slow_connects(struct vgpu_config *c)
{
	c->connect_ns = 160 * US;
	c->connect_next_ns = 70 * US;
}

static u64 connect_time(const struct bed_queue *q, u32 word)
{
	return (q->mqd_words[0x58 + word] | (u64)q->mqd_words[0x59 + word] << 32) * 10;
}

/* Two queues of the first process, one of the second, one of the third: side by side within a process, and process by process. */
TEST(processes_are_connected_one_by_one)
{
	static const u32 process[] = { 0, 0, 1, 2 };
	u32 i, slow;
	struct bed_process *p[3];
	struct bed_queue *q[4];
	struct bed_work *w[4];
	u64 next, start, sent;

	for (slow = 0; slow < 2; slow++) {
		up_as(slow ? slow_connects : NULL);
		next = b->config.connect_next_ns;
		for (i = 0; i < 3; i++)
			p[i] = bed_process(b);
		for (i = 0; i < 4; i++) {
			q[i] = bed_queue(b, p[process[i]]);
			w[i] = submit_work(q[i], 8, 1, 1, 10 * US);
		}
		sent = b->now;
		CHECK(bed_runlist(b, q, 4));
		/* the HIQ goes on when all are connected */
		CHECK(b->now - sent >= b->config.connect_ns + 2 * next);
		start = connect_time(q[0], 0);
		for (i = 0; i < 4; i++) {
			CHECK_EQ(connect_time(q[i], 0), start + process[i] * next);
			CHECK_EQ(connect_time(q[i], 2), start + process[i] * next + b->config.connect_ns);
			CHECK_DONE(w[i]);
		}
	}
}

/* None starts before it is connected, and what was saved is not restored before. */
TEST(queues_run_when_they_are_connected)
{
	u32 i, list[BED_LIST_DWORDS], dwords;
	struct bed_work *w[2];
	struct bed_queue *q[2];
	u64 waves, sent;

	up_as(slow_connects);
	add_queues(q, w, 2, 64, 1, 10, 200 * US);
	submit_all(q, w, 2);
	dwords = bed_list(q, 2, list);
	bed_send_runlist(b, bed_kernel_va(b, bed_vram(b, sizeof(list))), list, dwords);
	bed_run_for(b, 155 * US);
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	bed_run_for(b, 15 * US);
	CHECK_EQ(bed_stat(b, "slots_busy"), 64);
	bed_run_for(b, 50 * US);
	CHECK_EQ(bed_stat(b, "slots_busy"), 64);
	bed_run_for(b, 120 * US);
	CHECK_EQ(bed_stat(b, "slots_busy"), 128);
	CHECK(bed_unmap(b, false));
	waves = bed_stat(b, "waves_restored");
	CHECK(bed_stat(b, "waves_saved") == 128);
	sent = b->now;
	CHECK(bed_runlist(b, q, 2));		/* until the last one is connected */
	CHECK(b->now - sent >= 230 * US);
	for (i = 0; i < 2; i++)
		CHECK_EQ(q[i]->mqd_words[0x66] | (u64)q[i]->mqd_words[0x67] << 32, connect_time(q[i], 2) / 10);
	bed_run_for(b, 30 * US);
	CHECK_EQ(bed_stat(b, "waves_restored") - waves, 128);
	CHECK_ALL_DONE(w, 2);
}

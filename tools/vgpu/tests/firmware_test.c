// SPDX-License-Identifier: MIT
/*
 * firmware_test.c - what firmware may do otherwise: each name of firmware=, beside the model
 * without it
 */
#include "model_test.h"

#define RPTR_OF(hiq_mqd)	((hiq_mqd)[0x80 + VGPU_HQD_PQ_RPTR_REPORT_LO])

/* What the next device's firmware does otherwise, and what else is different about it */
static u32 otherwise;
static void (*besides)(struct vgpu_config *c);

static void configure(struct vgpu_config *c)
{
	if (besides)
		besides(c);
	c->firmware = otherwise;
}

static void up_otherwise(u32 firmware, void (*also)(struct vgpu_config *c))
{
	otherwise = firmware;
	besides = also;
	up_as(configure);
}

/* A mapped queue of a process of its own */
static struct bed_queue *mapped_queue(void)
{
	struct bed_queue *q = bed_queue(b, bed_process(b));

	CHECK(bed_runlist(b, &q, 1));
	return q;
}

TEST(names_of_firmware_are_known)
{
	u32 bits, i;

	CHECK(vgpu_firmware_parse("", &bits));
	CHECK_EQ(bits, 0);
	for (i = 0; i < VGPU_FIRMWARES; i++) {
		CHECK(vgpu_firmware_parse(vgpu_firmware_name(i), &bits));
		CHECK_EQ(bits, 1u << i);
	}
	CHECK(vgpu_firmware_parse("late-rptr,zero-waves\n", &bits));
	CHECK_EQ(bits, 1u << VGPU_FIRMWARE_LATE_RPTR | 1u << VGPU_FIRMWARE_ZERO_WAVES);
	vgpu_quiet = true;
	CHECK(!vgpu_firmware_parse("late-rptr,late", &bits));
	CHECK(!vgpu_firmware_parse("late-rptr ,zero-waves", &bits));
	CHECK(!vgpu_firmware_parse("late-rptr,,zero-waves", &bits));
	CHECK(!vgpu_firmware_parse("late-rptr,early-rptr", &bits));
	CHECK(!vgpu_firmware_parse("zero-waves,late-rptr,lagging-waves", &bits));
}

/* What memory says of the HIQ's read pointer */
static u64 hiq_rptr(void)
{
	return *(u32 *)(b->vram + (RPTR_OF(b->hiq_mqd_words) | (u64)(RPTR_OF(b->hiq_mqd_words + 1)) << 32) - VGPU_FB_BASE);
}

TEST(late_read_pointers_move_by_blocks)
{
	u32 late, i, exact;

	for (late = 0; late < 2; late++) {
		up_otherwise(late << VGPU_FIRMWARE_LATE_RPTR, NULL);
		for (i = 0, exact = 0; i < 64; i++) {
			CHECK(bed_hiq_fence(b));
			CHECK_EQ(hiq_rptr(), late ? b->hiq_wptr & ~63ULL : b->hiq_wptr);
			exact += hiq_rptr() == b->hiq_wptr;
		}
		CHECK(late ? exact < 8 : exact == 64);
	}
}

/* The unmap of a queue with waves takes time, and the next packet waits for it: read, says a firmware that has only fetched it. */
TEST(early_read_pointers_are_ahead_of_the_packets)
{
	struct bed_queue *q;
	u32 early;

	for (early = 0; early < 2; early++) {
		up_otherwise(early << VGPU_FIRMWARE_EARLY_RPTR, NULL);
		q = mapped_queue();
		submit_work(q, 64, 1, 10, 100 * US);
		bed_run_for(b, 50 * US);
		bed_hiq(b, (u32[]) { PM4(0xa3, 6), 3 << 4, 0, 0, 0, 0 }, 6);
		bed_hiq(b, (u32[]) { PM4(0x10, 2), 0 }, 2);
		CHECK_EQ(hiq_rptr(), early ? b->hiq_wptr : b->hiq_wptr - 2);
		CHECK(bed_hiq_fence(b));
		CHECK_EQ(hiq_rptr(), b->hiq_wptr);
	}
}

/* Saved with waves, run to the end, saved with nothing: the offsets say what they said, and nothing is done twice. */
TEST(offsets_of_an_idle_queue_are_kept)
{
	u32 kept, stack, area, size, *hqd;
	struct bed_queue *q;
	struct bed_work *w;
	u64 restores;

	for (kept = 0; kept < 2; kept++) {
		up_otherwise(kept << VGPU_FIRMWARE_STACK_OFFSET_KEPT, NULL);
		q = mapped_queue();
		hqd = q->mqd_words + 0x80;
		size = hqd[VGPU_HQD_CNTL_STACK_SIZE];
		CHECK(bed_unmap(b, false));
		CHECK_EQ(hqd[VGPU_HQD_CNTL_STACK_OFFSET], size);	/* there was never anything to keep */
		CHECK(bed_runlist(b, &q, 1));
		w = submit_work(q, 64, 1, 10, 100 * US);
		unmap_after(50 * US);
		stack = hqd[VGPU_HQD_CNTL_STACK_OFFSET];
		area = hqd[VGPU_HQD_WG_STATE_OFFSET];
		CHECK(stack < size);
		CHECK_RUNS_ON(q, w);
		restores = bed_stat(b, "cwsr_restores");
		CHECK(bed_unmap(b, false));
		CHECK_EQ(hqd[VGPU_HQD_CNTL_STACK_OFFSET], kept ? stack : size);
		CHECK_EQ(hqd[VGPU_HQD_WG_STATE_OFFSET], kept ? area : size);
		CHECK(bed_runlist(b, &q, 1));
		bed_run_for(b, MS);
		CHECK_ONCE(w);
		CHECK_EQ(bed_stat(b, "cwsr_restores"), restores);
		CHECK_EQ(bed_stat(b, "bad_records"), 0);
		/* what is saved later is not taken for nothing */
		w = submit_work(q, 32, 1, 10, 100 * US);
		unmap_after(50 * US);
		CHECK(hqd[VGPU_HQD_CNTL_STACK_OFFSET] < size);
		CHECK_RUNS_ON(q, w);
		CHECK_EQ(bed_stat(b, "cwsr_restores"), restores + 1);
	}
}

/* Forty grids one after the other: a lazy firmware says so at the 16th and the 32nd, and at the end. */
TEST(lazy_read_indices_come_in_lumps)
{
	enum { N = 40 };
	u64 said, changes;
	struct bed_work *w[N];
	struct bed_queue *q;
	u32 lazy, i;

	for (lazy = 0; lazy < 2; lazy++) {
		up_otherwise(lazy << VGPU_FIRMWARE_LAZY_DISPATCH_ID, NULL);
		q = mapped_queue();
		for (i = 0; i < N; i++) {
			w[i] = bed_work(b, q->p, 1, 1, 1, 10 * US);
			bed_submit(b, q, w[i], true);
		}
		for (i = 0, said = 0, changes = 0; i < N; i++) {
			CHECK_DONE(w[i]);
			if (lazy && i + 1 < N)		/* the next one may have been taken */
				CHECK(*q->read_index == 0 || *q->read_index == 16 || *q->read_index == 32 || *q->read_index == N);
			changes += *q->read_index != said;
			said = *q->read_index;
		}
		CHECK_EQ(*q->read_index, N);
		CHECK_EQ(changes > 3, !lazy);
	}
}

TEST(wave_counts_lag_behind)
{
	struct bed_queue *q;
	struct bed_work *w;
	u32 lagging, at;

	for (lagging = 0; lagging < 2; lagging++) {
		up_otherwise(lagging << VGPU_FIRMWARE_LAGGING_WAVES, NULL);
		q = mapped_queue();
		w = submit_work(q, 64, 1, 5, 100 * US);
		bed_run_for(b, 20 * US);
		CHECK_EQ(bed_waves_by_register(b, q->doorbell), lagging ? 0 : 64);
		bed_run_for(b, 150 * US);
		CHECK_EQ(bed_waves_by_register(b, q->doorbell), 64);
		CHECK_DONE(w);
		CHECK_EQ(bed_waves_by_register(b, q->doorbell), lagging ? 64 : 0);
		bed_run_for(b, 150 * US);
		CHECK_EQ(bed_waves_by_register(b, q->doorbell), 0);
		/* more changes than are told apart: late all the same, and right in the end */
		for (at = 0; at < 12; at++) {
			w = submit_work(q, 8, 1, 1, 3 * US);
			CHECK_DONE(w);
		}
		bed_run_for(b, 150 * US);
		CHECK_EQ(bed_waves_by_register(b, q->doorbell), 0);
	}
}

TEST(wave_counts_are_zero)
{
	struct bed_queue *q;
	struct bed_work *w;
	u32 zero;

	for (zero = 0; zero < 2; zero++) {
		up_otherwise(zero << VGPU_FIRMWARE_ZERO_WAVES, NULL);
		q = mapped_queue();
		w = submit_work(q, 64, 1, 5, 100 * US);
		bed_run_for(b, 200 * US);
		CHECK_EQ(bed_waves_by_register(b, q->doorbell), zero ? 0 : 64);
		CHECK_DONE(w);
	}
}

/* On two XCCs: what differs between them is written, too. */
TEST(whole_descriptors_are_written_back)
{
	const u32 lost = VGPU_HQD_HQ_STATUS0 - 1;	/* a register that means nothing to the model */
	u32 whole, xcc, *hqd;
	struct bed_queue *q;
	struct bed_work *w;

	for (whole = 0; whole < 2; whole++) {
		up_otherwise(whole << VGPU_FIRMWARE_WHOLE_HQD_WRITEBACK, bed_xccs_2);
		q = mapped_queue();
		w = submit_work(q, 64, 1, 10, 100 * US);
		bed_run_for(b, 50 * US);
		for (xcc = 0; xcc < 2; xcc++)
			bed_part(b, q, xcc)[0x80 + lost] = 0x1234;	/* while it is mapped */
		CHECK(bed_unmap(b, false));
		for (xcc = 0; xcc < 2; xcc++) {
			hqd = bed_part(b, q, xcc) + 0x80;
			CHECK_EQ(hqd[lost], whole ? 0 : 0x1234);
			CHECK_EQ(hqd[VGPU_HQD_VMID] != 0, whole);
			CHECK_EQ(hqd[VGPU_HQD_VMID] & 0xf, hqd[VGPU_HQD_VMID] >> 8);
			CHECK_EQ(hqd[VGPU_HQD_ACTIVE], whole);
			CHECK_EQ(hqd[VGPU_HQD_PQ_DOORBELL] >> 29, whole ? 3 : 0);
			CHECK_EQ(hqd[VGPU_HQD_PQ_CONTROL] >> 27 & 1, whole && xcc);
			CHECK_EQ(hqd[VGPU_HQD_HQ_STATUS0] >> 30, whole);
		}
		CHECK_RUNS_ON(q, w);
	}
}

/* A driver that loads a queue by its registers writes them one by one, in their order. */
TEST(whole_descriptors_load_by_registers)
{
	u32 round, whole, *hqd;
	struct bed_process *p;
	struct bed_queue *q;
	struct bed_work *w;

	for (whole = 0; whole < 2; whole++) {
		up_otherwise(whole << VGPU_FIRMWARE_WHOLE_HQD_WRITEBACK, NULL);
		p = bed_process(b);
		q = bed_queue(b, p);
		hqd = q->mqd_words + 0x80;
		bed_vmid(b, HQD_VMID, p);
		bed_hqd_load(b, q, 0, 2, HQD_VMID);
		w = submit_work(q, 64, 1, 10, 100 * US);
		for (round = 1; round < 4; round++) {
			bed_run_for(b, 50 * US);
			CHECK_EQ(bed_stat(b, "waves_restored"), 64 * (round - 1));
			bed_hqd_dequeue(b, 0, 2, BED_SAVE);
			bed_run_for(b, MS);
			CHECK(!bed_hqd_active(b, 0, 2));
			CHECK_EQ(bed_stat(b, "waves_saved"), 64 * round);
			CHECK_EQ(hqd[VGPU_HQD_ACTIVE], 0);
			CHECK_EQ(hqd[VGPU_HQD_DEQUEUE_REQUEST], 0);
			CHECK_EQ(hqd[VGPU_HQD_HQ_STATUS0] >> 30, whole);
			bed_hqd_load(b, q, 0, 2, HQD_VMID);
		}
		CHECK_DONE(w);
	}
}

/* cp_mqd_*_start_time_lo in an MQD: start and end, in ticks of 10 ns */
enum { CONNECT = 0x58, SAVE = 0x62, RESTORE = 0x66 };

static u64 stamp(const u32 *mqd, u32 word)
{
	return mqd[word] | (u64)mqd[word + 1] << 32;
}

/* How long it took; what it says of the clock is no later than now. 0: not noted */
static u64 noted_ns(const u32 *mqd, u32 word)
{
	CHECK(stamp(mqd, word) <= stamp(mqd, word + 2));
	CHECK(stamp(mqd, word + 2) <= b->now / 10);
	return (stamp(mqd, word + 2) - stamp(mqd, word)) * 10;
}

/* What it takes to move what the MQD says is saved, in whole ticks */
static bool takes(u64 ns, const u32 *mqd)
{
	const u32 *hqd = mqd + 0x80, stack = hqd[VGPU_HQD_CNTL_STACK_SIZE];
	u64 bytes = (stack - hqd[VGPU_HQD_CNTL_STACK_OFFSET]) + (hqd[VGPU_HQD_WG_STATE_OFFSET] - stack);
	u64 model_ns = b->config.trap_ns + bytes * 1000 / b->config.hbm_bytes_per_us;

	return bytes && ns + 10 >= model_ns && ns <= model_ns + 10;
}

/* Each XCC notes its own times: here the first one has six workgroups, and the second one has two. */
TEST(times_of_a_queue_are_in_its_mqd)
{
	u64 seen[2], begin;
	u32 silent, i, *mqd[2];
	struct bed_queue *q;
	struct bed_work *w;

	for (silent = 0; silent < 2; silent++) {
		up_otherwise(silent << VGPU_FIRMWARE_NO_STAMPS, bed_xccs_2);
		q = bed_queue(b, bed_process(b));
		for (i = 0; i < 2; i++) {
			mqd[i] = bed_part(b, q, i);
			mqd[i][BED_MQD_CHUNK] = 6;
		}
		begin = b->now;
		CHECK(bed_runlist(b, &q, 1));
		for (i = 0; i < 2; i++) {
			CHECK_EQ(noted_ns(mqd[i], CONNECT), silent ? 0 : b->config.connect_ns);
			CHECK_EQ(stamp(mqd[i], CONNECT) >= begin / 10, !silent);
			seen[i] = stamp(mqd[i], CONNECT);
		}
		/* nothing in flight is nothing saved */
		CHECK_REMAP(&q, 1);
		w = submit_work(q, 8 * 4, 4, 10, 100 * US);
		bed_run_for(b, 50 * US);
		for (i = 0; i < 2; i++) {
			CHECK_EQ(stamp(mqd[i], CONNECT) > seen[i], !silent);
			CHECK_EQ(stamp(mqd[i], SAVE + 2) + stamp(mqd[i], RESTORE + 2), 0);
		}
		begin = b->now;
		CHECK(bed_unmap(b, false));
		for (i = 0; i < 2; i++) {
			CHECK_EQ(takes(noted_ns(mqd[i], SAVE), mqd[i]), !silent);
			CHECK_EQ(stamp(mqd[i], SAVE) >= begin / 10, !silent);
			CHECK_EQ(stamp(mqd[i], RESTORE + 2), 0);
		}
		CHECK_EQ(noted_ns(mqd[0], SAVE) > noted_ns(mqd[1], SAVE), !silent);
		CHECK(bed_runlist(b, &q, 1));
		bed_run_for(b, 50 * US);
		for (i = 0; i < 2; i++) {
			CHECK_EQ(takes(noted_ns(mqd[i], RESTORE), mqd[i]), !silent);
			CHECK(stamp(mqd[i], RESTORE) == stamp(mqd[i], CONNECT + 2));
			seen[i] = stamp(mqd[i], SAVE);
		}
		CHECK_DONE(w);
		/* the last save, not the last unmap */
		CHECK(bed_unmap(b, false));
		for (i = 0; i < 2; i++)
			CHECK_EQ(stamp(mqd[i], SAVE), seen[i]);
	}
}

/* A reset keeps nothing, so that nothing was saved. */
TEST(killed_waves_are_no_save)
{
	struct bed_queue *q;

	up_otherwise(0, NULL);
	q = mapped_queue();
	submit_work(q, 64, 1, 10, 100 * US);
	bed_run_for(b, 50 * US);
	CHECK(bed_unmap(b, true));
	CHECK(stamp(q->mqd_words, CONNECT) > 0);
	CHECK_EQ(stamp(q->mqd_words, SAVE + 2), 0);
}

TEST(times_of_a_queue_that_registers_move_are_in_its_mqd)
{
	struct bed_queue *q;
	struct bed_work *w;

	up_otherwise(0, NULL);
	q = hqd_up(&w, 64, 10, 100 * US);
	load_for(q, 0, 2, HQD_VMID, 50 * US);
	CHECK(stamp(q->mqd_words, CONNECT) > 0);
	CHECK_EQ(stamp(q->mqd_words, SAVE + 2), 0);
	bed_hqd_dequeue(b, 0, 2, BED_SAVE);
	bed_run_for(b, 100 * US);
	CHECK(!bed_hqd_active(b, 0, 2));
	CHECK(takes(noted_ns(q->mqd_words, SAVE), q->mqd_words));
	load_for(q, 0, 2, HQD_VMID, 50 * US);
	CHECK(takes(noted_ns(q->mqd_words, RESTORE), q->mqd_words));
	CHECK_DONE(w);
}

/* It is in a slot once at most, so nothing is done twice. */
TEST(what_is_unmapped_by_name_may_be_mapped_again)
{
	struct bed_queue *q[2];
	struct bed_work *w[2];
	u32 again;

	for (again = 0; again < 2; again++) {
		up_otherwise(again << VGPU_FIRMWARE_MAPPED_AGAIN, NULL);
		add_queues(q, w, 2, 16, 1, 10, 100 * US);
		run_all(q, w, 2);
		bed_run_for(b, 300 * US);
		CHECK(bed_unmap_named(b, q, 1));
		bed_run_for(b, 5 * MS);
		CHECK_EQ(*w[0]->signal == 1, !again);
		CHECK_DONE(w[1]);
		CHECK(bed_map_named(b, q, 1));
		CHECK_DONE(w[0]);
		/* All leave together: then nobody comes back. */
		w[0] = submit_work(q[0], 16, 1, 10, 100 * US);
		CHECK(bed_unmap_named(b, q, 1));
		CHECK(bed_unmap(b, false));
		bed_run_for(b, 5 * MS);
		CHECK(*w[0]->signal == 1);
	}
}

/* The random lives of model_test.c know nothing of this: all that excludes nothing, together, and each step of each wave once. */
TEST(all_of_it_together_loses_nothing)
{
	static const u32 all[] = {
		1u << VGPU_FIRMWARE_LATE_RPTR | 1u << VGPU_FIRMWARE_LAGGING_WAVES,
		1u << VGPU_FIRMWARE_EARLY_RPTR | 1u << VGPU_FIRMWARE_ZERO_WAVES,
	};
	const u32 rest = 1u << VGPU_FIRMWARE_STACK_OFFSET_KEPT | 1u << VGPU_FIRMWARE_LAZY_DISPATCH_ID |
			 1u << VGPU_FIRMWARE_WHOLE_HQD_WRITEBACK | 1u << VGPU_FIRMWARE_NO_STAMPS;
	enum { QUEUES = 3, WORKS = 12 };
	struct bed_work *w[QUEUES][WORKS];
	struct bed_queue *q[QUEUES];
	u32 kind, i, n;

	for (kind = 0; kind < 2; kind++) {
		up_otherwise(all[kind] | rest, bed_xccs_2);
		for (i = 0; i < QUEUES; i++) {
			q[i] = bed_queue(b, bed_process(b));
			for (n = 0; n < WORKS; n++) {
				w[i][n] = bed_work(b, q[i]->p, 16 + 16 * i, 1, 3, 20 * US);
				bed_submit(b, q[i], w[i][n], n % 3 == 0);
			}
		}
		for (n = 0; n < 40; n++) {
			CHECK(bed_runlist(b, q, QUEUES - n % 2));
			unmap_after((7 + 13 * n % 29) * US);
		}
		CHECK(bed_runlist(b, q, QUEUES));
		for (i = 0; i < QUEUES; i++)
			for (n = 0; n < WORKS; n++)
				CHECK_DONE(w[i][n]);
		CHECK_EQ(bed_stat(b, "bad_records") + bed_stat(b, "bad_packets") + bed_stat(b, "gpuvm_faults"), 0);
		CHECK(bed_stat(b, "waves_saved") > 0);
	}
}

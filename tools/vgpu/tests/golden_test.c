// SPDX-License-Identifier: MIT
/*
 * golden_test.c - the model against dumps of a real MI308X (../golden/mi308x.table), as far as no
 * driver is needed: what firmware does with queues that do nothing
 */
#include "model_test.h"
#include "../golden/golden.h"

#define TABLE	"../golden/mi308x.table"
#define QUEUES	5u
#define MEC1	1u
#define HIQ_MEC	2u

static struct golden g;
static struct bed_queue *q[QUEUES];

/* Every register of @key, on every XCC; @words: an MQD, or the slot's registers behind that of one */
static void check_registers(const char *key, u32 xcc, const u32 *words)
{
	struct golden_register r;
	u32 line = 0, n = 0;

	for (; golden_register(&g, key, &line, &r); n++)
		CHECK(golden_holds(&r, xcc, words[r.index]));
	CHECK(n > 0);
}

/* A slot's registers where an MQD has them */
static const u32 *slot(u32 xcc, u32 me, u32 pipe, u32 queue)
{
	static u32 words[GOLDEN_HQD + VGPU_HQD_REGS];
	u32 i;

	for (i = 0; i < VGPU_HQD_REGS; i++)
		words[GOLDEN_HQD + i] = vgpu_hqd_get(b->m, xcc, me, pipe, queue, i);
	return words;
}

static const u32 *hiq(u32 xcc)
{
	return slot(xcc, HIQ_MEC, 0, 0);
}

static u32 number(const char *key, u32 second, u32 word)
{
	char name[16];
	int line;

	snprintf(name, sizeof(name), "%u", second);
	line = golden_find(&g, key, name);
	CHECK(line >= 0);
	return golden_number(&g, (u32)line, word);
}

/* MQDs as the driver makes them: registers of mapped queues that the table has, and then what differs before that */
static void prepare(const char *key, u32 *words)
{
	struct golden_register r;
	u32 line = 0;

	while (golden_register(&g, key, &line, &r))
		if (r.index != GOLDEN_HQD + VGPU_HQD_ACTIVE)
			words[r.index] = (words[r.index] & ~r.mask) | r.value;
}

/* Queues of one process, the newest one first in a runlist */
static void five_queues(void)
{
	struct bed_process *p;
	u32 i, xcc;

	CHECK(golden_read(TABLE, &g));
	up_as(bed_mi308x);
	p = bed_process(b);
	for (i = 0; i < QUEUES; i++) {
		q[i] = bed_queue(b, p);
		for (xcc = 0; xcc < 4; xcc++) {
			prepare("mapped", bed_part(b, q[i], xcc));
			prepare("created", bed_part(b, q[i], xcc));
		}
	}
	CHECK(bed_runlist(b, q, QUEUES));
	bed_run_for(b, MS);
}

TEST(golden_table_has_what_it_is_for)
{
	static const char *const keys[] = { "mapped", "unmapped", "created", "saved", "hiq", "hiq_idle" };
	struct golden_register r;
	u32 i, line, n;

	CHECK(golden_read(TABLE, &g));
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		for (n = 0, line = 0; golden_register(&g, keys[i], &line, &r); n++)
			CHECK(r.name && !(r.value & ~r.mask));
		CHECK(n >= 3);
	}
	CHECK(golden_find(&g, "nothing", "0") < 0);
	/* and it can be contradicted */
	line = 0;
	CHECK(golden_register(&g, "hiq", &line, &r));
	CHECK(golden_matches(&r, 0, r.value) && !golden_matches(&r, 0, ~r.value) && golden_matches(&r, 1, ~r.value));
}

TEST(golden_slots_follow_the_runlist)
{
	u32 i, xcc, pipe, queue, *hqd;

	five_queues();
	for (i = 0; i < QUEUES; i++) {
		pipe = number("slot", i, 2);
		queue = number("slot", i, 3);
		for (xcc = 0; xcc < 4; xcc++) {
			hqd = (u32 *)slot(xcc, MEC1, pipe, queue) + GOLDEN_HQD;
			CHECK_EQ(hqd[VGPU_HQD_MQD_BASE_LO], (u32)q[i]->mqd + xcc * BED_MQD_BYTES);
		}
	}
}

TEST(golden_mapped_queue)
{
	u32 i, xcc;

	five_queues();
	for (i = 0; i < QUEUES; i++)
		for (xcc = 0; xcc < 4; xcc++) {
			check_registers("mapped", xcc, slot(xcc, MEC1, number("slot", i, 2), number("slot", i, 3)));
			check_registers("created", xcc, bed_part(b, q[i], xcc));
			CHECK(bed_part(b, q[i], xcc)[golden_index("cp_mqd_connect_start_time_lo")] > 0);
		}
}

TEST(golden_queue_after_an_unmap)
{
	u32 i, xcc, pipe, queue;

	five_queues();
	CHECK(bed_unmap(b, false));
	for (i = 0; i < QUEUES; i++)
		for (xcc = 0; xcc < 4; xcc++) {
			pipe = number("slot", i, 2);
			queue = number("slot", i, 3);
			check_registers("unmapped", xcc, slot(xcc, MEC1, pipe, queue));
			check_registers("saved", xcc, bed_part(b, q[i], xcc));
		}
	/* and with that in its MQD it comes back */
	CHECK(bed_runlist(b, q, QUEUES));
	check_registers("mapped", 0, slot(0, MEC1, 0, 2));
}

/* The rings' sizes differ from the driver's here, and so do the low bits of CP_HQD_PQ_CONTROL. */
TEST(golden_hiq_shows_how_far_it_is)
{
	struct golden_register r;
	u32 i, xcc, line;
	const u32 *words;

	five_queues();
	for (i = 0; i < 2; i++) {
		if (i)
			CHECK(bed_unmap(b, false));
		for (xcc = 0; xcc < 4; xcc++) {
			words = hiq(xcc);
			for (line = 0; golden_register(&g, i ? "hiq_idle" : "hiq", &line, &r);) {
				if (r.index == golden_index("cp_hqd_pq_control"))
					r.mask = VGPU_PQ_EMPTY;
				r.value &= r.mask;
				CHECK(golden_holds(&r, xcc, words[r.index]));
			}
			CHECK_EQ(words[golden_index("cp_hqd_pq_wptr_lo")], b->hiq_wptr);
		}
	}
	/* the write pointer counts on where the read pointer begins anew */
	while (b->hiq_wptr < BED_KERNEL_RING + 100)
		CHECK(bed_hiq_fence(b));
	CHECK_EQ(hiq(0)[golden_index("cp_hqd_pq_wptr_lo")], b->hiq_wptr);
	CHECK_EQ(hiq(0)[golden_index("cp_hqd_pq_rptr")], b->hiq_wptr - BED_KERNEL_RING);
}

/* SPDX-License-Identifier: MIT */
/*
 * model_test.h - what the files of unit tests share
 *
 * A test starts with up(), or with what calls it, which puts a device into b; it fails by leaving
 * through CHECK(). The device has nothing to complain about in the end, unless vgpu_quiet says that
 * complaints are wanted.
 */
#ifndef MODEL_TEST_H
#define MODEL_TEST_H

#include "bed.h"

#define CHECK(c)	do { if (!(c)) check_failed(__FILE__, __LINE__, "%s", #c); } while (0)
#define CHECK_EQ(a, b)	do { long long a_ = (long long)(a), b_ = (long long)(b); if (a_ != b_) \
				check_failed(__FILE__, __LINE__, "%s is %lld, not %lld", #a, a_, b_); } while (0)
#define CHECK_ONCE(w)	do { CHECK_EQ(bed_work_lost(w), 0); CHECK_EQ(bed_work_twice(w), 0); } while (0)
#define CHECK_DONE(w)	do { CHECK(bed_run_until(b, bed_work_done, (w), LONG)); CHECK_EQ(*(w)->signal, 0); CHECK_ONCE(w); } while (0)
#define CHECK_ALL_DONE(w, n)	do { for (u32 i_ = 0; i_ < (n); i_++) CHECK_DONE((w)[i_]); } while (0)
/* All queues leave the device, and these come back. */
#define CHECK_REMAP(queues, n)	do { CHECK(bed_unmap(b, false)); CHECK(bed_runlist(b, (queues), (n))); } while (0)

/* It is mapped again, and goes on to its end. */
#define CHECK_RUNS_ON(q, w)	do { CHECK(bed_runlist(b, &(q), 1)); CHECK_DONE(w); } while (0)

#define US		1000ULL
#define MS		1000000ULL
#define LONG		(10000 * MS)

#define PM4(op, n)	(0xc0000000u | ((n) - 2) << 16 | (op) << 8)

struct model_test {
	const char *name;
	void (*run)(void);
	struct model_test *next;
};

void test_register(struct model_test *test);

#define TEST(name) \
	static void name(void); \
	static struct model_test name##_test = { #name, name, NULL }; \
	static void __attribute__((constructor)) name##_register(void) { test_register(&name##_test); } \
	static void name(void)

extern struct bed *b;			/* the device of the test that runs; freed behind it */

void __attribute__((noreturn, format(printf, 3, 4))) check_failed(const char *file, int line, const char *format, ...);
void up(void);
void up_as(void (*configure)(struct vgpu_config *c));	/* instead of the device there was, if there was one */
void short_quantum(struct vgpu_config *c);
struct bed_process *up_process(void);	/* up(), and a process */
struct bed_queue *queue_up(void);	/* the same, and a queue of it */
struct bed_queue *sdma_up(u32 engine);
/* up(), and a mapped queue of a process of its own, with a grid that has been submitted and has not begun */
struct bed_queue *grid_up(struct bed_work **w, u32 waves, u32 wg_waves, u32 steps, u64 step_ns);
/* Without the scheduler: a queue of a process in HQD_VMID, with a grid that has been submitted */
#define HQD_VMID	9
struct bed_queue *hqd_up(struct bed_work **w, u32 waves, u32 steps, u64 step_ns);
struct bed_work *submit_work(struct bed_queue *q, u32 waves, u32 wg_waves, u32 steps, u64 step_ns);
/* A process, a queue and a grid for it each; submit_all() submits them. */
void add_queues(struct bed_queue **q, struct bed_work **w, u32 n, u32 waves, u32 wg_waves, u32 steps, u64 step_ns);
void submit_all(struct bed_queue **q, struct bed_work **w, u32 n);
void run_all(struct bed_queue **q, struct bed_work **w, u32 n);		/* maps them and submits their works */
void run_work(struct bed_queue *q, struct bed_work *w, u64 ns);		/* the same with one; then so much time goes by */
void load_for(const struct bed_queue *q, u32 pipe, u32 queue, u32 vmid, u64 ns);	/* without the scheduler */
void unmap_after(u64 ns);
void drain_interrupts(void);
void fence_and_trap(struct bed_queue *s, u64 va);
void draw_lots(void (*life)(u32 seed));	/* calls it with many seeds; it leaves the device in b */

#endif /* MODEL_TEST_H */

/* SPDX-License-Identifier: MIT */
/*
 * bed.h - a computer around the device model: memory, time, what the driver programs, and processes
 * with page tables and queues
 *
 * Everything the model sees goes through the same formats that amdgpu and amdkfd use. Time stands
 * still except in bed_run().
 */
#ifndef BED_H
#define BED_H

#include "../model/model.h"
#include "../vgpu_kernel.h"

#define BED_VRAM_BYTES		(512u << 20)
#define BED_SYSTEM_BYTES	(64u << 20)
#define BED_SYSTEM_BASE		0x40000000ULL	/* bus address of the system memory */
#define BED_DOORBELL_BYTES	(64u << 10)
#define BED_GART_BYTES		(4u << 20)
#define BED_VMIDS		0xfff8u		/* of the scheduler */
#define BED_RING_PACKETS	64u
#define BED_STACK_BYTES		4096u
#define BED_DRAIN		1u		/* CP_HQD_DEQUEUE_REQUEST */
#define BED_RESET		2u
#define BED_SAVE		3u
#define BED_STACK_WORDS		4u		/* in front of the waves of the first dispatch: two of the header, which dispatch, and its size */
#define BED_WAVE_BYTES		(32 * 256 + 112 * 4 + 128 + 64)	/* of bed_work(): registers of all kinds, and a gap */
#define BED_SAVE_BYTES		(5u << 20)
#define BED_LIST_DWORDS		8192u
#define BED_MQD_BYTES		8192u		/* the MQD and the control stack */
#define BED_KERNEL_RING		4096u		/* dwords of the rings of KIQ and HIQ */
#define BED_MQD_LOGIC_XCC	0x27		/* words of an MQD */
#define BED_MQD_CHUNK		0x29
#define BED_MQD_STRIDE		0xe2

#define PTE_V			1ULL
#define PTE_S			2ULL
#define PTE_X			(1ULL << 4)
#define PTE_R			(1ULL << 5)
#define PTE_W			(1ULL << 6)
#define PTE_RW			(PTE_R | PTE_W)
#define PTE_PRT			(1ULL << 51)
#define PDE_P			(1ULL << 54)
#define PTE_TF			(1ULL << 56)

/* A process: its root table in VRAM, as MAP_PROCESS names it */
struct bed_process {
	u64 root;
	u16 pasid;
	u8 quantum;		/* 10, as amdkfd asks for */
	bool retry;		/* XNACK */
	u64 tma;		/* what its trap handler works with */
	u32 traps;		/* what its debugger wants of exceptions, SPI_GDBG_PER_VMID_CNTL */
	u32 watch[4];		/* TCP_WATCHn_CNTL */
	u64 next_va;
};

/* A user AQL queue; on several XCCs there are as many MQDs, control stacks and save areas, one behind the other */
struct bed_queue {
	struct bed_process *p;
	u64 mqd;		/* address in VMID 0 */
	u32 *mqd_words;
	u8 *stack;
	u64 ring_va;
	u8 *ring;
	u64 page_va;		/* write index at 56, read index at 128 */
	u64 *write_index;
	u64 *read_index;
	u64 save_va;
	u32 doorbell;
	u32 engine;
	bool sdma;
	bool is_static;
	bool gws;
	bool inactive;		/* not in the runlist, only its process is */
};

/* A kernel, its arguments and its counters in a process */
struct bed_work {
	struct bed_process *p;
	u64 kernel_va, args_va, counters_va, signal_va, flag_va;
	u32 *counters;
	s64 *signal;
	u64 *mailbox;
	u64 *flag;
	u32 waves, steps, wg_waves;
};

struct bed {
	struct vgpu_config config;
	struct vgpu_model *m;
	u8 *vram;
	u8 peer[VGPU_PAGE];	/* the beginning of VRAM of the others in its hive */
	u8 *system;
	u64 *doorbells;
	u64 now;
	bool idle;		/* nothing else wants the model's CPU */
	u64 access_ns;		/* what it takes the model to find memory: how slow it is */
	void (*meanwhile)(void);	/* happens once, when the model has read the clock */
	u64 tick_ns;			/* that passes each time the model has read the clock */
	u64 next;
	u32 irqs;
	u64 vram_used, system_used;
	u32 next_doorbell;
	u16 next_pasid;
	u32 ih_rptr;
	/* kernel rings */
	u32 *kiq[VGPU_MAX_XCCS], *hiq;
	u64 kiq_wptr[VGPU_MAX_XCCS], hiq_wptr;
	u64 *hiq_wptr_memory;
	u32 *hiq_mqd_words;
	u64 *fence;
	u64 fence_value;
	/* MES's ring, instead of the HIQ's, where it schedules */
	u32 *mes;
	u64 mes_wptr;
	u64 *mes_answer;	/* the fence of the last frame */
	u64 *mes_passed;	/* number of the last one that MES is past */
	u64 mes_frames;
	u32 xcc;		/* whose KIQ, registers and parts of queues are meant below */
	bool never_chain;	/* a driver that does not see that it is oversubscribed */
	u32 announces_more;	/* a driver whose RUN_LIST counts so many processes too many */
};

void bed_gfx942(struct vgpu_config *c);		/* with one XCC */
void bed_xccs_2(struct vgpu_config *c);		/* gfx942 with this many */
void bed_xccs_4(struct vgpu_config *c);
void bed_mi308x(struct vgpu_config *c);
void bed_gfx1100(struct vgpu_config *c);
struct bed *bed_new(void (*configure)(struct vgpu_config *c));
void bed_free(struct bed *b);
void bed_run_for(struct bed *b, u64 ns);
bool bed_run_until(struct bed *b, bool (*done)(void *), void *arg, u64 ns);

u64 bed_vram(struct bed *b, u64 bytes);			/* offset in VRAM, page aligned, zeroed */
u64 bed_system(struct bed *b, u64 bytes);		/* offset in system memory */
u64 bed_kernel_va(struct bed *b, u64 vram_offset);	/* in VMID 0 */

void bed_driver_up(struct bed *b);			/* hubs, IH, KIQ, HIQ, scheduler's resources */
void bed_kiq(struct bed *b, const u32 *dwords, u32 count);
void bed_hiq(struct bed *b, const u32 *dwords, u32 count);
void bed_write_reg(struct bed *b, u32 me, u32 pipe, u32 queue, enum vgpu_hqd_reg reg, u32 value);

/* Without the scheduler, as the driver does it: a VMID for a process; a queue into a slot of MEC1, and out of it */
void bed_vmid(struct bed *b, u32 vmid, const struct bed_process *p);
void bed_hqd_load(struct bed *b, const struct bed_queue *q, u32 pipe, u32 queue, u32 vmid);
void bed_hqd_dequeue(struct bed *b, u32 pipe, u32 queue, u32 type);
bool bed_hqd_active(struct bed *b, u32 pipe, u32 queue);

struct bed_process *bed_process(struct bed *b);
void bed_map(struct bed *b, struct bed_process *p, u64 va, u64 phys, u64 flags);
u64 bed_alloc(struct bed *b, struct bed_process *p, u64 bytes, void **cpu);

struct bed_queue *bed_queue(struct bed *b, struct bed_process *p);
void bed_cu_mask(struct bed_queue *q, const u32 *mask, u32 engines);	/* before it is mapped; a word per engine */
struct bed_queue *bed_sdma_queue(struct bed *b, struct bed_process *p, u32 engine);
void bed_submit_raw(struct bed *b, struct bed_queue *q, const void *packet, bool ring);
struct bed_work *bed_work(struct bed *b, struct bed_process *p, u32 waves, u32 wg_waves, u32 steps, u64 step_ns);
void bed_submit(struct bed *b, struct bed_queue *q, struct bed_work *w, bool barrier);
bool bed_work_done(void *work);
u32 bed_work_lost(const struct bed_work *w);
u32 bed_work_twice(const struct bed_work *w);

/*
 * Runlist of all of @queues; processes in order of their first queue; chained to itself if that is
 * more than the scheduler has VMIDs, slots or GWS for. Returns when the fence was written, false if
 * it never is.
 */
bool bed_runlist(struct bed *b, struct bed_queue **queues, u32 count);
/* Its parts: the list, a RUN_LIST with the chain bit (both return dwords), and RUN_LIST for a list that goes to @va, without fence */
u32 bed_list(struct bed_queue **queues, u32 count, u32 *list);
u32 bed_chain(u32 *packet, u64 va, u32 dwords);
void bed_send_runlist(struct bed *b, u64 va, const u32 *list, u32 dwords);
bool bed_unmap(struct bed *b, bool reset);		/* non-static queues */
bool bed_unmap_pasid(struct bed *b, u16 pasid);
bool bed_unmap_named(struct bed *b, struct bed_queue **queues, u32 count);	/* four at most */
bool bed_map_named(struct bed *b, struct bed_queue **queues, u32 count);
bool bed_hiq_fence(struct bed *b);

/*
 * MES: a frame that begins with @words of @words_count dwords, and whose fence is described at dword
 * @status; the driver's query behind it. They say when MES is past both, or after a second. Return:
 * it has answered the frame
 */
bool bed_mes(struct bed *b, u32 op, const u32 *words, u32 words_count, u32 status);
bool bed_mes_past(void *bed);				/* is it past all frames? */
bool bed_mes_add(struct bed *b, struct bed_queue *q);	/* a queue is a gang of its own, called by its MQD */
bool bed_mes_remove(struct bed *b, const struct bed_queue *q);
/* SUSPEND (6) with a fence at @va if that is not 0, RESUME (7), or RESET (8) of @q; NULL: of all */
bool bed_mes_gang(struct bed *b, u32 op, const struct bed_queue *q, u64 va, u32 value);

/* Next entry of the interrupt ring, false if there is none */
bool bed_interrupt(struct bed *b, u32 iv[VGPU_IV_DWORDS]);
u64 bed_stat(struct bed *b, const char *name);
u32 bed_waves_by_register(struct bed *b, u32 doorbell);	/* on all XCCs */
/* The saved state whose MQD is @words has no longer the @count waves of bed_work() that a reader finds first */
void bed_forget_waves(u32 *words, u32 count);
u32 *bed_part(const struct bed *b, const struct bed_queue *q, u32 xcc);	/* its MQD on an XCC */

#endif /* BED_H */

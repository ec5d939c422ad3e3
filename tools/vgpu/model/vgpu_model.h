/* SPDX-License-Identifier: MIT */
/*
 * vgpu_model.h - interface between the device model and what surrounds it
 *
 * The model is plain C: it sees memory, time and interrupts only through struct vgpu_platform_ops,
 * and is driven by register accesses and by vgpu_model_run(). The same objects are compiled into
 * vgpu.ko and into the unit tests in user space; os.h is the only file that knows which of the two
 * it is.
 */
#ifndef VGPU_MODEL_H
#define VGPU_MODEL_H

#include "os.h"		/* u8..u64, bool, memcpy, allocation, spinlock, logging */

struct vgpu_model;

/**
 * struct vgpu_platform_ops - what the device needs from its surroundings
 * @sys_ptr: CPU pointer to @len bytes of system memory at a bus address (never crosses a page),
 *	NULL if there is none. BAR2 (doorbells) counts as system memory here, so that the GPU can
 *	ring its own doorbells.
 * @vram_ptr: CPU pointer to @len bytes of VRAM at an offset (never crosses a page), NULL beyond its
 *	end
 * @peer_ptr: the same of another device of the hive, by its node; NULL: there are no others
 * @now_ns: device time, monotonic; virtual time under -icount
 *	Called under the lock of the registers, too.
 * @raise_irq: the IH ring has entries; called from vgpu_model_run() only, without the model's lock
 * @cpu_wanted: does anything else wait for the CPU time that the model takes? Asked after a run; the
 *	model then sleeps for as long as it ran. NULL: it always may
 */
struct vgpu_platform_ops {
	void *(*sys_ptr)(void *ctx, u64 bus_addr, u32 len);
	void *(*vram_ptr)(void *ctx, u64 offset, u32 len);
	void *(*peer_ptr)(void *ctx, u32 node, u64 offset, u32 len);
	u64 (*now_ns)(void *ctx);
	void (*raise_irq)(void *ctx);
	bool (*cpu_wanted)(void *ctx);
};

enum vgpu_tlb_mode {
	VGPU_TLB_CHECKED,	/* each hit is compared with the page tables; one that differs is counted and not used */
	VGPU_TLB_CACHED,	/* a hit is used, as on the device */
	VGPU_TLB_OFF,		/* every access walks the page tables */
};
#define VGPU_AID_ENGINES	5		/* SDMA engines of an I/O die */
#define VGPU_POWER_ON		9
#define VGPU_MAX_XCCS		8u
#define VGPU_MAX_AIDS		(VGPU_MAX_XCCS / 2)
#define VGPU_MAX_SE		8		/* shader engines of an XCC */

/**
 * struct vgpu_layout - where the registers of several dies are, dword indices in BAR5
 *
 * There are two places for an XCC on each I/O die (AID). Blocks of an XCC or an I/O die that are
 * not listed here are as far behind the first one's as their places are apart.
 *
 * @xcc_place: place of each XCC; the driver counts places, and those that are empty as well
 * @xcc_shift: binary logarithm of the registers from the GC block of a place to that of the next
 * @aid_shift: the same for the blocks of an I/O die
 * @sdma_per_aid: SDMA engines of each I/O die
 * @sdma: base of their registers
 * @sdma_place: first of the places for engines that they have on the die; interrupts and the driver
 *	count those
 */
struct vgpu_layout {
	u8 xcc_place[VGPU_MAX_XCCS];
	u32 xcc_shift;
	u32 aid_shift;
	u32 sdma_per_aid;
	u32 sdma[VGPU_MAX_AIDS][VGPU_AID_ENGINES];
	u8 sdma_place[VGPU_MAX_AIDS];
};

/**
 * struct vgpu_place - registers that are not where gfx9 has them
 * @reg: the first one's number on gfx9
 * @at: its number on the device
 * @count: so many follow each other, 0: end
 */
struct vgpu_place {
	u32 reg, at, count;
};

/**
 * struct vgpu_asic - what distinguishes a device from the others; see asic.c
 * @name: its gfx target
 * @device: PCI device id
 * @revision: PCI revision
 * @bios_part: part number in the VBIOS
 * @max_xccs: accelerator complex dies that it may have; more than one share I/O dies (AIDs), two
 *	each
 * @places: where the registers of regs.h are that are more than memory; NULL: as on gfx9
 * @gfxhub: VM_CONTEXT0_CNTL of the first GFXHUB, dword index in BAR5 as all registers here
 * @mmhub: VM_CONTEXT0_CNTL of the first MMHUB
 * @gfxhub_fb: MC_VM_FB_LOCATION_BASE of the first GFXHUB
 * @mmhub_fb: MC_VM_FB_LOCATION_BASE of the first MMHUB
 * @atc_status: ATC_VMID_PASID_MAPPING_UPDATE_STATUS
 * @atc_mapping: ATC_VMID0_PASID_MAPPING; 0: only IH_VMID_n_LUT says whose a VMID is
 * @atc_mapping_mm: ATC_VMID16_PASID_MAPPING, for the MMHUB; 0: it has none
 * @lut_index: IH_VMID_LUT_INDEX, which selects whose IH_VMID_n_LUT is seen; 0: there is one
 * @xcp_ctl: CP_HYP_XCP_CTL of the first XCC (3:0 its number in the partition, 6:3 how many those
 *	are); 0: no partitions
 * @xcp_status: PARTITION_COMPUTE_STATUS (7:4: into what the XCCs are divided); firmware has it
 *	follow @xcp_ctl
 * @xgmi: MC_VM_XGMI_LFB_CNTL (3:0 node, 7:4 the last one), and MC_VM_XGMI_LFB_SIZE behind it
 * @layout: where the registers of several dies are, unless a product says otherwise
 * @fault_client: of the interrupts of GFXHUBs
 * @sdma_client: of the interrupts of an I/O die's SDMA engines, by place
 * @sdma_source: of their traps
 * @sdma_ring_shift: where the ring id of their interrupts has the engine's number, 0: nowhere
 * @sdma_page_ring: offset of the ring for page tables, 0: there is none
 * @sdma_on_gfxhub: their accesses go through the GFXHUB, not through the MMHUB
 * @sdma_mqd: dwords of the MQD of an SDMA queue that are not where the registers are
 * @sdma_mqd.rptr_addr_hi: RB_RPTR_ADDR_HI, and LO behind it
 * @sdma_mqd.ib_cntl: IB_CNTL, and what belongs to indirect buffers behind it
 * @sdma_mqd.context_status: CONTEXT_STATUS
 * @sdma_mqd.doorbell_offset: DOORBELL_OFFSET
 * @sdma_mqd.done: MIDCMD_DATA0
 * @watch_shift: lowest bit of addresses that watch points compare
 * @power_on: registers that are not 0 after power-on
 * @power_on.reg: dword index, 0: end
 * @power_on.value: what it holds
 * @discovery: a table in VRAM tells the driver what is where
 * @gfx942: its shader cores have gfx942's instructions
 * @mes: MES schedules it, in the place of a HIQ, and has kernel rings too, among them one for
 *	graphics
 * @cus_per_fuse: compute units that a fuse switches off together
 * @cu_mask_words: dwords of an MQD from COMPUTE_STATIC_THREAD_MGMT_SE0 on, by shader engine; 0: end
 * @stack_in_area: the control stack of a queue is at the beginning of its save area, not behind its
 *	MQD
 */
struct vgpu_asic {
	const char *name;
	u16 device;
	u8 revision;
	const char *bios_part;
	u32 max_xccs;
	const struct vgpu_place *places;
	u32 gfxhub;
	u32 mmhub;
	u32 gfxhub_fb;
	u32 mmhub_fb;
	u32 atc_status;
	u32 atc_mapping;
	u32 atc_mapping_mm;
	u32 lut_index;
	u32 xcp_ctl;
	u32 xcp_status;
	u32 xgmi;
	struct vgpu_layout layout;
	u8 fault_client;
	u8 sdma_client[VGPU_AID_ENGINES];
	u8 sdma_source;
	u8 sdma_ring_shift;
	u32 sdma_page_ring;
	bool sdma_on_gfxhub;
	struct {
		u8 rptr_addr_hi, ib_cntl, context_status, doorbell_offset, done;
	} sdma_mqd;
	u32 watch_shift;
	struct {
		u32 reg, value;
	} power_on[VGPU_POWER_ON];
	bool discovery;
	bool gfx942;
	bool mes;
	u32 cus_per_fuse;
	u8 cu_mask_words[VGPU_MAX_SE];
	bool stack_in_area;
};

/**
 * struct vgpu_config - what is built; all of it is fixed for the life of the device
 * @asic: which device
 * @device: PCI device id
 * @layout: where the registers of several dies are
 * @sclk_mhz: clock of the compute units
 * @vram_bytes: size of VRAM
 * @hive: devices that xGMI links connect, this one included; 0: it has no links
 * @hive_node: which of them it is
 * @hive_bytes: of each of them in the address space of all, in which VRAM of each is one behind the
 *	other; a multiple of 16 MiB
 * @doorbells: the doorbell BAR as the model reads it
 * @doorbell_bytes: its size
 * @xccs: accelerator complex dies, 1..@asic->max_xccs; everything below is of each of them
 * @cus: compute units
 * @simds_per_cu: SIMDs of a CU
 * @waves_per_simd: wave slots of a SIMD
 * @se: shader engines
 * @trap_ns: fixed cost of entering or leaving the context-save trap handler
 * @runlist_ns: cost of processing an unmap request, beside saving
 * @connect_ns: from a runlist until the queues of its first process run, beside restoring
 * @connect_next_ns: what each further process with queues adds to that, for itself and those behind
 *	it
 * @dispatch_ns: from a packet at the head of a mapped queue to its first waves
 * @hbm_bytes_per_us: memory bandwidth of saving and restoring
 * @quantum_ns: unit of the time slice that a process is mapped with, when queues or processes are
 *	oversubscribed
 * @tlb: what becomes of cached translations
 * @firmware: what its firmware does otherwise, a bit for each enum vgpu_firmware
 */
struct vgpu_config {
	const struct vgpu_asic *asic;
	u16 device;
	const struct vgpu_layout *layout;
	u32 sclk_mhz;
	u64 vram_bytes;
	u32 hive;
	u32 hive_node;
	u64 hive_bytes;
	void *doorbells;
	u32 doorbell_bytes;
	u32 xccs;
	u32 cus;
	u32 simds_per_cu;
	u32 waves_per_simd;
	u32 se;
	u64 trap_ns;
	u64 runlist_ns;
	u64 connect_ns;
	u64 connect_next_ns;
	u64 dispatch_ns;
	u64 hbm_bytes_per_us;
	u64 quantum_ns;
	enum vgpu_tlb_mode tlb;
	u32 firmware;
};

/**
 * struct vgpu_product - the numbers that a device has unless they are given
 * @name: of the product, as preset= has it
 * @asic: its gfx target; NULL: any
 * @device: PCI device id, 0: that of the gfx target
 * @layout: where its registers are, NULL: as of the gfx target
 * @xccs: as in struct vgpu_config, as all that follows
 * @cus: compute units
 * @se: shader engines
 * @sclk_mhz: clock
 * @hbm_bytes_per_us: bandwidth
 * @trap_ns: cost
 * @runlist_ns: cost
 * @connect_ns: cost
 * @connect_next_ns: cost
 * @dispatch_ns: cost
 * @ring_ns: from a doorbell until the device looks
 * @quantum_ns: unit of the time slice
 * @firmware: what its firmware is known to do otherwise, a list of names; NULL: nothing
 */
struct vgpu_product {
	const char *name;
	const char *asic;
	u16 device;
	const struct vgpu_layout *layout;
	u32 xccs, cus, se, sclk_mhz, hbm_bytes_per_us;
	u32 trap_ns, runlist_ns, connect_ns, connect_next_ns, dispatch_ns, ring_ns, quantum_ns;
	const char *firmware;
};

/**
 * enum vgpu_firmware - what firmware may do otherwise; Documentation/virtual-gpu.rst has the
 * question that each stands for
 * @VGPU_FIRMWARE_LATE_RPTR: the kernel's rings (HIQ, KIQ) report their read pointer in memory by
 *	whole blocks of 64 dwords only
 * @VGPU_FIRMWARE_EARLY_RPTR: they report packets as read as soon as their doorbell was heard,
 *	before they are executed
 * @VGPU_FIRMWARE_STACK_OFFSET_KEPT: a queue that has nothing in flight when it is saved keeps the
 *	offsets of control stack and wave state that its MQD has since it was saved with waves
 * @VGPU_FIRMWARE_LAZY_DISPATCH_ID: read_dispatch_id is written when the ring has run empty, or
 *	every 16 packets
 * @VGPU_FIRMWARE_LAGGING_WAVES: SPI_CSQ_WF_ACTIVE_COUNT shows what was 100 us ago, perhaps another
 *	queue's
 * @VGPU_FIRMWARE_ZERO_WAVES: it shows 0
 * @VGPU_FIRMWARE_WHOLE_HQD_WRITEBACK: a queue that is saved leaves all its registers in its MQD,
 *	with the VMID and what the hardware set in them
 * @VGPU_FIRMWARE_NO_STAMPS: the times of connecting, saving and restoring in the MQD stay what they
 *	were
 * @VGPU_FIRMWARE_MAPPED_AGAIN: a queue that was unmapped by its doorbell is mapped again two
 *	milliseconds later, as its runlist says
 * @VGPU_FIRMWARE_EARLY_SUSPEND_FENCE: MES writes the fence of SUSPEND before waves are saved
 * @VGPU_FIRMWARE_RESUME_ALL_RESUMES: RESUME of all gangs resumes those, too, that were suspended
 *	one by one
 * @VGPU_FIRMWARES: how many there are
 */
enum vgpu_firmware {
	VGPU_FIRMWARE_LATE_RPTR,
	VGPU_FIRMWARE_EARLY_RPTR,
	VGPU_FIRMWARE_STACK_OFFSET_KEPT,
	VGPU_FIRMWARE_LAZY_DISPATCH_ID,
	VGPU_FIRMWARE_LAGGING_WAVES,
	VGPU_FIRMWARE_ZERO_WAVES,
	VGPU_FIRMWARE_WHOLE_HQD_WRITEBACK,
	VGPU_FIRMWARE_NO_STAMPS,
	VGPU_FIRMWARE_MAPPED_AGAIN,
	VGPU_FIRMWARE_EARLY_SUSPEND_FENCE,
	VGPU_FIRMWARE_RESUME_ALL_RESUMES,
	VGPU_FIRMWARES,
};

/**
 * enum vgpu_fault - what can be made to go wrong
 * @VGPU_FAULT_STALE_MQD: saving a queue leaves the MQD's rptr and offsets as they were at map
 * @VGPU_FAULT_STALE_CTL_STACK: saving a queue writes no control stack
 * @VGPU_FAULT_MQD_GARBAGE: saving a queue leaves garbage in the MQD
 * @VGPU_FAULT_CTL_STACK_GARBAGE: saving a queue that has waves leaves garbage in the control stack
 * @VGPU_FAULT_RPTR_GARBAGE: an AQL queue reports its value instead of the read index
 * @VGPU_FAULT_DEQUEUE_LATE: a queue that CP_HQD_DEQUEUE_REQUEST asks to save takes its value, in
 *	microseconds, longer
 * @VGPU_FAULT_DEQUEUE_LOST: such a queue, or one that is asked to drain, stays active until it is
 *	reset
 * @VGPU_FAULT_DEQUEUE_DEAD: a queue stays active whatever CP_HQD_DEQUEUE_REQUEST asks for; after
 *	its value, in microseconds, it goes without its waves. 0: never
 * @VGPU_FAULT_UNMAP_LATE: an unmap request of the scheduler takes its value, in microseconds,
 *	longer
 * @VGPU_FAULT_UNMAP_LOST: the HIQ stops for good at an unmap request
 * @VGPU_FAULT_FENCE_LOST: a fence that HIQ is asked for is not written
 * @VGPU_FAULT_PREEMPT_FAIL: an unmap request gives up on a queue, which stays mapped, and logs its
 *	doorbell in the HIQ's MQD
 * @VGPU_FAULT_QUEUE_RESET_FAIL: SPI_COMPUTE_QUEUE_RESET has no effect
 * @VGPU_FAULT_PIPE_RESET_FAIL: a pipe reset by CP_MEC_CNTL has no effect
 * @VGPU_FAULT_HUNG_WAVE: the waves of a dispatch never end and cannot be saved; only a reset gets
 *	rid of them
 * @VGPU_FAULT_INVALIDATION_LOST: INVALIDATE_TLBS is acknowledged and does nothing
 * @VGPU_FAULT_IRQ_LOST: entries of the interrupt ring raise no interrupt
 * @VGPU_FAULT_STATE_LOST: at an unmap request the device resets itself
 * @VGPU_FAULT_FULL_AFTER_UNMAP: from the end of an unmap request on, the HIQ's ring is reported to
 *	be full for its value, in microseconds
 * @VGPU_FAULT_FULL_AFTER_RUNLIST: the same from a runlist on
 * @VGPU_FAULT_VRAM_LOST: a reset leaves garbage in VRAM
 * @VGPU_FAULT_MES_SILENT: MES stops for good at a frame
 * @VGPU_FAULT_MES_LATE: MES carries a frame out and answers it its value, in microseconds, later
 * @VGPU_FAULT_MES_REMOVE_FAILS: MES does not carry REMOVE_QUEUE out, and goes on with what follows
 * @VGPU_FAULTS: how many there are
 */
enum vgpu_fault {
	VGPU_FAULT_STALE_MQD,
	VGPU_FAULT_STALE_CTL_STACK,
	VGPU_FAULT_MQD_GARBAGE,
	VGPU_FAULT_CTL_STACK_GARBAGE,
	VGPU_FAULT_RPTR_GARBAGE,
	VGPU_FAULT_DEQUEUE_LATE,
	VGPU_FAULT_DEQUEUE_LOST,
	VGPU_FAULT_DEQUEUE_DEAD,
	VGPU_FAULT_UNMAP_LATE,
	VGPU_FAULT_UNMAP_LOST,
	VGPU_FAULT_FENCE_LOST,
	VGPU_FAULT_PREEMPT_FAIL,
	VGPU_FAULT_QUEUE_RESET_FAIL,
	VGPU_FAULT_PIPE_RESET_FAIL,
	VGPU_FAULT_HUNG_WAVE,
	VGPU_FAULT_INVALIDATION_LOST,
	VGPU_FAULT_IRQ_LOST,
	VGPU_FAULT_STATE_LOST,
	VGPU_FAULT_FULL_AFTER_UNMAP,
	VGPU_FAULT_FULL_AFTER_RUNLIST,
	VGPU_FAULT_VRAM_LOST,
	VGPU_FAULT_MES_SILENT,
	VGPU_FAULT_MES_LATE,
	VGPU_FAULT_MES_REMOVE_FAILS,
	VGPU_FAULTS,
};

#define VGPU_DISCOVERY_OFFSET	65536u		/* of the discovery table, from the end of VRAM */

const struct vgpu_asic *vgpu_asic_find(const char *name);

/*
 * Products by name and by number (NULL: there are no more). What a device of @config->asic and
 * @config->xccs has of a product beside numbers: false after an error, which the log has, if it is
 * none.
 */
const struct vgpu_product *vgpu_product_find(const char *name);
const char *vgpu_product_name(u32 product);
bool vgpu_product_apply(const struct vgpu_product *p, struct vgpu_config *c);
u32 vgpu_discovery_build(const struct vgpu_config *config, u8 *table, u32 size);
struct vgpu_model *vgpu_model_create(const struct vgpu_config *config, const struct vgpu_platform_ops *ops, void *ctx);
void vgpu_model_destroy(struct vgpu_model *m);

/*
 * Power-on state, as after a function level reset; memory and counters stay. Not while
 * vgpu_model_run() runs.
 */
void vgpu_model_reset(struct vgpu_model *m);

/*
 * Garbage into the MQD of the queue that was saved last and is not mapped again. Return: false if
 * there is none.
 */
bool vgpu_model_scribble(struct vgpu_model *m);

/*
 * Faults: the name, how many more times it happens (U32_MAX: always), and a number that some have
 * (no name: has none). To be read and written while vgpu_model_run() does not run.
 */
const char *vgpu_fault_name(u32 fault);
const char *vgpu_fault_value_name(enum vgpu_fault fault);
u32 *vgpu_model_fault_left(struct vgpu_model *m, enum vgpu_fault fault);
u32 *vgpu_model_fault_xcc(struct vgpu_model *m);		/* where faults of a scheduler happen, 0 at first */
u64 *vgpu_model_fault_value(struct vgpu_model *m, enum vgpu_fault fault);

/*
 * A list of names with commas between them into a bit each. An unknown name is an error that lists
 * the known ones, two of firmware's that answer the same question are an error that names both;
 * messages go to the log. Return: false after an error.
 */
bool vgpu_names_parse(const char *parameter, const char *value, const char *(*name_of)(u32), u32 count, u32 *bits);
bool vgpu_firmware_parse(const char *value, u32 *bits);
const char *vgpu_firmware_name(u32 firmware);

/* Size of BAR5: a power of two that all registers fit in */
u32 vgpu_model_reg_bytes(const struct vgpu_model *m);

/*
 * Registers, by dword index in BAR5. Any context, also with interrupts off; never calls back into
 * @ops.
 */
u32 vgpu_model_reg_read(struct vgpu_model *m, u32 index);
bool vgpu_model_reg_write(struct vgpu_model *m, u32 index, u32 value);
bool vgpu_model_asked(const struct vgpu_model *m);

/**
 * vgpu_model_run() - do everything that is due
 * @m: the device
 *
 * Processes doorbells, kernel queues (KIQ, HIQ, compute and SDMA rings), runlists, user queues,
 * wave completions. One caller at a time, process context. To be called at the time it returned,
 * and often enough in between: doorbells, registers, and memory that a packet or a wave waits for,
 * are looked at once in each call.
 *
 * Return: device time of the next thing that will happen by itself, U64_MAX if nothing is pending.
 */
u64 vgpu_model_run(struct vgpu_model *m);

/*
 * Text for debugfs: returns the bytes written, never more than @size. Not while vgpu_model_run()
 * runs.
 */
u32 vgpu_model_print_stats(struct vgpu_model *m, char *buf, u32 size);
u32 vgpu_model_print_queues(struct vgpu_model *m, char *buf, u32 size);
u32 vgpu_model_print_cus(struct vgpu_model *m, char *buf, u32 size);
/* Lines "pasid ns": time for which its compute queues had waves, added up */
u32 vgpu_model_print_busy(struct vgpu_model *m, char *buf, u32 size);
/*
 * Lines "number ns", the oldest first: what the last requests took that took waves off the device
 */
u32 vgpu_model_print_saves(struct vgpu_model *m, char *buf, u32 size);

#endif /* VGPU_MODEL_H */

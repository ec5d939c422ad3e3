/* SPDX-License-Identifier: MIT */
/*
 * model.h - the calls between the parts of the model; nothing outside model/ includes it, or what it
 * includes
 *
 * Register accesses come from any CPU at any time; they stay inside regs.c. Everything else belongs
 * to the one thread in vgpu_model_run() and needs no lock.
 *
 *   asic.c   what distinguishes the devices
 *   product.c  the numbers of those that can be bought
 *   discovery.c  the table that tells the driver what a device has
 *   regs.c   register file, GRBM banking, indirect registers, invalidation engines
 *   ih.c     interrupt ring
 *   gpuvm.c  address translation and memory access
 *   pm4.c    packets of kernel rings, HIQ and user PM4 queues
 *   queue.c  what a mapped queue is to all who serve it
 *   ring.c   how far queues have been read, and what they have completed
 *   mqd.c    what of a queue is in memory while it is not mapped
 *   stream.c  reading of packets
 *   cp.c     mapping and unmapping, doorbells
 *   device.c  vgpu_model_run(): calls all others, and none of them calls it
 *   hws.c    runlist, process and queue slots, rotation
 *   mes.c    frames of MES, which fill the runlist on devices that have no HIQ
 *   aql.c    AQL packets
 *   dispatch.c  dispatches, from packets of either kind
 *   wave_slots.c  wave slots and the progress of waves
 *   isa_*.c  machine code, see isa.h
 *   cwsr.c   saving waves at dequeue, restoring them at map; save_area.h says where
 *   sdma.c   SDMA rings and queues
 *   fault.c  what goes wrong on demand
 *   firmware.c  what firmware may do otherwise
 */
#ifndef VGPU_MODEL_INTERNAL_H
#define VGPU_MODEL_INTERNAL_H

#include "device.h"

/* What waves see: the host's time may have gone on since the model began to look at what is due */
static inline u64 vgpu_now_ns(const struct vgpu_model *m)
{
	u64 now = m->ops->now_ns(m->ctx);

	return now > m->now_ns ? now : m->now_ns;
}

/* When does what is due begin? Its time may have come before what it waits for was seen to end. */
static inline u64 vgpu_begin_ns(const struct vgpu_model *m)
{
	return m->ended_ns > m->now_ns ? m->ended_ns : m->now_ns;
}

static inline bool vgpu_queue_is_user_compute(const struct vgpu_queue *q)
{
	return q->kind != VGPU_QUEUE_SDMA && q->vmid && q->me != VGPU_ME_GFX;
}

/* Where the write pointer is when a queue is mapped: MES is told where the kernel sees it */
static inline u32 vgpu_wptr_as(const struct vgpu_model *m, const struct vgpu_queue *q)
{
	return q->from_runlist && m->config.asic->mes ? VGPU_AS_KERNEL : VGPU_AS(q->hub, q->vmid);
}

/* Does its process want what it does to wait for pages? Only the hardware scheduler is told. */
static inline bool vgpu_queue_retries(const struct vgpu_model *m, const struct vgpu_queue *q)
{
	return q->from_runlist && m->xcc[q->xcc].vmid[q->vmid].retry;
}

/* regs.c */
u64 *vgpu_doorbell_at(struct vgpu_model *m, u32 doorbell);
u32 vgpu_sdma_engines(const struct vgpu_model *m);
u32 vgpu_sdma_aid(const struct vgpu_model *m, u32 engine);
u32 vgpu_sdma_engine_regs(const struct vgpu_model *m, u32 engine);
u32 vgpu_sdma_rlc_regs(const struct vgpu_model *m, u32 engine, u32 n);

/* gpuvm.c */
bool vgpu_tlb_init(struct vgpu_model *m);
void vgpu_tlb_fini(struct vgpu_model *m);
void vgpu_tlb_invalidate_mm(struct vgpu_model *m, u32 vmids);
void vgpu_tlb_invalidate_pasid(struct vgpu_model *m, u32 hub, bool all_hubs, u16 pasid);
bool vgpu_vm_mapped(struct vgpu_model *m, u32 as, u64 va);
bool vgpu_vm_executable(struct vgpu_model *m, u32 as, u64 va);
void *vgpu_vm_fetch(struct vgpu_model *m, u32 as, u64 va, u32 len);
void *vgpu_vm_ptr(struct vgpu_model *m, u32 as, u64 va, u32 len, bool write);
bool vgpu_vm_read(struct vgpu_model *m, u32 as, u64 va, void *buf, u64 len);
bool vgpu_vm_write(struct vgpu_model *m, u32 as, u64 va, const void *buf, u64 len);
bool vgpu_vm_write32(struct vgpu_model *m, u32 as, u64 va, u32 value);
bool vgpu_vm_read64(struct vgpu_model *m, u32 as, u64 va, u64 *value);
bool vgpu_vm_write64(struct vgpu_model *m, u32 as, u64 va, u64 value);

/* fault.c */
void vgpu_fault_init(struct vgpu_model *m);
bool vgpu_fault(struct vgpu_model *m, enum vgpu_fault fault);
bool vgpu_fault_on(struct vgpu_model *m, enum vgpu_fault fault, u32 xcc);

/* firmware.c */
bool vgpu_firmware(const struct vgpu_model *m, enum vgpu_firmware firmware);

/* queue.c */
u32 vgpu_queue_as(const struct vgpu_queue *q);
struct vgpu_queue *vgpu_queue_part(struct vgpu_model *m, struct vgpu_queue *q, u32 part);
struct vgpu_queue *vgpu_queue_alloc(struct vgpu_model *m, enum vgpu_queue_kind kind);
bool vgpu_queue_hung(const struct vgpu_queue *q);
void vgpu_queue_error(struct vgpu_model *m, struct vgpu_queue *q, enum vgpu_exception code, const char *what, u64 detail);
u32 vgpu_queue_doorbell_index(const struct vgpu_queue *q);
u32 vgpu_queue_rptr_dwords(const struct vgpu_queue *q);
void vgpu_queue_eop(struct vgpu_model *m, struct vgpu_queue *q, u32 source, u32 context_id);
void vgpu_queue_show(struct vgpu_model *m, const struct vgpu_queue *q);
bool vgpu_queue_runtime_read(struct vgpu_model *m, const struct vgpu_queue *q, u32 field, void *buf, u32 len);
bool vgpu_queue_runtime_tell(struct vgpu_model *m, struct vgpu_queue *q, u64 bits);

/* mqd.c */
bool vgpu_mqd_has(u32 reg);
void vgpu_mqd_load(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_mqd_save(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_mqd_save_sdma(struct vgpu_model *m, struct vgpu_queue *q);

/* ring.c */
void vgpu_ring_launched(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_ring_part_done(struct vgpu_model *m, struct vgpu_dispatch *d);
void vgpu_ring_unread(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_ring_joined(struct vgpu_model *m, struct vgpu_queue *q);
bool vgpu_ring_drained(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_ring_signal(struct vgpu_model *m, struct vgpu_queue *q, u64 signal, u64 start_ns);
void vgpu_ring_heard(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_ring_pm4_launched(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_ring_expire_full(struct vgpu_model *m, struct vgpu_queue *q);
u64 vgpu_ring_packet(const struct vgpu_queue *q, u64 index);
u64 vgpu_ring_head(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_ring_consume(struct vgpu_model *m, struct vgpu_queue *q);
struct vgpu_dispatch *vgpu_ring_find(struct vgpu_queue *q, u64 index);
void vgpu_ring_report(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_ring_report_full(struct vgpu_model *m, struct vgpu_queue *q, enum vgpu_fault fault);
void vgpu_ring_advance(struct vgpu_queue *q, u32 dwords);

/* cp.c */
void vgpu_queue_free(struct vgpu_model *m, struct vgpu_queue *q);
struct vgpu_queue *vgpu_queue_map(struct vgpu_model *m, const struct vgpu_map_request *request);
bool vgpu_queue_fetch_wptr(struct vgpu_model *m, struct vgpu_queue *q, u32 as, u64 va);
void vgpu_doorbell_poll(struct vgpu_model *m, struct vgpu_queue *q);
u64 vgpu_queue_unmap(struct vgpu_model *m, struct vgpu_queue *q, bool save);
void vgpu_save_reported(struct vgpu_model *m, u64 asked_ns);

/* aql.c */
bool vgpu_aql_run(struct vgpu_model *m, struct vgpu_queue *q);

/* dispatch.c */
bool vgpu_dispatch_fits(struct vgpu_model *m, u32 waves, u32 vgprs, u32 lds_bytes);
bool vgpu_dispatch_parse(struct vgpu_model *m, struct vgpu_queue *q, const struct vgpu_launch *launch, struct vgpu_dispatch *d);
bool vgpu_dispatch_put(struct vgpu_model *m, struct vgpu_queue *q, const struct vgpu_dispatch *from);
void vgpu_dispatch_drop(struct vgpu_dispatch *d);
u32 vgpu_dispatch_slot(const struct vgpu_dispatch *d, const struct vgpu_queue *q);
u64 vgpu_dispatch_number(const struct vgpu_dispatch *d, u32 own);
void vgpu_dispatch_workgroup(const struct vgpu_dispatch *d, u32 own, u32 workgroup[3]);
bool vgpu_dispatch_own_workgroup(const struct vgpu_dispatch *d, const u32 workgroup[3], u32 *own);
u32 vgpu_dispatch_waves_of(const struct vgpu_dispatch *d, u32 workgroup);
bool vgpu_dispatch_complete(const struct vgpu_dispatch *d);

/* wave_slots.c */
bool vgpu_waves_init(struct vgpu_model *m);
void vgpu_waves_fini(struct vgpu_model *m);
bool vgpu_waves_expire(struct vgpu_model *m);
bool vgpu_waves_place(struct vgpu_model *m);
u32 vgpu_waves_slots_busy(const struct vgpu_model *m);
void vgpu_waves_release(struct vgpu_model *m, struct vgpu_group *g);
struct vgpu_group *vgpu_group_get(struct vgpu_model *m);
void vgpu_group_put(struct vgpu_model *m, struct vgpu_group *g);
void vgpu_waves_freeze(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_waves_kill(struct vgpu_model *m, struct vgpu_queue *q);

/* isa_waves.c */
struct vgpu_workgroup *vgpu_workgroup_alloc(struct vgpu_model *m, const struct vgpu_dispatch *d, u32 waves);
struct vgpu_workgroup *vgpu_workgroup_start(struct vgpu_model *m, struct vgpu_dispatch *d, u32 own, u32 waves);
void vgpu_workgroup_free(struct vgpu_queue *q, struct vgpu_workgroup *wg);
enum vgpu_workgroup_state vgpu_workgroup_run(struct vgpu_model *m, struct vgpu_group *g);
bool vgpu_wave_save(struct vgpu_model *m, u32 as, u64 va, const struct vgpu_dispatch *d, struct vgpu_wave *w);
bool vgpu_wave_restore(struct vgpu_model *m, u32 as, u64 va, const struct vgpu_dispatch *d, const struct vgpu_saved_hwregs *r,
		       struct vgpu_wave *w);

/* cwsr.c */
u64 vgpu_cwsr_ns(struct vgpu_model *m, u64 bytes);
void vgpu_stamp(struct vgpu_model *m, u64 mqd, enum vgpu_stamp what, u64 start_ns, u64 end_ns);
void vgpu_cwsr_saved(struct vgpu_model *m, u64 end_ns);
void vgpu_cwsr_discard(struct vgpu_model *m, struct vgpu_queue *q);
u64 vgpu_cwsr_save(struct vgpu_model *m, struct vgpu_queue *q);
u64 vgpu_cwsr_restore(struct vgpu_model *m, struct vgpu_queue *q);

/* pm4.c */
bool vgpu_pm4_run(struct vgpu_model *m, struct vgpu_queue *q);
int vgpu_pm4_ib(struct vgpu_model *m, struct vgpu_queue *q, const u32 *p);

/* sdma.c */
bool vgpu_sdma_run(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_sdma_poll_registers(struct vgpu_model *m);
struct vgpu_queue *vgpu_sdma_map(struct vgpu_model *m, const struct vgpu_map_request *request);

/* hws.c */
void vgpu_hws_set_resources(struct vgpu_model *m, u32 xcc, u32 vmid_mask, u64 queue_mask);
bool vgpu_hws_runlist(struct vgpu_model *m, struct vgpu_queue *hiq, u64 ib, u32 dwords, u32 process_count);
void vgpu_hws_unmap(struct vgpu_model *m, struct vgpu_queue *hiq, bool statics_too, bool by_pasid, u16 pasid, bool save);
void vgpu_hws_unmap_named(struct vgpu_model *m, struct vgpu_queue *hiq, const u32 *doorbells, u32 count, bool save);
bool vgpu_hws_map_process(struct vgpu_model *m, struct vgpu_queue *hiq, const u32 *p, u32 dwords);
bool vgpu_hws_map_queue(struct vgpu_model *m, struct vgpu_queue *hiq, const u32 *p, u32 dwords);
u64 vgpu_hws_map_list(struct vgpu_model *m, u32 xcc, u64 start_ns);
bool vgpu_hws_take_off(struct vgpu_model *m, u32 xcc, const struct vgpu_rl_entry *e, bool save, u64 *bytes, u64 *ns);
void vgpu_hws_quantum(struct vgpu_model *m);
u64 vgpu_hws_next_event(struct vgpu_model *m);

/* mes.c */
bool vgpu_mes_run(struct vgpu_model *m, struct vgpu_queue *mes);
bool vgpu_mes_fences(struct vgpu_model *m);
u64 vgpu_mes_next_event(const struct vgpu_model *m);

#endif /* VGPU_MODEL_INTERNAL_H */

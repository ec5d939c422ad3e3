/* SPDX-License-Identifier: MIT */
/*
 * fake_driver.h - as much of amdgpu and amdkfd as the scheduler's core sees of them, in user space
 *
 * Every header of the driver that the core includes is this one. Only members that the core uses are here. fake_amdkfd.c has a device behind it.
 */
#ifndef FAKES_FAKE_DRIVER_H
#define FAKES_FAKE_DRIVER_H

#include "fake_kernel.h"

#define NR_XCC_MAX		4
#define NR_SLOTS		32
#define NR_NODES_MAX		8
#define AMDGPU_MAX_QUEUES	128
#define NUM_XCC(mask)		hweight32(mask)
#define IP_VERSION(a, b, c)	((a) << 16 | (b) << 8 | (c))
#define KFD_GC_VERSION(node)	((node)->adev->gc_version)

/* ---- memory ---- */

#define AMDGPU_GEM_DOMAIN_GTT			0x2
#define AMDGPU_GEM_DOMAIN_VRAM			0x4
#define AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED	(1 << 0)
#define AMDGPU_GEM_CREATE_NO_CPU_ACCESS		(1 << 1)
#define DMA_RESV_USAGE_KERNEL	0

struct dma_resv {
	bool hangs;
};
struct ttm_tt {
	struct mm_struct *usermm;
	u64 userptr;
};
enum ttm_bo_type { ttm_bo_type_device, ttm_bo_type_kernel, ttm_bo_type_sg };
enum { TTM_PL_SYSTEM, TTM_PL_TT, TTM_PL_VRAM };
struct ttm_resource {
	u32 mem_type;
	bool hidden;
};
/* The device's, if it is any. */
struct ttm_device {
	struct amdgpu_device *adev;
};
struct ttm_buffer_object {
	struct {
		struct dma_resv *resv;
		size_t size;
		void *import_attach;
	} base;
	enum ttm_bo_type type;
	struct ttm_device *bdev;
	struct ttm_resource *resource;
	struct ttm_tt *ttm;
	void *memory;
};
struct ttm_bo_kmap_obj {
	void *virtual;
};

/**
 * struct amdgpu_bo - a buffer object
 * @fails_pin, @fails_kmap, @fails_reserve: so does that
 */
struct amdgpu_bo {
	struct ttm_buffer_object tbo;
	u32 preferred_domains;
	u64 flags;
	int pins;
	int references;
	int kmaps;
	bool reserved;
	bool fails_pin;
	bool fails_kmap;
	bool fails_reserve;
	struct dma_resv resv;
	struct ttm_resource resource;
};
#define amdgpu_bo_size(bo)	((bo)->tbo.base.size)
#define amdgpu_ttm_adev(b)	((b)->adev)
#define amdgpu_res_cpu_visible(adev, res)	(!(res)->hidden)

int amdgpu_bo_reserve(struct amdgpu_bo *bo, bool no_intr);
void amdgpu_bo_unreserve(struct amdgpu_bo *bo);
int amdgpu_bo_pin(struct amdgpu_bo *bo, u32 domain);
void amdgpu_bo_unpin(struct amdgpu_bo *bo);
struct amdgpu_bo *amdgpu_bo_ref(struct amdgpu_bo *bo);
void amdgpu_bo_unref(struct amdgpu_bo **bo);
int ttm_bo_kmap(struct ttm_buffer_object *tbo, unsigned long first, unsigned long n, struct ttm_bo_kmap_obj *map);
void ttm_bo_kunmap(struct ttm_bo_kmap_obj *map);
static inline void *ttm_kmap_obj_virtual(struct ttm_bo_kmap_obj *map, bool *iomem) { *iomem = false; return map->virtual; }
static inline long dma_resv_wait_timeout(struct dma_resv *resv, int usage, bool intr, unsigned long timeout)
{
	BUG_ON(intr);
	return resv->hangs ? -EIO : 1;
}
static inline struct mm_struct *amdgpu_ttm_tt_get_usermm(struct ttm_tt *ttm) { return ttm ? ttm->usermm : NULL; }
static inline bool amdgpu_ttm_tt_is_userptr(struct ttm_tt *ttm) { return ttm && ttm->userptr; }
int amdgpu_ttm_tt_get_userptr(const struct ttm_buffer_object *tbo, uint64_t *userptr);

/* ---- devices ---- */

struct kfd_node;
struct kfd_dev;
struct kfd_process;
struct device_queue_manager;
struct mqd_manager;

struct device {
	struct kobject kobj;
	int numa_node;
	const char *name;
};
static inline const char *dev_name(const struct device *dev) { return dev->name; }
static inline int dev_to_node(const struct device *dev) { return dev->numa_node; }
extern struct device *kfd_device;
struct amdgpu_reset_domain {
	struct rw_semaphore sem;
};
struct amdgpu_device {
	struct device *dev;
	struct {
		struct ttm_device bdev;
	} mman;
	struct amdgpu_reset_domain *reset_domain;
	struct {
		struct {
			u32 num_pipe_per_mec;
			u32 num_queue_per_pipe;
		} mec;
	} gfx;
	u32 gc_version;
	unsigned long flags;
	bool virtual_function;
	bool fatal;
	bool in_suspend;
	bool shutdown;
	bool enforce_isolation[NR_NODES_MAX];
};
#define AMD_IS_APU	0x00020000UL
#define amdgpu_sriov_vf(adev)	((adev)->virtual_function)
#define amdgpu_amdkfd_is_fed(adev)	((adev)->fatal)

struct kfd_cu_occupancy {
	u32 wave_cnt;
	u32 doorbell_off;
};
enum kfd_preempt_type { KFD_PREEMPT_TYPE_WAVEFRONT_DRAIN, KFD_PREEMPT_TYPE_WAVEFRONT_RESET, KFD_PREEMPT_TYPE_WAVEFRONT_SAVE };
struct kfd2kgd_calls {
	void (*get_cu_occupancy)(struct amdgpu_device *adev, struct kfd_cu_occupancy *occupancy, int *max_waves_per_cu, u32 inst);
	int (*hqd_destroy)(struct amdgpu_device *adev, void *mqd, enum kfd_preempt_type type, unsigned int timeout_ms, u32 pipe, u32 queue,
			   u32 inst);
	bool (*hqd_is_occupied)(struct amdgpu_device *adev, u64 address, u32 pipe, u32 queue, u32 inst);
};

/* The slot registers that hqd.c knows; the rest of the macros' arguments is the device's business. */
int kgd_gfx_v9_hqd_destroy(struct amdgpu_device *adev, void *mqd, enum kfd_preempt_type type, unsigned int timeout_ms, u32 pipe, u32 queue, u32 xcc);
void kgd_gfx_v9_acquire_queue(struct amdgpu_device *adev, u32 pipe, u32 queue, u32 xcc);
void kgd_gfx_v9_release_queue(struct amdgpu_device *adev, u32 xcc);
void shim_hqd_dequeue_request(u32 xcc, u32 value);
u32 shim_hqd_active(u32 xcc);
#define GET_INST(ip, inst)	(inst)
#define amdgpu_in_reset(adev)	((adev)->reset_domain->sem.writer)
#define CP_HQD_ACTIVE__ACTIVE_MASK	1
#define WREG32_SOC15_RLC(ip, inst, reg, value)	shim_##reg##_write(inst, value)
#define RREG32_SOC15(ip, inst, reg)		shim_##reg##_read(inst)
#define shim_mmCP_HQD_DEQUEUE_REQUEST_write	shim_hqd_dequeue_request
#define shim_mmCP_HQD_ACTIVE_read		shim_hqd_active

struct gpreempt_node;
struct gpreempt_queue;
struct qcm_process_device;
struct queue;

#include "hooks.h"

struct kfd_dev {
	struct {
		bool enable_mes;
	} shared_resources;
	bool cwsr_enabled;
	unsigned int num_nodes;
	struct kfd_node *nodes[NR_NODES_MAX];
};
struct kfd_node {
	u32 id;
	u32 node_id;
	unsigned int max_proc_per_quantum;
	u32 xcc_mask;
	struct amdgpu_device *adev;
	struct kfd_dev *kfd;
	struct device_queue_manager *dqm;
	const struct kfd2kgd_calls *kfd2kgd;
	KFD_GPREEMPT_NODE
};

/* ---- offsets in /dev/kfd ---- */

#define KFD_MMAP_TYPE_SHIFT	62
#define KFD_MMAP_TYPE_MASK	(0x3ULL << KFD_MMAP_TYPE_SHIFT)
#define KFD_MMAP_TYPE_DOORBELL	(0x3ULL << KFD_MMAP_TYPE_SHIFT)
#define KFD_MMAP_TYPE_MMIO	(0x0ULL << KFD_MMAP_TYPE_SHIFT)
#define KFD_MMAP_GPU_ID_SHIFT	46
#define KFD_MMAP_GPU_ID(id)	((u64)(id) << KFD_MMAP_GPU_ID_SHIFT)
#define KFD_MMAP_GET_GPU_ID(offset)	((u32)((offset) >> KFD_MMAP_GPU_ID_SHIFT) & 0xffff)

/* ---- queues ---- */

enum kfd_queue_type { KFD_QUEUE_TYPE_COMPUTE, KFD_QUEUE_TYPE_SDMA };
enum kfd_queue_format { KFD_QUEUE_FORMAT_PM4, KFD_QUEUE_FORMAT_AQL };

struct queue_properties {
	enum kfd_queue_type type;
	enum kfd_queue_format format;
	unsigned int queue_id;
	u64 queue_address;
	u64 queue_size;
	u32 priority;
	u32 queue_percent;
	void __user *read_ptr;
	void __user *write_ptr;
	u32 doorbell_off;
	bool is_evicted;
	bool is_suspended;
	bool is_being_destroyed;
	bool is_active;
	bool is_gws;
	u64 ctx_save_restore_area_address;
	struct amdgpu_bo *rptr_bo;
	struct amdgpu_bo *wptr_bo;
	KFD_GPREEMPT_PROPERTIES
};
#define QUEUE_IS_ACTIVE(q) ((q).queue_size > 0 && (q).queue_address != 0 && (q).queue_percent > 0 && !(q).is_evicted && !(q).is_suspended \
			    KFD_GPREEMPT_RUNNABLE(q))

struct kfd_mem_obj {
	u64 gpu_addr;
	u32 *cpu_ptr;
};
struct queue {
	struct list_head list;
	void *mqd;
	struct kfd_mem_obj *mqd_mem_obj;
	struct queue_properties properties;
	u32 pipe;
	u32 queue;
	struct kfd_process *process;
	struct kfd_node *device;
	struct kobject kobj;
	KFD_GPREEMPT_QUEUE
};
struct v9_mqd {
	u32 cp_hqd_pipe_priority;
	u32 cp_hqd_queue_priority;
	u32 cp_hqd_cntl_stack_offset;
	u32 cp_hqd_cntl_stack_size;
	u32 cp_hqd_pq_doorbell_control;
	u32 cp_hqd_pq_base_lo;
	u32 cp_hqd_pq_base_hi;
	u32 cp_hqd_pq_rptr;
	u32 cp_mqd_connect_start_time_lo;
	u32 cp_mqd_connect_start_time_hi;
	u32 cp_mqd_connect_end_time_lo;
	u32 cp_mqd_connect_end_time_hi;
	u32 cp_mqd_save_start_time_lo;
	u32 cp_mqd_save_start_time_hi;
	u32 cp_mqd_save_end_time_lo;
	u32 cp_mqd_save_end_time_hi;
	u32 cp_mqd_restore_start_time_lo;
	u32 cp_mqd_restore_start_time_hi;
	u32 cp_mqd_restore_end_time_lo;
	u32 cp_mqd_restore_end_time_hi;
};
struct mqd_update_info {
	u32 cu_mask;
};
enum { KFD_MQD_TYPE_HIQ, KFD_MQD_TYPE_CP, KFD_MQD_TYPE_MAX };
struct mqd_manager {
	u32 mqd_size;
	u64 (*mqd_stride)(struct mqd_manager *mm, struct queue_properties *q);
	int (*load_mqd)(struct mqd_manager *mm, void *mqd, u32 pipe, u32 queue, struct queue_properties *p, struct mm_struct *mms);
	bool (*check_preemption_failed)(struct mqd_manager *mm, void *mqd);
	void (*update_mqd)(struct mqd_manager *mm, void *mqd, struct queue_properties *q, struct mqd_update_info *minfo);
	struct device_queue_manager *dqm;
};
struct kernel_queue {
	struct queue *queue;
	u64 pending_wptr;
	u32 *rptr_kernel;
};
int kq_acquire_packet_buffer(struct kernel_queue *kq, size_t dwords, unsigned int **buffer);
int kq_submit_packet(struct kernel_queue *kq);
enum kfd_unmap_queues_filter { KFD_UNMAP_QUEUES_FILTER_ALL_QUEUES, KFD_UNMAP_QUEUES_FILTER_DYNAMIC_QUEUES };
struct packet_manager;
struct packet_manager_funcs {
	int (*map_process)(struct packet_manager *pm, u32 *buffer, struct qcm_process_device *qpd);
	int (*map_queues)(struct packet_manager *pm, u32 *buffer, struct queue *q, bool is_static);
	int (*unmap_queues)(struct packet_manager *pm, u32 *buffer, enum kfd_unmap_queues_filter filter, u32 param, bool reset);
	int (*query_status)(struct packet_manager *pm, u32 *buffer, u64 fence_address, u64 value);
	int map_process_size;
	int map_queues_size;
	int unmap_queues_size;
	int query_status_size;
};
struct packet_manager {
	struct kernel_queue *priv_queue;
	struct mutex lock;
	const struct packet_manager_funcs *pmf;
};
/* Only what is written into a packet after the driver has built it */
enum { queue_sel__mes_unmap_queues__perform_request_on_specified_queues, queue_sel__mes_unmap_queues__unmap_all_non_static_queues = 3 };
struct pm4_mes_unmap_queues {
	u32 header;
	struct { u32 queue_sel, num_queues; } bitfields2;
	struct { u32 doorbell_offset0; } bitfields3b;
	struct { u32 doorbell_offset1; } bitfields4;
	struct { u32 doorbell_offset2; } bitfields5;
	struct { u32 doorbell_offset3; } bitfields6;
};
#define KFD_FENCE_COMPLETED	100
#define KFD_FENCE_INIT		10
struct device_process_node {
	struct qcm_process_device *qpd;
	struct list_head list;
};
enum { KFD_SCHED_POLICY_HWS, KFD_SCHED_POLICY_HWS_NO_OVERSUBSCRIPTION, KFD_SCHED_POLICY_NO_HWS };
#define USE_DEFAULT_GRACE_PERIOD	0xffffffff
#define KFD_UNMAP_LATENCY_MS		4000
struct device_queue_manager {
	struct mutex lock_hidden;
	struct list_head queues;
	struct kfd_node *dev;
	struct mqd_manager *mqd_mgrs[KFD_MQD_TYPE_MAX];
	struct packet_manager packet_mgr;
	int sched_policy;
	bool sched_running;
	bool sched_halt;
	bool is_hws_hang;
	bool active_runlist;
	u64 *fence_addr;
	u64 fence_gpu_addr;
	int detect_hang_count;
	int active_queue_count;
	int active_cp_queue_count;
	int gws_queue_count;
	int processes_count;
};
#define dqm_lock(dqm)	mutex_lock(&(dqm)->lock_hidden)
#define dqm_unlock(dqm)	mutex_unlock(&(dqm)->lock_hidden)

struct process_queue_manager {
	struct list_head queues;
};
struct process_queue_node {
	struct queue *q;
	struct list_head process_queue_list;
};
struct qcm_process_device {
	struct list_head queues_list;
	struct list_head priv_queue_list;
	bool is_debug;
	bool mapped_gws_queue;
	u32 evicted;
};
struct kfd_process_device {
	struct qcm_process_device qpd;
	struct kfd_process *process;
	struct kfd_node *dev;
	bool has_reset_queue;
	bool already_dequeued;
};
#define qpd_to_pdd(p)	container_of(p, struct kfd_process_device, qpd)
struct kfd_process {
	struct hlist_node kfd_processes;
	struct kref ref;
	struct mutex mutex;
	struct mm_struct *mm;
	struct task_struct *lead_thread;
	struct process_queue_manager pqm;
	bool debug_trap_enabled;
	struct kfd_process_device pdds[NR_NODES_MAX];
	KFD_GPREEMPT_PROCESS
};

/* Of the commands only the numbers count. */
#define AMDKFD_IOC_CREATE_QUEUE		_IO('K', 0x02)
#define AMDKFD_IOC_DESTROY_QUEUE	_IO('K', 0x03)
#define AMDKFD_IOC_UPDATE_QUEUE		_IO('K', 0x07)
#define AMDKFD_IOC_SET_CU_MASK		_IO('K', 0x1A)
#define AMDKFD_IOC_ALLOC_QUEUE_GWS	_IO('K', 0x1E)

extern struct srcu_struct kfd_processes_srcu;
extern DECLARE_HASHTABLE(kfd_processes_table, 5);
extern const int pipe_priority_map[16];
extern int queue_preemption_timeout_ms;

struct kfd_process_device *kfd_get_process_device_data(struct kfd_node *node, struct kfd_process *p);
void kfd_unref_process(struct kfd_process *p);
int pm_update_grace_period(struct packet_manager *pm, u32 grace_period);
unsigned int get_cp_queues_num(struct device_queue_manager *dqm);
void kfd_signal_reset_event(struct kfd_node *node);
void amdgpu_amdkfd_gpu_reset(struct amdgpu_device *adev);
void dbgdev_wave_reset_wavefronts(struct kfd_node *node, struct kfd_process *p);

#endif /* FAKES_FAKE_DRIVER_H */

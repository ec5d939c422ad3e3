/* SPDX-License-Identifier: MIT */
/*
 * kfdlib.h - a small KFD client for tests and demonstrations
 *
 * What an unmodified ROCm program does between opening /dev/kfd and a completed AQL packet, and nothing more: no
 * ROCr, no libdrm, only <linux/kfd_ioctl.h>, sysfs and a render node. Works on any gfx9 Instinct up to the point
 * where a kernel runs; the kernels it dispatches are the virtual GPU's model kernels (vgpu_kernel.h) or, where that GPU's debugfs
 * is not to be seen, machine code that does the same (work.cl, compiled for the device and beside the program).
 *
 * Functions return 0 or a negative errno unless they say otherwise. A client belongs to the process that opened it:
 * open after fork(), never before. Nothing here is thread-safe except on different queues.
 */
#ifndef KFDLIB_H
#define KFDLIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vgpu_kernel.h"

#define KFD_PRIORITY_NORMAL	7	/* what every ROCr queue is born with */
#define KFD_PAGE_BYTES		4096u
#define KFD_MAX_SIGNALS		4096u	/* event slots of a process */
#define KFD_NS_PER_MS		1000000ull
#define KFD_NS_PER_US		1000ull

/**
 * struct kfd_buffer - memory at the same address for CPU and GPU
 * @ptr: address
 * @bytes: size, a multiple of the page size
 * @handle: KFD's handle
 * @owned: the CPU mapping is ours to remove
 */
struct kfd_buffer {
	void *ptr;
	size_t bytes;
	uint64_t handle;
	bool owned;
};

/* Where a buffer lies that is neither of these: what ROCr uses for data */
enum kfd_domain { KFD_IN_GTT, KFD_IN_VRAM };

/**
 * struct kfd_client - one process's connection to one GPU
 * @kfd_fd: /dev/kfd
 * @drm_fd: the render node whose VM KFD takes over
 * @gpu_id: what ioctls call the GPU
 * @simd_count: SIMDs of the node
 * @simd_per_cu: SIMDs per compute unit
 * @array_count: shader arrays
 * @simd_arrays_per_engine: shader arrays per shader engine
 * @max_waves_per_simd: hardware's wave slots per SIMD as topology tells them
 * @gfx_target_version: 90010 for gfx90a
 * @num_xcc: compute dies behind the node
 * @cwsr_size: bytes of a queue's save area per XCC, control stack included
 * @ctl_stack_size: bytes of the control stack per XCC
 * @doorbells: this process's doorbell pages, NULL until the first queue exists
 * @event_page: one u64 per event; the GPU stores the event's id there
 * @event_page_handle: its KFD handle, passed to the first CREATE_EVENT
 * @event_page_known: KFD has been told
 * @work_code: machine code of work.cl, as far as it is used
 * @work_kernel: address of its kernel descriptor; 0: model kernels are used
 * @save_areas: where those of queues lie that are created from now on; &enum kfd_domain
 * @why: what went wrong in kfd_client_open(), for skip messages
 */
struct kfd_client {
	int kfd_fd;
	int drm_fd;
	uint32_t gpu_id;
	uint32_t simd_count;
	uint32_t simd_per_cu;
	uint32_t array_count;
	uint32_t simd_arrays_per_engine;
	uint32_t max_waves_per_simd;
	uint32_t gfx_target_version;
	uint32_t num_xcc;
	uint32_t cwsr_size;
	uint32_t ctl_stack_size;
	volatile uint8_t *doorbells;
	volatile uint64_t *event_page;
	uint64_t event_page_handle;
	bool event_page_known;
	struct kfd_buffer work_code;
	uint64_t work_kernel;
	enum kfd_domain save_areas;
	char why[160];
};

#define KFD_ACCESS_WRITE	(1u << 0)	/* of the GPU; it may always read */
#define KFD_ACCESS_EXECUTE	(1u << 1)
#define KFD_ACCESS_ALL		(KFD_ACCESS_WRITE | KFD_ACCESS_EXECUTE)

/**
 * struct kfd_memory_fault - what KFD tells a process about a memory violation
 * @va: the page
 * @gpu_id: the GPU
 * @not_present: nothing valid is mapped there
 * @read_only: it was a write, and the page allows none
 * @no_execute: it was an instruction fetch, and the page allows none (amdkfd never says so on gfx9)
 */
struct kfd_memory_fault {
	uint64_t va;
	uint32_t gpu_id;
	bool not_present;
	bool read_only;
	bool no_execute;
};

/* What backs a queue's page and ring: ROCr 5.2.3 uses user pages; GTT is what a leaner client takes. */
enum kfd_backing { KFD_BACKING_USERPTR, KFD_BACKING_GTT };

/**
 * struct kfd_signal - amd_signal_t: 64 bytes that the GPU decrements when a packet completes
 * @kind: 1 (user signal)
 * @value: starts at what kfd_signal_init() was given, counts down to 0
 * @event_mailbox_ptr: slot in the event page, 0 = nobody is woken
 * @event_id: what the GPU stores there and puts into the interrupt
 * @reserved1: 0
 * @start_ts: when the device began with it, in ticks of its clock, after kfd_queue_stamp()
 * @end_ts: when it ended
 * @queue_ptr: unused here
 * @reserved3: 0
 */
struct kfd_signal {
	int64_t kind;
	volatile int64_t value;
	uint64_t event_mailbox_ptr;
	uint32_t event_id;
	uint32_t reserved1;
	uint64_t start_ts;
	uint64_t end_ts;
	uint64_t queue_ptr;
	uint32_t reserved3[2];
};

/* How a ring is read, and by whom: the command processor, SDMA engines, those SDMA engines that XGMI traffic prefers */
enum kfd_queue_kind { KFD_QUEUE_AQL, KFD_QUEUE_PM4, KFD_QUEUE_SDMA, KFD_QUEUE_SDMA_XGMI };

/**
 * struct kfd_queue - a queue
 * @client: whose
 * @kind: of its packets
 * @id: KFD's queue id
 * @page: amd_queue_t: write index at byte 56, read index at byte 128 (PM4: write pointer and, as 32 bits that wrap with
 *	the ring, read pointer in dwords; SDMA: both in bytes)
 * @ring: AQL: packets of 64 bytes; otherwise dwords
 * @eop: end-of-pipe buffer (compute; none on gfx942)
 * @cwsr: context save area (compute)
 * @packets: size of the ring in units of 64 bytes
 * @priority: KFD priority as last set
 * @metadata_bytes: memory behind the ring
 * @hidden_rptr: the read pointer is somewhere else than in @page, where only the GPU sees it: the ring is taken to be empty
 * @doorbell: AQL: takes the index of the last packet; otherwise the write pointer
 */
struct kfd_queue {
	struct kfd_client *client;
	enum kfd_queue_kind kind;
	uint32_t id;
	struct kfd_buffer page;
	struct kfd_buffer ring;
	struct kfd_buffer eop;
	struct kfd_buffer cwsr;
	uint32_t packets;
	uint32_t priority;
	uint32_t metadata_bytes;
	bool hidden_rptr;
	volatile uint64_t *doorbell;
};

/**
 * struct kfd_work - a kernel and the counters that prove what became of it
 *
 * One launch is one grid of @waves waves of @steps steps; every launch counts in an own slice of @counters, so each
 * counter has to end at exactly 1.
 *
 * @kernel: what every launch runs
 * @args: one per launch
 * @counters: u32[@launches][@waves][@steps]
 * @guard: counters after the last slice that nothing may touch
 * @waves: waves per launch
 * @steps: steps per wave
 * @launches: how many launches there is room for
 * @submitted: launches put into a ring
 */
struct kfd_work {
	struct vgpu_kernel *kernel;
	struct vgpu_kernargs *args;
	volatile uint32_t *counters;
	volatile uint32_t *guard;
	uint32_t waves;
	uint32_t steps;
	uint32_t launches;
	uint32_t submitted;
};

/**
 * struct kfd_tally - what became of submitted work items (a step of a wave is an item)
 * @done: counters that are 1
 * @lost: counters that are 0
 * @twice: counters above 1, and any that was never to be touched
 */
struct kfd_tally {
	uint64_t done;
	uint64_t lost;
	uint64_t twice;
};

/* ---- time ---- */
uint64_t kfd_now_ns(void);			/* CLOCK_MONOTONIC */
void kfd_sleep_ns(uint64_t ns);
void kfd_sleep_until_ns(uint64_t deadline_ns);

/* Looks at a condition every @step_ns, for @timeout_ns. 0, or -ETIME. */
#define KFD_WAIT(condition, step_ns, timeout_ns) ({ \
	uint64_t deadline_ = kfd_now_ns() + (timeout_ns); \
	int late_ = 0; \
	while (!(condition) && !(late_ = kfd_now_ns() < deadline_ ? 0 : -ETIME)) \
		kfd_sleep_ns(step_ns); \
	late_; \
})

/* ---- small files: negative errno; a number is -1 where there is none, Y and N are 1 and 0 ---- */
int kfd_file_read(const char *path, char *buf, size_t size);	/* how many bytes; there is a 0 behind them */
int kfd_file_write(const char *path, const char *text);
int64_t kfd_file_number(const char *path);			/* the first thing in it */
void kfd_file_empty(const char *path);
int64_t kfd_cpu_ns(int64_t pid);				/* what a thread has had of a CPU; 0: it is not there */

/* ---- connection ---- */
extern uint32_t kfd_wanted_gpu_id;		/* the GPU that is meant, in all of this; 0: the first one */
int kfd_gpu_ids(uint32_t *ids, int max);	/* of all GPUs; how many */
int kfd_pci_name(char *buf, size_t size);	/* as in /sys/bus/pci/devices */
int kfd_client_sizes(struct kfd_client *c);	/* what topology tells, without opening anything */
int kfd_client_open(struct kfd_client *c);
/*
 * A context: a process of KFD's beside the program's first one, with the same PID. It has an address space on the GPU, queues and doorbells of
 * its own, and no user pages. It ends with its file. -ENOTTY: this KFD makes none.
 */
int kfd_client_open_context(struct kfd_client *c);
void kfd_client_close(struct kfd_client *c);
#define KFD_METADATA	22
int kfd_interface(struct kfd_client *c);	/* minor version of KFD's interface */
bool kfd_driver_is_amds(void);		/* of the package amdgpu-dkms, not the kernel's own */
bool kfd_client_is_virtual(void);		/* debugfs of the virtual GPU exists: model kernels can run */
void kfd_code_path(const char *name, uint32_t gfx_target_version, char *path, size_t size);	/* beside the program: NAME-gfx90a.co */
const char *kfd_work_missing(void);		/* why there are no kernels for the first GPU, or NULL */
uint32_t kfd_client_wave_slots(const struct kfd_client *c);	/* small waves that fill the device */
uint32_t kfd_wave_slots(void);			/* those of the first GPU, without a client; 0 = not known */
#define KFD_GFX942	90402
#define KFD_GFX11	110000
uint32_t kfd_gfx_target_version(void);		/* of the first GPU, as above; 0: none */

/* ---- memory ---- */
int kfd_buffer_gtt(struct kfd_client *c, size_t bytes, struct kfd_buffer *b);
int kfd_buffer_userptr(struct kfd_client *c, size_t bytes, struct kfd_buffer *b);
int kfd_buffer_import(struct kfd_client *c, void *ptr, size_t bytes, struct kfd_buffer *b);	/* existing pages */
int kfd_buffer_alloc(struct kfd_client *c, enum kfd_backing backing, size_t bytes, struct kfd_buffer *b);
/* In a given domain with given access, at @at (page aligned; what is mapped there goes) or, with NULL, anywhere */
int kfd_buffer_place(struct kfd_client *c, enum kfd_domain domain, void *at, size_t bytes, uint32_t access,
		     struct kfd_buffer *b);
int kfd_buffer_unmap(struct kfd_client *c, struct kfd_buffer *b);	/* from the GPU; it stays allocated */
int kfd_buffer_free(struct kfd_client *c, struct kfd_buffer *b);

/* ---- queues ---- */
int kfd_queue_create(struct kfd_client *c, struct kfd_queue *q, enum kfd_backing backing, uint32_t priority,
		     uint32_t packets);
int kfd_queue_create_kind(struct kfd_client *c, struct kfd_queue *q, enum kfd_queue_kind kind, enum kfd_backing backing,
			  uint32_t priority, uint32_t ring_bytes);
/* AQL, with pointers at other addresses than in the queue's page, where they are if 0 */
int kfd_queue_create_at(struct kfd_client *c, struct kfd_queue *q, uint64_t rptr_va, uint64_t wptr_va, uint32_t priority,
			uint32_t packets);
/* AQL, and behind the ring, in the same buffer, memory for metadata of its packets, which gfx9 does not look at. From KFD_METADATA on */
int kfd_queue_create_with_metadata(struct kfd_client *c, struct kfd_queue *q, uint32_t priority, uint32_t packets, uint32_t metadata_bytes);
int kfd_queue_update(struct kfd_queue *q, uint32_t priority, uint32_t percentage);	/* unmaps and maps everything */
int kfd_queue_set_cu_mask(struct kfd_queue *q, const uint32_t *mask, uint32_t bits);	/* @bits: a multiple of 32 */
int kfd_queue_set_gws(struct kfd_queue *q, bool on);	/* one queue of a process */
int kfd_queue_destroy(struct kfd_queue *q);
uint64_t kfd_queue_rptr(const struct kfd_queue *q);
uint64_t kfd_queue_wptr(const struct kfd_queue *q);

/* ---- packets as they are: -EAGAIN while the ring has no room. PM4 and SDMA: whole packets, counted in dwords ---- */
int kfd_packet_submit(struct kfd_queue *q, const void *packet, uint32_t flags);		/* AQL, 64 bytes */
void kfd_queue_ring(struct kfd_queue *q);	/* AQL: for all packets that were submitted silently */
uint32_t kfd_ring_space(const struct kfd_queue *q);					/* free dwords */
int kfd_ring_submit(struct kfd_queue *q, const uint32_t *words, uint32_t count, uint32_t flags);

/* ---- exceptions of queues, as a runtime asks for them: before the first queue exists, then for each compute queue ---- */
int kfd_runtime_enable(struct kfd_client *c);
void kfd_queue_catch(struct kfd_queue *q, uint64_t *status, uint32_t event_id);		/* *status gets a bit for each */
void kfd_queue_stamp(struct kfd_queue *q);	/* AQL: from now on signals tell in @start_ts and @end_ts when the device did it */
#define KFD_TICK_NS	10	/* of the device's clock, the reference clock of 100 MHz */
/* So many ns have to be added to the device's clock for that of kfd_now_ns(); -1 if the driver does not tell. */
int64_t kfd_clock_offset_ns(const struct kfd_client *c);

/* ---- profiling: no other process may lock the device meanwhile. Only without any queue on it: see driver-notes.rst ---- */
int kfd_profiler_lock(struct kfd_client *c, bool lock, bool counters);	/* -ENOTTY: this KFD has none; -EBUSY, -EALREADY */

/* ---- signals; @s lies in memory that the GPU sees ---- */
void kfd_signal_init(struct kfd_signal *s, int64_t value);
int kfd_signal_init_event(struct kfd_client *c, struct kfd_signal *s, int64_t value);	/* with an event */
void kfd_signal_reset(struct kfd_signal *s, int64_t value);				/* keeps the event */
int kfd_signal_poll(const struct kfd_signal *s, uint64_t timeout_ns);			/* until 0; -ETIME */
/* Between two of its looks, after a long wait: 100 us. Each look wakes a CPU; who measures no latencies by it may say more. */
extern uint64_t kfd_longest_poll_ns;
int kfd_signal_wait(struct kfd_client *c, struct kfd_signal *s, uint64_t timeout_ns);	/* by the event */

int kfd_event_wait(struct kfd_client *c, uint32_t event_id, uint64_t timeout_ns);	/* -ETIME */

/* ---- memory violations of this process ---- */
int kfd_fault_event(struct kfd_client *c, uint32_t *event_id);
int kfd_fault_wait(struct kfd_client *c, uint32_t event_id, uint64_t timeout_ns, struct kfd_memory_fault *f);

/**
 * struct kfd_evictions - how often amdkfd took the queues of this process off the device because of their memory
 * @fd: event stream
 * @evictions: times that it began
 * @restores: times that it ended
 * @retries: times that it could not end yet
 */
struct kfd_evictions {
	int fd;
	uint32_t evictions;
	uint32_t restores;
	uint32_t retries;
};

int kfd_evictions_watch(struct kfd_client *c, struct kfd_evictions *e);
int kfd_evictions_update(struct kfd_evictions *e);

/* ---- work ---- */
#define KFD_PACKET_BARRIER	(1u << 0)	/* wait for all earlier packets of the queue */
#define KFD_PACKET_SILENT	(1u << 1)	/* leave the doorbell alone; a later packet rings */

size_t kfd_work_bytes(uint32_t launches, uint32_t waves, uint32_t steps);
/* What a step of @step_ns takes: where machine code is interpreted, $KFD_STEP_DIVISOR says how much shorter it is. */
uint64_t kfd_step_at_least_ns(uint64_t step_ns);
void kfd_work_init(struct kfd_work *w, void *mem, uint32_t launches, uint32_t waves, uint32_t steps, uint64_t step_ns);
void kfd_work_wait_for(struct kfd_work *w, const volatile uint64_t *flag);	/* launches to come poll *flag first */
int kfd_work_submit(struct kfd_queue *q, struct kfd_work *w, struct kfd_signal *done, uint32_t flags);
int kfd_barrier_submit(struct kfd_queue *q, struct kfd_signal *const *deps, uint32_t ndeps, struct kfd_signal *done,
		       uint32_t flags);
void kfd_work_tally(const struct kfd_work *w, struct kfd_tally *t);		/* adds to *t */
uint64_t kfd_work_progress(const struct kfd_work *w);				/* items counted so far */

/**
 * struct kfd_vgpu_cu - a compute unit of the virtual GPU
 * @xcc: its XCC
 * @number: in the XCC
 * @engine: shader engine
 * @waves: that it has now
 * @started: that it was ever given
 */
struct kfd_vgpu_cu {
	unsigned int xcc;
	unsigned int number;
	unsigned int engine;
	unsigned int waves;
	unsigned long long started;
};

/* ---- the scheduler's and the virtual GPU's numbers; -1 = not there ---- */
bool kfd_kernel_since(unsigned int version, unsigned int patchlevel);	/* is it this one's series or a later one? */
int64_t kfd_param_get(const char *name);			/* /sys/module/amdgpu/parameters/<name>; Y/N are 1/0 */
int kfd_param_set(const char *name, int64_t value);
int kfd_param_set_text(const char *name, const char *value);
int kfd_param_get_text(const char *name, char *buf, size_t size);
int kfd_gpreempt_text(uint32_t gpu_id, const char *name, char *buf, size_t size);
int kfd_gpreempt_set_text(uint32_t gpu_id, const char *name, const char *value);
int64_t kfd_gpreempt_get(uint32_t gpu_id, const char *name);	/* /sys/class/kfd/kfd/gpreempt/<gpu_id>/<name> */
int64_t kfd_vgpu_stat(const char *name);			/* stats of its folder in /sys/kernel/debug/vgpu */
int64_t kfd_pasid(pid_t pid);					/* of a process that has opened one device; 0: it has not */
int64_t kfd_vgpu_waves(int64_t pasid);			/* in slots now, of all its queues */
int64_t kfd_vgpu_busy_ns(int64_t pasid);			/* for how long each queue of it had waves, added up; 0: none had any */
int kfd_vgpu_look_every(int64_t ns);				/* at its doorbells; no more often than when the program began (0) */
int kfd_vgpu_cus(struct kfd_vgpu_cu *cu, int max);		/* /sys/kernel/debug/vgpu/cus; how many, negative errno */
int kfd_vgpu_set(const char *name, int64_t value);		/* a file of /sys/kernel/debug/vgpu, say fault/unmap_lost */
int64_t kfd_vgpu_get(const char *name);
long kfd_ioctl_32bit(int fd, unsigned int request, void *argument);	/* as a 32-bit program makes it; @argument below 4 GiB */
size_t kfd_log_size(void);					/* of the kernel log, in bytes */
const char *kfd_log_since(size_t since);			/* what was added after the first @since bytes; until the next call */
uint32_t kfd_first_gpu_id(void);				/* 0 = none */
int kfd_first_render_minor(void);				/* -1 = none */
int64_t kfd_proc_stat(int pid, uint32_t gpu_id, const char *name);	/* /sys/class/kfd/kfd/proc/<pid>/stats_<gpu_id>/ */

/**
 * struct kfd_gpreempt_queue - a line of the scheduler's debugfs file
 * @qid: KFD queue id
 * @prio: logical priority
 * @state: active, idle, preempted, blocked, ...
 * @rptr: packets consumed
 * @wptr: packets submitted
 * @preempt_count: how often it was taken off the GPU by the scheduler
 * @preempted_ns: for how long altogether
 * @effective_prio: @prio with ageing
 */
struct kfd_gpreempt_queue {
	uint32_t qid;
	int prio;
	char state[16];
	uint64_t rptr;
	uint64_t wptr;
	uint64_t preempt_count;
	uint64_t preempted_ns;
	int effective_prio;
};

int kfd_gpreempt_queue_get(uint32_t gpu_id, int pid, uint32_t qid, struct kfd_gpreempt_queue *q);	/* -ENOENT */

#endif /* KFDLIB_H */

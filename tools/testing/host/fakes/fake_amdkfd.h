/* SPDX-License-Identifier: MIT */
/*
 * fake_amdkfd.h - a device, its driver and programs around the scheduler's core, in user space
 *
 * The core is compiled unchanged. Below it fake_kernel.c stands for the kernel, and fake_amdkfd.c for amdkfd and the device: with the hardware scheduler (hws) a
 * runlist takes all queues off and maps those that are active; MES is asked for one queue at a time; without both (mqd) each queue has a slot. Programs
 * are driven by tests.
 *
 * A queue's packets are kernels of one wave. The device runs as many at a time as it has slots for waves; each takes some time, on the device only.
 * Each function that has a name of the driver's was compared with that of 6.12 and of 7.3. In brackets is what is simplified. What tests here rest on,
 * and which test of tools/testing/selftests holds it with the real driver:
 *
 *	a queue that does not leave is reset alone, its process marked, and UPDATE_QUEUE refused	queue_that_fails_to_yield_is_reset
 *	the others of a marked process, and new ones, are mapped					siblings_of_a_reset_queue_go_on
 *	a refused UPDATE_QUEUE leaves the device without a runlist					refused_update_keeps_nobody_off
 *	after a reset of the device its processes stay off						lost_unmap_resets_the_device
 *	an eviction takes all queues of a process, and gives them back					evicted_processes_come_back_whole
 *	an unmap that cannot be sent leaves everything where it is					request_that_cannot_be_sent_changes_nothing
 *	a runlist that could not be mapped leaves all off						mapping_is_tried_again
 *	a suspended queue stays off									suspended_while_preempted_stays_off_until_both_let_it_go
 *	without the hardware scheduler each queue has its slot						each_queue_is_saved_in_its_own_slot
 *	a slot that is not left keeps its queue until its waves are reset				timeout_is_driven_to_an_end
 *	MES takes one queue off or on, and the others go on						low_hog_yields_to_late_high (suite mes)
 *
 * fake_amdkfd.c looks after what must hold at every moment: a queue that is preempted is never mapped, a slot has one owner, every kernel runs to its
 * end once and in order.
 */
#ifndef FAKES_FAKE_AMDKFD_H
#define FAKES_FAKE_AMDKFD_H

#include "fake_driver.h"
#include "node.h"
#include "obstacle.h"
#include "params.h"
#include "rooms.h"
#ifdef CONFIG_KFD_GPREEMPT_NO_HWS
#include "hqd.h"
#endif
#ifdef CONFIG_KFD_GPREEMPT_CONTROL
#include "dump.h"
#include "event.h"
#include "hold.h"
#include "queue_sysfs.h"
#include "target.h"
#else
#define gpreempt_queue_sysfs_state(gq, pending)	(tap_skip("no files of queues"), "")
#endif
#ifdef CONFIG_KFD_GPREEMPT_WAKE
#include "doorbell.h"
#include "pace.h"
#endif
#ifdef CONFIG_KFD_GPREEMPT_IDLE
#include "crowd.h"
#endif
#ifdef CONFIG_KFD_GPREEMPT_ACCOUNT
#include "account.h"
#include "stamps.h"
#include "usage.h"
#endif
#ifdef CONFIG_KFD_GPREEMPT_SHARES
#include "group.h"
#endif
#ifdef CONFIG_KFD_GPREEMPT_JOBS
#include "job.h"
#endif

/* What a layer keeps of a node, a process or a queue: PART(struct gpreempt_node_job, job, NODE, gn) */
#define PART(_type, _room, _of, _object)	((_type *)((void *)(_object) + gpreempt_room_##_room.parts[GPREEMPT_OF_##_of]->at))

#define US	1000ULL
#define MS	1000000ULL
#define SEC	1000000000ULL

#define LOW	0
#define NORMAL	7
#define HIGH	15

#define TICK_NS	(20 * US)
#define NR_QUEUES_MAX	64
/* What looks at the world's own tables without a lock. */
#define NO_TSAN		__attribute__((no_sanitize("thread")))
#define RING_PACKETS	4096
#define CTL_STACK_BYTES	4096U

/**
 * struct sim_queue - a queue of a program
 * @q: the driver's
 * @pqn: in its process's list
 * @mem_obj: its MQDs
 * @mqds: the MQDs themselves, and behind each its control stack
 * @pointers: page with read and write pointer
 * @bo: its buffer object
 * @kernel_ns: time that each of its kernels takes
 * @mapped: XCCs that have it
 * @ring: address of its ring when they got it
 * @left_ns: of its kernel in flight; 0: none is
 * @in_slot: that kernel's wave has a slot
 * @slot_ns: since then
 * @off_turn: it is another queue's turn
 * @submitted: packets written
 * @done: kernels completed
 * @stuck_ns: when asked to leave it stays so much longer; U64_MAX: for ever
 * @stays_until_ns: it has been asked, and stays until then
 * @immortal: not even a reset of its waves makes it leave
 * @reset: its waves were reset
 * @gone: destroyed
 * @abandoned: the next unmap gives up on it; the driver resets it and returns 0
 * @stubborn: it takes a reset of all waves of its process to make it leave
 * @refuses: no slot of it is asked, for that failed with the first one
 * @busy_ns: for so long a kernel of it has had the device
 * @asked: how many slots had been asked to leave before its own was
 * @asked_ms: so long the last request to leave would wait
 * @asked_closely: it was asked by register before
 * @close_looks: since then
 */
struct sim_queue {
	struct queue q;
	struct process_queue_node pqn;
	struct kfd_mem_obj mem_obj;
	u8 *mqds;
	u64 *pointers;
	struct amdgpu_bo bo;
	struct ttm_tt ttm;
	u64 kernel_ns;
	u32 mapped;
	u64 ring;
	s64 left_ns;
	bool in_slot;
	u64 slot_ns;
	bool off_turn;
	u64 submitted;
	u64 done;
	u64 stuck_ns;
	u64 stays_until_ns;
	bool immortal;
	bool reset;
	bool gone;
	bool abandoned;
	bool stubborn;
	bool refuses;
	u64 busy_ns;
	u32 asked;
	u32 asked_ms;
	bool asked_closely;
	u32 close_looks;
};

/**
 * struct sim_process - a program
 * @kfd: its /dev/kfd
 * @kfd_inode: of that
 * @doorbells: its mapping of them, per node
 * @doorbells_mapped: that is complete, under the world's @page_table_lock as what is below
 * @doorbell_pages: how many of their pages have an entry
 * @nr_faults: faults on doorbells
 */
struct sim_process {
	struct kfd_process p;
	struct task_struct task;
	struct signal_struct signal;
	struct pid pid;
	struct mm_struct mm;
	struct device_process_node dpn[NR_NODES_MAX];
	bool listed[NR_NODES_MAX];
	struct file kfd;
	struct inode kfd_inode;
	struct vm_area_struct doorbells[NR_NODES_MAX];
	bool doorbells_mapped[NR_NODES_MAX];
	u32 doorbell_pages[NR_NODES_MAX];
	u32 nr_faults;
};

/**
 * struct sim_node - a device
 * @runlists: how many were sent
 * @stamps: firmware notes in MQDs when queues are connected, saved and restored
 * @connect_us: so long it takes to connect a queue on the first XCC, as it notes it; twice that on the next one, and so on
 * @save_us: the same, to save its waves
 * @restore_us: the same, to bring them back
 * @grace_period: what the device has
 * @grace_packets: how often it was told
 * @error: of every runlist; 0: none
 * @nr_send_fails: so many requests to unmap cannot be sent
 * @unmap_us: a runlist is waited for so long; 0: 30 us
 * @saves: it has been asked, and no wave runs
 * @real_time: the last one was, by a real-time thread
 * @nr_unmap_timeouts: so many are not acknowledged
 * @nr_requests: how often something was sent to be unmapped
 * @nr_map_fails: so many runlists cannot be mapped after the unmap
 * @nr_add_fails: so many queues MES is asked to add in vain
 * @waves_lag_ns: a wave is counted so long after it has got its slot
 * @zero_waves: waves are not counted
 * @hiq_late: bits of the HIQ's read pointer that firmware does not report
 * @full_until_ns: so long the HIQ is not read, and has no room for a runlist
 * @read_us: a runlist is read so long after it was sent
 * @unread_until_ns: so long the last one is not
 * @nr_load_fails: so many load_mqd() reach one XCC only
 * @nr_refusals: so many queues are not asked to leave: hqd_destroy() fails on each of their XCCs
 * @ask_us: so long it takes to ask for waves in flight
 * @nr_queue_slots: more active queues than this take turns
 * @announced: so many processes the last runlist said to be run at a time
 * @listed: so many were in it
 * @nr_named: queues that were unmapped by their names, @nr_unmaps_named: by so many packets
 * @nr_returned: queues that were mapped without a runlist
 * @nr_deaf: so many requests by name are not heard, and
 * @late_answer: what the last of them would write in the end
 * @gave_up: firmware gave up on a queue, and the driver has not asked yet
 */
struct sim_node {
	struct kfd_node node;
	struct device_queue_manager dqm;
	struct mqd_manager mm;
	struct kernel_queue hiq;
	struct queue hiq_queue;
	u32 hiq_rptr;
	u32 hiq_late;
	u64 waves_lag_ns;
	bool zero_waves;
	struct sim_queue *slots[NR_SLOTS];
	u32 nr_wave_slots;
	u64 runlists;
	bool stamps;
	u32 connect_us;
	u32 save_us;
	u32 restore_us;
	u32 grace_period;
	u32 grace_packets;
	int error;
	int nr_send_fails;
	u32 unmap_us;
	bool saves;
	bool real_time;
	int nr_unmap_timeouts;
	u32 nr_requests;
	int nr_map_fails;
	int nr_add_fails;
	u64 full_until_ns;
	u64 read_us;
	u64 unread_until_ns;
	int nr_load_fails;
	int nr_refusals;
	u32 ask_us;
	u32 nr_queue_slots;
	u32 announced;
	u32 listed;
	u32 packets[512];
	u32 reserved;
	u64 fence;
	u32 nr_named;
	u32 nr_unmaps_named;
	u32 nr_returned;
	int nr_deaf;
	u64 late_answer;
	bool gave_up;
};

struct world {
	bool mes;			/* before it is made: firmware is MES */
	struct kfd_dev kfd;
	struct amdgpu_device adev;
	struct device dev;
	struct amdgpu_reset_domain reset_domain;
	struct sim_node nodes[NR_NODES_MAX];
	struct sim_queue *queues[NR_QUEUES_MAX];
	u32 nr_queues;
	struct sim_queue *there[NR_QUEUES_MAX];
	u32 nr_there;
	struct sim_process *processes[NR_QUEUES_MAX];
	u32 nr_processes;
	u32 nr_reset_events;
	u32 nr_gpu_resets;
	u32 nr_queue_resets;
	struct mutex slot_lock;
	/* Of the graphics engine: whose waves are counted. */
	struct mutex index_lock;
	struct mutex page_table_lock;
	u32 slot_pipe;			/* whose registers are accessed */
	u32 slot_queue;
	u32 nr_process_resets;
	u32 nr_asked;
	/* MMU notifiers that were run because entries of doorbells go. */
	u32 nr_notified;
	/* Times that waves in flight were asked for, of one XCC. */
	u32 nr_looks;
	int nr_allocated;
	/* What others do just before entries of doorbells go, and just before they come back. */
	void (*before_unmapping)(void);
	void (*before_mapping)(void);
	/* While waves in flight are asked for. */
	void (*while_asking)(void);
	/* What the test has open still. */
	void (*before_end)(void);
};

extern struct world world;

/* Those that have gone too */
#define EACH_QUEUE(sq)									\
	for (struct sim_queue *sq, **sq##_at = world.queues;				\
	     sq##_at < world.queues + world.nr_queues && (sq = *sq##_at); sq##_at++)

/* Called for each new queue before the driver's hook; NULL: nothing is. */
extern void (*world_prepares)(struct sim_queue *sq);

/* A device with the scheduler switched on; @hws: with the hardware scheduler. */
void world_make(bool hws, u32 nr_xcc, u32 nr_nodes);
void world_on(bool hws);
/* Everything ends, and is checked. */
void world_end(void);
void world_down(void);

struct sim_process *add_process(int nice);
struct sim_queue *add_queue_to(struct sim_process *process, u32 node, u32 priority);
struct sim_queue *add_queue(int nice);
void destroy_queue(struct sim_queue *sq);
void kill_process(struct sim_process *process);
void kill_all(void);
/* Return: what the ioctl does */
int update_queue(struct sim_queue *sq, u32 priority);
/* And all others of its process on its node */
void evict_queue(struct sim_queue *sq, bool evicted);
void suspend_queue(struct sim_queue *sq, bool on);
int give_gws(struct sim_queue *sq, bool on);
/* By somebody else: with the right to exempt it, or with none. */
void debug_process(struct sim_process *process, bool on);
void debug_process_by(struct sim_process *process, struct task_struct *debugger);
/* DBG_TRAP_ENABLE on itself. */
void debug_itself(struct sim_process *process, bool on);
void submit(struct sim_queue *sq, u32 packets);
void end_turn(struct sim_queue *sq);
void begin_turn(struct sim_queue *sq);
void write_packets(struct sim_queue *sq, u32 packets);
void write_doorbell(struct sim_queue *sq);
vm_fault_t touch_doorbells(struct sim_process *process, u32 node);
void map_doorbells_anew(struct sim_process *process, u32 node);
void revoke_mappings(u32 node);
void take_all_off(void);	/* for a moment, until resume(): the device keeps its memory */
void suspend(void);
void resume(void);
/* What ran is lost, and all processes stay off the device until they end. */
void reset_gpu(void);

/* Time passes, on the device too. */
void run(u64 ns);
/* 1 has 2 in it, and that one 3, in which all processes are. */
struct cgroup *world_cgroup(u64 id);
bool idle(const struct sim_queue *sq);
bool run_until_idle(struct sim_queue *sq, u64 limit_ns);
u32 nr_preempted(void);
void check_invariants(void);

static inline struct gpreempt_node *node_of(u32 i)
{
	return world.nodes[i].node.gpreempt;
}

static inline bool preempted(const struct sim_queue *sq)
{
	return sq->q.properties.is_preempted;
}

static inline bool on_device(const struct sim_queue *sq)
{
	return sq->mapped;
}

static inline struct sim_process *process_of(const struct sim_queue *sq)
{
	return container_of(sq->q.process, struct sim_process, p);
}

/* Whether the kernel sees a queue's ring pointers; taken away and given back as it is, for those who only look. */
static inline bool seen(const struct sim_queue *sq)
{
	return sq->q.gpreempt->view.pointers;
}

static inline void blind(struct sim_queue *sq, bool on)
{
	static struct gpreempt_view *views[NR_QUEUES_MAX];
	struct gpreempt_view **kept = &views[sq->q.properties.queue_id];

	if (on == seen(sq))
		swap(*kept, sq->q.gpreempt->view.pointers);
}

/* A test with the hardware scheduler, and one without */
#define BOTH(name, what)							\
	static void both_##name(bool hws);					\
	TEST(hws_##name, what " (hws)") { both_##name(true); }				\
	TEST(mqd_##name, what " (mqd)") { both_##name(false); }			\
	static void both_##name(bool hws)

#endif /* FAKES_FAKE_AMDKFD_H */

// SPDX-License-Identifier: MIT
/*
 * fake_amdkfd.c - amdkfd and a device, as far as the scheduler's core can tell; see fake_amdkfd.h
 *
 * The backends are compiled as part of this file, as they are part of the driver's queue manager.
 */
#include "fake_amdkfd.h"
#include "tap.h"

struct world world;
void (*world_prepares)(struct sim_queue *sq);
struct srcu_struct kfd_processes_srcu = { .lock = { .real = PTHREAD_MUTEX_INITIALIZER } };
DECLARE_HASHTABLE(kfd_processes_table, 5);
const int pipe_priority_map[16] = { 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2 };
int queue_preemption_timeout_ms = 9000;

/* ---- folders: of KFD's class, and of each queue ---- */

static struct kernfs_node there;
static struct device kfd_dev_folder = { .kobj = { .name = "kfd", .sd = &there } };
struct device *kfd_device = &kfd_dev_folder;

/* The driver has files of its own there. */
static ssize_t queue_show(struct kobject *kobj, struct attribute *attr, char *buf)
{
	BUG_ON(!kfd_gpreempt_owns(attr));
	return kfd_gpreempt_queue_show(container_of(kobj, struct queue, kobj), attr, buf);
}

static void queue_release(struct kobject *kobj)
{
}

static const struct sysfs_ops queue_ops = { .show = queue_show, KFD_GPREEMPT_QUEUE_STORE };
static const struct kobj_type queue_type = { .sysfs_ops = &queue_ops, .release = queue_release };

/* In the memory behind the MQDs of the XCCs that there are: whoever takes it for one finds waves in it. */
#define NO_XCC		0xa5a5a5a5U

#define UNMAP_US	30
#define SLOT_US		5

static struct sim_node *sim_of(struct device_queue_manager *dqm)
{
	return container_of(dqm, struct sim_node, dqm);
}

static struct sim_queue *sim_queue_of(struct queue *q)
{
	return container_of(q, struct sim_queue, q);
}

/* ---- buffers ---- */

int amdgpu_bo_reserve(struct amdgpu_bo *bo, bool no_intr)
{
	if (bo->fails_reserve)
		return -EINTR;
	BUG_ON(bo->reserved || !no_intr);
	bo->reserved = true;
	return 0;
}

void amdgpu_bo_unreserve(struct amdgpu_bo *bo)
{
	BUG_ON(!bo->reserved);
	bo->reserved = false;
}

int amdgpu_bo_pin(struct amdgpu_bo *bo, u32 domain)
{
	BUG_ON(!bo->reserved || !domain);
	if (bo->fails_pin)
		return -ENOMEM;
	bo->pins++;
	bo->resource.mem_type = domain & AMDGPU_GEM_DOMAIN_VRAM ? TTM_PL_VRAM : TTM_PL_TT;
	return 0;
}

void amdgpu_bo_unpin(struct amdgpu_bo *bo)
{
	BUG_ON(!bo->reserved || bo->pins-- <= 0);
}

struct amdgpu_bo *amdgpu_bo_ref(struct amdgpu_bo *bo)
{
	if (bo)
		bo->references++;
	return bo;
}

void amdgpu_bo_unref(struct amdgpu_bo **bo)
{
	BUG_ON(*bo && (*bo)->references-- <= 0);
	*bo = NULL;
}

int ttm_bo_kmap(struct ttm_buffer_object *tbo, unsigned long first, unsigned long n, struct ttm_bo_kmap_obj *map)
{
	struct amdgpu_bo *bo = container_of(tbo, struct amdgpu_bo, tbo);

	/* As the kernel has it: of a BO of DMA addresses, and of one of user pages that nobody keeps, it would map what is not there. */
	BUG_ON(!bo->pins || tbo->type != ttm_bo_type_device || tbo->base.import_attach || amdgpu_ttm_tt_is_userptr(tbo->ttm));
	BUG_ON(tbo->resource->hidden);
	/* Somebody else's memory is behind all but the first page. */
	BUG_ON(first || n != 1 || tbo->base.size != PAGE_SIZE);
	if (bo->fails_kmap)
		return -ENOMEM;
	bo->kmaps++;
	map->virtual = tbo->memory;
	return 0;
}

/* A kernel mapping of user memory that outlives its owner would not show: count it. */
NO_TSAN void ttm_bo_kunmap(struct ttm_bo_kmap_obj *map)
{
	EACH_QUEUE(sq)
		if (sq->bo.tbo.memory == map->virtual)
			BUG_ON(sq->bo.kmaps-- <= 0);
	map->virtual = NULL;
}

int amdgpu_ttm_tt_get_userptr(const struct ttm_buffer_object *tbo, uint64_t *userptr)
{
	*userptr = tbo->ttm->userptr;
	return *userptr ? 0 : -EINVAL;
}

/* ---- MQDs ---- */

static u64 mqd_stride(struct mqd_manager *mm, struct queue_properties *q)
{
	return PAGE_SIZE + CTL_STACK_BYTES;
}

static struct v9_mqd *mqd_of(struct sim_queue *sq, u32 xcc)
{
	return (void *)(sq->mqds + (PAGE_SIZE + CTL_STACK_BYTES) * xcc);
}

/* As 6.12 does. 7.3 leaves the queue's priority alone, see compat.h. All XCCs are alike here: no masks of CUs. */
static void update_mqd(struct mqd_manager *mm, void *mqd, struct queue_properties *q, struct mqd_update_info *minfo)
{
	u32 xcc;

	for (xcc = 0; xcc < NUM_XCC(mm->dqm->dev->xcc_mask); xcc++) {
		struct v9_mqd *m = mqd + mqd_stride(mm, q) * xcc;

		m->cp_hqd_pipe_priority = pipe_priority_map[q->priority];
		m->cp_hqd_queue_priority = q->priority;
		/* The highest bit, which the driver leaves alone, tells that it has been here. The rest of an MQD is missing. */
		m->cp_hqd_pq_doorbell_control = q->doorbell_off | 1U << 31;
		m->cp_hqd_pq_base_lo = q->queue_address >> 8;
		m->cp_hqd_pq_base_hi = q->queue_address >> 40;
	}
	WRITE_ONCE(q->is_active, QUEUE_IS_ACTIVE(*q));
}

static void mark_end_of_mqds(struct sim_queue *sq)
{
	memset(mqd_of(sq, NUM_XCC(sq->q.device->xcc_mask)), NO_XCC & 0xff, PAGE_SIZE + CTL_STACK_BYTES);
	mqd_of(sq, NUM_XCC(sq->q.device->xcc_mask))->cp_hqd_cntl_stack_offset = 0;
}

static struct sim_node *sim_node_of(struct sim_queue *sq)
{
	return container_of(sq->q.device, struct sim_node, node);
}

static void stamp(u32 *words, u64 us)
{
	u64 ticks[2] = { ktime_get_ns() / 10, ktime_get_ns() / 10 + us * 100 };

	memcpy(words, ticks, sizeof(ticks));
}

#define STAMP(sq, xcc, _name)												\
	do {														\
		if (sim_node_of(sq)->stamps)										\
			stamp(&mqd_of(sq, xcc)->cp_mqd_##_name##_start_time_lo, sim_node_of(sq)->_name##_us * ((xcc) + 1));	\
	} while (0)

/* What the CP writes when a queue leaves: offsets and the control stack. */
static void save(struct sim_queue *sq)
{
	u32 xcc;

	for (xcc = 0; xcc < NUM_XCC(sq->q.device->xcc_mask); xcc++) {
		struct v9_mqd *m = mqd_of(sq, xcc);

		m->cp_hqd_cntl_stack_size = CTL_STACK_BYTES;
		/* Waves may have been on one XCC only. */
		m->cp_hqd_cntl_stack_offset = sq->left_ns && xcc == sq->done % NUM_XCC(sq->q.device->xcc_mask) ? CTL_STACK_BYTES / 2 : CTL_STACK_BYTES;
		m->cp_hqd_pq_rptr = sq->pointers[0];
		if (m->cp_hqd_cntl_stack_offset < CTL_STACK_BYTES)
			STAMP(sq, xcc, save);
		memset((u8 *)m + PAGE_SIZE + CTL_STACK_BYTES / 2, sq->done, CTL_STACK_BYTES / 2);
	}
	sq->in_slot = false;
}

void end_turn(struct sim_queue *sq)
{
	save(sq);
	sq->off_turn = true;
}

void begin_turn(struct sim_queue *sq)
{
	sq->off_turn = false;
}

/* What was saved is what must be loaded, or something was lost. */
static void restore(struct sim_queue *sq)
{
	bool waves = false;
	u32 xcc;

	BUG_ON(sq->gone || sq->q.properties.is_preempted || sq->q.properties.is_evicted || !sq->q.properties.is_active || sq->mapped);
	for (xcc = 0; xcc < NUM_XCC(sq->q.device->xcc_mask); xcc++) {
		const struct v9_mqd *m = mqd_of(sq, xcc);

		BUG_ON(!(m->cp_hqd_pq_doorbell_control & 1U << 31));
		waves |= m->cp_hqd_cntl_stack_offset < m->cp_hqd_cntl_stack_size;
		STAMP(sq, xcc, connect);
		if (m->cp_hqd_cntl_stack_offset < m->cp_hqd_cntl_stack_size)
			STAMP(sq, xcc, restore);
		BUG_ON(m->cp_hqd_cntl_stack_size && m->cp_hqd_pq_rptr != (u32)sq->pointers[0] && !sq->reset);
	}
	BUG_ON(waves != !!sq->left_ns && !sq->reset);
	sq->mapped = sq->q.device->xcc_mask;
	sq->ring = ((u64)mqd_of(sq, 0)->cp_hqd_pq_base_hi << 32 | mqd_of(sq, 0)->cp_hqd_pq_base_lo) << 8;
	sq->stays_until_ns = 0;
}

/* ---- the hardware scheduler ---- */

/* There are compute queues only. */
static void __attribute__((unused)) decrement_queue_count(struct device_queue_manager *dqm, struct qcm_process_device *qpd, struct queue *q)
{
	BUG_ON(dqm->active_queue_count-- <= 0);
	dqm->active_cp_queue_count--;
	if (!q->properties.is_gws)
		return;
	BUG_ON(dqm->gws_queue_count-- <= 0);
	qpd->mapped_gws_queue = false;
}

static void increment_queue_count(struct device_queue_manager *dqm, struct qcm_process_device *qpd, struct queue *q)
{
	dqm->active_queue_count++;
	dqm->active_cp_queue_count++;
	if (!q->properties.is_gws)
		return;
	dqm->gws_queue_count++;
	qpd->mapped_gws_queue = true;
}

/* The mark of the process is cleared nowhere, and only update_queue() of the hardware scheduler asks for it. (7.3 marks the queue as well, for MES.) */
static void set_queue_as_reset(struct device_queue_manager *dqm, struct queue *q, struct qcm_process_device *qpd)
{
	qpd_to_pdd(qpd)->has_reset_queue = true;
	if (!q->properties.is_active)
		return;
	WRITE_ONCE(q->properties.is_active, false);
	decrement_queue_count(dqm, qpd, q);
}

static struct kfd_process_device *pdd_of(struct sim_queue *sq)
{
	return kfd_get_process_device_data(sq->q.device, sq->q.process);
}

/* The device's own: also what the driver has taken from its lists. */
static void for_each_queue(struct device_queue_manager *dqm, void (*fn)(struct sim_queue *sq))
{
	EACH_QUEUE(sq)
		if (!sq->gone && sq->q.device == dqm->dev)
			fn(sq);
}

/* The firmware. What it gives up on keeps its slot. */
static void unmap_one(struct sim_queue *sq)
{
	if (!sq->mapped)
		return;
	if (sq->abandoned) {
		sim_of(sq->q.device->dqm)->gave_up = true;
		return;
	}
	sq->mapped = 0;
	save(sq);
}

/* Its waves are gone, and so is it. */
static void lose(struct sim_queue *sq)
{
	sq->reset = true;
	sq->mapped = 0;
	sq->in_slot = false;
	sq->left_ns = 0;
	sq->abandoned = false;
}

/* The device answers no more, and is reset for that: what was on it is lost. The queues stay active, as far as the driver knows. */
static void hang_one(struct sim_queue *sq)
{
	pdd_of(sq)->has_reset_queue = true;
	if (sq->mapped)
		lose(sq);
}

/* Only the scheduler's own passes fail: what the driver makes of its own failures is not its business. */
static int take_failure(int *failures)
{
	u32 i, own = 0;

	for (i = 0; i < world.kfd.num_nodes; i++)
		own += world.nodes[i].node.gpreempt && lockdep_is_held(&world.nodes[i].node.gpreempt->pass_lock);
	if (!*failures || !own)
		return 0;
	--*failures;
	return 1;
}

/* (The driver's fails if the HIQ is full.) */
int pm_update_grace_period(struct packet_manager *pm, u32 grace_period)
{
	struct sim_node *sn = sim_of(container_of(pm, struct device_queue_manager, packet_mgr));

	lockdep_assert_held(&sn->dqm.lock_hidden);
	/* The packet goes to a queue of the device's, which a reset takes down. */
	BUG_ON(!sn->dqm.sched_running || !READ_ONCE(world.reset_domain.sem.readers));
	sn->grace_period = grace_period;
	sn->grace_packets++;
	return 0;
}

/* Slots of the first MEC that the graphics side has left, as each test likes. */
unsigned int get_cp_queues_num(struct device_queue_manager *dqm)
{
	return sim_of(dqm)->nr_queue_slots;
}

/* What pm_calc_rlib_size() finds out for each runlist. */
static bool over_subscribed(struct sim_node *sn, u32 nr_processes)
{
	return nr_processes > max(sn->node.max_proc_per_quantum, 1U) || sn->dqm.active_cp_queue_count > get_cp_queues_num(&sn->dqm) ||
	       sn->dqm.gws_queue_count > 1;
}

/* It yields the CPU in a loop: a real-time thread that does not sleep would keep it. */
static void wait_for_fence(struct sim_node *sn)
{
	u64 end_ns = ktime_get_ns() + (sn->unmap_us ?: UNMAP_US) * US, begin_ns = ktime_get_ns(), asked_ns;

	sn->real_time = current->fifo;
	sn->saves = true;
	while (ktime_get_ns() < end_ns) {
		asked_ns = ktime_get_ns();
		kfd_gpreempt_waits(&sn->dqm);
		BUG_ON(current->fifo && asked_ns - begin_ns > 300 * US && ktime_get_ns() == asked_ns);
		if (shim_one_cpu && current->fifo && ktime_get_ns() == asked_ns)
			shim_spin(US);
		else if (!shim_one_cpu)
			fsleep(UNMAP_US);
	}
	sn->saves = false;
}

/* Asking clears it. Which queue it was the driver only logs. */
static bool check_preemption_failed(struct mqd_manager *mm, void *mqd)
{
	struct sim_node *sn = sim_of(mm->dqm);
	bool gave_up = sn->gave_up;

	sn->gave_up = false;
	return gave_up;
}

/* By its address alone: that of another process may be the same. */
static struct queue *find_queue_by_address(struct device_queue_manager *dqm, u64 queue_address)
{
	struct device_process_node *cur;
	struct queue *q;

	list_for_each_entry(cur, &dqm->queues, list)
		list_for_each_entry(q, &cur->qpd->queues_list, list)
			if (q->properties.queue_address == queue_address)
				return q;
	return NULL;
}

/* Those that still have a slot. A reset of such a queue never fails here: the driver would reset the device. */
static void reset_queues_on_hws_hang(struct device_queue_manager *dqm)
{
	dqm->detect_hang_count = 0;
	EACH_QUEUE(sq)
		dqm->detect_hang_count += !sq->gone && sq->q.device == dqm->dev && sq->mapped;
	EACH_QUEUE(sq) {
		struct queue *q;

		if (sq->gone || sq->q.device != dqm->dev || !sq->mapped)
			continue;
		lose(sq);
		q = find_queue_by_address(dqm, sq->ring);
		set_queue_as_reset(dqm, q, &kfd_get_process_device_data(dqm->dev, q->process)->qpd);
	}
	kfd_signal_reset_event(dqm->dev);
	dqm->detect_hang_count = 0;
}

static int send_unmap(struct sim_node *sn)
{
	struct device_queue_manager *dqm = &sn->dqm;

	if (take_failure(&sn->nr_send_fails))
		return -ENOMEM;
	sn->nr_requests++;
	wait_for_fence(sn);
	/* The fence does not come, and that is known; or it is waited for in vain. Either way the list counts as active. */
	if (world.adev.fatal || take_failure(&sn->nr_unmap_timeouts)) {
		for_each_queue(dqm, hang_one);
		return world.adev.fatal ? -EIO : -ETIME;
	}
	for_each_queue(dqm, unmap_one);
	if (check_preemption_failed(dqm->mqd_mgrs[KFD_MQD_TYPE_HIQ], NULL))
		reset_queues_on_hws_hang(dqm);
	dqm->active_runlist = false;
	return 0;
}

/*
 * 7.3 looks at the SDMA engines as well, of which there are none here. That there is no room for the query of the fence the driver does not notice: then it
 * is waited for in vain. In VMs siblings_of_a_reset_queue_go_on and lost_unmap_resets_the_device show what is assumed here. Without
 * gpu_recovery, or if a slot is left for good, the driver gives the device up.
 */
static int unmap_queues_cpsch(struct device_queue_manager *dqm, enum kfd_unmap_queues_filter filter, u32 param, u32 grace_period, bool reset)
{
	struct sim_node *sn = sim_of(dqm);
	int r;

	lockdep_assert_held(&dqm->lock_hidden);
	/* Given with a request, a grace period would be two packets more. */
	BUG_ON(filter != KFD_UNMAP_QUEUES_FILTER_DYNAMIC_QUEUES || param || grace_period != USE_DEFAULT_GRACE_PERIOD || reset);
	if (!dqm->sched_running || !dqm->active_runlist)
		return 0;
	if (sn->error)
		return sn->error;
	if (!down_read_trylock(&dqm->dev->adev->reset_domain->sem))
		return -EIO;
	r = send_unmap(sn);
	up_read(&dqm->dev->adev->reset_domain->sem);
	return r;
}

static int map_queues_cpsch(struct device_queue_manager *dqm)
{
	struct sim_node *sn = sim_of(dqm);
	struct device_process_node *cur;
	struct queue *q;
	u32 nr;

	lockdep_assert_held(&dqm->lock_hidden);
	if (!dqm->sched_running || dqm->sched_halt || dqm->active_queue_count <= 0 || dqm->processes_count <= 0 || dqm->active_runlist)
		return 0;
	if (take_failure(&sn->nr_map_fails) || ktime_get_ns() < sn->full_until_ns)
		return -ENOMEM;
	nr = dqm->processes_count - kfd_gpreempt_left_out(dqm);
	kfd_gpreempt_runlist_built(dqm, over_subscribed(sn, nr));
	sn->listed = 0;
	list_for_each_entry(cur, &dqm->queues, list) {
		if (kfd_gpreempt_leaves_out(cur->qpd))
			continue;
		sn->listed++;
		list_for_each_entry(q, &cur->qpd->queues_list, list)
			if (q->properties.is_active)
				restore(sim_queue_of(q));
	}
	/* The runlist's size was computed from the same, and so is what the packet announces. */
	BUG_ON(sn->listed != nr);
	sn->announced = dqm->dev->adev->enforce_isolation[dqm->dev->node_id] ? 1 : min(nr, sn->node.max_proc_per_quantum);
	dqm->active_runlist = true;
	sn->runlists++;
	WRITE_ONCE(sn->hiq.pending_wptr, sn->hiq.pending_wptr + 16);
	WRITE_ONCE(sn->unread_until_ns, ktime_get_ns() + sn->read_us * US);
	return 0;
}

static int execute_queues_cpsch(struct device_queue_manager *dqm, enum kfd_unmap_queues_filter filter, u32 param, u32 grace_period)
{
	int r;

	if (!down_read_trylock(&dqm->dev->adev->reset_domain->sem))
		return -EIO;
	r = unmap_queues_cpsch(dqm, filter, param, grace_period, false) ?: map_queues_cpsch(dqm);
	up_read(&dqm->dev->adev->reset_domain->sem);
	return r;
}

/* ---- MES ---- */

/* A device that does not answer is reset: what was on it is lost. */
static int mes_hangs(struct sim_node *sn)
{
	for_each_queue(&sn->dqm, hang_one);
	sn->dqm.is_hws_hang = true;
	return -ETIME;
}

/* What each request has in common (amdgpu_mes_lock is not modelled: dqm_lock is held by all who ask.) */
static int ask_mes(struct sim_node *sn, struct queue *q, int *failures, void (*fn)(struct sim_queue *sq))
{
	int r = 0;

	lockdep_assert_held(&sn->dqm.lock_hidden);
	if (sn->error)
		return sn->error;
	if (!down_read_trylock(&world.reset_domain.sem))
		return -EIO;
	sn->nr_requests++;
	fsleep(sn->unmap_us ?: UNMAP_US);
	if (sn->dqm.is_hws_hang || take_failure(failures))
		r = mes_hangs(sn);
	else
		fn(sim_queue_of(q));
	up_read(&world.reset_domain.sem);
	return r;
}

/* The driver takes no queue away that MES does not have, and gives it none twice: see restore(). */
static void mes_remove(struct sim_queue *sq)
{
	BUG_ON(!sq->mapped && !sq->reset);
	unmap_one(sq);
}

static int add_queue_mes(struct device_queue_manager *dqm, struct queue *q, struct qcm_process_device *qpd)
{
	struct sim_node *sn = sim_of(dqm);

	return ask_mes(sn, q, &sn->nr_add_fails, restore);
}

static int remove_queue_mes(struct device_queue_manager *dqm, struct queue *q, struct qcm_process_device *qpd)
{
	struct sim_node *sn = sim_of(dqm);

	return ask_mes(sn, q, &sn->nr_unmap_timeouts, mes_remove);
}

/* ---- packets in the HIQ, without a list ---- */

enum { FAKE_UNMAP = 1, FAKE_FENCE, FAKE_PROCESS, FAKE_QUEUE };

struct fake_packet {
	u32 header;
	u32 pad;
	void *object;
	u64 value;
};

static int fake_packet(u32 *buffer, u32 header, void *object, u64 value)
{
	struct fake_packet packet = { header, 0, object, value };

	memcpy(buffer, &packet, sizeof(packet));
	return 0;
}

static int map_process(struct packet_manager *pm, u32 *buffer, struct qcm_process_device *qpd)
{
	return fake_packet(buffer, FAKE_PROCESS, qpd, 0);
}

static int map_queues(struct packet_manager *pm, u32 *buffer, struct queue *q, bool is_static)
{
	BUG_ON(is_static);
	return fake_packet(buffer, FAKE_QUEUE, q, 0);
}

static int unmap_queues(struct packet_manager *pm, u32 *buffer, enum kfd_unmap_queues_filter filter, u32 param, bool reset)
{
	BUG_ON(reset || param);
	memset(buffer, 0, sizeof(struct pm4_mes_unmap_queues));
	*(struct pm4_mes_unmap_queues *)buffer = (struct pm4_mes_unmap_queues){
		.header = FAKE_UNMAP, .bitfields2 = { queue_sel__mes_unmap_queues__unmap_all_non_static_queues, 0 },
	};
	return 0;
}

static int query_status(struct packet_manager *pm, u32 *buffer, u64 fence_address, u64 value)
{
	return fake_packet(buffer, FAKE_FENCE, (void *)fence_address, value);
}

static const struct packet_manager_funcs packets = {
	.map_process = map_process, .map_queues = map_queues, .unmap_queues = unmap_queues, .query_status = query_status,
	.map_process_size = sizeof(struct fake_packet), .map_queues_size = sizeof(struct fake_packet),
	.unmap_queues_size = 8 * sizeof(u32), .query_status_size = sizeof(struct fake_packet),
};

int kq_acquire_packet_buffer(struct kernel_queue *kq, size_t dwords, unsigned int **buffer)
{
	struct sim_node *sn = container_of(kq, struct sim_node, hiq);

	lockdep_assert_held(&sn->dqm.lock_hidden);
	lockdep_assert_held(&sn->dqm.packet_mgr.lock);
	BUG_ON(!sn->dqm.sched_running || !READ_ONCE(world.reset_domain.sem.readers) || sn->reserved);
	*buffer = NULL;
	if (dwords > ARRAY_SIZE(sn->packets) || take_failure(&sn->nr_send_fails) || ktime_get_ns() < sn->full_until_ns)
		return -ENOMEM;
	sn->reserved = dwords;
	*buffer = sn->packets;
	return 0;
}

static void unmap_named(struct sim_node *sn, u32 doorbell)
{
	EACH_QUEUE(sq) {
		if (sq->gone || sq->q.properties.doorbell_off != doorbell)
			continue;
		BUG_ON(!sq->mapped || sq->q.gpreempt->hw.done != GPREEMPT_PREEMPT);
		sn->nr_named++;
		unmap_one(sq);
	}
}

static void do_packet(struct sim_node *sn, const u32 *at, struct qcm_process_device **qpd)
{
	const struct pm4_mes_unmap_queues *u = (const void *)at;
	struct fake_packet p;
	u32 i;

	switch (*at) {
	case FAKE_UNMAP:
		BUG_ON(u->bitfields2.queue_sel || !u->bitfields2.num_queues || u->bitfields2.num_queues > 4);
		sn->nr_unmaps_named++;
		for (i = 0; i < u->bitfields2.num_queues; i++)
			unmap_named(sn, (u32[]){ u->bitfields3b.doorbell_offset0, u->bitfields4.doorbell_offset1,
						 u->bitfields5.doorbell_offset2, u->bitfields6.doorbell_offset3 }[i]);
		return;
	}
	memcpy(&p, at, sizeof(p));
	switch (p.header) {
	case FAKE_FENCE:
		WRITE_ONCE(*(u64 *)p.object, p.value);
		return;
	case FAKE_PROCESS:
		*qpd = p.object;
		return;
	case FAKE_QUEUE:
		BUG_ON(!*qpd || kfd_get_process_device_data(((struct queue *)p.object)->device, ((struct queue *)p.object)->process) != qpd_to_pdd(*qpd));
		BUG_ON(!sn->dqm.active_runlist || over_subscribed(sn, sn->dqm.processes_count - kfd_gpreempt_left_out(&sn->dqm)));
		sn->nr_returned++;
		restore(sim_queue_of(p.object));
		return;
	}
	BUG_ON(true);
}

int kq_submit_packet(struct kernel_queue *kq)
{
	struct sim_node *sn = container_of(kq, struct sim_node, hiq);
	struct qcm_process_device *qpd = NULL;
	u32 at, dwords = sn->reserved;

	BUG_ON(!dwords);
	sn->reserved = 0;
	WRITE_ONCE(kq->pending_wptr, kq->pending_wptr + dwords);
	WRITE_ONCE(sn->unread_until_ns, ktime_get_ns() + sn->read_us * US);
	if (sn->packets[0] == FAKE_UNMAP && take_failure(&sn->nr_deaf)) {
		sn->late_answer = ((struct fake_packet *)(sn->packets + dwords))[-1].value;
		return 0;
	}
	for (at = 0; at < dwords; at += sn->packets[at] == FAKE_UNMAP ? 8 : sizeof(struct fake_packet) / sizeof(u32))
		do_packet(sn, sn->packets + at, &qpd);
	/* Each dword that was asked for has been written, and no other. */
	BUG_ON(at != dwords);
	memset(sn->packets, 0, sizeof(sn->packets));
	return 0;
}

/* ---- without it ---- */

static NO_TSAN struct sim_queue *slot_queue(struct amdgpu_device *adev, const void *mqd, u32 pipe, u32 queue)
{
	EACH_QUEUE(sq) {
		u64 size = (PAGE_SIZE + CTL_STACK_BYTES) * NR_XCC_MAX;

		if (!sq->gone && (const u8 *)mqd >= sq->mqds && (const u8 *)mqd < sq->mqds + size) {
			BUG_ON(sq->q.pipe != pipe || sq->q.queue != queue);
			return sq;
		}
	}
	shim_bug(__FILE__, __LINE__, "no queue has this MQD");
}

static void leave_xcc(struct sim_queue *sq, u32 xcc)
{
	sq->mapped &= ~(1U << xcc);
	if (!sq->mapped)
		save(sq);
}

/* Time passes also while nobody runs the device. */
static void leave_if_due(struct sim_queue *sq)
{
	if (!sq->stays_until_ns || !sq->mapped || ktime_get_ns() < sq->stays_until_ns)
		return;
	sq->mapped = 0;
	sq->stays_until_ns = 0;
	save(sq);
}

/* Registers of slots. Nothing has left at the first look; what the driver asks for afterwards is what makes a queue leave. */
void kgd_gfx_v9_acquire_queue(struct amdgpu_device *adev, u32 pipe, u32 queue, u32 xcc)
{
	mutex_lock(&world.slot_lock);
	world.slot_pipe = pipe;
	world.slot_queue = queue;
}

void kgd_gfx_v9_release_queue(struct amdgpu_device *adev, u32 xcc)
{
	mutex_unlock(&world.slot_lock);
}

static NO_TSAN bool slot_looks_left(void)
{
	EACH_QUEUE(sq) {
		if (sq->gone || sq->q.pipe != world.slot_pipe || sq->q.queue != world.slot_queue)
			continue;
		if (sq->stuck_ns || !sq->close_looks++)
			return false;
	}
	return true;
}

static NO_TSAN void slot_is_asked(void)
{
	EACH_QUEUE(sq) {
		if (sq->q.pipe != world.slot_pipe || sq->q.queue != world.slot_queue)
			continue;
		sq->asked_closely = true;
		sq->close_looks = 0;
	}
}

void shim_hqd_dequeue_request(u32 xcc, u32 value)
{
	lockdep_assert_held(&world.slot_lock);
	BUG_ON(value != 3);
	slot_is_asked();
}

u32 shim_hqd_active(u32 xcc)
{
	lockdep_assert_held(&world.slot_lock);
	return !slot_looks_left();
}

int kgd_gfx_v9_hqd_destroy(struct amdgpu_device *adev, void *mqd, enum kfd_preempt_type type, unsigned int timeout_ms, u32 pipe, u32 queue, u32 xcc)
{
	struct sim_queue *sq = slot_queue(adev, mqd, pipe, queue);
	struct sim_node *sn = sim_of(sq->q.device->dqm);

	lockdep_assert_held(&sn->dqm.lock_hidden);
	BUG_ON((u8 *)mqd != sq->mqds + (PAGE_SIZE + CTL_STACK_BYTES) * xcc);
	/* As the driver: a reset may begin while its semaphore is held for reading. */
	if (amdgpu_in_reset(adev))
		return -EIO;
	BUG_ON(type == KFD_PREEMPT_TYPE_WAVEFRONT_SAVE && !sq->asked_closely);
	/* The reset that it is for does not end before the other XCCs have been asked. */
	if (!xcc)
		sq->refuses = take_failure(&sn->nr_refusals);
	if (sq->refuses)
		return -EIO;
	sq->asked = __atomic_fetch_add(&world.nr_asked, 1, __ATOMIC_RELAXED);
	sq->asked_ms = timeout_ms;
	__atomic_add_fetch(&world.nr_queue_resets, type == KFD_PREEMPT_TYPE_WAVEFRONT_RESET, __ATOMIC_RELAXED);
	fsleep(SLOT_US);
	if (!(sq->mapped & 1U << xcc))
		return 0;
	if (type == KFD_PREEMPT_TYPE_WAVEFRONT_RESET && !sq->immortal && !sq->stubborn) {
		sq->reset = true;
		sq->left_ns = 0;
		sq->stuck_ns = 0;
		leave_xcc(sq, xcc);
		return 0;
	}
	if (!sq->stuck_ns) {
		leave_xcc(sq, xcc);
		return 0;
	}
	if (!sq->stays_until_ns)
		sq->stays_until_ns = sq->stuck_ns == U64_MAX ? U64_MAX : ktime_get_ns() + sq->stuck_ns;
	/* Its waves stand still already, but nobody says that they are saved. */
	sq->in_slot = false;
	fsleep(timeout_ms * 1000);
	leave_if_due(sq);
	return sq->mapped & 1U << xcc ? -ETIME : 0;
}

/* By the ring that the slot has, as the driver asks: not by what the queue says of itself by now. */
static NO_TSAN bool hqd_is_occupied(struct amdgpu_device *adev, u64 address, u32 pipe, u32 queue, u32 xcc)
{
	EACH_QUEUE(sq) {
		if (sq->ring == address && sq->q.pipe == pipe && sq->q.queue == queue && !sq->gone) {
			leave_if_due(sq);
			return sq->mapped & 1U << xcc;
		}
	}
	return false;
}

static int load_mqd(struct mqd_manager *mm, void *mqd, u32 pipe, u32 queue, struct queue_properties *p, struct mm_struct *mms)
{
	struct sim_queue *sq = slot_queue(NULL, mqd, pipe, queue);
	struct sim_node *sn = sim_of(mm->dqm);
	u32 slot = pipe * 8 + queue;
	bool was_active = sq->q.properties.is_active;

	lockdep_assert_held(&mm->dqm->lock_hidden);
	BUG_ON(sn->slots[slot] != sq);
	fsleep(SLOT_US);
	/* Whether it is active is not its business. */
	WRITE_ONCE(sq->q.properties.is_active, true);
	restore(sq);
	WRITE_ONCE(sq->q.properties.is_active, was_active);
	if (!take_failure(&sn->nr_load_fails))
		return 0;
	/* The first XCC has it, the others do not. */
	sq->mapped = 1;
	return -EIO;
}

/* Registers: the device writes them while they are read. */
static NO_TSAN void get_cu_occupancy(struct amdgpu_device *adev, struct kfd_cu_occupancy *occupancy, int *max_waves_per_cu, u32 xcc)
{
	u32 i;

	BUG_ON(!world.reset_domain.sem.readers);
	mutex_lock(&world.index_lock);
	*max_waves_per_cu = 8;
	for (i = 0; i < world.nr_queues; i++) {
		struct sim_queue *sq = world.queues[i];

		occupancy[i].doorbell_off = sq->q.properties.doorbell_off;
		/* It adds to what is there. */
		occupancy[i].wave_cnt += !world.nodes[0].zero_waves && sq->mapped & 1U << xcc && sq->in_slot && xcc == sq->done % NUM_XCC(sq->q.device->xcc_mask) &&
					 ktime_get_ns() - sq->slot_ns >= world.nodes[0].waves_lag_ns;
	}
	world.nr_looks++;
	if (world.while_asking)
		world.while_asking();
	if (world.nodes[0].ask_us)
		fsleep(world.nodes[0].ask_us);
	mutex_unlock(&world.index_lock);
}

static const struct kfd2kgd_calls calls = {
	.get_cu_occupancy = get_cu_occupancy,
	.hqd_destroy = kgd_gfx_v9_hqd_destroy,
	.hqd_is_occupied = hqd_is_occupied,
};

/* All waves of the process's VMID. (It fails if the process has none, as after its queues have left.) */
void dbgdev_wave_reset_wavefronts(struct kfd_node *node, struct kfd_process *p)
{
	world.nr_process_resets++;
	EACH_QUEUE(sq) {
		if (sq->gone || sq->q.device != node || sq->q.process != p)
			continue;
		if (sq->left_ns && sq->mapped)
			sq->reset = true;
		if (sq->mapped)
			sq->left_ns = 0;
		sq->stubborn = false;
	}
}

/* Told are the processes with the mark, also for an older reset; here it is only counted. */
void kfd_signal_reset_event(struct kfd_node *node)
{
	/* None would be all processes. */
	BUG_ON(node->dqm->detect_hang_count <= 0);
	world.nr_reset_events++;
}

void amdgpu_amdkfd_gpu_reset(struct amdgpu_device *adev)
{
	BUG_ON(mutex_is_locked(&world.nodes[0].dqm.lock_hidden) && lockdep_is_held(&world.nodes[0].dqm.lock_hidden));
	world.nr_gpu_resets++;
}

#include "backends.c"

/* ---- the device ---- */

/* Since the last tick; where time is real it may be late. */
static u64 ticked_ns = TICK_NS;

static void tick_queue(struct sim_queue *sq)
{
	leave_if_due(sq);
	if (!sq->mapped || !sq->in_slot || sim_of(sq->q.device->dqm)->saves)
		return;
	sq->busy_ns += ticked_ns;
	sq->left_ns -= ticked_ns;
	if (sq->left_ns > 0)
		return;
	sq->left_ns = 0;
	sq->in_slot = false;
	sq->done++;
	BUG_ON(sq->done > sq->submitted);
}

static u32 waves_on(const struct kfd_node *node)
{
	u32 i, n = 0;

	for (i = 0; i < world.nr_there; i++)
		n += world.there[i]->q.device == node && world.there[i]->in_slot;
	return n;
}

/* Waves that were restored first, then new ones; each queue runs one kernel at a time. */
static void dispatch(struct sim_node *sn, bool restored)
{
	u32 i, free = sn->nr_wave_slots - waves_on(&sn->node);

	for (i = 0; free && i < world.nr_there; i++) {
		struct sim_queue *sq = world.there[i];
		u64 rptr;

		if (!sq->mapped || sq->q.device != &sn->node || sq->mapped != sn->node.xcc_mask || sq->in_slot || sq->reset || sq->off_turn ||
		    sq->stays_until_ns)
			continue;
		rptr = READ_ONCE(sq->pointers[0]);
		if (!restored && !sq->left_ns && rptr < READ_ONCE(sq->pointers[1])) {
			sq->left_ns = sq->kernel_ns;
			WRITE_ONCE(sq->pointers[0], rptr + 1);
		}
		if (sq->left_ns) {
			sq->in_slot = true;
			sq->slot_ns = ktime_get_ns();
			free--;
		}
	}
}

static void tick(void)
{
	u32 i;

	for (i = 0; i < world.nr_there; i++)
		tick_queue(world.there[i]);
	for (i = 0; i < world.kfd.num_nodes; i++) {
		dispatch(&world.nodes[i], true);
		dispatch(&world.nodes[i], false);
		if (ktime_get_ns() >= max(world.nodes[i].full_until_ns, READ_ONCE(world.nodes[i].unread_until_ns)))
			WRITE_ONCE(world.nodes[i].hiq_rptr, READ_ONCE(world.nodes[i].hiq.pending_wptr) % 1024 & ~world.nodes[i].hiq_late);
	}
}

/* With real threads the device moves under the locks of its driver: what the driver knows of it has no others. */
static void tick_locked(void)
{
	u32 i;

	for (i = 0; i < world.kfd.num_nodes; i++)
		dqm_lock(&world.nodes[i].dqm);
	tick();
	while (i--)
		dqm_unlock(&world.nodes[i].dqm);
}

void run(u64 ns)
{
	u64 end_ns = ktime_get_ns() + ns, began_ns;

	while (ktime_get_ns() < end_ns) {
		began_ns = ktime_get_ns();
		fsleep(TICK_NS / US);
		if (shim_free_running) {
			ticked_ns = ktime_get_ns() - began_ns;
			tick_locked();
			continue;
		}
		tick();
		check_invariants();
	}
}

bool idle(const struct sim_queue *sq)
{
	return sq->done == sq->submitted;
}

bool run_until_idle(struct sim_queue *sq, u64 limit_ns)
{
	u64 end_ns = ktime_get_ns() + limit_ns;

	while (!idle(sq) && ktime_get_ns() < end_ns)
		run(TICK_NS);
	return idle(sq);
}

u32 nr_preempted(void)
{
	u32 n = 0;

	EACH_QUEUE(sq)
		n += !sq->gone && preempted(sq);
	return n;
}

/* What must hold whenever the driver is at rest. */
void check_invariants(void)
{
	u32 i;

	for (i = 0; i < world.nr_there; i++) {
		struct sim_queue *sq = world.there[i];
		struct gpreempt_queue *gq = sq->q.gpreempt;
		struct device_queue_manager *dqm = sq->q.device->dqm;

		if (sq->gone || mutex_is_locked(&dqm->lock_hidden))
			continue;
		/* Off the device, or known to be on its way. */
		BUG_ON(preempted(sq) && on_device(sq) && !(gq && gq->hw.leaving));
		BUG_ON(preempted(sq) && sq->q.properties.is_active && !(gq && gq->hw.leaving));
		/* Nobody forgets what it took. */
		BUG_ON(gq && gq->policy.preempted && !preempted(sq) && !gq->hw.lost);
		BUG_ON(sq->pointers[0] > sq->pointers[1]);
	}
}

/* ---- what the driver does for programs ---- */

struct kfd_process_device *kfd_get_process_device_data(struct kfd_node *node, struct kfd_process *p)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p->pdds); i++)
		if (p->pdds[i].dev == node)
			return &p->pdds[i];
	return NULL;
}

void kfd_unref_process(struct kfd_process *p)
{
	BUG_ON(__atomic_sub_fetch(&p->ref.count, 1, __ATOMIC_ACQ_REL) < 0);
}

struct pid *shim_find_pid(int nr)
{
	u32 i;

	for (i = 0; i < world.nr_processes; i++)
		if (world.processes[i]->pid.nr == nr)
			return &world.processes[i]->pid;
	return NULL;
}

static struct cgroup cgroups[] = {
	{ .id = 1 }, { .id = 2, .parent = &cgroups[0], .level = 1 }, { .id = 3, .parent = &cgroups[1], .level = 2 },
};

/* A descriptor is the cgroup's id. */
struct cgroup *cgroup_get_from_fd(int fd)
{
	return cgroup_get_from_id(fd);
}

struct cgroup *cgroup_get_from_id(u64 id)
{
	if (id < 1 || id > ARRAY_SIZE(cgroups) || cgroups[id - 1].gone)
		return ERR_PTR(-ENOENT);
	__atomic_add_fetch(&cgroups[id - 1].references, 1, __ATOMIC_RELAXED);
	return &cgroups[id - 1];
}

struct cgroup *world_cgroup(u64 id)
{
	return &cgroups[id - 1];
}

#define DOORBELL_PAGES	2

static void open_kfd(struct sim_process *process)
{
	process->kfd_inode.i_mapping = &process->kfd_inode.i_data;
	process->kfd_inode.i_data.host = &process->kfd_inode;
	process->kfd = (struct file){ .private_data = &process->p, .f_inode = &process->kfd_inode, .f_mapping = &process->kfd_inode.i_data };
	kfd_gpreempt_opened(&process->p, &process->kfd);
}

/* In /dev/kfd, of its doorbells on a node. */
static pgoff_t first_page(const struct kfd_process_device *pdd)
{
	return (KFD_MMAP_TYPE_DOORBELL | KFD_MMAP_GPU_ID(pdd->dev->id)) >> PAGE_SHIFT;
}

static void map_doorbells(struct sim_process *process, u32 node)
{
	struct vm_area_struct *vma = &process->doorbells[node];
	struct kfd_process_device *pdd = &process->p.pdds[node];

	if (vma->vm_end)
		return;
	*vma = (struct vm_area_struct){
		.vm_start = 0x100000, .vm_end = 0x100000 + DOORBELL_PAGES * PAGE_SIZE, .vm_flags = VM_SHARED, .vm_file = &process->kfd,
		.vm_pgoff = first_page(pdd),
	};
	if (!kfd_gpreempt_maps_doorbells(pdd, vma, 0xd0000000 + 0x100000 * world.nr_processes))
		WRITE_ONCE(process->doorbell_pages[node], DOORBELL_PAGES);
	/* From now on it is found. */
	mutex_lock(&world.page_table_lock);
	process->doorbells_mapped[node] = true;
	mutex_unlock(&world.page_table_lock);
}

vm_fault_t vmf_insert_pfn(struct vm_area_struct *vma, unsigned long addr, unsigned long pfn)
{
	struct sim_process *process = container_of(vma->vm_file, struct sim_process, kfd);
	u32 node = vma - process->doorbells;
	/* The bits above the page say what had been revoked before. */
	pgoff_t page = (vma->vm_pgoff - first_page(&process->p.pdds[node])) & 0xff;

	if (world.before_mapping)
		world.before_mapping();
	BUG_ON(addr < vma->vm_start || addr >= vma->vm_end);
	BUG_ON(pfn != (unsigned long)vma->vm_private_data + page + (addr - vma->vm_start) / PAGE_SIZE);
	mutex_lock(&world.page_table_lock);
	if (process->doorbell_pages[node] < DOORBELL_PAGES)
		WRITE_ONCE(process->doorbell_pages[node], process->doorbell_pages[node] + 1);
	mutex_unlock(&world.page_table_lock);
	return VM_FAULT_NOPAGE;
}

void unmap_mapping_pages(struct address_space *mapping, pgoff_t first, pgoff_t nr, bool even_cows)
{
	u32 i, j;

	if (world.before_unmapping)
		world.before_unmapping();
	mutex_lock(&world.page_table_lock);
	for (i = 0; i < world.nr_processes; i++)
		for (j = 0; j < world.kfd.num_nodes; j++) {
			const struct vm_area_struct *vma = &world.processes[i]->doorbells[j];

			if (world.processes[i]->doorbells_mapped[j] && vma->vm_file->f_mapping == mapping && vma->vm_pgoff - first < nr)
				WRITE_ONCE(world.processes[i]->doorbell_pages[j], 0);
		}
	mutex_unlock(&world.page_table_lock);
}

/* A load or store where there is no entry. */
vm_fault_t touch_doorbells(struct sim_process *process, u32 node)
{
	struct vm_fault fault = { .vma = &process->doorbells[node], .address = process->doorbells[node].vm_start };

	return fault.vma->vm_ops->fault(&fault);
}

/* The program unmaps them, and maps them once more. */
void map_doorbells_anew(struct sim_process *process, u32 node)
{
	mutex_lock(&world.page_table_lock);
	process->doorbells_mapped[node] = false;
	WRITE_ONCE(process->doorbell_pages[node], 0);
	mutex_unlock(&world.page_table_lock);
	process->doorbells[node].vm_end = 0;
	map_doorbells(process, node);
}

/* What the driver of 7.x does at the beginning of a reset */
void revoke_mappings(u32 node)
{
	kfd_gpreempt_revoked(KFD_MMAP_TYPE_DOORBELL | KFD_MMAP_GPU_ID(world.nodes[node].node.id));
	kfd_gpreempt_revoked(KFD_MMAP_TYPE_MMIO | KFD_MMAP_GPU_ID(world.nodes[node].node.id));
}

/* A store to a page without an entry faults, and is done again. */
void write_doorbell(struct sim_queue *sq)
{
	struct sim_process *process = process_of(sq);
	u32 node = sq->q.device->node_id;

	while (!READ_ONCE(process->doorbell_pages[node])) {
		process->nr_faults++;
		BUG_ON(touch_doorbells(process, node) != VM_FAULT_NOPAGE);
	}
}

struct sim_process *add_process(int nice)
{
	struct sim_process *process = calloc(1, sizeof(*process));
	u32 i;

	BUG_ON(world.nr_processes == NR_QUEUES_MAX);
	process->pid = (struct pid){ .nr = 100 + world.nr_processes, .task = &process->task, .references = 1 };
	process->task.pid = process->pid.nr;
	process->task.group_leader = &process->task;
	process->task.tgid = &process->pid;
	process->task.real_parent = init_pid_ns.child_reaper;
	process->task.nice = nice;
	process->task.mm = &process->mm;
	process->task.user_ns = &init_user_ns;
	process->task.cgroup = &cgroups[2];
	process->p.ref.count = 1;
	mutex_init(&process->p.mutex);
	process->p.mm = &process->mm;
	process->task.signal = &process->signal;
	process->p.lead_thread = &process->task;
	INIT_LIST_HEAD(&process->p.pqm.queues);
	for (i = 0; i < world.kfd.num_nodes; i++) {
		struct kfd_process_device *pdd = &process->p.pdds[i];

		pdd->dev = &world.nodes[i].node;
		pdd->process = &process->p;
		INIT_LIST_HEAD(&pdd->qpd.queues_list);
		INIT_LIST_HEAD(&pdd->qpd.priv_queue_list);
		process->dpn[i].qpd = &pdd->qpd;
	}
	shim_hlist_add(&process->p.kfd_processes, HASH_BUCKET(kfd_processes_table, process));
	mutex_lock(&world.page_table_lock);
	world.processes[world.nr_processes++] = process;
	mutex_unlock(&world.page_table_lock);
	open_kfd(process);
	return process;
}

static bool mes_of(const struct device_queue_manager *dqm)
{
	return dqm->dev->kfd->shared_resources.enable_mes;
}

/* With MES, or without any scheduler in firmware, the driver asks for each queue. */
static bool lists_of(const struct device_queue_manager *dqm)
{
	return dqm->sched_policy != KFD_SCHED_POLICY_NO_HWS && !mes_of(dqm);
}

/* dqm_lock held. */
static int driver_executes(struct device_queue_manager *dqm)
{
	return lists_of(dqm) ? execute_queues_cpsch(dqm, KFD_UNMAP_QUEUES_FILTER_DYNAMIC_QUEUES, 0, USE_DEFAULT_GRACE_PERIOD) : 0;
}

/*
 * dqm_lock held, without runlists: takes a queue off by force, if it is on. (The driver's own request to leave may time out; then it counts as off all
 * the same.)
 */
static void driver_unloads(struct sim_queue *sq)
{
	if (mes_of(sq->q.device->dqm)) {
		remove_queue_mes(sq->q.device->dqm, &sq->q, &pdd_of(sq)->qpd);
		return;
	}
	if (!sq->mapped)
		return;
	sq->mapped = 0;
	sq->stays_until_ns = 0;
	save(sq);
}

/* The same the other way */
static void driver_loads(struct sim_queue *sq)
{
	if (mes_of(sq->q.device->dqm))
		add_queue_mes(sq->q.device->dqm, &sq->q, &pdd_of(sq)->qpd);
	else
		restore(sq);
}

static void set_active(struct sim_queue *sq, bool active)
{
	struct device_queue_manager *dqm = sq->q.device->dqm;

	if (active == sq->q.properties.is_active)
		return;
	WRITE_ONCE(sq->q.properties.is_active, active);
	if (active)
		increment_queue_count(dqm, &pdd_of(sq)->qpd, &sq->q);
	else
		decrement_queue_count(dqm, &pdd_of(sq)->qpd, &sq->q);
}

/* With its first queue: before that is made, its process is in runlists without one. */
static void register_process(struct sim_process *process, u32 node)
{
	struct device_queue_manager *dqm = &world.nodes[node].dqm;

	dqm_lock(dqm);
	list_add(&process->dpn[node].list, &dqm->queues);
	dqm->processes_count++;
	process->listed[node] = true;
	dqm_unlock(dqm);
}

struct sim_queue *add_queue_to(struct sim_process *process, u32 node, u32 priority)
{
	struct sim_queue *sq = calloc(1, sizeof(*sq));
	struct sim_node *sn = &world.nodes[node];
	struct device_queue_manager *dqm = &sn->dqm;
	struct qcm_process_device *qpd = &process->p.pdds[node].qpd;
	struct task_struct *caller = current;
	u32 slot;

	BUG_ON(world.nr_queues == NR_QUEUES_MAX);
	sq->mqds = calloc(NR_XCC_MAX + 1, PAGE_SIZE + CTL_STACK_BYTES);
	sq->pointers = aligned_alloc(PAGE_SIZE, PAGE_SIZE);
	memset(sq->pointers, 0, PAGE_SIZE);
	sq->mem_obj = (struct kfd_mem_obj){ .cpu_ptr = (u32 *)sq->mqds, .gpu_addr = (unsigned long)sq->mqds };
	sq->bo = (struct amdgpu_bo){
		.tbo = { .base = { .resv = &sq->bo.resv, .size = PAGE_SIZE }, .memory = sq->pointers, .ttm = &sq->ttm,
			 .bdev = &world.adev.mman.bdev, .resource = &sq->bo.resource },
		.preferred_domains = AMDGPU_GEM_DOMAIN_GTT,
	};
	sq->kernel_ns = 100 * US;
	sq->q = (struct queue){
		.mqd = sq->mqds, .mqd_mem_obj = &sq->mem_obj, .process = &process->p, .device = &sn->node,
		.properties = {
			.type = KFD_QUEUE_TYPE_COMPUTE, .format = KFD_QUEUE_FORMAT_AQL, .queue_id = world.nr_queues,
			.queue_address = 0x100000ULL * (world.nr_queues + 1), .queue_size = RING_PACKETS * 64, .priority = priority,
			.queue_percent = 100, .read_ptr = &sq->pointers[0], .write_ptr = &sq->pointers[1],
			.doorbell_off = 0x40 + 2 * world.nr_queues, .ctx_save_restore_area_address = 0x7000000,
			.rptr_bo = &sq->bo, .wptr_bo = &sq->bo,
		},
	};
	for (slot = 0; slot < NR_SLOTS && sn->slots[slot]; slot++)
		;
	BUG_ON(slot == NR_SLOTS);
	sq->q.pipe = slot / 8;
	sq->q.queue = slot % 8;
	mark_end_of_mqds(sq);
	kobject_init_and_add(&sq->q.kobj, &queue_type, NULL, "%u", world.nr_queues);

	mutex_lock(&process->p.mutex);
	if (!process->listed[node])
		register_process(process, node);
	dqm_lock(dqm);
	sn->slots[slot] = sq;
	world.queues[world.nr_queues] = sq;
	world.nr_queues++;
	world.there[world.nr_there++] = sq;
	sq->q.properties.is_evicted = qpd->evicted;
	update_mqd(&sn->mm, sq->mqds, &sq->q.properties, NULL);
	list_add(&sq->q.list, &qpd->queues_list);
	/*
	 * Whether another queue of the process was reset is not asked. If there is no runlist to be had, or the queue cannot be loaded, the driver makes
	 * none; here it does.
	 */
	if (sq->q.properties.is_active) {
		increment_queue_count(dqm, qpd, &sq->q);
		if (lists_of(dqm))
			driver_executes(dqm);
		else if (dqm->sched_running)
			driver_loads(sq);
	}
	dqm_unlock(dqm);
	sq->pqn.q = &sq->q;
	list_add_tail(&sq->pqn.process_queue_list, &process->p.pqm.queues);
	/* The hook runs in the process. */
	caller->mm = &process->mm;
	if (world_prepares)
		world_prepares(sq);
	kfd_gpreempt_queue_created(&sq->q);
	map_doorbells(process, node);
	caller->mm = NULL;
	mutex_unlock(&process->p.mutex);
	return sq;
}

struct sim_queue *add_queue(int nice)
{
	return add_queue_to(add_process(nice), 0, NORMAL);
}

/* Threads that run freely may be walking the array. */
static void leave_there(const struct sim_queue *sq)
{
	u32 i;

	if (shim_free_running)
		return;
	for (i = 0; world.there[i] != sq; i++)
		;
	memmove(&world.there[i], &world.there[i + 1], (--world.nr_there - i) * sizeof(world.there[0]));
}

/* dqm_lock held. */
static void leave_driver(struct sim_queue *sq)
{
	list_del(&sq->q.list);
	world.nodes[sq->q.device->node_id].slots[sq->q.pipe * 8 + sq->q.queue] = NULL;
	sq->gone = true;
	leave_there(sq);
	sq->mapped = 0;
	sq->in_slot = false;
	sq->left_ns = 0;
}

/* p->mutex held. */
static void release_queue(struct sim_queue *sq)
{
	struct sim_process *process = process_of(sq);

	list_del(&sq->pqn.process_queue_list);
	kfd_gpreempt_queue_destroyed(&sq->q);
	kobject_put(&sq->q.kobj);
	/* Nobody looks at its memory any more. */
	BUG_ON(sq->bo.pins || sq->bo.kmaps || sq->bo.references || process->mm.pages[0].pins || process->mm.pages[1].pins || sq->q.gpreempt);
	free(sq->pointers);
	sq->pointers = calloc(2, sizeof(u64));
	sq->bo.tbo.memory = NULL;
	memset(sq->mqds, 0xa5, (PAGE_SIZE + CTL_STACK_BYTES) * NR_XCC_MAX);
}

/* dqm_lock held. */
static void unregister_process(struct sim_process *process, u32 node)
{
	list_del(&process->dpn[node].list);
	world.nodes[node].dqm.processes_count--;
	process->listed[node] = false;
}

/*
 * dqm_lock held. The queue's is_active stays. (While the device is stopped the driver only gives back the slot, and keeps the queue in its list. A queue
 * that does not leave has the waves of the process killed with its last queue; those of a queue that is gone are of no interest here.)
 */
static void destroy_queue_nocpsch(struct sim_queue *sq)
{
	struct device_queue_manager *dqm = sq->q.device->dqm;

	BUG_ON(!dqm->sched_running);
	driver_unloads(sq);
	leave_driver(sq);
	if (sq->q.properties.is_active)
		decrement_queue_count(dqm, &pdd_of(sq)->qpd, &sq->q);
}

/* (A debugger's process may wait here, until the queue is not suspended any more.) */
void destroy_queue(struct sim_queue *sq)
{
	struct device_queue_manager *dqm = sq->q.device->dqm;
	struct sim_process *process = process_of(sq);

	BUG_ON(sq->gone);
	mutex_lock(&process->p.mutex);
	dqm_lock(dqm);
	WRITE_ONCE(sq->q.properties.is_being_destroyed, true);
	/* What is not active is off the device: no runlist is sent for it. */
	if (dqm->sched_policy == KFD_SCHED_POLICY_NO_HWS) {
		destroy_queue_nocpsch(sq);
	} else if (sq->q.properties.is_active) {
		set_active(sq, false);
		if (mes_of(dqm))
			driver_unloads(sq);
		driver_executes(dqm);
	}
	if (!sq->gone)
		leave_driver(sq);
	dqm_unlock(dqm);
	release_queue(sq);
	/* Until then its process, without any queue, is in runlists. */
	dqm_lock(dqm);
	if (list_empty(&pdd_of(sq)->qpd.queues_list))
		unregister_process(process, sq->q.device->node_id);
	dqm_unlock(dqm);
	mutex_unlock(&process->p.mutex);
}

/* dqm_lock held. The queues leave all at once. Their is_active stays. (If that fails, the driver kills the waves of the process.) */
static void process_termination_cpsch(struct sim_process *process, u32 node)
{
	struct kfd_process_device *pdd = &process->p.pdds[node];
	struct device_queue_manager *dqm = &world.nodes[node].dqm;
	struct queue *q;

	list_for_each_entry(q, &pdd->qpd.queues_list, list) {
		if (!q->properties.is_active)
			continue;
		decrement_queue_count(dqm, &pdd->qpd, q);
		if (mes_of(dqm))
			driver_unloads(sim_queue_of(q));
	}
	unregister_process(process, node);
	driver_executes(dqm);
	while (!list_empty(&pdd->qpd.queues_list))
		leave_driver(sim_queue_of(list_first_entry(&pdd->qpd.queues_list, struct queue, list)));
}

/* dqm_lock held. One by one; to free its memory the lock is given up after each. */
static void process_termination_nocpsch(struct sim_process *process, u32 node)
{
	struct list_head *queues = &process->p.pdds[node].qpd.queues_list;
	struct device_queue_manager *dqm = &world.nodes[node].dqm;

	while (!list_empty(queues)) {
		destroy_queue_nocpsch(sim_queue_of(list_first_entry(queues, struct queue, list)));
		dqm_unlock(dqm);
		dqm_lock(dqm);
	}
	unregister_process(process, node);
}

void kill_process(struct sim_process *process)
{
	struct process_queue_node *pqn;
	u32 i;

	mutex_lock(&process->p.mutex);
	for (i = 0; i < world.kfd.num_nodes; i++) {
		if (!process->listed[i])
			continue;
		dqm_lock(&world.nodes[i].dqm);
		if (world.nodes[i].dqm.sched_policy != KFD_SCHED_POLICY_NO_HWS)
			process_termination_cpsch(process, i);
		else
			process_termination_nocpsch(process, i);
		dqm_unlock(&world.nodes[i].dqm);
		WRITE_ONCE(process->p.pdds[i].already_dequeued, true);
	}
	while (!list_empty(&process->p.pqm.queues)) {
		pqn = list_first_entry(&process->p.pqm.queues, struct process_queue_node, process_queue_list);
		release_queue(sim_queue_of(pqn->q));
	}
	mutex_unlock(&process->p.mutex);
	hash_del_rcu(&process->p.kfd_processes);
	process->pid.task = NULL;
	process->task.tgid = NULL;
}

void kill_all(void)
{
	EACH_QUEUE(sq)
		if (!sq->gone)
			kill_process(process_of(sq));
}

static void set_gws(struct sim_queue *sq, bool on)
{
	if (sq->q.properties.is_active) {
		sq->q.device->dqm->gws_queue_count += on ? 1 : -1;
		pdd_of(sq)->qpd.mapped_gws_queue = on;
	}
	WRITE_ONCE(sq->q.properties.is_gws, on);
}

/*
 * Of a process of which a queue was ever reset no queue is changed; the driver has taken all queues of all processes off by then, and would not map them
 * again (in VMs: refused_update_keeps_nobody_off). Without the hardware scheduler it changes nothing either while the device is stopped, or of a queue
 * that does not leave in time.
 */
static int change_queue(struct sim_queue *sq, struct mqd_manager *mm, bool gws)
{
	struct device_queue_manager *dqm = sq->q.device->dqm;
	struct qcm_process_device *qpd = &pdd_of(sq)->qpd;
	bool was_active = sq->q.properties.is_active;
	int r = 0;

	if (lists_of(dqm)) {
		r = unmap_queues_cpsch(dqm, KFD_UNMAP_QUEUES_FILTER_DYNAMIC_QUEUES, 0, USE_DEFAULT_GRACE_PERIOD, false);
		if (pdd_of(sq)->has_reset_queue) {
			if (kfd_gpreempt_maps_again(dqm))
				map_queues_cpsch(dqm);
			return -EACCES;
		}
		if (r)
			return r;
	} else if (was_active) {
		driver_unloads(sq);
	}
	update_mqd(mm, sq->mqds, &sq->q.properties, NULL);
	kfd_gpreempt_mqd_updated(&sq->q, NULL);
	if (sq->q.properties.is_active && !was_active)
		increment_queue_count(dqm, qpd, &sq->q);
	else if (!sq->q.properties.is_active && was_active)
		decrement_queue_count(dqm, qpd, &sq->q);
	else if (gws != sq->q.properties.is_gws)
		set_gws(sq, gws);
	if (lists_of(dqm))
		return map_queues_cpsch(dqm);
	if (sq->q.properties.is_active)
		driver_loads(sq);
	return 0;
}

/* ALLOC_QUEUE_GWS: an update as any other. (Another queue of the process may not have it.) */
int give_gws(struct sim_queue *sq, bool on)
{
	struct device_queue_manager *dqm = sq->q.device->dqm;
	int r;

	mutex_lock(&sq->q.process->mutex);
	dqm_lock(dqm);
	BUG_ON(!lists_of(dqm));
	r = change_queue(sq, &sim_of(dqm)->mm, on);
	dqm_unlock(dqm);
	mutex_unlock(&sq->q.process->mutex);
	return r;
}

int update_queue(struct sim_queue *sq, u32 priority)
{
	struct device_queue_manager *dqm = sq->q.device->dqm;
	int r;

	mutex_lock(&sq->q.process->mutex);
	WRITE_ONCE(sq->q.properties.priority, priority);
	dqm_lock(dqm);
	r = change_queue(sq, &sim_of(dqm)->mm, sq->q.properties.is_gws);
	dqm_unlock(dqm);
	if (!r)
		kfd_gpreempt_queue_updated(&sq->q);
	mutex_unlock(&sq->q.process->mutex);
	return r;
}

/* dqm_lock held. All queues of the process on a node; an eviction in another one counts. (A process that has no address space there is only counted.) */
static void evict_process_queues(struct device_queue_manager *dqm, struct qcm_process_device *qpd)
{
	struct queue *q;

	if (qpd->evicted++)
		return;
	list_for_each_entry(q, &qpd->queues_list, list) {
		WRITE_ONCE(q->properties.is_evicted, true);
		if (!q->properties.is_active)
			continue;
		set_active(sim_queue_of(q), false);
		if (!lists_of(dqm))
			driver_unloads(sim_queue_of(q));
	}
	driver_executes(dqm);
}

/*
 * dqm_lock held. One that was reset comes back with the others: nothing tells it from them. (Without the hardware scheduler the driver restores nothing
 * of a program whose memory is gone, and a queue that cannot be loaded is active all the same.)
 */
static void restore_process_queues(struct device_queue_manager *dqm, struct qcm_process_device *qpd)
{
	struct queue *q;

	BUG_ON(!qpd->evicted);
	if (qpd->evicted > 1) {
		qpd->evicted--;
		return;
	}
	list_for_each_entry(q, &qpd->queues_list, list) {
		WRITE_ONCE(q->properties.is_evicted, false);
		if (!QUEUE_IS_ACTIVE(q->properties))
			continue;
		set_active(sim_queue_of(q), true);
		if (!lists_of(dqm))
			driver_loads(sim_queue_of(q));
	}
	driver_executes(dqm);
	qpd->evicted = 0;
}

/* Of its process. */
void evict_queue(struct sim_queue *sq, bool evicted)
{
	struct device_queue_manager *dqm = sq->q.device->dqm;

	dqm_lock(dqm);
	if (evicted)
		evict_process_queues(dqm, &pdd_of(sq)->qpd);
	else
		restore_process_queues(dqm, &pdd_of(sq)->qpd);
	dqm_unlock(dqm);
}

/* SUSPEND_QUEUES, RESUME_QUEUES of the debugger, which there is with the hardware scheduler only. One that is so already gets its runlist, too. (The driver refuses a queue that is being destroyed, and one whose creation the debugger has not read yet.) */
void suspend_queue(struct sim_queue *sq, bool on)
{
	struct device_queue_manager *dqm = sq->q.device->dqm;
	bool was_active = sq->q.properties.is_active;

	dqm_lock(dqm);
	BUG_ON(dqm->sched_policy == KFD_SCHED_POLICY_NO_HWS);
	if (sq->q.properties.is_suspended != on) {
		WRITE_ONCE(sq->q.properties.is_suspended, on);
		set_active(sq, QUEUE_IS_ACTIVE(sq->q.properties));
	}
	if (mes_of(dqm) && was_active && !sq->q.properties.is_active)
		driver_unloads(sq);
	else if (mes_of(dqm) && !was_active && sq->q.properties.is_active)
		driver_loads(sq);
	driver_executes(dqm);
	dqm_unlock(dqm);
}

static struct task_struct administrator = { .pid = 99, .caps = CAP_SYS_NICE };

/* Attaching also changes MQDs and sends runlists, of which there is nothing here. */
void debug_process(struct sim_process *process, bool on)
{
	debug_process_by(process, on ? &administrator : NULL);
}

void debug_process_by(struct sim_process *process, struct task_struct *debugger)
{
	WRITE_ONCE(process->task.tracer, debugger);
	WRITE_ONCE(process->p.debug_trap_enabled, !!debugger);
}

void debug_itself(struct sim_process *process, bool on)
{
	WRITE_ONCE(process->p.debug_trap_enabled, on);
}

void submit(struct sim_queue *sq, u32 packets)
{
	write_packets(sq, packets);
	write_doorbell(sq);
}

/* Without the doorbell: as a GPU that rings for the program, or a program just before it does. */
void write_packets(struct sim_queue *sq, u32 packets)
{
	sq->submitted += packets;
	__atomic_store_n(&sq->pointers[1], sq->pointers[1] + packets, __ATOMIC_RELEASE);
}

static void change_processes(void (*change)(struct device_queue_manager *dqm, struct qcm_process_device *qpd))
{
	struct device_process_node *cur;
	u32 i;

	for (i = 0; i < world.kfd.num_nodes; i++) {
		struct device_queue_manager *dqm = &world.nodes[i].dqm;

		dqm_lock(dqm);
		list_for_each_entry(cur, &dqm->queues, list)
			change(dqm, cur->qpd);
		dqm->is_hws_hang = false;
		dqm_unlock(dqm);
	}
}

/* (What MES still schedules when it stops is removed: nothing is, since all processes are evicted before.) */
static void set_running(bool on)
{
	u32 i;

	for (i = 0; i < world.kfd.num_nodes; i++) {
		struct device_queue_manager *dqm = &world.nodes[i].dqm;

		dqm_lock(dqm);
		if (!on && lists_of(dqm))
			unmap_queues_cpsch(dqm, KFD_UNMAP_QUEUES_FILTER_DYNAMIC_QUEUES, 0, USE_DEFAULT_GRACE_PERIOD, false);
		dqm->sched_running = on;
		if (on)
			driver_executes(dqm);
		dqm_unlock(dqm);
	}
}

/*
 * kgd2kfd_suspend(): all processes are evicted, and the scheduler is told before. (Processes without queues on a node are not evicted here. The driver takes
 * an eviction back that fails otherwise than with -EIO.) In VMs: suspend_resume.
 */
void take_all_off(void)
{
	kfd_gpreempt_pause(&world.kfd);
	change_processes(evict_process_queues);
	set_running(false);
}

void suspend(void)
{
	world.adev.in_suspend = true;
	take_all_off();
}

/* kgd2kfd_resume() */
void resume(void)
{
	set_running(true);
	change_processes(restore_process_queues);
	kfd_gpreempt_unpause(&world.kfd);
	world.adev.in_suspend = false;
}

/* What runs is lost, and nothing is evicted by asking the device, which is not there. Processes stay evicted, whatever the reset was for, until they end. */
void reset_gpu(void)
{
	u32 i;

	mutex_lock(&world.reset_domain.sem.lock);
	world.reset_domain.sem.writer = true;
	mutex_unlock(&world.reset_domain.sem.lock);
	while (READ_ONCE(world.reset_domain.sem.readers))
		fsleep(10);
	take_all_off();
	for (i = 0; i < world.kfd.num_nodes; i++)
		for_each_queue(&world.nodes[i].dqm, lose);
	set_running(true);
	kfd_gpreempt_unpause(&world.kfd);
	world.reset_domain.sem.writer = false;
}

/* ---- beginning and end ---- */

void world_make(bool hws, u32 nr_xcc, u32 nr_nodes)
{
	u32 i;

	if (!hws && !IS_ENABLED(CONFIG_KFD_GPREEMPT_NO_HWS))
		tap_skip("needs scheduling without the hardware scheduler");
	if (world.mes && !IS_ENABLED(CONFIG_KFD_GPREEMPT_MES))
		tap_skip("without MES");
	world.nr_allocated = shim_allocated;
	kfd_gpreempt_init();
	if (world.mes)
		shim_param_set("gpreempt_mes", "1");
	/* Most tests count looks: none are made for the account, unless they ask for it. */
	shim_param_set("gpreempt_account", "0");
	world.adev = (struct amdgpu_device){ .dev = &world.dev, .reset_domain = &world.reset_domain, .gc_version = world.mes ? IP_VERSION(11, 0, 0) : IP_VERSION(9, 4, 2) };
	world.dev.numa_node = NUMA_NO_NODE;
	world.adev.gfx.mec.num_pipe_per_mec = world.adev.gfx.mec.num_queue_per_pipe = 8;
	world.adev.mman.bdev.adev = &world.adev;
	mutex_init(&world.reset_domain.sem.lock);
	mutex_init(&world.slot_lock);
	mutex_init(&world.index_lock);
	mutex_init(&world.page_table_lock);
	world.kfd = (struct kfd_dev){ .cwsr_enabled = true, .num_nodes = nr_nodes, .shared_resources.enable_mes = world.mes };
	for (i = 0; i < nr_nodes; i++) {
		struct sim_node *sn = &world.nodes[i];

		world.kfd.nodes[i] = &sn->node;
		sn->node = (struct kfd_node){ .id = 1000 + i, .xcc_mask = (1U << nr_xcc) - 1, .adev = &world.adev, .kfd = &world.kfd, .dqm = &sn->dqm,
					      .kfd2kgd = &calls };
		sn->mm = (struct mqd_manager){ .mqd_size = sizeof(struct v9_mqd), .mqd_stride = mqd_stride, .load_mqd = load_mqd, .update_mqd = update_mqd,
					       .check_preemption_failed = check_preemption_failed,
					       .dqm = &sn->dqm };
		sn->hiq_queue.properties.queue_size = 4096;
		sn->hiq = (struct kernel_queue){ .queue = &sn->hiq_queue, .rptr_kernel = &sn->hiq_rptr };
		sn->dqm = (struct device_queue_manager){ .dev = &sn->node, .mqd_mgrs[KFD_MQD_TYPE_CP] = &sn->mm, .packet_mgr = { .priv_queue = &sn->hiq, .pmf = &packets },
							 .mqd_mgrs[KFD_MQD_TYPE_HIQ] = &sn->mm, .fence_addr = &sn->fence, .fence_gpu_addr = (u64)&sn->fence,
							 .sched_policy = hws ? KFD_SCHED_POLICY_HWS : KFD_SCHED_POLICY_NO_HWS,
							 .sched_running = true };
		mutex_init(&sn->dqm.lock_hidden);
		mutex_init(&sn->dqm.packet_mgr.lock);
		INIT_LIST_HEAD(&sn->dqm.queues);
		sn->node.max_proc_per_quantum = 8;
		sn->node.node_id = i;
		sn->nr_queue_slots = 24;
		sn->nr_wave_slots = 2;
		sn->grace_period = USE_DEFAULT_GRACE_PERIOD;
		kfd_gpreempt_node_init(&sn->node);
	}
}

void world_on(bool hws)
{
	world_make(hws, 1, 1);
	CHECK_EQ(shim_param_set("gpreempt_enable", "1"), 0);
}

void world_down(void)
{
	u32 i;

	kfd_gpreempt_exit();
	CHECK(!kfd_dev_folder.kobj.nr_folders && !shim_debugfs_files());
	for (i = 0; i < world.kfd.num_nodes; i++) {
		kfd_gpreempt_node_fini(&world.nodes[i].node);
		CHECK_EQ(world.nodes[i].dqm.detect_hang_count, 0);
	}
	CHECK(!static_branch_unlikely(&kfd_gpreempt_key));
	CHECK(!srcu_read_lock_held(&kfd_processes_srcu) && !srcu_read_lock_held(&shim_rcu));
	rcu_barrier();
	CHECK(!shim_any_work());
	for (i = 0; i < world.nr_processes; i++)
		kfd_gpreempt_released(&world.processes[i]->p);
	CHECK_EQ(shim_allocated, world.nr_allocated);
	CHECK_EQ(init_pid_ns.references, 0);
	for (i = 0; i < ARRAY_SIZE(cgroups); i++)
		CHECK_EQ(cgroups[i].references, 0);
	EACH_QUEUE(sq) {
		free(sq->pointers);
		free(sq->mqds);
		free(sq);
	}
	for (i = 0; i < world.nr_processes; i++) {
		CHECK_EQ(world.processes[i]->mm.users, 0);
		CHECK_EQ(world.processes[i]->mm.readers, 0);
		CHECK_EQ(world.processes[i]->mm.count, 0);
		CHECK_EQ(atomic64_read(&world.processes[i]->mm.pinned_vm), 0);
		CHECK_EQ(world.processes[i]->p.ref.count, 1);
		CHECK_EQ(world.processes[i]->pid.references, 1);
		free(world.processes[i]);
	}
	memset(&world, 0, sizeof(world));
}

/* Everybody's work gets done, nobody stays held, nothing stays behind. */
void world_end(void)
{
	u32 i;

	if (world.before_end)
		world.before_end();
	for (i = 0; i < world.nr_queues; i++) {
		struct sim_queue *sq = world.queues[i];

		if (!sq->gone && !sq->reset && READ_ONCE(sq->q.properties.is_active) | preempted(sq) && !sq->q.properties.is_evicted)
			if (!run_until_idle(sq, 30 * SEC)) {
				tap_fail(__FILE__, __LINE__, "queue %u does not end: mapped %x, active %d, preempted %d, %llu of %llu done, in flight %lld, slot %d, waits %llu, state %s",
					 i, sq->mapped, sq->q.properties.is_active, preempted(sq), sq->done, sq->submitted, sq->left_ns, sq->in_slot,
					 sq->stays_until_ns, gpreempt_node_state_name(sq->q.device->gpreempt));
			}
	}
	/* Whatever the test has left itself */
	current->caps |= CAP_SYS_ADMIN;
	CHECK_EQ(shim_param_set("gpreempt_enable", "0"), 0);
	EACH_QUEUE(sq) {
		if (sq->gone)
			continue;
		CHECK(!sq->q.gpreempt);
		CHECK(!preempted(sq) || sq->reset);
		CHECK(sq->reset || on_device(sq) || sq->q.properties.is_evicted || world.nodes[0].dqm.is_hws_hang);
	}
	for (i = 0; i < world.nr_processes; i++)
		if (world.processes[i]->pid.task)
			kill_process(world.processes[i]);
	for (i = 0; i < world.kfd.num_nodes; i++)
		CHECK_EQ(world.nodes[i].dqm.active_queue_count, 0);
	world_down();
}

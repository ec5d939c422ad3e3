// SPDX-License-Identifier: MIT
/*
 * core.c - the node object and its life: switching on and off, suspend and reset, and back
 *
 * Starting flips the static key, lets hooks register new queues, starts the monitors and adopts the queues that
 * exist. Stopping goes the other way: nothing new is registered, each monitor resumes everything in its last pass,
 * then the queues are unregistered and unmapped. While the device is suspended or reset no pass is
 * made, and everything is resumed before: by whoever suspends or resets, who waits for the pass
 * under way and for nothing else. What a monitor does outside of its passes may wait for the end of
 * that very reset.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "core.h"
#include "amdgpu.h"
#include "amdgpu_reset.h"
#include "kfd_device_queue_manager.h"

DEFINE_STATIC_KEY_FALSE(kfd_gpreempt_key);

/* Registration of queues and everything that is said to be under it in core.h. */
DEFINE_MUTEX(gpreempt_lock);

/* Woken when a monitor has acted, or has nothing to act on any more; gpreempt_core_passes() tells that it was. */
DECLARE_WAIT_QUEUE_HEAD(gpreempt_acted);
static atomic_t passes;

/*
 * Outermost lock: serialises everything that starts, stops, adds or removes nodes. Removing a node waits for the users of its files, so
 * these must not wait for it.
 */
static DEFINE_MUTEX(gpreempt_lifecycle);
static LIST_HEAD(gpreempt_nodes);
/* Keeps nodes that are being looked at by those who only want to see. */
DEFINE_STATIC_SRCU(nodes_srcu);
/* What a new node is told; the others have been told by then, and each may have been told otherwise since. */
static bool enabled;
static bool ready;

#define ADOPT_RETRY_MS	10
#define RENICE_MS	1000

/**
 * gpreempt_core_wake() - have the monitor see whether it has a reason to look
 * @gn: the node, whose reason the caller has just written, with a full barrier after it
 *
 * Context: any that may be a reader of RCU; the node is kept by something.
 */
void gpreempt_core_wake(struct gpreempt_node *gn)
{
	struct task_struct *thread;

	/* The monitor does not end while we look at it. */
	rcu_read_lock();
	thread = READ_ONCE(gn->thread);
	if (thread)
		wake_up_process(thread);
	rcu_read_unlock();
}

/**
 * gpreempt_core_look() - have the monitor look at once; nothing has changed that priorities come from
 * @gn: the node
 *
 * Context: as gpreempt_core_wake().
 */
void gpreempt_core_look(struct gpreempt_node *gn)
{
	/*
	 * Pairs with the monitor's set_current_state(): either it sees this, or we see it asleep.
	 */
	smp_store_mb(gn->urgent, true);
	gpreempt_core_wake(gn);
}

/**
 * gpreempt_core_kick() - have the monitor look at once, with priorities derived anew
 * @gn: the node
 *
 * Context: as gpreempt_core_wake().
 */
void gpreempt_core_kick(struct gpreempt_node *gn)
{
	WRITE_ONCE(gn->kick, true);
	gpreempt_core_look(gn);
}

/**
 * gpreempt_core_for_each() - call a function for each node
 * @fn: the function; gpreempt_lifecycle is held while it runs
 * @arg: passed through
 *
 * Context: no lock of the scheduler held; may sleep.
 */
void gpreempt_core_for_each(void (*fn)(struct gpreempt_node *gn, void *arg), void *arg)
{
	struct gpreempt_node *gn;

	mutex_lock(&gpreempt_lifecycle);
	list_for_each_entry(gn, &gpreempt_nodes, link)
		fn(gn, arg);
	mutex_unlock(&gpreempt_lifecycle);
}

/**
 * gpreempt_core_state() - what a node does
 * @gn: the node
 *
 * Context: any.
 *
 * Return: its state, as user space knows it
 */
enum gpreempt_node_state gpreempt_core_state(const struct gpreempt_node *gn)
{
	static const enum gpreempt_node_state states[] = {
		[GPREEMPT_STATE_PARKED] = GPREEMPT_NODE_PARKED,
		[GPREEMPT_STATE_IDLE] = GPREEMPT_NODE_IDLE,
		[GPREEMPT_STATE_POLLING] = GPREEMPT_NODE_POLLING,
		[GPREEMPT_STATE_ARMED] = GPREEMPT_NODE_ARMED,
		[GPREEMPT_STATE_FAILED] = GPREEMPT_NODE_FAILED,
	};

	if (!gn->backend)
		return GPREEMPT_NODE_UNSUPPORTED;
	if (!READ_ONCE(gn->thread))
		return GPREEMPT_NODE_OFF;
	if (READ_ONCE(gn->paused))
		return GPREEMPT_NODE_PAUSED;
	return states[READ_ONCE(gn->state)];
}

/**
 * gpreempt_core_state_for() - what somebody may know of what a node does
 * @gn: the node
 * @sees_all: with CAP_SYS_ADMIN. Others are not told whether programs work: a node that is on is idle to them.
 *
 * Context: any.
 *
 * Return: its state, as it is shown
 */
enum gpreempt_node_state gpreempt_core_state_for(const struct gpreempt_node *gn, bool sees_all)
{
	enum gpreempt_node_state state = gpreempt_core_state(gn);

	if (!sees_all && (state == GPREEMPT_NODE_PARKED || state == GPREEMPT_NODE_POLLING || state == GPREEMPT_NODE_ARMED))
		return GPREEMPT_NODE_IDLE;
	return state;
}

/**
 * gpreempt_core_state_word() - a state in a word
 * @state: what a node does
 *
 * Return: the word, as in sysfs
 */
const char *gpreempt_core_state_word(enum gpreempt_node_state state)
{
	static const char *const names[] = {
		[GPREEMPT_NODE_OFF] = "off",
		[GPREEMPT_NODE_PARKED] = "parked",
		[GPREEMPT_NODE_IDLE] = "idle",
		[GPREEMPT_NODE_POLLING] = "polling",
		[GPREEMPT_NODE_PAUSED] = "paused",
		[GPREEMPT_NODE_FAILED] = "failed",
		[GPREEMPT_NODE_UNSUPPORTED] = "unsupported",
		[GPREEMPT_NODE_ARMED] = "armed",
	};

	return names[state];
}

/**
 * gpreempt_core_state_name() - what a node does, in a word
 * @gn: the node
 *
 * Context: any.
 *
 * Return: the word, as in sysfs
 */
const char *gpreempt_core_state_name(const struct gpreempt_node *gn)
{
	return gpreempt_core_state_word(gpreempt_core_state(gn));
}

/**
 * gpreempt_core_find_locked() - call a function for each node until it returns something
 * @fn: the function; gpreempt_lock is held while it runs
 * @arg: passed through
 *
 * Context: gpreempt_lifecycle and gpreempt_lock not held; may sleep.
 *
 * Return: what @fn returned last; 0 without nodes
 */
int gpreempt_core_find_locked(gpreempt_node_fn fn, void *arg)
{
	struct gpreempt_node *gn;
	int r = 0;

	mutex_lock(&gpreempt_lock);
	list_for_each_entry(gn, &gpreempt_nodes, link) {
		r = fn(gn, arg);
		if (r)
			break;
	}
	mutex_unlock(&gpreempt_lock);
	return r;
}

/**
 * gpreempt_core_find() - call a function for each node until it returns something, for those who only want to see
 * @fn: the function; the node stays while it runs, nothing else does
 * @arg: passed through
 *
 * Context: may sleep, but waits for nothing that waits for the end of a node.
 *
 * Return: what @fn returned last; 0 without nodes
 */
int gpreempt_core_find(gpreempt_node_fn fn, void *arg)
{
	struct gpreempt_node *gn;
	int idx, r = 0;

	idx = srcu_read_lock(&nodes_srcu);
	list_for_each_entry_srcu(gn, &gpreempt_nodes, link, srcu_read_lock_held(&nodes_srcu)) {
		r = fn(gn, arg);
		if (r)
			break;
	}
	srcu_read_unlock(&nodes_srcu, idx);
	return r;
}

static int is_on(struct gpreempt_node *gn, void *arg)
{
	u32 gpu_id = *(const u32 *)arg;

	return READ_ONCE(gn->wanted) && (!gpu_id || gn->node->id == gpu_id);
}

/**
 * gpreempt_core_enabled() - is a node scheduled, or would be if it were not failed or paused?
 * @gpu_id: the node; 0: any
 *
 * Context: as gpreempt_core_find().
 *
 * Return: true if it is
 */
bool gpreempt_core_enabled(u32 gpu_id)
{
	return gpreempt_core_find(is_on, &gpu_id);
}

/**
 * gpreempt_core_acted() - wake whoever waits for a monitor to act
 *
 * Context: any.
 */
void gpreempt_core_acted(void)
{
	atomic_inc(&passes);
	wake_up_all(&gpreempt_acted);
}

/**
 * gpreempt_core_passes() - how often gpreempt_core_acted() was called
 *
 * Return: their number, which may wrap
 */
unsigned int gpreempt_core_passes(void)
{
	return atomic_read(&passes);
}

/**
 * gpreempt_core_nudge() - have the monitor look soon, with priorities derived anew
 * @gn: the node
 *
 * For whatever a program can ask for without any right, in a loop: all calls together cost one look
 * per gpreempt_poll_us (a millisecond, if that is longer or 0). The first call after that much time
 * without a look has it at once. A full barrier.
 *
 * Context: as gpreempt_core_wake().
 */
void gpreempt_core_nudge(struct gpreempt_node *gn)
{
	/* Who was here before has woken it, and it has not looked since. */
	if (!xchg(&gn->kick, true))
		gpreempt_core_wake(gn);
}

static int kick_one(struct gpreempt_node *gn, void *arg)
{
	gpreempt_core_kick(gn);
	return 0;
}

/**
 * gpreempt_core_kick_all() - have every monitor look at once: something changed that is no node's own
 *
 * Context: no lock of the scheduler held; may sleep.
 */
void gpreempt_core_kick_all(void)
{
	gpreempt_core_find_locked(kick_one, NULL);
}

/* Freezable: nothing of a device that is suspended is mapped. */
static void adopt_after(struct gpreempt_node *gn, unsigned int ms)
{
	queue_delayed_work(system_freezable_wq, &gn->adopt, msecs_to_jiffies(ms));
}

static void adopt_work(struct work_struct *work)
{
	struct gpreempt_node *gn = container_of(to_delayed_work(work), struct gpreempt_node, adopt);

	if (!gpreempt_queue_adopt(gn))
		adopt_after(gn, ADOPT_RETRY_MS);
}

/*
 * setpriority() tells nobody, and a monitor that is parked or waits for doorbells does not look: look for it, at a rate and in a way that wakes no
 * sleeping CPU. The same goes for user pages that are replaced.
 */
static void renice_work(struct work_struct *work)
{
	struct gpreempt_node *gn = container_of(to_delayed_work(work), struct gpreempt_node, renice);
	enum gpreempt_state state = READ_ONCE(gn->state);

	mutex_lock(&gpreempt_lock);
	if ((state == GPREEMPT_STATE_PARKED || state == GPREEMPT_STATE_ARMED) && gpreempt_monitor_reniced(gn))
		gpreempt_core_kick(gn);
	gpreempt_core_watch_nice(gn);
	if (gn->accepting && READ_ONCE(gn->tends))
		adopt_after(gn, 0);
	mutex_unlock(&gpreempt_lock);
}

/**
 * gpreempt_core_watch_nice() - look for changed nice values and cgroups from now on
 * @gn: the node
 *
 * Context: gpreempt_lock held.
 */
void gpreempt_core_watch_nice(struct gpreempt_node *gn)
{
	if (gn->accepting && gn->nr_processes)
		schedule_delayed_work(&gn->renice, msecs_to_jiffies(RENICE_MS));
}

/* gpreempt_lifecycle held. */
static bool any_wanted(void)
{
	struct gpreempt_node *gn;

	list_for_each_entry(gn, &gpreempt_nodes, link)
		if (gn->wanted)
			return true;
	return false;
}

/* pass_lock held. Whatever was wrong before. */
static void begin_anew(struct gpreempt_node *gn)
{
	gn->errors = 0;
	gn->again = false;
	gn->resuming_ns = 0;
	gn->clear_ns = ktime_get_ns();
	WRITE_ONCE(gn->state, GPREEMPT_STATE_IDLE);
}

static void node_start(struct gpreempt_node *gn)
{
	struct task_struct *thread;

	if (!gn->backend) {
		if (!gn->told)
			dev_info(gn->node->adev->dev, "gpreempt: gpu %u is not scheduled: %s\n", gn->node->id,
				 gn->reason);
		gn->told = true;
		return;
	}
	WRITE_ONCE(gn->wanted, true);
	if (gn->thread)
		return;
	/* Before anything else: a queue that is created from now on is registered by its hook, one that was before is adopted. */
	static_branch_enable(&kfd_gpreempt_key);

	thread = kthread_create(gpreempt_monitor, gn, "kfd_gpreempt_%u", gn->node->id);
	if (IS_ERR(thread)) {
		dev_err(gn->node->adev->dev, "gpreempt: gpu %u is not scheduled: no thread (%ld)\n", gn->node->id,
			PTR_ERR(thread));
		return;
	}
	/*
	 * Waiting for a preemption spins on a fence with schedule() in between, under dqm_lock: a real-time thread
	 * would not let the others run, so the best of the normal ones it is.
	 */
	set_user_nice(thread, MIN_NICE);

	mutex_lock(&gn->pass_lock);
	begin_anew(gn);
	gn->revive = false;
	mutex_unlock(&gn->pass_lock);
	mutex_lock(&gpreempt_lock);
	WRITE_ONCE(gn->thread, thread);
	WRITE_ONCE(gn->accepting, true);
	mutex_unlock(&gpreempt_lock);
	gpreempt_stats_state(gn);
	wake_up_process(thread);

	adopt_after(gn, 0);
}

static void node_stop(struct gpreempt_node *gn)
{
	struct task_struct *thread;

	WRITE_ONCE(gn->wanted, false);
	mutex_lock(&gpreempt_lock);
	WRITE_ONCE(gn->accepting, false);
	thread = gn->thread;
	WRITE_ONCE(gn->thread, NULL);
	mutex_unlock(&gpreempt_lock);
	/* Its last pass resumes everything. A reset that comes meanwhile does not wait for us. */
	if (thread)
		kthread_stop(thread);
	if (thread)
		gpreempt_stats_state(gn);

	/* Without a thread, and accepting nothing, they are not scheduled any more. */
	cancel_delayed_work_sync(&gn->renice);
	cancel_delayed_work_sync(&gn->adopt);
	gpreempt_queue_unregister_all(gn);
	if (!any_wanted())
		static_branch_disable(&kfd_gpreempt_key);
}

/* The monitor writes its state itself. */
static void node_revive(struct gpreempt_node *gn)
{
	mutex_lock(&gpreempt_lock);
	if (READ_ONCE(gn->state) == GPREEMPT_STATE_FAILED) {
		WRITE_ONCE(gn->revive, true);
		gpreempt_core_kick(gn);
	}
	mutex_unlock(&gpreempt_lock);
}

/* gpreempt_lifecycle held. */
static void node_switch(struct gpreempt_node *gn, bool on)
{
	if (!on && gn->wanted)
		node_stop(gn);
	else if (on && !gn->thread)
		node_start(gn);
	else if (on)
		node_revive(gn);
}

/**
 * gpreempt_core_enable() - switch the scheduler on or off, on all nodes
 * @on: on or off
 *
 * When it returns after switching off, every queue has been resumed and nothing is registered. Switching on returns
 * before existing queues have been adopted. Switching on what is on gives nodes that gave up another try.
 *
 * Context: no lock of the scheduler held; may sleep, as long as a pass takes.
 */
void gpreempt_core_enable(bool on)
{
	struct gpreempt_node *gn;

	mutex_lock(&gpreempt_lifecycle);
	enabled = on;
	list_for_each_entry(gn, &gpreempt_nodes, link)
		node_switch(gn, on);
	mutex_unlock(&gpreempt_lifecycle);
}

/**
 * gpreempt_core_enable_node() - switch the scheduler on or off, on one node
 * @gn: the node
 * @on: on or off; as gpreempt_core_enable()
 *
 * Context: the store method of a file of the node, which keeps it; no lock of the scheduler held; may sleep, as long as a pass takes.
 *
 * Return: 0; -EOPNOTSUPP: it cannot be scheduled; -ERESTARTNOINTR: to be called again
 */
int gpreempt_core_enable_node(struct gpreempt_node *gn, bool on)
{
	if (on && !gn->backend)
		return -EOPNOTSUPP;
	/* Whoever holds it may be removing the node, and waits for this file. */
	if (!mutex_trylock(&gpreempt_lifecycle)) {
		fsleep(5000);
		return restart_syscall();
	}
	node_switch(gn, on);
	mutex_unlock(&gpreempt_lifecycle);
	return 0;
}

/* Versions of the graphics core that Instincts have: MI25, MI50 and MI60, MI100, MI200, MI300, MI325, MI350. */
static bool is_instinct(u32 gc)
{
	switch (gc) {
	case IP_VERSION(9, 0, 1):
	case IP_VERSION(9, 4, 0):
	case IP_VERSION(9, 4, 1):
	case IP_VERSION(9, 4, 2):
	case IP_VERSION(9, 4, 3):
	case IP_VERSION(9, 4, 4):
	case IP_VERSION(9, 5, 0):
		return true;
	default:
		return false;
	}
}

static void choose_backend(struct gpreempt_node *gn)
{
	struct kfd_node *node = gn->node;
	u32 gc = KFD_GC_VERSION(node);

	if (node->kfd->shared_resources.enable_mes)
		gn->reason = "queues are scheduled by MES, which is not supported yet";
	else if (!node->kfd->cwsr_enabled)
		gn->reason = "waves cannot be saved (no CWSR, or amdgpu.cwsr_enable=0)";
	else if (gc < IP_VERSION(9, 0, 1) || gc >= IP_VERSION(10, 0, 0))
		gn->reason = "this generation of GPUs is not supported yet";
	else if (!is_instinct(gc) && (node->adev->flags & AMD_IS_APU))
		gn->reason = "this APU is no Instinct: its graphics core is switched off when idle (GFXOFF), and must not be asked for waves then";
	else if (!is_instinct(gc))
		gn->reason = "this GPU is no Instinct, and nothing is known of how it saves waves";
	else if (node->dqm->sched_policy != KFD_SCHED_POLICY_NO_HWS)
		gn->backend = &gpreempt_backend_hws;
	else if (amdgpu_sriov_vf(node->adev))
		gn->reason = "the hardware scheduler is off (sched_policy=2), and queue slots are not a virtual function's to write";
	else
		gn->backend = &gpreempt_backend_mqd;
}

static void free_buffers(struct gpreempt_node *gn)
{
	kfree(gn->see_buffer);
	kfree(gn->seen);
	kfree(gn->occupancy);
}

/**
 * kfd_gpreempt_node_init() - a node has come up
 * @node: the node; it is in the topology and has its id
 *
 * Context: probe or a change of partitions; may sleep.
 */
void kfd_gpreempt_node_init(struct kfd_node *node)
{
	struct gpreempt_node *gn = kzalloc(sizeof(*gn), GFP_KERNEL);

	if (!gn)
		return;
	gn->node = node;
	gn->reason = "-";
	INIT_LIST_HEAD(&gn->queues);
	INIT_LIST_HEAD(&gn->processes);
	mutex_init(&gn->pass_lock);
	mutex_init(&gn->see_lock);
	spin_lock_init(&gn->pace_lock);
	if (init_srcu_struct(&gn->srcu))
		goto free;
	INIT_DELAYED_WORK(&gn->adopt, adopt_work);
	INIT_DEFERRABLE_WORK(&gn->renice, renice_work);
	choose_backend(gn);
	/*
	 * A virtual function's registers are read by RLC for it, tens of microseconds each, and a look takes hundreds of them: not until that has been
	 * tested. What is launched counts instead.
	 */
	gn->tun.params.waves_known = node->kfd2kgd->get_cu_occupancy && !amdgpu_sriov_vf(node->adev);
	if (gn->backend && amdgpu_sriov_vf(node->adev))
		dev_info(node->adev->dev, "gpreempt: gpu %u is a virtual function: its waves in flight are not read\n", node->id);
	if (gn->backend && gn->tun.params.waves_known) {
		gn->occupancy = kcalloc(AMDGPU_MAX_QUEUES, sizeof(*gn->occupancy), GFP_KERNEL);
		gn->seen = kcalloc(AMDGPU_MAX_QUEUES, sizeof(*gn->seen), GFP_KERNEL);
		gn->see_buffer = kcalloc(AMDGPU_MAX_QUEUES, sizeof(*gn->see_buffer), GFP_KERNEL);
		if (!gn->occupancy || !gn->seen || !gn->see_buffer)
			goto free_srcu;
	}

	mutex_lock(&gpreempt_lifecycle);
	gpreempt_tunables_init_node(gn);
	if (ready)
		gpreempt_sysfs_add(gn);
	mutex_lock(&gpreempt_lock);
	list_add_tail_rcu(&gn->link, &gpreempt_nodes);
	mutex_unlock(&gpreempt_lock);
	dqm_lock(node->dqm);
	node->gpreempt = gn;
	dqm_unlock(node->dqm);
	if (enabled)
		node_start(gn);
	mutex_unlock(&gpreempt_lifecycle);
	return;

free_srcu:
	free_buffers(gn);
	cleanup_srcu_struct(&gn->srcu);
free:
	mutex_destroy(&gn->see_lock);
	mutex_destroy(&gn->pass_lock);
	kfree(gn);
}

/**
 * kfd_gpreempt_node_fini() - a node is going down
 * @node: the node; its queue manager still works
 *
 * Context: removal or a change of partitions; may sleep.
 */
void kfd_gpreempt_node_fini(struct kfd_node *node)
{
	struct gpreempt_node *gn = node->gpreempt;

	if (!gn)
		return;
	mutex_lock(&gpreempt_lifecycle);
	if (gn->backend)
		node_stop(gn);
	mutex_lock(&gpreempt_lock);
	list_del_rcu(&gn->link);
	mutex_unlock(&gpreempt_lock);
	synchronize_srcu(&nodes_srcu);
	gpreempt_sysfs_del(gn);
	/* Runlists that are still sent until the queue manager goes look at it. */
	dqm_lock(node->dqm);
	node->gpreempt = NULL;
	dqm_unlock(node->dqm);
	mutex_unlock(&gpreempt_lifecycle);

	kvfree(gn->sampled);
	kvfree(gn->watches);
	free_buffers(gn);
	cleanup_srcu_struct(&gn->srcu);
	mutex_destroy(&gn->see_lock);
	mutex_destroy(&gn->pass_lock);
	kfree(gn);
}

/**
 * kfd_gpreempt_pause() - the device is about to be suspended or reset
 * @kfd: the device
 *
 * When it returns, nothing is preempted and no pass is made.
 *
 * Context: suspend or reset; may sleep, as long as a pass takes: that waits for the driver's lock
 * and for the device, and for nothing that a program has a hand in. A suspend also takes
 * gpreempt_lock: programs are frozen then.
 */
void kfd_gpreempt_pause(struct kfd_dev *kfd)
{
	unsigned int i;

	for (i = 0; i < kfd->num_nodes; i++) {
		struct gpreempt_node *gn = kfd->nodes[i]->gpreempt;
		bool paused;

		if (!gn)
			continue;
		/*
		 * First: a pass that is under way hurries, and none begins. Nor does anybody else
		 * read registers from then on.
		 */
		mutex_lock(&gn->see_lock);
		paused = xchg(&gn->paused, true);
		mutex_unlock(&gn->see_lock);
		mutex_lock(&gn->pass_lock);
		if (!paused && (READ_ONCE(gn->thread) || READ_ONCE(gn->nr_queues)))
			gpreempt_monitor_last_pass(gn);
		mutex_unlock(&gn->pass_lock);
		/* A reset keeps the memory where it is, and whoever holds a BO may wait for its end. */
		if (!amdgpu_in_reset(gn->node->adev))
			gpreempt_queue_hide_vram(gn);
		gpreempt_stats_state(gn);
	}
}

/**
 * kfd_gpreempt_unpause() - the device is back
 * @kfd: the device
 *
 * Context: resume or the end of a reset; may sleep.
 */
void kfd_gpreempt_unpause(struct kfd_dev *kfd)
{
	unsigned int i;

	for (i = 0; i < kfd->num_nodes; i++) {
		struct gpreempt_node *gn = kfd->nodes[i]->gpreempt;

		if (!gn)
			continue;
		mutex_lock(&gn->pass_lock);
		/* The device has been set up anew. */
		if (gn->paused)
			begin_anew(gn);
		WRITE_ONCE(gn->paused, false);
		/* Under the lock, for node_stop(): without a thread it is not scheduled. */
		if (READ_ONCE(gn->thread) && READ_ONCE(gn->tends))
			adopt_after(gn, 0);
		mutex_unlock(&gn->pass_lock);
		gpreempt_core_kick(gn);
		gpreempt_stats_state(gn);
	}
}

/**
 * kfd_gpreempt_init() - amdkfd is there, no device yet
 *
 * Context: module init.
 */
void kfd_gpreempt_init(void)
{
	gpreempt_doorbell_init();
	gpreempt_sysfs_init();
	gpreempt_debugfs_init();
	gpreempt_uapi_init();
	mutex_lock(&gpreempt_lifecycle);
	ready = true;
	mutex_unlock(&gpreempt_lifecycle);
	gpreempt_params_ready(true);
}

static void sysfs_del_one(struct gpreempt_node *gn, void *arg)
{
	gpreempt_sysfs_del(gn);
}

/**
 * kfd_gpreempt_exit() - amdkfd is about to go; the nodes go later
 *
 * Context: module exit; no file of /dev/kfd is open.
 */
void kfd_gpreempt_exit(void)
{
	gpreempt_uapi_exit();
	gpreempt_params_ready(false);
	gpreempt_debugfs_exit();
	mutex_lock(&gpreempt_lifecycle);
	ready = false;
	mutex_unlock(&gpreempt_lifecycle);
	gpreempt_core_for_each(sysfs_del_one, NULL);
	gpreempt_sysfs_exit();
	gpreempt_doorbell_exit();
}

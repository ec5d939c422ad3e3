// SPDX-License-Identifier: MIT
/*
 * life.c - a node is switched on and off, paused and brought back
 *
 * Starting flips the static key, lets hooks register new queues, starts the monitor and adopts the
 * queues that exist. Stopping goes the other way: nothing new is registered, the monitor resumes
 * everything in its last pass, then the queues are unregistered and unmapped. While the device is
 * suspended or reset no pass is made, and everything is resumed before: by the caller that suspends
 * or resets, which waits for the pass under way and for nothing else. What a monitor does outside
 * of its passes may wait for the end of that very reset.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include "node.h"
#include "compat/compat.h"
#include "amdgpu.h"
#include "amdgpu_reset.h"
#include "kfd_device_queue_manager.h"

DEFINE_STATIC_KEY_FALSE(kfd_gpreempt_key);

/*
 * What a new node is told; each of the others may have been told otherwise since. Under
 * gpreempt_lifecycle.
 */
static bool enabled;

/* gpreempt_lifecycle held. */
static bool life_any_wanted(void)
{
	struct gpreempt_node *gn;

	list_for_each_entry(gn, &gpreempt_nodes, link)
		if (gn->life.wanted)
			return true;
	return false;
}

/* pass_lock held. Whatever was wrong before. @set_up: the driver has set the device up anew. */
static void life_begin_anew(struct gpreempt_node *gn, bool set_up)
{
	gpreempt_monitor_begin(gn, set_up);
	gpreempt_stats_begin(gn);
}

static void life_start(struct gpreempt_node *gn)
{
	int nid = dev_to_node(gn->node->adev->dev);
	struct task_struct *thread;

	if (!gn->backend) {
		if (!gn->life.reason_logged)
			dev_info(gn->node->adev->dev, "gpreempt: gpu %u is not scheduled: %s\n", gn->node->id,
				 gn->life.reason);
		gn->life.reason_logged = true;
		return;
	}
	WRITE_ONCE(gn->life.wanted, true);
	if (gn->life.thread)
		return;
	/*
	 * Before anything else: a queue that is created from now on is registered by its hook, one
	 * that was before is adopted.
	 */
	static_branch_enable(&kfd_gpreempt_key);

	thread = kthread_create_on_node(gpreempt_monitor, gn, nid, "kfd_gpreempt_%u", gn->node->id);
	if (IS_ERR(thread)) {
		dev_err(gn->node->adev->dev, "gpreempt: gpu %u is not scheduled: no thread (%ld)\n", gn->node->id,
			PTR_ERR(thread));
		return;
	}
	mutex_lock(&gn->pass_lock);
	life_begin_anew(gn, false);
	gn->revive = false;
	mutex_unlock(&gn->pass_lock);
	mutex_lock(&gpreempt_lock);
	WRITE_ONCE(gn->life.thread, thread);
	WRITE_ONCE(gn->life.accepting, true);
	mutex_unlock(&gpreempt_lock);
	gpreempt_stats_state(gn);
	wake_up_process(thread);

	gpreempt_queue_adopt_after(gn, 0);
}

static void life_stop(struct gpreempt_node *gn)
{
	struct task_struct *thread;

	WRITE_ONCE(gn->life.wanted, false);
	mutex_lock(&gpreempt_lock);
	WRITE_ONCE(gn->life.accepting, false);
	thread = gn->life.thread;
	WRITE_ONCE(gn->life.thread, NULL);
	mutex_unlock(&gpreempt_lock);
	/* Its last pass resumes everything. A reset that comes meanwhile does not wait for us. */
	if (thread)
		kthread_stop(thread);
	if (thread)
		gpreempt_stats_state(gn);

	/* Without a thread, and accepting nothing, they are not scheduled any more. */
	gpreempt_queue_stop(gn);
	gpreempt_queue_unregister_all(gn);
	if (!life_any_wanted())
		static_branch_disable(&kfd_gpreempt_key);
}

/* The monitor writes its state itself. */
static void life_revive(struct gpreempt_node *gn)
{
	mutex_lock(&gpreempt_lock);
	if (READ_ONCE(gn->monitor.state) == GPREEMPT_STATE_FAILED) {
		WRITE_ONCE(gn->revive, true);
		gpreempt_node_kick(gn);
	}
	mutex_unlock(&gpreempt_lock);
}

/* gpreempt_lifecycle held. */
static void life_switch(struct gpreempt_node *gn, bool on)
{
	if (!on && gn->life.wanted)
		life_stop(gn);
	else if (on && !gn->life.thread)
		life_start(gn);
	else if (on)
		life_revive(gn);
}

/**
 * gpreempt_life_enable() - switch the scheduler on or off, on all nodes
 * @on: on or off
 *
 * When it returns after switching off, every queue has been resumed and nothing is registered.
 * Switching on returns before existing queues have been adopted. Switching on what is on gives
 * nodes that gave up another try.
 *
 * Context: no lock of the scheduler held; may sleep, as long as a pass takes.
 */
void gpreempt_life_enable(bool on)
{
	struct gpreempt_node *gn;

	mutex_lock(&gpreempt_lifecycle);
	enabled = on;
	list_for_each_entry(gn, &gpreempt_nodes, link)
		life_switch(gn, on);
	mutex_unlock(&gpreempt_lifecycle);
}

/**
 * gpreempt_life_enable_node() - switch the scheduler on or off, on one node
 * @gn: the node
 * @on: on or off; as gpreempt_life_enable()
 *
 * Context: the store method of a file of the node, which keeps it; no lock of the scheduler held;
 * may sleep, as long as a pass takes.
 *
 * Return: 0; -EOPNOTSUPP: it cannot be scheduled; -ERESTARTNOINTR: to be called again
 */
int gpreempt_life_enable_node(struct gpreempt_node *gn, bool on)
{
	if (on && !gn->backend)
		return -EOPNOTSUPP;
	/* Its holder may be removing the node, and waits for this file. */
	if (!mutex_trylock(&gpreempt_lifecycle)) {
		fsleep(5000);
		return restart_syscall();
	}
	life_switch(gn, on);
	mutex_unlock(&gpreempt_lifecycle);
	return 0;
}

/**
 * gpreempt_life_add() - a node has come up: switch it on if the others are
 * @gn: the node
 *
 * Context: gpreempt_lifecycle held; may sleep.
 */
void gpreempt_life_add(struct gpreempt_node *gn)
{
	lockdep_assert_held(&gpreempt_lifecycle);
	if (enabled)
		life_start(gn);
}

/**
 * gpreempt_life_remove() - a node is going down: switch it off
 * @gn: the node
 *
 * Context: gpreempt_lifecycle held; may sleep.
 */
void gpreempt_life_remove(struct gpreempt_node *gn)
{
	lockdep_assert_held(&gpreempt_lifecycle);
	if (gn->backend)
		life_stop(gn);
}

/*
 * Versions of the graphics core that Instincts have: MI25, MI50 and MI60, MI100, MI200, MI300,
 * MI325, MI350.
 */
static bool life_is_instinct(u32 gc)
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

/* NULL: it is not built. */
static const struct gpreempt_backend *life_find_backend(enum gpreempt_scheduler scheduler)
{
	const struct gpreempt_backend *const *backend = gpreempt_backends;

	while (*backend && (*backend)->scheduler != scheduler)
		backend++;
	return *backend;
}

/* Why not on what MES schedules? NULL: it may be. */
static const char *life_reason_mes(u32 gc)
{
	if (gc < IP_VERSION(11, 0, 0) || gc >= IP_VERSION(13, 0, 0))
		return "this generation of GPUs is not supported yet";
	if (!life_find_backend(GPREEMPT_BY_MES))
		return "queues are scheduled by MES, and this build lacks that";
	if (!gpreempt_tunables_default(GPREEMPT_TUNABLE_MES))
		return "queues are scheduled by MES, where one that does not leave costs a reset of the GPU: amdgpu.gpreempt_mes=1 schedules it all the same";
	return NULL;
}

/* Why not on what the hardware scheduler or the driver itself schedules? NULL: it may be. */
static const char *life_reason_hws(const struct kfd_node *node, u32 gc, bool without_hws)
{
	if (gc < IP_VERSION(9, 0, 1) || gc >= IP_VERSION(10, 0, 0))
		return "this generation of GPUs is not supported yet";
	if (!life_is_instinct(gc) && (node->adev->flags & AMD_IS_APU))
		return "this APU is no Instinct: its graphics core is switched off when idle (GFXOFF), and must not be asked for waves then";
	if (!life_is_instinct(gc))
		return "this GPU is no Instinct, and nothing is known of how it saves waves";
	if (without_hws && amdgpu_sriov_vf(node->adev))
		return "the hardware scheduler is off (sched_policy=2), and queue slots are not a virtual function's to write";
	if (without_hws && !life_find_backend(GPREEMPT_BY_DRIVER))
		return "the hardware scheduler is off (sched_policy=2), and this build needs it";
	return NULL;
}

/**
 * gpreempt_life_init_node() - choose how to preempt on a node, if that is possible
 * @gn: the node, new
 *
 * Context: any.
 */
void gpreempt_life_init_node(struct gpreempt_node *gn)
{
	struct kfd_node *node = gn->node;
	bool without_hws = node->dqm->sched_policy == KFD_SCHED_POLICY_NO_HWS;
	enum gpreempt_scheduler scheduler = without_hws ? GPREEMPT_BY_DRIVER : GPREEMPT_BY_HWS;
	u32 gc = KFD_GC_VERSION(node);

	if (!node->kfd->cwsr_enabled) {
		gn->life.reason = "waves cannot be saved (no CWSR, or amdgpu.cwsr_enable=0)";
	} else if (node->kfd->shared_resources.enable_mes) {
		scheduler = GPREEMPT_BY_MES;
		gn->life.reason = life_reason_mes(gc);
	} else {
		gn->life.reason = life_reason_hws(node, gc, without_hws);
	}
	if (gn->life.reason)
		return;
	gn->life.reason = "-";
	gn->backend = life_find_backend(scheduler);
}

/*
 * Will its memory lose what it has, or be out of reach? A reset keeps it where it is. So does a
 * driver that takes all queues off for a moment, as it does on MI300 to reset an SDMA engine on
 * which a job of its own hangs: who has a BO reserved may wait for that very job.
 */
static bool life_loses_vram(struct amdgpu_device *adev)
{
	return (adev->in_suspend || adev->shutdown) && !amdgpu_in_reset(adev);
}

/**
 * kfd_gpreempt_pause() - the driver is about to take all queues off: to suspend, reset or remove
 * the device, or to reset a part of it
 * @kfd: the device
 *
 * When it returns, nothing is preempted and no pass is made.
 *
 * Context: may sleep, as long as a pass takes: that waits for the driver's lock and for the device,
 * and for nothing that a program has a hand in. A suspend also takes gpreempt_lock and reserves
 * BOs: programs are frozen then.
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
		 * First: a pass that is under way hurries, and none begins. From then on no other
		 * reader of registers begins either.
		 */
		mutex_lock(&gn->waves.see_lock);
		paused = xchg(&gn->life.paused, true);
		mutex_unlock(&gn->waves.see_lock);
		mutex_lock(&gn->pass_lock);
		if (!paused && (READ_ONCE(gn->life.thread) || READ_ONCE(gn->queues.nr)))
			gpreempt_monitor_last_pass(gn);
		mutex_unlock(&gn->pass_lock);
		if (life_loses_vram(gn->node->adev))
			gpreempt_view_hide_vram(gn);
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
		if (gn->life.paused)
			life_begin_anew(gn, true);
		WRITE_ONCE(gn->life.paused, false);
		/* Under the lock, for life_stop(): without a thread it is not scheduled. */
		if (READ_ONCE(gn->life.thread) && READ_ONCE(gn->queues.tends))
			gpreempt_queue_adopt_after(gn, 0);
		mutex_unlock(&gn->pass_lock);
		gpreempt_node_kick(gn);
		gpreempt_stats_state(gn);
	}
}

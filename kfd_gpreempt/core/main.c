// SPDX-License-Identifier: MIT
/*
 * main.c - the module comes and goes, and so do the nodes of the driver
 *
 * It calls each room of core/ to set up its part of a node, in the order in which they need each
 * other, and the layers above by rooms.h.
 */

#include "node.h"
#include "params.h"
#include "rooms.h"
#include "kfd_device_queue_manager.h"

/* The files of a node may be made: the folder that they are in exists. Under gpreempt_lifecycle. */
static bool ready;

static void main_free_node(struct gpreempt_node *gn)
{
	gpreempt_rooms_tell(free_node, gn);
	gpreempt_monitor_free_node(gn);
	gpreempt_waves_free_node(gn);
	gpreempt_queue_free_node(gn);
	mutex_destroy(&gn->pass_lock);
	kfree(gn);
}

/**
 * kfd_gpreempt_node_init() - a node has come up
 * @node: the node; it is in the topology and has its id
 *
 * Context: probe or a change of partitions; may sleep.
 */
void kfd_gpreempt_node_init(struct kfd_node *node)
{
	struct gpreempt_node *gn = kzalloc(gpreempt_sizes[GPREEMPT_OF_NODE], GFP_KERNEL);

	if (!gn)
		return;
	gn->node = node;
	mutex_init(&gn->pass_lock);
	gpreempt_life_init_node(gn);
	if (gpreempt_queue_init_node(gn)) {
		mutex_destroy(&gn->pass_lock);
		kfree(gn);
		return;
	}
	gpreempt_rooms_tell(init_node, gn);
	if (gpreempt_waves_init_node(gn)) {
		main_free_node(gn);
		return;
	}

	mutex_lock(&gpreempt_lifecycle);
	gpreempt_tunables_init_node(gn);
	if (ready)
		gpreempt_sysfs_add(gn);
	gpreempt_rooms_tell(start_node, gn);
	gpreempt_node_add(gn);
	dqm_lock(node->dqm);
	node->gpreempt = gn;
	dqm_unlock(node->dqm);
	gpreempt_life_add(gn);
	mutex_unlock(&gpreempt_lifecycle);
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
	gpreempt_life_remove(gn);
	gpreempt_node_remove(gn);
	gpreempt_rooms_tell(stop_node, gn);
	gpreempt_sysfs_del(gn);
	/* Runlists that are still sent until the queue manager goes look at it. */
	dqm_lock(node->dqm);
	node->gpreempt = NULL;
	dqm_unlock(node->dqm);
	mutex_unlock(&gpreempt_lifecycle);
	main_free_node(gn);
}

/* Parts of an object are behind it, in the order of the rooms. */
static void main_place_parts(void)
{
	static const size_t sizes[GPREEMPT_NR_OBJECTS] = {
		[GPREEMPT_OF_NODE] = sizeof(struct gpreempt_node),
		[GPREEMPT_OF_PROCESS] = sizeof(struct gpreempt_process),
		[GPREEMPT_OF_QUEUE] = sizeof(struct gpreempt_queue),
	};
	const struct gpreempt_room *const *room;
	enum gpreempt_object of;

	for (of = 0; of < GPREEMPT_NR_OBJECTS; of++) {
		gpreempt_sizes[of] = sizes[of];
		for (room = gpreempt_rooms; *room; room++) {
			struct gpreempt_part *part = (*room)->parts[of];

			if (!part)
				continue;
			part->at = ALIGN(gpreempt_sizes[of], sizeof(u64));
			gpreempt_sizes[of] = part->at + part->size;
		}
	}
}

/**
 * kfd_gpreempt_init() - amdkfd is there, no device yet
 *
 * Context: module init.
 */
void kfd_gpreempt_init(void)
{
	main_place_parts();
	gpreempt_priority_init();
	gpreempt_sysfs_init();
	gpreempt_rooms_tell(init);
	mutex_lock(&gpreempt_lifecycle);
	ready = true;
	mutex_unlock(&gpreempt_lifecycle);
	gpreempt_params_ready(true);
}

/* Those that were told last go first. */
static void main_exit_rooms(void)
{
	const struct gpreempt_room *const *room = gpreempt_rooms;

	while (*room)
		room++;
	while (room-- != gpreempt_rooms)
		if ((*room)->exit)
			(*room)->exit();
}

static void main_del_sysfs(struct gpreempt_node *gn, void *arg)
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
	gpreempt_params_ready(false);
	main_exit_rooms();
	mutex_lock(&gpreempt_lifecycle);
	ready = false;
	mutex_unlock(&gpreempt_lifecycle);
	gpreempt_node_for_each(main_del_sysfs, NULL);
	gpreempt_sysfs_exit();
	gpreempt_priority_exit();
	gpreempt_node_exit();
}

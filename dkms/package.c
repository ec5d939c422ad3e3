// SPDX-License-Identifier: MIT
/*
 * package.c - version of the scheduler, and proof at compile time that kfd_priv.h has our hooks; no code remains of it
 *
 * Copied beside kfd_gpreempt's own files by own_files() of dkms/lib.sh. The module's version is the driver's, and the kernel's own has none:
 * programs tell AMD's driver package by it.
 */
#include <linux/build_bug.h>
#include <linux/module.h>

#include "../amdkfd/kfd_priv.h"
#include "gpreempt_version.h"

#ifdef GPREEMPT_VERSION
static char *kfd_gpreempt_version = GPREEMPT_VERSION;
module_param(kfd_gpreempt_version, charp, 0444);
MODULE_PARM_DESC(kfd_gpreempt_version, "Version of kfd_gpreempt in this amdgpu, to be read");
MODULE_INFO(gpreempt_version, GPREEMPT_VERSION);
#endif

static_assert(__same_type(((struct kfd_node *)0)->gpreempt, struct gpreempt_node *));
static_assert(__same_type(((struct queue *)0)->gpreempt, struct gpreempt_queue *));
static_assert(__same_type(((struct kfd_process *)0)->gpreempt, struct gpreempt_doorbells *));
static_assert(__same_type(((struct queue_properties *)0)->is_preempted, bool));

static void __maybe_unused gpreempt_check_runnable(void)
{
	struct queue_properties q = { .queue_size = 1, .queue_address = 1, .queue_percent = 1 };

	BUILD_BUG_ON(!QUEUE_IS_ACTIVE(q));
	q.is_preempted = true;
	BUILD_BUG_ON(QUEUE_IS_ACTIVE(q));
}

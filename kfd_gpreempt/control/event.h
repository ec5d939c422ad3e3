/* SPDX-License-Identifier: MIT */
/* event.h - who listens */
#ifndef GPREEMPT_EVENT_H
#define GPREEMPT_EVENT_H

#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include "uapi/linux/kfd_gpreempt.h"
#include "core/viewer.h"

struct gpreempt_listener;

struct gpreempt_listener *gpreempt_listener_create(const struct gpreempt_viewer *viewer,
						   kuid_t user);
void gpreempt_listener_destroy(struct gpreempt_listener *listener);
wait_queue_head_t *gpreempt_listener_wait(struct gpreempt_listener *listener);
bool gpreempt_listener_ready(struct gpreempt_listener *listener);
ssize_t gpreempt_listener_read(struct gpreempt_listener *listener, char __user *buffer, size_t size,
			       bool nonblocking);

#endif /* GPREEMPT_EVENT_H */

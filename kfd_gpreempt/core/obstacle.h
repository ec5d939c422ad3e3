/* SPDX-License-Identifier: MIT */
/* obstacle.h - why the driver does not let a queue go */
#ifndef GPREEMPT_OBSTACLE_H
#define GPREEMPT_OBSTACLE_H

#include <linux/types.h>
#include "stats.h"

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;
struct kfd_process;

bool gpreempt_obstacle_debugged(const struct kfd_process *p);
bool gpreempt_obstacle_was_reset(const struct gpreempt_queue *gq);
enum gpreempt_skip gpreempt_obstacle(const struct gpreempt_queue *gq);

#endif /* GPREEMPT_OBSTACLE_H */

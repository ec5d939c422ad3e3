/* SPDX-License-Identifier: MIT */
/* chardev.h - /dev/kfd_gpreempt */
#ifndef GPREEMPT_CHARDEV_H
#define GPREEMPT_CHARDEV_H

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;

void gpreempt_chardev_init(void);
void gpreempt_chardev_exit(void);

#endif /* GPREEMPT_CHARDEV_H */

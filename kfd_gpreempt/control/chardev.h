/* SPDX-License-Identifier: MIT */
/* chardev.h - /dev/kfd_gpreempt */
#ifndef GPREEMPT_CHARDEV_H
#define GPREEMPT_CHARDEV_H

extern const struct gpreempt_room gpreempt_room_chardev;

#endif /* GPREEMPT_CHARDEV_H */

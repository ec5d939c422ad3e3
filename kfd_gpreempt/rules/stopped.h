/* SPDX-License-Identifier: MIT */
/* stopped.h - is a process stopped or frozen? */
#ifndef GPREEMPT_STOPPED_H
#define GPREEMPT_STOPPED_H

extern const struct gpreempt_room gpreempt_room_stopped;

#endif /* GPREEMPT_STOPPED_H */

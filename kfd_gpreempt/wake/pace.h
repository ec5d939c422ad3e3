/* SPDX-License-Identifier: MIT */
/* pace.h - runlists that programs ask for cost who asks */
#ifndef GPREEMPT_PACE_H
#define GPREEMPT_PACE_H

/* Users whose budget of a node is not full, at most. Each is full again after 16 s. */
#define GPREEMPT_PACE_USERS	32

#endif /* GPREEMPT_PACE_H */

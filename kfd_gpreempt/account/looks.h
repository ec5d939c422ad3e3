/* SPDX-License-Identifier: MIT */
/* looks.h - when the accounts of a node look, and when they rest */
#ifndef GPREEMPT_LOOKS_H
#define GPREEMPT_LOOKS_H

extern const struct gpreempt_room gpreempt_room_looks;

#endif /* GPREEMPT_LOOKS_H */

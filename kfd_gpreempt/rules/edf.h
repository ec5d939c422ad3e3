/* SPDX-License-Identifier: MIT */
/*
 * edf.h - what reservations take of a node
 *
 * Pure code: see policy.h for what may be used here.
 */
#ifndef GPREEMPT_EDF_H
#define GPREEMPT_EDF_H

#include "core/policy.h"

u64 gpreempt_edf_need(u64 switch_ns, u64 runtime_ns, u64 period_ns);
u64 gpreempt_edf_room(const struct gpreempt_policy_params *params);
u64 gpreempt_edf_least_ns(u64 switch_ns);

#endif /* GPREEMPT_EDF_H */

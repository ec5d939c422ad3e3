/* SPDX-License-Identifier: MIT */
/*
 * doubt.h - would what is not known change the decision?
 *
 * Pure code: see policy.h for what may be used here.
 */
#ifndef GPREEMPT_DOUBT_H
#define GPREEMPT_DOUBT_H

#include "policy.h"

/* ACTIVE: recently; UNARMED: no doorbell announces its work */
enum whom { ALL, ACTIVE, UNARMED };

/* RIVALS_WITHIN: queues of one process */
enum rivals { NO_RIVALS, RIVALS_WITHIN, RIVALS };

enum rivals gpreempt_doubt_rivals(struct gpreempt_policy_node *pn, u64 now_ns, enum whom whom);

#endif /* GPREEMPT_DOUBT_H */

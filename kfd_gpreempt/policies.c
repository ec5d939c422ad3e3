// SPDX-License-Identifier: MIT
/*
 * policies.c - what decisions may be made by: what is built; the first policy is the default
 *
 * Pure code: see policy.h for what may be used here.
 */
#include "core/policy.h"

const struct gpreempt_policy_ops *const gpreempt_policies[] = {
	&gpreempt_policy_hpf,
	&gpreempt_policy_wfq,
	&gpreempt_policy_edf,
	NULL
};

const struct gpreempt_policy_accounts *const gpreempt_accounts = &gpreempt_policy_account;

// SPDX-License-Identifier: MIT
/*
 * policies.c - what decisions may be made by: what is built; the first policy is the default
 *
 * Pure code: see policy.h for what may be used here.
 */
#include "core/policy.h"
#include "gpreempt_config.h"

const struct gpreempt_policy_ops *const gpreempt_policies[] = {
	&gpreempt_policy_hpf,
#ifdef CONFIG_KFD_GPREEMPT_POLICIES
	&gpreempt_policy_wfq,
	&gpreempt_policy_edf,
#endif
	NULL
};

#ifdef CONFIG_KFD_GPREEMPT_ACCOUNT
const struct gpreempt_policy_accounts *const gpreempt_accounts = &gpreempt_policy_account;
#else
const struct gpreempt_policy_accounts *const gpreempt_accounts;
#endif

#ifdef CONFIG_KFD_GPREEMPT_JOBS
const struct gpreempt_policy_gangs *const gpreempt_gangs = &gpreempt_policy_gang;
#else
const struct gpreempt_policy_gangs *const gpreempt_gangs;
#endif

// SPDX-License-Identifier: MIT
/*
 * backends.c - the ways of preempting that are built
 *
 * Included at the end of kfd_device_queue_manager.c, for its static functions; uses what that file
 * includes.
 */
#ifdef CONFIG_KFD_GPREEMPT

#include "core/backend.c"
#include "core/backend_hws.c"
#include "nohws/backend_mqd.c"
#include "rules/backend_named.c"

const struct gpreempt_backend *const gpreempt_backends[] = {
	&gpreempt_backend_hws,
	&gpreempt_backend_mqd,
	NULL
};

bool (*const gpreempt_backend_shortcuts[])(struct backend_pass *pass) = {
	named_apply,
	NULL
};

#endif /* CONFIG_KFD_GPREEMPT */

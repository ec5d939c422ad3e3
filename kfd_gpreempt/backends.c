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
#ifdef CONFIG_KFD_GPREEMPT_NO_HWS
#include "nohws/backend_mqd.c"
#endif
#ifdef CONFIG_KFD_GPREEMPT_MES
#include "mes/backend_mes.c"
#endif
#ifdef CONFIG_KFD_GPREEMPT_NAMED
#include "rules/backend_named.c"
#endif

const struct gpreempt_backend *const gpreempt_backends[] = {
	&gpreempt_backend_hws,
#ifdef CONFIG_KFD_GPREEMPT_NO_HWS
	&gpreempt_backend_mqd,
#endif
#ifdef CONFIG_KFD_GPREEMPT_MES
	&gpreempt_backend_mes,
#endif
	NULL
};

bool (*const gpreempt_backend_shortcuts[])(struct backend_pass *pass) = {
#ifdef CONFIG_KFD_GPREEMPT_NAMED
	named_apply,
#endif
	NULL
};

#endif /* CONFIG_KFD_GPREEMPT */

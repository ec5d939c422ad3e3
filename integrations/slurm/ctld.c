// SPDX-License-Identifier: MIT
/* ctld.c - see ctld.h */
#include "ctld.h"

#include <slurm/slurm_version.h>

/* From 26.05 on jobs are named by a structure. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
#define CTLD_HAS_STEP_ID 1
#endif

static int ctld_load(job_info_msg_t **jobs, uint32_t job)
{
#ifdef CTLD_HAS_STEP_ID
	slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;

	id.job_id = job;
	return slurm_load_job(jobs, id, SHOW_ALL);
#else
	return slurm_load_job(jobs, job, SHOW_ALL);
#endif
}

job_info_msg_t *ctld_load_job(uint32_t job)
{
	job_info_msg_t *jobs;

	if (ctld_load(&jobs, job))
		return NULL;
	if (jobs->record_count)
		return jobs;
	slurm_free_job_info_msg(jobs);
	return NULL;
}

bool ctld_set_comment(uint32_t job, char *comment)
{
	job_desc_msg_t change;

	slurm_init_job_desc_msg(&change);
#ifdef CTLD_HAS_STEP_ID
	change.step_id.job_id = job;
#else
	change.job_id = job;
#endif
	change.admin_comment = comment;
	return !slurm_update_job(&change);
}

/* SPDX-License-Identifier: MIT */
/* ctld.h - what slurmctld is asked and told: one face for the versions of Slurm's API */
#ifndef GPREEMPT_CTLD_H
#define GPREEMPT_CTLD_H

#include <stdbool.h>
#include <stdint.h>

#include <slurm/slurm.h>

/** ctld_load_job() - a job, for slurm_free_job_info_msg(). Return: NULL: slurmctld is silent. */
job_info_msg_t *ctld_load_job(uint32_t job);

/** ctld_set_comment() - change a job's AdminComment. Return: was it? Else errno says why. */
bool ctld_set_comment(uint32_t job, char *comment);

#endif

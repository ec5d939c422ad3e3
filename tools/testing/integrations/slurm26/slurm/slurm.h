/* SPDX-License-Identifier: MIT */
/*
 * slurm.h - stands for the header of Slurm 26.05, as far as the plugin uses it, where an older one is
 * installed: jobs are named by a structure
 *
 * refusals.sh beside this builds with the real one.
 */
#ifndef STAND_IN_SLURM_H
#define STAND_IN_SLURM_H

#include <stddef.h>
#include <stdint.h>

#define SHOW_ALL		0x0001
#define NO_VAL			0xfffffffeU
#define SLURM_EXTERN_CONT	0xfffffffcU
#define SLURM_BATCH_SCRIPT	0xfffffffbU
#define SLURM_INTERACTIVE_STEP	0xfffffffaU

typedef struct {
	uint64_t sluid;
	uint32_t job_id;
	uint32_t step_het_comp;
	uint32_t step_id;
} slurm_step_id_t;

#define SLURM_STEP_ID_INITIALIZER ((slurm_step_id_t){ 0, NO_VAL, NO_VAL, NO_VAL })

typedef struct {
	char *admin_comment;
	char *partition;
	char *qos;
} slurm_job_info_t;

typedef struct {
	uint32_t record_count;
	slurm_job_info_t *job_array;
} job_info_msg_t;

typedef struct {
	slurm_step_id_t step_id;
	char *admin_comment;
} job_desc_msg_t;

int slurm_load_job(job_info_msg_t **jobs, slurm_step_id_t id, uint16_t flags);
void slurm_free_job_info_msg(job_info_msg_t *jobs);
void slurm_init_job_desc_msg(job_desc_msg_t *change);
int slurm_update_job(job_desc_msg_t *change);
char *slurm_strerror(int error);

#endif

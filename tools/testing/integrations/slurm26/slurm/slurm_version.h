/* SPDX-License-Identifier: MIT */
/* slurm_version.h - of the stand-in for Slurm's headers, see slurm.h */
#ifndef STAND_IN_SLURM_VERSION_H
#define STAND_IN_SLURM_VERSION_H

#define SLURM_VERSION_NUM(a, b, c)	(((a) << 16) + ((b) << 8) + (c))
#define SLURM_VERSION_NUMBER		SLURM_VERSION_NUM(26, 5, 5)

#endif

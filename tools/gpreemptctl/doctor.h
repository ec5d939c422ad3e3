/* SPDX-License-Identifier: MIT */
/* doctor.h - what the files of doctor share: a report, and those who add to it */
#ifndef DOCTOR_H
#define DOCTOR_H

#include "gpreemptctl.h"

/**
 * struct report - what has been found out
 * @checks: JSON array
 * @json: print nothing meanwhile
 * @out: where answers are printed
 * @bad: answers that keep the scheduler from working
 */
struct report {
	json_object *checks;
	bool json;
	FILE *out;
	int bad;
};

/* doctor.c: an answer, good or bad; and one that is good, where something could be better */
void answer(struct report *r, bool good, const char *question, const char *found, const char *remedy);
void advise(struct report *r, const char *question, const char *found, const char *advice);

/**
 * struct driver - the amdgpu of this machine
 * @kernel: release of the running kernel
 * @loaded: an amdgpu is loaded
 * @hooked: it has kfd_gpreempt
 * @amd: it is that of AMD's package amdgpu-dkms
 * @version: what AMD's says; the kernel's own has none
 * @scheduler: the version of kfd_gpreempt in it; may be empty
 * @file: what would be loaded next; may be empty
 * @file_hooked: that has kfd_gpreempt
 * @amd_source: the source of a version of AMD's package is here
 */
struct driver {
	char kernel[128];
	bool loaded;
	bool hooked;
	bool amd;
	char version[64];
	char scheduler[64];
	char file[512];
	bool file_hooked;
	bool amd_source;
};

/* driver.c */
void find_driver(struct driver *d);
void check_driver(struct report *r, const struct driver *d);
void check_dkms(struct report *r, const struct driver *d);
bool modinfo(const char *field, char *text, size_t size);

/* bundle.c: a file with all that belongs to a report about a machine */
FILE *begin_bundle(const char *path, const struct driver *d);
bool end_bundle(FILE *out, const char *path);

/* programs.c */
void check_slots(struct report *r);
void check_hip(struct report *r);
void check_debuggers(struct report *r);
void check_idle_eviction(struct report *r);

#endif /* DOCTOR_H */

/* SPDX-License-Identifier: MIT */
/* origin.h - where a process comes from: container, pod, Slurm step, user, pid in its own namespace */
#ifndef ORIGIN_H
#define ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * struct place - what paths of cgroups say; what they do not say is empty
 * @engine: who made the container: "docker", "containerd", "crio", "podman", "lxc", "apptainer", "singularity"; or whose job it is: "pbs", "htcondor", "flux"
 * @container: its id, as the engine has it: 64 hexadecimal digits, or a name
 * @pod: uid of the Kubernetes pod, with dashes as the API server writes it, or without if a static pod has none
 * @slurm_job: number of the Slurm job, or its SLUID where no process says that
 * @slurm_step: its step: a number, "batch", "extern" or "interactive"
 */
struct place {
	char engine[16];
	char container[65];
	char pod[40];
	char slurm_job[16];
	char slurm_step[16];
};

/**
 * struct origin - where a process comes from
 * @pid: the process, in the caller's pid namespace
 * @nspid: its pid in the innermost pid namespace that it is in; 0: the same as @pid, or not known
 * @uid: its effective user; ~0: not known
 * @place: its container, pod and Slurm step
 */
struct origin {
	pid_t pid;
	pid_t nspid;
	uid_t uid;
	struct place place;
};

/* Of the words for a place with its terminating NUL: "slurm:1234.batch,pod:0123abcd,containerd:0123456789ab" */
#define PLACE_WORDS	96

void place_add_path(struct place *place, const char *path);
void place_add_line(struct place *place, const char *line);
const char *place_words(const struct place *place, char *buffer, size_t size);
void place_number_job(struct place *place, pid_t pid);
int compare_places(const struct place *a, const struct place *b);
void read_status(const char *status, struct origin *origin);
void find_origin(pid_t pid, struct origin *origin);
const char *user_of(uid_t uid, char *buffer, size_t size);

#endif /* ORIGIN_H */

/* SPDX-License-Identifier: MIT */
/*
 * kernels.h - HIP programs that compare with the CPU what kernels compute
 */
#ifndef KERNELS_H
#define KERNELS_H

/**
 * struct hip_program - a test
 * @name: what it is about
 * @run: true if all results are right
 */
struct hip_program {
	const char *name;
	bool (*run)();
};

/* Those of kernels.cpp; the last one has no name. Blocks have so many waves, unless their kernel wants four. */
const struct hip_program *hip_kernels(unsigned int waves);

#endif /* KERNELS_H */

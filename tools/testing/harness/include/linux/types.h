/* SPDX-License-Identifier: MIT */
/*
 * linux/types.h - the kernel types that policy.[ch] uses, in user space
 *
 * Nothing else belongs here: policy.c may not depend on more of the kernel than this.
 */
#ifndef HARNESS_LINUX_TYPES_H
#define HARNESS_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;

#define noinline	__attribute__((__noinline__))

#endif /* HARNESS_LINUX_TYPES_H */

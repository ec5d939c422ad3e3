/* SPDX-License-Identifier: MIT */
/*
 * linux/types.h - the kernel types that policy.[ch] and the ABI's header use, in user space
 *
 * Nothing else belongs here: policy.c may not depend on more of the kernel than this.
 */
#ifndef HOST_LINUX_TYPES_H
#define HOST_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;

typedef uint16_t __u16;
typedef int16_t __s16;
typedef uint32_t __u32;
typedef int32_t __s32;
typedef unsigned long long __u64;
typedef long long __s64;

#define noinline	__attribute__((__noinline__))

#endif /* HOST_LINUX_TYPES_H */

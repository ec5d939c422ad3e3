/* SPDX-License-Identifier: MIT */
/* What the tests of the policy use of it, by the kernel */
#ifndef KUNIT_LIMITS_H
#define KUNIT_LIMITS_H

#include <linux/limits.h>

#define UINT64_MAX	U64_MAX

#endif /* KUNIT_LIMITS_H */

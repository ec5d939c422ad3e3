/* SPDX-License-Identifier: MIT */
/* What the tests of the policy use of it, by the kernel */
#ifndef KUNIT_STDLIB_H
#define KUNIT_STDLIB_H

#include <linux/kernel.h>
#include <linux/kstrtox.h>

#define llabs(number)	abs(number)

#endif /* KUNIT_STDLIB_H */

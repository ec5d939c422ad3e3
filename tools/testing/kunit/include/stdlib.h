/* SPDX-License-Identifier: MIT */
/* What the tests of the policy use of it, by the kernel */
#ifndef KUNIT_STDLIB_H
#define KUNIT_STDLIB_H

#include <linux/kernel.h>
#include <linux/kstrtox.h>

#define llabs(number)	abs(number)

/* The environment: the module's parameters, see kunit.c. */

static inline unsigned long long strtoull(const char *text, char **end, unsigned int base)
{
	return simple_strtoull(text, end, base);
}

#endif /* KUNIT_STDLIB_H */

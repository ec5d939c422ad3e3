/* SPDX-License-Identifier: MIT */
/* What the tests of the policy use of it, by the kernel */
#ifndef KUNIT_STDLIB_H
#define KUNIT_STDLIB_H

#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/sched.h>

#define llabs(number)	abs(number)
/* Tests of minutes of virtual time take seconds. */
#define between_passes()	cond_resched()

#endif /* KUNIT_STDLIB_H */

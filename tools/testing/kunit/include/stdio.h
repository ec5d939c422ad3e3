/* SPDX-License-Identifier: MIT */
/* What the tests of the policy use of it, by the kernel */
#ifndef KUNIT_STDIO_H
#define KUNIT_STDIO_H

#include <linux/kernel.h>
#include <linux/printk.h>

#define printf(...)	pr_info(__VA_ARGS__)

#endif /* KUNIT_STDIO_H */

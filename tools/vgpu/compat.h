/* SPDX-License-Identifier: MIT */
/* compat.h - what series of the kernel name differently */
#ifndef VGPU_COMPAT_H
#define VGPU_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *timer),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

#endif /* VGPU_COMPAT_H */

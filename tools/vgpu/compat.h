/* SPDX-License-Identifier: MIT */
/*
 * compat.h - what series of the kernel name differently, down to 5.10
 *
 * Under the names of the newest one. sched_switch tells no state of the previous task before 5.18:
 * a probe must not look at it.
 */
#ifndef VGPU_COMPAT_H
#define VGPU_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/sched/isolation.h>
#include <linux/smp.h>
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

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#include <asm/unaligned.h>
#else
#include <linux/unaligned.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 0, 0)
#define try_cmpxchg64			try_cmpxchg
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 18, 0)
#define HK_TYPE_DOMAIN			HK_FLAG_DOMAIN
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 11, 0)
#define in_hardirq()			in_irq()
#define INIT_CSD(_csd, _func, _info)	(*(_csd) = (call_single_data_t){ .func = (_func), .info = (_info) })
#define IRQ_WORK_INIT_HARD(_func)	((struct irq_work){ .func = (_func), .flags = ATOMIC_INIT(IRQ_WORK_HARD_IRQ) })
#endif

#endif /* VGPU_COMPAT_H */

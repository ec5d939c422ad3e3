/* SPDX-License-Identifier: MIT */
/*
 * os.h - the few things the device model takes from where it runs: the kernel (vgpu.ko) or user
 * space (unit tests)
 *
 * Nothing else in model/ includes a system header. Text is built with vgpu_snprintf() (returns what
 * it wrote), memory comes zeroed from vgpu_zalloc(); a lock may be taken with interrupts off.
 */
#ifndef VGPU_OS_H
#define VGPU_OS_H

#ifdef __KERNEL__

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/types.h>
#ifdef CONFIG_X86_64
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#endif

typedef raw_spinlock_t vgpu_lock_t;

#define vgpu_lock_init(l)		raw_spin_lock_init(l)
#define vgpu_lock(l)			({ unsigned long flags_; raw_spin_lock_irqsave((l), flags_); flags_; })
#define vgpu_unlock(l, flags)		raw_spin_unlock_irqrestore((l), (flags))

#define vgpu_atomic64_add(p, v)		atomic64_add((v), (atomic64_t *)(p))
#define vgpu_wmb()			smp_wmb()
#define vgpu_rmb()			smp_rmb()
#define vgpu_zalloc(bytes)		kvzalloc((bytes), GFP_KERNEL)
#define vgpu_free(p)			kvfree(p)
#define vgpu_snprintf			scnprintf
#define vgpu_err(fmt, ...)		pr_err_ratelimited("vgpu: " fmt "\n", ##__VA_ARGS__)
#define vgpu_info(fmt, ...)		pr_info("vgpu: " fmt "\n", ##__VA_ARGS__)

static inline u32 vgpu_popcount(u64 v)
{
	return (u32)hweight64(v);
}

/*
 * The CPU's vector registers of 256 bits, if it has them. Return: they may be used until
 * vgpu_simd_end(), and nothing may sleep.
 */
#ifdef CONFIG_X86_64
static inline bool vgpu_simd_begin(void)
{
	if (!boot_cpu_has(X86_FEATURE_AVX2) || !boot_cpu_has(X86_FEATURE_FMA) || !boot_cpu_has(X86_FEATURE_F16C) || !irq_fpu_usable())
		return false;
	kernel_fpu_begin();
	return true;
}

#define vgpu_simd_end()			kernel_fpu_end()
#else
#define vgpu_simd_begin()		false
#define vgpu_simd_end()			((void)0)
#endif

#else /* user space */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef long long s64;

#define U32_MAX				0xffffffffu
#define U64_MAX				(~0ULL)
#ifndef ARRAY_SIZE			/* test programs may have it from elsewhere */
#define ARRAY_SIZE(a)			(sizeof(a) / sizeof((a)[0]))
#endif
#define READ_ONCE(x)			(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)		(*(volatile __typeof__(x) *)&(x) = (v))
#define xchg(p, v)			__atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)
#define cmpxchg(p, old, new)		__sync_val_compare_and_swap((p), (old), (new))
#define vgpu_atomic64_add(p, v)		((void)__atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST))
#define vgpu_wmb()			__atomic_thread_fence(__ATOMIC_RELEASE)
#define vgpu_rmb()			__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define container_of(p, type, member)	((type *)((char *)(p) - offsetof(type, member)))

/* The unit tests have one thread: the lock only checks that it is not taken twice. */
typedef int vgpu_lock_t;

#define vgpu_lock_init(l)		(*(l) = 0)
#define vgpu_lock(l)			({ if ((*(l))++) abort(); 0UL; })
#define vgpu_unlock(l, flags)		do { (void)(flags); if (--(*(l))) abort(); } while (0)

#ifdef __x86_64__
#define vgpu_simd_begin()		(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))	/* what has these has F16C */
#else
#define vgpu_simd_begin()		false
#endif
#define vgpu_simd_end()			((void)0)

#define vgpu_popcount(v)		__builtin_popcountll(v)
#define vgpu_zalloc(bytes)		calloc(1, (bytes))
#define vgpu_free(p)			free(p)
static inline int vgpu_clamp_written(int n, size_t size)
{
	return n < 0 || !size ? 0 : (size_t)n < size ? n : (int)size - 1;
}
#define vgpu_snprintf(buf, size, ...)	vgpu_clamp_written(snprintf((buf), (size), __VA_ARGS__), (size))

/* Tests that provoke errors on purpose switch the messages off. */
extern bool vgpu_quiet;
#define vgpu_err(fmt, ...)		((void)(vgpu_quiet || fprintf(stderr, "# vgpu: " fmt "\n", ##__VA_ARGS__)))
#define vgpu_info(fmt, ...)		vgpu_err(fmt, ##__VA_ARGS__)

#endif

#endif /* VGPU_OS_H */

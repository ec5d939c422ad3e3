// SPDX-License-Identifier: MIT
/*
 * kernels.cl - programs for the shader cores, compiled by LLVM for gfx90a; what they compute is checked in isa_test.c
 */
#include "arithmetic.h"

/* All work-items of the workgroup, each with what the others have written */
#define MEET() do { \
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
	__builtin_amdgcn_s_barrier(); \
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); \
} while (0)

#define ID()	(__builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x())

enum {
	ARITHMETIC_FIRST = __COUNTER__,
};

#define CASE(expression) case __COUNTER__ - ARITHMETIC_FIRST - 1: r = (expression); break;

/* Three operands for each work-item; what is done with them is uniform */
kernel void arithmetic(global ulong *out, global const ulong *in, uint operation)
{
	uint i = ID();
	ulong a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2], r = 0;

	switch (operation) {
	ARITHMETIC(CASE)
	}
	out[i] = r;
}

kernel void vector_add(global float *out, global const float *x, global const float *y, uint n)
{
	uint i = ID();

	if (i < n)
		out[i] = x[i] + y[i];
}

/* Each workgroup of 256 adds up its part */
kernel void reduce(global uint *sums, global const uint *in)
{
	local uint part[256];
	uint l = __builtin_amdgcn_workitem_id_x(), n;

	part[l] = in[ID()];
	MEET();
	for (n = 128; n; n /= 2) {
		if (l < n)
			part[l] += part[l + n];
		MEET();
	}
	if (!l)
		sums[__builtin_amdgcn_workgroup_id_x()] = part[0];
}

#define TILE	16

/* Square matrices, workgroups of 16 by 16 */
kernel void matrix_multiply(global float *out, global const float *x, global const float *y, uint n)
{
	local float a[TILE][TILE], b[TILE][TILE];
	uint lx = __builtin_amdgcn_workitem_id_x(), ly = __builtin_amdgcn_workitem_id_y(), t, k;
	uint gx = __builtin_amdgcn_workgroup_id_x() * TILE + lx, gy = __builtin_amdgcn_workgroup_id_y() * TILE + ly;
	float sum = 0;

	for (t = 0; t < n; t += TILE) {
		a[ly][lx] = x[gy * n + t + lx];
		b[ly][lx] = y[(t + ly) * n + gx];
		MEET();
		for (k = 0; k < TILE; k++)
			sum += a[ly][k] * b[k][lx];
		MEET();
	}
	out[gy * n + gx] = sum;
}

/* How often each value of a byte occurs */
kernel void histogram(global uint *bins, global const uchar *in, uint n)
{
	local uint mine[256];
	uint l = __builtin_amdgcn_workitem_id_x(), i;

	mine[l] = 0;
	MEET();
	for (i = ID(); i < n; i += 1024)
		__atomic_fetch_add(&mine[in[i]], 1, __ATOMIC_RELAXED);
	MEET();
	__atomic_fetch_add(&bins[l], mine[l], __ATOMIC_RELAXED);
}

/* Work-item numbers in three dimensions, of a grid that does not divide evenly */
kernel void numbers(global uint *out, uint width, uint height)
{
	uint x = __builtin_amdgcn_workgroup_id_x() * 8 + __builtin_amdgcn_workitem_id_x();
	uint y = __builtin_amdgcn_workgroup_id_y() * 4 + __builtin_amdgcn_workitem_id_y();
	uint z = __builtin_amdgcn_workgroup_id_z() * 2 + __builtin_amdgcn_workitem_id_z();

	__atomic_fetch_add(&out[(z * height + y) * width + x], x + y * 100 + z * 10000 + 1, __ATOMIC_RELAXED);
}

/* Through a pointer that may be local, private or global */
static uint __attribute__((noinline)) sum_of(const uint *p, uint n)
{
	uint s = 0;

	while (n--)
		s += p[n];
	return s;
}

kernel void pointers(global uint *out, global const uint *in, uint n)
{
	local uint shared[256];
	uint l = __builtin_amdgcn_workitem_id_x(), own[8], i;

	shared[l] = in[ID()];
	for (i = 0; i < 8; i++)
		own[(i + l) % 8] = l * i;
	MEET();
	out[ID()] = sum_of((const uint *)shared, l & 7) + sum_of(own, n) + sum_of((const uint *)in, n);
}

/* Across lanes: sum of all, and of those before */
kernel void lanes(global uint *out, global const uint *in)
{
	uint i = ID(), v = in[i], lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)), n, other;

	for (n = 1; n < 64; n *= 2) {
		other = (uint)__builtin_amdgcn_ds_bpermute((int)((lane - n) * 4), (int)v);
		if (lane >= n)
			v += other;
	}
	out[2 * i] = v;
	out[2 * i + 1] = (uint)__builtin_amdgcn_readlane((int)v, 63) + (uint)__builtin_amdgcn_readfirstlane((int)in[i]);
}

/* Holds a value in a register and another one in LDS, says so, and waits until a flag is set */
kernel void wait(global uint *out, global const uint *in, global volatile ulong *flag)
{
	local uint shared[256];
	uint i = ID(), l = __builtin_amdgcn_workitem_id_x(), v = in[i];

	shared[l] = ~v;
	__builtin_amdgcn_s_barrier();
	((global volatile uint *)out)[2 * i] = 1;
	while (!*flag)
		__builtin_amdgcn_s_sleep(10);
	out[2 * i] = v;
	out[2 * i + 1] = shared[l];
}

/*
 * Holds values in a register, in an accumulation register, in private memory and in LDS, says so, and waits until a flag is set. Waves below
 * @gone of each workgroup only leave theirs in LDS.
 */
kernel void hold(global uint *out, global const uint *in, global volatile ulong *flag, uint gone)
{
	local uint shared[256];
	uint i = ID(), l = __builtin_amdgcn_workitem_id_x(), v = in[i], acc;
	volatile uint own[4];

	shared[l] = ~v;
	__builtin_amdgcn_s_barrier();
	if (l / 64 < gone)
		return;
	own[l & 3] = v + 1;
	__asm__ volatile("v_accvgpr_write_b32 %0, %1" : "=a"(acc) : "v"(v ^ 0x80000000u));
	((global volatile uint *)out)[4 * i] = 1;
	while (!*flag)
		__builtin_amdgcn_s_sleep(10);
	out[4 * i + 1] = shared[(l + 64 * gone) % 256];
	__asm__ volatile("v_accvgpr_read_b32 %0, %1" : "=v"(out[4 * i + 2]) : "a"(acc));
	out[4 * i + 3] = own[l & 3];
	out[4 * i] = v;
}

/* All waves wait at a barrier for the first one, which waits for the flag */
kernel void meet(global uint *out, global volatile ulong *flag)
{
	local uint shared[1];
	uint l = __builtin_amdgcn_workitem_id_x();

	out[l] = 1;
	if (__builtin_amdgcn_readfirstlane((int)l) == 0) {
		while (!*flag)
			__builtin_amdgcn_s_sleep(10);
		shared[0] = (uint)*flag;
	}
	MEET();
	out[l] = shared[0];
}

/* What no gfx90a knows */
kernel void illegal(global uint *out)
{
	out[0] = 1;
	__asm__ volatile(".long 0xd3ff1234\n.long 0x12345678" ::: "memory");
	out[1] = 1;
}

/* Traps by number */
kernel void trap(global uint *out, uint number)
{
	out[0] = 1;
	if (number == 2)
		__asm__ volatile("s_trap 2" ::: "memory");
	else if (number == 3)
		__asm__ volatile("s_trap 3" ::: "memory");
	else
		__asm__ volatile("s_trap 7" ::: "memory");
	out[1] = 1;
}

/* A counter for each work-item, 16 of them on a page */
kernel void count_once(global uint *counters)
{
	__atomic_fetch_add(&counters[ID() * 64], 1, __ATOMIC_RELAXED);
}

/* The counter of semaphore 5 */
kernel void sema_init(uint value)
{
	__builtin_amdgcn_ds_gws_init(value, 5);
}

/* Each wave adds one to @sum[0], which takes long, while it alone is between two calls; @sum[1] is how many were there together */
kernel void sema_count(volatile global uint *sum)
{
	uint first = __builtin_amdgcn_workitem_id_x() % 64 == 0, seen = 0, inside = 0;

	__builtin_amdgcn_ds_gws_sema_p(5);
	if (first) {
		inside = sum[2]++;
		seen = sum[0];
	}
	__builtin_amdgcn_s_sleep(1);
	if (first) {
		sum[0] = seen + 1;
		sum[1] += inside;
		sum[2]--;
	}
	__builtin_amdgcn_ds_gws_sema_v(5);
}

kernel void store(global uint *where)
{
	*where = 1;
}

/*
 * A trap handler. What it works with begins with a counter for each lane, to which each s_trap adds
 * 40, one by one; behind them are the registers that it finds, and how many lanes have had an exception. It tells the
 * driver of traps and exceptions, halts a wave after a memory violation or an illegal instruction, and lets the others go on.
 */
#define HANDLER_USES "v10", "v11", "v12", "v13"
__asm__(".text\n"
	".globl handler\n"
	".p2align 8\n"
	".type handler,@function\n"
	"handler:\n"
	"	v_mov_b32 v10, 0\n"
	"	v_mov_b32 v12, ttmp0\n"
	"	global_store_dword v10, v12, ttmp[14:15] offset:256\n"
	"	v_mov_b32 v12, ttmp1\n"
	"	global_store_dword v10, v12, ttmp[14:15] offset:260\n"
	"	v_mov_b32 v12, ttmp11\n"
	"	global_store_dword v10, v12, ttmp[14:15] offset:264\n"
	"	v_mov_b32 v12, ttmp13\n"
	"	global_store_dword v10, v12, ttmp[14:15] offset:268\n"
	"	v_mov_b32 v12, ttmp12\n"
	"	global_store_dword v10, v12, ttmp[14:15] offset:272\n"
	"	s_and_b32 ttmp2, ttmp1, 0xff0000\n"
	"	s_cbranch_scc0 exception_\n"
	"	s_movk_i32 ttmp3, 40\n"
	"again_:\n"
	"	v_add_u32 v10, 1, v10\n"
	"	s_sub_u32 ttmp3, ttmp3, 1\n"
	"	s_cmp_lg_u32 ttmp3, 0\n"
	"	s_cbranch_scc1 again_\n"
	"	v_mbcnt_lo_u32_b32 v11, -1, 0\n"
	"	v_mbcnt_hi_u32_b32 v11, -1, v11\n"
	"	v_lshlrev_b32 v11, 2, v11\n"
	"	global_atomic_add v11, v10, ttmp[14:15]\n"
	"	s_add_u32 ttmp0, ttmp0, 4\n"
	"	s_addc_u32 ttmp1, ttmp1, 0\n"
	"	s_mov_b32 ttmp2, m0\n"
	"	s_mov_b32 m0, 0xabc123\n"
	"	s_nop 0\n"
	"	s_sendmsg sendmsg(MSG_INTERRUPT)\n"
	"	s_mov_b32 m0, ttmp2\n"
	"	s_branch leave_\n"
	"exception_:\n"
	"	v_mov_b32 v11, 1\n"
	"	global_atomic_add v10, v11, ttmp[14:15] offset:280\n"
	"	s_getreg_b32 ttmp3, hwreg(HW_REG_TRAPSTS)\n"
	"	v_mov_b32 v12, ttmp3\n"
	"	global_store_dword v10, v12, ttmp[14:15] offset:276\n"
	"	s_mov_b32 ttmp2, 0\n"
	"	s_setreg_b32 hwreg(HW_REG_TRAPSTS, 0, 8), ttmp2\n"
	"	s_setreg_b32 hwreg(HW_REG_TRAPSTS, 12, 3), ttmp2\n"
	"	s_and_b32 ttmp3, ttmp3, 0x900\n"
	"	s_cbranch_scc0 leave_\n"
	"	s_or_b32 ttmp12, ttmp12, 0x2000\n"
	"	s_mov_b32 ttmp2, exec_lo\n"
	"	s_mov_b32 exec_lo, 0x80000000\n"
	"	s_sendmsg sendmsg(10)\n"
	"wait_:\n"
	"	s_nop 7\n"
	"	s_bitcmp0_b32 exec_lo, 31\n"
	"	s_cbranch_scc0 wait_\n"
	"	s_and_b32 ttmp3, exec_lo, 0x3ff\n"
	"	s_mov_b32 exec_lo, ttmp2\n"
	"	s_or_b32 ttmp3, ttmp3, 0x2000\n"
	"	s_mov_b32 ttmp2, m0\n"
	"	s_mov_b32 m0, ttmp3\n"
	"	s_nop 0\n"
	"	s_sendmsg sendmsg(MSG_INTERRUPT)\n"
	"	s_mov_b32 m0, ttmp2\n"
	"leave_:\n"
	"	s_and_b32 ttmp1, ttmp1, 0xffff\n"
	"	s_and_b64 exec, exec, exec\n"
	"	s_and_b64 vcc, vcc, vcc\n"
	"	s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12\n"
	"	s_rfe_b64 ttmp[0:1]\n");

/* Traps between which values and SCC have to stay what they are: 1 for each */
kernel void trapped(global uint *out, uint n)
{
	uint i = ID(), v = i, sum = 0, k, scc;

	for (k = 0; k < n; k++) {
		v = v * 3 + 1;
		__asm__ volatile("s_cmp_eq_u32 0, 0\n\ts_trap 5\n\ts_cselect_b32 %1, 1, 0" : "+v"(v), "=s"(scc) : : "memory", "scc", HANDLER_USES);
		sum += scc;
	}
	out[2 * i] = v;
	out[2 * i + 1] = sum;
}

/* An access of one kind, and whether the wave has gone on */
kernel void touch(global uint *at, uint what, global uint *out)
{
	uint v = 1;

	switch (what) {
	case 0:
		__asm__ volatile("global_load_dword %0, %1, off\n\ts_waitcnt vmcnt(0)" : "=&v"(v) : "v"(at) : "memory", HANDLER_USES);
		break;
	case 1:
		__asm__ volatile("global_store_dword %1, %0, off\n\ts_waitcnt vmcnt(0)" : : "v"(v), "v"(at) : "memory", HANDLER_USES);
		break;
	case 2:
		__asm__ volatile("global_atomic_add %1, %0, off\n\ts_waitcnt vmcnt(0)" : : "v"(v), "v"(at) : "memory", HANDLER_USES);
		break;
	case 3:
		__asm__ volatile("flat_load_dword %0, %1\n\ts_waitcnt vmcnt(0)" : "=&v"(v) : "v"(at) : "memory", HANDLER_USES);
		break;
	default:
		__asm__ volatile(".long 0xd3ff1234\n\t.long 0x12345678" : : : "memory", HANDLER_USES);
	}
	out[0] = 1;
}

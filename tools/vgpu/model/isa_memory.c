// SPDX-License-Identifier: MIT
/*
 * isa_memory.c - vector memory instructions and LDS
 *
 * Accesses happen at once and in order, lane after lane; nothing is left to wait for.
 */
#include "model.h"
#include "isa.h"
#include "isa_lanes.h"

#define MAX_DWORDS		4u
#define MAX_PAGES		4u		/* of the lanes' addresses, for all of them to be loaded at once */

enum atomic {
	SWAP, CMPSWAP, ADD, SUB, SMIN, UMIN, SMAX, UMAX, AND, OR, XOR, INC, DEC, ADD_F32, PK_ADD_F16, ADD_F64, MIN_F64, MAX_F64,
	RSUB, MIN_F32, MAX_F32, MSKOR, CMPSWAP_F,
};

static const struct vgpu_float_mode f16 = { .format = VGPU_F16, .denorm_in = true, .denorm_out = true };
static const struct vgpu_float_mode f32 = { .format = VGPU_F32, .denorm_in = true, .denorm_out = true };
static const struct vgpu_float_mode f64 = { .format = VGPU_F64, .denorm_in = true, .denorm_out = true };

/* What is stored when @old was found */
static u64 combine(enum atomic op, bool wide, u64 old, u64 v, u64 compare)
{
	s64 so = wide ? (s64)old : (s32)old, sv = wide ? (s64)v : (s32)v;

	switch (op) {
	case SWAP:
		return v;
	case CMPSWAP:
		return old == compare ? v : old;
	case CMPSWAP_F:
		return !vgpu_float_compare(wide ? &f64 : &f32, old, compare) ? v : old;
	case ADD:
		return old + v;
	case SUB:
		return old - v;
	case RSUB:
		return v - old;
	case SMIN:
		return so < sv ? old : v;
	case UMIN:
		return old < v ? old : v;
	case SMAX:
		return so > sv ? old : v;
	case UMAX:
		return old > v ? old : v;
	case AND:
		return old & v;
	case OR:
		return old | v;
	case XOR:
		return old ^ v;
	case INC:
		return old >= v ? 0 : old + 1;
	case DEC:
		return !old || old > v ? v : old - 1;
	case MSKOR:
		return (old & ~v) | compare;
	case ADD_F32:
		return vgpu_float_add(&f32, old, v);
	case PK_ADD_F16:
		return vgpu_float_add(&f16, old & 0xffff, v & 0xffff) | vgpu_float_add(&f16, old >> 16, v >> 16) << 16;
	case ADD_F64:
		return vgpu_float_add(&f64, old, v);
	case MIN_F64:
		return vgpu_float_min(&f64, old, v, false);
	case MAX_F64:
		return vgpu_float_min(&f64, old, v, true);
	case MIN_F32:
		return vgpu_float_min(&f32, old, v, false);
	default:
		return vgpu_float_min(&f32, old, v, true);
	}
}

static u64 atomic_at(void *p, enum atomic op, bool wide, u64 v, u64 compare)
{
	u64 old, seen;

	if (!wide) {
		v = (u32)v;
		compare = (u32)compare;
	}
	old = wide ? READ_ONCE(*(u64 *)p) : READ_ONCE(*(u32 *)p);
	for (;;) {
		u64 new = combine(op, wide, old, v, compare);

		seen = wide ? cmpxchg((u64 *)p, old, new) : cmpxchg((u32 *)p, (u32)old, (u32)new);
		if (seen == old)
			return old;
		old = seen;
	}
}

/* ---- where an address leads: memory, LDS, or scratch memory ---- */

#define APERTURE(va)		((va) & 0xffffffff00000000ULL)

/* Lanes' scratch memory lies interleaved, dword by dword */
static u64 swizzle(u64 base, u32 offset, u32 lane)
{
	return base + (u64)(offset / 4) * VGPU_LANES * 4 + lane * 4 + offset % 4;
}

static u64 scratch_base(const struct vgpu_wave *w)
{
	return w->s[VGPU_S_FLAT_SCRATCH] | (u64)w->s[VGPU_S_FLAT_SCRATCH + 1] << 32;
}

static bool copy(struct vgpu_isa *x, struct vgpu_wave *w, u64 va, void *buf, u32 len, bool write)
{
	u64 pair;
	u32 n;
	u8 *p;

	if (x->watches)
		vgpu_isa_watch(x, va, len, write ? VGPU_WATCH_OTHERS : VGPU_WATCH_READS);
	for (; len; len -= n, va += n, buf = (u8 *)buf + n) {
		n = VGPU_PAGE - (va & (VGPU_PAGE - 1));
		n = n < len ? n : len;
		p = vgpu_isa_ptr(x, w, va, n, write ? VGPU_WRITE : VGPU_READ);
		if (!p)
			return false;
		if (n == 4 && !(va & 3)) {		/* others may look at it */
			if (write)
				WRITE_ONCE(*(u32 *)p, *(u32 *)buf);
			else
				*(u32 *)buf = READ_ONCE(*(u32 *)p);
		} else if (n == 8 && !(va & 7)) {
			if (write) {
				memcpy(&pair, buf, 8);
				WRITE_ONCE(*(u64 *)p, pair);
			} else {
				pair = READ_ONCE(*(u64 *)p);
				memcpy(buf, &pair, 8);
			}
		} else if (write) {
			memcpy(p, buf, n);
		} else {
			memcpy(buf, p, n);
		}
	}
	return true;
}

/* Beyond its end LDS reads as zero and takes nothing */
static void copy_lds(struct vgpu_isa *x, u32 offset, void *buf, u32 len, bool write)
{
	if (offset > x->lds_bytes || len > x->lds_bytes - offset) {
		if (!write)
			memset(buf, 0, len);
		return;
	}
	if (write)
		memcpy(x->lds + offset, buf, len);
	else
		memcpy(buf, x->lds + offset, len);
}

static bool copy_scratch(struct vgpu_isa *x, struct vgpu_wave *w, u32 offset, u32 lane, void *buf, u32 len, bool write)
{
	u32 n;

	for (; len; len -= n, offset += n, buf = (u8 *)buf + n) {
		n = 4 - offset % 4;
		n = n < len ? n : len;
		if (!copy(x, w, swizzle(scratch_base(w), offset, lane), buf, n, write))
			return false;
	}
	return true;
}

static bool copy_flat(struct vgpu_isa *x, struct vgpu_wave *w, u64 va, u32 lane, void *buf, u32 len, bool write)
{
	if (APERTURE(va) == x->shared_base) {
		copy_lds(x, (u32)va, buf, len, write);
		return true;
	}
	if (APERTURE(va) == x->private_base)
		return copy_scratch(x, w, (u32)va, lane, buf, len, write);
	return copy(x, w, va, buf, len, write);
}

/* ---- loads and stores: what all encodings have in common ---- */

/**
 * struct access - what an opcode does, by its number in FLAT, GLOBAL, SCRATCH and MUBUF alike
 * @bytes: of each lane
 * @store: it writes
 * @sext: what is read is sign-extended
 * @d16: 16 bits of the register are written, the others stay: 1 the lower, 2 the upper ones
 * @high: the upper half of the register is written to memory
 */
struct access {
	u8 bytes;
	bool store;
	bool sext;
	u8 d16;
	bool high;
};

static const struct access accesses[] = {
	[0x10] = { .bytes = 1 }, [0x11] = { .bytes = 1, .sext = true },
	[0x12] = { .bytes = 2 }, [0x13] = { .bytes = 2, .sext = true },
	[0x14] = { .bytes = 4 }, [0x15] = { .bytes = 8 }, [0x16] = { .bytes = 12 }, [0x17] = { .bytes = 16 },
	[0x18] = { .bytes = 1, .store = true }, [0x19] = { .bytes = 1, .store = true, .high = true },
	[0x1a] = { .bytes = 2, .store = true }, [0x1b] = { .bytes = 2, .store = true, .high = true },
	[0x1c] = { .bytes = 4, .store = true }, [0x1d] = { .bytes = 8, .store = true },
	[0x1e] = { .bytes = 12, .store = true }, [0x1f] = { .bytes = 16, .store = true },
	[0x20] = { .bytes = 1, .d16 = 1 }, [0x21] = { .bytes = 1, .d16 = 2 },
	[0x22] = { .bytes = 1, .sext = true, .d16 = 1 }, [0x23] = { .bytes = 1, .sext = true, .d16 = 2 },
	[0x24] = { .bytes = 2, .d16 = 1 }, [0x25] = { .bytes = 2, .d16 = 2 },
};

static const struct access *access_of(u32 op)
{
	return op < ARRAY_SIZE(accesses) && accesses[op].bytes ? &accesses[op] : NULL;
}

static void get_lane(const struct access *a, const u32 *v, u32 lane, u32 *buf)
{
	u32 n;

	for (n = 0; n < (a->bytes + 3u) / 4; n++)
		buf[n] = v[n * VGPU_LANES + lane];
	if (a->high)
		buf[0] >>= 16;
}

static void put_lane(const struct access *a, u32 *v, u32 lane, const u32 *buf)
{
	u32 n, d = buf[0];

	if (a->bytes < 4) {
		if (a->sext)
			d = a->bytes == 1 ? (u32)(s32)(s8)d : (u32)(s32)(s16)d;
		if (a->d16 == 1)
			d = (v[lane] & 0xffff0000) | (d & 0xffff);
		else if (a->d16)
			d = (v[lane] & 0xffff) | d << 16;
		v[lane] = d;
		return;
	}
	for (n = 0; n < a->bytes / 4u; n++)
		v[n * VGPU_LANES + lane] = buf[n];
}

/*
 * The same with memory that lies in one page, or in LDS. What is aligned is one access for each
 * dword or quadword: others may look at it.
 */
static void move_lane(const struct access *a, void *p, u32 *v, u32 lane)
{
	u32 n, buf[1] = { 0 };
	u64 pair;

	if (a->bytes < 4) {
		if (a->store) {
			get_lane(a, v, lane, buf);
			memcpy(p, buf, a->bytes == 1 ? 1 : 2);
			return;
		}
		if (a->bytes == 1)
			buf[0] = *(u8 *)p;
		else
			memcpy(buf, p, 2);
		put_lane(a, v, lane, buf);
		return;
	}
	v += lane;
	if (a->bytes == 8 && !((uintptr_t)p & 7)) {
		if (a->store) {
			WRITE_ONCE(*(u64 *)p, v[0] | (u64)v[VGPU_LANES] << 32);
			return;
		}
		pair = READ_ONCE(*(u64 *)p);
		v[0] = (u32)pair;
		v[VGPU_LANES] = (u32)(pair >> 32);
		return;
	}
	for (n = 0; n < a->bytes / 4u; n++, p = (u8 *)p + 4, v += VGPU_LANES)
		if ((uintptr_t)p & 3)
			memcpy(a->store ? p : v, a->store ? v : p, 4);
		else if (a->store)
			WRITE_ONCE(*(u32 *)p, *v);
		else
			*v = READ_ONCE(*(u32 *)p);
}

/*
 * A dword of each lane, beside each other from @va on, which is aligned. It ends where there is no
 * memory, and the wave has halted.
 */
static void move_beside(struct vgpu_isa *x, struct vgpu_wave *w, u64 va, u32 *v, bool store)
{
	u32 lane, n, k, *p;

	for (lane = 0; lane < VGPU_LANES; lane += n, va += 4 * n) {
		n = (VGPU_PAGE - (va & (VGPU_PAGE - 1))) / 4;
		n = n < VGPU_LANES - lane ? n : VGPU_LANES - lane;
		p = vgpu_isa_ptr(x, w, va, 4 * n, store ? VGPU_WRITE : VGPU_READ);
		if (!p)
			return;
#ifdef VGPU_HAS_LANES
		if (n == VGPU_LANES && x->simd) {
			vgpu_lanes_copy(store ? p : v, store ? v : p, U32_MAX, 0);
			return;
		}
#endif
		for (k = 0; k < n; k++)
			if (store)
				WRITE_ONCE(p[k], v[lane + k]);
			else
				v[lane + k] = READ_ONCE(p[k]);
	}
}

/* Do all lanes have addresses of dwords beside each other? */
static bool beside(const struct vgpu_isa *x, const struct vgpu_wave *w, const u32 *addr, bool pair)
{
#ifdef VGPU_HAS_LANES
	return x->simd && vgpu_wave_exec(w) == U64_MAX && vgpu_lanes_consecutive(addr, 4) && (!pair || vgpu_lanes_alike(addr + VGPU_LANES));
#else
	(void)x; (void)w; (void)addr; (void)pair;
	return false;
#endif
}

#define ATOMIC_32		0x40u
#define ATOMIC_64		0x60u

/* Atomics of FLAT, GLOBAL and MUBUF. Return: false if there is no such opcode. */
static bool atomic_of(u32 op, enum atomic *atomic, bool *wide)
{
	if (op < ATOMIC_32 || op > ATOMIC_64 + DEC || (op > ATOMIC_32 + MAX_F64 && op < ATOMIC_64))
		return false;
	*atomic = op & 0x1f;
	*wide = op >= ATOMIC_64 || *atomic == ADD_F64 || *atomic == MIN_F64 || *atomic == MAX_F64;
	return true;
}

static u64 lane64(const u32 *v, u32 lane, bool wide)
{
	return v[lane] | (wide ? (u64)v[VGPU_LANES + lane] << 32 : 0);
}

static void set_lane64(u32 *v, u32 lane, u64 value, bool wide)
{
	v[lane] = (u32)value;
	if (wide)
		v[VGPU_LANES + lane] = (u32)(value >> 32);
}

#ifdef VGPU_HAS_LANES

/*
 * What is @offset behind @p in the lanes of @exec, the same for all of them, is there. Return:
 * false: nothing was done, do it lane by lane
 */
static bool move_lanes(const struct access *a, u8 *p, const u32 *offset, u32 *v, u64 exec)
{
	u32 lane;

	if (a->store && exec == U64_MAX && (a->bytes == 8 || a->bytes == 16)) {
		vgpu_lanes_store(v, p, offset, a->bytes / 4);
	} else if (a->store && a->bytes == 4) {
		for (; exec; exec &= exec - 1) {
			lane = (u32)__builtin_ctzll(exec);
			memcpy(p + offset[lane], v + lane, 4);
		}
	} else if (a->store) {
		for (; exec; exec &= exec - 1) {
			lane = (u32)__builtin_ctzll(exec);
			move_lane(a, p + offset[lane], v, lane);
		}
	} else if (a->bytes >= 4) {
		vgpu_lanes_load(v, p, offset, a->bytes / 4, exec);
	} else if (!a->d16) {
		vgpu_lanes_load_part(v, p, offset, a->bytes * 8, a->sext, exec);
	} else {
		return false;
	}
	return true;
}

/*
 * The same in memory, page by page if there are few. Return: false: nothing was done; true also
 * after a fault
 */
static bool access_pages(struct vgpu_isa *x, struct vgpu_wave *w, const struct access *a, u64 base, const u32 *addr, bool pair, u32 *v)
{
	struct {
		u64 lanes;
		u8 *p;
	} pages[MAX_PAGES] VGPU_UNSET;
	u64 exec = vgpu_wave_exec(w), left = exec, va;
	u32 offset[VGPU_LANES] VGPU_UNSET, n = 0, i, lane;

	for (; left; left &= ~pages[n++].lanes) {
		if (n == MAX_PAGES)
			return false;
		pages[n].lanes = vgpu_lanes_in_page(offset, addr, pair, (u32)base, a->bytes, left);
		if (!pages[n].lanes || a->d16)
			return false;
		/* Stores come in the order of lanes: none is left between those of this page. */
		if (a->store && (left & ~pages[n].lanes) && __builtin_ctzll(left & ~pages[n].lanes) < 63 - __builtin_clzll(pages[n].lanes))
			return false;
	}
	for (i = 0; i < n; i++) {
		lane = (u32)__builtin_ctzll(pages[i].lanes);
		va = base + lane64(addr, lane, pair);
		pages[i].p = vgpu_isa_ptr(x, w, va & ~(u64)(VGPU_PAGE - 1), VGPU_PAGE, a->store ? VGPU_WRITE : VGPU_READ);
		if (!pages[i].p) {		/* lanes before that one have theirs */
			exec &= (1ULL << lane) - 1;
			break;
		}
	}
	for (n = i, i = 0; i < n; i++)
		move_lanes(a, pages[i].p, offset, v, pages[i].lanes & exec);
	return true;
}

#endif

/*
 * Loads and stores of memory at @base and each lane's address. They end where there is none, and
 * the wave has halted.
 */
static void access_memory(struct vgpu_isa *x, struct vgpu_wave *w, const struct access *a, u64 base, const u32 *addr, bool pair, u32 *v)
{
	u64 exec = vgpu_wave_exec(w), va = base + lane64(addr, 0, pair), at = 1;
	u32 lane, offset, buf[MAX_DWORDS];
	u8 *page = NULL;

	if (x->watches)
		for (; exec; exec &= exec - 1)
			vgpu_isa_watch(x, base + lane64(addr, (u32)__builtin_ctzll(exec), pair), a->bytes,
				       a->store ? VGPU_WATCH_OTHERS : VGPU_WATCH_READS);
	exec = vgpu_wave_exec(w);
	if (a->bytes == 4 && !(va & 3) && beside(x, w, addr, pair)) {
		move_beside(x, w, va, v, a->store);
		return;
	}
#ifdef VGPU_HAS_LANES
	if (x->simd && access_pages(x, w, a, base, addr, pair, v))
		return;
#endif
	for (; exec; exec &= exec - 1) {
		lane = (u32)__builtin_ctzll(exec);
		va = base + lane64(addr, lane, pair);
		offset = va & (VGPU_PAGE - 1);
		if (offset + a->bytes <= VGPU_PAGE) {
			if (at != va - offset) {
				at = va - offset;
				page = vgpu_isa_ptr(x, w, at, VGPU_PAGE, a->store ? VGPU_WRITE : VGPU_READ);
				if (!page)
					return;
			}
			move_lane(a, page + offset, v, lane);
			continue;
		}
		buf[0] = 0;
		if (a->store)
			get_lane(a, v, lane, buf);
		if (!copy(x, w, va, buf, a->bytes, a->store))
			return;
		if (!a->store)
			put_lane(a, v, lane, buf);
	}
}

/* Memory for an atomic at a flat address; NULL: there is none */
static void *atomic_ptr(struct vgpu_isa *x, struct vgpu_wave *w, u64 va, u32 bytes)
{
	if (va & (bytes - 1)) {
		vgpu_isa_raise(x, w, VGPU_WAVE_MEMORY_VIOLATION, "atomic is not aligned");
		return NULL;
	}
	if (APERTURE(va) == x->shared_base) {
		if ((u32)va <= x->lds_bytes && bytes <= x->lds_bytes - (u32)va)
			return x->lds + (u32)va;
		vgpu_isa_raise(x, w, VGPU_WAVE_APERTURE_VIOLATION, "atomic behind the end of LDS");
		return NULL;
	}
	if (x->watches)
		vgpu_isa_watch(x, va, bytes, VGPU_WATCH_ATOMICS);
	return vgpu_isa_ptr(x, w, va, bytes, VGPU_WRITE);
}

/* What it was before goes to @dst, if that is not NULL. Return: false if there is no memory. */
static bool atomic_lane(struct vgpu_isa *x, struct vgpu_wave *w, u64 va, enum atomic atomic, bool wide, const u32 *data, u32 lane, u32 *dst)
{
	u64 compare = atomic == CMPSWAP ? lane64(data + (wide ? 2 : 1) * VGPU_LANES, lane, wide) : 0, old;
	void *p = atomic_ptr(x, w, va, wide ? 8 : 4);

	if (!p)
		return false;
	old = atomic_at(p, atomic, wide, lane64(data, lane, wide), compare);
	if (dst)
		set_lane64(dst, lane, old, wide);
	return true;
}

static u32 data_base(const struct vgpu_wave *w, bool acc)
{
	return acc ? w->acc : 0;
}

#define SEG_FLAT		0u
#define SEG_SCRATCH		1u
#define SADDR_OFF		0x7fu
#define GLC			0x10000u	/* gfx942: SC0 */
#define SVE			0x2000u		/* gfx942's SCRATCH: there is a vector address */

/* May a lane's flat address lead to LDS or scratch memory? An offset may take it over the edge. */
static bool near_apertures(const struct vgpu_isa *x, u64 exec, const u32 *addr)
{
	u32 shared = (u32)(x->shared_base >> 32), private = (u32)(x->private_base >> 32), high;

	for (; exec; exec &= exec - 1) {
		high = addr[VGPU_LANES + __builtin_ctzll(exec)];
		if (high - shared + 1 <= 2 || high - private + 1 <= 2)
			return true;
	}
	return false;
}

/*
 * Is all memory there that the lanes access? An instruction that is tried again must not have done a part: it may overwrite its own
 * addresses, or count twice.
 */
static bool all_there(struct vgpu_isa *x, struct vgpu_wave *w, u64 base, const u32 *addr, bool pair, u32 bytes, bool write)
{
	u64 exec = vgpu_wave_exec(w), va;

	for (; exec; exec &= exec - 1) {
		va = base + lane64(addr, (u32)__builtin_ctzll(exec), pair);
		if (APERTURE(va) == x->shared_base || APERTURE(va) == x->private_base)
			continue;
		if (!vgpu_isa_ptr(x, w, va, 1, write ? VGPU_WRITE : VGPU_READ) ||
		    !vgpu_isa_ptr(x, w, va + bytes - 1, 1, write ? VGPU_WRITE : VGPU_READ))
			return false;
	}
	return true;
}

static void flat(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i)
{
	u32 word = i->word[0], next = i->word[1], op = word >> 18 & 0x7f, seg = word >> 14 & 3, saddr = next >> 16 & 0x7f;
	s32 offset = seg == SEG_FLAT ? (s32)(word & 0xfff) : (s32)(word << 19) >> 19;
	bool acc = next >> 23 & 1, has_saddr = seg != SEG_FLAT && saddr != SADDR_OFF, wide = false, pair;
	const struct access *a = access_of(op);
	u32 lane, buf[MAX_DWORDS] = { 0 }, count, *addr = NULL, *data = NULL, *dst = NULL;
	u64 exec = vgpu_wave_exec(w), va, base = 0;
	enum atomic atomic = SWAP;

	if ((!a && !atomic_of(op, &atomic, &wide)) || seg == 3 || (!a && seg == SEG_SCRATCH)) {
		vgpu_isa_unknown(x, w);
		return;
	}
	pair = seg != SEG_SCRATCH && !has_saddr;
	if (seg != SEG_SCRATCH || (x->gfx942 ? word & SVE : !has_saddr)) {
		addr = vgpu_isa_vgprs(x, w, next & 0xff, pair ? 2 : 1);
		if (!addr)
			return;
	}
	if (has_saddr)
		base = vgpu_isa_scalar(x, w, i, saddr, seg != SEG_SCRATCH);
	if (a) {
		count = (a->bytes + 3u) / 4;
		if (a->store)
			data = vgpu_isa_vgprs(x, w, data_base(w, acc) + (next >> 8 & 0xff), count);
		else
			dst = vgpu_isa_vgprs(x, w, data_base(w, acc) + (next >> 24), count);
	} else {
		count = (atomic == CMPSWAP ? 2 : 1) * (wide ? 2 : 1);
		data = vgpu_isa_vgprs(x, w, data_base(w, acc) + (next >> 8 & 0xff), count);
		if (word & GLC)
			dst = vgpu_isa_vgprs(x, w, data_base(w, acc) + (next >> 24), wide ? 2 : 1);
	}
	if (w->state != VGPU_WAVE_RUNS)
		return;
	base += (u64)(s64)offset;
	if (x->retry && seg != SEG_SCRATCH && !all_there(x, w, base, addr, pair, a ? a->bytes : wide ? 8 : 4, !a || a->store))
		return;
	if (a && seg != SEG_SCRATCH && (seg != SEG_FLAT || !near_apertures(x, exec, addr))) {
		access_memory(x, w, a, base, addr, pair, a->store ? data : dst);
		return;
	}
	for (lane = 0; lane < VGPU_LANES; lane++) {
		if (!(exec >> lane & 1))
			continue;
		va = base + (addr ? lane64(addr, lane, pair) : 0);
		if (!a) {
			if (!atomic_lane(x, w, va, atomic, wide, data, lane, dst))
				return;
			continue;
		}
		if (a->store)
			get_lane(a, data, lane, buf);
		else
			buf[0] = 0;
		if (!(seg == SEG_SCRATCH ? copy_scratch(x, w, (u32)va, lane, buf, a->bytes, a->store) :
		      copy_flat(x, w, va, lane, buf, a->bytes, a->store)))
			return;
		if (!a->store)
			put_lane(a, dst, lane, buf);
	}
}

/** vgpu_isa_flat() - execute FLAT, GLOBAL or SCRATCH */
void vgpu_isa_flat(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i)
{
	flat(x, w, i);
	if (x->hits)
		vgpu_isa_watched(x, w);
}

/* ---- MUBUF ---- */

#define BUF_WBL2		0x28u
#define BUF_INVL2		0x29u
#define BUF_WBINVL1		0x3eu
#define BUF_WBINVL1_VOL		0x3fu
#define OFFEN			0x1000u
#define IDXEN			0x2000u
#define BUF_GLC			0x4000u

struct buffer {
	u64 base;
	u32 stride;
	u32 records;
	u32 index_stride;
	bool swizzled;
	bool add_tid;
};

/*
 * Where a dword of a lane is. Code gives lanes that are to have none an @offset just below 4 GiB: what is
 * added to it makes it larger, not small.
 *
 * Return: false if it lies outside.
 */
static bool buffer_at(const struct buffer *b, u32 lane, u32 index, u64 offset, u32 soffset, u32 bytes, u64 *va)
{
	if (b->add_tid)
		index += lane;
	if (b->swizzled) {
		*va = b->base + soffset + ((u64)(index / b->index_stride) * b->stride + offset / 4 * 4) * b->index_stride +
		      index % b->index_stride * 4 + offset % 4;
		return true;
	}
	*va = b->base + soffset + (u64)index * b->stride + offset;
	if (!b->stride || b->add_tid)
		return offset + bytes <= b->records;
	return index < b->records && offset + bytes <= b->stride;
}

static void mubuf(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i)
{
	u32 word = i->word[0], next = i->word[1], op = word >> 18 & 0x7f, srsrc = (next >> 16 & 0x1f) * 4, lane, n, soffset;
	u32 buf[MAX_DWORDS] = { 0 }, count, *addr = NULL, *data, index;
	const u32 *r = &w->s[srsrc % VGPU_WAVE_SGPRS];
	const struct access *a = access_of(op);
	bool acc = next >> 23 & 1, wide = false;
	u64 exec = vgpu_wave_exec(w), offset, va;
	enum atomic atomic = SWAP;
	struct buffer b;

	if (op == BUF_WBL2 || op == BUF_INVL2 || op == BUF_WBINVL1 || op == BUF_WBINVL1_VOL)	/* there are no caches */
		return;
	if ((!a && !atomic_of(op, &atomic, &wide)) || (word & 0x10000)) {	/* or to LDS */
		vgpu_isa_unknown(x, w);
		return;
	}
	b.base = r[0] | (u64)(r[1] & 0xffff) << 32;
	b.stride = r[1] >> 16 & 0x3fff;
	b.records = r[2];
	b.swizzled = r[1] >> 31;
	b.index_stride = 8u << (r[3] >> 21 & 3);
	b.add_tid = r[3] >> 23 & 1;
	soffset = (u32)vgpu_isa_scalar(x, w, i, next >> 24, false);
	if (word & (OFFEN | IDXEN))
		addr = vgpu_isa_vgprs(x, w, next & 0xff, (word & OFFEN) && (word & IDXEN) ? 2 : 1);
	count = a ? (a->bytes + 3u) / 4 : (atomic == CMPSWAP ? 2u : 1u) * (wide ? 2 : 1);
	data = vgpu_isa_vgprs(x, w, data_base(w, acc) + (next >> 8 & 0xff), count);
	if (w->state != VGPU_WAVE_RUNS)
		return;
	for (lane = 0; lane < VGPU_LANES; lane++) {
		if (!(exec >> lane & 1))
			continue;
		index = word & IDXEN ? addr[lane] : 0;
		offset = word & 0xfff;
		if (word & OFFEN)
			offset += word & IDXEN ? addr[VGPU_LANES + lane] : addr[lane];
		if (!a) {
			if (buffer_at(&b, lane, index, offset, soffset, wide ? 8 : 4, &va) &&
			    !atomic_lane(x, w, va, atomic, wide, data, lane, word & BUF_GLC ? data : NULL))
				return;
			continue;
		}
		memset(buf, 0, sizeof(buf));
		if (a->store)
			get_lane(a, data, lane, buf);
		for (n = 0; n < count; n++) {		/* interleaved ones are apart */
			u32 bytes = a->bytes < 4 ? a->bytes : 4;

			if (buffer_at(&b, lane, index, offset + 4ULL * n, soffset, bytes, &va) &&
			    !copy(x, w, va, &buf[n], bytes, a->store))
				return;
		}
		if (!a->store)
			put_lane(a, data, lane, buf);
	}
}

/** vgpu_isa_mubuf() - execute MUBUF */
void vgpu_isa_mubuf(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i)
{
	mubuf(x, w, i);
	if (x->hits)
		vgpu_isa_watched(x, w);
}

/* ---- DS ---- */

#define DS_NOP			0x14u
#define DS_SWIZZLE		0x3du
#define DS_PERMUTE		0x3eu
#define DS_BPERMUTE		0x3fu
#define DS_RTN			0x20u
#define DS_64			0x40u
#define DS_ADD_F32		0x15u
#define DS_ADD_F64		0x5cu
#define DS_GDS			0x10000u	/* not LDS but global memory of the device, or its wave sync */
#define DS_GWS_FIRST		0x98u
#define DS_GWS_INIT		0x99u
#define DS_GWS_SEMA_V		0x9au
#define DS_GWS_SEMA_P		0x9cu
#define GWS_COUNTER		0x1fffu
#define GWS_AGAIN_NS		200u

/**
 * struct ds - an LDS instruction that reads or writes
 * @accesses: 2: at two places, whose offsets count accesses
 * @st64: those offsets count 64 accesses
 * @a: the rest
 */
struct ds {
	u8 accesses;
	bool st64;
	struct access a;
};

static const struct ds dss[256] = {
	[0x0d] = { 1, false, { .bytes = 4, .store = true } }, [0x0e] = { 2, false, { .bytes = 4, .store = true } },
	[0x0f] = { 2, true, { .bytes = 4, .store = true } },
	[0x1e] = { 1, false, { .bytes = 1, .store = true } }, [0x1f] = { 1, false, { .bytes = 2, .store = true } },
	[0x36] = { 1, false, { .bytes = 4 } }, [0x37] = { 2, false, { .bytes = 4 } }, [0x38] = { 2, true, { .bytes = 4 } },
	[0x39] = { 1, false, { .bytes = 1, .sext = true } }, [0x3a] = { 1, false, { .bytes = 1 } },
	[0x3b] = { 1, false, { .bytes = 2, .sext = true } }, [0x3c] = { 1, false, { .bytes = 2 } },
	[0x4d] = { 1, false, { .bytes = 8, .store = true } }, [0x4e] = { 2, false, { .bytes = 8, .store = true } },
	[0x4f] = { 2, true, { .bytes = 8, .store = true } },
	[0x54] = { 1, false, { .bytes = 1, .store = true, .high = true } },
	[0x55] = { 1, false, { .bytes = 2, .store = true, .high = true } },
	[0x56] = { 1, false, { .bytes = 1, .d16 = 1 } }, [0x57] = { 1, false, { .bytes = 1, .d16 = 2 } },
	[0x58] = { 1, false, { .bytes = 1, .sext = true, .d16 = 1 } }, [0x59] = { 1, false, { .bytes = 1, .sext = true, .d16 = 2 } },
	[0x5a] = { 1, false, { .bytes = 2, .d16 = 1 } }, [0x5b] = { 1, false, { .bytes = 2, .d16 = 2 } },
	[0x76] = { 1, false, { .bytes = 8 } }, [0x77] = { 2, false, { .bytes = 8 } }, [0x78] = { 2, true, { .bytes = 8 } },
	[0xde] = { 1, false, { .bytes = 12, .store = true } }, [0xdf] = { 1, false, { .bytes = 16, .store = true } },
	[0xfe] = { 1, false, { .bytes = 12 } }, [0xff] = { 1, false, { .bytes = 16 } },
};

/* Atomics by the lower five bits of the opcode */
static bool ds_atomic_of(u32 op, enum atomic *atomic, bool *wide, bool *rtn)
{
	static const u8 kinds[] = { ADD, SUB, RSUB, INC, DEC, SMIN, SMAX, UMIN, UMAX, AND, OR, XOR, MSKOR, SWAP };
	u32 kind = op & 0x1f;

	*rtn = op & DS_RTN;
	*wide = op & DS_64;
	if (op >= 0x80)
		return false;
	if (op == DS_ADD_F64 || op == (DS_ADD_F64 | DS_RTN)) {
		*atomic = ADD_F64;
		return true;
	}
	if (kind == DS_ADD_F32 && !*wide) {
		*atomic = ADD_F32;
		return true;
	}
	if (kind == 13 && !*rtn)			/* a plain write */
		return false;
	if (kind < ARRAY_SIZE(kinds)) {
		*atomic = kinds[kind];
		return true;
	}
	switch (kind) {
	case 16:
		*atomic = CMPSWAP;
		return true;
	case 17:
		*atomic = CMPSWAP_F;
		return true;
	case 18:
		*atomic = *wide ? MIN_F64 : MIN_F32;
		return true;
	case 19:
		*atomic = *wide ? MAX_F64 : MAX_F32;
		return true;
	}
	return false;
}

/* Which lane ds_swizzle_b32 reads */
static u32 swizzled_lane(u32 pattern, u32 lane)
{
	u32 in_half = lane & 31;

	if (pattern & 0x8000)
		return (lane & ~3u) | (pattern >> 2 * (lane & 3) & 3);
	return (lane & 32) | (((in_half & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
}

/* What goes from lane to lane without memory */
static void ds_lanes(struct vgpu_isa *x, struct vgpu_wave *w, u32 op, u32 offset, const u32 *addr, const u32 *data, u32 *dst)
{
	u64 exec = vgpu_wave_exec(w);
	u32 result[VGPU_LANES] = { 0 }, lane, from;

	(void)x;
	for (lane = 0; lane < VGPU_LANES; lane++) {
		if (!(exec >> lane & 1))
			continue;
		switch (op) {
		case DS_SWIZZLE:
			from = swizzled_lane(offset, lane);
			result[lane] = exec >> from & 1 ? addr[from] : 0;
			break;
		case DS_PERMUTE:
			result[(addr[lane] + offset) / 4 % VGPU_LANES] = data[lane];
			break;
		default:
			from = (addr[lane] + offset) / 4 % VGPU_LANES;
			result[lane] = exec >> from & 1 ? data[from] : 0;
		}
	}
	for (lane = 0; lane < VGPU_LANES; lane++)
		if (exec >> lane & 1)
			dst[lane] = result[lane];
}

static void access_lds(struct vgpu_isa *x, struct vgpu_wave *w, const struct ds *ds, u32 offset, const u32 *addr, u32 *const data[2], u32 *dst)
{
	u32 lane, n, from = addr[0], at[2] = { offset, 0 }, *v[2] = { dst, dst };
	const struct access *a = &ds->a;
	u64 exec = vgpu_wave_exec(w);
	u32 buf[MAX_DWORDS], offsets[2][VGPU_LANES] VGPU_UNSET;

	(void)offsets;
	if (ds->accesses == 2) {
		at[0] = (offset & 0xff) * a->bytes * (ds->st64 ? 64 : 1);
		at[1] = (offset >> 8) * a->bytes * (ds->st64 ? 64 : 1);
	}
	for (n = 0; n < ds->accesses; n++)
		v[n] = a->store ? data[n] : dst + n * (a->bytes + 3u) / 4 * VGPU_LANES;
#ifdef VGPU_HAS_LANES
	/*
	 * Stores at two places, lane after lane, are not one place after the other where they meet.
	 */
	if (a->bytes == 4 && !((from | at[0] | at[1]) & 3) && beside(x, w, addr, false) && x->lds_bytes >= 4 * VGPU_LANES &&
	    (u64)from + (at[0] > at[1] ? at[0] : at[1]) <= x->lds_bytes - 4 * VGPU_LANES &&
	    !(a->store && ds->accesses == 2 && at[0] - at[1] + 4 * VGPU_LANES < 8 * VGPU_LANES)) {
		for (n = 0; n < ds->accesses; n++) {
			u32 *p = (u32 *)(x->lds + from + at[n]);

			vgpu_lanes_copy(a->store ? p : v[n], a->store ? v[n] : p, U32_MAX, 0);
		}
		return;
	}
	if (x->simd && (ds->accesses == 1 || !a->store) && vgpu_lanes_in_lds(offsets[0], addr, at[0], a->bytes, x->lds_bytes, exec) &&
	    (ds->accesses == 1 || vgpu_lanes_in_lds(offsets[1], addr, at[1], a->bytes, x->lds_bytes, exec))) {
		for (n = 0; n < ds->accesses && move_lanes(a, x->lds, offsets[n], v[n], exec); n++)
			;
		if (n == ds->accesses)
			return;
	}
#endif
	for (; exec; exec &= exec - 1) {
		lane = (u32)__builtin_ctzll(exec);
		/* what is read may take the place of the address */
		from = addr[lane];
		for (n = 0; n < ds->accesses; n++) {
			u32 place = from + at[n];

			if (place <= x->lds_bytes && a->bytes <= x->lds_bytes - place) {
				move_lane(a, x->lds + place, v[n], lane);
			} else if (!a->store) {
				memset(buf, 0, sizeof(buf));
				put_lane(a, v[n], lane, buf);
			}
		}
	}
}

/*
 * Semaphores of the global wave sync. While one is 0 a wave asks again and again, so it can be saved in front of the instruction like anywhere
 * else. What barriers among them do needs more than a counter, so they are not known.
 */
static void gws(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i, u32 op, u32 offset)
{
	u64 exec = vgpu_wave_exec(w);
	u32 *counter, *value;

	if (!x->gws) {
		vgpu_isa_raise(x, w, VGPU_WAVE_ILLEGAL_INSTRUCTION, "the queue has no global wave sync");
		return;
	}
	counter = &x->gws[((w->s[VGPU_S_M0] >> 16) + offset) % VGPU_GWS];
	switch (op) {
	case DS_GWS_INIT:				/* from the first lane */
		value = vgpu_isa_vgprs(x, w, i->word[1] & 0xff, 1);
		if (w->state == VGPU_WAVE_RUNS)
			*counter = value[exec ? __builtin_ctzll(exec) : 0] & GWS_COUNTER;
		break;
	case DS_GWS_SEMA_V:
		*counter = (*counter + 1) & GWS_COUNTER;
		break;
	case DS_GWS_SEMA_P:
		if (*counter) {
			--*counter;
			break;
		}
		w->pc -= i->bytes;
		w->wake_ns = x->now_ns + GWS_AGAIN_NS;
		break;
	default:
		vgpu_isa_unknown(x, w);
	}
}

/** vgpu_isa_ds() - execute DS */
void vgpu_isa_ds(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i)
{
	u32 word = i->word[0], next = i->word[1], op = word >> 17 & 0xff, offset = word & 0xffff, lane, n;
	bool acc = word >> 25 & 1, wide = false, rtn = false;
	u32 base = data_base(w, acc), dwords, *addr, *data[2] = { NULL, NULL }, *dst = NULL;
	const struct ds *ds = &dss[op];
	u64 exec = vgpu_wave_exec(w);
	enum atomic atomic = SWAP;

	if (op == DS_NOP)
		return;
	if (word & DS_GDS && op >= DS_GWS_FIRST) {
		gws(x, w, i, op, offset);
		return;
	}
	if ((!ds->accesses && (op < DS_SWIZZLE || op > DS_BPERMUTE) && !ds_atomic_of(op, &atomic, &wide, &rtn)) || word & DS_GDS) {
		vgpu_isa_unknown(x, w);
		return;
	}
	addr = vgpu_isa_vgprs(x, w, next & 0xff, 1);
	if (op >= DS_SWIZZLE && op <= DS_BPERMUTE) {
		if (op != DS_SWIZZLE)
			data[0] = vgpu_isa_vgprs(x, w, base + (next >> 8 & 0xff), 1);
		dst = vgpu_isa_vgprs(x, w, base + (next >> 24), 1);
		if (w->state == VGPU_WAVE_RUNS)
			ds_lanes(x, w, op, offset, addr, data[0], dst);
		return;
	}
	if (ds->accesses) {
		dwords = (ds->a.bytes + 3u) / 4;
		for (n = 0; n < ds->accesses && ds->a.store; n++)
			data[n] = vgpu_isa_vgprs(x, w, base + (next >> (n ? 16 : 8) & 0xff), dwords);
		if (!ds->a.store)
			dst = vgpu_isa_vgprs(x, w, base + (next >> 24), dwords * ds->accesses);
	} else {
		dwords = wide ? 2 : 1;
		data[0] = vgpu_isa_vgprs(x, w, base + (next >> 8 & 0xff), dwords);
		if (atomic == CMPSWAP || atomic == CMPSWAP_F || atomic == MSKOR)
			data[1] = vgpu_isa_vgprs(x, w, base + (next >> 16 & 0xff), dwords);
		if (rtn)
			dst = vgpu_isa_vgprs(x, w, base + (next >> 24), dwords);
	}
	if (w->state != VGPU_WAVE_RUNS)
		return;
	if (ds->accesses) {
		access_lds(x, w, ds, offset, addr, data, dst);
		return;
	}
	for (lane = 0; lane < VGPU_LANES; lane++) {
		u32 at = addr[lane] + offset, bytes = wide ? 8 : 4;
		u64 old = 0, v, second;

		if (!(exec >> lane & 1))
			continue;
		v = lane64(data[0], lane, wide);
		second = data[1] ? lane64(data[1], lane, wide) : 0;
		/* the comparand comes first here, the value second */
		if (!(at & (bytes - 1)) && at <= x->lds_bytes && bytes <= x->lds_bytes - at)
			old = atomic == CMPSWAP || atomic == CMPSWAP_F ? atomic_at(x->lds + at, atomic, wide, second, v) :
			      atomic_at(x->lds + at, atomic, wide, v, second);
		if (dst)
			set_lane64(dst, lane, old, wide);
	}
}

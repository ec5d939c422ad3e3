// SPDX-License-Identifier: MIT
/*
 * discovery.c - the IP discovery table: which blocks of which version a device has, and where their
 * registers are
 *
 * The driver reads it from the last 64 KiB of VRAM before it knows anything else. The layout is
 * that of its include/discovery.h.
 */
#include "model.h"

#define BINARY_SIGNATURE	0x28211407u
#define TABLE_SIGNATURE		0x53445049u	/* "IPDS" */
#define GC_SIGNATURE		0x4347u		/* "GC" */
#define HARVEST_SIGNATURE	0x56524148u	/* "HARV" */
#define BINARY_HEADER		60		/* with six tables of 8 bytes */
#define BINARY_CHECKSUM		8
#define BINARY_SIZE		10
#define BINARY_TABLES		12
#define TABLE_HEADER		80		/* with places for 16 dies */
#define TABLE_VERSION		3
#define HARVEST_BYTES		136
#define PLACES_FOR_ENGINES	4		/* of SDMA, on each I/O die; some may be empty */

enum table { TABLE_IP, TABLE_GC, TABLE_HARVEST };

/* Blocks by hardware id */
enum {
	HW_MP1		= 1,
	HW_THM		= 3,
	HW_SMUIO	= 4,
	HW_GC		= 11,
	HW_VCN		= 12,
	HW_MMHUB	= 34,
	HW_ATHUB	= 35,
	HW_OSSSYS	= 40,
	HW_HDP		= 41,
	HW_SDMA0	= 42,
	HW_SDMA1	= 43,
	HW_DF		= 46,
	HW_LSDMA	= 91,
	HW_NBIF		= 108,
	HW_MP0		= 255,
};

/* How often a block is there */
enum each { ONCE, EACH_XCC, EACH_AID, EACH_ENGINE };

#define MAX_BASES		9

struct block {
	u16 hw;
	enum each each;
	u8 major, minor, revision;
	u32 base[MAX_BASES];		/* of the first instance, 0 behind the first one: end; instances are a stride apart */
};

static const struct block blocks_gfx942[] = {
	{ HW_NBIF, EACH_AID, 7, 9, 0, { 0x0, 0x14, VGPU_BASE_NBIO2, 0x10400, 0x1a000, 0x11c00, 0x1c000, 0x1d000, 0xb300 } },
	{ HW_GC, EACH_XCC, 9, 4, 3, { VGPU_BASE_GC0, VGPU_BASE_GC1 } },
	{ HW_SDMA0, EACH_ENGINE, 4, 4, 2, { 0 } },
	{ HW_MMHUB, EACH_AID, 1, 8, 0, { VGPU_BASE_MMHUB_942 } },
	{ HW_ATHUB, ONCE, 1, 8, 0, { VGPU_BASE_ATHUB } },
	{ HW_OSSSYS, ONCE, 4, 4, 2, { VGPU_BASE_OSSSYS } },
	{ HW_HDP, ONCE, 4, 4, 2, { 0x0f20 } },
	{ HW_DF, ONCE, 4, 6, 2, { 0x7000 } },
	/*
	 * Really 13.0.6, but that has RAS: without, amdgpu_mca_reset() follows lists that are not
	 * set up.
	 */
	{ HW_MP0, ONCE, 13, 0, 2, { 0x16000 } },
	{ HW_MP1, ONCE, 13, 0, 6, { 0x16000 } },
	{ HW_THM, ONCE, 13, 0, 6, { 0x16600 } },
	{ HW_SMUIO, ONCE, 13, 0, 3, { 0x16800, 0x16a00 } },
	{ HW_VCN, EACH_AID, 4, 0, 3, { 0x7800, 0x7e00 } },
};

/*
 * Bases are those that the driver's sienna_cichlid_ip_offset.h has for the device before it. Beyond
 * the BAR the driver goes by PCIE_INDEX2. Engines of SDMA are a part of GC.
 */
static const struct block blocks_gfx1100[] = {
	{ HW_NBIF, ONCE, 4, 3, 0, { 0x0, 0x14, VGPU_BASE_NBIO2, 0x10400, 0x241b000, 0x4040000 } },
	{ HW_GC, EACH_XCC, 11, 0, 0, { 0x1260, 0xa000, 0x1c000, 0x2402c00 } },
	{ HW_SDMA0, ONCE, 6, 0, 0, { 0x1260, 0xa000, 0x1c000, 0x2402c00 } },
	{ HW_SDMA1, ONCE, 6, 0, 0, { 0x1260, 0xa000, 0x1c000, 0x2402c00 } },
	{ HW_MMHUB, ONCE, 3, 0, 0, { 0x1a000, 0x2408800 } },
	{ HW_ATHUB, ONCE, 3, 0, 0, { 0xc00, 0x2408c00 } },
	{ HW_OSSSYS, ONCE, 6, 0, 0, { VGPU_BASE_OSSSYS, 0x240a000 } },
	{ HW_HDP, ONCE, 6, 0, 0, { 0xf20, 0x240a400 } },
	{ HW_LSDMA, ONCE, 6, 0, 0, { 0x45000 } },
	{ HW_DF, ONCE, 4, 3, 0, { 0x7000, 0x240b800 } },
	{ HW_MP0, ONCE, 13, 0, 0, { 0x16000, 0xdc0000, 0xe00000, 0xe40000, 0x243fc00 } },
	{ HW_MP1, ONCE, 13, 0, 0, { 0x16000, 0xdc0000, 0xe00000, 0xe40000, 0x243fc00 } },
	{ HW_THM, ONCE, 13, 0, 0, { 0x16600, 0x2400c00 } },
	{ HW_SMUIO, ONCE, 13, 0, 6, { 0x16800, 0x16a00, 0x440000, 0x2401000 } },
	{ HW_VCN, ONCE, 4, 0, 0, { 0x7800, 0x7e00, 0x2403000 } },
};

/* The table under construction */
struct writer {
	u8 *at;
	u32 pos;
	u32 size;
	bool full;
};

static void discovery_put(struct writer *w, u32 value, u32 bytes)
{
	for (; bytes; bytes--, value >>= 8) {
		w->full |= w->pos >= w->size;
		if (!w->full)
			w->at[w->pos++] = (u8)value;
	}
}

static void discovery_put_at(struct writer *w, u32 pos, u32 value, u32 bytes)
{
	struct writer there = { .at = w->at, .pos = pos, .size = w->size };

	discovery_put(&there, value, bytes);
	w->full |= there.full;
}

static u16 discovery_checksum(const struct writer *w, u32 from, u32 to)
{
	u16 sum = 0;

	for (; from < to && from < w->size; from++)
		sum += w->at[from];
	return sum;
}

/*
 * Enters a table, which ends here, in the list at the beginning. @checked: bytes of it that the
 * checksum is of
 */
static void discovery_finish_table(struct writer *w, enum table table, u32 start, u32 checked)
{
	discovery_put_at(w, BINARY_TABLES + 8 * table, start, 2);
	discovery_put_at(w, BINARY_TABLES + 8 * table + 2,
			 discovery_checksum(w, start, start + checked), 2);
	discovery_put_at(w, BINARY_TABLES + 8 * table + 4, w->pos - start, 2);
}

static u32 discovery_instances(const struct vgpu_config *c, enum each each)
{
	u32 aids = vgpu_aids(c);

	return each == EACH_XCC ? c->xccs : each == EACH_AID ? aids : each == EACH_ENGINE ? aids * c->layout->sdma_per_aid : 1;
}

static void discovery_put_instance(struct writer *w, const struct vgpu_config *c,
				   const struct block *b, u32 instance)
{
	u32 n = 1, i, base = 0, number = instance, per_aid = c->layout->sdma_per_aid;

	while (n < MAX_BASES && b->base[n])
		n++;
	if (b->each == EACH_XCC) {
		number = c->layout->xcc_place[instance];
		base = vgpu_xcc_regs(c, instance);
	} else if (b->each == EACH_AID) {
		base = vgpu_aid_regs(c, instance);
	} else if (b->each == EACH_ENGINE) {
		number = instance / per_aid * PLACES_FOR_ENGINES + c->layout->sdma_place[instance / per_aid] + instance % per_aid;
		base = c->layout->sdma[instance / per_aid][instance % per_aid];
	}
	discovery_put(w, b->hw, 2);
	discovery_put(w, number, 1);
	discovery_put(w, n, 1);
	discovery_put(w, b->major, 1);
	discovery_put(w, b->minor, 1);
	discovery_put(w, b->revision, 1);
	discovery_put(w, 0, 1);
	for (i = 0; i < n; i++)
		discovery_put(w, base + b->base[i], 4);
}

static void discovery_put_blocks(struct writer *w, const struct vgpu_config *c, const struct block *blocks, u32 count)
{
	u32 start = w->pos, die = start + TABLE_HEADER, n = 0, b, i;

	discovery_put(w, TABLE_SIGNATURE, 4);
	discovery_put(w, TABLE_VERSION, 2);
	discovery_put(w, 0, 2);				/* size: below */
	discovery_put(w, 0, 4);
	discovery_put(w, 1, 2);				/* dies */
	discovery_put(w, 0, 2);
	discovery_put(w, die, 2);
	for (; w->pos < die && !w->full; )
		discovery_put(w, 0, 1);
	discovery_put(w, 0, 2);				/* this is die 0 */
	discovery_put(w, 0, 2);				/* blocks: below */
	for (b = 0; b < count; b++)
		for (i = 0; i < discovery_instances(c, blocks[b].each); i++, n++)
			discovery_put_instance(w, c, &blocks[b], i);
	discovery_put_at(w, die + 2, n, 2);
	discovery_put_at(w, start + 6, w->pos - start, 2);
	discovery_finish_table(w, TABLE_IP, start, w->pos - start);
}

static void discovery_put_gc(struct writer *w, u32 major, u32 minor, const u32 *info, u32 count)
{
	u32 start = w->pos, i, bytes = 12 + count * sizeof(*info);

	discovery_put(w, GC_SIGNATURE, 4);
	discovery_put(w, major, 2);
	discovery_put(w, minor, 2);
	discovery_put(w, bytes, 4);
	for (i = 0; i < count; i++)
		discovery_put(w, info[i], 4);
	discovery_finish_table(w, TABLE_GC, start, bytes);
}

/*
 * What one XCC is made of; fuses say which of its CUs are missing. Caches are those of CDNA 3: 32 KiB
 * of a CU; 64 KiB for code and 16 KiB for scalars of two CUs; 4096 KiB of an XCC. ROCr ends if there
 * are none.
 */
static void discovery_put_gfx942(struct writer *w, const struct vgpu_config *c)
{
	const u32 info[] = {
		c->se, (c->cus + c->se - 1) / c->se, 1, 4, 16, 512, 32, 32, 16, 0, 1, 64, c->waves_per_simd, 32, 64, 1, 4,
		(c->cus + c->se - 1) / c->se, 32, 16, 2, 64, 16, 4096,
	};

	discovery_put_blocks(w, c, blocks_gfx942, ARRAY_SIZE(blocks_gfx942));
	discovery_put_gc(w, 2, 1, info, ARRAY_SIZE(info));
}

/*
 * The driver counts pairs of CUs, of which each CU has two SIMDs here: as many wave slots as in the
 * model's four. Caches are those of RDNA 3: 32 KiB of a CU; 32 KiB for code and 16 KiB for scalars
 * of a pair; 256 KiB of an engine; 6144 KiB. Without their numbers amdkfd counts them for ever.
 */
static void discovery_put_gfx1100(struct writer *w, const struct vgpu_config *c)
{
	u32 pairs = (c->cus / 2 + c->se - 1) / c->se;
	const u32 info[] = {
		c->se, pairs, 0, 4, 24, 1536, 32, 32, 16, 0, 1, 32, c->waves_per_simd * c->simds_per_cu / 2, 32, 64, 1, 1,
		4, 4, 2 * pairs, 24, 2 * pairs * c->se, 2, 32, 1, 32, 16, 1, 256, 6144,
	};

	discovery_put_blocks(w, c, blocks_gfx1100, ARRAY_SIZE(blocks_gfx1100));
	discovery_put_gc(w, 1, 2, info, ARRAY_SIZE(info));
}

static void discovery_put_harvest(struct writer *w)
{
	u32 start = w->pos;

	discovery_put(w, HARVEST_SIGNATURE, 4);
	discovery_put(w, 0, 4);
	while (w->pos < start + HARVEST_BYTES && !w->full)
		discovery_put(w, 0, 4);
	discovery_finish_table(w, TABLE_HARVEST, start, HARVEST_BYTES);
}

/**
 * vgpu_discovery_build() - write the discovery table of a device
 * @config: the device; one whose ASIC has such a table
 * @table: where to
 * @size: bytes of room
 *
 * Return: its size, 0 if it does not fit.
 */
u32 vgpu_discovery_build(const struct vgpu_config *config, u8 *table, u32 size)
{
	struct writer w = { .at = table, .size = size };

	memset(table, 0, size);
	discovery_put(&w, BINARY_SIGNATURE, 4);
	discovery_put(&w, 1, 2);
	while (w.pos < BINARY_HEADER && !w.full)
		discovery_put(&w, 0, 2);
	if (config->asic->mes)
		discovery_put_gfx1100(&w, config);
	else
		discovery_put_gfx942(&w, config);
	discovery_put_harvest(&w);
	discovery_put_at(&w, BINARY_SIZE, w.pos, 2);
	discovery_put_at(&w, BINARY_CHECKSUM, discovery_checksum(&w, BINARY_CHECKSUM + 2, w.pos),
			 2);
	return w.full ? 0 : w.pos;
}

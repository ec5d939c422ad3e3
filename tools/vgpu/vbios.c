// SPDX-License-Identifier: MIT
/*
 * vbios.c - the VBIOS of the virtual GPU, generated
 *
 * An ATOM image with the tables that amdgpu reads on this ASIC without SMU and display:
 * firmwareinfo (clocks, scratch registers) and gfx_info (shader engines and CUs). The scratch
 * registers say that its code already ran; the one piece that the driver runs after a reset,
 * ASIC_Init, ends at once.
 */
#include <linux/string.h>

#include "compat.h"
#include "vgpu.h"
#include "model/regs.h"

/* Fixed places of an ATOM image */
#define ROM_SIGNATURE		0x00
#define ROM_BLOCKS		0x02	/* size in 512 bytes */
#define ROM_ATI_MAGIC		0x30
#define ROM_HEADER_POINTER	0x48
#define ROM_DATE		0x50
#define ROM_PART_NUMBER		0x80
#define ROM_VERSION		0xa0

/* Ours */
#define ROM_HEADER		0x100
#define ROM_COMMAND_TABLE	0x200
#define ROM_DATA_TABLE		0x300
#define ROM_FIRMWARE_INFO	0x400
#define ROM_GFX_INFO		0x500
#define ROM_IIO			0x600
#define ROM_ASIC_INIT		0x700

/* Positions in the master tables */
#define COMMAND_ASIC_INIT	0
#define ATOM_END_OF_TABLE	0x5b	/* opcode */
#define DATA_FIRMWARE_INFO	4
#define DATA_GFX_INFO		14
#define DATA_INDIRECT_IO	23
#define DATA_TABLES		35

static void table_header(u8 *table, u16 size, u8 format, u8 content)
{
	put_unaligned_le16(size, table);
	table[2] = format;
	table[3] = content;
}

static void data_table(u8 *rom, u32 position, u16 offset)
{
	put_unaligned_le16(offset, rom + ROM_DATA_TABLE + 4 + 2 * position);
}

static void firmware_info(u8 *t, u32 sclk_mhz)
{
	table_header(t, 0x60, 3, 3);
	put_unaligned_le32(0x01000000, t + 4);			/* firmware_revision */
	put_unaligned_le32(sclk_mhz * 100, t + 8);		/* bootup_sclk_in10khz */
	put_unaligned_le32(160000, t + 12);			/* bootup_mclk_in10khz */
	put_unaligned_le32(VGPU_BIOS_SCRATCH_0, t + 24);	/* bios_scratch_reg_startaddr */
}

static void gfx_info(u8 *t, u32 se, u32 cus)
{
	table_header(t, 0x64, 2, 7);
	t[4] = 9;					/* gfxip_min_ver */
	t[5] = 9;					/* gfxip_max_ver */
	t[6] = se;					/* max_shader_engines */
	t[8] = (cus + se - 1) / se;				/* max_cu_per_sh */
	t[9] = 1;					/* max_sh_per_se */
	t[10] = 4;					/* max_backends_per_se */
	t[11] = 16;					/* max_texture_channel_caches */
	t[44] = (cus + se - 1) / se;				/* active_cu_per_sh */
	t[45] = 4;					/* active_rb_per_se */
	put_unaligned_le16(512, t + 48);		/* gc_num_gprs */
	put_unaligned_le16(64, t + 54);			/* gc_wave_size */
	put_unaligned_le16(8, t + 56);			/* gc_max_waves_per_simd */
	put_unaligned_le16(64, t + 58);			/* gc_lds_size, KiB */
	t[63] = 32;					/* gc_max_scratch_slots_per_cu */
}

/**
 * vgpu_vbios_build() - write the image
 * @rom: where
 * @size: its size, at least 4 KiB
 * @c: the device; registers say which of its shader engines have a compute unit less than the
 *	others
 */
void vgpu_vbios_build(u8 *rom, u32 size, const struct vgpu_config *c)
{
	memset(rom, 0, size);
	put_unaligned_le16(0xaa55, rom + ROM_SIGNATURE);
	rom[ROM_BLOCKS] = size / 512;
	memcpy(rom + ROM_ATI_MAGIC, " 761295520", 10);
	put_unaligned_le16(ROM_HEADER, rom + ROM_HEADER_POINTER);
	memcpy(rom + ROM_DATE, "01/01/26 00:00", 14);
	memcpy(rom + ROM_PART_NUMBER, c->asic->bios_part, strlen(c->asic->bios_part));
	memcpy(rom + ROM_VERSION, "ATOMBIOSBK-AMD VER000.000.000.001.000000", 40);

	table_header(rom + ROM_HEADER, 0x28, 2, 2);
	memcpy(rom + ROM_HEADER + 4, "ATOM", 4);
	put_unaligned_le16(ROM_COMMAND_TABLE, rom + ROM_HEADER + 0x1e);
	put_unaligned_le16(ROM_DATA_TABLE, rom + ROM_HEADER + 0x20);
	table_header(rom + ROM_COMMAND_TABLE, 0xa4, 2, 1);
	put_unaligned_le16(ROM_ASIC_INIT, rom + ROM_COMMAND_TABLE + 4 + 2 * COMMAND_ASIC_INIT);
	table_header(rom + ROM_ASIC_INIT, 8, 2, 1);
	rom[ROM_ASIC_INIT + 6] = ATOM_END_OF_TABLE;
	table_header(rom + ROM_DATA_TABLE, 4 + 2 * DATA_TABLES, 2, 1);
	data_table(rom, DATA_FIRMWARE_INFO, ROM_FIRMWARE_INFO);
	data_table(rom, DATA_GFX_INFO, ROM_GFX_INFO);
	data_table(rom, DATA_INDIRECT_IO, ROM_IIO);
	firmware_info(rom + ROM_FIRMWARE_INFO, c->sclk_mhz);
	gfx_info(rom + ROM_GFX_INFO, c->se, c->cus);
	table_header(rom + ROM_IIO, 8, 1, 1);
}

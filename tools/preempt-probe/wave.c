// SPDX-License-Identifier: MIT
/* wave.c - the probe's kernel in words of machine code (wave.s), and its descriptor as LLVM's documentation has it */
#include <string.h>

#include "wave.h"

#define CODE_AT			256u	/* from the descriptor on */
#define RSRC1_FLOAT_MODE	(0xcu << 16)	/* denormals of 16 and 64 bits, as compilers set it */
#define RSRC1_DX10_CLAMP	(1u << 21)
#define RSRC1_IEEE_MODE		(1u << 23)
#define RSRC1_32_SGPRS		(4u << 6)
#define RSRC2_USER_SGPRS	(2u << 1)	/* address of the arguments */
#define RSRC2_WORKGROUP_ID_X	(1u << 7)
#define RSRC3_ACCUM_OFFSET	1u		/* 8 ordinary VGPRs, the rest are accumulation registers */
#define USES_KERNARG_POINTER	(1u << 3)

struct descriptor {
	uint32_t lds_bytes;
	uint32_t scratch_bytes;
	uint32_t argument_bytes;
	uint32_t reserved0;
	uint64_t code_at;
	uint32_t reserved1[5];
	uint32_t rsrc3;
	uint32_t rsrc1;
	uint32_t rsrc2;
	uint16_t properties;
	uint16_t preload;
	uint32_t reserved2;
};

_Static_assert(sizeof(struct descriptor) == 64, "a kernel descriptor has 64 bytes");
_Static_assert(sizeof(struct wave_arguments) == 32, "wave.s loads 32 bytes of arguments");
_Static_assert(offsetof(struct wave_notes, gap) == 32, "wave.s leaves 32 bytes before the gaps");

const uint32_t wave_code[] = {
	0xc00a0100, 0x00000000, 0xc00a0200, 0x00000010, 0xbefe0181, 0xbf8cc07f, 0x920c0902, 0x960d0902,
	0x80040c04, 0x82050d05, 0x7e000204, 0x7e020205, 0xbe960080, 0xc0940380, 0x00000000, 0xbf8cc07f,
	0xbe98010e, 0x8010060e, 0x8211070f, 0xbf8e0010, 0xc0940480, 0x00000000, 0xbf8cc07f, 0x80940e12,
	0xbf080814, 0xbf84000e, 0xbf06800a, 0xbf85000d, 0x808a810a, 0x80049004, 0x82058005, 0x7e040204,
	0x7e060205, 0x7e08020e, 0x7e0a020f, 0x7e0c0212, 0x7e0e0213, 0xdc7c8010, 0x007f0402, 0xbf820001,
	0x84961416, 0xbe8e0112, 0x80941012, 0x82941113, 0xbf85ffe6, 0x7e080218, 0x7e0a0219, 0x7e0c0212,
	0x7e0e0213, 0xdc7c8000, 0x007f0400, 0x7e080216, 0x7e0a020a, 0xdc748010, 0x007f0400, 0xbf8c0f70,
	0xbf810000,
};

const size_t wave_code_bytes = sizeof(wave_code);

bool wave_runs_on(unsigned int gfx_target_version)
{
	/* MI200, MI300, MI350 */
	return gfx_target_version == 90010 || gfx_target_version == 90402 || gfx_target_version == 90500;
}

void wave_write(void *memory, unsigned int vgprs)
{
	struct descriptor d = {
		.argument_bytes = sizeof(struct wave_arguments),
		.code_at = CODE_AT,
		.rsrc1 = (vgprs / WAVE_VGPR_UNIT - 1) | RSRC1_32_SGPRS | RSRC1_FLOAT_MODE | RSRC1_DX10_CLAMP | RSRC1_IEEE_MODE,
		.rsrc2 = RSRC2_USER_SGPRS | RSRC2_WORKGROUP_ID_X,
		.rsrc3 = RSRC3_ACCUM_OFFSET,
		.properties = USES_KERNARG_POINTER,
	};

	memset(memory, 0, WAVE_CODE_BYTES);
	memcpy(memory, &d, sizeof(d));
	memcpy((uint8_t *)memory + CODE_AT, wave_code, sizeof(wave_code));
}

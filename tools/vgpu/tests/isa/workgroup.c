// SPDX-License-Identifier: MIT
/* workgroup.c - workgroups on the shader cores, see workgroup.h */
#include "../../model/model.h"
#include "workgroup.h"

#define SLICE	50u	/* instructions at most: none like another */

u64 random64(void)
{
	static u64 state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

bool workgroup_run(const struct vgpu_isa *machine, const struct vgpu_kernel_code *code, const struct vgpu_isa_launch *launch,
		   const u32 wg[3], u32 lds_bytes)
{
	u32 items = launch->workgroup[0] * launch->workgroup[1] * launch->workgroup[2], waves = (items + 63) / 64, i, running;
	u32 vgprs = vgpu_isa_vgpr_count(code);
	struct vgpu_wave w[VGPU_MAX_WG_WAVES] = { 0 };
	u8 *lds = calloc(1, lds_bytes + 1);
	bool good = true;

	for (i = 0; i < waves; i++) {
		w[i].v = calloc(vgprs * VGPU_LANES, 4);
		vgpu_isa_start(&w[i], code, launch, wg, i, i * launch->scratch_bytes * VGPU_LANES);
	}
	do {
		for (i = 0, running = 0; i < waves; i++) {
			struct vgpu_isa x = *machine;

			x.lds = lds;
			x.lds_bytes = lds_bytes;
			vgpu_isa_run(&x, &w[i], 1 + (u32)(random64() % SLICE));
			running += w[i].state == VGPU_WAVE_RUNS || w[i].state == VGPU_WAVE_BARRIER;
			if (w[i].state == VGPU_WAVE_HALTED) {
				printf("# wave %u at %#llx of its code: %s %#x %#x\n", i, w[i].pc - code->entry, x.why, x.words[0], x.words[1]);
				good = false;
				running = 0;
				break;
			}
		}
		vgpu_isa_barrier(w, waves);
	} while (running);
	for (i = 0; i < waves; i++)
		free(w[i].v);
	free(lds);
	return good;
}

/* SPDX-License-Identifier: MIT */
/*
 * rocr.h - a program on Debian's unmodified ROCr: its agents, memory and dispatches
 *
 * Include after fixture.h. Only the kernels that it dispatches are model kernels.
 */
#ifndef ROCR_H
#define ROCR_H

#include <hsa/hsa.h>

static inline hsa_status_t find_gpu_agent(hsa_agent_t agent, void *data)
{
	hsa_device_type_t type;

	if (!hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) && type == HSA_DEVICE_TYPE_GPU) {
		*(hsa_agent_t *)data = agent;
		return HSA_STATUS_INFO_BREAK;
	}
	return HSA_STATUS_SUCCESS;
}

static inline hsa_status_t find_cpu_agent(hsa_agent_t agent, void *data)
{
	hsa_device_type_t type;

	if (!hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) && type == HSA_DEVICE_TYPE_CPU) {
		*(hsa_agent_t *)data = agent;
		return HSA_STATUS_INFO_BREAK;
	}
	return HSA_STATUS_SUCCESS;
}

/* System memory that CPU and GPU see coherently. */
static inline hsa_status_t find_shared_region(hsa_region_t region, void *data)
{
	hsa_region_global_flag_t flags;
	hsa_region_segment_t segment;
	bool allowed = false;

	hsa_region_get_info(region, HSA_REGION_INFO_SEGMENT, &segment);
	hsa_region_get_info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags);
	hsa_region_get_info(region, HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED, &allowed);
	if (segment != HSA_REGION_SEGMENT_GLOBAL || !allowed || !(flags & HSA_REGION_GLOBAL_FLAG_FINE_GRAINED))
		return HSA_STATUS_SUCCESS;
	*(hsa_region_t *)data = region;
	return HSA_STATUS_INFO_BREAK;
}

/* What kfd_work_submit() does, in ROCr's terms. */
static inline void dispatch(hsa_queue_t *queue, struct kfd_work *w, hsa_signal_t done)
{
	uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
	hsa_kernel_dispatch_packet_t *packet = queue->base_address;
	uint16_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;

	packet += index % queue->size;
	memset((uint8_t *)packet + 4, 0, sizeof(*packet) - 4);
	packet->workgroup_size_x = VGPU_WAVE_LANES;
	packet->workgroup_size_y = 1;
	packet->workgroup_size_z = 1;
	packet->grid_size_x = w->waves * VGPU_WAVE_LANES;
	packet->grid_size_y = 1;
	packet->grid_size_z = 1;
	packet->kernel_object = (uintptr_t)w->kernel;
	packet->kernarg_address = &w->args[w->submitted];
	packet->completion_signal = done;
	w->submitted++;
	__atomic_store_n((uint32_t *)packet, header | 1u << 16 /* one dimension */, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

/* In a fixture's setup: a ROCr that is older than the GPU finds no agent. */
#define SKIP_WITHOUT_ROCR() do { \
	if (kfd_gfx_target_version() == KFD_GFX942) \
		SKIP(return, "Debian's ROCr 5.2.3 does not know gfx942"); \
} while (0)

#endif /* ROCR_H */

// SPDX-License-Identifier: MIT
/*
 * waves.c - real waves, that is machine code, on the device: what is saved of them, and what KFD says of it
 *
 * Needs the code object of tools/testing/vgpu/tests/isa/kernels.cl for the device beside the program. Runs on a real gfx90a, too.
 */
#include <sys/ioctl.h>

#include <linux/kfd_ioctl.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "../../vgpu/tests/isa/object.h"

#define GFX90A		90010u
#define GFX942		90402u
#define WORKGROUP	256u
#define WAVE		64u
#define ITEMS		(2 * WORKGROUP)
#define WAVES		(ITEMS / WAVE)
#define LDS_BYTES	1024u		/* of the kernel "wait" */
#define SGPR_BYTES	512u
#define HWREG_BYTES	128u
#define RECORD_BYTES	4096u		/* what else may be in the save area: of the dispatch */
#define MARK(i)		(0x5ca1ab00u + (i))

/* Arguments of "wait", and what they point to */
struct memory {
	uint64_t out, in, flag;
	uint64_t set;
	struct kfd_signal done;
	uint32_t values[ITEMS];
	volatile uint32_t results[2 * ITEMS];
};

static bool waits(volatile uint32_t *results)
{
	uint32_t i;

	for (i = 0; i < ITEMS; i++)
		if (results[2 * i] != 1)
			return false;
	return true;
}

FIXTURE(waves) {
	BEFORE_TEST;
	struct kfd_client client;
	struct kfd_queue queue;
	struct kfd_buffer code, data;
	struct memory *m;
	uint32_t vgprs;
};

FIXTURE_SETUP(waves)
{
	uint32_t target;
	const void *file;
	char path[64];
	size_t bytes;
	u64 kernel;
	uint32_t i;
	uint8_t packet[64] = { 0 };
	uint16_t head[6] = { 2 | 2u << 9 | 2u << 11, 1, WORKGROUP, 1, 1, 0 };
	uint32_t grid[3] = { ITEMS, 1, 1 }, rsrc1, lds = LDS_BYTES;
	uint64_t args, signal;

	SETUP_DEVICE();
	ASSERT_EQ(0, kfd_client_open(&self->client));
	target = self->client.gfx_target_version;
	if (target != GFX90A && target != GFX942)
		SKIP(return, "there is no code for gfx %u", target);
	snprintf(path, sizeof(path), "/opt/gpreempt/kernels-%s.co", target == GFX90A ? "gfx90a" : "gfx942");
	if (access(path, R_OK))
		SKIP(return, "%s is absent", path);
	file = object_file(path, &bytes);
	ASSERT_TRUE(object_symbol(file, "wait.kd", &kernel));
	ASSERT_EQ(0, kfd_buffer_place(&self->client, KFD_IN_GTT, NULL, (bytes + 0x10000) & ~(size_t)4095, KFD_ACCESS_ALL, &self->code));
	object_load(file, self->code.ptr);
	kernel += (uintptr_t)self->code.ptr;
	memcpy(&rsrc1, (const void *)(uintptr_t)(kernel + 48), 4);
	self->vgprs = ((rsrc1 & 0x3f) + 1) * 8;

	ASSERT_EQ(0, kfd_buffer_userptr(&self->client, (sizeof(struct memory) + 4095) & ~(size_t)4095, &self->data));
	self->m = self->data.ptr;
	self->m->out = (uintptr_t)self->m->results;
	self->m->in = (uintptr_t)self->m->values;
	self->m->flag = (uintptr_t)&self->m->set;
	for (i = 0; i < ITEMS; i++)
		self->m->values[i] = MARK(i);
	ASSERT_EQ(0, kfd_queue_create(&self->client, &self->queue, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL, 64));
	kfd_signal_init(&self->m->done, 1);
	args = (uintptr_t)self->m;
	signal = (uintptr_t)&self->m->done;
	memcpy(packet, head, sizeof(head));
	memcpy(packet + 12, grid, sizeof(grid));
	memcpy(packet + 28, &lds, 4);
	memcpy(packet + 32, &kernel, 8);
	memcpy(packet + 40, &args, 8);
	memcpy(packet + 56, &signal, 8);
	ASSERT_EQ(0, kfd_packet_submit(&self->queue, packet, 0));
	for (i = 0; !waits(self->m->results) && i < 10000; i++)
		kfd_sleep_ns(MS);
	ASSERT_TRUE(waits(self->m->results));
}

FIXTURE_TEARDOWN(waves)
{
	uint32_t i;

	if (!self->m)
		return;
	self->m->set = 1;
	EXPECT_EQ(0, kfd_signal_poll(&self->m->done, LONG));
	for (i = 0; i < ITEMS; i++) {
		ASSERT_EQ(MARK(i), self->m->results[2 * i]);
		ASSERT_EQ(~MARK(i), self->m->results[2 * i + 1]);
	}
	EXPECT_EQ(0, kfd_queue_destroy(&self->queue));
	kfd_client_close(&self->client);
	EXPECT_NOTHING_LEFT();
}

/* KFD gives the state of a queue that is off the device: by the program's own wish here */
TEST_F(waves, wave_state_is_what_the_save_area_holds)
{
	struct kfd_ioctl_get_queue_wave_state_args args = {
		.ctl_stack_address = (uintptr_t)self->queue.cwsr.ptr, .queue_id = self->queue.id,
	};
	uint32_t per_wave = self->vgprs * WAVE * 4 + SGPR_BYTES + HWREG_BYTES, least = WAVES * per_wave + ITEMS / WORKGROUP * LDS_BYTES;
	uint32_t stack = 0, area = 0, registers = 0, words = 0, x, n;

	errno = 0;
	EXPECT_EQ(-1, ioctl(self->client.kfd_fd, AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &args));
	EXPECT_EQ(EINVAL, errno) TH_LOG("the state of a queue that is on the device");
	ASSERT_EQ(0, kfd_queue_update(&self->queue, KFD_PRIORITY_NORMAL, 0));
	ASSERT_EQ(0, ioctl(self->client.kfd_fd, AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &args));
	for (x = 0; x < self->client.num_xcc; x++) {
		const uint8_t *base = (const uint8_t *)self->queue.cwsr.ptr + (size_t)x * self->client.cwsr_size;
		const struct kfd_context_save_area_header *h = (const void *)base;
		const uint32_t *word = (const void *)(base + h->wave_state.wave_state_offset - h->wave_state.wave_state_size);

		EXPECT_EQ(self->client.ctl_stack_size, h->wave_state.control_stack_offset + h->wave_state.control_stack_size);
		EXPECT_EQ(self->client.ctl_stack_size, h->wave_state.wave_state_offset - h->wave_state.wave_state_size);
		EXPECT_LE(h->wave_state.wave_state_offset, self->client.cwsr_size);
		EXPECT_GE(h->wave_state.control_stack_offset, sizeof(*h));
		stack += h->wave_state.control_stack_size;
		area += h->wave_state.wave_state_size;
		for (n = 0; n < h->wave_state.wave_state_size / 4; n++) {
			registers += word[n] - MARK(0) < ITEMS;
			words += ~word[n] - MARK(0) < ITEMS;
		}
	}
	EXPECT_EQ(args.ctl_stack_used_size, stack);
	EXPECT_EQ(args.save_area_used_size, area);
	/* as large as the waves that were on the device: no more, but for what the device notes of their dispatch */
	EXPECT_GE(area, least);
	EXPECT_LE(area, least + self->client.num_xcc * RECORD_BYTES);
	EXPECT_GE(stack, WAVES * 4);
	/* a register of each lane, and a word of LDS of each work-item */
	EXPECT_GE(registers, ITEMS);
	EXPECT_GE(words, ITEMS);
	ASSERT_EQ(0, kfd_queue_update(&self->queue, KFD_PRIORITY_NORMAL, 100));
}

TEST_HARNESS_MAIN

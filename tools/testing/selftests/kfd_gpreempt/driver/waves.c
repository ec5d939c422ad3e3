// SPDX-License-Identifier: MIT
/*
 * waves.c - real waves, that is machine code, on the device: what is saved of them, what KFD says of it, and that they go on with that
 *
 * Needs the code object of tools/vgpu/tests/isa/kernels.cl for the device beside the program. Runs on a real gfx90a, too.
 */
#include <sys/ioctl.h>

#include <linux/kfd_ioctl.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "../../../../vgpu/tests/isa/object.h"
#include "../../../../vgpu/tests/isa/reader.h"

#define WORKGROUP	256u
#define WAVE		64u
#define ITEMS		(2 * WORKGROUP)
#define WAVES		(ITEMS / WAVE)
#define LDS_BYTES	1024u		/* of the kernel "wait" */
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
	struct kfd_buffer code_object, data;
	struct memory *m;
	uint32_t vgprs;
	uint64_t code;
	uint32_t want[2 * ITEMS];
};

FIXTURE_SETUP(waves)
{
	const void *file;
	char path[256];
	size_t bytes;
	u64 kernel, entry;
	uint32_t i;
	uint8_t packet[64] = { 0 };
	uint16_t head[6] = { 2 | 2u << 9 | 2u << 11, 1, WORKGROUP, 1, 1, 0 };
	uint32_t grid[3] = { ITEMS, 1, 1 }, rsrc1, lds = LDS_BYTES;
	uint64_t args, signal;

	SETUP_DEVICE();
	ASSERT_EQ(0, kfd_client_open(&self->client));
	kfd_code_path("kernels", self->client.gfx_target_version, path, sizeof(path));
	if (access(path, R_OK))
		SKIP(return, "%s is absent", path);
	file = object_file(path, &bytes);
	ASSERT_TRUE(object_symbol(file, "wait.kd", &kernel));
	ASSERT_EQ(0, kfd_buffer_place(&self->client, KFD_IN_GTT, NULL, object_memory(file), KFD_ACCESS_ALL, &self->code_object));
	object_load(file, self->code_object.ptr);
	kernel += (uintptr_t)self->code_object.ptr;
	memcpy(&rsrc1, (const void *)(uintptr_t)(kernel + 48), 4);
	self->vgprs = ((rsrc1 & 0x3f) + 1) * 8;
	ASSERT_TRUE(object_symbol(file, "wait", &entry));
	self->code = entry + (uintptr_t)self->code_object.ptr;

	ASSERT_EQ(0, kfd_buffer_userptr(&self->client, (sizeof(struct memory) + 4095) & ~(size_t)4095, &self->data));
	self->m = self->data.ptr;
	self->m->out = (uintptr_t)self->m->results;
	self->m->in = (uintptr_t)self->m->values;
	self->m->flag = (uintptr_t)&self->m->set;
	for (i = 0; i < ITEMS; i++) {
		self->m->values[i] = MARK(i);
		self->want[2 * i] = MARK(i);
		self->want[2 * i + 1] = ~MARK(i);
	}
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
	for (i = 0; i < 2 * ITEMS; i++) {
		ASSERT_EQ(self->want[i], self->m->results[i]) TH_LOG("word %u", i);
	}
	EXPECT_EQ(0, kfd_queue_destroy(&self->queue));
	kfd_client_close(&self->client);
	EXPECT_NOTHING_LEFT();
}

/* Items of the workgroup whose value a vector register of @w holds, in order; ITEMS: there is none such. @vgpr: which register */
static uint32_t items_of(const uint8_t *area, const struct reader_wave *w, uint32_t *vgpr)
{
	uint32_t lane, first;

	for (*vgpr = 0; *vgpr < w->vgprs; ++*vgpr) {
		const uint32_t *v = (const void *)(area + reader_vgpr(w, *vgpr, 0));

		first = v[0] - MARK(0);
		for (lane = 0; lane < WAVE && v[lane] == MARK(first + lane); lane++)
			;
		if (lane == WAVE && first < ITEMS && !(first % WAVE))
			return first;
	}
	return ITEMS;
}

/*
 * KFD gives the state of a queue that is off the device: by the program's own wish here. A debugger that reads it finds registers and LDS,
 * and what it writes there is what the waves go on with.
 */
TEST_F(waves, saved_waves_are_read_and_changed_as_by_a_debugger)
{
	struct kfd_ioctl_get_queue_wave_state_args args = {
		.ctl_stack_address = (uintptr_t)self->queue.cwsr.ptr, .queue_id = self->queue.id,
	};
	uint32_t seen = 0, lds = 0, x, n, item, vgpr;
	struct reader_wave wave[WAVES];
	int waves;

	errno = 0;
	EXPECT_EQ(-1, ioctl(self->client.kfd_fd, AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &args));
	EXPECT_EQ(EINVAL, errno) TH_LOG("the state of a queue that is on the device");
	ASSERT_EQ(0, kfd_queue_update(&self->queue, KFD_PRIORITY_NORMAL, 0));
	ASSERT_EQ(0, ioctl(self->client.kfd_fd, AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &args));
	for (x = 0; x < self->client.num_xcc; x++) {
		uint8_t *base = (uint8_t *)self->queue.cwsr.ptr + (size_t)x * self->client.cwsr_size, *area, *group = NULL;
		const struct kfd_context_save_area_header *h = (const void *)base;
		uint32_t group_first = 0;

		EXPECT_EQ(self->client.ctl_stack_size, h->wave_state.control_stack_offset + h->wave_state.control_stack_size);
		ASSERT_EQ(self->client.ctl_stack_size, h->wave_state.wave_state_offset - h->wave_state.wave_state_size);
		EXPECT_LE(h->wave_state.wave_state_offset, self->client.cwsr_size);
		EXPECT_GE(h->wave_state.control_stack_offset, sizeof(*h));
		/* The call itself tells of the first XCC. There may be more of them than workgroups. */
		if (!x) {
			EXPECT_EQ(args.ctl_stack_used_size, h->wave_state.control_stack_size);
			EXPECT_EQ(args.save_area_used_size, h->wave_state.wave_state_size);
		}
		area = base + self->client.ctl_stack_size;
		waves = reader_waves((const void *)(base + h->wave_state.control_stack_offset), h->wave_state.control_stack_size / 4,
				     h->wave_state.wave_state_size, wave, WAVES);
		ASSERT_GE(waves, 0) TH_LOG("the control stack makes no sense");
		for (n = 0; n < (uint32_t)waves; n++) {
			const struct reader_wave *w = &wave[n];
			uint64_t pc, exec;

			EXPECT_EQ(self->vgprs, w->vgprs + w->acc_vgprs);
			memcpy(&pc, area + reader_hwreg(w, READER_HWREG_PC), 8);
			memcpy(&exec, area + reader_hwreg(w, READER_HWREG_EXEC), 8);
			EXPECT_GT(pc, self->code);
			EXPECT_LT(pc, self->code + 1024);
			EXPECT_EQ(UINT64_MAX, exec);
			item = items_of(area, w, &vgpr);
			ASSERT_LT(item, ITEMS) TH_LOG("wave %u has lost a register", n);
			EXPECT_EQ(0, seen & 1u << item / WAVE) TH_LOG("wave %u is there twice", item / WAVE);
			seen |= 1u << item / WAVE;
			if (w->first) {
				ASSERT_EQ(LDS_BYTES, w->lds_bytes);
				group = area + w->lds;
				group_first = item / WORKGROUP * WORKGROUP;
				for (lds = 0; lds < WORKGROUP; lds++)
					EXPECT_EQ(~MARK(group_first + lds), ((const uint32_t *)group)[lds]);
			}
			EXPECT_EQ(group_first, item / WORKGROUP * WORKGROUP);
			if (item / WAVE != 1 && item / WAVE != WAVES - 1)
				continue;
			/* a lane of a register, and the word of LDS of another one */
			*(uint32_t *)(area + reader_vgpr(w, vgpr, 5)) ^= 0x01000000;
			self->want[2 * (item + 5)] ^= 0x01000000;
			((uint32_t *)group)[item % WORKGROUP + 9] ^= 0x02000000;
			self->want[2 * (item + 9) + 1] ^= 0x02000000;
		}
	}
	EXPECT_EQ((1u << WAVES) - 1, seen);
	ASSERT_EQ(0, kfd_queue_update(&self->queue, KFD_PRIORITY_NORMAL, 100));
}

TEST_HARNESS_MAIN

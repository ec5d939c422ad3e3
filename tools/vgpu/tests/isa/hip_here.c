// SPDX-License-Identifier: MIT
/*
 * hip_here.c - as much of HIP's library as kernels.cpp needs, on the shader cores of the model, in
 * this process
 *
 * A program that hipcc compiled is linked with this instead of HIP: no driver, no queues, no device
 * but the shader cores. Memory of the device is memory of this process at the same address, so the
 * sanitizers see what kernels do outside of what was allocated. A launch is over when it returns.
 */
#define _GNU_SOURCE
#include <string.h>

#include "../../model/model.h"
#include "object.h"
#include "workgroup.h"

#define SUCCESS			0
#define INVALID_VALUE		1
#define OUT_OF_MEMORY		2
#define INVALID_SYMBOL		13
#define LAUNCH_FAILURE		719
#define MAX_NAMES		64u
#define MAX_ARGS		512u
#define SHARED_BASE		(1ULL << 48)
#define PRIVATE_BASE		(2ULL << 48)

typedef struct { u32 x, y, z; } dim3;

static const u8 *object;	/* the code object */
static u8 *loaded;		/* where it is in memory */
static int last_error;

/* Kernels and variables: what the program calls them, and their names in the code object */
static struct {
	const void *host;
	const char *device;
} names[MAX_NAMES];
static u32 names_used;

/* What <<<>>> leaves for the stub of a kernel */
static struct {
	dim3 grid, block;
	size_t shared;
	void *stream;
} configuration;

/* ---- MessagePack, in which a code object describes its kernels ---- */

enum kind { NUMBER, TEXT, ARRAY, MAP, OTHER };

struct item {
	enum kind kind;
	u64 n;			/* the number; bytes, elements or pairs of the others */
	const u8 *data;		/* what follows the head */
};

static u64 big_endian(const u8 *p, u32 bytes)
{
	u64 v = 0;

	while (bytes--)
		v = v << 8 | *p++;
	return v;
}

static struct item item_at(const u8 *p)
{
	u8 t = *p++;

	if (t < 0x80)
		return (struct item) { NUMBER, t, p };
	if (t < 0x90)
		return (struct item) { MAP, t & 15, p };
	if (t < 0xa0)
		return (struct item) { ARRAY, t & 15, p };
	if (t < 0xc0)
		return (struct item) { TEXT, t & 31, p };
	if (t >= 0xcc && t <= 0xcf)
		return (struct item) { NUMBER, big_endian(p, 1u << (t - 0xcc)), p + (1u << (t - 0xcc)) };
	if (t >= 0xd9 && t <= 0xdb)
		return (struct item) { TEXT, big_endian(p, 1u << (t - 0xd9)), p + (1u << (t - 0xd9)) };
	if (t == 0xdc || t == 0xdd)
		return (struct item) { ARRAY, big_endian(p, 2u << (t - 0xdc)), p + (2u << (t - 0xdc)) };
	if (t == 0xde || t == 0xdf)
		return (struct item) { MAP, big_endian(p, 2u << (t - 0xde)), p + (2u << (t - 0xde)) };
	if (t == 0xc0 || t == 0xc2 || t == 0xc3)
		return (struct item) { OTHER, 0, p };
	fprintf(stderr, "hip_here: MessagePack type %#x\n", t);
	exit(2);
}

/* Where the next one begins */
static const u8 *behind(const u8 *p)
{
	struct item i = item_at(p);
	u64 n = i.kind == MAP ? 2 * i.n : i.kind == ARRAY ? i.n : 0;

	p = i.kind == TEXT ? i.data + i.n : i.data;
	while (n--)
		p = behind(p);
	return p;
}

static bool is_text(const u8 *p, const char *text)
{
	struct item i = item_at(p);

	return i.kind == TEXT && i.n == strlen(text) && !memcmp(i.data, text, i.n);
}

/* The value of a key in the map at @p; NULL: there is none */
static const u8 *value_of(const u8 *p, const char *key)
{
	struct item map = item_at(p);

	for (p = map.data; map.kind == MAP && map.n; map.n--) {
		if (is_text(p, key))
			return behind(p);
		p = behind(behind(p));
	}
	return NULL;
}

static u64 number_of(const u8 *p, const char *key)
{
	p = value_of(p, key);
	return p ? item_at(p).n : 0;
}

/* What the code object says of a kernel */
static const u8 *description(const char *kd)
{
	const u8 *p = value_of(object_note(object), "amdhsa.kernels");
	struct item kernels = item_at(p);

	for (p = kernels.data; kernels.n; kernels.n--, p = behind(p))
		if (is_text(value_of(p, ".symbol"), kd))
			return p;
	return NULL;
}

/* ---- what the compiler's own code calls before main() ---- */

void **__hipRegisterFatBinary(const void *data);
void __hipUnregisterFatBinary(void **modules);
void __hipRegisterFunction(void **modules, const void *host, char *function, const char *device, u32 limit, void *tid, void *bid,
			   void *block, void *grid, int *warp);
void __hipRegisterVar(void **modules, void *host, char *variable, char *device, int external, size_t size, int constant, int global);
int __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
int __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void **stream);

/* A bundle: after a name of 24 letters the number of entries; of each place, size, length of its name, its name */
void **__hipRegisterFatBinary(const void *data)
{
	const u8 *bundle = *(const u8 *const *)((const u8 *)data + 8), *entry = bundle + 32;
	u64 count, place[3];

	memcpy(&count, bundle + 24, 8);
	for (; count; count--, entry += sizeof(place) + place[2]) {
		memcpy(place, entry, sizeof(place));
		if (place[1] && memmem(entry + sizeof(place), place[2], "amdgcn", 6))
			object = bundle + place[0];
	}
	if (!object) {
		fprintf(stderr, "hip_here: no code object\n");
		exit(2);
	}
	loaded = aligned_alloc(VGPU_PAGE, (object_memory(object) + VGPU_PAGE - 1) & ~(size_t)(VGPU_PAGE - 1));
	object_load(object, loaded);
	object_relocate(object, loaded);
	return (void **)&object;
}

void __hipUnregisterFatBinary(void **modules)
{
	(void)modules;
	free(loaded);
}

static void register_name(const void *host, const char *device)
{
	if (names_used == MAX_NAMES) {
		fprintf(stderr, "hip_here: too many kernels\n");
		exit(2);
	}
	names[names_used].host = host;
	names[names_used++].device = device;
}

void __hipRegisterFunction(void **modules, const void *host, char *function, const char *device, u32 limit, void *tid, void *bid,
			   void *block, void *grid, int *warp)
{
	(void)modules; (void)function; (void)limit; (void)tid; (void)bid; (void)block; (void)grid; (void)warp;
	register_name(host, device);
}

void __hipRegisterVar(void **modules, void *host, char *variable, char *device, int external, size_t size, int constant, int global)
{
	(void)modules; (void)variable; (void)external; (void)size; (void)constant; (void)global;
	register_name(host, device);
}

int __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream)
{
	configuration.grid = grid;
	configuration.block = block;
	configuration.shared = shared;
	configuration.stream = stream;
	return SUCCESS;
}

int __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void **stream)
{
	*grid = configuration.grid;
	*block = configuration.block;
	*shared = configuration.shared;
	*stream = configuration.stream;
	return SUCCESS;
}

/* Where the symbol is that the program calls so. Return: false if there is none. */
static bool symbol(const void *host, const char *suffix, char *name, size_t bytes, u64 *va)
{
	u32 i;

	for (i = 0; i < names_used; i++)
		if (names[i].host == host) {
			snprintf(name, bytes, "%s%s", names[i].device, suffix);
			return object_symbol(object, name, va);
		}
	return false;
}

/* ---- the library ---- */

int hipMalloc(void **p, size_t bytes);
int hipFree(void *p);
int hipMemset(void *p, int value, size_t bytes);
int hipMemcpy(void *to, const void *from, size_t bytes, int kind);
int hipMemcpyToSymbol(const void *host, const void *from, size_t bytes, size_t offset, int kind);
int hipDeviceSynchronize(void);
int hipGetLastError(void);
const char *hipGetErrorString(int error);
int hipLaunchKernel(const void *host, dim3 grid, dim3 block, void **args, size_t shared, void *stream);

int hipMalloc(void **p, size_t bytes)
{
	*p = aligned_alloc(256, (bytes + 255) & ~(size_t)255);
	return *p ? SUCCESS : OUT_OF_MEMORY;
}

int hipFree(void *p)
{
	free(p);
	return SUCCESS;
}

int hipMemset(void *p, int value, size_t bytes)
{
	memset(p, value, bytes);
	return SUCCESS;
}

int hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
	(void)kind;
	memcpy(to, from, bytes);
	return SUCCESS;
}

int hipMemcpyToSymbol(const void *host, const void *from, size_t bytes, size_t offset, int kind)
{
	char name[256];
	u64 va;

	(void)kind;
	if (!symbol(host, "", name, sizeof(name), &va))
		return INVALID_SYMBOL;
	memcpy(loaded + va + offset, from, bytes);
	return SUCCESS;
}

int hipDeviceSynchronize(void)
{
	return SUCCESS;
}

int hipGetLastError(void)
{
	int error = last_error;

	last_error = SUCCESS;
	return error;
}

const char *hipGetErrorString(int error)
{
	return error == LAUNCH_FAILURE ? "a wave halted" : error == INVALID_VALUE ? "no such kernel" : "error";
}

static void *same_address(void *ctx, u64 va, u32 len, u32 access)
{
	(void)ctx;
	(void)len;
	(void)access;
	return (void *)(uintptr_t)va;
}

/* Arguments as the kernel finds them; what the runtime adds to them is zero. */
static void gather(const u8 *kernel, void **args, u8 *kernargs)
{
	const u8 *p = value_of(kernel, ".args");
	struct item list = item_at(p);
	u64 n;

	for (p = list.data, n = 0; n < list.n; n++, p = behind(p)) {
		struct item kind = item_at(value_of(p, ".value_kind"));

		if (kind.n > 7 && !memcmp(kind.data, "hidden_", 7))
			continue;
		memcpy(kernargs + number_of(p, ".offset"), args[n], number_of(p, ".size"));
	}
}

int hipLaunchKernel(const void *host, dim3 grid, dim3 block, void **args, size_t shared, void *stream)
{
	const struct vgpu_isa machine = {
		.ptr = same_address, .simd = vgpu_simd_begin(), .now_ns = 1000000, .clock = 5000,
		.shared_base = SHARED_BASE, .private_base = PRIVATE_BASE,
	};
	u32 packet[16] = {
		0, block.x | block.y << 16, block.z, grid.x * block.x, grid.y * block.y, grid.z * block.z,
	};
	u32 fixed[2], waves = (block.x * block.y * block.z + VGPU_LANES - 1) / VGPU_LANES, wg[3];
	u8 kernargs[MAX_ARGS] __attribute__((aligned(64))) = { 0 }, *scratch;
	struct vgpu_kernel_code code;
	struct vgpu_isa_launch launch = {
		.packet = (uintptr_t)packet, .kernargs = (uintptr_t)kernargs,
		.grid = { packet[3], packet[4], packet[5] }, .workgroup = { block.x, block.y, block.z },
	};
	const u8 *kernel;
	char kd[256];
	u64 va;

	(void)stream;
	last_error = INVALID_VALUE;
	if (!symbol(host, ".kd", kd, sizeof(kd), &va) || !vgpu_isa_descriptor(loaded + va, (uintptr_t)(loaded + va), &code))
		return last_error;
	kernel = description(kd);
	if (!kernel || number_of(kernel, ".kernarg_segment_size") > MAX_ARGS)
		return last_error;
	gather(kernel, args, kernargs);
	memcpy(fixed, loaded + va, sizeof(fixed));		/* LDS of a workgroup, scratch memory of a lane */
	launch.scratch_bytes = (fixed[1] + 15) & ~15u;
	scratch = aligned_alloc(256, (size_t)launch.scratch_bytes * VGPU_LANES * waves + 256);
	launch.scratch = (uintptr_t)scratch;
	launch.segment[0] = (u32)launch.scratch;
	launch.segment[1] = (u32)(launch.scratch >> 32) | 1u << 31;
	launch.segment[2] = U32_MAX;
	launch.segment[3] = 3u << 21 | 1u << 23;		/* 64 lanes interleaved by dwords */
	last_error = SUCCESS;
	for (wg[2] = 0; wg[2] < grid.z; wg[2]++)
		for (wg[1] = 0; wg[1] < grid.y; wg[1]++)
			for (wg[0] = 0; wg[0] < grid.x; wg[0]++)
				if (!last_error && !workgroup_run(&machine, &code, &launch, wg, fixed[0] + (u32)shared))
					last_error = LAUNCH_FAILURE;
	free(scratch);
	return last_error;
}

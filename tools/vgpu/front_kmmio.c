// SPDX-License-Identifier: MIT
/*
 * front_kmmio.c - "verbatim" front end: register accesses of an untouched amdgpu.ko
 *
 * kmmio, which the kernel has for mmiotrace, makes the pages of a mapping fault and lets the
 * instruction run in a single step against the memory behind it. Before the step of a read that
 * memory gets the register's value; after the step of a write it holds what was written. Only the
 * register BAR is treated so: doorbells and VRAM are memory for both sides.
 *
 * While an access is stepped, the page is open to the other CPU. Its accesses would go unseen,
 * which is why the guest has one of its two CPUs isolated for the command processor.
 */
#define pr_fmt(fmt) "vgpu: " fmt

#include <linux/io.h>
#include <linux/kprobes.h>
#include <linux/mmiotrace.h>
#include <linux/percpu.h>

#include "vgpu.h"

/**
 * struct vgpu_step - the access that this CPU is stepping through
 * @offset: in the register BAR of the probe's device
 * @bytes: width, 4 or 8; 0: not understood
 * @write: direction
 */
struct vgpu_step {
	u32 offset;
	u32 bytes;
	bool write;
};

static DEFINE_PER_CPU(struct vgpu_step, current_step);

/**
 * struct registers - the register BAR of a device
 * @probe: what kmmio is told
 * @backing: our own mapping of the memory behind it, never armed
 * @armed: accesses are caught
 */
struct registers {
	struct kmmio_probe probe;
	void __iomem *backing;
	bool armed;
};

static struct registers registers[VGPU_MAX_DEVICES];

static void (*do_kmmio_cleanup)(void);

static struct registers *probed(struct kmmio_probe *probe)
{
	return container_of(probe, struct registers, probe);
}

static struct vgpu_model *model_of(const struct registers *r)
{
	return vgpus[r - registers].model;
}

/* The accessors compile to MOV between memory and a general register (or an immediate), with 32 or 64 bits. */
static void decode(const u8 *ip, struct vgpu_step *step)
{
	bool wide = false;

	if ((*ip & 0xf0) == 0x40)		/* REX */
		wide = *ip++ & 8;
	step->write = *ip == 0x89 || *ip == 0xc7;
	step->bytes = step->write || *ip == 0x8b ? wide ? 8 : 4 : 0;
}

static void before_step(struct kmmio_probe *probe, struct pt_regs *regs, unsigned long addr)
{
	struct vgpu_step *step = this_cpu_ptr(&current_step);
	const struct registers *r = probed(probe);
	u32 i;

	step->offset = addr - probe->addr;
	decode((const u8 *)regs->ip, step);
	if (!step->bytes)
		pr_err_ratelimited("%pS accesses a register in a way that is not modelled\n", (void *)regs->ip);
	for (i = 0; !step->write && i < step->bytes; i += 4)
		writel(vgpu_model_reg_read(model_of(r), (step->offset + i) / 4), r->backing + step->offset + i);
}

static void after_step(struct kmmio_probe *probe, unsigned long condition, struct pt_regs *regs)
{
	struct vgpu_step *step = this_cpu_ptr(&current_step);
	const struct registers *r = probed(probe);
	u32 i;

	for (i = 0; step->write && i < step->bytes; i += 4)
		vgpu_model_reg_write(model_of(r), (step->offset + i) / 4, readl(r->backing + step->offset + i));
}

/* What is remembered from there until the function returns is the device. */
static int ioremap_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	const struct vgpu *v;

	for_each_vgpu(v) {
		if (regs->di != v->low_phys + VGPU_MMIO_OFFSET || regs->si != vgpu_model_reg_bytes(v->model))
			continue;
		*(u32 *)ri->data = v->number;
		return 0;
	}
	return 1;
}

static int ioremap_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct registers *r = &registers[*(u32 *)ri->data];

	if (r->armed || !regs_return_value(regs))
		return 0;
	r->probe = (struct kmmio_probe){
		.addr = regs_return_value(regs), .len = vgpu_model_reg_bytes(model_of(r)),
		.pre_handler = before_step, .post_handler = after_step,
	};
	r->armed = !register_kmmio_probe(&r->probe);
	if (!r->armed)
		pr_err("cannot catch accesses to the registers\n");
	return 0;
}

static void disarm(struct registers *r)
{
	if (r->armed)
		unregister_kmmio_probe(&r->probe);
	r->armed = false;
}

/* Before a mapping of the registers goes away its pages have to be as they were */
static int iounmap_entry(struct kprobe *kp, struct pt_regs *regs)
{
	const struct vgpu *v;

	for_each_vgpu(v)
		if (regs->di == registers[v->number].probe.addr)
			disarm(&registers[v->number]);
	return 0;
}

static struct kretprobe ioremap_probe = {
	.kp.symbol_name = "ioremap",
	.entry_handler = ioremap_entry,
	.handler = ioremap_return,
	.data_size = sizeof(u32),
	.maxactive = 4,
};
static struct kprobe iounmap_probe = { .symbol_name = "iounmap", .pre_handler = iounmap_entry };

/* Address of a function that the kernel does not export */
static void *find_function(const char *name)
{
	struct kprobe kp = { .symbol_name = name };
	void *addr;

	if (register_kprobe(&kp))
		return NULL;
	addr = kp.addr;
	unregister_kprobe(&kp);
	return addr;
}

static void unmap_backing(void)
{
	const struct vgpu *v;

	for_each_vgpu(v) {
		if (registers[v->number].backing)
			iounmap(registers[v->number].backing);
		registers[v->number].backing = NULL;
	}
}

static int map_backing(void)
{
	const struct vgpu *v;

	for_each_vgpu(v) {
		registers[v->number].backing = ioremap(v->low_phys + VGPU_MMIO_OFFSET, VGPU_MMIO_BYTES);
		if (!registers[v->number].backing) {
			unmap_backing();
			return -ENOMEM;
		}
	}
	return 0;
}

static void kmmio_front_exit(void)
{
	const struct vgpu *v;

	unregister_kretprobe(&ioremap_probe);
	unregister_kprobe(&iounmap_probe);
	for_each_vgpu(v)
		disarm(&registers[v->number]);
	synchronize_rcu();
	do_kmmio_cleanup();
	unmap_backing();
}

static int kmmio_front_init(void)
{
	int (*do_kmmio_init)(void) = find_function("kmmio_init");
	int ret;

	do_kmmio_cleanup = find_function("kmmio_cleanup");
	if (!do_kmmio_init || !do_kmmio_cleanup) {
		pr_err("front=kmmio needs a kernel with CONFIG_MMIOTRACE and CONFIG_KPROBES\n");
		return -EOPNOTSUPP;
	}
	ret = map_backing();
	if (ret)
		return ret;
	ret = do_kmmio_init();
	if (ret)
		goto unmap;
	ret = register_kretprobe(&ioremap_probe);
	if (ret)
		goto cleanup;
	ret = register_kprobe(&iounmap_probe);
	if (!ret)
		return 0;
	unregister_kretprobe(&ioremap_probe);
cleanup:
	do_kmmio_cleanup();
unmap:
	unmap_backing();
	return ret;
}

const struct vgpu_front vgpu_front_kmmio = {
	.name = "kmmio",
	.init = kmmio_front_init,
	.exit = kmmio_front_exit,
};

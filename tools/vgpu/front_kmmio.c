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
 * @offset: in the register BAR
 * @bytes: width, 4 or 8; 0: not understood
 * @write: direction
 */
struct vgpu_step {
	u32 offset;
	u32 bytes;
	bool write;
};

static DEFINE_PER_CPU(struct vgpu_step, current_step);

/* Our own mapping of the memory behind the register BAR, never armed */
static void __iomem *backing;

static void (*do_kmmio_cleanup)(void);
static void before_step(struct kmmio_probe *probe, struct pt_regs *regs, unsigned long addr);
static void after_step(struct kmmio_probe *probe, unsigned long condition, struct pt_regs *regs);
static struct kmmio_probe mmio_probe = {
	.pre_handler = before_step,
	.post_handler = after_step,
};
static bool armed;

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
	u32 i;

	step->offset = addr - probe->addr;
	decode((const u8 *)regs->ip, step);
	if (!step->bytes)
		pr_err_ratelimited("%pS accesses a register in a way that is not modelled\n", (void *)regs->ip);
	for (i = 0; !step->write && i < step->bytes; i += 4)
		writel(vgpu_model_reg_read(vgpu.model, (step->offset + i) / 4), backing + step->offset + i);
}

static void after_step(struct kmmio_probe *probe, unsigned long condition, struct pt_regs *regs)
{
	struct vgpu_step *step = this_cpu_ptr(&current_step);
	u32 i;

	for (i = 0; step->write && i < step->bytes; i += 4)
		vgpu_model_reg_write(vgpu.model, (step->offset + i) / 4, readl(backing + step->offset + i));
}

static int ioremap_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return regs->di == VGPU_MMIO_PHYS && regs->si == vgpu_model_reg_bytes(vgpu.model) ? 0 : 1;
}

static int ioremap_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (armed || !regs_return_value(regs))
		return 0;
	mmio_probe.addr = regs_return_value(regs);
	mmio_probe.len = vgpu_model_reg_bytes(vgpu.model);
	armed = !register_kmmio_probe(&mmio_probe);
	if (!armed)
		pr_err("cannot catch accesses to the registers\n");
	return 0;
}

/* Before a mapping of the registers goes away its pages have to be as they were */
static int iounmap_entry(struct kprobe *kp, struct pt_regs *regs)
{
	if (armed && regs->di == mmio_probe.addr) {
		unregister_kmmio_probe(&mmio_probe);
		armed = false;
	}
	return 0;
}

static struct kretprobe ioremap_probe = {
	.kp.symbol_name = "ioremap",
	.entry_handler = ioremap_entry,
	.handler = ioremap_return,
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

static void kmmio_front_exit(void)
{
	unregister_kretprobe(&ioremap_probe);
	unregister_kprobe(&iounmap_probe);
	if (armed)
		unregister_kmmio_probe(&mmio_probe);
	armed = false;
	synchronize_rcu();
	do_kmmio_cleanup();
	iounmap(backing);
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
	backing = ioremap(VGPU_MMIO_PHYS, VGPU_MMIO_BYTES);
	if (!backing)
		return -ENOMEM;
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
	iounmap(backing);
	return ret;
}

const struct vgpu_front vgpu_front_kmmio = {
	.name = "kmmio",
	.init = kmmio_front_init,
	.exit = kmmio_front_exit,
};

/* SPDX-License-Identifier: MIT */
/*
 * vgpu.h - what the files of vgpu.ko share
 *
 * params.c says what the devices are, pci.c makes PCI devices of them and their memory, a front end
 * carries register accesses to the models, main.c drives the models, debugfs.c shows them. The
 * model itself (model/) knows nothing of this, and of no other device.
 */
#ifndef VGPU_H
#define VGPU_H

#include <linux/irq_work.h>
#include <linux/pci.h>
#include <linux/smp.h>
#include <linux/types.h>

#include "model/vgpu_model.h"

#define VGPU_MAX_DEVICES	8u

/*
 * Guest memory that the kernel was told to leave alone (memmap=1G$0x100000000
 * memmap=16M$0xa0000000): VRAM, and for each device doorbells, VBIOS and registers (backing store
 * of the verbatim front end). The devices divide VRAM among them. What the low memory has room for
 * is two devices; more of them want it larger.
 */
#define VGPU_VRAM_PHYS		0x100000000ull
#define VGPU_VRAM_BYTES		0x40000000ull
#define VGPU_LOW_PHYS		0xa0000000ull
#define VGPU_LOW_BYTES		0x800000u	/* of a device */
#define VGPU_DOORBELL_OFFSET	0u
#define VGPU_DOORBELL_BYTES	0x200000u
#define VGPU_ROM_OFFSET		0x200000u
#define VGPU_ROM_BYTES		0x10000u
#define VGPU_MMIO_OFFSET	0x400000u
#define VGPU_MMIO_BYTES		(8 * 0x80000u)	/* the most XCCs; the BAR is what the device has */

#define VGPU_BAR_VRAM		0
#define VGPU_BAR_DOORBELL	2
#define VGPU_BAR_MMIO		5

/**
 * struct vgpu - a device
 * @number: which one
 * @config: what it is
 * @preset: the name of its product
 * @model: what it does
 * @vram: VRAM
 * @vram_phys: where that is
 * @vram_bar_bytes: size of the BAR, of which the device may have less
 * @doorbells: doorbell BAR
 * @low_phys: where that, VBIOS and registers are
 * @numa_node: where it is
 * @irq: its interrupt line
 * @irq_call: tells the CPU that takes the interrupt
 * @irq_work: the interrupt by itself, where that CPU was not interrupted
 */
struct vgpu {
	u32 number;
	struct vgpu_config config;
	const char *preset;
	struct vgpu_model *model;
	void *vram;
	u64 vram_phys;
	u64 vram_bar_bytes;
	void *doorbells;
	u64 low_phys;
	int numa_node;
	int irq;
	call_single_data_t irq_call;
	struct irq_work irq_work;
};

/**
 * struct vgpu_front - how the driver's register accesses reach the model
 * @name: value of the parameter front=
 * @init: before the devices appear
 * @exit: after they disappeared
 * @bind: a driver is about to be bound to a device; mappings of its register BAR seen before are
 *	gone
 */
struct vgpu_front {
	const char *name;
	int (*init)(void);
	void (*exit)(void);
	void (*bind)(const struct vgpu *v);
};

extern const struct vgpu_front vgpu_front_intercept;
extern const struct vgpu_front vgpu_front_kmmio;
extern const struct vgpu_front vgpu_front_none;

/**
 * struct vgpu_settings - what the parameters say of all devices
 * @front: how register accesses arrive
 * @poller: what the names of threads begin with that look often and seldom write
 * @poll_ns: time between looks at the doorbells; may change at any time
 * @ring_ns: from what the driver writes until a device looks
 * @pauses_always: the models sleep half of the time even if no task waits for that
 * @faults: what always goes wrong, a bit for each enum vgpu_fault
 */
struct vgpu_settings {
	const struct vgpu_front *front;
	const char *poller;
	unsigned int poll_ns;
	unsigned int ring_ns;
	bool pauses_always;
	u32 faults;
};

/* The devices, 1 to VGPU_MAX_DEVICES once vgpu_params_parse() has been */
extern struct vgpu vgpus[VGPU_MAX_DEVICES];
extern unsigned int vgpu_count;

#define for_each_vgpu(v) for ((v) = vgpus; (v) < vgpus + vgpu_count; (v)++)

/* main.c */
extern struct mutex vgpu_model_mutex;
void vgpu_rung(bool asks);

/* params.c */
extern struct vgpu_settings vgpu_settings;
int vgpu_params_parse(void);

/* debugfs.c */
void vgpu_debugfs_add(void);
void vgpu_debugfs_remove(void);

/* pci.c */
int vgpu_pci_map(void);
void vgpu_pci_unmap(void);
int vgpu_pci_add(struct vgpu *v);
void vgpu_pci_remove(struct vgpu *v);
const char *vgpu_pci_name(const struct vgpu *v);
struct vgpu *vgpu_pci_find(const struct device *dev);
void vgpu_pci_appears(struct vgpu *v, struct pci_dev *pdev);
bool vgpu_pci_reset_wanted(const struct vgpu *v);
void vgpu_pci_reset_done(const struct vgpu *v);

/* leaks.c */
void vgpu_spare_shadow(void);

/* vbios.c */
void vgpu_vbios_build(u8 *rom, u32 size, const struct vgpu_config *c);

#endif /* VGPU_H */

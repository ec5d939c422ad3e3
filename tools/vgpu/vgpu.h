/* SPDX-License-Identifier: MIT */
/*
 * vgpu.h - what the files of vgpu.ko share
 *
 * pci.c makes the PCI device and its memory, a front end carries register accesses to the model,
 * main.c drives the model. The model itself (model/) knows nothing of this.
 */
#ifndef VGPU_H
#define VGPU_H

#include <linux/pci.h>
#include <linux/types.h>

#include "model/vgpu_model.h"

/*
 * Guest memory that the kernel was told to leave alone (memmap=1G$0x100000000
 * memmap=16M$0xa0000000): VRAM, doorbells, registers (backing store of the verbatim front end) and
 * VBIOS.
 */
#define VGPU_VRAM_PHYS		0x100000000ull
#define VGPU_VRAM_BYTES		0x40000000ull
#define VGPU_DOORBELL_PHYS	0xa0000000ull
#define VGPU_DOORBELL_BYTES	0x200000u
#define VGPU_MMIO_PHYS		0xa0400000ull
#define VGPU_MMIO_BYTES		(8 * 0x80000u)	/* the most XCCs; the BAR is what the device has */
#define VGPU_ROM_PHYS		0xa0800000ull
#define VGPU_ROM_BYTES		0x10000u
#define VGPU_LOW_BYTES		0x1000000u

#define VGPU_BAR_VRAM		0
#define VGPU_BAR_DOORBELL	2
#define VGPU_BAR_MMIO		5

/**
 * struct vgpu - the device
 * @config: what it is
 * @model: what it does
 * @vram: VRAM
 * @doorbells: doorbell BAR
 * @pdev: its PCI function, NULL before vgpu_pci_add()
 * @irq: interrupt line of @pdev
 */
struct vgpu {
	struct vgpu_config config;
	struct vgpu_model *model;
	void *vram;
	void *doorbells;
	struct pci_dev *pdev;
	int irq;
};

extern struct vgpu vgpu;

/* main.c */
void vgpu_rung(bool asks);

/* pci.c */
int vgpu_pci_map(void);
void vgpu_pci_unmap(void);
int vgpu_pci_add(void);
void vgpu_pci_remove(void);
bool vgpu_pci_reset_wanted(void);
void vgpu_pci_reset_done(void);

/* leaks.c */
void vgpu_spare_shadow(void);

/* vbios.c */
void vgpu_vbios_build(u8 *rom, u32 size, const struct vgpu_config *c);

/**
 * struct vgpu_front - how the driver's register accesses reach the model
 * @name: value of the parameter front=
 * @init: before the device appears
 * @exit: after it disappeared
 * @bind: a driver is about to be bound to the device; mappings of the register BAR seen before are
 *	gone
 */
struct vgpu_front {
	const char *name;
	int (*init)(void);
	void (*exit)(void);
	void (*bind)(void);
};

extern const struct vgpu_front vgpu_front_intercept;
extern const struct vgpu_front vgpu_front_kmmio;

#endif /* VGPU_H */

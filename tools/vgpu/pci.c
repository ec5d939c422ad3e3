// SPDX-License-Identifier: MIT
/*
 * pci.c - the virtual GPU as a PCI device: root bus, configuration space, BARs, interrupt line
 *
 * The bus is a root bus in a domain of its own. Its windows are the reserved guest memory of
 * vgpu.h; they are not inserted into iomem_resource, where the reservations already are.
 */
#define pr_fmt(fmt) "vgpu: " fmt

#include <linux/io.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/slab.h>

#include "vgpu.h"

#define VGPU_DOMAIN		0x1000
#define VGPU_VENDOR		0x1002
#define VGPU_CLASS		0x038000	/* display controller, other */
#define CONFIG_BYTES		4096
#define PCIE_CAP		0x64

static u8 config_space[CONFIG_BYTES];
static struct platform_device *parent;
static struct pci_bus *bus;

/* A function level reset was asked for: until it is done, configuration space reads as all ones */
static atomic_t reset_wanted;

static struct pci_sysdata sysdata = { .domain = VGPU_DOMAIN, .node = NUMA_NO_NODE };

static struct resource window_vram = {
	.name = "vgpu vram", .start = VGPU_VRAM_PHYS, .end = VGPU_VRAM_PHYS + VGPU_VRAM_BYTES - 1,
	.flags = IORESOURCE_MEM | IORESOURCE_PREFETCH | IORESOURCE_MEM_64,
};
static struct resource window_low = {
	.name = "vgpu", .start = VGPU_DOORBELL_PHYS, .end = VGPU_DOORBELL_PHYS + VGPU_LOW_BYTES - 1,
	.flags = IORESOURCE_MEM,
};
static struct resource window_bus = { .name = "vgpu bus", .start = 0, .end = 0, .flags = IORESOURCE_BUS };

/**
 * struct vgpu_bar - a dword of a base address register
 * @address: dword of the address with its type bits
 * @size_mask: bits that software can change
 */
struct vgpu_bar {
	u32 address;
	u32 size_mask;
};

#define BAR64			(PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH)
#define BAR_LOW(start, size, type) { (u32)(start) | (type), (u32)~((size) - 1ull) }
#define BAR_HIGH(start, size)	{ (u32)((u64)(start) >> 32), (u32)(~((size) - 1ull) >> 32) }

static struct vgpu_bar bars[PCI_STD_NUM_BARS] = {
	[0] = BAR_LOW(VGPU_VRAM_PHYS, VGPU_VRAM_BYTES, BAR64),
	[1] = BAR_HIGH(VGPU_VRAM_PHYS, VGPU_VRAM_BYTES),
	[2] = BAR_LOW(VGPU_DOORBELL_PHYS, VGPU_DOORBELL_BYTES, BAR64),
	[3] = BAR_HIGH(VGPU_DOORBELL_PHYS, VGPU_DOORBELL_BYTES),
	[5] = BAR_LOW(VGPU_MMIO_PHYS, VGPU_MMIO_BYTES, 0),	/* config_init() knows the size */
};

static void config_set(u32 where, u32 size, u32 value)
{
	memcpy(config_space + where, &value, size);	/* little endian, as this machine */
}

static void config_init(void)
{
	u32 i;

	memset(config_space, 0, sizeof(config_space));
	config_set(PCI_VENDOR_ID, 2, VGPU_VENDOR);
	config_set(PCI_DEVICE_ID, 2, vgpu.config.device);
	config_set(PCI_STATUS, 2, PCI_STATUS_CAP_LIST);
	config_set(PCI_CLASS_REVISION, 4, VGPU_CLASS << 8 | vgpu.config.asic->revision);
	config_set(PCI_SUBSYSTEM_VENDOR_ID, 2, VGPU_VENDOR);
	config_set(PCI_SUBSYSTEM_ID, 2, 0x0c34);
	config_set(PCI_CAPABILITY_LIST, 1, PCIE_CAP);
	bars[VGPU_BAR_MMIO].size_mask = ~(vgpu_model_reg_bytes(vgpu.model) - 1);
	for (i = 0; i < PCI_STD_NUM_BARS; i++)
		config_set(PCI_BASE_ADDRESS_0 + 4 * i, 4, bars[i].address);

	/* PCI Express endpoint, gen 4 x16. Atomics to the root are on: there is no port above that could refuse them. */
	config_set(PCIE_CAP, 2, PCI_CAP_ID_EXP);
	config_set(PCIE_CAP + PCI_EXP_DEVCAP, 4, PCI_EXP_DEVCAP_FLR);
	config_set(PCIE_CAP + PCI_EXP_FLAGS, 2, 2 | PCI_EXP_TYPE_ENDPOINT << 4);
	config_set(PCIE_CAP + PCI_EXP_LNKCAP, 4, PCI_EXP_LNKCAP_SLS_16_0GB | 16 << 4);
	config_set(PCIE_CAP + PCI_EXP_LNKSTA, 2, PCI_EXP_LNKSTA_CLS_16_0GB | 16 << PCI_EXP_LNKSTA_NLW_SHIFT);
	config_set(PCIE_CAP + PCI_EXP_LNKCAP2, 4, PCI_EXP_LNKCAP2_SLS_16_0GB);
	config_set(PCIE_CAP + PCI_EXP_DEVCTL2, 2, PCI_EXP_DEVCTL2_ATOMIC_REQ);
	config_set(PCI_CFG_SPACE_SIZE, 4, PCI_EXT_CAP_ID_VNDR | 1 << 16);
}

static int config_read(struct pci_bus *b, unsigned int devfn, int where, int size, u32 *value)
{
	*value = ~0u;
	if (devfn || where + size > CONFIG_BYTES)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (atomic_read(&reset_wanted))
		return PCIBIOS_SUCCESSFUL;
	*value = 0;
	memcpy(value, config_space + where, size);
	return PCIBIOS_SUCCESSFUL;
}

static int config_write(struct pci_bus *b, unsigned int devfn, int where, int size, u32 value)
{
	u32 bar = (where - PCI_BASE_ADDRESS_0) / 4;

	if (devfn || where + size > CONFIG_BYTES)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (where >= PCI_BASE_ADDRESS_0 && bar < PCI_STD_NUM_BARS) {
		/* Answers the sizing probe; the BARs do not move */
		value = value == ~0u ? bars[bar].size_mask | (bars[bar].address & 0xf & ~(bar & 1 ? 0xf : 0)) :
			bars[bar].address;
		config_set(where, 4, value);
	} else if (where == PCIE_CAP + PCI_EXP_DEVCTL && (value & PCI_EXP_DEVCTL_BCR_FLR)) {
		config_init();
		atomic_set(&reset_wanted, 1);
	} else if (where == PCI_COMMAND || where >= 0x40) {
		config_set(where, size, value);
	}
	return PCIBIOS_SUCCESSFUL;
}

/* The command processor looks for it */
bool vgpu_pci_reset_wanted(void)
{
	return atomic_read(&reset_wanted);
}

void vgpu_pci_reset_done(void)
{
	atomic_set(&reset_wanted, 0);
}

static struct pci_ops config_ops = { .read = config_read, .write = config_write };

/**
 * vgpu_pci_map() - reach the reserved memory
 *
 * Return: 0 or -errno; -EBUSY, with a message, if the guest was started without the reservations.
 */
int vgpu_pci_map(void)
{
	if (region_intersects(VGPU_VRAM_PHYS, VGPU_VRAM_BYTES, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) != REGION_DISJOINT ||
	    region_intersects(VGPU_DOORBELL_PHYS, VGPU_LOW_BYTES, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) != REGION_DISJOINT) {
		pr_err("memory is not reserved: boot with memmap=1G$0x100000000 memmap=16M$0xa0000000\n");
		return -EBUSY;
	}

	/* The memory types that the driver asks for: others would conflict */
	vgpu.vram = (__force void *)ioremap_wc(VGPU_VRAM_PHYS, VGPU_VRAM_BYTES);
	vgpu.doorbells = (__force void *)ioremap(VGPU_DOORBELL_PHYS, VGPU_DOORBELL_BYTES);
	if (!vgpu.vram || !vgpu.doorbells) {
		vgpu_pci_unmap();
		return -ENOMEM;
	}
	memset_io((void __iomem *)vgpu.doorbells, 0, VGPU_DOORBELL_BYTES);
	return 0;
}

/* The command processor has stopped and no interrupt is on its way */
void vgpu_pci_unmap(void)
{
	if (vgpu.irq > 0)
		irq_free_desc(vgpu.irq);
	vgpu.irq = 0;
	if (vgpu.vram)
		iounmap((void __iomem *)vgpu.vram);
	if (vgpu.doorbells)
		iounmap((void __iomem *)vgpu.doorbells);
	vgpu.vram = NULL;
	vgpu.doorbells = NULL;
}

static int irq_create(void)
{
	int irq = irq_alloc_desc(NUMA_NO_NODE);

	if (irq < 0)
		return irq;
	irq_set_chip_and_handler(irq, &dummy_irq_chip, handle_simple_irq);
	irq_clear_status_flags(irq, IRQ_NOREQUEST | IRQ_NOPROBE);
	vgpu.irq = irq;
	return 0;
}

/**
 * vgpu_pci_add() - plug the device in
 *
 * A driver that is already loaded is bound before this returns.
 *
 * Return: 0 or -errno
 */
int vgpu_pci_add(void)
{
	static const int claimed[] = { VGPU_BAR_VRAM, VGPU_BAR_DOORBELL, VGPU_BAR_MMIO };
	LIST_HEAD(resources);
	int i, ret;

	ret = irq_create();
	if (ret)
		return ret;
	config_init();
	parent = platform_device_register_simple("vgpu", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(parent)) {
		ret = PTR_ERR(parent);
		parent = NULL;
		goto fail;
	}
	pci_add_resource(&resources, &window_vram);
	pci_add_resource(&resources, &window_low);
	pci_add_resource(&resources, &window_bus);
	pci_lock_rescan_remove();
	bus = pci_create_root_bus(&parent->dev, 0, &config_ops, &sysdata, &resources);
	if (!bus) {
		pci_unlock_rescan_remove();
		pci_free_resource_list(&resources);
		ret = -ENOMEM;
		goto fail;
	}
	pci_scan_child_bus(bus);
	vgpu.pdev = pci_get_slot(bus, 0);
	if (!vgpu.pdev) {
		pci_unlock_rescan_remove();
		ret = -ENODEV;
		goto fail;
	}
	for (i = 0; i < ARRAY_SIZE(claimed) && !ret; i++)
		ret = pci_claim_resource(vgpu.pdev, claimed[i]);
	vgpu.pdev->irq = vgpu.irq;
	vgpu.pdev->rom = VGPU_ROM_PHYS;
	vgpu.pdev->romlen = VGPU_ROM_BYTES;
	if (!ret)
		pci_bus_add_devices(bus);
	pci_unlock_rescan_remove();
	if (ret)
		goto fail;
	return 0;
fail:
	vgpu_pci_remove();
	return ret;
}

void vgpu_pci_remove(void)
{
	pci_dev_put(vgpu.pdev);
	vgpu.pdev = NULL;
	if (bus) {
		struct pci_host_bridge *bridge = to_pci_host_bridge(bus->bridge);

		pci_lock_rescan_remove();
		pci_stop_root_bus(bus);
		pci_remove_root_bus(bus);
		pci_unlock_rescan_remove();
		/* Who made the bridge has a reference that the removal leaves alone; with it go the windows. */
		pci_free_host_bridge(bridge);
		bus = NULL;
	}
	platform_device_unregister(parent);
	parent = NULL;
}

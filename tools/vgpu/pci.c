// SPDX-License-Identifier: MIT
/*
 * pci.c - the virtual GPU as a PCI device: root bus, configuration space, BARs, interrupt line
 *
 * Each device is alone on a root bus in a domain of its own. The windows of that are the reserved
 * guest memory of vgpu.h; they are not inserted into iomem_resource, where the reservations already
 * are.
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

/**
 * struct vgpu_bar - a dword of a base address register
 * @address: dword of the address with its type bits
 * @size_mask: bits that software can change
 */
struct vgpu_bar {
	u32 address;
	u32 size_mask;
};

/**
 * struct slot - a device as a PCI function, and the bus that it is on
 * @name: as the PCI core names it
 * @config: configuration space
 * @bars: base address registers
 * @reset_wanted: a function level reset was asked for: until it is done, configuration space reads
 *	as all ones
 * @parent: of the bus
 * @bus: the bus, NULL before vgpu_pci_add()
 * @sysdata: what the architecture knows of it
 * @window_vram: where its BAR 0 is
 * @window_low: where its other BARs are
 * @window_bus: numbers of buses
 */
struct slot {
	char name[16];
	u8 config[CONFIG_BYTES];
	struct vgpu_bar bars[PCI_STD_NUM_BARS];
	atomic_t reset_wanted;
	struct platform_device *parent;
	struct pci_bus *bus;
	struct pci_sysdata sysdata;
	struct resource window_vram, window_low, window_bus;
};

static struct slot slots[VGPU_MAX_DEVICES];
static const int claimed[] = { VGPU_BAR_VRAM, VGPU_BAR_DOORBELL, VGPU_BAR_MMIO };

static struct slot *slot_of(const struct vgpu *v)
{
	return &slots[v->number];
}

static struct slot *slot_on(const struct pci_bus *bus)
{
	return container_of((struct pci_sysdata *)bus->sysdata, struct slot, sysdata);
}

static struct vgpu *vgpu_in(const struct slot *s)
{
	return &vgpus[s - slots];
}

#define BAR64			(PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH)
#define BAR_LOW(start, size, type) { (u32)(start) | (type), (u32)~((size) - 1ull) }
#define BAR_HIGH(start, size)	{ (u32)((u64)(start) >> 32), (u32)(~((size) - 1ull) >> 32) }

static void bars_init(const struct vgpu *v)
{
	const u64 doorbells = v->low_phys + VGPU_DOORBELL_OFFSET;
	const struct vgpu_bar bars[PCI_STD_NUM_BARS] = {
		[0] = BAR_LOW(v->vram_phys, v->vram_bar_bytes, BAR64),
		[1] = BAR_HIGH(v->vram_phys, v->vram_bar_bytes),
		[2] = BAR_LOW(doorbells, VGPU_DOORBELL_BYTES, BAR64),
		[3] = BAR_HIGH(doorbells, VGPU_DOORBELL_BYTES),
		[5] = BAR_LOW(v->low_phys + VGPU_MMIO_OFFSET, vgpu_model_reg_bytes(v->model), 0),
	};

	memcpy(slot_of(v)->bars, bars, sizeof(bars));
}

static void config_set(struct slot *s, u32 where, u32 size, u32 value)
{
	memcpy(s->config + where, &value, size);	/* little endian, as this machine */
}

static void config_init(const struct vgpu *v)
{
	struct slot *s = slot_of(v);
	u32 i;

	memset(s->config, 0, sizeof(s->config));
	config_set(s, PCI_VENDOR_ID, 2, VGPU_VENDOR);
	config_set(s, PCI_DEVICE_ID, 2, v->config.device);
	config_set(s, PCI_STATUS, 2, PCI_STATUS_CAP_LIST);
	config_set(s, PCI_CLASS_REVISION, 4, VGPU_CLASS << 8 | v->config.asic->revision);
	config_set(s, PCI_SUBSYSTEM_VENDOR_ID, 2, VGPU_VENDOR);
	config_set(s, PCI_SUBSYSTEM_ID, 2, 0x0c34);
	config_set(s, PCI_CAPABILITY_LIST, 1, PCIE_CAP);
	bars_init(v);
	for (i = 0; i < PCI_STD_NUM_BARS; i++)
		config_set(s, PCI_BASE_ADDRESS_0 + 4 * i, 4, s->bars[i].address);

	/* PCI Express endpoint, gen 4 x16. Atomics to the root are on: there is no port above that could refuse them. */
	config_set(s, PCIE_CAP, 2, PCI_CAP_ID_EXP);
	config_set(s, PCIE_CAP + PCI_EXP_DEVCAP, 4, PCI_EXP_DEVCAP_FLR);
	config_set(s, PCIE_CAP + PCI_EXP_FLAGS, 2, 2 | PCI_EXP_TYPE_ENDPOINT << 4);
	config_set(s, PCIE_CAP + PCI_EXP_LNKCAP, 4, PCI_EXP_LNKCAP_SLS_16_0GB | 16 << 4);
	config_set(s, PCIE_CAP + PCI_EXP_LNKSTA, 2, PCI_EXP_LNKSTA_CLS_16_0GB | 16 << PCI_EXP_LNKSTA_NLW_SHIFT);
	config_set(s, PCIE_CAP + PCI_EXP_LNKCAP2, 4, PCI_EXP_LNKCAP2_SLS_16_0GB);
	config_set(s, PCIE_CAP + PCI_EXP_DEVCTL2, 2, PCI_EXP_DEVCTL2_ATOMIC_REQ);
	config_set(s, PCI_CFG_SPACE_SIZE, 4, PCI_EXT_CAP_ID_VNDR | 1 << 16);
}

static int config_read(struct pci_bus *b, unsigned int devfn, int where, int size, u32 *value)
{
	const struct slot *s = slot_on(b);

	*value = ~0u;
	if (devfn || where + size > CONFIG_BYTES)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (atomic_read(&s->reset_wanted))
		return PCIBIOS_SUCCESSFUL;
	*value = 0;
	memcpy(value, s->config + where, size);
	return PCIBIOS_SUCCESSFUL;
}

static int config_write(struct pci_bus *b, unsigned int devfn, int where, int size, u32 value)
{
	struct slot *s = slot_on(b);
	u32 bar = (where - PCI_BASE_ADDRESS_0) / 4;

	if (devfn || where + size > CONFIG_BYTES)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (where >= PCI_BASE_ADDRESS_0 && bar < PCI_STD_NUM_BARS) {
		const struct vgpu_bar *own = &s->bars[bar];

		/* Answers the sizing probe; the BARs do not move */
		value = value == ~0u ? own->size_mask | (own->address & 0xf & ~(bar & 1 ? 0xf : 0)) : own->address;
		config_set(s, where, 4, value);
	} else if (where == PCIE_CAP + PCI_EXP_DEVCTL && (value & PCI_EXP_DEVCTL_BCR_FLR)) {
		config_init(vgpu_in(s));
		atomic_set(&s->reset_wanted, 1);
	} else if (where == PCI_COMMAND || where >= 0x40) {
		config_set(s, where, size, value);
	}
	return PCIBIOS_SUCCESSFUL;
}

/* The command processor looks for it */
bool vgpu_pci_reset_wanted(const struct vgpu *v)
{
	return atomic_read(&slot_of(v)->reset_wanted);
}

void vgpu_pci_reset_done(const struct vgpu *v)
{
	atomic_set(&slot_of(v)->reset_wanted, 0);
}

static struct pci_ops config_ops = { .read = config_read, .write = config_write };

const char *vgpu_pci_name(const struct vgpu *v)
{
	return slot_of(v)->name;
}

/* Return: the device that is this function, NULL: none is */
struct vgpu *vgpu_pci_find(const struct device *dev)
{
	struct vgpu *v;

	for_each_vgpu(v)
		if (!strcmp(dev_name(dev), slot_of(v)->name))
			return v;
	return NULL;
}

static bool is_system_ram(u64 start, u64 bytes)
{
	return region_intersects(start, bytes, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) != REGION_DISJOINT;
}

/**
 * vgpu_pci_map() - reach the reserved memory
 *
 * Return: 0 or -errno; -EBUSY, with a message, if the guest was started without the reservations.
 */
int vgpu_pci_map(void)
{
	struct vgpu *v;

	if (is_system_ram(VGPU_VRAM_PHYS, VGPU_VRAM_BYTES) || is_system_ram(VGPU_LOW_PHYS, (u64)vgpu_count * VGPU_LOW_BYTES)) {
		pr_err("memory is not reserved: boot with memmap=1G$0x100000000 memmap=%uM$0xa0000000\n",
		       max(vgpu_count * (VGPU_LOW_BYTES >> 20), 16u));
		return -EBUSY;
	}

	/* The memory types that the driver asks for: others would conflict */
	for_each_vgpu(v) {
		snprintf(slot_of(v)->name, sizeof(slot_of(v)->name), "%04x:00:00.0", VGPU_DOMAIN + v->number);
		v->vram = (__force void *)ioremap_wc(v->vram_phys, v->vram_bar_bytes);
		v->doorbells = (__force void *)ioremap(v->low_phys + VGPU_DOORBELL_OFFSET, VGPU_DOORBELL_BYTES);
		if (!v->vram || !v->doorbells) {
			vgpu_pci_unmap();
			return -ENOMEM;
		}
		memset_io((void __iomem *)v->doorbells, 0, VGPU_DOORBELL_BYTES);
	}
	return 0;
}

/* The command processor has stopped and no interrupt is on its way */
void vgpu_pci_unmap(void)
{
	struct vgpu *v;

	for_each_vgpu(v) {
		if (v->irq > 0)
			irq_free_desc(v->irq);
		v->irq = 0;
		if (v->vram)
			iounmap((void __iomem *)v->vram);
		if (v->doorbells)
			iounmap((void __iomem *)v->doorbells);
		v->vram = NULL;
		v->doorbells = NULL;
	}
}

static int irq_create(struct vgpu *v)
{
	int irq = irq_alloc_desc(NUMA_NO_NODE);

	if (irq < 0)
		return irq;
	irq_set_chip_and_handler(irq, &dummy_irq_chip, handle_simple_irq);
	irq_clear_status_flags(irq, IRQ_NOREQUEST | IRQ_NOPROBE);
	v->irq = irq;
	return 0;
}

/**
 * vgpu_pci_appears() - the PCI core has found the function, no driver has yet
 * @v: the device
 * @pdev: the function; at first, and anew whenever it was removed and the bus is scanned again
 */
void vgpu_pci_appears(struct vgpu *v, struct pci_dev *pdev)
{
	int i;

	/* What is not claimed would be moved. */
	for (i = 0; i < ARRAY_SIZE(claimed); i++)
		if (pci_claim_resource(pdev, claimed[i]))
			pci_err(pdev, "BAR %d is not where it should be\n", claimed[i]);
	pdev->irq = v->irq;
	pdev->rom = v->low_phys + VGPU_ROM_OFFSET;
	pdev->romlen = VGPU_ROM_BYTES;
}

static struct pci_bus *bus_create(const struct vgpu *v)
{
	struct slot *s = slot_of(v);
	LIST_HEAD(resources);
	struct pci_bus *bus;

	s->sysdata = (struct pci_sysdata){ .domain = VGPU_DOMAIN + v->number, .node = v->numa_node };
	s->window_vram = (struct resource){
		.name = "vgpu vram", .start = v->vram_phys, .end = v->vram_phys + v->vram_bar_bytes - 1,
		.flags = IORESOURCE_MEM | IORESOURCE_PREFETCH | IORESOURCE_MEM_64,
	};
	s->window_low = (struct resource){
		.name = "vgpu", .start = v->low_phys, .end = v->low_phys + VGPU_LOW_BYTES - 1, .flags = IORESOURCE_MEM,
	};
	s->window_bus = (struct resource){ .name = "vgpu bus", .flags = IORESOURCE_BUS };
	pci_add_resource(&resources, &s->window_vram);
	pci_add_resource(&resources, &s->window_low);
	pci_add_resource(&resources, &s->window_bus);
	bus = pci_create_root_bus(&s->parent->dev, 0, &config_ops, &s->sysdata, &resources);
	if (!bus)
		pci_free_resource_list(&resources);
	return bus;
}

/* The bus's only function is there, with its BARs where they should be. */
static int bus_check(struct pci_bus *bus)
{
	struct pci_dev *pdev = pci_get_slot(bus, 0);
	int i, ret = pdev ? 0 : -ENODEV;

	for (i = 0; i < ARRAY_SIZE(claimed) && !ret; i++)
		ret = pdev->resource[claimed[i]].parent ? 0 : -EBUSY;
	pci_dev_put(pdev);
	return ret;
}

/**
 * vgpu_pci_add() - plug a device in
 * @v: the device
 *
 * A driver that is already loaded is bound before this returns.
 *
 * Return: 0 or -errno
 */
int vgpu_pci_add(struct vgpu *v)
{
	struct slot *s = slot_of(v);
	int ret = irq_create(v);

	if (ret)
		return ret;
	atomic_set(&s->reset_wanted, 0);
	config_init(v);
	s->parent = platform_device_register_simple("vgpu", v->number, NULL, 0);
	if (IS_ERR(s->parent)) {
		ret = PTR_ERR(s->parent);
		s->parent = NULL;
		return ret;
	}
	pci_lock_rescan_remove();
	s->bus = bus_create(v);
	ret = s->bus ? 0 : -ENOMEM;
	if (!ret) {
		pci_scan_child_bus(s->bus);
		ret = bus_check(s->bus);
	}
	if (!ret)
		pci_bus_add_devices(s->bus);
	pci_unlock_rescan_remove();
	if (ret)
		vgpu_pci_remove(v);
	return ret;
}

/* Unplug it, if it was plugged in */
void vgpu_pci_remove(struct vgpu *v)
{
	struct slot *s = slot_of(v);

	if (s->bus) {
		struct pci_host_bridge *bridge = to_pci_host_bridge(s->bus->bridge);

		pci_lock_rescan_remove();
		pci_stop_root_bus(s->bus);
		pci_remove_root_bus(s->bus);
		pci_unlock_rescan_remove();
		/* Who made the bridge has a reference that the removal leaves alone; with it go the windows. */
		pci_free_host_bridge(bridge);
		s->bus = NULL;
	}
	platform_device_unregister(s->parent);
	s->parent = NULL;
}

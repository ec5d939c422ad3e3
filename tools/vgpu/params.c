// SPDX-License-Identifier: MIT
/*
 * params.c - the parameters of vgpu.ko, and what the devices are by them
 *
 * What may differ from device to device is a list with commas: one value for each, and the last one
 * for those that follow as well.
 */
#define pr_fmt(fmt) "vgpu: " fmt

#include <linux/log2.h>
#include <linux/module.h>
#include <linux/nodemask.h>
#include <linux/sysfs.h>

#include "compat.h"
#include "vgpu.h"

#define VGPU_SIMDS_PER_CU	4
#define VGPU_WAVES_PER_SIMD	8
#define WORD_BYTES		16u		/* of a list */

struct vgpu vgpus[VGPU_MAX_DEVICES];
unsigned int vgpu_count;
struct vgpu_settings vgpu_settings = { .poll_ns = 50000 };

static unsigned int gpus = 1;
module_param(gpus, uint, 0444);
MODULE_PARM_DESC(gpus, "how many devices there are, 1..8 (default 1); more than two want memmap= of 8 MiB each instead of 16M$0xa0000000");

static bool xgmi;
module_param(xgmi, bool, 0444);
MODULE_PARM_DESC(xgmi, "xGMI links between all devices, which have to be of one gfx target (default: none)");

static char *front = "intercept";
module_param(front, charp, 0444);
MODULE_PARM_DESC(front, "how register accesses arrive: intercept (test build of amdgpu), kmmio (any amdgpu), none (no device)");

static char *fault = "";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "comma list of what always goes wrong on all devices: names of the files in debugfs vgpu/fault");

static char *firmware;
module_param(firmware, charp, 0444);
MODULE_PARM_DESC(firmware, "comma list of what firmware of all devices does otherwise than the model assumes, names of Documentation/virtual-gpu.rst (default: the preset's)");

static char *poller = "";
module_param(poller, charp, 0444);
MODULE_PARM_DESC(poller, "what the names of kernel threads begin with that look at the device often and seldom write to it (default: none)");

static char *pauses = "always";
module_param(pauses, charp, 0444);
MODULE_PARM_DESC(pauses, "when devices that are late stand still for as long as they ran: always (default; as -icount needs), wanted (while a task runs on another CPU)");

static char *tlb = "checked";
module_param(tlb, charp, 0444);
MODULE_PARM_DESC(tlb, "cached translations: checked (default; a stale one is counted and not used), cached (it is used), off (none)");

static bool valid(const char *name, unsigned int value, unsigned int low, unsigned int high)
{
	if (value >= low && value <= high)
		return true;
	pr_err("%s=%u is out of range %u..%u\n", name, value, low, high);
	return false;
}

static int poll_set(const char *text, const struct kernel_param *kp)
{
	unsigned int value;
	int ret = kstrtouint(text, 0, &value);

	if (ret)
		return ret;
	if (!valid("poll_ns", value, 1000, 10000000))
		return -EINVAL;
	WRITE_ONCE(vgpu_settings.poll_ns, value);
	return 0;
}

static const struct kernel_param_ops poll_ops = { .set = poll_set, .get = param_get_uint };
module_param_cb(poll_ns, &poll_ops, &vgpu_settings.poll_ns, 0644);
__MODULE_PARM_TYPE(poll_ns, "uint");
MODULE_PARM_DESC(poll_ns, "time between looks at the doorbells while a program or the driver runs, 1000..10000000 ns (default 50000)");

static char *preset = "small";
module_param(preset, charp, 0444);
MODULE_PARM_DESC(preset, "of each device, with commas: what the parameters below are if they are not given: small (default), mi210, mi250 (one of its two devices), mi300x, mi325x, mi308x");

static char *asic;
module_param(asic, charp, 0444);
MODULE_PARM_DESC(asic, "of each device, with commas: gfx90a, gfx942, gfx1100 (default: the preset's; gfx90a if small)");

static char *numa;
module_param(numa, charp, 0444);
MODULE_PARM_DESC(numa, "of each device, with commas: the NUMA node that it is at (default: none)");

/* A number of each device, which the preset decides unless it is given */
struct tunable {
	unsigned int values[VGPU_MAX_DEVICES];
	unsigned int given;		/* so many are; the last one is that of the others */
};

static int tunable_set(const char *text, const struct kernel_param *kp)
{
	struct tunable *t = kp->arg;
	char word[WORD_BYTES];
	size_t length;
	int ret;

	t->given = 0;
	do {
		length = strcspn(text, ",\n");
		if (t->given == VGPU_MAX_DEVICES || length >= sizeof(word))
			return -EINVAL;
		memcpy(word, text, length);
		word[length] = '\0';
		ret = kstrtouint(word, 0, &t->values[t->given++]);
		text += length;
	} while (!ret && *text++ == ',');
	return ret;
}

static int tunable_get(char *buf, const struct kernel_param *kp)
{
	const struct tunable *t = kp->arg;
	unsigned int i;
	int at = 0;

	for (i = 0; i < max(t->given, 1u); i++)
		at += sysfs_emit_at(buf, at, "%s%u", i ? "," : "", t->values[i]);
	return at + sysfs_emit_at(buf, at, "\n");
}

static const struct kernel_param_ops tunable_ops = { .set = tunable_set, .get = tunable_get };

#define TUNABLE(_name, _text)						\
	static struct tunable _name;					\
	module_param_cb(_name, &tunable_ops, &_name, 0444);		\
	__MODULE_PARM_TYPE(_name, "list of uint");			\
	MODULE_PARM_DESC(_name, _text)

TUNABLE(vram_mb, "VRAM, 64 MiB to all of the BAR, which is the device's share of 1 GiB (default)");
TUNABLE(xccs, "accelerator complex dies of a gfx942: 1, 2, 4, 8");
TUNABLE(cus, "compute units of an XCC, 1..128, at least one and at most 16 on a shader engine");
TUNABLE(se, "shader engines of an XCC, 1..8");
TUNABLE(hbm_bytes_per_us, "bandwidth of saving and restoring waves that an XCC has, 1..100000000 bytes/us");
TUNABLE(trap_ns, "fixed cost of saving or restoring a queue, 0..1000000000 ns");
TUNABLE(runlist_ns, "cost of an unmap request, 0..1000000000 ns");
TUNABLE(connect_ns, "from a runlist until the queues of its first process run, 0..1000000000 ns; 160000 is what an MI308X took for a first, empty queue");
TUNABLE(connect_next_ns, "what each further process of a runlist adds to that, 0..1000000000 ns (default 0: they are connected side by side)");
TUNABLE(dispatch_ns, "from a packet to its first waves, 0..1000000000 ns");
TUNABLE(ring_ns, "from a doorbell or a queue's register that the driver writes until the device looks, at most poll_ns, 100..10000000 ns; the smallest is that of all devices");
TUNABLE(quantum_ns, "unit of the time slice that amdkfd asks for, when processes or queues are oversubscribed, 10000..100000000 ns");

static struct tunable *const tunables[] = {
	&vram_mb, &xccs, &cus, &se, &hbm_bytes_per_us, &trap_ns, &runlist_ns, &connect_ns, &connect_next_ns, &dispatch_ns,
	&ring_ns, &quantum_ns,
};

const struct vgpu_front vgpu_front_none = { .name = "none" };
static const struct vgpu_front *const fronts[] = { &vgpu_front_intercept, &vgpu_front_kmmio, &vgpu_front_none };

/* The word of a device in a list, or as much of it as shows that it is none that is known */
static void word_of(const char *list, u32 device, char *word)
{
	const char *end = strchrnul(list, ',');

	while (device-- && *end) {
		list = end + 1;
		end = strchrnul(list, ',');
	}
	strscpy(word, list, min_t(size_t, end - list + 1, WORD_BYTES));
}

static bool list_fits(const char *name, const char *list)
{
	u32 words = 1;
	const char *at;

	for (at = list; *at; at++)
		words += *at == ',';
	if (words <= gpus)
		return true;
	pr_err("%s=%s is for %u devices, gpus=%u\n", name, list, words, gpus);
	return false;
}

static bool lists_fit(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(tunables); i++) {
		if (tunables[i]->given <= gpus)
			continue;
		pr_err("a parameter is a list for %u devices, gpus=%u\n", tunables[i]->given, gpus);
		return false;
	}
	return list_fits("preset", preset) && (!asic || list_fits("asic", asic)) && (!numa || list_fits("numa", numa));
}

static const struct vgpu_product *find_preset(u32 device)
{
	const struct vgpu_product *p;
	char word[WORD_BYTES];
	u32 i;

	word_of(preset, device, word);
	p = vgpu_product_find(word);
	if (p)
		return p;
	pr_err("preset=%s is not one of", word);
	for (i = 0; vgpu_product_name(i); i++)
		pr_cont("%s %s", i ? "," : "", vgpu_product_name(i));
	pr_cont("\n");
	return NULL;
}

static const struct vgpu_asic *find_asic(const struct vgpu_product *p, u32 device)
{
	char word[WORD_BYTES] = "gfx90a";
	const struct vgpu_asic *found;

	if (asic)
		word_of(asic, device, word);
	else if (p->asic)
		strscpy(word, p->asic, sizeof(word));
	found = vgpu_asic_find(word);
	if (!found)
		pr_err("asic=%s is not one of gfx90a, gfx942, gfx1100\n", word);
	return found;
}

static bool parse_numa(struct vgpu *v)
{
	char word[WORD_BYTES];

	v->numa_node = NUMA_NO_NODE;
	if (!numa)
		return true;
	word_of(numa, v->number, word);
	if (!kstrtoint(word, 0, &v->numa_node) && v->numa_node >= 0 && v->numa_node < MAX_NUMNODES && node_online(v->numa_node))
		return true;
	pr_err("numa=%s is not a NUMA node of this machine\n", word);
	return false;
}

/* What is given stays; @t then has a value of its own for this device */
static u32 choose(struct tunable *t, u32 device, u32 value)
{
	if (t->given <= device)
		t->values[device] = t->given ? t->values[t->given - 1] : value;
	return t->values[device];
}

static bool parse_tlb(enum vgpu_tlb_mode *mode)
{
	static const char *const modes[] = {
		[VGPU_TLB_CHECKED] = "checked", [VGPU_TLB_CACHED] = "cached", [VGPU_TLB_OFF] = "off",
	};
	int i = match_string(modes, ARRAY_SIZE(modes), tlb);

	if (i < 0) {
		pr_err("tlb=%s is not one of checked, cached, off\n", tlb);
		return false;
	}
	*mode = i;
	return true;
}

static bool parse_pauses(void)
{
	vgpu_settings.pauses_always = !strcmp(pauses, "always");
	if (vgpu_settings.pauses_always || !strcmp(pauses, "wanted"))
		return true;
	pr_err("pauses=%s is not one of always, wanted\n", pauses);
	return false;
}

static bool parse_units(struct vgpu_config *c)
{
	if (!is_power_of_2(c->xccs)) {
		pr_err("xccs=%u is not a power of two\n", c->xccs);
		return false;
	}
	if (c->cus % c->asic->cus_per_fuse) {
		pr_err("cus=%u: compute units of a %s come in groups of %u\n", c->cus, c->asic->name, c->asic->cus_per_fuse);
		return false;
	}
	if (c->cus / c->asic->cus_per_fuse < c->se || DIV_ROUND_UP(c->cus, c->se) > 16) {
		pr_err("cus=%u cannot be spread over se=%u shader engines: at least one and at most 16 each\n",
		       c->cus, c->se);
		return false;
	}
	return true;
}

/* Its product, the numbers that are not given, and whether each of them can be */
static bool parse_device(struct vgpu *v)
{
	const struct vgpu_product *p = find_preset(v->number);
	struct vgpu_config *c = &v->config;
	u32 i = v->number, bar_mb = v->vram_bar_bytes >> 20, mb, ring;

	if (!p)
		return false;
	v->preset = p->name;
	c->asic = find_asic(p, i);
	if (!c->asic || !parse_numa(v))
		return false;
	c->xccs = choose(&xccs, i, p->xccs);
	c->cus = choose(&cus, i, p->cus);
	c->se = choose(&se, i, p->se);
	c->hbm_bytes_per_us = choose(&hbm_bytes_per_us, i, p->hbm_bytes_per_us);
	c->trap_ns = choose(&trap_ns, i, p->trap_ns);
	c->runlist_ns = choose(&runlist_ns, i, p->runlist_ns);
	c->connect_ns = choose(&connect_ns, i, p->connect_ns);
	c->connect_next_ns = choose(&connect_next_ns, i, p->connect_next_ns);
	c->dispatch_ns = choose(&dispatch_ns, i, p->dispatch_ns);
	c->quantum_ns = choose(&quantum_ns, i, p->quantum_ns);
	ring = choose(&ring_ns, i, p->ring_ns);
	mb = choose(&vram_mb, i, bar_mb);
	if (!vgpu_product_apply(p, c) || !valid("xccs", c->xccs, 1, c->asic->max_xccs) || !valid("se", c->se, 1, 8) ||
	    !valid("cus", c->cus, 1, 128) || !valid("vram_mb", mb, 64, bar_mb) ||
	    !valid("hbm_bytes_per_us", c->hbm_bytes_per_us, 1, 100000000) || !valid("trap_ns", c->trap_ns, 0, 1000000000) ||
	    !valid("runlist_ns", c->runlist_ns, 0, 1000000000) || !valid("connect_ns", c->connect_ns, 0, 1000000000) ||
	    !valid("connect_next_ns", c->connect_next_ns, 0, 1000000000) || !valid("dispatch_ns", c->dispatch_ns, 0, 1000000000) ||
	    !valid("ring_ns", ring, 100, 10000000) || !valid("quantum_ns", c->quantum_ns, 10000, 100000000) ||
	    !parse_units(c) || !parse_tlb(&c->tlb) ||
	    !vgpu_firmware_parse(firmware ? firmware : p->firmware ? p->firmware : "", &c->firmware))
		return false;
	vgpu_settings.ring_ns = min(vgpu_settings.ring_ns, ring);
	c->vram_bytes = (u64)mb << 20;
	c->doorbell_bytes = VGPU_DOORBELL_BYTES;
	c->simds_per_cu = VGPU_SIMDS_PER_CU;
	c->waves_per_simd = VGPU_WAVES_PER_SIMD;
	return true;
}

/* All of them in the order of their memory, of which none has more than the share of it */
static bool connect_devices(void)
{
	struct vgpu *v;

	if (!xgmi)
		return true;
	for_each_vgpu(v) {
		if (vgpu_count < 2 || v->config.asic != vgpus[0].config.asic) {
			pr_err("xgmi=1 needs several devices of one gfx target\n");
			return false;
		}
		v->config.hive = vgpu_count;
		v->config.hive_node = v->number;
		v->config.hive_bytes = v->vram_bar_bytes;
	}
	return true;
}

/* What the files of the parameters show: one value, or one for each device */
static void show_chosen(void)
{
	u32 i, device;

	for (i = 0; i < ARRAY_SIZE(tunables); i++) {
		tunables[i]->given = 1;
		for (device = 1; device < gpus; device++)
			if (tunables[i]->values[device] != tunables[i]->values[0])
				tunables[i]->given = gpus;
	}
	if (!firmware) {
		const struct vgpu_product *p = vgpu_product_find(vgpus[0].preset);

		firmware = (char *)(p->firmware ? p->firmware : "");
	}
}

/**
 * vgpu_params_parse() - make devices and settings of the parameters
 *
 * Return: 0; -EINVAL after a message
 */
int vgpu_params_parse(void)
{
	struct vgpu *v;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fronts); i++)
		if (!strcmp(front, fronts[i]->name))
			vgpu_settings.front = fronts[i];
	if (!vgpu_settings.front) {
		pr_err("front=%s is not one of intercept, kmmio, none\n", front);
		return -EINVAL;
	}
	if (!valid("gpus", gpus, 1, VGPU_MAX_DEVICES) || !lists_fit() || !parse_pauses() ||
	    !vgpu_names_parse("fault", fault, vgpu_fault_name, VGPU_FAULTS, &vgpu_settings.faults))
		return -EINVAL;
	vgpu_settings.poller = poller;
	vgpu_settings.ring_ns = UINT_MAX;
	vgpu_count = gpus;
	for_each_vgpu(v) {
		v->number = v - vgpus;
		v->vram_bar_bytes = rounddown_pow_of_two(VGPU_VRAM_BYTES / gpus);
		v->vram_phys = VGPU_VRAM_PHYS + v->number * v->vram_bar_bytes;
		v->low_phys = VGPU_LOW_PHYS + (u64)v->number * VGPU_LOW_BYTES;
		if (!parse_device(v))
			return -EINVAL;
	}
	if (!connect_devices())
		return -EINVAL;
	show_chosen();
	return 0;
}

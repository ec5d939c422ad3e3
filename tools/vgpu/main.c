// SPDX-License-Identifier: MIT
/*
 * main.c - the module vgpu.ko: parameters, the thread that drives the model, interrupt, debugfs
 *
 * Touches nothing but the memory in vgpu.h, its own PCI domain and debugfs/vgpu.
 */
#define pr_fmt(fmt) "vgpu: " fmt

#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/irqdesc.h>
#include <linux/kthread.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <trace/events/power.h>

#include "compat.h"
#include "vgpu.h"

#define VGPU_SIMDS_PER_CU	4
#define VGPU_WAVES_PER_SIMD	8
#define DEBUGFS_TEXT_BYTES	65536u
#define DISCOVERY_BYTES		10240u		/* what the driver reads */

struct vgpu vgpu;

static char *front = "intercept";
module_param(front, charp, 0444);
MODULE_PARM_DESC(front, "how register accesses arrive: intercept (test build of amdgpu), kmmio (any amdgpu), none (no device)");

static char *fault = "";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "comma list of what always goes wrong: names of the files in debugfs vgpu/fault");

static char *firmware;
module_param(firmware, charp, 0444);
MODULE_PARM_DESC(firmware, "comma list of what firmware does otherwise than the model assumes, names of Documentation/virtual-gpu.rst (default: the preset's)");

static char *poller = "";
module_param(poller, charp, 0444);
MODULE_PARM_DESC(poller, "what the names of kernel threads begin with that look at the device often and seldom write to it (default: none)");

static char *tlb = "checked";
module_param(tlb, charp, 0444);
MODULE_PARM_DESC(tlb, "cached translations: checked (default; a stale one is counted and not used), cached (it is used), off (none)");

static unsigned int vram_mb = VGPU_VRAM_BYTES >> 20;
module_param(vram_mb, uint, 0444);
MODULE_PARM_DESC(vram_mb, "VRAM, 64..1024 MiB (default 1024); the BAR has always 1024");

static bool valid(const char *name, unsigned int value, unsigned int low, unsigned int high)
{
	if (value >= low && value <= high)
		return true;
	pr_err("%s=%u is out of range %u..%u\n", name, value, low, high);
	return false;
}

static unsigned int poll_ns = 50000;

static int poll_set(const char *text, const struct kernel_param *kp)
{
	unsigned int value;
	int ret = kstrtouint(text, 0, &value);

	if (ret)
		return ret;
	if (!valid("poll_ns", value, 1000, 10000000))
		return -EINVAL;
	WRITE_ONCE(poll_ns, value);
	return 0;
}

static const struct kernel_param_ops poll_ops = { .set = poll_set, .get = param_get_uint };
module_param_cb(poll_ns, &poll_ops, &poll_ns, 0644);
__MODULE_PARM_TYPE(poll_ns, "uint");
MODULE_PARM_DESC(poll_ns, "time between looks at the doorbells while a program or the driver runs, 1000..10000000 ns (default 50000)");

static char *preset = "small";
module_param(preset, charp, 0444);
MODULE_PARM_DESC(preset, "what the parameters below are if they are not given: small (default), mi210, mi250 (one of its two devices), mi300x, mi325x, mi308x");

static char *asic;
module_param(asic, charp, 0444);
MODULE_PARM_DESC(asic, "which device: gfx90a, gfx942 (default: the preset's; gfx90a if small)");

/* A number that the preset decides unless it is given */
struct tunable {
	unsigned int value;
	bool given;
};

static int tunable_set(const char *text, const struct kernel_param *kp)
{
	struct tunable *t = kp->arg;

	t->given = true;
	return kstrtouint(text, 0, &t->value);
}

static int tunable_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%u\n", ((const struct tunable *)kp->arg)->value);
}

static const struct kernel_param_ops tunable_ops = { .set = tunable_set, .get = tunable_get };

#define TUNABLE(_name, _text)						\
	static struct tunable _name;					\
	module_param_cb(_name, &tunable_ops, &_name, 0444);		\
	__MODULE_PARM_TYPE(_name, "uint");				\
	MODULE_PARM_DESC(_name, _text)

TUNABLE(xccs, "accelerator complex dies of a gfx942: 1, 2, 4, 8");
TUNABLE(cus, "compute units of an XCC, 1..128, at least one and at most 16 on a shader engine");
TUNABLE(se, "shader engines of an XCC, 1..8");
TUNABLE(hbm_bytes_per_us, "bandwidth of saving and restoring waves that an XCC has, 1..100000000 bytes/us");
TUNABLE(trap_ns, "fixed cost of saving or restoring a queue, 0..1000000000 ns");
TUNABLE(runlist_ns, "cost of an unmap request, 0..1000000000 ns");
TUNABLE(connect_ns, "from a runlist until the queues of its first process run, 0..1000000000 ns; 160000 is what an MI308X took for a first, empty queue");
TUNABLE(connect_next_ns, "what each further process of a runlist adds to that, 0..1000000000 ns (default 0: they are connected side by side)");
TUNABLE(dispatch_ns, "from a packet to its first waves, 0..1000000000 ns");
TUNABLE(ring_ns, "from a doorbell or a queue's register that the driver writes until the device looks, at most poll_ns, 100..10000000 ns");
TUNABLE(quantum_ns, "unit of the time slice that amdkfd asks for, when processes or queues are oversubscribed, 10000..100000000 ns");

static const struct vgpu_front vgpu_front_none = { .name = "none" };
static const struct vgpu_front *const fronts[] = { &vgpu_front_intercept, &vgpu_front_kmmio, &vgpu_front_none };
static const struct vgpu_front *current_front;
static struct task_struct *cp_thread;
static bool watching;			/* cp_thread is there, and is told */

/*
 * The command processor has the CPU that the guest was told to isolate; the other takes the
 * interrupts, and with them the work that the driver's handler queues. It should be CPU 0: with
 * -icount QEMU gives every slice of time to CPU 0 first, and the driver waits for the device in
 * loops that would use it up.
 */
static unsigned int cp_cpu, irq_cpu;

static struct dentry *debugfs;

/* Held while the model runs, so that debugfs sees it between two steps. Registers have a lock of their own. */
static DEFINE_MUTEX(model_mutex);

static void choose(struct tunable *t, unsigned int value)
{
	if (!t->given)
		t->value = value;
}

/* Return: NULL if there is no such preset, or no such device */
static const struct vgpu_product *apply_preset(struct vgpu_config *c)
{
	const struct vgpu_product *p = vgpu_product_find(preset);
	u32 i;

	if (!p) {
		pr_err("preset=%s is not one of", preset);
		for (i = 0; vgpu_product_name(i); i++)
			pr_cont("%s %s", i ? "," : "", vgpu_product_name(i));
		pr_cont("\n");
		return NULL;
	}
	if (!asic)
		asic = (char *)(p->asic ? p->asic : "gfx90a");
	c->asic = vgpu_asic_find(asic);
	if (!c->asic) {
		pr_err("asic=%s is not one of gfx90a, gfx942\n", asic);
		return NULL;
	}
	if (!firmware)
		firmware = (char *)(p->firmware ? p->firmware : "");
	choose(&xccs, p->xccs);
	c->xccs = xccs.value;
	choose(&cus, p->cus);
	choose(&se, p->se);
	choose(&hbm_bytes_per_us, p->hbm_bytes_per_us);
	choose(&trap_ns, p->trap_ns);
	choose(&runlist_ns, p->runlist_ns);
	choose(&connect_ns, p->connect_ns);
	choose(&connect_next_ns, p->connect_next_ns);
	choose(&dispatch_ns, p->dispatch_ns);
	choose(&ring_ns, p->ring_ns);
	choose(&quantum_ns, p->quantum_ns);
	return p;
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

static int parse_parameters(struct vgpu_config *c, u32 *faults)
{
	const struct vgpu_product *product;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fronts); i++)
		if (!strcmp(front, fronts[i]->name))
			current_front = fronts[i];
	if (!current_front) {
		pr_err("front=%s is not one of intercept, kmmio, none\n", front);
		return -EINVAL;
	}
	product = apply_preset(c);
	if (!product || !vgpu_product_apply(product, c) || !valid("xccs", xccs.value, 1, c->asic->max_xccs) ||
	    !valid("se", se.value, 1, 8) || !valid("cus", cus.value, 1, 128) ||
	    !valid("vram_mb", vram_mb, 64, VGPU_VRAM_BYTES >> 20) ||
	    !valid("hbm_bytes_per_us", hbm_bytes_per_us.value, 1, 100000000) ||
	    !valid("trap_ns", trap_ns.value, 0, 1000000000) || !valid("runlist_ns", runlist_ns.value, 0, 1000000000) ||
	    !valid("connect_ns", connect_ns.value, 0, 1000000000) || !valid("connect_next_ns", connect_next_ns.value, 0, 1000000000) ||
	    !valid("dispatch_ns", dispatch_ns.value, 0, 1000000000) ||
	    !valid("ring_ns", ring_ns.value, 100, 10000000) || !valid("quantum_ns", quantum_ns.value, 10000, 100000000) ||
	    !parse_tlb(&c->tlb) || !vgpu_names_parse("fault", fault, vgpu_fault_name, VGPU_FAULTS, faults) ||
	    !vgpu_firmware_parse(firmware, &c->firmware))
		return -EINVAL;
	if (!is_power_of_2(xccs.value)) {
		pr_err("xccs=%u is not a power of two\n", xccs.value);
		return -EINVAL;
	}
	if (cus.value < se.value || DIV_ROUND_UP(cus.value, se.value) > 16) {
		pr_err("cus=%u cannot be spread over se=%u shader engines: at least one and at most 16 each\n",
		       cus.value, se.value);
		return -EINVAL;
	}
	c->vram_bytes = (u64)vram_mb << 20;
	c->doorbell_bytes = VGPU_DOORBELL_BYTES;
	c->cus = cus.value;
	c->simds_per_cu = VGPU_SIMDS_PER_CU;
	c->waves_per_simd = VGPU_WAVES_PER_SIMD;
	c->se = se.value;
	c->trap_ns = trap_ns.value;
	c->runlist_ns = runlist_ns.value;
	c->connect_ns = connect_ns.value;
	c->connect_next_ns = connect_next_ns.value;
	c->dispatch_ns = dispatch_ns.value;
	c->hbm_bytes_per_us = hbm_bytes_per_us.value;
	c->quantum_ns = quantum_ns.value;
	return 0;
}

/* System memory as the device sees it. There is no IOMMU: a bus address is a physical one. */
static void *sys_ptr(void *ctx, u64 bus_addr, u32 len)
{
	unsigned long pfn = PHYS_PFN(bus_addr);

	if (bus_addr - VGPU_DOORBELL_PHYS < VGPU_DOORBELL_BYTES)
		return (u8 *)vgpu.doorbells + (bus_addr - VGPU_DOORBELL_PHYS);
	if (bus_addr - VGPU_VRAM_PHYS < VGPU_VRAM_BYTES)
		return (u8 *)vgpu.vram + (bus_addr - VGPU_VRAM_PHYS);
	if (!pfn_valid(pfn) || PageReserved(pfn_to_page(pfn)))
		return NULL;
	return phys_to_virt(bus_addr);
}

static void *vram_ptr(void *ctx, u64 offset, u32 len)
{
	u64 bytes = (u64)vram_mb << 20;

	return offset < bytes && len <= bytes - offset ? (u8 *)vgpu.vram + offset : NULL;
}

static u64 now_ns(void *ctx)
{
	return ktime_get_ns();
}

static void interrupt_by_itself(struct irq_work *unused)
{
	generic_handle_irq(vgpu.irq);
}

static struct irq_work irq_work = IRQ_WORK_INIT_HARD(interrupt_by_itself);

/* A CPU that is about to halt carries out calls without having been interrupted; a driver's handler relies on that it was. */
static void interrupt(void *unused)
{
	if (in_hardirq())
		generic_handle_irq(vgpu.irq);
	else
		irq_work_queue(&irq_work);
}

static call_single_data_t irq_call = CSD_INIT(interrupt, NULL);

/* One that is still on its way will find the new entries, too */
static void raise_irq(void *ctx)
{
	smp_call_function_single_async(irq_cpu, &irq_call);
}

static void nothing(void *unused)
{
}

/* Calls to a CPU are carried out in order: when this one is, no interrupt is on its way */
static void sync_irq(void)
{
	smp_call_function_single(irq_cpu, nothing, NULL, true);
	irq_work_sync(&irq_work);
}

static const struct vgpu_platform_ops platform_ops = {
	.sys_ptr = sys_ptr,
	.vram_ptr = vram_ptr,
	.now_ns = now_ns,
	.raise_irq = raise_irq,
};

/*
 * Doorbells are memory, and so is what packets wait for. On a CPU that runs a task which may write
 * there, the command processor looks after each poll_ns, and once more when that CPU becomes idle,
 * if the last look ended as long ago. It does not look while all CPUs are idle: that is most of the
 * time, and each look costs emulation far more than its instructions.
 *
 * A poller (see the parameter) runs often and seldom writes. It writes by accessors, which front
 * end "intercept" reports. That front end also reports what the driver asks of the command
 * processor: a doorbell, a queue's registers. The device looks ring_ns later.
 */
struct watch {
	struct hrtimer timer;		/* of this CPU, runs while @rung */
	bool rung;			/* a task may have rung since this CPU was idle */
	bool soon;			/* the timer is for something asked, or gives the turn away */
};

static DEFINE_PER_CPU(struct watch, watch);

/* Bounds what a missed look costs. None is known to be missed: no task writes while all CPUs are idle. */
#define LONGEST_SLEEP_NS	1000000u

/* A timer that expires so soon only gives the turn away. */
#define TURN_NS			1000u

/* When rings can be looked for next; U64_MAX while the command processor is at it. What it takes of the CPU, others need as well. */
static u64 next_look_ns;

/* Something was asked of it since its last look began. */
static bool asked;

static bool is_poller(const struct task_struct *task)
{
	return *poller && !strncmp(task->comm, poller, strlen(poller));
}

static bool may_ring(const struct task_struct *task)
{
	return !is_idle_task(task) && task != cp_thread && (current_front != &vgpu_front_intercept || !is_poller(task));
}

/*
 * QEMU's -icount takes the turn away from a CPU that arms its timer as the next one to expire, and
 * lets the other run until then. The command processor loses its turn so in the interrupt that
 * wakes it, and would have to wait for the next tick. This timer, on the CPU that is busy, gives it
 * back.
 */
static enum hrtimer_restart watch_expires(struct hrtimer *timer)
{
	struct watch *w = container_of(timer, struct watch, timer);
	u64 now = ktime_get_ns(), due = READ_ONCE(next_look_ns);

	w->soon = false;
	if (now >= due) {
		wake_up_process(cp_thread);
		w->rung = !is_idle_task(current);
		due = U64_MAX;
	}
	/*
	 * One on its own CPU as well would leave the command processor a small part of each poll_ns.
	 * Who runs there next begins anew.
	 */
	if (current == cp_thread)
		w->rung = false;
	hrtimer_set_expires(timer, ns_to_ktime(due == U64_MAX ? now + READ_ONCE(poll_ns) : due));
	return w->rung ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/* With interrupts off */
static void watch_this_cpu(void)
{
	struct watch *w = this_cpu_ptr(&watch);

	if (w->rung)
		return;
	w->rung = true;
	hrtimer_start(&w->timer, ns_to_ktime(READ_ONCE(poll_ns)), HRTIMER_MODE_REL_PINNED_HARD);
}

/* The timer of this CPU, which may run already, is to expire so soon. With interrupts off */
static void expire_soon(u32 ns)
{
	struct watch *w = this_cpu_ptr(&watch);

	if (w->soon)
		return;
	w->soon = true;
	w->rung = true;
	hrtimer_start(&w->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_PINNED_HARD);
}

/* The next look is no later than that; one that is under way is followed by another. */
static void look_soon(void)
{
	u64 due = READ_ONCE(next_look_ns), at = ktime_get_ns() + ring_ns.value;

	/* Pairs with cp_main(): either it finds this, or this finds when it will look. */
	smp_store_mb(asked, true);
	while (due != U64_MAX && due > at && !try_cmpxchg64(&next_look_ns, &due, at))
		;
	expire_soon(ring_ns.value);
}

/**
 * vgpu_rung() - the driver wrote a register or a doorbell
 * @asks: the command processor is asked for something by that: a doorbell, a queue's register
 *
 * Any context.
 */
void vgpu_rung(bool asks)
{
	unsigned long flags;

	local_irq_save(flags);
	if (watching && asks && ring_ns.value < READ_ONCE(poll_ns))
		look_soon();
	else if (watching)
		watch_this_cpu();
	local_irq_restore(flags);
}

/* Under the run queue's lock: no task can be woken here */
static void watch_switch(void *unused, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	if (may_ring(next))
		watch_this_cpu();
}

/*
 * The same loop of QEMU's would let the CPU that wakes a poller go on until it sleeps, and run the
 * command processor before the poller: on CPUs that run side by side both begin at once. Under the
 * task's lock.
 */
static void watch_wake(void *unused, struct task_struct *task)
{
	if (is_poller(task) && task_cpu(task) != smp_processor_id() && !is_idle_task(current))
		expire_soon(TURN_NS);
}

/* In the idle task, without interrupts */
static void watch_idle(void *unused, unsigned int state, unsigned int cpu)
{
	struct watch *w = this_cpu_ptr(&watch);

	if (state == PWR_EVENT_EXIT || !w->rung || ktime_get_ns() < READ_ONCE(next_look_ns))
		return;
	w->rung = false;
	w->soon = false;
	hrtimer_try_to_cancel(&w->timer);
	wake_up_process(cp_thread);
}

/* What the scheduler does not export */
static struct probe {
	const char *name;
	void *function;
	struct tracepoint *tp;		/* it is there */
} probes[] = {
	{ .name = "sched_switch", .function = watch_switch },
	{ .name = "sched_waking", .function = watch_wake },
};

static void find_probes(struct tracepoint *tp, void *unused)
{
	struct probe *p;

	for (p = probes; p < probes + ARRAY_SIZE(probes); p++)
		if (!strcmp(tp->name, p->name))
			p->tp = tp;
}

static void unregister_probes(void)
{
	struct probe *p;

	for (p = probes; p < probes + ARRAY_SIZE(probes); p++)
		if (p->tp)
			tracepoint_probe_unregister(p->tp, p->function, NULL);
	tracepoint_synchronize_unregister();
}

static int register_probes(void)
{
	struct probe *p;
	int ret;

	for_each_kernel_tracepoint(find_probes, NULL);
	for (p = probes; p < probes + ARRAY_SIZE(probes); p++) {
		ret = p->tp ? tracepoint_probe_register(p->tp, p->function, NULL) : -EOPNOTSUPP;
		if (ret) {
			unregister_probes();
			return ret;
		}
	}
	return 0;
}

static void watch_end(void)
{
	int cpu;

	if (!watching)
		return;
	watching = false;
	unregister_trace_cpu_idle(watch_idle, NULL);
	unregister_probes();
	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu(watch, cpu).timer);
}

static int watch_begin(void)
{
	int cpu, ret;

	for_each_possible_cpu(cpu) {
		struct watch *w = &per_cpu(watch, cpu);

		hrtimer_setup(&w->timer, watch_expires, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
	}
	ret = register_probes();
	if (ret)
		return ret;
	ret = register_trace_cpu_idle(watch_idle, NULL);
	if (ret) {
		unregister_probes();
		return ret;
	}
	watching = true;
	return 0;
}

/* The command processor: run what is due, sleep until the next event or the next look */
static int cp_main(void *unused)
{
	while (!kthread_should_stop()) {
		u64 next, now, look_ns;
		ktime_t sleep;

		WRITE_ONCE(next_look_ns, U64_MAX);
		smp_store_mb(asked, false);
		mutex_lock(&model_mutex);
		if (vgpu_pci_reset_wanted()) {
			vgpu_model_reset(vgpu.model);
			vgpu_pci_reset_done();
		}
		next = vgpu_model_run(vgpu.model);
		mutex_unlock(&model_mutex);
		now = ktime_get_ns();
		look_ns = max(READ_ONCE(poll_ns), LONGEST_SLEEP_NS);
		smp_store_mb(next_look_ns, now + READ_ONCE(poll_ns));
		/* Asked meanwhile: by that look, or too late for it. */
		if (READ_ONCE(asked)) {
			look_ns = ring_ns.value;
			WRITE_ONCE(next_look_ns, now + look_ns);
		}
		sleep = ns_to_ktime(min_t(u64, next > now ? next - now : 0, look_ns));
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			__set_current_state(TASK_RUNNING);
		else if (sleep)
			schedule_hrtimeout(&sleep, HRTIMER_MODE_REL);
		else {
			__set_current_state(TASK_RUNNING);
			cond_resched();
		}
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static int choose_cpus(void)
{
	const struct cpumask *others;
	unsigned int cpu, isolated = nr_cpu_ids;

	/* From 7.0 on cpusets may replace the mask. */
	rcu_read_lock();
	others = housekeeping_cpumask(HK_TYPE_DOMAIN);
	irq_cpu = cpumask_any_and(others, cpu_online_mask);
	for_each_online_cpu(cpu) {
		if (!cpumask_test_cpu(cpu, others)) {
			isolated = cpu;
			break;
		}
	}
	rcu_read_unlock();
	if (isolated < nr_cpu_ids) {
		cp_cpu = isolated;
		return 0;
	}
	pr_err("no CPU for the command processor: boot with two CPUs and isolcpus=0\n");
	return -ENODEV;
}

static int cp_start(void)
{
	cp_thread = kthread_create(cp_main, NULL, "vgpu_cp");
	if (IS_ERR(cp_thread))
		return PTR_ERR(cp_thread);
	kthread_bind(cp_thread, cp_cpu);
	/*
	 * Hardware does not wait for its driver. Kernel threads, the driver's own among them, end
	 * up on an isolated CPU as on any other, and wait for the device there in loops.
	 */
	sched_set_fifo(cp_thread);
	wake_up_process(cp_thread);
	return watch_begin();
}

/* A new driver instance maps the registers anew */
static int bus_event(struct notifier_block *nb, unsigned long action, void *dev)
{
	if (action == BUS_NOTIFY_BIND_DRIVER && vgpu.pdev && dev == &vgpu.pdev->dev && current_front->bind)
		current_front->bind();
	return NOTIFY_DONE;
}

static struct notifier_block bus_notifier = { .notifier_call = bus_event };

static ssize_t debugfs_read(struct file *file, char __user *to, size_t count, loff_t *pos,
			    u32 (*print)(struct vgpu_model *m, char *buf, u32 size))
{
	char *text = kvmalloc(DEBUGFS_TEXT_BYTES, GFP_KERNEL);
	ssize_t ret;
	u32 bytes;

	if (!text)
		return -ENOMEM;
	mutex_lock(&model_mutex);
	bytes = print(vgpu.model, text, DEBUGFS_TEXT_BYTES);
	mutex_unlock(&model_mutex);
	ret = simple_read_from_buffer(to, count, pos, text, bytes);
	kvfree(text);
	return ret;
}

static ssize_t stats_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	return debugfs_read(file, to, count, pos, vgpu_model_print_stats);
}

static ssize_t queues_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	return debugfs_read(file, to, count, pos, vgpu_model_print_queues);
}

static ssize_t cus_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	return debugfs_read(file, to, count, pos, vgpu_model_print_cus);
}

static const struct file_operations stats_fops = { .owner = THIS_MODULE, .read = stats_read, .llseek = default_llseek };
static const struct file_operations queues_fops = { .owner = THIS_MODULE, .read = queues_read, .llseek = default_llseek };

static const struct file_operations cus_fops = { .owner = THIS_MODULE, .read = cus_read, .llseek = default_llseek };

static int left_get(void *data, u64 *value)
{
	mutex_lock(&model_mutex);
	*value = *vgpu_model_fault_left(vgpu.model, (unsigned long)data);
	mutex_unlock(&model_mutex);
	return 0;
}

static int left_set(void *data, u64 value)
{
	if (value > U32_MAX)
		return -EINVAL;
	mutex_lock(&model_mutex);
	*vgpu_model_fault_left(vgpu.model, (unsigned long)data) = value;
	mutex_unlock(&model_mutex);
	return 0;
}

static int value_get(void *data, u64 *value)
{
	mutex_lock(&model_mutex);
	*value = *vgpu_model_fault_value(vgpu.model, (unsigned long)data);
	mutex_unlock(&model_mutex);
	return 0;
}

static int value_set(void *data, u64 value)
{
	mutex_lock(&model_mutex);
	*vgpu_model_fault_value(vgpu.model, (unsigned long)data) = value;
	mutex_unlock(&model_mutex);
	return 0;
}

static int xcc_get(void *data, u64 *value)
{
	*value = *vgpu_model_fault_xcc(vgpu.model);
	return 0;
}

static int xcc_set(void *data, u64 value)
{
	if (value > U32_MAX)
		return -EINVAL;
	mutex_lock(&model_mutex);
	*vgpu_model_fault_xcc(vgpu.model) = value;
	mutex_unlock(&model_mutex);
	return 0;
}

static int scribble_set(void *data, u64 value)
{
	bool done;

	mutex_lock(&model_mutex);
	done = vgpu_model_scribble(vgpu.model);
	mutex_unlock(&model_mutex);
	return done ? 0 : -ENOENT;
}

/* The device forgets everything, without the driver's asking */
static int reset_set(void *data, u64 value)
{
	mutex_lock(&model_mutex);
	vgpu_model_reset(vgpu.model);
	mutex_unlock(&model_mutex);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(left_fops, left_get, left_set, "%llu\n");
DEFINE_DEBUGFS_ATTRIBUTE(value_fops, value_get, value_set, "%llu\n");
DEFINE_DEBUGFS_ATTRIBUTE(xcc_fops, xcc_get, xcc_set, "%llu\n");
DEFINE_DEBUGFS_ATTRIBUTE(scribble_fops, NULL, scribble_set, "%llu\n");
DEFINE_DEBUGFS_ATTRIBUTE(reset_fops, NULL, reset_set, "%llu\n");

static void debugfs_add(void)
{
	struct dentry *faults;
	unsigned long i;

	debugfs = debugfs_create_dir("vgpu", NULL);
	debugfs_create_file("stats", 0444, debugfs, NULL, &stats_fops);
	debugfs_create_file("queues", 0444, debugfs, NULL, &queues_fops);
	debugfs_create_file("cus", 0444, debugfs, NULL, &cus_fops);
	debugfs_create_file("scribble", 0200, debugfs, NULL, &scribble_fops);
	debugfs_create_file("reset", 0200, debugfs, NULL, &reset_fops);
	faults = debugfs_create_dir("fault", debugfs);
	debugfs_create_file("xcc", 0644, faults, NULL, &xcc_fops);
	for (i = 0; i < VGPU_FAULTS; i++) {
		debugfs_create_file(vgpu_fault_name(i), 0644, faults, (void *)i, &left_fops);
		if (vgpu_fault_value_name(i))
			debugfs_create_file(vgpu_fault_value_name(i), 0644, faults, (void *)i, &value_fops);
	}
}

static int rom_write(void)
{
	u8 *image = kzalloc(VGPU_ROM_BYTES, GFP_KERNEL);
	void __iomem *rom = ioremap(VGPU_ROM_PHYS, VGPU_ROM_BYTES);
	int ret = image && rom ? 0 : -ENOMEM;

	if (!ret) {
		vgpu_vbios_build(image, VGPU_ROM_BYTES, &vgpu.config);
		memcpy_toio(rom, image, VGPU_ROM_BYTES);
	}
	if (rom)
		iounmap(rom);
	kfree(image);
	return ret;
}

/* Where the driver looks for it: at the end of VRAM, which it leaves alone for that reason */
static int discovery_write(void)
{
	void *table = kzalloc(DISCOVERY_BYTES, GFP_KERNEL);
	u32 bytes = table ? vgpu_discovery_build(&vgpu.config, table, DISCOVERY_BYTES) : 0;

	if (bytes)
		memcpy_toio((void __iomem *)vgpu.vram + vgpu.config.vram_bytes - VGPU_DISCOVERY_OFFSET, table, bytes);
	kfree(table);
	return bytes ? 0 : -ENOMEM;
}

static void teardown(void)
{
	debugfs_remove_recursive(debugfs);
	debugfs = NULL;
	if (vgpu.pdev)
		vgpu_pci_remove();
	bus_unregister_notifier(&pci_bus_type, &bus_notifier);
	watch_end();
	if (!IS_ERR_OR_NULL(cp_thread))
		kthread_stop(cp_thread);
	sync_irq();
	if (current_front->exit)
		current_front->exit();
	if (vgpu.model)
		vgpu_model_destroy(vgpu.model);
	vgpu_pci_unmap();
}

static int __init vgpu_init(void)
{
	u32 faults, i;
	int ret = parse_parameters(&vgpu.config, &faults);

	if (ret)
		return ret;
	vgpu_spare_shadow();
	if (current_front == &vgpu_front_none)
		return 0;
	ret = choose_cpus();
	if (!ret)
		ret = vgpu_pci_map();
	if (ret)
		return ret;
	ret = bus_register_notifier(&pci_bus_type, &bus_notifier);
	if (ret) {
		vgpu_pci_unmap();
		return ret;
	}
	vgpu.config.doorbells = vgpu.doorbells;
	vgpu.model = vgpu_model_create(&vgpu.config, &platform_ops, &vgpu);
	ret = vgpu.model ? rom_write() : -ENOMEM;
	if (!ret && vgpu.config.asic->discovery)
		ret = discovery_write();
	for (i = 0; !ret && i < VGPU_FAULTS; i++)
		if (faults & BIT(i))
			*vgpu_model_fault_left(vgpu.model, i) = U32_MAX;
	if (!ret && current_front->init) {
		ret = current_front->init();
		if (ret)
			current_front = &vgpu_front_none;	/* nothing to undo */
	}
	if (!ret)
		ret = cp_start();
	if (!ret) {
		debugfs_add();
		ret = vgpu_pci_add();
	}
	if (ret) {
		pr_err("no device: error %d\n", ret);
		teardown();
		return ret;
	}
	pr_info("%s: %s, preset %s, %u XCCs of %u CUs in %u shader engines, %u MiB, front end %s%s%s\n", pci_name(vgpu.pdev),
		vgpu.config.asic->name, preset, xccs.value, cus.value, se.value, vram_mb, current_front->name, *firmware ? ", firmware " : "", firmware);
	return 0;
}

static void __exit vgpu_exit(void)
{
	if (current_front != &vgpu_front_none)
		teardown();
}

module_init(vgpu_init);
module_exit(vgpu_exit);
MODULE_DESCRIPTION("Virtual GPU (gfx90a, gfx942): a test instrument for amdgpu and amdkfd");
MODULE_LICENSE("Dual MIT/GPL");

// SPDX-License-Identifier: MIT
/*
 * main.c - the module vgpu.ko: the thread that drives the models, and interrupts
 *
 * Touches nothing but the memory in vgpu.h, its own PCI domains and debugfs/vgpu.
 */
#define pr_fmt(fmt) "vgpu: " fmt

#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/irqdesc.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/tracepoint.h>
#include <trace/events/power.h>

#include "compat.h"
#include "vgpu.h"

#define DISCOVERY_BYTES		10240u		/* what the driver reads */

static struct task_struct *cp_thread;
static bool watching;			/* cp_thread is there, and is told */

/*
 * The command processor has the CPU that the guest was told to isolate; the other takes the
 * interrupts, and with them the work that the driver's handler queues. It should be CPU 0: with
 * -icount QEMU gives every slice of time to CPU 0 first, and the driver waits for the device in
 * loops that would use it up.
 */
static unsigned int cp_cpu, irq_cpu;

/* Held while the models run, so that debugfs sees them between two steps. Registers have a lock of their own. */
DEFINE_MUTEX(vgpu_model_mutex);

/* System memory as a device sees it, the BARs of all devices among it. There is no IOMMU: a bus address is a physical one. */
static void *sys_ptr(void *ctx, u64 bus_addr, u32 len)
{
	unsigned long pfn = PHYS_PFN(bus_addr);
	const struct vgpu *v;

	for_each_vgpu(v) {
		if (bus_addr - v->low_phys - VGPU_DOORBELL_OFFSET < VGPU_DOORBELL_BYTES)
			return (u8 *)v->doorbells + (bus_addr - v->low_phys - VGPU_DOORBELL_OFFSET);
		if (bus_addr - v->vram_phys < v->vram_bar_bytes)
			return (u8 *)v->vram + (bus_addr - v->vram_phys);
	}
	if (!pfn_valid(pfn) || PageReserved(pfn_to_page(pfn)))
		return NULL;
	return phys_to_virt(bus_addr);
}

static void *vram_ptr(void *ctx, u64 offset, u32 len)
{
	const struct vgpu *v = ctx;
	u64 bytes = v->config.vram_bytes;

	return offset < bytes && len <= bytes - offset ? (u8 *)v->vram + offset : NULL;
}

static void *peer_ptr(void *ctx, u32 node, u64 offset, u32 len)
{
	return node < vgpu_count ? vram_ptr(&vgpus[node], offset, len) : NULL;
}

static u64 now_ns(void *ctx)
{
	return ktime_get_ns();
}

static void interrupt_by_itself(struct irq_work *work)
{
	generic_handle_irq(container_of(work, struct vgpu, irq_work)->irq);
}

/* A CPU that is about to halt carries out calls without having been interrupted; a driver's handler relies on that it was. */
static void interrupt(void *info)
{
	struct vgpu *v = info;

	if (in_hardirq())
		generic_handle_irq(v->irq);
	else
		irq_work_queue(&v->irq_work);
}

/* One that is still on its way will find the new entries, too */
static void raise_irq(void *ctx)
{
	struct vgpu *v = ctx;

	smp_call_function_single_async(irq_cpu, &v->irq_call);
}

static void nothing(void *unused)
{
}

/* Calls to a CPU are carried out in order: when this one is, no interrupt is on its way */
static void sync_irq(void)
{
	struct vgpu *v;

	smp_call_function_single(irq_cpu, nothing, NULL, true);
	for_each_vgpu(v)
		irq_work_sync(&v->irq_work);
}

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
	bool busy;			/* it runs a task */
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
	const char *poller = vgpu_settings.poller;

	return *poller && !strncmp(task->comm, poller, strlen(poller));
}

static bool may_ring(const struct task_struct *task)
{
	return !is_idle_task(task) && task != cp_thread && (vgpu_settings.front != &vgpu_front_intercept || !is_poller(task));
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
	hrtimer_set_expires(timer, ns_to_ktime(due == U64_MAX ? now + READ_ONCE(vgpu_settings.poll_ns) : due));
	return w->rung ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/* With interrupts off */
static void watch_this_cpu(void)
{
	struct watch *w = this_cpu_ptr(&watch);

	if (w->rung)
		return;
	w->rung = true;
	hrtimer_start(&w->timer, ns_to_ktime(READ_ONCE(vgpu_settings.poll_ns)), HRTIMER_MODE_REL_PINNED_HARD);
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
	u64 due = READ_ONCE(next_look_ns), at = ktime_get_ns() + vgpu_settings.ring_ns;

	/* Pairs with cp_main(): either it finds this, or this finds when it will look. */
	smp_store_mb(asked, true);
	while (due != U64_MAX && due > at && !try_cmpxchg64(&next_look_ns, &due, at))
		;
	expire_soon(vgpu_settings.ring_ns);
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
	if (watching && asks && vgpu_settings.ring_ns < READ_ONCE(vgpu_settings.poll_ns))
		look_soon();
	else if (watching)
		watch_this_cpu();
	local_irq_restore(flags);
}

/* Under the run queue's lock: no task can be woken here */
static void watch_switch(void *unused, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	this_cpu_write(watch.busy, !is_idle_task(next));
	if (may_ring(next))
		watch_this_cpu();
}

/* The command processor has its CPU for itself; others may share a thread of the host with it. */
static bool cpu_wanted(void *ctx)
{
	int cpu;

	if (vgpu_settings.pauses_always)
		return true;
	for_each_online_cpu(cpu)
		if (cpu != cp_cpu && READ_ONCE(per_cpu(watch, cpu).busy))
			return true;
	return false;
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

static const struct vgpu_platform_ops platform_ops = {
	.sys_ptr = sys_ptr,
	.vram_ptr = vram_ptr,
	.peer_ptr = peer_ptr,
	.now_ns = now_ns,
	.raise_irq = raise_irq,
	.cpu_wanted = cpu_wanted,
};

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

/* Return: when the next thing happens there by itself */
static u64 cp_run(struct vgpu *v)
{
	u64 next;

	mutex_lock(&vgpu_model_mutex);
	if (vgpu_pci_reset_wanted(v)) {
		vgpu_model_reset(v->model);
		vgpu_pci_reset_done(v);
	}
	next = vgpu_model_run(v->model);
	mutex_unlock(&vgpu_model_mutex);
	return next;
}

/* The command processors of all devices: run what is due, sleep until the next event or the next look */
static int cp_main(void *unused)
{
	while (!kthread_should_stop()) {
		u64 next = U64_MAX, now, look_ns;
		struct vgpu *v;
		ktime_t sleep;

		WRITE_ONCE(next_look_ns, U64_MAX);
		smp_store_mb(asked, false);
		for_each_vgpu(v)
			next = min(next, cp_run(v));
		now = ktime_get_ns();
		look_ns = max(READ_ONCE(vgpu_settings.poll_ns), LONGEST_SLEEP_NS);
		smp_store_mb(next_look_ns, now + READ_ONCE(vgpu_settings.poll_ns));
		/* Asked meanwhile: by that look, or too late for it. */
		if (READ_ONCE(asked)) {
			look_ns = vgpu_settings.ring_ns;
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

/* A function that appears, at first or when the bus is looked at again. A new driver instance maps the registers anew. */
static int bus_event(struct notifier_block *nb, unsigned long action, void *data)
{
	struct device *dev = data;
	struct vgpu *v = vgpu_pci_find(dev);

	if (v && action == BUS_NOTIFY_ADD_DEVICE)
		vgpu_pci_appears(v, to_pci_dev(dev));
	else if (v && action == BUS_NOTIFY_BIND_DRIVER && vgpu_settings.front->bind)
		vgpu_settings.front->bind(v);
	return NOTIFY_DONE;
}

static struct notifier_block bus_notifier = { .notifier_call = bus_event };

static int rom_write(const struct vgpu *v)
{
	u8 *image = kzalloc(VGPU_ROM_BYTES, GFP_KERNEL);
	void __iomem *rom = ioremap(v->low_phys + VGPU_ROM_OFFSET, VGPU_ROM_BYTES);
	int ret = image && rom ? 0 : -ENOMEM;

	if (!ret) {
		vgpu_vbios_build(image, VGPU_ROM_BYTES, &v->config);
		memcpy_toio(rom, image, VGPU_ROM_BYTES);
	}
	if (rom)
		iounmap(rom);
	kfree(image);
	return ret;
}

/* Where the driver looks for it: at the end of VRAM, which it leaves alone for that reason */
static int discovery_write(const struct vgpu *v)
{
	void *table = kzalloc(DISCOVERY_BYTES, GFP_KERNEL);
	u32 bytes = table ? vgpu_discovery_build(&v->config, table, DISCOVERY_BYTES) : 0;

	if (bytes)
		memcpy_toio((void __iomem *)v->vram + v->config.vram_bytes - VGPU_DISCOVERY_OFFSET, table, bytes);
	kfree(table);
	return bytes ? 0 : -ENOMEM;
}

/* What the driver will find; it is not there yet */
static int build_device(struct vgpu *v)
{
	int ret;
	u32 i;

	v->config.doorbells = v->doorbells;
	v->model = vgpu_model_create(&v->config, &platform_ops, v);
	if (!v->model)
		return -ENOMEM;
	for (i = 0; i < VGPU_FAULTS; i++)
		if (vgpu_settings.faults & BIT(i))
			*vgpu_model_fault_left(v->model, i) = U32_MAX;
	ret = rom_write(v);
	return ret || !v->config.asic->discovery ? ret : discovery_write(v);
}

static void teardown(void)
{
	struct vgpu *v;

	vgpu_debugfs_remove();
	for_each_vgpu(v)
		vgpu_pci_remove(v);
	bus_unregister_notifier(&pci_bus_type, &bus_notifier);
	watch_end();
	if (!IS_ERR_OR_NULL(cp_thread))
		kthread_stop(cp_thread);
	sync_irq();
	if (vgpu_settings.front->exit)
		vgpu_settings.front->exit();
	for_each_vgpu(v)
		if (v->model)
			vgpu_model_destroy(v->model);
	vgpu_pci_unmap();
}

static int devices_add(void)
{
	struct vgpu *v;
	int ret = 0;

	for_each_vgpu(v) {
		ret = build_device(v);
		if (ret)
			return ret;
	}
	if (vgpu_settings.front->init) {
		ret = vgpu_settings.front->init();
		if (ret) {
			vgpu_settings.front = &vgpu_front_none;		/* nothing to undo */
			return ret;
		}
	}
	ret = cp_start();
	if (ret)
		return ret;
	vgpu_debugfs_add();
	for_each_vgpu(v) {
		ret = vgpu_pci_add(v);
		if (ret)
			return ret;
	}
	return 0;
}

static void tell(const struct vgpu *v)
{
	const struct vgpu_config *c = &v->config;
	u32 i;

	pr_info("%s: %s, preset %s, %u XCCs of %u CUs in %u shader engines, %llu MiB, front end %s", vgpu_pci_name(v), c->asic->name,
		v->preset, c->xccs, c->cus, c->se, c->vram_bytes >> 20, vgpu_settings.front->name);
	for (i = 0; i < VGPU_FIRMWARES; i++)
		if (c->firmware & BIT(i))
			pr_cont(", firmware %s", vgpu_firmware_name(i));
	pr_cont("\n");
}

static int __init vgpu_init(void)
{
	int ret = vgpu_params_parse();
	struct vgpu *v;

	if (ret)
		return ret;
	vgpu_spare_shadow();
	if (vgpu_settings.front == &vgpu_front_none)
		return 0;
	for_each_vgpu(v) {
		v->irq_work = IRQ_WORK_INIT_HARD(interrupt_by_itself);
		INIT_CSD(&v->irq_call, interrupt, v);
	}
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
	ret = devices_add();
	if (ret) {
		pr_err("no device: error %d\n", ret);
		teardown();
		return ret;
	}
	for_each_vgpu(v)
		tell(v);
	return 0;
}

static void __exit vgpu_exit(void)
{
	if (vgpu_settings.front != &vgpu_front_none)
		teardown();
}

module_init(vgpu_init);
module_exit(vgpu_exit);
MODULE_DESCRIPTION("Virtual GPUs (gfx90a, gfx942, gfx1100): a test instrument for amdgpu and amdkfd");
MODULE_LICENSE("Dual MIT/GPL");

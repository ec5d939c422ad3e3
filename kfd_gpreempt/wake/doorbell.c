// SPDX-License-Identifier: MIT
/*
 * doorbell.c - gpreempt_wakeup=doorbell or auto: told of a process's first doorbell write after
 * idleness, instead of looking for it
 *
 * While processes of a node differ in rank, and a process has nothing to do, the page table entries
 * of its doorbells are withdrawn: it is armed. The first access faults, the handler wakes the
 * monitors and puts the entries back, and the CPU repeats the access. Until the process is armed
 * again its doorbells cost what they always did.
 *
 * The entries are found through an address space of the process's own, which /dev/kfd gets instead
 * of its inode's when the process opens it: no mm, no VMA and no lock of either is needed. A
 * process that opened /dev/kfd while the mode was poll, or mapped doorbells in another way, keeps
 * what it has and is sampled as before.
 *
 * Two races matter. A write that was under way when the entries went does not fault, so the
 * pointers are read again afterwards. A slow handler may find its process armed once more when it
 * puts the entries back, so it checks that again afterwards.
 *
 * To withdraw entries runs the MMU notifiers of the process. KFD's take dqm_lock, and a program can
 * have others that wait for a job of its own, which may end only with a reset of the GPU. So a work
 * item does it, one per process. It holds no lock, and nothing waits for it. A process whose
 * notifiers do not end is not armed: it is sampled as before. A user may have a few of these work
 * items at once, so those of others do not wait behind them.
 *
 * From 7.x on the driver takes doorbells away from programs for good when it resets their GPU: it
 * revokes them. It finds those in its own address space only. Those in ours go by a work item of
 * each process, for the same reason, and the reset waits for all of them for a moment: not for a
 * process that took longer the last time, nor for more of a user than that. What has been revoked
 * does not come back by a fault: its program gets a SIGBUS, as with the driver's.
 *
 * What arming a process and its next write cost would pay for some looks. With auto a process is
 * armed only where it saves looks, and where its last times have paid. Programs decide when they
 * write, so how often they are armed is bounded: for each process by what withdrawing its entries
 * took, for all of a node by a budget. Who waits for that is looked at, as with poll.
 *
 * AMD's driver package can withdraw the doorbells of a process that it has evicted and that is idle
 * (amdgpu.keep_idle_process_evicted): their first write brings the process back. Then it alone
 * does, and all processes are sampled. While one is evicted it has no demand.
 */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "core/level.h"
#include "core/node.h"
#include "core/rooms.h"
#include "compat/compat.h"
#include "doorbell.h"

/*
 * Polling for a moment is cheaper than a fault: a program's gap between two kernels is not the end
 * of its work.
 */
#define ARM_AFTER_NS	100000ULL
/*
 * A process that outranks no other is armed only to let an idle node sleep, so not between two
 * pieces of work.
 */
#define ARM_LATE_AFTER_NS	GPREEMPT_CONTENDED_NS
/*
 * To arm a process, its fault, and to wake the monitor cost 12,000 instructions, a look 7,400: it
 * pays if it saves so many looks. As long as it does not, its process is armed later.
 */
#define ARM_PAYS_LOOKS		2
/*
 * With auto a node arms one process in so long, after so many at once: faults cost a twentieth of a
 * core at most, as looks do.
 */
#define ARM_EVERY_NS		250000ULL
#define ARM_BURST		32
/* With auto withdrawing takes this part of the time at most, for each process. */
#define WITHDRAW_SHARE		24
/*
 * While lower work runs, work that came without a fault (a GPU can write doorbells as well) waits
 * at most for so long.
 */
#define BACKSTOP_NS	50000000ULL

/*
 * A reset waits so long for doorbells to be revoked. What stands in the way may be a job that only
 * the reset ends.
 */
#define REVOKE_WITHIN_MS	100

/*
 * Work items of a user that those of others may wait behind: a kernel works on 256 of them at once,
 * or on more.
 */
#define WORKS_OF_USER	16

/*
 * Offsets of doorbells in /dev/kfd, in pages: of all GPUs, and of one. An offset within a GPU's is
 * the page, and above it how often doorbells had been revoked when it was mapped.
 */
#define FIRST_PAGE	((pgoff_t)(KFD_MMAP_TYPE_DOORBELL >> PAGE_SHIFT))
#define NR_PAGES	((pgoff_t)1 << (KFD_MMAP_TYPE_SHIFT - PAGE_SHIFT))
#define PAGES_OF_GPU	((pgoff_t)1 << (KFD_MMAP_GPU_ID_SHIFT - PAGE_SHIFT))
#define REVOKED_SHIFT	8
#define PAGE_OF_GPU	(((pgoff_t)1 << REVOKED_SHIFT) - 1)
#define REVOKED_OF(page)	(((page) & (PAGES_OF_GPU - 1)) >> REVOKED_SHIFT)

/**
 * enum doorbells_state - where the entries of a process's doorbells are
 * @DOORBELLS_MAPPED: where they belong, or the next access only brings them back
 * @DOORBELLS_GOING: they are being withdrawn; some may have gone
 * @DOORBELLS_ARMED: no entry is there: the first access will fault
 */
enum doorbells_state {
	DOORBELLS_MAPPED,
	DOORBELLS_GOING,
	DOORBELLS_ARMED,
};

/**
 * struct doorbell_user - who has opened /dev/kfd
 * @uid: see gpreempt_viewer_user_of()
 * @nr: its address spaces, under doorbell_lock
 * @works: its work items that those of others may wait behind
 *
 * Of each user there is one, so a pass counts without a lock.
 */
struct doorbell_user {
	kuid_t uid;
	unsigned int nr;
	atomic64_t works;
};

/**
 * struct gpreempt_doorbells - the doorbells of a process, on all its GPUs
 * @ref: the process's, those of its contexts, and that of the work item while it is under way
 * @inode: whose address space all its mappings of /dev/kfd are in
 * @user: pays for its work items
 * @lock: protects @processes, their queues, @busy and @asker; innermost
 * @processes: its side on each node where it has registered queues
 * @state: an &enum doorbells_state. The function that sets it back to DOORBELLS_MAPPED wakes the
 *	monitors.
 * @written_ns: when that last happened: it counts as work, the access itself comes only afterwards
 * @withdraw: the work item that withdraws the entries
 * @busy: it is under way
 * @asker: the node whose monitor asked for it; only to compare with
 * @armed_ns: when they were last about to be withdrawn; the work item's
 * @pays_ns: being armed for so long pays; 0: always. Written under @lock
 * @wait_ns: idleness after which it is armed where that saves looks; written when @state is set
 *	back
 * @rest_until_ns: withdrawing took long: not again before; the work item's
 * @peer: among all of them; as what follows, under doorbell_lock
 * @revoke: the work item that takes away what has been revoked
 * @revoking: it is under way
 * @revoke_ns: since when
 * @counted: among @user's
 * @awaited: a reset waits for it
 * @slow: it took too long the last time
 * @revoked: up to this revocation nothing is left
 *
 * Lives from the first open() of /dev/kfd to the end of the process, and of the contexts that were
 * made of it.
 */
struct gpreempt_doorbells {
	struct kref ref;
	struct inode *inode;
	struct doorbell_user *user;
	spinlock_t lock;
	struct list_head processes;
	int state;
	u64 written_ns;
	struct work_struct withdraw;
	bool busy;
	const struct gpreempt_node *asker;
	u64 armed_ns;
	u64 pays_ns;
	u64 wait_ns;
	u64 rest_until_ns;
	struct list_head peer;
	struct work_struct revoke;
	bool revoking;
	u64 revoke_ns;
	bool counted;
	bool awaited;
	bool slow;
	u32 revoked;
};

GPREEMPT_PART(doorbell_node, struct gpreempt_node, struct gpreempt_node_doorbell)
GPREEMPT_PART(doorbell_process, struct gpreempt_process, struct gpreempt_process_doorbell)

/* A work item that is stuck stops no other. NULL: no process is armed. */
static struct workqueue_struct *withdrawals;
/* Those that a reset does not wait for, however many they are */
static struct workqueue_struct *stragglers;

/*
 * doorbell_lock protects all below, and the members that say so; page faults take it.
 * doorbell_nodes: nodes with doorbells to revoke. doorbell_spaces: the doorbells of all processes.
 */
static DEFINE_SPINLOCK(doorbell_lock);
static LIST_HEAD(doorbell_nodes);
static LIST_HEAD(doorbell_spaces);
/* Revocations so far, and of how many processes one is waited for */
static u32 doorbell_revocations;
static u32 doorbell_revoking;
static DECLARE_WAIT_QUEUE_HEAD(doorbell_revoked_wait);

/* What an inode of ours has, and no other: its i_private is what it belongs to. */
static const struct file_operations no_operations = { .owner = THIS_MODULE };

/* An address space is part of an inode, and nothing but a file comes with an inode of its own. */
static struct inode *doorbell_new_inode_alone(void)
{
	struct inode *inode = gpreempt_compat_new_inode("[kfd_doorbells]", &no_operations);

	if (inode)
		inode->i_fop = &no_operations;
	return inode;
}

static pgoff_t doorbell_first_page(u32 gpu_id)
{
	return (KFD_MMAP_TYPE_DOORBELL | KFD_MMAP_GPU_ID(gpu_id)) >> PAGE_SHIFT;
}

/* Behind it are doorbells that cannot be withdrawn: where withdrawing does not find them. */
static pgoff_t doorbell_mmio_page(u32 gpu_id)
{
	return (KFD_MMAP_TYPE_MMIO | KFD_MMAP_GPU_ID(gpu_id)) >> PAGE_SHIFT;
}

/* NULL: the file maps through an address space of the driver's. */
static struct gpreempt_doorbells *doorbell_of(const struct file *filp)
{
	const struct inode *inode = filp->f_mapping->host;

	return inode->i_fop == &no_operations ? inode->i_private : NULL;
}

static void doorbell_withdraw(struct work_struct *work);
static void doorbell_revoke(struct work_struct *work);

/* The caller's user: the one that @user is about, if another process of it has one already. */
static void doorbell_join_locked(struct gpreempt_doorbells *d, struct doorbell_user *user)
{
	const struct gpreempt_doorbells *other;

	lockdep_assert_held(&doorbell_lock);
	d->user = user;
	list_for_each_entry(other, &doorbell_spaces, peer)
		if (uid_eq(other->user->uid, user->uid)) {
			d->user = other->user;
			break;
		}
	d->user->nr++;
}

static struct gpreempt_doorbells *doorbell_new(void)
{
	struct gpreempt_doorbells *d = kzalloc(sizeof(*d), GFP_KERNEL);
	struct doorbell_user *user = kzalloc(sizeof(*user), GFP_KERNEL);

	if (!d || !user)
		goto no_memory;
	user->uid = gpreempt_viewer_user_of(current->group_leader);
	kref_init(&d->ref);
	spin_lock_init(&d->lock);
	INIT_LIST_HEAD(&d->processes);
	d->wait_ns = ARM_AFTER_NS;
	INIT_WORK(&d->withdraw, doorbell_withdraw);
	INIT_WORK(&d->revoke, doorbell_revoke);
	d->inode = doorbell_new_inode_alone();
	if (!d->inode)
		goto no_memory;
	d->inode->i_private = d;
	spin_lock(&doorbell_lock);
	doorbell_join_locked(d, user);
	d->revoked = doorbell_revocations;
	list_add_tail(&d->peer, &doorbell_spaces);
	spin_unlock(&doorbell_lock);
	if (d->user != user)
		kfree(user);
	return d;

no_memory:
	kfree(user);
	kfree(d);
	return NULL;
}

static void doorbell_free(struct kref *ref)
{
	struct gpreempt_doorbells *d = container_of(ref, struct gpreempt_doorbells, ref);
	bool last;

	spin_lock(&doorbell_lock);
	list_del(&d->peer);
	last = !--d->user->nr;
	spin_unlock(&doorbell_lock);
	iput(d->inode);
	if (last)
		kfree(d->user);
	kfree(d);
}

/**
 * kfd_gpreempt_opened() - a process opened /dev/kfd
 * @p: the process; the file has a reference to it
 * @filp: the file; nothing is mapped through it yet
 *
 * Context: open(); may sleep.
 */
void kfd_gpreempt_opened(struct kfd_process *p, struct file *filp)
{
	bool on = static_branch_unlikely(&kfd_gpreempt_key);
	struct gpreempt_doorbells *d = READ_ONCE(p->gpreempt);

	if (!withdrawals || !gpreempt_tunables_wants_doorbells(on))
		return;
	/* One withdraws, and only the driver brings back what it keeps evicted. */
	if (gpreempt_compat_withdraws()) {
		if (gpreempt_tunables_wants_doorbells(false))
			pr_warn_once("gpreempt: gpreempt_wakeup=doorbell is as poll: amdgpu.keep_idle_process_evicted withdraws doorbells itself\n");
		return;
	}
	if (!d) {
		d = doorbell_new();
		/* Two threads may open at once. */
		if (d && cmpxchg(&p->gpreempt, NULL, d)) {
			kref_put(&d->ref, doorbell_free);
			d = p->gpreempt;
		}
	}
	/* Without memory it is polled. */
	if (d)
		filp->f_mapping = d->inode->i_mapping;
}

/**
 * kfd_gpreempt_replaced() - a file gets another process in the place of its first one
 * @p: the first one: the program's
 * @context: the new one, of the same program; the file has no reference to it yet
 *
 * The file keeps its address space, and what is mapped there. Its reference is to @context from now
 * on, so that shares the doorbells with @p, and keeps them.
 *
 * Context: an ioctl, KFD's lock of processes held; may sleep.
 */
void kfd_gpreempt_replaced(struct kfd_process *p, struct kfd_process *context)
{
	context->gpreempt = READ_ONCE(p->gpreempt);
	if (context->gpreempt)
		kref_get(&context->gpreempt->ref);
}

/**
 * kfd_gpreempt_released() - a process is gone
 * @p: the process; no file has a reference to it any more, no queue of it is registered
 *
 * Context: KFD's work item; may sleep.
 */
void kfd_gpreempt_released(struct kfd_process *p)
{
	if (p->gpreempt)
		kref_put(&p->gpreempt->ref, doorbell_free);
}

static void doorbell_wake(struct gpreempt_node *gn, u64 now_ns)
{
	/* The first of several counts: it has waited longest. */
	cmpxchg(&gn->doorbell_ns, 0ULL, now_ns);
	gpreempt_node_wake(gn);
}

/* The time for which it was armed is over: did it pay? */
static void doorbell_learn(struct gpreempt_doorbells *d, u64 now_ns)
{
	u64 wait_ns = READ_ONCE(d->wait_ns);

	if (now_ns - READ_ONCE(d->armed_ns) >= READ_ONCE(d->pays_ns))
		wait_ns = max(wait_ns / 2, ARM_AFTER_NS);
	else
		wait_ns = min(wait_ns * 2, ARM_LATE_AFTER_NS);
	WRITE_ONCE(d->wait_ns, wait_ns);
}

/*
 * Armed no more: a monitor that relies on it has to look. Context: process context, so also a page
 * fault; does not sleep.
 */
static void doorbell_disarm(struct gpreempt_doorbells *d, bool written)
{
	struct gpreempt_process_doorbell *part;
	u64 now_ns;

	if (READ_ONCE(d->state) == DOORBELLS_MAPPED ||
	    xchg(&d->state, DOORBELLS_MAPPED) == DOORBELLS_MAPPED)
		return;
	now_ns = ktime_get_ns();
	WRITE_ONCE(d->written_ns, now_ns);
	doorbell_learn(d, now_ns);
	spin_lock(&d->lock);
	list_for_each_entry(part, &d->processes, peer) {
		if (written)
			gpreempt_stats_doorbell(part->process);
		if (READ_ONCE(part->process->gn->tun.wakeup) != GPREEMPT_WAKEUP_POLL)
			doorbell_wake(part->process->gn, now_ns);
	}
	spin_unlock(&d->lock);
}

static struct gpreempt_node_doorbell *doorbell_node_locked(u64 offset)
{
	struct gpreempt_node_doorbell *node;

	lockdep_assert_held(&doorbell_lock);
	list_for_each_entry(node, &doorbell_nodes, peer)
		if (node->gn->node->id == KFD_MMAP_GET_GPU_ID(offset))
			return node;
	return NULL;
}

/* May a user have one more work item that those of others may wait behind? */
static bool doorbell_take_work(struct doorbell_user *user)
{
	if (atomic64_inc_return(&user->works) <= WORKS_OF_USER)
		return true;
	atomic64_dec(&user->works);
	return false;
}

/*
 * The work item has a reference while it is queued or running. One that is finds by itself what has
 * been revoked since.
 */
static void doorbell_begin_to_revoke_locked(struct gpreempt_doorbells *d)
{
	lockdep_assert_held(&doorbell_lock);
	if (d->revoking || !kref_get_unless_zero(&d->ref))
		return;
	d->revoking = true;
	d->revoke_ns = ktime_get_ns();
	d->counted = !d->slow && doorbell_take_work(d->user);
	d->awaited = d->counted;
	doorbell_revoking += d->awaited;
	queue_work(d->awaited ? withdrawals : stragglers, &d->revoke);
}

/* The node whose revocation is the next for @d; NULL: nothing is left of what was revoked. */
static const struct gpreempt_node_doorbell *
doorbell_next_locked(const struct gpreempt_doorbells *d)
{
	const struct gpreempt_node_doorbell *node, *next = NULL;

	list_for_each_entry(node, &doorbell_nodes, peer)
		if (node->revoked > d->revoked && (!next || node->revoked < next->revoked))
			next = node;
	return next;
}

/* Which GPU's doorbells are the next to be taken away? Returns false if none are: it is over. */
static bool doorbell_next_to_revoke(struct gpreempt_doorbells *d, u32 *id)
{
	const struct gpreempt_node_doorbell *next;

	spin_lock(&doorbell_lock);
	next = doorbell_next_locked(d);
	if (next) {
		*id = next->gn->node->id;
		d->revoked = next->revoked;
	} else {
		d->revoking = false;
		d->slow = ktime_get_ns() - d->revoke_ns >= REVOKE_WITHIN_MS * NSEC_PER_MSEC;
		if (d->counted)
			atomic64_dec(&d->user->works);
		doorbell_revoking -= d->awaited;
		d->awaited = false;
	}
	spin_unlock(&doorbell_lock);
	return next;
}

/*
 * A work item. The driver revokes MMIO pages together with doorbells, and where these are there are
 * also the doorbells that cannot be withdrawn.
 */
static void doorbell_revoke(struct work_struct *work)
{
	struct gpreempt_doorbells *d = container_of(work, struct gpreempt_doorbells, revoke);
	u32 id;

	while (doorbell_next_to_revoke(d, &id)) {
		gpreempt_compat_unmap_pages(d->inode->i_mapping, doorbell_first_page(id),
					    PAGES_OF_GPU);
		gpreempt_compat_unmap_pages(d->inode->i_mapping, doorbell_mmio_page(id),
					    PAGES_OF_GPU);
	}
	wake_up_all(&doorbell_revoked_wait);
	kref_put(&d->ref, doorbell_free);
}

/* The next reset does not wait for those that this one has waited for in vain. */
static void doorbell_await_no_more(void)
{
	struct gpreempt_doorbells *d;

	spin_lock(&doorbell_lock);
	list_for_each_entry(d, &doorbell_spaces, peer)
		d->awaited = false;
	doorbell_revoking = 0;
	spin_unlock(&doorbell_lock);
}

/**
 * kfd_gpreempt_revoked() - the driver takes something that programs have mapped away from them
 * @offset: where it begins in /dev/kfd
 *
 * Context: a reset of the GPU, before it begins; may sleep. Jobs may still run, and what they keep
 * from going may go only when the reset has ended them, so the wait is not for long.
 */
void kfd_gpreempt_revoked(u64 offset)
{
	struct gpreempt_node_doorbell *node;
	struct gpreempt_doorbells *d;

	/* The MMIO page goes together with the doorbells. */
	if ((offset & KFD_MMAP_TYPE_MASK) != KFD_MMAP_TYPE_DOORBELL)
		return;
	spin_lock(&doorbell_lock);
	node = doorbell_node_locked(offset);
	if (node) {
		node->revoked = ++doorbell_revocations;
		list_for_each_entry(d, &doorbell_spaces, peer)
			doorbell_begin_to_revoke_locked(d);
	}
	spin_unlock(&doorbell_lock);
	if (!wait_event_timeout(doorbell_revoked_wait, !READ_ONCE(doorbell_revoking),
				msecs_to_jiffies(REVOKE_WITHIN_MS)))
		doorbell_await_no_more();
}

/*
 * Has this been revoked since it was mapped? So has what is of a GPU that is gone. If @again, it
 * may have got entries since.
 */
static bool doorbell_is_revoked(const struct vm_area_struct *vma, bool again)
{
	struct gpreempt_doorbells *d = doorbell_of(vma->vm_file);
	const struct gpreempt_node_doorbell *node;
	bool revoked;

	spin_lock(&doorbell_lock);
	node = doorbell_node_locked((u64)vma->vm_pgoff << PAGE_SHIFT);
	revoked = !node || node->revoked > REVOKED_OF(vma->vm_pgoff);
	if (node && revoked && again) {
		d->revoked = min(d->revoked, node->revoked - 1);
		doorbell_begin_to_revoke_locked(d);
	}
	spin_unlock(&doorbell_lock);
	return revoked;
}

/*
 * Under the mmap lock or the VMA's alone. All pages at once: the process has just one reason to be
 * told. The file keeps a process, and that keeps what it has of us.
 */
static vm_fault_t doorbell_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct gpreempt_doorbells *d = doorbell_of(vma->vm_file);
	unsigned long pfn = (unsigned long)vma->vm_private_data + (vma->vm_pgoff & PAGE_OF_GPU);
	vm_fault_t ret = VM_FAULT_NOPAGE;
	unsigned long addr;

	if (doorbell_is_revoked(vma, false))
		return VM_FAULT_SIGBUS;
	doorbell_disarm(d, true);
	for (addr = vma->vm_start; addr < vma->vm_end && ret == VM_FAULT_NOPAGE; addr += PAGE_SIZE)
		ret = vmf_insert_pfn(vma, addr, pfn++);
	/*
	 * Pairs with doorbell_withdraw(): either it found the entries, or this finds it going or
	 * armed.
	 */
	smp_mb();
	doorbell_disarm(d, true);
	return doorbell_is_revoked(vma, true) ? VM_FAULT_SIGBUS : ret;
}

static const struct vm_operations_struct doorbell_ops = {
	.fault = doorbell_fault,
	/*
	 * That this is here lets the handler run without the mmap lock, which others may hold for
	 * long.
	 */
	.map_pages = gpreempt_compat_map_no_pages,
};

/* A copy on write cannot be withdrawn, nor a mapping through the file of another process. */
static bool doorbell_can_withdraw(const struct kfd_process_device *pdd,
				  const struct vm_area_struct *vma)
{
	const struct gpreempt_doorbells *d = READ_ONCE(pdd->process->gpreempt);
	const struct gpreempt_node *gn = pdd->dev->gpreempt;

	return gn && d && gpreempt_tunables_tells_doorbells(gn) &&
	       vma->vm_file->f_mapping == d->inode->i_mapping && (vma->vm_flags & VM_SHARED);
}

/**
 * kfd_gpreempt_maps_doorbells() - map a process's doorbells so that they can be withdrawn
 * @pdd: the process, on the node whose doorbells they are
 * @vma: the mapping; flags and protection are as for any other
 * @address: of the doorbells, physical
 *
 * Context: mmap(); may sleep.
 *
 * Return: true if they are mapped; false: to be mapped as ever
 */
bool kfd_gpreempt_maps_doorbells(struct kfd_process_device *pdd, struct vm_area_struct *vma,
				 phys_addr_t address)
{
	struct kfd_process *p = pdd->process;

	if (!doorbell_can_withdraw(pdd, vma)) {
		/*
		 * From now on its doorbell may be written without a fault. A monitor that believes
		 * it armed has to look once more.
		 */
		smp_store_mb(p->gpreempt_fixed, true);
		if (p->gpreempt)
			doorbell_disarm(p->gpreempt, false);
		/*
		 * In an address space of ours, which may be another process's, it must not be where
		 * withdrawing would find it.
		 */
		if (doorbell_of(vma->vm_file))
			vma->vm_pgoff = doorbell_mmio_page(pdd->dev->id) + 1;
		return false;
	}
	/*
	 * KFD takes any offset that has type and GPU in it; here the rest counts pages and
	 * revocations.
	 */
	vma->vm_pgoff = doorbell_first_page(pdd->dev->id) |
			(pgoff_t)READ_ONCE(doorbell_revocations) << REVOKED_SHIFT;
	vma->vm_private_data = (void *)(unsigned long)(address >> PAGE_SHIFT);
	vma->vm_page_prot = pgprot_decrypted(vma->vm_page_prot);
	vma->vm_ops = &doorbell_ops;
	return true;
}

/* A process has its first registered queue on a node */
static void doorbell_add(struct gpreempt_process *process)
{
	struct gpreempt_process_doorbell *part = doorbell_process(process);
	struct gpreempt_doorbells *d = READ_ONCE(process->p->gpreempt);

	part->process = process;
	INIT_LIST_HEAD(&part->queues);
	part->doorbells = d;
	if (!d)
		return;
	spin_lock(&d->lock);
	list_add_tail(&part->peer, &d->processes);
	spin_unlock(&d->lock);
}

/* A process has lost its last registered queue on a node */
static void doorbell_del(struct gpreempt_process *process)
{
	struct gpreempt_process_doorbell *part = doorbell_process(process);
	struct gpreempt_doorbells *d = part->doorbells;

	if (!d)
		return;
	spin_lock(&d->lock);
	list_del(&part->peer);
	spin_unlock(&d->lock);
}

/* Add a queue to its process's side on its node */
static void doorbell_add_queue(struct gpreempt_queue *gq)
{
	struct gpreempt_process_doorbell *part = doorbell_process(gq->process);
	struct gpreempt_doorbells *d = part->doorbells;

	if (d)
		spin_lock(&d->lock);
	list_add_tail(&gq->sibling, &part->queues);
	if (d)
		spin_unlock(&d->lock);
}

/* Take a queue off again */
static void doorbell_del_queue(struct gpreempt_queue *gq)
{
	struct gpreempt_doorbells *d = doorbell_process(gq->process)->doorbells;

	if (d)
		spin_lock(&d->lock);
	list_del(&gq->sibling);
	if (d)
		spin_unlock(&d->lock);
}

/* A queue's view is about to go, and is not found any more */
static void doorbell_wait_readers(const struct gpreempt_queue *gq)
{
	struct gpreempt_doorbells *d = doorbell_process(gq->process)->doorbells;

	if (!d)
		return;
	spin_lock(&d->lock);
	spin_unlock(&d->lock);
}

static bool doorbell_can_arm(const struct gpreempt_process *process)
{
	return doorbell_process(process)->doorbells && !READ_ONCE(process->p->gpreempt_fixed);
}

/**
 * gpreempt_doorbell_tells() - will the next doorbell that a process writes wake the monitors?
 * @process: the process
 *
 * Context: the process has registered queues.
 *
 * Return: true if it is armed; when it was, none of its queues had work, on any node
 */
bool gpreempt_doorbell_tells(const struct gpreempt_process *process)
{
	return doorbell_can_arm(process) &&
	       READ_ONCE(doorbell_process(process)->doorbells->state) == DOORBELLS_ARMED;
}

/**
 * gpreempt_doorbell_state() - what is known of a process's doorbells, in a word
 * @process: the process
 *
 * Context: the process has registered queues.
 *
 * Return: armed, mapped, fixed (they cannot be withdrawn) or plain (/dev/kfd was opened in the mode
 * poll, or the driver withdraws doorbells itself)
 */
const char *gpreempt_doorbell_state(const struct gpreempt_process *process)
{
	if (READ_ONCE(process->p->gpreempt_fixed))
		return "fixed";
	if (!doorbell_process(process)->doorbells)
		return "plain";
	return gpreempt_doorbell_tells(process) ? "armed" : "mapped";
}

/*
 * Has this queue nothing to do, as far as the node's monitor can tell? What it has done so far goes
 * into @moved. doorbells' lock held.
 */
static bool doorbell_queue_idle(const struct gpreempt_node *gn, const struct gpreempt_queue *gq,
				u64 *moved)
{
	u64 rptr, wptr, pending;

	if (!gpreempt_node_read(gq, &rptr, &wptr, &pending))
		return false;
	*moved += rptr + wptr;
	/*
	 * A queue that the driver keeps off may be in the middle of a kernel: no doorbell is
	 * written when it may run again.
	 */
	if (pending || gpreempt_policy_read(gq->policy.preempted) ||
	    !READ_ONCE(gq->q->properties.is_active))
		return false;
	/*
	 * A parked monitor decides nothing. Otherwise what was seen of the queue is what was
	 * decided by.
	 */
	if (gq->gn != gn && READ_ONCE(gq->gn->monitor.state) == GPREEMPT_STATE_PARKED)
		return true;
	/* Another monitor may be writing: then it is told of the doorbell for what it writes. */
	return !gpreempt_policy_read(gq->policy.had_demand) &&
	       rptr == gpreempt_policy_read(gq->policy.seen.rptr) &&
	       wptr == gpreempt_policy_read(gq->policy.seen.wptr);
}

/*
 * The same for all queues of a process, on all nodes: work on one GPU can write the doorbells of
 * another.
 */
static bool doorbell_all_idle_locked(const struct gpreempt_node *gn,
				     const struct gpreempt_doorbells *d, u64 *moved)
{
	const struct gpreempt_process_doorbell *part;
	const struct gpreempt_queue *gq;

	lockdep_assert_held(&d->lock);
	*moved = 0;
	list_for_each_entry(part, &d->processes, peer) {
		if (!doorbell_can_arm(part->process))
			return false;
		list_for_each_entry(gq, &part->queues, sibling)
			if (!doorbell_queue_idle(gn, gq, moved))
				return false;
	}
	return !list_empty(&d->processes);
}

static bool doorbell_all_idle(struct gpreempt_doorbells *d, u64 *moved)
{
	bool idle;

	spin_lock(&d->lock);
	idle = doorbell_all_idle_locked(d->asker, d, moved);
	spin_unlock(&d->lock);
	return idle;
}

/* It is over. The monitor that asked learns what came of it. */
static void doorbell_withdrawn(struct gpreempt_doorbells *d, bool tried, bool late)
{
	struct gpreempt_process_doorbell *part;

	spin_lock(&d->lock);
	d->busy = false;
	atomic64_dec(&d->user->works);
	list_for_each_entry(part, &d->processes, peer) {
		if (!tried || part->process->gn != d->asker)
			continue;
		gpreempt_stats_armed(part->process, late);
		/* If not, it has been woken. */
		if (!late)
			gpreempt_node_look(part->process->gn);
	}
	spin_unlock(&d->lock);
}

/*
 * A work item. No lock is held while entries go; the reference keeps what is left when the process
 * is gone.
 */
static void doorbell_withdraw(struct work_struct *work)
{
	struct gpreempt_doorbells *d = container_of(work, struct gpreempt_doorbells, withdraw);
	u64 before, after, begun_ns = ktime_get_ns();
	bool tried, late = false;

	tried = doorbell_all_idle(d, &before);
	if (tried) {
		WRITE_ONCE(d->armed_ns, begun_ns);
		/*
		 * A full barrier: a handler that puts entries back after they have been withdrawn
		 * here finds it going.
		 */
		xchg(&d->state, DOORBELLS_GOING);
		gpreempt_compat_unmap_pages(d->inode->i_mapping, FIRST_PAGE, NR_PAGES);
		/*
		 * A doorbell written up to here had an entry: there was work, or there is some now,
		 * and perhaps no fault told of it.
		 */
		late = !doorbell_all_idle(d, &after) || after != before;
		/* A handler that came first has told. */
		if (!late)
			cmpxchg(&d->state, DOORBELLS_GOING, DOORBELLS_ARMED);
		else
			doorbell_disarm(d, false);
		/* A program may have mapped its doorbells ten thousand times. */
		WRITE_ONCE(d->rest_until_ns,
			   begun_ns + WITHDRAW_SHARE * (ktime_get_ns() - begun_ns));
	}
	doorbell_withdrawn(d, tried, late);
	kref_put(&d->ref, doorbell_free);
}

/* The monitor of another node may ask. */
static bool doorbell_counts_costs(const struct gpreempt_node *gn)
{
	return READ_ONCE(gn->tun.wakeup) == GPREEMPT_WAKEUP_AUTO;
}

/* When the budget of a node has room: not after now, or there is none. */
static u64 doorbell_budget_from(const struct gpreempt_node *gn, u64 now_ns)
{
	u64 burst_ns = min(now_ns, ARM_BURST * ARM_EVERY_NS);

	return max(READ_ONCE(doorbell_node(gn)->due_ns), now_ns - burst_ns);
}

/*
 * The first write wakes the monitors of all its nodes, so each of them pays. Monitors of two nodes
 * may take from a third one at once, which then pays for one of them.
 */
static bool doorbell_pay_locked(const struct gpreempt_doorbells *d, u64 now_ns)
{
	const struct gpreempt_process_doorbell *part;

	lockdep_assert_held(&d->lock);
	list_for_each_entry(part, &d->processes, peer)
		if (doorbell_counts_costs(part->process->gn) &&
		    doorbell_budget_from(part->process->gn, now_ns) > now_ns)
			return false;
	list_for_each_entry(part, &d->processes, peer)
		WRITE_ONCE(doorbell_node(part->process->gn)->due_ns,
			   doorbell_budget_from(part->process->gn, now_ns) + ARM_EVERY_NS);
	return true;
}

/* May the process have a work item? If so it has paid for it. */
static bool doorbell_may_begin_locked(struct gpreempt_doorbells *d, u64 now_ns)
{
	if (!doorbell_take_work(d->user))
		return false;
	if (doorbell_pay_locked(d, now_ns))
		return true;
	atomic64_dec(&d->user->works);
	return false;
}

/* What looks at it would cost until then is what its being armed has to save. */
static u64 doorbell_pays_ns(const struct gpreempt_node *gn)
{
	u64 look_ns = gn->tun.params.poll_ns ?: gn->tun.params.interval_ns;

	return doorbell_counts_costs(gn) ? ARM_PAYS_LOOKS * max(look_ns, gn->policy.cost_ns) : 0;
}

/*
 * Read section held, which keeps the process. It is armed some time after this, if it is still idle
 * then.
 */
static void doorbell_begin_to_arm(struct gpreempt_node *gn, struct gpreempt_process *process,
				  u64 now_ns)
{
	struct gpreempt_doorbells *d = doorbell_process(process)->doorbells;
	u64 moved;

	spin_lock(&d->lock);
	if (!d->busy && doorbell_all_idle_locked(gn, d, &moved) &&
	    doorbell_may_begin_locked(d, now_ns)) {
		d->busy = true;
		d->asker = gn;
		WRITE_ONCE(d->pays_ns, doorbell_pays_ns(gn));
		kref_get(&d->ref);
		queue_work(withdrawals, &d->withdraw);
	}
	spin_unlock(&d->lock);
}

/* What this pass knows of the processes. Returns the lowest standing of all queues. */
static s32 doorbell_survey(struct gpreempt_node *gn)
{
	u32 i, nr = gn->monitor.nr_sampled + gn->monitor.nr_dormant;
	u64 survey = ++doorbell_node(gn)->surveys;
	s32 lowest = GPREEMPT_PRIORITY_MAX;

	for (i = 0; i < nr; i++) {
		const struct gpreempt_policy_queue *q = gn->monitor.sampled[i];
		struct gpreempt_process_doorbell *part =
			doorbell_process(gpreempt_queue_of(gn->monitor.sampled[i])->process);

		if (part->survey != survey) {
			part->survey = survey;
			part->idle = true;
			part->active_ns =
				part->doorbells ? READ_ONCE(part->doorbells->written_ns) : 0;
			part->standing = GPREEMPT_PRIORITY_MIN;
			part->handled = false;
		}
		if (q->had_demand || ((q->preempted || q->set.hold) && !q->set.idle) ||
		    q->seen.pending || q->set.unseen)
			part->idle = false;
		part->active_ns = max(part->active_ns, q->seen.active_ns);
		part->standing = max(part->standing, q->standing);
		lowest = min(lowest, q->standing);
	}
	for (i = 0; i < nr; i++) {
		struct gpreempt_process *process =
			gpreempt_queue_of(gn->monitor.sampled[i])->process;

		process->policy.armed = doorbell_process(process)->idle &&
					gpreempt_doorbell_tells(process);
	}
	return lowest;
}

/* Counted once for as long as it lasts: it is looked for instead. */
static void doorbell_count_fallback(struct gpreempt_node *gn, struct gpreempt_queue *gq)
{
	struct gpreempt_process_doorbell *part = doorbell_process(gq->process);

	if (!part->fallback_counted)
		gpreempt_stats_skip(gn, gq, GPREEMPT_SKIP_DOORBELL);
	part->fallback_counted = true;
}

/**
 * struct arming - what became of it
 * @next_ns: time until another process may be armed
 * @all: every process is armed
 * @waits: no process that is not armed could outrank another one
 */
struct arming {
	u64 next_ns;
	bool all;
	bool waits;
};

/*
 * When may an idle process be armed? Soon if that may end looks for its work, or for that of the
 * one that it could outrank. With auto a program that has the device for itself writes its doorbell
 * as ever, however short its gaps are.
 */
static u64 doorbell_due_ns(const struct gpreempt_node *gn, const struct gpreempt_process *process,
			   s32 lowest, bool waits)
{
	const struct gpreempt_process_doorbell *part = doorbell_process(process);
	bool outranks = gn->policy.ops->rotates || part->standing > lowest;
	const struct gpreempt_doorbells *d = part->doorbells;
	u64 active_ns = part->active_ns, late_ns = ARM_LATE_AFTER_NS, from_ns;

	/* Armed it may leave a crowded device. */
	if (gn->policy.idle_ns)
		late_ns = min(late_ns, gn->policy.idle_ns);
	if (!doorbell_counts_costs(gn))
		return active_ns + (outranks ? ARM_AFTER_NS : late_ns);
	from_ns = max(READ_ONCE(d->rest_until_ns), READ_ONCE(doorbell_node(gn)->due_ns));
	return max(active_ns + (outranks && !waits ? READ_ONCE(d->wait_ns) : late_ns), from_ns);
}

/*
 * Read section held. Has armed what is idle, and tells the policy which queues will announce their
 * work.
 */
static void doorbell_arm_idle(struct gpreempt_node *gn, u64 now_ns, struct arming *result)
{
	s32 lowest = doorbell_survey(gn);
	u32 i, nr = gn->monitor.nr_sampled + gn->monitor.nr_dormant;

	*result = (struct arming){ .next_ns = U64_MAX, .all = true };
	result->waits = !gpreempt_policy_can_outrank(&gn->policy);
	for (i = 0; i < nr; i++) {
		struct gpreempt_queue *gq = gpreempt_queue_of(gn->monitor.sampled[i]);
		struct gpreempt_process *process = gq->process;
		struct gpreempt_process_doorbell *part = doorbell_process(process);
		u64 due_ns;

		if (part->handled)
			continue;
		part->handled = true;
		result->all &= process->policy.armed;
		if (process->policy.armed || !part->idle)
			continue;
		if (!doorbell_can_arm(process)) {
			if (gn->policy.ops->rotates || part->standing > lowest)
				doorbell_count_fallback(gn, gq);
			continue;
		}
		due_ns = doorbell_due_ns(gn, process, lowest, result->waits);
		if (now_ns < due_ns)
			result->next_ns = min(result->next_ns, due_ns - now_ns);
		else
			doorbell_begin_to_arm(gn, process, now_ns);
	}
}

/* Returns for how long the monitor may sleep if it is told of doorbell writes. */
static u64 doorbell_wait(struct gpreempt_node *gn, const struct gpreempt_decision *decision,
			 bool *waits)
{
	u64 now_ns = ktime_get_ns(), backstop_ns = max(BACKSTOP_NS, gn->tun.params.interval_ns);
	bool off = decision->nr_preempted > decision->nr_resume;
	struct arming arming;
	u64 end_ns = 0;
	int idx;

	*waits = false;
	if (decision->nr_preempt || gn->monitor.again || (off && decision->nr_resume))
		return decision->next_ns;
	if (decision->nr_resume)
		return min(decision->next_ns, ARM_AFTER_NS);
	idx = srcu_read_lock(&gn->queues.srcu);
	/* As in sample(): without a kick, what the arrays point to stays. */
	if (READ_ONCE(gn->kick)) {
		srcu_read_unlock(&gn->queues.srcu, idx);
		return decision->next_ns;
	}
	doorbell_arm_idle(gn, now_ns, &arming);
	if (off)
		end_ns = gpreempt_policy_end_wait(&gn->policy, now_ns);
	srcu_read_unlock(&gn->queues.srcu, idx);
	/* No doorbell tells of the end of higher work. */
	if (off)
		return min(end_ns ? min(end_ns, decision->until_ns) : decision->next_ns,
			   arming.next_ns);
	*waits = arming.waits;
	if (!*waits)
		return min(decision->next_ns, arming.next_ns);
	return arming.all ? U64_MAX : min(backstop_ns, arming.next_ns);
}

/*
 * A work item arms idle processes, and wakes the monitor when that is done. Nothing is withdrawn
 * from equals.
 */
static void doorbell_nap(struct gpreempt_node *gn, struct gpreempt_nap *nap)
{
	u64 ns, begun_ns = ktime_get_ns();

	if (nap->decision->park || gn->tun.wakeup == GPREEMPT_WAKEUP_POLL ||
	    gn->tun.params.observe || !level_matters(&gn->policy))
		return;
	ns = doorbell_wait(gn, nap->decision, &nap->told);
	nap->took_ns = ktime_get_ns() - begun_ns;
	/* No arming is urgent on a node that parks but for idle processes. */
	if (!gn->monitor.parks)
		nap->ns = ns;
}

/* A node has come up */
static void doorbell_init_node(struct gpreempt_node *gn)
{
	struct gpreempt_node_doorbell *node = doorbell_node(gn);

	node->gn = gn;
	spin_lock(&doorbell_lock);
	list_add_tail(&node->peer, &doorbell_nodes);
	spin_unlock(&doorbell_lock);
}

/* A node is gone; programs may still have its doorbells */
static void doorbell_fini_node(struct gpreempt_node *gn)
{
	spin_lock(&doorbell_lock);
	list_del(&doorbell_node(gn)->peer);
	spin_unlock(&doorbell_lock);
}

/* Withdraw no more */
static void doorbell_exit(void)
{
	if (withdrawals)
		destroy_workqueue(withdrawals);
	withdrawals = NULL;
	if (stragglers)
		destroy_workqueue(stragglers);
	stragglers = NULL;
}

/* Be ready to withdraw doorbells */
static void doorbell_init(void)
{
	if (!gpreempt_compat_unmaps()) {
		pr_warn("gpreempt: this kernel is too old for gpreempt_wakeup=doorbell, which will be as poll\n");
		return;
	}
	withdrawals = alloc_workqueue("kfd_gpreempt", WQ_UNBOUND, 0);
	stragglers = alloc_workqueue("kfd_gpreempt_late", WQ_UNBOUND, 0);
	if (withdrawals && stragglers)
		return;
	doorbell_exit();
	pr_warn("gpreempt: no memory: gpreempt_wakeup=doorbell will be as poll\n");
}

const struct gpreempt_room gpreempt_room_doorbell = {
	.init = doorbell_init,
	.exit = doorbell_exit,
	.start_node = doorbell_init_node,
	.stop_node = doorbell_fini_node,
	.process_added = doorbell_add,
	.process_gone = doorbell_del,
	.queue_added = doorbell_add_queue,
	.queue_gone = doorbell_del_queue,
	.wait_readers = doorbell_wait_readers,
	.nap = doorbell_nap,
	.parts = {
		[GPREEMPT_OF_NODE] = &doorbell_node_part,
		[GPREEMPT_OF_PROCESS] = &doorbell_process_part,
	},
};

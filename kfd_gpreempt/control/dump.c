// SPDX-License-Identifier: MIT
/*
 * dump.c - everything that is known of a node, at one moment, as text
 *
 * For debugfs, and for the kernel log when a node is given up. What the monitor, the hooks and the
 * driver write is copied between two passes under their locks. It is printed without locks, so a
 * slow reader delays nothing.
 */
#include <linux/ktime.h>
#include <linux/seq_buf.h>
#include <linux/slab.h>

#include <drm/drm_print.h>

#include "core/node.h"
#include "core/rooms.h"
#include "compat/compat.h"
#include "dump.h"
#include "core/obstacle.h"
#include "queue_sysfs.h"
#ifdef CONFIG_KFD_GPREEMPT_WAKE
#include "wake/doorbell.h"
#endif
#include "amdgpu.h"
#include "kfd_device_queue_manager.h"
#include "kfd_kernel_queue.h"

/* Queues in the kernel log: so many lines twice. The file in debugfs has all of them. */
#define MAX_LOGGED_QUEUES	16

/**
 * struct queue_copy - a queue at the moment of the dump
 * @policy: what the policy knows
 * @pid: of the owner
 * @context: which of the owner's processes of KFD's
 * @job: id of the owner's job
 * @qid: KFD's number
 * @doorbell: its doorbell, in dwords from the beginning of the device's
 * @doorbells: of the owner: can they be withdrawn, and are they
 * @nice: of the owner, as priorities were derived from
 * @opt_out: of the owner
 * @debt_ns: service that the owner is owed
 * @weight: of the owner
 * @deadline_us: of the owner
 * @runtime_us: of the owner
 * @admitted: the owner has that reserved
 * @state: in a word
 * @rptr: read pointer, now
 * @wptr: write pointer, now
 * @pending: what lies between them
 * @kfd_priority: last priority given to KFD
 * @trusted: see &struct gpreempt_queue
 * @aql: see &struct gpreempt_queue
 * @dead: see &struct gpreempt_queue
 * @skipped: see &struct gpreempt_queue
 * @is_active: KFD maps it
 * @is_preempted: we keep it off the device
 * @is_evicted: memory management does
 * @is_suspended: the debugger does
 * @is_gws: runs cooperative groups
 * @debugged: its process is under the debugger
 * @reset: it was reset, and is off the device for that
 * @preempt_count: see &struct gpreempt_queue
 * @preempted_ns: see &struct gpreempt_queue
 */
struct queue_copy {
	struct gpreempt_policy_queue policy;
	pid_t pid;
	u16 context;
	u64 job;
	u32 qid;
	u32 doorbell;
	const char *doorbells;
	int nice;
	bool opt_out;
	u64 debt_ns;
	u32 weight;
	u32 deadline_us;
	u32 runtime_us;
	bool admitted;
	const char *state;
	u64 rptr;
	u64 wptr;
	u64 pending;
	u32 kfd_priority;
	bool trusted;
	bool aql;
	bool dead;
	bool skipped;
	bool is_active;
	bool is_preempted;
	bool is_evicted;
	bool is_suspended;
	bool is_gws;
	bool debugged;
	bool reset;
	u64 preempt_count;
	u64 preempted_ns;
};

/**
 * struct node_copy - a node at the moment of the dump
 * @now_ns: that moment
 * @state: in a word
 * @stats: counters
 * @tun: tunables of the last pass
 * @waves_known: waves in flight can be read
 * @waves_saved: they are not counted: what a runlist saves tells
 * @policy: name of the one that decided last
 * @level: see &struct gpreempt_node
 * @errors: see &struct gpreempt_node
 * @again: see &struct gpreempt_node
 * @accepting: see &struct gpreempt_node
 * @kick: see &struct gpreempt_node
 * @nr_processes: see &struct gpreempt_node
 * @nr_registered: registered queues
 * @waves_epoch: see &gpreempt_node_waves.epoch
 * @hw_priorities: see &struct gpreempt_node
 * @unsettled_ns: see &struct gpreempt_node
 * @paid_ns: see &struct gpreempt_policy_node
 * @decided_ns: see &struct gpreempt_node
 * @sched_running: the driver's scheduler runs
 * @sched_halt: it is halted
 * @hws_hang: it waits for a reset
 * @hiq_dw: size of the ring that the driver sends runlists through, in dwords; 0: there is none
 * @hiq_rptr: its read pointer as firmware reported it, in dwords
 * @hiq_wptr: its write pointer, in dwords
 * @active_queues: queues that the driver maps
 * @active_processes: processes that the driver knows of on this node
 * @nr_queues: entries of @queue
 * @queue: registered queues
 */
struct node_copy {
	u64 now_ns;
	const char *state;
	struct gpreempt_stats stats;
	struct gpreempt_tunables tun;
	bool waves_known;
	bool waves_saved;
	const char *policy;
	s32 level;
	u32 errors;
	bool again;
	bool accepting;
	bool kick;
	u32 nr_processes;
	u32 nr_registered;
	u32 waves_epoch;
	u32 hw_priorities;
	u64 unsettled_ns;
	u64 paid_ns;
	u64 decided_ns;
	bool sched_running;
	bool sched_halt;
	bool hws_hang;
	u32 hiq_dw;
	u32 hiq_rptr;
	u32 hiq_wptr;
	u32 active_queues;
	u32 active_processes;
	u32 nr_queues;
	struct queue_copy queue[] __counted_by(nr_queues);
};

static void dump_copy_stats(struct gpreempt_stats *to, const struct gpreempt_stats *from)
{
	const atomic64_t *source = (const atomic64_t *)from;
	atomic64_t *target = (atomic64_t *)to;
	size_t i;

	BUILD_BUG_ON(sizeof(*to) % sizeof(atomic64_t));
	for (i = 0; i < sizeof(*to) / sizeof(atomic64_t); i++)
		atomic64_set(&target[i], atomic64_read(&source[i]));
}

static const char *dump_doorbells(const struct gpreempt_process *process)
{
#ifdef CONFIG_KFD_GPREEMPT_WAKE
	return gpreempt_doorbell_state(process);
#else
	return "plain";
#endif
}

static void dump_copy_queue(struct queue_copy *c, const struct gpreempt_queue *gq)
{
	const struct queue_properties *properties = &gq->q->properties;

	c->policy = gq->policy;
	c->opt_out = gq->process->policy.opt_out;
	c->debt_ns = gq->process->policy.debt_ns;
	c->weight = gq->process->policy.weight;
	c->deadline_us = div_u64(gq->process->policy.deadline_ns, NSEC_PER_USEC);
	c->runtime_us = div_u64(gq->process->policy.runtime_ns, NSEC_PER_USEC);
	c->admitted = gq->process->policy.admitted_ns;
	c->pid = gpreempt_queue_pid(gq);
	c->qid = properties->queue_id;
	c->context = gq->process->context;
	c->job = READ_ONCE(gq->process->job);
	c->doorbell = properties->doorbell_off;
	c->doorbells = dump_doorbells(gq->process);
	c->nice = gq->process->priority.nice;
	gpreempt_node_read(gq, &c->rptr, &c->wptr, &c->pending);
	c->state = gpreempt_queue_sysfs_state(gq, c->pending);
	c->kfd_priority = READ_ONCE(gq->priority.kfd);
	c->trusted = READ_ONCE(gq->priority.trusted);
	c->aql = gq->view.aql;
	c->dead = gq->priority.dead;
	c->skipped = gq->account.skipped;
	c->is_active = properties->is_active;
	c->is_preempted = properties->is_preempted;
	c->is_evicted = properties->is_evicted;
	c->is_suspended = properties->is_suspended;
	c->is_gws = properties->is_gws;
	c->debugged = gq->process->p->debug_trap_enabled || gq->process->pdd->qpd.is_debug;
	c->reset = gpreempt_obstacle_was_reset(gq);
	c->preempt_count = gq->account.preempt_count;
	c->preempted_ns = gpreempt_stats_preempted_ns(gq);
}

/* dqm_lock held. While the driver's scheduler is down there may be no HIQ. */
static void dump_copy_hiq(struct node_copy *c, const struct device_queue_manager *dqm)
{
	const struct kernel_queue *hiq = dqm->packet_mgr.priv_queue;

	if (!dqm->sched_running || dqm->sched_policy == KFD_SCHED_POLICY_NO_HWS || !hiq)
		return;
	c->hiq_dw = hiq->queue->properties.queue_size / sizeof(u32);
	c->hiq_rptr = READ_ONCE(*hiq->rptr_kernel) % c->hiq_dw;
	c->hiq_wptr = hiq->pending_wptr % c->hiq_dw;
}

static void dump_copy_node(struct node_copy *c, struct gpreempt_node *gn)
{
	const struct device_queue_manager *dqm = gn->node->dqm;
	struct gpreempt_queue *gq;
	u32 n = 0;

	c->now_ns = ktime_get_ns();
	c->state = gpreempt_node_state_name(gn);
	dump_copy_stats(&c->stats, &gn->stats);
	c->tun = gn->tun;
	c->waves_known = gn->waves.known;
	c->waves_saved = gn->waves.saved;
	c->policy = gn->policy.ops ? gn->policy.ops->name : "none";
	c->level = gn->monitor.level;
	c->errors = gn->monitor.errors;
	c->again = gn->monitor.again;
	c->accepting = READ_ONCE(gn->life.accepting);
	c->kick = READ_ONCE(gn->kick);
	c->nr_processes = READ_ONCE(gn->queues.nr_processes);
	c->nr_registered = READ_ONCE(gn->queues.nr);
	c->waves_epoch = gn->waves.epoch;
	c->hw_priorities = gn->mqd.nr_altered;
	c->unsettled_ns = gn->waves.unread_ns;
	c->paid_ns = gn->policy.paid_ns;
	c->decided_ns = gn->monitor.decided_ns;
	c->sched_running = dqm->sched_running;
	c->sched_halt = gpreempt_compat_is_halted(dqm);
	c->hws_hang = dqm->is_hws_hang;
	dump_copy_hiq(c, dqm);
	c->active_queues = dqm->active_queue_count;
	c->active_processes = dqm->processes_count;
	list_for_each_entry_srcu(gq, &gn->queues.list, link,
				 srcu_read_lock_held(&gn->queues.srcu)) {
		if (n == c->nr_queues)
			break;
		dump_copy_queue(&c->queue[n++], gq);
	}
	c->nr_queues = n;
}

/* NULL: no memory, which is looked for before anything is locked. */
static struct node_copy *dump_take_copy(struct gpreempt_node *gn, u32 max_queues)
{
	/* A few more than there are: one may be registered before the lock is taken. */
	u32 room = min(READ_ONCE(gn->queues.nr), max_queues - 4) + 4;
	struct node_copy *c = kvzalloc(struct_size(c, queue, room), GFP_KERNEL);
	int idx;

	if (!c)
		return NULL;
	c->nr_queues = room;
	mutex_lock(&gn->pass_lock);
	dqm_lock(gn->node->dqm);
	/* Not gpreempt_lock: its holder may wait for memory, and a reset may wait for this. */
	idx = srcu_read_lock(&gn->queues.srcu);
	dump_copy_node(c, gn);
	srcu_read_unlock(&gn->queues.srcu, idx);
	dqm_unlock(gn->node->dqm);
	mutex_unlock(&gn->pass_lock);
	return c;
}

/* Times that have passed are shown as ages: the reader has no clock to compare with. -1: never. */
static s64 dump_age_us(u64 then_ns, u64 now_ns)
{
	return then_ns ? div_s64((s64)(now_ns - then_ns), NSEC_PER_USEC) : -1;
}

/* Until a verdict ends by itself; -1: never. */
static s64 dump_left_us(const struct gpreempt_policy_queue *q, u64 paid_ns, u64 now_ns)
{
	u64 until_ns = q->verdict == GPREEMPT_VERDICT_BUDGET ? paid_ns : q->until_ns;

	if (until_ns == U64_MAX)
		return -1;
	return until_ns > now_ns ? div_u64(until_ns - now_ns, NSEC_PER_USEC) : 0;
}

static void dump_print_tunables(struct drm_printer *p, const struct node_copy *c)
{
	char text[512];
	struct seq_buf s;

	seq_buf_init(&s, text, sizeof(text));
	gpreempt_tunables_list(&c->tun, &s);
	drm_printf(p, "tunables:%s waves_known=%d waves_saved=%d\n", gpreempt_compat_text(&s),
		   c->waves_known, c->waves_saved);
}

static void dump_print_names(struct drm_printer *p, const char *what, const char *const *names,
			     const atomic64_t *counters, u32 nr)
{
	char text[256];
	struct seq_buf s;
	u32 i;

	seq_buf_init(&s, text, sizeof(text));
	for (i = 0; i < nr; i++)
		seq_buf_printf(&s, " %s=%lld", names[i], atomic64_read(&counters[i]));
	drm_printf(p, "%s:%s\n", what, gpreempt_compat_text(&s));
}

/* Buckets as <end in us>:<count>, empty ones left out. */
static void dump_print_latency(struct drm_printer *p, const char *name,
			       const struct gpreempt_histogram *h)
{
	char text[512];
	struct seq_buf s;
	u32 i;

	seq_buf_init(&s, text, sizeof(text));
	for (i = 0; i < GPREEMPT_NR_BUCKETS; i++)
		if (atomic64_read(&h->bucket[i]))
			seq_buf_printf(&s, " %llu:%lld", BIT_ULL(i), atomic64_read(&h->bucket[i]));
	drm_printf(p, "latency %s: count=%lld sum_ns=%lld max_ns=%lld below_us:%s\n", name, atomic64_read(&h->count),
		   atomic64_read(&h->sum_ns), atomic64_read(&h->max_ns), gpreempt_compat_text(&s));
}

static void dump_print_stats(struct drm_printer *p, const struct gpreempt_stats *stats)
{
	u32 i;

	drm_printf(
		p,
		"counters: checks=%lld wakeups=%lld inversions=%lld preemptions=%lld resumes=%lld destroyed_preempted=%lld failures=%llu disabled=%lld runlists=%lld relief_slices=%lld paced=%lld hints=%lld hints_used=%lld hints_expired=%lld doorbell_arms=%lld doorbell_late=%lld doorbell_faults=%lld would_be_preemptions=%lld would_be_resumes=%lld would_be_runlists=%lld observed_requests=%lld observed_unclear=%lld preempt_ns_last=%lld preempt_ns_max=%lld pass_ns_last=%lld\n",
		atomic64_read(&stats->checks), atomic64_read(&stats->wakeups),
		atomic64_read(&stats->inversions), atomic64_read(&stats->preemptions),
		atomic64_read(&stats->resumes), atomic64_read(&stats->destroyed_preempted),
		gpreempt_stats_failures(stats), atomic64_read(&stats->disabled),
		atomic64_read(&stats->runlists), atomic64_read(&stats->relief_slices),
		atomic64_read(&stats->paced), atomic64_read(&stats->hints),
		atomic64_read(&stats->hints_used), atomic64_read(&stats->hints_expired),
		atomic64_read(&stats->doorbell_arms), atomic64_read(&stats->doorbell_late),
		atomic64_read(&stats->doorbell_faults),
		atomic64_read(&stats->would_be_preemptions),
		atomic64_read(&stats->would_be_resumes), atomic64_read(&stats->would_be_runlists),
		atomic64_read(&stats->observed_requests), atomic64_read(&stats->observed_unclear),
		atomic64_read(&stats->preempt_ns_last),
		atomic64_read(&stats->preempt_ns_max), atomic64_read(&stats->pass_ns_last));
	dump_print_names(p, "skipped", gpreempt_skip_names, stats->skipped, GPREEMPT_NR_SKIPS);
	dump_print_names(p, "failed", gpreempt_failure_names, stats->failed, GPREEMPT_NR_FAILURES);
	for (i = 0; i < GPREEMPT_NR_LATENCIES; i++)
		dump_print_latency(p, gpreempt_latency_names[i], &stats->latency[i]);
}

static void dump_print_queue_copy(struct drm_printer *p, const struct node_copy *n,
				  const struct queue_copy *c)
{
	static const char *const actions[] = {
		[GPREEMPT_KEEP] = "keep",
		[GPREEMPT_PREEMPT] = "preempt",
		[GPREEMPT_RESUME] = "resume",
	};
	const struct gpreempt_policy_queue *q = &c->policy;
	u64 now_ns = n->now_ns;

	drm_printf(
		p,
		"queue: pid=%d qid=%u context=%u job=%llu state=%s format=%s doorbell=%#x doorbells=%s priority=%d own_priority=%d explicit=%d kfd_priority=%u nice=%d opt_out=%d weight=%u deadline_us=%u runtime_us=%u admitted=%d trusted=%d rptr=%llu wptr=%llu pending=%llu is_active=%d is_preempted=%d is_evicted=%d is_suspended=%d is_gws=%d debugged=%d reset=%d dead=%d preempt_count=%llu preempted_ns=%llu\n",
		c->pid, c->qid, c->context, c->job, c->state, c->aql ? "aql" : "pm4", c->doorbell, c->doorbells,
		q->set.priority, q->set.own_priority, q->set.explicit_priority, c->kfd_priority,
		c->nice, c->opt_out, c->weight, c->deadline_us, c->runtime_us, c->admitted,
		c->trusted, c->rptr, c->wptr, c->pending, c->is_active, c->is_preempted, c->is_evicted, c->is_suspended,
		c->is_gws, c->debugged, c->reset, c->dead, c->preempt_count, c->preempted_ns);
	drm_printf(p, "  verdict: %s leads=%d age_us=%lld left_us=%lld\n",
		   gpreempt_verdict_names[q->verdict], q->leads,
		   q->verdict == GPREEMPT_VERDICT_NONE ? -1 : dump_age_us(q->verdict_ns, now_ns),
		   dump_left_us(q, n->paid_ns, n->now_ns));
	drm_printf(
		p,
		"  policy: action=%s preempted=%d spared=%d saved_waves=%d used=%d blocked=%d tries=%u driver_off=%d immovable=%d in_the_way=%d skipped=%d effective_priority=%d rank=%lld missing_rank=%lld hold=%d missed_deadlines=%llu rptr=%llu wptr=%llu pending=%llu waves=%u age_us: waves=%lld zero=%lld moved=%lld restore_since=%lld stalled=%lld active=%lld preempted_since=%lld starved=%lld debt_us=%llu\n",
		actions[q->action], q->preempted, q->spared, q->saved_waves, q->seen.used,
		q->seen.blocked, q->seen.tries, q->seen.driver_off, q->set.immovable,
		q->in_the_way, c->skipped,
		q->effective_priority, q->rank, q->missing, q->set.hold, q->missed, q->seen.rptr,
		q->seen.wptr, q->seen.pending, q->seen.waves, dump_age_us(q->seen.waves_ns, now_ns),
		dump_age_us(q->seen.zero_ns, now_ns), dump_age_us(q->seen.moved_ns, now_ns),
		dump_age_us(q->seen.restore_since_ns, now_ns),
		dump_age_us(q->seen.stalled_ns, now_ns), dump_age_us(q->seen.active_ns, now_ns),
		q->preempted ? dump_age_us(q->preempted_at_ns, now_ns) : -1,
		q->preempted ? dump_age_us(q->seen.starved_ns, now_ns) : -1,
		div_u64(c->debt_ns, NSEC_PER_USEC));
}

static void dump_print_node(struct drm_printer *p, const struct gpreempt_node *gn,
			    const struct node_copy *c)
{
	u32 i;

	drm_printf(p, "node: gpu_id=%u state=%s backend=%s policy=%s level=%d errors=%u again=%d accepting=%d kick=%d processes=%u queues=%u waves_epoch=%u hw_priorities=%u\n",
		   gn->node->id, c->state, gn->backend ? gn->backend->name : "none", c->policy, c->level, c->errors, c->again,
		   c->accepting, c->kick, c->nr_processes, c->nr_registered, c->waves_epoch,
		   c->hw_priorities);
	if (!gn->backend)
		drm_printf(p, "reason: %s\n", gn->life.reason);
	drm_printf(
		p,
		"driver: running=%d halted=%d hung=%d queues=%u processes=%u age_us: unsettled=%lld decided=%lld\n",
		c->sched_running, c->sched_halt, c->hws_hang, c->active_queues, c->active_processes,
		dump_age_us(c->unsettled_ns, c->now_ns), dump_age_us(c->decided_ns, c->now_ns));
	if (c->hiq_dw)
		drm_printf(p, "hiq: size=%u rptr=%u wptr=%u\n", c->hiq_dw, c->hiq_rptr, c->hiq_wptr);
	dump_print_tunables(p, c);
	dump_print_stats(p, &c->stats);
	gpreempt_rooms_tell(dump, gn, p);
	for (i = 0; i < c->nr_queues; i++)
		dump_print_queue_copy(p, c, &c->queue[i]);
	if (c->nr_registered > c->nr_queues)
		drm_printf(p, "queues not shown: %u\n", c->nr_registered - c->nr_queues);
}

static void dump_print_copy(struct gpreempt_node *gn, struct drm_printer *p, struct node_copy *c)
{
	if (c)
		dump_print_node(p, gn, c);
	else
		drm_printf(p, "node: gpu_id=%u: no memory for a dump\n", gn->node->id);
	kvfree(c);
}

/**
 * gpreempt_dump() - print all that is known of a node
 * @gn: the node
 * @p: where to
 * @max_queues: print no more queues than that, at least 4
 *
 * Waits for a pass to end, and holds the next one up while it copies: with a device that does not
 * answer up to amdgpu.queue_preemption_timeout_ms.
 *
 * Context: gpreempt_lifecycle held; may sleep.
 */
void gpreempt_dump(struct gpreempt_node *gn, struct drm_printer *p, u32 max_queues)
{
	dump_print_copy(gn, p, dump_take_copy(gn, max_queues));
}

/**
 * gpreempt_dump_log() - the same into the kernel log, with a bounded number of queues
 * @gn: the node
 *
 * Context: the monitor, after a pass; no lock held; may sleep.
 */
void gpreempt_dump_log(struct gpreempt_node *gn)
{
	struct drm_printer p = drm_info_printer(gn->node->adev->dev);

	dump_print_copy(gn, &p, dump_take_copy(gn, MAX_LOGGED_QUEUES));
}

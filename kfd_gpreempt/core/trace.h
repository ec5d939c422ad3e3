/* SPDX-License-Identifier: MIT */
/*
 * trace.h - tracepoints of the scheduler (events/gpreempt)
 *
 * Field names are an interface, used by tools/trace and by whatever else reads them:
 *
 * gpu_id	the node, as in /sys/class/kfd/kfd/gpreempt/
 * pid		of the queue's process, in the initial namespace; common_pid is the monitor. 0: all
 * qid		KFD's queue id within the process
 * priority	logical priority against other processes
 * level	highest priority with work; -1024: no queue has work; 1024: a queue in relief
 * pending	packets (AQL) or dwords (PM4) between the read and the write pointer
 * waves	waves in flight when they were asked for last; -1: not known
 * *_ns		durations in nanoseconds
 */
#if !defined(GPREEMPT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define GPREEMPT_TRACE_H

#include <linux/tracepoint.h>

#include "node.h"
#include "compat/compat.h"

#undef TRACE_SYSTEM
#define TRACE_SYSTEM gpreempt
#define TRACE_INCLUDE_FILE trace

/* What all events of a queue begin with */
#define QUEUE_ENTRY							\
	__field(u32, gpu_id) __field(pid_t, pid) __field(u32, qid) __field(s32, priority)
#define QUEUE_ASSIGN(gq)						\
	do {								\
		__entry->gpu_id = (gq)->gn->node->id;			\
		__entry->pid = gpreempt_queue_pid(gq);			\
		__entry->qid = (gq)->q->properties.queue_id;		\
		__entry->priority = (gq)->policy.set.priority;		\
	} while (0)
#define QUEUE_FORMAT	"gpu_id=%u pid=%d qid=%u priority=%d"
#define QUEUE_ARGS	__entry->gpu_id, __entry->pid, __entry->qid, __entry->priority

/* A queue as a pass sees it: one event per queue and pass. */
TRACE_EVENT(gpreempt_sample,
	TP_PROTO(const struct gpreempt_queue *gq),
	TP_ARGS(gq),
	TP_STRUCT__entry(
		QUEUE_ENTRY
		__field(u64, rptr)
		__field(u64, wptr)
		__field(u64, pending)
		__field(s32, waves)
		__field(bool, preempted)
		__field(bool, blocked)
	),
	TP_fast_assign(
		QUEUE_ASSIGN(gq);
		__entry->rptr = gq->policy.seen.rptr;
		__entry->wptr = gq->policy.seen.wptr;
		__entry->pending = gq->policy.seen.pending;
		__entry->waves = gpreempt_queue_waves(gq);
		__entry->preempted = gq->policy.preempted;
		__entry->blocked = gq->policy.seen.blocked;
	),
	TP_printk(QUEUE_FORMAT " rptr=%llu wptr=%llu pending=%llu waves=%d preempted=%d blocked=%d",
		  QUEUE_ARGS, __entry->rptr, __entry->wptr, __entry->pending, __entry->waves,
		  __entry->preempted, __entry->blocked)
);

/* A pass has decided. elapsed_ns: looking and deciding. next_ns: until the next pass; 0: parks. */
TRACE_EVENT(gpreempt_pass,
	TP_PROTO(const struct gpreempt_node *gn, const struct gpreempt_decision *decision, u64 elapsed_ns),
	TP_ARGS(gn, decision, elapsed_ns),
	TP_STRUCT__entry(
		__field(u32, gpu_id)
		__field(s32, level)
		__field(u32, nr_preempt)
		__field(u32, nr_resume)
		__field(u64, elapsed_ns)
		__field(u64, next_ns)
	),
	TP_fast_assign(
		__entry->gpu_id = gn->node->id;
		__entry->level = gn->monitor.level;
		__entry->nr_preempt = decision->nr_preempt;
		__entry->nr_resume = decision->nr_resume;
		__entry->elapsed_ns = elapsed_ns;
		__entry->next_ns = decision->park ? 0 : decision->next_ns;
	),
	TP_printk("gpu_id=%u level=%d nr_preempt=%u nr_resume=%u elapsed_ns=%llu next_ns=%llu", __entry->gpu_id,
		  __entry->level, __entry->nr_preempt, __entry->nr_resume, __entry->elapsed_ns, __entry->next_ns)
);

/*
 * A pass has found another reason why a queue has the device or does not. verdict: as enum
 * gpreempt_verdict, in a word. leads: others yield to it.
 */
TRACE_EVENT(gpreempt_verdict,
	TP_PROTO(const struct gpreempt_queue *gq, const struct gpreempt_decision *decision),
	TP_ARGS(gq, decision),
	TP_STRUCT__entry(
		QUEUE_ENTRY
		__field(s32, level)
		__field(u64, pending)
		__string(verdict, gpreempt_verdict_names[gq->policy.verdict])
		__field(bool, leads)
	),
	TP_fast_assign(
		QUEUE_ASSIGN(gq);
		__entry->level = decision->level_valid ? decision->level : GPREEMPT_LEVEL_NONE;
		__entry->pending = gq->policy.seen.pending;
		GPREEMPT_COMPAT_ASSIGN_STR(verdict, gpreempt_verdict_names[gq->policy.verdict]);
		__entry->leads = gq->policy.leads;
	),
	TP_printk(QUEUE_FORMAT " level=%d pending=%llu verdict=%s leads=%d", QUEUE_ARGS,
		  __entry->level, __entry->pending, __get_str(verdict), __entry->leads)
);

/*
 * A lower queue is in the way of a higher one. nr_preempt: victims of this decision; 0 if something
 * forbids it for now. since_ns: from the last look that found none; it began no earlier.
 */
TRACE_EVENT(gpreempt_inversion,
	TP_PROTO(const struct gpreempt_node *gn, u32 nr_preempt, u64 since_ns),
	TP_ARGS(gn, nr_preempt, since_ns),
	TP_STRUCT__entry(
		__field(u32, gpu_id)
		__field(s32, level)
		__field(u32, nr_preempt)
		__field(u64, since_ns)
	),
	TP_fast_assign(
		__entry->gpu_id = gn->node->id;
		__entry->level = gn->monitor.level;
		__entry->nr_preempt = nr_preempt;
		__entry->since_ns = since_ns;
	),
	TP_printk("gpu_id=%u level=%d nr_preempt=%u since_ns=%llu", __entry->gpu_id, __entry->level,
		  __entry->nr_preempt, __entry->since_ns)
);

DECLARE_EVENT_CLASS(gpreempt_leaves,
	TP_PROTO(const struct gpreempt_queue *gq),
	TP_ARGS(gq),
	TP_STRUCT__entry(
		QUEUE_ENTRY
		__field(s32, level)
		__field(u64, pending)
		__field(s32, waves)
	),
	TP_fast_assign(
		QUEUE_ASSIGN(gq);
		__entry->level = gq->gn->monitor.level;
		__entry->pending = gq->policy.seen.pending;
		__entry->waves = gpreempt_queue_waves(gq);
	),
	TP_printk(QUEUE_FORMAT " level=%d pending=%llu waves=%d", QUEUE_ARGS,
		  __entry->level, __entry->pending, __entry->waves)
);

/* A queue is to leave the device. Next: gpreempt_preempt_end, or a gpreempt_error of the node. */
DEFINE_EVENT(gpreempt_leaves, gpreempt_preempt_begin,
	TP_PROTO(const struct gpreempt_queue *gq),
	TP_ARGS(gq)
);

/* The node only observes: otherwise the queue would be about to leave the device. */
DEFINE_EVENT(gpreempt_leaves, gpreempt_would_preempt,
	TP_PROTO(const struct gpreempt_queue *gq),
	TP_ARGS(gq)
);

/* A queue is saved. saved_waves: in the middle of a kernel. elapsed_ns: since the decision. */
TRACE_EVENT(gpreempt_preempt_end,
	TP_PROTO(const struct gpreempt_queue *gq, u64 elapsed_ns),
	TP_ARGS(gq, elapsed_ns),
	TP_STRUCT__entry(
		QUEUE_ENTRY
		__field(s32, level)
		__field(bool, saved_waves)
		__field(u64, elapsed_ns)
	),
	TP_fast_assign(
		QUEUE_ASSIGN(gq);
		__entry->level = gq->gn->monitor.level;
		__entry->saved_waves = gq->policy.saved_waves;
		__entry->elapsed_ns = elapsed_ns;
	),
	TP_printk(QUEUE_FORMAT " level=%d saved_waves=%d elapsed_ns=%llu", QUEUE_ARGS,
		  __entry->level, __entry->saved_waves, __entry->elapsed_ns)
);

/* The device has a queue back. held_ns: for so long it was off. elapsed_ns: since the decision. */
TRACE_EVENT(gpreempt_resume,
	TP_PROTO(const struct gpreempt_queue *gq, u64 held_ns, u64 elapsed_ns),
	TP_ARGS(gq, held_ns, elapsed_ns),
	TP_STRUCT__entry(
		QUEUE_ENTRY
		__field(s32, level)
		__field(u64, pending)
		__field(u64, held_ns)
		__field(u64, elapsed_ns)
	),
	TP_fast_assign(
		QUEUE_ASSIGN(gq);
		__entry->level = gq->gn->monitor.level;
		__entry->pending = gq->policy.seen.pending;
		__entry->held_ns = held_ns;
		__entry->elapsed_ns = elapsed_ns;
	),
	TP_printk(QUEUE_FORMAT " level=%d pending=%llu held_ns=%llu elapsed_ns=%llu",
		  QUEUE_ARGS, __entry->level, __entry->pending, __entry->held_ns, __entry->elapsed_ns)
);

/*
 * The node only observes: the queue had work beside which one ran that would have been preempted.
 * waited_ns: until the device took its first packet; -1: it did not wait, or that is not clear.
 * beside_ns: until either work ended.
 */
TRACE_EVENT(gpreempt_request,
	TP_PROTO(const struct gpreempt_queue *gq, s64 waited_ns, u64 beside_ns),
	TP_ARGS(gq, waited_ns, beside_ns),
	TP_STRUCT__entry(
		QUEUE_ENTRY
		__field(s64, waited_ns)
		__field(u64, beside_ns)
	),
	TP_fast_assign(
		QUEUE_ASSIGN(gq);
		__entry->waited_ns = waited_ns;
		__entry->beside_ns = beside_ns;
	),
	TP_printk(QUEUE_FORMAT " waited_ns=%lld beside_ns=%llu", QUEUE_ARGS, __entry->waited_ns,
		  __entry->beside_ns)
);

/* Announced work has come (came=1), to this queue or another one of its process, or is late (0). */
TRACE_EVENT(gpreempt_hint,
	TP_PROTO(const struct gpreempt_queue *gq, bool came),
	TP_ARGS(gq, came),
	TP_STRUCT__entry(
		QUEUE_ENTRY
		__field(bool, came)
	),
	TP_fast_assign(
		QUEUE_ASSIGN(gq);
		__entry->came = came;
	),
	TP_printk(QUEUE_FORMAT " came=%d", QUEUE_ARGS, __entry->came)
);

/*
 * A request to the hardware is done: it has unmapped all queues and mapped a new runlist. wait_ns:
 * from the decision to the request. saved_ns: from there until the last victim was saved; 0 if the
 * request had none. elapsed_ns: from the request to its end.
 */
TRACE_EVENT(gpreempt_runlist,
	TP_PROTO(const struct gpreempt_node *gn, const struct gpreempt_request *request),
	TP_ARGS(gn, request),
	TP_STRUCT__entry(
		__field(u32, gpu_id)
		__field(bool, preempted)
		__field(u64, wait_ns)
		__field(u64, saved_ns)
		__field(u64, elapsed_ns)
	),
	TP_fast_assign(
		__entry->gpu_id = gn->node->id;
		__entry->preempted = request->preempts;
		__entry->wait_ns = request->start_ns - gn->monitor.decided_ns;
		__entry->saved_ns = request->saved_ns - request->start_ns;
		__entry->elapsed_ns = request->done_ns - request->start_ns;
	),
	TP_printk("gpu_id=%u preempted=%d wait_ns=%llu saved_ns=%llu elapsed_ns=%llu", __entry->gpu_id, __entry->preempted,
		  __entry->wait_ns, __entry->saved_ns, __entry->elapsed_ns)
);

/*
 * Firmware has noted when a queue was last connected, saved or restored (step), on the XCC of that
 * number. start: in ticks of the 100 MHz clock. elapsed_ns: until its end. It is read when the
 * queue comes back.
 */
TRACE_EVENT(gpreempt_stamp,
	TP_PROTO(const struct gpreempt_queue *gq, const char *step, u32 xcc, u64 start,
		 u64 elapsed_ns),
	TP_ARGS(gq, step, xcc, start, elapsed_ns),
	TP_STRUCT__entry(
		QUEUE_ENTRY
		__string(step, step)
		__field(u32, xcc)
		__field(u64, start)
		__field(u64, elapsed_ns)
	),
	TP_fast_assign(
		QUEUE_ASSIGN(gq);
		GPREEMPT_COMPAT_ASSIGN_STR(step, step);
		__entry->xcc = xcc;
		__entry->start = start;
		__entry->elapsed_ns = elapsed_ns;
	),
	TP_printk(QUEUE_FORMAT " step=%s xcc=%u start=%llu elapsed_ns=%llu", QUEUE_ARGS,
		  __get_str(step), __entry->xcc, __entry->start, __entry->elapsed_ns)
);

/* All resumed queues are on the device, as far as one sees. elapsed_ns: since that decision. */
TRACE_EVENT(gpreempt_running,
	TP_PROTO(const struct gpreempt_node *gn, u64 elapsed_ns),
	TP_ARGS(gn, elapsed_ns),
	TP_STRUCT__entry(
		__field(u32, gpu_id)
		__field(u64, elapsed_ns)
	),
	TP_fast_assign(
		__entry->gpu_id = gn->node->id;
		__entry->elapsed_ns = elapsed_ns;
	),
	TP_printk("gpu_id=%u elapsed_ns=%llu", __entry->gpu_id, __entry->elapsed_ns)
);

/* Something that was wanted was not done. reason: as in skipped_<reason> in sysfs. */
TRACE_EVENT(gpreempt_skip,
	TP_PROTO(const struct gpreempt_node *gn, const struct gpreempt_queue *gq, const char *reason),
	TP_ARGS(gn, gq, reason),
	TP_STRUCT__entry(
		__field(u32, gpu_id)
		__field(pid_t, pid)
		__field(u32, qid)
		__string(reason, reason)
	),
	TP_fast_assign(
		__entry->gpu_id = gn->node->id;
		__entry->pid = gq ? gpreempt_queue_pid(gq) : 0;
		__entry->qid = gq ? gq->q->properties.queue_id : 0;
		GPREEMPT_COMPAT_ASSIGN_STR(reason, reason);
	),
	TP_printk("gpu_id=%u pid=%d qid=%u reason=%s", __entry->gpu_id, __entry->pid, __entry->qid,
		  __get_str(reason))
);

/* Something failed. cause: as in failed_<cause> in sysfs. error: negative error code. */
TRACE_EVENT(gpreempt_error,
	TP_PROTO(const struct gpreempt_node *gn, const struct gpreempt_queue *gq, const char *cause, int error),
	TP_ARGS(gn, gq, cause, error),
	TP_STRUCT__entry(
		__field(u32, gpu_id)
		__field(pid_t, pid)
		__field(u32, qid)
		__string(cause, cause)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->gpu_id = gn->node->id;
		__entry->pid = gq ? gpreempt_queue_pid(gq) : 0;
		__entry->qid = gq ? gq->q->properties.queue_id : 0;
		GPREEMPT_COMPAT_ASSIGN_STR(cause, cause);
		__entry->error = error;
	),
	TP_printk("gpu_id=%u pid=%d qid=%u cause=%s error=%d", __entry->gpu_id, __entry->pid, __entry->qid,
		  __get_str(cause), __entry->error)
);

/* The node's state has changed. state: as in sysfs. */
TRACE_EVENT(gpreempt_state,
	TP_PROTO(const struct gpreempt_node *gn, const char *state),
	TP_ARGS(gn, state),
	TP_STRUCT__entry(
		__field(u32, gpu_id)
		__string(state, state)
	),
	TP_fast_assign(
		__entry->gpu_id = gn->node->id;
		GPREEMPT_COMPAT_ASSIGN_STR(state, state);
	),
	TP_printk("gpu_id=%u state=%s", __entry->gpu_id, __get_str(state))
);

/* All doorbells of a process are withdrawn. late: it had work by then, and is looked at instead. */
TRACE_EVENT(gpreempt_arm,
	TP_PROTO(const struct gpreempt_process *process, bool late),
	TP_ARGS(process, late),
	TP_STRUCT__entry(
		__field(u32, gpu_id)
		__field(pid_t, pid)
		__field(bool, late)
	),
	TP_fast_assign(
		__entry->gpu_id = process->gn->node->id;
		__entry->pid = process->p->lead_thread->pid;
		__entry->late = late;
	),
	TP_printk("gpu_id=%u pid=%d late=%d", __entry->gpu_id, __entry->pid, __entry->late)
);

/*
 * A process writes or reads a doorbell that was withdrawn. In its own context, before the access;
 * once per node that it uses.
 */
TRACE_EVENT(gpreempt_ring,
	TP_PROTO(const struct gpreempt_process *process),
	TP_ARGS(process),
	TP_STRUCT__entry(
		__field(u32, gpu_id)
		__field(pid_t, pid)
	),
	TP_fast_assign(
		__entry->gpu_id = process->gn->node->id;
		__entry->pid = process->p->lead_thread->pid;
	),
	TP_printk("gpu_id=%u pid=%d", __entry->gpu_id, __entry->pid)
);

#endif /* GPREEMPT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH ../kfd_gpreempt/core
#include <trace/define_trace.h>

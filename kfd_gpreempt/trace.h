/* SPDX-License-Identifier: MIT */
/*
 * trace.h - tracepoints of the scheduler (events/gpreempt)
 */
#if !defined(GPREEMPT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define GPREEMPT_TRACE_H

#include <linux/tracepoint.h>

#undef TRACE_SYSTEM
#define TRACE_SYSTEM gpreempt
#define TRACE_INCLUDE_FILE trace

TRACE_EVENT(gpreempt_inversion,
	TP_PROTO(u32 gpu_id, int level),
	TP_ARGS(gpu_id, level),
	TP_STRUCT__entry(
		__field(u32, gpu_id)
		__field(int, level)
	),
	TP_fast_assign(
		__entry->gpu_id = gpu_id;
		__entry->level = level;
	),
	TP_printk("gpu_id=%u level=%d", __entry->gpu_id, __entry->level)
);

TRACE_EVENT(gpreempt_preempt,
	TP_PROTO(u32 gpu_id, pid_t pid, u32 qid, int priority, bool saved_waves),
	TP_ARGS(gpu_id, pid, qid, priority, saved_waves),
	TP_STRUCT__entry(
		__field(u32, gpu_id)
		__field(pid_t, pid)
		__field(u32, qid)
		__field(int, priority)
		__field(bool, saved_waves)
	),
	TP_fast_assign(
		__entry->gpu_id = gpu_id;
		__entry->pid = pid;
		__entry->qid = qid;
		__entry->priority = priority;
		__entry->saved_waves = saved_waves;
	),
	TP_printk("gpu_id=%u pid=%d qid=%u priority=%d saved_waves=%d", __entry->gpu_id, __entry->pid,
		  __entry->qid, __entry->priority, __entry->saved_waves)
);

TRACE_EVENT(gpreempt_resume,
	TP_PROTO(u32 gpu_id, pid_t pid, u32 qid, u64 held_ns),
	TP_ARGS(gpu_id, pid, qid, held_ns),
	TP_STRUCT__entry(
		__field(u32, gpu_id)
		__field(pid_t, pid)
		__field(u32, qid)
		__field(u64, held_ns)
	),
	TP_fast_assign(
		__entry->gpu_id = gpu_id;
		__entry->pid = pid;
		__entry->qid = qid;
		__entry->held_ns = held_ns;
	),
	TP_printk("gpu_id=%u pid=%d qid=%u held_ns=%llu", __entry->gpu_id, __entry->pid, __entry->qid,
		  __entry->held_ns)
);

TRACE_EVENT(gpreempt_skip,
	TP_PROTO(u32 gpu_id, pid_t pid, u32 qid, const char *reason),
	TP_ARGS(gpu_id, pid, qid, reason),
	TP_STRUCT__entry(
		__field(u32, gpu_id)
		__field(pid_t, pid)
		__field(u32, qid)
		__string(reason, reason)
	),
	TP_fast_assign(
		__entry->gpu_id = gpu_id;
		__entry->pid = pid;
		__entry->qid = qid;
		__assign_str(reason);
	),
	TP_printk("gpu_id=%u pid=%d qid=%u reason=%s", __entry->gpu_id, __entry->pid, __entry->qid,
		  __get_str(reason))
);

TRACE_EVENT(gpreempt_failure,
	TP_PROTO(u32 gpu_id, int error),
	TP_ARGS(gpu_id, error),
	TP_STRUCT__entry(
		__field(u32, gpu_id)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->gpu_id = gpu_id;
		__entry->error = error;
	),
	TP_printk("gpu_id=%u error=%d", __entry->gpu_id, __entry->error)
);

#endif /* GPREEMPT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH ../../drivers/gpu/drm/amd/kfd_gpreempt
#include <trace/define_trace.h>

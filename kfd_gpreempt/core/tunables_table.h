/* SPDX-License-Identifier: MIT */
/*
 * tunables_table.h - THE table of tunables: a new one is a row here, its use, and rows in tests
 * (Documentation/design.rst, How to add)
 *
 * From a row come the parameter gpreempt_<name> of amdgpu with its description, the file of each
 * node, the bounds and the message for what is out of them, the copy that a pass works with, its
 * part of the dump, what gpreemptctl knows of it, and the table in the documentation
 * (Documentation/tunables.py --write). So this file has names, numbers and texts alone.
 *
 * Columns, of which each kind of row has those that it needs:
 *
 * id		GPREEMPT_TUNABLE_<id>
 * name		in files, parameters and messages. A unit is its last part.
 * file		of a node: TUNABLES: tunables/<name> in its folder, NODE: <name> there. A row
 *		GLOBAL has none: its value is one for the module.
 * unit		of what is written: MS, US, PCT. Inside, times are in nanoseconds.
 * default	of a new node, until the parameter is written. The first one of words.
 * min, max	bounds, both included
 * zero		"; 0: " and what it means, if 0 is allowed beside them; otherwise ""
 * words	what may be written, with spaces between. The value is the place in this list.
 * place	where a pass finds the value: a member of struct gpreempt_tunables
 * text		what it is, for modinfo and the documentation
 */
#ifndef GPREEMPT_TUNABLES_TABLE_H
#define GPREEMPT_TUNABLES_TABLE_H

/*
 * GLOBAL(id, name, default, text)
 * SWITCH(id, name, file, default, place, text)
 * NUMBER(id, name, file, unit, default, min, max, zero, place, text)
 * WORDS(id, name, file, words, place, text)
 */
#define GPREEMPT_TUNABLES(GLOBAL, SWITCH, NUMBER, WORDS)									\
	GLOBAL(ENABLE, enable, 0,												\
	       "Compute queues are preempted by software priority")								\
	GLOBAL(MES, mes, 0,													\
	       "Devices whose queues MES schedules are scheduled as well, from when they come up")				\
	SWITCH(OBSERVE, observe, TUNABLES, 0, params.observe,									\
	       "Decide and count as ever, and take nothing off the device")							\
	WORDS(POLICY, policy, NODE, "hpf wfq edf", policy,									\
	      "Who comes first: hpf, the highest priority; wfq, by weights; edf, the earliest deadline")			\
	NUMBER(INTERVAL_MS, interval_ms, TUNABLES, MS, 5, 1, 10000, "", params.interval_ns,					\
	       "Milliseconds between looks at the queues while nothing is contended")						\
	NUMBER(POLL_US, poll_us, TUNABLES, US, 80, 50, 1000000, "; 0: gpreempt_interval_ms rules alone", params.poll_ns,	\
	       "Microseconds between looks while a lower and a higher process both had work within the last second, "		\
	       "more where looking costs more than 4 percent of a core")							\
	NUMBER(MAX_HOLD_MS, max_hold_ms, TUNABLES, MS, 1000, 1, 3600000, "; 0: never", params.max_hold_ns,			\
	       "Milliseconds in which work that waits for higher work is owed gpreempt_relief_ms of service, "			\
	       "and after which a hold that is not unbounded ends")								\
	NUMBER(RELIEF_MS, relief_ms, TUNABLES, MS, 20, 1, 10000, "", params.relief_ns,						\
	       "Milliseconds of service that all work that waits for higher work is owed together in each "			\
	       "gpreempt_max_hold_ms")												\
	NUMBER(BLOCKED_US, blocked_us, TUNABLES, US, 2000, 100, 10000000, "; 0: never", params.blocked_ns,			\
	       "Microseconds without progress and without waves after which a queue is taken to wait for something "		\
	       "else than the GPU")												\
	NUMBER(OVERHEAD_PCT, overhead_pct, TUNABLES, PCT, 0, 1, 50, "; 0: 10, and any for the highest",				\
	       params.overhead_pct,												\
	       "Percent of time that saving and restoring may take for a priority and those above it, before its "		\
	       "preemptions are spaced out")											\
	NUMBER(AGING_MS, aging_ms, TUNABLES, MS, 0, 1, 3600000, "; 0: never", params.aging_ns,					\
	       "Milliseconds after which a preempted queue with work gains a step of priority, up to equality with "		\
	       "those above")													\
	NUMBER(MIN_RUN_US, min_run_us, TUNABLES, US, 0, 10, 1000000, "; 0: it may be at once", params.min_run_ns,		\
	       "Microseconds that a queue runs at least before it may be preempted")						\
	NUMBER(RESUME_DELAY_US, resume_delay_us, TUNABLES, US, 0, 10, 1000000, "; 0: none", params.resume_delay_ns,		\
	       "Microseconds between the end of higher work and the return of what it preempted")				\
	NUMBER(DRAIN_US, drain_us, TUNABLES, US, 200, 10, 1000000, "; 0: they never wait", params.drain_ns,			\
	       "Microseconds that higher work waits at most for lower kernels that are about to end, and no longer "		\
	       "than taking them off the device takes")										\
	NUMBER(SLICE_US, slice_us, TUNABLES, US, 5000, 500, 1000000, "", params.slice_ns,					\
	       "Microseconds that a process has the device under the policy wfq before one that is behind gets it")		\
	SWITCH(NICE, nice, TUNABLES, 1, nice,											\
	       "A process's nice value lowers the priority of its queues")							\
	SWITCH(TRUST_KFD_PRIORITY, trust_kfd_priority, TUNABLES, 0, trust,							\
	       "Queue priorities above 7 count against other processes even if their owner has no CAP_SYS_NICE")		\
	WORDS(HW_PRIORITY, hw_priority, TUNABLES, "normal follow", hw_priority,							\
	      "Hardware priority of scheduled queues: normal, while processes of different rank work; or follow the "		\
	      "logical priority")												\
	SWITCH(VERIFY, verify, TUNABLES, 0, verify,										\
	       "Look whether anything writes to the MQDs of preempted queues, and report it (without the hardware "		\
	       "scheduler always on)")												\
	SWITCH(FOLLOW_STOP, follow_stop, TUNABLES, 0, follow_stop,								\
	       "Queues of a process that is stopped or frozen leave the device until it goes on")				\
	NUMBER(IDLE_EVICT_US, idle_evict_us, TUNABLES, US, 0, 1000, 10000000, "; 0: never", idle_ns,				\
	       "Microseconds after which an idle process leaves the runlist, while it has more queues than slots or more "	\
	       "processes than VMIDs, until its next doorbell")									\
	SWITCH(ACCOUNT, account, TUNABLES, 0, account,										\
	       "Look at queues also where no decision depends on it, to account for how long each uses the device")		\
	WORDS(WAKEUP, wakeup, TUNABLES, "auto poll doorbell", wakeup,								\
	      "How new work is noticed: poll, by looking for it; doorbell, by withdrawing the doorbells of idle "		\
	      "processes; auto, by what is cheaper for each process")							\
	WORDS(UNMAP, unmap, TUNABLES, "all named", unmap,									\
	      "What leaves the device for a moment with each preemption and each resume: all queues; named, only "		\
	      "those that it is about, where firmware can do that")

/*
 * Rows as parameters of the module, for params.c, which says what gpreempt_params_ops are.
 * Declarations end with a semicolon of their own, since rows of an enumeration or an array have
 * none.
 */
#define GPREEMPT_PARAM(_id, _name, _type, _text)									\
	module_param_cb(gpreempt_##_name, &gpreempt_params_ops, (void *)(uintptr_t)GPREEMPT_TUNABLE_##_id, 0644);	\
	__MODULE_PARM_TYPE(gpreempt_##_name, _type);									\
	MODULE_PARM_DESC(gpreempt_##_name, _text);
#define GPREEMPT_PARAM_GLOBAL(_id, _name, _default, _text)	\
	GPREEMPT_PARAM(_id, _name, "bool", _text " (0, 1; default " __stringify(_default) ")")
#define GPREEMPT_PARAM_SWITCH(_id, _name, _file, _default, _place, _text)	\
	GPREEMPT_PARAM_GLOBAL(_id, _name, _default, _text)
#define GPREEMPT_PARAM_NUMBER(_id, _name, _file, _unit, _default, _min, _max, _zero, _place, _text)	\
	GPREEMPT_PARAM(_id, _name, "uint", _text " (" __stringify(_min) ".." __stringify(_max)		\
		       "; default " __stringify(_default) _zero ")")
#define GPREEMPT_PARAM_WORDS(_id, _name, _file, _words, _place, _text)	\
	GPREEMPT_PARAM(_id, _name, "charp", _text " (" _words "; default the first)")

#endif /* GPREEMPT_TUNABLES_TABLE_H */

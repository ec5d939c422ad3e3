/* SPDX-License-Identifier: MIT */
/*
 * aql.h - what programs and the device share of AQL queues: packets, signals, amd_queue_t
 */
#ifndef VGPU_AQL_H
#define VGPU_AQL_H

#define AQL_BYTES		64

enum {
	AQL_VENDOR	= 0,
	AQL_INVALID	= 1,
	AQL_DISPATCH	= 2,
	AQL_BARRIER_AND	= 3,
	AQL_AGENT	= 4,
	AQL_BARRIER_OR	= 5,
};

/* Byte offsets in signals */
#define SIGNAL_VALUE		8
#define SIGNAL_MAILBOX		16
#define SIGNAL_EVENT_ID		24
#define SIGNAL_START		32		/* u64 start_ts, end_ts */

/* Byte offsets in amd_queue_t */
#define QUEUE_RPTR_OFFSET	136		/* u32, VGPU_QUEUE_RPTR */
#define QUEUE_TMPRING		140		/* u32 compute_tmpring_size */
#define QUEUE_SCRATCH_SEGMENT	144		/* u32[4], resource descriptor */
#define QUEUE_SCRATCH		160		/* scratch_backing_memory_location */
#define QUEUE_PROPERTIES	180
#define QUEUE_INACTIVE		192		/* queue_inactive_signal */

/* Bits of queue_inactive_signal */
#define INACTIVE_FIRST_CODE	15		/* the code that would have bit 0 */
#define INACTIVE_BAD_FORMAT	32
#define INACTIVE_SCRATCH	1
#define INACTIVE_APERTURE	(1ULL << 29)
#define INACTIVE_ILLEGAL	(1ULL << 30)
#define INACTIVE_TRAP		(1ULL << 31)

#define ENABLE_PROFILING	0x8		/* of the properties: completion signals get time stamps */
#define SRC_CP_EOP		181		/* source of the interrupt at the end of a packet */

#endif /* VGPU_AQL_H */

/* SPDX-License-Identifier: MIT */
/*
 * standin.h - between XSched's queue class, in C++ with stand-ins for XSched and HIP, and its test, in C with real queues of KFD
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A stream of "HIP"; what it is, is the test's. */
struct standin_stream;

/* Implemented by the test. */
int standin_put_packet(struct standin_stream *stream);		/* that does nothing; does not wait */
void standin_launch(struct standin_stream *stream);		/* the next command */
bool standin_is_done(struct standin_stream *stream);		/* all that was put into it */
void standin_wait(struct standin_stream *stream);		/* until it is */
uint32_t standin_device(void);					/* PCI address: domain, bus, device, function */

/* What XSched does with a queue. @queue: as queue_create() returned it. */
void *queue_create(struct standin_stream *stream, int level);	/* as HipQueueCreate(), then OnPreemptLevelChange(level) */
void queue_destroy(void *queue);
int queue_max_level(void *queue);
bool queue_is_known(void *queue);				/* at level 3, and the stream's queue has been found */
void queue_launch(void *queue);
void queue_synchronize(void *queue);
void queue_interrupt(void *queue);				/* Deactivate(), Interrupt() */
void queue_restore(void *queue, bool empty_log);		/* Restore(), Reactivate() */

/* Warnings so far, and the last one */
int standin_warnings(void);
const char *standin_warning(void);

#ifdef __cplusplus
}
#endif

#endif /* STANDIN_H */

/* SPDX-License-Identifier: MIT */
/*
 * classes.h - GPREEMPT_QUEUE_CLASS and gpreempt_queue_class(): a priority for each queue of a process
 *
 * The scheduler lets a queue preempt another one of its own process only if both have a priority
 * that was asked for. What is given here is asked for.
 */
#ifndef CLASSES_H
#define CLASSES_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct queue_class - what a queue gets
 * @has: it gets something; false: the others do not count
 * @named: by its number or by its thread, and not by "*": then what the program asks KFD for does
 *	not count
 * @priority: logical priority
 */
struct queue_class {
	bool has;
	bool named;
	int priority;
};

/** classes_read() - read the variable. A bad value is told on stderr and ignored. */
void classes_read(void);

/** classes_next() - count a compute queue that the calling thread is about to make. Return: what it gets. */
struct queue_class classes_next(uint32_t gpu_id);

/** classes_not_made() - the queue that classes_next() counted was refused */
void classes_not_made(uint32_t gpu_id);

/**
 * classes_kfd_priority() - what KFD is told of a queue
 * @class: what it gets; has something
 *
 * The order within the process that it gives takes no right and counts from the first moment.
 */
uint32_t classes_kfd_priority(const struct queue_class *class);

/** classes_give() - the queue has been made: give it its priority, and remember that it has one */
void classes_give(uint32_t gpu_id, uint32_t queue_id, const struct queue_class *class);

/** classes_of() - what a queue has been given */
struct queue_class classes_of(uint32_t queue_id);

/** classes_take_back() - the program asks for another priority than normal: from now on that counts */
void classes_take_back(uint32_t queue_id);

/** classes_forget() - the queue is destroyed */
void classes_forget(uint32_t queue_id);

#endif /* CLASSES_H */

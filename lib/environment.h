/* SPDX-License-Identifier: MIT */
/*
 * environment.h - GPREEMPT_PRIORITY, HSA_QUEUE_PRIORITY and GPREEMPT_QUEUE_CLASS, for the two libraries that apply them to programs as they are
 */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "classes.h"

/**
 * environment_apply() - before the process's first queue: read the variables, set the process's priority
 * @kfd_priority: out: what queues with KFD_PRIORITY_NORMAL get instead
 *
 * Once per process; later calls only tell @kfd_priority. A bad value is told on stderr and ignored. Without the module nothing is read, told
 * or changed. errno stays.
 *
 * Return: whether @kfd_priority was asked for
 */
bool environment_apply(uint32_t *kfd_priority);

/**
 * environment_class() - before each compute queue: count it, and see what GPREEMPT_QUEUE_CLASS or its thread wants for it
 * @gpu_id: its node
 *
 * Return: that; nothing without the module
 */
struct queue_class environment_class(uint32_t gpu_id);

#endif /* ENVIRONMENT_H */

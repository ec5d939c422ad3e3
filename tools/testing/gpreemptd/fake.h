/* SPDX-License-Identifier: MIT */
/* fake.h - what the tests say and see of fake.c */
#ifndef FAKE_H
#define FAKE_H

#include <stdbool.h>

#include "gpreempt.h"

/**
 * struct fake - the kernel's side
 * @queues: that there are
 * @jobs: the job of each; 0: none
 * @nr: their number
 * @open_error: of gpreempt_open()
 * @list_error: of gpreempt_list_jobs()
 * @hold_error: of gpreempt_preempt()
 * @opened: handles that are open
 * @holds: calls of gpreempt_preempt()
 * @resumes: calls of gpreempt_resume()
 * @holds_at_resume: @holds at the last of those
 * @timeout_ms: of the last hold
 * @flags: of the last hold
 * @event: what gpreempt_read_events() gives
 * @nr_events: how often
 */
struct fake {
	struct gpreempt_queue_info queues[300];
	uint64_t jobs[300];
	unsigned int nr;
	int open_error;
	int list_error;
	int hold_error;
	int opened;
	unsigned int holds;
	unsigned int resumes;
	unsigned int holds_at_resume;
	unsigned int timeout_ms;
	unsigned int flags;
	struct gpreempt_event event;
	unsigned int nr_events;
};

extern struct fake fake;

struct gpreempt_queue_info *fake_queue(pid_t pid, uint32_t gpu_id, uint32_t queue_id);

#endif /* FAKE_H */

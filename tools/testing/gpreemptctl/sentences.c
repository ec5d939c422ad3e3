// SPDX-License-Identifier: MIT
/*
 * sentences.c - a sentence for each verdict, with and without what the caller may know: input of userspace.sh
 */
#include <stdio.h>

#include "gpreempt.h"
#include "verdict.h"

static void say(const struct gpreempt_queue_info *q)
{
	char text[256];

	printf("%s: %s\n", gpreempt_verdict_name(q->verdict), verdict_sentence(q, text, sizeof(text)));
}

int main(void)
{
	struct gpreempt_queue_info q = {
		.verdict_us = 2100, .left_us = 997900, .to_pid = 4711, .to_queue_id = 2, .to_priority = 100, .to_pending = 3,
	};
	unsigned int i;

	for (i = 0; i <= GPREEMPT_VERDICT_IDLE; i++) {
		/* One of those that are not there is enough. */
		if (i > GPREEMPT_VERDICT_DRAINS + 1 && i < GPREEMPT_VERDICT_YIELDS)
			continue;
		q.verdict = i;
		say(&q);
	}
	/* Without times; with the last kernel running. */
	q.verdict_us = 0;
	q.left_us = ~0U;
	q.to_pending = 0;
	for (i = GPREEMPT_VERDICT_YIELDS; i <= GPREEMPT_VERDICT_IDLE; i++) {
		q.verdict = i;
		say(&q);
	}
	q.verdict = GPREEMPT_VERDICT_RELIEF;
	say(&q);
	/* Held, and to whom it yields is not the caller's to know. */
	q.flags = GPREEMPT_QUEUE_HELD;
	q.verdict = GPREEMPT_VERDICT_EXEMPT;
	say(&q);
	q.to_pid = 0;
	say(&q);
	q.verdict = GPREEMPT_VERDICT_YIELDS;
	say(&q);
	/* A debugger has its process, or has suspended it. */
	q.flags = GPREEMPT_QUEUE_DEBUGGED;
	q.verdict = GPREEMPT_VERDICT_OBSTACLE;
	say(&q);
	q.flags = GPREEMPT_QUEUE_DEBUGGED | GPREEMPT_QUEUE_SUSPENDED;
	q.verdict = GPREEMPT_VERDICT_DRIVER;
	say(&q);
	q.flags = 0;
	q.verdict = GPREEMPT_VERDICT_YIELDS;
	/* Times of all sizes, one packet, a relief. */
	q.to_pid = 1;
	q.to_queue_id = 0;
	q.to_priority = GPREEMPT_PRIORITY_MAX + 1;
	q.to_pending = 1;
	q.verdict_us = 999;
	q.left_us = 9999;
	say(&q);
	q.verdict_us = 10000;
	q.left_us = 9999999;
	say(&q);
	q.verdict_us = 10000000;
	q.left_us = ~0U - 1;
	say(&q);
	return 0;
}

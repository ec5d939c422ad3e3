// SPDX-License-Identifier: MIT
/*
 * verdict.c - a verdict in a sentence
 */
#include "verdict.h"

#include <inttypes.h>
#include <stdio.h>

/* A time as short as it can be read. */
static const char *duration(uint32_t us, char *buffer, size_t size)
{
	if (us < 1000)
		snprintf(buffer, size, "%" PRIu32 " us", us);
	else if (us < 10000)
		snprintf(buffer, size, "%" PRIu32 ".%" PRIu32 " ms", us / 1000, us / 100 % 10);
	else if (us < 10000000)
		snprintf(buffer, size, "%" PRIu32 " ms", us / 1000);
	else
		snprintf(buffer, size, "%" PRIu32 " s", us / 1000000);
	return buffer;
}

/* " since 2.1 ms"; nothing if it is not known. */
static const char *since(const struct gpreempt_queue_info *q, char *buffer, size_t size)
{
	char time[32];

	buffer[0] = '\0';
	if (q->verdict_us)
		snprintf(buffer, size, " since %s", duration(q->verdict_us, time, sizeof(time)));
	return buffer;
}

/* "; may be held 997 ms more"; nothing if that is not known. */
static const char *left(const struct gpreempt_queue_info *q, const char *before, const char *after, char *buffer, size_t size)
{
	char time[32];

	buffer[0] = '\0';
	if (q->left_us != ~0U)
		snprintf(buffer, size, "%s%s%s", before, duration(q->left_us, time, sizeof(time)), after);
	return buffer;
}

/* "pid 4711 queue 0 (priority 100, 3 packets waiting)" */
static const char *other(const struct gpreempt_queue_info *q, char *buffer, size_t size)
{
	char waiting[48] = "", priority[32] = "in its relief";

	if (!q->to_pid) {
		snprintf(buffer, size, "more urgent work of others");
		return buffer;
	}
	if (q->to_pending)
		snprintf(waiting, sizeof(waiting), ", %" PRIu32 " packet%s waiting", q->to_pending, q->to_pending == 1 ? "" : "s");
	if (q->to_priority <= GPREEMPT_PRIORITY_MAX)
		snprintf(priority, sizeof(priority), "priority %d", q->to_priority);
	snprintf(buffer, size, "pid %d queue %" PRIu32 " (%s%s)", q->to_pid, q->to_queue_id, priority, waiting);
	return buffer;
}

/**
 * verdict_sentence() - why a queue has the device or does not
 * @q: the queue
 * @buffer: of 256 bytes, or the end may be missing
 * @size: of @buffer
 *
 * Return: @buffer
 */
const char *verdict_sentence(const struct gpreempt_queue_info *q, char *buffer, size_t size)
{
	char a[64], b[96], to[128];

	since(q, a, sizeof(a));
	other(q, to, sizeof(to));
	switch (q->verdict) {
	case GPREEMPT_VERDICT_NONE:
		snprintf(buffer, size, "may run; nothing is decided about it: its node is paused or gave up, or it has just come");
		break;
	case GPREEMPT_VERDICT_RUNS:
		snprintf(buffer, size, "runs%s", a);
		break;
	case GPREEMPT_VERDICT_NO_DEMAND:
		snprintf(buffer, size, "has no work%s", a);
		break;
	case GPREEMPT_VERDICT_DORMANT:
		snprintf(buffer, size, "has had no work for long");
		break;
	case GPREEMPT_VERDICT_BLOCKED:
		snprintf(buffer, size, "waits for something else than the device%s, so no queue yields to it%s", a,
			 left(q, "; it has its priority again in ", "", b, sizeof(b)));
		break;
	case GPREEMPT_VERDICT_DRIVER:
		snprintf(buffer, size, "the driver has taken it off the device%s", a);
		break;
	case GPREEMPT_VERDICT_UNSEEN:
		snprintf(buffer, size, "may run; its ring pointers cannot be read, so no queue yields to it");
		break;
	case GPREEMPT_VERDICT_EXPECTED:
		snprintf(buffer, size, "its work was announced, and the device is kept clear for it%s", left(q, " for ", " more", b, sizeof(b)));
		break;
	case GPREEMPT_VERDICT_RELIEF:
		snprintf(buffer, size, "runs in its relief%s, because it was kept off for the longest time%s", a,
			 left(q, "; ", " are left", b, sizeof(b)));
		break;
	case GPREEMPT_VERDICT_SIBLING:
		snprintf(buffer, size, "runs%s beside a more urgent queue of its own process", a);
		break;
	case GPREEMPT_VERDICT_AGED:
		snprintf(buffer, size, "runs%s beside more urgent work, because it waited for long%s", a, left(q, "; ", " are left", b, sizeof(b)));
		break;
	case GPREEMPT_VERDICT_EXEMPT:
		snprintf(buffer, size, "stays on the device%s, because its process is exempt; it would yield to %s", a,
			 q->flags & GPREEMPT_QUEUE_HELD && !q->to_pid ? "a hold" : to);
		break;
	case GPREEMPT_VERDICT_OBSTACLE:
		snprintf(buffer, size, "stays on the device%s, because the driver does not let it go; it would yield to %s", a,
			 q->flags & GPREEMPT_QUEUE_HELD && !q->to_pid ? "a hold" : to);
		break;
	case GPREEMPT_VERDICT_MIN_RUN:
		snprintf(buffer, size, "yields to %s%s, when it has run for its least time", to, left(q, " in ", "", b, sizeof(b)));
		break;
	case GPREEMPT_VERDICT_BUDGET:
		snprintf(buffer, size, "yields to %s%s, when the overhead budget allows it", to, left(q, " in ", "", b, sizeof(b)));
		break;
	case GPREEMPT_VERDICT_YIELDS:
		snprintf(buffer, size, "yields to %s%s%s", to, a, left(q, "; may be held ", " more", b, sizeof(b)));
		break;
	case GPREEMPT_VERDICT_OWN_PROCESS:
		snprintf(buffer, size, "yields to a queue of its own process%s%s", a, left(q, "; may be held ", " more", b, sizeof(b)));
		break;
	case GPREEMPT_VERDICT_HOLD:
		snprintf(buffer, size, "is held on request%s%s", a, left(q, "; may be held ", " more", b, sizeof(b)));
		break;
	case GPREEMPT_VERDICT_AGEING:
		snprintf(buffer, size, "yields to %s%s; it waited for long, so it runs beside that soon%s", to, a, left(q, ", in ", "", b, sizeof(b)));
		break;
	case GPREEMPT_VERDICT_RESUME_DELAYED:
		snprintf(buffer, size, "has the device back soon%s, unless more urgent work comes before", left(q, ", in ", "", b, sizeof(b)));
		break;
	case GPREEMPT_VERDICT_LEFT_OFF:
		snprintf(buffer, size, "has no work%s, and comes back when the runlist changes", a);
		break;
	default:
		snprintf(buffer, size, "verdict %u, which this program does not know", q->verdict);
		break;
	}
	return buffer;
}

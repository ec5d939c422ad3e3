// SPDX-License-Identifier: MIT
/* verdict.c - a verdict in a sentence */
#include "verdict.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

/* $since, $to, $left, $driver and $why are put in; $left is nothing if the time is not known. */
static const struct {
	const char *text, *before_left, *after_left;
} sentences[] = {
	[GPREEMPT_VERDICT_NONE] = {
		.text = "may run; nothing is decided about it: its node is paused or gave up, or it has just come" },
	[GPREEMPT_VERDICT_RUNS] = { .text = "runs$since" },
	[GPREEMPT_VERDICT_NO_DEMAND] = { .text = "has no work$since" },
	[GPREEMPT_VERDICT_DORMANT] = { .text = "has had no work for long" },
	[GPREEMPT_VERDICT_BLOCKED] = { "waits for something else than the device$since, so no queue yields to it$left",
				       "; it has its priority again in ", "" },
	[GPREEMPT_VERDICT_DRIVER] = { .text = "$driver has taken it off the device$since" },
	[GPREEMPT_VERDICT_UNSEEN] = { .text = "may run; its ring pointers cannot be read, so no queue yields to it" },
	[GPREEMPT_VERDICT_EXPECTED] = { "its work was announced, and the device is kept clear for it$left", " for ", " more" },
	[GPREEMPT_VERDICT_RELIEF] = { "runs in its relief$since, because it was kept off for the longest time$left", "; ", " are left" },
	[GPREEMPT_VERDICT_SIBLING] = { .text = "runs$since beside a more urgent queue of its own process" },
	[GPREEMPT_VERDICT_AGED] = { "runs$since beside more urgent work, because it waited for long$left", "; ", " are left" },
	[GPREEMPT_VERDICT_EXEMPT] = { .text = "stays on the device$since, because its process is exempt; it would yield to $to" },
	[GPREEMPT_VERDICT_OBSTACLE] = { .text = "stays on the device$since, because $why; it would yield to $to" },
	[GPREEMPT_VERDICT_MIN_RUN] = { "yields to $to$left, when it has run for its least time", " in ", "" },
	[GPREEMPT_VERDICT_BUDGET] = { "yields to $to$left, when the overhead budget allows it", " in ", "" },
	[GPREEMPT_VERDICT_OBSERVED] = {
		.text = "stays on the device$since, because its node only observes (gpreempt_observe=1); it would yield to $to" },
	[GPREEMPT_VERDICT_JOB] = { .text = "its job works on another GPU$since, and the device is kept clear for it" },
	[GPREEMPT_VERDICT_DRAINS] = { "yields to $to$left, unless it ends before", " in ", "" },
	[GPREEMPT_VERDICT_YIELDS] = { "yields to $to$since$left", "; may be held ", " more" },
	[GPREEMPT_VERDICT_OWN_PROCESS] = { "yields to a queue of its own process$since$left", "; may be held ", " more" },
	[GPREEMPT_VERDICT_HOLD] = { "is held on request$since$left", "; may be held ", " more" },
	[GPREEMPT_VERDICT_AGEING] = { "yields to $to$since; it waited for long, so it runs beside that soon$left", ", in ", "" },
	[GPREEMPT_VERDICT_RESUME_DELAYED] = { "has the device back soon$left, unless more urgent work comes before", ", in ", "" },
	[GPREEMPT_VERDICT_LEFT_OFF] = { .text = "has no work$since, and comes back when the runlist changes" },
	[GPREEMPT_VERDICT_JOB_YIELDS] = { .text = "yields to $to$since, because its job is off another GPU and would wait for that here" },
	[GPREEMPT_VERDICT_STOPPED] = { .text = "is off the device$since, because its process is stopped" },
	[GPREEMPT_VERDICT_SHARE] = { .text = "waits$since for the turn of its group: another one's share comes first" },
	[GPREEMPT_VERDICT_MAXIMUM] = { "is off the device$since, because its group has had its maximum$left", "; it may come back in ", "" },
	[GPREEMPT_VERDICT_IDLE] = {
		.text = "is off the device$since, because its process is idle and there is no room for all; its next doorbell brings it back" },
};

/* A hold has no queue that the verdict could name. */
static bool yields_to_hold(const struct gpreempt_queue_info *q)
{
	return (q->verdict == GPREEMPT_VERDICT_EXEMPT || q->verdict == GPREEMPT_VERDICT_OBSTACLE) &&
	       q->flags & GPREEMPT_QUEUE_HELD && !q->to_pid;
}

static void put_since(const struct gpreempt_queue_info *q, FILE *out)
{
	char time[32];

	if (q->verdict_us)
		fprintf(out, " since %s", duration(q->verdict_us, time, sizeof(time)));
}

static void put_left(const struct gpreempt_queue_info *q, FILE *out)
{
	char time[32];

	if (q->left_us != ~0U)
		fprintf(out, "%s%s%s", sentences[q->verdict].before_left, duration(q->left_us, time, sizeof(time)),
			sentences[q->verdict].after_left);
}

static void put_to(const struct gpreempt_queue_info *q, FILE *out)
{
	char to[128];

	fputs(yields_to_hold(q) ? "a hold" : other(q, to, sizeof(to)), out);
}

static void put_driver(const struct gpreempt_queue_info *q, FILE *out)
{
	fputs(q->flags & GPREEMPT_QUEUE_SUSPENDED ? "its debugger" : "the driver", out);
}

static void put_why(const struct gpreempt_queue_info *q, FILE *out)
{
	fputs(q->flags & GPREEMPT_QUEUE_DEBUGGED ? "a debugger has its process" : "the driver does not let it go", out);
}

static const struct {
	const char *name;
	void (*put)(const struct gpreempt_queue_info *q, FILE *out);
} fields[] = { { "$since", put_since }, { "$left", put_left }, { "$to", put_to }, { "$driver", put_driver }, { "$why", put_why } };

/* What @text begins with, put in. Return: what follows it */
static const char *put_piece(const struct gpreempt_queue_info *q, const char *text, FILE *out)
{
	size_t i, n;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		n = strlen(fields[i].name);
		if (!strncmp(text, fields[i].name, n)) {
			fields[i].put(q, out);
			return text + n;
		}
	}
	n = strcspn(text + 1, "$") + 1;
	fwrite(text, 1, n, out);
	return text + n;
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
	const char *text;
	FILE *out;

	if (q->verdict >= sizeof(sentences) / sizeof(sentences[0]) || !sentences[q->verdict].text) {
		snprintf(buffer, size, "verdict %u, which this program does not know", q->verdict);
		return buffer;
	}
	buffer[0] = '\0';
	out = fmemopen(buffer, size, "w");
	if (!out)
		return buffer;
	for (text = sentences[q->verdict].text; *text;)
		text = put_piece(q, text, out);
	fclose(out);
	buffer[size - 1] = '\0';
	return buffer;
}

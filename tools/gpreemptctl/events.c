// SPDX-License-Identifier: MIT
/* events.c - gpreemptctl events */
#include "gpreemptctl.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "origin.h"

/* One object a line, so that a reader need not wait for the end. */
static void print_json_line(const struct gpreempt_event *e)
{
	json_object *object = new_document();

	add_number(object, "time_ns", e->time_ns);
	add_text(object, "event", gpreempt_event_name(e->type));
	add_number(object, "missed", e->missed);
	add_number(object, "gpu_id", e->gpu_id);
	if (e->queue_id != ~0U) {
		add_signed(object, "pid", e->pid);
		add_number(object, "queue_id", e->queue_id);
		add_signed(object, "priority", e->priority);
	}
	add_signed(object, "value", e->value);
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	json_object_put(object);
}

static void print_value(const struct gpreempt_event *e)
{
	int64_t value = e->value;

	switch (e->type) {
	case GPREEMPT_EVENT_INVERSION:
		printf(" for priority %" PRId64, value);
		break;
	case GPREEMPT_EVENT_PREEMPTED:
		printf(" in %" PRId64 ".%03d us", value / 1000, (int)(value % 1000));
		break;
	case GPREEMPT_EVENT_RESUMED:
		printf(" after %" PRId64 ".%03d ms", value / 1000000, (int)(value / 1000 % 1000));
		break;
	case GPREEMPT_EVENT_FAILED:
		printf(" %s", strerror((int)(value < 0 ? -value : value)));
		break;
	case GPREEMPT_EVENT_PRIORITY:
		printf(" was %" PRId64, value);
		break;
	case GPREEMPT_EVENT_OBSERVED:
		printf(" would be preempted");
		break;
	case GPREEMPT_EVENT_REQUEST:
		if (value >= 0)
			printf(" waited %" PRId64 ".%03d ms", value / 1000000, (int)(value / 1000 % 1000));
		break;
	default:
		printf(" value %" PRId64, value);
	}
}

static void print_line(const struct gpreempt_event *e)
{
	if (e->missed)
		printf("... %u missed\n", e->missed);
	printf("%" PRIu64 ".%06" PRIu64 " %-10s gpu %u", (uint64_t)e->time_ns / 1000000000, (uint64_t)e->time_ns % 1000000000 / 1000,
	       gpreempt_event_name(e->type), e->gpu_id);
	if (e->queue_id != ~0U)
		printf(" pid %d queue %u priority %d", e->pid, e->queue_id, e->priority);
	print_value(e);
	putchar('\n');
}

/* What is about a node alone has no process that could pass. */
static bool events_is_wanted(const struct options *o, const struct gpreempt_event *e)
{
	struct subject s = { .uid = (uid_t)-1, .gpu_id = e->gpu_id, .queue_id = e->queue_id };
	struct origin origin;

	if (e->queue_id != ~0U)
		s.pid = e->pid;
	if (o->given & GIVEN_USER) {
		find_origin(s.pid, &origin);
		s.uid = origin.uid;
	}
	return passes(o, &s);
}

int cmd_events(const struct options *o)
{
	struct gpreempt_event events[64];
	unsigned long seen = 0;
	unsigned int missed = 0;
	struct gpreempt *g;
	int i, nr, status = open_scheduler(&g);

	if (status)
		return status;
	tell_what_is_hidden("events of " OWN_ALONE);
	while (!status && (!o->count || seen < o->count)) {
		nr = gpreempt_read_events(g, events, 64);
		if (nr == -EINTR)
			continue;
		if (nr < 0) {
			status = fail_errno(nr, "events");
			break;
		}
		for (i = 0; i < nr && (!o->count || seen < o->count); i++) {
			missed += events[i].missed;
			if (!events_is_wanted(o, &events[i]))
				continue;
			events[i].missed = missed;
			missed = 0;
			seen++;
			if (o->json)
				print_json_line(&events[i]);
			else
				print_line(&events[i]);
		}
		if (fflush(stdout))
			status = fail_system(-errno, "events");
	}
	gpreempt_close(g);
	return status;
}

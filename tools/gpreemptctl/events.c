// SPDX-License-Identifier: MIT
/*
 * events.c - gpreemptctl events
 */
#include "gpreemptctl.h"

#include <errno.h>
#include <inttypes.h>

static void print_event(const struct options *o, const struct gpreempt_event *e)
{
	json_object *object;

	if (o->json) {
		/* One object a line, so that a reader need not wait for the end. */
		object = new_document();
		json_object_object_add(object, "time_ns", json_object_new_uint64(e->time_ns));
		json_object_object_add(object, "event", json_object_new_string(gpreempt_event_name(e->type)));
		json_object_object_add(object, "missed", json_object_new_int64(e->missed));
		json_object_object_add(object, "gpu_id", json_object_new_int64(e->gpu_id));
		if (e->queue_id != ~0U) {
			json_object_object_add(object, "pid", json_object_new_int(e->pid));
			json_object_object_add(object, "queue_id", json_object_new_int64(e->queue_id));
			json_object_object_add(object, "priority", json_object_new_int(e->priority));
		}
		json_object_object_add(object, "value", json_object_new_int64(e->value));
		puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
		json_object_put(object);
	} else {
		if (e->missed)
			printf("... %u missed\n", e->missed);
		printf("%" PRIu64 ".%06" PRIu64 " %-10s gpu %u", (uint64_t)e->time_ns / 1000000000, (uint64_t)e->time_ns % 1000000000 / 1000,
		       gpreempt_event_name(e->type), e->gpu_id);
		if (e->queue_id != ~0U)
			printf(" pid %d queue %u priority %d", e->pid, e->queue_id, e->priority);
		printf(" value %" PRId64 "\n", (int64_t)e->value);
	}
	fflush(stdout);
}

int cmd_events(const struct options *o)
{
	struct gpreempt_event events[64];
	unsigned long seen = 0;
	struct gpreempt *g;
	int i, nr, status;

	if (o->nr_args)
		return fail(EXIT_USAGE, "events takes no words");
	status = open_scheduler(&g);
	if (status)
		return status;
	while (!o->count || seen < o->count) {
		nr = gpreempt_read_events(g, events, 64);
		if (nr == -EINTR)
			continue;
		if (nr < 0) {
			status = fail_errno(nr, "events");
			break;
		}
		for (i = 0; i < nr && (!o->count || seen < o->count); i++, seen++)
			print_event(o, &events[i]);
	}
	gpreempt_close(g);
	return status;
}

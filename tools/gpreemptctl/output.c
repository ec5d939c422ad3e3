// SPDX-License-Identifier: MIT
/* output.c - JSON of queues and nodes */
#include "gpreemptctl.h"

/** print_json() - print and free @object */
void print_json(json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY));
	json_object_put(object);
}

/** new_document() - an object with the schema's version; the caller's */
json_object *new_document(void)
{
	json_object *document = json_object_new_object();

	json_object_object_add(document, "schema_version", json_object_new_int(SCHEMA_VERSION));
	return document;
}

/* A member of an object; the text is copied. */
void add_number(json_object *o, const char *name, uint64_t value)
{
	char digits[24];

	/* json-c of an EL8 has no unsigned numbers of 64 bits. */
	if (value <= INT64_MAX) {
		json_object_object_add(o, name, json_object_new_int64(value));
	} else {
		snprintf(digits, sizeof(digits), "%" PRIu64, value);
		json_object_object_add(o, name, json_object_new_double_s(value, digits));
	}
}

void add_signed(json_object *o, const char *name, int64_t value)
{
	json_object_object_add(o, name, json_object_new_int64(value));
}

void add_text(json_object *o, const char *name, const char *value)
{
	json_object_object_add(o, name, json_object_new_string(value));
}

void add_flag(json_object *o, const char *name, bool value)
{
	json_object_object_add(o, name, json_object_new_boolean(value));
}

/** add_device() - members of an object that say which device a node is */
void add_device(json_object *o, unsigned int gpu_id)
{
	const struct identity *id = identity_of(gpu_id);

	if (id->bdf[0])
		add_text(o, "bdf", id->bdf);
	if (id->name[0])
		add_text(o, "device_name", id->name);
}

/* To whom it has to yield. */
static json_object *json_of_other(const struct gpreempt_queue_info *q)
{
	json_object *o = json_object_new_object();

	add_signed(o, "pid", q->to_pid);
	if (q->to_queue_id == ~0U)
		return o;
	add_number(o, "queue_id", q->to_queue_id);
	if (q->to_context)
		add_number(o, "context", q->to_context);
	add_signed(o, "priority", q->to_priority);
	add_number(o, "pending", q->to_pending);
	return o;
}

/** json_of_queue() - a queue; the caller's */
json_object *json_of_queue(const struct gpreempt_queue_info *q)
{
	json_object *o = json_object_new_object();
	char command[64];

	add_signed(o, "pid", q->pid);
	add_text(o, "command", command_of(q->pid, command, sizeof(command)));
	add_number(o, "gpu_id", q->gpu_id);
	add_number(o, "queue_id", q->queue_id);
	if (q->context)
		add_number(o, "context", q->context);
	add_number(o, "ring_base", q->ring_base);
	add_text(o, "state", gpreempt_queue_state_name(q->state));
	add_text(o, "verdict", gpreempt_verdict_name(q->verdict));
	add_number(o, "verdict_us", q->verdict_us);
	if (q->left_us != ~0U)
		add_number(o, "left_us", q->left_us);
	if (q->to_pid)
		json_object_object_add(o, "yields_to", json_of_other(q));
	add_signed(o, "logical_priority", q->logical_priority);
	add_signed(o, "effective_priority", q->effective_priority);
	add_text(o, "source", gpreempt_source_name(q->source));
	add_number(o, "kfd_priority", q->kfd_priority);
	add_number(o, "pending", q->pending);
	if (q->waves != ~0U)
		add_number(o, "waves", q->waves);
	add_number(o, "preempt_count", q->preempt_count);
	add_number(o, "preempted_us", q->preempted_us);
	add_number(o, "weight", q->weight);
	add_number(o, "deadline_us", q->deadline_us);
	add_flag(o, "held", q->flags & GPREEMPT_QUEUE_HELD);
	add_flag(o, "blocked", q->flags & GPREEMPT_QUEUE_BLOCKED);
	add_flag(o, "exempt", q->flags & GPREEMPT_QUEUE_EXEMPT);
	add_flag(o, "unscheduled", q->flags & GPREEMPT_QUEUE_UNSCHEDULED);
	add_flag(o, "evicted", q->flags & GPREEMPT_QUEUE_EVICTED);
	add_flag(o, "debugged", q->flags & GPREEMPT_QUEUE_DEBUGGED);
	add_flag(o, "suspended", q->flags & GPREEMPT_QUEUE_SUSPENDED);
	add_flag(o, "waits", q->flags & GPREEMPT_QUEUE_WAITS);
	add_flag(o, "lent", q->flags & GPREEMPT_QUEUE_LENT);
	add_text(o, "follow_stop", q->flags & GPREEMPT_QUEUE_STOPS_ALWAYS ? "always" : q->flags & GPREEMPT_QUEUE_STOPS_NEVER ? "never" : "node");
	return o;
}

static void output_add_counter(json_object *o, const char *name, uint64_t value, bool told)
{
	if (told)
		add_number(o, name, value);
	else
		json_object_object_add(o, name, NULL);
}

/** json_of_node() - a node; the caller's. @all: who asks may see all; null stands for the rest */
json_object *json_of_node(const struct gpreempt_node_info *n, bool all)
{
	json_object *o = json_object_new_object();
	char active[24];
	unsigned long long number;

	add_number(o, "gpu_id", n->gpu_id);
	add_device(o, n->gpu_id);
	if (identity_of(n->gpu_id)->slots)
		add_number(o, "slots", identity_of(n->gpu_id)->slots);
	if (node_attribute(n->gpu_id, "active_queues", active, sizeof(active)) > 0 && parse_number(active, UINT32_MAX, &number))
		add_number(o, "active_queues", number);
	json_object_object_add(o, "state", node_state_is_told(n, all) ? json_object_new_string(gpreempt_node_state_name(n->state)) : NULL);
	add_text(o, "backend", n->backend);
	add_text(o, "policy", n->policy);
	add_number(o, "queues", n->nr_queues);
	add_number(o, "preempted", n->nr_preempted);
	output_add_counter(o, "preemptions", n->preemptions, all);
	output_add_counter(o, "resumes", n->resumes, all);
	output_add_counter(o, "failures", n->failures, all);
	return o;
}

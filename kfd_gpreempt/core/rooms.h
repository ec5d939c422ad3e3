/* SPDX-License-Identifier: MIT */
/*
 * rooms.h - what layers above core/ are told, and what they are asked
 *
 * core/ calls them by a table alone: a layer that is not built is a row less. Nothing is called for
 * each queue of a pass.
 */
#ifndef GPREEMPT_ROOMS_H
#define GPREEMPT_ROOMS_H

#include <linux/types.h>
#include "tunables.h"
#include "uapi/linux/kfd_gpreempt.h"

struct attribute_group;
struct drm_printer;
struct gpreempt_decision;
struct gpreempt_membership;
struct gpreempt_node;
struct gpreempt_process;
struct gpreempt_queue;

/* What a layer may keep a part of */
enum gpreempt_object {
	GPREEMPT_OF_NODE,
	GPREEMPT_OF_PROCESS,
	GPREEMPT_OF_QUEUE,
	GPREEMPT_NR_OBJECTS
};

/**
 * struct gpreempt_part - what a layer keeps of each object of a kind; zero when that comes
 * @size: in bytes
 * @at: where it is, from the beginning of the object. It is allocated with it
 */
struct gpreempt_part {
	size_t size;
	size_t at;
};

/* Defines such a part, and _fn(), which finds that of an object. */
#define GPREEMPT_PART(_fn, _object, _type)						\
static struct gpreempt_part _fn##_part = { .size = sizeof(_type) };			\
static inline _type *_fn(const _object *object)						\
{											\
	return (void *)object + _fn##_part.at;						\
}

/* What a room has heard: all queues are to be sampled; and all is to be derived anew as well. */
#define GPREEMPT_HEARD_NEWS	1
#define GPREEMPT_HEARD_CHANGE	3

/**
 * struct gpreempt_nap - how long the monitor may sleep after a pass
 * @decision: what was decided, and has been carried out
 * @ns: the time; U64_MAX: until it is woken. Rooms shorten it, and one that has the monitor told of
 *	work may lengthen it
 * @limit_ns: it sleeps no longer than this, whatever the rooms say
 * @took_ns: time that was spent on it and counts as a part of the next look
 * @told: the monitor is woken for whatever could need a decision, so it need not look for work
 */
struct gpreempt_nap {
	const struct gpreempt_decision *decision;
	u64 ns;
	u64 limit_ns;
	u64 took_ns;
	bool told;
};

/**
 * struct gpreempt_room - a layer
 * @init: the module comes; no device is there yet. May sleep
 * @exit: undo @init, in the opposite order; no file of /dev/kfd is open
 * @init_node: a node is new, and nothing else knows it. May sleep
 * @free_node: undo @init_node; no queue is registered on the node
 * @start_node: a node is about to be found by others; gpreempt_lifecycle held, may sleep
 * @stop_node: undo @start_node; the node is switched off, and is found by none
 * @init_queue: a queue is about to be registered; p->mutex held, may sleep
 * @process_added: a process has come to a node; gpreempt_lock held, may sleep
 * @process_gone: its last queue is gone; gpreempt_lock held
 * @process_freed: no pass looks at it any more; may sleep
 * @queue_added: a queue is registered; gpreempt_lock held
 * @queue_gone: a queue can no longer be found, but a pass may still look at it; gpreempt_lock held
 * @queue_closed: no pass looks at it any more, @last: it was the last one of its process;
 *	gpreempt_lock held
 * @wait_readers: its view is about to go, and no new reader finds it: wait for those that hold no
 *	srcu; gpreempt_lock may be held
 * @tuned: a tunable of a node was written; gpreempt_lock held, and the monitor looks afterwards
 * @make_room: before each pass: the place for memory; no lock held, may sleep
 * @waits: is there no memory for what a pass needs? Asked in each pass
 * @hear: a pass begins: GPREEMPT_HEARD_*, or 0. Its read section held
 * @derive: something has changed: derive what the policy knows of a process, once per pass; the
 *	same
 * @refresh: the same if nothing has: only what is kept of another object, which may be about to go
 * @sampled: queues are sampled; @all: those without work as well; the same
 * @decided: it is decided; the same
 * @resumed: a queue is given back, and so is all that belongs to the pass; dqm_lock held
 * @acted: a decision was carried out, which took the device some time; pass_lock held
 * @ended: everything is about to be resumed for good, or for a reset; pass_lock held
 * @nap: how long may the monitor sleep? At the end of a pass; pass_lock held
 * @halted: everything is resumed and sampled, and no pass follows for now; pass_lock and the read
 *	section held
 * @moved: has something changed of which no call tells? Asked once a second; gpreempt_lock held
 * @event: something has happened that users may listen to: to a queue or, NULL, to the node. The
 *	value is as &enum gpreempt_event_type says. Any lock held, does not sleep
 * @joined: a process has come to a job, or, NULL, has left it; gpreempt_lock held, may sleep
 * @jobs_set: a setting has changed which job processes are to be in; no lock held, may sleep
 * @failed: the node was given up: it is no longer scheduled; no lock held, may sleep
 * @dump: print what is known of a node; no lock held, may sleep
 * @tend: once a second; no lock held, may sleep
 * @files: in the folder of each node in sysfs
 * @parts: what it keeps of each object, by &enum gpreempt_object
 *
 * NULL: the layer need not know.
 */
struct gpreempt_room {
	void (*init)(void);
	void (*exit)(void);
	void (*init_node)(struct gpreempt_node *gn);
	void (*free_node)(struct gpreempt_node *gn);
	void (*start_node)(struct gpreempt_node *gn);
	void (*stop_node)(struct gpreempt_node *gn);
	void (*init_queue)(struct gpreempt_queue *gq);
	void (*process_added)(struct gpreempt_process *process);
	void (*process_gone)(struct gpreempt_process *process);
	void (*process_freed)(struct gpreempt_process *process);
	void (*queue_added)(struct gpreempt_queue *gq);
	void (*queue_gone)(struct gpreempt_queue *gq);
	void (*queue_closed)(struct gpreempt_queue *gq, bool last);
	void (*wait_readers)(const struct gpreempt_queue *gq);
	void (*tuned)(struct gpreempt_node *gn, enum gpreempt_tunable which, u32 value);
	void (*make_room)(struct gpreempt_node *gn);
	bool (*waits)(const struct gpreempt_node *gn);
	u8 (*hear)(struct gpreempt_node *gn, u64 now_ns);
	void (*derive)(struct gpreempt_process *process);
	void (*refresh)(struct gpreempt_process *process);
	void (*sampled)(struct gpreempt_node *gn, bool all, u64 now_ns);
	void (*decided)(struct gpreempt_node *gn, u64 now_ns);
	void (*resumed)(struct gpreempt_queue *gq);
	void (*acted)(struct gpreempt_node *gn, u64 elapsed_ns);
	void (*ended)(struct gpreempt_node *gn);
	void (*nap)(struct gpreempt_node *gn, struct gpreempt_nap *nap);
	void (*halted)(struct gpreempt_node *gn, u64 now_ns);
	bool (*moved)(struct gpreempt_node *gn);
	void (*event)(struct gpreempt_node *gn, const struct gpreempt_queue *gq,
		      enum gpreempt_event_type type, s64 value);
	void (*joined)(struct gpreempt_process *process, const struct gpreempt_membership *as);
	void (*jobs_set)(void);
	void (*failed)(struct gpreempt_node *gn);
	void (*dump)(const struct gpreempt_node *gn, struct drm_printer *p);
	void (*tend)(struct gpreempt_node *gn);
	const struct attribute_group *files;
	struct gpreempt_part *parts[GPREEMPT_NR_OBJECTS];
};

/* Sizes of objects with their parts, by &enum gpreempt_object */
extern size_t gpreempt_sizes[GPREEMPT_NR_OBJECTS];
/* Each is in a file of its name. */
extern const struct gpreempt_room gpreempt_room_chardev;
extern const struct gpreempt_room gpreempt_room_crowd;
extern const struct gpreempt_room gpreempt_room_debugfs;
extern const struct gpreempt_room gpreempt_room_doorbell;
extern const struct gpreempt_room gpreempt_room_event;
extern const struct gpreempt_room gpreempt_room_group;
extern const struct gpreempt_room gpreempt_room_hold;
extern const struct gpreempt_room gpreempt_room_job;
extern const struct gpreempt_room gpreempt_room_looks;
extern const struct gpreempt_room gpreempt_room_pace;
extern const struct gpreempt_room gpreempt_room_queue_sysfs;
extern const struct gpreempt_room gpreempt_room_stamps;
extern const struct gpreempt_room gpreempt_room_stopped;
extern const struct gpreempt_room gpreempt_room_usage;
/* Those that are built; ends with NULL. A room may rely on those before it. */
extern const struct gpreempt_room *const gpreempt_rooms[];

/* Calls @what of each room that has it. */
#define gpreempt_rooms_tell(what, ...)							\
	do {										\
		const struct gpreempt_room *const *room;				\
											\
		for (room = gpreempt_rooms; *room; room++)				\
			if ((*room)->what)						\
				(*room)->what(__VA_ARGS__);				\
	} while (0)

/* The answers of all rooms, by or. */
#define gpreempt_rooms_ask(what, ...)							\
	({										\
		const struct gpreempt_room *const *room;				\
		u8 answer = 0;								\
											\
		for (room = gpreempt_rooms; *room; room++)				\
			if ((*room)->what)						\
				answer |= (*room)->what(__VA_ARGS__);			\
		answer;									\
	})

#endif /* GPREEMPT_ROOMS_H */

// SPDX-License-Identifier: MIT
/*
 * stamps.c - what firmware says that connecting, saving and restoring a queue took
 *
 * On some devices firmware notes in each MQD when the queue was last connected to a slot, saved and
 * restored, in ticks of the 100 MHz clock, on each XCC by itself. A word of 0 is "never", or that
 * this firmware notes nothing. What the host can time ends when a request is taken in. It has no
 * part of what the device does after that, which is the connecting and the restoring.
 *
 * Stamps are read of queues that a pass gives back, after the device has been given all that
 * belongs to the pass. They tell how the queue was saved, and how it was connected and restored the
 * last time: what firmware has not written yet counts the next time. MQDs are memory that the CPU
 * does not cache, so few are read, and where nothing was found they are looked at seldom.
 */
#include <linux/capability.h>
#include <linux/kobject.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include <drm/drm_print.h>

#include "core/node.h"
#include "core/rooms.h"
#include "core/trace.h"
#include "stamps.h"

/* What a tick is */
#define STAMPS_TICK_NS	10ULL
/*
 * Longer than any step takes: this is no pair of stamps, but what else was there, and is not to be
 * charged to the overhead budget. The longest known, a connect on an MI308X, took 171 us.
 */
#define STAMPS_LONGEST_NS	20000000ULL
/* After so many queues without any, one of so many is looked at. */
#define STAMPS_IN_VAIN	16
#define STAMPS_SELDOM	64
/* In a pass. An MQD of eight XCCs is a hundred uncached reads, and there is a next pass. */
#define STAMPS_READ	4

GPREEMPT_PART(stamps_node, struct gpreempt_node, struct gpreempt_node_stamps)
GPREEMPT_PART(stamps_queue, struct gpreempt_queue, struct gpreempt_queue_stamps)

/* Names in sysfs (firmware/<name>_*), in traces and dumps. */
static const char *const stamps_names[GPREEMPT_NR_STAMP_KINDS] = {
	[GPREEMPT_STAMP_CONNECT] = "connect",
	[GPREEMPT_STAMP_SAVE] = "save",
	[GPREEMPT_STAMP_RESTORE] = "restore",
};

static u64 stamps_median(const struct gpreempt_stamps *stamps)
{
	u64 sorted[GPREEMPT_NR_STAMPS];
	u32 nr = min_t(u64, stamps->count, GPREEMPT_NR_STAMPS), i, k;

	for (i = 0; i < nr; i++) {
		for (k = i; k && sorted[k - 1] > stamps->last_ns[i]; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = stamps->last_ns[i];
	}
	return nr ? sorted[nr / 2] : 0;
}

static void stamps_add(struct gpreempt_stamps *stamps, u64 ns)
{
	stamps->last_ns[stamps->count % GPREEMPT_NR_STAMPS] = ns;
	if (ns > stamps->max_ns)
		WRITE_ONCE(stamps->max_ns, ns);
	WRITE_ONCE(stamps->count, stamps->count + 1);
	WRITE_ONCE(stamps->median_ns, stamps_median(stamps));
}

/*
 * The slowest XCC counts: the queue is not there, or not away, before all are done. An XCC without
 * waves has nothing to save, and its stamps are those of an earlier time. Returns false if there
 * are none at all.
 */
static bool stamps_read_kind(struct gpreempt_queue *gq, enum gpreempt_stamp kind)
{
	u64 latest = stamps_queue(gq)->seen[kind], longest_ns = 0;
	u32 xcc, nr_xcc = NUM_XCC(gq->q->device->xcc_mask);
	bool filled = false;

	for (xcc = 0; xcc < nr_xcc; xcc++) {
		u64 start, end, ns;

		gpreempt_mqd_stamp(gq->q, xcc, kind, &start, &end);
		filled |= start || end;
		if (!start || end < start || start <= stamps_queue(gq)->seen[kind])
			continue;
		ns = (end - start) * STAMPS_TICK_NS;
		if (ns > STAMPS_LONGEST_NS)
			continue;
		trace_gpreempt_stamp(gq, stamps_names[kind], xcc, start, ns);
		latest = max(latest, start);
		longest_ns = max(longest_ns, ns);
	}
	if (latest != stamps_queue(gq)->seen[kind])
		stamps_add(&stamps_node(gq->gn)->kind[kind], longest_ns);
	stamps_queue(gq)->seen[kind] = latest;
	return filled;
}

/* Returns false if that was left out, as there was nothing before. */
static bool stamps_read(struct gpreempt_queue *gq)
{
	struct gpreempt_node_stamps *stamps = stamps_node(gq->gn);
	enum gpreempt_stamp kind;
	bool filled = false;

	if (stamps->in_vain >= STAMPS_IN_VAIN && ++stamps->in_vain % STAMPS_SELDOM)
		return false;
	for (kind = 0; kind < GPREEMPT_NR_STAMP_KINDS; kind++)
		filled |= stamps_read_kind(gq, kind);
	if (filled)
		stamps->in_vain = 0;
	else if (stamps->in_vain < STAMPS_IN_VAIN)
		stamps->in_vain++;
	return true;
}

/*
 * Takes in how a queue left, and how it came the last time. A caller of PREEMPT waits for the pass
 * that takes queues off. Where a queue left no waves, only its connecting is read, once.
 */
static void stamps_resumed(struct gpreempt_queue *gq)
{
	struct gpreempt_node_stamps *stamps = stamps_node(gq->gn);

	if (stamps->nr_read < STAMPS_READ &&
	    (gq->policy.saved_waves || !stamps_queue(gq)->seen[GPREEMPT_STAMP_CONNECT]))
		stamps->nr_read += stamps_read(gq);
}

/* The policy holds it against the overhead budget */
static void stamps_acted(struct gpreempt_node *gn, u64 elapsed_ns)
{
	struct gpreempt_node_stamps *stamps = stamps_node(gn);

	stamps->nr_read = 0;
	gn->policy.device.connect_ns = stamps->kind[GPREEMPT_STAMP_CONNECT].median_ns;
	gn->policy.device.restore_ns = stamps->kind[GPREEMPT_STAMP_RESTORE].median_ns;
}

/**
 * struct stamp_attribute - a file that shows what firmware noted
 * @attr: the file
 * @offset: of the number, in struct gpreempt_node_stamps
 */
struct stamp_attribute {
	struct kobj_attribute attr;
	size_t offset;
};

static ssize_t stamps_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	size_t offset = container_of(attr, struct stamp_attribute, attr)->offset;
	const void *stamps = stamps_node(gpreempt_node_of(kobj));

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	return sysfs_emit(buf, "%llu\n", READ_ONCE(*(const u64 *)(stamps + offset)));
}

#define STAMP(_kind, _name, _file, _member)						\
	static struct stamp_attribute _name##_##_file##_stamp = {				\
		.attr = __ATTR(_name##_##_file, 0400, stamps_show, NULL),			\
		.offset = offsetof(struct gpreempt_node_stamps, kind[_kind]._member),		\
	}
STAMP(GPREEMPT_STAMP_CONNECT, connect, count, count);
STAMP(GPREEMPT_STAMP_CONNECT, connect, ns_p50, median_ns);
STAMP(GPREEMPT_STAMP_CONNECT, connect, ns_max, max_ns);
STAMP(GPREEMPT_STAMP_SAVE, save, count, count);
STAMP(GPREEMPT_STAMP_SAVE, save, ns_p50, median_ns);
STAMP(GPREEMPT_STAMP_SAVE, save, ns_max, max_ns);
STAMP(GPREEMPT_STAMP_RESTORE, restore, count, count);
STAMP(GPREEMPT_STAMP_RESTORE, restore, ns_p50, median_ns);
STAMP(GPREEMPT_STAMP_RESTORE, restore, ns_max, max_ns);

static struct attribute *stamp_attrs[] = {
	&connect_count_stamp.attr.attr,
	&connect_ns_p50_stamp.attr.attr,
	&connect_ns_max_stamp.attr.attr,
	&save_count_stamp.attr.attr,
	&save_ns_p50_stamp.attr.attr,
	&save_ns_max_stamp.attr.attr,
	&restore_count_stamp.attr.attr,
	&restore_ns_p50_stamp.attr.attr,
	&restore_ns_max_stamp.attr.attr,
	NULL
};

static const struct attribute_group stamps_files = {
	.name = "firmware",
	.attrs = stamp_attrs,
};

/* Durations are words, which are read as they are. */
static void stamps_dump(const struct gpreempt_node *gn, struct drm_printer *p)
{
	enum gpreempt_stamp kind;

	for (kind = 0; kind < GPREEMPT_NR_STAMP_KINDS; kind++) {
		const struct gpreempt_stamps *stamps = &stamps_node(gn)->kind[kind];

		drm_printf(p, "firmware %s: count=%llu ns_p50=%llu ns_max=%llu\n",
			   stamps_names[kind], READ_ONCE(stamps->count),
			   READ_ONCE(stamps->median_ns), READ_ONCE(stamps->max_ns));
	}
}

const struct gpreempt_room gpreempt_room_stamps = {
	.resumed = stamps_resumed,
	.acted = stamps_acted,
	.dump = stamps_dump,
	.files = &stamps_files,
	.parts = {
		[GPREEMPT_OF_NODE] = &stamps_node_part,
		[GPREEMPT_OF_QUEUE] = &stamps_queue_part,
	},
};

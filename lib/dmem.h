/* SPDX-License-Identifier: MIT */
/*
 * dmem.h - memory of GPUs by cgroup: dmem.low and dmem.max of the kernel's dmem controller (Linux 6.14 and later)
 *
 * For gpreemptctl and the integrations, which compile it; no part of libgpreempt. The controller
 * counts memory that a process allocates on a device, KFD's as well, and keeps its cgroup to
 * dmem.max. What is below dmem.low is taken away last when VRAM is short.
 *
 * Not thread-safe. Errors are negative errno values, with a sentence for the user in @why.
 */
#ifndef DMEM_H
#define DMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct dmem_value - how much
 * @kind: the unit; DMEM_ABSENT: nothing was asked for
 * @number: bytes, or percent of a region's capacity
 */
struct dmem_value {
	enum { DMEM_ABSENT, DMEM_BYTES, DMEM_PERCENT, DMEM_ALL } kind;
	uint64_t number;
};

/**
 * struct dmem_wish - what a cgroup is to have
 * @low: protected: the last to be taken away
 * @max: at most
 */
struct dmem_wish {
	struct dmem_value low;
	struct dmem_value max;
};

/**
 * struct dmem_region - memory of a device, as the controller knows it
 * @name: for instance drm/0000:03:00.0/vram
 * @capacity: bytes
 */
struct dmem_region {
	char name[96];
	uint64_t capacity;
};

/* More than a machine has; further ones are not seen. */
#define DMEM_REGIONS	64
#define DMEM_WHY	1024

/**
 * struct dmem_saved - values of a cgroup before and after a change, to take that back
 * @nr: how many there are
 * @of: a region's name, which file, and what it said before and after
 */
struct dmem_saved {
	unsigned int nr;
	struct {
		char region[96];
		bool is_max;
		char before[24];
		char after[24];
	} of[2 * DMEM_REGIONS];
};

/** dmem_parse() - "0", "4096", "512M" (K, M, G, T: of 1024), "25%" (of each region) or "max". Return: is it that? */
bool dmem_parse(const char *text, struct dmem_value *value);

/** dmem_parse_wish() - "low=SIZE", "max=SIZE" or both, with blanks or a comma between them. Return: is it that? */
bool dmem_parse_wish(const char *text, struct dmem_wish *wish);

/** dmem_is_empty() - does it ask for nothing? */
bool dmem_is_empty(const struct dmem_wish *wish);

/** dmem_words() - a value as text. Return: @buffer. */
const char *dmem_words(struct dmem_value value, char *buffer, size_t size);

/** dmem_exceeds() - is a value more than another one on a region of this capacity? What is absent is no bound and never more. */
bool dmem_exceeds(struct dmem_value value, struct dmem_value bound, uint64_t capacity);

/** dmem_root() - the topmost cgroup above the one at @directory. Return: 0; -ENOTDIR: it is no cgroup of version 2. */
int dmem_root(const char *directory, char *root, size_t size);

/**
 * dmem_regions() - memory of GPUs: regions named drm/DEVICE/vram or like it
 * @root: the topmost cgroup
 * @device: PCI address of the only device that counts; NULL: all
 * @regions: out: DMEM_REGIONS at most
 *
 * Return: how many; -EOPNOTSUPP: the kernel has no such controller.
 */
int dmem_regions(const char *root, const char *device, struct dmem_region *regions);

/** dmem_read() - what dmem.@what of a cgroup says of a region, as text. Return: 0; -ENOENT: there is no such file or region. */
int dmem_read(const char *directory, const char *what, const char *region, char *value, size_t size);

/**
 * dmem_check() - would this fit? Nothing is changed.
 *
 * Return: 0; -EOPNOTSUPP: there is no controller; -ENODEV: it knows of no such memory; -ERANGE: more than the largest region has, or low above
 * max. Then @why says so.
 */
int dmem_check(const char *directory, const char *device, const struct dmem_wish *wish, char *why, size_t size);

/**
 * dmem_set() - let a cgroup have it
 * @directory: of the cgroup
 * @device: PCI address of the only device that counts; NULL: all
 * @saved: receives what was changed; may be NULL
 * @why: receives what is wrong: the value, the bound, and what stays in force
 *
 * Switches the controller on in all cgroups above, where it stays on.
 *
 * Return: 0; as dmem_check(); another errno of the files.
 */
int dmem_set(const char *directory, const char *device, const struct dmem_wish *wish, struct dmem_saved *saved, char *why, size_t size);

/**
 * dmem_is_unprotected() - is less of a cgroup protected than its low says, because one above it protects less?
 * @why: receives which one, and how much
 *
 * For the topmost cgroups and without low it is not.
 */
bool dmem_is_unprotected(const char *directory, char *why, size_t size);

/** dmem_restore() - take back a change, but for values that have been changed since */
void dmem_restore(const char *directory, const struct dmem_saved *saved);

#endif /* DMEM_H */

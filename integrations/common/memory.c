// SPDX-License-Identifier: MIT
/* memory.c - see memory.h */
#include "memory.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

bool memory_give(struct memory *memory, const char *words, bool fits)
{
	struct dmem_wish wish;

	if (!dmem_parse_wish(words, &wish))
		return false;
	if (fits && memory->given.low.kind == DMEM_ABSENT)
		memory->given.low = wish.low;
	if (fits && memory->given.max.kind == DMEM_ABSENT)
		memory->given.max = wish.max;
	return true;
}

/* Return: 0, or -ERANGE, and @why says which value and which bound. */
static int check_bound(const char *word, struct dmem_value asked, struct dmem_value given, const struct dmem_region *region, char *why)
{
	char is[32], bound[32];

	if (!dmem_exceeds(asked, given, region->capacity))
		return 0;
	snprintf(why, DMEM_WHY, "%s=%s is more than the administrator allows, which is %s, on %s of %llu bytes", word, dmem_words(asked, is, sizeof(is)),
		 dmem_words(given, bound, sizeof(bound)), region->name, (unsigned long long)region->capacity);
	return -ERANGE;
}

static int check_bounds(const char *directory, const struct memory *memory, char *why)
{
	struct dmem_region regions[DMEM_REGIONS];
	char root[PATH_MAX];
	int i, error = 0, nr = dmem_root(directory, root, sizeof(root)) ? 0 : dmem_regions(root, NULL, regions);

	for (i = 0; !error && i < nr; i++) {
		error = check_bound("memory-low", memory->asked.low, memory->given.low, &regions[i], why);
		if (!error)
			error = check_bound("memory-max", memory->asked.max, memory->given.max, &regions[i], why);
	}
	return error;
}

int memory_set(const char *directory, const struct memory *memory, char *why)
{
	struct dmem_wish wish = memory->given;
	int error;

	if (memory->asked.low.kind != DMEM_ABSENT)
		wish.low = memory->asked.low;
	if (memory->asked.max.kind != DMEM_ABSENT)
		wish.max = memory->asked.max;
	if (dmem_is_empty(&wish))
		return 0;
	if (!directory) {
		snprintf(why, DMEM_WHY, "memory is bounded by cgroups of version 2, which this machine has not; no bound is in force");
		return -EOPNOTSUPP;
	}
	error = check_bounds(directory, memory, why);
	return error ? error : dmem_set(directory, NULL, &wish, NULL, why, DMEM_WHY);
}

bool memory_matters(const struct memory *memory, int error)
{
	return error && (!dmem_is_empty(&memory->asked) || (error != -EOPNOTSUPP && error != -ENODEV));
}

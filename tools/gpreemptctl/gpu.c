// SPDX-License-Identifier: MIT
/* gpu.c - the names that a GPU has on the command line */
#include "gpreemptctl.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As part of what a device is sold as */
#define LEAST_PART	3

struct gpu {
	unsigned int gpu_id;
	struct identity id;
};

/**
 * struct gpus - those of the machine
 * @all: in amd-smi's order, by PCI address; a place in it is a GPU's index
 * @nr: their number
 */
struct gpus {
	struct gpu *all;
	int nr;
};

static void gpu_add(struct gpus *gpus, unsigned int gpu_id)
{
	struct gpu *more;
	int i;

	for (i = 0; i < gpus->nr; i++)
		if (gpus->all[i].gpu_id == gpu_id)
			return;
	more = realloc(gpus->all, (gpus->nr + 1) * sizeof(*more));
	if (!more)
		return;
	gpus->all = more;
	more[gpus->nr].gpu_id = gpu_id;
	identify(gpu_id, &more[gpus->nr++].id);
}

/* By PCI address, the partitions of a device by their number */
static int gpu_order(const void *a, const void *b)
{
	const struct gpu *x = a, *y = b;
	int order = strcmp(x->id.bdf, y->id.bdf);

	if (!order)
		order = (int)x->id.partition - (int)y->id.partition;
	return order ? order : (x->gpu_id > y->gpu_id) - (x->gpu_id < y->gpu_id);
}

/* From KFD's topology, and where that is hidden, from the scheduler's nodes. */
static void gpu_find_all(struct gpus *gpus)
{
	unsigned long long number;
	unsigned int gpu_id, slots;
	struct dirent *entry;
	DIR *folder = opendir(TOPOLOGY);

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && topology_of(entry->d_name, &gpu_id, &slots) && gpu_id)
			gpu_add(gpus, gpu_id);
	if (folder)
		closedir(folder);
	folder = opendir(NODES);
	while (folder && (entry = readdir(folder)))
		if (parse_number(entry->d_name, UINT32_MAX, &number) && number)
			gpu_add(gpus, number);
	if (folder)
		closedir(folder);
	if (gpus->nr)
		qsort(gpus->all, gpus->nr, sizeof(*gpus->all), gpu_order);
}

/* Is @name one of its own? Partitions share the chip's. @index: its place */
static bool gpu_is(const struct gpu *g, int index, const char *name)
{
	char names[12][64] = { "" };
	size_t i;

	snprintf(names[0], sizeof(*names), "%u", g->gpu_id);
	snprintf(names[1], sizeof(*names), "0x%x", g->gpu_id);
	snprintf(names[2], sizeof(*names), "%d", index);
	if (g->id.node >= 0)
		snprintf(names[3], sizeof(*names), "node%d", g->id.node);
	if (g->id.bdf[0])
		/* A partition has its number as the function. */
		snprintf(names[4], sizeof(*names), "%.*s%u", (int)strlen(g->id.bdf) - 1, g->id.bdf, g->id.partition);
	if (!strncmp(names[4], "0000:", 5))
		snprintf(names[5], sizeof(*names), "%.50s", names[4] + 5);
	if (g->id.render_minor) {
		snprintf(names[6], sizeof(*names), "renderD%u", g->id.render_minor);
		snprintf(names[7], sizeof(*names), "/dev/dri/renderD%u", g->id.render_minor);
	}
	if (g->id.unique_id[0]) {
		snprintf(names[8], sizeof(*names), "%s", g->id.unique_id);
		snprintf(names[9], sizeof(*names), "0x%s", g->id.unique_id);
		/* As ROCr writes it */
		snprintf(names[10], sizeof(*names), "GPU-%s", g->id.unique_id);
		snprintf(names[11], sizeof(*names), "%s", g->id.uuid);
	}
	for (i = 0; *name && i < sizeof(names) / sizeof(*names); i++)
		if (!strcasecmp(names[i], name))
			return true;
	return false;
}

static void gpu_print(const struct gpu *g, int index)
{
	const struct identity *id = &g->id;

	fprintf(stderr, "  %d: 0x%x (%u)", index, g->gpu_id, g->gpu_id);
	if (id->bdf[0])
		fprintf(stderr, ", node%d, %.*s%u", id->node, (int)strlen(id->bdf) - 1, id->bdf, id->partition);
	if (id->render_minor)
		fprintf(stderr, ", renderD%u", id->render_minor);
	if (id->uuid[0])
		fprintf(stderr, ", %s", id->uuid);
	fprintf(stderr, "%s%s\n", id->name[0] ? ", " : "", id->name);
}

/**
 * struct choice - what was chosen so far
 * @gpu_ids: the GPUs, each once, in the order of the command line
 * @nr: their number
 */
struct choice {
	unsigned int *gpu_ids;
	int nr;
};

/* Return: 0, or the exit status, said. */
static int gpu_choose(struct choice *c, unsigned int gpu_id)
{
	char path[128];
	unsigned int *more;
	int i;

	snprintf(path, sizeof(path), NODES "/%u", gpu_id);
	if (!access(NODES, F_OK) && access(path, F_OK))
		return fail_errno(-ENODEV, "gpu %u: kfd_gpreempt does not schedule it", gpu_id);
	for (i = 0; i < c->nr; i++)
		if (c->gpu_ids[i] == gpu_id)
			return 0;
	more = realloc(c->gpu_ids, (c->nr + 1) * sizeof(*more));
	if (!more)
		return fail_system(-ENOMEM, "gpu %u", gpu_id);
	c->gpu_ids = more;
	more[c->nr++] = gpu_id;
	return 0;
}

/* Return: the exit status. */
static int gpu_fail_unknown(const struct gpus *gpus, const char *name)
{
	int i;

	if (!gpus->nr)
		return fail(EXIT_FAILED, "gpu %s: no such GPU: there is none for compute here, or none is visible; try: gpreemptctl doctor", name);
	fail(EXIT_FAILED, "gpu %s: no such GPU; there are, by index:", name);
	for (i = 0; i < gpus->nr; i++)
		gpu_print(&gpus->all[i], i);
	return EXIT_FAILED;
}

static bool gpu_is_part_of(const char *part, const char *name)
{
	return strlen(part) >= LEAST_PART && strspn(part, "0123456789") < strlen(part) && strcasestr(name, part);
}

/* One name, of one GPU. Return: 0, or the exit status, said. */
static int gpu_by_name(const struct gpus *gpus, const char *name, struct choice *c)
{
	bool found[gpus->nr + 1];
	unsigned long long number;
	int i, nr = 0, last = 0;

	for (i = 0; i < gpus->nr; i++) {
		found[i] = gpu_is(&gpus->all[i], i, name);
		nr += found[i];
	}
	/* What is a name of its own is none of a part. */
	for (i = 0; i < gpus->nr && !nr; i++)
		found[i] = gpu_is_part_of(name, gpus->all[i].id.name);
	for (nr = i = 0; i < gpus->nr; i++) {
		nr += found[i];
		last = found[i] ? i : last;
	}
	if (nr == 1)
		return gpu_choose(c, gpus->all[last].gpu_id);
	/* Where no GPU is visible the kernel knows better. */
	if (!gpus->nr && parse_number(name, UINT32_MAX, &number) && number)
		return gpu_choose(c, number);
	if (!nr)
		return gpu_fail_unknown(gpus, name);
	fail(EXIT_USAGE, "gpu %s: it may be one of these; nothing changed:", name);
	for (i = 0; i < gpus->nr; i++)
		if (found[i])
			gpu_print(&gpus->all[i], i);
	return EXIT_USAGE;
}

/* Is it A-B, two indexes? */
static bool gpu_is_range(const char *name, unsigned long long *from, unsigned long long *to)
{
	const char *dash = strchr(name, '-');
	char first[16];

	if (!dash || strspn(name, "0123456789-") < strlen(name) || dash - name >= (int)sizeof(first))
		return false;
	snprintf(first, sizeof(first), "%.*s", (int)(dash - name), name);
	return parse_number(first, UINT32_MAX, from) && parse_number(dash + 1, UINT32_MAX, to);
}

/* A name, a range of indexes or all. Return: 0, or the exit status, said. */
static int gpu_by_word(const struct gpus *gpus, const char *word, struct choice *c)
{
	unsigned long long from = 0, to = gpus->nr - 1;
	int status = 0;

	if (strcasecmp(word, "all") && !gpu_is_range(word, &from, &to))
		return gpu_by_name(gpus, word, c);
	if (from > to && gpus->nr)
		return fail(EXIT_USAGE, "gpu %s: %llu is above %llu; nothing changed", word, from, to);
	if (to >= (unsigned long long)gpus->nr)
		return gpu_fail_unknown(gpus, word);
	for (; !status && from <= to; from++)
		status = gpu_choose(c, gpus->all[from].gpu_id);
	return status;
}

/**
 * find_gpus() - the GPUs of -g
 * @names: of GPUs, or ranges of indexes, or "all", with commas between them
 * @gpu_ids: out: to be freed by the caller, also after an error
 * @nr: out: their number
 *
 * A GPU's names are its gpu_id, decimal or hexadecimal; its index among the machine's by PCI
 * address, as amd-smi has it; "node" and its number in KFD's topology; its PCI address, without the
 * domain if that is 0; its render node; its unique id and its UUID; a part of what it is sold as,
 * of three characters and not a number. A partition has the PCI address with its own number.
 *
 * Return: 0, or the exit status, said: EXIT_FAILED: there is no such GPU; EXIT_USAGE: it may be one
 * of several.
 */
int find_gpus(const char *names, unsigned int **gpu_ids, int *nr)
{
	char *copy = strdup(names), *rest = copy, *word;
	struct choice choice = { 0 };
	struct gpus gpus = { 0 };
	int status = copy ? 0 : fail_system(-ENOMEM, "gpu %s", names);

	gpu_find_all(&gpus);
	while (!status && (word = strsep(&rest, ",")))
		status = gpu_by_word(&gpus, word, &choice);
	free(copy);
	free(gpus.all);
	*gpu_ids = choice.gpu_ids;
	*nr = choice.nr;
	return status;
}

/** gpu_is_chosen() - is this one of -g, or is there no -g? */
bool gpu_is_chosen(const struct options *o, unsigned int gpu_id)
{
	int i;

	for (i = 0; i < o->nr_gpus; i++)
		if (o->gpu_ids[i] == gpu_id)
			return true;
	return !(o->given & GIVEN_GPU);
}

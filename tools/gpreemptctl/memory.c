// SPDX-License-Identifier: MIT
/* memory.c - gpreemptctl memory: what cgroups may have of the GPUs' memory, and have */
#include "gpreemptctl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CGROUPS	"/sys/fs/cgroup"

/** struct shown - a region, as a cgroup has it; texts of files, "-": there is none */
struct shown {
	const struct dmem_region *region;
	char current[24];
	char low[24];
	char max[24];
};

/** cgroup_directory() - the same cgroups as open_cgroup(). Return: 0, or a negative errno. */
int cgroup_directory(const char *name, char *path, size_t size)
{
	int fd = open_cgroup(name);

	if (fd < 0)
		return fd;
	close(fd);
	snprintf(path, size, "%s%s", access(name, F_OK) ? CGROUPS "/" : "", name);
	return 0;
}

static void read_shown(const char *directory, const struct dmem_region *region, struct shown *s)
{
	s->region = region;
	if (dmem_read(directory, "current", region->name, s->current, sizeof(s->current)))
		strcpy(s->current, "-");
	if (dmem_read(directory, "low", region->name, s->low, sizeof(s->low)))
		strcpy(s->low, "-");
	if (dmem_read(directory, "max", region->name, s->max, sizeof(s->max)))
		strcpy(s->max, "-");
}

static void add_bytes(json_object *o, const char *name, const char *text)
{
	unsigned long long bytes;

	if (parse_number(text, ~0ULL, &bytes))
		add_number(o, name, bytes);
	else if (strcmp(text, "-"))
		add_text(o, name, text);
}

static void print_shown(const struct shown *s, json_object *array)
{
	json_object *o;

	if (!array) {
		printf("%-32s %15" PRIu64 " %15s %15s %15s\n", s->region->name, s->region->capacity, s->current, s->low, s->max);
		return;
	}
	o = json_object_new_object();
	add_text(o, "region", s->region->name);
	add_number(o, "capacity", s->region->capacity);
	add_bytes(o, "current", s->current);
	add_bytes(o, "low", s->low);
	add_bytes(o, "max", s->max);
	json_object_array_add(array, o);
}

static int show(const struct options *o, const char *directory, const char *device)
{
	struct dmem_region regions[DMEM_REGIONS];
	json_object *document, *array = NULL;
	char root[PATH_MAX], why[DMEM_WHY];
	struct shown s;
	int i, nr, error = dmem_check(directory, device, &(struct dmem_wish){ 0 }, why, sizeof(why));

	if (error)
		return fail(EXIT_FAILED, "memory: %s", why);
	dmem_root(directory, root, sizeof(root));
	nr = dmem_regions(root, device, regions);
	if (o->json)
		array = json_object_new_array();
	else
		printf("%-32s %15s %15s %15s %15s\n", "REGION", "CAPACITY", "CURRENT", "LOW", "MAX");
	for (i = 0; i < nr; i++) {
		read_shown(directory, &regions[i], &s);
		print_shown(&s, array);
	}
	if (o->json) {
		document = new_document();
		json_object_object_add(document, "regions", array);
		print_json(document);
	}
	return EXIT_DONE;
}

/* The words of the command line together. Return: 0, or the exit status, said. */
static int read_wish(const struct options *o, struct dmem_wish *wish)
{
	char text[128] = "";
	int i;

	for (i = 0; i < o->nr_args; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ", o->args[i]);
	if (!dmem_parse_wish(text, wish))
		return fail(EXIT_USAGE, "%sis not low=SIZE, max=SIZE or both; SIZE: bytes, with K, M, G or T, 0%% to 100%% of a GPU's memory, or max; nothing changed",
			    text);
	return 0;
}

/* Return: the GPU's PCI address, or NULL: all of them; @status: the exit status, said. */
static const char *find_device(const struct options *o, int *status)
{
	const struct identity *id;

	*status = 0;
	if (!(o->given & GIVEN_GPU))
		return NULL;
	id = identity_of(o->gpu_id);
	if (!id->bdf[0])
		*status = fail(EXIT_FAILED, "memory: gpu %u: no such GPU; gpreemptctl status lists them", o->gpu_id);
	return id->bdf;
}

int cmd_memory(const struct options *o)
{
	char directory[PATH_MAX] = CGROUPS, why[DMEM_WHY];
	struct dmem_wish wish;
	const char *device;
	int error, status;

	if (o->nr_args && !(o->given & GIVEN_CGROUP))
		return fail(EXIT_USAGE, "memory: whose? --cgroup DIR");
	if (o->nr_args && o->json)
		return fail(EXIT_USAGE, "memory: --json goes without low= and max=");
	status = o->nr_args ? read_wish(o, &wish) : 0;
	if (status)
		return status;
	error = o->given & GIVEN_CGROUP ? cgroup_directory(o->cgroup, directory, sizeof(directory)) : 0;
	if (error)
		return fail_system(error, "%s", o->cgroup);
	device = find_device(o, &status);
	if (status)
		return status;
	if (!o->nr_args)
		return show(o, directory, device);
	error = dmem_set(directory, device, &wish, NULL, why, sizeof(why));
	if (error)
		return fail(error == -EACCES || error == -EPERM ? EXIT_DENIED : EXIT_FAILED, "memory: %s", why);
	if (wish.low.kind != DMEM_ABSENT && dmem_is_unprotected(directory, why, sizeof(why)))
		fail(0, "memory: %s", why);
	return EXIT_DONE;
}

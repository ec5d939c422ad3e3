// SPDX-License-Identifier: MIT
/*
 * tune.c - gpreemptctl tune, policy: module parameters and the nodes' policy
 */
#include "gpreemptctl.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PARAMETERS	"/sys/module/amdgpu/parameters"
#define PREFIX		"gpreempt_"

static int is_ours(const struct dirent *entry)
{
	return !strncmp(entry->d_name, PREFIX, strlen(PREFIX));
}

static void parameter_path(char *path, size_t size, const char *name)
{
	/* With and without the prefix: the kernel's messages leave it out. */
	if (!strncmp(name, PREFIX, strlen(PREFIX)))
		name += strlen(PREFIX);
	snprintf(path, size, PARAMETERS "/" PREFIX "%s", name);
}

static int show(const char *name, json_object *object)
{
	char path[512], value[256];
	int r;

	parameter_path(path, sizeof(path), name);
	r = read_text(path, value, sizeof(value));
	if (r == -ENOENT)
		return fail(EXIT_USAGE, "no tunable %s; try: gpreemptctl tune", name);
	if (r < 0)
		return fail_errno(r, "%s", path);
	if (object)
		json_object_object_add(object, strrchr(path, '/') + 1, json_object_new_string(value));
	else
		printf("%s=%s\n", strrchr(path, '/') + 1, value);
	return EXIT_DONE;
}

/** change_tunable() - write a parameter of the module, with or without its prefix. Return: 0, or the exit status, said. */
int change_tunable(const char *name, const char *value)
{
	char path[512], kept[256];
	int r;

	if (strchr(name, '/'))
		return fail(EXIT_USAGE, "no tunable %s; try: gpreemptctl tune", name);
	parameter_path(path, sizeof(path), name);
	if (read_text(path, kept, sizeof(kept)) < 0)
		return fail(EXIT_USAGE, "no tunable %s; try: gpreemptctl tune", name);
	r = write_text(path, value);
	if (r == -EINVAL || r == -ERANGE)
		return fail(EXIT_FAILED, "%s=%s refused, the kernel log says why; kept %s", name, value, kept);
	return r ? fail_errno(r, "%s=%s", name, value) : EXIT_DONE;
}

int cmd_tune(const struct options *o)
{
	json_object *document = NULL, *tunables = NULL;
	struct dirent **entries;
	int i, nr, r = EXIT_DONE;
	char *equals;

	if (o->json) {
		document = new_document();
		tunables = json_object_new_object();
		json_object_object_add(document, "tunables", tunables);
	}
	if (!o->nr_args) {
		nr = scandir(PARAMETERS, &entries, is_ours, alphasort);
		if (nr <= 0)
			return fail(EXIT_NO_MODULE, "amdgpu is not loaded, or without kfd_gpreempt; try: gpreemptctl doctor");
		for (i = 0; i < nr; i++) {
			show(entries[i]->d_name, tunables);
			free(entries[i]);
		}
		free(entries);
	}
	for (i = 0; i < o->nr_args && !r; i++) {
		equals = strchr(o->args[i], '=');
		if (!equals) {
			r = show(o->args[i], tunables);
			continue;
		}
		*equals = '\0';
		r = change_tunable(o->args[i], equals + 1);
	}
	if (document)
		print_json(document);
	return r;
}

int cmd_policy(const struct options *o)
{
	struct gpreempt_node_info *nodes;
	char path[128], value[256];
	json_object *document, *list, *node;
	struct gpreempt *g;
	int i, nr, r, status;

	if (o->nr_args > 1)
		return fail(EXIT_USAGE, "policy takes one word, the policy's name");
	status = open_scheduler(&g);
	if (status)
		return status;
	nr = gpreempt_list_nodes(g, NULL, &nodes);
	gpreempt_close(g);
	if (nr < 0)
		return fail_errno(nr, "policy");
	document = new_document();
	list = json_object_new_array();
	json_object_object_add(document, "nodes", list);
	for (i = 0; i < nr; i++) {
		if (o->gpu_id && o->gpu_id != nodes[i].gpu_id)
			continue;
		snprintf(path, sizeof(path), "/sys/class/kfd/kfd/gpreempt/%u/policy", nodes[i].gpu_id);
		if (o->nr_args) {
			r = write_text(path, o->args[0]);
			if (r == -EINVAL) {
				read_text(path, value, sizeof(value));
				status = fail(EXIT_FAILED, "gpu %u: there is no policy %s; kept: %s", nodes[i].gpu_id, o->args[0], value);
			} else if (r) {
				status = fail_errno(r, "gpu %u: policy %s", nodes[i].gpu_id, o->args[0]);
			}
			continue;
		}
		if (read_text(path, value, sizeof(value)) < 0)
			snprintf(value, sizeof(value), "%s", nodes[i].policy);
		if (!o->json)
			printf("%u %s\n", nodes[i].gpu_id, value);
		node = json_object_new_object();
		json_object_object_add(node, "gpu_id", json_object_new_int64(nodes[i].gpu_id));
		json_object_object_add(node, "policy", json_object_new_string(nodes[i].policy));
		json_object_array_add(list, node);
	}
	if (o->json && !o->nr_args)
		print_json(document);
	else
		json_object_put(document);
	free(nodes);
	return status;
}

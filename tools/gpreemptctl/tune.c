// SPDX-License-Identifier: MIT
/*
 * tune.c - gpreemptctl tune, policy: parameters of the module, those of a node, policies
 *
 * What a value may be is the kernel's to say. Its table of tunables is in this program as well, for messages, and where there
 * is no kernel to ask.
 */
#include "gpreemptctl.h"
#include "../../kfd_gpreempt/core/tunables_table.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARAMETERS	"/sys/module/amdgpu/parameters"
#define PREFIX		"gpreempt_"

/**
 * struct tunable - a parameter of the module
 * @name: without the prefix
 * @values: words that it takes, with spaces between; NULL: it is a number
 * @min: smallest number
 * @max: largest number
 * @zero: 0 is allowed as well
 */
struct tunable {
	const char *name;
	const char *values;
	unsigned int min;
	unsigned int max;
	bool zero;
};

#define SWITCH(_id, _name, ...)	{ .name = #_name, .values = "0 1 Y N" },
#define WORDS(_id, _name, _file, _words, ...)	{ .name = #_name, .values = _words },
#define NUMBER(_id, _name, _file, _unit, _default, _min, _max, _zero, ...)	\
	{ .name = #_name, .min = _min, .max = _max, .zero = sizeof(_zero) > 1 },
static const struct tunable tunables[] = { GPREEMPT_TUNABLES(SWITCH, SWITCH, NUMBER, WORDS) };

/* With and without the prefix: the kernel's messages leave it out. */
static const char *short_name(const char *name)
{
	return strncmp(name, PREFIX, strlen(PREFIX)) ? name : name + strlen(PREFIX);
}

static const struct tunable *find_tunable(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(tunables) / sizeof(tunables[0]); i++)
		if (!strcmp(tunables[i].name, short_name(name)))
			return &tunables[i];
	return NULL;
}

static bool tune_ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), end_length = strlen(end);

	return length > end_length && !strcmp(name + length - end_length, end);
}

/* A value with another unit than its name ends with, in that unit; what is none stays as it is. */
static const char *tune_in_own_unit(const char *name, const char *value, char *buffer, size_t size)
{
	unsigned long long number;
	bool known = false;

	if (tune_ends_with(name, "_us"))
		known = parse_time(value, 1, ~0ULL, &number);
	else if (tune_ends_with(name, "_ms"))
		known = parse_time(value, 1000, ~0ULL, &number);
	else if (tune_ends_with(name, "_pct"))
		known = parse_percent(value, ~0ULL, &number);
	if (!known)
		return value;
	snprintf(buffer, size, "%llu", number);
	return buffer;
}

static bool is_word_of(const char *value, const char *words)
{
	size_t length = strlen(value);
	const char *at = words;

	while (length && (at = strstr(at, value))) {
		if ((at == words || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
		at++;
	}
	return false;
}

static bool fits(const struct tunable *t, const char *value)
{
	unsigned long long number;

	if (t->values)
		return is_word_of(value, t->values);
	return parse_number(value, t->max, &number) && (number >= t->min || (t->zero && !number));
}

static void describe(const struct tunable *t, char *text, size_t size)
{
	if (t->values)
		snprintf(text, size, "one of %s", t->values);
	else
		snprintf(text, size, "%sa number from %u to %u", t->zero ? "0 or " : "", t->min, t->max);
}

/**
 * check_tunable() - would the module take this?
 * @why: out: if not, what is wrong, in a line
 *
 * Return: as far as this program knows.
 */
bool check_tunable(const char *name, const char *value, char *why, size_t size)
{
	const struct tunable *t = find_tunable(name);
	char allowed[128], number[24];

	if (!t) {
		snprintf(why, size, "there is no tunable %s", name);
		return false;
	}
	if (fits(t, tune_in_own_unit(name, value, number, sizeof(number))))
		return true;
	describe(t, allowed, sizeof(allowed));
	snprintf(why, size, "%s=%s is not %s", t->name, value, allowed);
	return false;
}

/* A node has its own, under the same names but for two. Return: is @name one that could be a tunable's? */
static bool tunable_path(char *path, size_t size, unsigned int gpu_id, const char *name)
{
	name = short_name(name);
	if (!gpu_id)
		snprintf(path, size, PARAMETERS "/" PREFIX "%s", name);
	else if (!strcmp(name, "enable"))
		snprintf(path, size, NODES "/%u/enabled", gpu_id);
	else if (!strcmp(name, "policy"))
		snprintf(path, size, NODES "/%u/policy", gpu_id);
	else
		snprintf(path, size, NODES "/%u/tunables/%s", gpu_id, name);
	return *name && !strchr(name, '/');
}

/**
 * change_tunable() - write a tunable
 * @gpu_id: of this node; 0: the parameter of the module, which all nodes take over
 * @name: with or without the prefix
 * @why: out: if that fails, what is wrong and what stays, in a line
 *
 * Return: 0, or the exit status.
 */
int change_tunable(unsigned int gpu_id, const char *name, const char *value, char *why, size_t size)
{
	char path[512], kept[256], wrong[256], number[24];
	int r;

	if (!tunable_path(path, sizeof(path), gpu_id, name) || read_text(path, kept, sizeof(kept)) < 0) {
		snprintf(why, size, "there is no tunable %s; gpreemptctl tune lists them", name);
		return EXIT_USAGE;
	}
	r = write_text(path, tune_in_own_unit(name, value, number, sizeof(number)));
	if (!r)
		return 0;
	if (r == -EINVAL || r == -ERANGE) {
		/* A newer module may know values that this program does not. */
		if (!find_tunable(name) || check_tunable(name, value, wrong, sizeof(wrong)))
			snprintf(wrong, sizeof(wrong), "%s=%s is refused, the kernel log says why", short_name(name), value);
		snprintf(why, size, "%s; kept %s", wrong, kept);
		return EXIT_FAILED;
	}
	snprintf(why, size, "%s=%s: %s; kept %s", short_name(name), value, strerror(-r), kept);
	return r == -EACCES || r == -EPERM ? EXIT_DENIED : EXIT_FAILED;
}

static int show(unsigned int gpu_id, const char *name, json_object *object)
{
	char path[512], value[256];
	int r;

	r = tunable_path(path, sizeof(path), gpu_id, name) ? read_text(path, value, sizeof(value)) : -ENOENT;
	if (r == -ENOENT)
		return fail(EXIT_USAGE, "there is no tunable %s; gpreemptctl tune lists them", name);
	if (r < 0)
		return fail_system(r, "%s", path);
	if (object)
		add_text(object, short_name(name), value);
	else
		printf("%s=%s\n", short_name(name), value);
	return EXIT_DONE;
}

static int is_ours(const struct dirent *entry)
{
	return !strncmp(entry->d_name, PREFIX, strlen(PREFIX));
}

/* A node has those of the module, but for what is decided when it comes up. */
static int show_all(unsigned int gpu_id, json_object *object)
{
	struct dirent **entries;
	char path[512];
	int i, r = EXIT_DONE, nr = scandir(PARAMETERS, &entries, is_ours, alphasort);

	for (i = 0; i < nr; i++) {
		tunable_path(path, sizeof(path), gpu_id, entries[i]->d_name);
		if (!r && !access(path, F_OK))
			r = show(gpu_id, entries[i]->d_name, object);
		free(entries[i]);
	}
	if (nr >= 0)
		free(entries);
	return r;
}

/* Of one node, or of the module (@gpu_id 0). @object: NULL: as text. Return: the exit status. */
static int tune_one(const struct options *o, unsigned int gpu_id, json_object *object)
{
	char name[64], why[512];
	const char *equals;
	int i, r = EXIT_DONE;

	if (gpu_id && node_attribute(gpu_id, "state", why, sizeof(why)) < 0)
		return fail_errno(-ENODEV, "gpu %u", gpu_id);
	if (!o->nr_args)
		return show_all(gpu_id, object);
	for (i = 0; i < o->nr_args && !r; i++) {
		equals = strchr(o->args[i], '=');
		if (!equals) {
			r = show(gpu_id, o->args[i], object);
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)(equals - o->args[i]), o->args[i]);
		r = change_tunable(gpu_id, name, equals + 1, why, sizeof(why));
		if (r)
			fail(r, "%s", why);
	}
	return r;
}

static json_object *tune_add_node(json_object *node, unsigned int gpu_id)
{
	json_object *object = json_object_new_object();

	if (gpu_id)
		add_number(node, "gpu_id", gpu_id);
	json_object_object_add(node, "tunables", object);
	return object;
}

/* Each on all of them, though one fails. Return: the exit status. */
static int tune_several(const struct options *o, json_object *document)
{
	json_object *node, *nodes = json_object_new_array();
	bool shows = !o->nr_args;
	int i, r, status = EXIT_DONE;
	char name[32];

	for (i = 0; i < o->nr_args; i++)
		shows |= !strchr(o->args[i], '=');
	json_object_object_add(document, "nodes", nodes);
	for (i = 0; i < o->nr_gpus; i++) {
		snprintf(name, sizeof(name), "gpu %u", o->gpu_ids[i]);
		name_target(name);
		node = json_object_new_object();
		json_object_array_add(nodes, node);
		if (shows && !o->json)
			printf("%s%s:\n", i ? "\n" : "", name);
		r = tune_one(o, o->gpu_ids[i], o->json ? tune_add_node(node, o->gpu_ids[i]) : NULL);
		if (r)
			status = r == EXIT_USAGE ? r : EXIT_FAILED;
	}
	name_target(NULL);
	return status;
}

int cmd_tune(const struct options *o)
{
	json_object *document;
	char text[256];
	int r;

	if (read_text(PARAMETERS "/" PREFIX "enable", text, sizeof(text)) < 0)
		return fail(EXIT_NO_MODULE, "amdgpu is not loaded, or without kfd_gpreempt; try: gpreemptctl doctor");
	document = new_document();
	if (o->nr_gpus > 1)
		r = tune_several(o, document);
	else
		r = tune_one(o, o->gpu_id, o->json ? tune_add_node(document, o->gpu_id) : NULL);
	if (o->json && !r)
		print_json(document);
	else
		json_object_put(document);
	return r;
}

static int change_policy(const struct gpreempt_node_info *node, const char *name)
{
	char path[128];
	int r;

	snprintf(path, sizeof(path), NODES "/%u/policy", node->gpu_id);
	r = write_text(path, name);
	if (r == -EINVAL)
		return fail(EXIT_FAILED, "gpu %u: there is no policy %s (%s); kept %s", node->gpu_id, name, find_tunable("policy")->values,
			    node->policy);
	return r ? fail_system(r, "gpu %u: policy %s; kept %s", node->gpu_id, name, node->policy) : EXIT_DONE;
}

int cmd_policy(const struct options *o)
{
	struct gpreempt_node_info *nodes;
	json_object *document, *list, *node;
	int i, r, nr, found = 0, status = list_nodes("policy", NULL, &nodes, &nr);

	if (status)
		return status;
	document = new_document();
	list = json_object_new_array();
	json_object_object_add(document, "nodes", list);
	for (i = 0; i < nr; i++) {
		if (!gpu_is_chosen(o, nodes[i].gpu_id))
			continue;
		found++;
		if (o->nr_args) {
			r = change_policy(&nodes[i], o->args[0]);
			status = r ? r : status;
			snprintf(nodes[i].policy, sizeof(nodes[i].policy), "%s", o->args[0]);
		} else if (!o->json) {
			printf("%u %s\n", nodes[i].gpu_id, nodes[i].policy);
		}
		node = json_object_new_object();
		add_number(node, "gpu_id", nodes[i].gpu_id);
		add_text(node, "policy", nodes[i].policy);
		json_object_array_add(list, node);
	}
	if (!found)
		status = o->given & GIVEN_GPU ? fail_errno(-ENODEV, "gpu %u", o->gpu_id) : fail(EXIT_FAILED, "there is no GPU for compute");
	if (o->json && !status)
		print_json(document);
	else
		json_object_put(document);
	free(nodes);
	return status;
}

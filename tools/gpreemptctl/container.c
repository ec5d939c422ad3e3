// SPDX-License-Identifier: MIT
/*
 * container.c - containers by name, image or label, as their engines note them
 *
 * Each engine keeps a file of a container, or one of all, which root may read. No daemon is asked:
 * it may be restarted while its containers run. A container's cgroup is the one whose name has its
 * id.
 */
#include "container.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "origin.h"

#define CGROUPS		"/sys/fs/cgroup"
/* A container's cgroup is not further below. */
#define MOST_LEVELS	10

/**
 * struct search - for containers of a kind
 * @by: by what
 * @pattern: of that
 * @found: called with the directory of the cgroup of each
 * @data: for @found
 * @nr: how many there are
 * @ids: of containers that fit
 */
struct search {
	enum container_by by;
	const char *pattern;
	void (*found)(const char *path, void *data);
	void *data;
	unsigned int nr;
	json_object *ids;
};

/** container_word() - by what does a rule that begins with this word name containers? */
enum container_by container_word(const char *word)
{
	static const char *const words[] = {
		[CONTAINER_BY_NAME] = "container", [CONTAINER_BY_IMAGE] = "image", [CONTAINER_BY_LABEL] = "label",
	};
	enum container_by by;

	for (by = CONTAINER_BY_NAME; by <= CONTAINER_BY_LABEL; by++)
		if (!strcmp(word, words[by]))
			return by;
	return CONTAINER_BY_NONE;
}

static json_object *container_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	json_object *object;

	if (fd < 0)
		return NULL;
	object = json_object_from_fd(fd);
	close(fd);
	return object;
}

/* A member, or a member of a member; NULL: there is none. @object may be NULL. */
static json_object *container_member(json_object *object, const char *name)
{
	json_object *member = NULL;

	if (json_object_is_type(object, json_type_object))
		json_object_object_get_ex(object, name, &member);
	return member;
}

static const char *container_text(json_object *object, const char *name)
{
	json_object *member = container_member(object, name);

	return json_object_is_type(member, json_type_string) ? json_object_get_string(member) : NULL;
}

static bool container_fits(const struct search *s, enum container_by by, const char *text)
{
	return text && s->by == by && !fnmatch(s->pattern, text, FNM_NOESCAPE);
}

static bool container_has_label(const struct search *s, json_object *labels)
{
	char label[4096];

	if (s->by != CONTAINER_BY_LABEL || !json_object_is_type(labels, json_type_object))
		return false;
	json_object_object_foreach(labels, key, value) {
		snprintf(label, sizeof(label), "%s=%s", key, json_object_get_string(value));
		if (container_fits(s, CONTAINER_BY_LABEL, label))
			return true;
	}
	return false;
}

static void container_keep(struct search *s, const char *id, bool fits)
{
	if (fits)
		json_object_object_add(s->ids, id, NULL);
}

/* A folder of Docker's */
static void container_of_docker(struct search *s, const char *folder, const char *id)
{
	char path[PATH_MAX];
	json_object *file, *config;
	const char *name;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/config.v2.json", folder, id) >= sizeof(path))
		return;
	file = container_read(path);
	config = container_member(file, "Config");
	name = container_text(file, "Name");
	container_keep(s, id, container_fits(s, CONTAINER_BY_NAME, name ? name + (*name == '/') : NULL) ||
				      container_fits(s, CONTAINER_BY_IMAGE, container_text(config, "Image")) ||
				      container_has_label(s, container_member(config, "Labels")));
	json_object_put(file);
}

/* A bundle of containerd's: what the runtime got. CRI and nerdctl leave names as annotations. */
static void container_of_bundle(struct search *s, const char *folder, const char *id)
{
	static const char *const names[] = { "io.kubernetes.cri.container-name", "nerdctl/name" };
	json_object *file, *annotations;
	char path[PATH_MAX];
	bool fits;
	size_t i;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/config.json", folder, id) >= sizeof(path))
		return;
	file = container_read(path);
	annotations = container_member(file, "annotations");
	fits = container_fits(s, CONTAINER_BY_IMAGE, container_text(annotations, "io.kubernetes.cri.image-name")) ||
	       container_has_label(s, annotations);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		fits |= container_fits(s, CONTAINER_BY_NAME, container_text(annotations, names[i]));
	container_keep(s, id, fits);
	json_object_put(file);
}

/* What Podman and CRI-O store of all */
static void container_of_storage(struct search *s, json_object *container)
{
	json_object *names = container_member(container, "names"), *metadata;
	const char *id = container_text(container, "id"), *text = container_text(container, "metadata");
	bool fits;
	size_t i;

	if (!id)
		return;
	metadata = text ? json_tokener_parse(text) : NULL;
	fits = container_fits(s, CONTAINER_BY_IMAGE, container_text(metadata, "image-name"));
	for (i = 0; json_object_is_type(names, json_type_array) && i < json_object_array_length(names); i++)
		fits |= container_fits(s, CONTAINER_BY_NAME, json_object_get_string(json_object_array_get_idx(names, i)));
	container_keep(s, id, fits);
	json_object_put(metadata);
}

static void container_each_folder(struct search *s, const char *path, void (*each)(struct search *s, const char *folder, const char *id))
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			each(s, path, entry->d_name);
	if (folder)
		closedir(folder);
}

static void container_each_bundle(struct search *s, const char *folder, const char *namespace)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, namespace) < sizeof(path))
		container_each_folder(s, path, container_of_bundle);
}

static void container_find_ids(struct search *s)
{
	json_object *daemon = container_read("/etc/docker/daemon.json");
	const char *root = container_text(daemon, "data-root");
	json_object *stored = container_read("/var/lib/containers/storage/overlay-containers/containers.json");
	char path[PATH_MAX];
	size_t i;

	if ((size_t)snprintf(path, sizeof(path), "%s/containers", root ? root : "/var/lib/docker") < sizeof(path))
		container_each_folder(s, path, container_of_docker);
	container_each_folder(s, "/run/containerd/io.containerd.runtime.v2.task", container_each_bundle);
	for (i = 0; json_object_is_type(stored, json_type_array) && i < json_object_array_length(stored); i++)
		container_of_storage(s, json_object_array_get_idx(stored, i));
	json_object_put(stored);
	json_object_put(daemon);
}

/* The first directory on the way down whose name has one of the ids: those below are in it. */
static void container_below(struct search *s, const char *path, unsigned int level)
{
	DIR *folder = level < MOST_LEVELS ? opendir(path) : NULL;
	struct dirent *entry;
	char below[PATH_MAX];

	while (folder && (entry = readdir(folder))) {
		struct place place = { .engine = "" };

		if (entry->d_name[0] == '.' || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) ||
		    (size_t)snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) >= sizeof(below))
			continue;
		place_add_path(&place, below + strlen(CGROUPS));
		if (json_object_object_get_ex(s->ids, place.container, NULL)) {
			s->nr++;
			if (s->found)
				s->found(below, s->data);
		} else if (!*place.container) {
			container_below(s, below, level + 1);
		}
	}
	if (folder)
		closedir(folder);
}

/**
 * find_containers() - look for the cgroups of containers
 * @by: by what
 * @pattern: their name, image, or KEY=VALUE; `*`, `?` and `[...]` stand for anything there
 * @found: called with the directory of each; NULL: they are counted
 * @data: for @found
 *
 * Return: how many there are. Containers whose engine's files cannot be read are not there.
 */
unsigned int find_containers(enum container_by by, const char *pattern, void (*found)(const char *path, void *data), void *data)
{
	struct search search = { .by = by, .pattern = pattern, .found = found, .data = data, .ids = json_object_new_object() };

	container_find_ids(&search);
	if (json_object_object_length(search.ids))
		container_below(&search, CGROUPS, 0);
	json_object_put(search.ids);
	return search.nr;
}

/* SPDX-License-Identifier: MIT */
/* container.h - containers by name, image or label, as their engines note them */
#ifndef CONTAINER_H
#define CONTAINER_H

#include <stdbool.h>

/**
 * enum container_by - by what a rule names containers
 * @CONTAINER_BY_NONE: it names none
 * @CONTAINER_BY_NAME: their name
 * @CONTAINER_BY_IMAGE: the image that they were made from
 * @CONTAINER_BY_LABEL: a label of theirs, KEY=VALUE; an annotation counts as one
 */
enum container_by {
	CONTAINER_BY_NONE,
	CONTAINER_BY_NAME,
	CONTAINER_BY_IMAGE,
	CONTAINER_BY_LABEL,
};

enum container_by container_word(const char *word);
unsigned int find_containers(enum container_by by, const char *pattern, void (*found)(const char *path, void *data), void *data);

#endif /* CONTAINER_H */

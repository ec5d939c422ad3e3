/* SPDX-License-Identifier: MIT */
/* places.h - cgroups and programs that gpreempt.conf names: are they there, can they ever be? */
#ifndef PLACES_H
#define PLACES_H

#include "gpreemptctl.h"

unsigned int find_places(const char *name, void (*found)(const char *path, void *data), void *data);
unsigned int walk_places(void (*found)(const char *path, void *data), void *data);
bool lesser_priority(const char *path, int *priority);
bool fits_a_cgroup(const char *name);
bool exe_never(const char *path, char *why);
bool exe_is_there(const char *path);

#endif /* PLACES_H */

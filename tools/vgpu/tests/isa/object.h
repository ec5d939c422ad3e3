/* SPDX-License-Identifier: MIT */
/* object.h - code objects, as a loader sees them */
#ifndef OBJECT_H
#define OBJECT_H

#include "../../model/os.h"

void *object_file(const char *path, size_t *size);			/* all of a file; exits if there is none */
size_t object_memory(const void *file);					/* bytes that it takes up when it is loaded */
void object_load(const void *file, void *memory);			/* what is loaded, from address 0 on */
void object_relocate(const void *file, void *memory);			/* for a code object that has been loaded there; exits if it cannot */
const u8 *object_note(const void *file);				/* AMD's description of the kernels; NULL: there is none */
bool object_symbol(const void *file, const char *name, u64 *value);	/* false: there is none */

#endif /* OBJECT_H */

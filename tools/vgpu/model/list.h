/* SPDX-License-Identifier: MIT */
/*
 * list.h - doubly linked list, as the kernel's
 */
#ifndef VGPU_LIST_H
#define VGPU_LIST_H

#include "vgpu_model.h"

struct vgpu_list {
	struct vgpu_list *next, *prev;
};

static inline void vgpu_list_init(struct vgpu_list *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool vgpu_list_empty(const struct vgpu_list *head)
{
	return head->next == head;
}

/* Before @pos; at the end of the list if @pos is its head */
static inline void vgpu_list_add(struct vgpu_list *entry, struct vgpu_list *pos)
{
	entry->next = pos;
	entry->prev = pos->prev;
	pos->prev->next = entry;
	pos->prev = entry;
}

static inline void vgpu_list_del(struct vgpu_list *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
}

#endif /* VGPU_LIST_H */

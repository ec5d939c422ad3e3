// SPDX-License-Identifier: MIT
/* why.c - gpreemptctl why: a sentence for each queue */
#include "gpreemptctl.h"

#include <stdlib.h>
#include <string.h>

/** cmd_why() - say why queues have the device or do not. Return: the exit status. */
int cmd_why(const struct options *o)
{
	json_object *document, *array;
	char command[32], text[256];
	struct queue_list list;
	int i, status = list_queues(o, "why", &list);

	if (status)
		return status;
	tell_what_is_hidden(OWN_ALONE);
	if (o->json) {
		document = new_document();
		array = json_object_new_array();
		for (i = 0; i < list.nr; i++) {
			json_object *queue = json_of_queue(&list.queues[i]);

			add_text(queue, "why", verdict_sentence(&list.queues[i], text, sizeof(text)));
			json_object_array_add(array, queue);
		}
		json_object_object_add(document, "queues", array);
		print_json(document);
	} else {
		for (i = 0; i < list.nr; i++)
			printf("pid %d (%s) gpu %u queue %u: %s\n", list.queues[i].pid,
			       command_of(list.queues[i].pid, command, sizeof(command)), list.queues[i].gpu_id, list.queues[i].queue_id,
			       verdict_sentence(&list.queues[i], text, sizeof(text)));
	}
	free_queues(&list);
	return EXIT_DONE;
}

// SPDX-License-Identifier: MIT
/* why.c - gpreemptctl why: a sentence for each queue */
#include "gpreemptctl.h"

#include <stdlib.h>
#include <string.h>

/** cmd_why() - say why queues have the device or do not. Return: the exit status. */
int cmd_why(const struct options *o)
{
	struct gpreempt_queue_info *queues;
	json_object *document, *array;
	char command[32], text[256];
	int i, nr, status = list_queues(o, "why", &queues, NULL, &nr);

	if (status)
		return status;
	if (o->json) {
		document = new_document();
		array = json_object_new_array();
		for (i = 0; i < nr; i++) {
			json_object *queue = json_of_queue(&queues[i]);

			add_text(queue, "why", verdict_sentence(&queues[i], text, sizeof(text)));
			json_object_array_add(array, queue);
		}
		json_object_object_add(document, "queues", array);
		print_json(document);
	} else {
		for (i = 0; i < nr; i++)
			printf("pid %d (%s) gpu %u queue %u: %s\n", queues[i].pid,
			       command_of(queues[i].pid, command, sizeof(command)), queues[i].gpu_id, queues[i].queue_id,
			       verdict_sentence(&queues[i], text, sizeof(text)));
	}
	free(queues);
	return EXIT_DONE;
}

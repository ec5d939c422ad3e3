/* SPDX-License-Identifier: MIT */
/* params.h - module parameters, and what files of nodes set */
#ifndef GPREEMPT_PARAMS_H
#define GPREEMPT_PARAMS_H

#include <linux/types.h>
#include "tunables.h"

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;

int gpreempt_params_store(struct gpreempt_node *gn, enum gpreempt_tunable which, const char *buf);
int gpreempt_params_parse_switch(const char *buf, bool kept, bool *on);
void gpreempt_params_ready(bool is_ready);

#endif /* GPREEMPT_PARAMS_H */

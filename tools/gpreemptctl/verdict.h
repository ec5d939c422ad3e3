/* SPDX-License-Identifier: MIT */
/* verdict.h - a verdict in a sentence */
#ifndef VERDICT_H
#define VERDICT_H

#include <stddef.h>

#include <linux/kfd_gpreempt.h>

const char *verdict_sentence(const struct gpreempt_queue_info *q, char *buffer, size_t size);

#endif /* VERDICT_H */

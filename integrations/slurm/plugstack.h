/* SPDX-License-Identifier: MIT */
/* plugstack.h - the plugin's words in plugstack.conf: what the administrator gives and allows */
#ifndef GPREEMPT_PLUGSTACK_H
#define GPREEMPT_PLUGSTACK_H

#include <stdbool.h>

#include "place.h"
#include "share.h"

/**
 * struct plugstack - what its words say of one job
 * @bounds: priorities that it may have
 * @job: are the tasks of a step a job, if the step does not say?
 * @follow_stop: &enum gpreempt_follow_stop
 * @accounting: what a step has used is noted
 * @wrong: a word says nothing, so that what it was to allow is not known; "": none does
 */
struct plugstack {
	struct place_bounds bounds;
	enum place_job job;
	unsigned int follow_stop;
	bool accounting;
	const char *wrong;
};

/**
 * plugstack_read() - read the words
 * @partition: the job's; NULL: not known
 * @qos: the job's; NULL: it has none, or it is not known
 *
 * A word that says nothing is passed over. It may have been a bound: no job has more than normal
 * priority then.
 */
void plugstack_read(int ac, char **av, const char *partition, const char *qos,
		    struct plugstack *plugstack);

/** plugstack_shares() - what its words give a step of this priority, into @share->given */
void plugstack_shares(int ac, char **av, int priority, struct share *share);

/** plugstack_check() - tell Slurm's log which words say nothing */
void plugstack_check(int ac, char **av);

#endif

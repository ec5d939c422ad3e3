// SPDX-License-Identifier: MIT
/* plugstack.c - see plugstack.h */
#define _GNU_SOURCE
#include "plugstack.h"

#include <stdio.h>
#include <string.h>

#include <slurm/spank.h>

#include "parse.h"

#define PLUGSTACK_BOUNDS	"all=, partition:NAME= or qos:NAME= with FLOOR..CEILING"
#define PLUGSTACK_SHARE		"share:CLASS=weight=N,min=PERCENT,max=PERCENT"

/* Is a word of this kind, and of this name? "partition:" and "night"; NULL: any name */
static bool plugstack_is(const char *word, const char *kind, const char *name)
{
	size_t length = strlen(kind);

	if (strncmp(word, kind, length))
		return false;
	if (!name)
		return true;
	word += length;
	length = strlen(name);
	return !strncmp(word, name, length) && word[length] == '=';
}

/* Return: is it one? Else @why may say more. */
static bool plugstack_share(const char *word, int priority, struct share *share, char *why)
{
	const char *words = strchr(word, '=');
	char class[64];

	if (!words || sscanf(word, "%*[^:]:%63[^=]=", class) != 1 || !place_is_class(class))
		return false;
	return share_give(share, words + 1, place_is_of(priority, class), why);
}

static bool plugstack_account(const char *value, bool *on)
{
	*on = !strcmp(value, "admincomment");
	return *on || !strcmp(value, "none");
}

static bool plugstack_bounds(const char *word, const char *value, const char *partition,
			     const char *qos, struct place_bounds *bounds)
{
	struct place_bounds these;

	if (!plugstack_is(word, "all=", NULL) && !plugstack_is(word, "partition:", NULL) &&
	    !plugstack_is(word, "qos:", NULL))
		return false;
	if (!place_parse_bounds(value, &these))
		return false;
	if (plugstack_is(word, "all=", NULL) ||
	    (partition && plugstack_is(word, "partition:", partition)) ||
	    (qos && plugstack_is(word, "qos:", qos)))
		*bounds = place_narrow(*bounds, these);
	return true;
}

/* Return: NULL, or what such words look like, and @why may say more. */
static const char *plugstack_word(const char *word, const char *partition, const char *qos,
				  struct plugstack *to, char *why)
{
	const char *value = strchr(word, '=');
	struct share none = { 0 };

	value = value ? value + 1 : "";
	if (plugstack_is(word, "job=", NULL))
		return place_parse_job(value, &to->job) ? NULL : "job=leave, job=stay or job=none";
	if (plugstack_is(word, "follow_stop=", NULL))
		return parse_follow_stop(value, &to->follow_stop) ? NULL :
		       "follow_stop=always, follow_stop=never or follow_stop=node";
	if (plugstack_is(word, "account=", NULL))
		return plugstack_account(value, &to->accounting) ? NULL :
		       "account=admincomment or account=none";
	if (plugstack_is(word, "share:", NULL))
		return plugstack_share(word, 0, &none, why) ? NULL : PLUGSTACK_SHARE;
	return plugstack_bounds(word, value, partition, qos, &to->bounds) ? NULL :
	       PLUGSTACK_BOUNDS ", job=, share:CLASS=, follow_stop= or account=";
}

static const struct plugstack plugstack_nothing = {
	.bounds = { GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX },
	.job = PLACE_JOB_NONE,
	.follow_stop = GPREEMPT_FOLLOW_STOP_NODE,
	.wrong = "",
};

void plugstack_read(int ac, char **av, const char *partition, const char *qos,
		    struct plugstack *plugstack)
{
	static const struct place_bounds normal = {
		GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_NORMAL
	};
	char why[PARSE_WHY];
	int i;

	*plugstack = plugstack_nothing;
	for (i = 0; i < ac; i++)
		if (plugstack_word(av[i], partition, qos, plugstack, why))
			plugstack->wrong = av[i];
	if (plugstack->wrong[0])
		plugstack->bounds = place_narrow(plugstack->bounds, normal);
}

void plugstack_shares(int ac, char **av, int priority, struct share *share)
{
	char why[PARSE_WHY];
	int i;

	memset(&share->given, 0, sizeof(share->given));
	for (i = 0; i < ac; i++)
		if (plugstack_is(av[i], "share:", NULL))
			plugstack_share(av[i], priority, share, why);
}

void plugstack_check(int ac, char **av)
{
	struct plugstack all = plugstack_nothing;
	char why[PARSE_WHY];
	const char *good;
	int i;

	for (i = 0; i < ac; i++) {
		why[0] = '\0';
		good = plugstack_word(av[i], NULL, NULL, &all, why);
		if (good)
			slurm_error("gpreempt: plugstack.conf: %s: not %s%s%s; passed over, and "
				    "no job has more than normal priority until it is mended",
				    av[i], good, why[0] ? ": " : "", why);
	}
}

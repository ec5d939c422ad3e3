// SPDX-License-Identifier: MIT
/* share.c - see share.h */
#define _GNU_SOURCE
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOT_IN_FORCE	"; no share is in force"

bool share_is_asked_for(const struct share *share)
{
	return share->asked.named;
}

bool share_ask(struct share *share, const char *name, const char *value, char *why)
{
	unsigned int named;
	char word[64];

	if ((size_t)snprintf(word, sizeof(word), "%s=%s", name, value) >= sizeof(word)) {
		snprintf(why, PARSE_WHY, "%s... is longer than %zu characters", word, sizeof(word) - 1);
		return false;
	}
	named = parse_share_word(word, &share->asked.of, why);
	share->asked.named |= named;
	return named;
}

/* What @from names, as far as @which says so */
static void take(struct share_wish *to, const struct share_wish *from, unsigned int which)
{
	which &= from->named;
	to->named |= which;
	if (which & NAMED_WEIGHT)
		to->of.weight = from->of.weight;
	if (which & NAMED_MIN)
		to->of.min_pct = from->of.min_pct;
	if (which & NAMED_MAX) {
		to->of.quota_us = from->of.quota_us;
		to->of.period_us = from->of.period_us;
	}
}

bool share_give(struct share *share, const char *words, bool fits, char *why)
{
	struct share_wish wish;

	wish.named = parse_share(words, &wish.of, why);
	if (fits)
		take(&share->given, &wish, ~share->given.named);
	return wish.named;
}

static const char *maximum(const struct gpreempt_set_share *of, char *buffer, size_t size)
{
	if (of->quota_us)
		snprintf(buffer, size, "%llu/%llu", (unsigned long long)of->quota_us, (unsigned long long)of->period_us);
	else
		snprintf(buffer, size, "none");
	return buffer;
}

/* As parts of a period, which are products below 2^64: both are bounded by 10^6. */
static bool has_more_time(const struct gpreempt_set_share *a, const struct gpreempt_set_share *than)
{
	if (!than->quota_us)
		return false;
	return !a->quota_us || a->quota_us * than->period_us > than->quota_us * a->period_us;
}

int share_check(const struct share *share, char *why)
{
	const struct gpreempt_set_share *asked = &share->asked.of, *given = &share->given.of;
	unsigned int both = share->asked.named & share->given.named;
	char is[48], bound[48];

	if (both & NAMED_WEIGHT && asked->weight > given->weight)
		snprintf(why, SHARE_WHY, "weight=%u is more than the administrator allows, which is %u" NOT_IN_FORCE, asked->weight, given->weight);
	else if (both & NAMED_MIN && asked->min_pct > given->min_pct)
		snprintf(why, SHARE_WHY, "min=%u is more than the administrator allows, which is %u" NOT_IN_FORCE, asked->min_pct, given->min_pct);
	else if (both & NAMED_MAX && has_more_time(asked, given))
		snprintf(why, SHARE_WHY, "max=%s is more than the administrator allows, which is %s" NOT_IN_FORCE, maximum(asked, is, sizeof(is)),
			 maximum(given, bound, sizeof(bound)));
	else
		return 0;
	return -ERANGE;
}

static const char *reason(int error)
{
	switch (error) {
	case -ENOENT:
		return "there is no amdgpu with kfd_gpreempt";
	case -ENOTTY:
		return "the module knows of no shares";
	case -ENOSPC:
		return "127 groups have a share, and there is room for no more";
	}
	return strerror(-error);
}

static int set(const char *directory, struct gpreempt_set_share *of, char *why)
{
	int error, fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct gpreempt *g;

	if (fd < 0) {
		error = -errno;
		snprintf(why, SHARE_WHY, "%.256s: %s" NOT_IN_FORCE, directory, strerror(-error));
		/* -ENOENT is for the module. */
		return error == -ENOENT ? -ESRCH : error;
	}
	of->target = gpreempt_target_cgroup(fd);
	error = gpreempt_open(&g);
	if (!error) {
		error = gpreempt_set_share(g, of);
		gpreempt_close(g);
	}
	close(fd);
	if (error)
		snprintf(why, SHARE_WHY, "%s" NOT_IN_FORCE, reason(error));
	return error;
}

int share_set(const char *directory, const struct share *share, char *why)
{
	struct share_wish wish = { .of = { .weight = SHARE_WEIGHT } };
	int error;

	take(&wish, &share->given, ~0U);
	take(&wish, &share->asked, ~0U);
	if (!wish.named)
		return 0;
	if (!directory) {
		snprintf(why, SHARE_WHY, "shares are those of cgroups of version 2, which this machine has not" NOT_IN_FORCE);
		return -EOPNOTSUPP;
	}
	error = share_check(share, why);
	return error ? error : set(directory, &wish.of, why);
}

bool share_matters(const struct share *share, int error)
{
	return error && (share_is_asked_for(share) || (error != -EOPNOTSUPP && error != -ENOENT && error != -ENOTTY));
}

// SPDX-License-Identifier: MIT
/* parse.c - see parse.h */
#include "parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WEIGHT		10000
/* Of a maximum in percent. So no second has more than a point above it: see the manual page. */
#define DEFAULT_PERIOD_US	20000
/* Whose quota is GPREEMPT_QUOTA_US_MIN */
#define MIN_PERCENT		5

bool parse_number(const char *text, unsigned long long max, unsigned long long *value)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, hex ? 16 : 10);
	return !errno && !*end && *value <= max;
}

bool parse_time(const char *text, unsigned int unit_us, unsigned long long max, unsigned long long *value)
{
	static const struct {
		const char *name;
		unsigned int us;
	} units[] = { { "us", 1 }, { "ms", 1000 }, { "s", 1000000 } };
	size_t i, digits = strspn(text, "0123456789");
	char number[24];

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text + digits, units[i].name))
			continue;
		if (digits >= sizeof(number))
			return false;
		snprintf(number, sizeof(number), "%.*s", (int)digits, text);
		if (!parse_number(number, ~0ULL / units[i].us, value) || *value * units[i].us % unit_us)
			return false;
		*value = *value * units[i].us / unit_us;
		return *value <= max;
	}
	return parse_number(text, max, value);
}

bool parse_percent(const char *text, unsigned long long max, unsigned long long *value)
{
	size_t digits = strspn(text, "0123456789");
	char number[24];

	if (strcmp(text + digits, "%") || digits >= sizeof(number))
		return parse_number(text, max, value);
	snprintf(number, sizeof(number), "%.*s", (int)digits, text);
	return parse_number(number, max, value);
}

bool parse_priority(const char *text, int *priority)
{
	static const struct {
		const char *name;
		int priority;
	} classes[] = { { "latency", CLASS_LATENCY }, { "normal", GPREEMPT_PRIORITY_NORMAL }, { "batch", CLASS_BATCH } };
	char *end;
	long value;
	size_t i;

	for (i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (!strcmp(text, classes[i].name)) {
			*priority = classes[i].priority;
			return true;
		}
	}
	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < GPREEMPT_PRIORITY_MIN || value > GPREEMPT_PRIORITY_MAX)
		return false;
	*priority = (int)value;
	return true;
}

/* Return: false. */
static bool parse_no_maximum(const char *word, char *why)
{
	snprintf(why, PARSE_WHY, "max=%s is neither %d..100 percent nor QUOTA_US/PERIOD_US nor none", word, MIN_PERCENT);
	return false;
}

static bool parse_maximum(const char *word, struct gpreempt_set_share *share, char *why)
{
	unsigned long long quota = 0, period = 0;
	const char *slash = strchr(word, '/');
	char number[24];

	share->quota_us = 0;
	share->period_us = 0;
	if (!strcmp(word, "none"))
		return true;
	if (!slash) {
		if (!parse_percent(word, 100, &quota) || quota < MIN_PERCENT)
			return parse_no_maximum(word, why);
		share->quota_us = quota * DEFAULT_PERIOD_US / 100;
		share->period_us = DEFAULT_PERIOD_US;
		return true;
	}
	snprintf(number, sizeof(number), "%.*s", (int)(slash - word), word);
	if ((size_t)(slash - word) >= sizeof(number) || !parse_time(slash + 1, 1, ~0ULL, &period) || !parse_time(number, 1, ~0ULL, &quota))
		return parse_no_maximum(word, why);
	if (period < GPREEMPT_PERIOD_US_MIN || period > GPREEMPT_PERIOD_US_MAX) {
		snprintf(why, PARSE_WHY, "max=%s: a period of %llu us is not in %u..%u", word, period, GPREEMPT_PERIOD_US_MIN, GPREEMPT_PERIOD_US_MAX);
		return false;
	}
	if (quota < GPREEMPT_QUOTA_US_MIN || quota > period) {
		snprintf(why, PARSE_WHY, "max=%s: a quota of %llu us is not in %u..%llu", word, quota, GPREEMPT_QUOTA_US_MIN, period);
		return false;
	}
	share->quota_us = quota;
	share->period_us = period;
	return true;
}

bool parse_follow_stop(const char *text, unsigned int *value)
{
	static const char *const words[] = {
		[GPREEMPT_FOLLOW_STOP_NODE] = "node", [GPREEMPT_FOLLOW_STOP_ALWAYS] = "always", [GPREEMPT_FOLLOW_STOP_NEVER] = "never",
	};
	unsigned int i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i]))
			continue;
		*value = i;
		return true;
	}
	return false;
}

unsigned int parse_share_word(const char *word, struct gpreempt_set_share *share, char *why)
{
	unsigned long long value;

	if (!strncmp(word, "weight=", 7)) {
		if (parse_number(word + 7, MAX_WEIGHT, &value) && value) {
			share->weight = (uint32_t)value;
			return NAMED_WEIGHT;
		}
		snprintf(why, PARSE_WHY, "%s is not in 1..%d", word, MAX_WEIGHT);
		return 0;
	}
	if (!strncmp(word, "min=", 4)) {
		if (parse_percent(word + 4, 100, &value)) {
			share->min_pct = (uint32_t)value;
			return NAMED_MIN;
		}
		snprintf(why, PARSE_WHY, "%s is not in 0..100 percent", word);
		return 0;
	}
	if (!strncmp(word, "max=", 4))
		return parse_maximum(word + 4, share, why) ? NAMED_MAX : 0;
	snprintf(why, PARSE_WHY, "%s is neither weight=N nor min=PERCENT nor max=PERCENT", word);
	return 0;
}

bool parse_is_possible(const struct gpreempt_set_share *share, char *why)
{
	if (!share->quota_us || share->quota_us * 100 >= share->min_pct * share->period_us)
		return true;
	snprintf(why, PARSE_WHY, "min=%u is more than the maximum, which is %llu of %llu us, %llu percent", share->min_pct,
		 (unsigned long long)share->quota_us, (unsigned long long)share->period_us,
		 (unsigned long long)(share->quota_us * 100 / share->period_us));
	return false;
}

unsigned int parse_share(const char *text, struct gpreempt_set_share *share, char *why)
{
	unsigned int named = 0, one = 1;
	char *copy = strdup(text), *rest = NULL, *word;

	*share = (struct gpreempt_set_share){ .weight = SHARE_WEIGHT };
	snprintf(why, PARSE_WHY, "%s", copy ? "there is no share: weight=N, min=PERCENT, max=PERCENT" : strerror(ENOMEM));
	for (word = copy ? strtok_r(copy, ", \t", &rest) : NULL; word && one; word = strtok_r(NULL, ", \t", &rest)) {
		one = parse_share_word(word, share, why);
		named |= one;
	}
	free(copy);
	return one ? named : 0;
}

// SPDX-License-Identifier: MIT
/* classes.c - a priority for each queue of a process; see classes.h */
#include "classes.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpreempt.h"
#include "gpreempt-preload.h"
#include "kfd.h"
#include "parse.h"

#define VARIABLE	"GPREEMPT_QUEUE_CLASS"
#define KEPT		"queues keep the priority that the program asks for"
#define MAX_NUMBER	1023
/* All the others, in place of a number */
#define OTHERS		(-1)

/**
 * struct rule - one "NUMBER:CLASS" of the variable
 * @number: of the queue on its GPU, or OTHERS
 * @priority: what it gets
 */
struct rule {
	int number;
	int priority;
};

/**
 * struct counted - queues of a GPU
 * @gpu_id: it
 * @made: how many compute queues were made
 */
struct counted {
	uint32_t gpu_id;
	int made;
};

/**
 * struct given - a queue that has a class
 * @queue_id: KFD numbers the queues of a process, whatever their GPU
 * @gpu_id: its GPU
 * @class: what it was given
 */
struct given {
	uint32_t queue_id;
	uint32_t gpu_id;
	struct queue_class class;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rule *rules;
static unsigned int nr_rules;
static struct counted *counted;
static unsigned int nr_counted;
static struct given *given;
static unsigned int nr_given;
static bool told_rights;

static __thread struct queue_class of_thread;

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/* KFD's queues do not pass on, and the child reads the variable itself. */
static void after_fork_in_child(void)
{
	nr_rules = 0;
	nr_counted = 0;
	nr_given = 0;
	told_rights = false;
	pthread_mutex_unlock(&lock);
}

/* When the library is loaded: what a fork() that has begun does not know of would not be done in its child. */
__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* One more element; NULL: no memory, and the array stays. */
static void *grow(void *array, unsigned int nr, size_t size)
{
	return realloc(array, (nr + 1) * size);
}

static bool parse_queue(const char *text, int *number)
{
	char *end;
	long value;

	if (!strcmp(text, "*")) {
		*number = OTHERS;
		return true;
	}
	errno = 0;
	value = strtol(text, &end, 10);
	*number = (int)value;
	return !errno && end != text && !*end && value >= 0 && value <= MAX_NUMBER;
}

/* Return: what is wrong with it, or NULL. */
static const char *add_rule(char *text)
{
	char *colon = strchr(text, ':');
	struct rule rule, *grown;

	if (!colon)
		return "is not NUMBER:CLASS or *:CLASS";
	*colon = '\0';
	if (!parse_queue(text, &rule.number)) {
		*colon = ':';
		return "has no number from 0 to 1023 and no * before its colon";
	}
	*colon = ':';
	if (!parse_priority(colon + 1, &rule.priority))
		return "has no latency, normal, batch or number from -1023 to 1023 behind its colon";
	grown = grow(rules, nr_rules, sizeof(*rules));
	if (!grown)
		return "has no memory";
	rules = grown;
	rules[nr_rules++] = rule;
	return NULL;
}

void classes_read(void)
{
	const char *value = getenv(VARIABLE), *wrong = NULL;
	char *text, *word, *next = NULL;

	if (!value || !*value)
		return;
	text = strdup(value);
	if (!text)
		return;
	pthread_mutex_lock(&lock);
	nr_rules = 0;
	for (word = strtok_r(text, ",", &next); word && !wrong; word = wrong ? word : strtok_r(NULL, ",", &next)) {
		wrong = add_rule(word);
		if (wrong)
			dprintf(STDERR_FILENO, "gpreempt: " VARIABLE "=%s: %s %s; " KEPT "\n", value, word, wrong);
	}
	if (wrong)
		nr_rules = 0;
	pthread_mutex_unlock(&lock);
	free(text);
}

/* The first of its number counts, and * only if there is none. */
static struct queue_class find_rule(int number)
{
	struct queue_class class = { .has = false };
	unsigned int i;

	for (i = 0; i < nr_rules; i++) {
		if (rules[i].number == number)
			return (struct queue_class){ .has = true, .named = true, .priority = rules[i].priority };
		if (rules[i].number == OTHERS && !class.has)
			class = (struct queue_class){ .has = true, .priority = rules[i].priority };
	}
	return class;
}

static struct counted *count_of(uint32_t gpu_id)
{
	struct counted *grown;
	unsigned int i;

	for (i = 0; i < nr_counted; i++)
		if (counted[i].gpu_id == gpu_id)
			return &counted[i];
	grown = grow(counted, nr_counted, sizeof(*counted));
	if (!grown)
		return NULL;
	counted = grown;
	counted[nr_counted] = (struct counted){ .gpu_id = gpu_id };
	return &counted[nr_counted++];
}

struct queue_class classes_next(uint32_t gpu_id)
{
	struct queue_class class = of_thread;
	struct counted *count;

	pthread_mutex_lock(&lock);
	count = count_of(gpu_id);
	if (count) {
		if (!class.has)
			class = find_rule(count->made);
		count->made++;
	}
	pthread_mutex_unlock(&lock);
	return class;
}

void classes_not_made(uint32_t gpu_id)
{
	struct counted *count;

	pthread_mutex_lock(&lock);
	count = count_of(gpu_id);
	if (count && count->made)
		count->made--;
	pthread_mutex_unlock(&lock);
}

uint32_t classes_kfd_priority(const struct queue_class *class)
{
	if (class->priority < KFD_PRIORITY_MIN)
		return KFD_PRIORITY_MIN;
	return class->priority > KFD_PRIORITY_MAX ? KFD_PRIORITY_MAX : (uint32_t)class->priority;
}

/* Once: a process that lacks the right lacks it for all of its queues. */
static void tell_rights(const struct queue_class *class)
{
	bool told;

	pthread_mutex_lock(&lock);
	told = told_rights;
	told_rights = true;
	pthread_mutex_unlock(&lock);
	if (!told)
		dprintf(STDERR_FILENO, "gpreempt: class %d of a queue: above %d takes CAP_SYS_NICE; it counts within the process only\n",
			class->priority, GPREEMPT_PRIORITY_NORMAL);
}

static void remember(uint32_t gpu_id, uint32_t queue_id, const struct queue_class *class)
{
	struct given *grown;

	pthread_mutex_lock(&lock);
	grown = grow(given, nr_given, sizeof(*given));
	if (grown) {
		given = grown;
		given[nr_given++] = (struct given){ .queue_id = queue_id, .gpu_id = gpu_id, .class = *class };
	}
	pthread_mutex_unlock(&lock);
}

void classes_give(uint32_t gpu_id, uint32_t queue_id, const struct queue_class *class)
{
	struct gpreempt_target target = gpreempt_target_queue(0, gpu_id, queue_id);
	struct gpreempt *g;
	int error;

	if (gpreempt_open(&g))
		return;
	error = gpreempt_set_priority(g, &target, class->priority);
	gpreempt_close(g);
	if (error == -EPERM)
		tell_rights(class);
	remember(gpu_id, queue_id, class);
}

static struct given *find_given(uint32_t queue_id)
{
	unsigned int i;

	for (i = 0; i < nr_given; i++)
		if (given[i].queue_id == queue_id)
			return &given[i];
	return NULL;
}

struct queue_class classes_of(uint32_t queue_id)
{
	struct queue_class class = { .has = false };
	struct given *of;

	pthread_mutex_lock(&lock);
	of = find_given(queue_id);
	if (of)
		class = of->class;
	pthread_mutex_unlock(&lock);
	return class;
}

/* Return: its GPU; 0: it has no class. */
static uint32_t forget(uint32_t queue_id)
{
	uint32_t gpu_id = 0;
	struct given *of;

	pthread_mutex_lock(&lock);
	of = find_given(queue_id);
	if (of) {
		gpu_id = of->gpu_id;
		*of = given[--nr_given];
	}
	pthread_mutex_unlock(&lock);
	return gpu_id;
}

void classes_take_back(uint32_t queue_id)
{
	struct gpreempt_target target;
	struct gpreempt *g;
	uint32_t gpu_id = forget(queue_id);

	if (!gpu_id || gpreempt_open(&g))
		return;
	target = gpreempt_target_queue(0, gpu_id, queue_id);
	gpreempt_clear_priority(g, &target);
	gpreempt_close(g);
}

void classes_forget(uint32_t queue_id)
{
	forget(queue_id);
}

__attribute__((visibility("default"))) int gpreempt_queue_class(const char *class_name)
{
	struct queue_class wanted = { .has = true, .named = true };

	if (!class_name)
		of_thread.has = false;
	else if (!parse_priority(class_name, &wanted.priority))
		return -EINVAL;
	else
		of_thread = wanted;
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * apply.c - gpreemptctl apply: what /etc/gpreempt.conf says, see gpreempt.conf(5)
 *
 * Tunables are set once. Cgroups, and processes that have queues, are looked for; with --follow
 * again and again, since they come and go. A process that was given a priority in another way keeps
 * it. What --follow gave it takes back when it ends. A rule that can never fit is told, applied or
 * checked; one that fits nothing now only by --check.
 *
 * Without cgroup v2, cgroups have no priority. There a line `cgroup' is about processes, like the
 * others, and /proc/PID/cgroup says where one is in any hierarchy.
 */
#include "gpreemptctl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container.h"
#include "match.h"
#include "places.h"

#define DEFAULT_FILE	"/etc/gpreempt.conf"
/* A process that starts is noticed within this time. */
#define FOLLOW_S	1.0

enum kind {
	KIND_TUNABLE,
	KIND_CGROUP,
	KIND_JOB,
	KIND_SHARE,
	KIND_STOP,
	KIND_EXE,
	KIND_USER,
};

/**
 * struct place - a cgroup that a rule fits
 * @device: its file system
 * @inode: in there
 * @priority: that it has from a class
 */
struct place {
	dev_t device;
	ino_t inode;
	int priority;
};

/**
 * struct rule - a line of the file
 * @kind: what it is about
 * @line: its number
 * @by: of a rule about cgroups: it names containers
 * @cpu: of a class: all cgroups have it, each by what cpu.weight or cpu.idle says
 * @name: of the tunable; directory of the cgroup, path of the program, or patterns. Allocated
 * @value: of the tunable. Allocated
 * @uid: the user
 * @priority: of a class
 * @stay: of a job: off one GPU, it stays on the others
 * @share: of a cgroup: what it has of each device's time
 * @follow_stop: of a cgroup: where its queues are while a process of it is stopped; &enum gpreempt_follow_stop
 * @places: cgroups that have it
 * @nr_places: their number
 */
struct rule {
	enum kind kind;
	enum container_by by;
	bool cpu;
	unsigned int line;
	char *name;
	char *value;
	uid_t uid;
	int priority;
	bool stay;
	struct gpreempt_set_share share;
	unsigned int follow_stop;
	struct place *places;
	unsigned int nr_places;
};

/**
 * struct given - a process that got its priority from a rule
 * @pid: the process
 * @priority: what it got
 * @refused: it was not given: no need to try, and to complain, again
 */
struct given {
	pid_t pid;
	int priority;
	bool refused;
};

/**
 * struct config - what the file says, and what has been done about it
 * @path: the file
 * @line: where the reader is
 * @section: in which section
 * @rules: in the order of the file; of classes the first that fits counts
 * @nr_rules: their number
 * @given: processes
 * @nr_given: their number
 */
struct config {
	const char *path;
	unsigned int line;
	enum { SECTION_NONE, SECTION_TUNABLES, SECTION_CLASSES, SECTION_JOBS, SECTION_SHARES, SECTION_STOPS, SECTION_UNKNOWN } section;
	struct rule *rules;
	unsigned int nr_rules;
	struct given *given;
	unsigned int nr_given;
};

static int complain(const struct config *c, unsigned int line, const char *what, const char *word, const char *kept)
{
	return fail(EXIT_FAILED, "%s:%u: %s%s%s%s", c->path, line, what, word, *kept ? "; " : "", kept);
}

#define IGNORED	"the line is ignored"

static void *grow(void *array, unsigned int nr, size_t size)
{
	void *grown = reallocarray(array, nr + 1, size);

	if (!grown)
		exit(fail_system(-ENOMEM, "apply"));
	return grown;
}

static char *copy(const char *text)
{
	char *copied = strdup(text);

	if (!copied)
		exit(fail_system(-ENOMEM, "apply"));
	return copied;
}

static struct rule *add_rule(struct config *c, enum kind kind, const char *name)
{
	struct rule *rule;

	c->rules = grow(c->rules, c->nr_rules, sizeof(*c->rules));
	rule = &c->rules[c->nr_rules++];
	*rule = (struct rule){ .kind = kind, .line = c->line, .name = copy(name) };
	return rule;
}

static void forget_rules(struct config *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_rules; i++) {
		free(c->rules[i].name);
		free(c->rules[i].value);
		free(c->rules[i].places);
	}
	free(c->rules);
	c->rules = NULL;
	c->nr_rules = 0;
}

static bool is_of_cgroup(const struct rule *rule)
{
	return rule->kind == KIND_CGROUP || rule->kind == KIND_JOB || rule->kind == KIND_SHARE || rule->kind == KIND_STOP;
}

/* Of two lines of one kind the first that fits counts. */
static bool apply_is_hidden(const struct rule *later, const struct rule *first)
{
	if (later->kind != first->kind || later->kind == KIND_TUNABLE)
		return false;
	if (later->kind == KIND_USER)
		return later->uid == first->uid;
	if (later->by || first->by)
		return later->by == first->by && !strcmp(first->name, later->name);
	return !strcmp(first->name, later->name) || (!match_is_pattern(later->name) && match_path(first->name, later->name));
}

/* The last rule goes, with a reason, if it can never fit. Return: 0, or the exit status, said. */
static int apply_drop_if_never(struct config *c)
{
	struct rule *rule = &c->rules[c->nr_rules - 1];
	char why[MATCH_WHY], what[MATCH_WHY + 64];
	bool never = false;
	unsigned int i;

	if (is_of_cgroup(rule) && !rule->by && !rule->cpu)
		never = match_cgroup_never(rule->name, why);
	else if (rule->kind == KIND_EXE)
		never = exe_never(rule->name, why);
	for (i = 0; i < c->nr_rules - 1 && !never; i++) {
		never = apply_is_hidden(rule, &c->rules[i]);
		snprintf(why, sizeof(why), "line %u has it already", c->rules[i].line);
	}
	if (!never)
		return 0;
	snprintf(what, sizeof(what), "can never fit: %s: ", why);
	complain(c, c->line, what, rule->name, IGNORED);
	free(rule->name);
	c->nr_rules--;
	return EXIT_FAILED;
}

#define CPU_WEIGHT	"cpu.weight"
#define CGROUP_WORDS	"`cgroup DIR`, `container NAME`, `image IMAGE` or `label KEY=VALUE`"
#define CLASS_WORDS	"`exe PATH`, `user NAME`, " CGROUP_WORDS

/* Ends the first word of a line's left side. Return: what is behind it */
static char *apply_split(char *left)
{
	char *name = left + strcspn(left, " \t");

	if (*name)
		*name++ = '\0';
	return match_trim(name);
}

/* A rule about cgroups, of CGROUP_WORDS. Return: NULL: it is none of them, said */
static struct rule *apply_read_place(struct config *c, enum kind kind, const char *word, const char *name)
{
	enum container_by by = container_word(word);
	struct rule *rule;

	if (!*name || (!by && strcmp(word, "cgroup"))) {
		complain(c, c->line, kind == KIND_CGROUP ? "not " CLASS_WORDS ": " : "not " CGROUP_WORDS ": ", word, IGNORED);
		return NULL;
	}
	if (by == CONTAINER_BY_LABEL && !strchr(name, '=')) {
		complain(c, c->line, "a label is KEY=VALUE, not: ", name, IGNORED);
		return NULL;
	}
	rule = add_rule(c, kind, name);
	rule->by = by;
	return rule;
}

/* CPU_WEIGHT = follow */
static int apply_read_weight(struct config *c, const char *right)
{
	if (strcmp(right, "follow"))
		return complain(c, c->line, "not follow: ", right, IGNORED);
	add_rule(c, KIND_CGROUP, CPU_WEIGHT)->cpu = true;
	return apply_drop_if_never(c);
}

/* KIND NAME = PRIORITY */
static int read_class(struct config *c, char *left, const char *right)
{
	enum kind kind = KIND_CGROUP;
	char *name = apply_split(left);
	struct rule *rule;
	int priority;
	uid_t uid = 0;

	if (!*name && !strcmp(left, CPU_WEIGHT))
		return apply_read_weight(c, right);
	if (*name && !strcmp(left, "exe"))
		kind = KIND_EXE;
	else if (*name && !strcmp(left, "user"))
		kind = KIND_USER;
	if (kind == KIND_EXE && *name != '/')
		return complain(c, c->line, "a program is named by its whole path, not: ", name, IGNORED);
	if (kind == KIND_USER && !match_user(name, &uid))
		return complain(c, c->line, "there is no user ", name, IGNORED);
	if (*name && !parse_priority(right, &priority))
		return complain(c, c->line, "neither a priority (-1023..1023) nor a class (latency, normal, batch): ", right, IGNORED);
	rule = kind == KIND_CGROUP ? apply_read_place(c, kind, left, name) : add_rule(c, kind, name);
	if (!rule)
		return EXIT_FAILED;
	rule->uid = uid;
	rule->priority = priority;
	return apply_drop_if_never(c);
}

/* PLACE = leave|stay */
static int read_job(struct config *c, char *left, const char *right)
{
	bool stay = !strcmp(right, "stay");
	char *name = apply_split(left);
	struct rule *rule;

	if (!stay && strcmp(right, "leave"))
		return complain(c, c->line, "neither leave nor stay: ", right, IGNORED);
	rule = apply_read_place(c, KIND_JOB, left, name);
	if (!rule)
		return EXIT_FAILED;
	rule->stay = stay;
	return apply_drop_if_never(c);
}

/* PLACE = weight=N min=PERCENT max=PERCENT */
static int read_share(struct config *c, char *left, char *right)
{
	char *name = apply_split(left), why[PARSE_WHY];
	struct gpreempt_set_share share;
	struct rule *rule;

	if (!parse_share(right, &share, why) || !parse_is_possible(&share, why))
		return complain(c, c->line, why, "", IGNORED);
	rule = apply_read_place(c, KIND_SHARE, left, name);
	if (!rule)
		return EXIT_FAILED;
	rule->share = share;
	return apply_drop_if_never(c);
}

/* PLACE = always|never|node */
static int read_stop(struct config *c, char *left, const char *right)
{
	char *name = apply_split(left);
	unsigned int follow_stop;
	struct rule *rule;

	if (!parse_follow_stop(right, &follow_stop))
		return complain(c, c->line, "neither always nor never nor node: ", right, IGNORED);
	rule = apply_read_place(c, KIND_STOP, left, name);
	if (!rule)
		return EXIT_FAILED;
	rule->follow_stop = follow_stop;
	return apply_drop_if_never(c);
}

static int read_section(struct config *c, const char *line)
{
	static const char *const names[] = {
		[SECTION_TUNABLES] = "[tunables]", [SECTION_CLASSES] = "[classes]", [SECTION_JOBS] = "[jobs]", [SECTION_SHARES] = "[shares]", [SECTION_STOPS] = "[stops]",
	};
	unsigned int i;

	for (i = SECTION_TUNABLES; i <= SECTION_STOPS; i++) {
		if (strcmp(line, names[i]))
			continue;
		c->section = i;
		return 0;
	}
	c->section = SECTION_UNKNOWN;
	return complain(c, c->line, "neither [tunables] nor [classes] nor [jobs] nor [shares] nor [stops]: ", line, "all of the section is ignored");
}

/* A path may have one in it, a priority has not. Of a share each word has one: the first of them has spaces beside it. */
static char *find_equals(const struct config *c, char *line)
{
	char *at;

	switch (c->section) {
	case SECTION_TUNABLES:
		return strchr(line, '=');
	case SECTION_SHARES:
		at = strstr(line, " = ");
		return at ? at + 1 : NULL;
	default:
		return strrchr(line, '=');
	}
}

static int read_line(struct config *c, char *line)
{
	char *equals;

	if (!*line || *line == '#')
		return 0;
	if (*line == '[')
		return read_section(c, line);
	if (c->section == SECTION_UNKNOWN)
		return 0;
	if (c->section == SECTION_NONE)
		return complain(c, c->line, "before the first section: ", line, IGNORED);
	equals = find_equals(c, line);
	if (!equals)
		return complain(c, c->line, c->section == SECTION_SHARES ? "there is no = with spaces beside it in: " : "there is no = in: ", line,
				IGNORED);
	*equals = '\0';
	if (c->section == SECTION_CLASSES)
		return read_class(c, match_trim(line), match_trim(equals + 1));
	if (c->section == SECTION_JOBS)
		return read_job(c, match_trim(line), match_trim(equals + 1));
	if (c->section == SECTION_SHARES)
		return read_share(c, match_trim(line), match_trim(equals + 1));
	if (c->section == SECTION_STOPS)
		return read_stop(c, match_trim(line), match_trim(equals + 1));
	add_rule(c, KIND_TUNABLE, match_trim(line))->value = copy(match_trim(equals + 1));
	return 0;
}

/* A line that is wrong does not keep the others from being applied. Return: the exit status, said. */
static int read_config(struct config *c)
{
	FILE *file = fopen(c->path, "re");
	int status = EXIT_DONE;
	char *text = NULL;
	size_t room = 0;

	if (!file)
		return fail_system(-errno, "%s", c->path);
	c->line = 0;
	c->section = SECTION_NONE;
	errno = 0;
	while (getline(&text, &room, file) >= 0) {
		c->line++;
		if (read_line(c, match_trim(text)))
			status = EXIT_FAILED;
	}
	if (ferror(file))
		status = fail_system(-errno, "%s", c->path);
	free(text);
	fclose(file);
	return status;
}

static int check_tunables(const struct config *c)
{
	int status = EXIT_DONE;
	unsigned int i;
	char why[512];

	for (i = 0; i < c->nr_rules; i++)
		if (c->rules[i].kind == KIND_TUNABLE && !check_tunable(c->rules[i].name, c->rules[i].value, why, sizeof(why)))
			status = complain(c, c->rules[i].line, why, "", "");
	return status;
}

static const char *const apply_by_words[] = {
	[CONTAINER_BY_NAME] = "name", [CONTAINER_BY_IMAGE] = "image", [CONTAINER_BY_LABEL] = "label",
};

/* The cgroups of a rule, as they are now. Return: how many there are */
static unsigned int apply_find(const struct rule *rule, void (*found)(const char *path, void *data), void *data)
{
	if (rule->cpu)
		return walk_places(found, data);
	return rule->by ? find_containers(rule->by, rule->name, found, data) : find_places(rule->name, found, data);
}

static void apply_see_lesser(const char *path, void *data)
{
	int priority;

	*(bool *)data |= lesser_priority(path, &priority);
}

static bool apply_finds_lesser(void)
{
	bool found = false;

	walk_places(apply_see_lesser, &found);
	return found;
}

/* Nothing is wrong with such a rule: what it names may come. */
static void apply_tell_nothing(const struct config *c)
{
	const struct rule *rule;
	unsigned int i;

	for (i = 0; i < c->nr_rules; i++) {
		rule = &c->rules[i];
		if (is_of_cgroup(rule) && (rule->by || rule->cpu || rule->kind != KIND_CGROUP) && !cgroups_are_v2())
			printf("%s:%u: fits nothing now: %s: here cgroups are not of version 2, which it takes\n", c->path, rule->line,
			       rule->name);
		else if (rule->by && !find_containers(rule->by, rule->name, NULL, NULL))
			printf("%s:%u: fits nothing now: no container that runs here has the %s %s\n", c->path, rule->line,
			       apply_by_words[rule->by], rule->name);
		else if (rule->cpu && !apply_finds_lesser())
			printf("%s:%u: fits nothing now: no cgroup has less than the normal weight\n", c->path, rule->line);
		else if (is_of_cgroup(rule) && !rule->by && !rule->cpu && !fits_a_cgroup(rule->name))
			printf("%s:%u: fits nothing now: there is no cgroup %s\n", c->path, rule->line, rule->name);
		else if (rule->kind == KIND_EXE && !exe_is_there(rule->name))
			printf("%s:%u: fits nothing now: there is no program %s\n", c->path, rule->line, rule->name);
	}
}

static int apply_tunables(const struct config *c)
{
	int status = EXIT_DONE;
	unsigned int i;
	char why[512];

	for (i = 0; i < c->nr_rules; i++) {
		const struct rule *rule = &c->rules[i];

		if (rule->kind != KIND_TUNABLE || !change_tunable(0, rule->name, rule->value, why, sizeof(why)))
			continue;
		status = complain(c, rule->line, why, "", "");
	}
	return status;
}

/* A cgroup's job is the cgroup. */
static int set_cgroup(const struct rule *rule, struct gpreempt *g, int fd, const struct place *place)
{
	struct gpreempt_target target = gpreempt_target_cgroup(fd);
	struct gpreempt_set_share share = rule->share;

	if (rule->kind == KIND_STOP)
		return gpreempt_set_param(g, &target, GPREEMPT_PARAM_FOLLOW_STOP, rule->follow_stop);
	if (rule->kind == KIND_SHARE) {
		share.target = target;
		return gpreempt_set_share(g, &share);
	}
	return rule->kind == KIND_JOB ? gpreempt_set_job(g, &target, place->inode, rule->stay ? GPREEMPT_JOB_STAY : 0) :
					gpreempt_set_priority(g, &target, place->priority);
}

/**
 * struct visit - a rule looks for its cgroups
 * @c: the rules
 * @rule: this one
 * @g: the device
 * @places: those that had it before
 * @nr_places: their number
 * @status: exit status
 */
struct visit {
	const struct config *c;
	struct rule *rule;
	struct gpreempt *g;
	struct place *places;
	unsigned int nr_places;
	int status;
};

static const struct place *apply_find_place(const struct place *places, unsigned int nr, const struct stat *s)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (places[i].inode == s->st_ino && places[i].device == s->st_dev)
			return &places[i];
	return NULL;
}

static bool apply_has_earlier(const struct visit *v, const struct stat *s)
{
	const struct rule *rule;

	for (rule = v->c->rules; rule < v->rule; rule++)
		if (rule->kind == v->rule->kind && apply_find_place(rule->places, rule->nr_places, s))
			return true;
	return false;
}

/*
 * Another cgroup in the same place is another cgroup, and has nothing yet. @priority: NULL: the
 * rule has nothing for it any more.
 */
static void apply_open_place(struct visit *v, const char *path, int fd, const struct stat *now, const int *priority)
{
	const struct place *before = apply_find_place(v->places, v->nr_places, now);
	struct place place = { .device = now->st_dev, .inode = now->st_ino, .priority = priority ? *priority : 0 };
	struct gpreempt_target target = gpreempt_target_cgroup(fd);
	int r = 0;

	if (priority && (!before || before->priority != place.priority))
		r = set_cgroup(v->rule, v->g, fd, &place);
	else if (!priority && before)
		r = gpreempt_clear_priority(v->g, &target);
	if (r)
		v->status = fail_errno(r, "%s:%u: %s", v->c->path, v->rule->line, path);
	if (!priority)
		return;
	/* Also after an error: it would be the same again. */
	v->rule->places = grow(v->rule->places, v->rule->nr_places, sizeof(*v->rule->places));
	v->rule->places[v->rule->nr_places++] = place;
}

static void apply_place(const char *path, void *data)
{
	struct visit *v = data;
	int fd, priority = v->rule->priority;
	bool has = !v->rule->cpu || lesser_priority(path, &priority);
	struct stat now;

	if (!has && !v->nr_places)
		return;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* It may be gone by now. */
	if (fd < 0 || fstat(fd, &now)) {
		if (fd >= 0 || errno != ENOENT)
			v->status = fail_system(-errno, "%s:%u: %s", v->c->path, v->rule->line, path);
	} else if (!apply_has_earlier(v, &now)) {
		apply_open_place(v, path, fd, &now, has ? &priority : NULL);
	}
	if (fd >= 0)
		close(fd);
}

static int apply_cgroup(const struct config *c, struct rule *rule, struct gpreempt *g, bool wait_for_it)
{
	struct visit visit = { .c = c, .rule = rule, .g = g, .places = rule->places, .nr_places = rule->nr_places };
	unsigned int nr;

	rule->places = NULL;
	rule->nr_places = 0;
	nr = apply_find(rule, apply_place, &visit);
	if (!nr && !wait_for_it && rule->by)
		visit.status = fail(EXIT_FAILED, "%s:%u: no container that runs here has the %s %s", c->path, rule->line,
				    apply_by_words[rule->by], rule->name);
	else if (!nr && !wait_for_it && !rule->cpu)
		visit.status = fail_system(-ENOENT, "%s:%u: %s", c->path, rule->line, rule->name);
	free(visit.places);
	return visit.status;
}

static int apply_cgroups(struct config *c, struct gpreempt *g, bool wait_for_them)
{
	int status = EXIT_DONE;
	unsigned int i;

	for (i = 0; cgroups_are_v2() && i < c->nr_rules; i++)
		if (is_of_cgroup(&c->rules[i]) && apply_cgroup(c, &c->rules[i], g, wait_for_them))
			status = EXIT_FAILED;
	return status;
}

static bool fits(const struct rule *rule, const char *exe, uid_t uid, const char *cgroups)
{
	switch (rule->kind) {
	case KIND_EXE:
		return match_path(rule->name, exe);
	case KIND_USER:
		return rule->uid == uid;
	case KIND_CGROUP:
		return cgroups && !rule->by && !rule->cpu && match_cgroup(cgroups, rule->name);
	default:
		return false;
	}
}

static const struct rule *find_rule(const struct config *c, pid_t pid)
{
	char link[64], exe[PATH_MAX] = "", cgroups[8192];
	bool first = !cgroups_are_v2();
	struct stat owner;
	unsigned int i;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	length = readlink(link, exe, sizeof(exe) - 1);
	exe[length > 0 ? length : 0] = '\0';
	snprintf(link, sizeof(link), "/proc/%d", (int)pid);
	if (stat(link, &owner))
		return NULL;
	snprintf(link, sizeof(link), "/proc/%d/cgroup", (int)pid);
	first = first && read_text(link, cgroups, sizeof(cgroups)) >= 0;
	for (i = 0; i < c->nr_rules; i++)
		if (fits(&c->rules[i], exe, owner.st_uid, first ? cgroups : NULL))
			return &c->rules[i];
	return NULL;
}

static struct given *find_given(const struct config *c, pid_t pid)
{
	unsigned int i;

	for (i = 0; i < c->nr_given; i++)
		if (c->given[i].pid == pid)
			return &c->given[i];
	return NULL;
}

static void forget_the_dead(struct config *c)
{
	unsigned int i, kept = 0;

	for (i = 0; i < c->nr_given; i++)
		if (!kill(c->given[i].pid, 0) || errno != ESRCH)
			c->given[kept++] = c->given[i];
	c->nr_given = kept;
}

/* Return: the exit status, said. */
static int apply_process(struct config *c, struct gpreempt *g, pid_t pid)
{
	struct gpreempt_target target = gpreempt_target_process(pid, 0);
	struct given *given = find_given(c, pid);
	const struct rule *rule;
	int r;

	if (given && given->refused)
		return EXIT_DONE;
	rule = find_rule(c, pid);
	if (!rule)
		return EXIT_DONE;
	r = gpreempt_set_priority(g, &target, rule->priority);
	/* It may have ended meanwhile. */
	if (r == -ESRCH)
		return EXIT_DONE;
	if (!given) {
		c->given = grow(c->given, c->nr_given, sizeof(*c->given));
		given = &c->given[c->nr_given++];
	}
	*given = (struct given){ .pid = pid, .priority = rule->priority, .refused = r };
	return r ? fail_errno(r, "%s:%u: pid %d", c->path, rule->line, (int)pid) : EXIT_DONE;
}

static int apply_processes(struct config *c, struct gpreempt *g)
{
	struct gpreempt_target all = gpreempt_target_all();
	struct gpreempt_queue_info *queues;
	int i, status = EXIT_DONE, nr = gpreempt_list_queues(g, &all, &queues);

	if (nr < 0)
		return fail_errno(nr, "apply");
	for (i = 0; i < nr; i++) {
		/* What is set for a process shows with its next pass, and for all of its queues. */
		if (queues[i].source >= GPREEMPT_SOURCE_PROCESS || (i && queues[i].pid == queues[i - 1].pid))
			continue;
		if (apply_process(c, g, queues[i].pid))
			status = EXIT_FAILED;
	}
	free(queues);
	forget_the_dead(c);
	return status;
}

/*
 * The device is open only meanwhile, so that the driver can be unloaded without stopping a service.
 */
static int apply_rules(struct config *c, bool follow)
{
	struct gpreempt *g;
	int cgroups, status = open_scheduler(&g);

	if (status)
		return status;
	cgroups = apply_cgroups(c, g, follow);
	status = apply_processes(c, g);
	gpreempt_close(g);
	return cgroups ? cgroups : status;
}

static void take_back_place(const char *path, void *data)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct gpreempt_set_share share = { .flags = GPREEMPT_SHARE_CLEAR };
	const struct visit *v = data;
	struct stat now;

	if (fd < 0)
		return;
	share.target = gpreempt_target_cgroup(fd);
	if (!fstat(fd, &now) && apply_find_place(v->rule->places, v->rule->nr_places, &now)) {
		if (v->rule->kind == KIND_JOB)
			gpreempt_set_job(v->g, &share.target, 0, GPREEMPT_JOB_CLEAR);
		else if (v->rule->kind == KIND_SHARE)
			gpreempt_set_share(v->g, &share);
		else if (v->rule->kind == KIND_STOP)
			gpreempt_set_param(v->g, &share.target, GPREEMPT_PARAM_FOLLOW_STOP, GPREEMPT_FOLLOW_STOP_NODE);
		else if (v->rule->kind == KIND_CGROUP)
			gpreempt_clear_priority(v->g, &share.target);
	}
	close(fd);
}

/* What another process changed meanwhile stays. */
static void take_back_process(const struct config *c, struct gpreempt *g, const struct gpreempt_queue_info *q)
{
	struct gpreempt_target target = gpreempt_target_process(q->pid, 0);
	const struct given *given = find_given(c, q->pid);

	if (given && !given->refused && q->source == GPREEMPT_SOURCE_PROCESS && q->logical_priority == given->priority)
		gpreempt_clear_priority(g, &target);
}

static void take_back(struct config *c)
{
	struct gpreempt_target all = gpreempt_target_all();
	struct gpreempt_queue_info *queues;
	struct gpreempt *g;
	unsigned int r;
	int i, nr;

	if (!gpreempt_open(&g)) {
		for (r = 0; r < c->nr_rules; r++)
			if (is_of_cgroup(&c->rules[r]) && c->rules[r].nr_places)
				apply_find(&c->rules[r], take_back_place, &(struct visit){ .rule = &c->rules[r], .g = g });
		nr = gpreempt_list_queues(g, &all, &queues);
		for (i = 0; i < nr; i++)
			take_back_process(c, g, &queues[i]);
		free(queues);
		gpreempt_close(g);
	}
	c->nr_given = 0;
}

/* Until SIGINT or SIGTERM; SIGHUP has the file read again. */
static int follow(struct config *c, const struct options *o)
{
	int number, status;

	block_signals();
	do {
		forget_rules(c);
		read_config(c);
		apply_tunables(c);
		do {
			status = apply_rules(c, true);
			/* Anything else has been said and may be different next time. */
			if (status == EXIT_NO_MODULE || status == EXIT_DENIED)
				return status;
			number = wait_for_signal(o->given & GIVEN_INTERVAL ? o->interval_s : FOLLOW_S);
		} while (!number);
		take_back(c);
	} while (number == SIGHUP);
	return EXIT_DONE;
}

int cmd_apply(const struct options *o)
{
	struct config c = { .path = o->nr_args ? o->args[0] : DEFAULT_FILE };
	struct gpreempt *g;
	int r, status;

	if (o->check && o->follow)
		return fail(EXIT_USAGE, "apply: --check or --follow, not both");
	if (!o->check) {
		/* Before anything is changed. */
		status = open_scheduler(&g);
		if (status)
			return status;
		gpreempt_close(g);
	}
	if (o->follow) {
		status = follow(&c, o);
	} else {
		status = read_config(&c);
		r = o->check ? check_tunables(&c) : apply_tunables(&c);
		status = status ? status : r;
		if (o->check) {
			apply_tell_nothing(&c);
		} else {
			r = apply_rules(&c, false);
			status = status ? status : r;
		}
	}
	forget_rules(&c);
	free(c.given);
	return status;
}

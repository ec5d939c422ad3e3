// SPDX-License-Identifier: MIT
/*
 * origin.c - where a process comes from: container, pod, Slurm step and others' jobs by its cgroups, user and pids by /proc/PID/status
 *
 * Cgroups have ids and no names: a container's name is known to its engine alone. Paths are read from the root on, up to the first container:
 * what is below is made in the container, under any name that its programs like. Who may make cgroups without being root can still make one
 * that looks like a container's, below his own.
 */
#include "origin.h"

#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_DIGITS	64
#define POD_DIGITS	32
/* As engines print ids and pods themselves; names are no such ids. */
#define SHORT_ID	12
#define SHORT_NAME	24
#define SHORT_POD	8
#define DELETED		" (deleted)"
#define SLUID_LENGTH	14
/* Slurm sets it in all that it starts. */
#define JOB_VARIABLE	"SLURM_JOB_ID="

/* How many hexadecimal digits, as engines write them, does the text begin with? */
static size_t hex_digits(const char *text, size_t length)
{
	size_t n = 0;

	while (n < length && (isdigit((unsigned char)text[n]) || (text[n] >= 'a' && text[n] <= 'f')))
		n++;
	return n;
}

static bool begins(const char *text, size_t length, const char *prefix)
{
	size_t n = strlen(prefix);

	return length >= n && !memcmp(text, prefix, n);
}

/* Is it nothing but what stands here? */
static bool is(const char *text, size_t length, const char *wanted)
{
	return length == strlen(wanted) && begins(text, length, wanted);
}

static bool ends(const char *text, size_t length, const char *suffix)
{
	size_t n = strlen(suffix);

	return length >= n && !memcmp(text + length - n, suffix, n);
}

/**
 * struct form - how an engine calls the cgroup of a container: PREFIX ID [.scope]
 * @prefix: before the id
 * @engine: whose it is
 */
static const struct form {
	const char *prefix;
	const char *engine;
} forms[] = {
	{ "docker-", "docker" },
	{ "cri-containerd-", "containerd" },
	{ "nerdctl-", "containerd" },
	{ "crio-", "crio" },
	{ "libpod-payload-", "podman" },
	{ "libpod-", "podman" },
};

/**
 * struct manager - how others call the cgroup of what they run: ABOVE/PREFIX ID SUFFIX
 * @above: the path above is that, if it begins with a slash, or else ends so
 * @prefix: what its name begins with
 * @suffix: what it ends with
 * @last: the id is what is behind the last of these; NULL: all between @prefix and @suffix
 * @engine: whose it is
 */
static const struct manager {
	const char *above;
	const char *prefix;
	const char *suffix;
	const char *last;
	const char *engine;
} managers[] = {
	{ "", "lxc.payload.", "", NULL, "lxc" },
	{ "/lxc.payload", "", "", NULL, "lxc" },
	{ "/lxc", "", "", NULL, "lxc" },
	{ "/pbs_jobs.service/jobid", "", "", NULL, "pbs" },
	{ "/pbs_jobs.service/jobs", "", "", NULL, "pbs" },
	{ "/pbspro.service/jobid", "", "", NULL, "pbs" },
	{ "/pbs_jobs.slice", "pbs_jobs-", ".slice", NULL, "pbs" },
	{ "/pbspro.slice", "pbspro-", ".slice", NULL, "pbs" },
	{ "/pbspro", "", "", NULL, "pbs" },
	{ "/htcondor", "condor_", "", "execute_", "htcondor" },
	{ "/system.slice/htcondor", "condor_", "", "execute_", "htcondor" },
	{ "/system.slice/condor.service", "condor_", "", "execute_", "htcondor" },
	/* Of the instance's own systemd: shell-RANK-JOB */
	{ "app.slice", "imp-shell-", ".service", "-", "flux" },
	{ "app.slice", "shell-", ".service", "-", "flux" },
	{ "/apptainer", "", "", NULL, "apptainer" },
	{ "", "apptainer-", ".scope", NULL, "apptainer" },
	{ "/singularity", "", "", NULL, "singularity" },
	{ "", "singularity-", ".scope", NULL, "singularity" },
};

/* What an id may consist of: no label, table or terminal has a meaning for it. */
static bool origin_is_plain(const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("._@:+-", text[i]))
			return false;
	return length;
}

static bool origin_is_above(const char *path, size_t length, const char *above)
{
	return *above == '/' ? is(path, length, above) : ends(path, length, above);
}

static bool set_container(struct place *place, const char *engine, const char *id, size_t length)
{
	snprintf(place->engine, sizeof(place->engine), "%s", engine);
	snprintf(place->container, sizeof(place->container), "%.*s", (int)length, id);
	return true;
}

/* Return: was it one of a manager's? @path is that of @name, from the root on. */
static bool origin_add_managed(struct place *place, const char *path, const char *name, size_t length)
{
	size_t i, n, at, above = name > path ? name - path - 1 : 0;
	const struct manager *m;
	const char *id;

	for (i = 0; i < sizeof(managers) / sizeof(managers[0]); i++) {
		m = &managers[i];
		if (!origin_is_above(path, above, m->above) || !begins(name, length, m->prefix) ||
		    !ends(name, length, m->suffix) || length <= strlen(m->prefix) + strlen(m->suffix))
			continue;
		id = name + strlen(m->prefix);
		n = length - strlen(m->prefix) - strlen(m->suffix);
		for (at = n; m->last && at; at--) {
			if (!ends(id, at, m->last))
				continue;
			id += at;
			n -= at;
			break;
		}
		return origin_is_plain(id, n) && set_container(place, m->engine, id, n);
	}
	return false;
}

/* A pod's uid behind "pod": with dashes, with underscores for them (systemd has its own use for dashes), or of digits alone. */
static bool pod_uid(const char *text, size_t length, char *uid, size_t size)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	size_t i;

	if (length == POD_DIGITS && hex_digits(text, length) == length) {
		snprintf(uid, size, "%.*s", (int)length, text);
		return true;
	}
	if (length != sizeof(form) - 1)
		return false;
	for (i = 0; i < length; i++)
		if (form[i] == 'x' ? !hex_digits(text + i, 1) : text[i] != '-' && text[i] != '_')
			return false;
	for (i = 0; i < length; i++)
		uid[i] = form[i] == 'x' ? text[i] : '-';
	uid[length] = '\0';
	return true;
}

/*
 * kubelet's: podUID below .../kubepods, or kubepods[-QOS]-podUID.slice, in which the prefix is that of all slices above.
 *
 * Return: was it one?
 */
static bool add_pod(struct place *place, const char *name, size_t length, bool below_kubepods)
{
	static const char mark[] = "-pod", suffix[] = ".slice";
	const char *dash;

	if (below_kubepods && begins(name, length, "pod"))
		return pod_uid(name + 3, length - 3, place->pod, sizeof(place->pod));
	if (!ends(name, length, suffix) || !memmem(name, length, "kubepods", strlen("kubepods")))
		return false;
	length -= sizeof(suffix) - 1;
	dash = memmem(name, length, mark, sizeof(mark) - 1);
	if (!dash)
		return false;
	dash += sizeof(mark) - 1;
	return pod_uid(dash, length - (dash - name), place->pod, sizeof(place->pod));
}

/*
 * containerd with cgroups of kubelet's systemd form, and no systemd to make them: SLICE:PREFIX:ID is one directory.
 *
 * Return: was it one?
 */
static bool add_colons(struct place *place, const char *name, size_t length)
{
	const char *first = memchr(name, ':', length), *second;

	if (!first)
		return false;
	second = memchr(first + 1, ':', length - (first + 1 - name));
	if (!second || length - (second + 1 - name) != ID_DIGITS || hex_digits(second + 1, ID_DIGITS) != ID_DIGITS)
		return false;
	add_pod(place, name, first - name, false);
	return set_container(place, begins(first + 1, second - first - 1, "crio") ? "crio" :
				    begins(first + 1, second - first - 1, "docker") ? "docker" :
				    begins(first + 1, second - first - 1, "libpod") ? "podman" : "containerd", second + 1, ID_DIGITS);
}

/**
 * struct walk - what is known of a path above one of its names
 * @depth: names above
 * @name: the one above; its end is @length further
 * @length: of @name
 * @slurm: below what Slurm makes for its jobs
 * @own: below what our plugin makes for Slurm's
 * @kubepods: below what kubelet makes for its pods
 */
struct walk {
	unsigned int depth;
	const char *name;
	size_t length;
	bool slurm;
	bool own;
	bool kubepods;
};

/* Return: was it a container's? */
static bool add_container(struct place *place, const struct walk *above, const char *name, size_t length)
{
	size_t i, n;

	if (ends(name, length, ".scope"))
		length -= strlen(".scope");
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		n = strlen(forms[i].prefix);
		if (begins(name, length, forms[i].prefix) && length == n + ID_DIGITS && hex_digits(name + n, ID_DIGITS) == ID_DIGITS)
			return set_container(place, forms[i].engine, name + n, ID_DIGITS);
	}
	if (add_colons(place, name, length))
		return true;
	if (length != ID_DIGITS || hex_digits(name, length) != ID_DIGITS || !above->depth)
		return false;
	/* An id alone is somebody's who has the directory above. */
	if (is(above->name, above->length, "docker"))
		return set_container(place, "docker", name, length);
	/* kubelet's runtime, whichever it is; for a dozen releases that has been containerd. */
	return place->pod[0] && above->kubepods && set_container(place, "containerd", name, length);
}

/* A number behind a prefix. Return: was it one? */
static bool add_number_of(const char *name, size_t length, const char *prefix, char *value, size_t size)
{
	size_t i, n = strlen(prefix);

	if (!begins(name, length, prefix) || length == n || length - n >= size)
		return false;
	for (i = n; i < length; i++)
		if (!isdigit((unsigned char)name[i]))
			return false;
	snprintf(value, size, "%.*s", (int)(length - n), name + n);
	return true;
}

/* A step: a number, or a word for one of Slurm's own. */
static bool add_step(struct place *place, const char *name, size_t length)
{
	static const char prefix[] = "step_";
	static const char *const words[] = { "batch", "extern", "interactive" };
	size_t i, n = sizeof(prefix) - 1;

	if (!begins(name, length, prefix))
		return false;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (is(name + n, length - n, words[i])) {
			snprintf(place->slurm_step, sizeof(place->slurm_step), "%s", words[i]);
			return true;
		}
	}
	return add_number_of(name, length, prefix, place->slurm_step, sizeof(place->slurm_step));
}

/* A step's: job_N_step_M, or step_M in job_N, which our plugin makes where Slurm has no cgroups */
static void origin_add_own(struct place *place, const struct walk *above, const char *name, size_t length)
{
	const char *job = name, *step = memmem(name, length, "_step_", strlen("_step_"));
	struct place found = { 0 };
	size_t n = step ? step - name : 0;

	if (above->depth == 2) {
		job = above->name;
		n = above->length;
		step = name - 1;
	}
	if (step && add_number_of(job, n, "job_", found.slurm_job, sizeof(found.slurm_job)) &&
	    add_step(&found, step + 1, length - (step + 1 - name)))
		*place = found;
}

/* What Slurm 26.05 calls a job's directory: s and 13 digits of base 32. Return: was it one? */
static bool origin_add_sluid(struct place *place, const char *name, size_t length)
{
	size_t i;

	if (length != SLUID_LENGTH || *name != 's')
		return false;
	for (i = 1; i < length; i++)
		if (!isdigit((unsigned char)name[i]) && !isupper((unsigned char)name[i]))
			return false;
	snprintf(place->slurm_job, sizeof(place->slurm_job), "%.*s", (int)length, name);
	return true;
}

/* job_N or a SLUID, and step_X below it, in a tree that Slurm or its plugin made at the root: names anywhere else are a user's. */
static void add_slurm(struct place *place, struct walk *walk, const char *name, size_t length)
{
	/* /slurm or /slurm_NODE with version 1, /SLICE/[NODE_]slurmstepd.scope with version 2 */
	if (!walk->depth && (is(name, length, "slurm") || begins(name, length, "slurm_")))
		walk->slurm = true;
	else if (walk->depth == 1 && ends(walk->name, walk->length, ".slice") && !is(walk->name, walk->length, "user.slice") &&
		 (is(name, length, "slurmstepd.scope") || ends(name, length, "_slurmstepd.scope")))
		walk->slurm = true;
	else if (!walk->depth)
		walk->own = is(name, length, "kfd_gpreempt");
	else if (walk->own && walk->depth <= 2 && !place->slurm_job[0])
		origin_add_own(place, walk, name, length);
	if (!walk->slurm)
		return;
	if (!place->slurm_job[0])
		(void)(add_number_of(name, length, "job_", place->slurm_job, sizeof(place->slurm_job)) || origin_add_sluid(place, name, length));
	else if (!place->slurm_step[0])
		add_step(place, name, length);
}

/**
 * place_add_path() - what a path of a cgroup says
 * @place: what is empty is filled in
 * @path: below the root of its hierarchy
 */
void place_add_path(struct place *place, const char *path)
{
	size_t length, end = strlen(path);
	struct place found = { 0 };
	struct walk walk = { 0 };

	if (ends(path, end, DELETED))
		end -= strlen(DELETED);
	for (const char *name = path, *stop = path + end; name < stop; name += length) {
		const char *slash;

		name += *name == '/';
		slash = memchr(name, '/', stop - name);
		length = (slash ? slash : stop) - name;
		/* From a cgroup namespace, others are reached by way of its root. */
		if (!length || is(name, length, ".."))
			continue;
		add_slurm(&found, &walk, name, length);
		walk.kubepods |= is(name, length, "kubepods");
		if (!found.pod[0])
			add_pod(&found, name, length, walk.kubepods);
		if (add_container(&found, &walk, name, length) || origin_add_managed(&found, path, name, length))
			break;
		walk.name = name;
		walk.length = length;
		walk.depth++;
	}
	/* Of several hierarchies: container and pod belong together, and so do job and step. */
	if (!place->container[0] && !place->pod[0]) {
		memcpy(place->engine, found.engine, sizeof(place->engine));
		memcpy(place->container, found.container, sizeof(place->container));
		memcpy(place->pod, found.pod, sizeof(place->pod));
	}
	if (!place->slurm_job[0]) {
		memcpy(place->slurm_job, found.slurm_job, sizeof(place->slurm_job));
		memcpy(place->slurm_step, found.slurm_step, sizeof(place->slurm_step));
	}
}

/**
 * place_add_line() - what a line of /proc/PID/cgroup says
 * @line: NUMBER:CONTROLLERS:PATH, without its newline
 */
void place_add_line(struct place *place, const char *line)
{
	const char *colon = strchr(line, ':');

	colon = colon ? strchr(colon + 1, ':') : NULL;
	if (colon)
		place_add_path(place, colon + 1);
}

/** place_words() - a place in a word, with ids as short as engines print them; "-": none is known. Return: @buffer. */
const char *place_words(const struct place *place, char *buffer, size_t size)
{
	size_t n = 0;

	snprintf(buffer, size, "-");
	if (place->slurm_job[0])
		n = snprintf(buffer, size, "slurm:%s%s%s", place->slurm_job, place->slurm_step[0] ? "." : "", place->slurm_step);
	if (place->pod[0] && n < size)
		n += snprintf(buffer + n, size - n, "%spod:%.*s", n ? "," : "", SHORT_POD, place->pod);
	if (place->container[0] && n < size)
		snprintf(buffer + n, size - n, "%s%s:%.*s", n ? "," : "", place->engine,
			 hex_digits(place->container, ID_DIGITS) == ID_DIGITS ? SHORT_ID : SHORT_NAME, place->container);
	return buffer;
}

/** compare_places() - for sorting; 0: they are the same */
int compare_places(const struct place *a, const struct place *b)
{
	int r = strcmp(a->slurm_job, b->slurm_job);

	if (!r)
		r = strcmp(a->slurm_step, b->slurm_step);
	if (!r)
		r = strcmp(a->pod, b->pod);
	if (!r)
		r = strcmp(a->engine, b->engine);
	return r ? r : strcmp(a->container, b->container);
}

/**
 * place_number_job() - find the number of a Slurm job whose path has no more than its SLUID
 * @place: what is named by a SLUID gets its number
 * @pid: one of its processes
 *
 * That the process is in a step is what the path says. The number is what its environment says, which is its user's to write: it is for being read.
 */
void place_number_job(struct place *place, pid_t pid)
{
	char name[64], *line = NULL;
	struct place found = { 0 };
	size_t room = 0;
	FILE *file;

	if (place->slurm_job[0] != 's')
		return;
	snprintf(name, sizeof(name), "/proc/%d/environ", (int)pid);
	file = fopen(name, "re");
	while (file && !found.slurm_job[0] && getdelim(&line, &room, '\0', file) > 0)
		add_number_of(line, strlen(line), JOB_VARIABLE, found.slurm_job, sizeof(found.slurm_job));
	if (found.slurm_job[0])
		memcpy(place->slurm_job, found.slurm_job, sizeof(place->slurm_job));
	free(line);
	if (file)
		fclose(file);
}

/**
 * read_status() - users and pids of a process
 * @status: what /proc/PID/status says
 * @origin: out: @uid and @nspid; unchanged where the text does not have them
 */
void read_status(const char *status, struct origin *origin)
{
	const char *line, *end, *last;
	unsigned long real, effective;

	line = strstr(status, "\nUid:");
	if (line && sscanf(line, "\nUid: %lu %lu", &real, &effective) == 2)
		origin->uid = effective;
	/* From the namespace of the one who reads to the innermost one: one number where they are the same. Linux before 4.1 has none. */
	line = strstr(status, "\nNSpid:");
	if (!line)
		return;
	line += strlen("\nNSpid:");
	end = line + strcspn(line, "\n");
	for (last = end; last > line && isdigit((unsigned char)last[-1]); last--)
		;
	while (line < last && isspace((unsigned char)*line))
		line++;
	if (line < last && last < end)
		origin->nspid = strtol(last, NULL, 10);
}

/**
 * find_origin() - find out where a process comes from
 * @pid: in the caller's pid namespace; 0: there is none any more
 * @origin: out; what is not known is empty
 */
void find_origin(pid_t pid, struct origin *origin)
{
	char name[64], *line = NULL;
	ssize_t length;
	size_t room = 0;
	FILE *file;

	*origin = (struct origin){ .pid = pid, .uid = (uid_t)-1 };
	if (pid <= 0)
		return;
	snprintf(name, sizeof(name), "/proc/%d/status", (int)pid);
	file = fopen(name, "re");
	/* All of it: there is no NUL in it, and a process may have many groups. */
	if (file && getdelim(&line, &room, '\0', file) > 0)
		read_status(line, origin);
	if (file)
		fclose(file);
	snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
	file = fopen(name, "re");
	while (file && (length = getline(&line, &room, file)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		place_add_line(&origin->place, line);
	}
	free(line);
	if (file)
		fclose(file);
	place_number_job(&origin->place, pid);
}

/** user_of() - name of a user, or the number; "?": not known. Return: @buffer. */
const char *user_of(uid_t uid, char *buffer, size_t size)
{
	const struct passwd *user = uid == (uid_t)-1 ? NULL : getpwuid(uid);

	if (user)
		snprintf(buffer, size, "%s", user->pw_name);
	else if (uid == (uid_t)-1)
		snprintf(buffer, size, "?");
	else
		snprintf(buffer, size, "%lu", (unsigned long)uid);
	return buffer;
}

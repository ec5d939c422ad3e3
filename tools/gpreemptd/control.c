// SPDX-License-Identifier: MIT
/*
 * control.c - what gpreemptd answers
 *
 * A request is a JSON object on a line, through a Unix socket; the answer is one too, then the connection ends. Who asks is what the kernel
 * says of the socket's other end. root and the daemon's own user may do everything. Others register their own processes, at most at
 * normal priority and weight, and see these; what an administrator has said of a process they do not change.
 */
#include "gpreemptd.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define SCHEMA_VERSION	1

/* The C library of an EL8 or EL9 has no pidfd_open(), and the headers of some have no number for it. */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open	434
#endif

/**
 * struct caller - who asks
 * @uid: user
 * @pid: process, in our namespace
 * @admin: may do everything
 */
struct caller {
	uid_t uid;
	pid_t pid;
	bool admin;
};

static void add(json_object *o, const char *name, json_object *value)
{
	json_object_object_add(o, name, value);
}

/* json-c of an EL8 has no unsigned numbers of 64 bits. */
static json_object *number(uint64_t value)
{
	char digits[24];

	if (value <= INT64_MAX)
		return json_object_new_int64((int64_t)value);
	snprintf(digits, sizeof(digits), "%" PRIu64, value);
	return json_object_new_double_s((double)value, digits);
}

static json_object *answer(int status)
{
	json_object *o = json_object_new_object();

	add(o, "schema_version", json_object_new_int(SCHEMA_VERSION));
	add(o, "status", json_object_new_int(status));
	return o;
}

static json_object *refuse(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* @status: of gpreemptctl. */
static json_object *refuse(int status, const char *format, ...)
{
	json_object *o = answer(status);
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	add(o, "error", json_object_new_string(text));
	return o;
}

/* Text and numbers of a request; NULL: it is not there or something else. */
static const char *text_of(json_object *request, const char *name)
{
	json_object *value;

	if (!json_object_object_get_ex(request, name, &value) || !json_object_is_type(value, json_type_string))
		return NULL;
	return json_object_get_string(value);
}

/* True: it is absent, or a number in bounds, which @value is then. */
static bool number_of(json_object *request, const char *name, int64_t least, int64_t most, int64_t *value)
{
	json_object *member;
	int64_t number;

	if (!json_object_object_get_ex(request, name, &member))
		return true;
	if (!json_object_is_type(member, json_type_int))
		return false;
	number = json_object_get_int64(member);
	if (number < least || number > most)
		return false;
	*value = number;
	return true;
}

/* ---- status ---- */

static const char *state_of(const struct client *c)
{
	if (c->relief)
		return "relief";
	if (c->held)
		return "held";
	if (c->seen.fixed || c->error)
		return "fixed";
	return c->wants ? "active" : c->seen.off ? "elsewhere" : "idle";
}

static json_object *json_of_client(const struct client *c)
{
	json_object *o = json_object_new_object();

	add(o, "gpu_id", json_object_new_int64(c->gpu_id));
	add(o, "state", json_object_new_string(state_of(c)));
	add(o, "queues", json_object_new_int64(c->seen.queues));
	add(o, "holds", json_object_new_int64(c->holds));
	add(o, "ran_us", json_object_new_int64(c->ran_ns / NS_PER_US));
	return o;
}

static json_object *json_of_process(const struct engine *e, const struct process *process)
{
	json_object *o = json_object_new_object(), *nodes = json_object_new_array();
	size_t i, k;

	add(o, "pid", json_object_new_int(process->pid));
	add(o, "uid", json_object_new_int64(process->uid));
	add(o, "priority", json_object_new_int(process->priority));
	add(o, "weight", json_object_new_int64(process->weight));
	add(o, "job", number(process->job));
	for (i = 0; i < e->nr_nodes; i++)
		for (k = 0; k < e->nodes[i]->nr_clients; k++)
			if (e->nodes[i]->clients[k]->process == process)
				json_object_array_add(nodes, json_of_client(e->nodes[i]->clients[k]));
	add(o, "nodes", nodes);
	return o;
}

static json_object *do_status(struct engine *e, const struct caller *caller, json_object *request)
{
	json_object *o = answer(EXIT_DONE), *values = json_object_new_object(), *processes = json_object_new_array();
	size_t i;

	(void)request;
	add(o, "version", json_object_new_string(VERSION));
	add(o, "pid", json_object_new_int(getpid()));
	add(o, "policy", json_object_new_string(sched_policy_name(e->policy)));
	for (i = 0; i < NR_SETTINGS; i++)
		add(values, settings[i].name, json_object_new_int64(e->values[i]));
	add(o, "settings", values);
	add(o, "looks", json_object_new_int64(e->looks));
	add(o, "failures", json_object_new_int64(e->failures));
	for (i = 0; i < e->nr_processes; i++)
		if (caller->admin || caller->uid == e->processes[i]->uid)
			json_object_array_add(processes, json_of_process(e, e->processes[i]));
	add(o, "processes", processes);
	return o;
}

/* ---- processes ---- */

static bool ended(int pidfd)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };

	return poll(&end, 1, 0) > 0;
}

/* Whose a process is: its effective user, as the kernel decides who may hold it. Negative errno. */
static int uid_of(pid_t pid, uid_t *uid)
{
	char path[64], line[256];
	unsigned int effective;
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "Uid: %*u %u", &effective) == 1;
	fclose(f);
	if (!found)
		return -ESRCH;
	*uid = effective;
	return 0;
}

/* In another pid namespace the same number is another process. */
static bool sees_our_pids(pid_t pid)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return !stat("/proc/self/ns/pid", &ours) && !stat(path, &theirs) && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/* The process that a request is about, or why not in @refusal. @found: in any case a process of the caller's. */
static bool get_process(const struct caller *caller, json_object *request, struct process *found, json_object **refusal)
{
	int64_t pid = 0;
	int error;

	if (!number_of(request, "pid", 1, INT32_MAX, &pid) || !pid) {
		*refusal = refuse(EXIT_USAGE, "which process? pid is a number from 1 to %d", INT32_MAX);
		return false;
	}
	if (!sees_our_pids(caller->pid)) {
		*refusal = refuse(EXIT_DENIED, "pid %" PRId64 ": you are in another pid namespace than gpreemptd, where this is another process", pid);
		return false;
	}
	found->pid = (pid_t)pid;
	found->pidfd = syscall(SYS_pidfd_open, found->pid, 0);
	if (found->pidfd < 0) {
		/* EINVAL: a thread that is no leader. */
		*refusal = errno == ESRCH || errno == EINVAL ? refuse(EXIT_FAILED, "pid %" PRId64 ": no such process", pid) :
			   refuse(EXIT_FAILED, "pid %" PRId64 ": %s", pid, strerror(errno));
		return false;
	}
	/* Whose it is counts if it is still the same. */
	error = uid_of(found->pid, &found->uid);
	if (error || ended(found->pidfd))
		*refusal = refuse(EXIT_FAILED, "pid %" PRId64 ": no such process", pid);
	else if (!caller->admin && found->uid != caller->uid)
		*refusal = refuse(EXIT_DENIED, "pid %" PRId64 ": another user's", pid);
	else
		return true;
	close(found->pidfd);
	return false;
}

static json_object *bad_number(json_object *request, const char *name, int64_t least, int64_t most, const struct process *old)
{
	json_object *value = NULL;
	char kept[64] = "";

	json_object_object_get_ex(request, name, &value);
	if (old)
		snprintf(kept, sizeof(kept), "; kept %d", !strcmp(name, "weight") ? (int)old->weight : old->priority);
	return refuse(EXIT_FAILED, "%s=%.64s is not a number from %" PRId64 " to %" PRId64 "%s", name, json_object_to_json_string(value), least, most,
		      kept);
}

static json_object *change(struct engine *e, const struct caller *caller, json_object *request, struct process *new, struct process *old)
{
	int64_t priority = old ? old->priority : GPREEMPT_PRIORITY_NORMAL, weight = old ? old->weight : SCHED_WEIGHT_NORMAL;
	int error;

	if (old && old->privileged && !caller->admin)
		return refuse(EXIT_DENIED, "pid %d: an administrator has registered it", new->pid);
	if (!number_of(request, "priority", GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX, &priority))
		return bad_number(request, "priority", GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX, old);
	if (!number_of(request, "weight", 1, SCHED_WEIGHT_MAX, &weight))
		return bad_number(request, "weight", 1, SCHED_WEIGHT_MAX, old);
	if (!caller->admin && priority > GPREEMPT_PRIORITY_NORMAL)
		return refuse(EXIT_DENIED, "pid %d: priority=%" PRId64 " is above %d, which takes root", new->pid, priority, GPREEMPT_PRIORITY_NORMAL);
	if (!caller->admin && weight > SCHED_WEIGHT_NORMAL)
		return refuse(EXIT_DENIED, "pid %d: weight=%" PRId64 " is above %d, which takes root", new->pid, weight, SCHED_WEIGHT_NORMAL);
	new->priority = (int)priority;
	new->weight = (unsigned int)weight;
	new->privileged = caller->admin;
	if (old) {
		old->priority = new->priority;
		old->weight = new->weight;
		old->privileged = new->privileged;
		return answer(EXIT_DONE);
	}
	error = engine_add(e, new);
	switch (error) {
	case 0:
		new->pidfd = -1;
		return answer(EXIT_DONE);
	case -EUSERS:
		return refuse(EXIT_FAILED, "pid %d: %d processes are registered, and that is as many as there may be", new->pid, MAX_PROCESSES);
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
		return refuse(EXIT_NO_MODULE, "no /dev/kfd_gpreempt: amdgpu is not loaded, or without kfd_gpreempt; try: gpreemptctl doctor");
	}
	return refuse(EXIT_FAILED, "pid %d: %s", new->pid, strerror(-error));
}

/*
 * A process that has ended, and whose pid another one has now, is forgotten before anything else.
 */
static struct process *registered(struct engine *e, pid_t pid)
{
	struct process *process = engine_find(e, pid);

	if (process && ended(process->pidfd)) {
		engine_remove(e, process);
		process = NULL;
	}
	return process;
}

static json_object *do_add(struct engine *e, const struct caller *caller, json_object *request)
{
	struct process new = { .pidfd = -1 };
	json_object *reply = NULL;

	if (!get_process(caller, request, &new, &reply))
		return reply;
	reply = change(e, caller, request, &new, registered(e, new.pid));
	if (new.pidfd >= 0)
		close(new.pidfd);
	return reply;
}

static json_object *do_remove(struct engine *e, const struct caller *caller, json_object *request)
{
	struct process named = { .pidfd = -1 }, *process;
	json_object *reply = NULL;

	if (!get_process(caller, request, &named, &reply))
		return reply;
	close(named.pidfd);
	process = registered(e, named.pid);
	if (!process)
		return refuse(EXIT_FAILED, "pid %d: not registered", named.pid);
	if (process->privileged && !caller->admin)
		return refuse(EXIT_DENIED, "pid %d: an administrator has registered it", named.pid);
	engine_remove(e, process);
	return answer(EXIT_DONE);
}

/* ---- policy and settings ---- */

static json_object *do_policy(struct engine *e, const struct caller *caller, json_object *request)
{
	const char *name = text_of(request, "name"), *kept = sched_policy_name(e->policy);
	int policy;

	if (!name)
		return refuse(EXIT_USAGE, "which policy? hpf fifo rr fair; kept %s", kept);
	policy = sched_policy_find(name);
	if (policy < 0)
		return refuse(EXIT_FAILED, "%s %.64s (hpf fifo rr fair); kept %s",
			      sched_policy_is_xscheds(name) ? "gpreemptd has not XSched's policy" : "there is no policy", name, kept);
	if (!caller->admin)
		return refuse(EXIT_DENIED, "policy=%s: only root chooses the policy; kept %s", sched_policy_name(policy), kept);
	e->policy = (enum sched_policy)policy;
	return answer(EXIT_DONE);
}

static json_object *do_set(struct engine *e, const struct caller *caller, json_object *request)
{
	const char *name = text_of(request, "name"), *value = text_of(request, "value");
	int setting = name ? setting_find(name) : -1;
	uint64_t number;

	if (setting < 0)
		return refuse(EXIT_USAGE, "there is no setting %.64s (slice_us poll_us interval_ms timeout_ms)", name ? name : "");
	if (!value || !setting_parse((enum setting)setting, value, &number))
		return refuse(EXIT_FAILED, "%s=%.64s is not a number from %" PRIu64 " to %" PRIu64 "; kept %" PRIu64, name, value ? value : "",
			      settings[setting].least, settings[setting].most, e->values[setting]);
	if (!caller->admin)
		return refuse(EXIT_DENIED, "%s=%" PRIu64 ": only root changes settings; kept %" PRIu64, name, number, e->values[setting]);
	e->values[setting] = number;
	return answer(EXIT_DONE);
}

static const struct {
	const char *name;
	json_object *(*run)(struct engine *e, const struct caller *caller, json_object *request);
} commands[] = {
	{ "status", do_status }, { "add", do_add }, { "remove", do_remove }, { "policy", do_policy }, { "set", do_set },
};

/**
 * control_answer() - do what is asked for
 * @e: the engine
 * @uid: who asks
 * @pid: who asks, in our pid namespace
 * @request: JSON
 *
 * Return: what to answer; the caller's
 */
json_object *control_answer(struct engine *e, uid_t uid, pid_t pid, const char *request)
{
	struct caller caller = { .uid = uid, .pid = pid, .admin = !uid || uid == geteuid() };
	json_object *object = json_tokener_parse(request), *reply = NULL;
	const char *name;
	size_t i;

	if (!object || !json_object_is_type(object, json_type_object)) {
		reply = refuse(EXIT_USAGE, "the request is no JSON object");
		goto out;
	}
	name = text_of(object, "command");
	for (i = 0; name && !reply && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(name, commands[i].name))
			reply = commands[i].run(e, &caller, object);
	if (!reply)
		reply = refuse(EXIT_USAGE, "there is no command %.64s (status add remove policy set)", name ? name : "");
out:
	json_object_put(object);
	return reply;
}

/* ---- the socket ---- */

static void hang_up(struct connection *c)
{
	close(c->fd);
	c->fd = -1;
}

/* Another daemon listens there: the socket is not ours to replace. */
static bool in_use(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool used = fd >= 0 && !connect(fd, (const struct sockaddr *)address, sizeof(*address));

	if (fd >= 0)
		close(fd);
	return used;
}

/**
 * control_listen() - make the socket
 * @path: where; what an earlier gpreemptd left there goes
 *
 * Return: the listening descriptor, or a negative errno
 */
int control_listen(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, error;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	if (in_use(&address))
		return -EADDRINUSE;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (unlink(path) && errno != ENOENT)
		goto failed;
	/* Every user may ask; rights are checked for each request. */
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || chmod(path, 0666) || listen(fd, MAX_CONNECTIONS))
		goto failed;
	return fd;
failed:
	error = -errno;
	close(fd);
	return error;
}

/**
 * control_accept() - take a new connection
 * @listener: from control_listen()
 * @connections: MAX_CONNECTIONS, the oldest first; if all are in use, the oldest ends: a silent
 *	connection keeps no other out
 */
void control_accept(int listener, struct connection *connections)
{
	struct connection *c = NULL;
	struct ucred who;
	socklen_t size = sizeof(who);
	int i, fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size)) {
		close(fd);
		return;
	}
	for (i = 0; i < MAX_CONNECTIONS && !c; i++)
		if (connections[i].fd < 0)
			c = &connections[i];
	if (!c) {
		hang_up(&connections[0]);
		memmove(&connections[0], &connections[1], (MAX_CONNECTIONS - 1) * sizeof(connections[0]));
		c = &connections[MAX_CONNECTIONS - 1];
	}
	*c = (struct connection){ .fd = fd, .uid = who.uid, .pid = who.pid };
}

static void reply_to(struct connection *c, json_object *reply)
{
	const char *text = json_object_to_json_string_ext(reply, JSON_C_TO_STRING_PLAIN);
	struct iovec parts[2] = { { (char *)text, strlen(text) }, { "\n", 1 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	/* A socket's buffer has room for all of it, unless its owner has made that small: his loss. */
	if (sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		say("pid %d: answer: %s", c->pid, strerror(errno));
	json_object_put(reply);
}

/**
 * control_read() - take in what has come, and answer if it is a whole request
 * @e: the engine
 * @c: whose
 *
 * Return: something may have changed: look
 */
bool control_read(struct engine *e, struct connection *c)
{
	ssize_t got = recv(c->fd, c->text + c->length, sizeof(c->text) - 1 - c->length, MSG_DONTWAIT);
	char *end;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got <= 0) {
		hang_up(c);
		return false;
	}
	c->length += (size_t)got;
	c->text[c->length] = '\0';
	end = memchr(c->text, '\n', c->length);
	if (!end && c->length < sizeof(c->text) - 1)
		return false;
	if (end) {
		*end = '\0';
		reply_to(c, control_answer(e, c->uid, c->pid, c->text));
	} else {
		reply_to(c, refuse(EXIT_USAGE, "the request is longer than %d bytes", MAX_REQUEST - 1));
	}
	hang_up(c);
	return end;
}

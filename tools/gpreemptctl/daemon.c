// SPDX-License-Identifier: MIT
/* daemon.c - gpreemptctl daemon: asks gpreemptd through its socket */
#include "gpreemptctl.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET		"/run/gpreemptd/socket"
#define MAX_ANSWER	(1 << 20)

/* Return: descriptor, or a negative errno. */
static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, error;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static int send_line(int fd, const char *text)
{
	struct iovec parts[2] = { { (char *)text, strlen(text) }, { "\n", 1 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* All until the other side hangs up. Return: the caller's; NULL with errno. */
static char *receive_all(int fd)
{
	char *text = malloc(MAX_ANSWER + 1);
	size_t length = 0;
	ssize_t got = 0;

	while (text && length < MAX_ANSWER && (got = recv(fd, text + length, MAX_ANSWER - length, 0)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			free(text);
			return NULL;
		}
		length += (size_t)got;
	}
	if (text)
		text[length] = '\0';
	return text;
}

/* @request: freed. @answer: out: the caller's, unless a status is returned. Return: 0, or the exit status, said. */
static int ask(const struct options *o, json_object *request, json_object **answer)
{
	const char *path = o->socket ? o->socket : SOCKET;
	json_object *member = NULL;
	char *text = NULL;
	int error, status, fd = connect_to(path);

	error = fd < 0 ? fd : send_line(fd, json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN));
	json_object_put(request);
	if (fd < 0)
		return error == -ENOENT || error == -ECONNREFUSED ? fail(EXIT_FAILED, "gpreemptd does not run: no process listens at %s", path) :
		       fail_system(error, "%s", path);
	if (!error) {
		text = receive_all(fd);
		error = text ? 0 : -errno;
	}
	close(fd);
	*answer = text ? json_tokener_parse(text) : NULL;
	free(text);
	if (error)
		return fail_system(error, "%s", path);
	if (!json_object_object_get_ex(*answer, "status", &member)) {
		json_object_put(*answer);
		return fail(EXIT_FAILED, "%s: the process that listens there is not gpreemptd", path);
	}
	status = json_object_get_int(member);
	if (!status)
		return 0;
	if (json_object_object_get_ex(*answer, "error", &member))
		fail(0, "%s", json_object_get_string(member));
	json_object_put(*answer);
	return status;
}

static json_object *new_request(const char *command)
{
	json_object *request = json_object_new_object();

	add_text(request, "command", command);
	return request;
}

static int ask_and_forget(const struct options *o, json_object *request)
{
	json_object *answer;
	int status = ask(o, request, &answer);

	if (!status)
		json_object_put(answer);
	return status;
}

static int64_t number_in(json_object *o, const char *name)
{
	json_object *value;

	return json_object_object_get_ex(o, name, &value) ? json_object_get_int64(value) : 0;
}

static const char *text_in(json_object *o, const char *name)
{
	json_object *value;

	return json_object_object_get_ex(o, name, &value) ? json_object_get_string(value) : "?";
}

static void print_process(json_object *process)
{
	char command[32];
	json_object *nodes = NULL;
	size_t i, nr;
	pid_t pid = (pid_t)number_in(process, "pid");

	json_object_object_get_ex(process, "nodes", &nodes);
	nr = nodes ? json_object_array_length(nodes) : 0;
	for (i = 0; i < (nr ? nr : 1); i++) {
		json_object *node = nr ? json_object_array_get_idx(nodes, i) : NULL;

		printf("%7d %-15.15s %5" PRId64 " %6" PRId64 " ", pid, command_of(pid, command, sizeof(command)), number_in(process, "priority"),
		       number_in(process, "weight"));
		if (node)
			printf("%7" PRId64 " %-9s %7" PRId64 " %9" PRId64 "\n", number_in(node, "gpu_id"), text_in(node, "state"),
			       number_in(node, "holds"), number_in(node, "ran_us") / 1000);
		else
			printf("%7s %-9s %7s %9s\n", "-", "no queue", "-", "-");
	}
}

static int do_status(const struct options *o)
{
	json_object *answer, *list;
	size_t i;
	int status;

	status = ask(o, new_request("status"), &answer);
	if (status)
		return status;
	if (o->json) {
		print_json(answer);
		return EXIT_DONE;
	}
	printf("policy %s", text_in(answer, "policy"));
	if (json_object_object_get_ex(answer, "settings", &list)) {
		json_object_object_foreach(list, name, value)
			printf("  %s=%" PRId64, name, json_object_get_int64(value));
	}
	printf("\n%7s %-15s %5s %6s %7s %-9s %7s %9s\n", "PID", "COMMAND", "PRIO", "WEIGHT", "GPU", "STATE", "HOLDS", "RAN_MS");
	if (json_object_object_get_ex(answer, "processes", &list))
		for (i = 0; i < json_object_array_length(list); i++)
			print_process(json_object_array_get_idx(list, i));
	json_object_put(answer);
	return EXIT_DONE;
}

static int do_policy(const struct options *o)
{
	json_object *request, *answer;
	int status;

	if (o->nr_args < 2) {
		status = ask(o, new_request("status"), &answer);
		if (status)
			return status;
		puts(text_in(answer, "policy"));
		json_object_put(answer);
		return EXIT_DONE;
	}
	request = new_request("policy");
	add_text(request, "name", o->args[1]);
	return ask_and_forget(o, request);
}

static int do_tune(const struct options *o)
{
	json_object *request;
	int i, status;

	for (i = 1; i < o->nr_args; i++)
		if (!strchr(o->args[i], '='))
			return fail(EXIT_USAGE, "daemon tune NAME=VALUE..., not %s; nothing changed", o->args[i]);
	for (i = 1; i < o->nr_args; i++) {
		char *equals = strchr(o->args[i], '=');

		*equals = '\0';
		request = new_request("set");
		add_text(request, "name", o->args[i]);
		add_text(request, "value", equals + 1);
		status = ask_and_forget(o, request);
		if (status)
			return status;
	}
	return i > 1 ? EXIT_DONE : fail(EXIT_USAGE, "daemon tune NAME=VALUE...: slice_us, poll_us, interval_ms or timeout_ms");
}

static int do_add(const struct options *o)
{
	json_object *request = new_request("add");
	unsigned long long weight;
	int i, priority;

	add_signed(request, "pid", o->pid);
	for (i = 1; i < o->nr_args; i++) {
		if (!strncmp(o->args[i], "weight=", 7) && parse_number(o->args[i] + 7, INT_MAX, &weight)) {
			add_number(request, "weight", weight);
		} else if (parse_priority(o->args[i], &priority)) {
			add_signed(request, "priority", priority);
		} else {
			json_object_put(request);
			return fail(EXIT_USAGE, "%s is neither a priority (%d..%d) nor a class (latency, normal, batch) nor weight=N; nothing changed",
				    o->args[i], GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX);
		}
	}
	return ask_and_forget(o, request);
}

static int do_remove(const struct options *o)
{
	json_object *request = new_request("remove");

	add_signed(request, "pid", o->pid);
	return ask_and_forget(o, request);
}

/**
 * struct request - what can be asked
 * @name: its word
 * @run: asks it
 * @most: words that it takes at most, with its own
 * @pid: it is about a process
 * @json: it prints JSON
 */
static const struct request {
	const char *name;
	int (*run)(const struct options *o);
	int most;
	bool pid;
	bool json;
} requests[] = {
	{ "status", do_status, 1, false, true },
	{ "policy", do_policy, 2, false, false },
	{ "tune", do_tune, INT_MAX, false, false },
	{ "add", do_add, 3, true, false },
	{ "remove", do_remove, 1, true, false },
};

int cmd_daemon(const struct options *o)
{
	const struct request *request = NULL;
	size_t i;

	for (i = 0; o->nr_args && i < sizeof(requests) / sizeof(requests[0]); i++)
		if (!strcmp(o->args[0], requests[i].name))
			request = &requests[i];
	if (!request)
		return fail(EXIT_USAGE, "daemon %s: status, policy, tune, add or remove", o->nr_args ? o->args[0] : "what?");
	if (o->nr_args > request->most)
		return fail(EXIT_USAGE, "daemon %s takes no word %s", request->name, o->args[request->most]);
	if (request->pid != !!(o->given & GIVEN_PID))
		return fail(EXIT_USAGE, request->pid ? "daemon %s: which one? -p PID" : "daemon %s does not take --pid", request->name);
	if (o->json && !request->json)
		return fail(EXIT_USAGE, "daemon %s does not take --json", request->name);
	return request->run(o);
}

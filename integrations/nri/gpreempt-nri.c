// SPDX-License-Identifier: MIT
/*
 * gpreempt-nri.c - NRI plugin: has containerd or CRI-O call the OCI hook for each container
 *
 * The runtime asks before it creates a container. The answer is one more createRuntime hook,
 * gpreempt-oci, and the annotations kfd-gpreempt/... of the pod and the container, for the hook to
 * find them. Those of the container outrank the pod's. The hook alone knows what an annotation
 * means, and what the hook refuses is an error of the runtime's.
 *
 * Usage: gpreempt-nri [--socket SOCKET] [--config FILE]. A runtime that has found it in its folder
 * of plugins starts it with a connection, NRI_PLUGIN_SOCKET. Otherwise it connects to SOCKET
 * (default /run/nri/nri.sock). It ends with the connection.
 *
 * Both directions have calls of their own on one connection. A frame has a header of two words,
 * channel and length, and is a part of the channel's stream. In a stream each message of ttrpc has
 * a header of ten bytes: length, number of the call, type, flags. All words are big-endian.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "nri.pb-c.h"

#define ME		"gpreempt-nri: "
#define ANNOTATIONS	"kfd-gpreempt/"
#define SOCKET		"/run/nri/nri.sock"
#define SERVICE		"nri.pkg.api.v1alpha1.Runtime"

enum {
	FRAME_HEADER	= 8,
	CALL_HEADER	= 10,
	CALL_MAX	= 4 << 20,	/* ttrpc's own bound */
	FRAME_MAX	= 4096,		/* what every runtime reads at once */
	TYPE_REQUEST	= 1,
	TYPE_RESPONSE	= 2,
	UNIMPLEMENTED	= 12,
	FAILED		= 9,
	EVENT_CREATE	= 1 << (4 - 1),
};

/* Channels: calls of the runtime to this plugin, and the other way round */
enum { TO_PLUGIN = 1, TO_RUNTIME, CHANNELS };

/**
 * struct stream - what has come on a channel and is no whole message yet
 * @bytes: that
 * @length: of it, in bytes
 */
struct stream {
	uint8_t *bytes;
	size_t length;
};

static char *hook_argv[] = { HOOK, "--config", NULL };
static size_t hook_argc = 1;

/* Without it the runtime goes on, and containers start without a place. */
__attribute__((noreturn, format(printf, 1, 2)))
static void nri_die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs(ME, stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(EXIT_FAILURE);
}

static void *nri_alloc(void *old, size_t size)
{
	void *memory = realloc(old, size);

	if (!memory)
		nri_die("no memory");
	return memory;
}

/* Return: false: the connection has ended. */
static bool nri_read(int fd, void *to, size_t length)
{
	ssize_t got;

	for (; length; to = (uint8_t *)to + got, length -= got) {
		got = recv(fd, to, length, MSG_WAITALL);
		if (got < 0 && errno == EINTR)
			got = 0;
		else if (got <= 0)
			return false;
	}
	return true;
}

static void nri_write(int fd, const uint8_t *from, size_t length)
{
	ssize_t sent;

	for (; length; from += sent, length -= sent) {
		sent = send(fd, from, length, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			sent = 0;
		else if (sent <= 0)
			nri_die("the runtime does not listen: %s", strerror(errno));
	}
}

static uint32_t nri_word(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return ntohl(word);
}

static void nri_put_word(uint8_t *at, uint32_t word)
{
	word = htonl(word);
	memcpy(at, &word, sizeof(word));
}

static void nri_send(int fd, int channel, uint32_t call, uint8_t type,
		     const ProtobufCMessage *message)
{
	size_t at, part, length = protobuf_c_message_get_packed_size(message) + CALL_HEADER;
	uint8_t header[FRAME_HEADER], *bytes = nri_alloc(NULL, length);

	nri_put_word(bytes, length - CALL_HEADER);
	nri_put_word(bytes + 4, call);
	bytes[8] = type;
	bytes[9] = 0;
	protobuf_c_message_pack(message, bytes + CALL_HEADER);
	for (at = 0; at < length; at += part) {
		part = length - at < FRAME_MAX ? length - at : FRAME_MAX;
		nri_put_word(header, channel);
		nri_put_word(header + 4, part);
		nri_write(fd, header, sizeof(header));
		nri_write(fd, bytes + at, part);
	}
	free(bytes);
}

/* @payload: NULL: @error says why there is none, of this @code */
static void nri_answer(int fd, uint32_t call, const ProtobufCMessage *payload, int code,
		       char *error)
{
	Nri__Response response = NRI__RESPONSE__INIT;
	Nri__Status status = NRI__STATUS__INIT;

	if (payload) {
		response.payload.len = protobuf_c_message_get_packed_size(payload);
		response.payload.data = nri_alloc(NULL, response.payload.len + 1);
		protobuf_c_message_pack(payload, response.payload.data);
	} else {
		status.code = code;
		status.message = error;
		response.status = &status;
	}
	nri_send(fd, TO_PLUGIN, call, TYPE_RESPONSE, &response.base);
	free(response.payload.data);
}

static void nri_register(int fd)
{
	Nri__RegisterPluginRequest plugin = NRI__REGISTER_PLUGIN_REQUEST__INIT;
	Nri__Request request = NRI__REQUEST__INIT;
	const char *index = getenv("NRI_PLUGIN_IDX"), *name = getenv("NRI_PLUGIN_NAME");
	uint8_t payload[256];

	plugin.plugin_name = (char *)(name ? name : "gpreempt");
	plugin.plugin_idx = (char *)(index ? index : "50");
	if (nri__register_plugin_request__get_packed_size(&plugin) > sizeof(payload))
		nri_die("NRI_PLUGIN_NAME and NRI_PLUGIN_IDX are longer than %zu bytes",
			sizeof(payload));
	request.service = SERVICE;
	request.method = "RegisterPlugin";
	request.payload.data = payload;
	request.payload.len = nri__register_plugin_request__pack(&plugin, payload);
	nri_send(fd, TO_RUNTIME, 1, TYPE_REQUEST, &request.base);
}

/* Annotations of ours go to @all, which has room for them; one that is there already stays. */
static size_t nri_collect(Nri__Annotation **all, size_t nr, const Nri__Annotated *from)
{
	size_t i, k;

	for (i = 0; from && i < from->n_annotations; i++) {
		if (strncmp(from->annotations[i]->key, ANNOTATIONS, strlen(ANNOTATIONS)))
			continue;
		for (k = 0; k < nr && strcmp(all[k]->key, from->annotations[i]->key); k++)
			;
		if (k == nr)
			all[nr++] = from->annotations[i];
	}
	return nr;
}

static void nri_create_container(int fd, uint32_t call, const ProtobufCBinaryData *payload)
{
	Nri__CreateContainerResponse response = NRI__CREATE_CONTAINER_RESPONSE__INIT;
	Nri__Adjustment adjust = NRI__ADJUSTMENT__INIT;
	Nri__Hooks hooks = NRI__HOOKS__INIT;
	Nri__Hook hook = NRI__HOOK__INIT, *one = &hook;
	Nri__CreateContainerRequest *request;
	size_t room = 1;

	request = nri__create_container_request__unpack(NULL, payload->len, payload->data);
	if (!request)
		nri_die("CreateContainer: the request is none");
	room += request->pod ? request->pod->n_annotations : 0;
	room += request->container ? request->container->n_annotations : 0;
	adjust.annotations = nri_alloc(NULL, room * sizeof(*adjust.annotations));
	adjust.n_annotations = nri_collect(adjust.annotations, 0, request->container);
	adjust.n_annotations = nri_collect(adjust.annotations, adjust.n_annotations, request->pod);
	hook.path = hook_argv[0];
	hook.args = hook_argv;
	hook.n_args = hook_argc;
	hooks.create_runtime = &one;
	hooks.n_create_runtime = 1;
	adjust.hooks = &hooks;
	/* A hook that cannot be called would keep any container from starting. */
	if (!access(hook.path, X_OK))
		response.adjust = &adjust;
	else
		fprintf(stderr, ME "%s: %m\n", hook.path);
	if (response.adjust || !adjust.n_annotations)
		nri_answer(fd, call, &response.base, 0, NULL);
	else
		nri_answer(fd, call, NULL, FAILED, ME "annotations " ANNOTATIONS
			   " cannot be followed: " HOOK " cannot be called");
	free(adjust.annotations);
	nri__create_container_request__free_unpacked(request, NULL);
}

static void nri_synchronize(int fd, uint32_t call, const ProtobufCBinaryData *payload)
{
	Nri__Synchronize *part = nri__synchronize__unpack(NULL, payload->len, payload->data);
	Nri__SynchronizeResponse response = NRI__SYNCHRONIZE_RESPONSE__INIT;

	response.more = part && part->more;
	nri_answer(fd, call, &response.base, 0, NULL);
	if (part)
		nri__synchronize__free_unpacked(part, NULL);
}

static void nri_request(int fd, uint32_t call, const uint8_t *bytes, size_t length)
{
	Nri__ConfigureResponse configured = NRI__CONFIGURE_RESPONSE__INIT;
	Nri__Status nothing = NRI__STATUS__INIT;
	Nri__Request *request = nri__request__unpack(NULL, length, bytes);

	if (!request)
		nri_die("what the runtime asks is no request");
	configured.events = EVENT_CREATE;
	if (!strcmp(request->method, "CreateContainer"))
		nri_create_container(fd, call, &request->payload);
	else if (!strcmp(request->method, "Configure"))
		nri_answer(fd, call, &configured.base, 0, NULL);
	else if (!strcmp(request->method, "Synchronize"))
		nri_synchronize(fd, call, &request->payload);
	else if (!strcmp(request->method, "Shutdown"))
		nri_answer(fd, call, &nothing.base, 0, NULL);
	else
		nri_answer(fd, call, NULL, UNIMPLEMENTED, ME "this was not subscribed to");
	nri__request__free_unpacked(request, NULL);
}

/* The only call to the runtime is the registration. */
static void nri_response(const uint8_t *bytes, size_t length)
{
	Nri__Response *response = nri__response__unpack(NULL, length, bytes);

	if (!response)
		nri_die("what the runtime answers is no response");
	if (response->status && response->status->code)
		nri_die("the runtime refuses the plugin: %s", response->status->message);
	nri__response__free_unpacked(response, NULL);
}

/* All whole messages that have come on a channel */
static void nri_messages(int fd, int channel, struct stream *stream)
{
	size_t length, at = 0;
	uint32_t call;
	uint8_t type;

	while (stream->length - at >= CALL_HEADER) {
		length = nri_word(stream->bytes + at);
		if (length > CALL_MAX)
			nri_die("a message of %zu bytes; %d is the most", length, CALL_MAX);
		if (stream->length - at - CALL_HEADER < length)
			break;
		call = nri_word(stream->bytes + at + 4);
		type = stream->bytes[at + 8];
		at += CALL_HEADER;
		if (channel == TO_PLUGIN && type == TYPE_REQUEST)
			nri_request(fd, call, stream->bytes + at, length);
		else if (channel == TO_RUNTIME && type == TYPE_RESPONSE)
			nri_response(stream->bytes + at, length);
		at += length;
	}
	stream->length -= at;
	memmove(stream->bytes, stream->bytes + at, stream->length);
}

/* Until the connection ends */
static void nri_serve(int fd)
{
	struct stream streams[CHANNELS] = {};
	uint8_t header[FRAME_HEADER];
	struct stream *stream;
	uint32_t channel, length;

	while (nri_read(fd, header, sizeof(header))) {
		channel = nri_word(header);
		length = nri_word(header + 4);
		if (length > CALL_MAX + CALL_HEADER)
			nri_die("a frame of %u bytes; %d is the most", length,
				CALL_MAX + CALL_HEADER);
		stream = &streams[channel < CHANNELS ? channel : 0];
		stream->bytes = nri_alloc(stream->bytes, stream->length + length + 1);
		if (!nri_read(fd, stream->bytes + stream->length, length))
			break;
		/* Channel 0 and those that are not known have no messages. */
		if (stream == streams)
			continue;
		stream->length += length;
		nri_messages(fd, channel, stream);
	}
	for (stream = streams; stream < streams + CHANNELS; stream++)
		free(stream->bytes);
}

static int nri_connect(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(address.sun_path))
		nri_die("%s: a socket's path has %zu bytes at most", path,
			sizeof(address.sun_path) - 1);
	strcpy(address.sun_path, path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		nri_die("%s: %s", path, strerror(errno));
	return fd;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "socket", required_argument, NULL, 's' },
		{}
	};
	const char *path = SOCKET, *given = getenv("NRI_PLUGIN_SOCKET");
	int fd, option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's') {
			path = optarg;
		} else if (option == 'c') {
			hook_argv[2] = optarg;
			hook_argc = 3;
		} else {
			optind = argc + 1;
			break;
		}
	}
	if (optind != argc) {
		fprintf(stderr, "Usage: gpreempt-nri [--socket SOCKET] [--config FILE]\n");
		return 2;
	}
	fd = given ? atoi(given) : nri_connect(path);
	nri_register(fd);
	nri_serve(fd);
	fprintf(stderr, ME "the runtime has closed the connection\n");
	return EXIT_SUCCESS;
}

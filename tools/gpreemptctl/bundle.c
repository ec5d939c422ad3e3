// SPDX-License-Identifier: MIT
/*
 * bundle.c - gpreemptctl doctor --report FILE: what belongs to a report about a machine, as text
 *
 * It can be read before it is sent. What could be a secret of a program or a user is not looked at.
 */
#include "doctor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PARAMETERS	"/sys/module/amdgpu/parameters"
#define DUMP		"/sys/kernel/debug/kfd/gpreempt_dump"
#define KERNEL_LOG	"dmesg 2>/dev/null | grep -E 'amdgpu|kfd|gpreempt' | tail -n 300"
#define OS_NAME		"sed -n 's/^PRETTY_NAME=//p' /etc/os-release 2>/dev/null"

static const char bundle_words[] =
	"versions, parameters of amdgpu, doctor's answers, files of each GPU, the scheduler's dump, and of the kernel log the lines "
	"about amdgpu, kfd and gpreempt. Programs have their pids and names in it. Left out: their command lines and environments, "
	"names of users and of the machine, and events, which are not kept";

static void bundle_copy(FILE *out, FILE *from)
{
	char text[4096];
	size_t got, all = 0;

	while (from && (got = fread(text, 1, sizeof(text), from)) > 0)
		all += fwrite(text, 1, got, out);
	if (!all)
		fputs("nothing that may be read\n", out);
}

static void bundle_command(FILE *out, const char *command)
{
	FILE *from = popen(command, "re");

	bundle_copy(out, from);
	if (from)
		pclose(from);
}

static int bundle_line(const char *name, const char *value, void *arg)
{
	fprintf(arg, "%s %s\n", name, value);
	return 0;
}

/* The files of a folder, each on a line */
static void bundle_folder(FILE *out, const char *folder)
{
	struct dirent **entries;
	char path[512], value[256];
	int i, nr = scandir(folder, &entries, NULL, alphasort);

	for (i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		if (read_text(path, value, sizeof(value)) >= 0)
			bundle_line(entries[i]->d_name, value, out);
		free(entries[i]);
	}
	if (nr >= 0)
		free(entries);
}

static void bundle_nodes(FILE *out)
{
	static const char *const below[] = { "", "tunables", "latency", "firmware" };
	DIR *nodes = opendir(NODES);
	unsigned long long gpu_id;
	struct dirent *entry;
	char path[512];
	size_t i;

	while (nodes && (entry = readdir(nodes))) {
		if (!parse_number(entry->d_name, UINT32_MAX, &gpu_id))
			continue;
		for (i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
			snprintf(path, sizeof(path), NODES "/%s/%s", entry->d_name, below[i]);
			fprintf(out, "\n== gpu %s %s\n", entry->d_name, below[i]);
			bundle_folder(out, path);
		}
	}
	if (nodes)
		closedir(nodes);
}

/**
 * begin_bundle() - make the file, with all that comes before doctor's answers
 * @path: of the file, which must not be there yet
 * @d: the driver
 *
 * Return: the file, for the answers, which end_bundle() closes; NULL: it could not be made, said.
 */
FILE *begin_bundle(const char *path, const struct driver *d)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	struct utsname kernel;

	if (!out) {
		fail_system(-errno, "%s", path);
		return NULL;
	}
	uname(&kernel);
	fprintf(out, "gpreemptctl doctor --report: %s.\n\n== versions\ngpreemptctl %s\nkernel %s %s %s\nsystem ", bundle_words, VERSION,
		kernel.release, kernel.version, kernel.machine);
	bundle_command(out, OS_NAME);
	fprintf(out, "amdgpu %s\nkfd_gpreempt %s\nnext amdgpu %s\n\n== parameters of amdgpu\n", d->version[0] ? d->version : "-",
		d->scheduler[0] ? d->scheduler : "-", d->file[0] ? d->file : "-");
	bundle_folder(out, PARAMETERS);
	fputs("\n== doctor\n", out);
	return out;
}

/**
 * end_bundle() - write what comes after doctor's answers, and say what is in the file
 *
 * Return: was all of it written? If not, it has been said.
 */
bool end_bundle(FILE *out, const char *path)
{
	FILE *dump = fopen(DUMP, "re");
	bool failed;

	bundle_nodes(out);
	fputs("\n== dump\n", out);
	bundle_copy(out, dump);
	if (dump)
		fclose(dump);
	fputs("\n== kernel log\n", out);
	bundle_command(out, KERNEL_LOG);
	failed = ferror(out);
	failed |= !!fclose(out);
	if (failed)
		fail_system(-errno, "%s", path);
	else
		printf("%s has %s. Read it before you send it.\n", path, bundle_words);
	return !failed;
}

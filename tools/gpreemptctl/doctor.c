// SPDX-License-Identifier: MIT
/*
 * doctor.c - gpreemptctl doctor: is everything in place, and what to do if it is not
 *
 * Each question has an answer and, if that is a bad one, a remedy. Reads, never changes anything.
 */
#include "gpreemptctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/**
 * struct report - what has been found out
 * @checks: JSON array
 * @json: print nothing meanwhile
 * @bad: answers that keep the scheduler from working
 */
struct report {
	json_object *checks;
	bool json;
	int bad;
};

static void answer(struct report *r, bool good, const char *question, const char *found, const char *remedy)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "check", json_object_new_string(question));
	json_object_object_add(o, "ok", json_object_new_boolean(good));
	json_object_object_add(o, "found", json_object_new_string(found));
	if (!good)
		json_object_object_add(o, "remedy", json_object_new_string(remedy));
	json_object_array_add(r->checks, o);
	if (!good)
		r->bad++;
	if (r->json)
		return;
	printf("%-4s %s: %s\n", good ? "ok" : "BAD", question, found);
	if (!good)
		printf("     -> %s\n", remedy);
}

/* Only where the module is not ours: in AMD's own driver package the scheduler runs on kernels of other series as well. */
static void check_series(struct report *r)
{
	const char *series = " " SUPPORTED_SERIES " ";
	char word[64], found[256];
	struct utsname kernel;
	const char *after;
	bool good;

	uname(&kernel);
	after = strchr(kernel.release, '.');
	snprintf(word, sizeof(word), " %.*s ", (int)(after ? after + 1 + strspn(after + 1, "0123456789") - kernel.release : 0), kernel.release);
	good = strstr(series, word);
	snprintf(found, sizeof(found), "%s%s%s", kernel.release, good ? "" : ", which is none of ", good ? "" : SUPPORTED_SERIES);
	answer(r, good, "the kernel is of a supported series", found,
	       "boot a kernel of one of these series; DKMS builds for each that is installed with its headers");
}

static bool check_module(struct report *r)
{
	char text[256];
	bool loaded = !access("/sys/module/amdgpu", F_OK);

	answer(r, loaded, "amdgpu is loaded", loaded ? "yes" : "no",
	       "modprobe amdgpu; if that fails, the kernel log says why (an unsigned module under Secure Boot, for instance)");
	if (!loaded)
		return false;
	loaded = read_text("/sys/module/amdgpu/parameters/gpreempt_enable", text, sizeof(text)) >= 0;
	answer(r, loaded, "it is the one with kfd_gpreempt", loaded ? "yes" : "no, the distribution's own",
	       "install the DKMS package for this kernel (dkms status), then reload amdgpu or restart; the initramfs must have the new one too");
	return loaded;
}

/* The program that decides, beside every installation, whether the kernel would take the module; it is installed with this one. */
static bool secure_boot_program(char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size - 1);
	char *slash;
	int up;

	for (up = 0; up < 2; up++) {
		path[length > 0 ? length : 0] = '\0';
		slash = strrchr(path, '/');
		if (!slash)
			return false;
		length = slash - path;
	}
	path[length] = '\0';
	size -= length;
	return (size_t)snprintf(path + length, size, "/libexec/gpreempt/secure-boot") < size && !access(path, X_OK);
}

/* What follows a heading in one of its lines. */
static bool told(const char *line, const char *heading, char *text, size_t size)
{
	size_t length = strlen(heading);

	if (strncmp(line, heading, length))
		return false;
	snprintf(text, size, "%s", line + length + strspn(line + length, " "));
	return true;
}

static void check_secure_boot(struct report *r)
{
	char program[512], command[600], line[512], more[512], found[512] = "", why[512] = "", remedy[1100] = "", all[1100];
	bool good;
	FILE *out;

	if (!secure_boot_program(program, sizeof(program)))
		return;
	snprintf(command, sizeof(command), "'%s' --tell 2>&1", program);
	out = popen(command, "re");
	if (!out)
		return;
	while (fgets(line, sizeof(line), out)) {
		line[strcspn(line, "\n")] = '\0';
		if (told(line, "kfd_gpreempt: error:", found, sizeof(found)) || told(line, "  why:", why, sizeof(why)) ||
		    told(line, "  remedy:", remedy, sizeof(remedy)))
			continue;
		if (told(line, "    ", more, sizeof(more)))	/* the remedy goes on */
			snprintf(remedy + strlen(remedy), sizeof(remedy) - strlen(remedy), " %s", more);
		else if (!found[0])
			snprintf(found, sizeof(found), "%s", line);
	}
	good = !pclose(out);
	snprintf(all, sizeof(all), "%s%s%s", found, why[0] ? ": " : "", why);
	answer(r, good, "the kernel takes modules that DKMS signs", all, remedy);
}

/* What modinfo says of the file that would be loaded next. Return: is there an answer? */
static bool installed(const char *field, char *text, size_t size)
{
	char command[64];
	bool said;
	FILE *out;

	snprintf(command, sizeof(command), "modinfo -F %s amdgpu 2>/dev/null", field);
	out = popen(command, "re");
	if (!out)
		return false;
	said = fgets(text, size, out);
	pclose(out);
	text[said ? strcspn(text, "\n") : 0] = '\0';
	return *text;
}

static void check_version(struct report *r)
{
	char version[64] = "unknown", loaded[64] = "", file[64] = "", found[512];
	struct utsname kernel;

	uname(&kernel);
	read_text("/sys/module/amdgpu/version", version, sizeof(version));
	snprintf(found, sizeof(found), "module %s, gpreemptctl %s", version, VERSION);
	answer(r, !strcmp(version, VERSION), "module and gpreemptctl are of one version", found,
	       "install both from the same source, then reload amdgpu or restart");

	/* The kernel itself refuses a module that was built for another one. */
	if (read_text("/sys/module/amdgpu/srcversion", loaded, sizeof(loaded)) < 0 || !installed("srcversion", file, sizeof(file)))
		return;
	snprintf(found, sizeof(found), "loaded %s, installed for %s %s", loaded, kernel.release, file);
	answer(r, !strcmp(loaded, file), "the loaded module is the installed one", found,
	       "reload amdgpu or restart; if it stays so, the initramfs has an old one: update-initramfs -u");
}

static void check_rights(struct report *r)
{
	bool usable = !access("/dev/kfd_gpreempt", R_OK | W_OK);

	answer(r, usable, "/dev/kfd_gpreempt can be opened", usable ? "yes" : strerror(errno),
	       "join the group render (the package's udev rule gives it to that group), or be root");
}

static void check_enabled(struct report *r)
{
	char text[16] = "";
	bool on;

	read_text("/sys/module/amdgpu/parameters/gpreempt_enable", text, sizeof(text));
	on = !strcmp(text, "Y") || !strcmp(text, "1");
	answer(r, on, "scheduling is switched on", on ? "yes" : "no",
	       "gpreemptctl tune enable=1; for good: options amdgpu gpreempt_enable=1 in /etc/modprobe.d");
}

static void check_cgroups(struct report *r)
{
	bool there = !access("/sys/fs/cgroup/cgroup.procs", F_OK);

	answer(r, there, "cgroup v2 is at /sys/fs/cgroup (for run and --cgroup)", there ? "yes" : "no",
	       "boot with systemd.unified_cgroup_hierarchy=1; in a container, mount it");
}

static void check_cwsr(struct report *r)
{
	char text[16];
	bool on = read_text("/sys/module/amdgpu/parameters/cwsr_enable", text, sizeof(text)) < 0 || strcmp(text, "0");

	answer(r, on, "waves can be saved (cwsr_enable)", on ? "yes" : "no", "remove cwsr_enable=0 from amdgpu's options");
}

static void check_node(struct report *r, const struct gpreempt_node_info *n)
{
	char question[64], found[512], reason[256] = "";
	const char *remedy;

	node_attribute(n->gpu_id, "reason", reason, sizeof(reason));
	snprintf(question, sizeof(question), "gpu %u is scheduled", n->gpu_id);
	if (reason[0] && n->state >= GPREEMPT_NODE_FAILED)
		snprintf(found, sizeof(found), "%s: %s", gpreempt_node_state_name(n->state), reason);
	else
		snprintf(found, sizeof(found), "%s, backend %s, policy %s", gpreempt_node_state_name(n->state),
			 n->backend[0] ? n->backend : "none", n->policy);
	switch (n->state) {
	case GPREEMPT_NODE_UNSUPPORTED:
		remedy = "nothing: this GPU stays with the driver's own scheduling";
		break;
	case GPREEMPT_NODE_FAILED:
		remedy = "look at the kernel log; gpreemptctl tune enable=0 enable=1 tries again, so does a reset of the GPU";
		break;
	case GPREEMPT_NODE_OFF:
		remedy = "gpreemptctl tune enable=1, or with -g for this GPU alone";
		break;
	default:
		answer(r, true, question, found, "");
		return;
	}
	answer(r, false, question, found, remedy);
}

static void check_nodes(struct report *r)
{
	struct gpreempt_node_info *nodes = NULL;
	struct gpreempt *g;
	int i, nr, error = gpreempt_open(&g);

	if (error == -EPROTO)
		answer(r, false, "/dev/kfd_gpreempt speaks our ABI", "no, an older one", "update the module");
	if (error)
		return;
	nr = gpreempt_list_nodes(g, NULL, &nodes);
	answer(r, nr > 0, "there is a GPU for compute", nr > 0 ? "yes" : "no", "look for amdgpu and kfd in the kernel log");
	for (i = 0; i < nr; i++)
		check_node(r, &nodes[i]);
	free(nodes);
	gpreempt_close(g);
}

int cmd_doctor(const struct options *o)
{
	struct report r = { .checks = json_object_new_array(), .json = o->json };
	json_object *document;
	bool ours = check_module(&r);

	if (!ours)
		check_series(&r);
	check_secure_boot(&r);
	if (ours) {
		check_version(&r);
		check_cwsr(&r);
		check_enabled(&r);
		check_rights(&r);
		check_cgroups(&r);
		check_nodes(&r);
	}
	if (o->json) {
		document = new_document();
		json_object_object_add(document, "checks", r.checks);
		print_json(document);
	} else {
		json_object_put(r.checks);
	}
	if (!ours)
		return EXIT_NO_MODULE;
	return r.bad ? EXIT_FAILED : EXIT_DONE;
}

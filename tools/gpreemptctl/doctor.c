// SPDX-License-Identifier: MIT
/*
 * doctor.c - gpreemptctl doctor: is everything in place, and what to do if it is not
 *
 * Each question has an answer and, if that is a bad one, a remedy; a good one may come with an
 * advice. Reads, never changes anything.
 */
#include "doctor.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PCI_DEVICES	"/sys/bus/pci/devices"

/* @text: what to do, in JSON as @member; NULL: nothing */
static void report(struct report *r, const char *word, const char *question, const char *found, const char *member, const char *text)
{
	json_object *o = json_object_new_object();

	add_text(o, "check", question);
	add_flag(o, "ok", strcmp(word, "BAD"));
	add_text(o, "found", found);
	if (text)
		add_text(o, member, text);
	json_object_array_add(r->checks, o);
	if (r->json)
		return;
	fprintf(r->out, "%-4s %s: %s\n", word, question, found);
	if (text)
		fprintf(r->out, "     -> %s\n", text);
}

/** answer() - a question is answered; if not well, @remedy says what to do */
void answer(struct report *r, bool good, const char *question, const char *found, const char *remedy)
{
	report(r, good ? "ok" : "BAD", question, found, "remedy", good ? NULL : remedy);
	r->bad += !good;
}

/** advise() - the scheduler works; @advice says what would be better */
void advise(struct report *r, const char *question, const char *found, const char *advice)
{
	report(r, "note", question, found, "advice", advice);
}

/* Only where the module is not ours: in AMD's own driver package the scheduler runs on kernels of other series as well. */
static void check_series(struct report *r, const struct driver *d)
{
	const char *series = " " SUPPORTED_SERIES " ", *after = strchr(d->kernel, '.');
	char word[64], found[256];
	bool good;

	snprintf(word, sizeof(word), " %.*s ", (int)(after ? after + 1 + strspn(after + 1, "0123456789") - d->kernel : 0), d->kernel);
	good = strstr(series, word);
	snprintf(found, sizeof(found), "%s%s%s", d->kernel, good ? "" : ", which is none of ", good ? "" : SUPPORTED_SERIES);
	answer(r, good, "the kernel is of a supported series", found,
	       "boot a kernel of one of these series; DKMS builds for each that is installed with its headers");
}

/* By PCI's classes of displays and accelerators: AMD's sound devices are of its vendor as well. */
static bool doctor_sees_gpu(void)
{
	DIR *folder = opendir(PCI_DEVICES);
	struct dirent *entry;
	bool found = false;
	char path[512], vendor[16], class[16];

	while (folder && !found && (entry = readdir(folder))) {
		snprintf(path, sizeof(path), PCI_DEVICES "/%s/vendor", entry->d_name);
		if (entry->d_name[0] == '.' || read_text(path, vendor, sizeof(vendor)) < 0 || strcmp(vendor, "0x1002"))
			continue;
		snprintf(path, sizeof(path), PCI_DEVICES "/%s/class", entry->d_name);
		found = read_text(path, class, sizeof(class)) >= 0 && (!strncmp(class, "0x03", 4) || !strncmp(class, "0x12", 4));
	}
	if (folder)
		closedir(folder);
	return found;
}

static void check_module(struct report *r, const struct driver *d)
{
	if (!d->loaded && !doctor_sees_gpu()) {
		answer(r, false, "there is an AMD GPU", "no",
		       "nothing can be scheduled on this machine: PCI has no display or accelerator of AMD (lspci -d 1002:)");
		return;
	}
	answer(r, d->loaded, "amdgpu is loaded", d->loaded ? "yes" : "no",
	       "modprobe amdgpu; if that fails, the kernel log says why (an unsigned module under Secure Boot, for instance)");
	if (d->loaded)
		check_driver(r, d);
}

/* A program that is installed with this one: of those that decide, beside every installation, what boots. */
static bool program_of_ours(const char *name, char *path, size_t size)
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
	return (size_t)snprintf(path + length, size, "/libexec/gpreempt/%s", name) < size && !access(path, X_OK);
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

/*
 * What a program of ours prints with --tell. @errors: the shell's words for where its errors go.
 * NULL: there is none.
 */
static FILE *doctor_ask(const char *name, const char *errors)
{
	char program[512], command[600];

	if (!program_of_ours(name, program, sizeof(program)))
		return NULL;
	snprintf(command, sizeof(command), "'%s' --tell %s", program, errors);
	return popen(command, "re");
}

static void check_secure_boot(struct report *r)
{
	char line[512], more[512], found[512] = "", why[512] = "", remedy[1100] = "", all[1100];
	FILE *out = doctor_ask("secure-boot", "2>&1");
	bool good;

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

static void doctor_append(char *text, size_t size, const char *more)
{
	size_t length = strlen(text);

	snprintf(text + length, size - length, "%s%s", length ? "; " : "", more);
}

/* The initramfs has a copy of amdgpu, which may be another one than modprobe finds. */
static void doctor_check_images(struct report *r)
{
	static const char question[] = "the amdgpu that boots next";
	char line[512], one[512], found[1024] = "", remedy[1024] = "";
	FILE *out = doctor_ask("initramfs", "2>/dev/null");
	int status;

	if (!out)
		return;
	while (fgets(line, sizeof(line), out)) {
		line[strcspn(line, "\n")] = '\0';
		if (told(line, "  remedy:", one, sizeof(one)))
			doctor_append(remedy, sizeof(remedy), one);
		else
			doctor_append(found, sizeof(found), told(line, "kfd_gpreempt: error:", one, sizeof(one)) ? one : line);
	}
	status = pclose(out);
	if (!found[0])
		return;
	if (WEXITSTATUS(status) == 3)
		advise(r, question, found, "see what is in the image of the kernel: lsinitramfs, lsinitrd; make it again if in doubt");
	else
		answer(r, !status, question, found, remedy);
}

static void check_version(struct report *r, const struct driver *d)
{
	char loaded[64] = "", file[64] = "", found[512];

	/* AMD's package has a version of its own; there the ABI tells. */
	if (!d->amd) {
		snprintf(found, sizeof(found), "module %s, gpreemptctl %s", d->scheduler[0] ? d->scheduler : "unknown", VERSION);
		answer(r, !strcmp(d->scheduler, VERSION), "module and gpreemptctl are of one version", found,
		       "install both from the same source, then reload amdgpu or restart");
	}

	/* The kernel itself refuses a module that was built for another one. */
	if (read_text("/sys/module/amdgpu/srcversion", loaded, sizeof(loaded)) < 0 || !modinfo("srcversion", file, sizeof(file)))
		return;
	snprintf(found, sizeof(found), "loaded %s, installed for %s %s", loaded, d->kernel, file);
	answer(r, !strcmp(loaded, file), "the loaded module is the installed one", found,
	       "reload amdgpu or restart; if it stays so, the initramfs has an old one: make it again");
}

static void check_rights(struct report *r)
{
	bool usable = !access("/dev/kfd_gpreempt", R_OK | W_OK);
	const char *found = usable ? "yes" : strerror(errno);
	char how[512] = "";

	if (!usable)
		how_to_open(how, sizeof(how));
	answer(r, usable, "/dev/kfd_gpreempt can be opened", found, how);
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
	static const char question[] = "cgroups are of version 2 (for --cgroup)";
	bool first = !access("/proc/cgroups", F_OK) && !access("/sys/fs/cgroup", F_OK);

	if (cgroups_are_v2())
		answer(r, true, question, "yes", "");
	else
		advise(r, question, first ? "no, of version 1" : "no, none are mounted",
		       "run works without; containers and other programs: set -p PID --tree, or lines `cgroup' of /etc/gpreempt.conf. For --cgroup: systemd.unified_cgroup_hierarchy=1");
}

static void check_cwsr(struct report *r)
{
	char text[16];
	bool on = read_text("/sys/module/amdgpu/parameters/cwsr_enable", text, sizeof(text)) < 0 || strcmp(text, "0");

	answer(r, on, "waves can be saved (cwsr_enable)", on ? "yes" : "no", "remove cwsr_enable=0 from amdgpu's options");
}

static void check_node(struct report *r, const struct gpreempt_node_info *n)
{
	char question[64], found[512], reason[256] = "", observes[8];
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
		if (node_attribute(n->gpu_id, "tunables/observe", observes, sizeof(observes)) > 0 && !strcmp(observes, "1"))
			advise(r, question, "it only observes, and nothing is preempted",
			       "gpreemptctl report says what it would do; gpreemptctl tune observe=0 lets it");
		return;
	}
	answer(r, false, question, found, remedy);
}

/* Versions only add: an older one lacks something that this program can ask for. */
static void check_abi(struct report *r, const struct gpreempt_info *info)
{
	char found[64];

	snprintf(found, sizeof(found), "the module speaks version %u, gpreemptctl %u", info->abi_version, GPREEMPT_ABI_VERSION);
	if (info->abi_version >= GPREEMPT_ABI_VERSION)
		answer(r, true, "/dev/kfd_gpreempt speaks our ABI", found, "");
	else
		advise(r, "/dev/kfd_gpreempt speaks our ABI", found, "install both from the same source, then reload amdgpu or restart");
}

static void check_nodes(struct report *r)
{
	struct gpreempt_node_info *nodes = NULL;
	struct gpreempt_info info = { 0 };
	struct gpreempt *g;
	int i, nr, error = gpreempt_open(&g);

	if (error == -EPROTO)
		answer(r, false, "/dev/kfd_gpreempt speaks our ABI", "no, an older one", "update the module");
	if (error)
		return;
	nr = gpreempt_list_nodes(g, &info, &nodes);
	if (nr >= 0)
		check_abi(r, &info);
	answer(r, nr > 0, "there is a GPU for compute", nr > 0 ? "yes" : "no", "look for amdgpu and kfd in the kernel log");
	for (i = 0; i < nr; i++)
		check_node(r, &nodes[i]);
	free(nodes);
	gpreempt_close(g);
}

static void doctor_check_all(struct report *r, const struct driver *d)
{
	check_module(r, d);
	/* AMD's package is for kernels of other series as well. */
	if (!d->hooked && !d->amd && !d->amd_source)
		check_series(r, d);
	check_dkms(r, d);
	check_secure_boot(r);
	doctor_check_images(r);
	if (d->hooked) {
		check_version(r, d);
		check_cwsr(r);
		check_enabled(r);
		check_rights(r);
		check_cgroups(r);
		check_nodes(r);
	}
	if (d->loaded) {
		check_idle_eviction(r);
		check_slots(r);
		check_hip(r);
		check_debuggers(r);
	}
}

int cmd_doctor(const struct options *o)
{
	struct report r = { .json = o->json, .out = stdout };
	json_object *document;
	struct driver d;

	if (o->json && o->report)
		return fail(EXIT_USAGE, "doctor: --json or --report, not both");
	find_driver(&d);
	if (o->report)
		r.out = begin_bundle(o->report, &d);
	if (!r.out)
		return EXIT_FAILED;
	r.checks = json_object_new_array();
	doctor_check_all(&r, &d);
	if (o->json) {
		document = new_document();
		json_object_object_add(document, "checks", r.checks);
		print_json(document);
	} else {
		json_object_put(r.checks);
	}
	if (o->report && !end_bundle(r.out, o->report))
		return EXIT_FAILED;
	if (!d.hooked)
		return EXIT_NO_MODULE;
	return r.bad ? EXIT_FAILED : EXIT_DONE;
}

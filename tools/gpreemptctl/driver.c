// SPDX-License-Identifier: MIT
/*
 * driver.c - gpreemptctl doctor: which amdgpu is loaded, and whose
 *
 * AMD's package amdgpu-dkms has a version of its own, with kfd_gpreempt or without. The kernel's
 * own has none; built by DKMS it has a parameter that is the version of kfd_gpreempt.
 */
#include "doctor.h"

#include <dirent.h>
#include <glob.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MODULE		"/sys/module/amdgpu"
/* A module that AMD's amdgpu needs, and no other does */
#define AMD_LAYER	"/sys/module/amdkcl"
#define AMD_SOURCES	"/usr/src/amdgpu-*/dkms.conf"
#define DKMS		"/var/lib/dkms"
/* What came of building AMD's driver with kfd_gpreempt, by kernel */
#define AMD_MEMORY	"/var/lib/kfd_gpreempt/amd"

/** modinfo() - what modinfo says of the file that would be loaded next. Return: is there an answer? */
bool modinfo(const char *field, char *text, size_t size)
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

static bool file_is_hooked(void)
{
	FILE *out = popen("modinfo -F parm amdgpu 2>/dev/null", "re");
	bool found = false;
	char line[512];

	while (out && fgets(line, sizeof(line), out))
		found = found || !strncmp(line, "gpreempt_enable:", 16);
	if (out)
		pclose(out);
	return found;
}

static bool amd_source_here(void)
{
	glob_t found;
	bool here = !glob(AMD_SOURCES, 0, NULL, &found);

	if (here)
		globfree(&found);
	return here;
}

/** find_driver() - find out about the amdgpu of this machine */
void find_driver(struct driver *d)
{
	struct utsname kernel;
	char text[64];

	memset(d, 0, sizeof(*d));
	uname(&kernel);
	snprintf(d->kernel, sizeof(d->kernel), "%s", kernel.release);
	d->loaded = !access(MODULE, F_OK);
	d->hooked = read_text(MODULE "/parameters/gpreempt_enable", text, sizeof(text)) >= 0;
	if (read_text(MODULE "/version", d->version, sizeof(d->version)) < 0)
		d->version[0] = '\0';
	if (read_text(MODULE "/parameters/kfd_gpreempt_version", d->scheduler, sizeof(d->scheduler)) < 0)
		d->scheduler[0] = '\0';
	if (!modinfo("filename", d->file, sizeof(d->file)))
		d->file[0] = '\0';
	d->file_hooked = d->file[0] && file_is_hooked();
	d->amd = d->loaded && !access(AMD_LAYER, F_OK);
	d->amd_source = amd_source_here();
}

/* Why AMD's driver was built without kfd_gpreempt: lines "  what: ", "  why: ", "  remedy: ". Return: is it known? */
static bool amd_refused(const struct driver *d, char *why, char *remedy, size_t size)
{
	char path[256], text[2048], *line, *rest;

	snprintf(path, sizeof(path), AMD_MEMORY "/%s", d->kernel);
	if (read_text(path, text, sizeof(text)) < 0 || strncmp(text, "without ", 8))
		return false;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		line += strspn(line, " ");
		if (!strncmp(line, "what:", 5))
			snprintf(why, size, "%s", line + 5 + strspn(line + 5, " "));
		else if (!strncmp(line, "remedy:", 7))
			snprintf(remedy, size, "%s", line + 7 + strspn(line + 7, " "));
	}
	return *why;
}

static void describe(const struct driver *d, char *text, size_t size)
{
	const char *with = d->hooked ? "with" : "without";

	if (d->amd)
		snprintf(text, size, "AMD's driver package (amdgpu-dkms) %s, %s kfd_gpreempt", d->version, with);
	else if (d->hooked)
		snprintf(text, size, "the kernel's driver with kfd_gpreempt %s", d->scheduler[0] ? d->scheduler : "of unknown version");
	else
		snprintf(text, size, "the kernel's own driver, without kfd_gpreempt");
}

/** check_driver() - is the loaded amdgpu one with kfd_gpreempt, and if not, whose is it? */
void check_driver(struct report *r, const struct driver *d)
{
	static const char reload[] = "it is installed: reload amdgpu or restart; if it stays so, the initramfs has the old one: make it again";
	char found[2048], whose[256], why[512] = "", remedy[512] = "";

	describe(d, whose, sizeof(whose));
	snprintf(found, sizeof(found), "%s%s%s%s", whose, d->file[0] ? "; " : "", d->file,
		 d->file[0] && d->file_hooked != d->hooked ? " is another one" : "");
	if (d->hooked) {
		answer(r, true, "it is the one with kfd_gpreempt", found, "");
	} else if (d->file_hooked) {
		answer(r, false, "it is the one with kfd_gpreempt", found, reload);
	} else if (d->amd && amd_refused(d, why, remedy, sizeof(why))) {
		snprintf(found, sizeof(found), "%s: %s", whose, why);
		answer(r, false, "it is the one with kfd_gpreempt", found, remedy);
	} else if (d->amd) {
		answer(r, false, "it is the one with kfd_gpreempt", found,
		       "install kfd_gpreempt into AMD's package (make install DRIVER=amd), then reload amdgpu or restart");
	} else {
		answer(r, false, "it is the one with kfd_gpreempt", found,
		       "install the DKMS package for this kernel (dkms status), then reload amdgpu or restart; the initramfs must have the new one too");
	}
}

/* A link kernel-RELEASE-ARCHITECTURE is there when a module of DKMS's is installed for that kernel. Return: to what, "" nothing. */
static void installed_by_dkms(const char *package, const char *kernel, char *to, size_t size)
{
	char path[512], name[256];
	struct dirent *entry;
	ssize_t length;
	DIR *folder;

	to[0] = '\0';
	snprintf(path, sizeof(path), DKMS "/%s", package);
	snprintf(name, sizeof(name), "kernel-%s-", kernel);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, name, strlen(name)))
			continue;
		snprintf(path, sizeof(path), DKMS "/%s/%s", package, entry->d_name);
		length = readlink(path, to, size - 1);
		to[length > 0 ? length : 0] = '\0';
		/* VERSION/RELEASE/ARCHITECTURE */
		to[strcspn(to, "/")] = '\0';
	}
	if (folder)
		closedir(folder);
}

/** check_dkms() - does DKMS have the driver for this kernel, so that it is there after a restart? Only where DKMS knows one of them. */
void check_dkms(struct report *r, const struct driver *d)
{
	char found[512], ours[128], amd[128];
	bool has_ours = !access(DKMS "/kfd_gpreempt", F_OK), has_amd = !access(DKMS "/amdgpu", F_OK);

	if (!has_ours && !has_amd)
		return;
	installed_by_dkms("kfd_gpreempt", d->kernel, ours, sizeof(ours));
	installed_by_dkms("amdgpu", d->kernel, amd, sizeof(amd));
	if (ours[0] && amd[0]) {
		snprintf(found, sizeof(found), "kfd_gpreempt %s and amdgpu %s, for %s", ours, amd, d->kernel);
		answer(r, false, "DKMS has one amdgpu for this kernel", found,
		       "decide for one of the two: make uninstall, then make install DRIVER=amd or DRIVER=kernel");
		return;
	}
	if (ours[0] || amd[0])
		snprintf(found, sizeof(found), "%s %s", ours[0] ? "kfd_gpreempt" : "AMD's amdgpu", ours[0] ? ours : amd);
	else
		snprintf(found, sizeof(found), "none for %s", d->kernel);
	answer(r, ours[0] || amd[0], "DKMS has one amdgpu for this kernel", found,
	       "install the headers of this kernel, then: dkms autoinstall; dkms status shows what there is");
}

// SPDX-License-Identifier: MIT
/*
 * identity.c - which device a node is, by the names that other programs have for it
 *
 * From KFD's topology, which knows a node by its gpu_id, to PCI, where the rest is, and to the table by which libdrm names devices. That is
 * a file: libdrm itself would open the device for it.
 */
#include "gpreemptctl.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PCI		"/sys/bus/pci/devices"

/* Debian's and the distributions', and AMD's own libdrm's */
static const char *const tables[] = { "/usr/share/libdrm/amdgpu.ids", "/opt/amdgpu/share/libdrm/amdgpu.ids" };

/* Partitions of a device have its PCI address with their own number as function. */
#define PARTITION_MASK	7

/* A line "NAME NUMBER" of a node's properties. */
static uint64_t property(const char *properties, const char *name)
{
	size_t length = strlen(name);
	const char *line;

	for (line = properties; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, length) && line[length] == ' ')
			return strtoull(line + length, NULL, 10);
	}
	return 0;
}

/* The properties of the node with that gpu_id. @node: out: its number. Return: were they found? */
static bool properties_of(unsigned int gpu_id, char *text, size_t size, int *node)
{
	unsigned long long number;
	struct dirent *entry;
	bool found = false;
	char path[512];
	DIR *nodes = opendir(TOPOLOGY);

	while (nodes && !found && (entry = readdir(nodes))) {
		snprintf(path, sizeof(path), TOPOLOGY "/%s/gpu_id", entry->d_name);
		if (entry->d_name[0] == '.' || read_text(path, text, size) < 0 || !parse_number(text, UINT32_MAX, &number) || number != gpu_id)
			continue;
		snprintf(path, sizeof(path), TOPOLOGY "/%s/properties", entry->d_name);
		found = read_text(path, text, size) >= 0;
		*node = atoi(entry->d_name);
	}
	if (nodes)
		closedir(nodes);
	return found;
}

/**
 * topology_of() - what KFD says of one of its nodes
 * @node: folder of the node
 * @gpu_id: out: 0 for a CPU
 * @slots: out: compute queues that may be mapped at a time
 *
 * Return: is it known?
 */
bool topology_of(const char *node, unsigned int *gpu_id, unsigned int *slots)
{
	unsigned long long number;
	char path[512], text[4096];

	snprintf(path, sizeof(path), TOPOLOGY "/%s/gpu_id", node);
	if (read_text(path, text, sizeof(text)) < 0 || !parse_number(text, UINT32_MAX, &number))
		return false;
	*gpu_id = number;
	snprintf(path, sizeof(path), TOPOLOGY "/%s/properties", node);
	if (read_text(path, text, sizeof(text)) < 0)
		return false;
	*slots = property(text, "num_cp_queues");
	return true;
}

static void set_bdf(struct identity *id, unsigned int domain, unsigned int location)
{
	snprintf(id->bdf, sizeof(id->bdf), "%04x:%02x:%02x.%x", domain, location >> 8 & 0xff, location >> 3 & 0x1f, location & PARTITION_MASK);
}

/* A number of a file of a PCI device, "0x740f". */
static bool pci_number(const char *bdf, const char *file, unsigned long *value)
{
	char path[128], text[32], *end;

	snprintf(path, sizeof(path), PCI "/%s/%s", bdf, file);
	if (read_text(path, text, sizeof(text)) < 0)
		return false;
	*value = strtoul(text, &end, 16);
	return end != text && !*end;
}

/* Names are shown on terminals and in labels: what could steer either is left out. */
static void clean(char *text)
{
	char *to = text;

	for (; *text; text++)
		if (*text >= ' ' && *text <= '~' && *text != '"' && *text != '\\')
			*to++ = *text;
	*to = '\0';
}

/* A line of the table: DEVICE, tab, REVISION, tab, NAME, in hexadecimal digits. Return: is it that of the device? */
static bool names_device(char *line, unsigned long device, unsigned long revision, char *name, size_t size)
{
	unsigned long number;
	char *end;

	line[strcspn(line, "\r\n")] = '\0';
	number = strtoul(line, &end, 16);
	if (end == line || *end != ',' || number != device)
		return false;
	line = end + 1;
	number = strtoul(line, &end, 16);
	if (end == line || *end != ',' || number != revision)
		return false;
	end++;
	end += strspn(end, " \t");
	snprintf(name, size, "%s", end);
	return *name;
}

static bool name_in_table(const char *table, unsigned long device, unsigned long revision, char *name, size_t size)
{
	FILE *file = fopen(table, "re");
	char *line = NULL;
	bool found = false;
	size_t room = 0;

	while (file && !found && getline(&line, &room, file) > 0)
		found = names_device(line, device, revision, name, size);
	free(line);
	if (file)
		fclose(file);
	return found;
}

/* A version like 90402 is gfx942: steppings have a hexadecimal digit. */
static void find_name(struct identity *id, unsigned int gfx_version)
{
	unsigned long device, revision;
	char path[128];
	size_t i;

	if (pci_number(id->bdf, "device", &device) && pci_number(id->bdf, "revision", &revision))
		for (i = 0; i < sizeof(tables) / sizeof(tables[0]) && !id->name[0]; i++)
			name_in_table(tables[i], device, revision, id->name, sizeof(id->name));
	snprintf(path, sizeof(path), PCI "/%s/product_name", id->bdf);
	if (!id->name[0] && read_text(path, id->name, sizeof(id->name)) < 0)
		id->name[0] = '\0';
	clean(id->name);
	if (!id->name[0] && gfx_version)
		snprintf(id->name, sizeof(id->name), "gfx%u%u%x", gfx_version / 10000, gfx_version / 100 % 100, gfx_version % 100);
}

/**
 * identify() - find out what a node is called elsewhere
 * @gpu_id: the node
 * @id: out; what is not known is empty
 */
void identify(unsigned int gpu_id, struct identity *id)
{
	unsigned int domain, location, gfx_version;
	char text[4096], path[128];
	uint64_t unique;

	memset(id, 0, sizeof(*id));
	id->node = -1;
	if (!properties_of(gpu_id, text, sizeof(text), &id->node))
		return;
	id->render_minor = property(text, "drm_render_minor");
	domain = property(text, "domain");
	location = property(text, "location_id");
	unique = property(text, "unique_id");
	id->slots = property(text, "num_cp_queues");
	gfx_version = property(text, "gfx_target_version");
	set_bdf(id, domain, location);
	snprintf(path, sizeof(path), PCI "/%s", id->bdf);
	if (access(path, F_OK)) {
		id->partition = location & PARTITION_MASK;
		set_bdf(id, domain, location & ~PARTITION_MASK);
	}
	if (unique) {
		snprintf(id->unique_id, sizeof(id->unique_id), "%016" PRIx64, unique);
		/* As AMD SMI makes it: the serial number of the chip around the PCI device id; 0xff is a device that is not virtual. */
		snprintf(id->uuid, sizeof(id->uuid), "%02xff%04x-0000-1000-80%02x-%012llx", (unsigned int)(unique >> 56),
			 (unsigned int)property(text, "device_id") & 0xffff, (unsigned int)(unique >> 48) & 0xff,
			 (unsigned long long)unique & ((1ULL << 48) - 1));
	}
	snprintf(path, sizeof(path), PCI "/%s/serial_number", id->bdf);
	/* Without an EEPROM that says it, the driver has the unique id there, which may be none. */
	if (read_text(path, id->serial_number, sizeof(id->serial_number)) < 0 || !strcmp(id->serial_number, "0"))
		id->serial_number[0] = '\0';
	id->serial_number[strcspn(id->serial_number, "\"\\\n")] = '\0';
	find_name(id, gfx_version);
}

/**
 * identity_of() - what a node is called elsewhere, asked once for a program that lists many queues
 * @gpu_id: the node
 *
 * Return: its names, good until the next call
 */
const struct identity *identity_of(unsigned int gpu_id)
{
	static struct known {
		unsigned int gpu_id;
		struct identity id;
	} *known;
	static struct identity unknown;
	static unsigned int nr;
	struct known *more;
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (known[i].gpu_id == gpu_id)
			return &known[i].id;
	more = realloc(known, (nr + 1) * sizeof(*known));
	if (!more) {
		identify(gpu_id, &unknown);
		return &unknown;
	}
	known = more;
	known[nr].gpu_id = gpu_id;
	identify(gpu_id, &known[nr].id);
	return &known[nr++].id;
}

// SPDX-License-Identifier: MIT
/*
 * identity.c - which device a node is, by the names that other programs have for it
 *
 * From KFD's topology, which knows a node by its gpu_id, to PCI, where the rest is.
 */
#include "gpreemptctl.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PCI		"/sys/bus/pci/devices"

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

/* The properties of the node with that gpu_id. Return: were they found? */
static bool properties_of(unsigned int gpu_id, char *text, size_t size)
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

/**
 * identify() - find out what a node is called elsewhere
 * @gpu_id: the node
 * @id: out; what is not known is empty
 */
void identify(unsigned int gpu_id, struct identity *id)
{
	unsigned int domain, location;
	char text[4096], path[128];
	uint64_t unique;

	memset(id, 0, sizeof(*id));
	if (!properties_of(gpu_id, text, sizeof(text)))
		return;
	domain = property(text, "domain");
	location = property(text, "location_id");
	unique = property(text, "unique_id");
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
}

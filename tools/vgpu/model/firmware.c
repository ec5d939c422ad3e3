// SPDX-License-Identifier: MIT
/*
 * firmware.c - what the firmware of a device may do otherwise than the model assumes
 *
 * Nothing of this is a fault: where the specification leaves two answers, and only hardware can
 * tell which one is true, the model has one and a name here is the other. They are fixed for the
 * life of a device.
 */
#include "model.h"

#define NAMES_BYTES	512

static const char *const names[VGPU_FIRMWARES] = {
	[VGPU_FIRMWARE_LATE_RPTR]		= "late-rptr",
	[VGPU_FIRMWARE_EARLY_RPTR]		= "early-rptr",
	[VGPU_FIRMWARE_STACK_OFFSET_KEPT]	= "stack-offset-kept",
	[VGPU_FIRMWARE_LAZY_DISPATCH_ID]	= "lazy-dispatch-id",
	[VGPU_FIRMWARE_LAGGING_WAVES]		= "lagging-waves",
	[VGPU_FIRMWARE_ZERO_WAVES]		= "zero-waves",
	[VGPU_FIRMWARE_WHOLE_HQD_WRITEBACK]	= "whole-hqd-writeback",
	[VGPU_FIRMWARE_NO_STAMPS]		= "no-stamps",
	[VGPU_FIRMWARE_MAPPED_AGAIN]		= "mapped-again",
	[VGPU_FIRMWARE_EARLY_SUSPEND_FENCE]	= "early-suspend-fence",
	[VGPU_FIRMWARE_RESUME_ALL_RESUMES]	= "resume-all-resumes",
};

/* Two answers to the same question */
static const u8 exclusive[][2] = {
	{ VGPU_FIRMWARE_LATE_RPTR, VGPU_FIRMWARE_EARLY_RPTR },
	{ VGPU_FIRMWARE_LAGGING_WAVES, VGPU_FIRMWARE_ZERO_WAVES },
};

/* See vgpu_model.h. */
const char *vgpu_firmware_name(u32 firmware)
{
	return names[firmware];
}

/* Is it what the device's firmware does? */
bool vgpu_firmware(const struct vgpu_model *m, enum vgpu_firmware firmware)
{
	return m->config.firmware >> firmware & 1;
}

static void firmware_unknown(const char *parameter, const char *value, const char *name, u32 len,
			     const char *(*name_of)(u32), u32 count)
{
	char known[NAMES_BYTES];
	u32 i, n = 0;

	for (i = 0; i < count; i++)
		n += vgpu_snprintf(known + n, sizeof(known) - n, "%s%s", i ? ", " : "", name_of(i));
	vgpu_err("%s=%s: '%.*s' is not one of %s", parameter, value, (int)len, name, known);
}

/* See vgpu_model.h. */
bool vgpu_names_parse(const char *parameter, const char *value, const char *(*name_of)(u32), u32 count, u32 *bits)
{
	const char *at = value;
	u32 len, i;

	*bits = 0;
	while (*at && *at != '\n') {
		for (len = 0; at[len] && at[len] != ',' && at[len] != '\n'; len++)
			;
		for (i = 0; i < count; i++)
			if (strlen(name_of(i)) == len && !memcmp(at, name_of(i), len))
				break;
		if (i == count) {
			firmware_unknown(parameter, value, at, len, name_of, count);
			return false;
		}
		*bits |= 1u << i;
		at += len + (at[len] == ',');
	}
	return true;
}

/* See vgpu_model.h. */
bool vgpu_firmware_parse(const char *value, u32 *bits)
{
	u32 i, both;

	if (!vgpu_names_parse("firmware", value, vgpu_firmware_name, VGPU_FIRMWARES, bits))
		return false;
	for (i = 0; i < ARRAY_SIZE(exclusive); i++) {
		both = 1u << exclusive[i][0] | 1u << exclusive[i][1];
		if ((*bits & both) == both) {
			vgpu_err("firmware=%s: %s and %s exclude each other", value, names[exclusive[i][0]], names[exclusive[i][1]]);
			return false;
		}
	}
	return true;
}

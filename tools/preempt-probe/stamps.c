// SPDX-License-Identifier: MIT
/*
 * stamps.c - firmware's own times, where it notes them: in the MQDs that amdkfd shows to root in debugfs
 *
 * A queue has an MQD on each XCC. The file has no numbers of queues: the first compute queue of a process on the GPU is meant.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

#define MQDS		"/sys/kernel/debug/kfd/mqds"
#define MQD_WORDS	512u
#define TICK_US		0.01
#define MAX_XCCS	8u

/* Bytes from the beginning of an MQD of gfx9; each is the lower half of the beginning, after which come its upper half and the end */
static const uint32_t place[PROBE_STAMPS] = {
	[PROBE_CONNECT] = 0x160, [PROBE_SAVE] = 0x188, [PROBE_RESTORE] = 0x198,
};

static uint64_t two_words(const uint32_t *mqd, uint32_t at)
{
	return mqd[at / 4] | (uint64_t)mqd[at / 4 + 1] << 32;
}

/* The longest of the XCCs; a beginning that was there before is no news */
static void take(struct probe_stamps *s, const uint32_t *mqd, uint32_t xcc)
{
	uint32_t i;

	for (i = 0; i < PROBE_STAMPS; i++) {
		uint64_t begin = two_words(mqd, place[i]), end = two_words(mqd, place[i] + 8);
		double us = (double)(int64_t)(end - begin) * TICK_US;

		s->filled[i] |= begin;
		if (begin != s->begin[xcc][i] && end >= begin && us > s->us[i])
			s->us[i] = us;
		s->begin[xcc][i] = begin;
	}
}

bool stamps_read(uint32_t gpu_id, int pid, struct probe_stamps *s)
{
	static uint32_t mqd[MQD_WORDS];
	FILE *f = fopen(MQDS, "r");
	bool ours = false, inside = false;
	uint32_t xcc = 0, i, at, found = 0;
	char line[256];

	for (i = 0; i < PROBE_STAMPS; i++)
		s->us[i] = -1;
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		uint32_t device, w[8];
		int process, n;

		if (sscanf(line, "Process %d", &process) == 1) {
			ours = process == pid && !found;
			inside = false;
		} else if (sscanf(line, " Compute queue on device %" SCNx32, &device) == 1) {
			inside = ours && device == gpu_id && !found;
			found += inside;
		} else if (strstr(line, " queue on device ")) {
			inside = false;
		} else if (inside) {
			n = sscanf(line, " %" SCNx32 ": %" SCNx32 " %" SCNx32 " %" SCNx32 " %" SCNx32 " %" SCNx32 " %" SCNx32 " %" SCNx32 " %" SCNx32,
				   &at, &w[0], &w[1], &w[2], &w[3], &w[4], &w[5], &w[6], &w[7]);
			if (n != 9 || at / 4 + 8 > MQD_WORDS)
				continue;
			memcpy(&mqd[at / 4], w, sizeof(w));
			if (at / 4 + 8 == MQD_WORDS && xcc < MAX_XCCS)
				take(s, mqd, xcc++);
		}
	}
	fclose(f);
	return xcc;
}

// SPDX-License-Identifier: MIT
/* today.cpp - runs the tests of a program round by round: today.h */
#include <cinttypes>
#include <cstring>

#include "today.h"

struct tally tally;

static int one_round(const struct hip_program *tests, const char *part)
{
	int failed = 0;

	tally = {};
	for (; tests->name; tests++) {
		bool good = false;

		if (!strstr(tests->name, part))
			continue;
		tally.sum = 14695981039346656037u;
		try {
			good = tests->run();
		} catch (const std::exception &e) {
			printf("# %s\n", e.what());
		}
		printf("%sok - %s\nsum %016" PRIx64 " %s\n", good ? "" : "not ", tests->name, tally.sum, tests->name);
		failed += !good;
	}
	printf("round done=%" PRIu64 " lost=%" PRIu64 " twice=%" PRIu64 "\n", tally.done, tally.lost, tally.twice);
	return failed;
}

int today(const struct hip_program *tests, const char *part)
{
	int failed = 0;
	char line[16];

	setvbuf(stdout, NULL, _IOLBF, 0);
	HIP(hipSetDeviceFlags(hipDeviceScheduleBlockingSync));
	while (fgets(line, sizeof(line), stdin))
		failed += one_round(tests, part);
	return failed ? 1 : 0;
}

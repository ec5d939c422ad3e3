// SPDX-License-Identifier: MIT
/* hip_main.cpp - the programs of kernels.cpp, one by one (TAP) */
#include <cstdio>
#include <exception>

#include "../../programs/kernels.h"

int main()
{
	const struct hip_program *p = hip_kernels(4);
	int n, failed = 0;
	bool good;

	for (n = 0; p[n].name; n++) {
		try {
			good = p[n].run();
		} catch (const std::exception &e) {
			printf("# %s\n", e.what());
			good = false;
		}
		printf("%sok %d HIP: %s\n", good ? "" : "not ", n + 1, p[n].name);
		failed += !good;
	}
	printf("1..%d\n", n);
	return failed != 0;
}

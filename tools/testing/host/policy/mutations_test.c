// SPDX-License-Identifier: MIT
/* mutations_test.c - the tests themselves are tested: see mutate */
#include <stdlib.h>

#include "policy_node.h"
#include "tap.h"

TEST(mutations_are_noticed, "each way of breaking policy.c and policies.c that mutate lists turns some other test red")
{
	const char *command = getenv("MUTATE");

	if (!command)
		tap_skip("MUTATE is not set; make check sets it");
	fflush(stdout);
	CHECK_EQ(system(command), 0);
}

TEST(rules_can_be_switched_off, "each rule that ablation switches off is a mutation that applies")
{
	const char *command = getenv("ABLATE");

	if (!command)
		tap_skip("ABLATE is not set; make check sets it");
	fflush(stdout);
	CHECK_EQ(system(command), 0);
}

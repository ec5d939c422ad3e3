// SPDX-License-Identifier: MIT
/* mutations_test.c - the tests themselves are tested: see mutate */
#include <stdlib.h>

#include "policy_node.h"
#include "tap.h"

static void command_succeeds(const char *command, const char *why_not)
{
	if (!command)
		tap_skip(why_not);
	fflush(stdout);
	CHECK_EQ(system(command), 0);
}

TEST(mutations_are_noticed, "each way of breaking policy.c and policies.c that mutate lists turns some other test red")
{
	command_succeeds(getenv("MUTATE"), "MUTATE is not set; make check sets it");
}

TEST(rules_can_be_switched_off, "each rule that ablation switches off is a mutation that applies")
{
	command_succeeds(getenv("ABLATE"), "ABLATE is not set; make check sets it");
}

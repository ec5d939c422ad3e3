// SPDX-License-Identifier: MIT
/* program.c - what tap.c asks of the program of tests of the core */
#include "rivals.h"

const bool tap_forks = true;

void tap_reset(void)
{
	shim_init();
}

void tap_end(void)
{
	if (world.kfd.num_nodes)
		world_end();
}

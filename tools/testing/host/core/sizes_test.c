// SPDX-License-Identifier: MIT
/*
 * sizes_test.c - what the scheduler takes of the kernel's memory, as Documentation/design.rst says (Cost)
 *
 * Locks and lists of the fakes are as large as those of a kernel without debugging, or larger.
 */
#include "fake_amdkfd.h"
#include "tap.h"

TEST(memory_of_queues_and_processes, "a queue takes 1056 bytes at most with its view and its places in the monitor's arrays, a process on a node 704 bytes")
{
	size_t places = sizeof(*((struct gpreempt_node *)0)->monitor.sampled);

	/* It has one spinlock, which takes the kernel four bytes. */
	CHECK(gpreempt_sizes[GPREEMPT_OF_QUEUE] - sizeof(spinlock_t) + 4 + sizeof(struct gpreempt_view) + 3 * places <= 1056);
	CHECK(gpreempt_sizes[GPREEMPT_OF_PROCESS] <= 704);
}

TEST(memory_of_nodes, "a node takes ten kilobytes at most, histograms and tunables included")
{
	CHECK(gpreempt_sizes[GPREEMPT_OF_NODE] <= 10240);
}

// SPDX-License-Identifier: MIT
/* idle_test.c - when an idle process leaves a crowded device, and when it comes back */
#include "policy_node.h"
#include "idle.h"
#include "tap.h"

#define NOW	(100ULL * 1000 * MS)
#define IDLE	(20 * MS)
#define PASS	(200 * US)

static struct gpreempt_idle_node idle_node;
static struct gpreempt_idle_process process;
static struct gpreempt_idle_look seen;

/* Idle for just long enough, on a device that is too small. */
static void idle_begins(void)
{
	idle_node = (struct gpreempt_idle_node){ 0 };
	process = (struct gpreempt_idle_process){ 0 };
	seen = (struct gpreempt_idle_look){ .idle_ns = IDLE, .crowded = true, .told = true, .active_ns = NOW - IDLE };
}

static bool leaves(void)
{
	return gpreempt_idle_leaves(&idle_node, &process, &seen, NOW);
}

TEST(idle_process_leaves_a_crowded_device, "a process leaves if it was idle for the time that was asked for, if not all fit, and if its next doorbell will be noticed")
{
	idle_begins();
	CHECK(leaves());
	seen.active_ns++;
	CHECK(!leaves());
	idle_begins();
	seen.fits = true;
	CHECK(!leaves());
	idle_begins();
	seen.told = false;
	CHECK(!leaves());
	idle_begins();
	seen.works = true;
	CHECK(!leaves());
	idle_begins();
	seen.idle_ns = 0;
	seen.active_ns = 0;
	CHECK(!leaves());
	/* It is off already. */
	idle_begins();
	process.off = true;
	CHECK(!leaves());
	/* It came back a moment ago, without any work. */
	idle_begins();
	process.changed_ns = NOW - IDLE + 1;
	CHECK(!leaves());
	process.changed_ns--;
	CHECK(leaves());
}

TEST(idle_process_that_came_back_stays_where_there_is_room, "a process that has come back leaves after a second while nothing waits for its slots, and one that never left at once")
{
	idle_begins();
	seen.crowded = false;
	CHECK(leaves());
	process.changed_ns = 1;
	CHECK(!leaves());
	seen.active_ns = NOW - 1000 * MS + 1;
	CHECK(!leaves());
	seen.active_ns--;
	CHECK(leaves());
	process.wait_ns = 2000 * MS;
	CHECK(!leaves());
}

TEST(idle_process_returns, "a process that is off comes back with work, when its doorbell would not be noticed, when all fit, and when it is not asked for any more")
{
	idle_begins();
	CHECK(!gpreempt_idle_returns(&process, &seen));
	gpreempt_idle_left(&idle_node, &process, PASS, NOW);
	CHECK(process.off && process.changed_ns == NOW);
	CHECK(!gpreempt_idle_returns(&process, &seen));
	seen.works = true;
	CHECK(gpreempt_idle_returns(&process, &seen));
	seen.works = false;
	seen.told = false;
	CHECK(gpreempt_idle_returns(&process, &seen));
	seen.told = true;
	seen.fits = true;
	CHECK(gpreempt_idle_returns(&process, &seen));
	seen.fits = false;
	/* That nothing has to wait now is because it left. */
	seen.crowded = false;
	CHECK(!gpreempt_idle_returns(&process, &seen));
	seen.idle_ns = 0;
	CHECK(gpreempt_idle_returns(&process, &seen));
	gpreempt_idle_returned(&process, &seen, NOW + 1);
	CHECK(!process.off && process.changed_ns == NOW + 1);
}

/* It was off for so long. Returns the idleness after which it leaves the next time. */
static u64 wait_after(u64 off_ns)
{
	gpreempt_idle_left(&idle_node, &process, PASS, NOW);
	gpreempt_idle_returned(&process, &seen, NOW + off_ns);
	idle_node.paid_ns = 0;
	for (u64 ns = MS; ns < 10000 * MS; ns += MS) {
		seen.active_ns = NOW - ns;
		process.changed_ns = 0;
		if (leaves())
			return ns;
	}
	return 0;
}

TEST(idle_process_that_rings_leaves_later, "a process that comes back before that has paid is idle for twice as long before it leaves again, up to a second; one that stays off leaves sooner")
{
	u64 least_ns = IDLE;

	idle_begins();
	CHECK_EQ(wait_after(5 * IDLE), IDLE);
	while (least_ns < 1000 * MS) {
		u64 wait_ns = wait_after(5 * least_ns - 1);

		CHECK_EQ(wait_ns, 2 * least_ns < 1000 * MS ? 2 * least_ns : 1000 * MS);
		least_ns = wait_ns;
	}
	CHECK_EQ(wait_after(0), 1000 * MS);
	CHECK_EQ(wait_after(5000 * MS), 500 * MS);
	CHECK_EQ(wait_after(2500 * MS), 250 * MS);
	/* What is asked for is the least. */
	while (wait_after(100000 * MS) > IDLE)
		;
	CHECK_EQ(wait_after(100000 * MS), IDLE);
}

TEST(idle_processes_have_a_budget, "processes of a node that leave may cost 2 % of the time, and what was not used of a second at once")
{
	struct gpreempt_idle_process many[200] = { 0 };
	u32 at_once = 0, later = 0, i;
	u64 now_ns;

	idle_begins();
	for (i = 0; i < 200; i++) {
		if (!gpreempt_idle_leaves(&idle_node, &many[i], &seen, NOW))
			break;
		gpreempt_idle_left(&idle_node, &many[i], PASS, NOW);
		at_once++;
	}
	/* Each costs two runlists. */
	CHECK_EQ(at_once, 1000 * MS * 2 / 100 / (2 * PASS) + 1);
	for (now_ns = NOW; now_ns < NOW + 1000 * MS; now_ns += MS) {
		if (!gpreempt_idle_leaves(&idle_node, &many[i], &seen, now_ns))
			continue;
		gpreempt_idle_left(&idle_node, &many[i++], PASS, now_ns);
		later++;
	}
	CHECK_WITHIN(later, at_once - 2, at_once);
	/* Soon after the machine has started there has not been a second yet. */
	idle_begins();
	seen.active_ns = 0;
	CHECK(gpreempt_idle_leaves(&idle_node, &process, &seen, 30 * MS));
	gpreempt_idle_left(&idle_node, &process, PASS, 30 * MS);
	CHECK_EQ(idle_node.paid_ns, 2 * 50 * PASS);
}

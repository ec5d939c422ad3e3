// SPDX-License-Identifier: MIT
/*
 * beside_test.c - lower work that takes nothing from higher work
 *
 * High launches a packet each millisecond while it is alone. How often it does beside low is up to
 * each story.
 */
#include "beside.h"
#include "policy_node.h"
#include "tap.h"

#define KERNEL	MS
/* So many launches are learnt. */
#define LEARNT	64
/* So late, in kernels, high may be beside low. */
#define LATE	3
#define SKIP	1023

#define SWITCH	(100 * US)
/* So long at least a launch is in doubt: 64 short gaps. */
#define SILENCE	(64 * (3 * SWITCH + 2 * POLL))

/* One kernel of high, which takes so long. */
static void high_runs(u64 kernel_ns)
{
	launch(high, 1, 8);
	passes_for(kernel_ns, POLL);
}

/* A request of so many kernels. */
static void high_requests(u32 kernels, u64 kernel_ns)
{
	submit(high, kernels);
	TIMES(kernels)
		high_runs(kernel_ns);
	finish(high);
	while (!on_device(low))
		pass_after(POLL);
	passes_for(5 * MS, POLL);
}

/* How fast high is will be learnt, from the first kernel on. */
static void low_hogs_beside_new_high(void)
{
	node.params.max_hold_ns = 0;
	node.params.poll_ns = POLL;
	high->process->policy.beside.episodes = SKIP;
	start_hog(low);
	passes_for(5 * MS, POLL);
}

/* High has the device alone for its first kernels. */
static void high_has_learnt(void)
{
	two_processes();
	low_hogs_beside_new_high();
	high_requests(2 * LEARNT, KERNEL);
	CHECK_EQ(low->preempted, 1);
}

TEST(work_that_fits_stays,
     "once it is known how fast higher work is alone, lower work that does not slow it is not "
     "preempted, however often it works")
{
	high_has_learnt();
	TIMES(50)
		high_requests(4, KERNEL);
	CHECK_EQ(low->preempted, 1);
	CHECK_EQ(node.nr_acting, 2);
}

TEST(nothing_is_tried_before_it_is_known,
     "as long as a process has launched little alone, lower work is preempted for each request")
{
	two_processes();
	low_hogs_beside_new_high();
	TIMES(LEARNT - 1)
		high_requests(1, KERNEL);
	CHECK_EQ(low->preempted, LEARNT - 1);
}

TEST(short_gaps_end_no_episode,
     "gaps that are worth no switch are part of the work before and after them: a thousand of them "
     "do not make a trial")
{
	two_processes();
	low_hogs_beside_new_high();
	high->process->policy.beside.episodes = 0;
	node.policy.pass_ns = SWITCH;
	TIMES(2 * SKIP) {
		submit(high, 1);
		high_runs(KERNEL);
		CHECK(!on_device(low));
		finish(high);
		pass_after(POLL);
	}
}

TEST(work_that_stands_still_is_alone,
     "lower work is preempted once higher work that has begun is late by three of its kernels")
{
	high_has_learnt();
	submit(high, 2);
	pass_after(POLL);
	launch(high, 1, 8);
	CHECK_WITHIN(time_until(low, false, 10 * KERNEL), LATE * KERNEL,
		     (LATE + 1) * KERNEL + POLL);
	CHECK_EQ(low->preempted, 2);
}

TEST(work_that_does_not_begin_is_alone_at_once,
     "lower work is preempted once higher work finds no room for as long as it waits for work "
     "about to end, and stays off in the next thousand requests")
{
	high_has_learnt();
	submit(high, 1);
	CHECK(time_until(low, false, 10 * KERNEL) <= node.params.drain_ns + POLL);
	CHECK_EQ(low->preempted, 2);
	high_runs(KERNEL);
	finish(high);
	passes_for(5 * MS, POLL);
	TIMES(SKIP - 1)
		high_requests(1, KERNEL);
	CHECK_EQ(low->preempted, 2 + SKIP - 1);
	TIMES(20)
		high_requests(4, KERNEL);
	CHECK(low->preempted <= 2 + SKIP + 1);
}

/* No look has seen waves of the last launch of high, which has some or not. */
static void high_falls_silent(u32 waves)
{
	high_has_learnt();
	node.policy.pass_ns = SWITCH;
	high->invisible = true;
	submit(high, 1);
	launch(high, 1, waves);
	passes_for(SILENCE / 8, POLL);
	CHECK(on_device(low));
	time_until(low, false, 2 * SILENCE);
	CHECK_EQ(low->preempted, 2);
	high->invisible = false;
}

/* Its waves waited: low leaves for each of the next requests. */
static void high_is_alone_from_now_on(void)
{
	finish(high);
	passes_for(5 * MS, POLL);
	CHECK(on_device(low));
	TIMES(20)
		high_requests(4, KERNEL);
	CHECK_EQ(low->preempted, 22);
}

TEST(waves_without_slots_are_found,
     "if nothing follows a launch of which no waves were seen, a runlist tells whether some wait "
     "for slots: then they have the device, and so have those of the next thousand requests")
{
	high_falls_silent(8);
	passes_for(10 * MS, POLL);
	CHECK(!on_device(low));
	high_is_alone_from_now_on();
}

TEST(waves_without_slots_are_found_untold,
     "where no runlist tells, waves show that wait for slots when lower work has left, and silence is "
     "believed soon")
{
	node.untold = true;
	high_falls_silent(8);
	pass_after(POLL);
	TIMES(10) {
		pass_after(POLL);
		CHECK(!on_device(low));
	}
	high_is_alone_from_now_on();
	tap_reset();
	node.untold = true;
	high_falls_silent(0);
	passes_for(3 * MS, POLL);
	CHECK(on_device(low));
	TIMES(20)
		high_requests(4, KERNEL);
	CHECK_EQ(low->preempted, 2);
}

TEST(silence_is_believed_when_it_was_asked,
     "if no waves wait, lower work comes back at once and stays beside the next requests; it is "
     "asked once for each silence")
{
	high_falls_silent(0);
	pass_after(POLL);
	CHECK(on_device(low));
	passes_for(2 * SILENCE, POLL);
	TIMES(20)
		high_requests(4, KERNEL);
	CHECK_EQ(low->preempted, 2);
}

TEST(slow_work_is_alone_after_a_while,
     "what lower work takes from each kernel adds up, over requests as well, and a part of 1/32 "
     "is nothing")
{
	static const struct {
		u64 kernel_ns;
		bool stays;
	} cases[] = {
		{ KERNEL + KERNEL / 50, true },
		{ KERNEL + KERNEL / 5, false },
		{ 2 * KERNEL, false },
	};

	EACH_CASE_ANEW(i, cases) {
		high_has_learnt();
		TIMES(40)
			high_requests(4, cases[i].kernel_ns);
		CHECK_EQ(low->preempted == 1, cases[i].stays);
	}
}

TEST(work_is_learnt_anew,
     "after a thousand launches beside lower work it is measured again how fast it is alone")
{
	u32 before;

	high_has_learnt();
	TIMES(7)
		high_requests(128, KERNEL);
	CHECK_EQ(low->preempted, 1);
	TIMES(2)
		high_requests(128, KERNEL);
	CHECK(low->preempted == 2 || low->preempted == 3);
	before = low->preempted;
	TIMES(10)
		high_requests(4, KERNEL);
	CHECK_EQ(low->preempted, before);
}

TEST(lower_work_comes_back_beside_endless_work,
     "beside work that never pauses lower work is brought back once that is long enough")
{
	two_processes();
	low_hogs_beside_new_high();
	submit(high, 10000);
	TIMES(LEARNT - 4)
		high_runs(KERNEL);
	CHECK(!on_device(low));
	TIMES(100)
		high_runs(KERNEL);
	CHECK(on_device(low));
	CHECK_EQ(low->preempted, 1);
}

TEST(work_without_slots_beside_is_owed,
     "lower work that is left on the device and gets no slots there does not starve: it has its "
     "turn")
{
	high_has_learnt();
	node.params.max_hold_ns = 100 * MS;
	/* What kept it off is long ago. */
	TIMES(150)
		high_requests(4, KERNEL);
	CHECK_EQ(low->preempted, 1);
	submit(high, 10000);
	TIMES(20)
		high_runs(KERNEL);
	CHECK(on_device(low));
	/* High has all slots, for as long as it has the device. */
	finish(low);
	TIMES(200) {
		if (on_device(high))
			launch(high, 1, 8);
		passes_for(KERNEL, POLL);
	}
	CHECK(low->preempted >= 2);
	CHECK(node.nr_relief >= 1);
}

TEST(equals_are_not_measured,
     "who is not the only process of the highest rank is preempted for as ever")
{
	struct queue *equal;

	high_has_learnt();
	equal = new_queue(new_process(), HIGH);
	submit(equal, 1);
	submit(high, 1);
	high_runs(KERNEL);
	CHECK_EQ(low->preempted, 2);
}

TEST(without_waiting_nothing_is_tried,
     "with gpreempt_drain_us=0, and while waves cannot be read, lower work is preempted at once")
{
	high_has_learnt();
	node.params.drain_ns = 0;
	TIMES(4)
		high_requests(4, KERNEL);
	CHECK_EQ(low->preempted, 5);
	node.params.drain_ns = 200 * US;
	node.device.waves_known = false;
	TIMES(4)
		high_requests(4, KERNEL);
	CHECK_EQ(low->preempted, 9);
}

TEST(those_between_yield_as_ever,
     "beside the highest process lower ones keep their order among each other")
{
	three_processes();
	low_hogs_beside_new_high();
	high_requests(2 * LEARNT, KERNEL);
	submit(high, 20);
	high_runs(KERNEL);
	CHECK(on_device(low));
	start_hog(middle);
	high_runs(KERNEL);
	CHECK(on_device(middle) && !on_device(low) && on_device(high));
}

/* ---- kernels of a second and more ---- */

#define LONG	GPREEMPT_LONG_KERNEL_NS
/* So many times as long the first one has to last. */
#define FIRST	64

/* High works on a kernel of 8 waves, with another one behind it. */
static void high_begins_long_kernel(void)
{
	two_processes();
	low_hogs_beside_new_high();
	high->process->policy.beside.episodes = 0;
	submit(high, 10);
	launch(high, 1, 8);
}

/* The kernel ends after that, and the next one begins. */
static void long_kernel_ends_after(u64 ns)
{
	passes_for(ns, MS);
	finish(high);
	launch(high, 1, 8);
}

TEST(endless_kernels_keep_their_slots,
     "beside a kernel that has worked for a minute lower work comes back, and stays for as long as "
     "none of its waves is missing")
{
	high_begins_long_kernel();
	passes_for(FIRST * LONG - 10 * MS, MS);
	CHECK(!on_device(low));
	passes_for(30 * MS, MS);
	CHECK(on_device(low));
	passes_for(10 * SEC, MS);
	CHECK_EQ(low->preempted, 1);
	high->waves--;
	passes_for(10 * MS, MS);
	CHECK(!on_device(low));
	high->waves++;
	passes_for(LONG - 20 * MS, MS);
	CHECK(!on_device(low));
	passes_for(40 * MS, MS);
	CHECK(on_device(low));
	/* The next mistake lasts for twice as long. */
	high->waves--;
	passes_for(LONG + 20 * MS, MS);
	CHECK(!on_device(low));
	passes_for(LONG + 20 * MS, MS);
	CHECK(on_device(low));
}

TEST(long_kernels_lose_little,
     "lower work stays beside a long kernel until that has taken a thirtieth more than the one "
     "before it had alone")
{
	high_begins_long_kernel();
	long_kernel_ends_after(2 * LONG);
	passes_for(LONG - 10 * MS, MS);
	CHECK(!on_device(low));
	passes_for(30 * MS, MS);
	CHECK(on_device(low));
	passes_for(LONG + 30 * MS, MS);
	CHECK(on_device(low));
	passes_for(30 * MS, MS);
	CHECK(!on_device(low));
	/* Beside lower work nothing is learnt of it. */
	long_kernel_ends_after(2 * LONG);
	passes_for(LONG + 20 * MS, MS);
	CHECK(on_device(low));
	long_kernel_ends_after(LONG / 5);
	passes_for(2 * LONG, MS);
	CHECK(on_device(low));
}

TEST(long_kernels_give_no_slots_in_vain,
     "lower work that gets no slots beside a long kernel leaves, and has its turns as ever")
{
	high_begins_long_kernel();
	long_kernel_ends_after(3 * LONG);
	passes_for(LONG + 20 * MS, MS);
	CHECK(on_device(low));
	node.params.max_hold_ns = 100 * MS;
	finish(low);
	time_until(low, false, 20 * MS);
}

TEST(packets_behind_a_long_kernel_have_the_device,
     "a packet that comes beside a long kernel, to whatever queue, has lower work leave")
{
	struct queue *second;

	high_begins_long_kernel();
	second = new_queue(high->process, HIGH);
	long_kernel_ends_after(3 * LONG);
	passes_for(LONG + 20 * MS, MS);
	CHECK(on_device(low));
	submit(second, 1);
	passes_for(2 * POLL, POLL);
	CHECK(!on_device(low));
	drain(second);
	passes_for(LONG + 20 * MS, MS);
	CHECK(on_device(low));
	submit(high, 1);
	passes_for(2 * POLL, POLL);
	CHECK(!on_device(low));
}

TEST(short_kernels_are_no_long_ones,
     "a process whose kernels are short has the device alone until its speed is known, however "
     "long it works")
{
	two_processes();
	low_hogs_beside_new_high();
	high->process->policy.beside.episodes = 0;
	submit(high, 200);
	TIMES(200) {
		high_runs(20 * MS);
		CHECK(!on_device(low));
	}
}

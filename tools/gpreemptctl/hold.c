// SPDX-License-Identifier: MIT
/* hold.c - gpreemptctl preempt, resume, hint */
#include <errno.h>

#include "gpreemptctl.h"

static int open_target(const struct options *o, struct gpreempt **g)
{
	if (!(o->given & GIVEN_PID))
		return fail(EXIT_USAGE, "which one? -p PID, or -p PID -g GPU -q QUEUE");
	if (o->given & GIVEN_QUEUE && !(o->given & GIVEN_GPU))
		return fail(EXIT_USAGE, "a queue is named by -p PID -g GPU -q QUEUE, as in the output of list");
	return open_scheduler(g);
}

/**
 * struct done - what was done to the targets together
 * @nr_targets: those that it was done to
 * @nr: their queues that were held, or given back
 * @nr_off: those that are off the device for another reason
 */
struct done {
	int nr_targets;
	int nr;
	unsigned int nr_off;
};

static int hold_take(struct gpreempt *g, const struct options *o, const struct gpreempt_target *target, void *data)
{
	int nr = gpreempt_preempt(g, target, 0, o->unbounded ? GPREEMPT_HOLD_UNBOUNDED : 0);
	struct done *done = data;

	if (nr < 0)
		return fail_errno(nr, "preempt");
	done->nr_targets++;
	done->nr += nr;
	return 0;
}

int cmd_preempt(const struct options *o)
{
	struct done done = { 0 };
	struct gpreempt *g;
	int status, failed;
	pid_t pid;

	if (o->nr_args && o->given & GIVEN_FOR)
		return fail(EXIT_USAGE, "preempt: for some time or for as long as a program runs, not both");
	status = open_target(o, &g);
	if (status)
		return status;
	/* A signal that comes early ends the hold as well, but in the ordinary way. */
	if (!o->nr_args)
		block_signals();
	failed = each_target(g, o, hold_take, &done);
	if (done.nr_targets && o->nr_args) {
		pid = start_child(o->args, NULL);
		status = pid < 0 ? fail_system(pid, "preempt: fork") : wait_for_child(pid);
	} else if (done.nr_targets) {
		/* A hold is the descriptor's: it lasts as long as this program. */
		fprintf(stderr, "gpreemptctl: %d queue%s off the device%s\n", done.nr, done.nr == 1 ? "" : "s",
			o->given & GIVEN_FOR ? "" : "; ctrl-C gives them back");
		wait_for_signal(o->for_s);
	}
	gpreempt_close(g);
	return status ? status : failed;
}

/* So long resume waits until queues are back. */
#define BACK_MS		1000

static int hold_give_back(struct gpreempt *g, const struct options *o, const struct gpreempt_target *target, void *data)
{
	struct done *done = data;
	unsigned int nr_off = 0;
	int nr;

	(void)o;
	nr = gpreempt_resume_wait(g, target, BACK_MS, GPREEMPT_HOLD_EVERYBODYS, &nr_off);
	/* A module before version 10 does not wait. */
	if (nr == -EINVAL)
		nr = gpreempt_resume_all(g, target);
	if (nr == -ETIME)
		return fail(EXIT_FAILED, "resume: the holds have ended, but %u of the queues are not back after %d ms", nr_off, BACK_MS);
	if (nr < 0)
		return fail_errno(nr, "resume");
	done->nr_targets++;
	done->nr += nr;
	done->nr_off += nr_off;
	return 0;
}

int cmd_resume(const struct options *o)
{
	struct done done = { 0 };
	json_object *document;
	struct gpreempt *g;
	int status = open_target(o, &g);

	if (status)
		return status;
	status = each_target(g, o, hold_give_back, &done);
	gpreempt_close(g);
	if (!done.nr_targets)
		return status;
	if (o->json) {
		document = new_document();
		add_number(document, "resumed", done.nr);
		add_number(document, "off", done.nr_off);
		print_json(document);
	} else if (done.nr_off) {
		printf("%d queue%s given back; off the device for another reason: %u (gpreemptctl why)\n", done.nr, done.nr == 1 ? "" : "s",
		       done.nr_off);
	} else {
		printf("%d queue%s given back\n", done.nr, done.nr == 1 ? "" : "s");
	}
	return status;
}

static int hold_hint(struct gpreempt *g, const struct options *o, const struct gpreempt_target *target, void *within_s)
{
	int error = gpreempt_hint(g, target, (unsigned int)(*(double *)within_s * 1e6));

	(void)o;
	return error ? fail_errno(error, "hint") : 0;
}

int cmd_hint(const struct options *o)
{
	double within_s = o->given & GIVEN_FOR ? o->for_s : 1;
	struct gpreempt *g;
	int status;

	if (within_s > 1)
		return fail(EXIT_USAGE, "hint: %g s is above 1 s, the longest that others are kept waiting", within_s);
	status = open_target(o, &g);
	if (status)
		return status;
	status = each_target(g, o, hold_hint, &within_s);
	gpreempt_close(g);
	return status;
}

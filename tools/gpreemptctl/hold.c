// SPDX-License-Identifier: MIT
/* hold.c - gpreemptctl preempt, resume, hint */
#include <errno.h>

#include "gpreemptctl.h"

static int open_target(const struct options *o, struct gpreempt_target *target, struct gpreempt **g)
{
	int status;

	if (!(o->given & GIVEN_PID))
		return fail(EXIT_USAGE, "which one? -p PID, or -p PID -g GPU -q QUEUE");
	status = get_target(o, target);
	return status ? status : open_scheduler(g);
}

int cmd_preempt(const struct options *o)
{
	struct gpreempt_target target;
	struct gpreempt *g;
	int nr, status;
	pid_t pid;

	if (o->nr_args && o->given & GIVEN_FOR)
		return fail(EXIT_USAGE, "preempt: for some time or for as long as a program runs, not both");
	status = open_target(o, &target, &g);
	if (status)
		return status;
	/* A signal that comes early ends the hold as well, but in the ordinary way. */
	if (!o->nr_args)
		block_signals();
	nr = gpreempt_preempt(g, &target, 0, o->unbounded ? GPREEMPT_HOLD_UNBOUNDED : 0);
	if (nr < 0) {
		status = fail_errno(nr, "preempt");
	} else if (o->nr_args) {
		pid = start_child(o->args, NULL);
		status = pid < 0 ? fail_system(pid, "preempt: fork") : wait_for_child(pid);
	} else {
		/* A hold is the descriptor's: it lasts as long as this program. */
		fprintf(stderr, "gpreemptctl: %d queue%s off the device%s\n", nr, nr == 1 ? "" : "s",
			o->given & GIVEN_FOR ? "" : "; ctrl-C gives them back");
		wait_for_signal(o->for_s);
	}
	gpreempt_close(g);
	return status;
}

/* So long resume waits until queues are back. */
#define BACK_MS		1000

int cmd_resume(const struct options *o)
{
	struct gpreempt_target target;
	unsigned int nr_off = 0;
	json_object *document;
	struct gpreempt *g;
	int nr, status = open_target(o, &target, &g);

	if (status)
		return status;
	nr = gpreempt_resume_wait(g, &target, BACK_MS, GPREEMPT_HOLD_EVERYBODYS, &nr_off);
	/* A module before version 10 does not wait. */
	if (nr == -EINVAL)
		nr = gpreempt_resume_all(g, &target);
	gpreempt_close(g);
	if (nr == -ETIME)
		return fail(EXIT_FAILED, "resume: the holds have ended, but %u of the queues are not back after %d ms", nr_off, BACK_MS);
	if (nr < 0)
		return fail_errno(nr, "resume");
	if (o->json) {
		document = new_document();
		add_number(document, "resumed", nr);
		add_number(document, "off", nr_off);
		print_json(document);
	} else if (nr_off) {
		printf("%d queue%s given back; off the device for another reason: %u (gpreemptctl why)\n", nr, nr == 1 ? "" : "s", nr_off);
	} else {
		printf("%d queue%s given back\n", nr, nr == 1 ? "" : "s");
	}
	return EXIT_DONE;
}

int cmd_hint(const struct options *o)
{
	double within_s = o->given & GIVEN_FOR ? o->for_s : 1;
	struct gpreempt_target target;
	struct gpreempt *g;
	int error, status;

	if (within_s > 1)
		return fail(EXIT_USAGE, "hint: %g s is above 1 s, the longest that others are kept waiting", within_s);
	status = open_target(o, &target, &g);
	if (status)
		return status;
	error = gpreempt_hint(g, &target, (unsigned int)(within_s * 1e6));
	gpreempt_close(g);
	return error ? fail_errno(error, "hint") : EXIT_DONE;
}

// SPDX-License-Identifier: MIT
/*
 * fuzz_inputs.c - inputs that nobody thought of, for policy, tunables and commands
 *
 * An input's first byte chooses what it is for. With clang's libFuzzer it is a fuzzer; compiled with FUZZ_REPLAY it runs the files that it is given,
 * each as one input, and prints TAP. Whatever the input, the sanitizers and the fakes must find nothing, and what is said below must hold.
 */
#include "demand.h"
#include "fuzz.h"
#include "pass.h"
#include "tap.h"

/* Inputs that begin with it are sessions (fuzz.h). */
#define SESSION	'S'

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *input;
static size_t left;

static u64 take(unsigned int bytes)
{
	u64 n = 0;

	for (; bytes && left; bytes--, left--)
		n = n << 8 | *input++;
	return n;
}

static const char *const names[] = {
	"gpreempt_interval_ms", "gpreempt_poll_us", "gpreempt_max_hold_ms", "gpreempt_relief_ms", "gpreempt_blocked_us", "gpreempt_overhead_pct",
	"gpreempt_aging_ms", "gpreempt_min_run_us", "gpreempt_resume_delay_us", "gpreempt_slice_us", "gpreempt_nice", "gpreempt_trust_kfd_priority",
	"gpreempt_hw_priority", "gpreempt_verify", "gpreempt_wakeup", "gpreempt_unmap", "gpreempt_policy", "gpreempt_enable", "gpreempt_drain_us",
};

/* A value is taken or refused; what is in force can be read, and written back. */
static void fuzz_tunables(void)
{
	const char *name = names[take(1) % ARRAY_SIZE(names)];
	char value[64] = "", before[64], after[64];
	size_t n = left < sizeof(value) - 1 ? left : sizeof(value) - 1;
	int r;

	memcpy(value, input, n);
	BUG_ON(shim_param_get(name, before) <= 0);
	r = shim_param_set(name, value);
	BUG_ON(shim_param_get(name, after) <= 0);
	BUG_ON(r && strcmp(before, after));
	BUG_ON(shim_param_set(name, after));
	BUG_ON(shim_param_get(name, value) <= 0 || strcmp(value, after));
	BUG_ON(shim_param_set(name, before));
	gpreempt_params_store(node_of(0), take(1) % GPREEMPT_NR_TUNABLES, "default\n");
	shim_log[0] = 0;
}

static const unsigned int known[] = {
	GPREEMPT_IOC_INFO, GPREEMPT_IOC_LIST, GPREEMPT_IOC_SET_PRIORITY, GPREEMPT_IOC_SET_PARAM, GPREEMPT_IOC_PREEMPT, GPREEMPT_IOC_RESUME,
	GPREEMPT_IOC_HINT, GPREEMPT_IOC_SET_JOB, GPREEMPT_IOC_SET_SHARE, GPREEMPT_IOC_LIST_SHARES,
	GPREEMPT_IOC_FITS,
};

/* Commands with anything in them, from anybody; an error leaves no hold behind that its file does not take along. */
static void fuzz_commands(void)
{
	const struct file_operations *fops = shim_miscdevice->fops;
	static const struct cred cred = { .user_ns = &init_user_ns };
	struct file file = { .f_flags = O_NONBLOCK, .f_cred = &cred };
	unsigned char argument[256], array[4096];
	u32 i, nr = 1 + take(1) % 4;

	current->caps = take(1) % 4;
	BUG_ON(fops->open(NULL, &file));
	for (i = 0; i < nr; i++) {
		unsigned int cmd = known[take(1) % ARRAY_SIZE(known)];
		size_t size = _IOC_SIZE(cmd), k;

		/* Mostly zero: few inputs get beyond the reserved members otherwise. */
		memset(argument, 0, sizeof(argument));
		for (k = take(1) % 8; k; k--) {
			size_t at = take(1) % size;

			argument[at] = take(1);
		}
		if (cmd == GPREEMPT_IOC_LIST)
			((struct gpreempt_list *)argument)->queues = ((struct gpreempt_list *)argument)->nr_queues > 8 ? 0 : (unsigned long)array;
		if (cmd == GPREEMPT_IOC_INFO)
			((struct gpreempt_info *)argument)->nodes = ((struct gpreempt_info *)argument)->nr_nodes > 8 ? 0 : (unsigned long)array;
		if (cmd == GPREEMPT_IOC_LIST_SHARES)
			((struct gpreempt_list_shares *)argument)->shares =
				((struct gpreempt_list_shares *)argument)->nr_shares > 8 ? 0 : (unsigned long)array;
		if (cmd == GPREEMPT_IOC_FITS)
			((struct gpreempt_fits *)argument)->nodes = ((struct gpreempt_fits *)argument)->nr_nodes > 8 ? 0 : (unsigned long)array;
		if (cmd == GPREEMPT_IOC_PREEMPT)
			((struct gpreempt_hold *)argument)->timeout_ms %= 50;
		fops->unlocked_ioctl(&file, take(1) % 16 ? cmd : cmd ^ 1 << take(1) % 16, (unsigned long)argument);
		run(MS);
		fops->read(&file, (char *)array, take(1) * 16, NULL);
		fops->poll(&file, NULL);
	}
	fops->release(NULL, &file);
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
	run(6 * MS);
	EACH_QUEUE(sq)
		BUG_ON(!list_empty(&PART(struct gpreempt_queue_holds, hold, QUEUE, sq->q.gpreempt)->list) || sq->q.gpreempt->hold.any);
	shim_log[0] = 0;
}

#define NR_FUZZED	6

static const struct gpreempt_policy_ops *any_policy(u64 number)
{
	u32 nr = 0;

	while (gpreempt_policies[nr])
		nr++;
	return gpreempt_policies[number % nr];
}

static bool any_waves(struct gpreempt_policy_node *pn, struct gpreempt_pass *pass)
{
	u32 i;

	for (i = 0; i < pn->nr; i++)
		if (!pn->queues[i]->preempted)
			gpreempt_demand_set_waves(pn->queues[i], take(1) % 3, pass->now_ns);
	return true;
}

/* Any samples, any tunables, any policy: actions fit the state of their queue, and counts the actions. */
static void fuzz_policy(void)
{
	struct gpreempt_policy_process processes[3] = { 0 };
	struct gpreempt_policy_queue queues[NR_FUZZED] = { 0 }, *list[NR_FUZZED];
	struct gpreempt_policy_node pn = { .queues = list };
	struct gpreempt_pass pass;
	u64 now_ns = 50 * 86400 * SEC;
	u32 i;

	for (i = 0; i < NR_FUZZED; i++) {
		list[i] = &queues[i];
		queues[i].process = &processes[i % ARRAY_SIZE(processes)];
	}
	pn.nr = 1 + take(1) % NR_FUZZED;
	gpreempt_policy_use(&pn, any_policy(take(1)));
	pn.params = (struct gpreempt_policy_params){ .interval_ns = 5 * MS, .poll_ns = 200 * US, .relief_ns = 20 * MS, .slice_ns = 5 * MS };
	pn.device.waves_known = take(1) % 4;
	while (left) {
		u32 nr_preempt = 0, nr_resume = 0;
		struct gpreempt_policy_queue *q = &queues[take(1) % NR_FUZZED];
		u64 value = take(2);

		switch (take(1) % 16) {
		case 0: q->set.priority = (s32)(value % 2047) - 1023; pn.changed = true; break;
		case 1: q->set.own_priority = (s32)(value % 2047) - 1023; pn.changed = true; break;
		case 2: q->set.explicit_priority = value & 1; pn.changed = true; break;
		case 3: q->set.immovable = value & 1; break;
		case 4: q->set.hold = value & 1; q->set.hold_unbounded = value & 2; break;
		case 5: q->set.weight = value % 10001; pn.changed = true; break;
		case 6: q->set.deadline_ns = value * US; pn.changed = true; break;
		case 7: q->process->opt_out = value & 1; break;
		case 8: q->process->weight = value % 10001; pn.changed = true; break;
		case 9: q->set.expected_until_ns = now_ns + value * US; break;
		case 10: pn.params.max_hold_ns = value * US * 100; break;
		case 11: pn.params.blocked_ns = value * US; pn.params.aging_ns = (value & 7) * MS; break;
		case 12: pn.params.min_run_ns = value * US / 10; pn.params.overhead_pct = value % 51; break;
		case 13: pn.params.resume_delay_ns = value * US / 10; pn.params.drain_ns = (value >> 3) * US; break;
		case 14: gpreempt_policy_use(&pn, any_policy(value)); break;
		}
		now_ns += take(1) * 50 * US;
		for (i = 0; i < pn.nr; i++) {
			q = &queues[i];
			value = take(1);
			gpreempt_demand_sample(q, q->seen.rptr + (q->preempted ? 0 : value >> 6), q->seen.rptr + (value >> 6) + (value >> 4 & 3), value >> 4 & 3, now_ns);
		}
		if (value & 1)
			gpreempt_demand_runlist_changed(&pn, now_ns);
		pass = (struct gpreempt_pass){ .now_ns = now_ns, .policy = pn.ops };
		BUG_ON(!gpreempt_pass_look(&pn, &pass, any_waves));
		gpreempt_pass_decide(&pn, &pass);
		for (i = 0; i < pn.nr; i++) {
			q = &queues[i];
			nr_preempt += q->action == GPREEMPT_PREEMPT;
			nr_resume += q->action == GPREEMPT_RESUME;
			BUG_ON(q->action == GPREEMPT_PREEMPT && (q->preempted || q->set.immovable || q->process->opt_out));
			BUG_ON(q->action == GPREEMPT_RESUME && !q->preempted);
			/* Whoever may not be held is not. */
			BUG_ON(q->preempted && (q->set.immovable || q->process->opt_out) && q->action != GPREEMPT_RESUME);
			if (q->action == GPREEMPT_PREEMPT)
				gpreempt_policy_preempted(q, value & 2, now_ns);
			else if (q->action == GPREEMPT_RESUME)
				gpreempt_policy_resumed(q, now_ns);
		}
		BUG_ON(pass.decision.nr_preempt != nr_preempt || pass.decision.nr_resume != nr_resume);
		BUG_ON(pass.decision.park && nr_preempt);
		BUG_ON(pass.decision.next_ns < 10 * US || pass.decision.next_ns > pn.params.interval_ns);
		if (nr_preempt || nr_resume)
			gpreempt_policy_overhead(&pn, value * 10 * US, nr_preempt, now_ns);
	}
}

static bool any_left(void)
{
	return left;
}

/* On a device of its own */
static void fuzz_whole_session(void)
{
	static const struct fuzz_lots lots = { .draw = take, .left = any_left };

	if (world.kfd.num_nodes)
		world_end();
	fuzz_session(&lots, 1000);
}

static void start(void)
{
	static bool started;

	if (!started)
		shim_init();
	started = true;
}

static void make_world(void)
{
	u32 i;

	if (world.kfd.num_nodes)
		return;
	world_on(true);
	for (i = 0; i < 4; i++)
		submit(add_queue(i * 3), 3);
	run(20 * MS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const kinds[])(void) = { fuzz_policy, fuzz_tunables, fuzz_commands };

	if (!size)
		return 0;
	start();
	input = data + 1;
	left = size - 1;
	if (data[0] == SESSION) {
		fuzz_whole_session();
		return 0;
	}
	make_world();
	kinds[data[0] % ARRAY_SIZE(kinds)]();
	return 0;
}

/* What tests call and a fuzzer need not. */
void tap_fail(const char *file, int line, const char *format, ...)
{
	shim_bug(file, line, format);
}

#ifdef FUZZ_REPLAY
int main(int argc, char **argv)
{
	static uint8_t data[65536];
	FILE *file;
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..%d\n", argc - 1);
	for (i = 1; i < argc; i++) {
		file = fopen(argv[i], "rb");
		if (!file)
			return 2;
		LLVMFuzzerTestOneInput(data, fread(data, 1, sizeof(data), file));
		fclose(file);
		printf("ok %d %s\n", i, strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i]);
	}
	return 0;
}
#endif

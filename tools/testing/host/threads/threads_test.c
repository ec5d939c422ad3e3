// SPDX-License-Identifier: MIT
/*
 * threads_test.c - the core with tasks that really run at the same time, for ThreadSanitizer
 *
 * The other tests run one task at a time, so they never see two of them in the same place. Here time is real, and whoever may call the core at any
 * time does: the driver for its programs, somebody who writes parameters, somebody who switches nodes off and on, and clients of /dev/kfd_gpreempt,
 * beside monitors and work items. What comes of it is looked at only at the end; ThreadSanitizer looks at every access.
 *
 * What the driver does itself is done by one task, as the world's own tables have no locks. ROUNDS: how often it does something.
 */
#include "fake_amdkfd.h"
#include "tap.h"

const bool tap_forks = true;

#define NR_PROCESSES	6

static bool over;
static u32 nr_commands;

void tap_reset(void)
{
	shim_free_running = true;
	shim_init();
}

/* Each task has its own. */
static u32 next(u32 *state, u32 n)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 8) % n;
}

/* ---- who else calls ---- */

static int write_parameters(void *unused)
{
	static const char *const writes[][2] = {
		{ "gpreempt_interval_ms", "2" }, { "gpreempt_interval_ms", "5" }, { "gpreempt_poll_us", "50" }, { "gpreempt_poll_us", "200" },
		{ "gpreempt_policy", "wfq" }, { "gpreempt_policy", "edf" }, { "gpreempt_policy", "hpf" }, { "gpreempt_verify", "1" },
		{ "gpreempt_verify", "0" }, { "gpreempt_hw_priority", "follow" }, { "gpreempt_hw_priority", "normal" }, { "gpreempt_nice", "0" },
		{ "gpreempt_nice", "1" }, { "gpreempt_max_hold_ms", "5" }, { "gpreempt_relief_ms", "1" },
		{ "gpreempt_wakeup", "doorbell" }, { "gpreempt_wakeup", "doorbell" }, { "gpreempt_wakeup", "poll" },
	};
	char text[64];
	u32 state = 1;

	while (!READ_ONCE(over)) {
		u32 i = next(&state, ARRAY_SIZE(writes)), n = next(&state, 2);

		CHECK_EQ(shim_param_set(writes[i][0], writes[i][1]), 0);
		shim_param_get("gpreempt_policy", text);
		CHECK_EQ(gpreempt_params_store(node_of(n), GPREEMPT_TUNABLE_INTERVAL_MS, "3"), 0);
		gpreempt_tunables_show(node_of(n), GPREEMPT_TUNABLE_INTERVAL_MS, text);
		CHECK_EQ(gpreempt_params_store(node_of(n), GPREEMPT_TUNABLE_POLICY, "default"), 0);
		set_user_nice(&world.processes[next(&state, NR_PROCESSES)]->task, next(&state, 15));
		fsleep(300);
	}
	return 0;
}

static int switch_nodes(void *unused)
{
	u32 state = 2;

	while (!READ_ONCE(over)) {
		bool on = next(&state, 3);

		if (next(&state, 2))
			gpreempt_life_enable(on);
		else
			while (gpreempt_life_enable_node(node_of(next(&state, 2)), on) == -ERESTARTNOINTR)
				;
		gpreempt_node_state_name(node_of(0));
		gpreempt_node_enabled(0);
		fsleep(on ? 5000 : 500);
	}
	return 0;
}

static long command(struct file *file, unsigned int cmd, void *argument)
{
	__atomic_add_fetch(&nr_commands, 1, __ATOMIC_RELAXED);
	return shim_miscdevice->fops->unlocked_ioctl(file, cmd, (unsigned long)argument);
}

static struct gpreempt_target any_target(u32 *state)
{
	struct gpreempt_target target = { .scope = GPREEMPT_SCOPE_PROCESS, .pid = 100 + next(state, NR_PROCESSES) };

	return target;
}

static void be_client(struct file *file, u32 *state)
{
	struct gpreempt_queue_info infos[8];
	struct gpreempt_event events[8];
	struct gpreempt_list list = { .target = { .scope = GPREEMPT_SCOPE_ALL }, .nr_queues = 8, .queues = (unsigned long)infos };
	struct gpreempt_priority priority = { .target = any_target(state), .priority = next(state, 20) };
	struct gpreempt_hold hold = { .target = any_target(state), .timeout_ms = 2 };
	struct gpreempt_hint hint = { .target = any_target(state), .within_us = 500 };
	struct gpreempt_set_job job = { .target = any_target(state), .job = 1 + next(state, 2), .flags = next(state, 2) ? GPREEMPT_JOB_STAY : 0 };

	switch (next(state, 7)) {
	case 0:
		command(file, GPREEMPT_IOC_LIST, &list);
		break;
	case 1:
		command(file, GPREEMPT_IOC_SET_PRIORITY, &priority);
		break;
	case 2:
		command(file, GPREEMPT_IOC_PREEMPT, &hold);
		break;
	case 3:
		command(file, GPREEMPT_IOC_RESUME, &hold);
		break;
	case 4:
		command(file, GPREEMPT_IOC_HINT, &hint);
		break;
	case 5:
		command(file, GPREEMPT_IOC_SET_JOB, &job);
		break;
	case 6:
		shim_miscdevice->fops->poll(file, NULL);
		shim_miscdevice->fops->read(file, (char *)events, sizeof(events), NULL);
		break;
	}
}

static int use_uapi(void *number)
{
	static const struct cred cred = { .user_ns = &init_user_ns };
	u32 state = 3 + (unsigned long)number;

	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
	while (!READ_ONCE(over)) {
		struct file file = { .f_flags = O_NONBLOCK, .f_cred = &cred, .opener_is_admin = true };

		CHECK_EQ(shim_miscdevice->fops->open(NULL, &file), 0);
		TIMES(40) {
			be_client(&file, &state);
			fsleep(100);
		}
		CHECK_EQ(shim_miscdevice->fops->release(NULL, &file), 0);
	}
	return 0;
}

/* ---- the driver ---- */

static void drive(u32 *state)
{
	struct sim_queue *sq = world.queues[next(state, world.nr_queues)];
	u32 what = next(state, 12), i;

	if (what == 0 && world.nr_queues < NR_QUEUES_MAX - 2)
		add_queue_to(world.processes[next(state, NR_PROCESSES)], next(state, 2), NORMAL);
	if (sq->gone)
		return;
	switch (what) {
	case 1:
		if (world.nr_queues > 8 && next(state, 2))
			destroy_queue(sq);
		break;
	case 2:
		/* Several in a row, so that one of them meets a look. */
		for (i = 0; i < 40; i++)
			update_queue(sq, i % 2 ? NORMAL : LOW);
		break;
	case 3:
		evict_queue(sq, !sq->q.properties.is_evicted);
		break;
	case 4:
		debug_process(process_of(sq), next(state, 2));
		break;
	case 5:
		if (!next(state, 4)) {
			suspend();
			resume();
		}
		break;
	default:
		if (sq->submitted - sq->done < 10) {
			sq->kernel_ns = (1 + next(state, 20)) * 100 * US;
			submit(sq, 1 + next(state, 4));
		}
	}
}

static u32 nr_rounds(void)
{
	const char *rounds = getenv("ROUNDS");

	return rounds && *rounds ? atoi(rounds) : 1000;
}

BOTH(threads_meet, "whoever calls the core at the same time as others finds it whole, and everybody's work is done")
{
	struct task_struct *tasks[4];
	u32 i, state = 4;

	world_make(hws, 1, 2);
	/* Doorbells of whoever opens /dev/kfd now can be withdrawn. */
	shim_param_set("gpreempt_wakeup", "doorbell");
	shim_param_set("gpreempt_enable", "1");
	for (i = 0; i < NR_PROCESSES; i++) {
		add_process(i % 3 * 5);
		add_queue_to(world.processes[i], i % 2, NORMAL);
	}
	tasks[0] = kthread_create(write_parameters, NULL, "parameters");
	tasks[1] = kthread_create(switch_nodes, NULL, "switch");
	/* Both are the administrator's. */
	tasks[0]->caps = tasks[1]->caps = CAP_SYS_ADMIN;
	tasks[2] = kthread_create(use_uapi, (void *)0UL, "client");
	tasks[3] = kthread_create(use_uapi, (void *)1UL, "client");
	for (i = 0; i < ARRAY_SIZE(tasks); i++)
		wake_up_process(tasks[i]);
	for (i = nr_rounds(); i; i--) {
		drive(&state);
		run(500 * US);
	}
	WRITE_ONCE(over, true);
	for (i = 0; i < ARRAY_SIZE(tasks); i++)
		kthread_stop(tasks[i]);
	CHECK(READ_ONCE(nr_commands) > 20);

	/* Everybody ends as usual. */
	shim_param_set("gpreempt_policy", "hpf");
	shim_param_set("gpreempt_enable", "1");
	EACH_QUEUE(sq) {
		debug_process(process_of(sq), false);
		if (!sq->gone && sq->q.properties.is_evicted)
			evict_queue(sq, false);
	}
	world_end();
}

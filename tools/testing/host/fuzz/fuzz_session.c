// SPDX-License-Identifier: MIT
/*
 * fuzz_session.c - what several users do to a device, all mixed: see fuzz.h
 *
 * Users have programs, programs have queues and work. Commands come from any of them, through /dev/kfd_gpreempt (several files each) and /dev/kfd;
 * root writes parameters, files of nodes and of queues, reads files and dumps; queues and programs come, change and go; now and then the device is
 * suspended or reset. fake_amdkfd.c looks after what must hold at every moment, the fakes and the sanitizers after memory and locks.
 */
#include "fuzz.h"
#include "tap.h"

#define NR_USERS	4
#define NR_FILES	12
#define MAX_QUEUES	16	/* that are there at a time */

static const struct fuzz_lots *lots;

static u32 any(u32 n)
{
	return (u32)(lots->draw(n > 65536 ? 4 : n > 256 ? 2 : 1) % n);
}

static bool one_in(u32 n)
{
	return !any(n);
}

/**
 * struct user - somebody who calls
 * @uid: 0 is root
 * @caps: capabilities
 */
static const struct user {
	u32 uid;
	u32 caps;
} users[NR_USERS] = {
	{ 0, CAP_SYS_NICE | CAP_SYS_ADMIN },
	{ 1000, 0 },
	{ 1001, 0 },
	{ 1002, CAP_SYS_NICE },
};

/**
 * struct open_file - a descriptor of /dev/kfd_gpreempt
 * @file: the file
 * @is_open: it is
 */
static struct open_file {
	struct file file;
	bool is_open;
} files[NR_FILES];

static const struct cred creds[NR_USERS] = { [0 ... NR_USERS - 1] = { .user_ns = &init_user_ns } };
static struct task_struct before;	/* what the caller was */

/* From now on it is this user's program that calls; NULL: one without a GPU. */
static void become(u32 user, struct sim_process *process)
{
	current->euid = (kuid_t){ users[user].uid };
	current->caps = users[user].caps;
	current->group_leader = process ? &process->task : before.group_leader;
}

static void become_root(void)
{
	current->euid = before.euid;
	current->caps = before.caps;
	current->group_leader = before.group_leader;
}

static u32 user_of(const struct sim_process *process)
{
	u32 i;

	for (i = 0; i < NR_USERS - 1 && users[i].uid != process->task.euid.val; i++)
		;
	return i;
}

/* One that is there; NULL: none of those looked at */
static struct sim_queue *some_queue(void)
{
	u32 tries;

	for (tries = 0; world.nr_queues && tries < 8; tries++) {
		struct sim_queue *sq = world.queues[any(world.nr_queues)];

		if (!sq->gone)
			return sq;
	}
	return NULL;
}

static u32 queues_there(void)
{
	u32 n = 0;

	EACH_QUEUE(sq)
		n += !sq->gone;
	return n;
}

/* ---- commands ---- */

static u32 some_u32(void)
{
	static const u32 values[] = { 0, 1, 2, 7, 8, 15, 255, 1023, 1024, 10000, 10001, 0x7fffffff, 0x80000000, ~0U };

	return one_in(4) ? (u32)lots->draw(4) : values[any(ARRAY_SIZE(values))];
}

/* Of these scopes, mostly: not every command is for all of them. */
static struct gpreempt_target some_target(const struct sim_queue *sq, u32 scopes)
{
	struct gpreempt_target t = { .scope = one_in(32) ? some_u32() : one_in(16) ? any(4) : any(scopes) };

	if (t.scope <= GPREEMPT_SCOPE_PROCESS)
		t.pid = one_in(8) ? (s32)some_u32() : one_in(4) || !sq ? 0 : process_of(sq)->pid.nr;
	if (t.scope == GPREEMPT_SCOPE_QUEUE || (t.scope == GPREEMPT_SCOPE_PROCESS && one_in(4)))
		t.gpu_id = one_in(16) || !sq ? some_u32() : sq->q.device->id;
	if (t.scope == GPREEMPT_SCOPE_QUEUE)
		t.queue_id = one_in(8) || !sq ? some_u32() : sq->q.properties.queue_id;
	if (t.scope == GPREEMPT_SCOPE_CGROUP)
		t.cgroup_fd = one_in(4) ? (s32)some_u32() : (s32)any(4);
	if (one_in(64))
		t.context = some_u32();
	return t;
}

static unsigned char array[65536] __aligned(8);

static unsigned long some_array(void)
{
	return one_in(16) ? any(2) * 8 : (unsigned long)array;
}

union argument {
	struct gpreempt_info info;
	struct gpreempt_list list;
	struct gpreempt_priority priority;
	struct gpreempt_set_param param;
	struct gpreempt_hold hold;
	struct gpreempt_hint hint;
	u8 bytes[256];
};

/* The driver's own (0) is seconds, in which the device stands still: nothing runs but who calls. */
static u32 some_timeout_ms(void)
{
	return one_in(4096) ? 0 : 1;
}

/* What the arrays that the kernel writes have room for is not for the dice. */
static unsigned int some_command(union argument *a, const struct sim_queue *sq)
{
	memset(a, 0, sizeof(*a));
	switch (any(8)) {
	case 0:
		a->info = (struct gpreempt_info){ .nodes = some_array(), .nr_nodes = any(4) };
		return GPREEMPT_IOC_INFO;
	case 1:
		a->list = (struct gpreempt_list){ .target = some_target(sq, 4), .queues = some_array(), .nr_queues = any(100) };
		return GPREEMPT_IOC_LIST;
	case 2:
		a->priority = (struct gpreempt_priority){ .target = some_target(sq, 3), .flags = any(4) };
		a->priority.priority = a->priority.flags & GPREEMPT_PRIORITY_CLEAR ? 0 : one_in(4) ? (s32)some_u32() : (s32)any(40) - 20;
		return GPREEMPT_IOC_SET_PRIORITY;
	case 3:
		a->param = (struct gpreempt_set_param){ .target = some_target(sq, 2), .param = any(6),
							 .value = one_in(2) ? any(4) : some_u32() };
		/* A process has one of the first pids. */
		if (a->param.param == GPREEMPT_PARAM_WAITS_FOR && a->param.value < 4)
			a->param.value += 100;
		return GPREEMPT_IOC_SET_PARAM;
	case 4:
	case 5:
		a->hold = (struct gpreempt_hold){ .target = some_target(sq, 2), .timeout_ms = some_timeout_ms(),
						     .flags = one_in(4) ? any(4) : 0 };
		return GPREEMPT_IOC_PREEMPT;
	case 6:
		a->hold = (struct gpreempt_hold){ .target = some_target(sq, 2), .flags = one_in(8) ? any(4) : any(2) };
		return GPREEMPT_IOC_RESUME;
	default:
		a->hint = (struct gpreempt_hint){ .target = some_target(sq, 2), .within_us = one_in(16) ? some_u32() : 1 + any(3000) };
		return GPREEMPT_IOC_HINT;
	}
}

static bool writes_arrays(unsigned int cmd)
{
	return cmd == GPREEMPT_IOC_INFO || cmd == GPREEMPT_IOC_LIST;
}

static void call_ours(struct open_file *f)
{
	const struct sim_queue *sq = some_queue();
	union argument a;
	unsigned int cmd = some_command(&a, sq);

	if (one_in(32) && !writes_arrays(cmd))
		a.bytes[any(_IOC_SIZE(cmd))] ^= (u8)lots->draw(1);
	if (one_in(64))
		cmd ^= 1U << any(32);
	/* A flipped bit makes one command of another. A wait of 50 days, if asked for, would be 50 days long. */
	if (cmd == GPREEMPT_IOC_PREEMPT)
		a.hold.timeout_ms %= 16384;
	shim_miscdevice->fops->unlocked_ioctl(&f->file, cmd, one_in(64) ? any(2) * 8 : (unsigned long)&a);
}

static void open_one(struct open_file *f, u32 user)
{
	f->file = (struct file){ .f_flags = O_NONBLOCK, .f_cred = &creds[user], .opener_is_admin = capable(CAP_SYS_ADMIN) };
	f->is_open = !shim_miscdevice->fops->open(NULL, &f->file);
}

static void close_one(struct open_file *f)
{
	if (f->is_open)
		shim_miscdevice->fops->release(NULL, &f->file);
	f->is_open = false;
}

/* As anybody, through any descriptor: they are passed on. */
static void use_our_device(void)
{
	struct open_file *f = &files[any(NR_FILES)];
	struct sim_queue *sq = some_queue();
	u32 user = sq && !one_in(4) ? user_of(process_of(sq)) : any(NR_USERS);

	become(user, sq && !one_in(8) ? process_of(sq) : NULL);
	if (!f->is_open)
		open_one(f, user);
	else if (one_in(24))
		close_one(f);
	else if (one_in(12))
		shim_miscdevice->fops->read(&f->file, (char *)array, any(4096), NULL);
	else if (one_in(12))
		shim_miscdevice->fops->poll(&f->file, NULL);
	else
		call_ours(f);
	become_root();
}

static void use_kfd(void)
{
	struct sim_queue *sq = some_queue();
	struct kfd_ioctl_preempt_queue_args args = {
		.queue_id = !sq || one_in(8) ? some_u32() : sq->q.properties.queue_id, .preempt_type = one_in(4) ? any(4) : 2, .timeout_ms = some_timeout_ms(),
		.pad = one_in(16),
	};
	/* Which form a resume has depends on what is drawn already, so that old inputs keep their meaning. */
	unsigned int cmd = one_in(2) ? AMDKFD_IOC_PREEMPT_QUEUE :
			   args.preempt_type % 2 ? AMDKFD_IOC_RESUME_QUEUE_LONG : AMDKFD_IOC_RESUME_QUEUE;

	if (cmd != AMDKFD_IOC_PREEMPT_QUEUE && !one_in(8))
		args.preempt_type = args.timeout_ms = args.pad = 0;
	if (one_in(32))
		cmd ^= 1U << any(32);
	if (!sq || !kfd_gpreempt_owns_ioctl(cmd))
		return;
	become(user_of(process_of(sq)), process_of(sq));
	kfd_gpreempt_ioctl(&process_of(sq)->p, cmd, one_in(32) ? any(2) * 8 : (unsigned long)&args);
	become_root();
}

/* ---- files ---- */

static const char *const parameters[] = {
	"gpreempt_interval_ms", "gpreempt_poll_us", "gpreempt_max_hold_ms", "gpreempt_relief_ms", "gpreempt_blocked_us", "gpreempt_overhead_pct",
	"gpreempt_aging_ms", "gpreempt_min_run_us", "gpreempt_resume_delay_us", "gpreempt_slice_us", "gpreempt_nice", "gpreempt_trust_kfd_priority",
	"gpreempt_hw_priority", "gpreempt_verify", "gpreempt_wakeup", "gpreempt_unmap", "gpreempt_policy", "gpreempt_drain_us",
};

static const char *some_value(void)
{
	static const char *const values[] = {
		"0", "1", "2", "5", "10\n", "40", "80", "200", "1000", "10000", "1000001", "-1", "", "x", "hpf", "wfq\n", "edf", "poll", "doorbell\n", "follow",
		"named\n", "normal", "default\n", "clear", "-1023", "1023", "1024", "99999999999999999999",
	};

	return values[any(ARRAY_SIZE(values))];
}

/* By number; its name goes to @name. */
static bool name_of_file(const struct kobject *kobj, u32 i, char *name, size_t size)
{
	if (!kobj->sd || !kobj->nr_files)
		return false;
	i %= kobj->nr_files;
	snprintf(name, size, "%s%s%s", kobj->files[i].group ?: "", kobj->files[i].group ? "/" : "", kobj->files[i].attr->name);
	return true;
}

static void use_file(void)
{
	struct gpreempt_node *gn = node_of(any(world.kfd.num_nodes));
	struct sim_queue *sq = some_queue();
	struct kobject *kobj = sq && one_in(4) ? &sq->q.kobj : &gn->sysfs.kobj;
	static char text[PAGE_SIZE];
	char name[64];

	switch (any(4)) {
	case 0:
		shim_param_set(parameters[any(ARRAY_SIZE(parameters))], some_value());
		break;
	case 1:
		if (name_of_file(kobj, any(256), name, sizeof(name)))
			shim_file_show(kobj, name, text);
		break;
	default:
		if (name_of_file(kobj, any(256), name, sizeof(name)))
			shim_file_store(kobj, name, some_value());
	}
	/* Some of it means that nothing is done for hours. */
	if (one_in(4)) {
		shim_param_set("gpreempt_max_hold_ms", "40");
		shim_param_set("gpreempt_relief_ms", "5");
		shim_param_set("gpreempt_interval_ms", "5");
		shim_param_set("gpreempt_poll_us", "80");
	}
}

/* ---- programs ---- */

static void new_queue(void)
{
	struct sim_process *process = NULL;
	struct sim_queue *sq = some_queue();
	u32 user = any(NR_USERS);

	if (world.nr_queues == NR_QUEUES_MAX || queues_there() == MAX_QUEUES)
		return;
	if (sq && one_in(2)) {
		process = process_of(sq);
	} else {
		process = add_process((s32)any(20) - 5);
		process->task.euid = (kuid_t){ users[user].uid };
		process->task.caps = users[user].caps;
	}
	sq = add_queue_to(process, any(world.kfd.num_nodes), any(16));
	sq->kernel_ns = (1 + any(8)) * 20 * US;
}

static void some_work(struct sim_queue *sq)
{
	if (sq->reset || sq->submitted - sq->done > 20)
		return;
	submit(sq, 1 + any(4));
}

static void change_programs(bool hws)
{
	struct sim_queue *sq = some_queue();

	if (!sq || one_in(12)) {
		new_queue();
		return;
	}
	switch (any(12)) {
	case 0:
		if (one_in(4))
			destroy_queue(sq);
		break;
	case 1:
		update_queue(sq, any(16));
		break;
	case 2:
		evict_queue(sq, !sq->q.properties.is_evicted);
		break;
	case 3:
		debug_itself(process_of(sq), !process_of(sq)->p.debug_trap_enabled);
		break;
	case 4:
		if (hws)
			give_gws(sq, !sq->q.properties.is_gws);
		break;
	case 5:
		set_user_nice(&process_of(sq)->task, (s32)any(20) - 5);
		break;
	case 6:
		if (one_in(16))
			kill_process(process_of(sq));
		break;
	default:
		some_work(sq);
	}
}

/* What happens to all of them */
static void change_device(void)
{
	switch (any(8)) {
	case 0:
		suspend();
		resume();
		break;
	case 1:
		reset_gpu();
		kill_all();
		break;
	case 2:
	case 3:
		shim_param_set("gpreempt_enable", "0");
		shim_param_set("gpreempt_enable", "1");
		break;
	case 4:
		shim_debugfs_read("gpreempt_dump");
		break;
	default:
		run(any(10) * MS);
	}
}

static void one_command(bool hws)
{
	switch (any(32)) {
	case 0 ... 15:
		use_our_device();
		break;
	case 16 ... 18:
		use_kfd();
		break;
	case 19 ... 23:
		use_file();
		break;
	case 24 ... 30:
		change_programs(hws);
		break;
	default:
		if (one_in(8))
			change_device();
		else
			run(TICK_NS * (1 + any(20)));
	}
	shim_log[0] = 0;
}

/* As an administrator leaves it: everything that is there can do its work. */
static void calm_down(void)
{
	u32 i;

	for (i = 0; i < NR_FILES; i++)
		close_one(&files[i]);
	EACH_QUEUE(sq) {
		if (sq->gone)
			continue;
		if (sq->q.properties.is_evicted)
			evict_queue(sq, false);
		if (sq->q.properties.is_gws)
			give_gws(sq, false);
		debug_itself(process_of(sq), false);
		set_user_nice(&process_of(sq)->task, 0);
	}
}

/* Other sessions begin with what the module begins with. */
static void default_parameters(void)
{
	static const char *const values[] = {
		"5", "80", "1000", "20", "2000", "10", "0", "0", "0", "5000", "1", "0", "normal", "0", "poll", "all", "hpf", "200",
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(parameters); i++)
		BUG_ON(shim_param_set(parameters[i], values[i]));
}

u64 fuzz_session(const struct fuzz_lots *from, u64 commands)
{
	bool hws;
	u64 i;

	lots = from;
	before = *current;
	current->caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
	before.caps = current->caps;
	hws = any(2);
	world_make(hws, 1 + any(2), 1 + any(2));
	world.nodes[0].nr_wave_slots = 1 + any(3);
	BUG_ON(shim_param_set("gpreempt_max_hold_ms", "40") || shim_param_set("gpreempt_relief_ms", "5"));
	BUG_ON(shim_param_set("gpreempt_enable", "1"));
	for (i = 0; i < 4; i++)
		new_queue();
	for (i = 0; i < commands && lots->left(); i++)
		one_command(hws);
	calm_down();
	default_parameters();
	/* A node that gave up gets another try. */
	BUG_ON(shim_param_set("gpreempt_enable", "1"));
	run(20 * MS);
	world_end();
	shim_log[0] = 0;
	return i;
}

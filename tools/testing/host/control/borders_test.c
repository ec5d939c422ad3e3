// SPDX-License-Identifier: MIT
/* borders_test.c - who sees and changes what: users, containers of one user, and the table of Documentation/security.rst */
#include <stdio.h>
#include "own_file.h"
#include "rivals.h"

#define JOB	4711

/* Two containers that the host's process 1 has made, and the rest of the world */
static struct pid_namespace containers[2] = { { .parent = &init_pid_ns }, { .parent = &init_pid_ns } };

static void become(u32 uid, u32 caps, struct pid_namespace *ns)
{
	current->euid.val = uid;
	current->caps = caps;
	current->ns = ns;
}

static void become_host(void)
{
	become(0, CAP_SYS_ADMIN | CAP_SYS_NICE, NULL);
}

static struct gpreempt_target process_target(const struct sim_queue *sq)
{
	return (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_PROCESS, .pid = process_of(sq)->pid.nr };
}

static long set_job(const struct sim_queue *sq, u64 job, u32 flags)
{
	return command(GPREEMPT_IOC_SET_JOB, &(struct gpreempt_set_job){ .target = process_target(sq), .job = job, .flags = flags });
}

static struct gpreempt_job_place *job_of(const struct sim_queue *sq)
{
	return PART(struct gpreempt_process_job, job, PROCESS, sq->q.gpreempt->process)->place;
}

static struct gpreempt_usage_info infos[16];

static u32 nr_used(u32 kind)
{
	struct gpreempt_usage usage = { .kinds = 1U << kind, .entries = (uintptr_t)infos, .nr_entries = ARRAY_SIZE(infos) };

	CHECK_EQ(command(GPREEMPT_IOC_USAGE, &usage), 0);
	return usage.nr_entries;
}

static u32 nr_listed(void)
{
	struct gpreempt_list list = { .target = { .scope = GPREEMPT_SCOPE_ALL } };

	CHECK_EQ(command(GPREEMPT_IOC_LIST, &list), 0);
	return list.nr_queues;
}

/* As Docker makes them: programs of uid 0 without any right. */
static void two_containers(void)
{
	u32 i;

	world_on(true);
	add_rivals(10, 0);
	process_of(low)->task.ns = &containers[0];
	process_of(high)->task.ns = &containers[1];
	open_own_file();
	for (i = 0; i < 2; i++)
		containers[i].references = 0;
}

TEST(containers_of_one_user_are_apart, "a container neither sees nor changes queues, jobs, usage and files of another container of the same user")
{
	char text[PAGE_SIZE];

	two_containers();
	become(0, 0, &containers[0]);
	CHECK_EQ(set_job(low, JOB, 0), 0);
	become(0, 0, &containers[1]);
	CHECK_EQ(set_job(low, JOB, 0), -ESRCH);
	CHECK_EQ(nr_used(GPREEMPT_USAGE_JOB), 0);
	/* The same id is another job, so its gang is that container's alone. */
	CHECK_EQ(set_job(high, JOB, GPREEMPT_JOB_STAY), 0);
	CHECK(job_of(low) && job_of(high) && job_of(low) != job_of(high));
	run(5 * MS);
	CHECK(low->q.gpreempt->process->policy.job->gang && !high->q.gpreempt->process->policy.job->gang);
	CHECK_EQ(nr_listed(), 1);
	CHECK_EQ(nr_used(GPREEMPT_USAGE_PROCESS), 1);
	CHECK_EQ(infos[0].pid, process_of(high)->pid.nr);
	CHECK_EQ(nr_used(GPREEMPT_USAGE_JOB), 1);
	CHECK_EQ(shim_file_show(&low->q.kobj, "gpreempt_state", text), -EACCES);
	CHECK_EQ(shim_file_show(&low->q.kobj, "preempt_count", text), -EACCES);
	CHECK(shim_file_show(&high->q.kobj, "gpreempt_state", text) > 0);
	/* CAP_SYS_NICE is no way to queues that cannot be named. */
	current->caps = CAP_SYS_NICE;
	CHECK_EQ(shim_file_store(&low->q.kobj, "logical_priority", "9"), -EACCES);
	CHECK_EQ(shim_file_store(&high->q.kobj, "logical_priority", "9"), 1);
	/* From above both are seen. */
	become(0, 0, NULL);
	CHECK_EQ(nr_listed(), 2);
	CHECK_EQ(nr_used(GPREEMPT_USAGE_PROCESS), 2);
	CHECK_EQ(nr_used(GPREEMPT_USAGE_JOB), 2);
	CHECK(shim_file_show(&low->q.kobj, "gpreempt_state", text) > 0);
	become_host();
}

TEST(what_a_job_used_is_its_containers, "what ended processes of a job used is told in the container that made the job, for as long as it is remembered, and keeps no container that is forgotten")
{
	two_containers();
	become(0, 0, &containers[0]);
	CHECK_EQ(set_job(low, JOB, 0), 0);
	kill_process(process_of(low));
	CHECK_EQ(nr_used(GPREEMPT_USAGE_JOB), 1);
	become(0, 0, &containers[1]);
	CHECK_EQ(nr_used(GPREEMPT_USAGE_JOB), 0);
	become_host();
	CHECK_EQ(nr_used(GPREEMPT_USAGE_JOB), 1);
	CHECK_EQ(containers[0].references, 1);
	world_end();
	CHECK_EQ(containers[0].references, 0);
}

/* ---- the end of a process at any moment ---- */

static struct sim_process *reaped;
static u32 allocations;

static int first_queue(void *unused)
{
	low = add_queue_to(reaped, 0, NORMAL);
	while (!kthread_should_stop())
		fsleep(1);
	return 0;
}

/* Its parent takes note of its end at this allocation: what holds no reference has nothing from now on. */
static void reap(void)
{
	if (!reaped || !lockdep_is_held(&gpreempt_lock) || allocations-- != 0 || reaped->pid.references > 1)
		return;
	reaped->task.tgid = NULL;
	reaped->pid.references = 1000;
}

TEST(a_reaped_process_leaves_nothing_behind, "a process that ends while its first queue is taken in is not looked at by its pid any more")
{
	struct task_struct *thread;
	u32 i, nr_reaped = 0;

	world_on(true);
	open_own_file();
	for (i = 0; i < 10; i++) {
		reaped = add_process(0);
		allocations = i;
		shim_while_allocating = reap;
		thread = kthread_create(first_queue, NULL, "program");
		wake_up_process(thread);
		run(MS);
		kthread_stop(thread);
		shim_while_allocating = NULL;
		CHECK(reaped->task.tgid ? reaped->pid.references > 1 : reaped->pid.references == 1000);
		nr_reaped += !reaped->task.tgid;
		CHECK(nr_used(GPREEMPT_USAGE_PROCESS) <= 1);
		destroy_queue(low);
		reaped->task.tgid = &reaped->pid;
		if (reaped->pid.references >= 1000)
			reaped->pid.references = 1;
		reaped->pid.task = NULL;
	}
	reaped = NULL;
	CHECK(nr_reaped);
}

/* ---- what a user has through user namespaces ---- */

static struct user_namespace mapping = { .parent = &init_user_ns, .owner = { 1000 } };

TEST(listeners_of_a_user_namespace_are_one_users, "the ids of a user namespace listen through no more descriptors than the user who made it")
{
	static struct file files[66];
	static struct cred creds[66];
	struct gpreempt_event event;
	u32 i, refused = 0;

	world_on(true);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		creds[i] = (struct cred){ .euid = { 100000 + i }, .user_ns = &mapping };
		files[i] = (struct file){ .f_flags = O_NONBLOCK, .f_cred = &creds[i] };
		CHECK_EQ(shim_miscdevice->fops->open(NULL, &files[i]), 0);
		refused += shim_miscdevice->fops->read(&files[i], (char *)&event, sizeof(event), NULL) == -EMFILE;
	}
	CHECK_EQ(refused, 2);
	for (i = 0; i < ARRAY_SIZE(files); i++)
		CHECK_EQ(shim_miscdevice->fops->release(NULL, &files[i]), 0);
}

/* ---- what asking costs others ---- */

static u64 looked_up_before, most_looked_up;

/* Says that the process of one waits for that of the other. */
static long set_wait(const struct sim_queue *sq, const struct sim_queue *waited_for)
{
	struct gpreempt_set_param cmd = {
		.target = process_target(sq), .param = GPREEMPT_PARAM_WAITS_FOR, .value = process_target(waited_for).pid,
	};

	return command(GPREEMPT_IOC_SET_PARAM, &cmd);
}

TEST(no_wait_leads_out_of_a_container, "both processes of a wait are ones that the caller's namespace sees, whatever its rights")
{
	two_containers();
	become(0, CAP_SYS_ADMIN | CAP_SYS_NICE, &containers[0]);
	CHECK_EQ(set_wait(low, high), -ESRCH);
	CHECK_EQ(set_wait(high, low), -ESRCH);
	become_host();
	CHECK_EQ(set_wait(high, low), 0);
	run(5 * MS);
	CHECK(high->q.gpreempt->process->policy.waits_for == &low->q.gpreempt->process->policy);
}

/* With this lock each new queue is taken in. */
static void count_looked_up(const struct mutex *lock)
{
	u64 looked_up = shim_pids_looked_up - looked_up_before;

	most_looked_up = looked_up > most_looked_up ? looked_up : most_looked_up;
	if (lock == &gpreempt_lock)
		looked_up_before = shim_pids_looked_up;
}

TEST(usage_is_looked_up_node_by_node, "who asks what was used, or reads fdinfo, has the lock that each new queue takes for one node at a time")
{
	static char text[SHIM_TEXT_BYTES];
	struct seq_file m = { .text = text };
	u32 i;

	world_make(true, 1, 3);
	set("gpreempt_enable", "1");
	low = add_queue(0);
	for (i = 0; i < 3; i++)
		add_queue_to(process_of(low), i, NORMAL);
	open_own_file();
	looked_up_before = shim_pids_looked_up;
	most_looked_up = 0;
	shim_at_lock = count_looked_up;
	CHECK_EQ(nr_used(GPREEMPT_USAGE_PROCESS), 3);
	shim_at_lock = NULL;
	CHECK_EQ(most_looked_up, 1);
	kfd_gpreempt_show_fdinfo(&m, &process_of(low)->kfd);
	CHECK(strstr(text, "gpreempt-busy-1002"));
}

/* ---- the table of Documentation/security.rst ---- */

/* Rows: who it is. The process that it is about is uid 0's in the first container, without rights. */
static const struct subject {
	const char *name;
	u32 uid;
	u32 caps;
	/* 0: the host */
	u32 container;
	/* uid 0 of a user namespace, which is another one on the host */
	bool mapped;
} subjects[] = {
	{ "uid 0 on the host, with CAP_SYS_ADMIN and CAP_SYS_NICE", 0, CAP_SYS_ADMIN | CAP_SYS_NICE, 0 },
	{ "uid 0 on the host, without a capability", 0, 0, 0 },
	{ "uid 0 in the same container", 0, 0, 1 },
	{ "uid 0 in the same container, with CAP_SYS_NICE", 0, CAP_SYS_NICE, 1 },
	{ "uid 0 of a user namespace, in the same container", 100000, 0, 1, true },
	{ "uid 0 in another container", 0, 0, 2 },
	{ "uid 0 in another container, with CAP_SYS_ADMIN", 0, CAP_SYS_ADMIN, 2 },
	{ "another user on the host", 1000, 0, 0 },
	{ "another user on the host, with CAP_SYS_NICE", 1000, CAP_SYS_NICE, 0 },
};

static bool is_listed(const struct subject *s)
{
	return nr_listed();
}

static bool lowers(const struct subject *s)
{
	return !command(GPREEMPT_IOC_SET_PRIORITY, &(struct gpreempt_priority){ .target = process_target(low), .priority = -5 });
}

static bool raises(const struct subject *s)
{
	return !command(GPREEMPT_IOC_SET_PRIORITY, &(struct gpreempt_priority){ .target = process_target(low), .priority = 100 });
}

static bool sets_job(const struct subject *s)
{
	return !set_job(low, JOB, GPREEMPT_JOB_STAY);
}

static bool holds(const struct subject *s)
{
	struct gpreempt_hold hold = { .target = process_target(low), .timeout_ms = 1000 };
	bool held = !command(GPREEMPT_IOC_PREEMPT, &hold);

	hold = (struct gpreempt_hold){ .target = process_target(low) };
	CHECK_EQ(!command(GPREEMPT_IOC_RESUME, &hold), held);
	return held;
}

static bool has_usage(const struct subject *s)
{
	return nr_used(GPREEMPT_USAGE_PROCESS);
}

static bool hears(const struct subject *s)
{
	const struct cred cred = { .euid = current->euid, .user_ns = s->mapped ? &mapping : &init_user_ns };
	struct file listens = { .f_flags = O_NONBLOCK, .f_cred = &cred, .opener_is_admin = capable(CAP_SYS_ADMIN) };
	struct gpreempt_event event;
	ssize_t n;

	CHECK_EQ(shim_miscdevice->fops->open(NULL, &listens), 0);
	CHECK_EQ(shim_miscdevice->fops->read(&listens, (char *)&event, sizeof(event), NULL), -EAGAIN);
	gpreempt_rooms_tell(event, node_of(0), low->q.gpreempt, GPREEMPT_EVENT_PREEMPTED, 0);
	n = shim_miscdevice->fops->read(&listens, (char *)&event, sizeof(event), NULL);
	CHECK_EQ(shim_miscdevice->fops->release(NULL, &listens), 0);
	return n > 0;
}

static bool reads_queue(const struct subject *s)
{
	char text[PAGE_SIZE];

	return shim_file_show(&low->q.kobj, "gpreempt_state", text) > 0;
}

static bool reads_node(const struct subject *s)
{
	char text[PAGE_SIZE];

	return shim_file_show(&node_of(0)->sysfs.kobj, "preemptions", text) > 0;
}

static bool sets_cgroup(const struct subject *s)
{
	const struct gpreempt_target cgroup = { .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = 3 };
	bool sets = !command(GPREEMPT_IOC_SET_PRIORITY, &(struct gpreempt_priority){ .target = cgroup, .priority = 1 });

	CHECK_EQ(!command(GPREEMPT_IOC_SET_SHARE, &(struct gpreempt_set_share){ .target = cgroup, .weight = 100 }), sets);
	return sets;
}

/* Columns */
static const struct action {
	const char *name;
	bool (*does)(const struct subject *s);
} actions[] = {
	{ "LIST", is_listed },
	{ "lower", lowers },
	{ "raise", raises },
	{ "SET_JOB", sets_job },
	{ "hold", holds },
	{ "USAGE", has_usage },
	{ "events", hears },
	{ "queue's files", reads_queue },
	{ "counters", reads_node },
	{ "cgroups, shares", sets_cgroup },
};

/* The next cell of the table; false: there is none */
static bool next_cell(FILE *page, char *cell, size_t size)
{
	char line[256], *at;

	cell[0] = '\0';
	while (fgets(line, sizeof(line), page)) {
		line[strcspn(line, "\n")] = '\0';
		at = strstr(line, "- ");
		if (strncmp(line, "   * - ", 7) && strncmp(line, "     - ", 7))
			return false;
		snprintf(cell, size, "%s", at + 2);
		return true;
	}
	return false;
}

static FILE *open_table(void)
{
	FILE *page = fopen("../../../Documentation/security.rst", "r");
	char line[256];
	bool found = false;

	while (page && fgets(line, sizeof(line), page)) {
		found |= !strncmp(line, ".. _who-does-what:", 18);
		if (found && !strncmp(line, "   :widths:", 11) && fgets(line, sizeof(line), page))
			break;
	}
	return page;
}

static void forget_what_was_set(void)
{
	become_host();
	CHECK_EQ(command(GPREEMPT_IOC_SET_PRIORITY, &(struct gpreempt_priority){ .target = process_target(low), .flags = GPREEMPT_PRIORITY_CLEAR }), 0);
	CHECK_EQ(set_job(low, 0, GPREEMPT_JOB_CLEAR), 0);
}

TEST(who_does_what_is_as_the_page_says, "each cell of the table in security.rst is what the scheduler does")
{
	NEEDS(SHARES);
	FILE *page = open_table();
	char cell[128];

	CHECK(page);
	if (!page)
		return;
	two_containers();
	CHECK(next_cell(page, cell, sizeof(cell)) && !strcmp(cell, "who"));
	EACH(i, ARRAY_SIZE(actions), "%s: ", actions[i].name)
		CHECK(next_cell(page, cell, sizeof(cell)) && !strcmp(cell, actions[i].name));
	kill_process(process_of(high));
	EACH(row, ARRAY_SIZE(subjects), "%s: ", subjects[row].name) {
		const struct subject *s = &subjects[row];

		CHECK(next_cell(page, cell, sizeof(cell)) && !strcmp(cell, s->name));
		EACH(column, ARRAY_SIZE(actions), "%s: ", actions[column].name) {
			bool does;

			become(s->uid, s->caps, s->container ? &containers[s->container - 1] : NULL);
			does = actions[column].does(s);
			forget_what_was_set();
			CHECK(next_cell(page, cell, sizeof(cell)));
			CHECK(!strcmp(cell, does ? "yes" : "no"));
		}
	}
	CHECK(!next_cell(page, cell, sizeof(cell)));
	fclose(page);
}

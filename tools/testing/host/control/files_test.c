// SPDX-License-Identifier: MIT
/*
 * files_test.c - what the files in sysfs and debugfs say and take: of nodes, of queues, and the dump
 */
#include "rivals.h"

/* A low queue that is preempted and a high one that is busy */
static void preempted_pair(bool hws)
{
	world_make(hws, 1, 1);
	world.nodes[0].nr_wave_slots = 1;
	set("gpreempt_enable", "1");
	/* Low stays off. */
	set("gpreempt_drain_us", "0");
	add_rivals(10, 0);
	submit_and_run(low, 200, MS);
	submit_and_run(high, 600, 10 * MS);
	CHECK(preempted(low) && !preempted(high));
}

static const char *shown(struct kobject *kobj, const char *name)
{
	static char text[PAGE_SIZE];
	ssize_t n = shim_file_show(kobj, name, text);

	CHECK(n > 0 && n == (ssize_t)strlen(text) && text[n - 1] == '\n');
	text[n > 0 ? n - 1 : 0] = '\0';
	return text;
}

static const char *of_node(const char *name)
{
	return shown(&node_of(0)->sysfs.kobj, name);
}

static const char *of_queue(struct sim_queue *sq, const char *name)
{
	return shown(&sq->q.kobj, name);
}

static s64 number(const char *name)
{
	return strtoll(of_node(name), NULL, 10);
}

/* With its folder; good until the next one is asked for. */
static const char *file_name(u32 i)
{
	const typeof(node_of(0)->sysfs.kobj.files[0]) *file = &node_of(0)->sysfs.kobj.files[i];
	static char name[64];

	snprintf(name, sizeof(name), "%s%s%s", file->group ?: "", file->group ? "/" : "", file->attr->name);
	return name;
}

/* ---- a node ---- */

TEST(node_files_show_one_value_each, "all of them can be read: a word or a number, whatever the node does")
{
	static const bool hws[] = { true, false };
	u32 k;

	NEEDS(ACCOUNT);
	for (k = 0; k < ARRAY_SIZE(hws); k++) {
		preempted_pair(hws[k]);
		CHECK_EQ(node_of(0)->sysfs.kobj.nr_files, 50 + GPREEMPT_NR_SKIPS + GPREEMPT_NR_FAILURES + 5 * GPREEMPT_NR_LATENCIES + GPREEMPT_NR_TUNABLES - 3);
		EACH(i, node_of(0)->sysfs.kobj.nr_files, "%.40s: ", file_name(i)) {
			const char *text = of_node(file_name(i));

			CHECK(text[0] && !strchr(text, '\n') && !strchr(text, ' '));
		}
		CHECK(!strcmp(of_node("state"), "polling"));
		CHECK(!strcmp(of_node("backend"), hws[k] ? "hws" : "mqd"));
		CHECK(!strcmp(of_node("reason"), "-"));
		CHECK(!strcmp(of_node("policy"), "hpf"));
		CHECK(!strcmp(of_node("enabled"), "1"));
		CHECK_EQ(number("monitor_pid"), node_of(0)->life.thread->pid);
		CHECK_EQ(number("queues"), 2);
		CHECK_EQ(number("active_queues"), 1);
		CHECK_EQ(number("preemptions"), 1);
		CHECK_EQ(number("resumes"), 0);
		CHECK_EQ(number("failures"), 0);
		CHECK_EQ(number("latency/save_count"), 1);
		CHECK(number("latency/save_us_p99") >= number("latency/save_us_p50"));
		CHECK_EQ(number("skipped_debugged"), 0);
		world_end();
	}
}

TEST(node_files_count_each_its_own, "a counter's file shows this counter: each has another value")
{
	s64 seen[128];
	u32 i, k, n = 0;

	world_on(true);
	for (i = 0; i < sizeof(*stats()) / sizeof(atomic64_t); i++)
		atomic64_set((atomic64_t *)stats() + i, 1000000 + i);
	for (i = 0; i < node_of(0)->sysfs.kobj.nr_files; i++) {
		const char *name = file_name(i);

		if (number(name) < 1000000 || strstr(name, "_us_p") || !strcmp(name, "failures"))
			continue;
		/* These are shown a second time, under what they were once called or for those who look at failures only. */
		if (!strcmp(name, "pass_ns_max") || !strcmp(name, "verify_mismatches"))
			continue;
		for (k = 0; k < n; k++)
			CHECK(seen[k] != number(name));
		seen[n++] = number(name);
	}
	CHECK_EQ(n, 25 + GPREEMPT_NR_SKIPS + GPREEMPT_NR_FAILURES + 3 * GPREEMPT_NR_LATENCIES);
	CHECK_EQ(number("pass_ns_max"), number("latency/pass_ns_max"));
	CHECK_EQ(number("verify_mismatches"), number("failed_verify"));
	memset(stats(), 0, sizeof(*stats()));
}

static const char *const usage_files[] = { "usage/busy_ns", "usage/waiting_ns", "usage/preempted_ns", "usage/wave_us", "usage/used_ns" };

TEST(usage_files_add_up_queues, "files of what was used of a node show the sums of all its queues, each file its own, and keep what has ended has used")
{
	s64 before[ARRAY_SIZE(usage_files)], sums[ARRAY_SIZE(usage_files)] = { 0 };
	u32 k;

	NEEDS(ACCOUNT);
	world_make(true, 1, 1);
	world.nodes[0].nr_wave_slots = 1;
	set("gpreempt_account", "1");
	set("gpreempt_enable", "1");
	EACH(i, ARRAY_SIZE(usage_files), "%s of a new node: ", usage_files[i])
		CHECK_EQ(number(usage_files[i]), 0);
	add_rivals(10, 0);
	submit_and_run(low, 5000, 50 * MS);
	submit_and_run(high, 600, 40 * MS);
	CHECK(preempted(low));
	EACH_QUEUE(sq) {
		sums[0] += sq->q.gpreempt->policy.time.busy_ns;
		sums[1] += sq->q.gpreempt->policy.time.waiting_ns;
		sums[2] += gpreempt_stats_preempted_ns(sq->q.gpreempt);
		sums[3] += sq->q.gpreempt->policy.time.wave_us;
	}
	sums[4] = node_of(0)->policy.account.any.busy_ns;
	EACH(i, ARRAY_SIZE(usage_files), "%s: ", usage_files[i]) {
		CHECK_EQ(number(usage_files[i]), sums[i]);
		CHECK(sums[i] > 0);
		for (k = 0; k < i; k++)
			CHECK(sums[k] != sums[i]);
		before[i] = sums[i];
	}
	kill_process(process_of(low));
	destroy_queue(high);
	EACH(i, ARRAY_SIZE(usage_files), "%s when they have ended: ", usage_files[i]) {
		CHECK(number(usage_files[i]) >= before[i]);
		before[i] = number(usage_files[i]);
	}
	run(SEC);
	EACH(i, ARRAY_SIZE(usage_files), "%s a second later: ", usage_files[i])
		CHECK_EQ(number(usage_files[i]), before[i]);
	CHECK_EQ(shim_file_store(&node_of(0)->sysfs.kobj, "usage/busy_ns", "0"), -EIO);
}

TEST(tunables_of_a_node_are_set_by_its_files, "what a parameter takes a node's file takes, for this node; what it refuses the file refuses")
{
	struct kobject *kobj;

	NEEDS(POLICIES);
	world_on(true);
	kobj = &node_of(0)->sysfs.kobj;
	CHECK_EQ(shim_file_store(kobj, "tunables/interval_ms", "7\n"), 2);
	CHECK(!strcmp(of_node("tunables/interval_ms"), "7"));
	CHECK_EQ(shim_file_store(kobj, "tunables/interval_ms", "0"), -EINVAL);
	CHECK(!strcmp(of_node("tunables/interval_ms"), "7"));
	CHECK_EQ(shim_file_store(kobj, "tunables/hw_priority", "follow\n"), 7);
	CHECK(!strcmp(of_node("tunables/hw_priority"), "follow"));
	CHECK(!strcmp(of_node("tunables/wakeup"), "auto"));
	CHECK_EQ(shim_file_store(kobj, "policy", "wfq\n"), 4);
	CHECK(!strcmp(of_node("policy"), "wfq"));
	CHECK_EQ(shim_file_store(kobj, "policy", "fifo"), -EINVAL);
	CHECK(!strcmp(of_node("policy"), "wfq"));
	CHECK_EQ(shim_file_store(kobj, "state", "off"), -EIO);
}

TEST(enabled_switches_this_node, "enabled takes what a switch takes; nodes that cannot be scheduled say why and stay off")
{
	struct kobject *kobj;

	preempted_pair(true);
	kobj = &node_of(0)->sysfs.kobj;
	CHECK_EQ(shim_file_store(kobj, "enabled", "maybe"), -EINVAL);
	CHECK(preempted(low));
	CHECK_EQ(shim_file_store(kobj, "enabled", "0\n"), 2);
	CHECK(!preempted(low));
	CHECK(!strcmp(of_node("enabled"), "0") && !strcmp(of_node("state"), "off"));
	CHECK_EQ(number("monitor_pid"), 0);
	CHECK_EQ(shim_file_store(kobj, "enabled", "1"), 1);
	CHECK(!strcmp(of_node("enabled"), "1"));
	world_end();

	world_make(true, 1, 1);
	kfd_gpreempt_node_fini(&world.nodes[0].node);
	world.kfd.cwsr_enabled = false;
	kfd_gpreempt_node_init(&world.nodes[0].node);
	kobj = &node_of(0)->sysfs.kobj;
	CHECK(!strcmp(of_node("backend"), "none") && strcmp(of_node("reason"), "-"));
	shim_log[0] = 0;
	CHECK_EQ(shim_file_store(kobj, "enabled", "1"), -EOPNOTSUPP);
	CHECK(strstr(shim_log, "kept 0") != NULL);
	CHECK(strstr(shim_debugfs_read("gpreempt_dump"), "\nreason: ") != NULL);
	CHECK(strstr(shim_debugfs_read("gpreempt_dump"), " waves_known=1 waves_saved=0\n") != NULL);
}

TEST(a_missing_folder_costs_its_files_only, "whichever folder or file cannot be made, the scheduler works, says so, and leaves nothing behind")
{
	u32 away;

	for (away = 1; away < 200; away++) {
		tap_at("%u. file: ", away);
		shim_log[0] = 0;
		shim_fail_file = (int)away;
		world_on(true);
		if (shim_fail_file) {
			CHECK(away > 60);
			shim_fail_file = 0;
			world_end();
			return;
		}
		/* Without KFD's folder in debugfs there was no wish for one. */
		CHECK(strstr(shim_log, "sysfs") != NULL || shim_debugfs_files() == 0);
		low = add_queue(0);
		submit(low, 2);
		CHECK(run_until_idle(low, SEC));
		world_end();
	}
	CHECK(!"all files");
}

/* ---- a queue ---- */

TEST(queue_files_show_and_set, "a queue's files say what its line says; logical_priority sets a priority until it is cleared")
{
	char text[PAGE_SIZE];

	preempted_pair(true);
	CHECK(!strcmp(of_queue(low, "logical_priority"), "-3"));
	CHECK(!strcmp(of_queue(low, "effective_priority"), "-3"));
	CHECK(!strcmp(of_queue(low, "gpreempt_state"), "preempted"));
	CHECK(!strcmp(of_queue(low, "preempt_count"), "1"));
	CHECK(strtoull(of_queue(low, "preempted_ms"), NULL, 10) >= 5);
	CHECK_EQ(shim_file_store(&low->q.kobj, "logical_priority", "200\n"), 4);
	CHECK_AFTER(10 * MS, !preempted(low));
	CHECK(!strcmp(of_queue(low, "logical_priority"), "200"));
	CHECK_EQ(shim_file_store(&low->q.kobj, "logical_priority", "clear"), 5);
	CHECK_AFTER(10 * MS, !strcmp(of_queue(low, "logical_priority"), "-3"));
	evict_queue(high, true);
	CHECK(!strcmp(of_queue(high, "gpreempt_state"), "evicted"));
	evict_queue(high, false);
	CHECK_EQ(shim_file_store(&low->q.kobj, "preempt_count", "0"), -EIO);
	shim_param_set("gpreempt_enable", "0");
	CHECK_EQ(shim_file_show(&low->q.kobj, "preempt_count", text), -ENODATA);
	CHECK_EQ(shim_file_store(&low->q.kobj, "logical_priority", "1"), -ENODATA);
}

static bool is_everybodys(const char *name)
{
	static const char *const names[] = { "enabled", "state", "policy", "backend", "reason", "monitor_pid" };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, "tunables/", 9);
}

TEST(activity_is_not_everybodys, "counters of a node are for CAP_SYS_ADMIN, files of a queue for that and for its own user; others are not told who works")
{
	static const char *const of_queues[] = { "logical_priority", "effective_priority", "gpreempt_state", "preempt_count", "preempted_ms" };
	u32 caps = current->caps, denied = 0;
	char text[PAGE_SIZE];

	preempted_pair(true);
	current->caps = caps & ~CAP_SYS_ADMIN;
	current->euid = (kuid_t){ 1234 };
	EACH(i, node_of(0)->sysfs.kobj.nr_files, "%.40s: ", file_name(i)) {
		if (is_everybodys(file_name(i))) {
			CHECK(of_node(file_name(i))[0]);
			continue;
		}
		CHECK_EQ(shim_file_show(&node_of(0)->sysfs.kobj, file_name(i), text), -EPERM);
		CHECK_EQ(node_of(0)->sysfs.kobj.files[i].attr->mode, 0400);
		denied++;
	}
	CHECK_EQ(denied, node_of(0)->sysfs.kobj.nr_files - 6 - (GPREEMPT_NR_TUNABLES - 3));
	CHECK(!strcmp(of_node("state"), "idle"));
	EACH(i, ARRAY_SIZE(of_queues), "%s: ", of_queues[i])
		CHECK_EQ(shim_file_show(&low->q.kobj, of_queues[i], text), -EACCES);
	process_of(low)->task.euid = current->euid;
	CHECK(!strcmp(of_queue(low, "gpreempt_state"), "preempted"));
	CHECK_EQ(shim_file_show(&high->q.kobj, "gpreempt_state", text), -EACCES);
	current->caps = caps;
	CHECK(!strcmp(of_queue(high, "gpreempt_state"), "active"));
	CHECK(!strcmp(of_node("state"), "polling"));
}

TEST(settings_are_the_administrators, "neither a file of a node nor a parameter is written without CAP_SYS_ADMIN, whatever the file's mode says")
{
	u32 caps = current->caps, tunables = 0;

	NEEDS(POLICIES);
	preempted_pair(true);
	current->caps = 0;
	EACH(i, node_of(0)->sysfs.kobj.nr_files, "%.40s: ", file_name(i)) {
		if (node_of(0)->sysfs.kobj.files[i].attr->mode != 0644)
			continue;
		CHECK_EQ(shim_file_store(&node_of(0)->sysfs.kobj, file_name(i), "default"), -EPERM);
		tunables++;
	}
	/* gpreempt_mes has no file of a node, and gpreempt_enable has "enabled". */
	CHECK_EQ(tunables, GPREEMPT_NR_TUNABLES - 1);
	CHECK_EQ(shim_param_set("gpreempt_enable", "0"), -EPERM);
	CHECK_EQ(shim_param_set("gpreempt_poll_us", "100"), -EPERM);
	CHECK(!shim_debugfs_read("gpreempt") && !shim_debugfs_read("gpreempt_dump"));
	run(5 * MS);
	CHECK(preempted(low) && state_is("polling"));
	current->caps = caps;
	CHECK(shim_file_store(&node_of(0)->sysfs.kobj, "policy", "wfq") > 0);
}

TEST(queue_files_refuse, "logical_priority takes numbers within bounds and the word clear, from whoever may raise priorities")
{
	static const char *const bad[] = { "", "high", "1024", "-1024", "99999999999", "1 2" };
	struct attribute others = { .name = "gpuid" };
	u32 caps = current->caps;

	world_on(true);
	low = add_queue(0);
	run(10 * MS);
	EACH_CASE(i, bad) {
		shim_log[0] = 0;
		CHECK_EQ(shim_file_store(&low->q.kobj, "logical_priority", bad[i]), -EINVAL);
		CHECK(strstr(shim_log, "kept 7") != NULL);
	}
	CHECK_EQ(shim_file_store(&low->q.kobj, "logical_priority", "-1023"), 5);
	CHECK_EQ(shim_file_store(&low->q.kobj, "logical_priority", "1023"), 4);
	current->caps = 0;
	CHECK_EQ(shim_file_store(&low->q.kobj, "logical_priority", "1"), -EPERM);
	current->caps = caps;
	CHECK(!kfd_gpreempt_owns(&others));
	CHECK_EQ(kfd_gpreempt_queue_store(&low->q.kobj, &others, "1", 1), -EIO);
}

TEST(queue_files_are_made_once, "files of a queue stay when scheduling is switched off and on; without the driver's folder there are none")
{
	world_on(true);
	shim_fail_file = 2;	/* the second one in the folder */
	low = add_queue(0);
	CHECK(!low->q.gpreempt_files);
	shim_fail_file = 1;	/* the folder */
	high = add_queue(0);
	CHECK(!high->q.gpreempt_files && !high->q.kobj.nr_files);
	high = add_queue(0);
	CHECK(high->q.gpreempt_files);
	set("gpreempt_enable", "0");
	CHECK_EQ(high->q.kobj.nr_files, 8);
	low->q.kobj.nr_files = 0;	/* sysfs removes a group that it could not make all of */
	set("gpreempt_enable", "1");
	CHECK_EQ(high->q.kobj.nr_files, 8);
}

/* ---- debugfs ---- */

TEST(line_of_a_queue_has_its_numbers, "gpreempt: names of columns, and a line per queue with node, process, number, priority, state, pointers and times off the device")
{
	static const char head[] =
		"gpu_id pid qid prio state rptr wptr waves preempt_count preempted_ns effective_prio context job\n";
	unsigned int gpu, qid, waves, context;
	unsigned long long rptr, wptr, count, ns, job;
	int pid, priority, effective;
	char state[16];
	const char *text;

	preempted_pair(true);
	text = shim_debugfs_read("gpreempt");
	CHECK(!strncmp(text, head, strlen(head)));
	text += strlen(head);
	CHECK_EQ(sscanf(text, "%u %d %u %d %15s %llu %llu %u %llu %llu %d %u %llu\n", &gpu, &pid, &qid, &priority, state, &rptr, &wptr, &waves, &count, &ns,
			&effective, &context, &job), 13);
	CHECK(gpu == 1000 && pid == process_of(low)->task.pid && qid == low->q.properties.queue_id && priority == -3 && effective == -3);
	CHECK(!strcmp(state, "preempted") && wptr == 200 && rptr < 200 && count == 1 && ns > 0);
	CHECK(strchr(text, '\n') != strrchr(text, '\n'));
	/* What could not be mapped is not read. */
	blind(low, true);
	CHECK(strstr(shim_debugfs_read("gpreempt"), " preempted 0 0 ") != NULL);
	blind(low, false);
	blind(high, true);
	CHECK(strstr(shim_debugfs_read("gpreempt"), " unmapped 0 0 ") != NULL);
	blind(high, false);
	CHECK(shim_debugfs_read("nothing") == NULL);
}

/* Value of the first "name=" in a dump that is not a part of a longer name */
static const char *value(const char *dump, const char *name)
{
	static char text[64];
	char wanted[40];
	const char *at;

	snprintf(wanted, sizeof(wanted), " %s=", name);
	at = strstr(dump, wanted);
	CHECK(at != NULL);
	sscanf(at ? at + strlen(wanted) : "?", "%63s", text);
	return text;
}

TEST(dump_says_what_is_known, "node, driver, tunables, counters and queues, each with what the scheduler holds at that moment")
{
	static const bool hws[] = { true, false };
	const char *dump;

	NEEDS(WAKE);
	NEEDS(ACCOUNT);
	EACH_CASE(k, hws) {
		preempted_pair(hws[k]);
		set("gpreempt_hw_priority", "follow");
		set("gpreempt_wakeup", "doorbell");
		run(5 * MS);
		dump = shim_debugfs_read("gpreempt_dump");
		CHECK(!strcmp(value(dump, "gpu_id"), "1000"));
		CHECK(!strcmp(value(dump, "backend"), hws[k] ? "hws" : "mqd"));
		CHECK(!strcmp(value(dump, "policy"), "hpf"));
		CHECK(!strcmp(value(dump, "state"), "polling"));
		CHECK(!strcmp(value(dump, "running"), "1"));
		CHECK(!strcmp(value(dump, "halted"), "0"));
		CHECK_EQ(strstr(dump, "\nhiq: size=") != NULL, hws[k]);
		CHECK(!strcmp(value(dump, "interval_us"), "5000"));
		CHECK(!strcmp(value(dump, "hw_priority"), "follow"));
		CHECK(!strcmp(value(dump, "wakeup"), "doorbell"));
		CHECK(!strcmp(value(dump, "preemptions"), "1"));
		CHECK(strstr(dump, "\nlatency save: count=1 ") != NULL);
		CHECK(strstr(dump, "\nskipped: stopped=0") != NULL);
		CHECK(strstr(dump, "\nfailed: ") != NULL);
		dump = strstr(dump, "\nqueue: ");
		CHECK(!strcmp(value(dump, "state"), "preempted"));
		CHECK(!strcmp(value(dump, "format"), "aql"));
		CHECK(!strcmp(value(dump, "priority"), "-3"));
		CHECK(!strcmp(value(dump, "nice"), "10"));
		CHECK(!strcmp(value(dump, "is_preempted"), "1"));
		CHECK(!strcmp(value(dump, "wptr"), "200"));
		CHECK(strtoll(value(dump, "preempted_since"), NULL, 10) > 0);
		CHECK(strstr(dump, "\n  verdict: yields leads=0 age_us=") < strstr(dump + 1, "\nqueue: "));
		CHECK(strtoll(value(dump, "age_us"), NULL, 10) > 0);
		CHECK(strtoll(value(dump, "left_us"), NULL, 10) > 10000);
		CHECK(!strcmp(value(dump, "doorbells"), "mapped"));
		dump = strstr(dump + 1, "\nqueue: ");
		CHECK(!strcmp(value(dump, "priority"), "7"));
		CHECK(!strcmp(value(dump, "is_active"), "1"));
		CHECK(!strcmp(value(dump, "preempted_since"), "-1"));
		CHECK(strstr(dump, "\n  verdict: runs leads=1 age_us=") != NULL);
		CHECK(!strcmp(value(dump, "left_us"), "-1"));
		CHECK(strstr(dump + 1, "\nqueue: ") == NULL);
		world_end();
	}
}

TEST(dump_says_what_it_left_out, "the log has a bounded number of queues and tells how many there are more; without memory it says that")
{
	world_on(true);
	TIMES(20)
		low = add_queue(0);
	run(MS);
	gpreempt_dump_log(node_of(0));
	CHECK_EQ(shim_info_printers, 1);
	CHECK(strstr(shim_dumped, "\nqueues not shown: 4\n") != NULL);
	CHECK(strstr(shim_debugfs_read("gpreempt_dump"), "queues not shown") == NULL);
	shim_fail_alloc = 1;
	CHECK(strstr(shim_debugfs_read("gpreempt_dump"), "no memory for a dump") != NULL);
	blind(low, true);
	low->q.gpreempt->view.aql = false;
	CHECK(strstr(shim_debugfs_read("gpreempt_dump"), "format=pm4") != NULL);
	blind(low, false);
	low->q.gpreempt->view.aql = true;
}

// SPDX-License-Identifier: MIT
/* fdinfo_test.c - what /proc/PID/fdinfo of /dev/kfd says: of which device, of which client, and no time that is another device's */
#include "rivals.h"

static struct device dev = { .name = "0000:c1:00.0" }, other_dev = { .name = "0000:c6:00.0" };
static struct amdgpu_device adev, other_adev;

/* The first two nodes are partitions of one device, the third is another device. */
static void world_of_two_devices(void)
{
	world_make(true, 1, 3);
	adev = other_adev = world.adev;
	adev.dev = &dev;
	other_adev.dev = &other_dev;
	world.nodes[0].node.adev = world.nodes[1].node.adev = &adev;
	world.nodes[2].node.adev = &other_adev;
	set("gpreempt_account", "1");
	set("gpreempt_enable", "1");
}

static void work(struct sim_queue *sq)
{
	u64 end_ns = ktime_get_ns() + SEC;

	sq->kernel_ns = 5 * MS;
	while (ktime_get_ns() < end_ns) {
		if (idle(sq))
			submit(sq, 1);
		run(MS);
	}
	run(100 * MS);
}

static const char *fdinfo(struct sim_process *process)
{
	static char text[SHIM_TEXT_BYTES];
	struct seq_file m = { .text = text };

	text[0] = '\0';
	kfd_gpreempt_show_fdinfo(&m, &process->kfd);
	return text;
}

static bool says(struct sim_process *process, const char *format, ...)
{
	const char *text = fdinfo(process);
	char line[128];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (strstr(text, line))
		return true;
	tap_at("\"%s\" is not in \"%s\"", line, text);
	return false;
}

/* The number behind a key; U64_MAX: it is not there. It is there once, and at the beginning of a line. */
static u64 value_of(struct sim_process *process, const char *key)
{
	const char *at = strstr(fdinfo(process), key);

	if (!at)
		return U64_MAX;
	CHECK(at[-1] == '\n');
	CHECK(!strstr(at + 1, key));
	return strtoull(at + strlen(key), NULL, 10);
}

#define COMPUTE		"drm-engine-compute:\t"
#define CAPACITY	"drm-engine-capacity-compute:\t"
#define PDEV		"drm-pdev:\t"

static u64 used_by(const struct sim_queue *sq)
{
	struct gpreempt_queue_usage usage;

	gpreempt_usage_of(sq->q.gpreempt, &usage);
	return usage.busy_ns;
}

TEST(fdinfo_of_a_program_on_one_device, "the file of a program on one device names it as DRM's files do, with the time that was accounted, also when its queue is gone")
{
	struct sim_process *process;
	u64 used_ns;

	world_of_two_devices();
	low = add_queue(0);
	process = process_of(low);
	work(low);
	used_ns = used_by(low);
	CHECK(used_ns > SEC / 2);
	CHECK(!strncmp(fdinfo(process), "drm-driver:\tamdgpu\n", 19));
	CHECK(says(process, "\ndrm-client-id:\t%u\n", 0x80000000 + process->pid.nr));
	CHECK(says(process, "\n" PDEV "0000:c1:00.0\n" COMPUTE "%llu ns\n", used_ns));
	CHECK_EQ(value_of(process, CAPACITY), U64_MAX);
	CHECK(says(process, "\ngpreempt-pdev-1000:\t0000:c1:00.0\ngpreempt-busy-1000:\t%llu ns\ngpreempt-waiting-1000:\t", used_ns));
	CHECK(says(process, "\ngpreempt-preempted-1000:\t0 ns\n"));
	CHECK(!strstr(fdinfo(process), "1001"));
	destroy_queue(low);
	CHECK(value_of(process, COMPUTE) >= used_ns);
	low = add_queue_to(process, 0, NORMAL);
	work(low);
	CHECK(value_of(process, COMPUTE) >= used_ns + SEC / 2);
}

TEST(fdinfo_of_a_program_on_several_devices, "with several devices there is no name of one, and the time is of as many engines")
{
	struct sim_process *process;
	struct sim_queue *second, *third;

	world_of_two_devices();
	low = add_queue(0);
	process = process_of(low);
	second = add_queue_to(process, 1, NORMAL);
	work(low);
	work(second);
	/* Partitions of one device */
	CHECK(says(process, "\n" PDEV "0000:c1:00.0\n"));
	CHECK_EQ(value_of(process, COMPUTE), used_by(low) + used_by(second));
	CHECK_EQ(value_of(process, CAPACITY), 2);
	CHECK_EQ(value_of(process, "gpreempt-busy-1001:\t"), used_by(second));
	third = add_queue_to(process, 2, NORMAL);
	work(third);
	CHECK_EQ(value_of(process, PDEV), U64_MAX);
	CHECK_EQ(value_of(process, COMPUTE), used_by(low) + used_by(second) + used_by(third));
	CHECK_EQ(value_of(process, CAPACITY), 3);
	CHECK(says(process, "\ngpreempt-pdev-1002:\t0000:c6:00.0\ngpreempt-busy-1002:\t%llu ns\n", used_by(third)));
}

TEST(fdinfo_of_other_programs, "a program has its own time alone, and its files are one client, whoever holds them")
{
	struct file again;

	world_of_two_devices();
	add_rivals(10, 0);
	work(low);
	CHECK(value_of(process_of(low), COMPUTE) > SEC / 2);
	CHECK_EQ(value_of(process_of(high), COMPUTE), 0);
	CHECK(value_of(process_of(low), "drm-client-id:\t") != value_of(process_of(high), "drm-client-id:\t"));
	/* One that was opened by the low one and given to the high one */
	again = process_of(high)->kfd;
	process_of(high)->kfd = process_of(low)->kfd;
	CHECK_EQ(value_of(process_of(high), "drm-client-id:\t"), 0x80000000 + process_of(low)->pid.nr);
	CHECK(value_of(process_of(high), COMPUTE) > SEC / 2);
	process_of(high)->kfd = again;
}

TEST(fdinfo_without_a_queue, "a program without a queue has used nothing, of no device")
{
	struct sim_process *process;

	world_of_two_devices();
	process = add_process(0);
	CHECK_EQ(value_of(process, COMPUTE), 0);
	CHECK_EQ(value_of(process, PDEV), U64_MAX);
	CHECK(!strstr(fdinfo(process), "gpreempt-"));
}

TEST(fdinfo_while_nothing_is_accounted, "while some node keeps no account there is no engine, so that no time without work is told")
{
	struct sim_process *process;

	world_of_two_devices();
	low = add_queue(0);
	process = process_of(low);
	work(low);
	set("gpreempt_account", "0");
	CHECK_EQ(value_of(process, COMPUTE), U64_MAX);
	CHECK(says(process, "\n" PDEV "0000:c1:00.0\n"));
	set("gpreempt_account", "1");
	CHECK(value_of(process, COMPUTE) > SEC / 2);
	set("gpreempt_enable", "0");
	CHECK_EQ(value_of(process, COMPUTE), U64_MAX);
	set("gpreempt_enable", "1");
	CHECK(value_of(process, COMPUTE) > SEC / 2);
}

TEST(fdinfo_of_who_is_not_known, "nothing is said of a program that has ended, or that the reader's namespace does not know")
{
	struct pid_namespace ns = { .parent = &init_pid_ns };
	struct sim_process *process;

	world_of_two_devices();
	low = add_queue(0);
	process = process_of(low);
	work(low);
	current->ns = &ns;
	CHECK(!*fdinfo(process));
	current->ns = NULL;
	CHECK(*fdinfo(process));
	process->kfd.private_data = NULL;
	CHECK(!*fdinfo(process));
	process->kfd.private_data = &process->p;
	kill_process(process);
	CHECK(!*fdinfo(process));
}

// SPDX-License-Identifier: MIT
/*
 * debugfs.c - what the devices do, and what goes wrong on them, in /sys/kernel/debug/vgpu
 *
 * Each device has a folder, which is named as it is on the PCI bus. The first one's files are in the
 * folder above as well.
 */
#include <linux/debugfs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "vgpu.h"

#define DEBUGFS_TEXT_BYTES	65536u

/**
 * struct knob - what the file of a fault is about
 * @v: the device
 * @fault: the fault
 */
struct knob {
	struct vgpu *v;
	enum vgpu_fault fault;
};

static struct knob knobs[VGPU_MAX_DEVICES][VGPU_FAULTS];
static struct dentry *debugfs;

static ssize_t debugfs_read(struct file *file, char __user *to, size_t count, loff_t *pos,
			    u32 (*print)(struct vgpu_model *m, char *buf, u32 size))
{
	char *text = kvmalloc(DEBUGFS_TEXT_BYTES, GFP_KERNEL);
	ssize_t ret;
	u32 bytes;

	if (!text)
		return -ENOMEM;
	mutex_lock(&vgpu_model_mutex);
	bytes = print(((const struct vgpu *)file->private_data)->model, text, DEBUGFS_TEXT_BYTES);
	mutex_unlock(&vgpu_model_mutex);
	ret = simple_read_from_buffer(to, count, pos, text, bytes);
	kvfree(text);
	return ret;
}

static ssize_t stats_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	return debugfs_read(file, to, count, pos, vgpu_model_print_stats);
}

static ssize_t queues_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	return debugfs_read(file, to, count, pos, vgpu_model_print_queues);
}

static ssize_t cus_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	return debugfs_read(file, to, count, pos, vgpu_model_print_cus);
}

static ssize_t busy_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	return debugfs_read(file, to, count, pos, vgpu_model_print_busy);
}

static ssize_t saves_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	return debugfs_read(file, to, count, pos, vgpu_model_print_saves);
}

static const struct file_operations stats_fops = { .owner = THIS_MODULE, .open = simple_open, .read = stats_read, .llseek = default_llseek };
static const struct file_operations queues_fops = { .owner = THIS_MODULE, .open = simple_open, .read = queues_read, .llseek = default_llseek };

static const struct file_operations cus_fops = { .owner = THIS_MODULE, .open = simple_open, .read = cus_read, .llseek = default_llseek };
static const struct file_operations busy_fops = { .owner = THIS_MODULE, .open = simple_open, .read = busy_read, .llseek = default_llseek };
static const struct file_operations saves_fops = { .owner = THIS_MODULE, .open = simple_open, .read = saves_read, .llseek = default_llseek };

static int left_get(void *data, u64 *value)
{
	const struct knob *knob = data;

	mutex_lock(&vgpu_model_mutex);
	*value = *vgpu_model_fault_left(knob->v->model, knob->fault);
	mutex_unlock(&vgpu_model_mutex);
	return 0;
}

static int left_set(void *data, u64 value)
{
	const struct knob *knob = data;

	if (value > U32_MAX)
		return -EINVAL;
	mutex_lock(&vgpu_model_mutex);
	*vgpu_model_fault_left(knob->v->model, knob->fault) = value;
	mutex_unlock(&vgpu_model_mutex);
	return 0;
}

static int value_get(void *data, u64 *value)
{
	const struct knob *knob = data;

	mutex_lock(&vgpu_model_mutex);
	*value = *vgpu_model_fault_value(knob->v->model, knob->fault);
	mutex_unlock(&vgpu_model_mutex);
	return 0;
}

static int value_set(void *data, u64 value)
{
	const struct knob *knob = data;

	mutex_lock(&vgpu_model_mutex);
	*vgpu_model_fault_value(knob->v->model, knob->fault) = value;
	mutex_unlock(&vgpu_model_mutex);
	return 0;
}

static int xcc_get(void *data, u64 *value)
{
	const struct vgpu *v = data;

	*value = *vgpu_model_fault_xcc(v->model);
	return 0;
}

static int xcc_set(void *data, u64 value)
{
	const struct vgpu *v = data;

	if (value > U32_MAX)
		return -EINVAL;
	mutex_lock(&vgpu_model_mutex);
	*vgpu_model_fault_xcc(v->model) = value;
	mutex_unlock(&vgpu_model_mutex);
	return 0;
}

static int scribble_set(void *data, u64 value)
{
	const struct vgpu *v = data;
	bool done;

	mutex_lock(&vgpu_model_mutex);
	done = vgpu_model_scribble(v->model);
	mutex_unlock(&vgpu_model_mutex);
	return done ? 0 : -ENOENT;
}

/* The device forgets everything, without the driver's asking */
static int reset_set(void *data, u64 value)
{
	const struct vgpu *v = data;

	mutex_lock(&vgpu_model_mutex);
	vgpu_model_reset(v->model);
	mutex_unlock(&vgpu_model_mutex);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(left_fops, left_get, left_set, "%llu\n");
DEFINE_DEBUGFS_ATTRIBUTE(value_fops, value_get, value_set, "%llu\n");
DEFINE_DEBUGFS_ATTRIBUTE(xcc_fops, xcc_get, xcc_set, "%llu\n");
DEFINE_DEBUGFS_ATTRIBUTE(scribble_fops, NULL, scribble_set, "%llu\n");
DEFINE_DEBUGFS_ATTRIBUTE(reset_fops, NULL, reset_set, "%llu\n");

static void add_device(struct vgpu *v)
{
	struct dentry *folder = debugfs_create_dir(vgpu_pci_name(v), debugfs), *faults;
	u32 i;

	debugfs_create_file("stats", 0444, folder, v, &stats_fops);
	debugfs_create_file("queues", 0444, folder, v, &queues_fops);
	debugfs_create_file("cus", 0444, folder, v, &cus_fops);
	debugfs_create_file("busy", 0444, folder, v, &busy_fops);
	debugfs_create_file("saves", 0444, folder, v, &saves_fops);
	debugfs_create_file("scribble", 0200, folder, v, &scribble_fops);
	debugfs_create_file("reset", 0200, folder, v, &reset_fops);
	faults = debugfs_create_dir("fault", folder);
	debugfs_create_file("xcc", 0644, faults, v, &xcc_fops);
	for (i = 0; i < VGPU_FAULTS; i++) {
		struct knob *knob = &knobs[v->number][i];

		*knob = (struct knob){ .v = v, .fault = i };
		debugfs_create_file(vgpu_fault_name(i), 0644, faults, knob, &left_fops);
		if (vgpu_fault_value_name(i))
			debugfs_create_file(vgpu_fault_value_name(i), 0644, faults, knob, &value_fops);
	}
}

/* Before the devices appear */
void vgpu_debugfs_add(void)
{
	static const char *const first[] = { "stats", "queues", "cus", "busy", "saves", "scribble", "reset", "fault" };
	struct vgpu *v;
	char path[64];
	u32 i;

	debugfs = debugfs_create_dir("vgpu", NULL);
	for_each_vgpu(v)
		add_device(v);
	for (i = 0; i < ARRAY_SIZE(first); i++) {
		snprintf(path, sizeof(path), "%s/%s", vgpu_pci_name(&vgpus[0]), first[i]);
		debugfs_create_symlink(first[i], debugfs, path);
	}
}

void vgpu_debugfs_remove(void)
{
	debugfs_remove_recursive(debugfs);
	debugfs = NULL;
}

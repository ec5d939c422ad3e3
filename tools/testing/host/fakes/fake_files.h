/* SPDX-License-Identifier: MIT */
/*
 * fake_files.h - sysfs and debugfs in user space: what was made is in tables, and tests read and write it by name; text that drivers print
 *
 * Included by fake_kernel.h. Whoever removes a folder that others still need, or makes a file twice, ends the test.
 */
#ifndef FAKES_FAKE_FILES_H
#define FAKES_FAKE_FILES_H

#define CONFIG_DEBUG_FS		1
#define SHIM_FILES_MAX		160
#define SHIM_TEXT_BYTES		65536

/* The folder or file that is this many away cannot be made; 0: none. */
extern int shim_fail_file;

/* ---- sysfs ---- */

struct attribute {
	const char *name;
	unsigned short mode;
};
struct attribute_group {
	const char *name;
	struct attribute **attrs;
};
struct kobject;
struct sysfs_ops {
	ssize_t (*show)(struct kobject *kobj, struct attribute *attr, char *buf);
	ssize_t (*store)(struct kobject *kobj, struct attribute *attr, const char *buf, size_t size);
};
struct kobj_type {
	const struct sysfs_ops *sysfs_ops;
	void (*release)(struct kobject *kobj);
	const struct attribute_group **default_groups;
};
struct kernfs_node {
	int unused;
};
/**
 * struct kobject - a folder
 * @sd: it can be seen
 * @references: of it; at 0 it is released
 * @nr_folders: those in it
 */
struct kobject {
	char name[16];
	struct kobject *parent;
	const struct kobj_type *ktype;
	struct kernfs_node *sd;
	int references;
	int nr_folders;
	struct {
		const char *group;
		struct attribute *attr;
	} files[SHIM_FILES_MAX];
	unsigned int nr_files;
};
struct kobj_attribute {
	struct attribute attr;
	ssize_t (*show)(struct kobject *kobj, struct kobj_attribute *attr, char *buf);
	ssize_t (*store)(struct kobject *kobj, struct kobj_attribute *attr, const char *buf, size_t count);
};
extern const struct sysfs_ops kobj_sysfs_ops;
#define __ATTR(_name, _mode, _show, _store)	{ .attr = { .name = #_name, .mode = _mode }, .show = _show, .store = _store }
#define __ATTR_RO(_name)			__ATTR(_name, 0444, _name##_show, NULL)
#define __ATTR_RW(_name)			__ATTR(_name, 0644, _name##_show, _name##_store)

int kobject_init_and_add(struct kobject *kobj, const struct kobj_type *ktype, struct kobject *parent, const char *format, ...);
struct kobject *kobject_create_and_add(const char *name, struct kobject *parent);
void kobject_put(struct kobject *kobj);
void kobject_del(struct kobject *kobj);
int sysfs_create_file(struct kobject *kobj, struct attribute *attr);
int sysfs_create_group(struct kobject *kobj, const struct attribute_group *group);

/* By name, that of the group and a slash before it: "latency/save_count". -ENOENT: there is none; -EIO: not for that */
ssize_t shim_file_show(struct kobject *kobj, const char *name, char *buf);
ssize_t shim_file_store(struct kobject *kobj, const char *name, const char *text);

/* ---- debugfs ---- */

struct seq_file {
	char *text;
	size_t length;
};
void seq_printf(struct seq_file *m, const char *format, ...);
void seq_puts(struct seq_file *m, const char *text);
#define DEFINE_SHOW_ATTRIBUTE(_name)	static const struct file_operations _name##_fops = { .show = _name##_show }

struct file_operations;
struct dentry {
	const char *name;
	const struct file_operations *fops;
	int references;
};
struct dentry *debugfs_lookup(const char *name, struct dentry *parent);
struct dentry *debugfs_create_file(const char *name, unsigned short mode, struct dentry *parent, void *data, const struct file_operations *fops);
void debugfs_remove(struct dentry *file);
void dput(struct dentry *dentry);
/* What reading a file gives, until the next time; NULL: there is none. */
const char *shim_debugfs_read(const char *name);
unsigned int shim_debugfs_files(void);

/* ---- text ---- */

struct seq_buf {
	char *buffer;
	size_t size;
	size_t length;
};
static inline void seq_buf_init(struct seq_buf *s, char *buffer, size_t size)
{
	*s = (struct seq_buf){ .buffer = buffer, .size = size };
	buffer[0] = '\0';
}
void seq_buf_printf(struct seq_buf *s, const char *format, ...);
static inline const char *seq_buf_str(struct seq_buf *s) { return s->buffer; }

struct drm_printer {
	struct seq_file *m;
};
struct device;
/* Printers of a device that were asked for, which print into the kernel log, and what the last one printed */
extern unsigned int shim_info_printers;
extern char shim_dumped[SHIM_TEXT_BYTES];
struct drm_printer drm_info_printer(struct device *dev);
static inline struct drm_printer drm_seq_file_printer(struct seq_file *m) { return (struct drm_printer){ .m = m }; }
void drm_printf(struct drm_printer *p, const char *format, ...);

#endif /* FAKES_FAKE_FILES_H */

// SPDX-License-Identifier: MIT
/* fake_files.c - sysfs, debugfs and printers in user space, see fake_files.h */
#include "fake_kernel.h"

int shim_fail_file;
unsigned int shim_info_printers;

static bool cannot_be_made(void)
{
	return shim_fail_file && --shim_fail_file == 0;
}

/* ---- sysfs ---- */

static ssize_t kobj_attr_show(struct kobject *kobj, struct attribute *attr, char *buf)
{
	struct kobj_attribute *ka = container_of(attr, struct kobj_attribute, attr);

	return ka->show ? ka->show(kobj, ka, buf) : -EIO;
}

static ssize_t kobj_attr_store(struct kobject *kobj, struct attribute *attr, const char *buf, size_t size)
{
	struct kobj_attribute *ka = container_of(attr, struct kobj_attribute, attr);

	return ka->store ? ka->store(kobj, ka, buf, size) : -EIO;
}

const struct sysfs_ops kobj_sysfs_ops = { .show = kobj_attr_show, .store = kobj_attr_store };

static int add_file(struct kobject *kobj, const char *group, struct attribute *attr)
{
	unsigned int i;

	if (cannot_be_made())
		return -ENOMEM;
	for (i = 0; i < kobj->nr_files; i++)
		BUG_ON(!strcmp(kobj->files[i].attr->name, attr->name) && (kobj->files[i].group ?: "") == (group ?: ""));
	BUG_ON(kobj->nr_files == SHIM_FILES_MAX || !kobj->sd);
	kobj->files[kobj->nr_files].group = group;
	kobj->files[kobj->nr_files++].attr = attr;
	return 0;
}

int sysfs_create_file(struct kobject *kobj, struct attribute *attr)
{
	return add_file(kobj, NULL, attr);
}

int sysfs_create_group(struct kobject *kobj, const struct attribute_group *group)
{
	unsigned int i;
	int r = 0;

	for (i = 0; group->attrs[i] && !r; i++)
		r = add_file(kobj, group->name, group->attrs[i]);
	return r;
}

int kobject_init_and_add(struct kobject *kobj, const struct kobj_type *ktype, struct kobject *parent, const char *format, ...)
{
	static struct kernfs_node there;
	unsigned int i;
	va_list args;
	int r = 0;

	BUG_ON(kobj->references);
	*kobj = (struct kobject){ .ktype = ktype, .parent = parent, .references = 1 };
	va_start(args, format);
	vsnprintf(kobj->name, sizeof(kobj->name), format, args);
	va_end(args);
	if (cannot_be_made())
		return -ENOMEM;
	kobj->sd = &there;
	for (i = 0; ktype->default_groups && ktype->default_groups[i] && !r; i++)
		r = sysfs_create_group(kobj, ktype->default_groups[i]);
	if (r)
		kobj->sd = NULL;
	else if (parent)
		parent->nr_folders++;
	return r;
}

static void free_kobject(struct kobject *kobj)
{
	free(kobj);
}

struct kobject *kobject_create_and_add(const char *name, struct kobject *parent)
{
	static const struct kobj_type type = { .sysfs_ops = &kobj_sysfs_ops, .release = free_kobject };
	struct kobject *kobj = calloc(1, sizeof(*kobj));

	if (!kobj)
		return NULL;
	if (kobject_init_and_add(kobj, &type, parent, "%s", name)) {
		kobject_put(kobj);
		return NULL;
	}
	return kobj;
}

void kobject_del(struct kobject *kobj)
{
	BUG_ON(kobj->nr_folders);
	if (kobj->sd && kobj->parent)
		kobj->parent->nr_folders--;
	kobj->sd = NULL;
	kobj->nr_files = 0;
}

void kobject_put(struct kobject *kobj)
{
	if (!kobj)
		return;
	BUG_ON(kobj->references <= 0);
	if (--kobj->references)
		return;
	kobject_del(kobj);
	kobj->ktype->release(kobj);
}

static struct attribute *file_of(struct kobject *kobj, const char *name)
{
	char path[64];
	unsigned int i;

	for (i = 0; kobj->sd && i < kobj->nr_files; i++) {
		const char *group = kobj->files[i].group;

		snprintf(path, sizeof(path), "%s%s%s", group ?: "", group ? "/" : "", kobj->files[i].attr->name);
		if (!strcmp(path, name))
			return kobj->files[i].attr;
	}
	return NULL;
}

ssize_t shim_file_show(struct kobject *kobj, const char *name, char *buf)
{
	struct attribute *attr = file_of(kobj, name);

	return attr ? kobj->ktype->sysfs_ops->show(kobj, attr, buf) : -ENOENT;
}

ssize_t shim_file_store(struct kobject *kobj, const char *name, const char *text)
{
	struct attribute *attr = file_of(kobj, name);

	return attr ? kobj->ktype->sysfs_ops->store(kobj, attr, text, strlen(text)) : -ENOENT;
}

/* ---- debugfs: amdkfd's folder ---- */

static struct dentry folder = { .name = "kfd" };
static struct dentry files[4];

struct dentry *debugfs_lookup(const char *name, struct dentry *parent)
{
	BUG_ON(parent || strcmp(name, folder.name));
	if (cannot_be_made())
		return NULL;
	folder.references++;
	return &folder;
}

void dput(struct dentry *dentry)
{
	BUG_ON(--dentry->references < 0);
}

struct dentry *debugfs_create_file(const char *name, unsigned short mode, struct dentry *parent, void *data, const struct file_operations *fops)
{
	unsigned int i;

	BUG_ON(parent != &folder || !folder.references);
	for (i = 0; i < ARRAY_SIZE(files) && files[i].name; i++)
		BUG_ON(!strcmp(files[i].name, name));
	BUG_ON(i == ARRAY_SIZE(files));
	files[i] = (struct dentry){ .name = name, .fops = fops };
	return &files[i];
}

void debugfs_remove(struct dentry *file)
{
	if (!file)
		return;
	BUG_ON(!file->name);
	file->name = NULL;
}

unsigned int shim_debugfs_files(void)
{
	unsigned int i, n = 0;

	BUG_ON(folder.references);
	for (i = 0; i < ARRAY_SIZE(files); i++)
		n += files[i].name != NULL;
	return n;
}

const char *shim_debugfs_read(const char *name)
{
	static char text[SHIM_TEXT_BYTES];
	struct seq_file m = { .text = text };
	unsigned int i;

	text[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(files); i++)
		if (files[i].name && !strcmp(files[i].name, name))
			return files[i].fops->show(&m, NULL) ? NULL : text;
	return NULL;
}

/* ---- text ---- */

static void append(char *text, size_t size, size_t *length, const char *format, va_list args)
{
	int n = vsnprintf(text + *length, size - *length, format, args);

	BUG_ON(n < 0 || *length + (size_t)n >= size);
	*length += (size_t)n;
}

void seq_printf(struct seq_file *m, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	append(m->text, SHIM_TEXT_BYTES, &m->length, format, args);
	va_end(args);
}

void seq_puts(struct seq_file *m, const char *text)
{
	seq_printf(m, "%s", text);
}

void seq_buf_printf(struct seq_buf *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	append(s->buffer, s->size, &s->length, format, args);
	va_end(args);
}

/* A dump is longer than what tests want to find in the log. */
char shim_dumped[SHIM_TEXT_BYTES];

struct drm_printer drm_info_printer(struct device *dev)
{
	static struct seq_file log = { .text = shim_dumped };

	log.length = 0;
	shim_info_printers++;
	return drm_seq_file_printer(&log);
}

void drm_printf(struct drm_printer *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	append(p->m->text, SHIM_TEXT_BYTES, &p->m->length, format, args);
	va_end(args);
}

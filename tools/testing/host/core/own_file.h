/* SPDX-License-Identifier: MIT */
/* own_file.h - the descriptor of /dev/kfd_gpreempt that a test has, and which ends with its world */
#ifndef OWN_FILE_H
#define OWN_FILE_H

#include "rivals.h"

static const struct cred own_cred = { .user_ns = &init_user_ns };
static struct file file;

static inline void close_own_file(void)
{
	CHECK_EQ(shim_miscdevice->fops->release(NULL, &file), 0);
}

static inline void open_own_file(void)
{
	if (!shim_miscdevice)
		tap_skip("no /dev/kfd_gpreempt");
	file = (struct file){ .f_cred = &own_cred };
	CHECK_EQ(shim_miscdevice->fops->open(NULL, &file), 0);
	world.before_end = close_own_file;
}

static inline long command(unsigned int cmd, void *argument)
{
	return shim_miscdevice->fops->unlocked_ioctl(&file, cmd, (unsigned long)argument);
}

#endif /* OWN_FILE_H */

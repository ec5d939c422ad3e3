# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# lib.sh - putting kfd_gpreempt into a source of amdgpu: what the scripts here share; sourced with $top set to this tree

# first_of LOG: the first thing that hooks.sh said, and how many more
first_of()
{
	local more

	more=$(($(wc -l <"$1") - 1))
	echo "$(head -n 1 "$1")$([ "$more" -le 0 ] || echo " (and $more more: $1)")"
}

# own_files DIR CONFIG VERSION: makes DIR, with the scheduler's source and what goes with it. CONFIG: y or nothing, CONFIG_KFD_GPREEMPT. VERSION of
# the module; nothing: it has one of its own.
own_files()
{
	mkdir "$1"
	cp "$top"/kfd_gpreempt/Kbuild "$top"/kfd_gpreempt/*.[ch] "$top/dkms/package.c" "$1/"
	cp -r "$top/include/uapi" "$1/"
	cat >"$1/gpreempt_config.h" <<EOF
/* SPDX-License-Identifier: MIT */
/* Written by dkms/build.sh. */
${2:+#define CONFIG_KFD_GPREEMPT 1}
EOF
	cat >"$1/gpreempt_config.mk" <<EOF
# Written by dkms/build.sh.
CONFIG_KFD_GPREEMPT := $2
EOF
	{
		echo '/* SPDX-License-Identifier: MIT */'
		echo '/* Written by dkms/build.sh. */'
		[ -z "$3" ] || echo "#define GPREEMPT_VERSION \"$3\""
	} >"$1/gpreempt_version.h"
}

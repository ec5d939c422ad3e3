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

# The switch of Kconfig, and one for each part that may be left out; GPREEMPT_OPTIONS: these only
gpreempt_options=${GPREEMPT_OPTIONS:-$(sed -n "s/^config //p" "$top/Kconfig")}

# own_files DIR CONFIG VERSION: makes DIR, with the scheduler's source and what goes with it. CONFIG: y or nothing, all options of Kconfig. VERSION of
# the scheduler; nothing: amdgpu does not say it.
own_files()
{
	mkdir "$1"
	cp -r "$top"/kfd_gpreempt/* "$top/dkms/package.c" "$1/"
	cp -r "$top/include/uapi" "$1/"
	cat >"$1/gpreempt_config.h" <<EOF
/* SPDX-License-Identifier: MIT */
/* Written by dkms/build.sh. */
$([ -z "$2" ] || printf '#define CONFIG_%s 1\n' $gpreempt_options)
EOF
	cat >"$1/gpreempt_config.mk" <<EOF
# Written by dkms/build.sh.
$(printf "CONFIG_%s := $2\n" $gpreempt_options)
EOF
	{
		echo '/* SPDX-License-Identifier: MIT */'
		echo '/* Written by dkms/build.sh. */'
		[ -z "$3" ] || echo "#define GPREEMPT_VERSION \"$3\""
	} >"$1/gpreempt_version.h"
}

# missing_hook SERIES FOLDER: says which hook of the series is not in the objects of amdkfd, in FOLDER; nothing if all are
missing_hook()
{
	local proofs count file kind what n

	proofs=$("$top/dkms/hooks.sh" --series "$1" --proofs | sort | uniq -c)
	[ -n "$proofs" ] || echo "hooks.list has no proofs"
	# The same proofs of a file count together: two hooks that call one function need two references.
	while read -r count file kind what; do
		case $kind in
		calls)
			n=$(readelf -rW "$2/${file%.c}.o" | awk -v s="$what" '$5 == s' | wc -l)
			[ "$n" -ge "$count" ] || { echo "$file refers $n times to $what, not $count times"; return; }
			;;
		defines)
			nm "$2/${file%.c}.o" | awk '$2 != "U" { print $NF }' | grep -- "$what" >/dev/null || { echo "$file defines no symbol like $what"; return; }
			;;
		esac
	done <<EOF
$proofs
EOF
}

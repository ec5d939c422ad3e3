#!/bin/bash
# SPDX-License-Identifier: MIT
#
# porting.sh - other trees than DKMS's: the series for a kernel tree applies and compiles, dist/moved says what a new kernel changed,
# and AMD's source tree takes the hooks or stays as it is
#
# Reads the test build (stock source, recorded commands); works in a scratch folder. AMD's tree is made of the kernel's amdkfd in AMD's layout:
# their own sources are not in Debian.
. "$(dirname "$0")/lib.sh"

series=${KVER%%.*}.$(echo "$KVER" | cut -d. -f2)
built=$GPREEMPT_CACHE/amdgpu/$KVER/test
scripts=$(echo "$GPREEMPT_CACHE/scripts"/*/checkpatch.pl)
src=$scratch/src
repo=$scratch/repo
patches=$scratch/patches
out=$scratch/out
git_as_test

sources()
{
	stock_source "$src"
	mkdir -p "$src/$AMD/amdgpu"
	touch "$src/$AMD/amdkfd/Kconfig"
	cp "$built/$AMD/amdgpu"/*.h "$src/$AMD/amdgpu/"
}

makes_series()
{
	local nr

	nr=$(grep -c '^patch' "$TOP/dist/upstream/series")
	"$TOP/dist/upstream/make_series.py" --src "$src" --series "$series" "$patches"
	is "patches" "$(find "$patches" -name '*.patch' | wc -l)" $((nr + 1))
	is "placeholders in the cover letter" "$(grep -c '\*\*\*' "$patches/0000-cover-letter.patch")" 0
	has "$patches/0000-cover-letter.patch" "Subject: [PATCH 00/$nr] "
	is "patches signed off" "$(grep -lx 'Signed-off-by: test <test@localhost>' "$patches"/*.patch | wc -l)" "$nr"
}

git_am()
{
	git init -q "$repo"
	cp -r "$src"/. "$repo/"
	git -C "$repo" add -A
	git -C "$repo" commit -qm base
	patches_of "$patches" | xargs git -C "$repo" am -q
	# What DKMS builds: the same hooks, the same scheduler.
	diff -r -x Kconfig -x '*.o' -x '.*' -x '*.ur-safe' "$built/$AMD/amdkfd" "$repo/$AMD/amdkfd"
	is "files of the scheduler" "$(cd "$repo/$AMD/kfd_gpreempt" && find . | sort)" "$(cd "$TOP/kfd_gpreempt" && find . | sort)"
	has "$repo/$AMD/amdkfd/Kconfig" "config KFD_GPREEMPT"
	is "left of the DKMS build" "$(grep -rlE 'gpreempt_(config|version)|dkms' "$repo/$AMD/kfd_gpreempt")" ""
}

checkpatch()
{
	[ -e "$scripts" ] || skip "no checkpatch in the cache (suite source fetches it)"
	# New files that nobody in MAINTAINERS is for; files say first what they are; macros, lengths and yield() as suite source has it.
	# shellcheck disable=SC2046 # words
	perl "$scripts" --no-tree --no-summary --terse \
		--ignore FILE_PATH_CHANGES,EMBEDDED_FILENAME,COMPLEX_MACRO,TRAILING_SEMICOLON,MACRO_ARG_UNUSED,SPACING,YIELD,LONG_LINE,LONG_LINE_COMMENT,LONG_LINE_STRING \
		$(patches_of "$patches") >"$out" 2>&1 || true
	is "checkpatch" "$(cat "$out")" ""
}

# compile OBJECT: with the command that the test build recorded, in the tree of the series
compile()
{
	local object=$scratch/tree/$AMD/$1 options

	options=$(options_of "$TOP/Kconfig")
	recorded "$(dirname "$built/$AMD/$1")/.$(basename "$1").cmd" |
		sed "s|$built/drivers|$scratch/tree/drivers|g; s| -c -o | $options -I$repo/include -c -o |" >"$scratch/command"
	(cd "/lib/modules/$KVER/build" && bash "$scratch/command")
	nm "$object" | grep -q gpreempt || { echo "nothing of the scheduler in $1"; return 1; }
}

compiles()
{
	linked_tree "$scratch/tree"
	cp -r "$repo/$AMD"/{amdkfd,kfd_gpreempt} "$scratch/tree/$AMD/"
	compile kfd_gpreempt/core/node.o
	compile amdkfd/kfd_device_queue_manager.o
}

# renamed DIR: the source as a later kernel might have it
renamed()
{
	cp -r "$src" "$1"
	sed -i 's/pm_calc_rlib_size/pm_calc_size/' "$1/$AMD/amdkfd/kfd_packet_manager.c"
	sed -i 's/bool is_evicted;/bool is_evicted; bool is_new;/; s/^\(.*\*kfd_lookup_process_by_pid(\)/\1bool new, /' "$1/$AMD/amdkfd/kfd_priv.h"
}

series_refuses()
{
	renamed "$scratch/renamed"
	! "$TOP/dist/upstream/make_series.py" --src "$scratch/renamed" --series "$series" "$scratch/none" >"$out" 2>&1 || { echo "it did not fail"; return 1; }
	has "$out" "do not fit"
	is "patches" "$(find "$scratch/none" -name '*.patch')" ""
}

nothing_moved()
{
	"$TOP/dist/moved" --series "$series" "$src" "$src" >"$out"
	# It looked at something.
	grep -qE 'nothing moved \(([2-9][0-9]) places with hooks, ([3-9][0-9]|[1-9][0-9][0-9]) declarations\)' "$out" || { cat "$out"; return 1; }
}

moved()
{
	! "$TOP/dist/moved" --series "$series" "$src" "$scratch/renamed" >"$out" || { echo "it found nothing"; return 1; }
	has "$out" "hooks without a place in the new source"
	has "$out" "hook list-size: kfd_packet_manager.c: pm_calc_rlib_size() is gone"
	has "$out" "kfd_packet_manager.c: pm_calc_rlib_size() is gone; a hook is in it"
	has "$out" "kfd_priv.h: struct queue_properties, which has a hook, is another one now"
	has "$out" "+bool is_evicted; bool is_new;"
	is "reports" "$(grep -c '^==' "$out")" 4
}

# amd_tree DIR SOURCE: amdkfd and amdgpu where AMD's package has them
amd_tree()
{
	mkdir -p "$1/amd"
	cp -r "$2/$AMD"/{amdkfd,amdgpu} "$1/amd/"
}

tree_takes_hooks()
{
	amd_tree "$scratch/amdgpu-1.2.3" "$src"
	"$TOP/dkms/amd-tree.sh" --series "$series" "$scratch/amdgpu-1.2.3"
	diff -r -x '*.o' -x '.*' -x Kconfig "$repo/$AMD/amdkfd" "$scratch/amdgpu-1.2.3/amd/amdkfd"
	diff -r "$src/$AMD/amdgpu" "$scratch/amdgpu-1.2.3/amd/amdgpu"
	# Its module has AMD's version.
	is "version" "$(grep -c '#define' "$scratch/amdgpu-1.2.3/amd/kfd_gpreempt/gpreempt_version.h")" 0
	refused "$out" "$TOP/dkms/amd-tree.sh" --series "$series" "$scratch/amdgpu-1.2.3"
	has "$out" "has hooks already"
}

tree_stays()
{
	amd_tree "$scratch/amdgpu-4.5.6" "$scratch/renamed"
	amd_tree "$scratch/amdgpu-4.5.6.before" "$scratch/renamed"
	refused "$out" "$TOP/dkms/amd-tree.sh" --series "$series" "$scratch/amdgpu-4.5.6"
	has "$out" "hook list-size: kfd_packet_manager.c: pm_calc_rlib_size() is gone"
	diff -r "$scratch/amdgpu-4.5.6.before" "$scratch/amdgpu-4.5.6"
	refused "$out" "$TOP/dkms/amd-tree.sh" "$scratch"
	refused "$out" "$TOP/dkms/amd-tree.sh"
	refused "$out" "$TOP/dkms/amd-tree.sh" "$scratch/amdgpu-4.5.6"
	has "$out" "does not say of which"
	refused "$out" "$TOP/dkms/amd-tree.sh" --series 5.4 "$scratch/amdgpu-4.5.6"
	diff -r "$scratch/amdgpu-4.5.6.before" "$scratch/amdgpu-4.5.6"
}

# A series that the scheduler compiles for has to be said: none that it never ran with is installed by itself.
tree_is_untried()
{
	local tree=$scratch/amdgpu-7.8.9 list=$scratch/untried.list

	amd_tree "$tree" "$src"
	mkdir -p "$tree/amd/dkms"
	echo "AC_INIT(amdgpu-dkms, 7.8.9)" >"$tree/amd/dkms/configure.ac"
	sed -E "s/^supports $series\$/&\ncompiles amd-7.8/; s/^(series([[:space:]]+[^ ]+)*[[:space:]])$series( |\$)/\1$series amd-7.8\3/" "$TOP/dkms/hooks.list" >"$list"
	cp -r "$tree" "$tree.before"
	HOOKS_LIST=$list refused "$out" "$TOP/dkms/amd-tree.sh" --check "$tree"
	has "$out" "never run with"
	HOOKS_LIST=$list refused "$out" "$TOP/dkms/amd-tree.sh" "$tree"
	diff -r "$tree.before" "$tree"
	HOOKS_LIST=$list "$TOP/dkms/amd-tree.sh" --series amd-7.8 "$tree"
	has "$tree/amd/amdkfd/kfd_priv.h" KFD_GPREEMPT_QUEUE
}

# A series that is supported as well changes nothing of what is made where none is named.
base_is_meant()
{
	local base all=$scratch/all.list

	base=$("$TOP/dkms/hooks.sh" --base)
	is "base that is supported" "$("$TOP/dkms/hooks.sh" --supported | grep -cxF "$base")" 1
	[ "$series" = "$base" ] || skip "this source is $series"
	{ echo "supports 999.1"; sed 's/^knows /supports /' "$TOP/dkms/hooks.list"; } >"$all"
	HOOKS_LIST=$all "$TOP/dist/upstream/make_series.py" --src "$src" "$scratch/all.patches" >"$out"
	diff -I '^From \|^Date: \|^Subject: ' -r "$patches" "$scratch/all.patches"
	HOOKS_LIST=$all "$TOP/dist/moved" "$src" "$src" >"$out"
}

plan 12
must "there is a stock source" sources
must "the upstream series is made, with a cover letter, signed off" makes_series
must "git am applies it, and the result is what DKMS builds" git_am
tap "checkpatch finds nothing in it" checkpatch
tap "what it touches compiles in a kernel tree" compiles
tap "no series is made for a source that the hooks do not fit" series_refuses
tap "of one and the same source nothing has moved" nothing_moved
tap "what moved in another source is named" moved
tap "a tree in AMD's layout takes the hooks" tree_takes_hooks
tap "where no series is named, the base is meant" base_is_meant
tap "a tree that they do not fit stays as it is" tree_stays
tap "a tree that the scheduler never ran with takes it only by the name of its series" tree_is_untried
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# config_off.sh - without CONFIG_KFD_GPREEMPT the objects of amdkfd are those of the stock driver
#
# Compiles every source that includes kfd_priv.h twice, by the commands of the test build, and compares whole object files. Line
# numbers are data of WARN() and pr_debug(), so the stock variant has an empty line where the other has a hook; that it
# is the stock source otherwise is tested too. Works in $GPREEMPT_CACHE/config-off, for ccache a fixed place.
. "$(dirname "$0")/lib.sh"

series=${KVER%%.*}.$(echo "$KVER" | cut -d. -f2)
built=$GPREEMPT_CACHE/amdgpu/$KVER/test
place=$GPREEMPT_CACHE/config-off/$KVER
export CCACHE_DIR=${CCACHE_DIR:-$GPREEMPT_CACHE/ccache}

mkdir -p "$place"
exec 8>"$GPREEMPT_CACHE/config-off/.lock"
flock 8

# variant NAME: a tree of links to the driver as it was built, with a folder amdkfd of its own
variant()
{
	local tree=$place/$1/$AMD

	rm -rf "${place:?}/$1"
	mkdir -p "$tree"
	ln -s "$built/$AMD"/{include,pm,display,acp,amdxcp} "$tree/"
	mkdir "$tree/amdgpu" "$tree/amdkfd" "$tree/kfd_gpreempt"
	ln -s "$built/$AMD/amdgpu"/*.[ch] "$tree/amdgpu/"
	cp "$built/stock/amdkfd"/*.[ch] "$tree/amdkfd/"
}

prepare()
{
	local f

	"$TOP/dkms/build.sh" --kver "$KVER" --flavour test >/dev/null
	stock_source "$place/source"
	variant stock
	variant off
	"$TOP/dkms/build.sh" --kver "$KVER" --flavour test --build-dir "$place/hooked" --src "$place/source" --config-off --prepare
	cp "$place/hooked/$AMD/amdkfd"/*.[ch] "$place/off/$AMD/amdkfd/"
	cp -r "$place/hooked/$AMD/kfd_gpreempt"/{*.[ch],*/} "$place/off/$AMD/kfd_gpreempt/"
	is "CONFIG_KFD_GPREEMPT defined" "$(grep -c CONFIG_KFD_GPREEMPT "$place/off/$AMD/kfd_gpreempt/gpreempt_config.h")" 0
	for f in "$place/off/$AMD/amdkfd"/*.[ch]; do
		diff --unchanged-line-format='%L' --old-line-format='%L' --new-line-format="%c'\\012'" \
			--old-group-format='%<' --new-group-format='%>' --changed-group-format='%<' \
			"$built/stock/amdkfd/${f##*/}" "$f" >"$place/stock/$AMD/amdkfd/${f##*/}" || [ $? = 1 ]
	done
	# There has to be something to compare.
	is "files with hooks" "$(cd "$place/off/$AMD/amdkfd" && grep -l gpreempt ./*.[ch] | sort | tr -d '\n')" \
		"$("$TOP/dkms/hooks.sh" --series "$series" --files | sed -n 's|^.*\.[ch]$|./&|p' | sort -u | tr -d '\n')"
}

same_source()
{
	is "hooks left" "$(grep -l gpreempt "$place/stock/$AMD/amdkfd"/*.[ch])" ""
	diff -rB "$built/stock/amdkfd" "$place/stock/$AMD/amdkfd" | grep -v '^Only in' >"$scratch/diff" || true
	is "differences to the stock source" "$(cat "$scratch/diff")" ""
	for f in "$place/off/$AMD/amdkfd"/*.[ch]; do
		is "lines of ${f##*/}" "$(wc -l <"$place/stock/$AMD/amdkfd/${f##*/}")" "$(wc -l <"$f")"
	done
}

# commands VARIANT: a script per object, from what kbuild recorded
commands()
{
	local cmd object out

	rm -rf "${scratch:?}/$1"
	mkdir "$scratch/$1"
	for cmd in "$built/$AMD/amdkfd"/.*.o.cmd "$built/$AMD/amdgpu/.amdgpu_amdkfd_gpuvm.o.cmd"; do
		object=$(basename "$cmd" .cmd)
		out=$scratch/$1/${object#.}.sh
		{
			echo "cd /lib/modules/$KVER/build || exit 1"
			sed -n '1s/^savedcmd_[^ ]* := //p' "$cmd" |
				sed "s|$built/drivers|$place/$1/drivers|g; s| -c -o | -fmacro-prefix-map=$place/$1/= -c -o |"
		} >"$out"
	done
}

compile()
{
	commands "$1"
	is "objects to compile" "$(( $(find "$scratch/$1" -name '*.sh' | wc -l) > 30 ))" 1
	find "$scratch/$1" -name '*.sh' | sort | xargs -P "$(nproc)" -n 1 bash
}

same_objects()
{
	local o n=0

	for o in "$place/off/$AMD/amdkfd"/*.o "$place/off/$AMD/amdgpu"/*.o; do
		n=$((n + 1))
		cmp "$o" "${o/$place\/off/$place/stock}"
	done
	is "objects compared" "$n" "$(find "$scratch/off" -name '*.sh' | wc -l)"
}

# The comparison has to be able to fail: with CONFIG_KFD_GPREEMPT on, objects with hooks differ.
differs_when_on()
{
	echo '#define CONFIG_KFD_GPREEMPT 1' >"$place/off/$AMD/kfd_gpreempt/gpreempt_config.h"
	bash "$scratch/off/kfd_process_queue_manager.o.sh"
	bash "$scratch/off/kfd_module.o.sh"
	for o in kfd_process_queue_manager.o kfd_module.o; do
		! cmp -s "$place/off/$AMD/amdkfd/$o" "$place/stock/$AMD/amdkfd/$o" || { echo "$o is the same"; return 1; }
	done
}

# The build script looks at the objects for the hooks; here it must miss them.
missed()
{
	"$TOP/dkms/build.sh" --kver "$KVER" --verify --build-dir "$built"
	refused "$scratch/out" "$TOP/dkms/build.sh" --kver "$KVER" --verify --build-dir "$place/stock"
	has "$scratch/out" "refers 0 times to"
}

plan 7
must "both variants can be prepared" prepare
tap "the stock variant is the stock source, but for empty lines" same_source
must "amdkfd of the stock driver compiles" compile stock
must "amdkfd with hooks and CONFIG_KFD_GPREEMPT off compiles" compile off
tap "with CONFIG_KFD_GPREEMPT off every object of amdkfd is that of the stock driver" same_objects
tap "the build script misses the hooks in objects that lack them" missed
tap "with CONFIG_KFD_GPREEMPT on they differ" differs_when_on
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# upstream.sh - each patch of `make upstream-series' builds with those before it alone, and is clean
#
# It compiles what a patch leaves of kfd_gpreempt/, and the files of amdkfd that it changes, with the commands that the test build
# recorded and the warnings of W=1. Touches: $BUILD/upstream, ccache.
set -u
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
BUILD=${BUILD:-$TOP/build}
. "$(dirname "$0")/lib.sh"

built=$GPREEMPT_CACHE/amdgpu/$KVER/test
series=${KVER%%.*}.$(echo "$KVER" | cut -d. -f2)
if [ -n "${COMPILE_IN:-}" ]; then
	source=$("$TOP/tools/testing/vm/kernel.sh" --source "$KVER")
else
	source=/usr/src/linux-source-$series.tar.xz
fi
# In there other kernels' compilers can read it.
place=$BUILD/upstream
repo=$place/repo
tree=$place/tree
patches=$place/patches
longest=1500
core="drm/amdkfd: call the scheduler"
git_as_test
export CCACHE_DIR=${CCACHE_DIR:-$GPREEMPT_CACHE/ccache}

makes_series()
{
	rm -rf "$place"
	mkdir -p "$repo"
	"$TOP/dist/upstream/make_series.py" --src "$source" --series "$series" "$patches" >"$scratch/made" || return 1
	tar -C "$repo" --strip-components=1 -xf "$source" "linux-source-$series"/{Makefile,"$AMD/amdkfd"}
	git init -q "$repo"
	git -C "$repo" add -A
	git -C "$repo" commit -qm base
	linked_tree "$tree"
	ln -s "$repo/$AMD"/{amdkfd,kfd_gpreempt} "$tree/$AMD/"
}

small()
{
	local patch lines

	for patch in $(patches_of "$patches"); do
		lines=$(sed -n 's/^ [0-9]* files\{0,1\} changed, \([0-9]*\) insertion.*/\1/p' "$patch" | tail -n 1)
		[ "$lines" -le $longest ] || { echo "${patch##*/} adds $lines lines, over $longest"; return 1; }
	done
}

# commands PATCH: of what is compiled, one a line, with the object
commands()
{
	local options object like record

	options=$(options_of "$repo/$AMD/amdkfd/Kconfig")
	{
		sed -n 's|^gpreempt-.* += \(.*\)|kfd_gpreempt/\1|p' "$repo/$AMD/kfd_gpreempt/Kbuild"
		sed -n 's|^+++ b/'"$AMD"'/\(amdkfd/.*\)\.c$|\1.o|p' "$1"
		# It has the backends.
		echo amdkfd/kfd_device_queue_manager.o
	} 2>/dev/null | sort -u | while read -r object; do
		# Ours are all compiled alike.
		like=$object
		[ "${object#kfd_gpreempt}" = "$object" ] || like=kfd_gpreempt/core/node.o
		record=$built/$AMD/$(dirname "$like")/.$(basename "$like").cmd
		[ -e "$record" ] || { echo "there is no $record" >&2; exit 1; }
		echo "ccache $(recorded "$record" | with_w1 |
			sed "s|$built/drivers|$tree/drivers|g; s|${like%.o}\.c|${object%.o}.c|; s| -c -o [^ ]*| $options -I$repo/include -c -o $place/objects/$object|")"
	done
}

# compile PATCH: what it leaves
compile()
{
	rm -rf "$place/objects"
	mkdir -p "$place/objects/amdkfd" "$place/objects/kfd_gpreempt"/{core,nohws,wake,control,rules,account}
	commands "$1" >"$place/commands" || return 1
	# shellcheck disable=SC2086 # a command, or nothing
	${COMPILE_IN:-} bash -c "cd '/lib/modules/$KVER/build' &&
		tr '\n' '\0' <'$place/commands' | xargs -0 -n 1 -P 2 bash -c" >"$place/log" 2>&1 || { tail -n 20 "$place/log"; return 1; }
	grep -E 'kfd_gpreempt/[a-z_/]*\.[ch]:[^/]*: (warning|error):' "$place/log" | sort -u >"$place/warnings"
	[ ! -s "$place/warnings" ] || { cat "$place/warnings"; return 1; }
	find "$place/objects" -name '*.o' -exec nm {} + | awk -f "$TOP/tools/testing/package/missing.awk" >"$place/missing"
	[ ! -s "$place/missing" ] || { cat "$place/missing"; return 1; }
	is "objects that are not there" "$(wc -l <"$place/commands")" "$(find "$place/objects" -name '*.o' | wc -l)"
}

builds()
{
	git -C "$repo" am -q "$1" || return 1
	compile "$1"
}

# What the first patches leave is strict priority alone, with all that it needs.
core_is_alone()
{
	has "$patches/0000-cover-letter.patch" "The first $1 patches are a scheduler"
	is "folders by then" "$(git -C "$repo" ls-tree -d --name-only "HEAD~$2" "$AMD/kfd_gpreempt/" | sed 's|.*/||' | paste -sd' ')" "compat core"
}

# In a patch that calls what comes later, that is found.
finds_missing()
{
	git -C "$repo" checkout -q "HEAD~$1"
	echo 'void gpreempt_node_mistake(void) { gpreempt_hqd_ask(); }' >>"$repo/$AMD/kfd_gpreempt/core/node.c"
	sed -i '1i void gpreempt_hqd_ask(void); void gpreempt_node_mistake(void);' "$repo/$AMD/kfd_gpreempt/core/node.c"
	! compile "$2" >"$scratch/found" || { echo "nothing was found"; return 1; }
	has "$scratch/found" "gpreempt_hqd_ask is missing"
}

makes_series || { echo "Bail out! the series is not made"; exit 1; }
nr=$(patches_of "$patches" | wc -l)
# shellcheck disable=SC2046 # words
last_of_core=$(grep -lF "] $core" $(patches_of "$patches"))
nr_core=$(patches_of "$patches" | grep -nxF "$last_of_core" | cut -d: -f1)
plan $((nr + 3))
tap "no patch adds more than $longest lines" small
n=0
for patch in $(patches_of "$patches"); do
	n=$((n + 1))
	tap "patch $n of $nr builds: $(basename "$patch" .patch | cut -d- -f2-)" builds "$patch"
done
tap "the first $nr_core are a core without layers" core_is_alone "$nr_core" $((nr - nr_core))
tap "a call of what comes later would be found" finds_missing $((nr - nr_core)) "$last_of_core"
rm -rf "$place"
finish

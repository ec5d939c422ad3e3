#!/bin/bash
# SPDX-License-Identifier: MIT
#
# layers.sh [tests|driver] - what has an option of its own can be removed: the rest compiles, and names nothing of it
#
# A copy of kfd_gpreempt/ without the option's files is compiled with the option off: for user space, as suite `core` has it; with
# "tests" its tests run as well; with "driver" it is compiled into amdkfd.
set -u
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
BUILD=${BUILD:-$TOP/build}
what=${1:-objects}
if [ "$what" = driver ]; then
	. "$(dirname "$0")/lib.sh"
else
	# shellcheck source=tools/testing/tap.sh
	. "$TOP/tools/testing/tap.sh"
fi
# In one place for all of them: so ccache knows what an option does not change.
place=$BUILD/layers
copy=$place/kfd_gpreempt

declare -A files=(
	[NO_HWS]=nohws [CONTROL]=control [WAKE]=wake [ACCOUNT]=account
	[IDLE]="rules/idle.[ch] rules/crowd.[ch]" [SHARES]="rules/share.[ch] rules/group.[ch]" [JOBS]="rules/job.[ch] rules/gang.c rules/news.h"
	[POLICIES]="rules/wfq.c rules/edf.[ch]" [STOPPED]=rules/stopped.c [NAMED]=rules/backend_named.c [MES]=mes
)
all="NO_HWS CONTROL WAKE IDLE ACCOUNT SHARES JOBS POLICIES STOPPED NAMED MES"

# remove OPTION...: makes the copy, and $options of the others. $mistake: more text of core/node.c
remove()
{
	local option

	rm -rf "$place"
	mkdir -p "$place"
	cp -r "$TOP/kfd_gpreempt" "$copy"
	echo "${mistake:-}" >>"$copy/core/node.c"
	options=" $all "
	for option; do
		# shellcheck disable=SC2086 # patterns
		(cd "$copy" && rm -r ${files[$option]})
		options=${options/ $option / }
	done
	[ "$options" != "  " ] || [ "$(ls "$copy/rules")" = server.h ] || { echo "no option has these:"; ls "$copy/rules"; return 1; }
}

host()
{
	make -s -j2 -C "$TOP/tools/testing/host" POLICY="$copy" OUT="$place/out" OPTIONS="$options" "$@"
}

missing()
{
	# What backends.c makes is a part of the driver's file.
	find "$place/out" -name '*.o' -exec nm {} + | awk -v besides='^gpreempt_backend' -f "$TOP/tools/testing/package/missing.awk"
}

objects()
{
	host core-objects || return 1
	is "missing" "$(missing)" ""
}

tests()
{
	host optional || return 1
	COUNT=5 "$place/out/core/plain/coretest" >"$scratch/core" || { grep -B 3 '^not ok' "$scratch/core"; return 1; }
	COUNT=5 "$place/out/plain/policytest" >"$scratch/policy" || { grep -B 3 '^not ok' "$scratch/policy"; return 1; }
}

# By a package of its own; the driver's files are compiled anew only where an option changes them.
driver()
{
	rm -rf "$place/tree"
	mkdir "$place/tree"
	(cd "$TOP" && cp -r --parents Kconfig dkms.conf include dkms tools/vgpu/intercept.h "$place/tree/")
	ln -s "$copy" "$place/tree/kfd_gpreempt"
	# shellcheck disable=SC2086 # a list
	GPREEMPT_OPTIONS="KFD_GPREEMPT $(printf 'KFD_GPREEMPT_%s ' $options)" "$place/tree/dkms/build.sh" --kver "$KVER" \
		--flavour test --amdkfd --build-dir "$GPREEMPT_CACHE/layers/$KVER" -j 2 >"$scratch/log" 2>&1 || { cat "$scratch/log"; return 1; }
	nm "$GPREEMPT_CACHE/layers/$KVER/$AMD/amdgpu/amdgpu.o" | sed -n 's/^ *U \(\(kfd_\)\?gpreempt_.*\)/\1 is missing/p' >"$scratch/missing"
	is "missing" "$(cat "$scratch/missing")" ""
}

without()
{
	remove "$@" || return 1
	$what
}

finds_mistake()
{
	mistake="void gpreempt_node_mistake(void) { gpreempt_hqd_ask(NULL, 0, 0); }"
	not without NO_HWS
}

# shellcheck disable=SC2086 # a list
alone()
{
	without $all
}

# shellcheck disable=SC2086 # a list
with_control()
{
	without ${all/CONTROL/}
}

plan $(($(echo "$all" | wc -w) + 3))
tap "core/ stands alone" alone
tap "core/ and control/ stand alone" with_control
for option in $all; do
	# Doorbells bring back what left for idleness.
	[ "$option" = WAKE ] && with=IDLE || with=
	# shellcheck disable=SC2086 # nothing, or a word
	tap "without ${files[$option]} the rest stands" without "$option" $with
done
tap "a call of what is gone would be found" finds_mistake
rm -rf "$place"
finish

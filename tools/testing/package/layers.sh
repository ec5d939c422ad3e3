#!/bin/bash
# SPDX-License-Identifier: MIT
#
# layers.sh - a folder of kfd_gpreempt/ that has an option of its own can be removed: the rest compiles, and calls nothing of it
#
# The objects of suite `core` are made from a copy without the folder, with its option off.
set -u
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
BUILD=${BUILD:-$TOP/build}
# shellcheck source=tools/testing/tap.sh
. "$TOP/tools/testing/tap.sh"

declare -A folders=([NO_HWS]=nohws [CONTROL]=control [WAKE]=wake)

# without OPTION...: makes a copy without the folders of the options, and its objects. $mistake: more text of core/node.c
without()
{
	local copy=$scratch/$1/kfd_gpreempt options="NO_HWS CONTROL WAKE" option

	mkdir "$scratch/$1"
	cp -r "$TOP/kfd_gpreempt" "$copy"
	echo "${mistake:-}" >>"$copy/core/node.c"
	for option; do
		rm -r "${copy:?}/${folders[$option]:?}"
		options=${options/$option/}
	done
	make -s -j2 -C "$TOP/tools/testing/host" POLICY="$copy" OUT="$scratch/$1/out" OPTIONS="$options" core-objects || return 1
	# What backends.c makes is a part of the driver's file.
	find "$scratch/$1/out" -name '*.o' -exec nm {} + | awk '
	$2 ~ /^[A-Za-z]$/ && NF == 3 { defined[$3] }
	$1 == "U" && $2 ~ /^(kfd_)?gpreempt_/ { used[$2] }
	END { for (name in used) if (!(name in defined) && name !~ /^gpreempt_backend/) print name " is missing" }' >"$scratch/$1/missing"
	is "missing" "$(cat "$scratch/$1/missing")" ""
}

finds_mistake()
{
	rm -r "$scratch/NO_HWS"
	mistake="void gpreempt_node_mistake(void) { gpreempt_hqd_ask(NULL, 0, 0); }"
	not without NO_HWS
}

plan 5
for option in NO_HWS CONTROL WAKE; do
	tap "without ${folders[$option]}/ the rest compiles, and names nothing of it" without "$option"
done
tap "a call of what is gone would be found" finds_mistake
rm -r "$scratch/CONTROL"
tap "core/ compiles with rules/ and account/ alone" without CONTROL NO_HWS WAKE
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# spin.sh - spin tries every history of queue.pml; TAP on stdout
#
# Then the model is broken in ways that spin has to notice. Touches: $BUILD/spin.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$here/../../..
out=${BUILD:-$top/build}/spin
code=$top/kfd_gpreempt
number=0 failed=0

# The same model gives the same program, in any clone.
compiler=gcc
if command -v ccache >/dev/null; then
	export CCACHE_DIR="${CCACHE_DIR:-${GPREEMPT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kfd_gpreempt}/ccache}"
	compiler="ccache gcc"
fi

# result STATUS NAME
result()
{
	number=$((number + 1))
	[ "$1" = 0 ] && echo "ok $number $2" && return
	echo "not ok $number $2"
	failed=1
}

# explore FOLDER OPTION...: 0 if spin finds nothing wrong in FOLDER/queue.pml
explore()
{
	cd "$1"
	shift
	[ -e pan.c ] || spin -a queue.pml >spin.log 2>&1 || { sed 's/^/# /' spin.log; return 2; }
	# shellcheck disable=SC2086 # a list
	[ -e pan.o ] || $compiler ${OPTIMIZE:--O2} -w ${SAFETY:-} -c -o pan.o pan.c
	[ -e pan ] || gcc -o pan pan.o
	./pan -m1000000 "$@" >pan.log 2>&1
	sed -n 's/^ *\([0-9]*\) states, stored.*/# \1 states/p; s/^pan:1: /# /p' pan.log
	grep -q "errors: 0" pan.log && ! grep -q "max search depth too small" pan.log
}

# broken NAME SUBSTITUTION: what somebody may get wrong
broken()
{
	mkdir -p "$out/$1"
	rm -f "$out/$1"/*
	sed "$2" "$here/queue.pml" >"$out/$1/queue.pml"
	cmp -s "$here/queue.pml" "$out/$1/queue.pml" && echo "# the substitution does not apply any more: adapt it" && result 1 "$1" && return
	(SAFETY="-DSAFETY -DNOCLAIM" OPTIMIZE=-O0 explore "$out/$1") && result 1 "$1" && return
	result 0 "$1"
}

echo "TAP version 13"
echo "1..9"
rm -rf "$out"
mkdir -p "$out/whole" "$out/fair"
cp "$here/queue.pml" "$out/whole"
# Loads that fail make it four times as large, and what comes of them is on the way that others take as well.
sed 's/#define MAX_FAILURES.*/#define MAX_FAILURES	0/' "$here/queue.pml" >"$out/fair/queue.pml"
status=0
"$here/agree.py" "$here/queue.pml" "$code/nohws/backend_mqd.c" "$code/control/queue_sysfs.c" || status=1
result $status model_and_code_write_the_same
mkdir -p "$out/disagree"
sed 's/gq->hw.lost = true;/gq->hw.lost = false;/' "$code/nohws/backend_mqd.c" >"$out/disagree/backend_mqd.c"
status=0
"$here/agree.py" "$here/queue.pml" "$out/disagree/backend_mqd.c" "$code/control/queue_sysfs.c" && status=1
result $status a_difference_is_noticed
status=0
(SAFETY="-DSAFETY -DNOCLAIM" explore "$out/whole") || status=1
result $status one_owner_and_nobody_forgotten
for claim in comes_back leaves; do
	status=0
	(explore "$out/fair" -a -f -N $claim) || status=1
	result $status $claim
done
broken loads_what_is_leaving 's/ || (leaving\[q\] && !parking)//; s/:: leaving\[q\] -> leaving\[q\] = false/:: leaving[q] -> mqd_load(q)/'
broken active_while_preempted 's/:: !late -> mqd_deactivate(q)/:: false -> skip/'
broken inactive_while_leaving 's/:: !late -> mqd_deactivate(q)/:: true -> mqd_deactivate(q)/'
broken driver_loads_what_is_preempted 's/(!evicted\[q\] \&\& !is_preempted\[q\])/(!evicted[q])/'
exit $failed

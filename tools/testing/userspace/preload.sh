#!/bin/bash
# SPDX-License-Identifier: MIT
#
# preload.sh - libgpreempt-preload.so before a program whose /dev/kfd is not one: what it changes, says and leaves alone; what the libraries
# for programs as they are export and where they are installed. TAP on stdout
#
# Builds into $BUILD/lib and $BUILD/userspace; installs into a scratch folder.
. "$(dirname "$0")/../package/lib.sh"

here=$TOP/tools/testing/userspace
lib=$BUILD/lib
built=$BUILD/userspace
log=$scratch/log
err=$scratch/err
prefix=$scratch/prefix

builds_without_warnings()
{
	mkdir -p "$built"
	make -s -C "$TOP/lib" O="$lib" CFLAGS="-O2 -g -Werror"
	gcc -std=gnu11 -O2 -g -Wall -Wextra -Werror -shared -fPIC -I"$TOP/lib" -I"$TOP/include/uapi" -o "$built/fake-kfd.so" "$here/fake-kfd.c"
	gcc -std=gnu11 -O2 -g -Wall -Wextra -Werror -pthread -I"$TOP/lib" -o "$built/client" "$here/client.c"
}

# run SCENARIO [VARIABLE=VALUE...]: what the "kernel" got is in $log, stderr in $err
run()
{
	local scenario=$1

	shift
	rm -f "$log"
	touch "$log"
	env FAKE_LOG="$log" "$@" LD_PRELOAD="$lib/libgpreempt-preload.so:$built/fake-kfd.so" "$built/client" "$scenario" 2>"$err" ||
		{ cat "$err"; return 1; }
}

# What the program does by itself.
run_alone()
{
	rm -f "$log"
	env FAKE_LOG="$log" LD_PRELOAD="$built/fake-kfd.so" "$built/client" queues 2>"$err" || { cat "$err"; return 1; }
	cp "$log" "$scratch/alone"
}

quiet()
{
	is "stderr" "$(cat "$err")" ""
}

same_as_alone()
{
	diff "$scratch/alone" "$log"
}

without_variables_nothing_changes()
{
	run_alone
	run queues FAKE_MODULE=1
	same_as_alone
	quiet
	run queues FAKE_MODULE=1 GPREEMPT_PRIORITY= HSA_QUEUE_PRIORITY=
	same_as_alone
	quiet
}

without_the_module_nothing_changes()
{
	run_alone
	run queues GPREEMPT_PRIORITY=-5 HSA_QUEUE_PRIORITY=3
	same_as_alone
	quiet
	run queues GPREEMPT_PRIORITY=x HSA_QUEUE_PRIORITY=99
	same_as_alone
	quiet
}

# 7 is what a program has that asks for nothing; 11 and 15 were asked for. SDMA queues, and what cannot be looked at, stay.
queues_that_ask_for_nothing_get_the_variables_priority()
{
	run_alone
	run queues FAKE_MODULE=1 HSA_QUEUE_PRIORITY=3
	quiet
	sed -e 's/^create type=2 priority=7 /create type=2 priority=3 /' -e 's/^update queue=0 priority=7$/update queue=0 priority=3/' \
		"$scratch/alone" >"$scratch/want"
	not cmp -s "$scratch/want" "$scratch/alone"
	diff "$scratch/want" "$log"
}

process_gets_its_priority_before_its_first_queue()
{
	run_alone
	run queues FAKE_MODULE=1 GPREEMPT_PRIORITY=-5
	quiet
	is "first command" "$(sed -n 1p "$log")" "set_priority scope=1 pid=0 priority=-5"
	sed 1d "$log" | diff "$scratch/alone" -
}

# bad VARIABLE VALUE BOUNDS KEPT
bad()
{
	run queues FAKE_MODULE=1 "$1=$2"
	is "messages" "$(cat "$err")" "gpreempt: $1=$2 is not a number $3; $4"
	same_as_alone
}

bad_values_are_told_once_and_ignored()
{
	local value

	run_alone
	for value in x 5x 1024 -1024 99999999999999999999 0x5 " "; do
		bad GPREEMPT_PRIORITY "$value" "from -1023 to 1023" "the process keeps the priority that it has"
	done
	for value in x -1 16 7.5; do
		bad HSA_QUEUE_PRIORITY "$value" "from 0 to 15" "queues keep the priority that the program asks for"
	done
}

lacking_rights_are_told()
{
	run queues FAKE_MODULE=1 FAKE_EPERM=1 GPREEMPT_PRIORITY=8 HSA_QUEUE_PRIORITY=3
	is "messages" "$(wc -l <"$err")" 1
	grep -q '^gpreempt: GPREEMPT_PRIORITY=8: above 7 takes CAP_SYS_NICE' "$err"
	grep -q '^create type=2 priority=3 ' "$log"
}

# logged: what became of queues, without what is not about priorities
logged()
{
	grep -E '^(create type=[02]|update|set_priority|clear_priority)' "$log" | sed 's/ bytes=.*//; s/^create type=2/create/'
}

# Number 2 asks for 11, which counts more than "*" and less than its number. So does what the program asks for later.
queues_get_classes_by_their_number_on_their_gpu()
{
	run classes FAKE_MODULE=1 "GPREEMPT_QUEUE_CLASS=1:batch,0:latency,*:-3"
	quiet
	logged | diff -u - /dev/fd/3 3<<-'END'
		create priority=15
		set_priority gpu=77 queue=0 priority=100
		create priority=0
		set_priority gpu=77 queue=1 priority=-100
		create priority=11
		create priority=0
		set_priority gpu=77 queue=3 priority=-3
		update queue=0 priority=15
		update queue=1 priority=0
		update queue=2 priority=7
		update queue=3 priority=0
		update queue=0 priority=15
		update queue=3 priority=15
		clear_priority gpu=77 queue=3 priority=0
		update queue=3 priority=7
		create priority=15
		set_priority gpu=78 queue=5 priority=100
		update queue=5 priority=7
	END
	run classes FAKE_MODULE=1 GPREEMPT_QUEUE_CLASS=2:normal HSA_QUEUE_PRIORITY=3
	is "number 2" "$(logged | grep -c 'set_priority gpu=77 queue=2 priority=7')" 1
	is "classes" "$(logged | grep -c set_priority)" 1
	is "others" "$(logged | grep -c '^create priority=3$')" 4
	is "what it asks for" "$(logged | grep -c '^create priority=11$')" 0
}

a_thread_names_the_class_of_queues_that_it_makes()
{
	run thread FAKE_MODULE=1 "GPREEMPT_QUEUE_CLASS=*:batch"
	quiet
	logged | diff -u - /dev/fd/3 3<<-'END'
		create priority=0
		set_priority gpu=77 queue=0 priority=-100
		create priority=15
		set_priority gpu=77 queue=1 priority=100
		update queue=1 priority=15
		create priority=0
		set_priority gpu=77 queue=2 priority=-100
	END
}

bad_classes_are_told_once_and_ignored()
{
	local kept="queues keep the priority that the program asks for" value

	run_alone
	while IFS='|' read -r value bad; do
		run queues FAKE_MODULE=1 "GPREEMPT_QUEUE_CLASS=$value"
		is "messages" "$(cat "$err")" "gpreempt: GPREEMPT_QUEUE_CLASS=$value: $bad; $kept"
		same_as_alone
	done <<-'END'
		latency|latency is not NUMBER:CLASS or *:CLASS
		0:latency,1|1 is not NUMBER:CLASS or *:CLASS
		0:latency,x:batch|x:batch has no number from 0 to 1023 and no * before its colon
		-1:batch|-1:batch has no number from 0 to 1023 and no * before its colon
		1024:batch|1024:batch has no number from 0 to 1023 and no * before its colon
		:batch|:batch has no number from 0 to 1023 and no * before its colon
		0:fast|0:fast has no latency, normal, batch or number from -1023 to 1023 behind its colon
		*:1024|*:1024 has no latency, normal, batch or number from -1023 to 1023 behind its colon
		0:|0: has no latency, normal, batch or number from -1023 to 1023 behind its colon
	END
	run queues GPREEMPT_QUEUE_CLASS=0:fast
	quiet
	same_as_alone
}

# It takes no right to order the queues of one process.
without_rights_classes_count_within_the_process()
{
	run classes FAKE_MODULE=1 FAKE_EPERM=1 GPREEMPT_QUEUE_CLASS=0:latency
	is "messages" "$(cat "$err")" "gpreempt: class 100 of a queue: above 7 takes CAP_SYS_NICE; it counts within the process only"
	is "queue 0" "$(logged | head -n 1)" "create priority=15"
}

child_is_a_process_of_its_own()
{
	run fork FAKE_MODULE=1 GPREEMPT_PRIORITY=-5
	quiet
	is "processes" "$(grep -c '^set_priority' "$log")" 2
	is "queues" "$(grep -c '^create' "$log")" 2
}

threads_and_forks_do_not_disturb_each_other()
{
	run threads FAKE_MODULE=1 GPREEMPT_PRIORITY=-5 HSA_QUEUE_PRIORITY=3
	quiet
	is "processes" "$(grep -c '^set_priority' "$log")" 51
	is "queues" "$(grep -c '^create type=2 priority=3 ' "$log")" 1650
	is "destroyed" "$(grep -c '^destroy' "$log")" 1600
}

# The header with ROCr's tables is C++.
tables_are_rocrs()
{
	[ -e /usr/include/hsa/hsa_api_trace.h ] || skip "libhsa-runtime-dev is not installed"
	cat >"$scratch/abi.cpp" <<-'END'
		#include <cstddef>
		#include <cassert>
		#include <cstring>
		#include <hsa/hsa.h>
		#include <hsa/hsa_api_trace.h>
		namespace ours {
		#include "hsa_abi.h"
		}
		static_assert(offsetof(CoreApiTable, hsa_queue_create_fn) == offsetof(ours::hsa_core_table, queue_create), "");
		static_assert(offsetof(CoreApiTable, hsa_queue_destroy_fn) == offsetof(ours::hsa_core_table, queue_destroy), "");
		static_assert(offsetof(ApiTableVersion, minor_id) == offsetof(ours::hsa_table_version, minor), "");
		static_assert(offsetof(HsaApiTable, core_) == offsetof(ours::hsa_tables, core), "");
		static_assert(offsetof(hsa_queue_t, base_address) == offsetof(ours::hsa_queue, base_address), "");
		static_assert(offsetof(hsa_queue_t, size) == offsetof(ours::hsa_queue, size), "");
	END
	# It looks for the others where they are in ROCr's source.
	ln -sfn /usr/include/hsa "$scratch/inc"
	g++ -std=c++17 -Wno-invalid-offsetof -I"$scratch" -I"$TOP/lib" -c -o "$scratch/abi.o" "$scratch/abi.cpp"
}

exported()
{
	nm -D --defined-only "$prefix/usr/lib/$1" | sed 's/.* //' | sort | tr '\n' ' '
}

libraries_show_nothing_else_and_go_again()
{
	make -s -C "$TOP/lib" O="$lib" DESTDIR="$prefix" PREFIX=/usr install
	is "libgpreempt-preload.so" "$(exported libgpreempt-preload.so)" "gpreempt_preload gpreempt_queue_class gpreempt_seen_mark gpreempt_seen_queues ioctl "
	is "libgpreempt-hsa.so" "$(exported libgpreempt-hsa.so)" "OnLoad OnUnload gpreempt_queue_class gpreempt_seen_mark gpreempt_seen_queues "
	not grep -q libgpreempt.so <<<"$(readelf -d "$prefix"/usr/lib/libgpreempt-*.so | grep NEEDED)"
	echo '#include <gpreempt-preload.h>' | gcc -Wall -Werror -fsyntax-only -I"$prefix/usr/include" -x c -
	echo '#include <gpreempt-preload.h>' | g++ -Wall -Werror -fsyntax-only -I"$prefix/usr/include" -x c++ -
	make -s -C "$TOP/lib" O="$lib" DESTDIR="$prefix" PREFIX=/usr uninstall
	is "left" "$(find "$prefix" -type f -o -type l)" ""
}

plan 15
must "builds without warnings" builds_without_warnings
for t in without_variables_nothing_changes without_the_module_nothing_changes queues_that_ask_for_nothing_get_the_variables_priority \
	process_gets_its_priority_before_its_first_queue bad_values_are_told_once_and_ignored lacking_rights_are_told \
	queues_get_classes_by_their_number_on_their_gpu a_thread_names_the_class_of_queues_that_it_makes bad_classes_are_told_once_and_ignored \
	without_rights_classes_count_within_the_process \
	child_is_a_process_of_its_own threads_and_forks_do_not_disturb_each_other tables_are_rocrs libraries_show_nothing_else_and_go_again; do
	tap $t $t
done
finish

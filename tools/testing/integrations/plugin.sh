#!/bin/bash
# SPDX-License-Identifier: MIT
#
# plugin.sh - what the Slurm plugin does on a node, without Slurm: whom a refusal hits, where what a job
# gets is set, with the undefined-behaviour sanitizer, on a made-up machine. TAP on stdout
#
# Built with the headers of the Slurm that is installed, and with a stand-in for those of 26.05.
# Builds into $BUILD/slurm-plugin. refusals.sh and cluster.sh beside this have the real daemons.
. "$(dirname "$0")/../gpreemptctl/lib.sh"

here=$TOP/tools/testing/integrations
built=$BUILD/slurm-plugin
export MACHINE=$scratch/machine
top=$MACHINE/sys/fs/cgroup
sanitizers="-g -O1 -Wall -Wextra -Werror -fsanitize=undefined -fno-sanitize-recover=all"
includes="-I$TOP/include/uapi -I$TOP/lib -I$TOP/integrations/common"
sources=$(echo "$TOP"/integrations/slurm/*.c "$TOP"/integrations/common/*.c "$TOP"/lib/{gpreempt,parse}.c)
scope=system.slice/slurmstepd.scope
in_step=$scope/job_5/step_0/user/task_0
no_module="this node has no amdgpu with kfd_gpreempt"

# shellcheck disable=SC2086 # words
builds_for_each_slurm()
{
	echo '#include <slurm/spank.h>' | gcc -E - >/dev/null 2>&1 || skip "libslurm-dev is not installed"
	mkdir -p "$built"
	build_machine $sanitizers
	gcc $sanitizers $includes -o "$built/installed" "$scratch/machine.o" "$here/step.c" $sources $wrap -ljson-c
	build_machine -O1
	gcc -O1 -Wall -Wextra -Werror -I"$here/slurm26" $includes -o "$built/slurm26" "$scratch/machine.o" "$here/step.c" $sources $wrap -ljson-c
}

# machine [PATH]: one whose task is in this cgroup
machine()
{
	local path=${1:-$in_step}

	rm -rf "$MACHINE"
	mkdir -p "$top/$path" "$MACHINE/proc/"{self,4711}
	echo "0::/$path" >"$MACHINE/proc/4711/cgroup"
	echo "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0" >"$MACHINE/proc/self/mounts"
}

# step STATUS ARGUMENTS...: of step.c
step()
{
	[ -x "$built/${release:-installed}" ] || skip "libslurm-dev is not installed"
	status "$1" "$built/${release:-installed}" "${@:2}"
}

# given LINES: what cgroups have been given, of priorities, shares and stops, below the scope
given()
{
	touch "$MACHINE"/{set,shares,params}
	{
		cat "$MACHINE/set"
		sed 's/ / share /' "$MACHINE/shares"
		awk '$2 == 3 { split("node always never", word, " "); print $1, "stops", word[$3 + 1] }' "$MACHINE/params"
	} >"$scratch/given"
	is "given" "$(sed "s|^$scope/||" "$scratch/given")" "$1"
}

says()
{
	is "messages" "$(cat "$err")" "$1"
}

# refused REASON GIVEN ARGUMENTS...: the task alone; what its job is given all the same is for who is let run by "optional"
refused()
{
	machine
	[ -z "${without:-}" ] || touch "$MACHINE/sys/no-module"
	step 1 "${@:3}"
	says "gpreempt: $1"
	given "$2"
}

who_asks_too_much_is_refused_alone()
{
	local more="is more than the administrator allows, which is"

	refused "--gpu-priority: 100 is more than what partition main allows: -500 to 7" "" --gpu-priority=latency all=-500..normal
	refused "--gpu-priority: -501 is less than what partition main allows: -500 to 7" "job_5 priority -500" --gpu-priority=-501 all=-500..normal
	refused "--gpu-priority: 8 is more than what partition main allows: -500 to 0" "job_5 priority 0" --gpu-priority=8 partition:main=-500..0 partition:other=8..9
	refused "--gpu-share-weight, -min or -max: max=12000/20000 $more 10000/20000; no share is in force" "job_5 share 100 0 10000/20000" \
		--gpu-share-max=60 share:any=max=50
	refused "--gpu-share-weight, -min or -max: weight=51 $more 50; no share is in force" "job_5 priority -100
job_5 share 50 0 0/0" --gpu-priority=batch --gpu-share-weight=51 share:batch=weight=50
	refused "--gpu-share-weight, -min or -max: min=11 $more 10; no share is in force" "job_5 share 100 10 0/0" --gpu-share-min=11 share:any=min=10
	refused "--gpu-follow-stop: never is not what the administrator allows, which is always or node; what the GPU's node says is in force" "" \
		--gpu-follow-stop=never
	refused "--gpu-follow-stop: node is not what the administrator allows, which is always; what the GPU's node says is in force" "job_5 stops always" \
		--gpu-follow-stop=node follow_stop=always
}

nonsense_is_refused_alone()
{
	refused "--gpu-priority=urgent: not latency, normal, batch or a number from -1023 to 1023" "" --gpu-priority=urgent
	refused "--gpu-job=yes: not leave, stay or none" "" --gpu-job=yes
	refused "--gpu-share-weight: weight=much is not in 1..10000" "" --gpu-share-weight=much
	refused "--gpu-share-min: min=200 is not in 0..100 percent" "" --gpu-share-min=200
	refused "--gpu-share-max: max=999/10000: a quota of 999 us is not in 1000..10000" "" --gpu-share-max=999/10000
	refused "--gpu-follow-stop=yes: not always, never or node" "" --gpu-follow-stop=yes
	# The first reason counts.
	refused "--gpu-job=yes: not leave, stay or none" "" --gpu-job=yes --gpu-priority=urgent
}

# With what plugstack.conf gives to all, and without it: nobody suffers who has asked for nothing.
without_the_module_others_run()
{
	local without=yes word

	refused "--gpu-priority: $no_module" "" --gpu-priority=batch
	refused "--gpu-share-weight, -min or -max: $no_module" "" --gpu-share-max=50
	refused "--gpu-follow-stop: $no_module" "" --gpu-follow-stop=always
	refused "--gpu-job: $no_module" "" --gpu-job=leave
	for word in all=-500..batch share:any=max=50 job=leave follow_stop=always account=admincomment; do
		machine
		touch "$MACHINE/sys/no-module"
		step 0 "$word"
		says ""
	done
	step 0 --gpu-job=none
	says ""
}

# What the kernel alone refuses: the task ends, and the node does not.
what_fails_late_ends_the_task()
{
	machine
	echo 28 >"$MACHINE/sys/share-errno"
	step 2 --gpu-share-weight=50
	says "gpreempt: --gpu-share-weight, -min or -max: 127 groups have a share, and there is room for no more; no share is in force"
	rm "$MACHINE/marks"
	step 0 share:any=weight=50
	says "gpreempt: share: 127 groups have a share, and there is room for no more; no share is in force"
}

without_cgroups_what_takes_them_is_refused()
{
	local none="which this machine has not"

	machine
	: >"$MACHINE/proc/self/mounts"
	step 1 --gpu-share-weight=50
	says "gpreempt: --gpu-share-weight, -min or -max: shares are those of cgroups of version 2, $none; no share is in force"
	step 1 --gpu-follow-stop=always
	says "gpreempt: --gpu-follow-stop: this is set for cgroups of version 2, $none; what the GPU's node says is in force"
	step 0 --gpu-priority=batch --gpu-job=leave share:any=weight=50 follow_stop=always
	says ""
}

# slurmctld is asked once. Who asks for nothing runs without its answer, within what fits all.
a_silent_slurmctld_stops_nobody_who_asks_for_nothing()
{
	machine
	SILENT=1 step 0 all=-500..-20 partition:main=-500..-50
	given "job_5 priority -20"
	SILENT=1 step 1 --gpu-priority=batch all=-500..-20
	says "gpreempt: --gpu-priority: slurmctld does not tell what job 5 is, so that its bounds are not known"
}

mistakes_are_told_at_load()
{
	local not="not share:CLASS=weight=N,min=PERCENT,max=PERCENT" passed="; passed over, and no job has more than normal priority until it is mended" word good

	while read -r word good; do
		machine
		SLURMD=1 step 0 "$word"
		says "gpreempt: plugstack.conf: $word: $good$passed"
		step 0 "$word"
		step 0 --gpu-priority=batch "$word"
		says ""
	done <<-END
		all=latency..batch not all=, partition:NAME= or qos:NAME= with FLOOR..CEILING, job=, share:CLASS=, follow_stop= or account=
		partitoin:night=0..7 not all=, partition:NAME= or qos:NAME= with FLOOR..CEILING, job=, share:CLASS=, follow_stop= or account=
		batch not all=, partition:NAME= or qos:NAME= with FLOOR..CEILING, job=, share:CLASS=, follow_stop= or account=
		job=yes not job=leave, job=stay or job=none
		follow_stop=yes not follow_stop=always, follow_stop=never or follow_stop=node
		account=yes not account=admincomment or account=none
		share:any $not
		share:fast=weight=5 $not
		share:=weight=5 $not
		share:any=5 $not: 5 is neither weight=N nor min=PERCENT nor max=PERCENT
	END
	SLURMD=1 step 0 all=-500..latency partition:main=0..7 qos:x=0..1 job=stay share:any=max=30 follow_stop=never account=none
	says ""
}

# What a wrong word was to allow is not known.
mistakes_allow_nobody_more()
{
	local why="plugstack.conf has a word that says nothing"

	refused "--gpu-priority: 8 is more than what partition main allows: -1023 to 7; $why: al=0..7" "" --gpu-priority=8 al=0..7
	refused "--gpu-share-weight, -min or -max: $why, so that their bounds are not known: share:any; no share is in force" "" --gpu-share-weight=5 share:any
}

steps_get_what_they_ask_for()
{
	for release in installed slurm26; do
		machine
		step 0 --gpu-share-weight=300 --gpu-share-min=20 --gpu-share-max=5000/50000 --gpu-follow-stop=always --gpu-priority=latency --gpu-job=leave
		given "job_5/step_0 job
job_5 priority 100
job_5 share 300 20 5000/50000
job_5 stops always"
		machine
		step 0 --gpu-priority=batch all=-500..500 share:batch=weight=50 share:latency=min=80 share:any=max=25,weight=70
		given "job_5 priority -100
job_5 share 50 0 5000/20000"
		machine
		step 0 --gpu-follow-stop=node follow_stop=never
		given "job_5 stops node"
		machine
		step 0 share:batch=weight=50 all=-500..500
		given ""
		says ""
	done
}

# JOB is what the path has between the scope and the step.
job_is_set_for()
{
	machine "$1"
	step 0 --gpu-priority=batch --gpu-job=leave
	says ""
	is "given" "$(cat "$MACHINE/set" 2>/dev/null)" "$2"
}

both_layouts_of_slurm_are_known()
{
	local path

	for release in installed slurm26; do
		for path in $scope/job_5 $scope/sEKNKTV3WPV500 system.slice/node7_slurmstepd.scope/job_5 batch.slice/slurmstepd.scope/s0123456789ABC; do
			job_is_set_for "$path/step_0/user/task_0" "$path/step_0 job
$path priority -100"
		done
	done
	# What is not known is nobody's cgroup, least of all Slurm's: the tree of processes has it.
	for path in $scope $scope/system $scope/x/y/step_0 user.slice/job_5/step_0 test; do
		job_is_set_for "$path" ""
	done
}

# The bound is the job's: what nobody asks for is below it.
the_job_has_the_bound()
{
	machine $scope/job_5/step_extern/user/task_special
	EXTERN=1 step 0 all=-500..-50 share:any=max=30 follow_stop=always job=leave
	given "job_5 priority -50
job_5 share 100 0 6000/20000
job_5 stops always"
	# Outside of Slurm's cgroups it has none of its own.
	machine system.slice/slurmd.service
	EXTERN=1 step 0 all=-500..-50 share:any=max=30
	given ""
	says ""
}

# First the extern step, then one that speaks for the job, then others
one_step_speaks_for_the_job()
{
	machine
	EXTERN=1 step 0 all=-500..500
	step 0 --gpu-priority=batch
	given "job_5 priority -100"
	STEP=1 step 0 all=-500..500
	given "job_5 priority -100"
	STEP=2 step 0 --gpu-priority=latency
	given "job_5 priority -100
job_5/step_0 priority 100"
	# The same step's other tasks are of the one that speaks.
	rm "$MACHINE/set"
	TASKS=2 step 0 --gpu-priority=batch
	given "job_5 priority -100
job_5 priority -100"
}

# A batch script that asks for nothing has said so; a step of it that asks does not speak for it.
a_batch_script_speaks_for_its_job()
{
	machine
	STEP=0xfffffffb step 0 all=-500..-50
	STEP=1 step 0 --gpu-priority=batch --gpu-share-max=10 all=-500..-50
	given "job_5 priority -50
job_5/step_0 priority -100
job_5/step_0 share 100 0 2000/20000"
	# Also where nothing is set for it
	machine
	STEP=0xfffffffb step 0
	STEP=1 step 0 --gpu-priority=latency
	given "job_5/step_0 priority 100"
}

scripts_are_clean()
{
	linted tools/testing/integrations/plugin.sh tools/testing/integrations/refusals.sh
}

plan 15
must builds_for_each_slurm builds_for_each_slurm
for name in who_asks_too_much_is_refused_alone nonsense_is_refused_alone without_the_module_others_run what_fails_late_ends_the_task \
	without_cgroups_what_takes_them_is_refused a_silent_slurmctld_stops_nobody_who_asks_for_nothing mistakes_are_told_at_load \
	mistakes_allow_nobody_more steps_get_what_they_ask_for both_layouts_of_slurm_are_known the_job_has_the_bound one_step_speaks_for_the_job \
	a_batch_script_speaks_for_its_job scripts_are_clean; do
	tap "$name" $name
done
finish

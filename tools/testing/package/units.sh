#!/bin/bash
# SPDX-License-Identifier: MIT
#
# units.sh - the units of systemd: without a mistake, confined, and their programs can do what they are for
#
# The last is tried: systemd is the first process of namespaces of its own, on a copy of this system that is thrown away, with a /sys of
# its own and a library to preload for the device (tools/testing/integrations/device.c). Builds into $BUILD.
. "$(dirname "$0")/../gpreemptctl/lib.sh"

# The highest figure of systemd-analyze security that a unit may have
most=3.0
units=$scratch/units
outside=$scratch/outside

make_units()
{
	local unit

	command -v systemd-analyze >/dev/null || skip "systemd-analyze is not installed"
	mkdir -p "$units"
	for unit in "$TOP"/dist/*.service.in "$TOP"/dist/*.timer; do
		sed 's|@PREFIX@|/opt|; s|@SYSCONFDIR@|/etc|; s|@VERSION@|1|' "$unit" >"$units/$(basename "${unit%.in}")"
	done
	is "units" "$(cd "$units" && echo *)" \
		"amdgpu-gpreempt-fallback.service gpreempt-metrics.service gpreempt-metrics.timer gpreempt.service gpreemptd.service"
}

# unit_is_clean FILE: systemd has nothing to say about the unit FILE
unit_is_clean()
{
	systemd-analyze verify --man=no "$1" >"$scratch/out" 2>&1 || { cat "$scratch/out"; return 1; }
	not grep "${1##*/}" "$scratch/out"
}

# Where the programs will be is not looked at here. A mistake is seen.
units_have_no_mistake()
{
	local unit

	for unit in "$units"/*; do
		sed 's|^\(ExecStart=\)[^ ]*|\1/bin/true|' "$unit" >"$scratch/${unit##*/}"
	done
	for unit in "$units"/*; do
		unit_is_clean "$scratch/${unit##*/}"
	done
	sed -i 's/^ProtectHome=/ProtectHomes=/' "$scratch/gpreempt.service"
	not unit_is_clean "$scratch/gpreempt.service" >/dev/null
}

# figure UNIT: from 0 to 10, the lower the more is taken away from it
figure()
{
	systemd-analyze security --offline=true --no-pager "$1" | sed -n 's/^.*Overall exposure level for .*: \([0-9.]*\) .*/\1/p'
}

no_unit_may_more_than_a_bound()
{
	local unit figure

	systemd-analyze --help | grep -q -- --offline || skip "this systemd-analyze judges no files"
	for unit in "$units"/*.service; do
		figure=$(figure "$unit")
		awk -v f="$figure" -v most=$most 'BEGIN { exit !(f > 0 && f < most) }' || { echo "${unit##*/}: $figure is not below $most"; return 1; }
	done
	# What would be above it is seen.
	sed '/^CapabilityBoundingSet/d; /^SystemCallFilter/d' "$units/gpreempt.service" >"$scratch/gpreempt.service"
	is "a unit that may more is below $most" "$(awk -v f="$(figure "$scratch/gpreempt.service")" -v most=$most 'BEGIN { print (f < most) }')" 0
}

# needs UNIT WORDS: of none of them it has a line, and a comment of it says of each why
needs()
{
	local unit=$units/$1.service word

	shift
	for word; do
		not grep "^$word=" "$unit"
		sed -n '/^# Not set, because/,/^[^#]/p' "$unit" | grep -q "^#.*\<$word\>" || { echo "${unit##*/} does not say why it is without $word"; return 1; }
	done
}

what_programs_need_is_not_taken_away()
{
	needs gpreempt PrivateUsers PrivateDevices ProtectKernelTunables ProtectProc ProcSubset
	needs gpreemptd PrivateUsers PrivateDevices ProtectProc ProcSubset
	needs gpreempt-metrics PrivateUsers PrivateDevices ProtectProc ProcSubset UMask
	needs amdgpu-gpreempt-fallback ProtectKernelModules PrivateUsers PrivateTmp
}

# What runs as the first process of the namespaces: $1 is $TOP, $2 $BUILD, $3 $outside, $4 the units
cat >"$scratch/boot" <<'END'
set -e
mount --make-rprivate /
mount -t tmpfs made-up "$3/mnt"
root=$3/mnt/root
mkdir "$3/mnt/up" "$3/mnt/work" "$root"
mount -t overlay made-up -o "lowerdir=/,upperdir=$3/mnt/up,workdir=$3/mnt/work" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs made-up "$root/sys"
mkdir -p "$root/sys/fs/cgroup" "$root/sys/module/amdgpu/parameters" "$root/sys/class/kfd/kfd/gpreempt/1"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mkdir -p "$root/sys/fs/cgroup/batch.slice"
echo 80 >"$root/sys/module/amdgpu/parameters/gpreempt_poll_us"
echo Y >"$root/sys/module/amdgpu/parameters/gpreempt_enable"
mount -t tmpfs made-up "$root/dev"
for device in null zero full random urandom tty kmsg; do
	: >"$root/dev/$device"
	mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/shm" "$root/dev/pts"
ln -s /proc/self/fd "$root/dev/fd"
ln -s pts/ptmx "$root/dev/ptmx"
# (That of /dev/kmsg, which no unit is given but by this name)
mknod "$root/dev/kfd_gpreempt" c 1 11
mount -t tmpfs made-up "$root/run"
mount -t tmpfs made-up "$root/tmp"
mkdir -p "$root/run/outside" "$root/run/systemd/system" "$root/opt/bin" "$root/opt/sbin" "$root/usr/src/kfd_gpreempt-1/dkms" "$root/var/lib/prometheus/node-exporter"
mount --bind "$3/out" "$root/run/outside"
cp "$2/gpreemptctl/gpreemptctl" "$root/opt/bin/"
cp "$2/gpreemptd/gpreemptd" "$root/opt/sbin/"
cp "$3/device.so" "$root/opt/"
cp "$3"/*.conf "$root/etc/"
cp "$3/fallback.sh" "$root/usr/src/kfd_gpreempt-1/dkms/"
# The device is none of udev's here.
for unit in "$4"/* "$3"/*.service "$3"/*.target; do
	sed '/^BindsTo=/d; /^After=dev-/d; /^ConditionPathExists=!/d; s/^\[Unit\]/&\nDefaultDependencies=no/' "$unit" >"$root/run/systemd/system/${unit##*/}"
done
for unit in gpreempt gpreemptd gpreempt-metrics amdgpu-gpreempt-fallback; do
	mkdir "$root/run/systemd/system/$unit.service.d"
	sed "s/UNIT/$unit/" "$3/drop-in" >"$root/run/systemd/system/$unit.service.d/made-up.conf"
	# The library never opens the device: is it let?
	! grep -q ^DeviceAllow= "$4/$unit.service" || echo 'ExecStartPre=/usr/bin/env -u LD_PRELOAD /bin/sh -c ": >/dev/kfd_gpreempt"' \
		>>"$root/run/systemd/system/$unit.service.d/made-up.conf"
done
cd "$root"
pivot_root . mnt
umount -l /mnt
exec env -i container=made-up PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=made-up.target --log-target=console --show-status=false
END

# unit NAME LINES: of the made-up system, beside ours
unit()
{
	printf '[Unit]\nAllowIsolate=yes\n%b\n' "$2" >"$outside/$1"
}

boots_the_units()
{
	local cgroup

	[ "$(id -u)" = 0 ] && unshare --mount --pid --fork --cgroup true 2>/dev/null || skip "no namespaces can be made here"
	[ -x /lib/systemd/systemd ] || skip "systemd is not installed"
	mkdir -p "$outside/mnt" "$outside/out"
	mount -t tmpfs made-up "$outside/mnt" || skip "nothing can be mounted here"
	umount "$outside/mnt"
	make -s -C "$TOP" tools-built BUILD="$BUILD"
	gcc -O2 -Wall -Wextra -Werror -shared -fPIC -I"$TOP/include/uapi" -I"$TOP/integrations/common" -I"$TOP/lib" -o "$outside/device.so" \
		"$TOP/tools/testing/integrations/device.c" "$TOP/integrations/common/place.c" "$TOP/lib/parse.c" "$TOP/lib/gpreempt.c" -ldl
	printf '%s\n' '[tunables]' 'poll_us = 200' '[classes]' 'cgroup batch.slice = batch' 'exe /usr/bin/sleep = -300' >"$outside/gpreempt.conf"
	printf '%s\n' '[processes]' 'exe /usr/bin/sleep = batch' >"$outside/gpreemptd.conf"
	# What the script does, but for loading: is it let? CAP_SYS_MODULE is the only one of its bits.
	cat >"$outside/fallback.sh" <<-'END'
		#!/bin/bash
		exec >/run/outside/fallback 2>&1
		sed -n 's/^CapBnd:\t0*//p' /proc/self/status
		ls /lib/modules >/dev/null && modprobe -c >/dev/null && echo "reads modules"
		echo "no module" >/run/outside/none.ko
		insmod /run/outside/none.ko || true
	END
	chmod +x "$outside/fallback.sh"
	printf '[Service]\nEnvironment=LD_PRELOAD=/opt/device.so GPREEMPT_DEVICE=/run/outside/set\nReadWritePaths=/run/outside\n%s\n' \
		"StandardError=file:/run/outside/UNIT.err" >"$outside/drop-in"
	unit made-up.target "Wants=other.service gpreempt.service gpreemptd.service gpreempt-metrics.timer amdgpu-gpreempt-fallback.service end.service"
	# Another user's, with a queue
	unit other.service '[Service]\nUser=nobody\nEnvironment=GPREEMPT_TEST_QUEUE=1\nExecStart=/usr/bin/sleep 600'
	unit end.service '[Service]\nExecStart=/bin/sh /run/outside/end'
	# (so many tenths of a second at most)
	cat >"$outside/out/end" <<-'END'
		cd /run/outside
		i=0
		until [ -s set ] && grep -qs 'pid ' gpreempt.err && [ -s gpreemptd.err ] && [ -s fallback ] && [ -s /var/lib/prometheus/node-exporter/gpreempt.prom ] ||
			[ $i = 300 ]; do
			sleep 0.1
			i=$((i + 1))
		done
		cat /sys/module/amdgpu/parameters/gpreempt_poll_us >poll_us
		stat -c '%a %n' /var/lib/prometheus/node-exporter/* >modes
		cp /var/lib/prometheus/node-exporter/gpreempt.prom .
		systemctl --no-pager --no-legend --plain list-units 'gpreempt*' | awk '{ print $1, $3, $4 }' | sort >states
		echo end >ended
		systemctl exit
	END
	cgroup=$(find /sys/fs/cgroup -maxdepth 2 -name cgroup.procs -path '*/unified/*' -o -maxdepth 1 -name cgroup.procs | head -n 1)
	cgroup=${cgroup%/cgroup.procs}/gpreempt-units.$$
	mkdir "$cgroup" || skip "no cgroup can be made here"
	timeout -s KILL 90 unshare --kill-child --pid --fork --ipc --uts sh -c "echo \$\$ >'$cgroup/cgroup.procs'; exec unshare --mount --cgroup sh $scratch/boot \"\$@\"" \
		- "$TOP" "$BUILD" "$outside" "$units" >"$scratch/log" 2>&1 </dev/null || true
	find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || true
	[ -e "$outside/out/ended" ] || { tail -n 40 "$scratch/log"; head -n 5 "$outside/out"/*; return 1; }
}

booted()
{
	[ -e "$outside/out/ended" ] || skip "the units were not run"
}

gpreempt_applies_its_file()
{
	booted
	has "$outside/out/states" "gpreempt.service active running"
	is "tunable" "$(cat "$outside/out/poll_us")" 200
	has "$outside/out/set" "/batch.slice -100"
	# It reads /proc/PID/exe of another user's process. The made-up device takes no priority of a process.
	grep -qE "gpreempt.conf:5: pid [0-9]+: " "$outside/out/gpreempt.err"
}

gpreemptd_finds_its_processes()
{
	booted
	has "$outside/out/states" "gpreemptd.service active running"
	has "$outside/out/gpreemptd.err" "/etc/gpreemptd.conf is in force: "
}

metrics_are_written_for_everybody()
{
	booted
	has "$outside/out/states" "gpreempt-metrics.timer active"
	is "files" "$(cat "$outside/out/modes")" "644 /var/lib/prometheus/node-exporter/gpreempt.prom"
	has "$outside/out/gpreempt.prom" 'gpreempt_node_info{gpu_id="1"'
	is "messages" "$(cat "$outside/out/gpreempt-metrics.err")" ""
}

fallback_may_load_modules()
{
	booted
	is "capabilities" "$(head -n 1 "$outside/out/fallback")" 10000
	has "$outside/out/fallback" "reads modules"
	# The kernel looked at what is no module.
	has "$outside/out/fallback" "could not insert module"
	not has "$outside/out/fallback" "Operation not permitted" >/dev/null
}

plan 9
must "units are made" make_units
tap "systemd finds no mistake in them" units_have_no_mistake
tap "none of them may more than a bound" no_unit_may_more_than_a_bound
tap "none takes away what its program needs, and each says why" what_programs_need_is_not_taken_away
tap "systemd runs them" boots_the_units
tap "gpreempt.service applies its file" gpreempt_applies_its_file
tap "gpreemptd.service finds its processes" gpreemptd_finds_its_processes
tap "gpreempt-metrics writes a file that everybody may read" metrics_are_written_for_everybody
tap "the fallback may load modules" fallback_may_load_modules
finish

# SPDX-License-Identifier: MIT
# shellcheck shell=dash
#
# slurm_guest_lib.sh - what the guests with Slurm share (sourced in the guest)
#
# /slurm/system.tar is a Debian system with Slurm, munge, our plugin and gpreemptctl in it (slurm_system.sh makes it).

n=0
system=/system
out=/tmp/out

tap()		# name, function: its output is shown when it fails
{
	n=$((n + 1))
	if "$2" >/tmp/log 2>&1; then
		echo "ok $n - $1"
	else
		sed 's/^/# /' /tmp/log
		tail -n 5 $system/var/log/slurm*.log | sed 's/^/# /'
		echo "not ok $n - $1"
	fi
}

inside()	# command: there
{
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin:/opt/gpreempt HOME=/root LC_ALL=C chroot $system "$@" </dev/null
}

soon()		# command: becomes true within 30 s of guest time, or $patience tenths of one
{
	i=0
	until "$@" >$out.last 2>&1; do
		i=$((i + 1))
		[ $i -lt "${patience:-300}" ] || { echo "never true: $*"; cat $out.last; return 1; }
		usleep 100000
	done
}

whole()		# file, number: each item of so many programs' work was done once
{
	[ "$(grep -c ' lost=0 twice=0 ' "$1")" = "$2" ] || { cat "$1"; return 1; }
}

unpack()	# the system, with what it takes from this one
{
	# Containers want their root to be a mount.
	mkdir -p $system && mount -o bind $system $system && tar -C $system -xf /slurm/system.tar && rm /slurm/system.tar || return 1
	mkdir -p $system/proc $system/sys $system/dev $system/opt/gpreempt $system/run/munge $system/var/spool/slurmctld $system/var/spool/slurmd
	# Test programs know the virtual GPU by its debugfs. Without it they bring machine code, which it executes twenty times as slowly.
	for d in proc sys dev dev/pts dev/shm sys/fs/cgroup sys/kernel/debug opt/gpreempt; do
		mount -o bind /$d $system/$d || return 1
	done
	inside chown munge:munge /run/munge
	chmod 755 $system/run/munge
}

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# slurm-vm.sh - Debian's Slurm with the plugin of our package in a VM, on the driver and the virtual GPU. TAP
#
# cluster.sh beside this asks more of plugin and bounds, with a stand-in for the device; here the priorities have an effect.
. "$(dirname "$0")/../package/lib.sh"
. "$(dirname "$0")/../package/throwaway.sh"

throwaway "slurmctld slurmd slurm-client munge libjson-c5 libncurses6 procps" "$@"

arch=$(dpkg-architecture -qDEB_HOST_ARCH)
{
	"$TOP/dist/deb"
	for package in slurm-gpreempt-plugin gpreempt-tools; do
		cp "$BUILD/deb/${package}_"*"_$arch.deb" "$root/tmp/$package.deb"
	done
	in_root dpkg -i /tmp/slurm-gpreempt-plugin.deb /tmp/gpreempt-tools.deb && rm "$root"/tmp/*.deb
} >"$scratch/install" 2>&1 || { cat "$scratch/install" >&2; echo "Bail out! the packages cannot be installed"; exit 1; }

cat >"$root/etc/slurm/slurm.conf" <<-END
	ClusterName=test
	SlurmctldHost=node(127.0.0.1)
	AuthType=auth/munge
	SlurmUser=root
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	JobAcctGatherType=jobacct_gather/none
	ReturnToService=2
	StateSaveLocation=/var/spool/slurmctld
	SlurmdSpoolDir=/var/spool/slurmd
	SlurmctldLogFile=/var/log/slurmctld.log
	SlurmdLogFile=/var/log/slurmd.log
	SlurmdParameters=config_overrides
	SelectType=select/cons_tres
	SelectTypeParameters=CR_Core
	NodeName=node NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
	PartitionName=day Nodes=node Default=YES OverSubscribe=FORCE:4
	PartitionName=night Nodes=node OverSubscribe=FORCE:4
END
echo "CgroupPlugin=cgroup/v1" >"$root/etc/slurm/cgroup.conf"
echo "required spank_gpreempt.so all=-500..500 partition:night=batch..-50" >"$root/etc/slurm/plugstack.conf"
printf '127.0.0.1 localhost node\n' >"$root/etc/hosts"
tar -C "$root" --exclude=./proc --exclude=./sys --exclude=./dev --exclude=./ccache --exclude=./usr/share/{doc,man,locale,perl} \
	--exclude=./usr/lib/*/perl* --exclude=./var/cache --exclude=./var/lib/{apt,dpkg} -cf "$scratch/system.tar" .
"${VM:-$TOP/tools/testing/vm/vm}" run --gpu fast --icount --timeout 900 --amdgpu-args gpreempt_enable=1 --add "$scratch/system.tar:slurm/system.tar" \
	--add "$TOP/tools/testing/integrations/slurm_guest.sh:opt/gpreempt/slurm-guest" -- slurm-guest

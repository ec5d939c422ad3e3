# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# slurm_system.sh - a Debian system with Slurm, our plugin and gpreemptctl in it, for guests; sourced by the suites that run jobs on the driver
#
# "slurm_system ARGUMENTS..." comes first, with the script's own arguments: as throwaway() it runs the script once more. $root is the system
# then; what a suite has to say there it says in $root/etc/slurm. "slurm_conf LINE..." writes slurm.conf, of what all suites share and these
# lines. "slurm_tar" packs it: $scratch/system.tar. "slurm_vm ARGUMENTS..." runs a VM with that and what the guests' scripts share.
# shellcheck source=tools/testing/package/lib.sh
. "$(dirname "$0")/../package/lib.sh"
# shellcheck source=tools/testing/package/throwaway.sh
. "$(dirname "$0")/../package/throwaway.sh"

slurm_system()
{
	local arch package

	throwaway "slurmctld slurmd slurm-client munge libjson-c5 libncurses6 procps" "$@"
	arch=$(dpkg-architecture -qDEB_HOST_ARCH)
	{
		"$TOP/dist/deb"
		for package in slurm-gpreempt-plugin gpreempt-tools; do
			cp "$BUILD/deb/${package}_"*"_$arch.deb" "$root/tmp/$package.deb"
		done
		in_root dpkg -i /tmp/slurm-gpreempt-plugin.deb /tmp/gpreempt-tools.deb && rm "$root"/tmp/*.deb
	} >"$scratch/install" 2>&1 || { cat "$scratch/install" >&2; echo "Bail out! the packages cannot be installed"; exit 1; }
	echo "CgroupPlugin=cgroup/v1" >"$root/etc/slurm/cgroup.conf"
}

slurm_conf()
{
	cat >"$root/etc/slurm/slurm.conf" <<-END
		ClusterName=test
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
	END
	printf '%s\n' "$@" >>"$root/etc/slurm/slurm.conf"
}

slurm_tar()
{
	tar -C "$root" --exclude=./proc --exclude=./sys --exclude=./dev --exclude=./ccache --exclude=./usr/share/{doc,man,locale,perl} \
		--exclude=./usr/lib/*/perl* --exclude=./var/cache --exclude=./var/lib/{apt,dpkg} -cf "$scratch/system.tar" .
}

slurm_vm()
{
	"${VM:-$TOP/tools/testing/vm/vm}" run --gpu fast --vgpu-args tlb=cached --amdgpu-args gpreempt_enable=1 --add "$scratch/system.tar:slurm/system.tar" \
		--add "$TOP/tools/testing/integrations/slurm_guest_lib.sh:opt/gpreempt/slurm-guest-lib" "$@"
}

# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# slurm_system.sh - a Debian system with Slurm, our plugin and gpreemptctl in it; sourced by the suites that run Slurm's jobs
#
# "install_ours PACKAGE..." builds these packages of ours and installs them in the throw-away system $root. "slurm_conf LINE..." writes
# $root/etc/slurm/slurm.conf, of what all suites share and these lines, "wait_for" waits, "containers_conf" what podman needs there. The rest is for guests:
# "slurm_system ARGUMENTS..." comes first, with the script's own arguments; as throwaway() it runs the script once more. The system has the packages
# $also of Debian and $ours of ours as well. "slurm_tar" packs $root: $scratch/system.tar. "slurm_vm ARGUMENTS..." runs
# a VM with that and what the guests' scripts share.
# shellcheck source=tools/testing/package/lib.sh
. "$(dirname "$0")/../package/lib.sh"
# shellcheck source=tools/testing/package/throwaway.sh
. "$(dirname "$0")/../package/throwaway.sh"

# wait_for SECONDS COMMAND...: until it succeeds
wait_for()
{
	local left=$(($1 * 5))

	shift
	until "$@" >/dev/null 2>&1; do
		left=$((left - 1))
		[ $left -gt 0 ] || { echo "never came true: $*"; "$@"; return 1; }
		sleep 0.2
	done
}

install_ours()
{
	local arch package

	"$TOP/dist/deb"
	arch=$(dpkg-architecture -qDEB_HOST_ARCH)
	for package; do
		cp "$BUILD/deb/${package}_"*"_$arch.deb" "$root/tmp/$package.deb"
	done
	set -- "${@/#//tmp/}"
	in_root dpkg -i "${@/%/.deb}"
}

slurm_system()
{
	throwaway "slurmctld slurmd slurm-client munge libjson-c5 libncurses6 procps${also:+ $also}" "$@"
	{
		# shellcheck disable=SC2086 # names
		install_ours slurm-gpreempt-plugin gpreempt-tools ${ours:-} && rm "$root"/tmp/*.deb
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

# Here are no systemd, no journal and no controllers of cgroups. The system is no mount namespace of its own.
containers_conf()
{
	mkdir -p "$root/etc/containers"
	cat >"$root/etc/containers/containers.conf" <<-END
		[containers]
		log_driver = "k8s-file"
		netns = "host"
		pids_limit = 0
		[engine]
		cgroup_manager = "cgroupfs"
		events_logger = "file"
		no_pivot_root = true
	END
}

slurm_tar()
{
	tar -C "$root" --exclude=./proc --exclude=./sys --exclude=./dev --exclude=./ccache --exclude=./usr/share/{doc,man,locale,perl} \
		--exclude=./usr/lib/*/perl* --exclude=./var/cache --exclude=./var/lib/{apt,dpkg} -cf "$scratch/system.tar" .
}

slurm_vm()
{
	"${VM:-$TOP/tools/testing/vm/vm}" run --gpu fast --amdgpu-args gpreempt_enable=1 --add "$scratch/system.tar:slurm/system.tar" \
		--add "$TOP/tools/testing/integrations/slurm_guest_lib.sh:opt/gpreempt/slurm-guest-lib" "$@"
}

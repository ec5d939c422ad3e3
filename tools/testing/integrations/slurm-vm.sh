#!/bin/bash
# SPDX-License-Identifier: MIT
#
# slurm-vm.sh - Debian's Slurm with the plugin of our package, and podman with the hook, in a VM, on the driver and the virtual GPU. TAP
#
# cluster.sh beside this asks more of plugin, hook and bounds, with a stand-in for the device; here what they set has an effect.
# shellcheck source=tools/testing/integrations/slurm_system.sh
. "$(dirname "$0")/slurm_system.sh"

also="crun podman libprotobuf-c1"
ours=gpreempt-oci-hook
slurm_system "$@"
slurm_conf "SlurmctldHost=node(127.0.0.1)" "NodeName=node NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN" \
	"PartitionName=day Nodes=node Default=YES OverSubscribe=FORCE:4" "PartitionName=night Nodes=node OverSubscribe=FORCE:4"
echo "required spank_gpreempt.so all=-500..500 partition:night=batch..-50" >"$root/etc/slurm/plugstack.conf"
printf '127.0.0.1 localhost node\n' >"$root/etc/hosts"
containers_conf
slurm_tar
slurm_vm --icount --timeout 900 --add "$TOP/tools/testing/integrations/slurm_guest.sh:opt/gpreempt/slurm-guest" -- slurm-guest

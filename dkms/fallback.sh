#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fallback.sh - if the kernel did not take our amdgpu, load the stock one that is beside it
#
# Usage: dkms/fallback.sh [KVER]
#
# For the unit amdgpu-gpreempt-fallback, late in the boot. A key that was withdrawn, Secure Boot switched on after the installation, a file damaged:
# whatever keeps our module from loading must not leave the machine without amdgpu. Does nothing where amdgpu is loaded, where no
# device asks for it, where the administrator blacklisted it, or where ours is not what modprobe finds.
set -euo pipefail
export LC_ALL=C

kver=${1:-$(uname -r)}

[ ! -e /sys/module/amdgpu ] || exit 0
case $(modinfo -k "$kver" -n amdgpu 2>/dev/null || true) in
*/updates/*)	;;
*)		exit 0 ;;
esac

# wanted: some device's alias leads to amdgpu, by modprobe's configuration and the kernel's command line
wanted()
{
	local device

	for device in /sys/bus/pci/devices/*; do
		[ "$(cat "$device/vendor" 2>/dev/null)" = 0x1002 ] || continue
		# (With -q it would say nothing at all, and grep -q would end before modprobe has.)
		! modprobe -S "$kver" -b -n -v "$(cat "$device/modalias")" 2>/dev/null | grep '/amdgpu\.ko' >/dev/null || return 0
	done
	return 1
}

wanted || exit 0
refusal=$(modprobe -S "$kver" -b amdgpu 2>&1) && exit 0
stock=$(find "/lib/modules/$kver/kernel/drivers/gpu/drm/amd/amdgpu" -name 'amdgpu.ko*' | head -n 1)
[ -n "$stock" ] || { echo "kfd_gpreempt: amdgpu does not load ($refusal), and there is no stock one" >&2; exit 1; }
for dependency in $(modinfo -F depends "$stock" | tr ',' ' '); do
	modprobe -S "$kver" "$dependency" || true
done
# shellcheck disable=SC2046 # the options are words
insmod "$stock" $(modprobe -S "$kver" -c | sed -n 's/^options amdgpu //p' | tr '\n' ' ')
echo "kfd_gpreempt: the kernel refused our amdgpu ($refusal); the stock one is loaded, nothing is scheduled" >&2

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# vm.sh - gpreemptd and gpreemptctl probe-hang against the driver in a VM. TAP
#
# Builds into $BUILD/gpreemptd and $BUILD/gpreemptctl.
set -eu

TOP=${TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
BUILD=${BUILD:-$TOP/build}

for tool in gpreemptd gpreemptctl; do
	make -s -C "$TOP/tools/$tool" O="$BUILD/$tool" CFLAGS="-O2 -g -Werror" >&2
done
exec "${VM:-$TOP/tools/testing/vm/vm}" run --gpu fast --vgpu-args vram_mb=64 --amdgpu-args gpu_recovery=1 --icount --timeout 600 \
	--add "$BUILD/gpreemptd/gpreemptd" --add "$BUILD/gpreemptctl/gpreemptctl" -- daemon "$@"

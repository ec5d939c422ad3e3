#!/bin/sh
# SPDX-License-Identifier: MIT
#
# vm.sh - programs by Debian's hipcc on Debian's HIP and ROCr, with scheduling off and on (TAP)
set -eu

make -s --no-print-directory -C "$TOP/tools/testing/hip" BUILD="$BUILD" "$BUILD/hip/hip_programs"
exec "$VM" run --gpu fast --icount --timeout 600 --add "$BUILD/hip/hip_programs" --add "$(command -v rocminfo)" \
	--add "$TOP/tools/testing/hip/hip_guest.sh:/opt/gpreempt/hip-guest" --add "$TOP/tools/testing/vm/guest_lib.sh:/opt/gpreempt/guest-lib" \
	--add "$TOP/tools/testing/hip/turns:/opt/gpreempt/hip-turns" -- hip-guest

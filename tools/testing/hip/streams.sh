#!/bin/sh
# SPDX-License-Identifier: MIT
#
# streams.sh - streams of a program on Debian's HIP and ROCr, and classes of their queues (TAP)
set -eu

make -s --no-print-directory -C "$TOP/tools/testing/hip" BUILD="$BUILD" "$BUILD/hip/hip_streams"
make -s -C "$TOP/lib" O="$BUILD/lib" >/dev/null
exec "$VM" run --gpu fast --icount --timeout 900 --add "$BUILD/hip/hip_streams" --add "$BUILD/lib/libgpreempt-preload.so" \
	--add "$TOP/tools/testing/hip/streams_guest.sh:/opt/gpreempt/streams-guest" --add "$TOP/tools/testing/vm/guest_lib.sh:/opt/gpreempt/guest-lib" \
	-- streams-guest

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# vm.sh - the tests of the policy inside the kernel, under its sanitizers, by KUnit (TAP)
set -eu

make -s --no-print-directory -C "$TOP/tools/testing/kunit" KDIR="$KDIR" O="$BUILD/kunit" >&2
exec "$VM" run --timeout 1200 --append "kunit.enable=1 kunit.autorun=1" --add "$BUILD/kunit/gpreempt_kunit.ko" --add "$TOP/tools/testing/kunit/kunit_guest.sh:/opt/gpreempt/kunit" -- kunit

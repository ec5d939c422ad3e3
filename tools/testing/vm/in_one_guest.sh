#!/bin/sh
# SPDX-License-Identifier: MIT
#
# in_one_guest.sh - run suites one after the other in a single guest, on a kernel of our own (TAP: all that they print)
#
#	tools/testing/vm/in_one_guest.sh debug|kcsan SUITE
#
# Those whose row in the table of suites says `debug:SUITE' or `kcsan:SUITE'. Wants what check.py gives suites;
# the guest's log is in $BUILD/check/SUITE.out.

kind=$1 suite=$2
out=$BUILD/check/$suite.out
rm -rf "$out"
runs=$(mktemp)
trap 'rm -f "$runs"' EXIT
parts=$("$TOP/tools/testing/check.py" --list "--$kind" --in "$suite") || { echo "Bail out! $parts"; exit 1; }
echo "$parts" | while IFS='	' read -r name command; do
	VM_COLLECT=$runs VM_NAME=$name sh -c "$command" || { echo "Bail out! $name"; exit 1; }
done || exit 1
"$VM" batch "$runs" "$out"

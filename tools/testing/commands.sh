#!/bin/sh
# SPDX-License-Identifier: MIT
#
# commands.sh - run commands of which each is a test, which passes if its command does (TAP)
#
#	tools/testing/commands.sh NAME COMMAND [NAME COMMAND]...
#
# All that a command prints is in the output, as diagnostics.
# shellcheck source=tools/testing/tap.sh
. "$(dirname "$0")/tap.sh"

plan $(($# / 2))
while [ $# -gt 0 ]; do
	sh -c "$2" >"$scratch/out" 2>&1
	status=$?
	sed 's/^/# /' "$scratch/out"
	tap "$1" test $status = 0
	shift 2
done
finish

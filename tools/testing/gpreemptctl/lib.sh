# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# lib.sh - what the suites of gpreemptctl share; sourced by them
. "$(dirname "$0")/../package/lib.sh"

# build_ctl FOLDER [sanitized]: gpreemptctl and its manual pages
build_ctl()
{
	local flags="-O2 -g"

	[ "${2:-}" != sanitized ] || flags="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
	make -s -C "$TOP/tools/gpreemptctl" O="$1" CFLAGS="$flags -Werror"
}

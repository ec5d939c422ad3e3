#!/bin/bash
# SPDX-License-Identifier: MIT
#
# keep-stock.sh - put the kernel's own amdgpu back where its package has it, after DKMS took it away
#
# Usage: dkms/keep-stock.sh DKMS_TREE KVER ARCH
#
# DKMS 3.0 leaves it where it is on Debian. 3.2 moves it into its own tree, from which it would come back when ours is removed. But rescue and
# fallback want it beside ours (Documentation/installation.rst). What was below another folder than kernel/ stays with DKMS.
set -euo pipefail

archive=$1/kfd_gpreempt/original_module/$2/$3

for origin in "$archive"/*.origin; do
	[ -e "$origin" ] || continue
	module=${origin%.origin}
	place=$(cat "$origin")
	case $place in
	*/"$2"/kernel/*)
		[ -e "$place" ] || mv "$module" "$place"
		rm -f "$module" "$origin"
		echo "kfd_gpreempt: the stock amdgpu is where it was, $place"
		;;
	esac
done
[ ! -d "$archive" ] || (cd "$1/kfd_gpreempt" && rmdir -p --ignore-fail-on-non-empty "original_module/$2/$3")

# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# lib.sh - what the package tests share: TAP on stdout, a scratch folder, the kernel to test with; sourced by the suites here
#
# A test is a function whose output is shown, before the result, when it fails: "tap NAME FUNCTION [ARGS...]"; "plan N" comes first. A function may
# call "skip REASON", which ends it.
set -u
export LC_ALL=C

TOP=${TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
BUILD=${BUILD:-$TOP/build}
GPREEMPT_CACHE=${GPREEMPT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kfd_gpreempt}
export GPREEMPT_CACHE
# shellcheck disable=SC2034 # for the suites
AMD=drivers/gpu/drm/amd

# Without KVER: the newest kernel that can be built for.
if [ -z "${KVER:-}" ]; then
	for KVER in $(find /lib/modules -mindepth 2 -maxdepth 2 -name build -printf '%h\n' | sed 's|.*/||' | sort -rV); do
		! "$TOP/dkms/build.sh" --check --kver "$KVER" >/dev/null 2>&1 || break
	done
fi
[ -n "${KVER:-}" ] || { echo "Bail out! no kernel headers are installed"; exit 1; }

scratch=$(mktemp -d "${TMPDIR:-/tmp}/gpreempt-package.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

count=0
failed=0

plan()
{
	echo "TAP version 13"
	echo "1..$1"
}

skip()
{
	echo "$*" >"$scratch/.skip"
	exit 0
}

tap()
{
	local name=$1 status

	shift
	count=$((count + 1))
	rm -f "$scratch/.skip"
	(set -e; "$@") >"$scratch/.out" 2>&1
	status=$?
	if [ -e "$scratch/.skip" ]; then
		echo "ok $count $name # SKIP $(cat "$scratch/.skip")"
	elif [ $status = 0 ]; then
		echo "ok $count $name"
	else
		failed=$((failed + 1))
		head -n 40 "$scratch/.out" | sed 's/^/# /'
		echo "not ok $count $name"
	fi
}

# What the rest needs: no point in going on without it. (As the left side of || a test would not end with its first failing command.)
must()
{
	local before=$failed

	tap "$@"
	[ "$failed" = "$before" ] || { echo "Bail out! the rest needs it"; exit 1; }
}

# not COMMAND...: for the middle of a test, where a command behind an exclamation mark does not end it
not()
{
	! "$@"
}

finish()
{
	[ "$failed" = 0 ]
	exit $?
}

# is WHAT GOT WANTED
is()
{
	[ "$2" = "$3" ] || { echo "$1: got '$2', wanted '$3'"; return 1; }
}

# has FILE TEXT: the text is in the file
has()
{
	grep -qF -- "$2" "$1" || { echo "no '$2' in:"; cat "$1"; return 1; }
}

# refused OUTPUT COMMAND...: the command fails and says what, why, state and remedy, once
refused()
{
	local out=$1 line

	shift
	if "$@" >"$out" 2>&1; then
		echo "it did not fail: $*"
		cat "$out"
		return 1
	fi
	is "number of messages" "$(grep -c '^kfd_gpreempt: error: .' "$out")" 1
	for line in why state remedy; do
		is "lines '$line'" "$(grep -c "^  $line: *[^ ]" "$out")" 1
	done
}

# stock_source DIR: a kernel source as far as the build script looks at it before it compiles
stock_source()
{
	local stock=$GPREEMPT_CACHE/amdgpu/$KVER/test/stock

	"$TOP/dkms/build.sh" --kver "$KVER" --flavour test --prepare >/dev/null
	mkdir -p "$1/$AMD"
	cp -r "$stock/amdkfd" "$1/$AMD/"
	sed -n '/^VERSION\|^PATCHLEVEL\|^SUBLEVEL/p' "$(readlink -f "/lib/modules/$KVER/source")/Makefile" >"$1/Makefile"
}

# package_copy DIR: what DKMS gets of this tree
package_copy()
{
	mkdir -p "$1"
	(cd "$TOP" && cp -a --parents dkms.conf Kconfig kfd_gpreempt include dkms "$1/")
}

# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# lib.sh - what the package tests share: tap.sh, the kernel to test with, copies of the tree; sourced by them
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

# shellcheck source=tools/testing/tap.sh
. "$TOP/tools/testing/tap.sh"

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

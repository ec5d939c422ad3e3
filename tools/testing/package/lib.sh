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

# recorded FILE.cmd: the command by which the test build compiled an object, without what it notes of dependencies
recorded()
{
	sed -n '1s/^savedcmd_[^ ]* := //p' "$1" | sed 's/^ccache //; s/ ;.*//; s/ -Wp,-MMD,[^ ]*//'
}

# with_w1: options of a compiler on stdin, and what scripts/Makefile.extrawarn adds and takes away for W=1
with_w1()
{
	sed -E 's/ -Wno-(unused-but-set-variable|unused-const-variable|packed-not-aligned|format-overflow|format-truncation|stringop-truncation)//g
		s/$/ -Wmissing-format-attribute -Wmissing-include-dirs -Wunused-const-variable/'
}

# git_as_test: commits, and sign-offs, are of a made-up person
git_as_test()
{
	export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@localhost GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@localhost
	export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=test GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=test@localhost
}

# patches_of FOLDER: those of a series in their order, without the cover letter
patches_of()
{
	find "$1" -name '0*.patch' ! -name '0000-*' | sort
}

# linked_tree FOLDER: headers of the test build, around the amdkfd and kfd_gpreempt of a kernel tree
linked_tree()
{
	mkdir -p "$1/$AMD/amdgpu"
	ln -s "$GPREEMPT_CACHE/amdgpu/$KVER/test/$AMD"/{include,pm,display,acp,amdxcp} "$1/$AMD/"
	ln -s "$GPREEMPT_CACHE/amdgpu/$KVER/test/$AMD/amdgpu"/*.h "$1/$AMD/amdgpu/"
}

# options_of KCONFIG: for the compiler, as if each option of the scheduler were on
options_of()
{
	sed -n 's/^config \(KFD_GPREEMPT.*\)/-DCONFIG_\1=1/p' "$1" | paste -sd' '
}

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# deps.sh - installs the Debian packages that building and testing need; says nothing when they are all there
#
#   tools/testing/deps.sh            install what is missing (root), print what was installed
#   tools/testing/deps.sh --package  what make check-package, make deb, make rpm and make htmldocs need as well
#   tools/testing/deps.sh --list     print the names of the packages
#
# dkms/releases has what is called differently in each release of Debian.
#
# Touches: the package database of the machine; $GPREEMPT_CACHE/unpacked. The VM's kernel is unpacked from its package. None is installed
# but where Debian's headers ask for it, as those of Debian 13 do.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)

die()
{
	echo "deps: $*" >&2
	exit 1
}

command -v dpkg-query >/dev/null || die "this is no Debian system: tests and demo need Debian on amd64"
[ "$(dpkg --print-architecture)" = amd64 ] || die "this machine is $(dpkg --print-architecture): tests and demo need Debian on amd64"

# named WHAT: the row of dkms/releases
named()
{
	"$top/dkms/release.sh" "$1"
}

headers=$(named kernel-headers)
source=$(named kernel-source)
llvm=$(named llvm)
fuzz_llvm=$(named fuzz-llvm)

# building the module: headers and source of the newest 6.12, what kbuild and dkms/build.sh call
build="$headers $source $(named kernel-compiler) gcc libc6-dev binutils make bc bison flex libelf-dev libssl-dev
	dwarves ccache rsync patch xz-utils zstd kmod dkms openssl mokutil udev
	sparse shellcheck perl python3"
# every history of a model; coverage-guided fuzzing
proof="spin clang-$fuzz_llvm libclang-rt-$fuzz_llvm-dev"
# the test guest and the programs in it
guest="qemu-system-x86 mmdebstrap e2fsprogs busybox-static libhsa-runtime-dev libhsa-runtime64-1 bpftrace"
# kernels for the virtual GPU: compiler, linker and assembler for gfx90a; HIP
shader="clang-$llvm lld-$llvm llvm-$llvm hipcc $(named rocm-device-libs) libamdhip64-dev libamd-comgr-dev rocminfo"
# gpreemptctl, the library, Slurm and NRI plugin, and what looks at them
tools="libjson-c-dev libncurses-dev libsmartcols-dev scdoc man-db pkgconf g++ bash-completion procps tmux libslurm-dev
	libprotobuf-c-dev protobuf-c-compiler"
# Debian and rpm packages, throw-away systems, documentation, cluster managers
package="build-essential debhelper dh-dkms fakeroot lintian rpm cpio python3-sphinx"
# A program out of these is all that is needed; installed, they would start services: they are unpacked into the cache.
unpacked=$(named promtool)

if [ "${1:-}" = --list ]; then
	# shellcheck disable=SC2086 # lists of words
	printf '%s\n' $build $proof $guest $shader $tools $package $unpacked
	exit 0
fi

[ "${1:-}" = --package ] || package=

missing()
{
	# shellcheck disable=SC2086
	for p in $build $proof $guest $shader $tools $package; do
		case $(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null) in
		ii*) ;;
		*) echo "$p" ;;
		esac
	done
}

want=$(missing)
cache=${GPREEMPT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kfd_gpreempt}/unpacked
for p in $unpacked; do
	[ -d "$cache/$p" ] || want_unpacked="${want_unpacked:-} $p"
done
[ -n "$want${want_unpacked:-}" ] || exit 0
# Headers and source have to be of one version: whoever lacks one gets the newest of both.
case $want in
*"$headers"* | *"$source"*) want="$want $headers $source" ;;
esac
log=$(mktemp)
trap 'rm -f "$log" "$log.failed"' EXIT

# apt COMMAND...: apt-get, whose output is in $log, and how far it is
apt()
{
	: >"$log.failed"
	{
		DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o APT::Status-Fd=9 -q "$@" 9>&1 >"$log" 2>&1 </dev/null &&
			rm "$log.failed"
	} | "$top/dkms/progress.sh"
	[ ! -e "$log.failed" ]
}

install()
{
	apt -y --no-install-recommends install "$@"
}

unpack()
{
	folder=$(mktemp -d "$cache/.$1.XXXXXX")
	(cd "$folder" && apt download "$1" && dpkg -x ./*.deb . >>"$log" 2>&1 && rm ./*.deb) &&
		{ [ -d "$cache/$1" ] || mv "$folder" "$cache/$1"; }
	status=$?
	rm -rf "$folder"
	return $status
}

# twice WHAT...: the lists of a fresh machine are empty or old, so a failure is tried once more with new ones
twice()
{
	"$@" && return
	apt update || true
	"$@" && return
	tail -n 20 "$log" >&2
	return 1
}

if [ -n "$want" ]; then
	# shellcheck disable=SC2086
	set -- $want
	[ "$(id -u)" = 0 ] || die "missing Debian packages, root is needed to install them: $*"
	echo "installing Debian packages: $*"
	twice install "$@" || die "apt-get could not install: $* (Debian 12 has the 6.12 packages in its security and backports archives)"
fi
for p in ${want_unpacked:-}; do
	echo "unpacking the Debian package $p into $cache"
	mkdir -p "$cache"
	twice unpack "$p" || die "apt-get could not download: $p"
done

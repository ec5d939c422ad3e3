#!/bin/bash
# SPDX-License-Identifier: MIT
#
# rocm.sh - today's ROCm of Debian, whatever release this machine is: to compile with and to run in a VM
#
# Usage: tools/testing/vm/rocm.sh --image		makes a disk for `vm run --disk' of it, prints its path
#        tools/testing/vm/rocm.sh --in COMMAND...	runs COMMAND in a system with its compiler
#        tools/testing/vm/rocm.sh --versions		prints its packages with their versions
#
# All is got from the archive that the machine's apt knows, once; nothing is installed on the machine. In that system
# are this tree, $BUILD and the cache; whatever else COMMAND writes is lost. Of libraries with kernels of their own
# for many devices only those for gfx90a and gfx942 are kept, as far as each is in a file of its own.
#
# Touches: $GPREEMPT_CACHE/rocm, some 10 GB; for newer packages remove it. Exit status 3: the archive cannot be
# reached, or lacks a package.
set -euo pipefail
export LC_ALL=C

top=$(cd "$(dirname "$0")/../../.." && pwd)
export BUILD=${BUILD:-$top/build}
export GPREEMPT_CACHE=${GPREEMPT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kfd_gpreempt}
cache=$GPREEMPT_CACHE/rocm
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
suite=sid
packages=hipcc,libamd-comgr-dev,libamdhip64-dev,librocprim-dev,librocrand-dev,librocblas-dev
packages=$packages,rocminfo,amd-smi,rocm-smi,libggml0-backend-hip,llama.cpp-tools,python3-gguf
package_count=216		# that this comes to, about
# What is not wanted: kernels for other devices, and texts
kernels='/usr/lib/*/rocblas/*/library'
dpkg_options=(--dpkgopt="path-exclude=$kernels/*gfx*" --dpkgopt="path-include=$kernels/*gfx90a*" --dpkgopt="path-include=$kernels/*gfx942*"
	--dpkgopt="path-exclude=/usr/share/doc/*" --dpkgopt="path-exclude=/usr/share/man/*" --dpkgopt="path-exclude=/usr/share/locale/*")
# What a program needs to be compiled and not to run
compilers='usr/include usr/lib/gcc usr/lib/llvm-* usr/lib/debug usr/share/bug usr/share/info usr/share/lintian usr/share/perl* var'
root=$cache/$suite-$(echo "$packages" | sha256sum | cut -c 1-8)

die()
{
	echo "rocm.sh: ${*:2}" >&2
	exit "$1"
}

# archive: where the main archive of the machine's own release is
# shellcheck disable=SC2016 # apt-get's own variables
archive()
{
	apt-get indextargets --no-release-info --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
		awk -v own="$("$top/dkms/release.sh" codename)" '$1 == own { print $2; exit }'
}

system()
{
	local uri

	[ ! -e "$root" ] || return 0
	[ "$(id -u)" = 0 ] || die 3 "only root can make a system of Debian $suite"
	command -v mmdebstrap >/dev/null || die 3 "mmdebstrap is not installed"
	uri=$(archive)
	rm -rf "$root.new"
	mkdir -p "$root.new"
	# The suite's date may be over: it is only ever replaced by a newer one. What mmdebstrap mounts goes with its namespace.
	# shellcheck disable=SC2016 # of that shell
	"$top/dkms/progress.sh" --files $package_count "making a system of Debian $suite with ROCm" '*.list' "$root.new" -- \
		unshare --mount --propagation private sh -c 'exec mmdebstrap --quiet --mode=root --variant=minbase --skip=check/empty "$@" >"$0" 2>&1' "$cache/mmdebstrap.log" \
		--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Languages "none"' "${dpkg_options[@]}" \
		--include="$packages" "$suite" "$root.new" "deb [signed-by=$keyring] $uri $suite main" ||
		die 3 "no system of Debian $suite could be made: $(grep -m 1 '^E:' "$cache/mmdebstrap.log")"
	mv "$root.new" "$root"
}

image()
{
	local part=$root.disk kilobytes

	[ ! -e "$root.ext4" ] || return 0
	rm -rf "$part" "$root.ext4.new"
	# Links: the same files
	cp -alx "$root" "$part"
	# shellcheck disable=SC2086 # patterns
	(cd "$part" && rm -rf $compilers && find . -name '*.a' -delete && mkdir -p out)
	# A sixteenth for what the file system itself takes
	kilobytes=$(du -sk "$part" | cut -f 1)
	mke2fs -q -t ext4 -O ^has_journal -m 0 -d "$part" "$root.ext4.new" "$((kilobytes + kilobytes / 16 + 65536))k" >/dev/null ||
		die 1 "no disk could be made"
	rm -rf "$part"
	mv "$root.ext4.new" "$root.ext4"
}

mkdir -p "$cache"
exec 8>"$cache/.lock"
flock 8
case ${1:-} in
--image)
	system 8>&-
	image 8>&-
	echo "$root.ext4"
	;;
--in)
	system 8>&-
	exec 8>&-
	mkdir -p "$BUILD"
	# shellcheck disable=SC2016 # of that shell
	system=$root top=$top exec unshare --mount --propagation private bash -euc '
		mount -t tmpfs -o size=1g rocm /mnt
		mkdir /mnt/{root,upper,work}
		root=/mnt/root
		mount -t overlay -o "lowerdir=$system,upperdir=/mnt/upper,workdir=/mnt/work" overlay "$root"
		mount -t proc proc "$root/proc"
		for folder in /dev "$top" "$BUILD" "$GPREEMPT_CACHE"; do
			mkdir -p "$root$folder"
			mount --rbind "$folder" "$root$folder"
		done
		exec chroot "$root" env -u TMPDIR -C "$PWD" HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"' rocm.sh "${@:2}"
	;;
--versions)
	system 8>&-
	# shellcheck disable=SC2016 # dpkg-query's own variables
	dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Package} ${Version}\n'
	;;
*)
	die 1 "usage: see the head of tools/testing/vm/rocm.sh"
	;;
esac

# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# throwaway.sh - a Debian system to install into and throw away; sourced after lib.sh by the suites that need one
#
# $codename is the release of Debian, this machine's if it is not set. "throwaway PACKAGES" makes the script run once more in a mount namespace of its own, with a fresh system in $root: an overlay over a base that
# debian's archive fills once per list of packages and that is kept in $GPREEMPT_CACHE/package-root. Nothing below $root outlives the
# suite. "in_root COMMAND..." runs something there.
#
# There is no /sys in it: what a test wants to be there it puts there.

root=$scratch/throwaway/root

# system_base PACKAGES: prints the folder of the base, made if there is none yet
system_base()
{
	local packages=$1 folder id

	id=$(echo "${codename:-} $packages" | sed 's/^ //' | sha256sum | cut -c 1-12)
	folder=$GPREEMPT_CACHE/package-root/base-$id
	mkdir -p "$GPREEMPT_CACHE/package-root"
	exec 7>"$GPREEMPT_CACHE/package-root/.lock"
	flock 7
	if [ ! -e "$folder/etc/debian_version" ]; then
		rm -rf "$folder" "$folder.new"
		# An archive that stands still is as good.
		mmdebstrap --quiet --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' --include="$(echo "$packages" | tr -s ' \n\t' ',' | sed 's/^,//; s/,$//')" \
			"${codename:-$("$TOP/dkms/release.sh" codename)}" "$folder.new" >&2 ||
			{ rm -rf "$folder.new"; return 1; }
		mv "$folder.new" "$folder"
	fi
	flock -u 7
	echo "$folder"
}

# throwaway PACKAGES ARGUMENTS...: to be called first, with the script's own arguments
throwaway()
{
	local base

	if [ -z "${GPREEMPT_THROWAWAY:-}" ]; then
		command -v mmdebstrap >/dev/null || { echo "1..0 # SKIP mmdebstrap is not installed: tools/testing/deps.sh --package"; exit 0; }
		[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP only root can make a throw-away system"; exit 0; }
		base=$(system_base "$1") || { echo "Bail out! no base system could be made"; exit 1; }
		GPREEMPT_THROWAWAY=$base unshare --mount --pid --fork --mount-proc "$BASH" "$0" "${@:2}"
		exit $?
	fi
	mkdir -p "$scratch/throwaway"
	mount -t tmpfs -o size=4g throwaway "$scratch/throwaway"
	mkdir "$scratch/throwaway"/{root,upper,work}
	mount -t overlay -o "lowerdir=$GPREEMPT_THROWAWAY,upperdir=$scratch/throwaway/upper,workdir=$scratch/throwaway/work" overlay "$root"
	mount -t proc proc "$root/proc"
	mount -t tmpfs devices "$root/dev"
	mknod -m 666 "$root/dev/null" c 1 3
	mknod -m 666 "$root/dev/zero" c 1 5
	mknod -m 666 "$root/dev/urandom" c 1 9
	mknod -m 666 "$root/dev/random" c 1 8
	mkdir -p "$root/dev/shm" "$root/ccache" "$GPREEMPT_CACHE/ccache"
	ln -s /proc/self/fd "$root/dev/fd"
	mount --bind "$GPREEMPT_CACHE/ccache" "$root/ccache"
	trap 'umount -l "$root/ccache" "$root/proc" "$root/dev" "$root" "$scratch/throwaway"; rm -rf "$scratch"' EXIT
}

# in_root COMMAND...: with only what is said here of this environment
in_root()
{
	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive \
		CCACHE_DIR=/ccache KBUILD_MODPOST_WARN=1 EFIVARFS_PATH=/sys/firmware/efi/efivars/ chroot "$root" "$@" </dev/null
}

# packaged_tests NAME...: those of debian/tests, as autopkgtest would run them where what they depend on is installed
packaged_tests()
{
	local name

	mkdir -p "$root/tmp/tests"
	for name; do
		cp "$TOP/debian/tests/$name" "$root/tmp/tests/"
		in_root env AUTOPKGTEST_TMP=/tmp/tests "/tmp/tests/$name"
	done
}

# deb FILE: puts the folder $scratch/deb, which has a DEBIAN/control, into a package below $root/debs
deb()
{
	mkdir -p "$root/debs"
	dpkg-deb --root-owner-group -Zgzip -z1 -b "$scratch/deb" "$root/debs/$1" >/dev/null
	rm -rf "$scratch/deb"
}

# control NAME VERSION [LINE...]: begins such a folder
control()
{
	rm -rf "$scratch/deb"
	mkdir -p "$scratch/deb/DEBIAN"
	{
		printf 'Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: test <test@localhost>\nDescription: stands for %s\n' "$1" "$2" "$1"
		[ $# -lt 3 ] || printf '%s\n' "${@:3}"
	} >"$scratch/deb/DEBIAN/control"
}

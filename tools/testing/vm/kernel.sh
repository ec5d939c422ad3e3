#!/bin/bash
# SPDX-License-Identifier: MIT
#
# kernel.sh - kernels of Debian that this machine does not have: to build for and to boot
#
# Usage: tools/testing/vm/kernel.sh KERNEL		gets it, prints its version
#        tools/testing/vm/kernel.sh --list [KERNEL]	prints the kernels there are; or the releases of one, oldest first
#        tools/testing/vm/kernel.sh --amd		prints those that are there for AMD's own driver package alone
#        tools/testing/vm/kernel.sh --headers KVER	gets what --in needs, without source and kernel
#        tools/testing/vm/kernel.sh --source KVER	prints where its source is, a tarball
#        tools/testing/vm/kernel.sh --in KVER COMMAND...	runs COMMAND where headers and source of KVER are installed
#        tools/testing/vm/kernel.sh --drop KVER		removes what was got of it
#
# KERNEL is a name of the table `kernels' beside this file, for the newest release, or a release, as
# 6.12.115+deb13-amd64.
#
# Modules are compiled in a throw-away system of the kernel's own release of Debian, since programs of
# its headers need that release's libraries. In there are this tree, $BUILD and the cache; whatever else
# COMMAND writes is lost. No system is changed. The archive is the one that the machine's apt knows.
#
# Touches: $GPREEMPT_CACHE/debian (apt's lists; a system for each release of Debian; headers and source
# of each kernel) and $GPREEMPT_CACHE/kernel. What is there is not fetched again; lists of more than a
# day are. Of a KERNEL by name older releases go. Exit status 3: the archive cannot be reached, or has no
# such kernel.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
export BUILD=${BUILD:-$top/build}
export GPREEMPT_CACHE=${GPREEMPT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kfd_gpreempt}
cache=$GPREEMPT_CACHE/debian
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# What compiles amdgpu and the virtual GPU's module; each release of Debian has the compiler of its
# kernels as gcc.
tools=ccache,binutils,gcc,kmod,libc6-dev,libelf-dev,libssl-dev,make,mawk,pahole,python3,rsync,xz-utils
tools_packages=150		# that this comes to, about

die()
{
	echo "kernel.sh: ${*:2}" >&2
	exit "$1"
}

table()
{
	sed '/^#/d; /^[[:space:]]*$/d; s/[[:space:]]*|[[:space:]]*/|/g' "$here/kernels"
}

# find_row KERNEL: of a name, or a release of a kernel: sets name, series, release, suites, amd, codename, and pattern, which its releases match. A
# release of Debian calls the first kernel that it came with by a count of its own, as 6.1.0-49-amd64. Of several rows that a release is of the
# last one has the most suites.
find_row()
{
	local row found=

	while IFS= read -r row; do
		IFS='|' read -r name series release suites amd codename <<<"$row"
		pattern="^${series/./\\.}\\.([0-9]+\\+deb$release|0-[0-9]+)-amd64\$"
		[[ ! $1 =~ $pattern ]] || found=$row
		if [ "$1" = "$name" ]; then
			found=$row
			break
		fi
	done < <(table)
	[ -n "$found" ] || die 1 "there is no kernel '$1', but: $(table | cut -d'|' -f1 | tr '\n' ' ')"
	IFS='|' read -r name series release suites amd codename <<<"$found"
	pattern="^${series/./\\.}\\.([0-9]+\\+deb$release|0-[0-9]+)-amd64\$"
	apt=$cache/apt-$name
	export APT_CONFIG=$apt/apt.conf
	mkdir -p "$apt"
	[ -z "$codename" ] || return 0
	printf 'ID=debian\nVERSION_ID=%s\n' "$release" >"$apt/os-release"
	codename=$(OS_RELEASE=$apt/os-release "$top/dkms/release.sh" codename)
}

# sources: lines for apt, of this machine's archives with other suites
# shellcheck disable=SC2016 # apt-get's own variables
sources()
{
	local own kind uri

	own=$("$top/dkms/release.sh" codename)
	for kind in "" $suites; do
		kind=${kind:+-$kind}
		uri=$(APT_CONFIG='' apt-get indextargets --no-release-info --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
			awk -v own="$own" -v same="$own$kind" '
				$1 == same { print $2; found = 1; exit }
				$1 == own { main = $2 }
				END { if (!found && same !~ /-security$/) print main }')
		[ -z "$uri" ] || echo "deb [signed-by=$keyring] $uri $codename$kind main"
	done
}

# apt_get COMMAND...: its output is in a log; how far it is
apt_get()
{
	: >"$apt/failed"
	{
		apt-get -q -o APT::Sandbox::User=root -o APT::Status-Fd=9 "$@" 9>&1 >"$apt/log" 2>&1 </dev/null && rm "$apt/failed"
	} | "$top/dkms/progress.sh" 8>&-
	[ ! -e "$apt/failed" ]
}

# lists: those of the archive; old ones are better than none
lists()
{
	[ -z "$(find "$apt/updated" -mmin -1440 2>/dev/null)" ] || return 0
	mkdir -p "$apt"/{lists,archives}/partial
	sources >"$apt/sources.list"
	cat >"$APT_CONFIG" <<END
Dir::State::lists "$apt/lists";
Dir::Cache "$apt/archives";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
END
	if apt_get -o APT::Update::Error-Mode=any update; then
		touch "$apt/updated"
	elif [ ! -e "$apt/updated" ]; then
		die 3 "the archive cannot be reached: $(grep -m 1 '^E:' "$apt/log" || tail -n 1 "$apt/log")"
	fi
}

releases()
{
	apt-cache search --names-only "^linux-headers-${series/./\\.}\\." |
		sed -n 's/^linux-headers-\([^ ]*\) .*/\1/p' | grep -E "$pattern" | sort -V
}

# system: the folder of the throw-away system, made if there is none
system()
{
	local folder log=$cache/mmdebstrap.log tools=$tools

	# Its name was another one once.
	[ "$codename" != bullseye ] || tools=${tools/pahole/dwarves}
	folder=$cache/$codename-$(echo "$tools" | sha256sum | cut -c 1-8)
	if [ ! -e "$folder" ]; then
		command -v mmdebstrap >/dev/null || die 1 "mmdebstrap is not installed"
		rm -rf "$folder.new"
		mkdir -p "$folder.new"
		# shellcheck disable=SC2016 # of that shell
		APT_CONFIG='' "$top/dkms/progress.sh" --files $tools_packages "making a system of Debian $codename" '*.list' "$folder.new" -- \
			sh -c 'exec mmdebstrap --quiet --mode=root --variant=minbase --skip=check/empty --include="$@" >"$0" 2>&1' "$log" \
			"$tools" "$codename" "$folder.new" "$(sed -n '1p' "$apt/sources.list")" 8>&- || die 3 "no system of Debian $codename could be made: $(grep -m 1 '^E:' "$log")"
		# Where programs of the kernel look for their headers, if /lib is no link yet.
		[ -L "$folder.new/lib" ] || ln -s /usr/lib/modules "$folder.new/lib/modules"
		mv "$folder.new" "$folder"
	fi
	echo "$folder"
}

# packages KVER [--headers]: unpacks headers and source
packages()
{
	local version kbuild work=$cache/$1.new

	[ ! -e "$cache/$1" ] || { [ $# = 1 ] && [ -e "$cache/$1/headers-only" ]; } || return 0
	version=$(apt-cache show "linux-headers-$1" 2>/dev/null | sed -n 's/^Version: //p' | head -n 1 || true)
	[ -n "$version" ] || die 3 "the archive has no linux-headers-$1"
	rm -rf "$work"
	mkdir -p "$work/usr/lib"
	# Its programs are in a package of the release or of the series.
	kbuild=$(apt-cache depends "linux-headers-$1" | sed -n 's/^  Depends: \(linux-kbuild-.*\)/\1/p')
	(cd "$work" && apt_get download "linux-headers-$1" "linux-headers-${1%-*}-common" "$kbuild") ||
		die 3 "the packages of $1 cannot be had: $(grep -m 1 '^E:' "$apt/log")"
	# AMD's package needs none, and an archive may have a kernel without its source.
	if [ $# = 2 ]; then
		touch "$work/headers-only"
	else
		(cd "$work" && apt_get download "linux-source-$series=$version") || [ -n "$amd" ] ||
			die 3 "the source of $1 cannot be had: $(grep -m 1 '^E:' "$apt/log")"
	fi
	for deb in "$work"/*.deb; do
		dpkg -x "$deb" "$work"
		rm "$deb"
	done
	# In most systems /lib is a link.
	if [ -d "$work/lib" ]; then
		cp -a "$work/lib" "$work/usr/"
		rm -rf "${work:?}/lib"
	fi
	[ -e "$GPREEMPT_CACHE/kernel/$1" ] || touch "$work/kernel-too"
	rm -rf "${cache:?}/$1"
	mv "$work" "$cache/$1"
}

# got KVER: it is there
got()
{
	[ -e "$cache/$1" ] || die 1 "get $1 first: tools/testing/vm/kernel.sh $1"
}

# drop KVER: what there is of it, but of the machine's own kernel only what was got here
drop()
{
	[ ! -e "$cache/$1/kernel-too" ] || rm -rf "$GPREEMPT_CACHE/kernel/$1" "$GPREEMPT_CACHE/amdgpu/$1"
	rm -rf "${cache:?}/$1"
}

case ${1:-} in
--list)
	[ $# = 2 ] || { table | awk -F'|' '$5 == "" { print $1 }'; exit 0; }
	;;
--amd)
	table | awk -F'|' '$5 != "" { print $1 }'
	exit 0
	;;
--source | --in | --drop | --headers)
	[ $# -ge 2 ] || die 1 "which kernel?"
	;;
'' | -*)
	die 1 "usage: see the head of tools/testing/vm/kernel.sh"
	;;
esac
mkdir -p "$cache/mount"
case $1 in
--list)
	find_row "$2"
	exec 8>"$cache/.lock"
	flock 8
	lists
	releases
	;;
--drop)
	drop "$2"
	;;
--headers)
	find_row "$2"
	exec 8>"$cache/.lock"
	flock 8
	[ -e "$cache/$2" ] || lists
	system >/dev/null
	packages "$2" --headers
	;;
--source)
	find_row "$2"
	got "$2"
	echo "$cache/$2/usr/src/linux-source-$series.tar.xz"
	;;
--in)
	find_row "$2"
	got "$2"
	mkdir -p "$BUILD"
	# shellcheck disable=SC2016 # of that shell
	system=$(system) lower=$cache/$2 mount=$cache/mount top=$top exec unshare --mount --propagation private bash -euc '
		mount -t tmpfs -o size=4g kernel "$mount"
		mkdir "$mount"/{root,upper,work}
		root=$mount/root
		mount -t overlay -o "lowerdir=$lower:$system,upperdir=$mount/upper,workdir=$mount/work" overlay "$root"
		mount -t proc proc "$root/proc"
		for folder in /dev "$top" "$BUILD" "$GPREEMPT_CACHE"; do
			mkdir -p "$root$folder"
			mount --bind "$folder" "$root$folder"
		done
		unset TMPDIR
		export PATH=/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin CCACHE_DIR=${CCACHE_DIR:-$GPREEMPT_CACHE/ccache}
		exec chroot "$root" env -C "$PWD" "$@"' kernel.sh "${@:3}"
	;;
*)
	find_row "$1"
	exec 8>"$cache/.lock"
	flock 8
	kver=$1
	if [ "$1" = "$name" ]; then
		lists
		kver=$(releases | tail -n 1)
		[ -n "$kver" ] || die 3 "the archive has no kernel $name"
	elif [ ! -e "$cache/$1" ] || [ -e "$cache/$1/headers-only" ]; then
		lists
	fi
	system >/dev/null
	packages "$kver"
	KVER=$kver VGPU_CACHE=$GPREEMPT_CACHE "$here/vm" fetch >&2 8>&- || die 3 "the kernel $kver cannot be had"
	# An older one is not asked for any more.
	for old in "$cache/$series".*; do
		old=${old##*/}
		[ "$1" != "$name" ] || [ "$old" = "$kver" ] || [[ ! $old =~ $pattern ]] || drop "$old"
	done
	echo "$kver"
	;;
esac

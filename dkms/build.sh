#!/bin/bash
# SPDX-License-Identifier: MIT
#
# build.sh - make an amdgpu.ko with kfd_gpreempt inside, for one kernel
#
# Usage: dkms/build.sh [--kver KVER] [--flavour release|test] [--build-dir B] [--src TARBALL_OR_DIR] [--headers DIR]
#                      [--config-off] [--check] [--prepare] [--amdkfd] [--verify] [-j N]
#
# Finds the linux-source package that matches the headers of KVER, unpacks drivers/gpu/drm/amd into the build folder B, applies
# the hooks of that kernel series, takes in kfd_gpreempt/, compiles, and verifies in source and objects that every hook is
# where it has to be. The last line of its output is the path of the module. The first error stops it, with one message.
#
# --check only says whether headers and source are there; --prepare stops before compiling; --amdkfd compiles only what the hooks
# are in or change the structures of, into an amdgpu.o that is no module (tools/testing/package/matrix.sh); --verify only looks for the hooks
# in the objects of B; --config-off leaves CONFIG_KFD_GPREEMPT unset (then amdkfd is what it was, and a test compares).
#
# Flavours: release is what users get (this is what dkms.conf calls). test is a reduced driver whose register accesses go to
# the virtual GPU (tools/vgpu); without one it does not even load.
#
# Touches only B. In particular no module of the running system: installing is the business of DKMS.
#
# GPREEMPT_OPTIONS: options of Kconfig that are on, instead of all of them; for tests. Hooks are not verified then.
#
# B is kept between runs: files are replaced only where their content differs, so that make sees what really changed.
# B defaults to $GPREEMPT_CACHE/amdgpu/KVER/FLAVOUR; GPREEMPT_CACHE to $XDG_CACHE_HOME/kfd_gpreempt.
set -euo pipefail
export LC_ALL=C
# What make says here is counted, so the flags of a make that calls this (-s) are not for it.
unset MAKEFLAGS MFLAGS

me=kfd_gpreempt
top=$(cd "$(dirname "$0")/.." && pwd)
amd=drivers/gpu/drm/amd

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$top/dkms/lib.sh"

say()
{
	echo "$me: $*"
}

# die WHAT WHY REMEDY
die()
{
	{
		echo "$me: error: $1"
		echo "  why:    $2"
		echo "  state:  nothing was installed; the kernel keeps the amdgpu module that it has"
		echo "  remedy: $3"
	} >&2
	exit 1
}

kver=$(uname -r)
flavour=release
build=
src=
headers=
config=y
check_only=
prepare_only=
amdkfd_only=
verify_only=
jobs=$(nproc)

while [ $# -gt 0 ]; do
	case $1 in
	--kver|--flavour|--build-dir|--src|--headers|-j)
		[ $# -ge 2 ] || die "$1 needs a value" "it is the last word of the command line" "see the head of dkms/build.sh"
		;;
	esac
	case $1 in
	--kver)		kver=$2; shift ;;
	--flavour)	flavour=$2; shift ;;
	--build-dir)	build=$2; shift ;;
	--src)		src=$2; shift ;;
	--headers)	headers=$2; shift ;;
	-j)		jobs=$2; shift ;;
	--config-off)	config= ;;
	--check)	check_only=1 ;;
	--verify)	verify_only=1 ;;
	--prepare)	prepare_only=1 ;;
	--amdkfd)	amdkfd_only=1 ;;
	-h|--help)	sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
	*)		die "unknown argument '$1'" "it is no option of this script" "see dkms/build.sh --help" ;;
	esac
	shift
done

case $flavour in
release|test) ;;
*)	die "unknown flavour '$flavour'" "there are two: release and test" "use --flavour release" ;;
esac

# What is missing is a question for apt; ask it once, at the start.
for tool in make awk rsync xz tar readelf nm flock sha256sum; do
	case $tool in
	readelf|nm)	package=binutils ;;
	xz)		package=xz-utils ;;
	flock)		package=util-linux ;;
	awk)		package=mawk ;;
	sha256sum)	package=coreutils ;;
	*)		package=$tool ;;
	esac
	command -v $tool >/dev/null ||
		die "the program '$tool' is missing" "the build needs it" "apt-get install $package"
done

version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$top/dkms.conf" 2>/dev/null || true)
[ -n "$version" ] ||
	die "no PACKAGE_VERSION in $top/dkms.conf" "the version of the module comes from there" "restore dkms.conf from the package"

#
# The headers of the kernel
#
series=$(echo "$kver" | sed -n 's/^\([0-9][0-9]*\.[0-9][0-9]*\)\..*/\1/p')
[ -n "$series" ] || die "'$kver' is no kernel version" "it does not begin with three numbers" "give --kver what 'uname -r' prints"

# meta_packages: those that bring kernel, headers and source of a supported series, whatever its point release is today
meta_packages()
{
	local packages

	packages=$("$top/dkms/release.sh" kernel-image kernel-headers kernel-source 2>/dev/null) || packages="linux-image-... linux-headers-... linux-source-..."
	echo "$packages" | paste -sd ' '
}

supported=$("$top/dkms/hooks.sh" --supported | tr '\n' ' ')
supported=${supported% }
case " $supported " in
*" $series "*)	;;
*)	die "kernel $kver: no hooks for the $series series" \
	    "the scheduler is built for kernel series, and these are: $supported" \
	    "install and boot a kernel of a supported series: apt-get install $(meta_packages)" ;;
esac

[ -n "$headers" ] || headers=/lib/modules/$kver/build
[ -e "$headers/include/config/auto.conf" ] ||
	die "kernel $kver: its headers are not installed" "there is no $headers/include/config/auto.conf" \
	    "apt-get install linux-headers-$kver"

auto_conf()
{
	sed -n "s/^$1=//p" "$headers/include/config/auto.conf" | tr -d '"'
}

[ "$(auto_conf CONFIG_DRM_AMDGPU)" = m ] && [ "$(auto_conf CONFIG_HSA_AMD)" = y ] ||
	die "kernel $kver has no amdgpu module with compute" \
	    "its configuration lacks CONFIG_DRM_AMDGPU=m or CONFIG_HSA_AMD=y (cloud kernels do)" \
	    "boot a kernel that has both, as that of $(meta_packages)"

# numbers MAKEFILE: prints VERSION.PATCHLEVEL.SUBLEVEL of a kernel's top Makefile, following the one include of the headers'
numbers()
{
	local f=$1 inc

	inc=$(sed -n '/^include \/.*Makefile$/{s/^include //p;q}' "$f")
	[ -z "$inc" ] || f=$inc
	awk -F' *= *' '$1 == "VERSION" { v = $2 } $1 == "PATCHLEVEL" { p = $2 } $1 == "SUBLEVEL" { s = $2 }
		       END { print v "." p "." s }' "$f"
}

headers_numbers=$(numbers "$headers/Makefile")

#
# The source that matches them
#
source_package=linux-source-$series
if [ -z "$src" ]; then
	want=$(dpkg-query -W -f '${source:Version}' "linux-headers-$kver" 2>/dev/null || true)
	[ -n "$want" ] ||
		die "kernel $kver: cannot tell which source it was made from" \
		    "its headers do not come from a Debian package linux-headers-$kver" \
		    "give the kernel's own source with --src TARBALL_OR_DIR"
	# While a kernel is upgraded DKMS asks before everything is configured; unpacked is enough.
	have=$(dpkg-query -W -f '${db:Status-Status} ${source:Version}' "$source_package" 2>/dev/null |
		sed -nE 's/^(installed|unpacked|half-configured|triggers-[a-z]*) //p' || true)
	[ -n "$have" ] ||
		die "kernel $kver: its source is not installed" \
		    "the package $source_package $want is needed to build amdgpu" \
		    "apt-get install $source_package=$want"
	[ "$want" = "$have" ] ||
		die "kernel $kver: the installed source is of another version" \
		    "linux-headers-$kver is $want, $source_package is $have" \
		    "apt-get install $source_package=$want (or install and boot the kernel $have)"
	src=$(dpkg-query -L "$source_package" | grep '/linux-source-[^/]*\.tar\.[a-z0-9]*$' | head -n 1 || true)
	[ -n "$src" ] && [ -e "$src" ] ||
		die "kernel $kver: $source_package is installed but its tarball is gone" \
		    "'${src:-/usr/src/$source_package.tar.xz}' does not exist" "apt-get install --reinstall $source_package=$want"
fi
[ -e "$src" ] || die "there is no '$src'" "--src names the kernel's source, as a folder or tarball" "give an existing path"
src=$(readlink -f "$src")

if [ -n "$check_only" ]; then
	say "kernel $kver: headers and source are there"
	exit 0
fi

#
# The build folder
#
cache=${GPREEMPT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kfd_gpreempt}
use_ccache=
if [ -z "$build" ]; then
	build=$cache/amdgpu/$kver/$flavour
	use_ccache=1
fi
[ -z "${CCACHE_DIR:-}${GPREEMPT_CACHE:-}" ] || use_ccache=1
mkdir -p "$build/$amd" "$build/include/trace"
build=$(cd "$build" && pwd)
case $build in
*[[:space:]\"\'\$]*)
	die "the build folder '$build' has a blank, quote or dollar in its name" "make cannot work there" "use another --build-dir" ;;
esac

# Several people may build in the same folder.
exec 9>"$build/.lock"
flock 9

ko=$build/$amd/amdgpu/amdgpu.ko
objects=(--exclude='*.o' --exclude='*.cmd' --exclude='*.ko' --exclude='*.mod' --exclude='*.mod.c' --exclude='*.order'
	 --exclude='*.symvers' --exclude='*.ur-safe' --exclude='*.gcno')

# refresh FROM/ TO/: make TO the same as FROM, leaving alone what make put there and every file whose content is the same
refresh()
{
	mkdir -p "$2"
	rsync -rlp --checksum --delete "${objects[@]}" "$1" "$2"
}

# check_numbers DIR: the source must be the one that the headers were made from
check_numbers()
{
	local n

	[ -e "$1/Makefile" ] && [ -d "$1/$amd/amdkfd" ] ||
		die "'$src' is no kernel source" "it lacks Makefile or $amd/amdkfd" "give the source of $headers_numbers"
	n=$(numbers "$1/Makefile")
	[ "$n" = "$headers_numbers" ] ||
		die "kernel $kver: the source is of another version" "'$src' is $n, the headers are $headers_numbers" \
		    "apt-get install the $source_package of the same version as linux-headers-$kver"
}

#
# Verification of the result
#
proof_failed()
{
	[ -n "$verify_only" ] || rm -f "$ko"
	die "kernel $kver: a hook is not in the compiled amdgpu" "$1" "report it with the kernel version and $build/build.log"
}

# verify: every hook of the list is in the objects, and the module is ours
verify()
{
	local missing

	missing=$(missing_hook "$series" "$build/$amd/amdkfd")
	[ -z "$missing" ] || proof_failed "$missing"
	nm "$ko" | grep ' T kfd_gpreempt_init$' >/dev/null || proof_failed "amdgpu.ko lacks kfd_gpreempt_init"
	[ -n "$amdkfd_only" ] || [ "$(modinfo -F gpreempt_version "$ko")" = "$version" ] ||
		proof_failed "its gpreempt_version is '$(modinfo -F gpreempt_version "$ko")', not $version"
}

if [ -n "$verify_only" ]; then
	verify
	say "every hook is in $ko"
	exit 0
fi

# unpack TARBALL LOG ARGUMENTS...: by tar, and how far it is: the place in the tarball where the program is that decompresses it
unpack()
{
	local tar child place

	tar -xf "$1" "${@:3}" 2>"$2" 9>&- &
	tar=$!
	while kill -0 $tar 2>/dev/null; do
		child=$(cat "/proc/$tar/task/$tar/children" 2>/dev/null || true)
		place=$(sed -n 's/^pos:[[:space:]]*//p' "/proc/${child% }/fdinfo/0" 2>/dev/null || true)
		[ -z "$place" ] || echo "$place $(stat -c %s "$1") unpacking amdgpu"
		sleep 1
	done > >("$top/dkms/progress.sh" 9>&-)
	wait $tar
}

# The stock driver, unpacked once per source. $build/stock keeps what the hooks will change.
if [ -d "$src" ]; then
	check_numbers "$src"
	source_id="dir $src"
	rm -f "$build/.source"
	refresh "$src/$amd/amdkfd/" "$build/stock/amdkfd/"
	rsync -rlp --checksum --exclude=/amdkfd --exclude=/kfd_gpreempt "${objects[@]}" "$src/$amd/" "$build/$amd/"
else
	source_id="$src $(stat -c '%s %Y' "$src") $headers_numbers"
	if [ "$source_id" != "$(cat "$build/.source" 2>/dev/null || true)" ]; then
		say "unpacking amdgpu from $src"
		rm -rf "$build/unpack" "$build/.source"
		mkdir "$build/unpack"
		root=$(tar -tf "$src" 2>/dev/null | head -n 1 | cut -d/ -f1 || true)
		unpack "$src" "$build/unpack/log" -C "$build/unpack" --strip-components=1 "$root/Makefile" "$root/$amd" ||
			die "cannot unpack '$src'" "tar says: $(head -n 1 "$build/unpack/log")" \
			    "apt-get install --reinstall $source_package (or give another --src)"
		check_numbers "$build/unpack"
		refresh "$build/unpack/$amd/amdkfd/" "$build/stock/amdkfd/"
		# In a new build folder there is nothing to compare with.
		[ -e "$build/$amd/amdgpu" ] || mv "$build/unpack/$amd"/* "$build/$amd/"
		mkdir -p "$build/unpack/$amd"
		rsync -rlp --checksum --exclude=/amdkfd --exclude=/kfd_gpreempt "${objects[@]}" "$build/unpack/$amd/" "$build/$amd/"
		rm -rf "$build/unpack"
		echo "$source_id" >"$build/.source"
	fi
fi

#
# Hooks: on a copy, so that a failure leaves nothing half done
#
stage=$build/stage

refresh "$build/stock/amdkfd/" "$stage/$amd/amdkfd/"
if grep -qri gpreempt "$stage/$amd/amdkfd"; then
	die "kernel $kver: its source has hooks of $me already" "'$src' is not the stock source" \
	    "apt-get install --reinstall $source_package"
fi
if ! "$top/dkms/hooks.sh" --series "$series" "$stage" 2>"$build/hooks.log"; then
	rm -rf "$stage"
	die "kernel $kver: a hook does not fit the source of amdkfd" "$(first_of "$build/hooks.log")" \
	    "report it with the kernel version; until then boot a kernel that built before (dkms status)"
fi
refresh "$stage/$amd/amdkfd/" "$build/$amd/amdkfd/"

#
# Our own files
#
gpreempt=$build/$amd/kfd_gpreempt
own=$build/own
rm -rf "$own"
own_files "$own" "$config" "$version"
refresh "$own/" "$gpreempt/"
rm -rf "$own"

if [ -n "$prepare_only" ]; then
	say "prepared"
	echo "$build"
	exit 0
fi

#
# Compile
#
cc=$(auto_conf CONFIG_CC_VERSION_TEXT | cut -d' ' -f1)
! command -v "${cc#*-linux-gnu-}" >/dev/null || cc=${cc#*-linux-gnu-}
command -v "$cc" >/dev/null ||
	die "kernel $kver: its compiler '$cc' is missing" "modules are built by the compiler that built the kernel" \
	    "apt-get install ${cc#*-linux-gnu-}"
if [ -n "$use_ccache" ] && command -v ccache >/dev/null; then
	export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache}
	cc="ccache $cc"
fi

make_args=(-C "$headers" "M=$build/$amd/amdgpu" "CC=$cc")
case $flavour in
release)
	# Without debug information, which DKMS strips anyway; file names in messages as in the stock module.
	make_args+=("KCFLAGS=-g0 -I$build/include/trace -fmacro-prefix-map=$build/=" CONFIG_DEBUG_INFO_BTF_MODULES=)
	;;
test)
	refresh "$top/tools/vgpu/intercept.h" "$build/"
	make_args+=("KCFLAGS=-g0 -I$build/include/trace -include $build/intercept.h" CONFIG_DEBUG_INFO_BTF_MODULES=
		    CONFIG_DRM_AMD_DC= CONFIG_DRM_AMD_DC_FP= CONFIG_DRM_AMD_DC_SI= CONFIG_DRM_AMD_ACP= CONFIG_DRM_AMDGPU_SI=
		    CONFIG_DRM_AMDGPU_CIK= "KBUILD_EXTRA_SYMBOLS=$build/symvers/Module.symvers")
	[ "$(auto_conf CONFIG_GCOV_KERNEL)" != y ] || make_args+=(GPREEMPT_COVERAGE=y)
	[ "$(auto_conf CONFIG_KCSAN)" != y ] || make_args+=(GPREEMPT_RACES=y)
	# vgpu.ko exports the register accessors. Their checksums follow from the prototypes alone, so this needs no vgpu.ko;
	# the name of the module becomes a dependency.
	if ! grep -qs symvers/vgpu "$build/symvers/Module.symvers" || [ "$build/intercept.h" -nt "$build/symvers/Module.symvers" ]; then
		rm -rf "$build/symvers"
		mkdir "$build/symvers"
		echo 'obj-m := vgpu.o' >"$build/symvers/Kbuild"
		cat >"$build/symvers/vgpu.c" <<EOF
#include <linux/module.h>
#include "../intercept.h"
u32 vgpu_readl(const volatile void __iomem *addr) { return 0; }
u64 vgpu_readq(const volatile void __iomem *addr) { return 0; }
void vgpu_writel(u32 value, volatile void __iomem *addr) { }
void vgpu_writeq(u64 value, volatile void __iomem *addr) { }
EXPORT_SYMBOL(vgpu_readl);
EXPORT_SYMBOL(vgpu_readq);
EXPORT_SYMBOL(vgpu_writel);
EXPORT_SYMBOL(vgpu_writeq);
MODULE_LICENSE("Dual MIT/GPL");
EOF
		make -C "$headers" "M=$build/symvers" "CC=$cc" modules >"$build/symvers/log" 2>&1 9>&- ||
			die "kernel $kver: no module can be compiled" "$(grep -m 1 -E 'error|Error' "$build/symvers/log" || true)" \
			    "read $build/symvers/log"
	fi
	;;
esac

what=modules
if [ -n "$amdkfd_only" ]; then
	# What has our structures in it: amdkfd, and whoever includes its header. This is expanded when AMDKFD_FILES is known.
	users=$(cd "$build/$amd/amdgpu" && grep -l '^#include.*kfd_priv\.h' -- *.c | sed 's/c$/o/' | tr '\n' ' ')
	make_args+=("amdgpu-y=\$(AMDKFD_FILES) $users")
	what=amdgpu.o
	ko=$build/$amd/amdgpu/$what
fi

# What went in and what came out. The same inputs need no second run of make, which takes seconds to find nothing to do.
inputs=$( {
	printf '%s\n' "${make_args[@]}" "$source_id" "$(stat -L -c '%s %Y' "$headers/include/config/auto.conf" "$headers/Module.symvers")"
	cat "$0" "$top"/dkms/lib.sh "$top"/dkms/hooks.{sh,awk,list} "$gpreempt"/Kbuild "$gpreempt"/*.[ch] "$gpreempt"/*/*.[ch] "$gpreempt"/*.mk
	[ $flavour = release ] || cat "$build/intercept.h"
	[ ! -d "$src" ] || find "$src/$amd" -type f -printf '%p %s %T@\n' | sort
} | sha256sum)
if [ -e "$ko" ] && [ "$inputs $(stat -c '%s %Y' "$ko")" = "$(cat "$build/.built" 2>/dev/null || true)" ]; then
	say "nothing changed since the last build"
	echo "$ko"
	exit 0
fi
rm -f "$build/.built"

# to_compile: prints how many files of the module there are to compile; 0 if it has been there, because then only make knows
to_compile()
{
	local folder=$build/$amd/amdgpu object n=0

	if [ ! -e "$ko" ] && [ -z "$amdkfd_only" ] && make "${make_args[@]}" amdgpu.mod >/dev/null 2>&1 9>&-; then
		while read -r object; do
			[ -e "$folder/${object#"$folder/"}" ] || n=$((n + 1))
		done <"$folder/amdgpu.mod"
	fi
	echo "$n"
}

# compiled TOTAL: of what make says shows errors and warnings, and how many files of so many were compiled
compiled()
{
	local line n=0

	while IFS= read -r line; do
		case $line in
		"  CC "*)	n=$((n + 1)); echo "$n $1 compiling amdgpu" >&7 ;;
		esac
		[[ ! $line =~ error|warning|"Error "[0-9] ]] || echo "$line"
	done 7> >("$top/dkms/progress.sh" 9>&-)
}

say "compiling amdgpu for $kver ($flavour, $jobs jobs)"
total=$(to_compile)
if ! make "${make_args[@]}" "-j$jobs" "$what" 2>&1 9>&- | tee "$build/build.log" | compiled "$total"; then
	die "kernel $kver: amdgpu does not compile" "$(grep -m 1 -E 'error|Error' "$build/build.log" || tail -n 1 "$build/build.log")" \
	    "read $build/build.log"
fi

# What belongs to an option that is left out has no hooks.
[ -z "$config" ] || [ -n "${GPREEMPT_OPTIONS:-}" ] || verify
echo "$inputs $(stat -c '%s %Y' "$ko")" >"$build/.built"
say "built $version for $kver"
echo "$ko"

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# debug_kernel.sh - build the kernel that looks for mistakes (debug.config), print its version for vm --kver
#
# Usage: tools/testing/vm/debug_kernel.sh [--kcsan] [--like KVER --src TARBALL] [-j N]
#
# --kcsan: the one that looks for data races (debug.config as kcsan.config changes it). Of this one only what asks for it is instrumented, which is
# amdkfd and the scheduler (kfd_gpreempt/Kbuild): all of the kernel would be too slow under emulation, and is not what is tested.
#
# From the linux-source package of the series that the newest installed headers belong to; --like: from TARBALL, which is the source of
# Debian's kernel KVER. The result is
# $GPREEMPT_CACHE/kernel/VERSION: vmlinux, lib/modules/VERSION (one module, the rest is built in), build/, against which dkms/build.sh and
# vgpu's Makefile compile, and source, a link. VERSION ends in a hash of source and configuration: a second run finds what is there
# and takes no time. Other debug kernels of the same kind and series are removed. A first run compiles 1100 files; ccache helps a rebuild.
# How far it is goes to standard error (dkms/progress.sh).
#
# Touches: $GPREEMPT_CACHE.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
progress=$here/../../../dkms/progress.sh
# So many files are compiled, about.
FILES=1100
cache=${GPREEMPT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kfd_gpreempt}
jobs=$(nproc)
kind=debug
stock=
src=
configs=("$here/debug.config")

die()
{
	echo "debug_kernel.sh: $*" >&2
	exit 1
}

while [ $# -gt 0 ]; do
	case $1 in
	--kcsan)
		kind=kcsan
		configs+=("$here/kcsan.config")
		;;
	--like)	stock=$2; shift ;;
	--src)	src=$2; shift ;;
	-j)	jobs=$2; shift ;;
	*)	die "usage: debug_kernel.sh [--kcsan] [--like KVER --src TARBALL] [-j N]" ;;
	esac
	shift
done

[ -n "$stock" ] || stock=$(KVER='' "$here/vm" kver)
series=$(echo "$stock" | cut -d. -f1,2)
src=${src:-/usr/src/linux-source-$series.tar.xz}
[ -e "$src" ] || die "there is no $src: apt-get install linux-source-$series"
hash=$({ stat -c '%s %Y' "$src"; cat "${configs[@]}" "$here/debug.kconfig"; } | sha256sum | cut -c1-10)
kver=${stock%%[-+]*}-$kind-$hash
final=$cache/kernel/$kver

mkdir -p "$cache/kernel"
exec 9>"$cache/kernel/.$kind.lock"
flock 9
if [ -e "$final/.done" ]; then
	echo "$kver"
	exit 0
fi

log=$cache/kernel/$kind.log
build=$final/build
modules=$final/lib/modules/$kver
amdxcp=drivers/gpu/drm/amd/amdxcp
cc=gcc
if command -v ccache >/dev/null; then
	# It goes by the list of headers that the compiler writes: without that a miss is preprocessed twice.
	export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache} CCACHE_DEPEND=1
	cc="ccache gcc"
fi

# How far it is, by the output of what is run: of tar, whose checkpoints are records of 10 KiB; of kbuild; of what takes no time
unpacking()
{
	local records

	records=$(($(xz --robot --list "$src" | awk '$1 == "totals" { print $5 }') / 10240))
	sed -un "s/^tar: \([0-9]*\)\$/\1 $records unpacking/p" | "$progress"
}

compiling()
{
	"$progress" --kbuild $FILES "compiling Linux"
}

silent()
{
	cat >/dev/null
}

# run SHOWN WHAT COMMAND...: says what takes so long, and SHOWN how far it is; on failure the end of the log
run()
{
	local shown=$1

	echo "debug_kernel.sh: $2 ..." >&2
	shift 2
	"$@" 2>&1 9>&- </dev/null | tee "$log" | "$shown" || {
		grep -E -m 5 '(error|Error|\*\*\*)' "$log" >&2 || tail -n 5 "$log" >&2
		die "failed, read $log"
	}
}

configure()
{
	make -C "$build" "CC=$cc" KCONFIG_ALLCONFIG="$build/debug.config" allnoconfig
}

# wanted: the configuration, of each option the last line. `# SERIES' behind an option: other series have no such option.
wanted()
{
	awk -F= -v series="$series" '{ of = index($0, "#") ? $0 : ""; sub(/.*# */, "", of); sub(/[ \t]*#.*/, "") }
		/^CONFIG_/ && (of == "" || of == series) { if (!($1 in last)) name[n++] = $1; last[$1] = $0 } END { for (i = 0; i < n; i++) print last[name[i]] }' "${configs[@]}"
}

# taken: every line of the configuration is in force
taken()
{
	local line

	wanted | while read -r line; do
		case $line in
		*=n)	! grep -q "^${line%=n}=" "$build/.config" || echo "$line" ;;
		*)	grep -qxF "$line" "$build/.config" || echo "$line" ;;
		esac
	done
}

# Where it stays: an object remembers its path.
if [ ! -e "$final/.unpacked" ]; then
	rm -rf "$final"
	mkdir -p "$build"
	# Of amdgpu only Kconfig counts: the driver is unpacked by dkms/build.sh.
	run unpacking "unpacking $src" tar --checkpoint=1000 --checkpoint-action=echo=%u -C "$build" --strip-components=1 --exclude='*/amd/include/asic_reg' -xf "$src"
	cat "$here/debug.kconfig" >>"$build/Kconfig"
	# Also for what is compiled against this kernel, unless it asks (KCSAN_SANITIZE_file.o := y)
	echo "export KCSAN_SANITIZE := n" >>"$build/scripts/Makefile.kcsan"
	touch "$final/.unpacked"
fi
{
	wanted | grep -v '=n$'
	echo "CONFIG_LOCALVERSION=\"-$kind-$hash\""
} >"$build/debug.config"
run silent "configuring" configure
missing=$(taken)
[ -z "$missing" ] || die "Kconfig did not take: $missing"
run compiling "compiling Linux $kver, $jobs jobs" make -C "$build" "CC=$cc" "-j$jobs" vmlinux modules_prepare
[ "$(cat "$build/include/config/kernel.release")" = "$kver" ] || die "this became $(cat "$build/include/config/kernel.release"), not $kver"

# What modules link with: the kernel, and the one module beside it that amdgpu uses.
cp "$build/vmlinux.symvers" "$build/Module.symvers"
run silent "compiling amdxcp" make -C "$build" "CC=$cc" "M=$build/$amdxcp" modules
sed "s|[^[:space:]]*/amdxcp\t|$amdxcp/amdxcp\t|" "$build/$amdxcp/Module.symvers" >>"$build/Module.symvers"
mkdir -p "$modules"
cp "$build/$amdxcp/amdxcp.ko" "$build/modules.builtin" "$modules/"
echo "amdxcp.ko:" >"$modules/modules.dep"
ln -sfn ../../../build "$modules/build"
ln -sfn "$src" "$final/source"
objcopy --strip-debug "$build/vmlinux" "$final/vmlinux"
for old in "$cache/kernel/$series".*-"$kind"-*; do
	[ "$old" = "$final" ] || rm -rf "$old" "$cache/amdgpu/${old##*/}"
done
touch "$final/.done"
echo "$kver"

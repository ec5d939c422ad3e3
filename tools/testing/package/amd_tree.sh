#!/bin/bash
# SPDX-License-Identifier: MIT
#
# amd_tree.sh - AMD's own driver package (amdgpu-dkms) takes the hooks, and builds with them as on a user's machine (TAP)
#
# Usage: AMD_TREE=FOLDER tools/testing/package/amd_tree.sh
#        AMD_TREE=FOLDER tools/testing/package/amd_tree.sh --build KERNEL stock|hooked|test
#
# FOLDER is the source as the package puts it below /usr/src (amdgpu-VERSION). It is read only. The tests build it for the kernels that
# tools/testing/vm/kernel.sh --amd names: of each for the newest release that the untouched package builds for, because a package is older than
# the newest point releases. A throw-away system of that kernel's release of Debian has its compiler and headers. There the package's own
# configure runs, which asks the kernel what it has, and then kbuild. Parts that no Instinct needs (display, SI, CIK) are left out. Where the untouched
# package builds for none of a kernel's releases, what compiles of amdkfd compiles with the scheduler, too, and is linked.
#
# --build prints two lines: the release, and the folder with the modules. stock: untouched. hooked: with the hooks. test: the same, with registers
# that are the virtual GPU's (fast front end). What has been built is not built again. Exit status 3: it cannot
# be tried, for a reason that is said, as when no archive has that kernel.
#
# Touches: $GPREEMPT_CACHE/amd-tree, by the content of the package: answers of configure, modules, what did not build and why, and trees in which
# a second build compiles what changed.
# shellcheck disable=SC2317 # tests are called by tap
. "$(dirname "$0")/lib.sh"
. "$TOP/dkms/lib.sh"

kernel_sh=$TOP/tools/testing/vm/kernel.sh
hooks_sh=$TOP/dkms/hooks.sh
top=$TOP
total=560		# files that are compiled, about
no_tree="AMD_TREE is not set. It names the source of AMD's driver package: /usr/src/amdgpu-VERSION where ROCm's amdgpu-dkms is installed, or that folder of the package unpacked (dpkg-deb -x)"

# needs: AMD_TREE is a source of the package: sets series and cache
needs()
{
	ls "$AMD_TREE/amd/dkms/configure" "$AMD_TREE/amd/amdkfd/kfd_priv.h" >/dev/null
	"$hooks_sh" --series-of "$AMD_TREE" >"$scratch/series"
	"$hooks_sh" --known | grep -qxF "$(cat "$scratch/series")" || { echo "no hooks for $(cat "$scratch/series")"; return 1; }
	content "$AMD_TREE" >"$scratch/content"
}

# content FOLDER: what is in it, as a number
content()
{
	(cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)
}

# folders: after needs
folders()
{
	series=$(cat "$scratch/series")
	cache=$GPREEMPT_CACHE/amd-tree/$(cat "$scratch/content")
	mkdir -p "$cache"
}

# copy FOLDER: of the package, to write to
copy()
{
	rm -rf "$1"
	mkdir -p "${1%/*}"
	cp -r "$AMD_TREE" "$1"
	chmod -R u+w "$1"
}

# prepare FOLDER: what the package's build does before it compiles, but for what depends on the kernel: configure, and what follows from its answers
prepare()
{
	local no_parts='/CONFIG_DRM_AMD_DC\>/d; /CONFIG_DRM_AMD_DC_FP\>/d; /CONFIG_DRM_AMD_DC_HDCP\>/d; /CONFIG_DRM_AMDGPU_\(SI\|CIK\)\>/d'
	local rules=$1/amd/dkms/Kbuild arguments=(none "$1" "$scratch/link" gcc)

	# An older package has one file for DKMS and for kbuild, and asks DKMS where the source is.
	if [ ! -e "$rules" ]; then
		rules=$1/amd/dkms/Makefile
		arguments=(none "$scratch/dkms" amdgpu 0 "$scratch/link")
		mkdir -p "$scratch/dkms/amdgpu/0"
		ln -sfn "$1" "$scratch/dkms/amdgpu/0/build"
	fi
	sed -i "$no_parts" "$rules"
	mv "$1/amd/dkms/configure" "$1/amd/dkms/configure.own"
	# These answers are those from which nothing follows.
	printf '#!/bin/sh\nfor i in AMDKCL_FLAGS_TAKE_PATH DMA_RESV_FENCES; do echo "#define HAVE_$i 1"; done >config/config.h\n' >"$1/amd/dkms/configure"
	chmod +x "$1/amd/dkms/configure"
	rm -f "$scratch/link"
	(cd "$1" && bash amd/dkms/pre-build.sh "${arguments[@]}") >"$scratch/prepare" 2>&1 || { cat "$scratch/prepare"; return 1; }
	mv "$1/amd/dkms/configure.own" "$1/amd/dkms/configure"
	rm -f "$1/amd/dkms/config/config.h"
}

# follow FOLDER: what the package's build does behind configure, by its answers
follow()
{
	# shellcheck disable=SC2016 # of that script
	(cd "$1" && bash -c 'SRC=amd/dkms; eval "$(sed "1,/^(cd .*configure)$/d" amd/dkms/pre-build.sh)"')
}

# intercept FOLDER: registers are those of the virtual GPU. What asks for none is compiled as before, so that this takes no minute.
intercept()
{
	local file

	cp "$TOP/tools/vgpu/intercept.h" "$1/include/vgpu_intercept.h"
	grep -rlwE --include='*.c' 'readl|readq|writel|writeq' "$1" | while IFS= read -r file; do
		sed -i '1i #include <vgpu_intercept.h>' "$file"
	done
}

# staged stock|hooked|test: the prepared package, in a folder that is the same as long as nothing changed
staged()
{
	local folder=$cache/$1 key

	[ "$1" != test ] || staged hooked || return
	key=$(
		sed -n '/^prepare()/,/^}/p' "$0"
		[ "$1" != test ] || sed -n '/^intercept()/,/^}/p' "$0" | cat - "$TOP/tools/vgpu/intercept.h"
		[ "$1" = stock ] ||
			cat "$TOP/dkms/lib.sh" "$TOP"/dkms/hooks.{sh,awk,list} "$TOP/dkms/package.c" "$TOP"/kfd_gpreempt/{Kbuild,*.[ch]} "$TOP"/include/uapi/linux/*
	)
	key=$(echo "$key" | sha256sum)
	[ "$key" != "$(cat "$folder.key" 2>/dev/null || true)" ] || return 0
	rm -rf "$folder.key" "$folder"
	if [ "$1" = test ]; then
		cp -rl "$cache/hooked" "$folder" && intercept "$folder" && echo "$key" >"$folder.key"
		return
	fi
	copy "$folder" || return
	if [ "$1" = hooked ]; then
		"$hooks_sh" "$folder" || return
		own_files "$folder/amd/kfd_gpreempt" y ""
	fi
	prepare "$folder" && echo "$key" >"$folder.key"
}

# in_system KVER COMMAND...: where the headers of that release are. Debian's objtool asks for SRCARCH, which only the kernel's own make says.
in_system()
{
	(cd "$TOP" && SRCARCH=x86 "$kernel_sh" --in "$@")
}

# configured KVER: prints the answers of configure, asked once; some 370 small modules are compiled for it
configured()
{
	local answers=$cache/config/$1.h work=$cache/configure

	if [ ! -e "$answers" ]; then
		mkdir -p "$cache/config"
		rm -rf "$work"
		cp -rl "$cache/stock" "$work"
		# configure adds lines to files in there.
		rm -r "$work/amd/dkms"
		cp -r "$cache/stock/amd/dkms" "$work/amd/"
		echo "asking kernel $1 what it has (AMD's configure): 3 min" >&2
		KERNELVER=$1 in_system "$1" env -C "$work/amd/dkms" ./configure >"$scratch/configure" 2>&1 || { tail -n 20 "$scratch/configure"; return 1; }
		grep -q '^#define HAVE_' "$work/amd/dkms/config/config.h" || { echo "configure found nothing"; return 1; }
		mv "$work/amd/dkms/config/config.h" "$answers"
		rm -rf "$work"
	fi
	echo "$answers"
}

# compile KVER FLAVOUR ANSWERS [TARGET...]: in $cache/build; its log is $cache/build/log
compile()
{
	local tree=$cache/build/$1 symbols=() targets=("${@:4}")

	[ $# -gt 3 ] || targets=(modules)
	staged "$2" || return
	# What changed in a tree that was compiled is newer than its objects then; a linked file would not be.
	mkdir -p "$cache/build"
	[ -e "$tree" ] || cp -rl "$cache/$2" "$tree"
	rsync -rlp --checksum --delete --exclude='*.o' --exclude='*.cmd' --exclude='*.ko' --exclude='*.mod' --exclude='*.mod.c' \
		--exclude='*.order' --exclude='*.symvers' --exclude='*.d' --exclude='.tmp_*' --exclude=/amd/dkms/config/config.h "$cache/$2/" "$tree/" >&2
	cmp -s "$3" "$tree/amd/dkms/config/config.h" || cp "$3" "$tree/amd/dkms/config/config.h"
	follow "$tree"
	if [ "$2" = test ]; then
		symbols=("KBUILD_EXTRA_SYMBOLS=$cache/accessors/$1/Module.symvers")
		accessors "$1" "$cache/accessors/$1" || { : >"$cache/build/log"; return 1; }
	fi
	in_system "$1" make "-j$(nproc)" TTM_NAME=amdttm SCHED_NAME=amd-sched -C "/lib/modules/$1/build" "M=$tree" KCFLAGS=-g0 \
		CONFIG_DEBUG_INFO_BTF_MODULES= "${symbols[@]}" "${targets[@]}" 2>&1 | tee "$cache/build/log" | "$TOP/dkms/progress.sh" --kbuild "$total" "compiling AMD's package ($2) for $1"
	return "${PIPESTATUS[0]}"
}

# accessors KVER FOLDER: what the virtual GPU's module exports, without that module (dkms/build.sh)
accessors()
{
	local name

	[ ! -e "$2/Module.symvers" ] || [ "$TOP/tools/vgpu/intercept.h" -nt "$2/intercept.h" ] || return 0
	rm -rf "$2"
	mkdir -p "$2"
	cp "$TOP/tools/vgpu/intercept.h" "$2/"
	echo 'obj-m := vgpu.o' >"$2/Kbuild"
	{
		printf '#include <linux/module.h>\n#include "intercept.h"\n'
		echo 'u32 vgpu_readl(const volatile void __iomem *addr) { return 0; }'
		echo 'u64 vgpu_readq(const volatile void __iomem *addr) { return 0; }'
		echo 'void vgpu_writel(u32 value, volatile void __iomem *addr) { }'
		echo 'void vgpu_writeq(u64 value, volatile void __iomem *addr) { }'
		for name in readl readq writel writeq; do
			echo "EXPORT_SYMBOL(vgpu_$name);"
		done
		echo 'MODULE_LICENSE("Dual MIT/GPL");'
	} >"$2/vgpu.c"
	in_system "$1" make -C "/lib/modules/$1/build" "M=$2" modules >"$2/log" 2>&1
}

# built KVER stock|hooked|test: prints the folder with the modules
built()
{
	local out=$cache/modules/$1/$2 tree=$cache/build/$1 key answers missing

	staged "$2" || return
	key=$(cat "$cache/$2.key")
	if [ "$key" != "$(cat "$out/key" 2>/dev/null || true)" ]; then
		rm -rf "$out"
		answers=$(configured "$1") || { echo "$answers"; return 1; }
		compile "$1" "$2" "$answers" || { errors; return 1; }
		if [ "$2" != stock ]; then
			missing=$(missing_hook "$series" "$tree/amd/amdkfd")
			[ -z "$missing" ] || { echo "$missing"; return 1; }
		fi
		mkdir -p "$out"
		find "$tree" -name '*.ko' -exec cp {} "$out/" \;
		ls "$out/amdgpu.ko" "$out/amdkcl.ko" "$out/amdttm.ko" >/dev/null || return
		echo "$key" >"$out/key"
	fi
	echo "$out"
}

# errors: of the last compilation, each once
errors()
{
	sed -nE '/^make.* Error [0-9]/d; /error:|undefined|\*\*\*/p' "$cache/build/log" | sed "s|$cache/build/[^/]*/||g" | awk '!seen[$0]++ && ++n <= 20'
}

# release_for KERNEL: prints the newest release that the untouched package builds for. What stood in the way for a newer one is looked for first in
# an older one, with the answers of the newer: it is found in seconds.
release_for()
{
	local kver releases object='' answers='' tried=''

	releases=$("$kernel_sh" --list "$1" 2>"$scratch/list") || {
		[ $? != 3 ] || skip "$(tail -n 1 "$scratch/list")"
		cat "$scratch/list"
		return 1
	}
	for kver in $(echo "$releases" | sort -rV); do
		tried="$tried $kver"
		if [ -e "$cache/modules/$kver/stock/key" ]; then
			echo "$kver"
			return
		fi
		[ ! -e "$cache/fails/$kver" ] || { read -r object <"$cache/fails/$kver"; answers=$(cat "$cache/fails/answers.$1"); continue; }
		"$kernel_sh" --headers "$kver" >"$scratch/got" 2>&1 || continue
		mkdir -p "$cache/fails"
		staged stock
		if [ -n "$object" ] && [ -n "$answers" ] && ! compile "$kver" stock "$answers" "$object" >&2; then
			{ echo "$object"; errors; } >"$cache/fails/$kver"
			rm -rf "${cache:?}/build/$kver"
			continue
		fi
		if built "$kver" stock >"$scratch/built"; then
			echo "$kver"
			return
		fi
		object=$(sed -n "s|.*: $cache/build/$kver/\([^]]*\.o\)\] Error.*|\1|p" "$cache/build/log" | head -n 1)
		answers=$cache/config/$kver.h
		echo "$answers" >"$cache/fails/answers.$1"
		{ echo "$object"; errors; } >"$cache/fails/$kver"
		rm -rf "${cache:?}/build/$kver"
	done
	echo "it builds for none of$tried; the last error:"
	tail -n +2 "$cache/fails/$kver" 2>/dev/null
	return 1
}

# amdkfd_alone KVER FLAVOUR: compiles what compiles of amdkfd, and of the scheduler; prints the objects
amdkfd_alone()
{
	local tree=$cache/build/$1 targets

	staged "$2"
	# Some are a part of another file.
	mapfile -t targets < <(cd "$cache/$2/amd" && find amdkfd kfd_gpreempt -maxdepth 1 -name '*.c' ! -name 'backend*.c' 2>/dev/null | sed 's|\(.*\)\.c$|amd/amdgpu/../\1.o|')
	rm -f "$tree"/amd/amdkfd/*.o
	compile "$1" "$2" "$cache/config/$1.h" -k "${targets[@]}" >&2 || true
	(cd "$tree/amd" && find amdkfd kfd_gpreempt -name '*.o' 2>/dev/null | sort)
}

# parts KERNEL: where the package does not build, amdkfd of it compiles with the scheduler as far as it does without, and is linked. Ends as skipped:
# says how far it went, and why not further.
parts()
{
	local kver own tree missing objects

	for kver in $("$kernel_sh" --list "$1" | sort -rV); do
		[ ! -e "$cache/config/$kver.h" ] || break
	done
	ls "$cache/config/$kver.h" >/dev/null
	tree=$cache/build/$kver
	amdkfd_alone "$kver" stock >"$scratch/without"
	errors >"$scratch/errors"
	[ -s "$scratch/without" ] || skip "amdkfd of the untouched package does not compile for $kver, either: $(head -n 1 "$scratch/errors")"
	amdkfd_alone "$kver" hooked >"$scratch/with"
	comm -23 "$scratch/without" "$scratch/with" >"$scratch/lost"
	[ ! -s "$scratch/lost" ] || { echo "with the scheduler these do not compile:"; cat "$scratch/lost"; errors; return 1; }
	grep -xF amdkfd/kfd_device_queue_manager.o "$scratch/without" >/dev/null || skip "kfd_device_queue_manager.c of the untouched package does not compile for $kver, either: $(head -n 1 "$scratch/errors")"
	own=$(sed -n 's|.*kfd_gpreempt/||p' "$scratch/with" | wc -l)
	is "objects of the scheduler" "$own" "$(find "$cache/hooked/amd/kfd_gpreempt" -name '*.c' ! -name 'backend*.c' | wc -l)"
	mapfile -t objects <"$scratch/with"
	(cd "$tree/amd" && ld -r -o "$scratch/linked.o" "${objects[@]}")
	# Hooks in files that do not compile are not there to be found.
	if ! "$hooks_sh" --series "$series" --files | sed -n 's|\(.*\)\.c$|amdkfd/\1.o|p' | grep -vxFf "$scratch/without" >/dev/null; then
		missing=$(missing_hook "$series" "$tree/amd/amdkfd")
		[ -z "$missing" ] || { echo "$missing"; return 1; }
	fi
	rm -rf "$tree"
	skip "amdkfd alone was compiled and linked for $kver: $(grep -c '^amdkfd' "$scratch/with") of its files and the scheduler's $own. The untouched package does not build: $(cat "$scratch/why.$1")"
}

# of_series AWK: a program for the lines of hooks.list that are about the series
of_series()
{
	awk -v s="$series" '/^hook/ { on = 1; extends = 0 } /^series/ { on = ($0 " ") ~ ("[ \t]" s " ") } on { print }' "$TOP/dkms/hooks.list" | awk "$1"
}

# The hooks change nothing but add lines, and a second time they are refused.
places()
{
	copy "$scratch/tree"
	"$hooks_sh" "$scratch/tree"
	diff -r "$AMD_TREE/amd/amdkfd" "$scratch/tree/amd/amdkfd" >"$scratch/diff" || true
	# Some go on with a line.
	is "lines that are another" "$(grep -c '^<' "$scratch/diff")" "$(of_series '/^extend/ { extends = 1 } extends && /^\+/ { extends = 0; if (/^\+ /) print }' | wc -l)"
	is "hooks" "$(grep -c '^> .*[Gg][Pp][Rr][Ee][Ee][Mm][Pp][Tt]' "$scratch/diff")" "$(of_series '/^\+.*[Gg][Pp][Rr][Ee][Ee][Mm][Pp][Tt]/' | wc -l)"
	not "$hooks_sh" --check "$scratch/tree" >"$scratch/again" 2>&1
	has "$scratch/again" "has hooks already"
}

supported()
{
	{ "$hooks_sh" --trees; "$hooks_sh" --compiled; } | grep -xF "$series" >/dev/null || skip "of $series only the places are known"
}

# Names of options are renamed by the package's build, in all files: none of the scheduler's may be one.
names_stay()
{
	supported
	staged hooked
	own_files "$scratch/own" y ""
	diff -r "$scratch/own" "$cache/hooked/amd/kfd_gpreempt"
}

# untouched KERNEL: finds the release; $scratch/why.KERNEL: why there is none
untouched()
{
	supported
	if ! release_for "$1" >"$scratch/release.$1"; then
		head -n 2 "$scratch/release.$1" | paste -sd ' ' >"$scratch/why.$1"
		grep '^it builds for none of .*error:' "$scratch/why.$1" || { cat "$scratch/release.$1"; return 1; }
		# A package that is supported builds for some release of each kernel.
		"$hooks_sh" --compiled | grep -xF "$series" >/dev/null || { cat "$scratch/release.$1"; return 1; }
		: >"$scratch/release.$1"
		skip "$(cat "$scratch/why.$1")"
	fi
	tail -n 1 "$scratch/release.$1"
}

# builds KERNEL FLAVOUR
builds()
{
	supported
	if [ ! -s "$scratch/release.$1" ]; then
		[ -s "$scratch/why.$1" ] || skip "the untouched package does not build"
		[ "$2" = hooked ] || skip "the untouched package does not build"
		parts "$1"
	fi
	built "$(tail -n 1 "$scratch/release.$1")" "$2"
}

stays()
{
	is "the package's source" "$(content "$AMD_TREE")" "$(cat "$scratch/content")"
}

# skipped: ends --build if a function in a subshell called skip
skipped()
{
	[ ! -e "$scratch/.skip" ] || { cat "$scratch/.skip" >&2; exit 3; }
}

if [ -z "${AMD_TREE:-}" ]; then
	[ $# = 0 ] || { echo "$no_tree" >&2; exit 1; }
	echo "1..0 # SKIP $no_tree"
	exit 0
fi
if [ "${1:-}" = --build ]; then
	[ $# = 3 ] || { echo "usage: see the head of $0" >&2; exit 1; }
	set -e
	needs
	folders
	(supported)
	skipped
	exec 9>"$cache/.lock"
	flock 9
	if ! kver=$(release_for "$2"); then
		echo "$kver" | paste -sd ' ' >&2
		[[ $kver != "it builds for none of "* ]] || exit 3
		exit 1
	fi
	skipped
	out=$(built "$kver" "$3") || { echo "$out" >&2; exit 1; }
	printf '%s\n%s\n' "$kver" "$out"
	exit 0
fi

mapfile -t kernels < <("$kernel_sh" --amd)
plan $((5 + 2 * ${#kernels[@]}))
must "AMD_TREE is a source of AMD's package, and its hooks are known" needs
folders
exec 9>"$cache/.lock"
flock 9
tap "$series: every hook has its place, and nothing else changes" places
tap "the package's build changes nothing in the scheduler" names_stay
for kernel in "${kernels[@]}"; do
	tap "kernel $kernel: the untouched package builds" untouched "$kernel"
	tap "kernel $kernel: it builds with the scheduler, and every hook is in the objects" builds "$kernel" hooked
	# Whole suites run on one kernel (tools/testing/vm/amd.sh).
	[ "$kernel" != "${kernels[0]}" ] || tap "kernel $kernel: it builds for the virtual GPU" builds "$kernel" test
done
tap "the package's source stays as it is" stays
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# amd_install.sh - the scheduler inside AMD's own driver package (amdgpu-dkms): installed, AMD's package upgraded to versions that it fits and does not fit,
# removed; the package's tree stays byte for byte, and AMD's driver is there whatever happens
#
# Usage: amd_install.sh [other]
#
# In a throw-away system of this machine's release of Debian, or of the other one: their DKMS differ. amd_package.sh makes AMD's packages. With
# AMD_TREE, a folder as amdgpu-dkms has it below /usr/src, the hooks are also placed in a copy of that.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/throwaway.sh"
. "$(dirname "$0")/system.sh"
. "$(dirname "$0")/amd_package.sh"

libraries=$("$TOP/dkms/release.sh" kernel-libraries)
if [ "${1:-}" = other ]; then
	this=$("$TOP/dkms/release.sh" release)
	release=$("$TOP/dkms/release.sh" --supported | grep -oE '[0-9]+' | grep -vxF "$this" | tail -n 1)
	[ "$release" -gt "$this" ] || { echo "1..0 # SKIP Debian $release does not have the compiler of Debian $this's kernel"; exit 0; }
	printf 'ID=debian\nVERSION_ID=%s\n' "$release" >"$scratch/os-release"
	codename=$(OS_RELEASE=$scratch/os-release "$TOP/dkms/release.sh" codename)
	libraries=$(OS_RELEASE=$scratch/os-release "$TOP/dkms/release.sh" kernel-libraries)
fi
throwaway "dkms $compiler gcc libc6-dev make binutils xz-utils kmod rsync openssl mokutil ccache $libraries pahole zstd" "$@"

version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$TOP/dkms.conf")
newer=$version+1
arch=$(uname -m)
other=${KVER%%-*}.99-test
first=1.0.1-1.22
second=1.0.2-2.22
foreign=1.0.3-3.22
broken=1.0.4-4.22

# in_root with what stands for hooks of this series
hooked()
{
	in_root env HOOKS_LIST=$list "$@"
}

dpkg()
{
	hooked dpkg "$@" >"$out" 2>&1 || { tail -n 5 "$out"; tail -n 30 "$root"/var/lib/dkms/amdgpu/*/build/make.log; return 1; }
}

# amd_deb VERSION [KIND]: with maintainer scripts as dh_dkms makes them
amd_deb()
{
	local d=$scratch/deb

	control amdgpu-dkms "$1" "Depends: dkms"
	amd_source "$d/usr/src/amdgpu-$1" "$@"
	printf '#!/bin/sh\nset -e\n[ "$1" != configure ] || /usr/lib/dkms/common.postinst amdgpu %s /usr/share/amdgpu-dkms "" $2\n' "$1" >"$d/DEBIAN/postinst"
	printf '#!/bin/sh\nset -e\ncase $1 in\nremove|upgrade|deconfigure) dkms remove -m amdgpu -v %s --all || true ;;\nesac\n' "$1" >"$d/DEBIAN/prerm"
	chmod 755 "$d/DEBIAN"/{postinst,prerm}
	deb "amd-$1.deb"
}

prepare()
{
	[ -e "$tarball" ] || { echo "$tarball is not installed"; return 1; }
	kernel_of "$KVER"
	hooks_list
	amd_deb $first
	amd_deb $second pre-build
	amd_deb $foreign no-place
	amd_deb $broken no-compile
	"$TOP/dist/deb" --indep --version "$version"
	"$TOP/dist/deb" --indep --version "$newer"
	cp "$BUILD/deb-$version"/*.deb "$BUILD/deb-$newer"/*.deb "$root/debs/"
	in_root find / -xdev \( -path /tmp -o -path /var/log -o -path /ccache -o -path /var/lib/dpkg -o -path /debs -o -path /var/cache -o -path /tests \) \
		-prune -o -printf '%p %y %l\n' | sort >"$scratch/before"
}

# tree_of VERSION: it is what its package brought
tree_of()
{
	rm -rf "$root/tmp/unpacked"
	dpkg-deb -x "$root/debs/amd-$1.deb" "$root/tmp/unpacked"
	is "AMD's tree $1" "$(sum "/usr/src/amdgpu-$1")" "$(sum "/tmp/unpacked/usr/src/amdgpu-$1")"
}

# state VERSION with|without: of the running kernel's amdgpu, and what DKMS says of it
state()
{
	is "amdgpu of $KVER" "$(amdgpu_of "$KVER")" "AMD ${1%-*} $2"
	in_root dkms status >"$out.status" 2>/dev/null
	is "DKMS" "$(sed '/^kfd_gpreempt\/.*: added/d; s/ (Original modules exist)//' "$out.status")" "amdgpu/$1, $KVER, $arch: installed"
	is "source in DKMS" "$(readlink "$root/var/lib/dkms/amdgpu/$1/source")" "/usr/src/amdgpu-$1"
	tree_of "$1"
}

amd_alone()
{
	dpkg -i /debs/amd-$first.deb
	state $first without
	is "builds" "$(built_times $first)" 1
	(cd "$root" && find lib/modules/*/kernel -type f -exec sha256sum {} +) >"$scratch/stock"
}

# Twice: the untouched one by AMD's package, and once with the scheduler.
goes_into_it()
{
	dpkg --force-depends -i "/debs/amdgpu-gpreempt-dkms_${version}_all.deb"
	state $first with
	is "builds" "$(built_times $first)" 2
	dpkg -i /debs/amd-$first.deb
	state $first with
	is "builds after AMD's package came once more" "$(built_times $first)" 3
}

# The package of the older kind; no build without the scheduler comes before the one with it.
upgrade_fits()
{
	dpkg -i /debs/amd-$second.deb
	state $second with
	is "builds" "$(built_times $second)" 1
	is "times that its PRE_BUILD came after the hooks" "$(count 'saw the scheduler' "$root/var/log/amd-pre-build")" 1
	[ ! -e "$root/var/lib/dkms/amdgpu/$first" ] || { echo "DKMS has the old version"; return 1; }
	[ ! -e "$root/usr/src/amdgpu-$first" ] || { echo "the old tree is there"; return 1; }
}

# told TEXT TIMES: what dpkg just said of the kernel
told()
{
	is "times that it says '$1'" "$(count "$1" "$out")" "$2"
	is "times that it says what AMD's driver is" "$(count "$KVER keeps AMD's amdgpu" "$out")" "$2"
}

upgrade_does_not_fit()
{
	dpkg -i /debs/amd-$foreign.deb
	told "hook list-size" 1
	state $foreign without
	is "builds" "$(built_times $foreign)" 1
	dpkg --force-depends -i /debs/amd-$foreign.deb
	told "hook list-size" 0
	has "$root/var/lib/kfd_gpreempt/amd/$KVER" "without $foreign"
	has "$root/var/lib/kfd_gpreempt/amd/$KVER" "hook list-size: kfd_packet_manager.c: pm_calc_rlib_size() is gone"
	hooked dpkg-reconfigure amdgpu-gpreempt-dkms >"$out" 2>&1
	told "hook list-size" 1
	is "builds" "$(built_times $foreign)" 2
}

upgrade_does_not_compile()
{
	dpkg -i /debs/amd-$broken.deb
	told "does not compile" 1
	state $broken without
	is "builds, with and without" "$(built_times $broken)" 2
	has "$root/var/lib/kfd_gpreempt/amd-log/$KVER" "not with the scheduler"
	hooked dpkg --configure -a >"$out" 2>&1
	hooked "/usr/src/kfd_gpreempt-$version/dkms/settle.sh" --triggered >"$out" 2>&1
	told "does not compile" 0
	is "builds, with and without" "$(built_times $broken)" 2
}

back_to_one_that_fits()
{
	dpkg -i /debs/amd-$first.deb
	state $first with
	is "what is remembered" "$(cut -d' ' -f1-2 "$root/var/lib/kfd_gpreempt/amd/$KVER")" "with $first"
	[ ! -e "$root/var/lib/kfd_gpreempt/told/$KVER" ] && [ ! -e "$root/var/lib/kfd_gpreempt/amd-log/$KVER" ]
}

# What an administrator or a kernel's package asks of DKMS, without any script of ours
dkms_by_hand()
{
	hooked dkms remove "amdgpu/$first" --all >"$out" 2>&1
	is "amdgpu of $KVER" "$(amdgpu_of "$KVER")" "kernel without"
	hooked dkms add "amdgpu/$first" >"$out" 2>&1
	hooked dkms install "amdgpu/$first" -k "$KVER" >"$out" 2>&1
	state $first with
	kernel_of "$other"
	hooked dkms autoinstall -k "$other" >"$out" 2>&1 || { cat "$out"; return 1; }
	is "amdgpu of $other" "$(amdgpu_of "$other")" "AMD ${first%-*} with"
	is "builds of ours" "$(in_root dkms status | grep -c 'kfd_gpreempt.*: \(built\|installed\)')" 0
	hooked dkms remove "amdgpu/$first" -k "$other" >"$out" 2>&1
	rm -r "${root:?}/lib/modules/$other"
}

# A newer scheduler has to be built in; the same one has not.
ours_upgraded()
{
	local before

	before=$(built_times $first)
	dpkg --force-depends -i "/debs/amdgpu-gpreempt-dkms_${newer}_all.deb"
	state $first with
	has "$root/etc/dkms/amdgpu.conf" "/usr/src/kfd_gpreempt-$newer/"
	is "blocks in DKMS's configuration" "$(grep -c '^# kfd_gpreempt: begin' "$root/etc/dkms/amdgpu.conf")" 1
	is "builds: nothing of what is built changed" "$(built_times $first)" "$before"
	echo "/* another */" >>"$root/usr/src/kfd_gpreempt-$newer/kfd_gpreempt/core/policy.h"
	hooked dpkg-reconfigure amdgpu-gpreempt-dkms >"$out" 2>&1
	is "builds" "$(built_times $first)" $((before + 1))
	state $first with
}

# An administrator's own lines in that file stay.
removed()
{
	echo 'STRIP[0]="no"' >>"$root/etc/dkms/amdgpu.conf"
	dpkg -P amdgpu-gpreempt-dkms
	state $first without
	is "DKMS's configuration" "$(cat "$root/etc/dkms/amdgpu.conf")" 'STRIP[0]="no"'
	rm "$root/etc/dkms/amdgpu.conf"
	(cd "$root" && sha256sum -c --quiet "$scratch/stock")
	is "left of ours" "$(in_root find / -xdev \( -path /proc -o -path /tmp -o -path /debs -o -path /ccache -o -path /tests \) -prune -o \
		\( -name '*gpreempt*' -not -path '*/dpkg/*' \) -print)" ""
}

# Nothing of the distribution's is built for that kernel, and no other.
amd_comes_after_ours()
{
	dpkg --force-depends -P amdgpu-dkms
	dpkg --force-depends -i "/debs/amdgpu-gpreempt-dkms_${version}_all.deb"
	is "amdgpu of $KVER" "$(amdgpu_of "$KVER")" "kernel without"
	: >"$root$builds"
	dpkg -i /debs/amd-$second.deb
	state $second with
	is "builds" "$(built_times $second)" 1
	dpkg --force-depends -P amdgpu-dkms
	is "amdgpu of $KVER" "$(amdgpu_of "$KVER")" "kernel without"
	[ ! -e "$root/var/lib/dkms/amdgpu" ] || { find "$root/var/lib/dkms/amdgpu"; return 1; }
}

nothing_left()
{
	dpkg -P amdgpu-gpreempt-dkms
	in_root find / -xdev \( -path /tmp -o -path /var/log -o -path /ccache -o -path /var/lib/dpkg -o -path /debs -o -path /var/cache -o -path /tests \) \
		-prune -o -printf '%p %y %l\n' | sort >"$scratch/after"
	# (DKMS's key, which it makes when it needs it first)
	diff "$scratch/before" "$scratch/after" | grep '^[<>]' | grep -v '/mok\.\(key\|pub\) ' >"$out" || true
	is "changed" "$(cat "$out")" ""
}

#
# By make install
#

# make_in_root ARGUMENTS...: make in a copy of this tree
make_in_root()
{
	if [ ! -e "$root/tests/tree" ]; then
		mkdir -p "$root/tests/tree"
		(cd "$TOP" && cp -a --parents Makefile dkms.conf Kconfig kfd_gpreempt include dkms "$root/tests/tree/")
	fi
	hooked make -s -C /tests/tree "$@" "KVER=$KVER"
}

untouched()
{
	state "$1" without
	[ ! -e "$root/etc/dkms/amdgpu.conf" ] && [ ! -e "$root/usr/src/kfd_gpreempt-$version" ]
}

which_driver()
{
	! make_in_root install DRIVER=amd >"$out" 2>&1 || { echo "it did not fail"; return 1; }
	has "$out" "AMD's driver package is not installed"
	dpkg -i /debs/amd-$first.deb
	! make_in_root install >"$out" 2>&1 || { echo "it did not fail"; return 1; }
	is "lines" "$(grep -vc '^make' "$out")" 1
	has "$out" "DRIVER=amd (amdgpu-dkms $first) or DRIVER=kernel (the kernel's own amdgpu)"
	untouched $first
	refused "$out" make_in_root install DRIVER=nvidia
	has "$out" "unknown driver 'nvidia'"
	refused "$out" make_in_root install DRIVER=kernel
	has "$out" "AMD's driver is installed for $KVER"
	untouched $first
}

make_install()
{
	make_in_root install DRIVER=amd >"$out" 2>&1 || { cat "$out"; return 1; }
	state $first with
	make_in_root install DRIVER=amd >"$out" 2>&1 || { cat "$out"; return 1; }
	has "$out" "has the scheduler already"
	make_in_root uninstall >"$out" 2>&1 || { cat "$out"; return 1; }
	untouched $first
}

# What does not build at all changes nothing.
build_fails()
{
	mv "$root/usr/bin/ccache" "$root/usr/bin/ccache.away"
	refused "$out" make_in_root install DRIVER=amd
	mv "$root/usr/bin/ccache.away" "$root/usr/bin/ccache"
	has "$out" "did not build for $KVER, nor without the scheduler"
	untouched $first
	[ ! -e "$root/var/lib/dkms/.kfd_gpreempt" ]
}

# On a terminal it asks, until it has an answer that it knows.
asks()
{
	mount -t devpts devpts "$root/dev/pts" 2>/dev/null || { mkdir -p "$root/dev/pts"; mount -t devpts -o ptmxmode=666 devpts "$root/dev/pts"; }
	ln -sf pts/ptmx "$root/dev/ptmx"
	printf 'both\namd\n' | env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C CCACHE_DIR=/ccache KBUILD_MODPOST_WARN=1 HOOKS_LIST=$list \
		chroot "$root" script -qec "make -s -C /tests/tree install KVER=$KVER" /dev/null >"$out" 2>&1 || { cat "$out"; return 1; }
	umount "$root/dev/pts"
	is "questions" "$(grep -o 'Which one gets the scheduler' "$out" | wc -l)" 2
	state $first with
}

make_install_follows()
{
	dpkg -i /debs/amd-$second.deb
	state $second with
	is "builds" "$(built_times $second)" 2
	make_in_root uninstall >"$out" 2>&1 || { cat "$out"; return 1; }
	untouched $second
	dpkg -i /debs/amd-$foreign.deb
	refused "$out" make_in_root install DRIVER=amd
	has "$out" "hook list-size: kfd_packet_manager.c: pm_calc_rlib_size() is gone"
	untouched $foreign
}

# A key that the firmware does not know: nothing is built, AMD's driver stays as it is.
secure_boot()
{
	dpkg -i /debs/amd-$first.deb
	mkdir -p "$root/sys/firmware/efi/efivars"
	printf '\6\0\0\0\1' >"$root/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
	: >"$root$builds"
	refused "$out" make_in_root install DRIVER=amd
	has "$out" "modules have to be signed"
	dpkg --force-depends -i "/debs/amdgpu-gpreempt-dkms_${version}_all.deb"
	has "$out" "modules have to be signed"
	is "amdgpu of $KVER" "$(amdgpu_of "$KVER")" "AMD ${first%-*} without"
	is "builds" "$(built_times $first)" 0
	rm -r "$root/sys/firmware"
	dpkg -P amdgpu-gpreempt-dkms
	untouched $first
}

real_tree()
{
	local copy=$scratch/copy series

	[ -n "${AMD_TREE:-}" ] || skip "AMD_TREE names no folder as amdgpu-dkms has it below /usr/src"
	cp -a "$AMD_TREE" "$copy"
	series=$("$TOP/dkms/hooks.sh" --series-of "$AMD_TREE")
	"$TOP/dkms/amd-tree.sh" --series "$series" "$copy"
	[ -e "$copy/amd/kfd_gpreempt/Kbuild" ]
	diff -rq "$AMD_TREE" "$copy" >"$out" || true
	is "what is new" "$(grep '^Only in' "$out")" "Only in $copy/amd: kfd_gpreempt"
	is "changed beside files with hooks" "$(sed -n "s|^Files .* and $copy/\(.*\) differ$|\1|p" "$out" | sort | comm -23 - <(
		"$TOP/dkms/hooks.sh" --series "$series" --files | sed 's|^|amd/amdkfd/|' | sort))" ""
}

plan 19
must "packages of AMD's and of ours can be made" prepare
must "AMD's package alone is built as it is" amd_alone
must "ours puts the scheduler into it, under AMD's name and version, and its tree stays" goes_into_it
tap "an upgrade of AMD's package is built with the scheduler at once" upgrade_fits
tap "one that the hooks do not fit is built as it is, which is said once" upgrade_does_not_fit
tap "one that does not compile with it is built as it is, which is said once" upgrade_does_not_compile
tap "one that fits has the scheduler again" back_to_one_that_fits
tap "what DKMS is asked by hand, and for a new kernel, has the scheduler" dkms_by_hand
tap "an upgrade of ours is built in if the scheduler is another" ours_upgraded
tap "removing ours gives AMD's driver back as it was" removed
tap "AMD's package that comes after ours is built once, with the scheduler" amd_comes_after_ours
tap "nothing is left when both are gone" nothing_left
must "make install asks which driver, and changes nothing without an answer" which_driver
tap "make install DRIVER=amd puts it in, make uninstall takes it out" make_install
tap "where AMD's driver does not build at all make install changes nothing" build_fails
tap "make install asks on a terminal" asks
tap "an upgrade of AMD's package is followed after make install as well" make_install_follows
tap "Secure Boot without DKMS's key: AMD's driver stays as it is" secure_boot
tap "AMD's own tree takes all hooks, and nothing else in it changes" real_tree
finish

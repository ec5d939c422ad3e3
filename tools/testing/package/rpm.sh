#!/bin/bash
# SPDX-License-Identifier: MIT
#
# rpm.sh - the rpm packages: what is in them and what they need, and on a system that is like an EL: installed, upgraded, removed, and into AMD's own
# driver package whatever becomes of that
#
# rpm, DKMS, depmod and the scriptlets are the real ones, in a throw-away system with rpm's database, an EL's name and no dpkg. What an EL has and the
# packages need is provided by a package made here, with the C library of EL8. amd_package.sh makes AMD's packages.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/throwaway.sh"
. "$(dirname "$0")/system.sh"
. "$(dirname "$0")/amd_package.sh"

for tool in rpmbuild rpm2cpio cpio scdoc; do
	command -v $tool >/dev/null || { echo "1..0 # SKIP $tool is not installed: tools/testing/deps.sh --package"; exit 0; }
done
throwaway "dkms $compiler gcc libc6-dev make binutils xz-utils kmod openssl mokutil ccache $("$TOP/dkms/release.sh" kernel-libraries) pahole zstd gawk" "$@"

version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$TOP/dkms.conf")
newer=$version.1
arch=$(uname -m)
first=1.0.1-1.el8
second=1.0.2-2.el8
foreign=1.0.3-3.el8
rpms=$BUILD/rpm
export BUILD

# rpm_in_root ARGUMENTS...: with the database of the throw-away system; its output in $out
rpm_in_root()
{
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C CCACHE_DIR=/ccache KBUILD_MODPOST_WARN=1 HOOKS_LIST=$list \
		rpm --root "$root" --dbpath /var/lib/rpm "$@" >"$out" 2>&1 </dev/null || { tail -n 30 "$out"; return 1; }
}

# in_spec SPEC: builds it into $root/debs, as $scratch/pay has the files
in_spec()
{
	mkdir -p "$root/debs"
	rpmbuild -bb --quiet --define "_topdir $scratch/top" --define "_rpmdir $root/debs" --define '_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.rpm' \
		--define '__os_install_post %{nil}' --define '_binary_payload w1.gzdio' "$1" >"$scratch/rpmbuild" 2>&1 || { tail -n 20 "$scratch/rpmbuild"; return 1; }
}

# amd_rpm VERSION-RELEASE [KIND]
amd_rpm()
{
	rm -rf "$scratch/pay"
	amd_source "$scratch/pay/usr/src/amdgpu-$1" "$@"
	cat >"$scratch/amd.spec" <<END
Name: amdgpu-dkms
Version: ${1%-*}
Release: ${1#*-}
Summary: stands for AMD's
License: MIT
BuildArch: noarch
AutoReqProv: no
Requires: dkms
%description
Stands for AMD's.
%install
mkdir -p %{buildroot}
cp -a $scratch/pay/. %{buildroot}/
%files
/usr/src/amdgpu-$1
%post
dkms add -m amdgpu -v $1
for k in /lib/modules/*/build; do
	k=\${k%/build}
	dkms build -m amdgpu -v $1 -k \${k##*/} && dkms install -m amdgpu -v $1 -k \${k##*/} --force
done
%preun
dkms remove -m amdgpu -v $1 --all || :
END
	in_spec "$scratch/amd.spec"
	mv "$root/debs/amdgpu-dkms-$1.rpm" "$root/debs/amd-$1.rpm"
}

# el_base: what an EL8 provides
el_base()
{
	local v library

	{
		printf '%s\n' "Name: el-base" "Version: 8" "Release: 1" "Summary: stands for EL8" "License: MIT" "BuildArch: noarch" \
			"Provides: /bin/sh, /bin/bash, dkms, gcc, make, kmod, openssl, mokutil, gawk, coreutils, findutils, diffutils, rtld(GNU_HASH)"
		for library in libc.so.6 libpthread.so.0 libdl.so.2 libm.so.6 librt.so.1 ld-linux-x86-64.so.2; do
			echo "Provides: $library()(64bit)"
			for v in 2.2.5 2.2.6 2.3 2.3.2 2.3.3 2.3.4 $(seq -f 2.%g 4 28); do
				echo "Provides: $library(GLIBC_$v)(64bit)"
			done
		done
		echo "Provides: libsmartcols.so.1()(64bit)"
		for v in 25 27 28 29 30 31; do
			echo "Provides: libsmartcols.so.1(SMARTCOLS_2.$v)(64bit)"
		done
		printf '%s\n' '%description' 'Stands for EL8.' '%files'
	} >"$scratch/base.spec"
	in_spec "$scratch/base.spec"
}

everything()
{
	in_root find / -xdev \( -path /tmp -o -path /var/log -o -path /ccache -o -path /var/lib/rpm -o -path /debs -o -path /var/cache -o -path /tests \
		-o -path /etc/ld.so.cache \) -prune -o -printf '%p %y %l\n' | sort
}

prepare()
{
	[ -e "$tarball" ] || { echo "$tarball is not installed"; return 1; }
	kernel_of "$KVER"
	hooks_list
	printf '%s\n' 'ID="almalinux"' 'ID_LIKE="rhel centos fedora"' 'VERSION_ID="8.10"' 'PRETTY_NAME="stands for EL8"' >"$root/etc/os-release.el"
	rm "$root/etc/os-release"
	mv "$root/etc/os-release.el" "$root/etc/os-release"
	rm -f "$root"/usr/bin/{dpkg*,apt*}
	mkdir -p "$root/usr/share/licenses"
	el_base
	amd_rpm $first
	amd_rpm $second pre-build
	amd_rpm $foreign no-place
	mkdir -p "$root/var/lib/rpm"
	rpm_in_root --initdb
	rpm_in_root -i "$root/debs/el-base-8-1.rpm"
	everything >"$scratch/before"
}

# The newer one has another configuration.
builds()
{
	"$TOP/dist/rpm/build"
	mkdir "$scratch/tree"
	(cd "$TOP" && cp -a --parents Makefile dkms.conf Kconfig kfd_gpreempt include dkms lib tools/gpreemptctl tools/gpreemptd integrations dist LICENSES \
		Documentation/installation.rst Documentation/man "$scratch/tree/")
	echo "# of a newer version" >>"$scratch/tree/dist/gpreempt.conf"
	"$scratch/tree/dist/rpm/build" --version "$newer"
}

# of EL PACKAGE: its file
of()
{
	echo "$rpms/$1/$2-$version"-1.*.rpm
}

names()
{
	local el

	for el in el8 el9; do
		is "packages of $el" "$(basename -a "$rpms/$el"/*.rpm)" "$(printf '%s\n' gpreempt-{devel,libs,oci-hook,tools}-"$version-1.$el.$arch.rpm" "kfd_gpreempt-dkms-$version-1.$el.noarch.rpm")"
	done
	is "what the library's package provides" "$(rpm -qp --provides "$(of el8 gpreempt-libs)" 2>/dev/null | grep -c '^libgpreempt\.so\.1()')" 1
	is "source package" "$(basename -a "$rpms"/*.src.rpm)" "kfd_gpreempt-$version-1.src.rpm"
}

# unpacked EL: all of them in one folder
unpacked()
{
	local package

	mkdir -p "$scratch/$1"
	for package in "$rpms/$1"/*.rpm; do
		(cd "$scratch/$1" && rpm2cpio "$package" | cpio -idmu --quiet)
	done
	echo "$scratch/$1"
}

# By what rpm asks for, and by the objects themselves.
libraries()
{
	local el folder package

	for el in el8 el9; do
		folder=$(unpacked $el)
		for package in "$rpms/$el"/*.rpm; do
			rpm -qp --requires "$package" 2>/dev/null
		done | sort -u >"$out"
		is "symbols newer than those of EL8's C library" "$(sed -n 's/.*(GLIBC_\([0-9.]*\)).*/\1/p' "$out" | sort -V | awk -F. '$1 > 2 || $2 > 28')" ""
		is "libraries" "$(sed -n 's/^\([a-z][^ (]*\.so[^ (]*\).*/\1/p' "$out" | sort -u | grep -vE '^(libc|libpthread|libdl|libm|librt|ld-linux-x86-64)\.so\.[0-9]$')" ""
		find "$folder" -type f \( -perm -100 -o -name '*.so*' \) -exec objdump -T {} + 2>/dev/null | grep -o 'GLIBC_[0-9.]*' | sort -uV >"$out"
		[ -s "$out" ] || { echo "no symbols of the C library were found"; return 1; }
		is "symbols newer than those" "$(sed 's/GLIBC_//' "$out" | awk -F. '$1 > 2 || $2 > 28')" ""
	done
}

source_package()
{
	is "what it needs" "$(rpm -qp --requires "$rpms"/*.src.rpm 2>/dev/null | grep -v '^rpmlib' | tr '\n' ' ')" "gawk gcc json-c-devel libsmartcols-devel make ncurses-devel "
	# json-c of EL8 is 0.13.
	is "calls of a newer json-c" "$(grep -rnE 'json_object_(new|get|set)_uint64|json_object_new_null|json_object_object_add_ex\(.*JSON_C_OBJECT_ADD_CONSTANT' \
		"$TOP/tools/gpreemptctl" "$TOP/tools/gpreemptd" "$TOP/integrations")" ""
}

everything_is_packaged()
{
	make -s -C "$TOP" install-tools DESTDIR="$scratch/installed" PREFIX=/usr LIBDIR=/usr/lib64 >/dev/null
	(cd "$scratch/installed" && find . ! -type d | sed 's|/doc/kfd_gpreempt/|/doc/gpreempt-tools/|' | sort) >"$scratch/installed.list"
	[ "$(wc -l <"$scratch/installed.list")" -gt 10 ]
	for el in el8 el9; do
		(cd "$(unpacked $el)" && find . ! -type d | sed '/\/man\//s/\.gz$//' | sort) >"$scratch/packaged.list"
		is "installed, but not in $el" "$(comm -23 "$scratch/installed.list" "$scratch/packaged.list")" ""
	done
	mkdir "$scratch/dkms"
	package_copy "$scratch/dkms"
	diff -r -x dkms.mk "$scratch/dkms" "$scratch/el8/usr/src/kfd_gpreempt-$version"
}

# systemd ignores what it does not know, and says so; it is 239 in EL8.
old_enough()
{
	local known

	known="Description Documentation BindsTo After Type ExecStart ExecReload Restart RestartSec RestartPreventExitStatus RuntimeDirectory"
	known="$known CapabilityBoundingSet NoNewPrivileges ProtectSystem ProtectHome PrivateTmp PrivateNetwork RestrictAddressFamilies WantedBy"
	known="$known DeviceAllow DevicePolicy LockPersonality MemoryDenyWriteExecute PrivateMounts ProtectControlGroups ProtectKernelModules"
	known="$known ProtectKernelTunables RestrictNamespaces RestrictRealtime SystemCallArchitectures SystemCallErrorNumber SystemCallFilter UMask"
	known="$known ReadWritePaths WorkingDirectory SyslogLevel LogLevelMax OnActiveSec OnUnitInactiveSec AccuracySec"
	sed -n 's/^\([A-Za-z]*\)=.*/\1/p' "$scratch/el8"/usr/lib/systemd/system/*.{service,timer} | sort -u >"$out"
	[ "$(wc -l <"$out")" -gt 10 ]
	is "what systemd 239 may not know" "$(echo "$known" | tr ' ' '\n' | sort | comm -13 - "$out")" ""
	is "programs in Python" "$(grep -rlE '^#!.*python' "$scratch/el8")" ""
}

# state VERSION with|without
state()
{
	is "amdgpu of $KVER" "$(amdgpu_of "$KVER")" "AMD ${1%-*} $2"
	in_root dkms status >"$out.status" 2>/dev/null
	is "DKMS" "$(sed 's/ (original_module exists)//; s/ (Original modules exist)//' "$out.status")" "amdgpu/$1, $KVER, $arch: installed"
	is "source in DKMS" "$(readlink "$root/var/lib/dkms/amdgpu/$1/source")" "/usr/src/amdgpu-$1"
	rpm_in_root -V amdgpu-dkms
	is "files of AMD's tree" "$(cd "$root" && find "usr/src/amdgpu-$1" ! -type d | wc -l)" "$(rpm -qpl "$root/debs/amd-$1.rpm" 2>/dev/null | while read -r f; do
		[ -d "$root$f" ] || echo "$f"; done | wc -l)"
}

# Without AMD's package it says what it is for, once, and nothing else happens.
without_amd()
{
	rpm_in_root -i "$(of el8 kfd_gpreempt-dkms)" "$(of el8 gpreempt-tools)" "$(of el8 gpreempt-libs)" "$(of el8 gpreempt-oci-hook)"
	is "times that it is said" "$(count "AMD's driver (amdgpu-dkms) is not installed for it" "$out")" 1
	is "amdgpu of $KVER" "$(amdgpu_of "$KVER")" "kernel without"
	is "version" "$(in_root gpreemptctl --version)" "gpreemptctl $version (kfd_gpreempt)"
	in_root gpreemptctl apply --check /etc/gpreempt.conf
	: >"$root$builds"
}

amd_comes()
{
	rpm_in_root -i "$root/debs/amd-$first.rpm"
	state $first with
	is "builds" "$(built_times $first)" 1
	is "times that it is said" "$(count "not installed for it" "$out")" 0
}

amd_upgraded()
{
	rpm_in_root -U "$root/debs/amd-$second.rpm"
	state $second with
	is "builds" "$(built_times $second)" 1
	[ ! -e "$root/usr/src/amdgpu-$first" ] && [ ! -e "$root/var/lib/dkms/amdgpu/$first" ]
}

amd_does_not_fit()
{
	rpm_in_root -U "$root/debs/amd-$foreign.rpm"
	cp "$out" "$scratch/upgrade"
	state $foreign without
	is "times that it is said" "$(count "$KVER keeps AMD's amdgpu" "$scratch/upgrade")" 1
	in_root env HOOKS_LIST=$list "/usr/src/kfd_gpreempt-$version/dkms/settle.sh" --triggered >"$out" 2>&1
	is "times that it is said again" "$(count "$KVER keeps AMD's amdgpu" "$out")" 0
	has "$root/var/lib/kfd_gpreempt/amd/$KVER" "pm_calc_rlib_size() is gone"
}

ours_upgraded()
{
	rpm_in_root -U --oldpackage "$root/debs/amd-$first.rpm"
	state $first with
	echo "# the administrator's" >>"$root/etc/gpreempt.conf"
	rpm_in_root -U "$rpms-$newer"/el8/{kfd_gpreempt-dkms,gpreempt-{tools,libs,oci-hook}}-"$newer"-1.*.rpm
	state $first with
	has "$root/etc/gpreempt.conf" "# the administrator's"
	has "$root/etc/gpreempt.conf.rpmnew" "# of a newer version"
	rm "$root/etc/gpreempt.conf.rpmnew"
	has "$root/etc/dkms/amdgpu.conf" "/usr/src/kfd_gpreempt-$newer/"
	[ ! -e "$root/usr/src/kfd_gpreempt-$version" ]
	is "version" "$(in_root gpreemptctl --version)" "gpreemptctl $newer (kfd_gpreempt)"
}

ours_removed()
{
	rpm_in_root -e kfd_gpreempt-dkms
	state $first without
	[ ! -e "$root/etc/dkms/amdgpu.conf" ] && [ ! -e "$root/var/lib/kfd_gpreempt" ]
	rpm_in_root -e gpreempt-tools gpreempt-libs gpreempt-oci-hook
	is "kept" "$(cd "$root/etc" && echo gpreempt*)" "gpreempt.conf.rpmsave"
	rm "$root/etc/gpreempt.conf.rpmsave"
}

# AMD's driver is there already: rebuilt with the scheduler.
ours_comes_after()
{
	: >"$root$builds"
	rpm_in_root -i "$(of el9 kfd_gpreempt-dkms)" "$(of el9 gpreempt-tools)"
	state $first with
	is "builds" "$(built_times $first)" 1
	rpm_in_root -e kfd_gpreempt-dkms gpreempt-tools
	state $first without
}

nothing_left()
{
	rpm_in_root -e amdgpu-dkms
	is "amdgpu of $KVER" "$(amdgpu_of "$KVER")" "kernel without"
	everything >"$scratch/after"
	diff "$scratch/before" "$scratch/after" | grep '^[<>]' | grep -v '/mok\.\(key\|pub\) ' >"$out" || true
	is "changed" "$(cat "$out")" ""
}

plan 15
must "make rpm builds the packages" builds
tap "for EL8 and EL9, of the version in dkms.conf" names
tap "they need no library that EL8 has not, nor a newer one" libraries
tap "an EL can build the source package with what it has" source_package
tap "what make install-tools installs is in one of them; DKMS gets the same source" everything_is_packaged
tap "systemd 239 knows all that the units say; nothing takes Python" old_enough
must "a system like an EL, and AMD's packages, can be made" prepare
must "without AMD's package ours says what it waits for" without_amd
tap "AMD's package that comes then is built once, with the scheduler" amd_comes
tap "an upgrade of AMD's package is built with it at once" amd_upgraded
tap "one that the hooks do not fit is built as it is, which is said once" amd_does_not_fit
tap "an upgrade of ours keeps the configuration and the scheduler" ours_upgraded
tap "removing ours gives AMD's driver back as it was" ours_removed
tap "ours that comes after AMD's goes into it" ours_comes_after
tap "nothing is left when all are gone" nothing_left
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# deb.sh - the Debian packages build from a copy of this tree, contain what they should, and lintian finds nothing
#
# Builds into $BUILD/deb.
. "$(dirname "$0")/lib.sh"

version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$TOP/dkms.conf")
arch=$(dpkg-architecture -qDEB_HOST_ARCH)
multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
export BUILD

if ! command -v dh_dkms >/dev/null || ! command -v lintian >/dev/null; then
	echo "1..0 # SKIP debhelper, dh-dkms or lintian is not installed: tools/testing/deps.sh --package"
	exit 0
fi

builds()
{
	"$TOP/dist/deb"
}

one_version()
{
	is "debian/changelog" "$(cd "$TOP" && dpkg-parsechangelog -S Version)" "$version"
	is "packages" "$(basename -a "$BUILD"/deb/*.deb | grep -v dbgsym)" "$(printf '%s\n' "amdgpu-gpreempt-dkms_${version}_all.deb" \
		{gpreempt-oci-hook,gpreempt-tools,libgpreempt-dev,libgpreempt1,slurm-gpreempt-plugin}"_${version}_$arch.deb")"
}

# files PACKAGE: what is in it, without folders
files()
{
	dpkg-deb --fsys-tarfile "$(echo "$BUILD/deb/$1"_*.deb)" | tar -t | grep -v '/$' | sed 's|^\.||' | sort
}

# What make install-tools and the integrations install is in one of the packages, in whichever folder Debian has for it.
everything_installed_is_packaged()
{
	local package

	make -s -C "$TOP" install-tools BUILD="$BUILD" DESTDIR="$scratch/installed" PREFIX=/usr LIBDIR="/usr/lib/$multiarch" >/dev/null
	make -s -C "$TOP/integrations" install O="$BUILD/integrations" DESTDIR="$scratch/installed" PREFIX=/usr
	for package in gpreempt-tools libgpreempt1 libgpreempt-dev slurm-gpreempt-plugin gpreempt-oci-hook; do
		files $package
	done | sed 's/\.gz$//; s|.*/||' | sort >"$scratch/packaged"
	[ "$(find "$scratch/installed" ! -type d | wc -l)" -gt 10 ]
	find "$scratch/installed" ! -type d -printf '%f\n' | sort | comm -23 - "$scratch/packaged" >"$scratch/lost"
	is "installed, but not packaged" "$(cat "$scratch/lost")" ""
}

# DKMS gets what make install gives it.
same_source()
{
	mkdir "$scratch/dkms"
	package_copy "$scratch/dkms"
	dpkg-deb -x "$BUILD/deb/amdgpu-gpreempt-dkms_${version}_all.deb" "$scratch/unpacked"
	diff -r -x dkms.mk "$scratch/dkms" "$scratch/unpacked/usr/src/kfd_gpreempt-$version"
	[ -x "$scratch/unpacked/usr/src/kfd_gpreempt-$version/dkms/secure-boot.sh" ]
	# DKMS is not to compare the versions of two modules that have none.
	is "file for DKMS" "$(cat "$scratch/unpacked/usr/share/dkms/modules_to_force_install/kfd_gpreempt")" kfd_gpreempt_version-override
}

# Debian's users get no module by these packages but through DKMS, and no options for it.
nothing_is_switched_on()
{
	files amdgpu-gpreempt-dkms >"$scratch/list"
	files gpreempt-tools >>"$scratch/list"
	! files slurm-gpreempt-plugin | grep '/etc/' || { echo "Slurm would be changed"; return 1; }
	is "lines that say something in /etc/gpreempt-oci.conf" \
		"$(dpkg-deb --fsys-tarfile "$(echo "$BUILD/deb/gpreempt-oci-hook"_*.deb)" | tar -xO ./etc/gpreempt-oci.conf | grep -cv '^#\|^$')" 0
	is "modprobe.d, modules" "$(grep -E 'modprobe\.d|\.ko' "$scratch/list")" ""
}

lintian_clean()
{
	lintian --fail-on none --suppress-tags bad-distribution-in-changes-file "$BUILD/deb"/*.changes >"$scratch/lintian" 2>"$scratch/messages"
	is "lintian" "$(cat "$scratch/lintian")" ""
}

# ... and would find something.
lintian_sees()
{
	mkdir -p "$scratch/bad/DEBIAN" "$scratch/bad/usr/local/bin"
	printf 'Package: bad\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: bad\n' >"$scratch/bad/DEBIAN/control"
	touch "$scratch/bad/usr/local/bin/bad"
	dpkg-deb --root-owner-group -b "$scratch/bad" "$scratch/bad.deb" >/dev/null
	lintian --fail-on none "$scratch/bad.deb" 2>/dev/null | grep -q '^E: bad: '
}

plan 7
must "make deb builds the packages" builds
tap "there are six, of the version in dkms.conf" one_version
tap "what make install-tools and the integrations install is in one of them" everything_installed_is_packaged
tap "DKMS gets the same source as by make install" same_source
tap "nothing is switched on by installing" nothing_is_switched_on
tap "lintian finds nothing" lintian_clean
tap "lintian would find a mistake" lintian_sees
finish

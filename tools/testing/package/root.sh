#!/bin/bash
# SPDX-License-Identifier: MIT
#
# root.sh - the Debian packages on a system: installed, upgraded, with new kernels, under Secure Boot, removed; whatever happens, an amdgpu boots
#
# The kernels are one under two version numbers; system.sh says of what.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/throwaway.sh"
. "$(dirname "$0")/system.sh"

compiler=$("$TOP/dkms/release.sh" kernel-compiler)
throwaway "dkms $compiler gcc libc6-dev make binutils patch rsync xz-utils kmod initramfs-tools openssl mokutil ccache linux-base libjson-c5 libncurses6
	libncursesw6 $("$TOP/dkms/release.sh" kernel-libraries) pahole zstd udev pkgconf" "$@"

version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$TOP/dkms.conf")
newer=$version+1
series=${KVER%%.*}.$(echo "$KVER" | cut -d. -f2)
sublevel=$(echo "$KVER" | sed 's/^[0-9]*\.[0-9]*\.\([0-9]*\).*/\1/')
tail=${KVER#"$series.$sublevel"}
flavour=${tail%-*}
old=$KVER
old_version=$series.$sublevel-1
new=$series.$((sublevel + 1))$tail
new_version=$series.$((sublevel + 1))-1
tarball=/usr/src/linux-source-$series.tar.xz

#
# Kernels
#

# renamed FILE KVER: replaces names and numbers of the kernel that the headers are of
renamed()
{
	sed -i "s/${KVER//./\\.}/$2/g; s/${series//./\\.}\.$sublevel${flavour/+/\\+}/${2%-*}/g" "$1"
}

# kernel_packages KVER VERSION: image, headers and source
kernel_packages()
{
	local kver=$1 version=$2 number folder d=$scratch/deb f stock

	number=$(echo "$kver" | sed 's/^\([0-9.]*[0-9]\).*/\1/')
	stock=/lib/modules/$KVER
	[ -e "$stock/kernel/drivers/gpu" ] || stock=$GPREEMPT_CACHE/kernel/$KVER/lib/modules/$KVER

	image_package "$kver" "$version" "$stock" "/usr/src/linux-headers-$KVER/.config"

	control "linux-headers-$kver" "$version" "Depends: linux-image-$kver, $compiler"
	folder=usr/src/linux-headers-$kver
	mkdir -p "$d/$folder-common" "$d/lib/modules/$kver"
	cp -a "/usr/src/linux-headers-$KVER" "$d/$folder"
	for f in Makefile .kernelvariables .config include/generated/utsrelease.h include/config/auto.conf include/config/kernel.release; do
		renamed "$d/$folder/$f" "$kver"
	done
	ln -sfn "/usr/lib/linux-kbuild-${KVER%-*}/scripts" "$d/$folder/scripts"
	ln -sfn "/usr/lib/linux-kbuild-${KVER%-*}/tools" "$d/$folder/tools"
	for f in "/usr/src/linux-headers-${KVER%-*}-common"/*; do
		ln -s "$f" "$d/$folder-common/"
	done
	rm "$d/$folder-common/Makefile"
	sed "s/^SUBLEVEL = .*/SUBLEVEL = ${number##*.}/" "/usr/src/linux-headers-${KVER%-*}-common/Makefile" >"$d/$folder-common/Makefile"
	echo "include /$folder-common/Makefile" >"$d/$folder/Makefile"
	ln -s "/$folder" "$d/lib/modules/$kver/build"
	ln -s "/$folder-common" "$d/lib/modules/$kver/source"
	printf '#!/bin/sh -e\nlinux-run-hooks headers postinst %s -- "$@"\n' "$kver" >"$d/DEBIAN/postinst"
	chmod 755 "$d/DEBIAN/postinst"
	deb "headers-$kver.deb"

	source_package "$series" "$version" "${number##*.}" "$tarball" "source-$kver.deb"
	# The same, with an amdkfd that the hooks do not fit.
	control "linux-source-$series" "$version.1"
	mkdir -p "$d/usr/src"
	sed -i '/kfd_chardev_exit\|pm_calc_rlib_size/d' "$scratch/source/linux-source-$series/$AMD/amdkfd"/*.c
	tar -C "$scratch/source" -c "linux-source-$series" | gzip -1 >"$d$tarball"
	deb "source-foreign-$kver.deb"
	rm -rf "$scratch/source"
}

prepare()
{
	[ -e "$tarball" ] || { echo "$tarball is not installed"; return 1; }
	mkdir -p "$root/usr/lib" "$root/usr/src"
	# One real copy of what the headers of both kernels refer to.
	cp -a "/usr/lib/linux-kbuild-${KVER%-*}" "$root/usr/lib/"
	cp -a "/usr/src/linux-headers-${KVER%-*}-common" "$root/usr/src/"
	kernel_packages "$old" "$old_version"
	kernel_packages "$new" "$new_version"
	"$TOP/dist/deb"
	"$TOP/dist/deb" --indep --version "$newer"
	cp "$BUILD"/deb/*.deb "$BUILD/deb-$newer"/*.deb "$root/debs/"
	# Debian's images have amdgpu only where the GPU drives the console; here it is wanted.
	echo amdgpu >>"$root/etc/initramfs-tools/modules"
}

old_kernel()
{
	install "image-$old.deb" "headers-$old.deb" "source-$old.deb"
	image_installed "$old"
	boots "$old" stock
	in_root find / -xdev \( -path /tmp -o -path /var/log -o -path /ccache -o -path /var/lib/dpkg -o -path /debs -o -path /var/cache \) -prune -o \
		-printf '%p %y %l\n' | sort >"$scratch/before"
}

ours="amdgpu-gpreempt-dkms_${version}_all.deb"
upgraded="amdgpu-gpreempt-dkms_${newer}_all.deb"

status_of()
{
	in_root dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null
}

first_installation()
{
	install "$ours"
	boots "$old" "$version"
	in_root dkms status >"$out"
	has "$out" "kfd_gpreempt/$version, $old, $(uname -m): installed"
	packaged_tests dkms
}

kernel_without_source()
{
	install "image-$new.deb" "headers-$new.deb"
	image_installed "$new"
	has "$out" "apt-get install linux-source-$series=$new_version"
	boots "$new" stock
	boots "$old" "$version"
	is "state of the package" "$(status_of amdgpu-gpreempt-dkms)" installed
}

source_arrives()
{
	install "source-$new.deb"
	boots "$new" "$version"
	boots "$old" "$version"
}

kernel_with_source()
{
	dpkg -r "linux-headers-$new" "linux-image-$new"
	install "source-$old.deb"
	install "image-$new.deb" "headers-$new.deb" "source-$new.deb"
	boots "$new" "$version"
	boots "$old" "$version"
}

kernel_removed()
{
	dpkg -r "linux-headers-$old" "linux-image-$old"
	is "modules left of $old" "$(find "$root/lib/modules/$old" -name '*.ko*' 2>/dev/null)" ""
	boots "$new" "$version"
}

upgrade()
{
	install "$upgraded"
	boots "$new" "$newer"
	is "sources" "$(basename -a "$root"/usr/src/kfd_gpreempt-*)" "kfd_gpreempt-$newer"
}

downgrade()
{
	install "$ours"
	boots "$new" "$version"
	is "sources" "$(basename -a "$root"/usr/src/kfd_gpreempt-*)" "kfd_gpreempt-$version"
}

# A build that fails: the package says so and is not configured, the machine has its stock driver.
failing_build()
{
	control "linux-headers-$new" "$new_version.1"
	rm -rf "$scratch/deb"
	mkdir "$scratch/deb"
	dpkg-deb -R "$root/debs/headers-$new.deb" "$scratch/deb"
	sed -i "s/^Version: .*/Version: $new_version.1/" "$scratch/deb/DEBIAN/control"
	deb "headers-foreign-$new.deb"
	dpkg -r amdgpu-gpreempt-dkms
	install "headers-foreign-$new.deb" "source-foreign-$new.deb"
	not install "$ours" >/dev/null
	has "$out" "a hook does not fit the source of amdkfd"
	has "$out" "$new keeps its stock amdgpu: the build failed"
	boots "$new" stock
	is "state of the package" "$(status_of amdgpu-gpreempt-dkms)" half-configured
}

# Packages of others are not to fail for it, nor to build for minutes again.
failing_build_and_others()
{
	install "image-$old.deb" "headers-$old.deb"
	image_installed "$old"
	boots "$old" stock
	boots "$new" stock
}

mended()
{
	install "source-$new.deb" "headers-$new.deb"
	in_root dpkg --configure -a >"$out" 2>&1 || { cat "$out"; return 1; }
	boots "$new" "$version"
}

secure_boot()
{
	local efi="$root/sys/firmware/efi/efivars"

	mkdir -p "$efi"
	printf '\006\000\000\000\001' >"$efi/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
}

refused_by_secure_boot()
{
	dpkg -P amdgpu-gpreempt-dkms
	rm -f "$root"/var/lib/dkms/mok.*
	secure_boot
	install "$ours"
	has "$out" "error: modules have to be signed (Secure Boot), and DKMS's key /var/lib/dkms/mok.pub is not enrolled"
	has "$out" "mokutil --import /var/lib/dkms/mok.pub"
	[ -s "$root/var/lib/dkms/mok.pub" ] || { echo "there is no key to enrol"; return 1; }
	boots "$new" stock
	is "state of the package" "$(status_of amdgpu-gpreempt-dkms)" installed
	# By hand neither, and a new kernel is not held up.
	not in_root dkms install "kfd_gpreempt/$version" -k "$new" >"$out" 2>&1
	has "$out" "modules have to be signed (Secure Boot)"
	in_root dkms autoinstall -k "$new" >"$out" 2>&1 || { cat "$out"; return 1; }
	boots "$new" stock
}

# Who is to say that a key is enrolled is the firmware, which is not there: a mokutil that says it of this one.
allowed_by_secure_boot()
{
	cat >"$root/usr/local/bin/mokutil" <<-'END'
		#!/bin/sh
		[ "$1" = --test-key ] && [ "$2" = /var/lib/dkms/mok.pub ] && echo "$2 is already enrolled"
	END
	chmod +x "$root/usr/local/bin/mokutil"
	in_root dpkg-reconfigure amdgpu-gpreempt-dkms >"$out" 2>&1 || { cat "$out"; return 1; }
	boots "$new" "$version"
	is "signer" "$(in_root modinfo -k "$new" -F signer amdgpu)" "DKMS module signing key"
	rm -rf "$root/sys/firmware" "$root/usr/local/bin/mokutil"
}

# What loads modules is no kernel here: stand-ins that refuse ours and note the rest.
kernel_refuses()
{
	mkdir -p "$root/sys/bus/pci/devices/0000:03:00.0"
	echo 0x1002 >"$root/sys/bus/pci/devices/0000:03:00.0/vendor"
	echo pci:v00001002d000074A1sv00001002sd000074A1bc12sc00i00 >"$root/sys/bus/pci/devices/0000:03:00.0/modalias"
	cat >"$root/usr/local/sbin/modprobe" <<-'END'
		#!/bin/sh
		case " $* " in
		*" -n "* | *" -c "*) exec /sbin/modprobe "$@" ;;
		*" amdgpu "*) echo "modprobe: ERROR: could not insert 'amdgpu': Key was rejected by service" >&2; exit 1 ;;
		esac
		echo "modprobe $*" >>/tmp/loaded
	END
	printf '#!/bin/sh\necho "insmod $*" >>/tmp/loaded\n' >"$root/usr/local/sbin/insmod"
	chmod +x "$root/usr/local/sbin"/*
	rm -f "$root/tmp/loaded"
	touch "$root/tmp/loaded"
}

fallback()
{
	in_root "/usr/src/kfd_gpreempt-$version/dkms/fallback.sh" "$new" >"$out" 2>&1 || { cat "$out"; return 1; }
}

fallback_loads_the_stock_module()
{
	kernel_refuses
	echo "options amdgpu cwsr_enable=1" >"$root/etc/modprobe.d/test.conf"
	fallback
	has "$out" "Key was rejected by service"
	is "modules loaded by file" "$(grep -c insmod "$root/tmp/loaded")" 1
	has "$root/tmp/loaded" "/lib/modules/$new/kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko"
	has "$root/tmp/loaded" "cwsr_enable=1"
	has "$root/tmp/loaded" "modprobe -S $new drm_buddy"
	[ -L "$root/etc/systemd/system/multi-user.target.wants/amdgpu-gpreempt-fallback.service" ] || { echo "the unit is not enabled"; return 1; }
}

fallback_keeps_out()
{
	kernel_refuses
	echo "blacklist amdgpu" >"$root/etc/modprobe.d/test.conf"
	fallback
	rm "$root/etc/modprobe.d/test.conf"
	mkdir -p "$root/sys/module/amdgpu"
	fallback
	rm -r "$root/sys/module"
	mv "$root/sys/bus/pci/devices/0000:03:00.0" "$root/tmp/"
	fallback
	mv "$root/tmp/0000:03:00.0" "$root/sys/bus/pci/devices/"
	in_root dkms uninstall "kfd_gpreempt/$version" -k "$new" >/dev/null
	fallback
	is "what was loaded" "$(cat "$root/tmp/loaded")" ""
	in_root dkms install "kfd_gpreempt/$version" -k "$new" >/dev/null
	rm -rf "$root/sys/bus" "$root/usr/local/sbin"/*
}

removed()
{
	dpkg -r amdgpu-gpreempt-dkms
	boots "$new" stock
	is "modules left" "$(find "$root/lib/modules" -path '*/updates/*')" ""
	is "left with DKMS" "$(find "$root/var/lib/dkms" -mindepth 1 -maxdepth 1 ! -name 'mok.*' ! -name dkms_dbversion -printf '%f')" ""
}

purged()
{
	dpkg -P amdgpu-gpreempt-dkms
	install "source-$old.deb"
	dpkg -P "linux-headers-$new" "linux-image-$new"
	rm -f "$root"/var/lib/dkms/mok.*
	in_root find / -xdev \( -path /tmp -o -path /var/log -o -path /ccache -o -path /var/lib/dpkg -o -path /debs -o -path /var/cache \) -prune -o \
		-printf '%p %y %l\n' | sort >"$scratch/after"
	diff "$scratch/before" "$scratch/after"
}

tools()
{
	local all=("libgpreempt1_${version}_$(dpkg-architecture -qDEB_HOST_ARCH).deb" "libgpreempt-dev_${version}_$(dpkg-architecture -qDEB_HOST_ARCH).deb"
		   "gpreempt-tools_${version}_$(dpkg-architecture -qDEB_HOST_ARCH).deb")

	install "${all[@]}"
	packaged_tests tools
	in_root ldd /tmp/tests/p | grep libgpreempt.so.1
	[ -e "$root/etc/gpreempt.conf" ] && [ -e "$root/lib/systemd/system/gpreempt.service" ]
	# Which service runs is for the administrator to say.
	is "services enabled" "$(find "$root/etc/systemd" -path '*.wants/*gpreempt*' ! -name amdgpu-gpreempt-fallback.service)" ""
}

tools_removed()
{
	dpkg -r gpreempt-tools libgpreempt-dev libgpreempt1
	[ -e "$root/etc/gpreempt.conf" ] || { echo "the configuration is gone"; return 1; }
	dpkg -P gpreempt-tools
	[ ! -e "$root/etc/gpreempt.conf" ] || { echo "the configuration is left"; return 1; }
	is "left of the tools" "$(find "$root" -xdev -iname '*gpreempt*' -not -path "$root/debs/*" -not -path '*/usr/src/*' -not -path '*/dkms/*' \
		-not -path '*/dpkg/*' -not -path '*/amdgpu-gpreempt-*' -not -path '*/var/lib/kfd_gpreempt*')" ""
}

plan 20
must "packages of ours and of two kernels can be made" prepare
must "a kernel with headers and source boots its stock amdgpu" old_kernel
must "install: ours is what boots, the stock module stays" first_installation
tap "a new kernel without its source boots its stock amdgpu, and the remedy is told" kernel_without_source
tap "when the source arrives later, ours is built and boots" source_arrives
tap "a new kernel together with its source boots ours at once" kernel_with_source
tap "a removed kernel leaves nothing, the other keeps ours" kernel_removed
tap "upgrade: the new version boots" upgrade
tap "downgrade: the old version boots" downgrade
tap "tools and library work once installed" tools
tap "a build that fails leaves the stock amdgpu, and the package says so" failing_build
tap "it does not fail other packages" failing_build_and_others
tap "once mended, configuring goes on where it was" mended
tap "with Secure Boot and a key that is not enrolled nothing is installed, by nobody" refused_by_secure_boot
tap "with an enrolled key the signed module boots" allowed_by_secure_boot
tap "a kernel that refuses ours gets the stock amdgpu from its file" fallback_loads_the_stock_module
tap "but not where amdgpu is blacklisted, loaded, not asked for, or the stock one anyway" fallback_keeps_out
tap "remove: the stock amdgpu boots" removed
tap "tools removed and purged leave nothing" tools_removed
tap "purge: everything is as before" purged
finish

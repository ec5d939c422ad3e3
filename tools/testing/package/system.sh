# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# system.sh - packages of kernels for a throw-away system, and what boots there; sourced after throwaway.sh
#
# dpkg, DKMS, depmod, initramfs-tools and Debian's kernel hooks are the real ones, in a throw-away system. Kernels are packages made here out
# of Debian's of the same names: the real headers and stock amdgpu. Their source packages have the real amdkfd and of amdgpu only the headers,
# and only what has hooks is compiled, so that a build takes seconds (suite dkms builds all of it). Such a module is never loaded, so modpost
# only warns of what it lacks (KBUILD_MODPOST_WARN).

out=$scratch/out

# name_space SERIES: the name of a name space, as source
name_space()
{
	if printf '%s\n' 6.13 "$1" | sort -VC; then
		echo '"DMA_BUF"'
	else
		echo DMA_BUF
	fi
}

# source_tree SERIES TARBALL: the kernel's source as described above, in the cache; prints the folder
source_tree()
{
	local series=$1 tarball=$2 folder wanted
	folder=$GPREEMPT_CACHE/package-root/source-$(cat "$TOP/dkms/hooks.list" <(stat -c '%s-%Y' "$tarball"; declare -f source_tree name_space) | sha256sum | cut -c 1-12)

	if [ ! -e "$folder/done" ]; then
		rm -rf "$folder" "$folder.full"
		mkdir -p "$folder/linux-source-$series/$AMD" "$folder.full"
		tar -C "$folder.full" -xf "$tarball" "linux-source-$series"/{Makefile,"$AMD"}
		cp "$folder.full/linux-source-$series/Makefile" "$folder/linux-source-$series/"
		cp -r "$folder.full/linux-source-$series/$AMD/amdkfd" "$folder/linux-source-$series/$AMD/"
		(
			cd "$folder.full/linux-source-$series" || exit
			find "$AMD" -name '*.h' ! -path '*/asic_reg/*' >"$folder.list"
			# Register headers are most of the bulk; those that are mentioned somewhere are enough.
			wanted=$(grep -rhoE '#include ["<][^">]*' "$AMD"/amdkfd "$AMD"/amdgpu/*.h "$AMD"/include/*.h "$AMD"/pm/inc "$AMD"/display/include |
				sed 's/.*["<\/]//' | sort -u)
			find "$AMD/include/asic_reg" -name '*.h' | grep -F "$(echo "$wanted" | sed 's|^|/|')" >>"$folder.list"
			tar -cf - -T "$folder.list"
		) | tar -C "$folder/linux-source-$series" -xf -
		{
			sed '/^amdgpu-y := /,$d' "$folder.full/linux-source-$series/$AMD/amdgpu/Makefile"
			printf '%s\n' 'AMDKFD_PATH := ../amdkfd' 'include $(FULL_AMD_PATH)/amdkfd/Makefile' \
				"HOOKED := $("$TOP/dkms/hooks.sh" --series "$series" --files | sed -n 's|^\(.*\)\.c$|../amdkfd/\1.o|p' | tr '\n' ' ')" \
				'amdgpu-y := rest.o $(filter $(HOOKED) ../kfd_gpreempt/%,$(AMDKFD_FILES))' 'obj-$(CONFIG_DRM_AMDGPU) += amdgpu.o'
		} >"$folder/linux-source-$series/$AMD/amdgpu/Makefile"
		printf '%s\n' '#include <linux/module.h>' 'MODULE_LICENSE("Dual MIT/GPL");' "MODULE_IMPORT_NS($(name_space "$series"));" \
			'MODULE_ALIAS("pci:v00001002d000074A1sv*sd*bc*sc*i*");' >"$folder/linux-source-$series/$AMD/amdgpu/rest.c"
		rm -rf "$folder.full" "$folder.list"
		touch "$folder/done"
	fi
	echo "$folder"
}

# image_package KVER VERSION STOCK CONFIG: with the amdgpu of STOCK, a folder like /lib/modules/KVER
image_package()
{
	local kver=$1 version=$2 stock=$3 config=$4 d=$scratch/deb s

	control "linux-image-$kver" "$version" "Depends: linux-base, initramfs-tools"
	mkdir -p "$d/boot" "$d/lib/modules/$kver/kernel/drivers/gpu/drm"
	cp -r "$stock/kernel/drivers/gpu/drm/amd" "$d/lib/modules/$kver/kernel/drivers/gpu/drm/"
	cp "$stock"/modules.order "$stock"/modules.builtin "$stock"/modules.builtin.modinfo "$d/lib/modules/$kver/"
	touch "$d/boot/vmlinuz-$kver"
	cp "$config" "$d/boot/config-$kver"
	for s in preinst postinst prerm postrm; do
		{
			printf '#!/bin/sh -e\n'
			[ $s != postinst ] || printf 'depmod %s\n' "$kver"
			printf 'linux-run-hooks image %s %s /boot/vmlinuz-%s -- "$@"\n' $s "$kver" "$kver"
			[ $s != postrm ] || printf 'rm -f /lib/modules/%s/modules.*; rmdir /lib/modules/%s 2>/dev/null || true\n' "$kver" "$kver"
		} >"$d/DEBIAN/$s"
		chmod 755 "$d/DEBIAN/$s"
	done
	deb "image-$kver.deb"
}

# source_package SERIES VERSION SUBLEVEL TARBALL FILE: TARBALL is that of Debian's package; leaves what is in it in $scratch/source
source_package()
{
	local series=$1 d=$scratch/deb

	control "linux-source-$series" "$2"
	rm -rf "$scratch/source"
	mkdir -p "$scratch/source" "$d/usr/src"
	cp -r "$(source_tree "$series" "$4")/linux-source-$series" "$scratch/source/"
	sed -i "s/^SUBLEVEL = .*/SUBLEVEL = $3/" "$scratch/source/linux-source-$series/Makefile"
	tar -C "$scratch/source" -c "linux-source-$series" | gzip -1 >"$d/usr/src/${4##*/}"
	deb "$5"
}

# dpkg COMMAND...: its output in $out
dpkg()
{
	in_root dpkg "$@" >"$out" 2>&1 || { cat "$out"; return 1; }
}

install()
{
	dpkg -i "${@/#//debs/}"
}

#
# What boots
#

# resolved KVER: what modprobe finds
resolved()
{
	in_root modinfo -k "$1" -n amdgpu | sed "s|^/lib/modules/$1/||; s|\.ko\..*|.ko|"
}

# in_initramfs KVER: version of the scheduler in its amdgpu; "stock" has none
in_initramfs()
{
	local n v

	rm -rf "$root/tmp/unpacked"
	in_root unmkinitramfs "/boot/initrd.img-$1" /tmp/unpacked
	n=$(find "$root/tmp/unpacked" -name 'amdgpu.ko*' | wc -l)
	[ "$n" = 1 ] || { echo "$n amdgpu in the initramfs"; return; }
	v=$(modinfo -F gpreempt_version "$(find "$root/tmp/unpacked" -name 'amdgpu.ko*')")
	echo "${v:-stock}"
}

# boots KVER WHAT: stock, or our version
boots()
{
	local path=updates/dkms/amdgpu.ko

	[ "$2" != stock ] || path=kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko
	is "what modprobe finds for $1" "$(resolved "$1")" "$path"
	[ "$2" = stock ] || is "its version" "$(in_root modinfo -k "$1" -F gpreempt_version amdgpu)" "$2"
	is "initramfs of $1" "$(in_initramfs "$1")" "$2"
	# Never anything but the package's own: ours comes beside it.
	(cd "$root" && sha256sum -c --quiet "$scratch/stock-$1")
}

image_installed()
{
	(cd "$root" && find "lib/modules/$1/kernel" -type f -exec sha256sum {} + >"$scratch/stock-$1")
}

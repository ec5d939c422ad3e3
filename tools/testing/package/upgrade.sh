#!/bin/bash
# SPDX-License-Identifier: MIT
#
# upgrade.sh - the Debian packages on a system that gets a kernel of another series beside its own, loses it, and gets one that there is no series for
#
# The system is of the release of Debian that has both kernels, whatever this machine is. Their headers are Debian's; system.sh says what the
# other packages of them are made of.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/throwaway.sh"
. "$(dirname "$0")/system.sh"

kernel_sh=$TOP/tools/testing/vm/kernel.sh

# table: of kernels, a line each: name, series, release of Debian, suites
table()
{
	sed '/^#/d; /^$/d; s/[[:space:]]*|[[:space:]]*/|/g' "$TOP/tools/testing/vm/kernels"
}

# The kernel that is in backports, and another of the same release of Debian
IFS='|' read -r newer newer_series release _ <<<"$(table | grep backports)"
IFS='|' read -r older older_series _ <<<"$(table | grep -v backports | grep -F "|$release|")"

# of_release WHAT: a row of dkms/releases, for that release
of_release()
{
	printf 'ID=debian\nVERSION_ID=%s\n' "$release" >"$scratch/os-release"
	OS_RELEASE=$scratch/os-release "$TOP/dkms/release.sh" "$1"
}

# shellcheck disable=SC2034 # for throwaway.sh
codename=$(of_release codename)
throwaway "dkms $(of_release kernel-compiler) gcc libc6-dev make binutils patch rsync xz-utils kmod initramfs-tools openssl mokutil ccache linux-base
	libjson-c5 libncurses6 libncursesw6 $(of_release kernel-libraries) pahole zstd udev" "$@"

version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$TOP/dkms.conf")
unknown_series=99.9
unknown=$unknown_series.1-amd64
supported=" $("$TOP/dkms/hooks.sh" --supported | tr '\n' ' ')"

# kernel_packages KVER SERIES: image, headers and source
kernel_packages()
{
	local kver=$1 series=$2 got=$GPREEMPT_CACHE/debian/$1 d=$scratch/deb number

	number=$(echo "$kver" | sed 's/^\([0-9.]*[0-9]\).*/\1/')
	image_package "$kver" "$number-1" "$GPREEMPT_CACHE/kernel/$kver/lib/modules/$kver" "$got/usr/src/linux-headers-$kver/.config"
	control "linux-headers-$kver" "$number-1" "Depends: linux-image-$kver"
	mkdir "$d/usr"
	tar -C "$got/usr" --exclude='linux-source-*' --exclude=./share -cf - . | tar -C "$d/usr" -xf -
	headers_hook "$kver"
	deb "headers-$kver.deb"
	source_package "$series" "$number-1" "${number##*.}" "$got/usr/src/linux-source-$series.tar.xz" "source-$kver.deb"
	rm -rf "$scratch/source"
}

# headers_hook KVER: what the package of headers calls when it is installed
headers_hook()
{
	printf '#!/bin/sh -e\nlinux-run-hooks headers postinst %s -- "$@"\n' "$1" >"$scratch/deb/DEBIAN/postinst"
	chmod 755 "$scratch/deb/DEBIAN/postinst"
}

# unknown_kernel: image and headers of the series that nobody knows
unknown_kernel()
{
	local got=$GPREEMPT_CACHE/debian/$old d=$scratch/deb f

	image_package "$unknown" "$unknown_series.1-1" "$GPREEMPT_CACHE/kernel/$old/lib/modules/$old" "$got/usr/src/linux-headers-$old/.config"
	control "linux-headers-$unknown" "$unknown_series.1-1" "Depends: linux-image-$unknown"
	mkdir -p "$d/usr/src/linux-headers-$unknown/include/config" "$d/usr/lib/modules/$unknown"
	for f in Makefile .config include/config/auto.conf; do
		cp "$got/usr/src/linux-headers-$old/$f" "$d/usr/src/linux-headers-$unknown/$f"
	done
	ln -s "/usr/src/linux-headers-$unknown" "$d/usr/lib/modules/$unknown/build"
	headers_hook "$unknown"
	deb "headers-$unknown.deb"
}

prepare()
{
	kernel_packages "$old" "$older_series"
	kernel_packages "$new" "$newer_series"
	unknown_kernel
	"$TOP/dist/deb"
	cp "$BUILD"/deb/*.deb "$root/debs/"
	# Debian's images have amdgpu only where the GPU drives the console; here it is wanted.
	echo amdgpu >>"$root/etc/initramfs-tools/modules"
}

first_kernel()
{
	install "image-$old.deb" "headers-$old.deb" "source-$old.deb"
	image_installed "$old"
	boots "$old" stock
	install "amdgpu-gpreempt-dkms_${version}_all.deb"
	boots "$old" "$version"
}

both_supported()
{
	local series

	for series in "$older_series" "$newer_series"; do
		case $supported in
		*" $series "*)	;;
		*)	skip "the scheduler is not built for series $series, but for:${supported% }" ;;
		esac
	done
}

upgraded()
{
	both_supported
	install "image-$new.deb" "headers-$new.deb" "source-$new.deb"
	image_installed "$new"
	boots "$new" "$version"
	boots "$old" "$version"
	in_root dkms status >"$out"
	has "$out" "kfd_gpreempt/$version, $new, $(uname -m): installed"
	has "$out" "kfd_gpreempt/$version, $old, $(uname -m): installed"
}

back()
{
	both_supported
	dpkg -P "linux-headers-$new" "linux-image-$new" "linux-source-$newer_series"
	is "modules left of $new" "$(find "$root/lib/modules/$new" -name '*.ko*' 2>/dev/null)" ""
	boots "$old" "$version"
	in_root dkms status >"$out"
	is "builds" "$(grep -c 'kfd_gpreempt.*: installed' "$out")" 1
}

back_on_newer()
{
	both_supported
	install "image-$new.deb" "headers-$new.deb" "source-$new.deb"
	image_installed "$new"
	dpkg -r "linux-headers-$old" "linux-image-$old"
	boots "$new" "$version"
	install "image-$old.deb" "headers-$old.deb"
	boots "$old" "$version"
}

# said: how often what was printed last says that there is no series for that kernel
said()
{
	grep -c "no hooks for the $unknown_series series" "$out" || true
}

unknown_is_told_once()
{
	install "image-$unknown.deb" "headers-$unknown.deb"
	image_installed "$unknown"
	is "said" "$(said)" 1
	has "$out" "$unknown keeps its stock amdgpu"
	has "$out" "these are:${supported% }"
	boots "$unknown" stock
	boots "$old" "$version"
	is "state of the package" "$(in_root dpkg-query -W -f '${db:Status-Status}' amdgpu-gpreempt-dkms)" installed
}

# Whatever package of a kernel comes later says nothing of it, whoever asks again is told again.
later_not_again()
{
	install "headers-$old.deb"
	is "said" "$(said)" 0
	in_root dkms autoinstall -k "$unknown" >"$out" 2>&1
	is "said by DKMS" "$(said)" 0
	in_root dpkg-reconfigure amdgpu-gpreempt-dkms >"$out" 2>&1 || { cat "$out"; return 1; }
	is "said to who asks" "$(said)" 1
	boots "$unknown" stock
}

# The kernel's name is what the library says there.
doctor_names_it()
{
	local arch

	arch=$(dpkg-architecture -qDEB_HOST_ARCH)
	install "libgpreempt1_${version}_$arch.deb" "gpreempt-tools_${version}_$arch.deb"
	cat >"$root/tmp/name.c" <<-END
		#define _GNU_SOURCE
		#include <string.h>
		#include <sys/utsname.h>
		int uname(struct utsname *u)
		{
			memset(u, 0, sizeof(*u));
			strcpy(u->sysname, "Linux");
			strcpy(u->release, "$unknown");
			return 0;
		}
	END
	in_root gcc -shared -fPIC -o /tmp/name.so /tmp/name.c
	in_root env LD_PRELOAD=/tmp/name.so gpreemptctl doctor >"$out" 2>&1 || true
	has "$out" "BAD  the kernel is of a supported series: $unknown, which is none of${supported% }"
	has "$out" "-> boot a kernel of one of these series"
}

if ! old=$("$kernel_sh" "$older" 2>"$scratch/why") || ! new=$("$kernel_sh" "$newer" 2>"$scratch/why"); then
	echo "1..0 # SKIP $(tail -n 1 "$scratch/why")"
	exit 0
fi

plan 8
must "packages of ours and of three kernels can be made" prepare
must "$older_series: ours is built and boots" first_kernel
tap "$newer_series comes from backports: ours is built by itself and boots on both" upgraded
tap "$newer_series goes: $older_series has ours, nothing is left" back
tap "$older_series goes and comes back: both have ours" back_on_newer
tap "a kernel of no series boots its stock amdgpu, which is said once" unknown_is_told_once
tap "later packages of kernels do not say it again, who asks is told" later_not_again
tap "gpreemptctl doctor names it" doctor_names_it
finish

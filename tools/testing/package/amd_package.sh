# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# amd_package.sh - a made-up amdgpu-dkms for throw-away systems; sourced after system.sh
#
# AMD's own sources are not in Debian. This one has the kernel's amdkfd in AMD's layout, and of amdgpu what that includes. Three objects are compiled
# and never loaded; what is tried is who builds what, when, and what is left afterwards. Its versions are of a series of its own, amd-1.0, whose
# places are those of the kernel's: $list is a hooks.list that says so, for HOOKS_LIST.

series=${KVER%%.*}.$(echo "$KVER" | cut -d. -f2)
tarball=/usr/src/linux-source-$series.tar.xz
compiler=$("$TOP/dkms/release.sh" kernel-compiler)
list=/tests/hooks.list
builds=/var/log/amd-builds

# hooks_list: in the throw-away system
hooks_list()
{
	mkdir -p "$root/tests"
	{
		echo "supports amd-1.0"
		sed -E "/^series[ \t]/s/(^|[ \t])${series//./\\.}([ \t]|\$)/ ${series} amd-1.0\2/" "$TOP/dkms/hooks.list"
	} >"$root$list"
}

# amd_source DIR VERSION [no-place|no-compile|pre-build]: what the package has below /usr/src/amdgpu-VERSION. A hook has no place; it does not compile
# with the scheduler; its dkms.conf has PRE_BUILD and a line of shell in MAKE, as older ones have.
amd_source()
{
	local d=$1 v=$2 kind=${3:-} from

	from=$(source_tree "$series" "$tarball")/linux-source-$series/$AMD
	mkdir -p "$d/amd/amdkcl" "$d/amd/dkms"
	cp -r "$from"/. "$d/amd/"
	sed -i 's|^amdgpu-y := .*|amdgpu-y := rest.o $(filter ../amdkfd/kfd_packet_manager.o ../kfd_gpreempt/params.o,$(AMDKFD_FILES))|' \
		"$d/amd/amdgpu/Makefile"
	echo "MODULE_VERSION(\"${v%-*}\");" >>"$d/amd/amdgpu/rest.c"
	printf '%s\n' '#include <linux/module.h>' 'MODULE_LICENSE("Dual MIT/GPL");' >"$d/amd/amdkcl/amdkcl.c"
	echo 'obj-m := amdkcl.o' >"$d/amd/amdkcl/Makefile"
	echo 'obj-m := amd/amdgpu/ amd/amdkcl/' >"$d/Kbuild"
	case $kind in
	no-place)	sed -i 's/pm_calc_rlib_size/pm_calc_size/' "$d/amd/amdkfd"/*.c ;;
	no-compile)	echo '$(if $(filter ../kfd_gpreempt/%,$(AMDKFD_FILES)),$(error not with the scheduler))' >>"$d/amd/amdgpu/Makefile" ;;
	esac
	# One place for all of them, for ccache.
	cat >"$d/Makefile" <<END
VERSION = ${series%.*}
PATCHLEVEL = ${series#*.}
all:
	echo "$v \$(KERNELVER)" >>$builds
	ln -sfn \$(CURDIR) /tmp/amdgpu
	\$(MAKE) -C /lib/modules/\$(KERNELVER)/build M=/tmp/amdgpu CC="ccache $compiler" KCFLAGS=-g0 CONFIG_DEBUG_INFO_BTF_MODULES= modules
END
	{
		printf '%s\n' 'PACKAGE_NAME="amdgpu"' "PACKAGE_VERSION=\"$v\"" 'AUTOINSTALL="yes"' 'NO_WEAK_MODULES="yes"' \
			'BUILT_MODULE_NAME[0]="amdgpu"' 'BUILT_MODULE_LOCATION[0]="amd/amdgpu"' 'DEST_MODULE_LOCATION[0]="/kernel/drivers/gpu/drm/amd/amdgpu"' \
			'BUILT_MODULE_NAME[1]="amdkcl"' 'BUILT_MODULE_LOCATION[1]="amd/amdkcl"' 'DEST_MODULE_LOCATION[1]="/kernel/drivers/gpu/drm/amd/amdkcl"'
		if [ "$kind" = pre-build ]; then
			printf '%s\n' 'PRE_BUILD="amd/dkms/pre-build.sh $kernelver"' 'MAKE[0]=". ./.env && make KERNELVER=$kernelver $configured"'
		else
			echo "MAKE[0]=\"'make' KERNELVER=\$kernelver\""
		fi
	} >"$d/dkms.conf"
	# It renames in every file, as AMD's does, and what make needs is made here.
	cat >"$d/amd/dkms/pre-build.sh" <<'END'
#!/bin/bash
[ -n "$1" ] && grep -rl CONFIG_MADE_UP . | xargs -r sed -i 's/CONFIG_MADE_UP/&_AMDKCL/'
echo configured=configured >.env
[ ! -e amd/kfd_gpreempt ] || echo "pre-build saw the scheduler" >>/var/log/amd-pre-build
END
	chmod +x "$d/amd/dkms/pre-build.sh"
}

# kernel_of KVER: its modules, and headers to build for it, in the throw-away system; no package has them
kernel_of()
{
	local kver=$1 stock=/lib/modules/$KVER d=$root/lib/modules/$1

	[ -e "$stock/kernel/drivers/gpu" ] || stock=$GPREEMPT_CACHE/kernel/$KVER/lib/modules/$KVER
	mkdir -p "$d/kernel/drivers/gpu/drm" "$root/usr/src" "$root/usr/lib"
	cp -r "$stock/kernel/drivers/gpu/drm/amd" "$d/kernel/drivers/gpu/drm/"
	cp "$stock"/modules.order "$stock"/modules.builtin "$stock"/modules.builtin.modinfo "$d/"
	if [ ! -e "$root/usr/src/linux-headers-$KVER" ]; then
		cp -a "/usr/src/linux-headers-$KVER" "/usr/src/linux-headers-${KVER%-*}-common" "$root/usr/src/"
		cp -a "/usr/lib/linux-kbuild-${KVER%-*}" "$root/usr/lib/"
	fi
	ln -s "/usr/src/linux-headers-$KVER" "$d/build"
	in_root depmod "$kver"
}

#
# What there is
#

# sum FOLDER: names, modes and contents of what is below it
sum()
{
	(cd "$root$1" && find . -printf '%p %m %l\n' | sort; cd "$root$1" && find . -type f -exec sha256sum {} + | sort) | sha256sum
}

# amdgpu_of KVER: whose amdgpu modprobe finds, with or without the scheduler
amdgpu_of()
{
	local path whose=kernel

	path=$(in_root modinfo -k "$1" -n amdgpu)
	case $path in
	*/updates/*|*/extra/*)
		whose="AMD $(in_root modinfo -k "$1" -F version amdgpu)"
		cmp -s "$root$path" "$(echo "$root/var/lib/dkms/amdgpu/kernel-$1"-*/module/amdgpu.ko*)" || whose="$whose, not what DKMS built"
		;;
	esac
	if in_root modinfo -k "$1" -F parm amdgpu | grep '^gpreempt_enable' >/dev/null; then
		echo "$whose with"
	else
		echo "$whose without"
	fi
}

# count TEXT FILE
count()
{
	grep -cF -- "$1" "$2" 2>/dev/null || true
}

# built_times VERSION: how often AMD's make ran for it
built_times()
{
	count "$1 " "$root$builds"
}

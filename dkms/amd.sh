# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# amd.sh - AMD's own driver package (amdgpu-dkms) on this machine; sourced with $top set to this tree
#
# DKMS builds it from /usr/src/amdgpu-VERSION, in a copy that it makes for each build. After a package's dkms.conf it reads /etc/dkms/amdgpu.conf,
# which is there for changes by the administrator (dkms(8)). A few lines in it make DKMS call dkms/amd-build.sh, which places the hooks in that
# copy. So AMD's tree, its maintainer scripts, its name and version in DKMS stay what they are, and every later version of it is followed.

amd_conf=/etc/dkms/amdgpu.conf
amd_dkms=/var/lib/dkms/amdgpu
amd_memory=/var/lib/kfd_gpreempt/amd
# Logs of builds that failed with the scheduler, by kernel
amd_logs=/var/lib/kfd_gpreempt/amd-log
# Where DKMS builds it once more; no module of DKMS begins with a dot.
amd_aside=/var/lib/dkms/.kfd_gpreempt

# amd_versions: those whose source is there, the newest last
amd_versions()
{
	local conf

	for conf in /usr/src/amdgpu-*/dkms.conf; do
		[ -d "${conf%/*}/amd/amdkfd" ] && grep -qE '^PACKAGE_NAME="?amdgpu"?[[:space:]]*$' "$conf" || continue
		conf=${conf%/dkms.conf}
		echo "${conf#/usr/src/amdgpu-}"
	done | sort -V
}

# amd_build_of KVER: the folder VERSION/KVER/ARCH of what DKMS has installed for it; fails if there is none
amd_build_of()
{
	local link to

	for link in "$amd_dkms/kernel-$1"-*; do
		to=$(readlink "$link") || continue
		case $to in
		*/"$1"/*)
			echo "$to"
			return 0
			;;
		esac
	done
	return 1
}

# amd_kernels: those that AMD's driver is installed for
amd_kernels()
{
	local link to

	for link in "$amd_dkms"/kernel-*; do
		to=$(readlink "$link") || continue
		to=${to%/*}
		echo "${to#*/}"
	done
}

# has_scheduler MODULE
has_scheduler()
{
	[ -e "$1" ] && modinfo -F parm "$1" 2>/dev/null | grep '^gpreempt_enable' >/dev/null
}

# amd_has_scheduler KVER
amd_has_scheduler()
{
	local build

	build=$(amd_build_of "$1") || return 1
	has_scheduler "$(echo "$amd_dkms/$build/module"/amdgpu.ko*)"
}

# amd_digest: of what goes into AMD's driver
amd_digest()
{
	(cd "$top" && find kfd_gpreempt include dkms/hooks.* dkms/lib.sh dkms/package.c dkms/amd-*.sh -type f -exec sha256sum {} + | sort) |
		sha256sum | cut -c 1-16
}

# What was made of AMD's driver for a kernel is in $amd_memory/KVER. The first line is "with VERSION DIGEST" or "without VERSION DIGEST"; in the second
# case the others say why, for dkms/settle.sh and gpreemptctl doctor.
# amd_remember KVER with|without VERSION [TEXT]
amd_remember()
{
	mkdir -p "$amd_memory"
	{
		echo "$2 $3 $(amd_digest)"
		[ $# -lt 4 ] || echo "$4"
	} >"$amd_memory/$1.new"
	mv "$amd_memory/$1.new" "$amd_memory/$1"
}

# amd_outcome KVER VERSION: what the memory says of this version with this scheduler: with, without or nothing
amd_outcome()
{
	local what version digest

	read -r what version digest 2>/dev/null <"$amd_memory/$1" || return 0
	[ "$version" != "$2" ] || [ "$digest" != "$(amd_digest)" ] || echo "$what"
}

amd_why()
{
	sed 1d "$amd_memory/$1" 2>/dev/null
}

# amd_off: DKMS builds AMD's driver as it is
amd_off()
{
	[ -e "$amd_conf" ] || return 0
	sed -i '/^# kfd_gpreempt: begin/,/^# kfd_gpreempt: end/d' "$amd_conf"
	[ -s "$amd_conf" ] || rm "$amd_conf"
}

# amd_on: DKMS builds AMD's driver with the scheduler of this tree. Where that is gone, AMD's command is what runs.
amd_on()
{
	amd_off
	mkdir -p "${amd_conf%/*}"
	cat >>"$amd_conf" <<EOF2
# kfd_gpreempt: begin; these lines are written and removed by $top/dkms
if [ -x $top/dkms/amd-build.sh ] && [ "\${PACKAGE_NAME:-}" = amdgpu ]; then
	gpreempt_pre=\$(printf '%s' "\${PRE_BUILD:-}" | base64 -w 0)
	for gpreempt_i in "\${!MAKE[@]}"; do
		gpreempt_make="\${MAKE[\$gpreempt_i]/#make/make -j\${parallel_jobs:-\$(nproc)} KERNELRELEASE=\$kernelver}"
		MAKE[\$gpreempt_i]="$top/dkms/amd-build.sh \$kernelver \${gpreempt_pre:--} \$(printf '%s' "\$gpreempt_make" | base64 -w 0)"
		PRE_BUILD=
	done
fi
# kfd_gpreempt: end
EOF2
}

# amd_log VERSION: of what amd_rebuild is at
amd_log()
{
	echo "$amd_aside/amdgpu/$1/build/make.log"
}

# amd_rebuild KVER VERSION: DKMS builds it again, aside, and what came out takes the place of what was installed. Changes nothing if it cannot be built.
amd_rebuild()
{
	local kver=$1 version=$2 built

	rm -rf "$amd_aside"
	mkdir -p "$amd_aside"
	if ! dkms build "amdgpu/$version" -k "$kver" --dkmstree "$amd_aside"; then
		mkdir -p "$amd_logs"
		cp "$(amd_log "$version")" "$amd_logs/$kver" 2>/dev/null || true
		rm -rf "$amd_aside"
		return 1
	fi
	built=$(echo "$amd_aside/amdgpu/$version/$kver"/*)
	dkms remove "amdgpu/$version" -k "$kver" >/dev/null || true
	[ -e "$amd_dkms/$version/source" ] || dkms add "amdgpu/$version" >/dev/null || return 1
	mkdir -p "$amd_dkms/$version/$kver"
	mv "$built" "$amd_dkms/$version/$kver/"
	rm -rf "$amd_aside"
	dkms install "amdgpu/$version" -k "$kver"
}

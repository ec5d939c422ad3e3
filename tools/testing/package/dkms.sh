#!/bin/bash
# SPDX-License-Identifier: MIT
#
# dkms.sh - DKMS really adds, builds, installs and removes the package, and the system is as it was
#
# All of it below $GPREEMPT_CACHE/dkms-root (a fixed place, for ccache): DKMS's trees, and a copy of the kernel's graphics
# modules that stands for /lib/modules. What users would get is left in $GPREEMPT_CACHE/amdgpu/KVER/release/amdgpu.ko.
. "$(dirname "$0")/lib.sh"

root=$GPREEMPT_CACHE/dkms-root
modules=$root/lib/modules/$KVER
release=$GPREEMPT_CACHE/amdgpu/$KVER/release
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$TOP/dkms.conf")
out=$scratch/out

command -v dkms >/dev/null || { echo "1..0 # SKIP dkms is not installed"; exit 0; }

mkdir -p "$GPREEMPT_CACHE" "$release"
exec 8>"$GPREEMPT_CACHE/.dkms-root.lock"
flock 8

# Compressing the module well takes a fifth of the suite.
export XZ_OPT=-0
# kbuild asks nm about each object. Where LLVM's linker tools are installed, nm looks at its objects through their plugin: a fifth of the suite.
if plugin=$(gcc -print-file-name=liblto_plugin.so) && [ -e "$plugin" ] && nm=$(command -v "$(uname -m)-linux-gnu-nm"); then
	mkdir "$scratch/bin"
	printf '#!/bin/sh\nexec "%s" --plugin "%s" "$@"\n' "$nm" "$plugin" >"$scratch/bin/${nm##*/}"
	chmod +x "$scratch/bin/${nm##*/}"
	PATH=$scratch/bin:$PATH
fi
# A key of its own: DKMS would make one for the whole system.
export mok_signing_key=$root/key mok_certificate=$root/certificate

# state: everything in the throw-away root, and what of the system DKMS could have touched
state()
{
	(
		cd "$root"
		find . ! -name 'modules.*.bin' \( -type f -exec sha256sum {} + -o -printf '%p %y %l\n' \) | sort
		[ ! -e /var/lib/dkms ] || find /var/lib/dkms /usr/src/kfd_gpreempt-* -printf '%p %T@\n' 2>/dev/null | sort
		find "/lib/modules/$KVER" /boot -maxdepth 2 -printf '%p %T@\n' 2>/dev/null | sort
	)
}

resolved()
{
	modinfo -b "$root" -k "$KVER" -n amdgpu | sed "s|^$modules/||; s|\.ko\..*|.ko|"
}

make_root()
{
	local from=/lib/modules/$KVER

	[ -e "$from/kernel/drivers/gpu" ] || from=$GPREEMPT_CACHE/kernel/$KVER/lib/modules/$KVER
	[ -e "$from/kernel/drivers/gpu" ] || { echo "no modules of $KVER, neither installed nor in the cache"; return 1; }
	rm -rf "$root"
	mkdir -p "$modules/kernel/drivers/gpu/drm" "$root/var/lib/dkms" "$root/usr/src"
	cp -a "$from/kernel/drivers/gpu/drm/amd" "$modules/kernel/drivers/gpu/drm/"
	cp -a "$from"/modules.order "$from"/modules.builtin* "$modules/"
	# DKMS 3.2 looks for headers there.
	ln -s "/lib/modules/$KVER/build" "$modules/build"
	depmod -b "$root" "$KVER"
	# DKMS makes the key when it needs it first, so it is no part of what has to be as before.
	openssl req -new -x509 -nodes -days 2 -subj "/CN=kfd_gpreempt test" -newkey rsa:2048 -keyout "$mok_signing_key" \
		-outform DER -out "$mok_certificate" 2>/dev/null || true
	is "what modprobe finds" "$(resolved)" "kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko"
	sha256sum "$modules/kernel/drivers/gpu/drm/amd/amdgpu"/* >"$scratch/stock"
	state >"$scratch/before"
}

# No object of an earlier tree must be taken for one of this.
install()
{
	rm -f "$release/amdgpu.ko"
	"$TOP/dkms/install.sh" --kver "$KVER" --root "$root"
}

installed()
{
	dkms status --dkmstree "$root/var/lib/dkms" >"$out"
	has "$out" "kfd_gpreempt/$version, $KVER, $(uname -m): installed"
	is "what modprobe finds" "$(resolved)" "updates/dkms/amdgpu.ko"
}

properties()
{
	local parameters

	is "version of the scheduler" "$(modinfo -b "$root" -k "$KVER" -F gpreempt_version amdgpu)" "$version"
	# The kernel's own driver has none, and programs tell AMD's by it.
	is "version" "$(modinfo -b "$root" -k "$KVER" -F version amdgpu)" ""
	is "kernel" "$(modinfo -b "$root" -k "$KVER" -F vermagic amdgpu | cut -d' ' -f1)" "$KVER"
	parameters=$(modinfo -b "$root" -k "$KVER" -F parm amdgpu)
	is "parameters gpreempt_*" "$(( $(echo "$parameters" | grep -c '^gpreempt_') > 0 ))" 1
	# The stock driver's own are all there.
	modinfo -F parm "$modules/kernel/drivers/gpu/drm/amd/amdgpu"/amdgpu.ko* | sort >"$scratch/stock.parameters"
	echo "$parameters" | sort | comm -13 - "$scratch/stock.parameters" >"$out"
	is "parameters lost" "$(cat "$out")" ""
}

leave_object()
{
	local ko

	ko=$(echo "$modules/updates/dkms"/amdgpu.ko*)
	case $ko in
	*.xz)	xz -dc "$ko" >"$release/amdgpu.ko.new" ;;
	*.zst)	zstd -dc "$ko" >"$release/amdgpu.ko.new" ;;
	*.gz)	gzip -dc "$ko" >"$release/amdgpu.ko.new" ;;
	*)	cp "$ko" "$release/amdgpu.ko.new" ;;
	esac
	mv "$release/amdgpu.ko.new" "$release/amdgpu.ko"
}

contents()
{
	nm "$release/amdgpu.ko" >"$out"
	for symbol in kfd_gpreempt_init __kfd_gpreempt_queue_created __kfd_gpreempt_queue_destroyed kfd_gpreempt_node_init; do
		is "definitions of $symbol" "$(grep -c " [Tt] $symbol\$" "$out")" 1
	done
	is "references to the virtual GPU" "$(grep -c ' vgpu_' "$out")" 0
	# Parts that only the test build leaves out.
	is "display code" "$(( $(grep -c ' dm_' "$out") > 0 ))" 1
	# Nothing tells where it was built.
	is "names of the build folder" "$(grep -c -a -F "$root" "$release/amdgpu.ko")" 0
}

signed()
{
	[ -s "$mok_signing_key" ] || skip "openssl is not installed"
	is "signer" "$(modinfo -b "$root" -k "$KVER" -F signer amdgpu)" "kfd_gpreempt test"
}

stock_untouched()
{
	sha256sum -c --quiet "$scratch/stock"
}

uninstall()
{
	"$TOP/dkms/install.sh" --remove --root "$root"
	is "what modprobe finds" "$(resolved)" "kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko"
}

as_before()
{
	state >"$scratch/after"
	diff "$scratch/before" "$scratch/after"
}

plan 10
must "the throw-away root resolves the stock module" make_root
must "dkms add, build and install succeed" install
tap "DKMS reports it installed, and modprobe finds it first" installed
tap "version, kernel and parameters of the module" properties
must "the object is left for the VM tests" leave_object
tap "it has the scheduler, all of amdgpu and nothing of the virtual GPU" contents
tap "DKMS signed it" signed
tap "the stock module is untouched" stock_untouched
tap "dkms remove brings the stock module back" uninstall
tap "after that nothing is different from before, here and in the system" as_before
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# boot.sh - would the kernel take our module, and is it the one that boots?
#
# Secure Boot, initramfs and DKMS's comparison of versions on made-up machines, each in a mount
# namespace of its own. Compiles nothing.
unshare --mount true 2>/dev/null || { echo "1..0 # SKIP no mount namespace can be made here"; exit 0; }
[ -n "${boot_machine:-}" ] || exec unshare --mount env boot_machine=1 "$0" "$@"

# shellcheck disable=SC2034 # not the newest one that can be built for
KVER=none
# shellcheck source=tools/testing/package/lib.sh
. "$(dirname "$0")/lib.sh"

places="/sys /etc/dkms /var/lib /usr/share/dkms /lib/modules /boot"
for place in $places; do
	mkdir -p "$place"
	mount -t tmpfs machine "$place"
done
bin=$scratch/bin
out=$scratch/out
again="then dpkg-reconfigure amdgpu-gpreempt-dkms (or make install)"
certificate=/var/lib/dkms/mok.pub
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$TOP/dkms.conf")
PATH=$bin:$PATH
export EFIVARFS_PATH=/sys/firmware/efi/efivars/

# new_machine: nothing is on it
new_machine()
{
	# shellcheck disable=SC2086 # words
	find $places -mindepth 1 -delete
	rm -rf "$bin"
	mkdir -p "$bin" /var/lib/dkms /lib/modules
}

# program NAME: on this machine it is the script on stdin
program()
{
	cat >"$bin/$1"
	chmod +x "$bin/$1"
}

# made: once, a key as DKMS makes it
made()
{
	[ -e "$scratch/key" ] || openssl req -new -x509 -nodes -days 9 -subj "/CN=DKMS" -newkey rsa:2048 \
		-keyout "$scratch/key" -outform DER -out "$scratch/certificate" 2>/dev/null
}

#
# Secure Boot
#

# secure_machine: Secure Boot is on, and DKMS has a key
secure_machine()
{
	new_machine
	mkdir -p /sys/firmware/efi/efivars /sys/kernel/security /sys/module/module/parameters
	byte SecureBoot 1
	byte SetupMode 0
	made
	cp "$scratch/key" /var/lib/dkms/mok.key
	cp "$scratch/certificate" /var/lib/dkms/mok.pub
}

# variable NAME: its file
variable()
{
	case $1 in
	db|dbx)	echo "/sys/firmware/efi/efivars/$1-d719b2cb-3d3a-4596-a3bc-dad00e67656f" ;;
	Mok*)	echo "/sys/firmware/efi/efivars/$1-605dab50-e046-4300-abb6-3dd810dd8b23" ;;
	*)	echo "/sys/firmware/efi/efivars/$1-8be4df61-93ca-11d2-aa0d-00e098032b8c" ;;
	esac
}

# byte NAME N: a variable of one byte
byte()
{
	printf "\\006\\000\\000\\000\\00$2" >"$(variable "$1")"
}

# list NAME: a variable that is a list of certificates, with DKMS's alone
list()
{
	[ -e "$scratch/list" ] || python3 - "$scratch/certificate" "$scratch/list" <<-'END'
		import struct, sys, uuid
		der = open(sys.argv[1], "rb").read()
		kind = uuid.UUID("a5c059a1-94e4-4aa7-87b5-ab155c2bf072").bytes_le
		owner = uuid.UUID(int=7).bytes_le
		sizes = struct.pack("<III", 28 + 16 + len(der), 0, 16 + len(der))
		open(sys.argv[2], "wb").write(b"\6\0\0\0" + kind + sizes + owner + der)
	END
	cp "$scratch/list" "$(variable "$1")"
}

# decided STATUS TEXT...: what secure-boot.sh says there; in a refusal each line once, and no remedy
# that mokutil would not carry out
decided()
{
	local wanted=$1 text status=0

	shift
	"$TOP/dkms/secure-boot.sh" "${sb_mode:---tell}" >"$out" 2>&1 || status=$?
	is "exit status" "$status" "$wanted" || { cat "$out"; return 1; }
	for text; do
		has "$out" "$text"
	done
	[ "$wanted" = 0 ] || refused "$scratch/refused" eval "cat '$out'; false"
}

no_import()
{
	not grep -n 'mokutil --import' "$out"
}

real_mokutil()
{
	command -v mokutil >/dev/null || skip "mokutil is not installed"
}

in_moklist()
{
	real_mokutil
	secure_machine
	list MokListRT
	decided 0 "modules have to be signed, and DKMS's key $certificate is enrolled"
	list MokDel
	decided 1 "its deletion waits for a reboot" "mokutil --revoke-delete; $again"
}

in_db()
{
	real_mokutil
	secure_machine
	list db
	decided 0 "DKMS's key $certificate is enrolled, in the firmware's db"
	# A kernel of which it is not known, and a shim that is told to ignore it
	echo ID=other >"$scratch/os-release"
	not unshare --mount sh -c 'mount --bind "$1" /etc/os-release && exec "$2"' sh \
		"$scratch/os-release" "$TOP/dkms/secure-boot.sh" >"$out" 2>&1
	has "$out" "it is not known whether the kernel knows DKMS's key"
	has "$out" "in the firmware's db, which some kernels take"
	no_import
	byte MokIgnoreDB 1
	decided 1 "is in the firmware's db, which shim is told to ignore" "mokutil --use-db"
	no_import
}

asked_for()
{
	real_mokutil
	secure_machine
	list MokNew
	decided 1 "is not enrolled yet: that was asked for, and is not confirmed" "Enroll MOK" "$again"
	no_import
}

# The kernel looks at these first, mokutil last.
blocked()
{
	local where

	real_mokutil
	for where in dbx MokListXRT; do
		secure_machine
		list $where
		decided 1 "DKMS's key $certificate is blocked (in" "makes another key"
		no_import
		list db
		list MokListRT
		decided 1 "DKMS's key $certificate is blocked (in"
	done
}

nowhere()
{
	real_mokutil
	secure_machine
	decided 1 "modules have to be signed (Secure Boot), and DKMS's key $certificate is not enrolled" \
		"mokutil --import $certificate" "where no dialogue comes, shim does not start this machine"
	byte MokListRT 0
	decided 1 "mokutil --import $certificate"
	not grep -n 'where no dialogue comes' "$out"
	byte MokSBStateRT 1
	decided 0 "modules need no signature"
	rm "$(variable MokSBStateRT)"
	byte SecureBoot 0
	decided 0 "modules need no signature"
	byte SecureBoot 1
	byte SetupMode 1
	decided 0 "modules need no signature"
}

# What mokutil answers; KEY is the certificate.
each_answer()
{
	local answer status text

	secure_machine
	program mokutil <<-'END'
		#!/bin/sh
		cat /sys/answer
		exit 1
	END
	while IFS='|' read -r answer status text; do
		echo "# $answer"
		echo "${answer//KEY/$certificate}" >/sys/answer
		decided "$status" "$text"
		not grep -qE 'KEY|^$' "$out"
		case $answer in
		*"is not enrolled"*|CA*enrolled) ;;
		*)	no_import ;;
		esac
	done <<-'END'
		KEY is already enrolled|0|is enrolled
		KEY is already in db|0|is enrolled, in the firmware's db
		KEY is already in the enrollment request|1|was asked for, and is not confirmed
		KEY is blocked in dbx|1|is blocked (in the firmware's dbx)
		KEY is blocked in MokListX|1|is blocked (in shim's MokListX)
		KEY is not enrolled|1|is not enrolled
		KEY is already in the built-in trusted keyring|0|is built into the kernel
		CA of KEY is already enrolled|1|only the CA of DKMS's key
		CA of KEY is blocked|1|is blocked (its CA is)
		Not a valid x509 certificate|1|openssl x509 -in /var/lib/dkms/mok.pub -outform DER
		Failed to open KEY|1|cannot be read
		EFI variables are not supported on this system|1|not known whether the kernel knows DKMS's key
		/other/KEY is already enrolled|1|not known whether the kernel knows DKMS's key
		cannot tell whether KEY is already enrolled|1|mokutil --test-key says 'cannot tell whether
		|1|mokutil --test-key says ''
		Segmentation fault|1|mokutil --test-key says 'Segmentation fault'
	END
}

# Lockdown and module.sig_enforce without Secure Boot: there the kernel reads no enrolled key.
without_secure_boot()
{
	local how

	real_mokutil
	for how in lockdown module.sig_enforce; do
		secure_machine
		byte SecureBoot 0
		case $how in
		lockdown) echo "none [integrity] confidentiality" >/sys/kernel/security/lockdown ;;
		*)	echo Y >/sys/module/module/parameters/sig_enforce ;;
		esac
		decided 1 "signed ($how), and DKMS's key $certificate is not enrolled" "start without $how"
		list MokListRT
		decided 1 "is enrolled, and Secure Boot is off" "start without $how"
		no_import
		list db
		decided 0 "is enrolled, in the firmware's db"
		rm -r /sys/firmware
		decided 1 "signed ($how), and without EFI" "start without $how"
		not grep -n 'mokutil' "$out"
		rm /var/lib/dkms/*
		sb_mode=--make-key decided 1 "without EFI"
		is "keys made" "$(ls /var/lib/dkms)" ""
	done
}

variables_that_cannot_be_read()
{
	secure_machine
	rm /sys/firmware/efi/efivars/*
	decided 0 "as far as is known: /sys/firmware/efi/efivars is empty"
	echo "[none] integrity confidentiality" >/sys/kernel/security/lockdown
	decided 0 "modules need no signature"
	not grep -n 'as far as' "$out"
}

no_key_and_no_mokutil()
{
	secure_machine
	rm /var/lib/dkms/*
	decided 1 "DKMS has no key yet ($certificate)" "which makes one and says how to enrol it"
	no_import
	touch /var/lib/dkms/mok.key
	decided 1 "DKMS has a key without a certificate: /var/lib/dkms/mok.key" "move /var/lib/dkms/mok.key away"
	rm /var/lib/dkms/mok.key
	program openssl <<<false
	sb_mode=--make-key decided 1 "DKMS has no key, and none could be made" "apt-get install openssl"
	rm "$bin/openssl"
	cp "$scratch/certificate" /var/lib/dkms/mok.pub
	# With a PATH that has all that the script needs, and no mokutil
	mkdir "$scratch/path"
	ln -s /usr/bin/{sh,bash,cat,grep,od,tr,head,dirname,apt-get} "$scratch/path/"
	PATH=$scratch/path decided 1 "without mokutil it cannot be told" "install mokutil; $again"
}

#
# DKMS
#

kver=6.12.99-test

# module FILE [FIELD...]: an amdgpu whose modinfo says that
module()
{
	local file=$1

	shift
	mkdir -p "${file%/*}"
	echo 'int x;' >"$scratch/empty.c"
	gcc -c -o "$scratch/empty.o" "$scratch/empty.c"
	printf '%s\0' license=GPL name=amdgpu "$@" >"$scratch/modinfo"
	objcopy --add-section ".modinfo=$scratch/modinfo" --set-section-flags .modinfo=alloc,readonly \
		"$scratch/empty.o" "$file"
}

# versionless: a kernel whose amdgpu has no version, as that of all kernels, and a package that
# builds one without
versionless()
{
	command -v dkms >/dev/null || skip "dkms is not installed"
	root=$scratch/dkms
	rm -rf "$root"
	new_machine
	mkdir -p "$root/var/lib/dkms" "$root/usr/src" "$root/lib" "/lib/modules/$kver/build/include"
	ln -s /lib/modules "$root/lib/modules"
	touch "$root/lib/modules/$kver"/modules.{order,builtin} "$root/lib/modules/$kver/build/.config"
	module "$root/lib/modules/$kver/kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko"
	package_copy "$root/package"
	module "$root/ours.ko" parm=gpreempt_enable:x gpreempt_version="$version"
	cat >"$root/package/dkms/build.sh" <<-END
		#!/bin/sh
		[ "\$1" != --check ] || exit 0
		mkdir -p tree/drivers/gpu/drm/amd/amdgpu
		cp "$root/ours.ko" tree/drivers/gpu/drm/amd/amdgpu/amdgpu.ko
	END
}

# ours_found: DKMS has installed it beside the stock one
ours_found()
{
	local found

	found=$(find "$root/lib/modules/$kver/updates" -name 'amdgpu.ko*')
	is "modules installed" "$(wc -w <<<"$found")" 1
	is "its version" "$(modinfo -F version "$found")" ""
	is "the scheduler's" "$(modinfo -F gpreempt_version "$found")" "$version"
	is "stock modules" "$(find "$root/lib/modules/$kver/kernel" -name 'amdgpu.ko*' | wc -l)" 1
}

dkms_installs()
{
	versionless
	"$root/package/dkms/install.sh" --driver kernel --kver $kver --root "$root"
	ours_found
	"$root/package/dkms/install.sh" --remove --root "$root"
	is "what is left of it" "$(find "$root/lib/modules/$kver/updates" -name 'amdgpu.ko*')" ""
}

# A kernel that comes later, with the file that the Debian package has, or install.sh has left
dkms_autoinstalls()
{
	local args

	versionless
	args=(--dkmstree "$root/var/lib/dkms" --sourcetree "$root/usr/src" --installtree "$root/lib/modules")
	cp -r "$root/package" "$root/usr/src/kfd_gpreempt-$version"
	dkms add "kfd_gpreempt/$version" "${args[@]}"
	mkdir "/usr/share/dkms/modules_to_force_install"
	sed -n 's/^\techo \(.*\) >.*modules_to_force_install.*/\1/p' "$TOP/debian/rules" \
		>"/usr/share/dkms/modules_to_force_install/kfd_gpreempt"
	dkms autoinstall -k $kver "${args[@]}"
	ours_found
}

# No driver but AMD's has a version.
no_version()
{
	not grep -rn 'MODULE_VERSION\|MODULE_INFO(version' "$TOP/dkms" "$TOP/kfd_gpreempt"
}

plan 12
tap "an enrolled key counts, unless its deletion waits" in_moklist
tap "a key in the firmware's db counts where the kernel takes it" in_db
tap "a key that was asked for is not asked for again" asked_for
tap "a blocked key does not count, wherever else it is" blocked
tap "a key that is nowhere is to be imported" nowhere
tap "each answer of mokutil has its sentence, and what is not known is said so" each_answer
tap "without Secure Boot an enrolled key does not count, and without EFI there is none" without_secure_boot
tap "EFI variables that cannot be read are told" variables_that_cannot_be_read
tap "no key, half a key, no openssl and no mokutil each have a remedy" no_key_and_no_mokutil
tap "no build of ours says to be a version of amdgpu" no_version
tap "DKMS installs our amdgpu, which has no version, beside the stock one" dkms_installs
tap "for a kernel that comes later as well" dkms_autoinstalls
finish

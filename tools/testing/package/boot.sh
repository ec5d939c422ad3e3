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
	module "/lib/modules/$kver/kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko"
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

#
# Initramfs
#

notes=/var/lib/kfd_gpreempt/initramfs
did=/boot/did
image=/boot/initrd.img-$kver

# booting: a kernel with the stock amdgpu and ours, and nothing that makes images
booting()
{
	new_machine
	if [ ! -e "$scratch/tools" ]; then
		mkdir "$scratch/tools"
		ln -s -t "$scratch/tools" /usr/sbin/* 2>/dev/null || true
		ln -s -t "$scratch/tools" /usr/bin/* 2>/dev/null || true
		(cd "$scratch/tools" && rm -f update-initramfs mkinitramfs dracut lsinitrd lsinitramfs mkinitcpio \
			booster kernel-install ukify mktirfs)
		module "$scratch/stock.ko"
		module "$scratch/with.ko" parm=gpreempt_enable:x gpreempt_version="$version"
	fi
	PATH=$bin:$scratch/tools
	mkdir -p "/lib/modules/$kver"/{kernel/drivers/gpu/drm/amd/amdgpu,updates/dkms}
	cp "$scratch/stock.ko" "/lib/modules/$kver/kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko"
	cp "$scratch/with.ko" "/lib/modules/$kver/updates/dkms/amdgpu.ko"
	touch "/lib/modules/$kver"/modules.{order,builtin,builtin.modinfo} "/boot/vmlinuz-$kver"
	depmod "$kver"
	echo old >"$image"
}

# maker NAME [FILE]: a program that notes how it was called and makes FILE, if that is named
maker()
{
	program "$1" <<-END
		#!/bin/sh
		echo "$1 \$*" >>$did
		${2:+echo new >"$2"}
	END
}

# settled STATUS [MODE]: what settle.sh does about images is in $out
settled()
{
	local status=0

	rm -f $did
	touch $did
	"$TOP/dkms/settle.sh" "${2:---initramfs}" >"$out" 2>&1 || status=$?
	is "exit status" "$status" "$1" || { cat "$out"; return 1; }
}

# is_made CALL...: by these calls, and noted; nothing is said
is_made()
{
	is "calls" "$(cat $did)" "$(printf '%s\n' "$@")"
	[ -e "$notes/$kver" ] || { echo "it is not noted"; return 1; }
	is "said" "$(cat "$out")" ""
	# It is done once.
	settled 0
	is "calls" "$(cat $did)" ""
}

# is_told TEXT...: it is not noted as made, and said
is_told()
{
	local text

	not test -e "$notes/$kver"
	for text; do
		has "$out" "$text"
	done
}

initramfs_tools()
{
	booting
	maker update-initramfs "$image"
	maker dracut
	settled 0
	is_made "update-initramfs -u -k $kver"
	# It is configured to make nothing.
	booting
	maker update-initramfs
	settled 0
	is_told "$kver: $image was not made anew" "'update-initramfs -u -k $kver' left it as it was"
	# It fails.
	program update-initramfs <<<'exit 1'
	settled 1
	is_told "failed: update-initramfs -u -k $kver"
}

dracut_on_debian()
{
	booting
	maker dracut "$image"
	settled 0
	is_made "dracut --force $image $kver"
	booting
	settled 0
	is_told "$image was not made anew" "remedy: dracut --force $image $kver (dracut)"
}

# One of an EL is made again if there is an amdgpu in it, or if that cannot be seen.
dracut_on_el()
{
	local el=/boot/initramfs-$kver.img

	booting
	mv "$image" "$el"
	maker dracut "$el"
	settled 0
	is_made "dracut --force $el $kver"
	booting
	mv "$image" "$el"
	maker dracut "$el"
	printf 'echo init\necho usr/lib/modules/%s/kernel/ext4.ko\n' $kver | program lsinitrd
	settled 0
	is_made ""
}

other_makers()
{
	local entry=/boot/0123456789abcdef/$kver/initrd.img

	booting
	maker mkinitcpio "$image"
	settled 0
	is_made "mkinitcpio -k $kver -g $image"
	booting
	mv "$image" "/boot/booster-$kver.img"
	settled 0
	is_told "remedy: booster build --force --kernel-version $kver /boot/booster-$kver.img"
	maker booster "/boot/booster-$kver.img"
	settled 0
	is_made "booster build --force --kernel-version $kver /boot/booster-$kver.img"
	# What kernel-install has copied goes along with the image; or that has a hook that does it.
	booting
	mkdir -p "${entry%/*}"
	touch "$entry"
	maker update-initramfs "$image"
	settled 0
	is_told "$entry was not made anew" "remedy: kernel-install add $kver /boot/vmlinuz-$kver"
	is "calls" "$(cat $did)" "update-initramfs -u -k $kver"
	maker kernel-install "$entry"
	settled 0
	is_made "update-initramfs -u -k $kver" "kernel-install add $kver /boot/vmlinuz-$kver"
}

unified_image()
{
	local uki=/boot/efi/EFI/Linux/debian-$kver.efi

	booting
	rm "$image"
	mkdir -p "${uki%/*}"
	echo old >"$uki"
	echo old >"${uki%/*}/debian-6.12.9.efi"
	maker ukify
	maker dracut
	settled 0
	is_told "$uki was not made anew" "ukify build --uname=$kver --output=$uki" "kernel-install add $kver"
	is "calls" "$(cat $did)" ""
	not grep -n 'debian-6.12.9.efi' "$out"
	# One whose name does not tell the kernel; kernel-install makes it if it is set up for that.
	echo "Linux version $kver (me)" >"${uki%/*}/linux.efi"
	rm "$uki"
	settled 0
	is_told "${uki%/*}/linux.efi was not made anew"
	maker kernel-install "${uki%/*}/linux.efi"
	settled 0
	is_told "${uki%/*}/linux.efi was not made anew"
	mount -t tmpfs machine /etc/kernel
	echo layout=uki >/etc/kernel/install.conf
	settled 0
	umount /etc/kernel
	is_made "kernel-install add $kver /boot/vmlinuz-$kver"
}

none_at_all()
{
	booting
	rm "$image"
	settled 0
	is_told "no initramfs of it was found" "below /boot /efi /boot/efi"
}

told_once()
{
	booting
	settled 0 --triggered
	is_told "$image was not made anew"
	settled 0 --triggered
	is "said at the next trigger" "$(cat "$out")" ""
	settled 0
	is_told "$image was not made anew"
	# What makes it has come, and goes; then ours goes.
	maker dracut "$image"
	settled 0
	is_made "dracut --force $image $kver"
	rm "/lib/modules/$kver/updates/dkms/amdgpu.ko"
	depmod "$kver"
	settled 0
	is "calls" "$(cat $did)" "dracut --force $image $kver"
	settled 0
	is "calls" "$(cat $did)" ""
	is "notes" "$(cd /var/lib/kfd_gpreempt && ls -d initramfs unmade 2>/dev/null)" ""
	# Nothing is kept of one that is gone.
	booting
	settled 0
	[ -e "/var/lib/kfd_gpreempt/unmade/$kver" ]
	rm "/lib/modules/$kver/updates/dkms/amdgpu.ko"
	depmod "$kver"
	settled 0
	has "$out" "$image was not made anew"
	is "notes" "$(ls /var/lib/kfd_gpreempt 2>/dev/null)" ""
}

# boots_next STATUS TEXT [PATH...]: initramfs.sh says that of an image with these modules
boots_next()
{
	local wanted=$1 text=$2 status=0

	shift 2
	printf '%s\n' init usr/bin "$@" >/boot/listing
	"$TOP/dkms/initramfs.sh" --tell "$kver" >"$out" 2>&1 || status=$?
	is "exit status" "$status" "$wanted" || { cat "$out"; return 1; }
	has "$out" "$text"
}

boots_what()
{
	local at=usr/lib/modules/$kver stock=kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko

	booting
	boots_next 3 "$kver: not known: $image cannot be listed"
	program lsinitramfs <<<'cat /boot/listing'
	boots_next 0 "$kver: updates/dkms/amdgpu.ko, with kfd_gpreempt; nothing else is in $image" $at/updates/dkms/amdgpu.ko.xz
	boots_next 0 "$kver: updates/dkms/amdgpu.ko, with kfd_gpreempt"
	boots_next 1 "$kver: $stock, as it is in $image; modprobe finds updates/dkms/amdgpu.ko" $at/$stock
	has "$out" "remedy: dracut --force"
	boots_next 1 "$stock and updates/dkms/amdgpu.ko, as it is" $at/$stock $at/updates/dkms/amdgpu.ko
	maker update-initramfs
	boots_next 1 "remedy: update-initramfs -u -k $kver" $at/$stock.zst
	# The listing breaks off.
	program lsinitramfs <<<'echo kernel; echo kernel/x86/microcode; exit 1'
	boots_next 3 "$kver: not known: $image cannot be listed"
	rm "$image"
	boots_next 3 "$kver: updates/dkms/amdgpu.ko, with kfd_gpreempt, if it boots without an initramfs"
	rm "/lib/modules/$kver/updates/dkms/amdgpu.ko"
	depmod "$kver"
	echo old >"$image"
	program lsinitrd <<<'sed "s/^/-rw-r--r--   1 root     root   2048 Jan  1 1970 /" /boot/listing'
	boots_next 0 "$kver: $stock, without kfd_gpreempt" $at/$stock
	boots_next 1 "updates/dkms/amdgpu.ko, as it is in $image" $at/updates/dkms/amdgpu.ko
}

# No driver but AMD's has a version.
no_version()
{
	not grep -rn 'MODULE_VERSION\|MODULE_INFO(version' "$TOP/dkms" "$TOP/kfd_gpreempt"
}

plan 20
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
tap "initramfs-tools makes the image, or it is said that it did not" initramfs_tools
tap "dracut makes the image on Debian" dracut_on_debian
tap "dracut makes the image of an EL, if there is an amdgpu in it" dracut_on_el
tap "mkinitcpio, booster and kernel-install make theirs" other_makers
tap "a unified image is made by kernel-install, or it is said" unified_image
tap "where there is no image, none is noted as made" none_at_all
tap "what is not made is said once, and tried again when asked" told_once
tap "the amdgpu that boots next is known, or said to be not" boots_what
finish

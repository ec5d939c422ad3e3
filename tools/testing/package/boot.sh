#!/bin/bash
# SPDX-License-Identifier: MIT
#
# boot.sh - would the kernel take our module, and is it the one that boots?
#
# Secure Boot, initramfs and DKMS's comparison of versions on made-up machines, each in a mount
# namespace of its own. Compiles nothing.
KVER=none
. "$(dirname "$0")/lib.sh"

unshare --mount true 2>/dev/null || { echo "1..0 # SKIP no mount namespace can be made here"; exit 0; }

m=$scratch/machine
out=$scratch/out
again="then dpkg-reconfigure amdgpu-gpreempt-dkms (or make install)"
certificate=/var/lib/dkms/mok.pub
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$TOP/dkms.conf")

# made: once, a key as DKMS makes it
made()
{
	[ -e "$scratch/key" ] || openssl req -new -x509 -nodes -days 9 -subj "/CN=DKMS" -newkey rsa:2048 \
		-keyout "$scratch/key" -outform DER -out "$scratch/certificate" 2>/dev/null
}

# on_machine COMMAND...: where the folders of $m are /sys, /etc/dkms and so on
on_machine()
{
	m=$m machine_path=${machine_path:-} unshare --mount bash -c '
		set -e
		cd "$m"
		for place in *; do
			[ "$place" != bin ] || continue
			to=/${place//+/\/}
			[ -d "$to" ] || mkdir -p "$to"
			mount --bind "$place" "$to"
		done
		cd /
		PATH=$m/bin:${machine_path:-$PATH}
		export EFIVARFS_PATH=/sys/firmware/efi/efivars/
		exec "$@"' bash "$@"
}

#
# Secure Boot
#

# secure_machine: Secure Boot is on, and DKMS has a key
secure_machine()
{
	rm -rf "$m"
	mkdir -p "$m/sys/firmware/efi/efivars" "$m/sys/kernel/security" \
		"$m/sys/module/module/parameters" "$m/etc+dkms" "$m/var+lib+dkms" "$m/bin"
	byte SecureBoot 1
	byte SetupMode 0
	made
	cp "$scratch/key" "$m/var+lib+dkms/mok.key"
	cp "$scratch/certificate" "$m/var+lib+dkms/mok.pub"
}

# variable NAME: its file
variable()
{
	case $1 in
	db|dbx)	echo "$m/sys/firmware/efi/efivars/$1-d719b2cb-3d3a-4596-a3bc-dad00e67656f" ;;
	Mok*)	echo "$m/sys/firmware/efi/efivars/$1-605dab50-e046-4300-abb6-3dd810dd8b23" ;;
	*)	echo "$m/sys/firmware/efi/efivars/$1-8be4df61-93ca-11d2-aa0d-00e098032b8c" ;;
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
	python3 - "$scratch/certificate" "$(variable "$1")" <<-'END'
		import struct, sys, uuid
		der = open(sys.argv[1], "rb").read()
		kind = uuid.UUID("a5c059a1-94e4-4aa7-87b5-ab155c2bf072").bytes_le
		owner = uuid.UUID(int=7).bytes_le
		sizes = struct.pack("<III", 28 + 16 + len(der), 0, 16 + len(der))
		open(sys.argv[2], "wb").write(b"\6\0\0\0" + kind + sizes + owner + der)
	END
}

# decided STATUS TEXT...: what secure-boot.sh says there; in a refusal each line once, and no remedy
# that mokutil would not carry out
decided()
{
	local wanted=$1 text status=0

	shift
	on_machine "$TOP/dkms/secure-boot.sh" ${sb_mode---tell} >"$out" 2>&1 || status=$?
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
	os_release() { mount --bind "$1" /etc/os-release; shift; exec "$@"; }
	export -f os_release
	on_machine bash -c 'os_release "$@"' bash "$scratch/os-release" "$TOP/dkms/secure-boot.sh" >"$out" 2>&1 &&
		{ cat "$out"; return 1; }
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
	printf '#!/bin/sh\ncat /sys/answer\nexit 1\n' >"$m/bin/mokutil"
	chmod +x "$m/bin/mokutil"
	while IFS='|' read -r answer status text; do
		echo "# $answer"
		echo "${answer//KEY/$certificate}" >"$m/sys/answer"
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
		lockdown) echo "none [integrity] confidentiality" >"$m/sys/kernel/security/lockdown" ;;
		*)	echo Y >"$m/sys/module/module/parameters/sig_enforce" ;;
		esac
		decided 1 "signed ($how), and DKMS's key $certificate is not enrolled" "start without $how"
		list MokListRT
		decided 1 "is enrolled, and Secure Boot is off" "start without $how"
		no_import
		list db
		decided 0 "is enrolled, in the firmware's db"
		rm -r "$m/sys/firmware"
		decided 1 "signed ($how), and without EFI" "start without $how"
		not grep -n 'mokutil' "$out"
		rm "$m"/var+lib+dkms/*
		sb_mode=--make-key decided 1 "without EFI"
		is "keys made" "$(ls "$m/var+lib+dkms")" ""
	done
}

variables_that_cannot_be_read()
{
	secure_machine
	rm "$m"/sys/firmware/efi/efivars/*
	decided 0 "as far as is known: /sys/firmware/efi/efivars is empty"
	echo "[none] integrity confidentiality" >"$m/sys/kernel/security/lockdown"
	decided 0 "modules need no signature"
	not grep -n 'as far as' "$out"
}

no_key_and_no_mokutil()
{
	secure_machine
	rm "$m"/var+lib+dkms/*
	decided 1 "DKMS has no key yet ($certificate)" "which makes one and says how to enrol it"
	no_import
	touch "$m/var+lib+dkms/mok.key"
	decided 1 "DKMS has a key without a certificate: /var/lib/dkms/mok.key" "move /var/lib/dkms/mok.key away"
	rm "$m/var+lib+dkms/mok.key"
	printf '#!/bin/sh\nexit 1\n' >"$m/bin/openssl"
	chmod +x "$m/bin/openssl"
	sb_mode=--make-key decided 1 "DKMS has no key, and none could be made" "apt-get install openssl"
	rm "$m/bin/openssl"
	cp "$scratch/certificate" "$m/var+lib+dkms/mok.pub"
	# With a PATH that has all that the script needs, and no mokutil
	mkdir "$scratch/path"
	ln -s /usr/bin/{sh,bash,cat,grep,od,tr,head,dirname,apt-get} "$scratch/path/"
	machine_path=$scratch/path decided 1 "without mokutil it cannot be told" "install mokutil; $again"
}

plan 9
tap "an enrolled key counts, unless its deletion waits" in_moklist
tap "a key in the firmware's db counts where the kernel takes it" in_db
tap "a key that was asked for is not asked for again" asked_for
tap "a blocked key does not count, wherever else it is" blocked
tap "a key that is nowhere is to be imported" nowhere
tap "each answer of mokutil has its sentence, and what is not known is said so" each_answer
tap "without Secure Boot an enrolled key does not count, and without EFI there is none" without_secure_boot
tap "EFI variables that cannot be read are told" variables_that_cannot_be_read
tap "no key, half a key, no openssl and no mokutil each have a remedy" no_key_and_no_mokutil
finish

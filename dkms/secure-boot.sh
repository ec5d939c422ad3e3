#!/bin/sh
# SPDX-License-Identifier: MIT
#
# secure-boot.sh - would a kernel take a module that DKMS signed on this machine?
#
# Usage: dkms/secure-boot.sh [--make-key | --tell]
#
# Exit status 0: yes. 1: no, or not known, and then amdgpu may not load at all; says why and what to
# do, on stderr. --make-key first makes DKMS's key if there is none yet, so that it can be enrolled
# before anything is built. DKMS calls this before it installs the module (PRE_INSTALL of
# dkms.conf), so do dkms/settle.sh and dkms/install.sh. --tell says on stdout why it is yes, too:
# gpreemptctl doctor.
set -eu
export LC_ALL=C

efi=/sys/firmware/efi
efivars=$efi/efivars
mode=${1:-}
would=would

# variables NAME: the firmware's, or shim's, of this name
variables()
{
	for variable in "$efivars/$1"-*; do
		[ ! -e "$variable" ] || echo "$variable"
	done
}

# flag NAME: value of a one-byte EFI variable; it comes after four bytes of attributes
flag()
{
	variables "$1" | while read -r variable; do
		od -An -t u1 -j 4 -N 1 "$variable" | tr -d ' '
	done
}

# bytes FILE: as one word
bytes()
{
	od -An -v -t x1 "$1" | tr -d ' \n'
}

# holds NAME: this list of the firmware's or of shim's has DKMS's certificate
holds()
{
	[ -s "$certificate" ] || return 1
	for variable in $(variables "$1"); do
		case $(bytes "$variable") in
		*"$(bytes "$certificate")"*) return 0 ;;
		esac
	done
	return 1
}

# enforcer: what has modules signed; nothing if nothing does. shim can be told not to validate, then
# the kernel does not either.
enforcer()
{
	if [ "$(flag SecureBoot)" = 1 ] && [ "$(flag SetupMode)" != 1 ] &&
	   [ "$(flag MokSBStateRT)" != 1 ]; then
		echo "Secure Boot"
	elif grep -qs -e '\[integrity\]' -e '\[confidentiality\]' /sys/kernel/security/lockdown; then
		echo lockdown
	elif [ "$(cat /sys/module/module/parameters/sig_enforce 2>/dev/null)" = Y ]; then
		echo module.sig_enforce
	fi
}

# db_counts: the kernels of this distribution take a module whose key is in the firmware's db. The
# mainline does not; these have a patch.
db_counts()
{
	# shellcheck disable=SC1091 # the machine's
	case $(. /etc/os-release >/dev/null 2>&1; echo "${ID:-}") in
	debian|ubuntu|fedora|rhel|centos|rocky|almalinux) return 0 ;;
	esac
	return 1
}

# yes WHY
yes()
{
	[ "$mode" != --tell ] || echo "$1"
	exit 0
}

# no WHY REMEDY...: a line each
no()
{
	{
		echo "kfd_gpreempt: error: modules have to be signed ($by), and $1"
		echo "  why:    the kernel $would refuse the new amdgpu, and the machine would have none"
		echo "  state:  nothing was installed; the kernel keeps the amdgpu module that it has"
		echo "  remedy: $2"
		shift 2
		[ $# = 0 ] || printf '          %s\n' "$@"
	} >&2
	exit 1
}

# unknown WHY REMEDY...: the same where it may well be that the kernel takes it
unknown()
{
	would=may
	no "it is not known whether the kernel knows $its_key: $1" "$2" \
		"if the kernel does know it, dkms install kfd_gpreempt/VERSION --force does not ask"
}

by=$(enforcer)
mount="mount -t efivarfs efivarfs $efivars"
if [ -z "$by" ] && [ -d "$efi" ] && [ -z "$(variables '*')" ] &&
   [ ! -e /sys/kernel/security/lockdown ]; then
	yes "modules need no signature, as far as is known: $efivars is empty ($mount)"
fi
[ -n "$by" ] || yes "modules need no signature"

if command -v apt-get >/dev/null; then
	installer="apt-get install"
	again="dpkg-reconfigure amdgpu-gpreempt-dkms (or make install)"
else
	installer="dnf install"
	again="dnf reinstall kfd_gpreempt-dkms (or make install)"
fi
# What has modules signed, and can be left out, where it is not the firmware's doing
case $by in
lockdown) leave_out="without lockdown= on the kernel's command line" ;;
*)	leave_out="without module.sig_enforce on the kernel's command line" ;;
esac

# Only what is built into the kernel counts there.
[ -d "$efi" ] ||
	no "without EFI there is no place where DKMS's key could be enrolled" \
		"start $leave_out, then $again"

# Where DKMS has its key, as its configuration says; the files of DKMS 3.0 are shell.
key=${mok_signing_key:-}
certificate=${mok_certificate:-}
for f in /etc/dkms/framework.conf /etc/dkms/framework.conf.d/*.conf; do
	[ -r "$f" ] || continue
	# shellcheck disable=SC1090 # the machine's
	key=$(. "$f" >/dev/null 2>&1; echo "${mok_signing_key:-$key}")
	# shellcheck disable=SC1090
	certificate=$(. "$f" >/dev/null 2>&1; echo "${mok_certificate:-$certificate}")
done
# Ubuntu's DKMS signs with the key of shim-signed, which has a program to make it.
maker=
# shellcheck disable=SC1091 # the machine's
if [ -z "$key" ] && (. /etc/os-release >/dev/null 2>&1 && [ "${ID:-}" = ubuntu ]); then
	key=/var/lib/shim-signed/mok/MOK.priv
	certificate=/var/lib/shim-signed/mok/MOK.der
	maker=update-secureboot-policy
fi
key=${key:-/var/lib/dkms/mok.key}
certificate=${certificate:-/var/lib/dkms/mok.pub}

if [ "$mode" = --make-key ] && [ ! -e "$certificate" ] && [ ! -e "$key" ] && [ -n "$maker" ]; then
	! command -v "$maker" >/dev/null || SHIM_NOTRIGGER=y "$maker" --new-key >/dev/null 2>&1 || true
elif [ "$mode" = --make-key ] && [ ! -e "$certificate" ] && [ ! -e "$key" ]; then
	(umask 077 && openssl req -new -x509 -nodes -days 36500 -subj "/CN=DKMS module signing key" \
		-newkey rsa:2048 -keyout "$key" -outform DER -out "$certificate" 2>/dev/null) ||
		rm -f "$key" "$certificate"
fi
its_key="DKMS's key $certificate"

# no_key: there is no certificate
no_key()
{
	[ ! -e "$key" ] ||
		no "DKMS has a key without a certificate: $key, but no $certificate" \
			"move $key away; then $again, which makes both anew and says how to enrol them"
	[ "$mode" != --make-key ] ||
		no "DKMS has no key, and none could be made ($certificate)" \
			"$installer openssl${maker:+ shim-signed};" \
			"see to it that $(dirname "$certificate") can be written to; then $again"
	no "DKMS has no key yet ($certificate)" \
		"$installer mokutil openssl; then $again," "which makes one and says how to enrol it"
}

# blocked WHERE: what it has signed is refused, wherever else it is enrolled
blocked()
{
	no "$its_key is blocked ($1)" "move $key and $certificate away;" \
		"then $again, which makes another key and says how to enrol it"
}

# enrolled: in shim's list, which a kernel reads only after Secure Boot
enrolled()
{
	[ "$by" = "Secure Boot" ] ||
		no "$its_key is enrolled, and Secure Boot is off: then the kernel does not read it" \
			"start $leave_out, or switch Secure Boot on in the firmware;" "then $again"
	! holds MokDel ||
		no "$its_key is enrolled, and its deletion waits for a reboot" \
			"mokutil --revoke-delete; then $again"
	yes "modules have to be signed, and $its_key is enrolled"
}

# in_db: in the firmware's own list
in_db()
{
	[ -z "$(variables MokIgnoreDB)" ] ||
		no "$its_key is in the firmware's db, which shim is told to ignore" \
			"mokutil --use-db; reboot and confirm; then $again"
	! db_counts || yes "modules have to be signed, and $its_key is enrolled, in the firmware's db"
	unknown "it is in the firmware's db, which some kernels take for modules, and others do not" \
		"look in the kernel's manual whether it takes modules signed by a key in db"
}

not_enrolled()
{
	[ "$by" = "Secure Boot" ] ||
		no "$its_key is not enrolled" "start $leave_out, then $again;" \
			"or switch Secure Boot on in the firmware and enrol the key: mokutil --import $certificate"
	set -- "$installer mokutil && mokutil --import $certificate;" \
		"reboot, enrol the key in the firmware's dialogue;" "then $again"
	# shim leaves a list there, whenever it starts a kernel.
	[ -n "$(variables MokListRT)" ] ||
		set -- "$@" "where no dialogue comes, shim does not start this machine: add the certificate" \
			"to the firmware's db"
	no "$its_key is not enrolled" "$@"
}

asked_for()
{
	no "$its_key is not enrolled yet: that was asked for, and is not confirmed" \
		"reboot, confirm in the firmware's dialogue: Enroll MOK, and the password;" "then $again" \
		"if the dialogue ends too soon: mokutil --timeout -1; where none comes, shim does not start" \
		"this machine: mokutil --revoke-import, and add the certificate to the firmware's db"
}

[ -e "$certificate" ] || no_key
command -v mokutil >/dev/null ||
	no "without mokutil it cannot be told whether the firmware knows $its_key" \
		"$installer mokutil; then $again"
# mokutil tells of the first list that has the key, and the kernel looks at these first.
! holds dbx || blocked "in the firmware's dbx"
! holds MokListXRT || blocked "in shim's MokListX"
said=$(mokutil --test-key "$certificate" 2>&1) || true
nl='
'
case $nl$said$nl in
*"$nl$certificate is already enrolled$nl"*) enrolled ;;
*"$nl$certificate is already in db$nl"*) in_db ;;
*"$nl$certificate is already in the built-in trusted keyring$nl"*)
	yes "modules have to be signed, and $its_key is built into the kernel" ;;
*"$nl$certificate is already in the enrollment request$nl"*) asked_for ;;
*"$nl$certificate is blocked in dbx$nl"*) blocked "in the firmware's dbx" ;;
*"$nl$certificate is blocked in MokListX$nl"*) blocked "in shim's MokListX" ;;
*"$nl$certificate is not enrolled$nl"*) not_enrolled ;;
*"${nl}CA of $certificate is already enrolled$nl"*)
	no "only the CA of $its_key is enrolled; for modules it is the key itself that counts" \
		"mokutil --import $certificate; reboot and confirm; then $again" ;;
*"${nl}CA of $certificate is blocked$nl"*) blocked "its CA is" ;;
*"${nl}Not a valid x509 certificate$nl"*)
	no "DKMS's certificate $certificate is none in DER, which is what mokutil and firmware take" \
		"openssl x509 -in $certificate -outform DER -out $certificate.der;" \
		"mok_certificate=$certificate.der in /etc/dkms/framework.conf; then $again" ;;
*"${nl}Failed to open $certificate$nl"*|*"${nl}Failed to read $certificate$nl"*)
	no "DKMS's certificate $certificate cannot be read" \
		"see to it that root can read it; then $again" ;;
*"${nl}EFI variables are not supported"*)
	unknown "mokutil cannot read the EFI variables" "$mount; then $again" ;;
*)	unknown "mokutil --test-key says '$(echo "$said" | head -n 1)'" \
		"mokutil --list-enrolled and mokutil --db list the keys; then $again" ;;
esac

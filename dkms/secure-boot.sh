#!/bin/sh
# SPDX-License-Identifier: MIT
#
# secure-boot.sh - would a kernel take a module that DKMS signed on this machine?
#
# Usage: dkms/secure-boot.sh [--make-key | --tell]
#
# Exit status 0: yes. 1: no, and then amdgpu could not be loaded at all; says why and what to do, on stderr. --make-key first makes DKMS's
# key if there is none yet, so that it can be enrolled before anything is built. DKMS calls this before it installs the module (PRE_INSTALL of
# dkms.conf), so do dkms/settle.sh and dkms/install.sh. --tell says on stdout why it is yes, too: gpreemptctl doctor.
set -eu
export LC_ALL=C

efivars=/sys/firmware/efi/efivars

# flag VARIABLE: value of a one-byte EFI variable; it comes after four bytes of attributes
flag()
{
	for variable in "$efivars/$1"-*; do
		[ ! -e "$variable" ] || od -An -t u1 -j 4 -N 1 "$variable" | tr -d ' '
	done
}

# Whether modules have to be signed. shim can be told not to validate, then the kernel does not either.
enforced()
{
	[ "$(cat /sys/module/module/parameters/sig_enforce 2>/dev/null)" != Y ] || return 0
	! grep -qs -e '\[integrity\]' -e '\[confidentiality\]' /sys/kernel/security/lockdown || return 0
	[ "$(flag SecureBoot)" = 1 ] && [ "$(flag MokSBStateRT)" != 1 ]
}

mode=${1:-}

# yes WHY
yes()
{
	[ "$mode" != --tell ] || echo "$1"
	exit 0
}

enforced || yes "modules need no signature"

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
	(umask 077 && openssl req -new -x509 -nodes -days 36500 -subj "/CN=DKMS module signing key" -newkey rsa:2048 \
		-keyout "$key" -outform DER -out "$certificate" 2>/dev/null) || rm -f "$key" "$certificate"
fi

if [ ! -e "$certificate" ]; then
	why="DKMS has no key yet ($certificate)"
elif ! command -v mokutil >/dev/null; then
	why="without mokutil it cannot be told whether the firmware knows DKMS's key"
elif mokutil --test-key "$certificate" 2>/dev/null | grep -q 'is already enrolled'; then
	yes "modules have to be signed, and DKMS's key $certificate is enrolled"
else
	why="DKMS's key $certificate is not enrolled"
fi
if command -v apt-get >/dev/null; then
	installer="apt-get install"
	again="dpkg-reconfigure amdgpu-gpreempt-dkms (or make install)"
else
	installer="dnf install"
	again="dnf reinstall kfd_gpreempt-dkms (or make install)"
fi
cat >&2 <<END
kfd_gpreempt: error: modules have to be signed (Secure Boot), and $why
  why:    the kernel would refuse the new amdgpu, and the machine would have none
  state:  nothing was installed; the kernel keeps the amdgpu module that it has
  remedy: $installer mokutil && mokutil --import $certificate; reboot, enrol the key in the firmware's dialogue;
          then $again
END
exit 1

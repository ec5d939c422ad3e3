#!/bin/bash
# SPDX-License-Identifier: MIT
#
# initramfs.sh - the images that a kernel boots with: make them anew, and say which amdgpu is in them
#
# Usage: dkms/initramfs.sh --make KVER | --tell [KVER...]
#
# --make has each image of the kernel made by what makes it on this system. Exit status 0: all of
# them are new. 1: a program failed. 3: one was not made, or none was found; says so on stderr, with
# the command of that system. An image counts as made when its file is another one than before.
#
# --tell, for gpreemptctl doctor: which amdgpu boots next, that of the root file system or one in an
# image? Of the kernel that runs and of the newest, if none is named. Exit status 0: the one that
# modprobe finds. 1: another one. 3: not known.
#
# Touches the images in /boot and in the ESP. What makes them touches more (kernel-install, hooks).
set -euo pipefail
export LC_ALL=C

me=kfd_gpreempt
esps="/boot /efi /boot/efi"

# first FILE...: the first of them that is there
first()
{
	local file

	for file; do
		[ ! -e "$file" ] || { echo "$file"; return; }
	done
}

# vmlinuz KVER
vmlinuz()
{
	first "/boot/vmlinuz-$1" "/lib/modules/$1/vmlinuz" "/boot/vmlinuz-linux"
}

# is_of KVER FILE: by its name, or as the kernel in it says
is_of()
{
	case ${2##*/} in
	"$1".efi|*-"$1".efi|"$1"+*.efi|*-"$1"+*.efi) return 0 ;;
	esac
	grep -aqwF -- "$1" "$2"
}

# presets KVER: those of mkinitcpio, by name
presets()
{
	local preset image

	for preset in /etc/mkinitcpio.d/*.preset; do
		[ -e "$preset" ] || continue
		# shellcheck disable=SC1090 # the machine's
		image=$(. "$preset" >/dev/null 2>&1; echo "${default_kver:-${ALL_kver:-}}")
		if [ "$image" = "$1" ] || { [ -f "$image" ] && grep -aqwF -- "$1" "$image"; }; then
			basename "$preset" .preset
		fi
	done
}

# images KVER: a line "SYSTEM FILE" for each
images()
{
	local kver=$1 esp file preset

	for file in "/boot/initrd.img-$kver" "/boot/initramfs-$kver.img" "/boot/initrd-$kver"; do
		[ ! -e "$file" ] || echo "initrd $file"
	done
	[ ! -e "/boot/booster-$kver.img" ] || echo "booster /boot/booster-$kver.img"
	for preset in $(presets "$kver"); do
		# shellcheck disable=SC1090 # the machine's
		(. "/etc/mkinitcpio.d/$preset.preset" >/dev/null 2>&1
		 for file in "${default_image:-}" "${default_uki:-}"; do
			[ ! -e "$file" ] || echo "mkinitcpio:$preset $file"
		 done)
	done
	for esp in $esps; do
		for file in "$esp"/*/"$kver"/{initrd*,*.img}; do
			[ ! -e "$file" ] || echo "kernel-install $file"
		done
		for file in "$esp"/EFI/Linux/*.efi; do
			[ ! -e "$file" ] || ! is_of "$kver" "$file" || echo "uki $file"
		done
	done | sort -u
}

has()
{
	command -v "$1" >/dev/null
}

# kernel_install_makes_ukis: kernel-install is set up for that
kernel_install_makes_ukis()
{
	grep -qs '^layout=uki' "$(first /etc/kernel/install.conf /run/kernel/install.conf \
		/usr/lib/kernel/install.conf)"
}

# command_for SYSTEM KVER FILE: what makes it here, as words; fails if nothing here does, and then
# says what would
command_for()
{
	local system=$1 kver=$2 file=$3

	case $system:$file in
	initrd:/boot/initrd.img-*)
		! has update-initramfs || { echo "update-initramfs -u -k $kver"; return 0; } ;;&
	initrd:*)
		! has dracut || { echo "dracut --force $file $kver"; return 0; }
		! has mkinitcpio || { echo "mkinitcpio -k $kver -g $file"; return 0; }
		! has booster || { echo "booster build --force --kernel-version $kver $file"; return 0; }
		! has mktirfs || { echo "mktirfs -o $file $kver"; return 0; }
		echo "dracut --force $file $kver (dracut), or update-initramfs -u -k $kver (initramfs-tools)" ;;
	booster:*)
		echo "booster build --force --kernel-version $kver $file"
		has booster && return 0 ;;
	mkinitcpio:*)
		echo "mkinitcpio -p ${system#*:}"
		has mkinitcpio && return 0 ;;
	kernel-install:*)
		echo "kernel-install add $kver $(vmlinuz "$kver")"
		has kernel-install && return 0 ;;
	uki:*)
		if has kernel-install && kernel_install_makes_ukis; then
			echo "kernel-install add $kver $(vmlinuz "$kver")"
			return 0
		fi
		echo "kernel-install add $kver, ukify build --uname=$kver --output=$file ... or" \
			"dracut --force --uefi --kver $kver, whichever made it" ;;
	esac
	return 1
}

# not_made KVER WHAT WHY COMMAND
not_made()
{
	{
		echo "$me: $1: $2"
		echo "  why:    $3"
		echo "  state:  if the image has an amdgpu in it, the next boot takes that one"
		echo "  remedy: $4"
	} >&2
}

# state FILE: another one after each time that it is written
state()
{
	stat -L -c '%i %s %y' "$1" 2>/dev/null || echo gone
}

# make KVER
make()
{
	local kver=$1 system file all command before status=0 made="" old

	all=$(images "$kver")
	if [ -z "$all" ]; then
		not_made "$kver" "no initramfs of it was found" \
			"there is none below $esps with its name" \
			"nothing, if it boots without one; else make it again with what makes it on this system"
		return 3
	fi
	# As they are before anything runs: one program may make several.
	before=$(while read -r system file; do echo "$file $(state "$file")"; done <<<"$all")
	while read -r system file; do
		# One of dracut has an amdgpu or not.
		case $file in
		/boot/initramfs-*) [ "$(amdgpus "$file" || echo unknown)" != "" ] || continue ;;
		esac
		old=$(grep -F -- "$file " <<<"$before" | head -n 1)
		if ! command=$(command_for "$system" "$kver" "$file"); then
			not_made "$kver" "$file was not made anew" "what makes it is not here, or not known" "$command"
			[ $status = 1 ] || status=3
			continue
		fi
		if [ "$file $(state "$file")" = "$old" ] && ! grep -qxF -- "$command" <<<"$made"; then
			made+="$command"$'\n'
			# shellcheck disable=SC2086 # words
			$command </dev/null || { status=1; echo "$me: $kver: failed: $command" >&2; continue; }
		fi
		if [ "$file $(state "$file")" = "$old" ]; then
			not_made "$kver" "$file was not made anew" "'$command' left it as it was" \
				"find out why (update_initramfs=no in its configuration?), then $command"
			[ $status = 1 ] || status=3
		fi
	done <<<"$all"
	return $status
}

# listing FILE: what is in an image; of a unified one, in the initramfs in it
listing()
{
	local part

	case $1 in
	*.efi)
		part=$(mktemp)
		objcopy -O binary --only-section=.initrd "$1" "$part" 2>/dev/null && listing "$part"
		rm -f "$part"
		return ;;
	esac
	! has lsinitramfs || lsinitramfs "$1" 2>/dev/null || true
	! has lsinitrd || lsinitrd "$1" 2>/dev/null || true
}

# amdgpus FILE: those in an image, below lib/modules/KVER; fails if it cannot be listed
amdgpus()
{
	local list

	list=$(listing "$1")
	grep -qE '(^|[ /])init$' <<<"$list" || return 1
	sed -n 's|.*lib/modules/[^/]*/\(.*/amdgpu\.ko\)[.a-z]*$|\1|p' <<<"$list" | sort -u
}

# tell_image KVER SYSTEM FILE PATH: does it hold the amdgpu of this path, or none?
tell_image()
{
	local found

	if ! found=$(amdgpus "$3"); then
		echo "$1: not known: $3 cannot be listed (lsinitramfs, lsinitrd)"
		return 3
	fi
	[ -n "$found" ] && [ "$found" != "$4" ] || return 0
	echo "$me: error: $1: ${found//$'\n'/ and }, as it is in $3; modprobe finds $4"
	echo "  remedy: $(command_for "$2" "$1" "$3" || true)"
	return 1
}

# tell KVER
tell()
{
	local kver=$1 path system file all whose=without said status=0 images=""

	path=$(modinfo -k "$kver" -n amdgpu 2>/dev/null) || return 0
	! modinfo -k "$kver" -F parm amdgpu 2>/dev/null | grep '^gpreempt_enable:' >/dev/null || whose=with
	path=${path#*/modules/"$kver"/}
	path=${path%.ko*}.ko
	all=$(images "$kver")
	if [ -z "$all" ]; then
		echo "$kver: $path, $whose $me, if it boots without an initramfs: none was found below $esps"
		return 3
	fi
	while read -r system file; do
		said=$(tell_image "$kver" "$system" "$file" "$path") && { images+=" $file"; continue; }
		[ $? = 3 ] && [ $status != 1 ] && status=3 || status=1
		echo "$said"
	done <<<"$all"
	[ $status != 0 ] || echo "$kver: $path, $whose $me; nothing else is in$images"
	return $status
}

case ${1:-} in
--make)
	make "${2:?--make needs a kernel}"
	;;
--tell)
	shift
	newest=$(find /lib/modules -mindepth 2 -maxdepth 2 -name kernel -printf '%h\n' 2>/dev/null | sort -V | tail -n 1)
	[ $# != 0 ] || set -- "$(uname -r)" "${newest##*/}"
	[ "${1-}" != "${2-}" ] || set -- "$1"
	status=0
	for kver; do
		[ -n "$kver" ] || continue
		one=0
		tell "$kver" || one=$?
		[ $status = 1 ] || [ $one = 0 ] || status=$one
	done
	exit $status
	;;
*)
	echo "$me: initramfs.sh: --make KVER or --tell, not '${1:-}'" >&2
	exit 2
	;;
esac

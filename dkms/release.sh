#!/bin/sh
# SPDX-License-Identifier: MIT
#
# release.sh - what something is called in this machine's release of Debian, by the table dkms/releases
#
# Usage: dkms/release.sh WHAT...	prints the cells of these rows, a line each
#        dkms/release.sh --supported	prints the releases that the table has, in one line
#
# OS_RELEASE is the file that says what the machine is (/etc/os-release). On a release that the table does not have
# it says so in one line and fails.
set -eu

table=$(dirname "$0")/releases
os_release=${OS_RELEASE:-/etc/os-release}

die()
{
	echo "release: $*" >&2
	exit 1
}

# cells WHAT: those of a row, without blanks around them and around bars
cells()
{
	sed -n "s/^$1[[:space:]]*|[[:space:]]*//p" "$table" | sed 's/[[:space:]]*|[[:space:]]*/|/g; s/[[:space:]]*$//'
}

releases=$(cells release | sed 's/|/ and /g')
if [ "${1:-}" = --supported ]; then
	echo "$releases"
	exit 0
fi

# of KEY: a line of os-release
of()
{
	sed -n "s/^$1=//p" "$os_release" 2>/dev/null | tr -d '"'
}

id=$(of ID)
version=$(of VERSION_ID)
column=
[ "$id" != debian ] || [ -z "$version" ] || column=$(cells release | tr '|' '\n' | grep -nxF "$version" | cut -d: -f1)
if [ -z "$column" ]; then
	name=$(of PRETTY_NAME)
	die "this is ${name:-no Debian system}, the names of packages are known for Debian $releases:" \
		"another release needs a column in dkms/releases"
fi

for what; do
	cell=$(cells "$what" | cut -d'|' -f"$column")
	[ -n "$cell" ] || die "the table dkms/releases has no '$what' for Debian $version"
	echo "$cell"
done

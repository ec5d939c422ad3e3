#!/bin/bash
# SPDX-License-Identifier: MIT
#
# releases.sh - the table dkms/releases names everything for each release of Debian, and it alone does (TAP)
#
# Reads the tree; writes to a scratch folder.
. "$(dirname "$0")/../tap.sh"
set -u
export LC_ALL=C

TOP=${TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
table=$TOP/dkms/releases
out=$scratch/out

# rows: the table without comments and without blanks around bars
rows()
{
	sed '/^#/d; /^[[:space:]]*$/d; s/[[:space:]]*|[[:space:]]*/|/g; s/[[:space:]]*$//' "$table"
}

mapfile -t releases < <(rows | sed -n 's/^release|//p' | tr '|' '\n')

# on RELEASE COMMAND...: as a machine with that release of Debian
on()
{
	printf '%s\n' ID=debian "VERSION_ID=\"$1\"" "PRETTY_NAME=\"Debian GNU/Linux $1\"" >"$scratch/os-release"
	OS_RELEASE=$scratch/os-release "${@:2}"
}

each_row_is_complete()
{
	rows | awk -F'|' -v n="${#releases[@]}" '
		NF != n + 1 { print "not one cell for each release: " $0; bad = 1 }
		{ for (i = 1; i <= NF; i++) if ($i == "") { print "an empty cell: " $0; bad = 1 } }
		seen[$1]++ { print "twice: " $1; bad = 1 }
		END { exit bad }'
	[ "${#releases[@]}" -ge 2 ]
}

# The packages of a release are those of all others, but for what the table says.
each_release_has_its_packages()
{
	local column=1 release cell

	for release in "${releases[@]}"; do
		column=$((column + 1))
		on "$release" "$TOP/tools/testing/deps.sh" --list >"$out"
		for row in kernel-headers kernel-source kernel-compiler rocm-device-libs; do
			cell=$(rows | awk -F'|' -v row=$row -v c=$column '$1 == row { print $c }')
			grep -qxF "$cell" "$out" || { echo "Debian $release: deps.sh does not install $cell"; return 1; }
		done
		for row in llvm fuzz-llvm; do
			cell=$(rows | awk -F'|' -v row=$row -v c=$column '$1 == row { print $c }')
			grep -qxF "clang-$cell" "$out" || { echo "Debian $release: deps.sh does not install clang-$cell"; return 1; }
		done
		not grep -nE '^$|-$|--' "$out"
	done
}

every_row_is_used()
{
	local row status=0

	cd "$TOP"
	for row in $(rows | cut -d'|' -f1); do
		[ "$row" != release ] || continue
		grep -rqE "(release\.sh\"?|named)( [a-z0-9-]+)* $row\b" dkms tools debian/rules || { echo "nobody asks for $row"; status=1; }
	done
	return $status
}

# Of what differs, no other file of code has a name. (debian/control has alternatives: the next test. gfx942 is a device as well.)
no_name_stands_elsewhere()
{
	cd "$TOP"
	rows | awk -F'|' '{
		for (i = 3; i <= NF && $i == $2; i++)
			;
		if ($1 == "release" || $1 == "package-lib" || i > NF)
			next
		for (i = 2; i <= NF; i++) {
			n = split($i, word, " ")
			for (w = 1; w <= n; w++)
				print $1 ~ /llvm$/ ? "(clang|lld|llvm|llvm-[a-z]+|libclang-rt)-" word[w] : word[w]
		}
	}' | sort -u | grep -vxE 'gfx942|prom.*' >"$scratch/names"
	[ "$(wc -l <"$scratch/names")" -gt 10 ] || { echo "too few names"; return 1; }
	# A longer name, as that of one kernel, is another one.
	sed 's/.*/(^|[^a-z0-9-])(&)([^a-z0-9.-]|$)/' "$scratch/names" >"$scratch/patterns"
	grep -rnE -f "$scratch/patterns" --exclude=releases --exclude='*.md' --exclude='*.rst' --exclude=releases.sh dkms tools integrations dist \
		Makefile dkms.conf >"$out" || true
	# These rows' names are names in a release. prometheus is that of a format and of users as well.
	grep -vE 'named (rocm-device-libs|promtool)' "$out" >"$scratch/found" || true
	[ ! -s "$scratch/found" ] || { cat "$scratch/found"; return 1; }
}

packages_name_each_release()
{
	local headers

	headers=$(rows | sed -n 's/^kernel-headers|//p' | sed 's/|/ | /g')
	has "$TOP/debian/control" " $headers,"
	has "$TOP/debian/tests/control" ", $headers"
}

# one_line TEXT...: the last command has failed and said one line that has these
one_line()
{
	local text

	is "lines" "$(wc -l <"$out")" 1
	for text; do
		has "$out" "$text"
	done
}

unknown_release_says_so()
{
	not on 99 "$TOP/tools/testing/deps.sh" >"$out" 2>&1
	one_line "this is Debian GNU/Linux 99" "for Debian ${releases[0]} and ${releases[1]}" "a column in dkms/releases"
	# A release that is not out yet has no number.
	printf '%s\n' ID=debian 'PRETTY_NAME="Debian GNU/Linux forky/sid"' >"$scratch/sid"
	not env OS_RELEASE="$scratch/sid" "$TOP/tools/testing/deps.sh" >"$out" 2>&1
	one_line "this is Debian GNU/Linux forky/sid"
	printf '%s\n' ID=ubuntu "VERSION_ID=${releases[0]}" 'PRETTY_NAME=Ubuntu' >"$scratch/other"
	not env OS_RELEASE="$scratch/other" "$TOP/tools/testing/deps.sh" >"$out" 2>&1
	one_line "this is Ubuntu"
	not env OS_RELEASE="$scratch/none" "$TOP/tools/testing/deps.sh" >"$out" 2>&1
	one_line "this is no Debian system"
}

# Not a part of a name, nor a name that is no row
unknown_row_says_so()
{
	for row in kernel kernel-head nothing; do
		not on "${releases[0]}" "$TOP/dkms/release.sh" $row >"$out" 2>&1
		one_line "has no '$row'"
	done
}

plan 7
tap "each row names something for each release" each_row_is_complete
tap "each release gets its own packages" each_release_has_its_packages
tap "every row is asked for" every_row_is_used
tap "no other file names what differs" no_name_stands_elsewhere
tap "the Debian packages name the headers of each release" packages_name_each_release
tap "an unknown release is told in one line, with what it needs" unknown_release_says_so
tap "an unknown row is told" unknown_row_says_so
finish

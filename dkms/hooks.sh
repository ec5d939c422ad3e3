#!/bin/bash
# SPDX-License-Identifier: MIT
#
# hooks.sh - put the hooks of kfd_gpreempt into amdkfd, by the places that hooks.list names
#
# Usage: dkms/hooks.sh [--series SERIES] [--check | --print] TREE
#        dkms/hooks.sh --series SERIES --files | --places | --proofs
#        dkms/hooks.sh --base | --supported | --trees | --compiled | --known
#        dkms/hooks.sh --series-of TREE
#
# TREE is a kernel's source, or one that has amdkfd elsewhere (AMD's driver package: amd/amdkfd).
# SERIES is that of TREE's Makefile, or of AMD's package (amd/dkms/configure.ac, dkms.conf); a tree
# with none of them needs --series. --series-of prints it. Without an option the files of TREE's
# amdkfd are changed: all of them, or none, if one hook has no place. --check changes nothing.
# --print neither, and prints what would be changed as a patch.
#
# --files: files with hooks. --places: FILE|PLACE of each. --proofs: FILE and what its object has to
# have. --supported: series of kernels that the scheduler is built for. --trees: series of AMD's
# package that it is built for. --compiled: series that it compiles for, and that it never ran with.
# --known: all of these, and series of which only the places are known. --base: the supported one
# that is meant where none is named.
#
# --check says as well which hooks of other series would have a place: one of them may be needed.
# Each hook that has no place is a line: hook, file, function, anchor, and what is wrong. Exit
# status: 0; 1 if a hook has no place, or hooks are there already; 2 if the command line or
# hooks.list is wrong.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
list=${HOOKS_LIST:-$here/hooks.list}

# die STATUS TEXT
die()
{
	echo "hooks: $2" >&2
	exit "$1"
}

# series_of KEYWORD...: those that hooks.list has under it, oldest first
series_of()
{
	local word

	for word; do
		sed -n "s/^${word}[ \t][ \t]*//p" "$list"
	done | sort -V
}

# about WHAT: what the list says of the series
about()
{
	awk -v series="$series" -v what="$1" -f "$here/hooks.awk" "$list"
}

# find_amdkfd TREE: its folder in the tree
find_amdkfd()
{
	local sub found

	for sub in drivers/gpu/drm/amd/amdkfd amd/amdkfd amdkfd; do
		if [ -e "$1/$sub/kfd_priv.h" ]; then
			echo "$sub"
			return
		fi
	done
	found=$(cd "$1" && find . -maxdepth 5 -path '*/amdkfd/kfd_priv.h' | sort)
	[ -n "$found" ] || die 1 "$1 has no amdkfd"
	[ "$(echo "$found" | wc -l)" = 1 ] || die 1 "$1 has more than one amdkfd: $(echo "$found" | tr '\n' ' ')"
	found=${found#./}
	echo "${found%/kfd_priv.h}"
}

# amd_version TREE: that of AMD's package: of its source, or, where that does not say it, of the package itself
amd_version()
{
	{
		sed -n 's/^AC_INIT(\[*amdgpu-dkms\]*,[ \t]*\[*\([0-9.]*\).*/\1/p' "$1/amd/dkms/configure.ac"
		grep -q '^PACKAGE_NAME="*amdgpu"*$' "$1/dkms.conf" && sed -n 's/^PACKAGE_VERSION="*\([0-9.]*\).*/\1/p' "$1/dkms.conf"
	} 2>/dev/null | sed -n '/[0-9]/{p;q}'
}

# tree_series TREE: what it says of itself
tree_series()
{
	local version

	version=$(amd_version "$1" | sed -n 's/^\([0-9]*\.[0-9]*\).*/amd-\1/p')
	if [ -n "$version" ]; then
		echo "$version"
		return
	fi
	awk -F' *= *' '$1 == "VERSION" { v = $2 } $1 == "PATCHLEVEL" { p = $2 }
		       END { if (v != "" && p != "") print v "." p }' "$1/Makefile" 2>/dev/null || true
}

series=
mode=apply
tree=
while [ $# -gt 0 ]; do
	case $1 in
	--series)	[ $# -ge 2 ] || die 2 "--series needs a value"; series=$2; shift ;;
	--check|--print|--files|--places|--proofs|--base|--supported|--trees|--compiled|--known|--series-of)
			mode=${1#--} ;;
	-h|--help)	sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
	-*)		die 2 "unknown argument '$1'" ;;
	*)		[ -z "$tree" ] || die 2 "one tree, not '$tree' and '$1'"; tree=$1 ;;
	esac
	shift
done

case $mode in
base)		series_of base; exit 0 ;;
supported)	series_of supports | grep -v '^amd-' || true; exit 0 ;;
trees)		series_of supports | grep '^amd-' || true; exit 0 ;;
compiled)	series_of compiles; exit 0 ;;
known)		series_of supports compiles knows; exit 0 ;;
files|places|proofs)	about "$mode"; exit 0 ;;
esac

known=$(series_of supports compiles knows | tr '\n' ' ')
known=${known% }
[ -n "$tree" ] || die 2 "which tree?"
[ -d "$tree" ] || die 2 "there is no folder '$tree'"
if [ "$mode" = series-of ]; then
	series=$(tree_series "$tree")
	[ -n "$series" ] || die 2 "$tree does not say of which series it is"
	echo "$series"
	exit 0
fi
if [ -z "$series" ]; then
	series=$(tree_series "$tree")
	[ -n "$series" ] || die 2 "$tree does not say of which series it is: --series, one of: $known"
fi
case " $known " in
*" $series "*)	;;
*)	die 1 "no hooks for the $series series; there are: $known" ;;
esac
sub=$(find_amdkfd "$tree")
amdkfd=$tree/$sub

there=$(grep -rli --include='*.[ch]' --include=Makefile gpreempt "$amdkfd" || true)
[ -z "$there" ] || die 1 "$amdkfd has hooks already: ${there%%$'\n'*} mentions them"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/new"
awk -v series="$series" -v what=place -v dir="$amdkfd" -v out="$scratch/new" -f "$here/hooks.awk" "$list"

files=$(about files)
for f in $files; do
	[ -s "$scratch/new/$f" ] || die 1 "$f with its hooks was not written"
done

# others: hooks that this series does not have, and that would have a place in this tree: is one forgotten?
others()
{
	local name first last file

	sed -n 's/^hook[[:space:]]*//p' "$list" | sort -u >"$scratch/all"
	about names | sort -u | comm -23 "$scratch/all" - | while read -r name; do
		sed -n "/^hook[[:space:]]*$name\$/=" "$list" | while read -r first; do
			last=$(awk -v first="$first" 'NR > first && /^hook/ { exit } NR >= first { last = NR } END { print last }' "$list")
			{ sed '/^hook/,$d' "$list"; sed -n "$first,${last}p" "$list" | sed "s/^series[[:space:]].*/series	$series/"; } >"$scratch/other"
			file=$(sed -n 's/^file[[:space:]]*//p' "$scratch/other")
			rm -rf "$scratch/other.new"
			mkdir "$scratch/other.new"
			if awk -v series="$series" -v what=place -v dir="$amdkfd" -v out="$scratch/other.new" -f "$here/hooks.awk" "$scratch/other" >/dev/null 2>&1; then
				echo "hook $name: $file: of $(sed -n "$first,${last}s/^series[[:space:]]*//p" "$list"); $series has none, and there is a place for it"
			fi
		done
	done
}

case $mode in
check)
	others
	exit 0
	;;
print)
	for f in $files; do
		diff -up --label "a/$sub/$f" --label "b/$sub/$f" "$amdkfd/$f" "$scratch/new/$f" || [ $? = 1 ]
	done
	exit 0
	;;
esac

# Beside the old ones first, where a full disk still changes nothing; names last.
made=()
drop()
{
	rm -rf "$scratch" ${made[@]+"${made[@]}"}
}
trap drop EXIT
for f in $files; do
	made+=("$amdkfd/$f.hooked")
	cp -p "$amdkfd/$f" "$amdkfd/$f.hooked"
	cat "$scratch/new/$f" >"$amdkfd/$f.hooked"
done
for f in $files; do
	mv "$amdkfd/$f.hooked" "$amdkfd/$f"
done

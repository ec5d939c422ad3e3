#!/bin/bash
# SPDX-License-Identifier: MIT
#
# source.sh - the scheduler's source is clean: checkpatch, sparse, kernel-doc, gcc with W=1; shellcheck for the scripts
#
# Reads the tree and the test build (its recorded commands); writes to a scratch folder and $GPREEMPT_CACHE: scripts, once per kernel
# source; clean, the names of what checkpatch found nothing in; ccache.
. "$(dirname "$0")/lib.sh"

built=$GPREEMPT_CACHE/amdgpu/$KVER/test
series=${KVER%%.*}.$(echo "$KVER" | cut -d. -f2)
tarball=/usr/src/linux-source-$series.tar.xz
clean=$GPREEMPT_CACHE/clean
scripts=$GPREEMPT_CACHE/scripts/$(stat -c %s-%Y "$tarball" 2>/dev/null || true)

# backend*.c are part of kfd_device_queue_manager.c.
units=()
for f in "$TOP"/kfd_gpreempt/*/*.c; do
	name=$(basename "$f" .c)
	[ "${name#backend}" != "$name" ] && units+=("$built/$AMD/amdkfd/.kfd_device_queue_manager.o.cmd") ||
		units+=("$built/$AMD/kfd_gpreempt/$(basename "$(dirname "$f")")/.$name.o.cmd")
done

fetch_scripts()
{
	[ -e "$tarball" ] || skip "$tarball is not installed"
	if [ ! -e "$scripts/checkpatch.pl" ]; then
		mkdir -p "$scripts.new"
		tar -C "$scripts.new" --strip-components=2 -xf "$tarball" "linux-source-$series"/scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch,kernel-doc}
		rm -rf "$scripts"
		mv "$scripts.new" "$scripts"
	fi
	[ -x "$scripts/checkpatch.pl" ]
}

# none FILE: prints it and fails unless it is empty
none()
{
	[ ! -s "$1" ] || { sed "s|$TOP/||; s|$built/$AMD/amdgpu/../||" "$1"; return 1; }
}

# run_checkpatch IGNORE FILE: but not twice on the same text, for it takes most of a second
run_checkpatch()
{
	local key

	key=$(cat "$scripts"/* "$2" | sha256sum - <(echo "$1 ${2##*/}") | sha256sum | cut -c1-64)
	[ ! -e "$clean/$key" ] || return 0
	perl "$scripts/checkpatch.pl" --no-tree --no-summary --terse --max-line-length=132 --ignore "$1" -f "$2" >"$scratch/found" || true
	cat "$scratch/found"
	[ -s "$scratch/found" ] || : >"$clean/$key"
}

# EMBEDDED_FILENAME: files here say first what they are. In hooks.h: macros that are members or conditions, or nothing.
# In tunables_table.h: rows, of which each use takes the columns that it needs. In compat.h: what differs between series.
checkpatch()
{
	fetch_scripts
	command -v perl >/dev/null || skip "perl is not installed"
	mkdir -p "$clean"
	find "$clean" -type f -mtime +30 -delete
	{
		for f in "$TOP"/kfd_gpreempt/{,*/}*.[ch] "$TOP"/dkms/*.c; do
			case $(basename "$f") in
			hooks.h) ;;
			trace.h) run_checkpatch EMBEDDED_FILENAME,COMPLEX_MACRO "$f" ;;
			tunables_table.h) run_checkpatch EMBEDDED_FILENAME,COMPLEX_MACRO,TRAILING_SEMICOLON,MACRO_ARG_UNUSED "$f" ;;
			compat.h) run_checkpatch EMBEDDED_FILENAME,LINUX_VERSION_CODE,CONSTANT_COMPARISON,MACRO_ARG_UNUSED "$f" ;;
			# It is the real-time threads of other nodes that get the CPU, which they share with it.
			monitor.c) run_checkpatch EMBEDDED_FILENAME,YIELD "$f" ;;
			*) run_checkpatch EMBEDDED_FILENAME "$f" ;;
			esac
		done
		run_checkpatch EMBEDDED_FILENAME,COMPLEX_MACRO,TRAILING_SEMICOLON,MACRO_ARG_UNUSED,SPACING \
			"$TOP/kfd_gpreempt/hooks.h"
	} >"$scratch/checkpatch" 2>&1
	none "$scratch/checkpatch"
}

checkpatch_hooks()
{
	fetch_scripts
	command -v perl >/dev/null || skip "perl is not installed"
	stock_source "$scratch/src"
	{
		printf '%s\n' "amdkfd: hooks of kfd_gpreempt" "" "As dkms/hooks.sh places them." ---
		"$TOP/dkms/hooks.sh" --series "$series" --print "$scratch/src"
	} >"$scratch/hooks.patch"
	perl "$scripts/checkpatch.pl" --no-tree --no-summary --terse --no-signoff "$scratch/hooks.patch" >"$scratch/checkpatch" 2>&1 || true
	none "$scratch/checkpatch"
}

kernel_doc()
{
	fetch_scripts
	command -v perl >/dev/null || skip "perl is not installed"
	perl "$scripts/kernel-doc" -none "$TOP"/kfd_gpreempt/{,*/}*.[ch] >"$scratch/kernel-doc" 2>&1 || true
	none "$scratch/kernel-doc"
}

# arguments CMD: what the compiler got for an object, without the output and the dependencies
arguments()
{
	recorded "$1" | sed 's/^[^ ]* //; s/ -c -o [^ ]*//'
}

# ours FILE: the warnings about our files
ours()
{
	grep -E '(\.\./|/amd/)kfd_gpreempt/[a-z_/]*\.[ch]:[^/]*: (warning|error):' "$1" || true
}

sparse_clean()
{
	local cmd

	command -v sparse >/dev/null || skip "sparse is not installed"
	cd "/lib/modules/$KVER/build"
	for cmd in "${units[@]}"; do
		eval "set -- $(arguments "$cmd")"
		# As kbuild calls it. What follows is what sparse cannot read, or what kbuild turns off.
		sparse -D__linux__ -Dlinux -D__STDC__ -Dunix -D__unix__ -Wbitwise -Wno-return-void -Wno-unknown-attribute -m64 \
			--arch=x86 "$@" 2>&1
	done >"$scratch/sparse" || true
	[ "${#units[@]}" -gt 0 ]
	ours "$scratch/sparse" | sort -u >"$scratch/sparse.ours"
	none "$scratch/sparse.ours"
}

# That the checks can fail: a file with one mistake for each goes the same way.
sparse_sees()
{
	command -v sparse >/dev/null || skip "sparse is not installed"
	cd "/lib/modules/$KVER/build"
	mkdir -p "$scratch/amd/kfd_gpreempt"
	printf '#include <linux/types.h>\nint *gpreempt_mistake(int __user *p);\nint *gpreempt_mistake(int __user *p)\n{\n\treturn p;\n}\n' \
		>"$scratch/amd/kfd_gpreempt/mistake.c"
	eval "set -- $(arguments "${units[0]}" | sed 's| [^ ]*\.c *$||')"
	sparse -D__linux__ -Wbitwise -m64 --arch=x86 "$@" "$scratch/amd/kfd_gpreempt/mistake.c" >"$scratch/sparse" 2>&1 || true
	[ -n "$(ours "$scratch/sparse")" ]
}

# W=1 as scripts/Makefile.extrawarn has it: kbuild itself would compile all of amdgpu again.
w1()
{
	local cmd ccache=

	! command -v ccache >/dev/null || ccache=ccache
	cd "/lib/modules/$KVER/build"
	for cmd in "${units[@]}"; do
		eval "set -- $(arguments "$cmd" | with_w1)"
		CCACHE_DIR=${CCACHE_DIR:-$GPREEMPT_CACHE/ccache} $ccache "${cc:-gcc}" "$@" -c -o "$scratch/w1.o" 2>&1
	done >"$scratch/w1" || true
	ours "$scratch/w1" | sort -u >"$scratch/w1.ours"
	none "$scratch/w1.ours"
	! grep -q 'fatal error' "$scratch/w1" || { cat "$scratch/w1"; return 1; }
}

# undocumented FILE NAME...: fails and tells which of the names no line of the file has as a word
undocumented()
{
	local file=$1 name status=0

	shift
	[ $# -gt 0 ] || { echo "no names for $file"; return 1; }
	for name; do
		grep -qw -- "$name" "$TOP/$file" || { echo "$file: nothing about $name"; status=1; }
	done
	return "$status"
}

# Nodes' files and modes are compared on a running system, by suite uapi.
documented()
{
	local abi=Documentation/ABI/testing header=$TOP/include/uapi/linux/kfd_gpreempt.h parameters status=0

	parameters=$(modinfo -F parm "$built/$AMD/amdgpu/amdgpu.ko" | sed -n 's/^\(gpreempt_[a-z_]*\):.*/\1/p' | sort -u)
	# shellcheck disable=SC2086 # words
	undocumented $abi/sysfs-module-amdgpu-gpreempt $parameters || status=1
	# shellcheck disable=SC2046
	undocumented Documentation/tunables.rst $(echo "$parameters" | sed 's/^gpreempt_//') || status=1
	# shellcheck disable=SC2046
	undocumented $abi/sysfs-class-kfd-proc-gpreempt \
		$(sed -n 's/^QUEUE_ATTRIBUTE(\([a-z_]*\),.*/\1/p' "$TOP/kfd_gpreempt/control/queue_sysfs.c") || status=1
	"$TOP/Documentation/tunables.py" --check || status=1
	# shellcheck disable=SC2046
	undocumented Documentation/uapi.rst $(sed -n 's/^#define AMDKFD_IOC_\([A-Z_]*\).*/AMDKFD_IOC_\1/p' "$header") \
		$(sed -n 's/^#define GPREEMPT_IOC_\([A-Z_]*\).*/GPREEMPT_IOC_\1/p' "$header") \
		$(grep -oE '^[[:space:]]*(#define )?GPREEMPT_(SCOPE|PARAM|HOLD)_[A-Z_]*' "$header" | grep -oE 'GPREEMPT_[A-Z_]*' | sort -u) ||
		status=1
	pages_are_there || status=1
	return "$status"
}

# README.md has no table of its own: it names the page that has it.
pages_are_there()
{
	local page pages status=0

	pages=$(grep -oE '\]\([^)#]+' "$TOP/README.md" | cut -c3-)
	[ "$(echo "$pages" | wc -l)" -gt 10 ] || { echo "README.md: no links"; return 1; }
	for page in $pages; do
		[ -e "$TOP/$page" ] || { echo "README.md: there is no $page"; status=1; }
	done
	return "$status"
}

# Sizes of structures and places of members, for both widths. One more than it is: no zeroes, which compilers sum up.
same_layout()
{
	local m probe=$scratch/layout.c

	{
		echo '#include <stddef.h>'
		echo '#include <linux/kfd_gpreempt.h>'
		echo 'const unsigned long layout[] = {'
		sed -n 's/^struct \([a-z_]*\) {$/\1/p' "$TOP/include/uapi/linux/kfd_gpreempt.h" |
			sed 's/.*/\tsizeof(struct &),/'
		awk '/^struct [a-z_]+ \{$/ { s = $2 }
			/^};/ { s = "" }
			s && /^\t.*;/ { name = $0; sub(/;.*/, "", name); sub(/\[.*/, "", name); sub(/.*[ \t]/, "", name)
				printf "\toffsetof(struct %s, %s) + 1,\n", s, name }' "$TOP/include/uapi/linux/kfd_gpreempt.h"
		echo '};'
	} >"$probe"
	for m in 32 64; do
		"${cc:-gcc}" -m$m -ffreestanding -fno-pic -I"$TOP/include/uapi" -isystem "/usr/include/$(uname -m)-linux-gnu" -S \
			-o "$scratch/layout.$m" "$probe" 2>"$scratch/layout.log" || { cat "$scratch/layout.log"; return 1; }
		sed -n 's/^[[:space:]]*\.\(long\|quad\)[[:space:]]*//p' "$scratch/layout.$m" >"$scratch/numbers.$m"
	done
	[ "$(wc -l <"$scratch/numbers.64")" -gt 50 ] || { echo "too few members"; return 1; }
	diff "$scratch/numbers.32" "$scratch/numbers.64"
}

shell_clean()
{
	command -v shellcheck >/dev/null || skip "shellcheck is not installed"
	cd "$TOP"
	shellcheck -S warning -x -P tools/testing/package dkms/*.sh tools/testing/package/*.sh
}

built_now()
{
	"$TOP/dkms/build.sh" --kver "$KVER" --flavour test
	for cmd in "${units[@]}"; do
		[ -e "$cmd" ] || { echo "never compiled: $cmd"; return 1; }
	done
	cc=$(sed -n '1s/^savedcmd_[^ ]* := //p' "${units[0]}" | sed 's/^ccache //; s/ .*//')
	is "compiler" "$(command -v "$cc" >/dev/null && echo there)" there
}

# security_tests PAGE: what stands in the third cells of its tables, and "row N" for a row without a test
security_tests()
{
	python3 - "$1" <<-'END'
		import re, sys
		cell, heading, counts, rows = 0, True, False, []
		for line in open(sys.argv[1]):
		    if line.startswith("   * - "):
		        cell = 1
		        rows.append([])
		    elif line.startswith("     - "):
		        cell += 1
		    elif line.startswith(".. list-table::"):
		        heading = True
		    elif not line.startswith("       "):
		        cell = 0
		    if cell == 3 and heading:
		        counts = line.split() == ["-", "test"]
		        rows.pop()              # that of the headings
		        cell, heading = 0, False
		    elif cell == 1 and not counts and not heading and line.startswith("   * - "):
		        rows.pop()              # a table without tests, which names them elsewhere
		    elif cell == 3 and counts:
		        rows[-1] += re.findall(r"``([a-z0-9_]+)``", line)
		for number, tests in enumerate(rows):
		    print("\n".join(tests) if tests else f"row {number}")
	END
}

# A test's name follows the word that makes it one, or is what a program or script prints.
security_tests_exist()
{
	local page=${1:-$TOP/Documentation/security.rst} name

	security_tests "$page" >"$scratch/tests"
	[ "$(wc -l <"$scratch/tests")" -gt 40 ] || { echo "no tables were found"; return 1; }
	while read -r name; do
		grep -rqE "(TEST|BOTH|TEST_F[A-Z_]*)\(([a-z_]+, )?$name\b|\"[^\"]*\b$name\b|^(tap|must) .*\b$name\b" "$TOP/tools/testing" \
			--include='*.c' --include='*.sh' || echo "$name: there is no such test"
	done <"$scratch/tests" >"$scratch/unknown"
	none "$scratch/unknown"
}

security_tests_are_missed()
{
	sed 's/own_holds_earn_nothing/own_holds_earn_something/' "$TOP/Documentation/security.rst" >"$scratch/security.rst"
	not security_tests_exist "$scratch/security.rst"
	sed 's/``gws_is_no_exemption``, ``gws_queue_yields_like_any_other``/by the way it is/' "$TOP/Documentation/security.rst" >"$scratch/security.rst"
	not security_tests_exist "$scratch/security.rst"
}

# vgpu_alone [FOLDER]: the virtual GPU has no word of the scheduler, but for a line in the README about who uses it, and needs no file
# of this tree beside it, but for the help of a ccache
vgpu_alone()
{
	local folder=${1:-$TOP/tools/vgpu} file name

	[ -e "$folder/model/model.h" ] || { echo "no virtual GPU in $folder"; return 1; }
	{
		grep -rniI gpreempt "$folder" --exclude=README.md
		[ "$(grep -ci gpreempt "$folder/README.md")" = 1 ] || echo "README.md: not one line that names the project"
		grep -rnI 'tools/testing\|selftests' "$folder" --exclude=README.md | grep -v -- '-include.*/ccache\.mk$'
		grep -roIE '#include "\.\./[^"]*' "$folder" | while IFS=: read -r file name; do
			case $(realpath -m "$(dirname "$file")/${name#*\"}") in
			"$(realpath "$folder")"/*) ;;
			*) echo "$file: $name" ;;
			esac
		done
	} >"$scratch/vgpu" || true
	none "$scratch/vgpu"
}

# mistaken FILE TEXT: the line in a copy of the file is seen
mistaken()
{
	rm -rf "$scratch/copy"
	cp -r "$TOP/tools/vgpu" "$scratch/copy"
	echo "$2" >>"$scratch/copy/$1"
	not vgpu_alone "$scratch/copy"
}

vgpu_mistakes_are_seen()
{
	mistaken main.c '/* the names of the monitor begin with kfd_gpreempt_ */'
	mistaken README.md 'gpreemptctl is there, too'
	mistaken model/cp.c '#include "../../testing/host/tap.h"'
	mistaken guest/init '. tools/testing/lib.sh'
}

# The walks of design.rst: each function is in the file that is named, at most twelve stops, no file twice with another in between.
walks_hold()
{
	python3 - "${1:-$TOP/Documentation/design.rst}" "$TOP/kfd_gpreempt" >"$scratch/walks" <<-'END'
		import glob, os, re, sys
		page, folder = sys.argv[1:]
		walks, before = [], ""
		for line in open(page):
		    stop = re.match(r"\d+\. ``(\w+)\(\)`` \((?:``([\w.]+)``|amdkfd)\)", line)
		    if re.fullmatch(r"-+\n", line):
		        walks.append((before.strip(), []))
		    elif stop and walks:
		        walks[-1][1].append(stop.groups())
		    before = line
		walks = [w for w in walks if w[1]]
		if len(walks) != 3:
		    print(f"{len(walks)} walks were found")
		for title, stops in walks:
		    if not 5 <= len(stops) <= 12:
		        print(f"{title}: {len(stops)} stops")
		    files = [f for _, f in stops if f]
		    left = [f for i, f in enumerate(files) if f in files[:i] and f != files[i - 1]]
		    if left:
		        print(f"{title}: comes back to {', '.join(left)}")
		    for name, file in stops:
		        found = glob.glob(os.path.join(folder, "**", file or "-"), recursive=True)
		        path = found[0] if found else ""
		        if file and not (os.path.exists(path) and re.search(rf"\b{name}\(", open(path).read())):
		            print(f"{title}: no {name}() in {file}")
	END
	none "$scratch/walks"
}

walks_are_missed()
{
	sed 's/^\([0-9]*\. ``gpreempt_policy_\)decide/\1decides/' "$TOP/Documentation/design.rst" >"$scratch/design.rst"
	not walks_hold "$scratch/design.rst"
}

# The tests of the policy run by tap.c in user space, and by kunit.c in a kernel that is seldom built. Both have what tap.h declares;
# tap_end() is for programs in user space that leave something behind.
kunit_has_all()
{
	local tests=$TOP/tools/testing/host runner=${1:-$TOP/tools/testing/kunit/kunit.c} f

	sed -n 's/^[a-z].*\<\(tap_[a-z]*\)(.*/\1/p' "$tests/tap.h" | grep -vx tap_end >"$scratch/declared"
	[ "$(wc -l <"$scratch/declared")" -ge 7 ]
	while read -r f; do
		grep -q "^[a-z].*\<$f(.*)\$" "$runner" "$tests/core/policy/policy_node.c" || echo "no $f()"
	done <"$scratch/declared" >"$scratch/absent"
	none "$scratch/absent"
}

kunit_misses_are_seen()
{
	sed 's/^void tap_renew(/void tap_anew(/' "$TOP/tools/testing/kunit/kunit.c" >"$scratch/kunit.c"
	not kunit_has_all "$scratch/kunit.c"
}

# licences [FOLDER]: each file that can have one has an SPDX line, and the text is in LICENSES. There are none in JSON, in what is part
# of another file (patches), in formats of the kernel's and of Debian's that have no comments, and in texts of licences.
licences()
{
	local name

	cd "${1:-$TOP}"
	git -C "$TOP" ls-files 2>/dev/null |
		grep -vE '\.(json|json\.in|patch)$|^LICENSES/|^Documentation/ABI/|^debian/(changelog|copyright|source/format|[^/]*\.dkms)$' >"$scratch/files"
	[ -s "$scratch/files" ] || skip "no git"
	while read -r f; do
		[ ! -s "$f" ] || head -n 4 "$f" | grep -q 'SPDX-License-Identifier' || echo "$f"
	done <"$scratch/files" >"$scratch/without"
	none "$scratch/without" || return 1
	for name in $(xargs -d '\n' -a "$scratch/files" sed -n 's/.*SPDX-License-Identifier: *\([A-Za-z0-9.-]*\).*/\1/p' 2>/dev/null | sort -u); do
		[ -e "$TOP/LICENSES/$name" ] || { echo "no LICENSES/$name"; return 1; }
	done
}

licences_are_missed()
{
	mkdir "$scratch/without-licence"
	echo "a page" >"$scratch/without-licence/README.md"
	not licences "$scratch/without-licence" >/dev/null
}

plan 20
tap "checkpatch finds nothing in the scheduler" checkpatch
tap "checkpatch finds nothing in the hooks" checkpatch_hooks
tap "kernel-doc finds nothing" kernel_doc
tap "shellcheck finds nothing" shell_clean
tap "every file names a licence whose text is there" licences
tap "a file without one would be missed" licences_are_missed
tap "structures are the same for 32 and 64 bits" same_layout
must "every source of the scheduler is compiled" built_now
cc=$(sed -n '1s/^savedcmd_[^ ]* := //p' "${units[0]}" | sed 's/^ccache //; s/ .*//')
tap "every parameter, file and command is documented" documented
tap "each test that security.rst names is there, and each row names one" security_tests_exist
tap "a test that is not there would be missed" security_tests_are_missed
tap "the walks of design.rst name functions that exist, and come back to no file" walks_hold
tap "a walk to a function that is not there would be missed" walks_are_missed
tap "the virtual GPU knows nothing of the scheduler" vgpu_alone
tap "if it did, that would be seen" vgpu_mistakes_are_seen
tap "KUnit has what the tests of the policy call" kunit_has_all
tap "what it has not would be missed" kunit_misses_are_seen
tap "sparse finds nothing" sparse_clean
tap "sparse would find a mistake" sparse_sees
tap "gcc finds nothing with W=1" w1
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# hooks.sh - dkms/hooks.sh puts hooks where the list says, or nowhere and says why
#
# Small trees that are made here, with a list of their own (HOOKS_LIST), and the stock source of the
# test build with the real list. Compiles nothing.
. "$(dirname "$0")/lib.sh"

series=${KVER%%.*}.$(echo "$KVER" | cut -d. -f2)
tool=$TOP/dkms/hooks.sh
out=$scratch/out
list=$scratch/list
tree=$scratch/tree
kfd=$tree/$AMD/amdkfd

# list_of STANZA...: a list with these; a stanza is "NAME@FILE@PLACE@ANCHOR@LINE@LINE..."
list_of()
{
	local stanza

	printf 'supports 9.1\nknows 9.2\n' >"$list"
	for stanza; do
		stanza=$stanza awk 'BEGIN {
			n = split(ENVIRON["stanza"], f, "@")
			printf "\nhook %s\nfile %s\nin %s\n%s\n", f[1], f[2], f[3], f[4]
			for (i = 5; i <= n; i++)
				print "+" f[i]
			print "why w\nlocks l\nproof link" }' >>"$list"
	done
}

# tree_of: the folders, and a Makefile that says 9.1; b.c on stdin
tree_of()
{
	rm -rf "$tree"
	mkdir -p "$kfd"
	printf 'VERSION = 9\nPATCHLEVEL = 1\nSUBLEVEL = 3\n' >"$tree/Makefile"
	printf 'A := b.o\nifeq ($(X),y)\nA += c.o\nendif\n' >"$kfd/Makefile"
	printf '#ifndef KFD_PRIV_H\n#define KFD_PRIV_H\n#include "one.h"\n#endif\n' >"$kfd/kfd_priv.h"
	cat >"$kfd/b.c"
}

hooks()
{
	HOOKS_LIST=$list "$tool" "$@"
}

# placed EXPECTED: b.c becomes that
placed()
{
	hooks "$tree"
	diff -u "$1" "$kfd/b.c"
}

# refuses STATUS TEXT...: it ends so, says all of that, and has changed nothing
refuses()
{
	local want=$1 got=0 before

	shift
	before=$(cd "$tree" && find . -type f -exec sha256sum {} + | sort)
	hooks "$tree" >"$out" 2>&1 || got=$?
	is "status" "$got" "$want"
	while [ $# -gt 0 ]; do
		has "$out" "$1"
		shift
	done
	is "the tree" "$(cd "$tree" && find . -type f -exec sha256sum {} + | sort)" "$before"
}

# in_f ANCHOR: one hook into f() of b.c
in_f()
{
	list_of "x@b.c@f()@$1@	GPREEMPT;"
}

every_kind()
{
	list_of 'file-end@b.c@file@at end@@#include "gpreempt.c"' 'include@kfd_priv.h@file@after #include "one.h"@#include "gpreempt.h"' \
		"make@Makefile@file@at end@@include gpreempt" "member@b.c@struct s@at end@	GPREEMPT_S" \
		"inner@b.c@struct s@after int a;@	GPREEMPT_A" "object@b.c@object ops@at end@	GPREEMPT_O," \
		"macro@b.c@define ACTIVE@extend !(q).off@ GPREEMPT_M(q)" "first@b.c@f()@before one(x);@	gpreempt_first();@" \
		"loop@b.c@f()@after for (i = 0; i < 3; i++) {@		gpreempt_loop();" \
		"between@b.c@f()@after say(...);@	gpreempt_between();" "or@b.c@f()@extend a && b@ && gpreempt_or(x)" \
		"row@b.c@f()@extend (c) ||@	    gpreempt_row(x) ||" "last@b.c@f()@before-last return 0;@	gpreempt_last();@"
	tree_of <<'END'
struct s {
	int a;
	int b;
};
#define ACTIVE(q) (!(q).on && \
		   !(q).off)
int f(int x)
{
	if (x < 0)
		return 0;
	one(x);
	for (i = 0; i < 3; i++) {
		two();
	}
	say("text %d; }", x,
	    (x + 1));
	if (a && b)
		three();
	if ((c) ||
	    (d))
		four();

	return 0;
}
static const struct ops ops = {
	.f = f,
};
END
	cat >"$scratch/want" <<'END'
struct s {
	int a;
	GPREEMPT_A
	int b;
	GPREEMPT_S
};
#define ACTIVE(q) (!(q).on && \
		   !(q).off GPREEMPT_M(q))
int f(int x)
{
	if (x < 0)
		return 0;
	gpreempt_first();

	one(x);
	for (i = 0; i < 3; i++) {
		gpreempt_loop();
		two();
	}
	say("text %d; }", x,
	    (x + 1));
	gpreempt_between();
	if (a && b && gpreempt_or(x))
		three();
	if ((c) ||
	    gpreempt_row(x) ||
	    (d))
		four();

	gpreempt_last();

	return 0;
}
static const struct ops ops = {
	.f = f,
	GPREEMPT_O,
};

#include "gpreempt.c"
END
	cp -r "$tree" "$scratch/stock"
	hooks --check "$tree"
	diff -r "$scratch/stock" "$tree"
	hooks --print "$tree" >"$scratch/patch"
	diff -r "$scratch/stock" "$tree"
	placed "$scratch/want"
	is "header" "$(sed -n 4p "$kfd/kfd_priv.h")" '#include "gpreempt.h"'
	is "Makefile" "$(tail -n 1 "$kfd/Makefile")" "include gpreempt"
	is "files changed" "$(diff -rq "$scratch/stock" "$tree" | wc -l)" 3
	# What --print says is what is done.
	patch -s -p1 -F0 -d "$scratch/stock" <"$scratch/patch"
	diff -r "$scratch/stock" "$tree"
}

twice()
{
	in_f "after one();"
	tree_of <<<$'int f(void)\n{\n\tone();\n}'
	hooks "$tree"
	refuses 1 "has hooks already" "b.c"
	grep -v GPREEMPT "$kfd/b.c" >"$scratch/b.c"
	cp "$scratch/b.c" "$kfd/b.c"
	hooks --check "$tree"
}

gone()
{
	in_f "after one();"
	tree_of <<<$'int f(void)\n{\n\ttwo();\n}\nint g(void)\n{\n\tone();\n}'
	refuses 1 'hook x: b.c: f(): "after one();" is gone'
	tree_of <<<$'int f(void);\nint g(void)\n{\n\tf(one());\n\tone();\n}'
	refuses 1 'hook x: b.c: f() is gone'
	tree_of <<<$'int g(void)\n{\n\tf(a) {\n\t\tone();\n\t}\n}'
	refuses 1 'hook x: b.c: f() is gone'
	rm "$kfd/b.c"
	refuses 1 "hook x: b.c: there is no such file"
	list_of "x@b.c@struct s@at end@	GPREEMPT"
	tree_of <<<$'struct t {\n\tint a;\n};\nstruct s;'
	refuses 1 "hook x: b.c: struct s is gone"
}

ambiguous()
{
	in_f "after one();"
	tree_of <<<$'int f(void)\n{\n\tone();\n\ttwo();\n\tone();\n}'
	refuses 1 'f(): "after one();" is there 2 times (lines 3, 5)'
	in_f $'after one();\nbefore three();'
	refuses 1 '"after one();" before "three();" is gone'
	in_f $'after one();\nbefore two();'
	hooks "$tree"
	is "line 4" "$(sed -n 4p "$kfd/b.c")" "	GPREEMPT;"
	in_f "after one();"
	tree_of <<<$'#ifdef A\nint f(int a)\n{\n\tone();\n}\n#else\nint f(void)\n{\n\tone();\n}\n#endif'
	refuses 1 "f() is there 2 times (lines 2, 7)"
}

# One hook of two has no place: neither is written, in whatever file. Nor if writing fails half way.
all_or_nothing()
{
	list_of "good@kfd_priv.h@file@after #include \"one.h\"@#include \"gpreempt.h\"" "bad@b.c@f()@after one();@	GPREEMPT;" "worse@b.c@g()@after one();@	GPREEMPT;"
	tree_of <<<$'int f(void)\n{\n\ttwo();\n}'
	refuses 1 "hook bad: b.c: f()" "hook worse: b.c: g() is gone"
	is "lines of errors" "$(wc -l <"$out")" 2
	tree_of <<<$'int f(void)\n{\n\tone();\n}\nint g(void)\n{\n\tone();\n}'
	mkdir -p "$scratch/bin"
	printf '#!/bin/sh\ncase $* in *b.c*) exit 1 ;; esac\nexec /bin/cp "$@"\n' >"$scratch/bin/cp"
	chmod +x "$scratch/bin/cp"
	PATH=$scratch/bin:$PATH refuses 1
	is "left over" "$(find "$tree" -name '*.hooked')" ""
	hooks "$tree"
}

text_is_no_code()
{
	in_f "after one ( ) ;"
	tree_of <<'END'
int f(void);	/* int f(void) { one(); } */
#define CALL int f(void) { one(); }
int g(void) { return f(1) ? '{' : '"'; }
const char *text = "int f(void) {\
	one(); \" }";
// int f(void) { one(); } \
   }
/* {
int f(void)
{ */
static int __must_check
f(int (*a)(void), const char *b) __acquires(lock)
{
	/* one(); } */
	// one(); }
	char c = '}', d = '\'';

	log("one(); } \" }");
	if (a) { {
		one
		  (	) /* here */
		  ; /* and
		       on */
	} }
}
int h(void)
{
	one();
}
END
	sed '/and$/{n;s/$/\n\tGPREEMPT;/}' "$kfd/b.c" >"$scratch/want"
	is "lines to come" "$(diff "$kfd/b.c" "$scratch/want" | grep -c '^>')" 1
	placed "$scratch/want"
}

conditional()
{
	in_f "after one();"
	tree_of <<<$'int f(void)\n{\n#ifdef CONFIG_X\n\tone();\n#endif\n}'
	refuses 1 'hook x: b.c: f(): "one();" is in "#ifdef CONFIG_X" (line 4)'
	tree_of <<<$'int f(void)\n{\n#ifdef CONFIG_X\n\ttwo();\n#else\n\tone();\n#endif\n}'
	refuses 1 'is in "#else of #ifdef CONFIG_X"'
	tree_of <<<$'#if CONFIG_X\nint f(void)\n{\n\tone();\n}\n#endif'
	refuses 1 'f() is in "#if CONFIG_X"'
	tree_of <<<$'int f(void)\n{\n#ifdef X\n\tif (a) {\n#else\n\tif (b) {\n\tif (c) {\n#endif\n\tone();\n\t}\n}'
	refuses 1 "branches of an #if end with different braces (line 8)"
	# Both branches open the same: that is in order.
	tree_of <<<$'int f(void)\n{\n#ifdef X\n\tif (a) {\n#else\n\tif (b) {\n#endif\n\t\ttwo();\n\t}\n\tone();\n}\nint g(void)\n{\n\tone();\n}'
	hooks "$tree"
	is "line 11" "$(sed -n 11p "$kfd/b.c")" "	GPREEMPT;"
	list_of "x@b.c@file@at end@#include \"gpreempt.c\""
	tree_of <<<$'#ifdef X\nint a;'
	refuses 1 "hook x: b.c: the file ends inside"
	list_of "x@kfd_priv.h@file@after #include \"one.h\"@#include \"gpreempt.h\""
	sed -i 's/^#include/#ifdef X\n&/; $s/$/\n#endif/' "$kfd/kfd_priv.h"
	refuses 1 'is in "#ifdef X"'
	# The first line of a source is no guard of a header if nothing defines it.
	in_f "after one();"
	tree_of <<<$'#ifndef X\nint f(void)\n{\n\tone();\n}\n#endif'
	refuses 1 'f() is in "#ifndef X"'
	list_of "x@Makefile@file@at end@include gpreempt"
	printf 'ifdef X\nA := b.o\n' >"$kfd/Makefile"
	refuses 1 "hook x: Makefile: the file ends inside"
	list_of "x@b.c@struct s@at end@	GPREEMPT"
	tree_of <<<$'struct s {\n\tint a;\n#ifdef X\n\tint b;\n#endif\n};'
	refuses 1 "struct s: its last member is in an #if"
}

statement()
{
	in_f "after one();"
	tree_of <<<$'int f(void)\n{\n\tif (a)\n\t\tone();\n\telse\n\t\ttwo();\n}'
	refuses 1 '"one();" is not a statement of its own (line 4)'
	in_f "after if (a) one();"
	refuses 1 'a statement does not end with "if (a) one();"'
	in_f "after if (a)"
	refuses 1 'a statement does not end with "if (a)"'
	in_f "after a = one("
	tree_of <<<$'int f(void)\n{\n\ta = one(b);\n\ttwo(); three();\n\tfor (;;\n\t     four())\n\t\t;\nout:\n\tfive();\n\treturn 0;\n}'
	refuses 1 "a statement does not end with"
	in_f "after for (;;"
	refuses 1 "a statement does not end with"
	in_f "before three();"
	refuses 1 '"three();" does not begin its line (line 4)'
	in_f "after two();"
	refuses 1 '"two();" does not end its line (line 4)'
	in_f "before four()"
	refuses 1 '"four()" is not a statement of its own'
	in_f "before five();"
	refuses 1 '"five();" is not a statement of its own (line 9)'
	in_f "before-last five();"
	refuses 1 '"before-last five();" is gone'
	in_f "before-last return 0;"
	hooks "$tree"
	in_f "before one();"
	tree_of <<<$'int f(void)\n{\n\t/* a\n\t */ one();\n}'
	refuses 1 '"one();" does not begin its line'
}

expression()
{
	list_of "x@b.c@f()@extend a = count@ - GPREEMPT"
	tree_of <<<$'int f(void)\n{\n\ta = count * 2;\n}'
	refuses 1 'after "a = count" the expression goes on with "*" (line 3)'
	tree_of <<<$'int f(void)\n{\n\ta = counter;\n}'
	refuses 1 '"extend a = count" is gone'
	list_of "x@b.c@f()@extend (a) &&@	GPREEMPT &&"
	tree_of <<<$'int f(void)\n{\n\tif ((a) && (b))\n\t\tone();\n}'
	refuses 1 "does not end its line"
}

# layout FOLDER: amdkfd is there
layout()
{
	rm -rf "$scratch/layout"
	mkdir -p "$scratch/layout/$1"
	cp "$kfd"/* "$scratch/layout/$1/"
	hooks --series 9.1 "$scratch/layout"
	diff -r "$scratch/want.kfd" "$scratch/layout/$1"
}

layouts()
{
	in_f "after one();"
	tree_of <<<$'int f(void)\n{\n\tone();\n}'
	cp -r "$kfd" "$scratch/want.kfd"
	printf 'int f(void)\n{\n\tone();\n\tGPREEMPT;\n}\n' >"$scratch/want.kfd/b.c"
	layout drivers/gpu/drm/amd/amdkfd
	layout amd/amdkfd
	layout amdkfd
	layout some/where/else/amdkfd
	hooks --series 9.1 --print "$scratch/tree" | grep -q "^+++ b/$AMD/amdkfd/b.c$"
	rm -rf "$scratch/layout"
	mkdir -p "$scratch/layout"/{a,b}/amdkfd
	touch "$scratch/layout"/{a,b}/amdkfd/kfd_priv.h
	not hooks --series 9.1 "$scratch/layout" >"$out" 2>&1
	has "$out" "more than one amdkfd"
	not hooks --series 9.1 "$scratch/bin" >"$out" 2>&1
	has "$out" "has no amdkfd"
}

# inserted_after OPTION...: the line before each that --print inserts
inserted_after()
{
	hooks "$@" --print "$tree" | awk '/^\+\t/ { print last } { last = $NF }'
}

of_series()
{
	in_f "after one();"
	sed -i 's/^hook x/&\nseries 9.1/' "$list"
	sed '1,/^$/d; s/one/two/; s/9\.1/9.2/' "$list" >"$list.2"
	echo >>"$list"
	cat "$list.2" >>"$list"
	tree_of <<<$'int f(void)\n{\n\tone();\n\ttwo();\n}'
	is "9.1" "$(inserted_after)" "one();"
	sed -i 's/^PATCHLEVEL.*/PATCHLEVEL = 2/' "$tree/Makefile"
	is "9.2" "$(inserted_after)" "two();"
	is "9.1 by name" "$(inserted_after --series 9.1)" "one();"
	sed -i 's/^PATCHLEVEL.*/PATCHLEVEL = 3/' "$tree/Makefile"
	refuses 1 "no hooks for the 9.3 series; there are: 9.1 9.2"
	rm "$tree/Makefile"
	refuses 2 "does not say of which series it is"
	is "supported" "$(hooks --supported)" 9.1
	is "known" "$(hooks --known | tr '\n' ' ')" "9.1 9.2 "
}

# A hook that another series has may be needed in this tree, too: its function came here. What has no place there is needed less.
of_other_series()
{
	list_of "x@b.c@f()@after one();@	GPREEMPT;" "y@b.c@g()@after one();@	GPREEMPT_Y;" "z@b.c@h()@after one();@	GPREEMPT_Z;"
	sed -i 's/^hook [yz]$/&\nseries 9.2/' "$list"
	tree_of <<<$'int f(void)\n{\n\tone();\n}\nint g(void)\n{\n\tone();\n}'
	hooks --check "$tree" >"$out"
	is "told" "$(cat "$out")" "hook y: b.c: of 9.2; 9.1 has none, and there is a place for it"
	is "placed" "$(hooks --print "$tree" | grep -c '^+.*GPREEMPT')" 1
	hooks --series 9.2 --check "$tree" >"$out" 2>&1 && return 1
	has "$out" "hook z: b.c: h() is gone"
	not grep "has none" "$out"
}

# package VERSION [AC_INIT]: the folders of AMD's package, which says so
package()
{
	rm -rf "$scratch/package"
	mkdir -p "$scratch/package/amd/dkms" "$scratch/package/amd/amdkfd"
	cp "$kfd"/* "$scratch/package/amd/amdkfd/"
	printf 'PACKAGE_NAME="amdgpu"\nPACKAGE_VERSION="%s"\n' "$1" >"$scratch/package/dkms.conf"
	[ $# = 1 ] || echo "AC_INIT($2)" >"$scratch/package/amd/dkms/configure.ac"
}

of_package()
{
	in_f "after one();"
	sed -i 's/^knows.*/&\nsupports amd-9.1\nknows amd-9.12\ncompiles amd-9.2/; s/^hook x/&\nseries amd-9.1/' "$list"
	tree_of <<<$'int f(void)\n{\n\tone();\n}'
	package 9.12.7-2187269.22.04
	is "by the package" "$(hooks --series-of "$scratch/package")" amd-9.12
	package debug-1 "amdgpu-dkms, 9.1.12"
	is "by the source" "$(hooks --series-of "$scratch/package")" amd-9.1
	package 9.12.7 "[amdgpu-dkms],[9.1]"
	is "by the source first" "$(hooks --series-of "$scratch/package")" amd-9.1
	hooks "$scratch/package"
	has "$scratch/package/amd/amdkfd/b.c" GPREEMPT
	# A series of kernels has the same number.
	is "hooks in the kernel's" "$(grep -c GPREEMPT "$kfd/b.c")" 0
	hooks "$tree"
	is "hooks in the kernel's" "$(grep -c GPREEMPT "$kfd/b.c")" 0
	package debug-1
	not hooks "$scratch/package" >"$out" 2>&1
	has "$out" "does not say of which series it is"
	package 9.3.1
	not hooks "$scratch/package" >"$out" 2>&1
	has "$out" "no hooks for the amd-9.3 series"
	is "kernels" "$(hooks --supported)" 9.1
	is "packages" "$(hooks --trees)" amd-9.1
	is "compiled" "$(hooks --compiled)" amd-9.2
	is "known" "$(hooks --known | tr '\n' ' ')" "9.1 9.2 amd-9.1 amd-9.2 amd-9.12 "
}

# wrong TEXT COMMAND...: the list, after COMMAND, is refused with its line
wrong()
{
	in_f "after one();"
	"${@:2}" "$list"
	refuses 2 "$1" "$list:"
}

# again LIST: its hook once more
again()
{
	sed -n '/^hook/,$p' "$1" >"$scratch/stanza"
	cat "$scratch/stanza" >>"$1"
}

list_is_checked()
{
	tree_of <<<$'int f(void)\n{\n\tone();\n}'
	wrong "is no word of this list" sed -i 's/^locks/lock/'
	wrong "lacks file" sed -i '/^why/d'
	wrong "lacks file" sed -i '/^+/d'
	wrong "needs one of" sed -i '/^after/d'
	wrong "needs one of" sed -i 's/^after.*/&\nat end/'
	wrong "there twice" sed -i 's/^after.*/&\n&/'
	wrong "is there twice for series 9.1" again
	wrong "there is no series 9.7" sed -i 's/^hook.*/&\nseries 9.7/'
	wrong "a line of no hook" sed -i '1i +x'
}

#
# The kernel's own source, and the list of the tree
#
real()
{
	local stock=$scratch/real f

	stock_source "$stock"
	cp -r "$stock" "$scratch/hooked"
	"$tool" --series "$series" "$scratch/hooked"
	for f in "$scratch/hooked/$AMD/amdkfd"/*.[ch] "$scratch/hooked/$AMD/amdkfd/Makefile"; do
		cmp "$f" "$GPREEMPT_CACHE/amdgpu/$KVER/test/$AMD/amdkfd/${f##*/}"
	done
	# Nothing is removed, and as many lines are there as the list has.
	diff -r "$stock" "$scratch/hooked" >"$out" || true
	is "lines of hooks" "$(grep -c '^> .*[Gg][Pp][Rr][Ee][Ee][Mm][Pp][Tt]' "$out")" \
		"$(awk -v s="$series" '/^hook/ { on = 1 } /^series/ { on = ($0 " ") ~ ("[ \t]" s " ") } on && /^\+.*[Gg][Pp][Rr][Ee][Ee][Mm][Pp][Tt]/' "$TOP/dkms/hooks.list" | wc -l)"
	"$tool" --series "$series" --print "$stock" >"$scratch/patch"
	patch -s -p1 -F0 -d "$stock" <"$scratch/patch"
	diff -r "$stock" "$scratch/hooked"
}

# Every function, structure and macro with a hook has another name: each hook is named, once.
real_moved()
{
	local stock=$scratch/moved name

	stock_source "$stock"
	for name in $("$tool" --series "$series" --places | sed -n 's/^[^|]*|\(.* \)\{0,1\}\([a-zA-Z_0-9]*\)\((.*\)\{0,1\}$/\2/p' | grep -vx file | sort -u); do
		echo "s/\\b$name\\b/x_$name/g"
	done >"$scratch/rename"
	is "names" "$(($(wc -l <"$scratch/rename") > 25))" 1
	sed -i -f "$scratch/rename" "$stock/$AMD/amdkfd"/*.[ch]
	not "$tool" --series "$series" --check "$stock" >"$out" 2>&1
	is "hooks without a place" "$(grep -c 'is gone$' "$out")" "$("$tool" --series "$series" --places | grep -vc '|file$')"
	is "lines" "$(wc -l <"$out")" "$(grep -c 'is gone$' "$out")"
}

# A series of which only the places are known has every call that the others have.
known_series()
{
	local s first more less

	first=$("$tool" --supported | head -n 1)
	is "series built" "$("$tool" --supported | grep -cx "$series")" 1
	for s in $("$tool" --known); do
		"$tool" --series "$s" --proofs | sort -u >"$scratch/proofs"
		# 7.x has contexts, and revokes doorbells. AMD's package keeps idle processes evicted. What it does of a refused update is open.
		less='^$'
		case $s in
		6.*)	more= ;;
		amd-6.*) more="kfd_device_queue_manager.c calls kfd_gpreempt_has_work"
			less=__kfd_gpreempt_maps_again ;;
		*)	more="kfd_chardev.c calls kfd_gpreempt_replaced
kfd_chardev.c calls kfd_gpreempt_revoked" ;;
		esac
		{ "$tool" --series "$first" --proofs | grep -v "$less"; [ -z "$more" ] || echo "$more"; } | sort -u | diff - "$scratch/proofs"
	done
}

plan 17
tap "every kind of hook is placed, and --print says what is done" every_kind
tap "a tree that has hooks is refused" twice
tap "a place that is gone is named" gone
tap "a place that is there more than once is named" ambiguous
tap "all hooks are written, or none" all_or_nothing
tap "comments, strings, macros and prototypes are no places" text_is_no_code
tap "no hook lands in an #if" conditional
tap "hooks stand between whole statements" statement
tap "an expression is not torn apart" expression
tap "amdkfd is found where it is" layouts
tap "places differ between series" of_series
tap "hooks of other series that would have a place are told" of_other_series
tap "AMD's package is a series of its own" of_package
tap "a list that is wrong is refused" list_is_checked
tap "the kernel's source takes all hooks, and is what was built" real
tap "in another source each hook is named" real_moved
tap "series that are known have all of their hooks" known_series
finish

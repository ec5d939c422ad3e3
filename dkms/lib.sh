# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# lib.sh - putting kfd_gpreempt into a source of amdgpu: what the scripts here share; sourced with $top set to this tree

# check_hooks DIR TABLE: prints a line for each hook that is not where it has to be, or more than once
check_hooks()
{
	awk -v dir="$1" '
	function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }
	# enter(), leave(): keep the place up to date while a file is read
	function enter(line,    t) {
		if (place == "" && line ~ /^struct [a-z0-9_]+ \{$/) {
			t = line; sub(/ \{$/, "", t); place = t
		} else if (place == "" && line ~ /^#[ \t]*define[ \t]+[A-Za-z0-9_]+/ && line ~ /\\$/) {
			t = line; sub(/^#[ \t]*define[ \t]+/, "", t); sub(/[^A-Za-z0-9_].*$/, "", t); place = "define " t
		} else if (place == "" && line ~ /^[A-Za-z_].*[A-Za-z0-9_]+\(/ && line !~ /;[ \t]*$/) {
			t = line; sub(/\(.*$/, "", t); sub(/^.*[^A-Za-z0-9_]/, "", t); name = t
		} else if (place == "" && line ~ /^\{/)
			place = name "()"
	}
	function leave(line) {
		if (place ~ /^define /) {
			if (line !~ /\\$/)
				place = ""
		} else if (line ~ /^\}/)
			place = ""
	}
	function read(file,    path, line, depth, r, at, mk) {
		path = dir "/" file
		mk = file ~ /Makefile$/
		place = name = ""
		depth = 0
		while ((r = (getline line < path)) > 0) {
			enter(line)
			if (mk ? line ~ /^endif/ : line ~ /^#[ \t]*endif/)
				depth--
			at = place == "" ? "file " depth : place
			for (i = 0; i < n; i++)
				if (f[i] == file && at == p[i] && index(line, h[i]))
					hits[i]++
			if (line ~ /[Gg][Pp][Rr][Ee][Ee][Mm][Pp][Tt]/)
				lines[file]++
			if (mk ? line ~ /^if(n?eq|n?def)/ : line ~ /^#[ \t]*if/)
				depth++
			leave(line)
		}
		close(path)
		if (r < 0)
			print file ": no such file"
	}
	BEGIN { n = 0 }
	/^[ \t]*(#|$)/ { next }
	{
		split($0, c, "|")
		f[n] = trim(c[1]); p[n] = trim(c[2]); h[n] = trim(c[3])
		rows[f[n]]++
		n++
	}
	END {
		for (file in rows)
			read(file)
		for (i = 0; i < n; i++)
			if (hits[i] != 1)
				printf "%s, %s: \"%s\" is there %d times instead of once\n", f[i], p[i], h[i], hits[i]
		for (file in rows)
			if (lines[file] > rows[file])
				printf "%s: %d lines of hooks instead of %d\n", file, lines[file], rows[file]
	}' "$2"
}

# own_files DIR CONFIG VERSION: makes DIR, with the scheduler's source and what goes with it. CONFIG: y or nothing, CONFIG_KFD_GPREEMPT. VERSION of
# the module; nothing: it has one of its own.
own_files()
{
	mkdir "$1"
	cp "$top"/kfd_gpreempt/Kbuild "$top"/kfd_gpreempt/*.[ch] "$top/dkms/package.c" "$1/"
	cp -r "$top/include/uapi" "$1/"
	cat >"$1/gpreempt_config.h" <<EOF
/* SPDX-License-Identifier: MIT */
/* Written by dkms/build.sh. */
${2:+#define CONFIG_KFD_GPREEMPT 1}
EOF
	cat >"$1/gpreempt_config.mk" <<EOF
# Written by dkms/build.sh.
CONFIG_KFD_GPREEMPT := $2
EOF
	{
		echo '/* SPDX-License-Identifier: MIT */'
		echo '/* Written by dkms/build.sh. */'
		[ -z "$3" ] || echo "#define GPREEMPT_VERSION \"$3\""
	} >"$1/gpreempt_version.h"
}

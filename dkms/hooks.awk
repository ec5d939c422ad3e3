# SPDX-License-Identifier: MIT
#
# hooks.awk - find the places that hooks.list names in the sources of amdkfd; for hooks.sh
#
# awk -v series=SERIES -v what=WHAT [-v dir=DIR -v out=OUT] -f hooks.awk hooks.list
#
# WHAT: place	every hook of SERIES is put into the files of DIR (amdkfd), the results go to OUT
#       files	prints the files that have hooks
#       names	prints the name of each hook
#       places	prints "FILE|PLACE" of each hook
#       proofs	prints "FILE PROOF" of each proof
#
# A place is found in tokens of C, so that white space, comments and strings decide nothing. Status
# 1: hooks without a place, a line on the standard error for each. Status 2: hooks.list is wrong.

function bad_list(text)
{
	printf "%s:%d: %s\n", FILENAME, FNR, text >"/dev/stderr"
	broken = 1
	exit 2
}

function trim(s)
{
	gsub(/^[ \t]+|[ \t]+$/, "", s)
	return s
}

# fail(HOOK, TEXT): the hook has no place
function fail(h, text)
{
	printf "hook %s: %s: %s\n", name[h], file[h], text >"/dev/stderr"
	failed = 1
}

#
# hooks.list
#

# has(LIST, WORD): is it one of the words?
function has(list, word)
{
	return index(" " list " ", " " word " ") > 0
}

# end_hook(): a stanza is complete; it counts if it is of this series
function end_hook(    s, words, i)
{
	if (!reading)
		return
	reading = 0
	if (f["file"] == "" || f["in"] == "" || f["why"] == "" || f["locks"] == "" || f["proof"] == "" || f["+"] == "")
		bad_list("hook " f["hook"] " lacks file, in, why, locks, proof or the lines to insert")
	if ((f["after"] != "" || f["before"] != "") + (f["extend"] != "") + (f["before-last"] != "") + (f["at"] != "") != 1)
		bad_list("hook " f["hook"] " needs one of after, before, before-last, extend, at end")
	s = f["series"]
	words = split(s == "" ? known : s, w, " ")
	for (i = 1; i <= words; i++) {
		if (!has(known, w[i]))
			bad_list("hook " f["hook"] ": there is no series " w[i])
		if ((f["hook"], w[i]) in seen)
			bad_list("hook " f["hook"] " is there twice for series " w[i])
		seen[f["hook"], w[i]] = 1
	}
	if (s != "" && !has(s, series))
		return
	n++
	name[n] = f["hook"]
	file[n] = f["file"]
	where[n] = f["in"]
	after[n] = f["after"]
	before[n] = f["before"]
	last[n] = f["before-last"]
	extend[n] = f["extend"]
	at[n] = f["at"]
	text[n] = f["+"]
	proof[n] = f["proof"]
	if (!(file[n] in rows))
		order[++nfiles] = file[n]
	rows[file[n]]++
}

/^#/ || /^[ \t]*$/ { next }

/^(base|supports|compiles|knows)[ \t]/ {
	if (reading || NF != 2)
		bad_list("series come first, one a line")
	if ($1 != "base")
		known = known " " $2
	next
}

/^hook[ \t]/ {
	end_hook()
	split("", f)
	reading = 1
}

/^\+/ {
	if (!reading)
		bad_list("a line of no hook")
	f["+"] = f["+"] substr($0, 2) "\n"
	next
}

/^[ \t]/ {
	if (!reading || key == "")
		bad_list("a line of no hook")
	f[key] = f[key] " " trim($0)
	next
}

{
	key = $1
	if (!reading || !has("hook series file in after before before-last extend at why locks proof", key))
		bad_list("\"" key "\" is no word of this list")
	value = $0
	sub(/^[^ \t]+/, "", value)
	value = trim(value)
	if (key == "at" && value != "end")
		bad_list("at what? there is \"at end\"")
	if (value == "" || (key in f && key != "proof"))
		bad_list("\"" key "\" is empty or there twice")
	if (key in f)
		value = f[key] "\n" value
	f[key] = value
}

END {
	if (broken)
		exit 2
	end_hook()
	if (broken)
		exit 2
	if (!has(known, series))
		bad_list("there is no series " series)
	if (what == "place") {
		for (i = 1; i <= nfiles; i++)
			place_file(order[i])
		exit failed
	}
	for (i = 1; i <= (what == "files" ? nfiles : n); i++) {
		if (what == "files") {
			print order[i]
		} else if (what == "names") {
			print name[i]
		} else if (what == "places") {
			print file[i] "|" where[i]
		} else {
			np = split(proof[i], w, "\n")
			for (j = 1; j <= np; j++)
				print file[i], w[j]
		}
	}
}

#
# Tokens of C: tok, its line tl, first and last column ts and te, depth of braces tb and of
# parentheses tp before it, conditional blocks around it tc, the macro or directive around it tm
#

function add(s, line, col)
{
	T++
	tok[T] = s
	tl[T] = line
	ts[T] = col
	te[T] = col + length(s) - 1
	tb[T] = braces
	tp[T] = parens
	tc[T] = cond
	tm[T] = macro
	if (macro != "")
		return
	if (s == "{")
		braces++
	else if (s == "}")
		braces--
	else if (s == "(" || s == "[")
		parens++
	else if (s == ")" || s == "]")
		parens--
}

# scan(): tokens of a line, or of the rest of one
function scan(s, line, col,    c, k)
{
	if (in_line_comment) {
		in_line_comment = s ~ /\\$/
		return
	}
	if (in_string) {
		if (!match(s, /^([^"\\]|\\.)*"/)) {
			in_string = s ~ /\\$/
			return
		}
		in_string = 0
		col += RLENGTH
		s = substr(s, RLENGTH + 1)
	}
	while (s != "") {
		if (in_comment) {
			k = index(s, "*/")
			if (!k)
				return
			in_comment = 0
			col += k + 1
			s = substr(s, k + 2)
			continue
		}
		c = substr(s, 1, 1)
		if (match(s, /^[ \t\f\v\r]+/) || match(s, /^\\$/)) {
			# nothing
		} else if (substr(s, 1, 2) == "/*") {
			in_comment = 1
			RLENGTH = 2
		} else if (substr(s, 1, 2) == "//") {
			in_line_comment = s ~ /\\$/
			return
		} else if (c == "\"" || c == "'") {
			if (!(c == "\"" ? match(s, /^"([^"\\]|\\.)*"/) : match(s, /^'([^'\\]|\\.)*'/))) {
				in_string = c == "\"" && s ~ /\\$/
				RLENGTH = length(s)
			}
			add(substr(s, 1, RLENGTH), line, col)
		} else {
			if (!match(s, /^[A-Za-z_][A-Za-z0-9_]*/) && !match(s, /^[0-9][A-Za-z0-9_.]*/) &&
			    !match(s, /^(\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*\/%&|^]=)/))
				RLENGTH = 1
			add(substr(s, 1, RLENGTH), line, col)
		}
		col += RLENGTH
		s = substr(s, RLENGTH + 1)
	}
}

function conditions(    i)
{
	cond = ""
	for (i = 1; i <= depth; i++)
		if (block[i] != "")
			cond = cond (cond == "" ? "" : ", ") block[i]
}

# branch_ends(LINE): of a conditional block; all of its branches have to leave the same braces open
function branch_ends(line)
{
	if (!branches[depth]++) {
		branch_b[depth] = braces
		branch_p[depth] = parens
	} else if (branch_b[depth] != braces || branch_p[depth] != parens) {
		uneven[line] = 1
	}
}

# directive(): what a line of the preprocessor, tokens FIRST to T, does to what follows
function directive(first, line,    kind, i, s)
{
	kind = tok[first + 1]
	s = "#" kind
	for (i = first + 2; i <= T; i++)
		s = s " " tok[i]
	for (i = first; i <= T; i++)
		tm[i] = kind == "define" ? "define " tok[first + 2] : "directive " s
	if (kind ~ /^if/) {
		block[++depth] = s
		before_b[depth] = braces
		before_p[depth] = parens
		branches[depth] = has_else[depth] = 0
		guard = (first == 1 && kind == "ifndef") ? tok[3] : ""
	} else if (kind ~ /^el/ && depth) {
		branch_ends(line)
		if (kind == "else")
			has_else[depth] = 1
		braces = before_b[depth]
		parens = before_p[depth]
		if (block[depth] !~ /^#else of /)
			block[depth] = "#else of " block[depth]
	} else if (kind == "endif" && depth) {
		branch_ends(line)
		# Without #else the other branch is empty.
		if (!has_else[depth]) {
			if (branch_b[depth] != before_b[depth] || branch_p[depth] != before_p[depth])
				uneven[line] = 1
			branch_b[depth] = before_b[depth]
			branch_p[depth] = before_p[depth]
		}
		braces = branch_b[depth]
		parens = branch_p[depth]
		depth--
	} else {
		# The guard of a header is around everything, and decides nothing.
		if (kind == "define" && guard != "" && tok[first + 2] == guard)
			block[1] = ""
		guard = ""
	}
	conditions()
}

# read(FILE): its lines L, its tokens; returns false if it is not there
function read(path,    s, r, first)
{
	split("", L)
	split("", uneven)
	split("", opened)
	lines = T = braces = parens = depth = 0
	in_comment = in_line_comment = in_string = 0
	cond = macro = guard = ""
	while ((r = (getline s <path)) > 0) {
		L[++lines] = s
		# Does the line begin in a comment or string?
		opened[lines] = in_comment || in_line_comment || in_string
		if (macro == "" && !opened[lines] && s ~ /^[ \t]*#/) {
			macro = "#"
			first = T + 1
		}
		scan(s, lines, 1)
		if (macro != "" && s !~ /\\$/) {
			macro = ""
			directive(first, lines)
		}
	}
	opened[lines + 1] = in_comment || in_line_comment || in_string
	close(path)
	return r == 0
}

#
# Places
#

# close_of(I): the token that closes the brace or parenthesis I; 0: there is none
function close_of(i,    j, c, d)
{
	c = tok[i] == "{" ? "}" : ")"
	for (j = i + 1; j <= T; j++) {
		if (tm[j] != "")
			continue
		d = c == "}" ? tb[j] - tb[i] : tp[j] - tp[i]
		if (tok[j] == c && d == 1)
			return j
	}
	return 0
}

# body(I, KIND): the brace that opens what is called tok[I]; 0: this only mentions it
function body(i, kind,    j)
{
	if (tm[i] != "" || tb[i] || tp[i])
		return 0
	if (kind == "struct")
		return tok[i - 1] == "struct" && tok[i + 1] == "{" ? i + 1 : 0
	j = i + 1
	if (kind == "object") {
		if (tok[j] == "[")
			for (j++; j <= T && tok[j - 1] != "]"; j++)
				;
		return tok[j] == "=" && tok[j + 1] == "{" ? j + 1 : 0
	}
	# Between the parameters and the body: annotations
	while (j <= T && tm[j] == "" && tok[j] == "(" || (j > i + 1 && tok[j] ~ /^[A-Za-z_]/)) {
		if (tok[j] == "(") {
			j = close_of(j)
			if (!j)
				return 0
		}
		j++
	}
	return j > i + 1 && tm[j] == "" && tok[j] == "{" ? j : 0
}

# find_place(HOOK): sets lo and hi, the tokens inside of it, around, the conditional blocks, and of,
# the macro; returns false if it failed
function find_place(h,    kind, what, i, j, found, at_lines)
{
	what = where[h]
	kind = what ~ /^[a-z]+ / ? what : "function"
	sub(/ .*/, "", kind)
	sub(/^[a-z]+ /, "", what)
	sub(/\(\)$/, "", what)
	of = ""
	if (where[h] == "file") {
		lo = 1
		hi = T
		around = ""
		return 1
	}
	found = 0
	for (i = 1; i <= T; i++) {
		if (tok[i] != what)
			continue
		if (kind == "define") {
			if (tm[i] != "define " what || tok[i - 1] != "define")
				continue
			for (j = i; j < T && tm[j + 1] == tm[i] && !(tok[j + 1] == "#" && tok[j + 2] == "define"); j++)
				;
			lo = i + 1
			hi = j
			of = tm[i]
		} else {
			j = body(i, kind)
			if (!j)
				continue
			lo = j + 1
			hi = close_of(j) - 1
		}
		found++
		at_lines = at_lines (at_lines == "" ? "" : ", ") tl[i]
		around = tc[kind == "define" ? i : lo - 1]
	}
	if (found != 1) {
		fail(h, where[h] (found ? " is there " found " times (lines " at_lines ")" : " is gone"))
		return 0
	}
	if (hi < lo - 1) {
		fail(h, where[h] " has no end")
		return 0
	}
	if (around != "" || (of == "" && tc[hi + 1] != "")) {
		fail(h, where[h] " is in \"" (around != "" ? around : tc[hi + 1]) "\" (line " at_lines ")")
		return 0
	}
	for (i = tl[lo - 1]; i <= tl[hi + 1]; i++)
		if (i in uneven) {
			fail(h, where[h] ": branches of an #if end with different braces (line " i ")")
			return 0
		}
	return 1
}

# tokens_of(TEXT, A): its tokens in A; returns how many
function tokens_of(s, a,    t, i)
{
	t = T
	macro = "anchor"
	in_comment = in_line_comment = in_string = 0
	scan(s, 0, 1)
	macro = ""
	for (i = t + 1; i <= T; i++)
		a[i - t] = tok[i]
	i = T - t
	a[i + 1] = ""
	T = t
	return i
}

# matches(A, N, I): the last token of the anchor, if it begins at token I, or 0. "..." is what there
# is until the next token
function matches(a, na, i,    j, k, level)
{
	j = i
	for (k = 1; k <= na; k++) {
		if (a[k] != "...") {
			if (j > hi || tok[j] != a[k] || (tm[j] != of && where_file == 0))
				return 0
			j++
			continue
		}
		level = 0
		for (; j <= hi && (level || tok[j] != a[k + 1]); j++) {
			if (tok[j] ~ /^[([{]$/)
				level++
			if (tok[j] ~ /^[])}]$/)
				level--
			if (level < 0 || tm[j] != of)
				return 0
		}
	}
	return j - 1
}

# code(I, STEP): the next token from I on that is no directive
function code(i, step)
{
	while (i >= 1 && i <= T && tm[i] != of)
		i += step
	return i
}

# whole_lines(): is the anchor, tokens first_t to last_t, made of whole statements on whole lines?
# Sets line, after which the hook goes
function whole_lines(h, anchor, is_after,    p, l)
{
	p = code(first_t - 1, -1)
	if (tp[first_t] != (lo > 1 ? tp[lo - 1] : 0) || (p >= lo && tok[p] !~ /^[;{}]$/)) {
		fail(h, where[h] ": \"" anchor "\" is not a statement of its own (line " tl[first_t] ")")
		return 0
	}
	if (!is_after) {
		line = tl[first_t] - 1
		if (tl[first_t - 1] > line || opened[line + 1] || L[line] ~ /\\$/) {
			fail(h, where[h] ": \"" anchor "\" does not begin its line (line " tl[first_t] ")")
			return 0
		}
		return 1
	}
	p = code(last_t + 1, 1)
	if (tok[last_t] !~ /^[;{}]$/ || tok[p] == "else" || tp[last_t] != tp[first_t]) {
		fail(h, where[h] ": a statement does not end with \"" anchor "\" (line " tl[last_t] ")")
		return 0
	}
	for (l = tl[last_t]; opened[l + 1] && l <= lines; l++)
		;
	if ((last_t < T && tl[last_t + 1] <= l) || L[l] ~ /\\$/) {
		fail(h, where[h] ": \"" anchor "\" does not end its line (line " tl[last_t] ")")
		return 0
	}
	line = l
	return 1
}

# insert(HOOK): after line
function insert(h)
{
	inserted[line] = inserted[line] text[h]
}

# at_end(HOOK): after the last member of a structure or an initialiser, or the last line of a file
function at_end(h)
{
	if (where[h] == "file") {
		if (depth || opened[lines + 1] || braces) {
			fail(h, "the file ends inside a comment, a block or an #if")
			return
		}
		line = lines
	} else {
		first_t = last_t = hi
		if (tok[hi] !~ /^[;,]$/ || tm[hi] != "" || tc[hi] != around || tl[hi + 1] == tl[hi]) {
			fail(h, where[h] ": its last member is in an #if, or not on a line of its own (line " tl[hi] ")")
			return
		}
		for (line = tl[hi]; opened[line + 1] && line < tl[hi + 1]; line++)
			;
	}
	insert(h)
}

# widen(HOOK): an expression, tokens first_t to last_t, gets another part
function widen(h,    next_t, s)
{
	next_t = last_t < hi ? tok[last_t + 1] : ""
	if (text[h] ~ /^\t/) {
		if (tok[last_t] !~ /^(\|\||&&)$/ || tl[last_t + 1] == tl[last_t] || opened[tl[last_t] + 1])
			fail(h, where[h] ": \"" extend[h] "\" does not end its line (line " tl[last_t] ")")
		line = tl[last_t]
		insert(h)
		return
	}
	if (next_t != "" && next_t !~ /^(\)|,|;|\|\||&&)$/) {
		fail(h, where[h] ": after \"" extend[h] "\" the expression goes on with \"" next_t "\" (line " tl[last_t] ")")
		return
	}
	if (tl[last_t] in wide) {
		fail(h, where[h] ": two hooks are in line " tl[last_t])
		return
	}
	s = text[h]
	sub(/\n$/, "", s)
	wide[tl[last_t]] = s
	wide_at[tl[last_t]] = te[last_t]
}

# place(HOOK): in the file that has been read
function place(h,    anchor, na, nb, i, e, found, at_lines, head)
{
	if (!find_place(h))
		return
	if (at[h] != "") {
		at_end(h)
		return
	}
	head = after[h] != "" ? "after" : extend[h] != "" ? "extend" : last[h] != "" ? "before-last" : "before"
	anchor = after[h] extend[h] last[h]
	if (anchor == "")
		anchor = before[h]
	split("", a)
	split("", b)
	na = tokens_of(anchor, a)
	nb = head == "after" && before[h] != "" ? tokens_of(before[h], b) : 0
	# A line of the preprocessor is an anchor in a file only.
	where_file = where[h] == "file"
	found = 0
	for (i = lo; i <= hi; i++) {
		if (tok[i] != a[1] || (tm[i] != of && !where_file))
			continue
		e = matches(a, na, i)
		if (!e || (nb && !matches(b, nb, e + 1)) || (head == "before-last" && e != hi))
			continue
		found++
		at_lines = at_lines (at_lines == "" ? "" : ", ") tl[i]
		first_t = i
		last_t = e
	}
	if (nb)
		anchor = anchor "\" before \"" before[h]
	if (found != 1) {
		fail(h, where[h] ": \"" head " " anchor "\" is " (found ? "there " found " times (lines " at_lines ")" : "gone"))
		return
	}
	if (tc[first_t] != around || tc[last_t] != around) {
		fail(h, where[h] ": \"" anchor "\" is in \"" tc[first_t] "\" (line " tl[first_t] ")")
		return
	}
	if (head == "extend") {
		widen(h)
	} else if (where_file) {
		for (line = tl[last_t]; opened[line + 1] && line < lines; line++)
			;
		if (last_t < T && tl[last_t + 1] <= line)
			fail(h, "\"" anchor "\" does not end its line (line " tl[last_t] ")")
		insert(h)
	} else if (whole_lines(h, anchor, head == "after")) {
		insert(h)
	}
}

# place_makefile(HOOK): at the end of a Makefile, outside of its conditional blocks
function place_makefile(h,    i, open)
{
	for (i = 1; i <= lines; i++) {
		if (L[i] ~ /^[ ]*if(n?eq|n?def)([ \t(]|$)/)
			open++
		if (L[i] ~ /^[ ]*endif([ \t#]|$)/)
			open--
	}
	if (where[h] != "file" || at[h] == "" || open || L[lines] ~ /\\$/) {
		fail(h, "the file ends inside a conditional block or a line, or it is no \"at end\"")
		return
	}
	line = lines
	insert(h)
}

function place_file(path,    h, i, s)
{
	split("", inserted)
	split("", wide)
	split("", wide_at)
	s = read(dir "/" path)
	for (h = 1; h <= n; h++) {
		if (file[h] != path)
			continue
		if (!s || !lines)
			fail(h, "there is no such file")
		else if (path ~ /\.[ch]$/)
			place(h)
		else
			place_makefile(h)
	}
	if (failed)
		return
	printf "%s", inserted[0] >(out "/" path)
	for (i = 1; i <= lines; i++) {
		s = L[i]
		if (i in wide)
			s = substr(s, 1, wide_at[i]) wide[i] substr(s, wide_at[i] + 1)
		printf "%s\n%s", s, inserted[i] >(out "/" path)
	}
	close(out "/" path)
}

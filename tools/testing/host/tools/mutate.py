#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutate.py - break the scheduler's sources on purpose; the tests have to notice

    mutate.py --out DIR --tester EXECUTABLE --build COMMAND (--list FILE | --survivors FILE) [--only REGEX]
        [--depends FILES] [--memory MEMORY] FOLDER FILE...

Writes to DIR a copy of FOLDER (of whose files no two have one name) in which each function of the named FILEs exists once as it is and once for each mutant, the variable `mutant` says
which one runs. COMMAND builds EXECUTABLE from that copy, once for all mutants. `EXECUTABLE --mutants A:STEP` then runs the tests against each
mutant, in a process of its own, until one fails that does not fail without a mutant.

--list: the mutants are those of a hand-written list (a name and Perl-like substitutions over a whole file, per line). All have to be noticed.

--survivors: the mutants are made automatically: operators, constants, removed statements, swapped branches. --least PERCENT of them have to be
noticed, not counting those that the list of survivors calls equivalent; one that is listed and noticed has to be taken out. --sample N takes
each Nth only. --only restricts to mutants whose name matches, --tests to what these tests notice.
Results are remembered: they are what they were as long as nothing but comments changes in the files that they depend on (--depends); after that
the test that noticed a mutant the last time is the first to run against it.

Touches: DIR, MEMORY (default: $GPREEMPT_CACHE). Prints one line per mutant that survived or is not as it should be, and a summary; the exit status says whether they are.
"""
import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time

TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/|//[^\n]*) | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*') | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*) |
    (?P<word>[A-Za-z_]\w*) | (?P<op>->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\.\.\.|[-+*/%&|^~!<>=?:;,.(){}\[\]\#]) |
    (?P<space>\s+) | (?P<other>.)""", re.X | re.S)
# a definition at the beginning of a line, as this tree writes them
FUNCTION = re.compile(r"^(?P<head>[A-Za-z_][^;{}#=/\"]*?\b(?P<name>[a-z_]\w*)\((?P<params>[^{};]*)\))\n(?P<body>\{.*?^\}\n)", re.M | re.S)

OPERATORS = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",), "&&": ("||",), "||": ("&&",),
    "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("/",), "&": ("|",), "|": ("&",), "<<": (">>",), ">>": ("<<",),
    "+=": ("-=", "="), "-=": ("+=", "="), "|=": ("&=", "="), "&=": ("|=", "="), "++": ("--",), "--": ("++",),
}
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
# constants that may be taken for each other
FAMILIES = (
    ("GPREEMPT_KEEP", "GPREEMPT_PREEMPT", "GPREEMPT_RESUME"),
    ("DEMAND_NONE", "DEMAND_MAYBE", "DEMAND_SURE"),
    ("GPREEMPT_STATE_PARKED", "GPREEMPT_STATE_IDLE", "GPREEMPT_STATE_POLLING", "GPREEMPT_STATE_FAILED"),
    ("KFD_PREEMPT_TYPE_WAVEFRONT_SAVE", "KFD_PREEMPT_TYPE_WAVEFRONT_RESET"),
    ("HWS_GRACE_PERIOD", "USE_DEFAULT_GRACE_PERIOD"),
    ("GPREEMPT_FAILURE_UNMAP_TIMEOUT", "GPREEMPT_FAILURE_VICTIM_RESET", "GPREEMPT_FAILURE_SEND", "GPREEMPT_FAILURE_MAP", "GPREEMPT_FAILURE_VERIFY"),
    ("GPREEMPT_SKIP_STOPPED", "GPREEMPT_SKIP_INACTIVE", "GPREEMPT_SKIP_DESTROYED", "GPREEMPT_SKIP_DEBUGGED",
     "GPREEMPT_SKIP_RESET", "GPREEMPT_SKIP_SAVE_AREA", "GPREEMPT_SKIP_UNMAPPED", "GPREEMPT_SKIP_RESETTING", "GPREEMPT_SKIP_UNSETTLED",
     "GPREEMPT_SKIP_NO_MEMORY", "GPREEMPT_SKIP_BUDGET"),
)
OTHERS = {word: family[(i + 1) % len(family)] for family in FAMILIES for i, word in enumerate(family)}
OTHERS.update({"true": "false", "false": "true"})
# what has a unit is a length: twice as long
LENGTH = re.compile(r"[A-Z][A-Z0-9_]*_(NS|US|MS)$")
# neither what is said nor what only a sanitizer or the compiler looks at
QUIET = re.compile(r"(dev_|pr_|trace_|lockdep_|drm_printf|WARN|static_assert|BUILD_BUG|might_sleep|gpreempt_stats_(state|samples|preempting)$)")


class Function:
    def __init__(self, match):
        self.head, self.name, self.body = match["head"], match["name"], match["body"]
        self.begin, self.end = match.start(), match.end()
        self.arguments = [a for a in map(argument, split_commas(match["params"])) if a]
        self.variants = []      # (number, body)

    def renamed(self, number, body):
        head = re.sub(rf"\b{self.name}\(", f"{self.name}__{number}(", self.head, count=1)
        return ("" if re.match(r"static\b", head) else "static ") + head + "\n" + body

    def text(self, number_of_function):
        """All variants and a function of the old name that chooses, and tells that it was called."""
        if not self.variants:
            return self.head + "\n" + self.body
        call = ", ".join(self.arguments)
        parts = [self.renamed(0, self.body)]
        for number, body in self.variants:
            parts.append(f"/* mutant {number} */\n" + self.renamed(number, body))
        cases = "".join(f"\tcase {n}:\n\t\treturn {self.name}__{n}({call});\n" for n, _ in self.variants)
        parts.append(f"{self.head}\n{{\n\tif (mutant_calls)\n\t\tmutant_calls[{number_of_function}] = 1;\n\tswitch (mutant) {{\n{cases}\tdefault:\n\t\treturn {self.name}__0({call});\n\t}}\n}}\n")
        return "\n".join(parts)


def split_commas(text):
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            parts.append(text[begin:i])
            begin = i + 1
    return parts + [text[begin:]]


def argument(parameter):
    parameter = parameter.strip()
    if parameter in ("", "void"):
        return None
    pointer = re.search(r"\(\*(\w+)\)", parameter)
    return pointer[1] if pointer else re.findall(r"\w+", parameter.split("[")[0])[-1]


def functions_of(text):
    return [Function(m) for m in FUNCTION.finditer(text)]


# ---- the hand-written list ----

def unescaped(text, groups):
    """The replacement of a Perl substitution: $1 and escaped characters."""
    known = {"n": "\n", "t": "\t"}
    text = re.sub(r"\$(\d)|\\(.)", lambda m: (groups[int(m[1])] or "") if m[1] else known.get(m[2], m[2]), text)
    return text


def substitutions(text):
    for part in re.split(r";\s+(?=s/)", text):
        match = re.fullmatch(r"s/((?:\\.|[^/\\])*)/((?:\\.|[^/\\])*)/([gs]*)", part.strip(), re.S)
        if not match:
            sys.exit(f"mutate: no substitution: {part}")
        yield match


def substitute(source, text):
    for match in substitutions(text):
        groups = lambda m, r=match[2]: unescaped(r, [m[0], *m.groups()])
        source = re.sub(match[1], groups, source, count=0 if "g" in match[3] else 1, flags=re.S if "s" in match[3] else 0)
    return source


def listed(path):
    """(name, the rest of its line)"""
    with open(path) as lines:
        return [line.strip().split(None, 1) for line in lines if line.strip() and not line.startswith("#")]


def listed_mutants(sources, path):
    """(name, {(file, function name): body})"""
    for name, text in listed(path):
        changes = {}
        for file, source in sources.items():
            changed = substitute(source, text)
            if changed == source:
                continue
            before, after = functions_of(source), functions_of(changed)
            for old, new in zip(before, after):
                if old.head != new.head:
                    sys.exit(f"mutate: {name} changes more than the insides of functions")
                if old.body != new.body:
                    changes[file, old.name] = new.body
        yield name, changes


# ---- automatic mutants ----

class Body:
    """A function's body in tokens."""

    def __init__(self, function):
        self.text = function.body
        self.tokens = [m for m in TOKEN.finditer(self.text) if m.lastgroup not in ("space", "comment")]
        self.match = {}
        stack = []
        for i, t in enumerate(self.tokens):
            if t[0] in ("(", "[", "{"):
                stack.append(i)
            elif t[0] in (")", "]", "}"):
                j = stack.pop()
                self.match[i], self.match[j] = j, i
        self.quiet = set()
        for i, t in enumerate(self.tokens):
            if t.lastgroup == "word" and QUIET.match(t[0]) and self.word(i + 1) == "(":
                self.quiet.update(range(i, self.match[i + 1] + 1))

    def word(self, i):
        return self.tokens[i][0] if 0 <= i < len(self.tokens) else ""

    def spaced(self, i):
        t = self.tokens[i]
        return self.text[t.start() - 1] in " \t\n" and self.text[t.end()] in " \t\n"

    def replaced(self, i, j, new):
        """The body with tokens i to j, j included, replaced."""
        return self.text[:self.tokens[i].start()] + new + self.text[self.tokens[j].end():]

    def between(self, i, j):
        return self.text[self.tokens[i].start():self.tokens[j].end()]

    def statement(self, i):
        """Does a statement begin here?"""
        before = self.word(i - 1)
        if before in (";", "{", "}", "else", "do"):
            return True
        return before == ")" and self.word(self.match[i - 1] - 1) in ("if", "for", "while") or \
            before == ")" and re.search(r"for_each", self.word(self.match[i - 1] - 1)) is not None

    def end_of_statement(self, i):
        return end_of_operand(self, i, (";",))


def operator_mutants(body, i):
    t = body.tokens[i]
    if t.lastgroup != "op":
        return
    if t[0] == "!" and body.word(i + 1) != "!" and body.word(i - 1) != "!":
        yield "! removed", body.replaced(i, i, "")
    elif t[0] in OPERATORS and (t[0] in ("++", "--") or body.spaced(i)):
        for new in OPERATORS[t[0]]:
            yield f"{t[0]} is {new}", body.replaced(i, i, new)


def constant_mutants(body, i):
    t = body.tokens[i]
    if t.lastgroup == "number":
        # an empty initializer is no constant
        if body.word(i - 1) == "{" and body.word(i + 1) == "}":
            return
        value = int(re.match(r"0[xX][0-9a-fA-F]+|\d+", t[0])[0], 0)
        suffix = re.search(r"[uUlL]*$", t[0])[0]
        yield f"{t[0]} is {value + 1}", body.replaced(i, i, f"{value + 1}{suffix}")
        if value == 1:
            yield f"{t[0]} is 0", body.replaced(i, i, "0")
    elif t[0] in OTHERS:
        yield f"{t[0]} is {OTHERS[t[0]]}", body.replaced(i, i, OTHERS[t[0]])
    elif LENGTH.match(t[0]):
        yield f"{t[0]} is twice that", body.replaced(i, i, f"({t[0]} * 2)")


def statement_mutants(body, i):
    t = body.tokens[i]
    if not body.statement(i):
        return
    if t[0] in ("continue", "break"):
        yield f"{t[0]} removed", body.replaced(i, i, "")
        return
    if t[0] in ("if", "for", "while", "return", "do", "else", "switch", "goto", "case", "default", "struct") or t.lastgroup not in ("word", "op") or \
            t[0] in ("{", "}", ";", "++", "--", ".", "["):
        return
    end = body.end_of_statement(i)
    if any(k in body.quiet for k in (i,)):
        return
    after = body.word(i + 1)
    if after == "(" and t.lastgroup == "word" and body.match[i + 1] + 1 == end:
        yield "call removed", body.replaced(i, end - 1, "")
    elif t[0] == "*" or after in ("->", ".", "[", "=", "|=", "&=", "+=", "-="):
        if any(body.word(k) in ("=", "|=", "&=", "+=", "-=") for k in range(i, end)):
            yield "assignment removed", body.replaced(i, end - 1, "")


def end_of_operand(body, i, stop):
    while i < len(body.tokens) and body.word(i) not in stop:
        i = body.match[i] if body.word(i) in ("(", "[", "{") else i
        i += 1
    return i


def branch_mutants(body, i, returns_bool):
    word = body.word(i)
    if word in ("if", "while") and body.word(i + 1) == "(":
        first, last = i + 2, body.match[i + 1] - 1
        inside, k = [], first
        while k <= last:
            inside.append(body.word(k))
            k = body.match[k] + 1 if body.word(k) in ("(", "[", "{") else k + 1
        # negating these is what another mutant does already
        single = not {"&&", "||"} & set(inside)
        if single and (inside[0] == "!" or {"==", "!="} & set(inside) or {"<", "<=", ">", ">="} & set(inside)):
            return
        yield "condition negated", body.replaced(first, last, f"!({body.between(first, last)})")
    elif word == "?" and body.word(i + 1) != ":":
        colon = depth = 0
        for k in range(i + 1, len(body.tokens)):
            if body.word(k) == "?":
                depth += 1
            elif body.word(k) == ":":
                if not depth:
                    colon = k
                    break
                depth -= 1
        end = end_of_operand(body, colon + 1, (";", ",", ")", "]", "}"))
        yes, no = body.between(i + 1, colon - 1), body.between(colon + 1, end - 1)
        yield "branches swapped", body.replaced(i + 1, end - 1, f"({no}) : ({yes})")
    elif word == "return" and returns_bool and body.word(i + 1) not in ("true", "false", "!"):
        end = body.end_of_statement(i)
        inside = [body.word(k) for k in range(i + 1, end)]
        if {"&&", "||", "?"} & set(inside) or not set(COMPARISONS) & set(inside):
            yield "result negated", body.replaced(i + 1, end - 1, f"!({body.between(i + 1, end - 1)})")


def line_of(text, position):
    begin = text.rfind("\n", 0, position) + 1
    return text[begin:text.index("\n", position)].strip()


def automatic_mutants(sources):
    for file, source in sources.items():
        for function in functions_of(source):
            body, seen = Body(function), {}
            returns_bool = re.match(r"(static )?(inline )?bool\b", function.head) is not None
            for i, token in enumerate(body.tokens):
                if i in body.quiet:
                    continue
                for what, changed in (*operator_mutants(body, i), *constant_mutants(body, i), *statement_mutants(body, i),
                                      *branch_mutants(body, i, returns_bool)):
                    name = f"{file} {function.name}: {line_of(body.text, token.start())}: {what}"
                    seen[name] = seen.get(name, 0) + 1
                    if seen[name] > 1:
                        name += f" ({seen[name]})"
                    yield name, {(file, function.name): changed}


# ---- building and running ----

def numbers_of_functions(sources):
    """{(file, name): number}, as the tester counts functions that were called"""
    names = ((file, function.name) for file, source in sources.items() for function in functions_of(source))
    return {name: number for number, name in enumerate(names)}


def places_of(folder):
    """{name: its path in the folder}, of all files at any depth: no two have one name"""
    return {name: os.path.relpath(os.path.join(where, name), folder) for where, _, names in os.walk(folder) for name in names}


def write(folder, out, sources, mutants):
    """A copy of the folder; returns which mutant each line of each file belongs to."""
    places = places_of(folder)
    # What another run has left is neither a source nor what may be written to.
    for where, _, names in os.walk(out):
        for name in names:
            if name.endswith((".c", ".h")) or os.path.islink(os.path.join(where, name)):
                os.unlink(os.path.join(where, name))
    for name, place in places.items():
        link = os.path.join(out, place)
        os.makedirs(os.path.dirname(link), exist_ok=True)
        if name not in sources:
            os.symlink(os.path.join(folder, place), link)
    owners, numbers = {}, numbers_of_functions(sources)
    for file, source in sources.items():
        functions = functions_of(source)
        by_name = {f.name: f for f in functions}
        for number, (_, changes) in mutants.items():
            for (where, name), body in changes.items():
                if where == file:
                    by_name[name].variants.append((number, body))
        parts, position = ["extern int mutant;\nextern unsigned char *mutant_calls;\n"], 0
        for function in functions:
            parts += [source[position:function.begin], function.text(numbers[file, function.name])]
            position = function.end
        text = "".join(parts + [source[position:]])
        with open(os.path.join(out, places[file]), "w") as f:
            f.write(text)
        owner, owners[file] = 0, {}
        for n, line in enumerate(text.split("\n"), 1):
            match = re.match(r"/\* mutant (\d+) \*/", line)
            owner = int(match[1]) if match else owner
            owners[file][n] = owner
            if line == "}":
                owner = 0
    return owners


def build(options, sources, mutants):
    """Builds; mutants that are no C are dropped. Returns their names."""
    dropped = []
    while True:
        owners = write(options.folder, options.out, sources, mutants)
        # What is no C is found without compiling all the rest.
        for only in (" SYNTAX=-fsyntax-only", ""):
            made = subprocess.run(options.build + only, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if made.returncode:
                break
        else:
            return dropped
        wrong = set()
        for match in re.finditer(r"([\w.]+):(\d+):\d+: error", made.stdout):
            if match[1] in owners:
                wrong.add(owners[match[1]].get(int(match[2]), 0))
        wrong.discard(0)
        if not wrong or options.list:
            sys.exit("mutate: the sources with mutants do not build:\n" + made.stdout[:4000])
        dropped += [mutants.pop(number)[0] for number in wrong]


# instead of who noticed
NO_C = "the compiler"


def without_comments(text):
    """What the compiler makes of a source, as long as __LINE__ does not matter."""
    return re.sub(r"\n\s*\n+", "\n", TOKEN.sub(lambda t: "" if t.lastgroup == "comment" else t[0], text))


class Memory:
    """What is known of mutants from the run before: results, as long as nothing has changed; after that, whom to ask first."""

    def __init__(self, options):
        self.path = os.path.join(options.memory, "mutants-" + os.path.basename(options.tester) + ".json")
        sum = hashlib.sha256(repr([options.build, os.environ.get("COUNT")]).encode())
        for path in (os.path.abspath(__file__), *sorted(options.depends.split())):
            with open(path) as f:
                sum.update((without_comments(f.read()) if path[-2:] in (".c", ".h") else f.read()).encode())
        self.sum, self.known = sum.hexdigest(), {}
        if os.path.exists(self.path):
            self.known = json.load(open(self.path))

    def result(self, name):
        """(is it known?, who noticed the last time)"""
        sum, who = self.known.get(name, (None, None))
        return sum == self.sum, who

    def keep(self, results):
        self.known.update({name: (self.sum, who) for name, who in results.items()})
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path + ".new", "w") as f:
            json.dump(self.known, f, indent=0)
        os.rename(self.path + ".new", self.path)


def run(options, sources, mutants, memory):
    """{number: who noticed, or None}"""
    jobs = options.jobs
    functions = numbers_of_functions(sources)
    numbers = sorted(mutants)

    def entry(number):
        name, changes = mutants[number]
        who = memory.result(name)[1] if memory else None
        return " ".join(map(str, (number, *(functions[where] for where in changes), *((who.split(",")[0],) if who and who != NO_C else ())))) + "\n"

    workers = []
    for job in range(jobs):
        mine, report = (os.path.join(options.out, f"{what}.{job}") for what in ("numbers", "report"))
        with open(mine, "w") as f:
            f.writelines(map(entry, numbers[job::jobs]))
        with open(report, "w") as f:
            workers.append((report, subprocess.Popen([options.tester, "--mutants", mine, *options.tests.split()], stdout=f)))
    result = {}
    for report, worker in workers:
        if worker.wait():
            sys.exit(f"mutate: {options.tester} ended with {worker.returncode}")
        for line in open(report):
            match = re.match(r"mutant (\d+) (noticed by (.*)|survived)$", line.strip())
            if match:
                result[int(match[1])] = match[3]
    if set(result) != set(numbers):
        sys.exit("mutate: not every mutant was run")
    return result


def read_survivors(path):
    """{name: judgement}; blank: whitespace at the beginning of a line makes it a mutant under the judgement before it"""
    judged, judgement = {}, None
    for line in open(path) if os.path.exists(path) else ():
        if line.startswith("#") or not line.strip():
            continue
        if not line[0].isspace():
            judgement = line.strip()
            if not re.match(r"(equivalent|unreachable|gap): ", judgement):
                sys.exit(f"mutate: {path}: no judgement: {judgement}")
        else:
            judged[line.strip()] = judgement
    return judged


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--tester", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--depends", default="")
    parser.add_argument("--list")
    parser.add_argument("--survivors")
    parser.add_argument("--only", default=os.environ.get("ONLY") or "")
    parser.add_argument("--sample", type=int, default=int(os.environ.get("SAMPLE") or 1))
    parser.add_argument("--tests", default=os.environ.get("TESTS") or "")
    parser.add_argument("--least", type=float, default=100)
    parser.add_argument("--memory", default=os.environ.get("GPREEMPT_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "kfd_gpreempt"))
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("folder")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    places = places_of(options.folder)
    sources = {file: open(os.path.join(options.folder, places[file])).read() for file in options.files}

    status = 0
    made = listed_mutants(sources, options.list) if options.list else automatic_mutants(sources)
    made = list(made)
    names = {name for name, _ in made}
    mutants = dict(list(enumerate((m for m in made if re.search(options.only, m[0])), 1))[::options.sample])
    for number, (name, changes) in list(mutants.items()):
        if not changes:
            print(f"# {name}: DOES NOT APPLY, adapt it")
            status = 1
            del mutants[number]
    began = time.monotonic()
    memory = Memory(options) if options.survivors and not options.tests else None
    result, dropped = {}, []
    for number, (name, _) in list(mutants.items()) if memory else ():
        same, who = memory.result(name)
        if same and who == NO_C:
            dropped.append(name)
            del mutants[number]
        elif same:
            result[number] = who
    known = len(result)
    anew = {number: mutant for number, mutant in mutants.items() if number not in result}
    if anew:
        no_c = build(options, sources, anew)
        dropped += no_c
        mutants = {number: mutant for number, mutant in mutants.items() if number in result or number in anew}
        result.update(run(options, sources, anew, memory))
        if memory:
            memory.keep({**{name: NO_C for name in no_c}, **{anew[number][0]: result[number] for number in anew}})
    noticed = sum(1 for who in result.values() if who)

    judged = read_survivors(options.survivors) if options.survivors else {}
    for number in sorted(mutants):
        name = mutants[number][0]
        if options.list and result[number] and options.only:
            print(f"# {name}: noticed by {result[number]}")
        if not result[number] and name not in judged:
            print(f"# NOT NOTICED: {name}")
        elif result[number] and name in judged:
            print(f"# noticed by {result[number]}, but listed as a survivor: {name}")
            status = 1
    for name in judged:
        if name not in names and re.search(options.only, name) and name.split()[0] in sources:
            print(f"# listed as a survivor, but no such mutant: {name}")
            status = 1
    equivalent = {n for n in mutants if not result[n] and judged.get(mutants[n][0], "").startswith("equivalent")}
    equal = len(equivalent)
    for file in sources if options.survivors else ():
        of_file = [n for n in mutants if mutants[n][0].startswith(file + " ")]
        killed, same = sum(1 for n in of_file if result[n]), sum(1 for n in of_file if n in equivalent)
        print(f"# {file:<16} {len(of_file):5} mutants, {killed:5} noticed, {same:4} equivalent, {len(of_file) - killed - same:4} survived: "
              f"{100 * killed / max(len(of_file) - same, 1):.1f} %")
    percent = 100 * noticed / max(len(mutants) - equal, 1)
    print(f"# {len(mutants)} mutants, {noticed} noticed, {equal} equivalent, {len(mutants) - noticed - equal} others survived: {percent:.1f} % "
          f"noticed of those that are not equivalent; {len(dropped)} more were no C; {known} known from the run before; {time.monotonic() - began:.0f} s")
    return status or percent < options.least


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""architecture.py - do the sources still have the plan that design.rst describes? TAP on stdout.

Reads the sources as text. It finds definitions, calls and writes by their form, which
checkpatch keeps regular: a function begins in the first column, and so does its last brace.

kfd_gpreempt/ is checked for all of the plan, the trees in architecture_trees.py for what holds
in any tree, but for what is listed there.

	architecture.py [FOLDER]	FOLDER instead of kfd_gpreempt/, for tests of this program
"""
import collections
import os
import re
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
sys.path.insert(0, os.path.join(TOP, "tools/testing"))
import architecture_trees  # noqa: E402  # pylint: disable=wrong-import-position
import tap  # noqa: E402  # pylint: disable=wrong-import-position

MAX_COLUMNS = 100
MAX_LINES = 60
# A file that is a part of another one: what it calls, and what it is called by, is that file's.
PART_OF = {"backend_hws": "backend", "backend_named": "backend", "backend_mqd": "backend", "backend_mes": "backend",
           "tunables_table": "tunables"}
# Names of static functions begin with the name of the file, or with one of these.
PREFIXES = {
    "backend_hws": ["hws_"],
    "backend_named": ["named_"],
    "backend_mqd": ["mqd_"],
    "backend_mes": ["mes_"],
}
# Its functions are made by macros of the kernel.
NO_FUNCTIONS = {"trace.h"}
# Structures that one file keeps in the objects that all share: member -> file that may write it.
# node.h declares the members, and says the file of each in its comment.
EMBEDDED = re.compile(r"/\*\* @(\w+): (\w+)\.c \*/\n\tstruct gpreempt_(?:node|queue|process)_\w+ \w+;")
ASSIGN = r"(?:\[[^\]]*\])?\s*(?:=(?!=)|\|=|&=|\+=|-=|\+\+|--)"


def stem_of(name):
    return name.rsplit(".", 1)[0]


def room_of(name):
    return PART_OF.get(stem_of(name), stem_of(name))


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r'"(\\.|[^"\\\n])*"', '""', text)


def columns(line):
    return len(line.expandtabs(8))


class Tree:
    def __init__(self, folder, prefixes=None, deep=True):
        self.text, self.folder, self.prefixes = {}, {}, prefixes or {}
        for where, _, names in sorted(os.walk(folder)):
            for name in names if deep or where == folder else []:
                if name.endswith((".c", ".h")):
                    with open(os.path.join(where, name)) as f:
                        self.text[name] = f.read()
                    self.folder[name] = os.path.relpath(where, folder)
        self.code = {name: without_comments(text) for name, text in self.text.items()}
        self.functions = []  # (file, name, static, first line, last line, body)
        for name in sorted(set(self.code) - NO_FUNCTIONS):
            self.find_functions(name, self.code[name])

    def with_text(self, added):
        """The same with text at the end of some files: {file: text}"""
        copy = Tree.__new__(Tree)
        copy.text, copy.code, copy.folder, copy.prefixes = dict(self.text), dict(self.code), self.folder, self.prefixes
        copy.functions = [f for f in self.functions if f[0] not in added]
        for name, text in added.items():
            copy.text[name] += text
            copy.code[name] = without_comments(copy.text[name])
            copy.find_functions(name, copy.code[name])
        return copy

    def find_functions(self, name, code):
        pattern = r"^(?!#|\}|typedef)([A-Za-z_][\w \t\*\n]*?[\s\*])([A-Za-z_]\w*)\(([^;{}]*?)\)\s*\n\{"
        for m in re.finditer(pattern, code, flags=re.M):
            end = code.find("\n}", m.end() - 1)
            first = code.count("\n", 0, m.start()) + 1
            last = code.count("\n", 0, end) + 2
            self.functions.append((name, m.group(2), "static" in m.group(1), first, last, code[m.end():end]))

    def calls(self, room_of=room_of):  # pylint: disable=redefined-outer-name
        """Which room calls which: {room: {other room: (caller, callee)}}"""
        where = {}
        for name, function, static, *_ in self.functions:
            if not static or name.endswith(".h"):
                where[function] = room_of(name)
        own = {}
        for name, function, *_ in self.functions:
            own.setdefault(name, set()).add(function)
        graph = {}
        for name, function, _, _, _, body in self.functions:
            for callee in set(re.findall(r"\b[A-Za-z_]\w*\b", body)):
                if callee in own[name] or callee not in where or where[callee] == room_of(name):
                    continue
                graph.setdefault(room_of(name), {}).setdefault(where[callee], (function, callee))
        return graph


def circles(tree, opened=()):
    """Circles of calls; opened: "a -> b" of calls that are not looked at"""
    graph, done, path, found = tree.calls(), set(), [], []
    for step in opened:
        graph.get(step.split()[0], {}).pop(step.split()[2], None)

    def visit(room):
        if room in path:
            ring = path[path.index(room):] + [room]
            steps = [f"{a}.c {graph[a][b][0]}() calls {b}.c {graph[a][b][1]}()" for a, b in zip(ring, ring[1:])]
            found.append("; ".join(steps))
            return
        if room in done:
            return
        path.append(room)
        for other in graph.get(room, {}):
            # What amdkfd calls is a door, not a room.
            if other != "hooks":
                visit(other)
        path.pop()
        done.add(room)

    for room in list(graph):
        if room != "hooks":
            visit(room)
    return found


def upward(tree):
    """core/ stands alone: none of its files includes a header of another folder, or calls into one. compat/ is below it."""
    found = set()
    for name, text in tree.text.items():
        if tree.folder[name] != "core":
            continue
        for other in re.findall(r'#include "(\w+)/(\w+)\.[ch]"', text):
            if other[0] not in ("core", "compat"):
                found.add(f"{name} includes {other[0]}/{other[1]}")
    folder = {name[:-2]: where for name, where in tree.folder.items()}
    for room, others in tree.calls(stem_of).items():
        if folder.get(room) != "core":
            continue
        for other, (caller, callee) in others.items():
            if folder.get(other, "core") not in ("core", "compat", "."):
                found.add(f"{room}.c {caller}() calls {other}.c {callee}()")
    return sorted(found)


def foreign_writers(tree):
    found = []
    owners = dict(EMBEDDED.findall(tree.text.get("node.h", "")))
    if not owners:
        return ["node.h: no structures of rooms found"]
    for name, code in tree.code.items():
        for member, owner in owners.items():
            if room_of(name) == room_of(owner + ".c"):
                continue
            access = r"(?:gn|gq|process|pass->gn|gpreempt)->" + member + r"\.\w+(?:\.\w+)*"
            writes = re.findall(r"(" + access + r")" + ASSIGN, code)
            writes += re.findall(r"(?:\+\+|--)\s*(" + access + r")", code)
            writes += re.findall(r"(?:WRITE_ONCE|smp_store_mb|smp_store_release|xchg|cmpxchg|swap)\(&?(" + access + r")", code)
            found += [f"{name} writes {w}, which is {owner}.c's" for w in writes]
    return found


def foreign_sight(tree):
    pattern = r"(->seen\.\w+)" + ASSIGN
    return [f"{name} writes {w}, which is demand.c's" for name, code in tree.code.items() if room_of(name) != "demand"
            for w in re.findall(pattern, code)]


def foreign_names(tree):
    found = []
    for name, function, static, first, *_ in tree.functions:
        if not static or name.endswith(".h"):
            continue
        stem = name[:-2]
        prefixes = tree.prefixes.get(stem, [stem + "_"])
        if not function.startswith(tuple(prefixes)):
            found.append(f"{name}:{first}: {function}() does not begin with {' or '.join(prefixes)}")
    return found


def wide_comments(tree):
    found = []
    for name, text in tree.text.items():
        code = tree.code[name].split("\n")
        for number, line in enumerate(text.split("\n")):
            if columns(line) > MAX_COLUMNS and line.strip() != code[number].strip():
                if '"' in line and "/*" not in line:
                    continue
                found.append(f"{name}:{number + 1}: {columns(line)} columns")
    return found


def long_functions(tree):
    return [f"{name}:{first}: {function}() has {last - first + 1} lines"
            for name, function, _, first, last, _ in tree.functions if last - first + 1 > MAX_LINES]


# Words that hide what acts, and what this project called things before it used the field's terms.
RIDDLES = re.compile(r"\b(nobody|somebody|anybody|everybody|whoever|whomever|rung_ns|rang_ns|graced|peek|"
                     r"runlists_built|disturbed)\b", re.IGNORECASE)


def riddles(tree):
    return [f"{name}:{number}: {m.group(0)}" for name, text in tree.text.items()
            for number, line in enumerate(text.split("\n"), 1) for m in RIDDLES.finditer(line)]


CHECKS = [
    ("no file calls one that calls it, directly or through others", circles),
    ("core/ includes and calls nothing of another folder", upward),
    ("each file alone writes its part of a node, a queue or a process", foreign_writers),
    ("demand.c alone writes what was seen of a queue", foreign_sight),
    ("static functions carry the name of their file", foreign_names),
    (f"no line of a comment is over {MAX_COLUMNS} columns", wide_comments),
    (f"no function is over {MAX_LINES} lines", long_functions),
    ("comments and names say what acts", riddles),
]
# Each is put into a copy of the sources, and has to be found.
MISTAKES = [
    ("node.c", "\nvoid gpreempt_node_mistake(void)\n{\n\tgpreempt_monitor_begin(NULL, true);\n}\n"),
    ("waves.c", '\n#include "control/hold.h"\n'),
    ("node.c", "\nvoid gpreempt_node_mistake(struct gpreempt_node *gn)\n{\n\tgn->waves.asking = true;\n}\n"),
    ("policy.c", "\nstatic void policy_mistake(struct gpreempt_policy_queue *q)\n{\n\tq->seen.pending = 1;\n}\n"),
    ("node.c", "\nstatic void mistake(void)\n{\n}\n"),
    ("node.c", "\n/* " + "word " * 20 + "*/\n"),
    ("node.c", "\nstatic void node_mistake(void)\n{\n" + "\tcpu_relax();\n" * MAX_LINES + "}\n"),
    ("node.c", "\n/* Nobody waits. */\n"),
]


# The same for trees of any kind: files A and B stand for two of the tree's.
ANYWHERE = {
    "circles": {"A": "\nvoid a_mistake(void)\n{\n\tb_mistake();\n}\n", "B": "\nvoid b_mistake(void)\n{\n\ta_mistake();\n}\n"},
    "names": {"A": MISTAKES[4][1]},
    "columns": {"A": MISTAKES[5][1]},
    "lines": {"A": MISTAKES[6][1].replace("static ", "")},
    "riddles": {"A": MISTAKES[7][1]},
}
OF_FILES = {"names": foreign_names, "columns": wide_comments, "lines": long_functions, "riddles": riddles}
IN_TREES = {
    "circles": CHECKS[0][0],
    "names": CHECKS[4][0],
    "columns": CHECKS[5][0],
    "lines": CHECKS[6][0],
    "riddles": CHECKS[7][0],
}


def beyond_list(kind, tree, listed):
    """Complaints about a tree beyond what is listed of it, and about what is listed in vain"""
    if kind == "circles":
        vain = [step for step in listed if not circles(tree, set(listed) - {step})]
        return circles(tree, listed) + [f"nothing is a circle with {step}: take it off the list" for step in vain]
    found, complaints = collections.defaultdict(list), []
    for text in OF_FILES[kind](tree):
        found[text.split(":")[0]].append(text)
    for name in sorted(set(found) | set(listed)):
        count, allowed = len(found[name]), listed.get(name, 0)
        if count > allowed:
            complaints += found[name] + [f"{name}: {count}, and {allowed} listed"]
        if count < allowed:
            complaints.append(f"{name}: {count}, and {allowed} listed: lower its number")
    return complaints


def missed_in(tree, listed):
    """Kinds of mistakes that would not be found in a tree, and lists that could be too long"""
    files, missed = sorted(name for name in tree.text if name.endswith(".c"))[:2], []
    for kind, text in IN_TREES.items():
        mistake = {name: ANYWHERE[kind][letter] for letter, name in zip("AB", files) if letter in ANYWHERE[kind]}
        if not beyond_list(kind, tree.with_text(mistake), listed.get(kind, {})):
            missed.append(f"a mistake was not found: {text}")
        longer = dict.fromkeys(listed.get(kind, ()), 0) if kind == "circles" else dict(listed.get(kind, {}))
        longer[f"{files[0][:-2]} -> nothing" if kind == "circles" else files[0]] = 1000
        if not beyond_list(kind, tree, longer):
            missed.append(f"an entry in vain was not found: {text}")
    return missed


def check_tree(folder, listed):
    tree = Tree(os.path.join(TOP, folder), listed.get("prefixes"), listed.get("deep", True))
    return [(f"{folder}: {text}", beyond_list(kind, tree, listed.get(kind, {}))) for kind, text in IN_TREES.items()] + \
        [(f"{folder}: a mistake of each kind, and a list that is too long, would be found", missed_in(tree, listed))]


def main():
    tree = Tree(sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "kfd_gpreempt"), PREFIXES)
    holds = [(text, check(tree)) for text, check in CHECKS]
    missed = [text for (text, check), (name, mistake) in zip(CHECKS, MISTAKES)
              if len(check(tree.with_text({name: mistake}))) <= len(check(tree))]
    holds.append(("a mistake of each kind would be found", [f"a mistake was not found: {text}" for text in missed]))
    for folder, listed in architecture_trees.TREES.items():
        holds += check_tree(folder, listed)
    return tap.report(holds)


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tunables - the table of tunables in the documentation, from kfd_gpreempt/core/tunables_table.h

    tunables.py             print the table as reStructuredText
    tunables.py --rows      print the rows for scripts: name, kind, default, values, separated by tabs
    tunables.py --write     write the table in tunables.rst, and an entry in Documentation/ABI for each parameter that has none
    tunables.py --check     fail if tunables.rst has another table, or Documentation/ABI lacks a parameter or has other values
"""
import os
import re
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "kfd_gpreempt", "core", "tunables_table.h")
PAGE = os.path.join(HERE, "tunables.rst")
IN_PAGE = re.compile(r"(?<=\.\. begin TABLE\n\n).*?(?=\n\.\. end TABLE)", re.S)
ABI_MODULE = os.path.join(HERE, "ABI/testing/sysfs-module-amdgpu-gpreempt")
ABI_NODE = os.path.join(HERE, "ABI/testing/sysfs-class-kfd-gpreempt")
MODULE = "/sys/module/amdgpu/parameters/gpreempt_"
NODE = "/sys/class/kfd/kfd/gpreempt/<gpu_id>/"
WIDTHS = 22, 7, 20
WIDTH = 100


class Row:
    def __init__(self, kind, name, file, default, values, text):
        self.kind, self.name, self.default, self.values, self.text = kind, name, default, values, text
        self.file = {"NODE": name, "TUNABLES": "tunables/" + name}.get(file)


def row_of(kind, columns):
    name, text = columns[1], columns[-1]
    if kind == "GLOBAL":
        return Row(kind, name, None, columns[2], "0, 1", text)
    if kind == "SWITCH":
        return Row(kind, name, columns[2], columns[3], "0, 1", text)
    if kind == "NUMBER":
        low, high, zero = columns[5:8]
        return Row(kind, name, columns[2], columns[4], f"{'0, ' if zero else ''}{low}..{high}", text + zero)
    words = columns[3].split()
    return Row(kind, name, columns[2], words[0], ", ".join(words), text)


def column(text):
    """A word, or a text in any number of pieces."""
    return "".join(re.findall(r'"([^"]*)"', text)) if '"' in text else text.strip()


def rows():
    """Of the table: KIND(column, ...)."""
    with open(SOURCE) as f:
        body = re.search(r"#define GPREEMPT_TUNABLES\(.*?\)(.*?)\n\n", f.read().replace("\\\n", " "), re.S)[1]
    for kind, columns in re.findall(r'(\w+)\(((?:"[^"]*"|[^")])*)\)', body):
        yield row_of(kind, [column(c) for c in re.findall(r'(?:"[^"]*"|[^",])+', columns)])


def table():
    rule = " ".join("=" * w for w in (*WIDTHS, WIDTH - sum(WIDTHS) - len(WIDTHS)))
    out = [rule]

    def line(*cells):
        out.append(" ".join(f"{c:{w}}" for c, w in zip(cells, (*WIDTHS, 0))).rstrip())

    line("gpreempt\\_", "default", "values", "meaning")
    out.append(rule)
    for row in rows():
        pieces = textwrap.wrap(row.text, WIDTH - sum(WIDTHS) - len(WIDTHS))
        line(f"``{row.name}``", row.default, row.values, pieces[0])
        for piece in pieces[1:]:
            line("", "", "", piece)
    return "\n".join(out + [rule, ""])


def entries(path):
    """What: names of an ABI file, each with its text in one line."""
    with open(path) as f:
        for entry in f.read().split("\n\nWhat:"):
            names = re.findall(r"(?:^|\nWhat:)\s*(?:What:\s*)?(\S+)", entry)
            for name in names:
                yield name, " ".join(entry.split())


def values_of(row):
    return f"Values: {row.values}; default {row.default}."


def wrong():
    with open(PAGE) as f:
        if IN_PAGE.findall(f.read()) != [table()]:
            yield "Documentation/tunables.rst has another table; Documentation/tunables.py --write"
    module, node = dict(entries(ABI_MODULE)), dict(entries(ABI_NODE))
    for row in rows():
        if MODULE + row.name not in module:
            yield f"{ABI_MODULE}: nothing about {row.name}"
        elif values_of(row) not in module[MODULE + row.name]:
            yield f"{ABI_MODULE}: {row.name}: not \"{values_of(row)}\""
        if row.file and NODE + row.file not in node:
            yield f"{ABI_NODE}: nothing about {row.file}"


def insert(path, before, text):
    """Before an entry, which the file has."""
    with open(path) as f:
        content = f.read()
    assert content.count(before) == 1, before
    with open(path, "w") as f:
        f.write(content.replace(before, text + before))


def write():
    with open(PAGE) as f:
        page = f.read()
    with open(PAGE, "w") as f:
        f.write(IN_PAGE.sub(lambda _: table(), page))
    module, node = dict(entries(ABI_MODULE)), dict(entries(ABI_NODE))
    with open(ABI_MODULE) as f:
        head = re.search(r"\nDate:.*?Description:\n", f.read(), re.S)[0]
    for row in rows():
        if MODULE + row.name not in module:
            text = textwrap.indent(textwrap.fill(f"(RW) {row.text}. {values_of(row)}", WIDTH - 16), "\t\t")
            insert(ABI_MODULE, f"What:\t\t{MODULE}*", f"What:\t\t{MODULE}{row.name}{head}{text}\n\n")
        if row.file and NODE + row.file not in node:
            insert(ABI_NODE, f"What:\t\t{NODE}tunables/\n", f"What:\t\t{NODE}{row.file}\n")


def main():
    wish = sys.argv[1:]
    if wish == ["--rows"]:
        for row in rows():
            print(row.name, row.kind, row.default, row.values, sep="\t")
    elif wish == ["--write"]:
        write()
    elif wish == ["--check"]:
        complaints = list(wrong())
        print("\n".join(complaints), end="\n" if complaints else "")
        return bool(complaints)
    elif wish:
        print(__doc__, file=sys.stderr)
        return 2
    else:
        print(table(), end="")
    return 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""coverage.py - which lines and branches of the scheduler the tests have run

    coverage.py [--reasons FILE] SOURCES FOLDER...

SOURCES is the scheduler's folder. Each FOLDER has objects that were compiled for coverage, with what their runs left (.gcno, .gcda), at any depth:
those of the harness, and those of the driver with what a VM left. All of them are added up by line: a line has been run if it has anywhere, of
its branches those count that the run which saw the most has seen. A folder of other sources is not counted, and named. FILE says why what is uncovered is so: `file:function reason` per line, or
`file reason` for a whole file; what has no reason is named.

Prints a table, what has not been run (`#: ...', which check passes on), and TAP: enough of the lines (--lines PERCENT) and branches (--branches PERCENT), of what was compiled, have to have been run; with --all
each source file has to be among it.
"""
import argparse
import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
import tap  # noqa: E402  # pylint: disable=wrong-import-position


class Stale(Exception):
    """Counted of other sources than those that are looked at, or of another build than its notes."""


def runs_of(folder):
    """What gcov knows of each object below a folder."""
    for where, _, names in os.walk(folder):
        data = [os.path.join(os.path.abspath(where), n) for n in names if n.endswith(".gcda")]
        for path in data:
            with tempfile.TemporaryDirectory() as out:
                done = subprocess.run(["gcov", "--json-format", "--branch-probabilities", path], cwd=out, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True, check=False)
                if "mismatch" in done.stderr:
                    raise Stale(done.stderr.strip().splitlines()[0])
                for name in os.listdir(out):
                    with gzip.open(os.path.join(out, name), "rt") as f:
                        yield json.load(f)


def entries_of(folder, sources):
    """Those of the scheduler's files, by name. Lines are numbers: they have to be of these very sources."""
    ours = {}
    for where, _, names in os.walk(sources):
        for name in names:
            if name.endswith((".c", ".h")):
                with open(os.path.join(where, name)) as f:
                    ours[name] = f.read()
    for run in runs_of(folder):
        for entry in run["files"]:
            name = os.path.basename(entry["file"])
            if name not in ours or not re.search(r"kfd_gpreempt/(\w+/)?[\w.]+$", entry["file"]):
                continue
            compiled = os.path.join(run.get("current_working_directory", ""), entry["file"])
            if os.path.exists(compiled):
                with open(compiled) as f:
                    if f.read() != ours[name]:
                        raise Stale(f"{compiled} is another {name}")
            yield name, entry


def reasons_of(path):
    reasons = {}
    for line in open(path) if path else ():
        if line.strip() and not line.startswith("#"):
            place, reason = line.strip().split(None, 1)
            reasons[place] = reason
    return reasons


def ranges(numbers):
    """Line numbers, neighbours together."""
    parts = []
    for n in sorted(numbers):
        if parts and n - parts[-1][1] <= 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return " ".join(f"{a}-{b}" if b > a else f"{a}" for a, b in parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reasons")
    parser.add_argument("--lines", type=float, default=90)
    parser.add_argument("--branches", type=float, default=80)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("sources")
    parser.add_argument("folders", nargs="+")
    options = parser.parse_args()
    ours = {n for _, _, names in os.walk(options.sources) for n in names if n.endswith((".c", ".h"))}
    lines = collections.defaultdict(dict)       # file: line: run
    branches = collections.defaultdict(dict)    # file: line: (taken, all)
    functions = collections.defaultdict(dict)   # file: line: function
    for folder in options.folders:
        try:
            entries = list(entries_of(folder, options.sources))
        except Stale as e:
            print(f"#: {folder} is not counted: {e}")
            continue
        for name, entry in entries:
            for line in entry["lines"]:
                n = line["line_number"]
                lines[name][n] = lines[name].get(n, False) or line["count"] > 0
                functions[name][n] = line.get("function_name", functions[name].get(n, "?"))
                taken = sum(1 for b in line["branches"] if b["count"] > 0)
                branches[name][n] = max(branches[name].get(n, (0, 0)), (taken, len(line["branches"])))
    reasons = reasons_of(options.reasons)
    total = [0, 0, 0, 0]
    unexplained, uncompiled = [], []
    print(f"# {'file':18} {'lines':>16} {'branches':>16}")
    for name in sorted(ours):
        if not lines[name]:
            if name.endswith(".c"):
                if name not in reasons:
                    uncompiled.append(name)
                print(f"# {name:18} {'not compiled':>16}  {reasons.get(name, 'no reason is given')}")
            continue
        run, all_lines = sum(lines[name].values()), len(lines[name])
        taken, all_branches = (sum(b[i] for b in branches[name].values()) for i in (0, 1))
        total = [a + b for a, b in zip(total, (run, all_lines, taken, all_branches))]
        print(f"# {name:18} {run:5}/{all_lines:<5}{100 * run / all_lines:4.0f}% {taken:5}/{all_branches:<5}{100 * taken / max(all_branches, 1):4.0f}%")
        missing = collections.defaultdict(list)
        for n, was_run in lines[name].items():
            if not was_run:
                missing[functions[name][n]].append(n)
        for function, numbers in missing.items():
            reason = reasons.get(f"{name}:{function}") or reasons.get(name)
            if reason:
                print(f"#:    {name}:{function} {ranges(numbers)} was not run: {reason}")
            else:
                unexplained.append(f"{name}:{function} {ranges(numbers)}")
    if not total[1]:
        sys.exit("coverage: nothing was run")
    for place in unexplained:
        print(f"#:    {place} was not run, for no reason given")
    percent = [100 * total[0] / total[1], 100 * total[2] / total[3]]
    print(f"#: coverage of {sum(1 for name in ours if lines[name])} files: lines {percent[0]:.1f} % of {total[1]}, branches {percent[1]:.1f} % of {total[3]}")
    checks = {f"lines_{options.lines:.0f}_percent": percent[0] >= options.lines, f"branches_{options.branches:.0f}_percent": percent[1] >= options.branches}
    if options.all:
        checks["each_file_is_among_it"] = not uncompiled
    return tap.report_checks(checks.items())


if __name__ == "__main__":
    sys.exit(main())

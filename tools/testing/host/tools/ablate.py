#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ablate.py - what is each rule and each constant of the scheduler good for?

    ablate.py --out DIR --build COMMAND --rules FILE --mutations FILE [--only REGEX] [--names NAMES] [--count N] [--list] FOLDER FILE...

Rules are switched off by mutations, constants of the named FILEs are made four times as large and a quarter as large, one at a time. COMMAND builds the
programs `decisions` and `random_loads` from a copy of FOLDER (all files, without subfolders), whose place is the variable FOLDER, below DIR. Each of them is
run, on N random loads (default: 300) and on the scenarios called NAMES (default: all), and compared with what the sources as they are do.

A scenario counts as changed if one of its figures differs by more than 5 % and by more than 0.1. Prints a line for each: the bounds that more random loads
break than before, how many scenarios changed, and the three that changed most. What breaks and changes nothing is said again at the end: it may go, or lacks
a scenario. The exit status is 1 only if something cannot be built or run.

Touches: DIR.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import mutate

CONSTANT = re.compile(r"^#define[ \t]+([A-Z][A-Z0-9_]*)[ \t]+(\d+U?L*|\(1U << \d+\))[ \t]*$", re.M)
# Sizes of arrays, units and numbers that stand for something: nothing is decided by how large they are.
NO_QUANTITY = re.compile(r"_PLACES$|_NONE$|_ROOT$|_ONE$|_KEPT_|_GROUPS_MAX$|_WEIGHT_(MIN|MAX|NORMAL)$|_LEND_LINKS$|^WFQ_FAR|^SHARE_WEIGHT$")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
BOUND = re.compile(r"^(\w+) +\d+ loads, +(\d+) beyond, worst +([\d.]+)")


def ablations(options, sources):
    """(name, what it is, {file: text})"""
    mutations = dict(mutate.listed(options.mutations))
    for name, what in mutate.listed(options.rules):
        if name not in mutations:
            sys.exit(f"ablate: {name} is in {options.rules} and not in {options.mutations}")
        changed = {file: mutate.substitute(text, mutations[name]) for file, text in sources.items()}
        changed = {file: text for file, text in changed.items() if text != sources[file]}
        if not changed:
            sys.exit(f"ablate: {name} of {options.mutations} does not apply")
        yield name, f"off: {what}", changed
    for file, text in sources.items():
        for match in CONSTANT.finditer(text):
            name, value = match[1], match[2]
            if NO_QUANTITY.search(name):
                continue
            for suffix, new in (("x4", f"({value} * 4)"), ("/4", f"(({value} + 3) / 4)")):
                changed = text[:match.start(2)] + new + text[match.end(2):]
                yield f"{name} {suffix}", f"{value} is {new}", {file: changed}


def measure(options, number, changed):
    """({scenario: its line}, {bound: (loads beyond it, the worst)}) or what went wrong"""
    place = os.path.join(options.out, str(number))
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    for where, _, names in os.walk(options.folder):
        for name in names:
            if name.endswith((".c", ".h")):
                shutil.copy(os.path.join(where, name), place)
    for file, text in changed.items():
        with open(os.path.join(place, file), "w") as f:
            f.write(text)
    try:
        built = subprocess.run(f"{options.build} FOLDER={place}", shell=True, capture_output=True, text=True)
        if built.returncode:
            return "cannot be built: " + built.stderr.strip().split("\n")[0]
        ran = [subprocess.run([os.path.join(place, program), *arguments], capture_output=True, text=True, timeout=1800)
               for program, arguments in (("decisions", options.names.split()), ("random_loads", [str(options.count), "1"]))]
    except subprocess.TimeoutExpired:
        return "does not end within half an hour"
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if ran[0].returncode or ran[1].returncode not in (0, 1):
        return f"ends with status {ran[0].returncode or ran[1].returncode}"
    scenarios = {line.split(None, 1)[0]: line.split(None, 1)[1].split(" [")[0] for line in ran[0].stdout.splitlines() if " " in line.strip()}
    bounds = {m[1]: (int(m[2]), float(m[3])) for m in map(BOUND.match, ran[1].stdout.splitlines()) if m}
    return scenarios, bounds


def figures(line):
    """Its parts between commas, without the reasons in parentheses, which are not always there"""
    return [part.strip() for part in re.split(r"[,;]", re.sub(r"\([^)]*\)", "", line))]


def change(before, after):
    """(by how much it differs, as what), of the figure that differs most"""
    most, said = 0.0, ""
    for part, other in zip(figures(before), figures(after)):
        for x, y in zip(NUMBER.findall(part), NUMBER.findall(other)):
            far = abs(float(x) - float(y))
            share = far / (max(float(x), float(y)) + 1)
            if far > .1 and share > max(.05, most):
                most, said = share, f"{part} -> {y}"
    return most, said


def compare(base, now):
    if isinstance(now, str):
        return now, True
    beyond = [f"{name} {base[1][name][0]} -> {now[1][name][0]} beyond, worst {now[1][name][1]:.2f}" for name in base[1]
              if name in now[1] and now[1][name][0] > base[1][name][0]]
    changes = {name: change(line, now[0].get(name, "")) for name, line in base[0].items()}
    changed = sorted((c for c in changes.items() if c[1][0]), key=lambda c: -c[1][0])
    parts = [", ".join(beyond)] if beyond else []
    if changed:
        parts.append(f"{len(changed)} scenarios: " + ", ".join(f"{name} {said}" for name, (_, said) in changed[:3]))
    return "; ".join(parts) or "nothing", bool(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("out", "build", "rules", "mutations"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--names", default="")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--list", action="store_true", help="what would be tried; nothing is built")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("folder")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    places = mutate.places_of(options.folder)
    sources = {file: open(os.path.join(options.folder, places[file])).read() for file in options.files}
    wanted = [a for a in ablations(options, sources) if re.search(options.only, a[0])]
    if options.list:
        for name, what, _ in wanted:
            print(f"{name:<36} {what}")
        return 0

    began = time.monotonic()
    base = measure(options, 0, {})
    if isinstance(base, str):
        sys.exit(f"ablate: the sources as they are: {base}")
    each = time.monotonic() - began
    print(f"# {len(wanted)} of them, some {each:.0f} s each, {options.jobs} at a time: about {len(wanted) * each / options.jobs / 60:.0f} min", flush=True)
    idle, wrong = [], 0
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(measure, options, n, changed): (name, what) for n, (name, what, changed) in enumerate(wanted, 1)}
        for done, job in enumerate(as_completed(jobs), 1):
            name, what = jobs[job]
            said, breaks = compare(base, job.result())
            wrong += isinstance(job.result(), str)
            print(f"{name:<36} {what}: {said}  ({done} of {len(jobs)})", flush=True)
            if not breaks:
                idle.append(name)
    print(f"# {len(wanted)} tried, {len(idle)} break and change nothing, {wrong} could not be run; {time.monotonic() - began:.0f} s")
    for name in sorted(idle):
        print(f"# nothing shows: {name}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

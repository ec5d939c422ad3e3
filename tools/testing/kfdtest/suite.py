#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""suite.py - AMD's kfdtest on the virtual GPU: without the scheduler, with it, and preempted all the time. TAP and a table

    KFDTEST=PROGRAM tools/testing/kfdtest/suite.py [--ways off,on,competitor] [--tests REGEX] [--seconds N] [--long] [--resume] [--again]

Runs every test of PROGRAM in a process of its own (guest), in a guest with one GPU or, if `pairs' names it, with two that xGMI links. What the
guest's end leaves over is run in the next one. build/kfdtest/WAY has what each test said that did not pass, build/kfdtest/WAY.verdicts
the verdicts, build/kfdtest/table all of them.

--seconds: of virtual time for a test. --long: tests as well whose reason says that they take longer. --resume: verdicts of earlier runs count,
and only what has none is run; so a run may be cut, or made in parts by --tests. --again: nothing is run, the verdicts are those of earlier runs.

A test that says it skips has not passed, although kfdtest counts it; nor has one that is not run for its length. `reasons' has why a test does
not pass; the ways are not compared by a test that passes or not by a race of its own.

Nothing of kfdtest is part of this tree: without KFDTEST all of this is skipped.
"""
import argparse
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import tap  # noqa: E402  # pylint: disable=wrong-import-position
TOP = os.environ.get("TOP") or os.path.realpath(f"{HERE}/../../..")
BUILD = os.environ.get("BUILD") or f"{TOP}/build"
VM = os.environ.get("VM") or f"{TOP}/tools/testing/vm/vm"
OUT = f"{BUILD}/kfdtest"
WAYS = ("off", "on", "competitor")
SECONDS = 60
BOOTS = 8                               # a guest that dies this often is no accident of one test
VERDICTS = ("pass", "skip", "fail", "timeout", "crash", "long")
LONG = "too long: "                     # how the reason of a test begins that is not run
RACE = "race: "                         # and of one whose verdict is its own luck: ways are not compared by it
PAIR = ("--gpus", "2", "--vgpu-args", "xgmi=1")


def tests_of(program):
    """Names of all tests, in the order of the program."""
    said = subprocess.run([program, "--gtest_list_tests"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    group, names = "", []
    for line in said.splitlines():
        if line.startswith("  "):
            names.append(group + line.split()[0])
        elif re.match(r"\S+\.$", line.split("#")[0].strip()):
            group = line.split("#")[0].strip()
    return names


def parse_reasons(text):
    """{name: reason}; names may end in *. Comments and empty lines are nothing."""
    reasons = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        if not line:
            continue
        name, bar, reason = (part.strip() for part in line.partition("|"))
        if not bar or not reason or name in reasons:
            raise ValueError(f"line {number}: {line!r}")
        reasons[name] = reason
    return reasons


def fits(name, key):
    return key == name or (key.endswith("*") and name.startswith(key[:-1]))


def reason_for(name, reasons):
    """The one of the longest name that fits"""
    fitting = [key for key in reasons if fits(name, key)]
    return reasons[max(fitting, key=lambda key: len(key.rstrip("*")))] if fitting else None


def read_lines(lines):
    """What a guest said: verdicts, the test that it was at when it ended, and figures of the competitor."""
    verdicts, at, figures = {}, None, {}
    for line in lines:
        word = line.split()
        if len(word) == 2 and word[0] == "RUN":
            at = word[1]
        elif len(word) == 4 and word[0] == "VERDICT" and word[2] in VERDICTS:
            verdicts[word[1]] = word[2]
            at = None
        elif len(word) == 3 and word[0] == "FIGURE" and word[2].isdigit():
            figures[word[1]] = figures.get(word[1], 0) + int(word[2])
    return verdicts, at, figures


def guest(program, way, names, seconds, pair):
    """A guest runs these tests. Return: its lines. Verdicts and figures are kept as they come."""
    out = f"{OUT}/{way}"
    os.makedirs(out, exist_ok=True)
    with open(f"{OUT}/{way}.tests", "w") as f:
        f.write("\n".join(names) + "\n")
    argv = [VM, "run", "--gpu", "fast", "--icount", "--timeout", "7200", "--amdgpu-args", "gpu_recovery=0", "--out", out, *(PAIR if pair else ()),
            "--add", f"{program}:/opt/gpreempt/kfdtest", "--add", f"{OUT}/{way}.tests:/opt/gpreempt/kfdtest-tests",
            "--add", f"{TOP}/tools/testing/vm/guest_lib.sh:/opt/gpreempt/guest-lib",
            "--add", f"{HERE}/guest:/opt/gpreempt/kfdtest-guest", "--", f"kfdtest-guest {way} {seconds}"]
    lines = []
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, errors="replace") as vm:
        for line in vm.stdout:
            lines.append(line.rstrip("\n"))
            if not line.startswith("RUN "):
                print(f"# {way}: {lines[-1]}", flush=True)
            keep(way, [line for line in lines[-1:] if line.startswith(("VERDICT ", "FIGURE "))])
    return lines


def run(program, way, names, seconds, pairs):
    """All tests of a way that have no verdict yet, in as many guests as it takes."""
    for pair in (False, True):
        group = [name for name in names if any(fits(name, key) for key in pairs) == pair]
        for _ in range(BOOTS):
            left = [name for name in group if name not in kept(way)[0]]
            if not left:
                break
            more, at, _ = read_lines(guest(program, way, left, seconds, pair))
            if at:                      # the guest did not survive it
                keep(way, [f"VERDICT {at} crash 0", "FIGURE deaths 1"])
            elif not more:
                break


def keep(way, lines):
    with open(f"{OUT}/{way}.verdicts", "a") as f:
        f.writelines(f"{line}\n" for line in lines)


def kept(way):
    with open(f"{OUT}/{way}.verdicts") as f:
        verdicts, _, figures = read_lines(f)
    return verdicts, figures


def judge(names, verdicts, figures, reasons, whole):
    """Return: (what must hold, the complaints) of each, and (what is not judged, why)."""
    ways = [way for way in WAYS if way in verdicts]
    passed = {way: {n for n, v in verdicts[way].items() if v == "pass"} for way in ways}
    other = {n for n in names if any(verdicts[way].get(n) != "pass" for way in ways)}
    holds = []
    for way in ways:
        holds.append((f"every test has a verdict, {way}", [n for n in names if n not in verdicts[way]]))
        holds.append((f"no test crashes, {way}",
                      [n for n in names if verdicts[way].get(n) == "crash"] + ["the guest"] * bool(figures[way].get("deaths"))))
    races = {n for n in names if (reason_for(n, reasons) or "").startswith(RACE)}
    for way in ways[1:]:
        first = ways[0]
        holds.append((f"what passes with {first} passes with {way}", sorted(passed[first] - passed[way] - races)))
        holds.append((f"what passes with {way} passes with {first}", sorted(passed[way] - passed[first] - races)))
    if "competitor" in ways:
        holds.append(("queues were preempted all the time", [] if figures["competitor"].get("preemptions", 0) >= 100 else ["hardly ever"]))
        holds.append(("whoever preempts does so to the end", ["pulse"] * figures["competitor"].get("broken", 0)))
    holds.append(("each test that does not pass has a reason", sorted(n for n in other if not reason_for(n, reasons))))
    if whole:
        holds.append(("no reason is left of a test that passes",
                      sorted(key for key in reasons if not any(reason_for(n, {key: "-"}) for n in other))))
    return holds


def table(names, verdicts, reasons):
    ways = [way for way in WAYS if way in verdicts]
    wide = max(len(n) for n in names)
    rows = [f"{'test':{wide}}  " + "  ".join(f"{way:10}" for way in ways) + "  reason"]
    for n in names:
        got = [verdicts[way].get(n, "-") for way in ways]
        why = "" if set(got) == {"pass"} else reason_for(n, reasons) or "?"
        rows.append((f"{n:{wide}}  " + "  ".join(f"{v:10}" for v in got) + f"  {why}").rstrip())
    for verdict in VERDICTS:
        rows.append((f"{verdict:{wide}}  " + "  ".join(f"{sum(v == verdict for v in verdicts[way].values()):<10}" for way in ways)).rstrip())
    return rows


BY_HAND = """
RUN A.a
VERDICT A.a pass 0.5
RUN A.b
VERDICT A.b skip 0.1
VERDICT A.c what 1
VERDICT A.e long 0
VERDICT A.f pass 0.2
FIGURE preemptions 60
FIGURE preemptions 50
FIGURE preemptions ready
RUN A.d
"""


def by_hand():
    """The judgement of runs made up here; the differences, if there are any."""
    verdicts, at, figures = read_lines(BY_HAND.strip().splitlines())
    reasons = parse_reasons("# one\nA.* | all of A\nA.b | b alone # and why\nA.f | race: with itself\n")
    other = {"A.a": "pass", "A.b": "pass", "A.d": "crash", "A.f": "fail"}
    bad = dict(judge(["A.a", "A.b", "A.d", "A.f", "B.a"], {"off": verdicts, "competitor": other}, {"off": {}, "competitor": figures}, reasons, True))
    got = {"verdicts": verdicts, "at": at, "figures": figures, "longest": [reason_for(n, reasons) for n in ("A.a", "A.b", "B.a")],
           "bad": {what: why for what, why in bad.items() if why}}
    due = {"verdicts": {"A.a": "pass", "A.b": "skip", "A.e": "long", "A.f": "pass"}, "at": "A.d", "figures": {"preemptions": 110},
           "longest": ["all of A", "b alone", None],
           "bad": {"every test has a verdict, off": ["A.d", "B.a"], "every test has a verdict, competitor": ["B.a"],
                   "no test crashes, competitor": ["A.d"], "what passes with competitor passes with off": ["A.b"],
                   "each test that does not pass has a reason": ["B.a"]}}
    return [f"{key}: got {got[key]!r}, due {due[key]!r}" for key in due if got[key] != due[key]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--tests", default=os.environ.get("TESTS", ""))
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--again", action="store_true")
    opts = parser.parse_args()
    with open(f"{HERE}/reasons") as f:
        reasons = parse_reasons(f.read())
    with open(f"{HERE}/pairs") as f:
        pairs = [line.strip() for line in f if line.strip() and not line.startswith("#")]
    program = os.environ.get("KFDTEST")
    holds = [("verdicts are judged as by hand", by_hand())]
    if not program:
        print(f"1..2\n{'not ' if holds[0][1] else ''}ok 1 - {holds[0][0]}\nok 2 - kfdtest # SKIP KFDTEST, a kfdtest program, is not set")
        return bool(holds[0][1])
    everything = tests_of(program)
    names = [n for n in everything if re.search(opts.tests, n)]
    long = [] if opts.long else [n for n in names if (reason_for(n, reasons) or "").startswith(LONG)]
    os.makedirs(OUT, exist_ok=True)
    verdicts, figures = {}, {}
    for way in opts.ways.split(","):
        if not (opts.again or opts.resume):
            open(f"{OUT}/{way}.verdicts", "w", encoding="utf-8").close()
        keep(way, [])
        keep(way, [f"VERDICT {name} long 0" for name in long if name not in kept(way)[0]])
        if not opts.again:
            run(os.path.realpath(program), way, names, opts.seconds, pairs)
        verdicts[way], figures[way] = kept(way)
        verdicts[way] = {name: verdict for name, verdict in verdicts[way].items() if name in names}
    holds += judge(names, verdicts, figures, reasons, names == everything and set(verdicts) == set(WAYS))
    rows = table(names, verdicts, reasons)
    with open(f"{OUT}/table", "w") as f:
        f.write("\n".join(rows) + "\n")
    for row in rows:
        print(f"# {row}")
    for way, numbers in figures.items():
        print(f"# {way}: " + ", ".join(f"{number} {name}" for name, number in numbers.items()))
    return tap.report(holds)


if __name__ == "__main__":
    sys.exit(main())

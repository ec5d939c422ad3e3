#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""suite.py - XSched itself on the virtual GPU: its level 1 and our level 3 beside each other, and other ways, with HIP programs. TAP and a table

    XSCHED=FOLDER tools/testing/xsched/suite.py [--requests N] [--again]

FOLDER is an installation of XSched 1.2 for HIP with the class of integrations/xsched, with its examples beside it: bin/xserver, lib/*.so,
examples/. Nothing of XSched is part of this tree: without XSCHED all of this is skipped.

All ways run in one guest (see `guest'), with today's ROCm from a disk. build/xsched/said has what it said, build/xsched/table the table.

--again: nothing is run; what the last run said is judged.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import tap  # noqa: E402  # pylint: disable=wrong-import-position
TOP = os.environ.get("TOP") or os.path.realpath(f"{HERE}/../../..")
BUILD = os.environ.get("BUILD") or f"{TOP}/build"
VM = os.environ.get("VM") or f"{TOP}/tools/testing/vm/vm"
ROCM = f"{TOP}/tools/testing/vm/rocm.sh"
OUT = f"{BUILD}/xsched"
REQUESTS = 8
WAYS = {
    "alone": "alone",
    "stock": "stock driver",
    "xsched-1": "XSched, level 1",
    "xsched-3": "XSched, with our level 3",
    "suspend-ioctl": "GPreempt's way",
    "gpreempt": "gpreempt",
}
# Its example as it is takes a GPU: its vectors, its launches of a task and, for the one that ends, its tasks are fewer here, and what it
# prints is not kept back.
EXAMPLE = "examples/Linux/1_transparent_sched/app.hip"
SMALLER = [(r"^#define VECTOR_SIZE .*", "#define VECTOR_SIZE (1 << 16)"), (r"^#define N .*", "#define N 8"),
           (r"^    prepare\(\);", "    setvbuf(stdout, nullptr, _IOLBF, 0);\n    prepare();")]
TASKS = 8
ENDING = [(r"^#define M .*", f"#define M {TASKS}")]
# Its third: of two streams the high one ends, and the program with it. The level is asked for in the program.
STREAMS_EXAMPLE = "examples/Linux/3_intra_process_sched/app_concurrent.hip"
STREAM_TASKS = 16
STREAMS = [*SMALLER[:2], (r"kPreemptLevelBlock", "kPreemptLevelInterrupt"), (r"i < M;", f"i < (priority == 2 ? {STREAM_TASKS} : M);"),
           (r"^    thread_hp\.join\(\);", "    thread_hp.join();\n    fflush(stdout);\n    _Exit(0);")]
ERRORS = ("gpuvm_faults", "stale_translations", "bad_packets", "bad_records", "wave_exceptions")


def read_lines(lines):
    """What the guest said: {way: {what: {name: number}, or [ms]}}, {figure: number}"""
    said, figures = {}, {}
    for line in lines:
        word = line.split()
        if len(word) == 3 and word[0] == "FIGURE" and re.fullmatch(r"-?\d+", word[2]):
            figures[word[1]] = int(word[2])
        elif len(word) > 2 and word[1] in ("inference", "training", "scheduler", "way"):
            said.setdefault(word[0], {})[word[1]] = {k: int(v) for k, v in (w.split("=") for w in word[2:] if re.fullmatch(r"\w+=\d+", w))}
        elif len(word) > 2 and word[1] in ("alone", "high", "low") and all(w.isdigit() for w in word[2:]):
            said.setdefault(word[0], {})[word[1]] = [int(w) for w in word[2:]]
    return said, figures


def wrong_of(said, ways, requests):
    """What is not right in results of these ways"""
    wrong = []
    for way in ways:
        for program in ("inference", "training"):
            if way == "alone" and program == "training" or way == "orphaned" and program == "inference":
                continue
            got = said.get(way, {}).get(program)
            if got is None:
                wrong.append(f"{way}: no result of {program}")
            elif got.get("lost") or got.get("twice") or got.get("wrong") or not got.get("done"):
                wrong.append(f"{way}: {program}: {got}")
            elif program == "inference" and got.get("requests") != requests:
                wrong.append(f"{way}: {got.get('requests')} of {requests} requests")
    return wrong


def p50(said, way):
    return said.get(way, {}).get("inference", {}).get("p50_us", 0)


def median(values):
    return sorted(values)[len(values) // 2] if values else 0


def of_alone(example):
    """How much longer the tasks of the one with the higher priority take than alone; for ever, if there are none"""
    return median(example["high"]) / median(example["alone"]) if example.get("high") and example.get("alone") else float("inf")


def unless(holds, why):
    return [] if holds else [why]


def judge(said, figures, requests):
    """Return: (what must hold, the complaints) of each"""
    one, three = said.get("example-1", {}), said.get("example-3", {})
    streams = [said.get(f"streams-{level}", {}) for level in (1, 3)]
    saves = {way: of.get("scheduler", {}).get("saves", -1) for way, of in said.items()}
    figure = figures.get
    return [
        ("the guest came to its end", unless(figure("finished") == 1, "it has not")),
        ("all results are right, each work item done exactly once", wrong_of(said, WAYS, requests)),
        ("level 3 saves waves, level 1 saves none",
         unless(saves.get("xsched-3", 0) > 0 and saves.get("xsched-1", -1) == 0, f"saves: {saves}")),
        ("requests wait less at level 3 than at level 1",
         unless(0 < p50(said, "xsched-3") < p50(said, "xsched-1"), f"{p50(said, 'xsched-3')} and {p50(said, 'xsched-1')} us")),
        ("requests wait less in each way than with the stock driver",
         [f"{way}: {p50(said, way)} us of {p50(said, 'stock')}" for way in ("xsched-3", "suspend-ioctl", "gpreempt")
          if not 0 < p50(said, way) < p50(said, "stock")]),
        ("XSched's example comes to its end at both levels, and the other one works beside it",
         unless(all(len(of.get("alone", [])) == len(of.get("high", [])) == TASKS and of.get("low") for of in (one, three)), f"{one} {three}")),
        ("the example with the higher priority is nearer to what it is alone at level 3 than at level 1",
         unless(of_alone(three) < of_alone(one), f"{one} {three}")),
        ("of two streams of a process the tasks of the high one take less time at level 3 than at level 1",
         unless(all(len(of.get("high", [])) == STREAM_TASKS - 4 and of.get("low") for of in streams) and
                median(streams[1]["high"]) < median(streams[0]["high"]) and saves.get("streams-3", 0) > 0, str(streams))),
        ("a program is suspended while it is killed, its stream's queue alone",
         unless(figure("held-before-low-is-killed", 0) == 1, str(figure("held-before-low-is-killed", 0)))),
        ("a program that is killed while it is suspended leaves nothing held",
         unless(figure("held-after-low-was-killed") == 0, str(figure("held-after-low-was-killed")))),
        ("the one that had suspended it goes on", unless(figure("tasks-beside-the-killed") == TASKS, str(figure("tasks-beside-the-killed")))),
        ("started again, its results are right", wrong_of(said, ["restarted"], requests)),
        ("a program that is killed lets go what it had suspended",
         unless(figure("held-after-high-was-killed") == 0, str(figure("held-after-high-was-killed"))) + wrong_of(said, ["orphaned"], requests)),
        ("with its server killed and started again, programs are scheduled, and their results are right",
         wrong_of(said, ["served"], requests) + unless(saves.get("served", 0) > 0, f"saves: {saves}")),
        ("nothing is held at the end", unless(figure("held-at-the-end") == 0, str(figure("held-at-the-end")))),
        ("the device has no error", [f"{name}: {figure(name)}" for name in ERRORS if figure(name) != 0]),
    ]


def table(said):
    alone = p50(said, "alone") or 1
    # Training has the device for itself in no way, so its rate is compared with the stock driver's.
    rate = {way: of["training"]["iterations"] / of["training"]["elapsed_us"] for way, of in said.items() if of.get("training", {}).get("elapsed_us")}
    rows = [f"{'way':26} {'p50':>8} {'longest':>8} {'p50 / alone':>11} {'training':>9} {'saves':>6}"]
    for way, title in WAYS.items():
        of = said.get(way, {})
        got = of.get("inference")
        if not got:
            continue
        rows.append(f"{title:26} {got['p50_us'] / 1000:8.1f} {got['max_us'] / 1000:8.1f} {got['p50_us'] / alone:11.2f} " +
                    (f"{100 * rate[way] / rate.get('stock', rate[way]):7.0f} % " if way in rate else f"{'-':>9} ") +
                    f"{of.get('scheduler', {}).get('saves', 0):6}")
    for level in (1, 3):
        of = said.get(f"example-{level}", {})
        if of:
            rows.append(f"its first example, level {level}: half of the high one's tasks took {median(of['high'])} ms or less, "
                        f"alone {median(of['alone'])} ms; the low one's longest {max(of['low'])} ms")
        of = said.get(f"streams-{level}", {})
        if of:
            rows.append(f"its third, two streams of a process, level {level}: half of the high one's tasks took {median(of['high'])} ms or less")
    return rows


BY_HAND = """
RUN stock
stock inference done=768 lost=0 twice=0 wrong=0 requests=1 p50_us=900 p99_us=900 max_us=900
stock training done=1024 lost=1 twice=0 wrong=0 elapsed_us=100 iterations=1 p50_us=5
example-1 alone 10 12 11
FIGURE held-at-the-end 0
FIGURE broken what
"""


def by_hand():
    """The judgement of a run made up here; the differences, if there are any."""
    said, figures = read_lines(BY_HAND.strip().splitlines())
    good = {way: {"inference": {"done": 1, "requests": 1, "p50_us": us}, "training": {"done": 1}, "scheduler": {"saves": saves}}
            for way, us, saves in (("alone", 1, 0), ("stock", 9, 0), ("xsched-1", 8, 0), ("xsched-3", 4, 5), ("suspend-ioctl", 5, 5),
                                   ("gpreempt", 3, 5), ("restarted", 3, 5), ("orphaned", 3, 5), ("served", 3, 5))}
    good.update({f"example-{level}": {"alone": [10] * 8, "high": [20 - level] * 8, "low": [30] * 8} for level in (1, 3)})
    good.update({f"streams-{level}": {"high": [20 - level] * 12, "low": [30], "scheduler": {"saves": level}}
                 for level in (1, 3)})
    fine = dict.fromkeys(("held-after-low-was-killed", "held-after-high-was-killed", "held-at-the-end") + ERRORS, 0)
    fine.update({"finished": 1, "held-before-low-is-killed": 1, "tasks-beside-the-killed": 8})
    bad = dict(good, **{"xsched-1": dict(good["xsched-3"]), "restarted": {}})
    got = [figures, wrong_of(said, ["stock"], 2), said["example-1"], [what for what, why in judge(good, fine, 1) if why],
           [what for what, why in judge(bad, dict(fine, gpuvm_faults=2), 1) if why], [what for what, why in judge({}, {}, 1) if not why]]
    due = [{"held-at-the-end": 0}, ["stock: 1 of 2 requests", f"stock: training: {said['stock']['training']}"], {"alone": [10, 12, 11]}, [],
           ["level 3 saves waves, level 1 saves none", "requests wait less at level 3 than at level 1", "started again, its results are right",
            "the device has no error"], []]
    return [f"got {g!r}, due {d!r}" for g, d in zip(got, due) if g != d]


def compile_all(xsched):
    """XSched's example, the demonstration's programs with today's compiler, and what stands in for GPreempt."""
    os.makedirs(OUT, exist_ok=True)

    def run(*command):
        subprocess.run(command, check=True, stdout=sys.stderr)
    run("make", "-s", "--no-print-directory", "-C", f"{TOP}/tools/testing/hip", f"BUILD={BUILD}", "demo-today")
    run("make", "-s", "--no-print-directory", "-C", f"{TOP}/lib", f"O={BUILD}/lib", f"{BUILD}/lib/libgpreempt.a")
    run("make", "-s", "--no-print-directory", "-C", f"{TOP}/tools/gpreemptctl", f"O={BUILD}/gpreemptctl")
    way = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{TOP}/include/uapi", f"-I{TOP}/lib"]
    run(*way, "-o", f"{OUT}/gpreempt_way", f"{HERE}/gpreempt_way.c", f"{BUILD}/lib/libgpreempt.a", "-pthread")
    run(*way, "-DPRELOADED", "-shared", "-fPIC", "-o", f"{OUT}/libgpreempt_way.so", f"{HERE}/gpreempt_way.c")
    # The compiler sees no other folder.
    for folder in ("include", "lib"):
        shutil.copytree(f"{xsched}/{folder}", f"{OUT}/{folder}", dirs_exist_ok=True)
    libraries = [f"-I{OUT}/include", f"-L{OUT}/lib", f"-Wl,-rpath-link={OUT}/lib", "-lpreempt", "-lhalhip"]
    for name, example, changes, more in (("app", EXAMPLE, SMALLER + ENDING, []), ("app-endless", EXAMPLE, SMALLER, []),
                                         ("app-streams", STREAMS_EXAMPLE, STREAMS, libraries)):
        with open(f"{xsched}/{example}") as f:
            text = f.read()
        for old, new in changes:
            text, times = re.subn(old, new, text, flags=re.M)
            if times != 1:
                sys.exit(f"{example} is not that of XSched 1.2: {old}")
        with open(f"{OUT}/{name}.hip", "w") as f:
            f.write(text)
        run(ROCM, "--in", "hipcc", "--offload-arch=gfx90a", "-O3", "-std=c++17", "-w", "-o", f"{OUT}/{name}", f"{OUT}/{name}.hip", *more)


def guest(xsched, image, requests):
    """All ways. Return: what the guest said."""
    compile_all(xsched)
    there = {f"{xsched}/lib": "/run/xsched/lib", f"{xsched}/bin": "/run/xsched/bin", f"{OUT}/app": "/run/rocm/app",
             f"{OUT}/app-endless": "/run/rocm/app-endless", f"{OUT}/app-streams": "/run/rocm/app-streams",
             f"{OUT}/libgpreempt_way.so": "/run/rocm/libgpreempt_way.so",
             f"{BUILD}/rocm/gfx90a/inference": "/run/rocm/inference", f"{BUILD}/rocm/gfx90a/training": "/run/rocm/training",
             f"{OUT}/gpreempt_way": "/opt/gpreempt/gpreempt_way", f"{BUILD}/gpreemptctl/gpreemptctl": "/opt/gpreempt/gpreemptctl",
             f"{TOP}/tools/testing/vm/guest_lib.sh": "/opt/gpreempt/guest-lib", f"{HERE}/guest": "/opt/gpreempt/xsched-guest"}
    # Four compute units, as in the demonstration with HIP programs
    argv = [VM, "run", "--gpu", "fast", "--icount", "--timeout", "7200", "--vgpu-args", "cus=4", "--disk", f"{image}:/mnt", "--out", f"{OUT}/out"]
    for here, path in there.items():
        argv += ["--add", f"{here}:{path}"]
    lines = []
    with subprocess.Popen([*argv, "--", f"xsched-guest {requests}"], stdout=subprocess.PIPE, text=True, errors="replace") as vm:
        for line in vm.stdout:
            lines.append(line.rstrip("\n"))
            print(f"# {lines[-1]}", flush=True)
    with open(f"{OUT}/said", "w") as f:
        f.writelines(line + "\n" for line in lines)
    return lines


def skipped(first, why):
    print(f"1..2\n{'not ' if first[1] else ''}ok 1 - {first[0]}\nok 2 - xsched # SKIP {why}")
    return bool(first[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--again", action="store_true")
    opts = parser.parse_args()
    first = ("a run is judged as by hand", by_hand())
    for line in first[1]:
        print(f"# {line}")
    xsched = os.environ.get("XSCHED")
    if not xsched:
        return skipped(first, "XSCHED, the folder of an installation of XSched for HIP, is not set")
    if opts.again:
        with open(f"{OUT}/said") as f:
            lines = f.read().splitlines()
    else:
        image = subprocess.run([ROCM, "--image"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if image.returncode == 3:
            return skipped(first, image.stderr.strip().splitlines()[-1])
        if image.returncode:
            sys.exit(image.stderr)
        lines = guest(os.path.realpath(xsched), image.stdout.split()[-1], opts.requests)
    said, figures = read_lines(lines)
    holds = [first, *judge(said, figures, opts.requests)]
    rows = table(said)
    with open(f"{OUT}/table", "w") as f:
        f.write("\n".join(rows) + "\n")
    for row in rows:
        print(f"# {row}")
    return tap.report(holds)


if __name__ == "__main__":
    sys.exit(main())

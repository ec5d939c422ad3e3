#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench.py - the bench: published workloads under every scheduler there is for them, on the virtual GPU, in virtual time

Builds what is missing, boots VMs whose clock counts instructions (one for each half of the scenarios, so that both CPUs of the host work;
all competitors of a scenario are in one), prints tables, writes them to tables.txt, bench.json, two plots and the whole of what the guests said.

    tools/testing/bench/bench.py [--out DIR] [--jobs N] [--vgpu ARGS] [--twice] [--document] [SCENARIO...]
    tools/testing/bench/bench.py --compare FIRST SECOND

--vgpu: another virtual GPU, as "asic=gfx942 xccs=2". --twice: a second time, and how far the two agree.
--document: that, and writes goals and plots of Documentation/performance.rst; needs all scenarios. --again FILE: no VM,
the figures of FILE (raw.txt); a second FILE: those of the second time, of whatever was done twice. --compare: no VM, do two bench.json agree in what the text of performance.rst relies on? Exit
status 1 if not.

Touches: $BUILD (through make), DIR (default $BUILD/bench), with --document Documentation/performance*.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time

import costs
import document
import results
import svg
import yardstick

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))
BUILD = os.path.abspath(os.environ.get("BUILD") or os.path.join(TOP, "build"))
SCENARIOS = os.path.join(HERE, "scenarios")
TIMEOUT_S = 5400
# A guest with long scenarios has so many seconds for each of virtual time.
LONG_FACTOR = 6
# A program that was woken up this much too late had no CPU: its latency is the guest's.
LATE_US = 5000
# A small device with the save time of an MI210 (presets in Documentation/virtual-gpu.rst): 32 waves of 512 VGPRs, 512 bytes of SGPRs and 128 of
# hardware registers are 4.2 MB. Comparing each translation with the page tables is for tests: it takes instructions, and these take time.
VGPU = {"preset": "small", "vram_mb": 64, "hbm_bytes_per_us": 109000, "poll_ns": 50000, "tlb": "cached"}
FULL_SAVE_US = 32 * (512 * 256 + 512 + 128) / VGPU["hbm_bytes_per_us"]
TRAP_US, RUNLIST_US, DISPATCH_US = 10, 20, 2
# What scenarios with the costs of an MI308X have instead
LARGE_SAVE_US = FULL_SAVE_US * VGPU["hbm_bytes_per_us"] / 458000
RING_US, LOOK_US = 1, VGPU["poll_ns"] / 1000
MODEL = {
    "device": "gfx90a, 8 compute units, 2 where many queues work; hardware scheduler (HWS) unless the scenario says otherwise; some are like an MI308X in what saving takes",
    "saving or restoring a full device": f"{FULL_SAVE_US:.1f} us; {LARGE_SAVE_US:.1f} us where it is like an MI308X",
    "trap handler, each way": f"{TRAP_US} us",
    "an unmap request": f"{RUNLIST_US} us",
    "a runlist until queues are connected": f"{costs.CONNECT_US[0]} us; {costs.CONNECT_US[1]} us for each process in scenarios whose name says slow-connect",
    "from a packet to its first waves": f"{DISPATCH_US} us",
    "until the driver's doorbell is seen": f"{RING_US} us",
    "until a program's doorbell is seen": f"{LOOK_US:.0f} us at most; less if the program sleeps before",
    "guest": "1 ns an instruction; one CPU for all programs and the driver, one for the device and behind it the scheduler's thread",
}


def say(text=""):
    print(text, flush=True)


def fail(text):
    say(f"bench: {text}")
    sys.exit(1)


def header(path):
    """The words of a scenario that are for readers, and how long a run of it takes."""
    words = {}
    with open(path) as f:
        for line in f:
            key, _, rest = line.strip().partition(" ")
            if key in ("title", "what", "only", "amdgpu", "vgpu", "window_ms", "settle_ms", "long", "criteria"):
                words[key] = rest.strip()
    runs = len(words["only"].split()) if "only" in words else len(results.COMPETITORS) + 1
    words["cost"] = (float(words["window_ms"]) + float(words.get("settle_ms", 100)) + 300) * runs
    return words


def build(out):
    """The module, kept in OUT: the folder that it is built in is that of other clones as well, and guests begin one after the other."""
    say("bench: building (first time: the driver, many minutes; later: seconds)")
    subprocess.run(["make", "-s", "-C", TOP, "testbed"], check=True, stdout=sys.stderr)
    made = subprocess.run(["make", "-s", "-C", TOP, "modules", "FLAVOUR=test"], check=True, stdout=subprocess.PIPE, text=True)
    return shutil.copy(made.stdout.strip().splitlines()[-1], out)


def device(words):
    """What the device of a scenario takes, in microseconds, by the words of its file"""
    given = dict(w.split("=") for w in words.get("vgpu", "").split())
    return {"unmap_us": int(given.get("runlist_ns", RUNLIST_US * 1000)) / 1000, "connect_us": int(given.get("connect_ns", costs.CONNECT_US[0] * 1000)) / 1000}


def split(names, headers, jobs):
    """As equal parts as it goes, the longest first. Those for which the driver or the device has other parameters have guests of their own."""
    def modules(name):
        return headers[name].get("amdgpu", ""), headers[name].get("vgpu", "")
    parts = [[n for n in names if modules(n) == s] for s in sorted({modules(n) for n in names} - {("", "")})]
    names = [n for n in names if modules(n) == ("", "")]
    return halve(names, headers, jobs) + parts if names else parts


def halve(names, headers, jobs):
    parts = [[] for _ in range(min(jobs, len(names)))]
    cost = [0] * len(parts)
    for name in sorted(names, key=lambda n: -headers[n]["cost"]):
        i = cost.index(min(cost))
        parts[i].append(name)
        cost[i] += headers[name]["cost"]
    return parts


class Guest(threading.Thread):
    """One VM with some of the scenarios."""

    def __init__(self, amdgpu, names, headers, scenarios, out, reader, turn):
        super().__init__()
        self.turn = turn
        self.log = os.path.join(out, f"guest-{names[0]}")
        self.reader, self.status, self.lines = reader, None, []
        arguments = " ".join(f"{k}={v}" for k, v in VGPU.items()) + " " + headers[names[0]].get("vgpu", "")
        timeout_s = max(TIMEOUT_S, LONG_FACTOR * sum(headers[n]["cost"] / 1000 for n in names if "long" in headers[n]))
        self.argv = [os.path.join(TOP, "tools/testing/vm/vm"), "run", "--gpu", "fast", "--vgpu-args", arguments, "--amdgpu", amdgpu, "--icount",
                     "--amdgpu-args", headers[names[0]].get("amdgpu", ""), "--timeout", str(int(timeout_s)), "--out", self.log, "--add", f"{scenarios}:/scenarios", "--",
                     "bench", *(f"/scenarios/{n}" for n in names)]

    def run(self):
        # Of a bench that is broken off there is at least this: --again takes it.
        with self.turn, open(f"{self.log}.txt", "w", buffering=1) as log, \
             subprocess.Popen(self.argv, stdout=subprocess.PIPE, text=True, errors="replace") as vm:
            for line in vm.stdout:
                log.write(line)
                self.lines.append(line)
                self.reader.take(line)
        self.status = vm.returncode


def measure(amdgpu, names, headers, scenarios, out, jobs):
    """{scenario: {competitor: Run}}; raw.txt"""
    begun = time.monotonic()

    def tell(run):
        what = "not in this build" if run.absent else "done" if run.good else f"WENT WRONG {' '.join(run.problems)}"
        say(f"  {time.monotonic() - begun:5.0f} s  {run.scenario}, {run.competitor}: {what}")
    turn = threading.Semaphore(jobs)
    guests = [Guest(amdgpu, part, headers, scenarios, out, results.Reader(tell), turn) for part in split(names, headers, jobs)]
    for g in guests:
        g.start()
    for g in guests:
        g.join()
    with open(os.path.join(out, "raw.txt"), "w") as f:
        for g in guests:
            f.writelines(g.lines)
    for g in guests:
        if g.status:
            say(f"bench: a guest ended with status {g.status}; its log: {g.log}/console.log")
    return {k: v for g in guests for k, v in g.reader.runs.items()}, all(g.status == 0 for g in guests)


def again(path):
    reader = results.Reader()
    with open(path) as f:
        for line in f:
            reader.take(line)
    return reader.runs, all(r.good or r.absent for of in reader.runs.values() for r in of.values())


def plots(runs):
    """{file: text}"""
    out = {}
    of = runs.get("foreground-20pct", {})
    curves = [(results.COMPETITORS[c], of[c].latencies()) for c in results.COMPETITORS if c in of and not of[c].absent]
    if curves:
        out["performance-latency.svg"] = svg.cdf("Foreground at 20 % beside a continuous background (virtual GPU)", curves)
    rows = []
    for competitor, run in runs.get("timeline", {}).items():
        begin = run.window["begin"]
        # A queue that is off the device is in no sample.
        times = sorted({ns for _, ns, _ in run.samples})
        seen = {(i, ns): waves for i, ns, waves in run.samples}
        tenants = [(t["name"], [(ns - begin, seen.get((n, ns), 0)) for ns in times]) for n, t in enumerate(run.tenants)]
        requests = [(a - begin, (d or run.window["end"]) - begin) for t in run.level(max) for a, _, d in t["requests"]]
        rows.append((results.COMPETITORS[competitor].split(" (")[0], run.elapsed(), run.window["slots"], tenants, requests))
    if rows:
        out["performance-timeline.svg"] = svg.timeline("Who has the device (virtual GPU)", rows)
    return out


def compare(paths):
    pair = []
    for path in paths:
        with open(path) as f:
            pair.append(json.load(f))
    rows = results.compare(*pair)
    far = sum(row[-1] for row in rows)
    if not rows:
        fail("nothing to compare: no figure is in both")
    say(document.aligned(document.SUMMARY_HEAD, document.summary_rows(rows)))
    say(f"bench: {len(rows) - far} of {len(rows)} figures agree within {results.AGREE_PCT} %, shares of the device or of a CPU within {results.AGREE_SHARE} of a percent")
    return 1 if far else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.join(BUILD, "bench"), help="folder for tables.txt, bench.json, plots, logs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="VMs at a time (default: number of CPUs)")
    parser.add_argument("--vgpu", default="", help="parameters of the virtual GPU for all scenarios, after their own")
    parser.add_argument("--twice", action="store_true", help="measure twice, and say how far the two agree")
    parser.add_argument("--document", action="store_true", help="the same, and write goals and plots of Documentation/performance.rst")
    parser.add_argument("--again", metavar="FILE", nargs="+", help="no VM: what guests said then")
    parser.add_argument("--compare", metavar="FILE", nargs=2, help="no VM: two bench.json")
    parser.add_argument("scenario", nargs="*", help="default: all of tools/testing/bench/scenarios that are not long")
    opts = parser.parse_args()
    if opts.compare:
        return compare(opts.compare)

    out = os.path.abspath(opts.out)
    scenarios = os.path.join(out, "scenarios")
    shutil.rmtree(scenarios, ignore_errors=True)
    shutil.copytree(SCENARIOS, scenarios, ignore=shutil.ignore_patterns("README"))
    costs.write(scenarios)
    known = sorted(os.listdir(scenarios))
    headers = {n: header(os.path.join(scenarios, n)) for n in known}
    for words in headers.values():
        words["vgpu"] = f"{words.get('vgpu', '')} {opts.vgpu}".strip()
    usual = [n for n in known if "long" not in headers[n]]
    names = opts.scenario or usual
    for name in set(names) - set(known):
        fail(f"no scenario named {name}; there are: {', '.join(known)}")
    if opts.document and (set(names) != set(usual) or opts.vgpu):
        fail("--document is for all scenarios that are not long, on their own devices")
    if opts.document and opts.again and len(opts.again) < 2:
        fail("--document with --again needs what guests said in two passes: two files")
    begun = time.monotonic()
    second = None
    if opts.again:
        runs, good = again(opts.again[0])
        if opts.again[1:]:
            second = again(opts.again[1])
    else:
        try:
            amdgpu = build(out)
        except subprocess.CalledProcessError as e:
            fail(f"{' '.join(e.cmd)} failed with status {e.returncode}")
        say(f"bench: {len(names)} scenarios in {min(opts.jobs, len(names))} virtual machines")
        runs, good = measure(amdgpu, names, headers, scenarios, out, opts.jobs)
        if opts.twice or opts.document:
            os.makedirs(os.path.join(out, "second"), exist_ok=True)
            second = measure(amdgpu, names, headers, scenarios, os.path.join(out, "second"), opts.jobs)
    if opts.again:
        runs = {n: of for n, of in runs.items() if n in names}
    unfinished = [f"{s} {c}" for s, of in runs.items() for c, r in of.items() if not (r.complete or r.absent)]
    if unfinished or set(names) - set(runs):
        fail(f"incomplete: {', '.join(unfinished) or 'no result'}")

    costs_of = costs.analyse(runs, results.summarise)
    devices = {n: device(headers[n]) for n in names}
    figures = {n: of for n, of in results.analyse(runs, devices).items() if not n.startswith(costs.PREFIX)}
    say("bench: the yardstick: the model alone, against what was measured on an MI308X")
    measured, good_yardstick = yardstick.measure()
    good &= good_yardstick
    order = [n for n in sorted(known, key=lambda n: (-headers[n]["cost"], n)) if n in figures and n != "timeline"]

    def sections(of):
        return {
            "summary": results.summary(of, RING_US),
            "thresholds": results.thresholds(of),
            "criteria": results.criteria(of, {n: headers[n]["criteria"].split() for n in names if "criteria" in headers[n]}),
            "scenarios": {n: {"title": headers[n]["title"], "follows": headers[n].get("what", ""), "competitors": of[n]} for n in order if n in of},
        }
    bench = {"clock": "virtual", "device": "virtual", "model": MODEL, "vgpu": VGPU, "yardstick": measured, "preemption_cost": costs_of, **sections(figures)}
    bench["missed"] = results.missed(bench)
    if second:
        good &= second[1]
        figures_second = {n: of for n, of in results.analyse(second[0], devices).items() if n in figures}
        bench["agreement"] = results.agreement(figures, figures_second)
        bench["summary_agreement"] = results.compare(bench, sections(figures_second))
        bench["summary_second"] = results.summary(figures_second, RING_US)
    drawn = plots(runs)
    for folder in [out] + ([os.path.join(TOP, "Documentation")] if opts.document else []):
        for name, text in drawn.items():
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
    with open(os.path.join(out, "bench.json"), "w") as f:
        json.dump(bench, f, indent=1)
        f.write("\n")
    if opts.document:
        with open(os.path.join(TOP, "Documentation/performance.rst"), "r+") as f:
            page = document.put_tables(f.read(), bench)
            f.seek(0)
            f.truncate()
            f.write(page)
    tables = document.text(bench)
    with open(os.path.join(out, "tables.txt"), "w") as f:
        f.write(tables)
    say(tables)
    for scenario, of in figures.items():
        for competitor, r in of.items():
            if not r["absent"] and (r["guest"]["late_us_max"] or 0) > LATE_US:
                say(f"  {scenario}, {competitor}: the guest kept programs waiting for up to {r['guest']['late_us_max'] / 1000:.1f} ms: not the device's doing")
    for what in bench["missed"]:
        say(f"  goal missed: {what}")
    say("  Virtual GPU, virtual time: this compares schedulers on one model. It says nothing about the speed of hardware.")
    say()
    say(f"bench: {'every item was done exactly once' if good else 'SOMETHING WENT WRONG'}; {out}/tables.txt, bench.json ({time.monotonic() - begun:.0f} s)")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check.py - run the suites of tests, sum up what they say

    tools/testing/check.py [--out DIR] [--jobs N] [--gpu DEVICE] [--gpus N] [--kernel KERNEL] [--all]
                           [--package] [--debug] [--kcsan] [--full] [--list] [--layer LAYER | SUITE...]

The table tools/testing/suites has a row for each suite: its name, when it runs, what it waits for, the
device it needs, and a command that prints TAP. Without SUITE all suites run whose row says `check`, N
at a time (a VM keeps one CPU busy). Those that took longest the last time begin first, with what waits
for them counted in, so that no CPU is idle at the end; those never seen come before all others, in the
table's order. The output of a suite is printed when it ends. A suite that dies, hangs or does not keep
its plan has failed. The last line is `N passed, N failed, N skipped`; the exit status is 0 only if
nothing failed and something passed. Lines `#: TEXT` of a suite are printed too.

--list prints what would run, as lines NAME<TAB>COMMAND, and runs nothing. With --in SUITE as well it
lists what SUITE runs in its own guest.

--layer runs the suites that a change of a folder of kfd_gpreempt/ needs, as the table's lines `layer` say.
With --gpu, --gpus or --kernel these are the ones of them that such a run has.

--all runs those that say `extended` or `package` too, --package only those that say `package`.

--gpu runs the suites that need a GPU, or those of them that are named, on another DEVICE: gfx942,
gfx942x2 (two XCCs), gfx942x4, gfx1100, mi308x (or another product that tools/vgpu/vm.py knows), verbatim (the
release build of amdgpu instead of the test build), or gfx942x2,verbatim.

--gpus does the same in guests with N GPUs, of which most suites look at the first. Those that say `one-gpu'
are left out: what they compare is of a machine with one. --gpu goes with it.

--kernel runs the suites that need amdgpu, or those of them that are named, on another KERNEL of Debian:
a name of tools/testing/vm/kernels, or a release. Logs are in $BUILD/KERNEL/check. --gpu goes with it, and
so do --debug and --kcsan, which then run what needs a VM on a kernel made from the source of KERNEL.

--debug runs the suites that say `debug` (all of those, or the named) on a kernel of our own that looks
for mistakes; tools/testing/vm/debug_kernel.sh builds it, once. Those that say `debug:SUITE` are run by
SUITE, together in one guest, or by themselves if they are named. Logs are in $BUILD/debug/check then,
and $BUILD/debug/gcov tells which lines of the scheduler were run.

--kcsan is the same for a kernel that looks for data races and the word `kcsan`; logs are in
$BUILD/kcsan/check.

--full is --all, and after that --debug, whose check.json is in DIR/debug; the last line is the sum of
both.

A run of all suites, or of all but the extended ones, ends with what each sort of suites took of its budget.
Another machine may be slower, so nothing fails because of that.

Touches: $BUILD (logs in $BUILD/check), $GPREEMPT_CACHE, DIR/check.json, and through tools/testing/deps.sh
the machine's packages.
"""
import argparse
import dataclasses
import json
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
SUITES = os.environ.get("SUITES") or os.path.join(TOP, "tools/testing/suites")       # the table
BUILD = os.path.abspath(os.environ.get("BUILD") or os.path.join(TOP, "build"))
CACHE = os.path.abspath(os.environ.get("GPREEMPT_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "kfd_gpreempt"))
VM = os.path.join(TOP, "tools/testing/vm/vm")
OTHER_KERNEL = os.environ.get("OTHER_KERNEL") or os.path.join(TOP, "tools/testing/vm/kernel.sh")
DEBUG_KERNEL = os.environ.get("DEBUG_KERNEL") or os.path.join(TOP, "tools/testing/vm/debug_kernel.sh")
SUITE_TIMEOUT_S = float(os.environ.get("SUITE_TIMEOUT_S") or 2700)
OWN_KERNELS = {"debug": [], "kcsan": ["--kcsan"]}       # what debug_kernel.sh is called with
DEBUG_SLOWDOWN = 6
KILL_AFTER_S = 5        # SIGKILL, for what SIGTERM did not end
SECONDS = os.path.join(CACHE, "check-seconds.json")
UNKNOWN_S = 3600        # of a suite that has not run yet

RESULT = re.compile(r"(not )?ok\b(?:\s+(\d+))?(?:\s*-)?\s*(.*)")
SUM = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped$")
PLAN = re.compile(r"1\.\.(\d+)(?:\s*#\s*(?:skip)?\s*(.*))?$", re.I)


def say(text=""):
    print(text, flush=True)


def die(text):
    say(f"check: {text}")
    sys.exit(2)


# --------------------------------------------------------------------------------- the table of suites

@dataclasses.dataclass
class Row:
    """One suite as the table has it."""

    name: str
    budget: str
    when: dict          # word: the suite that runs it in its own guest, or None
    after: list         # names of suites that have to end before this one begins
    where: list         # words of the column "where"
    command: str        # of a shell, in TOP

    def extended(self):
        return "extended" in self.when or "package" in self.when

    def needs_amdgpu(self):
        return "gpu" in self.where or "amdgpu" in self.where

    def fits_gpu(self):
        """Whether --gpu can give it another device: it needs one, and does not say which."""
        return "gpu" in self.where and not any(w.startswith("vgpu.asic=") for w in self.where)

    def fits(self, opts):
        """Whether it is among what --gpu and --gpus are about."""
        return (not opts.gpu or self.fits_gpu()) and (not opts.gpus or "gpu" in self.where and "one-gpu" not in self.where)

    def fits_kernel(self, kernel):
        return kernel in self.when if kernel else bool({"check", "extended", "package"} & set(self.when))

    def shell_command(self):
        """What runs the suite: its command, in a guest if the row says so."""
        if self.where[0] != "guest":
            return f"exec {self.command}"
        options, args = ["--gpu", "fast" if "gpu" in self.where else "none"], {"vgpu": [], "amdgpu": []}
        if "gpu" not in self.where:
            options += ["--amdgpu", '"$AMDGPU_TEST_KO"']
        for word in self.where[1:]:
            module, _, parameter = word.partition(".")
            if word == "icount":
                options.append("--icount")
            elif re.fullmatch(r"\d+s", word):
                options += ["--timeout", word[:-1]]
            elif word.startswith("add="):
                options += ["--add", f'"$TOP/{word[4:]}"']
            elif word.startswith("numa="):
                options += ["--numa", word[5:]]
            elif parameter and module in args:
                args[module].append(parameter)
            elif word not in ("gpu", "one-gpu", "amdgpu"):
                die(f"{self.name}: no such word for a guest: {word}")
        for module, parameters in args.items():
            if parameters:
                options += [f"--{module}-args", shlex.quote(" ".join(parameters))]
        return f'exec "$VM" run {" ".join(options)} -- {self.command}'

    def limit_s(self):
        """So long at most. What a guest may take is said to the VM."""
        own = [float(word[:-1]) for word in self.where if self.where[0] != "guest" and re.fullmatch(r"\d+s", word)]
        return own[0] if own else SUITE_TIMEOUT_S


def read_table():
    """({name: Row}, {budget: {False: seconds of CPU, True: of extended suites}}, {layer: [name of a suite]})"""
    rows, budgets, layers, budget = {}, {}, {}, None
    with open(SUITES) as f:
        lines = re.sub(r"\n[ \t]+(?=\S)", " ", f.read()).splitlines()
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("budget "):
            _, budget, plain, extended = line.split()
            budgets[budget] = {False: plain, True: extended}
            continue
        if line.startswith("layer "):
            _, layer, *layers[layer] = line.split()
            continue
        fields = [field.strip() for field in line.split("|", 4)]
        if len(fields) != 5 or not all(fields) or not budget:
            die(f"{SUITES}: not a row: {line}")
        name, when, after, where, command = fields
        when = {word.partition(":")[0]: word.partition(":")[2] or None for word in when.split()}
        if name in rows or not set(when) <= {"check", "extended", "package", *OWN_KERNELS}:
            die(f"{name}: " + ("twice in the table" if name in rows else f"no such time to run: {' '.join(when)}"))
        rows[name] = row = Row(name, budget, when, [] if after == "-" else after.split(), where.split(), command)
        if row.where[0] not in ("host", "starts-vm", "guest"):
            die(f"{name}: runs neither on the host nor in a guest: {row.where[0]}")
        row.shell_command()
        if row.fits_kernel(None) and budgets[budget][row.extended()] == "-":
            die(f"{name} has no budget in {budget}")
    for row in rows.values():
        for other in (*row.after, *filter(None, row.when.values())):
            if other not in rows:
                die(f"{row.name} refers to {other}, and there is no such suite")
    for layer, names in layers.items():
        for other in names:
            if other not in rows:
                die(f"layer {layer} needs {other}, and there is no such suite")
    return rows, budgets, layers


def select(rows, layers, opts, kernel):
    """The rows that are to run, in the table's order."""
    known = [row for row in rows.values() if row.fits_kernel(kernel)]
    if opts.kernel:
        known = [row for row in known if (row.where[0] != "host" if kernel else row.needs_amdgpu())]
    if opts.suite:
        for word in opts.suite:
            if word not in [row.name for row in known]:
                die(f"no suite named {word}; there are: {', '.join(row.name for row in known)}")
        return [row for row in known if row.name in opts.suite or row.when.get("extended") in opts.suite]
    if opts.layer:
        if opts.layer not in layers:
            die(f"no layer named {opts.layer}; there are: {', '.join(layers)}")
        return [row for row in known if row.name in layers[opts.layer] and row.fits(opts)]
    if opts.inside:
        return [row for row in known if row.when.get(kernel) == opts.inside]
    if kernel:
        return [row for row in known if not row.when[kernel] and row.fits(opts)]
    if opts.package:
        return [row for row in known if "package" in row.when]
    return [row for row in known if (opts.all or opts.full or not row.extended()) and row.fits(opts)]


# ------------------------------------------------------------------------------------------------------------- building

def step(title, argv):
    """One preparation; its output is shown only when it fails, but for how far it is (dkms/progress.sh)."""
    begun = time.monotonic()
    say(f"{title} ...")
    log = os.path.join(BUILD, "check", re.sub(r"\W+", "-", title) + ".log")
    terminal = sys.stdout.isatty()
    env = dict(os.environ, PROGRESS="bar") if terminal else None
    with open(log, "w") as f, subprocess.Popen(argv, cwd=TOP, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                               stderr=subprocess.STDOUT, text=True, errors="replace") as child:
        for line in child.stdout:
            if not line.startswith("... "):
                f.write(line)
            elif terminal:
                print(f"\r{line[4:].rstrip()}\x1b[K", end="", flush=True)
            else:
                say(f"  {line.rstrip()}")
    if terminal:
        print("\r\x1b[K", end="", flush=True)
    status = child.returncode
    if status:
        with open(log, errors="replace") as f:
            for line in f.read().splitlines()[-40:]:
                say(f"  | {line}")
        die(f"{title} failed ({' '.join(argv[:3])}: exit status {status}), no suite was run")
    say(f"{title} done ({time.monotonic() - begun:.1f} s)")


def answer(argv):
    """What a program prints; how far it is goes to standard error."""
    return subprocess.run(argv, stdout=subprocess.PIPE, text=True).stdout.strip()


def prepare(rows, own_kernel, other_kernel, verbatim):
    """Build what the suites need, or the release build of amdgpu if all are to run on it; returns their environment."""
    env = dict(os.environ, TOP=TOP, BUILD=BUILD, GPREEMPT_CACHE=CACHE, VGPU_CACHE=CACHE, VM=VM)
    os.makedirs(os.path.join(BUILD, "check"), exist_ok=True)
    if not os.environ.get("SUITES"):
        step("Debian packages", [os.path.join(TOP, "tools/testing/deps.sh")])
    if other_kernel:
        kver = answer([OTHER_KERNEL, other_kernel]) or die(f"no kernel {other_kernel}, no suite was run")
    elif not own_kernel:
        kver = answer([VM, "kver"]) or die("no 6.12 kernel headers found")
    if own_kernel:
        like = ["--like", kver, "--src", answer([OTHER_KERNEL, "--source", kver])] if other_kernel else []
        kver = answer([DEBUG_KERNEL, *OWN_KERNELS[own_kernel], *like]) or die("no debug kernel, no suite was run")
    env["KVER"] = os.environ["KVER"] = kver
    compile_in, against = [], []
    # This machine's compiler makes a debug kernel and its build programs, so it makes the modules too.
    # The machine's gcov reads their counts, and kernels of all series share one cache of objects.
    if other_kernel and not own_kernel:
        compile_in = [OTHER_KERNEL, "--in", kver]
        against = ["--src", f"/usr/src/linux-source-{'.'.join(kver.split('.')[:2])}.tar.xz"]
        env["COMPILE_IN"] = os.environ["COMPILE_IN"] = shlex.join(compile_in)
    if own_kernel:
        # Headers and source of a Debian kernel are found by its packages.
        kernel = os.path.join(CACHE, "kernel", kver)
        env["KDIR"] = os.environ["KDIR"] = os.path.join(kernel, "build")
        against = ["--headers", env["KDIR"], "--src", os.path.join(kernel, "source")]
    env["VGPU_KO"] = os.path.join(BUILD, "vgpu/vgpu.ko")
    built = "drivers/gpu/drm/amd/amdgpu/amdgpu.ko"
    env["AMDGPU_TEST_KO"] = os.path.join(CACHE, "amdgpu", kver, "test", built)
    if any(row.where[0] != "host" for row in rows):
        step("virtual GPU and guest programs", ["make", "-s", f"-j{os.cpu_count()}", "--no-print-directory", "testbed", f"BUILD={BUILD}"])
    if verbatim:
        env["AMDGPU_RELEASE_KO"] = os.path.join(CACHE, "amdgpu", kver, "release", built)
        step("amdgpu.ko, release build", [*compile_in, os.path.join(TOP, "dkms/build.sh"), "--kver", kver, *against])
    elif any(row.needs_amdgpu() for row in rows):
        step("amdgpu.ko, test build", [*compile_in, os.path.join(TOP, "dkms/build.sh"), "--kver", kver,
                                          "--flavour", "test", *against])
    return env


def environment(env):
    """ENV plus what an earlier suite may have left: the module that DKMS built (suite dkms)."""
    if "AMDGPU_RELEASE_KO" in env:
        return env
    released = os.path.join(CACHE, "amdgpu", env["KVER"], "release/amdgpu.ko")
    return dict(env, AMDGPU_RELEASE_KO=released) if os.path.exists(released) else env


# --------------------------------------------------------------------------------------------------------------- suites

class Suite:
    """One suite's run: reads its TAP, keeps its results and what there is to say about them."""

    def __init__(self, row):
        self.row = row
        self.name = name = row.name
        self.child = None
        self.killed = False
        self.text = []
        self.results = []               # (test, status, seconds)
        self.plan = self.skip_all = None
        self.problems = []
        self.recent = []                # lines since the last result, shown if the next one fails
        self.cpu_seconds = 0            # of the suite and all that it waited for: what others do at the same time matters less
        self.log = os.path.join(BUILD, "check", f"{name}.log")

    def say(self, text):
        self.text.append(text)

    def kill(self, number=signal.SIGTERM):
        """All of its processes; if it is about to be started, as soon as it is."""
        self.killed = True
        if self.child and self.child.returncode is None:
            try:
                os.killpg(self.child.pid, number)
            except ProcessLookupError:
                pass

    def run(self, env):
        self.begun = self.last = time.monotonic()
        with open(self.log, "w") as log, open(self.log + ".stderr", "w+", errors="replace") as err:
            child = self.child = subprocess.Popen(["sh", "-c", self.row.shell_command()], cwd=TOP, env=env,
                                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err,
                                                  start_new_session=True)
            if self.killed:
                self.kill()
            late = threading.Event()
            limit_s = self.row.limit_s()

            def expire():
                late.set()
                self.kill()
                time.sleep(KILL_AFTER_S)
                self.kill(signal.SIGKILL)
            timer = threading.Timer(limit_s, expire)
            timer.daemon = True
            timer.start()
            for raw in child.stdout:
                line = raw.decode(errors="replace").rstrip("\r\n")
                print(line, file=log, flush=True)
                self.line(line)
            _, status, used = os.wait4(child.pid, 0)
            status = child.returncode = os.waitstatus_to_exitcode(status)
            self.cpu_seconds = used.ru_utime + used.ru_stime
            timer.cancel()
            self.judge(status, limit_s if late.is_set() else 0)
            if self.failed():
                err.seek(0)
                for line in err.read().splitlines()[-60:]:
                    self.say(f"    stderr: {line}")
        self.seconds = time.monotonic() - self.begun

    def line(self, line):
        plan, result = PLAN.match(line), RESULT.match(line)
        if plan:
            if self.plan is not None:
                self.problems.append("prints two plans")
            self.plan, self.skip_all = int(plan.group(1)), plan.group(2)
        elif result:
            self.result(line, *result.groups())
        elif line.startswith("#: "):
            self.say(f"    {line[3:]}")
        elif line.startswith("Bail out!"):
            self.problems.append(line)
        else:
            self.recent.append(line)

    def result(self, line, bad, number, rest):
        name, _, directive = rest.partition("#")
        name = name.strip() or f"test {number}"
        if number and int(number) != len(self.results) + 1:
            self.problems.append(f"test number {number} where {len(self.results) + 1} was due")
        skipped = directive.strip().lower().startswith("skip")
        status = "fail" if bad else "skip" if skipped else "pass"
        now = time.monotonic()
        self.results.append((name, status, now - self.last))
        self.last = now
        if status == "fail":
            for text in self.recent[-40:]:
                self.say(f"    {text}")
            self.say(f"    {line}")
        elif status == "skip":
            self.say(f"    skipped: {name}: {directive.strip()[4:].strip() or 'no reason given'}")
        self.recent = []

    def judge(self, status, late_s):
        """What TAP alone does not say: death, silence, a plan that was not kept. LATE_S: it was ended after so many seconds."""
        ran = len(self.results)
        if late_s:
            self.problems.append(f"no end after {late_s:g} s")
        if self.plan == 0 and ran == 0:
            self.results.append((self.name, "skip", 0))
            self.say(f"    skipped: all of it: {self.skip_all or 'no reason given'}")
        elif self.plan is None:
            self.problems.append("prints no plan")
        elif self.plan != ran:
            self.problems.append(f"planned {self.plan} tests, ran {ran}")
        if status and not late_s and all(s != "fail" for _, s, _ in self.results):
            self.problems.append(f"exit status {status}" if status > 0 else f"killed by signal {-status}")
        if self.problems:
            for text in self.recent[-40:]:
                self.say(f"    {text}")
            self.say(f"    {self.name}: {'; '.join(self.problems)}")
            self.results.append((f"{self.name} (the suite itself)", "fail", time.monotonic() - self.last))

    def died(self, error):
        self.kill()
        self.say(f"    {self.name}: {error}")
        self.results.append((f"{self.name} (the suite itself)", "fail", 0))
        self.seconds = time.monotonic() - self.begun

    def count(self, status):
        return sum(s == status for _, s, _ in self.results)

    def failed(self):
        return self.count("fail")


def remembered():
    """Seconds that each suite took, whichever run it was in last."""
    try:
        with open(SECONDS) as f:
            return {str(k): float(v) for k, v in json.load(f).items()}
    except (OSError, ValueError, AttributeError):
        return {}


def remember(suites):
    os.makedirs(os.path.dirname(SECONDS), exist_ok=True)
    with open(f"{SECONDS}.{os.getpid()}", "w") as f:
        json.dump(dict(remembered(), **{s.name: round(s.seconds, 1) for s in suites}), f, indent=1)
    os.replace(f.name, SECONDS)


def longest_first(suites, waits):
    """The order in which suites had better begin: by the time until all that waits for them can be over. WAITS: {name: names}"""
    seconds = remembered()

    def until_end(name, seen=()):
        later = [n for n in waits if name in waits[n] and n not in seen]
        return seconds.get(name, UNKNOWN_S) + max((until_end(n, (*seen, n)) for n in later), default=0)
    return sorted(suites, key=lambda s: -until_end(s.name))


def run_all(suites, env, jobs):
    """Every suite once, at most JOBS at a time; prints each when it has ended."""
    changed = threading.Condition()
    waits = {s.name: s.row.after for s in suites}
    waiting, running = longest_first(suites, waits), set()

    def work(suite):
        try:
            suite.run(environment(env))
        except Exception as e:          # a suite that cannot be started is no reason to lose the others
            suite.died(e)
        with changed:
            running.discard(suite)
            for line in suite.text:
                say(line)
            say(f"{suite.name}: {suite.count('pass')} passed, {suite.failed()} failed, {suite.count('skip')} skipped"
                f" ({suite.seconds:.1f} s, {suite.cpu_seconds:.1f} of CPU)")
            changed.notify()

    try:
        with changed:
            while waiting or running:
                unfinished = {s.name for s in waiting} | {s.name for s in running}
                ready = [s for s in waiting if not unfinished.intersection(waits[s.name])]
                if ready and len(running) < jobs:
                    waiting.remove(ready[0])
                    running.add(ready[0])
                    say(f"{ready[0].name} ...")
                    threading.Thread(target=work, args=(ready[0],), daemon=True).start()
                elif running:
                    changed.wait()
                else:
                    die(f"these wait for each other: {', '.join(s.name for s in waiting)}")
    except BaseException:
        # Their threads collect them: nobody else may.
        for number in signal.SIGTERM, signal.SIGKILL:
            with changed:
                for suite in running:
                    suite.kill(number)
                if changed.wait_for(lambda: not running, KILL_AFTER_S):
                    break
        raise


def sum_up_budgets(suites, budgets):
    """What each sort of suites took, against its budget; a whole run only. Returns it for check.json."""
    sums = []
    for extended in False, True:
        for name, seconds in budgets.items():
            took = [s.cpu_seconds for s in suites if (s.row.budget, s.row.extended()) == (name, extended)]
            if took:
                budget = float(seconds[extended])
                sums.append({"sort": name, "extended": extended, "cpu_seconds": round(sum(took), 1), "budget": budget})
                say(f"{name + (', extended' if extended else ''):<32} {sum(took):7.1f} of {budget:5.0f} s of CPU"
                    + (", OVER ITS BUDGET" if sum(took) > budget else ""))
    return sums


def debug_stage(opts):
    """The same once more with --debug, in a process of its own; adds its sum, or a failure if there is none."""
    argv = [sys.executable, os.path.realpath(__file__), "--debug", "--jobs", str(opts.jobs)]
    if opts.out:
        argv += ["--out", os.path.join(opts.out, "debug")]
    line = ""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, errors="replace") as child:
        try:
            for line in child.stdout:
                say(line.rstrip("\n"))
        except BaseException:
            child.terminate()
            raise
    found = SUM.match(line.strip())
    if not found:
        say("FAILED: the stage on the debug kernel came to no end")
    return dict(zip(("passed", "failed", "skipped"), map(int, found.groups()) if found else (0, 1, 0)))


def sum_line(totals):
    return f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped"


def write_json(path, suites, budgets, totals, seconds):
    data = {"tests": [{"suite": s.name, "name": n, "status": st, "seconds": round(t, 3)}
                      for s in suites for n, st, t in s.results],
            "suites": [{"suite": s.name, "seconds": round(s.seconds, 3), "cpu_seconds": round(s.cpu_seconds, 3)} for s in suites],
            "budgets": budgets,
            "totals": dict(totals, seconds=round(seconds, 3))}
    with open(path, "w") as f:
        json.dump(data, f, indent=1)
        f.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", metavar="DIR", help="where check.json goes")
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count() or 1,
                        help="suites at a time (default: number of CPUs)")
    parser.add_argument("--gpu", metavar="DEVICE", help="gfx942, gfx942x2, gfx942x4, mi308x, verbatim; several with commas")
    parser.add_argument("--gpus", metavar="N", type=int, choices=range(1, 9), help="so many of them in each guest, 1 to 8")
    parser.add_argument("--kernel", help="another kernel than the machine's: tools/testing/vm/kernels")
    parser.add_argument("--debug", action="store_true", help="on the debug kernel, the suites that are for it")
    parser.add_argument("--kcsan", action="store_true", help="on the kernel that looks for data races, the suites that are for it")
    parser.add_argument("--all", action="store_true", help="extended suites too")
    parser.add_argument("--package", action="store_true", help="those that need what deps --package installs")
    parser.add_argument("--list", action="store_true", help="print what would run")
    parser.add_argument("--in", dest="inside", metavar="SUITE", help="with --list: what SUITE runs in its guest")
    parser.add_argument("--full", action="store_true", help="extended suites too, and then on the debug kernel those that are for it")
    parser.add_argument("--layer", help="the suites that a change of this folder of kfd_gpreempt/ needs")
    parser.add_argument("suite", nargs="*", metavar="SUITE")
    opts = parser.parse_args()
    # Suites have sessions of their own: whoever ends this one means them too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if opts.jobs < 1:
        die(f"--jobs {opts.jobs} is below 1")
    if opts.full and (opts.suite or opts.gpu or opts.gpus or opts.package or opts.debug or opts.kcsan):
        die("--full is everything: it goes with neither SUITE nor --gpu nor --gpus nor --package nor --debug nor --kcsan")
    if opts.debug and opts.kcsan:
        die("--debug and --kcsan are two kernels: one after the other")
    if opts.kernel and (opts.all or opts.package or opts.full):
        die("--kernel goes with --gpu, --debug, --kcsan and SUITE only")
    own_kernel = "debug" if opts.debug else "kcsan" if opts.kcsan else None
    if opts.inside and not (opts.list and own_kernel):
        die("--in goes with --list, and with --debug or --kcsan")
    if opts.layer and (opts.suite or opts.all or opts.package or opts.full):
        die("--layer says which suites run: it goes with neither SUITE nor --all nor --package nor --full")
    table, budgets, layers = read_table()
    rows = select(table, layers, opts, own_kernel)
    if opts.list:
        for row in rows:
            say(f"{row.name}\t{row.shell_command()}")
        return 0
    if platform.machine() != "x86_64":
        die(f"needs an x86_64 machine, this one is {platform.machine()}")
    if os.geteuid() != 0:
        die("needs root: it installs Debian packages and tries DKMS; the GPU and its driver stay inside a virtual machine")

    begun = time.monotonic()
    global BUILD, SUITE_TIMEOUT_S
    BUILD = os.environ["BUILD"] = os.path.normpath(os.path.join(BUILD, opts.kernel or "", own_kernel or ""))
    if own_kernel:
        SUITE_TIMEOUT_S *= DEBUG_SLOWDOWN
    if opts.debug:
        # Which lines of the scheduler the kernel runs, for host/tools/coverage.py
        os.environ["GCDA"] = os.path.join(BUILD, "gcov")
        shutil.rmtree(os.environ["GCDA"], ignore_errors=True)
    env = prepare(rows, own_kernel, opts.kernel, "verbatim" in (opts.gpu or "").split(","))
    if opts.gpu:
        env["VM_GPU"] = opts.gpu
    if opts.gpus:
        env["VM_GPUS"] = str(opts.gpus)
    suites = [Suite(row) for row in rows]
    run_all(suites, env, opts.jobs)
    if not own_kernel and not opts.kernel:
        remember(suites)
    totals = {"passed": 0, "failed": 0, "skipped": 0}
    for s in suites:
        totals["passed"] += s.count("pass")
        totals["failed"] += s.failed()
        totals["skipped"] += s.count("skip")
    part = opts.suite or opts.layer or opts.gpu or opts.gpus or opts.kernel or opts.package or own_kernel
    sums = [] if part else sum_up_budgets(suites, budgets)
    for s in suites:
        for name, status, _ in s.results:
            if status == "fail":
                say(f"FAILED: {s.name}: {name}  (log: {os.path.relpath(s.log, TOP)})")
    if opts.out:
        os.makedirs(opts.out, exist_ok=True)
        write_json(os.path.join(opts.out, "check.json"), suites, sums, totals, time.monotonic() - begun)
    if opts.full:
        say(f"without the debug kernel: {sum_line(totals)}")
        for key, number in debug_stage(opts).items():
            totals[key] += number
    say(sum_line(totals))
    return 1 if totals["failed"] or not totals["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""judge.py - what preempt-probe said, against what the model was told. TAP on stdout

	judge.py FOLDER

FOLDER has what vm.sh's guest left: NAME.json, .txt, .err, .status, and guest.sh, which says what each device costs.
"""
import json
import os
import re
import subprocess
import sys

TESTING = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
COMPARE = os.path.join(TESTING, "hardware")
sys.path[:0] = [TESTING, COMPARE]
import compare  # noqa: E402  # pylint: disable=wrong-import-position
import tap  # noqa: E402  # pylint: disable=wrong-import-position

FOLDER = sys.argv[1]
# The driver's and the guest's part of a call: thread, interrupt, wake-up
CALL_SLACK_US = 400
# A part of what the device takes: meanwhile the driver's thread gives its CPU to others, and on 7.3 gets it back a time slice later
CALL_SHARE = 0.02
# The same where other processes have the guest's only CPU first; another save request would take 10 ms
SHARED_SLACK_US = 3000
# The model takes a request at the time to which it has interpreted code, and the clock is ahead by what that took: RUN_NS of device.c at most
BEHIND_US = 50
# Until a wave whose code is interpreted looks at the clock again, after the slices of all others; another save request would take 10 ms
LOOK_SLACK_US = 6000


def text(name):
    path = os.path.join(FOLDER, name)
    if not os.path.exists(path):
        return ""
    with open(path, errors="replace") as f:
        return f.read()


class Report:
    """What one run of the probe left, and what its device costs: that of the last gpu-up before it."""

    def __init__(self, name, mode):
        self.status, self.err, self.txt = text(f"{name}.status").strip(), text(f"{name}.err"), text(f"{name}.txt")
        body = text(f"{name}.json")
        self.json = json.loads(body) if body else {}
        self.rows = self.json.get("rows", [])
        script = text("guest.sh").split(f"\n{mode})")[-1].split(";;")[0]
        before = script.split(f"probe {name} ")[0]
        costs = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", before.split("gpu-up")[-1])}
        self.costs = {"xccs": 1, "trap_ns": 0, "runlist_ns": 0, "connect_ns": 0, "hbm_bytes_per_us": 1, **costs}
        self.unmap_us, self.connect_us = self.costs["runlist_ns"] / 1000, self.costs["connect_ns"] / 1000

    def save_us(self, row):
        return compare.predicted(row, self.costs)["call_us"] - self.unmap_us

    def measured(self):
        return [r for r in self.rows if r["series"] != "quiet" and not r["not_measured"]]

    def complete(self, calls):
        return self.status == "0" and len(self.rows) > 1 and len(self.measured()) == len(self.rows) - 1 and all(
            r["call_us"]["count"] == calls and r["uncounted"] == 0 and (not r["waves"] or r["off_us"]["count"] == calls) for r in self.measured())

    def busy(self, series):
        return [r for r in self.measured() if r["series"] == series and r["waves"] and r["off_us"]]

    def calls_are(self, slack_us=CALL_SLACK_US):
        """A call takes the unmap request and the save, no less, and little more; the figures are in order."""
        return all(
            r["call_us"]["least"] <= r["call_us"]["median"] <= r["call_us"]["most"] and
            -BEHIND_US <= r["call_us"]["median"] - device_us <= slack_us + CALL_SHARE * device_us
            for r in self.measured() for device_us in [self.unmap_us + self.save_us(r)])

    def off_is(self):
        """A wave is away for save, unmap request, runlist and restore."""
        return all(0 <= r["off_us"]["median"] - self.unmap_us - self.connect_us - 2 * self.save_us(r) <= LOOK_SLACK_US for r in self.busy("occupancy"))

    def stamps_are(self):
        """Root sees what firmware noted: of a queue that is saved with waves, never more than the call, and of the model nothing else."""
        return all(r[f"firmware_{what}_us"] and about(r[f"firmware_{what}_us"]["median"], self.save_us(r), 3)
                   for r in self.busy("occupancy") for what in ("save", "restore"))

    def back_is(self):
        """After the call there is the runlist and the restore."""
        return all(-CALL_SLACK_US <= r["back_us"]["median"] - self.connect_us - self.save_us(r) <= LOOK_SLACK_US for r in self.busy("occupancy"))


def full(report, key):
    rows = report.busy("occupancy")
    return rows[-1][key]["median"] if rows else 0


def about(value, wanted, percent):
    return abs(value - wanted) <= wanted * percent / 100


def model_in_the_model(name, costs):
    """What compare.py says of the report of a device that costs so much"""
    given = [f"--cost={k}={costs[k]}" for k in ("trap_ns", "runlist_ns", "connect_ns", "hbm_bytes_per_us")]
    out = subprocess.run([os.path.join(COMPARE, "compare.py"), os.path.join(FOLDER, f"{name}.json"), "--preset=small", *given],
                         stdout=subprocess.PIPE, text=True, check=False)
    return out.returncode == 0 and "\n0 figures are further" in out.stdout


def every_bound(report):
    b = report.json.get("bounds", {})
    return all(b.get(k, 0) > 0 for k in ("unmap_us", "save_host_us", "save_vram_us", "restore_host_us", "restore_vram_us", "off_host_us", "off_vram_us"))


def main():
    mode = os.path.basename(FOLDER.rstrip("/"))
    base = Report("base", mode)
    machine = base.json.get("machine", {})
    checks = [
        ("without a device it says so, and measures nothing", text("absent.status").strip() == "4" and "/dev/kfd" in text("absent.err") and not text("absent.txt")),
        ("all calls of all rows find all waves at work, and show in each", base.complete(2)),
        ("a call takes what the model takes for the request and the save", base.calls_are()),
        ("waves are away for request, save, runlist and restore", base.off_is()),
        ("the runlist and the restore come after the call", base.back_is()),
        ("what firmware noted of save and restore is what they cost", bool(base.busy("occupancy")) and base.stamps_are()),
        ("it names kernel, driver and firmware", all(machine.get(k) for k in ("kernel", "amdgpu.sched_policy", "KFD interface", "firmware mec"))),
        ("it says that the GPU is virtual", base.json.get("virtual_gpu") is True and base.txt.startswith("VIRTUAL GPU")),
        ("each bound has its value", every_bound(base)),
        ("compare finds the model in it, and no dearer one",
         model_in_the_model("base", base.costs) and not model_in_the_model("base", dict(base.costs, trap_ns=4 * base.costs["trap_ns"]))),
    ]
    if mode == "stock":
        light, heavy = base.busy("registers") or ({}, {})
        checks += [
            ("the driver is the kernel's own", "amdgpu.gpreempt_enable" not in machine and bool(machine)),
            ("waves of few registers cost less than few waves of all registers",
             bool(light) and light["waves"] > heavy["waves"] and light["call_us"]["most"] < heavy["call_us"]["least"]),
        ]
    else:
        double, again, beside, unsaved = (Report(n, mode) for n in ("double", "again", "beside", "unsaved"))
        checks += [
            ("the same of a device that costs twice as much", double.complete(2) and double.calls_are() and double.off_is()),
            ("saving twice as dear shows as twice as dear",
             about(full(double, "call_us") - double.unmap_us, 2 * (full(base, "call_us") - base.unmap_us), 5)),
            ("all of it twice as dear keeps waves away twice as long", about(full(double, "off_us"), 2 * full(base, "off_us"), 5)),
            ("queues of several processes are saved by one call", again.complete(1) and again.calls_are(SHARED_SLACK_US)),
            ("it makes no call while another program has queues",
             beside.status == "4" and "queues of other programs" in beside.err and not beside.json and not beside.txt),
            ("it makes none if the driver does not save waves", unsaved.status == "4" and "cwsr_enable" in unsaved.err and not unsaved.json),
        ]
    failed = tap.report_checks(checks)
    if failed:
        for name in ("base", "double", "again", "beside", "unsaved"):
            for line in (text(f"{name}.txt") + text(f"{name}.err")).splitlines():
                print(f"# {name}: {line}")
    return failed


sys.exit(main())

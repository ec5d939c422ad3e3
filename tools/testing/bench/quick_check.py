#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""quick_check.py - a moment of the bench, judged: ratios within one run. TAP

    tools/testing/bench/quick_check.py [--again FILE]

--again: no VM, judge what the guest said then (what `vm run ... bench` printed).
"""
import os
import subprocess
import sys

import costs
import results
import yardstick

HERE = os.path.dirname(os.path.realpath(__file__))
VM = os.environ.get("VM") or os.path.join(HERE, "../vm/vm")
SCENARIOS = ("foreground", "idle")


def guest():
    argv = [VM, "run", "--gpu", "fast", "--vgpu-args", "vram_mb=64 hbm_bytes_per_us=109000 tlb=cached", "--icount", "--timeout", "600",
            "--add", f"{HERE}/quick:/scenarios", "--", "bench", *(f"/scenarios/{s}" for s in SCENARIOS)]
    out = subprocess.run(argv, stdout=subprocess.PIPE, text=True, errors="replace")
    return out.stdout.splitlines(), out.returncode


# One request of 2 ms, found 80 us after it rang, saved after 50 us, of which the device took 30; one that was not served. Without anybody: 2 ms and 1 ms.
# And one that two preemptions cost a fiftieth of what it did without them.
BY_HAND = """
run s alone
window begin=0 end=10000000 slots=10
scheduler wakeups=0 checks=0 preemptions=0 failures=0 cpu_ns=0 poller_looks=0 poller_cpu_ns=0
tenant 0 name=a level=2 bystander=0 arrival=periodic done=1 lost=0 twice=0 wave_ns=30000000
request 0 1000000 1000000 3000000 1010000
request 0 6000000 6000000 7000000 6010000
end s alone good
run s background
window begin=0 end=10000000 slots=10
scheduler wakeups=0 checks=0 preemptions=0 failures=0 cpu_ns=0 poller_looks=0 poller_cpu_ns=0
tenant 0 name=b level=0 bystander=0 arrival=continuous done=1 lost=0 twice=0 wave_ns=100000000
end s background good
run s gpreempt
window begin=0 end=10000000 slots=10
scheduler wakeups=20 checks=20 preemptions=1 failures=0 saves=1 save_ns=30000 cpu_ns=100000 poller_looks=0 poller_cpu_ns=0
tenant 0 name=a level=2 bystander=0 arrival=periodic done=1 lost=0 twice=0 wave_ns=20000000
tenant 1 name=b level=0 bystander=0 arrival=continuous done=1 lost=1 twice=0 wave_ns=72000000
request 0 1000000 1000000 3200000 1020000
request 0 6000000 0 0 0
saved 30000
event 0.001100 gpreempt_inversion: nr_preempt=1
event 0.001150 gpreempt_preempt_end: elapsed_ns=50000
event 0.003300 gpreempt_resume: elapsed_ns=60000
end s gpreempt bad
run b stock
window begin=0 end=10000000 slots=10
scheduler wakeups=0 checks=0 preemptions=0 failures=0 cpu_ns=0 poller_looks=0 poller_cpu_ns=0
tenant 0 name=c level=1 bystander=1 arrival=continuous done=1 lost=0 twice=0 wave_ns=50000000
end b stock good
run b gpreempt
window begin=0 end=10000000 slots=10
scheduler wakeups=20 checks=20 preemptions=2 failures=0 cpu_ns=100000 poller_looks=0 poller_cpu_ns=0
tenant 0 name=c level=1 bystander=1 arrival=continuous done=1 lost=0 twice=0 wave_ns=49000000
end b gpreempt good
"""


def by_hand():
    """What was computed with paper and pencil; the difference, if there is one."""
    reader = results.Reader()
    for line in BY_HAND.strip().splitlines():
        reader.take(line)
    figures = results.analyse(reader.runs, {"s": {"unmap_us": 20, "connect_us": 20}})
    r = figures["s"]["gpreempt"]
    against = yardstick.parse(["# yardstick s queues p50 measured=100 model=74 no-spread", "# yardstick s queues p99 measured=100 model=133 within"])
    # A goal that is reached, one that is missed, and a floor that is; a second time the loss is apart by less than a window tells, and the latency is not
    bench = {"summary": {"notice_us_p50": 10, "cpu_pct": 1.6, "be_loss_pct": 1.0}, "thresholds": [], "scenarios": {"s": {"competitors": figures["s"]}}}
    again = dict(bench, summary={"notice_us_p50": 10.1, "cpu_pct": 1.7, "be_loss_pct": 1.04})
    met = [c["met"] for c in results.criteria(figures, {"s": list(results.CRITERIA)}) if c["competitor"] == "gpreempt"]
    seen = {"p50": r["latency"]["p50_us"], "max": r["latency"]["max_us"], "over": r["p99_over_alone"], "loss": r["be_loss_pct"],
            "unserved": r["unserved"], "notice": r["phases"]["notice"]["p50_us"], "save": r["phases"]["save"]["p50_us"],
            "end": r["phases"]["end_noticed"]["p50_us"], "wakeups": r["scheduler"]["wakeups_per_s"], "cpu": r["scheduler"]["cpu_pct"],
            "lost": r["items"]["lost"], "overhead": results.save_overhead(r, 1), "good": reader.runs["s"]["gpreempt"].good,
            "criteria": met, "thresholds": [t["met"] for t in results.thresholds({"intensive": figures["s"], "decode": figures["s"]})],
            "lost": costs.lost_us(reader.runs["s"]["gpreempt"], reader.runs["s"]["background"]),
            "missed": results.missed(bench), "apart": {row[0]: row[-1] for row in results.compare(bench, again)},
            "floor": r["floor"], "bystanders": figures["b"]["gpreempt"]["bystanders"],
            "yardstick": [(f["ratio"], f["within"], f["why"]) for f in against]}
    due = {"p50": 2200, "max": 4000, "over": 2.0, "loss": 10.0, "unserved": 1, "notice": 80, "save": 50, "end": 40, "wakeups": 2000.0,
           "cpu": 1.0, "lost": 1, "overhead": 19.0, "good": False,
           # one was not served: online is not met; there are no requests of the lower level
           "criteria": [False, False, True, True, False, None],
           # p99 and loss of two scenarios; of decoding, as much may be lost, but one was not served
           "thresholds": [False, False, False, False],
           # Before the request 30 and 20 us, after it 20 and 10: of 10 ms
           "floor": {"before_us": 50.0, "loss_pct": 0.8, "judged": True, "p50_us": 1050.0, "p50_over": 2.095, "p50_over_alone": 1.05,
                     "p99_us": 2050.0, "p99_over": 1.951, "p99_over_alone": 1.025},
           "missed": ["CPU of the monitor beside the foreground: 1.6 %, not 1.5", "s, p50 over the floor: 2.095, not 1.05", "s, p99 over the floor: 1.951, not 1.1"],
           "apart": {"notice_us_p50": False, "cpu_pct": True, "be_loss_pct": False, "floor_p50_over": False, "floor_p99_over": False},
           "bystanders": {"loss_pct": 2.0, "lost_us_per_preemption": 100.0},
           # 8 % of the window, in two requests
           "lost": 400.0, "yardstick": [(0.74, False, "no-spread"), (1.33, True, None)]}
    return {k: (v, due[k]) for k, v in seen.items() if v != due[k]}


def below(value, most):
    """0 is a value: decided before the doorbell."""
    return value is not None and value < most


def of_the_model(run, r, alone):
    """
    What a large device costs whatever the scheduler does, for the model's instructions are the guest's time: of a request that was served alone a save's
    share, of the window that of all saves in percent, and us for each look at the device.
    """
    save_us, elapsed_us = r["device"]["save_us_mean"] or 0, run.elapsed() / 1000
    looks = r["scheduler"]["wakeups_per_s"] * elapsed_us / 1e6
    return (round(save_us / alone["latency"]["p50_us"], 3), round(100 * save_us * r["device"]["saves"] / elapsed_us, 2),
            round(r["guest"]["device_cpu_pct"] / 100 * elapsed_us / looks, 1) if looks else 0)


def main():
    if sys.argv[1:2] == ["--again"]:
        with open(sys.argv[2]) as f:
            lines, status = f.readlines(), 0
    else:
        lines, status = guest()
    reader = results.Reader()
    for line in lines:
        reader.take(line)
    runs = reader.runs
    complete = set(runs) == set(SCENARIOS) and all(r.complete for of in runs.values() for r in of.values())
    print("1..9")
    print(f"{'ok' if not status and complete else 'not ok'} 1 - the guest does all of it, without a complaint of its kernel")
    if not complete:
        print("Bail out! incomplete")
        return 1
    figures = results.analyse(runs)
    of = figures["foreground"]
    ours, gap = of["gpreempt"], of["launch-gap"]
    save_share, saves_pct, look_us = of_the_model(runs["foreground"]["gpreempt"], ours, of["alone"])
    items = [r["items"] for f in figures.values() for r in f.values()]
    idle = figures["idle"]["gpreempt"]["scheduler"]["wakeups_per_s"]
    checks = (
        ("the arithmetic, on figures made by hand", not by_hand(), by_hand()),
        ("every item is done exactly once, whoever decides", all(r.good for s in runs.values() for r in s.values()) and
         all(i["done"] and not i["lost"] and not i["twice"] for i in items), items),
        ("every request that finds the device taken causes a preemption", ours["phases"]["notice"]["count"] >= ours["requests"] > 5,
         ours["phases"]["notice"]),
        ("foreground: p99 at most 1.10 of alone and a save, above 2 where launches are held back",
         ours["p99_over_alone"] <= 1.10 + save_share and gap["p99_over_alone"] > 2, (ours["p99_over_alone"], save_share, gap["p99_over_alone"])),
        # Half a look and a pass are 50 us; that the median is below 60, and saving within 50 of what the device takes, is for the requests of "make bench"
        # to show.
        ("doorbell to decision: median below a look, which is 80 us where it looks", below(ours["phases"]["notice"]["p50_us"], 80 + look_us),
         (ours["phases"]["notice"], look_us)),
        ("decision to saved: median below 1.75 of what the model takes", below(ours["phases"]["save"]["p50_us"], 1.75 * (ours["device"]["save_us_mean"] or 0)),
         (ours["phases"]["save"], ours["device"])),
        ("background: at most 5 % lost beyond the foreground's share and the saves", ours["be_loss_pct"] <= 5 + saves_pct, (ours["be_loss_pct"], saves_pct)),
        ("nobody works: no wake-up", idle == 0, idle),
    )
    for number, (name, good, seen) in enumerate(checks, 2):
        print(f"# {seen}")
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
    return 0 if all(good for _, good, _ in checks) and not status else 1


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT
"""costs - what a preemption costs, against the numbers of processes, queues and waves

Scenarios that are made here, run by the bench's program like all others: a background in so many processes with so many queues each, which
together fill a share of the device with waves that last as long as their kernel, and a short request every 10 ms.
"""
import math
import os

PREFIX = "cost-"
# (processes, queues of each, percent of the device): one of the three varies, beside the first one
GRID = ((1, 1, 100), (2, 1, 100), (4, 1, 100), (8, 1, 100), (1, 2, 100), (1, 4, 100), (1, 8, 100), (4, 4, 100), (1, 1, 12), (1, 1, 25), (1, 1, 50))
CONNECT_US = (20, 160)
# A device whose full save takes as long as an MI308X's; what a further process adds: the two ends of what is possible
VGPU = "hbm_bytes_per_us=458000"
NEXT_US = {20: 0, 160: 160}
SCENARIO = """# SPDX-License-Identifier: MIT
title {processes} processes, {queues} queues each, {percent} % of the device
window_ms 400
settle_ms 200
only background gpreempt
{vgpu}
tenant name=infer level=high arrival=periodic period_us=10013 kernels=1 kernel_us=500
"""
LOW = "tenant name=p{process} level=low arrival=continuous count={queues} together=1 kernels=4 kernel_us=5000 steps=5 percent={each}\n"


def name(connect_us, processes, queues, percent):
    return f"{PREFIX}c{connect_us}-p{processes}-q{queues}-w{percent}"


def write(folder):
    """Scenarios into FOLDER"""
    for connect_us in CONNECT_US:
        for processes, queues, percent in GRID:
            vgpu = f"vgpu {VGPU}" + (f" connect_ns={connect_us}000 connect_next_ns={NEXT_US[connect_us]}000" if NEXT_US[connect_us] else "")
            text = SCENARIO.format(processes=processes, queues=queues, percent=percent, vgpu=vgpu)
            each = math.ceil(percent / (processes * queues))
            text += "".join(LOW.format(process=p, queues=queues, each=each) for p in range(processes))
            with open(os.path.join(folder, name(connect_us, processes, queues, percent)), "w") as f:
                f.write(text)


def lost_us(run, background):
    """Device time that each preemption took from the background, as long as a whole background's"""
    if not run.scheduler["preemptions"] or not background.tenants:
        return None
    possible = background.used(background.tenants)
    high = [t for t in run.tenants if t["level"] > 0]
    low = [t for t in run.tenants if t["level"] == 0]
    # Of the device that the background can use, what the requests did not take
    lost = possible - run.used(low) - run.used(high) * possible
    requests = sum(len(t["requests"]) for t in high)
    return round(lost / possible * run.elapsed() / 1000 / requests, 1) if requests else None


def analyse(runs, summarise):
    """The section of bench.json: an entry for each row of the grid that was measured"""
    result = []
    for connect_us in CONNECT_US:
        for row in GRID:
            of = runs.get(name(connect_us, *row), {})
            run, background = of.get("gpreempt"), of.get("background")
            if not run or not background or run.absent:
                continue
            r = summarise(run, None, background)
            result.append({"connect_us": connect_us, "connect_next_us": NEXT_US[connect_us], "processes": row[0], "queues_each": row[1], "percent": row[2],
                           "requests": r["requests"], "save_us_p50": r["phases"]["save"]["p50_us"], "device_save_us_mean": r["device"]["save_us_mean"],
                           "resume_us_p50": r["phases"]["resume"]["p50_us"], "lost_us": lost_us(run, background)})
    return result

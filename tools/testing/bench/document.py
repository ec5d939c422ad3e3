# SPDX-License-Identifier: MIT
"""document - bench.json as tables: all of them as text, goals and what was reached for Documentation/performance.rst"""
import re
import textwrap

import results
import yardstick

COLUMNS = ("", "p50", "p99", "p99.9", "max", "p50/alone", "p99/alone", "loss", "CPU", "wake-ups/s")
ABSENT = "not in this build"


def ms(us):
    return "-" if us is None else f"{us / 1000:.2f}"


def ratio(value):
    return "-" if value is None else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def percent(value):
    return "-" if value is None else f"{value:.1f} %"


def title_of(competitor, result):
    """How often it looks, it says itself."""
    poll_us = result.get("poll_us")
    return f"{results.COMPETITORS[competitor]} ({poll_us} us)" if competitor == "poll" and poll_us else results.COMPETITORS[competitor]


def rows(scenario):
    """A row for each competitor."""
    table = []
    for competitor in results.COMPETITORS:
        r = scenario["competitors"].get(competitor)
        if r is None:
            continue
        title = title_of(competitor, r)
        if r["absent"]:
            table.append((title, ABSENT) + ("",) * (len(COLUMNS) - 2))
            continue
        latency, s = r["latency"], r["scheduler"]
        # Of what was never served it is only known that it took longer.
        least = ">" if r["unserved"] else ""
        nobody = competitor in results.WITHOUT_A_SCHEDULER
        table.append((title, ms(latency["p50_us"]), *(least + ms(latency[k]) for k in ("p99_us", "p99_9_us", "max_us")),
                      ratio(r["p50_over_alone"]), least + ratio(r["p99_over_alone"]), percent(r["be_loss_pct"]),
                      "-" if nobody else f"{s['cpu_pct']:.1f} %", "-" if nobody else f"{s['wakeups_per_s']:.0f}"))
    return table


def phase_rows(scenario):
    table = []
    for competitor in results.COMPETITORS:
        r = scenario["competitors"].get(competitor)
        if r and not r["absent"] and r["phases"]["notice"]["count"]:
            cells = []
            for phase in results.PHASES:
                p = r["phases"][phase]
                cells.append(f"{p['p50_us']:.0f} / {p['p99_us']:.0f}")
            table.append((title_of(competitor, r), *cells, str(r["scheduler"]["preemptions"])))
    return table


def goal_rows(summary):
    """The goals are the default's."""
    table = []
    for key, name, unit, bound in results.GOALS:
        cells = []
        for of in (summary, *(summary.get(c) for c in results.BESIDE)):
            value = of.get(key) if of else None
            cells.append("-" if value is None else f"{value:g} {unit}".strip() + (" (missed)" if of is summary and value > bound else ""))
        table.append((name, f"{bound:g} {unit}".strip(), *cells))
    return table


def aligned(head, table, indent="  "):
    widths = [max(len(str(row[i])) for row in [head, *table]) for i in range(len(head))]
    return "\n".join(indent + "  ".join(str(c).ljust(w) if i == 0 else str(c).rjust(w) for i, (c, w) in enumerate(zip(row, widths)))
                     for row in [head, *table])


def rst_table(head, table):
    """A simple table. A cell "-" would be a bullet, and is empty; the last column is wrapped."""
    table = [[str(c) if c != "-" else "" for c in row] for row in [head, *table]]
    widths = [max(2, *(len(row[i]) for row in table)) for i in range(len(head))]
    widths[-1] = min(widths[-1], max(30, 100 - sum(w + 2 for w in widths[:-1])))
    bar = "  ".join("=" * w for w in widths)

    def line(cells):
        return "  ".join(c.ljust(w) for c, w in zip(cells, widths)).rstrip()

    def lines(row):
        # An empty first cell would continue the row above.
        first, *more = textwrap.wrap(row[-1], widths[-1]) or [""]
        return [line([row[0] or "..", *row[1:-1], first]), *(line([""] * (len(head) - 1) + [m]) for m in more)]
    rows_of = [lines(row) for row in table]
    return "\n".join([bar, *rows_of[0], bar, *(text for of in rows_of[1:] for text in of), bar])


PHASE_HEAD = ("", *results.PHASES.values(), "preemptions")
GOAL_HEAD = ("", "goal, at most", "default", *results.BESIDE)
SUMMARY_HEAD = ("", "of", "first", "second", "apart")
SUMMARY_NAMES = {**{key: name for key, name, *_ in results.GOALS}, **{f"{k}_p50": f"{name}, median" for k, name in results.PHASES.items()}}
AGREE_HEAD = ("", "apart, at most", "first", "second", "of", f"above {results.AGREE_PCT} %")


def summary_rows(rows):
    """Those of the default, and all that are apart by more than the goal, which say so."""
    return [(SUMMARY_NAMES.get(key, key), "default" if of == "gpreempt" else of, f"{a:g}", f"{b:g}", f"{apart:g} %" + (" (missed)" if far else ""))
            for key, of, a, b, apart, far in rows if far or of == "gpreempt"]


def agreement_rows(agreement):
    return [(name, f"{a['apart_pct']:g} %", f"{a['first']:g}", f"{a['second']:g}", f"{a['scenario']}, {a['competitor']}",
             f"{a['too_far']} of {a['count']}") for name, a in agreement.items()]


THRESHOLD_HEAD = ("scenario", "figure", "at most", "reached")
THRESHOLD_FIGURES = {"p99_over_alone": ("p99 over alone", ""), "be_loss_pct": ("loss beyond the foreground's share", " %")}


def threshold_rows(thresholds):
    return [(t["scenario"], THRESHOLD_FIGURES[t["figure"]][0], f"{t['bound']:g}{THRESHOLD_FIGURES[t['figure']][1]}",
             f"{t['value']:g}{THRESHOLD_FIGURES[t['figure']][1]}" + ("" if t["met"] else " (missed)")) for t in thresholds]


YARDSTICK_HEAD = ("scenario", "as", "figure", "measured", "model", "ratio")


def yardstick_value(f, key):
    return f"{f[key] / 10:g} %" if f["unit"] == "per mille" else ms(f[key]) + " ms"


def yardstick_rows(section):
    table = []
    for f in section["figures"]:
        figure = yardstick.FIGURES.get(f["figure"], f"{f['figure']} programs, an iteration of each")
        table.append((f["scenario"], f["as"].replace("-", " "), figure, yardstick_value(f, "measured"), yardstick_value(f, "model"),
                      f"{f['ratio']:.2f}" + (" (fitted)" if f["fitted"] else "" if f["within"] else f" ({f['why']})")))
    return table


BOTH_HEAD = ("", "p50", "p99", "p99/alone", "loss", "p50", "p99", "p99/alone", "loss")


def both_costs(bench):
    """[(title, table)]: each scenario that there is at two costs of a runlist"""
    out = []
    for name, fast in bench["scenarios"].items():
        slow = bench["scenarios"].get(name + results.SLOW)
        if not slow:
            continue
        table = []
        for competitor in results.COMPETITORS:
            pair = [of["competitors"].get(competitor) for of in (fast, slow)]
            if not all(pair) or any(r["absent"] for r in pair):
                continue
            cells = []
            for r in pair:
                least = ">" if r["unserved"] else ""
                cells += [ms(r["latency"]["p50_us"]), least + ms(r["latency"]["p99_us"]), least + ratio(r["p99_over_alone"]), percent(r["be_loss_pct"])]
            table.append((title_of(competitor, pair[0]), *cells))
        out.append((f"both costs of a runlist, {name}: at 20 us, at 160 us (ms)", table))
    return out


FLOOR_HEAD = ("scenario", "scheduler", "floor p50", "p50/floor", "floor p99", "p99/floor", "floor of p99/alone", "p99/alone", "floor of loss", "loss")


def floor_rows(bench):
    """A goal is the default's, and missed where it is judged."""
    table = []
    for name, scenario in bench["scenarios"].items():
        for competitor in ("gpreempt", "poll"):
            r = scenario["competitors"].get(competitor)
            f = r and not r["absent"] and r["floor"]
            if f:
                least = ">" if r["unserved"] else ""
                over = [ratio(f[key]) + (" (missed)" if competitor == "gpreempt" and f["judged"] and f[key] > bound else "")
                        for key, bound in results.FLOOR_BOUNDS.items()]
                table.append((name, "default" if competitor == "gpreempt" else "polling", ms(f["p50_us"]), over[0], ms(f["p99_us"]), least + over[1],
                              ratio(f["p99_over_alone"]), least + ratio(r["p99_over_alone"]),
                              f"{f['loss_pct']:g} %", "-" if r["be_loss_pct"] is None else f"{r['be_loss_pct']:g} %"))
    return table


BYSTANDER_HEAD = ("scenario", "scheduler", "preemptions", "loses", "for each preemption", "request p50", "p99")


def bystander_rows(bench):
    table = []
    for name, scenario in bench["scenarios"].items():
        for competitor in results.COMPETITORS:
            r = scenario["competitors"].get(competitor)
            b = r and not r["absent"] and r["bystanders"]
            if b and competitor not in results.WITHOUT_A_SCHEDULER:
                each_us = b["lost_us_per_preemption"]
                table.append((name, title_of(competitor, r), str(r["scheduler"]["preemptions"]), f"{b['loss_pct']:g} %",
                              "-" if each_us is None else f"{each_us:g} us", ms(r["latency"]["p50_us"]), ms(r["latency"]["p99_us"])))
    return table


COST_HEAD = ("processes", "queues of each", "of the device", "connect", "decision to saved", "decision to running", "device time lost")


def cost_rows(costs):
    def us_of(value):
        return "-" if value is None else f"{value:.0f} us"
    return [(str(c["processes"]), str(c["queues_each"]), f"{c['percent']} %", f"{c['connect_us']} us", us_of(c["save_us_p50"]), us_of(c["resume_us_p50"]),
             us_of(c["lost_us"])) for c in costs]


CRITERIA_HEAD = ("criteria", "scheduler", "", "value", "met")


def criteria_rows(criteria):
    return [(c["scenario"], c["competitor"], c["criterion"], "-" if c["value"] is None else f"{c['value']:g}",
             {None: "-", True: "yes", False: "no"}[c["met"]]) for c in criteria]


def text(bench):
    out = [""]
    for name, scenario in bench["scenarios"].items():
        requests = next((r["requests"] for r in scenario["competitors"].values() if not r["absent"]), 0)
        out += [f"{name}: {scenario['title']} ({requests} requests, ms)" if requests else f"{name}: {scenario['title']} (ms)", f"  ({scenario['follows']})"]
        out += [aligned(COLUMNS, rows(scenario)), ""]
        phases = phase_rows(scenario)
        if phases:
            out += [aligned(("phases, p50 / p99 in us", *PHASE_HEAD[1:]), phases), ""]
    if len(bench["summary"]) > 1:
        out += [aligned(("goals", *GOAL_HEAD[1:]), goal_rows(bench["summary"])), ""]
    if bench.get("preemption_cost"):
        out += ["what a preemption costs", aligned(COST_HEAD, cost_rows(bench["preemption_cost"])), ""]
    for title, table in both_costs(bench):
        out += [title, aligned(BOTH_HEAD, table), ""]
    for title, head, table in (("floor", FLOOR_HEAD, floor_rows(bench)), ("bystanders", BYSTANDER_HEAD, bystander_rows(bench))):
        if table:
            out += [title, aligned(head, table), ""]
    if bench.get("yardstick"):
        out += [aligned(("yardstick", *YARDSTICK_HEAD[1:]), yardstick_rows(bench["yardstick"])), ""]
    if bench.get("thresholds"):
        out += [aligned(("thresholds", *THRESHOLD_HEAD[1:]), threshold_rows(bench["thresholds"])), ""]
    if bench.get("criteria"):
        out += [aligned(CRITERIA_HEAD, criteria_rows(bench["criteria"])), ""]
    if "agreement" in bench:
        out += [aligned(("two runs, summary", *SUMMARY_HEAD[1:]), summary_rows(bench["summary_agreement"])), ""]
        out += [aligned(("two runs", *AGREE_HEAD[1:]), agreement_rows(bench["agreement"])), ""]
    return "\n".join(out)


def put_tables(page, bench):
    """The text of Documentation/performance.rst with its tables made anew"""
    parts = {
        "GOALS": rst_table(GOAL_HEAD, goal_rows(bench["summary"])),
        "THRESHOLDS": rst_table(THRESHOLD_HEAD, threshold_rows(bench["thresholds"])),
        "MODEL": rst_table(("parameter", "value"), [(k, str(v)) for k, v in bench["model"].items()]),
    }
    for name, table in parts.items():
        page = re.sub(rf"(?s)(?<=\.\. begin {name}\n\n).*?(?=\n\n\.\. end {name}\n)", lambda _, t=table: t, page)
    return page

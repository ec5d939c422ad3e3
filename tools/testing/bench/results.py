# SPDX-License-Identifier: MIT
"""results - what the guest's program prints, and what follows from it

Nothing here knows of virtual machines. Times are nanoseconds of the guest unless a name says otherwise.
"""
import bisect
import math
import re

# Order and titles of what is compared; names as in bench.c
COMPETITORS = {
    "alone": "alone (bound)",
    "stock": "stock driver",
    "kfd-priority": "KFD queue priority",
    "launch-gap": "launch gap in user space (XSched Lv1)",
    "suspend-ioctl": "suspend ioctl, polling thread (GPreempt on AMD)",
    "poll-5ms": "gpreempt, 5 ms",
    "poll": "gpreempt, polling",
    "gpreempt": "gpreempt, default",
    "delay-300us": "gpreempt, resume delay 300 us",
    "delay-1ms": "gpreempt, resume delay 1 ms",
    "always-save": "gpreempt, saves always",
    "doorbell": "gpreempt, doorbell",
    "named": "gpreempt, only victims leave",
}
# Of a preemption, in this order
PHASES = {"notice": "doorbell to decision", "save": "decision to saved", "end_noticed": "last kernel's end to decision",
          "resume": "decision to running"}
# Two runs are to agree so far; a share of the device or of a CPU, in percent, is as exact as what begins and ends with the window
AGREE_PCT = 2
AGREE_SHARE = 0.05
# Below so many preemptions each one counts in what they all took.
FEW = 50
# What is left of a time when another is taken from it: events have whole microseconds
AGREE_US = 1
DIFFERENCES = ("save_overhead_us_mean", "no_hws_save_overhead_us_mean")
# What the event says of a queue that gets a turn because it was held for too long (trace.h)
RELIEF_LEVEL = 1024
# The device's model sleeps for half of the time at least while others want the CPU (owed_sleep() in tools/vgpu): near to that it is late.
SATURATED_PCT = 45
WITHOUT_A_SCHEDULER = ("alone", "stock", "kfd-priority", "launch-gap")
# Whoever looks at the device can be ahead of the program that has to be woken up first.
WAKE_UP_NS = 100000


def numbers(text):
    return {k: int(v) for k, v in re.findall(r"(\w+)=(-?\d+)\b", text)}


def percentile(values, percent):
    """Nearest rank."""
    values = sorted(values)
    return values[max(0, math.ceil(len(values) * percent / 100) - 1)] if values else None


class Run:
    """One scenario under one competitor."""

    def __init__(self, scenario, competitor):
        self.scenario, self.competitor = scenario, competitor
        self.tenants, self.events, self.suspends, self.samples, self.saves = [], [], [], [], []
        self.absent = self.complete = self.good = False
        self.problems = []
        self.window, self.scheduler = {}, {}

    def take(self, word, rest):
        if word == "absent":
            self.absent = True
        elif word == "window":
            self.window = numbers(rest)
        elif word == "scheduler":
            self.scheduler = numbers(rest)
        elif word == "tenant":
            text = dict(re.findall(r"(\w+)=(\S+)", rest))
            self.tenants.append(dict(numbers(rest), name=text["name"], arrival=text["arrival"], requests=[], rings=[]))
        elif word == "request":
            index, arrival, submit, done, ring = map(int, rest.split())
            self.tenants[index]["requests"].append((arrival, submit, done))
            self.tenants[index]["rings"].append(ring)
        elif word == "suspend":
            self.suspends.append(tuple(map(int, rest.split())))
        elif word == "sample":
            self.samples.append(tuple(map(int, rest.split())))
        elif word == "saved":
            self.saves.append(int(rest))
        elif word == "event":
            seconds, name, values = rest.split(" ", 2)
            self.events.append((round(float(seconds) * 1e6) * 1000, name.rstrip(":"), numbers(values)))
        elif word == "problem":
            self.problems.append(rest)
        elif word == "end":
            self.complete, self.good = True, rest.endswith(" good")

    # ---- what follows ----

    def level(self, which):
        ranked = [t for t in self.tenants if not t["bystander"]]
        found = which((t["level"] for t in ranked), default=None)
        return [t for t in ranked if t["level"] == found]

    def elapsed(self):
        return self.window["end"] - self.window["begin"]

    def latencies(self):
        """Of the highest level's requests, from arrival; of those that were not served, how old they were at the end."""
        end = self.window["end"]
        return [(done or max(end, arrival)) - arrival for t in self.level(max) for arrival, _, done in t["requests"]]

    def low_latencies(self):
        """The same of the lowest level, as far as it has requests."""
        end = self.window["end"]
        return [(done or max(end, arrival)) - arrival for t in self.level(min) for arrival, _, done in t["requests"]]

    def preemptions(self):
        """By the scheduler, or by the program that suspends queues in its place"""
        return self.scheduler["preemptions"] if self.scheduler["checks"] else sum(off for _, off, _, _ in self.suspends)

    def relieved(self):
        """Did queues get a turn because they had been held for too long?"""
        return any(name == "gpreempt_inversion" and v["level"] == RELIEF_LEVEL for _, name, v in self.events if "level" in v)

    def outranking(self):
        """How many of the highest level's requests found a lower one on the device. The decision may be to wait for its end instead of preempting it."""
        found = sorted(ns for ns, name, _ in self.events if name == "gpreempt_inversion")
        return sum(bisect.bisect_left(found, submit) < bisect.bisect_right(found, done) for submit, _, done in self.submissions())

    def unserved(self):
        return sum(not done for t in self.level(max) for _, _, done in t["requests"])

    def used(self, tenants):
        """Share of the device's waves in the window."""
        return sum(t["wave_ns"] for t in tenants) / (self.window["slots"] * self.elapsed())

    def end_late(self):
        """
        For how long programs were kept waiting by the guest when the device had done their request: the scheduler gave the device back before. It is the most
        that is known of it, for the end is seen later than it is.
        """
        decisions = sorted((ns - (v["elapsed_ns"] if name == "gpreempt_resume" else 0), name) for ns, name, v in self.events
                           if name in ("gpreempt_resume", "gpreempt_inversion"))
        late = []
        for submit, _, done in self.submissions():
            i = bisect.bisect_left(decisions, (done, "")) - 1
            # The last one within the request, unless it was to preempt
            if i >= 0 and decisions[i][0] > submit and decisions[i][1] == "gpreempt_resume":
                late.append(done - decisions[i][0])
        return late

    def items(self):
        return {k: sum(t[k] for t in self.tenants) for k in ("done", "lost", "twice")}

    def late(self):
        """How much too late programs that had nothing else to do were woken up for a request: it is the guest that keeps them waiting."""
        late = []
        for t in self.tenants:
            # Before the first one there may have been others, that are not counted.
            idle_since = None
            for arrival, submit, done in t["requests"]:
                if submit and idle_since:
                    late.append(submit - max(arrival, idle_since))
                idle_since = done or submit or idle_since
        return late

    def submissions(self):
        """Of the highest level's requests: when their program began to write them, when it rang, when they were done."""
        return sorted((submit, ring, done) for t in self.level(max) for (_, submit, done), ring in zip(t["requests"], t["rings"]) if done)

    def lower_since(self, at):
        """Since when the lower levels have had work at AT."""
        top = max(t["level"] for t in self.tenants)
        lower = [t for t in self.tenants if t["level"] < top]
        if any(t["arrival"] == "continuous" for t in lower):
            return 0
        return min((s for t in lower for _, s, done in t["requests"] if s and s <= at <= (done or at)), default=0)

    def phases(self):
        """
        Preemptions for a request of the highest level: from right before its doorbell is written (or from when a lower one has work, if that
        comes later) to the decision, 0 if that was before; from there to saved. Resumes: from the end of its last kernel to the decision; from there to running.
        """
        submissions = self.submissions()
        begins = [s for s, _, _ in submissions]
        notice, save, give_back, resume = [], [], [], []
        if self.suspends:
            decided = [(begin, end - begin) for _, off, begin, end in self.suspends if off]
            resumed = [(begin, end - begin) for _, off, begin, end in self.suspends if not off]
        else:
            decided, resumed, running, last = [], [], [], None
            for ns, name, values in self.events:
                if name == "gpreempt_inversion" and values["nr_preempt"]:
                    last = ns
                elif name == "gpreempt_preempt_end" and last is not None:
                    # The event comes when all of the request is done, its duration ends when the queue was saved.
                    decided.append((last, values["elapsed_ns"]))
                elif name in ("gpreempt_resume", "gpreempt_running"):
                    (resumed if name == "gpreempt_resume" else running).append((ns - values["elapsed_ns"], values["elapsed_ns"]))
            resumed = running or resumed
        for at, took in decided:
            i = bisect.bisect_right(begins, at) - 1
            if i >= 0 and at <= submissions[i][2]:
                notice.append(max(0, at - max(submissions[i][1], self.lower_since(at))))
                save.append(took)
        ends = sorted(done for _, _, done in submissions)
        for at, took in resumed:
            i = bisect.bisect_right(ends, at + WAKE_UP_NS) - 1
            if i >= 0:
                give_back.append(max(0, at - ends[i]))
                resume.append(took)
        return {"notice": notice, "save": save, "end_noticed": give_back, "resume": resume}


def us(ns):
    return None if ns is None else round(ns / 1000, 1)


def mean(values):
    return sum(values) / len(values) if values else None


def spread(values):
    return {"p50_us": us(percentile(values, 50)), "mean_us": us(mean(values)), "p99_us": us(percentile(values, 99)),
            "max_us": us(max(values, default=None)), "count": len(values)}


def loss_pct(run, alone, background):
    """What the lowest level lost beyond what the others used; negative: it gained."""
    if not background or not background.tenants or run.competitor == "alone":
        return None
    lowest = run.level(min)
    others = run.used([t for t in run.tenants if t not in lowest])
    possible = background.used(background.tenants)
    expected = possible * (1 - others) if all(t["arrival"] == "continuous" for t in lowest) else min(possible, 1 - others)
    return 100 * (1 - run.used(lowest) / expected)


def bystanders(run, stock):
    """What was taken from those that neither yield nor gain, against the driver that takes nothing off the device"""
    tenants = [t for t in run.tenants if t["bystander"]]
    reference = stock and [t for t in stock.tenants if t["bystander"]]
    if not tenants or not reference:
        return None
    lost = 1 - run.used(tenants) / stock.used(reference)
    preemptions = run.preemptions()
    return {"loss_pct": round(100 * lost, 2), "lost_us_per_preemption": us(lost * run.elapsed() / preemptions) if preemptions else None}


def device_cpu_pct(run):
    return round(run.scheduler.get("device_cpu_ns", 0) / run.elapsed() * 100, 1)


def floor_is_judged(run):
    """
    Not where several programs have requests, which wait for each other, for longer the later each of them begins; where queues that were held for too long
    got a turn; and where the device's model had so much to do that it was late itself.
    """
    return len(run.level(max)) == 1 and not run.relieved() and device_cpu_pct(run) < SATURATED_PCT


def floor(run, alone, device):
    """
    What the device takes at least for the same requests. Before a request that finds a lower one: unmap, save, connect; of unmapping and saving the same
    percentile as of the requests. One that waits for the end of a kernel, because that is sooner, may take as long. From the background, beyond the request:
    the mean of that, and connect and restore afterwards. A restore takes what a save takes. DEVICE: its unmap_us and connect_us. Beside bystanders there is
    none: a request shares the device with them.
    """
    latencies, reference = run.latencies(), alone.latencies() if alone and alone.tenants else []
    preemptions = run.scheduler["preemptions"]
    if not latencies or not reference or not run.saves or not preemptions or any(t["bystander"] for t in run.tenants):
        return None
    save_us = mean(run.saves) / 1000
    before_us = save_us + device["connect_us"]
    after_us = device["connect_us"] + save_us - device["unmap_us"]
    # No more than one for each request is needed.
    needed = min(preemptions, len(latencies))
    result = {"before_us": round(before_us, 1), "loss_pct": round(100 * needed * (before_us + after_us) * 1000 / run.elapsed(), 2),
              "judged": floor_is_judged(run)}
    for name, p in (("p50", 50), ("p99", 99)):
        base = percentile(reference, p)
        waits = run.outranking() >= len(latencies) * (100 - p) / 100
        least = base + (percentile(run.saves, p) + 1000 * device["connect_us"] if waits else 0)
        result[f"{name}_us"], result[f"{name}_over"], result[f"{name}_over_alone"] = us(least), round(percentile(latencies, p) / least, 3), round(least / base, 3)
    return result


def summarise(run, alone, background, stock=None, device=None):
    """Everything about one run that goes into bench.json."""
    if run.absent:
        return {"absent": True}
    seconds = run.elapsed() / 1e9
    latencies = run.latencies()
    reference = alone.latencies() if alone and alone.tenants else []
    result = {
        "absent": False, "poll_us": run.window.get("poll_us"),
        "requests": len(latencies), "unserved": run.unserved(),
        "latency": {name: us(percentile(latencies, p)) for name, p in
                    (("p50_us", 50), ("p99_us", 99), ("p99_9_us", 99.9), ("max_us", 100))},
        "items": run.items(),
        "used": {"highest": round(run.used(run.level(max)), 4), "lowest": round(run.used(run.level(min)), 4)},
    }
    for name, p in (("p50", 50), ("p99", 99)):
        base = percentile(reference, p)
        result[f"{name}_over_alone"] = round(percentile(latencies, p) / base, 3) if base and latencies else None
    # Where only the highest level runs, its own are the lowest's.
    low = run.low_latencies() if run.competitor != "alone" else []
    result["low_p50_us"] = us(percentile(low, 50))
    result["low_over_high"] = round(percentile(low, 50) / percentile(latencies, 50), 3) if low and latencies else None
    loss = loss_pct(run, alone, background)
    result["be_loss_pct"] = None if loss is None else round(loss, 2)
    result["phases"] = {k: spread(v) for k, v in run.phases().items()}
    s = run.scheduler
    result["scheduler"] = {
        "cpu_pct": round((s["cpu_ns"] + s["poller_cpu_ns"]) / run.elapsed() * 100, 3),
        "wakeups_per_s": round((s["wakeups"] + s["poller_looks"]) / seconds, 1),
        "preemptions": run.preemptions(),
        "failures": s["failures"],
    }
    # What the device took from seeing a request until it reported that the waves are saved
    result["device"] = {"saves": s.get("saves", 0), "save_us_mean": us(s["save_ns"] / s["saves"]) if s.get("saves") else None}
    result["bystanders"] = bystanders(run, stock)
    result["floor"] = floor(run, alone, device) if device else None
    result["guest"] = {"device_cpu_pct": device_cpu_pct(run), "late_us_max": us(max(run.late(), default=None)),
                       "end_late_us_max": us(max(run.end_late(), default=None))}
    return result


class Reader:
    """Lines of the guest's program into runs."""

    def __init__(self, tell=None):
        self.runs, self.tell, self.current = {}, tell, None

    def take(self, line):
        word, _, rest = line.strip().partition(" ")
        if word == "run":
            scenario, competitor = rest.split()
            self.current = self.runs.setdefault(scenario, {}).setdefault(competitor, Run(scenario, competitor))
            return
        if self.current:
            self.current.take(word, rest)
            if word in ("end", "absent") and self.tell:
                self.tell(self.current)


def analyse(runs, devices=None):
    """{scenario: {competitor: result}}; DEVICES: {scenario: what its device takes}"""
    return {scenario: {c: summarise(r, of.get("alone"), of.get("background"), of.get("stock"), (devices or {}).get(scenario))
                       for c, r in of.items() if c != "background"} for scenario, of in runs.items()}


# What the owner of a machine asks for who holds offline work while a request is served: name -> figures, each with its bound; what is wished
# beyond that has another bound
CRITERIA = {
    "online": (("online p99 below 50 ms", lambda r: r["latency"]["p99_us"] / 1000, "most", 50), ("online p99 below 10 ms (wished)", lambda r: r["latency"]["p99_us"] / 1000, "most", 10)),
    "suspend": (("suspend below 1 ms, p99", lambda r: r["phases"]["save"]["p99_us"] / 1000, "most", 1),),
    "resume": (("resume below 1 ms, p99", lambda r: r["phases"]["resume"]["p99_us"] / 1000, "most", 1),),
    "loss": (("offline loss below 5 %", lambda r: r["be_loss_pct"], "most", 5),),
    "ratio": (("latency of low over high above 3", lambda r: r["low_over_high"], "least", 3),),
}


def criteria(figures, wanted):
    """[one entry for each criterion of each scenario and competitor]; WANTED: {scenario: [names]}. A figure that there is not has no value."""
    result = []
    for scenario, names in wanted.items():
        for competitor in figures.get(scenario, {}):
            r = get(figures, scenario, competitor)
            if not r or competitor == "alone":
                continue
            for what, figure, kind, bound in (c for n in names for c in CRITERIA[n]):
                try:
                    value = figure(r)
                except TypeError:
                    value = None
                # Of what was never served it is only known that it took longer.
                met = value is not None and (value >= bound if kind == "least" else value <= bound and not (r["unserved"] and what.startswith("online")))
                result.append({"scenario": scenario, "competitor": competitor, "criterion": what, "bound": bound,
                               "value": None if value is None else round(value, 3), "met": met if value is not None else None})
    return result


# Of each scenario that is there with two costs of a runlist, the second one has this in its name.
SLOW = "-slow-connect"
# What is promised of the default on a model with the costs of an MI308X, for the lower and the higher cost: (scenario, figure, bound at each)
THRESHOLDS = (
    ("intensive", "p99_over_alone", (1.10, 1.35)),
    ("intensive", "be_loss_pct", (5, 5)),
    ("decode", "p99_over_alone", (1.05, 1.05)),
    ("decode", "be_loss_pct", (10, 10)),
)
# How far above the floor a request may be, where that is judged
FLOOR_BOUNDS = {"p50_over": 1.05, "p99_over": 1.10}


def thresholds(figures):
    """[one entry for each that can be judged]"""
    result = []
    for scenario, figure, bounds in THRESHOLDS:
        for name, bound in zip((scenario, scenario + SLOW), bounds):
            r = get(figures, name, "gpreempt")
            if r and r[figure] is not None:
                result.append({"scenario": name, "figure": figure, "bound": bound, "value": r[figure], "met": r[figure] <= bound and not r["unserved"]})
    return result


# Its own scenario, with requests by the thousand: the median of what a poll's phase decides takes these.
NOTICING = "noticing"


def get(figures, scenario, competitor):
    r = figures.get(scenario, {}).get(competitor)
    return r if r and not r["absent"] else None


def save_overhead(r, ring_us):
    """Of a preemption, in the mean: what is left of decision to saved without what the device took, from when it may be seen on."""
    took = r and r["device"]["save_us_mean"]
    return round(r["phases"]["save"]["mean_us"] - took - ring_us, 1) if took and r["phases"]["save"]["count"] else None


def headline(figures, competitor, ring_us):
    """The figures that the goals are about, of one of ours; None: it was not there."""
    main, noticing = get(figures, "foreground-20pct", competitor), get(figures, NOTICING, competitor)
    if not main and not noticing:
        return None
    wakeups = {s: get(figures, s, competitor) for s in ("idle", "one-level", "waiting", "background-only")}
    floor_of, beside = main and main["floor"], get(figures, "bystander", competitor)
    return {
        "notice_us_p50": noticing and noticing["phases"]["notice"]["p50_us"],
        "notice_count": noticing and noticing["phases"]["notice"]["count"],
        "save_overhead_us_mean": save_overhead(main, ring_us),
        "no_hws_save_overhead_us_mean": save_overhead(get(figures, "foreground-no-hws", competitor), ring_us),
        "p99_over_alone": main and main["p99_over_alone"],
        **{f"floor_{key}": floor_of and floor_of[key] for key in FLOOR_BOUNDS},
        "be_loss_pct": main and main["be_loss_pct"],
        "cpu_pct": main and main["scheduler"]["cpu_pct"],
        "bystander_loss_pct": beside and beside["bystanders"] and beside["bystanders"]["loss_pct"],
        **{f"{name.replace('-', '_')}_wakeups_per_s": r and r["scheduler"]["wakeups_per_s"] for name, r in wakeups.items()},
    }


# What stands beside the default in the summary
BESIDE = ("poll", "doorbell", "named")


def summary(figures, ring_us):
    """What it does by default; what it does otherwise stands apart."""
    result = headline(figures, "gpreempt", ring_us) or {}
    return {"configuration": "as loaded, gpreempt_enable=1", **result, **{c: h for c in BESIDE if (h := headline(figures, c, ring_us))}}


# (figure of the summary, what it is, its unit, at most so much; of whom, if not of the default)
GOALS = (
    ("notice_us_p50", "doorbell to decision, median", "us", 10),
    ("save_overhead_us_mean", "decision to saved, beyond what the device takes, mean", "us", 50),
    ("no_hws_save_overhead_us_mean", "the same without the hardware scheduler", "us", 20),
    ("p99_over_alone", "foreground p99 over alone", "", 1.02),
    ("floor_p50_over", "foreground median over the floor", "", FLOOR_BOUNDS["p50_over"]),
    ("floor_p99_over", "foreground p99 over the floor", "", FLOOR_BOUNDS["p99_over"]),
    ("be_loss_pct", "background's loss beyond the foreground's share", "%", 1.5),
    ("cpu_pct", "CPU of the monitor beside the foreground", "%", 1.5),
    ("bystander_loss_pct", "a bystander of 100 requests a second loses", "%", 1),
    ("idle_wakeups_per_s", "wake-ups a second, idle", "", 0),
    ("one_level_wakeups_per_s", "the same, one priority", "", 0),
    ("waiting_wakeups_per_s", "the same, two priorities, idle", "", 0),
    ("background_only_wakeups_per_s", "the same, two priorities, only the background works", "", 20),
)


def missed(bench):
    """[what of the goals the default does not reach, in words], of bench.json"""
    found = []
    for key, name, unit, bound in GOALS:
        value = bench["summary"].get(key)
        if value is not None and value > bound:
            found.append(f"{name}: {value:g} {unit}".rstrip() + f", not {bound:g}")
    for t in bench["thresholds"]:
        if not t["met"]:
            found.append(f"{t['scenario']}, {t['figure']}: {t['value']:g}, not {t['bound']:g}")
    for scenario, of in bench["scenarios"].items():
        r = of["competitors"].get("gpreempt")
        f = r and not r["absent"] and r["floor"]
        for key, bound in FLOOR_BOUNDS.items() if f and f["judged"] else ():
            if f[key] > bound:
                found.append(f"{scenario}, {key.split('_')[0]} over the floor: {f[key]:g}, not {bound:g}")
    return found


def apart_pct(a, b):
    return round(100 * abs(a - b) / max(abs(a), abs(b)), 2) if a or b else 0.0


def too_far(name, a, b):
    may = AGREE_SHARE if name.endswith("_pct") else AGREE_US if name in DIFFERENCES else 0
    return apart_pct(a, b) > AGREE_PCT and abs(a - b) > may


# What two runs are compared by, of each competitor in each scenario: shares as percent, the rest in microseconds
COMPARED = {
    "latency, median": lambda r: r["latency"]["p50_us"],
    "latency, p99": lambda r: None if r["unserved"] else r["latency"]["p99_us"],
    "what the background did": lambda r: 100 * r["used"]["lowest"] or None,
    **{f"{PHASES[key]}, median": lambda r, key=key: r["phases"][key]["p50_us"] for key in ("notice", "save", "resume")},
}


def agreement(first, second):
    """{figure: how far the two are apart at most, in percent of the larger; where, both values; how many differ by more than AGREE_PCT, of how many}"""
    result = {}
    for name, figure in COMPARED.items():
        apart = []
        for scenario, of in first.items():
            for competitor in of:
                pair = get(first, scenario, competitor), get(second, scenario, competitor)
                a, b = (r and figure(r) for r in pair)
                if a is not None and b is not None and (a or b):
                    apart.append((apart_pct(a, b), scenario, competitor, a, b))
        if apart:
            worst = max(apart)
            result[name] = {"apart_pct": worst[0], "scenario": worst[1], "competitor": worst[2], "first": worst[3], "second": worst[4],
                            "too_far": sum(x[0] > AGREE_PCT for x in apart), "count": len(apart)}
    return result


def relied(bench):
    """{(figure, whose): value}: what the text of Documentation/performance.rst relies on, of bench.json"""
    found = {}
    for of in ("gpreempt", *BESIDE):
        head = bench["summary"] if of == "gpreempt" else bench["summary"].get(of, {})
        found.update({(key, of): head.get(key) for key, *_ in GOALS})
        phases = bench["scenarios"].get(NOTICING, {"competitors": {}})["competitors"].get(of)
        if phases and not phases["absent"]:
            found.update({(f"{key}_p50", of): phases["phases"][key]["p50_us"] for key in PHASES if key != "notice"})
    found.update({(t["figure"], t["scenario"]): t["value"] for t in bench["thresholds"]})
    for scenario, of in bench["scenarios"].items():
        for competitor in ("gpreempt", "named"):
            r = of["competitors"].get(competitor)
            if r and not r["absent"] and r["bystanders"] and r["scheduler"]["preemptions"] >= FEW:
                found["bystander_loss_pct", f"{scenario}, {competitor}"] = r["bystanders"]["loss_pct"]
        r = of["competitors"].get("gpreempt")
        if r and not r["absent"] and r["floor"] and r["floor"]["judged"]:
            found.update({(f"floor_{key}", scenario): r["floor"][key] for key in FLOOR_BOUNDS})
    return {k: v for k, v in found.items() if v is not None}


def compare(first, second):
    """[(figure, whose, first, second, how far apart in percent of the larger, too far?)] of two bench.json: what both have of relied()"""
    one, two = relied(first), relied(second)
    return [(name, of, a, two[name, of], apart_pct(a, two[name, of]), too_far(name, a, two[name, of])) for (name, of), a in one.items() if (name, of) in two]

# SPDX-License-Identifier: MIT
"""yardstick - how the model shares a device without a scheduler, against what was measured on an MI308X

The figures are those of tools/vgpu/tests/yardstick_test.c, which runs the model alone, in user space and at its full size.
"""
import os
import re
import subprocess

HERE = os.path.dirname(os.path.realpath(__file__))
VGPU = os.path.abspath(os.path.join(HERE, "../../vgpu"))
TABLE = os.path.join(VGPU, "golden/yardstick.table")
WITHIN = (0.75, 1.33)
LINE = re.compile(r"# yardstick (\S+) (\S+) (\S+) measured=(\d+) model=(\d+) (\S+)")
# What the table says in one word
REASONS = {
    "no-spread": "kernels of a request are equal here, and nothing else disturbs them: the model has next to no spread",
    "no-memory": "a kernel takes as long beside another one as alone: nothing models that they share caches and memory",
    "unknown": "equal programs lost up to half of what one had alone; the cause is not known, and nothing is fitted",
}
FIGURES = {
    "alone_p50": "alone, median", "p50": "median", "p99": "99th percentile", "mean": "mean", "loss": "loss of the one behind",
    "iteration_alone": "an iteration of the one behind, alone", "iteration": "an iteration of the one behind",
}
UNIT = {"loss": "per mille"}


def tests():
    with open(os.path.join(VGPU, "tests/yardstick_test.c")) as f:
        return re.findall(r"^TEST\((yardstick_\w+)\)", f.read(), re.M)


def table(path=TABLE):
    """What is fitted, with the figure that it was fitted to, and what is assumed: [(kind, name, value[, figure])]"""
    with open(path) as f:
        lines = [line.split("#")[0].split() for line in f]
    return [tuple(w) for w in lines if w and w[0] in ("fitted", "assumed")]


def parse(lines, fitted=()):
    """[one entry for each figure]; a figure that the model misses for no reason has the reason "missed"."""
    result = []
    for scenario, of, figure, measured, model, verdict in (m.groups() for m in map(LINE.search, lines) if m):
        measured, model = int(measured), int(model)
        ratio = model / measured
        within = WITHIN[0] <= ratio <= WITHIN[1]
        result.append({"scenario": scenario, "as": of, "figure": figure, "unit": UNIT.get(figure, "us"), "measured": measured, "model": model,
                       "ratio": round(ratio, 3), "within": within, "fitted": f"{scenario}:{figure}" in fitted,
                       "why": None if within else verdict, "reason": None if within else REASONS.get(verdict, verdict)})
    return result


def measure():
    """Builds what is missing, some ten seconds. Return: the section of bench.json, and did all of it hold?"""
    names = tests()
    run = subprocess.run(["make", "-s", "-C", os.path.join(VGPU, "tests"), "check", f"TESTS={' '.join(names)}"], stdout=subprocess.PIPE, text=True)
    parameters = table()
    figures = parse(run.stdout.splitlines(), [row[3] for row in parameters if row[3:]])
    return ({"parameters": [dict(zip(("kind", "name", "value", "figure"), row)) for row in parameters], "figures": figures},
            run.returncode == 0 and bool(figures) and all(f["within"] or f["why"] in REASONS for f in figures))

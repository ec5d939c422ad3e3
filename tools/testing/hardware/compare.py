#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare.py REPORT [PREDICTION] [--preset NAME] [--cost NAME=NUMBER]... - a report of hardware beside what the model of that device says

REPORT is a report.json of the hardware profile, or what preempt-probe --json wrote. The model's costs are those of the preset whose PCI device
the report names (tools/vgpu/model/product.c, or product.c beside this). PREDICTION is a report of the virtual GPU: its answers and figures stand
beside those of REPORT. Prints tables; 0: every figure of the probe is within a factor of two of the model's, 1: not, 2: it cannot be compared.
"""
import argparse
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
PRODUCTS = [os.path.join(HERE, p) for p in ("product.c", "../../vgpu/model/product.c")]
# Of a wave, beside its VGPRs: scalar registers and those of the hardware
WAVE_BYTES = 512 + 128
LANE_BYTES = 256
FACTOR = 2
# What others have measured on an MI308X with the stock driver, with kernels of these shapes. Milliseconds, or iterations per second
MEASURED = {
    "Y1": "P50 24.82 ms, P99 29.63 ms, alone 6.36 and 6.40, low 3.16/s of 16 kernels",
    "Y5": "P50 7.6 ms, P99 19.6 ms, alone 2.24",
    "Y6": "P99 9775 ms, one alone 475; thirty kernels a task",
    "Y7": "P50 12.3 to 13.6 ms (mean), P99 18.5 ms, alone 6.37",
    "Y8": "1: 115.5-118.7/s, 2: 72-99.8/s, 4: 58.5/s, 6: 60-72/s, 8: 91/s",
}


class Impossible(Exception):
    """Why nothing can be compared."""


def load(path):
    try:
        with open(path) as f:
            report = json.load(f)
    except (OSError, ValueError) as e:
        raise Impossible(f"{path}: {e}") from e
    if "rows" in report:
        report = {"probe": report}
    if not isinstance(report, dict) or not ({"probe", "answers"} & set(report)):
        raise Impossible(f"{path}: neither a report of the hardware profile nor one of preempt-probe")
    return report


def presets():
    """{name: {member: number}} of the table in product.c"""
    for path in PRODUCTS:
        if os.path.exists(path):
            break
    else:
        raise Impossible("there is no product.c: " + " or ".join(PRODUCTS))
    with open(path) as f:
        text = f.read()
    costs = re.search(r"#define COSTS((?:.*\\\n)*.*)", text)
    result = {}
    for entry in re.findall(r'\{\s*\.name = "(\w+)",(.*?)\n\t\}', text, re.S):
        body = entry[1].replace("COSTS", costs.group(1) if costs else "")
        result[entry[0]] = {k: int(v, 0) for k, v in re.findall(r"\.(\w+) = (0x[0-9a-f]+|\d+)\b", body)}
    return result


def preset_of(report, known, name):
    if name:
        if name not in known:
            raise Impossible(f"there is no preset {name}; there are: {', '.join(known)}")
        return name
    device = report["probe"]["machine"].get("PCI device", "0")
    for preset, numbers in known.items():
        if numbers.get("device") == int(device, 0):
            return preset
    raise Impossible(f"no preset is of the PCI device {device}: --preset NAME, one of {', '.join(known)}")


def cost_of(given, preset):
    """The preset's numbers with those that were given instead"""
    result = dict(preset)
    for text in given:
        key, _, value = text.partition("=")
        if key not in result or not value.isdigit():
            raise Impossible(f"--cost {text}: NAME=NUMBER, NAME one of {', '.join(result)}")
        result[key] = int(value)
    return result


def predicted(row, preset):
    """Microseconds of each figure of a row"""
    xccs = preset["xccs"]
    save = preset["trap_ns"] / 1000 + row["waves"] / xccs * (row["vgprs"] * LANE_BYTES + WAVE_BYTES) / preset["hbm_bytes_per_us"] if row["waves"] else 0
    unmap, connect = preset["runlist_ns"] / 1000, preset["connect_ns"] / 1000
    return {"call_us": unmap + save, "off_us": unmap + connect + 2 * save, "back_us": connect + save,
            "firmware_connect_us": connect, "firmware_save_us": save, "firmware_restore_us": save}


TABLES = {
    "Probe: median in us": {"call_us": "call", "off_us": "off", "back_us": "back"},
    "What firmware noted": {"firmware_connect_us": "connect", "firmware_save_us": "save", "firmware_restore_us": "restore"},
}


def cell(row, key, model):
    spread = row.get(key)
    if not spread or not model:
        return f"{'-':>9} {'':9} {'':>6}", None
    ratio = spread["median"] / model
    return f"{spread['median']:9.1f} {model:9.1f} {ratio:6.2f}", ratio


def state_of(row):
    return f"{row['series']:10} {row['processes']:2} proc {row['queues']:2} queues {row['waves']:5} waves {row['save_area']:4}"


def one_table(rows, preset, columns):
    """Return: the ratios"""
    print(f"{'':44}" + "".join(f"{name:>9} {'model':>9} {'ratio':>6}  " for name in columns.values()).rstrip())
    ratios = []
    for row in rows:
        model = predicted(row, preset)
        cells = [cell(row, key, model[key]) for key in columns]
        ratios += [r for _, r in cells if r is not None]
        print(f"{state_of(row):44}" + "  ".join(c for c, _ in cells).rstrip())
    print()
    return ratios


def probe_table(report, preset, name):
    rows = [r for r in report["probe"]["rows"] if r["series"] != "quiet"]
    measured = [r for r in rows if not r["not_measured"]]
    ratios = []
    for title, columns in TABLES.items():
        if any(r.get(key) for r in measured for key in columns):
            print(f"{title}; what it costs in the model, preset={name}; ratio")
            print()
            ratios += one_table(measured, preset, columns)
    for row in rows:
        if row["not_measured"]:
            print(f"{state_of(row):44}not measured: {row['not_measured']}")
    far = sum(not 1 / FACTOR <= r <= FACTOR for r in ratios)
    print(f"{far} figures are further than a factor of {FACTOR} from the model's. What the model costs is no measurement: virtual-gpu.rst.")
    print()
    return far


def answers_table(report, prediction):
    mine, theirs = report.get("answers", {}), (prediction or {}).get("answers", {})
    if not mine:
        return
    print("Answers")
    for name, text in mine.items():
        print(f"  {name}")
        print(f"    here                 {text}")
        if prediction:
            print(f"    prediction           {theirs.get(name, '-')}")
        if name.split()[0] in MEASURED:
            print(f"    an MI308X, by others {MEASURED[name.split()[0]]}")
    print()


def figures_table(report, prediction):
    mine, theirs = report.get("figures", {}), (prediction or {}).get("figures", {})
    both = [k for k in mine if isinstance(mine[k], (int, float)) and isinstance(theirs.get(k), (int, float))]
    if not both:
        return
    print(f"{'Figures':40} {'here':>12} {'prediction':>12} {'ratio':>8}")
    for key in both:
        ratio = f"{mine[key] / theirs[key]:8.2f}" if theirs[key] else f"{'':8}"
        print(f"  {key:38} {mine[key]:12} {theirs[key]:12} {ratio}")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report")
    parser.add_argument("prediction", nargs="?")
    parser.add_argument("--preset", help="of the virtual GPU; default: that of the report's PCI device")
    parser.add_argument("--cost", action="append", default=[], metavar="NAME=NUMBER", help="instead of the preset's, as trap_ns=20000")
    opts = parser.parse_args()
    try:
        report = load(opts.report)
        prediction = load(opts.prediction) if opts.prediction else None
        known = presets()
        name = preset_of(report, known, opts.preset) if "probe" in report else None
        costs = cost_of(opts.cost, known[name]) if name else None
    except Impossible as e:
        print(f"compare: {e}", file=sys.stderr)
        return 2
    if report.get("virtual_gpu") or report.get("probe", {}).get("virtual_gpu"):
        print("The report is of a VIRTUAL GPU: both sides are the model's.")
        print()
    far = probe_table(report, costs, name) if name else 0
    answers_table(report, prediction)
    figures_table(report, prediction)
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""judge.py - is what the hardware profile said and wrote on the virtual GPU what it should be? TAP on stdout

    judge FOLDER [NAME | QUESTION=ANSWER]...

FOLDER has what `guest' left. NAME: with it a test begins that has to have passed. QUESTION=ANSWER: how an answer of the report begins.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402  # pylint: disable=wrong-import-position

folder, wanted = sys.argv[1], sys.argv[2:]


def text(name):
    with open(os.path.join(folder, name)) as f:
        return f.read()


results = re.findall(r"^(not )?ok (\d+) ([^#\n]*?)(?: # SKIP ?(.*))?$", text("tap"), re.M)
plain = text("report.txt")
try:
    report = json.loads(text("report.json"))
except ValueError as e:
    print(f"# report.json: {e}")
    report = {}
tests = {t["name"]: t for t in report.get("tests", [])}


answers = {k.split()[-1]: str(v) for k, v in report.get("answers", {}).items()}


def passed(name):
    return any(r[2].startswith(name) and not r[0] and not r[3] for r in results)


checks = {
    "profile_ends_with_success": text("status").strip() == "0",
    "plan_is_kept": re.findall(r"^1\.\.(\d+)$", text("tap"), re.M) == [str(len(results))] and
                    [int(r[1]) for r in results] == list(range(1, len(results) + 1)),
    **{re.sub(r"\W+", "_", n): passed(n) for n in wanted if "=" not in n},
    **{f"{re.sub(r'[^A-Za-z0-9]+', '_', w)}": answers.get(w.split("=")[0], "").startswith(w.split("=", 1)[1]) for w in wanted if "=" in w},
    "every_skip_names_its_reason": all(len(t.get("reason", "")) > 10 for t in tests.values() if t["status"] == "skip"),
    "what_needs_the_virtual_gpu_is_skipped": any(t["status"] == "skip" and "virtual GPU" in t["reason"] for t in tests.values()),
    "report_in_text_says_whose_numbers_these_are": "\nVIRTUAL GPU: " in plain and "of the VIRTUAL GPU" in plain,
    "report_in_json_says_it_too": report.get("virtual_gpu") is True and report.get("machine", {}).get("device", "").startswith("virtual GPU"),
    "report_has_the_same_results": [(bool(r[0]), r[2]) for r in results] == [(t["status"] == "fail", t["name"]) for t in report.get("tests", [])],
    "report_has_versions_firmware_tunables_figures_counters": all(report.get(k) for k in ("machine", "firmware", "tunables", "figures", "counters")) and
        all(report["machine"].get(k) for k in ("kernel", "amdgpu", "backend")) and report["figures"].get("save_count", 0) > 0,
    "report_has_what_gpreemptctl_says": report.get("gpreemptctl_status", {}).get("schema_version") == 1,
    "report_has_what_the_probe_measured": "probe_comes_to_its_end" not in wanted or
        (len(report.get("probe", {}).get("rows", [])) > 1 and "What a preemption costs" in plain and "H14 firmware_notes_times" in report.get("answers", {})),
    "parameters_have_their_values_back": text("parameters.after") == text("parameters.before"),
    "and_after_an_interruption": text("parameters.interrupted") == text("parameters.before") and text("interrupted.status").strip() == "130",
    "nothing_is_run_beside_others": re.match(r"1\.\.0 # SKIP other programs use the GPU", text("refused")) is not None,
}
if not all(checks.values()):
    for line in (text("tap") + text("stderr")).splitlines():
        print(f"# {line}")
sys.exit(tap.report_checks(checks.items()))

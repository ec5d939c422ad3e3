# SPDX-License-Identifier: MIT
"""tap.py - results of tests in Python as TAP on stdout; suites in Python import it, tap.sh is for those in shell"""


def _report(results):
    """results: (what must hold, whether it fails, what is said of it) of each"""
    print("TAP version 13")
    print(f"1..{len(results)}")
    for number, (what, fails, remarks) in enumerate(results, 1):
        for remark in remarks:
            print(f"# {remark}")
        print(f"{'not ok' if fails else 'ok'} {number} - {what}")
    return any(fails for _, fails, _ in results)


def report(holds):
    """holds: (what must hold, the complaints) of each. Return: whether any has complaints, which is an exit status"""
    return _report([(what, bool(complaints), complaints) for what, complaints in holds])


def report_checks(checks):
    """checks: (what must hold, whether it does) of each. Return: whether any does not"""
    return _report([(what, not good, ()) for what, good in checks])

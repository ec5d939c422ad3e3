# SPDX-License-Identifier: MIT
"""tap.py - results of tests in Python as TAP on stdout; suites in Python import it, tap.sh is for those in shell"""


def report(holds):
    """holds: (what must hold, the complaints) of each. Return: whether any has complaints, which is an exit status"""
    print("TAP version 13")
    print(f"1..{len(holds)}")
    for number, (what, complaints) in enumerate(holds, 1):
        for complaint in complaints:
            print(f"# {complaint}")
        print(f"{'not ok' if complaints else 'ok'} {number} - {what}")
    return any(complaints for _, complaints in holds)

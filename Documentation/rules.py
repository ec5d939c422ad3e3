#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rules - rules.rst, from the DOC comments at the head of sources in kfd_gpreempt/

    rules.py             print the page
    rules.py --write     write rules.rst
    rules.py --check     fail if rules.rst is another page
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "rules.rst")
FILES = ["core/monitor.c", "core/level.c", "core/judge.c", "core/debt.c", "core/budget.c", "core/beside.c", "rules/job.c", "rules/share.c",
         "rules/stopped.c", "rules/crowd.c", "rules/edf.c", "account/account.c"]
HEAD = """.. SPDX-License-Identifier: MIT
.. Documentation/rules.py --write makes this page. Change the comment in the source.

=====
Rules
=====

The rules that decide, as the sources say them. design.rst_ has the structure around them.
"""


def section(name):
    with open(os.path.join(HERE, "..", "kfd_gpreempt", name)) as f:
        title, text = re.search(r"^/\*\*\n \* DOC: (.*?)\n \*\n(.*?)\n \*/$", f.read(), re.M | re.S).groups()
    title = title.capitalize()
    return f"\n{title}\n{'=' * len(title)}\n\n*Source:* ``{name}``\n\n" + re.sub(r"^ \* ?", "", text, flags=re.M) + "\n"


def main():
    page = HEAD + "".join(map(section, FILES)) + "\n.. _design.rst: design.rst\n"
    wish = sys.argv[1:]
    if wish == ["--write"]:
        with open(PAGE, "w") as f:
            f.write(page)
    elif wish == ["--check"]:
        with open(PAGE) as f:
            if f.read() != page:
                print("Documentation/rules.rst is another page; Documentation/rules.py --write")
                return 1
    elif wish:
        print(__doc__, file=sys.stderr)
        return 2
    else:
        print(page, end="")
    return 0


sys.exit(main())

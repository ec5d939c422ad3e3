#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""agree.py - does the model write the flags that the C code writes?

    agree.py MODEL C-FILE STATES-FILE

For each function of C-FILE that assigns one of the flags, MODEL has an inline of that name which assigns the same values (true, false, or something
computed), and the other way round. Each state that gpreempt_queue_sysfs_state() in STATES-FILE knows for what is off the device is defined in MODEL, or a flag there.
"""
import re
import sys

FLAGS = ("is_active", "is_preempted", "leaving", "killed", "lost")


def body_of(text, begin):
    depth = 0
    for i in range(text.index("{", begin), len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if not depth:
            return text[begin:i]
    return text[begin:]


def writes(body):
    found = set()
    for flag, value in re.findall(r"\b(" + "|".join(FLAGS) + r")(?:\[\w\])? = ([^;,\n}]+)", body):
        value = value.strip()
        found.add((flag, value if value in ("true", "false") else "computed"))
    return found


def functions(text, pattern):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"WRITE_ONCE\(([^,()]+), ([^;]+)\);", r"\1 = \2;", text)
    return {m[1]: writes(body_of(text, m.start())) for m in re.finditer(pattern, text, re.M)}


def main():
    model, code = open(sys.argv[1]).read(), open(sys.argv[2]).read()
    inlines = functions(model, r"^inline (mqd_\w+)\(")
    in_c = {name: flags for name, flags in functions(code, r"^static [\w ]+?\b(mqd_\w+)\([^;{]*\)\n").items() if flags}
    wrong = [f"{name}: C writes {sorted(flags)}, the model {sorted(inlines.get(name, set()))}"
             for name, flags in in_c.items() if inlines.get(name, set()) != flags]
    wrong += [f"{name}: the model writes {sorted(flags)}, C nothing" for name, flags in inlines.items() if flags and name not in in_c]
    states = body_of(open(sys.argv[3]).read(), open(sys.argv[3]).read().index("const char *gpreempt_queue_sysfs_state("))
    # The driver has no debugger, and so nothing suspended, without the hardware scheduler.
    for word in re.findall(r'"(\w+)"', states):
        if word not in ("active", "idle", "blocked", "unmapped", "suspended") and not re.search(
                rf"^#define {word.upper()}\(q\)|^bool .*\b{word}\[NR\]", model, re.M):
            wrong.append(f"state {word} is not in the model")
    for line in wrong:
        print("#", line)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

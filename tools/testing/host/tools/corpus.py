#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""corpus.py - writes the inputs of fuzz/corpus/*.txt as files of bytes, NAME-00, NAME-01 and so on, for fuzzreplay and libFuzzer

    tools/corpus.py FOLDER FILE...

A line of FILE is an input in hex. A line that begins with a blank goes on with the one before; # begins a comment.

Touches: FOLDER, which it empties first.
"""
import os
import shutil
import sys


def inputs(path):
    found = []
    with open(path, encoding="ascii") as f:
        for line in f:
            text = line.partition("#")[0].rstrip()
            if text[:1].isspace():
                found[-1] += text
            elif text:
                found.append(text)
    return [bytes.fromhex(text) for text in found]


def main():
    folder, *files = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for path in files:
        name = os.path.splitext(os.path.basename(path))[0]
        for number, data in enumerate(inputs(path)):
            with open(os.path.join(folder, f"{name}-{number:02}"), "wb") as f:
                f.write(data)


if __name__ == "__main__":
    main()

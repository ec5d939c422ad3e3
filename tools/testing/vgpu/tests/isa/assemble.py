#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""assemble.py TABLE OUT - assembles the instructions of each line of a table; line n's code begins at n * 64 and ends in s_endpgm

Prints nothing. Needs llvm-mc-15 and llvm-objcopy-15.
"""
import subprocess
import sys

STRIDE = 64

table, out = sys.argv[1:]
source = ".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n.text\n"
for n, line in enumerate(l for l in open(table, encoding="ascii") if "|" in l and not l.startswith("#")):
    # before the last two bars, because an operand may have some: |v0|
    code = line.rsplit("|", 2)[0]
    source += f".org {n * STRIDE}\n" + "\n".join(code.split(";")) + "\ns_endpgm\n"
source += f".org {(n + 1) * STRIDE}\n"
subprocess.run(["llvm-mc-15", "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-filetype=obj", "-o", out + ".o"],
               input=source, text=True, check=True)
subprocess.run(["llvm-objcopy-15", "-O", "binary", "--only-section=.text", out + ".o", out], check=True)

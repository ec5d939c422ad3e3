#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""assemble.py TABLE OUT gfx90a|gfx942 LLVM GFX942 - assembles the instructions of each line of a table

Line n's code begins at n * 64 and ends in s_endpgm. What only the other device has is assembled for that one. By llvm-mc-LLVM
and llvm-objcopy-LLVM, to which gfx942 is GFX942. Prints nothing.
"""
import subprocess
import sys

STRIDE = 64

table, out, device, llvm, gfx942 = sys.argv[1:]
CPU = {"gfx90a": "gfx90a", "gfx942": gfx942}


def assemble(lines, cpu, path):
    """LINES: number and code"""
    source = f".amdgcn_target \"amdgcn-amd-amdhsa--{cpu}\"\n.text\n"
    for n, code in lines:
        if cpu == gfx942:
            code = code.replace(" glc", " sc0")
        source += f".org {n * STRIDE}\n" + "\n".join(code.split(";")) + "\ns_endpgm\n"
    source += f".org {count * STRIDE}\n"
    subprocess.run([f"llvm-mc-{llvm}", "-triple=amdgcn-amd-amdhsa", f"-mcpu={cpu}", "-filetype=obj", "-o", path + ".o"],
                   input=source, text=True, check=True)
    subprocess.run([f"llvm-objcopy-{llvm}", "-O", "binary", "--only-section=.text", path + ".o", path], check=True)
    with open(path, "rb") as f:
        return f.read()


# before the last two bars, because an operand may have some: |v0|
with open(table, encoding="ascii") as f:
    codes = [line.rsplit("|", 2)[0] for line in f if "|" in line and not line.startswith("#")]
count = len(codes)
code = {d: [] for d in CPU}
for number, text in enumerate(codes):
    only, _, rest = text.partition(": ")
    if only.removeprefix("as ") not in CPU:
        only, rest = device, text
    code[only if only in CPU else device].append((number, rest))
other = "gfx942" if device == "gfx90a" else "gfx90a"
image = bytearray(assemble(code[device], CPU[device], out))
theirs = assemble(code[other], CPU[other], out)
for number, _ in code[other]:
    image[number * STRIDE:(number + 1) * STRIDE] = theirs[number * STRIDE:(number + 1) * STRIDE]
with open(out, "wb") as f:
    f.write(image)

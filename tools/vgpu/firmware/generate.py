#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""generate.py DIR - write the firmware images that amdgpu asks for on the virtual GPU

There is no code in them: a header that the driver accepts and 4 KiB of zeroes. The device model does what firmware would do.
Touches only DIR/amdgpu/*.bin.
"""
import os
import struct
import sys

PAYLOAD_BYTES = 4096
HEADER_BYTES = 256

# name: (header version, ucode version, dwords behind the common header)
# compute: feature version, jump table offset and size in dwords; rlc: feature version, then no save/restore lists;
# sdma: feature version, change version, jump table offset and size
# gfx11, whose processors have code and data: feature version, size and offset of both in bytes, where the code begins; MES a version
# of each of both, and where the data begins; IMU: size and offset of both; SDMA: feature version, then size, and jump table's offset
# and size of one thread, and offset, size, and jump table's of the other
RS64 = [50, PAYLOAD_BYTES, HEADER_BYTES, PAYLOAD_BYTES, HEADER_BYTES, 0, 0]
MES = [1, PAYLOAD_BYTES, HEADER_BYTES, 1, PAYLOAD_BYTES, HEADER_BYTES, 0, 0, 0, 0]
IMAGES = {
    "aldebaran_mec.bin": ((1, 0), 0x5a, [50, 0, 64]),
    "aldebaran_rlc.bin": ((2, 0), 0x11, [1] + [0] * 17),
    "aldebaran_sdma.bin": ((1, 0), 0x08, [50, 0, 0, 64]),
    "gc_9_4_3_mec.bin": ((1, 0), 0x5a, [50, 0, 64]),
    "gc_9_4_3_rlc.bin": ((2, 0), 0x11, [1] + [0] * 17),
    "sdma_4_4_2.bin": ((1, 0), 0x08, [50, 0, 0, 64]),
    "gc_11_0_0_pfp.bin": ((2, 0), 0x600, RS64),
    "gc_11_0_0_me.bin": ((2, 0), 0x400, RS64),
    "gc_11_0_0_mec.bin": ((2, 0), 0x1ff, RS64),
    "gc_11_0_0_rlc.bin": ((2, 0), 0x11, [1] + [0] * 17),
    "gc_11_0_0_imu.bin": ((1, 0), 0x11, [PAYLOAD_BYTES, HEADER_BYTES, PAYLOAD_BYTES, HEADER_BYTES]),
    "gc_11_0_0_mes_2.bin": ((1, 0), 0x8c, MES),
    "gc_11_0_0_mes1.bin": ((1, 0), 0x8c, MES),
    "sdma_6_0_0.bin": ((2, 0), 0x08, [50, PAYLOAD_BYTES, 0, 64, HEADER_BYTES, PAYLOAD_BYTES, 0, 64]),
}


def image(version, ucode_version, extra):
    common = struct.pack("<IIHHHHIIII", HEADER_BYTES + PAYLOAD_BYTES, HEADER_BYTES, *version, 9, 0, ucode_version,
                         PAYLOAD_BYTES, HEADER_BYTES, 0)
    header = common + struct.pack(f"<{len(extra)}I", *extra)
    return header.ljust(HEADER_BYTES, b"\0") + bytes(PAYLOAD_BYTES)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[0])
    folder = os.path.join(sys.argv[1], "amdgpu")
    os.makedirs(folder, exist_ok=True)
    for name, parts in IMAGES.items():
        path, data = os.path.join(folder, name), image(*parts)
        if not os.path.exists(path) or open(path, "rb").read() != data:
            with open(path, "wb") as f:
                f.write(data)


if __name__ == "__main__":
    main()

/* SPDX-License-Identifier: MIT */
/*
 * types.h - stand-in for XSched 1.2's header of this name: what its HIP queue at level 3 needs, and not a line of it
 *
 * The class is compiled against these for a test on the virtual GPU, and against XSched's own where its source is (XSCHED_SRC).
 */
#pragma once

#include <cstdint>

typedef uint64_t XDevice;
typedef uint32_t XDeviceId;
typedef uint64_t HwQueueHandle;

enum XPreemptLevel {
    kPreemptLevelUnknown,
    kPreemptLevelBlock,
    kPreemptLevelDeactivate,
    kPreemptLevelInterrupt,
};

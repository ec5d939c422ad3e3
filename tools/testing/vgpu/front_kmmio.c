// SPDX-License-Identifier: MIT
#include "vgpu.h"
const struct vgpu_front vgpu_front_kmmio = { .name = "kmmio" };

/* SPDX-License-Identifier: MIT */
/* device.h - stand-in: a device is its PCI address */
#pragma once

#include "xsched/types.h"

namespace xsched::protocol
{

inline XDeviceId GetDeviceId(XDevice device)
{
    return static_cast<XDeviceId>(device);
}

} // namespace xsched::protocol

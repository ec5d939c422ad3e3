/* SPDX-License-Identifier: MIT */
/* hip_queue.h - stand-in: the queue at level 1 from which that at level 3 is derived */
#pragma once

#include "xsched/hip/hal/driver.h"
#include "xsched/preempt/hal/hw_queue.h"

namespace xsched::hip
{

class HipQueue : public preempt::HwQueue
{
public:
    explicit HipQueue(hipStream_t stream): kStream(stream), device_(standin_device())
    {
        Driver::StreamSynchronize(stream);
    }

    void Launch(std::shared_ptr<preempt::HwCommand>) override { standin_launch(kStream); }
    void Synchronize() override { Driver::StreamSynchronize(kStream); }
    XDevice GetDevice() override { return device_; }
    HwQueueHandle GetHandle() override { return reinterpret_cast<HwQueueHandle>(kStream); }
    bool SupportDynamicLevel() override { return false; }
    XPreemptLevel GetMaxSupportedLevel() override { return kPreemptLevelBlock; }

protected:
    const hipStream_t kStream;
    XDevice device_;
    XPreemptLevel level_ = kPreemptLevelUnknown;
};

} // namespace xsched::hip

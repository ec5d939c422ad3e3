/* SPDX-License-Identifier: MIT */
/*
 * hip_queue.h - XSched's HIP queue at level 3: what runs is stopped in the middle of a kernel and goes on at the same instruction
 *
 * Goes into XSched's tree beside its level 1 queue, from which it is derived; see README.rst.
 */
#pragma once

#include <memory>
#include <mutex>

#include "xsched/hip/hal/hip_queue.h"

namespace xsched::hip
{

class Stop;

/**
 * class HipQueueLv3 - a stream whose queue is stopped through libgpreempt
 *
 * Suspended means that XSched has called Interrupt() and not Restore(). A queue that several streams use is stopped while all of
 * them are suspended; a stream whose queue is not known is stopped with its process, while all streams of the process are. Until then, and
 * wherever stopping fails, launches are held back and nothing else: level 1.
 */
class HipQueueLv3 final : public HipQueue
{
public:
    explicit HipQueueLv3(hipStream_t stream);
    ~HipQueueLv3() override;

    // Returns while the queue is suspended: the one who suspends it may wait for it before he resumes it.
    void Synchronize() override;
    void Interrupt() override;
    void Restore(const preempt::CommandLog &log) override;
    void OnPreemptLevelChange(XPreemptLevel level) override;

    bool          SupportDynamicLevel()  override { return true; }
    XPreemptLevel GetMaxSupportedLevel() override;

    // Whether its own queue is known; otherwise the process's are stopped.
    bool KnowsItsQueue() const { return queue_ != nullptr; }

private:
    void Stopped(bool stopped);
    bool IsDone();

    std::mutex mutex_;
    int suspended_ = 0;                 // interrupts less restores
    bool stopped_ = false;              // that is what the stops below have been told
    std::shared_ptr<Stop> queue_;       // of the stream's queue; null: not known
    std::shared_ptr<Stop> process_;     // of the process; null: nothing can be stopped at all
};

// What HipQueueCreate() makes of a stream: level 3 where that is possible, else level 1. The first time that it is not, one message says why.
std::shared_ptr<preempt::HwQueue> CreateHipQueue(hipStream_t stream);

} // namespace xsched::hip

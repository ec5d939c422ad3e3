/* SPDX-License-Identifier: MIT */
/* hw_queue.h - stand-in: the virtual functions of a hardware queue */
#pragma once

#include <list>
#include <memory>

#include "xsched/types.h"

namespace xsched::preempt
{

class HwCommand
{
};

using CommandLog = std::list<std::shared_ptr<HwCommand>>;

class HwQueue
{
public:
    virtual ~HwQueue() = default;
    virtual void Launch(std::shared_ptr<HwCommand> command) = 0;
    virtual void Synchronize() = 0;
    virtual void Deactivate() {}
    virtual void Reactivate(const CommandLog &) {}
    virtual void Interrupt() {}
    virtual void Restore(const CommandLog &) {}
    virtual XDevice GetDevice() = 0;
    virtual HwQueueHandle GetHandle() = 0;
    virtual bool SupportDynamicLevel() = 0;
    virtual XPreemptLevel GetMaxSupportedLevel() = 0;
    virtual void OnPreemptLevelChange(XPreemptLevel) {}
    virtual void OnXQueueCreate() {}
    virtual void OnHwCommandSubmit(std::shared_ptr<HwCommand>) {}
};

} // namespace xsched::preempt

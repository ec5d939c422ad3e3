/* SPDX-License-Identifier: MIT */
/* standin.cpp - see standin.h */
#include <cstdio>
#include <mutex>

#include "standin.h"
#include "xsched/hip/hal/level3/hip_queue.h"
#include "xsched/utils/log.h"

using xsched::hip::HipQueueLv3;
using xsched::preempt::CommandLog;
using xsched::preempt::HwCommand;
using xsched::preempt::HwQueue;

static std::mutex mutex;
static int warnings;
static char last_warning[160];

void standin_warn(const char *format, ...)
{
    std::lock_guard<std::mutex> lock(mutex);
    va_list args;

    va_start(args, format);
    vsnprintf(last_warning, sizeof(last_warning), format, args);
    va_end(args);
    warnings++;
}

int standin_warnings(void)
{
    std::lock_guard<std::mutex> lock(mutex);
    return warnings;
}

const char *standin_warning(void)
{
    return last_warning;
}

static HwQueue &Queue(void *queue)
{
    return **static_cast<std::shared_ptr<HwQueue> *>(queue);
}

void *queue_create(struct standin_stream *stream, int level)
{
    auto *queue = new std::shared_ptr<HwQueue>(xsched::hip::CreateHipQueue(stream));
    (*queue)->OnXQueueCreate();
    (*queue)->OnPreemptLevelChange(static_cast<XPreemptLevel>(level));
    return queue;
}

void queue_destroy(void *queue)
{
    delete static_cast<std::shared_ptr<HwQueue> *>(queue);
}

int queue_max_level(void *queue)
{
    return Queue(queue).GetMaxSupportedLevel();
}

bool queue_is_known(void *queue)
{
    auto *level3 = dynamic_cast<HipQueueLv3 *>(&Queue(queue));
    return level3 != nullptr && level3->KnowsItsQueue();
}

void queue_launch(void *queue)
{
    Queue(queue).Launch(std::make_shared<HwCommand>());
}

void queue_synchronize(void *queue)
{
    Queue(queue).Synchronize();
}

void queue_interrupt(void *queue)
{
    Queue(queue).Deactivate();
    Queue(queue).Interrupt();
}

void queue_restore(void *queue, bool empty_log)
{
    CommandLog log;

    if (!empty_log) log.push_back(std::make_shared<HwCommand>());
    Queue(queue).Restore(log);
    Queue(queue).Reactivate(log);
}

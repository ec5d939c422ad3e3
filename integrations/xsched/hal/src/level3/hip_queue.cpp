/* SPDX-License-Identifier: MIT */
/* hip_queue.cpp - XSched's HIP queue at level 3, see the header */
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <tuple>

#include <gpreempt.h>

#include "xsched/hip/hal/driver.h"
#include "xsched/hip/hal/level3/hip_queue.h"
#include "xsched/protocol/device.h"
#include "xsched/utils/log.h"

namespace xsched::hip
{

namespace
{

const char kNodes[] = "/sys/devices/virtual/kfd/kfd/topology/nodes/";

// Once in a process, whatever the reason: every queue would say the same.
void SayLevel1(const char *why)
{
    static std::once_flag said;
    std::call_once(said, [&]() { XWARN("HIP queues stay at preemption level 1: %s", why); });
}

uint32_t NodeOf(const std::string &folder, uint32_t *pci)
{
    std::ifstream id(folder + "/gpu_id"), properties(folder + "/properties");
    uint32_t gpu_id = 0;
    uint64_t value, domain = 0, location = 0;
    std::string name;

    id >> gpu_id;
    while (properties >> name >> value) {
        if (name == "domain") domain = value;
        if (name == "location_id") location = value;
    }
    *pci = (uint32_t)(domain << 16 | location);
    return gpu_id;
}

// KFD's number of a device; 0, which stands for any, if there is no such node or several: the partitions of a device share its address.
uint32_t GpuId(XDevice device)
{
    uint32_t found = 0, pci, gpu_id;

    for (int node = 0; std::ifstream(kNodes + std::to_string(node) + "/gpu_id").good(); node++) {
        gpu_id = NodeOf(kNodes + std::to_string(node), &pci);
        if (gpu_id == 0 || pci != protocol::GetDeviceId(device)) continue;
        if (found != 0) return 0;
        found = gpu_id;
    }
    return found;
}

bool CanInterrupt(uint32_t gpu_id)
{
    gpreempt *handle;
    const char *level = std::getenv("XSCHED_LEVEL");

    if (level != nullptr && std::string(level) == "1") {
        SayLevel1("XSCHED_LEVEL=1 asks for it");
        return false;
    }
    if (gpreempt_open(&handle) != 0) {
        SayLevel1("kfd_gpreempt is not loaded");
        return false;
    }
    bool able = gpreempt_level(handle, gpu_id) == GPREEMPT_LEVEL_INTERRUPT;
    gpreempt_close(handle);
    if (!able) SayLevel1("kfd_gpreempt cannot preempt on this device, or is switched off");
    return able;
}

// What a packet for a stream's queue takes. Memory of the device: HIP fills host memory on the CPU, without a packet.
struct Probe
{
    void *memory;
    hipStream_t stream;
};

// A byte of the current device that nobody reads. Never freed: hipFree() waits for all streams, also for those that are suspended.
void *ProbeMemory(XDevice device)
{
    static std::mutex mutex;
    static std::map<XDevice, void *> memories;
    std::lock_guard<std::mutex> lock(mutex);
    void *&memory = memories[device];

    if (memory == nullptr && Driver::Malloc(&memory, 1) != hipSuccess) memory = nullptr;
    return memory;
}

int PutPacket(void *arg)
{
    const Probe *probe = static_cast<Probe *>(arg);

    return Driver::MemsetAsync(probe->memory, 0, 1, probe->stream) == hipSuccess ? 0 : -EIO;
}

} // namespace

/*
 * What is stopped for streams that share it: one for each queue, one for the process. Members: streams that have joined; needy: those of
 * them that have nothing else that is stopped for them; suspended: those that XSched has suspended.
 */
class Stop
{
public:
    static std::shared_ptr<Stop> Get(const gpreempt_target &target);
    explicit Stop(gpreempt_unit *unit): unit_(unit) {}
    ~Stop() { gpreempt_unit_close(unit_); }

    void Join(bool needy)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        members_++;
        needy_ += needy;
        Update();
    }

    void Leave(bool needy)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        members_--;
        needy_ -= needy;
        Update();
    }

    void Suspend(bool suspend)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        suspended_ += suspend ? 1 : -1;
        Update();
    }

    bool IsStopped()
    {
        std::lock_guard<std::mutex> lock(mutex_);
        return stopped_;
    }

    gpreempt_unit *Unit() { return unit_; }

private:
    void Update()
    {
        bool stop = needy_ > 0 && suspended_ > 0 && suspended_ == members_;
        if (stop == stopped_) return;
        int error = stop ? Interrupt() : gpreempt_restore(unit_);
        // A unit that could not be stopped is tried again with the next change; one whose queue is gone has nothing to restore.
        if (stop && error != 0 && error != -ETIME) {
            SayLevel1(std::strerror(-error));
            return;
        }
        stopped_ = stop;
    }

    int Interrupt()
    {
        int error;
        do error = gpreempt_interrupt(unit_); while (error == -EINTR);
        return error;
    }

    std::mutex mutex_;
    gpreempt_unit *unit_;
    int members_ = 0;
    int needy_ = 0;
    int suspended_ = 0;
    bool stopped_ = false;
};

std::shared_ptr<Stop> Stop::Get(const gpreempt_target &target)
{
    static std::mutex mutex;
    static std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::weak_ptr<Stop>> stops;
    std::lock_guard<std::mutex> lock(mutex);
    auto &entry = stops[std::make_tuple(target.scope, target.gpu_id, target.queue_id)];
    std::shared_ptr<Stop> stop = entry.lock();
    gpreempt_unit *unit;

    if (stop != nullptr) return stop;
    int error = gpreempt_unit_open(&target, 0, &unit);
    if (error != 0) {
        SayLevel1(std::strerror(-error));
        return nullptr;
    }
    stop = std::make_shared<Stop>(unit);
    entry = stop;
    return stop;
}

HipQueueLv3::HipQueueLv3(hipStream_t stream): HipQueue(stream)
{
    uint32_t gpu_id = GpuId(device_);
    Probe probe = { ProbeMemory(device_), stream };
    gpreempt_queue_info queue;

    process_ = Stop::Get(gpreempt_target_process(0, gpu_id));
    if (process_ == nullptr) return;
    if (probe.memory != nullptr && gpreempt_find_stream(gpu_id, PutPacket, &probe, &queue) == 0)
        queue_ = Stop::Get(gpreempt_target_queue(0, queue.gpu_id, queue.queue_id));
    process_->Join(queue_ == nullptr);
    if (queue_ != nullptr) queue_->Join(true);
}

HipQueueLv3::~HipQueueLv3()
{
    Stopped(false);
    if (queue_ != nullptr) queue_->Leave(true);
    if (process_ != nullptr) process_->Leave(queue_ == nullptr);
}

XPreemptLevel HipQueueLv3::GetMaxSupportedLevel()
{
    return process_ != nullptr ? kPreemptLevelInterrupt : kPreemptLevelBlock;
}

void HipQueueLv3::OnPreemptLevelChange(XPreemptLevel level)
{
    if (level > GetMaxSupportedLevel()) SayLevel1("kfd_gpreempt cannot be used");
    level_ = level;
}

bool HipQueueLv3::IsDone()
{
    bool clean = Driver::PeekAtLastError() == hipSuccess;
    hipError_t error = Driver::StreamQuery(kStream);

    // Not an error that the program made: it must not find it.
    if (error == hipErrorNotReady && clean) (void)Driver::GetLastError();
    // An error is told by whoever launches next; to wait for it would be for ever.
    return error != hipErrorNotReady || (process_->IsStopped() && queue_ != nullptr);
}

void HipQueueLv3::Synchronize()
{
    Stop *stop = queue_ != nullptr ? queue_.get() : process_.get();

    if (stop == nullptr || level_ < kPreemptLevelInterrupt) return HipQueue::Synchronize();
    gpreempt_synchronize(stop->Unit(), [](void *self) { return static_cast<HipQueueLv3 *>(self)->IsDone(); }, this, 0);
}

void HipQueueLv3::Stopped(bool stopped)
{
    if (stopped == stopped_ || process_ == nullptr) return;
    stopped_ = stopped;
    if (queue_ != nullptr) queue_->Suspend(stopped);
    process_->Suspend(stopped);
}

/*
 * XSched marks a queue as suspended before it calls Interrupt(): a thread that resumes it at that moment may call Restore() first, and with more
 * threads several may come late. Whoever changes the mark makes one call, so the mark is what the difference says.
 */
void HipQueueLv3::Interrupt()
{
    std::lock_guard<std::mutex> lock(mutex_);

    suspended_++;
    Stopped(suspended_ > 0);
}

void HipQueueLv3::Restore(const preempt::CommandLog &log)
{
    {
        std::lock_guard<std::mutex> lock(mutex_);
        suspended_--;
        Stopped(suspended_ > 0);
    }
    /*
     * An empty log: nothing is in flight, or XSched is going to take what is for dropped. What was saved cannot be dropped, it goes on. So that
     * it is not told as complete before it is, wait for it.
     */
    if (log.empty()) Synchronize();
}

std::shared_ptr<preempt::HwQueue> CreateHipQueue(hipStream_t stream)
{
    // The device of the stream is the current one, as XSched's level 1 queue has it; which that is, it knows once it is made.
    auto level1 = std::make_shared<HipQueue>(stream);
    if (!CanInterrupt(GpuId(level1->GetDevice()))) return level1;
    return std::make_shared<HipQueueLv3>(stream);
}

} // namespace xsched::hip

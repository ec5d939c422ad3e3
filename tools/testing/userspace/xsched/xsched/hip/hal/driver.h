/* SPDX-License-Identifier: MIT */
/* driver.h - stand-in: what of HIP is called; a stream is the test's */
#pragma once

#include <cstddef>

#include "standin.h"

typedef struct standin_stream *hipStream_t;

enum hipError_t {
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorNotReady = 600,
};

namespace xsched::hip
{

class Driver
{
public:
    static hipError_t Malloc(void **memory, size_t)
    {
        *memory = &of_device;
        return hipSuccess;
    }

    // HIP fills what is not the device's on the CPU, without a packet.
    static hipError_t MemsetAsync(void *memory, int, size_t, hipStream_t stream)
    {
        if (memory != &of_device) return hipSuccess;
        return standin_put_packet(stream) ? hipErrorInvalidValue : hipSuccess;
    }

    static hipError_t StreamQuery(hipStream_t stream)
    {
        last_error = standin_is_done(stream) ? hipSuccess : hipErrorNotReady;
        return last_error;
    }

    static hipError_t StreamSynchronize(hipStream_t stream)
    {
        standin_wait(stream);
        return hipSuccess;
    }

    static hipError_t PeekAtLastError() { return last_error; }

    static hipError_t GetLastError()
    {
        hipError_t error = last_error;
        last_error = hipSuccess;
        return error;
    }

private:
    static inline char of_device;
    static inline thread_local hipError_t last_error = hipSuccess;
};

} // namespace xsched::hip

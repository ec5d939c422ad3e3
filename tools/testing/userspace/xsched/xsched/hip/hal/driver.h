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

#define hipHostMallocPortable 1

namespace xsched::hip
{

class Driver
{
public:
    static hipError_t HostMalloc(void **memory, size_t, unsigned int)
    {
        static char byte;
        *memory = &byte;
        return hipSuccess;
    }

    static hipError_t MemsetAsync(void *, int, size_t, hipStream_t stream)
    {
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
    static inline thread_local hipError_t last_error = hipSuccess;
};

} // namespace xsched::hip

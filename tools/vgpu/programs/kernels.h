/* SPDX-License-Identifier: MIT */
/* kernels.h - HIP programs that compare with the CPU what kernels compute */
#ifndef KERNELS_H
#define KERNELS_H

/**
 * struct hip_program - a test
 * @name: what it is about
 * @run: true if all results are right
 */
struct hip_program {
	const char *name;
	bool (*run)();
};

/* Those of kernels.cpp; the last one has no name. Blocks have so many waves, unless their kernel wants four. */
const struct hip_program *hip_kernels(unsigned int waves);

#ifdef __HIPCC__
#include <stdexcept>
#include <string>
#include <vector>

#include <hip/hip_runtime.h>

#define HIP(call)	do { hipError_t e_ = (call); if (e_ != hipSuccess) \
				throw std::runtime_error(std::string(#call) + ": " + hipGetErrorString(e_)); } while (0)

/* Memory of the device */
template <typename T> struct on_device {
	size_t n;
	T *p;

	explicit on_device(size_t count) : n(count)
	{
		HIP(hipMalloc((void **)&p, n * sizeof(T)));
		HIP(hipMemset(p, 0, n * sizeof(T)));
		HIP(hipDeviceSynchronize());
	}

	explicit on_device(const std::vector<T> &from) : n(from.size())
	{
		HIP(hipMalloc((void **)&p, n * sizeof(T)));
		HIP(hipMemcpy(p, from.data(), n * sizeof(T), hipMemcpyHostToDevice));
	}

	on_device(const on_device &) = delete;

	~on_device()
	{
		(void)hipFree(p);
	}

	/* What is there, when all kernels are done */
	std::vector<T> back() const
	{
		std::vector<T> to(n);

		HIP(hipGetLastError());
		HIP(hipMemcpy(to.data(), p, n * sizeof(T), hipMemcpyDeviceToHost));
		return to;
	}
};

#endif

#endif /* KERNELS_H */

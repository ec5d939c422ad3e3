// SPDX-License-Identifier: MIT
/*
 * libraries.cpp - rocRAND's generators and rocBLAS, with the kernels that Debian's packages bring; see today.h
 */
#include <rocblas/rocblas.h>
#include <rocrand/rocrand.h>

#include "today.h"

#define ROCRAND(call)	do { rocrand_status s_ = (call); if (s_ != ROCRAND_STATUS_SUCCESS) \
				throw std::runtime_error(std::string(#call) + ": status " + std::to_string(s_)); } while (0)
#define ROCBLAS(call)	do { rocblas_status s_ = (call); if (s_ != rocblas_status_success) \
				throw std::runtime_error(std::string(#call) + ": " + rocblas_status_to_string(s_)); } while (0)

/* ---- random numbers: rocRAND makes the same ones on the CPU ---- */

#define NUMBERS	8192u

struct generator {
	rocrand_generator g;

	generator(rocrand_rng_type type, bool here)
	{
		ROCRAND(here ? rocrand_create_generator_host(&g, type) : rocrand_create_generator(&g, type));
		if (type < ROCRAND_RNG_QUASI_DEFAULT)
			ROCRAND(rocrand_set_seed(g, 20240917));
	}

	~generator()
	{
		(void)rocrand_destroy_generator(g);
	}
};

static bool integers_of(rocrand_rng_type type)
{
	std::vector<unsigned int> want(NUMBERS);
	on_device<unsigned int> out(NUMBERS);
	generator there(type, false), here(type, true);

	ROCRAND(rocrand_generate(there.g, out.p, NUMBERS));
	ROCRAND(rocrand_generate(here.g, want.data(), NUMBERS));
	HIP(hipDeviceSynchronize());
	return same(out.back(), want);
}

template <rocrand_rng_type type> static bool integers()
{
	return integers_of(type);
}

static bool uniform()
{
	std::vector<float> want(NUMBERS);
	on_device<float> out(NUMBERS);
	generator there(ROCRAND_RNG_PSEUDO_PHILOX4_32_10, false), here(ROCRAND_RNG_PSEUDO_PHILOX4_32_10, true);

	ROCRAND(rocrand_generate_uniform(there.g, out.p, NUMBERS));
	ROCRAND(rocrand_generate_uniform(here.g, want.data(), NUMBERS));
	HIP(hipDeviceSynchronize());
	return same(out.back(), want);
}

/* Logarithms and roots are not the CPU's to the last bit. */
static bool normal()
{
	const float bound = 1e-4f;
	std::vector<float> want(NUMBERS), got;
	on_device<float> out(NUMBERS);
	generator there(ROCRAND_RNG_PSEUDO_PHILOX4_32_10, false), here(ROCRAND_RNG_PSEUDO_PHILOX4_32_10, true);
	bool good = true;
	size_t i;

	ROCRAND(rocrand_generate_normal(there.g, out.p, NUMBERS, 1, 2));
	ROCRAND(rocrand_generate_normal(here.g, want.data(), NUMBERS, 1, 2));
	HIP(hipDeviceSynchronize());
	got = out.back();
	results(got);
	for (i = 0; i < NUMBERS; i++)
		good &= got[i] - want[i] < bound && want[i] - got[i] < bound;
	return good;
}

/* ---- products of matrices of whole numbers, added up: exact, and each of them is in the sum once ---- */

static rocblas_handle blas()
{
	static rocblas_handle handle;

	if (!handle)
		ROCBLAS(rocblas_create_handle(&handle));
	return handle;
}

#define LAUNCHES	4u

/* From 1 to 4: all sums are positive */
template <typename T> static std::vector<T> small(size_t n, unsigned int first)
{
	std::vector<T> v(n);

	for (auto &e : v)
		e = (T)(float)(1 + number(first++) % 4);
	return v;
}

/* Column by column; @a's first index is the sum's if it is @transposed. Has each of LAUNCHES products been added once? */
template <typename In, typename Out> static bool added(const std::vector<Out> &got, const std::vector<In> &a, const std::vector<In> &b,
							 unsigned int m, unsigned int n, unsigned int k, bool transposed)
{
	std::vector<Out> want(m * n);
	unsigned int i, j, l;

	for (j = 0; j < n; j++)
		for (i = 0; i < m; i++) {
			float sum = 0;

			for (l = 0; l < k; l++)
				sum += (float)(transposed ? a[i * k + l] : a[l * m + i]) * (float)b[j * k + l];
			count((uint64_t)((double)got[j * m + i] / sum + 0.5), LAUNCHES);
			want[j * m + i] = (Out)(sum * LAUNCHES);
		}
	return same(got, want);
}

template <typename T> static rocblas_datatype type_of();
template <> rocblas_datatype type_of<float>() { return rocblas_datatype_f32_r; }
template <> rocblas_datatype type_of<double>() { return rocblas_datatype_f64_r; }
template <> rocblas_datatype type_of<_Float16>() { return rocblas_datatype_f16_r; }

template <typename In, typename Out, bool transposed> static bool gemm()
{
	const rocblas_datatype in = type_of<In>(), out = type_of<Out>();
	const unsigned int m = 96, n = 80, k = 64, lda = transposed ? k : m;
	const rocblas_operation first = transposed ? rocblas_operation_transpose : rocblas_operation_none;
	std::vector<In> a = small<In>(m * k, 1), b = small<In>(k * n, 100000);
	const Out one = 1;
	on_device<In> da(a), db(b);
	on_device<Out> c(m * n);
	unsigned int i;

	for (i = 0; i < LAUNCHES; i++)
		ROCBLAS(rocblas_gemm_ex(blas(), first, rocblas_operation_none, m, n, k, &one, da.p, in, lda, db.p, in, k, &one, c.p, out, m,
					c.p, out, m, out, rocblas_gemm_algo_standard, 0, 0));
	HIP(hipDeviceSynchronize());
	return added(c.back(), a, b, m, n, k, transposed);
}

template <bool transposed> static bool gemv()
{
	const unsigned int rows = 300, columns = 200, m = transposed ? columns : rows, k = transposed ? rows : columns;
	std::vector<float> a = small<float>(rows * columns, 7), x = small<float>(k, 70000);
	const float one = 1;
	on_device<float> da(a), dx(x), y(m);
	unsigned int i;

	for (i = 0; i < LAUNCHES; i++)
		ROCBLAS(rocblas_sgemv(blas(), transposed ? rocblas_operation_transpose : rocblas_operation_none, rows, columns, &one, da.p, rows,
				      dx.p, 1, &one, y.p, 1));
	HIP(hipDeviceSynchronize());
	return added(y.back(), a, x, m, 1, k, transposed);
}

int main(int argc, char **argv)
{
	static const struct hip_program tests[] = {
		{ "rocRAND: Philox", integers<ROCRAND_RNG_PSEUDO_PHILOX4_32_10> },
		{ "rocRAND: Threefry", integers<ROCRAND_RNG_PSEUDO_THREEFRY4_32_20> },
		{ "rocRAND: Sobol", integers<ROCRAND_RNG_QUASI_SOBOL32> },
		{ "rocRAND: Mersenne Twister for graphics processors", integers<ROCRAND_RNG_PSEUDO_MTGP32> },
		{ "rocRAND: uniform floating point", uniform },
		{ "rocRAND: normal distribution", normal },
		{ "rocBLAS: product of matrices, single precision", gemm<float, float, false> },
		{ "rocBLAS: product of matrices, the first one transposed", gemm<float, float, true> },
		{ "rocBLAS: product of matrices, double precision", gemm<double, double, false> },
		{ "rocBLAS: product of matrices, half precision added up in single", gemm<_Float16, float, false> },
		{ "rocBLAS: matrix and vector", gemv<false> },
		{ "rocBLAS: matrix transposed and vector", gemv<true> },
		{ nullptr, nullptr },
	};

	return today(tests, argc > 1 ? argv[1] : "");
}

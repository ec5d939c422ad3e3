// SPDX-License-Identifier: MIT
/*
 * blas_training.cpp - the low-priority side of the demonstration with a language model: gradient descent by rocBLAS
 *
 *	blas_training
 *
 * Prints "ready" once rocBLAS is. A line on its standard input is the beginning, the next one the end, and so on; it ends with that input.
 *
 * An iteration is two products of matrices, P = X W - T and W = W - RATE X' P, and an addition that counts it in each of COUNTED numbers. After
 * EPOCH iterations W is added to a sum and begins anew, so what is right is known from a few iterations that were done before, when nothing
 * disturbed them: weights and sum are compared with those bit by bit. IN_FLIGHT iterations are submitted.
 *
 * Knows nothing of the scheduler; nice value as inherited.
 */
#include <rocblas/rocblas.h>

#include "demo_training.h"

#define ROCBLAS(call)	do { rocblas_status s_ = (call); if (s_ != rocblas_status_success) { \
				fprintf(stderr, "%s: %s\n", #call, rocblas_status_to_string(s_)); exit(1); } } while (0)

#define WIDTH		128
#define WEIGHTS		(WIDTH * WIDTH)
#define COUNTED		4096
#define EPOCH		4u
#define RATE		0.002f

struct model {
	std::vector<float> weights, known[EPOCH];	/* at first, and after so many iterations and one */
	float *x, *labels, *product, *w, *first, *sum, *counts, *ones;
	hipEvent_t event[IN_FLIGHT];
	hipStream_t stream;
	rocblas_handle blas;
};

/* Numbers that look like any, from -1 to 1 */
static float number(unsigned int i)
{
	i = i * 2654435761u;
	i = (i ^ i >> 15) * 2246822519u;
	return (float)(int)(i >> 8) / 8388608 - 1;
}

static float *on_device(const std::vector<float> &values)
{
	float *p;

	HIP(hipMalloc((void **)&p, values.size() * 4));
	HIP(hipMemcpy(p, values.data(), values.size() * 4, hipMemcpyHostToDevice));
	return p;
}

static std::vector<float> back(const float *p, size_t n)
{
	std::vector<float> to(n);

	HIP(hipMemcpy(to.data(), p, n * 4, hipMemcpyDeviceToHost));
	return to;
}

static void multiply(struct model &m, rocblas_operation first, float factor, const float *b, float keep, const float *c, float *d)
{
	ROCBLAS(rocblas_gemm_ex(m.blas, first, rocblas_operation_none, WIDTH, WIDTH, WIDTH, &factor, m.x, rocblas_datatype_f32_r, WIDTH, b,
				rocblas_datatype_f32_r, WIDTH, &keep, c, rocblas_datatype_f32_r, WIDTH, d, rocblas_datatype_f32_r, WIDTH,
				rocblas_datatype_f32_r, rocblas_gemm_algo_standard, 0, 0));
}

static void submit_iteration(struct model &m, unsigned int iteration)
{
	const float one = 1;

	if (iteration && iteration % EPOCH == 0) {
		ROCBLAS(rocblas_saxpy(m.blas, WEIGHTS, &one, m.w, 1, m.sum, 1));
		ROCBLAS(rocblas_scopy(m.blas, WEIGHTS, m.first, 1, m.w, 1));
	}
	multiply(m, rocblas_operation_none, 1, m.w, -1, m.labels, m.product);
	multiply(m, rocblas_operation_transpose, -RATE, m.product, 1, m.w, m.w);
	ROCBLAS(rocblas_saxpy(m.blas, COUNTED, &one, m.ones, 1, m.counts, 1));
	HIP(hipEventRecord(m.event[iteration % IN_FLIGHT], m.stream));
}

static void begin(struct model &m)
{
	HIP(hipMemcpy(m.w, m.weights.data(), WEIGHTS * 4, hipMemcpyHostToDevice));
	HIP(hipMemset(m.sum, 0, WEIGHTS * 4));
	HIP(hipMemset(m.counts, 0, COUNTED * 4));
	HIP(hipDeviceSynchronize());
}

static void set_up(struct model &m)
{
	std::vector<float> x, labels;
	unsigned int i;

	for (i = 0; i < WEIGHTS; i++) {
		x.push_back(number(i));
		labels.push_back(number(i + WEIGHTS));
		m.weights.push_back(number(i + 2 * WEIGHTS));
	}
	HIP(hipSetDeviceFlags(hipDeviceScheduleBlockingSync));
	m.x = on_device(x);
	m.labels = on_device(labels);
	m.w = on_device(m.weights);
	m.first = on_device(m.weights);
	m.product = on_device(m.weights);
	m.sum = on_device(m.weights);
	m.counts = on_device(std::vector<float>(COUNTED));
	m.ones = on_device(std::vector<float>(COUNTED, 1));
	for (i = 0; i < IN_FLIGHT; i++)
		HIP(hipEventCreateWithFlags(&m.event[i], hipEventDisableTiming | hipEventBlockingSync));
	HIP(hipStreamCreate(&m.stream));
	ROCBLAS(rocblas_create_handle(&m.blas));
	ROCBLAS(rocblas_set_stream(m.blas, m.stream));
	begin(m);
	for (i = 0; i < EPOCH; i++) {
		submit_iteration(m, i);
		HIP(hipStreamSynchronize(m.stream));
		m.known[i] = back(m.w, WEIGHTS);
	}
	/* The kernels of an epoch's end are loaded, too. */
	submit_iteration(m, EPOCH);
	HIP(hipStreamSynchronize(m.stream));
}

/* Weights, and sums of an epoch's last ones, that are not what so many iterations make */
static unsigned int wrong_weights(struct model &m, unsigned int iterations)
{
	std::vector<float> w = back(m.w, WEIGHTS), sum = back(m.sum, WEIGHTS), want(WEIGHTS);
	unsigned int i, wrong = 0, epochs = (iterations - 1) / EPOCH;

	for (; epochs; epochs--)
		for (i = 0; i < WEIGHTS; i++)
			want[i] += m.known[EPOCH - 1][i];
	for (i = 0; i < WEIGHTS; i++)
		wrong += (memcmp(&w[i], &m.known[(iterations - 1) % EPOCH][i], 4) != 0) + (memcmp(&sum[i], &want[i], 4) != 0);
	return wrong;
}

/* Until there is a line to read, or no input any more */
static void train_for_a_while(struct model &m)
{
	trained t;

	begin(m);
	t = train_until_told(m.event, [&](unsigned int iteration) { submit_iteration(m, iteration); });
	printf("training ");
	print_tally(m.counts, COUNTED, t.iterations);
	print_trained(t, wrong_weights(m, t.iterations));
}

int main()
{
	struct model m;

	setvbuf(stdout, NULL, _IOLBF, 0);
	set_up(m);
	train_when_told([&] { train_for_a_while(m); });
	return 0;
}

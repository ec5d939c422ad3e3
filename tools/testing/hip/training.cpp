// SPDX-License-Identifier: MIT
/*
 * training.cpp - the low-priority side of the demonstration as a HIP program: stochastic gradient descent
 *
 *	hip_training
 *
 * Prints "ready" once HIP is. A line on its standard input is the beginning, the next one the end, and so on; it ends with that input.
 *
 * Each compute unit trains a linear model of its own, one weight a work-item: a launch takes a batch of samples into LDS and goes down the
 * gradient sample by sample. A batch leaves no room for another workgroup's in LDS, so a launch has the device for itself. An
 * iteration is LAUNCHES launches; two iterations are in flight. At the end it finishes what it submitted and compares all weights, bit by
 * bit, with those of a CPU that did the same: a step that is lost, done twice or on wrong registers shows in them.
 *
 * Knows nothing of the scheduler; nice value as inherited.
 */
#include "demo_training.h"

#define SAMPLES		60	/* of a batch */
#define STEPS		5	/* of a launch: a twelfth of them, in turn */
#define VECTORS		(SAMPLES / 4)
#define BATCHES		4u
#define WAVES		(BLOCK / 64)
#define LAUNCHES	4u
#define RATE		0.003f

/* What a weight is multiplied with in sample @s of a batch: four samples are together */
__host__ __device__ static inline unsigned int column(unsigned int s, unsigned int weight)
{
	return (s / 4 * BLOCK + weight) * 4 + s % 4;
}

__global__ void __launch_bounds__(BLOCK) train(float *weights, const float *samples, const float *labels, unsigned int first, unsigned int *runs)
{
	__shared__ float4 tile[VECTORS * BLOCK];
	__shared__ float part[WAVES];
	const float *x = (const float *)tile;
	unsigned int t = threadIdx.x, at = blockIdx.x * BLOCK + t, s;
	float w = weights[at], p, error;
	int distance;

	for (s = 0; s < VECTORS; s++)
		tile[s * BLOCK + t] = ((const float4 *)samples)[s * BLOCK + t];
	for (s = first; s < first + STEPS; s++) {
		p = w * x[column(s, t)];
		for (distance = 32; distance; distance /= 2)
			p += __shfl_xor(p, distance);
		if (t % 64 == 0)
			part[t / 64] = p;
		__syncthreads();
		error = labels[s] - ((part[0] + part[1]) + (part[2] + part[3]));
		w = fmaf(RATE * error, x[column(s, t)], w);
		__syncthreads();
	}
	weights[at] = w;
	runs[at]++;
}

/* The same, as a CPU does it */
static void train_here(float *w, const float *samples, const float *labels, unsigned int first)
{
	float p[2][BLOCK], error;
	unsigned int s, t, in;
	int distance;

	for (s = first; s < first + STEPS; s++) {
		for (t = 0; t < BLOCK; t++)
			p[0][t] = w[t] * samples[column(s, t)];
		for (distance = 32, in = 0; distance; distance /= 2, in ^= 1)
			for (t = 0; t < BLOCK; t++)
				p[!in][t] = p[in][t] + p[in][t ^ distance];
		error = labels[s] - ((p[in][0] + p[in][64]) + (p[in][128] + p[in][192]));
		for (t = 0; t < BLOCK; t++)
			w[t] = fmaf(RATE * error, samples[column(s, t)], w[t]);
	}
}

/* Numbers that look like any, from -1 to 1 */
static float number(unsigned int i)
{
	i = i * 2654435761u;
	i = (i ^ i >> 15) * 2246822519u;
	return (float)(int)(i >> 8) / 8388608 - 1;
}

/* What the device needs, set up once */
struct model {
	std::vector<float> samples, labels, weights;
	float *dsamples, *dlabels, *dweights;
	unsigned int *runs, models;
	hipEvent_t event[IN_FLIGHT];
	hipStream_t stream;
};

static void set_up(struct model &m)
{
	hipDeviceProp_t device;
	unsigned int i;

	HIP(hipSetDeviceFlags(hipDeviceScheduleBlockingSync));
	HIP(hipGetDeviceProperties(&device, 0));
	m.models = (unsigned int)device.multiProcessorCount;
	for (i = 0; i < BATCHES * SAMPLES * BLOCK; i++)
		m.samples.push_back(number(i));
	for (i = 0; i < BATCHES * SAMPLES; i++)
		m.labels.push_back(2 * m.samples[column(i, 3)] - m.samples[column(i, 200)]);
	for (i = 0; i < m.models * BLOCK; i++)
		m.weights.push_back(number(~i));
	HIP(hipMalloc((void **)&m.dsamples, m.samples.size() * 4));
	HIP(hipMalloc((void **)&m.dlabels, m.labels.size() * 4));
	HIP(hipMalloc((void **)&m.dweights, m.weights.size() * 4));
	HIP(hipMalloc((void **)&m.runs, m.weights.size() * 4));
	HIP(hipMemcpy(m.dsamples, m.samples.data(), m.samples.size() * 4, hipMemcpyHostToDevice));
	HIP(hipMemcpy(m.dlabels, m.labels.data(), m.labels.size() * 4, hipMemcpyHostToDevice));
	HIP(hipStreamCreate(&m.stream));
	for (i = 0; i < IN_FLIGHT; i++)
		HIP(hipEventCreateWithFlags(&m.event[i], hipEventDisableTiming));
}

/* Where launch @i of the device's and of the CPU's begins */
static unsigned int batch(unsigned int i)
{
	return i / (SAMPLES / STEPS) % BATCHES;
}

static void submit_iteration(struct model &m, unsigned int iteration)
{
	unsigned int i;

	for (i = iteration * LAUNCHES; i < (iteration + 1) * LAUNCHES; i++)
		train<<<m.models, BLOCK, 0, m.stream>>>(m.dweights, m.dsamples + batch(i) * SAMPLES * BLOCK, m.dlabels + batch(i) * SAMPLES,
							i * STEPS % SAMPLES, m.runs);
	HIP(hipGetLastError());
	HIP(hipEventRecord(m.event[iteration % IN_FLIGHT], m.stream));
}

/* Weights that are not what a CPU makes of so many launches */
static unsigned int wrong_weights(struct model &m, unsigned int launches)
{
	std::vector<float> want = m.weights, out(m.weights.size());
	unsigned int i, wrong = 0;

	HIP(hipMemcpy(out.data(), m.dweights, out.size() * 4, hipMemcpyDeviceToHost));
	for (i = 0; i < launches * m.models; i++)
		train_here(&want[i % m.models * BLOCK], &m.samples[batch(i / m.models) * SAMPLES * BLOCK],
			   &m.labels[batch(i / m.models) * SAMPLES], i / m.models * STEPS % SAMPLES);
	for (i = 0; i < out.size(); i++)
		wrong += memcmp(&out[i], &want[i], 4) != 0;
	return wrong;
}

/* Until there is a line to read, or no input any more */
static void train_for_a_while(struct model &m)
{
	trained t;

	HIP(hipMemcpy(m.dweights, m.weights.data(), m.weights.size() * 4, hipMemcpyHostToDevice));
	HIP(hipMemset(m.runs, 0, m.weights.size() * 4));
	HIP(hipDeviceSynchronize());
	t = train_until_told(m.event, [&](unsigned int i) { submit_iteration(m, i); });
	printf("training ");
	print_tally(m.runs, m.weights.size(), t.iterations * LAUNCHES);
	print_trained(t, wrong_weights(m, t.iterations * LAUNCHES));
}

int main()
{
	struct model m;

	setvbuf(stdout, NULL, _IOLBF, 0);
	set_up(m);
	train_when_told([&] { train_for_a_while(m); });
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * inference.cpp - the high-priority side of the demonstration as a HIP program: a network of dense layers, request by request
 *
 *	hip_inference
 *
 * Prints "ready" once HIP is. A line with a number on its standard input is that many requests; it ends with that input.
 *
 * A request is ROWS inputs that go through LAYERS layers, a launch each, from and to memory of the host. One arrives every PERIOD_MS, whether or not the one
 * before is done; its latency counts from its arrival. Each result is compared, bit by bit, with what a CPU makes of the same input.
 * Prints progress, then one line of results; judging is the caller's.
 *
 * Knows nothing of the scheduler; nice value as inherited.
 */
#include "demo_hip.h"

#define WIDTH		32
#define ROWS		8
#define LAYERS		16
#define INPUTS		8u	/* different ones */
#define PERIOD_MS	250

__global__ void __launch_bounds__(BLOCK) dense(float *out, const float *in, const float *weights, unsigned int *runs)
{
	__shared__ float w[WIDTH][WIDTH], x[ROWS][WIDTH];
	unsigned int t = threadIdx.x, column = t % WIDTH, i, k;

	for (i = t; i < WIDTH * WIDTH; i += BLOCK)
		w[i / WIDTH][column] = weights[i];
	for (i = t; i < ROWS * WIDTH; i += BLOCK)
		x[i / WIDTH][column] = in[i];
	__syncthreads();
	for (i = t; i < ROWS * WIDTH; i += BLOCK) {
		float sum = 0;

		for (k = 0; k < WIDTH; k++)
			sum = fmaf(x[i / WIDTH][k], w[k][column], sum);
		out[i] = sum > 0 ? sum : 0;
	}
	runs[t]++;
}

static std::vector<float> dense_here(const std::vector<float> &in, const float *weights)
{
	std::vector<float> out(in.size());

	for (unsigned int i = 0; i < in.size(); i++) {
		float sum = 0;

		for (unsigned int k = 0; k < WIDTH; k++)
			sum = fmaf(in[i / WIDTH * WIDTH + k], weights[k * WIDTH + i % WIDTH], sum);
		out[i] = sum > 0 ? sum : 0;
	}
	return out;
}

/* What the device needs, set up once */
struct network {
	std::vector<float> in[INPUTS], want[INPUTS];
	float *weights, *buffer[LAYERS + 1];
	unsigned int *runs;
	hipStream_t stream;
};

static void set_up(struct network &n)
{
	const size_t layer = WIDTH * WIDTH, bytes = ROWS * WIDTH * sizeof(float);
	std::vector<float> weights(LAYERS * layer);
	unsigned int i, l;

	for (i = 0; i < weights.size(); i++)
		weights[i] = (float)(int)(i * 37 % 129) / 512 - 0.11f;
	for (i = 0; i < INPUTS; i++) {
		for (l = 0; l < ROWS * WIDTH; l++)
			n.in[i].push_back((float)((l * 7 + i * 31) % 100) / 50);
		n.want[i] = n.in[i];
		for (l = 0; l < LAYERS; l++)
			n.want[i] = dense_here(n.want[i], &weights[l * layer]);
	}
	HIP(hipSetDeviceFlags(hipDeviceScheduleBlockingSync));
	HIP(hipMalloc((void **)&n.weights, weights.size() * 4));
	HIP(hipMalloc((void **)&n.runs, BLOCK * 4));
	for (i = 0; i <= LAYERS; i++)
		HIP(i % LAYERS ? hipMalloc((void **)&n.buffer[i], bytes) : hipHostMalloc((void **)&n.buffer[i], bytes, 0));
	HIP(hipMemcpy(n.weights, weights.data(), weights.size() * 4, hipMemcpyHostToDevice));
	HIP(hipStreamCreate(&n.stream));
}

/* Return: is the result right? */
static bool request(struct network &n, unsigned int number)
{
	const size_t layer = WIDTH * WIDTH, bytes = ROWS * WIDTH * sizeof(float);
	unsigned int l;

	memcpy(n.buffer[0], n.in[number % INPUTS].data(), bytes);
	memset(n.buffer[LAYERS], 0xff, bytes);
	for (l = 0; l < LAYERS; l++)
		dense<<<1, BLOCK, 0, n.stream>>>(n.buffer[l + 1], n.buffer[l], n.weights + l * layer, n.runs);
	HIP(hipGetLastError());
	HIP(hipStreamSynchronize(n.stream));
	return !memcmp(n.buffer[LAYERS], n.want[number % INPUTS].data(), bytes);
}

static void serve(struct network &n, unsigned int requests)
{
	demo_clock::time_point arrival;
	std::vector<uint64_t> latency;
	unsigned int r, wrong = 0;
	uint64_t p50, p99;

	HIP(hipMemset(n.runs, 0, BLOCK * 4));
	HIP(hipDeviceSynchronize());
	arrival = demo_clock::now();
	for (r = 0; r < requests; r++) {
		std::this_thread::sleep_until(arrival += std::chrono::milliseconds(PERIOD_MS));
		wrong += !request(n, r);
		latency.push_back(us_since(arrival));
		if (r % 10 == 9)
			printf("progress %u/%u requests, last %llu us\n", r + 1, requests, (unsigned long long)latency.back());
	}
	printf("inference ");
	print_tally(n.runs, BLOCK, (uint64_t)requests * LAYERS);
	p50 = demo_percentile(latency.data(), latency.size(), 50);
	p99 = demo_percentile(latency.data(), latency.size(), 99);
	printf(" wrong=%u requests=%u p50_us=%llu p99_us=%llu max_us=%llu\n", wrong, requests, (unsigned long long)p50,
	       (unsigned long long)p99, (unsigned long long)latency.back());
}

int main()
{
	struct network n;
	unsigned int requests;

	setvbuf(stdout, NULL, _IOLBF, 0);
	set_up(n);
	request(n, 0);			/* loads the code */
	printf("ready\n");
	while (scanf("%u", &requests) == 1)
		serve(n, requests);
	return 0;
}

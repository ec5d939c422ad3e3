// SPDX-License-Identifier: MIT
/*
 * primitives.cpp - rocPRIM's scan, sort, reduction and transformation, compiled for the device; see today.h
 */
#include <algorithm>
#include <numeric>

#include <rocprim/rocprim.hpp>

#include "today.h"

#define ITEMS	20000u

/* Calls rocPRIM twice, as it wants to be: it says first how much memory it needs */
template <typename Call> static void with_storage(Call call)
{
	size_t bytes = 0;

	HIP(call(nullptr, bytes));
	on_device<unsigned char> storage(bytes + 1);
	HIP(call(storage.p, bytes));
	HIP(hipDeviceSynchronize());
}

static std::vector<unsigned int> numbers(unsigned int first)
{
	std::vector<unsigned int> v(ITEMS);

	for (auto &n : v)
		n = number(first++);
	return v;
}

static bool scan()
{
	std::vector<unsigned int> in = numbers(1), want(ITEMS);
	on_device<unsigned int> din(in), out(ITEMS);

	with_storage([&](void *storage, size_t &bytes) {
		return rocprim::exclusive_scan(storage, bytes, din.p, out.p, 7u, (size_t)ITEMS, rocprim::plus<unsigned int>());
	});
	std::exclusive_scan(in.begin(), in.end(), want.begin(), 7u);
	return same(out.back(), want);
}

static bool radix_sort()
{
	std::vector<unsigned int> in = numbers(ITEMS), places(ITEMS), order(ITEMS);
	on_device<unsigned int> keys(in), sorted(ITEMS), out(ITEMS);
	bool good;

	std::iota(places.begin(), places.end(), 0);
	on_device<unsigned int> values(places);
	with_storage([&](void *storage, size_t &bytes) {
		return rocprim::radix_sort_pairs(storage, bytes, keys.p, sorted.p, values.p, out.p, (size_t)ITEMS);
	});
	order = places;
	std::stable_sort(order.begin(), order.end(), [&](unsigned int a, unsigned int b) { return in[a] < in[b]; });
	good = same(out.back(), order);
	std::sort(in.begin(), in.end());
	return same(sorted.back(), in) && good;
}

static bool merge_sort()
{
	std::vector<unsigned int> in = numbers(3 * ITEMS);
	on_device<unsigned int> keys(in), sorted(ITEMS);

	with_storage([&](void *storage, size_t &bytes) {
		return rocprim::merge_sort(storage, bytes, keys.p, sorted.p, (size_t)ITEMS, rocprim::greater<unsigned int>());
	});
	std::sort(in.begin(), in.end(), std::greater<unsigned int>());
	return same(sorted.back(), in);
}

/* Whole numbers as floating point: their sum is exact, whatever the order */
static bool reduce()
{
	std::vector<unsigned int> in = numbers(4 * ITEMS);
	std::vector<double> values(in.begin(), in.end());
	on_device<double> dvalues(values), sum(1);

	with_storage([&](void *storage, size_t &bytes) {
		return rocprim::reduce(storage, bytes, dvalues.p, sum.p, 0.0, (size_t)ITEMS, rocprim::plus<double>());
	});
	return same(sum.back(), std::vector<double>(1, std::accumulate(values.begin(), values.end(), 0.0)));
}

static bool run_lengths()
{
	std::vector<unsigned int> in = numbers(5 * ITEMS), want, lengths;
	unsigned int i;

	for (auto &v : in)
		v %= 2;
	for (i = 0; i < ITEMS; i++)
		if (i && in[i] == in[i - 1]) {
			lengths.back()++;
		} else {
			want.push_back(in[i]);
			lengths.push_back(1);
		}
	on_device<unsigned int> din(in), unique(ITEMS), counts(ITEMS), runs(1);
	with_storage([&](void *storage, size_t &bytes) {
		return rocprim::run_length_encode(storage, bytes, din.p, ITEMS, unique.p, counts.p, runs.p);
	});
	want.resize(ITEMS);
	lengths.resize(ITEMS);
	return same(runs.back(), std::vector<unsigned int>(1, (unsigned int)std::count_if(lengths.begin(), lengths.end(),
										    [](unsigned int n) { return n; }))) &&
	       same(unique.back(), want) && same(counts.back(), lengths);
}

#define ROUNDS	40u

/* Counts its calls, which take a while */
struct counted {
	unsigned int *calls;

	__device__ unsigned int operator()(unsigned int i) const
	{
		unsigned int v = i, n;

		calls[i]++;
		for (n = 0; n < ROUNDS; n++)
			v = v * 3 + n;
		return v;
	}
};

static bool transform()
{
	std::vector<unsigned int> in(ITEMS), want(ITEMS);
	on_device<unsigned int> out(ITEMS), calls(ITEMS);
	unsigned int i, n;

	for (i = 0; i < ITEMS; i++)
		for (want[i] = in[i] = i, n = 0; n < ROUNDS; n++)
			want[i] = want[i] * 3 + n;
	on_device<unsigned int> din(in);
	HIP(rocprim::transform(din.p, out.p, ITEMS, counted { calls.p }));
	for (unsigned int seen : calls.back())
		count(seen, 1);
	return same(out.back(), want);
}

int main(int argc, char **argv)
{
	static const struct hip_program tests[] = {
		{ "rocPRIM: exclusive scan", scan },
		{ "rocPRIM: radix sort of pairs", radix_sort },
		{ "rocPRIM: merge sort", merge_sort },
		{ "rocPRIM: reduction", reduce },
		{ "rocPRIM: run lengths", run_lengths },
		{ "rocPRIM: transformation that counts its calls", transform },
		{ nullptr, nullptr },
	};

	return today(tests, argc > 1 ? argv[1] : "");
}

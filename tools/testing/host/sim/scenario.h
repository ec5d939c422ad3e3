/* SPDX-License-Identifier: MIT */
/*
 * scenario.h - loads that are hard to decide, and what came of them
 *
 * What decisions.c prints and service_test.c tests. begin(), then what adds classes, one after the
 * other, then simulate(). The device and tunables are sim_defaults(), with a look each 80 us.
 */
#ifndef HOST_SCENARIO_H
#define HOST_SCENARIO_H

#include "sim.h"

extern struct sim_config config;
/* Of simulate(), of simulate_alone(), and of simulate_observing() */
extern struct sim_result result, alone, observed;
extern u32 nr_classes;

/* Each program has its own: called with what must not be, if it was. */
void scenario_is_wrong(const char *what);

void begin(u64 duration_ns);
struct sim_class *add(struct sim_class class);
struct sim_class *add_requests(s32 priority, u64 period_ns, u32 kernels, u64 kernel_ns);
struct sim_class *add_gappy(s32 priority, u64 kernel_ns, u64 gap_ns, u64 gap_most_ns);
struct sim_class *add_endless(s32 priority, u32 nr_queues, u64 kernel_ns);
struct sim_class *add_decode(u64 kernel_ns, u64 gap_ns, u64 gap_most_ns);
void in_group(struct sim_class *class, u32 group, u32 weight, u32 min_pct);
void slow_connect(u64 full_save_ns);

void load_below_pauses(u32 kernels, u64 period_ns, u32 nr_low, u64 low_kernel_ns);
void load_below_poisson(u64 period_ns, u32 nr_low, u64 low_kernel_ns);
void load_groups_below(u32 nr);
void load_minimum(u32 min_pct, u32 weight, u64 kernel_ns, u64 gap_ns);
void load_equals(u32 nr);
void load_weights(u64 gap_ns, u64 gap_most_ns);
void add_task(u64 period_ns, u64 work_ns);
void load_task_beside_endless(u64 deadline_ns);
void load_maximum(bool beside);
void load_slow_decode(u64 save_ns, u64 kernel_ns, u64 gap_ns, u64 gap_most_ns);
void load_batch_below(u32 nr);
void load_short_requests(u64 period_ns, u64 kernel_ns);
void load_job(u64 high_period_ns, u64 layer_ns, bool stay);

void simulate(void);
void simulate_alone(u32 class);
void simulate_observing(void);

/* Nodes of a job, and what came of each */
#define NR_JOB_NODES	8
extern struct sim_result node_results[NR_JOB_NODES];
double simulate_job(u32 nr_high);

/* Of @result, in percent of the device, in milliseconds or seconds; by class */
double pct(u32 class);
double all_pct(void);
double least_pct(u32 class);
double ms_at(u32 class, double quantile);
double without_s(u32 class);
double alone_ms_at(double quantile);
double of_time(u64 ns);

#endif /* HOST_SCENARIO_H */

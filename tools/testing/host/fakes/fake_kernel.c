// SPDX-License-Identifier: MIT
/*
 * fake_kernel.c - tasks, time, locks and what else of the kernel is more than a line; see fake_kernel.h
 */
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <time.h>

#include "fake_kernel.h"

#define TASK_ENDED	2

/* Protects tasks, works, and the clock. */
static pthread_mutex_t big = PTHREAD_MUTEX_INITIALIZER;
bool shim_free_running;
/* An uptime of 50 days. */
static u64 now_ns = 50ULL * 86400 * 1000000000;

static struct pid main_pid = { .nr = 1, .references = 1 };
static struct task_struct main_task, *tasks = &main_task;
__thread struct task_struct *current = &main_task;

static struct work_struct *works;
static struct task_struct *worker;
static struct rcu_head *callbacks;
struct srcu_struct shim_rcu = { .lock = { .real = PTHREAD_MUTEX_INITIALIZER } };
__thread int shim_rcu_index;

struct pid_namespace init_pid_ns;
struct user_namespace init_user_ns;
int shim_fail_alloc;
u64 shim_pids_looked_up;
u64 shim_rcu_callbacks;
u64 shim_slack_ns;
bool shim_read_only;
int shim_allocated;
char shim_log[4096];
struct miscdevice *shim_miscdevice;
static struct shim_param *params;

void shim_bug(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: BUG: %s\n", file, line, what);
	printf("# %s:%d: BUG: %s\n", file, line, what);
	fflush(stdout);
	abort();
}

/* ---- time and tasks ---- */

static u64 real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000 + t.tv_nsec;
}

u64 ktime_get_ns(void)
{
	return shim_free_running ? real_ns() : READ_ONCE(now_ns);
}

/* The same numbers each time, and others with RANDOM_SEED in the environment */
static u64 random_state;

static void __attribute__((constructor)) seed_random(void)
{
	const char *seed = getenv("RANDOM_SEED");

	random_state = seed ? strtoull(seed, NULL, 0) << 32 : 0;
}

u32 get_random_u32(void)
{
	u64 x = __atomic_add_fetch(&random_state, 0x9e3779b97f4a7c15ULL, __ATOMIC_RELAXED);

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	return ((x ^ (x >> 27)) * 0x94d049bb133111ebULL) >> 32;
}

static bool may_run(struct task_struct *task)
{
	long state = READ_ONCE(task->state);

	return state != TASK_ENDED && (state == TASK_RUNNING || task->wake_ns <= now_ns);
}

/*
 * In virtual time only one task runs at a time: they share a thread. A switch takes a tenth of what it takes between threads, and there are millions
 * of them. The sanitizer of addresses has to be told of stacks.
 */
#ifdef __SANITIZE_ADDRESS__
#define HAS_ASAN	1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN	1
#endif
#endif

#ifdef HAS_ASAN
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_start_switch_fiber(save, bottom, size)	do { } while (0)
#define __sanitizer_finish_switch_fiber(save, bottom, size)	do { } while (0)
#endif

#define STACK_BYTES	(512 * 1024)

void (*shim_at_dma_rmb)(void);

/* What swapcontext() does as well, which the sanitizer takes for something else, and with two system calls. */
extern void shim_swap_stacks(void **from, void *to);
#ifdef __x86_64__
__asm__(".text\n"
	"shim_swap_stacks:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
	"	ret\n");
#define NR_SAVED	6
#else
#error "how are stacks swapped here?"
#endif

/**
 * struct shim_fiber - where a task is while others run
 * @top: of its stack, where registers are
 * @stack: its own; the main task's is that of the process
 * @bottom, @bytes: the same for the sanitizer, which tells that of the main task
 * @fake: of the sanitizer
 * @rcu_index: what of the thread is the task's
 */
struct shim_fiber {
	void *top;
	void *stack;
	const void *bottom;
	size_t bytes;
	void *fake;
	int rcu_index;
};

static struct shim_fiber main_fiber, *left;

/* On the other side of a switch. */
static void arrived(void)
{
	__sanitizer_finish_switch_fiber(current->fiber->fake, &left->bottom, &left->bytes);
	shim_rcu_index = current->fiber->rcu_index;
}

/* big held, here and there. */
static void switch_to(struct task_struct *task)
{
	struct shim_fiber *from = current->fiber, *to = task->fiber;

	if (to == from)
		return;
	from->rcu_index = shim_rcu_index;
	left = from;
	current = task;
	__sanitizer_start_switch_fiber(&from->fake, to->bottom, to->bytes);
	shim_swap_stacks(&from->top, to->top);
	arrived();
}

static void free_fiber(struct shim_fiber *fiber)
{
	if (!fiber)
		return;
	free(fiber->stack);
	free(fiber);
}

/* Virtual time: gives the CPU to the next one that can use it, in turn; if there is none, time passes. big held. */
static void give_way(void)
{
	struct task_struct *task;
	u64 first_ns = U64_MAX;

	for (task = current->next ? current->next : tasks; ; task = task->next ? task->next : tasks) {
		if (may_run(task))
			break;
		if (task->wake_ns < first_ns && READ_ONCE(task->state) != TASK_ENDED)
			first_ns = task->wake_ns;
		if (task != current)
			continue;
		if (first_ns == U64_MAX)
			shim_bug(__FILE__, __LINE__, "everybody sleeps for ever");
		WRITE_ONCE(now_ns, first_ns);
	}
	switch_to(task);
}

/* Until somebody wakes the current task, whose state says that it sleeps, or until then. */
void shim_sleep_until(u64 ns)
{
	struct timespec until = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	pthread_mutex_lock(&big);
	current->wake_ns = ns;
	if (!shim_free_running && READ_ONCE(current->state) != TASK_RUNNING)
		give_way();
	while (shim_free_running && READ_ONCE(current->state) != TASK_RUNNING && real_ns() < ns) {
		if (ns == U64_MAX)
			pthread_cond_wait(&current->cond, &big);
		else
			pthread_cond_timedwait(&current->cond, &big, &until);
	}
	current->wake_ns = U64_MAX;
	current->waits_for = NULL;
	set_current_state(TASK_RUNNING);
	pthread_mutex_unlock(&big);
}

/* Between this and shim_sleep_until() look whether there is anything to wait for. */
void shim_wait_prepare(const void *what)
{
	pthread_mutex_lock(&big);
	current->waits_for = what;
	set_current_state(TASK_IDLE);
	pthread_mutex_unlock(&big);
}

void shim_yield(void)
{
	set_current_state(TASK_IDLE);
	shim_sleep_until(ktime_get_ns());
}

bool shim_one_cpu;
bool shim_wakes_at_once;

void shim_spin(u64 ns)
{
	BUG_ON(shim_free_running);
	WRITE_ONCE(now_ns, now_ns + ns);
}

static void wake_locked(struct task_struct *task)
{
	if (READ_ONCE(task->state) == TASK_ENDED)
		return;
	__atomic_store_n(&task->state, TASK_RUNNING, __ATOMIC_SEQ_CST);
	if (shim_free_running)
		pthread_cond_signal(&task->cond);
}

void shim_wake_waiters(const void *what)
{
	struct task_struct *task;

	pthread_mutex_lock(&big);
	for (task = tasks; task; task = task->next)
		if (task->waits_for == what)
			wake_locked(task);
	pthread_mutex_unlock(&big);
}

int wake_up_process(struct task_struct *task)
{
	pthread_mutex_lock(&big);
	wake_locked(task);
	pthread_mutex_unlock(&big);
	if (shim_wakes_at_once && task->fifo && !current->fifo)
		shim_yield();
	return 1;
}

/* Who has not said that it sleeps waits in a loop, for something that takes time. */
void schedule(void)
{
	if (READ_ONCE(current->state) == TASK_RUNNING)
		fsleep(1);
	else
		shim_sleep_until(U64_MAX);
}

int schedule_hrtimeout_range(ktime_t *expires, u64 slack_ns, int mode)
{
	u64 end_ns = ktime_get_ns() + *expires + slack_ns;

	WRITE_ONCE(shim_slack_ns, slack_ns);
	/* As late as it may be: nobody else wakes up earlier. */
	shim_sleep_until(end_ns);
	return ktime_get_ns() >= end_ns ? 0 : -EINTR;
}

void fsleep(unsigned long us)
{
	u64 until_ns = ktime_get_ns() + us * 1000;

	while (ktime_get_ns() < until_ns) {
		set_current_state(TASK_IDLE);
		shim_sleep_until(until_ns);
	}
}

static void init_task(struct task_struct *task)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&task->cond, &monotonic);
	pthread_condattr_destroy(&monotonic);
	task->wake_ns = U64_MAX;
	task->user_ns = &init_user_ns;
}

static void run_task(void)
{
	if (!kthread_should_stop())
		current->fn(current->data);

	pthread_mutex_lock(&big);
	__atomic_store_n(&current->state, TASK_ENDED, __ATOMIC_SEQ_CST);
	__atomic_store_n(&current->ended, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&big);
	shim_wake_waiters(current);
}

static void *thread_main(void *task)
{
	current = task;
	pthread_mutex_lock(&big);
	while (READ_ONCE(current->state) != TASK_RUNNING)
		pthread_cond_wait(&current->cond, &big);
	pthread_mutex_unlock(&big);
	run_task();
	return NULL;
}

static void fiber_main(void)
{
	arrived();
	pthread_mutex_unlock(&big);
	run_task();
	pthread_mutex_lock(&big);
	give_way();
}

static void make_fiber(struct task_struct *task)
{
	struct shim_fiber *fiber = calloc(1, sizeof(*fiber));
	void (**top)(void);

	BUG_ON(!fiber);
	fiber->stack = malloc(STACK_BYTES);
	BUG_ON(!fiber->stack);
	fiber->bottom = fiber->stack;
	fiber->bytes = STACK_BYTES;
	/* It begins where a call would have led; nobody returns from there. */
	top = fiber->stack + STACK_BYTES;
	*--top = NULL;
	*--top = fiber_main;
	fiber->top = top - NR_SAVED;
	task->fiber = fiber;
}

/* As with isolcpus= */
struct cpumask shim_not_isolated = { ~0ULL };
struct cpumask shim_for_kthreads = { ~0ULL };
struct cpumask shim_cpus_online = { ~0ULL };

const struct cpumask *cpumask_of_node(int nid)
{
	static struct cpumask nodes[8];

	BUG_ON(nid < 0 || nid >= 8);
	nodes[nid].bits = 0xffULL << 8 * nid & shim_cpus_online.bits;
	return &nodes[nid];
}

int set_cpus_allowed_ptr(struct task_struct *task, const struct cpumask *mask)
{
	BUG_ON(!mask->bits);
	task->cpus = *mask;
	return 0;
}

struct task_struct *kthread_create_on_node(int (*fn)(void *data), void *data, int nid, const char *name, ...)
{
	struct task_struct *task = shim_alloc(sizeof(*task));

	if (!task)
		return ERR_PTR(-ENOMEM);
	init_task(task);
	task->group_leader = task;
	task->user_ns = &init_user_ns;
	task->tgid = &main_pid;
	task->fn = fn;
	task->data = data;
	task->state = TASK_IDLE;
	task->cpus.bits = ~0ULL;
	task->cpus_ptr = &task->cpus;
	pthread_mutex_lock(&big);
	task->next = tasks->next;
	tasks->next = task;
	pthread_mutex_unlock(&big);
	if (shim_free_running)
		BUG_ON(pthread_create(&task->thread, NULL, thread_main, task));
	else
		make_fiber(task);
	return task;
}

static void wait_for_flag(struct task_struct *task, const bool *flag)
{
	while (shim_wait_prepare(task), !smp_load_acquire(flag))
		shim_sleep_until(U64_MAX);
	set_current_state(TASK_RUNNING);
}

int kthread_stop(struct task_struct *task)
{
	struct task_struct **link;

	BUG_ON(task == current || task->should_stop);
	WRITE_ONCE(task->should_stop, true);
	wake_up_process(task);
	wait_for_flag(task, &task->ended);
	if (shim_free_running)
		pthread_join(task->thread, NULL);
	pthread_mutex_lock(&big);
	for (link = &tasks; *link != task; link = &(*link)->next)
		;
	*link = task->next;
	pthread_mutex_unlock(&big);
	free_fiber(task->fiber);
	shim_free(task);
	return 0;
}

bool kthread_should_stop(void)
{
	return smp_load_acquire(&current->should_stop);
}

u64 shim_ancestors_looked_at;
void (*shim_at_ancestor)(void);
u64 shim_cgroups_looked_at;
void (*shim_at_cgroup)(void);

/* An array has them in the kernel. */
struct cgroup *cgroup_ancestor(struct cgroup *cgroup, int level)
{
	struct cgroup *at;
	int below = 0;

	for (at = cgroup; at; at = at->parent)
		below++;
	if (level < 0 || level >= below)
		return NULL;
	for (at = cgroup; --below > level;)
		at = at->parent;
	return at;
}

const struct task_struct *shim_watched;
u64 shim_named_by_watched;

/* That of its task, also when that has been reaped. */
struct pid_namespace *ns_of_pid(struct pid *pid)
{
	return !pid ? NULL : pid->ns ?: pid->task && pid->task->ns ? pid->task->ns : &init_pid_ns;
}

static bool is_within(const struct pid_namespace *ns, const struct pid_namespace *viewer)
{
	while (ns && ns != viewer)
		ns = ns->parent;
	return ns;
}

pid_t pid_nr_ns(const struct pid *pid, const struct pid_namespace *ns)
{
	if (shim_watched && current == shim_watched)
		shim_named_by_watched++;
	return pid && is_within(ns_of_pid((struct pid *)pid), ns) ? pid->nr : 0;
}

struct pid *find_vpid(int nr)
{
	extern struct pid *shim_find_pid(int nr);

	struct pid *pid = shim_find_pid(nr);

	return pid_nr_ns(pid, task_active_pid_ns(current)) ? pid : NULL;
}

/* ---- hash tables ---- */

u64 shim_entries_compared;
int shim_fail_insert;

int rhashtable_init(struct rhashtable *ht, const struct rhashtable_params *params)
{
	ht->nr_buckets = 64;
	ht->buckets = calloc(ht->nr_buckets, sizeof(*ht->buckets));
	ht->nr = 0;
	return 0;
}

void rhashtable_destroy(struct rhashtable *ht)
{
	BUG_ON(ht->nr);
	free(ht->buckets);
	ht->buckets = NULL;
}

static struct rhash_head **rhash_bucket(struct rhashtable *ht, const void *key, size_t len)
{
	const unsigned char *bytes = key;
	u64 hash = 14695981039346656037ULL;

	while (len--)
		hash = (hash ^ *bytes++) * 1099511628211ULL;
	return &ht->buckets[(hash ^ hash >> 32) % ht->nr_buckets];
}

static const void *rhash_key(const struct rhash_head *head, const struct rhashtable_params *params)
{
	return (const char *)head - params->head_offset + params->key_offset;
}

struct rhash_head *shim_rhash_find(struct rhashtable *ht, const void *key, const struct rhashtable_params *params)
{
	struct rhash_head *head;

	BUG_ON(!ht->buckets);
	/* To look is a step as well. */
	__atomic_add_fetch(&shim_entries_compared, 1, __ATOMIC_RELAXED);
	for (head = *rhash_bucket(ht, key, params->key_len); head; head = head->next) {
		__atomic_add_fetch(&shim_entries_compared, 1, __ATOMIC_RELAXED);
		if (!memcmp(rhash_key(head, params), key, params->key_len))
			break;
	}
	return head;
}

static void rhash_link(struct rhashtable *ht, struct rhash_head *head, const struct rhashtable_params *params)
{
	struct rhash_head **bucket = rhash_bucket(ht, rhash_key(head, params), params->key_len);

	head->next = *bucket;
	*bucket = head;
}

static void rhash_grow(struct rhashtable *ht, const struct rhashtable_params *params)
{
	struct rhash_head **old = ht->buckets, *head;
	u32 i, nr = ht->nr_buckets;

	ht->nr_buckets *= 2;
	ht->buckets = calloc(ht->nr_buckets, sizeof(*ht->buckets));
	for (i = 0; i < nr; i++)
		while ((head = old[i])) {
			old[i] = head->next;
			rhash_link(ht, head, params);
		}
	free(old);
}

int rhashtable_insert_fast(struct rhashtable *ht, struct rhash_head *head, struct rhashtable_params params)
{
	BUG_ON(shim_rhash_find(ht, rhash_key(head, &params), &params));
	if (shim_fail_insert && !--shim_fail_insert)
		return -EBUSY;
	if (++ht->nr > ht->nr_buckets)
		rhash_grow(ht, &params);
	rhash_link(ht, head, &params);
	return 0;
}

int rhashtable_remove_fast(struct rhashtable *ht, struct rhash_head *head, struct rhashtable_params params)
{
	struct rhash_head **at = rhash_bucket(ht, rhash_key(head, &params), params.key_len);

	while (*at != head)
		at = &(*at)->next;
	*at = head->next;
	ht->nr--;
	return 0;
}

/* ---- locks ---- */

void mutex_init(struct mutex *lock)
{
	*lock = (struct mutex){ .real = PTHREAD_MUTEX_INITIALIZER };
}

void mutex_destroy(struct mutex *lock)
{
	BUG_ON(lock->owner);
}

void (*shim_at_lock)(const struct mutex *lock);

void mutex_lock(struct mutex *lock)
{
	BUG_ON(READ_ONCE(lock->owner) == current);
	if (shim_at_lock)
		shim_at_lock(lock);
	if (shim_free_running) {
		pthread_mutex_lock(&lock->real);
	} else if (lock->owner) {
		while (shim_wait_prepare(lock), lock->owner)
			shim_sleep_until(U64_MAX);
		set_current_state(TASK_RUNNING);
	}
	WRITE_ONCE(lock->owner, current);
}

bool mutex_trylock(struct mutex *lock)
{
	BUG_ON(READ_ONCE(lock->owner) == current);
	if (shim_free_running ? pthread_mutex_trylock(&lock->real) != 0 : lock->owner != NULL)
		return false;
	WRITE_ONCE(lock->owner, current);
	return true;
}

void mutex_unlock(struct mutex *lock)
{
	BUG_ON(READ_ONCE(lock->owner) != current);
	WRITE_ONCE(lock->owner, NULL);
	if (shim_free_running)
		pthread_mutex_unlock(&lock->real);
	else
		shim_wake_waiters(lock);
}

bool down_read_trylock(struct rw_semaphore *sem)
{
	bool got;

	mutex_lock(&sem->lock);
	got = !sem->writer;
	WRITE_ONCE(sem->readers, sem->readers + got);
	mutex_unlock(&sem->lock);
	return got;
}

void up_read(struct rw_semaphore *sem)
{
	mutex_lock(&sem->lock);
	BUG_ON(sem->readers <= 0);
	WRITE_ONCE(sem->readers, sem->readers - 1);
	mutex_unlock(&sem->lock);
}

int init_srcu_struct(struct srcu_struct *srcu)
{
	*srcu = (struct srcu_struct){ .lock = { .real = PTHREAD_MUTEX_INITIALIZER } };
	return 0;
}

void cleanup_srcu_struct(struct srcu_struct *srcu)
{
	BUG_ON(srcu_read_lock_held(srcu));
}

int srcu_read_lock(struct srcu_struct *srcu)
{
	int index;

	mutex_lock(&srcu->lock);
	index = srcu->index;
	WRITE_ONCE(srcu->readers[index], srcu->readers[index] + 1);
	mutex_unlock(&srcu->lock);
	return index;
}

void srcu_read_unlock(struct srcu_struct *srcu, int index)
{
	mutex_lock(&srcu->lock);
	BUG_ON(srcu->readers[index] <= 0);
	WRITE_ONCE(srcu->readers[index], srcu->readers[index] - 1);
	mutex_unlock(&srcu->lock);
	shim_wake_waiters(srcu);
}

bool srcu_read_lock_held(struct srcu_struct *srcu)
{
	return srcu->readers[0] || srcu->readers[1];
}

static int readers_left(struct srcu_struct *srcu, int index)
{
	int n;

	mutex_lock(&srcu->lock);
	n = srcu->readers[index];
	mutex_unlock(&srcu->lock);
	return n;
}

/* Both halves in turn: whoever else waits may have turned it round. */
void synchronize_srcu_expedited(struct srcu_struct *srcu)
{
	int i, old;

	for (i = 0; i < 2; i++) {
		mutex_lock(&srcu->lock);
		old = srcu->index;
		srcu->index = !old;
		mutex_unlock(&srcu->lock);
		while (readers_left(srcu, old)) {
			shim_wait_prepare(srcu);
			/* A lock that is taken as the condition of a wait would end the wait. */
			if (READ_ONCE(srcu->readers[old]))
				shim_sleep_until(ktime_get_ns() + 100000);
			set_current_state(TASK_RUNNING);
		}
	}
}

/* ---- work ---- */

void call_rcu(struct rcu_head *head, void (*fn)(struct rcu_head *head))
{
	pthread_mutex_lock(&big);
	shim_rcu_callbacks++;
	head->fn = fn;
	head->next = callbacks;
	callbacks = head;
	wake_locked(worker);
	pthread_mutex_unlock(&big);
}

static bool run_callbacks(void)
{
	struct rcu_head *list, *next;

	pthread_mutex_lock(&big);
	list = callbacks;
	callbacks = NULL;
	pthread_mutex_unlock(&big);
	if (!list)
		return false;
	synchronize_srcu_expedited(&shim_rcu);
	for (; list; list = next) {
		next = list->next;
		list->fn(list);
	}
	return true;
}

void rcu_barrier(void)
{
	while (run_callbacks())
		;
}

struct workqueue_struct {
	struct task_struct *workers[NR_WORKERS_MAX];
	bool begun;
};

static int work_loop(void *queue);
int shim_nr_workers = NR_WORKERS;

/* Each task is looked at in each switch, and most tests need none of these. They are the kernel's own: no allocation of theirs fails. */
static void need_workers(struct workqueue_struct *queue)
{
	int i, fails = shim_fail_alloc;

	if (!queue || xchg(&queue->begun, true))
		return;
	shim_fail_alloc = 0;
	for (i = 0; i < shim_nr_workers; i++)
		queue->workers[i] = kthread_create(work_loop, queue, "worker");
	shim_fail_alloc = fails;
	for (i = 0; i < shim_nr_workers; i++)
		wake_up_process(queue->workers[i]);
}

static void wake_workers_locked(struct workqueue_struct *queue)
{
	int i;

	if (!queue)
		wake_locked(worker);
	for (i = 0; queue && i < shim_nr_workers; i++)
		wake_locked(queue->workers[i]);
}

void shim_schedule_work(struct workqueue_struct *queue, struct work_struct *work, u64 delay_ns)
{
	struct work_struct **link;

	need_workers(queue);
	pthread_mutex_lock(&big);
	if (!work->pending) {
		work->pending = true;
		work->queue = queue;
		work->due_ns = ktime_get_ns() + delay_ns;
		work->next = NULL;
		for (link = &works; *link; link = &(*link)->next)
			;
		*link = work;
		wake_workers_locked(queue);
	}
	pthread_mutex_unlock(&big);
}

/* big held. The queue's first work that is due, taken off the list; if none is, @due_ns receives when the next one will be. */
static struct work_struct *take_work(const struct workqueue_struct *queue, u64 *due_ns)
{
	struct work_struct **link, *work;

	*due_ns = U64_MAX;
	for (link = &works; *link; link = &(*link)->next) {
		work = *link;
		/* Two workers never have the same. */
		if (work->queue != queue || work->running)
			continue;
		if (work->due_ns <= ktime_get_ns()) {
			*link = work->next;
			work->pending = false;
			work->running = true;
			return work;
		}
		if (work->due_ns < *due_ns)
			*due_ns = work->due_ns;
	}
	return NULL;
}

static int work_loop(void *queue)
{
	struct work_struct *work;
	u64 due_ns;

	while (!kthread_should_stop()) {
		if (!queue && run_callbacks())
			continue;
		pthread_mutex_lock(&big);
		work = take_work(queue, &due_ns);
		if (!work && (queue || !callbacks))
			set_current_state(TASK_IDLE);
		pthread_mutex_unlock(&big);
		if (!work) {
			if (!kthread_should_stop())
				shim_sleep_until(due_ns);
			continue;
		}
		current->work = work;
		work->fn(work);
		pthread_mutex_lock(&big);
		/* It may have freed itself. */
		if (current->work)
			work->running = false;
		pthread_mutex_unlock(&big);
		if (current->work)
			shim_wake_waiters(work);
	}
	return 0;
}

struct workqueue_struct *alloc_workqueue(const char *name, unsigned int flags, int max_active)
{
	struct workqueue_struct *queue = shim_alloc(sizeof(*queue));

	/* Two tasks may need them first at the same time. */
	if (shim_free_running)
		need_workers(queue);
	return queue;
}

void destroy_workqueue(struct workqueue_struct *queue)
{
	struct work_struct *work;
	int i;

	for (work = works; work; work = work->next)
		BUG_ON(work->queue == queue);
	for (i = 0; queue->begun && i < shim_nr_workers; i++)
		kthread_stop(queue->workers[i]);
	shim_free(queue);
}

void cancel_work_sync(struct work_struct *work)
{
	struct work_struct **link;
	bool busy;

	do {
		pthread_mutex_lock(&big);
		for (link = &works; *link; link = &(*link)->next) {
			if (*link == work) {
				*link = work->next;
				break;
			}
		}
		work->pending = false;
		busy = work->running;
		if (busy) {
			current->waits_for = work;
			set_current_state(TASK_IDLE);
		}
		pthread_mutex_unlock(&big);
		if (busy)
			shim_sleep_until(U64_MAX);
	} while (busy);
}

/* Is anything left to do that nobody has cancelled? */
bool shim_any_work(void)
{
	bool any;

	pthread_mutex_lock(&big);
	any = works != NULL;
	pthread_mutex_unlock(&big);
	return any;
}

/* ---- memory ---- */

void (*shim_while_allocating)(void);

void *shim_alloc(size_t size)
{
	if (shim_while_allocating && current->fn)
		shim_while_allocating();
	if (READ_ONCE(shim_fail_alloc) && __atomic_sub_fetch(&shim_fail_alloc, 1, __ATOMIC_RELAXED) == 0)
		return NULL;
	__atomic_add_fetch(&shim_allocated, 1, __ATOMIC_RELAXED);
	return calloc(1, size);
}

void shim_free(const void *p)
{
	const struct work_struct *work = current->work;

	/* A work that frees what it is in. */
	if (p && work && (const char *)work >= (const char *)p && (const char *)work < (const char *)p + malloc_usable_size((void *)p))
		current->work = NULL;
	if (p)
		__atomic_sub_fetch(&shim_allocated, 1, __ATOMIC_RELAXED);
	free((void *)p);
}

long pin_user_pages_remote(struct mm_struct *mm, unsigned long addr, unsigned long n, unsigned int flags, struct page **page, int *locked)
{
	unsigned int i;

	BUG_ON(!mm->readers || n != 1 || addr % PAGE_SIZE || !(flags & FOLL_LONGTERM));
	if (mm->refuses)
		return -EFAULT;
	for (i = 0; i < ARRAY_SIZE(mm->pages); i++) {
		if (!mm->pages[i].address || (mm->pages[i].user ?: (unsigned long)mm->pages[i].address) != addr)
			continue;
		if (mm->pages[i].absent && flags & FOLL_NOFAULT)
			return -EFAULT;
		mm->faults += mm->pages[i].absent;
		mm->pages[i].absent = false;
		mm->pages[i].pins++;
		*page = &mm->pages[i];
		return 1;
	}
	return 0;
}

struct mm_struct *get_task_mm(struct task_struct *task)
{
	if (task->mm)
		__atomic_add_fetch(&task->mm->users, 1, __ATOMIC_RELAXED);
	return task->mm;
}

/* ---- text ---- */

void shim_say(const char *format, ...)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	size_t used;
	va_list args;

	pthread_mutex_lock(&lock);
	used = strlen(shim_log);
	if (used > sizeof(shim_log) / 2)
		used = 0;
	va_start(args, format);
	vsnprintf(shim_log + used, sizeof(shim_log) - used, format, args);
	va_end(args);
	pthread_mutex_unlock(&lock);
}

int scnprintf(char *buf, size_t size, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(buf, size, format, args);
	va_end(args);
	return n < (int)size ? n : (int)size - 1;
}

/* A newline at the end does not count. */
static size_t length(const char *text)
{
	size_t n = strlen(text);

	return n && text[n - 1] == '\n' ? n - 1 : n;
}

bool sysfs_streq(const char *a, const char *b)
{
	return length(a) == length(b) && !memcmp(a, b, length(a));
}

int kstrtobool(const char *text, bool *value)
{
	if (strchr("yYtT1", text[0]) && text[0])
		*value = true;
	else if (strchr("nNfF0", text[0]) && text[0])
		*value = false;
	else if ((text[0] == 'o' || text[0] == 'O') && (text[1] == 'n' || text[1] == 'N'))
		*value = true;
	else if ((text[0] == 'o' || text[0] == 'O') && (text[1] == 'f' || text[1] == 'F'))
		*value = false;
	else
		return -EINVAL;
	return 0;
}

int kstrtoint(const char *text, unsigned int base, int *value)
{
	bool negative = text[0] == '-';
	unsigned int n;

	if (kstrtouint(text + negative, base, &n) || n > INT_MAX)
		return -EINVAL;
	*value = negative ? -(int)n : (int)n;
	return 0;
}

int kstrtouint(const char *text, unsigned int base, unsigned int *value)
{
	const char *digits = text[0] == '+' ? text + 1 : text;
	unsigned long long n;
	char *end;

	if (digits[0] < '0' || digits[0] > '9')
		return -EINVAL;
	errno = 0;
	n = strtoull(digits, &end, base);
	if (*end == '\n')
		end++;
	if (*end)
		return -EINVAL;
	if (errno || n > UINT_MAX)
		return -ERANGE;
	*value = n;
	return 0;
}

void *memchr_inv(const void *p, int c, size_t n)
{
	const unsigned char *byte = p;

	for (; n; n--, byte++)
		if (*byte != (unsigned char)c)
			return (void *)byte;
	return NULL;
}

ssize_t strscpy(char *to, const char *from, size_t size)
{
	size_t n = strnlen(from, size);

	if (n == size)
		n--;
	memcpy(to, from, n);
	to[n] = 0;
	return from[n] ? -E2BIG : (ssize_t)n;
}

/* ---- modules ---- */

void shim_param_register(struct shim_param *param)
{
	param->next = params;
	params = param;
}

static struct shim_param *find_param(const char *name)
{
	struct shim_param *param;

	for (param = params; param; param = param->next)
		if (!strcmp(param->name, name))
			return param;
	shim_bug(__FILE__, __LINE__, name);
}

int shim_param_set(const char *name, const char *value)
{
	struct shim_param *param = find_param(name);

	if (!value && !(param->ops->flags & KERNEL_PARAM_OPS_FL_NOARG))
		return -EINVAL;
	return param->ops->set(value, &param->kp);
}

int shim_param_get(const char *name, char *buffer)
{
	struct shim_param *param = find_param(name);

	return param->ops->get(buffer, &param->kp);
}

int misc_register(struct miscdevice *device)
{
	BUG_ON(shim_miscdevice);
	shim_miscdevice = device;
	return 0;
}

void misc_deregister(struct miscdevice *device)
{
	BUG_ON(shim_miscdevice != device);
	shim_miscdevice = NULL;
}

void shim_init(void)
{
	init_task(&main_task);
	main_task.fiber = &main_fiber;
	main_task.group_leader = &main_task;
	main_task.user_ns = &init_user_ns;
	main_task.tgid = &main_pid;
	main_task.real_parent = &main_task;
	init_pid_ns.child_reaper = &main_task;
	main_task.caps = CAP_SYS_NICE | CAP_SYS_ADMIN;
	main_pid.task = &main_task;
	worker = kthread_create(work_loop, NULL, "worker");
	wake_up_process(worker);
}

/* ---- files ---- */

void (*shim_while_making_file)(void);

struct file *anon_inode_create_getfile(const char *name, const struct file_operations *operations, void *data, int flags,
				       const struct inode *context)
{
	struct inode *inode = kzalloc(sizeof(*inode), GFP_KERNEL);
	struct file *file = kzalloc(sizeof(*file), GFP_KERNEL);

	if (shim_while_making_file)
		shim_while_making_file();
	if (!inode || !file) {
		kfree(inode);
		kfree(file);
		return ERR_PTR(-ENOMEM);
	}
	inode->i_mapping = &inode->i_data;
	inode->i_data.host = inode;
	inode->i_count = 1;
	*file = (struct file){ .private_data = data, .f_inode = inode, .f_mapping = inode->i_mapping };
	return file;
}

void iput(struct inode *inode)
{
	BUG_ON(inode->i_count <= 0);
	if (!--inode->i_count)
		kfree(inode);
}

void fput(struct file *file)
{
	iput(file->f_inode);
	kfree(file);
}

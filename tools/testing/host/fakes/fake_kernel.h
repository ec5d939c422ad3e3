/* SPDX-License-Identifier: MIT */
/*
 * fake_kernel.h - as much of the kernel as the scheduler's core needs, in user space
 *
 * Every <linux/...> header that the core includes is this one. Time is virtual unless shim_free_running is set: then one task
 * runs at a time, until it sleeps, and when all of them sleep the clock jumps to whoever wakes first, so a test runs the same every time.
 * Free running, tasks are threads and time is real: for a look at data races.
 *
 * What the kernel would only tell with lockdep is an error here: shim_bug() ends the program.
 */
#ifndef FAKES_FAKE_KERNEL_H
#define FAKES_FAKE_KERNEL_H

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/types.h>

/* The oldest series whose driver fake_driver.h is like */
#define KERNEL_VERSION(a, b, c)	((a) << 16 | (b) << 8 | (c))
#define LINUX_VERSION_CODE	KERNEL_VERSION(6, 12, 0)

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef unsigned long long u64;
typedef long long s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef int16_t __s16;
typedef s32 __s32;
typedef u64 __u64;
typedef s64 __s64;
typedef unsigned int gfp_t;
typedef unsigned int __poll_t;

/* Of a macro that is 1, or is not there */
#define IS_ENABLED_AS(value)	((#value)[0] == '1')
#define IS_ENABLED(option)	IS_ENABLED_AS(option)

#define __user
#define __iomem
#define __init
#define __exit
#define __aligned(n)	__attribute__((aligned(n)))
#define noinline	__attribute__((__noinline__))
#define fallthrough	__attribute__((fallthrough))
#define likely(x)	(x)
#define unlikely(x)	(x)
#define data_race(x)	(x)

/* ---- errors ---- */

#define ERESTARTSYS		512
#define ERESTARTNOINTR		513
#define restart_syscall()	(-ERESTARTNOINTR)

void shim_bug(const char *file, int line, const char *what) __attribute__((noreturn));
#define BUG_ON(x)	do { if (x) shim_bug(__FILE__, __LINE__, #x); } while (0)
#define WARN_ON_ONCE(x)	({ bool _bad = (x); BUG_ON(_bad); _bad; })

#define MAX_ERRNO	4095
static inline void *ERR_PTR(long error) { return (void *)error; }
static inline long PTR_ERR(const void *p) { return (long)p; }
static inline bool IS_ERR(const void *p) { return (unsigned long)p >= (unsigned long)-MAX_ERRNO; }

/* ---- arithmetic ---- */

#define U32_MAX			(~0U)
#define __counted_by(member)
#define BUILD_BUG_ON(condition)	_Static_assert(!(condition), #condition)
#define U64_MAX			(~0ULL)
#define PAGE_SHIFT		12
#define PAGE_SIZE		4096UL
#define PAGE_MASK		(~(PAGE_SIZE - 1))
#define offset_in_page(p)	((unsigned long)(p) & ~PAGE_MASK)
#define ALIGN(n, to)		(((n) + (to) - 1) / (to) * (to))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define sizeof_field(type, member)	sizeof(((type *)0)->member)
#define BIT_ULL(n)		(1ULL << (n))
#define swap(a, b) do { __typeof__(a) swapped = (a); (a) = (b); (b) = swapped; } while (0)
#define min(a, b)		({ __auto_type _a = (a); __auto_type _b = (b); _a < _b ? _a : _b; })
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min_t(type, a, b)	((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define clamp(n, low, high)	({ __auto_type _n = (n); _n < (low) ? (low) : _n > (high) ? (high) : _n; })
#define div_u64(a, b)		((u64)(a) / (b))
#define DIV_ROUND_UP_ULL(a, b)	div_u64((a) + (b) - 1, b)
#define div_s64(a, b)		((s64)(a) / (s32)(b))
#define struct_size(p, member, n)	(sizeof(*(p)) + sizeof((p)->member[0]) * (n))
#define container_of(p, type, member)	((type *)((char *)(p) - offsetof(type, member)))
#define for_each_inst(i, mask)	for (i = 0; i < 32; i++) if (!((mask) & (1U << i))) continue; else
static inline u32 ilog2(u64 n) { return 63 - __builtin_clzll(n); }
static inline u32 roundup_pow_of_two(u32 n) { return 1U << (ilog2(n - 1) + 1); }
static inline u32 hweight32(u32 n) { return __builtin_popcount(n); }

/* ---- memory order ---- */

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), value, __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, value)	__atomic_store_n(p, value, __ATOMIC_RELEASE)
#define smp_store_mb(x, value)	__atomic_store_n(&(x), value, __ATOMIC_SEQ_CST)
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)
/* What the device does between two reads, if anything */
extern void (*shim_at_dma_rmb)(void);
#define dma_rmb()		do { if (shim_at_dma_rmb) shim_at_dma_rmb(); smp_mb(); } while (0)
#define cmpxchg(p, before, value)						\
	({ __typeof__(*(p)) _was = (before);					\
	   __atomic_compare_exchange_n(p, &_was, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); _was; })
#define xchg(p, value)		__atomic_exchange_n(p, value, __ATOMIC_SEQ_CST)

typedef struct { int counter; } atomic_t;
typedef struct { s64 counter; } atomic64_t;
#define atomic_inc(a)		((void)__atomic_add_fetch(&(a)->counter, 1, __ATOMIC_RELAXED))
#define atomic_read(a)		READ_ONCE((a)->counter)
#define atomic_dec(a)		((void)__atomic_sub_fetch(&(a)->counter, 1, __ATOMIC_RELAXED))
#define atomic64_dec(a)		((void)__atomic_sub_fetch(&(a)->counter, 1, __ATOMIC_RELAXED))
#define atomic64_inc_return(a)	__atomic_add_fetch(&(a)->counter, 1, __ATOMIC_RELAXED)
#define atomic64_inc(a)		((void)__atomic_add_fetch(&(a)->counter, 1, __ATOMIC_RELAXED))
#define atomic64_add(n, a)	((void)__atomic_add_fetch(&(a)->counter, n, __ATOMIC_RELAXED))
#define atomic64_read(a)	READ_ONCE((a)->counter)
#define atomic64_set(a, n)	WRITE_ONCE((a)->counter, n)

/* ---- time: nanoseconds since a moment long ago ---- */

#define NSEC_PER_USEC		1000L
#define NSEC_PER_MSEC		1000000L
#define MAX_SCHEDULE_TIMEOUT	((long)(~0UL >> 1))
typedef s64 ktime_t;
extern bool shim_free_running;
/* Of the last sleep that had any. */
extern u64 shim_slack_ns;
/* The program's memory may not be written. */
extern bool shim_read_only;
u64 ktime_get_ns(void);
/* The same numbers in each test */
u32 get_random_u32(void);
static inline ktime_t ns_to_ktime(u64 ns) { return ns; }
/* A jiffy is a millisecond. */
#define jiffies		((unsigned long)(ktime_get_ns() / NSEC_PER_MSEC))
static inline long msecs_to_jiffies(unsigned int ms) { return ms; }
static inline unsigned long nsecs_to_jiffies(u64 ns) { return ns / 1000000; }
void fsleep(unsigned long us);
/* Nothing is killed here. */
static inline long schedule_timeout_killable(long left)
{
	fsleep(left * 1000);
	return 0;
}
static inline void usleep_range(unsigned long least_us, unsigned long most_us) { fsleep(least_us); }

/* ---- tasks ---- */

#define TASK_RUNNING	0
#define TASK_IDLE	1
#define HRTIMER_MODE_REL	0

struct cgroup {
	u64 id;
	struct cgroup *parent;
	int level;
	bool gone;
	int references;
};

struct pid_namespace {
	struct pid_namespace *parent;
	struct task_struct *child_reaper;
	int references;
};

struct task_struct;
struct pid {
	int nr;
	struct task_struct *task;
	int references;
	/* NULL: its task's */
	struct pid_namespace *ns;
};

typedef struct { u32 val; } kuid_t;
static inline bool uid_eq(kuid_t a, kuid_t b) { return a.val == b.val; }
#define INVALID_UID	((kuid_t){ ~0U })
static inline bool uid_valid(kuid_t uid) { return uid.val != ~0U; }

struct user_namespace {
	struct user_namespace *parent;
	kuid_t owner;
};
extern struct user_namespace init_user_ns;
static inline u32 from_kuid(const struct user_namespace *ns, kuid_t uid) { return uid.val; }

#define CAP_SYS_NICE	(1U << 0)
#define CAP_IPC_LOCK	(1U << 4)
#define CAP_SYS_ADMIN	(1U << 1)

/**
 * struct task_struct - a task
 * What is used as it is in the kernel, then:
 * @tgid: of its process
 * @euid: its user
 * @user_ns: where its user is one
 * @caps: capabilities
 * @cgroup: where it is
 * @ns: its pid namespace; NULL: the first
 * @wake_ns: when its sleep ends; U64_MAX: not by itself
 * @waits_for: an object whose wakers are to wake it
 * @work: that it carries out; NULL: none, or one that is freed
 */
/* A bit for each CPU; NUMA nodes have eight. */
struct cpumask {
	u64 bits;
};
typedef struct cpumask cpumask_var_t[1];
#define HK_TYPE_DOMAIN	0
#define HK_TYPE_KTHREAD	1
extern struct cpumask shim_not_isolated;
/* Not for programs alone: nohz_full */
extern struct cpumask shim_for_kthreads;
const struct cpumask *cpumask_of_node(int nid);
static inline const struct cpumask *housekeeping_cpumask(int type) { return type == HK_TYPE_KTHREAD ? &shim_for_kthreads : &shim_not_isolated; }
static inline bool alloc_cpumask_var(cpumask_var_t *mask, gfp_t flags) { return true; }
static inline void free_cpumask_var(cpumask_var_t mask) { }
static inline bool cpumask_and(struct cpumask *to, const struct cpumask *a, const struct cpumask *b)
{
	to->bits = a->bits & b->bits;
	return to->bits;
}
static inline bool cpumask_empty(const struct cpumask *mask) { return !mask->bits; }
/* As when the others are offline */
extern struct cpumask shim_cpus_online;

#define SIGNAL_STOP_STOPPED	1U
#define TASK_FROZEN		0x8000U
struct signal_struct {
	unsigned int flags;
};

struct task_struct {
	pid_t pid;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	struct pid *tgid;
	kuid_t euid;
	const struct user_namespace *user_ns;
	unsigned int caps;
	struct task_struct *tracer;
	struct signal_struct *signal;
	bool frozen;
	int exit_state;
	struct task_struct *next_thread;
	unsigned int __state;
	int nice;
	unsigned int policy;
	bool fifo;
	struct cgroup *cgroup;
	struct task_struct *real_parent;
	struct pid_namespace *ns;
	/* RLIMIT_MEMLOCK, in pages; 0: what a new world has */
	unsigned long memlock_pages;

	struct task_struct *next;
	pthread_t thread;
	pthread_cond_t cond;
	struct shim_fiber *fiber;
	int (*fn)(void *data);
	void *data;
	long state;
	u64 wake_ns;
	const void *waits_for;
	struct work_struct *work;
	bool started;
	bool ended;
	bool should_stop;
	const struct cpumask *cpus_ptr;
	struct cpumask cpus;
};

extern __thread struct task_struct *current;

void shim_init(void);
void shim_sleep_until(u64 ns);
void shim_wake_waiters(const void *what);
void shim_wait_prepare(const void *what);
/* Whoever can run does, and no time passes. */
void shim_yield(void);
static inline void yield(void) { shim_yield(); }
/* A task that does not sleep: time passes, and none runs meanwhile that waits for its CPU. Virtual time only. */
void shim_spin(u64 ns);
/* All tasks share a CPU, of which the real-time ones let none have a part that they do not yield or sleep. */
extern bool shim_one_cpu;
/* A real-time thread that is woken up runs before the task that woke it goes on. */
extern bool shim_wakes_at_once;
#define signal_pending(task)	false

#define set_current_state(value)	__atomic_store_n(&current->state, value, __ATOMIC_SEQ_CST)
#define __set_current_state(value)	set_current_state(value)
void schedule(void);
int schedule_hrtimeout_range(ktime_t *expires, u64 slack_ns, int mode);
int wake_up_process(struct task_struct *task);
#define NUMA_NO_NODE	(-1)
struct task_struct *kthread_create_on_node(int (*fn)(void *data), void *data, int nid, const char *name, ...);
#define kthread_create(fn, data, ...)	kthread_create_on_node(fn, data, NUMA_NO_NODE, __VA_ARGS__)
int set_cpus_allowed_ptr(struct task_struct *task, const struct cpumask *mask);
int kthread_stop(struct task_struct *task);
bool kthread_should_stop(void);
static inline void set_user_nice(struct task_struct *task, int nice) { WRITE_ONCE(task->nice, nice); }
static inline void sched_set_fifo_low(struct task_struct *task) { WRITE_ONCE(task->fifo, true); }

#define MAX_NICE	19
#define SCHED_BATCH	3
#define SCHED_IDLE	5
static inline int task_nice(const struct task_struct *task) { return READ_ONCE(task->nice); }

static inline bool capable(unsigned int cap) { return current->caps & cap; }
#define RLIMIT_MEMLOCK	8
static inline unsigned long task_rlimit(const struct task_struct *task, unsigned int limit)
{
	BUG_ON(limit != RLIMIT_MEMLOCK);
	return (task->memlock_pages ?: 2048) * PAGE_SIZE;
}
static inline bool has_capability_noaudit(const struct task_struct *task, unsigned int cap) { return task->caps & cap; }
static inline bool cgroup_task_frozen(const struct task_struct *task) { return READ_ONCE(task->frozen); }
static inline struct task_struct *ptrace_parent(struct task_struct *task) { return READ_ONCE(task->tracer); }
#define task_cred_xxx(task, member)	((task)->member)
static inline kuid_t current_euid(void) { return current->euid; }

#define for_each_thread(leader, thread)	for (thread = (leader); thread; thread = READ_ONCE(thread->next_thread))

enum { PIDTYPE_TGID };
extern struct pid_namespace init_pid_ns;
static inline struct pid *get_pid(struct pid *pid)
{
	if (pid)
		__atomic_add_fetch(&pid->references, 1, __ATOMIC_RELAXED);
	return pid;
}
static inline void put_pid(struct pid *pid)
{
	if (pid)
		BUG_ON(__atomic_sub_fetch(&pid->references, 1, __ATOMIC_RELAXED) < 0);
}
extern u64 shim_pids_looked_up;
extern u64 shim_rcu_callbacks;
static inline struct task_struct *pid_task(struct pid *pid, int type)
{
	__atomic_add_fetch(&shim_pids_looked_up, 1, __ATOMIC_RELAXED);
	return pid ? pid->task : NULL;
}
static inline struct pid *task_tgid(const struct task_struct *task) { return task->group_leader->tgid; }
struct pid_namespace *ns_of_pid(struct pid *pid);
struct pid *find_vpid(int nr);
static inline struct pid_namespace *task_active_pid_ns(const struct task_struct *task) { return task->ns ?: &init_pid_ns; }
/* The processes above others that were looked at */
extern u64 shim_ancestors_looked_at;
/* What others do meanwhile */
extern void (*shim_at_ancestor)(void);
static inline bool pid_alive(const struct task_struct *task)
{
	if (shim_at_ancestor)
		shim_at_ancestor();
	__atomic_add_fetch(&shim_ancestors_looked_at, 1, __ATOMIC_RELAXED);
	return task->tgid;
}
/* How often this task looked what a process is called somewhere. */
extern const struct task_struct *shim_watched;
extern u64 shim_named_by_watched;
pid_t pid_nr_ns(const struct pid *pid, const struct pid_namespace *ns);
static inline pid_t task_tgid_nr_ns(const struct task_struct *task, struct pid_namespace *ns) { return pid_nr_ns(task->group_leader->tgid, ns); }
static inline struct pid_namespace *get_pid_ns(struct pid_namespace *ns)
{
	__atomic_add_fetch(&ns->references, 1, __ATOMIC_RELAXED);
	return ns;
}
static inline void put_pid_ns(struct pid_namespace *ns) { __atomic_sub_fetch(&ns->references, 1, __ATOMIC_RELAXED); }

/* What it costs to look where a task is */
extern void (*shim_at_cgroup)(void);
static inline struct cgroup *task_dfl_cgroup(const struct task_struct *task)
{
	if (shim_at_cgroup)
		shim_at_cgroup();
	return READ_ONCE(task->cgroup);
}
/* The cgroups above others that were looked at */
extern u64 shim_cgroups_looked_at;
static inline struct cgroup *cgroup_parent(const struct cgroup *cgroup)
{
	__atomic_add_fetch(&shim_cgroups_looked_at, 1, __ATOMIC_RELAXED);
	return cgroup->parent;
}
struct cgroup *cgroup_ancestor(struct cgroup *cgroup, int level);
static inline u64 cgroup_id(const struct cgroup *cgroup) { return cgroup->id; }
struct cgroup *cgroup_get_from_fd(int fd);
struct cgroup *cgroup_get_from_id(u64 id);
static inline void cgroup_put(struct cgroup *cgroup) { __atomic_sub_fetch(&cgroup->references, 1, __ATOMIC_RELAXED); }

/* ---- lists ---- */

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)
static inline void INIT_LIST_HEAD(struct list_head *list) { list->next = list->prev = list; }
static inline bool list_empty(const struct list_head *list) { return READ_ONCE(list->next) == list; }
static inline bool list_empty_careful(const struct list_head *list) { return smp_load_acquire(&list->next) == list; }
#define list_first_entry(list, type, member)	container_of((list)->next, type, member)
static inline void list_add_tail(struct list_head *entry, struct list_head *list)
{
	entry->next = list;
	entry->prev = list->prev;
	smp_store_release(&list->prev->next, entry);
	list->prev = entry;
}
static inline void list_add(struct list_head *entry, struct list_head *list) { list_add_tail(entry, list->next); }
/* Readers may still be there: they find their way on. A second removal finds that there was one. */
static inline void list_del_rcu(struct list_head *entry)
{
	BUG_ON(!entry->prev);
	entry->next->prev = entry->prev;
	WRITE_ONCE(entry->prev->next, entry->next);
	entry->prev = NULL;
}
static inline void list_del(struct list_head *entry)
{
	list_del_rcu(entry);
	entry->next = NULL;
}
static inline void list_move_tail(struct list_head *entry, struct list_head *list)
{
	list_del(entry);
	list_add_tail(entry, list);
}
static inline void list_rotate_left(struct list_head *list)
{
	struct list_head *first = list->next;

	if (first == list)
		return;
	list_del(first);
	list_add_tail(first, list);
}
static inline size_t list_count_nodes(const struct list_head *list)
{
	const struct list_head *entry;
	size_t n = 0;

	for (entry = list->next; entry != list; entry = entry->next)
		n++;
	return n;
}
#define list_add_tail_rcu(entry, list)	list_add_tail(entry, list)
#define list_first_entry(list, type, member)	container_of((list)->next, type, member)
#define list_first_entry_or_null(list, type, member) \
	(list_empty(list) ? NULL : container_of((list)->next, type, member))
/* What the kernel orders by dependency is ordered by acquiring it. */
#define list_for_each_entry(p, list, member)					\
	for (p = container_of(smp_load_acquire(&(list)->next), typeof(*p), member); &p->member != (list);	\
	     p = container_of(smp_load_acquire(&p->member.next), typeof(*p), member))
#define list_for_each_entry_srcu(p, list, member, condition)	list_for_each_entry(p, list, member)
#define list_for_each_entry_safe(p, n, list, member)				\
	for (p = container_of((list)->next, typeof(*p), member),		\
	     n = container_of(p->member.next, typeof(*p), member); &p->member != (list);	\
	     p = n, n = container_of(n->member.next, typeof(*n), member))

#define DEFINE_HASHTABLE(name, bits)	struct hlist_head name[1 << (bits)]
#define DECLARE_HASHTABLE(name, bits)	struct hlist_head name[1 << (bits)]
#define HASH_BUCKET(table, key)	(&(table)[(unsigned long)(key) * 0x9e3779b97f4a7c15UL % ARRAY_SIZE(table)])
#define HLIST_ENTRY(node, type, member)	({ struct hlist_node *_node = (node); _node ? container_of(_node, type, member) : NULL; })
static inline void shim_hlist_add(struct hlist_node *node, struct hlist_head *head)
{
	node->next = head->first;
	node->pprev = &head->first;
	if (head->first)
		head->first->pprev = &node->next;
	smp_store_release(&head->first, node);
}
static inline void hash_del_rcu(struct hlist_node *node)
{
	BUG_ON(!node->pprev);
	WRITE_ONCE(*node->pprev, node->next);
	if (node->next)
		node->next->pprev = node->pprev;
	node->pprev = NULL;
}
#define hash_del(node)				hash_del_rcu(node)
#define hash_add(table, node, key)		shim_hlist_add(node, HASH_BUCKET(table, key))
#define hash_add_rcu(table, node, key)		hash_add(table, node, key)
#define hash_init(table)			memset(table, 0, sizeof(table))
/* The entries of hash tables that were compared with a key */
extern u64 shim_entries_compared;
#define hash_for_each_possible(table, p, member, key)				\
	for (p = HLIST_ENTRY(HASH_BUCKET(table, key)->first, typeof(*p), member);	\
	     p && __atomic_add_fetch(&shim_entries_compared, 1, __ATOMIC_RELAXED);	\
	     p = HLIST_ENTRY(p->member.next, typeof(*p), member))
#define hash_for_each_possible_rcu(table, p, member, key, condition)		\
	for (p = HLIST_ENTRY(smp_load_acquire(&HASH_BUCKET(table, key)->first), typeof(*p), member); p;	\
	     p = HLIST_ENTRY(smp_load_acquire(&p->member.next), typeof(*p), member))
#define hash_for_each_rcu(table, bucket, p, member)				\
	for (bucket = 0; bucket < (int)ARRAY_SIZE(table); bucket++)		\
		for (p = HLIST_ENTRY(smp_load_acquire(&(table)[bucket].first), typeof(*p), member); p;	\
		     p = HLIST_ENTRY(smp_load_acquire(&p->member.next), typeof(*p), member))
#define HASH_SIZE(table)	ARRAY_SIZE(table)
#define hlist_for_each_entry_safe(p, n, head, member)				\
	for (p = HLIST_ENTRY((head)->first, typeof(*p), member); p && (n = p->member.next, 1);	\
	     p = HLIST_ENTRY(n, typeof(*p), member))
#define hash_for_each_safe(table, bucket, n, p, member)				\
	for (bucket = 0; bucket < (int)ARRAY_SIZE(table); bucket++)		\
		for (p = HLIST_ENTRY((table)[bucket].first, typeof(*p), member);	\
		     p && (n = p->member.next, 1); p = HLIST_ENTRY(n, typeof(*p), member))

/* Keys have one length, entries are told apart by them, and chains stay short as they do in the kernel. */
struct rhash_head {
	struct rhash_head *next;
};
struct rhashtable_params {
	size_t key_len;
	size_t key_offset;
	size_t head_offset;
	bool automatic_shrinking;
};
struct rhashtable {
	struct rhash_head **buckets;
	u32 nr_buckets;
	u32 nr;
};
/* The insertion that is this many away fails; 0: none. */
extern int shim_fail_insert;
int rhashtable_init(struct rhashtable *ht, const struct rhashtable_params *params);
void rhashtable_destroy(struct rhashtable *ht);
struct rhash_head *shim_rhash_find(struct rhashtable *ht, const void *key, const struct rhashtable_params *params);
int rhashtable_insert_fast(struct rhashtable *ht, struct rhash_head *head, struct rhashtable_params params);
int rhashtable_remove_fast(struct rhashtable *ht, struct rhash_head *head, struct rhashtable_params params);
static inline void *rhashtable_lookup_fast(struct rhashtable *ht, const void *key, struct rhashtable_params params)
{
	struct rhash_head *head = shim_rhash_find(ht, key, &params);

	return head ? (char *)head - params.head_offset : NULL;
}

struct kref {
	int count;
};

static inline void kref_init(struct kref *ref) { ref->count = 1; }
static inline void kref_get(struct kref *ref) { BUG_ON(__atomic_fetch_add(&ref->count, 1, __ATOMIC_RELAXED) <= 0); }
static inline void kref_put(struct kref *ref, void (*release)(struct kref *ref))
{
	if (!__atomic_sub_fetch(&ref->count, 1, __ATOMIC_ACQ_REL))
		release(ref);
}
static inline bool kref_get_unless_zero(struct kref *ref)
{
	int count = READ_ONCE(ref->count);

	while (count && !__atomic_compare_exchange_n(&ref->count, &count, count + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
	return count;
}

/* ---- locks ---- */

struct mutex {
	pthread_mutex_t real;
	struct task_struct *owner;
};

/* Told of each lock that is taken */
extern void (*shim_at_lock)(const struct mutex *lock);
#define DEFINE_MUTEX(name)	struct mutex name = { .real = PTHREAD_MUTEX_INITIALIZER }
void mutex_init(struct mutex *lock);
void mutex_destroy(struct mutex *lock);
void mutex_lock(struct mutex *lock);
bool mutex_trylock(struct mutex *lock);
void mutex_unlock(struct mutex *lock);
static inline bool mutex_is_locked(struct mutex *lock) { return READ_ONCE(lock->owner); }
static inline bool lockdep_is_held(const struct mutex *lock) { return READ_ONCE(lock->owner) == current; }
#define lockdep_assert_held(lock)	BUG_ON(!lockdep_is_held(lock))

/* Priorities are not simulated. */
struct rt_mutex {
	struct mutex lock;
};

#define rt_mutex_init(rt)	mutex_init(&(rt)->lock)
#define rt_mutex_lock(rt)	mutex_lock(&(rt)->lock)
#define rt_mutex_unlock(rt)	mutex_unlock(&(rt)->lock)

typedef struct mutex spinlock_t;
#define DEFINE_SPINLOCK(name)	DEFINE_MUTEX(name)
#define spin_lock_init(lock)	mutex_init(lock)
#define spin_lock(lock)		mutex_lock(lock)
#define spin_unlock(lock)	mutex_unlock(lock)

struct rw_semaphore {
	struct mutex lock;
	int readers;
	bool writer;
};
bool down_read_trylock(struct rw_semaphore *sem);
void up_read(struct rw_semaphore *sem);

/* Tasks that write are not taken from the CPU meanwhile. */
typedef struct { unsigned int sequence; } seqcount_t;
#define preempt_disable()	((void)0)
#define preempt_enable()	((void)0)
#define seqcount_init(seq)	__atomic_store_n(&(seq)->sequence, 0, __ATOMIC_RELAXED)
#define write_seqcount_begin(seq)	((void)__atomic_add_fetch(&(seq)->sequence, 1, __ATOMIC_SEQ_CST))
#define write_seqcount_end(seq)	write_seqcount_begin(seq)
#define read_seqcount_begin(seq)	(__atomic_load_n(&(seq)->sequence, __ATOMIC_SEQ_CST) & ~1U)
#define read_seqcount_retry(seq, began)	(__atomic_load_n(&(seq)->sequence, __ATOMIC_SEQ_CST) != (began))

struct srcu_struct {
	struct mutex lock;
	int readers[2];
	int index;
};

#define DEFINE_STATIC_SRCU(name)	static DEFINE_SRCU(name)
#define synchronize_srcu(srcu)		synchronize_srcu_expedited(srcu)
#define DEFINE_SRCU(name)	struct srcu_struct name = { .lock = { .real = PTHREAD_MUTEX_INITIALIZER } }
int init_srcu_struct(struct srcu_struct *srcu);
void cleanup_srcu_struct(struct srcu_struct *srcu);
int srcu_read_lock(struct srcu_struct *srcu);
void srcu_read_unlock(struct srcu_struct *srcu, int index);
bool srcu_read_lock_held(struct srcu_struct *srcu);
void synchronize_srcu_expedited(struct srcu_struct *srcu);

/* One domain for all of RCU. */
struct rcu_head {
	struct rcu_head *next;
	void (*fn)(struct rcu_head *head);
};
extern struct srcu_struct shim_rcu;
extern __thread int shim_rcu_index;
#define rcu_dereference(p)	READ_ONCE(p)
#define rcu_read_lock()		((void)(shim_rcu_index = srcu_read_lock(&shim_rcu)))
#define rcu_read_unlock()	srcu_read_unlock(&shim_rcu, shim_rcu_index)
void call_rcu(struct rcu_head *head, void (*fn)(struct rcu_head *head));
void rcu_barrier(void);
#define synchronize_rcu()	synchronize_srcu_expedited(&shim_rcu)

struct static_key_false {
	bool on;
};
#define DEFINE_STATIC_KEY_FALSE(name)	struct static_key_false name
#define DECLARE_STATIC_KEY_FALSE(name)	extern struct static_key_false name
#define static_branch_unlikely(key)	READ_ONCE((key)->on)
#define static_branch_enable(key)	WRITE_ONCE((key)->on, true)
#define static_branch_disable(key)	WRITE_ONCE((key)->on, false)

/* ---- waiting ---- */

typedef struct { int unused; } wait_queue_head_t;
#define DECLARE_WAIT_QUEUE_HEAD(name)	wait_queue_head_t name
#define init_waitqueue_head(queue)	((void)(queue))
#define wake_up_all(queue)		shim_wake_waiters(queue)
#define wake_up_interruptible(queue)	shim_wake_waiters(queue)
/* Nobody sends signals here. Returns what is left of the time, at least 1, or 0. */
#define wait_event_interruptible_timeout(queue, condition, left)		\
	({									\
		u64 _end_ns = ktime_get_ns() + (u64)(left) * NSEC_PER_MSEC, _now_ns;	\
		bool _yes;							\
		while (shim_wait_prepare(&(queue)), !(_yes = (condition)) && ktime_get_ns() < _end_ns)	\
			shim_sleep_until(_end_ns);				\
		set_current_state(TASK_RUNNING);				\
		_now_ns = ktime_get_ns();					\
		!_yes ? 0L : _now_ns >= _end_ns ? 1L : (long)((_end_ns - _now_ns) / NSEC_PER_MSEC) + 1;	\
	})
#define wait_event_timeout(queue, condition, left)	wait_event_interruptible_timeout(queue, condition, left)
#define wait_event_interruptible(queue, condition)				\
	({									\
		while (shim_wait_prepare(&(queue)), !(condition))		\
			shim_sleep_until(U64_MAX);				\
		set_current_state(TASK_RUNNING);				\
		0;								\
	})

struct workqueue_struct;
struct work_struct {
	void (*fn)(struct work_struct *work);
	struct workqueue_struct *queue;
	struct work_struct *next;
	bool pending;
	bool running;
	u64 due_ns;
};
struct delayed_work {
	struct work_struct work;
};
#define INIT_WORK(w, function)		(*(w) = (struct work_struct){ .fn = function })
#define DECLARE_WORK(name, function)	struct work_struct name = { .fn = function }
#define DECLARE_DELAYED_WORK(name, function)	struct delayed_work name = { .work = { .fn = function } }
#define INIT_DELAYED_WORK(dw, function)	((dw)->work = (struct work_struct){ .fn = function })
#define INIT_DEFERRABLE_WORK(dw, function)	INIT_DELAYED_WORK(dw, function)
#define to_delayed_work(w)		container_of(w, struct delayed_work, work)
void shim_schedule_work(struct workqueue_struct *queue, struct work_struct *work, u64 delay_ns);
/* Has so many workers: as many works may be stuck while others go on. A test may have more of them. */
#define NR_WORKERS	2
#define NR_WORKERS_MAX	18
extern int shim_nr_workers;
#define WQ_UNBOUND	2
struct workqueue_struct *alloc_workqueue(const char *name, unsigned int flags, int max_active);
void destroy_workqueue(struct workqueue_struct *queue);
void cancel_work_sync(struct work_struct *work);
bool shim_any_work(void);
#define schedule_work(w)		shim_schedule_work(NULL, w, 0)
#define queue_work(queue, w)		shim_schedule_work(queue, w, 0)
#define schedule_delayed_work(dw, left)	shim_schedule_work(NULL, &(dw)->work, (u64)(left) * NSEC_PER_MSEC)
#define queue_delayed_work(wq, dw, left)	schedule_delayed_work(dw, left)
#define cancel_delayed_work_sync(dw)	cancel_work_sync(&(dw)->work)

struct completion {
	bool done;
};
static inline void init_completion(struct completion *x) { x->done = false; }
static inline void complete(struct completion *x) { x->done = true; }
/* Of what has happened by now, for nobody is in a file here while tests remove it. */
#define wait_for_completion(x)	BUG_ON(!(x)->done)

/* ---- memory ---- */

#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0
/* The allocation that is this many away fails; 0: none. */
extern int shim_fail_alloc;
/* What an allocation that may sleep does to get memory; it takes itself back. */
extern void (*shim_while_allocating)(void);
void *shim_alloc(size_t size);
#define kzalloc(size, gfp)		shim_alloc(size)
#define kvzalloc(size, gfp)		shim_alloc(size)
#define kcalloc(n, size, gfp)		shim_alloc((n) * (size))
#define kvcalloc(n, size, gfp)		shim_alloc((n) * (size))
#define kvmalloc_array(n, size, gfp)	shim_alloc((n) * (size))
/* What is allocated and not freed yet. */
extern int shim_allocated;
void shim_free(const void *p);
#define kfree(p)			shim_free(p)
#define kvfree(p)			kfree(p)

/**
 * struct page - a page of a program
 * @address: where the kernel has it
 * @user: where the program has it; 0: at the same address
 * @absent: it has to be faulted in
 */
struct page {
	void *address;
	unsigned long user;
	bool absent;
	int pins;
};
/**
 * struct mm_struct - the memory of a program
 * @refuses: pages cannot be pinned
 * @locked: somebody else has it, and does not let go
 * @faults: pages that were faulted in for somebody
 */
struct mm_struct {
	struct page pages[2];
	bool refuses;
	bool locked;
	int faults;
	int users;
	int count;
	int readers;
	atomic64_t pinned_vm;
};
#define FOLL_LONGTERM	1
#define FOLL_NOFAULT	2
#define mmap_read_lock(mm)	((void)__atomic_add_fetch(&(mm)->readers, 1, __ATOMIC_RELAXED))
#define mmap_read_trylock(mm)	(!(mm)->locked && __atomic_add_fetch(&(mm)->readers, 1, __ATOMIC_RELAXED))
#define mmap_read_unlock(mm)	((void)__atomic_sub_fetch(&(mm)->readers, 1, __ATOMIC_RELAXED))
long pin_user_pages_remote(struct mm_struct *mm, unsigned long addr, unsigned long n, unsigned int flags, struct page **page, int *locked);
static inline void unpin_user_page(struct page *page) { BUG_ON(--page->pins < 0); }
static inline void *page_address(struct page *page) { return page->address; }
struct mm_struct *get_task_mm(struct task_struct *task);
static inline void mmgrab(struct mm_struct *mm) { __atomic_add_fetch(&mm->count, 1, __ATOMIC_RELAXED); }
static inline void mmdrop(struct mm_struct *mm) { BUG_ON(__atomic_sub_fetch(&mm->count, 1, __ATOMIC_RELAXED) < 0); }
static inline void mmput(struct mm_struct *mm) { BUG_ON(__atomic_sub_fetch(&mm->users, 1, __ATOMIC_RELAXED) < 0); }

/* User memory is ours; an address in the first page faults. */
static inline unsigned long copy_from_user(void *to, const void __user *from, size_t n)
{
	if (n && (unsigned long)from < PAGE_SIZE)
		return n;
	if (n)
		memcpy(to, from, n);
	return 0;
}
static inline unsigned long copy_to_user(void __user *to, const void *from, size_t n)
{
	if (n && ((unsigned long)to < PAGE_SIZE || shim_read_only))
		return n;
	if (n)
		memcpy(to, from, n);
	return 0;
}
#define u64_to_user_ptr(n)		((void __user *)(unsigned long)(n))

/* ---- text ---- */

/* What is said, for tests to look at; kept short. */
extern char shim_log[4096];
void shim_say(const char *format, ...);
#define dev_err(dev, ...)		((void)(dev), shim_say(__VA_ARGS__))
#define dev_err_ratelimited(dev, ...)	dev_err(dev, __VA_ARGS__)
#define dev_warn(dev, ...)	dev_info(dev, __VA_ARGS__)
#define dev_info(dev, ...)		dev_err(dev, __VA_ARGS__)
#define dev_dbg(dev, ...)		dev_err(dev, __VA_ARGS__)
#define pr_err(...)			shim_say(__VA_ARGS__)
#define pr_warn(...)			shim_say(__VA_ARGS__)
#define pr_warn_once(...)		pr_warn(__VA_ARGS__)
#define pr_info_once(...)		pr_warn(__VA_ARGS__)
#define pr_info_ratelimited(...)	pr_warn(__VA_ARGS__)
int scnprintf(char *buf, size_t size, const char *format, ...);
#define sysfs_emit(buf, ...)		scnprintf(buf, PAGE_SIZE, __VA_ARGS__)
bool sysfs_streq(const char *a, const char *b);
int kstrtobool(const char *text, bool *value);
int kstrtouint(const char *text, unsigned int base, unsigned int *value);
int kstrtoint(const char *text, unsigned int base, int *value);
void *memchr_inv(const void *p, int c, size_t n);
ssize_t strscpy(char *to, const char *from, size_t size);

/* ---- modules, files ---- */

#include "fake_files.h"

struct kernel_param {
	void *arg;
};
struct kernel_param_ops {
	unsigned int flags;
	int (*set)(const char *val, const struct kernel_param *kp);
	int (*get)(char *buffer, const struct kernel_param *kp);
};
/* A parameter is found by its name: shim_param_set() writes it. */
struct shim_param {
	const char *name;
	const struct kernel_param_ops *ops;
	struct kernel_param kp;
	struct shim_param *next;
};
void shim_param_register(struct shim_param *param);
int shim_param_set(const char *name, const char *value);
int shim_param_get(const char *name, char *buffer);
#define KERNEL_PARAM_OPS_FL_NOARG	1
#define module_param_cb(_name, _ops, _arg, _mode)				\
	static struct shim_param param_##_name = { .name = #_name, .ops = _ops, .kp = { .arg = _arg } };	\
	static void __attribute__((constructor)) param_##_name##_register(void) { shim_param_register(&param_##_name); } \
	struct shim_param
#define __MODULE_PARM_TYPE(name, type)	struct shim_param
#define MODULE_PARM_DESC(name, text)	struct shim_param
#define THIS_MODULE			NULL
#define kernel_param_lock(module)	((void)(module))
#define kernel_param_unlock(module)	((void)(module))

struct cred {
	kuid_t euid;
	/* NULL: the first */
	struct user_namespace *user_ns;
};
struct address_space {
	struct inode *host;
};
struct inode {
	struct address_space *i_mapping;
	struct address_space i_data;
	const struct file_operations *i_fop;
	void *i_private;
	int i_count;
};
struct file {
	void *private_data;
	struct address_space *f_mapping;
	struct inode *f_inode;
	unsigned int f_flags;
	const struct cred *f_cred;
	bool opener_is_admin;
};
typedef struct { int unused; } poll_table;
#ifndef O_RDWR
#define O_RDWR		02
#endif
#ifndef O_NONBLOCK
#define O_NONBLOCK	04000
#endif
#define EPOLLIN		0x1
#define EPOLLERR	0x8
#define EPOLLRDNORM	0x40
#define poll_wait(file, queue, wait)	((void)(queue))
#define nonseekable_open(inode, file)	0
#define file_ns_capable(file, ns, cap)	((file)->opener_is_admin)
#define compat_ptr_ioctl		NULL
#define MISC_DYNAMIC_MINOR		255
struct file_operations {
	void *owner;
	int (*show)(struct seq_file *m, void *unused);
	int (*open)(struct inode *inode, struct file *file);
	int (*release)(struct inode *inode, struct file *file);
	ssize_t (*read)(struct file *file, char __user *buffer, size_t size, loff_t *offset);
	__poll_t (*poll)(struct file *file, poll_table *wait);
	long (*unlocked_ioctl)(struct file *file, unsigned int cmd, unsigned long arg);
	long (*compat_ioctl)(struct file *file, unsigned int cmd, unsigned long arg);
};
struct miscdevice {
	int minor;
	const char *name;
	unsigned int mode;
	const struct file_operations *fops;
};
/* What is registered, NULL otherwise. */
extern struct miscdevice *shim_miscdevice;
int misc_register(struct miscdevice *device);
void misc_deregister(struct miscdevice *device);

struct file *anon_inode_create_getfile(const char *name, const struct file_operations *operations, void *data, int flags,
				       const struct inode *context);
/* What another task does while a file is being made. */
extern void (*shim_while_making_file)(void);
void fput(struct file *file);
void iput(struct inode *inode);
static inline void ihold(struct inode *inode) { inode->i_count++; }
static inline struct inode *file_inode(const struct file *file) { return file->f_inode; }

/* ---- mappings of a device: what is mapped is the world's business ---- */

typedef u64 phys_addr_t;
typedef unsigned long pgoff_t;
typedef unsigned int vm_fault_t;
typedef struct { unsigned long bits; } pgprot_t;
#define VM_SHARED		0x8
#define VM_FAULT_SIGBUS		0x2
#define VM_FAULT_NOPAGE		0x100
#define PGPROT_DECRYPTED	0x1
static inline pgprot_t pgprot_decrypted(pgprot_t prot) { return (pgprot_t){ prot.bits | PGPROT_DECRYPTED }; }
struct vm_operations_struct;
struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	pgoff_t vm_pgoff;
	unsigned long vm_flags;
	pgprot_t vm_page_prot;
	struct file *vm_file;
	const struct vm_operations_struct *vm_ops;
	void *vm_private_data;
};
struct vm_fault {
	struct vm_area_struct *vma;
	unsigned long address;
};
struct vm_operations_struct {
	vm_fault_t (*fault)(struct vm_fault *vmf);
	vm_fault_t (*map_pages)(struct vm_fault *vmf, pgoff_t first, pgoff_t last);
};
vm_fault_t vmf_insert_pfn(struct vm_area_struct *vma, unsigned long addr, unsigned long pfn);
void unmap_mapping_pages(struct address_space *mapping, pgoff_t first, pgoff_t nr, bool even_cows);

/* A tracepoint is a function that nobody listens to; its arguments are evaluated. */
#define TRACE_EVENT(name, proto, ...)						\
	static inline void trace_##name(proto) { }				\
	static inline bool trace_##name##_enabled(void) { return false; }
#define DECLARE_EVENT_CLASS(...)
#define DEFINE_EVENT(template, name, proto, ...)	TRACE_EVENT(name, proto)
#define TP_PROTO(...)	__VA_ARGS__

#endif /* FAKES_FAKE_KERNEL_H */

/*
 * The pool of threads. A barrier is one counter a thread, each in a cache line of its own that only its
 * thread writes: 60 ns between two cores, against more for one counter that all of them change.
 */

#include "engine/replay/thread-pool.h"

#include "engine/replay/replay.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LINE 128 /* processors fetch cache lines in pairs */
#define IDLE_SPIN_NS 80000
/* In a barrier a thread that is long in coming has most likely lost its processor to another program,
 * and may get this one. On two cores with a load of 8, decoding fell to a third with a spin of 50 us;
 * yielding in place of sleeping was slower too. */
#define BARRIER_SPIN_NS 10000
#define PAUSES_A_LOOK 32 /* at the clock */

typedef struct {
    _Alignas(LINE) atomic_uint arrived;
    SundogThreadPool *pool;
    unsigned number;
    pthread_t thread;
} Worker;

struct SundogThreadPool {
    _Alignas(LINE) atomic_uint generation; /* of the run; workers wait for it to change */
    _Alignas(LINE) atomic_uint n_idle_sleepers;
    _Alignas(LINE) atomic_uint n_barrier_sleepers;
    _Alignas(LINE) atomic_bool is_ending;
    SundogThreadWork work;
    void *data;
    unsigned n_threads;
    unsigned n_started; /* threads beside the caller's that must be joined */
    Worker workers[];
};

static void
pause_a_little(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static int64_t
now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Spins until the value is no longer `old`, for so long at most. */
static bool
spin_while(atomic_uint *value, unsigned old, int64_t spin_ns)
{
    int64_t end = 0;
    for (;;) {
        for (int i = 0; i < PAUSES_A_LOOK; i++) {
            if (atomic_load_explicit(value, memory_order_acquire) != old)
                return true;
            pause_a_little();
        }
        int64_t now = now_ns();
        end = end == 0 ? now + spin_ns : end;
        if (now > end)
            return false;
    }
}

static void
sleep_while(atomic_uint *value, unsigned old, atomic_uint *n_sleepers)
{
    atomic_fetch_add(n_sleepers, 1);
    while (atomic_load(value) == old)
        syscall(SYS_futex, value, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
    atomic_fetch_sub(n_sleepers, 1);
}

/* Both sides order their store before their load, so either this one sees the sleeper or the sleeper
 * the new value. */
static void
set_and_wake(atomic_uint *value, unsigned new, atomic_uint *n_sleepers)
{
    atomic_store(value, new);
    if (atomic_load(n_sleepers) > 0)
        syscall(SYS_futex, value, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static void
start_generation(SundogThreadPool *pool)
{
    unsigned next = atomic_load_explicit(&pool->generation, memory_order_relaxed) + 1;
    set_and_wake(&pool->generation, next, &pool->n_idle_sleepers);
}

void
sundog_thread_pool_barrier(SundogThreadPool *pool, unsigned thread)
{
    atomic_uint *own = &pool->workers[thread].arrived;
    unsigned step = atomic_load_explicit(own, memory_order_relaxed) + 1;
    set_and_wake(own, step, &pool->n_barrier_sleepers);
    /* A thread is behind by one step at most, or ahead by one. */
    for (unsigned i = 0; i < pool->n_threads; i++)
        if (!spin_while(&pool->workers[i].arrived, step - 1, BARRIER_SPIN_NS))
            sleep_while(&pool->workers[i].arrived, step - 1, &pool->n_barrier_sleepers);
}

static void *
run_worker(void *data)
{
    Worker *worker = data;
    SundogThreadPool *pool = worker->pool;
    for (unsigned generation = 0;; generation++) {
        if (!spin_while(&pool->generation, generation, IDLE_SPIN_NS))
            sleep_while(&pool->generation, generation, &pool->n_idle_sleepers);
        if (atomic_load_explicit(&pool->is_ending, memory_order_acquire))
            return NULL;
        pool->work(pool->data, worker->number, pool->n_threads);
        sundog_thread_pool_barrier(pool, worker->number);
    }
}

void
sundog_thread_pool_run(SundogThreadPool *pool, SundogThreadWork work, void *data)
{
    pool->work = work;
    pool->data = data;
    start_generation(pool);
    work(data, 0, pool->n_threads);
    sundog_thread_pool_barrier(pool, 0);
}

unsigned
sundog_thread_pool_get_n_threads(const SundogThreadPool *pool)
{
    return pool->n_threads;
}

static void
end_workers(SundogThreadPool *pool)
{
    atomic_store_explicit(&pool->is_ending, true, memory_order_release);
    start_generation(pool);
    for (unsigned i = 1; i <= pool->n_started; i++)
        pthread_join(pool->workers[i].thread, NULL);
}

SundogThreadPool *
sundog_thread_pool_new(unsigned n_threads, GError **error)
{
    size_t n_bytes = sizeof(SundogThreadPool) + n_threads * sizeof(Worker);
    g_autoptr(SundogThreadPool) pool = g_aligned_alloc0(1, n_bytes, LINE);
    pool->n_threads = n_threads;
    for (unsigned i = 0; i < n_threads; i++)
        pool->workers[i] = (Worker){.pool = pool, .number = i};
    for (unsigned i = 1; i < n_threads; i++) {
        int failed = pthread_create(&pool->workers[i].thread, NULL, run_worker, &pool->workers[i]);
        if (failed != 0) {
            g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_MEMORY,
                        "the system refused thread %u of %u: %s", i + 1, n_threads,
                        g_strerror(failed));
            return NULL;
        }
        pool->n_started = i;
    }
    return g_steal_pointer(&pool);
}

void
sundog_thread_pool_free(SundogThreadPool *pool)
{
    if (pool == NULL)
        return;
    end_workers(pool);
    g_aligned_free(pool);
}

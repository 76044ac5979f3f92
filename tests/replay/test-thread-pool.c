/* The pool of threads: every barrier holds, sleepers wake, pools end at any moment. */

#include "engine/replay/cores.h"
#include "engine/replay/thread-pool.h"

#include <sched.h>

#define N_STEPS 100
#define N_RUNS 20
#define MAX_THREADS 8

typedef struct {
    SundogThreadPool *pool;
    int counts[MAX_THREADS][32]; /* a thread's own, in cache lines of their own */
    int n_calls;
} Work;

/* Between two barriers each thread writes its own count; after them all must see all. No atomics: the
 * thread sanitizer then says whether the barrier orders memory. */
static void
count_steps(void *data, unsigned thread, unsigned n_threads)
{
    Work *work = data;
    for (int step = 1; step <= N_STEPS; step++) {
        work->counts[thread][0]++;
        sundog_thread_pool_barrier(work->pool, thread);
        for (unsigned i = 0; i < n_threads; i++)
            g_assert_cmpint(work->counts[i][0], ==, work->counts[thread][0]);
        sundog_thread_pool_barrier(work->pool, thread);
    }
    if (thread == 0)
        work->n_calls++;
}

static void
test_barriers(void)
{
    for (unsigned n_threads = 1; n_threads <= 4; n_threads++) {
        g_autoptr(SundogThreadPool) pool = sundog_thread_pool_new(n_threads, NULL);
        Work work = {.pool = pool};
        g_assert_cmpuint(sundog_thread_pool_get_n_threads(pool), ==, n_threads);
        for (int run = 0; run < N_RUNS; run++)
            sundog_thread_pool_run(pool, count_steps, &work);
        g_assert_cmpint(work.n_calls, ==, N_RUNS);
        g_assert_cmpint(work.counts[n_threads - 1][0], ==, N_RUNS * N_STEPS);
    }
}

static void
mark(void *data, unsigned thread, unsigned n_threads)
{
    ((int *)data)[thread]++;
}

/* Pauses about as long as workers spin, so that runs meet them spinning, falling asleep and asleep. */
static void
test_sleepers(void)
{
    g_autoptr(SundogThreadPool) pool = sundog_thread_pool_new(3, NULL);
    int marks[3] = {0};
    for (int run = 0; run < 300; run++) {
        g_usleep((gulong)(run % 10) * 20);
        sundog_thread_pool_run(pool, mark, marks);
        for (int i = 0; i < 3; i++)
            g_assert_cmpint(marks[i], ==, run + 1);
    }
}

static void
test_ends(void)
{
    for (int i = 0; i < 200; i++) {
        SundogThreadPool *pool = sundog_thread_pool_new(1 + (unsigned)i % MAX_THREADS, NULL);
        if (i % 3 == 0)
            g_usleep(100);
        sundog_thread_pool_free(pool);
    }
    sundog_thread_pool_free(NULL);
}

static void
test_cores(void)
{
    cpu_set_t before, one;
    unsigned n = sundog_count_cores();
    g_assert_cmpuint(n, >=, 1);
    g_assert_cmpuint(n, <=, g_get_num_processors());
    /* A process held to one processor has one core. */
    g_assert_cmpint(sched_getaffinity(0, sizeof before, &before), ==, 0);
    CPU_ZERO(&one);
    for (int i = 0; CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &before))
            CPU_SET(i, &one);
    g_assert_cmpint(sched_setaffinity(0, sizeof one, &one), ==, 0);
    g_assert_cmpuint(sundog_count_cores(), ==, 1);
    g_assert_cmpint(sched_setaffinity(0, sizeof before, &before), ==, 0);
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/replay/thread-pool/barriers", test_barriers);
    g_test_add_func("/replay/thread-pool/sleepers", test_sleepers);
    g_test_add_func("/replay/thread-pool/ends", test_ends);
    g_test_add_func("/replay/cores", test_cores);
    return g_test_run();
}

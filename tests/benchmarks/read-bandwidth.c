/* The machine's read bandwidth: each thread reads its part of a buffer that no cache holds, several
 * times over; prints the median of the passes in GB/s. The regime in which other figures were taken. */

#include <glib.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define N_BYTES (384u << 20)
#define N_PASSES 9

typedef struct {
    const uint64_t *data;
    size_t n_words;
    uint64_t sum;
    pthread_barrier_t *barrier;
    int64_t begin_us, end_us; /* of the last pass */
} Part;

static void *
read_part(void *data)
{
    Part *part = data;
    for (int pass = 0; pass < N_PASSES; pass++) {
        pthread_barrier_wait(part->barrier);
        part->begin_us = g_get_monotonic_time();
        uint64_t sums[16] = {0};
        for (size_t i = 0; i + 16 <= part->n_words; i += 16)
            for (int j = 0; j < 16; j++)
                sums[j] += part->data[i + j];
        for (int j = 0; j < 16; j++)
            part->sum += sums[j];
        part->end_us = g_get_monotonic_time();
        pthread_barrier_wait(part->barrier);
    }
    return NULL;
}

/* From the first thread's begin to the last one's end: who waits for them may itself come late. */
static int64_t
measure_pass(const Part *parts, unsigned n)
{
    int64_t begin = parts[0].begin_us, end = parts[0].end_us;
    for (unsigned i = 1; i < n; i++) {
        begin = MIN(begin, parts[i].begin_us);
        end = MAX(end, parts[i].end_us);
    }
    return end - begin;
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
    unsigned n_threads = argc > 1 ? (unsigned)atoi(argv[1]) : g_get_num_processors();
    if (n_threads < 1 || n_threads > 256)
        return 2;
    void *buffer = mmap(NULL, N_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED)
        return 1;
    madvise(buffer, N_BYTES, MADV_HUGEPAGE);
    memset(buffer, 1, N_BYTES);

    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, n_threads + 1);
    pthread_t *threads = g_new(pthread_t, n_threads);
    Part *parts = g_new0(Part, n_threads);
    size_t n_words = N_BYTES / sizeof(uint64_t) / n_threads;
    for (unsigned i = 0; i < n_threads; i++) {
        parts[i] = (Part){(const uint64_t *)buffer + i * n_words, n_words, 0, &barrier};
        pthread_create(&threads[i], NULL, read_part, &parts[i]);
    }
    double rates[N_PASSES];
    for (int pass = 0; pass < N_PASSES; pass++) {
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        /* The next pass begins only after this thread has come to its barrier. */
        rates[pass] = (double)N_BYTES / 1e3 / (double)measure_pass(parts, n_threads);
    }
    uint64_t sum = 0;
    for (unsigned i = 0; i < n_threads; i++) {
        pthread_join(threads[i], NULL);
        sum += parts[i].sum;
    }
    qsort(rates, N_PASSES, sizeof rates[0], compare);
    printf("%.1f\n", rates[N_PASSES / 2]);
    return sum == 0;
}

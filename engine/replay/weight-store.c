/* Reading of weights. */

#include "engine/replay/weight-store.h"

#include "engine/replay/replay.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#define SLICE_BYTES ((uint64_t)4 << 20)

typedef struct {
    int file;
    uint8_t *to;
    uint64_t n_bytes;
    atomic_uint_fast64_t next; /* byte that no thread has taken yet */
    atomic_int failure;        /* errno of the first failure; EIO where the file is short */
    void (*progress)(double fraction, void *data);
    void *data;
} Reading;

static int
read_slice(Reading *reading, uint64_t begin, uint64_t end)
{
    while (begin < end) {
        ssize_t n = pread(reading->file, reading->to + begin, end - begin, (off_t)begin);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        begin += (uint64_t)n;
    }
    return 0;
}

static void
read_slices(void *data, unsigned thread, unsigned n_threads)
{
    Reading *reading = data;
    while (atomic_load(&reading->failure) == 0) {
        uint64_t begin = atomic_fetch_add(&reading->next, SLICE_BYTES);
        if (begin >= reading->n_bytes)
            return;
        int failure = read_slice(reading, begin, MIN(begin + SLICE_BYTES, reading->n_bytes));
        if (failure != 0)
            atomic_store(&reading->failure, failure);
        if (thread == 0 && reading->progress != NULL)
            reading->progress((double)begin / (double)reading->n_bytes, reading->data);
    }
}

bool
sundog_weight_store_read(SundogMemory *memory, const SundogCore *core, SundogThreadPool *pool,
                         void (*progress)(double fraction, void *data), void *data, GError **error)
{
    Reading reading = {
        .n_bytes = sundog_core_get_info(core)->weight_bytes, .progress = progress, .data = data};
    if (!sundog_memory_map(memory, reading.n_bytes, SUNDOG_MEMORY_HUGE_PAGES, "weights", error))
        return false;
    reading.to = memory->data;
    reading.file =
        sundog_package_open_member(sundog_core_get_package(core), SUNDOG_CORE_WEIGHTS, error);
    if (reading.file < 0)
        return false;
    sundog_thread_pool_run(pool, read_slices, &reading);
    close(reading.file);
    int failure = atomic_load(&reading.failure);
    if (failure != 0)
        g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_WEIGHTS,
                    "cannot read %" G_GUINT64_FORMAT " bytes of %s: %s", reading.n_bytes,
                    SUNDOG_CORE_WEIGHTS, g_strerror(failure));
    else if (progress != NULL)
        progress(1, data);
    return failure == 0;
}

/* Reading weights through a pinned ring. */

#include "engine/replay/cuda-weights.h"

#include "engine/replay/memory.h"
#include "engine/replay/replay.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#define SLOT_BYTES ((uint64_t)4 << 20)
#define MAX_THREADS 8
#define PROGRESS_US 50000

typedef struct {
    const SundogCudaDevice *device;
    int file;
    CUdeviceptr to;
    uint64_t n_bytes;
    atomic_uint_fast64_t next; /* byte that no thread has taken yet */
    atomic_int failure;        /* errno, or the driver's result, negative */
    atomic_int n_running;
} Reading;

static int
read_slot(const Reading *reading, uint8_t *to, uint64_t begin, uint64_t end)
{
    while (begin < end) {
        ssize_t n = pread(reading->file, to, end - begin, (off_t)begin);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        to += n;
        begin += (uint64_t)n;
    }
    return 0;
}

/* One thread's share: takes slices until none is left. Returns 0, an errno, or a driver's result below
 * zero. */
static int
read_slices(Reading *reading, uint8_t *slots, CUstream stream, CUevent *events)
{
    const SundogCudaDriver *driver = reading->device->driver;
    CUresult result = 0;
    for (unsigned turn = 0; result == 0 && atomic_load(&reading->failure) == 0; turn ^= 1) {
        uint64_t begin = atomic_fetch_add(&reading->next, SLOT_BYTES);
        uint64_t end = MIN(begin + SLOT_BYTES, reading->n_bytes);
        if (begin >= reading->n_bytes)
            break;
        result = driver->event_synchronize(events[turn]);
        int failure = read_slot(reading, slots + turn * SLOT_BYTES, begin, end);
        if (failure != 0)
            return failure;
        if (result == 0)
            result = driver->copy_to_device(reading->to + begin, slots + turn * SLOT_BYTES,
                                            end - begin, stream);
        if (result == 0)
            result = driver->event_record(events[turn], stream);
    }
    return result == 0 ? -driver->stream_synchronize(stream) : -result;
}

static int
read_with_slots(Reading *reading, uint8_t *slots)
{
    const SundogCudaDriver *driver = reading->device->driver;
    CUstream stream = NULL;
    CUevent events[2] = {NULL, NULL};
    int failure = -driver->stream_create(&stream, SUNDOG_CUDA_STREAM_NON_BLOCKING);
    for (int i = 0; i < 2 && failure == 0; i++)
        failure = -driver->event_create(&events[i], SUNDOG_CUDA_EVENT_NO_TIMING);
    if (failure == 0)
        failure = read_slices(reading, slots, stream, events);
    for (int i = 0; i < 2; i++)
        if (events[i] != NULL)
            driver->event_destroy(events[i]);
    if (stream != NULL)
        driver->stream_destroy(stream);
    return failure;
}

static gpointer
run_thread(gpointer data)
{
    Reading *reading = data;
    const SundogCudaDriver *driver = reading->device->driver;
    SundogMemory slots = {0};
    int failure = -driver->context_set(reading->device->context);
    if (failure == 0 &&
        !sundog_memory_map(&slots, 2 * SLOT_BYTES, SUNDOG_MEMORY_HUGE_PAGES, "pinned slots", NULL))
        failure = ENOMEM;
    if (failure == 0)
        failure = -driver->host_register(slots.data, slots.n_bytes, 0);
    if (failure == 0) {
        failure = read_with_slots(reading, slots.data);
        driver->host_unregister(slots.data);
    }
    sundog_memory_clear(&slots);
    if (failure != 0)
        atomic_store(&reading->failure, failure);
    atomic_fetch_sub(&reading->n_running, 1);
    return NULL;
}

static void
run_threads(Reading *reading, void (*progress)(double, void *), void *data)
{
    GThread *threads[MAX_THREADS];
    unsigned n = MIN(MAX_THREADS, MAX(g_get_num_processors(), 2));
    atomic_store(&reading->n_running, (int)n);
    for (unsigned i = 0; i < n; i++)
        threads[i] = g_thread_new("weights", run_thread, reading);
    while (progress != NULL && atomic_load(&reading->n_running) > 0) {
        uint64_t next = atomic_load(&reading->next);
        progress((double)MIN(next, reading->n_bytes) / (double)reading->n_bytes, data);
        g_usleep(PROGRESS_US);
    }
    for (unsigned i = 0; i < n; i++)
        g_thread_join(threads[i]);
}

bool
sundog_cuda_weights_read(const SundogCudaDevice *device, const SundogCore *core, CUdeviceptr to,
                         void (*progress)(double fraction, void *data), void *data, GError **error)
{
    Reading reading = {
        .device = device, .to = to, .n_bytes = sundog_core_get_info(core)->weight_bytes};
    reading.file =
        sundog_package_open_member(sundog_core_get_package(core), SUNDOG_CORE_WEIGHTS, error);
    if (reading.file < 0)
        return false;
    run_threads(&reading, progress, data);
    close(reading.file);
    int failure = atomic_load(&reading.failure);
    if (failure < 0)
        return sundog_cuda_succeeded(device->driver, -failure, "copying weights", error);
    if (failure > 0) {
        g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_WEIGHTS,
                    "cannot read %" G_GUINT64_FORMAT " bytes of %s: %s", reading.n_bytes,
                    SUNDOG_CORE_WEIGHTS, g_strerror(failure));
        return false;
    }
    if (progress != NULL)
        progress(1, data);
    return true;
}

#pragma once

/*
 * The real driver behind a table of the test's own: counts calls, and changes how launches follow one another,
 * in graphs and directly. One thread, but for the reading of weights.
 */

#include "engine/replay/cuda-driver.h"

typedef struct {
    /* Every edge is ordinary: nothing begins before its predecessor has ended. */
    bool is_ordinary;
    /* Not 0: every launch waits so much longer for its predecessor's end, its own dependents being there already. */
    uint64_t delay_ns;
} WatchCudaOptions;

/* Functions that a loaded core has no business with. */
#define WATCH_CUDA_FORBIDDEN(X) \
    X(memory_allocate)          \
    X(memory_free)              \
    X(host_allocate)            \
    X(host_free)                \
    X(host_register)            \
    X(module_load)              \
    X(function_attribute)       \
    X(stream_create)            \
    X(stream_synchronize)       \
    X(event_synchronize)        \
    X(graph_create)             \
    X(graph_add_kernel)         \
    X(graph_instantiate)        \
    X(graph_upload)             \
    X(copy_to_device)           \
    X(copy_to_host)

enum {
#define X(field) WATCH_CUDA_##field,
    WATCH_CUDA_FORBIDDEN(X)
#undef X
        WATCH_CUDA_graph_launch,
    WATCH_CUDA_launch,
    WATCH_CUDA_N
};

extern const char *const watch_cuda_names[WATCH_CUDA_N];

/* Puts the table in the driver's place, all counts zero. */
void watch_cuda_begin(const WatchCudaOptions *options);
void watch_cuda_end(void);
unsigned watch_cuda_get_count(int function);

/* Holds so many blocks' places on the GPU for a while, on a stream of its own: what else runs goes on around
 * them, its blocks in another order. */
void watch_cuda_disturb(unsigned n_blocks, uint64_t ns);

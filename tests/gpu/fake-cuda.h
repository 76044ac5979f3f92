#pragma once

/*
 * A CUDA driver without a GPU, for tests of replay: memory is the host's, kernels compute nothing but what
 * the host waits for (steps taken in, sampled tokens). Counts every call, and fails one on demand. One
 * thread, but for the reading of weights.
 */

#include "engine/replay/cuda-driver.h"

#define FAKE_CUDA_TOKEN 7
#define FAKE_CUDA_ERROR 2

enum {
#define X(field, symbol, arguments) FAKE_CUDA_##field,
    SUNDOG_CUDA_FUNCTIONS(X)
#undef X
        FAKE_CUDA_N_FUNCTIONS
};

extern const char *const fake_cuda_names[FAKE_CUDA_N_FUNCTIONS];

/* Puts the table in the driver's place, all counts zero. */
void fake_cuda_begin(void);
void fake_cuda_end(void);

unsigned fake_cuda_get_count(int function);
/* The next call of this function fails with FAKE_CUDA_ERROR; -1: none. */
void fake_cuda_fail(int function);
/* What the device says that it has; 64 GiB from the beginning. */
void fake_cuda_set_free_bytes(size_t n_bytes);
/* Pieces of device memory that are there. */
unsigned fake_cuda_get_n_pieces(void);

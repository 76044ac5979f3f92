#pragma once

/* What a GPU can do at most, measured now: what speeds are told beside. Any thread, seconds at most. */

#include "engine/replay/cuda-device.h"

typedef struct {
    char name[128];
    double read_bytes_per_second; /* of its memory, read once by all multiprocessors */
    double node_us;               /* of a graph whose kernels do nothing, a kernel */
    double launch_us; /* from asking for a graph of one such kernel until its end is seen */
} SundogCudaCeilings;

/* Measures the first GPU that this build has kernels for. False where there is none, or too little memory. */
bool sundog_cuda_ceilings_measure(SundogCudaCeilings *ceilings, GError **error);

#pragma once

/* The compiled CUDA kernels that this build carries: none where it was built without nvcc. */

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *target; /* "sm_90a" */
    const char *name;   /* of the source file: "linear" */
    const uint8_t *data;
    size_t n_bytes;
} SundogCubin;

/* Ends with a NULL target. */
extern const SundogCubin sundog_cubins[];

/* NULL where this build has none of that name for the target. */
const SundogCubin *sundog_cubin_find(const char *target, const char *name);

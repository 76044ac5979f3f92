#pragma once

/* One GPU with its context, and the kernels loaded on it. Owned by one replay; its context is made
 * current on each thread that uses it. */

#include "engine/core/core.h"
#include "engine/replay/cuda-driver.h"

typedef struct {
    const SundogCudaDriver *driver;
    CUdevice device;
    CUcontext context;
    int n_multiprocessors;
    char name[128];
    GHashTable *modules;   /* name to CUmodule */
    GHashTable *functions; /* entry to CUfunction */
} SundogCudaDevice;

/* Opens the first GPU that runs the core's target and loads the core's modules. */
bool sundog_cuda_device_open(SundogCudaDevice *device, const SundogCore *core, GError **error);
void sundog_cuda_device_close(SundogCudaDevice *device);

/* A kernel by its module and entry, ready to run with so much shared memory, its one parameter of the
 * size that the caller fills. NULL and an error where it is not there or not as expected. */
CUfunction sundog_cuda_device_find(SundogCudaDevice *device, const char *module, const char *entry,
                                   size_t n_parameter_bytes, uint32_t n_shared_bytes,
                                   GError **error);

/* What the first GPU has free. */
bool sundog_cuda_device_find_free_bytes(uint64_t *n_bytes, GError **error);

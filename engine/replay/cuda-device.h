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

/* What there is to say of a GPU before anything is loaded. */
typedef struct {
    char name[128];
    int major, minor;    /* its capability: 9.0 */
    int cuda_version;    /* that its driver is for, 13000 is 13.0 */
    const char *target;  /* "sm_90a", for which this build has kernels that run on it; or NULL */
    uint64_t free_bytes; /* now */
    uint64_t total_bytes;
} SundogCudaCard;

/* Asks the first GPU. False, with what to do about it, where there is none or no driver that will do. */
bool sundog_cuda_card_find(SundogCudaCard *card, GError **error);

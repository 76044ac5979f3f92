#pragma once

/*
 * A core's weights from its file to a GPU's memory: several threads, each with a pair of pinned slots of
 * its own, so that one is read into while the other is copied from. Measured on an H200 at 43 to 48 GB/s
 * from the page cache with 8 threads and slots of 4 MiB; larger ones were slower, fewer threads too.
 */

#include "engine/replay/cuda-device.h"

/* progress runs on the calling thread, from time to time. */
bool sundog_cuda_weights_read(const SundogCudaDevice *device, const SundogCore *core,
                              CUdeviceptr to, void (*progress)(double fraction, void *data),
                              void *data, GError **error);

#pragma once

/*
 * A program's launch list on a device: kernels found, addresses known. Makes a graph of a shape, or
 * issues the same launches directly. Everything that can fail for good is found in new.
 */

#include "engine/replay/cuda-device.h"

/* What launches are bound to. */
typedef struct {
    const CUdeviceptr *buffers; /* one for each of the program's buffers */
    CUdeviceptr ring;           /* of tokens */
    CUdeviceptr step;           /* counters of the device's steps */
    CUdeviceptr blocks[2];      /* packed inputs, used in turn */
    CUdeviceptr tokens;         /* input of the forward program */
    CUdeviceptr token;          /* what was sampled last */
    CUdeviceptr taken;          /* steps taken in, for the host */
    bool is_alike;              /* all steps run on the list's variants of that kind */
} SundogCudaBinding;

typedef struct SundogCudaLauncher SundogCudaLauncher;

/* Copies the binding and what it points to. `program` and the core's list must outlive it. */
SundogCudaLauncher *sundog_cuda_launcher_new(SundogCudaDevice *device, const SundogCore *core,
                                             const char *program, const SundogCudaBinding *binding,
                                             GError **error);
void sundog_cuda_launcher_free(SundogCudaLauncher *launcher);

/* Fills a weight with random values of a seed. */
bool sundog_cuda_fill_weight(SundogCudaDevice *device, const SundogCoreWeight *weight,
                             CUdeviceptr to, uint64_t seed, CUstream stream, GError **error);

/* Whether sequences of a step have one row each is told by the shape: tokens are as many as sequences. */

/* Makes the graph for a shape, which is launched from then on for exactly that shape. */
bool sundog_cuda_launcher_add_graph(SundogCudaLauncher *launcher, const SundogShape *shape,
                                    GError **error);
/* Begins a step of the shape: by its graph, or directly. */
bool sundog_cuda_launcher_run(SundogCudaLauncher *launcher, const SundogShape *shape,
                              CUstream stream, GError **error);

/* As sundog_replay_leave_out() says. */
void sundog_cuda_launcher_leave_out(SundogCudaLauncher *launcher, uint64_t operations);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogCudaLauncher, sundog_cuda_launcher_free)

#pragma once

/*
 * The state of sequences on a GPU, by kind: buffers of equal pieces, one a page or a slot. All but the reading
 * and writing of pieces only begins on the stream, in the order of the calls. Within this house.
 */

#include "engine/replay/cuda-driver.h"
#include "kernels/contract/paged-cache.h"

#include <glib.h>

typedef struct {
    const SundogCudaDriver *driver;
    CUstream stream;
    GArray *buffers[SUNDOG_N_STATE_KINDS];
} SundogCudaState;

/* Empty; driver and stream are to be set before the first copy. */
void sundog_cuda_state_init(SundogCudaState *state);
void sundog_cuda_state_clear(SundogCudaState *state);

/* A layer's buffer of n_pieces; read and written in the order in which they are added. */
void sundog_cuda_state_add(SundogCudaState *state, SundogStateKind kind, CUdeviceptr data,
                           uint64_t n_bytes, int64_t n_pieces);

/* A failure of a copy shows in the next step, which runs on the same stream. */
void sundog_cuda_state_copy(const SundogCudaState *state, SundogStateKind kind, int32_t from,
                            int32_t to);
/* Of a piece in all layers. */
size_t sundog_cuda_state_get_bytes(const SundogCudaState *state, SundogStateKind kind);
/* Wait for the stream: for when no step is due. False where the device failed; then `bytes` means nothing. */
bool sundog_cuda_state_read(const SundogCudaState *state, SundogStateKind kind, int32_t piece,
                            void *bytes);
bool sundog_cuda_state_write(const SundogCudaState *state, SundogStateKind kind, int32_t piece,
                             const void *bytes);

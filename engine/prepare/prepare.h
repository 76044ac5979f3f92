#pragma once

/*
 * Makes a core of a model: fuse, plan memory, lay out weights, export. Runs on the calling thread with
 * workers of its own for packing; stops cleanly at a cancellable and leaves nothing half-made.
 */

#include "engine/core/core.h"
#include "engine/model/model.h"
#include <gio/gio.h>

/* What quantized weights are multiplied with: on CUDA bytes for few tokens and bf16 for many, and where
 * they are to be exact always bf16. */
typedef enum {
    SUNDOG_ACTIVATIONS_INT8,
    SUNDOG_ACTIVATIONS_F32,
} SundogActivations;

/* What becomes of matrices of floats. Quantized ones stay as they are; on CUDA what its kernels do not take
 * is converted (convert.h). */
typedef enum {
    SUNDOG_WEIGHTS_KEEP,
    SUNDOG_WEIGHTS_Q8, /* Q8_0 */
    SUNDOG_WEIGHTS_Q4, /* Q4_1; tables of the vocabulary Q8_0 */
    SUNDOG_WEIGHTS_F8, /* layout.h's f8; tables of the vocabulary stay as they are */
} SundogWeights;

/* How keys and values are kept. */
typedef enum {
    SUNDOG_CACHE_FLOATS, /* f32 where activations are, else bf16 or f16 */
    SUNDOG_CACHE_Q8,     /* 8 bits, as paged-cache.h has q8; on the host alone */
} SundogCacheKind;

typedef struct {
    const char *name;   /* the core's name in its manifest; never NULL */
    const char *target; /* "host" (NULL for the same), or a CUDA architecture: "sm_90a" */
    SundogActivations activations;
    SundogWeights weights;
    SundogCacheKind cache;
    uint32_t max_context; /* 0: what the model was trained for */
    unsigned n_threads;   /* 0: all processors */
    /* For measuring with random weights: the file is not read beyond its header, the core's weights are
     * a hole, and the model's hash is left out. */
    bool hollow;
    /* The makers' sampling profile ({"temperature", "top_p", …}) over the model's own and
     * the general one, or NULL. */
    JsonObject *sampling;
    /* phase is one of "plan", "weights", "text", "sign"; fraction of the whole, 0 to 1. */
    void (*progress)(const char *phase, double fraction, void *data);
    /* Or NULL: called for each matrix that was quantized because `weights` says so, with its types by name,
     * and ||new - old|| / ||old||. */
    void (*quantized)(const char *tensor, const char *from, const char *to, double relative_error,
                      void *data);
    void *data;
    GCancellable *cancellable;
} SundogPrepareOptions;

typedef struct {
    uint64_t core_bytes;   /* on disk when done */
    uint64_t memory_bytes; /* weights and arena when loaded, without cache */
    uint64_t page_bytes;   /* of cache, for every 64 tokens, by layers that keep all of them */
} SundogPrepareEstimate;

/* What preparing will cost, from the model's header alone. */
bool sundog_prepare_estimate(const SundogModel *model, const SundogPrepareOptions *options,
                             SundogPrepareEstimate *estimate, GError **error);
/* Writes the core to `folder` (made whole or not at all) and signs it. What cannot be prepared (a type
 * of tensor, an architecture, a disk that is too small) is refused by its name before anything is
 * written. */
bool sundog_prepare(SundogModel *model, const char *folder, const SundogKeyring *keyring,
                    const SundogPrepareOptions *options, GError **error);

#pragma once

/* What a card could do, beside what a core does on it. Main thread. */

#include "engine/core/core.h"
#include "engine/replay/cuda-ceilings.h"

typedef struct {
    SundogCudaCeilings ceilings;
    uint64_t decode_bytes; /* of weights and cache that a token must be read for, on average */
    double decode_share;   /* of the read ceiling: these bytes in a token's time */
    uint32_t
        n_launches; /* kernels of a decoding step of one sequence, the taking in of inputs too */
} SundogShare;

/* Measures the card and counts what a token of so many, written one after the other from the first on, reads. `core` is
 * for a GPU, and no engine holds its memory. */
bool sundog_share_find(const SundogCore *core, uint32_t n_decode, double tokens_per_second,
                       SundogShare *share, GError **error);

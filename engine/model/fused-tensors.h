#pragma once

/*
 * Matrices that some files hold as one: the rows of queries, keys and values one after the other, or
 * those of gate and up. A role's part of one is a tensor like any other. Within this house.
 */

#include "engine/model/model.h"

#define SUNDOG_MAX_FUSED_PARTS 3

typedef struct {
    const char *name; /* GGUF's, with %u for the layer */
    SundogTensorRole parts[SUNDOG_MAX_FUSED_PARTS];
    uint32_t n_parts;
} SundogFusedTensor;

/* The fused tensor that a role may be a part of; NULL where there is none such. */
const SundogFusedTensor *sundog_fused_tensor_find(SundogTensorRole role);

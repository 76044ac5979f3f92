#pragma once

/* A model's tensors by role, found in its source and checked against the dimensions. */

#include "engine/model/model.h"
#include "engine/model/source.h"

typedef struct {
    SundogTensor *items; /* [SUNDOG_N_TENSOR_ROLES, n_layers]; name is NULL where there is none */
    GPtrArray *names;    /* of parts of fused tensors, and of what they are parts of */
    uint32_t n_layers;   /* those that draft included */
} SundogTensors;

/* Finds every tensor, checks shapes and types, and sets the dimensions' n_parameters and, where the
 * file has factors of frequencies, rope_scaling. A tensor that no role claims is an error. */
bool sundog_tensors_read(SundogTensors *tensors, SundogModelDimensions *dimensions,
                         SundogSource *source, GError **error);
void sundog_tensors_clear(SundogTensors *tensors);
const SundogTensor *sundog_tensors_get(const SundogTensors *tensors, SundogTensorRole role,
                                       uint32_t layer);

#pragma once

/*
 * The tensors of a safetensors folder under GGUF's names. A row of the family's table says which; matrices
 * that stand one an expert are joined, and what a row picks out of a tensor is read by a reader. Within
 * this house.
 */

#include "engine/format/safetensors.h"
#include "engine/model/hf-family.h"
#include "engine/model/source.h"

typedef struct {
    const SundogHfFamily *family;
    const SundogSafetensors *tensors; /* outlives the source */
    bool is_tied;                     /* the head is the embedding, whatever stands beside it */
    uint64_t n_experts;
    uint64_t n_further_streams; /* of a residual that has several, beside the first */
    uint64_t n_layers;
    uint64_t n_predicting_layers; /* behind the last one; what cannot be read of them is left out */
    SundogHfGroups groups;        /* of rows, where the family has such a matrix */
    JsonObject *quantization;     /* what config.json says of it, or NULL */
} SundogHfTensorOptions;

/* Adds all tensors to the source. One whose name no row has gets its own name, so that nobody claims
 * it. */
bool sundog_hf_tensors_read(SundogSource *source, const SundogHfTensorOptions *options,
                            GError **error);

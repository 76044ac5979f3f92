#pragma once

/*
 * The weights of a safetensors folder as tensors of GGUF's types, still under their own names. Within
 * this house.
 */

#include "engine/format/safetensors.h"
#include "engine/model/source.h"

/* An array of SundogSourceTensor whose name is its own, without those of parts that see or hear, whatever
 * they are, and without those under "mtp.", which guess tokens, unless `guesses`; the caller unrefs it. What
 * readers need goes into the source, which must not outlive the safetensors. `quantization` is what
 * config.json says of it, or NULL. */
GArray *sundog_hf_weights_list(SundogSource *source, const SundogSafetensors *tensors,
                               JsonObject *quantization, bool guesses, GError **error);

#pragma once

/* The rotary embedding's settings out of config.json. Within this house. */

#include "engine/model/source.h"

/* `rope_parameters`, or `rope_theta` and `rope_scaling` of older files. Adds the tensor of Llama 3's
 * factors, "rope_freqs.weight", where the scaling is of that kind. */
bool sundog_hf_rope_read(SundogSource *source, JsonObject *config, GError **error);

#pragma once

/* Settings of attention over latents, out of config.json. Within this house. */

#include "engine/model/hf-family.h"
#include "engine/model/source.h"

/* Nothing where config.json has no kv_lora_rank. GGUF calls key_length and value_length what all heads
 * share once the projections are absorbed. The groups are the heads: of each first its keys' rows without
 * the rotary ones, then its values'. */
bool sundog_hf_latent_read(SundogSource *source, JsonObject *config, SundogHfGroups *groups,
                           GError **error);

#pragma once

/* Settings of attention over latents, out of config.json. Within this house. */

#include "engine/model/source.h"

/* How a projection's rows go to the heads: of each head first its keys', then its values'. */
typedef struct {
    uint64_t n_heads;
    uint64_t key_rows; /* without the rotary ones; 0 where the model has no latents */
    uint64_t value_rows;
} SundogHfLatent;

/* Nothing where config.json has no kv_lora_rank. GGUF calls key_length and value_length what all heads
 * share once the projections are absorbed. */
bool sundog_hf_latent_read(SundogSource *source, JsonObject *config, SundogHfLatent *latent,
                           GError **error);

/* The numbers of attention over latents, as llama.cpp's converter writes them: what it calls key_length
 * and value_length are of the one group of keys that all heads share once the projections are absorbed. */

#include "engine/model/latent-dimensions.h"

#include "engine/format/error.h"
#include <math.h>

#define MAX_RANK 4096
#define MAX_DIM 1024
#define MAX_MAGNITUDE 16
/* Rows of weights are laid out by so many, and a head begins with such a panel. */
#define HEAD_ROWS 16

static void
check_sizes(const SundogModelDimensions *dimensions, SundogKeys *keys)
{
    const SundogLatentDimensions *latent = &dimensions->latent;
    uint32_t n_rope = dimensions->rope.n_dims;
    if (dimensions->n_kv_heads != 1 || dimensions->head_dim != latent->kv_rank + n_rope)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID,
                         "attention over latents of %u values and %u rotary ones has %u groups of "
                         "keys of %u, expected one of their sum",
                         latent->kv_rank, n_rope, dimensions->n_kv_heads, dimensions->head_dim);
    else if (latent->key_dim <= n_rope)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID,
                         "a head has keys of %u values, expected more than the %u rotary ones",
                         latent->key_dim, n_rope);
    else if (latent->kv_rank % HEAD_ROWS != 0 || latent->value_dim % HEAD_ROWS != 0)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                         "latents are of %u values and a head's values of %u, expected multiples "
                         "of %d",
                         latent->kv_rank, latent->value_dim, HEAD_ROWS);
}

/* Where a model was trained with YaRN, its scores grow with the logarithm of the factor, and cosine and
 * sine do not; the file holds a tenth of what the paper's formula multiplies that logarithm by. */
static void
read_scale(SundogModelDimensions *dimensions, SundogKeys *keys)
{
    SundogRope *rope = &dimensions->rope;
    double growth =
        sundog_keys_read_optional(keys, "rope.scaling.yarn_log_multiplier", MAX_MAGNITUDE);
    dimensions->attention_scale = 1 / sqrt(dimensions->latent.key_dim);
    if (growth == 0 || rope->scaling != SUNDOG_ROPE_SCALING_YARN)
        return;
    double magnitude = 1 + growth * log(rope->factor);
    rope->magnitude = 1;
    dimensions->attention_scale *= magnitude * magnitude;
}

void
sundog_latent_dimensions_read(SundogModelDimensions *dimensions, SundogKeys *keys)
{
    SundogLatentDimensions *latent = &dimensions->latent;
    latent->kv_rank = sundog_keys_read_number_or(keys, "attention.kv_lora_rank", MAX_RANK, 0);
    if (latent->kv_rank == 0)
        return;
    if (!sundog_keys_has(keys, "attention.key_length_mla")) {
        g_autofree char *key = sundog_keys_dup_name(keys, "attention.key_length_mla");
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                         "%s is missing: the file is older than the form that is known here, use "
                         "one that was converted after April 2025",
                         key);
        return;
    }
    latent->q_rank = sundog_keys_read_number_or(keys, "attention.q_lora_rank", MAX_RANK, 0);
    latent->key_dim = sundog_keys_read_count(keys, "attention.key_length_mla", MAX_DIM);
    latent->value_dim = sundog_keys_read_count(keys, "attention.value_length_mla", MAX_DIM);
    read_scale(dimensions, keys);
    if (keys->error == NULL)
        check_sizes(dimensions, keys);
}

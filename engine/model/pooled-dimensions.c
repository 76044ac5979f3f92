/* What models have that do not write text. Sizes are those of the tensors, since files state them rarely.
 * Source of the keys and of the numbers of pooling: llama.cpp. */

#include "engine/model/pooled-dimensions.h"

#include "engine/format/error.h"

#define MAX_ROWS (1u << 24)

/* GGUF's numbers of "pooling_type". */
enum { POOL_NONE, POOL_MEAN, POOL_FIRST, POOL_LAST, POOL_RANK, N_POOLS };

/* Rows of a tensor, 0 where there is none. */
static uint32_t
count_rows(SundogKeys *keys, const char *name)
{
    SundogSourceTensor tensor;
    if (!sundog_source_find_tensor(keys->source, name, &tensor))
        return 0;
    if (tensor.shape[1] <= MAX_ROWS)
        return (uint32_t)tensor.shape[1];
    sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID,
                     "tensor %s has %" G_GUINT64_FORMAT " rows, expected at most %u",
                     tensor.own_name, tensor.shape[1], MAX_ROWS);
    return 0;
}

/* Files of encoders with scores were made before they could say so. */
static uint32_t
read_pooling(SundogKeys *keys, const SundogFamily *family)
{
    bool scores = family->is_encoder && count_rows(keys, "cls.output.weight") > 0;
    uint32_t usual = scores ? POOL_RANK : family->is_encoder ? POOL_MEAN : POOL_NONE;
    uint32_t type = sundog_keys_read_number_or(keys, "pooling_type", N_POOLS - 1, usual);
    return type == POOL_NONE ? usual : type;
}

/* Rerankers score by the row that their training took: where a file does not say, BERT's by the first,
 * others by the last. */
static SundogPooling
find_pooling(SundogKeys *keys, uint32_t type, const SundogFamily *family)
{
    uint32_t usual = family->is_encoder ? POOL_FIRST : POOL_LAST;
    uint32_t of_class =
        sundog_keys_read_number_or(keys, "classifier.pooling_type", N_POOLS - 1, usual);
    type = type == POOL_RANK ? of_class : type;
    return type == POOL_FIRST  ? SUNDOG_POOLING_FIRST
           : type == POOL_LAST ? SUNDOG_POOLING_LAST
                               : SUNDOG_POOLING_MEAN;
}

static void
read_sizes(SundogKeys *keys, SundogModelDimensions *dimensions)
{
    SundogPooledDimensions *pooled = &dimensions->pooled;
    pooled->n_positions = count_rows(keys, "position_embd.weight");
    pooled->n_token_types = count_rows(keys, "token_types.weight");
    pooled->dense_size = count_rows(keys, "dense_2.weight");
    if (pooled->purpose == SUNDOG_PURPOSE_RERANK)
        pooled->n_outputs = count_rows(keys, "cls.output.weight");
    else
        pooled->n_outputs =
            pooled->dense_size > 0 ? count_rows(keys, "dense_3.weight") : dimensions->hidden_size;
    if (pooled->n_outputs == 0)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                         "the model has no %s, without which it gives no result",
                         pooled->purpose == SUNDOG_PURPOSE_RERANK ? "cls.output.weight"
                                                                  : "dense_3.weight");
}

void
sundog_pooled_dimensions_read(SundogModelDimensions *dimensions, const SundogFamily *family,
                              SundogKeys *keys)
{
    SundogPooledDimensions *pooled = &dimensions->pooled;
    uint32_t type = read_pooling(keys, family);
    bool is_causal = sundog_keys_read_bool_or(keys, "attention.causal", !family->is_encoder);
    g_autofree char *causal = sundog_keys_dup_name(keys, "attention.causal");
    if (type != POOL_NONE)
        pooled->purpose = type == POOL_RANK ? SUNDOG_PURPOSE_RERANK : SUNDOG_PURPOSE_EMBED;
    pooled->pooling = find_pooling(keys, type, family);
    dimensions->is_bidirectional = !is_causal;
    if (!is_causal && type == POOL_NONE)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                         "%s is false, expected true of a model that writes text", causal);
    if (pooled->purpose != SUNDOG_PURPOSE_GENERATE)
        read_sizes(keys, dimensions);
}

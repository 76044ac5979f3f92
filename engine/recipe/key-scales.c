/* Keys whose dimensions are of like size, for a cache in which many dimensions share a scale. A bias makes a few
 * dimensions of keys far greater than the rest (Qwen2's by two hundred times), whose scale then leaves the
 * others few steps. Each is divided by a power of two near its bias, and the queries are multiplied by it,
 * which changes no score and rounds nothing (Xiao et al. 2023, with weights in the place of measurements). Both
 * dimensions of a rotated pair have one factor, so that rotation does not matter. */

#include "engine/recipe/components.h"

#include "engine/model/floats.h"
#include "engine/recipe/rope.h"

#include <math.h>
#include <stdlib.h>

static int
compare_floats(const void *a, const void *b)
{
    float first = *(const float *)a, second = *(const float *)b;
    return (first > second) - (first < second);
}

/* The other dimension of a rotated pair; a dimension that is not rotated is its own. */
static uint32_t
find_partner(const SundogRope *rope, uint32_t i)
{
    if (rope == NULL || i >= rope->n_dims)
        return i;
    if (rope->interleaved)
        return i ^ 1;
    return i < rope->n_dims / 2 ? i + rope->n_dims / 2 : i - rope->n_dims / 2;
}

/* [n] factors of one head's keys; biases up to the head's usual one are left as they are. */
static void
find_factors(const SundogRope *rope, const double *bias, uint32_t n, float *factors)
{
    g_autofree float *sorted = g_new(float, n);
    for (uint32_t i = 0; i < n; i++) {
        factors[i] = (float)MAX(fabs(bias[i]), fabs(bias[find_partner(rope, i)]));
        sorted[i] = factors[i];
    }
    qsort(sorted, n, sizeof(*sorted), compare_floats);
    float usual = sorted[n / 2];
    for (uint32_t i = 0; i < n; i++)
        factors[i] = usual > 0 && factors[i] > usual ? exp2f(roundf(log2f(factors[i] / usual))) : 1;
}

/* What queries, keys and values are multiplied by, side by side. */
static float *
dup_row(const SundogBuilder *builder, const double *bias)
{
    const SundogLayer *layer = sundog_builder_layer(builder);
    uint32_t n_heads = builder->dimensions->n_heads, n_kv = layer->n_kv_heads, n = layer->head_dim;
    g_autofree float *factors = g_new(float, n_kv *n);
    float *row = g_new(float, (n_heads + 2 * n_kv) * n);
    for (uint32_t g = 0; g < n_kv; g++)
        find_factors(layer->rope, bias + g * n, n, factors + g * n);
    for (uint32_t h = 0; h < n_heads; h++)
        for (uint32_t i = 0; i < n; i++)
            row[h * n + i] = factors[h / (n_heads / n_kv) * n + i];
    for (uint32_t i = 0; i < n_kv * n; i++) {
        row[n_heads * n + i] = 1 / factors[i];
        row[(n_heads + n_kv) * n + i] = 1;
    }
    return row;
}

SundogBufferId
sundog_component_even_keys(SundogBuilder *builder, SundogBufferId qkv)
{
    const SundogLayer *layer = sundog_builder_layer(builder);
    const SundogTensor *tensor =
        sundog_model_get_tensor(builder->model, SUNDOG_TENSOR_ATTENTION_K_BIAS, builder->layer);
    uint32_t n_columns = (builder->dimensions->n_heads + 2 * layer->n_kv_heads) * layer->head_dim;
    if (builder->options->cache_dtype != SUNDOG_DTYPE_Q8 || tensor == NULL)
        return qkv;
    g_autofree double *bias = sundog_rope_dup_values(tensor);
    g_autofree char *name = g_strdup_printf("key_factors.%u", builder->layer);
    SundogBufferId row = sundog_builder_row(builder, name, dup_row(builder, bias), n_columns);
    SundogBufferId y = sundog_builder_temporary(builder, "attention.even", n_columns);
    sundog_builder_emit(builder, SUNDOG_OP_SCALE_COLUMNS, qkv, row, y);
    return y;
}

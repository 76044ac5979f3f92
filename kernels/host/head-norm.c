/* head_norm: rms-norm.h, a head at a time. Rows are split, then parts of their heads. */

#include "kernels/host/kernel.h"
#include "kernels/host/norm.h"

typedef struct {
    float *qkv;
    int64_t row_floats;
    int64_t n_heads, n_kv_heads, head_dim;
    const float *weights[3]; /* of q, k, v; NULL where a part is kept */
    float epsilon;
} HeadNorm;

static HeadNorm
head_norm_from_call(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    const SundogParameter *p = call->parameters;
    return (HeadNorm){.qkv = a[0].data,
                      .row_floats = a[0].shape[1],
                      .n_heads = p[0].i,
                      .n_kv_heads = p[1].i,
                      .head_dim = p[2].i,
                      .weights = {a[1].data, a[2].data, a[3].data},
                      .epsilon = (float)p[3].f};
}

/* The weight of a head, counted through q, k and v. */
static const float *
weight_of(const HeadNorm *norm, int64_t head)
{
    if (head < norm->n_heads)
        return norm->weights[0];
    return norm->weights[head < norm->n_heads + norm->n_kv_heads ? 1 : 2];
}

static void
norm_head(float *x, const float *weight, int64_t n, float epsilon)
{
    float factor = sundog_norm_factor(x, n, epsilon);
    for (int64_t k = 0; k < n; k++)
        x[k] = (x[k] * factor) * weight[k];
}

void
SUNDOG_KERNEL(HEAD_NORM)(const SundogCall *call)
{
    HeadNorm norm = head_norm_from_call(call);
    int64_t n_parts = norm.n_heads + 2 * norm.n_kv_heads;
    SundogRange range = sundog_split(call, call->arguments[0].shape[0] * n_parts);
    for (int64_t i = range.begin; i < range.end; i++) {
        int64_t row = i / n_parts, head = i % n_parts;
        const float *weight = weight_of(&norm, head);
        if (weight != NULL)
            norm_head(norm.qkv + row * norm.row_floats + head * norm.head_dim, weight,
                      norm.head_dim, norm.epsilon);
    }
}

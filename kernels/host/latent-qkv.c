/* latent_qkv: latent.h. */

#include "kernels/contract/latent.h"
#include "kernels/host/kernel.h"
#include "kernels/host/norm.h"

#include <string.h>

enum { N_HEADS, N_KV_HEADS, HEAD_DIM, ROPE_DIMS, EPSILON };

static void
copy_queries(const SundogCall *call, int64_t t)
{
    const SundogArgument *a = call->arguments;
    int64_t n_heads = call->parameters[N_HEADS].i, size = call->parameters[HEAD_DIM].i;
    int64_t n_rope = call->parameters[ROPE_DIMS].i, n_latent = size - n_rope;
    int64_t stride = a[0].shape[1] / n_heads;
    for (int64_t h = 0; h < n_heads; h++) {
        float *to = (float *)a[4].data + t * a[4].shape[1] + h * size;
        const float *q = (const float *)a[0].data + t * a[0].shape[1] + (h + 1) * stride - n_rope;
        const float *absorbed = (const float *)a[1].data + (t * n_heads + h) * n_latent;
        memcpy(to, q, (size_t)n_rope * sizeof(float));
        memcpy(to + n_rope, absorbed, (size_t)n_latent * sizeof(float));
    }
}

static void
copy_key(const SundogCall *call, int64_t t)
{
    const SundogArgument *a = call->arguments;
    int64_t size = call->parameters[HEAD_DIM].i, n_rope = call->parameters[ROPE_DIMS].i;
    int64_t n_latent = size - n_rope;
    const float *latent = (const float *)a[2].data + t * size, *weight = a[3].data;
    float *key = (float *)a[4].data + t * a[4].shape[1] + call->parameters[N_HEADS].i * size;
    float factor = sundog_norm_factor(latent, n_latent, (float)call->parameters[EPSILON].f);
    memcpy(key, latent + n_latent, (size_t)n_rope * sizeof(float));
    for (int64_t i = 0; i < n_latent; i++)
        key[n_rope + i] = (latent[i] * factor) * weight[i];
    memcpy(key + size, key, (size_t)size * sizeof(float));
}

void
SUNDOG_KERNEL(LATENT_QKV)(const SundogCall *call)
{
    SundogRange tokens = sundog_split(call, call->arguments[4].shape[0]);
    for (int64_t t = tokens.begin; t < tokens.end; t++) {
        copy_queries(call, t);
        copy_key(call, t);
    }
}

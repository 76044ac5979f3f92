/* scale_queries: rows.h. */

#include "kernels/contract/rows.h"
#include "kernels/host/kernel.h"

void
SUNDOG_KERNEL(SCALE_QUERIES)(const SundogCall *call)
{
    const SundogArgument *qkv = &call->arguments[0], *table = &call->arguments[2];
    const int32_t *positions = call->arguments[1].data;
    const float *scales = table->data;
    int64_t n = call->parameters[0].i * call->parameters[2].i, period = call->parameters[3].i;
    int64_t offset = call->parameters[4].i;
    SundogRange range = sundog_split(call, qkv->shape[0]);
    for (int64_t t = range.begin; t < range.end; t++) {
        float *queries = (float *)qkv->data + t * qkv->shape[1];
        float scale = scales[sundog_min((positions[t] + offset) / period, table->shape[1] - 1)];
        for (int64_t i = 0; i < n; i++)
            queries[i] *= scale;
    }
}

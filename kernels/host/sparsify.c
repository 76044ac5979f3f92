/* sparsify: streams.h. */

#include "kernels/contract/streams.h"
#include "kernels/host/kernel.h"
#include "kernels/host/norm.h"

void
SUNDOG_KERNEL(SPARSIFY)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    int64_t n = a[0].shape[1];
    SundogRange rows = sundog_split(call, a[0].shape[0]);
    for (int64_t t = rows.begin; t < rows.end; t++) {
        const float *x = (const float *)a[0].data + t * n;
        float *y = (float *)a[1].data + t * n;
        float mean = sundog_norm_plain_sum(x, n) / (float)n;
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i] - mean;
        float deviation = sqrtf(sundog_norm_sum(y, n) / (float)n);
        float cut = fmaf(deviation, (float)call->parameters[0].f, mean);
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i] > cut ? x[i] - cut : 0.0f;
    }
}

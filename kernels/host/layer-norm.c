/* layer_norm: layer-norm.h. */

#include "kernels/contract/layer-norm.h"
#include "kernels/host/kernel.h"
#include "kernels/host/norm.h"

void
SUNDOG_KERNEL(LAYER_NORM)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    const float *weight = a[1].data, *bias = a[2].data;
    int64_t n = a[0].shape[1];
    SundogRange rows = sundog_split(call, a[0].shape[0]);
    for (int64_t t = rows.begin; t < rows.end; t++) {
        const float *x = (const float *)a[0].data + t * n;
        float *y = (float *)a[3].data + t * n;
        float mean = sundog_norm_plain_sum(x, n) / (float)n;
        for (int64_t k = 0; k < n; k++)
            y[k] = x[k] - mean;
        float factor = sundog_norm_factor(y, n, (float)call->parameters[0].f);
        for (int64_t k = 0; k < n; k++)
            y[k] = fmaf(y[k] * factor, weight[k], bias != NULL ? bias[k] : 0.0f);
    }
}

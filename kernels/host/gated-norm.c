/* gated_norm: rms-norm.h. */

#include "kernels/contract/gate.h"
#include "kernels/host/kernel.h"
#include "kernels/host/norm.h"

void
SUNDOG_KERNEL(GATED_NORM)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    const float *weight = a[1].data;
    int64_t n = a[1].shape[1];
    SundogRange heads = sundog_split(call, a[0].shape[0] * (a[0].shape[1] / n));
    for (int64_t head = heads.begin; head < heads.end; head++) {
        const float *x = (const float *)a[0].data + head * n;
        const float *gate = (const float *)a[2].data + head * n;
        float *y = (float *)a[3].data + head * n;
        float factor = sundog_norm_factor(x, n, (float)call->parameters[0].f);
        for (int64_t i = 0; i < n; i++)
            y[i] = ((x[i] * factor) * weight[i]) * sundog_silu(gate[i]);
    }
}

/* rms_norm: rms-norm.h. */

#include "kernels/contract/math.h"
#include "kernels/host/kernel.h"
#include "kernels/host/norm.h"

void
SUNDOG_KERNEL(RMS_NORM)(const SundogCall *call)
{
    const SundogArgument *x = &call->arguments[0], *y = &call->arguments[2];
    const float *weight = call->arguments[1].data;
    int64_t n = x->shape[1];
    SundogRange range = sundog_split(call, x->shape[0]);
    for (int64_t t = range.begin; t < range.end; t++) {
        const float *from = (const float *)x->data + t * n;
        float factor = sundog_norm_factor(from, n, (float)call->parameters[0].f);
        if (y->dtype == SUNDOG_DTYPE_BF16) {
            uint16_t *to = (uint16_t *)y->data + t * n;
            for (int64_t k = 0; k < n; k++)
                to[k] = sundog_f32_to_bf16((from[k] * factor) * weight[k]);
            continue;
        }
        float *to = (float *)y->data + t * n;
        for (int64_t k = 0; k < n; k++)
            to[k] = (from[k] * factor) * weight[k];
    }
}

/* group_norm: rms-norm.h. */

#include "kernels/host/kernel.h"
#include "kernels/host/norm.h"

void
SUNDOG_KERNEL(GROUP_NORM)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    const float *weight = a[1].data;
    int64_t n_groups = call->parameters[0].i, n = a[0].shape[1] / n_groups;
    SundogRange groups = sundog_split(call, a[0].shape[0] * n_groups);
    for (int64_t group = groups.begin; group < groups.end; group++) {
        const float *x = (const float *)a[0].data + group * n;
        const float *w = weight + group % n_groups * n;
        float *y = (float *)a[2].data + group * n;
        float factor = sundog_norm_factor(x, n, (float)call->parameters[1].f);
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] * factor) * w[i];
    }
}

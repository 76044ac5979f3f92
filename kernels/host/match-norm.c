/* match_norm: streams.h. */

#include "kernels/contract/streams.h"
#include "kernels/host/kernel.h"
#include "kernels/host/norm.h"

void
SUNDOG_KERNEL(MATCH_NORM)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    int64_t n = a[1].shape[1], n_streams = a[0].shape[1] / n;
    float floor = (float)call->parameters[0].f;
    SundogRange streams = sundog_split(call, a[0].shape[0] * n_streams);
    for (int64_t stream = streams.begin; stream < streams.end; stream++) {
        const float *x = (const float *)a[0].data + stream * n;
        const float *reference = (const float *)a[1].data + stream / n_streams * n;
        float *y = (float *)a[2].data + stream * n;
        float square = sundog_norm_sum(x, n) / (float)n;
        float factor = sqrtf(sundog_norm_sum(reference, n) / (float)n) /
                       sqrtf(square < floor ? floor : square);
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i] * factor;
    }
}

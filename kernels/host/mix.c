/* mix: streams.h. */

#include "kernels/contract/streams.h"
#include "kernels/host/kernel.h"

#include <math.h>

enum { X, COEFFICIENTS, RESIDUAL, Y };

static void
mix_row(const float *x, const float *coefficients, const float *residual, int64_t n_from, int64_t n,
        float *restrict y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = residual != NULL ? residual[i] : 0.0f;
    for (int64_t p = 0; p < n_from; p++)
        for (int64_t i = 0; i < n; i++)
            y[i] = fmaf(coefficients[p], x[p * n + i], y[i]);
}

void
SUNDOG_KERNEL(MIX)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    int64_t n_from = call->parameters[0].i, n_to = call->parameters[1].i;
    int64_t n = a[Y].shape[1] / n_to;
    SundogRange streams = sundog_split(call, a[Y].shape[0] * n_to);
    for (int64_t stream = streams.begin; stream < streams.end; stream++) {
        int64_t t = stream / n_to;
        const float *residual = a[RESIDUAL].data;
        mix_row((const float *)a[X].data + t * n_from * n,
                (const float *)a[COEFFICIENTS].data + stream * n_from,
                residual != NULL ? residual + stream * n : NULL, n_from, n,
                (float *)a[Y].data + stream * n);
    }
}

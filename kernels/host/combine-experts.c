/* combine_experts: experts.h. */

#include "kernels/contract/experts.h"
#include "kernels/host/kernel.h"

#include <math.h>

/* Columns at once, so that their sums stay in the first cache while the choices pass. */
#define COLUMNS 1024

void
SUNDOG_KERNEL(COMBINE_EXPERTS)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    const float *x = a[0].data, *weights = a[1].data, *residual = a[2].data;
    float *y = a[3].data;
    int64_t n_used = a[1].shape[1], n_columns = a[3].shape[1];
    int64_t n_pieces = sundog_ceil_div(n_columns, COLUMNS);
    SundogRange pieces = sundog_split(call, a[3].shape[0] * n_pieces);
    for (int64_t piece = pieces.begin; piece < pieces.end; piece++) {
        int64_t t = piece / n_pieces, first = piece % n_pieces * COLUMNS;
        int64_t n = sundog_min(COLUMNS, n_columns - first);
        float *to = y + t * n_columns + first, sums[COLUMNS] = {0};
        const float *added = residual != NULL ? residual + t * n_columns + first : NULL;
        for (int64_t u = 0; u < n_used; u++) {
            const float *from = x + (t * n_used + u) * n_columns + first;
            float weight = weights[t * n_used + u];
            for (int64_t i = 0; i < n; i++)
                sums[i] = fmaf(weight, from[i], sums[i]);
        }
        for (int64_t i = 0; i < n; i++)
            to[i] = added != NULL ? sums[i] + added[i] : sums[i];
    }
}

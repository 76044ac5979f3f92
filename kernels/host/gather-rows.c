/* gather_rows: rows.h. */

#include "kernels/contract/rows.h"
#include "kernels/host/kernel.h"

#include <math.h>
#include <string.h>

void
SUNDOG_KERNEL(GATHER_ROWS)(const SundogCall *call)
{
    const SundogArgument *x = &call->arguments[0], *y = &call->arguments[2];
    const int32_t *rows = call->arguments[1].data;
    int64_t n = y->shape[1];
    SundogRange range = sundog_split(call, y->shape[0]);
    for (int64_t r = range.begin; r < range.end; r++) {
        float *to = (float *)y->data + r * n;
        if (rows[r] >= 0 && rows[r] < x->shape[0]) {
            memcpy(to, (const float *)x->data + rows[r] * n, (size_t)n * sizeof(float));
            continue;
        }
        for (int64_t k = 0; k < n; k++)
            to[k] = NAN;
    }
}

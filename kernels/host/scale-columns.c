/* scale_columns: rows.h. */

#include "kernels/contract/rows.h"
#include "kernels/host/kernel.h"

void
SUNDOG_KERNEL(SCALE_COLUMNS)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    const float *weight = a[1].data;
    int64_t n = a[0].shape[1];
    SundogRange rows = sundog_split(call, a[0].shape[0]);
    for (int64_t t = rows.begin; t < rows.end; t++)
        for (int64_t i = 0; i < n; i++)
            ((float *)a[2].data)[t * n + i] = ((const float *)a[0].data)[t * n + i] * weight[i];
}

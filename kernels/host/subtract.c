/* subtract: rows.h. */

#include "kernels/contract/rows.h"
#include "kernels/host/kernel.h"

void
SUNDOG_KERNEL(SUBTRACT)(const SundogCall *call)
{
    const SundogArgument *y = &call->arguments[2];
    const float *a = call->arguments[0].data, *b = call->arguments[1].data;
    SundogRange range = sundog_split(call, y->shape[0] * y->shape[1]);
    for (int64_t i = range.begin; i < range.end; i++)
        ((float *)y->data)[i] = a[i] - b[i];
}

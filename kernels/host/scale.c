/* scale: rows.h. */

#include "kernels/contract/rows.h"
#include "kernels/host/kernel.h"

void
SUNDOG_KERNEL(SCALE)(const SundogCall *call)
{
    const SundogArgument *y = &call->arguments[1];
    const float *x = call->arguments[0].data, factor = (float)call->parameters[0].f;
    float *scaled = y->data;
    SundogRange range = sundog_split(call, y->shape[0] * y->shape[1]);
    for (int64_t i = range.begin; i < range.end; i++)
        scaled[i] = x[i] * factor;
}

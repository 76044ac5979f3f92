/* softcap: rows.h. */

#include "kernels/contract/math.h"
#include "kernels/contract/rows.h"
#include "kernels/host/kernel.h"

void
SUNDOG_KERNEL(SOFTCAP)(const SundogCall *call)
{
    const SundogArgument *y = &call->arguments[1];
    const float *x = call->arguments[0].data, limit = (float)call->parameters[0].f;
    float *capped = y->data;
    SundogRange range = sundog_split(call, y->shape[0] * y->shape[1]);
    for (int64_t i = range.begin; i < range.end; i++)
        capped[i] = limit * sundog_tanh(x[i] / limit);
}

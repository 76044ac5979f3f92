/* slice: rows.h. */

#include "kernels/contract/rows.h"
#include "kernels/host/kernel.h"

#include <string.h>

void
SUNDOG_KERNEL(SLICE)(const SundogCall *call)
{
    const SundogArgument *x = &call->arguments[0], *y = &call->arguments[1];
    SundogRange range = sundog_split(call, y->shape[0]);
    for (int64_t t = range.begin; t < range.end; t++)
        memcpy((float *)y->data + t * y->shape[1],
               (const float *)x->data + t * x->shape[1] + call->parameters[0].i,
               (size_t)y->shape[1] * sizeof(float));
}

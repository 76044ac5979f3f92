/* take: rows.h. */

#include "kernels/contract/rows.h"
#include "kernels/host/kernel.h"

#include <string.h>

void
SUNDOG_KERNEL(TAKE)(const SundogCall *call)
{
    const SundogArgument *x = &call->arguments[0], *y = &call->arguments[1];
    int64_t stride = call->parameters[0].i, offset = call->parameters[1].i;
    int64_t size = call->parameters[2].i;
    SundogRange groups = sundog_split(call, y->shape[0] * (x->shape[1] / stride));
    for (int64_t group = groups.begin; group < groups.end; group++)
        memcpy((float *)y->data + group * size, (const float *)x->data + group * stride + offset,
               (size_t)size * sizeof(float));
}

/* join: rows.h. */

#include "kernels/contract/rows.h"
#include "kernels/host/kernel.h"

#include <string.h>

void
SUNDOG_KERNEL(JOIN)(const SundogCall *call)
{
    const SundogArgument *y = &call->arguments[3];
    SundogRange range = sundog_split(call, y->shape[0]);
    for (int64_t t = range.begin; t < range.end; t++) {
        float *to = (float *)y->data + t * y->shape[1];
        for (int part = 0; part < 3; part++) {
            const SundogArgument *from = &call->arguments[part];
            size_t n = (size_t)from->shape[1];
            memcpy(to, (const float *)from->data + (size_t)t * n, n * sizeof(float));
            to += n;
        }
    }
}

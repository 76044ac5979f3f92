/* mul: rows.h. */

#include "kernels/contract/rows.h"
#include "kernels/host/kernel.h"

void
SUNDOG_KERNEL(MUL)(const SundogCall *call)
{
    const SundogArgument *by = &call->arguments[1], *y = &call->arguments[2];
    const float *a = call->arguments[0].data, *b = by->data;
    int64_t n = y->shape[1];
    float *to = y->data;
    SundogRange rows = sundog_split(call, y->shape[0]);
    for (int64_t t = rows.begin; t < rows.end; t++) {
        if (by->shape[1] == n)
            for (int64_t i = t * n; i < (t + 1) * n; i++)
                to[i] = a[i] * b[i];
        else
            for (int64_t i = t * n; i < (t + 1) * n; i++)
                to[i] = a[i] * b[t];
    }
}

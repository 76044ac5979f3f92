/* silu_mul: silu-mul.h. */

#include "kernels/contract/silu-mul.h"
#include "kernels/host/kernel.h"

void
SUNDOG_KERNEL(SILU_MUL)(const SundogCall *call)
{
    const SundogArgument *y = &call->arguments[2];
    const float *gate = call->arguments[0].data, *up = call->arguments[1].data;
    float *product = y->data;
    SundogRange range = sundog_split(call, y->shape[0] * y->shape[1]);
    for (int64_t i = range.begin; i < range.end; i++)
        product[i] = sundog_silu(gate[i]) * up[i];
}

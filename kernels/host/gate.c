/* gate: the contract's gate.h. */

#include "kernels/host/gate.h"
#include "kernels/host/kernel.h"

void
SUNDOG_KERNEL(GATE)(const SundogCall *call)
{
    const SundogArgument *y = &call->arguments[2];
    const float *gate = call->arguments[0].data, *up = call->arguments[1].data;
    SundogRange range = sundog_split(call, y->shape[0] * y->shape[1]);
    sundog_gate_run(call->parameters[0].i, gate + range.begin, up + range.begin,
                    (float *)y->data + range.begin, range.end - range.begin);
}

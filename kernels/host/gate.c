/* gate: the contract's gate.h. */

#include "kernels/host/gate.h"
#include "kernels/host/kernel.h"

#define RUN 64

/* The same without up, which counts as 1. */
static void
run_alone(int64_t function, const float *gate, float *y, int64_t n)
{
    float ones[RUN];
    for (int64_t i = 0; i < RUN; i++)
        ones[i] = 1.0f;
    for (int64_t first = 0; first < n; first += RUN)
        sundog_gate_run(function, gate + first, ones, y + first, sundog_min(RUN, n - first));
}

void
SUNDOG_KERNEL(GATE)(const SundogCall *call)
{
    const SundogArgument *y = &call->arguments[2];
    const float *gate = call->arguments[0].data, *up = call->arguments[1].data;
    SundogRange range = sundog_split(call, y->shape[0] * y->shape[1]);
    float *to = (float *)y->data + range.begin;
    int64_t function = call->parameters[0].i, n = range.end - range.begin;
    if (up != NULL)
        sundog_gate_run(function, gate + range.begin, up + range.begin, to, n);
    else
        run_alone(function, gate + range.begin, to, n);
}

/* sigmoid_mul: sigmoid-mul.h. */

#include "kernels/contract/sigmoid-mul.h"
#include "kernels/host/kernel.h"

static void
scale_row(float gate, const float *x, int64_t n, float *y)
{
    float factor = sundog_sigmoid(gate);
    for (int64_t i = 0; i < n; i++)
        y[i] = factor * x[i];
}

void
SUNDOG_KERNEL(SIGMOID_MUL)(const SundogCall *call)
{
    const SundogArgument *g = &call->arguments[0], *out = &call->arguments[2];
    const float *gate = g->data, *x = call->arguments[1].data;
    float *y = out->data;
    int64_t n = out->shape[1];
    SundogRange rows = sundog_split(call, out->shape[0]);
    for (int64_t t = rows.begin; t < rows.end; t++) {
        if (g->shape[1] == 1 && n != 1)
            scale_row(gate[t], x + t * n, n, y + t * n);
        for (int64_t i = 0; g->shape[1] == n && i < n; i++)
            y[t * n + i] = sundog_sigmoid(gate[t * n + i]) * x[t * n + i];
    }
}

/* rope: rope-cache.h. Rows are split. */

#include "kernels/host/kernel.h"
#include "kernels/host/rotate.h"

void
SUNDOG_KERNEL(ROPE)(const SundogCall *call)
{
    const SundogArgument *x = &call->arguments[0];
    const SundogParameter *p = call->parameters;
    const int32_t *positions = call->arguments[1].data;
    SundogRotation rotation = {.inverse_frequencies = call->arguments[2].data,
                               .n_dims = p[2].i,
                               .interleaved = p[3].i != 0,
                               .magnitude = (float)p[4].f};
    SundogRange range = sundog_split(call, x->shape[0]);
    for (int64_t t = range.begin; t < range.end; t++) {
        float *row = (float *)x->data + t * x->shape[1];
        SundogAngles angles;
        for (int64_t first = 0; first < rotation.n_dims / 2; first += SUNDOG_ANGLES) {
            sundog_find_angles(&rotation, (float)positions[t], first, &angles);
            for (int64_t h = 0; h < p[0].i; h++)
                sundog_rotate(&rotation, row + h * p[1].i, first, &angles);
        }
    }
}

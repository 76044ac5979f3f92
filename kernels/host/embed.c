/* embed: rows.h. */

#include "kernels/contract/layout.h"
#include "kernels/contract/rows.h"
#include "kernels/host/kernel.h"

#include <math.h>

void
SUNDOG_KERNEL(EMBED)(const SundogCall *call)
{
    const int32_t *tokens = call->arguments[0].data;
    const SundogArgument *table = &call->arguments[1], *x = &call->arguments[2];
    float scale = (float)call->parameters[0].f;
    int64_t n = x->shape[1];
    SundogRange range = sundog_split(call, x->shape[0]);
    for (int64_t t = range.begin; t < range.end; t++) {
        float *row = (float *)x->data + t * n;
        bool known = tokens[t] >= 0 && tokens[t] < table->shape[0];
        if (known)
            sundog_layout_dequantize_row(table->layout, table->data, tokens[t], n, row);
        for (int64_t k = 0; k < n && !known; k++)
            row[k] = NAN;
        for (int64_t k = 0; k < n && scale != 1.0f; k++)
            row[k] *= scale;
    }
}

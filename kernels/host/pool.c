/* pool: pool.h. Work is split by sequences and columns, since a sequence may stand alone in its step. */

#include "kernels/contract/pool.h"
#include "kernels/host/kernel.h"

#include <math.h>
#include <string.h>

/* Columns of one piece of work. */
#define WIDTH 64

typedef struct {
    const float *x;
    int64_t n_columns;
    int64_t begin; /* rows */
    int64_t end;
} Rows;

static void
average(const Rows *rows, int64_t first, int64_t n, float *y)
{
    float factor = 1.0f / (float)(rows->end - rows->begin);
    for (int64_t k = 0; k < n; k++)
        y[k] = 0;
    for (int64_t t = rows->begin; t < rows->end; t++)
        for (int64_t k = 0; k < n; k++)
            y[k] += rows->x[t * rows->n_columns + first + k];
    for (int64_t k = 0; k < n; k++)
        y[k] *= factor;
}

static void
pool(int64_t function, const Rows *rows, int64_t first, int64_t n, float *y)
{
    int64_t row = function == SUNDOG_POOL_FIRST ? rows->begin : rows->end - 1;
    if (function == SUNDOG_POOL_MEAN)
        average(rows, first, n, y);
    else
        memcpy(y, rows->x + row * rows->n_columns + first, (size_t)n * sizeof(float));
}

void
SUNDOG_KERNEL(POOL)(const SundogCall *call)
{
    const SundogArgument *x = &call->arguments[0], *y = &call->arguments[2];
    const int32_t *first_row = call->arguments[1].data;
    int64_t n = y->shape[1], n_pieces = sundog_ceil_div(n, WIDTH);
    SundogRange range = sundog_split(call, y->shape[0] * n_pieces);
    for (int64_t i = range.begin; i < range.end; i++) {
        int64_t s = i / n_pieces, first = i % n_pieces * WIDTH,
                width = sundog_min(WIDTH, n - first);
        Rows rows = {x->data, n, first_row[s], first_row[s + 1]};
        float *to = (float *)y->data + s * n + first;
        if (rows.begin >= 0 && rows.begin < rows.end && rows.end <= x->shape[0])
            pool(call->parameters[0].i, &rows, first, width, to);
        else
            for (int64_t k = 0; k < width; k++)
                to[k] = NAN;
    }
}

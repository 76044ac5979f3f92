/*
 * linear_gated_experts and linear_experts: experts.h. The work list is cut into equal numbers of
 * pieces, whatever experts they belong to; a set multiplies the pieces of one expert.
 */

#include "kernels/host/linear-experts.h"

#include "kernels/contract/layout.h"
#include "kernels/host/linear-tiles.h"

/* The rows of one expert as a matrix of their own; experts begin with a panel. */
static SundogArgument
find_rows(const SundogArgument *w, int64_t expert, int64_t n_rows)
{
    SundogArgument rows = *w;
    size_t n_bytes =
        (size_t)(n_rows / SUNDOG_PANEL_ROWS) * sundog_layout_panel_bytes(w->layout, w->shape[1]);
    rows.data = (uint8_t *)w->data + (size_t)expert * n_bytes;
    rows.shape[0] = n_rows;
    return rows;
}

static const float *
find_bias(const SundogArgument *bias, int64_t expert, int64_t n_rows)
{
    return bias->data != NULL ? (const float *)bias->data + expert * n_rows : NULL;
}

/* The arguments of a call by what they are; gate is NULL for linear_experts. */
typedef struct {
    const SundogArgument *gate;
    const SundogArgument *gate_bias;
    const SundogArgument *weight;
    const SundogArgument *bias;
    const SundogArgument *y;
    const SundogArgument *work;
    const SundogArgument *workspace;
} Arguments;

static void
multiply_expert(const SundogCall *call, const Arguments *arguments, const SundogExpertWork *work,
                SundogRange pieces)
{
    int64_t n_rows = arguments->y->shape[1];
    SundogArgument gate = {0}, weight = find_rows(arguments->weight, work->expert, n_rows);
    SundogExpertProduct product = {.a = &call->arguments[0],
                                   .y = arguments->y,
                                   .weight = &weight,
                                   .bias = find_bias(arguments->bias, work->expert, n_rows),
                                   .work = work,
                                   .workspace = arguments->workspace};
    if (arguments->gate != NULL) {
        gate = find_rows(arguments->gate, work->expert, n_rows);
        product.gate = &gate;
        product.function = call->parameters[1].i;
        product.gate_bias = find_bias(arguments->gate_bias, work->expert, n_rows);
    }
    SUNDOG_KERNEL(multiply_expert)(call, &product, pieces);
}

static void
multiply_all(const SundogCall *call, const Arguments *arguments)
{
    int64_t n_units = sundog_ceil_div(arguments->y->shape[1], SUNDOG_UNIT_ROWS);
    SundogRange all = sundog_split(call, sundog_work_count_tiles(arguments->work) * n_units);
    int64_t begin = 0;
    for (int64_t first = 0; begin < all.end;) {
        SundogExpertWork work = sundog_work_at(arguments->work, first);
        int64_t n_pieces = work.n_tiles * n_units;
        SundogRange pieces = {all.begin > begin ? all.begin - begin : 0,
                              sundog_min(all.end - begin, n_pieces)};
        if (pieces.begin < pieces.end && work.expert < call->parameters[0].i)
            multiply_expert(call, arguments, &work, pieces);
        first += work.n_tiles;
        begin += n_pieces;
    }
}

void
SUNDOG_KERNEL(LINEAR_GATED_EXPERTS)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    multiply_all(call, &(Arguments){.gate = &a[1],
                                    .weight = &a[2],
                                    .gate_bias = &a[3],
                                    .bias = &a[4],
                                    .work = &a[5],
                                    .y = &a[6],
                                    .workspace = &a[7]});
}

void
SUNDOG_KERNEL(LINEAR_EXPERTS)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    multiply_all(
        call, &(Arguments){
                  .weight = &a[1], .bias = &a[2], .work = &a[3], .y = &a[4], .workspace = &a[5]});
}

/* gather_experts: experts.h. */

#include "kernels/host/kernel.h"
#include "kernels/host/quantize.h"
#include "kernels/host/work-list.h"

#include <math.h>
#include <string.h>

typedef struct {
    const SundogArgument *x;
    const SundogArgument *y;
    SundogTileLayout tile;
    int64_t n_tokens;
    int64_t n_columns;
    int64_t n_used;
} Gather;

/* The token of a choice, -1 where x has none. */
static int64_t
token_of(const Gather *gather, int32_t choice)
{
    int64_t token = choice / gather->n_used;
    return choice >= 0 && token < gather->n_tokens ? token : -1;
}

static void
copy_floats(const Gather *gather, int64_t tile, const int32_t *entry)
{
    int64_t n = gather->n_columns;
    for (int64_t r = 0; r < entry[SUNDOG_WORK_ROWS]; r++) {
        int64_t token = token_of(gather, entry[SUNDOG_WORK_CHOICES + r]);
        float *to = (float *)gather->y->data + (tile * SUNDOG_TILE_TOKENS + r) * n;
        if (token >= 0)
            memcpy(to, (const float *)gather->x->data + token * n, (size_t)n * sizeof(float));
        for (int64_t k = 0; token < 0 && k < n; k++)
            to[k] = NAN;
    }
}

/* A row of NaN: scales of NaN over bytes of zero. */
static void
spoil_row(const Gather *gather, uint8_t *to, int64_t row)
{
    static const float infinite[SUNDOG_ACTIVATION_BLOCK] = {INFINITY};
    for (int64_t block = 0; block < gather->n_columns / SUNDOG_ACTIVATION_BLOCK; block++)
        sundog_quantize_block(infinite, to, &gather->tile, block, row);
}

/* The parts of one row: its words lie six apart. */
static void
copy_words(const uint8_t *from, int64_t row, uint8_t *to, int64_t to_row, int64_t n_words)
{
    const uint32_t *source = (const uint32_t *)from + row;
    uint32_t *target = (uint32_t *)to + to_row;
    for (int64_t i = 0; i < n_words; i++)
        target[i * SUNDOG_TILE_TOKENS] = source[i * SUNDOG_TILE_TOKENS];
}

/* Values, scales, both sums and the halves' sums follow one another, each in groups of six words. */
static void
copy_tile(const Gather *gather, int64_t tile, const int32_t *entry)
{
    int64_t n_words = (int64_t)gather->tile.tokens / 4 / SUNDOG_TILE_TOKENS;
    uint8_t *to = (uint8_t *)gather->y->data + (size_t)tile * gather->tile.n_bytes;
    memset(to, 0, gather->tile.n_bytes);
    for (int64_t r = 0; r < entry[SUNDOG_WORK_ROWS]; r++) {
        int64_t token = token_of(gather, entry[SUNDOG_WORK_CHOICES + r]);
        if (token < 0) {
            spoil_row(gather, to, r);
            continue;
        }
        const uint8_t *from = (const uint8_t *)gather->x->data +
                              (size_t)(token / SUNDOG_TILE_TOKENS) * gather->tile.n_bytes;
        copy_words(from, token % SUNDOG_TILE_TOKENS, to, r, n_words);
    }
    sundog_tile_set_tokens(to, &gather->tile, entry[SUNDOG_WORK_ROWS]);
}

void
SUNDOG_KERNEL(GATHER_EXPERTS)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    bool quantized = a[0].dtype == SUNDOG_DTYPE_A8;
    Gather gather = {.x = &a[0],
                     .y = &a[2],
                     .n_tokens = a[0].shape[0],
                     .n_columns = a[0].shape[1],
                     .n_used = call->parameters[0].i};
    if (quantized) {
        gather.tile = sundog_tile_layout(gather.n_columns);
        gather.n_tokens *= SUNDOG_TILE_TOKENS;
    }
    SundogRange tiles = sundog_split(call, sundog_work_count_tiles(&a[1]));
    for (int64_t tile = tiles.begin; tile < tiles.end; tile++) {
        const int32_t *entry = (const int32_t *)a[1].data + tile * SUNDOG_WORK_FIELDS;
        if (quantized)
            copy_tile(&gather, tile, entry);
        else
            copy_floats(&gather, tile, entry);
    }
}

/*
 * norm_quantize: rms-norm.h, then activation.h. Threads split tiles; where there is only one, they
 * split its blocks and each finds the norms by itself, which costs less than a barrier.
 */

#include "kernels/host/kernel.h"
#include "kernels/host/norm.h"
#include "kernels/host/quantize-tokens.h"

typedef struct {
    const float *x; /* first token of the tile */
    const float *weight;
    int64_t n;
    int64_t n_tokens;
    float epsilon;
    uint8_t *tile;
    SundogTileLayout layout;
} TileWork;

static void
norm_quantize_tile(const TileWork *work, SundogRange blocks)
{
    float factors[SUNDOG_TILE_TOKENS];
    for (int64_t token = 0; token < work->n_tokens; token++)
        factors[token] = sundog_norm_factor(work->x + token * work->n, work->n, work->epsilon);
    for (int64_t block = blocks.begin; block < blocks.end; block++) {
        float normed[SUNDOG_TILE_TOKENS][SUNDOG_ACTIVATION_BLOCK];
        const float *weight = work->weight + block * SUNDOG_ACTIVATION_BLOCK;
        for (int64_t token = 0; token < work->n_tokens; token++) {
            const float *x = work->x + token * work->n + block * SUNDOG_ACTIVATION_BLOCK;
            for (int i = 0; i < SUNDOG_ACTIVATION_BLOCK; i++)
                normed[token][i] = (x[i] * factors[token]) * weight[i];
        }
        sundog_quantize_tokens(normed[0], SUNDOG_ACTIVATION_BLOCK, work->n_tokens, work->tile,
                               &work->layout, block);
    }
    if (blocks.begin == 0 && blocks.end > 0)
        sundog_tile_set_tokens(work->tile, &work->layout, work->n_tokens);
}

void
SUNDOG_KERNEL(NORM_QUANTIZE)(const SundogCall *call)
{
    const SundogArgument *x = &call->arguments[0];
    int64_t n_tokens = x->shape[0], n = x->shape[1], blocks = n / SUNDOG_ACTIVATION_BLOCK;
    int64_t n_tiles = sundog_ceil_div(n_tokens, SUNDOG_TILE_TOKENS);
    bool one = n_tiles == 1;
    SundogRange tiles = one ? (SundogRange){0, 1} : sundog_split(call, n_tiles);
    TileWork work = {.weight = call->arguments[1].data,
                     .n = n,
                     .epsilon = (float)call->parameters[0].f,
                     .layout = sundog_tile_layout(n)};
    for (int64_t tile = tiles.begin; tile < tiles.end; tile++) {
        int64_t first = tile * SUNDOG_TILE_TOKENS;
        work.x = (const float *)x->data + first * n;
        work.n_tokens = sundog_min(SUNDOG_TILE_TOKENS, n_tokens - first);
        work.tile = (uint8_t *)call->arguments[2].data + (size_t)tile * work.layout.n_bytes;
        norm_quantize_tile(&work, one ? sundog_split(call, blocks) : (SundogRange){0, blocks});
    }
}

/* quantize: activation.h. Threads split blocks of columns within tiles, so that one token is shared. */

#include "kernels/host/kernel.h"
#include "kernels/host/quantize-tokens.h"

void
SUNDOG_KERNEL(QUANTIZE)(const SundogCall *call)
{
    const SundogArgument *x = &call->arguments[0];
    int64_t n_tokens = x->shape[0], n = x->shape[1], blocks = n / SUNDOG_ACTIVATION_BLOCK;
    SundogTileLayout layout = sundog_tile_layout(n);
    SundogRange range = sundog_split(call, sundog_ceil_div(n_tokens, SUNDOG_TILE_TOKENS) * blocks);
    for (int64_t i = range.begin; i < range.end; i++) {
        int64_t first = i / blocks * SUNDOG_TILE_TOKENS, block = i % blocks;
        int64_t here = sundog_min(SUNDOG_TILE_TOKENS, n_tokens - first);
        uint8_t *tile = (uint8_t *)call->arguments[1].data + (size_t)(i / blocks) * layout.n_bytes;
        const float *from = (const float *)x->data + first * n + block * SUNDOG_ACTIVATION_BLOCK;
        sundog_quantize_tokens(from, n, here, tile, &layout, block);
        if (block == 0)
            sundog_tile_set_tokens(tile, &layout, here);
    }
}

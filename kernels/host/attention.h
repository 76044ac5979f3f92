#pragma once

/*
 * What the versions of attention share on the host: how the workspace of a unit is laid out, which
 * heads of which tiles a thread works on, and where results go.
 */

#include "kernels/contract/attention.h"
#include "kernels/contract/math.h"
#include "kernels/host/half.h"
#include "kernels/host/kernel.h"
#include "kernels/host/quantize.h"

/* Pairs of a row and a head that are carried through the pages together. */
#define SUNDOG_ATTENTION_PAIRS 96

/* Where the parts of one unit's workspace begin, in floats. */
typedef struct {
    size_t queries; /* [pairs, C] scaled */
    size_t output;  /* [pairs, C] merged so far */
    size_t n_bytes;
} SundogAttentionWorkspace;

/* A call's arguments by name. */
typedef struct {
    const float *qkv;
    int64_t row_floats;
    int64_t n_rows;
    const int32_t *page_table;
    int64_t sequence_pages;
    const int32_t (*tiles)[4];
    int64_t n_tiles;
    const SundogArgument *output;
    float *workspace; /* this thread's */
    int64_t n_heads, n_kv_heads, heads_per_group, head_dim;
    float scale;
    int64_t window; /* positions a row sees, its own included; all where there is no window */
    int64_t chunk;  /* positions that see no others; 0 where there is no such limit */
    float softcap;  /* 0 where there is none */
    bool both_ways;
    const float *sinks; /* [n_heads] or NULL */
} SundogAttention;

/* A thread's share of the work, counted in rows times pages times heads, and how far tiles got. */
typedef struct {
    int64_t begin;
    int64_t end;
    int64_t done;
} SundogAttentionShare;

typedef struct {
    int64_t sequence;
    int64_t first_row;
    int64_t n_rows;
    int64_t position;  /* of the first row */
    int64_t length;    /* of the sequence: positions that any of its rows may see */
    SundogRange heads; /* this thread's */
} SundogAttentionTile;

static inline SundogAttentionWorkspace
sundog_attention_workspace(int64_t head_dim)
{
    size_t rows = (size_t)head_dim * SUNDOG_ATTENTION_PAIRS;
    SundogAttentionWorkspace workspace;
    workspace.queries = 0;
    workspace.output = rows;
    workspace.n_bytes = (2 * rows * sizeof(float) + 63) / 64 * 64;
    return workspace;
}

static inline SundogAttention
sundog_attention_from_call(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    SundogAttention at = {.qkv = a[0].data,
                          .row_floats = a[0].shape[1],
                          .n_rows = a[0].shape[0],
                          .page_table = a[2].data,
                          .sequence_pages = a[2].shape[1],
                          .tiles = a[3].data,
                          .output = &a[6],
                          .n_heads = call->parameters[0].i,
                          .n_kv_heads = call->parameters[1].i,
                          .head_dim = call->parameters[2].i,
                          .scale = (float)call->parameters[3].f,
                          .window = call->parameters[4].i > 0 ? call->parameters[4].i : INT32_MAX,
                          .chunk = call->parameters[6].i,
                          .softcap = (float)call->parameters[5].f,
                          .both_ways = call->parameters[7].i != 0,
                          .sinks = a[8].data};
    at.heads_per_group = at.n_heads / at.n_kv_heads;
    at.n_tiles = at.tiles[0][0];
    at.tiles++;
    at.workspace = (float *)((uint8_t *)a[7].data +
                             call->thread * sundog_attention_workspace_bytes(at.head_dim));
    return at;
}

/* Whether products with such pages go by pairs. */
static inline bool
sundog_pages_go_by_pairs(SundogDtype dtype)
{
    return dtype == SUNDOG_DTYPE_BF16 || dtype == SUNDOG_DTYPE_Q8;
}

/* The first position that a row at `position` sees. */
static inline int64_t
sundog_attention_begin(const SundogAttention *at, int64_t position)
{
    if (at->chunk > 0)
        return position - position % at->chunk;
    return position < at->window ? 0 : position + 1 - at->window;
}

/* The position past the last that a row at `position` sees, of a sequence of that length. */
static inline int64_t
sundog_attention_end(const SundogAttention *at, int64_t position, int64_t length)
{
    return at->both_ways ? sundog_min(length, position + at->window) : position + 1;
}

/* How long the sequence of tile t is: its tiles stand one after the other. */
static inline int64_t
sundog_attention_length(const SundogAttention *at, int64_t t)
{
    while (at->both_ways && t + 1 < at->n_tiles && at->tiles[t + 1][0] == at->tiles[t][0])
        t++;
    return at->tiles[t][3] + at->tiles[t][2];
}

/* Where the page of a position begins. */
static inline int64_t
sundog_page_begin(int64_t position)
{
    return position / SUNDOG_PAGE_TOKENS * SUNDOG_PAGE_TOKENS;
}

/* What one head of tile t costs. */
static inline int64_t
sundog_attention_tile_cost(const SundogAttention *at, int64_t t)
{
    const int32_t *tile = at->tiles[t];
    int64_t first = sundog_attention_begin(at, tile[3]) / SUNDOG_PAGE_TOKENS;
    int64_t end = sundog_attention_end(at, tile[3] + tile[2] - 1, sundog_attention_length(at, t));
    return tile[2] * ((end - 1) / SUNDOG_PAGE_TOKENS - first + 1);
}

static inline SundogAttentionShare
sundog_attention_share(const SundogCall *call, const SundogAttention *at)
{
    int64_t total = 0;
    for (int64_t t = 0; t < at->n_tiles; t++)
        total += sundog_attention_tile_cost(at, t) * at->n_heads;
    SundogRange range = sundog_split(call, total);
    return (SundogAttentionShare){range.begin, range.end, 0};
}

/* Tile t with the heads whose work begins within the share; call with t rising from 0. */
static inline SundogAttentionTile
sundog_attention_next_tile(const SundogAttention *at, SundogAttentionShare *share, int64_t t)
{
    const int32_t *tile = at->tiles[t];
    int64_t cost = sundog_attention_tile_cost(at, t), h = at->n_heads;
    int64_t begin = sundog_ceil_div(share->begin - share->done, cost);
    int64_t end = sundog_ceil_div(share->end - share->done, cost);
    share->done += cost * h;
    begin = begin < 0 ? 0 : sundog_min(begin, h);
    end = end < 0 ? 0 : sundog_min(end, h);
    return (SundogAttentionTile){.sequence = tile[0],
                                 .first_row = tile[1],
                                 .n_rows = tile[2],
                                 .position = tile[3],
                                 .length = sundog_attention_length(at, t),
                                 .heads = {begin, end}};
}

/* What a score becomes before anything else is done with it. */
static inline float
sundog_attention_cap(const SundogAttention *at, float score)
{
    return at->softcap > 0 ? at->softcap * sundog_tanh(score / at->softcap) : score;
}

static inline void
sundog_scale_floats(float *restrict values, float factor, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        values[i] *= factor;
}

/* Merges a head's sink into a result, [C], and gives the result the sum of its weights. */
static inline void
sundog_attention_finish(const SundogAttention *at, int64_t head, float greatest, float sum,
                        float *output)
{
    if (at->sinks != NULL) {
        float sink = at->sinks[head], merged = sink > greatest ? sink : greatest;
        float old = sundog_exp(greatest - merged);
        sum = fmaf(1.0f, sundog_exp(sink - merged), sum * old);
        sundog_scale_floats(output, old, at->head_dim);
    }
    sundog_scale_floats(output, 1.0f / sum, at->head_dim);
}

/* Writes one row and head of the result, [C]. The last row of the step also clears the tokens past it,
 * and head 0 says how many there are. */
static inline void
sundog_attention_store(const SundogAttention *at, int64_t row, int64_t head, const float *result)
{
    int64_t c = at->head_dim, n = at->n_heads * c;
    if (at->output->dtype == SUNDOG_DTYPE_BF16) {
        sundog_store_bf16((uint16_t *)at->output->data + row * n + head * c, result, c);
        return;
    }
    if (at->output->dtype != SUNDOG_DTYPE_A8) {
        memcpy((float *)at->output->data + row * n + head * c, result, (size_t)c * sizeof(float));
        return;
    }
    SundogTileLayout layout = sundog_tile_layout(n);
    int64_t token = row % SUNDOG_TILE_TOKENS;
    uint8_t *tile =
        (uint8_t *)at->output->data + (size_t)(row / SUNDOG_TILE_TOKENS) * layout.n_bytes;
    for (int64_t k = 0; k < c; k += SUNDOG_ACTIVATION_BLOCK) {
        int64_t block = (head * c + k) / SUNDOG_ACTIVATION_BLOCK;
        sundog_quantize_block(result + k, tile, &layout, block, token);
        if (row == at->n_rows - 1)
            sundog_quantize_nothing(tile, &layout, block, token + 1);
    }
    if (head == 0 && (row == at->n_rows - 1 || token == SUNDOG_TILE_TOKENS - 1))
        sundog_tile_set_tokens(tile, &layout, token + 1);
}

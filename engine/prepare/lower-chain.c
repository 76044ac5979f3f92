/* From the products between two attentions to one launch. */

#include "engine/prepare/lower-chain.h"

#include "kernels/contract/gate.h"
#include "kernels/contract/layout.h"

/* Stages of weights that are on their way at most, and their bytes: more gain nothing. While x is waited for, lines
 * would queue behind them, so there is one. */
#define IN_FLIGHT 3
#define IN_FLIGHT_BYTES (52 << 10)
#define WAITING 1

enum { LINEAR_X, LINEAR_W, LINEAR_BIAS, LINEAR_RESIDUAL, LINEAR_Y };
enum { NORM_X, NORM_WEIGHT, NORM_Y };
enum { GATED_X, GATED_GATE, GATED_UP, GATED_Y };
enum { QKV_X, QKV_W, QKV_BIAS = QKV_W + 3, QKV_Y = QKV_BIAS + 3 };

/* The operations, in their order; the last two may be missing. */
typedef struct {
    const SundogOperation *out, *norm, *gated, *down, *next_norm, *qkv;
    uint32_t first;
    SundogLayout layout;
} Chain;

static const SundogOperation *
get_operation(const SundogLowering *lowering, uint32_t index, SundogOperationKind kind)
{
    if (index >= sundog_program_get_n_operations(lowering->program))
        return NULL;
    const SundogOperation *operation = sundog_program_get_operation(lowering->program, index);
    return operation->kind == kind ? operation : NULL;
}

/* What one operation makes for the next alone. */
static bool
is_handed_on(const SundogLowering *lowering, uint32_t index, SundogBufferId made,
             SundogBufferId taken)
{
    return made == taken && lowering->lifetimes[made].last == index + 1;
}

static bool
is_float(const SundogLowering *lowering, SundogBufferId id)
{
    return sundog_lowering_get_buffer(lowering, id)->dtype == SUNDOG_DTYPE_F32;
}

/* Whole blocks of columns, and where results are handed on, whole groups of rows. */
static bool
suits_matrix(const SundogLowering *lowering, const Chain *chain, SundogBufferId w, bool hands_on)
{
    return sundog_lowering_get_buffer(lowering, w)->layout == chain->layout &&
           sundog_lowering_get_columns(lowering, w) % sundog_tile_block_columns(chain->layout) ==
               0 &&
           (!hands_on ||
            sundog_lowering_get_rows(lowering, w) % sundog_tile_block_columns(chain->layout) == 0);
}

static bool
suits_mlp(const SundogLowering *lowering, const Chain *chain)
{
    const SundogBufferId *out = chain->out->arguments, *norm = chain->norm->arguments;
    const SundogBufferId *gated = chain->gated->arguments, *down = chain->down->arguments;
    SundogBufferId x = out[LINEAR_Y];
    return out[LINEAR_RESIDUAL] == x && norm[NORM_X] == x && down[LINEAR_RESIDUAL] == x &&
           down[LINEAR_Y] == x && is_float(lowering, x) &&
           sundog_lowering_get_buffer(lowering, out[LINEAR_X])->dtype == SUNDOG_DTYPE_BF16 &&
           is_handed_on(lowering, chain->first + 1, norm[NORM_Y], gated[GATED_X]) &&
           is_handed_on(lowering, chain->first + 2, gated[GATED_Y], down[LINEAR_X]) &&
           chain->gated->parameters[0].i == SUNDOG_GATE_SILU &&
           suits_matrix(lowering, chain, out[LINEAR_W], true) &&
           suits_matrix(lowering, chain, gated[GATED_GATE], true) &&
           suits_matrix(lowering, chain, gated[GATED_UP], true) &&
           suits_matrix(lowering, chain, down[LINEAR_W], true);
}

static bool
suits_qkv(const SundogLowering *lowering, const Chain *chain)
{
    const SundogBufferId *norm = chain->next_norm->arguments, *qkv = chain->qkv->arguments;
    for (int i = 0; i < 3; i++)
        if (!suits_matrix(lowering, chain, qkv[QKV_W + i], false))
            return false;
    return norm[NORM_X] == chain->down->arguments[LINEAR_Y] && is_float(lowering, qkv[QKV_Y]) &&
           is_handed_on(lowering, chain->first + 4, norm[NORM_Y], qkv[QKV_X]);
}

static bool
find_chain(const SundogLowering *lowering, uint32_t index, Chain *chain)
{
    *chain = (Chain){.first = index,
                     .out = get_operation(lowering, index, SUNDOG_OP_LINEAR),
                     .norm = get_operation(lowering, index + 1, SUNDOG_OP_RMS_NORM),
                     .gated = get_operation(lowering, index + 2, SUNDOG_OP_LINEAR_GATED),
                     .down = get_operation(lowering, index + 3, SUNDOG_OP_LINEAR),
                     .next_norm = get_operation(lowering, index + 4, SUNDOG_OP_RMS_NORM),
                     .qkv = get_operation(lowering, index + 5, SUNDOG_OP_LINEAR_QKV)};
    if (chain->out == NULL || chain->norm == NULL || chain->gated == NULL || chain->down == NULL)
        return false;
    chain->layout = sundog_lowering_get_buffer(lowering, chain->out->arguments[LINEAR_W])->layout;
    if ((chain->layout != SUNDOG_LAYOUT_TILE16_Q8_0 &&
         chain->layout != SUNDOG_LAYOUT_TILE16_Q4_1) ||
        !suits_mlp(lowering, chain))
        return false;
    if (chain->next_norm == NULL || chain->qkv == NULL || !suits_qkv(lowering, chain))
        chain->qkv = NULL;
    return true;
}

static bool
is_for_one(const SundogLowering *lowering)
{
    return lowering->kind->max_tokens == 1;
}

static int64_t
count_slots(const SundogLowering *lowering, const Chain *chain)
{
    return SUNDOG_CUDA_CHAIN_SLOTS(sundog_tile_block_bytes(chain->layout), is_for_one(lowering));
}

static int64_t
count_stage_bytes(const SundogLowering *lowering, const Chain *chain)
{
    return count_slots(lowering, chain) * SUNDOG_CUDA_CHAIN_SLOT_BLOCKS *
           (int64_t)sundog_tile_block_bytes(chain->layout);
}

static int64_t
count_in_flight(const SundogLowering *lowering, const Chain *chain, int64_t n_stages)
{
    return MIN(MIN(n_stages, IN_FLIGHT), IN_FLIGHT_BYTES / count_stage_bytes(lowering, chain));
}

/* Shared memory as chain.cu lays it out. */
static int64_t
count_bytes(const SundogLowering *lowering, const Chain *chain, int64_t n_stages)
{
    const SundogBufferId w[] = {chain->out->arguments[LINEAR_W],
                                chain->gated->arguments[GATED_GATE],
                                chain->down->arguments[LINEAR_W]};
    int64_t most = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(w); i++)
        most = MAX(most, sundog_lowering_get_columns(lowering, w[i]));
    return n_stages * count_stage_bytes(lowering, chain) + SUNDOG_CUDA_CHAIN_HEAD_BYTES +
           lowering->kind->max_tokens * SUNDOG_CUDA_CHAIN_TOKEN_BYTES(most);
}

/* As many stages as fit the multiprocessor, a whole number for each team; 0 where even these are too many. */
static int64_t
count_stages(const SundogLowering *lowering, const Chain *chain)
{
    int64_t n_teams = SUNDOG_CUDA_CHAIN_WARPS / count_slots(lowering, chain);
    int64_t n = SUNDOG_CUDA_CHAIN_MAX_STAGES / n_teams * n_teams;
    while (n > 0 && count_bytes(lowering, chain, n) > SUNDOG_CUDA_MAX_SHARED_BYTES)
        n -= n_teams;
    return n;
}

/* Bytes among the lines of all tokens' results. */
static int64_t
count_lines(const SundogLowering *lowering, SundogBufferId w)
{
    return sundog_lowering_get_rows(lowering, w) / SUNDOG_CUDA_CHAIN_GROUP *
           SUNDOG_CUDA_LINES_GROUP_BYTES * lowering->kind->max_tokens;
}

static SundogCudaLink *
begin_link(SundogLowering *lowering, SundogDraft *draft, SundogCudaLinkKind kind,
           const SundogBufferId *w, const SundogBufferId *bias, int n)
{
    SundogCudaChain *to = &draft->parameters.chain;
    SundogCudaLink *link = &to->links[to->n_links];
    size_t base = offsetof(SundogCudaChain, links) + (size_t)to->n_links++ * sizeof *link;
    *link = (SundogCudaLink){
        .kind = kind, .n_columns = (int32_t)sundog_lowering_get_columns(lowering, w[0]), .to = -1};
    for (int i = 0; i < n; i++) {
        size_t step = base + (size_t)i * sizeof(void *);
        link->n_rows[i] = (int32_t)sundog_lowering_get_rows(lowering, w[i]);
        sundog_draft_add_buffer(lowering, draft, step + offsetof(SundogCudaLink, w), w[i],
                                SUNDOG_ACCESS_READ);
        if (bias != NULL)
            sundog_draft_add_buffer(lowering, draft, step + offsetof(SundogCudaLink, bias), bias[i],
                                    SUNDOG_ACCESS_READ);
    }
    return link;
}

/* Where the last link of a draft has a field. */
static size_t
find_field(const SundogDraft *draft, size_t at)
{
    return offsetof(SundogCudaChain, links) +
           (size_t)(draft->parameters.chain.n_links - 1) * sizeof(SundogCudaLink) + at;
}

/* A product that is added to x, whose sum goes through the norm after it where there is one. */
static SundogCudaLink *
add_residual_link(SundogLowering *lowering, SundogDraft *draft, const SundogOperation *operation,
                  const SundogOperation *norm)
{
    const SundogBufferId *a = operation->arguments;
    SundogCudaLink *link =
        begin_link(lowering, draft, SUNDOG_CUDA_LINK_ADD, &a[LINEAR_W], &a[LINEAR_BIAS], 1);
    sundog_draft_add_buffer(lowering, draft, find_field(draft, offsetof(SundogCudaLink, residual)),
                            a[LINEAR_RESIDUAL], SUNDOG_ACCESS_UPDATE);
    sundog_draft_add_buffer(lowering, draft, find_field(draft, offsetof(SundogCudaLink, y)),
                            a[LINEAR_Y], SUNDOG_ACCESS_UPDATE);
    if (norm != NULL)
        sundog_draft_add_buffer(lowering, draft,
                                find_field(draft, offsetof(SundogCudaLink, norm_weight)),
                                norm->arguments[NORM_WEIGHT], SUNDOG_ACCESS_READ);
    return link;
}

static void
set_normed(SundogCudaLink *link, const SundogOperation *norm)
{
    link->is_normed = 1;
    link->epsilon = (float)norm->parameters[0].f;
}

/* The links; each finds its x where the one before leaves it. */
static void
add_links(SundogLowering *lowering, SundogDraft *draft, const Chain *chain)
{
    const SundogBufferId *gate = &chain->gated->arguments[GATED_GATE];
    const SundogOperation *next = chain->qkv != NULL ? chain->next_norm : NULL;
    SundogCudaLink *out = add_residual_link(lowering, draft, chain->out, chain->norm);
    SundogCudaLink *gated = begin_link(lowering, draft, SUNDOG_CUDA_LINK_GATE, gate, NULL, 2);
    SundogCudaLink *down = add_residual_link(lowering, draft, chain->down, next);
    out->to = 0;
    gated->from = out->to;
    gated->to = (int32_t)count_lines(lowering, chain->out->arguments[LINEAR_W]);
    down->from = gated->to;
    set_normed(gated, chain->norm);
    if (next == NULL)
        return;
    const SundogBufferId *a = chain->qkv->arguments;
    SundogCudaLink *qkv =
        begin_link(lowering, draft, SUNDOG_CUDA_LINK_STORE, &a[QKV_W], &a[QKV_BIAS], 3);
    sundog_draft_add_buffer(lowering, draft, find_field(draft, offsetof(SundogCudaLink, y)),
                            a[QKV_Y], SUNDOG_ACCESS_WRITE);
    down->to = gated->to + (int32_t)count_lines(lowering, gate[0]);
    qkv->from = down->to;
    set_normed(qkv, chain->next_norm);
}

static bool
suits_lowering(const SundogLowering *lowering)
{
    return lowering->rounds && lowering->waits && !lowering->kind->is_alike &&
           lowering->kind->max_tokens <= SUNDOG_CUDA_CHAIN_MAX_TOKENS;
}

static bool
fits_lines(const SundogLowering *lowering, const Chain *chain)
{
    return 2 * count_lines(lowering, chain->out->arguments[LINEAR_W]) +
               count_lines(lowering, chain->gated->arguments[GATED_GATE]) <=
           SUNDOG_CUDA_LINES_BYTES;
}

/* Attention that reads its pages early was begun by a product that had waited for all before it. */
static bool
comes_after_attention(const SundogLowering *lowering, uint32_t index)
{
    enum { FROM_QKV = 3 };
    return index >= FROM_QKV && sundog_lowering_attends_next(lowering, index - FROM_QKV);
}

uint32_t
sundog_lower_chain(SundogLowering *lowering, uint32_t index)
{
    Chain chain;
    SundogDraft draft;
    if (!suits_lowering(lowering) || !find_chain(lowering, index, &chain) ||
        !fits_lines(lowering, &chain) || count_stages(lowering, &chain) == 0)
        return 0;
    uint32_t n = chain.qkv != NULL ? 6 : 4;
    bool is_one = is_for_one(lowering);
    sundog_draft_begin(lowering, &draft, index, n, "chain", sizeof(SundogCudaChain));
    int64_t n_stages = count_stages(lowering, &chain);
    int64_t n_bytes = count_bytes(lowering, &chain, n_stages);
    draft.parameters.chain = (SundogCudaChain){
        .n_stages = (int32_t)n_stages,
        .n_in_flight = (int32_t)count_in_flight(lowering, &chain, n_stages),
        .n_waiting = WAITING,
        .index = (int32_t)index,
        .n_chains = (int32_t)sundog_program_get_n_operations(lowering->program),
        .is_counted = comes_after_attention(lowering, index),
        .starts_late = chain.qkv != NULL && sundog_lowering_attends_next(lowering, index + 5)};
    SUNDOG_DRAFT_READ(SundogCudaChain, x, chain.out->arguments[LINEAR_X]);
    sundog_draft_add_field(lowering, &draft, SUNDOG_FIELD_STEP, offsetof(SundogCudaChain, step));
    add_links(lowering, &draft, &chain);
    SUNDOG_DRAFT_VALUE(
        SundogCudaChain, n_tokens,
        sundog_lowering_get_buffer(lowering, chain.out->arguments[LINEAR_Y])->shape[0]);
    draft.launch.grid[0] = sundog_lowering_variable(lowering, SUNDOG_VARIABLE_MULTIPROCESSORS);
    draft.launch.n_threads = SUNDOG_CUDA_CHAIN_THREADS(is_one);
    /* Less than half would let three blocks share a multiprocessor. */
    draft.launch.n_shared_bytes = (uint32_t)MAX(n_bytes, SUNDOG_CUDA_HALF_SHARED_BYTES);
    g_autofree char *entry =
        g_strdup_printf("sundog_chain_%s_%s",
                        sundog_lowering_get_layout_suffix(lowering, chain.out->arguments[LINEAR_W]),
                        is_one ? "one" : "few");
    sundog_draft_finish(lowering, &draft, entry);
    return n;
}

/* Grouped-query attention (Ainslie et al. 2023) with rotary embedding over the paged cache. */

#include "engine/recipe/components.h"
#include "engine/recipe/windows.h"
#include "kernels/contract/paged-cache.h"

/* One of the three projections, with its bias where the model has one. */
static SundogBufferId
project(SundogBuilder *builder, SundogBufferId x, SundogTensorRole role, SundogTensorRole bias,
        const char *name, uint32_t n_heads)
{
    return sundog_component_biased_linear(
        builder, x, role, bias, name, (int64_t)n_heads * sundog_builder_layer(builder)->head_dim);
}

/* A row of queries or keys, all heads together. */
static SundogBufferId
norm_row(SundogBuilder *builder, SundogBufferId x, SundogTensorRole role, const char *name,
         uint32_t n_heads)
{
    const SundogParameter epsilon = {.f = builder->dimensions->norm_epsilon};
    SundogBufferId y = sundog_builder_temporary(
        builder, name, (int64_t)n_heads * sundog_builder_layer(builder)->head_dim);
    sundog_builder_emit_with(builder, SUNDOG_OP_RMS_NORM, &epsilon, x,
                             sundog_builder_weight(builder, role), y);
    return y;
}

/* Queries alone, or each head's with its gate behind it, cut apart. */
static SundogBufferId
project_queries(SundogBuilder *builder, SundogBufferId x, SundogBufferId *gate)
{
    const SundogModelDimensions *dimensions = builder->dimensions;
    uint32_t n_heads = dimensions->n_heads, size = dimensions->head_dim;
    *gate = SUNDOG_BUFFER_NONE;
    if (!dimensions->gates_attention)
        return project(builder, x, SUNDOG_TENSOR_ATTENTION_Q, SUNDOG_TENSOR_ATTENTION_Q_BIAS,
                       "attention.q", n_heads);
    SundogBufferId both = project(builder, x, SUNDOG_TENSOR_ATTENTION_Q,
                                  SUNDOG_TENSOR_ATTENTION_Q_BIAS, "attention.q.both", 2 * n_heads);
    *gate = sundog_component_take(builder, both, "attention.gate", 2 * size, size, size, n_heads);
    return sundog_component_take(builder, both, "attention.q", 2 * size, 0, size, n_heads);
}

/* Heads that stand alone, in place. */
static void
rotate(SundogBuilder *builder, SundogBufferId x, uint32_t n_heads)
{
    const SundogBuilderRope *rope = sundog_builder_rope(builder);
    if (rope == NULL)
        return;
    const SundogParameter parameters[] = {{.i = n_heads},
                                          {.i = sundog_builder_layer(builder)->head_dim},
                                          {.i = rope->rope->n_dims},
                                          {.i = rope->rope->interleaved},
                                          {.f = rope->magnitude}};
    sundog_builder_emit_with(builder, SUNDOG_OP_ROPE, parameters, x, builder->positions,
                             rope->inverse_frequencies);
}

static SundogBufferId
add_qkv(SundogBuilder *builder, SundogBufferId x, SundogQkNorm norm, SundogBufferId *gate)
{
    const SundogLayer *layer = sundog_builder_layer(builder);
    uint32_t n_heads = builder->dimensions->n_heads;
    uint32_t n_kv_heads = layer->n_kv_heads;
    SundogBufferId q = project_queries(builder, x, gate);
    SundogBufferId k = project(builder, x, SUNDOG_TENSOR_ATTENTION_K,
                               SUNDOG_TENSOR_ATTENTION_K_BIAS, "attention.k", n_kv_heads);
    /* Keys before their norm are values too where a model of normed values has none of its own. */
    bool is_shared =
        norm == SUNDOG_QK_NORM_HEADS_AND_VALUES &&
        sundog_model_get_tensor(builder->model, SUNDOG_TENSOR_ATTENTION_V, builder->layer) == NULL;
    SundogBufferId v = is_shared
                           ? k
                           : project(builder, x, SUNDOG_TENSOR_ATTENTION_V,
                                     SUNDOG_TENSOR_ATTENTION_V_BIAS, "attention.v", n_kv_heads);
    if (norm == SUNDOG_QK_NORM_ROWS) {
        q = norm_row(builder, q, SUNDOG_TENSOR_ATTENTION_Q_NORM, "attention.q.norm", n_heads);
        k = norm_row(builder, k, SUNDOG_TENSOR_ATTENTION_K_NORM, "attention.k.norm", n_kv_heads);
    }
    if (norm == SUNDOG_QK_NORM_AFTER_ROPE) {
        rotate(builder, q, n_heads);
        rotate(builder, k, n_kv_heads);
    }
    SundogBufferId qkv = sundog_builder_temporary(
        builder, "attention.qkv", (int64_t)(n_heads + 2 * n_kv_heads) * layer->head_dim);
    sundog_builder_emit(builder, SUNDOG_OP_JOIN, q, k, v, qkv);
    return qkv;
}

static bool
keeps_pages(const SundogBuilder *builder)
{
    return builder->dimensions->pooled.purpose == SUNDOG_PURPOSE_GENERATE;
}

/* Pages of one step: what is not a text that goes on is kept no longer than its layer needs it. */
static SundogBufferId
add_step_pages(SundogBuilder *builder, const char *kind, bool transposed)
{
    SundogExpressionPool *pool = sundog_program_edit_expressions(builder->program);
    const SundogLayer *layer = sundog_builder_layer(builder);
    SundogExpression page = sundog_builder_constant(builder, SUNDOG_PAGE_TOKENS);
    SundogExpression head = sundog_builder_constant(builder, layer->head_dim);
    SundogExpression n = sundog_expression_binary(
        pool, SUNDOG_EXPRESSION_ADD,
        sundog_expression_binary(pool, SUNDOG_EXPRESSION_CEIL_DIV, builder->n_rows, page),
        sundog_builder_variable(builder, SUNDOG_VARIABLE_SEQUENCES));
    n = sundog_expression_binary(pool, SUNDOG_EXPRESSION_ADD, n,
                                 sundog_builder_constant(builder, 1));
    g_autofree char *name = g_strdup_printf("%u.attention.%s_pages", builder->layer, kind);
    const SundogExpression shape[] = {n, sundog_builder_constant(builder, layer->n_kv_heads),
                                      transposed ? head : page, transposed ? page : head};
    return sundog_builder_buffer(builder, name, SUNDOG_BUFFER_TEMPORARY, SUNDOG_DTYPE_F32, 4,
                                 shape);
}

/* The layer's own table of pages, or the one of windows. */
static SundogBufferId
find_table(const SundogBuilder *builder)
{
    bool is_windowed =
        builder->window_table != SUNDOG_BUFFER_NONE &&
        sundog_windows_find_span(builder->dimensions, sundog_builder_layer(builder)->kv_layer) > 0;
    return is_windowed ? builder->window_table : builder->page_table;
}

/* The pages of the layer that this one attends to: keys transposed, as paged-cache.h says. */
static SundogBufferId
find_pages(SundogBuilder *builder, const char *kind, bool transposed)
{
    const SundogLayer *layer = sundog_builder_layer(builder);
    uint32_t index = layer->kv_layer == builder->layer ? builder->n_caches : layer->kv_layer;
    g_autofree char *name = g_strdup_printf("cache.%u.%s", index, kind);
    SundogExpression page = sundog_builder_constant(builder, SUNDOG_PAGE_TOKENS);
    SundogExpression head = sundog_builder_constant(builder, layer->head_dim);
    SundogVariable n_pages = find_table(builder) == builder->page_table
                                 ? SUNDOG_VARIABLE_POOL_PAGES
                                 : SUNDOG_VARIABLE_WINDOW_PAGES;
    const SundogExpression shape[] = {sundog_builder_variable(builder, n_pages),
                                      sundog_builder_constant(builder, layer->n_kv_heads),
                                      transposed ? head : page, transposed ? page : head};
    SundogBufferId known = sundog_program_find_buffer(builder->program, name);
    return known != SUNDOG_BUFFER_NONE
               ? known
               : sundog_builder_buffer(builder, name, SUNDOG_BUFFER_STATE,
                                       builder->options->cache_dtype, 4, shape);
}

/* Weights of 1, for heads that are normed without weights of their own. */
static SundogBufferId
add_ones(SundogBuilder *builder, uint32_t n)
{
    g_autofree char *name = g_strdup_printf("ones.%u", n);
    SundogBufferId known = sundog_program_find_buffer(builder->program, name);
    if (known != SUNDOG_BUFFER_NONE)
        return known;
    float *ones = g_new(float, n);
    for (uint32_t i = 0; i < n; i++)
        ones[i] = 1;
    return sundog_builder_row(builder, name, ones, n);
}

static void
emit_head_norms(SundogBuilder *builder, SundogBufferId qkv, SundogQkNorm norm)
{
    const SundogLayer *layer = sundog_builder_layer(builder);
    const SundogParameter parameters[] = {{.i = builder->dimensions->n_heads},
                                          {.i = layer->n_kv_heads},
                                          {.i = layer->head_dim},
                                          {.f = builder->dimensions->norm_epsilon}};
    if (norm == SUNDOG_QK_NORM_ROTATED) {
        SundogBufferId ones = add_ones(builder, layer->head_dim);
        if (layer->rope != NULL)
            sundog_builder_emit_with(builder, SUNDOG_OP_HEAD_NORM, parameters, qkv, ones, ones,
                                     SUNDOG_BUFFER_NONE);
        return;
    }
    SundogBufferId q = sundog_builder_weight(builder, SUNDOG_TENSOR_ATTENTION_Q_NORM);
    SundogBufferId k = sundog_builder_weight(builder, SUNDOG_TENSOR_ATTENTION_K_NORM);
    SundogBufferId v = norm == SUNDOG_QK_NORM_HEADS_AND_VALUES ? add_ones(builder, layer->head_dim)
                                                               : SUNDOG_BUFFER_NONE;
    sundog_builder_emit_with(builder, SUNDOG_OP_HEAD_NORM, parameters, qkv, q, k, v);
}

/* Caches keys and values, and rotates queries and keys unless that has been done. */
static void
emit_rope(SundogBuilder *builder, SundogBufferId qkv, bool is_rotated, SundogBufferId k_pages,
          SundogBufferId v_pages)
{
    const SundogLayer *layer = sundog_builder_layer(builder);
    const SundogBuilderRope *rope = is_rotated ? NULL : sundog_builder_rope(builder);
    const SundogParameter parameters[] = {{.i = builder->dimensions->n_heads},
                                          {.i = layer->n_kv_heads},
                                          {.i = layer->head_dim},
                                          {.i = rope != NULL ? rope->rope->n_dims : 0},
                                          {.i = rope != NULL && rope->rope->interleaved},
                                          {.f = rope != NULL ? rope->magnitude : 1}};
    sundog_builder_emit_with(
        builder, keeps_pages(builder) ? SUNDOG_OP_ROPE_CACHE : SUNDOG_OP_ROPE_PAGES, parameters,
        qkv, builder->positions, builder->token_sequence, find_table(builder),
        rope != NULL ? rope->inverse_frequencies : SUNDOG_BUFFER_NONE, k_pages, v_pages);
}

static void
emit_query_scales(SundogBuilder *builder, SundogBufferId qkv)
{
    const SundogModelDimensions *dimensions = builder->dimensions;
    const SundogParameter parameters[] = {{.i = dimensions->n_heads},
                                          {.i = sundog_builder_layer(builder)->n_kv_heads},
                                          {.i = sundog_builder_layer(builder)->head_dim},
                                          {.i = dimensions->query_scale_period},
                                          {.i = dimensions->query_scale_offset}};
    bool is_scaled = !dimensions->scales_unrotated || sundog_builder_layer(builder)->rope == NULL;
    if (builder->query_scales != SUNDOG_BUFFER_NONE && is_scaled)
        sundog_builder_emit_with(builder, SUNDOG_OP_SCALE_QUERIES, parameters, qkv,
                                 builder->positions, builder->query_scales);
}

static SundogBufferId
emit_attention(SundogBuilder *builder, SundogBufferId qkv, SundogBufferId k_pages,
               SundogBufferId v_pages)
{
    const SundogLayer *layer = sundog_builder_layer(builder);
    const SundogModelDimensions *dimensions = builder->dimensions;
    const SundogParameter parameters[] = {
        {.i = dimensions->n_heads}, {.i = layer->n_kv_heads},
        {.i = layer->head_dim},     {.f = dimensions->attention_scale},
        {.i = layer->window},       {.f = dimensions->attention_softcap},
        {.i = layer->chunk},        {.i = dimensions->is_bidirectional}};
    SundogBufferId o = sundog_builder_temporary(builder, "attention.o",
                                                (int64_t)dimensions->n_heads * layer->head_dim);
    sundog_builder_emit_with(
        builder, SUNDOG_OP_ATTENTION, parameters, qkv, builder->positions, find_table(builder),
        builder->attention_tiles, k_pages, v_pages, o, builder->workspace,
        sundog_builder_optional_weight(builder, SUNDOG_TENSOR_ATTENTION_SINKS));
    return o;
}

static SundogBufferId
attend(SundogBuilder *builder, SundogBufferId qkv, bool is_rotated)
{
    bool keeps = keeps_pages(builder);
    SundogBufferId k_pages = (keeps ? find_pages : add_step_pages)(builder, "k", true);
    SundogBufferId v_pages = (keeps ? find_pages : add_step_pages)(builder, "v", false);
    builder->n_caches += keeps;
    emit_rope(builder, qkv, is_rotated, k_pages, v_pages);
    emit_query_scales(builder, qkv);
    return emit_attention(builder, qkv, k_pages, v_pages);
}

SundogBufferId
sundog_component_attend(SundogBuilder *builder, SundogBufferId qkv)
{
    return attend(builder, qkv, false);
}

static SundogBufferId
emit_gate(SundogBuilder *builder, SundogBufferId gate, SundogBufferId o)
{
    const SundogModelDimensions *dimensions = builder->dimensions;
    SundogBufferId y = sundog_builder_temporary(
        builder, "attention.gated", (int64_t)dimensions->n_heads * dimensions->head_dim);
    sundog_builder_emit(builder, SUNDOG_OP_SIGMOID_MUL, gate, o, y);
    return y;
}

/* Queries of a layer that attends to what another one has cached. */
static SundogBufferId
attend_elsewhere(SundogBuilder *builder, SundogBufferId x)
{
    const SundogLayer *layer = sundog_builder_layer(builder);
    uint32_t n_heads = builder->dimensions->n_heads;
    const SundogParameter norm[] = {
        {.i = n_heads}, {.i = 0}, {.i = layer->head_dim}, {.f = builder->dimensions->norm_epsilon}};
    /* Training left projections behind in such layers. */
    sundog_builder_ignore(builder, SUNDOG_TENSOR_ATTENTION_K);
    sundog_builder_ignore(builder, SUNDOG_TENSOR_ATTENTION_V);
    sundog_builder_ignore(builder, SUNDOG_TENSOR_ATTENTION_K_NORM);
    SundogBufferId q = project(builder, x, SUNDOG_TENSOR_ATTENTION_Q,
                               SUNDOG_TENSOR_ATTENTION_Q_BIAS, "attention.q", n_heads);
    sundog_builder_emit_with(builder, SUNDOG_OP_HEAD_NORM, norm, q,
                             sundog_builder_weight(builder, SUNDOG_TENSOR_ATTENTION_Q_NORM),
                             SUNDOG_BUFFER_NONE, SUNDOG_BUFFER_NONE);
    rotate(builder, q, n_heads);
    return emit_attention(builder, q, find_pages(builder, "k", true),
                          find_pages(builder, "v", false));
}

static SundogBufferId
attend_here(SundogBuilder *builder, SundogBufferId x, SundogQkNorm norm)
{
    SundogBufferId gate;
    SundogBufferId qkv = add_qkv(builder, x, norm, &gate);
    if (norm != SUNDOG_QK_NORM_NONE && norm != SUNDOG_QK_NORM_ROWS)
        emit_head_norms(builder, qkv, norm);
    if (norm == SUNDOG_QK_NORM_NONE)
        qkv = sundog_component_even_keys(builder, qkv);
    SundogBufferId o = attend(builder, qkv, norm == SUNDOG_QK_NORM_AFTER_ROPE);
    return gate != SUNDOG_BUFFER_NONE ? emit_gate(builder, gate, o) : o;
}

SundogBufferId
sundog_component_attention(SundogBuilder *builder, SundogBufferId x, SundogQkNorm norm)
{
    bool is_here = sundog_builder_layer(builder)->kv_layer == builder->layer;
    SundogBufferId o = is_here ? attend_here(builder, x, norm) : attend_elsewhere(builder, x);
    SundogBufferId out =
        sundog_builder_temporary(builder, "attention.out", builder->dimensions->hidden_size);
    sundog_builder_emit(
        builder, SUNDOG_OP_LINEAR, o,
        sundog_builder_weight(builder, SUNDOG_TENSOR_ATTENTION_OUTPUT),
        sundog_builder_optional_weight(builder, SUNDOG_TENSOR_ATTENTION_OUTPUT_BIAS),
        SUNDOG_BUFFER_NONE, out, builder->workspace);
    return out;
}

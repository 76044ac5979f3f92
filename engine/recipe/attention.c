/* Grouped-query attention (Ainslie et al. 2023) with rotary embedding over the paged cache. */

#include "engine/recipe/components.h"
#include "kernels/contract/paged-cache.h"

/* One of the three projections, with its bias where the model has one. */
static SundogBufferId
project(SundogBuilder *builder, SundogBufferId x, SundogTensorRole role, SundogTensorRole bias,
        const char *name, uint32_t n_heads)
{
    SundogBufferId y =
        sundog_builder_temporary(builder, name, (int64_t)n_heads * builder->dimensions->head_dim);
    SundogBufferId weight = sundog_builder_weight(builder, role);
    SundogBufferId added = sundog_builder_optional_weight(builder, bias);
    sundog_builder_emit(builder, SUNDOG_OP_LINEAR, x, weight, added, SUNDOG_BUFFER_NONE, y,
                        builder->workspace);
    return y;
}

/* A row of queries or keys, all heads together. */
static SundogBufferId
norm_row(SundogBuilder *builder, SundogBufferId x, SundogTensorRole role, const char *name,
         uint32_t n_heads)
{
    const SundogParameter epsilon = {.f = builder->dimensions->norm_epsilon};
    SundogBufferId y =
        sundog_builder_temporary(builder, name, (int64_t)n_heads * builder->dimensions->head_dim);
    sundog_builder_emit_with(builder, SUNDOG_OP_RMS_NORM, &epsilon, x,
                             sundog_builder_weight(builder, role), y);
    return y;
}

static SundogBufferId
add_qkv(SundogBuilder *builder, SundogBufferId x, SundogQkNorm norm)
{
    const SundogModelDimensions *dimensions = builder->dimensions;
    uint32_t n_heads = dimensions->n_heads;
    uint32_t n_kv_heads = dimensions->n_kv_heads;
    SundogBufferId q = project(builder, x, SUNDOG_TENSOR_ATTENTION_Q,
                               SUNDOG_TENSOR_ATTENTION_Q_BIAS, "attention.q", n_heads);
    SundogBufferId k = project(builder, x, SUNDOG_TENSOR_ATTENTION_K,
                               SUNDOG_TENSOR_ATTENTION_K_BIAS, "attention.k", n_kv_heads);
    SundogBufferId v = project(builder, x, SUNDOG_TENSOR_ATTENTION_V,
                               SUNDOG_TENSOR_ATTENTION_V_BIAS, "attention.v", n_kv_heads);
    if (norm == SUNDOG_QK_NORM_ROWS) {
        q = norm_row(builder, q, SUNDOG_TENSOR_ATTENTION_Q_NORM, "attention.q.norm", n_heads);
        k = norm_row(builder, k, SUNDOG_TENSOR_ATTENTION_K_NORM, "attention.k.norm", n_kv_heads);
    }
    SundogBufferId qkv = sundog_builder_temporary(
        builder, "attention.qkv", (int64_t)(n_heads + 2 * n_kv_heads) * dimensions->head_dim);
    sundog_builder_emit(builder, SUNDOG_OP_JOIN, q, k, v, qkv);
    return qkv;
}

/* The pages of this layer: keys transposed, as paged-cache.h says. */
static SundogBufferId
add_pages(SundogBuilder *builder, const char *kind, bool transposed)
{
    g_autofree char *name = g_strdup_printf("cache.%u.%s", builder->n_caches, kind);
    SundogExpression page = sundog_builder_constant(builder, SUNDOG_PAGE_TOKENS);
    SundogExpression head = sundog_builder_constant(builder, builder->dimensions->head_dim);
    const SundogExpression shape[] = {
        sundog_builder_variable(builder, SUNDOG_VARIABLE_POOL_PAGES),
        sundog_builder_constant(builder, builder->dimensions->n_kv_heads), transposed ? head : page,
        transposed ? page : head};
    return sundog_builder_buffer(builder, name, SUNDOG_BUFFER_STATE, builder->options->cache_dtype,
                                 4, shape);
}

static void
emit_head_norms(SundogBuilder *builder, SundogBufferId qkv)
{
    const SundogModelDimensions *dimensions = builder->dimensions;
    const SundogParameter parameters[] = {{.i = dimensions->n_heads},
                                          {.i = dimensions->n_kv_heads},
                                          {.i = dimensions->head_dim},
                                          {.f = dimensions->norm_epsilon}};
    SundogBufferId q = sundog_builder_weight(builder, SUNDOG_TENSOR_ATTENTION_Q_NORM);
    SundogBufferId k = sundog_builder_weight(builder, SUNDOG_TENSOR_ATTENTION_K_NORM);
    sundog_builder_emit_with(builder, SUNDOG_OP_HEAD_NORM, parameters, qkv, q, k,
                             SUNDOG_BUFFER_NONE);
}

static void
emit_rope(SundogBuilder *builder, SundogBufferId qkv, SundogBufferId k_pages,
          SundogBufferId v_pages)
{
    const SundogModelDimensions *dimensions = builder->dimensions;
    const SundogBuilderRope *rope = sundog_builder_rope(builder);
    const SundogParameter parameters[] = {{.i = dimensions->n_heads},
                                          {.i = dimensions->n_kv_heads},
                                          {.i = dimensions->head_dim},
                                          {.i = rope != NULL ? rope->rope->n_dims : 0},
                                          {.i = rope != NULL && rope->rope->interleaved},
                                          {.f = rope != NULL ? rope->magnitude : 1}};
    sundog_builder_emit_with(builder, SUNDOG_OP_ROPE_CACHE, parameters, qkv, builder->positions,
                             builder->token_sequence, builder->page_table,
                             rope != NULL ? rope->inverse_frequencies : SUNDOG_BUFFER_NONE, k_pages,
                             v_pages);
}

static void
emit_query_scales(SundogBuilder *builder, SundogBufferId qkv)
{
    const SundogModelDimensions *dimensions = builder->dimensions;
    const SundogParameter parameters[] = {{.i = dimensions->n_heads},
                                          {.i = dimensions->n_kv_heads},
                                          {.i = dimensions->head_dim},
                                          {.i = dimensions->rope.original_context}};
    if (builder->query_scales != SUNDOG_BUFFER_NONE)
        sundog_builder_emit_with(builder, SUNDOG_OP_SCALE_QUERIES, parameters, qkv,
                                 builder->positions, builder->query_scales);
}

static SundogBufferId
emit_attention(SundogBuilder *builder, SundogBufferId qkv, SundogBufferId k_pages,
               SundogBufferId v_pages)
{
    const SundogModelDimensions *dimensions = builder->dimensions;
    const SundogParameter parameters[] = {{.i = dimensions->n_heads},
                                          {.i = dimensions->n_kv_heads},
                                          {.i = dimensions->head_dim},
                                          {.f = dimensions->attention_scale},
                                          {.i = sundog_builder_layer(builder)->window},
                                          {.f = dimensions->attention_softcap}};
    SundogBufferId o = sundog_builder_temporary(
        builder, "attention.o", (int64_t)dimensions->n_heads * dimensions->head_dim);
    sundog_builder_emit_with(
        builder, SUNDOG_OP_ATTENTION, parameters, qkv, builder->positions, builder->page_table,
        builder->attention_tiles, k_pages, v_pages, o, builder->workspace,
        sundog_builder_optional_weight(builder, SUNDOG_TENSOR_ATTENTION_SINKS));
    return o;
}

SundogBufferId
sundog_component_attend(SundogBuilder *builder, SundogBufferId qkv)
{
    SundogBufferId k_pages = add_pages(builder, "k", true);
    SundogBufferId v_pages = add_pages(builder, "v", false);
    builder->n_caches++;
    emit_rope(builder, qkv, k_pages, v_pages);
    emit_query_scales(builder, qkv);
    return emit_attention(builder, qkv, k_pages, v_pages);
}

SundogBufferId
sundog_component_attention(SundogBuilder *builder, SundogBufferId x, SundogQkNorm norm)
{
    SundogBufferId qkv = add_qkv(builder, x, norm);
    if (norm == SUNDOG_QK_NORM_HEADS)
        emit_head_norms(builder, qkv);
    SundogBufferId o = sundog_component_attend(builder, qkv);
    SundogBufferId out =
        sundog_builder_temporary(builder, "attention.out", builder->dimensions->hidden_size);
    sundog_builder_emit(
        builder, SUNDOG_OP_LINEAR, o,
        sundog_builder_weight(builder, SUNDOG_TENSOR_ATTENTION_OUTPUT),
        sundog_builder_optional_weight(builder, SUNDOG_TENSOR_ATTENTION_OUTPUT_BIAS),
        SUNDOG_BUFFER_NONE, out, builder->workspace);
    return out;
}

/* The forward pass of encoders: BERT and what came of it. */

#include "engine/recipe/components.h"
#include "engine/recipe/families.h"

/* What the families of this file differ in, beside their settings. */
typedef struct {
    bool norms_sums; /* each half's sum with what it took, else what it takes */
    bool is_gated;   /* the MLP */
    SundogGate gate;
} Style;

static SundogBufferId
add(SundogBuilder *builder, SundogBufferId a, SundogBufferId b, const char *name)
{
    SundogBufferId y = sundog_builder_temporary(builder, name, builder->dimensions->hidden_size);
    sundog_builder_emit(builder, SUNDOG_OP_ADD, a, b, y);
    return y;
}

/* x and the rows of a table that `numbers` names; x where the model has no such table. */
static SundogBufferId
add_rows_of(SundogBuilder *builder, SundogBufferId x, SundogBufferId numbers,
            SundogTensorRole table, const char *name)
{
    const SundogParameter scale = {.f = 1};
    SundogBufferId weight = sundog_builder_optional_weight(builder, table);
    if (weight == SUNDOG_BUFFER_NONE)
        return x;
    g_autofree char *sum = g_strconcat(name, ".sum", NULL);
    SundogBufferId y = sundog_builder_temporary(builder, name, builder->dimensions->hidden_size);
    sundog_builder_emit_with(builder, SUNDOG_OP_EMBED, &scale, numbers, weight, y);
    return add(builder, x, y, sum);
}

static SundogBufferId
emit_embedding(SundogBuilder *builder)
{
    SundogBufferId x = sundog_component_embedding(builder);
    x = add_rows_of(builder, x, builder->positions, SUNDOG_TENSOR_POSITION_EMBEDDING, "position");
    x = add_rows_of(builder, x, builder->token_types, SUNDOG_TENSOR_TOKEN_TYPES, "type");
    return sundog_component_layer_norm(builder, x, SUNDOG_TENSOR_EMBEDDING_NORM,
                                       SUNDOG_TENSOR_EMBEDDING_NORM_BIAS, "embedding.norm");
}

static SundogBufferId
emit_mlp(SundogBuilder *builder, SundogBufferId x, const Style *style)
{
    return style->is_gated ? sundog_component_gated_mlp(builder, x, style->gate)
                           : sundog_component_plain_mlp(builder, x, SUNDOG_GATE_GELU);
}

/* The first layer of ModernBERT takes what the embedding's norm gives, as it is. */
static SundogBufferId
norm_before(SundogBuilder *builder, SundogBufferId x, const Style *style, SundogTensorRole role,
            const char *name)
{
    if (style->norms_sums || (builder->layer == 0 && role == SUNDOG_TENSOR_ATTENTION_NORM))
        return x;
    return sundog_component_layer_norm(builder, x, role, SUNDOG_TENSOR_NONE, name);
}

static SundogBufferId
norm_sum(SundogBuilder *builder, SundogBufferId x, const Style *style, SundogTensorRole role,
         SundogTensorRole bias, const char *name)
{
    return style->norms_sums ? sundog_component_layer_norm(builder, x, role, bias, name) : x;
}

static SundogBufferId
emit_layer(SundogBuilder *builder, SundogBufferId x, const Style *style)
{
    SundogBufferId y =
        norm_before(builder, x, style, SUNDOG_TENSOR_ATTENTION_NORM, "attention.norm");
    y = sundog_component_attention(builder, y, SUNDOG_QK_NORM_NONE);
    x = add(builder, y, x, "attention.sum");
    x = norm_sum(builder, x, style, SUNDOG_TENSOR_ATTENTION_SUM_NORM,
                 SUNDOG_TENSOR_ATTENTION_SUM_NORM_BIAS, "attention.sum_norm");
    y = norm_before(builder, x, style, SUNDOG_TENSOR_MLP_NORM, "mlp.norm");
    y = emit_mlp(builder, y, style);
    x = add(builder, y, x, "mlp.sum");
    return norm_sum(builder, x, style, SUNDOG_TENSOR_MLP_SUM_NORM, SUNDOG_TENSOR_MLP_SUM_NORM_BIAS,
                    "mlp.sum_norm");
}

static SundogBufferId
emit_layers(SundogBuilder *builder, const Style *style)
{
    SundogBufferId x = emit_embedding(builder);
    for (builder->layer = 0; builder->layer < builder->dimensions->n_layers; builder->layer++)
        x = emit_layer(builder, x, style);
    return x;
}

void
sundog_bert_emit(SundogBuilder *builder)
{
    sundog_component_result(builder, emit_layers(builder, &(Style){.norms_sums = true}));
}

void
sundog_nomic_bert_emit(SundogBuilder *builder)
{
    sundog_component_result(builder,
                            emit_layers(builder, &(Style){.norms_sums = true, .is_gated = true}));
}

void
sundog_modern_bert_emit(SundogBuilder *builder)
{
    SundogBufferId x = emit_layers(builder, &(Style){.is_gated = true, .gate = SUNDOG_GATE_GELU});
    x = sundog_component_layer_norm(builder, x, SUNDOG_TENSOR_OUTPUT_NORM, SUNDOG_TENSOR_NONE,
                                    "head.norm");
    sundog_component_result(builder, x);
}

/* The Llama family's forward pass. */

#include "engine/recipe/llama.h"

#include "engine/recipe/components.h"

static void
emit_layers(SundogBuilder *builder)
{
    SundogBufferId x = sundog_component_embedding(builder);
    for (builder->layer = 0; builder->layer < builder->dimensions->n_layers; builder->layer++) {
        x = sundog_component_attention(builder, x);
        x = sundog_component_gated_mlp(builder, x);
    }
    sundog_component_head(builder, x);
}

bool
sundog_llama_build_forward(const SundogModel *model, const SundogRecipeOptions *options,
                           SundogRecipeForward *forward, GError **error)
{
    SundogBuilder builder;
    bool ok = sundog_builder_init(&builder, model, options, error);
    if (ok)
        emit_layers(&builder);
    sundog_builder_steal(&builder, forward);
    return ok;
}

#pragma once

/* The Llama family: norm, grouped-query attention, norm, gated MLP, a residual around each. Also
 * Qwen2, which adds biases to the projections and pairs the halves of a head. Within this house. */

#include "engine/recipe/recipe.h"

bool sundog_llama_build_forward(const SundogModel *model, const SundogRecipeOptions *options,
                                SundogRecipeForward *forward, GError **error);

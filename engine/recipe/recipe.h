#pragma once

/*
 * Recipes: one file a model family, composing components into programs. A recipe emits the plain,
 * unfused operations in float32; prepare decides fusion, activations and places. Cache element type
 * and bounds are options, since prepare chooses them.
 */

#include "engine/core/program.h"
#include "engine/model/model.h"

typedef struct {
    SundogDtype cache_dtype; /* F16 or F32 */
    SundogShape bounds;
} SundogRecipeOptions;

typedef struct {
    const char *architecture; /* as the model says: "llama" */
    const char *family;       /* for people: "Llama" */
    /* Emits the forward program; weight buffers are named as the model's tensors. */
    SundogProgram *(*build_forward)(const SundogModel *model, const SundogRecipeOptions *options,
                                    GError **error);
} SundogRecipe;

/* NULL and an error that names the architecture and what is known. */
const SundogRecipe *sundog_recipe_find(const char *architecture, GError **error);
/* The program of sampling is the same for every family. */
SundogProgram *sundog_recipe_build_sample(uint32_t n_vocabulary, const SundogShape *bounds);

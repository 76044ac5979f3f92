#pragma once

/*
 * Recipes: one file a model family, composing components into programs. A recipe emits the plain,
 * unfused operations in float32; prepare decides fusion, activations, layouts and places. Cache element
 * type and bounds are options, since prepare chooses them.
 */

#include "engine/core/program.h"
#include "engine/model/model.h"

typedef struct {
    SundogDtype cache_dtype; /* F16, BF16, F32 or Q8 */
    uint32_t context_length; /* the longest that a request may have, in tokens */
    SundogShape bounds;
    bool drafts; /* the forward program gives what the draft program needs */
} SundogRecipeOptions;

/* A weight that no file holds, since the recipe computes it: a dense row. */
typedef struct {
    char *name;
    float *values; /* [n_values] */
    uint32_t n_values;
} SundogRecipeConstant;

/* What a recipe emits. Weight buffers are named as the model's tensors or as a constant, and have no
 * layout yet: that is prepare's to give. */
typedef struct {
    SundogProgram *program;
    GPtrArray *constants; /* of SundogRecipeConstant */
    uint32_t n_caches;    /* layers that keep keys and values */
} SundogRecipeForward;

typedef struct SundogBuilder SundogBuilder;

typedef struct {
    const char *architecture; /* as the model says: "llama" */
    const char *family;       /* for people: "Llama" */
    void (*emit)(SundogBuilder *builder);
    void (*emit_draft)(SundogBuilder *builder); /* NULL: its models do not guess tokens here */
} SundogRecipe;

/* NULL and an error that names the architecture and what is known. */
const SundogRecipe *sundog_recipe_find(const char *architecture, GError **error);
/* Fills `forward`, to be cleared by the caller also on failure. A tensor that the recipe needs and the
 * model has not is an error, and so is one that the model has and the recipe does not use. */
bool sundog_recipe_build_forward(const SundogRecipe *recipe, const SundogModel *model,
                                 const SundogRecipeOptions *options, SundogRecipeForward *forward,
                                 GError **error);
/* Whether there is a draft program of the model. */
bool sundog_recipe_has_draft(const SundogRecipe *recipe, const SundogModel *model);
/* The draft program; its layer keeps keys and values behind the forward program's n_caches. Options as of that.
 * Failure as there, but that it may leave tensors unused. */
bool sundog_recipe_build_draft(const SundogRecipe *recipe, const SundogModel *model,
                               const SundogRecipeOptions *options, uint32_t n_caches,
                               SundogRecipeForward *draft, GError **error);
/* The longest window of the model's layers, where a core's layers with windows should have pages of their
 * own, since others keep all of a sequence; else 0. They get them where the bound of WINDOW_PAGES is not 1. */
uint32_t sundog_recipe_find_window(const SundogModelDimensions *dimensions);
/* The program of sampling is the same for every family. */
SundogProgram *sundog_recipe_build_sample(uint32_t n_vocabulary, const SundogShape *bounds);

void sundog_recipe_forward_clear(SundogRecipeForward *forward);
/* NULL where there is none of that name. */
const SundogRecipeConstant *sundog_recipe_forward_find(const SundogRecipeForward *forward,
                                                       const char *name);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SundogRecipeForward, sundog_recipe_forward_clear)

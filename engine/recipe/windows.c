/* Windows of layers that share one cache, and of a whole model. */

#include "engine/recipe/windows.h"
#include "engine/recipe/recipe.h"

/* Tokens that one layer sees: a window and a chunk each leave out what the other lets through. */
static uint32_t
get_sight(const SundogLayer *layer)
{
    if (layer->window == 0 || layer->chunk == 0)
        return MAX(layer->window, layer->chunk);
    return MIN(layer->window, layer->chunk);
}

uint32_t
sundog_windows_find_span(const SundogModelDimensions *dimensions, uint32_t kv_layer)
{
    uint32_t span = 0;
    for (uint32_t i = 0; i < dimensions->n_layers; i++) {
        uint32_t sight = get_sight(&dimensions->layers[i]);
        if (dimensions->layers[i].kv_layer != kv_layer)
            continue;
        if (sight == 0)
            return 0;
        span = MAX(span, sight);
    }
    return span;
}

/* A model of which no layer keeps everything has one kind of pages all the same: a sequence's pages are
 * named after those of the others. */
uint32_t
sundog_recipe_find_window(const SundogModelDimensions *dimensions)
{
    uint32_t window = 0;
    bool keeps_all = false;
    if (dimensions->pooled.purpose != SUNDOG_PURPOSE_GENERATE)
        return 0;
    for (uint32_t i = 0; i < dimensions->n_layers; i++) {
        const SundogLayer *layer = &dimensions->layers[i];
        uint32_t span = sundog_windows_find_span(dimensions, i);
        /* Recurrent state has checkpoints, which pages that come and go would not match. */
        if (layer->is_recurrent)
            return 0;
        if (layer->kv_layer == i) {
            keeps_all = keeps_all || span == 0;
            window = MAX(window, span);
        }
    }
    return keeps_all ? window : 0;
}

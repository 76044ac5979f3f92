/* The plan of a core: builds the programs, runs the passes, places weights. */

#include "engine/prepare/plan.h"

#include "engine/core/step.h"
#include "engine/format/error.h"
#include "engine/prepare/lower.h"
#include "engine/prepare/passes.h"
#include "kernels/contract/layout.h"
#include "kernels/contract/paged-cache.h"
#include "kernels/contract/sample.h"

#include <string.h>

/* Rows of one step: enough for prefill to be bound by arithmetic, few enough that a long prompt does
 * not stall the sequences that decode beside it. */
#define MAX_TOKENS 512
#define MAX_SEQUENCES 64
/* What penalties can look back at, in tokens. */
#define MAX_HISTORY 8192
/* Tokens of a row whose logits a request may change. */
#define MAX_BIASES 1024
/* Threads of the pool for which workspaces are planned. */
#define MAX_UNITS 64
/* Rows of a step that must take a whole text: beyond this the buffers of a step, not the weights, would be
 * most of what a core needs of memory. */
#define MAX_WHOLE_TOKENS 8192
/* Rows of a step on a GPU, which is bound by arithmetic only from some hundreds on. */
#define MAX_CUDA_TOKENS 2048
#define MAX_CUDA_SEQUENCES 256
#define MAX_MULTIPROCESSORS 1024

static bool
check_options(const SundogPrepareOptions *options, const SundogModelDimensions *dimensions,
              GError **error)
{
    if (dimensions == NULL)
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "the file holds a vocabulary and no tensors");
    else if (options->target != NULL && strcmp(options->target, SUNDOG_CORE_TARGET_HOST) != 0 &&
             !sundog_lower_is_target(options->target))
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "the target \"%s\" is not known; known are: host, and CUDA's such as sm_90a",
                    options->target);
    else if (options->max_context > dimensions->context_length)
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "a context of %u tokens was asked for; the model was trained for %u",
                    options->max_context, dimensions->context_length);
    else
        return true;
    return false;
}

static bool
is_for_cuda(const SundogPlan *plan)
{
    return strcmp(plan->target, SUNDOG_CORE_TARGET_HOST) != 0;
}

static bool
is_for_text(const SundogPlan *plan)
{
    return plan->purpose == SUNDOG_PURPOSE_GENERATE;
}

static bool
check_cache(const SundogPlan *plan, const SundogPrepareOptions *options, GError **error)
{
    if (options->cache != SUNDOG_CACHE_Q8 || is_for_text(plan))
        return true;
    g_set_error_literal(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                        "models that give vectors or scores have no cache: prepare it without "
                        "one in 8 bits");
    return false;
}

/* A step takes texts whole, and keeps their pages no longer. */
static void
bound_whole_steps(SundogShape *bounds, uint32_t context_length)
{
    bounds->values[SUNDOG_VARIABLE_TOKENS] =
        MAX(bounds->values[SUNDOG_VARIABLE_TOKENS], context_length);
    bounds->values[SUNDOG_VARIABLE_POOL_PAGES] =
        (bounds->values[SUNDOG_VARIABLE_TOKENS] + SUNDOG_PAGE_TOKENS - 1) / SUNDOG_PAGE_TOKENS +
        bounds->values[SUNDOG_VARIABLE_SEQUENCES] + 1;
}

static SundogShape
choose_bounds(uint32_t context_length, uint32_t n_vocabulary, bool cuda)
{
    int64_t n_sequences = cuda ? MAX_CUDA_SEQUENCES : MAX_SEQUENCES;
    int64_t n_pages = (context_length + SUNDOG_PAGE_TOKENS - 1) / SUNDOG_PAGE_TOKENS;
    SundogShape bounds;
    bounds.values[SUNDOG_VARIABLE_TOKENS] = cuda ? MAX_CUDA_TOKENS : MAX_TOKENS;
    bounds.values[SUNDOG_VARIABLE_SEQUENCES] = n_sequences;
    bounds.values[SUNDOG_VARIABLE_LOGIT_ROWS] = n_sequences;
    bounds.values[SUNDOG_VARIABLE_SEQUENCE_PAGES] = n_pages;
    /* Every sequence of a step at its full length, twice over for prefixes that are kept, and the
     * null page. */
    bounds.values[SUNDOG_VARIABLE_POOL_PAGES] = 2 * n_sequences * n_pages + 1;
    bounds.values[SUNDOG_VARIABLE_WINDOW_PAGES] = 1;
    /* Every sequence of a step, as many whose state is kept, and the null one. */
    bounds.values[SUNDOG_VARIABLE_POOL_STATES] = 2 * n_sequences + 1;
    bounds.values[SUNDOG_VARIABLE_HISTORY] = MIN(context_length, MAX_HISTORY);
    bounds.values[SUNDOG_VARIABLE_MASK] = SUNDOG_SAMPLE_MASK_WORDS(n_vocabulary);
    bounds.values[SUNDOG_VARIABLE_BIAS] = MAX_BIASES * SUNDOG_BIAS_WORDS;
    /* CUDA's kernels need no workspace a unit; one is what the host's reference runs with. */
    bounds.values[SUNDOG_VARIABLE_UNITS] = cuda ? 1 : MAX_UNITS;
    bounds.values[SUNDOG_VARIABLE_MULTIPROCESSORS] = MAX_MULTIPROCESSORS;
    return bounds;
}

/* Layers with a window have pages of their own where that can save any: no more than there are of the
 * others'. */
static void
bound_windows(SundogShape *bounds, const SundogModelDimensions *dimensions, uint32_t context_length)
{
    uint32_t window = sundog_recipe_find_window(dimensions);
    if (window > 0 && window < context_length)
        bounds->values[SUNDOG_VARIABLE_WINDOW_PAGES] = bounds->values[SUNDOG_VARIABLE_POOL_PAGES];
}

/* All tensors by name; the keys and values are the model's. */
static GHashTable *
index_tensors(const SundogModel *model)
{
    GHashTable *tensors = g_hash_table_new(g_str_hash, g_str_equal);
    const SundogModelDimensions *dimensions = sundog_model_get_dimensions(model);
    uint32_t n_layers = dimensions->n_layers + dimensions->n_draft_layers;
    for (int role = 0; role < SUNDOG_N_TENSOR_ROLES; role++) {
        for (uint32_t layer = 0; layer < n_layers; layer++) {
            const SundogTensor *tensor =
                sundog_model_get_tensor(model, (SundogTensorRole)role, layer);
            if (tensor != NULL)
                g_hash_table_insert(tensors, (gpointer)tensor->name, (gpointer)tensor);
        }
    }
    return tensors;
}

/* True where some product has activations in 8 bits. */
static bool
has_quantized(GHashTable *tensors, const SundogPrepareOptions *options)
{
    GHashTableIter iter;
    gpointer tensor;
    bool found = options->weights == SUNDOG_WEIGHTS_Q8 || options->weights == SUNDOG_WEIGHTS_Q4;
    g_hash_table_iter_init(&iter, tensors);
    while (!found && g_hash_table_iter_next(&iter, NULL, &tensor))
        found = sundog_layout_is_quantized(
            sundog_layout_for_gguf_type(((const SundogTensor *)tensor)->type));
    return found;
}

/* A cache is as exact as what else is rounded: activations in 8 bits differ by more than bf16 does, whose
 * products by pairs are the fastest; models of floats keep f16. */
static SundogDtype
cache_dtype(const SundogPlan *plan, GHashTable *tensors, const SundogPrepareOptions *options)
{
    if (options->cache == SUNDOG_CACHE_Q8)
        return SUNDOG_DTYPE_Q8;
    if (is_for_cuda(plan))
        return SUNDOG_DTYPE_BF16;
    if (options->activations == SUNDOG_ACTIVATIONS_F32)
        return SUNDOG_DTYPE_F32;
    return has_quantized(tensors, options) ? SUNDOG_DTYPE_BF16 : SUNDOG_DTYPE_F16;
}

static bool
build_forward(const SundogPlan *plan, const SundogModel *model, GHashTable *tensors,
              const SundogPrepareOptions *prepare, SundogRecipeForward *forward, GError **error)
{
    const SundogRecipeOptions options = {.cache_dtype = plan->cache.dtype,
                                         .context_length = plan->context_length,
                                         .bounds = plan->bounds,
                                         .drafts = plan->drafts};
    const SundogRecipe *recipe =
        sundog_recipe_find(sundog_model_get_dimensions(model)->architecture, error);
    return recipe != NULL && sundog_recipe_build_forward(recipe, model, &options, forward, error) &&
           sundog_pass_layouts(forward->program, tensors, prepare->weights, is_for_cuda(plan),
                               error);
}

/* The recipe's program as it is, planned so that it can run. */
static bool
make_reference(SundogPlan *plan, const SundogModel *model, GHashTable *tensors,
               const SundogPrepareOptions *options, GError **error)
{
    g_auto(SundogRecipeForward) forward = {0};
    if (!build_forward(plan, model, tensors, options, &forward, error))
        return false;
    plan->reference = g_steal_pointer(&forward.program);
    sundog_program_set_name(plan->reference, SUNDOG_PROGRAM_REFERENCE);
    sundog_pass_plan_memory(plan->reference, NULL);
    return sundog_program_check(plan->reference, error);
}

/* Lowers where the target is a GPU, places temporaries, and checks what came out. */
static bool
finish_program(const SundogPlan *plan, SundogProgram *program, bool rounds,
               SundogLaunchList **launches, GError **error)
{
    if (is_for_cuda(plan)) {
        *launches = sundog_lower(program, plan->target, rounds, error);
        if (*launches == NULL)
            return false;
    }
    sundog_pass_plan_memory(program, *launches);
    return sundog_program_check(program, error) &&
           (*launches == NULL || sundog_launch_list_check(*launches, program, error));
}

static bool
make_forward(SundogPlan *plan, const SundogModel *model, GHashTable *tensors,
             const SundogPrepareOptions *options, GError **error)
{
    if (!build_forward(plan, model, tensors, options, &plan->forward, error))
        return false;
    if (options->activations == SUNDOG_ACTIVATIONS_INT8 && !is_for_cuda(plan))
        sundog_pass_activations(plan->forward.program);
    sundog_pass_fuse(plan->forward.program);
    if (is_for_cuda(plan))
        sundog_pass_cuda(plan->forward.program);
    return finish_program(plan, plan->forward.program,
                          options->activations == SUNDOG_ACTIVATIONS_INT8, &plan->forward_launches,
                          error);
}

/* On a GPU nobody checks guesses yet. */
static bool
find_draft(const SundogPlan *plan, const SundogModel *model)
{
    const SundogRecipe *recipe =
        sundog_recipe_find(sundog_model_get_dimensions(model)->architecture, NULL);
    return is_for_text(plan) && !is_for_cuda(plan) && recipe != NULL &&
           sundog_recipe_has_draft(recipe, model);
}

static bool
make_draft(SundogPlan *plan, const SundogModel *model, GHashTable *tensors,
           const SundogPrepareOptions *prepare, GError **error)
{
    const SundogRecipeOptions options = {.cache_dtype = plan->cache.dtype,
                                         .context_length = plan->context_length,
                                         .bounds = plan->bounds,
                                         .drafts = true};
    const SundogRecipe *recipe =
        sundog_recipe_find(sundog_model_get_dimensions(model)->architecture, error);
    if (recipe == NULL ||
        !sundog_recipe_build_draft(recipe, model, &options, plan->forward.n_caches, &plan->draft,
                                   error) ||
        !sundog_pass_layouts(plan->draft.program, tensors, prepare->weights, false, error))
        return false;
    if (prepare->activations == SUNDOG_ACTIVATIONS_INT8)
        sundog_pass_activations(plan->draft.program);
    sundog_pass_fuse(plan->draft.program);
    SundogLaunchList *none = NULL;
    return finish_program(plan, plan->draft.program, false, &none, error);
}

static bool
make_sample(SundogPlan *plan, uint32_t n_vocabulary, GError **error)
{
    plan->sample = sundog_recipe_build_sample(n_vocabulary, &plan->bounds);
    return finish_program(plan, plan->sample, false, &plan->sample_launches, error);
}

/* What the recipe has made of its layers: those that keep pages, and the recurrent state of the others. */
static void
describe_cache(SundogPlan *plan, const SundogModelDimensions *dimensions)
{
    SundogCoreCache *cache = &plan->cache;
    cache->page_tokens = SUNDOG_PAGE_TOKENS;
    if (!is_for_text(plan))
        return;
    cache->scheme = "paged";
    cache->n_layers = plan->forward.n_caches;
    cache->n_kv_heads = dimensions->n_kv_heads;
    cache->head_dim = dimensions->head_dim;
    uint64_t n_bytes[SUNDOG_N_STATE_KINDS];
    sundog_program_measure_state(plan->forward.program, n_bytes);
    cache->page_bytes = n_bytes[SUNDOG_STATE_PAGES];
    if (plan->drafts) {
        uint64_t n_draft_bytes[SUNDOG_N_STATE_KINDS];
        sundog_program_measure_state(plan->draft.program, n_draft_bytes);
        cache->page_bytes += n_draft_bytes[SUNDOG_STATE_PAGES];
        cache->n_layers += plan->draft.n_caches - plan->forward.n_caches;
    }
    cache->window_bytes = n_bytes[SUNDOG_STATE_WINDOWS];
    if (cache->window_bytes > 0) {
        cache->window_tokens = sundog_recipe_find_window(dimensions);
        cache->window_pages = sundog_window_held_pages(cache->window_tokens, cache->page_tokens);
    }
    cache->state_bytes = n_bytes[SUNDOG_STATE_SLOTS];
}

/* Which type a layout holds of a tensor: its own, or the one that the pass over layouts chose. */
static uint32_t
find_packed_type(const SundogTensor *tensor, SundogLayout layout)
{
    static const uint32_t others[] = {SUNDOG_GGUF_Q8_0, SUNDOG_GGUF_Q4_1, SUNDOG_GGUF_BF16,
                                      SUNDOG_GGUF_F8};
    if (tensor == NULL || layout == SUNDOG_LAYOUT_DENSE_F32 ||
        layout == sundog_layout_for_gguf_type(tensor->type) ||
        layout == sundog_layout_for_cuda(tensor->type))
        return tensor != NULL ? tensor->type : 0;
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
        if (layout == sundog_layout_for_gguf_type(others[i]) ||
            layout == sundog_layout_for_cuda(others[i]))
            return others[i];
    g_assert_not_reached();
}

static void
add_weight(SundogPlan *plan, const SundogRecipeForward *forward, const SundogBuffer *buffer,
           GHashTable *tensors)
{
    const SundogExpressionPool *pool = sundog_program_get_expressions(forward->program);
    SundogPlannedWeight planned = {
        .weight = {.name = buffer->name, .layout = buffer->layout, .offset = plan->weight_bytes},
        .tensor = g_hash_table_lookup(tensors, buffer->name),
        .constant = sundog_recipe_forward_find(forward, buffer->name)};
    SundogCoreWeight *weight = &planned.weight;
    planned.type = find_packed_type(planned.tensor, buffer->layout);
    sundog_expression_get_constant(pool, buffer->shape[0], &weight->n_rows);
    sundog_expression_get_constant(pool, buffer->shape[1], &weight->n_columns);
    weight->n_bytes = sundog_layout_bytes(weight->layout, weight->n_rows, weight->n_columns);
    plan->weight_bytes += weight->n_bytes;
    g_array_append_val(plan->weights, planned);
}

/* In order of first use, so that one pass over a step reads the member from its begin to its end. */
static void
place_weights(SundogPlan *plan, const SundogRecipeForward *forward, GHashTable *tensors,
              GHashTable *placed)
{
    const SundogProgram *program = forward->program;
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++) {
        const SundogOperation *operation = sundog_program_get_operation(program, i);
        for (int a = 0; a < SUNDOG_MAX_ARGUMENTS; a++) {
            SundogBufferId id = operation->arguments[a];
            if (id == SUNDOG_BUFFER_NONE ||
                sundog_program_get_buffer(program, id)->role != SUNDOG_BUFFER_WEIGHT)
                continue;
            const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
            if (g_hash_table_add(placed, (gpointer)buffer->name))
                add_weight(plan, forward, buffer, tensors);
        }
    }
}

/* Those of what guesses, that it does not share, behind the others. */
static void
place_all_weights(SundogPlan *plan, GHashTable *tensors)
{
    g_autoptr(GHashTable) placed = g_hash_table_new(g_str_hash, g_str_equal);
    plan->weights = g_array_new(FALSE, FALSE, sizeof(SundogPlannedWeight));
    place_weights(plan, &plan->forward, tensors, placed);
    if (plan->drafts)
        place_weights(plan, &plan->draft, tensors, placed);
}

bool
sundog_plan_make(SundogPlan *plan, const SundogModel *model, const SundogPrepareOptions *options,
                 GError **error)
{
    const SundogModelDimensions *dimensions = sundog_model_get_dimensions(model);
    *plan = (SundogPlan){0};
    if (!check_options(options, dimensions, error))
        return false;
    g_autoptr(GHashTable) tensors = index_tensors(model);
    plan->purpose = dimensions->pooled.purpose;
    plan->context_length =
        options->max_context != 0 ? options->max_context : dimensions->context_length;
    if (!is_for_text(plan))
        plan->context_length = MIN(plan->context_length, MAX_WHOLE_TOKENS);
    plan->target = options->target != NULL ? options->target : SUNDOG_CORE_TARGET_HOST;
    plan->bounds = choose_bounds(plan->context_length, dimensions->n_vocabulary, is_for_cuda(plan));
    if (!is_for_text(plan))
        bound_whole_steps(&plan->bounds, plan->context_length);
    bound_windows(&plan->bounds, dimensions, plan->context_length);
    plan->cache.dtype = cache_dtype(plan, tensors, options);
    plan->drafts = find_draft(plan, model);
    if (!check_cache(plan, options, error) ||
        !make_reference(plan, model, tensors, options, error) ||
        !make_forward(plan, model, tensors, options, error) ||
        (plan->drafts && !make_draft(plan, model, tensors, options, error)) ||
        (is_for_text(plan) && !make_sample(plan, dimensions->n_vocabulary, error)))
        return false;
    describe_cache(plan, dimensions);
    place_all_weights(plan, tensors);
    const SundogProgram *programs[] = {plan->forward.program, plan->sample, plan->draft.program};
    for (size_t i = 0; i < G_N_ELEMENTS(programs); i++)
        if (programs[i] != NULL)
            plan->arena_bytes = MAX(plan->arena_bytes, sundog_program_get_arena_bytes(programs[i]));
    return true;
}

uint64_t
sundog_plan_measure_arena(const SundogPlan *plan, unsigned n_threads)
{
    SundogShape shape = plan->bounds;
    int64_t n_units = n_threads != 0 ? n_threads : g_get_num_processors();
    shape.values[SUNDOG_VARIABLE_UNITS] = MIN(n_units, shape.values[SUNDOG_VARIABLE_UNITS]);
    const SundogProgram *programs[] = {plan->forward.program, plan->sample, plan->draft.program};
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(programs); i++)
        if (programs[i] != NULL)
            n_bytes = MAX(n_bytes, sundog_program_measure_arena(programs[i], &shape));
    return n_bytes;
}

void
sundog_plan_clear(SundogPlan *plan)
{
    sundog_recipe_forward_clear(&plan->forward);
    sundog_recipe_forward_clear(&plan->draft);
    g_clear_pointer(&plan->reference, sundog_program_free);
    g_clear_pointer(&plan->sample, sundog_program_free);
    g_clear_pointer(&plan->forward_launches, sundog_launch_list_free);
    g_clear_pointer(&plan->sample_launches, sundog_launch_list_free);
    g_clear_pointer(&plan->weights, g_array_unref);
}

/* core.json of a new core. */

#include "engine/prepare/manifest.h"

#include "engine/core/step.h"
#include "engine/prepare/pair-template.h"
#include "engine/text/output/output-syntax.h"

#include <string.h>

/* What a chat begins with where neither the person nor the request says otherwise. Few files state
 * a profile, so it is one for all: warm enough to vary, cut well before the tail. */
#define DEFAULT_TEMPERATURE 0.7
#define DEFAULT_TOP_K 40
#define DEFAULT_TOP_P 0.95
#define DEFAULT_MIN_P 0.05

static JsonObject *
describe_model(const SundogPlan *plan, SundogModel *model, const SundogPrepareOptions *options,
               GError **error)
{
    const SundogModelDimensions *dimensions = sundog_model_get_dimensions(model);
    const char *sha256 =
        options->hollow ? "" : sundog_model_get_sha256(model, options->cancellable, error);
    if (sha256 == NULL)
        return NULL;
    g_autofree char *file = g_path_get_basename(sundog_model_get_path(model));
    g_autofree char *text = g_filename_display_name(file);
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "name", dimensions->name);
    json_object_set_string_member(object, "architecture", dimensions->architecture);
    if (dimensions->licence != NULL)
        json_object_set_string_member(object, "licence", dimensions->licence);
    else
        json_object_set_null_member(object, "licence");
    json_object_set_int_member(object, "n_parameters", (int64_t)dimensions->n_parameters);
    json_object_set_int_member(object, "context_length", plan->context_length);
    json_object_set_int_member(object, "n_vocabulary", dimensions->n_vocabulary);
    json_object_set_string_member(object, "file", text);
    json_object_set_string_member(object, "sha256", sha256);
    json_object_set_int_member(object, "bytes", (int64_t)sundog_model_get_file_bytes(model));
    return object;
}

static JsonArray *
describe_cache(const SundogCoreCache *cache)
{
    JsonArray *schemes = json_array_new();
    if (cache->scheme == NULL)
        return schemes;
    JsonObject *scheme = json_object_new();
    json_object_set_string_member(scheme, "scheme", cache->scheme);
    json_object_set_int_member(scheme, "page_tokens", cache->page_tokens);
    json_object_set_string_member(scheme, "dtype", sundog_dtype_name(cache->dtype));
    json_object_set_int_member(scheme, "n_layers", cache->n_layers);
    json_object_set_int_member(scheme, "n_kv_heads", cache->n_kv_heads);
    json_object_set_int_member(scheme, "head_dim", cache->head_dim);
    json_object_set_int_member(scheme, "page_bytes", (int64_t)cache->page_bytes);
    json_array_add_object_element(schemes, scheme);
    if (cache->window_bytes > 0) {
        JsonObject *window = json_object_new();
        json_object_set_string_member(window, "scheme", "window");
        json_object_set_int_member(window, "tokens", cache->window_tokens);
        json_object_set_int_member(window, "page_bytes", (int64_t)cache->window_bytes);
        json_object_set_int_member(window, "held_pages", cache->window_pages);
        json_array_add_object_element(schemes, window);
    }
    if (cache->state_bytes > 0) {
        JsonObject *recurrent = json_object_new();
        json_object_set_string_member(recurrent, "scheme", "recurrent");
        json_object_set_int_member(recurrent, "state_bytes", (int64_t)cache->state_bytes);
        json_array_add_object_element(schemes, recurrent);
    }
    return schemes;
}

static JsonObject *
describe_variables(const SundogShape *bounds)
{
    JsonObject *variables = json_object_new();
    for (int i = 0; i < SUNDOG_N_VARIABLES; i++)
        json_object_set_int_member(variables, sundog_variable_name((SundogVariable)i),
                                   bounds->values[i]);
    return variables;
}

static JsonArray *
describe_programs(const SundogPlan *plan)
{
    JsonArray *programs = json_array_new();
    json_array_add_string_element(programs, SUNDOG_PROGRAM_FORWARD);
    if (plan->sample != NULL)
        json_array_add_string_element(programs, SUNDOG_PROGRAM_SAMPLE);
    if (plan->drafts)
        json_array_add_string_element(programs, SUNDOG_PROGRAM_DRAFT);
    json_array_add_string_element(programs, SUNDOG_PROGRAM_REFERENCE);
    return programs;
}

static JsonArray *
describe_weights(const GArray *planned)
{
    JsonArray *weights = json_array_new();
    for (guint i = 0; i < planned->len; i++) {
        const SundogCoreWeight *weight = &g_array_index(planned, SundogPlannedWeight, i).weight;
        JsonObject *object = json_object_new();
        json_object_set_string_member(object, "name", weight->name);
        json_object_set_string_member(object, "layout", sundog_layout_name(weight->layout));
        json_object_set_int_member(object, "n_rows", weight->n_rows);
        json_object_set_int_member(object, "n_columns", weight->n_columns);
        json_object_set_int_member(object, "offset", (int64_t)weight->offset);
        json_object_set_int_member(object, "bytes", (int64_t)weight->n_bytes);
        json_array_add_object_element(weights, object);
    }
    return weights;
}

static JsonObject *
describe_plan(const SundogPlan *plan)
{
    JsonObject *object = json_object_new();
    json_object_set_int_member(object, "arena_bytes", (int64_t)plan->arena_bytes);
    json_object_set_int_member(object, "weight_bytes", (int64_t)plan->weight_bytes);
    return object;
}

/* How the model writes calls and reasoning; NULL where it has no template, or a vocabulary that no
 * tokenizer is made of. */
static JsonObject *
describe_syntax(const SundogModel *model)
{
    SundogWriter writer;
    SundogReader reader;
    const char *source = sundog_model_get_chat_template(model);
    if (source == NULL)
        return NULL;
    sundog_writer_init(&writer);
    sundog_vocabulary_write(sundog_model_get_vocabulary(model), &writer);
    g_autoptr(GBytes) bytes = sundog_writer_steal(&writer);
    gsize n_bytes;
    const void *data = g_bytes_get_data(bytes, &n_bytes);
    sundog_reader_init(&reader, data, n_bytes, SUNDOG_CORE_VOCABULARY);
    g_autoptr(SundogTokenizer) tokenizer =
        sundog_tokenizer_new(sundog_vocabulary_read(&reader), NULL);
    if (tokenizer == NULL)
        return NULL;
    g_autoptr(SundogOutputSyntax) syntax = sundog_output_syntax_detect(source, tokenizer);
    return sundog_output_syntax_print(syntax);
}

static JsonObject *
describe_text(const SundogModel *model)
{
    JsonObject *text = json_object_new();
    json_object_set_string_member(text, "vocabulary", SUNDOG_CORE_VOCABULARY);
    if (sundog_model_get_chat_template(model) != NULL)
        json_object_set_string_member(text, "template", SUNDOG_CORE_TEMPLATE);
    else
        json_object_set_null_member(text, "template");
    JsonObject *syntax = describe_syntax(model);
    if (syntax != NULL)
        json_object_set_object_member(text, "syntax", syntax);
    return text;
}

static void
copy_member(JsonObject *from, const char *key, JsonNode *value, gpointer data)
{
    json_object_set_member(data, key, json_node_copy(value));
}

/* The general profile, over it the model's own, over that the one that was given. */
static JsonObject *
describe_sampling(const SundogModel *model, const SundogPrepareOptions *options)
{
    g_autoptr(JsonObject) advice = sundog_model_dup_sampling(model);
    JsonObject *sampling = json_object_new();
    JsonObject *profile = json_object_new();
    json_object_set_double_member(profile, "temperature", DEFAULT_TEMPERATURE);
    json_object_set_int_member(profile, "top_k", DEFAULT_TOP_K);
    json_object_set_double_member(profile, "top_p", DEFAULT_TOP_P);
    json_object_set_double_member(profile, "min_p", DEFAULT_MIN_P);
    if (advice != NULL)
        json_object_foreach_member(advice, copy_member, profile);
    if (options->sampling != NULL)
        json_object_foreach_member(options->sampling, copy_member, profile);
    json_object_set_object_member(sampling, "default", profile);
    return sampling;
}

/* What the core is for, where that is not text. */
static void
describe_purpose(JsonObject *root, const SundogPlan *plan, const SundogModel *model)
{
    static const SundogCorePurpose purposes[] = {[SUNDOG_PURPOSE_GENERATE] = SUNDOG_CORE_GENERATES,
                                                 [SUNDOG_PURPOSE_EMBED] = SUNDOG_CORE_EMBEDS,
                                                 [SUNDOG_PURPOSE_RERANK] = SUNDOG_CORE_RERANKS};
    json_object_set_string_member(root, "purpose",
                                  sundog_core_purpose_text(purposes[plan->purpose]));
    if (plan->purpose == SUNDOG_PURPOSE_GENERATE)
        return;
    JsonObject *result = json_object_new();
    json_object_set_int_member(result, "n_outputs",
                               sundog_model_get_dimensions(model)->pooled.n_outputs);
    json_object_set_int_member(result, "n_token_types",
                               sundog_model_get_dimensions(model)->pooled.n_token_types);
    g_autofree char *template = sundog_pair_template_dup(model);
    if (template != NULL)
        json_object_set_string_member(result, "template", template);
    const char *usual;
    JsonObject *prompts =
        plan->purpose == SUNDOG_PURPOSE_EMBED ? sundog_model_dup_prompts(model, &usual) : NULL;
    if (prompts != NULL) {
        if (usual != NULL)
            json_object_set_string_member(result, "prompt", usual);
        json_object_set_object_member(result, "prompts", prompts);
    }
    json_object_set_object_member(root, "result", result);
    json_array_add_string_element(json_object_get_array_member(root, "features"),
                                  SUNDOG_CORE_FEATURE_RESULT);
}

static void
describe_core(JsonObject *root, const SundogPlan *plan, const SundogPrepareOptions *options)
{
    bool is_host = strcmp(plan->target, SUNDOG_CORE_TARGET_HOST) == 0;
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *created = g_date_time_format_iso8601(now);
    JsonArray *features = json_array_new();
    json_array_add_string_element(features,
                                  is_host ? SUNDOG_CORE_FEATURE_HOST : SUNDOG_CORE_FEATURE_CUDA);
    if (plan->cache.window_bytes > 0)
        json_array_add_string_element(features, SUNDOG_CORE_FEATURE_WINDOW);
    json_object_set_array_member(root, "features", features);
    json_object_set_string_member(root, "name", options->name);
    json_object_set_string_member(root, "target", plan->target);
    json_object_set_string_member(root, "activations",
                                  options->activations == SUNDOG_ACTIVATIONS_INT8
                                      ? SUNDOG_CORE_ACTIVATIONS_INT8
                                  : is_host ? SUNDOG_CORE_ACTIVATIONS_F32
                                            : SUNDOG_CORE_ACTIVATIONS_BF16);
    json_object_set_string_member(root, "created", created);
    json_object_set_string_member(root, "engine", SUNDOG_VERSION);
}

JsonObject *
sundog_plan_to_manifest(const SundogPlan *plan, SundogModel *model,
                        const SundogPrepareOptions *options, GError **error)
{
    JsonObject *described = describe_model(plan, model, options, error);
    if (described == NULL)
        return NULL;
    JsonObject *root = json_object_new();
    describe_core(root, plan, options);
    describe_purpose(root, plan, model);
    json_object_set_object_member(root, "model", described);
    json_object_set_array_member(root, "cache", describe_cache(&plan->cache));
    json_object_set_object_member(root, "variables", describe_variables(&plan->bounds));
    json_object_set_array_member(root, "programs", describe_programs(plan));
    json_object_set_array_member(root, "weights", describe_weights(plan->weights));
    json_object_set_object_member(root, "plan", describe_plan(plan));
    json_object_set_object_member(root, "text", describe_text(model));
    if (plan->purpose == SUNDOG_PURPOSE_GENERATE)
        json_object_set_object_member(root, "sampling", describe_sampling(model, options));
    return root;
}

/* core.json to structs. Every field is asked for by name and type; the first that is wrong is named
 * with what was found. */

#include "engine/core/manifest.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"
#include "kernels/contract/layout.h"
#include "kernels/contract/paged-cache.h"

#include <string.h>

/* What a core may require of the engine that loads it, and this one can. */
static const char *const known_features[] = {SUNDOG_CORE_FEATURE_HOST, SUNDOG_CORE_FEATURE_CUDA,
                                             SUNDOG_CORE_FEATURE_RESULT,
                                             SUNDOG_CORE_FEATURE_WINDOW};

#define MAX_NUMBER ((int64_t)1 << 52) /* what JSON readers elsewhere keep exact */

/* One object of the manifest, the first error kept, so that a struct is read and asked once. */
typedef struct {
    JsonObject *object;
    const char *where; /* "model" */
    GStringChunk *strings;
    GError **error;
    bool failed;
} Fields;

static void G_GNUC_PRINTF(3, 4) fail(Fields *fields, int code, const char *format, ...)
{
    if (fields->failed)
        return;
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    fields->failed = true;
    g_set_error(fields->error, SUNDOG_FORMAT_ERROR, code, "core.json: %s%s", fields->where, text);
}

static JsonNode *
get_node(Fields *fields, const char *name, const char *kind)
{
    JsonNode *node = fields->failed ? NULL : json_object_get_member(fields->object, name);
    if (node == NULL)
        fail(fields, SUNDOG_FORMAT_ERROR_INVALID, "%s is missing, expected %s", name, kind);
    return node;
}

static const char *
get_text(Fields *fields, const char *name)
{
    const char *text = sundog_json_get_text(get_node(fields, name, "a text"));
    if (text != NULL)
        return g_string_chunk_insert_const(fields->strings, text);
    fail(fields, SUNDOG_FORMAT_ERROR_INVALID, "%s is not a text", name);
    return "";
}

static const char *
get_text_or_null(Fields *fields, const char *name)
{
    JsonNode *node = fields->failed ? NULL : json_object_get_member(fields->object, name);
    return node == NULL || JSON_NODE_HOLDS_NULL(node) ? NULL : get_text(fields, name);
}

static uint64_t
get_number(Fields *fields, const char *name, uint64_t least, uint64_t most)
{
    JsonNode *node = get_node(fields, name, "a number");
    if (node == NULL)
        return 0;
    if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_INT64) {
        fail(fields, SUNDOG_FORMAT_ERROR_INVALID, "%s is not a whole number", name);
        return 0;
    }
    int64_t value = json_node_get_int(node);
    if (value < 0 || (uint64_t)value < least || (uint64_t)value > most) {
        fail(fields, SUNDOG_FORMAT_ERROR_INVALID,
             "%s is %" G_GINT64_FORMAT ", expected %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT,
             name, value, least, most);
        return 0;
    }
    return (uint64_t)value;
}

static JsonArray *
get_array(Fields *fields, const char *name)
{
    JsonNode *node = get_node(fields, name, "a list");
    if (node != NULL && JSON_NODE_HOLDS_ARRAY(node))
        return json_node_get_array(node);
    fail(fields, SUNDOG_FORMAT_ERROR_INVALID, "%s is not a list", name);
    return NULL;
}

/* The object of that name as fields of their own; failed where it is none. */
static Fields
get_fields(Fields *fields, const char *name, const char *where)
{
    JsonNode *node = get_node(fields, name, "an object");
    bool found = node != NULL && JSON_NODE_HOLDS_OBJECT(node);
    if (!found)
        fail(fields, SUNDOG_FORMAT_ERROR_INVALID, "%s is not an object", name);
    return (Fields){.object = found ? json_node_get_object(node) : NULL,
                    .where = where,
                    .strings = fields->strings,
                    .error = fields->error,
                    .failed = fields->failed};
}

static Fields
get_element_fields(Fields *fields, JsonArray *array, guint index, const char *where)
{
    JsonNode *node = json_array_get_element(array, index);
    if (!JSON_NODE_HOLDS_OBJECT(node))
        fail(fields, SUNDOG_FORMAT_ERROR_INVALID, "%s%u is not an object", where, index);
    return (Fields){.object = fields->failed ? NULL : json_node_get_object(node),
                    .where = where,
                    .strings = fields->strings,
                    .error = fields->error,
                    .failed = fields->failed};
}

static const char *
get_element_text(Fields *fields, JsonArray *array, guint index, const char *what)
{
    const char *text = sundog_json_get_text(json_array_get_element(array, index));
    if (text != NULL)
        return text;
    fail(fields, SUNDOG_FORMAT_ERROR_INVALID, "%s %u is not a text", what, index);
    return "";
}

static void
check_features(Fields *fields)
{
    JsonArray *features = get_array(fields, "features");
    for (guint i = 0; !fields->failed && i < json_array_get_length(features); i++) {
        const char *name = get_element_text(fields, features, i, "feature");
        bool known = false;
        for (size_t k = 0; k < G_N_ELEMENTS(known_features); k++)
            known = known || strcmp(known_features[k], name) == 0;
        if (!known)
            fail(fields, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                 "the core needs the feature \"%s\", which this engine does not have: prepare the "
                 "model again",
                 name);
    }
}

static void
parse_info(Fields *fields, SundogCoreInfo *info)
{
    info->name = get_text(fields, "name");
    info->target = get_text(fields, "target");
    info->activations = get_text(fields, "activations");
    Fields plan = get_fields(fields, "plan", "plan: ");
    info->arena_bytes = get_number(&plan, "arena_bytes", 0, MAX_NUMBER);
    info->weight_bytes = get_number(&plan, "weight_bytes", 0, MAX_NUMBER);
    fields->failed = plan.failed;
}

static void
parse_model(Fields *fields, SundogCoreInfo *info)
{
    Fields model = get_fields(fields, "model", "model: ");
    info->model_name = get_text(&model, "name");
    info->architecture = get_text(&model, "architecture");
    info->licence = get_text_or_null(&model, "licence");
    info->model_sha256 = get_text(&model, "sha256");
    info->n_parameters = get_number(&model, "n_parameters", 1, MAX_NUMBER);
    info->context_length = (uint32_t)get_number(&model, "context_length", 1, INT32_MAX);
    info->n_vocabulary = (uint32_t)get_number(&model, "n_vocabulary", 1, INT32_MAX);
    fields->failed = model.failed;
}

static void
parse_purpose(Fields *fields, SundogCoreInfo *info)
{
    const char *purpose = get_text_or_null(fields, "purpose");
    if (!sundog_core_purpose_find(purpose, &info->purpose))
        fail(fields, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
             "purpose is %s, expected generate, embed or rerank", purpose);
    if (fields->failed || info->purpose == SUNDOG_CORE_GENERATES)
        return;
    Fields result = get_fields(fields, "result", "result: ");
    info->n_outputs = (uint32_t)get_number(&result, "n_outputs", 1, 1 << 24);
    info->n_token_types = (uint32_t)get_number(&result, "n_token_types", 0, 1 << 24);
    fields->failed = result.failed;
}

static SundogDtype
get_cache_dtype(Fields *fields)
{
    const char *name = get_text(fields, "dtype");
    static const SundogDtype known[] = {SUNDOG_DTYPE_F32, SUNDOG_DTYPE_BF16, SUNDOG_DTYPE_Q8,
                                        SUNDOG_DTYPE_F16};
    for (size_t i = 0; !fields->failed && i < G_N_ELEMENTS(known); i++)
        if (strcmp(name, sundog_dtype_name(known[i])) == 0)
            return known[i];
    if (!fields->failed)
        fail(fields, SUNDOG_FORMAT_ERROR_UNSUPPORTED, "dtype is %s, expected f16, bf16, f32 or q8",
             name);
    return SUNDOG_DTYPE_F16;
}

/* A scheme beside "paged": windows first, then recurrent state. */
static void
parse_scheme_beside(Fields *fields, JsonArray *schemes, guint i, SundogCoreCache *cache)
{
    Fields scheme = get_element_fields(fields, schemes, i, "cache: ");
    const char *name = get_text(&scheme, "scheme");
    bool follows = cache->window_tokens > 0 || cache->state_bytes > 0;
    if (!scheme.failed && strcmp(name, "recurrent") == 0 && cache->state_bytes == 0) {
        cache->state_bytes = get_number(&scheme, "state_bytes", 1, SUNDOG_BUFFER_MAX_BYTES);
    } else if (!scheme.failed && strcmp(name, "window") == 0 && !follows) {
        cache->window_tokens = (uint32_t)get_number(&scheme, "tokens", 1, INT32_MAX);
        cache->window_pages = (uint32_t)get_number(&scheme, "held_pages", 1, INT32_MAX);
        cache->window_bytes = get_number(&scheme, "page_bytes", 1, SUNDOG_BUFFER_MAX_BYTES);
    } else if (!scheme.failed) {
        fail(&scheme, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
             "the scheme is %s, expected window, or recurrent behind it", name);
    }
    fields->failed = scheme.failed;
}

static void
parse_cache(Fields *fields, SundogCoreCache *cache)
{
    JsonArray *schemes = get_array(fields, "cache");
    if (schemes != NULL && json_array_get_length(schemes) > 3)
        fail(fields, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
             "there are %u cache schemes, expected at most 3", json_array_get_length(schemes));
    cache->page_tokens = SUNDOG_PAGE_TOKENS;
    if (fields->failed || json_array_get_length(schemes) == 0)
        return;
    Fields scheme = get_element_fields(fields, schemes, 0, "cache: ");
    cache->scheme = get_text(&scheme, "scheme");
    if (!scheme.failed && strcmp(cache->scheme, "paged") != 0)
        fail(&scheme, SUNDOG_FORMAT_ERROR_UNSUPPORTED, "the scheme is %s, expected paged",
             cache->scheme);
    cache->page_tokens =
        (uint32_t)get_number(&scheme, "page_tokens", SUNDOG_PAGE_TOKENS, SUNDOG_PAGE_TOKENS);
    cache->dtype = get_cache_dtype(&scheme);
    cache->n_layers = (uint32_t)get_number(&scheme, "n_layers", 0, 65536);
    cache->n_kv_heads = (uint32_t)get_number(&scheme, "n_kv_heads", 1, 65536);
    cache->head_dim = (uint32_t)get_number(&scheme, "head_dim", 1, 65536);
    /* All layers' keys and values: at most 2^16 × 2^16 × 2^16 × 2^9, which a u64 still holds. */
    uint64_t page_bytes =
        2 * (uint64_t)cache->n_layers * cache->n_kv_heads *
        sundog_page_part_bytes(cache->dtype, sundog_dtype_bytes(cache->dtype), cache->head_dim);
    /* Less where layers differ; a core compares it with what its programs keep. */
    cache->page_bytes = get_number(&scheme, "page_bytes", cache->n_layers > 0 ? 1 : 0, page_bytes);
    fields->failed = scheme.failed;
    for (guint i = 1; !fields->failed && i < json_array_get_length(schemes); i++)
        parse_scheme_beside(fields, schemes, i, cache);
}

static void
parse_variables(Fields *fields, SundogShape *bounds)
{
    Fields variables = get_fields(fields, "variables", "variables: ");
    for (int i = 0; i < SUNDOG_N_VARIABLES; i++) {
        const char *name = sundog_variable_name((SundogVariable)i);
        bool is_there = !variables.failed && json_object_has_member(variables.object, name);
        bounds->values[i] = is_there ? (int64_t)get_number(&variables, name, 1, INT32_MAX) : 1;
    }
    fields->failed = variables.failed;
}

static void
parse_programs(Fields *fields, SundogCoreManifest *manifest)
{
    JsonArray *programs = get_array(fields, "programs");
    guint n = programs != NULL ? json_array_get_length(programs) : 0;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; i < n && !fields->failed; i++) {
        const char *name = get_element_text(fields, programs, i, "program");
        for (guint k = 0; k < names->len; k++)
            if (strcmp(names->pdata[k], name) == 0)
                fail(fields, SUNDOG_FORMAT_ERROR_INVALID, "program \"%s\" stands there twice",
                     name);
        g_ptr_array_add(names, g_strdup(name));
    }
    g_ptr_array_add(names, NULL);
    manifest->programs = (GStrv)g_ptr_array_steal(names, NULL);
}

static SundogLayout
get_layout(Fields *fields)
{
    const char *name = get_text(fields, "layout");
#define X(layout, number, values, text) \
    if (strcmp(name, text) == 0)        \
        return SUNDOG_LAYOUT_##layout;
    SUNDOG_LAYOUTS(X)
#undef X
    fail(fields, SUNDOG_FORMAT_ERROR_UNSUPPORTED, "the layout \"%s\" is not known here", name);
    return SUNDOG_LAYOUT_DENSE_F32;
}

/* Within the member, aligned, after the one before, and as large as its layout says. */
static void
check_weight(Fields *fields, const SundogCoreWeight *weight, uint64_t begin, uint64_t weight_bytes)
{
    if (fields->failed)
        return;
    if (weight->offset % SUNDOG_BUFFER_ALIGNMENT != 0)
        fail(fields, SUNDOG_FORMAT_ERROR_INVALID,
             "\"%s\" begins at %" G_GUINT64_FORMAT ", not a multiple of %d", weight->name,
             weight->offset, SUNDOG_BUFFER_ALIGNMENT);
    else if (weight->offset < begin)
        fail(fields, SUNDOG_FORMAT_ERROR_INVALID,
             "\"%s\" begins at %" G_GUINT64_FORMAT ", before the one before it ends", weight->name,
             weight->offset);
    else if (weight->n_bytes > weight_bytes || weight->offset > weight_bytes - weight->n_bytes)
        fail(fields, SUNDOG_FORMAT_ERROR_INVALID,
             "\"%s\" ends past the %" G_GUINT64_FORMAT " bytes of all weights", weight->name,
             weight_bytes);
    else if (!sundog_layout_fits(weight->layout, weight->n_columns) ||
             sundog_layout_bytes(weight->layout, weight->n_rows, weight->n_columns) !=
                 weight->n_bytes)
        fail(fields, SUNDOG_FORMAT_ERROR_INVALID,
             "\"%s\" has %" G_GUINT64_FORMAT " bytes, not what %s needs", weight->name,
             weight->n_bytes, sundog_layout_name(weight->layout));
}

static void
parse_weight(Fields *fields, SundogCoreManifest *manifest, uint64_t *begin)
{
    SundogCoreWeight weight = {
        .name = get_text(fields, "name"),
        .layout = get_layout(fields),
        .n_rows = (int64_t)get_number(fields, "n_rows", 1, INT32_MAX),
        .n_columns = (int64_t)get_number(fields, "n_columns", 1, INT32_MAX),
        .offset = get_number(fields, "offset", 0, MAX_NUMBER),
        .n_bytes = get_number(fields, "bytes", 1, MAX_NUMBER),
    };
    if (!fields->failed && (uint64_t)weight.n_rows * (uint64_t)weight.n_columns > MAX_NUMBER / 16)
        fail(fields, SUNDOG_FORMAT_ERROR_INVALID, "\"%s\" is too large", weight.name);
    check_weight(fields, &weight, *begin, manifest->info.weight_bytes);
    if (!fields->failed && g_hash_table_contains(manifest->weight_names, weight.name))
        fail(fields, SUNDOG_FORMAT_ERROR_INVALID, "\"%s\" stands there twice", weight.name);
    if (fields->failed)
        return;
    *begin = weight.offset + weight.n_bytes;
    g_array_append_val(manifest->weights, weight);
    g_hash_table_insert(manifest->weight_names, (gpointer)weight.name,
                        GUINT_TO_POINTER(manifest->weights->len));
}

static void
parse_weights(Fields *fields, SundogCoreManifest *manifest)
{
    JsonArray *weights = get_array(fields, "weights");
    guint n = weights != NULL ? json_array_get_length(weights) : 0;
    uint64_t begin = 0;
    for (guint i = 0; i < n && !fields->failed; i++) {
        Fields weight = get_element_fields(fields, weights, i, "weights: ");
        parse_weight(&weight, manifest, &begin);
        fields->failed = weight.failed;
    }
}

static void
parse_text(Fields *fields, SundogCoreManifest *manifest)
{
    Fields text = get_fields(fields, "text", "text: ");
    const char *vocabulary = get_text(&text, "vocabulary");
    const char *template = get_text_or_null(&text, "template");
    if (!text.failed && strcmp(vocabulary, SUNDOG_CORE_VOCABULARY) != 0)
        fail(&text, SUNDOG_FORMAT_ERROR_INVALID, "the vocabulary is %s, expected %s", vocabulary,
             SUNDOG_CORE_VOCABULARY);
    if (template != NULL && strcmp(template, SUNDOG_CORE_TEMPLATE) != 0)
        fail(&text, SUNDOG_FORMAT_ERROR_INVALID, "the template is %s, expected %s", template,
             SUNDOG_CORE_TEMPLATE);
    manifest->has_template = template != NULL;
    fields->failed = text.failed;
}

bool
sundog_core_manifest_parse(SundogCoreManifest *manifest, JsonObject *root, GError **error)
{
    *manifest = (SundogCoreManifest){
        .strings = g_string_chunk_new(4096),
        .weights = g_array_new(FALSE, FALSE, sizeof(SundogCoreWeight)),
        .weight_names = g_hash_table_new(g_str_hash, g_str_equal),
    };
    Fields fields = {.object = root, .where = "", .strings = manifest->strings, .error = error};
    check_features(&fields);
    parse_info(&fields, &manifest->info);
    parse_model(&fields, &manifest->info);
    parse_purpose(&fields, &manifest->info);
    parse_cache(&fields, &manifest->cache);
    parse_variables(&fields, &manifest->bounds);
    parse_programs(&fields, manifest);
    parse_weights(&fields, manifest);
    parse_text(&fields, manifest);
    return !fields.failed;
}

void
sundog_core_manifest_clear(SundogCoreManifest *manifest)
{
    g_clear_pointer(&manifest->programs, g_strfreev);
    g_clear_pointer(&manifest->weights, g_array_unref);
    g_clear_pointer(&manifest->weight_names, g_hash_table_unref);
    g_clear_pointer(&manifest->strings, g_string_chunk_free);
}

const SundogCoreWeight *
sundog_core_manifest_find_weight(const SundogCoreManifest *manifest, const char *name)
{
    gpointer known = g_hash_table_lookup(manifest->weight_names, name);
    return known != NULL
               ? &g_array_index(manifest->weights, SundogCoreWeight, GPOINTER_TO_UINT(known) - 1)
               : NULL;
}

/*
 * Rotary settings. Source of the names: transformers' modeling_rope_utils. Llama 3's scaling becomes a
 * divisor of each frequency, as GGUF's converter writes it, so that recipes know one form.
 */

#include "engine/model/hf-rope.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"

#include <math.h>
#include <string.h>

#define MAX_ROPE_DIMS 1024

/* Where a setting may stand: the scaling's own object first. */
typedef struct {
    JsonObject *scaling; /* may be NULL */
    JsonObject *config;
} Places;

static bool
get_number(const Places *places, const char *name, double *number)
{
    return sundog_json_get_double(places->scaling, name, number) ||
           sundog_json_get_double(places->config, name, number);
}

static void
set_from(SundogSource *source, const Places *places, const char *own, const char *name)
{
    JsonObject *object = sundog_json_has(places->scaling, own) ? places->scaling : places->config;
    g_autofree char *own_name = g_strconcat("config.json: ", own, NULL);
    if (sundog_json_has(object, own) && !sundog_source_has(source, name))
        sundog_source_set(source, name, own_name, json_object_get_member(object, own));
}

static const char *
get_type(const Places *places)
{
    const char *older = sundog_json_get_string(places->scaling, "type", "default");
    return sundog_json_get_string(places->scaling, "rope_type", older);
}

/* Dimensions of a head that are rotated; 0 where the settings cannot be, which the dimensions' reader
 * says better. */
static uint32_t
get_rope_dims(const SundogSource *source)
{
    uint64_t dims = 0, hidden, heads;
    if (!sundog_source_get_uint(source, "rope.dimension_count", &dims) &&
        !sundog_source_get_uint(source, "attention.key_length", &dims) &&
        sundog_source_get_uint(source, "embedding_length", &hidden) &&
        sundog_source_get_uint(source, "attention.head_count", &heads) && heads > 0)
        dims = hidden / heads;
    return dims <= MAX_ROPE_DIMS && dims % 2 == 0 ? (uint32_t)dims : 0;
}

static bool
read_partial(SundogSource *source, const Places *places, GError **error)
{
    double share;
    uint32_t head_dim = get_rope_dims(source);
    if (!get_number(places, "partial_rotary_factor", &share) || share == 1 || head_dim == 0 ||
        sundog_source_has(source, "rope.dimension_count"))
        return true;
    if (!(share > 0 && share < 1)) {
        g_set_error(
            error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
            "config.json: partial_rotary_factor is %g, expected a number above 0 and up to 1",
            share);
        return false;
    }
    sundog_source_set_uint(source, "rope.dimension_count", "config.json: partial_rotary_factor",
                           (uint64_t)(head_dim * share));
    return true;
}

/* --- Llama 3 ------------------------------------------------------------------------------------ */

typedef struct {
    double base;
    double factor;
    double low;
    double high;
    double context; /* that it was trained for before the scaling */
} Llama3;

static bool
read_llama3(const Places *places, Llama3 *llama3, GError **error)
{
    const struct {
        const char *name;
        double *value;
    } numbers[] = {{"rope_theta", &llama3->base},
                   {"factor", &llama3->factor},
                   {"low_freq_factor", &llama3->low},
                   {"high_freq_factor", &llama3->high},
                   {"original_max_position_embeddings", &llama3->context}};
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        if (!get_number(places, numbers[i].name, numbers[i].value) || !(*numbers[i].value > 0)) {
            g_set_error(
                error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "config.json: %s is no number above 0, which rotary scaling \"llama3\" needs",
                numbers[i].name);
            return false;
        }
    }
    return true;
}

/* By what the frequency of that wave length is divided: short waves stay, long ones are stretched, those
 * between are mixed. */
static double
get_divisor(const Llama3 *llama3, double length)
{
    if (length < llama3->context / llama3->high)
        return 1;
    if (length > llama3->context / llama3->low)
        return llama3->factor;
    double smooth = (llama3->context / length - llama3->low) / (llama3->high - llama3->low);
    return 1 / ((1 - smooth) / llama3->factor + smooth);
}

static bool
add_llama3_factors(SundogSource *source, const Places *places, GError **error)
{
    Llama3 llama3 = {0};
    uint32_t dims = get_rope_dims(source);
    if (!read_llama3(places, &llama3, error))
        return false;
    if (dims == 0)
        return true;
    float *factors = sundog_source_own(source, g_new(float, dims / 2), g_free);
    for (uint32_t i = 0; i < dims / 2; i++)
        factors[i] = (float)get_divisor(&llama3, 2 * G_PI * pow(llama3.base, 2.0 * i / dims));
    const SundogSourceTensor tensor = {.name = "rope_freqs.weight",
                                       .own_name = "of rotary factors",
                                       .type = SUNDOG_GGUF_F32,
                                       .shape = {dims / 2, 1, 1, 1},
                                       .n_bytes = dims / 2 * sizeof(float),
                                       .data = (const uint8_t *)factors};
    sundog_source_add_tensor(source, &tensor);
    return true;
}

/* --- All kinds ---------------------------------------------------------------------------------- */

/* Two multipliers of the magnitude's logarithm, of which one divides. */
static bool
read_magnitudes(SundogSource *source, const Places *places, GError **error)
{
    double of = 0, by = 0, factor = 0;
    bool has_of = sundog_json_get_double(places->scaling, "mscale", &of);
    bool has_by = sundog_json_get_double(places->scaling, "mscale_all_dim", &by);
    if (!has_of && !has_by)
        return true;
    if (!get_number(places, "factor", &factor) || !(of > 0 && by > 0)) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "config.json: rotary scaling \"yarn\" with mscale or mscale_all_dim but not "
                    "both is not known here");
        return false;
    }
    double growth = 0.1 * log(MAX(factor, 1));
    sundog_source_set_float(source, "rope.scaling.attn_factor", "config.json: mscale",
                            (of * growth + 1) / (by * growth + 1));
    return true;
}

static bool
read_yarn(SundogSource *source, const Places *places, GError **error)
{
    set_from(source, places, "factor", "rope.scaling.factor");
    set_from(source, places, "original_max_position_embeddings",
             "rope.scaling.original_context_length");
    set_from(source, places, "attention_factor", "rope.scaling.attn_factor");
    set_from(source, places, "beta_fast", "rope.scaling.yarn_beta_fast");
    set_from(source, places, "beta_slow", "rope.scaling.yarn_beta_slow");
    return sundog_source_has(source, "rope.scaling.attn_factor") ||
           read_magnitudes(source, places, error);
}

/* --- LongRoPE ----------------------------------------------------------------------------------- */

static bool
add_long_factors(SundogSource *source, const Places *places, const char *own, const char *name,
                 GError **error)
{
    JsonArray *numbers = sundog_json_get_array(places->scaling, own);
    uint32_t dims = get_rope_dims(source);
    guint n = numbers != NULL ? json_array_get_length(numbers) : 0;
    if (n != dims / 2 || n == 0) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "config.json: %s has %u numbers, expected %u", own, n, dims / 2);
        return false;
    }
    float *factors = sundog_source_own(source, g_new(float, n), g_free);
    for (guint i = 0; i < n; i++) {
        JsonNode *node = json_array_get_element(numbers, i);
        factors[i] = JSON_NODE_HOLDS_VALUE(node) ? (float)json_node_get_double(node) : 0;
    }
    const SundogSourceTensor tensor = {.name = name,
                                       .own_name = own,
                                       .type = SUNDOG_GGUF_F32,
                                       .shape = {n, 1, 1, 1},
                                       .n_bytes = n * sizeof(float),
                                       .data = (const uint8_t *)factors};
    return sundog_source_add_tensor(source, &tensor);
}

/* Phi-3.5 MoE says what cosine and sine are multiplied by: one number for short contexts, one for long ones. */
static bool
read_stated_magnitude(SundogSource *source, const Places *places, GError **error)
{
    double of_short = 0, of_long = 0;
    if (!get_number(places, "short_mscale", &of_short) ||
        !get_number(places, "long_mscale", &of_long))
        return true;
    if (of_short != of_long)
        return sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                                "config.json: short_mscale is %g and long_mscale %g, expected one "
                                "number for both",
                                of_short, of_long);
    set_from(source, places, "short_mscale", "rope.scaling.attn_factor");
    return true;
}

/* Cosine and sine are multiplied by sqrt(1 + ln(factor) / ln(original context)) where a file does not say
 * otherwise; the factor is how many times the context has grown. */
static bool
read_longrope(SundogSource *source, const Places *places, GError **error)
{
    double original = 0;
    uint64_t context = 0;
    if (!get_number(places, "original_max_position_embeddings", &original) || !(original > 1) ||
        !sundog_source_get_uint(source, "context_length", &context)) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "config.json: original_max_position_embeddings is no number above 1, which "
                    "rotary scaling \"longrope\" needs");
        return false;
    }
    double factor = (double)context / original;
    if (!read_stated_magnitude(source, places, error))
        return false;
    set_from(source, places, "original_max_position_embeddings",
             "rope.scaling.original_context_length");
    set_from(source, places, "attention_factor", "rope.scaling.attn_factor");
    if (!sundog_source_has(source, "rope.scaling.attn_factor") && factor > 1)
        sundog_source_set_float(source, "rope.scaling.attn_factor",
                                "config.json: original_max_position_embeddings",
                                sqrt(1 + log(factor) / log(original)));
    return add_long_factors(source, places, "long_factor", "rope_factors_long.weight", error) &&
           add_long_factors(source, places, "short_factor", "rope_factors_short.weight", error);
}

/* --- Proportional ------------------------------------------------------------------------------- */

/* Slow enough that no position turns by anything that float32 tells from nothing. */
#define STANDSTILL 1e30f

/* Only a leading share of the pairs rotates, with frequencies as if all did. */
static bool
add_proportional_factors(SundogSource *source, const Places *places, GError **error)
{
    double share = 1;
    uint32_t dims = get_rope_dims(source);
    get_number(places, "partial_rotary_factor", &share);
    if (!(share > 0 && share <= 1)) {
        g_set_error(
            error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
            "config.json: partial_rotary_factor is %g, expected a number above 0 and up to 1",
            share);
        return false;
    }
    if (dims == 0)
        return true;
    uint32_t n_rotated = (uint32_t)(share * dims / 2);
    float *factors = sundog_source_own(source, g_new(float, dims / 2), g_free);
    for (uint32_t i = 0; i < dims / 2; i++)
        factors[i] = i < n_rotated ? 1 : STANDSTILL;
    const SundogSourceTensor tensor = {.name = "rope_freqs.weight",
                                       .own_name = "of rotary factors",
                                       .type = SUNDOG_GGUF_F32,
                                       .shape = {dims / 2, 1, 1, 1},
                                       .n_bytes = dims / 2 * sizeof(float),
                                       .data = (const uint8_t *)factors};
    return sundog_source_add_tensor(source, &tensor);
}

/* --- Choice ------------------------------------------------------------------------------------- */

static bool
read_scaling(SundogSource *source, const Places *places, GError **error)
{
    const char *type = get_type(places);
    /* Dynamic scaling begins beyond the context that the model was trained for. */
    if (strcmp(type, "default") == 0 || strcmp(type, "dynamic") == 0)
        return true;
    if (strcmp(type, "llama3") == 0)
        return add_llama3_factors(source, places, error);
    if (strcmp(type, "proportional") == 0)
        return add_proportional_factors(source, places, error);
    if (strcmp(type, "longrope") == 0 || strcmp(type, "su") == 0)
        return read_longrope(source, places, error);
    if (strcmp(type, "linear") != 0 && strcmp(type, "yarn") != 0) {
        g_autofree char *shown = sundog_format_quote(type, NULL);
        g_set_error(
            error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
            "config.json: rotary scaling %s is not known here; known are: default, dynamic, "
            "linear, llama3, longrope, proportional, yarn",
            shown);
        return false;
    }
    sundog_source_set_text(source, "rope.scaling.type", "config.json: rope_type", type);
    if (strcmp(type, "yarn") == 0)
        return read_yarn(source, places, error);
    set_from(source, places, "factor", "rope.scaling.factor");
    return true;
}

/* The rotation of layers with a window, where it differs. */
static void
read_window_base(SundogSource *source, JsonObject *scaling, JsonObject *config)
{
    const Places places = {.scaling = sundog_json_get_object(scaling, "sliding_attention"),
                           .config = config};
    if (sundog_json_has(places.scaling, "rope_theta"))
        set_from(source, &places, "rope_theta", "rope.freq_base_swa");
    else
        set_from(source, &places, "rope_local_base_freq", "rope.freq_base_swa");
}

bool
sundog_hf_rope_read(SundogSource *source, JsonObject *config, GError **error)
{
    Places places = {.scaling = sundog_json_get_object(config, "rope_parameters"),
                     .config = config};
    if (places.scaling == NULL)
        places.scaling = sundog_json_get_object(config, "rope_scaling");
    /* Where kinds of layers differ, the recipe's main one attends to everything. */
    read_window_base(source, places.scaling, config);
    JsonObject *full = sundog_json_get_object(places.scaling, "full_attention");
    if (full != NULL)
        places.scaling = full;
    set_from(source, &places, "rope_theta", "rope.freq_base");
    return read_partial(source, &places, error) && read_scaling(source, &places, error);
}

/* How a request wants tokens drawn: the core's profile, and the fields that change it. */

#include "engine/server/completion-request.h"
#include "engine/server/fields.h"
#include <string.h>

/* Of texts over which DRY does not look, and of the bytes of one. */
#define MAX_BREAKERS 16
#define MAX_BREAKER_BYTES 1024

static bool
read_seed(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    int64_t seed = -1;
    if (!sundog_field_read_integer(object, SUNDOG_FIELD_SEED, &seed, error))
        return false;
    bool is_given = sundog_field_get(object, "seed") && seed != -1;
    request->submit.seed = is_given ? (uint64_t)seed : g_random_int();
    return true;
}

static bool
read_breakers(SundogCompletionRequest *request, JsonObject *object, bool is_on,
              SundogApiError **error)
{
    static const char *const usual[] = {"\n", ":", "\"", "*"}; /* llama-server's */
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    JsonArray *given = NULL;
    if (!sundog_field_read_array(object, SUNDOG_FIELD_DRY_SEQUENCE_BREAKERS, &given, error))
        return false;
    for (guint i = 0; !given && i < G_N_ELEMENTS(usual); i++)
        g_ptr_array_add(texts, g_strdup(usual[i]));
    for (guint i = 0; given && i < json_array_get_length(given); i++) {
        JsonNode *node = json_array_get_element(given, i);
        bool is_text = json_node_get_value_type(node) == G_TYPE_STRING;
        const char *text = is_text ? json_node_get_string(node) : "";
        if (!*text || strlen(text) > MAX_BREAKER_BYTES || i >= MAX_BREAKERS)
            return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE,
                                        "dry_sequence_breakers", "dry_sequence_breakers",
                                        "at most 16 texts of 1 to 1024 bytes", NULL);
        g_ptr_array_add(texts, g_strdup(text));
    }
    g_ptr_array_add(texts, NULL);
    if (is_on)
        request->breaker_texts = g_strdupv((char **)texts->pdata);
    return true;
}

static bool
read_dry(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    SundogDry *dry = &request->submit.dry;
    int64_t allowed_length = 0, window = 0;
    if (!sundog_field_read_number(object, SUNDOG_FIELD_DRY_MULTIPLIER, &dry->multiplier, error) ||
        !sundog_field_read_number(object, SUNDOG_FIELD_DRY_BASE, &dry->base, error) ||
        !sundog_field_read_integer(object, SUNDOG_FIELD_DRY_ALLOWED_LENGTH, &allowed_length,
                                   error) ||
        !sundog_field_read_integer(object, SUNDOG_FIELD_DRY_PENALTY_LAST_N, &window, error))
        return false;
    dry->allowed_length = (uint32_t)allowed_length;
    dry->window = window < 0 ? UINT32_MAX : (uint32_t)window;
    return read_breakers(request, object, dry->multiplier > 0 && window != 0, error);
}

/* What leaves tokens out, in ways that few ask for. */
static bool
read_filters(SundogSubmit *submit, JsonObject *object, SundogApiError **error)
{
    bool read =
        sundog_field_read_number(object, SUNDOG_FIELD_TYPICAL_P, &submit->typical_p, error) &&
        sundog_field_read_number(object, SUNDOG_FIELD_TOP_N_SIGMA, &submit->top_n_sigma, error) &&
        sundog_field_read_number(object, SUNDOG_FIELD_XTC_PROBABILITY, &submit->xtc_probability,
                                 error) &&
        sundog_field_read_number(object, SUNDOG_FIELD_XTC_THRESHOLD, &submit->xtc_threshold, error);
    submit->top_n_sigma = MAX(submit->top_n_sigma, 0);
    return read;
}

bool
sundog_completion_request_read_sampling(SundogCompletionRequest *request, JsonObject *object,
                                        SundogApiError **error)
{
    const SundogCoreText *core = request->core;
    SundogSubmit *submit = &request->submit;
    int64_t top_k = (int64_t)sundog_core_text_get_sampling(core, "top_k", 0);
    int64_t window = 0;
    bool reuses_prefix = true;
    submit->temperature = sundog_core_text_get_sampling(core, "temperature", 1);
    submit->top_p = sundog_core_text_get_sampling(core, "top_p", 1);
    submit->min_p = sundog_core_text_get_sampling(core, "min_p", 0);
    submit->repetition_penalty = sundog_core_text_get_sampling(core, "repetition_penalty", 1);
    bool read =
        sundog_field_read_number(object, SUNDOG_FIELD_TEMPERATURE, &submit->temperature, error) &&
        sundog_field_read_number(object, SUNDOG_FIELD_TOP_P, &submit->top_p, error) &&
        sundog_field_read_number(object, SUNDOG_FIELD_MIN_P, &submit->min_p, error) &&
        sundog_field_read_number(object, SUNDOG_FIELD_REPEAT_PENALTY, &submit->repetition_penalty,
                                 error) &&
        sundog_field_read_number(object, SUNDOG_FIELD_REPETITION_PENALTY,
                                 &submit->repetition_penalty, error) &&
        sundog_field_read_number(object, SUNDOG_FIELD_PRESENCE_PENALTY, &submit->presence_penalty,
                                 error) &&
        sundog_field_read_number(object, SUNDOG_FIELD_FREQUENCY_PENALTY, &submit->frequency_penalty,
                                 error) &&
        sundog_field_read_integer(object, SUNDOG_FIELD_TOP_K, &top_k, error) &&
        sundog_field_read_integer(object, SUNDOG_FIELD_REPEAT_LAST_N, &window, error) &&
        sundog_field_read_boolean(object, SUNDOG_FIELD_CACHE_PROMPT, &reuses_prefix, error);
    submit->top_k = (int32_t)MAX(top_k, 0);
    submit->penalty_window = window < 0 ? 0 : (uint32_t)window;
    if (window == 0) { /* no token is looked at */
        submit->repetition_penalty = 1;
        submit->presence_penalty = submit->frequency_penalty = 0;
    }
    submit->flags = reuses_prefix ? 0 : SUNDOG_SUBMIT_NO_PREFIX;
    return read && read_seed(request, object, error) && read_filters(submit, object, error) &&
           read_dry(request, object, error);
}

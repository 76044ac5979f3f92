/* Fields of OpenAI's completions. */

#include "engine/server/openai-request.h"

#include <string.h>

#define MAX_STOPS 16
#define MAX_STOP_BYTES 1024
/* Sent on by JSON clients without loss: a seed beyond 2^53 would not come back as it went. */
#define MAX_SEED ((int64_t)1 << 53)

typedef enum {
    NOT_NULL,     /* any value */
    NOT_EMPTY,    /* a list, object or text with something in it */
    NOT_FALSE,    /* true, or a number that is not 0 */
    NOT_ONE,      /* another number than 1 */
    NOT_NONE,     /* another text than "none" */
    NOT_TEXT,     /* a response format of another type than "text" */
    NOT_TEXT_LIST /* other modalities than ["text"] */
} Refused;

/* Fields that come with later versions, and from which value on they would be missed. */
static const struct {
    const char *key;
    Refused refused;
} later[] = {
    {"audio", NOT_NULL},
    {"best_of", NOT_ONE},
    {"echo", NOT_FALSE},
    {"function_call", NOT_NONE},
    {"functions", NOT_EMPTY},
    {"grammar", NOT_EMPTY},
    {"json_schema", NOT_EMPTY},
    {"logit_bias", NOT_EMPTY},
    {"logprobs", NOT_FALSE},
    {"modalities", NOT_TEXT_LIST},
    {"n", NOT_ONE},
    {"prediction", NOT_NULL},
    {"response_format", NOT_TEXT},
    {"suffix", NOT_EMPTY},
    {"tool_choice", NOT_NONE},
    {"tools", NOT_EMPTY},
    {"top_logprobs", NOT_FALSE},
};

static bool
is_text(JsonNode *node, const char *text)
{
    return json_node_get_value_type(node) == G_TYPE_STRING &&
           strcmp(json_node_get_string(node), text) == 0;
}

static bool
is_empty(JsonNode *node)
{
    if (JSON_NODE_HOLDS_ARRAY(node))
        return json_array_get_length(json_node_get_array(node)) == 0;
    if (JSON_NODE_HOLDS_OBJECT(node))
        return json_object_get_size(json_node_get_object(node)) == 0;
    return is_text(node, "");
}

static bool
is_false(JsonNode *node)
{
    GType type = json_node_get_value_type(node);
    return (type == G_TYPE_BOOLEAN && !json_node_get_boolean(node)) ||
           (type == G_TYPE_INT64 && json_node_get_int(node) == 0);
}

static bool
is_text_format(JsonNode *node)
{
    JsonObject *object = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    JsonNode *type = object ? json_object_get_member(object, "type") : NULL;
    return type && is_text(type, "text");
}

static bool
is_text_list(JsonNode *node)
{
    JsonArray *array = JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    return array && json_array_get_length(array) == 1 &&
           is_text(json_array_get_element(array, 0), "text");
}

static bool
is_refused(JsonNode *node, Refused refused)
{
    switch (refused) {
    case NOT_NULL:
        return true;
    case NOT_EMPTY:
        return !is_empty(node);
    case NOT_FALSE:
        return !is_false(node);
    case NOT_ONE:
        return json_node_get_value_type(node) != G_TYPE_INT64 || json_node_get_int(node) != 1;
    case NOT_NONE:
        return !is_text(node, "none");
    case NOT_TEXT:
        return !is_text_format(node);
    default:
        return !is_text_list(node);
    }
}

static bool
check_later(JsonObject *object, SundogApiError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(later); i++) {
        JsonNode *node = sundog_field_get(object, later[i].key);
        if (node && is_refused(node, later[i].refused))
            return sundog_api_error_set(error, SUNDOG_API_ERROR_UNSUPPORTED, later[i].key,
                                        later[i].key, NULL);
    }
    return true;
}

static bool
add_stop(GPtrArray *stops, JsonNode *node, SundogApiError **error)
{
    if (json_node_get_value_type(node) != G_TYPE_STRING)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_WRONG_TYPE, "stop", "stop",
                                    "a text or a list of texts", NULL);
    const char *text = json_node_get_string(node);
    if (strlen(text) > MAX_STOP_BYTES || stops->len >= MAX_STOPS)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "stop", "stop",
                                    "at most 16 texts of at most 1024 bytes", NULL);
    if (*text)
        g_ptr_array_add(stops, g_strdup(text));
    return true;
}

static bool
read_stops(SundogOpenaiRequest *request, JsonObject *object, SundogApiError **error)
{
    JsonNode *node = sundog_field_get(object, "stop");
    g_autoptr(GPtrArray) stops = g_ptr_array_new_with_free_func(g_free);
    if (!node)
        return true;
    if (JSON_NODE_HOLDS_ARRAY(node)) {
        JsonArray *array = json_node_get_array(node);
        for (guint i = 0; i < json_array_get_length(array); i++)
            if (!add_stop(stops, json_array_get_element(array, i), error))
                return false;
    } else if (!add_stop(stops, node, error)) {
        return false;
    }
    g_ptr_array_add(stops, NULL);
    request->stops = g_strdupv((char **)stops->pdata);
    return true;
}

/* -1 or absent: as much as fits. The newer name wins. */
static bool
read_max_tokens(SundogOpenaiRequest *request, JsonObject *object, SundogApiError **error)
{
    int64_t n = -1;
    const char *keys[] = {"n_predict", "max_tokens", "max_completion_tokens"};
    const char *last = keys[0];
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (sundog_field_get(object, keys[i]))
            last = keys[i];
        if (!sundog_field_get_integer(object, keys[i], -1, UINT32_MAX, &n, error))
            return false;
    }
    if (n == 0)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_OUT_OF_RANGE, last, last, "0", "1",
                                    "the context", NULL);
    request->submit.max_tokens = n < 0 ? UINT32_MAX : (uint32_t)n;
    return true;
}

static bool
read_seed(SundogOpenaiRequest *request, JsonObject *object, SundogApiError **error)
{
    int64_t seed = -1;
    if (!sundog_field_get_integer(object, "seed", -MAX_SEED, MAX_SEED, &seed, error))
        return false;
    bool is_given = sundog_field_get(object, "seed") && seed != -1;
    request->submit.seed = is_given ? (uint64_t)seed : g_random_int();
    return true;
}

static bool
read_sampling(SundogOpenaiRequest *request, JsonObject *object, const SundogCoreText *core,
              SundogApiError **error)
{
    SundogSubmit *submit = &request->submit;
    int64_t top_k = (int64_t)sundog_core_text_get_sampling(core, "top_k", 0);
    int64_t window = 0;
    bool reuses_prefix = true;
    submit->temperature = sundog_core_text_get_sampling(core, "temperature", 1);
    submit->top_p = sundog_core_text_get_sampling(core, "top_p", 1);
    submit->min_p = sundog_core_text_get_sampling(core, "min_p", 0);
    submit->repetition_penalty = sundog_core_text_get_sampling(core, "repetition_penalty", 1);
    bool read =
        sundog_field_get_number(object, "temperature", 0, 100, &submit->temperature, error) &&
        sundog_field_get_number(object, "top_p", 0, 1, &submit->top_p, error) &&
        sundog_field_get_number(object, "min_p", 0, 1, &submit->min_p, error) &&
        sundog_field_get_number(object, "repeat_penalty", 0.01, 100, &submit->repetition_penalty,
                                error) &&
        sundog_field_get_number(object, "repetition_penalty", 0.01, 100,
                                &submit->repetition_penalty, error) &&
        sundog_field_get_number(object, "presence_penalty", -100, 100, &submit->presence_penalty,
                                error) &&
        sundog_field_get_number(object, "frequency_penalty", -100, 100, &submit->frequency_penalty,
                                error) &&
        sundog_field_get_integer(object, "top_k", -1, INT32_MAX, &top_k, error) &&
        sundog_field_get_integer(object, "repeat_last_n", 0, INT32_MAX, &window, error) &&
        sundog_field_get_boolean(object, "cache_prompt", &reuses_prefix, error);
    submit->top_k = (int32_t)MAX(top_k, 0);
    submit->penalty_window = (uint32_t)window;
    submit->flags = reuses_prefix ? 0 : SUNDOG_SUBMIT_NO_PREFIX;
    return read;
}

static bool
read_stream(SundogOpenaiRequest *request, JsonObject *object, SundogApiError **error)
{
    JsonObject *options = NULL, *own = NULL;
    if (!sundog_field_get_boolean(object, "stream", &request->stream, error) ||
        !sundog_field_get_object(object, "stream_options", &options, error) ||
        !sundog_field_get_object(object, "sundog", &own, error))
        return false;
    return (!options ||
            sundog_field_get_boolean(options, "include_usage", &request->include_usage, error)) &&
           (!own || sundog_field_get_boolean(own, "progress", &request->progress, error));
}

bool
sundog_openai_request_read(SundogOpenaiRequest *request, JsonObject *object,
                           const SundogCoreText *core, SundogApiError **error)
{
    *request = (SundogOpenaiRequest){0};
    return check_later(object, error) && read_stream(request, object, error) &&
           read_stops(request, object, error) && read_max_tokens(request, object, error) &&
           read_seed(request, object, error) && read_sampling(request, object, core, error);
}

void
sundog_openai_request_clear(SundogOpenaiRequest *request)
{
    g_clear_pointer(&request->stops, g_strfreev);
}

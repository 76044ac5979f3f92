/* Fields of Ollama's API. */

#include "engine/server/ollama/fields.h"

#include "engine/server/fields.h"
#include <math.h>
#include <string.h>

char *
sundog_ollama_dup_model(JsonObject *object, SundogApiError **error)
{
    const char *model = NULL, *name = NULL;
    if (!sundog_field_read_text(object, SUNDOG_FIELD_MODEL, &model, error) ||
        !sundog_field_read_text(object, SUNDOG_FIELD_NAME, &name, error))
        return NULL;
    model = model && *model ? model : name;
    if (!model || !*model) {
        sundog_api_error_set(error, SUNDOG_API_ERROR_MISSING, "model", "model", NULL);
        return NULL;
    }
    size_t n = strlen(model);
    return g_strndup(model, g_str_has_suffix(model, ":latest") ? n - strlen(":latest") : n);
}

/* Parts of Go's durations: "1h30m". False where the text is none. */
static bool
parse_duration(const char *text, double *seconds)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"h", 3600}, {"m", 60}, {"s", 1}};
    double sign = *text == '-' ? -1 : 1, sum = 0;
    text += *text == '-';
    bool has_part = false;
    while (*text) {
        char *end = NULL;
        double value = g_ascii_strtod(text, &end);
        size_t i = 0;
        while (i < G_N_ELEMENTS(units) && !g_str_has_prefix(end, units[i].unit))
            i++;
        if (end == text || (*end && i == G_N_ELEMENTS(units)))
            return false;
        sum += value * (*end ? units[i].seconds : 1);
        text = *end ? end + strlen(units[i].unit) : end;
        has_part = true;
    }
    *seconds = sign * sum;
    return has_part && isfinite(sum);
}

bool
sundog_ollama_read_keep_alive(JsonObject *object, int64_t *ms, SundogApiError **error)
{
    JsonNode *node = sundog_field_get(object, "keep_alive");
    double seconds = -1;
    if (!node)
        return true;
    bool is_text = json_node_get_value_type(node) == G_TYPE_STRING;
    if (!is_text && !sundog_field_read_number(object, SUNDOG_FIELD_KEEP_ALIVE, &seconds, error))
        return false;
    if (is_text && !parse_duration(json_node_get_string(node), &seconds))
        return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "keep_alive",
                                    "keep_alive", "it is seconds or a duration such as 5m", NULL);
    *ms = seconds < 0 ? -1 : (int64_t)(MIN(seconds, 1e9) * 1000);
    return true;
}

static bool
read_options(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    g_autoptr(JsonObject) none = json_object_new();
    JsonObject *options = NULL;
    int64_t n = -1;
    if (!sundog_field_read_object(object, SUNDOG_FIELD_OPTIONS, &options, error))
        return false;
    options = options ? options : none;
    if (!sundog_completion_request_read_sampling(request, options, error) ||
        !sundog_completion_request_read_stops(request, options, "stop", error) ||
        !sundog_field_read_integer(options, SUNDOG_FIELD_NUM_PREDICT, &n, error))
        return false;
    request->submit.max_tokens = n > 0 ? (uint32_t)n : UINT32_MAX;
    return true;
}

/* "json", or a schema. */
static bool
read_format(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    JsonNode *node = sundog_field_get(object, "format");
    const char *text = "";
    if (!node)
        return true;
    if (JSON_NODE_HOLDS_OBJECT(node)) {
        request->format = SUNDOG_ANSWER_FORMAT_SCHEMA;
        request->schema = json_node_copy(node);
        return true;
    }
    if (!sundog_field_read_text(object, SUNDOG_FIELD_FORMAT, &text, error))
        return false;
    if (strcmp(text, "json") == 0)
        request->format = SUNDOG_ANSWER_FORMAT_JSON;
    return !*text || strcmp(text, "json") == 0 ||
           sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "format", "format",
                                "it is json or a schema", NULL);
}

static bool
read_think(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    JsonNode *node = sundog_field_get(object, "think");
    bool thinks = true;
    if (!node)
        return true;
    /* "low", "medium" or "high" is how much, which is on. */
    if (json_node_get_value_type(node) != G_TYPE_STRING &&
        !sundog_field_read_boolean(object, SUNDOG_FIELD_THINK, &thinks, error))
        return false;
    request->reasoning = thinks ? SUNDOG_REASONING_ON : SUNDOG_REASONING_OFF;
    return true;
}

static bool
check_later(JsonObject *object, SundogApiError **error)
{
    static const char *const lists[] = {"context", "images"};
    static const char *const texts[] = {"template"};
    for (size_t i = 0; i < G_N_ELEMENTS(lists); i++) {
        JsonArray *list = NULL;
        if (!sundog_field_get_array(object, lists[i], &list, error))
            return false;
        if (list && json_array_get_length(list) > 0)
            return sundog_api_error_set(error, SUNDOG_API_ERROR_UNSUPPORTED, lists[i], lists[i],
                                        NULL);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        const char *text = "";
        if (!sundog_field_get_text(object, texts[i], &text, error))
            return false;
        if (*text)
            return sundog_api_error_set(error, SUNDOG_API_ERROR_UNSUPPORTED, texts[i], texts[i],
                                        NULL);
    }
    return true;
}

static bool
read_scores(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    bool logprobs = false;
    int64_t n_rivals = 0;
    if (!sundog_field_read_boolean(object, SUNDOG_FIELD_LOGPROBS, &logprobs, error) ||
        !sundog_field_read_integer(object, SUNDOG_FIELD_TOP_LOGPROBS, &n_rivals, error))
        return false;
    sundog_completion_request_set_scores(request, logprobs ? 1 + (guint)n_rivals : 0);
    return true;
}

SundogCompletionRequest *
sundog_ollama_request_read(SundogExchange *exchange, JsonObject *object, SundogApiError **error)
{
    g_autofree char *model = sundog_ollama_dup_model(object, error);
    g_autoptr(SundogCompletionRequest) request =
        model ? sundog_completion_request_new_for(exchange, model, error) : NULL;
    if (!request)
        return NULL;
    request->stream = true;
    if (!sundog_field_read_boolean(object, SUNDOG_FIELD_LINES_STREAM, &request->stream, error) ||
        !sundog_ollama_read_keep_alive(object, &request->keep_alive_ms, error) ||
        !check_later(object, error) || !read_options(request, object, error) ||
        !read_format(request, object, error) || !read_think(request, object, error) ||
        !read_scores(request, object, error))
        return NULL;
    return g_steal_pointer(&request);
}

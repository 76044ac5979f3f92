/* Fields of OpenAI's completions. */

#include "engine/server/openai/request.h"

#include "engine/server/fields.h"
#include "engine/server/openai/tools.h"
#include <string.h>

/* As many as an engine adds. */
#define MAX_BIASES 1024

typedef enum {
    NOT_NULL,     /* any value */
    NOT_EMPTY,    /* a list, object or text with something in it */
    NOT_FALSE,    /* true, or a number that is not 0 */
    NOT_NONE,     /* another text than "none" */
    NOT_TEXT_LIST /* other modalities than ["text"] */
} Refused;

/* Fields that come with later versions, and from which value on they would be missed. */
static const struct {
    const char *key;
    Refused refused;
} later[] = {
    {"audio", NOT_NULL},     {"function_call", NOT_NONE},   {"functions", NOT_EMPTY},
    {"mirostat", NOT_FALSE}, {"modalities", NOT_TEXT_LIST}, {"prediction", NOT_NULL},
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
    case NOT_NONE:
        return !is_text(node, "none");
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

/* -1 or absent: as much as fits; 0 where the prompt is what is wanted. The newer name wins. */
static bool
read_max_tokens(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    int64_t n = -1;
    const char *keys[] = {"n_predict", "max_tokens", "max_completion_tokens"};
    const char *last = keys[0];
    bool echo = false;
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (sundog_field_get(object, keys[i]))
            last = keys[i];
        if (!sundog_field_get_integer(object, keys[i], -1, UINT32_MAX, &n, error))
            return false;
    }
    if (!sundog_field_read_boolean(object, SUNDOG_FIELD_ECHO, &echo, error))
        return false;
    if (n == 0 && !echo)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_OUT_OF_RANGE, last, last, "0", "1",
                                    "the context", NULL);
    request->submit.max_tokens = n < 0 ? UINT32_MAX : (uint32_t)n;
    return true;
}

static bool
add_bias(SundogCompletionRequest *request, int64_t token, double amount, SundogApiError **error)
{
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(request->core->tokenizer);
    if (token < 0 || token >= vocabulary->n_tokens)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "logit_bias",
                                    "logit_bias", "a key is no token of this model", NULL);
    SundogTokenBias bias = {(uint32_t)token, amount};
    g_array_append_val(request->biases, bias);
    return true;
}

/* Tokens by number, each with what is added to its logit; OpenAI's bounds. */
static bool
read_biases(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    JsonObject *biases = NULL;
    JsonObjectIter iter;
    const char *key;
    if (!sundog_field_read_object(object, SUNDOG_FIELD_LOGIT_BIAS, &biases, error))
        return false;
    if (!biases || json_object_get_size(biases) == 0)
        return true;
    if (json_object_get_size(biases) > MAX_BIASES)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "logit_bias",
                                    "logit_bias", "at most 1024 tokens", NULL);
    request->biases = g_array_new(false, false, sizeof(SundogTokenBias));
    json_object_iter_init_ordered(&iter, biases);
    while (json_object_iter_next_ordered(&iter, &key, NULL)) {
        char *end;
        double amount = 0;
        int64_t token = g_ascii_strtoll(key, &end, 10);
        if (!sundog_field_get_number(biases, key, -100, 100, &amount, error) ||
            !add_bias(request, *end || end == key ? -1 : token, amount, error))
            return false;
    }
    return true;
}

static bool
read_stream(SundogCompletionRequest *request, JsonObject *object, bool *include_usage,
            SundogApiError **error)
{
    JsonObject *options = NULL, *own = NULL;
    if (!sundog_field_read_boolean(object, SUNDOG_FIELD_STREAM, &request->stream, error) ||
        !sundog_field_read_object(object, SUNDOG_FIELD_STREAM_OPTIONS, &options, error) ||
        !sundog_field_read_object(object, SUNDOG_FIELD_SUNDOG, &own, error))
        return false;
    return (!options || sundog_field_get_boolean(options, "include_usage", include_usage, error)) &&
           (!own || sundog_field_get_boolean(own, "progress", &request->progress, error));
}

bool
sundog_openai_request_read(SundogCompletionRequest *request, JsonObject *object,
                           bool *include_usage, SundogApiError **error)
{
    return check_later(object, error) && read_stream(request, object, include_usage, error) &&
           sundog_completion_request_read_stops(request, object, "stop", error) &&
           read_max_tokens(request, object, error) &&
           sundog_completion_request_read_sampling(request, object, error) &&
           read_biases(request, object, error) && sundog_openai_tools_read(request, object, error);
}

/* Choices */

static bool
refuse(SundogApiError **error, const char *field, const char *reason)
{
    return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, field, field, reason, NULL);
}

static bool
read_chat_scores(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    bool logprobs = false;
    int64_t n_rivals = 0;
    if (!sundog_field_read_boolean(object, SUNDOG_FIELD_LOGPROBS, &logprobs, error) ||
        !sundog_field_read_integer(object, SUNDOG_FIELD_TOP_LOGPROBS, &n_rivals, error))
        return false;
    if (n_rivals > 0 && !logprobs)
        return refuse(error, "top_logprobs", "logprobs must be true for that");
    sundog_completion_request_set_scores(request, logprobs ? 1 + (guint)n_rivals : 0);
    return true;
}

/* A number here; false is told by some clients. */
static bool
read_completion_scores(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    JsonNode *node = sundog_field_get(object, "logprobs");
    int64_t n_rivals = -1;
    bool is_off = node && json_node_get_value_type(node) == G_TYPE_BOOLEAN && is_false(node);
    if (!is_off &&
        !sundog_field_read_integer(object, SUNDOG_FIELD_COMPLETION_LOGPROBS, &n_rivals, error))
        return false;
    sundog_completion_request_set_scores(request, (guint)(n_rivals + 1));
    return true;
}

/* Where the prompt is told with log probabilities, its tokens are scored. */
static bool
read_echo(SundogCompletionRequest *request, JsonObject *object, bool is_chat,
          SundogApiError **error)
{
    if (!sundog_field_read_boolean(object, SUNDOG_FIELD_ECHO, &request->echo, error))
        return false;
    if (request->echo && is_chat)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_UNSUPPORTED, "echo", "echo", NULL);
    bool only_prompt = request->submit.max_tokens == 0;
    if (only_prompt && request->n_choices > 1)
        return refuse(error, "n", "the prompt alone has one answer");
    if (request->echo && request->tells_scores)
        request->submit.flags |= SUNDOG_SUBMIT_SCORE_PROMPT;
    return true;
}

static bool
read_numbers(SundogCompletionRequest *request, JsonObject *object, bool is_chat,
             SundogApiError **error)
{
    int64_t n = 1, best_of = 1;
    if (!sundog_field_read_integer(object, SUNDOG_FIELD_N, &n, error) ||
        !sundog_field_read_integer(object, SUNDOG_FIELD_BEST_OF, &best_of, error))
        return false;
    if (best_of > 1 && is_chat)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_UNSUPPORTED, "best_of", "best_of",
                                    NULL);
    if (best_of > 1 && best_of < n)
        return refuse(error, "best_of", "it is no less than n");
    if (best_of > n && request->stream)
        return refuse(error, "best_of", "the best are known when all are whole: without stream");
    request->n_told = (guint)n;
    request->n_choices = (guint)MAX(n, best_of);
    if (best_of > n)
        request->submit.n_scores = MAX(request->submit.n_scores, 1);
    return true;
}

bool
sundog_openai_choices_read(SundogCompletionRequest *request, JsonObject *object, bool is_chat,
                           SundogApiError **error)
{
    return (is_chat ? read_chat_scores : read_completion_scores)(request, object, error) &&
           read_numbers(request, object, is_chat, error) &&
           read_echo(request, object, is_chat, error);
}

/* Requests for answers, whatever the dialect. */

#include "engine/server/completion-request.h"

#include "engine/server/fields.h"
#include "engine/server/service.h"
#include <string.h>

#define MAX_STOPS 16
#define MAX_STOP_BYTES 1024

SundogCompletionRequest *
sundog_completion_request_new(void)
{
    SundogCompletionRequest *request = g_new0(SundogCompletionRequest, 1);
    request->prompt.adds_turn = true;
    request->keep_alive_ms = -1;
    request->submit.max_tokens = UINT32_MAX;
    return request;
}

SundogCompletionRequest *
sundog_completion_request_new_for(SundogExchange *exchange, const char *model,
                                  SundogApiError **error)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    SundogCoreText *core = sundog_server_dup_core(server, model, error);
    if (!core)
        return NULL;
    SundogCompletionRequest *request = sundog_completion_request_new();
    request->core = core;
    request->keep_alive_ms = sundog_server_get_keep_alive_ms(server);
    request->prompt.n_bytes = sundog_exchange_get_body_bytes(exchange);
    return request;
}

void
sundog_completion_request_free(SundogCompletionRequest *request)
{
    if (!request)
        return;
    sundog_core_text_unref(request->core);
    sundog_prompt_clear(&request->prompt);
    g_free(request->tool_name);
    g_free(request->effort);
    g_clear_pointer(&request->schema, json_node_unref);
    g_free(request->grammar);
    g_strfreev(request->choices);
    g_clear_pointer(&request->biases, g_array_unref);
    g_strfreev(request->stops);
    g_free(request);
}

static bool
add_stop(GPtrArray *stops, JsonNode *node, const char *key, SundogApiError **error)
{
    if (json_node_get_value_type(node) != G_TYPE_STRING)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_WRONG_TYPE, key, key,
                                    "a text or a list of texts", NULL);
    const char *text = json_node_get_string(node);
    if (strlen(text) > MAX_STOP_BYTES || stops->len >= MAX_STOPS)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, key, key,
                                    "at most 16 texts of at most 1024 bytes", NULL);
    if (*text)
        g_ptr_array_add(stops, g_strdup(text));
    return true;
}

bool
sundog_completion_request_read_stops(SundogCompletionRequest *request, JsonObject *object,
                                     const char *key, SundogApiError **error)
{
    JsonNode *node = sundog_field_get(object, key);
    g_autoptr(GPtrArray) stops = g_ptr_array_new_with_free_func(g_free);
    if (!node)
        return true;
    if (JSON_NODE_HOLDS_ARRAY(node)) {
        JsonArray *array = json_node_get_array(node);
        for (guint i = 0; i < json_array_get_length(array); i++)
            if (!add_stop(stops, json_array_get_element(array, i), key, error))
                return false;
    } else if (!add_stop(stops, node, key, error)) {
        return false;
    }
    g_ptr_array_add(stops, NULL);
    g_strfreev(request->stops);
    request->stops = g_strdupv((char **)stops->pdata);
    return true;
}

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
    submit->penalty_window = window < 0 ? INT32_MAX : (uint32_t)window;
    submit->flags = reuses_prefix ? 0 : SUNDOG_SUBMIT_NO_PREFIX;
    return read && read_seed(request, object, error);
}

static JsonNode *
new_boolean(bool value)
{
    return json_node_init_boolean(json_node_alloc(), value);
}

void
sundog_completion_request_settle(SundogCompletionRequest *request)
{
    /* The two names by which templates ask. */
    static const char *const names[] = {"enable_thinking", "thinking"};
    bool reasons = request->reasoning == SUNDOG_REASONING_ON;
    if (!request->prompt.messages)
        return;
    for (size_t i = 0; request->reasoning != SUNDOG_REASONING_DEFAULT && i < G_N_ELEMENTS(names);
         i++)
        sundog_prompt_set_variable(&request->prompt, names[i], new_boolean(reasons));
    if (request->effort)
        sundog_prompt_set_variable(&request->prompt, "reasoning_effort",
                                   json_node_init_string(json_node_alloc(), request->effort));
}

/* Encoding alone */

typedef struct {
    SundogExchange *exchange;
    SundogCompletionRequest *request;
    void (*reply)(SundogExchange *exchange, const SundogCompletionRequest *request,
                  const SundogEncoded *encoded);
} Encoding;

static void
on_encoded(SundogEncoded *encoded, void *data)
{
    Encoding *encoding = data;
    if (encoded->error)
        sundog_exchange_fail(encoding->exchange, g_steal_pointer(&encoded->error));
    else
        encoding->reply(encoding->exchange, encoding->request, encoded);
    sundog_completion_request_free(encoding->request);
    sundog_exchange_unref(encoding->exchange);
    g_free(encoding);
}

void
sundog_completion_request_encode(SundogCompletionRequest *request, SundogExchange *exchange,
                                 void (*reply)(SundogExchange *exchange,
                                               const SundogCompletionRequest *request,
                                               const SundogEncoded *encoded))
{
    Encoding *encoding = g_new0(Encoding, 1);
    sundog_completion_request_settle(request);
    *encoding = (Encoding){sundog_exchange_ref(exchange), request, reply};
    sundog_prompt_encode_async(&request->prompt, request->core, exchange, on_encoded, encoding);
}

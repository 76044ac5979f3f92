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
    request->n_choices = request->n_told = 1;
    return request;
}

SundogCompletionRequest *
sundog_completion_request_new_for(SundogExchange *exchange, const char *model,
                                  SundogApiError **error)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    SundogCoreText *core = sundog_server_dup_core(exchange, model, error);
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
    g_clear_pointer(&request->further, g_array_unref);
    g_free(request->tool_name);
    g_free(request->effort);
    g_clear_pointer(&request->schema, json_node_unref);
    g_free(request->grammar);
    g_strfreev(request->choices);
    g_clear_pointer(&request->biases, g_array_unref);
    g_strfreev(request->breaker_texts);
    g_clear_pointer(&request->breakers, g_array_unref);
    g_strfreev(request->stops);
    g_free(request);
}

guint
sundog_completion_request_get_n_prompts(const SundogCompletionRequest *request)
{
    return 1 + (request->further ? request->further->len : 0);
}

const SundogPrompt *
sundog_completion_request_get_prompt(const SundogCompletionRequest *request, guint index)
{
    return index == 0 ? &request->prompt
                      : &g_array_index(request->further, SundogPrompt, index - 1);
}

static void
clear_prompt(void *data)
{
    sundog_prompt_clear(data);
}

SundogPrompt *
sundog_completion_request_add_prompt(SundogCompletionRequest *request)
{
    if (!request->further) {
        request->further = g_array_new(false, true, sizeof(SundogPrompt));
        g_array_set_clear_func(request->further, clear_prompt);
    }
    g_array_set_size(request->further, request->further->len + 1);
    SundogPrompt *prompt =
        &g_array_index(request->further, SundogPrompt, request->further->len - 1);
    prompt->n_bytes = request->prompt.n_bytes;
    return prompt;
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

void
sundog_completion_request_set_scores(SundogCompletionRequest *request, guint n_scores)
{
    request->submit.n_scores = n_scores;
    request->tells_scores = n_scores > 0;
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

/* POST /api/chat */

#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/server/fields.h"
#include "engine/server/ollama/answer.h"
#include "engine/server/ollama/fields.h"
#include "engine/server/ollama/loading.h"
#include "engine/server/routes.h"

/* Ollama's calls have arguments as an object and no id; the templates' form has both as texts. */
static JsonArray *
convert_calls(JsonArray *given, guint *n_calls)
{
    JsonArray *calls = json_array_new();
    for (guint i = 0; i < json_array_get_length(given); i++) {
        JsonObject *from = sundog_json_get_object(sundog_json_get_element(given, i), "function");
        JsonNode *arguments = from ? sundog_field_get(from, "arguments") : NULL;
        g_autofree char *text = arguments ? sundog_json_print(arguments, false) : g_strdup("{}");
        g_autofree char *id = g_strdup_printf("call_%u", (*n_calls)++);
        JsonObject *function = json_object_new();
        json_object_set_string_member(function, "name", sundog_json_get_string(from, "name", ""));
        json_object_set_string_member(function, "arguments", text);
        JsonObject *call = json_object_new();
        json_object_set_string_member(call, "id", id);
        json_object_set_string_member(call, "type", "function");
        json_object_set_object_member(call, "function", function);
        json_array_add_object_element(calls, call);
    }
    return calls;
}

static void
copy_text(JsonObject *to, const char *key, JsonObject *from, const char *from_key)
{
    const char *text = sundog_json_get_string(from, from_key, NULL);
    if (text)
        json_object_set_string_member(to, key, text);
}

/* n_calls, n_results: of the messages before, by which a result finds its call. */
static JsonObject *
convert_message(JsonObject *given, guint *n_calls, guint *n_results)
{
    JsonObject *message = json_object_new();
    JsonArray *calls = sundog_json_get_array(given, "tool_calls");
    const char *role = sundog_json_get_string(given, "role", "");
    JsonNode *content = sundog_field_get(given, "content");
    json_object_set_string_member(message, "role", role);
    if (content)
        json_object_set_member(message, "content", json_node_copy(content));
    copy_text(message, "reasoning_content", given, "thinking");
    copy_text(message, "name", given, "tool_name");
    if (calls && json_array_get_length(calls) > 0)
        json_object_set_array_member(message, "tool_calls", convert_calls(calls, n_calls));
    if (g_strcmp0(role, "tool") == 0) {
        g_autofree char *id = g_strdup_printf("call_%u", (*n_results)++);
        json_object_set_string_member(message, "tool_call_id", id);
    }
    return message;
}

static bool
read_messages(SundogPrompt *prompt, JsonArray *given, SundogApiError **error)
{
    guint n_calls = 0, n_results = 0;
    prompt->messages = json_array_new();
    prompt->continues = true;
    for (guint i = 0; i < json_array_get_length(given); i++) {
        JsonObject *message = sundog_json_get_element(given, i);
        JsonArray *images = sundog_json_get_array(message, "images");
        if (!message)
            return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "messages",
                                        "messages", "a message is an object", NULL);
        if (images && json_array_get_length(images) > 0)
            return sundog_api_error_set(error, SUNDOG_API_ERROR_UNSUPPORTED, "images", "images",
                                        NULL);
        json_array_add_object_element(prompt->messages,
                                      convert_message(message, &n_calls, &n_results));
    }
    return true;
}

void
sundog_ollama_chat(SundogExchange *exchange)
{
    JsonObject *object = sundog_exchange_get_object(exchange);
    SundogApiError *error = NULL;
    JsonArray *messages = NULL, *tools = NULL;
    if (!object)
        return;
    g_autoptr(SundogCompletionRequest) request =
        sundog_ollama_request_read(exchange, object, &error);
    if (!request || !sundog_field_read_array(object, SUNDOG_FIELD_MESSAGES, &messages, &error) ||
        !sundog_field_read_array(object, SUNDOG_FIELD_TOOLS, &tools, &error)) {
        sundog_exchange_fail(exchange, error);
        return;
    }
    if (!messages || json_array_get_length(messages) == 0) {
        sundog_ollama_load(exchange, g_steal_pointer(&request),
                           "\"message\":{\"role\":\"assistant\",\"content\":\"\"}");
        return;
    }
    if (tools)
        sundog_prompt_set_tools(&request->prompt, tools);
    if (read_messages(&request->prompt, messages, &error))
        sundog_answer_start(exchange, g_steal_pointer(&request), &sundog_ollama_chat_form, NULL);
    else
        sundog_exchange_fail(exchange, error);
}
